"""A fleet as its file describes it, and what each of its devices is.

name: phones                       # the campaign: seeds follow from it
devices: 64
device: emmc_16gb
set: {ftl.write_buffer_pages: 64}  # the same for all
spread:                            # drawn for each
nand.timing.t_erase_us: {normal: [3000, 200]}
ftl.over_provisioning_pct: {uniform: [0.1, 0.2]}
nand.failures.growth: {lognormal: [10, 0.3]}
ftl.gc_policy: {choice: [greedy, cost_benefit]}
suites:
apps: {run: app, app: {suite: light, state: old-dirty}}
random: {run: benchmark, workload: W2}
life:                            # one drive, stage by stage
run: chain
stages:
cut: {run: power, power: {cuts: 50}}
old: {run: age, age: {drive_writes: 10}}
test: {run: pts.iops, pts: {profile: C, time_base: smoke}}
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from opennandlab.base.errors import CodeError, ConfigError
from opennandlab.base.files import read_yaml
from opennandlab.base.plain import to_json
from opennandlab.studies.sweeps.axes import label
from opennandlab.studies.sweeps.definition import (
    Cell,
    Sweep,
    beside,
    checked_name,
    mapping_at,
    resolved,
)
from opennandlab.studies.sweeps.point import Point, Scalar
from opennandlab.studies.sweeps.verbs import verb_of
from opennandlab.studies.sweeps.verbs.chain import Chain

OWN_KEYS: Final = ("name", "devices", "device", "set", "spread", "suites")
DEVICES_MAX: Final = 10_000
# Seeds are whole numbers that every reader of JSON keeps.
SEED_BYTES: Final = 6
# Stages that are a suite by themselves: a chain of one.
ALONE: Final = ("power", "age")
# Kind of spread -> how many numbers it takes; a choice takes any.
KINDS: Final = {"normal": 2, "lognormal": 2, "uniform": 2, "integers": 2, "choice": 0}


@dataclass(frozen=True)
class Spread:
    """How a key differs between devices.

    Args:
        key: Key of the device, dotted.
        kind: `normal` (mean, standard deviation), `lognormal` (median, standard deviation of the
            logarithm), `uniform` (from, to), `integers` (from, to, both included) or `choice`.
        values: Its numbers, or what is chosen from.
    """

    key: str
    kind: str
    values: Sequence[Any]

    @classmethod
    def of(cls, key: str, given: object) -> Spread:
        """Read `{kind: [values]}`.

        Raises:
            ConfigError: for anything else.

        >>> Spread.of("ftl.gc_policy", {"choice": ["greedy", "fifo"]}).kind
        'choice'
        """
        place = f"spread.{key}"
        if not isinstance(given, Mapping) or len(given) != 1:
            accepted = "accepted: one of " + ", ".join(f"{{{kind}: […]}}" for kind in KINDS)
            raise ConfigError(place, f"`{given}` is not a spread; {accepted}")
        ((kind, values),) = given.items()
        if kind not in KINDS:
            raise ConfigError(place, f"`{kind}` is unknown; accepted: {', '.join(KINDS)}")
        if not isinstance(values, list) or not values:
            raise ConfigError(place, f"`{values}` is not a list of values")
        if kind != "choice":
            numbers = [one for one in values if _is_number(one)]
            if len(values) != KINDS[kind] or len(numbers) != len(values):
                raise ConfigError(place, f"`{values}`; accepted: two numbers")
            first, second = values
            if kind in {"normal", "lognormal"} and second < 0:
                raise ConfigError(place, f"a spread of {second}; accepted: 0 or more")
            if kind == "lognormal" and first <= 0:
                raise ConfigError(place, f"a median of {first}; accepted: above 0")
            if kind in {"uniform", "integers"} and second < first:
                raise ConfigError(place, f"from {first} to {second}; accepted: in ascending order")
            if kind == "integers" and not all(isinstance(one, int) for one in values):
                raise ConfigError(place, f"`{values}`; accepted: two whole numbers")
        return cls(key, kind, tuple(values))

    @property
    def usual(self) -> Sequence[Any]:
        """All values of a choice; of the other kinds the middle.

        >>> Spread.of("a", {"integers": [1, 6]}).usual, Spread.of("a", {"normal": [3, 1]}).usual
        ((3,), (3,))
        """
        if self.kind == "choice":
            return self.values
        first, second = self.values
        if self.kind == "integers":
            return ((first + second) // 2,)
        return ((first + second) / 2 if self.kind == "uniform" else first,)

    def draw(self, stream: random.Random) -> Any:  # noqa: ANN401 (what a key of a device may be)
        """Return a value; numbers have six digits, so that they can be typed."""
        if self.kind == "choice":
            return self.values[int(stream.random() * len(self.values))]
        first, second = self.values
        if self.kind == "integers":
            return first + int(stream.random() * (second - first + 1))
        if self.kind == "uniform":
            found = first + stream.random() * (second - first)
        else:
            # A normal number as the sum of twelve uniform ones: the same on every machine.
            normal = sum(stream.random() for _ in range(12)) - 6.0
            is_log = self.kind == "lognormal"
            found = first * math.exp(second * normal) if is_log else first + second * normal
        return float(f"{found:.6g}")


@dataclass(frozen=True)
class Member:
    """A device of a fleet.

    Args:
        index: Which, from 0.
        seed: Seed of all its randomness.
        drawn: What it drew, by key.
    """

    index: int
    seed: int
    drawn: Mapping[str, Any]


def index_of(coordinates: Mapping[str, Scalar]) -> int:
    """Return the index of the device that a point is of."""
    index = coordinates["device"]
    if not isinstance(index, int):
        raise TypeError(f"device {index!r}")
    return index


@dataclass(frozen=True)
class Members(Sweep):
    """A suite of a fleet as a sweep: its cells are the devices, each with a seed of its own."""

    members: Sequence[Member] = ()

    @property
    def document(self) -> dict[str, Any]:
        """The suite as JSON, with the devices that it was run on."""
        return {**super().document, "devices": [member.index for member in self.members]}

    @cached_property
    def cells(self) -> list[Cell]:
        """All devices, resolved; one that cannot be is there with its problem."""
        self.verb.check(self.request)
        read = self.verb.reader(self.request)
        return [
            resolved(
                read,
                {**self.changes, **member.drawn},
                {"device": member.index} | {key: label(it) for key, it in member.drawn.items()},
            )
            for member in self.members
        ]

    @cached_property
    def _seeds(self) -> dict[int, int]:
        return {member.index: member.seed for member in self.members}

    def point(self, cell: Cell, place: int) -> Point:
        """Return the one point of a device."""
        if cell.settings is None or place > 0:
            raise ConfigError(".", str(cell.problem))
        seed = self._seeds[index_of(cell.coordinates)]
        return Point(self.verb.name, cell.settings, seed, cell.coordinates)


@dataclass(frozen=True)
class Fleet:
    """A campaign.

    Args:
        name: Name of the campaign.
        devices: How many.
        changes: Keys that are set in all.
        spreads: What each draws.
        document: As it was read, with its name.
        suites: Name -> a sweep over all devices, without them.
    """

    name: str
    devices: int
    document: Mapping[str, Any]
    changes: Mapping[str, Any] = field(default_factory=dict)
    spreads: Sequence[Spread] = ()
    suites: Mapping[str, Sweep] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Fleet:
        """Read a fleet file; files that it names are in its folder.

        Raises:
            ConfigError: with the key, the value, and the accepted ones.
        """
        return cls.of({"name": path.stem} | read_yaml(path), path.parent)

    @classmethod
    def of(cls, document: Mapping[str, Any], folder: Path = Path()) -> Fleet:
        """Read a fleet from a mapping with the keys of a file.

        Raises:
            ConfigError: with the key, the value, and the accepted ones.
        """
        to_json(document)  # refuses dates, NaN and the like, with their paths
        unknown = next((key for key in document if key not in OWN_KEYS), None)
        if unknown is not None:
            message = f"is not a key of a fleet; accepted: {', '.join(OWN_KEYS)}"
            raise ConfigError(str(unknown), message)
        count = document.get("devices")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= DEVICES_MAX:
            raise ConfigError("devices", f"`{count}`; accepted: 1 to {DEVICES_MAX}")
        name = checked_name(document.get("name", "fleet"))
        device = beside(folder, document.get("device", "config"))
        spread = mapping_at(document, "spread")
        suites = mapping_at(document, "suites")
        if not suites:
            accepted = "accepted: for example {apps: {run: app, app: {suite: light}}}"
            raise ConfigError("suites", f"there is nothing to run; {accepted}")
        changes = mapping_at(document, "set")
        both = next((key for key in changes if key in spread), None)
        if both is not None:
            raise ConfigError(f"set.{both}", "is in set and in spread; accepted: only one of them")
        return cls(
            name,
            count,
            {**document, "name": name},
            {str(key): value for key, value in changes.items()},
            tuple(Spread.of(str(key), given) for key, given in spread.items()),
            {
                str(suite): _suite(name, str(suite), given, device, folder)
                for suite, given in suites.items()
            },
        )

    def member(self, index: int) -> Member:
        """Return a device.

        Raises:
            ConfigError: for an index that the fleet does not have.
        """
        if not 0 <= index < self.devices:
            raise ConfigError("--only", f"{index}; accepted: 0 to {self.devices - 1}")
        word = hashlib.sha256(f"{self.name}/{index}".encode()).digest()
        seed = int.from_bytes(word[:SEED_BYTES], "little")
        drawn = {}
        for spread in self.spreads:
            # A stream for each key: a key more does not change what the others draw.
            text = f"{self.name}/{index}/{spread.key}"
            number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
            drawn[spread.key] = spread.draw(random.Random(number))  # noqa: S311 (no secret)
        return Member(index, seed, drawn)

    def check(self) -> None:
        """Refuse what no device could be, before any is run: typing errors, mostly.

        Looked at are each suite alone, each value of a choice, and the middle of other spreads. A
        draw far from it that cannot be is a device that fails.

        Raises:
            ConfigError: with the suite or spread, the value, and the accepted ones.
        """
        for name, suite in self.suites.items():
            try:
                suite.verb.check(suite.request)
                read = suite.verb.reader(suite.request)
            except CodeError:
                raise
            except ConfigError as error:
                raise _below(f"suites.{name}", str(error)) from None
            changes = {**self.changes, **suite.changes}
            looked = {
                key: resolved(read, {**changes, **drawn}, {}) for key, drawn in self._looked_at()
            }
            problems = {key: cell.problem for key, cell in looked.items()}
            if (settings := looked[""].settings) is not None:
                try:
                    suite.verb.rehearse(settings)
                except ConfigError as error:
                    raise _below(f"suites.{name}", str(error)) from None
            if all(problems.values()):
                raise _below(f"suites.{name}", str(problems[""]))
            wrong = next((key for key, problem in problems.items() if problem and key), None)
            if wrong is not None and not problems[""]:
                raise ConfigError(f"spread.{wrong}", str(problems[wrong]))

    def _looked_at(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield what spreads say, one at a time, and first nothing of it."""
        yield "", {}
        for spread in self.spreads:
            for value in spread.usual:
                yield f"{spread.key}: {label(value)}", {spread.key: value}

    def sweeps(self, indices: Sequence[int]) -> dict[str, Members]:
        """Return a sweep of some devices for each suite.

        Raises:
            ConfigError: for an index that the fleet does not have.
        """
        members = [self.member(index) for index in indices]
        return {
            name: Members(
                suite.verb,
                suite.request,
                {**self.changes, **suite.changes},
                name=f"{self.name}/{name}",
                members=members,
            )
            for name, suite in self.suites.items()
        }


def _suite(campaign: str, name: str, given: object, device: object, folder: Path) -> Sweep:
    place = f"suites.{name}"
    if not isinstance(given, Mapping) or "run" not in given:
        raise ConfigError(place, f"`{given}` is not a suite; accepted: for example {{run: app}}")
    for key in ("grid", "points", "seeds", "seed", "name", "plot", "device"):
        if key in given:
            message = f"{place}.{key}: a suite of a fleet has none; accepted: run, set, and the "
            raise ConfigError(place, message + "keys of what is run")
    if given["run"] in ALONE:
        given = {"run": Chain.name, "stages": {name: given}}
    request = {key: beside(folder, value) for key, value in given.items()}
    checked_name(f"{campaign}/{name}")
    if "device" not in verb_of(str(given["run"])).keys:
        raise ConfigError(place, f"`{given['run']}` needs no device")
    try:
        return Sweep.of({**request, "device": device})
    except ConfigError as error:
        raise _below(place, str(error)) from None


def _below(place: str, problem: str) -> ConfigError:
    """Return the error of a suite; the path of a stage is whole.

    >>> str(_below("suites.life", "stages.cut.power.cuts: `0`; accepted: 1"))
    'suites.life.stages.cut.power.cuts: `0`; accepted: 1'
    """
    path, _, message = problem.partition(": ")
    if path.partition(".")[0] == "stages":
        return ConfigError(f"{place}.{path}", message)
    return ConfigError(place, problem)


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)  # type: ignore[arg-type]
