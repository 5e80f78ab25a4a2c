"""Logs, histograms and statuses of fio are one series each, joined over processes.

Sums, means and bins are those computed here by hand, or in another way, of small logs; real ones
are of the fio that is installed.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_importing_fio import number_of_bin
from typer.testing import CliRunner

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.cli import app
from opennandlab.documents.pts import Cell, PtsDocument
from opennandlab.measured import import_files, series
from opennandlab.measured.fio import logs
from opennandlab.measured.importing import Wanted
from places import FOLDER

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
Line = Sequence[object]


def log(folder: Path, name: str, lines: Sequence[Line]) -> Path:
    path = folder / name
    path.write_text("".join(", ".join(map(str, line)) + "\n" for line in lines))
    return path


def imported(*paths: Path, **wanted: object) -> PtsDocument:
    return import_files(list(paths), Wanted(**wanted))  # type: ignore[arg-type]


def values(*paths: Path, column: str | None = None, direction: str | None = None) -> list[float]:
    return series.of_texts([(one.name, one.read_text()) for one in paths], column, direction).values


def course(document: PtsDocument, column: str) -> list[float | None]:
    return [getattr(row, column) for row in document.cells.rows]


# -- joining -------------------------------------------------------------------------------------


def two_jobs(folder: Path) -> dict[str, list[Path]]:
    """Write the logs of two jobs; the clock of the second is late."""
    iops = [[(1000, 100), (2000, 200), (3000, 300)], [(1001, 50), (2001, 50), (3000, 100)]]
    lat = [[(1000, 1000), (2000, 2000), (3000, 3000)], [(1001, 4000), (2000, 6000), (3001, 7000)]]
    return {
        "iops": [log(folder, f"x_iops.{at}.log", [(ms, one, 1, 0, 0) for ms, one in job])
                 for at, job in enumerate(iops, 1)],
        "bw": [log(folder, f"x_bw.{at}.log", [(ms, one * 4, 1, 0, 0) for ms, one in job])
               for at, job in enumerate(iops, 1)],
        "lat": [log(folder, f"x_lat.{at}.log", [(ms, one, 1, 0, 0) for ms, one in job])
                for at, job in enumerate(lat, 1)],
    }  # fmt: skip


def test_rates_are_summed_and_response_times_weighted(tmp_path: Path) -> None:
    made = two_jobs(tmp_path)
    assert values(*made["iops"]) == pytest.approx([150, 250, 400])
    both = (*made["iops"], *made["lat"])
    weighted = [(100 * 1 + 50 * 4) / 150, (200 * 2 + 50 * 6) / 250, (300 * 3 + 100 * 7) / 400]
    assert values(*both, column="lat_us_mean") == pytest.approx(weighted)
    # Without the requests of each, both jobs count alike.
    assert values(*made["lat"]) == pytest.approx([2.5, 4.0, 5.0])
    found = imported(*both, *made["bw"], threads=2, queue_depth=1)
    assert found.test == "wsat"
    assert course(found, "iops") == pytest.approx([150, 250, 400])
    assert course(found, "mb_s") == pytest.approx([0.6144, 1.024, 1.6384])
    assert course(found, "lat_us_mean") == pytest.approx(weighted)
    assert course(found, "written_bytes")[-1] == pytest.approx(800 * 4096)
    (label,) = {row.label for row in found.cells.rows}
    assert (label, found.cells.rows[0].block_bytes) == ("4 KiB 0/100", 4096)


def test_any_windows_give_the_same_sums(tmp_path: Path) -> None:
    """Requests do not get lost between windows of 500 and 700 ms, late clocks and pauses."""
    draw = random.Random(7)  # noqa: S311 (nobody guesses it)
    for case in range(40):
        folder = tmp_path / str(case)
        folder.mkdir()
        paths, total = [], 0.0
        for job in range(draw.choice((1, 2, 5))):
            window = draw.choice((500, 500, 700, 1000))
            ends = [window * at for at in range(1, 30) if at < 4 or draw.random() < 0.8]
            rates = [draw.randrange(1000) for _ in ends]
            total += sum(rates) * window / 1000
            lines = [(ms + draw.choice((0, 0, 1)), rate, 0, 0, 0)
                     for ms, rate in zip(ends, rates, strict=True)]  # fmt: skip
            paths.append(log(folder, f"j_iops.{job}.log", lines))
        found = imported(*paths, block_bytes=4096)
        assert sum(row.ios for row in found.cells.rows) == pytest.approx(total, rel=1e-6)


def test_lines_for_each_request_are_counted(tmp_path: Path) -> None:
    lat = [(0, 1000, 0, 4096, 0), (0, 3000, 1, 8192, 0), (2, 5000, 1, 4096, 0)]
    paths = [
        log(tmp_path, "r_lat.1.log", lat),
        log(tmp_path, "r_iops.1.log", [(ms, 1, way, size, 0) for ms, _, way, size, _ in lat]),
        log(tmp_path, "r_bw.1.log", [(ms, 99, way, size, 0) for ms, _, way, size, _ in lat]),
    ]
    for given in (paths, paths[:1], paths[1:2], paths[2:]):
        found = imported(*given)
        assert sum(row.ios for row in found.cells.rows) == 3
        assert found.cells.rows[-1].written_bytes == pytest.approx(12288)
        assert sum(row.read_mb_s * row.seconds for row in found.cells.rows) == (
            pytest.approx(4096e-6)
        )
    (row,) = imported(*paths).cells.rows
    assert (row.lat_us_mean, row.lat_us_max) == (3.0, 5.0)


def test_processes_in_one_file_are_told_by_their_times(tmp_path: Path) -> None:
    """With `per_job_logs=0` the log of each process is appended to that of the one before."""
    once = [(500, 10, 0, 0, 0), (1000, 20, 0, 0, 0), (1500, 30, 0, 0, 0)]
    assert values(log(tmp_path, "x_iops.log", once * 3)) == [30, 60, 90]
    # Times since 1970, of `log_unix_epoch`.
    assert values(log(tmp_path, "z_iops.1.log.127.0.0.1", once), direction="read") == [10, 20, 30]
    late = [(ms + 1_700_000_000_000, *rest) for ms, *rest in once]
    found = imported(log(tmp_path, "y_iops.log", late), block_bytes=512)
    assert (course(found, "iops"), course(found, "start_s")) == ([10, 20, 30], [0, 0.5, 1.0])


def test_a_clock_that_goes_back_is_no_second_process(tmp_path: Path) -> None:
    times = (1000, 2000, 3000, 4000, 2500, 6000)
    broken = log(tmp_path, "x_iops.1.log", [(ms, 10, 1, 0, 0) for ms in times])
    with pytest.raises(ResultError, match=r"row 5: the time goes back from 4000 to 2500 ms, not"):
        values(broken)


def test_processes_in_one_file_are_named(tmp_path: Path) -> None:
    once = [(500, 10, 1, 0, 0), (1000, 20, 1, 0, 0), (1500, 30, 1, 0, 0)]
    path = log(tmp_path, "x_iops.log", once * 2)
    assert any(
        "times begin again: 2 processes" in one for one in imported(path, block_bytes=512).warnings
    )
    found = series.of_texts([(path.name, path.read_text())], None, None)
    assert found.said.endswith("2 processes together")


def test_a_window_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    lines = [(ms, ms // 100, 1, 0, 0) for ms in range(500, 3500, 500)]
    assert values(log(tmp_path, "x_iops.1.log", [*lines, lines[-1]])) == [5, 10, 15, 20, 25, 30]


@pytest.mark.parametrize(
    ("line", "words"),
    [("2000, 9, 7, 0, 0", "row 2: neither a direction, nor a largest"),
     ("2000, 7_10, 1, 0, 0", "line 2: `2000, 7_10, 1, 0, 0`: no numbers"),
     ("2000, ７, 1, 0, 0", "no numbers")],
)  # fmt: skip
def test_what_is_no_number_or_direction_is_refused(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "x_iops.1.log"
    path.write_text(f"1000, 5, {7 if ', 7, 0' in line else 1}, 0, 0\n{line}\n", encoding="utf-8")
    with pytest.raises(ResultError, match=re.escape(words)):
        values(path)


def test_logs_of_two_runs_are_refused(tmp_path: Path) -> None:
    paths = [log(tmp_path, f"{name}_iops.1.log", [(500, 10, 0, 0, 0)]) for name in "ab"]
    with pytest.raises(ResultError, match=r"a_iops.1.log, b_iops.1.log: the same figure of the"):
        values(*paths)
    with pytest.raises(ResultError, match="the same file twice"):
        imported(paths[0], paths[0])


# -- columns and units ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "columns"),
    [
        ([(500, 7, 0, 4096)], ""),
        ([(500, 7, 0, 4096, 8192), (900, 8, 0, 4096, 4096)], ", offset"),
        ([(500, 7, 0, 4096, 0), (900, 8, 0, 4096, 0)], ", priority"),
        ([(500, 7, 0, 4096, 4096), (900, 8, 0, 4096, 4097)], ", priority"),
        ([(500, 7, 0, 4096, 8192, 0), (900, 8, 0, 4096, 0, 1)], ", offset, priority"),
        ([(500, 7, 0, 0, "0x4001"), (900, 8, 0, 0, "0x0000")], ", priority"),
        ([(500, 7, 0, 0, 0, 0, 99)], ", offset, priority, issue time"),
    ],
)
def test_columns_are_told_apart(lines: Sequence[Line], columns: str) -> None:
    text = "".join(", ".join(map(str, line)) + "\n" for line in lines)
    found = logs.read(text, "x_lat.1.log")
    assert found is not None
    assert found.columns == "ms, value, direction, bs" + columns
    both = re.sub(r"^(\d+, \d+)", r"\1, 12345", text, flags=re.MULTILINE)
    found = logs.read(both, "x_lat.1.log")
    assert found is not None
    if columns:
        assert found.columns == "ms, value, largest, direction, bs" + columns


def test_the_unit_of_response_times_is_told_or_asked(tmp_path: Path) -> None:
    """A log of four columns may be of fio 2.20, in µs, or of 3.10, in ns."""
    iops = log(tmp_path, "x_iops.1.log", [(500, 10, 0, 4096), (1000, 10, 0, 4096)])
    lat = log(tmp_path, "x_lat.1.log", [(500, 70, 0, 4096), (1000, 70, 0, 4096)])
    with pytest.raises(ResultError, match=r"x_lat.1.log: response times may be in ns, or in µs"):
        imported(iops, lat)
    for unit, mean in (("lat_ns", 0.07), ("lat_us", 70.0)):
        assert course(imported(iops, lat, unit=unit), "lat_us_mean") == pytest.approx([mean] * 2)
    bare = log(tmp_path, "x.log", [(500, 10, 0, 4096), (1000, 10, 0, 4096)])
    with pytest.raises(
        ResultError, match=r"x\.log: its name is none that fio gives .* --unit iops"
    ):
        imported(bare)
    assert course(imported(bare, unit="iops"), "mb_s") == pytest.approx([0.04096] * 2)
    with pytest.raises(
        ResultError, match="--unit art_ms is not a unit of a log; accepted: iops, kib_s"
    ):
        imported(bare, unit="art_ms")
    sizeless = log(tmp_path, "y_iops.1.log", [(500, 10, 0, 0), (1000, 10, 0, 0)])
    with pytest.raises(ResultError, match=r"mb_s do not follow from it; accepted: .*--block-size"):
        imported(sizeless)


# -- histograms ----------------------------------------------------------------------------------


def coarse(counts: Sequence[int], coarseness: int) -> list[int]:
    width = 1 << coarseness
    return [sum(counts[at : at + width]) for at in range(0, len(counts), width)]


def test_bins_of_histograms_are_those_of_fio(tmp_path: Path) -> None:
    """Exact below 128, else 64 per octave; 1,216 bins of 2.x are of µs."""
    for ns, middle in ((100, 100), (1000, 1004), (2000, 2008), (100_000, 99_840),
                       (25_000_000, 25_034_752)):  # fmt: skip
        for bins, unit in ((1856, 1), (1216, 1000)):
            counts = [0] * bins
            if number_of_bin(ns) >= bins:
                continue
            counts[number_of_bin(ns)] = 20
            for coarseness in range(7):
                line = (1000, 0, 4096, *coarse(counts, coarseness))
                path = log(tmp_path, f"x_clat_hist.{coarseness}.log", [line])
                (row,) = imported(path, block_bytes=4096).cells.rows
                # 2^c bins are up to 2^c / 64 of an octave wide, and the first ones exact.
                share = 0 if coarseness == 0 else 2.0 ** (coarseness - 6)
                near = max(share * middle, 2.0**coarseness) if coarseness else 0
                assert row.lat_us_p50 == pytest.approx(middle * unit / 1000, abs=near * unit / 1000)
                assert row.ios == 20


def test_histograms_are_added_by_interval(tmp_path: Path) -> None:
    draw = random.Random(3)  # noqa: S311 (nobody guesses it)
    times = [[draw.randrange(50_000, 10**7) for _ in range(3000)] for _ in range(4)]
    paths = []
    for job in range(2):
        lines = []
        for at in range(2):
            counts = [0] * 1856
            for ns in times[2 * job + at]:
                counts[number_of_bin(ns)] += 1
            lines.append(((at + 1) * 1000 + job, 1, 4096, *counts))
        paths.append(log(tmp_path, f"x_clat_hist.{job + 1}.log", lines))
    found = imported(*paths, block_bytes=4096)
    assert course(found, "iops") == [6000, 6000]
    for at, row in enumerate(found.cells.rows):
        both = sorted(times[at] + times[2 + at])
        for share, figure in ((0.5, row.lat_us_p50), (0.99, row.lat_us_p99)):
            exact = both[math.ceil(share * len(both)) - 1]
            assert figure == pytest.approx(exact / 1000, rel=2**-6)
    assert found.histograms[0].count == 12_000
    asked = [one for path in paths for one in ("--file", str(path))]
    done = CliRunner().invoke(app, ["pts", "steady-state", *asked, "--column", "clat_us_p99"])
    assert done.exit_code == 0, done.output
    refused = CliRunner().invoke(app, ["pts", "steady-state", *asked, "--column", "p95"])
    assert refused.exit_code == 2
    assert "`p95` is not a column of the series; accepted: iops, clat_us_mean" in refused.output


# -- statuses ------------------------------------------------------------------------------------


def test_statuses_differ_by_what_came_between(tmp_path: Path) -> None:
    text = (FOLDER / "fio" / "status.json").read_text()
    places = [match.start() for match in re.finditer(r'^\{\n  "fio version"', text, re.MULTILINE)]
    found = [json.JSONDecoder().raw_decode(text, place)[0]["jobs"][0] for place in places]
    document = imported(FOLDER / "fio" / "status.json", test="wsat")
    assert len(document.cells.rows) == 4
    last = found[-1]
    total = last["read"]["total_ios"] + last["write"]["total_ios"]
    assert sum(row.ios for row in document.cells.rows) == pytest.approx(total)
    for way in ("read", "write"):
        rates = [getattr(row, f"{way}_iops") * row.seconds for row in document.cells.rows]
        assert sum(rates) == pytest.approx(last[way]["total_ios"])
    # A result in the millisecond of the last status: no request is left out.
    late = json.loads(text[places[-1] :])
    late["jobs"][0]["write"]["total_ios"] += 7
    path = tmp_path / "late.json"
    path.write_text(text.rstrip() + "\n" + json.dumps(late))
    assert sum(row.ios for row in imported(path, test="wsat").cells.rows) == total + 7
    path = tmp_path / "one.json"
    path.write_text(text[places[-1] :])
    for refused in (lambda: imported(path, test="wsat"), lambda: values(path)):
        with pytest.raises((ResultError, ConfigError), match=r"no series; accepted: the statuses"):
            refused()
    path.write_text(text[:-100])
    with pytest.raises(ConfigError, match="breaks off or is damaged at character"):
        values(path)


@needs_fio
def test_logs_and_statuses_of_one_run_agree(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[job]\nfilename=drive.img\nsize=8m\nioengine=libaio\nrw=randrw\nbs=4k\niodepth=2\n"
        "numjobs=2\ngroup_reporting\ntime_based\nruntime=2\nlog_avg_msec=500\nlog_hist_msec=500\n"
        "write_bw_log=x\nwrite_iops_log=x\nwrite_lat_log=x\nwrite_hist_log=x\n"
    )
    done = subprocess.run(
        ["fio", "job.fio", "--output-format=json+", "--status-interval=500ms", "--output=x.json"],
        cwd=tmp_path, check=False, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    output = tmp_path / "x.json"
    (whole,) = imported(output).cells.rows
    lines = sorted(tmp_path.glob("x_*.log"))
    for document in (imported(output, test="wsat"), imported(output, *lines)):
        rows: list[Cell] = list(document.cells.rows)
        count = sum(row.ios for row in rows)
        mean = sum(row.ios * (row.lat_us_mean or 0) for row in rows) / count
        if document.header.imported.origin.startswith("statuses"):  # type: ignore[union-attr]
            assert round(count, 6) == whole.ios
            assert mean == pytest.approx(whole.lat_us_mean, rel=1e-3)
        # Logs leave the last window out, in which a busy machine may do most of the work.
        assert 0 < count <= 1.02 * whole.ios
        assert 0.002 < mean / whole.lat_us_mean < 500  # a mistaken unit: 1000
        assert {row.block_bytes for row in rows} == {4096}
        assert (document.header.threads, document.header.queue_depth) == (2, 2)


# -- levels --------------------------------------------------------------------------------------


def test_the_levels_of_a_long_run_are_those_of_the_test(tmp_path: Path) -> None:
    """Six hours: 1,000 IOPS for ten minutes, then 200, which the rule finds steady."""
    lines = [
        (ms, 1000 if ms <= 600_000 else 200, 1, 0, 0) for ms in range(10_000, 21_600_001, 10_000)
    ]
    path = log(tmp_path, "w_iops.1.log", lines)
    found = imported(path, block_bytes=4096, capacity_bytes=10**9)
    results = found.results
    assert len(found.cells.rows) == 360
    assert results.attained is True  # type: ignore[attr-defined]
    assert (results.fob_iops, results.steady_iops) == (1000, 200)  # type: ignore[attr-defined]
    assert results.cliff_minutes == 11  # type: ignore[attr-defined]
    written = (600 * 1000 + 21_000 * 200) * 4096
    assert results.written_bytes == pytest.approx(written)  # type: ignore[attr-defined]
    assert results.drive_fills == pytest.approx(written / 1e9)  # type: ignore[attr-defined]
    assert any("steady by the five-point rule at round 5" in it for it in found.warnings)
    unknown = imported(path, block_bytes=4096)
    assert unknown.results.fob_iops is None  # type: ignore[attr-defined]
    assert any("unknown without --capacity" in it for it in unknown.warnings)
    saved = tmp_path / "w.json"
    run = CliRunner()
    done = run.invoke(app, ["pts", "import", str(path), "--block-size", "4KiB", "-o", str(saved)])
    assert done.exit_code == 0, done.output
    page = tmp_path / "w.html"
    done = run.invoke(app, ["report", str(saved), "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "IOPS and throughput against time" in page.read_text()
    done = run.invoke(app, ["compare", str(saved), str(saved), "--all", "--json"])
    assert json.loads(done.stdout)["metrics"]["results.steady_iops"]["values"] == [200, 200]


# -- bad logs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("500, 10, 0, 0\n1000, x, 0, 0\n", "line 2: `1000, x, 0, 0`: no numbers"),
        ("500, 10, 0, 0\n1000, nan, 0, 0\n", "line 2: .*: no numbers; accepted: lines `ms, value"),
        ("500, 10, 0, 0\n\n1000, -5, 0, 0\n", "line 3: .*: a number below 0 or beyond 2\\^63"),
        ("500, 10, 0, 0\n1000, 9223372036854775808, 0, 0\n", "line 2: .* beyond 2\\^63"),
        ("500, 10, 0, 0\n1000, 10\n", "line 2: `1000, 10`: 2 numbers where the first line has 4"),
        ("500, 10, 0, 0\n1000, 10, 3, 0\n", "row 2: no direction"),
        ("1, 9, 0, 1\n2, 9, 0, 1\n3, 9, 0, 1\n9000000000000000, 9, 0, 1\n", "more than 1000000"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x_iops.1.log"
    path.write_text(text)
    with pytest.raises(ResultError, match=said):
        imported(path)
    if said.startswith("line 2: `1000, 10`"):
        path.write_text(text.rstrip("\n"))
        assert course(imported(path, block_bytes=512, allow_cut=True), "iops") == [10]
    done = CliRunner().invoke(app, ["pts", "steady-state", "--file", str(path)])
    assert done.exit_code in {0, 2}
    assert isinstance(done.exception, SystemExit | None)


@pytest.mark.parametrize("late_ms", [0, 4])
@pytest.mark.parametrize("window_ms", [100, 250, 1000])
def test_rates_of_windows_of_which_few_have_a_request(window_ms: int, late_ms: int) -> None:
    """Windows without one have no line, and the gaps between others were taken for windows."""
    draw = random.Random(7)  # noqa: S311 (nobody guesses it)
    for share in (0.05, 0.1, 0.15):
        places = [at for at in range(1, 1500) if draw.random() < share]
        text = "".join(
            f"{at * window_ms + draw.randint(0, late_ms)}, {1000 // window_ms}, 0, 0\n"
            for at in places
        )
        log = logs.read(text, "x_iops.1.log")
        assert log is not None
        (track,) = logs.tracks([log])
        assert track.values.sum() == pytest.approx(len(places), rel=0.06)
