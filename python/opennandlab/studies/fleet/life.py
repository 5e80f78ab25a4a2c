"""A sample of simulated drives through a life test, judged together after JESD218.

```text
N drives, a seed each ─► rated TBW ─► retention ─► read back ─┬─► took no more writes: failed
                                                              └─► UBER x bits ─► errors, drawn
failures and errors of all ─► upper 60 % limits ─► passed, not passed, cannot be shown
```
A drive fails if it takes no more writes before its TBW: it is worn out, has lost its spare blocks,
or is dead. A simulated drive is read once, not for TBW, so its data errors are drawn: a Poisson
variable, whose mean is the UBER of its read-back times the bits that are read of it. The sum over
drives is again Poisson's, with the sum of the means. Every bit counts at the UBER of the end of
life, behind the retention, which is an upper end.

Half of the drives count as hot and half as cold, or all as ramps, as the standard has them; the
temperature while a drive is written changes nothing in the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opennandlab.base.errors import ConfigError, InternalError
from opennandlab.documents.record import JsonObject
from opennandlab.reliability.life import drawn
from opennandlab.reliability.sample import BITS_PER_TB, SamplePlan, sample_plan
from opennandlab.studies.fleet.definition import Fleet
from opennandlab.studies.fleet.running import Campaign
from opennandlab.studies.sweeps.engine import Engine
from opennandlab.studies.sweeps.runner import Keeper, Progress

SUITE: Final = "life"
# Keys of a drive's document that are kept.
KEPT: Final = ("tbw_tb", "waf", "pe_cycles", "uber", "uber_method", "uncorrectable", "bits_read")


@dataclass(frozen=True)
class Sample:
    """Drives that are tested together.

    Args:
        device: Preset, file or mapping.
        drives: How many.
        life: Settings of the life test, with `tbw_tb` and `drive_class`.
        changes: Keys of the device that are set in all.
        read_tb: TB that are read of each drive; None: as many as are written.
        ramps: Whether the temperature of all drives cycles; else half are hot, half cold.
        seed: From which the seed of each drive follows.
    """

    device: Any
    drives: int
    life: Mapping[str, Any]
    changes: Mapping[str, Any]
    read_tb: float | None = None
    ramps: bool = False
    seed: int = 42

    def plan(self, failures: int | None = None, errors: int | None = None) -> SamplePlan:
        """Return what the sample may show, judged by its events if there are any.

        Raises:
            ConfigError: for a value out of range.
        """
        if self.life.get("tbw_tb") is None:
            raise ConfigError("tbw", "is missing; accepted: the rating to demonstrate, in TB")
        return sample_plan(
            str(self.life["drive_class"]),
            self.drives,
            float(self.life["tbw_tb"]),
            read_tb=self.read_tb,
            failures=failures,
            errors=errors,
        )

    def fleet(self) -> Fleet:
        """Return the drives with their seeds.

        Raises:
            ConfigError: for a device or settings that are invalid.
        """
        life = {key: value for key, value in self.life.items() if value is not None}
        return Fleet.of(
            {
                "name": f"life {self.seed}",
                "devices": self.drives,
                "device": self.device,
                "set": dict(self.changes),
                "suites": {SUITE: {"run": "reliability.drive-life", "life": life}},
            }
        )

    def temperature(self, index: int) -> str:
        """Return how warm a drive is while it is written: `hot`, `cold` or `ramp`."""
        if self.ramps:
            return "ramp"
        return "hot" if index < (self.drives + 1) // 2 else "cold"


class LifeCampaign:
    """A run of a sample.

    Args:
        sample: The drives.
        store: Where finished drives are kept.
        watch: Called with the progress.

    Raises:
        ConfigError: for a sample that is invalid.
    """

    def __init__(
        self, sample: Sample, store: Keeper, watch: Callable[[Progress], None] | None = None
    ) -> None:
        """Resolve all drives; nothing runs."""
        sample.plan()
        self.sample, self._store = sample, store
        told = None if watch is None else lambda _, state: watch(state)
        self._runs = Campaign(sample.fleet(), store, watch=told)

    @property
    def done_count(self) -> int:
        """Drives that have been tested."""
        return self._runs.done_count

    def to_the_end(self, engine: Callable[[], Engine]) -> None:
        """Test the drives that are missing.

        Raises:
            KeyboardInterrupt: on Ctrl-C, when finished drives are kept.
        """
        self._runs.to_the_end(engine)

    def document(self) -> JsonObject:
        """Return the drives that were tested, and what all of them show."""
        found = self._runs.document("")
        seeds = {one.index: one.seed for one in found.devices}
        rows = [self._drive(row.device, seeds[row.device], row.key, row.error)
                for row in found.rows]  # fmt: skip
        tested = [row for row in rows if "error" not in row]
        is_whole = len(tested) == self.sample.drives
        failures = sum(row["failed"] for row in tested)
        errors = sum(row["errors"] for row in tested)
        plan = self.sample.plan(failures, errors) if is_whole else self.sample.plan()
        return {
            **plan.to_dict(),
            "seed": self.sample.seed,
            **self._shared(rows),
            "errors_expected": math.fsum(row["errors_expected"] for row in tested),
            "tested": rows,
            "partial": not is_whole,
        }

    def _shared(self, rows: Sequence[JsonObject]) -> JsonObject:
        """Return what all tested drives have in common: the host, and what each warned of."""
        documents = [self._document(row["key"]) for row in rows if "error" not in row]
        if not documents:
            return {"host": None, "warnings": []}
        first, *others = documents
        return {
            "host": {"workload": first["workload"], "trace": first.get("trace")},
            "warnings": [text for text in first["warnings"]
                         if all(text in one["warnings"] for one in others)],
        }  # fmt: skip

    def _document(self, key: str) -> JsonObject:
        """Return the document of one drive."""
        found = self._store.entry(key).document
        if found is None:
            raise InternalError(f"a drive that was tested has no document: {key}")
        return found

    def _drive(self, index: int, seed: int, key: str, error: str | None) -> JsonObject:
        """Return what one drive showed."""
        row: JsonObject = {"drive": index, "seed": seed, "key": key}
        row["temperature"] = self.sample.temperature(index)
        if error is not None:
            return row | {"error": error}
        document = self._document(key)
        row |= {name: document[name] for name in KEPT}
        terabytes = min(document["tbw_tb"], self.sample.read_tb or math.inf)
        mean = document["uber"] * BITS_PER_TB * terabytes
        return row | {
            "failed": document["worn_out"],
            "errors_expected": mean,
            "errors": drawn(mean, seed, "reliability.sample"),
        }
