"""The two presets of an eMMC of 2012: what they change, and that their mechanisms act."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.cli import app as command_line
from opennandlab.core.config import PRESETS

STATES: dict[str, list[str]] = {
    "young-clean": [],
    "young-dirty": ["--state", "young-dirty", "--dirt", "pages"],
    "old-clean": ["--state", "old-clean", "--age", "warp", "--format", "discard"],
    "old-dirty": ["--state", "old-dirty", "--age", "warp", "--format", "discard",
                  "--dirt", "pages"],
}  # fmt: skip


@cache
def played(preset: str, state: str, suite: str, case: str = "") -> dict[str, Any]:
    """Return the document of a suite on the phone of 2013."""
    words = ["app", "run", "--target", f"sim:{preset}", "--suite", suite, "--runs", "1",
             "--cpu", "phone2013", *STATES[state], "--json"]  # fmt: skip
    done = CliRunner().invoke(command_line, [*words, *(["--case", case] if case else [])])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run_and_write(preset: str, state: str, suite: str) -> tuple[float, float]:
    """Return run time and mean write as multiples of those of the young and clean drive."""
    here, there = (played(preset, it, suite) for it in (state, "young-clean"))
    write = [it["requests"]["write"]["mean"] for it in (here, there)]
    return here["total_ms"]["mean"] / there["total_ms"]["mean"], write[0] / write[1]


@pytest.mark.parametrize(
    ("preset", "mark", "changed"),
    [
        ("emmc_16gb_2012", "2012",
         {"mapping", "map_checkpoint", "write_buffer_pages", "collection", "idle_collection"}),
        ("emmc_16gb_hybrid", "hybrid",
         {"mapping", "allocation", "write_frontiers", "collection", "idle_collection",
          "refresh"}),
    ],
)  # fmt: skip
def test_a_preset_differs_where_it_says_so(preset: str, mark: str, changed: set[str]) -> None:
    one, other = (onl.load_device(name).to_dict() for name in ("emmc_16gb", preset))
    assert {
        key
        for key in one["ftl"].keys() | other["ftl"].keys()
        if one["ftl"].get(key) != other["ftl"].get(key)
    } == changed
    if preset.endswith("hybrid"):
        one["nand"].pop("failures")
    assert all(one[part] == other[part] for part in one if part != "ftl")
    text = (PRESETS / f"{preset}.yaml").read_text()
    assert mark in text.split("nand:")[1].lower()


def test_an_old_map_in_the_flash_slows_writes() -> None:
    """All of it was written once: each part must be read, and is changed, before a write."""
    run, write = run_and_write("emmc_16gb_2012", "old-clean", "light")
    assert write > 1.05
    assert run > 1.005
    plain_run, plain_write = run_and_write("emmc_16gb", "old-clean", "light")
    assert plain_run == pytest.approx(1, abs=0.005)
    assert plain_write == pytest.approx(1, abs=0.01)


def test_merges_take_a_second() -> None:
    """The talk: "longest Max is 1 sec to insert a record into contact"."""
    document = played("emmc_16gb_hybrid", "young-clean", "light")
    [contact] = [one for one in document["cases"] if one["case"] == "contact"]
    assert 600 <= contact["response_ms"]["max"] <= 1500
    assert contact["response_ms"]["p50"] < 300


@pytest.mark.long
def test_the_heavy_run_is_in_the_bands_of_the_talk() -> None:
    """The talk: +50 % and +7 to 9 % dirty, +16 % and +2 % old, and writes above 100 ms."""
    run, write = run_and_write("emmc_16gb_2012", "young-dirty", "heavy")
    assert 1.3 <= write <= 1.7
    assert 1.03 <= run <= 1.12
    run, write = run_and_write("emmc_16gb_2012", "old-clean", "heavy")
    assert 1.05 <= write <= 1.30
    assert 1.01 <= run <= 1.05
    young, worst = (
        played("emmc_16gb_2012", state, "heavy")["course"]["long_writes"]
        for state in ("young-clean", "old-dirty")
    )
    assert worst > 2 * young
