"""Real World Storage Workload: the IO streams of a capture on a drive, together and alone.

```text
capture ─► its most frequent streams, shares renormalised ─► mix
  multi     purge, fill, the mix to its steady state
  streams   of each stream: purge, fill, the stream alone to its steady state
  replay    purge, fill, then step by step: all streams, their counts, queue depth, pause
  sweep     the demand test (49 combinations of threads and queue depth) with the mix
```
If the streams did not disturb each other, the mix would take the sum of their times: its rate is
1 / sum(p_i / IOPS_i) for the shares p_i. *Mix efficiency* is the measured rate over that.

A step of the replay has its requests in random order, at the queue depth of the capture, rounded;
captures without response times are replayed at the outstanding requests of the test. Then it pauses
for the idle time of the capture, or if that is unknown, for the rest of the step.

Source: SNIA, Real World Storage Workload (RWSW) Performance Test Specification, Technical Position,
25 May 2018, known here from its public summary: captures, replay, steady states of the mix and of
single streams, and a sweep. Names, order and the efficiency are of the implementation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.core.capture import load_capture
from opennandlab.documents.capture import CaptureDocument, CaptureStep, CaptureStream
from opennandlab.documents.pts import PtsDocument, Table, from_file
from opennandlab.documents.pts_demand import DemandResults
from opennandlab.documents.pts_header import Header, Target
from opennandlab.documents.pts_rwsw import (
    RwswCapture,
    RwswLoad,
    RwswResults,
    RwswStep,
    RwswStream,
)
from opennandlab.documents.saved import read_document, refuse_edited
from opennandlab.pts.bench import demand
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.patterns import Mix
from opennandlab.pts.bench.plan import RANDOM_LOAD, Option, Plan
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import CellPlan, Rounds, Tracking, until_steady
from opennandlab.pts.bench.test import Test
from opennandlab.targets import mixture
from opennandlab.targets.base import IoStream, Limit, Stimulus

TESTS = ("multi", "streams", "replay", "sweep")
STREAMS = 9
# fio takes some 0.3 s to start, of each step: of longer ones that is a twentieth at most.
REAL_STEP_S_MIN = 6.0
# Of a replay in a smoke.
SMOKE_STEPS = 4
QUEUE_DEPTH_MAX = 4096
PTS_SCHEMA = "opennandlab.pts/1"


def tests_of(text: str) -> tuple[str, ...]:
    """Return the tests that a text names, in their order.

    Raises:
        ValueError: for another one.

    >>> tests_of("streams,multi")
    ('multi', 'streams')
    """
    named = [name.strip() for name in text.split(",")]
    for name in named:
        if name not in TESTS:
            raise ValueError(f"`{name}` is not a test")
    return tuple(name for name in TESTS if name in named)


@dataclass(frozen=True)
class Workload:
    """The capture of a test, and the streams of its mix.

    Args:
        capture: The capture.
        streams: The streams.
        shares: Their shares, by count; the sum is 1.
    """

    capture: CaptureDocument
    streams: Sequence[CaptureStream]
    shares: Sequence[float]

    @classmethod
    def of(cls, bench: Bench) -> Workload:
        """Read the capture of a test.

        Raises:
            ConfigError: for one that is missing, damaged, or that the target cannot do.
        """
        path = bench.plan.options.get("capture")
        if path is None:
            raise ConfigError("capture", "is missing; accepted: a file of `trace capture`")
        try:
            capture = load_capture(str(path))
        except ResultError as error:
            message = f"{error}; `trace capture` makes one from a trace"
            raise ConfigError("capture", message) from error
        streams = capture.streams[: int(bench.plan.number("streams"))]
        total = math.fsum(one.share for one in streams)
        if not total:
            raise ConfigError("capture", "its first streams have no share; accepted: more than 0")
        return cls(capture, streams, [one.share / total for one in streams])

    def check(self, streams: Sequence[CaptureStream], sector_bytes: int) -> None:
        """Refuse requests that are no whole sectors of the target.

        Raises:
            ConfigError: with the stream.
        """
        for one in streams:
            if one.size_bytes % sector_bytes:
                message = f"the stream {one.label}: {one.size_bytes} bytes a request"
                accepted = f"whole sectors of the target, of {sector_bytes} bytes"
                raise ConfigError("capture", f"{message}; accepted: {accepted}")

    @property
    def mix(self) -> Mix:
        """The mix of the streams."""
        pairs = zip(self.streams, self.shares, strict=True)
        found = tuple(_stream(one, share) for one, share in pairs if share)
        return Mix.of("rwsw", f"{len(found)} streams of {self.capture.name}", found)

    def facts(self) -> RwswCapture:
        """Return the record of the capture."""
        return RwswCapture(
            name=self.capture.name,
            digest=self.capture.digest,
            streams=len(self.capture.streams),
            covered=math.fsum(one.share for one in self.streams),
        )


def _stream(one: CaptureStream, weight: float) -> IoStream:
    order = IoStream("random", one.size_bytes, one.op == "R", weight)
    return replace(order, order="sequential") if one.order == "SEQ" else order


def mix_efficiency(iops: float | None, streams: Sequence[RwswStream]) -> float | None:
    """Return the measured mix over the harmonic composition of its streams; None if one is unknown.

    >>> from opennandlab.documents.pts_rwsw import RwswLoad, RwswStream
    >>> def stream(share: float, iops: float) -> RwswStream:
    ...     load = RwswLoad(attained=True, iops=iops, mb_s=None, lat_us_mean=None,
    ...                     lat_us_p99=None, waf=None)
    ...     return RwswStream(label="", share=share, alone=load)
    >>> mix_efficiency(100.0, [stream(0.5, 100.0), stream(0.5, 300.0)])
    0.6666666666666667
    """
    times = []
    for stream in streams:
        alone = None if stream.alone is None else stream.alone.iops
        if not alone:
            return None
        times.append(stream.share / alone)
    return None if iops is None or not times else iops * math.fsum(times)


def run(bench: Bench) -> Findings:
    """Run the tests that the option names, each from a purge on."""
    tests = tests_of(bench.plan.text("tests"))
    workload = Workload.of(bench)
    wanted = workload.capture.streams if "replay" in tests else workload.streams
    workload.check(wanted, bench.plan.sector_bytes)
    steps = _steps(bench, workload.capture) if "replay" in tests else []
    other = _Other.of(bench, workload, tests)
    bench.bind(workload.capture.digest)
    mix = None
    if "multi" in tests:
        mix = _alone(bench, workload.mix, "mix")
    alone: list[RwswLoad | None] = [None] * len(workload.streams)
    if "streams" in tests:
        for at, one in enumerate(workload.streams):
            single = Mix.of("stream", one.label, (_stream(one, 1.0),))
            alone[at] = _alone(bench, single, one.label)
    streams = [
        RwswStream(label=one.label, share=share, alone=load)
        for one, share, load in zip(workload.streams, workload.shares, alone, strict=True)
    ]
    replayed = _replay(bench, workload.capture, steps) if "replay" in tests else None
    swept = demand.run(bench, workload.mix) if "sweep" in tests else None
    sweep = swept.results if swept is not None else None
    loads = [load for load in (mix, *alone) if load is not None]
    attained = [load.attained for load in loads]
    if isinstance(sweep, DemandResults):
        attained.append(sweep.attained)
    rate = mix.iops if mix is not None else other.mix_iops
    results = RwswResults(
        attained=all(attained),
        tests=list(tests),
        capture=workload.facts(),
        streams=streams,
        mix=mix,
        mix_efficiency=mix_efficiency(rate, other.streams or streams),
        other=other.digest,
        replay=replayed,
        sweep=sweep if isinstance(sweep, DemandResults) else None,
    )
    return Findings(
        results=results,
        tables=[*_tables(results), *(swept.tables if swept else [])],
        histograms=swept.histograms if swept else [],
    )


def _alone(bench: Bench, mix: Mix, group: str) -> RwswLoad:
    """Purge, fill, and run a load to its steady state."""
    bench.purge(group=group)
    bench.precondition(group=group)
    stimulus = bench.stimulus(**mix.fields())
    if len(mix.streams) == 1:
        # A single stream is what targets draw themselves, many times faster.
        stimulus = replace(stimulus, pattern=mix.streams[0].order, streams=())
    rounds = _to_steady(bench, stimulus, group)
    ns = rounds.latency(0).quantile_ns(0.99)
    return RwswLoad(
        attained=rounds.attained,
        iops=rounds.mean(0, "iops"),
        mb_s=rounds.mean(0, "mb_s"),
        lat_us_mean=rounds.mean(0, "lat_us_mean"),
        lat_us_p99=None if ns is None else ns * 1e-3,
        waf=rounds.mean(0, "waf"),
    )


def _to_steady(bench: Bench, stimulus: Stimulus, label: str) -> Rounds:
    """Run a load until it is steady, in rounds of 30 minutes and a sample; streams continue."""
    limit, gap = bench.plan.time.cell(stimulus), bench.plan.time.gap(stimulus)
    cells: list[Cell] = []

    def measure(length: Limit, part: str | None = None) -> Cell:
        start = cells[-1].measurement.end_bytes if cells else 0
        one = replace(stimulus, start_bytes=start)
        cells.append(bench.measure(one, length, label=label, part=part))
        return cells[-1]

    def run_round(_: int) -> list[Cell]:
        measure(gap, "gap")
        return [measure(limit)]

    tracked = [Tracking("iops", 0, CellPlan(stimulus, limit, label))]
    return until_steady(bench, run_round, tracked, phase="load", group=label, cells=2)


def _steps(bench: Bench, capture: CaptureDocument) -> Sequence[CaptureStep]:
    """Return the steps to replay.

    Raises:
        ConfigError: for a capture without steps, or with steps too short for a real target.
    """
    if capture.steps is None or capture.step_s is None:
        reason = capture.no_steps or "none in the file"
        message = f"no steps to replay ({reason}); accepted: --test multi, streams or sweep"
        raise ConfigError("capture", message)
    if not bench.target.is_virtual and capture.step_s < REAL_STEP_S_MIN:
        message = f"steps of {capture.step_s:g} s, of which fio would take 0.3 s each to start"
        accepted = f"replay of steps of {REAL_STEP_S_MIN:g} s or more on a real target"
        raise ConfigError("capture", f"{message}; accepted: {accepted}, or a simulated drive")
    count, time = len(capture.steps), bench.plan.time
    if time.name == "smoke" and count > SMOKE_STEPS:
        time.noted["steps of the replay"] = f"{SMOKE_STEPS} (standard: {count})"
        return capture.steps[:SMOKE_STEPS]
    return capture.steps


def _replay(bench: Bench, capture: CaptureDocument, steps: Sequence[CaptureStep]) -> list[RwswStep]:
    """Purge, fill, and run the steps one after the other."""
    group = "replay"
    bench.purge(group=group)
    bench.precondition(group=group)
    bench.restart_point()
    found = []
    busy = sum(1 for step in steps if any(one.count for one in step.counts))
    with bench.phase("replay", group=group, cells=busy):
        for number, step in enumerate(steps, start=1):
            found.append(_step(bench, capture, step, number))
    return found


def _step(bench: Bench, capture: CaptureDocument, step: CaptureStep, number: int) -> RwswStep:
    """Run the requests of a step, and pause."""
    whole_s = capture.step_s or 0.0
    # The last step ends with the capture.
    length_s = min(whole_s, max(0.0, capture.span_s - (number - 1) * whole_s))
    streams = [_stream(capture.streams[one.stream], one.count) for one in step.counts if one.count]
    count = sum(one.count for one in step.counts)
    depth, busy_s, cell = 0, 0.0, None
    if count:
        asked = bench.plan.threads * bench.plan.queue_depth
        wanted = asked if step.queue_depth is None else round(step.queue_depth)
        depth = min(max(wanted, 1), count, QUEUE_DEPTH_MAX)
        base = bench.stimulus(threads=1, queue_depth=depth)
        stimulus = mixture.of(base, streams, is_counted=True)
        cell = bench.measure(stimulus, Limit(ios=count), label=f"step {number}", is_cell=False)
        busy_s = cell.measurement.elapsed_s or 0.0
    idle_s = max(0.0, length_s - busy_s) if step.idle_s is None else step.idle_s
    bench.idle(idle_s)
    return RwswStep(
        requests=count,
        queue_depth=depth,
        busy_s=busy_s,
        idle_s=idle_s,
        mb_s=None if cell is None else cell.measurement.mb_s,
        lat_us_mean=None if cell is None else cell.latency_us_mean,
        lat_us_p99=None if cell is None else cell.value("lat_us_p99"),
        captured_mb_s=step.mb_s,
    )


@dataclass(frozen=True)
class _Other:
    """The half of the mix efficiency that another run has measured.

    Args:
        digest: Digest of its document; None without one.
        mix_iops: IOPS of its mix; None if it has none.
        streams: Its streams, if they were run alone.
    """

    digest: str | None = None
    mix_iops: float | None = None
    streams: Sequence[RwswStream] = ()

    @classmethod
    def of(cls, bench: Bench, workload: Workload, tests: Sequence[str]) -> _Other:
        """Read the document of the option, if one is given.

        Raises:
            ConfigError: for one of another capture, load or device, or without the other half.
        """
        given = bench.plan.options.get("other")
        if given is None:
            return cls()
        halves = [name for name in ("multi", "streams") if name in tests]
        if len(halves) != 1:
            message = f"next to --test {','.join(tests)}; accepted: with one of multi and streams"
            raise ConfigError("other", message)
        document = _document(Path(str(given)))
        results = document.results
        if not isinstance(results, RwswResults):
            raise ConfigError(
                "other", f"{given}: a document of `{document.test}`; accepted: one of `rwsw`"
            )
        cls._compare(bench, workload, document, results)
        if "multi" in halves:
            if any(one.alone is None for one in results.streams):
                raise ConfigError(
                    "other", f"{given}: has no `streams`; accepted: a document that has them"
                )
            bench.bind(document.digest)
            return cls(document.digest, None, results.streams)
        if results.mix is None or results.mix.iops is None:
            raise ConfigError("other", f"{given}: has no `multi`; accepted: a document that has it")
        bench.bind(document.digest)
        return cls(document.digest, results.mix.iops)

    @staticmethod
    def _compare(
        bench: Bench, workload: Workload, document: PtsDocument, results: RwswResults
    ) -> None:
        """Refuse a document of which another number would be made."""
        here, there = bench.facts.device, document.header.target.device
        pairs = {
            "capture": (workload.capture.digest, results.capture.digest),
            "streams": (len(workload.streams), len(results.streams)),
            "threads": (bench.plan.threads, document.header.threads),
            "queue depth": (bench.plan.queue_depth, document.header.queue_depth),
            "device": (
                (here.config_sha256, here.serial_sha256, here.capacity_bytes),
                (there.config_sha256, there.serial_sha256, there.capacity_bytes),
            ),
            "time base": (bench.plan.time.name, document.header.time_base.name),
            "active range": (_range_of(bench.plan), _range_of(document.header)),
            "data": (bench.plan.settings.data, document.header.data),
            "write cache": (
                "enabled" if bench.plan.cache_enabled else "disabled",
                document.header.cache.asked,
            ),
            "state of the drive": (_wear_of(bench.facts), _wear_of(document.header.target)),
        }
        for name, (mine, other) in pairs.items():
            if mine != other:
                words = f"{name} {other}" if isinstance(other, (int, str)) else f"another {name}"
                raise ConfigError("other", f"a run with {words}; accepted: the same as here")


def _range_of(of: Plan | Header) -> tuple[float, int | None, int | None]:
    """Return share, bytes and segments of an active range."""
    part = of.active_range
    amount = part.amount_bytes
    return part.share, amount, None if amount is None else part.segments


def _wear_of(target: Target) -> tuple[float | None, str | None]:
    """Return the mean erase count and the image before the test; 0 of a drive without a state."""
    state = target.state
    return (0.0, None) if state is None else (state.erase_count_mean, state.image_sha256)


def _document(path: Path) -> PtsDocument:
    """Read the document of a standard test.

    Raises:
        ConfigError: for an invalid file.
    """
    try:
        found = read_document(path, [PTS_SCHEMA])
        refuse_edited(path, found)
        return from_file(found)[0]
    except ResultError as error:
        raise ConfigError("other", str(error)) from error


def _tables(results: RwswResults) -> Iterator[Table]:
    """Yield the table of the streams, and that of the replay."""

    def figure(stream: RwswStream, name: str) -> float | None:
        return None if stream.alone is None else getattr(stream.alone, name)

    if "multi" in results.tests or "streams" in results.tests:
        rows = {one.label: one for one in results.streams}
        rows["mix"] = RwswStream(label="mix", share=1.0, alone=results.mix)
        yield listing(
            "streams",
            "The streams alone, and their mix",
            "%; IOPS; MB/s; µs",
            "Stream",
            rows,
            {
                "share (%)": lambda one: 100 * one.share,
                "IOPS": lambda one: figure(one, "iops"),
                "MB/s": lambda one: figure(one, "mb_s"),
                "mean (µs)": lambda one: figure(one, "lat_us_mean"),
                "99 % (µs)": lambda one: figure(one, "lat_us_p99"),
                "WAF": lambda one: figure(one, "waf"),
            },
        )
    if results.replay is not None:
        yield listing(
            "replay",
            "The replay, step by step",
            "s; MB/s; µs",
            "Step",
            {str(number): one for number, one in enumerate(results.replay, start=1)},
            {
                "requests": "requests",
                "QD": "queue_depth",
                "busy (s)": "busy_s",
                "idle (s)": "idle_s",
                "MB/s": "mb_s",
                "mean (µs)": "lat_us_mean",
                "99 % (µs)": "lat_us_p99",
            },
        )


TEST = Test(
    name="rwsw",
    title="Real World Storage Workload",
    summary="The IO streams of a capture: their mix, each alone, a replay by steps, a sweep.",
    run=run,
    load=RANDOM_LOAD,
    options=(
        Option("capture", "", "The capture, a file of `trace capture`; required.", reader=Path),
        Option(
            "tests",
            "multi,streams",
            "One or more of multi, streams, replay and sweep.",
            accepted="multi, streams, replay, sweep, or several with commas",
            reader=tests_of,
            spelled="test",
        ),
        Option(
            "streams",
            STREAMS,
            "Number of streams in the mix, the most frequent first.",
            minimum=1,
            maximum=64,
        ),
        Option(
            "other",
            "",
            "For the mix efficiency: the saved document of the other test, multi or streams.",
            reader=Path,
        ),
        *demand.OPTIONS,
    ),
)
