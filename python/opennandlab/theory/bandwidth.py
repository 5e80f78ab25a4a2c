"""Bandwidth of dies on a bus: striped makespans exact to the nanosecond, and saturated rates.

A page read senses for tR on the die, then transfers for x on the channel; a program transfers, then
takes tPROG on the die. One register per die: a die's array waits for its own transfer, unless the
die has a cache register. Left out: command and address cycles, error correction, commands on links.

The second half is the analysis of bandwidth against die count in the SNIA NAND performance tutorial
(L. Smith, 2009): large transfers, an infinite buffer, deep queues, fixed mixes, one block erased
per block written, links without overhead. The slides state the conditions and the die's times; the
formulas are our derivation from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opennandlab.theory._check import (
    require_at_least,
    require_count,
    require_positive,
    require_share,
)
from opennandlab.theory.scaling import rms

REGISTERS = ("single", "cache")
# Payload of the link after its line code, MB/s: SATA-II is 3 Gb/s, four lanes of PCI Express 1.1
# are 4 x 2.5 GT/s, both with 8b/10b.
LINK_MB_S: dict[str, float] = {"sata2": 300.0, "pcie1x4": 1000.0}
LINK_NAMES: dict[str, str] = {"sata2": "SATA-II", "pcie1x4": "PCIe x4 1.1"}
DIRECTIONS = ("shared", "apart")
# SATA carries data one way at a time; PCI Express has a pair of wires for each way.
LINKS_APART = ("pcie1x4",)
# Read shares of the tutorial: 100/0, 75/25, 50/50, 25/75, 0/100.
MIXES = (1.0, 0.75, 0.5, 0.25, 0.0)
DIE_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)


def striped_read_ns(pages: int, dies: int, sense_ns: int, transfer_ns: int) -> int:
    """Return when the last of n striped reads ends, all issued at 0 on one channel; exact.

    Args:
        pages: n, a multiple of the number of dies.
        dies: D.
        sense_ns: tR.
        transfer_ns: x.

    Returns:
        `k (tR + x) + (D - 1) x` if `D x <= tR + x`, else `tR + n x`; `k = n / D`.

    Raises:
        ValueError: when an argument is out of range or the pages do not fill the stripe.

    Source:
        Flow of pages over a shared bus.

    Example:
        >>> striped_read_ns(16, 8, 50_000, 10_000)
        210000
    """
    rounds = _rounds(pages, dies)
    sense, transfer = require_count("sense_ns", sense_ns, 0), require_count("x", transfer_ns, 0)
    if dies * transfer <= sense + transfer:
        return rounds * (sense + transfer) + (dies - 1) * transfer
    return sense + pages * transfer


def striped_program_ns(pages: int, dies: int, program_ns: int, transfer_ns: int) -> int:
    """Return when the last of n striped programs ends, all issued at 0 on one channel; exact.

    Args:
        pages: n, a multiple of the number of dies.
        dies: D.
        program_ns: tPROG.
        transfer_ns: x.

    Returns:
        `k (x + tPROG) + (D - 1) x` if `D x <= x + tPROG`, else `n x + tPROG`; `k = n / D`.

    Raises:
        ValueError: when an argument is out of range or the pages do not fill the stripe.

    Source:
        Flow of pages over a shared bus.

    Example:
        >>> striped_program_ns(16, 8, 600_000, 10_000)
        1290000
    """
    rounds = _rounds(pages, dies)
    program, transfer = require_count("tPROG", program_ns, 0), require_count("x", transfer_ns, 0)
    if dies * transfer <= transfer + program:
        return rounds * (transfer + program) + (dies - 1) * transfer
    return pages * transfer + program


def serial_read_ns(pages: int, sense_ns: int, transfer_ns: int) -> int:
    """Return how long n reads take one after the other, at queue depth 1.

    Args:
        pages: n.
        sense_ns: tR.
        transfer_ns: x.

    Returns:
        `n (tR + x)`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        No overlap.

    Example:
        >>> serial_read_ns(16, 50_000, 10_000)
        960000
    """
    service = require_count("sense_ns", sense_ns, 0) + require_count("x", transfer_ns, 0)
    return require_count("pages", pages, 1) * service


@dataclass(frozen=True)
class FlashChannel:
    """Dies on one channel, always with work: what they can carry, in MB/s (10^6 bytes).

    Example:
        >>> channel = FlashChannel(page_bytes=16384, bus_mb_s=1200.0, dies=4, sense_us=50.0)
        >>> round(channel.read_mb_s(), 0)
        1030.0
    """

    page_bytes: int
    """p."""
    bus_mb_s: float
    """Channel rate; a page transfers in `x = p / rate`."""
    dies: int
    """D on this channel."""
    planes: int = 1
    """P; a die works on P pages at once."""
    sense_us: float = 0.0
    """tR."""
    program_us: float = 0.0
    """tPROG, the mean over the page types."""
    erase_us: float = 0.0
    """tBERS."""
    pages_per_block: int = 1
    """b."""
    registers: str = "single"
    """`cache`: the array works on the next page while this one is transferred."""

    def __post_init__(self) -> None:
        """Refuse what is not a channel."""
        require_count("page_bytes", self.page_bytes, 1)
        require_positive("bus_mb_s", self.bus_mb_s)
        require_count("dies", self.dies, 1)
        require_count("planes", self.planes, 1)
        require_count("pages_per_block", self.pages_per_block, 1)
        for name in ("sense_us", "program_us", "erase_us"):
            require_at_least(name, getattr(self, name), 0.0)
        if self.registers not in REGISTERS:
            message = f"registers is {self.registers!r}; accepted: {', '.join(REGISTERS)}"
            raise ValueError(message)

    @property
    def transfer_us(self) -> float:
        """Time of one page on the channel, x."""
        return self.page_bytes / self.bus_mb_s

    def read_mb_s(self) -> float:
        """Return the saturated read rate.

        Returns:
            `min(p / x, D P p / (tR + P x))`; with a cache register the cycle is `max(tR, P x)`.
        """
        return self._rate(self._cycle_us(self.sense_us))

    def program_mb_s(self) -> float:
        """Return the saturated program rate, erases left out.

        Returns:
            `min(p / x, D P p / (tPROG + P x))`; with a cache register `max(tPROG, P x)`.
        """
        return self._rate(self._cycle_us(self.program_us))

    def host_write_mb_s(self, waf: float = 1.0) -> float:
        """Return the steady rate of host writes: erases and write amplification paid for.

        Args:
            waf: pages programmed per host page; the reads of the copies are left out.

        Returns:
            The program rate with `tBERS / b` added to each cycle, divided by the WAF. The P blocks
            of a die are erased together.

        Raises:
            ValueError: when the WAF is below 1.
        """
        cycle = self._cycle_us(self.program_us) + self.erase_us / self.pages_per_block
        return self._rate(cycle) / require_at_least("waf", waf, 1.0)

    def _cycle_us(self, array_us: float) -> float:
        transfers = self.planes * self.transfer_us
        return max(array_us, transfers) if self.registers == "cache" else array_us + transfers

    def _rate(self, cycle_us: float) -> float:
        return min(self.bus_mb_s, self.dies * self.planes * self.page_bytes / cycle_us)


@dataclass(frozen=True)
class TutorialDie:
    """One die of the 2009 tutorial device: every operation alone on the die, one erase per block.

    Example:
        >>> round(TUTORIAL_DIES["slc"].mb_s(read_share=0.5), 2)
        27.41
    """

    sense_us: float
    """tR."""
    program_us: float
    """tPROG."""
    erase_us: float
    """tBERS."""
    pages_per_block: int = 64
    """n; 128 is the other reading of the MLC die."""
    page_bytes: int = 4000
    """p, 10^3 bytes as in the tutorial."""
    bus_mb_s: float = 400.0
    """Rate of the bus."""
    registers: str = "single"
    """`cache`: the array works on one page while another is transferred."""

    def __post_init__(self) -> None:
        """Refuse what is not a die."""
        for name in ("sense_us", "program_us", "erase_us"):
            require_at_least(name, getattr(self, name), 0.0)
        require_count("pages_per_block", self.pages_per_block, 1)
        require_count("page_bytes", self.page_bytes, 1)
        require_positive("bus_mb_s", self.bus_mb_s)
        if self.registers not in REGISTERS:
            message = f"registers is {self.registers!r}; accepted: {', '.join(REGISTERS)}"
            raise ValueError(message)

    @property
    def transfer_us(self) -> float:
        """Time of one page on the bus, x."""
        return self.page_bytes / self.bus_mb_s

    @property
    def read_us(self) -> float:
        """Time of a page read, `tR + x`; `max(tR, x)` with a cache register."""
        return self._overlap_us(self.sense_us)

    @property
    def write_us(self) -> float:
        """Time of a page write with its share of an erase.

        `x + tPROG + tBERS / n`; with a cache register `max(x, tPROG) + tBERS / n`.
        """
        return self._overlap_us(self.program_us) + self.erase_us / self.pages_per_block

    @property
    def imbalance(self) -> float:
        """How much longer a page write takes than a page read."""
        return self.write_us / self.read_us

    def mb_s(self, read_share: float) -> float:
        """Return the rate of one die at a mix of reads and writes.

        Args:
            read_share: r, share of the bytes that are read, 0 to 1.

        Returns:
            `p / (r t_read + (1 - r) t_write)`.

        Raises:
            ValueError: when the share is out of range.
        """
        share = require_share("read_share", read_share)
        return self.page_bytes / (share * self.read_us + (1.0 - share) * self.write_us)

    def device_mb_s(self, read_share: float, dies: int, cap_mb_s: float = math.inf) -> float:
        """Return the rate of many dies behind a link.

        Args:
            read_share: r, 0 to 1.
            dies: N.
            cap_mb_s: the most that the link carries, see `LINK_MB_S`; infinite by default.

        Returns:
            `min(N BW_die(r), cap)`.

        Raises:
            ValueError: when an argument is out of range.
        """
        return min(require_count("dies", dies, 1) * self.mb_s(read_share), _cap(cap_mb_s))

    def dies_to_fill(self, read_share: float, cap_mb_s: float) -> int:
        """Return the fewest dies whose rate reaches a cap.

        Args:
            read_share: r, 0 to 1.
            cap_mb_s: rate to reach, such as the 400 MB/s of the bus.

        Returns:
            `ceil(cap / BW_die(r))`.

        Raises:
            ValueError: when an argument is out of range.
        """
        # A share of 1e-12: 300 / (300 / 7) must be 7 dies, not 8.
        need = require_positive("cap_mb_s", cap_mb_s) / self.mb_s(read_share)
        return math.ceil(need * (1.0 - 1e-12))

    def rms_mb_s(self, dies: int = 1, cap_mb_s: float = math.inf) -> float:
        """Return the root mean square of the rates at 100, 75, 50, 25 and 0 % reads.

        Args:
            dies: N.
            cap_mb_s: the most that the link carries at each mix.

        Returns:
            The tutorial's single figure for a device.

        Raises:
            ValueError: when an argument is out of range.
        """
        return rms([self.device_mb_s(share, dies, cap_mb_s) for share in MIXES])

    def _overlap_us(self, array_us: float) -> float:
        if self.registers == "cache":
            return max(array_us, self.transfer_us)
        return array_us + self.transfer_us


# SNIA NAND performance tutorial, L. Smith, 2009: tR / tPROG / tBERS of SLC and MLC dies.
TUTORIAL_DIES: dict[str, TutorialDie] = {
    "slc": TutorialDie(25.0, 200.0, 3000.0),
    "mlc": TutorialDie(60.0, 600.0, 10000.0),
}
# The tutorial gives no pages per block for MLC. 64 keeps its typical die; its 1.0 GB per die needs
# 128 (or twice the blocks). Both are shown.
TUTORIAL_VARIANTS: dict[str, TutorialDie] = {
    "SLC n=64": TUTORIAL_DIES["slc"],
    "MLC n=64": TUTORIAL_DIES["mlc"],
    "MLC n=128": TutorialDie(60.0, 600.0, 10000.0, pages_per_block=128),
}


def link_cap_mb_s(link: str, read_share: float, directions: str = "shared") -> float:
    """Return the most that a link carries at a mix, overhead left out.

    Args:
        link: a key of `LINK_MB_S`.
        read_share: r, 0 to 1.
        directions: `shared`, one total per link as in the tutorial; `apart`, the rate of the link
            each way, for links that have a way for each (SATA has not, and stays shared).

    Returns:
        The cap, or `cap / max(r, 1 - r)` when reads and writes travel apart.

    Raises:
        ValueError: when the link, the share or the directions are unknown.

    Source:
        The tutorial's "maximum total BW"; for `apart`, the fuller way decides.

    Example:
        >>> link_cap_mb_s("pcie1x4", 0.5, "apart")
        2000.0
    """
    share = require_share("read_share", read_share)
    if link not in LINK_MB_S:
        message = f"link is {link!r}; accepted: {', '.join(LINK_MB_S)}"
        raise ValueError(message)
    if directions not in DIRECTIONS:
        message = f"directions is {directions!r}; accepted: {', '.join(DIRECTIONS)}"
        raise ValueError(message)
    if directions == "apart" and link in LINKS_APART:
        return LINK_MB_S[link] / max(share, 1.0 - share)
    return LINK_MB_S[link]


@dataclass(frozen=True)
class DieCountRow:
    """Rates of one die count, MB/s, in the order of `MIXES`.

    Example:
        >>> row = die_count_sweep(TUTORIAL_DIES["slc"], [8])[0]
        >>> round(row.rms_mb_s, 1), round(row.rms_capped_mb_s("sata2"), 1)
        (458.2, 231.9)
    """

    dies: int
    """N."""
    mb_s: tuple[float, ...]
    """Rates before any link, the channels' limit included."""
    capped_mb_s: dict[str, tuple[float, ...]]
    """The same behind each link of `LINK_MB_S`."""

    @property
    def rms_mb_s(self) -> float:
        """Root mean square over the mixes, no link."""
        return rms(self.mb_s)

    def rms_capped_mb_s(self, link: str) -> float:
        """Return the root mean square over the mixes behind a link.

        Args:
            link: a key of `LINK_MB_S`.

        Returns:
            MB/s.
        """
        return rms(self.capped_mb_s[link])

    def is_capped(self, link: str, mix_index: int) -> bool:
        """Return whether a link holds a mix back.

        Args:
            link: a key of `LINK_MB_S`.
            mix_index: place in `MIXES`.

        Returns:
            Whether the dies could do more.
        """
        return self.capped_mb_s[link][mix_index] < self.mb_s[mix_index]


def die_count_sweep(
    die: TutorialDie,
    die_counts: Sequence[int] = DIE_COUNTS,
    channels: int | None = None,
    directions: str = "shared",
) -> list[DieCountRow]:
    """Return bandwidth against die count, the tutorial's figure.

    Args:
        die: the die.
        die_counts: N, one row each.
        channels: C buses that the dies share; None for as many as dies.
        directions: how links count reads and writes, see `link_cap_mb_s`.

    Returns:
        A row for each count: `min(N BW_die(r), C bus)`, and the same under each link.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        SNIA NAND performance tutorial, L. Smith, 2009 (conditions and times); our derivation.

    Example:
        >>> [round(rate, 2) for rate in die_count_sweep(TUTORIAL_DIES["slc"], [4])[0].mb_s]
        [457.14, 176.86, 109.64, 79.44, 62.29]
    """
    bus = math.inf
    if channels is not None:
        bus = require_count("channels", channels, 1) * die.bus_mb_s
    rows = []
    for dies in die_counts:
        rates = tuple(die.device_mb_s(share, dies, bus) for share in MIXES)
        capped = {
            link: tuple(
                min(rate, link_cap_mb_s(link, share, directions))
                for rate, share in zip(rates, MIXES, strict=True)
            )
            for link in LINK_MB_S
        }
        rows.append(DieCountRow(dies, rates, capped))
    return rows


def _cap(cap_mb_s: float) -> float:
    return cap_mb_s if cap_mb_s == math.inf else require_positive("cap_mb_s", cap_mb_s)


def _rounds(pages: int, dies: int) -> int:
    die_count = require_count("dies", dies, 1)
    page_count = require_count("pages", pages, 1)
    if page_count % die_count:
        message = f"pages is {pages}; accepted: a multiple of the {dies} dies"
        raise ValueError(message)
    return page_count // die_count
