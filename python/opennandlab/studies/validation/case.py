"""A case is one claim with its source; a row is what came out when the simulator was asked.

A case names the runs it needs (device, workload), a function that reads one number from their
results, and what that number must be: a formula evaluated when asked for, a published or earlier
simulated value, an exact integer, or a bound. Cases hold no results and rows hold no devices'
state, so both can be compared, stored and printed.

| verdict | when | exit status |
|---|---|---|
| passed | every seed is within the goal of the kind | 0 |
| known miss | outside, as far as recorded, and the suite names what lacks | `--strict`: 1 |
| failed | neither, or not measured | 1 |
| fitted | within, but a key was fitted to this very figure: no evidence, counted apart | 0 |
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from opennandlab.documents.validation import CaseRow

Document = Mapping[str, Any]
Measure = Callable[[Sequence[Document]], float]
Simulate = Callable[[dict[str, Any], dict[str, Any], int], Document]
# Counters of a result, whose quotient is the WAF.
NAND_BYTES, HOST_BYTES = "metrics.nand_bytes_written", "metrics.host_bytes_written"


class Effort(str, Enum):
    """How much work a suite may be."""

    QUICK = "quick"
    FULL = "full"


class Kind(str, Enum):
    """What stands behind the expected value; it decides what error is accepted."""

    FORMULA = "formula"
    REFERENCE = "simulated reference"
    EXACT = "exact"
    ORDER = "order relation"
    SAMPLED = "sampled"
    DATA_SHEET = "data sheet"
    RATE = "measured rate"
    WAF = "measured WAF"
    STATE_WAF = "measured WAF by state"
    EDGE = "measured edge"
    COUNT = "measured count"
    PERCENTILE = "measured percentile"
    TAIL = "measured tail"


GOALS: Mapping[Kind, tuple[float, float]] = {
    Kind.FORMULA: (-0.02, 0.02),
    Kind.REFERENCE: (-0.03, 0.03),
    Kind.EXACT: (-1e-6, 1e-6),
    Kind.ORDER: (-0.02, 0.02),
    # Each case has its own, from the size of its sample.
    Kind.SAMPLED: (-math.inf, math.inf),
    Kind.DATA_SHEET: (-0.15, 0.15),
    Kind.RATE: (-0.15, 0.15),
    Kind.WAF: (-0.03, 0.03),
    # What a drive held before decides for long.
    Kind.STATE_WAF: (-0.05, 0.05),
    # A size at which a curve bends, between those that were tried: a factor of 1.5.
    Kind.EDGE: (-1 / 3, 0.5),
    # Each case has its own, within one.
    Kind.COUNT: (-1.0, 1.0),
    Kind.PERCENTILE: (-0.25, 0.25),
    # A factor of two: beyond the 99th percentile few samples decide.
    Kind.TAIL: (-0.5, 1.0),
}
"""Accepted errors of each kind, from and to. A case may be held tighter, never wider."""


class Verdict(str, Enum):
    """What a row says of its claim."""

    PASSED = "passed"
    KNOWN_MISS = "known miss"
    FAILED = "failed"
    FITTED = "fitted"


class Relation(str, Enum):
    """How the measured value must lie to the expected one."""

    EQUAL = "="
    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True)
class Run:
    """One simulation: a device file and a workload file, as mappings.

    Example:
        >>> Run({"nand": {}}, {"pattern": "random"}).key(42) == Run({"nand": {}}, {}).key(42)
        False
    """

    device: dict[str, Any]
    workload: dict[str, Any]

    def key(self, seed: int) -> str:
        """Return a text that two runs share only if they are the same simulation.

        Args:
            seed: seed of the run.
        """
        return json.dumps([self.device, self.workload, seed], sort_keys=True)


@dataclass(frozen=True)
class Miss:
    """Why a case is known to lie outside its goal, and how far.

    Example:
        >>> Miss("bursts of collections", -0.40).range
        (-0.44, -0.28)
    """

    mechanism: str
    """What the model lacks."""
    error: float
    """Recorded error of the worst seed."""

    @property
    def range(self) -> tuple[float, float]:
        """Errors at which it is still this miss: 0.7 to 1.1 of the recorded one."""
        low, high = sorted((round(0.7 * self.error, 9), round(1.1 * self.error, 9)))
        return low, high


@dataclass(frozen=True, kw_only=True)
class Case:
    """One claim about the simulator and where it comes from.

    Example:
        >>> case = Case(
        ...     suite="demo", name="one", title="a WAF of one", runs=(), quantity="metrics.waf",
        ...     expected=1.0, formula="1",
        ... )
        >>> case.row([[{"metrics": {"waf": 1.002}}]]).verdict.value
        'passed'
    """

    suite: str
    """Name of the suite."""
    name: str
    """Unique in the suite, without blanks: what `--case` takes."""
    title: str
    """The claim in a sentence, without the source; cases of a table share it."""
    source: str = "definition"
    """Who published it."""
    runs: tuple[Run, ...]
    """Simulations that the measure reads, in order."""
    quantity: str
    """What is measured, such as `metrics.waf`."""
    measure: Measure | None = field(default=None, repr=False)
    """Reads the number from the results of the runs; None where the quantity is its path."""
    expected: float | Callable[[], float]
    """The value or bound, or a function that evaluates the formula."""
    kind: Kind = Kind.FORMULA
    """Source of the expected value; of a case with a sample, the sample."""
    formula: str
    """The formula in words, or the origin of the number."""
    tolerance: float | None = None
    """Accepted relative error, absolute where the expected value is 0, where it is less than the
    goal of the kind; None for the goal."""
    sample: str = ""
    """Of a sampled case the size of the sample, and how many standard errors the tolerance is."""
    fitted: str = ""
    """Key of the device that was fitted to this figure."""
    miss: Miss | None = None
    """Why it is known to lie outside."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Every one must lie within."""
    relation: Relation = Relation.EQUAL
    """How measured and expected value must lie."""
    effort: Effort = Effort.FULL
    """The effort at which its suite makes it in this size."""
    options: str = ""
    """Command-line options that make the case, for one that is in no suite."""

    def __post_init__(self) -> None:
        """Refuse a tolerance wider than the goal, but for one that follows from a sample."""
        if self.sample and self.kind is Kind.FORMULA:
            object.__setattr__(self, "kind", Kind.SAMPLED)
        name = f"case {self.name} of suite {self.suite}"
        if (self.kind is Kind.SAMPLED) != bool(self.sample and self.tolerance is not None):
            message = f"{name}: a sampled case, and no other, has a tolerance and a sample"
            raise ValueError(message)
        goal = GOALS[self.kind][1]
        if self.tolerance is not None and self.tolerance > goal:
            message = (
                f"{name}: tolerance is {self.tolerance:g}; accepted for a {self.kind.value}: at "
                f"most {goal:g}. Name what the model lacks as `miss`"
            )
            raise ValueError(message)

    @property
    def accepted(self) -> tuple[float, float]:
        """Errors that pass, from and to."""
        if self.tolerance is None:
            return GOALS[self.kind]
        return -self.tolerance, self.tolerance

    @property
    def command(self) -> str:
        """The command that repeats the case."""
        if self.options:
            return f"opennandlab validate {self.options}"
        short = " --quick" if self.effort is Effort.QUICK else ""
        return f"opennandlab validate {self.suite}{short} --case {self.name}"

    @property
    def expected_value(self) -> float:
        """The expected value, its formula evaluated."""
        return self.expected() if callable(self.expected) else self.expected

    def measured(self, documents: Sequence[Document]) -> float:
        """Return the number that came out of a seed.

        Args:
            documents: its results, in the order of `runs`.
        """
        return (self.measure or read(self.quantity))(documents)

    def error(self, measured: float, expected: float) -> float:
        """Return how far a measured value is off, 0 on the right side of a bound.

        Args:
            measured: what came out.
            expected: what should have.

        Returns:
            Signed relative error; absolute where the expected value is 0.
        """
        if math.isnan(measured):
            return math.inf
        error = measured - expected if expected == 0.0 else measured / expected - 1.0
        if self.relation is Relation.AT_MOST:
            return max(error, 0.0)
        return min(error, 0.0) if self.relation is Relation.AT_LEAST else error

    def row(self, results: Sequence[Sequence[Document]], wall_s: float = 0.0) -> Row:
        """Return the verdict on the results of all seeds.

        Args:
            results: one list of result documents per seed, in the order of `runs`.
            wall_s: seconds that the simulations took together.

        Returns:
            The row; one that failed, with the reason, when a number cannot be read.
        """
        problems = [
            f"the run's own checks failed: {_failed_checks(document)}"
            for documents in results
            for document in documents
            if document.get("checks", {}).get("passed") is False
        ]
        measured: list[float] = []
        try:
            expected = self.expected_value
            measured.extend(self.measured(documents) for documents in results)
        except (KeyError, TypeError, ValueError, ZeroDivisionError, ArithmeticError) as error:
            return self.failed(f"{self.quantity}: {type(error).__name__}: {error}", wall_s)
        errors = [self.error(value, expected) for value in measured]
        worst = max(errors, key=abs, default=0.0)
        verdict = Verdict.FAILED if problems else self.verdict(errors)
        return Row(self, expected, tuple(measured), worst, verdict, "; ".join(problems), wall_s)

    def verdict(self, errors: Sequence[float]) -> Verdict:
        """Return the verdict on the errors of all seeds.

        Args:
            errors: one per seed.

        Example:
            >>> case = Case(
            ...     suite="demo", name="one", title="t", runs=(), quantity="x", expected=1.0,
            ...     kind=Kind.RATE, formula="1", miss=Miss("bursts of collections", -0.40),
            ... )
            >>> [case.verdict([error]).value for error in (-0.1, -0.3, -0.5, 0.4)]
            ['passed', 'known miss', 'failed', 'failed']
        """
        outside = [error for error in errors if not _lies(error, self.accepted)]
        if not outside:
            return Verdict.FITTED if self.fitted else Verdict.PASSED
        if self.miss is not None and all(_lies(error, self.miss.range) for error in outside):
            return Verdict.KNOWN_MISS
        return Verdict.FAILED

    def failed(self, problem: str, wall_s: float = 0.0) -> Row:
        """Return the row of a case that could not be measured.

        Args:
            problem: why.
            wall_s: seconds spent on it.
        """
        try:
            expected = self.expected_value
        except (ValueError, ArithmeticError):
            expected = math.nan
        return Row(self, expected, (), math.inf, Verdict.FAILED, problem, wall_s)


@dataclass(frozen=True)
class Row:
    """What came out of a case.

    Example:
        >>> import math
        >>> case = Case(suite="demo", name="one", title="t", runs=(), quantity="x", expected=1.0,
        ...             formula="1")
        >>> case.failed("no such file").verdict.value
        'failed'
    """

    case: Case
    expected: float
    measured: tuple[float, ...]
    """One value per seed."""
    error: float
    """The worst seed's signed error; 0 on the right side of a bound."""
    verdict: Verdict
    problem: str = ""
    """Why it could not be measured, or which self-check failed; empty if all went well."""
    wall_s: float = 0.0
    """Seconds that the simulations took together; not part of any verdict."""

    def record(self) -> CaseRow:
        """Return the row of the document; numbers that JSON lacks become null."""
        case = self.case
        low, high = case.accepted
        known = case.miss if self.verdict is Verdict.KNOWN_MISS else None
        return CaseRow(
            suite=case.suite,
            case=case.name,
            title=case.title,
            source=case.source,
            quantity=case.quantity,
            formula=case.formula,
            kind=case.kind.value,
            relation=case.relation.value,
            expected=_finite(self.expected),
            measured=[_finite(value) for value in self.measured],
            seeds=list(case.seeds),
            error=_finite(self.error),
            tolerance=high,
            accepted=[low, high],
            passed=self.verdict is Verdict.PASSED,
            verdict=self.verdict.value,
            mechanism=known.mechanism if known else None,
            known_range=list(known.range) if known else None,
            fitted=case.fitted or None,
            sample=case.sample or None,
            problem=self.problem,
            command=case.command,
        )


def quick(case: Case) -> Case:
    """Return a case of a quick suite: one seed, and so marked in its command.

    Example:
        >>> case = Case(suite="demo", name="one", title="t", runs=(), quantity="x", expected=1.0,
        ...             formula="1")
        >>> quick(case).command
        'opennandlab validate demo --quick --case one'
    """
    return replace(case, seeds=(1,), effort=Effort.QUICK)


def read(path: str, factor: float = 1.0) -> Measure:
    """Return a measure that reads one number of the first result.

    Args:
        path: dotted path, such as `metrics.latency_us.read.p99`.
        factor: multiplied into it, to change the unit.

    Example:
        >>> read("metrics.waf")([{"metrics": {"waf": 2.5}}])
        2.5
    """

    def measure(documents: Sequence[Document]) -> float:
        return lookup(documents[0], path) * factor

    return measure


def quotient(path: str, *, inverse: bool = False) -> Measure:
    """Return a measure that divides a number of the second result by that of the first.

    Args:
        path: dotted path.
        inverse: the other way round, for times.

    Example:
        >>> quotient("waf")([{"waf": 2.0}, {"waf": 3.0}])
        1.5
    """

    def measure(documents: Sequence[Document]) -> float:
        first, second = (lookup(document, path) for document in documents)
        return first / second if inverse else second / first

    return measure


def increment_ratio(numerator: str, denominator: str) -> Measure:
    """Return a measure of what a second, longer run of the same seed adds to the first.

    Args:
        numerator: dotted path of a counter.
        denominator: dotted path of another.

    Returns:
        The measure: growth of the one over growth of the other.

    Example:
        >>> increment_ratio("a", "b")([{"a": 1, "b": 1}, {"a": 7, "b": 3}])
        3.0
    """

    def measure(documents: Sequence[Document]) -> float:
        grown, base = (
            lookup(documents[1], path) - lookup(documents[0], path)
            for path in (numerator, denominator)
        )
        return grown / base

    return measure


def lookup(document: Document, path: str) -> float:
    """Return a number of a result document.

    Args:
        document: the result.
        path: dotted path.

    Raises:
        KeyError: when the path does not exist.
        ValueError: when it is null or not a number.

    Example:
        >>> lookup({"a": {"b": 3}}, "a.b")
        3.0
    """
    value: Any = document
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            message = f"the result has no {path}"
            raise KeyError(message)
        value = value[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        message = f"{path} is {value!r}, no number"
        raise ValueError(message)  # noqa: TRY004 - the document is data, not a program
    return float(value)


def _lies(error: float, bounds: tuple[float, float]) -> bool:
    # A last-digit slack, so that an exact case does not fail on the rounding of a quotient.
    return bounds[0] - 1e-12 <= error <= bounds[1] + 1e-12


def _failed_checks(document: Document) -> str:
    checks = document["checks"]
    failures = checks.get("failures") or [f"{name} = {value}" for name, value in checks.items()]
    return ", ".join(str(failure) for failure in failures)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
