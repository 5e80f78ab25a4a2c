"""Points as files for other programs: CSV, Parquet, and lines of JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from opennandlab.base.canonical import as_bytes
from opennandlab.base.errors import OutputError
from opennandlab.base.files import no_formula, write_atomically, write_pieces_atomically
from opennandlab.store.entry import Entry, Scalar
from opennandlab.store.rows import Rows
from opennandlab.store.store import Store

# Rows that are written at a time.
PIECE_ROWS = 1000


def export(store: Store, path: Path, where: Sequence[str] = (), *, documents: bool = False) -> int:
    """Write points into a file; return how many.

    Args:
        store: Where they are.
        path: Its ending says the form: `.csv` and `.parquet` are tables of all columns, a line of
            `.jsonl` is a point with its settings.
        where: Conditions that the points hold.
        documents: Put the documents into the lines; `.jsonl` only.

    Raises:
        OutputError: for another ending, and when the file cannot be written.
        StoreError: for an invalid condition, and for a point that is damaged.
    """
    form = path.suffix.lower()
    if form not in FORMS:
        raise OutputError(f"cannot write {path}: accepted file extensions: {', '.join(FORMS)}")
    if documents and form != ".jsonl":
        raise OutputError(f"cannot write {path}: documents go into .jsonl only")
    if form != ".jsonl":
        rows = store.rows(where=where)
        write_rows(rows, path)
        return len(rows)
    counted = Counted(store.entries(where))
    write_pieces_atomically(path, (line(entry, documents=documents) for entry in counted))
    return counted.count


def write_rows(rows: Rows, path: Path) -> None:
    """Write a table as CSV or Parquet, by the ending of the file.

    Raises:
        OutputError: for another ending, when the file cannot be written, and for Parquet when
            pyarrow is not installed.
    """
    form = path.suffix.lower()
    if form not in TABLES:
        raise OutputError(f"cannot write {path}: accepted file extensions: {', '.join(TABLES)}")
    TABLES[form](rows, path)


def write_csv(rows: Rows, path: Path) -> None:
    """Write a table as CSV into a file of any name."""
    write_pieces_atomically(path, _csv_pieces(rows))


def _csv_pieces(rows: Rows) -> Iterator[bytes]:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(no_formula, rows.columns))
    for start in range(0, len(rows), PIECE_ROWS):
        for row in rows.rows[start : start + PIECE_ROWS]:
            writer.writerow(map(_cell, row))
        yield as_bytes(text.getvalue())
        text.seek(0)
        text.truncate()
    yield as_bytes(text.getvalue())


def _cell(value: Scalar) -> Scalar:
    # The words of JSON, as in conditions: numbers keep all of their digits.
    if isinstance(value, str):
        return no_formula(value)
    return str(value).lower() if isinstance(value, bool) else value


def _write_parquet(rows: Rows, path: Path) -> None:
    try:
        from pyarrow import parquet

        table = rows.arrow()
    except ImportError:
        raise OutputError(
            f"cannot write {path}: Parquet needs pyarrow: pip install 'opennandlab[parquet]'"
        ) from None
    content = io.BytesIO()
    parquet.write_table(table, content)
    write_atomically(path, content.getvalue())


# Ending -> what writes a table so.
TABLES: dict[str, Callable[[Rows, Path], None]] = {".csv": write_csv, ".parquet": _write_parquet}
FORMS = (*TABLES, ".jsonl")


class Counted:
    """Entries, counted as they pass."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Begin with none."""
        self._entries = entries
        self.count = 0

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries, and count them."""
        for entry in self._entries:
            self.count += 1
            yield entry


def line(entry: Entry, *, documents: bool) -> bytes:
    """Return a point as one line of JSON."""
    names = [field.name for field in fields(entry) if documents or field.name != "document"]
    whole = {name: getattr(entry, name) for name in names}
    whole |= {"coordinates": dict(entry.coordinates), "metrics": dict(entry.metrics)}
    return as_bytes(json.dumps(whole, ensure_ascii=False, allow_nan=False) + "\n")
