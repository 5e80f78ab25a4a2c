"""`examples/results/`: index, files and digests fit together, and the commands give them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.canonical import digest
from places import ROOT
from scripts import load_tool

FOLDER = ROOT / "examples" / "results"

load_tool("record_table")
record = load_tool("record")


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the record that may be damaged."""
    import shutil

    folder = tmp_path / "results"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(record, "FOLDER", folder)
    return folder


def test_index_files_and_digests_fit_together() -> None:
    assert list(record.faults()) == []


@pytest.mark.parametrize("entry", record.ENTRIES, ids=lambda entry: entry.file)
def test_each_document_loads(entry: Any) -> None:
    path = FOLDER / entry.file
    document = json.loads(path.read_text(encoding="utf-8"))
    facts = record.facts_of_all()[entry.file]
    assert onl.load(path) is not None
    assert digest(document) == facts["digest"] == document.get("digest", facts["digest"])
    assert facts["tool"]["commit"]
    assert record.headline(entry, document)


def test_a_sample_comes_out_the_same() -> None:
    assert record.check(record.sample(3), jobs=1) == []


def test_a_sample_takes_the_quickest_of_each_folder() -> None:
    found = record.sample(3)
    assert {Path(entry.file).parent.name for entry in found} == {"benchmark-page", "presets", "pts"}
    seconds = {entry.file: record.facts_of_all()[entry.file]["seconds"] for entry in record.ENTRIES}
    for entry in found:
        same = [it for it in seconds if Path(it).parent == Path(entry.file).parent]
        assert seconds[entry.file] == min(seconds[it] for it in same)
    assert len(record.sample(1000)) == len(record.ENTRIES)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "pts" / "latency.json").unlink(), "not there; `make record`"),
        (lambda folder: (folder / "own.json").write_text("{}"), "belongs to no row"),
        (lambda folder: (folder / "README.md").write_text("x"), "README.md: not as"),
        (lambda folder: (folder / "own.bin").write_bytes(bytes(2_000_000)), "bytes in all"),
    ],
)
def test_what_does_not_fit_is_named(copied: Path, damage: Any, said: str) -> None:
    damage(copied)
    assert any(said in text for text in record.faults())


def test_a_changed_number_is_named_with_its_change(copied: Path) -> None:
    path = copied / "benchmark-page" / "W1-greedy.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["metrics"]["waf"] = 1.25
    document["digest"] = digest(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    entry = next(it for it in record.ENTRIES if it.file.endswith("/W1-greedy.json"))
    found = "\n".join(record.check([entry], jobs=1))
    assert "was changed after it was written" in found
    assert "metrics.waf: 1.25 → 1 (-20 %)" in found
    assert "1 of " in found


def test_a_refresh_mends_what_changed_and_keeps_the_rest(copied: Path) -> None:
    whole = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    entry = next(it for it in record.ENTRIES if it.file.endswith("/W1-greedy.json"))
    path = copied / entry.file
    # The same again: nothing is written, the date stays.
    assert record.refresh([entry], jobs=1) == []
    assert {one: one.read_bytes() for one in whole} == whole
    path.unlink()
    assert record.refresh([entry], jobs=1) == []
    again = json.loads(path.read_text(encoding="utf-8"))
    assert digest(again) == json.loads(whole[path])["digest"]


def test_differences_say_what_is_new_and_what_is_gone() -> None:
    lines = record.differences(
        {"metrics": {"a": 2, "b": "x", "c": 0}, "digest": "1"},
        {"metrics": {"a": 3, "b": "y", "d": 1}, "digest": "2"},
    )
    assert lines == [
        "1 of 2 numbers changed",
        "  metrics.a: 2 → 3 (+50 %)",
        "  metrics.b: 'x' → 'y'",
        "  1 values are no longer there: metrics.c",
        "  1 values are new: metrics.d",
    ]
    assert record.differences({"a": 1, "created": "x"}, {"a": 1, "created": "y"}) == []


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("W2-greedy", "metrics.waf"),
        ("W2-cost-benefit", "metrics.waf"),
        ("W3-greedy", "metrics.waf"),
        ("W3-cost-benefit-apart", "metrics.waf"),
        ("W3-zipf-cost-benefit-apart", "metrics.waf"),
        ("W2-three-drive-writes", "metrics.waf"),
        ("W4", "metrics.waf"),
        ("W5", "metrics.waf"),
        ("W5-no-leveling", "metrics.wl_stddev"),
        ("W2-mlc-enterprise", "metrics.waf"),
    ],
)
def test_the_benchmark_page_shows_the_numbers_of_the_record(file: str, path: str) -> None:
    document = json.loads((FOLDER / "benchmark-page" / f"{file}.json").read_text(encoding="utf-8"))
    value = document["metrics"][path.removeprefix("metrics.")]
    page = (ROOT / "docs" / "benchmark-page.md").read_text(encoding="utf-8")
    shown = [f"{value:.3f}", f"{value:.2f}"] if value < 10 else [f"{value:.2f}"]
    assert any(text in page for text in shown), value
