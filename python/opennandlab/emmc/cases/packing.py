"""Packed commands: headers, their checks, and what is told of failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Answer, Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import SECTOR

GROUP = Group[Card]("packed", "6.6 Packed commands")
READ, WRITE = 1, 2


def header(
    direction: int,
    entries: Sequence[tuple[int, int]],
    *,
    version: int = 1,
    count: int | None = None,
) -> bytes:
    """Return a header.

    Args:
        direction: 1 read, 2 write.
        entries: Arguments of CMD23 and of CMD18 or CMD25.
        version: Version of the header.
        count: Count of the entries, where it is to be wrong.

    >>> header(WRITE, [(8, 0x1000)])[:16].hex()
    '01020100000000000800000000100000'
    """
    number = len(entries) if count is None else count
    words = b"".join(
        argument.to_bytes(4, "little") + address.to_bytes(4, "little")
        for argument, address in entries
    )
    return (bytes([version, direction, number]) + bytes(5) + words).ljust(SECTOR, b"\0")


def packed_write(
    card: Card,
    head: bytes,
    data: bytes,
    address: int,
    *,
    blocks: int | None = None,
) -> Answer:
    """Send a packed write: CMD23 with bit 30, and CMD25."""
    total = 1 + len(data) // SECTOR if blocks is None else blocks
    card.command(23, total | at.PACKED)
    return card.command(25, address, head + data)


def two(card: Card, sizes: tuple[int, int] = (8, 5)) -> tuple[list[tuple[int, int]], bytes]:
    """Return entries and data of two writes, at sectors 64 and 4096."""
    places = (64, 4096)
    entries = [(size, card.address(place)) for size, place in zip(sizes, places, strict=True)]
    data = b"".join(pattern(place, size) for size, place in zip(sizes, places, strict=True))
    return entries, data


def failure(card: Card) -> Iterator[Check]:
    """Yield what the register tells of a failure of the header."""
    yield "PACKED_COMMAND_STATUS", card.get(at.PACKED_COMMAND_STATUS), 1
    yield "PACKED_FAILURE_INDEX", card.get(at.PACKED_FAILURE_INDEX), 0
    yield "PACKED_FAILURE", card.get(at.EXCEPTION_EVENTS_STATUS) >> 3 & 1, 1


@GROUP()
def writes(card: Card) -> Iterator[Check]:
    """Write two places in one packed command."""
    card.start()
    entries, data = two(card)
    yield "errors", packed_write(card, header(WRITE, entries), data, entries[0][1]).errors, "none"
    yield "first", card.read(64, 8), pattern(64, 8)
    yield "second", card.read(4096, 5), pattern(4096, 5)
    yield "PACKED_COMMAND_STATUS", card.get(at.PACKED_COMMAND_STATUS), 0


@GROUP()
def reads(card: Card) -> Iterator[Check]:
    """Read two places in one packed command: the header is written, then all is read."""
    card.start()
    for place, size in ((64, 8), (4096, 5)):
        card.write(place, pattern(place, size))
    entries, data = two(card)
    packed_write(card, header(READ, entries), b"", entries[0][1])
    card.command(23, 13 | at.PACKED)
    yield "data", card.command(18, entries[0][1]).data, data


@GROUP()
def most_entries(card: Card) -> Iterator[Check]:
    """Write as many entries as MAX_PACKED_WRITES says, one block each."""
    card.start()
    count = card.get(at.MAX_PACKED_WRITES)
    places = range(0, 16 * count, 16)
    entries = [(1, card.address(place)) for place in places]
    data = b"".join(pattern(place) for place in places)
    packed_write(card, header(WRITE, entries), data, entries[0][1])
    yield "PACKED_COMMAND_STATUS", card.get(at.PACKED_COMMAND_STATUS), 0
    yield "data", b"".join(card.read(place) for place in places), data


@GROUP()
def too_many_entries(card: Card) -> Iterator[Check]:
    """Say one entry more than MAX_PACKED_WRITES."""
    card.start()
    entries, data = two(card)
    count = card.get(at.MAX_PACKED_WRITES) + 1
    packed_write(card, header(WRITE, entries, count=count), data, entries[0][1])
    yield from failure(card)


@GROUP()
def version(card: Card) -> Iterator[Check]:
    """Send a header of version 2."""
    card.start()
    entries, data = two(card)
    packed_write(card, header(WRITE, entries, version=2), data, entries[0][1])
    yield from failure(card)
    yield "data", card.read(64), bytes(SECTOR)


@GROUP()
def direction(card: Card) -> Iterator[Check]:
    """Send a header that is neither a read nor a write."""
    card.start()
    entries, data = two(card)
    packed_write(card, header(3, entries), data, entries[0][1])
    yield from failure(card)


@GROUP()
def no_entries(card: Card) -> Iterator[Check]:
    """Send a header without entries."""
    card.start()
    packed_write(card, header(WRITE, []), b"", 0)
    yield from failure(card)


@GROUP()
def wrong_total(card: Card) -> Iterator[Check]:
    """Send one block more than the entries have."""
    card.start()
    entries, data = two(card)
    packed_write(card, header(WRITE, entries), data + bytes(SECTOR), entries[0][1])
    yield from failure(card)


@GROUP()
def other_address(card: Card) -> Iterator[Check]:
    """Send CMD25 with another address than that of the first entry."""
    card.start()
    entries, data = two(card)
    packed_write(card, header(WRITE, entries), data, card.address(999))
    yield from failure(card)


@GROUP()
def failing_entry(card: Card) -> Iterator[Check]:
    """Let the second of three entries be behind the end: the first is written, the third not."""
    card.start()
    beyond = card.user_sectors * (1 if card.is_by_sector else SECTOR)
    entries = [(4, card.address(64)), (4, beyond), (4, card.address(512))]
    data = pattern(64, 4) + pattern(1, 4) + pattern(512, 4)
    packed_write(card, header(WRITE, entries), data, entries[0][1])
    yield "PACKED_COMMAND_STATUS", card.get(at.PACKED_COMMAND_STATUS), 3
    yield "PACKED_FAILURE_INDEX", card.get(at.PACKED_FAILURE_INDEX), 2
    yield "first", card.read(64, 4), pattern(64, 4)
    yield "third", card.read(512, 4), bytes(4 * SECTOR)


@GROUP()
def entry_of_no_blocks(card: Card) -> Iterator[Check]:
    """Let the second entry have no blocks."""
    card.start()
    entries, data = two(card, (8, 0))
    packed_write(card, header(WRITE, entries), data, entries[0][1])
    yield "PACKED_COMMAND_STATUS", card.get(at.PACKED_COMMAND_STATUS), 3
    yield "PACKED_FAILURE_INDEX", card.get(at.PACKED_FAILURE_INDEX), 2


@GROUP("6.6 Exception events")
def event(card: Card) -> Iterator[Check]:
    """Fail with PACKED_EVENT_EN off and on, then succeed."""
    card.start()
    entries, data = two(card)
    bad = header(WRITE, entries, version=9)
    packed_write(card, bad, data, entries[0][1])
    yield "off", card.status().errors, "none"
    card.switch(at.EXCEPTION_EVENTS_CTRL, 0x08)
    packed_write(card, bad, data, entries[0][1])
    yield "on", card.status().errors, "EXCEPTION_EVENT"
    packed_write(card, header(WRITE, entries), data, entries[0][1])
    yield "after success", card.status().errors, "none"
    yield "PACKED_COMMAND_STATUS", card.get(at.PACKED_COMMAND_STATUS), 0


@GROUP(options={"cache_kib": 256})
def reliable_entry(card: Card) -> Iterator[Check]:
    """Write two entries with the cache on, the second reliably, and cut the power."""
    card.start()
    card.switch(at.CACHE_CTRL, 1)
    entries, data = two(card)
    entries[1] = (entries[1][0] | at.RELIABLE, entries[1][1])
    packed_write(card, header(WRITE, entries), data, entries[0][1])
    card.restart()
    yield "plain", card.read(64, 8), bytes(8 * SECTOR)
    yield "reliable", card.read(4096, 5), pattern(4096, 5)
