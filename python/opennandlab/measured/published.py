"""Tables that others published, shipped with the package: figures only, each with its source.

A file of `tables/` is one table of one drive; its name is that of the reference. Figures that were
not published are `null`. Who needs such a figure, a suite of `validate` for one, reads it here.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ResultError
from opennandlab.base.files import parse_yaml
from opennandlab.documents import pts_header
from opennandlab.documents.pts import PtsDocument, Table
from opennandlab.measured.csv import UNITS
from opennandlab.measured.document import UNKNOWN, Cell, Said, bare, made

FOLDER = Path(__file__).parent / "tables"
PREFIX = "reference:"


@dataclass(frozen=True)
class Reference:
    """A published table.

    Args:
        name: By which it is asked for.
        title: What it is.
        test: The standard test whose documents it can be laid next to.
        source: Title and author of where it was published.
        note: What a reader should know; empty for nothing.
    """

    name: str
    title: str
    test: str
    source: str
    note: str


def references() -> list[Reference]:
    """Return the tables that are there, by name.

    >>> [one.test for one in references() if one.name == "client_2013_iops"]
    ['iops']
    """
    return [_described(path.stem, _read(path)) for path in sorted(FOLDER.glob("*.yaml"))]


def reference(name: str) -> PtsDocument:
    """Return a published table as a document of a standard test.

    Args:
        name: Name of the table, with or without `reference:` before it.

    Raises:
        ResultError: for a name that does not exist, and which are.

    >>> table = reference("client_2013_iops").tables[0]
    >>> table.rows[1], table.columns[0], table.values[1][0]
    ('4', '0/100', 62079.1)
    """
    name = name.removeprefix(PREFIX)
    path = FOLDER / f"{name}.yaml"
    known = sorted(one.stem for one in FOLDER.glob("*.yaml"))
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise ResultError(f"no reference is called `{name}`; accepted: {', '.join(known)}{hint}")
    content = _read(path)
    found = _described(name, content)
    said = Said(
        test=found.test,
        name=name,
        model=content.get("model"),
        capacity_bytes=content.get("capacity_bytes"),
        threads=content.get("threads"),
        queue_depth=content.get("queue_depth"),
        amount_bytes=content.get("amount_bytes"),
        segments=content.get("segments"),
        profile=content.get("profile", UNKNOWN),
        notes=(found.note,) if found.note else (),
    )
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    imported = pts_header.Imported(
        origin="reference",
        files=[pts_header.ImportedFile(name=path.name, sha256=sha256)],
        source=found.source,
        unknown=[],
    )
    if "cells" in content:
        return made(said, _cells(content["cells"]), imported)
    return bare(said, [_table(one) for one in content["tables"]], imported)


@dataclass(frozen=True)
class TestedPart:
    """The part of a drive that a published table was measured on.

    Args:
        amount_bytes: Its bytes.
        segments: Equal segments at random places that it is divided into.
        table: Name of the table.
    """

    amount_bytes: int
    segments: int
    table: str


@cache
def tested_part(preset: str, test: str, profile: str) -> TestedPart | None:
    """Return the part of its drive on which the table of a preset was measured; None: no table.

    Args:
        preset: Name of the preset that models the drive.
        test: Name of the standard test.
        profile: Of that test.

    >>> tested_part("client_sata_2013", "iops", "C").amount_bytes
    8589934592
    >>> tested_part("tlc_standard", "iops", "C")
    """
    for path in sorted(FOLDER.glob("*.yaml")):
        content = _read(path)
        found = (content.get("preset"), content["test"], content.get("profile"))
        if found == (preset, test, profile) and "amount_bytes" in content:
            return TestedPart(content["amount_bytes"], content["segments"], path.stem)
    return None


@cache
def figures(name: str, unit: str | None = None) -> Mapping[str, Mapping[str, float]]:
    """Return the figures of a table as they are printed, row by column.

    Args:
        name: Name of the table.
        unit: Of the figures, if rows are block sizes in KiB and columns shares of reads.

    >>> figures("client_2013_iops", "iops")["4"]["65"]
    19760.5
    >>> figures("7450_zones")["1 x 1086 MiB"]["WAF"]
    1.24
    """
    content = _read(FOLDER / f"{name}.yaml")
    if unit is None:
        (table,) = content["tables"]
        columns, rows = table["columns"], table["rows"]
    else:
        grid = content["cells"][unit]
        columns, rows = grid["read_pct"], grid["rows"]
    return {
        str(row): {
            str(column): float(value)
            for column, value in zip(columns, values, strict=True)
            if value is not None
        }
        for row, values in rows.items()
    }


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = parse_yaml(path.read_text(encoding="utf-8"), path.name)
    return content


def _described(name: str, content: dict[str, Any]) -> Reference:
    return Reference(
        name, content["title"], content["test"], content["source"], content.get("note", "")
    )


def _cells(grids: dict[str, dict[str, Any]]) -> list[Cell]:
    """Return the cells of grids: unit -> mixes, and rows by size in KiB."""
    found: dict[tuple[int, float], dict[str, float | None]] = {}
    for unit, grid in grids.items():
        column, factor = UNITS[unit]
        for size, values in grid["rows"].items():
            for read_pct, value in zip(grid["read_pct"], values, strict=True):
                place = (round(float(size) * 1024), float(read_pct))
                found.setdefault(place, {})[column] = value * factor
    return [Cell(size, read_pct, figures) for (size, read_pct), figures in found.items()]


def _table(content: dict[str, Any]) -> Table:
    rows = content["rows"]
    return Table(
        id=content["id"],
        title=content["title"],
        unit=content["unit"],
        row_label=content["row_label"],
        column_label="",
        rows=[str(row) for row in rows],
        columns=content["columns"],
        values=[[None if one is None else float(one) for one in row] for row in rows.values()],
    )
