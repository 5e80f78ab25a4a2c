"""Failures of a drive, the upkeep of its data, and the life that it reports."""

from __future__ import annotations

from typing import Literal

from opennandlab.documents.record import Record


class Failures(Record, frozen=True, kw_only=True):
    """Operations of the flash that failed; only with `nand.failures`.

    Args:
        erase: Erases.
        program: Programs of a program unit.
    """

    erase: int
    program: int


class EmmcHealth(Record, frozen=True, kw_only=True):
    """What the extended CSD of an eMMC says of its life (JESD84-B51).

    The estimate of type A (SLC) is not there: the wear of such blocks is not counted apart.

    Args:
        device_life_time_est_typ_b: Tenths of the life used, from 1; 11 when it is exceeded.
        pre_eol_info: 1 normal, 2 when 80 % of the spare blocks are used, 3 when 90 % are.
    """

    device_life_time_est_typ_b: int
    pre_eol_info: int


class LifeEstimates(Record, frozen=True, kw_only=True):
    """Life that a real eMMC or UFS device estimates; `null` if it does not.

    Args:
        kind: `emmc` (extended CSD, JESD84-B51) or `ufs` (device health descriptor, JESD220).
        pre_eol_info: Reserved blocks in use: 1 less than 80 %, 2 at least 80 %, 3 at least 90 %.
        device_life_time_est_typ_a: Tenths of the life used of blocks of type A: 1 is 0 to 10 %, 11
            that it is exceeded.
        device_life_time_est_typ_b: The same of blocks of type B.
        write_booster_life_time_est: The same of the write booster of a UFS device.
    """

    kind: Literal["emmc", "ufs"]
    pre_eol_info: int | None
    device_life_time_est_typ_a: int | None
    device_life_time_est_typ_b: int | None
    write_booster_life_time_est: int | None


class Patrol(Record, frozen=True, kw_only=True):
    """Reading to find what errs too much; only with `controller.patrol`.

    Args:
        reads: Map units read, which are counted in `reads.refresh` too.
    """

    reads: int


class Refreshed(Record, frozen=True, kw_only=True):
    """Blocks whose data was moved to renew its charge; only with `ftl.refresh`.

    Args:
        blocks: All of them.
        by_age: For the age of their data (`after_days`).
        by_rber: For the errors of their reads (`at_rber`).
    """

    blocks: int
    by_age: int
    by_rber: int


class Health(Record, frozen=True, kw_only=True):
    """What the drive would report of itself, since the run began.

    Only with `nand.failures`, and of an eMMC.

    Args:
        available_spare_pct: Spare blocks left of those of the new drive.
        available_spare_threshold_pct: Below it the drive warns.
        critical_warning: Bits: 1 spare below its threshold, 4 wear or errors, 8 read-only.
        data_units_read: Thousands of 512 bytes that the host read.
        data_units_written: Thousands of 512 bytes that the host wrote.
        emmc: Estimates of an eMMC; only on such a link.
        host_read_commands: Reads of the host.
        host_write_commands: Writes of the host.
        media_errors: Page reads that nothing could correct.
        percentage_used: Mean erases of a block over the rated cycles, at most 255.
        unsafe_shutdowns: Losses of power.
    """

    available_spare_pct: int
    available_spare_threshold_pct: int
    critical_warning: int
    data_units_read: int
    data_units_written: int
    emmc: EmmcHealth | None = None
    host_read_commands: int
    host_write_commands: int
    media_errors: int
    percentage_used: int
    unsafe_shutdowns: int
