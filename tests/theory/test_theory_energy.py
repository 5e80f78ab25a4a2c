"""What a drive draws by the formulas: reads, writes, collections, budgets. What tables show."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.reports.metric_rows import metric_rows
from opennandlab.theory import DriveEnergy

DRIVE = DriveEnergy(
    4096,
    64,
    read_uj=30.0,
    program_uj=70.0,
    erase_uj=640.0,
    transfer_nj_per_kib=80.0,
    idle_w=0.25,
    host_nj_per_kib=500.0,
)


def test_a_page_costs_its_operations() -> None:
    assert DRIVE.transfer_uj == pytest.approx(0.32)
    assert DRIVE.read_uj_per_page == pytest.approx(30.32)
    assert DRIVE.write_uj_per_page() == pytest.approx(70.0 + 0.32 + 10.0)
    # Of three programs two are of moved pages, which are read before.
    assert DRIVE.write_uj_per_page(3.0) == pytest.approx(3 * 70 + 2 * 30 + 5 * 0.32 + 3 * 10)


def test_power_is_rate_times_energy() -> None:
    # 1000 pages a second of each kind.
    rate = 2 * 4096e-3
    expected = (30.32 + 80.32) * 1e-3 + 8000 * 500e-9 + 0.25
    assert DRIVE.watts(rate, 0.5) == pytest.approx(expected)
    assert DRIVE.watts(0.0, 1.0) == 0.25
    for share in (0.0, 0.3, 1.0):
        watts = DRIVE.watts(123.0, share, waf=2.5)
        assert DRIVE.mb_s_within(watts, share, waf=2.5) == pytest.approx(123.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"page_bytes": 0}, "page_bytes is 0"),
        ({"read_uj": -1.0}, "read_uj is -1"),
        ({"program_uj": float("nan")}, "program_uj is nan"),
        ({"idle_w": float("inf")}, "idle_w is inf"),
    ],
)
def test_impossible_energies_are_refused(change: dict[str, Any], said: str) -> None:
    keys = {"page_bytes": 4096, "pages_per_block": 64}
    keys |= {"read_uj": 1, "program_uj": 1, "erase_uj": 1}
    with pytest.raises(ValueError, match=said):
        DriveEnergy(**{**keys, **change})


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"waf is 0\.5"):
        DRIVE.write_uj_per_page(0.5)
    with pytest.raises(ValueError, match="read_share is 2"):
        DRIVE.watts(1.0, 2.0)
    with pytest.raises(ValueError, match=r"watts is 0\.1"):
        DRIVE.mb_s_within(0.1, 1.0)


def test_tables_show_power_where_it_is_known() -> None:
    nand = {"channels": 2, "blocks_per_plane": 64, "pages_per_block": 64}
    energy = {"read_uj": 30, "program_uj": 70, "erase_uj": 640}
    workload = {
        "pattern": "random",
        "read_pct": 100,
        "total": {"ios": 500},
        "precondition": [{"kind": "sequential_fill"}],
    }
    plain = onl.benchmark({"nand": nand}, workload)
    known = onl.benchmark({"nand": {**nand, "energy": energy}}, workload)
    shown = [{row[0]: row[1:] for row in metric_rows(it.content)} for it in (plain, known)]
    assert not {"Mean power", "IOPS per watt"} & set(shown[0])
    # 500 reads of 30 uJ; nothing is drawn idle.
    assert shown[1]["IOPS per watt"] == ("33 333", "commands/J")
    power = known.content.metrics.power if known.content.metrics else None
    assert power is not None
    assert power.joules.total == pytest.approx(0.015)
    assert power.joules.controller is None
    assert power.joules_by_source is not None
    assert list(power.joules_by_source.array_reads) == ["host"]
    assert shown[1]["Mean power"][1] == "W"
