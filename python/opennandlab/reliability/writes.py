"""What the host writes in a life test: a workload, or a recorded trace over and over.

```text
a workload: pattern, sizes, range ─┐
                                   ├─► stretches of drive writes, untimed
trace:FILE, span fitted to a drive ┘   each begins at the start of the trace
```
Requests of a trace keep their lengths, trims and flushes; its addresses shrink or grow until it
spans the drive. A workload is resolved for each drive, since its sizes depend on the capacity.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import structs

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, Source, load_replay, load_workload, map_unit_bytes
from opennandlab.core.memory import available_beside
from opennandlab.core.recorded import check_digest
from opennandlab.core.replaying import replay_on
from opennandlab.core.result import Result
from opennandlab.core.run import Simulation
from opennandlab.core.slices import Watcher
from opennandlab.core.traces import printable
from opennandlab.documents.life import LifeTrace
from opennandlab.documents.record import JsonObject
from opennandlab.reliability.scaling import pages_of

# Before the name of a file with a trace.
TRACE: Final = "trace:"
# Keys of a workload that are written.
WRITING: Final = (
    "pattern",
    "block_size_bytes",
    "min_size_bytes",
    "align_bytes",
    "active_range_pct",
)
# A workload that its file gives no name.
UNNAMED: Final = "workload"
# Ranks of a Zipf law that share a place, at most.
RANKS_MAX: Final = 1 << 16
# Replays of a run, at most; how a trace is replayed.
ROUNDS_MAX: Final = 1_000_000
REPLAYED: Final[JsonObject] = {
    "beyond": "fit",
    "loop": {"kind": "closed", "queue_depth": 1},
    "order": "time",
    "repeat": ROUNDS_MAX,
    "precondition": [],
    "timed": False,
}
# The second of the operations that a trace is counted by; pages that are counted one by one.
WRITE: Final = 1
PAGES_MAX: Final = 1 << 16


@dataclass(frozen=True)
class Recorded:
    """A trace that was read.

    Args:
        records: Its requests.
        found: Its file, digest, and how much it writes.
        longest_bytes: Of its longest request.
    """

    records: _core.Trace
    found: LifeTrace
    longest_bytes: int

    @classmethod
    def read(cls, path: str, device: DeviceConfig, digest: str | None) -> Recorded:
        """Read a trace.

        Args:
            path: The file.
            device: The drive that it is replayed on; its memory is spared.
            digest: SHA-256 of its text that it must have; None: any.

        Raises:
            ConfigError: for a trace without writes.
            TraceError: for an invalid file, or another one.
        """
        options = load_replay(REPLAYED, device)
        records = _core.Trace(path, options.core, available_beside(device))
        check_digest(records.digest(), {"digest": digest} if digest else {}, Path(path))
        unit = map_unit_bytes(device.to_dict())
        counts = json.loads(_core.trace_statistics([path], "{}", unit, PAGES_MAX))
        written = int(counts["ops"][WRITE]["bytes"])
        if not written:
            message = f"{path} writes nothing; accepted: a trace with writes"
            raise ConfigError("workload", message)
        file = printable(Path(path).name)
        found = LifeTrace(file=file, sha256=records.digest(), written_bytes=written)
        return cls(records, found, max(int(op["size_bytes_max"]) for op in counts["ops"]))


@dataclass(frozen=True)
class Writes:
    """What the host writes to one drive, without its amount.

    Args:
        name: Name of the workload, or of the file of the trace.
        keys: Of a workload, or of a replay.
        trace: The trace of a replay.
    """

    name: str
    keys: JsonObject
    trace: Recorded | None = None

    @classmethod
    def of(cls, device: DeviceConfig, given: Source | Recorded | None) -> Writes:
        """Return what the host writes to a drive.

        Args:
            device: The drive.
            given: A workload or a trace; None: one map unit anywhere at random.
        """
        if isinstance(given, Recorded):
            return cls(f"{TRACE}{given.found.file}", REPLAYED, given)
        if given is None:
            unit = map_unit_bytes(device.to_dict())
            keys = {"pattern": "random", "block_size_bytes": unit, "timed": False}
            return cls("random", keys)
        loaded = load_workload(given, device, fresh=True)
        found = loaded.to_dict()
        named = str(found["name"])
        if named == UNNAMED and isinstance(given, str | Path):
            named = Path(loaded.name).stem
        return cls(named, {key: found[key] for key in WRITING if key in found} | {"timed": False})

    @property
    def is_zipf(self) -> bool:
        """Whether addresses follow a Zipf law."""
        pattern = self.keys.get("pattern")
        return isinstance(pattern, dict) and pattern.get("kind") == "zipf"

    def fitted(self, whole: DeviceConfig, small: DeviceConfig) -> Writes:
        """Return what the host writes to a smaller drive: a Zipf law keeps the ranks of the whole.

        >>> from opennandlab.core.config import load_device
        >>> whole = load_device("tlc_standard")
        >>> small = whole.replace({"nand.blocks_per_plane": 256})
        >>> zipf = Writes("zipf", {"pattern": {"kind": "zipf"}})
        >>> zipf.fitted(whole, small).keys["pattern"]["ranks_per_place"]
        4
        """
        if not self.is_zipf:
            return self
        pattern = self.keys["pattern"]
        ranks = (pattern.get("ranks_per_place") or 1) * round(pages_of(whole) / pages_of(small))
        shared = pattern | {"ranks_per_place": max(1, min(ranks, RANKS_MAX))}
        return Writes(self.name, self.keys | {"pattern": shared})

    def stretches(self, drive: Simulation, drive_writes: float) -> Iterator[float]:
        """Yield the drive writes of each run: one, or as many as the replays of a short trace take.

        Args:
            drive: The drive.
            drive_writes: All together.
        """
        most = math.inf
        if self.trace is not None:
            logical = float(drive.device.effective["logical_bytes"])
            most = ROUNDS_MAX * self.trace.found.written_bytes / logical
        count = math.ceil(drive_writes / most) or 1
        yield from itertools.repeat(drive_writes / count, count)

    def run(self, drive: Simulation, drive_writes: float, progress: Watcher | None) -> Result:
        """Write an amount to a drive; a short trace may end before.

        Args:
            drive: The drive.
            drive_writes: Multiples of its logical capacity.
            progress: Called about 50 times a second.

        Raises:
            Interrupted: on Ctrl-C.
        """
        asked = self.keys | {"total": {"drive_writes": drive_writes}}
        if self.trace is None:
            return drive.run(asked, progress=progress)
        named = asked | {"name": self.name}
        return replay_on(drive, self.trace.records, named, progress=progress)

    def cut_to(self, device: DeviceConfig) -> list[str]:
        """Return a warning of requests of the trace that are longer than a drive, if it has any."""
        size = int(device.effective["logical_bytes"])
        longest = self.trace.longest_bytes if self.trace is not None else 0
        if longest <= size:
            return []
        what = f"requests of the trace of up to {longest} B were cut to {size} B"
        return [f"{what}, the size of the simulated drive"]

    def replayed(self, host_bytes: float, *, repeat: bool) -> LifeTrace | None:
        """Return the trace, and how often it was replayed to write an amount; None without one.

        Raises:
            ConfigError: for a trace that is not to be repeated, and would have been.
        """
        if self.trace is None:
            return None
        rounds = host_bytes / self.trace.found.written_bytes
        if rounds > 1.0 and not repeat:
            message = (
                f"{self.trace.found.file} writes {1.0 / rounds:.3g} of the amount to write; "
                "accepted: --repeat, or a smaller --tbw"
            )
            raise ConfigError("repeat", message)
        return structs.replace(self.trace.found, rounds=rounds)
