"""What others measured on three enterprise drives, each figure with its conditions.

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


@dataclass(frozen=True)
class Drive:
    """A drive that was measured, and the preset that models it."""

    short: str
    """By which tables and cases name it."""
    title: str
    preset: str
    capacity_bytes: float
    keeps_up_to: int
    """Thousands of writes a second that its model keeps up with; hosts that ask for more have all
    that they may outstanding."""
    changes: tuple[tuple[str, float], ...] = ()
    """Keys in which it differs from the preset."""
    classes: str = ""
    """Table of writes to two classes of addresses."""


MICRON = Drive(
    "7450", "Micron 7450 MAX 800 GB", "micron_7450_max_800gb", 800e9, 150, classes="7450_classes"
)
# The sister of the MAX: nothing but its capacity is known to differ, and nothing was fitted.
PRO = Drive(
    "7450pro", "Micron 7450 PRO 960 GB", "micron_7450_max_800gb", 960.2e9, 90,
    changes=(("ftl.over_provisioning_pct", 0.21532),),
)  # fmt: skip
SOLIDIGM = Drive("p5520", "Solidigm D7-P5520 1.92 TB", "solidigm_p5520_1920gb", 1.92e12, 110)
DRIVES = (MICRON, PRO, SOLIDIGM)

# Drive writes under each law, those under a steep Zipf law, and from which exponent it is one. Of
# two classes they were not published: as with a static part.
DRIVE_WRITES = {"uniform": 5.0, "zipf": 5.0, "static": 7.0, "hot": 7.0}
STEEP_DRIVE_WRITES, STEEP = 6.0, 1.0


@dataclass(frozen=True)
class Skew:
    """Random writes of 4 KiB, and the steady rate in MB/s.

    Example:
        >>> skews(MICRON)[0].name, skews(MICRON)[0].mb_s
        ('uniform', 653.0)
    """

    name: str
    pattern: Mapping[str, object]
    drive_writes: float
    """Written in all; the last fifth is what counts."""
    mb_s: float


def skews(drive: Drive) -> list[Skew]:
    """Return the skews in the order of the source, then those of two classes.

    `static-0.2`: a fifth of the addresses is never rewritten. `hot-0.1-0.9`: a tenth of them gets
    nine tenths of the writes.

    Args:
        drive: one of `DRIVES`.
    """
    rows = {**figures(f"{drive.short}_skew"), **(figures(drive.classes) if drive.classes else {})}
    found = []
    for name, row in rows.items():
        law, *values = name.split(":")
        numbers = [float(value) for value in values]
        pattern: dict[str, object] = {"kind": "random"}
        drive_writes = DRIVE_WRITES[law]
        if law == "zipf":
            pattern = {"kind": "zipf", "theta": numbers[0]}
            drive_writes = STEEP_DRIVE_WRITES if numbers[0] >= STEEP else drive_writes
        elif law != "uniform":
            part, share = numbers if law == "hot" else (round(1.0 - numbers[0], 1), 1.0)
            pattern = {"kind": "hot_cold", "fraction": part, "share": share, "shuffle": True}
        found.append(Skew(name.replace(":", "-"), pattern, drive_writes, row["steady MB/s"]))
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
    """Uniform writes to the first GiB of a drive, nothing behind them; the WAF, if known.

    Example:
        >>> fills(PRO)[-1].gib, fills(PRO)[-1].mb_s
        (894, 386.0)
    """

    gib: int
    mb_s: float
    waf: float | None

    @property
    def name(self) -> str:
        """Its case without the quantity."""
        return f"fill-{self.gib}"

    @property
    def claim(self) -> str:
        """The claim in words."""
        return f"{self.gib} GiB in use"


def fills(drive: Drive) -> list[Fill]:
    """Return the fills, smallest first.

    Args:
        drive: one of the 7450.
    """
    return [
        Fill(round(row["GB"] * 1e9 / (1 << 30)), row["MB/s"], row.get("WAF"))
        for row in figures(f"{drive.short}_fill").values()
    ]


@dataclass(frozen=True)
class Zones:
    """Zones trimmed and written from end to end: rate in MB/s, and the WAF, if known."""

    open: int
    mib: int
    mb_s: float
    waf: float | None

    @property
    def name(self) -> str:
        """Its case without the quantity."""
        return f"zones-{self.open}x{self.mib}"

    @property
    def claim(self) -> str:
        """The claim in words."""
        return f"{self.open} open of {self.mib} MiB"


def zones(drive: Drive) -> list[Zones]:
    """Return what was measured on a drive, in the order of the source.

    Args:
        drive: one of `DRIVES`.
    """
    found = []
    for name, row in figures(f"{drive.short}_zones").items():
        count, _, mib, _ = name.split()
        found.append(Zones(int(count), int(mib), row["MB/s"], row.get("WAF")))
    return found


@dataclass(frozen=True)
class Load:
    """A probe of 10 000 reads and writes a second next to writes; percentiles in us.

    Example:
        >>> loads(MICRON)[0].us["read", "p99"]
        162.0
    """

    k_writes: int
    """Thousands of writes a second that were asked for."""
    achieved: float
    """Writes a second."""
    us: Mapping[tuple[str, str], float]
    """By operation and percentile."""


def loads(drive: Drive) -> list[Load]:
    """Return what was measured on a drive, from few writes to many.

    Args:
        drive: one of `DRIVES`.
    """
    columns = {
        ("read", "p50"): "read 50 %, ms", ("read", "p99"): "read 99 %, ms",
        ("read", "p999"): "read 99.9 %, ms", ("write", "p50"): "write 50 %, ms",
        ("write", "p99"): "write 99 %, ms",
    }  # fmt: skip
    return [
        Load(
            int(writes) // 1000,
            row["achieved"],
            {key: row[column] * 1e3 for key, column in columns.items()},
        )
        for writes, row in figures(f"{drive.short}_load").items()
    ]
