"""Sample plans after JESD218 against sums of Poisson's probabilities that are exact."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.reliability import drives_needed, sample_plan, upper_limit
from opennandlab.stats.poisson import EXACT_EVENTS_MAX


def chance(events: int, mean: float) -> float:
    """Return the probability of so few events or fewer, by exact fractions and one exponential."""
    exact = Fraction(mean)
    term, total = Fraction(1), Fraction(1)
    for count in range(1, events + 1):
        term = term * exact / count
        total += term
    # exp(mean), to more digits than a double has.
    factor, whole = Fraction(1), Fraction(1)
    for count in range(1, 200):
        factor = factor * exact / count
        whole += factor
    return float(total / whole)


@pytest.mark.parametrize("events", [0, 1, 2, 5, 15, 22, 41])
def test_upper_limits_are_those_of_poisson(events: int) -> None:
    assert chance(events, upper_limit(events)) == pytest.approx(0.4, abs=1e-12)


def test_limits_join_where_they_are_approximated() -> None:
    below, above = upper_limit(EXACT_EVENTS_MAX), upper_limit(EXACT_EVENTS_MAX + 1)
    assert above - below == pytest.approx(1.0, abs=0.02)


def test_drives_of_the_published_plan() -> None:
    assert [drives_needed(failures, 0.03) for failures in range(6)] == [31, 68, 104, 140, 175, 210]


@pytest.mark.parametrize(
    ("name", "terabytes", "allowed"),
    [("client", 70.0, 15), ("client", 100.0, 22), ("enterprise", 1750.0, 41)],
)
def test_errors_allowed(name: str, terabytes: float, allowed: int) -> None:
    plan = sample_plan(name, 31, terabytes)
    assert (plan.failures.allowed, plan.errors.allowed) == (0, allowed)
    assert plan.passed is None
    at_most = sample_plan(name, 31, terabytes, failures=0, errors=allowed)
    beyond = sample_plan(name, 31, terabytes, failures=0, errors=allowed + 1)
    assert (at_most.passed, beyond.passed) == (True, False)


def test_what_cannot_be_shown_is_no_verdict() -> None:
    few = sample_plan("client", 30, 70.0, failures=0, errors=0)
    assert (few.failures.allowed, few.failures.passed, few.passed) == (None, None, None)
    little = sample_plan("client", 31, 70.0, read_tb=0.1, failures=0, errors=0)
    assert (little.terabytes, little.errors.allowed, little.passed) == (0.1, None, None)
    assert sample_plan("client", 30, 70.0, errors=16).passed is False


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("class", {"drive_class": "server"}),
        ("drives", {"drives": 0}),
        ("tbw", {"tbw_tb": float("nan")}),
        ("tbw", {"tbw_tb": 1e300}),
        ("tbw", {"tbw_tb": 1e7}),  # more errors would be allowed than are counted
        ("read", {"read_tb": 0.0}),
        ("failures", {"failures": 32}),
        ("errors", {"errors": -1}),
    ],
)
def test_bad_values_name_their_key(key: str, values: dict[str, object]) -> None:
    given = {"drive_class": "client", "drives": 31, "tbw_tb": 70.0, **values}
    with pytest.raises(ConfigError, match=rf"^{key}: ") as raised:
        sample_plan(**given)  # type: ignore[arg-type]
    assert "accepted" in str(raised.value)


def test_the_command_judges_and_exits() -> None:
    words = ["reliability", "plan", "--tbw", "70", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert json.loads(done.output)["errors"]["allowed"] == 15
    for errors, code in (("15", 0), ("16", 1)):
        done = CliRunner().invoke(app, [*words, "--failures", "0", "--errors", errors])
        assert done.exit_code == code
        assert json.loads(done.output)["passed"] is (code == 0)
