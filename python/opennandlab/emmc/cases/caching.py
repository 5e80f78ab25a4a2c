"""The volatile cache: CACHE_CTRL, FLUSH_CACHE, barriers, and what a cut takes."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Card, pattern
from opennandlab.emmc.case import Check, Group

GROUP = Group[Card]("cache", "6.6 Cache")
SIZE = {"cache_kib": 256}
FLUSH, BARRIER = 1, 2


def cached(card: Card) -> None:
    """Bring the card to the transfer state with its cache on."""
    card.start()
    card.switch(at.CACHE_CTRL, 1)


@GROUP(options=SIZE)
def off_at_first(card: Card) -> Iterator[Check]:
    """Write before the cache was switched on, and cut the power."""
    card.start()
    card.write(0, pattern(0, 8))
    card.restart()
    yield "data", card.read(0, 8), pattern(0, 8)


@GROUP(options=SIZE)
def read_from_the_cache(card: Card) -> Iterator[Check]:
    """Write with the cache on, and read before and after a flush."""
    cached(card)
    card.write(3, pattern(3, 8))
    yield "data", card.read(0, 16)[3 * 512 : 11 * 512], pattern(3, 8)
    yield "errors of the flush", card.switch(at.FLUSH_CACHE, FLUSH), "none"
    yield "data then", card.read(3, 8), pattern(3, 8)


@GROUP(options=SIZE)
def faster(card: Card) -> Iterator[Check]:
    """Compare a write of 8 blocks with the cache off and on."""
    card.start()
    off = card.write(0, pattern(0, 8)).busy_ns
    card.switch(at.CACHE_CTRL, 1)
    yield "faster", card.write(8, pattern(8, 8)).busy_ns < off, True


@GROUP(options=SIZE)
def a_cut_takes_what_was_not_flushed(card: Card) -> Iterator[Check]:
    """Write, flush, write again, and cut the power."""
    cached(card)
    card.write(0, pattern(0, 8, tag="old"))
    card.switch(at.FLUSH_CACHE, FLUSH)
    card.write(0, pattern(0, 8, tag="new"))
    card.restart()
    yield "data", card.read(0, 8), pattern(0, 8, tag="old")


@GROUP(options=SIZE)
def flushed_is_kept(card: Card) -> Iterator[Check]:
    """Write, flush, and cut the power."""
    cached(card)
    card.write(0, pattern(0, 100))
    card.switch(at.FLUSH_CACHE, FLUSH)
    card.restart()
    yield "data", card.read(0, 100), pattern(0, 100)


@GROUP(options=SIZE)
def switching_off_flushes(card: Card) -> Iterator[Check]:
    """Write, switch the cache off, and cut the power."""
    cached(card)
    card.write(0, pattern(0, 20))
    yield "errors", card.switch(at.CACHE_CTRL, 0), "none"
    card.restart()
    yield "data", card.read(0, 20), pattern(0, 20)


@GROUP(options=SIZE)
def off_after_power(card: Card) -> Iterator[Check]:
    """Switch the cache on, then the power off and on."""
    cached(card)
    card.restart()
    yield "CACHE_CTRL", card.get(at.CACHE_CTRL), 0


@GROUP(options={"cache_kib": 0})
def no_cache(card: Card) -> Iterator[Check]:
    """Switch on the cache of a card that has none."""
    card.start()
    yield "CACHE_SIZE", card.get(at.CACHE_SIZE, 4), 0
    yield "errors", card.switch(at.CACHE_CTRL, 1), "SWITCH_ERROR"


@GROUP(options={"cache_kib": 64})
def more_than_it_holds(card: Card) -> Iterator[Check]:
    """Write 1 MiB with a cache of 64 KiB, and read."""
    cached(card)
    for first in range(0, 2048, 32):
        card.write(first, pattern(first, 32))
    yield "data", card.read(0, 2048), pattern(0, 2048)
    card.switch(at.FLUSH_CACHE, FLUSH)
    card.restart()
    yield "data after a flush and a cut", card.read(0, 2048), pattern(0, 2048)


@GROUP("7.4 Extended CSD register, FLUSH_CACHE", since=8, options=SIZE)
def barrier_needs_its_control(card: Card) -> Iterator[Check]:
    """Send a barrier before and after BARRIER_CTRL is set."""
    cached(card)
    yield "errors", card.switch(at.FLUSH_CACHE, BARRIER), "SWITCH_ERROR"
    yield "errors of BARRIER_CTRL", card.switch(at.BARRIER_CTRL, 1), "none"
    yield "errors then", card.switch(at.FLUSH_CACHE, BARRIER), "none"


@GROUP("6.6 Cache, barrier", since=8, options=SIZE)
def barrier_keeps_order(card: Card) -> Iterator[Check]:
    """Write A, barrier, B; cut the power in a flush at nine times: B is never there without A."""
    cached(card)
    card.switch(at.BARRIER_CTRL, 1)
    found = []
    for tenth in range(1, 10):
        card.switch(at.CACHE_CTRL, 1)
        card.write(4096, pattern(4096, 8, tag=tenth))
        card.switch(at.FLUSH_CACHE, BARRIER)
        card.write(0, pattern(0, 8, tag=tenth))
        argument = 3 << 24 | at.FLUSH_CACHE << 16 | FLUSH << 8
        busy_ns = card.command(6, argument, wait=False).busy_ns
        card.wait(busy_ns * tenth // 10)
        card.restart()
        has_a = card.read(4096, 8) == pattern(4096, 8, tag=tenth)
        if card.read(0, 8) == pattern(0, 8, tag=tenth) and not has_a:
            found.append(tenth)
    yield "B without A, in tenths", ", ".join(map(str, found)), ""


@GROUP(options=SIZE)
def trim_of_cached_blocks(card: Card) -> Iterator[Check]:
    """Trim blocks that are in the cache, flush, and read."""
    cached(card)
    card.write(0, pattern(0, 16))
    card.erase(4, 11, at.TRIM)
    card.switch(at.FLUSH_CACHE, FLUSH)
    yield "data", card.read(0, 16), pattern(0, 4) + bytes(8 * 512) + pattern(12, 4)
