"""`--help`: groups, whole sentences, examples that a shell takes, and what was meant by a typo.

Verbs stood in one list of 27, summaries of groups were cut after five words, examples were broken
in the middle, and a typo of `presets` was answered with `pts`.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from rich.cells import cell_len

from opennandlab.cli import FIRST, GROUPS, VERBS
from opennandlab.cli._help import continued
from table_verbs import ran

FAMILIES = ("pts", "ecc", "ecc dump", "theory", "reliability", "runs", "config", "power", "app")


@pytest.fixture(autouse=True)
def eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_each_verb_is_in_one_group_and_the_end_says_what_to_type() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(VERBS)
    code, out, _ = ran("--help")
    assert code == 0
    places = [out.index(f"{title}:\n") for title in [*GROUPS, "Start with"]]
    assert places == sorted(places)
    assert out.rstrip().endswith("".join(f"\n  {line}" for line in FIRST))


@pytest.mark.parametrize("family", FAMILIES)
def test_summaries_of_a_group_are_whole_sentences(family: str) -> None:
    code, out, _ = ran(f"{family} --help")
    assert code == 0
    assert "..." not in out.replace("ARGS]...", "")
    assert max(map(cell_len, out.splitlines())) <= 80


def test_standard_tests_stand_apart_from_those_of_what_is_inside() -> None:
    out = ran("pts --help")[1]
    order = ["Tests of the standard:", "iops", "Tests of what is inside a drive:", "identify",
             "Commands:", "steady-state"]  # fmt: skip
    places = [out.index(word) for word in order]
    assert places == sorted(places)


def test_a_long_example_is_the_same_words_to_a_shell() -> None:
    line = "opennandlab sweep -c tlc_standard --vary 'a b=1:2' --set x=1 && echo \"two words\""
    for width in (20, 40, 60, 200):
        text = "\n".join(continued(line, width))
        assert shlex.split(text.replace("\\\n", " ")) == shlex.split(line)
    assert continued(line, 200) == [line]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("presets", "`config presets`"),
        ("preset", "`config presets`"),
        ("pst", "`pts`"),
        ("comapre", "`compare`"),
        ("iops", "`pts iops`"),
        ("run", "`fleet run` or `power run` or `app run`"),
        ("fleet rum", "`fleet run`"),
        ("config preset", "`config presets`"),
        ("ecc dump gues", "`ecc dump guess`"),
        ("zzz", ""),
    ],
)
def test_a_typo_is_answered_with_what_was_meant(typed: str, meant: str) -> None:
    code, _, err = ran(typed)
    assert code == 2
    first = err.splitlines()[0]
    wanted = f"; did you mean {meant}?" if meant else ""
    if " or " in meant:
        assert set(meant.split(" or ")) == set(
            first.partition("mean ")[2].rstrip("?").split(" or ")
        )
    else:
        assert first == f"error: no such command '{typed.rpartition(' ')[2]}'{wanted}"


def test_a_typo_in_a_script_is_the_same_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "did you mean `config presets`?" in ran("presets --json")[1]


def test_an_option_of_the_program_behind_a_command_is_answered_with_where_it_stands() -> None:
    code, _, err = ran("theory waf --log a.log")
    assert code == 2
    assert "it stands before the command: `opennandlab --log FILE theory waf …`" in err
    assert "did you mean `--log-axes`?" in ran("report a.json --log-axe")[2]
