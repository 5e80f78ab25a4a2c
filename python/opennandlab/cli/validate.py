"""`validate`: formula and simulation side by side, for published values or any parameters."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from opennandlab.documents.validation import ValidationDocument
    from opennandlab.studies.validation import Case, Parameters, Row, Verdict

# `--write` replaces what stands between these lines, suite by suite; a file without them is written
# whole.
BEGIN = "<!-- validate: begin, written by `opennandlab validate --write` -->"
END = "<!-- validate: end -->"


# Parameters that count next to `--policy` only.
AD_HOC = (
    *("d", "pages_per_block", "spare_factor", "blocks", "reserve", "pattern", "hot_fraction"),
    *("hot_share", "theta", "trim_pct", "trim_target", "static_share", "frontiers", "seeds"),
)


class Pattern(str, Enum):
    """Pattern of the writes."""

    RANDOM = "random"
    HOT_COLD = "hot_cold"
    ZIPF = "zipf"


class Frontiers(str, Enum):
    """Which writes share an open block."""

    SINGLE = "single"
    HOST_GC = "host_gc"
    HOT_COLD = "hot_cold"


class Target(str, Enum):
    """Addresses that trims go to."""

    ANY = "any"
    MAPPED = "mapped"


@dataclass(frozen=True, kw_only=True)
class ValidateOptions(Printed):
    """Options of `validate`."""

    suites: Annotated[
        list[str] | None,
        argument(
            "Suites to run; default: all but `bases`, which takes hours.", metavar="[SUITE]..."
        ),
    ] = None
    case: Annotated[
        list[str] | None,
        flag(
            "Run only the cases whose name matches, such as greedy-*. May be repeated.",
            metavar="PATTERN",
        ),
    ] = None
    quick: Annotated[bool, flag("Run a subset with smaller drives, in under a minute.")] = False
    write: Annotated[
        Path | None,
        flag(
            "Write the tables into this Markdown page; it keeps those of other suites.",
            metavar="FILE",
        ),
    ] = None
    threads: Annotated[int | None, flag("Number of simulations to run in parallel.", min=1)] = None
    policy: Annotated[
        str | None, flag("Check one case instead of suites: greedy, fifo, random or d_choices.")
    ] = None
    d: Annotated[int, flag("Candidates of d_choices.", min=1)] = 10
    pages_per_block: Annotated[int, flag("Pages in a block.", min=1)] = 64
    spare_factor: Annotated[float, flag("Effective spare factor, 0 to 1.")] = 0.1
    blocks: Annotated[int, flag("Number of blocks.", min=8)] = 4096
    reserve: Annotated[int, flag("Number of blocks kept erased.", min=1)] = 1
    pattern: Annotated[Pattern, flag("Pattern of the writes.")] = Pattern.RANDOM
    hot_fraction: Annotated[float, flag("Share of the pages that are hot.")] = 0.2
    hot_share: Annotated[float, flag("Share of the writes that go to hot pages.")] = 0.8
    theta: Annotated[float, flag("Exponent of zipf.")] = 0.99
    trim_pct: Annotated[float, flag("Share of requests that trim, %.", min=0, max=100)] = 0.0
    trim_target: Annotated[Target, flag("Addresses that trims go to.")] = Target.ANY
    static_share: Annotated[float, flag("Share of the pages that are never rewritten, 0 to 1.")] = (
        0.0
    )
    frontiers: Annotated[Frontiers, flag("Open blocks.")] = Frontiers.SINGLE
    seeds: Annotated[str, flag("Comma-separated seeds; the case must pass with all of them.")] = (
        "1,2,3"
    )
    strict: Annotated[bool, flag("Exit with status 1 for known misses too.")] = False


def validate(given: ValidateOptions) -> None:
    """Recompute closed forms and simulations: error, goal, verdict."""
    from opennandlab.base.errors import ConfigError

    terminal.check_outputs({"--write": given.write})
    try:
        if given.policy is None:
            given.refuse(AD_HOC, "on suites, which bring their own; accepted: --policy")
            cases = _of_suites(given.suites or [], given.case or ["*"], quick=given.quick)
        elif given.suites or given.case:
            raise ConfigError(".", "give either suites and --case, or --policy")
        else:
            from opennandlab.studies.validation import Parameters
            from opennandlab.theory.waf import Traffic

            traffic = Traffic(
                pattern=given.pattern.value,
                fraction=given.hot_fraction,
                share=given.hot_share,
                exponent=given.theta,
                trim_share=given.trim_pct / 100,
                trim_target=given.trim_target.value,
                static_share=given.static_share,
                frontiers=given.frontiers.value,
            )
            cases = _ad_hoc(
                Parameters(
                    policy=given.policy,
                    pages_per_block=given.pages_per_block,
                    spare_factor=given.spare_factor,
                    d=given.d,
                    blocks=given.blocks,
                    reserve=given.reserve,
                    traffic=traffic,
                    seeds=_seeds(given.seeds),
                )
            )
    except ValueError as error:
        raise ConfigError(".", str(error)) from error
    rows, complete = _run(cases, given.threads, quiet=given.quiet)
    _report(rows, complete=complete, as_json=given.as_json, quiet=given.quiet)
    if given.write is not None and complete:
        _write(rows, given.write)
        if not given.quiet:
            terminal.note(f"tables written to {given.write}")
    if not complete:
        terminal.note(f"interrupted: {len(rows)} of {len(cases)} cases done", style="bold red")
        raise typer.Exit(terminal.INTERRUPTED)
    if {row.verdict for row in rows} & _ending(strict=given.strict):
        raise typer.Exit(terminal.FAILED)


def _ending(*, strict: bool) -> set["Verdict"]:
    """Return the verdicts that end with status 1."""
    from opennandlab.studies.validation import Verdict

    return {Verdict.FAILED, Verdict.KNOWN_MISS} if strict else {Verdict.FAILED}


def _of_suites(suites: list[str], patterns: list[str], *, quick: bool) -> list["Case"]:
    from opennandlab.studies.validation import Effort, select_cases

    effort = Effort.QUICK if quick else Effort.FULL
    found = [one for pattern in patterns for one in select_cases(suites, pattern, effort)]
    return list({(one.suite, one.name): one for one in found}.values())


def _ad_hoc(parameters: "Parameters") -> list["Case"]:
    from opennandlab.studies.validation import ad_hoc_case

    return [ad_hoc_case(parameters)]


def _seeds(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--seeds is `{text}`; accepted: whole numbers, such as 1,2,3") from None


def _run(cases: list["Case"], threads: int | None, *, quiet: bool) -> tuple[list["Row"], bool]:
    """Run the cases; on Ctrl-C return what is done, after stopping the others."""
    from opennandlab.core.run import benchmark
    from opennandlab.studies.validation import run_cases

    stopping = threading.Event()

    def watch(_: object) -> None:
        if stopping.is_set():
            raise RuntimeError("interrupted")

    def simulate(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        if "ecc_lab" in device:
            from opennandlab.ecc.requests import answer

            return answer(device["ecc_lab"], seed)
        if "standard_test" in workload:
            from opennandlab.pts.bench.requests import answer as standard_test

            return standard_test(device, workload["standard_test"], seed, watch)
        return benchmark(device, workload, seed=seed, progress=watch).document

    rows: list[Row] = []
    try:
        with _row_line(len(cases), quiet=quiet) as show:
            for row in run_cases(cases, simulate, threads):
                rows.append(row)
                show(row)
    except KeyboardInterrupt:
        stopping.set()
        return rows, False
    order = {(case.suite, case.name): place for place, case in enumerate(cases)}
    rows.sort(key=lambda row: order[row.case.suite, row.case.name])
    return rows, True


@contextmanager
def _row_line(total: int, *, quiet: bool) -> Iterator[Callable[["Row"], None]]:
    """Yield a watcher that shows how many cases are done."""
    began, done = time.monotonic(), 0

    def text(row: "Row") -> str:
        left = (time.monotonic() - began) / done * (total - done)
        name = f"{row.case.suite} {row.case.name}"
        return f"{done}/{total} cases  {terminal.duration(left)} left  {name}"

    with shown(text, quiet=quiet) as show:

        def count(row: "Row") -> None:
            nonlocal done
            done += 1
            if show is not None:
                show(row)

        yield count


def _report(rows: list["Row"], *, complete: bool, as_json: bool, quiet: bool) -> None:
    from opennandlab.studies.validation import head_line

    if as_json:
        from opennandlab.documents.record import plain

        terminal.emit_json(plain(_document(rows, complete=complete)))
        return
    if quiet:
        return
    console = terminal.stdout()
    console.print(head_line([row.verdict for row in rows]))
    for suite in dict.fromkeys(row.case.suite for row in rows):
        console.print()
        console.print(suite, style="italic", markup=False)
        console.print(_table([row for row in rows if row.case.suite == suite]))
    _notes(rows)


def _document(rows: list["Row"], *, complete: bool) -> "ValidationDocument":
    from opennandlab.documents.validation import SCHEMA, ValidationDocument
    from opennandlab.studies.validation import Verdict

    verdicts = [row.verdict for row in rows]
    missed, failed = verdicts.count(Verdict.KNOWN_MISS), verdicts.count(Verdict.FAILED)
    return ValidationDocument(
        schema=SCHEMA,
        partial=None if complete else True,
        passed=complete and not missed and not failed,
        case_count=len(rows),
        known_miss_count=missed,
        passed_count=verdicts.count(Verdict.PASSED),
        fitted_count=verdicts.count(Verdict.FITTED),
        failed_count=failed,
        rows=[row.record() for row in rows],
    )


def _table(rows: list["Row"]) -> terminal.Grid:
    from opennandlab.studies.validation import Verdict
    from opennandlab.studies.validation.markdown import goal, number, share

    colours = {Verdict.FAILED: "bold red", Verdict.KNOWN_MISS: "bold yellow"}
    lines = []
    for row in rows:
        relation = row.case.relation.value
        lines.append(
            [
                row.case.name,
                ("" if relation == "=" else f"{relation} ") + number(row.expected),
                row.problem or " ".join(number(value) for value in row.measured),
                share(row.error),
                goal(row.case),
                row.verdict.value,
            ]
        )
    styles = {at: colours[row.verdict] for at, row in enumerate(rows) if row.verdict in colours}
    heads = ["case", "expected", "measured, per seed", "error", "accepted", "verdict"]
    return terminal.Grid(heads, lines, left=(0, 5), styles=styles)


def _notes(rows: list["Row"]) -> None:
    """Name what failed and what is missing."""
    from opennandlab.studies.validation import Verdict

    for row in rows:
        name = f"{row.verdict.value}: {row.case.suite} {row.case.name}"
        if row.verdict is Verdict.FAILED:
            terminal.note(f"{name}: {row.case.command}")
        elif row.verdict is Verdict.KNOWN_MISS and row.case.miss is not None:
            terminal.note(f"{name}: {row.case.miss.mechanism}")


def _write(rows: list["Row"], path: Path) -> None:
    from opennandlab.base.files import write_atomically
    from opennandlab.studies.validation import SUITES, render

    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, begin, rest = text.partition(BEGIN)
    known, end, after = rest.partition(END)
    tables = f"{BEGIN}\n\n{render(rows, known if end else '', tuple(SUITES))}\n{END}"
    whole = before + tables + after if begin and end else f"# Validation\n\n{tables}\n"
    write_atomically(path, whole.encode())
