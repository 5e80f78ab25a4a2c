"""The report of a job file of fio: latency by percentile, a line for each job and direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.measured.fio.output import SIDES, Reported
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Report, page_of
from opennandlab.reports.plot import PERCENTILES

# Least number of requests beyond a percentile that is shown.
BEYOND_MIN = 10
NOTE = "A percentile is shown only where ten or more requests lie beyond it."


def report(jobs: Sequence[Reported], title: str) -> Report:
    """Return the report of jobs; without a figure if none had enough requests.

    Args:
        jobs: The jobs.
        title: The file, the drive and the seed.
    """
    lines = tuple(line for job in jobs for line in _lines(job))
    ticks = tuple((x, text) for _, x, text in PERCENTILES)
    plot = Plot(
        "latency-by-percentile",
        "Latency by percentile",
        Axis("percentile", "log", ticks),
        Axis("µs", "log"),
        lines,
        NOTE,
    )
    return page_of(title, "Latencies of the requests of each job.", [plot] if lines else [])


def _lines(job: Reported) -> Iterator[Series]:
    used = [side for side in SIDES if job.sides[side].count]
    for side in used:
        times = job.sides[side]
        shown = [x for _, x, _ in PERCENTILES if times.count >= BEYOND_MIN * x]
        name = job.first.job.section.name + (f", {side}" if len(used) > 1 else "")
        if shown:
            values = [times.percentile(100 - 100 / x) * 1e-3 for x in shown]
            yield Series(name, shown, values)
