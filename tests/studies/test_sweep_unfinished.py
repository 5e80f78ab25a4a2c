"""A point that was cut goes on from what it left, to the document of an undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opennandlab.base.campaign import Stopped
from opennandlab.store import Store
from opennandlab.store.unfinished import Unfinished
from opennandlab.studies.sweeps.definition import Sweep
from opennandlab.studies.sweeps.engine import Done, Threads, run_point
from opennandlab.studies.sweeps.point import Point

SMALL = {"nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
                  "blocks_per_plane": 32, "pages_per_block": 32}}  # fmt: skip
TEST = {"run": "pts.throughput", "device": SMALL, "pts": {"time_base": "smoke"}, "points": [{}]}
CODE = {"run": "ecc.curve", "code": "bch:m=13,t=8,data_bits=4096", "method": "monte_carlo",
        "errors": 400, "points": [{"x": 5e-4}]}  # fmt: skip


def only_point(asked: dict) -> Point:
    sweep = Sweep.of(asked)
    return sweep.point(sweep.cells[0], 0)


def run(point: Point, unfinished: Unfinished | None, calls: int | None = None) -> Done:
    """Run a point; with `calls`, cut it when its watcher was called so often."""
    seen = 0

    def watch(_share: float | None) -> None:
        nonlocal seen
        seen += 1
        if calls is not None and seen > calls:
            raise Stopped

    return run_point(
        point.verb, point.key, point.settings, point.seed, watch, unfinished=unfinished
    )


@pytest.mark.parametrize(("asked", "calls"), [(TEST, 60), (CODE, 3)], ids=["pts", "ecc"])
def test_a_cut_point_goes_on_and_ends_with_the_same_document(tmp_path, asked, calls):
    point, unfinished = only_point(asked), Unfinished(tmp_path)
    whole = run(point, None)
    assert whole.error is None
    with pytest.raises(Stopped):
        run(point, unfinished, calls)
    assert unfinished.keys() == [point.key]
    assert unfinished.bytes() > 0
    again = run(point, unfinished)
    assert again.error is None
    assert again.document == whole.document


def test_what_was_counted_is_not_counted_again(tmp_path):
    point, unfinished = only_point(CODE), Unfinished(tmp_path)
    shares: list[float] = []

    def watch(share: float | None) -> None:
        shares.append(share or 0.0)
        if shares[-1] > 0.1:
            raise Stopped

    def cut() -> float:
        """Run until a tenth is done, and return the share that was told first."""
        shares.clear()
        with pytest.raises(Stopped):
            run_point(
                point.verb, point.key, point.settings, point.seed, watch, unfinished=unfinished
            )
        return shares[0]

    cut()
    kept = shares[-1]
    assert cut() >= kept


def test_what_another_build_left_or_a_crash_damaged_is_begun_anew(tmp_path):
    for asked, name in ((TEST, "throughput.journal.jsonl"), (CODE, "curve.json")):
        point, unfinished = only_point(asked), Unfinished(tmp_path)
        place = unfinished.folder / point.key
        place.mkdir(parents=True)
        (place / name).write_text("{nothing of ours", encoding="utf-8")
        found = run(point, unfinished)
        assert found.error is None
        assert found.document == run(point, None).document


def test_a_point_that_another_process_holds_runs_from_the_start(tmp_path):
    unfinished = Unfinished(tmp_path)
    key = "ab" * 32
    with unfinished.held(key) as ours, Unfinished(tmp_path).held(key) as theirs:
        assert ours is not None
        assert theirs is None
        (ours / "kept").write_text("x", encoding="utf-8")
        assert unfinished.drop([key]) == 0
    assert unfinished.drop([key, "cd" * 32]) == 1
    assert unfinished.keys() == []


def test_a_store_that_cannot_be_written_keeps_nothing_of_what_is_under_way(tmp_path):
    (tmp_path / "unfinished").write_text("a file is in the way", encoding="utf-8")
    with Unfinished(tmp_path).held("ab" * 32) as place:
        assert place is None


def test_a_finished_point_leaves_nothing(tmp_path):
    with Store.open(tmp_path) as store:
        from opennandlab.studies.sweeps.runner import Run

        rows = Run(Sweep.of(TEST), store).to_the_end(Threads(1, store.unfinished))
        assert [row.error for row in rows] == [None]
        assert store.unfinished.keys() == []
        assert list(store.unfinished.folder.iterdir()) == []


@pytest.mark.always
def test_a_killed_sweep_goes_on_in_the_middle_of_its_point(tmp_path):
    words = ["sweep", "ecc.curve", "--set", "code=bch:m=13,t=8,data_bits=4096", "--set",
             "method=monte_carlo", "--set", "errors=1000000", "--set", "max_frames=20000000",
             "--vary", "x=5e-4", "--store", "kept"]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "opennandlab", *words], cwd=tmp_path, env=os.environ,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        unfinished = Unfinished(tmp_path / "kept")
        counts: list[Path] = []
        deadline = time.monotonic() + 120
        while not counts and process.poll() is None and time.monotonic() < deadline:
            counts = list(unfinished.folder.glob("*/curve.json"))
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait(20)
    assert len(counts) == 1
    listed = subprocess.run(
        [sys.executable, "-m", "opennandlab", "runs", "list", "--store", "kept"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "1 point begun and not finished" in listed.stderr
    dropped = subprocess.run(
        [sys.executable, "-m", "opennandlab", "runs", "rm", "--unfinished", "--yes", "--store",
         "kept"], cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "removed 1 point that had not finished" in dropped.stderr
    assert unfinished.keys() == []
