"""How requests of fio reached a drive: what the kernel made of them, and the time between them.

    fio's own counts ──┐
    kernel's counts ───┴─► requests at the device per request asked for: above 1 they were split,
                           below 1 they were joined on the way
    wall time ──────────► time without requests between two stimuli, while fio starts

The kernel counts what *all* programs do with a device, so a busy one shows more than the test did.
Counters are those of `/sys/dev/block/MAJOR:MINOR/stat` (Linux, Documentation/block/stat.rst).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from opennandlab.documents import pts_header
from opennandlab.targets.base import Measurement

# Fields of a `stat` file: requests and requests joined of reads, writes and discards.
READS, READS_JOINED, WRITES, WRITES_JOINED = 0, 1, 4, 5
ROOT = Path("/sys/dev/block")


@dataclass(frozen=True)
class Counts:
    """What the kernel has counted of a device.

    Args:
        requests: Reads and writes that were sent to it.
        joined: Requests that were joined with a neighbour before.
    """

    requests: int
    joined: int


def counts_of(device: int, root: Path = ROOT) -> Counts | None:
    """Return the counters of a block device or partition; None if there are none.

    Args:
        device: Its number, as `st_dev` of a file on it or `st_rdev` gives it.
        root: Where the kernel shows devices by number.
    """
    try:
        text = (root / f"{os.major(device)}:{os.minor(device)}" / "stat").read_text("ascii")
        fields = [int(word) for word in text.split()]
        requests = fields[READS] + fields[WRITES]
        return Counts(requests, fields[READS_JOINED] + fields[WRITES_JOINED])
    except (OSError, ValueError, IndexError):
        return None


@dataclass
class Route:
    """What is known of the way, over all stimuli so far.

    Args:
        device: Number of the block device at its end; None where there is none to be seen.
    """

    device: int | None
    asked: int = 0
    seen: int = 0
    joined: int = 0
    stimuli: int = 0
    wall_s: float = 0.0
    busy_s: float = 0.0
    cpu_s: float = 0.0
    _before: Counts | None = field(default=None, repr=False)
    _began: float = 0.0

    def begin(self) -> None:
        """Note counters and time before a stimulus."""
        self._before = None if self.device is None else counts_of(self.device)
        self._began = time.monotonic()

    def end(self, done: Measurement, *, requests: int) -> None:
        """Add a stimulus.

        Args:
            done: What it gave.
            requests: What fio counted, those of its ramp among them.
        """
        elapsed = done.elapsed_s or 0.0
        self.stimuli += 1
        self.wall_s += time.monotonic() - self._began
        self.busy_s += elapsed
        self.cpu_s += float(done.inside.get("cpu_pct") or 0.0) / 100 * elapsed
        after = None if self.device is None else counts_of(self.device)
        if self._before is not None and after is not None:
            self.asked += requests
            self.seen += after.requests - self._before.requests
            self.joined += after.joined - self._before.joined

    def facts(self, engine: str, layer: str, notes: list[str]) -> pts_header.HostPath:
        """Return what the header of a document says of it."""
        pause_s = max(self.wall_s - self.busy_s, 0.0) / self.stimuli if self.stimuli else None
        found = list(notes)
        if pause_s is not None:
            found.append(
                f"about {pause_s:.2g} s pass without requests between two stimuli, while fio starts"
            )
        return pts_header.HostPath(
            engine=engine,
            layer=layer,
            direct=True,
            requests_asked=self.asked or None,
            requests_seen=self.seen if self.asked else None,
            requests_joined=self.joined if self.asked else None,
            cpu_pct=100 * self.cpu_s / self.busy_s if self.busy_s else None,
            pause_s=pause_s,
            notes=found,
        )
