"""A standard test on a drive that is young, old, at the end of its life, or saved before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import SMALL, Cli
from opennandlab.base.errors import ConfigError
from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, Settings, run_test
from opennandlab.reports.pts import source
from opennandlab.reports.pts.drive import state_text
from opennandlab.reports.pts.header import facts, subtitle
from opennandlab.targets.simulated import SimulatedTarget

FAILING = {"nand.failures": {"program": 0.0, "erase": 1e-5, "growth": 1.0}}


def document(state: str | None, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    target = SimulatedTarget(SMALL, changes, state=state)
    settings = Settings(time_base="smoke", state=state, allow_lost=True)
    return plain(run_test(TESTS["latency"], target, settings=settings))


def test_a_young_drive_is_the_one_from_the_factory() -> None:
    young, plainly = document("young"), document(None)
    assert "state" not in plainly["header"]["target"]
    assert young["header"]["target"].pop("state") == {
        "name": "young",
        "erase_count_mean": 0,
        "rated_pe_cycles": 3000,
        "lost_blocks": 0,
        "image_sha256": None,
    }
    for key in ("results", "tables", "cells", "header"):
        assert young[key] == plainly[key]


@pytest.mark.parametrize(("state", "cycles"), [("old", 1500), ("eol", 3000)])
def test_wear_is_a_share_of_the_rated_cycles(state: str, cycles: int) -> None:
    found = document(state)["header"]["target"]
    assert found["state"]["erase_count_mean"] == cycles
    wear_out = found["device"]["config"]["nand"]["wear_out"]
    assert wear_out == ("ignore" if state == "eol" else "retire")


def test_blocks_are_lost_by_the_failure_model_and_write_more() -> None:
    # 1 - (1 - 1e-5)^3000 of 128 blocks: 3.8, within 4.5 standard deviations; seed 42 has some.
    changes = {**FAILING, "ftl.over_provisioning_pct": 0.5}
    lost = document("eol", changes)["header"]["target"]["state"]["lost_blocks"]
    share = 1 - (1 - 1e-5) ** 3000
    assert abs(lost - 128 * share) < 4.5 * (128 * share * (1 - share)) ** 0.5
    drives = [SimulatedTarget(SMALL, changes, state=state) for state in ("young", "eol")]
    good = [json.loads(drive._core.wear())["blocks"] for drive in drives]
    assert good[0] - good[1] == lost
    drives[1].purge()
    assert json.loads(drives[1]._core.wear())["blocks"] == good[1]


def test_the_page_shows_the_state(tmp_path: Path) -> None:
    content = document("eol", FAILING)
    moment = source.moment_of(tmp_path / "latency.json", content)
    measured = source.read(content, "latency", [], moment)
    said = state_text(measured.header)
    assert said.startswith("state eol: 3000 of 3000 rated P/E cycles")
    assert said in subtitle(measured)
    rows = [row for _, group in facts(measured) for row in group]
    assert ("State before", said) in rows


def test_an_image_brings_its_wear(tmp_path: Path) -> None:
    path = tmp_path / "worn.onl"
    drive = onl.Simulation(SMALL)
    drive.precondition([{"kind": "age", "pe_cycles": 1234}, {"kind": "sequential_fill"}])
    drive.save(path)
    state = f"image:{path}"
    found = document(state)["header"]["target"]["state"]
    assert found["name"] == "image"
    assert found["erase_count_mean"] == 1234
    assert len(found["image_sha256"]) == 64
    assert found["lost_blocks"] is None
    with pytest.raises(ConfigError, match="another device"):
        SimulatedTarget(SMALL, {"nand.blocks_per_plane": 32}, state=state)


@pytest.mark.parametrize("state", ["worn", "image:", "image:nowhere.onl", "eol:3", ""])
def test_no_other_state_is_accepted(state: str) -> None:
    with pytest.raises(ConfigError, match=r"state"):
        SimulatedTarget(SMALL, state=state)


def test_states_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="no cell is rated for"):
        SimulatedTarget(SMALL, {"nand.max_pe_cycles": 1_000_000_000}, state="eol")
    settings = Settings(time_base="smoke", state="eol")
    with pytest.raises(ConfigError, match="opened with none"):
        run_test(TESTS["latency"], SimulatedTarget(SMALL), settings=settings)


def test_the_command_takes_varies_and_resumes_states(cli: Cli, tmp_path: Path) -> None:
    shared = ["pts", "latency", "--target", "sim:small.yaml", "--time-base", "smoke", "-q"]
    done = cli(*shared, "--vary", "state=young,eol", "--output", "both")
    assert done.returncode == 0, done.stderr
    states = [
        json.loads((tmp_path / f"both/latency-state-{name}.json").read_text())["header"]["target"]
        for name in ("young", "eol")
    ]
    assert [state["state"]["name"] for state in states] == ["young", "eol"]
    cli(*shared, "--state", "eol", "--output", "one", "--set", "nand.wear_out=retire")
    warnings = json.loads((tmp_path / "one/latency.json").read_text())["warnings"]
    assert any("nand.wear_out=retire has no effect" in text for text in warnings)
    again = cli(*shared, "--state", "old", "--output", "one", "--resume")
    assert again.returncode != 0
    for target in ("file:here.img?size=1MiB", "sim:disc_10k_600gb"):
        refused = cli(
            "pts", "latency", "--target", target, "--state", "eol", "--time-base", "smoke"
        )
        assert refused.returncode == 2
        assert "state: is for" in refused.stderr


def test_several_states_give_the_ratios_of_each_to_the_first(cli: Cli, folder: Path) -> None:
    energies = "{read_uj: 30, program_uj: 70, erase_uj: 200, idle_mw: 2.5}"
    run = (
        "pts", "latency", "--target", "sim:small.yaml", "--time-base", "smoke",
        "--set", f"nand.energy={energies}", "--allow-lost", "--output", "life",
    )  # fmt: skip
    done = cli(*run, "--state", "eol,young,old")
    assert done.returncode == 0, done.stderr
    assert "young / eol, by cell" in done.stdout
    assert "old / eol, by cell" in done.stdout
    suite = json.loads((folder / "life/suite.json").read_text())
    assert suite["varied"]["values"] == ["eol", "young", "old"]
    documents = [
        json.loads((folder / f"life/{name}.json").read_text()) for name in suite["documents"]
    ]
    states = [one["header"]["target"]["state"]["name"] for one in documents]
    assert states == ["eol", "young", "old"]

    # By hand: a cell of the last five rounds in both, which is all of them here.
    def figures(content: dict[str, Any]) -> list[float]:
        cells = [dict(zip(content["cells"]["columns"], row, strict=True))
                 for row in content["cells"]["rows"]]  # fmt: skip
        found = [
            cell for cell in cells
            if cell["label"] == "RND 8 KiB 0/100" and cell["phase"] == "round"
        ][-5:]  # fmt: skip
        seconds, ios = (sum(cell[key] for cell in found) for key in ("seconds", "ios"))
        return [
            ios / seconds,
            sum(cell["lat_us_mean"] * cell["ios"] for cell in found) / ios,
            max(cell["lat_us_max"] for cell in found),
            sum(cell["power_w"] * cell["seconds"] for cell in found) / seconds,
        ]

    first, *others = map(figures, documents)
    for table, other in zip(suite["ratios"], others, strict=True):
        row = table["values"][table["rows"].index("RND 8 KiB 0/100")]
        assert row == pytest.approx([one / base for one, base in zip(other, first, strict=True)])
    assert table["columns"] == ["IOPS", "mean response time", "longest response time", "W"]
    page = folder / "life.html"
    assert cli("report", "life/suite.json", "--html", str(page)).returncode == 0
    text = page.read_text()
    assert "Ratios to eol" in text
    assert "young / eol, by cell" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pts", "latency", "--state", "young,worn"), "`young,worn` is not a valid state"),
        (("pts", "latency", "--state", "young,eol", "--vary", "oio=1,2"), "with --vary"),
        (("pts", "all", "--state", "young,eol"), "of several tests"),
        (("pts", "latency", "--state", "young,young"), "names a value twice"),
        (
            ("pts", "latency", "--state", "young,eol", "--set", "nand.max_pe_cycles=2000000"),
            "which no cell is rated for",
        ),
    ],
)
def test_several_states_that_cannot_be_are_refused(
    cli: Cli, words: tuple[str, ...], told: str
) -> None:
    done = cli(*words, "--target", "sim:small.yaml", "--time-base", "smoke")
    assert done.returncode == 2
    assert told in done.stderr
