"""Histograms of response times: counts in logarithmic bins, which add up and give percentiles.

A bin is known by one value in nanoseconds that stands for all its samples; who fills the bins
decides how wide they are (the simulator: 0.1 %, fio: 1.6 %). A percentile is the value of the bin
in which the cumulative count reaches the share, and it is stated only when at least ten samples
lie beyond it: what fewer decide is luck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# Samples that must lie beyond a percentile.
BEYOND_MIN = 10
# The percentiles of every table: name and share.
PERCENTILES = {
    "p50": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p999": 0.999,
    "p9999": 0.9999,
    "p99999": 0.99999,
}


@dataclass(frozen=True)
class Histogram:
    """Samples in bins.

    Args:
        ns: Value of each bin in nanoseconds, ascending, each once.
        counts: Samples of each bin, as many as `ns`.
        sum_ns: Sum of all samples, exact where the source kept it.
        max_ns: The largest sample; 0 without samples.
    """

    ns: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    sum_ns: float
    max_ns: int

    @classmethod
    def empty(cls) -> Histogram:
        """Return a histogram without samples."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, 0.0, 0)

    @classmethod
    def of_bins(
        cls, bins: Iterable[tuple[int, int]], sum_ns: float | None = None, max_ns: int | None = None
    ) -> Histogram:
        """Build one from pairs of value and count, in any order.

        Args:
            bins: Value in nanoseconds and count; equal values are joined, empty bins dropped.
            sum_ns: Exact sum where it is known; else the bins decide.
            max_ns: Exact maximum where it is known; else the last bin.
        """
        pairs = [(int(value), int(count)) for value, count in bins if count > 0]
        if not pairs:
            return cls.empty()
        values = np.array([value for value, _ in pairs], dtype=np.int64)
        weights = np.array([count for _, count in pairs], dtype=np.int64)
        ns, place = np.unique(values, return_inverse=True)
        counts = np.zeros(ns.size, dtype=np.int64)
        np.add.at(counts, place, weights)
        total = float(ns @ counts) if sum_ns is None else float(sum_ns)
        return cls(ns, counts, total, int(ns[-1]) if max_ns is None else int(max_ns))

    @classmethod
    def merged(cls, parts: Iterable[Histogram]) -> Histogram:
        """Return all samples of several histograms together."""
        given = [part for part in parts if part.count]
        if not given:
            return cls.empty()
        ns = np.concatenate([part.ns for part in given])
        counts = np.concatenate([part.counts for part in given])
        joined = cls.of_bins(zip(ns.tolist(), counts.tolist(), strict=True))
        total = math.fsum(part.sum_ns for part in given)
        return cls(joined.ns, joined.counts, total, max(part.max_ns for part in given))

    @property
    def count(self) -> int:
        """Samples in all."""
        return int(self.counts.sum())

    @property
    def mean_ns(self) -> float | None:
        """Mean of all samples; None without any."""
        count = self.count
        return self.sum_ns / count if count else None

    def quantile_ns(self, share: float) -> int | None:
        """Return the value that a share of the samples does not exceed.

        None when fewer than ten samples lie beyond it.
        """
        count = self.count
        # 1 - 0.9 is not exactly 0.1: a hundredth of a sample is not a sample.
        if count * (1.0 - share) < BEYOND_MIN - 0.01:
            return None
        place = int(np.searchsorted(np.cumsum(self.counts), share * count * (1 - 1e-12)))
        return min(int(self.ns[place]), self.max_ns)

    def percentiles_us(self) -> dict[str, float | None]:
        """Return `mean`, the percentiles and `max` in microseconds, None where not measured."""
        mean = self.mean_ns
        named = {name: self.quantile_ns(share) for name, share in PERCENTILES.items()}
        return {
            "mean": None if mean is None else mean * 1e-3,
            **{name: None if ns is None else ns * 1e-3 for name, ns in named.items()},
            "max": self.max_ns * 1e-3 if self.count else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return `{ns, counts, sum_ns, max_ns}`, for JSON."""
        return {
            "ns": self.ns.tolist(),
            "counts": self.counts.tolist(),
            "sum_ns": self.sum_ns,
            "max_ns": self.max_ns,
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Histogram:
        """Read what `to_dict` gave."""
        pairs = zip(document["ns"], document["counts"], strict=True)
        return cls.of_bins(pairs, document["sum_ns"], document["max_ns"])
