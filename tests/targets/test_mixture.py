"""Mixes of streams: what is drawn, and a simulated drive that serves them request by request."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from opennandlab.base.errors import ConfigError
from opennandlab.pts.bench.journal import measurement_to_dict
from opennandlab.targets.base import ActiveRange, IoStream, Limit, Stimulus
from opennandlab.targets.consent import Consent
from opennandlab.targets.mixture import Drawn, of, sources
from opennandlab.targets.opening import Request, open_target
from opennandlab.targets.simulated import SimulatedTarget

MIB = 1 << 20
SMALL = {
    "nand.channels": 1, "nand.dies_per_channel": 2, "nand.blocks_per_plane": 64,
    "nand.pages_per_block": 64,
}  # fmt: skip
Order = Literal["random", "sequential"]


def reads(order: Order, size: int, weight: float) -> IoStream:
    return IoStream(order, size, is_read=True, weight=weight)


def writes(order: Order, size: int, weight: float) -> IoStream:
    return IoStream(order, size, is_read=False, weight=weight)


STREAMS = (
    reads("random", 4096, 3), writes("sequential", 65536, 1),
    writes("random", 12288, 2), reads("sequential", 512, 4),
)  # fmt: skip


def drive(preset: str = "tlc_standard") -> SimulatedTarget:
    """Return a full drive whose places were written at random."""
    found = SimulatedTarget(preset, SMALL)
    size = found.capacity_bytes // 4096 * 4096
    fill = Stimulus("sequential", block_bytes=131072)
    found.run(fill, Limit(bytes=size), seed=1, is_measured=False)
    found.run(Stimulus(), Limit(bytes=2 * size), seed=2, is_measured=False)
    return found


def test_shares_are_those_of_the_weights_within_chance() -> None:
    count = 100_000
    kinds, offsets, sizes = Drawn(of(Stimulus(), STREAMS), 64 * MIB, seed=7, thread=0).draw(count)
    for one in STREAMS:
        own = (sizes == one.block_bytes) & (kinds == (not one.is_read))
        share = one.weight / 10
        limit = 4.5 * math.sqrt(share * (1 - share) / count)
        assert own.mean() == pytest.approx(share, abs=limit)
        at = offsets[own] // one.block_bytes
        assert not (offsets[own] % one.block_bytes).any()
        if one.order == "sequential":
            lap = 64 * MIB // one.block_bytes
            assert set(np.unique(np.diff(at))) <= {1, 1 - lap}
        else:
            # Uniform: the mean of 4.5 standard errors of a uniform law.
            places = 64 * MIB // one.block_bytes
            assert at.mean() / places == pytest.approx(0.5, abs=4.5 / math.sqrt(12 * len(at)))
            assert at.max() < places


def test_threads_have_their_own_slices_for_sequential_streams() -> None:
    mix = of(Stimulus(threads=4, active_range=ActiveRange(share=0.5)), [STREAMS[1]])
    for thread, source in enumerate(sources(mix, 64 * MIB, 3)):
        _, offsets, sizes = source.draw(500)
        assert thread * 8 * MIB <= offsets.min()
        assert (offsets + sizes).max() <= (thread + 1) * 8 * MIB


def test_counted_requests_are_as_many_as_counted_in_random_order() -> None:
    mix = of(Stimulus(), STREAMS, is_counted=True)
    source = Drawn(mix, 64 * MIB, seed=1, thread=0)
    sizes = np.concatenate([source.draw(4)[2], source.draw(4)[2], source.draw(50)[2]])
    assert Counter(sizes.tolist()) == {4096: 3, 65536: 1, 12288: 2, 512: 4}
    assert source.draw(5)[2].size == 0
    orders = {Drawn(mix, 64 * MIB, seed, 0).lines("x", 10) for seed in range(5)}
    assert len(orders) == 5
    assert Drawn(mix, 64 * MIB, 1, 0).lines("f", 10).count(b"f read") == 7


def test_what_has_no_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="threads: a part of 32768 bytes has no room"):
        sources(of(Stimulus(threads=32), STREAMS), MIB, 1)
    part = ActiveRange(amount_bytes=8 * MIB)
    with pytest.raises(ConfigError, match="ar-amount: segments"):
        sources(of(Stimulus(active_range=part), STREAMS), 64 * MIB, 1)


@pytest.mark.parametrize(
    ("order", "read_pct", "block", "threads", "depth"),
    [("random", 0, 4096, 4, 8), ("random", 100, 4096, 4, 32), ("random", 0, 65536, 1, 4),
     ("sequential", 100, 131072, 1, 8), ("sequential", 0, 65536, 2, 4),
     ("random", 100, 4096, 1, 1)],
)  # fmt: skip
def test_one_stream_is_as_fast_as_the_core_makes_it(
    order: str, read_pct: float, block: int, threads: int, depth: int
) -> None:
    """The same load by the core's own loop and seeds, within 3 %."""
    limit = Limit(ios=4000 if block == 4096 else 1500, ramp_ratio=0.1)
    alone = Stimulus(order, read_pct, block, threads, depth)  # type: ignore[arg-type]
    one = IoStream(order, block, is_read=read_pct == 100, weight=1.0)  # type: ignore[arg-type]
    mix = of(Stimulus(threads=threads, queue_depth=depth), [one])
    right = drive().run(alone, limit, seed=5)
    found = drive().run(mix, limit, seed=5)
    assert found.ios == pytest.approx(right.ios, abs=threads * depth)
    assert found.iops == pytest.approx(right.iops, rel=0.03)
    if right.inside["waf"] is not None:
        assert found.inside["waf"] == pytest.approx(right.inside["waf"], rel=0.06)


def test_littles_law_holds_and_counts_agree() -> None:
    target = drive()
    mix = of(Stimulus(threads=4, queue_depth=4), STREAMS)
    found = target.run(mix, Limit(ios=4000, ramp_ratio=0.1), seed=4)
    outstanding = found.iops * (found.latency.sum_ns / found.latency.count) * 1e-9
    assert outstanding == pytest.approx(16, rel=0.02)
    assert found.reads.ios / found.ios == pytest.approx(0.7, abs=4.5 * math.sqrt(0.21 / 3600))
    target.audit()
    # The state afterwards is that of a drive at rest, and goes on from a checkpoint.
    again = drive()
    again.run(mix, Limit(ios=4000, ramp_ratio=0.1), seed=4)
    other = SimulatedTarget("tlc_standard", SMALL)
    state = again.checkpoint()
    assert state is not None
    assert state == target.checkpoint()
    other.restore(state)
    one, two = (drive.run(mix, Limit(ios=500), seed=9) for drive in (other, again))
    assert measurement_to_dict(one) == measurement_to_dict(two)


def test_counted_requests_end_with_the_last_one() -> None:
    counts = [writes("random", 4096, 30), reads("sequential", 8192, 12)]
    mix = of(Stimulus(queue_depth=8), counts, is_counted=True)
    found = drive().run(mix, Limit(ios=42), seed=4)
    assert (found.writes.ios, found.reads.ios, found.written_bytes) == (30, 12, 30 * 4096)


def test_discs_and_arrays_take_mixes_and_no_counts() -> None:
    disc = open_target(Request("sim:disc_10k_600gb"))
    mix = of(Stimulus(threads=2, queue_depth=2), STREAMS)
    found = disc.run(mix, Limit(ios=2000), seed=1)
    assert found.reads.ios / found.ios == pytest.approx(0.7, abs=4.5 * math.sqrt(0.21 / 2000))
    with pytest.raises(ConfigError, match="target: requests by count"):
        disc.check(of(Stimulus(), STREAMS, is_counted=True))


def test_fio_carries_out_the_requests_that_are_drawn(tmp_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    request = Request(f"file:{tmp_path}/d.img?size=64MiB", consent=Consent(destructive=True))
    target = open_target(request)
    fill = Stimulus("sequential", block_bytes=131072, queue_depth=4)
    target.run(fill, Limit(bytes=64 * MIB), seed=1)
    counts = [reads("random", 4096, 30), writes("sequential", 65536, 10),
              writes("random", 8192, 25)]  # fmt: skip
    for depth in (1, 16):
        mix = of(Stimulus(queue_depth=depth), counts, is_counted=True)
        found = target.run(mix, Limit(ios=65), seed=3)
        assert (found.reads.ios, found.writes.ios) == (30, 35)
        assert found.writes.bytes == 10 * 65536 + 25 * 8192
    target.close()
