"""What became of addresses: by a map that is not in RAM, or one of blocks, and of a trace."""

from __future__ import annotations

from opennandlab.documents.record import Record


class MapReads(Record, frozen=True, kw_only=True):
    """Map pages read, by reason; together they are `reads.map`.

    Args:
        miss: To find an entry that was not in the cache.
        moved: To move them, since their block was collected.
        update: To change them.
    """

    miss: int
    moved: int
    update: int


class MapPrograms(Record, frozen=True, kw_only=True):
    """Map pages programmed, by reason; together they are `programs.map`.

    Args:
        moved: Since their block was collected.
        update: With changed entries.
    """

    moved: int
    update: int


class MapCheckpoints(Record, frozen=True, kw_only=True):
    """Checkpoints of a map in the flash; only with `ftl.map_checkpoint`.

    Args:
        count: Checkpoints.
        pages: Map pages that they have read and programmed.
    """

    count: int
    pages: int


class Merges(Record, frozen=True, kw_only=True):
    """Merges of log blocks; of `block`, rewrites: `full` ones, and `switch` if nothing was copied.

    Args:
        full: The newest pages went to another block.
        partial: What was missing was copied behind the pages of the log block.
        switch: The log block took the place of the block of data as it was.
    """

    full: int
    partial: int
    switch: int


class Mapping(Record, frozen=True, kw_only=True):
    """What the way to map did; only where `ftl.mapping` is not `page`.

    Args:
        batched_entries: Changed entries that were written with others of their map page (dftl).
        blocks: Blocks that are set apart for map pages (dftl).
        checkpoints: What checkpoints of the map did (dftl).
        dirty_evictions: Changed entries that had to leave the cache (dftl).
        hit_rate: Share of the lookups that found their entry in the cache; `null` without any
            (dftl).
        hits: Lookups that found their entry in the cache (dftl).
        kind: `dftl`, `block`, `bast` or `fast`.
        log_blocks: Log blocks of the drive (block: 0, bast, fast).
        lookups: Entries that commands asked for, one for each page (dftl).
        merges: Merges of log blocks (block, bast, fast).
        misses: Lookups that did not find their entry in the cache (dftl).
        programs: Map pages programmed (dftl).
        reads: Map pages read (dftl).
        unwritten: Misses whose map page was never written, so that nothing was read (dftl).
    """

    batched_entries: int | None = None
    blocks: int | None = None
    checkpoints: MapCheckpoints | None = None
    dirty_evictions: int | None = None
    hit_rate: float | None = None
    hits: int | None = None
    kind: str
    log_blocks: int | None = None
    lookups: int | None = None
    merges: Merges | None = None
    misses: int | None = None
    programs: MapPrograms | None = None
    reads: MapReads | None = None
    unwritten: int | None = None


class TracePages(Record, frozen=True, kw_only=True):
    """Distinct pages of the flash that a trace touches, where its addresses were changed.

    Args:
        device: Pages of the device that those of the trace became.
        merged: Pages of the trace that share one of the device with others: the difference.
        sampled_one_in: Of so many pages of the device one was counted; 1 where counts are exact.
        trace: Pages of the trace.
    """

    device: int
    merged: int
    sampled_one_in: int
    trace: int
