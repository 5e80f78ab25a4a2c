"""What is shown works: examples in docstrings, commands and Python on pages."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import opennandlab
from documents import agrees, blocks, commands, refresh, run_page
from opennandlab.cli import VERBS
from places import ROOT

LITTLEFS = pytest.mark.skipif(
    importlib.util.find_spec("littlefs") is None, reason="littlefs-python is not installed"
)
PAGES = [
    pytest.param("README.md", marks=pytest.mark.always),
    "docs/tour.md",
    pytest.param("docs/tutorial.md", marks=pytest.mark.always),
    "docs/for-simulator-users.md",
    "docs/for-drive-testers.md",
    "docs/for-ecc-engineers.md",
    "docs/for-firmware-engineers.md",
    "docs/for-teachers.md",
    "docs/not-modelled.md",
    "docs/theory.md",
    "docs/benchmark-page.md",
    "docs/reliability.md",
    "docs/presets.md",
    "docs/mechanisms.md",
    "docs/bch.md",
    "docs/ecc.md",
    pytest.param("docs/raw-nand.md", marks=LITTLEFS),
    "docs/reports.md",
    "docs/pts.md",
    "docs/quick.md",
    "docs/discs.md",
    "docs/traces.md",
    "docs/fio-jobs.md",
    "docs/from.md",
    "docs/from-rating.md",
    "docs/sweeps.md",
    "docs/placement.md",
    "docs/zones.md",
    "docs/runs.md",
    "docs/ui.md",
    "docs/policies.md",
    pytest.param("docs/app.md", marks=pytest.mark.long),
    "docs/emmc-states.md",
    pytest.param("docs/fleet.md", marks=pytest.mark.long),
    "docs/calibrate.md",
    "docs/emmc.md",
    "docs/ocp.md",
    "docs/power-loss.md",
]

NAMES = [
    module.name
    for module in pkgutil.walk_packages(opennandlab.__path__, "opennandlab.")
    if not module.name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert failed == 0


def test_every_public_name_can_be_imported_and_says_what_it_is() -> None:
    for name in opennandlab.__all__:
        assert getattr(opennandlab, name).__doc__, name
    assert set(opennandlab.__all__) <= set(dir(opennandlab))
    with pytest.raises(AttributeError, match="no `nothing`"):
        _ = opennandlab.nothing


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(page: str, tmp_path: Path, command: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    complaints = [outcome.complaint for outcome in run_page(text, tmp_path, command.parent)]
    assert complaints, "nothing on the page was run"
    found = "\n\n".join(complaint for complaint in complaints if complaint)
    assert not found, f"{found}\n\nto write it anew: python tests/documents.py {page}"


def test_the_tour_has_every_command() -> None:
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    table = text.partition("## Every command")[2]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == list(VERBS)


def test_a_page_for_a_kind_of_reader_leads_through_five_commands() -> None:
    pages = sorted((ROOT / "docs").glob("for-*.md"))
    assert len(pages) == 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        steps = [s for b in blocks(text) if b.language == "console" for s in commands(b)]
        assert len(steps) == 5, page
        assert re.findall(r"^\*\*(\d)\.", text, re.MULTILINE) == list("12345"), page


def test_shown_lines_agree_with_output_up_to_space_and_dots() -> None:
    output = ["metric ┃ value ", "", "WAF    │ 8.3", "Wear   │ 12", "digest abc"]
    assert agrees(["metric ┃ value", "WAF │ 8.3", "Wear │ 12", "digest abc"], output)
    assert agrees(["...", "WAF │ 8.3", "...", "digest ..."], output)
    assert agrees(["metric ┃ value", "...", "Wear │ 12", "..."], output)
    assert not agrees(["...", "WAF │ 8.4", "..."], output)
    assert not agrees(["...", "Wear │ 12", "...", "WAF │ 8.3", "..."], output)
    assert not agrees(["metric ┃ value"], output)
    assert not agrees([], output)


def test_a_console_block_is_commands_with_output_and_exit_code() -> None:
    text = "```console\n$ one \\\n> two\nout\n# exit 2\n$ three\n```\n"
    first, second = commands(next(blocks(text)))
    assert (first.source, first.shown, first.exit_code) == ("one \\\ntwo", ["out"], 2)
    assert (second.source, second.shown, second.exit_code) == ("three", [], 0)


def test_a_command_that_is_not_found_leaves_the_page_as_it_was(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ no-such-command\nout\n```\n")
    with pytest.raises(SystemExit, match="exit code 127, not 0"):
        refresh(page)
    assert "out" in page.read_text()
