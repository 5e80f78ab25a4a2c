"""Curves as a figure: error rates over the points of a channel, with what the channel allows.

```text
 FER │ ●──●          full mark: Monte Carlo, bar: 95 % interval
     │  ┆   ○        hollow: importance sampling; no mark: exact
     │  ┆    ⊤       no error was met: an arrow down from the upper end of the interval
     └──┆────────    upright: capacity; dashed: best code of the length; dotted: bounded distance
```
Axes end where that ends which is drawn. A limit that is further away than the curves are long is
told in the note instead: it would leave most of the figure empty.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.documents.ecc import CodeComparison, CurveDocument
from opennandlab.ecc import reaching
from opennandlab.ecc.bounds import Limits, plain_settings
from opennandlab.ecc.drawn import (
    DrawnCurve,
    DrawnPoint,
    channel_words,
    common_decoder,
    decoder_of,
    named_apart,
    of_document,
    on_one_axis,
)
from opennandlab.reports import output
from opennandlab.reports.figure.model import Axis, Draw, Filling, Mark, Plot, Series
from opennandlab.reports.figure.paper import Paper
from opennandlab.reports.figure.scale import nice_ticks
from opennandlab.reports.model import Chapter, Report, Section

# Exact rates below this are left out, unless there is nothing else.
FER_SHOWN_MIN = 1e-18
FILLINGS: dict[str, Filling] = {
    "monte_carlo": "full", "importance_sampling": "hollow", "analytic": "none",
    "published": "full",
}  # fmt: skip
# Rates and lengths within this share of one another have one limit.
ALIKE = 0.01
# More limits of a kind than these would hide the curves.
LIMITS_MAX = 4
# A limit may lie so many decades, or dB, from the curves, however short these are.
AWAY_DECADES, AWAY_DB = 0.5, 1.0
# Points of a line of theory, and that of the best code begins here.
LINE_POINTS, BEST_FER_MAX = 48, 0.9


@dataclass(frozen=True)
class Look:
    """What a figure of curves shows.

    Args:
        limits: Whether capacity, best code and bounded distance are drawn in.
        ber: Whether bit error rates are drawn next to frame error rates.
        target: Frame error rate that is drawn as a level line; None for none.
        title: Above the figure; empty for what it shows.
    """

    limits: bool = True
    ber: bool = False
    target: float | None = None
    title: str = ""

    def __post_init__(self) -> None:
        """Refuse a target that is no rate."""
        if self.target is not None and not FER_SHOWN_MIN <= self.target < 1.0:
            raise ConfigError(
                "target", f"{self.target:g} is refused; accepted: {FER_SHOWN_MIN:g} to 1"
            )


Document = CurveDocument | CodeComparison


def write(document: Document, path: str | Path, look: Look | None = None) -> str:
    """Draw a curve or a comparison, in the form of the file's ending.

    Returns:
        What is not in the figure, and why; empty for nothing.

    Raises:
        OutputError: when it cannot be written, and why.
        ConfigError: when there is nothing to draw.
    """
    return write_all(_drawn(document), path, look).note


def report(document: Document, look: Look | None = None) -> Report:
    """Return the page of a curve or a comparison: the points of a target, and the figure.

    Raises:
        ConfigError: when there is nothing to draw.
    """
    curves = _drawn(document)
    return page(curves, plot(curves, look), look)


def page(curves: Sequence[DrawnCurve], drawn: Plot, look: Look | None = None) -> Report:
    """Return the page of curves around their figure.

    Args:
        curves: At least one.
        drawn: Their figure.
        look: Its target is stated; without one the usual target.
    """
    target = look.target if look and look.target else reaching.TARGET
    found = [reaching.Reach.of(curve, target) for curve in named_apart(curves)]
    items = (drawn,) if len(found) == 1 else (drawn, reaching.table(found))
    sections = tuple(Section(item.id, item.title, (item,)) for item in items)
    chapter = Chapter(
        id="curves",
        title=drawn.title,
        reason=reaching.lead(found),
        headlines=reaching.headlines(found),
        sections=sections,
        test="ecc",
    )
    return Report(drawn.title, "", (chapter,), kind="error-correcting codes")


def _drawn(document: Document) -> list[DrawnCurve]:
    found = document.curves if isinstance(document, CodeComparison) else [document]
    return on_one_axis([of_document(curve) for curve in found])


def write_all(
    curves: Sequence[DrawnCurve],
    path: str | Path,
    look: Look | None = None,
    paper: Paper | None = None,
) -> Plot:
    """Draw curves over the same points, and return the figure; see `write` and `plot`."""
    drawn = plot(curves, look)
    output.write(page(curves, drawn, look), Path(path), paper=paper)
    return drawn


def plot(curves: Sequence[DrawnCurve], look: Look | None = None) -> Plot:
    """Return the figure of curves over the same points.

    Args:
        curves: At least one.
        look: What is shown.

    Raises:
        ConfigError: when no point has a place on the axes, and when `look.ber` has none to draw.
    """
    look = look or Look()
    shown = named_apart(curves)
    is_rber = shown[0].x == "rber"
    floor = _floor(shown)
    series = [line for at, curve in enumerate(shown) for line in _curve(curve, at, floor)]
    if look.ber:
        series += _bers(shown, floor)
    if not any(y is not None for line in series for y in line.y):
        raise ConfigError("points", "no point has a frame error rate above 0: nothing to draw")
    marks, theory, notes = _limits(shown, series) if look.limits else ([], [], [])
    if look.target is not None:
        marks.append(Mark("y", look.target, f"target {look.target:g}"))
    drawn = (*series, *theory)
    x = Axis(
        "raw bit error rate (RBER)" if is_rber else "Eb/N0, dB per information bit",
        "log" if is_rber else "linear",
        _ticks([*_values(series, "x"), *(m.value for m in marks if m.axis == "x")])
        if is_rber else (),
    )  # fmt: skip
    what = "error rate" if look.ber else "frame error rate"
    bars = "; bars: 95 % intervals" if any(_has_bars(line) for line in series) else ""
    return Plot(
        "curves",
        look.title or _title(shown),
        x,
        Axis(what + bars, "log", decades=16),
        (*drawn, *_keys(shown, drawn, is_ber=look.ber)),
        " ".join(notes),
        tuple(marks),
        is_tall=True,
        caption=_caption(look.title or _title(shown), shown, notes),
    )


def _caption(title: str, curves: Sequence[DrawnCurve], notes: Sequence[str]) -> str:
    """Return the caption in a paper: also size and rate of each code, while they are few."""
    codes = dict.fromkeys(
        f"({one.code_bits}, {one.info_bits}) of rate {one.rate:.3g}"
        for one in (curve.document for curve in curves)
        if one is not None
    )
    said = f"{title}; codes {', '.join(codes)}" if 0 < len(codes) <= LIMITS_MAX else title
    return " ".join((f"{said}.", *notes))


def _title(curves: Sequence[DrawnCurve]) -> str:
    channels = {
        channel_words(curve.document.channel_settings) for curve in curves if curve.document
    }
    where = f", {channels.pop()}" if len(channels) == 1 else ""
    what = f" of {curves[0].name}" if len(curves) == 1 else ""
    decoder = common_decoder(curves) if len(curves) > 1 else ""
    if decoder and any(not decoder_of(curve) for curve in curves):
        decoder = f"LDPC by {decoder}"  # beside codes that have no choice of a decoder
    return f"Frame error rate{what}{where}" + (f", {decoder}" if decoder else "")


def _floor(curves: Sequence[DrawnCurve]) -> float:
    """Return the least rate that is drawn."""
    known = [point.fer for curve in curves for point in curve.points if point.fer > 0.0]
    return FER_SHOWN_MIN if max(known, default=1.0) >= FER_SHOWN_MIN else 0.0


def _curve(curve: DrawnCurve, at: int, floor: float) -> Iterator[Series]:
    """Yield the line of a curve, then the bounds of points at which no frame failed."""
    known = [point for point in curve.points if not point.is_bound and point.fer > floor]
    has_bars = any(point.low is not None for point in known)
    yield Series(
        curve.name,
        [point.x for point in known],
        [point.fer for point in known],
        colour=at,
        low=[point.low for point in known] if has_bars else (),
        high=[point.high for point in known] if has_bars else (),
        marks=[FILLINGS[point.method] for point in known],
    )
    bounds = [point for point in curve.points if point.is_bound and _is_telling(point)]
    if bounds:
        x, y = [point.x for point in bounds], [point.high for point in bounds]
        # A curve of nothing but bounds is named by them.
        legend = "" if known else curve.name
        yield Series(f"{curve.name}, upper bound", x, y, "bounds", colour=at, legend=legend)


def _is_telling(point: DrawnPoint) -> bool:
    return point.high is not None and point.high < 1.0


def _bers(curves: Sequence[DrawnCurve], floor: float) -> list[Series]:
    """Return the bit error rates of curves."""
    found = []
    for at, curve in enumerate(curves):
        known = [
            point for point in curve.points
            if point.ber is not None and point.ber > floor and not point.is_bound
        ]  # fmt: skip
        if known:
            x, y = [point.x for point in known], [point.ber for point in known]
            name = f"{curve.name}, bit error rate"
            found.append(Series(name, x, y, "line", colour=at, stroke=3, legend=""))
    if not found:
        names = ", ".join(curve.origin or curve.name for curve in curves)
        raise ConfigError("ber", f"no bit error rates in {names}; accepted: without --ber")
    return found


def _limits(
    curves: Sequence[DrawnCurve], series: Sequence[Series]
) -> tuple[list[Mark], list[Series], list[str]]:
    """Return capacities as upright lines, theory as series, and what is too far away as notes."""
    is_rber = curves[0].x == "rber"
    capacities = _capacities(curves)
    is_one_rate = all(_are_alike(rate, capacities[0][1]) for _, rate, _ in capacities)
    marks, beyond, notes = [], [], []
    for words, rate, value in capacities:
        name = f"capacity, {words}" + ("" if is_one_rate else f", rate {rate:.3f}")
        if _is_near(value, _values(series, "x"), is_rber=is_rber):
            marks.append(Mark("x", value, name))
        else:
            unit = f"RBER {value:.4g}" if is_rber else f"{value:.4g} dB"
            beyond.append(f"{name}, at {unit}")
    if beyond:
        notes.append(f"Beyond the axis: {'; '.join(beyond)}.")
    if len(marks) > LIMITS_MAX:
        notes.append(f"{len(marks)} capacities would hide the curves and are left out.")
        marks = []
    theory = [*_best(curves, series, marks), *_bounded(curves, series)]
    return marks, theory, notes


def _capacities(curves: Sequence[DrawnCurve]) -> list[tuple[str, float, float]]:
    """Return channel in words, rate and capacity of each channel and rate that is drawn, once."""
    found: list[tuple[str, float, float]] = []

    def is_new(words: str, rate: float) -> bool:
        return not any(words == known and _are_alike(rate, other) for known, other, _ in found)

    for curve in curves:
        if curve.document is None:
            continue
        settings = plain_settings(curve.document.channel_settings)
        words, limits = channel_words(settings), Limits(settings, curve.document.rate)
        if limits.are_known and is_new(words, limits.rate):
            found.append((words, limits.rate, limits.capacity_x))
    return found


def _best(
    curves: Sequence[DrawnCurve], series: Sequence[Series], marks: Sequence[Mark]
) -> list[Series]:
    """Return the normal approximation of each channel, length and rate, once."""
    low, high = _range(_values(series, "y"))
    xs = _values(series, "x")
    edges = _range([*xs, *(mark.value for mark in marks)])
    asked: list[tuple[Limits, CurveDocument, list[int]]] = []
    for at, curve in enumerate(curves):
        document = curve.document
        if document is None:
            continue
        limits = Limits(document.channel_settings, document.rate)
        alike = next(
            (users for other, known, users in asked
             if _channel(known) == _channel(document)
             and _are_alike(other.rate, limits.rate)
             and _are_alike(known.code_bits, document.code_bits)),
            None,
        )  # fmt: skip
        if alike is not None:
            alike.append(at)
        elif limits.are_known:
            asked.append((limits, document, [at]))
    found = []
    for limits, document, users in asked if len(asked) <= LIMITS_MAX else ():
        n, k = document.code_bits, document.info_bits
        ends = [limits.best_x(n, k, fer) for fer in (low, max(min(high, BEST_FER_MAX), 2 * low))]
        first, last = max(min(ends), edges[0]), min(max(ends), edges[1])
        if first < last:
            x = _between(first, last, is_log=limits.is_rber)
            y = [limits.best(n, k, value) for value in x]
            colour = users[0] if len(users) == 1 else -1
            name = f"{curves[users[0]].name}, best code of its length"
            found.append(Series(name, x, y, "dashed", colour=colour, quiet=True))
    return found


def _bounded(curves: Sequence[DrawnCurve], series: Sequence[Series]) -> list[Series]:
    """Return the tail of bounded distance for codes of known t that were simulated."""
    low, high = _range(_values(series, "y"))
    found = []
    for at, curve in enumerate(curves):
        document = curve.document
        correctable = None if document is None else document.code_identity.get("t")
        if document is None or not isinstance(correctable, int) or len(curve.points) < 2:
            continue
        if any(point.method == "analytic" for point in curve.points):
            continue  # the curve itself is that line
        limits = Limits(document.channel_settings, document.rate)
        ends = [point.x for point in curve.points]
        x = _between(min(ends), max(ends), is_log=limits.is_rber)
        y = [limits.bounded_distance(document.code_bits, correctable, value) for value in x]
        inside = [value if value is not None and low <= value <= high else None for value in y]
        if any(value is not None for value in inside):
            name = f"{curve.name}, bounded distance"
            found.append(Series(name, x, inside, "line", colour=at, stroke=2, quiet=True))
    return found


def _keys(curves: Sequence[DrawnCurve], drawn: Sequence[Series], *, is_ber: bool) -> list[Series]:
    """Return rows of the legend that say what marks and strokes mean."""
    methods = {point.method for curve in curves for point in curve.points if not point.is_bound}
    keys: list[Series] = []

    def key(text: str, draw: Draw, stroke: int = 0, marks: Sequence[Filling] = ()) -> None:
        nothing = [None]
        keys.append(
            Series(text, nothing, nothing, draw, -1, stroke=stroke, marks=marks, is_key=True)
        )

    if "importance_sampling" in methods:
        if "monte_carlo" in methods:
            key("Monte Carlo", "points", marks=["full"])
        key("importance sampling", "points")
    if any(line.draw == "bounds" for line in drawn):
        key("no error: 95 % upper bound", "bounds")
    if is_ber:
        key("bit error rate", "line", stroke=3)
    if any(line.draw == "dashed" for line in drawn):
        key("best code, normal approximation", "dashed")
    if any(line.stroke == 2 for line in drawn):
        key("bounded distance, exact", "line", stroke=2)
    return keys


def _channel(document: CurveDocument) -> str:
    return json.dumps(plain_settings(document.channel_settings), sort_keys=True)


def _are_alike(one: float, other: float) -> bool:
    return abs(one / other - 1.0) <= ALIKE


def _is_near(value: float, xs: Sequence[float], *, is_rber: bool) -> bool:
    """Whether a limit is no further from the curves than these are long."""
    places = [math.log10(x) if is_rber else x for x in (*xs, value)]
    *own, there = places
    away = max(min(own) - there, there - max(own))
    return away <= max(max(own) - min(own), AWAY_DECADES if is_rber else AWAY_DB)


def _between(first: float, last: float, *, is_log: bool) -> list[float]:
    shares = [place / (LINE_POINTS - 1) for place in range(LINE_POINTS)]
    if is_log:
        return [first * (last / first) ** share for share in shares]
    return [first + (last - first) * share for share in shares]


def _values(series: Sequence[Series], axis: str) -> list[float]:
    """Return all values of an axis that have a place on it."""
    rows = (
        [(line.x,) for line in series]
        if axis == "x"
        else [(line.y, line.low, line.high) for line in series]
    )
    return [
        value for row in rows for values in row for value in values
        if value is not None and (axis == "x" or value > 0.0)
    ]  # fmt: skip


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _has_bars(line: Series) -> bool:
    return any(value is not None for value in line.high)


def _ticks(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """Return ticks inside the values: a curve spans less than a decade more often than not."""
    low, high = min(values, default=1e-3), max(values, default=1e-2)
    wide = high / low
    if wide < 4:
        return tuple((mark, f"{mark:g}") for mark in nice_ticks(low / 1.02, high * 1.02))
    steps = (1, 2, 3, 5, 7) if wide < 8 else (1, 2, 5) if wide < 300 else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [float(f"{step}e{power}") for power in decades for step in steps]
    return tuple((mark, f"{mark:g}") for mark in marks if low / 1.04 <= mark <= high * 1.04)
