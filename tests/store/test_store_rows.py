"""Tables of points: which conditions hold, in which order, and what stands in the columns."""

from __future__ import annotations

import operator
import random
from pathlib import Path
from typing import Any

import pytest

from opennandlab.base.errors import StoreError
from opennandlab.store import Store
from opennandlab.store.conditions import Condition
from stored import entry, failed


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Store.open(tmp_path_factory.mktemp("store")) as made:
        # Not in the order of time.
        mixed = random.Random(1).sample(range(30), 30)  # noqa: S311 (no secrets)
        made.add([entry(number) for number in mixed])
        made.add([failed(30), entry(31, metrics={"fer": 1e-9}, coordinates={"on": True})])
        yield made


def numbers(store: Store, *where: str, **named: Any) -> list[int]:
    """Return the numbers of the entries that are found."""
    by_key = {entry(number).key: number for number in range(40)}
    found = store.rows(where=where, columns=["key"], **named)
    return [by_key[str(one[0])] for one in found.rows]


def test_the_newest_come_first(store: Store) -> None:
    assert numbers(store) == list(range(31, -1, -1))
    assert numbers(store, limit=2) == [31, 30]
    assert store.rows(limit=2).matched == 32
    assert store.rows(where=["seed=1"], limit=2).matched == 7
    assert store.rows(limit=0).rows == []


@pytest.mark.parametrize("order", [None, "waf", "-seed", "ftl.op"])
@pytest.mark.parametrize("where", [[], ["seed=1"], ["waf>2"]])
def test_pages_of_points_make_up_the_whole(
    store: Store, order: str | None, where: list[str]
) -> None:
    whole = numbers(store, *where, order=order)
    pages = [store.rows(where=where, order=order, limit=5, first=at) for at in range(0, 40, 5)]
    assert {page.matched for page in pages} == {len(whole)}
    found = [numbers(store, *where, order=order, limit=5, first=at) for at in range(0, 40, 5)]
    assert [one for page in found for one in page] == whole


def test_what_points_are_filtered_by_is_listed(store: Store) -> None:
    names = store.names()
    assert (names.verbs, names.sweeps) == (["benchmark"], [])
    assert names.coordinates == ["ftl.gc_policy", "ftl.op", "on"]
    assert {"waf", "fer", "iops.total"} <= set(names.metrics)


def test_what_others_add_changes_the_state(tmp_path: Path) -> None:
    with Store.open(tmp_path) as ours, Store.open(tmp_path) as theirs:
        before = ours.state()
        assert ours.state() == before
        theirs.add([entry(1)])
        assert ours.state() != before


@pytest.mark.parametrize("sign", ["=", "==", "!=", "<", "<=", ">", ">="])
def test_a_condition_holds_as_in_python(store: Store, sign: str) -> None:
    compare = {
        "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
        "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    }[sign]  # fmt: skip
    whole = [entry(number) for number in range(29, -1, -1)]
    varied = [entry(30), *whole]
    cases: dict[str, Any] = {
        f"waf{sign}2.0": [n for n in whole if compare(n.metrics["waf"], 2)],
        f"ftl.op {sign} 0.2": [n for n in varied if compare(n.coordinates["ftl.op"], 0.2)],
        f"gc_policy{sign}greedy": [
            n for n in varied if compare(n.coordinates["ftl.gc_policy"], "greedy")
        ],
        f"iops{sign}500": [n for n in whole if compare(n.metrics["iops.total"], 500)],
    }
    for text, expected in cases.items():
        found = numbers(store, text)
        assert [entry(n).key for n in found] == [one.key for one in expected], text
    for name in ("seed", "model_version", "wall_s"):
        every = [entry(n) for n in range(31, -1, -1)]
        expected = [one.key for one in every if compare(getattr(one, name), 3)]
        assert [entry(n).key for n in numbers(store, f"{name}{sign}3")] == expected


def test_conditions_on_columns_take_texts_beginnings_of_keys_and_nothing(store: Store) -> None:
    assert numbers(store, "status=failed") == [30]
    assert numbers(store, "status!=done") == [30]
    assert numbers(store, f"key={entry(7).key[:10].upper()}") == [7]
    assert len(numbers(store, f"key!={entry(7).key}")) == 31
    assert numbers(store, "error=null", "seed=0", "waf>4") == [25]
    assert numbers(store, "error!=null") == [30]
    assert numbers(store, "sweep=first", "created>2026-01-02T03:00:29Z") == [31, 30]
    assert numbers(store, "program=1.0", "waf=1") == [0]
    assert numbers(store, "verb=replay") == []
    assert numbers(store, "seed=null") == []
    assert numbers(store, "on=true") == [31]
    assert numbers(store, "on!=true") == numbers(store, "on=1") == []
    assert numbers(store, "fer<1e-6") == [31]


def test_points_are_ordered_by_any_value_those_without_it_last(store: Store) -> None:
    assert numbers(store, order="waf")[:2] == [0, 1]
    assert numbers(store, order="waf")[-2:] == [31, 30]
    assert numbers(store, order="-waf", limit=2) == [29, 28]
    assert numbers(store, order="-waf")[-2:] == [31, 30]
    assert numbers(store, "seed=0", "waf<3", order="gc_policy") == [5, 15, 0, 10]
    assert numbers(store, "seed<2", "waf<2", order="-seed") == [6, 1, 5, 0]
    assert numbers(store, order="created", limit=2) == [0, 1]
    assert store.rows(order="-waf", limit=2).matched == 32


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("waf", "the condition `waf` is not valid; accepted: NAME=VALUE"),
        ("waf>=", "not valid"),
        ("=2", "not valid"),
        ("wav>2", "no point has `wav`; accepted: ftl.gc_policy, .*; did you mean `waf`"),
        ("ftl>2", "`ftl` could be ftl.gc_policy, ftl.op"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(store: Store, text: str, reason: str) -> None:
    with pytest.raises(StoreError, match=reason):
        store.rows(where=[text])


def test_digits_may_be_a_name() -> None:
    assert Condition.parse("model=7450").holds("7450")
    assert not Condition.parse("model=7450").holds(None)
    assert Condition.parse('x="1"').holds("1")
    assert not Condition.parse("x<2").holds("a")


def test_without_columns_a_table_has_all_of_them(store: Store) -> None:
    rows = store.rows(where=["waf<1.2"])
    assert rows.columns == [
        *("key", "verb", "sweep", "seed", "status", "ftl.gc_policy", "ftl.op", "waf", "iops.read"),
        *("iops.total", "digest", "wall_s", "created", "program", "model_version", "host"),
        "error",
    ]
    assert rows.rows[-1][1:10] == ["benchmark", "first", 0, "done", "greedy", 0.0, 1.0, 10.0, 100.0]
    assert len(rows) == 2
    assert [one["waf"] for one in rows] == rows.column("waf") == [1.125, 1.0]
    assert store.rows(where=["status=failed"]).columns[5:7] == ["ftl.gc_policy", "ftl.op"]
    mixed = store.rows(columns=["fer", "waf", "key", "op"], limit=3)
    assert mixed.columns == ["fer", "waf", "key", "ftl.op"]
    assert [row[:2] for row in mixed.rows] == [[1e-9, None], [None, None], [None, 4.625]]


def test_versions_are_told_where_they_differ(tmp_path: Path) -> None:
    """Points of one setting by two programs would be averaged as if they were seeds."""
    with Store.open(tmp_path) as store:
        store.add([entry(0), entry(1, program="2.0")])
        assert store.rows(columns=["waf"]).columns == ["waf", "program"]
        store.add([entry(2, model_version=10)])
        assert store.rows(columns=["waf"]).columns == ["waf", "program", "model_version"]
        assert store.rows(columns=["model_version"]).columns == ["model_version", "program"]
        assert store.rows(columns=["waf"], limit=1).columns == ["waf"]


def test_seeds_beyond_63_bits_are_numbers(tmp_path: Path) -> None:
    large = 2**64 - 1
    with Store.open(tmp_path) as store:
        store.add([entry(0, seed=large), entry(1)])
        assert store.rows(columns=["seed"]).column("seed") == [1, large]
        assert store.rows(where=[f"seed={large}"], columns=["seed"]).column("seed") == [large]
        assert store.rows(where=["seed>5"], columns=["seed"]).column("seed") == [large]


def test_a_table_is_a_frame_and_a_page(store: Store) -> None:
    pandas = pytest.importorskip("pandas")
    rows = store.rows(where=["seed=0"], columns=["key", "waf", "on"])
    frame = rows.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["waf"])[-2:] == [1.625, 1.0]
    html = store.rows(where=["waf<1.2"], columns=["waf", "verb"])._repr_html_()
    assert html == (
        "<table><tr><th>waf</th><th>verb</th></tr><tr><td>1.125</td><td>benchmark</td></tr>"
        "<tr><td>1</td><td>benchmark</td></tr></table><p>2 points</p>"
    )
    assert "<p>3 of 32 points</p>" in store.rows(columns=["key"], limit=3)._repr_html_()


def test_a_table_of_arrow_has_one_type_in_a_column(store: Store) -> None:
    pytest.importorskip("pyarrow")
    table = store.rows(columns=["on", "waf", "gc_policy", "seed"]).arrow()
    assert table.num_rows == 32
    assert [str(kind) for kind in table.schema.types] == ["bool", "double", "string", "int64"]


def test_an_empty_store_has_no_rows_and_refuses_no_name(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        assert store.rows(where=["waf>2"], order="x").rows == []
        assert store.rows(columns=["waf", "key"]).columns == ["waf", "key"]


def test_a_sweep_has_all_its_points_and_calls_them_as_it_did(tmp_path: Path) -> None:
    """A point that a sweep found in the store was not listed under its name."""
    with Store.open(tmp_path) as store:
        store.add([entry(n) for n in range(4)] + [failed(4)])
        members = [(entry(n).key, {"again": n, "pair": n // 2}) for n in (3, 1, 0, 4)]
        # Two settings of a sweep may be the same point.
        store.note_sweep("second", {}, [*members, (entry(0).key, {"again": 7, "pair": 7})])
        rows = store.rows(where=["sweep=second"], columns=["again", "seed", "waf", "sweep"])
        assert rows.coordinates == ("again",)
        assert sorted(rows.rows, key=str) == [
            [0, 0, 1.0, "second"],
            [1, 1, 1.125, "second"],
            [3, 3, 1.375, "second"],
            [4, 4, None, "second"],
            [7, 0, 1.0, "second"],
        ]
        assert store.rows(where=["sweep=second"], limit=2).matched == 5
        found = store.rows(where=["sweep=second", "pair=0", "waf>1"], order="-again")
        assert found.column("again") == [1]
        assert "ftl.op" not in found.columns
        assert store.keys(["sweep=second", "waf=1"]) == [entry(0).key]
        means = store.means(["waf"], ["pair"], where=["sweep=second"])
        assert [(group.values, group.points) for group in means.groups] == [
            ((0,), 2), ((1,), 1), ((7,), 1),
        ]  # fmt: skip
        assert (means.added, means.failed) == ([], 1)
        assert store.rows(where=["sweep=first"]).matched == 5
        assert store.rows(where=["sweep!=second"]).matched == 5
        with pytest.raises(StoreError, match="no point has `gc_policy`"):
            store.rows(where=["sweep=second", "gc_policy=greedy"])
