"""Hosts that share a drive, as users meet them: tables, comparison, refusals, verification."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from conftest import SMALL
from opennandlab.comparing import compare
from opennandlab.reports.metric_rows import metric_rows
from opennandlab.reports.summary import tenant_table

SHARED: dict[str, Any] = {
    "name": "shared",
    "total": {"ios": 3000},
    "precondition": [{"kind": "sequential_fill"}],
    "tenants": [
        {"name": "reader", "read_pct": 100, "queue_depth": 8, "weight": 3, "priority": "high"},
        {"name": "[b]writer[/b]", "queue_depth": 8, "range_pct": [50, 100], "flush_every": 20},
    ],
}
DEVICE: dict[str, Any] = {
    **SMALL,
    "host": {
        "link": "pcie3x4",
        "protocol": {"kind": "nvme", "arbitration": "weighted_round_robin"},
        "queue_depth_max": 4,
        "write_cache": {"pages": 16},
    },
}


@pytest.fixture(scope="module")
def result() -> onl.Result:
    return onl.benchmark(DEVICE, SHARED)


def test_every_tenant_has_a_row(result: onl.Result) -> None:
    head, rows = tenant_table(result.content)
    assert [row[:3] for row in rows] == [
        ["reader", "3", "high"],
        ["[b]writer[/b]", "1", "medium"],
    ]
    assert all(len(row) == len(head) and "-" not in row[3:6] for row in rows)
    assert "Fairness" in {name for name, _, _ in metric_rows(result.content)}
    html = result._repr_html_()
    assert "reader" in html
    assert "flush" in html
    assert result.document["effective"]["predicted_waf"] is None


def test_a_single_host_has_no_such_table() -> None:
    alone = onl.benchmark(SMALL, {"total": {"ios": 500}})
    assert tenant_table(alone.content)[1] == []
    assert "fairness" not in alone.metrics
    assert "Fairness" not in {name for name, _, _ in metric_rows(alone.content)}


def test_tenants_are_compared_by_name(result: onl.Result) -> None:
    metrics = compare([result, result])["metrics"]
    row = metrics["tenants.reader.iops.total"]
    assert row["values"][0] > 0
    assert row["delta_pct"] == [0.0, 0.0]


def test_the_same_run_gives_the_same_digest(result: onl.Result) -> None:
    assert onl.benchmark(DEVICE, result.document["workload"]).digest == result.digest


def test_the_resolved_device_says_what_the_link_is(result: onl.Result) -> None:
    host = result.document["device"]["host"]
    assert host["link"]["kind"] == "pcie3x4"
    assert host["link"]["mb_s"] == pytest.approx(3938.46, abs=0.01)
    assert host["protocol"]["kind"] == "nvme"


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ({"link": "sata2", "queue_depth_max": 64}, "host.queue_depth_max"),
        ({"link": "sata2", "protocol": "nvme"}, "host.protocol"),
        ({"link": {"kind": "custom"}}, "host.link.mb_s"),
        ({"cores": 2}, "host.cores"),
        ({"throttle": {"wear": {"tbw_tb": 1, "years": 0}}}, "host.throttle.wear.years"),
    ],
)
def test_contradictions_name_their_path(host: dict[str, Any], path: str) -> None:
    with pytest.raises(onl.ConfigError, match=path.replace(".", r"\.")):
        onl.load_device({**SMALL, "host": host})


def test_two_write_buffers_are_one_too_many() -> None:
    device = {**SMALL, "ftl": {**SMALL["ftl"], "write_buffer_pages": 8}}
    with pytest.raises(onl.ConfigError, match="write_buffer_pages"):
        onl.load_device({**device, "host": {"write_cache": {"pages": 8}}})


def test_a_tenant_that_takes_no_time_does_not_keep_the_others_from_the_end() -> None:
    """Its requests came back at once and for ever, and the writer never had a turn."""
    device = {
        "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 24},
        "ftl": {"over_provisioning_pct": 0.5},
    }
    tenants = [{"name": "trims", "trim_pct": 100}, {"name": "writes"}]
    workload = {"tenants": tenants, "total": {"drive_writes": 0.5}}
    result = onl.benchmark(device, workload)
    assert 0 < result.document["checks"]["issued"] < 5_000_000
