"""A result in words and cells: what tables show, for the terminal, notebooks and reports alike.

The first names are those of the OpenNANDLab 2.0 benchmark page. A mean never stands without its
tail.
"""

from __future__ import annotations

from dataclasses import dataclass

from opennandlab.base.words import NOTHING, number, size
from opennandlab.documents.metrics import Band, Latency, Metrics
from opennandlab.documents.placement import Fdp
from opennandlab.documents.record import plain
from opennandlab.documents.result import Origin, ResultDocument, State
from opennandlab.theory.prediction import has_lost_blocks, why_no_formula

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
# What a command spends time on, in the order in which it meets it: column, and words.
PARTS = {
    "submission": "waiting outside the drive for its turn",
    "controller": "processing in the controller",
    "link": "the host link, waiting for it included",
    "throttle": "being held back by the throttle",
    "mapping": "reading and writing map pages",
    "cache": "the write cache, waiting for room included",
    "room": "waiting for an erased block",
    "queue": "waiting on a die behind other host operations",
    "gc": "waiting on a die behind pages that are moved",
    "erase": "waiting behind erases",
    "bus_wait": "waiting for the channel",
    "bus": "transfer over the channel",
    "sense": "sensing the page",
    "retry": "sensing the page again",
    "program": "programming",
    "suspended": "being suspended for reads",
    "ecc": "decoding",
    "rebuild": "reading the rest of the stripe",
    "other": "what no other part accounts for",
}
# Counters of the controller: words, and unit.
ACTIVITIES = {
    "multi_plane_ops": ("multi-plane operations", "operations"),
    "suspensions": ("suspensions", "programs and erases"),
    "memory_reads": ("reads served from memory", "pages"),
    "copybacks": ("copybacks", "pages"),
    "retry_steps": ("read retries", "senses"),
}
# More columns than this do not fit a terminal: the smallest parts then share one, `rest`.
PART_COLUMNS_MAX = 9
REST = "rest"
ZONE_ROWS_MAX = 24
NO_FORMULA = "no formula for "


def _lacking(document: ResultDocument) -> str:
    """Return why no formula describes a run."""
    if has_lost_blocks(document.device, document.metrics):
        return f"{NO_FORMULA}retired blocks"
    why = why_no_formula(document.device, plain(document.effective), document.workload)
    return NO_FORMULA + (why or "a drive that was not filled before")


def metric_rows(document: ResultDocument) -> list[tuple[str, str, str]]:
    """Return (name, value, unit) of every metric that has a line of its own."""
    metrics = document.metrics
    if metrics is None:
        return [("Metrics", NOTHING, "the measured part never began")]
    throughput, wear = metrics.throughput_mb_s, metrics.wear
    op, latency = main_latency(metrics)
    untimed = "" if metrics.latency_us else " (untimed run: not measured)"
    unread = "" if any(plain(metrics.reads).values()) else " (nothing was read)"
    unworn = "" if any(plain(metrics.erases).values()) else " (no block was erased)"
    predicted = document.effective.predicted_waf
    method = f", {metrics.uber_method}" if metrics.uber_method else ""
    rows = [
        ("WAF", _waf(metrics.waf), "x"),
        ("WAF by theory", _waf(predicted), "x, steady state" if predicted else _lacking(document)),
        ("Throughput, write", number(throughput.write), f"MB/s{untimed}"),
        ("Throughput, read", number(throughput.read), f"MB/s{untimed}"),
        ("IOPS", number(metrics.iops.total), f"1/s{untimed}"),
        (f"Avg latency, {op}", number(latency and latency.mean), f"µs{untimed}"),
        (f"P99 latency, {op}", number(latency and latency.p99), f"µs{untimed}"),
        (f"P999 latency, {op}", number(latency and latency.p999), f"µs{untimed}"),
        ("GC cycles", number(metrics.gc_cycles), "blocks erased"),
        ("GC pages moved", number(metrics.gc_pages_moved), "pages"),
        *_other_programs(metrics),
        *_mapping_rows(metrics),
        (
            "ECC correction rate",
            number(metrics.ecc_correction_rate_pct),
            f"bits / 100 page reads{unread}",
        ),
        ("Uncorrectable reads", number(metrics.uncorrectable_read_rate), f"per page read{unread}"),
        *_lost_rows(metrics),
        ("UBER (JESD218: per bit)", number(metrics.uber), f"per bit read{method}{unread}"),
        ("WL stddev", number(metrics.wl_stddev), "erases"),
        (
            "Wear min / mean / max",
            " / ".join(number(count) for count in (wear.min, wear.mean, wear.max)),
            "erases",
        ),
        (
            "Lifetime estimate",
            number(metrics.lifetime_days),
            f"days at this rate{untimed or unworn}",
        ),
        ("TBW", number(metrics.tbw_tb), f"TB{unworn}"),
        ("Host bytes written", size(metrics.host_bytes_written), ""),
        ("NAND bytes written", size(metrics.nand_bytes_written), ""),
        ("Simulated time", number(metrics.duration_s), f"s{untimed}"),
    ]
    has_read = metrics.host_bytes_read > 0
    shown = [row for row in rows if has_read or row[0] != "Throughput, read"]
    return [*shown, *_host_rows(metrics)]


def _lost_rows(metrics: Metrics) -> list[tuple[str, str, str]]:
    """Return what was lost, where something was: counts and shares."""
    lost = metrics.lost_reads
    if lost is None:
        return []
    host = lost.pages.get("host", 0)
    moved = sum(lost.pages.values()) - host
    share = 100 * (lost.host_page_share or 0.0)
    rows = [
        ("Reads lost", number(host), f"of {number(lost.host_page_reads)} pages, {number(share)} %")
    ]
    if lost.commands is not None:
        share = 100 * (lost.command_share or 0.0)
        rows += [("Read commands lost", number(lost.commands), f"{number(share)} %")]
    return rows + ([("Pages lost in the drive", number(moved), "moved or completed")] * bool(moved))


def _other_programs(metrics: Metrics) -> list[tuple[str, str, str]]:
    """Return what else was programmed or rebuilt: WAF counts it, and most drives have none."""
    programs = metrics.programs
    rows = [
        ("SLC cache, folded", programs.fold),
        ("Refreshed", programs.refresh),
        ("Moved to level wear", programs.wear),
        ("Parity", programs.parity),
        ("Padding", programs.pad),
        ("Map pages" if metrics.mapping else "Drive's own records", programs.map),
        ("Rebuilt from parity", metrics.recovery.rebuilt),
    ]
    return [(label, number(count), "pages") for label, count in rows if count]


def _mapping_rows(metrics: Metrics) -> list[tuple[str, str, str]]:
    """Return what a map that is not one of pages in RAM did."""
    mapping = metrics.mapping
    if mapping is None:
        return []
    if mapping.merges is None:
        share = None if mapping.hit_rate is None else 100 * mapping.hit_rate
        return [
            ("Map entries found cached", number(share), f"% of {number(mapping.lookups)} lookups"),
            ("Map pages read", number(metrics.reads.map), "pages"),
        ]
    merges = mapping.merges
    counts = (merges.switch, merges.partial, merges.full)
    return [("Merges", " / ".join(number(count) for count in counts), "switch / partial / full")]


def _host_rows(metrics: Metrics) -> list[tuple[str, str, str]]:
    """Return the lines that only drives with caches or energies and some workloads have."""
    pages, fairness, power = metrics.host_pages, metrics.fairness, metrics.power
    moved = metrics.zones.host_waf if metrics.zones and metrics.zones.moved_bytes else None
    trace = metrics.trace_pages
    left = f"of {number(trace.trace)}: {number(trace.device)} on the device" if trace else ""
    rows = [
        ("WAF of the host", _waf(moved), "x, on top of the drive's"),
        ("Read cache hits", number(pages.read_cache_hits), "pages"),
        ("Read ahead", number(pages.read_ahead), "pages"),
        ("Read ahead hits", number(pages.read_ahead_hits), "pages"),
        ("Flush commands", number(pages.flush_commands), ""),
        ("Writes with FUA", number(pages.fua_commands), ""),
        ("Pages of the trace merged", number(trace and trace.merged), left),
        ("Fairness", number(fairness and fairness.jain_index), "Jain's index, 1 = by weight"),
        ("Largest / smallest share", number(fairness and fairness.max_min_ratio), "by weight"),
        ("Mean power", number(power and power.mean_w), "W"),
        ("IOPS per watt", number(power and power.iops_per_w), "commands/J"),
    ]
    return [row for row in rows if row[1] != NOTHING]


def footnotes(document: ResultDocument) -> list[str]:
    """Return what the numbers of the table take for granted, one sentence each."""
    if document.metrics is None or document.metrics.lifetime_days is None:
        return []
    lifetime = (
        "Lifetime: maximum P/E cycles x blocks / erases per day at the measured rate, "
        "x mean / maximum wear."
    )
    return [lifetime]


def latency_table(document: ResultDocument) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the latency table, in µs; no rows for an untimed run."""
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
    return ["latency, µs", *(label for _, label in LATENCY_COLUMNS)], rows


def collection_table(document: ResultDocument) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of latencies apart for commands that met a collection, in µs.

    No rows when the run was not watched, or when no command met one.
    """
    apart = document.metrics and document.metrics.latency_by_collection
    head = ["collection, µs", *(label for _, label in LATENCY_COLUMNS)]
    if not apart or apart.met is None:
        return head, []
    rows = []
    for words, latencies in (("met", apart.met), ("not met", apart.not_met)):
        found = latencies.by_operation() if latencies else {}
        for op, row in found.items():
            figures = (number(getattr(row, key)) for key, _ in LATENCY_COLUMNS)
            rows.append([f"{op}, {words}", *figures])
    return head, rows


def tenant_table(document: ResultDocument) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of tenants; no rows when one host has the drive alone."""
    head = ["tenant", "weight", "priority", "IOPS", "MB/s", "mean, µs", "p99, µs", "p99.9, µs"]
    rows = []
    for tenant in (document.metrics and document.metrics.tenants) or ():
        latency = tenant.latency_us.all
        rates = (tenant.iops.total, tenant.throughput_mb_s.total)
        figures = (*rates, latency.mean, latency.p99, latency.p999)
        labels = [tenant.name, str(tenant.weight), tenant.priority]
        rows.append([*labels, *(number(figure) for figure in figures)])
    return head, rows


def handle_table(document: ResultDocument) -> tuple[list[str], list[list[str]]]:
    """Return what was written with each placement id; no rows without handles or streams."""
    metrics = document.metrics
    section = metrics and (metrics.fdp or metrics.streams)
    if not section:
        return [], []
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
    return head, lines


def zone_table(document: ResultDocument) -> tuple[list[str], list[list[str]]]:
    """Return the zone report, or zones by state where there are many; no rows without zones."""
    zones = document.metrics and document.metrics.zones
    if not zones:
        return [], []
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
        return ["zone", "state", "start", "written"], lines
    states = plain(zones.states).items()
    lines = [[name.replace("_", " "), number(count)] for name, count in states if count]
    return ["zones", "count"], lines


@dataclass(frozen=True)
class BreakdownTable:
    """Where the time of one class of commands went.

    Args:
        op: The class: `read`, `write`, `trim`, `flush`.
        head: Column heads.
        rows: A row per percentile band, in µs.
        answer: One sentence: the largest part of the top band.
    """

    op: str
    head: list[str]
    rows: list[list[str]]
    answer: str


def breakdown_tables(document: ResultDocument) -> list[BreakdownTable]:
    """Return a table per class of commands; none when the run was not asked for them."""
    tables = []
    breakdown = document.metrics and document.metrics.breakdown
    for op, section in breakdown.by_class().items() if breakdown else ():
        shown, folded = shown_parts(section.bands)
        head = [f"{op}s, mean µs", "ops", "latency", *shown, *([REST] if folded else [])]
        rows = []
        for band in section.bands:
            parts = band.parts_us
            cells = [parts.get(part, 0.0) for part in shown]
            cells += [sum(parts.get(part, 0.0) for part in folded)] if folded else []
            row = [band.band, number(band.count), number(band.latency_us_mean)]
            rows.append(row + [number(cell) if cell else NOTHING for cell in cells])
        tables.append(BreakdownTable(op, head, rows, _answer(op, section.bands[-1])))
    return tables


def shown_parts(bands: list[Band]) -> tuple[list[str], list[str]]:
    """Return the parts with a column of their own, and those that share one, as commands meet them.

    A part is as large as its largest share of a band: what dominates the tail alone is shown.
    """
    shares = {
        # Commands that took no time, such as flushes of nothing, have no parts.
        part: max(band.parts_us.get(part, 0.0) / (band.latency_us_mean or 1.0) for band in bands)
        for part in PARTS
        if any(band.parts_us.get(part, 0.0) > 0 for band in bands)
    }
    if len(shares) <= PART_COLUMNS_MAX:
        return list(shares), []
    largest = set(sorted(shares, key=lambda part: -shares[part])[: PART_COLUMNS_MAX - 1])
    return [part for part in shares if part in largest], [
        part for part in shares if part not in largest
    ]


def _answer(op: str, band: Band) -> str:
    part, spent = max(band.parts_us.items(), key=lambda item: item[1], default=("other", 0.0))
    latency = band.latency_us_mean
    share = 100 * spent / latency if latency else 0.0
    return f"{band.band} {op}s: {share:.0f} % of {span(latency)} is {PARTS[part]} ({part})"


def span(us: float) -> str:
    """Write a latency for a sentence.

    >>> span(3212.0), span(64.25)
    ('3.2 ms', '64 µs')
    """
    if us < 1000:
        return f"{us:.2g} µs" if us < 100 else f"{us:.0f} µs"
    return f"{us / 1000:.2g} ms" if us < 1e5 else f"{us / 1000:.0f} ms"


def activity_table(document: ResultDocument) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of what the controller did; no rows for the plainest drives."""
    head = ["activity", "value", "unit"]
    activity = document.metrics and document.metrics.activity
    if not activity:
        return head, []
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
    return head, rows


def main_latency(metrics: Metrics) -> tuple[str, Latency | None]:
    """Return the latency that the benchmark page asks for: of writes, else of reads."""
    found = metrics.latency_us.by_operation() if metrics.latency_us else {}
    for op in ("write", "read", "trim"):
        if op in found and found[op].count:
            return op, found[op]
    return "write", None


def build(version: str, commit: str, *, dirty: bool) -> str:
    """Name a build.

    >>> build("0.1.0", "1de751ba4467", dirty=True)
    '0.1.0 (1de751ba4467, sources changed since)'
    """
    return f"{version} ({commit}{', sources changed since' if dirty else ''})"


def _waf(value: float | None) -> str:
    """Write a WAF with all its digits: exactly one is a measurement too."""
    return "1.000" if value == 1 else number(value)


def state_text(state: State) -> str:
    """Say how the drive got into its state, in a few words.

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
        is_said = step.steady is None or (step.steady and step.step.endswith("until steady"))
        reached = "" if is_said else " (steady)" if step.steady else " (not reached)"
        parts.append(f"{step.step}{reached}")
    return ", ".join(parts)
