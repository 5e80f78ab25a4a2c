"""Reports in a browser: every plot is drawn, nothing is fetched, nothing complains, at two widths.

Needs playwright and a Chromium; without either these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
import pts_documents
from conftest import SHORT, SMALL
from opennandlab.comparing import side_by_side
from opennandlab.reports import breakdown, output, plot
from opennandlab.reports.figure import colours
from opennandlab.reports.model import Chapter, Report, Section, Table
from opennandlab.reports.pts import overlay, views
from opennandlab.reports.pts.source import read

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    filter(
        None,
        (
            os.environ.get("OPENNANDLAB_CHROMIUM"),
            shutil.which("chromium"),
            shutil.which("chromium-browser"),
            shutil.which("google-chrome"),
        ),
    ),
    None,
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    # Under load a browser is slow to begin; the library then leaves sockets to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
# Between them these have every kind of figure, and more in three dimensions than may be alive.
KINDS = ("iops", "latency", "surface", "independence", "dirth")
PATIENCE_MS = 180_000
# What a figure shows once it is drawn: paths of some length, or a canvas of some size.
CONTENT = """figure => {
  const plot = figure.querySelector('.plot');
  const canvas = plot.querySelector('.gl-container canvas');
  if (canvas) return canvas.width * canvas.height > 10000 ? 'canvas' : '';
  const marks = plot.querySelectorAll(
    '.scatterlayer path, .barlayer path, .heatmaplayer image');
  return [...marks].some(mark => (mark.getAttribute('d') || 'M').length > 1 || mark.href)
    ? 'svg' : '';
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield started
        started.close()


class Pages(dict[str, Path]):
    """Reports as files, each made when it is first asked for.

    Chapters of some tests and of the others, one alone, a comparison, a damaged one.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, name: str) -> Path:
        """Write the report of that name."""
        self[name] = self.folder / f"{name}.html"
        output.write(getattr(self, f"_{name}")(), self[name])
        return self[name]

    @staticmethod
    def _chapters(tests: Iterable[str]) -> tuple[Chapter, ...]:
        return tuple(views.chapter(pts_documents.MAKERS[test](), test) for test in tests)

    def _rest(self) -> Report:
        # The composite workload is drawn by the same view as the other demand intensity test.
        tests = [test for test in pts_documents.MAKERS if test not in {*KINDS, "ecw"}]
        return Report("Other tests", "", self._chapters(tests))

    def _some(self) -> Report:
        return Report("Some tests", "", self._chapters(KINDS))

    def _alone(self) -> Report:
        return Report("IOPS", "", self._chapters(["iops"]))

    def _compared(self) -> Report:
        measured = [read(pts_documents.dirth(), "a"), read(pts_documents.dirth(), "b")]
        found = side_by_side(measured, ["a", "b"], force=True)
        return overlay.report(measured, ["a", "b"], found)

    def _saturated(self) -> Report:
        return Report("WSAT", "", self._chapters(["wsat"]))

    def _conditions(self) -> Report:
        rows = (("requests", "2000"), ("command", "opennandlab calibrate " + "--free key " * 40))
        table = Table("conditions", "Conditions", ("", "value"), rows, wraps=True)
        section = Section("conditions", "How cells were run", (table,))
        return Report("Fit", "", (Chapter(id="fit", title="Fit", sections=(section,)),))

    def _damaged(self) -> Report:
        torn = pts_documents.wsat()
        del torn["header"], torn["steady_state"]
        return Report("Torn", "", (views.chapter(torn, "torn"),))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("reports"))


class Watched:
    """A page of which everything that should not happen is noted."""

    def __init__(self, browser: Any, path: Path, width: int, **options: Any) -> None:
        self.complaints: list[str] = []
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.listen)
        self.page.on("request", self.fetch)
        self.page.goto(path.as_uri())

    def listen(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def fetch(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.complaints.append(f"fetches {request.url}")

    def figure(self, place: int) -> Any:
        """Bring a figure into view and wait until it is drawn."""
        found = self.page.locator("figure[data-figure]").nth(place)
        found.scroll_into_view_if_needed()
        self.page.wait_for_function(
            "place => document.querySelectorAll('figure[data-figure]')[place]"
            ".dataset.state === 'drawn'",
            arg=place,
        )
        return found

    def close(self) -> None:
        """Close the page."""
        self.context.close()


@pytest.mark.parametrize(
    ("name", "width"),
    [
        # The most pages by far, of the views that the others have too.
        pytest.param("rest", 1280, marks=pytest.mark.long),
        ("some", 420), ("compared", 420), ("damaged", 1280),
    ],
)  # fmt: skip
def test_every_plot_is_drawn(browser: Any, pages: Pages, name: str, width: int) -> None:
    with closing(Watched(browser, pages[name], width)) as watched:
        count = watched.page.locator("figure[data-figure]").count()
        assert count >= 5
        kinds = [watched.figure(place).evaluate(CONTENT) for place in range(count)]
        assert "" not in kinds
        assert "svg" in kinds
        assert ("canvas" in kinds) == (name in {"some", "compared"})
        # Tables scroll in themselves; the page never does, sideways, not even when it is turned.
        for size in (width, 400):
            watched.page.set_viewport_size({"width": size, "height": 900})
            watched.page.wait_for_function(
                "size => document.documentElement.scrollWidth <= size", arg=size
            )
        live = watched.page.locator("figure[data-depth][data-state=drawn]").count()
        assert live <= 6
        assert watched.complaints == []


def turned(page: Any, canvas: Any, figure: Any, eye: str, before: dict[str, float]) -> bool:
    """Drag once, and tell whether the eye has moved: on a busy machine a drag may be lost."""
    box = canvas.bounding_box()
    across, down = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(across, down)
    page.mouse.down()
    page.mouse.move(across + 160, down - 30, steps=6)
    page.mouse.up()
    page.wait_for_timeout(500)
    after = figure.evaluate(eye)
    return max(abs(after[axis] - before[axis]) for axis in "xyz") > 0.1


def test_the_surface_turns(browser: Any, pages: Pages) -> None:
    with closing(Watched(browser, pages["alone"], 1280)) as watched:
        place = watched.page.evaluate(
            "[...document.querySelectorAll('figure[data-figure]')]"
            ".findIndex(figure => figure.id.endsWith('3d-surface'))"
        )
        figure = watched.figure(place)
        eye = "figure => figure.querySelector('.plot')._fullLayout.scene._scene.getCamera().eye"
        canvas = figure.locator(".gl-container canvas").first
        canvas.scroll_into_view_if_needed()
        before, picture = figure.evaluate(eye), canvas.screenshot()
        assert any(turned(watched.page, canvas, figure, eye, before) for _ in range(20))
        assert len(picture) > 5000
        assert canvas.screenshot() != picture
        assert watched.complaints == []


def test_everything_can_be_read_without_a_script(browser: Any, pages: Pages) -> None:
    with closing(Watched(browser, pages["alone"], 1280, java_script_enabled=False)) as watched:
        drawings = watched.page.locator("figure .static svg")
        assert drawings.count() == 12
        for place in range(drawings.count()):
            box = drawings.nth(place).bounding_box()
            assert box["width"] > 600
            assert box["height"] > 200
        summary = watched.page.locator("summary").first
        summary.click()
        assert watched.page.locator("details[open] td").first.is_visible()
        assert watched.complaints == []


def test_it_prints_with_a_header_on_each_page(browser: Any, pages: Pages, tmp_path: Path) -> None:
    with closing(Watched(browser, pages["alone"], 1280)) as watched:
        watched.page.emulate_media(media="print")
        plots = watched.page.locator("figure .plot")
        drawings = watched.page.locator("figure .static")
        assert not any(plots.nth(place).is_visible() for place in range(plots.count()))
        assert all(drawings.nth(place).is_visible() for place in range(drawings.count()))
        content = watched.page.pdf(path=tmp_path / "printed.pdf", prefer_css_page_size=True)
        assert content.count(b"/Type /Page") >= 4
        broken = "element => getComputedStyle(element).breakInside"
        assert drawings.first.evaluate(broken) == "avoid"
        assert watched.complaints == []


PAPER = "element => getComputedStyle(element).backgroundColor"
# Colours of the words of a drawing, of the lines of the grid of a plot, and of its paper.
INKS = """figure => [
  getComputedStyle(figure.querySelector('.static text')).fill,
  getComputedStyle(figure.querySelector('.plot .xtitle')).fill,
  getComputedStyle(figure.querySelector('.plot .main-svg')).backgroundColor,
]"""


def rgb(colour: str) -> str:
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({', '.join(map(str, parts))})"


def test_page_and_plots_follow_the_colour_scheme(browser: Any, pages: Pages) -> None:
    papers = {
        "light": [rgb(colours.INK), rgb(colours.INK), rgb(colours.PAPER)],
        "dark": [
            rgb(colours.DARK[name]) for name in (colours.INK, colours.INK, colours.PAPER)
        ],
    }  # fmt: skip
    with closing(Watched(browser, pages["damaged"], 1280, color_scheme="dark")) as watched:
        for scheme in ("dark", "light"):
            watched.page.emulate_media(color_scheme=scheme)
            watched.page.wait_for_function(
                "() => !document.querySelector('figure[data-state=drawing]')"
            )
            figure = watched.figure(0)
            assert figure.evaluate(INKS) == papers[scheme]
            assert watched.page.locator("body").evaluate(PAPER) == papers[scheme][2]
        # Print is light, whatever the screen is.
        watched.page.emulate_media(color_scheme="dark", media="print")
        assert watched.page.locator("body").evaluate(PAPER) == papers["light"][2]
        assert figure.evaluate(INKS)[0] == papers["light"][0]
        assert watched.complaints == []


# Words that reach over the edge of the drawing that they belong to.
CUT = """figure => {
  const found = [];
  for (const svg of figure.querySelectorAll('.plot .main-svg')) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1))
        found.push(text.textContent);
    }
  }
  return found;
}"""


def test_no_label_is_cut_on_a_narrow_screen(browser: Any, pages: Pages) -> None:
    with closing(Watched(browser, pages["alone"], 420)) as watched:
        count = watched.page.locator("figure[data-figure]").count()
        cut = {place: watched.figure(place).evaluate(CUT) for place in range(count)}
        assert {place: texts for place, texts in cut.items() if texts} == {}


def test_a_window_that_narrows_is_laid_out_anew(browser: Any, pages: Pages) -> None:
    """Names of levels took nine tenths of a figure that was drawn before the window narrowed."""
    room = "figure => figure.querySelector('.plot')._fullLayout._size.w"
    with closing(Watched(browser, pages["saturated"], 1280)) as watched:
        watched.figure(0)
        assert watched.page.locator(".set-up[open]").count() == 1
        watched.page.set_viewport_size({"width": 420, "height": 900})
        watched.page.wait_for_function("!document.querySelector('.set-up[open]')")
        figure = watched.figure(0)
        assert figure.evaluate(room) > 250
        assert figure.evaluate(CUT) == []
        assert watched.complaints == []


@pytest.mark.parametrize("width", [1280, 420])
def test_names_and_values_have_room(browser: Any, pages: Pages, width: int) -> None:
    """A long command left the names before the values a letter a line."""
    with closing(Watched(browser, pages["conditions"], width)) as watched:
        assert watched.page.locator("main h1, main h2").count() == 1
        assert watched.page.locator("tbody th").first.bounding_box()["width"] > 100
        assert watched.page.locator(".wide").first.evaluate(
            "one => one.scrollWidth <= one.clientWidth"
        )


@pytest.mark.always
def test_a_result_is_drawn_as_a_page(browser: Any, tmp_path: Path) -> None:
    """`--plot` of a run and of a breakdown, at two widths, and without a script."""
    result = onl.benchmark(SMALL, {**SHORT, "read_pct": 50}, breakdown=True)
    for name, made in (
        ("run", plot.report(result.content)),
        ("breakdown", breakdown.report(result.content)),
    ):
        path = tmp_path / f"{name}.html"
        output.write(made, path)
        for width in (1280, 420):
            with closing(Watched(browser, path, width)) as watched:
                for place in range(len(made.figures)):
                    assert watched.figure(place).evaluate(CONTENT) == "svg"
                    assert watched.figure(place).evaluate(CUT) == []
                assert watched.complaints == []
                # Words wrap: no table of metrics or parts is wider than the screen.
                first = watched.page.locator(".table.own .wide").first
                assert first.evaluate("one => one.scrollWidth <= one.clientWidth")
        with closing(Watched(browser, path, 420, java_script_enabled=False)) as watched:
            drawings = watched.page.locator("figure .static svg")
            assert drawings.count() == len(made.figures)
            assert watched.complaints == []


def test_the_first_screen_holds_verdict_figures_and_deviations(browser: Any, pages: Pages) -> None:
    with closing(Watched(browser, pages["alone"], 1280)) as watched:
        tops = [
            watched.page.locator(part).first.bounding_box()["y"]
            for part in (".badge.verdict", ".headlines li", ".note.warning", ".opening")
        ]
        assert tops == sorted(tops)
        assert tops[-1] < 900


@pytest.mark.parametrize(("width", "is_told"), [(420, [True]), (1280, [False])])
def test_a_table_wider_than_the_screen_says_that_it_scrolls(
    browser: Any, pages: Pages, width: int, is_told: list[bool]
) -> None:
    with closing(Watched(browser, pages["alone"], width)) as watched:
        hint = watched.page.locator("#c1-iops.table .hint")
        assert [hint.is_visible()] == is_told


def test_chapters_are_reached_from_the_summary(browser: Any, pages: Pages) -> None:
    with closing(Watched(browser, pages["some"], 420)) as watched:
        assert watched.page.locator("table.summary tbody tr").count() == len(KINDS)
        watched.page.locator("table.summary a").first.click()
        assert watched.page.url.endswith("#c1")
        # The summary is stacked on a narrow screen, and no wider than it.
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 420
