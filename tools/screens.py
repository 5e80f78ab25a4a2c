"""Takes the pictures of the pages of `ui` anew: of a small store, in a browser without a window.

Usage: `python tools/screens.py [--out FOLDER] [--dark] [NAME...]`. Without a browser or playwright
nothing is drawn, and one line says what is missing. The store is made by the program itself: two
sweeps of benchmarks, a curve of a code, a standard test, and a sweep that still runs.
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

from system import PROGRAMS

import opennandlab as onl
from opennandlab.store import Store

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDE, NARROW, HEIGHT = 1280, 420, 860
COLOURS = 64
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
# What the page of a sweep in progress runs: long enough to be met half-way.
LIVE = {"run": "benchmark", "device": "tlc_standard", "workload": "W2", "values": {
    "nand.channels": "2", "nand.dies_per_channel": "1", "nand.planes_per_die": "1",
    "nand.blocks_per_plane": "64", "nand.pages_per_block": "64", "nand.max_pe_cycles": "1000000",
    "ftl.gc_reserve_blocks": "2", "workload.total": "{drive_writes: 100}",
    "workload.timed": "false", "workload.precondition": "[{kind: sequential_fill}]",
}, "vary": [["ftl.gc_policy", "greedy, random, fifo"], ["ftl.over_provisioning_pct", "0.1:0.4:7"]],
    "seeds": "3", "seed": "1", "name": "policies"}  # fmt: skip


def fill(folder: Path) -> None:
    """Run what the store of the pictures has."""
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


def key(folder: Path, *where: str) -> str:
    """Return the key of the newest point that conditions hold for."""
    with Store.open(folder) as store:
        return store.keys(list(where))[0]


def pages(folder: Path) -> dict[str, tuple[str, int]]:
    """Return address and width of each picture, by name."""
    pair = [key(folder, "sweep=spare-area", f"gc_policy={one}", "over_provisioning_pct=0.28")
            for one in POLICIES[:3]]  # fmt: skip
    return {
        "runs": ("/", WIDE),
        "runs-narrow": ("/?sweep=spare-area", NARROW),
        "sweeps": ("/sweeps", WIDE),
        "live": ("/live", WIDE),
        "sweep": ("/sweep?name=policies", WIDE),
        "plot": ("/plot?sweep=spare-area", WIDE),
        "compare": ("/compare?" + "&".join(f"key={one}" for one in pair), WIDE),
        "run": (f"/run?key={key(folder, 'sweep=queue-depth')}", WIDE),
        "run-test": (f"/run?key={key(folder, 'sweep=saturation')}", WIDE),
        "new": ("/new", WIDE),
    }


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a store on a free port of this machine; yield the address."""
    words = [sys.executable, "-m", "opennandlab", "ui", "--store", str(folder), "--port", "0",
             "--no-browser", "--json", "--jobs", "1"]  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise SystemExit("the server has no output")
            text = ""
            while not text.endswith("}\n"):
                text += process.stdout.readline()
            yield str(json.loads(text)["url"]).rstrip("/")
        finally:
            process.terminate()


def taken(page: Page, path: Path, full: bool) -> None:
    """Save what a page shows once its figures are drawn, with few colours."""
    from PIL import Image

    page.wait_for_load_state("load")
    page.wait_for_timeout(600)
    if page.locator("figure[data-figure]").count():
        page.locator("figure[data-figure]").first.scroll_into_view_if_needed()
        page.wait_for_selector("figure[data-state=drawn]", timeout=60_000)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(600)
    shot = Image.open(io.BytesIO(page.screenshot(full_page=full)))
    few = shot.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT)
    path.parent.mkdir(parents=True, exist_ok=True)
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1000} kB", flush=True)


def browser() -> str | None:
    """Return the browser that is installed; None for none."""
    names = [name for program in PROGRAMS for name in program.names if "chrom" in name]
    return os.environ.get("OPENNANDLAB_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def main() -> None:
    """Take the pictures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--both", action="store_true")
    given = parser.parse_args()
    program = browser()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        print("no picture of the pages was taken: playwright and Chromium are needed")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = given.store or Path(made)
        if given.store is None or not (folder / "runs.db").exists():
            fill(folder)
        with served(folder) as url, sync_playwright() as playwright:
            started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            scheme = "dark" if given.dark else "light"
            page = started.new_page(color_scheme=scheme)
            page.goto(url)
            page.evaluate("body => post('/api/start', body)", LIVE)
            for name, (path, width) in pages(folder).items():
                if given.names and name not in given.names:
                    continue
                for one in ([width, WIDE + NARROW - width] if given.both else [width]):
                    page.set_viewport_size({"width": one, "height": HEIGHT})
                    page.goto(url + path)
                    end = f"-{one}" if given.both else ""
                    taken(page, given.out / f"ui-{name}{end}.png", given.full)
            started.close()


if __name__ == "__main__":
    main()
