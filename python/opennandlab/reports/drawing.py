"""What `.plot()` of a result, a curve, a standard test or a sweep does, once for all of them.

```text
report ──┬─ no path ──► one figure, as a plotly figure to look at, turn and change
         └─ a path  ──► a file, in the form of its ending (`output`): all of it, or one figure
```
A notebook that shows a document shows its first figure below the tables, drawn as SVG: no script,
so that it is still there when the notebook is opened elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import ConfigError, OutputError
from opennandlab.base.extras import lacking, need
from opennandlab.reports import output
from opennandlab.reports.captions import captioned
from opennandlab.reports.figure.model import Figure
from opennandlab.reports.figure.paper import Paper
from opennandlab.reports.model import Report, page_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


def names(figures: Sequence[Figure]) -> dict[str, str]:
    """Return the names of figures, with what each shows."""
    return {figure.id: figure.title for figure in figures}


def draw(
    report: Report,
    path: str | Path | None,
    figure: str | None,
    paper: str | Paper | None = None,
) -> go.Figure | None:
    """Return one figure, or write a file.

    Args:
        report: What there is to draw.
        path: File to write, in the form of its ending; None returns a figure of plotly.
        figure: Name of the only one that is wanted; None for all of them in a file, and for the
            first without one.
        paper: Size of the page of a figure for print, such as `85mm`, or the page itself; with
            it, and without a name, the first figure. None for a report.

    Raises:
        ConfigError: for a name that no figure has, and for an invalid page size.
        OutputError: when the file cannot be written, and why.
    """
    if paper is not None and path is None:
        raise ConfigError("paper", "is for a file; accepted: with a path")
    if path is not None:
        page = Paper.of(paper) if isinstance(paper, str) else paper
        if page is not None:
            drawn = captioned(report, chosen(report.figures, figure))
            output.write(page_of(drawn.title, "", [drawn]), Path(path), paper=page)
        elif figure is None:
            output.write(report, Path(path))
        else:
            drawn = chosen(report.figures, figure)
            title = report.title if report.heading(drawn) else drawn.title
            output.write(page_of(title, report.lead, [drawn], report.foot), Path(path))
        return None
    drawn = chosen(report.figures, figure)
    named = [drawn.title, *report.heading(drawn)[:1]]
    return of_plotly(replace(drawn, title=": ".join(named)))


def of_plotly(figure: Figure) -> go.Figure:
    """Return a figure as plotly's own."""
    need("plot")
    import plotly.graph_objects as go

    from opennandlab.reports.figure import interactive

    drawn = interactive.figure(figure)
    layout: dict[str, Any] = {
        **drawn["layout"],
        "template": interactive.TEMPLATE,
        "title": {
            "text": figure.title,
            "font": {"size": 15},
            "x": 0.01,
            "y": 0.99,
            "yanchor": "top",
        },
    }
    margin = layout.get("margin") or {}
    layout["margin"] = {**margin, "t": margin.get("t", 30) + 26}
    layout["height"] = layout.get("height", interactive.HEIGHT) + 26
    return go.Figure(data=drawn["data"], layout=layout)


def element(figures: Sequence[Figure]) -> str:
    """Return the first figure as an SVG element for a notebook; empty without one.

    Empty also without the packages that draw: the tables are shown all the same.
    """
    if not figures or lacking("plot"):
        return ""
    from opennandlab.reports.figure import static

    text = static.svg(figures[:1])
    return f"<div style='max-width:46em'>{text[text.index('<svg') :]}</div>"


def first(report: Report) -> str:
    """Return the name of the first figure of a report.

    Raises:
        OutputError: when there is none.
    """
    return chosen(report.figures, None).id


def chosen(figures: Sequence[Figure], name: str | None) -> Figure:
    """Return the figure of a name; the first without one.

    Raises:
        OutputError: when there is none.
        ConfigError: when none has the name.
    """
    if not figures:
        raise OutputError("there is nothing to draw")
    if name is None:
        return figures[0]
    for figure in figures:
        if figure.id == name:
            return figure
    accepted = ", ".join(names(figures))
    raise ConfigError("figure", f"`{name}` is none of this document's; accepted: {accepted}")
