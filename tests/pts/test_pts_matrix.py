"""Block sizes and mixes of one's own: which cells, in which order, and what they are judged by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from fake_target import FakeTarget
from opennandlab.base.errors import ConfigError
from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, Settings, run, run_test
from opennandlab.pts.bench.matrix import Matrix, mixes, sizes
from opennandlab.pts.bench.plan import make_plan
from opennandlab.reports.pts import book
from opennandlab.reports.pts.command import command

KIB = 1024
SMOKE = {"time_base": "smoke", "ss_max_rounds": 5}


def document(test: str, **options: str) -> Any:
    return run_test(TESTS[test], FakeTarget(), settings=Settings(**SMOKE, options=options))


def cells(found: Any) -> list[tuple[float | None, float | None]]:
    rows = [
        dict(zip(found.cells.columns, row, strict=True)) for row in plain(found)["cells"]["rows"]
    ]
    return [(row["rw_pct"], row["block_bytes"]) for row in rows if row["round"] == 1]


def test_sizes_and_mixes_are_read_as_people_write_them():
    assert sizes("0.5k, 1m,4KiB,12288,3M") == (3 << 20, 1 << 20, 12288, 4096, 512)
    assert mixes("0,100, 70") == (100, 70, 0)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("block_sizes", "", "`` is not a block size"),
        ("block_sizes", "4k,", "`` is not a block size"),
        ("block_sizes", "4k,4096", "`4k` (4096 B) is named twice"),
        ("block_sizes", "100", "`100` is 100 B; accepted: 1 to 64 multiples of 512 B up to 16m"),
        ("block_sizes", "0", "`0` is 0 B"),
        ("block_sizes", "17m", "`17m` is 17825792 B"),
        ("block_sizes", "-4k", "`-4k` is not a block size"),
        ("block_sizes", "4k;8k", "`4k;8k` is not a block size"),
        ("block_sizes", ",".join(map(str, range(1000))), "1000 sizes are too many"),
        ("block_sizes", ",".join(f"{count}k" for count in range(1, 65)), "are 448 cells"),
        ("block_sizes", "4m", "4194304 B does not fit into the range that a thread may touch"),
        ("mixes", "101", "`101` is not a percentage of reads"),
        ("mixes", "70/30", "`70/30` is not a percentage of reads; accepted: 1 to 64 whole numbers"),
        ("mixes", "50,050", "`50` is named twice"),
        ("mixes", "0.5", "`0.5` is not a percentage of reads"),
    ],
)  # fmt: skip
def test_what_no_matrix_can_have_is_refused(key, value, words):
    target = FakeTarget(capacity_bytes=8 << 20)
    with pytest.raises(ConfigError) as refused:
        make_plan(TESTS["iops"], Settings(options={key: value}), target)
    assert refused.value.path == key
    assert words in str(refused.value)


def test_sizes_that_are_no_whole_sectors_of_the_target_are_refused():
    target = FakeTarget()
    target.sector_bytes = 4096
    for size in ("512", "6k"):
        with pytest.raises(ConfigError, match="multiples of 4096 B"):
            make_plan(TESTS["iops"], Settings(options={"block_sizes": size}), target)
    # Mixes alone leave out what the specification's sizes cannot be, as ever.
    found = run_test(TESTS["iops"], target, settings=Settings(**SMOKE, options={"mixes": "50"}))
    assert "no 0.5 KiB: the sectors have 4096 B" in found.header.deviations
    assert len(cells(found)) == 7


def test_the_order_of_the_cells_is_that_of_the_specification():
    found = document("iops", block_sizes="4k,128k,12k", mixes="0,100")
    assert cells(found) == [
        (read_pct, size * KIB) for read_pct in (100, 0) for size in (128, 12, 4)
    ]
    again = document("iops", block_sizes="128k,12k,4096", mixes="100,0")
    assert again.digest == found.digest
    assert found.header.options == {"block_sizes": "128k,12k,4k", "mixes": "100,0"}


def test_a_matrix_like_that_of_the_specification_is_that_of_the_specification():
    sizes_of = "0.5k,4k,8k,16k,32k,64k,128k,1m"
    found = document("iops", block_sizes=sizes_of, mixes="0,5,35,50,65,95,100")
    assert found.digest == document("iops").digest
    assert not found.header.options
    own = document("iops", block_sizes=sizes_of, mixes="50")
    assert own.header.options == {"mixes": "50"}


def test_the_nearest_cells_stand_in_for_those_that_are_tracked():
    found = document("iops", block_sizes="4k,16k", mixes="100,70,0")
    labels = [one.tracking.label for one in found.steady_state]
    assert labels == ["RND 4 KiB 0/100", "RND 16 KiB 70/30", "RND 16 KiB 100/0"]
    judged = [text for text in found.header.deviations if text.startswith("steady state judged")]
    lacking = "which the specification tracks, is not in the matrix"
    assert judged == [
        f"steady state judged by RND 16 KiB 70/30: RND 64 KiB 65/35, {lacking}",
        f"steady state judged by RND 16 KiB 100/0: RND 1024 KiB 100/0, {lacking}",
    ]
    assert found.header.conformance == "partial"
    assert found.header.deviations[1].startswith(
        "not the specification's matrix: block sizes 16k, 4k (standard: 1024k, 128k, "
    )


def test_one_cell_stands_in_for_all():
    found = document("iops", block_sizes="12k", mixes="30")
    assert [one.tracking.label for one in found.steady_state] == ["RND 12 KiB 30/70"]
    assert any("RND 4 KiB 0/100 and RND 64 KiB 65/35 and" in one for one in found.header.deviations)
    assert found.results.iops_rnd_4kib_write is None
    assert found.tables[0].rows == ["12"]
    assert Matrix((8 * KIB, 4 * KIB), (70, 0)).nearest(65, 64 * KIB) == (70, 8 * KIB)


def test_latency_keeps_the_response_times_of_what_stands_in():
    found = document("latency", block_sizes="16k,12k", mixes="100,20")
    assert [one.tracking.label for one in found.steady_state] == ["RND 12 KiB 20/80"]
    assert found.histograms[-1].title == "Response time, RND 12 KiB 20/80"
    assert found.results.art_ms_rnd_4kib_write is None


def test_throughput_has_sizes_of_its_own_and_no_mixes():
    found = document("throughput", block_sizes="96k,128k")
    assert [one.group for one in found.steady_state] == ["128 KiB", "96 KiB"]
    assert found.results.mb_s_seq_1024kib_write is None
    assert found.results.mb_s_seq_128kib_write > 0
    assert found.tables[0].rows == ["96", "128"]
    with pytest.raises(ConfigError, match="mixes: throughput has no such parameter"):
        document("throughput", mixes="50")


@pytest.mark.parametrize(
    ("test", "options"),
    [
        ("iops", {"block_sizes": "12k", "mixes": "50"}),
        ("iops", {"block_sizes": "4k", "mixes": "0"}),
        ("iops", {"block_sizes": "3m,1536", "mixes": ",".join(map(str, range(60)))}),
        ("latency", {"block_sizes": "12k,1m", "mixes": "100,30"}),
        ("throughput", {"block_sizes": "12k"}),
    ],
)
def test_every_matrix_has_a_page(test, options):
    found = document(test, **options)
    (chapter,) = book.of_document(found).chapters
    assert all(section.items for section in chapter.sections)
    assert any(badge.text == "not the specification's matrix" for badge in chapter.badges)
    names = [one.name for one in chapter.headlines]
    # The first says that a smoke is no result.
    assert 3 <= len(names) <= 7
    assert not any("random 4 KiB writes" in name for name in names)
    results = [section for section in chapter.sections if section.id == "results"]
    assert all(row[1] is not None for one in results for table in one.items for row in table.rows)


def test_the_command_of_a_matrix_gives_it_again(cli: Cli, folder: Path):
    own = ("--block-sizes", "4k,12k", "--mixes", "100,0")
    quick = ("--target", "sim:small.yaml", "--time-base", "smoke", "--ss-max-rounds", "5")
    assert cli("pts", "iops", *quick, *own, "--output", "out").returncode == 0
    first = json.loads((folder / "out/iops.json").read_text())
    assert first["header"]["options"] == {"block_sizes": "12k,4k", "mixes": "100,0"}
    assert cli("report", "out/iops.json", "--datasheet", "--html", "sheet.html").returncode == 0
    assert "matrix of its own" in (folder / "sheet.html").read_text()
    (measured,) = book.open_book([folder / "out/iops.json"]).measured
    assert command(measured).endswith("--ss-max-rounds 5 --block-sizes 12k,4k --mixes 100,0")
    again = cli("pts", "iops", *quick, *own, "--output", "out", "--resume", "--json")
    assert json.loads(again.stdout)["digest"] == first["digest"]
    varied = cli("pts", "iops", *quick, "--vary", "block-sizes=4k,12k", "--output", "both")
    assert varied.returncode == 0
    report = book.open_book([folder / "both"]).report
    overlay = {item.id: item for item in report.chapters[0].items}
    names = [row[:2] for row in overlay["delta-iops"].rows]
    assert names == [("4", "block-sizes 4k"), ("12", "block-sizes 12k")]
    assert overlay["by-value-1"].title.endswith("RND 4 KiB 0/100 and RND 12 KiB 0/100")
    assert overlay["tracked-1"].title == "Tracked variable"
    refused = cli("compare", "out/iops.json", "both/iops-block-sizes-4k.json")
    assert refused.returncode != 0
    assert "different options of the test" in refused.stderr


def test_python_takes_lists():
    small = {
        "nand.channels": 1, "nand.dies_per_channel": 1, "nand.planes_per_die": 1,
        "nand.blocks_per_plane": 64, "nand.pages_per_block": 64,
    }  # fmt: skip
    found = run(
        "iops", "sim:tlc_standard", changes=small, block_sizes=[8192, "4k"], mixes=[100, 0], **SMOKE
    )
    assert found.frame("iops").shape == (2, 2)
