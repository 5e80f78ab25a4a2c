"""Options of verbs: rows of records, from which commands are made.

A flag that two groups had, or that had no help, was seen when somebody read `--help`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from opennandlab.cli.options.common import Printed, Seed
from opennandlab.cli.options.rows import Options, argument, command, flag, spread

SHOWN = CliRunner()


@dataclass(frozen=True, kw_only=True)
class Sized(Options):
    """A group."""

    page_bytes: Annotated[int, flag("Bytes of a page.", "-p", min=1)] = 4096


@dataclass(frozen=True, kw_only=True)
class TriedOptions(Sized, Printed):
    """Options of a verb that there is not."""

    name: Annotated[str, argument("Whose.", metavar="NAME")]
    times: Annotated[int, flag("How often.", "--repeat")] = 1
    page_bytes: Annotated[int, flag("Bytes of its page.")] = 512


def made() -> typer.Typer:
    """Return a program with one command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @command(app, example="try it")
    def tried(given: TriedOptions) -> None:
        """Try."""
        if given.page_bytes == 512:
            given.refuse(["times"], "here; accepted: with another --page-bytes")
        typer.echo(f"{given.name} {given.times} {given.page_bytes} {given.as_json}")

    return app


def test_fields_are_options_of_their_name() -> None:
    done = SHOWN.invoke(made(), ["a", "--repeat", "3", "--page-bytes", "8", "--json"])
    assert done.stdout == "a 3 8 True\n", done.output


def test_own_options_stand_before_those_of_groups() -> None:
    text = SHOWN.invoke(made(), ["--help"]).stdout
    places = [text.index(word) for word in ("--repeat", "--page-bytes", "--json", "--quiet")]
    assert places == sorted(places)
    assert "Bytes of its page." in text
    assert "Bytes of a page." not in text
    assert "Example: try it" in text


def test_only_what_stands_on_the_line_is_refused() -> None:
    assert SHOWN.invoke(made(), ["a"]).exit_code == 0
    done = SHOWN.invoke(made(), ["a", "--repeat", "1"])
    assert done.exit_code == 2
    assert "--repeat: has no effect here; accepted: with another --page-bytes" in done.output


def test_a_row_without_help_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Bare(Options):
        name: Annotated[str, flag("")] = ""

    def tried(given: Bare) -> None:
        del given

    tried.__annotations__["given"] = Bare
    with pytest.raises(TypeError, match="`name` has no help"):
        spread(tried)


def test_an_option_in_two_groups_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Seeded(Options):
        page_bytes: Seed = 42

    @dataclass(frozen=True, kw_only=True)
    class Both(Sized, Seeded):
        pass

    def tried(given: Both) -> None:
        del given

    tried.__annotations__["given"] = Both
    with pytest.raises(TypeError, match="`page_bytes` is in two groups of Both"):
        spread(tried)
