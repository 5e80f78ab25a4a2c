"""`ecc.plot`: several curves in one figure, from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.base.errors import ConfigError
from opennandlab.ecc.charts import Look
from opennandlab.ecc.charts import plot as drawn
from opennandlab.ecc.curves import Curve
from opennandlab.ecc.drawn import of_document, on_one_axis
from opennandlab.reports import drawing
from opennandlab.reports.figure.paper import Paper
from opennandlab.reports.model import page_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot(
    curves: Sequence[Curve],
    path: str | Path | None = None,
    *,
    title: str = "",
    limits: bool = True,
    paper: str | Paper | None = None,
) -> go.Figure | None:
    """Draw curves over the same points: what the command `opennandlab ecc plot` does.

    Args:
        curves: At least one; all over RBER, or all over Eb/N0.
        path: File to write: SVG, PNG, PDF or HTML by its ending; None returns a figure of plotly,
            which a notebook shows.
        title: Above the figure; empty for what it shows.
        limits: Whether capacity, best code and bounded distance are drawn in.
        paper: Size of a page for print, such as `85mm`, or the page itself.

    Raises:
        ConfigError: for curves without a common axis, and where there is nothing to draw.
        OutputError: when the file cannot be written, and why.

    >>> import opennandlab as onl
    >>> found = [onl.ecc.curve(f"bch:m=8,t={t}", "bsc", [1e-4, 1e-3]) for t in (2, 4)]
    >>> len(onl.ecc.plot(found, limits=False).data) >= 2
    True
    """
    if not curves:
        raise ConfigError("curves", "none was given; accepted: at least one")
    shown = on_one_axis([of_document(curve.content) for curve in curves])
    figure = drawn(shown, Look(limits=limits, title=title))
    return drawing.draw(page_of(figure.title, "", [figure]), path, None, paper)
