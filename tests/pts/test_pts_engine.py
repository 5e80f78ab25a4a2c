"""The engine: order of cells, windows, steady state, documents, journal and resume."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fake_target import FakeTarget
from opennandlab.base.canonical import digest, readable_json
from opennandlab.base.errors import OutputError
from opennandlab.base.journal import JournalError
from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, Place, Settings, run_test
from opennandlab.pts.bench import engine, outlook
from opennandlab.pts.bench.document import to_bytes
from opennandlab.pts.bench.engine import Bench, Progress
from opennandlab.pts.bench.folder import prepared
from opennandlab.pts.bench.journal import Journal, measurement_from_dict, measurement_to_dict
from opennandlab.pts.bench.plan import make_plan
from opennandlab.pts.bench.rehearsal import rehearse
from opennandlab.pts.bench.rounds import CellPlan, Rounds, Tracking, until_steady
from opennandlab.pts.bench.runner import BrokenError, Cut
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Limit, Measurement, Requests, Stimulus, TargetError
from opennandlab.targets.simulated import SimulatedTarget

KIB = 1024
# 4 dies of 64 blocks of 32 pages: 32 MiB, and a smoke in a tenth of a second.
DRIVE: dict[str, Any] = {
    "nand": {
        "channels": 2,
        "dies_per_channel": 2,
        "planes_per_die": 1,
        "blocks_per_plane": 64,
        "pages_per_block": 32,
    },
    "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 8},
}
SMOKE = Settings(time_base="smoke", ss_max_rounds=6)


def document(
    test: str = "iops", target: FakeTarget | None = None, **changes: Any
) -> dict[str, Any]:
    chosen = Settings(**{"time_base": "smoke", **changes})
    return plain(run_test(TESTS[test], target or FakeTarget(), settings=chosen))


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    columns = found["cells"]["columns"]
    return [dict(zip(columns, row, strict=True)) for row in found["cells"]["rows"]]


def test_iops_cells_run_in_the_normative_order():
    cells = rows(document())
    first = [(cell["rw_pct"], cell["block_bytes"]) for cell in cells if cell["round"] == 1]
    sizes = [1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512]
    assert first == [(mix, size) for mix in (100, 95, 65, 50, 35, 5, 0) for size in sizes]
    assert len(first) == 56
    # Every round is the same, and nothing is discarded.
    rounds = cells[-1]["round"]
    assert [cell["round"] for cell in cells] == [
        number for number in range(1, rounds + 1) for _ in range(56)
    ]


def test_the_iops_table_has_small_blocks_and_writes_first():
    (table, *_) = document()["tables"]
    assert table["rows"] == ["0.5", "4", "8", "16", "32", "64", "128", "1024"]
    assert table["columns"] == ["0/100", "5/95", "35/65", "50/50", "65/35", "95/5", "100/0"]


def test_a_table_holds_the_means_of_the_window():
    found = document()
    window = found["steady_state"][0]["window"]
    cells = [
        cell["iops"]
        for cell in rows(found)
        if cell["round"] in window and (cell["rw_pct"], cell["block_bytes"]) == (35, 8 * KIB)
    ]
    assert len(cells) == 5
    assert found["tables"][0]["values"][2][2] == pytest.approx(sum(cells) / 5, rel=1e-12)


def test_latency_cells_run_in_order_with_one_request_at_a_time():
    cells = [cell for cell in rows(document("latency")) if cell["round"] == 1]
    sizes = (8 * KIB, 4 * KIB, 512)
    assert [(cell["rw_pct"], cell["block_bytes"]) for cell in cells] == [
        (mix, size) for mix in (100, 65, 0) for size in sizes
    ]
    assert {(cell["threads"], cell["queue_depth"]) for cell in cells} == {(1, 1)}


def test_throughput_purges_for_each_block_size_and_goes_on_where_it_ended():
    target = FakeTarget()
    found = document("throughput", target)
    names = [(phase["name"], phase.get("group")) for phase in found["phases"]]
    assert [name for name in names if name[0] != "round"] == [
        ("purge", "1024 KiB"),
        ("wipc", "1024 KiB"),
        ("purge", "128 KiB"),
        ("wipc", "128 KiB"),
    ]
    writes = [asked for asked, _, _ in target.asked if asked.read_pct == 0][1:]
    assert {asked.pattern for asked in writes} == {"sequential"}
    assert writes[0].start_bytes == 0
    assert writes[1].start_bytes > 0
    assert [entry["group"] for entry in found["steady_state"]] == ["1024 KiB", "128 KiB"]


def test_a_client_drive_is_tested_with_one_block_size():
    found = document("throughput", profile="C")
    assert [entry["group"] for entry in found["steady_state"]] == ["1024 KiB"]


def test_a_4kn_drive_drops_half_a_kib_and_says_so():
    found = document("iops", FakeTarget(sector_bytes=4096))
    assert "0.5" not in found["tables"][0]["rows"]
    assert any("no 0.5 KiB" in text for text in found["header"]["deviations"])
    assert found["header"]["conformance"] == "partial"


def test_version_2_tracks_three_values_and_version_1_one():
    labels = [entry["tracking"]["label"] for entry in document()["steady_state"]]
    assert labels == ["RND 4 KiB 0/100", "RND 64 KiB 65/35", "RND 1024 KiB 100/0"]
    old = document(pts_version="1.1")
    assert [entry["tracking"]["label"] for entry in old["steady_state"]] == ["RND 4 KiB 0/100"]


# Rounds against given series, without a drive.


def bench_for(series: dict[int, list[float]], **changes: Any) -> tuple[Bench, Callable[[int], Any]]:
    """Return a bench, and a round whose cells have the IOPS of the series."""
    plan = make_plan(TESTS["iops"], Settings(time_base="smoke", **changes), FakeTarget())
    bench = Bench(Given(series), plan)
    stimuli = [CellPlan(Stimulus(), Limit(ios=1), str(at)) for at in series]

    def run_round(_: int) -> Any:
        return [bench.measure(one.stimulus, one.limit, label=one.label) for one in stimuli]

    return bench, run_round


class Given(FakeTarget):
    """A target whose cells have given IOPS, in turn."""

    def __init__(self, series: dict[int, list[float]]) -> None:
        super().__init__()
        self.series, self.round, self.cell = series, 0, 0

    def run(self, *_: Any, **__: Any) -> Measurement:
        iops = self.series[self.cell][self.round]
        self.cell += 1
        if self.cell == len(self.series):
            self.cell, self.round = 0, self.round + 1
        seconds = 1000 / iops if iops else 1.0
        ios = 1000 if iops else 0
        latency = Histogram.of_bins([(1000, ios)])
        nothing = Requests(0, 0, Histogram.empty())
        return Measurement(
            seconds, seconds, nothing, Requests(ios, ios * 4096, latency), ios * 4096
        )


def rounds_of(series: dict[int, list[float]], **changes: Any) -> tuple[Rounds, Bench]:
    bench, run_round = bench_for(series, **changes)
    plan = CellPlan(Stimulus(), Limit(ios=1), "cell")
    tracked = [Tracking("iops", at, plan) for at in series]
    return until_steady(bench, run_round, tracked), bench


# The sequence vector of the specification of this project: steady first at round 12.
SEQUENCE = [5000, 3900, 3100, 2500, 2100, 1850, 1700, 1610, 1560, 1530, 1515, 1508.0]


def test_the_search_ends_at_the_first_steady_round():
    found, _ = rounds_of({0: SEQUENCE})
    assert (found.attained, found.count, found.window) == (True, 12, [8, 9, 10, 11, 12])
    entry = plain(found.records())[0]
    assert entry["round"] == 12
    assert len(entry["values_by_round"]) == 12
    assert entry["values"] == pytest.approx(SEQUENCE[7:])
    assert entry["excursion"] / entry["average"] == pytest.approx(0.06604, abs=1e-5)


def test_all_tracked_values_must_be_steady_in_the_same_window():
    flat = [100.0] * 12
    found, _ = rounds_of({0: flat, 1: SEQUENCE})
    assert found.count == 12
    entries = plain(found.records())
    assert [entry["attained"] for entry in entries] == [True, True]
    # One that was steady early and is not at the end keeps the search going.
    late = [100.0] * 8 + [200, 300, 400, 500.0]
    found, _ = rounds_of({0: late, 1: SEQUENCE}, ss_max_rounds=12)
    assert not found.attained
    assert [entry["steady"] for entry in plain(found.records())] == [False, True]


def test_after_the_last_round_it_is_not_attained_and_the_window_is_the_last_five():
    rising = [1000.0 * 1.2**number for number in range(25)]
    found, _ = rounds_of({0: rising})
    assert (found.attained, found.count) == (False, 25)
    assert found.window == [21, 22, 23, 24, 25]
    entry = plain(found.records())[0]
    assert entry["round"] is None
    assert entry["rounds_max"] == 25
    assert found.mean(0, "iops") == pytest.approx(sum(rising[20:]) / 5)


def test_rounds_after_the_fifth_can_be_asked_for():
    rising = [1000.0 * 1.2**number for number in range(7)]
    found, _ = rounds_of({0: rising}, ss_max_rounds=7)
    assert found.window == [3, 4, 5, 6, 7]


def test_zeros_are_an_error_and_never_steady():
    found, bench = rounds_of({0: [0.0] * 5}, ss_max_rounds=5)
    assert not found.attained
    assert plain(found.records())[0]["reason"] == "invalid"
    assert any("zero" in text for text in bench.record.warnings)


def test_not_attained_is_a_warning_of_the_document():
    class Rising(FakeTarget):
        def _waf(self, stimulus: Stimulus) -> float:
            return super()._waf(stimulus) * 1.01 ** len(self.asked)

    found = document("iops", Rising(), ss_max_rounds=5)
    assert "steady state NOT ATTAINED after 5 rounds" in found["warnings"]


def test_percentiles_of_a_window_are_of_all_its_requests():
    cells = 5
    found = document("latency")
    window = found["steady_state"][0]["window"]
    by_round = [
        cell
        for cell in rows(found)
        if cell["round"] in window and (cell["rw_pct"], cell["block_bytes"]) == (0, 4 * KIB)
    ]
    assert len(by_round) == cells
    # 200 requests are too few for 99 %, 1000 in the window are enough for it and not for 99.9 %.
    assert all(cell["lat_us_p99"] is None for cell in by_round)
    tables = {table["id"]: table for table in found["tables"]}
    assert tables["p99"]["values"][1][0] is not None
    assert tables["p999"]["values"][1][0] is None
    # The longest is the longest of the window, not a mean of maxima.
    most = max(cell["lat_us_max"] for cell in by_round)
    assert tables["mrt"]["values"][1][0] == pytest.approx(most * 1e-3)


def test_seeds_of_cells_are_all_different_and_hang_on_the_seed():
    one, two = FakeTarget(), FakeTarget()
    document("throughput", one)
    document("throughput", two, seed=43)
    first = [seed for _, _, seed in one.asked]
    assert len(set(first)) == len(first)
    assert not set(first) & {seed for _, _, seed in two.asked}


def test_equal_seeds_give_equal_bytes_and_others_other_bytes():
    assert readable_json(document()) == readable_json(document())
    assert readable_json(document()) != readable_json(document(seed=43))


def test_a_document_is_what_its_schema_says():
    found = document()
    assert found["schema"] == "opennandlab.pts/1"
    assert found["digest"] == digest(found)
    assert not {"created", "run", "tool"} & set(found)  # of a virtual drive
    assert all(len(row) == len(found["cells"]["columns"]) for row in found["cells"]["rows"])
    ends = [phase["end_s"] for phase in found["phases"]]
    assert ends == sorted(ends)
    assert found["phases"][-1]["written_bytes"] == found["cells"]["rows"][-1][23]
    assert json.loads(readable_json(found)) == json.loads(json.dumps(found))


def test_conformance_says_full_scaled_or_partial():
    assert document()["header"]["conformance"] == "scaled"
    assert document("independence", time_base="full")["header"]["conformance"] == "full"
    assert document(wipc_capacities=0)["header"]["conformance"] == "partial"

    class Unknown(FakeTarget):
        def set_cache(self, *, enabled: bool) -> Any:
            del enabled
            return "unknown"

    found = document("latency", Unknown())["header"]
    assert found["conformance"] == "partial"
    assert "write cache unknown (asked: disabled)" in found["deviations"]


def test_progress_tells_round_cell_and_the_rule(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outlook, "KNOWN_AFTER_S", 0.0)
    seen: list[Progress] = []

    def watch(state: Progress) -> None:
        seen.append(Progress(**vars(state)))

    run_test(TESTS["iops"], FakeTarget(), settings=SMOKE, watch=watch)
    rounds = [state for state in seen if state.phase == "round"]
    assert {state.rounds_max for state in rounds} == {6}
    assert {state.cell for state in rounds} == set(range(1, 57))
    assert rounds[-1].steady is not None
    known = [(state.eta_least_s, state.eta_s) for state in seen if state.eta_s is not None]
    assert known
    assert all(least is not None and 0 <= least <= most for least, most in known)
    # At the end of the last step nothing has to be done any more.
    assert known[-1][0] == pytest.approx(0.0)


def test_a_rehearsal_counts_what_the_run_does():
    target = FakeTarget()
    found = document("dirth", target)
    plan = make_plan(TESTS["dirth"], Settings(time_base="smoke"), FakeTarget())
    least = rehearse(TESTS["dirth"], plan, target, is_steady=True)
    most = rehearse(TESTS["dirth"], plan, target, is_steady=False)
    assert least.phases["round"] == [5, 250]
    assert most.phases["round"] == [25, 1250]
    assert least.steps <= target.calls <= most.steps
    assert least.written_bytes <= found["phases"][-1]["written_bytes"] <= most.written_bytes


# Journal and resume.


def interrupted(  # noqa: PLR0913, PLR0917
    test: str, make: Callable[[], Any], folder: Path, at: int, chosen: Settings, checkpoint_s: float
) -> None:
    """Run until call `at` of the target, which Ctrl-C cuts."""
    count = 0

    def watched(target: Any) -> Any:
        run, sibling = target.run, target.sibling

        def cut(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count > at:
                raise KeyboardInterrupt
            return run(*arguments, **named)

        target.run, target.sibling = cut, lambda config: watched(sibling(config))
        return target

    target, place = watched(make()), Place(folder)
    with pytest.raises(Cut):
        run_test(TESTS[test], target, settings=chosen, place=place, checkpoint_s=checkpoint_s)


def resumed(test: str, make: Callable[[], Any], folder: Path, chosen: Settings) -> bytes:
    run_test(TESTS[test], make(), settings=chosen, place=Place(folder, resume=True))
    return (folder / f"{test}.json").read_bytes()


def undisturbed(test: str, make: Callable[[], Any], chosen: Settings) -> bytes:
    return to_bytes(run_test(TESTS[test], make(), settings=chosen))


@pytest.mark.parametrize("test", ["throughput", "hir"])
def test_interrupted_at_any_cell_and_resumed_it_is_the_same(test, tmp_path):
    whole = undisturbed(test, FakeTarget, SMOKE)
    target = FakeTarget()
    run_test(TESTS[test], target, settings=SMOKE)
    # Every run of the short test, and each kind of step of the long one.
    for at in range(0, len(target.asked), 1 if test == "throughput" else 13):
        folder = tmp_path / str(at)
        folder.mkdir()
        interrupted(test, FakeTarget, folder, at, SMOKE, checkpoint_s=0.0)
        assert resumed(test, FakeTarget, folder, SMOKE) == whole, f"cut before run {at}"
        assert not (folder / f"{test}.checkpoint.onl").exists()


def test_without_a_checkpoint_a_simulated_drive_begins_anew(tmp_path):
    interrupted("iops", FakeTarget, tmp_path, 70, SMOKE, checkpoint_s=1000.0)
    assert not (tmp_path / "iops.checkpoint.onl").exists()
    assert resumed("iops", FakeTarget, tmp_path, SMOKE) == undisturbed("iops", FakeTarget, SMOKE)


class Whole(dict[str, bytes]):
    """Documents of runs that were not cut; too long to be printed."""

    def __missing__(self, name: str) -> bytes:
        """Run a test that was not run yet."""
        self[name] = undisturbed(name, small_drive, SMOKE)
        return self[name]

    def __repr__(self) -> str:
        """Be short: Hypothesis prints it."""
        return "documents"


@pytest.fixture(scope="module")
def whole_runs() -> Whole:
    return Whole()


def small_drive() -> SimulatedTarget:
    return SimulatedTarget(DRIVE)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    test=st.sampled_from(["latency", "wsat", "hir", "scalability"]),
    share=st.floats(0.0, 0.99),
    checkpoint_s=st.sampled_from([0.0, 0.01]),
)
def test_a_simulated_drive_goes_on_as_if_nothing_had_happened(
    whole_runs, tmp_path_factory, test, share, checkpoint_s
):
    folder = tmp_path_factory.mktemp("cut")
    cells = len(json.loads(whole_runs[test])["cells"]["rows"])
    at = int(share * cells)
    interrupted(test, small_drive, folder, at, SMOKE, checkpoint_s)
    partial = json.loads((folder / f"{test}.json").read_bytes())
    assert partial["partial"]
    assert resumed(test, small_drive, folder, SMOKE) == whole_runs[test]


def test_a_drive_cut_before_its_first_step_is_purged(tmp_path, whole_runs, monkeypatch):
    """The state that is kept is then one of the drive before, which has fewer dies."""
    monkeypatch.setattr(engine, "CHECKPOINT_SHARE", float("inf"))  # a state after each step

    purge, purged = SimulatedTarget.purge, 0

    def second_is_cut(self: SimulatedTarget, *arguments: Any, **named: Any) -> Any:
        nonlocal purged
        purged += 1
        if purged == 2:
            raise KeyboardInterrupt
        return purge(self, *arguments, **named)

    place = Place(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(SimulatedTarget, "purge", second_is_cut)
        with pytest.raises(Cut):
            run_test(
                TESTS["scalability"], small_drive(), settings=SMOKE, place=place, checkpoint_s=0.0
            )
    assert (tmp_path / "scalability.checkpoint.onl").exists()
    found = resumed("scalability", small_drive, tmp_path, SMOKE)
    assert found == whole_runs["scalability"]


def test_keeping_states_changes_nothing(tmp_path, whole_runs):
    run_test(TESTS["wsat"], small_drive(), settings=SMOKE, place=Place(tmp_path), checkpoint_s=0.0)
    assert (tmp_path / "wsat.json").read_bytes() == whole_runs["wsat"]


class Real(FakeTarget):
    """The drive of formulas, as if it were real: no checkpoints."""

    kind = "file"
    is_virtual = False

    def checkpoint(self) -> bytes | None:
        return None


def test_on_a_real_drive_the_round_is_run_again_and_the_document_says_so(tmp_path):
    # Call 0 is the preconditioning, 1 to 56 the first round; the second is cut at its tenth cell.
    interrupted("iops", Real, tmp_path, 57 + 10, SMOKE, checkpoint_s=0.0)
    target = Real()
    found = run_test(TESTS["iops"], target, settings=SMOKE, place=Place(tmp_path, resume=True))
    assert found.header.interrupted
    assert "interrupted and resumed" in found.header.deviations
    # Neither purge nor preconditioning nor the first round were done again, the second was, whole.
    first = target.asked[0][0]
    assert (first.read_pct, first.block_bytes) == (100, 1024 * KIB)
    assert len(target.asked) == len(found.cells.rows) - 56
    assert {"created", "run", "tool"} <= set(plain(found))


def test_on_a_real_drive_a_run_cut_before_its_first_round_begins_with_the_purge(tmp_path):
    interrupted("iops", Real, tmp_path, 0, SMOKE, checkpoint_s=0.0)
    target = Real()
    run_test(TESTS["iops"], target, settings=SMOKE, place=Place(tmp_path, resume=True))
    assert target.asked[0][0].pattern == "sequential"
    assert target.calls == len(target.asked) + 1  # the purge


def test_a_run_that_is_done_is_not_run_again(tmp_path):
    run_test(TESTS["iops"], FakeTarget(), settings=SMOKE, place=Place(tmp_path))
    target = FakeTarget()
    found = run_test(TESTS["iops"], target, settings=SMOKE, place=Place(tmp_path, resume=True))
    assert target.calls == 0
    assert to_bytes(found) == (tmp_path / "iops.json").read_bytes()


def test_other_settings_are_not_resumed(tmp_path):
    interrupted("iops", FakeTarget, tmp_path, 60, SMOKE, checkpoint_s=0.0)
    other = Settings(time_base="smoke", seed=7)
    with pytest.raises(JournalError, match=r"other settings \(settings.seed: \d+ against 7\)"):
        run_test(TESTS["iops"], FakeTarget(), settings=other, place=Place(tmp_path, resume=True))


def test_a_line_that_was_cut_is_dropped_and_damage_is_refused(tmp_path):
    interrupted("iops", Real, tmp_path, 70, SMOKE, checkpoint_s=0.0)
    journal = tmp_path / "iops.journal.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-7])
    run_test(TESTS["iops"], Real(), settings=SMOKE, place=Place(tmp_path, resume=True))
    (tmp_path / "iops.json").unlink()
    lines = content.split(b"\n")
    journal.write_bytes(b"\n".join([lines[0], b"{", *lines[2:]]))
    with pytest.raises(JournalError, match=r"line 2 of .*jsonl is damaged or edited"):
        run_test(TESTS["iops"], Real(), settings=SMOKE, place=Place(tmp_path, resume=True))
    journal.write_bytes(b"\n".join([lines[0], *lines[3:]]))
    with pytest.raises(JournalError, match=r"line 2 of .*jsonl is damaged or edited"):
        run_test(TESTS["iops"], Real(), settings=SMOKE, place=Place(tmp_path, resume=True))


def test_a_damaged_checkpoint_is_refused(tmp_path):
    interrupted("iops", FakeTarget, tmp_path, 70, SMOKE, checkpoint_s=0.0)
    checkpoint = tmp_path / "iops.checkpoint.onl"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1] + b"!")
    with pytest.raises(JournalError, match="damaged"):
        run_test(TESTS["iops"], FakeTarget(), settings=SMOKE, place=Place(tmp_path, resume=True))


def test_a_target_that_fails_leaves_its_part(tmp_path):
    class Vanishing(FakeTarget):
        def run(self, *arguments: Any, **named: Any) -> Measurement:
            if len(self.asked) > 100:
                raise TargetError("fake:formulas: gone")
            return super().run(*arguments, **named)

    with pytest.raises(BrokenError, match="gone") as failed:
        run_test(TESTS["iops"], Vanishing(), settings=SMOKE, place=Place(tmp_path))
    assert failed.value.document.partial
    assert len(failed.value.document.cells.rows) == 100
    assert len(failed.value.document.steady_state) == 3
    assert (tmp_path / "iops.journal.jsonl").exists()


def hold(place: Place) -> None:
    with prepared(place, ["iops"]):
        pass


def test_the_output_directory_is_this_runs_or_empty(tmp_path):
    hold(Place(tmp_path / "new"))
    (tmp_path / "new").mkdir()  # a run that wrote nothing leaves no directory
    (tmp_path / "new" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="not empty"):
        hold(Place(tmp_path / "new"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="it is a file"):
        hold(Place(tmp_path / "file"))


def test_measurements_survive_the_journal():
    latency = Histogram(np.array([3, 9]), np.array([1, 2]), 0.1 + 0.2, 11)
    one = Measurement(
        0.1,
        None,
        Requests(3, 12, latency),
        Requests(0, 0, Histogram.empty()),
        5,
        7,
        (),
        {"x": None},
    )
    text = json.dumps(measurement_to_dict(one))
    assert measurement_to_dict(measurement_from_dict(json.loads(text))) == json.loads(text)


def test_a_closed_journal_is_not_written(tmp_path):
    journal = Journal(tmp_path, "x", {}, is_virtual=True)
    with pytest.raises(JournalError, match="closed"):
        journal.append(0, "cell", {})
