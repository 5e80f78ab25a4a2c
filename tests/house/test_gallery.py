"""The figures of the docs: each has a recipe and a page, and shows what is drawn now."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from documents import same_drawing
from places import ROOT
from scripts import load_tool

DOCS = ROOT / "docs"
mechanisms = load_tool("mechanisms")
draw = load_tool("draw")


def test_every_figure_of_the_docs_has_a_recipe_and_is_shown() -> None:
    drawn = {f"{name}.svg" for name in draw.recipes()}
    assert drawn == {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.svg")}
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert [name for name in drawn if f"({name})" not in pages] == []


@pytest.mark.parametrize(
    "name", ["planes", "slc-cache", "idle", "steps", "ecc-recovery", "reliability-states"]
)
def test_the_docs_show_what_is_drawn_now(name: str, tmp_path: Path) -> None:
    ((path, recipe),) = draw.chosen([name])
    recipe(tmp_path / "new.svg")
    shown = (DOCS / f"{path}.svg").read_text(encoding="utf-8")
    drawn = (tmp_path / "new.svg").read_text(encoding="utf-8")
    assert same_drawing(drawn, shown), f"draw anew: python tools/draw.py {name}"


def test_an_unknown_figure_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["draw.py", "nothing"])
    with pytest.raises(SystemExit, match="unknown figure `nothing`; accepted: bandwidth, "):
        draw.main()
