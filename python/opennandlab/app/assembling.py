"""From what was found to the document: means, percentiles, scores, digest."""

from __future__ import annotations

import math
import platform
import sqlite3
import statistics
from collections.abc import Sequence

from msgspec import structs

from opennandlab import _core
from opennandlab.app import cases
from opennandlab.app.baseline import BASELINE, ITERATION_MS
from opennandlab.app.course import answered, chunks, course, relative
from opennandlab.app.outcome import Outcome, Sample
from opennandlab.app.parts import parts
from opennandlab.app.requests import P99_MIN, Moved, rank
from opennandlab.app.suites import Suite
from opennandlab.base.canonical import digest
from opennandlab.documents.app import (
    APP_SCHEMA,
    AppAccess,
    AppCase,
    AppDocument,
    AppResponse,
    AppRun,
    AppScore,
    AppTime,
)
from opennandlab.documents.record import made, plain


def assemble(  # noqa: PLR0913 (most of them by name)
    outcome: Outcome,
    suite: Suite,
    settings: dict[str, object],
    *,
    target: str,
    wall_s: float,
    created: str = "",
    young: AppDocument | None = None,
) -> AppDocument:
    """Return the document of an outcome.

    Args:
        outcome: What was found.
        suite: The suite that was run.
        settings: `mode`, `seed`, `runs`, `idle_ms`, `delete_pct`, `sizes`, those of files too.
        target: The target as it was given.
        wall_s: Seconds that all took.
        created: When it began, UTC.
        young: The same suite on the same drive, young and clean, to compare with.
    """
    if outcome.sizes:
        settings = {**settings, "sizes": outcome.sizes}
    found = [
        _case(outcome, phase, case, suite) for phase in _phases(suite) for case in suite.counts
    ]
    totals = [sum(one.run_ns for one in run) / 1e6 for run in outcome.samples if run]
    wall_ns = sum(one.run_ns for run in outcome.samples for one in run)
    counted = outcome.counted
    requests = answered(counted) if counted else []
    document = {
        "schema": APP_SCHEMA,
        "suite": suite.name,
        **settings,
        "profile": plain(outcome.profile),
        "cases": [plain(one) for one in found],
        "total_ms": plain(_time(totals)) if totals else None,
        "score": plain(_score(found, suite, totals)),
        "io": [plain(row) for row in counted.table(wall_ns)] if counted else None,
        "requests": plain(counted.summary()) if counted else None,
        "chunks": [plain(one) for one in chunks(requests)] if counted else None,
        "course": plain(over_time) if (over_time := course(requests)) else None,
        "relative": None,
        "state": plain(outcome.state) if outcome.state else None,
        "device": outcome.device,
        "environment": plain(outcome.environment),
        "checks": [plain(one) for one in outcome.checks],
        "drive_ms": plain(drive) if (drive := _drive_time(outcome.samples)) else None,
        "cpu": plain(outcome.cpu) if outcome.cpu else None,
        "passed": all(one.passed for one in outcome.checks) and not outcome.is_partial,
        "partial": outcome.is_partial,
        "run": plain(_run(target, wall_s, created)),
    }
    if rates := list(parts(outcome, suite, settings)):
        document["parts"] = [plain(one) for one in rates]
    # The digest is of what a file holds, in which every number has the type that is declared.
    whole = made({**document, "digest": ""}, AppDocument)
    if young is not None:
        whole = structs.replace(whole, relative=relative(whole, young))
    return structs.replace(whole, digest=digest(plain(whole)))


def _run(target: str, wall_s: float, created: str) -> AppRun:
    return AppRun(
        version=_core.version(),
        kernel=platform.release(),
        sqlite=sqlite3.sqlite_version,
        wall_s=round(wall_s, 3),
        target=target,
        created=created,
    )


def _phases(suite: Suite) -> tuple[str, ...]:
    return ("first", "second") if suite.fill else ("main",)


def _case(outcome: Outcome, phase: str, case: str, suite: Suite) -> AppCase:
    samples = [
        one for run in outcome.samples for one in run if (one.phase, one.case) == (phase, case)
    ]
    if not any(one.responses_ns for one in samples):
        return AppCase(case=case, phase=phase, iterations=0, run_time_ms=None, response_ms=None)
    return AppCase(
        case=case,
        phase=phase,
        iterations=suite.counts[case],
        run_time_ms=_time([one.run_ns / 1e6 for one in samples]),
        response_ms=_response(samples),
        drive_ms=_drive_time([[one] for one in samples]),
        access=_access(samples) if case in cases.DESKTOP else None,
    )


def _access(samples: Sequence[Sample]) -> AppAccess | None:
    """Return rate and access time over the runs; None where nothing was read or written."""
    total = sum((one.moved for one in samples if one.moved), Moved())
    if not (total.operations and total.busy_ns):
        return None
    return AppAccess(
        operations=total.operations / len(samples),
        bytes=total.bytes / len(samples),
        mb_s=total.bytes * 1e3 / total.busy_ns,
        access_us=total.waited_ns / 1e3 / total.operations,
    )


def _drive_time(runs: Sequence[Sequence[Sample]]) -> AppTime | None:
    """Return the time in which the drive had a request, over runs; None live."""
    times = [one.drive_ns for run in runs for one in run]
    if not times or None in times:
        return None
    return _time([sum(one.drive_ns or 0 for one in run) / 1e6 for run in runs if run])


def _time(samples: list[float]) -> AppTime:
    sd = statistics.stdev(samples) if len(samples) > 1 else 0.0
    return AppTime(mean=statistics.fmean(samples), sd=sd, samples=samples)


def _response(samples: Sequence[Sample]) -> AppResponse:
    lists = [[one / 1e6 for one in sample.responses_ns] for sample in samples]
    ordered = sorted(value for values in lists for value in values)
    return AppResponse(
        count=len(ordered),
        min=ordered[0],
        mean=statistics.fmean(ordered),
        p50=rank(ordered, 0.5),
        p99=rank(ordered, 0.99) if len(ordered) >= P99_MIN else None,
        max=ordered[-1],
        samples=lists,
    )


def _score(found: Sequence[AppCase], suite: Suite, totals: list[float]) -> AppScore:
    ratios = [
        ITERATION_MS[one.case] / one.response_ms.mean
        for one in found
        if one.response_ms and one.response_ms.mean and one.case in ITERATION_MS
    ]
    score = 1000 * math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None
    compat = statistics.fmean(totals) / 1000 * len(suite.counts) if totals else None
    return AppScore(score=score, baseline=BASELINE, compat=compat)
