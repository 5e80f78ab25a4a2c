"""A small part of `make fuzz`: hostile inputs of every kind, each in a child of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "hostile"))

from cases import KINDS, make
from fuzz import Outcome, finding, prepare, run
from parts import Bases, Case

SEED = 7
CASES = 25


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bases]:
    return prepare(tmp_path_factory.mktemp("bases"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_input_breaks_the_contract(kind: str, bases: Bases, tmp_path: Path) -> None:
    """A traceback, an end by a signal, an exit code without a meaning, a file left behind."""
    for number in range(CASES):
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
        (Outcome(2, "", "error: nand.channels: `0` is out of range\n"), None),
    ],
)
def test_what_breaks_the_contract_is_found(outcome: Outcome, words: str | None) -> None:
    case = Case("device", 0, ("config", "show", "d.yaml", "--json"), {})
    found = finding(case, outcome)
    assert (found is None) == (words is None)
    assert words is None or (found is not None and words in found)


def test_every_verb_of_the_command_is_tried(bases: Bases) -> None:
    """Those that listen, or take as long as they are told to, are left out by name."""
    verbs = set(bases.options)
    assert verbs >= {"benchmark", "verify", "compare", "replay", "report", "config show"}
    assert verbs >= {"ecc curve", "theory waf", "reliability rber", "pts iops", "characterise"}
    assert not verbs & {"serve", "ui", "validate"}
    assert json.loads(json.dumps(bases.result))["schema"] == "opennandlab.result/1"
