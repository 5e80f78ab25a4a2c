"""The simulated drive as the target of a test: limits, draws, purges, states, refusals."""

from __future__ import annotations

import itertools
import math
import os
import signal
import threading
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from conftest import SMALL
from opennandlab.base.errors import ConfigError
from opennandlab.targets.base import (
    ActiveRange,
    Limit,
    Measurement,
    Step,
    Stimulus,
    TargetError,
    Zone,
)
from opennandlab.targets.simulated import SimulatedTarget

DRAWS = 100_000
SIGMAS = 4.5
ENTERPRISE = Stimulus(
    read_pct=40,
    block_bytes=(
        *((size, 4.0 if size == 512 else 1.0) for size in range(512, 4096, 512)),
        (4096, 67.0),
        (8192, 10.0),
        (16384, 7.0),
        (32768, 3.0),
        (65536, 3.0),
    ),
    zones=(Zone(0.05, 0.5), Zone(0.15, 0.3), Zone(0.8, 0.2)),
)
WRITES = Stimulus(queue_depth=8)


def drive(**overrides: object) -> SimulatedTarget:
    """A small drive, with dotted paths written with two underscores."""
    return SimulatedTarget(SMALL, {path.replace("__", "."): it for path, it in overrides.items()})


def fill(target: SimulatedTarget, seed: int = 1) -> Measurement:
    """Write everything once in order."""
    stimulus = Stimulus("sequential", block_bytes=65536)
    limit = Limit(bytes=target.capacity_bytes)
    return target.run(stimulus, limit, seed=seed, is_measured=False)


def fingerprint(measurement: Measurement) -> str:
    """Everything of a measurement as text."""
    return repr(
        (
            measurement.seconds,
            measurement.elapsed_s,
            measurement.reads.latency.to_dict(),
            measurement.writes.latency.to_dict(),
            measurement.written_bytes,
            measurement.end_bytes,
            measurement.samples,
            sorted(measurement.inside.items()),
        )
    )


def check_share(hits: float, share: float) -> None:
    """A binomial share of `DRAWS` within 4.5 standard deviations."""
    assert abs(hits / DRAWS - share) < SIGMAS * math.sqrt(share * (1 - share) / DRAWS)


def test_the_enterprise_mix_is_drawn_within_its_statistics() -> None:
    target = SimulatedTarget("tlc_standard")
    kinds, sectors, counts = target.commands(ENTERPRISE, seed=42, count=DRAWS)
    check_share(int((counts == 8).sum()), 0.67)
    check_share(int((counts == 1).sum()), 0.04)
    check_share(int((counts == 128).sum()), 0.03)
    check_share(int((kinds == 0).sum()), 0.4)
    place = sectors.astype(np.float64) * 512 / target.capacity_bytes
    check_share(int((place < 0.05).sum()), 0.5)
    check_share(int(((place >= 0.05) & (place < 0.2)).sum()), 0.3)
    # Mean of the transfers: 7818.24 B; the deviation of one is 13.4 KiB.
    assert abs(counts.mean() * 512 - 7818.24) < SIGMAS * 13_700 / math.sqrt(DRAWS)
    assert (sectors % 8 == 0).all()
    assert int((sectors + counts).max()) * 512 <= target.capacity_bytes


def test_segments_hold_an_amount_spread_over_a_part() -> None:
    target = SimulatedTarget("tlc_standard")
    amount = ActiveRange(share=0.75, amount_bytes=1 << 30, segments=64, seed=3)
    _, sectors, _ = target.commands(Stimulus(active_range=amount), seed=1, count=DRAWS)
    assert int(sectors.max()) * 512 < 0.75 * target.capacity_bytes
    assert int(sectors.max()) * 512 > 0.6 * target.capacity_bytes
    # 1 GiB in 64 pieces of 4096 pages: so many different pages are hit by uniform draws.
    pages = 1 << 18
    expected = pages * (1 - math.exp(-DRAWS / pages))
    assert abs(np.unique(sectors).size - expected) < 0.01 * expected


def test_a_measurement_has_what_its_limit_asked_for() -> None:
    target = drive()
    fill(target)
    mixed = replace(WRITES, read_pct=50.0)
    measured = target.run(mixed, Limit(ios=2000, ramp_ratio=0.02), seed=2)
    assert measured.ios == 1960
    assert measured.latency.count == 1960
    assert measured.iops == pytest.approx(1960 / measured.seconds)
    assert measured.elapsed_s is not None
    assert measured.elapsed_s > measured.seconds
    # Reads and writes by chance: 22 is the deviation.
    assert abs(measured.reads.ios - 980) < 100
    timed = target.run(WRITES, Limit(seconds=0.1), seed=3, sample_s=0.03)
    assert timed.seconds == 0.1
    assert [sample.end_s for sample in timed.samples] == pytest.approx([0.03, 0.06, 0.09, 0.1])
    assert sum(sample.ios for sample in timed.samples) == timed.ios
    assert max(sample.latency_us_max or 0 for sample in timed.samples) * 1e3 == timed.latency.max_ns
    both = target.run(WRITES, Limit(seconds=0.01, ios=500), seed=4)
    assert both.ios >= 500
    assert both.seconds >= 0.01
    cut = target.run(WRITES, Limit(ios=1_000_000, seconds_max=0.05), seed=5)
    assert cut.seconds == 0.05


def test_little_s_law_holds_for_queue_depth_and_rate() -> None:
    target = drive()
    fill(target)
    measured = target.run(WRITES, Limit(ios=20_000, ramp_ratio=0.05), seed=2)
    outstanding = measured.iops * (measured.latency.mean_ns or 0) * 1e-9
    assert outstanding == pytest.approx(8, rel=0.01)
    assert measured.inside["littles_law_error"] == 0


def test_preconditioning_has_bytes_and_no_clock() -> None:
    target = drive()
    measured = fill(target)
    assert (measured.elapsed_s, measured.seconds, measured.ios) == (None, 0.0, 0)
    assert measured.written_bytes >= target.capacity_bytes
    assert measured.inside["waf"] == 1.0


def test_a_stream_goes_on_where_it_ended() -> None:
    target = drive()
    stream = Stimulus("sequential", block_bytes=8192, queue_depth=2)
    first = target.run(stream, Limit(ios=10), seed=1)
    assert first.end_bytes == first.written_bytes
    second = target.run(replace(stream, start_bytes=first.end_bytes), Limit(ios=10), seed=1)
    assert second.end_bytes == first.written_bytes + second.written_bytes
    threads = replace(stream, threads=4)
    assert target.run(threads, Limit(ios=100), seed=1).end_bytes < target.capacity_bytes // 4


def test_small_requests_pay_for_whole_pages() -> None:
    target = drive()
    fill(target)
    small = Stimulus(block_bytes=512)
    written = target.run(small, Limit(ios=100), seed=1)
    assert written.written_bytes >= 100 * 512
    assert (written.inside["waf"] or 0) >= 8
    # A read and a program of the page, one after the other, against a program alone.
    whole = target.run(Stimulus(), Limit(ios=100), seed=1)
    assert (written.latency.mean_ns or 0) > (whole.latency.mean_ns or 0)
    read = target.run(replace(small, read_pct=100.0), Limit(ios=100), seed=2)
    assert read.reads.bytes == 100 * 512


def test_equal_seeds_give_equal_bytes_and_a_checkpoint_goes_on_exactly() -> None:
    one, two = drive(ftl__write_buffer_pages=32), drive(ftl__write_buffer_pages=32)
    for target in (one, two):
        fill(target)
        target.run(WRITES, Limit(ios=3000), seed=2)
    assert one.checkpoint() == two.checkpoint()
    state = one.checkpoint()
    expected = [fingerprint(one.run(WRITES, Limit(ios=500), seed=seed)) for seed in (3, 4)]
    other = drive(ftl__write_buffer_pages=32)
    other.restore(state)
    assert [
        fingerprint(other.run(WRITES, Limit(ios=500), seed=seed)) for seed in (3, 4)
    ] == expected
    assert fingerprint(two.run(WRITES, Limit(ios=500), seed=5)) != expected[0]
    assert one.checkpoint() == other.checkpoint()
    other.audit()


def test_a_foreign_checkpoint_is_refused() -> None:
    target, other = drive(), drive(ftl__gc_policy="fifo")
    with pytest.raises(TargetError, match="another device"):
        target.restore(other.checkpoint())
    with pytest.raises(TargetError, match="ONLSTATE"):
        target.restore(b"nothing of this kind at all, and long enough")
    fill(target)


def test_a_purge_forgets_what_was_written_and_keeps_wear() -> None:
    target, fresh = drive(ftl__wear_leveling="none"), drive(ftl__wear_leveling="none")
    fill(target)
    target.run(WRITES, Limit(ios=5000), seed=2)
    purge = target.purge()
    assert purge.is_purge
    assert purge.method == "erase of all blocks"
    assert int(purge.note.split()[0]) > 100
    assert target.purge().note.startswith("0 ")
    target.audit()
    results = [fingerprint(each.run(WRITES, Limit(ios=5000), seed=9)) for each in (target, fresh)]
    assert results[0] == results[1]


def test_the_write_cache_is_what_the_device_declares() -> None:
    assert drive().set_cache(enabled=True) == "absent"
    target = drive(ftl__write_buffer_pages=256)
    declared = target.facts()
    fill(target)
    light = Stimulus()
    buffered = target.run(light, Limit(ios=100), seed=1)
    assert target.set_cache(enabled=False) == "disabled"
    assert target.device["ftl.write_buffer_pages"] == 0
    through = target.run(light, Limit(ios=100), seed=1)
    assert (through.latency.mean_ns or 0) > 10 * (buffered.latency.mean_ns or 1)
    state = target.checkpoint()
    assert target.set_cache(enabled=True) == "enabled"
    again = target.run(light, Limit(ios=100), seed=2)
    assert (again.latency.mean_ns or 0) < 0.1 * (through.latency.mean_ns or 0)
    target.restore(state)
    assert target.device["ftl.write_buffer_pages"] == 0
    assert target.facts() == declared


def test_data_reaches_a_device_that_compresses() -> None:
    settings: dict[str, Any] = {"ftl.compression": {"data": "file", "ratio": 0.5}}
    target = SimulatedTarget(SMALL, settings)
    overwrites = Limit(bytes=3 * target.capacity_bytes)
    results = {}
    for data in ("random", "file"):
        target.purge()
        stimulus = Stimulus(data=data)  # type: ignore[arg-type]
        results[data] = target.run(stimulus, overwrites, seed=1, is_measured=False).inside["waf"]
    assert results["file"] is not None
    assert results["random"] is not None
    assert results["file"] < 0.6 * results["random"]
    with pytest.raises(TargetError, match="after a purge"):
        target.run(Stimulus(data="random"), Limit(ios=1), seed=1)
    plain = drive()
    assert plain.facts().device.data == "no effect by design"
    assert plain.run(Stimulus(data="file"), Limit(ios=1), seed=1).ios == 1


def test_idle_time_lets_a_drive_recover() -> None:
    settings = {
        "ftl.write_frontiers": "host_gc",
        "ftl.collection": "steps",
        "ftl.idle_collection": {"after_us": 1000, "spare_blocks_goal": 6},
    }
    rates = []
    for pause in (0.0, 10.0):
        target = SimulatedTarget(SMALL, settings)
        fill(target)
        target.run(WRITES, Limit(ios=5000), seed=2)
        target.idle(pause)
        rates.append(target.run(WRITES, Limit(ios=200), seed=3).iops)
        target.audit()
    assert rates[1] > 1.1 * rates[0]


def test_outstanding_requests_can_be_throttled() -> None:
    wide, narrow = SimulatedTarget(SMALL), SimulatedTarget(SMALL, oio=1)
    rates = [each.run(WRITES, Limit(ios=500), seed=1).iops for each in (wide, narrow)]
    assert rates[0] > 1.5 * rates[1]
    with pytest.raises(ConfigError, match="queue_depth_max"):
        SimulatedTarget(SMALL, oio=0)


def test_facts_depend_on_the_device_alone() -> None:
    facts = SimulatedTarget("tlc_standard").facts()
    assert facts == SimulatedTarget("tlc_standard").facts()
    device = facts.device
    assert (device.model, device.nand_type) == ("tlc_standard", "TLC")
    assert device.over_provisioning_ratio == 0.07
    assert len(device.config_sha256) == 64
    assert set(facts.platform) == {"simulator_version", "model_version"}
    str(facts)
    assert msgspec.json.encode(facts)


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    target = drive()
    with pytest.raises(ConfigError, match="never end"):
        target.run(WRITES, Limit(), seed=1)
    with pytest.raises(ConfigError, match="block_bytes"):
        target.run(Stimulus(block_bytes=1000), Limit(ios=1), seed=1)
    with pytest.raises(ConfigError, match="clock"):
        target.run(WRITES, Limit(seconds=1), seed=1, is_measured=False)
    with pytest.raises(ConfigError, match="0 to 1e9"):
        target.idle(-1.0)
    reads = Stimulus(read_pct=100)
    with pytest.raises(TargetError, match="never written"):
        target.run(reads, Limit(seconds=1), seed=1)
    fill(target)
    assert target.run(reads, Limit(ios=10), seed=1).ios == 10
    target.close()
    target.close()
    with pytest.raises(TargetError, match="closed"):
        target.run(reads, Limit(ios=10), seed=1)


def test_a_worn_out_drive_is_an_error_of_the_target() -> None:
    target = drive(nand__max_pe_cycles=3)
    with pytest.raises(TargetError, match="worn out"):
        target.run(WRITES, Limit(bytes=30 * target.capacity_bytes), seed=1, is_measured=False)


def test_a_watcher_sees_progress_that_never_falls() -> None:
    target = drive()
    fill(target)
    steps: list[Step] = []
    target.run(WRITES, Limit(ios=100_000), seed=1, watch=steps.append)
    fractions = [step.fraction or 0.0 for step in steps]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(earlier.target_s <= later.target_s for earlier, later in itertools.pairwise(steps))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("is_measured", [True, False])
def test_ctrl_c_ends_a_stimulus_at_once(is_measured) -> None:
    """A drive that is written without end, stopped by a signal from another thread.

    The slice that is in progress is the last one: nobody is told of a further step.
    """
    target = drive(nand__max_pe_cycles=1_000_000)  # a fast machine wears out a small drive
    fill(target)
    sent = threading.Event()
    late: list[Step] = []

    def press() -> None:
        signal.raise_signal(signal.SIGINT)
        sent.set()

    presser = threading.Thread(target=press)

    def watch(step: Step) -> None:
        if sent.is_set():
            late.append(step)
        elif presser.ident is None:
            presser.start()

    with pytest.raises(KeyboardInterrupt):
        target.run(WRITES, Limit(bytes=1 << 50), seed=1, is_measured=is_measured, watch=watch)
    presser.join()
    assert late == []
    # The drive is usable: a purge forgets what was in progress.
    target.purge()
    target.audit()
    assert target.run(WRITES, Limit(ios=10), seed=1).ios == 10
