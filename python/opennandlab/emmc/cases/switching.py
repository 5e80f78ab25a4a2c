"""CMD6: access modes, access types, and what is refused with SWITCH_ERROR."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Card
from opennandlab.emmc.case import Check, Group

GROUP = Group[Card]("switching", "6.6 Command sets and extended settings")
SET, CLEAR, WRITE = 1, 2, 3


@GROUP()
def write_byte(card: Card) -> Iterator[Check]:
    """Write a byte."""
    card.start()
    yield "errors", card.switch(at.HS_TIMING, 1), "none"
    yield "HS_TIMING", card.get(at.HS_TIMING), 1


@GROUP()
def set_bits(card: Card) -> Iterator[Check]:
    """Set bits of a byte, others stay."""
    card.start()
    card.switch(at.PERIODIC_WAKEUP, 0x21)
    yield "errors", card.switch(at.PERIODIC_WAKEUP, 0x02, SET), "none"
    yield "byte", card.get(at.PERIODIC_WAKEUP), 0x23


@GROUP()
def clear_bits(card: Card) -> Iterator[Check]:
    """Clear bits of a byte, others stay."""
    card.start()
    card.switch(at.PERIODIC_WAKEUP, 0x23)
    yield "errors", card.switch(at.PERIODIC_WAKEUP, 0x03, CLEAR), "none"
    yield "byte", card.get(at.PERIODIC_WAKEUP), 0x20


@GROUP()
def command_set(card: Card) -> Iterator[Check]:
    """Choose the standard command set, then one that does not exist."""
    card.start()
    card.command(6, 0)
    yield "errors", card.status().errors, "none"
    card.command(6, 5)
    yield "errors of set 5", card.status().errors, "SWITCH_ERROR"


@GROUP()
def busy(card: Card) -> Iterator[Check]:
    """Look at the state while the card switches."""
    card.start()
    busy_ns = card.command(6, 3 << 24 | at.HS_TIMING << 16 | 1 << 8, wait=False).busy_ns
    yield "state", card.status().state, "prg"
    card.wait(busy_ns)
    yield "state then", card.status().state, "tran"
    limit_ns = card.get(at.GENERIC_CMD6_TIME) * 10_000_000
    yield "within GENERIC_CMD6_TIME", busy_ns <= limit_ns, True


@GROUP()
def properties(card: Card) -> Iterator[Check]:
    """Write a byte of the properties segment."""
    card.start()
    before = card.get(at.EXT_CSD_REV)
    yield "errors", card.switch(at.EXT_CSD_REV, 3), "SWITCH_ERROR"
    yield "EXT_CSD_REV", card.get(at.EXT_CSD_REV), before


@GROUP()
def read_only(card: Card) -> Iterator[Check]:
    """Write modes that can only be read."""
    card.start()
    for name in ("RPMB_SIZE_MULT", "WR_REL_PARAM", "PACKED_COMMAND_STATUS", "BOOT_WP_STATUS",
                 "ERASED_MEM_CONT"):  # fmt: skip
        yield name, card.switch(getattr(at, name), 1), "SWITCH_ERROR"


@GROUP()
def reserved(card: Card) -> Iterator[Check]:
    """Write bytes that are in no field."""
    card.start()
    for index in (0, 14, 135, 170, 176, 180, 190):
        yield f"byte {index}", card.switch(index, 1), "SWITCH_ERROR"


@GROUP()
def error_is_told_once(card: Card) -> Iterator[Check]:
    """Ask again after an error was told."""
    card.start()
    yield "errors", card.switch(0, 1), "SWITCH_ERROR"
    yield "errors then", card.status().errors, "none"


@GROUP("7.4 Extended CSD register, HS_TIMING, BUS_WIDTH")
def values(card: Card) -> Iterator[Check]:
    """Write values that a field does not have."""
    card.start()
    for name, value in (("HS_TIMING", 9), ("BUS_WIDTH", 4), ("CACHE_CTRL", 2), ("HPI_MGMT", 2),
                        ("ERASE_GROUP_DEF", 2), ("PARTITION_CONFIG", 0x24),
                        ("BOOT_BUS_CONDITIONS", 3)):  # fmt: skip
        yield f"{name} {value}", card.switch(getattr(at, name), value), "SWITCH_ERROR"


@GROUP("7.4 Extended CSD register, access types")
def volatile_modes(card: Card) -> Iterator[Check]:
    """Write fields of type R/W/E_P, and reset with CMD0."""
    card.start()
    names = ("HS_TIMING", "HPI_MGMT", "ERASE_GROUP_DEF", "POWER_OFF_NOTIFICATION")
    for name in names:
        card.switch(getattr(at, name), 1)
    card.reset()
    for name in names:
        yield name, card.get(getattr(at, name)), 0


@GROUP("7.4 Extended CSD register, access types")
def kept_modes(card: Card) -> Iterator[Check]:
    """Write fields of type R/W/E, and switch off and on."""
    card.start()
    card.switch(at.BOOT_BUS_CONDITIONS, 0x02)
    card.switch(at.PARTITION_CONFIG, 0x08)
    card.restart()
    yield "BOOT_BUS_CONDITIONS", card.get(at.BOOT_BUS_CONDITIONS), 0x02
    yield "PARTITION_CONFIG", card.get(at.PARTITION_CONFIG), 0x08


@GROUP("7.4 Extended CSD register, RST_n_FUNCTION")
def once(card: Card) -> Iterator[Check]:
    """Enable the reset pin, then disable it, which is written once only."""
    card.start()
    yield "errors", card.switch(at.RST_N_FUNCTION, 1), "none"
    yield "errors then", card.switch(at.RST_N_FUNCTION, 2), "SWITCH_ERROR"
    card.restart()
    yield "RST_n_FUNCTION", card.get(at.RST_N_FUNCTION), 1


@GROUP("7.4 Extended CSD register, BOOT_CONFIG_PROT")
def once_per_power_cycle(card: Card) -> Iterator[Check]:
    """Protect the boot configuration for a power cycle, then take that back."""
    card.start()
    yield "errors", card.switch(at.BOOT_CONFIG_PROT, 1), "none"
    yield "errors of taking back", card.switch(at.BOOT_CONFIG_PROT, 0), "SWITCH_ERROR"
    card.reset()
    yield "after CMD0", card.get(at.BOOT_CONFIG_PROT), 1
    card.restart()
    yield "after power", card.get(at.BOOT_CONFIG_PROT), 0


@GROUP("7.4 Extended CSD register, BKOPS_EN")
def manual_background_for_good(card: Card) -> Iterator[Check]:
    """Set MANUAL_EN, which cannot be cleared, and switch off and on."""
    card.start()
    yield "errors", card.switch(at.BKOPS_EN, 1), "none"
    yield "errors of clearing", card.switch(at.BKOPS_EN, 1, CLEAR), "SWITCH_ERROR"
    card.restart()
    yield "BKOPS_EN", card.get(at.BKOPS_EN) & 1, 1


@GROUP("7.4 Extended CSD register, PARTITION_CONFIG")
def partition_after_reset(card: Card) -> Iterator[Check]:
    """Choose a boot partition, and reset with CMD0: access is to the user area again."""
    card.start()
    card.partition(1)
    card.reset()
    yield "PARTITION_ACCESS", card.get(at.PARTITION_CONFIG) & 7, 0
