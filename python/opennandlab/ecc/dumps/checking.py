"""A dump through the decoder: corrected bits, bad words, raw bit error rate, a mended image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.base.errors import ConfigError
from opennandlab.ecc.dumps.coding import BAD, ERASED, build, data_of, decode
from opennandlab.ecc.dumps.files import page_count, pieces
from opennandlab.ecc.dumps.layout import Layout

if TYPE_CHECKING:
    from opennandlab.ecc.dumps.coding import Decoded
    from opennandlab.ecc.dumps.layout import Pages

# Of bad words that many are named.
NAMED_MAX = 1000
Watch = Callable[[int, int], None]


@dataclass
class Checked:
    """What the decoder found.

    Args:
        pages: Number of pages.
        erased: Pages of all ones.
        blank: Words that are erased with flips.
        words: Words of written pages.
        corrected: Words by their number of corrected bits.
        bad: Number of words that do not decode.
        named: Page and step of the first of them.
        bits: Bits of the words that decode.
    """

    pages: int = 0
    erased: int = 0
    blank: int = 0
    words: int = 0
    corrected: Counter[int] = field(default_factory=Counter)
    bad: int = 0
    named: list[tuple[int, int]] = field(default_factory=list)
    bits: int = 0

    @property
    def flips(self) -> int:
        """Corrected bits in total."""
        return sum(bits * count for bits, count in self.corrected.items())

    def rber(self) -> tuple[float, float, float] | None:
        """Return the raw bit error rate of words that decode, and its 95 % interval.

        Words that do not decode have more errors, so with any of them it is a lower end.
        """
        from opennandlab import _core

        if not self.bits:
            return None
        low, high = _core.ecc_interval(self.flips, self.bits)
        return self.flips / self.bits, low, high

    def add(self, layout: Layout, found: Decoded, first: int) -> None:
        """Count decoded pages."""
        import numpy as np

        is_erased = found.states[:, 0] == ERASED
        self.pages += len(found.states)
        self.erased += int(is_erased.sum())
        states = found.states[~is_erased]
        self.words += states.size
        self.blank += int(found.is_blank.sum())
        for at, word in enumerate(layout.words):
            good = states[:, at][states[:, at] >= 0]
            self.bits += len(good) * layout.code(word).code_bits
            values, counts = np.unique(good, return_counts=True)
            self.corrected.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        for page, step in np.argwhere(found.states == BAD).tolist():
            self.bad += 1
            if len(self.named) < NAMED_MAX:
                self.named.append((first + page, step))


def check(path: Path, layout: Layout, watch: Watch = lambda *_: None) -> Checked:
    """Return what the decoder finds in a dump.

    Args:
        path: The dump.
        layout: Of its pages.
        watch: Called with pages that are done, and all.
    """
    found = Checked()
    for _ in _decoded(path, layout, found, watch):
        pass
    return found


def mended(
    path: Path, layout: Layout, found: Checked, watch: Watch = lambda *_: None, *, data_only: bool
) -> Iterator[bytes]:
    """Yield a dump with all correctable bits corrected, and count its words.

    Words that do not decode are as they were read.

    Args:
        path: The dump.
        layout: Of its pages.
        found: Is counted in.
        watch: Called with pages that are done, and all.
        data_only: Whether pages are without OOB, parity and scrambler.
    """
    for first, decoded in _decoded(path, layout, found, watch):
        pages = data_of(layout, decoded, first) if data_only else decoded.pages
        yield pages.tobytes()


def _decoded(
    path: Path, layout: Layout, found: Checked, watch: Watch
) -> Iterator[tuple[int, Decoded]]:
    count = page_count(path, layout.raw_bytes)
    for first, pages in pieces(path, layout.raw_bytes):
        decoded = decode(layout, pages, first)
        found.add(layout, decoded, first)
        watch(first + len(pages), count)
        yield first, decoded


def built(
    path: Path, layout: Layout, watch: Watch = lambda *_: None, *, is_marker_overwritten: bool
) -> Iterator[bytes]:
    """Yield the dump of a file: its data with OOB and parity, the last page filled up with ones.

    Args:
        path: Data.
        layout: Of the pages.
        watch: Called with pages that are done, and all.
        is_marker_overwritten: As of `coding.build`.
    """
    import numpy as np

    size = path.stat().st_size
    whole, over = divmod(size, layout.page_bytes)
    count = whole + bool(over)

    def encoded(first: int, data: Pages) -> bytes:
        watch(first + len(data), count)
        return build(layout, data, first, is_marker_overwritten=is_marker_overwritten).tobytes()

    done, left = 0, size
    with path.open("rb") as file:
        while content := file.read(layout.page_bytes * max(1, (4 << 20) // layout.page_bytes)):
            filled = content + b"\xff" * (-len(content) % layout.page_bytes)
            data = np.frombuffer(filled, np.uint8).reshape(-1, layout.page_bytes)
            yield encoded(done, data)
            done += len(data)
            left -= len(content)
    if left:
        raise ConfigError(str(path), f"changed while it was read: {size} bytes at first")
