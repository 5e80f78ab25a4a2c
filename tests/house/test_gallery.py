"""The figures of the docs: each has a recipe and a page, and shows what is drawn now."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from documents import blocks, commands, same_drawing
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


def as_one_line(command: str) -> str:
    return " ".join(command.replace("\\\n", " ").split())


def makes(name: str) -> list[str]:
    """Return the commands that make a figure, as a reader types them."""
    stem = name.rpartition("/")[2]
    if name in draw.COMMANDS:
        return [f"opennandlab {draw.COMMANDS[name]} --plot {stem}.svg"]
    for page, names in draw.PAGES.items():
        if name in names:
            shown = blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"))
            steps = [s for b in shown if b.language == "console" for s in commands(b)]
            return [as_one_line(s.source) for s in steps if s.source.endswith(f"{stem}.svg")]
    for run, figures in draw.REPORTS.items():
        if name.removeprefix("resources/pts/") in figures:
            folder, test = run.replace(" ", "-"), run.rpartition(" ")[2]
            return [
                f"opennandlab {run} {draw.TARGET} --output {folder}",
                f"opennandlab report {folder}/{test}.json --figures figures",
            ]
    return [f"python tools/draw.py {stem}"]


def test_each_figure_of_the_gallery_has_the_command_that_makes_it() -> None:
    text = (DOCS / "site" / "gallery.md").read_text(encoding="utf-8")
    cards = re.findall(
        r"\]\(\.\./([^)]+)\.svg\)\]\(\.\./(.+?)\).*?```bash\n(.*?)```", text, re.DOTALL
    )
    assert len(cards) == text.count(".svg)](")
    for name, page, shown in cards:
        lines = shown.replace("\\\n", " ").strip().splitlines()
        assert [as_one_line(line) for line in lines] == makes(name), name
        assert f"({name}.svg)" in (DOCS / page).read_text(encoding="utf-8"), name


def test_an_unknown_figure_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["draw.py", "nothing"])
    with pytest.raises(SystemExit, match="unknown figure `nothing`; accepted: bandwidth, "):
        draw.main()
