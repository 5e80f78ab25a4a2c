"""Which points a sweep has: kept by name, replaced, merged, and told where it is damaged."""

from __future__ import annotations

import sqlite3

import pytest

from opennandlab.base.errors import StoreError
from opennandlab.store import Store
from stored import entry as made
from stored import failed

ASKED = {"name": "op", "run": "benchmark", "grid": {"ftl.gc_policy": ["greedy", "fifo"]}}


def filled(folder, count=4):
    entries = [made(place) for place in range(count)]
    if count == 4:
        entries[1] = failed(1)
    with Store.open(folder) as store:
        store.add(entries)
    return entries


def test_a_sweep_calls_its_points_as_it_likes(tmp_path):
    entries = filled(tmp_path)
    first = [(entry.key, {"a": place}) for place, entry in enumerate(entries)]
    second = [(entry.key, {"b": str(place)}) for place, entry in enumerate(entries[1:3])]
    with Store.open(tmp_path) as store:
        store.note_sweep("one", ASKED, first)
        store.note_sweep("two", {}, second)
        assert store.members("one") == first
        assert store.members("two") == second
        assert {(sweep.name, sweep.points) for sweep in store.sweeps()} == {("one", 4), ("two", 2)}
        # Asked again, with fewer points.
        store.note_sweep("one", ASKED, first[2:])
        assert store.members("one") == first[2:]
        found = next(sweep for sweep in store.sweeps() if sweep.name == "one")
        assert (found.points, found.definition) == (2, ASKED)
        assert len(store) == 4


def test_points_that_are_not_there_are_counted(tmp_path):
    entries = filled(tmp_path)
    with Store.open(tmp_path) as store:
        store.note_sweep("one", ASKED, [(entry.key, {}) for entry in entries])
        store.remove([entries[0].key])
        found = store.sweeps()[0]
        failed = sum(entry.error is not None for entry in entries[1:])
        assert (found.points, found.done, found.failed) == (4, 3 - failed, failed)


def test_an_unknown_sweep_is_refused_with_those_that_are_there(tmp_path):
    entries = filled(tmp_path)
    with Store.open(tmp_path) as store:
        with pytest.raises(StoreError, match="none yet"):
            store.members("two")
        store.note_sweep("one", ASKED, [(entries[0].key, {})])
        with pytest.raises(StoreError, match="accepted: one"):
            store.members("two")


def test_outcomes_are_numbers_and_errors(tmp_path):
    entries = filled(tmp_path, 1200)
    with Store.open(tmp_path) as store:
        found = store.outcomes([entry.key for entry in entries] + ["00" * 32])
    assert {key: (dict(one.metrics), one.error) for key, one in found.items()} == {
        entry.key: (dict(entry.metrics), entry.error) for entry in entries
    }


def test_merging_brings_the_sweeps_whose_names_are_free(tmp_path):
    ours, theirs = filled(tmp_path / "ours", 2), filled(tmp_path / "theirs", 4)
    with Store.open(tmp_path / "theirs") as store:
        store.note_sweep("both", {}, [(theirs[3].key, {"x": 3})])
        store.note_sweep("theirs", ASKED, [(entry.key, {"x": 1}) for entry in theirs])
    with Store.open(tmp_path / "ours") as store:
        store.note_sweep("both", ASKED, [(ours[0].key, {"x": 0})])
        store.merge(tmp_path / "theirs")
        assert len(store) == 4
        assert store.members("both") == [(ours[0].key, {"x": 0})]
        assert len(store.members("theirs")) == 4


@pytest.mark.parametrize("change", [
    "UPDATE sweep SET definition = '{'",
    "UPDATE sweep SET definition = '[]'",
    "UPDATE member SET coordinates = '[1'",
    "UPDATE names SET json = json || '{'",
    "UPDATE numbers SET vector = x'00'",
])  # fmt: skip
def test_what_is_damaged_is_told(tmp_path, change):
    entries = filled(tmp_path)
    with Store.open(tmp_path) as store:
        store.note_sweep("one", ASKED, [(entry.key, {}) for entry in entries])
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute(change)

    def look(store: Store) -> None:
        store.outcomes([entry.key for entry in entries])
        store.members("one")
        store.sweeps()

    with Store.open(tmp_path) as store, pytest.raises(StoreError, match="damaged"):
        look(store)
