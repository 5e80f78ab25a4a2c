"""CMD35, CMD36, CMD38: erase, trim, discard, secure variants, sanitize, and wrong sequences."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import GROUP_SECTORS, SECTOR

GROUP = Group[Card]("erase", "6.6 Erase")


def erased(card: Card, count: int) -> bytes:
    """Return the content of erased blocks."""
    return bytes([0xFF if card.get(at.ERASED_MEM_CONT) else 0]) * count * SECTOR


def filled(card: Card, first: int, count: int) -> None:
    """Bring the card to the transfer state, and write blocks."""
    card.start()
    for place in range(first, first + count, 2048):
        part = min(2048, first + count - place)
        card.write(place, pattern(place, part))


@GROUP()
def groups(card: Card) -> Iterator[Check]:
    """Erase from the middle of one group to the middle of the next: both are erased as a whole."""
    size = GROUP_SECTORS
    filled(card, size - 8, 2 * size + 16)
    yield "errors", card.erase(size + 100, 2 * size + 5, at.ERASE).errors, "none"
    yield "first block", card.read(size), erased(card, 1)
    yield "last block", card.read(3 * size - 1), erased(card, 1)
    yield "block before", card.read(size - 1), pattern(size - 1)
    yield "block behind", card.read(3 * size), pattern(3 * size)


@GROUP("7.4 Extended CSD register, ERASE_GROUP_DEF")
def high_capacity_groups(card: Card) -> Iterator[Check]:
    """Erase one group of high capacity: HC_ERASE_GRP_SIZE times 512 KiB."""
    filled(card, 0, 1024 + 8)
    yield "errors of ERASE_GROUP_DEF", card.switch(at.ERASE_GROUP_DEF, 1), "none"
    card.erase(0, 0, at.ERASE)
    last = 1024 * card.get(at.HC_ERASE_GRP_SIZE) - 1
    yield "last block", card.read(last), erased(card, 1)
    yield "block behind", card.read(last + 1), pattern(last + 1)


@GROUP("6.6 TRIM")
def trim(card: Card) -> Iterator[Check]:
    """Trim blocks 3 to 20 of 24: these, and no others, read as erased."""
    filled(card, 0, 24)
    yield "errors", card.erase(3, 20, at.TRIM).errors, "none"
    yield "data", card.read(0, 24), pattern(0, 3) + erased(card, 18) + pattern(21, 3)


@GROUP("6.6 TRIM")
def trim_is_kept(card: Card) -> Iterator[Check]:
    """Trim, then switch off and on."""
    filled(card, 0, 24)
    card.erase(3, 20, at.TRIM)
    card.restart()
    yield "data", card.read(3, 18), erased(card, 18)


@GROUP("6.6 Discard")
def discard(card: Card) -> Iterator[Check]:
    """Discard blocks 3 to 20 of 24: others stay, these may be anything."""
    filled(card, 0, 24)
    yield "errors", card.erase(3, 20, at.DISCARD).errors, "none"
    data = card.read(0, 24)
    yield "blocks before", data[: 3 * SECTOR], pattern(0, 3)
    yield "blocks behind", data[21 * SECTOR :], pattern(21, 3)


@GROUP("6.6 Secure Erase")
def secure_erase(card: Card) -> Iterator[Check]:
    """Erase a group securely, and compare the time with a plain erase."""
    filled(card, 0, GROUP_SECTORS)
    answer = card.erase(0, 0, at.SECURE_ERASE)
    yield "errors", answer.errors, "none"
    yield "data", card.read(0, 64), erased(card, 64)
    card.write(0, pattern(0, GROUP_SECTORS))
    yield "slower than a plain one", answer.busy_ns > card.erase(0, 0, at.ERASE).busy_ns, True


@GROUP("6.6 Secure Trim")
def secure_trim(card: Card) -> Iterator[Check]:
    """Mark blocks with step 1, then carry out step 2."""
    filled(card, 0, 32)
    yield "errors of step 1", card.erase(8, 15, at.SECURE_TRIM_1).errors, "none"
    yield "errors of step 2", card.erase(8, 15, at.SECURE_TRIM_2).errors, "none"
    yield "data", card.read(0, 32), pattern(0, 8) + erased(card, 8) + pattern(16, 16)


@GROUP("6.6 Sanitize")
def sanitize(card: Card) -> Iterator[Check]:
    """Trim a MiB, sanitize, and sanitize again with nothing left to do."""
    filled(card, 0, 4096)
    card.erase(0, 2047, at.TRIM)
    first = card.command(6, 3 << 24 | at.SANITIZE_START << 16 | 1 << 8).busy_ns
    yield "errors", card.status().errors, "none"
    second = card.command(6, 3 << 24 | at.SANITIZE_START << 16 | 1 << 8).busy_ns
    yield "the first takes longer", first > second, True
    yield "mapped data", card.read(2048, 64), pattern(2048, 64)


@GROUP("6.13 Device status, ERASE_SEQ_ERROR")
def without_selection(card: Card) -> Iterator[Check]:
    """Send CMD38 alone, then CMD36 alone."""
    card.start()
    yield "errors of CMD38", card.command(38, at.TRIM).errors, "ERASE_SEQ_ERROR"
    yield "errors of CMD36", card.command(36, 0).errors, "ERASE_SEQ_ERROR"
    yield "state", card.state, "tran"


@GROUP("6.13 Device status, ERASE_SEQ_ERROR")
def half_a_selection(card: Card) -> Iterator[Check]:
    """Send CMD35 and CMD38 without CMD36."""
    filled(card, 0, 8)
    card.command(35, 0)
    yield "errors", card.command(38, at.TRIM).errors, "ERASE_SEQ_ERROR"
    yield "data", card.read(0, 8), pattern(0, 8)


@GROUP("6.13 Device status, ERASE_PARAM")
def reversed_(card: Card) -> Iterator[Check]:
    """Select from block 20 to block 10."""
    filled(card, 0, 24)
    card.command(35, card.address(20))
    yield "errors of CMD36", card.command(36, card.address(10)).errors, "ERASE_PARAM"
    yield "errors of CMD38", card.command(38, at.TRIM).errors, "ERASE_SEQ_ERROR"
    yield "data", card.read(0, 24), pattern(0, 24)


@GROUP("6.13 Device status, ADDRESS_OUT_OF_RANGE")
def beyond_the_end(card: Card) -> Iterator[Check]:
    """Select up to a block behind the last."""
    card.start()
    beyond = card.user_sectors * (1 if card.is_by_sector else SECTOR)
    card.command(35, card.address(0))
    yield "errors of CMD36", card.command(36, beyond).errors, "ADDRESS_OUT_OF_RANGE"
    yield "errors of CMD38", card.command(38, at.TRIM).errors, "ERASE_SEQ_ERROR"


@GROUP("6.13 Device status, ERASE_RESET")
def left_in_the_middle(card: Card) -> Iterator[Check]:
    """Read between CMD35 and CMD36; CMD13 between them is allowed."""
    card.start()
    card.command(35, 0)
    yield "errors of CMD13", card.status().errors, "none"
    yield "errors of CMD17", card.command(17, 0).errors, "ERASE_RESET"
    yield "errors of CMD36", card.command(36, 0).errors, "ERASE_SEQ_ERROR"


@GROUP("6.10 Commands, CMD38")
def unknown_argument(card: Card) -> Iterator[Check]:
    """Send CMD38 with an argument that is reserved."""
    filled(card, 0, 8)
    yield "errors", card.erase(0, 7, 0x00000010).errors, "ERASE_PARAM"
    yield "data", card.read(0, 8), pattern(0, 8)


@GROUP()
def selection_is_used_up(card: Card) -> Iterator[Check]:
    """Send CMD38 twice."""
    filled(card, 0, 8)
    card.erase(0, 7, at.TRIM)
    yield "errors", card.command(38, at.TRIM).errors, "ERASE_SEQ_ERROR"


@GROUP()
def busy(card: Card) -> Iterator[Check]:
    """Look at the state while the card erases, and at the time that is allowed."""
    filled(card, 0, 2048)
    card.command(35, 0)
    card.command(36, card.address(2047))
    busy_ns = card.command(38, at.ERASE, wait=False).busy_ns
    yield "state", card.status().state, "prg"
    card.wait(busy_ns)
    limit_ns = 2 * 300_000_000 * card.get(at.ERASE_TIMEOUT_MULT)
    yield "within ERASE_TIMEOUT_MULT", busy_ns <= limit_ns, True


@GROUP()
def all_of_it(card: Card) -> Iterator[Check]:
    """Erase the whole user area."""
    filled(card, 0, 64)
    last = card.user_sectors - 1
    card.write(last, pattern(last))
    yield "errors", card.erase(0, last, at.ERASE).errors, "none"
    yield "first blocks", card.read(0, 64), erased(card, 64)
    yield "last block", card.read(last), erased(card, 1)
