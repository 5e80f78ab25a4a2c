"""Which columns of the OOB never change, and which change with the data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.ecc.dumps.files import pieces

if TYPE_CHECKING:
    from opennandlab.ecc.dumps.layout import Pages

# Pages whose median is the usual byte of a column; share of pages in which it may be flipped.
SAMPLE, FLIPPED = 512, 0.05


@dataclass(frozen=True)
class Column:
    """Bytes of a page in a row that are alike.

    Args:
        first: First byte of the page with its OOB.
        count: Number of bytes.
        value: The byte that they have in nearly all written pages; None if they change.
    """

    first: int
    count: int
    value: int | None


@dataclass(frozen=True)
class Inspected:
    """What a dump shows.

    Args:
        pages: Number of pages.
        erased: Pages of all ones.
        marked: Written pages whose first byte of the OOB is not FF.
        columns: Of the OOB.
        tail: Constant bytes at the end of a page with its OOB.
    """

    pages: int
    erased: int
    marked: int
    columns: list[Column]
    tail: int


def inspect(path: Path, page_bytes: int, oob_bytes: int) -> Inspected:
    """Return what the bytes of a dump show, without a code.

    Args:
        path: The dump.
        page_bytes: Data of a page.
        oob_bytes: Its spare bytes.
    """
    import numpy as np

    raw = page_bytes + oob_bytes
    usual: Pages | None = None
    others = np.zeros(raw, np.int64)
    pages = erased = marked = 0
    for _, found in pieces(path, raw):
        written = found[(found != 0xFF).any(axis=1)]
        pages += len(found)
        erased += len(found) - len(written)
        if len(written):
            if usual is None:
                middle = np.partition(written[:SAMPLE], len(written[:SAMPLE]) // 2, axis=0)
                usual = middle[len(written[:SAMPLE]) // 2]
            others += (written != usual).sum(axis=0)
            if oob_bytes:
                marked += int((written[:, page_bytes] != 0xFF).sum())
    # Single bits flip in columns that are constant.
    limit = FLIPPED * (pages - erased)
    values: list[int | None] = [None] * raw
    if usual is not None:
        values = [
            int(value) if count <= limit else None
            for value, count in zip(usual, others, strict=True)
        ]
    tail = next((at for at, one in enumerate(reversed(values)) if one is None), raw)
    columns = list(_columns(values, page_bytes)) if pages > erased else []
    return Inspected(pages, erased, marked, columns, tail)


def _columns(values: list[int | None], first: int) -> list[Column]:
    found: list[Column] = []
    for at in range(first, len(values)):
        last = found[-1] if found else None
        if last is not None and last.value == values[at]:
            found[-1] = Column(last.first, last.count + 1, last.value)
        else:
            found.append(Column(at, 1, values[at]))
    return found
