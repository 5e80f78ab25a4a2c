"""The suites as data: complete, consistent, and passed by a drive that obeys the formulas.

The ideal drive answers with the formula, from what it finds in the device file. So a suite that
asks for one spare factor and expects the value of another is found without a simulator.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest

from opennandlab.studies.validation import (
    SUITES,
    Case,
    Effort,
    Kind,
    Log,
    Parameters,
    Verdict,
    ad_hoc_case,
    formula_case,
    run_cases,
    select_cases,
)
from opennandlab.studies.validation.case import GOALS
from opennandlab.studies.validation.devices import overwrites
from opennandlab.theory import (
    Traffic,
    predict_waf,
    spare_factor_effective,
)


def all_cases(effort: Effort) -> list[Case]:
    return [case for suite in SUITES.values() for case in suite(effort)]


def ideal_drive(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
    """Answer as theory does, reading the device file the way a simulator must."""
    assert seed > 0
    nand, ftl = device["nand"], device["ftl"]
    physical = nand["blocks_per_plane"] * nand["pages_per_block"]
    logical = math.floor(physical / (1.0 + ftl["over_provisioning_pct"]))
    policy = ftl["gc_policy"]
    kind = policy if isinstance(policy, str) else policy["kind"]
    spare = spare_factor_effective(
        physical, logical, ftl["gc_reserve_blocks"], nand["pages_per_block"]
    )
    params = policy if isinstance(policy, Mapping) else None
    if kind == "windowed_greedy":
        # Any value between its limits; the one at hand is the simulated reference.
        return {"metrics": {"waf": 5.022}}
    traffic = Traffic(
        trim_share=workload.get("trim_pct", 0.0) / 100.0,
        trim_target=workload.get("trim_target", "any"),
    )
    waf = predict_waf(kind, params, nand["pages_per_block"], spare, traffic)
    assert waf is not None
    written = workload["total"]["drive_writes"] * logical * nand["page_size_bytes"]
    return {
        "metrics": {
            "waf": waf,
            "host_bytes_written": written,
            "nand_bytes_written": waf * written,
        },
        "checks": {"passed": True},
    }


@pytest.mark.parametrize("effort", list(Effort))
def test_cases_are_complete(effort: Effort) -> None:
    cases = all_cases(effort)
    assert len({(case.suite, case.name) for case in cases}) == len(cases)
    for case in cases:
        assert case.name == "".join(case.name.split()), "names are typed on a command line"
        assert case.runs
        assert case.title
        assert case.source
        assert case.formula
        assert case.seeds
        low, high = GOALS[case.kind]
        assert low <= case.accepted[0] <= 0.0 <= case.accepted[1] <= high
        # No sample is so small that it may be off by more than the rate of a real drive.
        coarse = case.kind in {Kind.TAIL, Kind.EDGE, Kind.COUNT}
        assert coarse or case.accepted[1] <= 0.25, case.name
        assert bool(case.sample) == (case.kind is Kind.SAMPLED)
        if case.miss is not None:
            assert case.miss.mechanism
            assert not case.accepted[0] <= case.miss.error <= case.accepted[1], case.name
            assert "unknown" not in case.miss.mechanism.split(":")[0].split()[:1]
        is_published = case.suite in {"presets", "measured", "published", "bases"}
        seeds = 3 if effort is Effort.FULL and not is_published else 1
        assert len(case.seeds) == seeds or case.kind in {Kind.EXACT, Kind.RATE}
        for run in case.runs:
            json.loads(run.key(1))


def test_quick_expectations_are_numbers() -> None:
    for case in all_cases(Effort.QUICK):
        assert math.isfinite(case.expected_value), case.name


def test_every_policy_is_validated() -> None:
    kinds = set()
    for case in all_cases(Effort.FULL):
        for run in case.runs:
            if "ecc_lab" in run.device:
                continue
            policy = run.device["ftl"]["gc_policy"]
            kinds.add(policy if isinstance(policy, str) else policy["kind"])
    policies = {"greedy", "fifo", "random", "d_choices", "windowed_greedy", "cost_benefit"}
    assert kinds == policies


def test_what_a_drive_does_unasked_is_validated() -> None:
    """Each mechanism has a row that switches it on, in every form of collection."""
    cases = select_cases(["refresh", "decoding"])
    runs = [run.device for case in cases for run in case.runs if "ecc_lab" not in run.device]
    refreshed = [device["ftl"] for device in runs if "refresh" in device["ftl"]]
    assert {ftl.get("collection", "whole") for ftl in refreshed} == {"whole", "steps"}
    assert any(ftl.get("allocation") == "superblock" for ftl in refreshed)
    limits = {key for ftl in refreshed for key in ftl["refresh"] if ftl["refresh"][key]}
    assert limits == {"after_days", "at_rber"}
    controllers = [device.get("controller", {}) for device in runs]
    assert any("patrol" in controller for controller in controllers)
    decoders = {key for controller in controllers for key in controller.get("ecc_decode", {})}
    assert decoders == {"base_us", "per_error_us", "per_iteration_us"}
    assert {"bch", "ldpc"} <= {device["ecc"]["algorithm"] for device in runs}


@pytest.mark.parametrize("suite", ["waf_uniform", "trim"])
@pytest.mark.parametrize("effort", list(Effort))
def test_an_ideal_drive_passes(suite: str, effort: Effort) -> None:
    cases = select_cases([suite], "*", effort)
    # Three windows have three references; the ideal drive knows one.
    cases = [case for case in cases if case.kind is not Kind.REFERENCE]
    rows = list(run_cases(cases, ideal_drive, threads=1))
    assert [row.case.name for row in rows if row.verdict is not Verdict.PASSED] == []
    formulas = [row for row in rows if row.case.kind is Kind.FORMULA]
    assert max(abs(row.error) for row in formulas) < 1e-9


def test_a_drive_that_forgets_its_reserve_fails() -> None:
    def careless(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
        ftl = {**device["ftl"], "gc_reserve_blocks": 1}
        return ideal_drive({**device, "ftl": ftl}, workload, seed)

    cases = select_cases(["waf_uniform"], "*reserve8")
    assert [row.verdict for row in run_cases(cases, careless, threads=1)] == [Verdict.FAILED]


@pytest.mark.parametrize("spare", [0.01, 0.05, 0.0654, 0.2, 0.5])
@pytest.mark.parametrize(("blocks", "block", "reserve"), [(256, 16, 1), (4096, 64, 8)])
def test_logs_have_the_pages_they_say(spare: float, blocks: int, block: int, reserve: int) -> None:
    log = Log.with_spare(blocks, block, spare, reserve)
    op_ratio = log.device("greedy")["ftl"]["over_provisioning_pct"]
    assert math.floor(blocks * block / (1.0 + op_ratio)) == log.logical_pages
    assert log.spare_factor == pytest.approx(spare, abs=1.0 / (blocks * block))
    assert log.spare_factor_nominal > log.spare_factor


def test_over_provisioning_of_the_reserve_table() -> None:
    assert Log.with_op(1024, 256, 0.07).logical_pages == 244_994


def test_workloads_fill_then_discard_then_measure() -> None:
    workload = overwrites()
    assert [step["kind"] for step in workload["precondition"]] == ["sequential_fill", "workload"]
    assert workload["precondition"][1]["drive_writes"] == 20.0
    assert workload["total"] == {"drive_writes": 10.0}
    assert workload["timed"] is False


def test_ad_hoc_cases_cover_what_theory_covers() -> None:
    case = ad_hoc_case(Parameters("d_choices", 32, 0.12, d=3))
    assert case.command == (
        "opennandlab validate --policy d_choices --d 3 --pages-per-block 32 --spare-factor 0.12"
    )
    assert case.expected_value == pytest.approx(4.87, rel=1e-3)
    assert case.runs[0].device["ftl"]["gc_policy"] == {"kind": "d_choices", "d": 3}
    plain = formula_case(Log.with_spare(4096, 64, 0.1), "greedy")
    assert ad_hoc_case(Parameters("greedy", 64, 0.1)).runs == plain.runs

    hot = Traffic("hot_cold", fraction=0.1, share=0.9)
    case = ad_hoc_case(Parameters("fifo", 16, 0.2, traffic=hot, blocks=1024))
    assert "--pattern hot_cold --hot-fraction 0.1 --hot-share 0.9" in case.command
    assert "--blocks 1024" in case.command
    assert case.runs[0].workload["pattern"] == {"kind": "hot_cold", "fraction": 0.1, "share": 0.9}

    trims = Traffic(trim_share=0.3, trim_target="mapped")
    case = ad_hoc_case(Parameters("greedy", 64, 0.07 / 1.07, traffic=trims))
    assert case.expected_value == pytest.approx(1.300, rel=1e-3)
    assert len(case.runs) == 2

    zipf = Traffic("zipf", exponent=0.8)
    case = ad_hoc_case(Parameters("fifo", 64, 0.2, traffic=zipf))
    assert case.runs[0].workload["pattern"] == {"kind": "zipf", "theta": 0.8}

    static = Traffic(static_share=0.25)
    case = ad_hoc_case(Parameters("greedy", 64, 0.2, traffic=static))
    assert case.runs[0].workload["active_range_pct"] == 75.0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (Parameters("cost_benefit", 64, 0.1), "no closed form exists for cost_benefit"),
        (Parameters("greedy", 64, 0.1, traffic=Traffic("zipf")), "with zipf writes"),
        (Parameters("greedy", 64, 1.5), "spare_factor is 1.5"),
        (Parameters("gredy", 64, 0.1), "policy is 'gredy'"),
        (Parameters("d_choices", 64, 0.1, d=0), "d is 0"),
    ],
)
def test_ad_hoc_refuses_with_the_reason(parameters: Parameters, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ad_hoc_case(parameters)


def test_selection() -> None:
    assert {case.suite for case in select_cases(["wear", "trim"])} == {"wear", "trim"}
    assert len(select_cases((), "*", Effort.QUICK)) == len(all_cases(Effort.QUICK))
    with pytest.raises(ValueError, match="no suite is called 'waff'; accepted: waf_uniform"):
        select_cases(["waff"])
    with pytest.raises(ValueError, match="no case of trim matches 'greedy-b64'"):
        select_cases(["trim"], "greedy-b64")
