"""What a calibration is to do: device, tables, keys and conditions, all checked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.base.canonical import as_bytes, canonical_json
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.core.config import DeviceConfig, Source, load_device, read_device
from opennandlab.core.run import SEED
from opennandlab.documents import calibration as records
from opennandlab.documents import pts
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.pts_inside import NAMES
from opennandlab.documents.saved import ForeignError, read_document, refuse_edited
from opennandlab.studies.calibration import search
from opennandlab.studies.calibration.cells import Target, held_out, uncertain
from opennandlab.studies.calibration.conditions import (
    Asked,
    Conditions,
    conditions,
    conditions_of_loads,
    limits,
)
from opennandlab.studies.calibration.keys import Asked as AskedKey
from opennandlab.studies.calibration.keys import Key, choices, keys_of, parse
from opennandlab.studies.calibration.tables import (
    Measured,
    is_csv,
    measured,
    of_sizes,
    weights_of,
)

RUNS_PER_KEY = 40
STARTS = 4
STARTS_MAX = 100
# `KEY`, `KEY=LOW:HIGH` or `KEY=ONE,OTHER` of each key that is free, or bounds or values by key.
Free = Sequence[str] | Mapping[str, AskedKey]
One = str | Path | PtsDocument
To = One | Sequence[One]


@dataclass(frozen=True)
class Calibration:
    """A device whose keys were fitted.

    Args:
        document: What came out, with errors and sensitivities.
        device: The fitted device.
        text: Its file, with provenance in comments.
    """

    document: records.CalibrationDocument
    device: DeviceConfig
    text: str


@dataclass(frozen=True)
class Plan:
    """All that a calibration depends on, checked; nothing has run.

    Args:
        source: The device, as it was named.
        given: The device, as its file has it.
        device: The same, resolved.
        measured: The measurement.
        held: Names of those that are held out.
        keys: What is fitted.
        conditions: How cells are run.
        runs_max: Runs of each start at most, about.
        seed: Seed of all randomness.
        starts_max: Starts of the search at most.
        choices: Combinations of the keys that are chosen among values; an empty one without any.
        limits: Of cells that are single runs: divisor, requests at least and at most.
    """

    source: Any
    given: dict[str, Any]
    device: DeviceConfig
    measured: Measured
    held: set[str]
    keys: list[Key]
    conditions: Conditions
    runs_max: int
    seed: int
    starts_max: int
    choices: list[dict[str, Any]]
    limits: tuple[int | str, int, int]

    @property
    def targets(self) -> list[Target]:
        """The cells."""
        return self.measured.targets

    @property
    def is_fit(self) -> bool:
        """Whether anything is free."""
        return bool(self.keys) or self.choices != [{}]

    @property
    def sha256(self) -> str:
        """SHA-256 of all inputs of the runs."""
        parts = {
            "device": self.given, "question": self.conditions.question,
            "blocks": self.conditions.blocks, "seed": self.seed, "held": sorted(self.held),
            "keys": [asdict(key) for key in self.keys], "document": self.measured.digest,
            "choices": self.choices, "limits": self.limits,
            "weights": [one.weight for one in self.targets],
            "model": _core.model_version(), "runs": self.runs_max,
            "starts": self.starts_max,
        }  # fmt: skip
        return hashlib.sha256(as_bytes(canonical_json(parts))).hexdigest()


def plan(  # noqa: PLR0913 (all but three by name)
    device: Source,
    to: To,
    free: Free = (),
    *,
    hold_out: str | float | None = None,
    runs: int | None = None,
    starts: int | None = None,
    seed: int = SEED,
    asked: Asked | None = None,
    overrides: Mapping[str, Any] | None = None,
    weights: str | None = None,
    force: bool = False,
) -> Plan:
    """Return a calibration that is checked and has not begun.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        to: The measurement: path, `reference:NAME`, document, or several of one drive.
        free: As in `calibrate`.
        hold_out: Cells that take no part.
        runs: Of each start.
        starts: Of the search, at most.
        seed: Seed of all randomness.
        asked: Conditions of cells.
        overrides: Keys of the device that are set before.
        weights: Weights of kinds of figures.
        force: Take uncertain cells.

    Raises:
        ConfigError: for a key, bounds or a device that is invalid.
        ResultError: for a document without common cells, or with uncertain ones.
    """
    _check(seed, starts)
    resolved = load_device(device, overrides)
    is_own = bool(overrides) or isinstance(device, DeviceConfig)
    given = dict(resolved.to_dict() if is_own else read_device(device))
    found = _compared(to, resolved, weights, force=force)
    keys, choices_of = _freed(free, resolved)
    asked_out = None if hold_out is None else str(hold_out)
    held: set[str] = _held_out(found, asked_out, seed) if free else set()
    if not free and (hold_out is not None or runs is not None):
        what = "--hold-out" if hold_out is not None else "--runs"
        raise ConfigError(what, "belongs to a fit, and no key is free; accepted: with --free KEY")
    count = sum(one.name not in held and one.weight > 0 for one in found.targets)
    if count < max(len(keys), 1):
        message = f"{len(keys)} keys and {count} cells to fit; accepted: as many cells, or more"
        raise ConfigError("--free", message)
    if found.document is not None:
        where = conditions(found.document, found.targets, resolved, given, asked or Asked(),
                           [key.path for key in keys])  # fmt: skip
    else:
        where = conditions_of_loads(found.loads, resolved, asked or Asked())
    where.warnings[:0] = found.warnings
    usual = STARTS if found.document is not None else 1
    runs_max = runs or max(RUNS_PER_KEY * len(keys), search.runs_of_polish(len(keys)) + 20)
    if not keys:
        runs_max = usual = starts = 1
    return Plan(given if is_own else device, given, resolved, found, held, keys, where, runs_max,
                seed, starts or usual, choices_of, limits(asked or Asked()))  # fmt: skip


def _check(seed: int, starts: int | None) -> None:
    if isinstance(seed, bool) or not 0 <= seed < 1 << 64:
        raise ConfigError("seed", f"`{seed}` is not a valid seed; accepted: 0 to 2^64 - 1")
    if starts is not None and not 1 <= starts <= STARTS_MAX:
        raise ConfigError("--starts", f"{starts} is refused; accepted: 1 to {STARTS_MAX}")


def _freed(free: Free, device: DeviceConfig) -> tuple[list[Key], list[dict[str, Any]]]:
    """Return the keys to fit, and the combinations of those that are chosen among values."""
    if not free:
        return [], [{}]
    wanted = parse(free) if not isinstance(free, Mapping) else dict(free)
    return keys_of(wanted, device), choices(wanted, device)


def _compared(to: To, device: DeviceConfig, weights: str | None, *, force: bool) -> Measured:
    """Return the measurement, in one document or several."""
    given = [to] if isinstance(to, str | Path | PtsDocument) else list(to)
    if not given:
        raise ConfigError("--to", "is missing; accepted: one or more tables")
    sources = [
        one if isinstance(one, PtsDocument) else
        Path(one) if is_csv(Path(one)) else read_measured(one)
        for one in given
    ]  # fmt: skip
    documents = [one for one in sources if isinstance(one, PtsDocument)]
    doubts = [text for one in documents for text in uncertain(one, force=force)]
    (only, *more) = sources
    if isinstance(only, PtsDocument) and not more and only.test not in NAMES:
        if weights is not None:
            message = "are of tables with several kinds of figures; accepted: without"
            raise ConfigError("--weights", message)
        return of_sizes(only, doubts)
    found = measured(sources, weights_of(weights), int(device.effective["logical_bytes"]),
                     force=force)  # fmt: skip
    found.warnings[:0] = doubts
    return found


def _held_out(found: Measured, asked: str | None, seed: int) -> set[str]:
    """Return the names of the cells that are held out: whole runs where cells are such."""
    if found.document is not None:
        return held_out([one.name for one in found.targets], asked, seed)
    kinds: dict[tuple[str, bool], list[str]] = {}
    for load in found.loads:
        kinds.setdefault((load.pattern.partition(":")[0], load.share < 1), []).append(load.name)
    rows = [load.name for load in found.loads]
    chosen = held_out(rows, asked, seed)
    if not set(asked.split(",") if asked else ()) & set(rows):
        # A share: the only cell of a kind tells what no other does, and so do two.
        chosen = {
            name for alike in kinds.values() if len(alike) > 2
            for name in held_out(alike, asked, seed)
        }  # fmt: skip
    return {one.name for one in found.targets if one.row in chosen}


def read_measured(to: str | Path) -> PtsDocument:
    """Return a measured document: a file, or `reference:NAME`.

    Raises:
        ResultError: for what is none.
    """
    from opennandlab.measured import reference
    from opennandlab.measured.importing import of_fio
    from opennandlab.measured.published import PREFIX

    if str(to).startswith(PREFIX):
        return reference(str(to))
    path = Path(to)
    imported = of_fio(path)
    if imported is not None:
        return imported
    try:
        content = read_document(path, [pts.SCHEMA])
    except ForeignError:
        raise
    except ResultError as error:
        if not path.is_file():
            raise
        raise ResultError(f"{error}; `pts import` makes one of a table as CSV") from None
    refuse_edited(path, content)
    return pts.from_file(content)[0]
