"""Fleets: devices follow from name and index, nothing is run twice, what fails stops nobody."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app as command_line
from opennandlab.documents.fleet import FleetDocument
from opennandlab.studies.fleet.definition import Fleet
from opennandlab.studies.fleet.running import summary

SMALL: dict[str, Any] = {
    "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
             "pages_per_block": 32},
    "ftl": {"over_provisioning_pct": 0.28},
}  # fmt: skip
WORKLOAD = {"pattern": "random", "total": {"drive_writes": 1}, "timed": False}
FLEET: dict[str, Any] = {
    "name": "small",
    "devices": 12,
    "device": SMALL,
    "spread": {
        "ftl.over_provisioning_pct": {"uniform": [0.2, 0.4]},
        "ftl.gc_policy": {"choice": ["greedy", "fifo"]},
    },
    "suites": {"random": {"run": "benchmark", "workload": WORKLOAD}},
}


def fleet(**changes: Any) -> Fleet:
    return Fleet.of({**FLEET, **changes})


def run(folder: Path, *options: str, content: dict[str, Any] | None = None) -> tuple[int, str]:
    file = folder / "fleet.yaml"
    file.write_text(json.dumps(content or FLEET))
    done = CliRunner().invoke(
        command_line, ["fleet", "run", str(file), "--output", str(folder / "out"), *options]
    )
    return done.exit_code, done.output


def document(folder: Path, name: str = "fleet.json") -> FleetDocument:
    found = onl.load(folder / "out" / name)
    assert isinstance(found, FleetDocument)
    return found


def test_devices_follow_from_campaign_and_index() -> None:
    one, larger = fleet(), fleet(devices=100)
    members = [larger.member(index) for index in range(100)]
    assert [one.member(index) for index in range(12)] == members[:12]
    assert len({member.seed for member in members}) == 100
    assert fleet(name="other").member(3).seed != one.member(3).seed
    # Another key leaves what the others draw as it was.
    spread = {"nand.timing.t_erase_us": {"normal": [3000, 100]}, **FLEET["spread"]}
    more = fleet(spread=spread).member(5).drawn
    assert {key: more[key] for key in FLEET["spread"]} == one.member(5).drawn


@pytest.mark.parametrize(
    ("given", "mean", "sd"),
    [
        ({"normal": [3000, 200]}, 3000, 200),
        ({"uniform": [10, 20]}, 15, 10 / 12**0.5),
        ({"integers": [1, 6]}, 3.5, (35 / 12) ** 0.5),
        ({"choice": [0, 10]}, 5, 5),
    ],
)
def test_what_is_drawn_has_the_moments_of_its_law(given: Any, mean: float, sd: float) -> None:
    wanted = fleet(devices=4000, spread={"nand.timing.t_erase_us": given})
    values = [wanted.member(index).drawn["nand.timing.t_erase_us"] for index in range(4000)]
    # Five standard errors.
    assert statistics.fmean(values) == pytest.approx(mean, abs=5 * sd / 4000**0.5)
    assert statistics.stdev(values) == pytest.approx(sd, rel=0.06)


def test_the_median_of_a_lognormal_spread() -> None:
    wanted = fleet(devices=4000, spread={"nand.failures.growth": {"lognormal": [10, 0.3]}})
    values = [wanted.member(index).drawn["nand.failures.growth"] for index in range(4000)]
    assert statistics.median(values) == pytest.approx(10, rel=0.03)
    assert min(values) > 0


def test_a_fleet_is_run_once_and_its_devices_alone(tmp_path: Path) -> None:
    code, text = run(tmp_path)
    assert code == 0, text
    whole = document(tmp_path)
    assert [row.device for row in whole.rows] == list(range(12))
    assert whole.passed
    waf = next(row for row in whole.summary if row.metric == "waf")
    values = [row.metrics["waf"] for row in whole.rows]
    assert (waf.count, waf.min, waf.max) == (12, min(values), max(values))
    assert waf.median == statistics.median(values)

    code, text = run(tmp_path)
    assert "12 of 12 points are known" in text
    assert document(tmp_path).digest == whole.digest

    # In another store, alone: the same numbers.
    (tmp_path / "other").mkdir()
    code, text = run(tmp_path / "other", "--only", "7")
    assert code == 0, text
    assert document(tmp_path / "other", "fleet-7.json").rows == [whole.rows[7]]


def test_more_devices_run_only_those_that_are_new(tmp_path: Path) -> None:
    assert run(tmp_path)[0] == 0
    code, text = run(tmp_path, content={**FLEET, "devices": 20})
    assert code == 0
    assert "12 of 20 points are known" in text


def test_a_device_that_cannot_be_stops_no_other(tmp_path: Path) -> None:
    spread = {"ftl.over_provisioning_pct": {"normal": [0.3, 0.4]}}
    assert run(tmp_path, content={**FLEET, "spread": spread})[0] == 1
    found = document(tmp_path)
    spare = {one.index: one.drawn["ftl.over_provisioning_pct"] for one in found.devices}
    wrong = {row.device for row in found.rows if row.error is not None}
    right = [value for index, value in spare.items() if index not in wrong]
    assert all(spare[index] < min(right) for index in wrong)
    assert 0 < len(wrong) == found.failed < 12
    assert len(found.rows) == 12
    assert not found.passed


def test_applications_on_a_fleet(tmp_path: Path) -> None:
    nand = {**SMALL["nand"], "dies_per_channel": 2, "blocks_per_plane": 330, "pages_per_block": 256}
    content = {
        **FLEET, "devices": 3, "device": {"nand": nand},
        "spread": {"nand.timing.t_program_us": {"uniform": [500, 1500]}},
        "suites": {"apps": {"run": "app", "app": {"cases": {"camera": 1}, "state": "old-dirty",
                                                  "drive_writes": 1}}},
    }  # fmt: skip
    code, text = run(tmp_path, content=content)
    assert code == 0, text
    found = document(tmp_path)
    slow = {one.index: one.drawn["nand.timing.t_program_us"] for one in found.devices}
    fastest = min(found.rows, key=lambda row: row.metrics["total_ms"])
    assert fastest.device == min(slow, key=lambda index: slow[index])


def test_outliers_by_hand() -> None:
    """Median 3, deviations 2 1 0 0 0 1 2 97: their median is 1, so 100 has 0.6745 x 97."""
    values = dict(enumerate([1.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 100.0]))
    found = summary("s", "m", values)
    assert [(one.device, one.score) for one in found.outliers] == [(7, pytest.approx(65.43, 1e-3))]
    assert summary("s", "m", dict(enumerate([2.0] * 9))).outliers == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"devices": 0}, "1 to 10000"),
        ({"devices": True}, "1 to 10000"),
        ({"suites": {}}, "there is nothing to run"),
        ({"suites": {"a": 5}}, "not a suite"),
        ({"suites": {"a": {"run": "fly"}}}, "cannot be run"),
        ({"suites": {"a": {"run": "benchmark", "seed": 5}}}, "has none"),
        ({"suites": {"a": {"run": "theory.waf"}}}, "needs no device"),
        ({"colour": 1}, "not a key of a fleet"),
        ({"spread": {"a": {"normal": [1]}}}, "two numbers"),
        ({"spread": {"a": {"normal": [1, -1]}}}, "0 or more"),
        ({"spread": {"a": {"uniform": [2, 1]}}}, "in ascending order"),
        ({"spread": {"a": {"integers": [1.5, 2]}}}, "whole"),
        ({"spread": {"a": {"lognormal": [0, 1]}}}, "above 0"),
        ({"spread": {"a": {"guess": [1, 2]}}}, "unknown"),
        ({"spread": {"a": [1, 2]}}, "not a spread"),
        ({"spread": {"a": {"choice": []}}}, "not a list"),
    ],
)
def test_files_that_are_wrong_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        fleet(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spread": {"ftl.gc_polcy": {"choice": ["greedy"]}}}, "spread.ftl.gc_polcy: greedy"),
        ({"spread": {"ftl.gc_policy": {"choice": ["greedy", "grady"]}}}, "`grady`"),
        ({"spread": {"ftl.over_provisioning_pct": {"uniform": [50, 60]}}}, "spread.ftl.over"),
        ({"suites": {"a": {"run": "app", "app": {"suite": "lihgt"}}}}, "suites.a: .*`lihgt`"),
        ({"suites": {"a": {"run": "benchmark", "workload": {"patern": "random"}}}}, "suites.a"),
        ({"set": {"ftl.wear_leveling": "grady"}}, "suites.random: .*`grady`"),
    ],
)
def test_typing_errors_are_found_before_anything_runs(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        fleet(**changes).check()
    assert run(tmp_path, content={**FLEET, **changes})[0] == 2
    assert not (tmp_path / "out").exists()


def test_indices_are_checked(tmp_path: Path) -> None:
    code, text = run(tmp_path, "--only", "12")
    assert code == 2
    assert "0 to 11" in text
    assert not (tmp_path / "out").exists()


def test_hostile_names_stay_in_the_folder(tmp_path: Path) -> None:
    suites = {"../../x y": FLEET["suites"]["random"]}
    assert run(tmp_path, content={**FLEET, "devices": 2, "suites": suites})[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fleet.yaml", "out"]
    assert (tmp_path / "out" / "spread-1.csv").is_file()


def test_the_digest_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "device.yaml").write_text(json.dumps(SMALL))
        code, text = run(tmp_path / name, content={**FLEET, "device": "device.yaml"})
        assert code == 0, text
        digests.add(document(tmp_path / name).digest)
    assert len(digests) == 1
