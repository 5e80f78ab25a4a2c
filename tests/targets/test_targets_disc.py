"""The disc: a maker's figures, the queue against a plain one, refusals, standard tests."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opennandlab import pts
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_yaml
from opennandlab.core.config import load_device
from opennandlab.core.others import FOLDER, other_presets
from opennandlab.targets.base import Limit, Stimulus, TargetError
from opennandlab.targets.course import Batch, Source
from opennandlab.targets.disc import DiscTarget, Mechanics
from opennandlab.targets.opening import Request, open_target
from opennandlab.theory.disc import Disc, Seek

PRESET = read_yaml(FOLDER / "disc_10k_600gb.yaml")
DISC = Disc.of(PRESET)
SMALL = {"capacity_bytes": 1 << 30}
FOUR_KIB = Stimulus("random", read_pct=100.0)


def disc(**changes: Any) -> DiscTarget:
    return DiscTarget({**PRESET, **changes}, "disc", "sim:disc")


@pytest.mark.parametrize(("seek", "exponent"), [(DISC.read, 0.6311), (DISC.write, 0.5540)])
def test_the_exponent_makes_the_average_that_the_maker_states(seek: Seek, exponent: float):
    assert seek.exponent == pytest.approx(exponent, abs=5e-5)
    # E over two uniform places by the density 2 (1 - d), midpoints, without the closed form.
    steps = 200_000
    ways = (np.arange(steps) + 0.5) / steps
    mean = sum(seek.ms(float(way)) * 2 * (1 - float(way)) for way in ways) / steps
    assert mean == pytest.approx(seek.average, rel=1e-4)


@pytest.mark.parametrize(("read_pct", "iops"), [(100.0, 142.1), (0.0, 131.0)])
@pytest.mark.parametrize("queue_depth", [1, 32])
def test_random_requests_of_the_maker_s_disc(read_pct: float, iops: float, queue_depth: int):
    stimulus = Stimulus("random", read_pct=read_pct, queue_depth=queue_depth)
    found = disc().run(stimulus, Limit(ios=20_000), seed=1)
    # First come, first served: a queue makes no request shorter.
    assert found.iops == pytest.approx(iops, rel=0.01)
    assert found.latency.mean_ns == pytest.approx(queue_depth * 1e9 / iops, rel=0.01)


def test_sequential_requests_stream_without_a_seek():
    stimulus = Stimulus("sequential", block_bytes=1 << 20, queue_depth=32)
    found = disc().run(stimulus, Limit(seconds=60), seed=1, sample_s=10)
    assert found.mb_s == pytest.approx(677_557 * 10_000 / 60 / 1e6, rel=1e-3)
    assert len(found.samples) == 6
    assert found.end_bytes == found.written_bytes
    # Small ones are as fast as commands are, not as the data.
    small = disc().run(replace(stimulus, block_bytes=512), Limit(ios=10_000), seed=1)
    assert small.iops == pytest.approx(5000, rel=0.01)


@pytest.mark.parametrize("queue", ["fcfs", "nearest"])
def test_the_queue_serves_as_a_plain_one_does(queue: str):
    target = disc(queue=queue)
    stimulus = replace(FOUR_KIB, read_pct=50.0, queue_depth=7)
    found = target.run(stimulus, Limit(ios=500), seed=3)
    took = plain_queue(Disc.of({**PRESET, "queue": queue}), stimulus, count=500, seed=3)
    assert found.latency.sum_ns == sum(took)
    assert found.latency.max_ns == max(took)


def plain_queue(model: Disc, stimulus: Stimulus, *, count: int, seed: int) -> list[int]:
    """Serve one request after the other from a list; return how long each took, in nanoseconds."""
    source, mechanics = Source(stimulus, model.capacity_bytes, seed), Mechanics(model, seed, 0)
    made = requests(source)
    waiting = [(*next(made), 0) for _ in range(stimulus.outstanding)]
    now, took = 0, []
    for _ in range(count):
        ways = [abs(offset - mechanics.head) for _, offset, _, _ in waiting]
        place = ways.index(min(ways)) if model.queue == "nearest" else 0
        kind, offset, size, since = waiting.pop(place)
        one = Batch(*(np.array([word], dtype=np.int64) for word in (kind, offset, size)))
        now += int(mechanics.serve(one)[0])
        took.append(now - since)
        waiting.insert(place if model.queue == "nearest" else len(waiting), (*next(made), now))
    return took


def requests(source: Source) -> Iterator[tuple[int, int, int]]:
    while True:
        batch = source.draw(64)
        yield from zip(batch.kinds, batch.offsets, batch.sizes, strict=True)


def test_a_short_way_first_is_faster_and_longer_for_some():
    stimulus, limit = replace(FOUR_KIB, queue_depth=32), Limit(ios=5000)
    plain, near = (disc(queue=queue).run(stimulus, limit, seed=1) for queue in ("fcfs", "nearest"))
    assert near.iops > 1.5 * plain.iops
    assert near.latency.max_ns > 2 * (near.latency.mean_ns or math.inf)


def test_a_limit_and_its_ramp():
    target = disc()
    whole = target.run(FOUR_KIB, Limit(seconds=30), seed=1)
    assert (whole.seconds, whole.elapsed_s) == (30, 30)
    half = target.run(FOUR_KIB, Limit(seconds=30, ramp_ratio=0.5), seed=1)
    assert half.seconds == pytest.approx(15)
    assert half.ios < whole.ios
    capped = target.run(FOUR_KIB, Limit(ios=10**9, seconds_max=2), seed=1)
    assert capped.elapsed_s == 2
    size = target.run(replace(FOUR_KIB, read_pct=0), Limit(bytes=1 << 20), seed=1)
    assert size.written_bytes == 1 << 20


def test_threads_have_slices_and_the_head_goes_between_them():
    alone, two = (
        disc().run(
            Stimulus("sequential", block_bytes=4096, threads=threads), Limit(ios=2000), seed=1
        )
        for threads in (1, 2)
    )
    # Over half of the disc and back, for each request.
    turn = DISC.turn_ms / 2 + DISC.overhead_ms + DISC.write.ms(0.5)
    assert two.iops == pytest.approx(1000 / turn, rel=0.02)
    assert alone.iops > 20 * two.iops


def test_a_state_is_where_the_head_is():
    one, other = disc(), disc()
    one.run(FOUR_KIB, Limit(ios=10), seed=1)
    state = one.checkpoint() or b""
    one.idle(3600)
    assert one.checkpoint() == state
    other.restore(state)
    runs = [target.run(FOUR_KIB, Limit(ios=100), seed=2).latency.sum_ns for target in (one, other)]
    assert runs[0] == runs[1]
    for broken in (b"", b"{}", b"\xff"):
        with pytest.raises(TargetError, match="no checkpoint"):
            other.restore(broken)
    with pytest.raises(TargetError, match="another disc"):
        disc(rpm=7200).restore(state)
    one.close()
    with pytest.raises(TargetError, match="closed"):
        one.run(FOUR_KIB, Limit(ios=1), seed=1)


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        ({"seek_read_ms": {"average": 0.3, "track": 0.3, "full": 8}}, "seek_read_ms.average", "ab"),
        ({"seek_write_ms": {"average": 9, "track": 0.3, "full": 8}}, "seek_write_ms.average", "be"),
        ({"seek_read_ms": {"average": 3, "track": 0.3}}, "seek_read_ms.full", "missing"),
        ({"seek_read_ms": 3.8}, "seek_read_ms", "average, track, full"),
        ({"rpm": 0}, "rpm", "accepted: a number from"),
        ({"rpm": float("nan")}, "rpm", "accepted"),
        ({"rpm": "fast"}, "rpm", "fast"),
        ({"rpm": True}, "rpm", "True"),
        ({"capacity_bytes": 10**9 + 1}, "capacity_bytes", "512"),
        ({"capacity_bytes": 2**30 + 0.5}, "capacity_bytes", "whole"),
        ({"bytes_per_track": 10**12}, "bytes_per_track", "at most the capacity"),
        ({"queue": "elevator"}, "queue", "fcfs, nearest"),
        ({"speed": 1}, "speed", "unknown key"),
    ],
)
def test_a_disc_that_cannot_be_is_refused_with_its_key(change, key, words):
    with pytest.raises(ConfigError) as raised:
        disc(**change)
    assert raised.value.path == key
    assert words in str(raised.value)


def test_what_only_flash_drives_take_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="rate_per_s"):
        disc().run(replace(FOUR_KIB, rate_per_s=10), Limit(ios=1), seed=1)
    own = tmp_path / "own.yaml"
    own.write_text((FOLDER / "disc_10k_600gb.yaml").read_text())
    for source in ("disc_10k_600gb", str(own)):
        with pytest.raises(ConfigError, match="not a flash device"):
            load_device(source)
    with pytest.raises(ConfigError, match="divides flash drives only"):
        open_target(Request("sim:disc_10k_600gb", shrink="4"))


@pytest.mark.parametrize("name", [name for name in other_presets() if name.startswith("disc")])
def test_a_preset_is_a_target_and_takes_changes(name: str):
    target = open_target(Request(f"sim:{name}", overrides={"seek_read_ms.average": 1.0}))
    facts = target.facts().device
    assert facts.nand_type is None
    assert facts.config is not None
    assert facts.config["seek_read_ms"]["average"] == 1.0
    assert target.set_cache(enabled=True) == "absent"
    with pytest.raises(ConfigError, match="rpm"):
        open_target(Request(f"sim:{name}", overrides={"rpm": -1}))


def test_random_writes_leave_nothing_to_recover_from(tmp_path: Path):
    own = tmp_path / "small.yaml"
    own.write_text((FOLDER / "disc_10k_600gb.yaml").read_text())
    found = pts.run("xsr", f"sim:{own}", changes=SMALL, time_base="scaled", output=tmp_path / "x")
    before, _, after = found.results.groups
    assert after.mb_s_mean / before.mb_s_mean == pytest.approx(1, abs=0.01)
    assert found.results.recovery_sample == 1
    # What a disc does not have is null: no flash was written, so there is no amplification.
    columns = found.document["cells"]["columns"]
    waf = columns.index("waf")
    assert {row[waf] for row in found.document["cells"]["rows"]} == {None}


def test_minutes_of_the_specification_are_the_default():
    found = pts.run("latency", "sim:disc_10k_600gb", cell_seconds=5, ss_max_rounds=5)
    assert found.document["header"]["time_base"]["name"] == "full"
    art = found.frame("art")
    assert art.loc["4"].to_numpy()[0] == pytest.approx(7.636, rel=0.05)


def test_pauses_are_one_piece_of_a_gap_and_change_nothing(tmp_path: Path):
    """Half an hour in pieces of 5 s was 360 steps of the journal in each round."""
    own = tmp_path / "small.yaml"
    own.write_text((FOLDER / "disc_10k_600gb.yaml").read_text())
    found = pts.run(
        "pathological", f"sim:{own}", changes=SMALL, output=tmp_path / "x", ss_max_rounds=5
    )
    columns = found.document["cells"]["columns"]
    labels = [row[columns.index("label")] for row in found.document["cells"]["rows"]]
    assert labels.count("pauses") == 10
    ratios = {case.name: case.ratio for case in found.results.cases}
    assert ratios["pauses"] == pytest.approx(1, abs=0.02)
    assert any("one of each" in line for line in found.document["header"]["deviations"])


def test_an_array_of_discs_has_the_minutes_of_a_disc():
    """Gaps of half of 1.8 TB at 700 writes a second would take weeks of its time."""
    target = open_target(Request("sim:raid5_disc_10k"))
    assert target.prefers_full
    assert target.has_no_memory
