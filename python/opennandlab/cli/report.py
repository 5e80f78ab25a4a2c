"""`report`: pages, PDF and CSV from saved documents; nothing is measured again."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet

if TYPE_CHECKING:
    from opennandlab.reports.pts.book import Book


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
    show: Annotated[
        Open, typer.Option("--open", help="Whether to show the page in a browser.")
    ] = Open.NEVER,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make reports from saved documents alone; what is missing in one is said, the rest drawn."""
    with terminal.guard(as_json=as_json):
        if html is None and pdf is None and csv is None:
            html = files[0].with_suffix(".html")
        inputs = {f"the input {path}": path for path in files}
        terminal.check_outputs({"--html": html, "--pdf": pdf}, dict(inputs))
        if _draw_result(files, html, pdf, csv):
            written, missing = list[Path | None]([html]), list[str]()
        else:
            written, missing = _draw_tests(files, html, pdf, csv)
        for text in missing:
            terminal.note(f"warning: {text}", style="yellow")
        shown = [str(path) for path in written if path is not None]
        if as_json:
            terminal.emit_json({"written": shown, "missing": missing})
        elif not quiet:
            folder = str(csv) if csv is not None else None
            beside = [path for path in shown if folder and str(Path(path).parent) == folder]
            for path in shown:
                if path not in beside:
                    typer.echo(f"wrote {path}")
            if beside:
                typer.echo(f"wrote {len(beside)} files into {folder}")
        if show is Open.BROWSER and html is not None:
            import webbrowser

            webbrowser.open(html.resolve().as_uri())


def _draw_tests(
    files: list[Path], html: Path | None, pdf: Path | None, csv: Path | None
) -> tuple[list[Path | None], list[str]]:
    """Write the report of standard tests; return the files, and what the documents lack."""
    from opennandlab.reports.pts import book
    from opennandlab.reports.pts import html as page

    made: Book = book.open_book(files)
    written: list[Path | None] = []
    if html is not None:
        page.write(made.report, html)
        written.append(html)
    if pdf is not None:
        from opennandlab.reports.pts import pdf as pdf_file

        pdf_file.write(made.report, pdf)
        written.append(pdf)
    if csv is not None:
        from opennandlab.reports.pts import csv as csv_files

        written += csv_files.write(made.report, made.measured, csv)
    return written, [*made.warnings, *made.report.missing]


def _draw_result(files: list[Path], html: Path | None, pdf: Path | None, csv: Path | None) -> bool:
    """Draw a result file of a run, if that is what was given; tell whether it was."""
    from opennandlab.result import Result

    if not any(_family(path) == "result" for path in files):
        return False
    if len(files) > 1 or html is None or pdf is not None or csv is not None:
        _refuse(
            "a result of `benchmark` is a single run: it is drawn alone, and as --html; "
            "`compare` puts several side by side"
        )
    from opennandlab.reports import plot

    plot.write(Result.load(files[0]), html)
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
