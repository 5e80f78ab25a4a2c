"""What others measured on three drives, and what their models give: drawings of the docs.

Lines are measured, marked points are simulated. The runs are those of the suite `measured`.
"""

from __future__ import annotations

from collections.abc import Callable

from mechanisms import Drawing, Results, pair, plot
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.studies.validation.case import lookup
from opennandlab.studies.validation.measured import (
    DRIVES,
    MICRON,
    PRO,
    SOLIDIGM,
    fills,
    loads,
    skews,
    zones,
)
from opennandlab.studies.validation.suites import measured as suite

# Loads below saturation of the P5520.
LOAD_MAX = 100
# That of the suite, so that its table and the drawings show the same.
SEED = 1


def drawings() -> list[Drawing]:
    """Return the drawings in the order of the page."""
    return [_skew(), _fills(), _zones(), _loads()]


def _skew() -> Drawing:
    # Two classes of addresses are known of one drive.
    laws = {drive: skews(drive)[: len(skews(PRO))] for drive in DRIVES}
    runs = {
        f"{drive.short} {it.name}": suite.skew_run(drive, it)
        for drive, listed in laws.items()
        for it in listed
    }

    def draw(results: Results) -> Plot:
        places = [float(place) for place in range(len(laws[PRO]))]
        lines: list[Series] = []
        for place, (drive, listed) in enumerate(laws.items()):
            seen = [lookup(results[f"{drive.short} {it.name}"], suite.RATE) for it in listed]
            measured = [it.mb_s for it in listed]
            lines += pair(f"{drive.title}, measured", places, measured, seen, place)
        names = (it.name.replace("static-", "s ").replace("zipf-", "z ") for it in laws[PRO])
        ticks = tuple(zip(places, (name.replace("uniform", "u") for name in names), strict=True))
        return plot(
            "Steady random writes of 4 KiB",
            Axis("u: uniform; z: Zipf, exponent; s: static, share", ticks=ticks),
            Axis("written, MB/s", zero=True), lines,
        )  # fmt: skip

    return Drawing("measured-skew", runs, draw, SEED)


def _fills() -> Drawing:
    parts = {drive: fills(drive) for drive in (MICRON, PRO)}
    runs = {
        f"{drive.short} {it.gib}": suite.fill_run(drive, it)
        for drive, listed in parts.items()
        for it in listed
    }

    def draw(results: Results) -> Plot:
        lines: list[Series] = []
        for place, (drive, listed) in enumerate(parts.items()):
            seen = [lookup(results[f"{drive.short} {it.gib}"], suite.RATE) for it in listed]
            gib, rates = [it.gib for it in listed], [it.mb_s for it in listed]
            lines += pair(f"{drive.title}, measured", gib, rates, seen, place)
        return plot(
            "Uniform writes to a part of the drive", Axis("in use, GiB"),
            Axis("written, MB/s", zero=True), lines,
        )  # fmt: skip

    return Drawing("measured-fills", runs, draw, SEED)


def _zones() -> Drawing:
    curves = {
        drive: sorted((it for it in zones(drive) if it.open == 1), key=lambda it: it.mib)
        for drive in DRIVES
    }
    runs = {
        f"{drive.short} {it.mib}": suite.zones_run(drive, it)
        for drive, curve in curves.items()
        for it in curve
    }

    def draw(results: Results) -> Plot:
        lines: list[Series] = []
        for place, (drive, curve) in enumerate(curves.items()):
            seen = [suite.steady_mb_s([results[f"{drive.short} {it.mib}"]]) for it in curve]
            gib, rates = [it.mib / 1024 for it in curve], [it.mb_s for it in curve]
            lines += pair(f"{drive.title}, measured", gib, rates, seen, place)
        sizes = Axis(
            "zone, GiB", "log", tuple((gib, f"{gib:g}") for gib in (1.0, 2.0, 4.0, 8.0, 16.0))
        )
        return plot("Zones, one open", sizes, Axis("written, MB/s", zero=True), lines)

    return Drawing("measured-zones", runs, draw, SEED)


def _loads() -> Drawing:
    below = [it for it in loads(SOLIDIGM) if it.k_writes <= LOAD_MAX]
    runs = {str(it.k_writes): suite.load_run(SOLIDIGM, it) for it in below}

    def draw(results: Results) -> Plot:
        x = [it.achieved / 1e3 for it in below]
        lines: list[Series] = []
        for place, (key, name) in enumerate(suite.PERCENTILES.items()):
            measure: Callable[..., float] = suite.probe("read", key)
            seen = [measure([results[str(it.k_writes)]]) for it in below]
            measured = [it.us["read", key] for it in below]
            lines += pair(f"{name} of reads, measured", x, measured, seen, place)
        return plot(
            f"{SOLIDIGM.title}: reads during writes", Axis("writes per second, thousands"),
            Axis("latency, µs", zero=True), lines,
        )  # fmt: skip

    return Drawing("measured-loads", runs, draw, SEED)
