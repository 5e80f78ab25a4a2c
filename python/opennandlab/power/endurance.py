"""Endurance and retention of a fleet, after JESD218.

```text
fleet ─► each device: write to so much of the rated TBW ─► no power for the time of the class
                                      (virtual time)        (Arrhenius, Ea 1.1 eV) ─► read all of it
      └► each device: cut from power again and again, on a fresh drive ─► faults
```
A cell is a class of drives, a variant and an age; each is a suite of the fleet runner, so what was
run lies in its store and is not run again. What wears, ages and reads is `reliability life`.

| variant | the host |
|---|---|
| `random` | writes single units anywhere |
| `read_disturb` | the same, and reads each page 1,000 times in storage |
| `cold_hot` | rewrites a fifth of the drive and reads the cold rest 1,000 times |

Left out: the temperatures of active use (40 and 55 degrees), early failures, and cuts in the course
of ageing: those are made on fresh drives.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from msgspec import structs

from opennandlab import _core
from opennandlab.canonical import digest
from opennandlab.config import DeviceConfig, load_device
from opennandlab.documents.fleet import FleetDocument, FleetRow
from opennandlab.documents.power_endurance import POWER_ENDURANCE_SCHEMA, EnduranceDocument
from opennandlab.documents.record import made, plain
from opennandlab.errors import ConfigError
from opennandlab.fleet.definition import Fleet, Member
from opennandlab.fleet.running import Campaign as FleetCampaign
from opennandlab.power import campaign as cutting
from opennandlab.power.campaign import wilson
from opennandlab.reliability.drive_life import drive_life_test, scaled
from opennandlab.reliability.jedec import CLASSES, DriveClass
from opennandlab.reliability.life import poisson_interval
from opennandlab.reliability.model import load_model
from opennandlab.sweeps.engine import Engine
from opennandlab.sweeps.runner import Keeper, Progress

READS: Final = 1_000.0
VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "random": {},
    "read_disturb": {"reads": READS},
    "cold_hot": {"reads": READS, "workload": {"pattern": "random", "active_range_pct": 20}},
}
# Against slips of the pen: no run here comes to its end beyond.
PROGRAMS_MAX: Final = 1e13
AGE_MAX: Final = 10.0
# Pages of a drive that is cut: each cut reads all of it.
CUT_PAGES: Final = 1 << 14
CUTS_MAX: Final = 100_000
NO_EFFECT: Final = "this part of the test changes nothing; give the device a `reliability`"


@dataclass(frozen=True)
class Settings:
    """What is done to a fleet.

    Args:
        fleet: Name, devices, device, what is set, and what each draws; without suites.
        classes: Of JESD218.
        variants: Of `VARIANTS`.
        ages: What is written, in rated TBW.
        tbw_tb: The rated TBW; None: what wears the first device to its rated cycles.
        programs: Page programs of a test, about: drives are scaled down to them.
        cuts: Cuts from power of each device; 0: none.

    Raises:
        ConfigError: for what cannot be.
    """

    fleet: Mapping[str, Any]
    classes: Sequence[str] = ("client", "enterprise")
    variants: Sequence[str] = tuple(VARIANTS)
    ages: Sequence[float] = (1.0,)
    tbw_tb: float | None = None
    programs: float = 1e6
    cuts: int = 0
    _pilot: dict[str, float] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check what can be checked without running."""
        for option, names, known in (
            ("--class", self.classes, tuple(CLASSES)), ("--variant", self.variants, VARIANTS),
        ):  # fmt: skip
            for name in names:
                if name not in known:
                    message = f"`{name}` is not known; accepted: {', '.join(known)}"
                    raise ConfigError(option, message)
            if len(set(names)) < len(names) or not names:
                raise ConfigError(option, "accepted: one name or more, each once")
        for age in self.ages:
            if not 0.0 < age <= AGE_MAX:
                message = f"{age} is not valid; accepted: above 0, to {AGE_MAX:g} rated TBW"
                raise ConfigError("--ages", message)
        if not 1 <= self.programs <= PROGRAMS_MAX:
            message = f"{self.programs:g} is not valid; accepted: 1 to {PROGRAMS_MAX:g}"
            raise ConfigError("--programs", message)
        if not 0 <= self.cuts <= CUTS_MAX:
            raise ConfigError("--cuts", f"{self.cuts} is not valid; accepted: 0 to {CUTS_MAX}")
        if "suites" in self.fleet:
            raise ConfigError("suites", "follow from classes, variants and ages; leave them out")

    def check(self, folder: Path = Path()) -> None:
        """Refuse a fleet that cannot be; nothing runs.

        Raises:
            ConfigError: with the key.
        """
        fleet = Fleet.of({"name": "endurance", **self.fleet, "suites": _suites(self, 1.0)}, folder)
        load_device(fleet.document.get("device", "config"), fleet.changes)

    def cells(self) -> Iterator[tuple[str, str, float]]:
        """Yield class, variant and age of each cell."""
        for drive_class in self.classes:
            for variant in self.variants:
                for age in sorted(self.ages):
                    yield drive_class, variant, age

    def rated_tbw(self) -> float | None:
        """Return the TBW that ages are multiples of; None where it is not needed.

        Raises:
            ConfigError: for a device that cannot be tested.
        """
        if self.tbw_tb is not None or all(age == 1.0 for age in self.ages):
            return self.tbw_tb
        if "tbw" not in self._pilot:
            device = load_device(self.fleet.get("device", "config"), self.fleet.get("set") or {})
            self._pilot["tbw"] = drive_life_test(device, programs=self.programs).tbw_tb
        return self._pilot["tbw"]

    def whole_fleet(self) -> dict[str, Any]:
        """Return the fleet with its suites."""
        suites = _suites(self, self.rated_tbw())
        return {"name": "endurance", **self.fleet, "suites": suites}

    def warnings(self) -> list[str]:
        """Return what the error model of the device does not know, and the test asks for."""
        device = load_device(self.fleet.get("device", "config"), self.fleet.get("set") or {})
        model, asked = load_model(device), CLASSES[self.classes[0]]
        pages: list[dict[str, Any]] = [{"page_type": name} for name in model.page_types] or [{}]
        cycles = float(device["nand.max_pe_cycles"])

        def rate(hours: float, reads: float) -> float:
            stress = (cycles, hours, asked.retention_c, reads)
            return float(max(np.max(model.rber(*stress, **page)) for page in pages))

        told, fresh = [], rate(0.0, 0.0)
        if rate(asked.retention_h, 0.0) == fresh:
            told.append(f"the error model of the device does not age data: {NO_EFFECT}")
        is_read = any("reads" in VARIANTS[name] for name in self.variants)
        if is_read and rate(0.0, READS) == fresh:
            told.append(f"the error model of the device knows no read disturb: {NO_EFFECT}")
        return told

    def document(self) -> dict[str, Any]:
        """Return what decides the result, beside the fleet."""
        return {
            "classes": list(self.classes),
            "variants": list(self.variants),
            "ages": sorted(self.ages),
            "rated_tbw_tb": self.rated_tbw(),
            "programs": self.programs,
            "cuts": self.cuts,
        }


def _suites(settings: Settings, tbw: float | None) -> dict[str, Any]:
    suites = {}
    for drive_class, variant, age in settings.cells():
        life = {"drive_class": drive_class, "programs": settings.programs, **VARIANTS[variant]}
        if tbw is not None:
            life["tbw_tb"] = tbw * age
        name = suite_name(drive_class, variant, age)
        suites[name] = {"run": "reliability.drive-life", "life": life}
    return suites


def suite_name(drive_class: str, variant: str, age: float) -> str:
    """Return the name of a cell in the fleet.

    >>> suite_name("client", "random", 1.5)
    'client random 1.5'
    """
    return f"{drive_class} {variant} {age:g}"


class Campaign:
    """A run of settings.

    Args:
        settings: What is done.
        store: Where points are kept.
        folder: Fleet files name others relative to it.
        watch: Told the suite and how far it is.

    Raises:
        ConfigError: for a fleet that cannot be.
    """

    def __init__(
        self,
        settings: Settings,
        store: Keeper,
        *,
        folder: Path = Path(),
        watch: Callable[[str, Progress | None], None] | None = None,
    ) -> None:
        """Resolve the fleet; nothing runs but a test for the rated TBW, where that is needed."""
        self.settings, self._watch, self._began = settings, watch, time.monotonic()
        self.fleet = Fleet.of(settings.whole_fleet(), folder)
        self._runs = FleetCampaign(self.fleet, store, watch=watch)
        self._cut: dict[int, Mapping[str, Any]] = {}

    @property
    def progress(self) -> tuple[int, int]:
        """Points and cut devices that are done, and how many there are."""
        cut = self.fleet.devices if self.settings.cuts else 0
        return self._runs.done_count + len(self._cut), self._runs.count + cut

    def to_the_end(self, engine: Callable[[], Engine], jobs: int = 1) -> None:
        """Run what is missing.

        Raises:
            KeyboardInterrupt: on Ctrl-C, when what is done is kept.
        """
        self._runs.to_the_end(engine)
        if not self.settings.cuts:
            return
        for index in range(self.fleet.devices):
            if self._watch is not None:
                self._watch(f"cuts, device {index}", None)
            self._cut[index] = cut_device(self.fleet, self.fleet.member(index), self.settings, jobs)

    def document(self, command: str, *, partial: bool = False) -> EnduranceDocument:
        """Return what was found.

        Args:
            command: What ran it.
            partial: Whether it was interrupted.
        """
        found = self._runs.document(command, partial=partial)
        cells = [cell(found, *one) for one in self.settings.cells()]
        verdicts = [it for one in self.settings.cells() for it in _verdicts(found, *one)]
        cuts = None
        if self.settings.cuts and self._cut:
            cuts = _cuts(list(self._cut.values()))
            verdicts += _cut_verdicts(self._cut)
        is_sound = all(one["passed"] for one in cells) and not (cuts and cuts["failed"])
        content = {
            "schema": POWER_ENDURANCE_SCHEMA,
            "fleet": dict(self.fleet.document),
            "settings": self.settings.document(),
            "devices": [plain(one) for one in found.devices],
            "cells": cells,
            "cuts": cuts,
            "verdicts": verdicts,
            "warnings": self.settings.warnings(),
            "partial": partial,
            "passed": is_sound and not partial,
            "run": {
                "version": _core.version(),
                "wall_s": round(time.monotonic() - self._began, 3),
                "command": command,
            },
            "digest": "",
        }
        whole = made(content, EnduranceDocument)
        return structs.replace(whole, digest=digest(plain(whole)))


def cut_device(fleet: Fleet, member: Member, settings: Settings, jobs: int) -> dict[str, Any]:
    """Cut a fresh device of a fleet from power; return what that showed.

    Args:
        fleet: With device and what is set.
        member: The device.
        settings: How often.
        jobs: Lives at the same time.
    """
    try:
        device = load_device(
            fleet.document.get("device", "config"), {**fleet.changes, **member.drawn}
        )
        small = _small(device)
        wanted = cutting.Settings(small, settings.cuts, seed=member.seed)
        run = cutting.Campaign(wanted, jobs=jobs)
    except ConfigError as error:
        return {"error": str(error)}
    run.to_the_end()
    found = run.document("")
    pages = float(device.effective["physical_pages"])
    return {
        "error": None,
        "cuts": found.cuts,
        "classes": sorted(found.classes),
        "scale": pages / float(small.effective["physical_pages"]),
        "waf": found.cost.waf,
    }


def _small(device: DeviceConfig) -> DeviceConfig:
    return scaled(device, CUT_PAGES)


def cell(found: FleetDocument, drive_class: str, variant: str, age: float) -> dict[str, Any]:
    """Return the counts of a cell, with their intervals."""
    asked = CLASSES[drive_class]
    rows = [row for row in found.rows if row.suite == suite_name(drive_class, variant, age)]
    tested = [row for row in rows if row.error is None]
    failed = sum(verdict(row, asked) in {"worn_out", "error"} for row in rows)
    beyond = sum(verdict(row, asked) == "uber" for row in rows)
    low, high = wilson(failed, len(rows)) if rows else (0.0, 1.0)
    ffr = failed / len(rows) if rows else 0.0
    lost = round(sum(row.metrics["uncorrectable"] for row in tested))
    bits = math.fsum(row.metrics["bits_read"] for row in tested)
    events = poisson_interval(lost)
    is_whole = len(rows) == len(found.devices)

    def mean(name: str) -> float | None:
        return fmean(row.metrics[name] for row in tested) if tested else None

    return {
        "drive_class": drive_class,
        "variant": variant,
        "age": age,
        "devices": len(rows),
        "failed": failed,
        "ffr": ffr,
        "ffr_low": low,
        "ffr_high": high,
        "ffr_max": asked.functional_failures_max,
        "uecc": lost,
        "bits_read": bits,
        "uber_observed": lost / bits if bits else None,
        "uber_low": events[0] / bits if bits else None,
        "uber_high": events[1] / bits if bits else None,
        "uber": mean("uber"),
        "uber_max": asked.uber_max,
        "uber_failed": beyond,
        "tbw_tb": mean("tbw_tb"),
        "waf": mean("waf"),
        "pe_cycles": mean("pe_cycles"),
        "scale": mean("scale"),
        "passed": is_whole and ffr <= asked.functional_failures_max and not beyond,
    }


def verdict(row: FleetRow, asked: DriveClass) -> str:
    """Return `ok`, `worn_out`, `uber` or `error`."""
    if row.error is not None:
        return "error"
    if row.metrics["passed"]:
        return "ok"
    rate = max(row.metrics["uber"], row.metrics["uber_low"])
    return "uber" if rate > asked.uber_max else "worn_out"


def _verdicts(
    found: FleetDocument, drive_class: str, variant: str, age: float
) -> Iterator[dict[str, Any]]:
    for row in found.rows:
        told = verdict(row, CLASSES[drive_class])
        if row.suite != suite_name(drive_class, variant, age) or told == "ok":
            continue
        why = row.error or f"UBER {row.metrics['uber']:.3g}"
        if told == "worn_out":
            why = "took no more writes"
        yield {"device": row.device, "drive_class": drive_class, "variant": variant, "age": age,
               "verdict": told, "why": why}  # fmt: skip


def _cuts(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    done = [one for one in found if one["error"] is None]
    bad = [one for one in found if one["error"] is not None or one["classes"]]
    low, high = wilson(len(bad), len(found))
    names = sorted({name for one in done for name in one["classes"]})
    wafs = [one["waf"] for one in done if one["waf"] is not None]
    return {
        "devices": len(found),
        "cuts": sum(one["cuts"] for one in done),
        "failed": len(bad),
        "low": low,
        "high": high,
        "classes": {name: sum(name in one["classes"] for one in done) for name in names},
        "scale": fmean(one["scale"] for one in done) if done else 0.0,
        "waf": fmean(wafs) if wafs else None,
    }


def _cut_verdicts(found: Mapping[int, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for index, one in found.items():
        if one["error"] is None and not one["classes"]:
            continue
        told = "error" if one["error"] is not None else ", ".join(one["classes"])
        yield {"device": index, "drive_class": "-", "variant": "cuts", "age": 0.0,
               "verdict": told, "why": one["error"] or "after cuts from power"}  # fmt: skip
