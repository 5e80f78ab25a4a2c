"""Policies of the user's own decide like built-in ones, are recorded, and cannot break a drive."""

from __future__ import annotations

import ctypes
import json
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opennandlab as onl
from conftest import COMMAND
from opennandlab import policies
from places import FOLDER, ROOT

HERE = FOLDER / "policies"
sys.path.insert(0, str(HERE))

import policy_cases as mine  # noqa: E402 (as a user's script has it)

# They run what their devices and results name.
pytestmark = pytest.mark.usefixtures("allowed")

# The built-in greedy again, in C.
GREEDY_C = """
#include <stdint.h>
int64_t greedy(uint64_t now, uint32_t die, uint32_t pages_per_block, uint32_t block_count,
               const uint32_t *live, const uint32_t *erase_counts, const uint64_t *closed_at,
               const int64_t *rank, const uint8_t *states)
{
    int64_t victim = -1;
    for (uint32_t block = 0; block < block_count; block++) {
        if (states[block] != 2 || rank[block] == INT64_MAX || live[block] > pages_per_block)
            continue;
        if (victim < 0 || live[block] < live[victim]
            || (live[block] == live[victim] && rank[block] < rank[victim]))
            victim = block;
    }
    return victim;
}
int64_t full(void) { return -1; }
"""
WORK: dict[str, Any] = {
    "name": "work",
    "pattern": {"kind": "hot_cold", "fraction": 0.2, "share": 0.8},
    "trim_pct": 5,
    "block_size_bytes": {"4096": 3, "16384": 1},
    "total": {"drive_writes": 3},
    "precondition": [{"kind": "sequential_fill"}],
}
OFFER = '__opennandlab__ = {"policies": ["Greedy"]}\n'
# Each way in which a drive may use its blocks.
DRIVES: dict[str, dict[str, Any]] = {
    "single": {},
    "host_gc": {"write_frontiers": "host_gc", "wear_leveling": {"kind": "static", "threshold": 3}},
    "steps": {"collection": "steps", "allocation": "dynamic", "write_frontiers": "host_gc"},
    "superblocks": {"allocation": "superblock", "gc_reserve_blocks": 4},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("native")
    (folder / "greedy.c").write_text(GREEDY_C, encoding="utf-8")
    command = [compiler, "-O2", "-shared", "-fPIC", "greedy.c", "-o", "greedy.so"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return ctypes.CDLL(str(folder / "greedy.so"))


def drive(small: dict[str, Any], **ftl: Any) -> dict[str, Any]:
    small["ftl"] |= ftl
    return small


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("shape", DRIVES)
@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("greedy", mine.Greedy),
        ("greedy", mine.ByRank()),
        ("greedy", mine.first),
        ("cost_benefit", mine.CostBenefit),
    ],
)
def test_a_built_in_policy_written_in_python_gives_its_metrics(
    small: Any, kind: str, own: Any, shape: str, timed: Any
) -> None:
    device = drive(small, **DRIVES[shape])
    work = WORK | {"timed": timed}
    built_in = onl.benchmark(drive(device, gc_policy=kind), work, seed=3)
    result = onl.benchmark(device, work, seed=3, gc_policy=own)
    assert built_in.metrics["gc_cycles"] > 100
    assert result.metrics == built_in.metrics
    assert result.passed


def test_a_native_function_gives_the_metrics_of_greedy(
    small: Any, short: Any, library: ctypes.CDLL
) -> None:
    own = policies.FUNCTION(("greedy", library))
    result = onl.benchmark(small, short, gc_policy=own)
    assert result.metrics == onl.benchmark(small, short).metrics
    record = result.document["device"]["ftl"]["gc_policy"]
    assert (record["kind"], record["source_sha256"], record["object"]) == ("python", None, True)


def test_a_native_function_is_called_on_every_thread(small: Any, library: ctypes.CDLL) -> None:
    small["nand"] |= {"channels": 4, "blocks_per_plane": 256}
    work = WORK | {"pattern": "random", "timed": False, "block_size_bytes": 4096, "trim_pct": 0}
    own = policies.FUNCTION(("greedy", library))
    found = []
    for threads in (1, 4):
        onl.set_threads(threads)
        found.append(onl.benchmark(small, work, gc_policy=own).digest)
        found.append(onl.benchmark(small, work, gc_policy=own).digest)
    onl.set_threads(None)
    assert len(set(found)) == 1


def test_a_function_of_numba_gives_the_metrics_of_greedy(small: Any, short: Any) -> None:
    numba = pytest.importorskip("numba", reason="numba is not installed")

    # A policy is given all that is known, whatever it needs.
    @numba.cfunc(policies.SIGNATURE)  # type: ignore[untyped-decorator, unused-ignore]
    def greedy(  # type: ignore[no-untyped-def]
        _now, _die, _pages, block_count, live, _erase_counts, _closed_at, rank, _states
    ):
        victim = -1
        lives = numba.carray(live, block_count)
        ranks = numba.carray(rank, block_count)
        for block in range(lives.size):
            if ranks[block] == policies.NO_RANK:
                continue
            better = victim < 0 or lives[block] < lives[victim]
            equal = victim >= 0 and lives[block] == lives[victim]
            if better or (equal and ranks[block] < ranks[victim]):
                victim = block
        return victim

    result = onl.benchmark(small, short, gc_policy=greedy)
    assert result.metrics == onl.benchmark(small, short).metrics
    assert result.document["device"]["ftl"]["gc_policy"]["source_sha256"] is not None

    @numba.cfunc("int64(int64)")  # type: ignore[untyped-decorator, unused-ignore]
    def other(now):  # type: ignore[no-untyped-def]
        return now

    with pytest.raises(onl.ConfigError, match=r"signature int64\(int64\); accepted: int64\(uint"):
        onl.benchmark(small, short, gc_policy=other)


def test_a_native_function_of_another_signature_is_refused(
    small: Any, short: Any, library: ctypes.CDLL
) -> None:
    with pytest.raises(onl.ConfigError, match=r"has the signature c_int\(\); accepted: c_long\("):
        onl.benchmark(small, short, gc_policy=library.full)
    wrong = policies.FUNCTION(("full", library))
    with pytest.raises(onl.PolicyError, match=r"block -1 of die \d is out of range"):
        onl.benchmark(small, short, gc_policy=wrong)


class Watching(mine.Greedy):
    """Greedy that remembers what it saw of die 0."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def choose(self, pool: Any) -> Any:
        victim = super().choose(pool)
        arrays = (pool.live, pool.erase_counts, pool.closed_at, pool.rank, pool.states)
        if pool.die == 0:
            copies = tuple(array.copy() for array in arrays)
            self.seen.append((pool, pool.now, pool.order.copy(), copies, pool.age, int(victim)))
        return victim


def test_a_pool_shows_what_the_drive_does(small: Any) -> None:
    policy = Watching()
    simulation = onl.Simulation(small, seed=4, gc_policy=policy)
    work = {"pattern": "random", "timed": False, "total": {"drive_writes": 2}}
    result = simulation.run({**work, "precondition": [{"kind": "sequential_fill"}]})
    pools = {id(seen[0]) for seen in policy.seen}
    pool = policy.seen[0][0]
    assert len(pools) == 1
    assert (pool.block_count, pool.pages_per_block, pool.die) == (64, 32, 0)
    assert repr(pool) == "<Pool of die 0: 64 blocks>"
    arrays = [pool.live, pool.erase_counts, pool.closed_at, pool.rank, pool.states, pool.order]
    assert [array.dtype.name for array in arrays] == [
        "uint32", "uint32", "uint64", "int64", "uint8", "uint32",
    ]  # fmt: skip
    assert not any(array.flags.writeable or array.flags.owndata for array in arrays)
    clock, erased = 0, np.zeros(64, dtype=np.uint32)
    for _, now, order, (live, erases, closed_at, rank, states), age, victim in policy.seen:
        assert now >= clock
        assert (closed_at <= now).all()
        assert (age == now - closed_at).all()
        assert sorted(order) == np.flatnonzero(rank != policies.NO_RANK).tolist()
        assert (states[order] == policies.State.CLOSED).all()
        assert (live <= 32).all()
        assert victim == min(order, key=lambda block: (live[block], rank[block]))
        # What was chosen was erased, and nothing else was.
        assert (erases == erased).all()
        erased[victim] += 1
        clock = now
    mean = result.metrics["wear"]["mean"]
    assert mean == pytest.approx(erased.sum() / 64, rel=0.2)


def test_a_class_is_made_for_each_pool_and_an_object_serves_all(small: Any, short: Any) -> None:
    class Counted(mine.Greedy):
        pools: list[set[int]] = []  # noqa: RUF012 (shared on purpose)

        def __init__(self) -> None:
            self.mine: set[int] = set()
            self.pools.append(self.mine)

        def choose(self, pool: Any) -> Any:
            self.mine.add(pool.die)
            return super().choose(pool)

    onl.benchmark(small, short, gc_policy=Counted)
    assert Counted.pools == [{0}, {1}]
    one = Counted()
    onl.benchmark(small, short, gc_policy=one)
    assert one.mine == {0, 1}


def test_a_policy_is_asked_once_for_each_victim(small: Any, short: Any) -> None:
    calls = []

    def counted(pool: Any) -> Any:
        calls.append(pool.die)
        return pool.order[0]

    result = onl.benchmark(small, short, gc_policy=counted)
    total = result.document["metrics"]["gc_cycles"]
    assert total <= len(calls) <= total * 2 + 20  # those of the preconditioning too


WRONG = [
    ("opened", "is open; "),
    ("erased", "is erased; "),
    ("beyond", "block 64 of die 1 is out of range: die 1 has blocks 0 to 63; "),
    ("negative", "block -1 of die 1 is out of range: die 1 has blocks 0 to 63; "),
    ("none", "returned `None` (NoneType) for die 1; accepted: the number of a block"),
    ("half", "returned `0.5` (float) for die 1; "),
    ("yes", "returned `True` (bool) for die 1; "),
    ("huge", "returned `1000000000000000000000000000000` (int) for die 1; "),
]


@pytest.mark.parametrize(("name", "words"), WRONG)
def test_a_wrong_choice_names_the_block_and_the_candidates(
    small: Any, short: Any, name: str, words: str, tmp_path: Path
) -> None:
    frontiers = drive(small, write_frontiers="host_gc", gc_reserve_blocks=4)
    simulation = onl.Simulation(frontiers, gc_policy=getattr(mine, name))
    with pytest.raises(onl.PolicyError) as refusal:
        simulation.run(short)
    message = str(refusal.value)
    assert f"the policy `policy_cases:{name}` " in message
    assert words in message
    assert " candidates: " in message
    whole(simulation, tmp_path)


def test_a_bad_block_is_no_victim(small: Any, short: Any, tmp_path: Path) -> None:
    small["nand"]["factory_bad_block_ratio"] = 0.05
    simulation = onl.Simulation(small, gc_policy=mine.bad)
    with pytest.raises(onl.PolicyError, match=r"block \d+ of die 1 is bad; \d+ candidates: "):
        simulation.run(short)
    whole(simulation, tmp_path)


def whole(simulation: onl.Simulation, folder: Path) -> None:
    """The drive passes its audit, is saved, and goes on with a sound policy."""
    assert simulation._core.audit() is None
    simulation.save(folder / "drive.onl")
    name = simulation.device["ftl.gc_policy.name"].partition(":")[2]
    again = onl.Simulation.load(folder / "drive.onl", gc_policy=getattr(mine, name))
    assert again._core.audit() is None


def test_what_a_policy_raises_is_raised_and_the_drive_is_whole(
    small: Any, short: Any, tmp_path: Path
) -> None:
    simulation = onl.Simulation(small, gc_policy=mine.raises)
    with pytest.raises(KeyError) as raised:
        simulation.run(short)
    frames = [frame.name for frame in raised.traceback]
    assert frames[-1] == "raises"
    note = "in the policy `policy_cases:raises`, asked for a victim of die 1"
    assert raised.value.__notes__ == [note]
    whole(simulation, tmp_path)
    with pytest.raises(KeyError):  # asked again, it fails again
        simulation.run(short)


def test_a_drive_goes_on_after_a_policy_has_failed_once(small: Any, short: Any) -> None:
    class Once(mine.Greedy):
        calls = 0

        def choose(self, pool: Any) -> Any:
            self.calls += 1
            if self.calls == 100:
                raise ValueError("once")
            return super().choose(pool)

    simulation = onl.Simulation(small, gc_policy=Once())
    with pytest.raises(ValueError, match="once"):
        simulation.run(short)
    result = simulation.run(short)
    assert result.passed


def test_an_interruption_inside_a_policy_keeps_the_metrics(small: Any, short: Any) -> None:
    class Pressed(mine.Greedy):
        calls = 0

        def choose(self, pool: Any) -> Any:
            self.calls += 1
            if self.calls == 300:
                raise KeyboardInterrupt
            return super().choose(pool)

    with pytest.raises(onl.Interrupted) as interrupted:
        onl.benchmark(small, short, gc_policy=Pressed())
    partial = interrupted.value.result
    assert partial is not None
    assert partial.partial
    assert partial.metrics["waf"] > 1


def test_a_policy_that_wins_hardly_any_room_ends(small: Any, short: Any) -> None:
    small["ftl"] = {"over_provisioning_pct": 0.12}
    result = onl.benchmark(small, short, gc_policy=mine.fullest)
    assert result.metrics.get("waf", 99) > 5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("policy_cases:nothing", "`policy_cases:nothing` (int) cannot be asked; accepted: an ob"),
        (
            "policy_cases:missing",
            "policy_cases.py does not offer `missing` under policies; accepted: what a line",
        ),
        ("no_such_module:Greedy", "there is no module `no_such_module` where Python looks"),
        ("no_such/file.py:Greedy", "cannot read no_such/file.py: No such file or directory"),
        ("policy_cases:", "`policy_cases:` names nothing; accepted: module:name"),
        ({"kind": "policy_cases:Weighted", "weigt": 1}, "unexpected keyword argument 'weigt'; ac"),
        ({"kind": "policy_cases:first", "d": 1}, "is not a class and takes no parameters: d"),
        ({"kind": "sys:path"}, "the module `sys` has no file"),
        ("gredy", "unknown variant `gredy`"),
    ],
)
def test_a_name_that_leads_to_no_policy_is_refused(small: Any, given: Any, words: str) -> None:
    with pytest.raises(onl.ConfigError) as refusal:
        onl.load_device(drive(small, gc_policy=given))
    assert words in str(refusal.value)
    assert refusal.value.path == "ftl.gc_policy"


def test_a_module_that_cannot_be_run_says_where(small: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(OFFER + "1 / 0\n", encoding="utf-8")
    with pytest.raises(onl.ConfigError, match=r"ZeroDivisionError: .*broken.py, line 2"):
        onl.load_device(drive(small, gc_policy=f"{tmp_path}/broken.py:Greedy"))


def test_parameters_become_keyword_arguments(small: Any, short: Any) -> None:
    given = {"kind": "policy_cases:Weighted", "weight": 2.5, "keep": 1}
    device = onl.load_device(drive(small, gc_policy=given))
    record = device["ftl.gc_policy"]
    assert dict(record["parameters"]) == {"weight": 2.5, "keep": 1}
    results = {
        weight: onl.benchmark(
            device.replace({"ftl.gc_policy": given | {"weight": weight}}), short
        ).metrics
        for weight in (0.0, 50.0)
    }
    assert results[0.0] == onl.benchmark(drive(small, gc_policy="greedy"), short).metrics
    assert results[50.0]["wear"]["stddev"] < results[0.0]["wear"]["stddev"]
    assert results[50.0]["waf"] > results[0.0]["waf"]


def test_a_resolved_device_names_the_source_and_is_read_again(small: Any) -> None:
    device = onl.load_device(drive(small, gc_policy="policy_cases:Greedy"))
    record = device["ftl.gc_policy"]
    assert record["name"] == "policy_cases:Greedy"
    assert record["source_sha256"] == policies_hash()
    assert onl.load_device(device.to_dict()) == device
    assert pickle.loads(pickle.dumps(device)) == device
    by_object = onl.load_device(small).with_policy(mine.Greedy)
    assert by_object == device
    changed = device.to_dict()
    changed["ftl"]["gc_policy"]["source_sha256"] = "0" * 64
    with pytest.raises(onl.ConfigError, match="another source than the one recorded"):
        onl.load_device(changed)


def policies_hash() -> str:
    import hashlib

    return hashlib.sha256((HERE / "policy_cases.py").read_bytes()).hexdigest()


def test_a_built_in_policy_records_no_source(small: Any, short: Any) -> None:
    result = onl.benchmark(small, short)
    assert result.document["device"]["ftl"]["gc_policy"] == {"kind": "greedy"}


def test_a_result_is_verified_with_the_same_source_alone(
    small: Any, short: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "own_policy.py"
    text = (HERE / "policy_cases.py").read_text(encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    onl.benchmark(drive(small, gc_policy="own_policy.py:Greedy"), short).save("result.json")
    assert onl.verify("result.json").identical
    source.write_text(text + "# changed\n", encoding="utf-8")
    with pytest.raises(onl.ConfigError, match="is another source than the one recorded"):
        onl.verify("result.json")
    source.unlink()
    with pytest.raises(onl.ConfigError, match=r"cannot read own_policy.py"):
        onl.verify("result.json")


def test_a_result_of_an_object_is_verified_with_that_object(
    small: Any, short: Any, tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    onl.benchmark(small, short, gc_policy=mine.Weighted(50.0)).save(path)
    with pytest.raises(onl.ConfigError, match="was passed as an object"):
        onl.verify(path)
    assert onl.verify(path, gc_policy=mine.Weighted(50.0)).identical
    assert not onl.verify(path, gc_policy=mine.Weighted(0.0)).identical
    with pytest.raises(onl.ResultError, match="the result was made with the policy"):
        onl.verify(path, gc_policy=mine.Greedy)
    onl.benchmark(small, short, gc_policy=mine.ready).save(path)
    assert onl.verify(path).identical  # a name leads to it


def test_an_image_holds_the_candidates_and_goes_on(small: Any, short: Any, tmp_path: Path) -> None:
    found = []
    for own in (None, mine.Greedy, mine.CostBenefit):
        simulation = onl.Simulation(small, seed=2, gc_policy=own)
        simulation.run({**short, "timed": False})
        simulation.save(tmp_path / "drive.onl")
        again = onl.Simulation.load(tmp_path / "drive.onl", seed=2)
        assert again._core.audit() is None
        found.append(again.run(short | {"precondition": []}).metrics)
        copy = pickle.loads(pickle.dumps(simulation))
        goes_on = short | {"precondition": [], "timed": False}
        assert copy.run(goes_on).metrics["waf"] == simulation.run(goes_on).metrics["waf"]
    assert found[0] == found[1] != found[2]
    with pytest.raises(onl.ConfigError, match="accepted: the policy that it was saved with"):
        onl.Simulation.load(tmp_path / "drive.onl", gc_policy=mine.Greedy)


def test_a_standard_test_asks_the_policy(small: Any) -> None:
    from opennandlab.targets.base import Limit, Stimulus
    from opennandlab.targets.simulated import SimulatedTarget

    def waf(policy: str) -> Any:
        target = SimulatedTarget(drive(small, gc_policy=policy))
        for _ in range(2):  # the policy is asked after a purge too
            target.purge()
            target.run(Stimulus("sequential"), Limit(bytes=target.capacity_bytes), seed=1)
            found = target.run(Stimulus("random"), Limit(bytes=target.capacity_bytes), seed=1)
        target.audit()
        return found.inside

    assert waf("policy_cases:Greedy") == waf("greedy")


def onl_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(HERE / "policy_cases.py", folder)
    return subprocess.run(
        [str(COMMAND), *arguments], cwd=folder, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


BENCH = ("benchmark", "-w", "short.yaml", "-c", "small.yaml", "--quiet", "--set")


def test_the_command_line_takes_names_and_files(folder: Path) -> None:
    metrics = []
    for policy in ("greedy", "policy_cases:Greedy", "./policy_cases.py:Greedy"):
        done = onl_command(folder, *BENCH, f"ftl.gc_policy={policy}", "-o", "result.json")
        assert done.returncode == 0, done.stderr
        metrics.append(json.loads((folder / "result.json").read_text())["metrics"])
    assert metrics[0] == metrics[1] == metrics[2]
    assert onl_command(folder, "verify", "result.json", "--allow-code").returncode == 0
    (folder / "policy_cases.py").write_text("Greedy = 3\n", encoding="utf-8")
    words = [str(COMMAND), "verify", "result.json", "--allow-code"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is another source than the one recorded" in done.stderr


def test_the_command_line_shows_the_traceback_and_exits_with_1(folder: Path) -> None:
    for name, words in (
        ("raises", "KeyError: 1\n"),
        ("opens", "No such file or directory: 'no/such/file'\n"),
        ("Unmade", "RuntimeError: not today\n"),
        ("writes", "ValueError: assignment destination is read-only\n"),
    ):
        done = onl_command(folder, *BENCH, f"ftl.gc_policy=policy_cases:{name}", "--json")
        assert done.returncode == 1
        assert "Traceback (most recent call last)" in done.stderr
        assert words in done.stderr
        assert f"in the policy `policy_cases:{name}`" in done.stderr
        assert json.loads(done.stdout)["error"]["exit_code"] == 1
    done = onl_command(folder, *BENCH, "ftl.gc_policy=policy_cases:none")
    assert done.returncode == 1
    assert "error: the policy `policy_cases:none` returned `None`" in done.stderr
    assert "Traceback" not in done.stderr


STUCK = """
import pathlib

__opennandlab__ = {"policies": ["stuck"]}


def stuck(pool):
    pathlib.Path("asked").touch()
    while True:
        pass
"""
SWEEP = ("sweep", "-c", "small.yaml", "-w", "short.yaml", "--store", "store", "--seeds", "2")


@pytest.mark.parametrize(
    "command",
    [
        (*BENCH, "ftl.gc_policy=stuck:stuck", "-o", "part.json"),
        (*SWEEP, "--vary", "ftl.gc_policy=stuck:stuck"),
    ],
)
def test_ctrl_c_ends_a_policy_that_never_ends(folder: Path, command: tuple[str, ...]) -> None:
    marker = folder / "asked"
    (folder / "stuck.py").write_text(STUCK, encoding="utf-8")
    process = subprocess.Popen(
        [str(COMMAND), *command],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        while not marker.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, said
    if command[0] == "benchmark":
        assert json.loads((folder / "part.json").read_text())["partial"] is True


def test_a_sweep_takes_policies_as_values(folder: Path) -> None:
    done = onl_command(
        folder, "sweep", "-c", "small.yaml", "-w", "short.yaml", "--vary",
        "ftl.gc_policy=greedy,policy_cases:Greedy,policy_cases.py:CostBenefit", "--store", "store",
        "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["points"]
    wafs = [row["metrics"]["waf"] for row in rows]
    assert wafs[0] == wafs[1] != wafs[2]


def test_the_numba_policy_of_the_page_is_greedy(small: Any, short: Any, tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    from documents import blocks

    page = ROOT / "docs/policies.md"
    found = {block.file: block for block in blocks(page.read_text(encoding="utf-8"))}
    source = tmp_path / "numba_policies.py"
    source.write_text("\n".join(found["numba_policies.py"].lines), encoding="utf-8")
    device = drive(small, gc_policy=f"{source}:greedy")
    assert (
        onl.benchmark(device, short).metrics
        == onl.benchmark(small | {"ftl": {**small["ftl"], "gc_policy": "greedy"}}, short).metrics
    )
