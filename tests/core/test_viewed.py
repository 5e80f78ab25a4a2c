"""Documents of fleets, power cuts, applications and cards in Python: text, notebook, files.

`onl.load("fleet.json")` printed a record of all its rows in one line of thousands of characters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.reports import shown
from opennandlab.reports.model import Chapter, Report, Section, Table

FLEET = {
    "name": "few", "devices": 2, "device": SMALL,
    "spread": {"nand.timing.t_program_us": {"normal": [700, 50]}},
    "suites": {"writes": {"run": "benchmark", "workload": SHORT}},
}  # fmt: skip


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    store = tmp_path_factory.mktemp("store")
    return {
        "FleetResult few: 2 devices": onl.fleet.run(FLEET, store=store, jobs=1),
        "PowerResult small: 50 cuts": onl.power.run(cuts=50, jobs=1),
        "AppResult light on sim:emmc_16gb": onl.app.run("emmc_16gb", cases={"camera": 1}, runs=1),
        "EmmcResult emmc_16gb": onl.emmc.check("emmc_16gb", only=["rpmb.key"]),
    }


def test_each_is_short_as_a_value_and_prints_as_tables(documents: dict[str, Any]) -> None:
    for name, document in documents.items():
        assert repr(document).startswith(f"<{name}")
        assert repr(document).endswith("passed>")
        assert len(repr(document)) < 150
        lines = str(document).splitlines()
        assert sum(set(line) <= {"─", " "} and "─" in line for line in lines) >= 2
        page = document._repr_html_()
        assert page.count("<table>") == page.count("</table>") >= 2


def test_each_is_saved_and_loaded_as_it_was(documents: dict[str, Any], tmp_path: Path) -> None:
    for place, document in enumerate(documents.values()):
        path = tmp_path / f"{place}.json"
        document.save(path)
        again = onl.load(path)
        assert type(again) is type(document)
        assert again == document
        document.plot(tmp_path / f"{place}.html")
        assert "<html" in (tmp_path / f"{place}.html").read_text(encoding="utf-8")


def test_a_python_run_is_what_the_command_gives(
    documents: dict[str, Any], cli: Any, tmp_path: Path
) -> None:
    assert cli("power", "run", "--cuts", "50", "-o", str(tmp_path), "-q").returncode == 0
    mine, theirs = documents["PowerResult small: 50 cuts"], onl.load(tmp_path / "power.json")
    assert isinstance(theirs, type(mine))
    assert (theirs.smart, theirs.classes, theirs.cuts) == (mine.smart, mine.classes, mine.cuts)


def test_what_cannot_be_run_is_refused_with_its_key() -> None:
    with pytest.raises(onl.ConfigError, match="suites"):
        onl.fleet.run({"devices": 1})
    with pytest.raises(onl.ConfigError, match="--cuts"):
        onl.power.run(cuts=0)
    with pytest.raises(onl.ConfigError, match="nothing"):
        onl.app.run("emmc_16gb", suite="nothing")
    with pytest.raises(onl.ConfigError, match="rpbm"):
        onl.emmc.check("emmc_16gb", only=["rpbm"])
    with pytest.raises(AttributeError, match="no `walk`"):
        _ = onl.fleet.walk


def test_names_in_a_notebook_are_text_and_long_tables_end() -> None:
    rows = tuple((f"<b>{at}</b>", at) for at in range(30))
    table = Table("t", "A & B", ("name", "count"), rows)
    report = Report("r", "", (Chapter("c", "<i>x</i>", sections=(Section("s", "", (table,)),)),))
    page, text = shown.html(report), shown.text(report)
    assert "<i>" not in page
    assert "&lt;b&gt;0&lt;/b&gt;" in page
    assert "A &amp; B" in page
    assert "and 10 more" in page
    assert text.endswith("and 10 more")
    assert "19" in text
    assert "<b>20" not in text
