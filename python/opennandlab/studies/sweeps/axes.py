"""What is varied: a key and its values, as they are typed or stand in a file.

ftl.gc_policy=greedy,fifo              values of any kind, as YAML types them
ftl.gc_policy={kind: d_choices, d: 2}  a mapping is one value
ftl.over_provisioning_pct=0.07:0.4:8   eight numbers from 0.07 to 0.4, equally far apart
rber=1e-4:1e-2:9:log                   nine of them with equal ratios
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.files import parse_yaml
from opennandlab.base.plain import to_json
from opennandlab.studies.sweeps.point import Scalar

# More points than anybody waits for: a typing error.
POINTS_MAX = 100_000
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"\s*({NUMBER}):({NUMBER}):(\d+)(?::(log|linear))?\s*")
# A range whose count was forgotten.
ENDS = re.compile(rf"\s*{NUMBER}:{NUMBER}\s*")
# Steps of a range are rounded to so many digits: 0.1 + 0.2 is to have one key with 0.3.
DIGITS = 12

Change = Any


@dataclass(frozen=True)
class Axis:
    """A key and the values that it takes.

    Args:
        key: Dotted path, such as `ftl.gc_policy`.
        values: Numbers, texts, or mappings.
    """

    key: str
    values: tuple[Change, ...]

    @classmethod
    def parse(cls, text: str) -> Axis:
        """Read `KEY=A,B,C` or `KEY=FROM:TO:COUNT`.

        Raises:
            ConfigError: for anything else.

        >>> Axis.parse("ftl.gc_policy=greedy,fifo").values
        ('greedy', 'fifo')
        >>> Axis.parse("ftl.over_provisioning_pct=0.1:0.4:4").values
        (0.1, 0.2, 0.3, 0.4)
        >>> Axis.parse("rber=1e-4:1e-2:3:log").values
        (0.0001, 0.001, 0.01)
        """
        key, equals, values = text.partition("=")
        key = key.strip()
        if not equals or not all(key.split(".")):
            raise ConfigError(
                "--vary", f"`{text}` has no key; accepted: KEY=A,B,C, KEY=FROM:TO:COUNT"
            )
        return cls.of(key, values)

    @classmethod
    def of(cls, key: str, given: object) -> Axis:
        """Make an axis of what a file or a caller has: a list, a range as text, or one value.

        Raises:
            ConfigError: for no values, or one twice.
        """
        values = _values(key, given)
        if not values:
            raise ConfigError(key, "has no values; accepted: A,B,C or FROM:TO:COUNT")
        if len(values) > POINTS_MAX:
            raise ConfigError(key, f"{len(values)} values; accepted: at most {POINTS_MAX}")
        to_json({key: list(values)})
        counts = Counter((type(text := label(value)), text) for value in values)
        (_, twice), most = counts.most_common(1)[0]
        if most > 1:
            raise ConfigError(key, f"`{twice}` is given twice; accepted: each value once")
        return cls(key, tuple(values))


def label(value: Change) -> Scalar:
    """Return a value as it stands in a table: scalars as they are, a mapping by its kind.

    >>> label(0.07), label({"kind": "d_choices", "d": 2}), label([1, 2])
    (0.07, 'd_choices d=2', '[1, 2]')
    """
    if isinstance(value, Mapping):
        kind = [str(value["kind"])] if "kind" in value else []
        rest = [f"{key}={label(inner)}" for key, inner in value.items() if key != "kind"]
        return " ".join(kind + rest)
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    return str(value)


def combinations(
    axes: Sequence[Axis], listed: Sequence[Mapping[str, Change]] = ()
) -> list[dict[str, Change]]:
    """Return what a grid and a list ask for: all combinations of the axes, for each row.

    Args:
        axes: The grid; the last one varies fastest.
        listed: Rows of values that belong together; none means one row of nothing.

    Raises:
        ConfigError: for a key in two places, for a row twice, and for more points than
            anybody waits for.

    >>> combinations([Axis("a", (1, 2)), Axis("b", (3,))])
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    keys = [axis.key for axis in axes]
    named = [*dict.fromkeys(key for row in listed for key in row)]
    twice = next((key for key in [*keys, *named] if (keys + named).count(key) > 1), None)
    if twice is not None:
        raise ConfigError(twice, "is varied twice; accepted: each key once")
    rows = Counter(tuple((key, str(value)) for key, value in row.items()) for row in listed)
    if rows and rows.most_common(1)[0][1] > 1:
        raise ConfigError("points", f"`{dict(rows.most_common(1)[0][0])}` is given twice")
    count = math.prod(len(axis.values) for axis in axes) * max(1, len(listed))
    if count > POINTS_MAX:
        raise ConfigError(".", f"these are {count} combinations; accepted: at most {POINTS_MAX}")
    return [
        dict(row) | dict(zip(keys, values, strict=True)) for row, values in _pairs(axes, listed)
    ]


def _pairs(
    axes: Sequence[Axis], listed: Sequence[Mapping[str, Change]]
) -> Iterator[tuple[Mapping[str, Change], tuple[Change, ...]]]:
    return itertools.product(listed or [{}], itertools.product(*(axis.values for axis in axes)))


def _values(key: str, given: object) -> Sequence[Change]:
    if isinstance(given, list | tuple):
        return given
    if not isinstance(given, str):
        return [given]
    found = RANGE.fullmatch(given)
    if found:
        first, last, count, scale = found.groups()
        return _spaced(key, float(first), float(last), int(count), is_log=scale == "log")
    if not given.strip():
        return []
    if ENDS.fullmatch(given):
        raise ConfigError(
            key, f"`{given}` has no count; accepted: FROM:TO:COUNT, {given.strip()}:6"
        )
    values: object = parse_yaml(f"[{given}]", f"--vary {key}")
    if not isinstance(values, list) or any(value is None for value in values):
        raise ConfigError(key, f"`{given}` is refused; accepted: A,B,C or FROM:TO:COUNT")
    mixed = next((one for one in values if isinstance(one, str) and RANGE.fullmatch(one)), None)
    if mixed is not None:
        raise ConfigError(
            key, f"`{mixed}` is a range in a list of values; accepted: a range, or values"
        )
    return values


def _spaced(key: str, first: float, last: float, count: int, *, is_log: bool) -> list[float | int]:
    if count > POINTS_MAX:
        raise ConfigError(key, f"{count} values; accepted: at most {POINTS_MAX}")
    if count < 2 or first == last:
        raise ConfigError(
            key,
            f"{count} values from {first:g} to {last:g}; accepted: two or more, with "
            f"different ends",
        )
    if is_log and not (first > 0 and last > 0):
        raise ConfigError(key, f"{first:g} to {last:g} by equal ratios; accepted: both above 0")
    shares = [place / (count - 1) for place in range(count)]
    if is_log:
        found = [first * (last / first) ** share for share in shares]
    else:
        found = [first + (last - first) * share for share in shares]
    rounded = [float(f"{value:.{DIGITS}g}") for value in found]
    if first.is_integer() and last.is_integer() and all(value.is_integer() for value in rounded):
        return [int(value) for value in rounded]
    return rounded
