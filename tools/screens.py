"""Takes the pictures of the pages of `ui` again, in a browser without a window.

Usage: `python tools/screens.py [--out FOLDER] [--dark] [NAME...]`. Without playwright or Chromium
nothing is drawn, and a line names the missing part. The store is made by the program: two sweeps of
benchmarks, a curve of a code, standard tests, and a sweep in progress.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import opennandlab as onl
from opennandlab.store import Store
from system import PROGRAMS

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDE, NARROW, HEIGHT = 1280, 420, 860
COLOURS = 96
SMALL: dict[str, Any] = {
    "nand": {"channels": 2, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64,
             "pages_per_block": 32},
    "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2},
}  # fmt: skip
RANDOM: dict[str, Any] = {
    "name": "random writes", "pattern": "random", "queue_depth": 4, "total": {"drive_writes": 3},
    "precondition": [{"kind": "sequential_fill"}],
}  # fmt: skip
POLICIES = ["greedy", "cost_benefit", "random", "fifo"]
SPARE = [0.1, 0.16, 0.22, 0.28, 0.34, 0.4]
# The form of the sweep in progress: long enough to be met half-way.
LIVE = {"run": "benchmark", "device": "tlc_standard", "workload": "W2", "values": {
    "nand.channels": "2", "nand.dies_per_channel": "1", "nand.planes_per_die": "1",
    "nand.blocks_per_plane": "64", "nand.pages_per_block": "64", "nand.max_pe_cycles": "1000000",
    "ftl.gc_reserve_blocks": "2", "workload.total": "{drive_writes: 500}",
    "workload.timed": "false", "workload.precondition": "[{kind: sequential_fill}]",
}, "vary": [["ftl.gc_policy", "greedy, random, fifo"], ["ftl.over_provisioning_pct", "0.1:0.4:7"]],
    "seeds": "3", "seed": "1", "name": "policies"}  # fmt: skip
# On the page that renews itself: enough points of the sweep in progress.
NAMED = """folder => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    texts.currentNode.data = texts.currentNode.data.replaceAll(folder, 'lab');
}"""
IS_MET = "() => / (1[2-9]|[2-5][0-9]) of 63/.test(document.body.innerText)"


def fill(folder: Path) -> None:
    """Run the contents of the store."""
    onl.sweep(
        SMALL, RANDOM, seeds=3, store=folder, name="spare-area",
        vary={"ftl.gc_policy": POLICIES, "ftl.over_provisioning_pct": SPARE},
    )  # fmt: skip
    onl.sweep(verb="ecc.curve", code="bch:m=10,t=6,data_bits=512", channel="bsc", errors=50,
              vary={"x": "4e-3:1.2e-2:5"}, store=folder, name="bch-code")  # fmt: skip
    onl.sweep(SMALL, verb="pts.wsat", vary={"ftl.gc_policy": ["greedy", "fifo"]}, store=folder,
              name="saturation")  # fmt: skip
    onl.sweep(SMALL, RANDOM, seeds=2, store=folder, name="queue-depth",
              vary={"workload.queue_depth": [1, 2, 4, 8, 16, 32]})  # fmt: skip
    with Store.open(folder) as store:
        store.remark(store.keys(["sweep=queue-depth"])[:2], tags=["figure-3"], note="for the paper")


def key(folder: Path, *where: str) -> str:
    """Return the key of the newest point that conditions hold for."""
    with Store.open(folder) as store:
        return store.keys(list(where))[0]


def pages(folder: Path) -> dict[str, tuple[str, int]]:
    """Return address and width of each picture, by name."""
    like = [key(folder, "sweep=spare-area", f"gc_policy={one}", "over_provisioning_pct=0.28",
                "seed=42") for one in POLICIES[:3]]  # fmt: skip
    return {
        "live": ("/live", WIDE),
        "sweep": ("/sweep?name=policies", WIDE),
        "runs": ("/?sweep=queue-depth", WIDE),
        "runs-narrow": ("/?sweep=spare-area", NARROW),
        "sweeps": ("/sweeps", WIDE),
        "plot": ("/plot?sweep=spare-area", WIDE),
        "parallel": ("/plot?sweep=spare-area&kind=parallel", WIDE),
        "compare": ("/compare?" + "&".join(f"key={one}" for one in like), WIDE),
        "run": (f"/run?key={key(folder, 'sweep=queue-depth')}", WIDE),
        "new": ("/new", WIDE),
    }


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a store on a free port of this machine; yield the address."""
    words = [sys.executable, "-m", "opennandlab", "ui", "--store", str(folder), "--port", "0",
             "--no-browser", "--json", "--jobs", "1"]  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            text = ""
            while process.stdout is not None and not text.endswith("}\n"):
                text += (line := process.stdout.readline())
                if not line:
                    raise SystemExit("the server has ended")
            yield str(json.loads(text)["url"]).rstrip("/")
        finally:
            process.terminate()


def taken(page: Page, folder: Path, path: Path) -> None:
    """Save the first screen of a page with its figures drawn, in few colours."""
    from PIL import Image

    page.wait_for_load_state("load")
    page.wait_for_timeout(600)
    if page.url.endswith("/live"):
        page.wait_for_function(IS_MET, timeout=120_000)
    if page.locator("figure[data-figure]").count():
        page.locator("figure[data-figure]").first.scroll_into_view_if_needed()
        page.wait_for_selector("figure[data-state=drawn]", timeout=60_000)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(600)
    # The folder of the store is another one each time.
    page.evaluate(NAMED, str(folder))
    shot = Image.open(io.BytesIO(page.screenshot()))
    few = shot.convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    path.parent.mkdir(parents=True, exist_ok=True)
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1000} kB", flush=True)


def browser() -> str | None:
    """Return the program of the browser; None if there is none, or no playwright."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return None
    names = [name for program in PROGRAMS for name in program.names if "chrom" in name]
    found = next(filter(None, map(shutil.which, names)), None)
    return os.environ.get("OPENNANDLAB_CHROMIUM") or found


def main() -> None:
    """Take the pictures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--dark", action="store_true")
    given = parser.parse_args()
    program = browser()
    if program is None:
        print("no picture of the pages was taken: playwright and Chromium are needed")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        fill(folder)
        with served(folder) as url, sync_playwright() as playwright:
            started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = started.new_page(color_scheme="dark" if given.dark else "light")
            page.goto(url)
            page.evaluate("body => post('/api/start', body)", LIVE)
            for name, (path, width) in pages(folder).items():
                if not given.names or name in given.names:
                    page.set_viewport_size({"width": width, "height": HEIGHT})
                    page.goto(url + path)
                    taken(page, folder, given.out / f"ui-{name}.png")
            started.close()


if __name__ == "__main__":
    main()
