"""How many drives a test after JESD218 takes, and what their failures and data errors show.

```text
failures of N drives ─► upper limit of their mean, 60 % ─► at most the share of the class times N
data errors of them ─►            the same             ─► at most UBER times the bits of N drives
```

Both counts are Poisson's: at that mean, so few are seen in 40 of 100 samples. With too few drives,
or bytes, the limit of no event at all is too high, and the sample cannot pass; it fails if the
lower 60 % limit of what it found is too high.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

from opennandlab.base.errors import ConfigError
from opennandlab.documents.record import JsonObject
from opennandlab.reliability.jedec import CLASSES
from opennandlab.stats.poisson import poisson_interval

# Of the upper limits; JESD218, recalled, unverified.
SAMPLE_CONFIDENCE = 0.6
# Most events of an upper limit.
COUNT_MAX = 1_000_000
DRIVES_MAX = 100_000
BITS_PER_TB = 8e12
# Failures for which plans give the fewest drives.
FAILURES = range(6)


def upper_limit(events: int) -> float:
    """Return the upper 60 % limit of the mean of a Poisson variable of which one value was seen.

    Args:
        events: The value, 0 to 1e6.

    Raises:
        ConfigError: for another value.

    Source:
        As `poisson_interval`; one-sided.

    >>> [round(upper_limit(events), 4) for events in range(6)]
    [0.9163, 2.0223, 3.1054, 4.1753, 5.2366, 6.2919]
    """
    if not 0 <= events <= COUNT_MAX:
        raise ConfigError("events", f"{events} is not usable; accepted: 0 to {COUNT_MAX}")
    return poisson_interval(events, 2.0 * SAMPLE_CONFIDENCE - 1.0)[1]


def lower_limit(events: int) -> float:
    """Return the lower 60 % limit of the mean, as `upper_limit`; more than 1e6 events count as 1e6.

    >>> [round(lower_limit(events), 4) for events in range(3)]
    [0.0, 0.5108, 1.3764]
    """
    return poisson_interval(min(events, COUNT_MAX), 2.0 * SAMPLE_CONFIDENCE - 1.0)[0]


def drives_needed(failures: int, share: float) -> int:
    """Return the fewest drives with which a number of failures is within a share.

    Args:
        failures: Of the sample.
        share: Share of drives that may fail, 0 to 1.

    >>> [drives_needed(failures, 0.03) for failures in range(6)]
    [31, 68, 104, 140, 175, 210]
    """
    return math.ceil(upper_limit(failures) / share)


@dataclass(frozen=True)
class Count:
    """Failures or data errors of a sample against their limit.

    Args:
        limit: What the upper limit may be.
        allowed: The most events whose upper limit is within it; none if not even 0 are.
        found: Events that were seen, if known.
    """

    limit: float
    allowed: int | None
    found: int | None

    @staticmethod
    def of(limit: float, found: int | None) -> Count:
        """Return the count of a limit."""
        return Count(limit, _most(limit), found)

    @property
    def passed(self) -> bool | None:
        """Whether the found events are allowed; none if they are unknown, or none can show it.

        A sample too small to pass still fails, if the lower limit of its events is too high.
        """
        if self.found is None:
            return None
        if self.allowed is None:
            return False if lower_limit(self.found) > self.limit else None
        return self.found <= self.allowed

    def to_dict(self) -> JsonObject:
        """Return the count as plain JSON."""
        return asdict(self) | {"passed": self.passed}


@dataclass(frozen=True)
class SamplePlan:
    """What a sample of drives shows.

    Args:
        drive_class: `client` or `enterprise`.
        drives: How many.
        terabytes: Written to each, or read of it: the smaller of both, TB of 10^12 bytes.
        failures: Drives that failed: no capacity, no writes or no answer.
        errors: Data errors of all together.
    """

    drive_class: str
    drives: int
    terabytes: float
    failures: Count
    errors: Count

    @property
    def passed(self) -> bool | None:
        """Whether both limits are met; none where this cannot be shown, or is not known."""
        found = (self.failures.passed, self.errors.passed)
        if False in found:
            return False
        return None if None in found else True

    @property
    def can_show(self) -> bool:
        """Whether a sample without any event would be within both limits."""
        return self.failures.allowed is not None and self.errors.allowed is not None

    def to_dict(self) -> JsonObject:
        """Return the plan as plain JSON."""
        share = CLASSES[self.drive_class].functional_failures_max
        return {
            "drive_class": self.drive_class,
            "drives": self.drives,
            "terabytes": self.terabytes,
            "failures": self.failures.to_dict(),
            "errors": self.errors.to_dict(),
            "drives_needed": [drives_needed(failures, share) for failures in FAILURES],
            "can_show": self.can_show,
            "passed": self.passed,
        }


def sample_plan(  # noqa: PLR0913 - what a test plan states
    drive_class: str,
    drives: int,
    tbw_tb: float,
    *,
    read_tb: float | None = None,
    failures: int | None = None,
    errors: int | None = None,
) -> SamplePlan:
    """Return the plan of a sample of drives, judged by its events.

    Args:
        drive_class: `client` or `enterprise`.
        drives: How many are tested.
        tbw_tb: TB written to each.
        read_tb: TB read of each; by default as many.
        failures: Drives that failed, if known.
        errors: Data errors of all drives, if known.

    Raises:
        ConfigError: for an unknown class or a value out of range.

    Source:
        JESD218B (March 2016): the rules are recalled, unverified.

    >>> plan = sample_plan("client", 31, 70.0, failures=0, errors=15)
    >>> plan.failures.allowed, plan.errors.allowed, plan.passed
    (0, 15, True)
    >>> sample_plan("client", 30, 70.0, failures=0, errors=0).passed is None
    True
    """
    if drive_class not in CLASSES:
        accepted = ", ".join(CLASSES)
        raise ConfigError("class", f"unknown value `{drive_class}`; accepted: {accepted}")
    if not 1 <= drives <= DRIVES_MAX:
        raise ConfigError("drives", f"{drives} is not usable; accepted: 1 to {DRIVES_MAX}")
    for key, value in (("tbw", tbw_tb), ("read", read_tb)):
        if value is not None and not 0.0 < value < math.inf:
            raise ConfigError(key, f"{value} is not usable; accepted: a number of TB above 0")
    for key, count in (("failures", failures), ("errors", errors)):
        if count is not None and count < 0:
            raise ConfigError(key, f"{count} is not usable; accepted: 0 or more")
    if failures is not None and failures > drives:
        raise ConfigError("failures", f"{failures} of {drives} drives; accepted: 0 to {drives}")
    required = CLASSES[drive_class]
    terabytes = min(tbw_tb, tbw_tb if read_tb is None else read_tb)
    errors_max = _product(terabytes, BITS_PER_TB, required.uber_max, drives)
    if errors_max > COUNT_MAX:
        most = COUNT_MAX / (BITS_PER_TB * required.uber_max * drives)
        raise ConfigError(
            "tbw", f"{terabytes:g} TB of {drives} drives; accepted: at most {most:g} TB"
        )
    return SamplePlan(
        drive_class,
        drives,
        terabytes,
        Count.of(_product(required.functional_failures_max, drives), failures),
        Count.of(errors_max, errors),
    )


def _product(*factors: float) -> float:
    """Return a product of decimals as they are written, rounded once.

    >>> 0.03 * 31, _product(0.03, 31)
    (0.9299999999999999, 0.93)
    """
    return float(math.prod(Fraction(repr(factor)) for factor in factors))


def _most(limit: float) -> int | None:
    """Return the most events whose upper limit is within a limit."""
    if upper_limit(0) > limit:
        return None
    low, high = 0, min(math.ceil(limit) + 1, COUNT_MAX)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if upper_limit(middle) <= limit else (low, middle - 1)
    return low
