"""What others measured on two enterprise drives, as data.

    RATED, SKEW, FILLS, ZONES, LOADS ──► suites.measured ──► measured beside predicted

All figures are published data of SSD-iq (G. Haas and co-authors, repository gabriel-haas/ssdiq-pub,
2025): 4 KiB random writes under skew, the WAF by what share of a drive is in use, writes to zones
that are trimmed before, and the latency of a probe beside writes at a fixed rate. MB are 10^6
bytes, GiB and MiB binary. A figure that fixed a key of a preset is marked by the suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MICRON, SOLIDIGM = "micron_7450_max_800gb", "solidigm_p5520_1920gb"

TITLES: Mapping[str, str] = {
    MICRON: "Micron 7450 MAX 800 GB",
    SOLIDIGM: "Solidigm D7-P5520 1.92 TB",
}

CAPACITY_BYTES: Mapping[str, float] = {MICRON: 800e9, SOLIDIGM: 1.92e12}

FIRST_MINUTE_MB_S: Mapping[str, float] = {MICRON: 1453.0, SOLIDIGM: 1981.0}
"""Random writes of 4 KiB in the first minute after a sequential fill."""

SEQUENTIAL_MB_S: Mapping[str, float] = {MICRON: 1458.0}
"""Sequential writes of 512 KiB with one outstanding, empty drive."""

READ_K_IOPS: Mapping[str, float] = {MICRON: 530.0, SOLIDIGM: 700.0}
"""Rated random reads of 4 KiB."""


@dataclass(frozen=True)
class Skew:
    """Random writes of 4 KiB, and the steady rate of both drives in MB/s.

    Example:
        >>> SKEW[0].name, SKEW[0].mb_s[MICRON]
        ('uniform', 653.0)
    """

    name: str
    pattern: Mapping[str, object]
    drive_writes: float
    """Written in all; the last fifth is what counts."""
    mb_s: Mapping[str, float]


def _zipf(theta: float, drive_writes: float, solidigm: float, micron: float) -> Skew:
    pattern = {"kind": "zipf", "theta": theta}
    mb_s = {SOLIDIGM: solidigm, MICRON: micron}
    return Skew(f"zipf-{theta:g}", pattern, drive_writes, mb_s)


def _static(share: float, solidigm: float, micron: float) -> Skew:
    written = round(1.0 - share, 1)
    pattern = {"kind": "hot_cold", "fraction": written, "share": 1.0, "shuffle": True}
    return Skew(f"static-{share:g}", pattern, 7.0, {SOLIDIGM: solidigm, MICRON: micron})


SKEW: tuple[Skew, ...] = (
    Skew("uniform", {"kind": "random"}, 5.0, {SOLIDIGM: 532.0, MICRON: 653.0}),
    _zipf(0.2, 5.0, 476.0, 648.0),
    _zipf(0.4, 5.0, 469.0, 631.0),
    _zipf(0.6, 5.0, 453.0, 603.0),
    _zipf(0.8, 5.0, 462.0, 580.0),
    _zipf(1.0, 6.0, 582.0, 581.0),
    _static(0.2, 530.0, 613.0),
    _static(0.4, 573.0, 613.0),
    _static(0.6, 674.0, 491.0),
    _static(0.8, 926.0, 1115.0),
    _static(0.9, 224.0, 1413.0),
)
"""In the order of the source. `static-0.2`: a fifth of the addresses is never rewritten."""


@dataclass(frozen=True)
class State:
    """How the P5520 was filled, how it was written then, and its WAF by its own log."""

    name: str
    pattern: Mapping[str, object]
    is_filled: bool
    drive_writes: float
    waf: float


STATES: tuple[State, ...] = (
    State(
        "uniform-after-sequential", {"kind": "random"}, is_filled=True, drive_writes=5.0, waf=3.50
    ),
    State("uniform-after-shuffled", {"kind": "random"}, is_filled=True, drive_writes=8.0, waf=3.57),
    State(
        "zipf-0.8-after-shuffled",
        {"kind": "zipf", "theta": 0.8},
        is_filled=True,
        drive_writes=8.0,
        waf=3.41,
    ),
    State(
        "zipf-0.8-from-empty",
        {"kind": "zipf", "theta": 0.8},
        is_filled=False,
        drive_writes=8.9,
        waf=2.64,
    ),
    State(
        "zipf-0.8-in-order",
        {"kind": "zipf", "theta": 0.8, "shuffle": False},
        is_filled=True,
        drive_writes=5.0,
        waf=3.91,
    ),
)


@dataclass(frozen=True)
class Fill:
    """Uniform writes to the first GiB of the 7450, nothing behind them."""

    gib: int
    mb_s: float
    waf: float


FILLS: tuple[Fill, ...] = (
    Fill(372, 1291.0, 1.10),
    Fill(447, 1155.0, 1.18),
    Fill(521, 1041.0, 1.28),
    Fill(596, 921.0, 1.41),
    Fill(670, 793.0, 1.60),
    Fill(745, 654.0, 1.89),
)


@dataclass(frozen=True)
class Zones:
    """Zones trimmed and written from end to end: rates in MB/s, and the WAF of the 7450."""

    open: int
    mib: int
    mb_s: Mapping[str, float]
    waf: float


def _zones(count: int, mib: int, solidigm: float, micron: float, waf: float) -> Zones:
    return Zones(count, mib, {SOLIDIGM: solidigm, MICRON: micron}, waf)


ZONES: tuple[Zones, ...] = (
    _zones(1, 16384, 1816.0, 1426.0, 1.04),
    _zones(1, 4096, 1226.0, 1444.0, 1.03),
    _zones(1, 2642, 888.0, 1419.0, 1.04),
    _zones(1, 2048, 970.0, 1440.0, 1.05),
    _zones(1, 1086, 516.0, 1160.0, 1.24),
    _zones(1, 1024, 478.0, 1195.0, 1.20),
    _zones(1, 8192, 1020.0, 1446.0, 1.03),
    _zones(2, 8192, 705.0, 1284.0, 1.15),
    _zones(4, 8192, 386.0, 1055.0, 1.37),
    _zones(8, 8192, 255.0, 966.0, 1.41),
    _zones(16, 8192, 255.0, 1049.0, 1.32),
    Zones(32, 8192, {MICRON: 1165.0}, 1.25),
)


SATURATED_US = 100.0
"""A write that takes longer than its way into the buffer: ten times what it takes below."""


@dataclass(frozen=True)
class Load:
    """A probe of 10 000 reads and writes a second beside writes; percentiles in us.

    Example:
        >>> LOADS[MICRON][0].reads["p99"]
        162.0
    """

    k_writes: int
    """Thousands of writes a second that were asked for."""
    k_achieved: float
    reads: Mapping[str, float]
    write_p50: float

    @property
    def is_saturated(self) -> bool:
        """Whether writes wait for the drive: hosts then have all that they may outstanding."""
        return self.write_p50 > SATURATED_US


def _load(k: int, achieved: float, reads: tuple[float, float, float], write: float) -> Load:
    names = ("p50", "p99", "p999")
    return Load(k, achieved, dict(zip(names, reads, strict=True)), write)


LOADS: Mapping[str, tuple[Load, ...]] = {
    SOLIDIGM: (
        _load(10, 9.9, (70.0, 256.0, 410.0), 8.0),
        _load(40, 39.7, (117.0, 413.0, 531.0), 8.0),
        _load(60, 59.4, (125.0, 438.0, 563.0), 8.0),
        _load(70, 69.3, (134.0, 450.0, 585.0), 8.0),
        _load(100, 99.1, (140.0, 464.0, 612.0), 9.0),
        _load(120, 118.8, (264.0, 1860.0, 2978.0), 274.0),
        _load(200, 118.6, (427.0, 2190.0, 3314.0), 2146.0),
    ),
    MICRON: (
        _load(10, 10.0, (65.0, 162.0, 390.0), 9.0),
        _load(40, 39.6, (75.0, 371.0, 3080.0), 9.0),
        _load(60, 59.5, (87.0, 4010.0, 4668.0), 10.0),
        _load(70, 69.4, (106.0, 422.0, 638.0), 10.0),
        _load(100, 99.1, (122.0, 459.0, 652.0), 3608.0),
        _load(120, 117.1, (144.0, 488.0, 694.0), 3302.0),
        _load(200, 117.4, (144.0, 488.0, 694.0), 3294.0),
    ),
}
"""Beyond 100 000 writes a second both drives are saturated, the 7450 from 70 000 on."""
