"""`report`: pages, PDF and CSV from saved documents; nothing is measured again."""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._pipes import DESCRIPTOR
from opennandlab.cli.options.common import ForPrint, Printed, tell_latex
from opennandlab.cli.options.fio import FioChoice
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opennandlab.measured.importing import Wanted
    from opennandlab.reports.figure.paper import Paper
    from opennandlab.reports.model import Report
    from opennandlab.reports.pts.source import Measured


class Open(str, Enum):
    """Whether the page is shown in a browser."""

    NEVER = "never"
    BROWSER = "browser"


@dataclass(frozen=True, kw_only=True)
class ReportOptions(FioChoice, ForPrint, Printed):
    """Options of `report`."""

    files: Annotated[
        list[Path],
        argument(
            "Documents of standard tests, or a suite; several make the chapters of one report, "
            "and a folder means its documents. Or one other document: a result of `benchmark`, "
            "a code's curve, power cuts, a fleet, a calibration …; or a device image, "
            "whose wear is drawn",
            metavar="FILE...",
            show_default=False,
        ),
    ]
    html: Annotated[
        Path | None,
        flag("Write one self-contained HTML page; the default, next to the first file."),
    ] = None
    pdf: Annotated[Path | None, flag("Write a PDF.")] = None
    csv: Annotated[
        Path | None, flag("Write a CSV file for each table and plot.", metavar="DIR")
    ] = None
    figures: Annotated[
        Path | None,
        flag("Write each plot as an SVG file; with --paper as a PDF.", metavar="DIR"),
    ] = None
    output: Annotated[
        Path | None,
        flag("Write one figure alone, that of --figure: SVG, PNG, PDF.", "-o", metavar="FILE"),
    ] = None
    figure: Annotated[
        str | None,
        flag("Name of the figure of --output; default: the first.", metavar="NAME"),
    ] = None
    datasheet: Annotated[
        bool, flag("Make the data sheet of the drive: each number with its conditions and command.")
    ] = False
    show: Annotated[Open, flag("Whether to show the page in a browser.", "--open")] = Open.NEVER
    log_axes: Annotated[bool, flag("Draw on logarithmic scales wherever values allow it.")] = False


def report(given: ReportOptions) -> None:
    """Make reports from saved documents; parts missing from a document are named."""
    html = given.html
    if html is given.pdf is given.csv is given.figures is given.output is None:
        html = _page_beside(given.files[0], is_sheet=given.datasheet)
    inputs = {f"the input {path}": path for path in given.files}
    if given.output is None:
        given.refuse(("figure",), "without --output; accepted: with it")
    terminal.check_outputs(
        {"--html": html, "--pdf": given.pdf, "--output": given.output}, dict(inputs)
    )
    if given.figures is not None:
        from opennandlab.base.extras import need

        need("plot")
    each = None if given.figures is None else given.figures / "each.pdf"
    paper = given.page(given.output or each, "--output or --figures")
    outputs = Outputs(
        html, given.pdf, given.csv, given.figures,
        Alone(given.output, given.figure, paper, is_told=not given.quiet), is_log=given.log_axes,
    )  # fmt: skip
    written, missing = list[Path](), list[str]()
    wanted = given.chosen_of(given.files)
    if not given.datasheet:
        written = _draw_result(given.files, outputs)
    if not written:
        written, missing = _draw_tests(given.files, outputs, wanted, is_sheet=given.datasheet)
    for text in missing:
        terminal.note(f"warning: {text}", style="yellow")
    if given.as_json:
        terminal.emit_json({"written": [str(path) for path in written], "missing": missing})
    elif not given.quiet:
        _tell(written, [folder for folder in (given.csv, given.figures) if folder is not None])
    if given.show is Open.BROWSER and html is not None:
        import webbrowser

        webbrowser.open(html.resolve().as_uri())


@dataclass(frozen=True)
class Alone:
    """One figure into a file: its name and its page for print; None for the usual ones."""

    path: Path | None
    figure: str | None
    paper: "Paper | None"
    is_told: bool

    def write(self, report: "Report", path: Path) -> list[Path]:
        """Write the figure; with a page also print the lines that include it."""
        from opennandlab.reports import drawing
        from opennandlab.reports.captions import captioned

        drawing.draw(report, path, self.figure or drawing.first(report), self.paper)
        if self.paper is not None and self.is_told:
            drawn = captioned(report, drawing.chosen(report.figures, self.figure))
            tell_latex([drawn], path, self.paper)
        return [path]


@dataclass(frozen=True)
class Outputs:
    """What was asked for; None for what was not, and whether values are on log scales."""

    html: Path | None
    pdf: Path | None
    csv: Path | None
    figures: Path | None
    is_log: bool = field(kw_only=True)
    alone: Alone


def _tell(written: list[Path], folders: list[Path]) -> None:
    """Name the files that were written, those of a folder in a line."""
    for path in written:
        if path.parent not in folders:
            typer.echo(f"wrote {path}")
    for folder in dict.fromkeys(folders):
        names = [path.name for path in written if path.parent == folder]
        typer.echo(f"wrote {len(names)} files into {folder}: {', '.join(names)}")


def _page_beside(path: Path, *, is_sheet: bool) -> Path:
    """Return where a page goes that nobody named: into a folder that was given, else next to it."""
    if path.is_dir():
        return path / ("datasheet.html" if is_sheet else "report.html")
    if DESCRIPTOR.fullmatch(str(path)):
        _refuse(f"{path}: no page can be next to a pipe; accepted: with --html FILE")
    return path.parent / "datasheet.html" if is_sheet else path.with_suffix(".html")


def _draw_tests(
    files: list[Path], outputs: Outputs, wanted: "Wanted", *, is_sheet: bool
) -> tuple[list[Path], list[str]]:
    """Write the report of standard tests; return the files, and what the documents lack."""
    from opennandlab.reports.pts import book, datasheet

    open_files = datasheet.open_sheet if is_sheet else book.open_book
    made = open_files(files, wanted)
    written = _write(made.report, made.measured, outputs)
    return written, [*made.warnings, *made.report.missing]


def _write(report: "Report", measured: "Sequence[Measured | None]", outputs: Outputs) -> list[Path]:
    """Write a report in the forms that were asked for; return the files.

    A form that cannot be written does not keep the others from being written.
    """
    from opennandlab.base.errors import OutputError
    from opennandlab.reports import output, scales
    from opennandlab.reports.pts import csv as tables

    shown = scales.logarithmic(report) if outputs.is_log else report

    def page(path: Path, form: str) -> list[Path]:
        output.write(shown, path, form)
        return [path]

    ways: list[tuple[str, Path | None, Callable[[Path], list[Path]]]] = [
        ("--html", outputs.html, lambda path: page(path, ".html")),
        ("--pdf", outputs.pdf, lambda path: page(path, ".pdf")),
        ("--csv", outputs.csv, lambda path: tables.write(shown, measured, path)),
        ("--figures", outputs.figures, lambda path: output.write_figures(
            shown, path, outputs.alone.paper)),
        ("--output", outputs.alone.path, lambda path: outputs.alone.write(shown, path)),
    ]  # fmt: skip
    written: list[Path] = []
    broken: list[str] = []
    for option, path, write in ways:
        if path is not None:
            try:
                written += write(path)
            except (OutputError, ImportError) as error:
                broken.append(f"{option}: {error}")
    if broken:
        for path in written:
            terminal.note(f"wrote {path}")
        raise OutputError("; ".join(broken))
    return written


def _draw_result(files: list[Path], outputs: Outputs) -> list[Path]:
    """Draw a document that is no standard test, if that is what was given; return the files."""
    # A pipe with a name can be read once only.
    families = {_family(path) for path in files if path.is_file()}
    kinds = families - {"pts", "suite", ""}
    if not kinds:
        return []
    from opennandlab.comparing.families import HOMES
    from opennandlab.core.loading import report_of

    if len(files) > 1:
        what = "a device image" if "image" in kinds else f"a document of the kind `{min(kinds)}`"
        how = (
            "`compare` puts several next to each other"
            if len(families) == 1 and kinds <= HOMES.keys()
            else "accepted: one `report FILE` for each"
        )
        _refuse(f"{what} is drawn alone; {how}")
    return _write(report_of(files[0]), (), outputs)


def _family(path: Path) -> str:
    """Return what a file holds; empty for one that cannot be read, which is reported later."""
    from opennandlab.base.errors import ResultError
    from opennandlab.core.images import is_image
    from opennandlab.reports.pts import source

    if is_image(path):
        return "image"
    try:
        return source.family(source.load(path)[0])
    except ResultError:
        return ""


def _refuse(text: str) -> NoReturn:
    from opennandlab.base.errors import ResultError

    raise ResultError(text)
