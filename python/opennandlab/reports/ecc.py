"""Curves of the ECC lab as a drawing: frame error rate over the channel, limits as upright lines.

One chart from the document of a curve or of a comparison; `.svg` or `.html` by the file's ending.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from opennandlab.errors import OutputError
from opennandlab.files import write_atomically
from opennandlab.reports.chart import Axis, Chart, Line, svg

FORMS = (".svg", ".html")
LIMIT_NAMES = {"1": "1 read", "3": "3 reads", "7": "7 reads", "unquantised": "unquantised"}
FER_SHOWN_MIN = 1e-15


def check_form(path: Path) -> None:
    """Refuse a file whose ending names no form.

    Raises:
        OutputError: with the endings that do.
    """
    if path.suffix.lower() not in FORMS:
        raise OutputError(f"cannot write {path}: accepted endings: {', '.join(FORMS)}")


def write(document: Mapping[str, Any], path: str | Path) -> None:
    """Draw the document of a curve or a comparison into a file.

    Raises:
        OutputError: when it cannot be written, and why.
    """
    path = Path(path)
    check_form(path)
    drawn = svg(chart(document))
    if path.suffix.lower() == ".html":
        title = escape(chart(document).title)
        drawn = (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{title}</title><style>body {{ font: 15px system-ui, sans-serif; "
            "max-width: 62rem; margin: 2rem auto; } svg { width: 100%; }</style></head>"
            f"<body><h1>{title}</h1>{drawn}</body></html>"
        )
    else:
        drawn = drawn.replace("<svg ", '<svg font-family="sans-serif" font-size="12" ', 1)
    write_atomically(path, (drawn + "\n").encode())


def chart(document: Mapping[str, Any]) -> Chart:
    """Return the chart of a curve or of a comparison."""
    curves: Sequence[Mapping[str, Any]] = document.get("curves", [document])
    lines = [_line(curve, str(document["channel"])) for curve in curves]
    seen = [value for line in lines for value in line.y if value is not None and value > 0.0]
    bottom = min(seen, default=1e-3)
    if "limits" in document:
        key = "limits" if document["x"] == "rber" else "limits_ebn0_db"
        shown = {"1", "unquantised"} if document["x"] != "rber" else set(LIMIT_NAMES)
        lines += [
            Line(f"limit, {LIMIT_NAMES[name]}", [value, value], [bottom, 1.0], stroke="dashed")
            for name, value in document[key].items()
            if name in shown
        ]
    x = "raw bit error rate" if document["x"] == "rber" else "Eb/N0, dB per information bit"
    title = f"Frame error rate over {document['channel']}"
    xs = [value for line in lines for value in line.x if value is not None]
    axis = Axis(x, "log", _ticks(xs)) if document["x"] == "rber" else Axis(x)
    rate = Axis("frame error rate", "log")
    return Chart(title, axis, rate, tuple(lines), legend="lower right")


def _ticks(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """Return ticks inside the values: a curve spans less than a decade more often than not."""
    low, high = min(values, default=1e-3), max(values, default=1e-2)
    steps = (1, 2, 3, 5, 7) if high / low < 100 else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [float(f"{step}e{power}") for power in decades for step in steps]
    return tuple((mark, f"{mark:g}") for mark in marks if low <= mark <= high)


def _line(curve: Mapping[str, Any], channel: str) -> Line:
    points = curve["points"]
    name = str(curve["code"])
    kind, _, rest = name.partition(":")
    short = Path(rest).name if kind == "ldpc" else name
    if curve["decoder"] != "bounded-distance":
        short += f", {curve['decoder']}"
    if curve["channel"] != channel:
        short += f", {curve['channel']}"
    values = [point["fer"] if point["fer"] >= FER_SHOWN_MIN else None for point in points]
    return Line(short, [point["x"] for point in points], values, dots=True)
