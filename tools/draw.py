"""Draws the figures of the docs again: each is what its recipe below makes, with the code as it is.

Usage: `python tools/draw.py [NAME...]`, where a name is that of a file without its ending; without
names all are drawn, which takes some minutes: those of the standard tests run the tests. A recipe
is a command of the package, the commands of a page, simulations with a plot of their results
(`mechanisms.py`, `measured_drives.py`, `mapping_figures.py`), or figures of the report of a
standard test.
"""

from __future__ import annotations

import functools
import importlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import mapping_figures
import measured_drives
import mechanisms
import power_figures
from opennandlab.base.files import write_atomically
from opennandlab.core.config import load_device
from opennandlab.core.run import benchmark
from opennandlab.ecc import Curve, Decoder, curve
from opennandlab.ecc.charts import plot
from opennandlab.ecc.drawn import of_document
from opennandlab.reports.figure import static
from opennandlab.reports.scaling import figures
from opennandlab.studies.scaling import sweep

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TARGET = "--target sim:tlc_standard"
# What `--plot` of a command draws.
COMMANDS = {
    "images/reliability-states": "reliability states --pe 3000 --retention-h 8760",
    "images/reliability-pages": (
        "reliability rber --model tlc --pe 0:5000:26 --page-type all --config nvme_gen4_tlc"
    ),
    "images/reliability-retention": (
        "reliability rber --pe 3000 --retention-h 0:8760:147 --temperature-c 25,30,40,55"
    ),
    "images/reliability-reads": "reliability rber --pe 0,1000,3000,5000 --reads 0:1000:26",
    "images/reliability-table": "reliability table",
    "images/worked-examples": "theory examples",
    "images/calibrate-client": (
        f"calibrate --device {ROOT}/examples/client_sata_generic.yaml"
        " --to reference:client_2013_iops --ar-amount 8GiB --blocks 256 --settle 0.25"
        " --requests 8000 --free host.command_cost_us.read=0.5:50"
        " --free host.command_cost_us.write=0.5:50 --free host.command_cost_us.per_kib.read=0.1:10"
        " --free host.command_cost_us.per_kib.write=0.1:10"
        " --free nand.timing.t_program_us=200:3000"
    ),
    "resources/bandwidth": "theory bandwidth --cell slc --measure",
}
# Curves of codes, each where it falls: code, channel, raw bit error rates.
SHORT_CODES = (
    ("bch:m=11,t=10,data_bits=912", "bsc", "1e-3:1e-2:8"),
    ("nand-n1024-r0889", "bsc", "1e-3:1e-2:8"),
    ("nand-n1024-r0889", "sensing:3", "3e-3:1.6e-2:8"),
    ("nand-n1024-r0889", "sensing:7", "4e-3:1.8e-2:8"),
)
LARGE_CODES = (
    ("bch:m=16,t=224,data_bits=32768", "bsc", "4.2e-3,4.5e-3,4.8e-3,5.1e-3,5.4e-3,5.8e-3,6.2e-3"),
    ("nand-4k-r090", "bsc", "7.4e-3,7.8e-3,8.2e-3,8.8e-3"),
    ("nand-4k-r090", "sensing:3", "1.52e-2,1.58e-2,1.65e-2,1.75e-2"),
    ("nand-4k-r090", "sensing:7", "1.72e-2,1.78e-2,1.85e-2,1.95e-2"),
)
EIGHT_BITS = Decoder(arithmetic="int8")
# Figures that the commands of a page draw.
PAGES = {
    "policies": ("resources/policies-waf",),
    "reports": ("resources/paper-histogram", "resources/paper-surface", "resources/wear"),
    "sweeps": ("resources/sweep-waf", "resources/sweep-policies", "resources/paper-policies"),
    "where-time-goes": ("resources/where-time-goes-before", "resources/where-time-goes-after"),
}
# Figures of reports: the run, and the id of each figure.
REPORTS = {
    "pts iops": {"iops": "by-block-size-log", "convergence": "convergence", "window": "window-1"},
    "pts wsat": {"wsat": "iops-time-log", "wsat-fills": "iops-fills-linear"},
    "pts hir": {"hir": "iops-time", "hir-gain": "gain"},
    "pts xsr": {"xsr": "tp-all"},
    "pts dirth": {
        "demand": "demand-intensity",
        "histogram": "by-percentile",
        "histogram-mid": "histogram-mid_iops",
    },
    "characterise --only surface": {"surface": "3d-surface", "surface-log": "3d-surface-log"},
}
# Tests of another drive: the page whose text holds its device file, and the file's name there.
DRIVES = {"pts hir": ("characterise-a-drive", "idle.yaml")}
Draw = Callable[[Path], None]


def recipes() -> dict[str, Draw]:
    """Return what draws each file, by its path below docs without the ending."""
    found: dict[str, Draw] = {}
    for drawing in mechanisms.drawings():
        found[f"resources/mechanisms/{drawing.name}"] = partial(simulated, drawing)
    for drawing in measured_drives.drawings():
        found[f"resources/{drawing.name}"] = partial(simulated, drawing)
    for drawing in mapping_figures.drawings():
        found[f"resources/{drawing.name}"] = partial(simulated, drawing)
    found["images/ecc-recovery"] = partial(simulated, mechanisms.recovery())
    for name, command in COMMANDS.items():
        found[name] = partial(commanded, command)
    found |= {"ecc-1024": short_codes, "ecc-4k": large_codes}
    found |= {
        "resources/power-program": power_figures.program,
        "resources/power-study": power_figures.study,
        "resources/scaling": scaling,
    }
    for page, names in PAGES.items():
        found |= {name: partial(of_page, page) for name in names}
    for command, drawn in REPORTS.items():
        for name, figure in drawn.items():
            found[f"resources/pts/{name}"] = partial(reported, command, figure)
    return found


def simulated(drawing: mechanisms.Drawing, path: Path) -> None:
    """Run the simulations of a drawing and draw them."""
    results = {
        name: benchmark(run.device, run.workload, seed=drawing.seed).document
        for name, run in drawing.runs.items()
    }
    write_atomically(path, static.svg([drawing.draw(results)]).encode())


def commanded(command: str, path: Path) -> None:
    """Run a command that draws."""
    _run(f"{command} --plot {shlex.quote(str(path))}", Path.cwd())


def scaling(path: Path) -> None:
    """Draw the RMS over units and request sizes, of the sweep that the page shows."""
    found = sweep(load_device("tlc_standard"))
    [surface] = [one for one in figures(found) if one.id == "units-size"]
    write_atomically(path, static.svg([surface]).encode())


def short_codes(path: Path) -> None:
    """Draw the curves of codes of 1024 bits, as the page says how to."""
    _curves([curve(*row, errors=100, max_frames=100_000) for row in SHORT_CODES], path)


def large_codes(path: Path) -> None:
    """Draw the curves of codes of 4 KiB."""
    decoders = [None if row[0].startswith("bch") else EIGHT_BITS for row in LARGE_CODES]
    pairs = zip(LARGE_CODES, decoders, strict=True)
    _curves([curve(*row, errors=50, decoder=decoder) for row, decoder in pairs], path)


def _curves(curves: list[Curve], path: Path) -> None:
    drawn = [of_document(found.content) for found in curves]
    write_atomically(path, static.svg([plot(drawn)]).encode())


def of_page(page: str, path: Path) -> None:
    """Run the commands of a page, one of which draws a file of this name."""
    sys.path.insert(0, str(ROOT / "tests"))
    run_page = importlib.import_module("documents").run_page
    with tempfile.TemporaryDirectory() as folder:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for _ in run_page(text, Path(folder)):
            pass
        shutil.copy(Path(folder) / path.name, path)


def reported(command: str, figure: str, path: Path) -> None:
    """Draw a figure of the report of a standard test."""
    shutil.copy(_figures(command) / f"{figure}.svg", path)


@functools.cache
def _figures(command: str) -> Path:
    """Return the folder of all figures of a test, which is run unless an earlier run is kept."""
    name = command.replace(" ", "-")
    folder = Path(tempfile.gettempdir()) / "opennandlab-draw" / name
    folder.parent.mkdir(exist_ok=True)
    test = command.rpartition(" ")[2]
    if not (folder / f"{test}.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(f"{command} {_target(command, folder.parent)} --output {name} --quiet", folder.parent)
    _run(f"report {test}.json --figures figures --quiet", folder)
    return folder / "figures"


def _target(command: str, folder: Path) -> str:
    """Return the option that names the drive of a test; write its file where it is of a page."""
    if command not in DRIVES:
        return TARGET
    page, name = DRIVES[command]
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    lines = text.partition(f"    # {name}\n")[2].partition("\n\n")[0]
    (folder / name).write_text(textwrap.dedent(lines), encoding="utf-8")
    return f"--target sim:{name}"


def _run(command: str, folder: Path) -> None:
    words = [str(Path(sys.executable).with_name("opennandlab")), *shlex.split(command)]
    subprocess.run(words, check=True, cwd=folder, stdout=subprocess.DEVNULL)


def chosen(names: list[str]) -> Iterator[tuple[str, Draw]]:
    """Yield the recipes of these names; of all without names.

    Raises:
        SystemExit: when there is no recipe of a name.
    """
    known = recipes()
    stems = {Path(name).name: name for name in known}
    for name in names or stems:
        if name not in stems:
            raise SystemExit(f"unknown figure `{name}`; accepted: {', '.join(sorted(stems))}")
        yield stems[name], known[stems[name]]


def main() -> None:
    """Draw the figures that were asked for."""
    for name, draw in chosen(sys.argv[1:]):
        print(f"docs/{name}.svg", flush=True)
        draw(DOCS / f"{name}.svg")


if __name__ == "__main__":
    main()
