"""`validate`: formula and simulation side by side, for published values or any parameters."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._terminal import Json, Quiet

if TYPE_CHECKING:
    from opennandlab.documents.validation import ValidationDocument
    from opennandlab.studies.validation import Case, Parameters, Row, Verdict

# `--write` replaces what stands between these lines, suite by suite; a file without them is written
# whole.
BEGIN = "<!-- validate: begin, written by `opennandlab validate --write` -->"
END = "<!-- validate: end -->"


# Parameters that count beside `--policy` only.
AD_HOC = (
    *("d", "pages_per_block", "spare_factor", "blocks", "reserve", "pattern", "hot_fraction"),
    *("hot_share", "theta", "trim_pct", "trim_target", "static_share", "frontiers", "seeds"),
)


class Pattern(str, Enum):
    """What the host writes."""

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


def validate(
    context: typer.Context,
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SUITE]...", help="Suites to run; default: all but `bases`, which takes hours."
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            metavar="PATTERN",
            help="Run only the cases whose name matches, such as greedy-*. May be repeated.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a subset with smaller drives, in under a minute.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FILE",
            help="Write the tables into this Markdown page; it keeps those of other suites.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Number of simulations to run in parallel."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", help="Check one case instead of suites: greedy, fifo, random or d_choices."
        ),
    ] = None,
    d: Annotated[int, typer.Option("--d", min=1, help="Candidates of d_choices.")] = 10,
    pages_per_block: Annotated[int, typer.Option(min=1, help="Pages in a block.")] = 64,
    spare_factor: Annotated[float, typer.Option(help="Effective spare factor, 0 to 1.")] = 0.1,
    blocks: Annotated[int, typer.Option(min=8, help="Number of blocks.")] = 4096,
    reserve: Annotated[int, typer.Option(min=1, help="Number of blocks kept erased.")] = 1,
    pattern: Annotated[Pattern, typer.Option(help="What the host writes.")] = Pattern.RANDOM,
    hot_fraction: Annotated[float, typer.Option(help="Share of the pages that are hot.")] = 0.2,
    hot_share: Annotated[
        float, typer.Option(help="Share of the writes that go to hot pages.")
    ] = 0.8,
    theta: Annotated[float, typer.Option(help="Exponent of zipf.")] = 0.99,
    trim_pct: Annotated[
        float, typer.Option(min=0, max=100, help="Share of requests that trim, %.")
    ] = 0.0,
    trim_target: Annotated[Target, typer.Option(help="Addresses that trims go to.")] = Target.ANY,
    static_share: Annotated[
        float, typer.Option(help="Share of the pages that are never rewritten, 0 to 1.")
    ] = 0.0,
    frontiers: Annotated[Frontiers, typer.Option(help="Open blocks.")] = Frontiers.SINGLE,
    seeds: Annotated[
        str,
        typer.Option("--seeds", help="Comma-separated seeds; the case must pass with all of them."),
    ] = "1,2,3",
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 for known misses too.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute closed forms and simulations: error, goal, verdict."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.errors import ConfigError

        terminal.check_outputs({"--write": write})
        try:
            if policy is None:
                _refuse_parameters(context)
                cases = _of_suites(suites or [], case or ["*"], quick=quick)
            elif suites or case:
                raise ConfigError(".", "give either suites and --case, or --policy")
            else:
                from opennandlab.studies.validation import Parameters
                from opennandlab.theory.waf import Traffic

                traffic = Traffic(
                    pattern=pattern.value,
                    fraction=hot_fraction,
                    share=hot_share,
                    exponent=theta,
                    trim_share=trim_pct / 100,
                    trim_target=trim_target.value,
                    static_share=static_share,
                    frontiers=frontiers.value,
                )
                cases = _ad_hoc(
                    Parameters(
                        policy=policy,
                        pages_per_block=pages_per_block,
                        spare_factor=spare_factor,
                        d=d,
                        blocks=blocks,
                        reserve=reserve,
                        traffic=traffic,
                        seeds=_seeds(seeds),
                    )
                )
        except ValueError as error:
            raise ConfigError(".", str(error)) from error
        rows, complete = _run(cases, threads, quiet=quiet)
        _report(rows, complete=complete, as_json=as_json, quiet=quiet)
        if write is not None and complete:
            _write(rows, write)
            if not quiet:
                terminal.note(f"tables written to {write}")
        if not complete:
            terminal.note(f"interrupted: {len(rows)} of {len(cases)} cases done", style="bold red")
            raise typer.Exit(terminal.INTERRUPTED)
        if {row.verdict for row in rows} & _ending(strict=strict):
            raise typer.Exit(terminal.FAILED)


def _ending(*, strict: bool) -> set["Verdict"]:
    """Return the verdicts that end with status 1."""
    from opennandlab.studies.validation import Verdict

    return {Verdict.FAILED, Verdict.KNOWN_MISS} if strict else {Verdict.FAILED}


def _refuse_parameters(context: typer.Context) -> None:
    """Refuse options that only describe a case of `--policy`; suites would ignore them."""
    terminal.refuse_given(context, AD_HOC, "on suites, which bring their own; accepted: --policy")


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
    """Name what failed and what is missing, and each bias once."""
    from opennandlab.studies.validation import Verdict

    for row in rows:
        name = f"{row.verdict.value}: {row.case.suite} {row.case.name}"
        if row.verdict is Verdict.FAILED:
            terminal.note(f"{name}: {row.case.command}")
        elif row.verdict is Verdict.KNOWN_MISS and row.case.miss is not None:
            terminal.note(f"{name}: {row.case.miss.mechanism}")
    for caution in dict.fromkeys(row.case.caution for row in rows if row.case.caution):
        terminal.note(f"biased: {caution}")


def _write(rows: list["Row"], path: Path) -> None:
    from opennandlab.base.files import write_atomically
    from opennandlab.studies.validation import SUITES, render

    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, begin, rest = text.partition(BEGIN)
    known, end, after = rest.partition(END)
    tables = f"{BEGIN}\n\n{render(rows, known if end else '', tuple(SUITES))}\n{END}"
    whole = before + tables + after if begin and end else f"# Validation\n\n{tables}\n"
    write_atomically(path, whole.encode())
