"""The small tests of `characterise`: access time, rate by position, burst, and the 67/33 mix."""

from __future__ import annotations

from typing import Any

import pytest

import pts_documents
from fake_target import FakeTarget
from opennandlab.documents.pts_results import MixResults, ScalabilityResults
from opennandlab.documents.pts_small import AccessTimeResults, BurstResults, PositionResults
from opennandlab.pts import TESTS, Settings, run_test
from opennandlab.pts.bench.time_base import TimeBase
from opennandlab.pts.tests.position import slices
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.pts import source, views, xsr
from opennandlab.targets.base import Stimulus
from opennandlab.targets.simulated import SimulatedTarget

MIB = 1 << 20


def document(test: str, target: FakeTarget, **changes: Any) -> Any:
    return run_test(TESTS[test], target, settings=Settings(**{"time_base": "smoke", **changes}))


def test_access_times_are_those_of_one_request_at_a_time():
    target = FakeTarget()
    found = document("access_time", target)
    results = found.results
    assert isinstance(results, AccessTimeResults)
    # The last two things that were asked of the drive.
    for (stimulus, _, _), read_pct in zip(target.asked[-2:], (100, 0), strict=True):
        assert (stimulus.threads, stimulus.queue_depth, stimulus.read_pct) == (1, 1, read_pct)
        assert (stimulus.pattern, stimulus.block_bytes) == ("random", 4096)
    # 50 µs of the page and 5 of the request, within the noise of a seed.
    assert results.reads.lat_us_mean == pytest.approx(55, rel=0.01)
    assert results.writes.lat_us_mean > 2 * results.reads.lat_us_mean
    assert results.reads.count == 2000
    assert results.reads.lat_us_p999 is None  # two of 2000 requests are beyond
    assert results.reads.lat_us_max == pytest.approx(9.7 * results.reads.lat_us_mean, rel=0.02)
    assert [spread.id for spread in found.histograms] == ["reads", "writes"]


class Disc(FakeTarget):
    """Half as fast at the end of the range as at its start, like a disc."""

    def _service_us(self, stimulus: Stimulus, size: float, waf: float) -> float:
        place = stimulus.start_bytes / self.capacity_bytes
        return super()._service_us(stimulus, size, waf) * (1 + place)


def test_a_drive_that_is_slower_inside_is_seen_to_be():
    target, size = Disc(1 << 30), 16 * MIB
    results = document("position", target, time_base="scaled").results
    assert isinstance(results, PositionResults)
    assert len(results.slices) == 64
    assert results.slice_bytes == size
    assert [one.start_bytes for one in results.slices] == [place * size for place in range(64)]
    first, last = results.slices[0], results.slices[-1]
    assert last.read_mb_s / first.read_mb_s == pytest.approx(1 / (1 + 63 / 64), rel=0.02)
    assert results.read_mb_s_min == last.read_mb_s
    assert results.read_mb_s_max == first.read_mb_s
    # All of each slice, once; less of it in a smoke, which says so. What is under way at the limit,
    # all requests but the one that reaches it, is carried out too and belongs to the slice.
    queued = target.asked[-1][0].outstanding
    counted = size - (queued - 1) * (128 << 10)
    swept = [(stimulus, limit) for stimulus, limit, _ in target.asked if limit.bytes == counted]
    assert [stimulus.read_pct for stimulus, _ in swept[-256:]] == [
        *[0] * 64, *[100] * 64, *[100] * 64, *[0] * 64,
    ]  # fmt: skip
    # Between them the whole range is written at random.
    (scatter,) = [
        limit.bytes for stimulus, limit, _ in target.asked if stimulus.pattern == "random"
    ]
    assert scatter == 64 * size
    assert results.scattered_read_mb_s_mean == pytest.approx(results.read_mb_s_mean, rel=0.01)
    short = document("position", FakeTarget(8 << 30))
    assert "slices: the first 0.0625 of each (standard: all of each)" in short.header.deviations
    assert "random writes: 0.0625 of the range (standard: all of it)" in short.header.deviations


def test_one_slice_says_nothing_of_position():
    """A drive with room for one slice printed it as slowest, fastest, first and last."""
    small = {"nand.channels": 2, "nand.dies_per_channel": 2, "nand.blocks_per_plane": 32}
    for pages, is_one in ((32, True), (256, False)):
        drive = SimulatedTarget("tlc_standard", {**small, "nand.pages_per_block": pages})
        found = run_test(TESTS["position"], drive, settings=Settings(time_base="scaled"))
        assert isinstance(found.results, PositionResults)
        assert (len(found.results.slices) == 1) is is_one
        assert any("one slice only" in text for text in found.warnings) is is_one


def test_a_slice_ends_where_the_next_one_begins():
    """On a small drive, writes along a freshly filled drive fell from 92.9 to 21.7 MB/s.

    The requests in progress at the end of a slice were written into the next one, which wrote the
    same places again: no longer in order, so collections moved live data. Flash without page types
    has one rate along a drive that is written in order.
    """
    drive = SimulatedTarget("tlc_standard", {"nand.blocks_per_plane": 32})
    found = run_test(TESTS["position"], drive, settings=Settings(time_base="scaled"))
    results = found.results
    assert isinstance(results, PositionResults)
    assert results.write_mb_s_max / results.write_mb_s_min < 1.01
    assert results.read_mb_s_max / results.read_mb_s_min < 1.01
    # Measured are whole rows of blocks: 16 dies of 2 planes, and 256 pages of 4 KiB.
    row = 16 * 2 * 256 * 4096
    swept = [cell for cell in found.cells.rows if str(cell.label).startswith("writes at ")]
    assert {cell.ios * (128 << 10) for cell in swept} == {row}
    # All slices together write the range once.
    assert [cell.waf for cell in swept] == [pytest.approx(1.0)] * len(swept)
    ends = [cell.written_bytes for cell in swept]
    assert ends[-1] - ends[0] == (len(swept) - 1) * results.slice_bytes


def test_slices_hold_whole_requests_within_the_range():
    for size in (200_000, MIB, 13_107_200, 8 << 30):
        count, each = slices(size)
        assert 1 <= count <= 64
        assert each % (128 << 10) == 0
        assert count * each <= max(size, 128 << 10)


def test_a_burst_is_what_comes_before_the_fall():
    found = document("burst", FakeTarget(), time_base="scaled")
    results = found.results
    assert isinstance(results, BurstResults)
    random, sequential = results.loads
    # Write amplification 1 at first and 4 at last: 65 µs a request against 245.
    assert random.ratio == pytest.approx(245 / 65, rel=0.05)
    assert random.ratio == pytest.approx(random.burst_mb_s / random.sustained_mb_s)
    assert random.burst_of_bytes == pytest.approx(0.01 * 64 * MIB, rel=0.02)
    # Half-way between the two rates amplification is 1.6, at d = ln(1 / (1 - 0.2)) / 2 from the end
    # of what the rest had freed: a twentieth of the capacity.
    assert 0.05 < random.volume_drive_fills < 0.4
    # The drive of formulas writes sequentially at one rate.
    assert sequential.ratio == pytest.approx(1, abs=0.02)
    assert sequential.volume_bytes is None
    assert [entry.group for entry in found.steady_state] == ["RND 4 KiB 0/100", "SEQ 128 KiB 0/100"]
    assert "burst: 0.01 drive fills (standard: 1 s)" in found.header.deviations
    assert TimeBase("full", is_virtual=True, capacity_bytes=1 << 30).burst().seconds == 1


def test_a_sequential_rate_is_sustained_only_once_the_drive_collects():
    small = {
        "nand.channels": 1,
        "nand.dies_per_channel": 2,
        "nand.blocks_per_plane": 1024,
        "nand.pages_per_block": 64,
    }
    drive = SimulatedTarget("tlc_standard", small)
    found = run_test(TESTS["burst"], drive, settings=Settings(time_base="scaled"))
    random, sequential = found.steady_state
    assert random.collection == sequential.collection == "seen"
    # The first round fills the drive, without a collection.
    assert sequential.window[0] >= 2
    assert not any("did not collect" in text for text in found.warnings)


def test_the_mix_of_database_servers_stands_beside_the_five():
    target = FakeTarget()
    found = document("rw_ratio", target)
    assert isinstance(found.results, MixResults)
    asked = [(stimulus.read_pct, stimulus.block_bytes) for stimulus, _, _ in target.asked[-2:]]
    assert asked == [(67, 4096), (67, 8192)]
    table = next(one for one in found.tables if one.id == "database")
    assert table.rows == ["4", "8"]
    assert [row[0] for row in table.values] == [
        found.results.iops_rnd_4kib_67_33, found.results.iops_rnd_8kib_67_33,
    ]  # fmt: skip
    assert found.results.read_pct == [100, 75, 50, 25, 0]


def test_whole_drives_are_a_line_from_the_drive_that_was_measured():
    found = document("scalability", FakeTarget())
    assert isinstance(found.results, ScalabilityResults)
    shown = views.chapter(pts_documents.plain(found), "scalability")
    plot = next(item for item in shown.items if item.id == "units-iops")
    assert isinstance(plot, Plot)
    measured, drives, ideal = plot.series
    last = found.results.steps[-1]
    assert list(drives.x) == [last.dies * count for count in (1, 2, 4, 8)]
    assert list(drives.y) == [last.rms_iops * count for count in (1, 2, 4, 8)]
    assert measured.y[-1] == drives.y[0]
    assert ideal.y[0] == measured.y[0]


def test_the_line_without_history_is_the_beginning_of_group_1():
    found = source.read(pts_documents.MAKERS["xsr"](), "xsr", [])
    cells = [cell for cell in found.cells if cell.label.startswith("group 1")]
    first = cells[: max(1, len(cells) // 8)]
    expected = sum(cell.mb_s for cell in first) / len(first)
    assert xsr.without_history(found) == pytest.approx(expected)
    shown = views.chapter_of(found)
    plot = next(item for item in shown.items if item.id == "tp-all")
    assert isinstance(plot, Plot)
    assert any(mark.text.startswith("without history") for mark in plot.marks)
    assert xsr.link_mb_s(found) is None


@pytest.mark.parametrize(
    ("link", "rate"),
    [({"mb_s": 600.0, "efficiency": 0.9}, 540.0), ({"mb_s": 600.0}, 600.0), ("sata3", None)],
)
def test_the_link_is_what_the_device_file_states(link, rate):
    document = pts_documents.MAKERS["xsr"]()
    document["header"]["target"]["device"]["config"] = {"host": {"link": link}}
    assert xsr.link_mb_s(source.read(document, "xsr", [])) == rate
