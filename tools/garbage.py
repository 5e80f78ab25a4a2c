"""Send a served drive messages that nobody should send; say whether it still answers.

    python tools/garbage.py SOCKET [--count 100000] [--seed 1]

Each message is a connection of its own: random bytes, an orderly beginning with random bytes
behind it, or requests whose fields are at their limits. The drive may be written by them: serve one
without value. Exit code 1 when the server stops answering.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import socket
import struct
import sys
import time
from collections.abc import Iterator

FLAGS = struct.pack(">I", 3)
MAGIC = b"IHAVEOPT"
GO = FLAGS + MAGIC + struct.pack(">II", 7, 6) + bytes(6)
LIMITS = (0, 1, 511, 512, 4096, 1 << 25, (1 << 25) + 1, (1 << 31) - 1, (1 << 32) - 1)
SECONDS = 30


def messages(seed: int, count: int) -> Iterator[bytes]:
    """Yield what is sent on each connection."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    for _ in range(count):
        tail = rng.randbytes(rng.randrange(200))
        yield rng.choice((_random, _option, _requests))(rng) + tail


def _random(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(40))


def _option(rng: random.Random) -> bytes:
    """An option whose data is shorter, longer or other than it says."""
    length = rng.choice((0, 4, 6, 12, rng.randrange(64), 1 << 14, (1 << 32) - 1))
    data = rng.randbytes(min(length, 64))
    return FLAGS + MAGIC + struct.pack(">II", rng.randrange(12), length) + data


def _requests(rng: random.Random) -> bytes:
    """Requests at the limits of their fields, after an orderly handshake."""
    sent = [GO]
    for _ in range(rng.randrange(1, 6)):
        command, flags = rng.choice((0, 1, 3, 4, 5, 6, 7, 8, 0xFFFF)), rng.choice((0, 1, 2, 0xFFFF))
        offset = rng.choice((*LIMITS, (1 << 63) - 512, (1 << 64) - 1))
        head = struct.pack(">IHHQQI", 0x25609513, flags, command, 1, offset, rng.choice(LIMITS))
        sent.append(head)
    return b"".join(sent)


def send(path: str, message: bytes) -> None:
    """Send a message on a connection of its own, and read until the server closes it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.settimeout(SECONDS)
        with contextlib.suppress(ConnectionError):
            client.sendall(message)
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):
                pass


def answers(path: str) -> bool:
    """Tell whether an orderly client gets an answer, once there is a place for it."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(ConnectionError):
            if _answers_now(path):
                return True
        time.sleep(0.05)
    return False


def _answers_now(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.settimeout(SECONDS)
        client.sendall(GO + struct.pack(">IHHQQI", 0x25609513, 0, 3, 9, 0, 0))
        wanted = struct.pack(">IIQ", 0x67446698, 0, 9)
        received = b""
        while wanted not in received:
            piece = client.recv(4096)
            if not piece:
                return False
            received += piece
    return True


def main() -> int:
    """Send the messages; return 1 when the server no longer answers."""
    parser = argparse.ArgumentParser(description="send garbage to a served drive")
    parser.add_argument("socket")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for number, message in enumerate(messages(options.seed, options.count), 1):
        send(options.socket, message)
        if number % 1000 == 0 and not answers(options.socket):
            print(f"no answer after message {number} of seed {options.seed}")
            return 1
    print(f"{options.count} messages, and it answers")
    return 0 if answers(options.socket) else 1


if __name__ == "__main__":
    sys.exit(main())
