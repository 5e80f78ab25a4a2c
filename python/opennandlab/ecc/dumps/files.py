"""Dumps in pieces, and the file of a layout."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.base.errors import ConfigError, DocumentError
from opennandlab.base.files import read_bytes
from opennandlab.documents.ecc_layout import LAYOUT_SCHEMA, LayoutDocument, LayoutWord
from opennandlab.documents.record import read
from opennandlab.ecc.dumps.layout import Layout, Range, Scrambler, Word

if TYPE_CHECKING:
    from opennandlab.ecc.dumps.layout import Pages

PIECE_BYTES = 4 << 20
LAYOUT_BYTES_MAX = 1 << 20
# Bytes of the streams of all seeds.
STREAM_MAX = 1 << 25


def check_data(path: Path) -> int:
    """Return the bytes of a file.

    Raises:
        ConfigError: for an empty one, and one that is no regular file.
    """
    try:
        facts = path.stat()
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(facts.st_mode):
        raise ConfigError(str(path), "is not a regular file; accepted: one with bytes of a flash")
    if not facts.st_size:
        raise ConfigError(str(path), "is empty; accepted: a file with bytes of a flash")
    return facts.st_size


def page_count(path: Path, raw_bytes: int) -> int:
    """Return how many pages a dump has.

    Raises:
        ConfigError: for an empty one, one that is no file, and one with a part of a page.
    """
    size = check_data(path)
    count, over = divmod(size, raw_bytes)
    if over or not count:
        message = (
            f"{size} bytes are {count} pages of {raw_bytes} and a rest of {over}; "
            "accepted: whole pages of --page and --oob"
        )
        raise ConfigError(str(path), message)
    return count


def pieces(path: Path, raw_bytes: int) -> Iterator[tuple[int, Pages]]:
    """Yield the pages of a dump in pieces, with the number of the first.

    Raises:
        ConfigError: as `page_count`, and for a file that cannot be read to its end.
    """
    import numpy as np

    count, done = page_count(path, raw_bytes), 0
    several = max(1, PIECE_BYTES // raw_bytes)
    try:
        with path.open("rb") as file:
            while done < count:
                wanted = min(several, count - done)
                content = file.read(wanted * raw_bytes)
                if len(content) != wanted * raw_bytes:
                    raise ConfigError(str(path), f"became shorter at page {done}")
                yield done, np.frombuffer(content, np.uint8).reshape(wanted, raw_bytes)
                done += wanted
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error


def read_layout(path: Path) -> Layout:
    """Return the layout of a file.

    Raises:
        ConfigError: for another file, and for places that overlap or are outside of the page.
    """
    try:
        found, _ = read(json.loads(read_bytes(path, LAYOUT_BYTES_MAX)), LayoutDocument)
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(str(path), f"is not JSON; accepted: {LAYOUT_SCHEMA}") from error
    except DocumentError as error:
        raise ConfigError(str(path), str(error)) from error
    try:
        mask = None if found.mask is None else bytes.fromhex(found.mask)
    except ValueError as error:
        raise ConfigError(f"{path}: mask", "is not hexadecimal text") from error
    words = tuple(Word(tuple(one.covered), one.parity, one.rest) for one in found.words)
    scrambler = Scrambler(tuple(found.seeds), found.scrambles_rest) if found.seeds else None
    layout = Layout(
        found.name, found.page_bytes, found.oob_bytes, found.m, found.strength, found.polynomial,
        found.order, mask, words, tuple(found.data), found.marker, scrambler,
    )  # fmt: skip
    _check(layout, path)
    return layout


def _check(layout: Layout, path: Path) -> None:
    end = 8 * layout.raw_bytes
    bits = sum(stop - start for start, stop in layout.data)
    outside = [one for one in (*layout.data, layout.marker) if not 0 <= one[0] < one[1] <= end]
    if outside or bits != 8 * layout.page_bytes:
        message = (
            f"has {bits} bits of data in ranges; accepted: the {8 * layout.page_bytes} of a page"
        )
        raise ConfigError(f"{path}: data", message)
    parity = [place for word in layout.words for place in (word.parity, word.rest)]
    places = sorted((*layout.data, *(place for place in parity if place[0] < place[1])))
    for (_, stop), (start, _) in pairwise(places):
        if start < stop:
            message = f"overlaps other data or parity at byte {start // 8} of a page"
            raise ConfigError(f"{path}: data", message)
    if len(layout.scrambler.seeds if layout.scrambler else ()) * layout.raw_bytes > STREAM_MAX:
        raise ConfigError(f"{path}: seeds", f"make more than {STREAM_MAX} bytes of streams")
    for number, word in enumerate(layout.words):
        code = layout.code(word)
        room = word.parity[1] - word.parity[0]
        if not code.parity_bits <= room <= 8 * code.parity_bytes:
            message = f"has room for {room} bits; accepted: {code.parity_bits} of this code"
            raise ConfigError(f"{path}: words[{number}].parity", message)
        if layout.mask is not None and len(layout.mask) != code.parity_bytes:
            message = f"has {len(layout.mask)} bytes; accepted: {code.parity_bytes}"
            raise ConfigError(f"{path}: mask", message)


def document_of(layout: Layout) -> LayoutDocument:
    """Return a layout as a document."""
    scrambler = layout.scrambler
    return LayoutDocument(
        schema=LAYOUT_SCHEMA,
        name=layout.name,
        page_bytes=layout.page_bytes,
        oob_bytes=layout.oob_bytes,
        m=layout.m,
        strength=layout.strength,
        polynomial=layout.polynomial,
        order=layout.order,
        mask=None if layout.mask is None else layout.mask.hex(),
        words=[
            LayoutWord(covered=list(one.covered), parity=one.parity, rest=one.rest)
            for one in layout.words
        ],
        data=list(layout.data),
        marker=layout.marker,
        seeds=list(scrambler.seeds) if scrambler else [],
        scrambles_rest=bool(scrambler and scrambler.takes_rest),
    )  # fmt: skip


def ranges_text(ranges: list[Range]) -> str:
    """Return ranges of bits as bytes, for people.

    >>> ranges_text([(0, 16), (24, 32)])
    '0 to 1, 3'
    """
    found = []
    for start, stop in ranges:
        first, last = start // 8, (stop - 1) // 8
        found.append(str(first) if first == last else f"{first} to {last}")
    return ", ".join(found)
