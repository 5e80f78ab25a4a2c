"""Charts as a file: an HTML page of its own, or a drawing alone where the name ends in `.svg`.

The page is made like that of a result (`reports.plot`): it opens offline, prints, and holds its
numbers as tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from opennandlab.errors import OutputError
from opennandlab.files import write_atomically
from opennandlab.reports.chart import Chart, svg
from opennandlab.reports.plot import chart_page

# What a drawing needs that stands outside a page.
SVG_STYLE = "font: 12px system-ui, sans-serif"
PAPER = '<rect width="100%" height="100%" fill="white"/>'


def write_charts(title: str, lead: str, charts: Sequence[Chart], path: Path) -> None:
    """Write charts to a file.

    Args:
        title: Heading of the page.
        lead: A sentence below it.
        charts: At least one; a drawing holds exactly one.
        path: The file; `.svg` for a drawing, anything else for a page.

    Raises:
        OutputError: when it cannot be written, and why.
    """
    if path.suffix.lower() == ".svg":
        if len(charts) != 1:
            raise OutputError(f"{path}: {len(charts)} charts do not fit one drawing; use .html")
        head, _, rest = svg(charts[0]).partition(">")
        text = f'{head} style="{SVG_STYLE}">{PAPER}{rest}'
        write_atomically(path, f"{text}\n".encode())
        return
    page = chart_page(title, f'<p class="lead">{escape(lead)}</p>', charts)
    write_atomically(path, page.encode())
