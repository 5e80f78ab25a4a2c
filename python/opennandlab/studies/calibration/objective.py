"""What a set of keys costs: the cells of one run, as logs of simulated over measured.

Runs of one batch stand beside each other on the cores; their order decides nothing, and what the
journal has is not run again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.core.config import load_device
from opennandlab.studies.calibration.cells import COMPARED, Target
from opennandlab.studies.calibration.journal import Journal
from opennandlab.studies.calibration.keys import Key
from opennandlab.studies.sweeps.engine import Engine
from opennandlab.studies.sweeps.point import Point

Array = npt.NDArray[np.float64]
Values = Mapping[str, float]
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
        """Return the figures of all cells for each set; None for a device that cannot be."""


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


class Simulated:
    """Runs the cells on the simulated device.

    Args:
        device: The device file, as it is run.
        question: What is measured: see `pts.cells`.
        test: Decides which figure of a cell is compared.
        seed: Seed of every run.
        engine: Where runs happen.
        journal: What is known, and where the rest is kept.
    """

    def __init__(  # noqa: PLR0913 (all by name)
        self,
        *,
        device: dict[str, Any],
        question: Mapping[str, Any],
        test: str,
        seed: int,
        engine: Engine,
        journal: Journal,
    ) -> None:
        """Take all of it; nothing runs."""
        self._device, self._question, self._seed = device, dict(question), seed
        _, self._figure, self._factor = COMPARED[test]
        self._engine, self._journal = engine, journal
        # Called several times a second.
        self.tick: Callable[[], None] = lambda: None
        self.error = ""
        self.known_count = 0

    def __call__(self, batch: Sequence[Values]) -> list[list[float] | None]:
        """Return the figures of all cells for each set of values."""
        points = [self._point(values) for values in batch]
        missing = {
            point.key: point
            for point in points
            if point is not None and point.key not in self._journal.known
        }
        self.known_count += len({it.key for it in points if it is not None} - missing.keys())
        for point in missing.values():
            self._engine.submit(point)
        left = set(missing)
        while left:
            for done in self._engine.wait(WAIT_S):
                if done.error is not None:
                    self.error = done.error
                found = None if done.document is None else self._figures(done.document)
                self._journal.add(done.key, found)
                left.discard(done.key)
            self.tick()
        return [None if it is None else self._journal.known[it.key] for it in points]

    def _point(self, values: Values) -> Point | None:
        try:
            device = load_device(self._device, dict(values))
        except ConfigError as error:
            self.error = str(error)
            return None
        settings = {"device": device.to_dict(), "question": self._question}
        return Point("pts.cells", settings, self._seed)

    def _figures(self, document: Mapping[str, Any]) -> list[float] | None:
        found = [cell[self._figure] for cell in document["cells"]]
        if any(one is None or not one > 0 for one in found):
            self.error = "a cell completed no request"
            return None
        return [float(one) * self._factor for one in found]


class Objective:
    """The errors of sets of keys, and the best set so far.

    Args:
        keys: What is fitted.
        targets: What was measured, in the order of the model's figures.
        held_out: Names of the cells that do not count.
        model: Gives the figures.
        runs_max: At most so many runs are planned, for the progress.
        watch: Told how far it is; None for nobody.
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
        self._measured = np.log([one.value for one in targets])
        self.counts = np.array([one.name not in held_out for one in targets])
        self._model, self._runs_max, self._watch = model, runs_max, watch
        self.stage = "start"
        self.runs = 0
        self.best: Array | None = None
        self.best_residuals: Array | None = None
        self.steps: list[tuple[int, float, str]] = []
        self.ends: list[End] = []
        self.seen: list[End] = []
        self._least = math.inf
        self._began = time.monotonic()

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
        return math.inf if residuals is None else float(np.mean(residuals[self.counts] ** 2))

    def end(self) -> None:
        """Keep where a start led, and begin another without it."""
        if self.best is not None and self.best_residuals is not None:
            self.ends.append(End(self.best, self.best_residuals, self.runs))
        self.best = self.best_residuals = None

    def choose(self) -> None:
        """Go back to the best place of all starts, the one under way among them."""
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
        return rms_pct(self.best_residuals[self.counts == is_fitted])

    def tell(self) -> None:
        """Say how far it is."""
        if self._watch is not None:
            elapsed = time.monotonic() - self._began
            most = max(self._runs_max, self.runs)
            self._watch(Progress(self.stage, self.runs, most, self.rms_pct(), elapsed))

    def _keep(self, place: Array, residuals: Array) -> None:
        if self.loss(residuals) < self.best_loss:
            self.best, self.best_residuals = np.array(place), residuals
            if self.best_loss < self._least:
                self._least = self.best_loss
                self.steps.append((self.runs, self.rms_pct() or 0.0, self.stage))


def rms_pct(residuals: Array) -> float | None:
    """Return the root mean square of simulated / measured - 1, in percent; None for no cell."""
    if not residuals.size:
        return None
    return float(100 * np.sqrt(np.mean((np.exp(residuals) - 1) ** 2)))


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
