"""The replay protected memory block: key, counter, authenticated writes and reads."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.emmc import registers as at
from opennandlab.emmc import rpmb
from opennandlab.emmc.card import Card, pattern
from opennandlab.emmc.case import Check, Group
from opennandlab.emmc.rpmb import HALF, KEY, NONCE, Frame

GROUP = Group[Card]("rpmb", "6.6 Replay Protected Memory Block")
OK, GENERAL, AUTHENTICATION, COUNTER, ADDRESS, WRITE, READ, NO_KEY = range(8)
EXPIRED = 0x80
DATA = pattern(1)[:HALF]


def opened(card: Card) -> None:
    """Bring the card to the transfer state, and choose the RPMB."""
    card.start()
    card.partition(3)


def keyed(card: Card) -> None:
    """Choose the RPMB, and program the key."""
    opened(card)
    rpmb.program_key(card)


def stored(card: Card, address: int, count: int = 1) -> bytes:
    """Return the data of half sectors."""
    raw = rpmb.read(card, address, count)
    return b"".join(raw[place : place + 512][228:484] for place in range(0, 512 * count, 512))


@GROUP()
def no_key(card: Card) -> Iterator[Check]:
    """Read the counter, write and read without a key."""
    opened(card)
    yield "counter", Frame.of(rpmb.read_counter(card)).result, NO_KEY
    yield "write", rpmb.write(card, rpmb.written(0, DATA, 0)).result, NO_KEY
    yield "read", Frame.of(rpmb.read(card, 0)).result, NO_KEY


@GROUP()
def key(card: Card) -> Iterator[Check]:
    """Program the key."""
    opened(card)
    frame = rpmb.program_key(card)
    yield "response", frame.kind, 0x0100
    yield "result", frame.result, OK


@GROUP()
def second_key(card: Card) -> Iterator[Check]:
    """Program a second key: the first stays."""
    keyed(card)
    yield "result", rpmb.program_key(card, bytes(32)).result, WRITE
    yield "write with the first", rpmb.write(card, rpmb.written(0, DATA, 0)).result, OK


@GROUP()
def key_unreliable(card: Card) -> Iterator[Check]:
    """Program the key without the reliable bit of CMD23."""
    opened(card)
    rpmb.request(card, bytes(Frame(rpmb.PROGRAM_KEY, KEY)))
    yield "result", rpmb.result_of(card).result, GENERAL


@GROUP()
def counter(card: Card) -> Iterator[Check]:
    """Read the counter: nonce and MAC must be those of this request."""
    keyed(card)
    raw = rpmb.read_counter(card)
    frame = Frame.of(raw)
    yield "response", frame.kind, 0x0200
    yield "counter", frame.counter, 0
    yield "nonce", frame.nonce, NONCE
    yield "MAC", frame.key, rpmb.mac([raw])


@GROUP()
def write(card: Card) -> Iterator[Check]:
    """Write half a sector, and read it."""
    keyed(card)
    frame = rpmb.write(card, rpmb.written(7, DATA, 0))
    yield "response", frame.kind, 0x0300
    yield "result", frame.result, OK
    yield "counter", frame.counter, 1
    yield "address", frame.address, 7
    yield "data", stored(card, 7), DATA


@GROUP()
def write_is_answered_with_a_mac(card: Card) -> Iterator[Check]:
    """Check the MAC of the answer to a write."""
    keyed(card)
    rpmb.request(card, rpmb.written(0, DATA, 0), reliable=True)
    rpmb.request(card, bytes(Frame(rpmb.READ_RESULT)))
    raw = rpmb.answer(card)
    yield "MAC", Frame.of(raw).key, rpmb.mac([raw])


@GROUP()
def wrong_key(card: Card) -> Iterator[Check]:
    """Write with the MAC of another key: nothing is stored."""
    keyed(card)
    frame = rpmb.write(card, rpmb.written(0, DATA, 0, key=bytes(32)))
    yield "result", frame.result, AUTHENTICATION
    yield "counter", frame.counter, 0
    yield "data", stored(card, 0), bytes(HALF)


@GROUP()
def replayed(card: Card) -> Iterator[Check]:
    """Send the same write twice: the counter has gone on."""
    keyed(card)
    frames = rpmb.written(0, DATA, 0)
    yield "first", rpmb.write(card, frames).result, OK
    yield "second", rpmb.write(card, frames).result, COUNTER


@GROUP()
def address(card: Card) -> Iterator[Check]:
    """Write and read the last half sector, and one behind it."""
    keyed(card)
    last = card.get(at.RPMB_SIZE_MULT) * 512 - 1
    yield "last", rpmb.write(card, rpmb.written(last, DATA, 0)).result, OK
    yield "behind", rpmb.write(card, rpmb.written(last + 1, DATA, 1)).result, ADDRESS
    yield "read behind", Frame.of(rpmb.read(card, last + 1)).result, ADDRESS


@GROUP()
def read(card: Card) -> Iterator[Check]:
    """Read four half sectors: nonce in each, MAC of all in the last."""
    keyed(card)
    rpmb.write(card, rpmb.written(2, DATA, 0))
    raw = rpmb.read(card, 0, 4)
    frames = [raw[place : place + 512] for place in range(0, 2048, 512)]
    yield "response", Frame.of(frames[3]).kind, 0x0400
    yield "nonces", all(Frame.of(frame).nonce == NONCE for frame in frames), True
    yield "data of the third", Frame.of(frames[2]).data, DATA
    yield "block count", Frame.of(frames[0]).count, 4
    yield "MAC", Frame.of(frames[3]).key, rpmb.mac(frames)


@GROUP()
def two_halves(card: Card) -> Iterator[Check]:
    """Write two half sectors at once, the first in the middle of a sector."""
    keyed(card)
    data = pattern(5)
    yield "result", rpmb.write(card, rpmb.written(3, data, 0)).result, OK
    yield "data", stored(card, 3, 2), data
    yield "half before", stored(card, 2), bytes(HALF)
    yield "half behind", stored(card, 5), bytes(HALF)


@GROUP("7.4 Extended CSD register, WR_REL_PARAM", since=8)
def thirty_two_halves(card: Card) -> Iterator[Check]:
    """Write 8 KiB at once, which EN_RPMB_REL_WR allows."""
    keyed(card)
    yield "EN_RPMB_REL_WR", card.get(at.WR_REL_PARAM) >> 4 & 1, 1
    data = pattern(9, 16)
    yield "result", rpmb.write(card, rpmb.written(64, data, 0)).result, OK
    yield "data", stored(card, 64, 32), data


@GROUP()
def three_halves(card: Card) -> Iterator[Check]:
    """Write three half sectors at once, which no card allows."""
    keyed(card)
    frame = rpmb.write(card, rpmb.written(0, pattern(0, 2)[: 3 * HALF], 0))
    yield "result", frame.result, GENERAL


@GROUP()
def wrong_count(card: Card) -> Iterator[Check]:
    """Send one frame that says two."""
    keyed(card)
    yield "result", rpmb.write(card, rpmb.written(0, DATA, 0, count=2)).result, GENERAL


@GROUP()
def unreliable(card: Card) -> Iterator[Check]:
    """Write without the reliable bit of CMD23."""
    keyed(card)
    frame = rpmb.write(card, rpmb.written(0, DATA, 0), reliable=False)
    yield "result", frame.result, GENERAL


@GROUP()
def unknown_request(card: Card) -> Iterator[Check]:
    """Send a request that does not exist."""
    keyed(card)
    rpmb.request(card, bytes(Frame(0x0077)), reliable=True)
    yield "result", rpmb.result_of(card).result, GENERAL


@GROUP(options={"rpmb_counter": 0xFFFFFFFE})
def expired(card: Card) -> Iterator[Check]:
    """Write at the last value of the counter, and once more."""
    keyed(card)
    frame = rpmb.write(card, rpmb.written(0, DATA, 0xFFFFFFFE))
    yield "last", frame.result, OK | EXPIRED
    frame = rpmb.write(card, rpmb.written(0, DATA, 0xFFFFFFFF))
    yield "one more", frame.result, WRITE | EXPIRED
    yield "data", stored(card, 0), DATA


@GROUP()
def kept_without_power(card: Card) -> Iterator[Check]:
    """Switch off and on: key, counter and data are still there."""
    keyed(card)
    rpmb.write(card, rpmb.written(0, DATA, 0))
    card.restart()
    card.partition(3)
    yield "counter", Frame.of(rpmb.read_counter(card)).counter, 1
    yield "data", stored(card, 0), DATA


@GROUP()
def cut_in_the_middle(card: Card) -> Iterator[Check]:
    """Cut the power in authenticated writes, at nine times: data and counter agree."""
    keyed(card)
    found = []
    counter_ = 0
    for tenth in range(1, 10):
        before = stored(card, 0, 2)
        frames = rpmb.written(0, pattern(tenth), counter_)
        busy_ns = rpmb.request(card, frames, reliable=True, wait=False).busy_ns
        card.wait(busy_ns * tenth // 10)
        card.restart()
        card.partition(3)
        counted = Frame.of(rpmb.read_counter(card)).counter
        wanted = before if counted == counter_ else pattern(tenth)
        if counted - counter_ not in {0, 1} or stored(card, 0, 2) != wanted:
            found.append(tenth)
        counter_ = counted
    yield "do not agree, in tenths", ", ".join(map(str, found)), ""


@GROUP()
def commands(card: Card) -> Iterator[Check]:
    """Send commands that the RPMB does not have."""
    keyed(card)
    found = [
        index for index in (16, 17, 24, 28, 29, 30, 35, 36, 38)
        if card.command(index).response is not None
    ]  # fmt: skip
    yield "taken", ", ".join(map(str, found)), ""
    yield "errors", card.status().errors, "ILLEGAL_COMMAND"


@GROUP()
def apart_from_the_user_area(card: Card) -> Iterator[Check]:
    """Write the RPMB, then look at the user area."""
    keyed(card)
    rpmb.write(card, rpmb.written(0, DATA, 0))
    card.partition(0)
    yield "user area", card.read(0, 8), bytes(8 * 512)
