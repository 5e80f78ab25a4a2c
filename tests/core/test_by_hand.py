"""Keys that were set by hand (`--set`): each has its effect, or is told to have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from conftest import SMALL
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.core.by_hand import is_set, overruled
from opennandlab.core.config import load_device
from opennandlab.pts import TESTS, Settings, run_test
from opennandlab.pts.bench.suite import Job, vary
from opennandlab.reliability import drive_life_test, life_test, load_model
from opennandlab.studies.fleet.definition import Fleet
from opennandlab.studies.power.fitting import fitted
from opennandlab.studies.sweeps.definition import Sweep
from opennandlab.targets.simulated import SimulatedTarget

STORED = {"nand.stress.temperature_c": 55, "nand.stress.retention_h": 20000}
SHORT_LIFE = {**SMALL, "nand": {**SMALL["nand"], "max_pe_cycles": 20}}


def said(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


def test_what_was_set_by_hand_is_known_whole_or_in_parts():
    device = load_device(
        "tlc_standard", {"nand.stress": {"retention_h": 5}, "ftl.gc_policy": "fifo"}
    )
    assert is_set(device, "nand.stress.retention_h")
    assert is_set(device, "ftl.gc_policy.kind")
    assert not is_set(device, "nand.channels")
    # A copy keeps what was set by hand, and what it changes was not.
    copy = device.replace({"ftl.gc_policy": "greedy"})
    assert is_set(copy, "nand.stress.retention_h")
    assert not is_set(copy, "ftl.gc_policy.kind")


def test_only_what_differs_is_told():
    device = load_device("tlc_standard", {"ftl.gc_policy": "greedy", "nand.channels": 4})
    assert overruled(device, device.to_dict(), "why") == []
    other = device.replace({"nand.channels": 2})
    assert overruled(device, other.to_dict(), "why") == [
        "--set nand.channels=4 has no effect, it is 2 here: why"
    ]
    # A section that is not given is not looked at.
    assert overruled(device, {"ftl": other.to_dict()["ftl"]}, "why") == []


def test_a_life_test_keeps_data_as_it_was_told():
    """20 000 h at 55 °C were computed as 8760 h at 30 °C, the class's own, without a word."""
    alone = float(load_model("emmc_16gb").rber(5000, 20000, 55))
    assert alone == pytest.approx(8.516e-3, rel=1e-3)
    by_hand = life_test(load_device("emmc_16gb", STORED), waf=3)
    asked = life_test("emmc_16gb", waf=3, storage_h=20000, storage_c=55)
    usual = life_test("emmc_16gb", waf=3)
    assert by_hand.rber == asked.rber == pytest.approx(alone, rel=1e-9)
    assert (by_hand.retention_h, by_hand.retention_c) == (20000, 55)
    assert usual.rber == pytest.approx(5.985e-4, rel=1e-3)
    assert (
        by_hand.warnings
        == asked.warnings
        == ["data is kept 20000 h at 55 °C, not 8760 h at 30 °C as JESD218 asks of class client"]
    )
    assert usual.warnings is None
    # The bake of equal effect is that of the storage.
    assert by_hand.bake_h > 10 * usual.bake_h
    # Half of it by hand, the other half is the class's.
    hours = life_test(load_device("emmc_16gb", {"nand.stress.retention_h": 100}), waf=3)
    assert (hours.retention_h, hours.retention_c) == (100, 30)


def test_a_simulated_life_keeps_data_as_it_was_told():
    long = {**SHORT_LIFE, "reliability": {"kind": "states"}}
    by_hand = drive_life_test(load_device(long, {"nand.stress.retention_h": 80000}), programs=1e5)
    asked = drive_life_test(long, programs=1e5, storage_h=80000)
    usual = drive_life_test(long, programs=1e5)
    assert by_hand.rber == asked.rber > usual.rber
    # What is written meanwhile is written without it.
    assert by_hand.waf == usual.waf


def test_storage_that_contradicts_itself_is_refused():
    device = load_device("emmc_16gb", STORED)
    with pytest.raises(
        ConfigError, match=r"100 is not the nand\.stress\.retention_h=20000 of --set"
    ):
        life_test(device, waf=3, storage_h=100)
    with pytest.raises(ConfigError, match="out of range; accepted: 0 to 1e"):
        life_test("emmc_16gb", waf=3, storage_h=-1)
    with pytest.raises(ConfigError, match="accepted: -55 to 200 degrees"):
        life_test("emmc_16gb", waf=3, storage_c=300)


def test_stress_of_a_file_is_told_to_be_without_effect():
    device = {"nand": {"stress": {"retention_h": 720}}, "reliability": {"kind": "states"}}
    found = life_test(device, waf=3)
    assert found.retention_h == 8760
    (text,) = found.warnings or ()
    assert text.startswith(
        "nand.stress.retention_h 720 of the device file has no effect, it is 8760"
    )


def test_other_keys_that_a_life_test_sets_are_told():
    own = load_device(SHORT_LIFE, {"nand.wear_out": "retire", "reliability": {"kind": "states"}})
    found = drive_life_test(own, programs=1e5, model="mlc").warnings
    assert any("--set nand.wear_out=retire has no effect, it is ignore" in text for text in found)
    assert any(text.startswith("--set reliability=") for text in found)
    amount = drive_life_test(own, programs=1e5, tbw_tb=2e-5).warnings
    assert not any("wear_out" in text for text in amount)


def test_the_command_says_it_beside_its_document():
    line = ["reliability", "life", "-c", "emmc_16gb", "--analytic", "--waf", "3", "--json"]
    for key, value in STORED.items():
        line += ["--set", f"{key}={value}"]
    code, out, err = said(*line)
    document = json.loads(out)
    assert (code, document["retention_h"], document["retention_c"]) == (1, 20000, 55)
    assert document["warnings"] == [
        "data is kept 20000 h at 55 °C, not 8760 h at 30 °C as JESD218 asks of class client"
    ]
    assert f"warning: {document['warnings'][0]}" in " ".join(err.split())
    _, _, err = said("reliability", "rber", "-c", "emmc_16gb", "--set", "nand.stress.reads=9")
    assert "--set nand.stress.reads=9.0 has no effect, it is 0.0 here" in " ".join(err.split())


def points(run: str, changes: dict[str, Any], **life: Any) -> dict[str, Any]:
    sweep = Sweep.of({"run": run, "device": "emmc_16gb", "life": life, "set": changes})
    (cell,) = sweep.cells
    if cell.settings is None:
        raise ConfigError(".", str(cell.problem))
    return dict(cell.settings)


def test_points_of_a_sweep_keep_data_as_they_say():
    found = points("reliability.life", STORED, waf=3)
    assert (found["life"]["storage_h"], found["life"]["storage_c"]) == (20000, 55)
    assert "stress" not in found["device"]["nand"]
    # What a point is stays what it was where nothing of it was asked for.
    assert "storage_h" not in points("reliability.life", {}, waf=3)["life"]
    for run, changes, life, text in (
        (
            "reliability.life",
            STORED,
            {"waf": 3, "storage_h": 5},
            "5 is not nand.stress.retention_h",
        ),
        ("reliability.drive-life", {"nand.wear_out": "retire"}, {}, "it is ignore here"),
        (
            "reliability.life",
            {"reliability.preset": "slc"},
            {"waf": 3, "model": "mlc"},
            "life.model",
        ),
    ):
        with pytest.raises(ConfigError, match=text):
            points(run, changes, **life)


def test_a_test_that_switches_the_write_cache_off_says_what_that_undoes():
    overrides = {"ftl.write_buffer_pages": 32}
    drive = SimulatedTarget(SMALL, overrides)
    found = run_test(TESTS["latency"], drive, settings=Settings(time_base="smoke"))
    told = "--set ftl.write_buffer_pages=32 has no effect, it is 0 here: the test says it"
    assert [text for text in found.warnings if text.startswith(told)]
    kept = run_test(
        TESTS["latency"], SimulatedTarget(SMALL, overrides),
        settings=Settings(time_base="smoke", profile="C"),
    )  # fmt: skip
    assert not [text for text in kept.warnings if "has no effect" in text]


def test_a_key_is_set_or_varied():
    job = Job("iops", TESTS["iops"], Settings())
    jobs, _ = vary(job, "nand.channels=1,2", ["ftl.gc_policy"])
    assert [one.overrides for one in jobs] == [{"nand.channels": 1}, {"nand.channels": 2}]
    with pytest.raises(ConfigError, match="in --set and in --vary"):
        vary(job, "nand.channels=1,2", ["nand.channels"])
    fleet = {"devices": 1, "suites": {"one": {"run": "app"}}, "set": {"nand.channels": 2}}
    assert Fleet.of(fleet).changes == {"nand.channels": 2}
    with pytest.raises(ConfigError, match="in set and in spread"):
        Fleet.of({**fleet, "spread": {"nand.channels": {"choice": [1, 2]}}})


def test_a_copy_of_a_drive_to_be_cut_names_the_keys_that_it_changes():
    device = load_device(
        "micron_7450_max_800gb",
        {"nand.channels": 4, "nand.dies_per_channel": 4, "nand.max_pe_cycles": 77},
    )
    small, told = fitted(device)
    assert small["nand.max_pe_cycles"] == 77
    lost = [text for text in told if text.startswith("--set ")]
    here = small["nand.dies_per_channel"]
    assert f"--set nand.dies_per_channel=4 has no effect, it is {here} here" in lost[-1]


# `rwsw` asks for its capture first.
@pytest.mark.parametrize("test", [it for it in TESTS if it != "rwsw"])
def test_what_a_drive_refuses_is_refused_before_anything_is_written(test: str, tmp_path: Path):
    """`pts wsat` of a drive with zones was refused after it had left a partial `wsat.json`."""
    zones = {
        "nand": {
            "channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
            "pages_per_block": 64,
        },
        "ftl": {
            "mapping": {
                "kind": "zoned", "zone_bytes": 4 << 20, "zone_capacity_bytes": 4 << 20,
                "open_zones_max": 4, "active_zones_max": 8,
            }
        },
    }  # fmt: skip
    device, output = tmp_path / "zones.yaml", tmp_path / "output"
    device.write_text(json.dumps(zones))
    with pytest.raises(ConfigError, match=r"ftl\.mapping zoned"):
        onl.pts.run(test, f"sim:{device}", output=output, time_base="smoke")
    assert not output.exists()
