"""The figures of a data sheet: which there are, and where a document has each.

`WANTED` has a row for each figure, with the tests that can give it, the first one first. A finder
takes a document and returns the number with the load under which it was measured, from the cells
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opennandlab.documents import pts
from opennandlab.documents.pts_results import (
    ConsistencyResults,
    Evenness,
    MixResults,
    SaturationResults,
    StabilityResults,
)
from opennandlab.documents.pts_small import AccessTime, AccessTimeResults, BurstResults
from opennandlab.reports import words
from opennandlab.reports.pts import tables
from opennandlab.reports.pts.source import Measured

KIB = 1024
NO_BREAK = "\N{NO-BREAK SPACE}"
# Mean of the five rounds of the window: most figures are.
WINDOW = "mean of the window"


@dataclass(frozen=True)
class Found:
    """A figure as a document has it.

    Args:
        value: The number; None where the document does not state it.
        load: Pattern, block size, mix, threads and queue depth.
        how: What the number is of: a mean, a percentile, how many requests.
        block_bytes: Size of its requests, where the test has several.
    """

    value: float | None
    load: str
    how: str
    block_bytes: int | None = None


Finder = Callable[[Measured], Found | None]


@dataclass(frozen=True)
class Wanted:
    """A figure of a data sheet.

    Args:
        group: The table in which it stands.
        name: What it is.
        unit: Its unit; empty for a ratio.
        sources: Tests that can give it, and how; the first that was run does.
    """

    group: str
    name: str
    unit: str
    sources: tuple[tuple[str, Finder], ...]


def number(measured: Measured, table: str, row: str, column: str) -> float | None:
    """Return a number of a table by the names of its row and column."""
    block = measured.table(table)
    if block is None or row not in block.rows or column not in block.columns:
        return None
    found = block.values[block.rows.index(row)][block.columns.index(column)]
    return None if isinstance(found, str) else found


def load_of(cells: list[pts.Cell]) -> str:
    """Return the load of cells that are alike; empty without any."""
    if not cells:
        return ""
    last = cells[-1]
    # A label may begin with the name of a group.
    label = last.label
    for mark in ("RND", "SEQ"):
        label = label[label.index(mark) :] if mark in label else label
    if not last.threads or not last.queue_depth:  # lost, of a damaged document
        return label
    return f"{label}, TC {last.threads:g} / QD {last.queue_depth:g}"


def requests(cells: list[pts.Cell]) -> str:
    """Return how many requests cells had, in words."""
    return f"{sum(float(cell.ios) for cell in cells):,.0f} requests".replace(",", NO_BREAK)


def _like(cells: list[pts.Cell], block: int, read_pct: float) -> list[pts.Cell]:
    return [cell for cell in cells if (cell.block_bytes, cell.rw_pct) == (block, read_pct)]


def _in_window(block: int, read_pct: float, table: str) -> Finder:
    """Return how a table of means over the window has a figure."""

    def find(measured: Measured) -> Found:
        cells = _like(list(tables.window_of(measured.document)), block, read_pct)
        value = number(measured, table, words.kib(block), words.mix(read_pct))
        rounds = len({cell.round for cell in cells})
        how = f"mean of {rounds} round{'' if rounds == 1 else 's'}" if rounds else WINDOW
        return Found(value, load_of(cells), f"{how}, {requests(cells)}", block)

    return find


def _in_phase(phase: str, block: int, read_pct: float, metric: str = "iops") -> Finder:
    """Return how a cell after the steady state has a figure."""

    def find(measured: Measured) -> Found | None:
        cells = _like(measured.in_phase(phase), block, read_pct)
        if not cells:
            return None
        return Found(cells[-1].number(metric), load_of(cells[-1:]), requests(cells[-1:]))

    return find


def _response(table: str, read_pct: float) -> Finder:
    """Return how the latency test has a response time of 4 KiB, in µs."""

    def find(measured: Measured) -> Found:
        cells = _like(list(tables.window_of(measured.document)), 4 * KIB, read_pct)
        value = number(measured, table, "4", words.mix(read_pct))
        how = {"art": "mean of", "mrt": "longest of"}.get(table, "percentile of")
        if value is None and table.startswith("p"):
            more = f" or {tables.UNSTATED}" if measured.header.imported is not None else ""
            how = f"fewer than ten requests are beyond{more}: percentile of"
        return Found(
            None if value is None else value * 1e3, load_of(cells), f"{how} {requests(cells)}"
        )

    return find


def _access(kind: str, key: str) -> Finder:
    def find(measured: Measured) -> Found | None:
        found = measured.results
        if not isinstance(found, AccessTimeResults):
            return None
        times: AccessTime = getattr(found, kind)
        cells = _like(measured.in_phase("access"), 4 * KIB, 100 if kind == "reads" else 0)
        return Found(getattr(times, key), load_of(cells), f"of {requests(cells)}")

    return find


def _saturation(key: str, how: str) -> Finder:
    def find(measured: Measured) -> Found | None:
        found = measured.results
        if not isinstance(found, SaturationResults):
            return None
        load = load_of(measured.in_phase("wsat"))
        return Found(getattr(found, key), load, how)

    return find


def _burst(place: int, key: str) -> Finder:
    def find(measured: Measured) -> Found | None:
        found = measured.results
        if not isinstance(found, BurstResults) or place >= len(found.loads):
            return None
        one = found.loads[place]
        cells = [cell for cell in measured.in_phase("burst") if cell.label == one.name]
        how = f"first {words.capacity(one.burst_of_bytes)}" if key == "burst_mb_s" else WINDOW
        state = "" if measured.is_steady_in(one.name) or key == "burst_mb_s" else ", not steady"
        return Found(getattr(one, key), load_of(cells), f"{how}{state}")

    return find


def _even(measured: Measured) -> Found | None:
    """Return the slowest sample over the mean, in percent."""
    run = _samples(measured)
    if run is None:
        return None
    value = None if run.min_to_mean is None else 100 * run.min_to_mean
    return Found(value, _sampled(measured), f"slowest of {run.samples} samples over their mean")


def _deviation(measured: Measured) -> Found | None:
    """Return the deviation of the samples over their mean, in percent."""
    run = _samples(measured)
    if run is None:
        return None
    of = f"standard deviation of {run.samples} samples over their mean"
    return Found(None if run.cv is None else 100 * run.cv, _sampled(measured), of)


def _samples(measured: Measured) -> Evenness | StabilityResults | None:
    """Return how even the samples are, of the drive as it is."""
    found = measured.results
    if isinstance(found, ConsistencyResults):
        return found.runs[0] if found.runs else None
    return found if isinstance(found, StabilityResults) else None


def _sampled(measured: Measured) -> str:
    """Return the load of the samples; the labels of its cells name runs."""
    header = measured.header
    return f"RND 4 KiB 0/100, TC {header.threads} / QD {header.queue_depth}"


def _database(block: int) -> Finder:
    def find(measured: Measured) -> Found | None:
        if not isinstance(measured.results, MixResults):
            return None
        return _in_phase("database", block, 67)(measured)

    return find


def _waf(measured: Measured) -> Found | None:
    value = getattr(measured.results, "waf_rnd_4kib_write", None)
    cells = _like(list(tables.window_of(measured.document)), 4 * KIB, 0)
    return Found(value, load_of(cells), WINDOW)


def _endurance(measured: Measured) -> Found | None:
    """Return what can be written until the rated cycles are used up, in TB; computed."""
    device = measured.header.target.device
    nand = (device.config or {}).get("nand")
    cycles = nand.get("max_pe_cycles") if isinstance(nand, dict) else None
    waf = getattr(measured.results, "waf_rnd_4kib_write", None)
    if not isinstance(cycles, int | float) or not device.physical_bytes or not waf:
        return None
    cells = _like(list(tables.window_of(measured.document)), 4 * KIB, 0)
    value = device.physical_bytes * float(cycles) / waf * 1e-12
    of = (
        f"computed, not measured: {words.capacity(device.physical_bytes)} of flash × "
        f"{cycles:g} rated cycles / write amplification {words.value(waf)}"
    )
    return Found(value, load_of(cells), of)


RANDOM, MIXED, SEQUENTIAL = "Random requests", "Mixed random requests", "Sequential requests"
SINGLE, WRITES, LIFE = "Response time, one at a time", "Writes over time", "Endurance"
_PAIRS = ((100, "read"), (0, "write"))
_TIMES = (("art", "mean"), ("p9999", "99.99 %"), ("mrt", "longest"))
_ACCESS = (("lat_us_mean", "mean"), ("lat_us_p999", "99.9 %"))

WANTED: tuple[Wanted, ...] = (
    *(
        Wanted(
            RANDOM, f"Random {what}, {size} KiB", "IOPS",
            (("iops", _in_window(size * KIB, pct, "iops")),),
        )
        for pct, what in _PAIRS for size in (4, 8)
    ),
    *(
        Wanted(
            MIXED, f"Random 65/35, {size} KiB", "IOPS",
            (("iops", _in_window(size * KIB, 65, "iops")),),
        )
        for size in (4, 8)
    ),
    *(
        Wanted(MIXED, f"Random 67/33, {size} KiB", "IOPS", (("rw_ratio", _database(size * KIB)),))
        for size in (4, 8)
    ),
    *(
        Wanted(
            SEQUENTIAL, f"Sequential {what}, {size} KiB", "MB/s",
            (("throughput", _in_window(size * KIB, pct, "throughput")),),
        )
        for size in (128, 1024) for pct, what in _PAIRS
    ),
    *(
        Wanted(SINGLE, f"4 KiB {what}, {part}", "µs", (("latency", _response(table, pct)),))
        for pct, what in _PAIRS for table, part in _TIMES
    ),
    *(
        Wanted(
            SINGLE, f"Access time, {what}, {part}", "µs",
            (("access_time", _access(f"{what}s", key)),),
        )
        for _, what in _PAIRS for key, part in _ACCESS
    ),
    Wanted(WRITES, "Random writes, fresh out of the box", "IOPS",
           (("wsat", _saturation("fob_iops", "first 1 % of the capacity")),)),
    Wanted(WRITES, "Random writes, steady", "IOPS",
           (("wsat", _saturation("steady_iops", WINDOW)),)),
    Wanted(WRITES, "Random writes, burst", "MB/s", (("burst", _burst(0, "burst_mb_s")),)),
    Wanted(WRITES, "Random writes, sustained", "MB/s", (("burst", _burst(0, "sustained_mb_s")),)),
    Wanted(WRITES, "Sequential writes, burst", "MB/s", (("burst", _burst(1, "burst_mb_s")),)),
    Wanted(WRITES, "Sequential writes, sustained", "MB/s",
           (("burst", _burst(1, "sustained_mb_s")),)),
    Wanted(WRITES, "Consistency: slowest sample", "%",
           (("consistency", _even), ("stability", _even))),
    Wanted(WRITES, "Consistency: deviation", "%",
           (("consistency", _deviation), ("stability", _deviation))),
    Wanted(LIFE, "Write amplification, random 4 KiB", "", (("iops", _waf),)),
    Wanted(LIFE, "Writes until the rated cycles are used up", "TB", (("iops", _endurance),)),
)  # fmt: skip
# Tests that a sheet has figures of.
TESTS = frozenset(test for wanted in WANTED for test, _ in wanted.sources)
