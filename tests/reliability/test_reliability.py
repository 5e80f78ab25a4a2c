"""Error models from Python and the command line, compared with values from outside."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab import reliability
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.core.config import load_device
from opennandlab.reliability.charts import rber_chart
from opennandlab.reliability.code_limit import code_limit, page_failure
from opennandlab.reports.figure import scale
from opennandlab.stats.poisson import poisson_interval
from opennandlab.theory.reliability import PageCode, codeword_failure

RUNNER = CliRunner()
# Cycles, hours at 40 C, reads per page: Kim, Choi and Min, FAST 2019, from the quoted constants.
PUBLISHED = [
    (0, 0, 0, 1.480e-3),
    (500, 0, 0, 1.613e-3),
    (1000, 0, 0, 2.031e-3),
    (1500, 0, 0, 2.745e-3),
    (3000, 0, 0, 6.718e-3),
    (5000, 0, 0, 1.641e-2),
    (3000, 720, 0, 1.344e-2),
    (3000, 8760, 0, 3.264e-2),
    (3000, 0, 1000, 1.378e-2),
]


def run(*arguments: str, code: int = 0) -> str:
    result = RUNNER.invoke(app, ["reliability", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def answer(*arguments: str, code: int = 0) -> dict:
    return json.loads(run(*arguments, "--json", code=code))


@pytest.mark.parametrize(("name", "tolerance"), [("kim", 5e-4), ("tlc", 0.10)])
def test_the_published_points_are_met(name: str, tolerance: float) -> None:
    cycles, hours, reads, expected = np.array(PUBLISHED, float).T
    ours = reliability.load_model(name).rber(cycles, hours, reads=reads)
    assert np.abs(ours / expected - 1).max() < tolerance


def test_arrays_broadcast_and_scalars_stay_scalars() -> None:
    model = reliability.load_model("tlc")
    grid = model.rber(np.arange(3)[:, None] * 1000, [0, 720], temperature_c=55)
    assert grid.shape == (3, 2)
    assert grid.dtype == np.float64
    assert model.rber(1000, 720, 55).shape == ()
    assert model.rber(1000, 720, 55) == grid[1, 1]
    pages = [model.rber(1000, 720, 55, page_type=name) for name in model.page_types]
    assert np.mean(pages) == pytest.approx(grid[1, 1], rel=1e-12)


def test_models_load_from_names_files_mappings_and_devices(tmp_path: Path) -> None:
    section = {"kind": "states", "preset": "mlc", "sigma": 0.2}
    direct = reliability.load_model(section)
    assert direct.parameters["sigma"] == 0.2
    assert direct.parameters["gray_code"] == "1-2"
    alone = tmp_path / "model.yaml"
    alone.write_text("kind: states\npreset: mlc\nsigma: 0.2\n", encoding="utf-8")
    device = tmp_path / "device.yaml"
    device.write_text("reliability: {kind: states, preset: mlc, sigma: 0.2}\n", encoding="utf-8")
    for source in (alone, device, onl.load_device(device), direct):
        assert reliability.load_model(source).parameters == direct.parameters
    # A device without the section reads by its wear keys.
    enterprise = reliability.load_model("mlc_enterprise")
    assert enterprise.parameters["kind"] == "weibull"
    assert enterprise.rber(0) == pytest.approx(1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: reliability.load_model("tcl"), "did you mean `tlc`"),
        (lambda: reliability.load_model("a" * 5000), "unknown model"),
        (lambda: reliability.load_model({"kind": "states", "sgima": 1}), "sgima"),
        (lambda: reliability.load_model({"kind": "states", "sigma": -1}), "sigma"),
        (lambda: reliability.load_model("tlc").rber(-1), "pe: -1"),
        (lambda: reliability.load_model("tlc").rber(math.nan), "pe: NaN"),
        (lambda: reliability.load_model("tlc").rber(0, temperature_c=900), "-55 to 200"),
        (lambda: reliability.load_model("tlc").rber(0, page_type="top"), "lower, middle, upper"),
        (lambda: reliability.load_model("kim").rber(0, page_type="lower"), "does not distinguish"),
        (lambda: reliability.load_model("kim").states(), "no threshold-voltage states"),
        (lambda: reliability.load_model("kim").llr_table(), "no threshold-voltage states"),
        (lambda: reliability.load_model("tlc").llr_table("lower", 5), "1, 3 or 7"),
        (lambda: reliability.load_model("tlc").llr_table(offsets=[0, 1]), "1, 3 or 7"),
        (lambda: reliability.load_model("tlc").llr_table(levels="worst"), "default, best"),
        (lambda: reliability.load_model("tlc").llr_table(levels=[1.0]), "7 rising voltages"),
        (lambda: reliability.load_model("tlc").retry_table(0), "1 to 64"),
        (lambda: reliability.layer_factors(0, 0.1), "layers"),
        (lambda: reliability.layer_factors(-1, 0.1), "layers"),
        (lambda: reliability.codeword_failure(255, 4, 0.6), "0 to 0.5"),
        (lambda: reliability.codeword_failure(-1, 4, 0.1), "codeword_bits"),
        (lambda: reliability.arrhenius(1.1, 40, 900), "-55 to 200"),
        (lambda: reliability.life_test("tlc_standard", "military"), "client, enterprise"),
        (lambda: reliability.life_test("tlc_standard", waf=0.5), "waf"),
        (lambda: reliability.life_test("tlc_standard", tbw_tb=-1), "tbw"),
        (lambda: reliability.life_test("tlc_standard", retry=True), "no threshold-voltage states"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(call, words: str) -> None:
    with pytest.raises(onl.ConfigError) as caught:
        call()
    assert words in str(caught.value)


def test_llr_tables_are_those_of_the_densities() -> None:
    model = reliability.load_model("tlc")
    stress = {"pe_cycles": 3000, "retention_h": 720}
    states = model.states(**stress)
    table = model.llr_table("middle", 3, **stress)
    # An independent sum: cells on a fine grid of voltages, each sensed three times.
    volts = np.linspace(-4, 8, 120_001)
    z = (volts[:, None] - states.mean) / states.sigma
    weight = np.exp(-0.5 * z * z) / states.sigma
    weight /= weight.sum(axis=0)
    levels = states.default_levels[
        [level for level in range(7) if states.page_of_level[level] == 1]
    ]
    bits = 1 - (np.arange(8)[:, None] > np.array([1, 5])).sum(axis=1) % 2
    sensed = [1 - (volts[:, None] > levels + offset).sum(axis=1) % 2 for offset in table.offsets]
    names = np.array(["".join(map(str, column)) for column in zip(*sensed, strict=True)])
    for name, zero, one, llr in zip(
        table.sensed, table.p_if_0, table.p_if_1, table.llr, strict=True
    ):
        inside = weight[names == name].sum(axis=0)
        assert inside[bits == 0].mean() == pytest.approx(zero, rel=2e-3)
        assert inside[bits == 1].mean() == pytest.approx(one, rel=2e-3)
        assert llr == pytest.approx(math.log(zero / one), rel=1e-9)
    assert table.rber <= float(model.rber(**stress, page_type="middle"))


def test_the_best_levels_are_no_worse_than_any_step_of_the_retry_table() -> None:
    table = reliability.load_model("tlc").retry_table(
        6, pe_cycles=3000, retention_h=2000, temperature_c=55
    )
    assert table.offsets.shape == (6, 7)
    assert (table.rber.mean(axis=1) >= table.best_rber.mean() * (1 - 1e-12)).all()
    assert table.best_rber.mean() < table.default_rber.mean()


@given(cv=st.floats(0.05, 0.6), rber=st.floats(1e-4, 0.1), t=st.integers(0, 30))
@settings(max_examples=30, deadline=None)
def test_beta_binomial_tails_are_mixtures_of_binomial_ones(cv: float, rber: float, t: int) -> None:
    ours = float(reliability.codeword_failure(255, t, rber, cv))
    alike = float(reliability.codeword_failure(255, t, rber))
    assert alike == pytest.approx(codeword_failure(255, t, rber), rel=1e-9)
    # The mixture over pages, as a sum over their rates.
    rho = cv * cv * rber / (1 - rber)
    a, b = rber * (1 / rho - 1), (1 - rber) * (1 / rho - 1)
    # Far above the mean too: a tail may be made by the few pages that are worst.
    top = min(a + 15 * math.sqrt(a) + 30, 0.999 * (a + b))
    rates = np.linspace(max(0.02, a - 12 * math.sqrt(a)), top, 4001) / (a + b)
    log_weight = (a - 1) * np.log(rates) + (b - 1) * np.log1p(-rates)
    weight = np.exp(log_weight - log_weight.max())
    tails = np.array([codeword_failure(255, t, float(rate)) for rate in rates[::10]])
    expected = float((tails * weight[::10]).sum() / weight[::10].sum())
    assert ours == pytest.approx(expected, rel=0.02, abs=1e-13)


@pytest.mark.parametrize("rber", [-1e-3, 0.7, math.nan, [0.1, 0.7]])
def test_a_rate_that_is_none_is_named(rber: float | list[float]) -> None:
    """A wrong `rber` was reported as one of `cv`."""
    with pytest.raises(ConfigError, match=r"accepted: 0 to 0\.5") as caught:
        reliability.codeword_failure(255, 4, rber)
    assert caught.value.path == "rber"
    with pytest.raises(ConfigError) as caught:
        reliability.codeword_failure(255, 4, 0.4, 3.0)
    assert caught.value.path == "cv"


def test_jedec_figures() -> None:
    assert reliability.arrhenius(1.1, 40, 55) == pytest.approx(6.45, abs=0.005)
    assert reliability.CLASSES["client"].bake_h(66) == pytest.approx(100.3, abs=0.2)
    assert reliability.CLASSES["enterprise"].bake_h(66) == pytest.approx(96.2, abs=0.2)


def test_poisson_intervals_hold_their_confidence() -> None:
    # The ends by definition: a mean at the upper end gives so few events with 2.5 %.
    for events in (1, 7, 60, 180):
        low, high = poisson_interval(events)
        at_most = math.fsum(
            math.exp(k * math.log(high) - high - math.lgamma(k + 1)) for k in range(events + 1)
        )
        below = math.fsum(
            math.exp(k * math.log(low) - low - math.lgamma(k + 1)) for k in range(events)
        )
        assert at_most == pytest.approx(0.025, rel=1e-6)
        assert 1 - below == pytest.approx(0.025, rel=1e-6)
    exact, near = poisson_interval(200), poisson_interval(201)
    assert near == pytest.approx(exact, rel=0.01)


def test_a_life_test_follows_from_wear_model_and_code() -> None:
    test = reliability.life_test("tlc_standard", "enterprise", waf=2.0)
    device = onl.load_device("tlc_standard")
    assert test.pe_cycles == 3000
    raw = device.effective["physical_pages"] * 4096
    assert test.tbw_tb == pytest.approx(raw * 3000 / 2.0 / 1e12)
    assert test.rber == pytest.approx(9.87e-4, rel=2e-3)
    assert test.uber == pytest.approx(PageCode(4096, 223, 32, 4).uber(test.rber), rel=1e-9)
    assert not test.passed
    assert test.uber_low <= test.uber_drawn <= test.uber_high
    # Half of the writing is half of the wear.
    half = reliability.life_test("tlc_standard", waf=2.0, tbw_tb=test.tbw_tb / 2)
    assert half.pe_cycles == pytest.approx(1500)
    # The same seed draws the same outcome; pages that differ fail more often.
    again = reliability.life_test("tlc_standard", "enterprise", waf=2.0)
    assert again == test
    spread = reliability.life_test("tlc_standard", "enterprise", waf=2.0, cv=0.5, layers=64)
    assert spread.uber > 2 * test.uber


def test_a_strong_code_passes_and_retry_saves_worn_flash() -> None:
    device = onl.load_device(
        {
            "nand": {"cell_type": "MLC", "oob_size_bytes": 1024},
            "ecc": {"algorithm": "bch", "bch_m": 14, "bch_t": 72},
        }
    )
    fresh = reliability.life_test(device, model="slc", tbw_tb=1.0)
    assert fresh.passed
    assert fresh.errors_drawn == 0
    assert fresh.uber_low == 0
    worn = reliability.life_test(device, model="mlc")
    saved = reliability.life_test(device, model="mlc", retry=True)
    assert saved.rber_by_page["upper"] < worn.rber_by_page["upper"] / 1.5
    assert saved.uber < worn.uber


def test_the_command_prints_points_in_one_document() -> None:
    found = answer("rber", "--model", "tlc", "--pe", "0:5000:3", "--retention-h", "0,720")
    assert [point["pe_cycles"] for point in found["points"]] == [0, 0, 2500, 2500, 5000, 5000]
    model = reliability.load_model("tlc")
    assert found["points"][3]["rber"] == model.rber(2500, 720)
    every = answer("rber", "--pe", "3000", "--page-type", "all")["points"]
    assert [point["page_type"] for point in every] == ["lower", "middle", "upper"]
    table = run("rber", "--pe", "0,3000", "--reads", "0,100")
    assert "pe_cycles" in table
    assert "reads" in table


def test_the_other_commands_answer() -> None:
    tables = answer("llr", "--pe", "3000", "--reads-per-bit", "7")["tables"]
    assert [len(table["bins"]) for table in tables] == [8, 14, 14]
    assert "information" in run("llr", "--page-type", "lower")
    found = answer("states", "--pe", "0", "--retention-h", "0")
    assert found["best_levels"] == found["default_levels"]
    assert "level above" in run("states")
    steps = answer("retry", "--steps", "4")["steps"]
    assert len(steps) == 5
    assert "best" in run("retry")
    found = answer("arrhenius", "--from", "40", "--to", "85", "--ea", "1.1", "--hours", "2190")
    assert found["acceleration"] == pytest.approx(167.6, abs=0.05)
    assert found["hours_at_to"] == pytest.approx(2190 / found["acceleration"])
    assert "acceleration" in run("arrhenius", "--from", "40", "--to", "85")
    rows = answer("table")["rows"]
    assert rows[0]["model"] == "weibull"
    assert all(abs(point["ratio"] - 1) < 2e-3 for point in rows[0]["points"])
    assert "the page" in run("table")
    life = answer("life", "--analytic", "--config", "tlc_standard", "--class", "enterprise", code=1)
    assert life["uber"] > life["uber_max"]
    assert "not passed" in run("life", "--analytic", "--config", "tlc_standard", code=1)
    wide = ["--set", "ecc.bch_m=14", "--set", "ecc.bch_t=72", "--set", "nand.oob_size_bytes=1024"]
    assert "passed" in run("life", "--analytic", "--config", "tlc_standard", *wide)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rber", "--model", "tcl"], "did you mean"),
        (["rber", "--pe", "a:b"], "FROM:TO:COUNT"),
        (["rber", "--pe", "0:1:1"], "2 to"),
        (["rber", "--pe", "0:1:9999", "--reads", "0:1:9999"], "combinations"),
        (["rber", "--temperature-c", "-300"], "-55 to 200"),
        (["rber", "--pe", "-1"], "0 to 1e12"),
        (["rber", "--pe", "1,,2"], "not a list of numbers"),
        (["rber", "--retention-h", "1e400"], "0 to 1e12"),
        (["life", "--analytic", "--layers", "999999"], "1 to 10000"),
        (["life", "--analytic", "--spread", "-1"], "0 to"),
        (["llr", "--model", "kim"], "no threshold-voltage states"),
        (["llr", "--reads-per-bit", "2"], "1, 3 or 7"),
        (["llr", "--offsets", "0.1,0,0.2"], "rising"),
        (["retry", "--steps", "100"], "1 to 64"),
        (["arrhenius", "--from", "40", "--to", "1000"], "-55 to 200"),
        (["life", "--config", "nothing"], "unknown device"),
        (["rber", "--config", "client_sata_2013"], "has no code"),
        (["rber", "--config", "nvme_gen4_tlc", "--spread", "0.2"], "needs a code with a bound"),
        (["rber", "--spread", "-1"], "accepted: 0 to 3"),
        (["rber", "--set", "ecc.algorithm=none"], "accepted: with --config"),
    ],
)
def test_bad_usage_is_refused_with_exit_code_2(arguments: list[str], words: str) -> None:
    message = answer(*arguments, code=2)["error"]["message"]
    assert words in message


def test_what_a_code_takes_is_where_its_uber_is_that_of_the_class() -> None:
    device = load_device("emmc_16gb")
    limit = code_limit(device, "enterprise")
    # 32 bits in each KiB: words of 8192 + 14 x 32 bits.
    p, n = limit.rber, 8640
    logs = [
        math.lgamma(n + 1) - math.lgamma(w + 1) - math.lgamma(n - w + 1)
        + w * math.log(p) + (n - w) * math.log1p(-p)
        for w in range(33, 200)
    ]  # fmt: skip
    assert math.fsum(map(math.exp, logs)) / 8192 == pytest.approx(1e-16, rel=1e-6)
    assert limit.correctable_rber == 32 / 8640
    # Pages that differ lose some codewords long before the mean does.
    assert code_limit(device, "enterprise", 0.3).rber < 0.55 * p
    found = answer("rber", "--pe", "0", "--config", "emmc_16gb", "--class", "enterprise")
    assert found["limit"]["rber"] == p
    assert found["limit"]["uber_max"] == 1e-16


def test_the_limit_of_ldpc_is_that_of_its_table() -> None:
    device = load_device("nvme_gen4_tlc")
    limit = code_limit(device)
    assert limit.is_extrapolated
    assert page_failure(device, np.array([limit.rber]))[1] == pytest.approx(1e-15, rel=1e-3)
    assert limit.correctable_rber is None


def test_rber_is_drawn_with_bands_and_limits() -> None:
    rows = answer("rber", "--pe", "0:5000:6", "--page-type", "all")["points"]
    limit = code_limit(load_device("emmc_16gb"), cv=0.3)
    figure = rber_chart(rows, limit=limit, cv=0.3)
    lines = [line for line in figure.series if line.draw == "line"]
    assert [line.name for line in lines] == ["lower page", "middle page", "upper page"]
    assert list(lines[0].y) == [row["rber"] for row in rows if row["page_type"] == "lower"]
    band, _, last = (line for line in figure.series if line.draw == "band" and not line.is_key)
    assert list(band.low) == pytest.approx([0.7 * y for y in lines[0].y])
    assert list(band.high) == pytest.approx([1.3 * y for y in lines[0].y])
    assert {mark.text: mark.value for mark in figure.marks} == {
        "UBER 1e-15, client": limit.rber, "t of n bits wrong": 32 / 8640,
    }  # fmt: skip
    low, high = scale.ends(figure, "y")
    assert limit.rber / 2 < low < limit.rber
    assert max(last.high) < high < 2 * max(last.high)
    # Far from all lines a limit is told.
    above = rber_chart([{**row, "rber": 0.1} for row in rows], limit=limit)
    assert not above.marks
    assert "Beyond the axis: UBER 1e-15, client" in above.note


def test_pages_have_strokes_where_stresses_have_colours() -> None:
    asked = ("--pe", "0:5000:3", "--retention-h", "0,720,8760", "--page-type", "all")
    figure = rber_chart(answer("rber", *asked)["points"], cv=0.3)
    looks = {line.name: (line.colour, line.stroke) for line in figure.series if not line.is_key}
    assert looks["720 h, lower page"] == (1, 0)
    assert looks["720 h, upper page"] == (1, 2)
    assert len(set(looks.values())) == 9
    assert "Bands around 9 lines would hide them" in figure.note


def test_plots_are_pages_or_drawings(tmp_path: Path) -> None:
    page, drawing = tmp_path / "rber.html", tmp_path / "table.svg"
    run("rber", "--pe", "0:5000:5", "--retention-h", "0,720", "--plot", str(page))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "720 h" in text
    run("states", "--plot", str(page))
    assert "8760 h at 40" in page.read_text(encoding="utf-8")
    run("table", "--plot", str(drawing))
    assert "<svg " in drawing.read_text(encoding="utf-8")
    missing = tmp_path / "nowhere" / "plot.html"
    result = RUNNER.invoke(app, ["reliability", "table", "--plot", str(missing)])
    assert result.exit_code == 2
    # A disk that is full is found out only when writing.
    if Path("/dev/full").exists():
        result = RUNNER.invoke(app, ["reliability", "table", "--plot", "/dev/full"])
        assert result.exit_code == 3
    assert not missing.exists()


def test_a_device_file_takes_the_models() -> None:
    for section in ("kim", "exponential", "read_disturb", {"kind": "states", "preset": "qlc"}):
        device = onl.load_device({"reliability": section})
        kind = section if isinstance(section, str) else section["kind"]
        assert device["reliability.kind"] == kind
    again = onl.load_device(device.to_dict())
    assert again == device
    with pytest.raises(onl.ConfigError, match=r"reliability\.sigma"):
        onl.load_device({"reliability": {"kind": "states", "sigma": 0}})
