"""`--json`: one object with a `schema` on stdout, whatever the command and its outcome.

Lists, maps of names and errors came without one, so that a script could not know what it held.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from opennandlab.cli import app
from table_verbs import VERBS, place, ran

__all__ = ["place"]

ERROR = "opennandlab.error/1"


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path of each command, and the command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(typer.main.get_command(app)))
WITH_JSON = [path for path, one in ALL.items() if any("--json" in it.opts for it in one.params)]


@pytest.mark.parametrize("path", WITH_JSON, ids=" ".join)
def test_an_error_is_one_object_with_a_schema_and_a_sentence(path: tuple[str, ...]) -> None:
    code, out, err = ran(shlex.join([*path, "--json", "--no-such-option"]))
    assert code == 2
    found = json.loads(out)
    assert list(found) == ["schema", "error"]
    assert found["schema"] == ERROR
    assert found["error"]["exit_code"] == 2
    assert found["error"]["message"]
    assert err.startswith("error: ")


def test_what_any_verb_prints_is_one_object_with_a_schema(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    found = {}
    for line in VERBS.strip().splitlines():
        words = shlex.split(line)
        names = tuple(words[:2]) if tuple(words[:2]) in ALL else (words[0],)
        if names not in WITH_JSON:
            continue
        code, out, err = ran(line + " --json")
        assert code == 0, f"{line}: {err}"
        document = json.loads(out)
        assert isinstance(document, dict), line
        found[" ".join(names)] = document["schema"]
        if document["schema"].startswith("opennandlab.cli."):
            assert document["schema"] == f"opennandlab.cli.{'.'.join(names)}/1", line
    assert len(found) >= 30
    assert found["benchmark"] == "opennandlab.result/1"
    assert found["sweep"] == "opennandlab.sweep/1"


def test_an_error_of_a_file_has_its_key(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    code, out, _ = ran("benchmark -w short.yaml -c small.yaml --set nand.channels=0 --json")
    document = json.loads(out)
    assert (code, document["schema"]) == (2, ERROR)
    assert document["error"]["path"] == "nand.channels"


def test_a_schema_of_json_is_what_it_is() -> None:
    document = json.loads(ran("config schema --json")[1])
    assert "$schema" in document
    assert "schema" not in document
