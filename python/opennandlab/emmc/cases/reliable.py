"""Reliable writes, and writes that the power cuts."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import SECTOR

GROUP = Group[Card]("reliable", "6.6 Block write, reliable write")
CUTS = 9


def sectors(data: bytes) -> list[bytes]:
    """Cut data into sectors."""
    return [data[place : place + SECTOR] for place in range(0, len(data), SECTOR)]


def after_cut(card: Card, first: int, count: int, tenth: int, *, reliable: bool) -> bytes:
    """Write new data over old, cut the power after some tenths of that, and read."""
    card.write(first, pattern(first, count, tag="old"))
    answer = card.write(first, pattern(first, count, tag=tenth), reliable=reliable, wait=False)
    card.wait(answer.busy_ns * tenth // 10)
    card.restart()
    return card.read(first, count)


@GROUP()
def data_is_written(card: Card) -> Iterator[Check]:
    """Write 40 blocks reliably: with EN_REL_WR any number is allowed."""
    card.start()
    yield "errors", card.write(0, pattern(0, 40), reliable=True).errors, "none"
    yield "data", card.read(0, 40), pattern(0, 40)


@GROUP()
def old_or_new(card: Card) -> Iterator[Check]:
    """Cut reliable writes of 24 blocks at nine times, and compare with the old and the new data."""
    card.start()
    found = []
    for tenth in range(1, CUTS + 1):
        data = after_cut(card, 64, 24, tenth, reliable=True)
        if data not in {pattern(64, 24, tag="old"), pattern(64, 24, tag=tenth)}:
            found.append(tenth)
    yield "neither old nor new, in tenths", ", ".join(map(str, found)), ""


@GROUP()
def new_when_ready(card: Card) -> Iterator[Check]:
    """Cut the power right when the card is ready after a reliable write."""
    card.start()
    card.write(64, pattern(64, 24), reliable=True)
    card.restart()
    yield "data", card.read(64, 24), pattern(64, 24)


@GROUP("6.6 Cache", options={"cache_kib": 256})
def past_the_cache(card: Card) -> Iterator[Check]:
    """Write reliably while the cache is on, and cut the power when the card is ready."""
    card.start()
    card.switch(at.CACHE_CTRL, 1)
    card.write(64, pattern(64, 8, tag="plain"))
    card.write(64, pattern(64, 4), reliable=True)
    card.restart()
    yield "data", card.read(64, 4), pattern(64, 4)


@GROUP("6.6 Block write")
def plain_writes_keep_others(card: Card) -> Iterator[Check]:
    """Cut plain writes at nine times: blocks beside them are as before, and one is torn at most."""
    card.start()
    beside, torn = 0, 0
    card.write(120, pattern(120, 40))
    for tenth in range(1, CUTS + 1):
        data = after_cut(card, 130, 20, tenth, reliable=False)
        known = {*sectors(pattern(130, 20, tag="old")), *sectors(pattern(130, 20, tag=tenth))}
        torn = max(torn, sum(sector not in known for sector in sectors(data)))
        whole = card.read(120, 40)
        beside += whole[: 10 * SECTOR] != pattern(120, 10)
        beside += whole[30 * SECTOR :] != pattern(150, 10)
    yield "blocks beside changed", beside, 0
    yield "at most one torn", torn <= 1, True
