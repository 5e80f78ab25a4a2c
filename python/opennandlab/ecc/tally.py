"""Counts of simulated frames, and the points of a curve that follow from them.

A point is kept as raw counts; rates and intervals are computed from these whenever a document is
made, so that a curve can be continued from its file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from opennandlab import _core
from opennandlab.errors import ResultError

MONTE_CARLO = "monte_carlo"
IMPORTANCE_SAMPLING = "importance_sampling"
ANALYTIC = "analytic"
# Two-sided 95 % of the normal distribution.
Z95 = 1.959963984540054


@dataclass
class Tally:
    """What became of some frames; tallies add up.

    Args:
        frames: Frames tried.
        frame_errors: Frames with a wrong information bit after decoding.
        undetected: Those among them that the decoder took for right.
        bit_errors: Wrong information bits after decoding.
        failures: Frames that the decoder gave up.
        channel_errors: Wrong hard decisions before decoding, over all sent bits.
        iterations: Of an iterative decoder, over all frames.

    >>> tally = Tally(100, 5) + Tally(100, 3)
    >>> tally.frames, tally.frame_errors
    (200, 8)
    """

    frames: int = 0
    frame_errors: int = 0
    undetected: int = 0
    bit_errors: int = 0
    failures: int = 0
    channel_errors: int = 0
    iterations: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Return the sum."""
        return Tally(*(getattr(self, row.name) + getattr(other, row.name) for row in fields(Tally)))

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return {row.name: getattr(self, row.name) for row in fields(Tally)}

    @classmethod
    def read(cls, counts: object, origin: str) -> Tally:
        """Read counts from a document.

        Raises:
            ResultError: for what is no tally.
        """
        names = [row.name for row in fields(cls)]
        if not isinstance(counts, Mapping) or set(counts) != set(names):
            raise ResultError(f"{origin}: damaged: a tally holds {', '.join(names)}")
        if any(type(value) is not int or value < 0 for value in counts.values()):
            raise ResultError(f"{origin}: damaged: a tally holds whole numbers, none negative")
        tally = cls(**counts)
        if not tally.undetected <= tally.frame_errors <= tally.frames:
            raise ResultError(f"{origin}: damaged: more frame errors than frames")
        return tally


@dataclass
class Point:
    """One point of a curve: raw counts.

    Args:
        x: RBER, or Eb/N0 in dB.
        tally: Plain Monte Carlo.
        strata: Number of wrong hard decisions to the frames with exactly so many.
        exact: FER and BER by formula.
        method: Which of the three is shown.
    """

    x: float
    tally: Tally = field(default_factory=Tally)
    strata: dict[int, Tally] = field(default_factory=dict)
    exact: tuple[float, float] | None = None
    method: str = MONTE_CARLO

    def document(self, code_bits: int, info_bits: int, rber: float) -> dict[str, Any]:
        """Return the point as it is printed and saved.

        Args:
            code_bits: Sent bits of a codeword.
            info_bits: Information bits of a codeword.
            rber: Probability of a wrong hard decision.
        """
        if self.method == ANALYTIC:
            shown = self._analytic()
        elif self.method == IMPORTANCE_SAMPLING:
            shown = self._weighted(code_bits, info_bits, rber)
        else:
            shown = self._counted(code_bits, info_bits)
        shown["tally"] = self.tally.as_dict()
        if self.strata:
            shown["strata"] = {str(w): row.as_dict() for w, row in sorted(self.strata.items())}
        return shown

    def _counted(self, code_bits: int, info_bits: int) -> dict[str, Any]:
        counts = self.tally
        low, high = _core.ecc_interval(counts.frame_errors, counts.frames)
        frames = max(counts.frames, 1)
        return {
            **self._head(counts),
            "fer": counts.frame_errors / frames,
            "fer_low": low,
            "fer_high": high,
            "ber": counts.bit_errors / (frames * info_bits),
            "method": MONTE_CARLO,
            "failures": counts.failures,
            "channel_ber": counts.channel_errors / (frames * code_bits),
            "iterations_mean": counts.iterations / frames,
        }

    def _head(self, counts: Tally) -> dict[str, Any]:
        return {
            "x": self.x,
            "frames": counts.frames,
            "frame_errors": counts.frame_errors,
            "undetected": counts.undetected,
            "bit_errors": counts.bit_errors,
        }

    def _analytic(self) -> dict[str, Any]:
        fer, ber = self.exact or (0.0, 0.0)
        return {
            **self._head(Tally()),
            "fer": fer,
            "fer_low": fer,
            "fer_high": fer,
            "ber": ber,
            "method": ANALYTIC,
        }

    def _weighted(self, code_bits: int, info_bits: int, rber: float) -> dict[str, Any]:
        from opennandlab.ecc.strata import estimate

        total = sum(self.strata.values(), Tally())
        found = estimate(self.strata, code_bits, info_bits, rber)
        frames = max(total.frames, 1)
        return {
            **self._head(total),
            "fer": found.fer,
            "fer_low": found.fer_low,
            "fer_high": found.fer_high,
            "ber": found.ber,
            "method": IMPORTANCE_SAMPLING,
            "relative_error": _finite(found.relative_error),
            "unseen_share": _finite(found.unseen_share),
            "effective_frames": _finite(found.effective_frames),
            "failures": total.failures,
            "iterations_mean": total.iterations / frames,
        }

    @classmethod
    def read(cls, row: object, origin: str) -> Point:
        """Read the counts of a saved point.

        Raises:
            ResultError: for what is no point.
        """
        if not isinstance(row, Mapping) or not isinstance(row.get("x"), int | float):
            raise ResultError(f"{origin}: damaged: a point without `x`")
        point = cls(float(row["x"]))
        origin = f"{origin}, point {point.x:g}"
        point.method = str(row.get("method"))
        if point.method not in {MONTE_CARLO, IMPORTANCE_SAMPLING, ANALYTIC}:
            raise ResultError(f"{origin}: damaged: there is no method `{point.method}`")
        if point.method == ANALYTIC:
            exact = (row.get("fer"), row.get("ber"))
            if not all(isinstance(value, float | int) for value in exact):
                raise ResultError(f"{origin}: damaged: `fer` and `ber` are numbers")
            point.exact = (float(row["fer"]), float(row["ber"]))
        point.tally = Tally.read(row.get("tally"), origin)
        strata = row.get("strata", {})
        if not isinstance(strata, Mapping) or not all(
            isinstance(w, str) and w.isascii() and w.isdigit() for w in strata
        ):
            raise ResultError(f"{origin}: damaged: strata are counts by number of errors")
        point.strata = {int(w): Tally.read(counts, origin) for w, counts in strata.items()}
        return point


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
