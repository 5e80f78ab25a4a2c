"""Background operations: levels, manual start, urgency, and on their own."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import SECOND_NS, Card
from opennandlab.emmc.case import Check, Group

GROUP = Group[Card]("bkops", "6.6 Background operations")
LEVELS = {"bkops_kib": [64, 128, 256]}
START = 3 << 24 | at.BKOPS_START << 16 | 1 << 8


def write_kib(card: Card, kib: int) -> None:
    """Write as much at the beginning of the card."""
    card.write(0, bytes(kib * 1024))


@GROUP(options=LEVELS)
def levels(card: Card) -> Iterator[Check]:
    """Write 64, 128 and 256 KiB on a card that has its levels there."""
    card.start()
    yield "at first", card.get(at.BKOPS_STATUS), 0
    for level, kib in ((1, 64), (2, 64), (3, 128)):
        write_kib(card, kib)
        yield f"after {kib} KiB more", card.get(at.BKOPS_STATUS), level


@GROUP(options=LEVELS)
def manual_start(card: Card) -> Iterator[Check]:
    """Enable, write, and start: the level is 0 afterwards."""
    card.start()
    card.switch(at.BKOPS_EN, 1)
    write_kib(card, 256)
    busy_ns = card.command(6, START).busy_ns
    yield "errors", card.status().errors, "none"
    yield "busy", busy_ns > 0, True
    yield "BKOPS_STATUS", card.get(at.BKOPS_STATUS), 0


@GROUP(options=LEVELS)
def not_enabled(card: Card) -> Iterator[Check]:
    """Start without MANUAL_EN: nothing happens."""
    card.start()
    write_kib(card, 256)
    card.command(6, START)
    yield "BKOPS_STATUS", card.get(at.BKOPS_STATUS), 3


@GROUP("6.6 Exception events", options=LEVELS)
def urgent(card: Card) -> Iterator[Check]:
    """Reach level 2 with MANUAL_EN, then start."""
    card.start()
    card.switch(at.BKOPS_EN, 1)
    write_kib(card, 64)
    yield "at level 1", card.status().errors, "none"
    write_kib(card, 64)
    yield "at level 2", card.status().errors, "EXCEPTION_EVENT"
    yield "URGENT_BKOPS", card.get(at.EXCEPTION_EVENTS_STATUS) & 1, 1
    card.command(6, START)
    yield "afterwards", card.status().errors, "none"
    yield "URGENT_BKOPS then", card.get(at.EXCEPTION_EVENTS_STATUS) & 1, 0


@GROUP(options=LEVELS)
def more_takes_longer(card: Card) -> Iterator[Check]:
    """Compare the time of starting after 64 KiB and after 256 KiB."""
    card.start()
    card.switch(at.BKOPS_EN, 1)
    write_kib(card, 64)
    first = card.command(6, START).busy_ns
    write_kib(card, 256)
    yield "longer", card.command(6, START).busy_ns > 2 * first, True


@GROUP("7.4 Extended CSD register, BKOPS_EN", since=8, options=LEVELS)
def automatic(card: Card) -> Iterator[Check]:
    """Set AUTO_EN, write, and let ten seconds pass without commands."""
    card.start()
    yield "errors", card.switch(at.BKOPS_EN, 2), "none"
    write_kib(card, 256)
    yield "BKOPS_STATUS", card.get(at.BKOPS_STATUS), 3
    card.wait(10 * SECOND_NS)
    yield "BKOPS_STATUS then", card.get(at.BKOPS_STATUS), 0


@GROUP("7.4 Extended CSD register, BKOPS_EN", options={"standard": "4.51", **LEVELS})
def automatic_is_later(card: Card) -> Iterator[Check]:
    """Set AUTO_EN on a card of 4.51."""
    card.start()
    yield "errors", card.switch(at.BKOPS_EN, 2), "SWITCH_ERROR"


@GROUP(options=LEVELS)
def waits_without_it(card: Card) -> Iterator[Check]:
    """Write, and let ten seconds pass without AUTO_EN: the level stays."""
    card.start()
    write_kib(card, 256)
    card.wait(10 * SECOND_NS)
    yield "BKOPS_STATUS", card.get(at.BKOPS_STATUS), 3
