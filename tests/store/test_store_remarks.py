"""Tags and notes: kept apart from measured values, and a store without any as it was."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from opennandlab.base.errors import OutputError
from opennandlab.store import Store, StoreError
from opennandlab.store.place import FILE
from opennandlab.store.remarks import Remark
from stored import entry


def version(folder: Path) -> int:
    """Return the version of a store, as SQLite has it."""
    connection = sqlite3.connect(folder / FILE)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def filled(folder: Path, count: int = 4) -> list[str]:
    """Make a store of some points; return their keys."""
    with Store.open(folder) as store:
        store.add([entry(number) for number in range(count)])
        return sorted(store.keys())


def test_a_store_without_remarks_stays_of_version_1(tmp_path: Path) -> None:
    keys = filled(tmp_path)
    with Store.open(tmp_path) as store:
        assert store.remarks(keys) == {}
        assert store.names().tags == []
        assert "tags" not in store.rows().columns
        assert len(store.rows(where=["tag!=good"])) == 4
    assert version(tmp_path) == 1


def test_remarks_are_kept_found_and_removed(tmp_path: Path) -> None:
    keys = filled(tmp_path)
    with Store.open(tmp_path) as store:
        digest = store.entry(keys[0])
        store.remark(keys[:2], tags=["good", "figure-3"], note="as planned")
        store.remark([keys[1]], add=["good", "odd"])
        assert store.remarks(keys) == {
            keys[0]: Remark(("good", "figure-3"), "as planned"),
            keys[1]: Remark(("good", "figure-3", "odd"), "as planned"),
        }
        assert store.entry(keys[0]) == digest
    assert version(tmp_path) == 2
    with Store.open(tmp_path) as store:
        assert store.names().tags == ["figure-3", "good", "odd"]
        assert store.keys(["tag=odd"]) == [keys[1]]
        assert set(store.keys(["tag=good"])) == set(keys[:2])
        # A part of a tag is no tag.
        assert store.keys(["tag=goo"]) == []
        assert set(store.keys(["tag!=good"])) == set(keys[2:])
        rows = store.rows(where=["tag=odd"])
        assert rows.column("tags") == ["good figure-3 odd"]
        assert store.rows(columns=["note"], where=["tag=odd"]).column("note") == ["as planned"]
        store.remark(keys, tags=[], note="")
        assert store.remarks(keys) == {}
        store.remark(keys[:1], add=["left"])
        store.remove(keys[:1])
        assert store.names().tags == []


def test_remarks_are_merged_where_there_are_none(tmp_path: Path) -> None:
    keys = filled(tmp_path / "ours")
    filled(tmp_path / "theirs")
    with Store.open(tmp_path / "theirs") as store:
        store.remark(keys[:2], tags=["theirs"])
    with Store.open(tmp_path / "ours") as store:
        store.remark(keys[:1], tags=["ours"])
        store.merge(tmp_path / "theirs")
        found = store.remarks(keys)
        assert {key: one.tags for key, one in found.items()} == {
            keys[0]: ("ours",), keys[1]: ("theirs",)
        }  # fmt: skip


@pytest.mark.parametrize(("given", "said"), [
    ({"tags": ["two words"]}, "'two words'"), ({"tags": ["a,b"]}, "'a,b'"),
    ({"add": [""]}, "1 to 40 characters"), ({"add": ["x" * 41]}, "1 to 40 characters"),
    ({"add": ["a=b"]}, "a=b"), ({"tags": [f"t{n}" for n in range(21)]}, "accepted: 20"),
    ({"tags": ["\ud800"]}, "is not valid"), ({"tags": [], "note": "x" * 2001}, "accepted: 2000"),
    ({"note": "\ud800"}, "as Unicode"), ({"note": "x" * 2001}, "2001 characters"),
])  # fmt: skip
def test_odd_remarks_are_refused_and_change_nothing(
    tmp_path: Path, given: dict[str, list[str]], said: str
) -> None:
    keys = filled(tmp_path, 1)
    with Store.open(tmp_path) as store:
        with pytest.raises(StoreError, match=said.replace("'", ".")):
            store.remark(keys, **given)
        assert store.remarks(keys) == {}
        with pytest.raises(StoreError, match="no point has the key"):
            store.remark(["0" * 64], tags=["x"])
        with pytest.raises(StoreError, match="accepted: tag=NAME"):
            store.keys(["tag>good"])
    assert version(tmp_path) == 1


def test_a_store_that_cannot_be_written_is_read_and_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = filled(tmp_path)
    monkeypatch.setattr(os, "access", lambda _, right: right != os.W_OK)
    with Store.open(tmp_path) as store:
        assert store.remarks(keys) == {}
        assert store.keys(["tag=x"]) == []
        with pytest.raises(OutputError, match="no permission to write"):
            store.remark(keys, tags=["x"])


def test_two_who_have_the_store_open_remark_in_turn(tmp_path: Path) -> None:
    keys = filled(tmp_path)
    with Store.open(tmp_path) as first, Store.open(tmp_path) as second:
        first.remark(keys[:1], tags=["one"])
        second.remark(keys[1:2], tags=["two"])
        second.add([entry(9)])
        assert {one.tags for one in second.remarks(keys).values()} == {("one",), ("two",)}
