"""What a drive draws: energies of its operations times how often they happen.

A page read costs a sense and a transfer; a page that the host writes costs, at a write
amplification A, A programs, A - 1 reads of moved pages, the transfers of both, and A shares of the
erase of its block. What is drawn all the time comes on top. Left out: commands of the host, so
requests are large; retries; parity and padding, unless A has them.
"""

from __future__ import annotations

from dataclasses import dataclass

from opennandlab.theory._check import (
    require_at_least,
    require_count,
    require_positive,
    require_share,
)

KIB = 1024.0


@dataclass(frozen=True)
class DriveEnergy:
    """Energies of a drive: the keys of `nand.energy` and of `controller.power`, and its pages.

    Example:
        >>> drive = DriveEnergy(4096, 64, read_uj=30.0, program_uj=70.0, erase_uj=640.0)
        >>> round(drive.read_uj_per_page, 3), round(drive.write_uj_per_page(2.0), 3)
        (30.0, 190.0)
    """

    page_bytes: int
    """p."""
    pages_per_block: int
    """n, of a block of a plane."""
    read_uj: float
    """e_R, of a sense of a page."""
    program_uj: float
    """e_P, of a page."""
    erase_uj: float
    """e_E, of a block of a plane."""
    transfer_nj_per_kib: float = 0.0
    """Of a channel."""
    idle_w: float = 0.0
    """What dies and controller draw all the time."""
    host_nj_per_kib: float = 0.0
    """Of data that the host reads or writes."""

    def __post_init__(self) -> None:
        """Refuse what is not a drive."""
        require_count("page_bytes", self.page_bytes, 1)
        require_count("pages_per_block", self.pages_per_block, 1)
        for name in (
            "read_uj",
            "program_uj",
            "erase_uj",
            "transfer_nj_per_kib",
            "idle_w",
            "host_nj_per_kib",
        ):
            require_at_least(name, getattr(self, name), 0.0)

    @property
    def transfer_uj(self) -> float:
        """Energy of a page on a channel, e_x."""
        return self.page_bytes / KIB * self.transfer_nj_per_kib * 1e-3

    @property
    def read_uj_per_page(self) -> float:
        """Energy of the flash for a page that the host reads, `e_R + e_x`."""
        return self.read_uj + self.transfer_uj

    def write_uj_per_page(self, waf: float = 1.0) -> float:
        """Return the energy of the flash for a page that the host writes.

        Args:
            waf: A, write amplification.

        Returns:
            `A e_P + (A - 1) e_R + (2 A - 1) e_x + A e_E / n`, in microjoules.

        Raises:
            ValueError: when the WAF is below 1.

        Source:
            Pages moved by a collection are read and programmed; a block is erased for each that is
            filled.
        """
        times = require_at_least("waf", waf, 1.0)
        return (
            times * self.program_uj
            + (times - 1.0) * self.read_uj
            + (2.0 * times - 1.0) * self.transfer_uj
            + times * self.erase_uj / self.pages_per_block
        )

    def joules_per_gb(self, read_share: float, waf: float = 1.0) -> float:
        """Return the energy of 10^9 bytes of a mix, without what is drawn all the time.

        Args:
            read_share: r, share of the bytes that are read.
            waf: write amplification.

        Returns:
            Joules.

        Raises:
            ValueError: when an argument is out of range.

        Source:
            Sum over reads and writes.

        Example:
            >>> DriveEnergy(4000, 64, 40.0, 80.0, 0.0).joules_per_gb(0.5)
            15.0
        """
        share = require_share("read_share", read_share)
        page_uj = share * self.read_uj_per_page + (1.0 - share) * self.write_uj_per_page(waf)
        # Microjoules a page over bytes a page, times 10^9, are 10^3 joules.
        return page_uj / self.page_bytes * 1e3 + self.host_nj_per_kib / KIB

    def watts(self, mb_s: float, read_share: float, waf: float = 1.0) -> float:
        """Return the mean power at a rate.

        Args:
            mb_s: rate of the mix, 10^6 bytes per second.
            read_share: r, share of the bytes that are read.
            waf: write amplification.

        Returns:
            `rate x energy per byte + idle`.

        Raises:
            ValueError: when an argument is out of range.

        Source:
            Power is energy over time.

        Example:
            >>> DriveEnergy(4000, 64, 40.0, 80.0, 0.0, idle_w=0.5).watts(100.0, 0.5)
            2.0
        """
        rate = require_at_least("mb_s", mb_s, 0.0)
        return rate * 1e-3 * self.joules_per_gb(read_share, waf) + self.idle_w

    def mb_s_within(self, watts: float, read_share: float, waf: float = 1.0) -> float:
        """Return the rate that a power budget allows.

        Args:
            watts: the budget, above `idle_w`.
            read_share: r, share of the bytes that are read.
            waf: write amplification.

        Returns:
            MB/s, whatever the dies and links allow.

        Raises:
            ValueError: when an argument is out of range, or the budget is below `idle_w`.

        Source:
            `watts`, turned round.

        Example:
            >>> DriveEnergy(4000, 64, 40.0, 80.0, 0.0, idle_w=0.5).mb_s_within(2.0, 0.5)
            100.0
        """
        left = require_at_least("watts", watts, self.idle_w) - self.idle_w
        return left * 1e3 / require_positive("energy per GB", self.joules_per_gb(read_share, waf))
