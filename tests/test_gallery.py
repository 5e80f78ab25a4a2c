"""The plots of suites: what is drawn, where, and that the pages show what is drawn now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from opennandlab import benchmark
from opennandlab.reports.chart import Axis, Chart, Line
from opennandlab.validation import PLOTS, draw_plots
from opennandlab.validation.gallery import drawing

ROOT = Path(__file__).resolve().parent.parent
SHOWN = ROOT / "docs" / "resources" / "mechanisms"
Cli = Callable[..., "CompletedProcess[str]"]


def simulate(device: dict[str, Any], workload: dict[str, Any], seed: int) -> dict[str, Any]:
    return benchmark(device, workload, seed=seed).document


def test_every_plot_is_on_the_page() -> None:
    names = {plot.name for plot in PLOTS["ablation"]()}
    assert names == {path.stem for path in SHOWN.glob("*.svg")}
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    assert [name for name in names if f"resources/mechanisms/{name}.svg" not in page] == []


@pytest.mark.parametrize("name", ["planes", "slc-cache", "idle", "steps"])
def test_the_page_shows_what_is_drawn_now(name: str, tmp_path: Path) -> None:
    plots = [plot for plot in PLOTS["ablation"]() if plot.name == name]
    (path,) = draw_plots(plots, simulate, tmp_path / "new")
    assert path.read_text(encoding="utf-8") == (SHOWN / path.name).read_text(encoding="utf-8"), (
        "draw anew: opennandlab validate ablation --plots docs/resources/mechanisms"
    )


def test_the_recovery_steps_are_drawn_as_the_page_shows_them(tmp_path: Path) -> None:
    (path,) = draw_plots(PLOTS["reliability"](), simulate, tmp_path)
    shown = ROOT / "docs" / "images" / path.name
    assert path.read_text(encoding="utf-8") == shown.read_text(encoding="utf-8"), (
        "draw anew: opennandlab validate reliability --plots docs/images"
    )


def test_a_drawing_names_its_lines_once() -> None:
    lines = (
        Line("<a>", [1, 2], [1, 2], stroke="dashed"),
        Line("hidden", [1, 2], [2, 1], stroke="none", legend=""),
        Line("b", [1, 2], [2, 2], stroke="none"),
    )
    text = drawing(Chart("A & B", Axis("x"), Axis("y"), lines))
    ET.fromstring(text)
    assert "A &amp; B" in text
    assert text.count("&lt;a&gt;") == 1
    assert "hidden" not in text


def test_plots_of_suites_without_any_are_refused(cli: Cli) -> None:
    shown = cli("validate", "trim", "--quick", "--plots", "drawn")
    assert shown.returncode == 2
    assert "these suites have none; accepted: ablation, reliability" in shown.stderr
    shown = cli("validate", "--policy", "greedy", "--plots", "drawn")
    assert shown.returncode == 2
    assert "give either --plots or --policy" in shown.stderr
