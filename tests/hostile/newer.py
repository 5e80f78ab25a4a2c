"""Hostile inputs of the verbs that have files, folders or callers of their own.

What would listen or open a window is called from inside, and stopped: `served` serves an image for
a moment, `ui` asks the application without a socket.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from parts import SMALL, TEXTS, VALUES, WORDS, Bases, Made, damaged, dumped, edited, mutated
from stores import BASE, pages

import foreign_files

TABLE = "Block size (KiB),0/100,65/35,100/0\n4,1306,2455,55340\n8,756.3,1363,31130\n"
FIO = {
    "fio version": "fio-3.33",
    "global options": {"iodepth": "4", "numjobs": "2"},
    "jobs": [
        {
            "jobname": "a",
            "job options": {"rw": "randread", "bs": "4k"},
            "read": {"iops": 55340.0, "bw_bytes": 226672640, "total_ios": 5534, "runtime": 1000,
                     "lat_ns": {"mean": 5e5, "max": 9e6, "min": 100, "N": 5534}},
            "write": {"iops": 0.0, "total_ios": 0, "lat_ns": {"mean": 0, "max": 0}},
        }
    ],
}  # fmt: skip
FLEET: dict[str, Any] = {
    "name": "small",
    "devices": 2,
    "device": SMALL,
    "set": {"ftl.gc_reserve_blocks": 4},
    "spread": {
        "ftl.over_provisioning_pct": {"uniform": [0.25, 0.4]},
        "ftl.gc_policy": {"choice": ["greedy", "fifo"]},
    },
    "suites": {
        "random": {"run": "benchmark", "workload": {
            "pattern": "random", "total": {"ios": 500}, "timed": False}},
        "life": {"run": "chain", "stages": {
            "cut": {"run": "power", "power": {"cuts": 3, "at": ["random", "gc"]}},
            "old": {"run": "age", "age": {"drive_writes": 1, "age": "warp"}},
            "test": {"run": "pts.load", "pts": {"time_base": "smoke", "options": {"rates": "50%"}}},
        }},
    },
}  # fmt: skip
TARGETS: dict[str, Any] = {
    "name": "there",
    "targets": ["dir:none", "nbd+unix:///?socket=none"],
    "suites": {"apps": {"run": "app", "app": {"runs": 1}}, "load": {"run": "pts.load", "pts": {}}},
}
EVIDENCE: dict[str, Any] = {"schema": "opennandlab.power-evidence/1", "device": SMALL, "seed": 1}
# Of few cuts, requests and cells: what is looked for is met at the beginning.
BRIEF = ("--requests", "20", "--settle", "0.1", "--threads", "1", "--queue-depth", "2")
ROUTES = ("/", "/sweeps", "/sweep", "/plot", "/plot.svg", "/compare", "/run", "/run.json", "/new",
          "/static/ui.js", "/static/..%2f..%2fetc%2fpasswd", "/login", "/none")  # fmt: skip
ASKED = ("key", "name", "x", "y", "lines", "facets", "columns", "where", "sort", "page", "verb")
POSTS = ("/api/check", "/api/start", "/api/stop", "/api/retry", "/api/verify", "/api/rerun")


def measured(rng: random.Random, bases: Bases) -> Made:
    """What others measured: a table, output of fio or a document, damaged or edited."""
    how = rng.randrange(3)
    name, raw = ("t.csv", TABLE.encode()), dumped(bases.test)
    if how == 0:
        file, raw = name[0], damaged(rng, name[1])
    elif how == 1:
        file, raw = (
            "f.json",
            damaged(rng, dumped(FIO))
            if rng.random() < 0.3
            else dumped((edited if rng.random() < 0.5 else mutated)(rng, FIO)),
        )
    else:
        file, raw = "d.json", dumped((edited if rng.random() < 0.5 else mutated)(rng, bases.test))
    options = rng.choice(
        ((), ("--unit", "mb_s"), ("--any-order",), ("--threads", "2", "--queue-depth", "4"),
         ("--test", "throughput"), ("--unit", rng.choice(WORDS)))
    )  # fmt: skip
    return ("pts", "import", file, *options, "--output", "out.json"), {file: raw}


def calibration(rng: random.Random, bases: Bases) -> Made:
    """A device compared with a document, or fitted to it, of which something is wrong."""
    del bases
    cells = [[1306.0, 2455.0, 55340.0], [756.3, 1363.0, 31130.0]]
    table = "Block size (KiB),0/100,65/35,100/0\n" + "".join(
        f"{size},{','.join(str(one) for one in row)}\n"
        for size, row in zip((4, 8), mutated(rng, cells, (0, 1, -1, 1e9, 0.5, "x")), strict=False)
        if isinstance(row, list)
    )
    given = ["calibrate", "--device", "d.yaml", "--to", "t.csv", "--ar-amount",
             rng.choice(("1MiB", "64KiB", "1TiB", *WORDS[:6])), *BRIEF]  # fmt: skip
    if rng.random() < 0.5:
        key = rng.choice(("nand.timing.t_read_us", "nand.channels", "ftl.gc_policy", "none", ""))
        given += ["--free", key + rng.choice(("", "=1:100", "=5:1", "=x", "=0:1e400")),
                  "--output", "fit.yaml", "--runs", "3", "--starts", "1"]  # fmt: skip
    files = {"d.yaml": dumped(mutated(rng, SMALL)), "t.csv": table.encode()}
    # What was measured is imported first, as one would.
    return ("THEN", ("pts", "import", "t.csv", "--output", "m.json"),
            tuple("m.json" if word == "t.csv" else word for word in given)), files  # fmt: skip


def fleet(rng: random.Random, bases: Bases) -> Made:
    """A fleet of simulated drives or of targets that are not there."""
    del bases
    document = mutated(rng, rng.choice((FLEET, FLEET, TARGETS)))
    if isinstance(document.get("devices"), int) and document["devices"] > 8:
        document["devices"] = 8
    verb = rng.choice((("fleet", "devices", "f.yaml"), ("fleet", "run", "f.yaml", "-o", "out")))
    return verb, {"f.yaml": dumped(document)}


def emmc(rng: random.Random, bases: Bases) -> Made:
    """A card on a drive with wrong values, and patterns of cases."""
    del bases
    device = dumped(mutated(rng, SMALL) if rng.random() < 0.7 else SMALL)
    only = rng.choice(("registers", "states", "rpmb.key", "*", "[", "none", *WORDS[:8]))
    given = ("emmc", "check", "--config", "d.yaml", "--only", only)
    listed = ("--list",) if only == "*" else ()
    return (*given, "--standard", rng.choice(("5.1", "4.51", "5.0", "9")), *listed), {
        "d.yaml": device
    }


def power(rng: random.Random, bases: Bases) -> Made:
    """A campaign of two cuts on a drive with wrong values, evidence, and fleets that wear out."""
    del bases
    document = mutated(rng, rng.choice((SMALL, EVIDENCE)))
    run = ("power", "run", "--config", "d.yaml", "--cuts", "2", "--output", "out")
    verbs: tuple[tuple[str, ...], ...] = (
        (*run, "--workload", rng.choice(("random", "trim", *WORDS[:5]))),
        (*run, "--claims", rng.choice(("honest-flush", "plp,ordered", *WORDS[:5]))),
        (*run, "--at", rng.choice(("gc", "erase", *WORDS[:5]))),
        ("power", "replay", "d.yaml"),
        ("power", "files", "--config", "d.yaml", "--cuts", "1", "--rows", "1", "--mode",
         rng.choice(WORDS), "--output", "out"),
        ("power", "endurance", "--config", "d.yaml", "--devices", "1", "--tbw",
         rng.choice(("1e-9", "0", *WORDS[:5])), "--output", "out"),
    )  # fmt: skip
    return rng.choice(verbs), {"d.yaml": dumped(document)}


def application(rng: random.Random, bases: Bases) -> Made:
    """A suite on a folder or a drive, with sizes, cases and traces of any value."""
    del bases
    word = rng.choice(WORDS)
    common = ("app", "run", "--runs", "1", "--case", "contact=1", "--quiet")
    verbs: tuple[tuple[str, ...], ...] = (
        (*common, "--target", "dir:.", "--size", "contact.rows=2", "--size", word),
        (*common, "--target", "dir:.", "--journal", word),
        (*common, "--target", f"dir:{word}"),
        (*common, "--target", "sim:d.yaml", "--state", word),
        (*common, "--target", "sim:d.yaml", "--trace", f"contact={word}"),
        ("app", "script", word),
        ("app", "state", rng.choice(("young-clean", word)), "-c", "d.yaml", "--image", "i.onl"),
    )
    verb = tuple(part for part in rng.choice(verbs) if "\x00" not in part)
    return verb, {"d.yaml": dumped(mutated(rng, SMALL))}


def foreign(rng: random.Random, bases: Bases) -> Made:
    """Files of another simulator with values of every sort, or damaged."""
    del bases
    changes = {
        rng.choice((*foreign_files.DEVICE, *foreign_files.FLASH, *foreign_files.SYNTHETIC)): escape(
            str(rng.choice((*VALUES, *WORDS, *TEXTS)))[:200]
        )
        for _ in range(rng.choice((0, 1, 2, 3)))
    }
    flow = rng.choice((foreign_files.synthetic, foreign_files.trace))(**changes)
    made = {
        "d.xml": foreign_files.drive(**changes),
        "w.xml": foreign_files.scenarios(flow),
        "run.sh": foreign_files.SCRIPT,
        "ssd_config.h": foreign_files.HEADER,
        "drive.ini": foreign_files.INI,
    }
    files = {name: text.encode(errors="replace") for name, text in made.items()}
    if not changes or rng.random() < 0.3:
        files = {name: damaged(rng, raw) for name, raw in files.items()}
    names = rng.choice((("d.xml",), ("d.xml", "w.xml"), ("run.sh",), ("ssd_config.h",),
                        ("drive.ini",)))  # fmt: skip
    more = ("--model", rng.choice(("FIRST", "SECOND")), "--memmap-size", "64GiB")
    verb = ("config", "from", *names, *(more if names == ("ssd_config.h",) else ()))
    as_run = ("--as-run",) if rng.random() < 0.3 else ()
    if rng.random() < 0.2:
        return ("config", "check", names[0]), files
    return (*verb, *as_run, "-o", "o.yaml", "--workload-output", "p.yaml"), files


def served(rng: random.Random, bases: Bases) -> Made:
    """An image that is served for a moment, or is refused."""
    return ("API", "served"), {"i.onl": damaged(rng, bases.image)}


def ui(rng: random.Random, bases: Bases) -> Made:
    """A page with any query, or a form with any body."""
    del bases
    if rng.random() < 0.6:
        asked = [
            (rng.choice(ASKED), rng.choice((*WORDS, *TEXTS))[:2000])
            for _ in range(rng.choice((0, 1, 2, 3)))
        ]
        query = "&".join(f"{key}={quote(text, errors='replace')}" for key, text in asked)
        return ("API", "ui", f"{rng.choice(ROUTES)}?{query}", None), {}
    body: Any = {"verb": "benchmark", "device": "config", "workload": "W1", "settings": [],
                 "vary": [], "seeds": "1", "name": "x", "key": "0" * 64}  # fmt: skip
    raw = dumped(mutated(rng, body, VALUES))
    if rng.random() < 0.3:
        raw = damaged(rng, raw)
    # Nothing is started: a worker would outlive the case.
    path = rng.choice([one for one in POSTS if one not in {"/api/start", "/api/rerun"}])
    return ("API", "ui", path, raw.decode(errors="surrogateescape")), {}


def serve_image(path: Path) -> None:
    """Serve an image, and stop."""
    from opennandlab.serving.server import Plan, Served

    Served(Plan(image=path, timing="off", socket=path.with_name("s"))).stop()


def ask(address: str, body: str | None) -> None:
    """Ask the pages of an empty store.

    Raises:
        AssertionError: for an answer that says that something broke.
    """
    from opennandlab.store import Store

    folder = Path("store")
    Store.open(folder).close()
    with pages(folder) as (client, place):
        if body is None:
            answer = client.get(address)
        else:
            headers = {"origin": BASE, "x-opennandlab": place.door.csrf,
                       "content-type": "application/json"}  # fmt: skip
            raw = body.encode(errors="surrogateescape")
            answer = client.post(address, content=raw, headers=headers)
    if answer.status_code >= 500:
        raise AssertionError(f"{address}: status {answer.status_code}: {answer.text[:500]}")
    sys.stdout.write(json.dumps({"status": answer.status_code}) + "\n")


MAKERS = (measured, calibration, fleet, emmc, power, application, foreign, served, ui)
