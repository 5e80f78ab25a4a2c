"""What a drive with zones tells of them: `metrics.zones`."""

from __future__ import annotations

from opennandlab.documents.record import Record


class ZoneStates(Record, frozen=True, kw_only=True):
    """Zones by state, at the end.

    Args:
        closed: Active and not open.
        empty: Nothing is written.
        explicitly_open: Opened by the host.
        full: Takes no more.
        implicitly_open: Opened by a write.
        offline: Its data is lost.
        read_only: Takes no more, since a die has no erased block for it.
    """

    closed: int
    empty: int
    explicitly_open: int
    full: int
    implicitly_open: int
    offline: int
    read_only: int


class ZoneRow(Record, frozen=True, kw_only=True):
    """A row of the zone report, at the end.

    Args:
        start_bytes: Where it begins.
        state: As the keys of `states`.
        written_bytes: Bytes up to its write pointer.
        zone: Its number.
    """

    start_bytes: int
    state: str
    written_bytes: int
    zone: int


class ZoneAreas(Record, frozen=True, kw_only=True):
    """The random write areas of zones.

    Args:
        dropped_bytes: Bytes that a reset dropped before they went to the flash.
        filled_bytes: Bytes of the flash that were filled, since the host had not written them when
            the write pointer passed.
        held_bytes: Bytes that areas hold at the end.
        in_use: Zones with an area, at the end.
        overwritten_bytes: Bytes that were written again before they went to the flash.
    """

    dropped_bytes: int
    filled_bytes: int
    held_bytes: int
    in_use: int
    overwritten_bytes: int


class Zones(Record, frozen=True, kw_only=True):
    """The zones of a drive.

    Args:
        appended_bytes: Bytes that the user of the host appended.
        capacity_bytes: Bytes of a zone that can be written.
        closed_for_others: Zones that the drive closed to open others.
        commands: Commands by what they do, each by the status of the specification; trims of whole
            zones are resets.
        count: Zones.
        host_waf: What the host appended, moved data included, over what its user did; `null` where
            nothing was appended. The drive's own amplification comes on top: `waf`.
        moved_bytes: Bytes that the host moved to reclaim zones.
        refused: Commands that were refused, by the status of the specification.
        report: The zone report; `null` with more than 65,536 zones.
        resets: Zones that were reset.
        states: Zones by state.
        zone_bytes: Bytes of the logical space that a zone takes.
        zrwa: Their random write areas; only with `ftl.mapping.zrwa`.
    """

    appended_bytes: int
    capacity_bytes: int
    closed_for_others: int
    commands: dict[str, dict[str, int]]
    count: int
    host_waf: float | None
    moved_bytes: int
    refused: dict[str, int]
    report: list[ZoneRow] | None
    resets: int
    states: ZoneStates
    zone_bytes: int
    zrwa: ZoneAreas | None = None
