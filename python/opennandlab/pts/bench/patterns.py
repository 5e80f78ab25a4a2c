"""Composite access patterns: mixes of block sizes, and of addresses that are not equally hot.

`COMPOSITE` is the enterprise composite workload (ECW, in version 2.0 composite block size workload,
CBW): 12 block sizes, half of all requests to the first 5 % of the range, 30 % to the next 15 % and
20 % to the rest, 40 % reads. The SNIA PTS tutorial (Kim and Ho, 2013) prints 40/60 in its
definition and 60/40 in its overview; JESD219 has 60 % writes, so 40/60 it is.

File server: the Iometer pattern of that name, as in fio's examples. Web server: the same family,
with shares that were handed down without a source that could be checked. Database: random 8 KiB
67/33, Iometer's database pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opennandlab.targets import mixture
from opennandlab.targets.base import IoStream, Stimulus, Zone

KIB = 1024
PAGE = 4 * KIB


@dataclass(frozen=True)
class Pattern:
    """An access pattern.

    Args:
        name: In documents and labels.
        title: In reports.
        read_pct: Percent of reads.
        blocks: Block size in bytes, or pairs of size and percent of requests.
        zones: Parts of the range and of the requests; none means uniform.
    """

    name: str
    title: str
    read_pct: float
    blocks: int | tuple[tuple[int, float], ...]
    zones: tuple[Zone, ...] = ()

    def fields(self, sector_bytes: int = 512) -> dict[str, Any]:
        """Return the fields of a stimulus.

        Args:
            sector_bytes: Requests smaller than a sector become as large as one.
        """
        blocks = self.blocks
        if not isinstance(blocks, int) and sector_bytes > 512:
            joined: dict[int, float] = {}
            for size, share in blocks:
                whole = -(-size // sector_bytes) * sector_bytes
                joined[whole] = joined.get(whole, 0.0) + share
            blocks = tuple(joined.items())
        # Starts of mixed requests are aligned to 4 KiB, as fio's example of JESD219 has it.
        align = None if isinstance(blocks, int) else PAGE
        return {
            "read_pct": self.read_pct,
            "block_bytes": blocks,
            "zones": self.zones,
            "align_bytes": align,
        }

    def writes(self, sector_bytes: int = 512) -> dict[str, Any]:
        """Return the fields of a stimulus that only writes."""
        return {**self.fields(sector_bytes), "read_pct": 0}


@dataclass(frozen=True)
class Mix(Pattern):
    """An access pattern of IO streams.

    Args:
        streams: The streams.
    """

    streams: tuple[IoStream, ...] = ()

    @classmethod
    def of(cls, name: str, title: str, streams: tuple[IoStream, ...]) -> Mix:
        """Return the pattern of some streams."""
        found = mixture.of(Stimulus(), streams)
        return cls(name, title, found.read_pct, found.block_bytes, streams=streams)

    def fields(self, sector_bytes: int = 512) -> dict[str, Any]:
        """Return the fields of a stimulus."""
        del sector_bytes  # a request of another size would be of another stream
        return {
            "read_pct": self.read_pct, "block_bytes": self.blocks, "streams": self.streams,
        }  # fmt: skip

    def writes(self, sector_bytes: int = 512) -> dict[str, Any]:
        """Return the streams that write; of a mix of reads, a sequential fill."""
        own = tuple(one for one in self.streams if not one.is_read)
        if not own:
            return {"pattern": "sequential", "block_bytes": 128 * KIB}
        return Mix.of(self.name, self.title, own).fields(sector_bytes)


COMPOSITE = Pattern(
    "ecw",
    "Enterprise composite workload",
    40,
    (
        (512, 4),
        (1024, 1),
        (1536, 1),
        (2048, 1),
        (2560, 1),
        (3072, 1),
        (3584, 1),
        (4096, 67),
        (8192, 10),
        (16384, 7),
        (32768, 3),
        (65536, 3),
    ),
    (Zone(0.05, 0.5), Zone(0.15, 0.3), Zone(0.8, 0.2)),
)
# SNIA PTS tutorial, Kim and Ho, 2013: the two patterns of the demand test.
OLTP = Pattern("oltp", "OLTP, random 8 KiB 65/35", 65, 8 * KIB)
VIDEO = Pattern("video", "Video server, random 128 KiB 90/10", 90, 128 * KIB)

FILE_SERVER = Pattern(
    "file_server",
    "File server",
    80,
    (
        (512, 10),
        (1 * KIB, 5),
        (2 * KIB, 5),
        (4 * KIB, 60),
        (8 * KIB, 2),
        (16 * KIB, 4),
        (32 * KIB, 4),
        (64 * KIB, 10),
    ),
)
WEB_SERVER = Pattern(
    "web_server",
    "Web server",
    100,
    (
        (512, 22),
        (1 * KIB, 15),
        (2 * KIB, 8),
        (4 * KIB, 23),
        (8 * KIB, 15),
        (16 * KIB, 2),
        (32 * KIB, 6),
        (64 * KIB, 7),
        (128 * KIB, 1),
        (512 * KIB, 1),
    ),
)
DATABASE = Pattern("database", "Database", 67, 8 * KIB)
