"""Rows of requests: their sums, their order, their percentiles, their file in every format."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opennandlab as onl
from conftest import SHORT, SMALL, Cli
from opennandlab.core.observation import Observation
from opennandlab.core.requests import ENDINGS, Requests
from opennandlab.core.run import Start, prepare_benchmark
from opennandlab.reports.time_parts import PARTS

Rows = list[dict[str, str]]
NAMES = ("seq", "offset_bytes", "size_bytes", "arrival_ns", "start_ns", "complete_ns")
KINDS = {"append": "write", "relocate": "write"}
MIXED: dict[str, Any] = {**SHORT, "name": "mixed", "read_pct": 50, "total": {"ios": 3000}}


def rows_of(path: Path) -> Rows:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def latency(row: dict[str, str]) -> int:
    return int(row["complete_ns"]) - int(row["arrival_ns"])


def check(rows: Rows, result: onl.Result) -> None:
    """Hold all rows of a run against each other, and against the result."""
    for row in rows:
        assert sum(int(row[f"{part}_ns"]) for part in PARTS) == latency(row), row
        assert int(row["start_ns"]) - int(row["arrival_ns"]) == int(row["submission_ns"])
    # Rows come as requests complete; their numbers are those of their arrival.
    completions = [int(row["complete_ns"]) for row in rows]
    assert completions == sorted(completions)
    by_arrival = sorted(rows, key=lambda row: int(row["seq"]))
    assert [int(row["seq"]) for row in by_arrival] == list(range(len(rows)))
    arrivals = [int(row["arrival_ns"]) for row in by_arrival]
    assert arrivals == sorted(arrivals)
    metrics = result.metrics
    kinds = {"read", "write", "flush"}
    for kind, stated in metrics["latency_us"].items():
        of_kind = [
            latency(row) for row in rows
            if kind in {"all", (op := KINDS.get(row["op"], row["op"]))}
            or (kind == "trim" and op not in kinds)
        ]  # fmt: skip
        check_latencies(of_kind, stated)
    for kind, total in (("read", "host_bytes_read"), ("write", "host_bytes_written")):
        of_kind = [
            int(row["size_bytes"]) for row in rows if KINDS.get(row["op"], row["op"]) == kind
        ]
        assert sum(of_kind) == metrics[total]


def check_latencies(found: list[int], stated: dict[str, Any] | None) -> None:
    """Hold latencies against a row of the result: percentiles are at most 0.1 % too high."""
    if stated is None:
        assert not found
        return
    assert len(found) == stated["count"]
    if not found:
        return
    found.sort()
    assert found[0] == pytest.approx(stated["min"] * 1e3)
    assert found[-1] == pytest.approx(stated["max"] * 1e3)
    assert sum(found) / len(found) == pytest.approx(stated["mean"] * 1e3)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
        if stated[name] is not None:
            true = found[math.ceil(round(share * len(found), 6)) - 1]
            assert true <= stated[name] * 1e3 + 1e-6 <= true * 1.001 + 1, name


DEVICES = st.fixed_dictionaries(
    {},
    optional={
        "controller": st.sampled_from([
            {"scheduler": {"kind": "priority"}, "suspend": {}}, {"scheduler": "in_order"},
        ]),
        "host": st.sampled_from([
            {"queue_depth_max": 2},
            {"link": "pcie3x4", "queue_depth_max": 3, "command_overhead_us": 2,
             "protocol": {"kind": "nvme", "arbitration": "weighted_round_robin"}},
            {"write_cache": {"pages": 16}, "read_cache": {"pages": 16}},
        ]),
    },
)  # fmt: skip
HOSTS = st.fixed_dictionaries(
    {
        "read_pct": st.sampled_from([0, 50, 80]),
        "trim_pct": st.sampled_from([0, 10]),
        "queue_depth": st.sampled_from([1, 5, {"arrival": "poisson", "iops": 20_000}]),
        "block_size_bytes": st.sampled_from(["4KiB", "512", "20KiB"]),
    },
    optional={"flush_every": st.integers(2, 30), "fua_pct": st.just(30)},
)


@settings(max_examples=20)
@given(
    DEVICES, st.lists(HOSTS, min_size=1, max_size=3),
    st.sets(st.sampled_from(["buffers", "shares"])), st.sampled_from([16, 100_000]),
)  # fmt: skip
def test_rows_are_those_of_the_result(
    parts: dict[str, Any], hosts: list[dict[str, Any]], has: set[str], ops: int
) -> None:
    device = {**SMALL, **parts}
    if "buffers" in has and "write_cache" not in device.get("host", {}):
        device["ftl"] = {**SMALL["ftl"], "write_buffer_pages": 8}
    if "controller" not in device and device["ftl"] == SMALL["ftl"]:
        # Such a drive, unless it is watched in any way, lets no flush wait for programs.
        hosts = [{key: host[key] for key in host if key != "flush_every"} for host in hosts]
    work = {"name": "drawn", "total": {"ios": 400}, "precondition": [{"kind": "sequential_fill"}]}
    names = [f"host {index}" for index in range(len(hosts))] if "shares" in has else [""]
    if "shares" in has:
        work["tenants"] = [{**host, "name": name} for name, host in zip(names, hosts, strict=True)]
    else:
        work |= hosts[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        watch = Observation(requests=Requests(path))
        result = prepare_benchmark(Start(device), work, watch=watch).measure(slice_ops=ops)
        rows = rows_of(path)
        assert list(Path(folder).iterdir()) == [path]
    assert result.requests is not None
    assert (result.requests.rows, result.requests.problem) == (len(rows), None)
    assert result.digest == onl.benchmark(device, work).digest
    check(rows, result)
    assert {row["stage"] for row in rows} == {"drawn"}
    if "shares" in has:
        counts = {
            row["name"]: row["latency_us"]["all"]["count"] for row in result.metrics["tenants"]
        }
        assert Counter(row["tenant"] for row in rows) == {k: v for k, v in counts.items() if v}
    else:
        assert {row["tenant"] for row in rows} <= {""}
    flags = {(row["op"], row["flags"]) for row in rows if row["flags"]}
    assert flags <= {("write", "fua")}


def test_a_result_is_the_same_to_the_byte(tmp_path: Path) -> None:
    def document(**options: Any) -> dict[str, Any]:
        found = dict(onl.benchmark(SMALL, MIXED, **options).document)
        return {key: value for key, value in found.items() if key not in {"run", "created"}}

    plain = document()
    assert document(requests=tmp_path / "r.csv") == plain
    both = onl.benchmark(SMALL, MIXED, breakdown=True, requests=tmp_path / "both.csv")
    assert both.digest == onl.benchmark(SMALL, MIXED, breakdown=True).digest
    assert (tmp_path / "both.csv").read_bytes() == (tmp_path / "r.csv").read_bytes()


def test_each_of_some_is_the_same_row(tmp_path: Path) -> None:
    for every in (1, 7):
        onl.benchmark(SMALL, MIXED, requests=tmp_path / f"{every}.csv", requests_every=every)
    rows = rows_of(tmp_path / "1.csv")
    assert rows_of(tmp_path / "7.csv") == [row for row in rows if int(row["seq"]) % 7 == 0]


def test_every_format_holds_the_same(tmp_path: Path) -> None:
    # Three batches and a part of one; a name that CSV has to quote.
    work = {**MIXED, "name": '=1, "ä"', "total": {"ios": 50_000}}
    for ending in ENDINGS:
        result = onl.benchmark(SMALL, work, requests=tmp_path / f"r{ending}")
        assert result.requests is not None
        assert result.requests.rows == 50_000
    rows = rows_of(tmp_path / "r.csv")
    check(rows, result)
    assert {row["stage"] for row in rows} == {'\'=1, "ä"'}
    if shutil.which("zstd"):
        unpacked = subprocess.run(
            ["zstd", "-dc", tmp_path / "r.csv.zst"], capture_output=True, check=True
        )
        assert unpacked.stdout == (tmp_path / "r.csv").read_bytes()
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    table = parquet.read_table(tmp_path / "r.parquet")
    table.validate(full=True)
    for row in rows:
        row["stage"] = work["name"]
    assert [{name: str(value) for name, value in row.items()} for row in table.to_pylist()] == rows
    with pa.OSFile(str(tmp_path / "r.arrow")) as file:
        arrow = pa.ipc.open_file(file).read_all()
    arrow.validate(full=True)
    assert arrow.equals(table)


def test_rows_of_a_trace_name_its_lines_and_volumes(tmp_path: Path) -> None:
    # MSR: timestamp in 100 ns, host, disk, type, offset, size, latency.
    lines = [
        f"{index * 500},h,{index % 3},{'Read' if index % 4 else 'Write'},{index % 97 * 4096},4096,1"
        for index in range(2000)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = {"format": "msr", "volumes": "overlay"}
    for closed in (False, True):
        if closed:
            options |= {"loop": {"kind": "closed", "queue_depth": 8}}  # type: ignore[dict-item]
        result = onl.replay(SMALL, tmp_path / "t.csv", options, requests=tmp_path / "r.csv")
        rows = rows_of(tmp_path / "r.csv")
        check(rows, result)
        for row in rows:
            index = int(row["seq"])
            assert row["volume"] == f"h_{index % 3}"
            assert int(row["offset_bytes"]) == index % 97 * 4096
            assert row["op"] == ("read" if index % 4 else "write")
            assert closed or int(row["arrival_ns"]) == index * 50_000
    one = {"format": "msr", "volumes": "h_2"}
    onl.replay(SMALL, tmp_path / "t.csv", one, requests=tmp_path / "r.csv")
    assert Counter(row["volume"] for row in rows_of(tmp_path / "r.csv")) == {"h_2": 666}


def test_commands_of_zones_have_their_names(tmp_path: Path) -> None:
    device = {
        "nand": {**SMALL["nand"], "blocks_per_plane": 40, "pages_per_block": 128},
        "ftl": {
            "over_provisioning_pct": 0.05,
            "mapping": {"kind": "zoned", "zone_bytes": "4MiB", "zone_capacity_bytes": "3MiB"},
        },
    }
    steps = [{"do": "append", "zones": 3, "count": 20}, {"do": "reset", "zones": 3}]
    work = {"pattern": {"kind": "zone_actions", "steps": steps}, "total": {"ios": 300}}
    result = onl.benchmark(device, work, requests=tmp_path / "r.csv")
    rows = rows_of(tmp_path / "r.csv")
    check(rows, result)
    assert {row["op"] for row in rows} == {"append", "reset"}


def test_a_step_of_a_session_has_a_file(tmp_path: Path) -> None:
    drive = onl.Simulation(SMALL)
    first = drive.run(MIXED, requests=tmp_path / "1.csv")
    check(rows_of(tmp_path / "1.csv"), first)
    assert drive.run(MIXED).requests is None
    assert len(list(tmp_path.iterdir())) == 1


def limited(folder: Path, bytes_max: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command as on a disk that is full when a file has some bytes."""
    return subprocess.run(
        [sys.executable, "-m", "opennandlab", "benchmark", "-c", "small.yaml", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max)),
        timeout=120,
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_cannot_grow_is_shorter_and_valid(folder: Path, ending: str) -> None:
    work = {**MIXED, "total": {"ios": 60_000}}
    onl.benchmark(SMALL, work, requests=folder / f"whole{ending}")
    bytes_max = (folder / f"whole{ending}").stat().st_size * 6 // 10
    (folder / "long.yaml").write_text(json.dumps(work), encoding="utf-8")
    done = limited(folder, bytes_max, "-w", "long.yaml", "--requests", f"r{ending}")
    assert done.returncode == 1, done.stderr
    said = done.stderr.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert f"error: cannot write all of r{ending}: File too large; " in said
    assert "of 60 000 rows are kept in it" in said
    kept = int(said.partition("too large; ")[2].partition(" of ")[0].replace(" ", ""))
    assert 0 < kept < 60_000
    assert len(list(folder.glob("*.tmp"))) + len(list(folder.glob(".*.tmp"))) == 0
    path = folder / f"r{ending}"
    assert path.stat().st_size <= bytes_max
    if ending == ".csv.zst" and shutil.which("zstd"):
        subprocess.run(["zstd", "-dq", path], check=True)
        path = folder / "r.csv"
    if path.suffix == ".csv":
        assert len(rows_of(path)) == kept
        return
    pa = pytest.importorskip("pyarrow")
    if ending == ".arrow":
        with pa.OSFile(str(path)) as file:
            assert pa.ipc.open_file(file).read_all().num_rows == kept
    if ending == ".parquet":
        assert pytest.importorskip("pyarrow.parquet").read_table(path).num_rows == kept


def test_a_short_table_on_a_full_disk_keeps_what_fits(folder: Path) -> None:
    """All of its rows would be one piece."""
    work = {**MIXED, "total": {"ios": 2000}}
    onl.benchmark(SMALL, work, requests=folder / "whole.csv")
    lines = (folder / "whole.csv").read_bytes().splitlines(keepends=True)
    bytes_max = sum(map(len, lines)) // 2
    (folder / "long.yaml").write_text(json.dumps(work), encoding="utf-8")
    done = limited(folder, bytes_max, "-w", "long.yaml", "--requests", "r.csv")
    assert done.returncode == 1, done.stderr
    content = (folder / "r.csv").read_bytes()
    kept = content.splitlines(keepends=True)
    assert kept == lines[: len(kept)]
    assert len(content) > 0.99 * bytes_max


def test_a_file_without_room_for_its_frame_is_none(folder: Path) -> None:
    (folder / "r.arrow").write_text("old", encoding="utf-8")
    done = limited(folder, 1000, "-w", "short.yaml", "--requests", "r.arrow")
    assert done.returncode == 1
    assert "cannot write r.arrow: File too large; no rows are kept" in done.stderr
    assert (folder / "r.arrow").read_text(encoding="utf-8") == "old"
    assert list(folder.glob(".*.tmp")) == []


def test_an_interrupted_run_keeps_its_rows(tmp_path: Path) -> None:
    watch = Observation(requests=Requests(tmp_path / "r.csv"))
    run = prepare_benchmark(Start(SMALL), {**MIXED, "total": {"ios": 10**9}}, watch=watch)
    seen = Counter[bool]()

    def interrupt(state: onl.Progress) -> None:
        seen[state.measured] += 1
        if seen[True] > 20:
            raise KeyboardInterrupt

    with pytest.raises(onl.Interrupted) as caught:
        run.measure(progress=interrupt, slice_ops=5000)
    result = caught.value.result
    assert result is not None
    rows = rows_of(tmp_path / "r.csv")
    assert len(rows) == result.metrics["latency_us"]["all"]["count"] > 20_000
    assert result.requests is not None
    assert result.requests.rows == len(rows)
    # A watcher that fails leaves nothing.
    run = prepare_benchmark(
        Start(SMALL), MIXED, watch=Observation(requests=Requests(tmp_path / "x.csv"))
    )
    with pytest.raises(ZeroDivisionError):
        run.measure(progress=lambda _: 1 // 0)  # type: ignore[arg-type,return-value]
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def size_of(path: Path) -> int:
    """Return the bytes of a file that may be gone by now."""
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def test_a_signal_ends_the_command_with_a_valid_file(command: Path, folder: Path) -> None:
    work = json.dumps({**MIXED, "total": {"ios": 10**9}})
    (folder / "long.yaml").write_text(work, encoding="utf-8")
    run = ("benchmark", "-w", "long.yaml", "-c", "small.yaml", "--requests", "r.csv")
    with subprocess.Popen(
        [str(command), *run], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True,
    ) as process:  # fmt: skip
        while not any(size_of(path) > 1_000_000 for path in folder.glob(".r.csv*")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    rows = rows_of(folder / "r.csv")
    digits = "".join(filter(str.isdigit, said.partition("requests saved to r.csv:")[2]))
    assert int(digits) == len(rows) > 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--requests", "r.txt"), "accepted file extensions: .parquet, .csv, .csv.zst, .arrow"),
        (("--requests", "absent/r.csv"), "No such file or directory"),
        (("--requests", "folder.csv"), "it is a directory"),
        (("--requests", "small.yaml"), "is also the device"),
        (("--requests", "x.csv", "-o", "x.csv"), "two outputs"),
        (("--requests-every", "2"), "no file is given"),
        (("--requests", "r.csv", "--requests-every", "0"), "accepted: a whole number from 1"),
        (("--requests", "r.csv", "--set", "workload.timed=false"), "requests: the workload has"),
        (("--requests", "pipe.csv"), "not a file"),
    ],
)
def test_what_cannot_be_written_is_refused(
    cli: Cli, folder: Path, arguments: tuple[str, ...], reason: str
) -> None:
    (folder / "folder.csv").mkdir()
    os.mkfifo(folder / "pipe.csv")
    done = cli("benchmark", "-w", "short.yaml", "-c", "small.yaml", *arguments)
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr
    assert not (folder / "r.csv").exists()


def test_options_of_python_are_refused_alike(tmp_path: Path) -> None:
    with pytest.raises(onl.ConfigError, match="accepted: 1 to 2"):
        onl.benchmark(SMALL, SHORT, requests=tmp_path / "r.csv", requests_every=0)
    with pytest.raises(onl.ConfigError, match="no file is given"):
        onl.benchmark(SMALL, SHORT, requests_every=3)
    with pytest.raises(onl.OutputError, match="accepted file extensions"):
        onl.benchmark(SMALL, SHORT, requests=tmp_path / "r.json")


def test_an_existing_file_is_replaced(cli: Cli, folder: Path) -> None:
    (folder / "r.csv").write_text("old", encoding="utf-8")
    done = cli("benchmark", "-w", "short.yaml", "-c", "small.yaml", "--requests", "r.csv")
    assert done.returncode == 0, done.stderr
    assert "requests saved to r.csv: " in done.stderr
    assert set(NAMES) < set(rows_of(folder / "r.csv")[0])
