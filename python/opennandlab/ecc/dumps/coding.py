"""Pages to words and back: build parity, decode, mend.

What the flash stores = stream of the scrambler XOR (data, meta, parity XOR mask). A word that does
not decode and has at most t zeros is an erased one with flips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opennandlab.ecc.dumps.layout import Layout, Word, gather, halves_swapped, scatter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opennandlab.ecc.dumps.layout import Pages

# States of a word that are no number of corrected bits.
BAD, ERASED = -1, -2


@dataclass(frozen=True)
class Decoded:
    """Decoded pages.

    Args:
        pages: The pages as the flash should have stored them; bad words as they were read.
        states: Corrected bits of each word of each page, or `BAD`, or `ERASED` for erased pages.
        is_blank: Words that are erased with flips.
    """

    pages: Pages
    states: NDArray[np.int32]
    is_blank: NDArray[np.bool_]


def decode(layout: Layout, pages: Pages, first_page: int = 0) -> Decoded:
    """Return pages with their words decoded.

    Args:
        layout: Of the pages.
        pages: Bytes of each page, its OOB last.
        first_page: Number of the first page in its block; the scrambler goes by it.
    """
    import numpy as np

    states = np.full((len(pages), len(layout.words)), ERASED, np.int32)
    is_blank = np.zeros(states.shape, np.bool_)
    mended = pages.copy()
    written = np.flatnonzero((pages != 0xFF).any(axis=1))
    if not len(written):
        return Decoded(mended, states, is_blank)
    stored = pages[written]
    streams = _streams(layout, written + first_page)
    plain = stored if streams is None else stored ^ streams
    for at, word in enumerate(layout.words):
        counts = _decode_word(layout, word, plain)
        zeros = _zeros(layout, word, stored)
        blank = (counts == BAD) & (zeros <= layout.strength)
        states[written, at] = np.where(blank, zeros, counts)
        is_blank[written, at] = blank
    after = plain if streams is None else plain ^ streams
    for at, word in enumerate(layout.words):
        rows = np.flatnonzero(is_blank[written, at])
        if len(rows):
            ones = np.full((len(rows), -(-sum(b - a for a, b in word.places) // 8)), 0xFF, np.uint8)
            kept = after[rows]
            scatter(kept, word.places, ones, is_little=layout.is_little)
            after[rows] = kept
    mended[written] = after
    return Decoded(mended, states, is_blank)


def _decode_word(layout: Layout, word: Word, plain: Pages) -> NDArray[np.int32]:
    """Decode a word of all pages in place, and return its corrected bits."""
    import numpy as np

    code = layout.code(word)
    mask = _array(layout.mask_of(word))
    used = _array(_used(layout, word))
    data = _turned(layout, gather(plain, word.covered, is_little=layout.is_little))
    read = gather(plain, [word.parity], is_little=layout.is_little)
    parity = (_turned(layout, read) ^ mask) & used
    right, corrected, counts = code.decode_batch(data.tobytes(), parity.tobytes())
    found = np.array([BAD if one is None else one for one in counts], np.int32)
    good = found >= 0
    data[good] = np.frombuffer(right, np.uint8).reshape(data.shape)[good]
    parity[good] = np.frombuffer(corrected, np.uint8).reshape(parity.shape)[good]
    scatter(plain, word.covered, _turned(layout, data), is_little=layout.is_little)
    kept = np.where(good[:, None], _turned(layout, (parity & used) ^ mask), read)
    scatter(plain, [word.parity], kept, is_little=layout.is_little)
    return found


def _used(layout: Layout, word: Word) -> bytes:
    """Return ones for the bits of the parity; bits that fill up its last byte are none."""
    code = layout.code(word)
    unused = 8 * code.parity_bytes - code.parity_bits
    last = 0xFF >> unused if layout.order == "lsb" else 0xFF << unused & 0xFF
    return b"\xff" * (code.parity_bytes - 1) + bytes([last])


def _zeros(layout: Layout, word: Word, stored: Pages) -> NDArray[np.int32]:
    import numpy as np

    bits = sum(stop - start for start, stop in (*word.covered, word.parity))
    read = gather(stored, (*word.covered, word.parity), is_little=layout.is_little)
    ones = np.unpackbits(read, axis=1).sum(axis=1, dtype=np.int32)
    return np.asarray(bits - ones, np.int32)


def _turned(layout: Layout, content: Pages) -> Pages:
    """Return bytes in the order of the codec: for `nibble`, halves swapped."""
    return halves_swapped(content) if layout.order == "nibble" else content


def _streams(layout: Layout, numbers: NDArray[np.int64]) -> Pages | None:
    scrambled = layout.scrambled
    return None if scrambled is None else scrambled[numbers % len(scrambled)]


def build(
    layout: Layout, data: Pages, first_page: int = 0, *, is_marker_overwritten: bool = False
) -> Pages:
    """Return pages with OOB and parity for their data; pages of all ones stay erased.

    Args:
        layout: Of the pages.
        data: Data of each page.
        first_page: Number of the first page in its block.
        is_marker_overwritten: Whether the marker is set after scrambling, as a public builder does:
            it then damages the word that covers it.
    """
    import numpy as np

    pages = np.full((len(data), layout.raw_bytes), 0xFF, np.uint8)
    written = np.flatnonzero((data != 0xFF).any(axis=1))
    if not len(written):
        return pages
    made = pages[written]
    scatter(made, layout.data, data[written], is_little=layout.is_little)
    streams = _streams(layout, written + first_page)
    marker = [layout.marker]
    for word in layout.words:
        if word.rest[0] < word.rest[1]:
            zeros = np.zeros((len(made), -(-(word.rest[1] - word.rest[0]) // 8)), np.uint8)
            scatter(made, [word.rest], zeros, is_little=layout.is_little)
    if streams is not None and not is_marker_overwritten:
        # Scrambled, it must be all ones.
        clear = gather(~streams, marker, is_little=layout.is_little)
        scatter(made, marker, clear, is_little=layout.is_little)
    for word in layout.words:
        _encode_word(layout, word, made)
    if streams is not None:
        made ^= streams
        if is_marker_overwritten:
            ones = np.full_like(gather(made, marker, is_little=layout.is_little), 0xFF)
            scatter(made, marker, ones, is_little=layout.is_little)
    pages[written] = made
    return pages


def _encode_word(layout: Layout, word: Word, made: Pages) -> None:
    _, parity = parity_of(layout, word, made)
    found = _turned(layout, parity ^ _array(layout.mask_of(word)))
    scatter(made, [word.parity], found, is_little=layout.is_little)


def parity_of(layout: Layout, word: Word, plain: Pages) -> tuple[Pages, Pages]:
    """Return the parity of a word as it is in descrambled pages, and as the code computes it.

    Both are in the order of the codec, before the mask.
    """
    import numpy as np

    data = _turned(layout, gather(plain, word.covered, is_little=layout.is_little))
    parity = layout.code(word).encode_batch(data.tobytes())
    stored = _turned(layout, gather(plain, [word.parity], is_little=layout.is_little))
    return stored, np.frombuffer(parity, np.uint8).reshape(len(plain), -1)


def _array(content: bytes) -> NDArray[np.uint8]:
    import numpy as np

    return np.frombuffer(content, np.uint8)


def data_of(layout: Layout, decoded: Decoded, first_page: int = 0) -> Pages:
    """Return the data of decoded pages; that of erased words is all ones."""
    import numpy as np

    plain = decoded.pages.copy()
    streams = _streams(layout, np.arange(len(plain)) + first_page)
    if streams is not None:
        plain ^= streams
        for at, word in enumerate(layout.words):
            rows = np.flatnonzero(decoded.is_blank[:, at])
            if len(rows):
                kept = plain[rows]
                ones = np.full((len(rows), -(-word.bits // 8)), 0xFF, np.uint8)
                scatter(kept, word.covered, ones, is_little=layout.is_little)
                plain[rows] = kept
    plain[decoded.states[:, 0] == ERASED] = 0xFF
    return gather(plain, layout.data, is_little=layout.is_little)
