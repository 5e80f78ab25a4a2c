"""A small part of `make fuzz`: hostile inputs of every kind, each in a child of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import FOLDER

sys.path.insert(0, str(FOLDER / "hostile"))

from cases import KINDS, make
from figures import agreement
from fuzz import Outcome, finding, prepare, run
from parts import Bases, Case
from watching import left, written

SEED = 7
CASES = 25
# Documents that name code take whole verbs, and buttons a process each.
FEWER = {"naming": 12, "folder": 8, "drive": 6, "container": 6, "kept": 10, "buttons": 3,
         "measured_by_fio": 12}  # fmt: skip


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bases]:
    return prepare(tmp_path_factory.mktemp("bases"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_input_breaks_the_contract(kind: str, bases: Bases, tmp_path: Path) -> None:
    """A traceback, an end by a signal, an exit code without a meaning, a file left behind."""
    for number in range(FEWER.get(kind, CASES)):
        case = make(kind, SEED, number, bases)
        wrong = finding(case, run(case, tmp_path / "case"))
        assert wrong is None, f"{wrong}; tests/hostile/fuzz.py --seed {SEED} --only {kind}:{number}"


def test_a_case_follows_from_its_seed_and_number(bases: Bases) -> None:
    for kind in KINDS:
        one, again, other = (make(kind, 1, number, bases) for number in (5, 5, 6))
        assert repr(one) + repr(one.files) == repr(again) + repr(again.files)
        assert repr(one) + repr(one.files) != repr(other) + repr(other.files)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(1, "", "Traceback (most recent call last):\nKeyError: 'x'\n"), "KeyError"),
        (Outcome(3, "", "thread panicked at room.rs:186\n"), "panic"),
        (Outcome(-24, "", ""), "never ends"),
        (Outcome(-6, "", ""), "SIGABRT"),
        (Outcome(1, "", "error: self-checks failed\n"), "exit code 1"),
        (Outcome(2, "", ""), "without a word"),
        (Outcome(2, "", "error: \x1b[31m\n"), "escape sequences"),
        (Outcome(0, "{", ""), "no document"),
        (Outcome(2, "", "error: x\n", (".r.json.x.tmp",)), "temporary files"),
        (Outcome(0, "{}", "", (), ("work/TRACE is new",)), "nobody asked for"),
        (Outcome(2, "", "error: nand.channels: `0` is out of range\n"), None),
    ],
)
def test_what_breaks_the_contract_is_found(outcome: Outcome, words: str | None) -> None:
    case = Case("device", 0, ("config", "show", "d.yaml", "--json"), {})
    found = finding(case, outcome)
    assert (found is None) == (words is None)
    assert words is None or (found is not None and words in found)


def test_what_a_case_does_beside_its_outputs_is_found(tmp_path: Path) -> None:
    """What judges is tried too: a child writes where it may, next to it, outside, and imports."""
    folder = tmp_path / "case"
    (folder / "work").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "work" / "in.json").write_text("{}")
    (folder / "work" / "evil.py").write_text("")
    case = Case("naming", 0, ("report", "in.json", "--html", "out.html"), {
        "in.json": b"{}", "evil.py": b"", "gone.csv": b""})  # fmt: skip
    program = (
        "import os, sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "from pathlib import Path; from watching import watch; os.chdir(sys.argv[2] + '/work')\n"
        "watch(Path('..'), 1)\n"
        "Path('out.html').write_text('<script>alert(1)</script>')\n"
        "Path('in.json').write_text('[]'); Path('TRACE').touch(); Path('a.csv').write_text('=1')\n"
        "Path('../../pwn').mkdir(); sys.path.append('.'); import evil; os.system('true')\n"
    )
    paths = ":".join([str(FOLDER / "hostile"), str(FOLDER)])
    words = [sys.executable, "-c", program, paths, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    pwn = tmp_path / "pwn"
    assert done.stdout.splitlines() == [
        f"os.mkdir outside: {pwn}", "imported evil", "os.system (b'true',)"
    ]  # fmt: skip
    found = [one for one in left(case, folder) if "__pycache__" not in one]
    assert found == ["work/TRACE is new", "work/a.csv is new", "work/in.json is changed",
                     "work/gone.csv is gone"]  # fmt: skip
    assert list(written(case, folder)) == [
        "a.csv has a formula: '=1'", "out.html has '<script>alert(1)'"
    ]  # fmt: skip


def test_figures_that_disagree_are_found(tmp_path: Path) -> None:
    columns = ["label", "block_bytes", "threads", "queue_depth", "iops", "read_iops", "write_iops",
               "mb_s", "lat_us_mean"]  # fmt: skip
    rows = [["RND 4 KiB 100/0", 4096, 1, 4, 1000.0, 1000.0, 0.0, 4.096, 4000.0],
            ["RND 4 KiB 0/100", 4096, 1, 4, 1000.0, 0.0, 1000.0, 4096.0, 4000.0],
            ["RND 8 KiB 0/100", 4096, 1, 4, 1000.0, 0.0, 1000.0, 4.096, 40.0],
            ["RND 8 KiB 100/0, uncertain", 4096, 1, 4, 1000.0, 0.0, 1000.0, 4.0, 40.0]]  # fmt: skip
    document = {"warnings": [], "cells": {"columns": columns, "rows": rows}}
    (tmp_path / "out.json").write_text(json.dumps(document))
    assert list(agreement(tmp_path / "out.json")) == [
        "4 KiB 0/100: 1000.0 IOPS of 4096 B are not 4096.0 MB/s",
        "8 KiB 0/100: 0.04 requests in flight of 4",
    ]


def test_every_verb_of_the_command_is_tried(bases: Bases) -> None:
    """Those that listen, or take as long as they are told to, are left out by name."""
    verbs = set(bases.options)
    assert verbs >= {"benchmark", "verify", "compare", "replay", "report", "config show"}
    assert verbs >= {"ecc curve", "theory waf", "reliability rber", "pts iops", "characterise"}
    assert not verbs & {"serve", "ui", "validate"}
    assert json.loads(json.dumps(bases.result))["schema"] == "opennandlab.result/1"
