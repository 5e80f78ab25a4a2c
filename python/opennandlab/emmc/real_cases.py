"""Cases of real devices: what their registers must say, without anything being written."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.case import Check, Group, NotTold
from opennandlab.emmc.real import Facts

GROUP = Group[Facts]("device", "7.4 Extended CSD register")
# Revisions of the extended CSD: 4.5 and later, 5.0 and later, 5.1.
V45, V50, V51 = 6, 7, 8


def since(facts: Facts, revision: int) -> None:
    """Skip a case on devices of an older revision.

    Raises:
        NotTold: on those.
    """
    if facts.field("EXT_CSD_REV") < revision:
        name = at.REVISIONS[revision]
        raise NotTold(f"devices of {name} and later have it, this one is of {facts.standard}")


@GROUP()
def revision(facts: Facts) -> Iterator[Check]:
    """Read EXT_CSD_REV."""
    yield "known", facts.field("EXT_CSD_REV") in at.REVISIONS, True


@GROUP("7.4 Extended CSD register, SEC_COUNT")
def sector_count(facts: Facts) -> Iterator[Check]:
    """Compare SEC_COUNT with the size that the kernel has."""
    yield "bytes", facts.field("SEC_COUNT") * at.SECTOR, facts.size_bytes


@GROUP("7.4 Extended CSD register, CSD_STRUCTURE")
def csd_structure(facts: Facts) -> Iterator[Check]:
    """Read CSD_STRUCTURE: version 1.2."""
    yield "CSD_STRUCTURE", facts.field("CSD_STRUCTURE"), 2


@GROUP("7.3 CSD register")
def csd(facts: Facts) -> Iterator[Check]:
    """Read the CSD, as the kernel has it."""
    if facts.csd is None:
        raise NotTold("the kernel does not tell the CSD")
    yield "CSD_STRUCTURE", at.field(facts.csd, 127, 126), 3
    yield "SPEC_VERS", at.field(facts.csd, 125, 122), 4
    yield "READ_BL_LEN", at.field(facts.csd, 83, 80), 9


@GROUP("7.4 Extended CSD register, S_CMD_SET")
def command_set(facts: Facts) -> Iterator[Check]:
    """Read S_CMD_SET: the standard command set."""
    yield "standard command set", facts.field("S_CMD_SET") & 1, 1


@GROUP("7.4 Extended CSD register, HPI_FEATURES")
def interrupt(facts: Facts) -> Iterator[Check]:
    """Read HPI_FEATURES, and the time after an interrupt."""
    since(facts, V45)
    yield "HPI", facts.field("HPI_FEATURES") & 1, 1
    yield "OUT_OF_INTERRUPT_TIME is set", facts.field("OUT_OF_INTERRUPT_TIME") > 0, True


@GROUP("7.4 Extended CSD register, BKOPS_SUPPORT")
def background(facts: Facts) -> Iterator[Check]:
    """Read BKOPS_SUPPORT and BKOPS_STATUS."""
    since(facts, V45)
    yield "BKOPS", facts.field("BKOPS_SUPPORT") & 1, 1
    yield "BKOPS_STATUS is 0 to 3", facts.field("BKOPS_STATUS") <= 3, True


@GROUP("7.4 Extended CSD register, MAX_PACKED_WRITES, MAX_PACKED_READS")
def packed(facts: Facts) -> Iterator[Check]:
    """Read the most entries of packed commands."""
    since(facts, V45)
    yield "reads, 5 or more", facts.field("MAX_PACKED_READS") >= 5, True
    yield "writes, 3 or more", facts.field("MAX_PACKED_WRITES") >= 3, True


@GROUP("7.4 Extended CSD register, WR_REL_PARAM, REL_WR_SEC_C")
def reliable_writes(facts: Facts) -> Iterator[Check]:
    """Read what the device says of reliable writes."""
    yield "REL_WR_SEC_C is set", facts.field("REL_WR_SEC_C") > 0, True
    if facts.field("WR_REL_PARAM") & 4:
        yield "REL_WR_SEC_C with EN_REL_WR", facts.field("REL_WR_SEC_C"), 1


@GROUP("7.4 Extended CSD register, HC_ERASE_GRP_SIZE, HC_WP_GRP_SIZE")
def group_sizes(facts: Facts) -> Iterator[Check]:
    """Read the sizes of groups of high capacity."""
    yield "HC_ERASE_GRP_SIZE is set", facts.field("HC_ERASE_GRP_SIZE") > 0, True
    yield "HC_WP_GRP_SIZE is set", facts.field("HC_WP_GRP_SIZE") > 0, True


@GROUP("7.4 Extended CSD register, BOOT_SIZE_MULT, RPMB_SIZE_MULT")
def partitions(facts: Facts) -> Iterator[Check]:
    """Read the sizes of boot and RPMB partitions."""
    yield "boot partitions", facts.field("BOOT_SIZE_MULT") > 0, True
    yield "RPMB, 1 to 128", 1 <= facts.field("RPMB_SIZE_MULT") <= 128, True


@GROUP("7.4 Extended CSD register, SEC_FEATURE_SUPPORT")
def trim(facts: Facts) -> Iterator[Check]:
    """Read that the device trims and, from 4.5 on, sanitizes."""
    since(facts, V45)
    yield "SEC_GB_CL_EN", facts.field("SEC_FEATURE_SUPPORT") >> 4 & 1, 1
    yield "SEC_SANITIZE", facts.field("SEC_FEATURE_SUPPORT") >> 6 & 1, 1
    yield "TRIM_MULT is set", facts.field("TRIM_MULT") > 0, True


@GROUP("7.4 Extended CSD register, ERASED_MEM_CONT")
def erased_content(facts: Facts) -> Iterator[Check]:
    """Read what erased blocks read as."""
    yield "0 or 1", facts.field("ERASED_MEM_CONT") <= 1, True


@GROUP("7.4 Extended CSD register, PARTITION_CONFIG")
def boot_configuration(facts: Facts) -> Iterator[Check]:
    """Read from which partition the device boots."""
    found = facts.field("PARTITION_CONFIG")
    yield "a partition that exists", found >> 3 & 7 in {0, 1, 2, 7}, True
    yield "reserved bit", found >> 7, 0


@GROUP("7.4 Extended CSD register, GENERIC_CMD6_TIME, POWER_OFF_LONG_TIME")
def times(facts: Facts) -> Iterator[Check]:
    """Read the times that hosts wait for."""
    since(facts, V45)
    for name in ("GENERIC_CMD6_TIME", "POWER_OFF_LONG_TIME", "PARTITION_SWITCH_TIME",
                 "ERASE_TIMEOUT_MULT", "S_A_TIMEOUT"):  # fmt: skip
        yield f"{name} is set", facts.field(name) > 0, True


@GROUP("7.4 Extended CSD register, CACHE_CTRL")
def cache_control(facts: Facts) -> Iterator[Check]:
    """Read whether the cache is on."""
    since(facts, V45)
    yield "0 or 1", facts.field("CACHE_CTRL") <= 1, True


@GROUP("7.4 Extended CSD register, POWER_OFF_NOTIFICATION")
def power_off_notification(facts: Facts) -> Iterator[Check]:
    """Read what the host has announced: nothing, or that it will."""
    since(facts, V45)
    yield "0 or 1", facts.field("POWER_OFF_NOTIFICATION") <= 1, True


@GROUP("7.4 Extended CSD register, DATA_SECTOR_SIZE, NATIVE_SECTOR_SIZE")
def sector_sizes(facts: Facts) -> Iterator[Check]:
    """Read the sizes of sectors: data sectors are no larger than native ones."""
    since(facts, V45)
    data, native = facts.field("DATA_SECTOR_SIZE"), facts.field("NATIVE_SECTOR_SIZE")
    yield "known", {data, native} <= {0, 1}, True
    yield "data no larger than native", data <= native, True


@GROUP("7.4 Extended CSD register, EXCEPTION_EVENTS_CTRL")
def events(facts: Facts) -> Iterator[Check]:
    """Read the events that the host wants to know of: bits 1 to 4."""
    since(facts, V45)
    yield "reserved bits", facts.field("EXCEPTION_EVENTS_CTRL") & ~0x1E, 0


@GROUP("7.4 Extended CSD register, DEVICE_LIFE_TIME_EST")
def life_time(facts: Facts) -> Iterator[Check]:
    """Read the estimates of the life time: 1 to 11, or 0 where there is none."""
    since(facts, V50)
    for name in ("DEVICE_LIFE_TIME_EST_TYP_A", "DEVICE_LIFE_TIME_EST_TYP_B"):
        yield f"{name} is 0 to 11", facts.field(name) <= 11, True


@GROUP("7.4 Extended CSD register, PRE_EOL_INFO")
def end_of_life(facts: Facts) -> Iterator[Check]:
    """Read how many spare blocks are used up: 1 to 3, or 0 where it is not told."""
    since(facts, V50)
    yield "PRE_EOL_INFO is 0 to 3", facts.field("PRE_EOL_INFO") <= 3, True


@GROUP("7.4 Extended CSD register, CMDQ_SUPPORT")
def queue(facts: Facts) -> Iterator[Check]:
    """Read whether the device has a command queue, and whether it is on."""
    since(facts, V51)
    yield "CMDQ_SUPPORT is 0 or 1", facts.field("CMDQ_SUPPORT") <= 1, True
    yield (
        "not on without support",
        (facts.field("CMDQ_MODE_EN") <= facts.field("CMDQ_SUPPORT")),
        True,
    )


@GROUP("6.13 Device status")
def status(facts: Facts) -> Iterator[Check]:
    """Ask for the status with CMD13: selected, and nothing wrong."""
    if facts.status is None:
        raise NotTold("mmc does not print the status")
    yield "state", at.state_of(facts.status), "tran"
    wrong = facts.status & ~(1 << 6)
    yield "errors", at.errors_of(wrong), "none"
