"""Documents of fleets, power cuts, applications and cards with views: text, notebook, files.

Attributes are the keys of the document, as its reference has them. `print` shows its tables, a
notebook its tables and first figure.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.canonical import as_bytes, readable_json
from opennandlab.base.files import write_atomically
from opennandlab.documents.app import AppDocument
from opennandlab.documents.emmc import EmmcDocument
from opennandlab.documents.fleet import FleetDocument
from opennandlab.documents.power_endurance import EnduranceDocument
from opennandlab.documents.power_files import FilesDocument
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.documents.record import JsonObject, Record, plain

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from opennandlab.reports.figure.paper import Paper
    from opennandlab.reports.model import Report


class Viewed:
    """Views of such documents."""

    __slots__ = ()

    @property
    def document(self) -> JsonObject:
        """The document as plain JSON, as it is saved."""
        return plain(self)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        figure: str | None = None,
        paper: str | Paper | None = None,
    ) -> go.Figure | None:
        """Draw a figure, or write the report.

        Args:
            path: File to write: the report (HTML, PDF), or its figures alone (SVG, PNG), by its
                ending. None returns a figure of plotly, which a notebook shows.
            figure: Name of the figure; None for all of them in a file, and for the first without
                one.
            paper: Size of a page for print, such as `85mm` or `85x60mm`, or the page itself with a
                style (`onl.Paper.of`): one figure of exactly that size, without title.

        Raises:
            ConfigError: for a name that none of them has.
            OutputError: when there is nothing to draw, or the file cannot be written, and why.
        """
        from opennandlab.reports import drawing

        return drawing.draw(self.report(), path, figure, paper)

    def save(self, path: str | Path) -> None:
        """Write the document: all of it, or nothing.

        Raises:
            OutputError: with the reason; an older file stays as it was.
        """
        write_atomically(Path(path), as_bytes(readable_json(self.document) + "\n"))

    def report(self) -> Report:
        """Return the report: tables and figures."""
        from opennandlab.reports import app, emmc, fleet, power, power_endurance, power_files

        makers: dict[type, Any] = {
            FleetResult: fleet, PowerResult: power, EnduranceResult: power_endurance,
            FilesResult: power_files, AppResult: app, EmmcResult: emmc,
        }  # fmt: skip
        made: Report = makers[type(self)].report(self)
        return made

    def __repr__(self) -> str:
        """Return its title and verdict."""
        from opennandlab.reports import shown

        return f"<{type(self).__name__} {shown.line(self.report())}>"

    def __str__(self) -> str:
        """Return its tables."""
        from opennandlab.reports import shown

        return shown.text(self.report())

    def _repr_html_(self) -> str:
        from opennandlab.reports import shown

        return shown.html(self.report())


class FleetResult(Viewed, FleetDocument, frozen=True, kw_only=True):
    """Result of a fleet: devices, a row for each suite, spread, outliers, failures."""


class PowerResult(Viewed, PowerDocument, frozen=True, kw_only=True):
    """Result of a campaign of power cuts: cuts with each class of fault, and their cost."""


class EnduranceResult(Viewed, EnduranceDocument, frozen=True, kw_only=True):
    """Losses of a fleet that was worn, stored and cut from power."""


class FilesResult(Viewed, FilesDocument, frozen=True, kw_only=True):
    """Losses in crash images of a recorded database."""


class AppResult(Viewed, AppDocument, frozen=True, kw_only=True):
    """How long a user waited for applications, and what the drive did meanwhile."""


class EmmcResult(Viewed, EmmcDocument, frozen=True, kw_only=True):
    """Which cases of an eMMC hold."""


VIEWS: dict[type[Record], type[Record]] = {
    view.__mro__[2]: view
    for view in (FleetResult, PowerResult, EnduranceResult, FilesResult, AppResult, EmmcResult)
}


def viewed(document: Any) -> Any:  # noqa: ANN401 (one of the records above, and its view)
    """Return a document with its views; one that has none as it is."""
    view = VIEWS.get(type(document))
    if view is None:
        return document
    return view(**{name: getattr(document, name) for name in document.__struct_fields__})
