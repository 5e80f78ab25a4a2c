"""A data sheet of one drive, from documents: no number without its conditions and its command.

```text
documents ──► WANTED (what a sheet has) ──► a row each: value, load, conditions, verdict, [source]
                                       └──► [source]: conditions in full, steady state, command
```
The sheets of vendors state the best number and leave out how it was measured. Here a number from a
run that is not steady, cut, or a smoke bears a mark and says so in its row; a figure whose test was
not run is a row too, with the command that gives it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from opennandlab.base.errors import ResultError
from opennandlab.documents.pts_origin import is_own_matrix, method
from opennandlab.measured.importing import Wanted
from opennandlab.reports import words
from opennandlab.reports.model import Badge, Cell, Chapter, Kind, Marked, Report, Section, Table
from opennandlab.reports.pts import book, command, header, sheet_rows, steady
from opennandlab.reports.pts.source import Measured
from opennandlab.reports.pts.verdict import NOT_COLLECTING, Word

# What a number bears that is not worth its face.
MARK = "†"
MARKED: dict[Word, str] = {
    "partial": "PARTIAL: the run was cut",
    "smoke": "SMOKE: not a result",
    "not steady": "NOT ATTAINED",
    "unknown": "steady state unknown",
}
COLLECTED = {
    "seen": "the drive collected in every round",
    "none": NOT_COLLECTING,
    "not_applicable": "collection does not matter to it",
    "unknown": "the drive does not tell whether it collected",
    None: "collection not recorded",
}
MS_US = 1e3
HEADS = ("figure", "value", "unit", "load", "measured", "conditions", "verdict")


def open_sheet(paths: Sequence[Path], wanted: Wanted | None = None) -> book.Book:
    """Read documents, suites and folders of them, and make the data sheet of their drive.

    Args:
        paths: Documents, suites, or folders.
        wanted: Which jobs are taken of outputs of fio.

    Raises:
        ResultError: without a document, and for documents of several drives.
    """
    warnings: list[str] = []
    measured = book.documents(book.in_folders(paths), warnings, wanted)
    if not measured:
        raise ResultError("; ".join(warnings) or "no document of a test")
    drives: dict[str, list[Measured]] = {}
    for one in measured:
        drives.setdefault(_drive(one), []).append(one)
    if len(drives) > 1:
        named = ", ".join(
            f"{found[0].name} ({header.subject(found[0])})" for found in drives.values()
        )
        raise ResultError(f"a data sheet is of one drive; these documents are of several: {named}")
    kept: dict[str, Measured] = {}
    for one in measured:
        first = kept.setdefault(one.test, one)
        if first is not one and one.test in sheet_rows.TESTS:
            warnings.append(
                f"{one.name}: the sheet has its figures of {one.test} from {first.name}, "
                "which was given first"
            )
    report = _sheet(list(kept.values()), tuple(warnings))
    return book.Book(report, (None,), tuple(warnings))


def _drive(measured: Measured) -> str:
    """Return what tells a drive from another."""
    target = measured.header.target
    device = target.device
    known = device.config_sha256 or device.serial_sha256
    return known or f"{target.name} {device.capacity_bytes}"


def _sheet(measured: Sequence[Measured], warnings: tuple[str, ...]) -> Report:
    first = measured[0]
    rows: dict[str, list[tuple[tuple[Cell, ...], Kind]]] = {}
    cited: list[Measured] = []
    for wanted in sheet_rows.WANTED:
        row = _row(wanted, measured, cited)
        if row is not None:
            rows.setdefault(wanted.group, []).append(row)
    sections = [
        Section(
            words.file_name(group.lower()),
            group,
            (
                Table(
                    words.file_name(group.lower()), group, HEADS, tuple(row for row, _ in found),
                    wraps=True, tones=tuple(tone for _, tone in found), marked=HEADS.index("value"),
                ),
            ),
        )
        for group, found in rows.items()
    ]  # fmt: skip
    shared = _shared(cited)
    sections.append(_sources(cited, shared))
    tones = [tone for found in rows.values() for row, tone in found if row[1] is not None]
    marked = sum(tone in {"bad", "warning"} for tone in tones)
    facts = tuple((name, found) for name, found in header.facts(first) if name in FACTS)
    facts += (("Common to all figures", shared),) if shared else ()
    return Report(
        f"Data sheet of {header.subject(first)}",
        _lead(first),
        (
            Chapter(
                id="datasheet",
                title=f"Data sheet of {header.subject(first)}",
                verdict=_worth(len(tones), marked),
                badges=tuple(_badges(measured, sum(len(one.document.warnings) for one in cited))),
                reason=LEGEND,
                facts=facts,
                missing=tuple(
                    f"[{place}] {text}" for place, one in enumerate(cited, 1)
                    for text in one.missing
                ),
                sections=tuple(sections),
                brief=f"Data sheet · {header.subject(first)} · {header.tool(first)} · {PRINTED}",
                test="datasheet",
            ),
        ),
        warnings,
        header.foot(first),
        "data sheet of a solid-state drive",
    )  # fmt: skip


FACTS = ("Device", "Platform")
PRINTED = f"{MARK} marks what is not of a steady drive; [n]: conditions and command"
LEGEND = (
    f"{MARK} marks a number that is not one of a steady drive: the run was not steady, was cut, or "
    "was a smoke; its row says which. [n] is the document below, with all conditions and the "
    "command."
)


def _lead(measured: Measured) -> str:
    device = measured.header.target.device
    parts = (
        words.capacity(measured.capacity_bytes),
        device.nand_type and f"{device.nand_type} flash",
        device.interface and f"link: {device.interface}",
    )
    return " · ".join(str(part) for part in parts if part)


def _worth(count: int, marked: int) -> Badge:
    if not count:
        return Badge("no figure was measured", "warning")
    if marked:
        return Badge(f"{marked} of {count} figures are marked {MARK}", "bad")
    return Badge(f"none of {count} figures is marked {MARK}", "good")


def _badges(measured: Sequence[Measured], warning_count: int) -> Iterator[Badge]:
    found = [badge for one in measured for badge in header.badges(one)]
    counts = Counter(badge for badge in found if "NOT ATTAINED" not in badge.text)
    for badge, count in counts.items():
        part = f", {count} of {len(measured)}" if count < len(measured) else ""
        yield Badge(badge.text + part, badge.kind)
    if warning_count:
        told = "1 warning" if warning_count == 1 else f"{warning_count} warnings"
        yield Badge(f"{told} of the runs, below", "warning")


def _row(
    wanted: sheet_rows.Wanted, measured: Sequence[Measured], cited: list[Measured]
) -> tuple[tuple[Cell, ...], Kind] | None:
    """Return the row of a figure, and how it is coloured; None for one that no test can give."""
    for test, find in wanted.sources:
        one = next((each for each in measured if each.test == test), None)
        if one is None:
            continue
        found = find(one)
        if found is not None and (found.load or found.value is not None):
            return _told(wanted, one, found, cited)
        if one.document.partial or one.missing:
            return _told(wanted, one, sheet_rows.Found(None, "", "not in the document"), cited)
        # The test has no such cell: 128 KiB sequentially is of the profile E alone.
        return None
    again = command.command_for(wanted.sources[0][0], measured[0])
    return (wanted.name, None, wanted.unit, "", "not measured", f"by: {again}", "not run"), "plain"


def _told(
    wanted: sheet_rows.Wanted, one: Measured, found: sheet_rows.Found, cited: list[Measured]
) -> tuple[tuple[Cell, ...], Kind]:
    if one not in cited:
        cited.append(one)
    mark = MARKED.get(one.verdict.word, "")
    amount, unit = found.value, wanted.unit
    if amount is not None and unit == "µs" and abs(amount) >= MS_US:
        amount, unit = amount / MS_US, "ms"
    value: Cell = amount
    if mark and amount is not None:
        value = Marked.of(f"{words.value(amount)} {MARK}", amount, MARK)
    conditions = f"[{cited.index(one) + 1}] {_briefly(one, found)}"
    return (
        (wanted.name, value, unit, found.load, found.how, conditions, _state(one)),
        one.verdict.kind if mark else "plain",
    )


def _briefly(one: Measured, found: sheet_rows.Found) -> str:
    """Return the conditions of a figure in a line."""
    head = one.header
    parts = (
        one.test,
        "settings of " * bool(method(one.test)) + f"PTS-{head.profile} {head.pts_version}".strip(),
        head.time_base.name,
        "matrix of its own" if is_own_matrix(head) else "",
        f"range {_range(one)}",
        f"cache {head.cache.state or head.cache.asked or 'unknown'}",
        _filled(one, found.block_bytes),
    )
    return ", ".join(part for part in parts if part)


def _range(one: Measured) -> str:
    active = one.header.active_range
    part = f" ({words.binary(active.amount_bytes)})" if active.amount_bytes is not None else ""
    return f"{active.share * 100:g} %{part}"


def _filled(one: Measured, block_bytes: int | None) -> str:
    """Return what was written before a figure of a block size."""
    wipc = one.header.wipc
    if wipc is None:
        return "purged, no WIPC"
    kind = "SEQ" if wipc.pattern == "sequential" else wipc.pattern
    size = wipc.block_bytes
    if header.fills_by_block(one) and block_bytes is not None:
        size = block_bytes
    text = f"after {wipc.capacities:g} × {kind} {words.block(size)}"
    # Rounds to a steady state that are not those of the test itself.
    labels = dict.fromkeys(
        cell.label.partition(": ")[2] or cell.label for cell in one.in_phase("precondition")
    )
    return " and ".join((text, *labels))


def _state(one: Measured) -> str:
    """Return the verdict in the row of a number."""
    word = one.verdict.word
    if word in MARKED:
        return one.verdict.text if word == "not steady" else MARKED[word]
    if word == "measured":
        return "tracks no steady state"
    rounds = {f"{each.window[0]}–{each.window[-1]}" for each in one.steady if each.window}
    where = f", rounds {', '.join(sorted(rounds))}" if len(rounds) < 3 else ""
    return f"steady{where}"


def _shared(cited: Sequence[Measured]) -> tuple[tuple[str, str], ...]:
    """Return the conditions in which all documents agree; nothing of one alone."""
    if len(cited) < 2:
        return ()
    all_of = [_known(one) for one in cited]
    return tuple(
        (key, value) for key, value in all_of[0].items()
        if all(other.get(key) == value for other in all_of[1:])
    )  # fmt: skip


def _known(one: Measured) -> dict[str, str]:
    """Return the conditions that the header states."""
    found = {key: value for _, group in header.facts(one) for key, value in group}
    return {key: found[key] for key in STATED if key in found}


STATED = (
    "Specification", "Profile", "Conformance", "Time base", "Write cache", "Purge", "WIPC",
    "WDPC", "Active range", "Data", "Seed", "Tool", "Created",
)  # fmt: skip


def _sources(cited: Sequence[Measured], shared: tuple[tuple[str, str], ...]) -> Section:
    """Return the section with the conditions of each document, and its command."""
    items = tuple(
        Table(
            f"source-{place}", f"[{place}] {one.title}: {one.verdict.text}",
            ("condition", ""), tuple(_conditions(one, shared)), wraps=True,
        )
        for place, one in enumerate(cited, 1)
    )  # fmt: skip
    return Section("conditions", "Conditions and commands", items, CONDITIONS)


CONDITIONS = (
    "What the numbers above were measured under, beside what is common to all of them at the top. "
    "The commands follow from the headers of the "
    "documents; the same command on the same drive gives the same document where it is simulated."
)


def _conditions(one: Measured, shared: tuple[tuple[str, str], ...]) -> list[tuple[Cell, ...]]:
    """Return what is said of one document: all that is not of every one of them."""
    rows: list[tuple[Cell, ...]] = [pair for pair in _known(one).items() if pair not in shared]
    rows.append(("Steady state", "; ".join(_steady(one)) or "tracks no value"))
    rows += [("Deviations", "; ".join(header.deviations(one)) or "none")]
    rows += [("Warnings", text) for text in one.document.warnings]
    rows.append(("Document", f"{one.name}, digest {one.document.digest[:16]}"))
    if not command.knows_changes(one):
        rows.append(
            (
                "Device file",
                "keys changed by --set, if any, were not recorded: they are not in the command",
            )
        )
    rows.append(("Command", command.command(one)))
    return rows


def _steady(one: Measured) -> list[str]:
    found = []
    for place, each in enumerate(one.steady):
        held = "steady" if each.holds else "not steady"
        where = f" in rounds {each.window[0]} to {each.window[-1]}" if each.window else ""
        found.append(f"{steady.name(each, place)}: {held}{where}, {COLLECTED[each.collection]}")
    return found
