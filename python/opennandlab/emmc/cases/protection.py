"""Write protection: CMD28 to CMD31, USER_WP and BOOT_WP."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Card, pattern
from opennandlab.emmc.case import Check, Group

GROUP = Group[Card]("protection", "6.6 Write protect management")
POWER_ON, PERMANENT = 0x01, 0x04


def group_sectors(card: Card) -> int:
    """Return the sectors of a write protect group."""
    return 1024 * card.get(at.HC_ERASE_GRP_SIZE) * card.get(at.HC_WP_GRP_SIZE)


def protected(card: Card, group: int, mode: int = 0) -> int:
    """Write a block of a group, protect the group in a way, and return its first sector."""
    card.start()
    card.switch(at.ERASE_GROUP_DEF, 1)
    sector = group * group_sectors(card)
    card.write(sector, pattern(sector))
    if mode:
        card.switch(at.USER_WP, mode)
    card.command(28, card.address(sector))
    return sector


@GROUP()
def write_is_refused(card: Card) -> Iterator[Check]:
    """Protect a group, and write to it."""
    sector = protected(card, 2)
    card.write(sector, pattern(sector, tag="new"))
    yield "errors", card.status().errors, "WP_VIOLATION"
    yield "data", card.read(sector), pattern(sector)


@GROUP()
def neighbours(card: Card) -> Iterator[Check]:
    """Write to the last block before a protected group and to the first behind it."""
    first = protected(card, 2)
    behind = first + group_sectors(card)
    for sector in (first - 1, behind):
        card.write(sector, pattern(sector))
        yield f"data of {sector}", card.read(sector), pattern(sector)
    yield "errors", card.status().errors, "none"


@GROUP()
def across_the_border(card: Card) -> Iterator[Check]:
    """Write two blocks, the second in a protected group."""
    first = protected(card, 2)
    card.write(first - 1, pattern(first - 1, 2, tag="new"))
    yield "errors", card.status().errors, "WP_VIOLATION"
    yield "protected block", card.read(first), pattern(first)


@GROUP()
def clear(card: Card) -> Iterator[Check]:
    """End the protection with CMD29, and write."""
    sector = protected(card, 2)
    yield "errors of CMD29", card.command(29, card.address(sector)).errors, "none"
    card.write(sector, pattern(sector, tag="new"))
    yield "data", card.read(sector), pattern(sector, tag="new")


@GROUP("6.10 Commands, CMD30")
def which(card: Card) -> Iterator[Check]:
    """Protect groups 2 and 5, and ask from group 1 on: bits 1 and 4, of 32."""
    size = group_sectors_of(card)
    card.command(28, card.address(2 * size))
    card.command(28, card.address(5 * size))
    yield "CMD30", card.command(30, card.address(size)).data, bytes([0, 0, 0, 0x12])


def group_sectors_of(card: Card) -> int:
    """Bring the card to the transfer state; return the sectors of a write protect group."""
    card.start()
    card.switch(at.ERASE_GROUP_DEF, 1)
    return group_sectors(card)


@GROUP("6.10 Commands, CMD31")
def kinds(card: Card) -> Iterator[Check]:
    """Protect groups 0, 1 and 2 temporarily, for a power cycle and permanently, and ask how."""
    size = group_sectors_of(card)
    for group, mode in enumerate((0, POWER_ON, PERMANENT)):
        card.switch(at.USER_WP, mode)
        card.command(28, card.address(group * size))
    yield "CMD31", card.command(31, card.address(0)).data, (0b111001).to_bytes(8, "big")


@GROUP("7.4 Extended CSD register, USER_WP")
def power_on(card: Card) -> Iterator[Check]:
    """Protect a group until the power goes: CMD29 does not help, a power cycle does."""
    sector = protected(card, 1, POWER_ON)
    yield "errors of CMD29", card.command(29, card.address(sector)).errors, "WP_VIOLATION"
    card.write(sector, pattern(sector, tag="new"))
    yield "errors of the write", card.status().errors, "WP_VIOLATION"
    card.restart()
    card.write(sector, pattern(sector, tag="new"))
    yield "data then", card.read(sector), pattern(sector, tag="new")


@GROUP("7.4 Extended CSD register, USER_WP")
def power_on_and_reset(card: Card) -> Iterator[Check]:
    """Protect a group until the power goes, and reset with CMD0, which does not end it."""
    sector = protected(card, 1, POWER_ON)
    card.reset()
    card.write(sector, pattern(sector, tag="new"))
    yield "data", card.read(sector), pattern(sector)


@GROUP("7.4 Extended CSD register, USER_WP")
def permanent(card: Card) -> Iterator[Check]:
    """Protect a group permanently, and switch off and on."""
    sector = protected(card, 1, PERMANENT)
    card.restart()
    card.write(sector, pattern(sector, tag="new"))
    yield "errors", card.status().errors, "WP_VIOLATION"
    yield "data", card.read(sector), pattern(sector)


@GROUP("7.4 Extended CSD register, USER_WP")
def power_on_disabled(card: Card) -> Iterator[Check]:
    """Set US_PWR_WP_DIS, then US_PWR_WP_EN."""
    card.start()
    yield "errors", card.switch(at.USER_WP, 0x08), "none"
    yield "errors then", card.switch(at.USER_WP, 0x09), "SWITCH_ERROR"


@GROUP("6.13 Device status, WP_ERASE_SKIP")
def erase_skips(card: Card) -> Iterator[Check]:
    """Trim from before a protected group to behind it."""
    sector = protected(card, 2)
    size = group_sectors(card)
    for place in (sector - 1, sector + size):
        card.write(place, pattern(place))
    answer = card.erase(sector - 1, sector + size, at.TRIM)
    yield "errors", answer.errors, "WP_ERASE_SKIP"
    yield "protected block", card.read(sector), pattern(sector)
    yield "block before", card.read(sector - 1), bytes(512)
    yield "block behind", card.read(sector + size), bytes(512)


@GROUP("6.10 Commands, CMD28")
def out_of_range(card: Card) -> Iterator[Check]:
    """Protect a group behind the end."""
    card.start()
    beyond = card.user_sectors * (1 if card.is_by_sector else 512)
    yield "errors", card.command(28, beyond).errors, "ADDRESS_OUT_OF_RANGE"


@GROUP("6.3 Boot partition write protection")
def boot_partitions(card: Card) -> Iterator[Check]:
    """Protect both boot partitions until the power goes, and write to one."""
    card.start()
    card.partition(1)
    card.write(0, pattern(0))
    yield "errors of BOOT_WP", card.switch(at.BOOT_WP, 0x01), "none"
    yield "BOOT_WP_STATUS", card.get(at.BOOT_WP_STATUS), 0x05
    card.write(0, pattern(0, tag="new"))
    yield "errors", card.status().errors, "WP_VIOLATION"
    yield "data", card.read(0), pattern(0)
    card.restart()
    yield "BOOT_WP_STATUS then", card.get(at.BOOT_WP_STATUS), 0


@GROUP("6.3 Boot partition write protection")
def one_boot_partition(card: Card) -> Iterator[Check]:
    """Protect the second boot partition alone, permanently."""
    card.start()
    yield "errors", card.switch(at.BOOT_WP, 0x8C), "none"
    card.restart()
    yield "BOOT_WP_STATUS", card.get(at.BOOT_WP_STATUS), 0x08
    card.partition(1)
    card.write(0, pattern(0))
    yield "errors of the first", card.status().errors, "none"
    card.partition(2)
    card.write(0, pattern(0))
    yield "errors of the second", card.status().errors, "WP_VIOLATION"


@GROUP("7.4 Extended CSD register, BOOT_WP")
def boot_disabled(card: Card) -> Iterator[Check]:
    """Set B_PWR_WP_DIS, then B_PWR_WP_EN; and both at once permanently."""
    card.start()
    yield "errors", card.switch(at.BOOT_WP, 0x40), "none"
    yield "errors then", card.switch(at.BOOT_WP, 0x41), "SWITCH_ERROR"
    yield "errors for good", card.switch(at.BOOT_WP, 0x54), "SWITCH_ERROR"
    yield "BOOT_WP_STATUS", card.get(at.BOOT_WP_STATUS), 0
