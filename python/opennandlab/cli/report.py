"""`report`: pages, PDF and CSV from saved documents; nothing is measured again."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet


class Open(str, Enum):
    """Whether the page is shown in a browser."""

    NEVER = "never"
    BROWSER = "browser"


def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Documents of standard tests, or a suite; several make the chapters of one "
            "report. A result file of `benchmark` is drawn as its --plot would.",
            show_default=False,
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write one self-contained page. Beside the first file, if nothing is asked for.",
        ),
    ] = None,
    pdf: Annotated[
        Path | None, typer.Option("--pdf", help="Write a PDF (needs the extra `pdf`).")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="DIR", help="Write a CSV file for each table and plot."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Write each plot as an SVG drawing."),
    ] = None,
    show: Annotated[
        Open, typer.Option("--open", help="Whether to show the page in a browser.")
    ] = Open.NEVER,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make reports from saved documents alone; what is missing in one is said, the rest drawn."""
    with terminal.guard(as_json=as_json):
        if html is pdf is csv is figures is None:
            html = files[0].with_suffix(".html")
        inputs = {f"the input {path}": path for path in files}
        terminal.check_outputs({"--html": html, "--pdf": pdf}, dict(inputs))
        outputs = Outputs(html, pdf, csv, figures)
        if _draw_result(files, outputs):
            written, missing = [path for path in (html,) if path is not None], list[str]()
        else:
            written, missing = _draw_tests(files, outputs)
        for text in missing:
            terminal.note(f"warning: {text}", style="yellow")
        if as_json:
            terminal.emit_json({"written": [str(path) for path in written], "missing": missing})
        elif not quiet:
            _tell(written, [folder for folder in (csv, figures) if folder is not None])
        if show is Open.BROWSER and html is not None:
            import webbrowser

            webbrowser.open(html.resolve().as_uri())


@dataclass(frozen=True)
class Outputs:
    """What was asked for; None for what was not."""

    html: Path | None
    pdf: Path | None
    csv: Path | None
    figures: Path | None


def _tell(written: list[Path], folders: list[Path]) -> None:
    """Name the files that were written, those of a folder by their number."""
    for path in written:
        if path.parent not in folders:
            typer.echo(f"wrote {path}")
    for folder in dict.fromkeys(folders):
        typer.echo(f"wrote {sum(path.parent == folder for path in written)} files into {folder}")


def _draw_tests(files: list[Path], outputs: Outputs) -> tuple[list[Path], list[str]]:
    """Write the report of standard tests; return the files, and what the documents lack."""
    from opennandlab.reports.pts import book, drawings
    from opennandlab.reports.pts import csv as tables
    from opennandlab.reports.pts import html as page

    made = book.open_book(files)
    written = []
    if outputs.html is not None:
        page.write(made.report, outputs.html)
        written.append(outputs.html)
    if outputs.pdf is not None:
        from opennandlab.reports.pts import pdf

        pdf.write(made.report, outputs.pdf)
        written.append(outputs.pdf)
    if outputs.csv is not None:
        written += tables.write(made.report, made.measured, outputs.csv)
    if outputs.figures is not None:
        written += drawings.write(made.report, outputs.figures)
    return written, [*made.warnings, *made.report.missing]


def _draw_result(files: list[Path], outputs: Outputs) -> bool:
    """Draw a result file of a run, if that is what was given; tell whether it was."""
    from opennandlab.result import Result

    if not any(_family(path) == "result" for path in files):
        return False
    others = (outputs.pdf, outputs.csv, outputs.figures)
    if len(files) > 1 or outputs.html is None or any(path is not None for path in others):
        _refuse(
            "a result of `benchmark` is a single run: it is drawn alone, and as --html; "
            "`compare` puts several side by side"
        )
    from opennandlab.reports import plot

    plot.write(Result.load(files[0]), outputs.html)
    return True


def _family(path: Path) -> str:
    """Return what a file holds; empty for one that cannot be read, which is reported later."""
    from opennandlab.errors import ResultError
    from opennandlab.reports.pts import source

    try:
        return source.family(source.load(path)[0])
    except ResultError:
        return ""


def _refuse(text: str) -> NoReturn:
    from opennandlab.errors import ResultError

    raise ResultError(text)
