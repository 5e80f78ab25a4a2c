"""The figures of a report as SVG files, for pages and papers of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opennandlab.errors import OutputError
from opennandlab.files import write_atomically
from opennandlab.reports.pts import csv, svg
from opennandlab.reports.pts.model import Report, Table


def write(report: Report, folder: Path) -> list[Path]:
    """Write each figure of a report into a folder, which is made where it is missing.

    Returns:
        The files, in the order of the report.

    Raises:
        OutputError: when one cannot be written, and why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
    written = []
    for name, text in files(report):
        path = folder / name
        write_atomically(path, text.encode())
        written.append(path)
    return written


def files(report: Report) -> Iterator[tuple[str, str]]:
    """Yield name and content of each file."""
    for chapter in report.chapters:
        prefix = f"{csv.safe(chapter.id)}-" if len(report.chapters) > 1 else ""
        for item in chapter.items:
            if not isinstance(item, Table):
                yield f"{prefix}{csv.safe(item.id)}.svg", svg.standalone(item)
