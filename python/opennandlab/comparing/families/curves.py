"""ECC curves, and those of ECC comparisons: frame error rates at points, and points at rates.

```text
 FER  ┤╲        `fer@0.004`     at a point that was measured: rate and 95 % interval
 1e-3 ┤─╲──     `x@fer=1e-3`    where the curve crosses a rate: between two points, straight on
      ┤  ╲                      logarithmic axes (Eb/N0 is one already), never beyond the last
      └───┴─ x
```
An ECC comparison is a list of curves, so its curves are compared one by one. Another channel, rate
or frame is an objection: codes are comparable where both pay the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.comparing.model import Better, Family, Finding, Number, differing, remarks
from opennandlab.documents.ecc import COMPARISON_SCHEMA, CodeComparison, CurveDocument, CurvePoint
from opennandlab.documents.record import JsonObject, read
from opennandlab.ecc.charts import plot
from opennandlab.ecc.comparing import DIFFERENCE_MAX
from opennandlab.ecc.curves import Curve
from opennandlab.ecc.drawn import of_document
from opennandlab.ecc.reaching import straight
from opennandlab.reports.model import Section

# Frame error rates at which curves are read off.
TARGETS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12, 1e-15)
MAIN_TARGETS = {1e-3, 1e-6, 1e-9, 1e-12, 1e-15}
AXES = {"rber": "RBER", "ebn0_db": "Eb/N0"}
# What is better at a given failure rate: a code that takes more errors, or less energy.
AXIS_BETTER: dict[str, Better] = {"rber": "higher", "ebn0_db": "lower"}


class Curves(Family):
    """Curves of codes over a channel."""

    name = "an ECC curve or comparison of curves"
    kinds = (Curve, CurveDocument, CodeComparison)
    shows_intervals = True

    def opened(self, document: JsonObject, name: str) -> CurveDocument | CodeComparison:
        """Return the record."""
        del name
        if document.get("schema") == COMPARISON_SCHEMA:
            return read(document, CodeComparison)[0]
        return read(document, CurveDocument)[0]

    def parts(
        self, document: Curve | CurveDocument | CodeComparison, name: str
    ) -> Iterator[tuple[str, CurveDocument]]:
        """Yield a curve; of a comparison each, with the name of its code."""
        if isinstance(document, CodeComparison):
            for curve in document.curves:
                yield f"{name}: {code_name(curve)}", curve
        else:
            yield name, document.content if isinstance(document, Curve) else document

    def numbers(self, document: CurveDocument) -> dict[str, Number]:
        """Return rates at the points, points at rates, and the size of the code."""
        axis = AXES.get(document.x, document.x)
        unit = " dB" if document.x == "ebn0_db" else ""
        found: dict[str, Number] = {}
        for rate in TARGETS:
            place = crossing(document.points, rate, document.x)
            label = f"{axis} at FER {rate:.0e}".replace("e-0", "e-")
            number = Number(None, f"{label},{unit}" if unit else label)
            if place is not None:
                number = replace(
                    number, value=place[0], low=place[1], high=place[2],
                    better=AXIS_BETTER.get(document.x), is_main=rate in MAIN_TARGETS,
                )  # fmt: skip
                found[f"{document.x}@fer={rate:.0e}"] = number
        found |= {
            f"fer@{document.x}={point.x:.6g}": Number(
                point.fer,
                f"FER at {axis} {point.x:.6g}{unit}",
                "lower",
                point.fer_low,
                point.fer_high,
                is_main=True,
            )
            for point in document.points
        }
        for point in document.points:
            at = f"{axis} {point.x:.6g}{unit}"
            # Of the bits and iterations of a sample of frames no interval is known.
            better: Better | None = "lower" if point.fer_low == point.fer_high else None
            found[f"ber@{document.x}={point.x:.6g}"] = Number(point.ber, f"BER at {at}", better)
            if point.iterations_mean is not None:
                found[f"iterations@{document.x}={point.x:.6g}"] = Number(
                    point.iterations_mean, f"Iterations at {at}", better
                )
        found["rate"] = Number(float(document.rate), "Rate of the code", is_main=True)
        found["code_bits"] = Number(float(document.code_bits), "Frame, bits", is_main=True)
        return found

    def order(self, paths: Sequence[str]) -> list[str]:
        """Return the paths of each kind by point or rate, as the curves of all files need it."""
        kinds = list(dict.fromkeys(path.partition("=")[0] for path in paths))

        def key(path: str) -> tuple[int, float]:
            kind, _, at = path.partition("=")
            value = float(at or 0.0)
            return kinds.index(kind), -value if kind.endswith("@fer") else value

        return sorted(paths, key=key)

    def objections(self, documents: Sequence[CurveDocument]) -> Iterator[Finding]:
        """Yield other channels, and codes of another rate or frame."""
        channels = [
            {"x": one.x, **{key: it for key, it in one.channel_settings.items() if key != "x"}}
            for one in documents
        ]
        yield from differing("channels", channels, [f"`{one.channel}`" for one in documents])
        yield from differing(
            "rates", [float(one.rate) for one in documents],
            [f"{one.rate:.4g}" for one in documents],
            "codes are compared where they pay the same (accepted: within 1 %)", same=_close,
        )  # fmt: skip
        yield from differing(
            "frames", [float(one.code_bits) for one in documents],
            [f"{one.code_bits} bits" for one in documents],
            "longer frames are better at any rate (accepted: within 1 %)", same=_close,
        )  # fmt: skip

    def doubts(self, documents: Sequence[CurveDocument]) -> Iterator[Finding]:
        """Yield reasons why rates are less certain."""
        partial = [bool(one.partial) for one in documents]
        yield from remarks("{}: partial, the run was interrupted", partial)
        words = [one.codewords for one in documents]
        yield from differing("codewords", words, [f"`{one}`" for one in words])
        points = [{point.x for point in one.points} for one in documents]
        shared = set.intersection(*points)
        if not shared:
            yield from remarks(
                "{}: no point of the channel is in all curves; rates are beside each other only "
                "where curves cross a failure rate",
                [True] * len(documents),
            )

    def sections(
        self, documents: Sequence[CurveDocument], names: Sequence[str]
    ) -> tuple[Section, ...]:
        """Return the curves in one plot; those over another axis in one of their own."""
        drawn = [
            replace(of_document(one), name=name) for one, name in zip(documents, names, strict=True)
        ]
        items = []
        for axis in dict.fromkeys(one.x for one in drawn):
            # Without a rate above 0 there is nothing to draw.
            with contextlib.suppress(ConfigError):
                found = plot([one for one in drawn if one.x == axis])
                items.append(replace(found, id=f"curves-{axis}"))
        return (Section("curves", "Curves", tuple(items)),) if items else ()


FAMILY = Curves()


def code_name(curve: CurveDocument) -> str:
    """Return what a curve is called among others of its file."""
    kind, _, rest = curve.code.partition(":")
    short = Path(rest).name if kind == "ldpc" else curve.code
    return short if curve.decoder == "bounded-distance" else f"{short}, {curve.decoder}"


def crossing(
    points: Sequence[CurvePoint], rate: float, axis: str
) -> tuple[float, float | None, float | None] | None:
    """Return where a curve crosses a failure rate, with the ends of its 95 % interval.

    The ends are where the curves of the interval cross; None where that is beyond the points.
    """
    place = straight([(point.x, point.fer) for point in points], rate, axis)
    if place is None:
        return None
    ends = [
        straight([(point.x, one) for point, one in zip(points, rates, strict=True)], rate, axis)
        for rates in ([p.fer_low for p in points], [p.fer_high for p in points])
    ]
    known = [one for one in ends if one is not None]
    low = min(place, *known) if len(known) == 2 else None
    high = max(place, *known) if len(known) == 2 else None
    if low is None and any(p.fer_low != p.fer_high for p in points):
        # One end is not known: as far as the points reach.
        low, high = points[0].x, points[-1].x
    return place, low, high


def _close(one: float, other: float) -> bool:
    return abs(other / one - 1.0) <= DIFFERENCE_MAX
