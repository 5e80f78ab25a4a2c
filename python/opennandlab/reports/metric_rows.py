"""The metrics of a result as rows of name, value and unit.

The first names are those of the OpenNANDLab 2.0 benchmark page. Each mean latency is followed by
its percentiles.
"""

from __future__ import annotations

from typing import NamedTuple

from opennandlab.base.words import NOTHING, number, size
from opennandlab.documents.metrics import Latency, Metrics
from opennandlab.documents.record import plain
from opennandlab.documents.result import ResultDocument
from opennandlab.reports.words import RESERVES, life_used
from opennandlab.theory.prediction import has_lost_blocks, why_no_formula

NO_FORMULA = "no formula for "
# With fewer erases per block than this, the life of a drive is not estimated.
WEAR_MEAN_MIN = 1.0


class Row(NamedTuple):
    """A metric in a table.

    Args:
        name: Its label.
        value: The number, written.
        unit: The unit, and a remark if the number is missing.
    """

    name: str
    value: str
    unit: str


def _lacking(document: ResultDocument) -> str:
    """Return why no formula describes a run."""
    if has_lost_blocks(document.device, document.metrics):
        return f"{NO_FORMULA}retired blocks"
    why = why_no_formula(document.device, plain(document.effective), document.workload)
    return NO_FORMULA + (why or "a drive that was not filled before")


def metric_rows(document: ResultDocument) -> list[Row]:
    """Return the metrics of a result, those that its drive and workload have."""
    metrics = document.metrics
    if metrics is None:
        return [Row("Metrics", NOTHING, "the measured part never began")]
    return [
        *_speed_rows(document, metrics),
        Row("GC cycles", number(metrics.gc_cycles), f"{block_words(document)} erased"),
        Row("GC pages moved", number(metrics.gc_pages_moved), "pages"),
        *_other_programs(metrics),
        *_mapping_rows(metrics),
        *_error_rows(metrics),
        *_wear_rows(metrics),
        *_health_rows(metrics),
        *_erase_rows(document, metrics),
        Row("Host bytes written", size(metrics.host_bytes_written), ""),
        Row("NAND bytes written", size(metrics.nand_bytes_written), ""),
        Row("Simulated time", number(metrics.duration_s), f"s{_untimed(metrics)}"),
        *_host_rows(metrics),
    ]


def is_hardly_worn(metrics: Metrics) -> bool:
    """Whether too few blocks were erased to estimate the life of a drive."""
    return metrics.wear.mean < WEAR_MEAN_MIN


def block_words(document: ResultDocument) -> str:
    """Return what a drive erases at once: blocks, or superblocks."""
    allocation = document.device["ftl"].get("allocation")
    kind = allocation.get("kind") if isinstance(allocation, dict) else allocation
    return "superblocks" if kind == "superblock" else "blocks"


def _untimed(metrics: Metrics) -> str:
    return "" if metrics.latency_us else " (untimed run: not measured)"


def _speed_rows(document: ResultDocument, metrics: Metrics) -> list[Row]:
    """Return write amplification, rates, and one latency with its percentiles."""
    predicted, untimed = document.effective.predicted_waf, _untimed(metrics)
    throughput = metrics.throughput_mb_s
    op, latency = main_latency(metrics)
    by_theory = "x, steady state" if predicted else _lacking(document)
    read = Row("Throughput, read", number(throughput.read), f"MB/s{untimed}")
    return [
        Row("WAF", _waf(metrics.waf), "x"),
        Row("WAF by theory", _waf(predicted), by_theory),
        Row("Throughput, write", number(throughput.write), f"MB/s{untimed}"),
        *([read] if metrics.host_bytes_read > 0 else []),
        Row("IOPS", number(metrics.iops.total), f"1/s{untimed}"),
        Row(f"Avg latency, {op}", number(latency and latency.mean), f"µs{untimed}"),
        Row(f"P99 latency, {op}", number(latency and latency.p99), f"µs{untimed}"),
        Row(f"P999 latency, {op}", number(latency and latency.p999), f"µs{untimed}"),
    ]


def _error_rows(metrics: Metrics) -> list[Row]:
    """Return corrected bits, uncorrectable and lost reads, and UBER."""
    unread = "" if any(plain(metrics.reads).values()) else " (nothing was read)"
    method = f", {metrics.uber_method}" if metrics.uber_method else ""
    corrected, failed = metrics.ecc_correction_rate_pct, metrics.uncorrectable_read_rate
    return [
        Row("ECC correction rate", number(corrected), f"bits / 100 page reads{unread}"),
        Row("Uncorrectable reads", number(failed), f"per page read{unread}"),
        *_lost_rows(metrics),
        Row("UBER (JESD218: per bit)", number(metrics.uber), f"per bit read{method}{unread}"),
        *_cell_rows(metrics),
    ]


def _cell_rows(metrics: Metrics) -> list[Row]:
    """Return errors of cells, and how far pages climbed; empty for drives without cells."""
    if metrics.cells is None:
        return []
    pages = metrics.cells.page_types.values()
    errors, expected = sum(one.errors for one in pages), sum(one.expected for one in pages)
    verdict = "as expected" if metrics.cells.agrees else f"expected {number(expected)}: differs"
    steps = metrics.recovery
    search = [] if steps.calibrated is None else [("search", steps.calibrated)]
    later = [("retries", sum(steps.retry)), *search, ("soft", sum(steps.soft.values()))]
    counts = " / ".join(number(count) for count in (steps.first_read, *(it[1] for it in later)))
    names = " / ".join(("first read", *(name for name, _ in later)))
    return [
        Row("Wrong bits in cells", number(errors), verdict),
        Row("Pages corrected by", counts, names),
    ]


def _wear_rows(metrics: Metrics) -> list[Row]:
    """Return the spread of erases, and the life that follows from it."""
    wear, unworn = metrics.wear, ""
    if not any(plain(metrics.erases).values()):
        unworn = " (no block was erased)"
    elif is_hardly_worn(metrics):
        unworn = f" (too few erases: {number(wear.mean)} a block)"
    days, tbw = (None, None) if unworn else (metrics.lifetime_days, metrics.tbw_tb)
    remark = _untimed(metrics) or unworn
    counts = " / ".join(number(count) for count in (wear.min, wear.mean, wear.max))
    return [
        Row("WL stddev", number(metrics.wl_stddev), "erases"),
        Row("Wear min / mean / max", counts, "erases"),
        Row("Lifetime estimate", number(days), f"days at this rate{remark}"),
        Row("TBW", number(tbw), f"TB{unworn}"),
    ]


def _health_rows(metrics: Metrics) -> list[Row]:
    """Return the life that an eMMC estimates of itself; empty of other drives."""
    life = metrics.health.emmc if metrics.health is not None else None
    if life is None:
        return []
    reserve = RESERVES.get(life.pre_eol_info, "unknown")
    return [
        Row("Life used, type B", life_used(life.device_life_time_est_typ_b), f"reserve {reserve}")
    ]


def _erase_rows(document: ResultDocument, metrics: Metrics) -> list[Row]:
    """Return erases for other reasons than collection; no zeros."""
    erases, unit = metrics.erases, block_words(document)
    rows = [
        ("Erased to empty the SLC cache", erases.fold),
        ("Erased to refresh", erases.refresh),
        ("Erased to level wear", erases.wear),
        ("Erased in the map", erases.map),
    ]
    return [Row(label, number(count), unit) for label, count in rows if count]


def _lost_rows(metrics: Metrics) -> list[Row]:
    """Return counts and shares of lost reads; empty if none was lost."""
    lost = metrics.lost_reads
    if lost is None:
        return []
    host = lost.pages.get("host", 0)
    moved = sum(lost.pages.values()) - host
    pages_pct = number(100 * (lost.host_page_share or 0.0))
    rows = [
        Row("Reads lost", number(host), f"of {number(lost.host_page_reads)} pages, {pages_pct} %")
    ]
    if lost.commands is not None:
        commands_pct = number(100 * (lost.command_share or 0.0))
        rows.append(Row("Read commands lost", number(lost.commands), f"{commands_pct} %"))
    if moved:
        rows.append(Row("Pages lost in the drive", number(moved), "moved or completed"))
    return rows


def _other_programs(metrics: Metrics) -> list[Row]:
    """Return pages programmed for other reasons, which WAF counts, and pages rebuilt; no zeros."""
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
    return [Row(label, number(count), "pages") for label, count in rows if count]


def _mapping_rows(metrics: Metrics) -> list[Row]:
    """Return the activity of a map other than a page map in RAM; empty for that one."""
    mapping = metrics.mapping
    if mapping is None:
        return []
    if mapping.merges is None:
        share = None if mapping.hit_rate is None else 100 * mapping.hit_rate
        rows = [
            Row(
                "Map entries found cached", number(share), f"% of {number(mapping.lookups)} lookups"
            ),
            Row("Map pages read", number(metrics.reads.map), "pages"),
        ]
        if (made := mapping.checkpoints) is not None:
            unit = f"of {number(made.pages)} map pages in all"
            rows.append(Row("Checkpoints of the map", number(made.count), unit))
        return rows
    merges = mapping.merges
    counts = (merges.switch, merges.partial, merges.full)
    merged = " / ".join(number(count) for count in counts)
    return [Row("Merges", merged, "switch / partial / full")]


def _host_rows(metrics: Metrics) -> list[Row]:
    """Return the rows of caches, flushes, tenants and energy, those that the run has."""
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
    return [Row(*row) for row in rows if row[1] != NOTHING]


def main_latency(metrics: Metrics) -> tuple[str, Latency | None]:
    """Return the operation whose latency is shown, and its latency.

    The first of writes, reads and trims that were completed; without any, writes and None.
    """
    found = metrics.latency_us.by_operation() if metrics.latency_us else {}
    for op in ("write", "read", "trim"):
        if op in found and found[op].count:
            return op, found[op]
    return "write", None


def _waf(value: float | None) -> str:
    """Write a WAF with all its digits: exactly one is a measurement too."""
    return "1.000" if value == 1 else number(value)
