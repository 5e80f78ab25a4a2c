"""`pts rwsw`: streams of a capture alone, together, step by step, and the mix efficiency."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fake_target import FakeTarget
from opennandlab.base.canonical import digest, readable_json
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.core.capture import capture
from opennandlab.documents.record import plain
from opennandlab.pts import REAL_WORLD, STANDARD, Place, Settings, run_test
from opennandlab.pts.bench.runner import BrokenError, Cut
from opennandlab.targets.simulated import SimulatedTarget

HEAD = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n"
READING = json.dumps({"format": "auto", "skip_bad_lines": False})
TEST = REAL_WORLD["rwsw"]
SMALL = {
    "nand.channels": 1, "nand.dies_per_channel": 2, "nand.blocks_per_plane": 64,
    "nand.pages_per_block": 64, "ftl.over_provisioning_pct": 0.28,
}  # fmt: skip
SECOND = 10**9


def saved(folder: Path, requests: list[tuple[float, str, int, int]], step: str = "1s") -> Path:
    """Write the capture of requests: time in seconds, operation, first byte, bytes."""
    trace = folder / "t.csv"
    trace.write_text(HEAD + "".join(
        f"{round(at * SECOND)},{op},{begin},{size},v,,\n" for at, op, begin, size in requests
    ))  # fmt: skip
    path = folder / "capture.json"
    path.write_text(readable_json(plain(capture([[str(trace)]], READING, step=step))))
    return path


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A capture of 4 s: random reads and writes of 4 KiB, and one sequential stream of writes."""
    draw = random.Random(1)  # noqa: S311 (a test)
    rows, at = [], 0
    for number in range(400):
        time = 0.0100007 * number
        if number % 4 == 3:
            rows.append((time, "write", at, 16384))
            at += 16384
        else:
            op = "read" if number % 4 else "write"
            rows.append((time, op, (1 << 30) + draw.randrange(1 << 18) * 8192, 4096))
    return saved(tmp_path, rows)


def run(path: Path, target: Any = None, **options: Any) -> Any:
    settings = Settings(
        time_base=options.pop("time_base", "smoke"), threads=options.pop("threads", 2),
        queue_depth=options.pop("queue_depth", 4), data=options.pop("data", "random"),
        active_range_pct=options.pop("active_range_pct", None),
        options={"capture": str(path), **options},
    )  # fmt: skip
    return run_test(TEST, target or SimulatedTarget("tlc_standard", SMALL), settings=settings)


def to_bytes(document: Any) -> str:
    return readable_json(plain(document) | {"run": None, "created": None})


def test_the_test_is_none_of_the_specification() -> None:
    assert not REAL_WORLD.keys() & STANDARD.keys()


def test_mix_efficiency_is_that_of_the_harmonic_composition(mixed: Path) -> None:
    """By hand: the time of a mean request, share by share, times the rate of the mix."""
    results = plain(run(mixed, time_base="scaled").results)
    assert results["tests"] == ["multi", "streams"]
    streams = results["streams"]
    assert {one["label"] for one in streams} >= {"RND 4 KiB R", "RND 4 KiB W", "SEQ 16 KiB W"}
    assert sum(one["share"] for one in streams) == pytest.approx(1, abs=1e-12)
    mean_s = 0.0
    for one in streams:
        mean_s += one["share"] / one["alone"]["iops"]
    assert results["mix_efficiency"] == pytest.approx(results["mix"]["iops"] * mean_s, rel=1e-12)
    assert results["attained"]
    # Bytes of a mean request, from the shares: 3/4 of 4 KiB and 1/4 of 16 KiB.
    size = results["mix"]["mb_s"] * 1e6 / results["mix"]["iops"]
    assert size == pytest.approx(7168, rel=0.05)
    # Sequential writes alone leave nothing to collect, random ones do.
    waf = {one["label"]: one["alone"]["waf"] for one in streams}
    assert waf["SEQ 16 KiB W"] == pytest.approx(1, abs=0.02)
    assert waf["RND 4 KiB W"] > 1.5
    assert waf["RND 4 KiB R"] is None


def test_a_mix_of_one_stream_is_as_fast_as_the_stream(tmp_path: Path) -> None:
    path = saved(tmp_path, [(0.1 * at + 0.01, "read", 8192 * at, 4096) for at in range(20)])
    results = run(path, time_base="scaled").results
    assert len(results.streams) == 1
    assert results.mix_efficiency == pytest.approx(1, abs=0.02)


def test_one_request_at_a_time_takes_the_sum_of_the_times(tmp_path: Path) -> None:
    """Reads of two sizes that never meet: the composition is exact, and the efficiency 1."""
    draw = random.Random(2)  # noqa: S311 (a test)
    rows = [
        (0.01 * at + 0.003, "read", draw.randrange(1 << 20) << 16, 4096 if at % 3 else 16384)
        for at in range(60)
    ]
    results = run(saved(tmp_path, rows), time_base="scaled", threads=1, queue_depth=1).results
    assert [round(one.share, 3) for one in results.streams] == [0.667, 0.333]
    assert results.mix_efficiency == pytest.approx(1, abs=0.02)


def test_two_runs_give_the_efficiency_together(mixed: Path, tmp_path: Path) -> None:
    files, halves = {}, {}
    for name in ("multi", "streams"):
        document = run(mixed, tests=name)
        files[name] = tmp_path / f"{name}.json"
        files[name].write_text(readable_json(plain(document)))
        assert document.results.mix_efficiency is None
        halves[name] = document.results
    mean_s = sum(one.share / one.alone.iops for one in halves["streams"].streams)
    for name, other in (("multi", "streams"), ("streams", "multi")):
        found = run(mixed, tests=name, other=str(files[other])).results
        right = pytest.approx(halves["multi"].mix.iops * mean_s, rel=1e-12)
        assert found.mix_efficiency == right
        assert found.other == json.loads(files[other].read_text())["digest"]
    for options, words in (
        ({"tests": "multi", "other": str(files["multi"])}, "has no `streams`"),
        ({"tests": "multi,streams", "other": str(files["multi"])}, "one of multi and streams"),
        ({"tests": "multi", "streams": 2, "other": str(files["streams"])}, "streams"),
        ({"tests": "multi", "time_base": "scaled", "other": str(files["streams"])}, "time base"),
        (
            {"tests": "multi", "active_range_pct": 50.0, "other": str(files["streams"])},
            "another active range",
        ),
        ({"tests": "multi", "data": "file", "other": str(files["streams"])}, "data random"),
        ({"tests": "multi", "other": str(mixed)}, "opennandlab.pts/1"),
    ):
        with pytest.raises(ConfigError, match=rf"other: .*{words}"):
            run(mixed, **options)
    drive = SimulatedTarget("tlc_standard", SMALL | {"nand.blocks_per_plane": 68})
    with pytest.raises(ConfigError, match="another device"):
        run(mixed, drive, tests="multi", other=str(files["streams"]))
    worn = json.loads(files["streams"].read_text())
    worn["header"]["target"]["state"] = {
        "name": "old", "erase_count_mean": 1500.0, "rated_pe_cycles": 3000, "lost_blocks": 0,
        "image_sha256": None,
    }  # fmt: skip
    files["streams"].write_text(readable_json(worn | {"digest": digest(worn)}))
    with pytest.raises(ConfigError, match="another state of the drive"):
        run(mixed, tests="multi", other=str(files["streams"]))


def test_the_replay_has_the_counts_and_pauses_of_the_capture(mixed: Path) -> None:
    steps = json.loads(mixed.read_text())["steps"]
    found = run(mixed, tests="replay", time_base="scaled")
    replay = found.results.replay
    assert len(replay) == len(steps) == 4
    asked = [sum(count for _, count in step["counts"]) for step in steps]
    assert [step.requests for step in replay] == asked
    # No response times: 2 threads of depth 4, and the rest of each second is a pause.
    assert {step.queue_depth for step in replay} == {8}
    # The last step is as long as what is left of the capture.
    lengths = [1, 1, 1, 399 * 0.0100007 - 3]
    assert [step.busy_s + step.idle_s for step in replay] == pytest.approx(lengths)
    assert all(step.mb_s is not None for step in replay)
    assert found.results.mix is None


def test_a_step_keeps_the_queue_depth_and_idle_time_of_the_capture(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    rows = [(at * 0.1 + 0.013, 4096 * 7 * at, 0.25) for at in range(20)]
    trace.write_text("".join(
        f"{10**17 + round(at * 10**7)},hm,0,Write,{begin},4096,{round(took * 10**7)}\n"
        for at, begin, took in rows
    ))  # fmt: skip
    path = tmp_path / "capture.json"
    document = plain(capture([[str(trace)]], READING, step="1s"))
    path.write_text(readable_json(document))
    replay = run(path, tests="replay").results.replay
    for mine, step in zip(replay, document["steps"], strict=True):
        assert mine.queue_depth == round(step["queue_depth"]) == 2
        assert mine.idle_s == step["idle_s"]


def test_a_sweep_has_49_cells_of_the_mix(mixed: Path) -> None:
    target = FakeTarget()
    found = run(mixed, target, tests="sweep")
    grid = next(table for table in found.tables if table.id == "iops")
    assert (len(grid.rows), len(grid.columns)) == (7, 7)
    cells = [one for one, _, _ in target.asked if one.streams and one.read_pct > 0]
    assert {(one.threads, one.queue_depth) for one in cells} == {
        (tc, qd) for tc in (1, 2, 4, 6, 8, 16, 32) for qd in (1, 2, 4, 6, 8, 16, 32)
    }  # fmt: skip
    assert found.results.sweep.pattern.read_pct == pytest.approx(50, abs=1)
    before = [one for one, _, _ in target.asked if one.streams and one.read_pct == 0]
    assert all(not part.is_read for one in before for part in one.streams)
    assert before


def test_a_run_that_was_cut_ends_with_the_same_bytes(mixed: Path, tmp_path: Path) -> None:
    options = {"tests": "multi,replay", "capture": str(mixed)}
    settings = Settings(time_base="smoke", options=options)

    def drive() -> SimulatedTarget:
        return SimulatedTarget("tlc_standard", SMALL)

    whole = to_bytes(run_test(TEST, drive(), settings=settings))
    steps = {"count": 0}

    class Cutting(SimulatedTarget):
        def run(self, *arguments: Any, **named: Any) -> Any:
            steps["count"] += 1
            if steps["count"] == 6:
                raise KeyboardInterrupt
            return super().run(*arguments, **named)

    place = Place(tmp_path / "run")
    (tmp_path / "run").mkdir()
    with pytest.raises(Cut):
        run_test(TEST, Cutting("tlc_standard", SMALL), settings=settings, place=place,
                 checkpoint_s=0.0)  # fmt: skip
    cut = tmp_path / "cut"
    shutil.copytree(tmp_path / "run", cut)
    again = run_test(TEST, drive(), settings=settings, place=Place(tmp_path / "run", resume=True))
    assert to_bytes(again) == whole
    # Another capture under the same name is noticed.
    document = json.loads(mixed.read_text()) | {"name": "other"}
    mixed.write_text(readable_json(document | {"digest": digest(document)}))
    with pytest.raises(BrokenError, match="step 0 is `input"):
        run_test(TEST, drive(), settings=settings, place=Place(cut, resume=True))


def test_what_cannot_be_is_refused_before_anything_runs(mixed: Path, tmp_path: Path) -> None:
    target = FakeTarget()
    with pytest.raises(ConfigError, match="capture: is missing; accepted"):
        run_test(TEST, target, settings=Settings())
    with pytest.raises(ConfigError, match="test: `nope` is not a test; accepted: multi"):
        run(mixed, target, tests="nope")
    with pytest.raises(ConfigError, match="streams: 0 is too small"):
        run(mixed, target, streams=0)
    (tmp_path / "other.json").write_text('{"streams": []}')
    with pytest.raises(ConfigError, match=r"no `schema` of ours.*`trace capture` makes one"):
        run(tmp_path / "other.json", target)
    with pytest.raises(ConfigError, match="ar-amount: segments"):
        run_test(TEST, target, settings=Settings(
            ar_amount_bytes=8 << 20, ar_segments=4, options={"capture": str(mixed)}
        ))  # fmt: skip
    odd = saved(tmp_path, [(at * 0.3 + 0.01, "read", at * 8192, 1024) for at in range(9)])
    with pytest.raises(ConfigError, match="capture: the stream RND 1 KiB R: 1024 bytes"):
        run(odd, FakeTarget(sector_bytes=4096))
    whole = saved(tmp_path, [(float(at), "read", at * 8192, 4096) for at in range(9)])
    with pytest.raises(ConfigError, match=r"capture: no steps to replay \(all times are whole"):
        run(whole, target, tests="replay")
    assert not target.asked


def test_a_replay_of_short_steps_is_refused_on_real_targets(mixed: Path, tmp_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    words = ["pts", "rwsw", "--capture", mixed, "--target", f"file:{tmp_path}/d.img?size=64MiB",
             "--destructive", "--time-base", "smoke"]  # fmt: skip
    found = CliRunner().invoke(app, [str(word) for word in [*words, "--test", "replay"]])
    assert found.exit_code == 2
    assert "steps of 1 s, of which fio would take" in found.output
    words += ["--test", "multi,streams", "--streams", "2", "--json"]
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    results = json.loads(found.stdout)["results"]
    mean_s = sum(one["share"] / one["alone"]["iops"] for one in results["streams"])
    assert results["mix_efficiency"] == pytest.approx(results["mix"]["iops"] * mean_s)


def test_a_replay_of_many_steps_is_cut_in_the_middle_and_loads_are_named_once(
    tmp_path: Path,
) -> None:
    """290 steps filled four screens, and each tracked load had its name twice."""
    trace = [(0.01 * number, "read", 4096 * (number % 7), 4096) for number in range(100)]
    path = saved(tmp_path, trace, step="10ms")
    words = ["pts", "rwsw", "--capture", str(path), "--target", f"sim:{tmp_path}/d.yaml"]
    (tmp_path / "d.yaml").write_text(
        "nand: {channels: 1, dies_per_channel: 1, blocks_per_plane: 64, pages_per_block: 64}\n"
        "ftl: {over_provisioning_pct: 0.28}\n"
    )
    done = CliRunner().invoke(app, [*words, "--test", "replay"])
    assert "first and last of 100 rows" in done.output
    assert len([line for line in done.output.splitlines() if "│" in line]) < 30
    assert "mix efficiency" not in done.output
    done = CliRunner().invoke(app, [*words, "--test", "multi"])
    assert "mix, IOPS" in done.output
    assert "mix: mix" not in done.output
