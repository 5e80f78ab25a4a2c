"""Documents of standard tests on the terminal: tables, the steady state, the plan."""

from typing import TYPE_CHECKING

from opennandlab.base.words import number
from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opennandlab.documents.pts import PtsDocument, Steady, Table
    from opennandlab.pts.bench.rehearsal import Rehearsal
    from opennandlab.reports.model import Table as ShownTable

NOTHING = "n/a"
# Figures of a test that the table at the end of a suite shows.
SUITE_FIGURES = 3
# Longer tables, such as the steps of a replay, show their first and last rows.
ROWS_MAX, ROWS_AT_ENDS = 60, 10
# What tracked values are called; numbers of the rule are in this unit.
TRACKED = {"iops": "IOPS", "lat_us_mean": "ART in µs", "write_mb_s": "MB/s written", "mb_s": "MB/s"}


def figure(value: object) -> str:
    """Return a figure for a table: as any number, yes or no, words, or `n/a`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NOTHING if value is None else number(value)


def show_suite(documents: "Sequence[PtsDocument]") -> None:
    """Print each test of a suite in a line or two: its verdict, and the figures it is for."""
    from opennandlab.reports.pts.headline import SMOKE, headlines
    from opennandlab.reports.pts.verdict import verdict

    rows = [
        [document.name, verdict(document).text, "; ".join(f"{one.text} {one.name}" for one in some)]
        for document in documents
        # The verdict of a smoke is next to them.
        for some in [[it for it in headlines(document) if it is not SMOKE][:SUITE_FIGURES]]
    ]
    table = terminal.Grid(("test", "verdict", "figures"), rows, left=(0, 1, 2))
    terminal.stdout(is_numbers=True).print(table)


def show(document: "PtsDocument") -> None:
    """Print a document: what it is worth, what is quoted, settings, tables, steady state."""
    from opennandlab.reports.pts import tables
    from opennandlab.reports.pts.headline import headlines

    console = terminal.stdout(is_numbers=True)
    console.print(title(document), style="bold", markup=False, soft_wrap=True)
    console.print(verdict_line(document), markup=False, soft_wrap=True)
    quoted = headlines(document)
    if quoted:
        console.print()
        console.print(
            terminal.plain_table(["", "result"], [[one.name, one.text] for one in quoted])
        )
    console.print()
    for line in header_lines(document):
        console.print(line, markup=False, soft_wrap=True)
    mark = "smoke, not a result: " if document.header.time_base.name == "smoke" else ""
    for found in tables.of_document(document):
        console.print()
        console.print(f"{mark}{found.title}", markup=False, soft_wrap=True)
        if found.note:
            console.print(found.note, markup=False, soft_wrap=True)
        console.print(grid(found, rows_max=ROWS_MAX))
        if len(found.rows) > ROWS_MAX:
            console.print(f"first and last of {len(found.rows)} rows: the document has all")
    if document.steady_state:
        console.print()
        console.print("Steady state", markup=False)
        console.print(steady_table(document.steady_state))
        for line in reasons(document.steady_state):
            console.print(line, markup=False, soft_wrap=True)
    rows = result_rows(document)
    # Few results are all quoted above.
    if len(rows) > len(quoted) and any(text != NOTHING for _, text in rows):
        console.print()
        console.print("Results", markup=False)
        console.print(terminal.plain_table(["", "value"], rows))
    console.print(f"\ndigest {document.digest}", markup=False, soft_wrap=True)


def show_tables(blocks: "Sequence[Table]") -> None:
    """Print tables that no document has, such as the ratios between several."""
    from opennandlab.reports.pts.tables import of_block

    console = terminal.stdout(is_numbers=True)
    for block in blocks:
        console.print(f"\n{block.title}", markup=False)
        console.print(grid(of_block(block)))


def verdict_line(document: "PtsDocument") -> str:
    """Return what a document is worth, and why."""
    from opennandlab.reports.pts.verdict import verdict

    found = verdict(document)
    return f"{found.text}. {found.reason}"


def title(document: "PtsDocument") -> str:
    """Return the first line of a document."""
    from opennandlab.documents.pts_origin import method

    head = document.header
    if head.imported is not None:
        source = f": {head.imported.source}" if head.imported.source else ""
        origin = head.imported.origin
        return f"{document.title} of {head.target.name}, imported from {origin}{source}"
    mark = " (partial: interrupted)" if document.partial else ""
    followed = method(document.test)
    if followed is not None:
        return f"{document.title} of {head.target.name}: {followed}{mark}"
    return (
        f"{document.title} of {head.target.name}: follows PTS-{head.profile} "
        f"{head.pts_version}, conformance {head.conformance}{mark}"
    )


def header_lines(document: "PtsDocument") -> list[str]:
    """Return what a reader of the tables must know."""
    head = document.header
    cell = head.time_base.cell
    length = [f"{cell.seconds:g} s"] if cell.seconds else []
    length += [f"{cell.ios} requests"] if cell.ios else []
    part = head.active_range
    amount = (
        f" (of which {part.amount_bytes / 2**20:g} MiB in {part.segments} segments)"
        if part.amount_bytes is not None
        else ""
    )
    lines = [
        (
            f"TC {head.threads} / QD {head.queue_depth}, "
            f"active range {100 * part.share:g}%{amount}, data {head.data}, "
            f"write cache {head.cache.state}, seed {head.seed}"
        ),
        f"time base: {head.time_base.clock}, {head.time_base.name}"
        + (f", cell at least {' and '.join(length)}" if length else ""),
    ]
    from opennandlab.reports.pts.drive import power_text, state_text, waf_text

    lines += filter(None, (state_text(head), power_text(head)))
    if head.logs is not None:
        lines.append(f"write amplification {waf_text(head)}")
    lines += head.choices or []
    lines += [head.ranges_from] if head.ranges_from else []
    return lines + [f"deviation: {text}" for text in head.deviations]


def grid(found: "ShownTable", *, rows_max: int | None = None) -> terminal.Grid:
    """Return a table of a document.

    Args:
        found: The table.
        rows_max: Of more rows the first and the last are shown; None for all.
    """
    rows = [[str(name), *map(figure, values)] for name, *values in found.rows]
    if rows_max is not None and len(rows) > rows_max:
        rows = [*rows[:ROWS_AT_ENDS], ["…", *[""] * (len(rows[0]) - 1)], *rows[-ROWS_AT_ENDS:]]
    return terminal.plain_table(list(found.columns), rows)


def _metric(entry: "Steady") -> str:
    """Return what a tracked value is, in its unit in the document."""
    from opennandlab.reports.pts.tables import spoken

    return TRACKED.get(entry.tracking.metric) or spoken(entry.tracking.metric)


def steady_table(entries: list["Steady"]) -> terminal.Grid:
    """Return the determination table."""
    from opennandlab.reports.pts.verdict import decision

    head = ["tracked", "decision", "rounds", "mean", "excursion / allowed", "slope / allowed"]
    rows = []
    for entry in entries:
        # A load that is a group of its own has the name of its group.
        is_named = entry.tracking.label == entry.group
        group = f"{entry.group}: " if entry.group and not is_named else ""
        window = entry.window
        place = f"{window[0]}-{window[-1]} of {entry.rounds}" if window else "none"
        rows.append(
            [
                f"{group}{entry.tracking.label}, {_metric(entry)}",
                decision(entry),
                place,
                figure(entry.average),
                f"{figure(entry.excursion)} / {figure(entry.excursion_allowed)}",
                f"{figure(entry.slope_excursion)} / {figure(entry.slope_allowed)}",
            ]
        )
    return terminal.plain_table(head, rows)


def reasons(entries: list["Steady"]) -> list[str]:
    """Return why tracked values were not steady, a line for each reason."""
    from opennandlab.reports.pts.verdict import NOT_ATTAINED, why_not

    return [f"{NOT_ATTAINED}: {why}" for why in dict.fromkeys(map(why_not, entries)) if why]


def result_rows(document: "PtsDocument") -> list[list[str]]:
    """Return the plain results in words; lists of them are in the tables and the document."""
    from opennandlab.documents.pts_origin import is_own_matrix
    from opennandlab.documents.record import plain
    from opennandlab.reports.pts.tables import spoken

    # Of cells that were not asked for nothing is said.
    left_out = (list, dict, type(None)) if is_own_matrix(document.header) else (list, dict)
    return [
        [spoken(key), figure(value)]
        for key, value in plain(document.results).items()
        if not isinstance(value, left_out) and key != "attained"
    ]


def show_plan(title: str, least: "Rehearsal", most: "Rehearsal", capacity_bytes: int) -> None:
    """Print what a test would do."""
    console = terminal.stdout(is_numbers=True)
    console.print(title, style="bold", markup=False)
    head = ["phase", "at least", "cells", "at most", "cells"]
    rows = []
    for phase, (count, cells) in most.phases.items():
        few = least.phases.get(phase, [0, 0])
        rows.append([phase, *map(number, (*few, count, cells))])
    console.print(terminal.plain_table(head, rows))
    for line in plan_lines(least, most, capacity_bytes):
        console.print(line, markup=False, soft_wrap=True)
    console.print()


def _decimal_bytes(count: float) -> str:
    """Write a number of bytes with four digits.

    >>> _decimal_bytes(113.5e9), _decimal_bytes(16.49e12), _decimal_bytes(13.11e6)
    ('113.5 GB', '16.49 TB', '13.11 MB')
    """
    unit, size = next(((unit, size) for unit, size in UNITS if count >= size), UNITS[-1])
    return f"{count / size:.4g} {unit}"


UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6))


def span(least: str, most: str) -> str:
    """Write a range; one end of it where both are the same.

    >>> span("1 h", "2 h"), span("353 GB", "353 GB")
    ('1 h to 2 h', '353 GB')
    """
    return most if least == most else f"{least} to {most}"


def plan_lines(least: "Rehearsal", most: "Rehearsal", capacity_bytes: int) -> list[str]:
    """Return bytes and times of a plan."""
    ends = (least, most)
    writes = span(*(_decimal_bytes(one.written_bytes) for one in ends))
    fills = span(*(number(one.written_bytes / capacity_bytes) for one in ends))
    filled = most.of_phase("wipc")[0]
    before = f", of it {_decimal_bytes(filled)} to precondition" if filled else ""
    times = span(*(terminal.duration(one.seconds) for one in ends))
    return [
        f"writes {writes} ({fills} drive writes){before}",
        _times(times, [least], [most]),
    ]


def _times(times: str, least: "Sequence[Rehearsal]", most: "Sequence[Rehearsal]") -> str:
    """Return what a plan takes: of virtual time the seconds here first, which a user waits for."""
    from opennandlab.pts.bench.rehearsal import ASSUMED_IOPS, ASSUMED_MB_S

    assumed = f"if it does {ASSUMED_IOPS:g} requests a second or {ASSUMED_MB_S:g} MB/s"
    if not all(one.is_virtual for one in most):
        return f"takes {times} of the drive's time, {assumed}"
    ends = [[one.here_s for one in found] for found in (least, most)]
    if any(one is None for end in ends for one in end):
        return f"takes {times} of virtual time, {assumed}; how long that is here is unknown"
    here = [sum(one or 0.0 for one in end) for end in ends]
    took = "less than a second" if here[1] < 1 else f"about {span(*map(terminal.duration, here))}"
    return f"takes {took} of a processor, as a small copy was tried, for {times} of virtual time"


def show_total(plans: list[tuple["Rehearsal", "Rehearsal", int]]) -> None:
    """Print what several tests would do together."""
    ends = [
        (sum(one.written_bytes for one in found), sum(one.seconds for one in found))
        for found in ([least for least, _, _ in plans], [most for _, most, _ in plans])
    ]
    filled = sum(most.of_phase("wipc")[0] for _, most, _ in plans)
    before = f", of it {_decimal_bytes(filled)} to precondition" if filled else ""
    console = terminal.stdout(is_numbers=True)
    console.print(f"all {len(plans)} tests", style="bold", markup=False)
    writes = span(*(_decimal_bytes(written) for written, _ in ends))
    times = span(*(terminal.duration(seconds) for _, seconds in ends))
    console.print(f"writes {writes}{before}", markup=False, soft_wrap=True)
    ends_of = ([least for least, _, _ in plans], [most for _, most, _ in plans])
    console.print(_times(times, *ends_of), markup=False, soft_wrap=True)
    console.print()
