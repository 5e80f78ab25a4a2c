"""Figures for print: exact size, embedded fonts, letters that can be read, words of people."""

from __future__ import annotations

import contextlib
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.text import Text

import opennandlab as onl
from conftest import Cli
from opennandlab.base.errors import ConfigError, OutputError
from opennandlab.reports import labels, output
from opennandlab.reports.figure import paper, static, stylesheet
from opennandlab.reports.figure.model import Axis, Figure, Plot, Relief, Series
from opennandlab.reports.figure.paper import Paper
from opennandlab.reports.model import Badge, Chapter, Report, Section, page_of
from opennandlab.reports.runs import Wanted, named, plots
from opennandlab.reports.runs import report as report_of_runs
from opennandlab.stats.groups import Group, Mean
from reports.test_figure import FIGURES, plot

DRAWABLE = [name for name in FIGURES if name != "empty"]
MM = 25.4


def streams(pdf: bytes) -> str:
    """Return what a PDF says, with its compressed parts opened."""
    found = pdf.decode("latin-1")
    for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        with contextlib.suppress(zlib.error):
            found += zlib.decompress(part).decode("latin-1")
    return found


@pytest.mark.parametrize("name", DRAWABLE)
@pytest.mark.parametrize("size", ["85mm", "176x90mm"])
def test_a_page_has_its_size_embedded_fonts_and_legible_letters(name: str, size: str) -> None:
    page = Paper.of(size)
    pdf = streams(paper.page([FIGURES[name]], page, ".pdf"))
    (box,) = re.findall(r"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf)
    assert float(box[0]) / 72 * MM == pytest.approx(page.width_mm, abs=0.01)
    if page.height_mm:
        assert float(box[1]) / 72 * MM == pytest.approx(page.height_mm, abs=0.01)
    assert "/FontFile2" in pdf, "embedded, as Type 42"
    assert "/Type3" not in pdf
    sizes = [float(size) for size in re.findall(r"/F\d+(?:-\S+)? ([\d.]+) Tf", pdf)]
    assert min(sizes) >= paper.LEAST


@pytest.mark.parametrize("name", DRAWABLE)
def test_all_letters_are_on_the_page(name: str) -> None:
    page = Paper.of("85mm")
    with static.style():
        sheet = paper._sheet([FIGURES[name]], page)
        sheet.canvas.draw()
        wide, tall = sheet.get_size_inches()
        for text in sheet.findobj(Text):
            if text.get_text().strip() and text.get_visible() and text.figure is not None:
                left, bottom, width, height = paper._inches(sheet, text)
                shown = f"{name}: {text.get_text()}"
                assert -0.02 < left < left + width < wide + 0.02, shown
                assert -0.02 < bottom < bottom + height < tall + 0.02, shown


def test_an_svg_has_its_size_and_paths_for_letters_and_no_title() -> None:
    drawn = plot(Series("one", [1, 2], [3, 4]))
    root = ET.fromstring(paper.page([drawn], Paper.of("85x50mm"), ".svg"))
    assert (root.get("width"), root.get("height")) == ("85mm", "50mm")
    assert not root.findall(".//{http://www.w3.org/2000/svg}text")
    text = paper.page([drawn], Paper.of("85x50mm"), ".svg").decode()
    assert "scale(0.075 -0.075)" in text, "letters keep their size, to the last digit"
    own = Paper(85.0, 50.0, {"svg.fonttype": "none"})
    text = paper.page([drawn], own, ".svg").decode()
    assert "depth" in text
    assert "A &amp;" not in text, "the title belongs to the caption"


def test_a_long_name_breaks_into_lines() -> None:
    names = ["a policy with a name of many words " * 4, "x" * 150]
    drawn = plot(*(Series(name, [1, 2], [3, 4]) for name in names))
    with static.style():
        sheet = paper._sheet([drawn], Paper.of("85mm"))
        sheet.canvas.draw()
        assert paper._inches(sheet, sheet.legends[0])[2] < 85 / MM


def test_the_same_figure_gives_the_same_bytes() -> None:
    for ending in paper.ENDINGS:
        one, two = (paper.page([FIGURES["lines"]], Paper.of("85mm"), ending) for _ in range(2))
        assert one == two


def test_the_caption_is_safe_in_latex() -> None:
    drawn = plot(Series("one", [1, 2], [3, 4]), title="50 % of a_b & µs", note="Cost: 3 $ #1.")
    text = paper.latex([drawn], Path("my figure.pdf"), Paper.of("85mm"))
    assert r"50 \% of a\_b \& $\mu$s. Cost: 3 \$ \#1." in text
    assert r"\includegraphics{my figure.pdf}" in text
    assert r"\label{fig:my-figure}" in text


@pytest.mark.parametrize(("shape", "size", "said"), [
    ("surface", "85mm", ["One in 3 values of x is named."]),
    ("surface", "300mm", []),
    ("bands", "85mm", []),
])  # fmt: skip
def test_the_caption_says_which_names_of_a_grid_are_shown(
    shape: Any, size: str, said: list[str]
) -> None:
    """Of 12 names a narrow surface shows four, and nothing said so."""
    columns, rows = tuple(map(str, range(12))), ("a", "b")
    drawn = Relief("r", "R", "x", "y", Axis("IOPS"), columns, rows, ((1.0,) * 12,) * 2, shape)
    assert paper.caption([drawn], Paper.of(size)) == " ".join(["R.", *said])
    with static.style():
        sheet = paper._sheet([drawn], Paper.of(size))
        names = [one.get_text() for one in sheet.axes[0].get_xticklabels() if one.get_text()]
    assert len(names) == (4 if said else 12)


@pytest.mark.parametrize(("words", "named"), [
    ("benchmark -w short.yaml -c small.yaml", "short on small.yaml"),
    ("benchmark -w job.fio -c small.yaml", "job.fio on small.yaml"),
    ("theory bandwidth --cell slc", "SLC n=64"),
])  # fmt: skip
def test_verbs_that_draw_draw_for_print(words: str, named: str, cli: Cli, folder: Path) -> None:
    """Only `report` of a saved document did."""
    (folder / "job.fio").write_text("[a]\nrw=randread\nsize=1m\n", encoding="utf-8")
    done = cli(*words.split(), "--plot", "one.svg", "--paper", "85x60mm")
    assert done.returncode == 0, done.stderr
    assert 'width="85mm" height="60mm"' in (folder / "one.svg").read_text(encoding="utf-8")
    assert r"\includegraphics{one.pdf}" in done.stderr
    assert named in " ".join(done.stderr.split())
    alone = cli(*words.split(), "--paper", "85mm")
    assert alone.returncode == 2
    assert "--paper: has no effect without a figure; accepted: with --plot" in alone.stderr


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ("85", "`85` is refused; accepted: WIDTH"),
        ("nanmm", "is refused"),
        ("-85mm", "is refused"),
        ("0mm", "width of 0 mm"),
        ("9000mm", "accepted: 40 to 500 mm"),
        ("85x1mm", "height of 1 mm"),
        ("٨٥mm", "is refused"),
    ],
)
def test_a_size_that_is_none_is_refused(size: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)):
        Paper.of(size)


def test_a_page_that_is_too_small_is_refused_and_so_are_surfaces_together() -> None:
    with pytest.raises(ConfigError, match="no room for the figure next to its names"):
        paper.page([FIGURES["ordered"]], Paper.of("40x25mm"), ".pdf")
    with pytest.raises(ConfigError, match="drawn alone"):
        paper.page([FIGURES["surface"], FIGURES["lines"]], Paper.of("85mm"), ".pdf")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    made = page_of("t", "", [FIGURES["lines"]])
    with pytest.raises(OutputError, match=r"accepted file extensions: \.pdf, \.svg, \.png"):
        output.write(made, tmp_path / "a.html", paper=Paper.of("85mm"))
    files = output.write_figures(made, tmp_path / "all", Paper.of("85mm"))
    assert [path.name for path in files] == ["p.pdf", "figures.tex"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("text.usetex: True", "no other program is run"),
        ("axes.prop_cycle: cycler('color', ['r'])", "colours belong to what is drawn"),
        ("backend: module://evil", "no key of the looks"),
        ("font.siz: 9", "did you mean `font.size`?"),
        ("font.size: nan", "accepted: 0 to 72"),
        ("font.size: 1e9", "accepted: 0 to 72"),
        ("axes.edgecolor: no colour", "does not look like a color"),
        ("junk", "accepted: key: value"),
    ],
)
def test_a_style_that_is_none_is_refused_with_its_line(
    tmp_path: Path, line: str, reason: str
) -> None:
    (tmp_path / "s").write_text(f"# ours\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(reason)) as caught:
        stylesheet.read(tmp_path / "s")
    assert "s:2" in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a" * (1 << 17)])
def test_a_style_that_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(ConfigError, match="style"):
        stylesheet.read(tmp_path / "s")
    with pytest.raises(ConfigError, match="cannot read"):
        stylesheet.read(tmp_path)


def test_a_font_that_is_missing_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "s").write_text(
        'font.family: serif\nfont.serif: No Such Font\ngrid.color: "#336699"\nfont.size: 6\n',
        encoding="utf-8",
    )
    page = Paper.of("85mm", tmp_path / "s")
    assert page.looks["font.serif"] == ["DejaVu Serif"]
    assert page.looks["grid.color"] == "#336699"
    assert any("no font `No Such Font`" in note for note in page.notes)
    assert any("letters of 6 pt" in note for note in page.notes)
    assert "DejaVuSerif" in streams(paper.page([FIGURES["lines"]], page, ".pdf"))


def groups(policies: list[str], patterns: tuple[str, ...] = ("random",)) -> list[Group]:
    return [
        Group(
            {"ftl.gc_policy": name, "ftl.over_provisioning_pct": op, "workload.pattern": pattern},
            3, 0, None, {"waf": Mean(size * (at + 2) / op, 0.1, 3)},
        )
        for at, name in enumerate(policies)
        for size, pattern in enumerate(patterns, 1)
        for op in (0.07, 0.2, 0.4)
    ]  # fmt: skip


WANTED = Wanted("ftl.over_provisioning_pct", "waf", "ftl.gc_policy")


def test_a_policy_has_its_place_wherever_it_is_drawn() -> None:
    few = plots(groups(["fifo", "greedy"]), WANTED)[0].series
    many = plots(groups(["mine:Aged", "random", "greedy", "d_choices d=4", "fifo"]), WANTED)[0]
    places = {line.name: line.colour for line in many.series}
    assert [line.name for line in few] == ["greedy", "FIFO"]
    assert all(places[line.name] == line.colour for line in few)
    assert list(places) == ["greedy", "d-choices (d = 4)", "random", "FIFO", "Aged"]
    looks = {(line.colour, line.stroke % 4) for line in many.series}
    assert len(looks) == 5


def test_each_built_in_policy_has_a_word() -> None:
    text = str(onl.load_device("tlc_standard").to_dict()["ftl"]["gc_policy"])
    assert "greedy" in text
    from opennandlab.base.schema import schema

    kinds = set(re.findall(r"'const': '(\w+)'", str(schema("device")["$defs"]["GcConfig"])))
    assert kinds - {"python"} == set(labels.POLICIES)


def test_names_are_those_of_people() -> None:
    (drawn,) = plots(groups(["greedy"]), WANTED)
    assert (drawn.x.label, drawn.y.label) == ("over-provisioning (%)", "write amplification")
    assert list(drawn.series[0].x) == pytest.approx([7.0, 20.0, 40.0])
    assert drawn.caption == (
        "Write amplification against over-provisioning, a line for each victim policy. Means of 3 "
        "runs; bands: 95 % intervals."
    )


def test_a_caption_in_a_paper_names_what_is_drawn_and_of_which_drive_and_load() -> None:
    relief = Relief(
        "s", "IOPS: 3-D surface, log scale", "read / write mix, %", "block size, KiB",
        Axis("IOPS", "log"), ("0/100",), ("4",), ((1.0,),),
    )  # fmt: skip
    rate = Plot(
        "r", "Throughput", Axis("simulated time, s"), Axis("MB/s"), (Series("a", [1], [2]),)
    )
    chapter = Chapter(
        "c", "Write saturation", "sim:small · 957 MiB TLC", Badge("SMOKE", "warning"),
        sections=(Section("all", "All", (relief, rate)),),
    )  # fmt: skip
    report = Report("Write saturation", "", (chapter,))
    about = "Drive and load: simulated small, 957 MiB TLC. SMOKE."
    first, second = output.for_print(report)
    assert first.caption == (
        f"IOPS against block size and read / write mix, on a logarithmic scale. {about}"
    )
    assert second.caption == f"Throughput against simulated time. {about}"
    assert isinstance(second, Plot)
    assert second.y.label == "throughput, MB/s", "without a title a unit alone says nothing"
    named = replace(rate, caption="30 651 of bch:m=10,t=6,data_bits=512")
    text = paper.latex([named], Path("a"), Paper.of("85mm"))
    assert r"30\,651 of bch:\allowbreak{}m=10,\allowbreak{}t=6" in text


def test_a_page_of_runs_names_drive_and_load_unless_they_were_varied() -> None:
    made = report_of_runs("t", groups(["greedy"]), WANTED, ["waf"])
    settings = {
        "device": onl.load_device("tlc_standard").to_dict(),
        "workload": {"pattern": {"kind": "random"}, "timed": True, "queue_depth": 4},
    }
    varied = ["ftl.gc_policy", "nand.channels", "workload.queue_depth"]
    whole = "32 GiB raw, TLC, random pattern, queue depth 4"
    for count, subtitle in ((1, whole), (2, "random pattern, queue depth 4"), (3, "")):
        shown = named(made, settings, varied[:count]).chapters[0].subtitle
        assert shown == subtitle
    assert named(made, {}, []).chapters[0].subtitle == ""


def keys(node: Any, path: str = "") -> list[str]:
    if not isinstance(node, dict):
        return [path]
    return [key for name, value in node.items() for key in keys(value, f"{path}.{name}".strip("."))]


def test_a_key_without_a_name_is_words_too() -> None:
    for key in keys(onl.load_device("nvme_gen4_tlc").to_dict()):
        name, factor = labels.axis(key)
        assert re.search("[_.]", name) is None, key
        assert factor in {1.0, 100.0}


def test_facets_have_common_axes_and_one_page() -> None:
    wanted = Wanted("ftl.over_provisioning_pct", "waf", "ftl.gc_policy", "workload.pattern")
    drawn: list[Figure] = list(plots(groups(["greedy", "fifo"], ("random", "zipf")), wanted))
    assert [one.title for one in drawn] == ["workload: random", "workload: zipf"]
    assert drawn[0].y.ends == drawn[1].y.ends
    for size, columns in (("85mm", 1), ("176mm", 2)):
        with static.style():
            sheet = paper._sheet(drawn, Paper.of(size))
        lefts = {round(axes.get_position().x0, 3) for axes in sheet.axes}
        assert len(lefts) == columns
        assert len(sheet.legends) == 1
    assert "(b) workload: zipf" in paper.caption(drawn, Paper.of("170mm"))


def test_intervals_are_a_band_along_a_line() -> None:
    (drawn,) = plots(groups(["greedy"]), WANTED)
    assert drawn.series[0].is_banded
    with static.style():
        sheet = paper._sheet([drawn], Paper.of("85mm"))
    (band,) = sheet.axes[0].collections
    low, high = band.get_paths()[0].get_extents().intervaly
    assert (low, high) == pytest.approx((2 / 0.4 - 0.1, 2 / 0.07 + 0.1))


def test_python_draws_a_page(tmp_path: Path) -> None:
    curve = onl.ecc.curve("bch:m=8,t=4", "bsc", [1e-4, 1e-3])
    curve.plot(tmp_path / "a.pdf", paper="85mm")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ConfigError, match="accepted: with a path"):
        curve.plot(paper="85mm")


def test_an_axis_keeps_its_ends() -> None:
    drawn = Plot("p", "P", Axis("x", ends=(0.0, 9.0)), Axis("y"), (Series("a", [1, 2], [3, 4]),))
    with static.style():
        sheet = paper._sheet([drawn], Paper.of("85mm"))
    assert sheet.axes[0].get_xlim() == (0.0, 9.0)
