"""Stores for the tests of `ui`: a small one with everything in it, hostile names among it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import opennandlab as onl
import pts_documents
from conftest import SHORT, SMALL
from opennandlab.base.canonical import digest
from opennandlab.store import Entry, Store
from stored import entry, failed, key

UNTIMED = {**SHORT, "timed": False}
VARY = {"ftl.gc_policy": ["greedy", "fifo"], "ftl.over_provisioning_pct": [0.2, 0.3]}
BASE = "http://127.0.0.1:8765"
HOSTILE = "\"'><script>alert(1)</script>{{7*7}}%s{0}../../etc/passwd"


def hostile() -> Entry:
    """Return a point whose every name would be a script, a path or a format."""
    document = pts_documents.MAKERS["iops"]()
    document["digest"] = digest(document)
    return entry(
        90, key=key(1), verb="pts.iops", coordinates={f"x{HOSTILE}": HOSTILE}, document=document,
        host=HOSTILE, sweep=HOSTILE, program=HOSTILE, metrics={f"m{HOSTILE}": 1.0, "waf": 2.0},
        settings={HOSTILE: HOSTILE},
    )  # fmt: skip


def made(folder: Path) -> Path:
    """Make a store with two sweeps, a failed point and a hostile one."""
    onl.sweep(SMALL, UNTIMED, vary=VARY, seeds=2, store=folder, name="grid")
    onl.sweep(SMALL, SHORT, vary={"workload.queue_depth": [1, 4]}, store=folder, name="depth")
    curve = onl.ecc.curve("bch:m=8,t=4", "bsc", [1e-2], errors=5, max_frames=2000)
    document = {**curve.document, "digest": digest(curve.document)}
    with Store.open(folder) as store:
        store.add([
            failed(3, error=f"it broke {HOSTILE}"), hostile(),
            entry(95, key=key(2), verb="ecc.curve", document=document, coordinates={"x": 0.01},
                  metrics={"fer": 0.1, "fer_low": 0.08, "fer_high": 0.13}),
        ])  # fmt: skip
        store.note_sweep(
            HOSTILE,
            {"run": "pts.iops", "grid": {HOSTILE: [HOSTILE]}},
            [(key(1), {f"x{HOSTILE}": HOSTILE}), (key(3), {f"x{HOSTILE}": "b"})],
        )
    return folder


def keys(folder: Path, *where: str) -> list[str]:
    """Return the keys of points of a store."""
    with Store.open(folder) as store:
        return store.keys(list(where))


def many(folder: Path, count: int) -> Path:
    """Make a store of many points: one grid of two keys, five seeds of each."""
    entries = [
        entry(number, coordinates={"ftl.gc_policy": number // 5 % 4, "ftl.op": number // 20},
              key=key(number), sweep="many", metrics={"waf": 1.0 + number / count})
        for number in range(count)
    ]  # fmt: skip
    with Store.open(folder) as store:
        store.add(entries)
        store.note_sweep("many", {"run": "benchmark"}, [(e.key, e.coordinates) for e in entries])
    return folder


def body(**changes: Any) -> dict[str, Any]:
    """Return what the form of a new run sends for a small drive."""
    small = {
        "nand.channels": "2", "nand.dies_per_channel": "1", "nand.planes_per_die": "1",
        "nand.blocks_per_plane": "64", "nand.pages_per_block": "32",
        # No wear ends a long run.
        "nand.max_pe_cycles": "1000000",
        "ftl.over_provisioning_pct": "0.28", "ftl.gc_reserve_blocks": "2",
        "workload.total": "{drive_writes: 1}", "workload.timed": "false",
        "workload.precondition": "[{kind: sequential_fill}]",
    }  # fmt: skip
    varied = {row[0] for row in changes.get("vary", [])}
    kept = {name: text for name, text in small.items() if name not in varied}
    given = changes.pop("values", {})
    values = {**kept, **given} if isinstance(given, dict) else given
    return {"device": "tlc_standard", "workload": "W2", "values": values, "vary": [],
            "seeds": "1", "seed": "42", "name": "", **changes}  # fmt: skip


def post(client: Any, door: Any, path: str, body: Any) -> Any:
    """Ask for a change as our own pages do."""
    headers = {"origin": BASE, "x-opennandlab": door.csrf, "accept": "application/json"}
    return client.post(path, json=body, headers=headers)
