"""`ui` in a browser: every screen, live maps, the keyboard, a narrow screen; nothing complains.

Needs playwright and a Chromium; without either these tests are skipped.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import ui_store
from opennandlab.store import Store
from opennandlab.ui.application import make
from opennandlab.ui.server import Server, bound, door_of
from stored import entry, failed, key

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
uvicorn = pytest.importorskip("uvicorn")
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
PATIENCE_MS = 180_000


class Served:
    """A server in a thread of this process."""

    def __init__(self, store: Path, token: str | None = None) -> None:
        self.socket = bound("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        app = make(store, door_of("127.0.0.1", self.socket.getsockname()[1], token), 1)
        self.place = app.state.place
        config = uvicorn.Config(app, log_level="error", lifespan="on", ws="none",
                                timeout_graceful_shutdown=1)  # fmt: skip
        begun = threading.Event()
        self.server = Server(config, self.place.watch.end, begun.set)
        # Signals are for the main thread: here `should_exit` ends it.
        run = self.server.serve
        self.thread = threading.Thread(target=lambda: asyncio.run(run(sockets=[self.socket])))
        self.thread.start()
        assert begun.wait(60)

    def close(self) -> None:
        """End it."""
        self.place.watch.end()
        self.server.should_exit = True
        self.thread.join(60)
        self.socket.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ui_store.made(tmp_path_factory.mktemp("ui"))


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[Served]:
    with closing(Served(store)) as found:
        yield found


# The row of buttons covers what scrolls below it.
IS_ABOVE = """() => {
  const at = document.querySelector('.dock').getBoundingClientRect();
  return document.elementFromPoint(at.x + 60, at.y + at.height / 2).closest('.dock') !== null;
}"""


class Watched:
    """A page of which everything that should not happen is noted."""

    def __init__(
        self, browser: Any, url: str, path: str, width: int = 1280, **options: Any
    ) -> None:
        self.complaints: list[str] = []
        self.base = url
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.listen)
        self.page.on("request", self.fetch)
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(url + path)

    def listen(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def fetch(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.complaints.append(f"fetches {request.url}")

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def close(self) -> None:
        """Close the page."""
        self.context.close()


def screens(store: Path) -> list[str]:
    """Return an address of each screen."""
    grid = ui_store.keys(store, "sweep=grid", "seed=42")
    from urllib.parse import quote

    return [
        "/", "/sweeps", "/sweep?name=grid", f"/sweep?name={quote(ui_store.HOSTILE, safe='')}",
        "/plot?sweep=grid", f"/compare?key={grid[0]}&key={grid[-1]}", "/new",
        "/new?run=ecc.curve", "/new?run=pts.wsat",
        f"/run?key={ui_store.keys(store, 'sweep=depth')[0]}", f"/run?key={key(1)}",
    ]  # fmt: skip


IS_CHECKED = "() => document.getElementById('start').textContent === 'Start 2 runs'"
IS_GONE = """() => ['it is gone', 'no store'].some(
  one => document.getElementById('trouble').textContent.includes(one))"""
IS_FINISHED = """() =>
  document.getElementById('progress').textContent.includes('finished')"""
LABELLED = """() => [...document.querySelectorAll(
  'input:not([type=hidden]), select, button, progress')]
  .filter(one => !(one.labels && one.labels.length) && !one.getAttribute('aria-label')
    && !(one.nodeName === 'BUTTON' && one.textContent.trim()))
  .map(one => one.outerHTML)"""
HEADS = """() => [...document.querySelectorAll('table')]
  .filter(one => [...one.querySelectorAll('th')].some(head => !head.scope))
  .map(one => one.outerHTML.slice(0, 200))"""


def test_every_screen_is_whole(browser: Any, served: Served, store: Path) -> None:
    for path in screens(store):
        with closing(Watched(browser, served.url, path, 1280, color_scheme="dark")) as watched:
            page = watched.page
            for place in range(min(2, page.locator("figure[data-figure]").count())):
                page.locator("figure[data-figure]").nth(place).scroll_into_view_if_needed()
                page.wait_for_function(
                    "place => document.querySelectorAll('figure[data-figure]')[place]"
                    ".dataset.state === 'drawn'",
                    arg=place,
                )
            assert page.evaluate(LABELLED) == [], path
            assert page.evaluate(HEADS) == [], path
            landmarks = (".bar", "main", ".foot", "nav[aria-label=Main]", "h1")
            assert [page.locator(one).count() for one in landmarks] == [1] * 5, path
            for width, scheme in ((1280, "dark"), (420, "light")):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                # Tables scroll in themselves; the page never does, sideways.
                page.wait_for_function(
                    "width => document.documentElement.scrollWidth <= width", arg=width
                )
                paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (sum(map(int, paper[4:-1].split(","))) < 200) == (scheme == "dark"), path
            assert watched.complaints == [], path


def test_a_map_fills_up_while_the_sweep_runs(browser: Any, tmp_path: Path) -> None:
    points = [entry(number, sweep="live", key=key(number), coordinates={"a": number // 5})
              for number in range(10)]  # fmt: skip
    with Store.open(tmp_path) as store:
        store.add(points[:1])
        store.note_sweep("live", {"run": "benchmark", "grid": {"a": [0, 1]}},
                         [(point.key, point.coordinates) for point in points])  # fmt: skip
        with (
            closing(Served(tmp_path)) as served,
            closing(Watched(browser, served.url, "/sweep?name=live")) as watched,
        ):
            page = watched.page
            assert "part" in page.locator("#m0").get_attribute("class")
            page.wait_for_function("() => told >= 0")
            store.add(points[1:5])
            page.wait_for_selector("#m0.done")
            assert page.locator("#m0").inner_text() == "1.25"
            assert "5 of 10 points" in watched.text("#progress")
            assert page.locator("#bar").evaluate("bar => bar.value") == 5
            page.wait_for_selector("#m1.waiting")
            broken = failed(5, sweep="live", key=key(5), coordinates={"a": 1}, error="<b>no")
            store.add([broken])
            page.wait_for_selector("#failures:not([hidden])")
            assert "<b>no" in watched.text("#failed-rows")
            assert "failed" in page.locator("#m1").get_attribute("class")
            store.add(points[6:])
            page.wait_for_function(IS_FINISHED)
            shutil.move(tmp_path / "runs.db", tmp_path / "gone.db")
            page.wait_for_selector("#why, body:not(:has(#why)) #trouble:not([hidden])")
            # By whoever looked first: the stream of events, or what is asked of it.
            page.wait_for_function(IS_GONE)
            shutil.move(tmp_path / "gone.db", tmp_path / "runs.db")
            page.wait_for_selector("#trouble", state="hidden")
            # While it was gone, what was asked of it was refused: the browser logs that.
            assert [one for one in watched.complaints if "503" not in one] == []


@pytest.mark.always
def test_a_run_is_asked_for_by_a_form_and_seen_to_its_end(browser: Any, tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    values = ui_store.body()["values"]
    with ExitStack() as stack:
        served = stack.enter_context(closing(Served(tmp_path)))
        with closing(Watched(browser, served.url, "/")) as watched:
            watched.page.wait_for_selector("a[href='/new'] >> text=Start a first run")
        # By its address, in a page of its own: one that is being drawn again loses what it is told.
        watched = stack.enter_context(closing(Watched(browser, served.url, "/new")))
        page = watched.page
        for path, value in values.items():
            field = page.locator(f'[name="{path}"]')
            if not field.is_visible():
                page.locator("#find").fill(path)
            if field.evaluate("one => one.nodeName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        page.locator("#find").fill("")
        page.locator("[name='ftl.over_provisioning_pct']").fill("28")
        page.wait_for_selector("[data-error='ftl.over_provisioning_pct']:not([hidden])")
        assert "28" in watched.text("[data-error='ftl.over_provisioning_pct']")
        page.locator("#start").click()
        page.wait_for_selector("#whole-error:not([hidden])")
        assert page.evaluate("document.activeElement.name") == "ftl.over_provisioning_pct"
        page.locator("[name='ftl.over_provisioning_pct']").fill("0.28")
        page.locator("[data-vary='0']").fill("ftl.gc_policy")
        page.locator("[data-values='0']").fill("greedy, fifo")
        page.wait_for_function(IS_CHECKED)
        # A preset that is changed keeps what was typed.
        with page.expect_navigation():
            page.locator("#workload").select_option("W1")
        assert page.locator("[data-values='0']").input_value() == "greedy, fifo"
        assert page.locator("[name='nand.channels']").input_value() == "2"
        page.wait_for_function(IS_CHECKED)
        page.locator("#start").click()
        page.wait_for_url("**/sweep?name=sweep-1")
        page.wait_for_selector("#state .badge.good")
        assert page.locator(".cell.done").count() == 2
        # The refusals, which a browser notes by itself, are meant.
        assert [one for one in watched.complaints if "422" not in one] == []


def test_a_run_is_verified_by_a_button(browser: Any, served: Served, store: Path) -> None:
    path = f"/run?key={ui_store.keys(store, 'sweep=depth')[0]}"
    with closing(Watched(browser, served.url, path)) as watched:
        watched.page.get_by_role("button", name="Verify", exact=True).click()
        watched.page.wait_for_function(
            "() => (document.querySelector('main p[role=status]')?.textContent || '')"
            ".includes('identical, digest')"
        )
        assert watched.page.get_by_role("button", name="Run it again", exact=True).is_enabled()
        assert watched.complaints == []


def test_a_token_is_typed_in_the_page(browser: Any, store: Path) -> None:
    token = "a token of this test"  # noqa: S105 (of this test alone)
    with (
        closing(Served(store, token)) as guarded,
        closing(Watched(browser, guarded.url, "/sweeps")) as watched,
    ):
        for typed in ("another one", token):
            watched.page.locator("#token").fill(typed)
            watched.page.get_by_role("button", name="Open").click()
            if typed != token:
                assert watched.text("#wrong") == "This token is not valid."
        assert watched.page.locator("nav[aria-label=Main]").is_visible()


def test_filters_are_folded_in_a_narrow_window(browser: Any, served: Served) -> None:
    with closing(Watched(browser, served.url, "/?sweep=grid", 420)) as watched:
        page = watched.page
        assert watched.text(".fold summary") == "Filter · sweep grid"
        assert not page.locator("select[name=status]").is_visible()
        # Keys stay at the left of a wide table, and below the row of buttons.
        page.set_viewport_size({"width": 420, "height": 400})
        page.evaluate("scrollTo(0, 60)")
        assert page.evaluate(IS_ABOVE)
        page.locator(".fold summary").click()
        assert page.locator("select[name=status]").is_visible()
        page.set_viewport_size({"width": 1280, "height": 900})
        page.keyboard.press("Escape")
        assert page.locator("select[name=status]").is_visible()
        assert not page.locator(".fold summary").is_visible()
        assert watched.complaints == []


def test_it_is_used_by_the_keyboard_alone(browser: Any, served: Served) -> None:
    with closing(Watched(browser, served.url, "/?sweep=grid")) as watched:
        page = watched.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        for _ in range(2):
            for _ in range(60):
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement.name === 'key'"):
                    break
            assert page.evaluate(outline) == "solid"
            page.keyboard.press("Space")
        assert watched.text("#chosen") == "2 chosen"
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id === 'compare'"):
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/compare?key=*")
        assert page.locator("h1").inner_text() == "Compare"
        assert watched.complaints == []


def test_the_table_is_renewed_and_keeps_what_is_chosen(browser: Any, tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.add([entry(number) for number in range(3)])
        with (
            closing(Served(tmp_path)) as served,
            closing(Watched(browser, served.url, "/")) as watched,
        ):
            page = watched.page
            page.locator("[name=key]").nth(1).check()
            page.wait_for_function("() => count !== null")
            store.add([entry(number) for number in range(3, 6)])
            page.wait_for_function("() => document.querySelectorAll('[name=key]').length === 6")
            assert page.locator("[name=key]:checked").count() == 1
            assert watched.text("#chosen") == "1 chosen"
            assert watched.complaints == []


def test_everything_but_live_maps_works_without_scripts(browser: Any, served: Served) -> None:
    with closing(
        Watched(browser, served.url, "/?sweep=grid", java_script_enabled=False)
    ) as watched:
        page = watched.page
        page.locator("[name=where]").first.fill("gc_policy=greedy")
        page.get_by_role("button", name="Filter").click()
        assert page.locator("[name=key]").count() == 4
        for place in range(2):
            page.locator("[name=key]").nth(place).check()
        page.locator("#compare").click()
        assert "Side by side" in watched.text("main")
        page.goto(served.url + "/plot?sweep=grid")
        page.locator("figure summary").first.click()
        assert page.locator("details[open] td").first.is_visible()
        assert watched.complaints == []
