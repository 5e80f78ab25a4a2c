"""One sweep of units, mixes and sizes: k units are k times one, unless the host has a cap."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.core.config import load_device
from opennandlab.reports import scaling as pages
from opennandlab.studies.scaling import QUEUE_DEPTH, sweep
from opennandlab.theory.bandwidth import MIXES
from opennandlab.theory.scaling import ScalingSweep

SMALL: dict[str, Any] = {
    "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 48,
             "pages_per_block": 64},
    "ftl": {"over_provisioning_pct": 0.2},
}  # fmt: skip
UNITS, SIZES = (1, 2, 4), (512, 4096, 65536)


@pytest.fixture(scope="module")
def found() -> ScalingSweep:
    return sweep(load_device(SMALL), units=UNITS, sizes=SIZES)


def test_units_do_not_hinder_each_other(found: ScalingSweep) -> None:
    """Within 0.5 %, as is wanted; and an axis of each kind is complete."""
    assert len(found.points) == len(UNITS) * len(SIZES) * len(MIXES)
    for size in SIZES:
        for count in UNITS:
            assert found.normalised(count, size) == pytest.approx(count, rel=0.005)


def test_the_rates_of_a_unit_are_those_of_the_drive_alone(found: ScalingSweep) -> None:
    """A plain run of reads, and the root mean square by its definition."""
    work = {
        "pattern": "random", "read_pct": 100, "queue_depth": QUEUE_DEPTH, "total": {"ios": 5000},
        "precondition": [{"kind": "sequential_fill", "fills": 1}],
    }  # fmt: skip
    alone = onl.benchmark(SMALL, work).metrics["iops"]["read"]
    assert found.rates(1, 4096)[0] == pytest.approx(alone, rel=0.005)
    rates = found.rates(4, 4096)
    assert found.rms(4, 4096) == pytest.approx(math.sqrt(sum(rate**2 for rate in rates) / 5))
    # Less than a map unit is read as one.
    assert found.rates(1, 512)[0] == pytest.approx(found.rates(1, 4096)[0], rel=0.005)


def test_a_link_that_all_share_is_a_cap() -> None:
    """PCIe 1.1 x1 moves 250 MB/s each way; eight dies of this drive would read twice as much."""
    host = {"link": "pcie1x1"}
    timing = {"t_read_us": 10.0}
    fast = {**SMALL, "host": host, "nand": {**SMALL["nand"], "timing": timing}}
    capped = sweep(load_device(fast), units=(1, 8), sizes=(65536,))
    reads = [capped.rates(count, 65536)[0] * 65536 / 1e6 for count in (1, 8)]
    assert reads[1] <= 250
    assert reads[1] < 7 * reads[0]
    assert capped.normalised(8, 65536) < 7


@pytest.mark.parametrize(
    ("device", "numbers", "said"),
    [
        (SMALL, {"units": [0, 1]}, "units: `.0, 1.`"),
        (SMALL, {"units": [65]}, "1 to 64"),
        (SMALL, {"units": []}, "units"),
        (SMALL, {"sizes": [100]}, "multiples of 512"),
        (SMALL, {"sizes": [2 << 20]}, "up to 1 MiB"),
        (
            {**SMALL, "nand": {**SMALL["nand"], "channels": 2},
             "host": {"namespaces": [{"name": str(at), "channels": [at]} for at in (0, 1)]}},
            {},
            "host.namespaces",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_refused(
    device: dict[str, Any], numbers: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        sweep(load_device(device), **numbers)


def test_the_report_has_a_table_and_three_surfaces(found: ScalingSweep) -> None:
    page = pages.report(found, "small")
    names = [item.id for item in page.chapters[0].items]
    assert names == ["scaling", "normalised", "units-size", "mix-size-1", "mix-size-4"]
    assert len(pages.table(found).rows) == len(SIZES)


def test_the_command(tmp_path: Path) -> None:
    device = tmp_path / "small.yaml"
    device.write_text(json.dumps(SMALL))
    base = ["theory", "scaling", "--measure", str(device), "--units", "1,2"]
    done = CliRunner().invoke(app, [*base, "--json", "--output", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert len(document["points"]) == 2 * 12 * 5
    assert all(abs(row["normalised"] / row["units"] - 1) < 0.005 for row in document["rms"])
    assert document.pop("schema") == "opennandlab.cli.theory.scaling/1"
    assert json.loads((tmp_path / "out" / "scaling.json").read_text()) == document
    for wrong, said in (
        (["--link", "sata2"], "--link"),
        (["--units", "0"], "--units"),
        (["--watts", "3"], "--watts"),
    ):
        refused = CliRunner().invoke(app, [*base, *wrong])
        assert refused.exit_code == 2, refused.output
        assert said in refused.output
    refused = CliRunner().invoke(app, ["theory", "scaling", "--seed", "3"])
    assert refused.exit_code == 2
