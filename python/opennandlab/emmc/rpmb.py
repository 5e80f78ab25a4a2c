"""Frames of the replay protected memory block, as a host makes and checks them.

Source: JESD84-B51, 6.6 Replay Protected Memory Block. Numbers are big endian; the MAC is
HMAC-SHA-256 of bytes 228 to 511 of all frames, in the last of them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Answer, Card
from opennandlab.emmc.registers import SECTOR

HALF = 256
KEY = bytes(range(32))
NONCE = bytes(range(100, 116))

PROGRAM_KEY, READ_COUNTER, WRITE, READ, READ_RESULT = 1, 2, 3, 4, 5


@dataclass(frozen=True)
class Frame:
    """A frame of 512 bytes.

    Args:
        kind: Request or response.
        key: Key or MAC, 32 bytes.
        data: 256 bytes.
        nonce: 16 bytes.
        counter: Write counter.
        address: Half sector.
        count: Half sectors.
        result: Result code.
    """

    kind: int
    key: bytes = bytes(32)
    data: bytes = bytes(HALF)
    nonce: bytes = bytes(16)
    counter: int = 0
    address: int = 0
    count: int = 0
    result: int = 0

    def __bytes__(self) -> bytes:
        """Return the frame as it is sent."""
        numbers = ((self.counter, 4), (self.address, 2), (self.count, 2), (self.result, 2),
                   (self.kind, 2))  # fmt: skip
        tail = b"".join(value.to_bytes(size, "big") for value, size in numbers)
        return bytes(196) + self.key + self.data + self.nonce + tail

    @classmethod
    def of(cls, raw: bytes) -> Frame:
        """Read a frame.

        >>> Frame.of(bytes(Frame(2, nonce=NONCE))) == Frame(2, nonce=NONCE)
        True
        """
        count, result, kind = (int.from_bytes(raw[place : place + 2], "big")
                               for place in (506, 508, 510))  # fmt: skip
        return cls(
            kind, raw[196:228], raw[228:484], raw[484:500],
            int.from_bytes(raw[500:504], "big"), int.from_bytes(raw[504:506], "big"),
            count, result,
        )  # fmt: skip


def mac(frames: Sequence[bytes], key: bytes = KEY) -> bytes:
    """Return the MAC of frames."""
    return hmac.new(key, b"".join(frame[228:] for frame in frames), hashlib.sha256).digest()


def signed(frames: Sequence[Frame], key: bytes = KEY) -> bytes:
    """Return frames as they are sent, the last with the MAC of all."""
    raw = [bytes(frame) for frame in frames]
    raw[-1] = raw[-1][:196] + mac(raw, key) + raw[-1][228:]
    return b"".join(raw)


def request(card: Card, frames: bytes, *, reliable: bool = False, wait: bool = True) -> Answer:
    """Send frames: CMD23 and CMD25 in the RPMB partition."""
    card.command(23, len(frames) // SECTOR | (at.RELIABLE if reliable else 0))
    return card.command(25, 0, frames, wait=wait)


def answer(card: Card, count: int = 1) -> bytes:
    """Take frames: CMD23 and CMD18."""
    card.command(23, count)
    return card.command(18, 0).data


def result_of(card: Card) -> Frame:
    """Ask for the result of a key or a write."""
    request(card, bytes(Frame(READ_RESULT)))
    return Frame.of(answer(card))


def program_key(card: Card, key: bytes = KEY) -> Frame:
    """Program the key; return the answer."""
    request(card, bytes(Frame(PROGRAM_KEY, key)), reliable=True)
    return result_of(card)


def read_counter(card: Card, nonce: bytes = NONCE) -> bytes:
    """Read the write counter; return the frame as it came."""
    request(card, bytes(Frame(READ_COUNTER, nonce=nonce)))
    return answer(card)


def written(
    address: int, data: bytes, counter: int, *, key: bytes = KEY, count: int | None = None
) -> bytes:
    """Return the frames of an authenticated write."""
    halves = [data[place : place + HALF] for place in range(0, len(data), HALF)]
    total = len(halves) if count is None else count
    frames = [
        Frame(WRITE, data=half, counter=counter, address=address, count=total) for half in halves
    ]
    return signed(frames, key)


def write(card: Card, frames: bytes, *, reliable: bool = True) -> Frame:
    """Write frames; return the answer."""
    request(card, frames, reliable=reliable)
    return result_of(card)


def read(card: Card, address: int, count: int = 1, nonce: bytes = NONCE) -> bytes:
    """Read half sectors; return the frames as they came."""
    request(card, bytes(Frame(READ, nonce=nonce, address=address)))
    return answer(card, count)
