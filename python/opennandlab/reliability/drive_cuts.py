"""Power cuts in the course of a life test: the drive that ages is the drive that is cut.

```text
writes, untimed ─► a host works, timed ─► cut ─► mount ─► judge ─► writes, untimed ─► …
                   up to 127 requests     seeded  from the flash alone
```
Patterns and moments of `power run` take turns. Left out are trims, since units that do not exist
at the end would not be read back, and the hot pattern, which lowers the write amplification that is
to be compared with that of a drive without cuts. Behind each cut the whole drive is read and held
against the log of the host; what it held before has to be as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from opennandlab.core.config import map_unit_bytes
from opennandlab.core.power_cut import TARGETS, cut_power
from opennandlab.core.run import Simulation
from opennandlab.documents.life import CutFault, DriveCuts
from opennandlab.documents.record import JsonObject

WORKLOADS: Final = ("random", "sequential", "sync")
# Counts of a cut that add up, and what they are called in the document.
COUNTS: Final = {
    "requests": "requests",
    "pages_checked": "pages_checked",
    "audits": "audits",
    "torn_pages": "torn_pages",
    "damaged_pages": "damaged_pages",
    "protected_pages": "protected_pages",
    "half_erased_blocks": "half_erased_blocks",
    "saved_pages": "saved_pages",
    "partial_saves": "capacitor_failures",
}
NS_PER_MS = 1e6


class Cutter:
    """Cuts a drive, and adds up what that shows.

    Args:
        drive: The drive.
        work: What the host writes otherwise: traffic before a cut stays in its active range.
        claims: What the drive promises; None: what its options say.
        workloads: What the host does before a cut, in turns.
        targets: Where cuts are aimed, in turns.
        ready_ms: From power to ready, milliseconds; longer is slow.
    """

    def __init__(  # noqa: PLR0913 (half of them by name)
        self,
        drive: Simulation,
        work: JsonObject,
        claims: Sequence[str] | None,
        *,
        workloads: Sequence[str] = WORKLOADS,
        targets: Sequence[str] = TARGETS,
        ready_ms: float = 10_000.0,
    ) -> None:
        """Begin before the first cut."""
        self._drive, self._claims = drive, claims
        self._workloads, self._targets, self._ready_ms = workloads, targets, ready_ms
        self._share = float(work.get("active_range_pct", 100.0)) / 100.0
        self._unit = map_unit_bytes(drive.device.to_dict())
        self._cuts = self._faulty = 0
        self._counts: Counter[str] = Counter()
        self._faults: dict[str, dict[str, Any]] = {}
        self._ready_ns: list[int] = []
        self._bytes = [0.0, 0.0]
        self._errors: list[str] = []

    def cut(self, share: float, pe_cycles: float) -> tuple[float, float]:
        """Cut the drive once.

        Args:
            share: Share of the writes that are done, 0 to 1.
            pe_cycles: Mean erases of a block so far.

        Returns:
            Bytes that the host wrote, and that were programmed for it.
        """
        number = self._cuts
        shown = cut_power(
            self._drive,
            number,
            workload=self._workloads[number % len(self._workloads)],
            # 3 patterns and 8 moments: each meets each.
            at=self._targets[number % len(self._targets)],
            claims=self._claims,
            share=self._share,
            ready_ms=self._ready_ms,
        )
        self._cuts += 1
        self._counts.update({name: shown[key] for key, name in COUNTS.items()})
        self._ready_ns.append(shown["recovery_ns"]["max"])
        self._errors += shown["errors"]
        self._faulty += bool(shown["classes"])
        for one in shown["classes"]:
            first = {"first_cut": number, "first_share": share, "first_pe_cycles": pe_cycles}
            fault = self._faults.setdefault(one["class"], {"cuts": 0, **first})
            fault["cuts"] += 1
        pages = shown["flash_pages"] + shown["record_pages"] + shown["guard_pages"]
        written = (float(shown["host_pages"] * self._unit), float(pages * self._unit))
        self._bytes = [so_far + more for so_far, more in zip(self._bytes, written, strict=True)]
        return written

    def found(self) -> DriveCuts:
        """Return the sum of all cuts so far."""
        ready = [time / NS_PER_MS for time in self._ready_ns] or [0.0]
        return DriveCuts(
            cuts=self._cuts,
            faults={name: CutFault(**one) for name, one in sorted(self._faults.items())},
            faulty_cuts=self._faulty,
            ready_ms_mean=sum(ready) / len(ready),
            ready_ms_max=max(ready),
            host_bytes=self._bytes[0],
            nand_bytes=self._bytes[1],
            errors=self._errors,
            **{name: self._counts[name] for name in COUNTS.values()},
        )
