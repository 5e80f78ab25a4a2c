"""Figures of curves: what is drawn is what was measured, and limits are where theory has them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab import _core, ecc
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.cli import app
from opennandlab.documents.ecc import CurveDocument
from opennandlab.ecc.bounds import Limits, plain_settings
from opennandlab.ecc.charts import Look, plot
from opennandlab.ecc.drawn import DrawnCurve, named_apart, of_document, on_one_axis, read_curves
from opennandlab.ecc.pooled import pooled, stored_curves
from opennandlab.reports.figure import interactive, scale
from opennandlab.reports.figure.model import Plot, Series
from opennandlab.reports.figure_tables import table_of

SHORT = "bch:m=8,t=4"
COUNTED = {"method": "monte_carlo", "max_frames": 4000, "errors": 40}


def measured(code: str = SHORT, points: str = "1e-3,5e-3,1e-2", **asked: object) -> CurveDocument:
    return ecc.curve(code, asked.pop("channel", "bsc"), points, **{**COUNTED, **asked}).content


@pytest.fixture(scope="module")
def counted() -> CurveDocument:
    """Points of which the first met no error."""
    return measured()


@pytest.fixture(scope="module")
def mixed() -> CurveDocument:
    """Points of Monte Carlo and of importance sampling."""
    return measured("nand-n1024-r0889", "3e-3,1.2e-2", channel="sensing:3", method="auto")


def drawn(*documents: CurveDocument, look: Look | None = None) -> Plot:
    return plot(on_one_axis([of_document(one) for one in documents]), look=look)


def lines(figure: Plot, *draws: str) -> list[Series]:
    return [line for line in figure.series if line.draw in draws and not line.is_key]


def keys(figure: Plot) -> list[str]:
    return [line.name for line in figure.series if line.is_key]


def run(*asked: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["ecc", *asked])
    assert result.exit_code == code, result.output
    return result.output


def test_a_decoder_in_the_title_is_of_the_codes_that_have_a_choice(
    counted: CurveDocument, mixed: CurveDocument
) -> None:
    """BCH next to LDPC stood under `Frame error rate, layered-nms`, by which it is not decoded."""
    titles = [drawn(*curves).title for curves in ((counted, mixed), (mixed, mixed))]
    assert titles[0].endswith(", LDPC by layered-nms")
    assert titles[1].endswith(", layered-nms")


def test_values_and_intervals_are_those_of_the_document(counted: CurveDocument) -> None:
    figure = drawn(counted)
    (line,) = lines(figure, "dots")
    met = [point for point in counted.points if point.frame_errors]
    assert len(met) == 2
    assert line.x == [point.x for point in met]
    assert line.y == [point.frame_errors / point.frames for point in met]
    assert line.low == [point.fer_low for point in met]
    assert line.high == [point.fer_high for point in met]
    (bound,) = lines(figure, "bounds")
    # Of n frames without an error 1 - 0.025^(1/n) is the upper end (Clopper and Pearson).
    assert counted.points[0].frames == 4000
    assert bound.x == [1e-3]
    assert bound.y == pytest.approx([1 - 0.025 ** (1 / 4000)])
    assert keys(figure) == [
        "no error: 95 % upper bound", "best code, normal approximation",
        "bounded distance, exact",
    ]  # fmt: skip
    heads = table_of(figure).columns
    assert heads[0] == "raw bit error rate (RBER)"
    assert not any("best code" in head or "Monte Carlo" in head for head in heads)


def test_methods_differ_in_their_marks(mixed: CurveDocument) -> None:
    assert [point.method for point in mixed.points] == ["importance_sampling", "monte_carlo"]
    figure = drawn(mixed)
    (line,) = lines(figure, "dots")
    assert line.marks == ["hollow", "full"]
    assert keys(figure)[:2] == ["Monte Carlo", "importance sampling"]
    trace = interactive.figure(figure)["data"][0]
    assert [symbol.endswith("-open") for symbol in trace["marker"]["symbol"]] == [True, False]


def test_exact_rates_are_lines_without_marks() -> None:
    figure = drawn(ecc.curve(SHORT, "bsc", "1e-3:1e-2:5", method="analytic").content)
    (line,) = lines(figure, "dots")
    assert set(line.marks) == {"none"}
    assert not line.low
    assert "bars" not in figure.y.label
    assert interactive.figure(figure)["data"][0]["mode"] == "lines"
    # The curve itself is that of bounded distance.
    assert keys(figure) == ["best code, normal approximation"]


def test_axes_end_where_the_data_ends(counted: CurveDocument, mixed: CurveDocument) -> None:
    for figure in (drawn(counted), drawn(mixed), drawn(counted, look=Look(limits=False))):
        for axis, rows in (
            ("x", [line.x for line in figure.series]),
            ("y", [part for line in figure.series for part in (line.y, line.low, line.high)]),
        ):
            low, high = scale.ends(figure, axis)
            values = [value for row in rows for value in row if value]
            values += [mark.value for mark in figure.marks if mark.axis == axis]
            assert low < min(values) < low * 10
            assert high / 10 < max(values) < high
        assert scale.ticks(figure.y, scale.ends(figure, "y"))


def entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@pytest.mark.parametrize("rate", [0.5, 0.8745, 0.975])
def test_capacity_of_the_bsc_solves_its_equation(rate: float) -> None:
    found = Limits({"kind": "bsc"}, rate).capacity_x
    assert 1 - entropy(found) == pytest.approx(rate, abs=1e-9)


def test_the_upright_line_is_the_capacity(counted: CurveDocument) -> None:
    (mark,) = drawn(counted).marks
    assert (mark.axis, mark.text) == ("x", "capacity, 1 read")
    assert 1 - entropy(mark.value) == pytest.approx(223 / 255, abs=1e-9)


def test_capacities_are_those_of_the_core() -> None:
    known = ecc.limits(0.9)
    for reads in (1, 3, 7):
        found = Limits({"kind": "sensing", "reads": reads}, 0.9).capacity_x
        assert found == pytest.approx(known[str(reads)], rel=1e-6)
    soft = Limits({"kind": "unquantised"}, 0.9).capacity_x
    assert soft == pytest.approx(known["unquantised"], rel=1e-6)
    from opennandlab.ecc.tables import all_limits

    awgn = Limits({"kind": "awgn"}, 0.9).capacity_x
    assert awgn == pytest.approx(all_limits(0.9)["unquantised"]["ebn0_db"], abs=1e-6)


def test_the_best_code_is_the_normal_approximation(counted: CurveDocument) -> None:
    (line,) = lines(drawn(counted), "dashed")
    assert len(line.x) == len(line.y) > 10
    for p, fer in zip(line.x, line.y, strict=True):
        assert p is not None
        spread = math.sqrt(255 * p * (1 - p)) * math.log2((1 - p) / p)
        margin = 255 * (1 - entropy(p)) - 223 + math.log2(255) / 2
        assert fer == pytest.approx(math.erfc(margin / spread / math.sqrt(2)) / 2, rel=1e-6)
    values = [value for one in drawn(counted).series for value in one.y if value]
    assert min(line.y) >= min(values)


def tail(n: int, t: int, p: Fraction) -> Fraction:
    return 1 - sum(
        (Fraction(math.comb(n, w)) * p**w * (1 - p) ** (n - w) for w in range(t + 1)), Fraction(0)
    )


def test_bounded_distance_is_the_binomial_tail(counted: CurveDocument) -> None:
    (line,) = [one for one in lines(drawn(counted), "line") if one.stroke == 2]
    known = [(x, y) for x, y in zip(line.x, line.y, strict=True) if x and y]
    for x, y in (known[0], known[len(known) // 2], known[-1]):
        assert y == pytest.approx(float(tail(255, 4, Fraction(x))), rel=1e-9)
    # Over Eb/N0 the hard decision errs with Q(sqrt(2 R Eb/N0)).
    p = 0.5 * math.erfc(math.sqrt(0.8745 * 10**0.6))
    found = Limits({"kind": "awgn"}, 0.8745).bounded_distance(255, 4, 6.0)
    assert found == pytest.approx(float(tail(255, 4, Fraction(p))), rel=1e-9)


def test_limits_can_be_left_out_and_targets_drawn(counted: CurveDocument) -> None:
    bare = drawn(counted, look=Look(limits=False))
    assert not bare.marks
    assert keys(bare) == ["no error: 95 % upper bound"]
    aimed = drawn(counted, look=Look(limits=False, target=1e-11))
    assert [(mark.axis, mark.value) for mark in aimed.marks] == [("y", 1e-11)]
    assert scale.ends(aimed, "y")[0] < 1e-11
    with pytest.raises(ConfigError, match="target"):
        Look(target=2.0)


def test_a_limit_far_away_is_told_and_not_drawn() -> None:
    figure = drawn(ecc.curve(SHORT, "bsc", "1e-5:1e-4:3", method="analytic").content)
    assert not figure.marks
    assert "Beyond the axis: capacity, 1 read, at RBER 0.01721" in figure.note
    assert scale.ends(figure, "x")[1] < 1.2e-4


def test_many_limits_would_hide_the_curves() -> None:
    documents = [
        ecc.curve(f"bch:m=10,t={t},data_bits=512", "bsc", "2e-3:2e-2:4", method="analytic").content
        for t in (2, 5, 8, 12, 16, 20, 24, 28, 32, 36)
    ]
    figure = drawn(*documents)
    assert not figure.marks
    assert not lines(figure, "dashed")
    assert "capacities would hide the curves" in figure.note
    looks = {
        (trace["line"]["color"], trace["marker"]["symbol"][0])
        for trace in interactive.figure(figure)["data"][:10]
    }
    assert len(looks) == 10


def test_bit_error_rates_stand_beside(counted: CurveDocument) -> None:
    (line,) = [one for one in drawn(counted, look=Look(ber=True)).series if "bit" in one.name][:1]
    assert line.y == [point.ber for point in counted.points if point.ber]
    curve = DrawnCurve("p", "rber", of_document(counted).points[:1], "p.csv")
    with pytest.raises(ConfigError, match=r"no bit error rates in p\.csv"):
        plot([curve], look=Look(ber=True))


def test_names_tell_curves_apart(counted: CurveDocument, mixed: CurveDocument) -> None:
    one = measured("nand-n1024-r0889", "1.2e-2", max_frames=200)
    two = measured("nand-n1024-r0889", "1.2e-2", max_frames=200, seed=7)
    curves = [of_document(each, "a.json") for each in (counted, mixed, one, two, counted)]
    assert [curve.name for curve in named_apart(curves)] == [
        "bch:m=8,t=4 (a.json)",
        "nand-n1024-r0889, 3 reads, seed 42",
        "nand-n1024-r0889, 1 read, seed 42",
        "nand-n1024-r0889, 1 read, seed 7",
        "bch:m=8,t=4 (a.json)",
    ]
    assert plain_settings({"kind": "sensing", "reads": 1}) == {"kind": "bsc"}


CSV = """# taken off a figure
rber,fer,fer_low,fer_high,label
4e-3,6e-3,,,B
3e-3,1e-3,5e-4,2e-3,A
2e-3,0,,3e-5,A
"""


def test_published_curves_lie_over_saved_ones(tmp_path: Path, counted: CurveDocument) -> None:
    ecc.Curve(counted).save(tmp_path / "curve.json")
    (tmp_path / "p.csv").write_text(CSV, encoding="utf-8")
    curves = read_curves([tmp_path / "curve.json", tmp_path / "p.csv"])
    assert [curve.name for curve in curves] == ["bch:m=8,t=4", "B", "A"]
    figure = plot(curves)
    shown = {line.name: line for line in figure.series}
    assert (shown["B"].x, shown["B"].y, shown["B"].low) == ([4e-3], [6e-3], ())
    assert (shown["A"].x, shown["A"].low, shown["A"].high) == ([3e-3], [5e-4], [2e-3])
    assert (shown["A, upper bound"].x, shown["A, upper bound"].y) == ([2e-3], [3e-5])
    for ending in ("svg", "png", "pdf", "html"):
        target = tmp_path / f"f.{ending}"
        files = [str(tmp_path / name) for name in ("curve.json", "p.csv")]
        assert "3 curves drawn" in run("plot", *files, "--output", str(target))
        assert target.stat().st_size > 5000


def test_a_comparison_has_the_limit_of_its_channel(tmp_path: Path) -> None:
    document = ecc.compare(
        [SHORT, "bch:m=8,t=4,data_bits=222"], "bsc", "2e-3:1e-2:3", method="analytic"
    )
    (tmp_path / "both.json").write_text(json.dumps(document), encoding="utf-8")
    curves = read_curves([tmp_path / "both.json"])
    marks = {mark.text: mark.value for mark in plot(curves).marks}
    assert marks == {"capacity, 1 read": pytest.approx(document["limits"]["1"], rel=1e-6)}


def test_one_axis_has_one_unit(tmp_path: Path, counted: CurveDocument) -> None:
    (tmp_path / "db.csv").write_text("ebn0_db,fer\n4,1e-3\n", encoding="utf-8")
    ecc.Curve(counted).save(tmp_path / "curve.json")
    with pytest.raises(ConfigError, match=r"cannot have .*Eb/N0.*db\.csv|curve\.json.*Eb/N0"):
        read_curves([tmp_path / "curve.json", tmp_path / "db.csv"])
    (tmp_path / "x.csv").write_text("x,fer\n4e-3,1e-3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="does not state what it is"):
        read_curves([tmp_path / "x.csv"])
    assert read_curves([tmp_path / "x.csv"], "ebn0_db")[0].x == "ebn0_db"
    # Next to a curve that says it, it need not.
    both = read_curves([tmp_path / "x.csv", tmp_path / "curve.json"])
    assert {curve.x for curve in both} == {"rber"}
    (tmp_path / "x.csv").write_text("x,fer\n4,1e-3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="4 is not a raw bit error rate"):
        read_curves([tmp_path / "x.csv"], "rber")


@pytest.mark.parametrize(("text", "said"), [
    ("", "empty; accepted: a head"),
    ("rber,fer\n", "has a head and no points"),
    ("rber,fre\n1e-3,1e-3\n", "line 1: column `fre`; accepted: rber, ebn0_db, x, fer"),
    ("rber,fer,fer\n1e-3,1e-3,1\n", "line 1: column `fer` is given twice"),
    ("rber,fer\n1e-3,1e-3\n1e-3,1e-2\n", "line 3: 0.001 is given twice"),
    ("rber,x,fer\n", "accepted: one of rber, ebn0_db and x"),
    ("rber,label\n", "column `fer` is missing"),
    ("# a\n\nrber,fer\n1e-3,oops\n", "line 4, column `fer`: `oops`; accepted: 0 to 1"),
    ("rber,fer\n1e-3,1.5\n", "line 2, column `fer`: `1.5`; accepted: 0 to 1"),
    ("rber,fer\n0.7,1e-3\n", "line 2, column `rber`: 0.7; accepted: above 0, below 0.5"),
    ("rber,fer\n,1e-3\n", "line 2, column `rber`: empty"),
    ("rber,fer\n1e-3,\n", "line 2, column `fer`: empty"),
    ("rber,fer\n1e-3,1e-3,7\n", "line 2: 3 cells; accepted: 2"),
    ("rber,fer\n1e-3,0\n", "line 2, column `fer`: 0 means nothing without its upper end"),
    ("rber,fer,fer_low,fer_high\n1e-3,1e-3,2e-3,3e-3\n", "column `fer_low`: 0.002 with a fer"),
    ("rber,fer,fer_low,fer_high\n1e-3,1e-3,1e-4,9e-4\n", "column `fer_high`: 0.0009 with a fer"),
    ("rber,fer,fer_low,fer_high\n1e-3,1e-3,,2e-3\n", "column `fer_low`: empty; accepted: both"),
])  # fmt: skip
def test_what_is_wrong_in_a_csv_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultError) as caught:
        read_curves([path])
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_what_cannot_be_drawn_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(CSV, encoding="utf-8")
    given = str(tmp_path / "p.csv")
    assert "accepted file extensions" in run(
        "plot", given, "--output", str(tmp_path / "a.gif"), code=2
    )
    assert "overwritten" in run("plot", given, "--output", given, code=2)
    assert "No such file" in run("plot", "none.csv", "--output", str(tmp_path / "a.svg"), code=2)
    (tmp_path / "other.json").write_text('{"schema": "opennandlab.result/1"}', encoding="utf-8")
    said = run("plot", str(tmp_path / "other.json"), "--output", str(tmp_path / "a.svg"), code=2)
    assert "opennandlab.ecc-curve/1" in said
    assert not (tmp_path / "a.svg").exists()


def test_curves_without_any_rate_are_refused_and_bounds_alone_are_not() -> None:
    with pytest.raises(ConfigError, match="nothing to draw"):
        plot([DrawnCurve("p", "rber", ())])
    figure = drawn(measured(points="1e-4,2e-4"))
    assert [line.label for line in lines(figure, "bounds")] == [SHORT]


def test_seeds_of_the_store_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for effort in (2000, 4000):
        onl.sweep(verb="ecc.curve", vary={"x": [1e-3, 1e-2]}, seeds=3, store="kept", name="s",
                  changes={"code": SHORT, "method": "monte_carlo", "max_frames": effort,
                           "errors": 10_000})  # fmt: skip
    with onl.open_store("kept") as store:
        assert len(store.keys()) == 12
        (curve,) = stored_curves(store, ["verb=ecc.curve"])
        with pytest.raises(ConfigError, match="no curve is left"):
            stored_curves(store, ["x>1"])
    # The shorter run of a seed is part of its longer one.
    assert [point.frames for point in curve.points] == [12_000, 12_000]
    last = curve.points[1]
    assert last.fer == last.frame_errors / 12_000
    assert (last.fer_low, last.fer_high) == _core.ecc_interval(last.frame_errors, 12_000)
    assert last.fer_low < float(tail(255, 4, Fraction("0.01"))) < last.fer_high
    shown = run("plot", "--where", "verb=ecc.curve", "--store", "kept", "--output", "s.svg")
    assert "1 curve drawn" in shown
    assert "is missing; accepted: files, or --where" in run("plot", "--output", "s.svg", code=2)


def test_weighted_strata_of_two_seeds_add_up() -> None:
    asked = {"channel": "sensing:3", "method": "importance_sampling", "max_frames": 8000}
    two = [measured("nand-n1024-r0889", "8e-3", seed=seed, **asked) for seed in (1, 2)]
    (curve,) = pooled(two)
    (point,) = curve.points
    ours = [one.points[0] for one in two]
    assert point.frames == sum(one.frames for one in ours)
    assert min(one.fer for one in ours) < point.fer < max(one.fer for one in ours)
    assert point.relative_error < min(one.relative_error for one in ours)
