"""The worked examples of the tutorial of 2009: states copied from its slides, counts by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from opennandlab.theory import waf_of_victims, worked_example, worked_examples
from opennandlab.theory.tutorial import EXAMPLES, TutorialPage, TutorialStep, _Flash

# Rows of four pages; · is a page without valid data, × one that holds invalid data.
START = "b c × × | j × k l | m × × × | × × q r"
EMPTY = "· · · · | · · · · | · · · · | · · · ·"
ONCE = "b c W X | j Y k l | m · · · | · · q r"
TWICE = "B' C' W X | j Y k l | m Z A · | · · q R'"
# By step: the blocks of the slides, and reads, programs, erases.
SLIDES = {
    "read_erase_modify_write": [
        ((START,), (0, 0, 0)),
        ((EMPTY,), (8, 0, 1)),
        ((ONCE,), (0, 11, 0)),
        ((EMPTY,), (11, 0, 1)),
        ((TWICE,), (0, 13, 0)),
    ],
    "read_modify_write": [
        ((START, EMPTY, EMPTY), (0, 0, 0)),
        ((EMPTY, ONCE, EMPTY), (8, 11, 1)),
        ((EMPTY, EMPTY, TWICE), (11, 13, 1)),
    ],
    "garbage_collection": [
        ((START, EMPTY), (0, 0, 0)),
        (("× × × × |" * 4, "W b c X | Y j k l | m q r · | · · · ·"), (8, 11, 0)),
        ((EMPTY, "W × × X | Y j k l | m q × Z | B' C' R' A"), (0, 5, 1)),
    ],
}
# Reads, programs, erases, pages of the host, copies.
TOTALS = {
    "read_erase_modify_write": (19, 24, 2, 8, 16),
    "read_modify_write": (19, 24, 2, 8, 16),
    # The slide: half of the writes, 8 of 16, are the host's.
    "garbage_collection": (8, 16, 1, 8, 8),
}


def words(pages: tuple[TutorialPage, ...]) -> list[str]:
    return [{"free": "·", "invalid": "×"}.get(page.state, page.data) for page in pages]


@pytest.mark.parametrize("name", EXAMPLES)
def test_steps_are_those_of_the_slides(name: str) -> None:
    example = worked_example(name)
    for step, (blocks, counts) in zip(example.steps, SLIDES[name], strict=True):
        found = [words(pages) for pages in step.blocks.values()]
        assert found == [block.replace("|", " ").split() for block in blocks]
        assert (step.reads, step.programs, step.erases) == counts
    total = (example.reads, example.programs, example.erases)
    assert (*total, example.host_pages, example.copied_pages) == TOTALS[name]


def written(step: TutorialStep, who: str) -> int:
    return sum(page.written == who for pages in step.blocks.values() for page in pages)


@pytest.mark.parametrize("name", EXAMPLES)
def test_pages_that_are_marked_are_those_that_are_counted(name: str) -> None:
    for step in worked_example(name).steps:
        assert written(step, "host") == len(step.host_pages)
        assert written(step, "host") + written(step, "copy") == step.programs


def test_all_end_with_the_same_data() -> None:
    ends = [
        {page.data for pages in example.steps[-1].blocks.values() for page in pages
         if page.state == "valid"}
        for example in worked_examples()
    ]  # fmt: skip
    assert ends[0] == ends[1] == ends[2] == set("jklmqWXYZA") | {"B'", "C'", "R'"}


def test_the_flash_refuses_what_flash_refuses() -> None:
    flash = _Flash()
    flash.start("EB-2")
    with pytest.raises(ValueError, match="page 2 of EB-1 is not free"):
        flash.write("EB-1", {}, {2: "W"})
    with pytest.raises(ValueError, match="EB-1 is erased"):
        flash.erase("EB-1")
    with pytest.raises(ValueError, match="example is 'hanoi'; accepted: read_erase_modify_write"):
        worked_example("hanoi")


def test_fewer_invalid_pages() -> None:
    example = worked_example("garbage_collection")
    assert waf_of_victims(8 / 16) == example.waf
    assert waf_of_victims(0.1) == 10.0
    with pytest.raises(ValueError, match="invalid_share is 0"):
        waf_of_victims(0)


def test_examples_from_the_command_line(cli: Cli, folder: Path) -> None:
    document = json.loads(cli("theory", "examples", "--json").stdout)
    totals = {
        example["name"]: tuple(
            example["totals"][key]
            for key in ("reads", "programs", "erases", "host_pages", "copied_pages")
        )
        for example in document["examples"]
    }
    assert totals == TOTALS
    pages = document["examples"][0]["steps"][2]["blocks"]["EB-1"]
    assert pages[2] == {"data": "W", "state": "valid", "written": "host"}

    shown = cli("theory", "examples", "garbage_collection", "--plot", "gc.svg")
    assert shown.returncode == 0, shown.stderr
    assert "Read, erase" not in shown.stdout
    assert "[5 programs, 1 erase]" in shown.stdout
    drawn = (folder / "gc.svg").read_bytes()
    assert b"Garbage collection" in drawn
    assert cli("theory", "examples", "garbage_collection", "--plot", "b.svg").returncode == 0
    assert (folder / "b.svg").read_bytes() == drawn
    for ending in ("png", "pdf"):
        assert cli("theory", "examples", "--quiet", "--plot", f"all.{ending}").returncode == 0
        assert (folder / f"all.{ending}").stat().st_size > 10_000
    refused = cli("theory", "examples", "--plot", "all.html")
    assert "accepted file extensions: .svg, .png, .pdf" in refused.stderr
    assert not refused.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("mapping", "--scheme", "block"), {"waf": 64.0}),
        (("mapping", "--scheme", "bast"), {"waf": 63.0}),
        (("mapping", "--scheme", "bast", "--replacement", "lru"), {"waf": 63.0}),
        (("mapping", "--scheme", "fast", "--data-blocks", "1024"), {"waf": 44.5}),
        (
            ("cache", "--pages", "65536", "--entries", "4096", "--zipf", "0.99"),
            {"hit_rate": 0.6633},
        ),
        (("cache", "--pages", "1000", "--entries", "250"), {"miss_rate": 0.75}),
    ],
)
def test_maps_from_the_command_line(
    cli: Cli, arguments: tuple[str, ...], expected: dict[str, float]
) -> None:
    document = json.loads(cli("theory", *arguments, "--json").stdout)
    for name, value in expected.items():
        assert document[name] == pytest.approx(value, rel=1e-3)


def test_refusals_of_maps(cli: Cli) -> None:
    refused = cli("theory", "cache", "--pages", "10", "--entries", "1", "--zipf", "-1")
    assert refused.returncode == 2
    assert "exponent is -1" in refused.stderr
