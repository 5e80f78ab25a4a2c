"""What mechanisms do over a range of settings, over percentiles, over time: drawings of the docs.

    Drawing { name, runs, draw(results) -> Plot }

Each has the simulation in it and, where one exists, the formula of the suite's rows. `draw.py`
simulates and writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from opennandlab.reports.figure.model import Axis, Draw, Plot, Series
from opennandlab.studies.validation.case import Document, Run, lookup
from opennandlab.studies.validation.devices import PAGE_BYTES, bench, poisson, timed
from opennandlab.studies.validation.suites import recovery as recovery_suite
from opennandlab.studies.validation.suites import superblocks
from opennandlab.studies.validation.suites.ablation import host, scheduling, translation
from opennandlab.studies.validation.suites.ablation.row import (
    PROGRAM,
    READ_RATE,
    READ_US,
    TRANSFER,
    WRITE_RATE,
    Workload,
    mixed,
    one_die,
    steady_writes,
    vary,
)
from opennandlab.theory.closed_loop import busy_dies
from opennandlab.theory.reliability import PageCode
from opennandlab.theory.waf import uniform_formula

Results = Mapping[str, Document]
PERCENTILES = (("p50", 2.0), ("p90", 10.0), ("p99", 1e2), ("p999", 1e3))
PERCENTILE_TICKS = tuple(
    (place, text)
    for (_, place), text in zip(PERCENTILES, ("50 %", "90 %", "99 %", "99.9 %"), strict=True)
)
RATIOS: tuple[tuple[str, Draw], ...] = (("random", "dots"), ("sequential", "points"))


@dataclass(frozen=True)
class Drawing:
    """A drawing and the simulations that it needs.

    Args:
        name: Of the file, without its ending.
        runs: Simulations by a name of the drawing's own.
        draw: Makes the plot of their results.
        seed: Of all simulations.
    """

    name: str
    runs: Mapping[str, Run]
    draw: Callable[[Mapping[str, Document]], Plot]
    seed: int = 42


def plot(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> Plot:
    """Return a plot that is alone in its file."""
    return Plot("plot", title, x, y, tuple(series))


def drawings() -> list[Drawing]:
    """Return the drawings of mechanisms, in the order of the page."""
    return [
        _planes(),
        _cache_read(),
        _orders_of_service(),
        _suspension(),
        _retry(),
        _steps(),
        _idle(),
        _dynamic(),
        _slc_cache(),
        _compression(),
        _die_stripe(),
        _thermal(),
        _read_cache(),
    ]


def _planes() -> Drawing:
    counts, dies = (1, 2, 4, 8), (1, 4, 16)
    runs = {}
    for die_count in dies:
        for planes in counts:
            device = bench(1, die_count, blocks_per_die=32)
            device["nand"]["planes_per_die"] = planes
            device["nand"]["multi_plane"] = planes > 1
            work = timed("sequential", 4 * planes * die_count, 2000 * die_count, 0.0)
            runs[f"{die_count} {planes}"] = Run(device, work)

    def draw(results: Results) -> Plot:
        lines = []
        for index, die_count in enumerate(dies):
            theory = [
                PAGE_BYTES * min(die_count * planes / (PROGRAM + planes * TRANSFER), 1 / TRANSFER)
                for planes in counts
            ]
            seen = [lookup(results[f"{die_count} {planes}"], WRITE_RATE) for planes in counts]
            name = f"{die_count} dies" if die_count > 1 else "1 die"
            lines += pair(name, counts, theory, seen, index)
        ticks = tuple((float(planes), str(planes)) for planes in counts)
        return plot(
            "Multi-plane programs on one channel of 409.6 MB/s",
            Axis("planes of a die", "log", ticks),
            Axis("written, MB/s", "log"),
            lines,
        )

    return Drawing("planes", runs, draw)


def _cache_read() -> Drawing:
    senses = (2.0, 5.0, 10.0, 20.0, 40.0, 80.0)
    work = timed("sequential", 8, 2000)
    runs = {}
    for sense in senses:
        device = one_die(t_read_us=sense)
        runs[f"off {sense}"] = Run(device, work)
        runs[f"on {sense}"] = Run(vary(device, {"nand.cache_commands.read": True}), work)

    def draw(results: Results) -> Plot:
        lines = []
        for index, (name, text) in enumerate((("on", "cache reads"), ("off", "one register"))):
            rates = [lookup(results[f"{name} {sense}"], READ_RATE) for sense in senses]
            theory = [
                PAGE_BYTES / (max(sense, TRANSFER) if name == "on" else sense + TRANSFER)
                for sense in senses
            ]
            lines += pair(text, senses, theory, rates, index)
        ticks = tuple((sense, f"{sense:g}") for sense in senses)
        return plot(
            "Cache reads of one die, transfer of 10 µs",
            Axis("tR, µs", "log", ticks),
            Axis("read, MB/s", zero=True),
            lines,
        )

    return Drawing("cache-read", runs, draw)


def _orders_of_service() -> Drawing:
    depths, dies = (1, 2, 4, 8, 16, 32), 8
    free = bench(dies, 1)
    strict = vary(free, {"controller.scheduler": "in_order"})
    runs = {
        f"{name} {depth}": Run(device, timed("random", depth, 30_000))
        for name, device in (("free", free), ("strict", strict))
        for depth in depths
    }

    def draw(results: Results) -> Plot:
        theory = [busy_dies(dies, depth) * 1e3 / READ_US for depth in depths]
        lines = [Series("a queue per die, exact chain", depths, theory, "line", colour=0)]
        for index, (name, text) in enumerate((("free", "simulated"), ("strict", "one queue"))):
            rates = [
                lookup(results[f"{name} {depth}"], "metrics.iops.read") / 1e3 for depth in depths
            ]
            draw: Draw = "points" if name == "free" else "dots"
            lines.append(Series(text, depths, rates, draw, colour=index))
        limit = [scheduling.strict_busy_dies(dies) * 1e3 / READ_US] * len(depths)
        lines.append(Series("its limit Q(8)", depths, limit, draw="dashed", colour=1))
        ticks = tuple((float(depth), str(depth)) for depth in depths)
        return plot(
            "Random reads of eight dies: in order and out of order",
            Axis("commands outstanding", "log", ticks),
            Axis("thousand reads per second", zero=True),
            lines,
        )

    return Drawing("scheduler", runs, draw)


def _suspension() -> Drawing:
    work = mixed({"queue_depth": poisson(100.0)}, {"queue_depth": 8}, 200.0)
    plain = one_die()
    first = vary(plain, {"controller.scheduler": "priority"})
    runs = {
        "in order of arrival": Run(plain, work),
        "reads first": Run(first, work),
        "programs suspended": Run(vary(first, {"controller.suspend.erase": False}), work),
        "erases too": Run(vary(first, {"controller.suspend": {}}), work),
    }
    return Drawing(
        "suspend",
        runs,
        partial(_percentiles, "Reads beside writes without end, one die", "read"),
    )


def _retry() -> Drawing:
    rates = (5e-4, 1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 6e-3)
    code = PageCode(page_bytes=PAGE_BYTES, data_bits=223, parity_bits=32, correctable=4)
    reads = timed("random", 1, 20_000)
    runs = {}
    for rate in rates:
        keys = {
            "nand.rber_floor": rate,
            "nand.rber_ceil": rate,
            "ecc": {"algorithm": "bch", "bch_m": 8, "bch_t": 4},
            "controller.read_retry": {"step_count_max": 5, "rber_factor": 0.6, "setup_us": 2.0},
        }
        runs[str(rate)] = Run(vary(one_die(), keys), reads)

    def draw(results: Results) -> Plot:
        seen = [lookup(results[str(rate)], "metrics.latency_us.read.mean") for rate in rates]
        theory = [
            READ_US + (READ_US + 2.0) * sum(code.failure(rate * 0.6**step) for step in range(5))
            for rate in rates
        ]
        ticks = tuple((rate, f"{rate:g}") for rate in rates)
        return plot(
            "Read retry: BCH (255, 223), each step lowers the error rate to 0.6 of it",
            Axis("raw bit error rate", "log", ticks),
            Axis("mean read latency, µs", zero=True),
            (
                Series("formula", rates, theory, "line", colour=0),
                Series("simulated", rates, seen, draw="points", colour=0),
            ),
        )

    return Drawing("retry", runs, draw)


def _steps() -> Drawing:
    steps = {"kind": "steps", "step_pages": 8}
    first = scheduling.stepped({"ftl.collection": steps})
    work = steady_writes(40_000, poisson(150.0))
    runs = {
        "whole": Run(vary(first, {"ftl.collection": "whole"}), work),
        "steps of 8 pages": Run(vary(first, {"controller.scheduler": "out_of_order"}), work),
        "steps, writes first": Run(first, work),
    }
    return Drawing(
        "steps",
        runs,
        partial(_percentiles, "150 random writes a second, one die: collection", "write"),
    )


def _idle() -> Drawing:
    off = scheduling.stepped()
    goal = {"after_us": 1000, "spare_blocks_goal": 8}
    burst, count, points = 512, 4, 8
    work = steady_writes(burst * count, 1)
    work |= {"idle": {"busy": {"ios": burst}, "idle_ms": 2000}, "samples": count * points}
    runs = {
        "without": Run(off, work),
        "collecting in pauses": Run(vary(off, {"ftl.idle_collection": goal}), work),
    }

    def draw(results: Results) -> Plot:
        lines = []
        for name, document in results.items():
            means = document["series"]["latency_us_mean"]
            written = [(index + 1) * burst * count / len(means) for index in range(len(means))]
            lines.append(Series(name, written, means))
        ends = [0.0, float(burst * count)]
        lines.append(Series("tPROG + x", ends, [PROGRAM + TRANSFER] * 2, draw="dashed"))
        ticks = tuple((float(burst * index), str(burst * index)) for index in range(count + 1))
        return plot(
            "Bursts of 512 random writes with pauses of 2 s between them",
            Axis("pages written; a pause at every line", "linear", ticks),
            Axis("mean write latency, µs", zero=True),
            lines,
        )

    return Drawing("idle", runs, draw)


def _dynamic() -> Drawing:
    depths, dies = (1, 2, 4, 8, 16, 32), 8
    fixed = bench(dies, 1)
    free = vary(fixed, {"ftl.allocation": "dynamic"})
    runs = {
        f"{name} {depth}": Run(device, timed("random", depth, 20_000, 0.0))
        for name, device in (("fixed", fixed), ("free", free))
        for depth in depths
    }

    def draw(results: Results) -> Plot:
        unit = 1e6 / (PROGRAM + TRANSFER) / 1e3
        theory = {
            "free": [min(depth, dies) * unit for depth in depths],
            "fixed": [busy_dies(dies, depth) * unit for depth in depths],
        }
        lines = []
        for index, (name, text) in enumerate((("free", "dynamic"), ("fixed", "striped"))):
            seen = [
                lookup(results[f"{name} {depth}"], "metrics.iops.write") / 1e3 for depth in depths
            ]
            lines += pair(text, depths, theory[name], seen, index)
        ticks = tuple((float(depth), str(depth)) for depth in depths)
        return plot(
            "Random writes on eight dies: pages with a fixed die, and without",
            Axis("commands outstanding", "log", ticks),
            Axis("thousand writes per second", zero=True),
            lines,
        )

    return Drawing("dynamic", runs, draw)


def _slc_cache() -> Drawing:
    work = timed("sequential", 4, 600, 0.0)
    work["samples"] = 30
    fold, direct = translation.cached("fold"), translation.cached("direct")
    runs = {
        "when_full: direct": Run(direct, work),
        "when_full: fold": Run(fold, work),
        "without cache": Run(vary(fold, {"ftl.slc_cache": "none"}), work),
    }

    def draw(results: Results) -> Plot:
        lines = []
        for name, document in results.items():
            rates = document["series"]["throughput_mb_s"]
            written = [(index + 1) * 600 / len(rates) for index in range(len(rates))]
            lines.append(Series(name, written, rates, "line"))
        return plot(
            "A single-bit cache of 200 pages: burst and cliff",
            Axis("pages written"),
            Axis("written, MB/s", zero=True),
            lines,
        )

    return Drawing("slc-cache", runs, draw)


def _compression() -> Drawing:
    ratios = (0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
    runs = {}
    for share in ratios:
        keys = {"ftl.compression": {"data": "file", "ratio": share}}
        device = vary(one_die(), keys)
        runs[f"sequential {share}"] = Run(device, timed("sequential", 16, 3000, 0.0))
        runs[f"random {share}"] = Run(device, {**steady_writes(12_000), "timed": False})

    def draw(results: Results) -> Plot:
        lines = [
            Series(
                f"{name} writes",
                ratios,
                [lookup(results[f"{name} {share}"], "metrics.waf") for share in ratios],
                draw,
            )
            for name, draw in RATIOS
        ]
        lines.append(Series("ratio", ratios, ratios, draw="dashed", colour=1))
        return plot(
            "Compression: bytes programmed over bytes written",
            Axis("compressed size over size"),
            Axis("WAF", zero=True),
            lines,
        )

    return Drawing("compression", runs, draw)


def _die_stripe() -> Drawing:
    # As many pages in each superblock, and a quarter more raw pages than the host sees.
    counts = (6, 8, 12, 16, 24, 48)
    logs, runs = {}, {}
    for dies in counts:
        shape = superblocks.Shape(dies, 240 // dies, 1, 0.25)
        logs[dies], runs[str(dies)] = superblocks.uniform(shape, 512)

    def draw(results: Results) -> Plot:
        greedy = [uniform_formula("greedy", log.pages_per_block) for log in logs.values()]
        data = [
            formula(log.spare_factor) for formula, log in zip(greedy, logs.values(), strict=True)
        ]
        flash = [waf * dies / (dies - 1) for waf, dies in zip(data, counts, strict=True)]
        found = [[results[str(dies)]] for dies in counts]
        seen = {
            "data": [superblocks.data_waf(documents) for documents in found],
            "flash": [lookup(documents[0], "metrics.waf") for documents in found],
        }
        ticks = tuple((float(dies), str(dies)) for dies in counts)
        return plot(
            "Parity across dies: greedy collection, 25 % more raw pages than logical ones",
            Axis("dies of a row", "log", ticks),
            Axis("programs for each page of the host", zero=True),
            (
                *pair("with parity", counts, flash, seen["flash"], 0),
                *pair("data", counts, data, seen["data"], 1),
            ),
        )

    return Drawing("die-stripe", runs, draw)


def _thermal() -> Drawing:
    off, on, work = host.heated()
    work = {**work, "samples": 150, "total": {"seconds": 1.5}}
    cold = vary(on, {"host.throttle.thermal.start_c": 45.0})
    runs = {"without": Run(off, work), "throttled": Run(cold, work)}

    def draw(results: Results) -> Plot:
        lines = [
            Series(name, document["series"]["t_s"], document["series"]["throughput_mb_s"], "line")
            for name, document in results.items()
        ]
        return plot(
            "A drive that heats up in a fifth of a second, from 45 degrees Celsius",
            Axis("time, s"),
            Axis("read, MB/s", zero=True),
            lines,
        )

    return Drawing("thermal", runs, draw)


def _read_cache() -> Drawing:
    sizes, skews = (10, 30, 100, 300, 1000), (0.6, 0.9, 1.2)
    logical = host.LOGICAL_PAGES
    runs = {}
    for theta in skews:
        for pages in sizes:
            device = vary(one_die(), {"host.read_cache": {"pages": pages, "policy": "lru"}})
            work: Workload = timed("random", 1, 100_000)
            work["pattern"] = {"kind": "zipf", "theta": theta}
            runs[f"{theta} {pages}"] = Run(device, work)

    def draw(results: Results) -> Plot:
        lines = []
        for index, theta in enumerate(skews):
            weights = [rank**-theta for rank in range(1, logical + 1)]
            theory = [host.che_hit_ratio(weights, pages) for pages in sizes]
            seen = [
                lookup(results[f"{theta} {pages}"], "metrics.host_pages.read_cache_hits") / 100_000
                for pages in sizes
            ]
            lines += pair(f"zipf {theta}, Che", sizes, theory, seen, index)
        ticks = tuple((float(pages), str(pages)) for pages in sizes)
        return plot(
            f"Read cache of least recently used pages, drive of {logical} pages",
            Axis("pages of the cache", "log", ticks),
            Axis("hits over reads", zero=True),
            lines,
        )

    return Drawing("read-cache", runs, draw)


def pair(
    name: str, x: Sequence[float], line: Sequence[float], seen: Sequence[float], place: int
) -> list[Series]:
    """Return a line, and simulated points next to it; the legend says those once.

    Args:
        name: Of the line; it may end with `, formula` or `, measured`.
        x: Of both.
        line: A formula, or what was measured.
        seen: What was simulated.
        place: Number of the pair, which gives its colour.
    """
    base, _, what = name.rpartition(", ")
    is_said = what in {"formula", "measured"}
    points = f"{base}, simulated" if is_said else f"simulated {place}"
    legend = "" if place else "simulated"
    return [
        Series(name, x, line, "line", colour=place),
        Series(points, x, seen, "points", colour=place, legend=legend),
    ]


def _percentiles(title: str, kind: str, results: Results) -> Plot:
    lines = []
    for name, document in results.items():
        latency = document["metrics"]["latency_us"][kind]
        points = [(place, latency[key]) for key, place in PERCENTILES]
        lines.append(Series(name, [x for x, _ in points], [y for _, y in points]))
    return plot(
        title,
        Axis(f"percentile of {kind} latency", "log", PERCENTILE_TICKS),
        Axis(f"{kind} latency, µs", "log"),
        lines,
    )


# How often the drive of the picture is filled before it is read; its blocks see 0.77 of that.
PICTURE_FILLS = tuple(range(0, 6500, 500))


def recovery() -> Drawing:
    """Return the drawing of reads under stress: page reads by recovery step over wear."""
    device = {
        "name": "recovery",
        "nand": {
            "channels": 1,
            "dies_per_channel": 4,
            "planes_per_die": 1,
            "blocks_per_plane": 16,
            "pages_per_block": 48,
            "page_size_bytes": PAGE_BYTES,
            "oob_size_bytes": 512,
            "wear_out": "ignore",
            "stress": {"retention_h": 720},
        },
        "ftl": {"over_provisioning_pct": 0.3, "gc_reserve_blocks": 2, "parity": {"stripe": 4}},
        "ecc": {"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"},
        "controller": {"read_retry": {"step_count_max": 3}, "soft_read": {"reads": [3, 7]}},
        "reliability": {"kind": "states"},
    }
    runs = {}
    for fills in PICTURE_FILLS:
        work = recovery_suite.stressed_reads(reads=20_000)
        steps = [{"kind": "sequential_fill", "fills": 500}] * (fills // 500)
        work["precondition"] = [{"kind": "sequential_fill"}, *steps]
        runs[str(fills)] = Run(device, work)
    return Drawing("ecc-recovery", runs, _drawn)


def _drawn(results: Mapping[str, Document]) -> Plot:
    wear, shares = [], []
    for fills in PICTURE_FILLS:
        document = results[str(fills)]
        wear.append(lookup(document, "metrics.wear.mean"))
        steps = document["metrics"]["recovery"]
        reads = sum(document["metrics"]["reads"].values())
        soft = steps["soft"]
        counts = (
            steps["first_read"],
            sum(steps["retry"]),
            soft["3"],
            soft["7"],
            steps["rebuilt"],
            steps["uncorrectable"],
        )
        shares.append([100.0 * count / reads for count in counts])
    names = ("first read", "retry", "3 reads", "7 reads", "rebuilt", "lost")
    lines = [Series(name, wear, [row[index] for row in shares]) for index, name in enumerate(names)]
    return plot(
        "Page reads by the step that corrected them, 720 h after programming",
        Axis("program/erase cycles", zero=True),
        Axis("share of page reads, %", zero=True),
        lines,
    )
