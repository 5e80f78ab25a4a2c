"""Blocks: CMD12, 16, 17, 18, 23, 24, 25, addresses and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import RCA, Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import SECTOR

GROUP = Group[Card]("transfer", "6.6 Data write")
SMALL = {"user_bytes_max": 1 << 26}


@GROUP()
def single_block(card: Card) -> Iterator[Check]:
    """Write with CMD24, and read with CMD17."""
    card.start()
    answer = card.command(24, card.address(100), pattern(100))
    yield "errors", answer.errors, "none"
    yield "data", card.command(17, card.address(100)).data, pattern(100)


@GROUP()
def counted_blocks(card: Card) -> Iterator[Check]:
    """Write and read 200 blocks after CMD23."""
    card.start()
    yield "errors", card.write(77, pattern(77, 200)).errors, "none"
    yield "state", card.state, "tran"
    yield "data", card.read(77, 200), pattern(77, 200)


@GROUP("6.6 Block write")
def open_ended_write(card: Card) -> Iterator[Check]:
    """Write with CMD25 without CMD23, in two parts, and stop with CMD12."""
    card.start()
    card.command(25, card.address(10), pattern(10, 3))
    yield "state", card.state, "rcv"
    card.send(pattern(13, 2))
    stop = card.command(12)
    yield "state of CMD12", stop.state, "rcv"
    yield "busy after CMD12", stop.busy_ns > 0, True
    yield "data", card.read(10, 5), pattern(10, 5)


@GROUP("6.6 Data read")
def open_ended_read(card: Card) -> Iterator[Check]:
    """Read with CMD18 without CMD23, in two parts, and stop with CMD12."""
    card.start()
    card.write(20, pattern(20, 8))
    first = card.command(18, card.address(20), blocks=3).data
    yield "state", card.state, "data"
    yield "data", first + card.core.receive(5), pattern(20, 8)
    yield "state of CMD12", card.command(12).state, "data"
    yield "state then", card.state, "tran"


@GROUP("6.6 Block write")
def waits_for_data(card: Card) -> Iterator[Check]:
    """Send CMD24 without data, ask, then send the block."""
    card.start()
    card.command(24, card.address(5))
    yield "state", card.status().state, "rcv"
    yield "busy", card.send(pattern(5)) > 0, True
    yield "data", card.read(5), pattern(5)


@GROUP("6.6 Block write")
def busy(card: Card) -> Iterator[Check]:
    """Look at the state during programming."""
    card.start()
    busy_ns = card.write(0, pattern(0, 64), wait=False).busy_ns
    answer = card.status()
    yield "state", answer.state, "prg"
    yield "READY_FOR_DATA", answer.status & at.READY_FOR_DATA, 0
    card.wait(busy_ns)
    answer = card.status()
    yield "state then", answer.state, "tran"
    yield "READY_FOR_DATA then", answer.status & at.READY_FOR_DATA, at.READY_FOR_DATA


@GROUP("6.11 Device state transition table")
def illegal_while_busy(card: Card) -> Iterator[Check]:
    """Send a read in the middle of programming."""
    card.start()
    busy_ns = card.write(0, pattern(0, 64), wait=False).busy_ns
    yield "CMD17", card.command(17, 0, wait=False).response, None
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"
    card.wait(busy_ns)
    yield "data", card.read(0, 64), pattern(0, 64)


@GROUP("6.13 Device status, ADDRESS_OUT_OF_RANGE")
def beyond_the_end(card: Card) -> Iterator[Check]:
    """Read and write one block behind the last."""
    card.start()
    beyond = card.user_sectors * (1 if card.is_by_sector else SECTOR)
    yield "errors of CMD17", card.command(17, beyond).errors, "ADDRESS_OUT_OF_RANGE"
    yield "errors of CMD24", card.command(24, beyond, bytes(SECTOR)).errors, "ADDRESS_OUT_OF_RANGE"
    yield "state", card.state, "tran"
    yield "errors then", card.status().errors, "none"


@GROUP("6.13 Device status, ADDRESS_OUT_OF_RANGE")
def read_across_the_end(card: Card) -> Iterator[Check]:
    """Read four blocks, of which two are behind the end."""
    card.start()
    last = card.user_sectors - 2
    yield "blocks", len(card.read(last, 4)) // SECTOR, 2
    yield "errors of the next", card.status().errors, "ADDRESS_OUT_OF_RANGE"


@GROUP("6.13 Device status, ADDRESS_OUT_OF_RANGE")
def write_across_the_end(card: Card) -> Iterator[Check]:
    """Write four blocks, of which two are behind the end."""
    card.start()
    last = card.user_sectors - 2
    card.write(last, pattern(last, 4))
    yield "errors of the next", card.status().errors, "ADDRESS_OUT_OF_RANGE"
    yield "data", card.read(last, 2), pattern(last, 2)


@GROUP("6.13 Device status, ADDRESS_MISALIGN", options=SMALL)
def misaligned(card: Card) -> Iterator[Check]:
    """Read and write inside a block, on a card that is addressed by bytes."""
    card.start()
    yield "errors of CMD17", card.command(17, 100).errors, "ADDRESS_MISALIGN"
    yield "errors of CMD24", card.command(24, 513, bytes(SECTOR)).errors, "ADDRESS_MISALIGN"
    yield "state", card.state, "tran"


@GROUP("6.6 Data read, byte access", options=SMALL)
def by_bytes(card: Card) -> Iterator[Check]:
    """Write sector 3 of a card of 64 MiB, and read from byte 1536."""
    card.start()
    card.write(3, pattern(3))
    yield "data", card.command(17, 1536).data, pattern(3)


@GROUP("6.10 Commands, CMD16")
def block_length(card: Card) -> Iterator[Check]:
    """Set the block length to 512, then to 1024."""
    card.start()
    yield "errors of 512", card.command(16, 512).errors, "none"
    yield "errors of 1024", card.command(16, 1024).errors, "BLOCK_LEN_ERROR"
    yield "bytes of a block", len(card.command(17, 0).data), 512


@GROUP("6.10 Commands, CMD23")
def count_is_for_the_next(card: Card) -> Iterator[Check]:
    """Send CMD23, then CMD13, then CMD18: the count is forgotten."""
    card.start()
    card.command(23, 2)
    card.status()
    card.command(18, 0, blocks=1)
    yield "state", card.state, "data"
    card.command(12)


@GROUP("6.10 Commands, CMD23")
def count_of_zero(card: Card) -> Iterator[Check]:
    """Send CMD23 with 0 blocks: the transfer is without end."""
    card.start()
    card.command(23, 0)
    card.command(18, 0, blocks=1)
    yield "state", card.state, "data"
    card.command(12)


@GROUP("6.11 Device state transition table, CMD12")
def stop_without_transfer(card: Card) -> Iterator[Check]:
    """Send CMD12 when nothing is transferred."""
    card.start()
    yield "CMD12", card.command(12).response, None
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"


@GROUP("6.11 Device state transition table, CMD7")
def deselect_in_data(card: Card) -> Iterator[Check]:
    """Deselect the card in the middle of a read."""
    card.start()
    card.command(18, 0, blocks=1)
    card.command(7, 2 << 16)
    yield "state", card.state, "stby"
    card.command(7, RCA)
    yield "CMD17", card.command(17, 0).errors, "none"


@GROUP("7.4 Extended CSD register, ERASED_MEM_CONT")
def never_written(card: Card) -> Iterator[Check]:
    """Read blocks of a new card."""
    card.start()
    value = 0xFF if card.get(at.ERASED_MEM_CONT) else 0
    yield "data", card.read(1000, 4), bytes([value]) * 4 * SECTOR


@GROUP("6.6 Data write")
def survives_power(card: Card) -> Iterator[Check]:
    """Write without the cache, switch off and on, and read."""
    card.start()
    card.write(300, pattern(300, 16))
    card.restart()
    yield "data", card.read(300, 16), pattern(300, 16)


@GROUP("6.6 Data write")
def overwrite(card: Card) -> Iterator[Check]:
    """Write blocks twice, the second time a part of them."""
    card.start()
    card.write(50, pattern(50, 16))
    card.write(53, pattern(53, 5, tag="new"))
    wanted = pattern(50, 3) + pattern(53, 5, tag="new") + pattern(58, 8)
    yield "data", card.read(50, 16), wanted


@GROUP("6.13 Device status, DEVICE_ECC_FAILED")
def uncorrectable(card: Card) -> Iterator[Check]:
    """Damage what the flash holds, and read it; then write it again."""
    card.start()
    card.write(800, pattern(800, 8))
    yield "damaged", card.core.corrupt(800), True
    yield "bytes", len(card.command(17, card.address(800)).data), 0
    yield "errors of the next", card.status().errors, "DEVICE_ECC_FAILED"
    unit = 800 // 8 * 8
    card.write(unit, pattern(unit, 64, tag="new"))
    yield "data", card.read(unit, 64), pattern(unit, 64, tag="new")


@GROUP("6.6 Data read")
def last_block(card: Card) -> Iterator[Check]:
    """Write and read the last block of the user area."""
    card.start()
    last = card.user_sectors - 1
    card.write(last, pattern(last))
    yield "data", card.read(last), pattern(last)
