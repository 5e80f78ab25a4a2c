"""Arrays of drives (RAID levels 0, 5, 6 and 10): what a request costs, and how many a second.

```text
level   a small read    a small write                       survives     data
0       1 read          1 write                             nothing      n members
10      1 read          2 writes                            1 of a pair  n / 2
5       1 read          2 reads, then 2 writes              any 1        n - 1
6       1 read          3 reads, then 3 writes              any 2        n - 2
```
A small write of levels 5 and 6 reads old data and old parity, and writes both again. The costs, and
the rates of n members of I requests a second, are those of P. M. Chen, E. K. Lee, G. A. Gibson,
R. H. Katz and D. A. Patterson, "RAID: high-performance, reliable secondary storage", ACM Computing
Surveys 26(2), 1994. With the share r of reads:

    IOPS = n I / (r + c (1 - r))       c = 1, 2, 4, 6 for the levels 0, 10, 5, 6

which is reached when enough requests are outstanding that no member waits for work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from opennandlab.theory._check import require_count, require_positive, require_share

# Reads to writes of the SNIA NAND performance tutorial (L. Smith, 2009).
MIXES: Final = (1.0, 0.75, 0.5, 0.25, 0.0)


@dataclass(frozen=True)
class Level:
    """What a level asks of its members.

    Args:
        reads: Reads of members that a small write takes.
        writes: Writes of members that it takes.
        parities: Members' worth of parity.
        copies: Copies of each byte.
        members_min: Least number of members.
        step: The number of members is a multiple of it.
    """

    reads: int
    writes: int
    parities: int
    copies: int
    members_min: int
    step: int = 1

    def data_members(self, members: int) -> float:
        """Return how many members' worth of data there is."""
        return (members - self.parities) / self.copies


LEVELS: Final = {
    0: Level(reads=0, writes=1, parities=0, copies=1, members_min=2),
    5: Level(reads=2, writes=2, parities=1, copies=1, members_min=3),
    6: Level(reads=3, writes=3, parities=2, copies=1, members_min=4),
    10: Level(reads=0, writes=2, parities=0, copies=2, members_min=2, step=2),
}


def level_of(level: int, members: int) -> Level:
    """Return the costs of a level, checked against the number of members.

    Raises:
        ValueError: for a level or a number of members that does not go.

    >>> level_of(5, 2)
    Traceback (most recent call last):
    ValueError: level 5 of 2 members; accepted: 3 or more
    """
    if level not in LEVELS:
        raise ValueError(f"level {level}; accepted: {', '.join(map(str, LEVELS))}")
    found, count = LEVELS[level], require_count("members", members, 1)
    if count < found.members_min or count % found.step:
        even = " and even" if found.step > 1 else ""
        accepted = f"{found.members_min} or more{even}"
        raise ValueError(f"level {level} of {count} members; accepted: {accepted}")
    return found


def array_iops(
    level: int, members: int, read_share: float, read_iops: float, write_iops: float | None = None
) -> float:
    """Return the small random requests a second of an array that is kept busy.

    Args:
        level: 0, 5, 6 or 10.
        members: Number of drives.
        read_share: Share of requests that read, 0 to 1.
        read_iops: Reads a second of one member.
        write_iops: Its writes a second; None for as many.

    Raises:
        ValueError: for a level or a number out of range.

    >>> [array_iops(level, 4, 0.5, 100.0) for level in (0, 10, 5)]
    [400.0, 266.6666666666667, 160.0]
    """
    asked = level_of(level, members)
    share = require_share("read_share", read_share)
    read_s = 1 / require_positive("read_iops", read_iops)
    write_s = read_s if write_iops is None else 1 / require_positive("write_iops", write_iops)
    busy_s = share * read_s + (1 - share) * (asked.reads * read_s + asked.writes * write_s)
    return members / busy_s


def busy_members(level: int) -> tuple[int, int]:
    """Return how many members a small read and a small write need.

    >>> [busy_members(level) for level in LEVELS]
    [(1, 1), (1, 2), (1, 3), (1, 2)]
    """
    return 1, LEVELS[level].writes


def stall_share(members: int, stalled: float) -> float:
    """Return how often a request waits that needs several members, each stalled for a share q.

    `1 - (1 - q)^k` of independent members: what one drive does seldom, an array does often.

    Args:
        members: Members that the request needs, k.
        stalled: Share of the time in which a member does not answer, q.

    >>> round(stall_share(4, 0.01), 6)
    0.039404
    """
    share = require_share("stalled", stalled)
    kept: float = (1 - share) ** require_count("members", members, 1)
    return 1 - kept
