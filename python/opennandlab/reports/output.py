"""Files of a report: the form is chosen by the ending of the name.

    .html .htm   a page that opens offline      .svg .png   all figures below one another, alone
    .pdf         pages to print                 with a paper: the figure alone, of exactly its size

`check_ending` refuses another ending, so that a command can ask before it runs anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opennandlab.base.errors import OutputError
from opennandlab.base.extras import need
from opennandlab.base.files import is_there, write_atomically, write_into
from opennandlab.reports import words
from opennandlab.reports.captions import captioned
from opennandlab.reports.figure import paper as print_
from opennandlab.reports.figure import static
from opennandlab.reports.figure.model import Figure
from opennandlab.reports.figure.paper import Paper
from opennandlab.reports.model import Report, Table

ENDINGS = (".html", ".htm", ".pdf", ".png", ".svg")


def check_ending(path: Path, option: str = "cannot write") -> str:
    """Refuse a file name whose ending names no form; a device such as /dev/null takes a page.

    Args:
        path: The file.
        option: What names it, for the message.

    Returns:
        The form: one of `.html`, `.pdf`, `.png` and `.svg`.

    Raises:
        OutputError: with the endings that are accepted.
    """
    ending = path.suffix.lower()
    if ending == ".htm" or (is_there(path) and not path.is_file()):
        return ".html"
    if ending not in ENDINGS:
        raise OutputError(f"{option} {path}: accepted file extensions: {', '.join(ENDINGS)}")
    return ending


def write(report: Report, path: Path, form: str = "", paper: Paper | None = None) -> None:
    """Write a report to a file.

    Args:
        report: The report.
        path: The file.
        form: One of the endings, whatever the file is called; by default the ending decides.
        paper: The page of its figures, which are then drawn alone; None for a report.

    Raises:
        OutputError: when the ending names no form, the report has no figure to draw alone, or the
            file cannot be written.
        ConfigError: when the paper is too small, or its figures have no common page.
    """
    if paper is None:
        write_atomically(path, content(report, form or check_ending(path)))
        return
    ending = print_.check_ending(path)
    write_atomically(path, print_.page(for_print(report), paper, ending))


def content(report: Report, ending: str) -> bytes:
    """Return a report in the form of an ending.

    Raises:
        OutputError: when the report has no figure to draw alone.
        MissingError: without the packages that draw.
    """
    need("plot")
    if ending == ".html":
        from opennandlab.reports import html

        return html.page(report).encode()
    if ending == ".pdf":
        from opennandlab.reports import pdf

        return pdf.document(report)
    figures = drawable(report)
    # Of a report with one drawing, the drawing's own title is that of the report.
    heading = [report.title, report.lead] if report.title != figures[0].title else []
    if ending == ".png":
        return static.png(figures, heading)
    return static.svg(figures, heading).encode()


def drawable(report: Report) -> list[Figure]:
    """Return the figures of a report.

    Raises:
        OutputError: when it has none.
    """
    if not report.figures:
        raise OutputError("the result holds nothing to draw; accepted: .html and .pdf")
    return report.figures


def for_print(report: Report) -> list[Figure]:
    """Return the figures of a report with their captions in a paper.

    Raises:
        OutputError: when it has none.
    """
    return [captioned(report, one) for one in drawable(report)]


def write_figures(report: Report, folder: Path, paper: Paper | None = None) -> list[Path]:
    """Write each figure of a report into a folder, which is made where it is missing.

    Args:
        report: The report.
        folder: Where to.
        paper: Their page: each is a PDF of it, and `figures.tex` has what includes them. None: SVG.

    Returns:
        The files, in the order of the report.

    Raises:
        OutputError: when one cannot be written, and why.
    """
    return write_into(folder, _figures(report, paper))


def _figures(report: Report, paper: Paper | None) -> Iterator[tuple[str, bytes]]:
    lines = []
    for chapter in report.chapters:
        prefix = f"{words.file_name(chapter.id)}-" if len(report.chapters) > 1 else ""
        for item in chapter.items:
            if isinstance(item, Table):
                continue
            name = f"{prefix}{words.file_name(item.id)}"
            if paper is None:
                yield f"{name}.svg", static.svg([item], report.heading(item)).encode()
                continue
            drawn = captioned(report, item)
            yield f"{name}.pdf", print_.page([drawn], paper, ".pdf")
            lines.append(print_.latex([drawn], Path(f"{name}.pdf"), paper))
    if lines:
        yield "figures.tex", ("\n\n".join(lines) + "\n").encode()
