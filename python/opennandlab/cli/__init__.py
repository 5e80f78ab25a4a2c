"""The command line: one file per verb, parsing and printing only.

A new verb is a file with a function of its name (or a group `app`), and one row here. A verb is
imported when it is asked for, and imports what it needs inside its functions: `opennandlab --help`
needs none of them, and no verb waits for the others.
"""

import os
import sys
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from opennandlab.cli import _process as process
from opennandlab.cli._help import write_commands, write_examples
from opennandlab.cli._streams import written
from opennandlab.cli.options.rows import spread

# Verb -> what it does, as `--help` lists it, and an example; a group shows its own.
VERBS: dict[str, tuple[str, str]] = {
    "benchmark": (
        "Run one workload on one simulated device.",
        "opennandlab benchmark -w W2 -c tlc_standard --seed 42 --output results.json",
    ),
    "verify": (
        "Repeat the run of a result file and compare byte by byte.",
        "opennandlab verify results.json",
    ),
    "compare": (
        "Compare results, or standard tests of drives, side by side.",
        "opennandlab compare greedy.json cost_benefit.json",
    ),
    "replay": (
        "Replay a block trace on one simulated device.",
        "opennandlab replay msr.csv.gz -c tlc_standard --wrap",
    ),
    "trace": ("Count, check and convert recorded block traces.", ""),
    "report": (
        "Make reports from saved documents alone.",
        "opennandlab report pts/iops.json --html iops.html --pdf iops.pdf",
    ),
    "sweep": (
        "Run a verb over a grid of settings and seeds.",
        "opennandlab sweep -c tlc_standard -w W2 --vary ftl.over_provisioning_pct=0.07:0.4:6",
    ),
    "serve": (
        "Serve a simulated drive as a disk that can be mounted.",
        "opennandlab serve -c tlc_standard --socket drive.sock --save-image drive.onl",
    ),
    "attach": (
        "Make a served drive a block device, or print how.",
        "opennandlab attach --socket drive.sock --mount /mnt/drive",
    ),
    "detach": (
        "Take down what `attach --run` made.",
        "opennandlab detach /mnt/drive --run",
    ),
    "quick": (
        "Measure eight numbers of a drive in a minute.",
        "opennandlab quick --target sim:tlc_standard",
    ),
    "check-data": (
        "Check that a drive is as large as it claims.",
        "opennandlab check-data --target /dev/sdX --destructive --i-know sdX",
    ),
    "ocp": (
        "Show logs of a drive that nvme-cli or a simulated run wrote.",
        "opennandlab ocp after.json smart-after.json --before before.json --before smart.json",
    ),
    "app": ("Run application workloads, and report how long a user waits.", ""),
    "emmc": ("Check an eMMC command by command, simulated or real.", ""),
    "fleet": ("Run many drives, each a little different, and see the spread.", ""),
    "power": ("Cut power to drives, and see which data they lose.", ""),
    "characterise": (
        "Characterise a drive step by step.",
        "opennandlab characterise --target sim:tlc_standard --output drive",
    ),
    "calibrate": (
        "Compare a device file with measurements, or fit keys of it.",
        "opennandlab calibrate -d my.yaml --to drive.json --free nand.timing.t_read_us -o fit.yaml",
    ),
    "validate": (
        "Recompute the ground truth: formula and simulation.",
        "opennandlab validate --quick",
    ),
    "plugins": (
        "List what installed packages bring: policies, codes, …",
        "opennandlab plugins --json",
    ),
    "ui": ("Show the store of runs in a browser, and start new ones.", "opennandlab ui"),
    "runs": ("Keep finished runs in a store, and make tables of them.", ""),
    "config": ("Show, check and describe device and workload files.", ""),
    "theory": ("Evaluate closed forms without simulating.", ""),
    "ecc": ("Study error-correcting codes.", ""),
    "reliability": ("Study raw bit errors, retries and the life of drives.", ""),
    "pts": ("Run standard tests of drives (SNIA PTS-C and PTS-E).", ""),
}

# Groups of the list that `--help` shows.
GROUPS = {
    "Run simulated drives": ("benchmark", "replay", "sweep", "fleet", "power", "verify"),
    "Test a drive, simulated or real": (
        "quick", "pts", "characterise", "app", "emmc", "ocp", "check-data",
    ),
    "Study": ("theory", "ecc", "reliability", "calibrate", "validate"),
    "Look at results": ("compare", "report", "runs", "ui"),
    "Tools": ("config", "trace", "serve", "attach", "detach", "plugins"),
}  # fmt: skip
# What to type first.
FIRST = (
    "opennandlab benchmark -w W2 -c tlc_standard",
    "opennandlab config presets",
    "opennandlab pts --help",
)

# Verbs whose file has another name: `cli.app` is the whole command line.
FILES = {"app": "application", "check-data": "check_data"}


class Verbs(TyperGroup):
    """The verbs, each imported when it is examined."""

    # A mapping in click, here made when it is read.
    @property
    def commands(self) -> dict[str, Any]:
        """All verbs by name: for completion and the reference page."""
        return {name: _verb(name) for name in VERBS}

    @commands.setter
    def commands(self, value: object) -> None:
        """Ignore what click sets at first: nothing."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names, without importing anything."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ANN401 (click's)
        """Import one verb; None for an unknown name."""
        del ctx
        if cmd_name not in VERBS:
            from opennandlab.base.deprecated import current

            cmd_name = current("command", cmd_name)
        return _verb(cmd_name) if cmd_name in VERBS else None

    def make_parser(self, ctx: Any) -> Any:  # noqa: ANN401 (click's)
        """Let options of the program, too, say which of their values do not count."""
        return process.warning_of_repeats(super().make_parser(ctx), ctx)

    def get_help(self, ctx: Any) -> str:  # noqa: ANN401 (click's)
        """Return the help in the characters that the terminal has."""
        return written(super().get_help(ctx))

    def format_commands(self, ctx: object, formatter: Any) -> None:  # noqa: ANN401
        """Write the list of `--help`, by what a verb is for."""
        del ctx
        groups = {
            title: [(name, VERBS[name][0]) for name in names] for title, names in GROUPS.items()
        }
        write_commands(formatter, groups)

    def format_epilog(self, ctx: object, formatter: Any) -> None:  # noqa: ANN401
        """Say what to type first."""
        del ctx
        write_examples(formatter, "Start with", FIRST)


@cache
def _verb(name: str) -> Any:  # noqa: ANN401 (click's command, of any package)
    module = import_module(f"opennandlab.cli.{FILES.get(name, name)}")
    group: typer.Typer | None = getattr(module, "app", None)
    if group is not None:
        group.rich_markup_mode = None
        made: Any = typer.main.get_group(group)
        made.name = name
        return completing(process.checking(made))
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    verb = getattr(module, name.replace("-", "_"))
    # Those of standard tests are made there.
    body = verb if name == "characterise" else spread(verb)
    alone.command(name, epilog=f"Example: {VERBS[name][1]}")(body)
    return completing(process.checking(typer.main.get_command(alone)))


def completing(command: Any) -> Any:  # noqa: ANN401 (click's command, of any package)
    """Return a command whose values a shell completes, if a shell is asking."""
    if "_OPENNANDLAB_COMPLETE" not in os.environ:
        return command
    from opennandlab.cli._completion import attach

    return attach(command)


class LogFormat(str, Enum):
    """Form of the lines of a log."""

    TEXT = "text"
    JSON = "json"


app = typer.Typer(
    name="opennandlab",
    cls=Verbs,
    help="Simulates NAND flash drives: write amplification, latency, wear and errors, "
    "reproducibly and checked against closed forms.",
    suggest_commands=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    # Plain help: the rich renderer costs 0.1 s of a 0.3 s budget for `--help`.
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    verbose: int = typer.Option(
        0,
        "--verbose",
        "-v",
        count=True,
        help="Report on stderr each step as it begins and ends; -vv more.",
    ),
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="Append the same, and all notes and progress, to a log file.",
        ),
    ] = None,
    log_format: Annotated[
        LogFormat, typer.Option("--log-format", help="Lines of text, or one JSON object a line.")
    ] = LogFormat.TEXT,
    threads: int | None = typer.Option(
        None,
        "--threads",
        metavar="N",
        min=1,
        max=1024,
        help="Threads of a simulated drive's untimed writes, such as preconditioning; no result "
        "depends on it. Default: the cores of this process.",
    ),
) -> None:
    """Answer what concerns the program as a whole."""
    del context
    if verbose or log is not None:
        _listen(verbose, log, log_format)
    if threads is not None:
        from opennandlab.base.threads import set_threads

        set_threads(threads)
    if version:
        from opennandlab import _core
        from opennandlab.reports.summary import build

        name = build(_core.version(), _core.commit(), dirty=_core.dirty())
        typer.echo(f"opennandlab {name}")
        raise typer.Exit


def _listen(verbose: int, log: Path | None, log_format: LogFormat) -> None:
    from opennandlab.cli import _terminal as terminal
    from opennandlab.cli._logging import set_up

    with terminal.guard(as_json="--json" in sys.argv):
        set_up(verbose=verbose, file=log, form=log_format.value)


def main() -> None:
    """Run the command line."""
    process.prepare()
    with process.broken_output():
        process.check_folder()
        code = process.run(app)
    raise SystemExit(code)
