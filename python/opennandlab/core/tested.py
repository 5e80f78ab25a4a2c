"""A standard test that was run, as Python sees it: its document, tables as frames, and figures.

`PtsResult` *is* the declared document: what stands in the file are its attributes. It adds what
only a person needs. `pts.run` gives one, and `load` gives one for each file of a test.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.base.canonical import as_bytes, readable_json
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically
from opennandlab.base.frames import needed
from opennandlab.documents import pts
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.record import JsonObject, plain

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from opennandlab.reports.figure.paper import Paper
    from opennandlab.reports.model import Report
    from opennandlab.reports.pts.verdict import Verdict


class PtsResult(PtsDocument, frozen=True, kw_only=True):
    """What a standard test measured: the document, with views of it.

    Attributes are the keys of the document, as its reference has them: `results`, `tables`,
    `steady_state`, `cells`, `header`.
    """

    @classmethod
    def of(cls, document: PtsDocument) -> PtsResult:
        """Return a document with its views."""
        return cls(**{name: getattr(document, name) for name in document.__struct_fields__})

    def __hash__(self) -> int:
        """Hash the digest: equal documents have the same."""
        return hash(self.digest)

    @property
    def document(self) -> JsonObject:
        """The document as plain JSON, as it is saved."""
        return pts.to_json(self)

    @property
    def verdict(self) -> Verdict:
        """What the document is worth, as `word`, `text` and `reason`."""
        from opennandlab.reports.pts.verdict import verdict

        return verdict(self)

    def frame(self, table: str | None = None) -> pd.DataFrame:
        """Return what was measured as a data frame (needs pandas).

        Args:
            table: Id of a table, one of `tables`; None for all cells, one row each: what was asked
                for and what was measured, from the first round on.

        Raises:
            ConfigError: for a name that no table has.
            ImportError: when pandas is not installed.
        """
        with needed():
            import pandas as pd

        if table is None:
            return pd.DataFrame([plain(cell) for cell in self.cells.rows], columns=self._columns)
        for one in self.tables:
            if one.id == table:
                index = pd.Index(one.rows, name=one.row_label)
                return pd.DataFrame(one.values, index=index, columns=one.columns)
        accepted = ", ".join(one.id for one in self.tables) or "nothing: the run was cut"
        raise ConfigError("table", f"`{table}` is not a table of this test; accepted: {accepted}")

    @property
    def _columns(self) -> list[str]:
        return list(self.cells.columns)

    @property
    def figures(self) -> dict[str, str]:
        """What `plot` can draw, the name of each figure and its title."""
        from opennandlab.reports import drawing

        return drawing.names(self._report().figures)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        figure: str | None = None,
        paper: str | Paper | None = None,
    ) -> go.Figure | None:
        """Draw a figure of the test, or write its report.

        Args:
            path: File to write: the report (HTML, PDF), or its figures alone (SVG, PNG), by its
                ending. None returns a figure of plotly, which a notebook shows.
            figure: Name of the figure, one of `figures`; None for all of them in a file, and for
                the first without one.
            paper: Size of a page for print, such as `85mm` or `85x60mm`, or the page itself with a
                style (`onl.Paper.of`): one figure of exactly that size, without title.

        Raises:
            ConfigError: for a name that none of them has.
            OutputError: when there is nothing to draw, or the file cannot be written, and why.
        """
        from opennandlab.reports import drawing

        return drawing.draw(self._report(), path, figure, paper)

    def save(self, path: str | Path) -> None:
        """Write the document: all of it, or nothing.

        Raises:
            OutputError: with the reason; an older file stays as it was.
        """
        write_atomically(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        return to_bytes(self)

    def _report(self) -> Report:
        from opennandlab.reports.pts import book

        return book.of_document(self)

    def __repr__(self) -> str:
        """Name the test, the target and what the document is worth."""
        return f"<PtsResult {self.test} of {self.header.target.name}, {self.verdict.word}>"

    def _repr_html_(self) -> str:
        from opennandlab.reports import drawing

        report = self._report()
        chapter = report.chapters[0]
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(one.name)}</th>"
            f"<td>{escape(one.text)}</td></tr>"
            for one in chapter.headlines
        )
        reason = f"<p>{escape(chapter.reason)}</p>" if chapter.reason else ""
        notes = "".join(f"<li>{escape(text)}</li>" for text in self.warnings)
        return (
            f"<b>{escape(repr(self))}</b>{reason}<table>{rows}</table>"
            + drawing.element(report.figures)
            + (f"<ul>{notes}</ul>" if notes else "")
        )


def to_bytes(document: PtsDocument) -> bytes:
    """Return the content of the file of a document."""
    return as_bytes(readable_json(pts.to_json(document)) + "\n")
