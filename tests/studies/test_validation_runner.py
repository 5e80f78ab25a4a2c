"""Running cases and showing them: shared runs, failures that stay in their row, tables.

The simulator is a function of a few lines here, so that every way to fail can be played:
exceptions, missing numbers, failed self-checks. What the suites claim is tested elsewhere.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from opennandlab.studies.validation import (
    Case,
    Effort,
    Kind,
    Log,
    Miss,
    Relation,
    Run,
    Verdict,
    formula_case,
    render,
    run_cases,
    run_count,
    select_cases,
)
from opennandlab.studies.validation.case import increment_ratio, lookup, quotient, read
from opennandlab.studies.validation.markdown import line, number, share

FIRST, SECOND = Run({"id": 1}, {}), Run({"id": 2}, {})


def case(name: str = "one", **changes: Any) -> Case:
    values: dict[str, Any] = {
        "suite": "demo",
        "name": name,
        "title": "A number is what it is",
        "source": "definition",
        "runs": (FIRST,),
        "quantity": "metrics.waf",
        "measure": read("metrics.waf"),
        "expected": 2.0,
        "tolerance": 0.01,
        "kind": Kind.FORMULA,
        "formula": "2",
        **changes,
    }
    return Case(**values)


def answer(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
    assert workload == {}
    return {"metrics": {"waf": device["id"] * 2.0 + 0.001 * seed}, "series": {"waf": [0.0] * 1000}}


def test_every_seed_must_pass() -> None:
    row = next(run_cases([case()], answer, threads=1))
    assert row.measured == pytest.approx((2.001, 2.002, 2.003))
    assert row.error == pytest.approx(0.0015)
    assert row.verdict is Verdict.PASSED
    strict = next(run_cases([case(tolerance=0.0012)], answer, threads=1))
    assert strict.verdict is Verdict.FAILED
    assert strict.problem == ""


def test_a_known_miss_is_held_from_both_sides() -> None:
    """A tolerance of 400 % next to an error of 331 % passed, and any worse one up to 400 % too."""
    known = case(kind=Kind.RATE, tolerance=None, miss=Miss("bursts", 0.5), seeds=(1,))
    found = {error: known.verdict([error]).value for error in (0.15, 0.16, 0.36, 0.55, 0.56, -0.4)}
    assert found == {
        0.15: "passed", 0.16: "failed", 0.36: "known miss", 0.55: "known miss", 0.56: "failed",
        -0.4: "failed",
    }  # fmt: skip
    # One seed inside does not make up for another that is out of all bounds.
    assert known.verdict([0.1, 0.4]) is Verdict.KNOWN_MISS
    assert known.verdict([0.4, 0.9]) is Verdict.FAILED
    record = known.row([[{"metrics": {"waf": 2.9}}]]).record()
    assert (record.passed, record.mechanism, record.known_range) == (False, "bursts", [0.35, 0.55])
    good = known.row([[{"metrics": {"waf": 2.1}}]]).record()
    assert (good.passed, good.mechanism, good.known_range) == (True, None, None)


def test_a_fitted_row_is_no_evidence_but_may_fail() -> None:
    fitted = case(kind=Kind.RATE, tolerance=None, fitted="nand.timing.bus_mt_s")
    assert fitted.verdict([0.1]) is Verdict.FITTED
    assert fitted.verdict([0.2]) is Verdict.FAILED


def test_a_tail_is_right_within_a_factor_of_two() -> None:
    tail = case(kind=Kind.TAIL, tolerance=None)
    assert [tail.verdict([error]).value for error in (-0.5, -0.51, 1.0, 1.01)] == [
        "passed", "failed", "passed", "failed",
    ]  # fmt: skip


def test_classes_of_measured_figures_have_their_goals() -> None:
    """Of a drive: WAF by initial state 5 %, a bend of a curve a factor of 1.5, a count one."""
    inside = {
        Kind.WAF: (-0.03, 0.03), Kind.STATE_WAF: (-0.05, 0.05), Kind.RATE: (-0.15, 0.15),
        Kind.PERCENTILE: (-0.25, 0.25), Kind.EDGE: (1 / 1.5 - 1, 0.5), Kind.COUNT: (-1.0, 1.0),
    }  # fmt: skip
    for kind, errors in inside.items():
        one = case(kind=kind, tolerance=None)
        assert [one.verdict([error]) for error in errors] == [Verdict.PASSED] * 2, kind
        wide = [error * 1.01 for error in errors]
        assert [one.verdict([error]) for error in wide] == [Verdict.FAILED] * 2, kind
    four = case(kind=Kind.COUNT, expected=4.0, tolerance=1 / 4, runs=(FIRST,))
    counted = [four.verdict([four.error(value, 4.0)]).value for value in (3, 5, 2, 6)]
    assert counted == ["passed", "passed", "failed", "failed"]


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (Kind.RATE, {"tolerance": 4.0}, "accepted for a measured rate: at most 0.15"),
        (Kind.FORMULA, {"tolerance": 0.05}, "at most 0.02"),
        (Kind.STATE_WAF, {"tolerance": 0.06}, "at most 0.05"),
        (Kind.SAMPLED, {"tolerance": 0.1}, "has a tolerance and a sample"),
        (Kind.WAF, {"tolerance": 0.01, "sample": "10 writes"}, "has a tolerance and a sample"),
    ],
)
def test_tolerances_wider_than_the_goal_are_refused(
    kind: Kind, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        case(kind=kind, **changes)


def test_a_run_that_several_cases_read_is_done_once() -> None:
    calls: list[tuple[int, int]] = []
    lock = threading.Lock()

    def counted(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        with lock:
            calls.append((device["id"], seed))
        return answer(device, workload, seed)

    ratio = case("ratio", runs=(FIRST, SECOND), measure=quotient("metrics.waf"))
    cases = [case("one"), case("two"), ratio]
    rows = list(run_cases(cases, counted, threads=3))
    assert sorted(calls) == [(run, seed) for run in (1, 2) for seed in (1, 2, 3)]
    assert run_count(cases) == 6
    assert {row.case.name for row in rows} == {"one", "two", "ratio"}
    assert all(row.verdict is Verdict.PASSED for row in rows)


def test_rows_come_as_they_finish() -> None:
    def slow_second(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        if device["id"] == 2:
            assert gate.wait(10.0)
        return answer(device, workload, seed)

    gate = threading.Event()
    cases = [case("late", runs=(SECOND,), expected=4.0, seeds=(1,)), case("early", seeds=(1,))]
    rows = run_cases(cases, slow_second, threads=2)
    assert next(rows).case.name == "early"
    gate.set()
    assert next(rows).case.name == "late"


def test_an_exception_fails_its_rows_only() -> None:
    def broken(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        if device["id"] == 2:
            message = "no such policy"
            raise ValueError(message)
        return answer(device, workload, seed)

    cases = [case("good"), case("bad", runs=(FIRST, SECOND))]
    rows = {row.case.name: row for row in run_cases(cases, broken, threads=2)}
    assert rows["good"].verdict is Verdict.PASSED
    assert rows["bad"].verdict is Verdict.FAILED
    assert rows["bad"].problem == "ValueError: no such policy"
    assert rows["bad"].record().error is None


def test_a_run_that_fails_its_own_checks_fails_the_row() -> None:
    def unchecked(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        failing = {"passed": False, "failures": ["5 commands issued, 4 served"]}
        return {**answer(device, workload, seed), "checks": failing}

    row = next(run_cases([case()], unchecked, threads=1))
    assert row.verdict is Verdict.FAILED
    assert "5 commands issued, 4 served" in row.problem
    assert row.measured[0] == pytest.approx(2.001)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "the result has no metrics.waf"),
        ({"metrics": {"waf": None}}, "metrics.waf is None, no number"),
        ({"metrics": 3}, "the result has no metrics.waf"),
    ],
)
def test_a_missing_number_fails_the_row(document: dict[str, Any], words: str) -> None:
    row = next(run_cases([case()], lambda *_: document, threads=1))
    assert row.verdict is Verdict.FAILED
    assert words in row.problem


def test_stopping_early_starts_nothing_new() -> None:
    started: list[int] = []
    workers: set[threading.Thread] = set()
    is_closed = threading.Event()

    def noted(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        started.append(seed)
        workers.add(threading.current_thread())
        # Only the first ends before the caller stops listening, however fast the machine is.
        assert seed == 1 or is_closed.wait(timeout=60)
        return answer(device, workload, seed)

    cases = [case(str(place), seeds=(place,)) for place in range(1, 500)]
    rows = run_cases(cases, noted, threads=1)
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    is_closed.set()
    for worker in workers:
        worker.join(timeout=60)
    assert len(started) <= 2


def test_twins_and_empty_cases_are_refused() -> None:
    with pytest.raises(ValueError, match="two cases of suite demo are called one"):
        list(run_cases([case(), case()], answer))
    with pytest.raises(ValueError, match="has no runs"):
        list(run_cases([case(runs=())], answer))


@pytest.mark.parametrize(
    ("relation", "expected", "measured", "error"),
    [
        (Relation.EQUAL, 2.0, 2.02, 0.01),
        (Relation.EQUAL, 2.0, 1.98, -0.01),
        (Relation.EQUAL, 0.0, 0.5, 0.5),
        (Relation.AT_MOST, 2.0, 1.0, 0.0),
        (Relation.AT_MOST, 2.0, 2.2, 0.1),
        (Relation.AT_LEAST, 2.0, 3.0, 0.0),
        (Relation.AT_LEAST, 2.0, 1.8, -0.1),
        (Relation.EQUAL, 2.0, float("nan"), float("inf")),
    ],
)
def test_errors(relation: Relation, expected: float, measured: float, error: float) -> None:
    assert case(relation=relation).error(measured, expected) == pytest.approx(error)


def test_an_expected_value_that_cannot_be_computed_fails_the_row() -> None:
    def impossible() -> float:
        message = "load is 2"
        raise ValueError(message)

    row = next(run_cases([case(expected=impossible)], answer, threads=1))
    assert row.verdict is Verdict.FAILED
    assert "load is 2" in row.problem


def test_measures() -> None:
    documents = [{"a": 1, "b": 2}, {"a": 4, "b": 3}]
    assert read("a", 10.0)(documents) == 10.0
    assert quotient("a")(documents) == 4.0
    assert increment_ratio("a", "b")(documents) == 3.0
    with pytest.raises(ValueError, match="number"):
        lookup({"a": True}, "a")


def test_tables() -> None:
    good = formula_case(Log.with_spare(4096, 64, 0.2), "fifo")
    rows = [
        good.row([[{"metrics": {"waf": waf}}] for waf in (2.69, 2.70, 2.695)]),
        case(formula="a | b").failed("it broke\nbadly"),
    ]
    text = render(rows)
    assert "### waf_uniform" in text
    assert "| 2.69, 2.7, 2.695 | +0.27 % | 1.00 % |" in text
    assert "`opennandlab validate waf_uniform --case fifo-b64-S0.2000`" in text
    assert r"a \| b" in text
    assert "it broke badly" in text
    assert "**failed**" in text
    assert text.startswith("0 known misses, 1 failed, 1 passed of 2 cases.\n")
    cells = line(rows[0]).replace(r"\|", "").count("|")
    assert cells == 10
    assert render([], text) == text


def test_numbers_and_shares() -> None:
    assert number(1_837_0000.0) == "18370000"
    assert number(1.0) == "1"
    assert number(7.0168e-6) == "7.017e-06"
    assert number(float("nan")) == "none"
    assert share(1e-7) == "+1e-05 %"
    assert share(float("inf")) == "none"


def test_quick_cases_say_so_in_their_command() -> None:
    chosen = select_cases(["trim"], "greedy-mapped-q0.1", Effort.QUICK)
    command = "opennandlab validate trim --quick --case greedy-mapped-q0.1"
    assert [one.command for one in chosen] == [command]
    assert chosen[0].seeds == (1,)
