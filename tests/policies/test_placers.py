"""Ids that Python gives to writes do what the same ids of a workload do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from places import FOLDER

# They run what their devices and results name.
pytestmark = pytest.mark.usefixtures("allowed")

sys.path.insert(0, str(FOLDER / "policies"))

WORK: dict[str, Any] = {
    "name": "skewed",
    "pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.9},
    "queue_depth": 4,
    "total": {"drive_writes": 2},
    "precondition": [{"kind": "sequential_fill"}, {"kind": "workload", "drive_writes": 2}],
}
FDP = {"kind": "fdp", "handles": 2, "isolation": "persistently"}


def with_placement(small: dict[str, Any], placement: Any) -> dict[str, Any]:
    """The small drive with room for the open blocks of two handles."""
    small["ftl"] = {"over_provisioning_pct": 0.5, "gc_reserve_blocks": 8, "placement": placement}
    return small


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("isolation", ["initially", "persistently"])
@pytest.mark.parametrize("buffer_pages", [0, 16])
def test_ranges_in_python_are_those_of_the_workload(
    small: Any, timed: Any, isolation: str, buffer_pages: int
) -> None:
    fdp = FDP | {"isolation": isolation}
    with_placement(small, fdp)["ftl"]["write_buffer_pages"] = buffer_pages
    work = WORK | {"timed": timed}
    # No command of the fill reaches over the border: it would have one id.
    ranges = [{"bytes": 512 * 4096, "id": 0}, {"id": 1}]
    by_workload = onl.benchmark(small, work | {"placement": {"by": "range", "ranges": ranges}})
    small["ftl"]["placement"] = fdp | {"by": {"kind": "placer_cases:HotCold", "limit": 512}}
    by_python = onl.benchmark(small, work)
    assert by_python.metrics == by_workload.metrics
    assert by_python.passed
    assert by_python.metrics["gc_cycles"] > 0


def test_hosts_are_told_apart(small: Any) -> None:
    with_placement(small, FDP)
    tenants = [
        {"name": "low", "range_pct": [0, 50], "pattern": "random"},
        {"name": "high", "range_pct": [50, 100], "pattern": "random"},
    ]
    work = {"tenants": tenants, "total": {"drive_writes": 2}, "precondition": []}
    by_workload = onl.benchmark(small, work | {"placement": {"by": "tenant"}})
    small["ftl"]["placement"] = FDP | {"by": "placer_cases:BySource"}
    assert onl.benchmark(small, work).metrics == by_workload.metrics


def test_sizes_are_told_and_streams_take_ids_too(small: Any) -> None:
    streams = {"kind": "streams", "count": 1, "by": "placer_cases:large"}
    work = WORK | {"block_size_bytes": {"4096": 1, "16384": 1}}
    result = onl.benchmark(with_placement(small, streams), work)
    assert result.passed
    counts = result.metrics["streams"]
    assert counts


def test_a_name_alone_is_a_placement_with_its_handles(small: Any, tmp_path: Path) -> None:
    device = onl.load_device(with_placement(small, "placer_cases:HotCold"))
    placement = device["ftl.placement"]
    assert (placement["kind"], placement["handles"]) == ("fdp", 2)
    assert placement["by"]["name"] == "placer_cases:HotCold"
    assert len(placement["by"]["source_sha256"]) == 64
    given = {"kind": "placer_cases:HotCold", "isolation": "persistently", "limit": 7}
    other = onl.load_device(with_placement(small, given))["ftl.placement"]
    assert (other["isolation"], dict(other["by"]["parameters"])) == ("persistently", {"limit": 7})
    onl.benchmark(device, WORK).save(tmp_path / "result.json")
    assert onl.verify(tmp_path / "result.json").identical
    changed = device.to_dict()
    changed["ftl"]["placement"]["by"]["source_sha256"] = "0" * 64
    with pytest.raises(onl.ConfigError, match="is another source than the one recorded"):
        onl.benchmark(changed, WORK)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("beyond", r"gave page \d+ the id \d+; accepted: 0 to 1, the ids of ftl.placement"),
        ("few", r"returned int64 of shape \(1,\) for \d+ writes; accepted: an integer for each"),
        ("half", r"returned float64 of shape"),
    ],
)
def test_a_wrong_id_is_refused_and_the_drive_is_whole(small: Any, name: str, words: str) -> None:
    by = FDP | {"by": f"placer_cases:{name}"}
    simulation = onl.Simulation(with_placement(small, by))
    with pytest.raises(onl.PolicyError, match=words):
        simulation.run(WORK)
    assert simulation._core.audit() is None


def test_what_a_placer_raises_is_raised(small: Any) -> None:
    device = with_placement(small, FDP | {"by": "placer_cases:raises"})
    with pytest.raises(ValueError, match="no idea") as raised:
        onl.benchmark(device, WORK)
    assert raised.value.__notes__[0].startswith("in the policy `placer_cases:raises`, asked where")
    given = with_placement(small, FDP | {"by": {"kind": "placer_cases:few", "d": 1}})
    with pytest.raises(onl.ConfigError, match="takes no parameters: d"):
        onl.load_device(given)
