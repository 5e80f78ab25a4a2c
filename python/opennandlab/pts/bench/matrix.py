"""Block sizes by read/write mixes: the matrix of a test, as the specification has it or one's own.

The order of the cells is that of the specification, whatever the order in which sizes and mixes
are named: reads first, and of each mix the large blocks first. What a drive holds depends on what
came before, so the same matrix gives the same figures.

The steady state is judged by cells that the specification names. Of a matrix that lacks one of
them its nearest cell stands in for it: the mix first, since it decides whether a drive collects,
then the size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from opennandlab.base.errors import ConfigError
from opennandlab.base.units import BYTES_MAX, size_in

# As fio reads them, and decimal ones as in device files.
UNITS = {
    "": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20,
    "kb": 10**3, "mb": 10**6,
}  # fmt: skip
# What is meant by a decimal unit more often than not.
BINARY = {"kb": "KiB", "mb": "MiB"}
SECTOR_BYTES = 512
# As much as fio and a queue of a thousand requests can hold.
SIZE_MAX = 16 << 20
COUNT_MAX = 64
CELLS_MAX = 256
SIZES, MIXES = "block_sizes", "mixes"
SIZES_ACCEPTED = f"1 to {COUNT_MAX} multiples of 512 B up to 16m, by commas, such as 4k,12k,1m"
MIXES_ACCEPTED = f"1 to {COUNT_MAX} whole numbers from 0 to 100, percent of reads, such as 100,70,0"


@dataclass(frozen=True)
class Matrix:
    """The cells of a round.

    Args:
        sizes: Bytes, large first.
        mixes: Percent of reads, most first.
    """

    sizes: tuple[int, ...]
    mixes: tuple[int, ...]

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Percent of reads and bytes of each cell, in their order."""
        return list(product(self.mixes, self.sizes))

    def nearest(self, read_pct: int, size: int) -> tuple[int, int]:
        """Return a cell, or the one that is most like it.

        >>> Matrix((8192, 4096), (70, 0)).nearest(65, 65536)
        (70, 8192)
        """
        return min(
            self.cells,
            key=lambda cell: (abs(cell[0] - read_pct), abs(math.log(cell[1] / size)), cell),
        )

    def options(self) -> dict[str, str]:
        """Return the options that give the matrix."""
        sizes = (f"{size / 1024:.10g}k" for size in self.sizes)
        return {SIZES: ",".join(sizes), MIXES: ",".join(map(str, self.mixes))}


def sizes(text: str) -> tuple[int, ...]:
    """Return the bytes of `4k,12k,1m`, large first.

    Raises:
        ValueError: with what is wrong.

    >>> sizes("0.5k, 1m,4KiB"), sizes("128kB,4.096kB")
    ((1048576, 4096, 512), (128000, 4096))
    """
    words = [word.strip() for word in _words(text, "size")]
    found = [_size(word) for word in words]
    for size, word in zip(found, words, strict=True):
        if found.count(size) > 1:
            raise ValueError(f"`{word}` ({size} B) is named twice")
    return tuple(sorted(found, reverse=True))


def mixes(text: str) -> tuple[int, ...]:
    """Return the percents of reads of `100,70,0`, most first.

    Raises:
        ValueError: with what is wrong.
    """
    words = [word.strip() for word in _words(text, "mix")]
    for word in words:
        if not re.fullmatch(r"[0-9]{1,3}", word) or int(word) > 100:
            raise ValueError(f"`{word[:40]}` is not a percentage of reads")
    found = [int(word) for word in words]
    for percent in found:
        if found.count(percent) > 1:
            raise ValueError(f"`{percent}` is named twice")
    return tuple(sorted(found, reverse=True))


def chosen(usual: Matrix, options: Mapping[str, float | str]) -> Matrix:
    """Return the matrix that options ask for, where they do; both have been checked.

    Raises:
        ConfigError: when there are too many cells.
    """
    own = Matrix(
        sizes(str(options[SIZES])) if SIZES in options else usual.sizes,
        mixes(str(options[MIXES])) if MIXES in options else usual.mixes,
    )
    if len(own.cells) > CELLS_MAX:
        count = f"{len(own.sizes)} sizes by {len(own.mixes)} mixes are {len(own.cells)} cells"
        raise ConfigError(SIZES, f"{count} in a round; accepted: at most {CELLS_MAX}")
    return own


def check(own: Matrix, sector_bytes: int, room_bytes: int) -> None:
    """Refuse block sizes that a target cannot do.

    Args:
        own: The matrix.
        sector_bytes: Sector size of the target.
        room_bytes: The most that a request can have where it may lie.

    Raises:
        ConfigError: with the size and what is accepted.
    """
    for size in own.sizes:
        if size % sector_bytes:
            raise ConfigError(
                SIZES,
                f"{size} B is not a multiple of the sectors of this target; accepted: multiples "
                f"of {sector_bytes} B",
            )
        if size > room_bytes:
            raise ConfigError(
                SIZES,
                f"{size} B does not fit into the range that a thread may touch; accepted: at most "
                f"{room_bytes} B",
            )


def _words(text: str, what: str) -> list[str]:
    words = text.split(",")
    if not 1 <= len(words) <= COUNT_MAX:
        raise ValueError(f"{len(words)} {what}{'e' if what == 'mix' else ''}s are too many")
    return words


def _size(word: str) -> int:
    size = size_in(word.lower(), UNITS)
    if size is None or size > BYTES_MAX:
        raise ValueError(f"`{word[:40]}` is not a block size")
    if not 0 < size <= SIZE_MAX or size % SECTOR_BYTES:
        unit = word[-2:].lower()
        meant = ""
        if unit in BINARY:
            number = word[:-2].rstrip()
            meant = f"; {number}{BINARY[unit]} is {Decimal(number) * UNITS[f'{unit[0]}ib']:f} B"
        raise ValueError(f"`{word}` is {size:f} B{meant}")
    return int(size)
