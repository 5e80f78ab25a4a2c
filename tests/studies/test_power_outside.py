"""Drives outside: the host side against a disk that does what it is told to, and our own server.

The fake disk is the mutator: it loses, tears, misplaces and forgets on purpose, one class at a
time, and the campaign must name that class and no other.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app as command_line
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.serving.server import Plan, Served
from opennandlab.studies.power import capture
from opennandlab.studies.power.campaign import SMALL
from opennandlab.studies.power.outside import records
from opennandlab.studies.power.outside.campaign import Campaign, DeadDriveError, Settings
from opennandlab.studies.power.outside.disks import opened
from opennandlab.studies.power.outside.records import (
    DATA,
    EMPTY,
    GARBAGE,
    TORN,
    Write,
    content,
    read,
)
from opennandlab.studies.power.outside.supply import Commands, SupplyError
from opennandlab.studies.power.outside.telling import document
from opennandlab.targets.base import TargetError
from opennandlab.targets.consent import Consent

UNIT = 4096
UNITS = 96


def test_records_tell_whose_they_are() -> None:
    write = Write(7, 3, issued_ns=5)
    whole = content(1, write, UNIT)
    assert len(whole) == UNIT
    assert read(1, 7, whole, {}) == (DATA, 7, 3)
    assert read(1, 8, whole, {}) == (DATA, 7, 3), "of another address"
    assert read(2, 7, whole, {}) == (DATA, 7, 0), "of another campaign: older than everything"
    assert read(1, 7, bytes(UNIT), {}) == (EMPTY, 7, 0)
    newer = content(1, Write(7, 4, issued_ns=9), UNIT)
    known = {3: whole, 4: newer}
    for sectors in range(1, 8):
        torn = newer[: 512 * sectors] + whole[512 * sectors :]
        assert read(1, 7, torn, known) == (TORN, 7, 4)
        assert read(1, 7, torn[:-512] + bytes(512), known)[0] == TORN, "and zeros of before"
        assert read(1, 7, torn[:100] + b"!" + torn[101:], known)[0] == GARBAGE
    for place in range(0, UNIT, 97):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        assert read(1, 7, bytes(damaged), known)[0] == GARBAGE


class FakeDisk:
    """A disk in memory with a volatile cache, and its power.

    Args:
        fault: What it does at the first cut that it can.
    """

    name = "/dev/fake"
    can_trim = True
    resends = False

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.flash = bytearray(UNIT * UNITS)
        self.cache: list[tuple[int, bytes]] = []
        self.lock = threading.Lock()
        self.is_on = True
        self.bad: set[int] = set()
        self.reads = 0
        self.cuts = 0
        self.capacity = UNIT * UNITS

    def facts(self) -> dict[str, object]:
        return {"target": self.name}

    def capacity_bytes(self) -> int:
        self._check()
        return self.capacity

    def unsafe_shutdowns(self) -> int:
        return 0 if self.fault == "miscounted" else self.cuts

    def connect(self) -> FakeDisk:
        self._check()
        return self

    def close(self) -> None:
        """Nothing is held."""

    def _check(self) -> None:
        if not self.is_on:
            raise OSError(19, "no power")

    def read(self, offset: int, length: int) -> bytes:
        with self.lock:
            self._check()
            if self.bad.intersection(range(offset // UNIT, (offset + length) // UNIT)):
                raise OSError(5, "cannot be read")
            found = bytearray(self.flash[offset : offset + length])
            for place, data in self.cache:
                first, end = max(place, offset), min(place + len(data), offset + length)
                if first < end:
                    found[first - offset : end - offset] = data[first - place : end - place]
            self.reads += 1
            if self.fault == "unstable" and self.cuts and self.reads % 2:
                found[1000] ^= 1
        return bytes(found)

    def write(self, offset: int, data: bytes, *, is_forced: bool = False) -> None:
        with self.lock:
            self._check()
            self.cache.append((offset, data))
            if is_forced:
                self._settle()

    def trim(self, offset: int, length: int) -> None:
        self.write(offset, bytes(length))

    def flush(self) -> None:
        with self.lock:
            self._check()
            if self.fault != "ignored" or not self.cuts:
                self._settle()

    def _settle(self) -> None:
        for place, data in self.cache:
            self.flash[place : place + len(data)] = data
        self.cache.clear()

    def off(self) -> None:
        with self.lock:
            if not self.is_on:
                return
            self.is_on = False
            self.cuts += 1
            stream = random.Random(self.cuts)  # noqa: S311 (no secret)
            before = bytes(self.flash)
            if self.fault != "all lost":
                # An honest disk keeps any of what was not flushed.
                self.cache = [it for it in self.cache if stream.random() < 0.5]
                self._settle()
            self.cache.clear()
            self._break(before, stream)

    def _break(self, before: bytes, stream: random.Random) -> None:
        units = [it for it in range(UNITS) if any(self._unit(it))]
        unit = stream.choice(units)
        here, other = slice(unit * UNIT, (unit + 1) * UNIT), (unit + 1) % UNITS
        if self.fault == "garbage":
            self.flash[here] = stream.randbytes(UNIT)
        elif self.fault == "flying":
            self.flash[here] = self._unit(other)
        elif self.fault == "torn":
            changed = [it for it in units if self._unit(it) != before[it * UNIT : it * UNIT + UNIT]]
            for it in changed:
                if before[it * UNIT : it * UNIT + UNIT].strip(b"\0"):
                    half = it * UNIT + 2048
                    self.flash[half : half + 2048] = before[half : half + 2048]
                    return
        elif self.fault == "unreadable":
            self.bad = {unit}
        elif self.fault == "smaller":
            self.capacity -= UNIT

    def _unit(self, unit: int) -> bytes:
        return bytes(self.flash[unit * UNIT : (unit + 1) * UNIT])

    def on(self) -> None:
        if self.fault != "dead":
            self.is_on = True


def campaign(
    disk: FakeDisk, folder: Path, *, cuts: int = 5, **more: Any
) -> tuple[Campaign, PowerDocument]:
    given: dict[str, Any] = {"claims": ("honest-flush",), "workloads": ("random",), **more}
    settings = Settings(cuts, span_bytes=UNIT * UNITS, after_ms=(3.0, 10.0), **given)
    made = Campaign(settings, disk, disk, folder)
    made.to_the_end()
    return made, document(made, "x", 0.0)


@pytest.mark.parametrize("workload", ["random", "sequential", "sync", "trim", "hot"])
def test_an_honest_disk_passes(tmp_path: Path, workload: str) -> None:
    _, found = campaign(FakeDisk(), tmp_path, workloads=(workload,))
    assert found.classes == {}
    assert found.passed
    assert found.cuts == 5
    assert found.smart is None
    assert found.cost.requests > 0
    assert found.none_below == pytest.approx(600)
    assert not (tmp_path / "evidence").exists()


@pytest.mark.parametrize(
    ("fault", "names", "more"),
    [
        ("ignored", {"lost_flushed"}, {"workloads": ("sync",)}),
        ("all lost", {"lost_acked"}, {"claims": ("honest-flush", "plp")}),
        ("garbage", {"bit_corruption"}, {}),
        ("flying", {"flying_write"}, {}),
        ("torn", {"shorn_write"}, {}),
        ("unreadable", {"retroactive_corruption"}, {}),
        ("unstable", {"unstable_read", "bit_corruption"}, {}),
        ("smaller", {"dead_device"}, {}),
    ],
)
def test_each_class_is_named_and_no_other(
    tmp_path: Path, fault: str, names: set[str], more: dict[str, Any]
) -> None:
    made, found = campaign(FakeDisk(fault), tmp_path, **more)
    assert set(found.classes), fault
    assert set(found.classes) <= names
    assert not found.passed
    one = found.evidence[0]
    kept = tmp_path / "evidence" / f"cut-{one.cut:06d}"
    log = [json.loads(line) for line in (kept / "host.log.jsonl").read_text().splitlines()]
    assert {"t", "n", "op"} <= set(log[0])
    assert json.loads((kept / "faults.json").read_text())["seed"] == 42
    if one.unit is not None:
        assert list(kept.glob("unit-*.hex"))
    assert made.done == 5


def test_a_drive_that_does_not_count_its_losses_is_told(tmp_path: Path) -> None:
    _, found = campaign(FakeDisk("miscounted"), tmp_path, cuts=2)
    said = "0 unsafe shutdowns before 1 more, and 0 after"
    assert found.errors == [f"cut 0: {said}", f"cut 1: {said}"]
    assert not found.passed


def test_a_dead_drive_ends_the_campaign_and_is_told(tmp_path: Path) -> None:
    disk = FakeDisk("dead")
    settings = Settings(5, span_bytes=UNIT * UNITS, after_ms=(3.0, 10.0), limit_us=50_000)
    made = Campaign(settings, disk, disk, tmp_path)
    with pytest.raises(DeadDriveError, match="/dev/fake does not come back after cut 0, nor after"):
        made.to_the_end()
    found = document(made, "x", 0.0, partial=True)
    assert found.classes["dead_device"].cuts == 1
    assert found.violations["G9"] == 1


def test_a_campaign_goes_on_and_other_settings_are_refused(tmp_path: Path) -> None:
    campaign(FakeDisk(), tmp_path, cuts=2)
    made, found = campaign(FakeDisk(), tmp_path, cuts=2)
    assert (made.done, found.cuts) == (2, 2)
    with pytest.raises(ConfigError, match="other settings"):
        campaign(FakeDisk(), tmp_path, cuts=3)


def test_ctrl_c_leaves_no_drive_without_power(tmp_path: Path) -> None:
    class Interrupted(FakeDisk):
        def off(self) -> None:
            super().off()
            raise KeyboardInterrupt

    disk = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        campaign(disk, tmp_path)
    assert disk.is_on


def test_ctrl_c_behind_the_end_of_a_command_is_no_other_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command that cuts the power has just ended: there is nobody left to kill."""
    communicate = subprocess.Popen.communicate

    def interrupted(process: subprocess.Popen[bytes], *args: Any, **more: Any) -> Any:
        communicate(process, *args, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Commands("true", "true", 5, "/dev/fake").off()


def test_a_switch_that_cuts_nothing_is_no_campaign_without_faults(tmp_path: Path) -> None:
    settings = Settings(5, span_bytes=UNIT * UNITS, after_ms=(3.0, 10.0))
    made = Campaign(settings, FakeDisk(), Commands("true", "true", 5, "/dev/fake"), tmp_path)
    with pytest.raises(SupplyError, match="/dev/fake still answers after its power was cut"):
        made.to_the_end()
    assert made.done == 0


@pytest.mark.parametrize(
    ("off", "words"),
    [
        ("echo relay stuck; exit 3", "failed with code 3: relay stuck"),
        ("sleep 60", "took longer than 0.2 s"),
        ("no-such-command-here", "failed with code 127"),
    ],
)
def test_a_switch_that_fails_or_hangs_ends_the_campaign(
    tmp_path: Path, off: str, words: str
) -> None:
    settings = Settings(5, span_bytes=UNIT * UNITS, after_ms=(3.0, 10.0))
    supply = Commands(off, "true", 0.2, "/dev/fake")
    made = Campaign(settings, FakeDisk(), supply, tmp_path)
    with pytest.raises(SupplyError) as raised:
        made.to_the_end()
    text = str(raised.value)
    assert words in text
    assert text.startswith("--power-off of /dev/fake")
    kept = tmp_path / "evidence" / "cut-000000" / "host.log.jsonl"
    assert str(kept.parent) in text
    assert kept.stat().st_size > 0


def served(folder: Path, changes: dict[str, Any] | None = None) -> Served:
    ftl = {**SMALL["ftl"], "write_buffer_pages": 64, "write_frontiers": "host_gc"}
    device = onl.load_device({**SMALL, "ftl": ftl}, changes)
    plan = Plan(device=device, timing="scaled:0.1", socket=folder / "s", power_socket=folder / "p")
    return Served(plan)


def run(folder: Path, *options: str) -> tuple[int, str]:
    target = f"nbd+unix:///?socket={folder / 's'}"
    words = ["power", "run", "--target", target, "--output", str(folder / "cuts"), *options]
    done = CliRunner().invoke(command_line, words)
    return done.exit_code, " ".join(done.output.split())


SHORT = ("--cuts", "5", "--span-mib", "8", "--after-ms", "20:80", "--destructive", "--quiet")


def test_our_own_server_is_cut_on_loopback(tmp_path: Path) -> None:
    """An honest drive passes; the switch is also turned by commands."""
    drive = served(tmp_path)
    code, text = run(tmp_path, *SHORT, "--power-socket", str(tmp_path / "p"))
    found = onl.load(tmp_path / "cuts" / "power.json")
    assert code == 0, text
    assert isinstance(found, PowerDocument)
    assert (found.cuts, found.classes, found.errors) == (5, {}, [])
    assert found.recovery_us.mean > 0
    for word in ("cut", "off", "on"):
        done = CliRunner().invoke(command_line, ["power", word, "--socket", str(tmp_path / "p")])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(command_line, ["power", "on", "--socket", str(tmp_path / "p")])
    assert "the power is on" in done.output
    told = drive.stop()
    assert told.power is not None
    assert told.power.unsafe_shutdowns == 7
    assert told.passed


def test_a_switch_that_changes_nothing_is_not_recorded(tmp_path: Path) -> None:
    """Power that was on and could not be turned on was an entry between two requests."""
    device = onl.load_device({**SMALL, "ftl": {**SMALL["ftl"], "write_buffer_pages": 64}})
    drive = Served(
        Plan(
            device=device,
            socket=tmp_path / "s",
            power_socket=tmp_path / "p",
            record_data=tmp_path / "d",
        )
    )
    for word, code in (("on", 2), ("off", 0), ("off", 2), ("on", 0)):
        done = CliRunner().invoke(command_line, ["power", word, "--socket", str(tmp_path / "p")])
        assert done.exit_code == code, done.output
    assert drive.stop().passed
    assert len(capture.read(tmp_path / "d").times_ns) == 2


def test_our_own_server_with_a_weak_drive_is_found_out(tmp_path: Path) -> None:
    drive = served(tmp_path, {"power.flush": "ignored"})
    code, text = run(tmp_path, *SHORT, "--power-socket", str(tmp_path / "p"), "--workload", "sync")
    drive.stop()
    assert code == 1
    assert "lost_flushed" in text
    found = onl.load(tmp_path / "cuts" / "power.json")
    assert isinstance(found, PowerDocument)
    assert found.violations["G1"] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--power-socket", "p"], "all its data would be lost: --destructive allows that"),
        (["--destructive"], "give exactly one way to cut the power"),
        (["--destructive", "--power-off", "true"], "give exactly one way to cut the power"),
        (["--destructive", "--power-socket", "p", "--power-on", "x"], "exactly one way"),
        (["--config", "tlc_standard"], "--config: belongs to a simulated drive"),
        (["--set", "power.flush=ignored"], "--set: belongs to a simulated drive"),
        (["--at", "gc"], "--at: belongs to a simulated drive"),
        (["--device", "/dev/null"], "give either --target or --device"),
        (["--power-socket", "p", "--after-ms", "9:1"], "--after-ms: 9:1 is not valid"),
        (["--power-socket", "p", "--after-ms", "soon"], "--after-ms: `soon` is not valid"),
        (["--power-socket", "p", "--atomic-bytes", "100"], "--atomic-bytes: 100 is not valid"),
        (["--power-socket", "p", "--span-mib", "0"], "--span-mib: 0 is not valid"),
        (["--power-socket", "p", "--switch-s", "nan"], "--switch-s: nan is not valid"),
        (["--power-socket", "p", "--claims", "magic"], "--claims: `magic` is not known"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    tmp_path: Path, options: list[str], words: str
) -> None:
    drive = served(tmp_path)
    code, text = run(tmp_path, *options)
    drive.stop()
    # What may not be destroyed is refused as a target is, by every verb.
    assert code == (3 if "would be lost" in words else 2)
    assert words in text
    assert not (tmp_path / "cuts").exists()


def test_devices_pass_the_gate_of_the_standard_tests(tmp_path: Path) -> None:
    for path in ("/dev/null", "/dev/no-such-device"):
        with pytest.raises(TargetError, match=path):
            opened(path, Consent(destructive=True, i_know=Path(path).name))
    with pytest.raises(ConfigError, match="cannot be cut; accepted"):
        opened("sim:tlc_standard", Consent())
    words = ["power", "run", "--device", "/dev/null", "--power-off", "true", "--power-on", "true",
             "--output", str(tmp_path / "cuts"), "--destructive"]  # fmt: skip
    done = CliRunner().invoke(command_line, words)
    assert done.exit_code == 3
    assert "no block device" in done.output
    assert not (tmp_path / "cuts").exists()


def test_options_that_belong_to_drives_outside_are_refused(tmp_path: Path) -> None:
    for option in (("--power-off", "true"), ("--destructive",), ("--i-know", "sda")):
        words = ["power", "run", "--output", str(tmp_path / "cuts"), *option]
        done = CliRunner().invoke(command_line, words)
        assert done.exit_code == 2
        said = f"{option[0]}: has no effect without --target or --device"
        assert said in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"power.journal_crc": False}, "power.journal_crc"),
        ({"power.root_pairs": False}, "power.root_pairs"),
        ({"power.map_order": "map_before_data"}, "power.map_order"),
        ({"power.subpage_write": "sub_page"}, "power.subpage_write"),
        ({"power.flush.delayed_ms": 5}, "power.flush"),
    ],
)
def test_what_a_served_drive_cannot_do_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        served(tmp_path, changes)
    assert list(tmp_path.iterdir()) == []


def test_the_judge_refuses_tables_that_do_not_fit() -> None:
    from opennandlab import _core

    claims = (True, False, False, False)
    with pytest.raises(ConfigError, match="are not rows of 2 numbers"):
        _core.power_check(b"123", b"", b"", claims)
    with pytest.raises(ConfigError, match="0 answers for 1 units"):
        _core.power_check(bytes(16), b"", b"", claims)
    with pytest.raises(ConfigError, match="unit 1 of 1"):
        _core.power_check(bytes(16), b"\1" + bytes(39), bytes(24), claims)
    assert records.HEADER_BYTES == 88


def loop_device(path: Path) -> str | None:
    """Return a loop device over a file; None where none can be made.

    Its number is one that nobody else is given while it is detached.
    """
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        return None
    path.write_bytes(bytes(8 << 20))
    device = f"/dev/loop{1000 + os.getpid() % 1000}"
    done = subprocess.run(["losetup", device, path], capture_output=True, check=False)
    return device if done.returncode == 0 else None


def test_a_block_device_is_written_past_the_cache_of_the_kernel(tmp_path: Path) -> None:
    """With a switch that takes it away and back everything is there; the gate wants its name."""
    device = loop_device(tmp_path / "disk")
    if device is None:
        pytest.skip("no loop device can be made here")
    try:
        words = ["power", "run", "--device", device, "--cuts", "2",
                 "--power-off", f"losetup --detach {device}",
                 "--power-on", f"losetup {device} {tmp_path / 'disk'}", "--span-mib", "4",
                 "--after-ms", "10:20", "--quiet", "--output", str(tmp_path / "cuts")]  # fmt: skip
        done = CliRunner().invoke(command_line, [*words, "--destructive"])
        assert done.exit_code == 3
        assert f"--i-know {Path(device).name}" in " ".join(done.output.split())
        done = CliRunner().invoke(
            command_line, [*words, "--destructive", "--i-know", Path(device).name]
        )
        assert done.exit_code == 0, done.output
        found = onl.load(tmp_path / "cuts" / "power.json")
        assert isinstance(found, PowerDocument)
        assert (found.cuts, found.classes) == (2, {})
    finally:
        subprocess.run(["losetup", "--detach", device], check=False)
