"""The page of the five documents: it is what its data say, and the commands give the numbers."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from opennandlab.cli import app
from places import ROOT
from scripts import load_tool

tool = load_tool("sources")
DOCUMENTS = tool.sources()
ROWS = [row for document in DOCUMENTS for row in document.rows]
COMMANDS = sorted({command for row in ROWS for command in row.commands})


def parsed(words: list[str]) -> None:
    """Parse the words of a command of this program as its command line does; run nothing."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("opennandlab", list(words), resilient_parsing=True)
    while hasattr(command, "resolve_command"):
        asked = words
        name, command, words = command.resolve_command(context, words)
        assert command is not None, asked
        group = hasattr(command, "resolve_command")
        context = command.make_context(name, list(words), parent=context, resilient_parsing=group)


def anchors(page: str) -> set[str]:
    """Return the places of a page, as GitHub names them."""
    text = re.sub(
        r"^```.*?^```", "", (ROOT / "docs" / page).read_text(), flags=re.DOTALL | re.MULTILINE
    )
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def test_the_page_is_what_the_data_say() -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert page == tool.page(DOCUMENTS), "python tools/sources.py writes it"


def test_the_documents_have_200_items() -> None:
    assert [len(document.rows) for document in DOCUMENTS] == [43, 32, 36, 47, 42]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_one_of_the_program(command: str) -> None:
    program, *words = shlex.split(command)
    if program == "opennandlab":
        parsed(words)
    elif program == "pytest":
        assert (ROOT / words[0]).exists()
    else:
        assert program == "sed", command


def test_a_command_with_another_option_is_found() -> None:
    for words in (["benchmark", "--nothing"], ["pts", "iops", "--nothing"], ["nothing"]):
        with pytest.raises(Exception, match="nothing"):
            parsed(words)


def test_each_place_exists() -> None:
    places = {row.show for row in ROWS if row.cost == "page"}
    places |= {place for row in ROWS for place in re.findall(r"\]\(([^)]+)\)", row.note)}
    for place in places:
        page, _, anchor = place.partition("#")
        assert anchor in anchors(page), place


def test_a_row_that_could_not_be_checked_is_refused() -> None:
    sound = {"item": "a", "show": "opennandlab plugins", "state": "works", "cost": "quick"}
    with pytest.raises(ValueError, match="nothing of its command is checked"):
        tool.Row(**sound)
    with pytest.raises(ValueError, match="without a reason"):
        tool.Row(**sound | {"match": "a", "state": "refused"})
    with pytest.raises(ValueError, match="a page has a place"):
        tool.Row(**sound | {"cost": "page"})


def test_another_number_is_a_difference(tmp_path) -> None:
    row = tool.Row("a", "opennandlab x", "works", "quick", match=r"WAF ([\d. ]+)", value=1234.5)
    assert tool.difference(row, 0, "WAF 1 234.5", "", tmp_path) == ""
    assert "1234.6, expected 1234.5" in tool.difference(row, 0, "WAF 1 234.6", "", tmp_path)
    assert "not in what was printed" in tool.difference(row, 0, "nothing", "", tmp_path)
    assert "exit code 2" in tool.difference(row, 2, "WAF 1 234.5", "", tmp_path)


def test_quick_commands_give_the_numbers() -> None:
    runs = tool.chosen(DOCUMENTS, "quick")
    found = [wrong for show, rows in runs.items() for wrong in tool.run(show, rows)]
    assert not found, "\n".join(found)


@pytest.mark.long
def test_commands_of_minutes_give_the_numbers() -> None:
    runs = tool.chosen(DOCUMENTS, "minutes")
    found = [wrong for show, rows in runs.items() for wrong in tool.run(show, rows)]
    assert not found, "\n".join(found)
