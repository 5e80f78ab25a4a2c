"""The words between a test and what it measures: a stimulus, its limit, what came of it.

A test says *what* to do (`Stimulus`) and *for how long* (`Limit`) and gets counts and response
times back (`Measurement`). How it is done, by a simulated drive in virtual time or by fio in real
time, is the target's own business.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from opennandlab.base.errors import ConfigError, OpenNandLabError
from opennandlab.documents import pts_header
from opennandlab.documents.ocp import DeviceLogs
from opennandlab.stats.histogram import Histogram

Pattern = Literal["random", "sequential", "shuffled"]
SkewLaw = Literal["zipf", "static"]
Data = Literal["random", "file"]
CacheState = Literal["enabled", "disabled", "absent", "unknown"]


class TargetError(OpenNandLabError):
    """A target that is refused, or that failed in the middle of a test (exit code 3)."""


class WornOutError(TargetError):
    """A simulated drive without blocks that take another erase; going on leads to the same."""


@dataclass(frozen=True)
class Zone:
    """A part of the active range and how often it is accessed.

    Args:
        range_share: Part of the active range, 0 to 1; zones follow each other from its start.
        access_share: Part of the requests that start in it, 0 to 1.
    """

    range_share: float
    access_share: float


@dataclass(frozen=True)
class ActiveRange:
    """Which addresses a stimulus may touch.

    Args:
        share: Part of the user capacity, from its start; above 0, at most 1.
        amount_bytes: None for all of that part; else so many bytes of it, in segments.
        segments: Equal, separate segments that hold `amount_bytes`, spread over that part at
            places that follow from `seed`; PTS-C 1.x names 2048.
        seed: Decides the places.
    """

    share: float = 1.0
    amount_bytes: int | None = None
    segments: int = 2048
    seed: int = 42


@dataclass(frozen=True)
class Skew:
    """Random requests that prefer some places to others.

    Args:
        law: `zipf` (the k-th most popular place gets requests in proportion to k^-value), or
            `static` (the share `value` of the places is never used, the others are equally likely).
        value: The exponent, above 0, at most 10; or the share, above 0, below 1.
        shuffle: Whether popular places are spread over the range; if not they are the first.
        seed: Decides where they is: stimuli with one seed have the same.
        ranks_per_place: Neighbouring ranks of `zipf` that share a place: the law of a larger
            range.
    """

    law: SkewLaw
    value: float
    shuffle: bool = True
    seed: int = 42
    ranks_per_place: int = 1


@dataclass(frozen=True)
class Logs:
    """Zones that are written as logs: trimmed, then written from end to end.

    Args:
        zone_bytes: Size of a zone, a multiple of the request size.
        open: Zones that are written in turn; a full one is left for one drawn at random.
    """

    zone_bytes: int
    open: int = 1


@dataclass(frozen=True)
class IoStream:
    """Requests of one kind in a mix of several.

    Args:
        order: `random`, or `sequential`: each starts where the last of this stream and thread
            ended, from a place in the slice of its thread that follows from the seed.
        block_bytes: Size of the requests; they start at multiples of it.
        is_read: Whether they read.
        weight: Its share by count, any positive number.
    """

    order: Literal["random", "sequential"]
    block_bytes: int
    is_read: bool
    weight: float


@dataclass(frozen=True)
class Stimulus:
    """One access pattern.

    Args:
        pattern: `random`, or `sequential` (ascending, from the start again at the end of the
            range; with several threads each has an equal slice of the range for its own), or
            `shuffled` (every place of the range once, in an order that follows from its seed).
        read_pct: Share of requests that read, in percent by count; the others write.
        block_bytes: Size of requests, or pairs of size and share by count (any positive weights).
        threads: Threads (TC), at least 1.
        queue_depth: Requests outstanding per thread (QD), at least 1.
        active_range: Addresses in use.
        zones: Shares of random requests over parts of the range; none means uniform.
        align_bytes: Requests start at multiples of it; None for the block size, and for a mix of
            sizes 4096 bytes.
        start_bytes: Where a sequential stream begins, in bytes from the start of the range (of
            each slice, with several threads), so that it can go on where the last one ended.
        data: What is written: `random`, or `file` (compressible, as a file system holds it).
        skew: Shares of random requests over single places; None for equal ones.
        logs: Zones that are trimmed and written from end to end; None for none.
        rate_per_s: Requests of all threads per second, made by a Poisson process as long as fewer
            than `outstanding` are; None to make one whenever one completes.
        beside: Other stimuli at the same time, random ones without further ones next to them.
        streams: Kinds of requests that are drawn by weight in one closed loop; none for one kind.
            `read_pct` and `block_bytes` then hold what follows from them, see `mixture.of`.
        is_counted: Whether the weights of `streams` are counts: that number of requests is made
            of each, in random order, and then no more.
    """

    pattern: Pattern = "random"
    read_pct: float = 0.0
    block_bytes: int | tuple[tuple[int, float], ...] = 4096
    threads: int = 1
    queue_depth: int = 1
    active_range: ActiveRange = field(default_factory=ActiveRange)
    zones: tuple[Zone, ...] = ()
    align_bytes: int | None = None
    start_bytes: int = 0
    data: Data = "random"
    skew: Skew | None = None
    logs: Logs | None = None
    rate_per_s: float | None = None
    beside: tuple[Stimulus, ...] = ()
    streams: tuple[IoStream, ...] = ()
    is_counted: bool = False

    @property
    def outstanding(self) -> int:
        """Requests outstanding in all threads together (OIO)."""
        return self.threads * self.queue_depth


@dataclass(frozen=True)
class Limit:
    """When a stimulus ends: once all that is given is reached, or at `seconds_max`.

    Args:
        seconds: Time; 0 for none.
        ios: Completed requests; 0 for none.
        bytes: Bytes read and written; 0 for none.
        reclaims: Blocks that collections have reclaimed in every pool of a simulated drive, under
            random requests those with live pages; 0 for none. Other targets cannot count them and
            leave it out.
        seconds_max: Ends here in any case; None for never.
        ramp_ratio: Part of the limit at the start that is run but not measured, 0 to below 1.
        quiet_seconds: That part goes on until a simulated drive has programmed and erased nothing
            for so long, at most for half of `seconds_max`; 0 for none. Other targets cannot tell.
    """

    seconds: float = 0.0
    ios: int = 0
    bytes: int = 0
    reclaims: int = 0
    seconds_max: float | None = None
    ramp_ratio: float = 0.0
    quiet_seconds: float = 0.0


@dataclass(frozen=True)
class Requests:
    """Completed requests of one kind within the measured window.

    Args:
        ios: Number of requests.
        bytes: Bytes of all requests.
        latency: Response times, from submission to completion.
    """

    ios: int
    bytes: int
    latency: Histogram


@dataclass(frozen=True)
class LoadPart:
    """What one of several loads at the same time got.

    Args:
        reads: Its requests that read, in the window.
        writes: Its requests that wrote, in the window.
    """

    reads: Requests
    writes: Requests


@dataclass(frozen=True)
class Sample:
    """A piece of a measurement, of fixed length in time.

    Args:
        end_s: Its end, in seconds from the start of the stimulus.
        ios: Requests completed in it.
        bytes: Their bytes.
        latency_us_mean: Their mean response time; None without requests.
        latency_us_max: Their longest one.
    """

    end_s: float
    ios: int
    bytes: int
    latency_us_mean: float | None
    latency_us_max: float | None


@dataclass(frozen=True)
class Measurement:
    """What a stimulus gave.

    Args:
        seconds: Length of the measured window, the ramp left out.
        elapsed_s: Time of the whole stimulus; None where it ran without a clock.
        reads: Requests that read, in the window.
        writes: Requests that wrote, in the window.
        written_bytes: All bytes that the host wrote, the ramp included.
        end_bytes: Where a sequential stream would continue, as `Stimulus.start_bytes`.
        samples: Pieces in time, where they were asked for.
        inside: What only this kind of target knows, such as `nand_bytes_written` of a simulated
            one or `cpu_pct` of a real one. `clock_s` is the resolution of the clock that measured
            the window: rates have no more digits than it supports.
        loads: The stimulus and those next to it, each for itself; nothing for a single one.
    """

    seconds: float
    elapsed_s: float | None
    reads: Requests
    writes: Requests
    written_bytes: int
    end_bytes: int = 0
    samples: tuple[Sample, ...] = ()
    inside: dict[str, float | int | None] = field(default_factory=dict)
    loads: tuple[LoadPart, ...] = ()

    @property
    def ios(self) -> int:
        """Requests of both kinds."""
        return self.reads.ios + self.writes.ios

    @property
    def iops(self) -> float:
        """Requests of both kinds per second; 0 for a window without length."""
        return self.rate(self.ios)

    @property
    def mb_s(self) -> float:
        """10^6 bytes of both kinds per second."""
        return self.rate((self.reads.bytes + self.writes.bytes) * 1e-6)

    def rate(self, count: float) -> float:
        """Return a count of the window per second, with the digits that the clock supports.

        A quarter of a second by a clock of milliseconds is known to 0.4 %, so to three digits.
        """
        if self.seconds <= 0 or not count:
            return 0.0
        value = count / self.seconds
        clock_s = self.inside.get("clock_s")
        if not clock_s:
            return value
        digits = max(1, math.floor(math.log10(self.seconds / clock_s)) + 1)
        return round(value, digits - 1 - math.floor(math.log10(value)))

    @property
    def latency(self) -> Histogram:
        """Response times of all requests."""
        return Histogram.merged([self.reads.latency, self.writes.latency])


@dataclass(frozen=True)
class Purge:
    """How a target was purged.

    Args:
        method: Such as `erase of all blocks`, `nvme format`, `punch hole`.
        is_purge: Whether it left the target as if nothing had been written.
        note: What to know about it; empty for nothing.
    """

    method: str
    is_purge: bool
    note: str = ""


@dataclass(frozen=True)
class Step:
    """How far a stimulus is.

    Args:
        fraction: Part of its limit that is over, 0 to 1; None when that is unknown.
        target_s: Time passed in the target.
    """

    fraction: float | None
    target_s: float


Watcher = Callable[[Step], None]


@dataclass(frozen=True)
class Imprint:
    """What tells a real target from another one, and from one that was emptied.

    Args:
        identity: Identity of the file that holds the data; empty where its facts say enough.
        written_share: Of 4 KiB at places all over the capacity, the part that holds anything.
    """

    identity: str
    written_share: float


class Target(ABC):
    """A drive under test. A test calls these verbs one after the other, never two at once.

    Between two calls nothing is outstanding. On Ctrl-C a call ends within 0.2 s by
    `KeyboardInterrupt`, and what it started is stopped. A target that fails raises `TargetError`.
    """

    # `sim`, `file`, `device` or `nbd`.
    kind: ClassVar[str]
    # Whether time passes only while a stimulus runs, so that it costs nothing.
    is_virtual: ClassVar[bool]
    # Whether minutes of the specification cost it next to nothing, whatever the test.
    prefers_full: bool = False
    # As the user named it.
    name: str
    # Bytes that the host can address.
    capacity_bytes: int
    # Smallest request: 512 or 4096.
    sector_bytes: int
    # What it did otherwise than asked until now, each once; for the header of a report.
    deviations: Sequence[str] = ()
    # What was set by hand and has no effect, each once; for the warnings of a document.
    warnings: Sequence[str] = ()
    # Why `nand_bytes_written` is unknown; nothing where `Measurement.inside` has it.
    waf_missing: str = ""
    # Whether neither earlier writes nor a pause change its speed.
    has_no_memory: bool = False
    # The state that a simulated drive was asked to have before its first stimulus.
    state: str | None = None
    # By what a simulated drive was divided; its capacity is that of the part.
    shrink: int = 1
    # Whether the drive itself has logs that can be read.
    has_logs: bool = False
    # Called while a purge waits for a drive that states how far it is.
    purge_watch: Watcher | None = None

    @abstractmethod
    def facts(self) -> pts_header.Target:
        """Return what a report says of the target."""

    def state_facts(self) -> pts_header.DriveState | None:
        """Return the state that it was given before its first stimulus; None without any."""
        return None

    def power_facts(self) -> pts_header.Power:
        """Return where the watts of its measurements come from; most targets have none."""
        why = "its energies are not modelled" if self.is_virtual else "no power log was given"
        return pts_header.Power(source=None, counted=[], idle_w=None, missing=why)

    def host_path(self) -> pts_header.HostPath | None:
        """Return how requests reached the target until now; None where nothing is known."""
        return None

    def device_logs(self) -> DeviceLogs:
        """Return the logs of the drive; only with `has_logs`."""
        raise TargetError(f"{self.name}: this kind of target has no logs")

    def watch_slow(self) -> None:
        """Count slow commands, for the logs of a simulated drive.

        Raises:
            ConfigError: for an unknown target.
        """
        raise ConfigError(
            "ocp",
            f"{self.name} is not simulated; accepted: sim: targets (the document of a real NVMe "
            "drive has its logs)",
        )

    @abstractmethod
    def set_cache(self, *, enabled: bool) -> CacheState:
        """Set the device's own volatile write cache, and return what is known of it then."""

    @abstractmethod
    def purge(self) -> Purge:
        """Bring it into the state in which nothing was written; wear stays."""

    def check(self, stimulus: Stimulus) -> None:
        """Refuse a stimulus that it could not take, before anything is done.

        Others than simulated drives take what fits into them.

        Raises:
            ConfigError: with what is accepted.
        """
        del stimulus

    @abstractmethod
    def run(  # noqa: PLR0913 (all but two by name)
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        seed: int,
        sample_s: float | None = None,
        is_measured: bool = True,
        watch: Watcher | None = None,
    ) -> Measurement:
        """Apply a stimulus until its limit.

        Args:
            stimulus: What to do.
            limit: For how long.
            seed: Decides the addresses.
            sample_s: Length of the pieces in `Measurement.samples`; None for none.
            is_measured: False for preconditioning, of which only bytes count: a simulated drive
                then writes without a clock, at the speed of memory.
            watch: Called from time to time.
        """

    @abstractmethod
    def idle(self, seconds: float) -> None:
        """Let time pass without requests."""

    def pass_time(self, seconds: float) -> None:
        """Let the clock go on for what ran without one, with nothing else happening.

        Only simulated drives run anything without a clock.
        """
        del seconds

    def imprint(self) -> Imprint | None:
        """Return what tells a real target from another one; None where a checkpoint holds all."""
        return None

    def checkpoint(self) -> bytes | None:
        """Return the state, from which `restore` makes an equal target; None if that is impossible.

        What follows depends on this state and on the seeds given later, on nothing else.
        """
        return None

    def restore(self, state: bytes) -> None:
        """Take a state that `checkpoint` returned."""
        del state
        raise TargetError(f"{self.name}: the state of this kind of target cannot be set")

    @abstractmethod
    def close(self) -> None:
        """Give back what the target holds; it may be called twice."""
