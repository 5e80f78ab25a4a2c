"""Tables of a result as text, and facts about it in words: for terminal, notebooks and reports.

Metrics are in `metric_rows`, the parts of latencies in `time_parts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from opennandlab.base.words import NOTHING, number, size
from opennandlab.documents.metrics import Latency, TraceVolume
from opennandlab.documents.placement import Fdp
from opennandlab.documents.record import plain
from opennandlab.documents.result import Origin, ResultDocument, State
from opennandlab.reports.metric_rows import is_hardly_worn

LATENCY_COLUMNS = (
    ("count", "ops"),
    ("mean", "mean"),
    ("p50", "p50"),
    ("p90", "p90"),
    ("p99", "p99"),
    ("p999", "p99.9"),
    ("p9999", "p99.99"),
    ("max", "max"),
)
OPERATIONS = ("read", "write", "trim", "flush", "all")
# Counters of the controller: words, and unit.
ACTIVITIES = {
    "multi_plane_ops": ("multi-plane operations", "operations"),
    "suspensions": ("suspensions", "programs and erases"),
    "memory_reads": ("reads served from memory", "pages"),
    "copybacks": ("copybacks", "pages"),
    "retry_steps": ("read retries", "senses"),
}
ZONE_ROWS_MAX = 24
# Warnings of which one line is shown for all operations, and words of several for one.
THIN_TAIL = re.compile(
    r"(?P<op>\w+) latency: (?P<count>\d+) samples? (is|are) too few for p99.9(?P<why>.*)"
)
# Warnings in the same words about as many things are one line.
ALIKE_MIN = 3
PLURAL_OF_ONE = re.compile(r"\b1 (flush command|write|read|request|page|block)s\b")


class TextTable(NamedTuple):
    """A table of text; without rows it is not shown.

    Args:
        head: Heads of the columns.
        rows: Cells of each row, as many as heads.
    """

    head: list[str]
    rows: list[list[str]]


def footnotes(document: ResultDocument) -> list[str]:
    """Return the assumptions behind numbers of the table, one sentence each."""
    metrics = document.metrics
    if metrics is None or metrics.lifetime_days is None or is_hardly_worn(metrics):
        return []
    lifetime = (
        "Lifetime: maximum P/E cycles x blocks / erases per day at the measured rate, "
        "x mean / maximum wear."
    )
    return [lifetime]


def warning_lines(warnings: Iterable[str]) -> list[str]:
    """Return the warnings of a result as they are shown; the document keeps them as they are.

    >>> thin = "{} latency: {} too few for p99.9 (ten …)"
    >>> warning_lines([thin.format("read", "1 sample is"), thin.format("trim", "2 samples are")])
    ['latency of 1 read, 2 trim: too few samples for p99.9 (ten …)']
    >>> warning_lines(["1 flush commands had no effect: …", "21 writes …"])
    ['1 flush command had no effect: …', '21 writes …']
    """
    shown = [PLURAL_OF_ONE.sub(r"1 \1", text) for text in warnings]
    thin = [found for text in shown if (found := THIN_TAIL.match(text))]
    if len(thin) < 2:
        return shown
    counts = ", ".join(f"{one['count']} {one['op']}" for one in thin)
    merged = f"latency of {counts}: too few samples for p99.9{thin[0]['why']}"
    return [*(text for text in shown if not THIN_TAIL.match(text)), merged]


def gathered(warnings: Iterable[str]) -> list[str]:
    """Return warnings in which those in the same words about three things or more are one.

    >>> gathered(["a: not steady", "1 cell …", "b: not steady", "c: not steady"])
    ['not steady: a, b, c', '1 cell …']
    """
    alike: dict[str, list[str]] = {}
    for text in warnings:
        alike.setdefault(text.partition(": ")[2] or text, []).append(text)
    lines: list[str] = []
    for what, texts in alike.items():
        names = ", ".join(text.partition(": ")[0] for text in texts)
        is_one = len(texts) >= ALIKE_MIN and texts[0] != what
        lines += [f"{what}: {names}"] if is_one else texts
    return lines


def latency_table(document: ResultDocument) -> TextTable:
    """Return the latencies by operation, in µs; no rows for an untimed run."""
    latencies = document.metrics and document.metrics.latency_us
    shown: dict[str, Latency] = {}
    if latencies:
        found = latencies.by_operation()
        lost = document.metrics and document.metrics.lost_reads
        apart = lost.latency_us if lost else None
        for op in (op for op in OPERATIONS if op in found):
            shown[op] = found[op]
            if op == "read" and apart:
                parts = {"read, served": apart.served, "read, lost": apart.lost}
                shown |= {name: row for name, row in parts.items() if row}
        if len(shown) > 1:
            shown["all"] = latencies.all
    rows = [
        [op, *(number(getattr(row, key)) for key, _ in LATENCY_COLUMNS)]
        for op, row in shown.items()
        if row.count
    ]
    return TextTable(["latency, µs", *(label for _, label in LATENCY_COLUMNS)], rows)


def collection_table(document: ResultDocument) -> TextTable:
    """Return the latencies of commands with and without a collection in their way, in µs.

    No rows if the run was not observed, or no command had one.
    """
    apart = document.metrics and document.metrics.latency_by_collection
    head = ["collection, µs", *(label for _, label in LATENCY_COLUMNS)]
    if not apart or apart.met is None:
        return TextTable(head, [])
    rows = []
    for words, latencies in (("met", apart.met), ("not met", apart.not_met)):
        found = latencies.by_operation() if latencies else {}
        for op, row in found.items():
            figures = (number(getattr(row, key)) for key, _ in LATENCY_COLUMNS)
            rows.append([f"{op}, {words}", *figures])
    return TextTable(head, rows)


def _got(host: TraceVolume) -> list[str]:
    """Return the rates and latencies of a tenant or a volume."""
    latency = host.latency_us.all
    figures = (host.iops.total, host.throughput_mb_s.total)
    return [number(one) for one in (*figures, latency.mean, latency.p99, latency.p999)]


def tenant_table(document: ResultDocument) -> TextTable:
    """Return rates and latencies of each tenant; no rows for a drive of one host."""
    head = ["tenant", "weight", "priority", "IOPS", "MB/s", "mean, µs", "p99, µs", "p99.9, µs"]
    rows = []
    for tenant in (document.metrics and document.metrics.tenants) or ():
        rows.append([tenant.name, str(tenant.weight), tenant.priority, *_got(tenant)])
        rows += [[f"  {one.name}", "", "", *_got(one)] for one in tenant.volumes or ()]
    return TextTable(head, rows)


def namespace_table(document: ResultDocument) -> TextTable:
    """Return the dies and the WAF of each namespace; no rows for a drive without."""
    head = ["namespace", "pages", "dies", "effective spare", "host pages", "moved", "WAF"]
    kinds = {row.name: row for row in document.effective.namespaces or ()}
    rows = []
    for one in (document.metrics and document.metrics.namespaces) or ():
        kind = kinds[one.name]
        figures = (kind.logical_pages, len(kind.dies), kind.spare_factor_effective)
        counts = (one.programs.host, one.programs.gc, one.waf)
        rows.append([one.name, *(number(figure) for figure in (*figures, *counts))])
    return TextTable(head, rows)


def handle_table(document: ResultDocument) -> TextTable:
    """Return the bytes and reclaim units of each placement id; no rows without handles."""
    metrics = document.metrics
    section = metrics and (metrics.fdp or metrics.streams)
    if not section:
        return TextTable([], [])
    rows = section.handles if isinstance(section, Fdp) else section.streams
    name = "handle" if isinstance(section, Fdp) else "stream"
    head = [name, "host", "moved", "opened", "moved from", "erased"]
    lines = [
        [
            str(row.id),
            size(row.host_bytes),
            size(row.moved_bytes),
            number(row.reclaim_units_opened),
            number(row.reclaim_units_moved),
            number(row.reclaim_units_erased),
        ]
        for row in rows
    ]
    mixed = section.mixed
    if mixed.reclaim_units_erased:
        units = [mixed.reclaim_units_moved, mixed.reclaim_units_erased]
        lines.append(
            ["mixed", NOTHING, size(mixed.moved_bytes), NOTHING, *[number(unit) for unit in units]]
        )
    return TextTable(head, lines)


def zone_table(document: ResultDocument) -> TextTable:
    """Return the zones, or their count by state if they are many; no rows without zones."""
    zones = document.metrics and document.metrics.zones
    if not zones:
        return TextTable([], [])
    if zones.report is not None and len(zones.report) <= ZONE_ROWS_MAX:
        lines = [
            [
                str(row.zone),
                row.state.replace("_", " "),
                size(row.start_bytes),
                size(row.written_bytes),
            ]
            for row in zones.report
        ]
        return TextTable(["zone", "state", "start", "written"], lines)
    states = plain(zones.states).items()
    lines = [[name.replace("_", " "), number(count)] for name, count in states if count]
    return TextTable(["zones", "count"], lines)


def activity_table(document: ResultDocument) -> TextTable:
    """Return the utilisation and the events of the controller; no rows if none are recorded."""
    head = ["activity", "value", "unit"]
    activity = document.metrics and document.metrics.activity
    if not activity:
        return TextTable(head, [])
    busy = {"dies busy": activity.die_busy_ratio, "channels busy": activity.channel_busy_ratio}
    if activity.link_busy_ratio is not None:
        busy["link busy, to drive"] = activity.link_busy_ratio.to_drive
        busy["link busy, to host"] = activity.link_busy_ratio.to_host
    rows = [[label, number(100.0 * ratio), "% of the time"] for label, ratio in busy.items()]
    counts = {key: getattr(activity, key) for key in ACTIVITIES}
    rows += [
        [label, number(counts[key]), unit]
        for key, (label, unit) in ACTIVITIES.items()
        if counts[key]
    ]
    return TextTable(head, rows)


def build(version: str, commit: str, *, dirty: bool) -> str:
    """Return the name of a build.

    >>> build("0.1.0", "1de751ba4467", dirty=True)
    '0.1.0 (1de751ba4467, sources changed since)'
    """
    return f"{version} ({commit}{', sources changed since' if dirty else ''})"


def state_text(state: State) -> str:
    """Return the history of the drive in a few words.

    >>> state_text(State(origin="fresh"))
    'fresh drive'
    """
    origin = state.origin
    if isinstance(origin, Origin) and origin.session is not None:
        parts = ["earlier steps (" + ", ".join(origin.session.steps) + ")"]
    elif isinstance(origin, Origin):
        parts = [f"image {origin.image_crc32}"]
    else:
        parts = ["fresh drive"]
    for step in state.steps or ():
        is_implied = step.steady is None or (step.steady and step.step.endswith("until steady"))
        reached = "" if is_implied else " (steady)" if step.steady else " (not reached)"
        parts.append(f"{step.step}{reached}")
    return ", ".join(parts)
