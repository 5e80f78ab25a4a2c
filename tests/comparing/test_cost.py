"""What drives cost: the figures by hand, and files that are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.cli import app as command_line

DRIVE = {
    "nand": {
        "channels": 1, "dies_per_channel": 1, "blocks_per_plane": 32, "pages_per_block": 16,
        "energy": {"read_uj": 1, "program_uj": 10, "erase_uj": 100}, "max_pe_cycles": 100,
    },
}  # fmt: skip
WORK = {
    "pattern": "random", "total": {"ios": 2000},
    "precondition": [{"kind": "sequential_fill"}],
}  # fmt: skip
PRICES = {
    "currency": "EUR", "years": 4, "kwh_price": 0.25,
    "drives": {"a": {"price": 100, "watts": 5}, "b": {"price": 300}},
}  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cost")
    for name, seed in (("a", 1), ("b", 2)):
        document = onl.benchmark(DRIVE, WORK, seed=seed).document
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def compare(results: Path, prices: object, *more: str) -> tuple[int, str]:
    (results / "cost.yaml").write_text(json.dumps(prices))
    files = [str(results / f"{name}.json") for name in "ab"]
    words = ["compare", *files, "--cost", str(results / "cost.yaml"), *more]
    done = CliRunner().invoke(command_line, words)
    return done.exit_code, done.output


def test_the_cost_of_a_drive_by_hand(results: Path) -> None:
    code, text = compare(results, PRICES, "--json")
    assert code == 0, text
    found = json.loads(text)["cost"]
    first, second = found["rows"]
    document = json.loads((results / "a.json").read_text())
    # 5 W for 4 years of 8766 hours at 0.25.
    assert first["energy"] == pytest.approx(43.83)
    assert first["total"] == pytest.approx(143.83)
    assert first["per_year"] == pytest.approx(143.83 / 4)
    capacity = document["effective"]["logical_bytes"] / 1e12
    assert first["per_tb"] == pytest.approx(143.83 / capacity)
    assert first["per_k_iops"] == pytest.approx(
        143.83 / (document["metrics"]["iops"]["total"] / 1000)
    )
    assert first["per_tbw"] == pytest.approx(143.83 / document["metrics"]["tbw_tb"])
    # Without watts in the file they are those of the run.
    other = json.loads((results / "b.json").read_text())
    assert second["watts"] == other["metrics"]["power"]["mean_w"]
    code, text = compare(results, {key: PRICES[key] for key in PRICES if key != "kwh_price"})
    assert code == 0, text
    assert "EUR, 4 years" in text
    assert "per 1000 IOPS" in text
    assert "energy" not in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"years": 0}, "cost.years: `0`; accepted: a number from 0.0833"),
        ({"years": True}, "cost.years"),
        ({"currency": "x\u001b[2J"}, "cost.currency"),
        ({"discount": 1}, "cost.discount: unknown key; accepted: currency, years"),
        ({"kwh_price": "1"}, "cost.kwh_price"),
        ({"drives": []}, "cost.drives: accepted: a mapping"),
        ({"drives": {"a": {"price": 1}}}, "cost.drives.b"),
        ({"drives": {"c": {"price": 1}}}, "cost.drives.c: no document is called so"),
        ({"drives": {"a": {"price": 1, "w": 2}, "b": {"price": 1}}}, "cost.drives.a.w"),
        ({"drives": {"a": {"price": -1}, "b": {"price": 1}}}, "cost.drives.a.price: `-1"),
    ],
)
def test_prices_of_another_form_are_refused(
    results: Path, changes: dict[str, object], said: str
) -> None:
    code, text = compare(results, PRICES | changes)
    assert code == 2
    assert said in text


def test_other_documents_have_no_cost(results: Path) -> None:
    life = onl.reliability.life_test("tlc_standard", waf=2.0).to_dict()
    paths = []
    for name in "xy":
        paths.append(str(results / f"{name}.json"))
        Path(paths[-1]).write_text(json.dumps(life))
    (results / "cost.yaml").write_text(json.dumps(PRICES))
    words = ["compare", *paths, "--cost", str(results / "cost.yaml")]
    done = CliRunner().invoke(command_line, words)
    assert done.exit_code != 0
    assert "results of `benchmark`" in done.output
