"""Namespaces on some of the dies, as users meet them: rows, refusals, images, the same as alone."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.comparing import compare
from opennandlab.reports.summary import namespace_table, tenant_table
from opennandlab.theory.prediction import why_no_formula

NAND = {"dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 32, "pages_per_block": 32}
FILL = [{"kind": "sequential_fill", "fills": 2}]
NAMES = ("left", "right")


def drive(channels: int, **host: Any) -> dict[str, Any]:
    ftl = {"over_provisioning_pct": 0.25}
    return {"nand": {**NAND, "channels": channels}, "ftl": ftl, "host": host}


def shared() -> dict[str, Any]:
    rows = [{"name": name, "channels": [place]} for place, name in enumerate(NAMES)]
    return drive(2, namespaces=rows)


def tenants() -> list[dict[str, Any]]:
    return [
        {"name": "one", "queue_depth": 2, "read_pct": 30},
        {"name": "two", "queue_depth": 16, "block_size_bytes": "8KiB"},
    ]


def together() -> dict[str, Any]:
    rows = [{**one, "namespace": name} for one, name in zip(tenants(), NAMES, strict=True)]
    return {"tenants": rows, "total": {"seconds": 1}, "precondition": FILL}


@pytest.fixture(scope="module")
def result() -> onl.Result:
    return onl.benchmark(shared(), together())


def test_each_is_as_alone_on_its_half_of_the_drive(result: onl.Result) -> None:
    for place, tenant in enumerate(tenants()):
        workload = {"tenants": [tenant], "total": {"seconds": 1}, "precondition": FILL}
        alone = onl.benchmark(drive(1), workload)
        own, row = result.metrics["namespaces"][place], result.metrics["tenants"][place]
        assert own["programs"] == alone.metrics["programs"]
        assert own["waf"] == pytest.approx(own_waf(alone), rel=1e-12)
        assert alone.metrics["programs"]["gc"] > 100
        assert row["served"] == alone.metrics["tenants"][0]["served"]
        assert row["latency_us"] == alone.metrics["tenants"][0]["latency_us"]


def own_waf(result: onl.Result) -> float:
    programs = result.metrics["programs"]
    return float(sum(programs.values()) / programs["host"])


def test_every_namespace_has_a_row(result: onl.Result) -> None:
    head, rows = namespace_table(result.content)
    assert [row[0] for row in rows] == list(NAMES)
    assert all(len(row) == len(head) and "-" not in row for row in rows)
    assert len(tenant_table(result.content)[1]) == len(NAMES)
    assert compare([result, result])["metrics"]["namespaces.left.waf"]["delta_pct"] == [0.0, 0.0]
    plain = onl.benchmark(drive(1), {"total": {"ios": 200}})
    assert namespace_table(plain.content)[1] == []
    assert "namespaces" not in plain.metrics


def test_a_resolved_run_is_the_same_run(result: onl.Result) -> None:
    again = onl.benchmark(result.document["device"], result.document["workload"])
    assert again.digest == result.digest
    assert "namespace_pages" not in result.document["workload"]["tenants"][0]


def test_no_formula_is_applied() -> None:
    device = onl.load_device(shared())
    reason = why_no_formula(device.to_dict(), device.effective, {"total": {"drive_writes": 1}})
    assert "host.namespaces" in str(reason)


def test_a_range_is_part_of_the_namespace() -> None:
    workload = together()
    workload["tenants"][1] |= {"range_pct": [50, 100], "pattern": "sequential"}
    workload["precondition"] = []
    found = onl.benchmark(shared(), workload)
    assert found.metrics["namespaces"][1]["programs"]["host"] > 0
    half = onl.load_device(shared()).effective["namespaces"][1]
    assert half["first_page"] == half["logical_pages"]


@pytest.mark.parametrize(
    ("namespaces", "words"),
    [
        ([{"name": "a", "channels": [5]}], r"host\.namespaces\[0\]\.channels: 5"),
        ([{"name": "a", "dies": []}], r"host\.namespaces\[0\]\.dies: an empty list"),
        ([{"name": "a", "size_pct": 90}], "90 are 90 together; accepted: 100"),
        ([{"name": "a", "planes": [0]}], "planes"),
        ([{"channels": [0]}], "name"),
    ],
)
def test_contradictions_name_key_and_value(namespaces: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(onl.ConfigError, match=words):
        onl.load_device(drive(2, namespaces=namespaces))


def test_a_tenant_of_no_namespace_is_refused() -> None:
    workload = {"tenants": [{"namespace": "left"}], "total": {"ios": 1}}
    with pytest.raises(onl.ConfigError, match=r"tenants\[0\]\.namespace: `left`.*none"):
        onl.benchmark(drive(2), workload)
