"""What a set of keys costs: the cells of one run, as logs of simulated over measured.

Runs of one batch stand next to each other on the cores; their order decides nothing, and what the
journal has is not run again.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.studies.calibration.cells import COMPARED, Target
from opennandlab.studies.calibration.journal import Journal
from opennandlab.studies.calibration.keys import Key
from opennandlab.studies.calibration.loads import FIGURES, Run, figures
from opennandlab.studies.sweeps.engine import Engine
from opennandlab.studies.sweeps.point import Point

Array = npt.NDArray[np.float64]
Values = Mapping[str, Any]
Figures = Sequence[float | None] | None
WAIT_S = 0.2


# A loss is as good as another when the root of it is at most this much greater, or when both are
# within what figures are rounded to.
ALIKE = 1.1
NOISE = 0.005


def is_as_good(loss: float, best: float) -> bool:
    """Whether a loss tells no worse fit than the best one.

    >>> is_as_good(0.0120, 0.01), is_as_good(0.0130, 0.01), is_as_good(2e-5, 0.0)
    (True, False, True)
    """
    return math.sqrt(loss) <= max(ALIKE * math.sqrt(best), NOISE)


@dataclass(frozen=True)
class End:
    """A set of keys that was run, such as the best one of a start.

    Args:
        place: Place of each key, 0 to 1.
        residuals: There.
        runs: Runs of the device, until then.
    """

    place: Array
    residuals: Array
    runs: int


class Model(Protocol):
    """What gives figures for values of keys."""

    def __call__(self, batch: Sequence[Values]) -> list[list[float] | None]:
        """Return the figures of all cells for each set; None for a device that is invalid."""


@dataclass(frozen=True)
class Progress:
    """How far a calibration is.

    Args:
        stage: What it does.
        runs: Runs so far.
        runs_max: At most so many.
        rms_pct: RMS error of the fitted cells, the best so far.
        elapsed_s: Wall time.
    """

    stage: str
    runs: int
    runs_max: int
    rms_pct: float | None
    elapsed_s: float

    @property
    def left_s(self) -> float | None:
        """Wall time that is left at most, at the speed so far."""
        return self.elapsed_s / self.runs * (self.runs_max - self.runs) if self.runs else None


class Simulated(ABC):
    """Runs cells on the simulated device.

    Args:
        device: The device file, as it is run.
        seed: Seed of every run.
        engine: Where runs happen.
        journal: Known runs, and the place of others.
    """

    def __init__(self, device: dict[str, Any], seed: int, engine: Engine, journal: Journal) -> None:
        """Take all of it; nothing runs."""
        self._device, self._seed = device, seed
        self._engine, self._journal = engine, journal
        # Called several times a second.
        self.tick: Callable[[], None] = lambda: None
        self.error = ""
        self.known_count = 0

    def __call__(self, batch: Sequence[Values]) -> list[list[float] | None]:
        """Return the figures of all cells for each set of values."""
        asked = [self._points(values) for values in batch]
        points = {it.key: it for points in asked if points is not None for it in points}
        missing = {key: it for key, it in points.items() if key not in self._journal.known}
        self.known_count += len(points) - len(missing)
        for point in missing.values():
            self._engine.submit(point)
        left = set(missing)
        while left:
            for done in self._engine.wait(WAIT_S):
                if done.error is not None:
                    self.error = done.error
                found = None if done.document is None else self._told(done.key, done.document)
                self._journal.add(done.key, found)
                left.discard(done.key)
            self.tick()
        known = self._journal.known
        return [
            None if points is None else self._figures([known[it.key] for it in points])
            for points in asked
        ]

    def _points(self, values: Values) -> list[Point] | None:
        try:
            return self._asked(load_device(self._device, dict(values)))
        except ConfigError as error:
            self.error = str(error)
            return None

    def _told(self, key: str, document: Mapping[str, Any]) -> list[float | None] | None:
        try:
            return self._read(key, document)
        except ConfigError as error:
            self.error = str(error)
            return None

    @abstractmethod
    def _asked(self, device: DeviceConfig) -> list[Point]:
        """Return the runs of a device."""

    @abstractmethod
    def _read(self, key: str, document: Mapping[str, Any]) -> list[float | None] | None:
        """Return the figures of one run."""

    @abstractmethod
    def _figures(self, runs: Sequence[Figures]) -> list[float] | None:
        """Return the figures of all cells, in the order of the targets."""


class OfSizes(Simulated):
    """Cells of sizes and mixes, one after the other on one drive: see `pts.cells`.

    Args:
        device: The device file, as it is run.
        seed: Seed of every run.
        engine: Where runs happen.
        journal: Known runs, and the place of others.
        question: The question of `pts.cells`.
        test: Decides which figure of a cell is compared.
        smaller: Returns the device that is run.
    """

    def __init__(  # noqa: PLR0913 (all but four by name)
        self,
        device: dict[str, Any],
        seed: int,
        engine: Engine,
        journal: Journal,
        *,
        question: Mapping[str, Any],
        test: str,
        smaller: Callable[[DeviceConfig], DeviceConfig],
    ) -> None:
        """Take all of it; nothing runs."""
        super().__init__(device, seed, engine, journal)
        self._question, self._smaller = dict(question), smaller
        _, self._figure, self._factor = COMPARED[test]

    def _asked(self, device: DeviceConfig) -> list[Point]:
        settings = {"device": self._smaller(device).to_dict(), "question": self._question}
        return [Point("pts.cells", settings, self._seed)]

    def _read(self, key: str, document: Mapping[str, Any]) -> list[float | None] | None:
        del key  # one run has all cells
        found = [cell[self._figure] for cell in document["cells"]]
        if any(one is None or not one > 0 for one in found):
            self.error = "a cell completed no request"
            return None
        return [float(one) * self._factor for one in found]

    def _figures(self, runs: Sequence[Figures]) -> list[float] | None:
        (only,) = runs
        return None if only is None else [float(one or 0.0) for one in only]


class OfLoads(Simulated):
    """Cells that are single runs, on a shrunk drive.

    Args:
        device: The device file, as it is run.
        seed: Seed of every run.
        engine: Where runs happen.
        journal: Known runs, and the place of others.
        targets: The compared figures.
        limits: Divisor, and requests of a cell at least and at most.
    """

    def __init__(  # noqa: PLR0913 (all but four by name)
        self,
        device: dict[str, Any],
        seed: int,
        engine: Engine,
        journal: Journal,
        *,
        targets: Sequence[Target],
        limits: tuple[int | str, int, int],
    ) -> None:
        """Take all of it; nothing runs."""
        super().__init__(device, seed, engine, journal)
        self._limits, self._targets = limits, list(targets)
        self._loads = list(dict.fromkeys(one.load for one in targets if one.load is not None))
        self._runs: dict[str, Run] = {}
        # Names of cells whose WAF still moved.
        self.unsteady: set[str] = set()

    def part(self, targets: Sequence[Target]) -> OfLoads:
        """Return what runs some of the cells."""
        found = OfLoads(self._device, self._seed, self._engine, self._journal, targets=targets,
                        limits=self._limits)  # fmt: skip
        found.tick = self.tick
        return found

    def _asked(self, device: DeviceConfig) -> list[Point]:
        found = []
        for load in self._loads:
            run = load.run(device, *self._limits)
            settings = {"device": run.device.to_dict(), "workload": run.workload}
            point = Point("benchmark", settings, self._seed)
            self._runs[point.key] = run
            found.append(point)
        return found

    def _read(self, key: str, document: Mapping[str, Any]) -> list[float | None] | None:
        run = self._runs[key]
        return figures(run.load, run.row, document)

    def _figures(self, runs: Sequence[Figures]) -> list[float] | None:
        known = dict(zip(self._loads, runs, strict=True))
        columns = list(FIGURES)
        found = []
        for one in self._targets:
            values = known[one.load] if one.load is not None else None
            value = None if values is None else values[columns.index(one.column)]
            if values is None or value is None or not value > 0:
                self.error = self.error or f"the cell {one.row} has no {one.column}"
                return None
            if not values[-1]:
                self.unsteady.add(one.row)
            found.append(value)
        return found


@dataclass(frozen=True)
class Fixed:
    """A model with some keys set.

    Args:
        model: The model.
        choice: Values by key.
    """

    model: Model
    choice: Values

    def __call__(self, batch: Sequence[Values]) -> list[list[float] | None]:
        """Return the figures of all cells for each set of values."""
        return self.model([{**self.choice, **values} for values in batch])


class Objective:
    """The errors of sets of keys, and the best set so far.

    Args:
        keys: What is fitted.
        targets: The measurement, in the order of the model's figures.
        held_out: Names of the cells that do not count.
        model: Gives the figures.
        runs_max: At most so many runs are planned, for the progress.
        watch: Called with the progress; None for no caller.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (what a fit consists of)
        self,
        keys: Sequence[Key],
        targets: Sequence[Target],
        held_out: set[str],
        model: Model,
        runs_max: int,
        watch: Callable[[Progress], None] | None = None,
    ) -> None:
        """Begin with nothing known."""
        self.keys = list(keys)
        self._targets, self._held_out = list(targets), held_out
        self._measured = np.log([one.value for one in targets])
        self.weights = np.array([one.weight for one in targets])
        is_fitted = [one.name not in held_out for one in targets]
        self.counts: npt.NDArray[Any] = np.array(is_fitted) & (self.weights > 0)
        self.is_cut = False
        self._model, self._runs_max, self._watch = model, runs_max, watch
        self.stage = "start"
        self.runs = 0
        # Runs of others before these, for the progress.
        self.before = 0
        self.best: Array | None = None
        self.best_residuals: Array | None = None
        self.steps: list[tuple[int, float, str]] = []
        self.ends: list[End] = []
        self.seen: list[End] = []
        self._least = math.inf
        self._began = time.monotonic()

    def again(self, keys: Sequence[Key], model: Model, runs: int) -> Objective:
        """Return the same question of other keys and another model, after more runs."""
        found = Objective(keys, self._targets, self._held_out, model, self._runs_max, self._watch)
        found._began, found.before = self._began, self.before + runs
        return found

    def enter(self, stage: str) -> None:
        """Report a new stage."""
        self.stage = stage
        self.tell()

    def values(self, place: Array) -> dict[str, float]:
        """Return the values of keys at a place, each coordinate from 0 to 1."""
        return {key.path: key.value(float(at)) for key, at in zip(self.keys, place, strict=True)}

    def residuals(self, places: Sequence[Array]) -> list[Array | None]:
        """Return log(simulated / measured) of all cells at each place; None where none can be."""
        figures = self._model([self.values(place) for place in places])
        found: list[Array | None] = []
        for place, one in zip(places, figures, strict=True):
            self.runs += 1
            if one is None:
                found.append(None)
                continue
            residuals: Array = np.log(np.array(one)) - self._measured
            found.append(residuals)
            self.seen.append(End(np.array(place), residuals, self.runs))
            self._keep(place, residuals)
        self.tell()
        return found

    def loss(self, residuals: Array | None) -> float:
        """Return the mean square of the logs over the fitted cells; infinite for None."""
        return math.inf if residuals is None else float(np.mean(self.weighted(residuals) ** 2))

    def weighted(self, rows: Array) -> Array:
        """Return the rows of the fitted cells, so that their squares count by their weights."""
        weights = self.weights[self.counts]
        found: Array = (rows[self.counts].T * np.sqrt(weights / np.mean(weights))).T
        return found

    def end(self) -> None:
        """Keep where a start led, and begin another without it."""
        if self.best is not None and self.best_residuals is not None:
            self.ends.append(End(self.best, self.best_residuals, self.runs))
        self.best = self.best_residuals = None

    def choose(self) -> None:
        """Go back to the best place of all starts, the one in progress among them."""
        self.end()
        if self.ends:
            best = min(self.ends, key=lambda one: self.loss(one.residuals))
            self.best, self.best_residuals = best.place, best.residuals

    @property
    def best_loss(self) -> float:
        """The loss of the best place."""
        return self.loss(self.best_residuals)

    def rms_pct(self, *, is_fitted: bool = True) -> float | None:
        """Return the RMS error of the best place in percent; None without cells, or a place."""
        if self.best_residuals is None:
            return None
        which = self.counts == is_fitted
        return rms_pct(self.best_residuals[which], self.weights[which])

    def tell(self) -> None:
        """Say how far it is."""
        if self._watch is not None:
            elapsed = time.monotonic() - self._began
            runs = self.before + self.runs
            most = max(self._runs_max, runs)
            self._watch(Progress(self.stage, runs, most, self.rms_pct(), elapsed))

    def _keep(self, place: Array, residuals: Array) -> None:
        if self.loss(residuals) < self.best_loss:
            self.best, self.best_residuals = np.array(place), residuals
            if self.best_loss < self._least:
                self._least = self.best_loss
                self.steps.append((self.runs, self.rms_pct() or 0.0, self.stage))


def rms_pct(residuals: Array, weights: Array | None = None) -> float | None:
    """Return the root mean square of simulated / measured - 1, in percent; None for no cell."""
    if not residuals.size or (weights is not None and not weights.any()):
        return None
    return float(100 * np.sqrt(np.average((np.exp(residuals) - 1) ** 2, weights=weights)))


def start(objective: Objective, model: Model) -> Array:
    """Run the device as it is and return its residuals.

    Raises:
        ResultError: when it cannot be run.
    """
    place = np.array([key.place(key.start) for key in objective.keys])
    found = objective.residuals([place])[0]
    if found is None:
        why = getattr(model, "error", "") or "it cannot be run"
        accepted = "" if "accepted:" in why else "; accepted: one that can run the cells"
        raise ResultError(f"the device as it is: {why}{accepted}")
    return found
