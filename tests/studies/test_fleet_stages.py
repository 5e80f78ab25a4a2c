"""Fleets in stages: the drive that was cut is the one that ages and is tested, killed or not."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.campaign import Stopped, Watcher
from opennandlab.base.errors import ConfigError, StoreError
from opennandlab.cli import app as command_line
from opennandlab.core.power_cut import TARGETS, cut_power
from opennandlab.documents.fleet import FleetDocument, FleetRow
from opennandlab.reports import fleet as pages
from opennandlab.store import Store
from opennandlab.studies.fleet.definition import Fleet
from opennandlab.studies.sweeps.verbs.chain import Chain, seed_of

# 8 MiB of flash: 1,600 logical pages on 64 blocks of 32.
CARD: dict[str, Any] = {
    "name": "card",
    "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
             "pages_per_block": 32},
    "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 8},
}  # fmt: skip
FILL_ERASES = 1600 / (64 * 32)
CUT = {"run": "power", "power": {"cuts": 24}}
OLD = {"run": "age", "age": {"drive_writes": 10}}
TEST = {"run": "pts.load", "pts": {"profile": "C", "time_base": "smoke"}}
STAGES: dict[str, Any] = {"cut": CUT, "old": OLD, "test": TEST}


def of(stages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    suites = {"life": {"run": "chain", "stages": stages}}
    return {"name": "cards", "devices": 2, "device": CARD, "suites": suites, **changes}


def words(folder: Path, *options: str) -> list[str]:
    return ["fleet", "run", str(folder / "fleet.yaml"), "--output", str(folder / "out"), *options]


def run(folder: Path, content: dict[str, Any], *options: str) -> tuple[FleetDocument, int, str]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fleet.yaml").write_text(json.dumps(content))
    done = CliRunner().invoke(command_line, words(folder, *options))
    document = onl.load(folder / "out" / "fleet.json")
    assert isinstance(document, FleetDocument), done.output
    return document, done.exit_code, done.output


def stage(document: FleetDocument, device: int, name: str) -> FleetRow:
    return next(row for row in document.rows if (row.device, row.stage) == (device, name))


@pytest.mark.parametrize(
    "test",
    [
        pytest.param({**TEST, "pts": {**TEST["pts"], "options": {"rates": "50%,90%"}}}, id="load"),
        pytest.param({**TEST, "run": "pts.latency"}, id="latency", marks=pytest.mark.long),
    ],
)
def test_64_cards_are_cut_age_and_are_tested_with_one_digest_however_often_killed(
    test: dict[str, Any], tmp_path: Path
) -> None:
    """Undisturbed with one job; with two jobs killed, interrupted by Ctrl-C, and run to the end."""
    spread = {"nand.timing.t_erase_us": {"normal": [3000, 200]}}
    stages, keys = {**STAGES, "test": test}, {"nand.max_pe_cycles": 100_000}
    content = of(stages, devices=64, spread=spread, set=keys)
    calm, code, text = run(tmp_path / "calm", content, "--jobs", "1")
    assert code == 0, text
    assert [(row.device, row.stage, row.verdict) for row in calm.rows] == [
        (device, name, "passed") for device in range(64) for name in STAGES
    ]
    assert len({one.seed for one in calm.devices}) == 64
    assert len({row.state for row in calm.rows}) == 3 * 64
    assert next(row.count for row in calm.summary if row.suite == "life/cut") == 64

    folder = tmp_path / "disturbed"
    folder.mkdir()
    (folder / "fleet.yaml").write_text(json.dumps(content))
    for signal_number, points in ((signal.SIGKILL, 8), (signal.SIGINT, 24)):
        command = [sys.executable, "-m", "opennandlab", *words(folder, "--jobs", "2", "--quiet")]
        with subprocess.Popen(command) as process:
            try:
                _until(lambda: _points(folder / "out") >= points)  # noqa: B023 (at once)
            finally:
                process.send_signal(signal_number)
        assert process.returncode in {-signal.SIGKILL, 130}
        assert points <= _points(folder / "out") < 64
    done = CliRunner().invoke(command_line, words(folder, "--jobs", "2"))
    assert done.exit_code == 0, done.output
    assert "of 64 points are known" in done.output
    found = onl.load(folder / "out" / "fleet.json")
    assert isinstance(found, FleetDocument)
    assert found.digest == calm.digest
    assert found.run.known >= 24


def _points(folder: Path) -> int:
    try:
        with Store.open(folder, create=False) as store:
            return len(store)
    except StoreError:
        return 0


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_drive_that_was_cut_is_the_one_that_ages_and_is_tested(tmp_path: Path) -> None:
    """By hand, with the public calls: the same cuts on the same drive leave the same image."""
    found, _, text = run(tmp_path, of(STAGES, devices=1))
    seed = found.devices[0].seed
    image = tmp_path / "drive.image"
    onl.Simulation(CARD, seed).save(image)
    drive = onl.Simulation.load(image, seed_of(seed, "cut"))
    workloads = ("random", "sequential", "sync")
    for number in range(24):
        shown = cut_power(
            drive, number, workload=workloads[number % 3], at=TARGETS[number % len(TARGETS)]
        )
        assert shown["classes"] == []
    drive.save(image)
    cut, old, test = (stage(found, 0, name) for name in STAGES)
    assert hashlib.sha256(image.read_bytes()).hexdigest() == cut.state, text
    # Wear only grows: ageing erases what ten fills take, and a test adds to that.
    erases = [row.metrics["erase_count_mean"] for row in (cut, old, test)]
    assert erases[1] - erases[0] >= 10 * FILL_ERASES
    assert erases[2] > erases[1]
    assert test.note == "smoke: no measurement"


@pytest.mark.parametrize("age", ["write", "warp"])
def test_ageing_adds_the_erases_of_its_fills(age: str, tmp_path: Path) -> None:
    """10 fills are 10 x 1600 pages on 2048: 7.8125 erases a block; 20 on the same drive 15.625."""
    stages = {
        name: {"run": "age", "age": {"drive_writes": fills, "age": age}}
        for name, fills in (("ten", 10), ("more", 20))
    }
    found, _, _ = run(tmp_path, of(stages, devices=1))
    ten, more = (stage(found, 0, name).metrics["erase_count_mean"] for name in stages)
    # Set erases differ by 10 % a block, drawn: four standard errors of a uniform law over 64.
    within = 0.0 if age == "write" else 4 * 0.1 * 3**-0.5 / 8 * 30 * FILL_ERASES
    assert ten == pytest.approx(10 * FILL_ERASES, abs=within + 1e-9)
    assert more - ten == pytest.approx(20 * FILL_ERASES, abs=within + 1e-9)


def test_a_chain_goes_on_in_the_middle_of_its_test(tmp_path: Path) -> None:
    """Stopped within each stage in turn: what was done stays, and the result is the same."""
    chain = Chain()
    settings = chain.reader({"device": CARD, "stages": STAGES})({})
    whole = chain.run(settings, 7, lambda _: None)

    def until(limit: float) -> Watcher:
        def watch(share: float | None) -> None:
            if share is not None and share > limit:
                raise Stopped

        return watch

    for limit in (0.2, 0.5, 0.9):
        with pytest.raises(KeyboardInterrupt):
            chain.run(settings, 7, until(limit), tmp_path)
    images = sorted(path.name for path in tmp_path.glob("*.image"))
    assert images == ["state-2.image"]
    shares: list[float] = []
    assert chain.run(settings, 7, lambda it: shares.append(it or 0.0), tmp_path) == whole
    assert min(shares) >= 2 / 3
    # All is done: nothing is run again. Without its image nothing is known.
    shares.clear()
    assert chain.run(settings, 7, lambda it: shares.append(it or 0.0), tmp_path) == whole
    assert shares == []
    (tmp_path / "state-3.image").write_bytes(b"other")
    assert chain.run(settings, 7, lambda it: shares.append(it or 0.0), tmp_path) == whole
    assert min(shares) < 1 / 3


def test_a_test_that_was_killed_before_its_drive_was_kept_is_run_again(tmp_path: Path) -> None:
    """Its document says that it is done, and gives no drive."""
    chain = Chain()
    settings = chain.reader({"device": CARD, "stages": {"test": TEST, "cut": CUT}})({})
    whole = chain.run(settings, 7, lambda _: None)

    def at_the_cuts(share: float | None) -> None:
        if share is not None and share > 0.5:
            raise Stopped

    with pytest.raises(KeyboardInterrupt):
        chain.run(settings, 7, at_the_cuts, tmp_path)
    # As if it had been killed between the document and the journal.
    journal = tmp_path / "chain.jsonl"
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    (tmp_path / "stage-0" / "load.json").write_text('{"partial": false}')
    assert chain.run(settings, 7, lambda _: None, tmp_path) == whole


def test_applications_and_cuts_on_a_drive_that_is_old_and_dirty(tmp_path: Path) -> None:
    """Six stages on 660 MB; a full drive moves more pages before its cuts than a new one does."""
    nand = {"channels": 1, "dies_per_channel": 2, "blocks_per_plane": 330, "planes_per_die": 1}
    few = {"run": "power", "power": {"cuts": 3}}
    soil = {"state": "old-dirty", "age": "warp", "dirt": "pages", "drive_writes": 20}
    stages = {
        "cut": few,
        "dirty": {"run": "age", "age": soil},
        "apps": {"run": "app", "app": {"cases": {"camera": 1}}},
        "again": few,
        # The write cache is off in the test, and on again behind it.
        "test": {"run": "pts.access_time", "pts": {"profile": "E", "time_base": "smoke"}},
        "last": few,
    }
    keys = {"ftl.gc_reserve_blocks": 8, "ftl.write_buffer_pages": 64}
    content = of(stages, devices=1, device={"nand": nand}, set=keys)
    found, code, text = run(tmp_path, content)
    assert code == 0, text
    numbers = {name: stage(found, 0, name).metrics for name in stages}
    assert numbers["again"]["waf"] > numbers["cut"]["waf"]
    assert numbers["apps"]["total_ms"] > 0
    effective = onl.load_device({"nand": nand}).effective
    share = effective["logical_pages"] / effective["physical_pages"]
    assert numbers["dirty"]["erase_count_mean"] > 20 * share
    erases = [it["erase_count_mean"] for it in numbers.values()]
    assert erases == sorted(erases)


def test_a_drive_that_loses_data_fails_and_goes_on(tmp_path: Path) -> None:
    """Flushes that do nothing: `lost_flushed`, as `power run` finds; the drive ages even so."""
    keys = {"power.flush": "ignored", "ftl.write_buffer_pages": 64}
    cut = {"run": "power", "power": {"cuts": 30, "claims": ["honest-flush"]}}
    found, code, text = run(tmp_path, of({"cut": cut, "old": OLD}, set=keys))
    assert code == 1
    row = stage(found, 1, "cut")
    assert (row.verdict, stage(found, 1, "old").verdict) == ("failed", "passed")
    assert "lost_flushed" in str(row.error)
    assert row.metrics["per_1000"] == pytest.approx(1000 * row.metrics["faulty_cuts"] / 30)
    assert found.failed == 2
    assert "life/cut: " in text


def test_behind_a_stage_that_left_no_drive_nothing_is_run(tmp_path: Path) -> None:
    """Blocks that stand 40 cycles: the test writes more, and the cuts behind it have no drive."""
    stages = {"old": OLD, "test": TEST, "cut": CUT}
    found, code, text = run(tmp_path, of(stages, set={"nand.max_pe_cycles": 40}))
    assert code == 1
    old, test, cut = (stage(found, 0, name) for name in stages)
    assert (old.verdict, test.verdict, cut.verdict) == ("passed", "failed", "not_run")
    assert "worn out" in str(test.error)
    assert cut.error == "stage `test` left no drive"
    assert (test.state, cut.state) == (None, None)
    assert "not run" in text
    # The devices are run to their ends, and stay known.
    again, _, text = run(tmp_path, of(stages, set={"nand.max_pe_cycles": 40}))
    assert "2 of 2 points are known" in text
    assert again.digest == found.digest


def test_one_stage_is_a_suite_and_stages_can_be_drawn(tmp_path: Path) -> None:
    content = of({}, suites={"cut": CUT}, spread={"stages.cut.power.cuts": {"integers": [2, 9]}})
    found, code, text = run(tmp_path, content)
    assert code == 0, text
    drawn = [one.drawn["stages.cut.power.cuts"] for one in found.devices]
    assert [row.metrics["cuts"] for row in found.rows] == drawn
    assert [row.label for row in found.rows] == ["cut", "cut"]


def test_what_was_run_is_shown_and_drawn_again(tmp_path: Path) -> None:
    found, _, text = run(tmp_path, of(STAGES))
    file = str(tmp_path / "out" / "fleet.json")
    assert "0-1    │     2 │ life/test │ passed  │ smoke: no measurement" in text
    shown = CliRunner().invoke(command_line, ["fleet", "show", file, "--device", "1"])
    assert shown.output.count("life/") == 3
    assert all(len(line) <= 80 for line in shown.output.splitlines()[:6])
    listed = CliRunner().invoke(command_line, ["fleet", "show", file, "--device", "1", "--json"])
    assert [row["stage"] for row in json.loads(listed.output)["rows"]] == list(STAGES)
    whole = CliRunner().invoke(command_line, ["fleet", "show", file])
    assert f"digest {found.digest}" in whole.output
    other = CliRunner().invoke(command_line, ["fleet", "show", file, "--device", "2"])
    assert other.exit_code == 2
    assert "accepted: 0-1" in other.output
    page = tmp_path / "page.html"
    drawn = CliRunner().invoke(command_line, ["report", file, "--html", str(page)])
    assert drawn.exit_code == 0, drawn.output
    assert "Stage by stage" in page.read_text(encoding="utf-8")


def test_ranges_of_devices_are_short() -> None:
    assert pages.ranges([3, 1, 2, 9]) == "1-3, 9"


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ({}, "suites.life.stages: .*1 to 100"),
        ({"a": 5}, "suites.life.stages.a: `5` is not a stage"),
        ({"a": {"run": "powr"}}, "suites.life.stages.a.run: .*power, age, app, .*mean `power`"),
        ({"a": {"run": "pts.laod"}}, "suites.life.stages.a.run: .*did you mean `pts.load`"),
        ({"a": {"run": "benchmark"}}, "stages.a.run: `benchmark` passes no drive on"),
        ({"a": {"run": "pts.scalability"}}, "stages.a.run: `pts.scalability` passes no drive on"),
        ({"a": {"run": "age", "ages": {}}}, "stages.a.ages: is unknown; accepted: run, age"),
        ({"a": {"run": "pts.load", "pts": {"state": "eol"}}}, "pts.state: `eol` is for new drives"),
        ({"a": {"run": "power", "power": 5}}, "stages.a.power: `5` is not a mapping"),
        ({"a": {"run": "power", "power": {"cuts": 0}}}, "stages.a.power.cuts: .*1 to 100000"),
        ({"a": {"run": "power", "power": {"cuts": True}}}, "stages.a.power.cuts: `True`"),
        ({"a": {"run": "power", "power": {"at": ["x"]}}}, "stages.a.power.at: .*a list of random"),
        ({"a": {"run": "power", "power": {"claims": "plp"}}}, "stages.a.power.claims: `plp`"),
        ({"a": {"run": "power", "power": {"claims": ["x"]}}}, "stages.a.power.claims: .*rzat"),
        ({"a": {"run": "power", "power": {"ready_ms": -1}}}, "stages.a.power.ready_ms: `-1`"),
        ({"a": {"run": "age", "age": {"state": "young-clean"}}}, "stages.a.age.state: .*nothing"),
        ({"a": {"run": "age", "age": {"drive_writes": 0}}}, "stages.a.age.drive_writes: 0"),
        ({"a": {"run": "age", "age": {"format": 5}}}, "stages.a.age.format: `5` is not text"),
        ({"a": {"run": "app", "app": {"suite": "lihgt"}}}, "stages.a.app.suite: `lihgt`"),
        ({"a": {"run": "pts.load", "pts": {"profile": "Z"}}}, "stages.a.pts.profile: `Z`"),
        ({"a.b": {"run": "age"}}, "without dots and slashes"),
        ({"../a": {"run": "age"}}, "without dots and slashes"),
    ],
)
def test_stages_that_are_wrong_are_refused_before_anything_runs(
    stages: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        Fleet.of(of(stages)).check()
    (tmp_path / "fleet.yaml").write_text(json.dumps(of(stages)))
    assert CliRunner().invoke(command_line, words(tmp_path)).exit_code == 2
    assert os.listdir(tmp_path) == ["fleet.yaml"]  # noqa: PTH208 (names alone)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"set": {"stages.cut.power.cuts": 0}}, "suites.life.stages.cut.power.cuts: `0`"),
        ({"set": {"stages.cat.power.cuts": 1}}, "stages.cat.power.cuts: belongs to no stage"),
        ({"set": {"ftl.gc_reserve_blocks": 1}}, "suites.life.stages.cut.run: .*2 or more"),
        ({"device": "disc_10k_600gb"}, "not a flash device"),
        ({"device": "emmc_16gb"}, "stages.cut.power.cuts: 3850240 logical pages"),
        ({"suites": {"life": {"run": "chain"}}}, "suites.life.stages: is missing"),
        ({"suites": {"cut": {"run": "power", "power": {"cuts": 0}}}}, "stages.cut.power.cuts"),
    ],
)
def test_a_device_or_a_key_that_no_stage_takes_is_refused(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        Fleet.of(of(STAGES, **changes)).check()


def test_two_stages_of_one_name_are_refused(tmp_path: Path) -> None:
    text = json.dumps(of({"cut": CUT})).replace('"cut": {', '"cut": {"run": "age"}, "cut": {', 1)
    (tmp_path / "fleet.yaml").write_text(text)
    done = CliRunner().invoke(command_line, words(tmp_path))
    assert done.exit_code == 2
    assert 'duplicate key "cut"' in done.output
