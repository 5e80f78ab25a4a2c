"""Files of others that name code, or paths and texts that act: nothing of it runs or is written.

```text
family ─► document that works ─► code, paths and odd values put in ─► signed again ─► any verb
```
`evil.py` lies in the folder of every case and leaves `TRACE` when it is imported, and other modules
act when their names are called. `watching` sees what was done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import struct
import zlib
from typing import Any

from newer import FLEET, TARGETS
from parts import SECTIONS, SHORT, SMALL, VALUES, Bases, Made, damaged, dumped, edited, places

EVIL = b"""from pathlib import Path
__opennandlab__ = {kind: ["Evil"] for kind in ("policies",)}
Path(__file__).with_name("TRACE").write_text("imported")
class Evil:
    def __init__(self, *given, **keywords):
        Path(__file__).with_name("TRACE").write_text("called")
    def choose(self, pool):
        return pool.order[0]
"""
# One that could be run, were it allowed: what it offers is a literal.
OFFERING = EVIL.replace(
    b'{kind: ["Evil"] for kind in ("policies",)}',
    b'{"policies": ["Evil"], "traces": ["Evil"], "codes": ["Evil"], "reliability": ["Evil"], '
    b'"workloads": ["Evil"]}',
)
SHA256 = hashlib.sha256(OFFERING).hexdigest()
NAMES = (
    *("evil:Evil", "evil:Evil", "evil.py:Evil", "pack.evil:Evil", "./evil.py:Evil", "evil:Path"),
    *("numpy:memmap", "tempfile:mkdtemp", "os:mkdir", "os:system", "pathlib:Path.touch", "evil:"),
    *(
        "builtins:exec",
        "antigravity:x",
        "opennandlab.base.files:write",
        "none:none",
        "/dev/zero.py:x",
    ),
)
# What names that are called would take for their arguments.
ARGUMENTS: dict[str, Any] = {
    "filename": "TRACE", "mode": "w+", "dtype": "uint8", "shape": [4], "path": "TRACE",
    "name": "TRACE", "dir": ".", "command": "touch TRACE", "allow_code": True, "allow-code": True,
    "source_sha256": SHA256, "parameters": {"path": "TRACE"}, "trust": True,
}  # fmt: skip
# Texts that act where they are taken for something else than a text.
ACTING = (
    *("../../../pwn", "/onl-pwn", "a/../../b", "..", "~/pwn", "C:\\pwn", "x\x00y", "-o", "|id"),
    *("<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>"),
    "</script><script>1</script>",
    *("javascript:alert(1)", "{0.__class__}", "{{7*7}}", "%s%n", "${HOME}", "$(touch TRACE)"),
    *("\\input{/etc/passwd}", "=1+1", "@SUM(A1)", "\x1b]0;own\x07\x1b[2J", "\u202e\u2066", "\r\n"),
    *("a" * 5000, "\ud800", "$\\frac{$", "]]>", "<!--", "`touch TRACE`", "sim:d"),
    "nbd+unix:///?socket=x",
)  # fmt: skip
SWEEP: dict[str, Any] = {
    "run": "benchmark", "device": SMALL, "workload": SHORT | {"total": {"ios": 200}},
    "grid": {"ftl.gc_policy": ["greedy", "fifo"]}, "name": "s",
}  # fmt: skip
# Keys at which a device or workload may name what is run.
SLOTS = (("ftl", "gc_policy"), ("ftl", "placement"), ("reliability",), ("ecc", "code"))
STORE = ("--store", "kept")
# What is done with a document of any family, and how often for each family of its own.
READERS: tuple[tuple[str, ...], ...] = (
    ("verify", "r.json"), ("compare", "r.json", "r.json", "--force", "--html", "out.html"),
    ("compare", "good.json", "r.json", "--csv", "out.csv", "--all"),
    ("report", "r.json", "--html", "out.html"), ("report", "r.json", "--csv", "out"),
    ("report", "r.json", "--figures", "out"), ("report", "r.json", "--json"),
    ("runs", "add", "r.json", *STORE), ("pts", "import", "r.json", "--output", "out.json"),
    ("pts", "steady-state", "--file", "r.json"), ("ecc", "plot", "r.json", "--output", "out.svg"),
    ("calibrate", "--device", "small.yaml", "--to", "r.json", "--dry-run"),
    ("power", "replay", "r.json", "--life", "0"), ("theory", "scaling", "--config", "r.json"),
    ("ecc", "encode", "r.json", "out.ecc", "--code", "bch:m=9,t=3,data_bits=400"),
    ("ecc", "decode", "r.json", "out.bin"), ("sweep", "r.json", *STORE),
    ("config", "show", "r.json"),
    ("config", "check", "r.json"), ("config", "init", "out.yaml", "--from", "r.json"),
    ("config", "check", "small.yaml", "-w", "r.json"), ("fleet", "devices", "r.json"),
    ("fleet", "run", "r.json", "-o", "out"), ("replay", "r.json", "-c", "small.yaml"),
    ("power", "endurance", "r.json", "--devices", "1", "--tbw", "1e-6", "-o", "out"),
    ("THEN", ("runs", "add", "r.json", *STORE), ("runs", "export", "out.csv", *STORE)),
    ("ocp", "r.json", "--before", "r.json"), ("fleet", "show", "r.json"),
)  # fmt: skip
OWN: dict[str, tuple[tuple[str, ...], ...]] = {
    "result": READERS[:2],
    "test": (*READERS[3:6], READERS[8], READERS[11]),
    "curve": (READERS[10],),
    "power": (READERS[12], READERS[3]),
    "calibration": READERS[3:6],
    "fleet document": (*READERS[3:6], READERS[-1]),
    "endurance": READERS[3:6],
    "sweep": (READERS[16],),
    "fleet": READERS[21:23],
    "targets": (READERS[22],),
    "wearing": (READERS[24],),
    "device": (*READERS[17:20], READERS[13]),
    "workload": (READERS[20],),
}
IMAGES = (
    ("benchmark", "-w", "few.yaml", "--state", "image:i.onl", "--quiet"),
    ("replay", "t.csv", "--state", "image:i.onl", "--quiet"),
    ("app", "run", "--target", "sim:small.yaml", "--state", "image:i.onl", "--runs", "1",
     "--case", "contact=1", "--quiet"), ("API", "served"),
)  # fmt: skip
RESUMED = ("pts", "iops", "--target", "sim:small.yaml", "--time-base", "smoke", "--block-sizes",
           "4k", "--mixes", "0")  # fmt: skip
SHOWN = (
    ("runs", "list"), ("runs", "show", "KEY"), ("runs", "rerun", "KEY"), ("runs", "table", "waf"),
    ("runs", "sweeps"), ("runs", "export", "out.csv"), ("runs", "rm", "KEY"), ("app", "history"),
    ("runs", "plot", "out.svg", "--x", "ftl.op", "--y", "waf"), ("runs", "export", "out.json"),
    ("runs", "merge", "kept"), ("runs", "table", "waf", "--latex"), ("runs", "list", "--json"),
)  # fmt: skip


def code(rng: random.Random) -> Any:
    """Return what names code, in one of the ways in which files do."""
    name = rng.choice(NAMES)
    sha256 = rng.choice((SHA256, SHA256, None, "0" * 64, "", 0, [SHA256], True))
    record: dict[str, Any] = {"kind": "python", "name": name, "source_sha256": sha256}
    if rng.random() < 0.2:
        del record["source_sha256"]
    for key in rng.sample(sorted(ARGUMENTS), rng.choice((0, 0, 1, 4, len(ARGUMENTS)))):
        record.setdefault(key, ARGUMENTS[key])
    by = {key: value for key, value in record.items() if key != "kind"}
    forms: tuple[Any, ...] = (
        name, record, record, {"kind": name}, {**ARGUMENTS, "kind": name}, [record],
        {"kind": [name]},
        {"kind": "fdp", "handles": 2, "isolation": "initially", "by": by}, {"kind": record},
        {"kind": "fdp", "handles": 2, "isolation": "initially", "by": name}, {"name": name},
        {"reader": name, "reader_sha256": sha256, "file": "t.csv", "digest": "0" * 64},
    )  # fmt: skip
    return rng.choice(forms)


def planted(rng: random.Random, document: Any) -> Any:
    """Return a copy of a document that names code, has texts that act, or odd values."""
    copy = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 2, 4))):
        how = rng.random()
        if how < 0.55:
            _plant_code(rng, copy)
        elif how < 0.85 and (found := [path for path in places(copy) if path]):
            texts = [path for path in found if isinstance(_at(copy, path), str)]
            _put(copy, rng.choice(texts or found), rng.choice(ACTING))
        else:
            copy = edited(rng, copy)
    return copy


def _plant_code(rng: random.Random, document: Any) -> None:
    found: list[tuple[Any, ...]] = [(), *places(document)]
    dicts = [path for path in found if isinstance(_at(document, path), dict)]
    if not dicts:
        return
    devices = [path for path in dicts if "nand" in _at(document, path)]
    works = [path for path in found if path and path[-1] in {"workload", "trace", "code", "device"}]
    sets = [path for path in found if path and path[-1] in {"set", "grid", "spread", "vary"}]
    how = rng.random()
    if devices and how < 0.6:
        _put(document, (*rng.choice(devices), *rng.choice(SLOTS)), code(rng))
    elif works and how < 0.75:
        _put(document, rng.choice(works), code(rng))
    elif sets and how < 0.85:
        key = rng.choice(("ftl.gc_policy", "ftl.placement", "reliability", "ftl.gc-policy"))
        _put(document, (*rng.choice(sets), key), rng.choice((code(rng), [code(rng)])))
    else:
        key = rng.choice((*("allow_code", "allow-code", "gc-policy", "name", "kind"), *ARGUMENTS))
        value = rng.choice((True, code(rng), ARGUMENTS.get(key, "evil:Evil")))
        _put(document, (*rng.choice(dicts), key), value)


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        document = document[part]
    return document


def _put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    here = document
    for part in path[:-1]:
        if isinstance(here, dict) and not isinstance(here.get(part), dict | list):
            here[part] = {}
        here = here[part]
    # Where a list or a text stands by now, nothing has a key.
    with contextlib.suppress(TypeError, IndexError):
        here[path[-1]] = json.loads(json.dumps(value))


def signed(document: Any) -> Any:
    """Return a document with its right digest, if it has one at all."""
    from opennandlab.base.canonical import digest

    if isinstance(document, dict) and "digest" in document:
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            document["digest"] = digest({k: v for k, v in document.items() if k != "digest"})
    return document


def evil() -> dict[str, bytes]:
    """Return the code that nobody allowed, and a trace next to it."""
    return {
        "evil.py": OFFERING,
        "pack/__init__.py": OFFERING.replace(b"with_name", b"parent.with_name"),
        "pack/evil.py": EVIL.replace(b"with_name", b"parent.with_name"), "t.csv": b"0,1,0,8\n" * 10,
        "msgspec.py": b"open('TRACE', 'w')\n",
    }  # fmt: skip


def naming(rng: random.Random, bases: Bases) -> Made:
    """A document of any family that names code."""
    family = rng.choice(sorted(OWN))
    document = signed(planted(rng, _families(bases)[family]))
    verb = rng.choice(OWN[family] if rng.random() < 0.6 else READERS)
    width = {"WIDTH": str(rng.randrange(40, 200)).encode()}
    return verb, {"r.json": dumped(document), "good.json": dumped(bases.result), **evil(), **width}


def _families(bases: Bases) -> dict[str, Any]:
    return {
        **bases.families, "result": bases.result, "test": bases.test, "curve": bases.curve,
        "sweep": SWEEP, "fleet": FLEET, "targets": TARGETS, "device": bases.device,
        "wearing": {key: value for key, value in FLEET.items() if key != "suites"},
        "workload": bases.workload,
    }  # fmt: skip


def folder(rng: random.Random, bases: Bases) -> Made:
    """A folder of a standard test: its document, its moments, its journal."""
    lines = bases.journal.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    if rng.random() < 0.5:
        seal, _, text = lines[at].partition(b" ")
        lines[at] = seal + b" " + dumped(planted(rng, json.loads(text))) + b"\n"
    journal = b"".join(lines) if rng.random() < 0.7 else damaged(rng, bases.journal)
    files = {"dir/iops.json": dumped(signed(planted(rng, bases.test))),
             "dir/run.json": dumped(planted(rng, bases.moments)),
             "dir/iops.journal.jsonl": journal}  # fmt: skip
    resumed = (*RESUMED, "--output", "dir", "--resume")
    verbs: tuple[tuple[str, ...], ...] = (
        resumed, resumed, ("report", "dir", "--html", "out.html"), ("runs", "add", "dir", *STORE),
        ("compare", "dir", "good.json", "--force"), ("report", "dir", "--csv", "out"),
    )  # fmt: skip
    return rng.choice(verbs), {**files, "good.json": dumped(bases.test), **evil()}


def drive(rng: random.Random, bases: Bases) -> Made:
    """An image whose device names code, with its right length and checksum."""
    version, _, _ = struct.unpack_from("<IQI", bases.image, 8)
    size, start = _varint(bases.image, 24)
    device = planted(rng, json.loads(bases.image[start : start + size]))
    header = dumped(device)
    length = len(header)
    prefix = b""
    while length > 127:
        prefix, length = prefix + bytes([length & 127 | 128]), length >> 7
    body = prefix + bytes([length]) + header + bases.image[start + size :]
    if rng.random() < 0.2:
        body = damaged(rng, body)
    image = struct.pack("<8sIQI", b"ONLIMAGE", version, len(body), zlib.crc32(body)) + body
    return rng.choice(IMAGES), {"i.onl": image, **evil()}


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value, shift, at = value | (raw[at] & 127) << shift, shift + 7, at + 1
        if raw[at - 1] < 128:
            return value, at


def container(rng: random.Random, bases: Bases) -> Made:
    """Codewords of a file whose header names a code that is code."""
    del bases
    from opennandlab.ecc import container as containers

    name = rng.choice((*NAMES, *ACTING, "ldpc:evil.py", "ldpc:/dev/zero"))
    header = {"code": name, "code_identity": {"kind": rng.choice(("nand", "ldpc")), "name": name},
              "data_bytes": rng.choice((1, 2**62)), "data_crc32": 0, "words": 1}  # fmt: skip
    text = dumped(planted(rng, header))
    head = containers._HEAD.pack(containers.MAGIC, containers.VERSION, len(text), zlib.crc32(text))
    return ("ecc", "decode", "c.ecc", "out.bin"), {"c.ecc": head + text + bytes(100), **evil()}


def points(rng: random.Random, bases: Bases) -> dict[str, Any]:
    """Return what a store of somebody else has in it, for `keep`."""
    family = rng.choice(("result", "result", "test", "curve"))
    verb = {"result": "benchmark", "test": "pts.iops", "curve": "ecc.curve"}[family]
    settings = {"device": bases.device, "workload": bases.workload}
    document = _families(bases)[family]
    if rng.random() < 0.7:
        document = signed(planted(rng, document))
    if rng.random() < 0.7:
        settings = planted(rng, settings)
    # Of most fields a store refuses what is odd, so few of a point are.
    texts = [rng.choice(ACTING) if rng.random() < 0.15 else "x" for _ in range(6)]
    rare = rng.random() < 0.1
    odd = rng.random() < 0.2
    sweep = planted(rng, SWEEP) if rng.random() < 0.7 else SWEEP
    return {
        "verb": rng.choice((verb, verb, verb, verb, texts[0])), "settings": settings,
        "host": texts[1], "document": document, "sweep": rng.choice(("s", texts[2])),
        "program": texts[3], "coordinates": {"ftl.op": 0.1, texts[4]: texts[5]},
        "created": texts[1] if rare else "2026-01-02T03:04:05Z",
        "metrics": {"waf": rng.choice((float("inf"), float("nan"), -0.0)) if rare else 1.5},
        "seed": rng.choice((1, 1, 2**63, 2**64 - 1)), "wall_s": float("inf") if rare else 0.5,
        "definition": sweep, "odd": rng.choice(SECTIONS[:8] + VALUES[:20]) if odd else None,
        "column": rng.choice(("verb", "seed", "sweep", "wall_s", "model_version", "created", "key",
                              "settings", "digest", "coordinates", "definition", "names", "packed",
                              "member", "vector")),
    }  # fmt: skip


def kept(rng: random.Random, bases: Bases) -> Made:
    """A store of somebody else, through the verbs that show it, run it and take from it."""
    verb = rng.choice(SHOWN)
    store = ("--store", "other") if verb[1] == "merge" else STORE
    return (*verb, *store), {"points.json": dumped(points(rng, bases)), **evil()}


def buttons(rng: random.Random, bases: Bases) -> Made:
    """The pages of such a store, and the buttons on them."""
    return ("API", "buttons", "kept"), {"points.json": dumped(points(rng, bases)), **evil()}


MAKERS = (naming, folder, drive, container, kept, buttons)
