"""Options that most verbs take."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli._typed import typed_sets
from opennandlab.cli.options.rows import Options, flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opennandlab.reports.figure.model import Figure
    from opennandlab.reports.figure.paper import Paper
    from opennandlab.reports.model import Report

Json = Annotated[bool, flag("Print one JSON document on stdout, nothing else.", "--json")]
Quiet = Annotated[bool, flag("Print errors only; the exit code is the result.", "--quiet", "-q")]


@dataclass(frozen=True, kw_only=True)
class Printed(Options):
    """What goes to the terminal."""

    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class ForPrint(Options):
    """How a figure goes into a paper."""

    paper: Annotated[
        str | None,
        flag(
            "Draw for print: a page of exactly this size in mm, cm or in, without title; a "
            "caption and lines of LaTeX are printed. PDF (fonts embedded), SVG or PNG.",
            metavar="WIDTH[xHEIGHT]",
        ),
    ] = None
    style: Annotated[
        Path | None,
        flag("With --paper: a matplotlib style sheet.", metavar="FILE"),
    ] = None

    def page(self, path: Path | None, option: str = "--plot") -> "Paper | None":
        """Return the page that was asked for; report what its style should know.

        Args:
            path: The file of the figure; None for none.
            option: What names that file.

        Raises:
            ConfigError: for an invalid size or style, for a style without a page, and for a
                page without a file.
            OutputError: for a file that holds no page.
        """
        from opennandlab.cli import _terminal as terminal

        if path is None:
            self.refuse(("paper", "style"), f"without a figure; accepted: with {option}")
        if self.paper is None:
            self.refuse(("style",), "without --paper; accepted: with it")
            return None
        from opennandlab.reports.figure.paper import Paper, check_ending

        if path is not None:
            check_ending(path)
        made = Paper.of(self.paper, self.style)
        for text in made.notes:
            terminal.note(f"note: {text}", style="yellow")
        return made


def draw(report: "Report", path: Path, paper: "Paper | None", *, is_told: bool) -> None:
    """Write a report; for print its first figure alone, and print the lines that include it.

    Args:
        report: The report.
        path: The file.
        paper: The page; None for the form of the ending.
        is_told: Whether the lines are printed.
    """
    from opennandlab.reports import output
    from opennandlab.reports.captions import captioned
    from opennandlab.reports.drawing import draw as draw_first

    if paper is None:
        output.write(report, path)
        return
    draw_first(report, path, None, paper)
    if is_told:
        tell_latex([captioned(report, report.figures[0])], path, paper)


def tell_latex(figures: "Sequence[Figure]", path: Path, paper: "Paper") -> None:
    """Print what includes a figure for print, with its caption."""
    from opennandlab.cli import _terminal as terminal
    from opennandlab.reports.figure.paper import latex

    terminal.note(latex(figures, path, paper))


SEED_MAX = (1 << 64) - 1
Seed = Annotated[
    int, flag("Seed of all randomness; recorded in the result.", "--seed", min=0, max=SEED_MAX)
]
Sets = Annotated[
    list[str] | None,
    flag(
        "Change one key of the device, by dotted path: ftl.gc_policy=cost_benefit; with "
        "`workload.` before it, of the workload. May be repeated.",
        "--set",
        metavar="KEY=VALUE",
        callback=typed_sets,
    ),
]
Jobs = Annotated[
    int | None, flag("Points at a time; default: all cores.", "--jobs", "-j", min=1, max=1024)
]
AllowCode = Annotated[
    bool,
    flag(
        "Run code that a document, image or definition names, such as a policy in Python.",
        "--allow-code",
    ),
]


class BandKind(str, Enum):
    """Drives that are run for a band."""

    ALL = "all"
    QUICK = "quick"


Band = Annotated[
    BandKind | None,
    flag(
        "Run all drives that fit the data sheet of the device (config from-rating), or two of "
        "them with `quick`; without a value all.",
        "--band",
        metavar="all|quick",
    ),
]
Shrink = Annotated[
    str | None,
    flag(
        "Run a drive with fewer pages per block instead of the whole one: auto, or a divisor.",
        "--shrink",
        metavar="auto|N",
    ),
]
SliceOps = Annotated[
    int | None, flag("Operations in a slice of the run.", "--slice-ops", hidden=True, min=1)
]
