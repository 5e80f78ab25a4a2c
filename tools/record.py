"""Keeps `examples/results/`: documents behind pages of docs/, made again, and compared.

Usage: `python tools/record.py` makes all documents of `record_table.py` and writes those whose
numbers differ, with `record.json` (digest, program, machine, date) and the index, README.md. What
came out the same keeps its file and date. `--only PATTERN` makes a part of them.

`--check` writes nothing. It holds index, files and digests against one another, runs the commands
again and compares digests, which are equal for equal settings on any machine; where one differs,
it names the numbers, and by how much. `--sample N` runs N of them: the quickest of each folder in
turn. It asks the *installed* package, like `generate.py`.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.studies.validation import Verdict, head_line
from record_table import ENTRIES, Entry

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "results"
# All files of the folder together, and the wall time of all commands on two cores.
BYTES_MAX = 1_500_000
# Differences that are shown of a document.
SHOWN_MAX = 10
# Heads of what a reader looks at first.
FIRST = ("metrics.", "results.", "rows[")

Document = dict[str, Any]

INTRO = """\
# Results, kept

Documents behind the numbers of [the benchmark page](../../docs/benchmark-page.md), [the device
presets](../../docs/presets.md) and [the standard tests](../../docs/pts.md), as the program wrote
them. Written by `make record`; nobody edits them.

Simulated time does not depend on the machine, so the command of a row gives a document with the
digest of that row: SHA-256 of all but program, machine, date and wall time. These are in
[record.json](record.json) for each document, and the digest in full. To a command belongs where its
document goes: `--output FILE` for `benchmark`, `--output DIR` for `pts`, `--json` for `validate`.
The last column has the wall time in seconds, next to whatever else the machine did.

    make record                  # make all anew; a few minutes
    make record ONLY='pts/*'     # a part of them
    make record-check            # run a sample again and compare; part of `make check`
    python tools/record.py --check                                     # run all again and compare
    opennandlab verify examples/results/benchmark-page/W2-greedy.json  # one result
    opennandlab report examples/results/pts/*.json --html pts.html     # tests to read
"""


@dataclass(frozen=True)
class Made:
    """A document that a command gave.

    Args:
        document: The document.
        text: The file.
        facts: Program, machine, date and wall time, as `record.json` has them.
    """

    document: Document
    text: str
    facts: Document


class RecordError(Exception):
    """A command failed, or the record is not whole."""


def make(entry: Entry) -> Made:
    """Run the command of a row and return its document."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kind = entry.command.split()[0]
        file = folder / Path(entry.file).name
        arguments = shlex.split(entry.command)
        if kind == "benchmark":
            arguments += ["--quiet", "--output", str(file)]
        elif kind == "pts":
            arguments += ["--quiet", "--output", str(folder)]
        else:
            arguments += ["--json"]
        done = subprocess.run(
            [sys.executable, "-m", "opennandlab", *arguments],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            tail = (done.stderr or done.stdout)[-2000:]
            raise RecordError(
                f"{entry.file}: `{entry.command}` ended with {done.returncode}: {tail}"
            )
        text = done.stdout if kind == "validate" else file.read_text(encoding="utf-8")
        runs = folder / "run.json"
        moment = json.loads(runs.read_text(encoding="utf-8")) if runs.exists() else {}
    document: Document = json.loads(text)
    facts = _facts(document, moment.get(document.get("test", ""), {}))
    facts["seconds"] = round(time.monotonic() - began, 1)
    return Made(document, text, facts)


def _facts(document: Document, moment: Document) -> Document:
    """Return what belongs to one program, machine and moment."""
    import datetime as dt

    from opennandlab.base.canonical import digest
    from opennandlab.core.result import model_version, tool
    from opennandlab.documents.record import plain

    # A test leaves them in `run.json`, a result in itself, a validation nowhere.
    now = dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "digest": digest(document),
        "model_version": model_version(),
        "created": document.get("created") or moment.get("created") or now,
        "tool": {**plain(tool()), **(document.get("tool") or {})},
    }


def load(entry: Entry) -> Document:
    """Return a document of the record as it is stored.

    Raises:
        RecordError: when it is not there, or no JSON.
    """
    try:
        document: Document = json.loads((FOLDER / entry.file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"{entry.file}: {error}; `make record` makes it") from None
    return document


def facts_of_all() -> dict[str, Document]:
    """Return `record.json`: file of each document to its facts."""
    path = FOLDER / "record.json"
    if not path.exists():
        return {}
    documents: dict[str, Document] = json.loads(path.read_text(encoding="utf-8"))["documents"]
    return documents


def index(facts: Mapping[str, Document]) -> str:
    """Return README.md: a table for each folder."""
    lines = [INTRO]
    for folder in dict.fromkeys(Path(entry.file).parent.name for entry in ENTRIES):
        entries = [one for one in ENTRIES if one.file.startswith(f"{folder}/")]
        lines += [f"## {folder}", ""]
        lines += ["| file | what it is | command | figures | model | digest | date, s |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for entry in entries:
            fact = facts[entry.file]
            name = Path(entry.file).stem
            command = entry.command.replace("|", "\\|")
            lines.append(
                f"| [{name}]({entry.file}) | {entry.about} | `opennandlab {command}` | "
                f"{headline(entry, load(entry))} | {fact['model_version']} | "
                f"`{fact['digest'][:12]}` | {fact['created'][:10]}, {fact['seconds']:g} |"
            )
        lines.append("")
    lines += ["## Made by", "", *_machines(facts)]
    return "\n".join(lines) + "\n"


def _machines(facts: Mapping[str, Document]) -> Iterator[str]:
    """Yield a line for each build and machine that made documents."""
    counts: dict[str, int] = {}
    for fact in facts.values():
        tool = fact["tool"]
        changed = ", sources changed since" if tool.get("dirty") else ""
        line = (
            f"opennandlab {tool['version']} ({tool['commit']}{changed}), Python {tool['python']}, "
            f"{tool['os']}, {tool['cpu']}"
        )
        counts[line] = counts.get(line, 0) + 1
    for line, count in counts.items():
        yield f"- {line}: {count} documents"


def headline(entry: Entry, document: Document) -> str:
    """Return the headline figures of a document in words."""
    if entry.figures:
        found = ((label, _at(document, path)) for label, path in entry.figures.items())
        return ", ".join(f"{label} {_number(value)}" for label, value in found)
    rows = document["rows"]
    counts = head_line([Verdict(row["verdict"]) for row in rows])
    equal = [row for row in rows if row["relation"] == "=" and row["error"] is not None]
    middle = sorted(abs(row["error"]) for row in equal)[len(equal) // 2]
    return f"{counts}, median error {middle:.1%}"


def _at(document: Document, path: str) -> float | None:
    value: Any = document
    for key in path.split("."):
        value = value[key]
    return None if value is None else float(value)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def differences(stored: Document, made: Document) -> list[str]:
    """Return in sentences what differs between two documents, the largest change first."""
    from opennandlab.base.canonical import deterministic_part

    one = dict(_leaves(deterministic_part(stored)))
    other = dict(_leaves(deterministic_part(made)))
    changed = {path: (one[path], other[path]) for path in one if path in other}
    changed = {path: pair for path, pair in changed.items() if pair[0] != pair[1]}
    numbers = {path: pair for path, pair in changed.items() if all(map(_is_number, pair))}
    order = sorted(numbers, key=lambda path: (not path.startswith(FIRST), -_change(*numbers[path])))
    lines = []
    if numbers:
        lines.append(f"{len(numbers)} of {sum(map(_is_number, one.values()))} numbers changed")
    lines += [f"  {path}: {_pair(*numbers[path])}" for path in order[:SHOWN_MAX]]
    words = [path for path in changed if path not in numbers]
    lines += [f"  {path}: {changed[path][0]!r:.60} → {changed[path][1]!r:.60}"
              for path in words[:SHOWN_MAX]]  # fmt: skip
    hidden = max(0, len(order) - SHOWN_MAX) + max(0, len(words) - SHOWN_MAX)
    if hidden:
        lines.append(f"  and {hidden} more")
    for text, paths in (
        ("no longer there", [path for path in one if path not in other]),
        ("new", [path for path in other if path not in one]),
    ):
        if paths:
            shown = ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")
            lines.append(f"  {len(paths)} values are {text}: {shown}")
    return lines


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{place}]")
    else:
        yield path, value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _change(one: Any, other: Any) -> float:  # noqa: ANN401 (leaves of JSON, both numbers)
    return abs(other / one - 1) if one else math.inf


def _pair(one: Any, other: Any) -> str:  # noqa: ANN401 (leaves of JSON, both numbers)
    delta = f" ({(other / one - 1) * 100:+.3g} %)" if one else ""
    return f"{one:.6g} → {other:.6g}{delta}"


def faults() -> Iterator[str]:
    """Yield what is wrong with the record as it is stored; nothing is run."""
    from opennandlab.base.canonical import digest

    facts = facts_of_all()
    files = {entry.file for entry in ENTRIES}
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    extra = found - files - {"README.md", "record.json", "pts/run.json"}
    yield from (f"{name}: belongs to no row of tools/record_table.py" for name in sorted(extra))
    yield from (f"{name}: not there; `make record` makes it" for name in sorted(files - found))
    if set(facts) != files:
        yield f"record.json: lists other documents: {', '.join(sorted(set(facts) ^ files))}"
    for entry in ENTRIES:
        if entry.file not in found or entry.file not in facts:
            continue
        document = load(entry)
        own = digest(document)
        if own != document.get("digest", own) or own != facts[entry.file]["digest"]:
            yield f"{entry.file}: was changed after it was written: its digest is {own[:12]}…"
    size = sum((FOLDER / name).stat().st_size for name in found)
    if size > BYTES_MAX:
        yield f"{size} bytes in all; at most {BYTES_MAX}"
    readme = FOLDER / "README.md"
    if set(facts) == files <= found and (
        not readme.exists() or readme.read_text(encoding="utf-8") != index(facts)
    ):
        yield "README.md: not as `make record` writes it"


def sample(count: int) -> list[Entry]:
    """Return as many rows: the quickest of each folder in turn."""
    facts = facts_of_all()
    folders: dict[str, list[Entry]] = {}
    for entry in sorted(ENTRIES, key=lambda one: facts[one.file]["seconds"]):
        folders.setdefault(Path(entry.file).parent.name, []).append(entry)
    ranks = [(rank, name) for name, rows in folders.items() for rank in range(len(rows))]
    return [folders[name][rank] for rank, name in sorted(ranks, key=lambda it: it[0])[:count]]


def check(entries: Sequence[Entry], jobs: int) -> list[str]:
    """Run rows again and return what differs from the record, ready to print."""
    found = list(faults())
    for entry, made in _all(entries, jobs):
        if isinstance(made, RecordError):
            found.append(str(made))
            continue
        stored = load(entry)
        lines = differences(stored, made.document)
        print(f"{entry.file}: {'differs' if lines else 'the same'}, {made.facts['seconds']:g} s")
        if lines:
            head = (
                f"{entry.file}: `opennandlab {entry.command}` gives another document; if that is "
                "meant, `make record`"
            )
            found.append("\n".join([head, *lines]))
    return found


def refresh(entries: Sequence[Entry], jobs: int) -> list[str]:
    """Make rows again and write those that changed, with the index; return what failed."""
    facts = facts_of_all()
    failed = []
    for entry, made in _all(entries, jobs):
        if isinstance(made, RecordError):
            failed.append(str(made))
            continue
        path = FOLDER / entry.file
        lines = differences(load(entry), made.document) if path.exists() else ["new"]
        print("\n".join([f"{entry.file}: {lines[0] if lines else 'the same'}", *lines[1:]]))
        known = facts.get(entry.file, {})
        if lines or any(known.get(key) != made.facts[key] for key in ("digest", "model_version")):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made.text, encoding="utf-8")
            facts[entry.file] = made.facts
    _write_index({entry.file: facts[entry.file] for entry in ENTRIES if entry.file in facts})
    return failed or list(faults())


def _write_index(facts: dict[str, Document]) -> None:
    from opennandlab.base.canonical import readable_json

    # Reports take the date of a standard test from the file next to it.
    runs = {
        Path(file).stem: {
            "tool": fact["tool"],
            "created": fact["created"],
            "run": {"wall_s": fact["seconds"]},
            "digest": fact["digest"],
        }
        for file, fact in facts.items()
        if file.startswith("pts/")
    }
    for name, document in (("record.json", {"documents": facts}), ("pts/run.json", runs)):
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(readable_json(document) + "\n", encoding="utf-8")
    if len(facts) == len(ENTRIES):
        (FOLDER / "README.md").write_text(index(facts), encoding="utf-8")
    listed = {entry.file for entry in ENTRIES} | {"README.md", "record.json", "pts/run.json"}
    for path in FOLDER.rglob("*"):
        if path.is_file() and str(path.relative_to(FOLDER)) not in listed:
            path.unlink()
            print(f"{path.relative_to(FOLDER)}: removed")


def _all(entries: Sequence[Entry], jobs: int) -> Iterator[tuple[Entry, Made | RecordError]]:
    """Yield each row with its document, in the order of the table."""

    def attempt(entry: Entry) -> Made | RecordError:
        try:
            return make(entry)
        except RecordError as error:
            return error

    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(entries, pool.map(attempt, entries), strict=True)


def main(arguments: list[str]) -> int:
    """Make the record, or with `--check` compare it; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; compare")
    parser.add_argument("--sample", type=int, metavar="N", help="with --check: run N rows")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="rows by file, as 'pts/*'")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N",
                        help="commands at a time; default 2")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.sample is not None and (not options.check or options.sample < 0):
        parser.error("--sample takes a number from 0, and --check beside it")
    began = time.monotonic()
    do: Callable[[Sequence[Entry], int], list[str]] = check if options.check else refresh
    try:
        entries = ENTRIES if options.sample is None else sample(options.sample)
        entries = [one for one in entries if fnmatch.fnmatch(one.file, options.only)]
        found = do(entries, options.jobs)
    except (RecordError, KeyError) as error:
        found = [f"record: {error}; `make record` makes it whole"]
    for text in found:
        print(text, file=sys.stderr)
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    print(f"{len(entries)} of {len(ENTRIES)} documents run, {size / 1024:.0f} KiB in all, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
