"""Speed against time: the stability run in one-second samples, and the consistency variant.

Consistency compares the same hour of random writes with the default spare area and with a quarter
more; what is shown of each is its course, and the figures that the last minutes give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opennandlab.documents import pts
from opennandlab.documents.pts_results import ConsistencyResults, StabilityResults
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Mark, Plot, Scale, Series
from opennandlab.reports.model import Section, Table
from opennandlab.reports.pts import response, surface, tables
from opennandlab.reports.pts.source import Measured

SCALES: tuple[Scale, Scale] = ("linear", "log")
# Bins of the distribution of samples.
BINS = 40


def sections(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the stability run shows."""
    yield from tables.results(measured)
    samples = measured.document.samples.rows if measured.document.samples else []
    if samples:
        yield Section("time", "IOPS against time", tuple(_courses(measured, samples)))
        yield Section("distribution", "Distribution of the samples", tuple(_spread(samples)))
    if measured.histograms:
        shown = tuple(response.items(response.of_test(measured)))
        yield Section("histogram", "Response time histogram", shown)
    yield from surface.preconditioning(measured)


def _courses(measured: Measured, samples: Sequence[pts.Sample]) -> Iterator[Plot]:
    ends = [sample.end_s for sample in samples]
    step = ends[1] - ends[0] if len(ends) > 1 else 0.0
    first = ends[0] - step
    unit, size = words.time_unit(ends[-1] - first)
    x = [(end - first) / size for end in ends]
    found = measured.results
    mean = found.iops_mean if isinstance(found, StabilityResults) else None
    marks: tuple[Mark, ...] = ()
    if mean is not None:
        marks = (Mark("y", mean, f"mean: {words.value(mean)}"),)
        if min(sample.iops or 0.0 for sample in samples) < 0.6 * mean:
            marks += (Mark("y", mean / 2, "half the mean"),)
    note = f"Samples of {words.span(step)}." if step > 0 else ""
    for scale in SCALES:
        yield Plot(
            f"iops-time-{scale}",
            f"IOPS against time, {scale} scale",
            Axis(f"time, {unit}"),
            Axis("IOPS", scale, zero=scale == "linear"),
            (Series("IOPS", x, [sample.iops for sample in samples], draw="line"),),
            note,
            marks,
        )
    lines = [
        Series(name, x, [tables.ms(getattr(sample, key)) for sample in samples], draw="line")
        for name, key in (("mean (ART)", "lat_us_mean"), ("longest (MRT)", "lat_us_max"))
    ]
    yield Plot(
        "response-time", "Response time against time, log scale", Axis(f"time, {unit}"),
        Axis("response time, ms", "log"), tuple(lines), note,
    )  # fmt: skip


def _spread(samples: Sequence[pts.Sample]) -> Iterator[Plot]:
    """Yield how many samples had which IOPS."""
    seen = sorted(sample.iops for sample in samples if sample.iops is not None)
    if len(seen) < BINS or seen[0] == seen[-1]:
        return
    width = (seen[-1] - seen[0]) / BINS
    counts = [0.0] * BINS
    for value in seen:
        counts[min(int((value - seen[0]) / width), BINS - 1)] += 1
    edges = [seen[0] + width * place for place in range(BINS + 1)]
    yield Plot(
        "distribution", "Distribution of the samples", Axis("IOPS of a sample"),
        Axis("samples", zero=True), (Series("samples", edges, [*counts, 0.0], draw="area"),),
    )  # fmt: skip


def consistency(measured: Measured) -> Iterator[Section]:
    """Yield what a report of the consistency variant shows."""
    runs = _runs(measured)
    yield Section("consistency", "Consistency", tuple(_table(measured)))
    plots = tuple(_overlay(runs, scale) for scale in SCALES)
    yield Section("time", "IOPS against time", plots)


# Ends of samples in seconds from the start of a run, and their IOPS.
Course = tuple[list[float], list[float]]


def _runs(measured: Measured) -> dict[str, Course]:
    """Return the samples of each run; in older documents each was a cell."""
    found: dict[str, Course] = {}
    document = measured.document
    starts: dict[str, float] = {}
    for cell in surface.measured_cells(measured):
        first = starts.setdefault(cell.label, cell.start_s)
        if document.samples is None:
            ends, iops = found.setdefault(cell.label, ([], []))
            ends.append(cell.end_s - first)
            iops.append(float(cell.iops))
    for sample in document.samples.rows if document.samples else ():
        label = sample.phase.removeprefix("consistency ")
        if sample.iops is not None and label in starts:
            ends, iops = found.setdefault(label, ([], []))
            ends.append(sample.end_s - starts[label])
            iops.append(float(sample.iops))
    return found


def _overlay(runs: Mapping[str, Course], scale: Scale) -> Plot:
    """Return the runs above one another, each from its own beginning."""
    unit, size = words.time_unit(max((max(ends) for ends, _ in runs.values()), default=1.0))
    series = [
        Series(label, [end / size for end in ends], list(iops), draw="line")
        for label, (ends, iops) in runs.items()
    ]
    return Plot(
        f"iops-time-{scale}",
        f"IOPS against time, {scale} scale",
        Axis(f"time since the writes began, {unit}"),
        Axis("IOPS", scale, zero=scale == "linear"),
        tuple(series),
    )


RUN_COLUMNS = (
    ("samples", "samples"),
    ("mean IOPS", "iops_mean"),
    ("least", "iops_min"),
    ("most", "iops_max"),
    ("least / mean", "min_to_mean"),
    ("below half the mean", "share_below_half"),
    ("CV", "cv"),
    ("mean / deviation", "mean_to_deviation"),
)


def _table(measured: Measured) -> Iterator[Table]:
    found = measured.results
    runs = found.runs if isinstance(found, ConsistencyResults) else []
    rows = tuple((run.label, *(getattr(run, key) for _, key in RUN_COLUMNS)) for run in runs)
    if rows:
        heads = ("run", *(head for head, _ in RUN_COLUMNS))
        yield Table("runs", "The last ninth of each run", heads, rows)
    else:
        yield from tables.of_blocks(measured)
