"""What a drive with placement handles or streams tells of them."""

from __future__ import annotations

from opennandlab.documents.record import Record


class Moved(Record, frozen=True, kw_only=True):
    """What collection did to data that it has mixed before.

    Args:
        moved_bytes: Bytes moved out of its reclaim units.
        reclaim_units_erased: Reclaim units erased.
        reclaim_units_moved: Reclaim units out of which data was moved.
    """

    moved_bytes: int
    reclaim_units_erased: int
    reclaim_units_moved: int


class Handle(Record, frozen=True, kw_only=True):
    """What was written with one placement id, and what became of it.

    Args:
        host_bytes: Whole map units that the host wrote, in bytes.
        id: The placement id.
        moved_bytes: Bytes moved out of its reclaim units.
        reclaim_units_erased: Its reclaim units that were erased.
        reclaim_units_moved: Its reclaim units out of which data was moved.
        reclaim_units_opened: Reclaim units opened for the host.
    """

    host_bytes: int
    id: int
    moved_bytes: int
    reclaim_units_erased: int
    reclaim_units_moved: int
    reclaim_units_opened: int


class FdpEvents(Record, frozen=True, kw_only=True):
    """Events of the FDP log that can occur here, by how often they did.

    Args:
        implicitly_modified_reclaim_unit_handle: Type 81h: a handle went on with another reclaim
            unit without the host's doing, since a program failed.
        media_reallocated: Type 80h: data of a reclaim unit that was isolated initially was moved.
    """

    implicitly_modified_reclaim_unit_handle: int
    media_reallocated: int


class Fdp(Record, frozen=True, kw_only=True):
    """Statistics and events of flexible data placement.

    Args:
        events: Events.
        handles: Each handle.
        host_bytes_with_metadata_written: HBMW: bytes that the host wrote.
        media_bytes_erased: MBE: bytes of the reclaim units that were erased.
        media_bytes_with_metadata_written: MBMW: bytes programmed, for the host or not.
        mixed: Data of several handles, which collection has mixed.
        reclaim_unit_bytes: Size of a reclaim unit.
    """

    events: FdpEvents
    handles: list[Handle]
    host_bytes_with_metadata_written: int
    media_bytes_erased: int
    media_bytes_with_metadata_written: int
    mixed: Moved
    reclaim_unit_bytes: int


class Streams(Record, frozen=True, kw_only=True):
    """What was written to streams.

    Args:
        mixed: Data of several streams, which collection has mixed.
        streams: Each stream; id 0 are writes without one.
    """

    mixed: Moved
    streams: list[Handle]
