"""The keys that are fitted: their bounds, and how they are searched.

Bounds are those given, else a tenth to ten times the value of the device file within what the
schema allows. Positive ranges of a factor of 4 or more are searched on a log scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.files import parse_yaml
from opennandlab.base.hints import nearest
from opennandlab.base.plain import leaves
from opennandlab.base.schema import Schema, schema, variants
from opennandlab.core.config import DeviceConfig

# A range of this factor or more is searched on a log scale.
LOG_FACTOR = 4.0
# Bounds if none are given: less and more by this factor.
SPAN = 10.0
KEYS_MAX = 20
# Combinations of values, each with a separate fit.
VARIANTS_MAX = 24
# Bounds, values to choose among, or neither.
Asked = tuple[float, float] | list[Any] | None


@dataclass(frozen=True)
class Key:
    """A key that is fitted.

    Args:
        path: Dotted path in the device file.
        low: Least value.
        high: Greatest value.
        start: Its value before, within the bounds.
        is_integer: Whether it holds whole numbers only.
    """

    path: str
    low: float
    high: float
    start: float
    is_integer: bool = False

    @property
    def is_log(self) -> bool:
        """Whether it is searched on a log scale."""
        return self.low > 0 and self.high / self.low >= LOG_FACTOR

    def value(self, place: float) -> float | int:
        """Return the value at a place from 0 (low) to 1 (high).

        >>> Key("a", 1.0, 100.0, 10.0).value(0.5), Key("a", 0, 10, 5, True).value(0.52)
        (10.0, 5)
        """
        place = min(max(place, 0.0), 1.0)
        found = self.low + (self.high - self.low) * place
        if self.is_log:
            found = float(self.low * (self.high / self.low) ** place)
        if self.is_integer:
            return round(found)
        # Six digits: what a file holds is what was run.
        return float(f"{min(max(found, self.low), self.high):.6g}")

    def place(self, value: float) -> float:
        """Return where a value is, 0 to 1; what `value` takes back."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def parse(texts: Sequence[str]) -> dict[str, Asked]:
    """Read `KEY`, `KEY=LOW:HIGH`, and `KEY=ONE,OTHER` for values to choose among.

    Raises:
        ConfigError: for anything else, for bounds the wrong way round, and for a key twice.

    >>> parse(["a.b", "c=1:2.5", "d=greedy,8"])
    {'a.b': None, 'c': (1.0, 2.5), 'd': ['greedy', 8]}
    """
    found: dict[str, Asked] = {}
    for text in texts:
        path, equals, bounds = text.partition("=")
        path = path.strip()
        if not path or not all(path.split(".")):
            accepted = "KEY, KEY=LOW:HIGH or KEY=ONE,OTHER"
            raise ConfigError("--free", f"`{text}` names no key; accepted: {accepted}")
        if path in found:
            raise ConfigError("--free", f"`{path}` is named twice; accepted: each key once")
        if "," in bounds:
            found[path] = [_plain(word, path) for word in bounds.split(",")]
        else:
            found[path] = _bounds(path, bounds) if equals else None
    return found


def _plain(word: str, path: str) -> Any:  # noqa: ANN401 (any value of a device file)
    value = parse_yaml(word.strip()[:80], f"--free {path}")
    if value is None or isinstance(value, dict | list):
        raise ConfigError(f"--free {path}", f"`{word[:40]}` is not a value; accepted: ONE,OTHER")
    return value


def choices(wanted: Mapping[str, Asked], device: DeviceConfig) -> list[dict[str, Any]]:
    """Return the combinations of the keys that are chosen among values; one without any.

    Args:
        wanted: Paths, with values where they are listed.
        device: The device before.

    Raises:
        ConfigError: for too many combinations, and for one that is invalid.
    """
    lists = {path: asked for path, asked in wanted.items() if isinstance(asked, list)}
    for path, values in lists.items():
        if len({repr(value) for value in values}) < len(values):
            raise ConfigError(f"--free {path}", "a value is named twice; accepted: each once")
    count = math.prod(len(values) for values in lists.values())
    if count > VARIANTS_MAX:
        raise ConfigError("--free", f"{count} combinations; accepted: up to {VARIANTS_MAX}")
    found = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    for one in found:
        problem = _problem(device, one)
        if problem is not None:
            told = ", ".join(f"{path} {value}" for path, value in one.items())
            raise ConfigError("--free", f"with {told} the device is invalid: {problem}")
    return found


def _bounds(path: str, text: str) -> tuple[float, float]:
    low_text, _, high_text = text.partition(":")
    try:
        low, high = float(low_text), float(high_text)
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ConfigError(
            f"--free {path}", f"`{text}` are not bounds; accepted: LOW:HIGH, such as 1:100"
        )
    if low >= high:
        why = "the wrong way round" if low > high else "not a range"
        raise ConfigError(f"--free {path}", f"{low:g}:{high:g} is {why}; accepted: LOW below HIGH")
    return low, high


def keys_of(wanted: Mapping[str, Asked], device: DeviceConfig) -> list[Key]:
    """Return the keys with bounds and where they start.

    Args:
        wanted: Paths, with bounds where some were given.
        device: The device before.

    Raises:
        ConfigError: for a key that the device does not have or that holds no number, and for bounds
            outside of what the schema accepts.
    """
    if not wanted:
        raise ConfigError("--free", "no key was named; accepted: one or more keys to fit")
    if len(wanted) > KEYS_MAX:
        raise ConfigError("--free", f"{len(wanted)} keys; accepted: up to {KEYS_MAX}")
    document = device.to_dict()
    found = [
        _key(path, bounds, document)
        for path, bounds in wanted.items()
        if not isinstance(bounds, list)
    ]
    for key in found:
        if wanted[key.path] is not None:
            _try(key, device)
    return found


def _try(key: Key, device: DeviceConfig) -> None:
    """Refuse bounds at which the device cannot be."""
    for value in (key.value(0.0), key.value(1.0)):
        problem = _problem(device, {key.path: value})
        if problem is not None:
            raise ConfigError(
                f"--free {key.path}", f"with {value:g} the device is invalid: {problem}"
            )


def _problem(device: DeviceConfig, values: Mapping[str, Any]) -> ConfigError | None:
    try:
        device.replace(values)
    except ConfigError as error:
        return error
    return None


def _key(path: str, bounds: tuple[float, float] | None, document: dict[str, Any]) -> Key:
    value = _value(path, document)
    is_integer, least, most = limits(path)
    if bounds is None:
        if value <= 0:
            raise ConfigError(
                f"--free {path}", f"is {value:g}, which gives no range; accepted: {path}=LOW:HIGH"
            )
        bounds = value / SPAN, value * SPAN
        low = bounds[0] if least is None else max(bounds[0], least)
        high = bounds[1] if most is None else min(bounds[1], most)
        if is_integer:
            low, high = math.ceil(low), math.floor(high)
        if low >= high:
            raise ConfigError(
                f"--free {path}", f"the schema leaves no range; accepted: {path}=LOW:HIGH"
            )
    else:
        low, high = bounds
        if (least is not None and low < least) or (most is not None and high > most):
            ends = ("any" if end is None else f"{end:g}" for end in (least, most))
            raise ConfigError(
                f"--free {path}", f"{low:g}:{high:g} is too wide; accepted: {' to '.join(ends)}"
            )
        if is_integer and (low != int(low) or high != int(high)):
            raise ConfigError(f"--free {path}", "holds whole numbers; accepted: whole bounds")
    return Key(path, low, high, min(max(value, low), high), is_integer)


def _value(path: str, document: dict[str, Any]) -> float:
    """Return the number at a path; of a list the mean of its numbers."""
    here: Any = document
    for part in path.split("."):
        if not isinstance(here, Mapping) or part not in here:
            numbers = [
                key
                for key, value in leaves(document)
                if isinstance(value, int | float) and not isinstance(value, bool)
            ]
            near = nearest(path, numbers)
            hint = f"; did you mean `{near}`?" if near else ""
            raise ConfigError(
                f"--free {path}",
                f"the device has no such key; accepted: a key with a number (`config show`){hint}",
            )
        here = here[part]
    values = here if isinstance(here, list) else [here]
    for one in values:
        if isinstance(one, bool) or not isinstance(one, int | float):
            raise ConfigError(
                f"--free {path}", f"holds `{one}`, which is not a number; accepted: a key with one"
            )
    if not values:
        raise ConfigError(f"--free {path}", "holds nothing; accepted: a key with a number")
    return math.fsum(values) / len(values)


def limits(path: str) -> tuple[bool, float | None, float | None]:
    """Return whether a key holds whole numbers, and what the schema allows; None for no limit.

    >>> limits("nand.channels")[0], limits("nand.timing.t_read_us")[0]
    (True, False)
    """
    found = _numbers(path.split("."), [schema("device")])
    is_integer = bool(found) and all(one.get("type") == "integer" for one in found)
    lows = [one["minimum"] for one in found if "minimum" in one]
    lows += [one["exclusiveMinimum"] for one in found if "exclusiveMinimum" in one]
    highs = [one["maximum"] for one in found if "maximum" in one]
    return is_integer, max(lows, default=None), min(highs, default=None)


def _numbers(parts: Sequence[str], nodes: Sequence[Schema]) -> list[Schema]:
    """Return every description of numbers that a path leads to."""
    whole = schema("device")
    options = [one for node in nodes for one in variants(node, whole)]
    if not parts:
        return [
            {**one, "type": kind}
            for one in options
            for kind in ("number", "integer")
            # A key that may be null has a list of types.
            if kind == one.get("type") or kind in (one.get("type") or ())
        ]
    inner = [
        one["properties"][parts[0]] for one in options if parts[0] in one.get("properties", {})
    ]
    return _numbers(parts[1:], inner) if inner else []
