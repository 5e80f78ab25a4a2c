"""The high priority interrupt: which command, what it ends, and what is told of a write."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import RCA, Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import SECTOR

GROUP = Group[Card]("hpi", "6.6 High priority interrupt")
HPI = RCA | 1


def enabled(card: Card) -> None:
    """Bring the card to the transfer state, with the interrupt enabled."""
    card.start()
    card.switch(at.HPI_MGMT, 1)


def half_a_write(card: Card, count: int = 256) -> int:
    """Begin a write over old data, and let half of its time pass; return all of its time."""
    card.write(0, pattern(0, count, tag="old"))
    busy_ns = card.write(0, pattern(0, count), wait=False).busy_ns
    card.wait(busy_ns // 2)
    return busy_ns


@GROUP()
def write(card: Card) -> Iterator[Check]:
    """Interrupt a write of 256 blocks in its middle, and read them."""
    enabled(card)
    half_a_write(card)
    answer = card.command(13, HPI, wait=False)
    yield "state of R1", answer.state, "prg"
    card.ready()
    yield "state", card.state, "tran"
    done = card.get(at.CORRECTLY_PRG_SECTORS_NUM, 4)
    yield "some are programmed, not all", 0 < done < 256, True
    data = card.read(0, 256)
    yield "programmed blocks", data[: done * SECTOR], pattern(0, done)
    yield "the others", data[done * SECTOR :], pattern(done, 256 - done, tag="old")


@GROUP()
def in_time(card: Card) -> Iterator[Check]:
    """Interrupt a write, and compare the time until the card is ready."""
    enabled(card)
    half_a_write(card)
    card.command(13, HPI, wait=False)
    limit_ns = card.core.busy_ns()
    card.ready()
    yield (
        "within OUT_OF_INTERRUPT_TIME",
        (limit_ns <= card.get(at.OUT_OF_INTERRUPT_TIME) * 10_000_000),
        True,
    )


@GROUP()
def not_enabled(card: Card) -> Iterator[Check]:
    """Send the interrupt without HPI_EN: it is a plain CMD13."""
    card.start()
    busy_ns = half_a_write(card)
    yield "state of R1", card.command(13, HPI, wait=False).state, "prg"
    yield "busy still", card.core.busy_ns() == busy_ns - busy_ns // 2, True
    card.ready()
    yield "data", card.read(0, 256), pattern(0, 256)


@GROUP()
def when_idle(card: Card) -> Iterator[Check]:
    """Send the interrupt when nothing is in progress."""
    enabled(card)
    answer = card.command(13, HPI)
    yield "errors", answer.errors, "none"
    yield "state of R1", answer.state, "tran"


@GROUP(options={"hpi": "cmd12"})
def by_cmd12(card: Card) -> Iterator[Check]:
    """Interrupt with CMD12 a card that is built for it; CMD13 does not interrupt it."""
    enabled(card)
    yield "HPI_FEATURES", card.get(at.HPI_FEATURES), 3
    half_a_write(card)
    before = card.core.busy_ns()
    card.command(13, HPI, wait=False)
    yield "CMD13 changes nothing", card.core.busy_ns(), before
    yield "errors of CMD12", card.command(12, HPI, wait=False).errors, "none"
    card.ready()
    yield "not all are programmed", card.get(at.CORRECTLY_PRG_SECTORS_NUM, 4) < 256, True


@GROUP("6.11 Device state transition table, CMD12")
def plain_cmd12(card: Card) -> Iterator[Check]:
    """Send CMD12 without the interrupt bit in the middle of a counted write."""
    enabled(card)
    half_a_write(card)
    yield "CMD12", card.command(12, RCA, wait=False).response, None
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"
    card.ready()
    yield "data", card.read(0, 256), pattern(0, 256)


@GROUP(options={"cache_kib": 512})
def flush(card: Card) -> Iterator[Check]:
    """Interrupt a flush, read, and flush again: nothing is lost."""
    enabled(card)
    card.switch(at.CACHE_CTRL, 1)
    for first in range(0, 960, 64):
        card.write(first, pattern(first, 32))
    argument = 3 << 24 | at.FLUSH_CACHE << 16 | 1 << 8
    busy_ns = card.command(6, argument, wait=False).busy_ns
    card.wait(busy_ns // 2)
    card.command(13, HPI, wait=False)
    card.ready()
    wanted = b"".join(pattern(first, 32) for first in range(0, 960, 64))
    yield "data", b"".join(card.read(first, 32) for first in range(0, 960, 64)), wanted
    card.switch(at.FLUSH_CACHE, 1)
    card.restart()
    yield "data then", b"".join(card.read(first, 32) for first in range(0, 960, 64)), wanted


@GROUP(options={"bkops_kib": [64, 128, 256]})
def background(card: Card) -> Iterator[Check]:
    """Interrupt manual background operations at half their time: half is left."""
    enabled(card)
    card.switch(at.BKOPS_EN, 1)
    card.write(0, bytes(512 * 1024))
    argument = 3 << 24 | at.BKOPS_START << 16 | 1 << 8
    busy_ns = card.command(6, argument, wait=False).busy_ns
    card.wait(busy_ns // 2)
    card.command(13, HPI, wait=False)
    card.ready()
    again_ns = card.command(6, argument).busy_ns
    yield "the rest takes half the time", abs(again_ns / busy_ns - 0.5) < 0.05, True


@GROUP()
def table_of_protection(card: Card) -> Iterator[Check]:
    """Send the interrupt during CMD28, which is not interrupted."""
    enabled(card)
    card.command(28, 0, wait=False)
    before = card.core.busy_ns()
    card.command(13, HPI, wait=False)
    yield "busy still", card.core.busy_ns(), before
    card.ready()
    yield "CMD30", card.command(30, 0).data, bytes([0, 0, 0, 1])
