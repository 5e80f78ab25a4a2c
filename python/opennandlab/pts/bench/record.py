"""What a bench writes down: cells with their figures, phases, and how far everything is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from opennandlab.documents import pts, pts_header
from opennandlab.documents.ocp import DeviceLogs
from opennandlab.pts.bench.findings import Findings
from opennandlab.stats.histogram import Histogram
from opennandlab.stats.steady import SteadyState
from opennandlab.targets.base import CacheState, Measurement, Stimulus

COLUMNS = pts.Cell.__struct_fields__
# Shares of the columns lat_us_p50 to lat_us_p99999.
QUANTILES = (0.5, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True)
class Cell:
    """A stimulus that was measured.

    Args:
        phase: Part of the test it belongs to, such as `round`.
        group: Part of the phase with a purge of its own, such as `1024 KiB`; mostly empty.
        round: Number of the round, from 1; None outside rounds.
        stimulus: What was done.
        label: Its name in tables.
        start_s: Device time at which it began.
        measurement: What came of it.
        written_bytes: Bytes written since the last purge, at its end.
    """

    phase: str
    group: str
    round: int | None
    stimulus: Stimulus
    label: str
    start_s: float
    measurement: Measurement
    written_bytes: int

    @property
    def iops(self) -> float:
        """Requests of both kinds per second."""
        return self.measurement.iops

    @property
    def end_s(self) -> float:
        """Device time at which it ended."""
        return self.start_s + (self.measurement.elapsed_s or 0.0)

    @cached_property
    def latency(self) -> Histogram:
        """Response times of all requests."""
        return self.measurement.latency

    @property
    def latency_us_mean(self) -> float | None:
        """Mean response time over all requests (ART), each counting once."""
        mean = self.latency.mean_ns
        return None if mean is None else mean * 1e-3

    @property
    def latency_us_max(self) -> float | None:
        """Longest response time (MRT)."""
        return self.latency.max_ns * 1e-3 if self.latency.count else None

    @property
    def waf(self) -> float | None:
        """Bytes programmed per byte written; None where the target does not tell."""
        nand = self.measurement.inside.get("nand_bytes_written")
        written = self.measurement.written_bytes
        return None if nand is None or not written else nand / written

    @property
    def power_w(self) -> float | None:
        """Mean power of the drive in the window, watts; None where it is unknown."""
        return self.measurement.inside.get("power_w")

    @property
    def lost_pages(self) -> int:
        """Pages of reads that gave no data, since nothing corrected them."""
        return int(self.measurement.inside.get("lost_read_pages") or 0)

    @property
    def is_short(self) -> bool:
        """Whether a cell of a closed loop has fewer requests than were outstanding."""
        asked = self.stimulus
        return not asked.rate_per_s and self.measurement.ios < asked.outstanding

    def value(self, metric: str) -> float | None:
        """Return one of the values of the row, by the name of its column."""
        if metric in COLUMNS[7:]:
            return _number(getattr(self.row(), metric))
        raise KeyError(metric)

    def row(self) -> pts.Cell:
        """Return the row of the document."""
        done, asked = self.measurement, self.stimulus
        block = asked.block_bytes
        p50, p99, p999, p9999, p99999 = (
            _us(self.latency.quantile_ns(share)) for share in QUANTILES
        )
        return pts.Cell(
            phase=self.phase,
            round=self.round,
            rw_pct=_whole(asked.read_pct),
            block_bytes=block if isinstance(block, int) else None,
            threads=asked.threads,
            queue_depth=asked.queue_depth,
            label=self.label,
            start_s=self.start_s,
            seconds=done.seconds,
            ios=done.ios,
            iops=done.iops,
            read_iops=done.rate(done.reads.ios),
            write_iops=done.rate(done.writes.ios),
            mb_s=done.mb_s,
            read_mb_s=done.rate(done.reads.bytes * 1e-6),
            write_mb_s=done.rate(done.writes.bytes * 1e-6),
            lat_us_mean=self.latency_us_mean,
            lat_us_p50=p50,
            lat_us_p99=p99,
            lat_us_p999=p999,
            lat_us_p9999=p9999,
            lat_us_p99999=p99999,
            lat_us_max=self.latency_us_max,
            written_bytes=self.written_bytes,
            waf=self.waf,
            cpu_pct=done.inside.get("cpu_pct"),
            **efficiency(self.power_w, done.iops, done.mb_s),
            at_s=done.inside.get("began_at_s"),
        )


def efficiency(power_w: float | None, iops: float, mb_s: float) -> dict[str, float | None]:
    """Return the columns of a cell that follow from its power.

    >>> efficiency(4.0, 1000.0, 100.0)
    {'power_w': 4.0, 'j_per_gb': 40.0, 'iops_per_w': 250.0}
    """
    return {
        "power_w": power_w,
        "j_per_gb": None if power_w is None or mb_s <= 0 else power_w / (mb_s * 1e-3),
        "iops_per_w": None if not power_w else iops / power_w,
    }


@dataclass
class Progress:
    """How far a test is, for those who watch it.

    Args:
        test: Its name.
        phase: Part of the test, such as `round`.
        label: What is being done.
        round: Number of the round, from 1; None outside rounds.
        rounds_max: Rounds after which the phase ends in any case.
        cell: Place within the round or phase, from 1.
        cells: How many that are; None when unknown.
        fraction: Part of the step that is over; None when unknown.
        device_s: Time passed in the target.
        elapsed_s: Wall time since the test began.
        eta_s: Wall time until the end, at most, at the speed so far; None before that is known.
        eta_least_s: The same at least, if it is steady as soon as it can be.
        work: What was done of the test by this run; see `outlook`.
        number: Place of the test in its suite, from 1.
        count: How many tests that are.
        total_s: Wall time until the end of the suite, at most; None for a test alone.
        total_least_s: The same at least.
        steady: The rule, applied to the last rounds; None before the first.
    """

    test: str
    phase: str = ""
    label: str = ""
    round: int | None = None
    rounds_max: int | None = None
    cell: int = 0
    cells: int | None = None
    fraction: float | None = None
    device_s: float = 0.0
    elapsed_s: float = 0.0
    eta_s: float | None = None
    eta_least_s: float | None = None
    work: float = 0.0
    number: int = 1
    count: int = 1
    total_s: float | None = None
    total_least_s: float | None = None
    steady: SteadyState | None = None


Watcher = Callable[[Progress], None]


@dataclass
class Phase:
    """A part of the record, in device time."""

    name: str
    round: int | None
    group: str
    start_s: float
    end_s: float | None = None
    written_bytes: int = 0
    cells: int = 0
    # Which of them, from 1, were followed by the rest of their minute.
    rests: list[int] = field(default_factory=list)


@dataclass
class Record:
    """All that happened so far, from which the document is made."""

    phases: list[Phase] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    purge: pts_header.Purge | None = None
    wipc: pts_header.Wipc | None = None
    cache: CacheState = "unknown"
    logs_before: DeviceLogs | None = None
    cells_left_out: list[str] = field(default_factory=list)
    temperatures_c: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # Cells whose figures do not agree by Little's law, and by how much.
    littles_law: list[tuple[str, float]] = field(default_factory=list)
    # Cells with reads that gave no data: name, pages.
    lost: list[tuple[str, int]] = field(default_factory=list)
    # Cells with fewer requests than were outstanding: name, requests, outstanding.
    short: list[tuple[str, int, int]] = field(default_factory=list)
    # Of a test that goes from point to point: what it knows by the points that are done.
    so_far: Findings | None = None
    # Filled by the rounds: entries of `steady_state`.
    steady: dict[str, list[pts.Steady]] = field(default_factory=dict)


def _us(ns: int | None) -> float | None:
    return None if ns is None else ns * 1e-3


def _whole(value: float) -> float:
    """Return 65 for 65.0."""
    return int(value) if value == int(value) else value


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
