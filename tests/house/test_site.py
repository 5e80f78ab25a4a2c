"""The site: every page has its place in the side bar, every public name its place in the API."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

import opennandlab as onl
from places import ROOT

SITE = ROOT / "docs" / "site"
ROOMS = {"": onl, **{name: getattr(onl, name) for name in sorted(onl._ROOMS)}}


def settings() -> dict[str, object]:
    found: dict[str, object] = {}
    exec((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"), found)  # noqa: S102 (ours)
    return found


def in_side_bar() -> list[Path]:
    """Return the pages of all lists of the side bar."""
    found = []
    for page in sorted(SITE.rglob("*.md")):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
            for line in block.splitlines():
                name = re.sub(r".*<(.+)>", r"\1", line).strip()
                if name and not name.startswith(":"):
                    found += sorted(page.parent.glob(f"{name}.md")) or [page.parent / f"{name}.md"]
    return [path.resolve() for path in found]


def test_every_page_has_one_place_in_the_side_bar():
    listed = in_side_bar()
    assert len(set(listed)) == len(listed)
    missing = [str(path.relative_to(ROOT)) for path in listed if not path.exists()]
    assert not missing
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    left_out = {path.resolve() for path in pages} - {*listed, SITE / "index.md"}
    names = sorted(str(path.relative_to(ROOT)) for path in left_out)
    assert not names, "give them a place in docs/site/index.md"


def test_every_public_name_is_in_the_reference_of_the_api():
    text = "".join(path.read_text() for path in (SITE / "api").glob("*.md"))
    shown = set(
        re.findall(r"^\.\. (?:auto)?(?:function|class|exception|data):: (\w+)$", text, re.MULTILINE)
    )
    for name, room in ROOMS.items():
        # What belongs to a room is on its page.
        assert set(room.__all__) - set(ROOMS) - shown == set(), name


def test_a_property_says_what_it_is_without_a_colon():
    # The reader of docstrings takes what stands before one for the type.
    for room in ROOMS.values():
        for name in room.__all__:
            kind = getattr(room, name)
            members = vars(kind).items() if inspect.isclass(kind) else ()
            for key, member in members:
                if isinstance(member, property | cached_property) and not key.startswith("_"):
                    first = inspect.cleandoc(member.__doc__ or "").splitlines()[0]
                    assert not re.search(r":\s*\S", first), f"{name}.{key}"


def test_nothing_of_the_site_comes_from_elsewhere():
    found = settings()
    assert "sphinx.ext.intersphinx" not in found["extensions"]
    for path in [*SITE.rglob("*.html"), *SITE.rglob("*.css")]:
        assert "//" not in path.read_text().replace("/*", "").replace("*/", "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built without a warning."""
    if not importlib.util.find_spec("sphinx") or not importlib.util.find_spec("furo"):
        pytest.skip("the site needs the extra `docs`: pip install 'opennandlab[docs]'")
    out = tmp_path_factory.mktemp("site") / "html"
    command = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-c", "docs", ".", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_finds_a_word(site: Path) -> None:
    assert "docs/site/index.html" in (site / "index.html").read_text()
    remote = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//')
    for path in site.rglob("*.html"):
        assert not remote.search(path.read_text(encoding="utf-8")), path
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert '"superblock"' in index or "superblock:" in index


@pytest.mark.long
def test_the_site_searches_in_a_folder_and_takes_the_width_of_the_window(site: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("OPENNANDLAB_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium")
    complaints: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("console", lambda told: complaints.append(told.text))
        page.goto(f"{site.as_uri()}/search.html?q=superblock")
        page.wait_for_selector("p.context")
        page.wait_for_function("document.querySelector('.search-summary').innerText !== ''")
        excerpts = page.locator("#search-results p.context").all_inner_texts()
        page.goto(f"{site.as_uri()}/docs/presets.html")
        widths = {}
        for width in (420, 1050, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            widths[width] = page.evaluate(
                "[document.documentElement.scrollWidth,"
                " document.querySelector('article').offsetWidth]"
            )
        unlevelled = page.locator("[role=heading]:not([aria-level])").count()
        page.set_viewport_size({"width": 420, "height": 900})
        # The keyboard reaches what scrolls sideways.
        page.wait_for_selector("article pre[tabindex='0']")
        browser.close()
    assert not complaints
    assert not unlevelled
    assert len(excerpts) > 10
    # Of a page that only lists others the search knows their titles, which are not in its text.
    found = [excerpt for excerpt in excerpts if "superblock" in excerpt.lower()]
    assert len(found) > 0.9 * len(excerpts)
    assert all(whole == width for width, (whole, _) in widths.items()), "it scrolls sideways"
    assert all(article > 0.65 * width for width, (_, article) in widths.items()), widths
