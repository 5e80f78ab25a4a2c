"""What is missing to build is said before anything is installed, with the way to get it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

SCRIPT = ROOT / "tools" / "prerequisites.py"
PROGRAMS = {
    "cargo": "echo 'cargo 9.99.0 (a 2030-01-01)'",
    "rustc": "echo 'rustc 9.99.0 (a 2030-01-01)'",
    "cc": "true",
}


def checked(folder: Path, programs: dict[str, str]) -> tuple[int, str]:
    """Run the check where nothing but these programs can be found."""
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    shown = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={"PATH": str(folder), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stdout == ""
    return shown.returncode, shown.stderr


def test_where_everything_is_there_nothing_is_said(tmp_path: Path) -> None:
    assert checked(tmp_path, PROGRAMS) == (0, "")


@pytest.mark.parametrize(
    ("programs", "words"),
    [
        ({"cc": "true"}, ("`cargo` is not there", "rustup")),
        ({**PROGRAMS, "cargo": "echo 'cargo 1.75.0 (x)'"}, ("Rust 1.75.0 is too old", "rustup up")),
        ({**PROGRAMS, "rustc": "exit 1"}, ("`rustc --version` does not work", "rustup")),
        ({name: PROGRAMS[name] for name in ("cargo", "rustc")}, ("no C compiler", "apt-get")),
        ({}, ("`cargo` is not there", "no C compiler")),
    ],
)
def test_what_is_missing_is_said_with_the_way_to_get_it(
    tmp_path: Path, programs: dict[str, str], words: tuple[str, ...]
) -> None:
    """`make demo` without Rust installed packages first, then said `Cargo metadata failed`."""
    code, said = checked(tmp_path, programs)
    assert code == 1
    for word in words:
        assert word in said


def test_a_python_without_environments_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian packs `ensurepip` apart; `python3 -m venv` then fails in the middle."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    prerequisites = importlib.import_module("prerequisites")
    monkeypatch.setattr(prerequisites, "find_spec", lambda name: name != "ensurepip")
    assert list(prerequisites.python()) == [
        "Python cannot make environments: `apt-get install python3-venv`"
    ]
    monkeypatch.setattr(prerequisites, "PYTHON", (99, 0))
    assert "is too old: 99.0 or newer" in next(prerequisites.python())


def test_make_asks_before_it_installs_anything(tmp_path: Path) -> None:
    """The check is the first thing that `make demo` runs, before any environment is made."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "find", "python3", "make"):
        found = next(
            Path(part) / name
            for part in os.environ["PATH"].split(":")
            if (Path(part) / name).exists()
        )
        (tmp_path / "bin" / name).symlink_to(
            found.resolve() if name != "python3" else sys.executable
        )
    for name in ("Makefile", "Cargo.toml", "pyproject.toml", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    shown = subprocess.run(
        ["make", "demo"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode != 0
    assert "missing: `cargo` is not there" in shown.stderr
    assert not (tmp_path / ".venv").exists()
