"""What the Real World Storage Workload test found out: `results` of its document."""

from __future__ import annotations

from opennandlab.documents.pts_base import Results
from opennandlab.documents.pts_demand import DemandResults
from opennandlab.documents.record import Number, Record

Figure = Number | None


class RwswCapture(Record, frozen=True, kw_only=True):
    """The capture of a test.

    Args:
        name: Name of its trace.
        digest: Its digest.
        streams: Number of its streams.
        covered: Share of its requests that the streams of the mix have.
    """

    name: str
    digest: str
    streams: int
    covered: Number


class RwswLoad(Record, frozen=True, kw_only=True):
    """A load in its steady state: means of the window.

    Args:
        attained: Whether the steady state was attained.
        iops: Requests per second.
        mb_s: 10^6 bytes per second.
        lat_us_mean: Mean response time, microseconds.
        lat_us_p99: 99 % response time of all requests of the window; `null` if there are too few.
        waf: Write amplification; `null` if unknown.
    """

    attained: bool
    iops: Figure
    mb_s: Figure
    lat_us_mean: Figure
    lat_us_p99: Figure
    waf: Figure


class RwswStream(Record, frozen=True, kw_only=True):
    """A stream of the mix.

    Args:
        label: Its name, such as `SEQ 64 KiB R`.
        share: Its share of the mix, by count; the sum is 1.
        alone: Its figures alone; `null` if that was not run.
    """

    label: str
    share: Number
    alone: RwswLoad | None


class RwswStep(Record, frozen=True, kw_only=True):
    """A step of the replay.

    Args:
        requests: Requests that were made.
        queue_depth: Requests outstanding; 0 without requests.
        busy_s: Time from the first request to the end of the last one, seconds.
        idle_s: Pause after them, seconds.
        mb_s: 10^6 bytes per second of the busy time; `null` without requests.
        lat_us_mean: Mean response time, microseconds; `null` without requests.
        lat_us_p99: 99 % response time; `null` with too few requests.
        captured_mb_s: 10^6 bytes per second of the capture.
    """

    requests: int
    queue_depth: int
    busy_s: Number
    idle_s: Number
    mb_s: Figure
    lat_us_mean: Figure
    lat_us_p99: Figure
    captured_mb_s: Number


class RwswResults(Results, frozen=True, kw_only=True):
    """Real World Storage Workload.

    Args:
        attained: Whether all steady states were attained; true if none was asked for.
        tests: The tests that were run.
        capture: The capture.
        streams: The streams of the mix.
        mix: The mix in its steady state; `null` if it was not run.
        mix_efficiency: IOPS of the mix times the sum of share over IOPS alone of each stream: the
            measured mix over its harmonic composition. `null` unless both are known.
        other: Digest of the document that had the mix, or the streams; absent without one.
        replay: The steps of the replay; `null` if it was not run.
        sweep: The demand test with the mix; `null` if it was not run.
    """

    attained: bool
    tests: list[str]
    capture: RwswCapture
    streams: list[RwswStream]
    mix: RwswLoad | None
    mix_efficiency: Figure
    other: str | None = None
    replay: list[RwswStep] | None
    sweep: DemandResults | None
