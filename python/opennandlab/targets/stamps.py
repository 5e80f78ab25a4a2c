"""Stamps: data that carry their own address.

Each sector of 512 bytes holds its own offset and the tag of the run, and 61 words that follow from
both, so that a stamp is whole or none, does not compress, and equals no other:

    word 0      1        2       3 … 63
    mark    offset    tag    mix(offset, tag, word)      64-bit words, little-endian

The mix is the finaliser of splitmix64 (Steele, Lea and Flood: Fast splittable pseudorandom number
generators, OOPSLA 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SECTOR_BYTES = 512
WORDS = SECTOR_BYTES // 8
# "onlstamp" as a number.
MARK = np.uint64(int.from_bytes(b"onlstamp", "little"))
# The constants of splitmix64; the first is the golden ratio.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Seen:
    """What the sectors of a piece hold, a flag each; the last four exclude each other.

    Args:
        own: The stamp that belongs there.
        strange: A whole stamp of this run that belongs elsewhere.
        blank: Nothing but zeros.
        old: A stamp of another run.
        garbage: Anything else.
        origins: Offset in the stamp of each sector; meaningful for `strange` ones.
    """

    own: Flags
    strange: Flags
    blank: Flags
    old: Flags
    garbage: Flags
    origins: Words


def stamped(offset: int, length: int, tag: int) -> bytes:
    """Return what belongs at a place, in bytes; both are multiples of 512.

    >>> len(stamped(4096, 1024, tag=7)), stamped(0, 1024, 7)[512:] == stamped(512, 512, 7)
    (1024, True)
    """
    return _words(_offsets(offset, length), tag).tobytes()


def seen(offset: int, data: bytes, tag: int) -> Seen:
    """Return what a piece that was read at an offset holds."""
    found = np.frombuffer(data, dtype="<u8").reshape(-1, WORDS)
    places = _offsets(offset, len(data))
    own = _equal(found, _words(places, tag))
    nothing = np.zeros(len(found), dtype=bool)
    if own.all():
        return Seen(own, nothing, nothing, nothing, nothing, places)
    origins = found[:, 1]
    is_mark = found[:, 0] == MARK
    strange: Flags = is_mark & ~own & _equal(found, _words(origins, tag))
    blank: Flags = np.logical_not(found.any(axis=1))
    old = is_mark & ~own & ~strange & (found[:, 2] != np.uint64(tag))
    return Seen(own, strange, blank, old, ~(own | strange | blank | old), origins)


def mixed(value: Words) -> Words:
    """Return the finaliser of splitmix64 of each word; overflow is meant."""
    value = (value ^ (value >> np.uint64(30))) * MIX_1
    value = (value ^ (value >> np.uint64(27))) * MIX_2
    found: Words = value ^ (value >> np.uint64(31))
    return found


def _offsets(offset: int, length: int) -> Words:
    return np.arange(offset, offset + length, SECTOR_BYTES, dtype=np.uint64)


def _words(offsets: Words, tag: int) -> Words:
    """Return the stamps of some offsets, `uint64, (offsets, 64)`."""
    made = np.empty((len(offsets), WORDS), dtype="<u8")
    made[:, 0], made[:, 1], made[:, 2] = MARK, offsets, np.uint64(tag)
    with np.errstate(over="ignore"):
        first = mixed(offsets * GOLDEN ^ np.uint64(tag))
        steps = np.arange(3, WORDS, dtype=np.uint64) * GOLDEN
        made[:, 3:] = mixed(first[:, None] + steps[None, :])
    return made


def _equal(one: Words, other: Words) -> Flags:
    found: Flags = (one == other).all(axis=1)
    return found
