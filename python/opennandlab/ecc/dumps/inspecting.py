"""Which columns of the OOB never change, and which change with the data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opennandlab.ecc.dumps.files import pieces


@dataclass(frozen=True)
class Column:
    """Bytes of a page in a row that are alike.

    Args:
        first: First byte of the page with its OOB.
        count: Number of bytes.
        value: The byte that all of them have in all written pages; None if they change.
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
    ones = np.full(raw, 0xFF, np.uint8)
    any_one, all_one = np.zeros(raw, np.uint8), ones.copy()
    pages = erased = marked = 0
    for _, found in pieces(path, raw):
        written = found[(found != 0xFF).any(axis=1)]
        pages += len(found)
        erased += len(found) - len(written)
        if len(written):
            any_one |= np.bitwise_or.reduce(written, axis=0)
            all_one &= np.bitwise_and.reduce(written, axis=0)
            if oob_bytes:
                marked += int((written[:, page_bytes] != 0xFF).sum())
    values = [
        int(high) if high == low else None for high, low in zip(any_one, all_one, strict=True)
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
