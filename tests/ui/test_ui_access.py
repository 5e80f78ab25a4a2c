"""Every page of `ui` by keyboard and for readers of screens, in a browser, wide and narrow.

Needs playwright, a Chromium, and for the second part axe-core: the file `axe.min.js` of the package
`axe_playwright_python`, or that of `OPENNANDLAB_AXE`. Without them these tests are skipped.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_ui_browser import CHROMIUM, PATIENCE_MS, Served, Watched, screens, sync_api

import ui_store
from opennandlab.store import Store
from stored import entry

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
LOOKS = [(1280, "light"), (1280, "dark"), (420, "light"), (420, "dark")]
SERIOUS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => one.id + ': ' + one.nodes.slice(0, 3).map(it => it.target.join(' ')
    + ' ' + (it.any[0]?.message || it.failureSummary)).join(' | '))"""
# Elements that take the focus, and those of them that the Tab key never reached.
REACHED = """() => { window.reached = new Set(); addEventListener('focusin', event => {
  window.reached.add(event.target); }); }"""
MISSED = """() => [...document.querySelectorAll(
  'a[href], button:not(:disabled), input:not(:disabled):not([type=hidden]), select, textarea, '
  + 'summary, [tabindex="0"]')]
  .filter(one => one.checkVisibility({visibilityProperty: true}) && !window.reached.has(one)
    && !one.closest('.plot'))
  .map(one => one.outerHTML.slice(0, 120))"""
RING = """() => { const one = document.activeElement, look = getComputedStyle(one);
  if (one === document.body || one.closest('.plot')) return true;
  return look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) >= 1; }"""


def axe() -> str | None:
    """Return the script of axe-core; None where it is not installed."""
    place = os.environ.get("OPENNANDLAB_AXE")
    found = importlib.util.find_spec("axe_playwright_python")
    if place is None and found is not None and found.origin is not None:
        place = str(Path(found.origin).with_name("axe.min.js"))
    return None if place is None else Path(place).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = ui_store.made(tmp_path_factory.mktemp("access"))
    with Store.open(folder) as store:
        store.remark(store.keys(["sweep=grid"])[:3], tags=["good", "figure-3"], note="as planned")
    return folder


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[Served]:
    with closing(Served(store)) as found:
        yield found


def all_screens(store: Path) -> list[str]:
    """Return an address of each screen, and those of unusual states."""
    return [
        *screens(store), "/live", "/plot", "/plot?sweep=*", "/plot?sweep=grid&kind=parallel",
        "/?group=sweep&col=key&col=tags&col=note&show=waf", "/?where=waf%3D%3E2", "/nowhere",
        "/compare", "/run?key=abcd",
    ]  # fmt: skip


def faults(browser: Any, served: Served, path: str, looks: list[tuple[int, str]]) -> list[str]:
    """Return what axe-core finds on a page, in each look, of serious faults."""
    script = axe()
    if script is None:
        pytest.skip("axe-core is not installed")
    found: list[str] = []
    with closing(Watched(browser, served.url, path)) as watched:
        page = watched.page
        if page.locator("figure[data-figure]").count():
            page.locator("figure[data-figure]").first.scroll_into_view_if_needed()
            page.wait_for_selector("figure[data-state=drawn]", timeout=PATIENCE_MS)
        for one in page.locator("details").all():
            one.evaluate("one => { one.open = true; }")
        page.evaluate(script)
        for width, scheme in looks:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(200)
            found += [f"{width} {scheme}: {text}" for text in page.evaluate(SERIOUS)]
    return found


@pytest.mark.parametrize("path", ["/?group=sweep", "/live", "/plot?sweep=grid&kind=parallel"])
def test_axe_finds_no_serious_fault(browser: Any, served: Served, path: str) -> None:
    assert faults(browser, served, path, [LOOKS[0], LOOKS[3]]) == []


@pytest.mark.long
def test_axe_finds_no_serious_fault_on_any_page_in_any_look(
    browser: Any, served: Served, store: Path
) -> None:
    found = {path: faults(browser, served, path, LOOKS) for path in all_screens(store)}
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 420])
def test_everything_is_reached_by_tab_and_shows_the_focus(
    browser: Any, served: Served, store: Path, width: int
) -> None:
    for path in all_screens(store):
        with closing(Watched(browser, served.url, path, width)) as watched:
            page = watched.page
            page.evaluate(REACHED)
            count = page.evaluate("document.querySelectorAll('a, button, input, select, summary')"
                                  ".length")  # fmt: skip
            for step in range(count + 400):
                page.keyboard.press("Tab")
                if step < 25:
                    assert page.evaluate(RING), (path, page.evaluate(
                        "document.activeElement.outerHTML.slice(0, 200)"))  # fmt: skip
                if page.evaluate("document.activeElement === document.body"):
                    break
            assert page.evaluate(MISSED) == [], path


def test_the_column_picker_is_used_by_keyboard_and_closed_by_escape(
    browser: Any, served: Served
) -> None:
    with closing(Watched(browser, served.url, "/?sweep=grid", 420)) as watched:
        page = watched.page
        page.locator(".picker summary").focus()
        page.keyboard.press("Enter")
        assert page.locator(".picker").get_attribute("open") is not None
        page.locator(".picker [name=show][value='gc_cycles']").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Escape")
        assert page.locator(".picker").get_attribute("open") is None
        assert page.evaluate("document.activeElement.textContent") == "Columns"
        page.keyboard.press("Enter")
        page.locator(".picker [name=show][value='gc_cycles']").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**show=gc_cycles**")
        assert "gc_cycles" in watched.text("thead")
        assert watched.complaints == []


def test_on_a_phone_the_first_number_is_in_sight(browser: Any, served: Served) -> None:
    with closing(Watched(browser, served.url, "/?sweep=grid", 420)) as watched:
        box = watched.page.locator("thead th", has_text="WAF").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 420


def test_ticked_runs_are_tagged_and_a_note_is_kept(browser: Any, tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.add([entry(number) for number in range(3)])
    with (
        closing(Served(tmp_path)) as served,
        closing(Watched(browser, served.url, "/")) as watched,
    ):
        page = watched.page
        for place in (0, 2):
            page.locator("[name=key]").nth(place).check()
        page.locator("#tag").fill("odd one")
        page.keyboard.press("Enter")
        page.wait_for_selector(".tag >> text=one")
        assert page.locator(".tag").all_inner_texts() == ["odd", "one"] * 2
        assert watched.text("#chosen") == "2 chosen"
        page.locator("#tag").fill("a=b")
        page.locator("#add-tag").click()
        page.wait_for_selector("#trouble:not([hidden])")
        assert "is not valid" in watched.text("#trouble")
        page.locator("a.key").nth(1).click()
        page.locator("[name=note]").fill("kept <b>")
        page.get_by_role("button", name="Save", exact=True).click()
        page.wait_for_function(
            "() => document.getElementById('remark-state').textContent === 'Saved.'"
        )
        page.reload()
        assert page.locator("[name=note]").input_value() == "kept <b>"
        # The refusal, which a browser notes by itself, is meant.
        assert [one for one in watched.complaints if "422" not in one] == []


def test_a_run_is_cancelled_where_it_is_shown_live(browser: Any, tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    body = ui_store.body(vary=[["ftl.gc_policy", "greedy, fifo"]], seeds="2", name="endless")
    body["values"]["workload.total"] = "{drive_writes: 1000000}"
    with (
        closing(Served(tmp_path)) as served,
        closing(Watched(browser, served.url, "/live")) as watched,
    ):
        page = watched.page
        assert "Nothing runs" in watched.text("main")
        page.wait_for_function("() => count !== null")
        assert page.evaluate("body => post('/api/start', body)", body)["ok"]
        page.wait_for_function("() => document.body.innerText.includes('0 of 4 points')")
        button = page.get_by_role("button", name="Cancel endless")
        button.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("td >> text=stopped")
        assert "Nothing runs" in watched.text("main")
        assert watched.complaints == []
