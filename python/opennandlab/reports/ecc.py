"""Curves of the ECC lab as a figure: frame error rate over the channel, limits as upright lines.

A point that was simulated has its 95 % interval as a bar; one without a single frame error states
only an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from opennandlab.documents.ecc import CodeComparison, CurveDocument
from opennandlab.reports import output
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Report, page_of

LIMIT_NAMES = {"1": "1 read", "3": "3 reads", "7": "7 reads", "unquantised": "unquantised"}
FER_SHOWN_MIN = 1e-15


def write(document: CurveDocument | CodeComparison, path: str | Path) -> None:
    """Draw the document of a curve or a comparison, in the form of the file's ending.

    Raises:
        OutputError: when it cannot be written, and why.
    """
    output.write(report(document), Path(path))


def report(document: CurveDocument | CodeComparison) -> Report:
    """Return the report of a curve or of a comparison."""
    drawn = plot(document)
    return page_of(drawn.title, "", [drawn])


def plot(document: CurveDocument | CodeComparison) -> Plot:
    """Return the plot of a curve or of a comparison."""
    curves = document.curves if isinstance(document, CodeComparison) else [document]
    series = [
        line
        for index, curve in enumerate(curves)
        for line in _series(curve, document.channel, index)
    ]
    marks: list[Mark] = []
    is_rber = document.x == "rber"
    if isinstance(document, CodeComparison):
        limits = document.limits if is_rber else document.limits_ebn0_db
        shown = set(LIMIT_NAMES) if is_rber else {"1", "unquantised"}
        marks = [
            Mark("x", value, f"limit, {LIMIT_NAMES[name]}")
            for name, value in limits.items()
            if name in shown
        ]
    xs = [value for line in series for value in line.x if value is not None]
    xs += [mark.value for mark in marks]
    if is_rber:
        axis = Axis("raw bit error rate", "log", _ticks(xs))
    else:
        axis = Axis("Eb/N0, dB per information bit")
    title = f"Frame error rate over {document.channel}"
    rate = Axis("frame error rate", "log")
    return Plot("curves", title, axis, rate, tuple(series), marks=tuple(marks))


def _ticks(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """Return ticks inside the values: a curve spans less than a decade more often than not."""
    low, high = min(values, default=1e-3), max(values, default=1e-2)
    steps = (1, 2, 3, 5, 7) if high / low < 8 else (1, 2, 5) if high / low < 100 else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [float(f"{step}e{power}") for power in decades for step in steps]
    return tuple((mark, f"{mark:g}") for mark in marks if low <= mark <= high)


def _series(curve: CurveDocument, channel: str, index: int) -> Iterator[Series]:
    """Yield the line of a curve, then the bounds of points at which no frame failed."""
    kind, _, rest = curve.code.partition(":")
    short = Path(rest).name if kind == "ldpc" else curve.code
    if curve.decoder != "bounded-distance":
        short += f", {curve.decoder}"
    if curve.channel != channel:
        short += f", {curve.channel}"
    known = [point for point in curve.points if point.fer >= FER_SHOWN_MIN]
    x, y = [point.x for point in known], [point.fer for point in known]
    low, high = [point.fer_low for point in known], [point.fer_high for point in known]
    is_exact = low == high
    yield Series(
        short, x, y, colour=index, low=() if is_exact else low, high=() if is_exact else high
    )
    bounds = [point for point in curve.points if point.fer == 0.0 < point.fer_high < 1.0]
    if bounds:
        x, y = [point.x for point in bounds], [point.fer_high for point in bounds]
        yield Series(f"{short}, upper bound", x, y, "bounds", colour=index, legend="")
