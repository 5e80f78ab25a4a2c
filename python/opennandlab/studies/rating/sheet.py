"""A page of a data sheet, and its contradictions."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from opennandlab.base.errors import ConfigError
from opennandlab.base.units import SIZES, size_in
from opennandlab.studies.rating.equations import UNIT_BYTES

GB, SECTOR_BYTES = 10**9, 512
# Sectors of a drive of that many GB, by agreement of the makers: 97 696 368 of 50 GB, and so on.
SECTORS_OF_50, SECTORS_OF_1 = 97_696_368, 1_953_504
BYTES_MIN, BYTES_MAX = 8 * GB, 16 << 40
RATES = {"kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "MiB/s": float(1 << 20), "GiB/s": float(1 << 30)}
# Packets of PCI Express carry 256 of 280 bytes; a command also takes fetch, completion, doorbells
# (estimated).
LINK_EFFICIENCY, COMMAND_BYTES = 256 / 280, 160
# A sheet whose random rate is below this share of the sequential one rates a drive in steady state.
STEADY_SHARE = 0.6
# Written once a day, and over the life: how far both may be apart.
LIFE_TOLERANCE = 0.05
DAYS = 365
# Of a single die, one after the other.
READS_MIN = 2000
# Least writes of a whole drive in its life.
WRITES_MIN = 10
State = Literal["steady", "fresh"]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Figures of a data sheet; None for absent ones. Rates in bytes a second.

    Args:
        capacity_bytes: Of the host.
        cell: Type of the cells.
        link: Kind of the link, of the host that measured.
        seq_write: Sequential writes.
        rand_write: Random writes of 4 KiB, a second.
        rand_read: Random reads of 4 KiB, a second.
        seq_read: Sequential reads.
        read_latency_us: Typical, of a random read.
        write_latency_us: Typical, of a random write.
        dwpd: Writes of the whole drive, a day.
        tbw: Bytes that may be written.
        years: Years for which the endurance is rated.
        active_w: Of the drive, in sequential writes.
        idle_w: Of the drive.
        rated_state: Of the drive when random writes were rated; None: as the rates look.
        policy: Garbage collection; None for unknown.
    """

    capacity_bytes: int
    cell: str
    link: str
    seq_write: float
    rand_write: float
    rand_read: float
    seq_read: float | None = None
    read_latency_us: float | None = None
    write_latency_us: float | None = None
    dwpd: float | None = None
    tbw: float | None = None
    years: float = 5.0
    active_w: float | None = None
    idle_w: float | None = None
    rated_state: State | None = None
    policy: str | None = None

    @property
    def state(self) -> State:
        """The state that was rated.

        Raises:
            ConfigError: where neither sheet nor rates decide it.
        """
        if self.rated_state is not None:
            return self.rated_state
        share = self.rand_write * UNIT_BYTES / self.seq_write
        if share <= STEADY_SHARE:
            return "steady"
        raise ConfigError(
            "--rated-state",
            f"{self.rand_write:.6g} random writes of 4 KiB are {share:.0%} of the sequential rate, "
            f"above {STEADY_SHARE:.0%}: they may have been measured on an empty drive; "
            f"accepted: steady, fresh",
        )

    @property
    def writes_a_day(self) -> float | None:
        """Writes of the whole drive a day, in either form of the sheet."""
        if self.dwpd is not None or self.tbw is None:
            return self.dwpd
        return self.tbw / (self.capacity_bytes * DAYS * self.years)

    @property
    def link_efficiency(self) -> float:
        """Share of the link that is data of the host."""
        return LINK_EFFICIENCY if self.link.startswith("pcie") else 1.0

    def inputs(self) -> dict[str, Any]:
        """Return the figures that were given."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    def check(self, link_bytes_s: float) -> None:
        """Refuse a sheet that contradicts itself.

        Args:
            link_bytes_s: What the link carries, packets included.

        Raises:
            ConfigError: with the option and the arithmetic.
        """
        self._check_ranges()
        random = self.rand_write * UNIT_BYTES
        if random > self.seq_write:
            raise ConfigError(
                "--rand-write",
                f"{self.rand_write:.6g} writes of 4 KiB are {random / 1e6:.5g} MB/s, above the "
                f"sequential {self.seq_write / 1e6:.5g} MB/s; accepted: at most that",
            )
        efficiency = self.link_efficiency
        payload = link_bytes_s * efficiency
        for option, rate in (("--seq-write", self.seq_write), ("--seq-read", self.seq_read)):
            if rate is not None and rate > payload:
                raise ConfigError(
                    option,
                    f"{rate / 1e6:.5g} MB/s over a {self.link} of {link_bytes_s / 1e6:.5g} x "
                    f"{efficiency:.3f} = {payload / 1e6:.5g} MB/s; accepted: at most that",
                )
        most = link_bytes_s / (UNIT_BYTES / efficiency + COMMAND_BYTES)
        if self.rand_read > most:
            raise ConfigError(
                "--rand-read",
                f"{self.rand_read:.6g} reads of 4 KiB a second over a {self.link}, which carries "
                f"{most:.4g}; accepted: at most that",
            )
        if self.rand_read < READS_MIN:
            raise ConfigError(
                "--rand-read",
                f"{self.rand_read:g} a second are fewer than one die does, and sheets give "
                f"thousands; accepted: {READS_MIN} or more",
            )
        self._check_life()
        _ = self.state

    def _check_ranges(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, float) and not 0 < value < 1e18:
                option = f"--{name.replace('_', '-')}"
                message = f"`{value:g}` is out of range; accepted: above 0, below 1e18"
                raise ConfigError(option, message)
        if not BYTES_MIN <= self.capacity_bytes <= BYTES_MAX or self.capacity_bytes % UNIT_BYTES:
            message = f"{self.capacity_bytes} B; accepted: 8 GB to 16 TiB, whole units of 4096 B"
            raise ConfigError("--capacity", message)
        if (self.active_w is None) != (self.idle_w is None):
            missing = "--idle-w" if self.idle_w is None else "--active-w"
            raise ConfigError(missing, "missing; accepted: both, or neither")

    def _check_life(self) -> None:
        if self.tbw is not None and self.tbw < WRITES_MIN * self.capacity_bytes:
            raise ConfigError(
                "--tbw",
                f"{self.tbw / 1e12:g} TB are {self.tbw / self.capacity_bytes:.2g} writes of the "
                f"drive; accepted: {WRITES_MIN} or more",
            )
        if self.dwpd is None or self.tbw is None:
            return
        written = self.dwpd * DAYS * self.years * self.capacity_bytes
        if abs(self.tbw / written - 1.0) > LIFE_TOLERANCE:
            raise ConfigError(
                "--tbw",
                f"{self.tbw / 1e12:.6g} TB, and {self.dwpd:g} drive writes a day for "
                f"{self.years:g} years are {self.dwpd:g} x {DAYS} x {self.years:g} x "
                f"{self.capacity_bytes / 1e12:.6g} TB = {written / 1e12:.6g} TB; accepted: within "
                f"{LIFE_TOLERANCE:.0%}, or one of the two",
            )


def capacity_of(text: str) -> int:
    """Return the bytes of a drive that is sold as such.

    Decimal sizes are the sectors that makers agreed upon; others are exact.

    Raises:
        ConfigError: for a number without a unit.

    >>> capacity_of("800GB"), capacity_of("1.92TB"), capacity_of("16GiB")
    (800166076416, 1920383410176, 17179869184)
    """
    size = size_in(text.strip(), {unit: size for unit, size in SIZES.items() if unit})
    if size is None:
        message = f"`{text}` is not understood; accepted: a number with a unit, such as 800GB"
        raise ConfigError("--capacity", message)
    if re.search(r"(GB|TB)$", text.strip()) and size % GB == 0 and size >= BYTES_MIN:
        return SECTOR_BYTES * (SECTORS_OF_50 + SECTORS_OF_1 * (int(size) // GB - 50))
    return int(size)


def rate_of(option: str, text: str) -> float:
    """Return the bytes a second of a rate.

    Raises:
        ConfigError: for another text, and for a number without a unit.

    >>> rate_of("--seq-write", "1400MB/s")
    1400000000.0
    """
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?)\s*([A-Za-z/]+)", text.strip())
    if found is None or found[2] not in RATES:
        message = f"`{text}` is not understood; accepted: a number and one of {', '.join(RATES)}"
        raise ConfigError(option, message)
    return float(found[1]) * RATES[found[2]]
