"""Outputs of fio come in with the right units, labels and doubts, whatever version wrote them.

A file of fio 2.1 came in 1024 times too small and without response times; a group of a reader and
a writer was filed as writes alone; `iodepth=16` of a synchronous engine as a queue of 16. The
samples of `tests/fio` are of the real fio 3.33, those of other versions are made of them, by the
history of its `stat.c`.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from opennandlab.base.errors import ResultError
from opennandlab.cli import app
from opennandlab.documents.pts import PtsDocument
from opennandlab.measured import import_files
from opennandlab.measured.fio.record import middle
from opennandlab.measured.importing import Wanted
from opennandlab.reports.pts.book import of_document
from opennandlab.reports.pts.tables import MISSING, UNSTATED, of_tails
from places import FOLDER

SAMPLES = FOLDER / "fio"
Document = dict[str, Any]


def sample(name: str) -> Document:
    found: Document = json.loads((SAMPLES / f"{name}.json").read_text())
    return found


def imported(folder: Path, document: object, wanted: Wanted | None = None) -> PtsDocument:
    path = folder / "run.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return import_files([path], wanted)


def cells(document: PtsDocument) -> dict[str, float]:
    """Return all figures of a document by table, row and column."""
    return {
        f"{table.id}[{row}, {column}]": float(value)
        for table in document.tables
        for row, values in zip(table.rows, table.values, strict=True)
        for column, value in zip(table.columns, values, strict=True)
        if isinstance(value, int | float)
    }


def labels(document: PtsDocument) -> set[str]:
    table = document.tables[0]
    return {
        f"{row} KiB {column}"
        for row, values in zip(table.rows, table.values, strict=True)
        for column, value in zip(table.columns, values, strict=True)
        if value is not None
    }


def one_job(**changes: Any) -> Document:
    """Return the smallest document of fio 2.1.11, which has neither options nor nanoseconds."""
    nothing = {"io_bytes": 0, "bw": 0, "iops": 0, "runtime": 0, "total_ios": 0}
    side = {"io_bytes": 40960, "bw": 4096, "iops": 1024, "runtime": 10000, "total_ios": 10240,
            "lat": {"min": 1, "max": 2000, "mean": 976.0, "stddev": 1}}  # fmt: skip
    job = {"jobname": "x", "error": 0, "read": side, "write": nothing}
    return {"fio version": "fio-2.1.11", "jobs": [{**job, **changes}]}


# -- versions ------------------------------------------------------------------------------------

VERSIONS = [
    (2, 0, 15), (2, 1, 11), (2, 1, 14), (2, 2, 0), (2, 2, 6), (2, 2, 12), (2, 3, 0), (2, 10, 0),
    (2, 16, 0), (2, 20, 0), (2, 21, 0), (2, 99, 0), (3, 0, 0), (3, 1, 0), (3, 2, 0), (3, 4, 0),
    (3, 5, 0), (3, 7, 0), (3, 8, 0), (3, 12, 0), (3, 13, 0), (3, 17, 0), (3, 18, 0), (3, 28, 0),
]  # fmt: skip


def number_of_bin(value: int) -> int:
    """Return the number of the bin of fio, of 64 per power of two, that a value falls in."""
    if value < 128:
        return value
    width = value.bit_length() - 7
    return ((width + 1) << 6) + ((value >> width) & 63)


def of_version(document: Document, version: tuple[int, int, int]) -> Document:
    """Return a document of fio 3.33 as an older fio would have written it."""
    found = copy.deepcopy(document)
    found["fio version"] = "fio-" + ".".join(map(str, version if version[2] else version[:2]))
    if version < (2, 3, 0):
        del found["global options"]
    if version < (2, 2, 5):
        del found["timestamp"], found["time"]
    if version < (2, 12, 0):
        del found["timestamp_ms"]
    for job in found["jobs"]:
        dropped = {"job options": (2, 3, 0), "job_runtime": (3, 8, 0), "sync": (3, 4, 0),
                   "latency_ns": (2, 99, 0), "iodepth_submit": (3, 9, 0),
                   "iodepth_complete": (3, 9, 0)}  # fmt: skip
        for key, since in dropped.items():
            if version < since:
                del job[key]
        if version < (3, 18, 0) and "job options" in job:
            job["job options"].pop("lat_percentiles", None)
        for name in ("read", "write", "trim"):
            side_of_version(job[name], version)
    return found


def side_of_version(side: Document, version: tuple[int, int, int]) -> None:
    dropped = {"bw_bytes": (3, 2, 0), "io_kbytes": (2, 21, 0), "total_ios": (2, 1, 14),
               "iops_mean": (2, 99, 0), "iops_stddev": (2, 99, 0)}  # fmt: skip
    for key, since in dropped.items():
        if version < since:
            del side[key]
    if version < (2, 21, 0):
        side["io_bytes"] >>= 10
    if version < (2, 2, 6):
        side["iops"] = int(side["iops"])
    for kind in ("slat", "clat", "lat"):
        latency = side[f"{kind}_ns"]
        if version < (3, 18, 0) and kind == "lat":
            # There was one list of percentiles and bins, of clat where nobody asked otherwise.
            latency.pop("percentile", None)
            latency.pop("bins", None)
        if version < (3, 18, 0):
            latency.pop("N")
        if version < (3, 4, 0) and "percentile" in latency:
            latency["percentile"]["0.00"] = 0
        if version < (2, 99, 0):
            side[kind] = in_microseconds(side.pop(f"{kind}_ns"), kind, version)


def in_microseconds(latency: Document, kind: str, version: tuple[int, int, int]) -> Document:
    found = {key: latency[key] // 1000 for key in ("min", "max")}
    found |= {key: latency[key] / 1000 for key in ("mean", "stddev")}
    if kind == "clat" and "percentile" in latency:
        found["percentile"] = {key: ns // 1000 for key, ns in latency["percentile"].items()}
    if kind == "clat" and "bins" in latency and version >= (2, 2, 12):
        bins: dict[str, int] = {}
        for ns, count in latency["bins"].items():
            value = number_of_bin(int(ns) // 1000)
            key = str(value if version < (2, 20, 0) else int(middle(value, 6)))
            bins[key] = bins.get(key, 0) + count
        if version < (2, 20, 0):
            bins |= {"FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64, "FIO_IO_U_PLAT_NR": 1216}
        found["bins"] = bins
    return found


@pytest.mark.parametrize("name", ["plus", "plain", "unlike"])
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: ".".join(map(str, version)))
def test_figures_are_those_of_the_newest_version_or_named(
    tmp_path: Path, name: str, version: tuple[int, int, int]
) -> None:
    newest = imported(tmp_path, sample(name))
    found = imported(tmp_path, of_version(sample(name), version))
    said = " ".join(found.warnings)
    row, old = newest.cells.rows[0], found.cells.rows[0]
    # IOPS in whole numbers, before requests were counted.
    share = 1e-3 if version >= (2, 1, 14) else 2 / min(
        one for one in (row.read_iops, row.write_iops) if one)  # fmt: skip
    assert old.iops == pytest.approx(row.iops, rel=share)
    assert old.mb_s == pytest.approx(row.mb_s, rel=1e-3)
    assert old.block_bytes == row.block_bytes
    assert old.lat_us_mean == pytest.approx(row.lat_us_mean, rel=share)
    assert old.lat_us_max == pytest.approx(row.lat_us_max, abs=1)
    assert ("does not count requests" in said) == (version < (2, 1, 14))
    # What options name is known, or said to be unknown.
    if version < (2, 3, 0):
        assert "wrote no options here" in said
        assert {"pattern", "threads"} <= set(found.header.imported.unknown)
        assert found.header.threads is None
    else:
        assert (found.header.threads, found.header.queue_depth) == (
            newest.header.threads if name != "unlike" or version >= (3, 8, 0) else 1,
            newest.header.queue_depth,
        )
        assert labels(found) == labels(newest)
        assert bool(found.header.imported.uncertain) == (name == "unlike")
    before, after = cells(newest), cells(found)
    for key, value in before.items():
        place = next((one for one in after if one.partition("[")[0] == key.partition("[")[0]), None)
        if place is None:
            # Before 3.18 one of the two kinds was kept, and before 2.2.12 there were no bins.
            is_apart = "given separately" in said and "clat" in key
            assert is_apart or (version < (3, 18, 0) and not key.startswith("clat")), key
        elif key.startswith(("p", "clat_p")):
            assert after[place] == pytest.approx(value, rel=0.02, abs=2e-3), key
        else:
            assert after[place] == pytest.approx(value, rel=share), key


def test_percentiles_of_lat_stood_under_clat_until_3_12(tmp_path: Path) -> None:
    """The one list of percentiles was written under `clat_ns`, whatever it was of."""
    document = of_version(sample("plain"), (3, 7, 0))
    document["jobs"][0]["job options"]["lat_percentiles"] = "1"
    found = cells(imported(tmp_path, document))
    assert (
        found["p50[16, 100/0]"] == cells(imported(tmp_path, sample("plain")))["clat_p50[16, 100/0]"]
    )
    assert not any(key.startswith("clat") for key in found)


def test_a_report_has_the_percentiles_of_an_import(tmp_path: Path) -> None:
    """The command printed them, the page left them out; they stand in it once."""
    (chapter,) = of_document(imported(tmp_path, sample("plain"))).chapters
    titles = [item.title for section in chapter.sections for item in section.items]
    assert len([one for one in titles if one.startswith("Percentiles of completion latency")]) == 1


def test_percentiles_without_a_table_are_named(tmp_path: Path) -> None:
    """Of `percentile_list=50:95:99.5:99.99` the median was left, and not a word of the others."""
    document = sample("plain")
    clat = document["jobs"][0]["read"]["clat_ns"]
    assert not any("without a table" in it for it in imported(tmp_path, document).warnings)
    clat["percentile"] = {f"{place:.6f}": 10**5 for place in (0, 1, 10, 50, 90, 95, 99, 99.5)}
    document["jobs"].append(copy.deepcopy(document["jobs"][0]))
    document["jobs"][1] |= {"groupid": 1}
    document["jobs"][1]["job options"]["bs"] = "32k"
    for key in ("io_bytes", "bw_bytes", "bw"):
        document["jobs"][1]["read"][key] *= 2
    said = "percentiles without a table are left out: p90, p95, p99.5, 2 below p90"
    assert imported(tmp_path, document).warnings.count(said) == 1


def test_a_percentile_is_missing_for_the_reason_that_is_said(tmp_path: Path) -> None:
    """Any that was not there had "fewer than ten of these requests" beyond it."""
    document = sample("plain")
    (reads,) = document["jobs"]
    both = copy.deepcopy(reads)
    both |= {"jobname": "both", "groupid": 1, "write": copy.deepcopy(reads["read"])}
    both["job options"] |= {"rw": "randrw", "iodepth": "8"}
    document["jobs"].append(both)
    shown = {one.id: one for one in of_tails(imported(tmp_path, document))}
    # Of reads and writes together there is none; 41 of 4,192 requests took longer than 99 %.
    table = shown["clat_percentiles"]
    assert [row[0] for row in table.rows] == ["16 KiB 50/50", "16 KiB 100/0"]
    assert (table.rows[0][2:], table.note) == ((None, None), f"n/a: {UNSTATED}.")
    # Those of reads alone are the ones of all requests of their cell.
    table = shown["clat_percentiles_read"]
    assert [row[0] for row in table.rows] == ["16 KiB 50/50"]
    assert len(table.rows[0]) == 2 + 2
    assert not table.note
    # A cell of another size and mix makes no rows of what nobody measured.
    reads["job options"]["bs"] = "32k"
    for key in ("io_bytes", "bw_bytes", "bw"):
        reads["read"][key] *= 2
    shown = {one.id: one for one in of_tails(imported(tmp_path, document))}
    assert [row[0] for row in shown["clat_percentiles"].rows] == ["16 KiB 50/50", "32 KiB 100/0"]
    # Of 900 requests nine took longer than 99 %.
    scaled = 900 / reads["read"]["total_ios"]
    for key in ("io_bytes", "bw_bytes", "bw", "iops", "total_ios"):
        reads["read"][key] = int(reads["read"][key] * scaled)
    reads["read"]["lat_ns"]["N"] = reads["read"]["clat_ns"]["N"] = reads["read"]["total_ios"]
    document["jobs"][1] = sample("plain")["jobs"][0] | {"groupid": 1}
    (table,) = of_tails(imported(tmp_path, document))
    assert (table.rows[1][3], table.note) == (None, MISSING)
    # Of the third cell nobody states it.
    document["jobs"].append(both)
    (table, *_) = of_tails(imported(tmp_path, document))
    assert table.note == f"n/a: {UNSTATED}; or {MISSING.removeprefix('n/a: ')}"


def test_the_unit_follows_from_the_figures_where_the_version_is_odd(tmp_path: Path) -> None:
    """A build from source is called `fio-master`, or by the last tag."""
    old = one_job()
    for version in ("fio-master", "fio-3.1"):
        found = imported(tmp_path, {**old, "fio version": version})
        assert cells(found)["mb_s[4, 100/0]"] == pytest.approx(4.194, abs=1e-3)
        assert "`io_bytes` is in KiB, by its bw and runtime" in " ".join(found.warnings)
    old["jobs"][0]["read"]["bw"] = 77777
    found = imported(tmp_path, old)
    (doubt,) = found.header.imported.uncertain
    assert doubt.reasons == ["io_bytes is 4.194e+07 B, bw x runtime 7.964e+08 B"]
    with pytest.raises(ResultError, match=r"may be bytes or KiB: the version of fio is unknown"):
        imported(tmp_path, {**old, "fio version": "fio-master"})


def test_an_output_of_2_1_is_in_kib_and_microseconds(tmp_path: Path) -> None:
    """`io_bytes 40960, bw 4096` were 4096 bytes a second of reads of 4 KiB, 1 IOPS."""
    found = imported(tmp_path, one_job())
    (row,) = found.cells.rows
    assert (row.iops, row.mb_s, row.block_bytes, row.rw_pct) == (1024, 4.194304, 4096, 100)
    assert (row.lat_us_mean, row.lat_us_max, row.label) == (976, 2000, "4 KiB 100/0, L 0.999")
    assert (row.threads, row.queue_depth) == (None, None)
    taken = imported(tmp_path, one_job(), Wanted(pattern="sequential", threads=2, queue_depth=4))
    assert (taken.test, taken.header.threads, taken.header.queue_depth) == ("throughput", 2, 4)


def test_whole_iops_leave_a_range_of_sizes(tmp_path: Path) -> None:
    """A real output of 2.1.4 came in with requests of 513.5 KiB: it counts no requests."""
    document = one_job()
    side = document["jobs"][0]["read"]
    side |= {"io_bytes": 5190000, "bw": 130000, "iops": 253, "runtime": 40000}
    side["lat"]["mean"] = 1500.0
    del side["total_ios"]
    found = imported(tmp_path, document)
    assert labels(found) == {"512 KiB 100/0"}
    assert any("a request has 523087 to 525154 B, filed under 512 KiB" in it
               for it in found.warnings)  # fmt: skip
    side |= {"io_bytes": 6000000, "bw": 150000}
    assert labels(imported(tmp_path, document)) == {"593 KiB 100/0"}


def test_what_neither_figures_nor_options_tell_is_as_the_user_says(tmp_path: Path) -> None:
    """Two depths of one size: the figures tell which is which."""
    document = one_job()
    deep = copy.deepcopy(document["jobs"][0])
    deep |= {"jobname": "deep", "groupid": 1}
    deep["read"]["lat"] |= {"mean": 62464.0, "max": 90000}
    document["jobs"].append(deep)
    with pytest.raises(ResultError, match="4 KiB 100/0 is given twice"):
        imported(tmp_path, document)
    for depth, mean in ((1, 976), (64, 62464)):
        found = imported(tmp_path, document, Wanted(threads=1, queue_depth=depth))
        (row,) = found.cells.rows
        assert (row.queue_depth, row.lat_us_mean) == (depth, mean)
        assert any("L = " in it and it.startswith("refused: ") for it in found.warnings)
    server = {"fio version": "fio-2.6", "global options": {"unified_rw_reporting": "1"},
              "client_stats": [{"jobname": "All clients", "error": 0, "hostname": "h",
                                "mixed": deep["read"]}]}  # fmt: skip
    with pytest.raises(ResultError, match="neither options nor figures show its mix"):
        imported(tmp_path, server)


# -- cells ---------------------------------------------------------------------------------------


def test_unlike_sections_of_a_group_are_uncertain(tmp_path: Path) -> None:
    """Options of the last job stood next to figures of all: reads and writes became 0/100."""
    found = imported(tmp_path, sample("unlike"))
    (doubt,) = found.header.imported.uncertain
    assert (doubt.row, doubt.column) == ("4", "47.4/52.6")
    assert re.search(r"\d+ reads where rw is randwrite", doubt.reasons[0])
    assert doubt.reasons[1] == "run times are those of 2 processes, the options name 1"
    (row,) = found.cells.rows
    assert (row.threads, row.label) == (2, "RND 4 KiB 47.4/52.6, L 1.98, uncertain")
    assert row.ios == row.read_iops * row.seconds + row.write_iops * row.seconds
    told = [text for text in found.warnings if text.startswith("uncertain: 4 KiB 47.4/52.6: ")]
    assert len(told) == 1


def varied(change: Callable[[Document], None], name: str = "plain") -> Document:
    document = sample(name)
    change(document["jobs"][0])
    return document


def options(**changes: str) -> Callable[[Document], None]:
    return lambda job: job["job options"].update(changes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (options(bs="4k"), "a read has 16384 B on average, bs is 4096 B"),
        (options(rw="randwrite"), "reads where rw is randwrite"),
        (options(rw="randrw"), "100.0 % of the requests are reads, the options name 50 %"),
        (options(numjobs="4"), "run times are those of 1 process, the options name 4"),
        (options(iodepth="2"), "more than the 2 of the label: there were more processes, or deep"),
        (options(iodepth="32"), "requests in flight of 32: the queue was not full"),
        (options(bssplit="4k/60:16k/40"), "requests have 4096 to 16384 B: filed under their mean"),
        (options(bsrange="1k-4k"), "a read has 16384 B on average, sizes are 1024 to 4096 B"),
        (lambda job: job.update(job_runtime=800), "run times are those of 4 processes"),
        (options(direct="0"), "direct is not set: the page cache of the host takes part"),
        (options(rate_iops="1000,"), "rate_iops is 1000,: the rate is the one that was asked for"),
        # An edited rate came in as it was.
        (lambda job: job["read"].update(iops=99.0), "iops is 99, that of 2096 requests in"),
        # The mean of a mix was weighted by it: of 75 µs became 210.
        (lambda job: job["read"]["lat_ns"].update(N=10**9), "1000000000 response times of 2096"),
    ],
)
def test_a_cell_that_is_not_as_its_options_say_is_uncertain(
    tmp_path: Path, change: Callable[[Document], None], said: str
) -> None:
    (doubt,) = imported(tmp_path, varied(change)).header.imported.uncertain
    assert any(said in reason for reason in doubt.reasons), doubt.reasons


def test_a_cell_as_its_options_say_is_not_uncertain(tmp_path: Path) -> None:
    for name in ("plain", "plus", "mixed"):
        assert imported(tmp_path, sample(name)).header.imported.uncertain is None


def test_a_synchronous_engine_has_a_queue_of_one(tmp_path: Path) -> None:
    """A calibration against `psync, iodepth=16` was 644 % off, where the model was 20 % off."""
    document = varied(options(iodepth="16", ioengine="psync"))
    job = document["jobs"][0]
    job["iodepth_level"] = dict.fromkeys(job["iodepth_level"], 0.0) | {"1": 100.0}
    job["read"]["lat_ns"]["mean"] = 0.99e9 / job["read"]["iops"]
    found = imported(tmp_path, document)
    assert found.header.queue_depth == 1
    assert found.header.imported.uncertain is None
    assert any("iodepth is 16, and each request was the only one" in it for it in found.warnings)


def test_percentiles_of_processes_apart_are_joined_by_bins_or_left_out(tmp_path: Path) -> None:
    """Of each process they are stated; the joined ones of plain JSON vanished without a word."""
    for name in ("plain", "plus"):
        document = sample(name)
        (job,) = document["jobs"]
        job |= {"job_runtime": round(job["job_runtime"] / 2) if name == "plus" else 200}
        document["jobs"] = [job, copy.deepcopy(job)]
        found = imported(tmp_path, document)
        said = " ".join(found.warnings)
        assert ("those of several processes cannot be joined" in said) == (name == "plain")
        assert any("p99[" in key for key in cells(found)) == (name == "plus")


def test_a_job_that_failed_leaves_the_others(tmp_path: Path) -> None:
    document = sample("plain")
    failed, idle = copy.deepcopy(document["jobs"][0]), copy.deepcopy(document["jobs"][0])
    failed |= {"jobname": "bad", "error": 28}
    idle["jobname"] = "idle"
    idle["read"] |= {"total_ios": 0, "io_bytes": 0, "runtime": 0}
    document["jobs"] += [failed, idle]
    found = imported(tmp_path, document)
    assert labels(found) == {"16 KiB 100/0"}
    said = " ".join(found.warnings)
    assert "refused: run.json: job `bad`: ended with an error (28)" in said
    assert "refused: run.json: job `idle`: completed no request" in said


def test_reads_and_writes_that_fio_joins(tmp_path: Path) -> None:
    document = sample("plus")
    job = document["jobs"][0]
    both, read = copy.deepcopy(document), job["read"]
    # Next to the others (=both): not added to them.
    both["jobs"][0]["mixed"] = copy.deepcopy(read)
    assert cells(imported(tmp_path, both)) == cells(imported(tmp_path, sample("plus")))
    for name in ("write", "trim"):
        del job[name]
    job["mixed"] = job.pop("read")
    found = imported(tmp_path, document)
    assert cells(found)["iops[4, 65/35]"] == pytest.approx(read["iops"], rel=1e-2)
    assert "not distinguished" in " ".join(found.warnings)
    assert not found.cells.rows


# -- texts ---------------------------------------------------------------------------------------


def test_text_around_documents_is_passed_over_and_told(tmp_path: Path) -> None:
    text = "fio: a warning\n{not JSON}\n" + json.dumps(sample("plain"), indent=1) + "\nDone.\n"
    found = imported(tmp_path, text)
    assert cells(found) == cells(imported(tmp_path, sample("plain")))
    assert "run.json: other text is skipped: `fio: a warning` and 2 lines more" in found.warnings


def test_an_output_that_breaks_off_is_refused_with_the_byte(tmp_path: Path) -> None:
    whole = json.dumps(sample("plain"), indent=1)
    text = f"µ\n{whole}\n{whole[:700]}"
    start, end = len(f"µ\n{whole}\n".encode()), len(text.encode())
    with pytest.raises(ResultError) as caught:
        imported(tmp_path, text)
    said = str(caught.value)
    flaw = f"breaks off or is damaged at byte {end} of {end}"
    assert f"the value that begins at byte {start} {flaw}" in said
    assert "`pts import --allow-cut` takes the 1 whole document before it" in said
    found = imported(tmp_path, text, Wanted(allow_cut=True))
    assert cells(found) == cells(imported(tmp_path, sample("plain")))
    assert any("the last document breaks off" in it for it in found.warnings)
    with pytest.raises(ResultError, match="incomplete JSON"):
        imported(tmp_path, whole[:700], Wanted(allow_cut=True))


def test_a_key_with_two_values_is_refused_with_its_place(tmp_path: Path) -> None:
    """The last of them counted, whatever another reader takes."""
    whole = json.dumps(sample("plain"), indent=1)
    ios = re.search(r'"total_ios": \d+,', whole)
    assert ios is not None
    text = whole.replace(ios[0], f'{ios[0]} "total_ios": 7,', 1)
    at = text.index('"total_ios": 7')
    with pytest.raises(ResultError, match=rf"damaged at byte {at} of .*key `total_ios` is given t"):
        imported(tmp_path, text)
    # Options are texts, of which fio takes the last, and equal figures do no harm.
    same = whole.replace(ios[0], f"{ios[0]} {ios[0]}", 1).replace('"bs"', '"bs": "1k", "bs"', 1)
    assert cells(imported(tmp_path, same)) == cells(imported(tmp_path, sample("plain")))


def test_damaged_outputs_are_refused_in_words(tmp_path: Path) -> None:
    """NaN, lists where numbers belong, numbers beyond all bounds: never a traceback."""
    draw = random.Random(1)  # noqa: S311 (nobody guesses it)
    odd = [None, True, "x", "\ud800", -1, 1e400, math.nan, 1 << 70, [], {}, 0, 10**30]
    outcomes = {True: 0, False: 0}
    for name in ("plus", "plain"):
        for _ in range(150):
            document = sample(name)
            place: Any = draw.choice([document, document["jobs"][0], document["jobs"][0]["read"]])
            while keys := list(place) if isinstance(place, dict) else list(range(len(place))):
                key = draw.choice(keys)
                if not isinstance(place[key], dict | list) or draw.random() < 0.1:
                    place[key] = draw.choice(odd)
                    break
                place = place[key]
            found, refusal = outcome(tmp_path / "run.json", document)
            outcomes[found is not None] += 1
            assert "accepted" in refusal or (
                found and all(math.isfinite(value) for value in cells(found).values())
            )
    assert min(outcomes.values()) > 30


def outcome(path: Path, document: object = None) -> tuple[PtsDocument | None, str]:
    """Return the document of an output, or why it is refused."""
    if document is not None:
        path.write_text(json.dumps(document))
    try:
        return import_files([path]), ""
    except ResultError as error:
        return None, str(error)


@pytest.mark.parametrize(
    "text",
    [
        "2;job;0;0;736;73600;18400;10;3;78;6.408663;7.880150;16;511;139.4\n",
        "job: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33\njob: (groupid=0, jobs=1): err= 0\n",
    ],
)
def test_other_formats_of_fio_are_refused_with_the_way_out(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        ResultError, match="text of fio, terse 2 or normal; accepted: what --output"
    ):
        imported(tmp_path, text)


# -- verbs ---------------------------------------------------------------------------------------


def test_verbs_open_outputs_of_fio_themselves(tmp_path: Path) -> None:
    for name in ("plus", "unlike"):
        shutil.copy(SAMPLES / f"{name}.json", tmp_path / f"{name}.json")
    again = sample("plus")
    for side in ("read", "write"):
        again["jobs"][0][side]["total_ios"] *= 2
        again["jobs"][0][side]["io_bytes"] *= 2
        again["jobs"][0][side]["bw_bytes"] *= 2
        again["jobs"][0][side]["lat_ns"]["mean"] /= 2
    (tmp_path / "twice.json").write_text(json.dumps(again))
    run = CliRunner()
    plus, twice, unlike = (str(tmp_path / f"{name}.json") for name in ("plus", "twice", "unlike"))
    done = run.invoke(app, ["compare", plus, twice, "--all", "--json"])
    assert done.exit_code == 0, done.output
    for name in ("p50", "p99", "clat_p50", "clat_p99"):
        assert f"{name}[4, 65/35]" in done.output
    page = tmp_path / "page.html"
    done = run.invoke(app, ["report", unlike, "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "reads where rw is randwrite" in page.read_text()
    asked = ["calibrate", "--device", "tlc_standard", "--to", unlike, "--requests", "10",
             "--blocks", "64", "--settle", "1"]  # fmt: skip
    refused = run.invoke(app, asked)
    assert refused.exit_code == 2
    assert "cell 4:47.4/52.6 is uncertain: " in refused.output
    forced = run.invoke(app, [*asked, "--force", "--json"])
    assert forced.exit_code == 0, forced.output
    assert any("is uncertain" in it for it in json.loads(forced.stdout)["warnings"])
