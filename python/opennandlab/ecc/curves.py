"""Curves: frame error rate of a code over the points of a channel, resumable and additive.

```text
  point ──► analytic         bounded distance on a symmetric channel: P(X > t), exact
        ├─► monte_carlo      frames until enough errors, or until the most frames allowed
        └─► importance_sampling   strata, where errors are too rare to be met by chance
```
`auto` takes Monte Carlo where the errors asked for can be met with the frames allowed, and the
exact tail or strata where not. A journal is the document itself: it is written whole every few
seconds, and a later call with the same file goes on from its counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab import _core
from opennandlab.base.canonical import first_difference, readable_json
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.base.files import check_writable, is_there, write_atomically
from opennandlab.base.frames import needed
from opennandlab.base.words import number
from opennandlab.documents.ecc import CURVE_SCHEMA, CurveDocument
from opennandlab.documents.record import JsonObject, plain
from opennandlab.documents.saved import read_document, typed
from opennandlab.ecc.channels import Channel, points_of
from opennandlab.ecc.codes import Code, Decoder
from opennandlab.ecc.engine import CPU, Engine
from opennandlab.ecc.point import ANALYTIC, IMPORTANCE_SAMPLING, MONTE_CARLO, Point
from opennandlab.ecc.strata import estimate

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import plotly.graph_objects as go

    from opennandlab.reports.figure.paper import Paper

METHODS = ("auto", MONTE_CARLO, IMPORTANCE_SAMPLING, ANALYTIC)
# Below so many errors a rate is not known by counting, and `auto` tries strata.
ERRORS_TO_TRUST = 10
# The share of the frames allowed after which `auto` stops waiting for a first error.
PATIENCE_SHARE = 1 / 32
FRAMES_MAX = 10**15
JOURNAL_EVERY_S = 2.0
# What must be the same for counts to be added.
IDENTITY = ("schema", "code_identity", "channel_settings", "decoder_settings", "seed", "codewords")


@dataclass(frozen=True)
class Progress:
    """How far a curve is.

    Args:
        point_index: Number of the point, from 0.
        point_count: Points in all.
        x: The point.
        frames: Frames counted at it.
        frame_errors: Frame errors counted at it.
        fraction: Share of the whole curve that is done, 0 to 1, by points and errors.
        elapsed_s: Seconds since the start.
        frames_per_s: Rate at this point; None before its first second.
        eta_s: Seconds until this point is done, if it goes on like this; None when nobody can
            say. Points differ by orders of magnitude, so nothing is said of the others.
    """

    point_index: int
    point_count: int
    x: float
    frames: int
    frame_errors: int
    fraction: float
    elapsed_s: float
    frames_per_s: float | None = None
    eta_s: float | None = None


class Curve:
    """A curve: the document that `ecc curve --json` prints, and views of it.

    Args:
        content: The document, as declared.
    """

    def __init__(self, content: CurveDocument) -> None:
        """Wrap a document."""
        self.content = content

    @cached_property
    def document(self) -> JsonObject:
        """The document as plain JSON, as it is saved."""
        return plain(self.content)

    @property
    def points(self) -> list[JsonObject]:
        """The points in ascending order, as plain JSON."""
        points: list[JsonObject] = self.document["points"]
        return points

    def array(self, key: str) -> np.ndarray:
        """Return one column: `float64, (points,)`; NaN where a point has no such value."""
        import numpy as np

        values = [point.get(key) for point in self.points]
        return np.array([math.nan if value is None else value for value in values], dtype=float)

    @property
    def x(self) -> np.ndarray:
        """RBER or Eb/N0 in dB, as `float64, (points,)`."""
        return self.array("x")

    @property
    def fer(self) -> np.ndarray:
        """Frame error rate, as `float64, (points,)`."""
        return self.array("fer")

    @property
    def ber(self) -> np.ndarray:
        """Rate of wrong information bits, as `float64, (points,)`."""
        return self.array("ber")

    @property
    def methods(self) -> list[str]:
        """The method of each point."""
        return [point.method for point in self.content.points]

    @property
    def partial(self) -> bool:
        """True when the run was interrupted."""
        return bool(self.content.partial)

    def frame(self) -> pd.DataFrame:
        """Return the points as a data frame (needs pandas).

        Raises:
            ImportError: when pandas is not installed.
        """
        with needed():
            import pandas as pd

        plain = [
            {key: value for key, value in point.items() if key not in {"tally", "strata"}}
            for point in self.points
        ]
        return pd.DataFrame(plain)

    def save(self, path: str | Path) -> None:
        """Write the document: all of it, or nothing.

        Raises:
            OutputError: with the reason; an older file stays as it was.
        """
        write_atomically(Path(path), (readable_json(self.document) + "\n").encode())

    def plot(
        self, path: str | Path | None = None, *, paper: str | Paper | None = None
    ) -> go.Figure | None:
        """Draw the error rates over the points, with what the channel allows.

        Args:
            path: File to write: SVG, PNG, PDF or HTML by its ending; None returns a figure of
                plotly, which a notebook shows.
            paper: Size of a page for print, such as `85mm`, or the page itself.

        Raises:
            ConfigError: when no point has an error rate to draw.
            OutputError: when the file cannot be written, and why.
        """
        from opennandlab.ecc import charts
        from opennandlab.reports import drawing

        return drawing.draw(charts.report(self.content), path, None, paper)

    @classmethod
    def load(cls, path: str | Path) -> Curve:
        """Read a curve that was saved.

        Raises:
            ResultError: when the file is damaged or no curve, and why.
        """
        return cls(_read(Path(path)))

    def __eq__(self, other: object) -> bool:
        """Return whether two curves are the same document."""
        return self.content == other.content if isinstance(other, Curve) else NotImplemented

    def __hash__(self) -> int:
        """Hash what was measured; how much of it does not count."""
        content = self.content
        return hash((content.code, content.channel, content.seed, len(content.points)))

    def __repr__(self) -> str:
        """Name the code, the channel and the number of points."""
        content = self.content
        return f"<Curve {content.code} on {content.channel}, {len(content.points)} points>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(text)}</th>" for text in table_head(self.content))
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in table_rows(self.content)
        )
        from opennandlab.ecc import charts
        from opennandlab.reports import drawing

        try:
            drawn = drawing.element(charts.report(self.content).figures)
        except ConfigError:  # no point has an error rate
            drawn = ""
        return f"<b>{escape(repr(self))}</b><table><tr>{head}</tr>{body}</table>{drawn}"


class CurveInterrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a curve.

    Args:
        curve: What was counted until then, marked `partial`.
    """

    def __init__(self, curve: Curve) -> None:
        """Carry the part that is done."""
        super().__init__("interrupted")
        self.curve = curve


@dataclass(frozen=True)
class Effort:
    """How much work a curve may be.

    Args:
        errors: Frame errors after which a point is known well enough.
        max_frames: The most frames of a point; of importance sampling, in addition.
        method: `auto`, `monte_carlo`, `importance_sampling` or `analytic`.
    """

    errors: int = 100
    max_frames: int = 1_000_000
    method: str = "auto"

    def __post_init__(self) -> None:
        """Refuse what is not an effort."""
        if not 1 <= self.errors <= FRAMES_MAX:
            raise ConfigError("errors", f"{self.errors} is refused; accepted: 1 and more")
        if not 1 <= self.max_frames <= FRAMES_MAX:
            raise ConfigError("max_frames", f"{self.max_frames} is refused; accepted: 1 to 1e15")
        if self.method not in METHODS:
            raise ConfigError(
                "method", f"`{self.method}` is not a method; accepted: {', '.join(METHODS)}"
            )


def curve(  # noqa: PLR0913 - one argument for each thing that is to be chosen
    code: str | Code,
    channel: str | Channel,
    points: str | Sequence[float],
    *,
    decoder: Decoder | None = None,
    errors: int = 100,
    max_frames: int = 1_000_000,
    method: str = "auto",
    seed: int = 42,
    zero_codeword: bool = False,
    threads: int | None = None,
    engine: str = CPU,
    output: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Curve:
    """Measure or compute how often a code fails.

    Args:
        code: `bch:m=M,t=T[,data_bits=N]`, `ldpc:FILE.alist`, `ldpc:FILE.qc`, a name, or a `Code`.
        channel: `bsc`, `awgn`, `sensing:N`, `unquantised`, or a `Channel` with more settings.
        points: RBER, for `awgn` Eb/N0 in dB; numbers, or text such as `1e-3:1e-2:20`.
        decoder: Of an LDPC code given as text; default 20 iterations of layered min-sum x 0.75.
        errors: Frame errors after which a point is known well enough (100: +-20 %).
        max_frames: The most frames of a point.
        method: `auto`, `monte_carlo`, `importance_sampling` or `analytic`.
        seed: Seed of all randomness.
        zero_codeword: Send zeros: no encoder is needed, but a decoder that favours zeros looks
            better than it is.
        threads: Chunks at a time; default one per core. The result does not depend on it.
        engine: `cpu`, or `gpu` for Monte Carlo of LDPC codes in 8 bits; counts are the same.
        output: A file that is written every few seconds, and continued when it exists.
        progress: Called with a `Progress` about ten times a second.

    Raises:
        ConfigError: for a code, channel or point that is invalid, and for an engine that does not
            support it.
        ResultError: when `output` holds a curve of something else.
        CurveInterrupted: on Ctrl-C, with what was counted.

    >>> curve("bch:m=8,t=4", "bsc", [1e-4]).points[0]["method"]
    'analytic'
    """
    code, channel = Code.of(code, decoder), Channel.of(channel)
    wanted = points_of(points, channel)
    if not 0 <= seed < 2**64:
        raise ConfigError("seed", f"{seed} is refused; accepted: 0 to 2^64 - 1")
    if threads is not None and not 1 <= threads <= 1024:
        raise ConfigError("threads", f"{threads} is refused; accepted: 1 to 1024")
    chosen = Engine(
        code, channel, seed=seed, zero_codeword=zero_codeword, threads=threads, name=engine
    )
    job = _Job(chosen, Effort(errors, max_frames, method), wanted, output, progress)
    return job.run()


class _Job:
    """One run over the points."""

    def __init__(
        self,
        engine: Engine,
        effort: Effort,
        wanted: list[float],
        output: str | Path | None,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.engine = engine
        self.effort = effort
        self.wanted = wanted
        self.output = None if output is None else Path(output)
        self.progress = progress
        self.began = self.saved = time.monotonic()
        self.reported = 0.0
        # Place, time, share and frames of the first report of the point in progress.
        self.first = (-1, 0.0, 0.0, 0)
        self.points: dict[float, Point] = {}
        # Engines that have counted frames of Monte Carlo.
        self.engines: set[str] = set()
        # Refuses impossible points, methods and engines before the first frame.
        for x in wanted:
            self._check(x)
        engine.runner(engine.task(wanted[0]))
        if self.output is not None:
            self._continue(self.output)

    def run(self) -> Curve:
        try:
            for place, x in enumerate(self.wanted):
                self._measure(place, self.points.setdefault(x, Point(x)))
        except KeyboardInterrupt:
            partial = Curve(self.document(partial=True))
            if self.output is not None:
                partial.save(self.output)
            raise CurveInterrupted(partial) from None
        finished = Curve(self.document(partial=False))
        if self.output is not None:
            finished.save(self.output)
        return finished

    def _check(self, x: float) -> None:
        task, method = self.engine.task(x), self.effort.method
        _, is_symmetric = task.hard_decision()
        if method == ANALYTIC and self.engine.code.t is None:
            raise ConfigError(
                "method",
                "no formula for LDPC codes; accepted: auto, monte_carlo, importance_sampling",
            )
        if method in {ANALYTIC, IMPORTANCE_SAMPLING} and not is_symmetric:
            raise ConfigError("method", f"{method} needs states of equal width (sigma ratio 1)")

    def _measure(self, place: int, point: Point) -> None:
        def report() -> None:
            self._report(place, point)

        engine, effort = self.engine, self.effort
        errors, frames, method = effort.errors, effort.max_frames, effort.method
        rber, is_symmetric = engine.task(point.x).hard_decision()
        if engine.code.t is not None and is_symmetric:
            exact = _bounded_distance(engine.code, engine.code.t, rber)
            if method == ANALYTIC or (method == "auto" and exact[0] * frames < errors):
                point.exact, point.method = exact, ANALYTIC
                return
        if method in {"auto", MONTE_CARLO}:
            is_auto = method == "auto" and is_symmetric
            patience = max(1, int(frames * PATIENCE_SHARE)) if is_auto else None
            point.method = MONTE_CARLO
            engine.run_monte_carlo(point, errors, frames, report, patience)
            if not is_auto or point.tally.frame_errors >= min(errors, ERRORS_TO_TRUST):
                return
        point.method = IMPORTANCE_SAMPLING
        engine.run_strata(point, errors, frames, report)
        if method == "auto" and not self._strata_are_better(point, rber):
            point.method = MONTE_CARLO
            engine.run_monte_carlo(point, errors, frames, report)

    def _strata_are_better(self, point: Point, rber: float) -> bool:
        """Compare what both methods know: errors that were met, and those that strata stand for."""
        code = self.engine.code
        found = estimate(point.strata, code.code_bits, code.info_bits, rber)
        if found.fer == 0.0 or found.unseen_share > 1.0:
            return False  # what was seen is the smaller part: no rate, only a bound
        if point.tally.frame_errors == 0:
            return found.fer_high < _core.ecc_interval(0, point.tally.frames)[1]
        return found.relative_error**2 * max(point.tally.frame_errors, 1) < 1.0

    def document(self, *, partial: bool) -> CurveDocument:
        engine = self.engine
        code = engine.code
        rows = []
        for _, point in sorted(self.points.items()):
            rber, _ = engine.task(point.x).hard_decision()
            if point.tally.frames or point.strata or point.exact:
                rows.append(point.record(code.code_bits, code.info_bits, rber))
        return CurveDocument(
            schema=CURVE_SCHEMA,
            code=code.text,
            channel=engine.channel.text,
            decoder=code.decoder_text,
            code_identity=code.as_dict(),
            channel_settings=engine.channel.as_dict(),
            decoder_settings=None if code.decoder is None else code.decoder.as_dict(),
            seed=engine.seed,
            codewords="zero" if engine.zero_codeword else "random",
            code_bits=code.code_bits,
            info_bits=code.info_bits,
            rate=code.rate,
            x="rber" if engine.channel.has_rber else "ebn0_db",
            engine=None if self.engines <= {CPU} else ", ".join(sorted(self.engines)),
            partial=partial or None,
            points=rows,
        )

    def _continue(self, path: Path) -> None:
        check_writable(path)
        if not is_there(path) or not path.is_file():
            return
        document = _read(path)
        ours = self.document(partial=False)
        for key in IDENTITY:
            if difference := first_difference(getattr(document, key), getattr(ours, key), key):
                raise ResultError(
                    f"{path} holds another curve ({difference}): counts cannot be added; give "
                    "another file"
                )
        if document.points:
            self.engines |= set((document.engine or CPU).split(", "))
        for row in document.points:
            point = Point.of(row, str(path))
            self.points[point.x] = point

    def _report(self, place: int, point: Point) -> None:
        if point.method == MONTE_CARLO:
            self.engines.add(self.engine.name)
        now = time.monotonic()
        if self.progress is not None and now - self.reported > 0.1:
            self.reported = now
            self.progress(self._state(place, point, now - self.began))
        if self.output is not None and now - self.saved > JOURNAL_EVERY_S:
            Curve(self.document(partial=True)).save(self.output)
            self.saved = now

    def _state(self, place: int, point: Point, elapsed_s: float) -> Progress:
        effort = self.effort
        counts = point.tally
        frames, frame_errors = counts.frames, counts.frame_errors
        share = max(frame_errors / effort.errors, frames / effort.max_frames)
        if point.strata and point.method == IMPORTANCE_SAMPLING:
            frames = sum(row.frames for row in point.strata.values())
            frame_errors = sum(row.frame_errors for row in point.strata.values())
            share = frames / effort.max_frames
        count = len(self.wanted)
        share = min(share, 1.0)
        if self.first[0] != place:
            self.first = (place, elapsed_s, share, frames)
        _, since_s, before, frames_before = self.first
        gained, took_s = share - before, elapsed_s - since_s
        is_told = took_s >= 1.0
        rate = (frames - frames_before) / took_s if is_told else None
        eta_s = took_s * (1.0 - share) / gained if gained > 0.0 and is_told else None
        return Progress(
            place, count, point.x, frames, frame_errors, (place + share) / count, elapsed_s, rate,
            eta_s,
        )  # fmt: skip


def _bounded_distance(code: Code, t: int, rber: float) -> tuple[float, float]:
    """Return FER and BER of a decoder that corrects t errors and leaves other words alone.

    `FER = P(X > t)` and `BER = E[X; X > t] / n = p P(Y >= t)`, X binomial (n, p), Y (n - 1, p).
    """
    n = code.code_bits
    return _core.ecc_tail(n, t, rber), rber * _core.ecc_tail(n - 1, t - 1, rber)


def _read(path: Path) -> CurveDocument:
    return typed(path, read_document(path, [CURVE_SCHEMA]), CurveDocument)


def table_head(document: CurveDocument) -> list[str]:
    """Return the headings of the table of a curve."""
    x = "RBER" if document.x == "rber" else "Eb/N0, dB"
    return [x, "FER", "95 % interval", "BER", "frames", "errors", "undetected", "method"]


def table_rows(document: CurveDocument) -> list[list[str]]:
    """Return the points of a curve as text."""
    rows = []
    for point in document.points:
        is_exact = point.method == ANALYTIC
        rows.append(
            [
                f"{point.x:g}",
                f"{point.fer:.3g}",
                "exact" if is_exact else f"{point.fer_low:.2g} .. {point.fer_high:.2g}",
                f"{point.ber:.2g}",
                "-" if is_exact else number(point.frames),
                "-" if is_exact else number(point.frame_errors),
                "-" if is_exact else f"{point.undetected}",
                point.method.replace("_", " "),
            ]
        )
    return rows
