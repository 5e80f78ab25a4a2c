"""What is kept of requests: from every format that is read, through every one that is written.

Requests are drawn, written down in a format by this file, and converted. What must come out is
known from the requests alone: all of them, less what the two formats have no words for, which
`trace convert` must count.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from opennandlab.cli import app

HEAD = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n"
READ_WRITE = ("read", "write")
NO_ZONES = (*READ_WRITE, "trim", "flush")
ALL = (*NO_ZONES, "reset", "append")
FLAGS = ("fua", "ahead", "sync", "meta")
STORING = {"write", "append"}
SYNC = 1 << 64


@dataclass(frozen=True)
class Request:
    """A request; its time counts steps of its format."""

    time: int
    op: str
    sector: int
    sectors: int
    volume: int
    process: int
    flags: frozenset[str] = field(default_factory=frozenset)

    @property
    def offset(self) -> int:
        return self.sector * 512

    @property
    def size(self) -> int:
        return self.sectors * 512

    @property
    def letters(self) -> str:
        ops = dict(zip(ALL, ("R", "W", "D", "F", "ZR", "ZA"), strict=True))
        named = zip(FLAGS, "FASM", strict=True)
        first = "F" if "first" in self.flags else ""
        return first + ops[self.op] + "".join(one for flag, one in named if flag in self.flags)

    def seconds(self, step_ns: int) -> str:
        ns = self.time * step_ns
        return f"{ns // 10**9}.{ns % 10**9:09}"


def scsi(request: Request) -> int:
    return {"read": 0x28, "write": 0x8A, "trim": 0x42, "flush": 0x35}[request.op]


def blktrace(request: Request) -> bytes:
    bits = {"first": 4, "fua": 0x8000, "ahead": 0x800, "sync": 8, "meta": 0x1000}
    what = {"read": 1, "write": 2, "trim": 0x2001, "flush": 4}[request.op]
    what |= sum(bits[flag] for flag in request.flags)
    return struct.pack(
        "<IIQQIIIIIHH", 0x65617407, 1, request.time, request.sector, request.size,
        what << 16 | 1, request.process, 8 << 20 | request.volume, 0, 0, 0,
    )  # fmt: skip


@dataclass(frozen=True)
class Form:
    """How a format has a request, and what it can hold."""

    line: Callable[[Request], str | bytes]
    ops: tuple[str, ...] = READ_WRITE
    flags: tuple[str, ...] = ()
    step_ns: int = 1000
    # As `csv` has them; nothing if the format has none.
    volume: Callable[[Request], str] = lambda r: str(r.volume)
    process: Callable[[Request], str] = lambda _: ""
    head: str = ""
    options: tuple[str, ...] = ()


KERNEL = (*FLAGS, "first")
FORMS = {
    "mqsim": Form(
        lambda r: f"{r.time} {r.volume} {r.sector} {r.sectors} {int(r.op == 'read')}", step_ns=1
    ),
    "msr": Form(
        lambda r: f"{r.time},h,{r.volume},{r.op.title()},{r.offset},{r.size},9",
        step_ns=100,
        volume=lambda r: f"h_{r.volume}",
    ),
    "spc": Form(lambda r: f"{r.volume},{r.sector},{r.size},{r.op[0]},{r.seconds(1000)}"),
    "tencent": Form(
        lambda r: f"{r.time},{r.sector},{r.sectors},{int(r.op == 'write')},{r.volume}",
        step_ns=10**9,
    ),
    "alibaba": Form(lambda r: f"{r.volume},{r.op[0].upper()},{r.offset},{r.size},{r.time}"),
    "systor17": Form(
        lambda r: f"{r.seconds(1000)},,{r.op[0].upper()},{r.volume},{r.offset},{r.size}"
    ),
    "fiu": Form(
        lambda r: f"{r.time} 7 p {r.process} {r.sector} {r.sectors} {r.op[0].upper()} 6 "
        f"{r.volume} 56f1",
        step_ns=1,
        volume=lambda r: f"6:{r.volume}",
        process=lambda r: f"p {r.process}",
    ),
    "mobile": Form(
        lambda r: f"p{r.process},{r.volume},{r.letters},{r.sector},{r.sectors},{r.seconds(1000)}",
        ALL, KERNEL, process=lambda r: f"p{r.process}",
    ),
    "fio_iolog": Form(
        lambda r: f"{r.time} f{r.volume} {'sync' if r.op == 'flush' else r.op} {r.offset} {r.size}",
        NO_ZONES, volume=lambda r: f"f{r.volume}", head="fio version 3 iolog\n",
    ),
    "blkparse": Form(
        lambda r: f"8,{r.volume} 0 1 {r.seconds(1)} {r.process} Q {r.letters} "
        + ("" if r.op == "flush" else f"{r.sector} + {r.sectors} ") + "[x]",
        ALL, KERNEL, 1, lambda r: f"8:{r.volume}", lambda r: str(r.process),
    ),
    "blktrace": Form(
        blktrace, NO_ZONES, KERNEL, 1, lambda r: f"8:{r.volume}", lambda r: str(r.process)
    ),
    "tracepoint": Form(
        lambda r: f"a-7 [0] {r.seconds(1000)}: block_rq_issue: 8,{r.volume} {r.letters} {r.size} "
        f"() {SYNC - 1 if r.op == 'flush' else r.sector} + {r.sectors} [p{r.process}]",
        ALL, KERNEL, 1000, lambda r: f"8:{r.volume}", lambda r: f"p{r.process}",
    ),
    "biosnoop": Form(
        lambda r: f"{r.seconds(1000)} p{r.process} 7 sd{r.volume} {r.letters} {r.sector} "
        f"{r.size} 0.00",
        ALL, KERNEL, volume=lambda r: f"sd{r.volume}", process=lambda r: f"p{r.process}",
    ),
    "xperf": Form(
        lambda r: f"Disk{r.op.title()}, {r.time}, p ({r.process}), 1, 0xe, "
        + ("" if r.op == "flush" else f"{r.offset:#x}, {r.size:#x}, ") + f"0, {r.volume}",
        (*READ_WRITE, "flush"), process=lambda r: f"p ({r.process})",
    ),
    "served": Form(
        lambda r: f"1,0,{r.op},{int('fua' in r.flags)},{r.offset},{r.size},{r.time},0,0",
        NO_ZONES, ("fua",), 1, lambda _: "0",
        head="seq,conn,op,flags,off,len,t_arrive,t_target,t_reply\n",
    ),
    "libcachesim": Form(
        lambda r: f"1,{r.seconds(1000)},{scsi(r):02x},{r.size},{r.sector}",
        NO_ZONES, volume=lambda _: "0",
    ),
    "vscsi": Form(
        lambda r: f"1,{r.size},1,{r.op},{r.sector},{r.time}", volume=lambda _: "0"
    ),
    "vscsi 1": Form(
        lambda r: struct.pack(
            "<IIIHHQQ", 7, r.size, 1, scsi(r), 0x0100, r.sector, r.time
        ),
        NO_ZONES, volume=lambda _: "0",
    ),
    "vscsi 2": Form(
        lambda r: struct.pack(
            "<HHIIIQQQ", scsi(r), 0x0200, 7, r.size, 1, r.sector, r.time, 90
        ),
        NO_ZONES, volume=lambda _: "0",
    ),
    "csv": Form(
        lambda r: f"{r.time},{r.op},{r.offset},{r.size},v{r.volume},{r.process},"
        + " ".join(flag for flag in FLAGS if flag in r.flags),
        ALL, FLAGS, 1, lambda r: f"v{r.volume}", lambda r: str(r.process), HEAD,
    ),
    "columns": Form(
        lambda r: f"{r.op};{r.time};v{r.volume};{r.offset:#x};{r.size};p{r.process}",
        ALL, volume=lambda r: f"v{r.volume}", process=lambda r: f"p{r.process}",
        options=(
            "--columns",
            "op:reset=reset:append=append,time:us,volume,offset,size,process",
        ),
    ),
}  # fmt: skip
# What each written format holds.
TARGETS = {
    "csv": (ALL, FLAGS, 1),
    "blkparse": (ALL, FLAGS, 1),
    "fio_iolog": (NO_ZONES, (), 1000),
    "mqsim": (READ_WRITE, (), 1),
}


def drawn(form: Form) -> st.SearchStrategy[list[Request]]:
    one = st.builds(
        Request, st.integers(0, 10**6), st.sampled_from(form.ops), st.integers(0, 10**9),
        st.integers(1, 300), st.integers(0, 3), st.integers(1, 3),
        st.frozensets(st.sampled_from(form.flags)) if form.flags else st.just(frozenset()),
    )  # fmt: skip
    return st.lists(one.map(possible), min_size=1, max_size=20).map(
        lambda listed: sorted(listed, key=lambda request: request.time)
    )


def possible(request: Request) -> Request:
    """Take away what no such request has."""
    flags = request.flags
    if request.op not in STORING:
        flags -= {"fua"}
    if request.op == "flush":
        return replace(request, sector=0, sectors=0, flags=flags - {"first", "ahead"})
    if request.op == "reset":
        return replace(request, sectors=request.sectors & 1, flags=flags - {"ahead"})
    return replace(request, flags=flags)


def rows(requests: list[Request], form: Form) -> list[tuple[Any, ...]]:
    """Return what is to be read: times from the first, a flush before a request of its own."""
    found: list[tuple[Any, ...]] = []
    for one in requests:
        ns = (one.time - requests[0].time) * form.step_ns
        volume, process = form.volume(one), form.process(one)
        if "first" in one.flags:
            found.append((ns, "flush", 0, 0, volume, process, frozenset()))
        found.append((ns, one.op, one.offset, one.size, volume, process, one.flags - {"first"}))
    return found


def asked(*words: object) -> Any:
    result = CliRunner().invoke(app, [*(str(word) for word in words), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def table(path: Path) -> list[tuple[Any, ...]]:
    head, *lines = path.read_text().splitlines()
    assert head + "\n" == HEAD
    parts = (line.split(",") for line in lines)
    return [
        (int(ns), op, int(offset), int(size), volume, process, frozenset(flags.split()))
        for ns, op, offset, size, volume, process, flags in parts
    ]


def renamed(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Number the volumes in their order: a format may have other names for them."""
    order = list(dict.fromkeys(row[4] for row in found))
    return [(*row[:4], order.index(row[4]), *row[5:]) for row in found]


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_format_is_kept_by_every_other(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    form, folder = FORMS[name], tmp_path_factory.mktemp("kept")
    requests = data.draw(drawn(form))
    source = folder / "source"
    content = form.head.encode()
    for one in requests:
        line = form.line(one)
        content += line if isinstance(line, bytes) else line.encode() + b"\n"
    source.write_bytes(content)
    chosen = {"blktrace": "blkparse"}.get(name, name.split(maxsplit=1)[0])
    forced = form.options or ("--trace-format", chosen)
    wanted = rows(requests, form)
    for target, (ops, flags, step_ns) in TARGETS.items():
        out, again = folder / f"t.{target}", folder / "again.csv"
        (told,) = asked("trace", "convert", source, *forced, "--to", target, "-o", out)[
            "files"
        ] or [None]
        kept = [row for row in wanted if row[1] in ops]
        if told is None:
            assert not kept
            continue
        asked("trace", "convert", out, "--trace-format", target, "-o", again)
        start = kept[0][0] // step_ns
        expected = [
            (
                (row[0] // step_ns - start) * step_ns, *row[1:5],
                row[5] if target == "csv" or (target == "blkparse" and row[5].isdigit())
                else "0" if target == "blkparse" else "",
                row[6].intersection(flags),
            )
            for row in kept
        ]  # fmt: skip
        assert renamed(table(again)) == renamed(expected), target
        gone = {
            f"{op if op != 'flush' else 'flushe'}s": sum(row[1] == op for row in wanted)
            for op in set(ALL) - set(ops)
        }
        lost = {
            "written": len(kept),
            "fua": sum("fua" in row[6] for row in kept if "fua" not in flags),
            "flags": sum(bool(row[6] - {"fua"} - set(flags)) for row in kept),
            "times": sum(row[0] % step_ns > 0 for row in kept),
            "processes": sum(
                target != "csv" and row[5] != "" and not (target == "blkparse" and row[5].isdigit())
                for row in kept
            ),
            **gone,
        }
        assert {key: told[key] for key in lost} == lost, target
