"""Documents of the standard tests as they come from disk: whole, older, damaged or cut off.

```text
bytes ──► salvage ──► mapping ──► from_damaged ──► Measured { document, lost, missing }
```
A whole document is the declared record. Of a damaged one the record holds what can be read, and
what was lost is named in `missing`, so that views draw what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from opennandlab.base.canonical import digest
from opennandlab.base.errors import ResultError
from opennandlab.documents import pts
from opennandlab.documents.partial import readable
from opennandlab.documents.pts import SCHEMA, Cell, Histogram, Moment, Phase, PtsDocument, Table
from opennandlab.documents.pts_base import Results
from opennandlab.documents.pts_header import Header
from opennandlab.documents.record import JsonObject, Problem, path_text
from opennandlab.documents.saved import read_content
from opennandlab.reports.pts.salvage import salvage
from opennandlab.reports.pts.verdict import Verdict, is_steady, verdict

# Of losses of the same kind, so many are named one by one.
NAMED_MAX = 3

# A figure of the results that is not a list or a mapping.
Scalar = bool | int | float | str | None


@dataclass(frozen=True)
class Measured:
    """A document of a test, whole or as much of it as can be read.

    Args:
        name: Name of the run, or of its file.
        document: The document; what was lost is empty, null or zero in it.
        figures: Single figures of its results, also those of a test that this build does not know.
        lost: The places of what was lost.
        missing: The same in sentences, and what else is wrong with the file.
        moment: What `run.json` next to the file says of its run; None where there is none.
    """

    name: str
    document: PtsDocument
    figures: dict[str, Scalar]
    lost: tuple[tuple[str | int, ...], ...]
    missing: tuple[str, ...]
    moment: Moment | None = None

    def has(self, *place: str) -> bool:
        """Return whether nothing of a part of the document was lost, nor what it is a part of."""
        size = len(place)
        return not any(one[:size] == place[: len(one)] for one in self.lost)

    @property
    def test(self) -> str:
        """Name of the test."""
        return self.document.test

    @property
    def title(self) -> str:
        """Title of the test."""
        return self.document.title or self.test.upper() or "Unknown test"

    @property
    def header(self) -> Header:
        """Settings, target and procedure."""
        return self.document.header

    @property
    def results(self) -> Results:
        """What the test found out."""
        return self.document.results

    @property
    def phases(self) -> list[Phase]:
        """What happened, in order."""
        return self.document.phases

    @property
    def cells(self) -> list[Cell]:
        """What was measured."""
        return self.document.cells.rows

    @property
    def steady(self) -> list[pts.Steady]:
        """What the five-point rule says, one entry per tracked value."""
        return self.document.steady_state

    @property
    def tables(self) -> list[Table]:
        """Tables as the test made them."""
        return self.document.tables

    @property
    def histograms(self) -> list[Histogram]:
        """Response times of operating points."""
        return self.document.histograms

    @property
    def attained(self) -> bool | None:
        """Whether every tracked value was steady; None without any, or where one is lost."""
        if self.steady and not is_steady(self.steady):
            return False
        return True if self.steady and self.has("steady_state") else None

    def is_steady_in(self, group: str) -> bool:
        """Return whether the tracked values of a group, such as a load, were steady."""
        return is_steady([one for one in self.steady if one.group == group])

    @property
    def verdict(self) -> Verdict:
        """What the document is worth, in a word and a sentence."""
        return verdict(self.document, is_whole=self.has("steady_state"))

    @property
    def capacity_bytes(self) -> int | None:
        """What the host can address."""
        return self.header.target.device.capacity_bytes or None

    def in_phase(self, *names: str) -> list[Cell]:
        """Return the cells of phases of these names."""
        return [cell for cell in self.cells if cell.phase in names]

    def table(self, name: str) -> Table | None:
        """Return a table by its id."""
        return next((table for table in self.tables if table.id == name), None)


def load(path: Path) -> tuple[JsonObject, list[str]]:
    """Read a JSON document, mending one that was cut off.

    Args:
        path: The file.

    Returns:
        The document, and what was wrong with the file; nothing for a whole one.

    Raises:
        ResultError: when nothing can be made of it, and why.
    """
    raw = read_content(path, "a document of a test")
    if not raw.strip():
        raise ResultError(f"{path}: empty; accepted: a document of a test, or a part of one")
    document, complaints = salvage(raw)
    if b"\\ud" in raw.lower():
        document = _printable(document)
    if not isinstance(document, dict):
        why = f" ({complaints[0]})" if complaints else ""
        raise ResultError(f"{path}: no JSON document of a test{why}")
    return document, complaints


def _printable(value: Any) -> Any:  # noqa: ANN401 (as varied as JSON)
    """Replace halves of surrogate pairs: JSON can hold them, no page and no terminal can."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_printable(key): _printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_printable(inner) for inner in value]
    return value


def family(document: JsonObject) -> str:
    """Return what a document is: `pts`, `suite`, `result`, another of ours, or empty."""
    schema = document.get("schema")
    if isinstance(schema, str):
        return schema.partition("/")[0].removeprefix("opennandlab.") if _is_ours(schema) else ""
    # The beginning may be lost: a table of cells is what only a test has.
    cells = document.get("cells")
    if isinstance(cells, dict) and {"columns", "rows"} <= cells.keys():
        return "pts"
    return "pts" if isinstance(document.get("steady_state"), list) else ""


def _is_ours(schema: str) -> bool:
    return schema.startswith("opennandlab.") and "/" in schema


def moments(document: JsonObject) -> dict[str, Moment]:
    """Return the runs that a `run.json` tells of, by the names of their documents."""
    found = {}
    for name, entry in document.items():
        if isinstance(entry, dict) and {"created", "tool", "run"} <= entry.keys():
            found[name] = readable(entry, Moment)[0]
    return found


def moment_of(path: Path, document: JsonObject) -> Moment | None:
    """Return what `run.json` next to a document says of its run; None where it says nothing."""
    beside = path.with_name("run.json")
    if beside == path or not beside.is_file():
        return None
    try:
        found = moments(load(beside)[0]).get(str(document.get("name") or path.stem))
    except ResultError:
        return None
    # Another run may have left its documents in the folder since.
    known = (None, document.get("digest"))
    return found if found is not None and found.digest in known else None


def read(
    document: JsonObject,
    name: str,
    complaints: list[str] | None = None,
    moment: Moment | None = None,
) -> Measured:
    """Read a document as far as it can be read.

    Args:
        document: As in the file.
        name: What to call it where it has no name.
        complaints: What was wrong with the file.
        moment: What `run.json` says of its run.
    """
    missing = [*(complaints or []), *_wrong_schema(document)]
    found, lost = pts.from_damaged(document | {"schema": SCHEMA})
    absent = [str(one.place[0]) for one in lost if one.place[0] not in document]
    if absent:
        missing.append(f"the document has no {', '.join(absent)}")
    missing += _told([one for one in lost if one.place[0] in document])
    if not complaints and "digest" in document:
        missing += _wrong_digest(document)
    if found.partial:
        missing.append("the run was interrupted: what it had not measured by then is not there")
    found = structs.replace(
        found,
        tables=list(_tables(found, missing)),
        histograms=list(_histograms(found, missing)),
    )
    missing += [
        f"steady state of {one.tracking.label or one.tracking.metric}: no window with its values"
        for one in found.steady_state
        if not one.known
    ]
    results = document.get("results")
    return Measured(
        name=found.name or name,
        document=found,
        figures={key: one for key, one in results.items() if isinstance(one, Scalar)}
        if isinstance(results, dict)
        else {},
        lost=tuple(one.place for one in lost),
        missing=tuple(missing),
        moment=moment,
    )


def _told(lost: list[Problem]) -> Iterator[str]:
    """Yield what was lost, in sentences; many losses in one list make one."""
    lists: dict[str, list[Problem]] = {}
    for one in lost:
        parts = [at for at, part in enumerate(one.place) if isinstance(part, int)]
        lists.setdefault(path_text(one.place[: parts[0]] if parts else one.place), []).append(one)
    for path, found in lists.items():
        yield from (f"{one.path}: {one.message}" for one in found[:NAMED_MAX])
        if len(found) > NAMED_MAX:
            yield f"{path}: {len(found) - NAMED_MAX} more"


def _tables(document: PtsDocument, missing: list[str]) -> Iterator[Table]:
    for place, table in enumerate(document.tables):
        width = len(table.columns)
        if len(table.values) == len(table.rows) and all(len(row) == width for row in table.values):
            yield table
        else:
            missing.append(f"table {table.title or place + 1}: not whole, left out")


def _histograms(document: PtsDocument, missing: list[str]) -> Iterator[Histogram]:
    for place, one in enumerate(document.histograms):
        if len(one.ns) == len(one.counts) and any(one.counts):
            yield one
        else:
            missing.append(f"histogram {one.title or place + 1}: bins are missing, left out")


def _wrong_schema(document: JsonObject) -> Iterator[str]:
    schema = document.get("schema")
    if schema is None:
        yield f"the document does not name its schema; it is read as {SCHEMA}"
    elif schema != SCHEMA:
        yield f"written as `{schema}`; this build reads {SCHEMA}: what it does not know is left out"


def _wrong_digest(document: JsonObject) -> Iterator[str]:
    try:
        found = digest(document)
    except (ValueError, TypeError, RecursionError):
        found = ""
    if document["digest"] != found:
        yield "the content does not match its digest: it was edited or damaged"


def plain(value: object) -> str:
    """Write any JSON value on one line, for a table."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
