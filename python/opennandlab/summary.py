"""A result in words and cells: what tables show, for the terminal, notebooks and reports alike.

The first names are those of the OpenNANDLab 2.0 benchmark page. A mean never stands without its
tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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
# Fewer digits than this and the drift of a WAF between runs would not show.
DIGITS = 4
NOTHING = "-"
# What a command spends time on, in the order in which it meets it: column, and words.
PARTS = {
    "submission": "waiting outside the drive for its turn",
    "controller": "processing in the controller",
    "link": "the host link, waiting for it included",
    "throttle": "being held back by the throttle",
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
NO_FORMULA = "no formula for this device, workload or state"


def metric_rows(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (name, value, unit) of every metric that has a line of its own."""
    metrics = document["metrics"]
    throughput = metrics.get("throughput_mb_s") or {}
    op, latency = main_latency(metrics)
    untimed = "" if metrics.get("latency_us") else " (untimed run: not measured)"
    wear = metrics.get("wear") or {}
    iops = metrics.get("iops") or {}
    predicted = document["effective"].get("predicted_waf")
    method = f", {metrics['uber_method']}" if metrics.get("uber_method") else ""
    rows = [
        ("WAF", _waf(metrics.get("waf")), "x"),
        ("WAF by theory", _waf(predicted), "x, steady state" if predicted else NO_FORMULA),
        ("Throughput, write", number(throughput.get("write")), f"MB/s{untimed}"),
        ("Throughput, read", number(throughput.get("read")), f"MB/s{untimed}"),
        ("IOPS", number(iops.get("total")), f"1/s{untimed}"),
        (f"Avg latency, {op}", number(latency.get("mean")), f"µs{untimed}"),
        (f"P99 latency, {op}", number(latency.get("p99")), f"µs{untimed}"),
        (f"P999 latency, {op}", number(latency.get("p999")), f"µs{untimed}"),
        ("GC cycles", number(metrics.get("gc_cycles")), "blocks erased"),
        ("GC pages moved", number(metrics.get("gc_pages_moved")), "pages"),
        ("ECC correction rate", number(metrics.get("ecc_correction_rate_pct")), "% of page reads"),
        ("Uncorrectable reads", number(metrics.get("uncorrectable_read_rate")), "per page read"),
        (
            "UBER (JESD218: per bit)",
            number(metrics.get("uber")),
            f"per bit read{method}",
        ),
        ("WL stddev", number(metrics.get("wl_stddev")), "erases"),
        (
            "Wear min / mean / max",
            " / ".join(number(wear.get(key)) for key in ("min", "mean", "max")),
            "erases",
        ),
        (
            "Lifetime estimate",
            number(metrics.get("lifetime_days")),
            f"days at this rate{untimed}",
        ),
        ("TBW", number(metrics.get("tbw_tb")), "TB"),
        ("Host bytes written", size(metrics.get("host_bytes_written")), ""),
        ("NAND bytes written", size(metrics.get("nand_bytes_written")), ""),
        ("Simulated time", number(metrics.get("duration_s")), "s"),
    ]
    has_read = bool(metrics.get("host_bytes_read"))
    shown = [row for row in rows if has_read or row[0] != "Throughput, read"]
    return [*shown, *_host_rows(metrics)]


def _host_rows(metrics: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the lines that only drives with caches and workloads with tenants have."""
    pages = metrics.get("host_pages") or {}
    fairness = metrics.get("fairness") or {}
    rows = [
        ("Read cache hits", number(pages.get("read_cache_hits")), "pages"),
        ("Flush commands", number(pages.get("flush_commands")), ""),
        ("Fairness", number(fairness.get("jain_index")), "Jain's index, 1 = by weight"),
        ("Largest / smallest share", number(fairness.get("max_min_ratio")), "by weight"),
    ]
    return [row for row in rows if row[1] != NOTHING]


def footnotes(document: dict[str, Any]) -> list[str]:
    """Return what the numbers of the table take for granted, one sentence each."""
    if document["metrics"].get("lifetime_days") is None:
        return []
    lifetime = (
        "Lifetime: maximum P/E cycles x blocks / erases per day at the measured rate, "
        "x mean / maximum wear."
    )
    return [lifetime]


def latency_table(document: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the latency table, in µs; no rows for an untimed run."""
    latency = document["metrics"].get("latency_us") or {}
    rows = [
        [op, *(number(row.get(key)) for key, _ in LATENCY_COLUMNS)]
        for op, row in ((op, latency.get(op)) for op in OPERATIONS)
        if row and row.get("count") and not (op == "all" and _single(latency))
    ]
    return ["latency, µs", *(label for _, label in LATENCY_COLUMNS)], rows


def tenant_table(document: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of tenants; no rows when one host has the drive alone."""
    head = ["tenant", "weight", "priority", "IOPS", "MB/s", "mean, µs", "p99, µs", "p99.9, µs"]
    rows = []
    for tenant in document["metrics"].get("tenants") or []:
        latency = tenant["latency_us"]["all"]
        rates = (tenant["iops"]["total"], tenant["throughput_mb_s"]["total"])
        figures = (*rates, *(latency[key] for key in ("mean", "p99", "p999")))
        labels = [tenant["name"], str(tenant["weight"]), tenant["priority"]]
        rows.append([*labels, *(number(figure) for figure in figures)])
    return head, rows


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


def breakdown_tables(document: dict[str, Any]) -> list[BreakdownTable]:
    """Return a table per class of commands; none when the run was not asked for them."""
    tables = []
    for op, section in (document["metrics"].get("breakdown") or {}).items():
        bands = section["bands"]
        shown, folded = shown_parts(bands)
        head = [f"{op}s, mean µs", "ops", "latency", *shown, *([REST] if folded else [])]
        rows = []
        for band in bands:
            parts = band["parts_us"]
            cells = [parts.get(part, 0.0) for part in shown]
            cells += [sum(parts.get(part, 0.0) for part in folded)] if folded else []
            row = [band["band"], number(band["count"]), number(band["latency_us_mean"])]
            rows.append(row + [number(cell) if cell else NOTHING for cell in cells])
        tables.append(BreakdownTable(op, head, rows, _answer(op, bands[-1])))
    return tables


def shown_parts(bands: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the parts with a column of their own, and those that share one, as commands meet them.

    A part is as large as its largest share of a band: what dominates the tail alone is shown.
    """
    shares = {
        part: max(band["parts_us"].get(part, 0.0) / band["latency_us_mean"] for band in bands)
        for part in PARTS
        if any(band["parts_us"].get(part, 0.0) > 0 for band in bands)
    }
    if len(shares) <= PART_COLUMNS_MAX:
        return list(shares), []
    largest = set(sorted(shares, key=lambda part: -shares[part])[: PART_COLUMNS_MAX - 1])
    return [part for part in shares if part in largest], [
        part for part in shares if part not in largest
    ]


def _answer(op: str, band: dict[str, Any]) -> str:
    part, spent = max(band["parts_us"].items(), key=lambda item: item[1], default=("other", 0.0))
    latency = band["latency_us_mean"]
    share = 100 * spent / latency if latency else 0.0
    return f"{band['band']} {op}s: {share:.0f} % of {span(latency)} is {PARTS[part]} ({part})"


def span(us: float) -> str:
    """Write a latency for a sentence.

    >>> span(3212.0), span(64.25)
    ('3.2 ms', '64 µs')
    """
    if us < 1000:
        return f"{us:.2g} µs" if us < 100 else f"{us:.0f} µs"
    return f"{us / 1000:.2g} ms" if us < 1e5 else f"{us / 1000:.0f} ms"


def activity_table(document: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of what the controller did; no rows for the plainest drives."""
    activity = document["metrics"].get("activity") or {}
    busy = {f"{name}s busy": activity.get(f"{name}_busy_ratio") for name in ("die", "channel")}
    for name, ratio in (activity.get("link_busy_ratio") or {}).items():
        busy[f"link busy, {name.replace('_', ' ')}"] = ratio
    rows = [
        [label, number(100.0 * ratio), "% of the time"]
        for label, ratio in busy.items()
        if ratio is not None
    ]
    rows += [
        [label, number(activity[key]), unit]
        for key, (label, unit) in ACTIVITIES.items()
        if activity.get(key)
    ]
    return ["activity", "value", "unit"], rows


def main_latency(metrics: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the latency that the benchmark page asks for: of writes, else of reads."""
    latency = metrics.get("latency_us") or {}
    for op in ("write", "read", "trim"):
        row = latency.get(op)
        if row and row.get("count"):
            return op, row
    return "write", {}


def number(value: object) -> str:
    """Write a number to four digits, as a person would.

    >>> number(7.5974321), number(262144), number(1.5e-16), number(None)
    ('7.597', '262 144', '1.5e-16', '-')
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e15):
        return f"{int(value):,}".replace(",", " ")
    if abs(value) >= 10**DIGITS:
        return f"{round(value):,}".replace(",", " ")
    return f"{value:.{DIGITS}g}"


def _waf(value: float | None) -> str:
    """Write a WAF with all its digits: exactly one is a measurement too."""
    return "1.000" if value == 1 else number(value)


def size(count: float | None) -> str:
    """Write a byte count with a binary unit.

    >>> size(32 * 2**30), size(1000)
    ('32 GiB', '1000 B')
    """
    if count is None:
        return NOTHING
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.{DIGITS}g} {unit}"


def state_text(state: object) -> str:
    """Say how the drive got into its state, in a few words.

    >>> state_text({"origin": "fresh", "steps": [{"step": "sequential fill", "waf": 1.0}]})
    'fresh drive, sequential fill'
    """
    if not isinstance(state, dict):
        return str(state)
    origin = state.get("origin")
    if isinstance(origin, dict) and "session" in origin:
        parts = ["earlier steps (" + ", ".join(origin["session"].get("steps", [])) + ")"]
    elif isinstance(origin, dict):
        parts = [f"image {origin.get('image_crc32')}"]
    else:
        parts = ["fresh drive"]
    for step in state.get("steps") or []:
        name = str(step.get("step", "?"))
        is_said = step.get("steady") is None or (step["steady"] and name.endswith("until steady"))
        reached = "" if is_said else " (steady)" if step["steady"] else " (not reached)"
        parts.append(f"{name}{reached}")
    return ", ".join(parts)


def _single(latency: dict[str, Any]) -> bool:
    used = [op for op, row in latency.items() if op != "all" and row and row.get("count")]
    return len(used) == 1
