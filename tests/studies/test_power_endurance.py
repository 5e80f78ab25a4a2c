"""Endurance and retention of a fleet: limits, intervals, survival, and what a model cannot tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import DocumentError
from opennandlab.cli import app as command_line
from opennandlab.core.loading import loaded
from opennandlab.documents.fleet import FleetRow
from opennandlab.documents.power_endurance import EnduranceDocument
from opennandlab.reliability.jedec import CLASSES
from opennandlab.stats.poisson import poisson_interval
from opennandlab.studies.power.campaign import wilson
from opennandlab.studies.power.endurance import Settings, verdict

# Runs in a second: wears out soon, and its states age.
DEVICE: dict[str, Any] = {
    "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
             "pages_per_block": 48, "max_pe_cycles": 20, "cell_type": "TLC"},
    "ftl": {"over_provisioning_pct": 0.2},
    "reliability": {"kind": "states", "preset": "tlc", "wear_cycles": 30},
    "ecc": {"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"},
}  # fmt: skip


def run(folder: Path, *options: str, devices: int = 3, **changes: Any) -> tuple[int, str]:
    fleet = {"name": "few", "devices": devices, "device": {**DEVICE, **changes}}
    (folder / "fleet.yaml").write_text(json.dumps(fleet))
    words = ["power", "endurance", str(folder / "fleet.yaml"), "--programs", "3e4",
             "--output", str(folder / "end"), *options]  # fmt: skip
    done = CliRunner().invoke(command_line, words)
    return done.exit_code, " ".join(done.output.split())


def document(folder: Path) -> EnduranceDocument:
    found = onl.load(folder / "end" / "endurance.json")
    assert isinstance(found, EnduranceDocument)
    return found


def test_a_fleet_is_worn_stored_and_read(tmp_path: Path) -> None:
    """The further beyond the rated TBW the worse; what is known is not run again."""
    options = ("--class", "client", "--variant", "random", "--ages", "1,0.2,2")
    code, text = run(tmp_path, *options)
    found = document(tmp_path)
    assert [one.age for one in found.cells] == [0.2, 1, 2]
    assert " --class client --variant random --ages 1.0,0.2,2.0 --programs 30000.0 " in (
        found.run.command
    )
    assert [one.devices for one in found.cells] == [3, 3, 3]
    rates = [one.uber for one in found.cells if one.uber is not None]
    assert rates == sorted(rates)
    assert rates[0] < rates[2]
    for one in found.cells:
        assert (one.ffr_low, one.ffr_high) == wilson(one.failed, 3)
        assert one.ffr_max == 0.03
        assert one.uber_max == 1e-15
        low, high = (end / one.bits_read for end in poisson_interval(one.uecc))
        assert (one.uber_low, one.uber_high) == (low, high)
    # Drives that retire blocks at their rated cycles do not take twice the rated TBW.
    assert found.cells[2].failed + found.cells[2].uber_failed == 3
    written = [one.tbw_tb or 0.0 for one in found.cells]
    assert 0.0 < written[0] < written[1] <= written[2]
    assert (code == 0) == found.passed
    failed = {(one.device, one.age) for one in found.verdicts}
    assert len(failed) == sum(one.failed + one.uber_failed for one in found.cells)
    page = (tmp_path / "end" / "endurance.html").read_text(encoding="utf-8")
    assert "within their UBER, in percent" in page
    _, text = run(tmp_path, *options, "--json")
    again, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    assert again["digest"] == found.digest
    # A class that is not known ended the report with a KeyError.
    again["settings"]["classes"][0] = "<b>"
    with pytest.raises(DocumentError, match=r"settings\.classes\[0\]: .* is not known"):
        loaded(again)


def test_the_drive_that_ages_is_cut(tmp_path: Path) -> None:
    """Next to the same one without cuts; a client is used 8 hours a day for 5 years."""
    options = ("--class", "client", "--variant", "random", "--ages", "0.5,1",
               "--cut-every-hours", "1000")  # fmt: skip
    code, text = run(tmp_path, *options, devices=2)
    found = document(tmp_path)
    assert [one.cuts and one.cuts.cuts for one in found.cells] == [7, 14]
    for one in found.cells:
        assert one.cuts is not None
        assert (one.cuts.devices, one.cuts.faulty, one.cuts.faults) == (2, 0, {})
        assert one.cuts.torn_pages + one.cuts.half_erased_blocks > 0
        assert one.cuts.waf is not None
        assert one.cuts.waf.devices == 2
        assert 0.9 < one.cuts.waf.ratio < 1.1
        assert (one.cuts.low, one.cuts.high) == wilson(0, 2)
    assert (code == 0) == found.passed
    page = (tmp_path / "end" / "endurance.html").read_text(encoding="utf-8")
    assert "Power cuts while they age" in page
    _, text = run(tmp_path, *options, "--json", devices=2)
    again, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    assert again["digest"] == found.digest


def test_a_weak_drive_shows_when_it_failed_first(tmp_path: Path) -> None:
    weak = {"power": {"flush": "ignored"}, "ftl": {**DEVICE["ftl"], "write_buffer_pages": 16}}
    code, text = run(tmp_path, "--class", "client", "--variant", "cold_hot", "--cuts", "8",
                     "--claims", "honest-flush", devices=2, **weak)  # fmt: skip
    assert code == 1
    found = document(tmp_path)
    cuts = found.cells[0].cuts
    assert cuts is not None
    assert found.cells[0].failed == 0
    lost = cuts.faults["lost_flushed"]
    assert (cuts.faulty, lost.devices) == (2, 2)
    assert lost.cuts >= 2
    assert 0.0 < lost.first_age < 1.0
    assert 0.0 < lost.first_pe_cycles < 20.0
    assert any(one.with_cuts and "lost_flushed" in one.why for one in found.verdicts)
    assert "2 of 2" in text
    page = (tmp_path / "end" / "endurance.html").read_text(encoding="utf-8")
    assert "Faults that cuts showed" in page


def test_cuts_without_a_tbw_are_spread_over_wear() -> None:
    test = onl.reliability.drive_life_test(DEVICE, programs=3e4, cuts=6)
    assert test.cuts is not None
    assert (test.cuts.cuts, test.cuts.faults, test.cuts.errors) == (6, {}, [])
    assert test.pe_cycles == pytest.approx(20.0, rel=0.1)
    assert test.cuts.nand_bytes > test.cuts.host_bytes > 0.0
    again = onl.reliability.drive_life_test(DEVICE, programs=3e4, cuts=6)
    assert again == test


def test_a_rated_tbw_depends_on_no_other_age() -> None:
    fleet = {"name": "few", "devices": 1, "device": DEVICE}
    alone, among = (
        Settings(fleet, ("client",), ("random",), ages, programs=3e4)
        for ages in ((1.0,), (0.5, 1.0))
    )
    assert alone.rated_tbw() == among.rated_tbw() > 0


def test_what_a_model_does_not_know_is_said(tmp_path: Path) -> None:
    """A curve of wear alone makes storage and reads change nothing."""
    weibull = {"reliability": {"kind": "weibull"}, "ecc": {"algorithm": "bch"}}
    code, text = run(
        tmp_path, "--class", "client", "--variant", "read_disturb", devices=1, **weibull
    )
    assert code in {0, 1}
    assert "the error model of the device does not age data" in text
    assert "knows no read disturb" in text
    assert len(document(tmp_path).warnings) == 2
    known = Settings({"device": DEVICE, "devices": 1})
    assert known.warnings() == []


def test_how_a_device_fails() -> None:
    def told(error: str | None = None, **metrics: float) -> str:
        row = FleetRow(device=0, suite="s", key="k", metrics=metrics, error=error)
        return verdict(row, CLASSES["client"])

    assert told(passed=1.0, uber=1e-17, uber_low=0.0) == "ok"
    assert told(passed=0.0, uber=1e-17, uber_low=0.0) == "worn_out"
    assert told(passed=0.0, uber=1e-12, uber_low=0.0) == "uber"
    assert told(passed=0.0, uber=1e-17, uber_low=1e-9) == "uber"
    assert told(passed=0.0, uber=1e-17, uber_low=0.0, **{"cuts.faulty_cuts": 2.0}) == "cut"
    assert told("no spare block is left") == "error"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--class", "military"], "--class: `military` is not known; accepted: client, enterprise"),
        (["--variant", "noon"], "--variant: `noon` is not known; accepted: random, read_disturb"),
        (["--ages", "soon"], "--ages: `soon` is not valid"),
        (["--ages", "1,1"], "--ages: `1,1` is not valid"),
        (["--ages", "0"], "--ages: 0.0 is not valid; accepted: above 0, to 10"),
        (["--ages", "nan"], "--ages: nan is not valid"),
        (["--programs", "0"], "--programs: 0 is not valid; accepted: 1 to 1e+13"),
        (["--programs", "nan"], "--programs: nan is not valid"),
        (["--tbw", "-1"], "--tbw: -1 is not valid; accepted: above 0, to 1e+09 TB"),
        (["--tbw", "nan"], "--tbw: nan is not valid"),
        (["--cuts", "-1"], "--cuts: -1 is not valid"),
        (["--cuts", "3", "--cut-every-hours", "10"], "--cut-every-hours: give either this or"),
        (["--cut-every-hours", "0"], "--cut-every-hours: 0 is not valid; accepted: 0.438 to"),
        (["--cut-every-hours", "nan"], "--cut-every-hours: nan is not valid"),
        (["--cut-every-hours", "1e9"], "to 14600 hours of active use"),
        (["--claims", "soon"], "--claims: `soon` is not known; accepted: honest-flush, plp"),
        (["--use-years", "0"], "--use-years: 0 is not valid; accepted: above 0, to 100"),
        (
            ["--cuts", "3", "--set", "ftl.placement={kind: streams, count: 2}"],
            "so its power cannot be cut here",
        ),
        (["--set", "workload.pattern=random"], "the variants determine what is written"),
        (["--set", "nand.pages=3"], "nand.pages"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    tmp_path: Path, options: list[str], words: str
) -> None:
    code, text = run(tmp_path, *options)
    assert code == 2, text
    assert words in text
    assert not (tmp_path / "end").exists()


def test_fleet_files_bring_no_suites(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("devices: 2\nsuites: {a: {run: app}}\n")
    words = ["power", "endurance", str(tmp_path / "fleet.yaml"), "--output", str(tmp_path / "end")]
    done = CliRunner().invoke(command_line, words)
    assert done.exit_code == 2
    assert "suites: follow from classes, variants and ages" in " ".join(done.output.split())
