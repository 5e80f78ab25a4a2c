"""One run's result: the document of the result file, and comfortable ways to look at it.

`Result.content` is the document as declared in `documents.result`; what is saved and everything
here are views of it. Its `digest` covers all but `tool`, `created`, `run` and itself: same build,
device, workload and seed give the same digest, on any machine and at any slice size.
"""

from __future__ import annotations

import datetime as dt
import math
import platform
import re
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from opennandlab import _core
from opennandlab.base.canonical import as_bytes, deterministic_part, digest, readable_json
from opennandlab.base.errors import DocumentError, InternalError
from opennandlab.base.files import check_writable, write_atomically
from opennandlab.base.frames import needed
from opennandlab.base.threads import cores
from opennandlab.documents import result as declared
from opennandlab.documents.metrics import Breakdown
from opennandlab.documents.record import JsonObject, plain
from opennandlab.documents.result import (
    SCHEMA,
    Checks,
    Effective,
    Observed,
    Outcome,
    ResultDocument,
    RunFacts,
    Tool,
)
from opennandlab.documents.saved import damaged, read_document, refuse_edited

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import plotly.graph_objects as go

    from opennandlab.core.observation import Timeline
    from opennandlab.core.requests import RequestFile
    from opennandlab.documents.ocp import OcpDocument
    from opennandlab.reports.figure.paper import Paper

NOTHING_MEASURED = "the measured part never began"
# The checks of such a run: there is nothing to trust.
NOT_MEASURED = Checks(passed=False, failures=[NOTHING_MEASURED])


class Result:
    """A result document.

    Args:
        document: As declared, or as in the result file.

    Raises:
        DocumentError: for a mapping that is not a result, with path, value and what is accepted.

    >>> import opennandlab as onl
    >>> result = onl.benchmark("tlc_standard", "W1", seed=42)
    >>> result.metrics["waf"], result.content.metrics.waf
    (1.0, 1.0)
    """

    def __init__(self, document: ResultDocument | JsonObject) -> None:
        """Wrap a document."""
        # Keys that this build does not know; of a file that a newer one wrote.
        self.unknown: list[str] = []
        if isinstance(document, ResultDocument):
            self.content = document
        else:
            self.content, self.unknown = declared.from_file(document)
            self.__dict__["document"] = document
        # What dies and channels did in the window that was asked for; of this run, not of its file.
        self.timeline: Timeline | None = None
        # The logs of its drive, if they were asked for; of this run too.
        self.logs: OcpDocument | None = None
        # The file of its requests: where it is, and whether it holds all that were asked for.
        self.requests: RequestFile | None = None

    @cached_property
    def document(self) -> JsonObject:
        """The document as plain JSON, as it is saved; a copy, but for one that was given so."""
        return declared.to_json(self.content)

    @property
    def metrics(self) -> JsonObject:
        """The metrics of the measured part as plain JSON; units are in the names.

        Every key is in the reference of the result document; `content.metrics` has them typed.
        """
        metrics: JsonObject = self.document["metrics"]
        return metrics

    @property
    def series(self) -> dict[str, np.ndarray]:
        """Series of the measured part, `float64, (samples,)` each; NaN where not measured."""
        import numpy as np

        columns = {} if self.content.series is None else plain(self.content.series)
        return {
            name: np.array([math.nan if value is None else value for value in values], dtype=float)
            for name, values in columns.items()
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the deterministic part, in hex."""
        return self.content.digest

    @property
    def partial(self) -> bool:
        """True when the run was interrupted."""
        return bool(self.content.partial)

    @property
    def passed(self) -> bool:
        """True when every self-check of the run held."""
        return self.content.checks.passed

    @property
    def warnings(self) -> list[str]:
        """What the reader of the numbers should know."""
        return list(self.content.warnings)

    def failed_checks(self) -> list[str]:
        """Return what did not hold, and by how much."""
        return list(self.content.checks.failures)

    def frame(self) -> pd.DataFrame:
        """Return the series as a data frame, one row per sample (needs pandas).

        Raises:
            ImportError: when pandas is not installed.
        """
        with needed():
            import pandas as pd

        return pd.DataFrame(self.series)

    def latency_frame(self) -> pd.DataFrame:
        """Return the latencies in µs as a data frame, one row per operation (needs pandas)."""
        with needed():
            import pandas as pd

        latencies = self.content.metrics and self.content.metrics.latency_us
        rows = plain(latencies) if latencies else {}
        return pd.DataFrame.from_dict(rows, orient="index")

    @property
    def breakdown(self) -> JsonObject | None:
        """Where the time went, by class and percentile band; None unless it was asked for.

        `{class: {"count", "bands": [{"band", "count", "latency_us_mean", "parts_us"}]}}`.
        """
        breakdown: JsonObject | None = self.metrics.get("breakdown")
        return breakdown

    def breakdown_frame(self) -> pd.DataFrame:
        """Return the breakdown in µs, one row per class and band, one column per part.

        Empty unless the run was asked for it. Needs pandas.
        """
        with needed():
            import pandas as pd

        from opennandlab.reports.time_parts import PARTS

        metrics = self.content.metrics
        breakdown = Breakdown() if metrics is None else metrics.breakdown or Breakdown()
        rows = {
            (op, band.band): {"count": band.count, "latency": band.latency_us_mean}
            | {part: band.parts_us.get(part, 0.0) for part in PARTS}
            for op, section in breakdown.by_class().items()
            for band in section.bands
        }
        if not rows:
            return pd.DataFrame()
        frame = pd.DataFrame.from_dict(rows, orient="index")
        frame.index = pd.MultiIndex.from_tuples(rows, names=["class", "band"])
        return frame.loc[:, (frame != 0).any()]

    @property
    def figures(self) -> dict[str, str]:
        """What `plot` can draw, the name of each figure and its title."""
        from opennandlab.reports import drawing, plot

        return drawing.names(list(plot.plots(self.content)))

    def plot(
        self,
        path: str | Path | None = None,
        *,
        figure: str | None = None,
        paper: str | Paper | None = None,
    ) -> go.Figure | None:
        """Draw the course and the latencies of the run.

        Args:
            path: File to write: a page (HTML, PDF), or the figures alone (SVG, PNG), by its ending.
                None returns a figure of plotly, which a notebook shows.
            figure: Name of the figure, one of `figures`; None for all of them in a file, and for
                the first without one.
            paper: Size of a page for print, such as `85mm` or `85x60mm`, or the page itself with a
                style (`onl.Paper.of`): one figure of exactly that size, without title.

        Raises:
            ConfigError: for a name that none of them has.
            OutputError: when there is nothing to draw, or the file cannot be written, and why.

        >>> import opennandlab as onl
        >>> result = onl.benchmark("tlc_standard", "W1", seed=42)
        >>> result.plot(figure="latency-by-percentile").layout.yaxis.title.text
        'latency, µs'
        """
        from opennandlab.reports import drawing, plot

        return drawing.draw(plot.report(self.content), path, figure, paper)

    def save(self, path: str | Path) -> None:
        """Write the result file: all of it, or nothing.

        Raises:
            OutputError: with the reason; an older file stays as it was.
        """
        write_atomically(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the result file."""
        return as_bytes(readable_json(self.document) + "\n")

    @staticmethod
    def check_writable(path: str | Path) -> None:
        """Refuse, before a run, a path that could not be written after it.

        Raises:
            OutputError: with the reason.
        """
        check_writable(Path(path))

    @classmethod
    def load(cls, path: str | Path, *, check_digest: bool = True) -> Result:
        """Read a result file.

        Args:
            path: The file.
            check_digest: Refuse a file whose numbers were changed after it was written.

        Raises:
            ResultError: when the file is damaged, foreign or newer than this build, and why.
        """
        document = read_document(Path(path), [SCHEMA])
        try:
            found = cls(document)
        except DocumentError as error:
            raise damaged(Path(path), error) from None
        if check_digest:
            refuse_edited(Path(path), document)
        return found

    def __eq__(self, other: object) -> bool:
        """Return whether two results say the same; where and when they were made does not count."""
        if not isinstance(other, Result):
            return NotImplemented
        return self.digest == other.digest and (
            deterministic_part(self.document) == deterministic_part(other.document)
        )

    def __hash__(self) -> int:
        """Hash what is compared."""
        return hash(self.digest)

    def __repr__(self) -> str:
        """Name the workload, the main metric and the digest."""
        waf = self.content.metrics and self.content.metrics.waf
        name = self.content.workload.get("name", "?")
        shown = "null" if waf is None else f"{waf:.3f}"
        return f"<Result {name} waf={shown} digest={self.digest[:12]}>"

    def _repr_html_(self) -> str:
        from html import escape

        from opennandlab.reports import drawing, plot
        from opennandlab.reports.metric_rows import metric_rows
        from opennandlab.reports.summary import activity_table, latency_table, tenant_table
        from opennandlab.reports.time_parts import breakdown_tables

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(label)}</th><td>{escape(value)}</td>"
            f"<td style='text-align:left'>{escape(unit)}</td></tr>"
            for label, value, unit in metric_rows(self.content)
        )
        tables = "".join(
            "<table><tr>"
            + "".join(f"<th>{escape(cell)}</th>" for cell in head)
            + "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                for row in body
            )
            + "</table>"
            for head, body in (
                latency_table(self.content),
                tenant_table(self.content),
                activity_table(self.content),
                *((part.head, part.rows) for part in breakdown_tables(self.content)),
            )
            if body
        )
        notes = "".join(f"<li>{escape(text)}</li>" for text in self.warnings)
        return (
            f"<b>{escape(repr(self))}</b><table>{rows}</table>"
            + tables
            + drawing.element(list(plot.plots(self.content)))
            + (f"<ul>{notes}</ul>" if notes else "")
        )


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a run. A `KeyboardInterrupt`, so that loops over runs end too.

    Args:
        result: What had been measured until then, marked `partial`; None when nothing had, as in
            the preconditioning.
    """

    def __init__(self, result: Result | None) -> None:
        """Carry the part that is done."""
        super().__init__("interrupted")
        self.result = result


def outcome_of(core: _core.Drive) -> Outcome:
    """Return the outcome of a run, which the core must give as declared."""
    try:
        return declared.outcome(core.outcome())
    except DocumentError as error:
        raise InternalError(f"the core's outcome is not as declared: {error}") from error


def assemble(  # noqa: PLR0913 (sections of a document, by name)
    outcome: Outcome,
    *,
    effective: Effective,
    device: JsonObject,
    seed: int,
    run: RunFacts,
    observed: Observed | None = None,
    partial: bool = False,
) -> Result:
    """Make the result document of a run.

    Args:
        outcome: What the core says; without metrics when the measured part never began.
        effective: What follows from the device, with the prediction for the workload.
        device: The resolved device.
        seed: The seed of the run.
        run: Facts of this machine, outside the digest.
        observed: What was watched, where that adds to the metrics.
        partial: The run was interrupted.
    """
    from opennandlab.core.cautions import cautions

    content = ResultDocument(
        schema=SCHEMA,
        model_version=model_version(),
        tool=tool(),
        created=dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        partial=partial or None,
        device=device,
        effective=effective,
        workload=outcome.workload or {},
        seed=seed,
        state=outcome.state,
        observed=observed,
        metrics=outcome.metrics,
        series=outcome.series,
        checks=outcome.checks or NOT_MEASURED,
        warnings=outcome.warnings or [],
        digest="",
        run=run,
    )
    warnings = [*content.warnings]
    warnings += [text for text in cautions(content) if text not in warnings]
    content = structs.replace(content, warnings=warnings)
    document = declared.to_json(content)
    document["digest"] = digest(document)
    try:
        # As a reader of the file would get it: nothing is written that could not be read.
        return Result(declared.from_json(document))
    except DocumentError as error:
        raise InternalError(f"the result is not as declared: {error}") from error


def model_version() -> int:
    """Return the version of the model: results are comparable only within one."""
    return _core.model_version()


def tool() -> Tool:
    """Return what made a result: version, commit and machine."""
    return Tool(
        name="opennandlab",
        version=_core.version(),
        commit=_core.commit(),
        dirty=_core.dirty(),
        python=platform.python_version(),
        os=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=_cpu(),
    )


@cache
def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1) if found else platform.processor() or platform.machine()


def _cpu() -> str:
    return f"{_cpu_model()}, {cores()} usable"
