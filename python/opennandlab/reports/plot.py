"""The report of one result: its metrics, and its course over time or over the drive's life.

```text
result document ──► report ──► page, PDF or drawings, by the ending of `--plot`
```
It shows nothing that is not in the result file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from opennandlab.base.words import number, size
from opennandlab.documents.record import plain
from opennandlab.documents.result import ResultDocument
from opennandlab.reports import variation
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.metric_rows import block_words, metric_rows
from opennandlab.reports.model import Headline, Report, Section, Table, page_of
from opennandlab.reports.summary import (
    build,
    latency_table,
    namespace_table,
    state_text,
    tenant_table,
    warning_lines,
)

# As HdrHistogram plots percentiles: x = 1/(1-p), so that each further nine has equal width.
PERCENTILES = (
    ("p50", 2.0, "50 %"),
    ("p90", 10.0, "90 %"),
    ("p99", 1e2, "99 %"),
    ("p999", 1e3, "99.9 %"),
    ("p9999", 1e4, "99.99 %"),
    ("p99999", 1e5, "99.999 %"),
)
# (heading, y axis, [(series, name in the legend)]): a plot appears when one of its series does.
AMPLIFICATION = (
    "Write amplification",
    Axis("write amplification (WAF)", least=1.0),
    (("waf", "measured"),),
)
OVER_LIFE = (
    AMPLIFICATION,
    (
        "Raw bit error rate",
        Axis("raw bit error rate (RBER)", "log"),
        (("rber_mean", "mean"), ("rber_max", "most worn block")),
    ),
    (
        "Wear",
        Axis("erases per block", zero=True),
        (
            ("erase_count_max", "maximum"),
            ("erase_count_mean", "mean"),
        ),
    ),
    (
        "Spare area",
        Axis("spare factor", zero=True),
        (("spare_ratio", "spare factor"),),
    ),
    ("Retired blocks", Axis("retired blocks", zero=True), (("retired_blocks", "retired blocks"),)),
)
OVER_TIME = (
    (
        "Throughput",
        Axis("throughput, MB/s", zero=True),
        (("throughput_mb_s", "throughput"),),
    ),
    ("I/O per second", Axis("I/O per second (IOPS)", zero=True), (("iops", "IOPS"),)),
    (
        "Latency over time",
        Axis("latency, µs", "log"),
        (("latency_us_p99", "p99"), ("latency_us_mean", "mean")),
    ),
    AMPLIFICATION,
    ("Free blocks", Axis("free blocks", zero=True), (("free_blocks", "free blocks"),)),
)
# Below so many capacities written, wear and errors hardly move: a timed run shows its time alone.
DRIVE_WRITES_AGED = 2.0


def report(document: ResultDocument) -> Report:
    """Return the report of a result document."""
    name = document.run.device_name or "device"
    title = f"{document.workload.get('name', 'workload')} on {name}"
    made = page_of(title, _lead(document), list(plots(document)), _foot(document))
    chapter = made.chapters[0]
    sections = (*_tables(document), *chapter.sections)
    shown = replace(chapter, headlines=tuple(_headlines(document)), sections=sections)
    warnings = tuple(warning_lines(document.warnings))
    return replace(made, chapters=(shown,), warnings=warnings, kind="result of a run")


def _headlines(document: ResultDocument) -> Iterator[Headline]:
    """Yield the numbers that a result is asked for first."""
    names = {row[0]: row for row in metric_rows(document) if row[1] != "-"}
    wanted = ("WAF", "IOPS", "Throughput", "P99 latency", "Lifetime estimate", "TBW")
    for head in wanted:
        name = next((name for name in names if name.partition(",")[0] == head), None)
        if name is not None:
            _, value, unit = names[name]
            yield Headline(name, value, "" if unit in {"x", "1/s"} else unit)


def plots(document: ResultDocument) -> Iterator[Plot]:
    """Yield the plots that a result has data for."""
    series = columns_of(document)
    for group, axis in _groups(document):
        x = series.get(axis[0])
        if not x:
            continue
        for title, y, members in group:
            lines = tuple(
                Series(name, x, series[key], draw="line")
                for key, name in members
                if _has_values(series.get(key), y) and len(series[key]) == len(x)
            )
            if any(value for line in lines for value in line.y):
                name = title.lower().replace(" ", "-").replace("/", "")
                label = y.label.replace(" blocks", f" {block_words(document)}")
                # A line alone has no legend to say which it is.
                if len(lines) == 1 < len(members) and lines[0].name not in label:
                    label = f"{lines[0].name} {label}"
                lines += tuple(_theory(document, x)) if "waf" in dict(members) else ()
                yield Plot(name, title, Axis(axis[1]), replace(y, label=label), lines)
    tail = _tail(document)
    if tail:
        yield tail


def _theory(document: ResultDocument, x: Sequence[float | None]) -> Iterator[Series]:
    """Yield the steady write amplification of the closed form as a line, if there is one."""
    predicted = document.effective.predicted_waf
    ends = [value for value in x if value is not None]
    if predicted is not None and len(ends) > 1:
        line = [predicted, predicted]
        yield Series("closed form, steady state", [ends[0], ends[-1]], line, "dashed", -1)


def columns_of(document: ResultDocument) -> dict[str, list[float | None]]:
    """Return the columns of the series by name; none when the measured part never began."""
    return {} if document.series is None else plain(document.series)


def _groups(
    document: ResultDocument,
) -> Iterator[tuple[Sequence[tuple[str, Axis, tuple[tuple[str, str], ...]]], tuple[str, str]]]:
    series = columns_of(document)
    timed = _has_values(series.get("iops"), Axis(""))
    ages = ((series.get("drive_writes") or [0.0])[-1] or 0.0) >= DRIVE_WRITES_AGED
    if timed:
        yield (
            tuple(row for row in OVER_TIME if not (ages and row is AMPLIFICATION)),
            ("t_s", "simulated time, s"),
        )
    if ages or not timed:
        yield OVER_LIFE, ("drive_writes", "drive writes (logical capacities written)")


def _has_values(values: Sequence[float | None] | None, axis: Axis) -> bool:
    if not values:
        return False
    seen = [value for value in values if value is not None]
    return any(value > 0 for value in seen) if axis.scale == "log" else bool(seen)


def _tail(document: ResultDocument) -> Plot | None:
    """Return latency over percentiles."""
    lines = []
    latencies = document.metrics and document.metrics.latency_us
    for op in ("read", "write", "trim"):
        row = getattr(latencies, op, None)
        points = [(x, getattr(row, key)) for key, x, _ in PERCENTILES if getattr(row, key, None)]
        if len(points) > 1:
            lines.append(Series(op, [x for x, _ in points], [y for _, y in points]))
    if not lines:
        return None
    ticks = tuple((x, text) for _, x, text in PERCENTILES)
    note = "A percentile is shown only where ten or more samples lie beyond it. " + _loop(document)
    note += variation.note(document.device)
    return Plot(
        "latency-by-percentile",
        "Latency by percentile",
        Axis("percentile", "log", ticks),
        Axis("latency, µs", "log"),
        tuple(lines),
        note,
    )


def _loop(document: ResultDocument) -> str:
    load = document.workload.get("queue_depth")
    if isinstance(load, int):
        return f"Closed loop, {load} outstanding: a slow operation delays the next one's start."
    return "Open loop: operations arrive whether the drive is ready or not."


def _lead(document: ResultDocument) -> str:
    effective = document.effective
    return (
        f"{size(effective.raw_bytes)} raw, {size(effective.logical_bytes)} logical, spare "
        f"factor {number(effective.spare_factor)} (effective "
        f"{number(effective.spare_factor_effective)}); measured from "
        f"{state_text(document.state)}; seed {document.seed}"
    )


def _tables(document: ResultDocument) -> Iterator[Section]:
    """Yield the metrics, and the latencies of operations and of tenants."""
    metrics = [row for row in metric_rows(document) if row[1] != "-"]
    for name, title, (head, rows) in (
        ("metrics", "Metrics", (["metric", "value", "unit"], metrics)),
        ("operations", "Latency", latency_table(document)),
        ("tenants", "Tenants", tenant_table(document)),
        ("namespaces", "Namespaces", namespace_table(document)),
    ):
        if rows:
            table = Table(name, title, tuple(head), tuple(tuple(row) for row in rows))
            yield Section(name, title, (table,))


def _foot(document: ResultDocument) -> str:
    tool = document.tool
    made = build(tool.version or "?", tool.commit or "?", dirty=tool.dirty is True)
    return f"opennandlab {made}, {document.created}, digest {document.digest}"
