"""What `make quick` runs: the tests nearest to an edit, as many as there is time for."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from places import ROOT
from scripts import load_tool

quick = load_tool("quick")
STEADY = "python/opennandlab/stats/steady.py"


def test_its_examples_hold() -> None:
    assert doctest.testmod(quick).failed == 0


@pytest.mark.parametrize(
    ("path", "changed", "expected"),
    [
        ("stats/test_stats.py", [STEADY], 0),
        ("stats/test_stats.py", ["python/opennandlab/stats/none_such.py"], 1),
        ("house/test_tidy.py", [STEADY], 2),
        ("house/test_tidy.py", ["tests/house/test_tidy.py"], 0),
        ("house/test_tidy.py", [], 2),
    ],
)
def test_how_near_a_file_of_tests_is(path: str, changed: list[str], expected: int) -> None:
    assert quick.nearness(ROOT / "tests" / path, changed) == expected


def test_the_nearest_are_taken_first_and_no_more_than_there_is_time_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(quick.CHANGED, STEADY)
    monkeypatch.setattr(quick, "BUDGET_S", 1.0)
    known = {"near-slow": 0.7, "near-endless": 9.0, "far-slow": 0.4}
    monkeypatch.setattr(quick, "weights", lambda: known)
    places = {"near": ROOT / "tests/stats/test_stats.py", "far": ROOT / "tests/house/test_tidy.py"}
    names = ["far-slow", "far", "near-slow", "near-endless", "near"]
    items: list[Any] = [
        type("Item", (), {"nodeid": name, "path": places[name.split("-")[0]]})() for name in names
    ]
    left: list[Any] = []

    def deselected(items: list[Any]) -> None:
        left.extend(items)

    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=deselected))
    quick.pytest_collection_modifyitems(config, items)
    assert [item.nodeid for item in items] == ["far", "near-slow", "near"]
    assert [item.nodeid for item in left] == ["far-slow", "near-endless"]


def test_the_overlay_is_the_sources_and_the_core_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "OVERLAY", tmp_path)
    for _ in range(2):
        folder = quick.overlay() / "opennandlab"
        assert (folder / "core").resolve() == ROOT / "python/opennandlab/core"
        assert len(list(folder.glob("_core*.so"))) == 1


def test_every_test_is_in_one_target() -> None:
    """Pages were marked as long that no target ran."""
    recipes = {
        target: " ".join(lines)
        for target, *lines in (
            part.splitlines() for part in (ROOT / "Makefile").read_text("utf-8").split("\n\n")
        )
        if ":" in target
    }
    found = {target.partition(":")[0]: text for target, text in recipes.items()}
    assert "-m 'not long'" in found["python-test"]
    assert "-m long" in found["test-long"]
    assert "--ignored" not in found["rust-test"]
    assert "-- --ignored" in found["test-long"]


def test_weights_are_those_of_tests_that_there_are() -> None:
    """A test that was renamed would be short again, however long it takes."""
    for name in quick.weights():
        path, _, function = name.partition("::")
        source = (ROOT / path).read_text("utf-8")
        assert f"def {function.partition('[')[0]}(" in source, name
