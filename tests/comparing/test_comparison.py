"""Comparisons are refused where they would mislead."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab import _core
from opennandlab.comparing import UnlikeError, compare
from opennandlab.comparing.families.results import Results

WORK = {
    "name": "random",
    "pattern": "random",
    "timed": False,
    "total": {"drive_writes": 3},
    "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 2}],
}


@pytest.fixture(autouse=True)
def released(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make results as of a build from a commit, whatever the build under test is from."""
    monkeypatch.setattr(_core, "dirty", lambda: False)


def test_two_policies_may_be_compared(small: Any) -> None:
    greedy = onl.benchmark(small, WORK)
    fifo = onl.benchmark(onl.load_device(small, {"ftl.gc_policy": "fifo"}), WORK)
    comparison = onl.compare([greedy, fifo], ["greedy", "fifo"])
    assert comparison["like"] is True
    assert comparison["warnings"] == []
    row = comparison["metrics"]["waf"]
    assert row["values"] == [greedy.metrics["waf"], fifo.metrics["waf"]]
    assert row["delta_pct"][1] == pytest.approx((row["values"][1] / row["values"][0] - 1) * 100)
    assert row["delta_pct"][1] > 0


@pytest.mark.parametrize(
    "change", [{"ftl.over_provisioning_pct": 0.4}, {"ftl.gc_reserve_blocks": 6}]
)
def test_another_spare_factor_is_refused_with_both_values(small: Any, change: Any) -> None:
    one = onl.benchmark(small, WORK)
    other = onl.benchmark(onl.load_device(small, change), WORK)
    with pytest.raises(UnlikeError, match="over-provisioning") as refusal:
        compare([one, other], ["one", "other"])
    for result in (one, other):
        spare = result.document["effective"]["spare_factor_effective"]
        assert f"{spare:.4g}" in str(refusal.value)
    forced = compare([one, other], ["one", "other"], force=True)
    assert forced["like"] is False
    assert forced["reasons"] == refusal.value.reasons


def test_fresh_against_steady_is_refused(small: Any) -> None:
    steady = onl.benchmark(small, WORK)
    fresh = onl.benchmark(small, WORK, state="fresh")
    with pytest.raises(UnlikeError, match="fresh out of the box"):
        compare([steady, fresh])


def test_another_preconditioning_is_refused(small: Any) -> None:
    other = {**WORK, "precondition": [{"kind": "sequential_fill"}]}
    with pytest.raises(UnlikeError, match="state"):
        compare([onl.benchmark(small, WORK), onl.benchmark(small, other)])


def test_other_seeds_and_workloads_are_warned_of(small: Any) -> None:
    one = onl.benchmark(small, WORK, seed=1)
    other = onl.benchmark(small, {**WORK, "read_pct": 50}, seed=2)
    warnings = " ".join(compare([one, other])["warnings"])
    assert "different seeds (1 and 2)" in warnings
    assert "different workloads" in warnings


def test_a_build_with_changed_sources_is_warned_of(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = onl.benchmark(small, WORK)
    monkeypatch.setattr(_core, "dirty", lambda: True)
    changed = onl.benchmark(small, WORK)
    assert ours.digest == changed.digest
    (warning,) = onl.compare([ours, changed], ["ours", "changed"])["warnings"]
    assert warning.startswith("changed: from a build whose sources were changed after commit")
    (warning,) = onl.compare([changed, changed])["warnings"]
    assert warning.startswith("#1 and #2: from a build")


def test_one_result_is_no_comparison(small: Any) -> None:
    with pytest.raises(onl.ResultError, match="accepted: two or more"):
        compare([onl.benchmark(small, WORK)])


def test_a_page_of_results_lists_the_keys_that_differ() -> None:
    work = {"pattern": "random", "total": {"drive_writes": 0.1}}
    nand = {"channels": 1, "dies_per_channel": 1, "blocks_per_plane": 64, "pages_per_block": 32}
    runs = [
        onl.benchmark({"nand": nand, "ftl": {"gc_policy": policy}}, work)
        for policy in ("greedy", "fifo")
    ]
    (section,) = Results().sections(runs, ("a", "b"))
    rows = getattr(section.items[0], "rows", None)
    assert rows == (("ftl.gc_policy.kind", "greedy", "fifo"),)
    assert Results().sections(runs[:1] * 2, ("a", "b")) == ()
