"""A sweep as it is asked for: what is run, what is varied, with which seeds.

    name: waf-vs-op                       # in a file; on the command line --name
    run: benchmark
    device: small.yaml
    workload: W2
    set: {ftl.write_frontiers: host_gc}   # the same for all points
    grid:
      ftl.gc_policy: [greedy, fifo]
      ftl.over_provisioning_pct: 0.07:0.4:8
    seeds: {count: 5, until: {waf: 0.5 %}}
    plot: {x: ftl.over_provisioning_pct, y: waf, lines: ftl.gc_policy}

`points` lists combinations that are no grid, beside it or instead. Keys are those of a device file;
`workload.`, `options.`, `pts.` and `decoder.` lead into the other parts. `device`, `workload`,
`trace` and `code` can be varied too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from opennandlab.base.errors import CodeError, ConfigError
from opennandlab.base.files import read_yaml
from opennandlab.base.plain import to_json
from opennandlab.core.run import SEED
from opennandlab.studies.sweeps.axes import Axis, combinations, label
from opennandlab.studies.sweeps.point import Point, Scalar
from opennandlab.studies.sweeps.seeds import Seeds
from opennandlab.studies.sweeps.verb import Reader, Verb
from opennandlab.studies.sweeps.verbs import verb_of

# What can be said of the figure.
DRAWN = ("x", "y", "lines", "facets")
# What a sweep is called that has no name, and how long a name may be.
UNNAMED, NAME_CHARS_MAX = "sweep", 100
OWN_KEYS = ("name", "run", "set", "grid", "points", "seeds", "seed", "plot")


@dataclass(frozen=True)
class Cell:
    """A combination of what is varied: all seeds of it belong together.

    Args:
        coordinates: Values by key, as they stand in tables.
        settings: Resolved; None where the combination cannot be.
        problem: Why it cannot be; None where it can.
    """

    coordinates: Mapping[str, Scalar]
    settings: dict[str, Any] | None
    problem: str | None = None


@dataclass(frozen=True)
class Sweep:
    """A sweep.

    Args:
        verb: What is run.
        request: What all points share, by the keys of the verb.
        changes: Keys that are set in all points, by dotted path.
        axes: The grid; the last axis varies fastest.
        listed: Combinations next to the grid; each is run with all of it.
        seeds: Which seeds, and when there are enough.
        name: For people, and to find its points again.
        plot: What is drawn: `x`, `y`, `lines`, `facets`.
    """

    verb: Verb
    request: Mapping[str, Any]
    changes: Mapping[str, Any] = field(default_factory=dict)
    axes: Sequence[Axis] = ()
    listed: Sequence[Mapping[str, Any]] = ()
    seeds: Seeds = field(default_factory=Seeds)
    name: str = UNNAMED
    plot: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Sweep:
        """Read a sweep file; files that it names lie next to it.

        Raises:
            ConfigError: with the key, what stands there, and what is accepted.
        """
        document = read_yaml(path)
        found = cls.of({"name": path.stem} | document)
        request = {key: beside(path.parent, value) for key, value in found.request.items()}
        axes = [
            replace(axis, values=tuple(beside(path.parent, value) for value in axis.values))
            if axis.key in found.verb.keys
            else axis
            for axis in found.axes
        ]
        listed, changes = (
            [
                {key: beside(path.parent, value) if key in found.verb.keys else value
                 for key, value in row.items()}
                for row in rows
            ]
            for rows in (found.listed, [found.changes])
        )  # fmt: skip
        return replace(
            found, request=request, axes=tuple(axes), listed=tuple(listed), changes=changes[0]
        )

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Sweep:
        """Read a sweep from a mapping with the keys of a sweep file.

        Raises:
            ConfigError: with the key, what stands there, and what is accepted.
        """
        to_json(document)  # refuses dates, NaN and the like, with their paths
        verb = verb_of(str(document.get("run", "benchmark")))
        request = {key: value for key, value in document.items() if key not in OWN_KEYS}
        verb_keys = [*verb.keys]
        unknown = next((key for key in request if key not in verb_keys), None)
        if unknown is not None:
            accepted = ", ".join([*OWN_KEYS, *verb_keys])
            raise ConfigError(
                str(unknown), f"is not a key of a sweep of `{verb.name}`; accepted: {accepted}"
            )
        grid = mapping_at(document, "grid")
        listed = document.get("points") or []
        if not isinstance(listed, list) or not all(isinstance(row, Mapping) for row in listed):
            raise ConfigError(
                "points", "is not a list of mappings; accepted: a mapping for each row"
            )
        first = document.get("seed", SEED)
        plot = {key: str(value) for key, value in mapping_at(document, "plot").items()}
        wrong = next((key for key in plot if key not in DRAWN), None)
        if wrong is not None:
            raise ConfigError(f"plot.{wrong}", f"is unknown; accepted: {', '.join(DRAWN)}")
        return cls(
            verb,
            request,
            {str(key): value for key, value in mapping_at(document, "set").items()},
            tuple(Axis.of(str(key), values) for key, values in grid.items()),
            tuple({str(key): value for key, value in row.items()} for row in listed),
            Seeds.of(document.get("seeds", 1), first=first, is_random=verb.is_random),
            checked_name(document.get("name", UNNAMED)),
            plot,
        )

    @property
    def document(self) -> dict[str, Any]:
        """The sweep as JSON, with the keys of a sweep file."""
        return {
            "name": self.name,
            "run": self.verb.name,
            **{key: value for key, value in self.request.items() if value is not None},
            "set": dict(self.changes),
            "grid": {axis.key: list(axis.values) for axis in self.axes},
            "points": [dict(row) for row in self.listed],
            "seeds": self.seeds.document,
            "plot": dict(self.plot),
        }

    @property
    def varied(self) -> list[str]:
        """The keys that differ between points, in the order in which they were named."""
        return [
            *dict.fromkeys(
                [key for row in self.listed for key in row] + [axis.key for axis in self.axes]
            )
        ]

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved settings of one combination; empty where none can be."""
        return next((one.settings for one in self.cells if one.settings is not None), {})

    @cached_property
    def cells(self) -> list[Cell]:
        """All combinations, resolved; one that cannot be is there with its problem.

        Raises:
            ConfigError: for what no point can have, and where not one combination can be.
        """
        for part in ("x", "lines", "facets"):
            if part in self.plot and self.plot[part] not in self.varied:
                accepted = ", ".join(self.varied) or "nothing, for nothing is varied"
                raise ConfigError(
                    f"plot.{part}", f"`{self.plot[part]}` is not varied; accepted: {accepted}"
                )
        varied = {key.partition(".")[0] for key in self.varied}
        needed = {key: value for key, value in self.request.items() if value is not None}
        self.verb.check({**dict.fromkeys(varied & set(self.verb.keys), True), **needed})
        read = self.verb.reader(self.request)
        found = list(self._resolved(read))
        problems = [cell.problem for cell in found if cell.problem is not None]
        if found and len(problems) == len(found):
            raise ConfigError(".", problems[0])
        return found

    def formula(self, coordinates: Mapping[str, Scalar], key: str, value: float) -> float | None:
        """Return what theory predicts for a cell with another value of a key; None for nothing."""
        settings = self._settings.get(frozenset(coordinates.items()))
        return None if settings is None else self.verb.predicted(settings, key, value)

    @cached_property
    def _settings(self) -> dict[frozenset[tuple[str, Scalar]], dict[str, Any] | None]:
        return {frozenset(cell.coordinates.items()): cell.settings for cell in self.cells}

    def _resolved(self, read: Reader) -> Iterator[Cell]:
        for combination in combinations(self.axes, self.listed):
            coordinates = {key: label(value) for key, value in combination.items()}
            yield resolved(read, {**self.changes, **combination}, coordinates)

    def point(self, cell: Cell, place: int) -> Point:
        """Return one seed of a cell, by its place."""
        if cell.settings is None:
            raise ConfigError(".", str(cell.problem))
        return Point(self.verb.name, cell.settings, self.seeds.seed(place), cell.coordinates)


def checked_name(name: object) -> str:
    """Return the name of a sweep.

    Raises:
        ConfigError: for what cannot be typed and shown.
    """
    is_text = isinstance(name, str) and name.isprintable() and name.strip() == name
    if not isinstance(name, str) or not is_text or not 1 <= len(name) <= NAME_CHARS_MAX:
        raise ConfigError(
            "name", f"`{name}` is refused; accepted: 1 to {NAME_CHARS_MAX} printable characters"
        )
    return name


def resolved(read: Reader, changes: Mapping[str, Any], coordinates: Mapping[str, Scalar]) -> Cell:
    """Return the cell of some changes; one that cannot be has its problem."""
    try:
        return Cell(coordinates, read(changes))
    except CodeError:  # of the whole file: nothing is run
        raise
    except ConfigError as error:
        return Cell(coordinates, None, str(error))
    except (TypeError, ValueError, AttributeError) as error:
        return Cell(coordinates, None, f"a value of the wrong kind: {error}")


def mapping_at(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a mapping of a file; an empty one where there is none.

    Raises:
        ConfigError: for anything else.
    """
    found = document.get(key) or {}
    if not isinstance(found, Mapping):
        raise ConfigError(key, f"`{found}` is not a mapping; accepted: keys and values")
    return found


def beside(folder: Path, value: Any) -> Any:  # noqa: ANN401 (a value of a file)
    """Return a file that a file in a folder names, as seen from here; what is none as it is."""
    if not isinstance(value, str) or Path(value).is_absolute():
        return value
    found = folder / value
    return str(found) if found.is_file() else value
