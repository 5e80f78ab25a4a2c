"""From power to the transfer state: CMD0, 1, 2, 3, 7, 9, 10, 15, and what is legal where."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import OCR, RCA, SECOND_NS, Card
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.registers import crc7, field

GROUP = Group[Card]("identification", "6.4 Device identification mode")
OTHER = 2 << 16
READY = 1 << 31


def number(response: int | bytes | None) -> int:
    """Return a response of 32 bits; -1 for any other."""
    return response if isinstance(response, int) else -1


def register(response: int | bytes | None) -> bytes:
    """Return a response of 128 bits; no bytes for any other."""
    return response if isinstance(response, bytes) else b""


@GROUP()
def power_up(card: Card) -> Iterator[Check]:
    """Switch on, and ask with CMD13."""
    yield "state", card.state, "idle"
    yield "CMD13", card.status().response, None


@GROUP("6.4 Access mode validation, power up")
def busy_until_ready(card: Card) -> Iterator[Check]:
    """Send CMD1 at once after power up."""
    ocr = number(card.command(1, OCR).response)
    yield "ready bit", ocr >> 31, 0
    yield "state", card.state, "idle"


@GROUP("7.1 OCR register")
def ready_within_a_second(card: Card) -> Iterator[Check]:
    """Send CMD1 a second after power up."""
    card.wait(SECOND_NS)
    ocr = number(card.command(1, OCR).response)
    yield "ready bit", ocr >> 31, 1
    yield "state", card.state, "ready"


@GROUP("7.1 OCR register")
def question(card: Card) -> Iterator[Check]:
    """Send CMD1 with argument 0, which only asks for the voltages."""
    card.wait(SECOND_NS)
    ocr = number(card.command(1, 0).response)
    yield "2.7 to 3.6 V", ocr >> 15 & 0x1FF, 0x1FF
    yield "state", card.state, "idle"


@GROUP("7.1 OCR register")
def voltage(card: Card) -> Iterator[Check]:
    """Send CMD1 with a voltage that the card cannot have, then CMD0 and CMD1."""
    card.wait(SECOND_NS)
    yield "CMD1", card.command(1, 0x00000100).response, None
    yield "state", card.state, "ina"
    card.command(0)
    yield "CMD1 again", card.command(1, OCR).response, None


@GROUP("7.1 OCR register, access mode")
def access_mode(card: Card) -> Iterator[Check]:
    """Read the access mode of a card as large as the drive."""
    card.wait(SECOND_NS)
    ocr = number(card.command(1, OCR).response)
    yield "access mode", ocr >> 29 & 3, 2 if card.user_sectors > 1 << 22 else 0


@GROUP("7.1 OCR register, access mode", options={"user_bytes_max": 1 << 26})
def access_mode_of_bytes(card: Card) -> Iterator[Check]:
    """Read the access mode of a card of 64 MiB."""
    card.wait(SECOND_NS)
    yield "access mode", number(card.command(1, OCR).response) >> 29 & 3, 0


@GROUP("7.2 CID register")
def cid(card: Card) -> Iterator[Check]:
    """Send CMD2."""
    card.wait(SECOND_NS)
    card.command(1, OCR)
    found = register(card.command(2).response)
    yield "bytes", len(found), 16
    yield "CRC7", found[15:].hex(), f"{crc7(found[:15]) << 1 | 1:02x}"
    yield "state", card.state, "ident"


@GROUP()
def relative_address(card: Card) -> Iterator[Check]:
    """Assign an address with CMD3."""
    answer = card.identify()
    yield "state of R1", answer.state, "ident"
    yield "errors", answer.errors, "none"
    yield "state", card.state, "stby"


@GROUP("6.10 Commands, CMD3")
def address_zero(card: Card) -> Iterator[Check]:
    """Assign address 0, which deselects all cards."""
    card.wait(SECOND_NS)
    card.command(1, OCR)
    card.command(2)
    yield "CMD3", card.command(3, 0).response, None
    yield "state", card.state, "ident"


@GROUP("6.6 Data transfer mode")
def select(card: Card) -> Iterator[Check]:
    """Select the card with CMD7."""
    card.identify()
    answer = card.command(7, RCA)
    yield "state of R1", answer.state, "stby"
    yield "state", card.state, "tran"


@GROUP("6.6 Data transfer mode")
def deselect(card: Card) -> Iterator[Check]:
    """Select another card, then this one again."""
    card.start()
    yield "CMD7", card.command(7, OTHER).response, None
    yield "state", card.state, "stby"
    yield "state of R1", card.command(7, RCA).state, "stby"
    yield "state again", card.state, "tran"


@GROUP("6.11 Device state transition table, CMD7")
def deselect_while_busy(card: Card) -> Iterator[Check]:
    """Select another card in the middle of a write, then this one again."""
    card.start()
    busy_ns = card.write(0, bytes(512 * 64), wait=False).busy_ns
    card.command(7, OTHER, wait=False)
    yield "state", card.state, "dis"
    card.command(7, RCA, wait=False)
    yield "state again", card.state, "prg"
    card.command(7, OTHER, wait=False)
    card.wait(busy_ns)
    yield "state at the end", card.state, "stby"


@GROUP("7.3 CSD register")
def csd(card: Card) -> Iterator[Check]:
    """Read the CSD with CMD9."""
    card.identify()
    found = register(card.command(9, RCA).response)
    yield "CRC7", found[15:].hex(), f"{crc7(found[:15]) << 1 | 1:02x}"
    yield "CSD_STRUCTURE", field(found, 127, 126), 3
    yield "SPEC_VERS", field(found, 125, 122), 4
    yield "READ_BL_LEN", field(found, 83, 80), 9
    yield "classes 0, 2, 4, 5, 6", field(found, 95, 84) & 0x75, 0x75


@GROUP("7.3 CSD register, C_SIZE")
def c_size(card: Card) -> Iterator[Check]:
    """Read C_SIZE of a card as large as the drive."""
    card.identify()
    found = register(card.command(9, RCA).response)
    if card.is_by_sector:
        yield "C_SIZE", field(found, 73, 62), 0xFFF
    else:
        size = (field(found, 73, 62) + 1) << field(found, 49, 47) + 2
        yield "blocks", size, card.user_sectors


@GROUP("7.3 CSD register, C_SIZE", options={"user_bytes_max": 1 << 26})
def c_size_of_bytes(card: Card) -> Iterator[Check]:
    """Read C_SIZE of a card of 64 MiB: (C_SIZE + 1) 2^(C_SIZE_MULT + 2) blocks."""
    card.identify()
    found = register(card.command(9, RCA).response)
    yield "blocks", (field(found, 73, 62) + 1) << field(found, 49, 47) + 2, card.user_sectors


@GROUP("6.10 Commands, CMD10")
def cid_again(card: Card) -> Iterator[Check]:
    """Compare the CID of CMD10 with that of CMD2."""
    card.wait(SECOND_NS)
    card.command(1, OCR)
    first = register(card.command(2).response)
    card.command(3, RCA)
    yield "CID", register(card.command(10, RCA).response), first


@GROUP("6.4 Device reset")
def go_idle(card: Card) -> Iterator[Check]:
    """Send CMD0 in the transfer state."""
    card.start()
    yield "CMD0", card.command(0).response, None
    yield "state", card.state, "idle"


@GROUP("6.10 Commands, CMD15")
def go_inactive(card: Card) -> Iterator[Check]:
    """Send CMD15, then CMD0 and CMD1; then switch off and on."""
    card.start()
    card.command(15, RCA)
    yield "state", card.state, "ina"
    card.command(0)
    yield "CMD1", card.command(1, OCR).response, None
    card.restart()
    yield "state after power", card.state, "tran"


@GROUP("6.10 Commands, addressed commands")
def not_addressed(card: Card) -> Iterator[Check]:
    """Send CMD13 for another card."""
    card.start()
    yield "CMD13", card.command(13, OTHER).response, None
    yield "errors of the next", card.status().errors, "none"


@GROUP("6.8 Error conditions, illegal commands")
def illegal(card: Card) -> Iterator[Check]:
    """Send CMD2 in the transfer state, and ask twice."""
    card.start()
    yield "CMD2", card.command(2).response, None
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"
    yield "errors then", card.status().errors, "none"
    yield "state", card.state, "tran"


@GROUP("6.8 Error conditions, illegal commands")
def reserved(card: Card) -> Iterator[Check]:
    """Send all commands that the standard reserves for others or for later."""
    card.start()
    found = []
    for index in (22, 32, 33, 34, 37, 41, 43, 50, 51, 52, 57, 58, 59, 60, 61, 62, 63):
        answer = card.command(index)
        if answer.response is not None or card.status().errors != "ILLEGAL_COMMAND":
            found.append(index)
    yield "taken", ", ".join(map(str, found)), ""


@GROUP("6.11 Device state transition table")
def illegal_in_standby(card: Card) -> Iterator[Check]:
    """Send the commands of the transfer state in stand-by."""
    card.identify()
    found = []
    for index in (6, 8, 16, 17, 18, 19, 23, 24, 25, 28, 29, 30, 31, 35, 36, 38):
        answer = card.command(index)
        if answer.response is not None or card.status().errors != "ILLEGAL_COMMAND":
            found.append(index)
    yield "taken", ", ".join(map(str, found)), ""
    yield "state", card.state, "stby"


@GROUP("6.11 Device state transition table")
def illegal_in_transfer(card: Card) -> Iterator[Check]:
    """Send the commands of other states in the transfer state."""
    card.start()
    found = []
    for index in (1, 2, 3, 5, 9, 10, 12, 14):
        answer = card.command(index, RCA)
        if answer.response is not None or card.status().errors != "ILLEGAL_COMMAND":
            found.append(index)
    yield "taken", ", ".join(map(str, found)), ""
    yield "state", card.state, "tran"


@GROUP("6.10 Commands, CMD14, CMD19")
def bus_test(card: Card) -> Iterator[Check]:
    """Send a pattern with CMD19, and take it with CMD14."""
    card.start()
    card.command(19, 0, bytes([0x55, 0xAA]))
    yield "state", card.state, "btst"
    yield "reversed", card.command(14).data, bytes([0xAA, 0x55])
    yield "state then", card.state, "tran"


@GROUP("6.13 Device status")
def status_tells_the_state(card: Card) -> Iterator[Check]:
    """Ask with CMD13 in stand-by and in the transfer state."""
    card.identify()
    yield "stand-by", card.status().state, "stby"
    card.command(7, RCA)
    yield "selected", card.status().state, "tran"
    yield "READY_FOR_DATA", card.status().status & at.READY_FOR_DATA != 0, True
