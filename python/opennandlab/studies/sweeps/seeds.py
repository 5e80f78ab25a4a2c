"""Which seeds are run, and when there are enough.

Seeds follow each other from the first one. With a rule, more are added until the 95 % interval of
each named number, by Student's distribution, is narrow enough: `waf: 0.5 %` means that the mean is
known to half a percent. How many are added follows from the values alone, so a sweep that is
resumed, or run on other machines, has the same seeds.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from opennandlab.base.errors import ConfigError
from opennandlab.base.hints import nearest
from opennandlab.core.run import SEED
from opennandlab.stats.student import half_width

COUNT_MAX = 10_000
SEED_MAX = (1 << 64) - 1
# With a rule: the least, and the most unless told otherwise.
RULED_MIN, RULED_MAX = 3, 100
SHARE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*")


@dataclass(frozen=True)
class Seeds:
    """Seeds of a sweep.

    Args:
        count: How many each combination has at least.
        first: The first one.
        until: Number by name -> half-width of its 95 % interval over its mean; empty for no rule.
        count_max: The most.
        is_random: Whether seeds decide anything; if not, points have none.
    """

    count: int = 1
    first: int = SEED
    until: Mapping[str, float] = field(default_factory=dict)
    count_max: int = RULED_MAX
    is_random: bool = True

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        for name, value in (("count", self.count), ("max", self.count_max)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= COUNT_MAX:
                raise ConfigError(
                    f"seeds.{name}", f"`{value}` is refused; accepted: 1 to {COUNT_MAX}"
                )
        most = SEED_MAX - max(self.count, self.count_max if self.until else 0) + 1
        is_whole = isinstance(self.first, int) and not isinstance(self.first, bool)
        if not is_whole or not 0 <= self.first <= most:
            raise ConfigError("seed", f"`{self.first}` is refused; accepted: 0 to {most}")

    @classmethod
    def of(cls, given: object, *, first: int = SEED, is_random: bool = True) -> Seeds:
        """Read a number, or a mapping with `count`, `first`, `until` and `max`.

        Raises:
            ConfigError: for anything else.

        >>> Seeds.of({"count": 5, "until": {"waf": "0.5 %"}}).until
        {'waf': 0.005}
        """
        if not is_random:
            return cls(is_random=False)
        if not isinstance(given, Mapping):
            return cls(cast("int", given), first)
        unknown = [key for key in given if key not in {"count", "first", "until", "max"}]
        if unknown:
            raise ConfigError(
                f"seeds.{unknown[0]}", "is unknown; accepted: count, first, until, max"
            )
        until = given.get("until") or {}
        if not isinstance(until, Mapping):
            raise ConfigError("seeds.until", f"`{until}` is refused; accepted: {{waf: 0.5 %}}")
        rules = {str(name): share(name, value) for name, value in until.items()}
        least = RULED_MIN if rules else 1
        count = given.get("count", least)
        if rules and isinstance(count, int) and count > 0:
            count = max(count, least)
        return cls(count, given.get("first", first), rules, given.get("max", RULED_MAX))

    @property
    def document(self) -> dict[str, object]:
        """The rule as JSON."""
        return {
            "count": self.count, "first": self.first, "until": dict(self.until),
            "max": self.count_max,
        }  # fmt: skip

    def seed(self, place: int) -> int | None:
        """Return a seed by its place, from 0."""
        return self.first + place if self.is_random else None

    def wanted(self, values: Sequence[Mapping[str, float]]) -> int:
        """Return how many seeds a combination needs, as far as is known.

        Args:
            values: The numbers of each seed that is there, in order.

        >>> Seeds(2).wanted([{"waf": 2.0}])
        2
        >>> Seeds(3, until={"waf": 0.01}).wanted([{"waf": 2.0}, {"waf": 2.001}, {"waf": 1.999}])
        3
        """
        if len(values) < self.count or not self.until:
            return self.count
        needs = max(self._needed(name, goal, values) for name, goal in self.until.items())
        return min(max(needs, self.count), max(self.count_max, self.count))

    def _needed(self, name: str, goal: float, values: Sequence[Mapping[str, float]]) -> int:
        found = [value[name] for value in values if name in value]
        have = len(values)
        if not found:
            known = list(values[0])
            near = nearest(name, known)
            meant = f"; did you mean `{near}`?" if near else ""
            some = ", ".join(known[:12]) + (" …" if len(known) > 12 else "")
            raise ConfigError(
                f"until.{name}", f"is not a metric of these runs; accepted: {some}{meant}"
            )
        if len(found) < 2:
            return have
        mean, half = statistics.fmean(found), half_width(found) or 0.0
        if half <= goal * abs(mean):
            return have
        if mean == 0:
            return self.count_max
        # As many as would do with this spread, but at most half as many again: it is an estimate.
        guess = math.ceil(have * (half / (goal * abs(mean))) ** 2)
        return max(have + 1, min(guess, have + (have + 1) // 2))


def share(name: object, text: object) -> float:
    """Read `0.5 %` or `0.005`.

    Raises:
        ConfigError: for anything else, and for nothing.
    """
    found = SHARE.fullmatch(str(text))
    value = float(found.group(1)) / (100 if found.group(2) else 1) if found else 0.0
    if not 0 < value < 1:
        raise ConfigError(
            f"seeds.until.{name}", f"`{text}` is refused; accepted: for example 0.5 %"
        )
    return value
