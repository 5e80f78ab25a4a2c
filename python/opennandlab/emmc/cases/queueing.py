"""The command queue of 5.1: CMD44 to CMD48, and what is illegal meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import RCA, Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import SECTOR

GROUP = Group[Card]("queue", "6.6 Command queuing")
READ, QSR = 1 << 30, RCA | 1 << 15
DISCARD_ALL, DISCARD_ONE = 1, 2


def enabled(card: Card) -> None:
    """Bring the card to the transfer state, with its queue on."""
    card.start()
    card.switch(at.CMDQ_MODE_EN, 1)


def queue(card: Card, task: int, sector: int, count: int, flags: int = 0) -> str:
    """Queue a task with CMD44 and CMD45; return the errors of CMD45."""
    card.command(44, flags | task << 16 | count)
    return card.command(45, card.address(sector)).errors


@GROUP(since=8)
def off_at_first(card: Card) -> Iterator[Check]:
    """Send CMD44 before the queue was switched on."""
    card.start()
    yield "CMD44", card.command(44, 1).response, None
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"


@GROUP(since=8)
def read_and_write(card: Card) -> Iterator[Check]:
    """Queue a write and execute it with CMD47, then a read with CMD46."""
    enabled(card)
    yield "errors", queue(card, 3, 64, 8), "none"
    yield "errors of CMD47", card.command(47, 3 << 16, pattern(64, 8)).errors, "none"
    yield "errors of the read", queue(card, 4, 64, 8, READ), "none"
    yield "data", card.command(46, 4 << 16).data, pattern(64, 8)


@GROUP(since=8)
def status_register(card: Card) -> Iterator[Check]:
    """Queue tasks 1, 5 and 31, and ask with CMD13 and bit 15; execute one and ask again."""
    enabled(card)
    for task in (1, 5, 31):
        queue(card, task, 64, 1, READ)
    yield "queue", card.command(13, QSR).response, 1 << 1 | 1 << 5 | 1 << 31
    card.command(46, 5 << 16)
    yield "queue then", card.command(13, QSR).response, 1 << 1 | 1 << 31


@GROUP(since=8)
def all_tasks(card: Card) -> Iterator[Check]:
    """Queue 32 writes, and execute them from the last to the first."""
    enabled(card)
    for task in range(32):
        queue(card, task, 100 * task, 4)
    for task in reversed(range(32)):
        card.command(47, task << 16, pattern(100 * task, 4))
    yield "queue", card.command(13, QSR).response, 0
    card.switch(at.CMDQ_MODE_EN, 0)
    data = b"".join(card.read(100 * task, 4) for task in range(32))
    yield "data", data, b"".join(pattern(100 * task, 4) for task in range(32))


@GROUP(since=8)
def task_in_use(card: Card) -> Iterator[Check]:
    """Queue a task under a number that waits already."""
    enabled(card)
    queue(card, 2, 64, 1, READ)
    yield "CMD44", card.command(44, 2 << 16 | 1).response, None
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"


@GROUP(since=8)
def address_without_parameters(card: Card) -> Iterator[Check]:
    """Send CMD45 without CMD44."""
    enabled(card)
    yield "CMD45", card.command(45, 0).response, None


@GROUP(since=8)
def address_out_of_range(card: Card) -> Iterator[Check]:
    """Queue a read of four blocks, of which two are behind the end."""
    enabled(card)
    errors = queue(card, 0, card.user_sectors - 2, 4, READ)
    yield "errors", errors, "ADDRESS_OUT_OF_RANGE"
    yield "queue", card.command(13, QSR).response, 0


@GROUP(since=8)
def wrong_direction(card: Card) -> Iterator[Check]:
    """Execute a read with CMD47, and a task that does not exist."""
    enabled(card)
    queue(card, 0, 64, 1, READ)
    yield "CMD47", card.command(47, 0, bytes(SECTOR)).response, None
    yield "CMD46 of task 9", card.command(46, 9 << 16).response, None
    yield "queue", card.command(13, QSR).response, 1


@GROUP(since=8)
def discard_one(card: Card) -> Iterator[Check]:
    """Discard one of two tasks with CMD48."""
    enabled(card)
    for task in (0, 1):
        queue(card, task, 64, 1, READ)
    yield "errors", card.command(48, 1 << 16 | DISCARD_ONE).errors, "none"
    yield "queue", card.command(13, QSR).response, 1


@GROUP(since=8)
def discard_all(card: Card) -> Iterator[Check]:
    """Discard the queue with CMD48; other operations of it do not exist."""
    enabled(card)
    for task in (0, 1):
        queue(card, task, 64, 1, READ)
    yield "CMD48 of 7", card.command(48, 7).response, None
    yield "errors", card.command(48, DISCARD_ALL).errors, "ILLEGAL_COMMAND"
    yield "queue", card.command(13, QSR).response, 0


@GROUP(since=8)
def plain_commands(card: Card) -> Iterator[Check]:
    """Send CMD17, 18, 23, 24 and 25 while the queue is on."""
    enabled(card)
    found = [index for index in (17, 18, 23, 24, 25) if card.command(index).response is not None]
    yield "taken", ", ".join(map(str, found)), ""


@GROUP(since=8)
def switching_off(card: Card) -> Iterator[Check]:
    """Switch the queue off while a task waits, then when it is empty."""
    enabled(card)
    queue(card, 0, 64, 1, READ)
    yield "errors", card.switch(at.CMDQ_MODE_EN, 0), "SWITCH_ERROR"
    card.command(48, DISCARD_ALL)
    yield "errors then", card.switch(at.CMDQ_MODE_EN, 0), "none"


@GROUP("7.4 Extended CSD register, PARTITION_CONFIG", since=8)
def partitions(card: Card) -> Iterator[Check]:
    """Choose another partition while a task waits, and the RPMB while the queue is on."""
    enabled(card)
    queue(card, 0, 64, 1, READ)
    yield "errors of a boot partition", card.partition(1), "SWITCH_ERROR"
    card.command(48, DISCARD_ALL)
    yield "errors of the RPMB", card.partition(3), "SWITCH_ERROR"
    yield "errors of a boot partition then", card.partition(1), "none"


@GROUP(since=8)
def reset_empties_it(card: Card) -> Iterator[Check]:
    """Reset with CMD0 while a task waits."""
    enabled(card)
    queue(card, 0, 64, 1, READ)
    card.reset()
    yield "CMDQ_MODE_EN", card.get(at.CMDQ_MODE_EN), 0
    card.switch(at.CMDQ_MODE_EN, 1)
    yield "queue", card.command(13, QSR).response, 0


@GROUP(since=8)
def reliable_task(card: Card) -> Iterator[Check]:
    """Queue a reliable write, and cut the power when it is done."""
    enabled(card)
    queue(card, 0, 64, 8, at.RELIABLE)
    card.command(47, 0, pattern(64, 8))
    card.restart()
    yield "data", card.read(64, 8), pattern(64, 8)
