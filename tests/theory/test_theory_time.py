"""Queues, closed loops and bandwidth: exact values, limits, and agreement between formulas.

Percentiles of M/D/1 and the closed-loop values were computed by another program; the bandwidth of
the 2009 device follows from the conditions on the SNIA slides.
"""

from __future__ import annotations

import itertools
import math

import pytest

from opennandlab.theory import (
    LINK_MB_S,
    TUTORIAL_DIES,
    DeterministicQueue,
    FlashChannel,
    SharedChannel,
    busy_dies,
    exponential_busy_dies,
    independent_dies,
    little_error,
    partition_count,
    serial_read_ns,
    striped_program_ns,
    striped_read_ns,
)

FOUR_DIGITS = 6e-4


@pytest.mark.parametrize(
    ("load", "mean", "quantiles"),
    [
        (0.3, 72.86, {0.9: 110.3, 0.99: 173.5, 0.999: 241.4}),
        (0.6, 105.0, {0.5: 82.31, 0.9: 185.9, 0.99: 331.8, 0.999: 477.6}),
        (0.8, 180.0, {0.5: 136.6, 0.9: 360.7, 0.99: 681.4, 0.999: 1002.0}),
    ],
)
def test_one_die_values(load: float, mean: float, quantiles: dict[float, float]) -> None:
    queue = DeterministicQueue(60.0, load)
    assert queue.response_us_mean == pytest.approx(mean, rel=FOUR_DIGITS)
    for probability, expected in quantiles.items():
        value = queue.response_us_quantile(probability)
        assert value == pytest.approx(expected, rel=FOUR_DIGITS)


def test_waiting_distribution_is_one() -> None:
    queue = DeterministicQueue(1.0, 0.9)
    assert queue.waiting_probability(0.0) == pytest.approx(0.1)
    values = [queue.waiting_probability(step / 4) for step in range(200)]
    assert all(a < b for a, b in itertools.pairwise(values))
    assert queue.waiting_probability(200.0) == pytest.approx(1.0, abs=1e-12)
    # Cancellation would show here: the largest term exceeds the answer 10^40 times.
    assert 0.0 < 1.0 - queue.waiting_probability(100.0) < 1e-8


def test_mean_is_the_integral_of_the_distribution() -> None:
    queue = DeterministicQueue(1.0, 0.7)
    step = 0.02
    # Trapezoids, kinks of the density only at whole numbers, which are nodes.
    tail = [1.0 - queue.waiting_probability(place * step) for place in range(2001)]
    waiting = step * (math.fsum(tail) - 0.5 * tail[0])
    assert 1.0 + waiting == pytest.approx(queue.response_us_mean, rel=1e-4)


def test_quantile_inverts() -> None:
    queue = DeterministicQueue(60.0, 0.8)
    for probability in (0.3, 0.5, 0.9, 0.9999, 0.999999):
        response = queue.response_us_quantile(probability)
        assert queue.waiting_probability(response - 60.0) == pytest.approx(probability, rel=1e-9)
    assert queue.response_us_quantile(0.19) == 60.0


def test_queue_refuses_overload() -> None:
    with pytest.raises(ValueError, match="load is 1"):
        DeterministicQueue(60.0, 1.0)
    with pytest.raises(ValueError, match="load"):
        independent_dies(200_000, 8, 60.0)
    with pytest.raises(ValueError, match="4000 service times"):
        DeterministicQueue(1.0, 0.5).waiting_probability(5000.0)
    assert independent_dies(80_000, 8, 60.0).response_us_mean == pytest.approx(105.0)


@pytest.mark.parametrize(("depth", "expected"), [(1, 1.0), (2, 1.875), (8, 4.947), (32, 7.133)])
def test_eight_dies_closed_loop(depth: int, expected: float) -> None:
    assert busy_dies(8, depth) == pytest.approx(expected, rel=FOUR_DIGITS)


@pytest.mark.parametrize(("depth", "expected"), [(2, 1.778), (8, 4.267), (32, 6.564)])
def test_eight_dies_closed_loop_exponential(depth: int, expected: float) -> None:
    assert exponential_busy_dies(8, depth) == pytest.approx(expected, rel=FOUR_DIGITS)


def test_closed_loop_special_cases() -> None:
    for dies in (1, 2, 3, 7, 16):
        assert busy_dies(dies, 1) == pytest.approx(1.0)
        assert busy_dies(dies, 2) == pytest.approx(2.0 - 1.0 / dies)
    for depth in (1, 2, 5, 20, 64):
        assert busy_dies(2, depth) == pytest.approx(2.0 - 1.0 / depth)


def test_closed_loop_orders() -> None:
    for dies in (3, 5):
        values = [busy_dies(dies, depth) for depth in range(1, 30)]
        assert all(a < b < dies for a, b in itertools.pairwise(values))
        for depth, value in enumerate(values[1:], 2):
            assert value > exponential_busy_dies(dies, depth)


def test_closed_loop_refuses_what_it_cannot_solve() -> None:
    assert partition_count(64, 16) > 1_000_000
    with pytest.raises(ValueError, match="1031391 states"):
        busy_dies(16, 64)
    with pytest.raises(ValueError, match="dies is 0"):
        busy_dies(0, 1)


def test_partitions() -> None:
    # Euler: 5 = 5 = 41 = 32 = 311 = 221 = 2111 = 11111.
    assert [partition_count(5, parts) for parts in (1, 2, 3, 5, 9)] == [1, 3, 5, 7, 7]
    assert partition_count(0, 3) == 1


def test_shared_channel() -> None:
    channel = SharedChannel(8, 50.0, 10.0)
    assert channel.kiops(1) == pytest.approx(16.667, rel=FOUR_DIGITS)
    # Simulated apart: 30.69.
    assert channel.kiops(2) == pytest.approx(30.69, rel=FOUR_DIGITS)
    assert channel.kiops_limit == pytest.approx(100.0)
    assert SharedChannel(2, 50.0, 10.0).kiops_limit == pytest.approx(2e3 / 60.0)
    # One die: two requests are served one after the other.
    assert SharedChannel(1, 50.0, 10.0).kiops(2) == pytest.approx(1e3 / 60.0)
    # A transfer that takes no time: the chain of dies with own channels.
    free = SharedChannel(8, 50.0, 1e-9).kiops(2)
    assert free == pytest.approx(1e3 * busy_dies(8, 2) / 50.0, rel=1e-6)
    with pytest.raises(ValueError, match="queue_depth is 3"):
        channel.kiops(3)
    with pytest.raises(ValueError, match="no closed form"):
        SharedChannel(8, 5.0, 10.0).kiops(2)


def makespan(pages: int, dies: int, before_ns: int, transfer_ns: int, after_ns: int) -> int:
    """Step through a stripe page by page: array time, transfer in turn, array time."""
    ready = [0] * dies
    bus = 0
    for page in range(pages):
        die = page % dies
        start = max(ready[die] + before_ns, bus)
        bus = start + transfer_ns
        ready[die] = bus + after_ns
    return max(ready)


@pytest.mark.parametrize("dies", [1, 2, 4, 5, 6, 7, 8, 80])
@pytest.mark.parametrize("rounds", [1, 2, 9])
def test_striped_makespans(dies: int, rounds: int) -> None:
    pages = rounds * dies
    assert striped_read_ns(pages, dies, 50_000, 10_000) == makespan(pages, dies, 50_000, 10_000, 0)
    programs = striped_program_ns(pages, dies, 600_000, 10_000)
    assert programs == makespan(pages, dies, 0, 10_000, 600_000)
    assert serial_read_ns(pages, 50_000, 10_000) == pages * 60_000


def test_striped_makespans_refuse_part_of_a_stripe() -> None:
    with pytest.raises(ValueError, match="multiple of the 4 dies"):
        striped_read_ns(10, 4, 50_000, 10_000)


def test_saturated_channel() -> None:
    single = FlashChannel(16384, 1200.0, 4, sense_us=50.0, program_us=600.0)
    assert single.read_mb_s() == pytest.approx(1030.0, rel=FOUR_DIGITS)
    assert single.program_mb_s() == pytest.approx(106.8, rel=FOUR_DIGITS)
    double = FlashChannel(16384, 1200.0, 4, planes=2, sense_us=50.0)
    assert double.read_mb_s() == 1200.0
    cached = FlashChannel(16384, 1200.0, 2, sense_us=50.0, registers="cache")
    assert cached.read_mb_s() == pytest.approx(2 * 16384 / 50.0)
    steady = FlashChannel(4000, 400.0, 1, program_us=200.0, erase_us=3000.0, pages_per_block=64)
    assert steady.host_write_mb_s() == pytest.approx(15.57, rel=FOUR_DIGITS)
    assert steady.host_write_mb_s(2.0) == pytest.approx(15.57 / 2, rel=FOUR_DIGITS)
    with pytest.raises(ValueError, match="registers"):
        FlashChannel(4096, 400.0, 1, registers="both")


@pytest.mark.parametrize(
    ("cell", "rates", "rms", "to_fill"),
    [
        ("slc", (114.286, 44.214, 27.409, 19.860, 15.572), 57.279, (4, 26)),
        ("mlc", (57.143, 16.389, 9.567, 6.755, 5.220), 27.197, (7, 77)),
    ],
)
def test_tutorial_device(
    cell: str, rates: tuple[float, ...], rms: float, to_fill: tuple[int, int]
) -> None:
    die = TUTORIAL_DIES[cell]
    for share, expected in zip((1.0, 0.75, 0.5, 0.25, 0.0), rates, strict=True):
        assert die.mb_s(share) == pytest.approx(expected, abs=6e-4)
    assert die.rms_mb_s() == pytest.approx(rms, abs=6e-4)
    assert (die.dies_to_fill(1.0, 400.0), die.dies_to_fill(0.0, 400.0)) == to_fill


def test_tutorial_links() -> None:
    die, mixes = TUTORIAL_DIES["slc"], (1.0, 0.75, 0.5, 0.25, 0.0)
    assert [die.dies_to_fill(r, LINK_MB_S["sata2"]) for r in mixes] == [3, 7, 11, 16, 20]
    assert [die.dies_to_fill(r, LINK_MB_S["pcie1x4"]) for r in mixes] == [9, 23, 37, 51, 65]
    assert die.device_mb_s(1.0, 4, LINK_MB_S["sata2"]) == 300.0
    assert die.device_mb_s(0.5, 4) == pytest.approx(109.64, abs=0.006)
    assert die.rms_mb_s(8, LINK_MB_S["sata2"]) == pytest.approx(231.9, abs=0.06)
    assert die.rms_mb_s(32, LINK_MB_S["pcie1x4"]) == pytest.approx(827.2, abs=0.06)


def test_little() -> None:
    assert little_error(1e6 / 60.0, 60.0, 1) == pytest.approx(0.0, abs=1e-12)
    assert little_error(1e6 / 60.0, 61.0, 1) == pytest.approx(1 / 60)
