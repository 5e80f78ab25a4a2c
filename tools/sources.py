"""Writes docs/sources.md from docs/resources/sources.yaml, and runs the commands of its rows.

Usage: `python tools/sources.py` writes the page, `--check` compares it, and `--run quick` or
`--run minutes` runs the commands of these rows and reports each number that is another one.

A row is one item of a document: what the document gives, the command or the place of a page that
shows it here, our number, and a state. `match` is a regular expression for what the command prints,
with a group for the number; `json` is the place of the number in the document that it prints, or in
`file`. `value` is the number expected, within the relative tolerance `within` (0 if left out).
Commands run once each, in a folder of their own that has `docs` and `examples`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from opennandlab.base.files import parse_yaml

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "resources" / "sources.yaml"
PAGE = ROOT / "docs" / "sources.md"
STATES = ("works", "fitted", "known miss", "refused")
COSTS = ("quick", "minutes", "long", "page")


@dataclass(frozen=True)
class Row:
    """One item of a document."""

    item: str
    show: str
    state: str
    cost: str
    gives: str = ""
    ours: str = ""
    note: str = ""
    match: str = ""
    json: str = ""
    file: str = ""
    value: float | None = None
    within: float = 0.0
    exit: int = 0

    def __post_init__(self) -> None:
        """Refuse what the page could not show, or a run could not check."""
        if self.state not in STATES or self.cost not in COSTS:
            raise ValueError(f"{self.item}: state {self.state}, cost {self.cost}")
        if (self.cost == "page") == self.show.startswith(("opennandlab ", "pytest ")):
            raise ValueError(f"{self.item}: a page has a place, all else a command")
        if self.cost in ("quick", "minutes") and not (self.match or self.json):
            raise ValueError(f"{self.item}: nothing of its command is checked")
        if self.state in ("known miss", "refused") and not self.note:
            raise ValueError(f"{self.item}: {self.state} without a reason")

    @property
    def commands(self) -> list[str]:
        """The commands, in order; none where a page shows the item."""
        return [] if self.cost == "page" else self.show.split(" && ")


@dataclass(frozen=True)
class Source:
    """A document: title, author, rows."""

    title: str
    author: str
    rows: list[Row]


def sources() -> list[Source]:
    """Read the data file."""
    names = {field.name for field in fields(Row)}
    found = []
    for part in parse_yaml(DATA.read_text(encoding="utf-8"), DATA.name):
        for row in part["rows"]:
            if unknown := set(row) - names:
                raise ValueError(f"{row['item']}: unknown keys {sorted(unknown)}")
        rows = [Row(**row) for row in part["rows"]]
        found.append(Source(part["title"], part["author"], rows))
    return found


def page(documents: list[Source]) -> str:
    """Return the page: counts, then a table for each document."""
    everything = [row for document in documents for row in document.rows]
    lines = [
        "# Five documents, item by item",
        "",
        "<!-- Written by tools/sources.py from docs/resources/sources.yaml. -->",
        "",
        f"Five documents describe what this program should do. These are their {len(everything)}",
        "items, each with the command, or the part of a page, that shows it here.",
        "",
        "| document | " + " | ".join([*STATES, "all"]) + " |",
        "|---|" + "---|" * (len(STATES) + 1),
    ]
    for name, rows in [*((d.title, d.rows) for d in documents), ("all", everything)]:
        counts = [sum(row.state == state for row in rows) for state in STATES]
        lines.append(f"| {name} | " + " | ".join(map(str, [*counts, len(rows)])) + " |")
    lines += [
        "",
        "`works`: done, and the number is ours. `fitted`: the figure fixed a key of a preset or a",
        "file, so it is no evidence. `known miss`: ours is another one, and the note says what is",
        "missing. `refused`: not built, for the reason in the note. A command marked ¹ takes",
        "longer than some seconds, ² much longer, or gives figures of the machine that it runs on.",
        "All others are run by the tests, and must give the number again:",
        "",
        "    python tools/sources.py --run quick       # or minutes",
        "",
    ]
    for document in documents:
        lines += [f"## {document.title}", "", f"{document.author}.", ""]
        lines += ["| item | the document | shown by | here | state |", "|---|---|---|---|---|"]
        lines += [_line(row) for row in document.rows]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _line(row: Row) -> str:
    if row.cost == "page":
        name, _, _ = row.show.partition("#")
        shown = f"[{Path(name).stem}]({row.show})"
    else:
        mark = {"quick": "", "minutes": " ¹", "long": " ²"}[row.cost]
        shown = ", then ".join(f"`{command}`" for command in row.commands) + mark
    state = row.state if row.state == "works" else f"**{row.state}**"
    if row.note:
        state += f": {row.note}"
    return (
        "| "
        + " | ".join(
            cell.replace("|", "\\|") for cell in (row.item, row.gives, shown, row.ours, state)
        )
        + " |"
    )


def chosen(documents: list[Source], cost: str) -> dict[str, list[Row]]:
    """Return the rows of a cost by their commands, in order."""
    found: dict[str, list[Row]] = {}
    for document in documents:
        for row in document.rows:
            if row.cost == cost:
                found.setdefault(row.show, []).append(row)
    return found


def run(show: str, rows: list[Row]) -> list[str]:
    """Run the commands of `show` in a folder of their own; return what is not as the rows say."""
    with tempfile.TemporaryDirectory(prefix="opennandlab-sources-") as name:
        folder = Path(name)
        for link in ("docs", "examples"):
            (folder / link).symlink_to(ROOT / link)
        here = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        here |= {"COLUMNS": "200"}
        done = subprocess.run(  # noqa: S602 (commands of our own file)
            show, shell=True, cwd=folder, env=here, text=True, capture_output=True, check=False
        )
        return [
            f"{row.item}: {wrong}"
            for row in rows
            if (wrong := difference(row, done.returncode, done.stdout, done.stderr, folder))
        ]


def difference(row: Row, code: int, out: str, err: str, folder: Path) -> str:
    """Return what is not as the row says; empty if all is."""
    if code != row.exit:
        return f"exit code {code}, expected {row.exit}: {err.strip()[-300:]}"
    found: Any
    if row.json:
        found = json.loads((folder / row.file).read_text() if row.file else out)
        for key in row.json.split("."):
            found = found[int(key) if isinstance(found, list) else key]
    else:
        hit = re.search(row.match, out + err, re.MULTILINE)
        if hit is None:
            return f"{row.match!r} is not in what was printed"
        found = hit[1] if hit.groups() else None
    if row.value is None:
        return ""
    number = float(re.sub(r"[ ,+]", "", str(found)))
    if math.isclose(number, row.value, rel_tol=row.within, abs_tol=0):
        return ""
    return f"{number}, expected {row.value} within {row.within}"


def main() -> int:
    """Write the page, compare it, or run commands; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the page, write nothing")
    parser.add_argument("--run", choices=("quick", "minutes"), help="run the commands of a cost")
    options = parser.parse_args()
    documents = sources()
    if options.run:
        complaints = []
        for show, rows in chosen(documents, options.run).items():
            print(show, flush=True)
            complaints += run(show, rows)
        print("\n".join([*complaints, f"{len(complaints)} differences"]))
        return 1 if complaints else 0
    text = page(documents)
    if options.check:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
