"""Published tables and the presets that are compared with them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import opennandlab as onl
from opennandlab.measured.published import figures
from opennandlab.studies.validation import Effort, Kind
from opennandlab.studies.validation.suites import published
from opennandlab.theory.scaling import rms
from places import ROOT

GIB = 1 << 30
# Preset: raw GiB (nearly), logical bytes over those that its maker promises.
CAPACITIES = {
    "sata_a_2009": (36, 32e9),
    "sata_b_2009": (40, 32e9),
    "pci_c_2009": (192, 160e9),
    "client_sata_2013": (256, 250e9),
    "emmc_16gb": (17.625, 16e9),
    "nvme_gen4_tlc": (1024, 1e12),
    "qlc_pslc": (1024, 1e12),
    "mlc_enterprise_plp": (512, 400e9),
    "micron_7450_max_800gb": (1130.25, 800e9),
    "solidigm_p5520_1920gb": (262 * 8.4375, 1.92e12),
}


@pytest.mark.parametrize(("name", "raw_gib", "promised"), [(k, *v) for k, v in CAPACITIES.items()])
def test_drives_have_the_capacity_of_their_model(
    name: str, raw_gib: float, promised: float
) -> None:
    effective = onl.load_device(name).effective
    assert effective["raw_bytes"] == pytest.approx(raw_gib * GIB, rel=0.001)
    assert effective["logical_bytes"] == pytest.approx(promised, rel=0.02)


@pytest.mark.parametrize("name", CAPACITIES)
def test_every_number_of_a_preset_is_shown_with_its_source(name: str) -> None:
    device = onl.load_device(name)
    numbers = {key: device.origin(key) for key in device.given if is_number(device, key)}
    assert numbers
    assert [key for key, origin in numbers.items() if origin.startswith("given")] == []


def is_number(device: onl.DeviceConfig, key: str) -> bool:
    try:
        value = device[key]
    except KeyError:
        # A short form: `per_kib: 2` became a mapping.
        return False
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def test_the_table_is_in_order() -> None:
    # The columns as they must be: of mixes between, more reads are more I/O, in every row.
    for row in figures("client_2013_iops", "iops").values():
        assert list(row) == ["0", "5", "35", "50", "65", "95", "100"]
        assert max(row["35"], row["50"]) <= row["65"] * 1.001


def test_errors_are_relative_and_keep_their_sign() -> None:
    by_name = {case.name: case for case in published.cases(Effort.QUICK)}
    row = figures("client_2013_iops", "iops")["4"].values()
    factors = (1.1, 0.7, 1.0, 1.0, 1.0, 1.0, 1.0)
    simulated = [
        {"metrics": {"iops": {"total": iops * factor}}}
        for iops, factor in zip(row, factors, strict=True)
    ]
    for name, expected in (("mean", -0.2 / 7), ("worst", -0.3), ("rms", math.sqrt(0.1 / 7))):
        measured = by_name[f"client-iops-{name}-error"].measured
        assert measured(simulated) == pytest.approx(expected, rel=1e-9)
        with pytest.raises(ValueError, match="shorter"):
            measured(simulated[:1])


def test_reads_and_writes_in_turns_give_the_tutorials_bandwidth() -> None:
    shares = [mix / 100 for mix in (100, 75, 50, 25, 0)]
    turns = [1 / (share / 250 + (1 - share) / 170) for share in shares]
    assert rms(turns) == pytest.approx(figures("drives_2009_rms")["SATA-B"]["MB/s RMS"], abs=0.2)


def test_the_suite_compares_every_cell() -> None:
    cases = published.cases(Effort.FULL)
    cells = [case for case in cases if case.name.startswith("client-iops-") and "KiB" in case.name]
    assert len(cells) == 56
    assert {case.kind for case in cases} == {Kind.RATE, Kind.TAIL}
    by_name = {case.name: case for case in cases}
    assert by_name["client-iops-4KiB-r65"].expected_value == 19760.5
    assert len(by_name["client-iops-rms-error"].runs) == 56
    # The runs of the errors are those of the cells: nothing is simulated twice.
    assert {run.key(1) for case in cells for run in case.runs} == {
        run.key(1) for run in by_name["client-iops-rms-error"].runs
    }


def test_response_times_are_those_of_one_test() -> None:
    """Rows were runs of 3000 requests, whose longest times say nothing."""
    cases = [one for one in published.cases(Effort.FULL) if one.name.startswith("client-latency")]
    assert len({run.key(1) for case in cases for run in case.runs}) == 1
    by_name = {case.name: case for case in cases}
    assert len(by_name) == 18
    table = {"id": "art", "rows": ["4"], "columns": ["65/35"], "values": [[0.22]]}
    mixed = by_name["client-latency-4KiB-r65"]
    assert mixed.measured([{"tables": [table]}]) == 0.22
    assert (mixed.kind, mixed.fitted) == (Kind.RATE, "host.command_overhead_us")
    longest = by_name["client-latency-0.5KiB-r0-longest"]
    assert (longest.kind, longest.fitted) == (Kind.TAIL, "ftl.map_checkpoint")
    # What is more than 15 % off, or a factor of two, says what is missing, here and on the page.
    missing = {name for name, case in by_name.items() if case.miss is not None}
    assert missing == {
        "client-latency-0.5KiB-r65", "client-latency-8KiB-r65",
        *(f"client-latency-{kib}KiB-r100-longest" for kib in ("0.5", "4", "8")),
    }  # fmt: skip
    lines = (ROOT / "docs/presets.md").read_text(encoding="utf-8").splitlines()
    marked = {name for name in by_name if any(
        line.startswith(_row(name)) and line.endswith("**known miss** |") for line in lines
    )}  # fmt: skip
    assert marked == missing


def _row(name: str) -> str:
    """Return how the row of a case begins on the page."""
    _, _, kib, read_pct, *rest = name.split("-")
    what = "longest" if rest else "mean"
    return f"| {what} response, {kib[:-3]} KiB, {read_pct[1:]} % reads"


def test_a_stall_of_the_buffer_is_that_of_the_longest_writes() -> None:
    """19 to 39 ms in the tutorial; 0.06 before, with a buffer that was never full."""
    drive = published.device(published.CLIENT)
    workload = {
        "pattern": "random", "block_size_bytes": 4096, "active_range_pct": 2.0, "queue_depth": 1,
        "precondition": [{"kind": "sequential_fill"}],
    }  # fmt: skip
    drive["ftl"]["map_checkpoint"]["every_writes"] = 5000
    found = {}
    for read_pct in (0, 65):
        asked = workload | {"read_pct": read_pct, "total": {"ios": 12_000}}
        latency = onl.benchmark(drive, asked).document["metrics"]["latency_us"]["write"]
        found[read_pct] = latency
    assert 19e3 < found[0]["max"] < 39e3
    assert found[0]["mean"] == pytest.approx(190, rel=0.2)
    # Mixes write so rarely that the buffer absorbs all of it.
    assert found[65]["max"] < 1e3


def test_a_smaller_drive_keeps_its_shape() -> None:
    for name in published.SHRINKS:
        whole, small = onl.load_device(name), onl.load_device(published.device(name))
        for key in ("channels", "dies_per_channel", "planes_per_die", "pages_per_block"):
            assert whole[f"nand.{key}"] == small[f"nand.{key}"]
        assert whole["nand.timing"] == small["nand.timing"]


def test_without_turnaround_mixes_are_those_of_turns() -> None:
    def iops(read_pct: int, changes: dict[str, Any]) -> float:
        run = published.client_cell(4, read_pct, published.device(published.CLIENT, changes))
        workload = {**run.workload, "total": {"ios": 4000}}
        return float(onl.benchmark(run.device, workload).document["metrics"]["iops"]["total"])

    whole: dict[str, Any] = {}
    with_it, without = iops(50, whole), iops(50, {"turnaround_us": None})
    # Ten requests after each change pay 40.5 us: nearly all of them do.
    assert 1e6 / with_it - 1e6 / without == pytest.approx(40.5, rel=0.1)
    turns = 2 / (1 / iops(0, whole) + 1 / iops(100, whole))
    assert without == pytest.approx(turns, rel=0.1)


def test_rates_per_watt_are_those_of_the_same_runs() -> None:
    found = {case.name: case for case in published.cases(Effort.FULL) if "2009" in case.name}
    # SATA-B has a question mark in the table.
    assert [name for name in found if name.endswith("per-w")] == [
        "sata_a_2009-k-iops-per-w",
        "pci_c_2009-k-iops-per-w",
    ]
    case = found["sata_a_2009-k-iops-per-w"]
    assert (case.expected, case.fitted) == (3.0, "controller.power.idle_w")
    assert case.runs == found["sata_a_2009-k-iops"].runs
    pairs = zip((8, 8, 8, 8, 4), (2, 2, 3, 3, 5), strict=True)
    documents = [
        {"metrics": {"iops": {"total": 1000 * iops}, "power": {"mean_w": watts}}}
        for iops, watts in pairs
    ]
    # sqrt((4 x 64 + 16) / 5) over 15 W / 5.
    assert case.measure(documents) == pytest.approx(math.sqrt(54.4) / 3)
