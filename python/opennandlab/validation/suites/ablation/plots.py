"""The gallery: what mechanisms do over a range of settings, over percentiles, over time.

Each drawing has the simulation in it and, where one exists, the formula of the suite's rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from opennandlab.reports.chart import Axis, Chart, Line
from opennandlab.theory.closed_loop import busy_dies
from opennandlab.theory.reliability import PageCode
from opennandlab.validation.case import Document, Run, lookup
from opennandlab.validation.devices import PAGE_BYTES, bench, poisson, timed
from opennandlab.validation.gallery import Plot
from opennandlab.validation.suites.ablation import host, scheduling, translation
from opennandlab.validation.suites.ablation.row import (
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

Results = Mapping[str, Document]
PERCENTILES = (("p50", 2.0), ("p90", 10.0), ("p99", 1e2), ("p999", 1e3))
PERCENTILE_TICKS = tuple(
    (place, text)
    for (_, place), text in zip(PERCENTILES, ("50 %", "90 %", "99 %", "99.9 %"), strict=True)
)


def plots() -> list[Plot]:
    """Return the plots of the suite.

    Returns:
        The plots.

    Example:
        >>> [plot.name for plot in plots()][:2]
        ['planes', 'cache-read']
    """
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
        _thermal(),
        _read_cache(),
    ]


def _planes() -> Plot:
    counts, dies = (1, 2, 4, 8), (1, 4, 16)
    runs = {}
    for die_count in dies:
        for planes in counts:
            device = bench(1, die_count, blocks_per_die=32)
            device["nand"]["planes_per_die"] = planes
            device["nand"]["multi_plane"] = planes > 1
            work = timed("sequential", 4 * planes * die_count, 2000 * die_count, 0.0)
            runs[f"{die_count} {planes}"] = Run(device, work)

    def draw(results: Results) -> Chart:
        lines = []
        for index, die_count in enumerate(dies):
            theory = [
                PAGE_BYTES * min(die_count * planes / (PROGRAM + planes * TRANSFER), 1 / TRANSFER)
                for planes in counts
            ]
            seen = [lookup(results[f"{die_count} {planes}"], WRITE_RATE) for planes in counts]
            name = f"{die_count} dies" if die_count > 1 else "1 die"
            lines += [
                Line(name, counts, theory, colour=index),
                _circles(counts, seen, index),
            ]
        ticks = tuple((float(planes), str(planes)) for planes in counts)
        return Chart(
            "Multi-plane programs on one channel of 409.6 MB/s",
            Axis("planes of a die", "log", ticks),
            Axis("written, MB/s", "log"),
            tuple(lines),
        )

    return Plot("planes", runs, draw)


def _cache_read() -> Plot:
    senses = (2.0, 5.0, 10.0, 20.0, 40.0, 80.0)
    work = timed("sequential", 8, 2000)
    runs = {}
    for sense in senses:
        device = one_die(t_read_us=sense)
        runs[f"off {sense}"] = Run(device, work)
        runs[f"on {sense}"] = Run(vary(device, {"nand.cache_commands.read": True}), work)

    def draw(results: Results) -> Chart:
        lines = []
        for index, (name, text) in enumerate((("on", "cache reads"), ("off", "one register"))):
            rates = [lookup(results[f"{name} {sense}"], READ_RATE) for sense in senses]
            theory = [
                PAGE_BYTES / (max(sense, TRANSFER) if name == "on" else sense + TRANSFER)
                for sense in senses
            ]
            lines += [
                Line(text, senses, theory, colour=index),
                _circles(senses, rates, index),
            ]
        ticks = tuple((sense, f"{sense:g}") for sense in senses)
        return Chart(
            "Cache reads of one die, transfer of 10 µs",
            Axis("tR, µs", "log", ticks),
            Axis("read, MB/s", zero=True),
            tuple(lines),
        )

    return Plot("cache-read", runs, draw)


def _orders_of_service() -> Plot:
    depths, dies = (1, 2, 4, 8, 16, 32), 8
    free = bench(dies, 1)
    strict = vary(free, {"controller.scheduler": "in_order"})
    runs = {
        f"{name} {depth}": Run(device, timed("random", depth, 30_000))
        for name, device in (("free", free), ("strict", strict))
        for depth in depths
    }

    def draw(results: Results) -> Chart:
        theory = [busy_dies(dies, depth) * 1e3 / READ_US for depth in depths]
        lines = [Line("a queue per die, exact chain", depths, theory, colour=0)]
        for index, (name, text) in enumerate((("free", "simulated"), ("strict", "one queue"))):
            rates = [
                lookup(results[f"{name} {depth}"], "metrics.iops.read") / 1e3 for depth in depths
            ]
            stroke = "none" if name == "free" else "solid"
            lines.append(Line(text, depths, rates, dots=True, stroke=stroke, colour=index))
        limit = [scheduling.strict_busy_dies(dies) * 1e3 / READ_US] * len(depths)
        lines.append(Line("its limit Q(8)", depths, limit, stroke="dashed", colour=1))
        ticks = tuple((float(depth), str(depth)) for depth in depths)
        return Chart(
            "Random reads of eight dies: in order and out of order",
            Axis("commands outstanding", "log", ticks),
            Axis("thousand reads per second", zero=True),
            tuple(lines),
        )

    return Plot("scheduler", runs, draw)


def _suspension() -> Plot:
    work = mixed({"queue_depth": poisson(100.0)}, {"queue_depth": 8}, 200.0)
    plain = one_die()
    first = vary(plain, {"controller.scheduler": "priority"})
    runs = {
        "in order of arrival": Run(plain, work),
        "reads first": Run(first, work),
        "programs suspended": Run(vary(first, {"controller.suspend.erase": False}), work),
        "erases too": Run(vary(first, {"controller.suspend": {}}), work),
    }
    return Plot(
        "suspend",
        runs,
        partial(_percentiles, "Reads beside writes without end, one die", "read"),
    )


def _retry() -> Plot:
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

    def draw(results: Results) -> Chart:
        seen = [lookup(results[str(rate)], "metrics.latency_us.read.mean") for rate in rates]
        theory = [
            READ_US + (READ_US + 2.0) * sum(code.failure(rate * 0.6**step) for step in range(5))
            for rate in rates
        ]
        ticks = tuple((rate, f"{rate:g}") for rate in rates)
        return Chart(
            "Read retry: BCH (255, 223), each step lowers the error rate to 0.6 of it",
            Axis("raw bit error rate", "log", ticks),
            Axis("mean read latency, µs", zero=True),
            (
                Line("formula", rates, theory, colour=0),
                Line("simulated", rates, seen, stroke="none", colour=0),
            ),
        )

    return Plot("retry", runs, draw)


def _steps() -> Plot:
    steps = {"kind": "steps", "step_pages": 8}
    first = scheduling.stepped({"ftl.collection": steps})
    work = steady_writes(40_000, poisson(150.0))
    runs = {
        "whole": Run(vary(first, {"ftl.collection": "whole"}), work),
        "steps of 8 pages": Run(vary(first, {"controller.scheduler": "out_of_order"}), work),
        "steps, writes first": Run(first, work),
    }
    return Plot(
        "steps",
        runs,
        partial(_percentiles, "150 random writes a second, one die: collection", "write"),
    )


def _idle() -> Plot:
    off = scheduling.stepped()
    goal = {"after_us": 1000, "spare_blocks_goal": 8}
    burst, count, points = 512, 4, 8
    work = steady_writes(burst * count, 1)
    work |= {"idle": {"busy": {"ios": burst}, "idle_ms": 2000}, "samples": count * points}
    runs = {
        "without": Run(off, work),
        "collecting in pauses": Run(vary(off, {"ftl.idle_collection": goal}), work),
    }

    def draw(results: Results) -> Chart:
        lines = []
        for name, document in results.items():
            means = document["series"]["latency_us_mean"]
            written = [(index + 1) * burst * count / len(means) for index in range(len(means))]
            lines.append(Line(name, written, means, dots=True))
        ends = [0.0, float(burst * count)]
        lines.append(Line("tPROG + x", ends, [PROGRAM + TRANSFER] * 2, stroke="dashed"))
        ticks = tuple((float(burst * index), str(burst * index)) for index in range(count + 1))
        return Chart(
            "Bursts of 512 random writes with pauses of 2 s between them",
            Axis("pages written; a pause at every line", "linear", ticks),
            Axis("mean write latency, µs", zero=True),
            tuple(lines),
        )

    return Plot("idle", runs, draw)


def _dynamic() -> Plot:
    depths, dies = (1, 2, 4, 8, 16, 32), 8
    fixed = bench(dies, 1)
    free = vary(fixed, {"ftl.allocation": "dynamic"})
    runs = {
        f"{name} {depth}": Run(device, timed("random", depth, 20_000, 0.0))
        for name, device in (("fixed", fixed), ("free", free))
        for depth in depths
    }

    def draw(results: Results) -> Chart:
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
            lines += [
                Line(text, depths, theory[name], colour=index),
                _circles(depths, seen, index),
            ]
        ticks = tuple((float(depth), str(depth)) for depth in depths)
        return Chart(
            "Random writes on eight dies: pages with a fixed die, and without",
            Axis("commands outstanding", "log", ticks),
            Axis("thousand writes per second", zero=True),
            tuple(lines),
        )

    return Plot("dynamic", runs, draw)


def _slc_cache() -> Plot:
    work = timed("sequential", 4, 600, 0.0)
    work["samples"] = 30
    fold, direct = translation.cached("fold"), translation.cached("direct")
    runs = {
        "when_full: direct": Run(direct, work),
        "when_full: fold": Run(fold, work),
        "without cache": Run(vary(fold, {"ftl.slc_cache": "none"}), work),
    }

    def draw(results: Results) -> Chart:
        lines = []
        for name, document in results.items():
            rates = document["series"]["throughput_mb_s"]
            written = [(index + 1) * 600 / len(rates) for index in range(len(rates))]
            lines.append(Line(name, written, rates))
        return Chart(
            "A single-bit cache of 200 pages: burst and cliff",
            Axis("pages written"),
            Axis("written, MB/s", zero=True),
            tuple(lines),
        )

    return Plot("slc-cache", runs, draw)


def _compression() -> Plot:
    ratios = (0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
    runs = {}
    for share in ratios:
        keys = {"ftl.compression": {"data": "file", "ratio": share}}
        device = vary(one_die(), keys)
        runs[f"sequential {share}"] = Run(device, timed("sequential", 16, 3000, 0.0))
        runs[f"random {share}"] = Run(device, {**steady_writes(12_000), "timed": False})

    def draw(results: Results) -> Chart:
        lines = [
            Line(
                f"{name} writes",
                ratios,
                [lookup(results[f"{name} {share}"], "metrics.waf") for share in ratios],
                dots=True,
                stroke=stroke,
            )
            for name, stroke in (("random", "solid"), ("sequential", "none"))
        ]
        lines.append(Line("ratio", ratios, ratios, stroke="dashed", colour=1))
        return Chart(
            "Compression: bytes programmed over bytes written",
            Axis("compressed size over size"),
            Axis("WAF", zero=True),
            tuple(lines),
        )

    return Plot("compression", runs, draw)


def _thermal() -> Plot:
    off, on, work = host.heated()
    work = {**work, "samples": 150, "total": {"seconds": 1.5}}
    cold = vary(on, {"host.throttle.thermal.start_c": 45.0})
    runs = {"without": Run(off, work), "throttled": Run(cold, work)}

    def draw(results: Results) -> Chart:
        lines = [
            Line(name, document["series"]["t_s"], document["series"]["throughput_mb_s"])
            for name, document in results.items()
        ]
        return Chart(
            "A drive that heats up in a fifth of a second, from 45 degrees Celsius",
            Axis("time, s"),
            Axis("read, MB/s", zero=True),
            tuple(lines),
        )

    return Plot("thermal", runs, draw)


def _read_cache() -> Plot:
    sizes, skews = (10, 30, 100, 300, 1000), (0.6, 0.9, 1.2)
    logical = host.LOGICAL_PAGES
    runs = {}
    for theta in skews:
        for pages in sizes:
            device = vary(one_die(), {"host.read_cache": {"pages": pages, "policy": "lru"}})
            work: Workload = timed("random", 1, 100_000)
            work["pattern"] = {"kind": "zipf", "theta": theta}
            runs[f"{theta} {pages}"] = Run(device, work)

    def draw(results: Results) -> Chart:
        lines = []
        for index, theta in enumerate(skews):
            weights = [rank**-theta for rank in range(1, logical + 1)]
            theory = [host.che_hit_ratio(weights, pages) for pages in sizes]
            seen = [
                lookup(results[f"{theta} {pages}"], "metrics.host_pages.read_cache_hits") / 100_000
                for pages in sizes
            ]
            lines += [
                Line(f"zipf {theta}, Che", sizes, theory, colour=index),
                _circles(sizes, seen, index),
            ]
        ticks = tuple((float(pages), str(pages)) for pages in sizes)
        return Chart(
            f"Read cache of least recently used pages, drive of {logical} pages",
            Axis("pages of the cache", "log", ticks),
            Axis("hits over reads", zero=True),
            tuple(lines),
        )

    return Plot("read-cache", runs, draw)


def _circles(x: Sequence[float], y: Sequence[float], index: int) -> Line:
    """Return simulated points in the colour of a formula; the legend says it once."""
    legend = "" if index else "simulated"
    return Line(f"simulated {index}", x, y, stroke="none", colour=index, legend=legend)


def _percentiles(title: str, kind: str, results: Results) -> Chart:
    lines = []
    for name, document in results.items():
        latency = document["metrics"]["latency_us"][kind]
        points = [(place, latency[key]) for key, place in PERCENTILES]
        lines.append(Line(name, [x for x, _ in points], [y for _, y in points], dots=True))
    return Chart(
        title,
        Axis(f"percentile of {kind} latency", "log", PERCENTILE_TICKS),
        Axis(f"{kind} latency, µs", "log"),
        tuple(lines),
    )
