"""How a request reached the drive: counters of the kernel, pauses, Little's law."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Measurement, Requests, Stimulus
from opennandlab.targets.fio import route
from opennandlab.targets.fio.route import Counts, Route, counts_of
from opennandlab.targets.fio.target import littles_law_error
from opennandlab.targets.simulated import SimulatedTarget

# 8 fields of Documentation/block/stat.rst, and those that later kernels have behind them.
STAT = "  100 7 800 5 200 9 1600 6 0 10 11 3 0 24 2 0 0\n"


def measured(ios: int, seconds: float, mean_ns: int, cpu_pct: float = 50.0) -> Measurement:
    done = Requests(ios, ios * 4096, Histogram.of_bins([(mean_ns, ios)]))
    nothing = Requests(0, 0, Histogram.empty())
    inside = {"cpu_pct": cpu_pct}
    return Measurement(seconds, seconds, done, nothing, 0, inside=inside)


def test_counters_of_the_kernel_are_read_by_number(tmp_path):
    place = tmp_path / "8:1"
    place.mkdir()
    (place / "stat").write_text(STAT)
    assert counts_of(0x801, tmp_path) == Counts(requests=300, joined=16)
    assert counts_of(0x802, tmp_path) is None
    for damaged in ("", "1 2", "a b c d e f"):
        (place / "stat").write_text(damaged)
        assert counts_of(0x801, tmp_path) is None


def test_requests_at_the_device_over_those_asked_for(monkeypatch):
    seen = iter([Counts(1000, 10), Counts(1250, 30), Counts(2000, 30), Counts(2050, 30)])
    monkeypatch.setattr(route, "counts_of", lambda _: next(seen))
    way = Route(device=1)
    for requests in (500, 100):
        way.begin()
        way.end(measured(requests, 1.0, 1000), requests=requests)
    facts = way.facts("fio 3.33, io_uring", "file on ext4", ["a note"])
    assert (facts.requests_asked, facts.requests_seen, facts.requests_joined) == (600, 300, 20)
    assert facts.cpu_pct == pytest.approx(50)
    # Two stimuli of a second each that took no time at all.
    assert facts.pause_s == 0.0
    assert facts.notes[0] == "a note"


def test_without_counters_nothing_is_claimed():
    way = Route(device=None)
    way.begin()
    way.end(measured(5, 1.0, 1000), requests=5)
    facts = way.facts("fio", "nbd", [])
    assert (facts.requests_asked, facts.requests_seen, facts.requests_joined) == (None, None, None)


def test_littles_law_of_a_closed_loop():
    # 8 outstanding, 1 ms each: 8000 a second.
    full = Stimulus(threads=2, queue_depth=4)
    assert littles_law_error(measured(8000, 1.0, 1_000_000), full) == pytest.approx(0, abs=1e-9)
    assert littles_law_error(measured(6000, 1.0, 1_000_000), full) == pytest.approx(-0.25)
    assert littles_law_error(measured(0, 1.0, 1), full) is None
    assert littles_law_error(measured(8000, 1.0, 10), Stimulus(rate_per_s=8000.0)) is None
    beside = Stimulus(beside=(Stimulus(),))
    assert littles_law_error(measured(8000, 1.0, 10), beside) is None


def test_a_simulated_drive_tells_its_way():
    path = SimulatedTarget("mlc_enterprise_plp", {"nand.blocks_per_plane": 64}).host_path()
    assert path.engine == "simulated host"
    assert path.layer == "link sata3, at most 32 requests in the drive"
    assert any("TC x QD" in note for note in path.notes)


@pytest.mark.parametrize(
    ("seconds", "ios", "clock_s", "iops"),
    [(0.251, 21887, 0.001, 87200.0), (60.0, 21887, 0.001, 364.78), (0.003, 256, 0.001, 90000.0)],
)
def test_rates_have_the_digits_that_the_clock_supports(
    seconds: float, ios: int, clock_s: float, iops: float
) -> None:
    known = replace(measured(ios, seconds, 1000), inside={"clock_s": clock_s})
    assert known.iops == iops
    assert known.mb_s == pytest.approx(iops * 4.096e-3, rel=clock_s / seconds * 5)
    exact = replace(known, inside={})
    assert exact.iops == ios / seconds
    assert replace(known, reads=exact.writes).rate(0) == 0.0
