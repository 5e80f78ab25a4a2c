"""Inputs that nobody should give: each is made from its kind, a seed and its number alone.

```text
kind, seed, number ──► Case { arguments, files }
```
Most begin with something that works and change one to three places in it, because what is wrong
everywhere is refused at once and reaches nothing. No case names a device, a port, a browser or a
path outside of its own folder.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import random
import struct
from collections.abc import Callable
from typing import Any

import figures
import naming
import newer
from parts import (
    SHORT,
    SMALL,
    VALUES,
    WORDS,
    Bases,
    Case,
    Made,
    damaged,
    dumped,
    edited,
    mutated,
)

TRACES = {
    "disksim.trace": "".join(f"{i * 2_000_000} 0 {i * 8} 8 {i % 2}\n" for i in range(20)),
    "msr.csv": "".join(
        f"{128166372003061629 + i * 1000},hm,0,{'Read' if i % 2 else 'Write'},{i * 4096},4096,90\n"
        for i in range(20)
    ),
    "spc.csv": "".join(f"0,{i * 8},4096,{'r' if i % 2 else 'w'},{i * 0.001}\n" for i in range(20)),
    "ali.csv": "".join(f"0,{'R' if i % 2 else 'W'},{i * 4096},4096,{i * 10}\n" for i in range(20)),
    "tencent.csv": "".join(f"{1538323200 + i},{i * 8},8,{i % 2},1283\n" for i in range(20)),
    "fio.log": "fio version 2 iolog\nd add\nd open\n"
    + "".join(f"d {'read' if i % 2 else 'write'} {i * 4096} 4096\n" for i in range(20))
    + "d close\n",
    "blk.txt": "".join(
        f"  8,0    1  {i + 1}   {i * 0.001:.9f}  697  Q  W {i * 8} + 8 [fio]\n" for i in range(20)
    ),
    "systor.csv": "Timestamp,Response,IOType,LUN,Offset,Size\n"
    + "".join(f"{i}.013118000,,{'RW'[i % 2]},{i % 3},{i * 4096},4096\n" for i in range(20)),
    "vscsi.csv": "".join(
        f"7,4096,1,{'read' if i % 2 else 'write'},{i * 8},{i}\n" for i in range(20)
    ),
    "fiu.txt": "".join(f"{i * 1000} 1 a b {i * 8} 8 {'RW'[i % 2]} 6 0 56f1\n" for i in range(20)),
    "mobile.csv": "proces,device,rw_flag,sector,size,timestamp\n"
    + "".join(f"<...>,8388608,{'RW'[i % 2]},{i * 8},8,{i}.5\n" for i in range(20)),
    "biosnoop.txt": "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n"
    + "".join(f"{i}.004 a 7 sda {'RW'[i % 2]} {i * 8} 4096 0.00 0.74\n" for i in range(20)),
    "table.tsv": "".join(f"{i}.5\t{i % 2}\t{i * 8}\t4096\tsda\n" for i in range(20)),
}
# Binary records of a virtual disk, versions 1 and 2.
RECORDS = {
    "one.vscsi": b"".join(
        struct.pack("<IIIHHQQ", 7, 4096, 1, (0x28, 0x2A)[i % 2], 0x100, i * 8, i) for i in range(20)
    ),
    "two.vscsi": b"".join(
        struct.pack("<HHIIIQQQ", (0x28, 0x2A)[i % 2], 0x200, 7, 4096, 1, i * 8, i, 9)
        for i in range(20)
    ),
}
COLUMNS = ("time:ms", "op:0=read", "offset:sectors", "size", "volume")
ALIST = """7 3
3 4
1 1 2 1 2 2 3
4 4 4
1 0 0
2 0 0
1 2 0
3 0 0
1 3 0
2 3 0
1 2 3
1 3 5 7
2 3 6 7
4 5 6 7
"""
QC = "2 4 8\n0 1 2 0\n3 5 0 1\n"


def device(rng: random.Random, bases: Bases) -> Made:
    """A device file with wrong values, checked, shown or run."""
    files = {"d.yaml": dumped(mutated(rng, rng.choice((bases.device, SMALL))))}
    verbs = (
        ("config", "check", "d.yaml"),
        ("config", "show", "d.yaml", "--json"),
        ("benchmark", "-w", "few.yaml", "-c", "d.yaml"),
    )
    return rng.choice(verbs), files


def workload(rng: random.Random, bases: Bases) -> Made:
    """A workload file with wrong values; one that would run for ever is cut by `total`."""
    document = mutated(rng, rng.choice((bases.workload, SHORT)))
    files = {"w.yaml": dumped(document)}
    bound = ("--set", "workload.total={ios: 500}", "--set", "workload.precondition=[]")
    verb: tuple[str, ...] = ("config", "check", "small.yaml", "-w", "w.yaml")
    if rng.random() < 0.6:
        verb = ("benchmark", "-w", "w.yaml", "-c", "small.yaml", "--json")
    return (*verb, *bound), files


def yaml(rng: random.Random, bases: Bases) -> Made:
    """A YAML text that was damaged, or whose aliases multiply."""
    del bases
    plain = b"# A device.\nnand:\n  channels: &c 2\n  dies_per_channel: *c\n  planes_per_die: 1\n"
    plain += b"  blocks_per_plane: 32\n  pages_per_block: 16\nftl: {over_provisioning_pct: 0.28}\n"
    width, depth = rng.randrange(1, 10), rng.randrange(1, 30)
    form = rng.choice(("k{i}: &k{i} [{b}]\n", "k{i}: &k{i} {{<<: [{b}]}}\n"))
    bomb = "k0: &k0 {a: 1}\n" + "".join(
        form.format(i=i, b=", ".join([f"*k{i - 1}"] * width)) for i in range(1, depth)
    )
    texts = (
        damaged(rng, plain),
        damaged(rng, plain),
        bomb.encode(),
        plain.decode().encode("utf-16"),
        bytes(rng.randrange(256) for _ in range(rng.randrange(200))),
        b"- " * rng.randrange(3000) + b"x",
        b"x: [" + b"1, " * rng.randrange(3000) + b"1]",
        b"? [a, b]\n: " + str(rng.choice(VALUES)).encode(errors="replace"),
    )
    return ("config", "check", "y.yaml"), {"y.yaml": rng.choice(texts)}


def trace(rng: random.Random, bases: Bases) -> Made:
    """A trace of any format, damaged, compressed and then damaged, or under a wrong name."""
    del bases
    traces = {name: text.encode() for name, text in TRACES.items()} | RECORDS
    name, raw = rng.choice(sorted(traces.items()))
    table = ("--columns", _columns(rng)) if name == "table.tsv" or rng.random() < 0.1 else ()
    if rng.random() < 0.7:
        raw = damaged(rng, raw)
    if rng.random() < 0.2:
        pack = rng.choice((lambda text: gzip.compress(text, mtime=0), bz2.compress, lzma.compress))
        raw, name = damaged(rng, pack(raw)), name + ".packed"
    options = rng.choice(
        ((), ("--wrap",), ("--scale",), ("--closed-loop", "4"), ("--skip-bad-lines",))
    )
    return ("replay", name, "-c", "small.yaml", "--json", *options, *table), {name: raw}


def _columns(rng: random.Random) -> str:
    """Names of columns, mostly those of the table."""
    names = list(COLUMNS)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        names[rng.randrange(len(names))] = rng.choice((*COLUMNS, "_", "...", "", "op", "time:h"))
    return ",".join(names)


def result(rng: random.Random, bases: Bases) -> Made:
    """A saved document: damaged, edited, or edited and signed again."""
    from opennandlab.base.canonical import digest

    base = rng.choice((bases.result, bases.result, bases.test, bases.curve))
    if rng.random() < 0.3:
        raw = damaged(rng, dumped(base))
    else:
        document = (edited if rng.random() < 0.6 else mutated)(rng, base)
        if rng.random() < 0.5:
            with contextlib.suppress(ValueError, TypeError):
                document["digest"] = digest(document)
        raw = dumped(document)
    verbs = (
        ("verify", "r.json"),
        ("compare", "good.json", "r.json"),
        ("compare", "r.json", "r.json", "--force", "--json"),
        ("report", "r.json", "--html", "page.html"),
        ("report", "r.json", "--csv", "tables", "--figures", "drawings"),
        ("runs", "add", "r.json", "--store", "kept"),
        ("pts", "import", "r.json"),
        ("ecc", "plot", "r.json", "--output", "drawn.svg"),
    )
    return rng.choice(verbs), {"r.json": raw, "good.json": dumped(bases.result)}


def image(rng: random.Random, bases: Bases) -> Made:
    """A device image that was damaged."""
    verb = ("benchmark", "-w", "few.yaml", "--state", "image:i.onl", "--quiet")
    return verb, {"i.onl": damaged(rng, bases.image)}


def codes(rng: random.Random, bases: Bases) -> Made:
    """A matrix or a container that was damaged."""
    if rng.random() < 0.5:
        return ("ecc", "decode", "c.ecc", "out.bin"), {"c.ecc": damaged(rng, bases.container)}
    name, text = rng.choice((("m.alist", ALIST), ("m.qc", QC)))
    verb = ("ecc", "curve", "--code", f"ldpc:{name}", "--points", "0.05", "--max-frames", "50")
    return (*verb, "--threads", "1", "--quiet"), {name: damaged(rng, text.encode())}


def options(rng: random.Random, bases: Bases) -> Made:
    """A verb with one to three options of any value."""
    verb = rng.choice(sorted(bases.options))
    valued, flags, count = bases.options[verb]
    words = verb.split()
    words += [rng.choice(WORDS) for _ in range(rng.choice((count, count, count, 0, 3)))]
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        if valued:
            words += [rng.choice(valued), rng.choice(WORDS)]
    if flags and rng.random() < 0.3:
        words.append(rng.choice(flags))
    return tuple(word for word in words if "\x00" not in word), {}


# Calls that a program may get wrong; each argument is replaced by any value in turn.
CALLS: dict[str, tuple[Any, ...]] = {
    "load_device": ("config", {}),
    "load_workload": ("W1", "DEVICE"),
    "benchmark": ("DEVICE", "SHORT"),
    "Simulation": ("DEVICE", 1),
    "load": ("r.json",),
    "verify": ("r.json",),
    "compare": ([],),
    "replay": ("DEVICE", "t.csv"),
    "ecc.curve": ("bch:m=5,t=2", "bsc", [0.01]),
    "reliability.load_model": ("tlc",),
}


def api(rng: random.Random, bases: Bases) -> Made:
    """A function of the package with one argument of a wrong type or value."""
    del bases
    name = rng.choice(sorted(CALLS))
    given = list(CALLS[name])
    given[rng.randrange(len(given))] = rng.choice(VALUES)
    return ("API", name, *given), {}


Maker = Callable[[random.Random, Bases], Made]
KINDS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        device,
        workload,
        yaml,
        trace,
        result,
        image,
        codes,
        options,
        api,
        *newer.MAKERS,
        *naming.MAKERS,
        *figures.MAKERS,
    )
}


def make(kind: str, seed: int, number: int, bases: Bases) -> Case:
    """Return a case; the same for the same kind, seed and number."""
    rng = random.Random(f"{kind} {seed} {number}")  # noqa: S311 (inputs, no secrets)
    arguments, files = KINDS[kind](rng, bases)
    common = {"small.yaml": SMALL, "few.yaml": SHORT | {"total": {"ios": 200}, "precondition": []}}
    files = {name: dumped(document) for name, document in common.items()} | files
    judges = (("verify",), ("ecc", "decode"), ("reliability", "life"), ("fleet", "run"),
              ("emmc", "check"), ("power",), ("runs", "rerun"))  # fmt: skip
    may_fail = any(arguments[: len(verb)] == verb for verb in judges)
    return Case(kind, number, arguments, files, may_fail)
