"""Figures: each kind in both renderers, by what is in them; colours, labels, bytes."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure as Sheet

from opennandlab.base.errors import OutputError
from opennandlab.reports import output
from opennandlab.reports.figure import colours, interactive, scale, static
from opennandlab.reports.figure.model import Axis, Figure, Mark, Part, Plot, Relief, Series, Stack
from opennandlab.reports.figure_tables import table_of
from opennandlab.reports.model import Table, page_of

SVG = "{http://www.w3.org/2000/svg}"
X = [1.0, 2.0, 4.0, 8.0]


def plot(*series: Series, **options: Any) -> Plot:
    axes = {"x": Axis("depth", "log"), "y": Axis("IOPS", zero=True)}
    return Plot(**{"id": "p", "title": "A & <b>", **axes, "series": series, **options})


def relief(shape: Any, scale: Any = "linear", band: float | None = None) -> Relief:
    values = ((1.0, 20.0, 300.0), (2.0, None, 600.0))
    axis = Axis("IOPS", scale, zero=scale == "linear")
    return Relief("r", "R", "mix", "size", axis, ("a", "b", "c"), ("d", "e"), values, shape, band)


FIGURES: dict[str, Figure] = {
    "lines": plot(Series("one", X, [1, 2, 3, 4], "line"), Series("two", X, [4, 3, 2, 1])),
    "dashed": plot(Series("one", X, [1, 2, 3, 4], "dashed")),
    "points": plot(Series("one", X, [1, 2, 3, 4], "points", texts=["a", "b", "c", "d"])),
    "bars": plot(Series("n", [0, 1], [3, 4], "bars", texts=["3", "4"]), x=Axis("case")),
    "steps": plot(Series("one", X, [1, 2, 3, 4], "steps"), x=Axis("t")),
    "histogram": plot(Series("n", [1, 10, 100], [5, 7, 0], "area"), y=Axis("n", "log")),
    "error bars": plot(Series("one", X, [2, 3, 4, 5], low=[1, 2, 3, 4], high=[3, 4, 5, None])),
    "two axes": plot(
        Series("n", [1, 10, 100], [5, 7, 0], "area"),
        Series("sum", [1, 10, 100], [0, 41, 100], "line", is_right=True),
        y=Axis("n", "log"), right=Axis("sum, %", zero=True),
    ),
    "bounds": plot(Series("one", X, [2, 3, 4, 5], "bounds")),
    "marks": plot(
        Series("one", X, [2, 3, 4, 5]),
        marks=(Mark("y", 3.0, "mean"), Mark("y", 3.01, "median"), Mark("x", 2.0, "limit")),
    ),
    "ordered": plot(*(Series(f"QD {q}", X, [q, q, q, q]) for q in range(7)), ordered=True),
    "gaps": plot(Series("one", [1, 2, 4, None], [None, 0.0, 1e-8, 1.0]), y=Axis("y", "log")),
    "one point": plot(Series("one", [1.0], [5.0])),
    "empty": plot(Series("one", [], []), y=Axis("y", "log")),
    "surface": relief("surface"),
    "log surface": relief("surface", "log"),
    "columns": relief("columns"),
    "bands": relief("bands", band=100.0),
    "log bands": relief("bands", "log"),
    "stack": Stack(
        "s", "S", Axis("µs"), ("all", "tail"),
        (Part("bus", (10.0, 20.0), "#0072b2"), Part("erase", (30.0, 180.0), "#8c2d04")),
        ("40 µs", "200 µs"),
    ),
}  # fmt: skip
everything = pytest.mark.parametrize("name", FIGURES)


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text")]


@everything
def test_both_renderers_name_axes_and_series(name: str) -> None:
    figure = FIGURES[name]
    shown = texts(static.svg([figure]))
    drawn = interactive.figure(figure)
    assert figure.title in shown
    layout = drawn["layout"]
    if isinstance(figure, Plot):
        labels = [figure.x.label, figure.y.label]
        assert [layout[f"{axis}axis"]["title"]["text"] for axis in "xy"] == labels
        assert [layout[f"{axis}axis"]["type"] for axis in "xy"] == [figure.x.scale, figure.y.scale]
        named = [figure.series[at].label for at in figure.legend]
        assert [trace["name"] for trace in drawn["data"] if trace["showlegend"]] == named
        marked = [text for line in figure.series for text in line.texts if line.draw != "bars"]
        marked += [mark.text for mark in figure.marks]
        assert sorted(one["text"] for one in layout["annotations"]) == sorted(marked)
        assert set(labels + named + marked) <= set(shown)
    elif isinstance(figure, Stack):
        assert [layout[axis]["title"]["text"] for axis in ("xaxis", "xaxis2")] == ["µs", "share, %"]
        assert {"µs", "share, %", "bus", "erase", "all", "tail", "40 µs", "200 µs"} <= set(shown)
    else:
        axes = layout.get("scene", layout)
        assert [axes[f"{axis}axis"]["title"]["text"] for axis in "xy"] == ["mix", "size"]
        assert drawn["layout"]["coloraxis"]["colorbar"]["title"]["text"] == "IOPS"
        assert {"mix", "size", "a", "b", "c", "d", "e", "IOPS"} <= set(shown)


@everything
def test_the_interactive_figure_holds_the_values(name: str) -> None:
    figure, drawn = FIGURES[name], interactive.figure(FIGURES[name])
    json.dumps(drawn, allow_nan=False)
    if isinstance(figure, Plot):
        for line, trace in zip(figure.series, drawn["data"], strict=True):
            if line.draw == "area":
                assert trace["x"] == [5.5, 55.0]
                assert trace["width"] == [9, 90]
                assert trace["y"] == [5, 7]
                continue
            assert (trace["x"], trace["y"]) == (list(line.x), list(line.y))
            if line.high:
                assert trace["error_y"]["array"] == [1, 1, 1, 0]
                assert trace["error_y"]["arrayminus"] == [1, 1, 1, 0]
    elif isinstance(figure, Stack):
        for row, total in enumerate(figure.totals):
            parts = [t["x"][row] for t in drawn["data"] if t["xaxis"] == "x"]
            shares = [t["x"][row] for t in drawn["data"] if t["xaxis"] == "x2"]
            assert (sum(parts), sum(shares)) == (total, pytest.approx(100))
    elif figure.shape == "columns":
        # Eight corners of five columns; the cell without a value has none.
        assert len(drawn["data"][0]["z"]) == 40
        assert max(drawn["data"][0]["z"]) == 600
    else:
        assert drawn["data"][0]["z"] == figure.heights


@pytest.mark.parametrize("name", ["lines", "dashed", "points", "error bars", "bars"])
def test_the_static_figure_holds_the_values(name: str) -> None:
    from matplotlib.figure import Figure as Sheet

    figure = FIGURES[name]
    assert isinstance(figure, Plot)
    with static.style():
        sheet = Sheet(figsize=(static.WIDTH, static.height(figure)))
        static.draw(sheet, figure, (0, 0, static.WIDTH, static.height(figure)))
    (axes,) = sheet.axes
    assert (axes.get_xscale(), axes.get_yscale()) == (figure.x.scale, figure.y.scale)
    assert (axes.get_xlabel(), axes.get_ylabel()) == (figure.x.label, figure.y.label)
    for index, line in enumerate(figure.series):
        if line.draw == "bars":
            assert [bar.get_height() for bar in axes.patches] == list(line.y)
            continue
        drawn = axes.lines[index]
        assert list(drawn.get_xdata()) == list(line.x)
        assert list(drawn.get_ydata()) == list(line.y)
        assert (drawn.get_linestyle() == "None") == (line.draw == "points")
        if line.high:
            segments = axes.collections[0].get_segments()
            assert [[end[1] for end in ends] for ends in segments] == [[1, 3], [2, 4], [3, 5]]


@pytest.mark.parametrize("draw", ["line", "dashed", "steps"])
@pytest.mark.parametrize(
    ("y", "alone"),
    [([2.0], [0]), ([2.0, None, 3.0, 4.0], [0]), ([2.0, 3.0], []), ([None, 2.0, None], [1])],
)
def test_a_point_that_no_segment_reaches_has_a_marker(draw: Any, y: Any, alone: list[int]) -> None:
    """The plot of a short run was an empty frame: a line through one sample."""
    figure = plot(Series("one", X[: len(y)], y, draw))
    with static.style():
        sheet = Sheet(figsize=(static.WIDTH, static.height(figure)))
        static.draw(sheet, figure, (0, 0, static.WIDTH, static.height(figure)))
    drawn = sheet.axes[0].lines[0]
    assert (drawn.get_marker() != "") == bool(alone)
    assert (drawn.get_markevery() or []) == alone
    (trace,) = interactive.figure(figure)["data"]
    assert ("markers" in trace["mode"]) == bool(alone)
    if alone:
        assert [at for at, size in enumerate(trace["marker"]["size"]) if size] == alone


def test_drawings_alone_say_what_they_are_of(tmp_path: Path) -> None:
    made = page_of("W1 on small", "64 MiB raw; seed 42", [FIGURES["lines"]])
    output.write(made, tmp_path / "one.svg")
    shown = texts((tmp_path / "one.svg").read_text())
    assert {"W1 on small", "64 MiB raw; seed 42"} < set(shown)
    # Two lines and the gap below them, at 160 dots an inch.
    output.write(made, tmp_path / "one.png")
    tall = [int.from_bytes(raw[20:24]) for raw in (
        (tmp_path / "one.png").read_bytes(), static.png([FIGURES["lines"]]))]  # fmt: skip
    assert tall[0] - tall[1] == pytest.approx(160 * (2 * 0.17 + 0.08), abs=2)


@everything
def test_an_svg_is_well_formed_whole_and_the_same_each_time(name: str) -> None:
    first = static.svg([FIGURES[name]])
    assert first == static.svg([FIGURES[name]])
    root = ET.fromstring(first)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert "NaN" not in first
    assert not re.search(r"\d{4}-\d\d-\d\dT", first)
    for node in root.iter(f"{SVG}text"):
        place = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", node.attrib.get("transform", ""))
        x, y = place.groups() if place else (node.attrib["x"], node.attrib["y"])
        assert 0 <= float(x) <= width, node.text
        assert 0 <= float(y) <= height, node.text


@everything
def test_a_drawing_in_a_page_has_ids_of_its_own_and_colours_as_variables(name: str) -> None:
    figure = FIGURES[name]
    one, other = static.inline(figure, "a"), static.inline(figure, "b")
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (one, other)]
    assert not ids[0] & ids[1]
    assert ids[0] == set(re.findall(r'(?:href="|url\()#([\w-]+)', one))
    ET.fromstring(one)
    assert one.startswith('<svg role="img" aria-label=')
    for colour in (colours.INK, colours.FRAME, *(colours.theme([figure]))):
        assert colour not in one
    assert f"var(--c-{colours.INK[1:]})" in one


def test_the_numbers_hold_error_bars_and_parts() -> None:
    bars = table_of(FIGURES["error bars"])
    assert bars.columns == ("depth", "one", "one, low", "one, high")
    assert bars.rows[0] == (1.0, 2, 1, 3)
    assert table_of(FIGURES["stack"]).rows == (("all", 10.0, 30.0), ("tail", 20.0, 180.0))


def test_labels_of_lines_and_points_do_not_collide() -> None:
    marked = FIGURES["marks"]
    assert isinstance(marked, Plot)
    levels = scale.level_labels(marked, 0.05)
    assert abs(levels[0] - levels[1]) >= 0.05
    close = plot(
        Series("one", X, [1, 2, 3, 4]),
        marks=tuple(Mark("x", 2 + step / 100, "a long name") for step in range(5)),
    )
    rows = [row for row, _ in scale.mark_rows(close, 60).values()]
    assert sorted(rows) == [0, 1, 2, 3, 4]
    points = plot(
        Series("p", [1.0, 1.01, 1.02], [5.0, 5.0, 5.0], "points", texts=["MaxIOPS"] * 3),
        Series("line", X, [1, 2, 3, 9]),
    )
    places = [(x, y) for _, _, x, y in scale.point_labels(points, 60, 20)]
    for (x, y), (other_x, other_y) in itertools.combinations(places, 2):
        assert abs(x - other_x) > 9 / 60 or abs(y - other_y) > 1 / 20


def test_columns_carry_their_values_unless_they_are_many() -> None:
    few = Relief(
        "r", "R", "x", "y", Axis("IOPS"), ("a", "b"), ("c",), ((231_226.0, None),), "columns"
    )
    assert scale.column_labels(few) == [(0, 0, 231_226.0, "231k")]
    assert interactive.figure(few)["layout"]["scene"]["annotations"][0]["text"] == "231k"
    # A name at the very end of the axis was not drawn: that of the highest column.
    assert interactive.figure(few)["layout"]["scene"]["zaxis"]["range"][1] > few.height_top
    names = tuple(str(place) for place in range(9))
    many = replace(few, columns=names, rows=names, values=((1.0,) * 9,) * 9)
    assert scale.column_labels(many) == []
    # On a phone the names of nine columns lay on one another.
    assert interactive.figure(many)["narrow"]["scene.xaxis.ticktext"] == list(names[::2])


def test_bars_of_a_histogram_begin_at_one_request() -> None:
    bars = Series("requests", [1.0, 2.0, 4.0], [35_000.0, 1_500.0, 0.0], draw="area")
    low, _ = scale.ends(Plot("h", "H", Axis("ms", "log"), Axis("requests", "log"), (bars,)), "y")
    assert low <= 1.0


def test_reliefs_of_like_values_are_seen_from_the_same_side() -> None:
    rising = Relief(
        "r", "R", "x", "y", Axis("ms"), ("a", "b"), ("c", "d"), ((8.0, 2.0), (15.0, 5.0))
    )
    level = replace(rising, values=((183.74, 2.0), (183.67, 2.0)))
    assert rising.low_sides == level.low_sides == (True, False)


def test_ticks_are_round_and_few() -> None:
    assert scale.nice_ticks(0, 150) == [0, 25, 50, 75, 100, 125, 150]
    assert scale.ticks(Axis("y", "log"), (1e-8, 1.0))[0] == (1e-8, "1e-8")
    assert [text for _, text in scale.ticks(Axis("y", "log"), (40.0, 4000.0))] == [
        "50", "100", "200", "500", "1 000", "2 000",
    ]  # fmt: skip
    # Reads of a drive differ by a few percent: a histogram of them had no tick at all.
    assert [text for _, text in scale.ticks(Axis("x", "log"), (583.0, 597.0))] == [
        "585", "587.5", "590", "592.5", "595",
    ]  # fmt: skip


EXTREMES = (0.0, -1.0, 5e-324, 1e-250, 1.0, 1.0 + 2**-52, 1e15, 1e100, -1.7e308, 1.7e308)
PAIRS = list(itertools.combinations_with_replacement(EXTREMES, 2))
# A drawing of a relief takes 0.2 s: all values below the highest, and cells that are all alike.
DRAWN = [pair for pair in PAIRS if EXTREMES[-1] in pair or pair in {(0.0, 0.0), (-1.7e308,) * 2}]


@pytest.mark.parametrize("kind", ["linear", "log"])
def test_values_of_any_size_are_drawn_or_left_out(kind: Any) -> None:
    """A damaged or edited document may hold any number; a report of it has its other figures."""
    axis = Axis("y", kind)
    plots = [
        plot(Series("one", [1.0, 2.0], pair), y=axis, marks=(Mark("y", pair[0], "limit"),))
        for pair in PAIRS
    ]
    plots += [plot(Series("one", pair, [1.0, 2.0], "bars"), x=axis) for pair in PAIRS]
    drawing = static.svg(plots)
    assert max(map(len, texts(drawing))) < 30
    for one in plots:
        low, high = scale.ends(one, "y")
        assert -1e301 < low < high < 1e301
        assert interactive.figure(one)


@pytest.mark.parametrize("shape", ["surface", "columns", "bands"])
def test_reliefs_of_any_height_are_drawn(shape: Any) -> None:
    """Cells that are all alike make one band; huge ones do not make a band for each unit."""
    for kind, pair in itertools.product(("linear", "log"), DRAWN):
        values = (pair, (1.0, pair[0]))
        band = 100.0 if kind == "linear" else None
        one = Relief(
            "r", "R", "x", "y", Axis("z", kind), ("a", "b"), ("c", "d"), values, shape, band
        )
        assert 2 <= len(scale.band_edges(one)) <= 1000
        assert interactive.figure(one)
        assert static.svg([one])
    alike = Relief("r", "R", "x", "y", Axis("z", "log"), ("a",), ("b",), ((1.0,),), shape)
    assert static.svg([alike])
    # An edited document may hold values that no drive gives.
    below = Relief("r", "R", "x", "y", Axis("z"), ("a",), ("b", "c"), ((-2.0,), (-1.0,)), shape)
    assert static.svg([below])
    assert interactive.figure(below)


def test_every_ending_is_written_and_others_are_refused(tmp_path: Path) -> None:
    made = page_of("T", "lead", [FIGURES["lines"], FIGURES["stack"]])
    begins = {".html": b"<!DOCTYPE", ".pdf": b"%PDF-", ".png": b"\x89PNG", ".svg": b"<?xml"}
    assert set(output.ENDINGS) == {*begins, ".htm"}
    for ending, first in begins.items():
        path = tmp_path / f"file{ending.upper()}"
        output.write(made, path)
        content = path.read_bytes()
        assert content.lstrip().startswith(first), ending
        output.write(made, path)
        assert path.read_bytes() == content
    for name in ("file", "file.jpg", "file.svg.gz"):
        with pytest.raises(
            OutputError, match=r"accepted file extensions: \.html, \.htm, \.pdf, \.png, \.svg"
        ):
            output.check_ending(tmp_path / name)
    with pytest.raises(OutputError, match="nothing to draw"):
        output.write(page_of("T", "", []), tmp_path / "none.svg")


def test_importing_a_report_does_not_import_the_drawing_library() -> None:
    import subprocess
    import sys

    code = "import sys, opennandlab.reports.output; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation
# of Color Vision Deficiency", 2009, table 1, severity 1: what each kind of reader sees.
SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(colour: str) -> Any:
    """Return linear RGB of an sRGB colour (IEC 61966-2-1)."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: Any) -> Any:
    """Return CIELAB coordinates (CIE 15), white D65."""
    xyz = XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(shown: list[str], seen: Any) -> float:
    places = [lab(seen @ linear(colour)) for colour in shown]
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(places, 2))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.1."""
    low, high = sorted(float(XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["light", "dark"])
@pytest.mark.parametrize("reader", SEEN)
def test_categories_stay_apart_for_every_reader(reader: str, paper: str) -> None:
    """Of seven mixes in viridis three were blue: 18 apart, 12 for deuteranopes."""
    dark = paper == "dark"
    named = [colours.DARK[colour] if dark else colour for colour in colours.NAMED]
    assert nearest(named, SEEN[reader]) > 9
    seven = FIGURES["ordered"]
    assert isinstance(seven, Plot)
    shown = [colours.of_series(seven, index, dark=dark) for index in range(7)]
    assert nearest(shown, SEEN[reader]) > (30 if reader == "normal" else 11)


def test_colours_can_be_seen_on_their_paper() -> None:
    assert contrast(colours.INK, colours.PAPER) > 7
    dark = colours.DARK
    assert contrast(dark[colours.INK], dark[colours.PAPER]) > 7
    assert contrast(dark[colours.SOFT], dark[colours.PAPER]) > 4.5
    for light in (*colours.NAMED, *colours.ORDERED):
        assert contrast(light, colours.PAPER) > 2
    for light in colours.NAMED:
        assert contrast(dark[light], dark[colours.PAPER]) > 4
    for light in colours.ORDERED:
        shown = colours.shade((light, "#ffffff"), colours.DARK_WHITE)
        assert contrast(shown, dark[colours.PAPER]) > 3


def test_on_a_narrow_screen_levels_are_named_above_the_frame() -> None:
    """On their lines the names lay over the data."""
    long = "90 % of the last hour of the first group: 83.65 MB/s"
    marks = (Mark("x", 2.0, "limit"), Mark("y", 3.0, long))
    drawn = interactive.figure(plot(Series("one", X, [2, 3, 4, 5]), marks=marks))
    assert drawn["layout"]["annotations"][0]["text"] == long
    assert drawn["narrow"]["annotations.0.xanchor"] == "right"
    assert drawn["narrow"]["margin.r"] < 20
    # Above the row of the upright line.
    assert (drawn["narrow"]["annotations.0.y"], drawn["narrow"]["annotations.0.yshift"]) == (1, 14)
    assert drawn["narrow"]["margin.t"] == drawn["layout"]["margin"]["t"] + 14
    assert "annotations.1.xanchor" not in drawn["narrow"]


def test_the_ends_of_stacked_bars_stand_inside_the_frame() -> None:
    part = Part("bus", (200.0,), "#0072b2")
    stack = Stack("s", "S", Axis("ms", zero=True), ("all",), (part,), ("200 ms",))
    sheet = Sheet(figsize=(static.WIDTH, 3))
    static.draw(sheet, stack, (0, 0, static.WIDTH, 3))
    lengths, shares = sheet.axes
    assert lengths.get_xlim()[1] > 1.08 * 200
    assert shares.get_xlim() == (0, 100)


def test_words_begin_on_the_left_and_numbers_end_on_the_right() -> None:
    rows = (("WAF", "8.34", "x"), ("rate", "7 / 10", "1/s"), ("n", "n/a (3 samples)", "pages"))
    assert Table("t", "T", ("metric", "value", "unit"), rows).wordy == (True, False, True)
    assert Table("t", "T", ("a", "b"), ()).wordy == (False, False)
    # A cell of signs alone ended in an IndexError.
    assert Table("t", "T", ("a", "sign"), (("x", "+"), ("y", "+2"))).wordy == (True, False)


def test_the_facets_of_a_surface_have_the_colours_of_their_corners() -> None:
    values = ((0.0, 0.0, 0.0), (0.0, 0.0, 100.0), (0.0, 0.0, 100.0))
    names = ("a", "b", "c")
    solid = Relief("r", "R", "x", "y", Axis("IOPS", zero=True), names, names, values, "surface")
    sheet = Sheet(figsize=(static.WIDTH, 4))
    static.draw(sheet, solid, (0, 0, static.WIDTH, 4))
    sheet.canvas.draw()
    faces = sheet.axes[0].collections[0].get_facecolor()
    assert len({tuple(np.round(face, 3)) for face in faces}) == 3


@pytest.mark.parametrize("name", FIGURES)
def test_long_names_beside_a_frame_leave_room_for_it(name: str) -> None:
    """A row called by two hundred letters made the frame narrower than nothing: a traceback."""
    long = "a name of a row that a document of somebody else has " * 4
    figure = FIGURES[name]
    if isinstance(figure, Relief):
        figure = replace(figure, rows=(long, *figure.rows[1:]), columns=(long, *figure.columns[1:]))
    elif isinstance(figure, Stack):
        figure = replace(figure, rows=(long, *figure.rows[1:]))
    else:
        ticks = replace(figure.y, ticks=((1.0, long), (2.0, "b")))
        figure = replace(figure, y=ticks, marks=(*figure.marks, Mark("y", 1.5, long)))
    assert long not in static.svg([figure])
