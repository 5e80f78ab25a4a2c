"""Boot partitions, and the boot operation that CMD0 begins."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import OCR, SECOND_NS, Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import SECTOR

GROUP = Group[Card]("boot", "6.3 Access to boot partition")
PRE_IDLE, BOOT = 0xF0F0F0F0, 0xFFFFFFFA


def with_boot_data(card: Card, config: int = 0x08) -> None:
    """Write both boot partitions and the user area, and choose what is booted."""
    card.start()
    for number in (0, 1, 2):
        card.partition(number)
        card.write(0, pattern(0, 32, tag=number))
    card.partition(0)
    card.switch(at.PARTITION_CONFIG, config)


@GROUP()
def partitions_are_apart(card: Card) -> Iterator[Check]:
    """Write block 0 of both boot partitions and of the user area, and read them."""
    with_boot_data(card, 0)
    for number in (0, 1, 2):
        card.partition(number)
        yield f"partition {number}", card.read(0, 32), pattern(0, 32, tag=number)


@GROUP("7.4 Extended CSD register, BOOT_SIZE_MULT")
def size(card: Card) -> Iterator[Check]:
    """Write the last block of a boot partition, and one behind it."""
    card.start()
    count = card.get(at.BOOT_SIZE_MULT) * 256
    card.partition(1)
    answer = card.command(24, card.address(count - 1), pattern(count - 1))
    yield "errors", answer.errors, "none"
    yield "errors behind", card.command(17, card.address(count)).errors, "ADDRESS_OUT_OF_RANGE"


@GROUP()
def trim(card: Card) -> Iterator[Check]:
    """Trim blocks of a boot partition."""
    with_boot_data(card, 0)
    card.partition(1)
    yield "errors", card.erase(8, 15, at.TRIM).errors, "none"
    wanted = pattern(0, 8, tag=1) + bytes(8 * SECTOR) + pattern(16, 16, tag=1)
    yield "data", card.read(0, 32), wanted


@GROUP("6.10 Commands, CMD28")
def no_groups(card: Card) -> Iterator[Check]:
    """Protect a group of a boot partition, which BOOT_WP protects instead."""
    card.start()
    card.partition(1)
    yield "CMD28", card.command(28, 0).response, None


@GROUP("6.3 Alternative boot operation")
def first_partition(card: Card) -> Iterator[Check]:
    """Choose the first boot partition, switch off and on, and begin the boot."""
    with_boot_data(card, 0x08)
    card.core.power_cycle()
    yield "state", card.state, "pre-idle"
    yield "data", card.command(0, BOOT, blocks=32).data, pattern(0, 32, tag=1)
    yield "state then", card.state, "boot"
    card.command(0)
    yield "state after CMD0", card.state, "idle"


@GROUP("6.3 Alternative boot operation")
def second_partition(card: Card) -> Iterator[Check]:
    """Choose the second boot partition."""
    with_boot_data(card, 0x10)
    card.core.power_cycle()
    yield "data", card.command(0, BOOT, blocks=32).data, pattern(0, 32, tag=2)


@GROUP("6.3 Alternative boot operation")
def user_area(card: Card) -> Iterator[Check]:
    """Choose the user area."""
    with_boot_data(card, 0x38)
    card.core.power_cycle()
    yield "data", card.command(0, BOOT, blocks=32).data, pattern(0, 32, tag=0)


@GROUP("6.3 Boot operation")
def not_enabled(card: Card) -> Iterator[Check]:
    """Begin the boot of a card that boots from nothing."""
    card.start()
    card.core.power_cycle()
    yield "state", card.state, "idle"
    yield "data", card.command(0, BOOT, blocks=4).data, b""
    yield "state then", card.state, "idle"


@GROUP("6.4 Device reset, GO_PRE_IDLE_STATE")
def back_before_the_boot(card: Card) -> Iterator[Check]:
    """Send CMD0 with 0xF0F0F0F0 in the transfer state, and boot."""
    with_boot_data(card)
    card.command(0, PRE_IDLE)
    yield "state", card.state, "pre-idle"
    yield "data", card.command(0, BOOT, blocks=2).data, pattern(0, 2, tag=1)


@GROUP("6.3 Boot operation")
def identification_ends_it(card: Card) -> Iterator[Check]:
    """Begin the boot, then send CMD1."""
    with_boot_data(card)
    card.core.power_cycle()
    card.wait(SECOND_NS)
    card.command(0, BOOT, blocks=2)
    card.command(1, OCR)
    yield "state", card.state, "ready"


@GROUP("7.4 Extended CSD register, BOOT_CONFIG_PROT")
def configuration_is_protected(card: Card) -> Iterator[Check]:
    """Protect the boot configuration, and change it; access still changes."""
    with_boot_data(card)
    card.switch(at.BOOT_CONFIG_PROT, 0x01)
    yield "errors of the boot", card.switch(at.PARTITION_CONFIG, 0x10), "SWITCH_ERROR"
    yield "errors of the access", card.switch(at.PARTITION_CONFIG, 0x09), "none"


@GROUP("7.4 Extended CSD register, BOOT_CONFIG_PROT")
def configuration_is_protected_for_good(card: Card) -> Iterator[Check]:
    """Protect the boot configuration permanently, switch off and on, and change it."""
    card.start()
    card.switch(at.BOOT_CONFIG_PROT, 0x10)
    card.restart()
    yield "errors", card.switch(at.PARTITION_CONFIG, 0x08), "SWITCH_ERROR"
