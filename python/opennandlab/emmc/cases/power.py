"""Notices that the power goes, sleep, and the reset pin."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import RCA, Card, pattern
from opennandlab.emmc.case import Check, Group

GROUP = Group[Card]("power", "6.6 Power off notification")
SIZE = {"cache_kib": 256}
POWERED_ON, SHORT, LONG, SLEEP = 1, 2, 3, 4
TO_SLEEP = RCA | 1 << 15


def noticed(card: Card) -> None:
    """Bring the card to the transfer state, cache on, the host promising notices."""
    card.start()
    card.switch(at.CACHE_CTRL, 1)
    card.switch(at.POWER_OFF_NOTIFICATION, POWERED_ON)


@GROUP(options=SIZE)
def short_notice(card: Card) -> Iterator[Check]:
    """Write to the cache, announce POWER_OFF_SHORT, and switch off."""
    noticed(card)
    card.write(0, pattern(0, 16))
    yield "errors", card.switch(at.POWER_OFF_NOTIFICATION, SHORT), "none"
    card.restart()
    yield "data", card.read(0, 16), pattern(0, 16)


@GROUP(options=SIZE)
def long_notice(card: Card) -> Iterator[Check]:
    """Write to the cache, announce POWER_OFF_LONG, and switch off."""
    noticed(card)
    card.write(0, pattern(0, 16))
    argument = 3 << 24 | at.POWER_OFF_NOTIFICATION << 16 | LONG << 8
    busy_ns = card.command(6, argument).busy_ns
    yield "errors", card.status().errors, "none"
    limit_ns = card.get(at.POWER_OFF_LONG_TIME) * 10_000_000
    yield "within POWER_OFF_LONG_TIME", busy_ns <= limit_ns, True
    card.restart()
    yield "data", card.read(0, 16), pattern(0, 16)


@GROUP(options=SIZE)
def none(card: Card) -> Iterator[Check]:
    """Write to the cache, and switch off without a notice."""
    noticed(card)
    card.write(0, pattern(0, 16))
    card.restart()
    yield "data", card.read(0, 16), bytes(16 * 512)
    yield "POWER_OFF_NOTIFICATION", card.get(at.POWER_OFF_NOTIFICATION), 0


@GROUP(options=SIZE)
def going_on(card: Card) -> Iterator[Check]:
    """Announce POWER_OFF_SHORT, then read after all."""
    noticed(card)
    card.switch(at.POWER_OFF_NOTIFICATION, SHORT)
    card.command(17, 0)
    yield "POWER_OFF_NOTIFICATION", card.get(at.POWER_OFF_NOTIFICATION), POWERED_ON


@GROUP(since=7, options=SIZE)
def sleep_notice(card: Card) -> Iterator[Check]:
    """Announce SLEEP_NOTIFICATION, fall asleep, and switch off."""
    noticed(card)
    card.write(0, pattern(0, 16))
    yield "errors", card.switch(at.POWER_OFF_NOTIFICATION, SLEEP), "none"
    card.command(7, 0)
    card.command(5, TO_SLEEP)
    yield "state", card.state, "slp"
    card.restart()
    yield "data", card.read(0, 16), pattern(0, 16)


@GROUP(options={"standard": "4.51"})
def sleep_notice_is_later(card: Card) -> Iterator[Check]:
    """Announce SLEEP_NOTIFICATION to a card of 4.51."""
    card.start()
    yield "errors", card.switch(at.POWER_OFF_NOTIFICATION, SLEEP), "SWITCH_ERROR"


@GROUP()
def unknown_notice(card: Card) -> Iterator[Check]:
    """Announce what does not exist."""
    card.start()
    yield "errors", card.switch(at.POWER_OFF_NOTIFICATION, 5), "SWITCH_ERROR"


@GROUP("6.6 Sleep (CMD5)")
def sleep_and_awake(card: Card) -> Iterator[Check]:
    """Fall asleep from stand-by with CMD5, and wake up."""
    card.identify()
    yield "errors", card.command(5, TO_SLEEP).errors, "none"
    yield "state", card.state, "slp"
    yield "errors of waking", card.command(5, RCA).errors, "none"
    yield "state then", card.state, "stby"


@GROUP("6.6 Sleep (CMD5)")
def asleep(card: Card) -> Iterator[Check]:
    """Send CMD13 and CMD7 to a card that sleeps, then CMD0."""
    card.identify()
    card.command(5, TO_SLEEP)
    yield "CMD13", card.status().response, None
    yield "CMD7", card.command(7, RCA).response, None
    yield "state", card.state, "slp"
    card.command(0)
    yield "state after CMD0", card.state, "idle"


@GROUP("6.6 Sleep (CMD5)")
def awake_twice(card: Card) -> Iterator[Check]:
    """Wake up a card that does not sleep."""
    card.identify()
    yield "CMD5", card.command(5, RCA).response, None
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"


@GROUP("6.4 Device reset, RST_n")
def reset_pin_disabled(card: Card) -> Iterator[Check]:
    """Pull the reset pin of a new card: it does nothing."""
    card.start()
    card.core.hardware_reset()
    yield "state", card.state, "tran"


@GROUP("6.4 Device reset, RST_n")
def reset_pin(card: Card) -> Iterator[Check]:
    """Enable the reset pin, set a mode, and pull it."""
    card.start()
    card.switch(at.RST_N_FUNCTION, 1)
    card.switch(at.HS_TIMING, 1)
    card.core.hardware_reset()
    yield "state", card.state, "idle"
    card.start()
    yield "HS_TIMING", card.get(at.HS_TIMING), 0
