"""Purge of NVMe drives by what nvme-cli of many versions prints, and what the kernel shows of them.

The tool is `nvme_cli.py` under the name `nvme` in the search path; no test touches a device, and
none waits.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from opennandlab.targets.base import Step, TargetError
from opennandlab.targets.block import Block, read_block
from opennandlab.targets.probe import Probe
from opennandlab.targets.purge import (
    ERASE_S_MAX,
    SANITIZE_POLL_S,
    STILL_S_MAX,
    UNREAD_MAX,
    NvmeFormat,
    NvmeSanitize,
    ways,
)
from places import FOLDER

VERSIONS = ["1.8", "1.9", "1.10", "1.16", "2.0", "2.3", "2.8", "2.11", "2.16", "3.0"]
# What a drive says that does not know how long an erase takes.
NOT_SAID = 0xFFFFFFFF


class Machine(Probe):
    """A system whose only tool is the stand-in."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder / "root")
        self.state = folder / "drive.json"
        self.waited_s = 0.0
        (folder / "bin").mkdir()
        stand_in = FOLDER / "nvme_cli.py"
        tool = folder / "bin" / "nvme"
        words = shlex.join([sys.executable, "-S", str(stand_in)])
        tool.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder / "bin"))
        monkeypatch.setenv("NVME_STAND_IN", str(self.state))
        self.drive()
        for name in ("nvme0n1", "nvme0n1p1"):
            self.shows(name)

    def drive(self, version: str = "2.3", log: Any = ((1, 65535, 60),), **said: Any) -> None:
        """Make the drive again."""
        controller = {"nn": 1, "oacs": 2, "sanicap": 2, "fna": 0, **said}
        answers = {"id-ctrl": controller, "id-ns": {"flbas": 0},
                   "list-ns": {"nsid_list": [{"nsid": 1}]}}  # fmt: skip
        self.state.write_text(
            json.dumps(
                {"version": version, "drive": answers, "log": log, "done": [], "waited_s": 0}
            )
        )

    def shows(self, name: str) -> None:
        """Let /sys/class/block show something."""
        place = self.root / "sys/class/block" / name
        place.mkdir(parents=True)
        (place / "size").write_text("131072\n")

    @property
    def kept(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.state.read_text())
        return found

    def kernel_name(self, path: str | int) -> str | None:
        return Path(str(path)).name

    def wait(self, seconds: float) -> None:
        self.waited_s += seconds


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def block_of(machine: Machine) -> Block:
    found = read_block("/dev/nvme0n1", machine)
    assert found is not None
    return found


def offered(machine: Machine) -> list[str]:
    return [type(way).__name__ for way in ways(block_of(machine), machine)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sanitize_ends_with_its_log(version: str, machine: Machine) -> None:
    """`sstat.status` is a sentence: it was taken for unread, and polled for 24 hours."""
    machine.drive(version, [(2, 0, 60), (0x102, 32768, 60), (0x101, 65535, 60)])
    steps: list[Step] = []
    done = NvmeSanitize(block_of(machine), machine).do(steps.append)
    assert (done.method, done.is_purge) == ("NVMe sanitize, block erase", True)
    assert machine.kept["done"] == ["sanitize --sanact"]
    assert [step.fraction for step in steps] == [0.0, 0.5]
    assert machine.waited_s == 3 * SANITIZE_POLL_S


def test_the_stand_in_says_the_state_as_a_sentence(machine: Machine) -> None:
    """What the JSON is like, in which no number says that a sanitize is over."""
    machine.drive(log=[(0x101, 65535, 60)])
    answer = machine.ask("nvme", "sanitize-log", "/dev/nvme0n1", "--output-format=json")
    assert answer is not None
    status = json.loads(answer.text)["nvme0n1"]["sstat"]["status"]
    assert status == "(1) Most Recent Sanitize Command Completed Successfully."


def test_a_sanitize_that_keeps_its_blocks_is_over_too(machine: Machine) -> None:
    machine.drive(log=[(2, 0, 60), (4, 65535, 60)])
    done = NvmeSanitize(block_of(machine), machine).do()
    assert (done.is_purge, done.note) == (True, "the drive kept what it erased allocated")


@pytest.mark.parametrize(
    ("log", "words", "waited_s"),
    [
        ([(2, 100, 60), (3, 100, 60)], "its sanitize failed", 2 * SANITIZE_POLL_S),
        ([(2, 6554, NOT_SAID)], "stands at 10 % since 60 minutes", STILL_S_MAX + SANITIZE_POLL_S),
        # An erase of half an hour, of which nothing is seen.
        ([(2, 0, 1800)], "stands at 0 % since 120 minutes", 4 * 1800 + SANITIZE_POLL_S),
        ([None], "its log cannot be read", UNREAD_MAX * SANITIZE_POLL_S),
        ([(0, 0, 60)], "its log has the state 0", UNREAD_MAX * SANITIZE_POLL_S),
    ],
)
def test_a_sanitize_that_fails_or_does_not_end_ends_the_test(
    log: list[Any], words: str, waited_s: float, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A discard behind it would be refused by the drive, or be called a purge."""
    machine.drive(log=log)
    block = block_of(machine)
    if waited_s > 100:  # thousands of questions: the answer is the same for all of them
        answer = machine.ask("nvme", "get-log", block.node, "--log-id=129", "--log-len=512")
        monkeypatch.setattr(machine, "ask", lambda *_: answer)
    with pytest.raises(TargetError, match=words):
        NvmeSanitize(block, machine).do()
    assert machine.waited_s == pytest.approx(waited_s)
    assert machine.waited_s < ERASE_S_MAX


def test_a_log_that_is_not_read_once_is_asked_again(machine: Machine) -> None:
    machine.drive(log=[None, (2, 0, 60), None, (2, 9, 60), (1, 65535, 60)])
    assert NvmeSanitize(block_of(machine), machine).do().is_purge


@pytest.mark.parametrize("version", VERSIONS)
def test_a_format_waits_for_no_change_of_mind(version: str, machine: Machine) -> None:
    """From 1.10 on it waited 10 s, which counted as the time of the purge; 1.9 has no --force."""
    machine.drive(version)
    way = NvmeFormat(block_of(machine), machine)
    assert way.do().is_purge
    has_force = version not in {"1.8", "1.9"}
    assert machine.kept["done"] == ["format --force --ses" if has_force else "format --ses"]
    assert machine.kept["waited_s"] == 0
    assert ("--force" in way.describe()) is has_force


def test_paths_of_a_drive_with_several_controllers_are_no_namespaces(machine: Machine) -> None:
    """`nvme0c0n1` was taken for a second namespace, and only discard was offered."""
    machine.drive(cmic=2)
    for name in ("nvme0c0n1", "nvme0c1n1", "nvme1n1", "nvme10n1"):
        machine.shows(name)
    assert offered(machine) == ["NvmeFormat", "NvmeSanitize"]
    machine.shows("nvme0n2")
    assert offered(machine) == []


@pytest.mark.parametrize(("fna", "flbas"), [(0, 1), (1, 0), (1, 0x10), (1, 1), (1, 0x20)])
def test_a_format_that_would_change_the_sectors_is_not_offered(
    fna: int, flbas: int, machine: Machine
) -> None:
    """Of drives that format all namespaces at once nvme-cli asks for LBA format 0, unless told."""
    machine.drive(fna=fna)
    state = machine.kept
    state["drive"]["id-ns"]["flbas"] = flbas
    machine.state.write_text(json.dumps(state))
    changes = fna == 1 and flbas in {1, 0x20}  # bit 4 says where metadata is
    assert offered(machine) == (["NvmeSanitize"] if changes else ["NvmeFormat", "NvmeSanitize"])
