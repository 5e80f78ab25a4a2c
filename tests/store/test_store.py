"""The store of runs: it gives back what it was given, whoever else writes, and whatever breaks."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import opennandlab as onl
from opennandlab.base.errors import OutputError, StoreError, StoreWriteError, WriteError
from opennandlab.store import Added, Entry, Store, where_store
from opennandlab.store import database as database_module
from opennandlab.store.place import FILE
from places import FOLDER
from stored import entry, failed, key

# Adds batches of ten entries from the first number to the last, and says so after each.
ADDER = """
import sys
sys.path.insert(0, sys.argv[1])
from opennandlab.store import Store
from stored import entry
first, last, step = map(int, sys.argv[3:6])
with Store.open(sys.argv[2]) as store:
    for start in range(first, last, 10):
        added = store.add([entry(number) for number in range(start, start + 10, step)])
        print(added.new, flush=True)
"""


def adder(folder: Path, first: int, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ADDER, str(FOLDER), str(folder), str(first), str(last), "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "store") as made:
        yield made


# What it keeps


def test_an_entry_comes_back_as_it_was_given(store: Store) -> None:
    odd = entry(
        seed=2**64 - 1,
        coordinates={"a": True, "b": None, "c": "ü\u2028", "d": 2**70, "e": 0.1, "f": "\ud800"},
        metrics={"waf": 0.1 + 0.2, "min": 5e-324, "count": 3, "ä.p99": -1e300},
        settings={"x": [1, 1.0, "\ud800", None, {"y": 2**64}], "z": {"b": 1, "a": 2}},
        document={"text": "\ud800\x00", "whole": 1, "real": 1.0, "list": [[], {}]},
        sweep=None,
    )
    assert store.add([odd]) == Added(new=1)
    found = store.entry(odd.key)
    assert found == odd
    assert found.document is not None
    assert [type(found.document[name]) for name in ("whole", "real")] == [int, float]
    assert list(found.settings["z"]) == ["b", "a"]
    assert list(found.coordinates) == list(odd.coordinates)
    with Store.open(store.path) as again:
        assert again.entry(odd.key[:4]) == odd


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": "xyz"}, "64 hex digits"),
        ({"metrics": {"waf": float("nan")}}, "metric `waf` is nan; accepted: a finite number"),
        ({"metrics": {"waf": "2"}}, "accepted: a finite number"),
        ({"metrics": {"waf": True}}, "accepted: a finite number"),
        ({"coordinates": {"op": float("inf")}}, "coordinate `op` is inf"),
        ({"coordinates": {"x" * 501: 1}}, "has 501 characters"),
        ({"document": None}, "neither a document nor an error"),
        ({"error": "it broke"}, "both a document and an error"),
        ({"settings": {"x": float("nan")}}, "cannot be kept as JSON"),
        ({"document": {"x": object()}}, "cannot be kept as JSON"),
    ],
)
def test_what_could_not_come_back_is_refused_and_nothing_is_added(
    store: Store, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(StoreError, match=reason):
        store.add([entry(1), entry(**changes)])
    assert len(store) == 0


def test_a_point_is_done_once_and_stays_so(store: Store) -> None:
    assert store.add([failed(0), entry(1)]) == Added(new=2)
    keys = [entry(0).key, entry(1).key, key(0)]
    assert store.known(keys) == {keys[0]: False, keys[1]: True}
    later = failed(0, error="again", created="2027")
    assert store.add([later, failed(1)]) == Added(replaced=1, known=1)
    assert store.entry(keys[0]).error == "again"
    assert store.add([failed(0), entry(0)]) == Added(replaced=1, known=1)
    assert store.known(keys) == {keys[0]: True, keys[1]: True}
    assert store.add([entry(0), entry(0), failed(0)]) == Added(known=3)
    assert store.entry(keys[0]) == entry(0)


def test_two_documents_of_one_point_are_refused_and_nothing_is_added(store: Store) -> None:
    store.add([entry(0)])
    other = entry(0, document={"digest": "f" * 64})
    with pytest.raises(StoreError, match=r"f{12}….*not deterministic.*nothing was added"):
        store.add([entry(1), other])
    assert len(store) == 1
    assert store.entry(other.key) == entry(0)


def test_a_document_without_a_digest_is_compared_by_its_content(store: Store) -> None:
    first = entry(0, document={"x": 1, "created": "today"})
    store.add([first])
    assert store.add([entry(0, document={"x": 1, "created": "later"})]) == Added(known=1)
    with pytest.raises(StoreError, match="not deterministic"):
        store.add([entry(0, document={"x": 1.0})])


def test_a_key_may_be_shortened_to_what_is_unambiguous(store: Store) -> None:
    one, two = "abcd1" + "0" * 59, "abcd2" + "0" * 59
    store.add([entry(0, key=one), entry(1, key=two)])
    assert store.entry("ABCD1").key == one
    for digits, reason in (
        ("abcd", "several points begin with abcd: abcd1000, abcd2000; give more"),
        ("abc", "4 to 64 hex digits"),
        ("xyzt", "4 to 64 hex digits"),
        ("ffff", "no point in .* begins with ffff"),
    ):
        with pytest.raises(StoreError, match=reason):
            store.entry(digits)


def test_removed_points_are_gone_and_their_room_is_given_back(store: Store) -> None:
    noise = random.Random(1)  # noqa: S311 (no secrets)
    entries = [entry(n, document={"x": noise.randbytes(9000).hex()}) for n in range(60)]
    store.add(entries)
    store.close()
    with Store.open(store.path) as again:
        size = again.file.stat().st_size
        assert again.remove([one.key for one in entries[:58]] + [key(0)]) == 58
        assert len(again) == 2
        assert [again.entry(one.key) for one in entries[58:]] == entries[58:]
    with Store.open(store.path) as again:
        assert again.file.stat().st_size < size / 4
        assert again.remove([one.key for one in entries]) == 2
        assert again.rows().rows == []


# Against a plain mapping

NUMBERS = some.integers(0, 7)
STEPS = some.lists(
    some.tuples(
        some.sampled_from(["add", "fail", "later", "merge", "remove", "open"]),
        some.lists(NUMBERS, max_size=4),
    ),
    max_size=12,
)


def put(oracle: dict[str, Entry], one: Entry) -> None:
    old = oracle.get(one.key)
    is_better = old is not None and not old.done and (one.done or one.created > old.created)
    if old is None or is_better:
        oracle[one.key] = one


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_a_store_is_a_mapping_whatever_happens_in_whatever_order(steps: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, oracle = Store.open(folder), dict[str, Entry]()
        makers = {
            "add": entry,
            "fail": failed,
            "later": lambda n: failed(n, error="later", created="2027"),
        }
        for place, (kind, numbers) in enumerate(steps):
            if kind in makers:
                entries = [makers[kind](number) for number in numbers]
                assert store.add(entries).total == len(entries)
                for one in entries:
                    put(oracle, one)
            elif kind == "merge":
                entries = [(entry, failed)[number % 2](number) for number in numbers]
                with Store.open(Path(folder) / str(place)) as other:
                    other.add(entries)
                    theirs = {one.key: other.entry(one.key) for one in entries}
                store.merge(Path(folder) / str(place))
                for one in theirs.values():
                    put(oracle, one)
            elif kind == "remove":
                keys = {entry(number).key for number in numbers}
                assert store.remove(keys) == len(keys & oracle.keys())
                oracle = {name: one for name, one in oracle.items() if name not in keys}
            else:
                store.close()
                store = Store.open(folder)
            assert store.known(oracle) == {name: one.done for name, one in oracle.items()}
            assert {one.key: one for one in store.entries()} == oracle
        store.check()
        store.close()


# Several at once


def test_processes_that_add_at_once_lose_nothing_and_add_nothing_twice(tmp_path: Path) -> None:
    """Also who makes the store is not agreed on: all begin without one."""
    spans = ((0, 200), (100, 300), (0, 300))
    running = [adder(tmp_path / "store", *span) for span in spans]
    outputs = [one.communicate(timeout=60)[0] for one in running]
    assert [one.returncode for one in running] == [0, 0, 0]
    assert sum(int(line) for text in outputs for line in text.split()) == 300
    with Store.open(tmp_path / "store") as store:
        assert {one.key: one for one in store.entries()} == {
            entry(number).key: entry(number) for number in range(300)
        }
        store.check()


@pytest.mark.parametrize("lines", [0, 1, 3, 7])
def test_a_process_that_is_killed_leaves_whole_batches(tmp_path: Path, lines: int) -> None:
    running = adder(tmp_path / "store", 0, 100_000)
    assert running.stdout is not None
    said = [running.stdout.readline() for _ in range(lines)]
    running.send_signal(signal.SIGKILL)
    running.wait(timeout=60)
    running.stdout.close()
    assert said == ["10\n"] * lines
    with Store.open(tmp_path / "store") as store:
        count = len(store)
        assert count % 10 == 0
        assert count >= 10 * lines
        assert {one.key for one in store.entries()} == {entry(n).key for n in range(count)}
        store.check()
        assert store.add([entry(100_000)]) == Added(new=1)


def test_a_reader_sees_one_state_while_another_writes(store: Store) -> None:
    store.add([entry(n) for n in range(3)])
    with Store.open(store.path) as other:
        seen = other.entries()
        assert next(seen) == entry(2)
        store.remove([entry(1).key])
        store.add([entry(5)])
        assert list(seen) == [entry(0)]
        assert len(other) == 3


def test_a_locked_store_says_who_holds_it(store: Store) -> None:
    script = (
        "import sqlite3, sys\n"
        "one = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "one.execute('BEGIN IMMEDIATE'); print(flush=True); sys.stdin.read()\n"
    )
    store.add([entry(0)])
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(store.file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder, Store.open(store.path, timeout_s=0.05) as other:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreWriteError, match=r"has been writing to it for 0\.05 s") as told:
            other.add([entry(1)])
        if Path("/proc/locks").exists():
            assert f"process {holder.pid} (`" in str(told.value)
        assert other.entry(entry(0).key) == entry(0)
        holder.communicate()
        assert other.add([entry(1)]) == Added(new=1)


# What breaks


def test_a_full_disk_keeps_what_was_there(store: Store) -> None:
    store.add([entry(0)])
    connection = store._database.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    noise = random.Random(1).randbytes(200_000).hex()  # noqa: S311 (no secrets)
    with pytest.raises(StoreWriteError, match="the disk is full; nothing of this was kept") as told:
        store.add([entry(1), entry(2, document={"x": noise})])
    assert isinstance(told.value, WriteError)
    assert list(store.entries()) == [entry(0)]
    connection.execute("PRAGMA max_page_count = 1000000")
    assert store.add([entry(1)]) == Added(new=1)
    store.check()


def looked_at(folder: Path, healthy: Path) -> None:
    """Do everything that can be done with a store."""
    with Store.open(folder, timeout_s=0.05) as store:
        keys = [entry(n).key for n in range(40)]
        for done in (
            lambda: store.known(keys),
            store.rows,
            lambda: store.rows(where=["waf>=2", "ftl.gc_policy=greedy"], order="waf", limit=3),
            lambda: [store.entry(one) for one in keys],
            lambda: list(store.entries(["verb=benchmark"])),
            lambda: store.add([entry(50), failed(51)]),
            lambda: store.merge(healthy),
            lambda: store.remove(keys[:3]),
            store.check,
        ):
            with contextlib.suppress(StoreError):
                done()


@pytest.mark.parametrize("number", range(60))
def test_damage_is_told_in_a_sentence(tmp_path: Path, number: int) -> None:
    with Store.open(tmp_path / "whole") as store:
        store.add([entry(n) for n in range(40)])
        whole = {one.key: one for one in store.entries()}
    draw = random.Random(number)  # noqa: S311 (no secrets)
    raw = bytearray((tmp_path / "whole" / FILE).read_bytes())
    if number % 10 == 9:
        del raw[draw.randrange(len(raw)) :]
    elif number % 10 == 8:
        place = draw.randrange(len(raw) // 4096) * 4096
        raw[place : place + 4096] = draw.randbytes(4096)
    else:
        for _ in range(draw.choice((1, 4, 100))):
            raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    (tmp_path / "hurt").mkdir()
    (tmp_path / "hurt" / FILE).write_bytes(raw)
    shutil.copytree(tmp_path / "hurt", tmp_path / "other")
    # Anything else that is raised fails the test.
    with contextlib.suppress(StoreError):
        looked_at(tmp_path / "hurt", tmp_path / "whole")
    with Store.open(tmp_path / "new") as new:
        with contextlib.suppress(StoreError):
            new.merge(tmp_path / "other")
        # What came over is whole, or nothing did.
        assert {one.key: one for one in new.entries()}.items() <= whole.items()
        assert len(new) in {0, 40}


def test_a_changed_number_of_a_point_is_found(store: Store) -> None:
    store.add([entry(0), entry(1)])
    store._database.connection.execute("UPDATE point SET verb = 'replay' WHERE seed = 1")
    assert store.entry(entry(0).key) == entry(0)
    with pytest.raises(StoreError, match=r"damaged: the point \w+… is not as it was kept"):
        store.entry(entry(1).key)


def test_a_cut_file_is_found_when_it_is_opened(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.add([entry(n) for n in range(40)])
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:-4096])
    with pytest.raises(StoreError, match="damaged: database disk image is malformed"):
        Store.open(tmp_path)


def test_a_newer_a_foreign_and_no_store_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / FILE
    with pytest.raises(StoreError, match="nothing was kept there yet"):
        Store.open(tmp_path, create=False)
    assert not file.exists()
    with Store.open(tmp_path) as store:
        store._database.connection.execute("PRAGMA user_version = 3")
    with pytest.raises(StoreError, match=r"a store of version 3; accepted: up to 2: use the newer"):
        Store.open(tmp_path)
    with sqlite3.connect(tmp_path / "notes.db") as other:
        other.execute("CREATE TABLE note (text)")
    other.close()
    with pytest.raises(StoreError, match="a database of another program"):
        Store.open(tmp_path / "notes.db")
    file.write_bytes(b"some text that is no database at all" * 100)
    with pytest.raises(StoreError, match="not a database; accepted: a store of runs"):
        Store.open(tmp_path)
    file.write_bytes(b"")
    with pytest.raises(StoreError, match="an empty file"):
        Store.open(tmp_path, create=False)
    file.unlink()
    file.mkdir()
    with pytest.raises(StoreError, match="a folder; accepted: a store of runs"):
        Store.open(tmp_path)
    with pytest.raises(OutputError, match="cannot make a store in"):
        Store.open(tmp_path / "notes.db" / "inside")


def test_a_store_of_another_user_is_read_and_not_written() -> None:
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from opennandlab.store import Store\n"
        "from stored import entry\n"
        "if os.geteuid() == 0: os.setgid(65534), os.setuid(65534)\n"
        "with Store.open(sys.argv[2]) as store:\n"
        "    print(store.entry(entry(0).key) == entry(0))\n"
        "    make = lambda: Store.open(sys.argv[2] + '/new')\n"
        "    for act in (lambda: store.add([entry(1)]), make):\n"
        "        try: act()\n"
        "        except Exception as error: print(type(error).__name__, error)\n"
    )
    # Folders of pytest are closed to others.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store.open(folder) as store:
            store.add([entry(0)])
        (folder / FILE).chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", script, str(FOLDER), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        folder.chmod(0o755)
    assert done.stdout.splitlines() == [
        "True",
        f"OutputError {name}/{FILE}: no permission to write it",
        f"OutputError cannot make a store in {name}/new: Permission denied",
    ], done.stderr


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError, match="the store was closed"):
        store.rows()


# Where it is


def test_a_disk_of_several_machines_gets_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log's index is memory that machines do not share."""

    def mode(made: Store) -> object:
        return made._database.connection.execute("PRAGMA journal_mode").fetchone()[0]

    with Store.open(tmp_path / "a") as made:
        assert mode(made) == "wal"
    monkeypatch.setattr(database_module, "is_network", lambda _: True)
    for name in ("a", "b"):
        with Store.open(tmp_path / name) as made:
            assert mode(made) == "delete"
            assert made.add([entry(0)]) == Added(new=1)


def test_a_store_is_looked_for_where_it_was_named_then_here_then_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/my")
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.delenv("OPENNANDLAB_STORE", raising=False)
    assert where_store() == Path("/my/.local/share/opennandlab")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert where_store() == Path("/data/opennandlab")
    (tmp_path / ".opennandlab").mkdir()
    assert where_store() == Path(".opennandlab")
    monkeypatch.setenv("OPENNANDLAB_STORE", "named")
    assert where_store() == Path("named")
    assert where_store("given") == Path("given")
    with pytest.raises(StoreError, match="an empty name"):
        where_store("")
    with onl.open_store() as store:
        assert store.path == Path("named")
    assert (tmp_path / "named" / FILE).is_file()


# Merging


def test_a_merged_store_has_all_points_once(tmp_path: Path, store: Store) -> None:
    store.add([entry(0), failed(1), entry(2)])
    with Store.open(tmp_path / "other") as other:
        other.add([entry(1), entry(2), failed(0), entry(3)])
        assert store.merge(tmp_path / "other") == Added(new=1, replaced=1, known=2)
        assert store.merge(other.file) == Added(known=4)
        assert len(other) == 4
    assert [store.entry(entry(n).key) for n in range(4)] == [entry(n) for n in range(4)]
    for place, reason in (
        (store.path, "the same store"),
        (tmp_path / "none", "nothing was kept there yet"),
    ):
        with pytest.raises(StoreError, match=reason):
            store.merge(place)


def test_stores_that_disagree_are_not_merged(tmp_path: Path, store: Store) -> None:
    store.add([entry(1)])
    with Store.open(tmp_path / "other") as other:
        other.add([entry(0), entry(1, document={"digest": "f" * 64})])
    with pytest.raises(StoreError, match="nothing was added"):
        store.merge(tmp_path / "other")
    assert list(store.entries()) == [entry(1)]
