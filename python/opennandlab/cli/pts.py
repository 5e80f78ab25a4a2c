"""`pts`: the standard tests, one command each, the steady-state rule alone, and the import.

The commands are made from the tests themselves, when the first of them is asked for: `opennandlab
--help` needs none.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Band, Printed, Shrink
from opennandlab.cli.options.pts import CsvFile, OnlySlides, TestOptions, Vary, asked, command_of
from opennandlab.cli.options.rows import flag, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from opennandlab.measured.series import Series
    from opennandlab.pts.bench.suite import Job
    from opennandlab.pts.bench.test import Test

# A test of days has thousands of rounds, and a line a second in a log of fio.
VALUES_BYTES_MAX = 64 << 20
# Groups of the list that `--help` shows; the rest are its commands.
PANEL, INNER_PANEL = "Tests of the standard", "Tests of what is inside a drive"
CAPTURE_PANEL = "Tests with a capture of requests"
# Other names under which the tests are known.
ALIASES = {"tp": "throughput", "lat": "latency", "cbw": "ecw"}


class Direction(str, Enum):
    """Directions of requests in a log of fio."""

    READ = "read"
    WRITE = "write"
    TRIM = "trim"
    ALL = "all"


class Tests(TyperGroup):
    """A group whose commands are made when they are examined."""

    _made: dict[str, Any] | None = None

    # A mapping in click, here made when it is read.
    @property
    def commands(self) -> dict[str, Any]:
        """The commands by name."""
        if self._made is None:
            group: Any = typer.main.get_command(_commands())
            self._made = group.commands
        return self._made

    @commands.setter
    def commands(self, value: object) -> None:
        """Ignore what click sets at first: nothing."""


app = typer.Typer(
    cls=Tests,
    help="Standard tests of drives (SNIA PTS-C and PTS-E), on simulated and on real ones.",
    epilog="Example: opennandlab pts iops --target sim:tlc_standard --profile E --output run",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _commands() -> typer.Typer:
    """Return the commands: one per test, all of them, the rule, and the import."""
    from opennandlab.cli import _pts_power
    from opennandlab.cli._pts_import import EXAMPLE, import_
    from opennandlab.pts import INSIDE, REAL_WORLD, STANDARD

    made = typer.Typer(rich_markup_mode=None)
    for name, test in {**STANDARD, **INSIDE, **REAL_WORLD}.items():
        words = f"{name} --capture capture.json" if name in REAL_WORLD else name
        epilog = f"Example: opennandlab pts {words} --target sim:tlc_standard --output {name}-run"
        more: dict[str, Any] = {"shrink": Shrink} if name in INSIDE else {}
        if name in INSIDE:
            more |= {"csv": CsvFile} if name == "identify" else {"band": Band}
        body = command_of(_runner(test), test.summary, test.options, vary=Vary, **more)
        panel = CAPTURE_PANEL if name in REAL_WORLD else INNER_PANEL if name in INSIDE else PANEL
        made.command(name, epilog=epilog, rich_help_panel=panel)(body)
        for alias, known in ALIASES.items():
            if known == name:
                made.command(alias, hidden=True)(body)
    epilog = "Example: opennandlab pts all --target sim:tlc_standard --output pts-run"
    everything = "All of the specification, one document each, and suite.json."
    made.command("all", epilog=epilog)(command_of(_all, everything))
    epilog = "Example: opennandlab pts slides --target sim:tlc_standard --output slides"
    figures = "The overlays of the tutorials: one parameter varied in each, and a page of them."
    made.command("slides", epilog=epilog)(command_of(_slides, figures, only=OnlySlides))
    epilog = "Example: opennandlab pts steady-state --values 5300,5200,5050,4900,4770"
    made.command("steady-state", epilog=epilog)(spread(steady_state))
    made.command("import", epilog=f"Example: {EXAMPLE}")(spread(import_))
    made.command("power", epilog=f"Example: {_pts_power.EXAMPLE}")(spread(_pts_power.power))
    return made


def _runner(test: "Test") -> "Callable[[TestOptions], None]":
    def run(given: TestOptions) -> None:
        from opennandlab.cli._pts_run import execute
        from opennandlab.pts.bench.suite import Job, vary

        wanted = asked(given, test.options)
        job = Job(test.name, test, wanted.settings)
        jobs, varied = [job], None
        if given.more.get("band") is not None:
            from opennandlab.cli._band import run_test_band

            run_test_band(wanted, job, given.more["band"])
            return
        if wanted.vary is not None:
            jobs, varied = vary(job, wanted.vary, wanted.request.overrides)
        execute(wanted, test.name, jobs, varied, csv=given.more.get("csv"))

    return run


def _all(given: TestOptions) -> None:
    from opennandlab.cli._pts_run import execute

    wanted = asked(given)
    execute(wanted, "all", all_jobs(wanted.settings), None)


def _slides(given: TestOptions) -> None:
    from opennandlab.cli._pts_run import draw_slides

    draw_slides(asked(given), given.more["only"])


def all_jobs(settings: Any) -> list["Job"]:  # noqa: ANN401 (of a module that is imported late)
    """Return the complete set: every test, and the demand test with both patterns."""
    from dataclasses import replace

    from opennandlab.pts import STANDARD
    from opennandlab.pts.bench.suite import Job

    jobs = []
    for name, test in STANDARD.items():
        jobs.append(Job(name, test, settings))
        if name == "dirth":
            video = replace(settings, options={"pattern": "video"})
            jobs.append(Job("dirth-video", test, video))
    return jobs


@dataclass(frozen=True, kw_only=True)
class SteadyStateOptions(Printed):
    """Options of `steady_state`."""

    values: Annotated[str | None, flag("One value per round, oldest first.", metavar="Y,Y,…")] = (
        None
    )
    file: Annotated[
        list[str] | None,
        flag(
            "Read the values from a file or stdin; also logs and JSON status output of fio.",
            metavar="FILE|-",
        ),
    ] = None
    column: Annotated[
        str | None,
        flag("Column of a table; for fio iops, lat_us_mean, …", metavar="N|NAME"),
    ] = None
    direction: Annotated[Direction | None, flag("Direction of the requests, for fio.")] = None
    require_steady: Annotated[bool, flag("End with exit code 1 unless steady.")] = False


def steady_state(given: SteadyStateOptions) -> None:
    """Apply the five-point rule to the last five values; missing ones are never steady."""
    from opennandlab.stats.steady import explanation
    from opennandlab.stats.steady import steady_state as rule

    found = _series(
        given.values, given.file, given.column, given.direction.value if given.direction else None
    )
    if found.said and not given.quiet:
        terminal.note(found.said)
    verdict = rule(found.values)
    why = explanation(verdict, found.values)
    if given.as_json:
        from opennandlab.pts.bench.document import finite

        terminal.emit_json(finite({**verdict.to_dict(), "explanation": why}))
    elif not given.quiet:
        from opennandlab.cli._pts_tables import figure

        told = {**verdict.to_dict(), "steady": "yes" if verdict.steady else "no"}
        rows = [[key.replace("_", " "), figure(value)] for key, value in told.items()]
        terminal.stdout().print(terminal.plain_table(["figure", "value"], rows))
        terminal.stdout().print(f"{verdict.reason}: {why}", markup=False, soft_wrap=True)
    if given.require_steady and not verdict.steady:
        raise typer.Exit(terminal.FAILED)


def _series(
    values: str | None, files: list[str] | None, column: str | None, direction: str | None
) -> "Series":
    """Return the values of `--values` or `--file`.

    Raises:
        ConfigError: for what is not a number.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.measured import series

    if (values is None) == (not files):
        raise ConfigError("values", "give either --values or --file")
    if values is not None:
        if column or direction:
            raise ConfigError("--column" if column else "--direction", "is of --file")
        return series.Series([series.number("values", word) for word in series.words(values)])
    return series.of_texts([(name, _text(name)) for name in files or ()], column, direction)


def _text(name: str) -> str:
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import read_bytes

    try:
        path = Path("/dev/stdin" if name == "-" else name)
        return read_bytes(path, VALUES_BYTES_MAX).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise ConfigError("file", f"{name}: {reason}") from error
