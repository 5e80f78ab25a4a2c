"""What others measured on two enterprise drives, each figure with its conditions.

    reference tables ──► skews, states, fills, zones, loads ──► suites.measured

The figures are data of SSD-iq (G. Haas and co-authors, repository gabriel-haas/ssdiq-pub, 2025):
4 KiB random writes under skew, the WAF by what share of a drive is in use, writes to zones that are
trimmed before, and the latency of a probe beside writes at a fixed rate. MB are 10^6 bytes, GiB and
MiB binary. A figure that fixed a key of a preset is marked by the suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opennandlab.measured.published import figures

MICRON, SOLIDIGM = "micron_7450_max_800gb", "solidigm_p5520_1920gb"

TITLES: Mapping[str, str] = {
    MICRON: "Micron 7450 MAX 800 GB",
    SOLIDIGM: "Solidigm D7-P5520 1.92 TB",
}

SHORT: Mapping[str, str] = {MICRON: "7450", SOLIDIGM: "p5520"}
"""By which tables and cases name the drives."""

CAPACITY_BYTES: Mapping[str, float] = {MICRON: 800e9, SOLIDIGM: 1.92e12}

# Drive writes under each law, those under a steep Zipf law, and from which exponent it is one.
DRIVE_WRITES = {"uniform": 5.0, "zipf": 5.0, "static": 7.0}
STEEP_DRIVE_WRITES, STEEP = 6.0, 1.0


@dataclass(frozen=True)
class Skew:
    """Random writes of 4 KiB, and the steady rate of both drives in MB/s.

    Example:
        >>> skews()[0].name, skews()[0].mb_s[MICRON]
        ('uniform', 653.0)
    """

    name: str
    pattern: Mapping[str, object]
    drive_writes: float
    """Written in all; the last fifth is what counts."""
    mb_s: Mapping[str, float]


def skews() -> list[Skew]:
    """Return the skews in the order of the source.

    `static-0.2`: a fifth of the addresses is never rewritten.
    """
    tables = {drive: figures(f"{short}_skew") for drive, short in SHORT.items()}
    found = []
    for name in tables[MICRON]:
        law, _, value = name.partition(":")
        pattern: dict[str, object] = {"kind": "random"}
        drive_writes = DRIVE_WRITES[law]
        if law == "zipf":
            pattern = {"kind": "zipf", "theta": float(value)}
            drive_writes = STEEP_DRIVE_WRITES if float(value) >= STEEP else drive_writes
        elif law == "static":
            written = round(1.0 - float(value), 1)
            pattern = {"kind": "hot_cold", "fraction": written, "share": 1.0, "shuffle": True}
        mb_s = {drive: table[name]["steady MB/s"] for drive, table in tables.items()}
        found.append(Skew(name.replace(":", "-"), pattern, drive_writes, mb_s))
    return found


@dataclass(frozen=True)
class State:
    """How the P5520 was filled, how it was written then, and its WAF by its own log."""

    name: str
    pattern: Mapping[str, object]
    is_filled: bool
    drive_writes: float
    waf: float


def states() -> list[State]:
    """Return the states in the order of the source."""
    zipf = {"kind": "zipf", "theta": 0.8}
    written: Mapping[str, tuple[Mapping[str, object], bool, float]] = {
        "uniform after sequential": ({"kind": "random"}, True, 5.0),
        "uniform after shuffled": ({"kind": "random"}, True, 8.0),
        "zipf 0.8 after shuffled": (zipf, True, 8.0),
        "zipf 0.8 from empty": (zipf, False, 8.9),
        "zipf 0.8 in order": ({**zipf, "shuffle": False}, True, 5.0),
    }
    return [
        State(name.replace(" ", "-"), *written[name], row["WAF"])
        for name, row in figures("p5520_states").items()
    ]


@dataclass(frozen=True)
class Fill:
    """Uniform writes to the first GiB of the 7450, nothing behind them."""

    gib: int
    mb_s: float
    waf: float


def fills() -> list[Fill]:
    """Return the fills, smallest first."""
    return [
        Fill(round(row["GB"] * 1e9 / (1 << 30)), row["MB/s"], row["WAF"])
        for row in figures("7450_fill").values()
    ]


@dataclass(frozen=True)
class Zones:
    """Zones trimmed and written from end to end: rate in MB/s, and the WAF where it is known."""

    open: int
    mib: int
    mb_s: float
    waf: float | None


def zones(drive: str) -> list[Zones]:
    """Return what was measured on a drive, in the order of the source.

    Args:
        drive: one of `TITLES`.
    """
    found = []
    for name, row in figures(f"{SHORT[drive]}_zones").items():
        count, _, mib, _ = name.split()
        found.append(Zones(int(count), int(mib), row["MB/s"], row.get("WAF")))
    return found


SATURATED_US = 100.0
"""A write that takes longer than its way into the buffer: ten times what it takes below."""


@dataclass(frozen=True)
class Load:
    """A probe of 10 000 reads and writes a second beside writes; percentiles in us.

    Example:
        >>> loads(MICRON)[0].reads["p99"]
        162.0
    """

    k_writes: int
    """Thousands of writes a second that were asked for."""
    achieved: float
    """Writes a second."""
    reads: Mapping[str, float]
    write_p50: float

    @property
    def is_saturated(self) -> bool:
        """Whether writes wait for the drive: hosts then have all that they may outstanding."""
        return self.write_p50 > SATURATED_US


def loads(drive: str) -> list[Load]:
    """Return what was measured on a drive, from few writes to many.

    Beyond 100 000 writes a second both drives are saturated, the 7450 from 70 000 on.

    Args:
        drive: one of `TITLES`.
    """
    shares = {"p50": "50", "p99": "99", "p999": "99.9"}
    return [
        Load(
            int(writes) // 1000,
            row["achieved"],
            {key: row[f"read {share} %, ms"] * 1e3 for key, share in shares.items()},
            row["write 50 %, ms"] * 1e3,
        )
        for writes, row in figures(f"{SHORT[drive]}_load").items()
    ]
