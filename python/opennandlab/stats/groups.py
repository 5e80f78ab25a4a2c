"""Runs that differ in nothing but their seed, as one: means with intervals.

A mean of few runs has the interval of Student's distribution. Runs that failed have no numbers;
they are counted, and what they said is kept.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from opennandlab.stats.student import half_width

Scalar = str | int | float | bool | None


class Outcome(Protocol):
    """A run, as far as it is grouped."""

    @property
    def coordinates(self) -> Mapping[str, Scalar]:
        """What was varied."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """Its numbers by name."""

    @property
    def error(self) -> str | None:
        """Why it failed; None where it did not."""


@dataclass(frozen=True)
class Mean:
    """A mean over seeds.

    Args:
        mean: The mean.
        half: Half the width of its 95 % interval; None for a single value.
        count: How many values.
    """

    mean: float
    half: float | None
    count: int

    @property
    def low(self) -> float:
        """Lower end of the interval; the mean itself for a single value."""
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + (self.half or 0.0)

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Return the mean of one value or more.

        >>> Mean.of([2.0, 2.0]).half
        0.0
        """
        return cls(statistics.fmean(values), half_width(values), len(values))


@dataclass(frozen=True)
class Group:
    """All runs of one combination.

    Args:
        coordinates: What was varied.
        count: Runs that are done.
        failed: Runs that failed.
        problem: What the first of them said.
        means: Number by name; of those that every done run has.
    """

    coordinates: Mapping[str, Scalar]
    count: int
    failed: int
    problem: str | None
    means: Mapping[str, Mean]


def grouped(outcomes: Iterable[Outcome], names: Sequence[str] | None = None) -> list[Group]:
    """Put runs together by their coordinates, in the order in which these first come.

    Args:
        outcomes: The runs.
        names: Numbers that are wanted; None for all.
    """
    found: dict[tuple[tuple[str, Scalar], ...], list[Outcome]] = {}
    for outcome in outcomes:
        key = tuple((name, kept_apart(value)) for name, value in outcome.coordinates.items())
        found.setdefault(key, []).append(outcome)
    return [_group(runs[0].coordinates, runs, names) for runs in found.values()]


def kept_apart(value: Scalar) -> Scalar:
    """Return a value that is equal to no other kind: 1 and True are one key of a mapping.

    >>> kept_apart(True), kept_apart(1)
    ('true', 1)
    """
    return str(value).lower() if isinstance(value, bool) else value


def _group(
    coordinates: Mapping[str, Scalar], runs: Sequence[Outcome], names: Sequence[str] | None
) -> Group:
    done = [run.metrics for run in runs if run.error is None]
    problems = [run.error for run in runs if run.error is not None]
    wanted = (names if names is not None else list(done[0])) if done else []
    values = {
        name: Mean.of([metrics[name] for metrics in done])
        for name in wanted
        if all(name in metrics for metrics in done)
    }
    problem = problems[0] if problems else None
    return Group(coordinates, len(done), len(problems), problem, values)
