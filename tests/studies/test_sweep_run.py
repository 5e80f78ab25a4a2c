"""Sweeps: points and keys, what each verb makes of a request, runs against a store of a dict."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opennandlab as onl
import pts_documents
from opennandlab import _core, ecc
from opennandlab.base.campaign import Stopped
from opennandlab.base.errors import ConfigError
from opennandlab.documents.record import plain
from opennandlab.reliability import drive_life_test, life_test
from opennandlab.stats.groups import grouped
from opennandlab.store import Entry, Outcome, Store
from opennandlab.store.entry import numbers
from opennandlab.studies.sweeps.definition import Sweep
from opennandlab.studies.sweeps.engine import (
    Done,
    Engine,
    EngineError,
    Threads,
    costs,
    pilot_s,
    run_point,
    slots_for,
)
from opennandlab.studies.sweeps.point import Point
from opennandlab.studies.sweeps.runner import Progress, Row, Run
from opennandlab.studies.sweeps.verbs import VERBS

SMALL = {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                  "blocks_per_plane": 64, "pages_per_block": 32}}  # fmt: skip
WORK = {"pattern": "random", "total": {"drive_writes": 2}, "timed": False}
GRID = {"ftl.gc_policy": ["greedy", "fifo"], "ftl.over_provisioning_pct": "0.1:0.3:3"}


# Neither ends soon, nor wears out.
SLOW = {
    "device": {"nand": {**SMALL["nand"], "max_pe_cycles": 1_000_000_000}},
    "workload": {**WORK, "total": {"drive_writes": 1e6}},
    "grid": {},
}


def document(**changes: object) -> dict[str, object]:
    return {"run": "benchmark", "device": SMALL, "workload": WORK, "grid": GRID, **changes}


class Shelf:
    """A store that is a dict."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.sweeps: dict[str, Sequence[tuple[str, Mapping[str, object]]]] = {}
        self.batches = 0

    def outcomes(self, keys):
        return {
            key: Outcome(dict(self.entries[key].metrics), self.entries[key].error)
            for key in keys
            if key in self.entries
        }

    def add(self, entries):
        self.batches += 1
        for entry in entries:
            assert entry.key not in self.entries or self.entries[entry.key].error is not None
            self.entries[entry.key] = entry

    def note_sweep(self, name, definition, members):
        assert Sweep.of(definition).document == definition
        self.sweeps[name] = members


class Counted(Engine):
    """Runs points at once, and counts them; may fail, or be cut off."""

    slots = 2

    def __init__(self, *, cut_after: int | None = None, away_after: int | None = None) -> None:
        self.ran: list[str] = []
        self.done: list[Done] = []
        self.cut_after, self.away_after = cut_after, away_after
        self.is_closed = False

    def submit(self, point):
        self.ran.append(point.key)
        self.done.append(
            run_point(point.verb, point.key, point.settings, point.seed, lambda _: None)
        )

    def wait(self, timeout_s):
        del timeout_s
        if self.cut_after is not None and len(self.ran) > self.cut_after:
            raise KeyboardInterrupt
        if self.away_after is not None and len(self.ran) > self.away_after:
            raise EngineError("the scheduler cannot be reached")
        found, self.done = self.done[:1], self.done[1:]
        return found

    def running(self):
        return {}

    def close(self):
        self.is_closed = True


def test_a_sweep_runs_each_point_once_and_a_second_time_none():
    shelf, engine = Shelf(), Counted()
    rows = Run(Sweep.of(document(seeds=2)), shelf).to_the_end(engine)
    assert len(rows) == len(engine.ran) == len(set(engine.ran)) == len(shelf.entries) == 12
    assert engine.is_closed
    again = Counted()
    run = Run(Sweep.of(document(seeds=2)), shelf)
    assert (run.known_count, run.missing) == (12, [])
    assert [row.metrics for row in run.to_the_end(again)] == [row.metrics for row in rows]
    assert again.ran == []
    # Another axis more: what is shared is known.
    wider = document(seeds=2, grid={**GRID, "ftl.over_provisioning_pct": "0.1:0.4:4"})
    assert len(Run(Sweep.of(wider), shelf).missing) == 4


def test_points_have_the_digest_of_the_same_benchmark():
    shelf = Shelf()
    rows = Run(Sweep.of(document()), shelf).to_the_end(Threads(2))
    for row in rows:
        device = onl.load_device(SMALL, dict(row.coordinates))
        alone = onl.benchmark(device, WORK, seed=row.seed)
        assert shelf.entries[row.key].document["digest"] == alone.digest


@given(cut=st.integers(0, 12))
@settings(max_examples=8, deadline=None)
def test_what_is_done_before_ctrl_c_is_kept_and_not_run_again(cut):
    shelf, engine = Shelf(), Counted(cut_after=cut)
    run = Run(Sweep.of(document(seeds=2)), shelf)
    if cut < 12:
        with pytest.raises(KeyboardInterrupt):
            run.to_the_end(engine)
    else:
        run.to_the_end(engine)
    kept = set(shelf.entries)
    assert kept == {row.key for row in run.rows}
    rest = Counted()
    rows = Run(Sweep.of(document(seeds=2)), shelf).to_the_end(rest)
    assert len(rows) == 12
    assert not kept & set(rest.ran)


def test_an_engine_that_is_lost_ends_the_sweep_and_keeps_the_rest():
    shelf = Shelf()
    run = Run(Sweep.of(document()), shelf)
    with pytest.raises(EngineError, match="cannot be reached"):
        run.to_the_end(Counted(away_after=4))
    assert 0 < len(shelf.entries) == len(run.rows) < 6


def test_a_bad_point_is_a_row_and_the_others_run():
    policies = ["greedy", "no_such_policy"]
    shelf = Shelf()
    rows = Run(Sweep.of(document(grid={"ftl.gc_policy": policies})), shelf).to_the_end(Counted())
    good, bad = rows
    assert good.error is None
    assert "no_such_policy" in str(bad.error)
    assert shelf.entries[bad.key].document is None
    # It is known as well, and tried again only when asked for.
    again = Run(Sweep.of(document(grid={"ftl.gc_policy": policies})), shelf)
    assert (again.missing, again.known_count) == ([], 2)


def test_a_sweep_without_one_good_point_is_refused():
    with pytest.raises(ConfigError, match="no_such_policy"):
        Run(Sweep.of(document(grid={"ftl.gc_policy": ["no_such_policy"]})), Shelf())


def test_two_combinations_that_are_one_point_run_once():
    listed = [{"ftl.gc_policy": "greedy"}, {"ftl.gc_policy.kind": "greedy"}]
    engine = Counted()
    rows = Run(Sweep.of(document(grid={}, points=listed)), Shelf()).to_the_end(engine)
    assert len(engine.ran) == 1
    assert len(rows) == 2
    assert rows[0].key == rows[1].key
    assert rows[0].metrics == rows[1].metrics


def test_seeds_are_added_until_the_interval_is_narrow_and_the_same_after_a_cut():
    wanted = document(seeds={"count": 3, "until": {"waf": "0.3 %"}, "max": 40})
    whole = Shelf()
    rows = Run(Sweep.of(wanted), whole).to_the_end(Counted())
    assert len(rows) > 18  # some combination needed more than three
    cut = Shelf()
    with pytest.raises(KeyboardInterrupt):
        Run(Sweep.of(wanted), cut).to_the_end(Counted(cut_after=15))
    Run(Sweep.of(wanted), cut).to_the_end(Threads(2))
    assert cut.entries.keys() == whole.entries.keys()


def test_threads_stop_within_a_moment():
    slow = Sweep.of(document(**SLOW))
    engine = Threads(1)
    engine.submit(slow.point(slow.cells[0], 0))
    while engine.running() == {}:
        time.sleep(0.005)
    closer = threading.Thread(target=engine.close)
    closer.start()
    closer.join(20)
    assert not closer.is_alive()
    assert engine.wait(0) == []


def test_a_pilot_tells_what_a_point_takes():
    run = Run(Sweep.of(document()), Shelf())
    assert 0 < pilot_s(run.missing) < 60
    assert pilot_s([]) is None
    slow = Sweep.of(document(**SLOW))
    assert pilot_s([slow.point(slow.cells[0], 0)], limit_s=0.5) > 0.5


def test_points_of_a_policy_of_ones_own_have_a_cost_of_their_own(tmp_path, monkeypatch):
    """What a built-in policy takes says nothing of one in Python next to it."""
    (tmp_path / "own.py").write_text(
        '__opennandlab__ = {"policies": ["First"]}\n'
        "class First:\n    def choose(self, pool):\n        return pool.order[0]\n"
    )
    monkeypatch.chdir(tmp_path)
    grid = {"ftl.gc_policy": ["greedy", "fifo", "own.py:First"]}
    with onl.allow_code():
        found = costs(Run(Sweep.of(document(grid=grid)), Shelf()).missing)
    assert [(one.of, one.count) for one in found] == [("", 2), ("own.py:First", 1)]
    assert all(one.first_s > 0 for one in found)
    assert costs([]) == []


def test_no_more_points_at_a_time_than_fit_the_memory(monkeypatch):
    points = Run(Sweep.of(document()), Shelf()).missing
    needs = VERBS["benchmark"].memory_bytes(points[0].settings)
    monkeypatch.setattr(
        "opennandlab.studies.sweeps.engine.available_bytes", lambda: int(2.5 * needs)
    )
    assert slots_for(needs, 8) == 2
    monkeypatch.setattr("opennandlab.studies.sweeps.engine.available_bytes", lambda: 1)
    assert slots_for(needs, 8) == 1


def test_the_time_that_is_left_is_told_by_points_that_ran():
    # 10 of 20 are there: 4 known, 1 of them failed, and of the new ones 2 failed at once.
    state = Progress(10, 4, 3, 20, [0.5], 9.0, failed_known=1)
    assert state.eta_s == pytest.approx(9.0 / 4.5 * 9.5)
    assert Progress(3, 0, 3, 20, [None], 9.0).eta_s is None


def test_a_cut_sweep_has_all_its_points_and_those_that_are_there(tmp_path):
    def cut(state) -> None:
        if state.done >= 2:
            raise KeyboardInterrupt

    with Store.open(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            Run(Sweep.of(document()), store, watch=cut).to_the_end(Threads(1))
        (kept,) = store.sweeps()
        assert kept.points == 6
        assert 2 <= kept.done == len(store)
        where = [f"sweep={kept.name}"]
        assert len(store.rows(where=where, columns=["ftl.gc_policy", "waf"])) == kept.done


def test_a_point_that_raises_anything_is_a_failed_point(monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of a verb")

    monkeypatch.setattr(type(VERBS["benchmark"]), "run", broken)
    done = run_point("benchmark", "k", {}, 1, lambda _: None)
    assert (done.document, done.error) == (None, "ZeroDivisionError: of a verb")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_a_point_that_ends_the_program_ends_the_sweep(monkeypatch, raised):
    """Code of the user's own that did so was waited for without an end."""

    def ending(*_: object) -> None:
        raise raised

    monkeypatch.setattr(type(VERBS["benchmark"]), "run", ending)
    with pytest.raises(raised):
        Run(Sweep.of(document()), Shelf()).to_the_end(Threads(1))


@pytest.mark.parametrize(("changes", "named"), [
    ({"run": "benchmarks"}, "benchmark"),
    ({"devise": 1}, "devise"),
    ({"workload": None}, "workload"),
    ({"grid": [1]}, "grid"),
    ({"points": {"a": 1}}, "points"),
    ({"set": 3}, "set"),
    ({"grid": {"nand.chanels": [1, 2]}}, "chanels"),
    ({"device": "no_such_preset"}, "no_such_preset"),
    ({"points": [{"ftl.gc_policy": "fifo"}, {"ftl.gc_policy": "fifo"}], "grid": {}}, "twice"),
    ({"points": [{1: 0.1}], "grid": {}}, "1"),
    ({"plot": {"z": "waf"}}, "plot.z"),
    ({"plot": {"x": "nand.channels"}}, "is not varied"),
    ({"name": "a\nb"}, "printable"),
])  # fmt: skip
def test_what_is_no_sweep_is_refused_with_its_key(changes, named):
    with pytest.raises(ConfigError, match=named):
        Run(Sweep.of(document(**changes)), Shelf())


def test_a_sweep_file_finds_what_lies_beside_it(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/dev.yaml").write_text("nand: {channels: 1, blocks_per_plane: 64}\n")
    (tmp_path / "in/sweep.yaml").write_text(
        "device: dev.yaml\nworkload: {pattern: random, total: {drive_writes: 1}, timed: false}\n"
        "grid: {ftl.gc_policy: [greedy, fifo]}\nseeds: 2\n"
    )
    monkeypatch.chdir(tmp_path)
    found = Sweep.load(tmp_path / "in/sweep.yaml")
    assert (found.name, found.seeds.count, len(found.cells)) == ("sweep", 2, 2)
    assert found.cells[0].settings["device"]["nand"]["channels"] == 1


def run_of(wanted: dict[str, object]) -> list[Mapping[str, float]]:
    rows = Run(Sweep.of(wanted), Shelf()).to_the_end(Counted())
    assert [row.error for row in rows] == [None] * len(rows)
    return [row.metrics for row in rows]


def test_no_coordinate_is_called_like_a_number():
    """A table would show what went in as what came out."""
    names = {"waf", "spare_factor_effective", "iops", "latency_us_mean", "tbw_tb", "dwpd", "rber"}
    for verb in VERBS.values():
        assert not names & set(verb.keys), verb.name
    assert "x" not in run_of({"run": "ecc.curve", "code": "bch:m=8,t=4", "grid": {"x": [1e-3]}})[0]


def test_formulas_are_swept_without_seeds():
    grid = {"policy": ["greedy", "fifo"], "over_provisioning_pct": [0.1, 0.25]}
    found = run_of({"run": "theory.waf", "grid": grid})
    # FIFO: 1 / (1 - u) with u = exp(-(1 + OP) (1 - u)); at OP 0.25 that is 2.69 (Desnoyers, 2012).
    assert found[3]["waf"] == pytest.approx(2.69, abs=0.01)
    assert found[0]["waf"] > found[1]["waf"]
    rber = run_of({"run": "reliability.rber", "grid": {"pe_cycles": [0, 1000, 3000]}})
    assert rber[0]["rber"] < rber[1]["rber"] < rber[2]["rber"]


def test_points_of_a_code_are_those_of_its_curve():
    code = "bch:m=8,t=4"
    found = run_of({"run": "ecc.curve", "code": code, "grid": {"x": [1e-3, 1e-2]}})
    alone = onl.ecc.curve(code, "bsc", [1e-3, 1e-2])
    assert [row["fer"] for row in found] == alone.fer.tolist()


def test_a_standard_test_is_swept():
    found = run_of({
        "run": "pts.throughput", "device": SMALL, "pts": {"time_base": "smoke", "ss_max_rounds": 5},
        "grid": {"ftl.over_provisioning_pct": [0.2]},
    })  # fmt: skip
    assert found[0]["mb_s_seq_1024kib_write"] > 0


def test_a_trace_is_known_by_its_content_and_name_not_by_its_place(tmp_path):
    text = "".join(f"{at * 1000} 0 {at % 50 * 8} 8 1\n" for at in range(200))
    keys = []
    for folder, more in (("one", ""), ("other", ""), ("changed", "900000 0 8 8 1\n")):
        (tmp_path / folder).mkdir()
        trace = tmp_path / folder / "a.trace"
        trace.write_text(text + more)
        wanted = Sweep.of({"run": "replay", "device": SMALL, "trace": str(trace),
                           "options": {"format": "mqsim", "beyond": "wrap"}})  # fmt: skip
        run = Run(wanted, Shelf())
        keys.append(run.missing[0].key)
        assert [row.error for row in run.to_the_end(Counted())] == [None]
    assert keys[0] == keys[1] != keys[2]


def test_the_key_is_that_of_settings_seed_and_model(monkeypatch):
    point = Point("theory.waf", {"policy": "greedy"}, None, {"a": 1})
    assert point.key == Point("theory.waf", {"policy": "greedy"}, None, {"b": 2}).key
    others = [
        Point("theory.waf", {"policy": "fifo"}, None).key,
        Point("theory.waf", {"policy": "greedy"}, 1).key,
        Point("theory.wafs", {"policy": "greedy"}, None).key,
    ]
    monkeypatch.setattr(_core, "model_version", lambda: 999)
    others.append(Point("theory.waf", {"policy": "greedy"}, None).key)
    assert len({point.key, *others}) == 5


def test_numbers_are_those_of_a_document():
    assert dict(numbers({"a": {"b": 1, "c": float("inf")}, "d": None, "e": True})) == {"a.b": 1.0}


def test_a_stopped_run_is_no_failed_point():
    def stop(_: object) -> None:
        raise Stopped

    point = Run(Sweep.of(document()), Shelf()).missing[0]
    with pytest.raises(Stopped):
        run_point(point.verb, point.key, point.settings, point.seed, stop)


def test_a_sweep_from_python_gives_rows_means_frames_and_figures(tmp_path):
    vary = {"ftl.gc_policy": ["greedy", "fifo"], "ftl.over_provisioning_pct": "0.1:0.3:3"}
    runs = onl.sweep(SMALL, WORK, vary=vary, seeds=3, store=tmp_path, jobs=2)
    assert (len(runs.rows), len(runs.groups), runs.failed) == (18, 6, [])
    frame = runs.frame()
    assert list(frame.columns[:3]) == ["ftl.gc_policy", "ftl.over_provisioning_pct", "seed"]
    first = runs.groups[0].means["waf"]
    assert first.mean == pytest.approx(frame["waf"][:3].mean())
    assert first.low < first.mean < first.high
    drawn = runs.plot(lines="ftl.gc_policy")
    assert {"greedy", "FIFO"} <= {line.name for line in drawn.data}
    runs.plot(tmp_path / "waf.png", x="ftl.gc_policy")
    assert (tmp_path / "waf.png").read_bytes().startswith(b"\x89PNG")
    shown = runs._repr_html_()
    assert "<td>greedy</td>" in shown
    assert "<svg" in shown
    with pytest.raises(ConfigError, match="was not varied"):
        runs.plot(x="nand.channels")


def test_a_value_of_a_sweep_may_be_the_class_of_a_policy(tmp_path, monkeypatch):
    """`vary` took names of policies alone: a class was neither number nor text."""
    (tmp_path / "of_mine.py").write_text(
        '__opennandlab__ = {"policies": ["Greedy"]}\n\n\n'
        "class Greedy:\n    def choose(self, pool):\n        return pool.order[0]\n\n\n"
        "class Hidden(Greedy):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import of_mine  # type: ignore[import-not-found]

    def swept(*policies):
        vary = {"ftl.gc_policy": list(policies)}
        return onl.sweep(SMALL, WORK, vary=vary, store=tmp_path / "kept", jobs=1)

    runs = swept("greedy", of_mine.Greedy)
    assert [row.coordinates["ftl.gc_policy"] for row in runs.rows] == ["greedy", "of_mine:Greedy"]
    assert runs.failed == []
    assert swept({"kind": of_mine.Greedy}).rows[0].was_known
    for policy in (of_mine.Greedy(), of_mine.Hidden, lambda pool: pool.order[0]):
        with pytest.raises(ConfigError, match=r"ftl\.gc_policy: .* accepted: a class or function"):
            swept(policy)
    with pytest.raises(ConfigError, match="cannot be asked"):
        swept(object())


def test_runs_are_short_as_a_value_and_a_missing_pandas_is_named(tmp_path, monkeypatch):
    runs = onl.sweep(SMALL, WORK, vary={"ftl.gc_policy": ["fifo"]}, store=tmp_path, jobs=1)
    assert repr(runs) == "<Runs of benchmark by ftl.gc_policy: 1 point>"
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    curve = onl.ecc.curve("bch:m=8,t=4", "bsc", [1e-3])
    for frame in (runs.frame, curve.frame, onl.benchmark(SMALL, WORK).frame):
        with pytest.raises(ImportError, match=r"pip install 'opennandlab\[frames\]'"):
            frame()


def test_life_tests_are_swept_by_the_keys_of_the_device_and_of_the_test():
    grid = {"life.drive_class": ["client", "enterprise"], "nand.max_pe_cycles": [100, 1000]}
    wanted = {"run": "reliability.life", "device": SMALL, "life": {"waf": 2.0}, "grid": grid}
    found = run_of(wanted)
    alone = onl.reliability.life_test(
        onl.load_device(SMALL, {"nand.max_pe_cycles": 1000}), "enterprise", waf=2.0
    )
    assert found[3]["uber"] == alone.uber
    assert found[0]["pe_cycles"] == 100


def test_a_life_test_of_a_drive_is_a_point():
    wanted = {"run": "reliability.drive-life", "device": SMALL,
              "life": {"programs": 1e5}, "grid": {"nand.max_pe_cycles": [20, 40]}}  # fmt: skip
    found = run_of(wanted)
    assert [round(row["pe_cycles"]) for row in found] == [20, 40]


def test_a_model_is_what_it_holds_not_where_it_lies(tmp_path):
    path = tmp_path / "model.yaml"
    sweep = {"run": "reliability.rber", "grid": {"pe_cycles": [1000]}, "model": str(path)}
    keys = []
    for exponent in (1.5, 2.0):
        path.write_text(f"kind: power_law\nexponent: {exponent}\n", encoding="utf-8")
        keys.append(Run(Sweep.of(sweep), Shelf()).missing[0].key)
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"run": "reliability.life", "grid": {"life.tbw": [1]}}, "did you mean `tbw_tb`"),
        ({"run": "theory.waf", "grid": {"policy": [3]}}, "accepted: text such as greedy"),
        ({"run": "theory.waf", "grid": {"d": ["x"]}}, "accepted: a number"),
        ({"run": "reliability.rber", "grid": {"model": ["tlcc"]}}, "did you mean `tlc`"),
    ],
)
def test_settings_of_the_wrong_kind_are_named(wanted, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        Run(Sweep.of(wanted), Shelf())


def test_runs_with_1_and_with_true_are_two_groups():
    rows = [Row("a", {"x": 1}, 1, {"y": 1.0}, None, was_known=False),
            Row("b", {"x": True}, 1, {"y": 2.0}, None, was_known=False)]  # fmt: skip
    assert [group.means["y"].mean for group in grouped(rows)] == [1.0, 2.0]


def test_a_standard_test_without_a_whole_window_has_no_mean() -> None:
    states = [{"average": None, "attained": False}, {"average": 5, "attained": True}]
    document = {"results": {"waf_end": 2.0}, "steady_state": states}
    found = VERBS["pts.wsat"].metrics(document)
    assert found == {"waf_end": 2.0, "steady": 0.0, "average_2": 5.0}


def test_numbers_of_documents_are_among_the_names_of_their_verb():
    """A name that a verb does not know is refused before its sweep runs."""
    run = onl.benchmark(SMALL, {**WORK, "timed": True}, breakdown=True)
    documents = {
        "benchmark": [plain(run.content)],
        "reliability.life": [life_test("tlc_standard").to_dict()],
        "reliability.drive-life": [drive_life_test(SMALL, programs=1e4).to_dict()],
        "ecc.curve": [plain(ecc.curve("bch:m=8,t=4", "bsc", [1e-2], errors=20).content)],
        "theory.queueing": [
            VERBS["theory.queueing"].run(
                {"dies": 2, "service_us": 60.0, "arrivals_per_s": rate, "queue_depth": depth},
                None,
                lambda _: None,
            )
            for rate, depth in ((None, 3), (9e3, None))
        ],
        **{
            f"pts.{document['test']}": [document]
            for document in (
                pts_documents.iops(), pts_documents.throughput(), pts_documents.latency(),
                pts_documents.wsat(), pts_documents.xsr(), pts_documents.rw_ratio(),
            )
        },
    }  # fmt: skip
    for name, found in documents.items():
        verb = VERBS[name]
        known = verb.names({})
        assert known is not None
        for metric in (metric for one in found for metric in verb.metrics(one)):
            assert any(fnmatchcase(metric, form) for form in known), (name, metric)
        for column in verb.columns:
            assert any(fnmatchcase(column, form) for form in known), (name, column)
