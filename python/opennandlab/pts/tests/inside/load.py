"""Load: how long reads take next to writes that come at a fixed rate.

    purge | one pass | three uniform overwrites | closed loop: what the drive sustains |
    for each rate: a probe of 50/50 at 10 000 requests/s, and next to it 99 % writes at the rate

All requests are uniform, of 4 KiB, and made by Poisson processes, so that a slow drive does not
slow its hosts down. What the probe measures is what another user of the drive would. The *knee* is
the largest load at which its p99 is at most twice that of the lowest load.

A host can have threads x depth outstanding; where that is reached, requests wait outside, and their
response time begins when the drive gets them (so fio does it too): beyond saturation response times
stop growing, and the achieved rate is below the one asked for. Results state this.

The probe itself may be more than a drive can do, half of it being writes: it is then *starved*, and
what it measures is a closed loop. Where it is so next to the lowest load there is no knee.

A window over which nothing is moved shows a drive without collection. That is so where the range in
use is small against the spare area: then the results say that too.

Source: the method of SSD-iq (G. Haas and co-authors, 2025); the knee is of the implementation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from msgspec import structs

from opennandlab.base.errors import ConfigError
from opennandlab.documents.pts import Histogram, Table
from opennandlab.documents.pts_inside import LoadPoint, LoadResults
from opennandlab.pts.bench.document import histogram, table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import Option, Profile
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.inside import course
from opennandlab.pts.tests.inside.facts import inside_of
from opennandlab.targets.base import Limit, LoadPart, Stimulus

# Six threads of 64, and one for the probe.
LOAD: dict[Profile, tuple[int, int]] = {"E": (6, 64), "C": (6, 64)}
PROBE_READ_PCT, LOAD_READ_PCT = 50.0, 1.0
DEFAULT = "10%,25%,40%,55%,70%,85%,100%,110%"
# What the core can draw.
RATE_MAX = 1e9
KNEE = 2.0
OVERWRITES = 3.0
# Of the capacity, in simulated time: settling before, and the closed loop.
SETTLE, SUSTAINED = 0.02, 0.05
# Requests of a point, of which a tenth comes before the window.
IOS, IOS_SMOKE, RAMP = 1_500_000, 30_000, 0.1
SECONDS = {"full": 300.0, "scaled": 30.0, "smoke": 1.0}
SUSTAINED_SECONDS = {"full": 120.0, "scaled": 15.0, "smoke": 1.0}
# A load that gets less than this of what it asks for is too much.
ACHIEVED = 0.97
# A probe that gets less than this of what it asks for is starved.
FED = 0.9
# A point that is shorter may not see a single request.
POINT_S_MIN = 0.1
# Below it nothing worth mention was moved.
MOVED = 1.02
PERCENTILES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999))
SIDES = ("read", "write")


@dataclass(frozen=True)
class Rate:
    """A load: writes a second, or a share of what is sustained.

    Args:
        value: The rate, or the share.
        is_share: Which of both.
    """

    value: float
    is_share: bool

    def per_s(self, sustained: float) -> float:
        """Return writes a second."""
        return self.value * sustained if self.is_share else self.value


def rates(text: str) -> list[Rate]:
    """Read loads.

    Raises:
        ValueError: for one that is invalid.

    >>> rates("50%,40k")
    [Rate(value=0.5, is_share=True), Rate(value=40000.0, is_share=False)]
    """
    found: list[Rate] = []
    for word in (one.strip() for one in text.split(",")):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(%|k|M)?", word)
        if match is None:
            raise ValueError(f"`{word}` is not a rate")
        value = float(match[1]) * {"%": 0.01, "k": 1e3, "M": 1e6, None: 1.0}[match[2]]
        is_share = match[2] == "%"
        if not (0.001 <= value <= 10 if is_share else 1 <= value <= RATE_MAX):
            raise ValueError(f"`{word}` is out of range")
        rate = Rate(value, is_share)
        if rate in found:
            raise ValueError(f"`{word}` is named twice")
        found.append(rate)
    return found


def run(bench: Bench) -> Findings:
    """Prepare the drive, find what it sustains, and try every load."""
    plan, limit = bench.plan, limit_of(bench, bench.plan.number("seconds"))
    probe_per_s = plan.number("probe")
    writes = bench.stimulus(block_bytes=course.SMALL, read_pct=LOAD_READ_PCT)
    _prepare(bench)
    sustained = _sustained(bench, writes)
    asked = [it.per_s(sustained) for it in rates(plan.text("rates"))]
    cells: list[Cell] = []
    points: list[LoadPoint] = []
    for rate in asked:
        point, cell = beside(bench, writes, rate, probe_per_s, limit)
        cells.append(cell)
        points.append(point)
        # The knee takes all points: a run that is cut has none.
        bench.record.so_far = _found(bench, sustained, points, cells)
    hungry = starved(points, probe_per_s, sustained)
    if hungry is not None:
        bench.warn(hungry)
    _warn(bench, points, cells)
    found = _found(bench, sustained, points, cells)
    known = structs.replace(found.results, knee_per_s=knee(points, probe_per_s))
    return replace(found, results=known)


def _found(bench: Bench, sustained: float, points: list[LoadPoint], cells: list[Cell]) -> Findings:
    """Return all but the knee."""
    return Findings(
        LoadResults(
            probe_per_s=bench.plan.number("probe"),
            sustained_per_s=sustained,
            knee_per_s=None,
            sees_collection=_sees_collection(bench, cells),
            points=[*points],
        ),
        tables=[_table(points)],
        histograms=[_reads(point, cell) for point, cell in zip(points, cells, strict=True)],
    )


def _prepare(bench: Bench) -> None:
    """Purge, fill, and overwrite."""
    plan = bench.plan
    unit = plan.time.capacity_bytes * plan.active_range.share
    overwrites = OVERWRITES * (course.SMOKE if plan.time.name == "smoke" else 1.0)
    bench.purge()
    course.prepare(bench, "", "sequential", plan.active_range)
    stimulus = bench.stimulus(block_bytes=course.SMALL)
    with bench.phase("overwrite", cells=2):
        limit = Limit(bytes=course.whole(overwrites * unit))
        bench.measure(stimulus, limit, label="RND 4 KiB 0/100", is_measured=False)
        if plan.time.is_virtual:
            limit = Limit(bytes=course.whole(SETTLE * unit))
            bench.measure(stimulus, limit, label="RND 4 KiB 0/100")


def _sustained(bench: Bench, writes: Stimulus) -> float:
    """Return the writes a second of a closed loop, reads left out."""
    plan = bench.plan
    limit = Limit(seconds=SUSTAINED_SECONDS[plan.time.name])
    if plan.time.is_virtual:
        unit = plan.time.capacity_bytes * plan.active_range.share
        limit = Limit(bytes=course.whole(SUSTAINED * unit))
    with bench.phase("sustained", cells=1):
        done = bench.measure(writes, limit, label="closed loop").measurement
    return done.writes.ios / done.seconds if done.seconds > 0 else 0.0


def beside(
    bench: Bench, writes: Stimulus, rate: float, probe_per_s: float, limit: Limit
) -> tuple[LoadPoint, Cell]:
    """Measure the probe with the load next to it, of which `rate` a second are writes."""
    load = replace(writes, rate_per_s=max(rate / (1.0 - LOAD_READ_PCT / 100.0), 1.0))
    probe = replace(
        writes, read_pct=PROBE_READ_PCT, threads=1, rate_per_s=probe_per_s, beside=(load,)
    )
    with bench.phase("load", group=_name(rate), cells=1):
        cell = bench.measure(probe, limit, label=_name(rate))
    return _point(rate, cell), cell


def limit_of(bench: Bench, seconds: float) -> Limit:
    """Return the length of a point; 0 seconds for that of the time base."""
    plan = bench.plan
    if 0 < seconds < POINT_S_MIN:
        raise ConfigError(
            "seconds", f"{seconds:g} is too small; accepted: 0, or from {POINT_S_MIN}"
        )
    if seconds:
        return Limit(seconds=seconds, ramp_ratio=RAMP)
    if plan.time.is_virtual:
        return Limit(ios=IOS_SMOKE if plan.time.name == "smoke" else IOS, ramp_ratio=RAMP)
    return Limit(seconds=SECONDS[plan.time.name], ramp_ratio=RAMP)


def _point(asked: float, cell: Cell) -> LoadPoint:
    done = cell.measurement
    probe, load = parts(cell)
    writes = done.writes.ios - probe.writes.ios
    achieved = writes / done.seconds if done.seconds > 0 else 0.0
    return LoadPoint(
        asked_per_s=asked,
        achieved_per_s=achieved,
        is_achieved=achieved >= ACHIEVED * asked,
        load_us_p99=_us(load, "writes", 0.99),
        waf=cell.waf,
        probe_achieved_per_s=_rate(probe, cell) if cell.measurement.loads else None,
        **{f"read_us_{name}": _us(probe, "reads", share) for name, share in PERCENTILES},
        **{f"write_us_{name}": _us(probe, "writes", share) for name, share in PERCENTILES},
    )


def _rate(part: LoadPart, cell: Cell) -> float | None:
    seconds = cell.measurement.seconds
    return (part.reads.ios + part.writes.ios) / seconds if seconds > 0 else None


def parts(cell: Cell) -> tuple[LoadPart, LoadPart]:
    """Return what the probe got, and what the load next to it."""
    loads = cell.measurement.loads
    if len(loads) == 2:
        return loads[0], loads[1]
    # A rehearsal does not keep them apart.
    whole = LoadPart(cell.measurement.reads, cell.measurement.writes)
    return whole, whole


def _us(part: LoadPart, side: str, share: float) -> float | None:
    requests = part.reads if side == "reads" else part.writes
    latency = requests.latency
    # As everywhere: a percentile has at least ten requests beyond it.
    if latency.count * (1.0 - share) < 10.0:
        return None
    found = latency.quantile_ns(share)
    return None if found is None else found * 1e-3


def knee(points: list[LoadPoint], probe_per_s: float) -> float | None:
    """Return the largest load whose reads have a p99 of at most twice that of the lowest load.

    Loads that were not achieved, and all above the first that is slower, do not count. A probe that
    is starved next to the lowest load has nothing to be compared with.
    """
    ordered = sorted(points, key=lambda point: point.asked_per_s)
    found = None
    if ordered and _is_starved(ordered[0], probe_per_s):
        return None
    for point in ordered:
        least = ordered[0].read_us_p99
        if point.read_us_p99 is None or least is None or not point.is_achieved:
            break
        if point.read_us_p99 > KNEE * least:
            break
        found = point.asked_per_s
    return found


def starved(points: list[LoadPoint], probe_per_s: float, sustained: float) -> str | None:
    """Return what to say of the points at which the probe got too little; None without any."""
    ordered = sorted(points, key=lambda point: point.asked_per_s)
    short = [point for point in ordered if _is_starved(point, probe_per_s)]
    if not short:
        return None
    named = ", ".join(
        f"{_digits(_of_probe(point))}/s ({_of_probe(point) / probe_per_s:.0%}) beside "
        + _name(point.asked_per_s)
        for point in short
    )
    asked, writes = (
        _digits(rate) for rate in (probe_per_s, probe_per_s * (1.0 - PROBE_READ_PCT / 100.0))
    )
    text = (
        f"the probe asks for {asked} requests/s, {writes} of them writes, and got {named}; the "
        f"drive sustains {_name(sustained)}: its response times there are those of a full queue"
    )
    if short[0] is ordered[0]:
        text += ", and with a probe that is starved beside the lowest load there is no knee"
    return f"{text} (--probe asks for less)"


def _is_starved(point: LoadPoint, probe_per_s: float) -> bool:
    return point.probe_achieved_per_s is not None and _of_probe(point) < FED * probe_per_s


def _of_probe(point: LoadPoint) -> float:
    return float(point.probe_achieved_per_s or 0.0)


def _sees_collection(bench: Bench, cells: list[Cell]) -> bool | None:
    """Whether data was moved in the windows; None if that is unknown."""
    waf = course.waf_of(cells)
    known = inside_of(bench)
    if waf is None:
        return None
    return waf > MOVED * (known.programs if known else 1.0)


def _warn(bench: Bench, points: list[LoadPoint], cells: list[Cell]) -> None:
    for point in points:
        if not point.is_achieved:
            bench.warn(
                f"{_name(point.asked_per_s)}: only {_name(point.achieved_per_s)} were achieved; "
                f"response times start when the drive receives a request, without earlier waits"
            )
    seen, share = (
        _sees_collection(bench, cells),
        bench.plan.range_bytes / bench.plan.time.capacity_bytes,
    )
    known = inside_of(bench)
    if seen is False:
        used = bench.plan.range_bytes * bench.target.shrink
        spare = f", with {known.raw_bytes * 1e-9:.4g} GB of flash" if known else ""
        bench.warn(
            "the windows saw no collection: the range in use is "
            f"{used * 1e-9:.4g} GB{spare}; response times are those of a drive "
            "that moves nothing"
        )
    elif seen is None and share < 1.0:
        bench.warn(
            f"only {share:.0%} of the drive is in use, the rest is spare area: whether the windows "
            "saw collection is unknown"
        )
    bench.warn(
        "response times run from the moment at which the drive is given a request, not from its "
        "arrival at the host"
    )


def _name(rate: float) -> str:
    return f"{_digits(rate)} writes/s"


def _digits(rate: float) -> str:
    return f"{rate:,.0f}".replace(",", " ")


def _reads(point: LoadPoint, cell: Cell) -> Histogram:
    rate, (probe, _) = point.asked_per_s, parts(cell)
    return histogram(
        f"reads_{rate:.0f}", f"Reads of the probe beside {_name(rate)}", probe.reads.latency
    )


def _table(points: list[LoadPoint]) -> Table:
    sides = [(side, name, share) for side in SIDES for name, share in PERCENTILES]
    return table(
        "load",
        "Response times of the probe by the writes beside it",
        "writes/s; ms",
        row_label="writes/s asked for",
        rows=[f"{point.asked_per_s:.0f}" for point in points],
        columns=[
            "achieved",
            "probe, requests/s",
            *(f"{side} {100 * share:g} %, ms" for side, _, share in sides),
        ],
        values=[
            [
                point.achieved_per_s,
                point.probe_achieved_per_s,
                *(_ms(getattr(point, f"{side}_us_{name}")) for side, name, _ in sides),
            ]
            for point in points
        ],
    )


def _ms(us: float | None) -> float | None:
    return None if us is None else us * 1e-3


TEST = Test(
    name="load",
    title="Latency against load",
    summary="Probe reads and writes while writes run at a fixed rate, raised up to saturation.",
    run=run,
    load=LOAD,
    wipc=False,
    cache_enabled=True,
    options=(
        Option(
            "rates",
            DEFAULT,
            "Writes a second next to the probe, by commas: shares of the sustained rate, or 40k.",
            accepted="shares from 0.1% to 1000% or rates such as 40k, by commas",
            reader=rates,
        ),
        Option("probe", 10_000.0, "Requests a second of the probe.", minimum=1, maximum=RATE_MAX),
        Option("seconds", 0.0, "Length of a point; 0: as in the time base."),
    ),
)
