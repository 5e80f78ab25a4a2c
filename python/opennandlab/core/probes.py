"""Probes of an untimed run: some timed requests on copies of its drive, evenly over the run.

```text
untimed run   ──┬───────┬───────┬──►  its result, the same with and without probes
                │       │       │     an image at k / count of its work
                ▼       ▼       ▼
timed copies   20 000 requests of the same workload each ─► rates, latencies, days: a row
```
An endurance run of 50 capacities would take days of simulated time. A probe is 20 000 requests
with a clock, on a copy that is dropped afterwards: nothing of it reaches the drive of the run.
Probes are at fixed amounts of work, so they are the same on every machine. A copy begins as an
image does, with an empty write buffer.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically
from opennandlab.core.config import load_workload
from opennandlab.core.run import Run
from opennandlab.core.slices import Progress, iter_run

# Work of a slice, in flash operations: a probe is at most one of them late.
SLICE_OPS: Final = 8192


@dataclass(frozen=True)
class Probe:
    """Timed requests on a copy of the drive.

    Args:
        share: Share of the run that was done, 0 to 1.
        iops: Requests a second.
        mb_s: MB of 10^6 bytes a second.
        mean_us: Mean latency of a request, in microseconds.
        p50_us: Its median.
        p99_us: 99th percentile; None with too few requests.
        p999_us: 99.9th percentile; None with too few requests.
        max_us: The longest.
        waf: Programmed over written bytes of these requests; None without a write.
        lifetime_days: Days until the blocks are worn out at this rate; None without a limit.
    """

    share: float
    iops: float
    mb_s: float
    mean_us: float
    p50_us: float
    p99_us: float | None
    p999_us: float | None
    max_us: float
    waf: float | None
    lifetime_days: float | None


NAMES: Final = tuple(field.name for field in fields(Probe))


class Probes:
    """Takes probes of a run: `run.measure(progress=probes.look, slice_ops=probes.slice_ops)`.

    Args:
        run: A run that was prepared, of a workload with `timed: false`.
        count: Number of probes.
        requests: Requests of each, whose seed follows from that of the run.

    `rows` are those that were taken: fewer than `count` of a run of few requests.

    Raises:
        ConfigError: for a run with a clock, one of traces, and numbers out of range.
    """

    def __init__(self, run: Run, *, count: int = 50, requests: int = 20_000) -> None:
        """Make the workload of a probe."""
        self._core = run._core  # noqa: SLF001 (of this room; it is looked at between slices)
        work = run._work  # noqa: SLF001
        if work.get("timed") is not False:
            message = "the workload is timed and has its rates; accepted: one with `timed: false`"
            raise ConfigError("probes", message)
        for name, value, most in (("count", count, 10_000), ("requests", requests, 10_000_000)):
            if not 1 <= value <= most:
                raise ConfigError(f"probes.{name}", f"`{value}`; accepted: 1 to {most}")
        if any("trace" in tenant for tenant in work.get("tenants", [])):
            message = "a tenant replays a trace; accepted: workloads without traces"
            raise ConfigError("probes", message)
        timed = {**work, "timed": True, "total": {"ios": requests}, "precondition": []}
        self._work = load_workload(timed, run.device)
        self._device, self._seed, self.count = run.device, run.seed, count
        self._requests, self.slice_ops = requests, SLICE_OPS
        self.rows: list[Probe] = []

    def look(self, state: Progress) -> None:
        """Take a probe if the run has reached the place of one; the drive stays as it is."""
        if not (state.measured and state.total) and not state.finished:
            return
        share = 1.0 if state.finished else state.done / state.total
        taken = round(self.rows[-1].share * self.count) if self.rows else 0
        if share * self.count < taken + 1 or (state.finished and taken == self.count):
            return
        found = self._measured(int(share * self.count))
        if found is not None:
            self.rows.append(found)

    def _measured(self, number: int) -> Probe | None:
        word = hashlib.sha256(f"{self._seed}/probe/{number}".encode()).digest()
        seed = int.from_bytes(word[:8], "little")
        # An image, unlike a checkpoint, leaves the work of the drive as it is.
        copy = _core.Drive.from_image(self._core.image(), seed)
        self._device.consulted(copy)
        copy.begin(self._work.core, seed, [])
        for _ in iter_run(copy):
            pass
        outcome = json.loads(copy.outcome())
        metrics, is_worn_out = outcome["metrics"], outcome["state"]["worn_out"]
        times = metrics["latency_us"].get("all") if metrics else None
        if not times or times["mean"] is None:
            return None
        if is_worn_out and times["count"] < self._requests:
            # It refuses writes, so the run ends early: neither rates nor the share are those of it.
            return None
        return Probe(
            share=number / self.count,
            iops=metrics["iops"]["total"],
            mb_s=metrics["throughput_mb_s"]["total"],
            mean_us=times["mean"],
            p50_us=times["p50"],
            p99_us=times["p99"],
            p999_us=times["p999"],
            max_us=times["max"],
            waf=metrics["waf"],
            lifetime_days=metrics["lifetime_days"],
        )

    def save(self, path: Path) -> None:
        """Write a row for each probe as CSV; an unknown figure is empty.

        Raises:
            OutputError: with the reason.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(NAMES)
        writer.writerows(astuple(row) for row in self.rows)
        write_atomically(path, text.getvalue().encode())


def spread(rows: Sequence[Probe]) -> list[tuple[str, float, float, float]]:
    """Return name, mean, least and most of each figure that every probe has.

    >>> one = Probe(1.0, 900.0, 3.7, 34.0, 1.0, None, None, 180.0, 8.3, 31.0)
    >>> spread([one])[0], len(spread([one]))
    (('iops', 900.0, 900.0, 900.0), 7)
    """
    found = []
    for name in NAMES[1:]:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        if values and len(values) == len(rows):
            found.append((name, sum(values) / len(values), min(values), max(values)))
    return found
