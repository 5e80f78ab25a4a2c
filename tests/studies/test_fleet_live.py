"""Fleets of drives that are there: each suite a command, nothing destroyed that was not named."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app as command_line
from opennandlab.documents.fleet import FleetDocument
from opennandlab.studies.fleet import live
from opennandlab.studies.fleet.live import LiveCampaign, LiveFleet, Permission
from opennandlab.studies.fleet.running import live_document
from opennandlab.targets.base import TargetError

APPS = {"run": "app", "app": {"suite": "light", "case": ["contact=2"], "runs": 1}}
LOAD = {"run": "pts.load", "pts": {"profile": "C", "time_base": "smoke"}}


def app(options: dict[str, Any]) -> dict[str, Any]:
    return {"run": "app", "app": {**APPS["app"], **options}}


def fleet(targets: list[str], **suites: Any) -> LiveFleet:
    return LiveFleet.of({"name": "bench", "targets": targets, "suites": suites})


def test_directories_are_run_and_one_that_is_not_there_stops_no_other(tmp_path: Path) -> None:
    """Two folders and a missing one: two rows with numbers, one with its reason, exit code 1."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    targets = [f"dir:{tmp_path / name}" for name in ("one", "none", "two")]
    file = tmp_path / "fleet.yaml"
    file.write_text(json.dumps({"name": "bench", "targets": targets, "suites": {"apps": APPS}}))
    output = tmp_path / "out"
    done = CliRunner().invoke(command_line, ["fleet", "run", str(file), "--output", str(output)])
    assert done.exit_code == 1, done.output
    document = onl.load(output / "fleet.json")
    assert isinstance(document, FleetDocument)
    assert [row.error is None for row in document.rows] == [True, False, True]
    assert "none" in str(document.rows[1].error)
    assert document.rows[0].metrics["contact.response_ms.mean"] > 0
    assert {row.metric for row in document.summary} >= {"score", "total_ms"}
    assert [one.drawn["target"] for one in document.devices] == targets
    assert (output / "device-2" / "apps" / "app.json").is_file()
    assert (output / "fleet.html").is_file()
    assert [it for name in ("one", "two") for it in (tmp_path / name).iterdir()] == []
    again = CliRunner().invoke(
        command_line, ["fleet", "run", str(file), "--output", str(output), "--only", "2", "--json"]
    )
    assert again.exit_code == 0, again.output
    listed = CliRunner().invoke(command_line, ["fleet", "devices", str(file), "--json"])
    assert json.loads(listed.output)["devices"]["1"]["drawn"] == {"target": targets[1]}


@pytest.mark.parametrize("count", [8, pytest.param(64, marks=pytest.mark.long)])
def test_all_directories_are_at_work_before_the_first_has_ended(count: int, tmp_path: Path) -> None:
    """However few cores there are: 64 phones do the work of a phone each, at the same time."""
    for index in range(count):
        (tmp_path / f"d{index}").mkdir()
    targets = [f"dir:{tmp_path / f'd{index}'}" for index in range(count)]
    file, output = tmp_path / "fleet.yaml", tmp_path / "out"
    file.write_text(json.dumps({"targets": targets, "suites": {"apps": APPS}}))
    done = CliRunner().invoke(command_line, ["fleet", "run", str(file), "--output", str(output)])
    assert done.exit_code == 0, done.output
    document = onl.load(output / "fleet.json")
    assert isinstance(document, FleetDocument)
    times = document.run.times or []
    assert [one.device for one in times] == list(range(count))
    began = max(one.began_s for one in times)
    assert began < min(one.ended_s for one in times)
    assert f"{count} devices began within {began:.3g} s, before the first ended" in done.output
    assert began <= 1.0  # what is wanted of 64 devices
    assert not (output / live.JOURNAL).exists()


def test_a_killed_fleet_of_directories_continues(tmp_path: Path) -> None:
    """One device at a time; what the journal has is not run again, and in the end it goes."""
    targets = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        targets.append(f"dir:{tmp_path / name}")
    file, output = tmp_path / "fleet.yaml", tmp_path / "out"
    file.write_text(json.dumps({"targets": targets, "suites": {"apps": APPS}}))
    words = ["fleet", "run", str(file), "--output", str(output), "--jobs", "1"]
    journal = output / live.JOURNAL
    with subprocess.Popen([sys.executable, "-m", "opennandlab", *words, "--quiet"]) as process:
        try:
            _until(journal.exists)
        finally:
            process.kill()
    first = (output / "device-0" / "apps" / "app.json").read_bytes()
    refused = CliRunner().invoke(command_line, [*words, "--destructive"])
    assert refused.exit_code == 0, refused.output
    assert "of 3 suites are known" in refused.output
    assert (output / "device-0" / "apps" / "app.json").read_bytes() == first
    document = onl.load(output / "fleet.json")
    assert isinstance(document, FleetDocument)
    assert [row.verdict for row in document.rows] == ["passed"] * 3
    assert 1 <= document.run.known < 3
    assert len(document.run.times or []) == 3 - document.run.known
    assert not journal.exists()


def test_what_failed_before_a_break_is_run_again_where_that_is_wanted(tmp_path: Path) -> None:
    bench = fleet(["dir:/tmp", "dir:/"], apps=APPS)

    def campaign(*, is_retry: bool = False, of: LiveFleet = bench) -> LiveCampaign:
        watch = lambda *_: None  # noqa: E731 (nothing is watched)
        return LiveCampaign(of, tmp_path, [0, 1], Permission(), watch, is_retry=is_retry)

    begun = campaign()
    for index, error in ((0, "full"), (1, None)):
        begun._journal.add(live.Found(index, "apps", {}, error).record)
    begun._journal.close()
    for is_retry, known in ((False, [0, 1]), (True, [1])):
        found = campaign(is_retry=is_retry)
        found._journal.close()
        assert [one.device for one in found.found] == known
    with pytest.raises(ConfigError, match="of other settings"):
        campaign(of=fleet(["dir:/tmp", "dir:/"], other=APPS))


def test_two_ways_to_write_a_directory_are_one_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for other in (f"{tmp_path}/", f"{tmp_path}/x/..", str(tmp_path / "link")):
        with pytest.raises(ConfigError, match="is the same as") as refused:
            fleet([f"dir:{tmp_path}", f"dir:{other}"], a=APPS)
        assert refused.value.path == "targets[1]"
    with pytest.raises(ConfigError, match="65 targets; accepted: a list of 1 to 64 targets"):
        fleet([f"dir:d{index}" for index in range(65)], a=APPS)
    with pytest.raises(ConfigError, match="no target is a drive; accepted: with nbd"):
        fleet(["dir:a"], a=LOAD)
    with pytest.raises(ConfigError, match="of simulated drives"):
        fleet(["dir:a"], a={"run": "chain", "stages": {"cut": {"run": "power"}}})


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="not installed: setpriv")
def test_what_a_killed_fleet_began_ends_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    file = tmp_path / "fleet.yaml"
    apps = {"run": "app", "app": {"suite": "light", "runs": 1000}}
    bench = {"name": "bench", "targets": [f"dir:{folder}"], "suites": {"apps": apps}}
    file.write_text(json.dumps(bench))
    words = ["fleet", "run", str(file), "--output", str(tmp_path / "out"), "--quiet"]
    with subprocess.Popen([sys.executable, "-m", "opennandlab", *words]) as process:
        try:
            _until(lambda: any(folder.glob("*/*")))
        finally:
            process.kill()
    _until(lambda: not any(folder.iterdir()))


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_nothing_is_destroyed_that_was_not_given_up(tmp_path: Path) -> None:
    """A served drive wants `--destructive`; a device wants its name as well; a folder neither."""
    bench = fleet(["dir:/tmp", "nbd+unix:///?socket=a.sock", "/dev/sdz"], a=APPS, load=LOAD)
    bench.check([0], Permission())
    for index, permission, said in (
        (1, Permission(), "would be destroyed"),
        (2, Permission(), "would be destroyed"),
        (2, Permission(destructive=True), "--i-know sdz"),
        (2, Permission(destructive=True, known=("sdy",)), "--i-know sdz"),
        (3, Permission(destructive=True), "accepted: 0 to 2"),
    ):
        with pytest.raises((ConfigError, TargetError), match=said):
            bench.check([index], permission)
    permission = Permission(destructive=True, known=("sdz",))
    bench.check([0, 1, 2], permission)
    apps, load = bench.suites
    served = bench.command(1, load, tmp_path, permission)
    assert served[:4] == ["pts", "load", "--profile=C", "--time-base=smoke"]
    assert "--destructive" in served
    assert "--i-know" not in served
    device = bench.command(2, load, tmp_path, permission)
    assert device[device.index("--i-know") + 1] == "sdz"
    assert "--destructive" not in bench.command(0, apps, tmp_path, permission)
    # Without permission the gate of `pts` itself is still there.
    assert "--destructive" not in bench.command(1, load, tmp_path, Permission())


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"targets": [], "suites": {"a": APPS}}, "targets"),
        ({"targets": ["sim:tlc_standard"], "suites": {"a": APPS}}, "targets[0]"),
        ({"targets": ["dir:"], "suites": {"a": APPS}}, "targets[0]"),
        ({"targets": ["dir:a", "dir:a"], "suites": {"a": APPS}}, "targets[1]"),
        ({"targets": ["dir:a"], "suites": {}}, "suites"),
        ({"targets": ["dir:a"], "suites": {"a": LOAD}}, "suites.a"),
        ({"targets": ["/dev/sdz"], "suites": {"a": APPS}}, "suites.a"),
        ({"targets": ["dir:a"], "suites": {"a": {"run": "benchmark"}}}, "suites.a"),
        ({"targets": ["dir:a"], "suites": {"a": {"run": "app", "pts": {}}}}, "suites.a.pts"),
        ({"targets": ["dir:a"], "suites": {"a": APPS}, "spread": {}}, "spread"),
        (
            {"targets": ["/dev/sdz"], "suites": {"a": {"run": "pts.load", "pts": {"force": True}}}},
            "suites.a.pts.force",
        ),
        # Spelled as it is typed, and what no file may say.
        ({"targets": ["dir:a"], "suites": {"a": app({"i-know": "sdz"})}}, "suites.a.app.i-know"),
        ({"targets": ["dir:a"], "suites": {"a": app({"dry-run": True})}}, "suites.a.app.dry-run"),
        (
            {"targets": ["dir:a"], "suites": {"a": app({"allow-code": True})}},
            "suites.a.app.allow-code",
        ),
        ({"targets": ["dir:a"], "suites": {"a": app({"runs=1": 2})}}, "suites.a.app"),
        # The name of a suite is that of a folder in `--output`.
        ({"targets": ["dir:a"], "suites": {"../../../pwn": APPS}}, "suites"),
        ({"targets": ["dir:a"], "suites": {"/pwn": APPS}}, "suites"),
        ({"targets": ["dir:a"], "suites": {"..": APPS}}, "suites"),
        ({"targets": ["dir:a"], "suites": {"a\\b": APPS}}, "suites"),
    ],
)
def test_what_is_no_fleet_of_targets_is_refused(document: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as refused:
        LiveFleet.of({"name": "bench", **document})
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ({"run": "app", "app": {"suite": "lihgt"}}, "suites.a: suite: `lihgt` is not a suite"),
        ({"run": "app", "app": {"case": ["contcat"]}}, "suites.a: case: `contcat` is not a case"),
        ({"run": "app", "app": {"rnus": 1}}, "suites.a: no such option: --rnus"),
        ({"run": "app", "app": {"runs": "many"}}, "suites.a: invalid value for '--runs'"),
    ],
)
def test_typing_errors_in_suites_are_found_before_anything_runs(
    suite: dict[str, Any], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "live.yaml"
    file.write_text(json.dumps({"targets": [f"dir:{tmp_path}"], "suites": {"a": suite}}))
    words = ["fleet", "run", str(file), "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(command_line, words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()


def test_options_of_the_one_kind_are_not_for_the_other(tmp_path: Path) -> None:
    targets, simulated = tmp_path / "live.yaml", tmp_path / "simulated.yaml"
    targets.write_text(json.dumps({"targets": ["dir:a"], "suites": {"a": APPS}}))
    simulated.write_text(json.dumps({"devices": 1, "suites": {"a": {"run": "app"}}}))
    for file, *options in ((targets, "--store", "kept"), (simulated, "--destructive")):
        words = ["fleet", "run", str(file), "--output", str(tmp_path / "out"), *options]
        done = CliRunner().invoke(command_line, words)
        assert done.exit_code == 2
        assert not (tmp_path / "out").exists()


def test_an_interrupt_ends_what_runs_also_what_does_not_listen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that ignores Ctrl-C, which it causes itself: it is ended, nothing is found."""
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' INT\nkill -INT $PPID\nexec sleep 600\n")
    deaf.chmod(0o755)
    monkeypatch.setattr(live, "program", lambda _: [str(deaf)])
    monkeypatch.setattr(live, "PATIENCE_S", (0.2, 0.2))
    bench = fleet(["dir:/tmp", "dir:/"], a=APPS, b=APPS)
    told: list[str] = []
    campaign = LiveCampaign(bench, tmp_path, [0, 1], Permission(), lambda *_: told.append("done"))
    assert campaign.to_the_end(1, lambda: told.append("interrupted"))
    assert (told, campaign.found) == (["interrupted"], [])
    document = live_document(campaign, "fleet run", partial=True)
    assert (document.partial, document.passed, document.rows) == (True, False, [])


@pytest.mark.parametrize("key", ["may_fill", "may-fill"])
def test_a_file_alone_fills_no_file_system(key: str, tmp_path: Path) -> None:
    """`may_fill: true` in a file of somebody else filled the disk to 95 % without a word."""
    bench = fleet([f"dir:{tmp_path}"], a=app({key: True}))
    with pytest.raises(TargetError, match=r"suites.a.app.may_fill: .* with --may-fill"):
        bench.check([0], Permission(destructive=True, force=True))
    bench.check([0], Permission(may_fill=True))
    assert "--may-fill" in bench.command(0, bench.suites[0], tmp_path, Permission(may_fill=True))
