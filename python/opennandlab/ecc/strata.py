"""Importance sampling by strata: frame error rates too small to be met by chance.

Wrong hard decisions of a codeword are binomial, so

    FER = sum over w of P(w) FER(w),    P(w) = C(n, w) p^w (1 - p)^(n - w),

and `FER(w)`, the share of frames lost with exactly `w` wrong decisions, is large where `P(w)` is
small: it is measured there, by plain counting, and weighted. That is exact and without bias for
every channel whose cells are independent and whose two bits are alike; the soft information of each
cell is drawn given that its hard decision is wrong, or right.

Frames go where they lessen the variance most. Which strata that are is decided from whole rounds
of counts alone, so the result is the same at any number of threads, and a run can be continued.

What counting cannot show is stated: strata in which no error was seen contribute nothing to the
estimate. How much they might add is extrapolated by a power of w through the lowest strata with
errors (a decoder that fails on patterns of s errors has FER(w) ~ w^s); it is `unseen_share`, and it
widens the interval upwards. An error floor that begins below every stratum that was tried stays
invisible, as to every method that does not know where to look.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass

from opennandlab import _core
from opennandlab.ecc.tally import Z95, Tally

# Chunks of a round: what is decided without looking again.
ROUND_CHUNKS = 16
# Errors that make the rate of a stratum known well enough to lean on.
KNOWN_ERRORS = 5
# Rates up to which strata are fitted, the first with errors enough, and how many those are.
FIT_LIMITS = (0.02, 0.1, 0.4)
FIT_ERRORS = 20
# Slopes of the fit: every code corrects an error, and no measured one is steeper.
POWER_MIN, POWER_MAX = 2.0, 400.0
# A stratum that adds less than this share of the rate is left alone.
NEGLIGIBLE_SHARE = 1e-3
# Strata never tried make the rate too small: by at most this part of the wanted standard error.
UNTRIED_RATIO_MAX = 0.2


@dataclass(frozen=True)
class Estimate:
    """A weighted frame error rate, with what is known of its error.

    Args:
        fer: Sum of weighted rates.
        fer_low: Lower end of the 95 % interval.
        fer_high: Upper end; with what unseen strata may add.
        ber: Weighted rate of wrong information bits.
        relative_error: Standard deviation over FER.
        unseen_share: What strata without errors may add, extrapolated, over FER.
        untried_share: The part of that which no frame was spent on.
        effective_frames: Frames of plain Monte Carlo of the same variance.
    """

    fer: float
    fer_low: float
    fer_high: float
    ber: float
    relative_error: float
    unseen_share: float
    untried_share: float
    effective_frames: float


def estimate(strata: Mapping[int, Tally], code_bits: int, info_bits: int, rber: float) -> Estimate:
    """Weigh the counts of strata.

    Args:
        strata: Number of wrong hard decisions to the counts of frames with so many.
        code_bits: Sent bits, n.
        info_bits: Information bits.
        rber: Probability of a wrong hard decision, p.

    Returns:
        The estimate.

    >>> strata = {3: Tally(1000, 0), 4: Tally(1000, 100), 5: Tally(1000, 500)}
    >>> round(estimate(strata, 10, 5, 0.01).relative_error, 3)
    0.09
    """
    weights = _core.ecc_weights(code_bits, 0, code_bits + 1, rber)
    model = _Model.through(strata)
    rates: list[float] = []
    bits: list[float] = []
    variances: list[float] = []
    unseen: list[float] = []
    untried: list[float] = []
    for w, weight in enumerate(weights):
        counts = strata.get(w)
        if counts is None or counts.frame_errors == 0:
            kind = untried if counts is None else unseen
            kind.append(weight * model.missing(counts, w))
            continue
        rate = counts.frame_errors / counts.frames
        rates.append(weight * rate)
        bits.append(weight * counts.bit_errors / (counts.frames * info_bits))
        # One error more and one success more: a stratum that always fails is not known exactly.
        smooth = (counts.frame_errors + 1) / (counts.frames + 2)
        variances.append(weight**2 * smooth * (1.0 - smooth) / counts.frames)
    fer, variance, more = math.fsum(rates), math.fsum(variances), math.fsum(unseen + untried)
    if fer <= 0.0:
        frames = sum(counts.frames for counts in strata.values())
        high = min(1.0, max(more, _core.ecc_interval(0, frames)[1]))
        return Estimate(0.0, 0.0, high, 0.0, math.inf, math.inf, math.inf, 0.0)
    relative = math.sqrt(variance) / fer
    # The logarithm is nearer to normal than the rate is, and stays positive.
    spread = math.exp(Z95 * math.sqrt(math.log1p(relative**2)))
    return Estimate(
        fer=fer,
        fer_low=fer / spread,
        fer_high=min(1.0, fer * spread + more),
        ber=math.fsum(bits),
        relative_error=relative,
        unseen_share=more / fer,
        untried_share=math.fsum(untried) / fer,
        effective_frames=fer * (1.0 - fer) / variance if variance > 0.0 else math.inf,
    )


@dataclass(frozen=True)
class _Model:
    """Rate of a stratum by a power of w, `exp(level + power ln(w / w0))`.

    Between strata that were tried it is at least what is between their rates, in logarithms: a
    step that the power does not know must not be stepped over.
    """

    level: float
    power: float
    origin: float
    tried: tuple[tuple[int, float], ...] = ()

    def rate(self, w: int) -> float:
        if w == 0:
            return 0.0
        fitted = math.exp(min(0.0, self.level + self.power * (math.log(w) - self.origin)))
        place = bisect.bisect_left(self.tried, (w, -math.inf))
        if 0 < place < len(self.tried) and self.tried[place][0] != w:
            (low, below), (high, above) = self.tried[place - 1], self.tried[place]
            fitted = max(fitted, math.exp(below + (above - below) * (w - low) / (high - low)))
        return fitted

    def missing(self, counts: Tally | None, w: int) -> float:
        """Return the rate of a stratum that showed no error in the frames tried."""
        rate = self.rate(w)
        return rate / (1.0 + rate * counts.frames) if counts else rate

    @classmethod
    def through(cls, strata: Mapping[int, Tally]) -> _Model:
        """Fit the low strata, those without errors too: Poisson regression on ln w."""
        tried = [(w, counts) for w, counts in sorted(strata.items()) if w > 0 and counts.frames]
        if not any(counts.frame_errors for _, counts in tried):
            # Nothing known: as if the next frame of the highest stratum were lost.
            frames = tried[-1][1].frames if tried else 0
            return cls(-math.log(frames + 1.0), 0.0, 0.0)
        known = tuple(
            (w, math.log((counts.frame_errors + 0.5) / (counts.frames + 1.0)))
            for w, counts in tried
        )
        rows: list[tuple[float, int, int]] = []
        # Where many words are lost the curve bends, and what matters is below: as low as there are
        # errors enough to tell a slope.
        for limit in FIT_LIMITS:
            top = next(
                (w for w, counts in tried if counts.frame_errors > limit * counts.frames + 3.0),
                math.inf,
            )
            rows = [
                (math.log(w), counts.frames, counts.frame_errors) for w, counts in tried if w <= top
            ]
            if sum(errors for _, _, errors in rows) >= FIT_ERRORS:
                break
        return cls(*_regressed(rows), known)


def _regressed(rows: list[tuple[float, int, int]]) -> tuple[float, float, float]:
    """Fit errors by a power of w: rows of ln w, frames and errors; level, power and origin."""
    origin = rows[-1][0]
    total = sum(frames for _, frames, _ in rows)
    level = math.log(max(sum(errors for _, _, errors in rows), 1) / total)
    power = POWER_MIN
    for _ in range(60):
        means = [frames * math.exp(min(0.0, level + power * (x - origin))) for x, frames, _ in rows]
        rests = [errors - mean for (_, _, errors), mean in zip(rows, means, strict=True)]
        xs = [x - origin for x, _, _ in rows]
        score = math.fsum(rests)
        tilt = math.fsum(rest * x for rest, x in zip(rests, xs, strict=True))
        s0 = math.fsum(means)
        s1 = math.fsum(mean * x for mean, x in zip(means, xs, strict=True))
        s2 = math.fsum(mean * x * x for mean, x in zip(means, xs, strict=True))
        # A touch of ridge: with errors in one stratum alone the slope has no end.
        s2 += 1e-4
        determinant = s0 * s2 - s1 * s1
        if determinant <= 0.0:
            break
        up = (s2 * score - s1 * tilt) / determinant
        turn = (s0 * tilt - s1 * score) / determinant
        level = min(0.0, level + max(-2.0, min(2.0, up)))
        power = max(POWER_MIN, min(POWER_MAX, power + max(-20.0, min(20.0, turn))))
        if abs(up) < 1e-6 and abs(turn) < 1e-4:
            break
    return level, power, origin


def next_round(
    strata: Mapping[int, Tally], code_bits: int, rber: float, chunk_frames: int
) -> list[int]:
    """Choose the strata of the next round of chunks, one number of errors per chunk.

    Args:
        strata: Counts so far, of whole rounds.
        code_bits: Sent bits.
        rber: Probability of a wrong hard decision.
        chunk_frames: Frames of a chunk.

    Returns:
        Numbers of wrong hard decisions, some of them several times.
    """
    mean = code_bits * rber
    step = max(1, round(0.5 * math.sqrt(mean * (1.0 - rber))))
    start = max(1, math.ceil(mean))
    if not any(counts.frame_errors >= KNOWN_ERRORS for counts in strata.values()):
        # Climb until words are lost: from the mean upwards in growing steps.
        highest = max(strata, default=start - step)
        rungs = [highest + step * (2**rung - 1) for rung in range(1, 5)]
        climb = [w for w in rungs if w <= code_bits]
        if climb:
            return climb
    model = _Model.through(strata)
    weights = _core.ecc_weights(code_bits, 0, code_bits + 1, rber)
    worth: dict[int, tuple[float, int]] = {}
    shares = [weight * _rate(strata.get(w), model, w) for w, weight in enumerate(weights)]
    floor = NEGLIGIBLE_SHARE * max(shares)
    for w, weight in enumerate(weights):
        if shares[w] > floor:
            rate = _rate(strata.get(w), model, w)
            counts = strata.get(w)
            worth[w] = (
                weight**2 * max(rate * (1.0 - rate), 1e-6 * rate),
                counts.frames if counts else 0,
            )
    # A stratum that nobody looked at is worth a look before another is known better.
    untried = [w for w in worth if w not in strata]
    chosen = sorted(untried, key=lambda w: (-shares[w], w))[:ROUND_CHUNKS]
    for w in chosen:
        worth[w] = (worth[w][0], chunk_frames)
    for _ in range(ROUND_CHUNKS - len(chosen)):
        # The chunk that lessens the variance most; one frame stands for none.
        best = max(worth, key=lambda w: (_gain(*worth[w], chunk_frames), -w))
        chosen.append(best)
        variance, frames = worth[best]
        worth[best] = (variance, frames + chunk_frames)
    return chosen


def _gain(variance: float, frames: int, chunk_frames: int) -> float:
    before = max(frames, 1)
    return variance * chunk_frames / (before * (before + chunk_frames))


def _rate(counts: Tally | None, model: _Model, w: int) -> float:
    if counts is not None and counts.frame_errors >= KNOWN_ERRORS:
        return counts.frame_errors / counts.frames
    if counts is None:
        return model.rate(w)
    # Few errors: counted and expected ones together, the model being worth one error.
    expected = max(model.rate(w), 1e-300)
    return (counts.frame_errors + 1.0) / (counts.frames + 1.0 / expected)


def is_enough(found: Estimate, errors: int) -> bool:
    """Return whether an estimate is as good as that of plain Monte Carlo with so many errors."""
    wanted = 1.0 / math.sqrt(errors)
    return (
        found.relative_error <= wanted
        and found.unseen_share <= 2.0 * wanted
        and found.untried_share <= UNTRIED_RATIO_MAX * wanted
    )
