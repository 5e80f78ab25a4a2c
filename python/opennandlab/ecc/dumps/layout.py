"""Places of the words of a page: covered bits, parity, and the rest.

Places are counted in bits of a page with its OOB, in the order of the code: from the most
significant bit of each byte, or from the least for `lsb`. Most are whole bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from opennandlab.base.errors import ConfigError
from opennandlab.documents.ecc_layout import Order

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opennandlab.ecc.bch import BchCode

    Pages = NDArray[np.uint8]

Range = tuple[int, int]
BitOrder = Literal["little", "big"]

# Streams are kept in multiples of this length, for layouts that differ a little.
STREAM_BYTES = 4096
ORDERS: tuple[Order, ...] = ("msb", "lsb", "nibble")


def bytes_at(start: int, count: int) -> Range:
    """Return the range of `count` bytes from byte `start`.

    >>> bytes_at(2, 3)
    (16, 40)
    """
    return 8 * start, 8 * (start + count)


@dataclass(frozen=True)
class Word:
    """One codeword.

    Args:
        covered: Ranges that the code covers, in its order.
        parity: Range of its parity.
        rest: Range behind it that is filled up with zeros; empty for none.
    """

    covered: tuple[Range, ...]
    parity: Range
    rest: Range = (0, 0)

    @property
    def bits(self) -> int:
        """Number of covered bits."""
        return sum(stop - start for start, stop in self.covered)

    @property
    def places(self) -> tuple[Range, ...]:
        """All its ranges, in the order of the code."""
        ends = [self.rest] if self.rest[1] > self.rest[0] else []
        return (*self.covered, self.parity, *ends)


@dataclass(frozen=True)
class Scrambler:
    """A stream that is XORed with what the flash stores, by the page in its block.

    Args:
        seeds: State of each page, in turn.
        takes_rest: Whether bytes outside words are scrambled too, with the stream from its start.
    """

    seeds: tuple[int, ...]
    takes_rest: bool

    def streams(self, count: int) -> Pages:
        """Return the first bytes of the stream of each seed.

        Fifteen steps, then the low byte of the state, and eight steps for each further byte.

        >>> Scrambler((0x2b75,), takes_rest=False).streams(4).tobytes().hex()
        'cf7ed420'
        """
        return _streams(self.seeds, -(-count // STREAM_BYTES) * STREAM_BYTES)[:, :count]


@lru_cache(maxsize=8)
def _streams(seeds: tuple[int, ...], count: int) -> Pages:
    import numpy as np

    state = np.array(seeds, np.int32)
    found = np.empty((len(state), count), np.uint8)
    for place in range(count):
        for _ in range(8 if place else 15):
            state = state >> 1 | ((state ^ state >> 1) & 1) << 14
        found[:, place] = state & 0xFF
    return found


@dataclass(frozen=True)
class Layout:
    """A page and its code.

    Args:
        name: Name of the dialect, or of the file.
        page_bytes: Data of a page.
        oob_bytes: Spare bytes of a page (out of band).
        m: Degree of the field.
        strength: Bit errors that a word corrects, t.
        polynomial: Primitive polynomial of the field.
        order: `msb`, `lsb` (bits of each byte reversed) or `nibble` (halves of each byte swapped).
        mask: XORed with the parity: bytes, or None for the complement of the parity of all ones,
            so that erased words have all ones.
        words: The words.
        data: Ranges of the data, in their order.
        marker: Range of the bad-block marker.
        scrambler: Whose stream is XORed with all of it.
    """

    name: str
    page_bytes: int
    oob_bytes: int
    m: int
    strength: int
    polynomial: int
    order: Order
    mask: bytes | None
    words: tuple[Word, ...]
    data: tuple[Range, ...]
    marker: Range
    scrambler: Scrambler | None = None
    _codes: dict[int, BchCode] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse places outside the page and those that overlap."""
        end = 8 * self.raw_bytes
        taken = sorted(place for word in self.words for place in word.places)
        for start, stop in taken:
            if not 0 <= start < stop:
                raise ConfigError("layout", f"bits {start} to {stop} are not a range")
        need = taken[-1][1] if taken else 0
        if need > end:
            message = (
                f"{self.name} needs {-(-need // 8) - self.page_bytes} bytes of OOB behind "
                f"{self.page_bytes}, and there are {self.oob_bytes}"
            )
            raise ConfigError("--oob", message)
        for (_, stop), (start, _) in pairwise(taken):
            if start < stop:
                message = f"{self.name}: words overlap at byte {start // 8} of a page"
                raise ConfigError("layout", message)

    @property
    def raw_bytes(self) -> int:
        """Bytes of a page with its OOB."""
        return self.page_bytes + self.oob_bytes

    def code(self, word: Word) -> BchCode:
        """Return the code of a word."""
        from opennandlab.ecc.bch import BchCode

        if word.bits not in self._codes:
            self._codes[word.bits] = BchCode(
                self.m,
                self.strength,
                word.bits,
                swap_bits=self.order == "lsb",
                polynomial=self.polynomial,
            )
        return self._codes[word.bits]

    def mask_of(self, word: Word) -> bytes:
        """Return the mask of the parity of a word."""
        if self.mask is not None:
            return self.mask
        code = self.code(word)
        return bytes(byte ^ 0xFF for byte in code.encode(b"\xff" * code.data_bytes))

    @property
    def is_little(self) -> bool:
        """Whether bits are counted from the least significant of each byte."""
        return self.order == "lsb"

    @cached_property
    def scrambled(self) -> Pages | None:
        """Stream of each page of a turn, in the places of the page; None without a scrambler."""
        import numpy as np

        if self.scrambler is None:
            return None
        pages = np.zeros((len(self.scrambler.seeds), self.raw_bytes), np.uint8)
        streams = [[range(a // 8, b // 8) for a, b in word.places] for word in self.words]
        if self.scrambler.takes_rest:
            used = {byte for stream in streams for part in stream for byte in part}
            streams.append([range(b, b + 1) for b in range(self.raw_bytes) if b not in used])
        places = [[byte for part in stream for byte in part] for stream in streams]
        longest = max(map(len, places))
        stream = self.scrambler.streams(longest)
        for found in places:
            pages[:, found] = stream[:, : len(found)]
        return pages


def gather(pages: Pages, ranges: Sequence[Range], *, is_little: bool) -> Pages:
    """Return the bits of ranges one behind the other, in whole bytes for each page."""
    import numpy as np

    if all(edge % 8 == 0 for one in ranges for edge in one):
        return np.concatenate([pages[:, a // 8 : b // 8] for a, b in ranges], axis=1)
    order = _bit_order(is_little=is_little)
    parts = [_bits(pages, one, order)[0] for one in ranges]
    return np.packbits(np.concatenate(parts, axis=1), axis=1, bitorder=order)


def scatter(pages: Pages, ranges: Sequence[Range], content: Pages, *, is_little: bool) -> None:
    """Write bits, in whole bytes for each page, into ranges one behind the other."""
    import numpy as np

    if all(edge % 8 == 0 for one in ranges for edge in one):
        done = 0
        for a, b in ranges:
            pages[:, a // 8 : b // 8] = content[:, done : done + (b - a) // 8]
            done += (b - a) // 8
        return
    order = _bit_order(is_little=is_little)
    bits, done = np.unpackbits(content, axis=1, bitorder=order), 0
    for a, b in ranges:
        inner, window, first = _bits(pages, (a, b), order)
        inner[:] = bits[:, done : done + b - a]
        pages[:, first : first + window.shape[1] // 8] = np.packbits(window, axis=1, bitorder=order)
        done += b - a


def halves_swapped(content: Pages) -> Pages:
    """Return bytes with their halves swapped."""
    import numpy as np

    return (content << 4 | content >> 4).astype(np.uint8, copy=False)


def _bit_order(*, is_little: bool) -> BitOrder:
    return "little" if is_little else "big"


def _bits(pages: Pages, one: Range, order: BitOrder) -> tuple[Pages, Pages, int]:
    """Return the bits of a range, those of the bytes around it, and the first of these bytes."""
    import numpy as np

    first, last = one[0] // 8, -(-one[1] // 8)
    window = np.unpackbits(pages[:, first:last], axis=1, bitorder=order)
    return window[:, one[0] - 8 * first : one[1] - 8 * first], window, first
