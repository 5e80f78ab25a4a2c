"""Rates of the parts of synthetic cases: phases of a file, ways to write it, statements of SQL."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from opennandlab.app import cases
from opennandlab.app.cases.base import Case
from opennandlab.app.outcome import Outcome
from opennandlab.app.suites import Suite
from opennandlab.documents.app import AppPart, AppTime


def parts(outcome: Outcome, suite: Suite, settings: Mapping[str, object]) -> Iterator[AppPart]:
    """Yield the parts of which every run has all iterations.

    Args:
        outcome: What was found.
        suite: The suite that was run.
        settings: Of the document, with its `sizes`.
    """
    given = settings["sizes"]
    sizes = given if isinstance(given, Mapping) else {}
    for name, count in suite.counts.items():
        case = cases.make(name, 0, sizes)
        runs = [one.responses_ns for run in outcome.samples for one in run if one.case == name]
        if not case.PARTS or not runs or any(len(times) < count for times in runs):
            continue
        for part, title in enumerate(case.PARTS):
            own = [at for at in range(count) if at // case.SLICES % len(case.PARTS) == part]
            if own:
                yield _part(
                    case, title, case.amount(part), [[run[at] for at in own] for run in runs]
                )


def _part(case: Case, title: str, amount: float, runs: list[list[int]]) -> AppPart:
    """Return a part of its times in nanoseconds, a list for each run."""
    took = [sum(times) for times in runs]
    slices = None
    if case.SLICES > 1 and title not in case.SCATTERED:
        # The mean over runs and over repeats of a slice.
        means = [
            statistics.fmean(max(1, ns) for times in runs for ns in times[at :: case.SLICES])
            for at in range(min(case.SLICES, len(runs[0])))
        ]
        slices = [amount * 1e9 / ns for ns in means]
    return AppPart(
        case=case.name,
        part=title,
        unit=case.UNIT,
        run_time_ms=_over_runs([ns / 1e6 for ns in took]),
        rate=_over_runs(
            [amount * len(times) * 1e9 / max(1, ns) for times, ns in zip(runs, took, strict=True)]
        ),
        slices=slices,
    )


def _over_runs(samples: list[float]) -> AppTime:
    sd = statistics.stdev(samples) if len(samples) > 1 else 0.0
    return AppTime(mean=statistics.fmean(samples), sd=sd, samples=samples)
