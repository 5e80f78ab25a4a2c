"""A result in words and cells: what tables show, for the terminal, notebooks and reports alike.

The first names are those of the OpenNANDLab 2.0 benchmark page. A mean never stands without its
tail.
"""

from __future__ import annotations

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
