"""What tries served drives with a real Linux, as far as it needs no QEMU."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import nvme_guest
from guest import bench, image, parts
from guest.scenarios import page, pts

CONSOLE = """== nvme connect -t tcp
rc 0
== mkfs.ext4 -q /dev/nvme0n1
mkfs.ext4: it is busy
rc 1
{
  "data_units_read":"2",
  "data_units_written":"3"
}
  Physical media units written -   \t        0 8192
kernel: [    8.3] nvme nvme0: creating 2 I/O queues.
kernel: [    9.1] I/O error, dev nvme0n1, sector 0
"""
DRIVE = {"read_bytes": 512_001, "written_bytes": 1_536_000, "programmed_bytes": 8192}
# Data of no host: the sources of copies, and zeroes.
INSIDE = {"copy_source_bytes": 0, "zeroed_bytes": 0}


def test_the_first_file_system_is_one_for_cpio(tmp_path: Path) -> None:
    """Folders, programs and their bytes, odd lengths included, by another reader."""
    cpio = shutil.which("cpio") or shutil.which("bsdcpio")
    if cpio is None:
        pytest.skip("cpio is not installed")
    files = {"lib": (image.IS_FOLDER, b""), "lib/one": (image.IS_PROGRAM, b"12345"),
             "lib/three": (image.IS_PROGRAM, b"")}  # fmt: skip
    subprocess.run(
        [cpio, "-idm", "--quiet"], input=image.archive(files), check=True, cwd=tmp_path, timeout=30
    )
    assert (tmp_path / "lib/one").read_bytes() == b"12345"
    assert os.access(tmp_path / "lib/one", os.X_OK)
    assert (tmp_path / "lib/three").read_bytes() == b""


def test_an_archive_has_the_form_newc() -> None:
    """Fields of 8 hexadecimal digits behind a magic number, names and data to multiples of 4."""
    content = image.archive({"ab": (image.IS_PROGRAM, b"xyz")})
    assert content[:6] == b"070701"
    assert [int(content[at : at + 8], 16) for at in (14, 54, 94)] == [0o100755, 3, 3]
    assert content[110:124] == b"ab\0\0\0\0xyz\0" + b"0707"
    assert len(content) % 4 == 0


def test_what_is_wrong_on_a_console() -> None:
    """A command that failed, a complaint of the kernel, no end."""
    failed, end, complaint = bench.findings(CONSOLE)
    assert failed.startswith("failed: mkfs.ext4 -q /dev/nvme0n1\nmkfs.ext4: it is busy")
    assert end.startswith("the guest did not come to its end")
    assert complaint == "kernel: [    9.1] I/O error, dev nvme0n1, sector 0"
    well = CONSOLE.replace("rc 1", "rc 0") + "== end\n"
    assert bench.findings(well) == [complaint]
    assert bench.findings(well, expected="sector 0") == []


def test_logs_are_compared_to_the_unit() -> None:
    """Data units are begun units of 512,000 bytes, log C0h has bytes."""
    drive = DRIVE | INSIDE
    assert bench.logs_agree(CONSOLE, {"drive": drive}) == []
    for name, bytes_ in drive.items():
        more = drive | {name: bytes_ + 512_000}
        assert len(bench.logs_agree(CONSOLE, {"drive": more})) == 1
    for own, whole in zip(INSIDE, ("read_bytes", "written_bytes"), strict=True):
        inside = drive | {own: 4096, whole: drive[whole] + 4096}
        assert bench.logs_agree(CONSOLE, {"drive": inside}) == []
    assert bench.logs_agree("", {"drive": drive}) == ["no log of health"]


def test_a_file_comes_through_the_console() -> None:
    packed = base64.encodebytes(gzip.compress(b"content\n" * 100)).decode()
    console = f"== send run.json\n{packed}== sent\n== end\n"
    assert bench.sent(console, "run.json") == b"content\n" * 100
    assert bench.sent(console, "other.json") is None


def cell(label: str, waf: float | None) -> list[Any]:
    return ["round", 1, label, waf, 70.0]


def document(*cells: list[Any], written: int, state: str = "disabled") -> dict[str, Any]:
    """Return what is compared of a document of a test."""
    return {
        "header": {
            "cache": {"asked": "disabled", "state": state},
            "purge": {"method": "NVMe format, user data erase (SES 1)"},
            "wipc": {"bytes": 100},
        },
        "phases": [{"written_bytes": written}],
        "cells": {"columns": ["phase", "round", "label", "waf", "lat_us_mean"], "rows": [*cells]},
    }


def test_a_test_of_a_served_drive_is_held_against_the_simulator() -> None:
    same = document(cell("8 KiB", 1.0), cell("0.5 KiB", 8.0), written=1000)
    assert pts.compared(same, same, {"written_bytes": 1000}, formats=True) == []
    other = document(cell("8 KiB", 1.25), cell("0.5 KiB", 8.0), written=1000, state="enabled")
    cache, waf, written = pts.compared(other, same, {"written_bytes": 999}, formats=False)
    assert "enabled" in cache
    assert waf == "8 KiB: WAF 1.25, simulated 1.0"
    assert written == "1000 bytes written by the test, 999 by the drive"


def test_without_qemu_nothing_is_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says why, and that is no failure."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["nvme_guest.py", "smoke"])
    assert nvme_guest.main() == 0
    assert capsys.readouterr().out == (
        "nvme guest: not tried: qemu-system-x86_64 is not installed "
        "(Debian: apt install qemu-system-x86)\n"
    )


def test_packages_that_do_not_come_are_no_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A machine without a network, and one whose network hangs."""
    monkeypatch.setattr(parts, "FOLDER", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    for error, words in (
        (subprocess.CalledProcessError(100, "apt-get"), "cannot be had here"),
        (subprocess.TimeoutExpired("apt-get", 5), "did not come within 5 s"),
    ):

        def fails(*_: object, error: Exception = error, **__: object) -> str:
            raise error

        monkeypatch.setattr(parts, "run", fails)
        with pytest.raises(parts.Skipped, match=words):
            parts.fetch(5)


def test_an_unknown_scenario_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["nvme_guest.py", "smokes"])
    with pytest.raises(SystemExit) as ended:
        nvme_guest.main()
    assert ended.value.code == 2
    assert "no scenario smokes; accepted: smoke, " in capsys.readouterr().err


def test_the_page_of_nvme_is_carried_out_to_the_standard_test() -> None:
    """A guest carries out these; `make system-nvme ONLY=page`."""
    lines = page.commands((ROOT / page.PAGE).read_text())
    assert [line.split()[:2] for line in lines if line.startswith("opennandlab")] == [
        ["opennandlab", "serve"],
        ["opennandlab", "pts"],
    ]
    assert lines[0].startswith("opennandlab serve --config tlc_standard")
    assert lines[-1] == "nvme disconnect -n NQN"
    assert any(line.startswith("nvme ocp smart-add-log") for line in lines)


def test_scenarios_say_what_they_try() -> None:
    """The first line of each is a sentence; JSON of the console is read in order."""
    for name in nvme_guest.names():
        text = (ROOT / "tools/guest/scenarios" / f"{name}.py").read_text()
        assert text.startswith('"""')
        assert "def scenario(bench: Bench) -> list[str]:" in text
    assert bench.documents('{\n "a": 1\n}\n{\n "b": 2\n}\n') == [json.loads('{"a":1}'), {"b": 2}]
