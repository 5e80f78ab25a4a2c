"""Arrays: the closed forms, where bytes are, simulated members against both, and refusals."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL
from opennandlab import pts
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_yaml
from opennandlab.base.plain import to_json
from opennandlab.core.others import FOLDER
from opennandlab.targets.array import ArrayTarget
from opennandlab.targets.base import Limit, Stimulus, Target, TargetError
from opennandlab.targets.course import Batch, Source
from opennandlab.targets.disc import DiscTarget, Mechanics
from opennandlab.targets.layout import READ, WRITE, Layout
from opennandlab.targets.opening import Request, open_target
from opennandlab.targets.simulated import SimulatedTarget
from opennandlab.theory.array import LEVELS, MIXES, array_iops, stall_share
from opennandlab.theory.scaling import rms

DISC = read_yaml(FOLDER / "disc_10k_600gb.yaml")
# Writes as fast as reads, so that one rate describes a member.
EVEN = {**DISC, "seek_write_ms": DISC["seek_read_ms"]}
CHUNK = 64 << 10


def member(text: str, number: int) -> DiscTarget | SimulatedTarget:
    if text == "flash":
        return SimulatedTarget(SMALL, seed=number)
    return DiscTarget(
        {"disc": DISC, "even": EVEN, "half": {**EVEN, "capacity_bytes": 3 << 30}}[text], text, text
    )


def array(level: int, drives: list[str] | None = None, **more: Any) -> ArrayTarget:
    own = {"level": level, "members": drives or ["even"] * 4, **more}
    return ArrayTarget({"array": own}, "array", "sim:array", member)


def rates(target: Target, mixes: tuple[float, ...] = MIXES, ios: int = 8000) -> list[float]:
    stimuli = [Stimulus("random", read_pct=100 * mix, queue_depth=256) for mix in mixes]
    limit = Limit(ios=ios, ramp_ratio=0.25)
    return [target.run(stimulus, limit, seed=1).iops for stimulus in stimuli]


# Four members, five mixes, in rates of one member: of the formulas, by hand.
VECTORS = [(0, 4.0), (10, 2.918), (5, 2.293), (6, 2.079)]


@pytest.mark.parametrize(("level", "expected"), VECTORS)
def test_the_closed_form_of_four_members(level: int, expected: float):
    assert rms([array_iops(level, 4, mix, 1.0) for mix in MIXES]) == pytest.approx(
        expected, abs=5e-4
    )


@pytest.mark.parametrize(("level", "expected"), VECTORS)
def test_simulated_members_reach_it_within_a_percent(level: int, expected: float):
    target = array(level)
    one = 1000 / target.drives[0].disc.service_ms(4096, is_read=True)
    assert rms(rates(target)) / one == pytest.approx(expected, rel=0.01)


def test_members_that_write_slower_than_they_read():
    target = array(5, ["disc"] * 3)
    read, write = (
        1000 / target.drives[0].disc.service_ms(4096, is_read=is_read) for is_read in (True, False)
    )
    expected = [array_iops(5, 3, mix, read, write) for mix in MIXES]
    assert rates(target) == pytest.approx(expected, rel=0.02)


def test_a_stall_of_one_member_stalls_what_needs_it():
    # Of three members each stalled for a tenth of the time, by all their states together.
    states = itertools.product([0.1, 0.9], repeat=3)
    some = sum(a * b * c for a, b, c in states if min(a, b, c) == 0.1)
    assert stall_share(3, 0.1) == pytest.approx(some)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("members", [4, 6])
def test_every_byte_has_its_place(level: int, members: int):
    layout = Layout(level, members, CHUNK)
    rows, places = 2 * members, set()
    for chunk in range(rows * layout.data_chunks):
        ((first, then),) = layout.steps(WRITE, chunk * CHUNK, CHUNK)
        places |= {(one, offset) for one, kind, offset, _ in then if kind == WRITE}
        assert all(offset % CHUNK == 0 for _, _, offset, _ in first + then)
    # All chunks of all members are used, by data or what protects it, and none by two.
    assert places == {(one, row * CHUNK) for one in range(members) for row in range(rows)}
    parity = [one for row in range(rows) for one in layout.parity_members(row)]
    assert len({parity.count(one) for one in range(members)}) == 1


@pytest.mark.parametrize(
    ("level", "reads", "writes"), [(0, 0, 1), (10, 0, 2), (5, 2, 2), (6, 3, 3)]
)
def test_what_a_small_write_costs(level: int, reads: int, writes: int):
    layout = Layout(level, 4, CHUNK)
    ((first, then),) = layout.steps(WRITE, 5 * CHUNK + 4096, 4096)
    assert (len(first), len(then)) == (reads, writes)
    assert {one for one, *_ in first} <= {one for one, *_ in then}
    # A whole row needs no old data.
    whole = layout.data_chunks * CHUNK
    assert all(not first for first, _ in layout.steps(WRITE, 3 * whole, whole))


@pytest.mark.parametrize("seed", range(40))
def test_the_bytes_of_a_degraded_array_are_those_that_were_written(seed: int):
    """RAID 5 with exclusive or: the steps read enough, and leave parity that fits."""
    draw = random.Random(seed)  # noqa: S311 (repeatable cases)
    members = draw.randint(3, 6)
    failed = frozenset({draw.randrange(members)}) if seed % 4 else frozenset()
    layout = Layout(5, members, CHUNK, failed)
    rows, unit = 4, 4096
    cells = [[0] * (rows * CHUNK // unit) for _ in range(members)]
    told: dict[int, int] = {}
    for _ in range(60):
        place, value = (
            draw.randrange(rows * layout.data_chunks * CHUNK // unit),
            draw.getrandbits(32),
        )
        ((first, then),) = layout.steps(WRITE, place * unit, unit)
        known = {one: cells[one][offset // unit] for one, _, offset, _ in first}
        assert not failed & set(known)
        row = place * unit // (CHUNK * layout.data_chunks)
        (parity,) = layout.parity_members(row)
        own = layout.data_member(row, place * unit // CHUNK % layout.data_chunks)
        fresh = value
        if own in known:
            fresh = known[parity] ^ known[own] ^ value
        else:
            for other in known.values():
                fresh ^= other
        for one, _, offset, _ in then:
            assert one not in failed
            cells[one][offset // unit] = fresh if one == parity else value
        told[place] = value
    for place, value in told.items():
        ((first, _),) = layout.steps(READ, place * unit, unit)
        found = 0
        for one, _, offset, _ in first:
            assert one not in failed
            found ^= cells[one][offset // unit]
        assert found == value


@pytest.mark.parametrize(
    ("level", "expected"),
    # Of four members one failed, and the busiest of the others decides: the twin of a mirror has
    # 2/4 of the reads; of level 5 each has 1/4 and another 1/4; of level 6 1/4 and at most 3/16.
    [(10, 2.0), (5, 2.0), (6, 16 / 7)],
)
def test_reads_of_a_degraded_array(level: int, expected: float):
    target = array(level, failed=[1])
    assert target.warnings == ("member 1 has failed",)
    (rate,) = rates(target, (1.0,))
    one = 1000 / target.drives[0].disc.service_ms(4096, is_read=True)
    assert rate / one == pytest.approx(expected, rel=0.03)


def test_one_request_is_served_as_many_are():
    disc = DiscTarget(DISC, "disc", "disc")
    batch = Source(Stimulus("random", read_pct=50), disc.capacity_bytes, 1).draw(500)
    runs = Batch(batch.kinds, batch.offsets // 8 * 8, batch.sizes)
    many, single = (Mechanics(disc.disc, 7, 0) for _ in range(2))
    rows = zip(runs.kinds.tolist(), runs.offsets.tolist(), runs.sizes.tolist(), strict=True)
    assert many.serve(runs).tolist() == [single.serve_one(*row) for row in rows]


def test_flash_members_collect_each_for_itself():
    target, single = array(0, ["flash"] * 2), member("flash", 0)
    for one in (target, single):
        fill = Stimulus("sequential", block_bytes=128 << 10, queue_depth=8)
        one.run(fill, Limit(bytes=one.capacity_bytes), seed=1, is_measured=False)
        over = Limit(bytes=8 * one.capacity_bytes)
        one.run(Stimulus("random"), over, seed=2, is_measured=False)
    state = target.checkpoint() or b""
    found = [
        one.run(
            Stimulus("random", queue_depth=32 * count),
            Limit(ios=4000 * count, ramp_ratio=0.1),
            seed=3,
        )
        for one, count in ((target, 2), (single, 1))
    ]
    assert found[0].iops == pytest.approx(2 * found[1].iops, rel=0.15)
    assert found[0].inside["waf"] == pytest.approx(found[1].inside["waf"], rel=0.15)
    target.restore(state)
    again = target.run(Stimulus("random", queue_depth=64), Limit(ios=8000, ramp_ratio=0.1), seed=3)
    assert again.latency.sum_ns == found[0].latency.sum_ns
    with pytest.raises(TargetError, match="another array"):
        target.restore(b"abc")


def test_reads_of_nothing_take_no_time_and_are_refused():
    with pytest.raises(TargetError, match="take no time"):
        array(0, ["flash"] * 2).run(Stimulus("random", read_pct=100), Limit(seconds=1), seed=1)


@pytest.mark.parametrize(
    ("own", "key", "words"),
    [
        ({"level": 5, "members": ["even"] * 2}, "array.level", "3 or more"),
        ({"level": 6, "members": ["even"] * 3}, "array.level", "4 or more"),
        ({"level": 10, "members": ["even"] * 3}, "array.level", "even"),
        ({"level": 1, "members": ["even"] * 2}, "array.level", "0, 5, 6, 10"),
        ({"level": True, "members": ["even"] * 2}, "array.level", "True"),
        ({"level": 0, "members": ["even", "half"]}, "array.members", "unequal"),
        ({"level": 0, "members": "even"}, "array.members", "a list"),
        ({"level": 0, "members": ["even"] * 65}, "array.members", "64"),
        ({"level": 0, "members": ["even"] * 2, "chunk": 1000}, "array.chunk", "4096"),
        ({"level": 0, "members": ["even"] * 2, "chunk": "1TiB"}, "array.chunk", "a member"),
        ({"level": 0, "members": ["even"] * 2, "failed": [0]}, "array.failed", "lost"),
        ({"level": 5, "members": ["even"] * 3, "failed": [0, 2]}, "array.failed", "lost"),
        ({"level": 10, "members": ["even"] * 4, "failed": [2, 3]}, "array.failed", "lost"),
        ({"level": 5, "members": ["even"] * 3, "failed": [3]}, "array.failed", "0 to 2"),
        ({"level": 5, "members": ["even"] * 3, "spare": 1}, "array.spare", "unknown key"),
    ],
)
def test_an_array_that_cannot_be_is_refused_with_its_key(own: dict[str, Any], key: str, words: str):
    with pytest.raises(ConfigError) as raised:
        ArrayTarget({"array": own}, "array", "sim:array", member)
    assert raised.value.path == key
    assert words in str(raised.value)


def test_an_array_of_itself_is_refused(tmp_path: Path):
    file = tmp_path / "loop.yaml"
    file.write_text(to_json({"array": {"level": 0, "members": [str(file)] * 2}}))
    with pytest.raises(ConfigError, match="is an array"):
        open_target(Request(f"sim:{file}"))


def test_a_standard_test_of_an_array(tmp_path: Path):
    small = tmp_path / "small.yaml"
    small.write_text(to_json({**EVEN, "capacity_bytes": 1 << 28}))
    file = tmp_path / "array.yaml"
    file.write_text(to_json({"array": {"level": 5, "members": [str(small)] * 4}}))
    found = pts.run("rw_ratio", f"sim:{file}", time_base="smoke")
    reads_only, *_, writes_only = found.frame("iops").loc["4"].astype(float)
    assert reads_only == pytest.approx(4 * writes_only, rel=0.2)
