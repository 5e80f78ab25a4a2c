"""A point of a curve: raw counts, and the rates and intervals that follow from them.

Rates are computed from the counts whenever a document is made, so that a curve can be continued
from its file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal

from msgspec import structs

from opennandlab import _core
from opennandlab.documents.ecc import CurvePoint
from opennandlab.ecc.strata import estimate
from opennandlab.ecc.tally import Tally

Method = Literal["monte_carlo", "importance_sampling", "analytic"]
MONTE_CARLO: Final = "monte_carlo"
IMPORTANCE_SAMPLING: Final = "importance_sampling"
ANALYTIC: Final = "analytic"


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
    method: Method = MONTE_CARLO

    def record(self, code_bits: int, info_bits: int, rber: float) -> CurvePoint:
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
        strata = {str(w): row.counts() for w, row in sorted(self.strata.items())}
        return structs.replace(shown, strata=strata or None)

    def _counted(self, code_bits: int, info_bits: int) -> CurvePoint:
        counts = self.tally
        low, high = _core.ecc_interval(counts.frame_errors, counts.frames)
        frames = max(counts.frames, 1)
        return CurvePoint(
            x=self.x,
            frames=counts.frames,
            frame_errors=counts.frame_errors,
            undetected=counts.undetected,
            bit_errors=counts.bit_errors,
            fer=counts.frame_errors / frames,
            fer_low=low,
            fer_high=high,
            ber=counts.bit_errors / (frames * info_bits),
            method=MONTE_CARLO,
            failures=counts.failures,
            channel_ber=counts.channel_errors / (frames * code_bits),
            iterations_mean=counts.iterations / frames,
            tally=counts.counts(),
        )

    def _analytic(self) -> CurvePoint:
        fer, ber = self.exact or (0.0, 0.0)
        return CurvePoint(
            x=self.x,
            frames=0,
            frame_errors=0,
            undetected=0,
            bit_errors=0,
            fer=fer,
            fer_low=fer,
            fer_high=fer,
            ber=ber,
            method=ANALYTIC,
            tally=self.tally.counts(),
        )

    def _weighted(self, code_bits: int, info_bits: int, rber: float) -> CurvePoint:
        total = sum(self.strata.values(), Tally())
        found = estimate(self.strata, code_bits, info_bits, rber)
        frames = max(total.frames, 1)
        return CurvePoint(
            x=self.x,
            frames=total.frames,
            frame_errors=total.frame_errors,
            undetected=total.undetected,
            bit_errors=total.bit_errors,
            fer=found.fer,
            fer_low=found.fer_low,
            fer_high=found.fer_high,
            ber=found.ber,
            method=IMPORTANCE_SAMPLING,
            relative_error=_finite(found.relative_error),
            unseen_share=_finite(found.unseen_share),
            effective_frames=_finite(found.effective_frames),
            failures=total.failures,
            iterations_mean=total.iterations / frames,
            tally=self.tally.counts(),
        )

    @classmethod
    def of(cls, row: CurvePoint, origin: str) -> Point:
        """Return the counts of a saved point.

        Raises:
            ResultError: for counts that are invalid.
        """
        origin = f"{origin}, point {row.x:g}"
        return cls(
            x=row.x,
            tally=Tally.of(row.tally, origin),
            strata={int(w): Tally.of(counts, origin) for w, counts in (row.strata or {}).items()},
            exact=(row.fer, row.ber) if row.method == ANALYTIC else None,
            method=row.method,
        )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
