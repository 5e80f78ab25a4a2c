"""Runs cases on threads and yields each row as soon as its last simulation is done.

A simulation that several cases read, such as the percentiles of one run, is done once per seed. The
core releases the interpreter lock, so threads use all cores. What the runner does not do: print.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from opennandlab.base.campaign import Ended, Pool, Task, Watcher
from opennandlab.base.threads import cores
from opennandlab.studies.validation.case import Case, Document, Row, Run, Simulate

KEPT_SERIES = ("t_s", "drive_writes", "throughput_mb_s", "waf")


@dataclass
class _Pending:
    """A case whose simulations run."""

    case: Case
    missing: set[str]
    results: dict[str, Document] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    wall_s: float = 0.0

    def row(self) -> Row:
        if self.problems:
            return self.case.failed("; ".join(sorted(set(self.problems))), self.wall_s)
        documents = [
            [self.results[run.key(seed)] for run in self.case.runs] for seed in self.case.seeds
        ]
        return self.case.row(documents, self.wall_s)


def run_cases(
    cases: Sequence[Case], simulate: Simulate, threads: int | None = None
) -> Iterator[Row]:
    """Run cases and yield their rows in the order in which they finish.

    Args:
        cases: the cases; none may lack runs.
        simulate: runs one device, workload and seed, and returns the result document. It is called
            from several threads. An exception fails the cases that need the run, not the others.
        threads: simulations at a time; None for one per core.

    Yields:
        One row per case.

    Raises:
        ValueError: when two cases of a suite share a name.

    Example:
        >>> from opennandlab.studies.validation import Log, formula_case
        >>> case = formula_case(Log.with_spare(1024, 64, 0.2), "fifo")
        >>> def simulate(device, workload, seed):
        ...     return {"metrics": {"waf": 2.70}}
        >>> [row.verdict.value for row in run_cases([case], simulate)]
        ['passed']
    """
    _refuse_twins(cases)
    pending = {
        (case.suite, case.name): _Pending(
            case, {run.key(seed) for run in case.runs for seed in case.seeds}
        )
        for case in cases
    }
    waiting: dict[str, list[_Pending]] = defaultdict(list)
    tasks: dict[str, tuple[Run, int]] = {}
    for entry in pending.values():
        for run in entry.case.runs:
            for seed in entry.case.seeds:
                tasks[run.key(seed)] = (run, seed)
        for key in entry.missing:
            waiting[key].append(entry)
    pool: Pool[str, tuple[Document, float]] = Pool(threads or cores())
    try:
        for key, (run, seed) in tasks.items():
            pool.submit(Task(key, partial(_timed, simulate, run, seed)))
        while waiting:
            for ended in pool.wait():
                for entry in waiting.pop(ended.key):
                    _deliver(entry, ended)
                    if not entry.missing:
                        yield entry.row()
    finally:
        # Also on Ctrl-C and when the caller stops listening; `simulate` may not listen either.
        pool.stop()


def run_count(cases: Sequence[Case]) -> int:
    """Return how many simulations a list of cases needs, shared ones counted once.

    Returns:
        The number of simulations.

    Example:
        >>> from opennandlab.studies.validation import Effort, SUITES
        >>> cases = SUITES["timing"](Effort.QUICK)
        >>> run_count(cases) < len(cases)
        True
    """
    return len({run.key(seed) for case in cases for run in case.runs for seed in case.seeds})


def _timed(simulate: Simulate, run: Run, seed: int, _: Watcher) -> tuple[Document, float]:
    began = time.perf_counter()
    document = simulate(run.device, run.workload, seed)
    kept = dict(document)
    # Series are long, and of most no case reads anything.
    if "series" in kept:
        kept["series"] = {key: kept["series"].get(key) for key in KEPT_SERIES}
    return kept, time.perf_counter() - began


def _deliver(entry: _Pending, ended: Ended[str, tuple[Document, float]]) -> None:
    entry.missing.discard(ended.key)
    try:
        entry.results[ended.key], wall_s = ended.result()
    except Exception as error:  # noqa: BLE001 (a bad case must not end the others)
        entry.problems.append(f"{type(error).__name__}: {error}")
    else:
        entry.wall_s += wall_s


def _refuse_twins(cases: Sequence[Case]) -> None:
    seen: set[tuple[str, str]] = set()
    for case in cases:
        if (case.suite, case.name) in seen:
            message = f"two cases of suite {case.suite} are called {case.name}"
            raise ValueError(message)
        if not case.runs:
            message = f"case {case.name} of suite {case.suite} has no runs"
            raise ValueError(message)
        seen.add((case.suite, case.name))
