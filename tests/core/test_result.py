"""Result files: written whole, read with suspicion, shown in several ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opennandlab as onl
from opennandlab.base.canonical import digest
from opennandlab.base.words import number
from opennandlab.reports.metric_rows import metric_rows
from opennandlab.reports.summary import latency_table


@pytest.fixture(scope="module")
def result() -> onl.Result:
    from conftest import SHORT, SMALL

    return onl.benchmark(SMALL, {**SHORT, "read_pct": 30})


def test_a_result_is_saved_and_loaded(result: onl.Result, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    result.save(path)
    again = onl.load(path)
    assert again.document == result.document
    assert again.digest == digest(again.document)


def test_series_are_numpy_arrays_and_frames(result: onl.Result) -> None:
    series = result.series
    assert all(values.dtype == np.float64 for values in series.values())
    assert len({len(values) for values in series.values()}) == 1
    frame = result.frame()
    assert list(frame["waf"]) == pytest.approx(list(series["waf"]), nan_ok=True)
    latency = result.latency_frame()
    assert set(latency.index) >= {"read", "write"}
    assert latency.loc["write", "p99"] == result.metrics["latency_us"]["write"]["p99"]


def test_a_notebook_shows_the_metrics_and_escapes_names(result: onl.Result) -> None:
    document = json.loads(json.dumps(result.document))
    document["workload"]["name"] = "<script>alert(1)</script>"
    html = onl.Result(document)._repr_html_()
    assert "<script>" not in html
    assert "WAF" in html
    assert "p99.9" in html


def test_no_mean_stands_without_its_tail(result: onl.Result) -> None:
    names = [name for name, _, _ in metric_rows(result.content)]
    for op in ("write",):
        assert f"Avg latency, {op}" in names
        assert f"P99 latency, {op}" in names
        assert f"P999 latency, {op}" in names
    head, rows = latency_table(result.content)
    assert head.index("mean") < head.index("p99") < head.index("p99.9")
    assert [row[0] for row in rows][:2] == ["read", "write"]


def test_the_metrics_of_the_benchmark_page_are_all_there(result: onl.Result) -> None:
    names = " ".join(name for name, _, _ in metric_rows(result.content))
    for name in (
        *("WAF", "Throughput", "Avg latency", "P99 latency", "P999 latency", "GC cycles"),
        *("ECC correction rate", "UBER", "WL stddev", "Lifetime estimate"),
    ):
        assert name in names


def test_numbers_are_written_for_people() -> None:
    assert [number(value) for value in (0, 7.59743, 1e6, 1.5e-16, None, 123456.7, 0.0)] == [
        *("0", "7.597", "1 000 000", "1.5e-16", "-", "123 457", "0"),
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: b"", "empty"),
        (lambda text: text[: len(text) // 2], "no complete JSON"),
        (lambda text: b"\x00\xff" + text, "no complete JSON"),
        (lambda _: b"[1, 2]", "no `schema` of ours"),
        (lambda _: b'{"schema": "fio"}', 'the `schema` `"fio"`; accepted: opennandlab.result/1'),
        (lambda text: b"\xff" + text[1:], "byte 0 is not UTF-8 text"),
        (lambda _: b'{"schema": "opennandlab.compare/1"}', "holds `opennandlab.compare/1`"),
        (lambda text: text.replace(b"result/1", b"result/2"), "newer version"),
        (
            lambda _: b'{"schema": "opennandlab.result/1"}',
            "model_version: missing; accepted",
        ),
        (lambda text: text.replace(b'"seed": 42', b'"seed": "x"'), 'seed: `"x"` is not valid'),
        (lambda text: text.replace(b'"seed": 42', b'"seed": 43'), "digest"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_with_its_reason(
    result: onl.Result, tmp_path: Path, change: Any, words: str
) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(change(result.to_bytes()))
    with pytest.raises(onl.ResultError, match=words) as refusal:
        onl.Result.load(path)
    assert str(path) in str(refusal.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(onl.ResultError, match="No such file"):
        onl.load(tmp_path / "none.json")
    with pytest.raises(onl.ResultError, match="directory"):
        onl.load(tmp_path)
