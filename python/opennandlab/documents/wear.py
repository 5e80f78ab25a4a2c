"""How worn the blocks of a drive are."""

from __future__ import annotations

from opennandlab.documents.record import Record


class DriveWear(Record, frozen=True, kw_only=True):
    """How often the good blocks of a simulated drive were erased since the factory.

    A block is what is erased at once: joined planes, and the members of a superblock, count as one.
    Blocks of a static SLC cache are among them, though their rating is another: which counts are
    theirs is not known.

    Args:
        blocks: Good blocks.
        erase_count_mean: Mean erase count of a good block; None if none is good.
        erase_count_max: Largest erase count.
        free_blocks: Blocks that are erased now.
        erase_counts: (erase count, blocks with that count), from the smallest count.
    """

    blocks: int
    erase_count_mean: float | None
    erase_count_max: int
    free_blocks: int
    erase_counts: tuple[tuple[int, int], ...]
