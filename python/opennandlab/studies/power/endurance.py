"""Endurance and retention of a fleet, after JESD218.

```text
fleet ─► each device: write to so much of the rated TBW ─► no power for the time of the class
      │                               (virtual time)        (Arrhenius, Ea 1.1 eV) ─► read all of it
      └► the same device: the same, cut from power on the way ─► faults, and what cuts cost
```
A cell is a class of drives, a variant and an age; each is a suite of the fleet runner, so what was
run is in its store and is not run again. What wears, ages and reads is `reliability life`.

| variant | the host |
|---|---|
| `random` | writes single units anywhere |
| `read_disturb` | the same, and reads each page 1,000 times in storage |
| `cold_hot` | rewrites a fifth of the drive and reads the cold rest 1,000 times |

Cuts come evenly: so many of them, or one in so many hours of the drive's active use, of which a
client has 8 a day and a server 24 (JESD218) in the years that the rated TBW is for.

Left out: the temperatures of active use (40 and 55 degrees), and early failures.
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
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import load_device
from opennandlab.core.power_cut import promises
from opennandlab.documents.fleet import FleetDocument, FleetRow
from opennandlab.documents.power_endurance import POWER_ENDURANCE_SCHEMA, EnduranceDocument
from opennandlab.documents.record import made, plain
from opennandlab.reliability.drive_life import CUTS_MAX, drive_life_test
from opennandlab.reliability.jedec import CLASSES, DriveClass
from opennandlab.reliability.model import load_model
from opennandlab.reliability.scaling import scaled, with_reserve
from opennandlab.stats.poisson import poisson_interval
from opennandlab.stats.student import half_width
from opennandlab.studies.fleet.definition import Fleet
from opennandlab.studies.fleet.running import Campaign as FleetCampaign
from opennandlab.studies.power import campaign as cutting
from opennandlab.studies.power.campaign import wilson
from opennandlab.studies.sweeps.engine import Engine
from opennandlab.studies.sweeps.runner import Keeper, Progress

READS: Final = 1_000.0
VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "random": {},
    "read_disturb": {"reads": READS},
    "cold_hot": {
        "reads": READS,
        # The amount follows from the test; a workload states one.
        "workload": {"pattern": "random", "active_range_pct": 20, "total": {"drive_writes": 1}},
    },
}
# Against slips of the pen: no run here completed beyond.
PROGRAMS_MAX: Final = 1e13
AGE_MAX: Final = 10.0
TBW_TB_MAX: Final = 1e9
# Pages of a drive on which it is tried whether it can be cut.
TRIED_PAGES: Final = 1 << 14
DAYS_PER_YEAR: Final = 365.0
YEARS_MAX: Final = 100.0
FAULTS: Final = "cuts.faults."
# Behind the name of a cell: its devices, cut from power.
CUT: Final = " cut"
NO_EFFECT: Final = "this part of the test changes nothing; give the device a `reliability`"


@dataclass(frozen=True)
class Settings:
    """What is done to a fleet.

    Args:
        fleet: Name, devices, device, what is set, and what each draws; without suites.
        classes: Classes of JESD218.
        variants: Some of `VARIANTS`.
        ages: Written data at each age, in rated TBW.
        tbw_tb: The rated TBW; None: what wears the device, as it is named, to its rated cycles.
        programs: Page programs of a test, about: drives are scaled down to them.
        cuts: Power cuts of each device, over its writes; 0: none.
        cut_every_h: Hours of active use between cuts, in place of their number.
        use_years: Years of use that the rated TBW is for; only with `cut_every_h`.
        claims: What devices promise when they are cut; None: what their options say.

    Raises:
        ConfigError: for invalid values.
    """

    fleet: Mapping[str, Any]
    classes: Sequence[str] = ("client", "enterprise")
    variants: Sequence[str] = tuple(VARIANTS)
    ages: Sequence[float] = (1.0,)
    tbw_tb: float | None = None
    programs: float = 1e6
    cuts: int = 0
    cut_every_h: float | None = None
    use_years: float = 5.0
    claims: Sequence[str] | None = None
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
        if self.tbw_tb is not None and not 0.0 < self.tbw_tb <= TBW_TB_MAX:
            message = f"{self.tbw_tb:g} is not valid; accepted: above 0, to {TBW_TB_MAX:g} TB"
            raise ConfigError("--tbw", message)
        if not 1 <= self.programs <= PROGRAMS_MAX:
            message = f"{self.programs:g} is not valid; accepted: 1 to {PROGRAMS_MAX:g}"
            raise ConfigError("--programs", message)
        if "suites" in self.fleet:
            raise ConfigError("suites", "follow from classes, variants and ages; leave them out")
        self._check_cuts()

    def check(self, folder: Path = Path()) -> None:
        """Refuse a fleet that is invalid; nothing runs.

        Raises:
            ConfigError: with the key.
        """
        fleet = Fleet.of({"name": "endurance", **self.fleet, "suites": _suites(self, 1.0)}, folder)
        device = load_device(fleet.document.get("device", "config"), fleet.changes)
        if self.is_cut:
            small = with_reserve(scaled(device, TRIED_PAGES), device)
            cutting.Settings(small, 1, cutting.WORKLOADS[:1]).core()

    def _check_cuts(self) -> None:
        """Refuse what gives no cuts, or too many."""
        if not 0 <= self.cuts <= CUTS_MAX:
            raise ConfigError("--cuts", f"{self.cuts} is not valid; accepted: 0 to {CUTS_MAX}")
        if not 0.0 < self.use_years <= YEARS_MAX:
            message = f"{self.use_years:g} is not valid; accepted: above 0, to {YEARS_MAX:g}"
            raise ConfigError("--use-years", message)
        promises(self.claims or ())
        every = self.cut_every_h
        if every is None:
            return
        if self.cuts:
            raise ConfigError("--cut-every-hours", "give either this or --cuts")
        hours = [self.hours(name, age) for name, _, age in self.cells()]
        low, high = max(hours) / CUTS_MAX, min(hours)
        if not low <= every <= high:
            message = f"{every:g} is not valid; accepted: {low:g} to {high:g} hours of active use"
            raise ConfigError("--cut-every-hours", message)

    @property
    def is_cut(self) -> bool:
        """Whether devices are cut from power."""
        return self.cuts > 0 or self.cut_every_h is not None

    def hours(self, drive_class: str, age: float) -> float:
        """Return the hours of active use in which a device of a class is written so much.

        Args:
            drive_class: Class of JESD218.
            age: Written data at each age, in rated TBW.
        """
        return age * self.use_years * DAYS_PER_YEAR * CLASSES[drive_class].active_h_per_day

    def cuts_of(self, drive_class: str, age: float) -> int:
        """Return the cuts of a device in a cell."""
        if self.cut_every_h is None:
            return self.cuts
        return int(self.hours(drive_class, age) / self.cut_every_h)

    def cells(self) -> Iterator[tuple[str, str, float]]:
        """Yield class, variant and age of each cell."""
        for drive_class in self.classes:
            for variant in self.variants:
                for age in sorted(self.ages):
                    yield drive_class, variant, age

    def rated_tbw(self) -> float:
        """Return the TBW that ages are multiples of, the same whichever ages are asked for.

        Raises:
            ConfigError: for a device that cannot be tested.
        """
        if self.tbw_tb is not None:
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
        """Return what decides the result, next to the fleet."""
        return {
            "classes": list(self.classes),
            "variants": list(self.variants),
            "ages": sorted(self.ages),
            "rated_tbw_tb": self.rated_tbw(),
            "programs": self.programs,
            "cuts": self.cuts,
            "cut_every_h": self.cut_every_h,
            "use_years": self.use_years,
            "claims": None if self.claims is None else list(self.claims),
        }


def _suites(settings: Settings, tbw: float) -> dict[str, Any]:
    suites = {}
    for drive_class, variant, age in settings.cells():
        life = {"drive_class": drive_class, "programs": settings.programs, **VARIANTS[variant]}
        life["tbw_tb"] = tbw * age
        name = suite_name(drive_class, variant, age)
        suites[name] = {"run": "reliability.drive-life", "life": life}
        if settings.is_cut:
            life = {**life, "cuts": settings.cuts_of(drive_class, age)}
            if settings.claims is not None:
                life["claims"] = list(settings.claims)
            suites[f"{name}{CUT}"] = {"run": "reliability.drive-life", "life": life}
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
        ConfigError: for a fleet that is invalid.
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
        self.settings, self._began = settings, time.monotonic()
        self.fleet = Fleet.of(settings.whole_fleet(), folder)
        self._runs = FleetCampaign(self.fleet, store, watch=watch)

    @property
    def progress(self) -> tuple[int, int]:
        """Points that are done, and how many there are."""
        return self._runs.done_count, self._runs.count

    def to_the_end(self, engine: Callable[[], Engine]) -> None:
        """Run what is missing.

        Raises:
            KeyboardInterrupt: on Ctrl-C, when what is done is kept.
        """
        self._runs.to_the_end(engine)

    def document(self, command: str, *, partial: bool = False) -> EnduranceDocument:
        """Return the document of the campaign.

        Args:
            command: What ran it.
            partial: Whether it was interrupted.
        """
        found = self._runs.document(command, partial=partial)
        cells = [cell(found, *one) for one in self.settings.cells()]
        if self.settings.is_cut:
            cells = [one | {"cuts": cut_cell(found, self.settings, one)} for one in cells]
        verdicts = [it for one in self.settings.cells() for it in _verdicts(found, *one)]
        passed = [one["passed"] and one.get("cuts", one)["passed"] for one in cells]
        content = {
            "schema": POWER_ENDURANCE_SCHEMA,
            "fleet": dict(self.fleet.document),
            "settings": self.settings.document(),
            "devices": [plain(one) for one in found.devices],
            "cells": cells,
            "verdicts": verdicts,
            "warnings": self.settings.warnings(),
            "partial": partial,
            "passed": all(passed) and not partial,
            "run": {
                "version": _core.version(),
                "wall_s": round(time.monotonic() - self._began, 3),
                "command": command,
            },
            "digest": "",
        }
        whole = made(content, EnduranceDocument)
        return structs.replace(whole, digest=digest(plain(whole)))


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


def cut_cell(found: FleetDocument, settings: Settings, one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what cuts did to the devices of a cell, against the same devices without."""
    drive_class, age = one["drive_class"], one["age"]
    name = suite_name(drive_class, one["variant"], age)
    rows = [row for row in found.rows if row.suite == name + CUT]
    tested = [row.metrics for row in rows if row.error is None]
    told = [verdict(row, CLASSES[drive_class]) for row in rows]
    failed = sum(it in {"worn_out", "error"} for it in told)
    faulty = sum(row["cuts.faulty_cuts"] > 0 for row in tested)
    low, high = wilson(faulty, len(tested)) if tested else (0.0, 1.0)
    limit = CLASSES[drive_class].functional_failures_max
    uncut = {row.device: row.metrics for row in found.rows if row.suite == name and not row.error}
    pairs = [
        (uncut[row.device], row.metrics)
        for row in rows
        if row.error is None and row.device in uncut
    ]

    def total(key: str) -> int:
        return round(sum(row[key] for row in tested))

    ready = [row["cuts.ready_ms_mean"] for row in tested]
    is_whole = len(rows) == len(found.devices)
    return {
        "cuts": settings.cuts_of(drive_class, age),
        "every_h": settings.cut_every_h,
        "devices": len(rows),
        "failed": failed,
        "faulty": faulty,
        "low": low,
        "high": high,
        "faults": _faults(tested, age),
        "requests": total("cuts.requests"),
        "torn_pages": total("cuts.torn_pages"),
        "half_erased_blocks": total("cuts.half_erased_blocks"),
        "damaged_pages": total("cuts.damaged_pages"),
        "ready_ms_mean": fmean(ready) if ready else None,
        "ready_ms_max": max((row["cuts.ready_ms_max"] for row in tested), default=None),
        "uecc": total("uncorrectable"),
        "uber_failed": told.count("uber"),
        "waf": paired(pairs, "waf"),
        "pe_cycles": paired(pairs, "pe_cycles"),
        "uber": paired(pairs, "uber"),
        "passed": is_whole
        and bool(rows)
        and set(told) <= {"ok", "worn_out", "error"}
        and failed <= limit * len(rows),
    }


def _faults(rows: Sequence[Mapping[str, float]], age: float) -> dict[str, dict[str, Any]]:
    """Return each class of faults, with the device that showed it first."""
    names = sorted({key.split(".")[2] for row in rows for key in row if key.startswith(FAULTS)})
    faults = {}
    for name in names:
        own = [row for row in rows if f"{FAULTS}{name}.cuts" in row]
        first = min(own, key=lambda row: row[f"{FAULTS}{name}.first_share"])
        faults[name] = {
            "devices": len(own),
            "cuts": round(sum(row[f"{FAULTS}{name}.cuts"] for row in own)),
            "first_age": age * first[f"{FAULTS}{name}.first_share"],
            "first_pe_cycles": first[f"{FAULTS}{name}.first_pe_cycles"],
        }
    return faults


def paired(
    pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], key: str
) -> dict[str, Any] | None:
    """Return a number with cuts against the same without, device by device.

    Args:
        pairs: Numbers of devices without and with cuts.
        key: The number; pairs without it above 0 are left out.

    >>> found = paired([({"waf": 2.0}, {"waf": 2.2}), ({"waf": 4.0}, {"waf": 4.4})], "waf")
    >>> round(found["ratio"], 6), round(found["without"], 6)
    (1.1, 2.828427)
    """
    both = [
        (math.log(without[key]), math.log(with_cuts[key]))
        for without, with_cuts in pairs
        if min(without.get(key, 0.0), with_cuts.get(key, 0.0)) > 0.0
    ]
    if not both:
        return None
    changes = [with_cuts - without for without, with_cuts in both]
    mean, half = fmean(changes), half_width(changes)
    return {
        "devices": len(both),
        "without": math.exp(fmean(without for without, _ in both)),
        "with_cuts": math.exp(fmean(with_cuts for _, with_cuts in both)),
        "ratio": math.exp(mean),
        "low": None if half is None else math.exp(mean - half),
        "high": None if half is None else math.exp(mean + half),
    }


def verdict(row: FleetRow, asked: DriveClass) -> str:
    """Return `ok`, `worn_out`, `uber`, `cut` or `error`."""
    if row.error is not None:
        return "error"
    if row.metrics["passed"]:
        return "ok"
    rate = max(row.metrics["uber"], row.metrics["uber_low"])
    if rate > asked.uber_max:
        return "uber"
    return "cut" if row.metrics.get("cuts.faulty_cuts") else "worn_out"


def _verdicts(
    found: FleetDocument, drive_class: str, variant: str, age: float
) -> Iterator[dict[str, Any]]:
    name = suite_name(drive_class, variant, age)
    for row in found.rows:
        told = verdict(row, CLASSES[drive_class])
        if row.suite not in {name, name + CUT} or told == "ok":
            continue
        why = row.error or f"UBER {row.metrics['uber']:.3g}"
        if told == "worn_out":
            why = "took no more writes"
        faults = _faults([row.metrics], age)
        if faults and row.error is None:
            shown = ", ".join(f"{key} after {one['cuts']} cuts" for key, one in faults.items())
            why = shown if told == "cut" else f"{why}; {shown}"
        yield {"device": row.device, "drive_class": drive_class, "variant": variant, "age": age,
               "with_cuts": row.suite == name + CUT, "verdict": told, "why": why}  # fmt: skip
