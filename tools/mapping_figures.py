"""Ways to map next to each other: drawings of the docs.

The table of `examples/mapping_schemes.py` as a drawing, its runs and its seed; and the closed forms
with simulations of the suite `mapping`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from mechanisms import Drawing, Results, pair, plot
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.studies.validation.case import Run, lookup
from opennandlab.studies.validation.devices import overwrites
from opennandlab.studies.validation.suites.mapping import WAF, Cache, Shape
from opennandlab.theory.caching import che_hit_rate_zipf
from opennandlab.theory.mapping import waf_bast, waf_fast

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
# Blocks of data and their pages, for the curves over log blocks.
DATA, PAGES = 256, 64
LOGS = (1, 2, 4, 8, 16, 32, 64, 128, 192)
# Entries of the map, for the curves over what of it is cached.
ENTRIES = 65_536
SHARES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
EXPONENTS = (0.0, 0.8, 0.99, 1.2)
# Names of workloads below an axis.
SHORT = ("in order", "random", "Zipf", "hot/cold", "mixed")


def drawings() -> list[Drawing]:
    """Return the drawings in the order of the page."""
    return [_workloads(), _pathological(), _log_blocks(), _hit_rate()]


def _example() -> ModuleType:
    sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module("mapping_schemes")


def _workloads() -> Drawing:
    example = _example()
    runs = {
        f"{scheme} {name}": Run(device.to_dict(), work)
        for scheme in example.SCHEMES
        for name in example.TRAFFIC
        for device, work in [example.writes(scheme, name)]
    }

    def draw(results: Results) -> Plot:
        places = [float(place) for place in range(len(SHORT))]
        lines = [
            Series(
                scheme,
                places,
                [lookup(results[f"{scheme} {name}"], WAF) for name in example.TRAFFIC],
                "bars",
            )
            for scheme in example.SCHEMES
        ]
        ticks = tuple(zip(places, SHORT, strict=True))
        return plot(
            "Ways to map under five workloads",
            Axis("", ticks=ticks),
            Axis("write amplification", "log"),
            lines,
        )

    return Drawing("mapping-workloads", runs, draw)


def _pathological() -> Drawing:
    example = _example()
    runs = {
        f"{scheme} {state} {way}": Run(device.to_dict(), work)
        for scheme in example.SCHEMES
        for state in example.STATES
        for way in ("read", "write")
        for device, work in [example.after(scheme, state, way)]
    }

    def draw(results: Results) -> Plot:
        places = [float(place) for place in range(len(example.SCHEMES))]
        lines = [
            Series(f"{way}, written {state}", places, _rates(results, state, way), "bars")
            for way in ("read", "write")
            for state in example.STATES
        ]
        ticks = tuple(zip(places, example.SCHEMES, strict=True))
        return plot(
            "128 KiB in order, on drives that were written in order and at random",
            Axis("", ticks=ticks),
            Axis("MB/s", "log"),
            lines,
        )

    def _rates(results: Results, state: str, way: str) -> list[float]:
        path = f"metrics.throughput_mb_s.{way}"
        return [lookup(results[f"{scheme} {state} {way}"], path) for scheme in example.SCHEMES]

    return Drawing("mapping-pathological", runs, draw)


def _log_blocks() -> Drawing:
    # A long log takes some time to forget that it began empty.
    work = overwrites("random", 10.0, 10.0)
    runs = {
        f"{kind} {logs}": Run(Shape(DATA, logs, PAGES).device(mapping), work)
        for kind in ("bast", "fast")
        for logs in LOGS
        for mapping in [{"kind": kind, "log_blocks": logs}]
    }
    formulas = {"bast": waf_bast, "fast": waf_fast}

    def draw(results: Results) -> Plot:
        lines: list[Series] = []
        for place, (kind, formula) in enumerate(formulas.items()):
            theory = [formula(DATA, logs, PAGES) for logs in LOGS]
            seen = [lookup(results[f"{kind} {logs}"], WAF) for logs in LOGS]
            lines += pair(f"{kind}, formula", LOGS, theory, seen, place)
        ticks = tuple((float(logs), str(logs)) for logs in LOGS[:-1])
        return plot(
            f"Random writes of single pages, {DATA} blocks of data of {PAGES} pages",
            Axis("log blocks", "log", ticks),
            Axis("write amplification", "log"),
            lines,
        )

    return Drawing("mapping-log-blocks", runs, draw)


def _hit_rate() -> Drawing:
    caches = {
        (exponent, share): Cache(ENTRIES, round(ENTRIES * share), exponent)
        for exponent in EXPONENTS
        for share in SHARES
    }
    runs = {
        f"{exponent} {share}": Run(
            cache.device(),
            overwrites(cache.pattern, 0.0, 0.0, read_pct=100, total={"ios": 1_000_000}),
        )
        for (exponent, share), cache in caches.items()
    }

    def draw(results: Results) -> Plot:
        lines: list[Series] = []
        for place, exponent in enumerate(EXPONENTS):
            theory = [che_hit_rate_zipf(ENTRIES, exponent, round(ENTRIES * it)) for it in SHARES]
            seen = [
                lookup(results[f"{exponent} {share}"], "metrics.mapping.hit_rate")
                for share in SHARES
            ]
            name = f"Zipf {exponent:g}" if exponent else "uniform"
            lines += pair(f"{name}, formula", SHARES, theory, seen, place)
        ticks = tuple((share, f"1/{1 / share:.0f}") for share in SHARES)
        return plot(
            f"Hits of a cached map of {ENTRIES} entries",
            Axis("share of the map in memory", "log", ticks),
            Axis("hit rate", zero=True),
            lines,
        )

    return Drawing("mapping-hit-rate", runs, draw)
