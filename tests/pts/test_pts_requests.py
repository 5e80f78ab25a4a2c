"""Standard tests as a function: mappings in, a document out, and nothing else asked for."""

from __future__ import annotations

import pytest

from opennandlab.base.errors import ConfigError
from opennandlab.pts.bench.requests import answer
from opennandlab.studies.validation import Verdict, select_cases
from opennandlab.studies.validation.suites import ON_REQUEST, SUITES

SMALL = {
    "nand": {"cell_type": "TLC", "blocks_per_plane": 16, "pages_per_block": 32},
    "ftl": {"over_provisioning_pct": 0.2, "gc_policy": "greedy"},
}


def test_a_request_gives_the_document_of_the_test_and_its_seed_decides() -> None:
    asked = {"test": "latency", "time_base": "smoke"}
    found, again, other = answer(SMALL, asked, 1), answer(SMALL, asked, 1), answer(SMALL, asked, 2)
    assert found["test"] == "latency"
    assert found["header"]["time_base"]["name"] == "smoke"
    assert found["digest"] == again["digest"] != other["digest"]


def test_what_nobody_can_answer_is_refused() -> None:
    with pytest.raises(ValueError, match=r"called 'lat'; accepted: iops"):
        answer(SMALL, {"test": "lat"}, 1)
    with pytest.raises(ConfigError, match="ss-max-rounds"):
        answer(SMALL, {"test": "latency", "ss_max_rounds": 1}, 1)


def test_a_quotient_needs_both_bases() -> None:
    """The suite divides what `scaled` reports by what `full` does."""
    (case,) = select_cases(["bases"], "tlc_standard-iops-rnd-4k-write")
    full, scaled = ({"steady_state": [{"average": value}]} for value in (100.0, 109.0))
    assert case.row([[full, scaled]]).verdict is Verdict.PASSED
    scaled["steady_state"][0]["average"] = 111.0
    assert case.row([[full, scaled]]).verdict is Verdict.FAILED


def test_suites_of_hours_run_only_where_they_are_named() -> None:
    assert set(ON_REQUEST) < set(SUITES)
    assert not {case.suite for case in select_cases()} & set(ON_REQUEST)
    assert {case.suite for case in select_cases(["bases"])} == {"bases"}


def test_what_the_watcher_raises_ends_the_test():
    def stop(_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        answer(SMALL, {"test": "latency", "time_base": "full"}, 1, stop)
