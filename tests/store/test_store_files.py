"""Means over seeds, exports, and saved documents that are brought into a store."""

from __future__ import annotations

import csv
import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.canonical import digest
from opennandlab.base.errors import OutputError, ResultError, StoreError
from opennandlab.documents.life import DriveLifeTest
from opennandlab.documents.partial import nothing
from opennandlab.documents.record import plain
from opennandlab.store import Entry, Store, key_of
from opennandlab.store.adopting import adopt
from opennandlab.store.exporting import export
from opennandlab.store.means import split
from places import FOLDER
from stored import entry, failed

SAVED = FOLDER / "saved"
SHORT = {"name": "short", "pattern": "random", "total": {"ios": 500}}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "store") as made:
        yield made


# Means


def test_means_are_over_the_seeds_of_a_setting(store: Store) -> None:
    store.add([entry(n) for n in range(13)])
    found = store.means(["waf", "iops"], ["gc_policy"])
    assert (found.by, found.added) == (["ftl.gc_policy"], [])
    assert found.metrics == ["waf", "iops.total"]
    assert [group.values for group in found.groups] == [("fifo",), ("greedy",), ("random",)]
    greedy = found.groups[1]
    values = [1 + number / 8 for number in range(5)]
    assert (greedy.points, greedy.means[0].count) == (5, 5)
    assert greedy.means[0].mean == statistics.fmean(values)
    expected = 2.7764451 * statistics.stdev(values) / math.sqrt(5)
    assert greedy.means[0].half == pytest.approx(expected, rel=1e-7)
    assert greedy.means[0].low == greedy.means[0].mean - greedy.means[0].half
    assert found.rows().columns == [
        *("ftl.gc_policy", "waf", "waf.low", "waf.high", "waf.count"),
        *("iops.total", "iops.total.low", "iops.total.high", "iops.total.count"),
    ]
    assert found.rows().rows[1][:2] == ["greedy", 1.25]


def test_points_that_differ_in_more_than_the_seed_are_never_averaged(store: Store) -> None:
    store.add([entry(n) for n in range(20)])
    found = store.means(["waf"], ["gc_policy"])
    assert found.added == ["ftl.op"]
    assert [group.values for group in found.groups] == [
        ("fifo", 0.1), ("greedy", 0.0), ("greedy", 0.3), ("random", 0.2),
    ]  # fmt: skip
    assert store.means(["waf"], ["gc_policy"], where=["op<0.3"]).added == []
    assert store.means(["waf"], ["seed", "op"]).added == []


@pytest.mark.parametrize(
    ("changes", "added"),
    [
        ({"program": "2.0"}, ["program"]),
        ({"model_version": 10}, ["model_version"]),
        ({"verb": "replay"}, ["verb"]),
        ({"settings": {"x": 1}, "sweep": "second"}, ["sweep"]),
        ({"settings": {"x": 1}}, ["settings"]),
        ({"coordinates": {"ftl.gc_policy": "greedy"}}, []),
        ({"sweep": "second"}, []),
        ({"settings": entry(0).settings | {"paths": {"trace": "/x"}}}, []),
    ],
)
def test_what_tells_unlike_points_apart_is_added(
    store: Store, changes: dict[str, Any], added: list[str]
) -> None:
    store.add([entry(0), entry(1), entry(2, **changes)])
    found = store.means(["waf"], ["gc_policy"])
    assert found.added == added
    assert sorted(group.points for group in found.groups) == ([1, 2] if added else [3])


def test_failed_points_and_those_without_the_metric_are_left_out(store: Store) -> None:
    store.add([entry(0), failed(1), entry(2, metrics={"other": 1.0})])
    found = store.means(["waf"], ["gc_policy"])
    assert found.failed == 1
    assert [(group.points, group.means[0].half) for group in found.groups] == [(1, None)]
    both = store.means(["waf", "other"], ["gc_policy"])
    assert [mean.count for mean in both.groups[0].means] == [1, 1]
    with pytest.raises(StoreError, match="no point has `wax`"):
        store.means(["wax"], ["gc_policy"])


@pytest.mark.parametrize("text", ["waf by", "by op", "waf, by op", "waf by op,,x"])
def test_a_table_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(StoreError, match="accepted: METRIC"):
        split(text)


# Exports


def test_a_csv_has_all_columns_and_all_digits(store: Store, tmp_path: Path) -> None:
    store.add([entry(0, metrics={"waf": 0.1 + 0.2}, coordinates={"on": True, "a": 'x,"y"\n'})])
    assert export(store, tmp_path / "points.csv") == 1
    with (tmp_path / "points.csv").open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert float(row["waf"]) == 0.1 + 0.2
    assert (row["on"], row["a"], row["error"]) == ("true", 'x,"y"\n', "")
    assert row["key"] == entry(0).key


def test_lines_of_json_are_whole_points(store: Store, tmp_path: Path) -> None:
    whole = [entry(1), failed(0)]
    store.add(whole)
    assert export(store, tmp_path / "a.jsonl", ["seed=1"]) == 1
    assert "document" not in json.loads((tmp_path / "a.jsonl").read_text())
    assert export(store, tmp_path / "b.jsonl", documents=True) == 2
    lines = (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()
    assert [Entry(**json.loads(line)) for line in lines] == whole


def test_a_file_of_another_form_is_refused_and_half_of_one_is_never_left(
    store: Store, tmp_path: Path
) -> None:
    store.add([entry(0), entry(1)])
    for name, documents in (("a.xlsx", False), ("a", False), ("a.csv", True)):
        with pytest.raises(OutputError, match="cannot write"):
            export(store, tmp_path / name, documents=documents)
    store._database.connection.execute("UPDATE content SET packed = x'00' WHERE point = 1")
    (tmp_path / "a.jsonl").write_text("old")
    with pytest.raises(StoreError, match="damaged"):
        export(store, tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == "old"
    assert {one.name for one in tmp_path.iterdir()} == {"a.jsonl", "store"}


def test_parquet_comes_back(store: Store, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    store.add([entry(n) for n in range(3)] + [entry(3, coordinates={"ftl.op": "none"})])
    export(store, tmp_path / "points.parquet")
    table = parquet.read_table(tmp_path / "points.parquet").to_pydict()
    assert table["waf"] == store.rows().column("waf")
    assert table["ftl.op"] == ["none", "0.0", "0.0", "0.0"]


def test_parquet_without_pyarrow_says_what_is_missing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    store.add([entry(0)])
    with pytest.raises(OutputError, match=r"needs pyarrow: pip install 'opennandlab\[parquet\]'"):
        export(store, tmp_path / "points.parquet")


# Saved documents


def test_a_result_has_the_key_of_the_same_run_in_a_sweep(
    tmp_path: Path, small: dict[str, Any]
) -> None:
    result = onl.benchmark(small, SHORT, seed=7)
    result.save(tmp_path / "result.json")
    (one,) = adopt(tmp_path / "result.json", ["ftl.gc_policy", "workload.queue_depth"]).entries
    settings = {"device": result.document["device"], "workload": result.document["workload"]}
    assert one.key == key_of("benchmark", settings, 7, result.content.model_version)
    assert one.coordinates == {
        "device": "custom", "workload": "short", "ftl.gc_policy": "greedy",
        "workload.queue_depth": 1,
    }  # fmt: skip
    assert one.metrics["waf"] == result.metrics["waf"]
    assert one.metrics["iops.total"] == result.metrics["iops"]["total"]
    assert one.metrics.get("predicted_waf") == result.content.effective.predicted_waf
    assert (one.seed, one.program, one.created) == (
        7, result.content.tool.version, result.content.created,
    )  # fmt: skip
    with Store.open(tmp_path / "store") as store:
        store.add([one])
        assert store.entry(one.key) == one
        assert store.entry(one.key).document == result.document


def test_other_documents_have_keys_of_their_own(tmp_path: Path) -> None:
    documents = {
        "pts.stability": json.loads((SAVED / "pts.json").read_bytes()),
        "ecc.curve": onl.ecc.curve("bch:m=8,t=4", "bsc", [1e-4, 1e-3], method="analytic").document,
        "reliability.life": onl.reliability.life_test("tlc_standard").to_dict(),
        "reliability.drive-life": plain(nothing(DriveLifeTest)),
    }
    documents["reliability.drive-life"]["schema"] = "opennandlab.drive-life/1"
    for verb, document in documents.items():
        path = tmp_path / f"{verb}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        found = adopt(path)
        (one,) = found.entries
        assert one.verb == verb
        assert one.document == document
        assert found.notes, "what it does not say is told"
        assert adopt(path).entries == [one]
    curve = adopt(tmp_path / "ecc.curve.json").entries[0]
    points = documents["ecc.curve"]["points"]
    assert curve.metrics["fer@0.0001"] == points[0]["fer"]
    assert (curve.program, curve.model_version) == ("unknown", 0)


def test_a_comparison_of_codes_is_its_curves(tmp_path: Path) -> None:
    codes = ["bch:m=8,t=4", "bch:m=8,t=4,data_bits=222"]
    document = onl.ecc.compare(codes, "bsc", [1e-4], method="analytic")
    (tmp_path / "codes.json").write_text(json.dumps(document), encoding="utf-8")
    found = adopt(tmp_path / "codes.json").entries
    assert [one.coordinates["code"] for one in found] == codes
    assert len({one.key for one in found}) == 2


def test_machine_and_moment_of_a_test_are_read_beside_it(tmp_path: Path) -> None:
    document = json.loads((SAVED / "pts.json").read_bytes())
    document = {k: v for k, v in document.items() if k not in {"tool", "created", "run"}}
    document["digest"] = digest(document)
    (tmp_path / "iops.json").write_text(json.dumps(document), encoding="utf-8")
    moment = {
        "tool": {"version": "3.2"}, "created": "2026-01-01T00:00:00Z", "run": {"wall_s": 4.5},
        "digest": document["digest"],
    }  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps({document["name"]: moment}), encoding="utf-8")
    (one,) = adopt(tmp_path / "iops.json").entries
    assert (one.program, one.created, one.wall_s) == ("3.2", "2026-01-01T00:00:00Z", 4.5)
    other = {document["name"]: moment | {"digest": "f" * 64}}
    (tmp_path / "run.json").write_text(json.dumps(other), encoding="utf-8")
    assert adopt(tmp_path / "iops.json").entries[0].program == "unknown"
    (tmp_path / "run.json").write_text("[1]", encoding="utf-8")
    assert adopt(tmp_path / "iops.json").entries[0].program == "unknown"


def test_what_is_no_whole_run_is_refused(tmp_path: Path) -> None:
    document = json.loads((SAVED / "result.json").read_bytes())
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"partial": True}, StoreError, "the run was interrupted"),
        ({"metrics": {}}, StoreError, "the run was interrupted"),
        ({"checks": document["checks"] | {"passed": False}}, StoreError, "cannot be trusted"),
        ({"seed": "x"}, ResultError, "seed: .* accepted: a whole number"),
        ({"schema": "opennandlab.suite/1"}, ResultError, "holds `opennandlab.suite/1`; accepted:"),
    ]
    for changes, kind, reason in cases:
        changed = document | changes
        changed["digest"] = digest(changed)
        (tmp_path / "a.json").write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(kind, match=reason):
            adopt(tmp_path / "a.json")
    (tmp_path / "a.json").write_text(json.dumps(document | {"seed": 5}), encoding="utf-8")
    with pytest.raises(ResultError, match="does not match its digest"):
        adopt(tmp_path / "a.json")
    with pytest.raises(StoreError, match="no single value `ftl`"):
        adopt(SAVED / "result.json", ["ftl"])


def test_a_drive_that_was_not_empty_has_another_key(tmp_path: Path) -> None:
    document = json.loads((SAVED / "result.json").read_bytes())
    image = {"origin": {"image_crc32": "0badcafe"}}
    used = document | {"state": document["state"] | image}
    used["digest"] = digest(used)
    (tmp_path / "used.json").write_text(json.dumps(used), encoding="utf-8")
    found, fresh = adopt(tmp_path / "used.json"), adopt(SAVED / "result.json")
    assert found.entries[0].key != fresh.entries[0].key
    assert "not empty" in found.notes[0]
    assert fresh.notes == []
    assert replace(found.entries[0], settings={}, key="", document=None) == replace(
        fresh.entries[0], settings={}, key="", document=None
    )
