"""From a data sheet to a device: equations, refusals, bands, and files from end to end."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from conftest import Cli
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import load_device
from opennandlab.documents.rating import RatingDocument
from opennandlab.documents.record import plain, read
from opennandlab.studies.rating.equations import (
    Flash,
    alpha_of,
    amplified_of,
    separated,
    solve,
)
from opennandlab.studies.rating.making import device_from_rating
from opennandlab.studies.rating.sheet import capacity_of, rate_of

# Data sheets of two drives, and a small one.
MICRON: dict[str, Any] = {
    "capacity_bytes": 800_166_076_416, "cell": "TLC", "link": "pcie4x4", "seq_write": 1.4e9,
    "rand_write": 145e3, "rand_read": 530e3,
}  # fmt: skip
SMALL = (
    "--capacity", "64GB", "--cell", "TLC", "--link", "sata3", "--seq-write", "400MB/s",
    "--rand-write", "32000", "--rand-read", "80000",
)  # fmt: skip


@pytest.mark.parametrize(
    ("dies", "sequential", "random", "expected"),
    [
        (16, 1400e6, 145e3, (1953, 0.222, 1.863, 1.4635)),
        (32, 1900e6, 114e3, (2878, 0.165, 3.372, 1.1957)),
    ],
)
def test_the_closed_form_of_two_drives(
    dies: int, sequential: float, random: float, expected: tuple[float, ...]
) -> None:
    flash = Flash(dies, 4, 3, 16384, 53.3, 0.0, 704, 0.0385)
    found = solve(flash, 1.04 * sequential, 1.12 * random * 4096)
    solved = (found.wordline_us, found.collecting, found.programs, found.alpha)
    assert solved == pytest.approx(expected, rel=0.005)


def test_the_amplification_of_a_drive_at_six_fills() -> None:
    """Measured with the counters of a drive: 1.10, 1.18, 1.28, 1.41, 1.60, 1.89."""
    fills = (372, 447, 521, 596, 670, 745)
    found = [1.04 * amplified_of(1080 / fill) for fill in fills]
    assert found == pytest.approx([1.114, 1.180, 1.275, 1.411, 1.604, 1.896], abs=6e-4)
    assert found == pytest.approx([1.10, 1.18, 1.28, 1.41, 1.60, 1.89], rel=0.013)


@given(some.floats(1.01, 20.0))
def test_space_for_data_is_the_inverse_of_the_amplification(amplified: float) -> None:
    alpha = alpha_of(amplified)
    # The share of invalid pages of a victim, x = 1 - exp(-x alpha), by bisection.
    low, high = 1e-9, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        is_below = -math.expm1(-alpha * middle) > middle
        low, high = (middle, high) if is_below else (low, middle)
    assert 1 / low == pytest.approx(amplified, rel=1e-6)
    assert amplified_of(alpha) == pytest.approx(amplified, rel=1e-6)


def test_decimal_capacities_are_those_that_makers_agreed_upon() -> None:
    assert capacity_of("800GB") == 800_166_076_416
    assert capacity_of("1.92TB") == 1_920_383_410_176
    assert capacity_of("64GiB") == 64 << 30
    assert rate_of("--seq-write", "1.4GB/s") == 1.4e9


def test_the_device_has_the_capacity_to_the_byte() -> None:
    found = device_from_rating(**MICRON, simulate=False)
    assert found.device.effective["logical_bytes"] == 800_166_076_416
    assert found.device["host.command_cost_us"]["read"] == pytest.approx(4e6 / 530e3, abs=1e-3)
    band = found.document.bands["steady_write_mb_s"]
    # 1.00 to 1.25 times the rated 594 MB/s, 4 % wider.
    assert band.band == pytest.approx((0.96 * 593.9, 1.04 * 742.4), rel=1e-3)
    assert band.value == pytest.approx(1.12 * 593.92)
    names = [one.name for one in found.document.variants]
    assert names[0] == "as written"
    assert len(names) == 5


def test_a_given_policy_leaves_the_other_out_of_the_band() -> None:
    found = device_from_rating(**MICRON, simulate=False, policy="cost_benefit")
    assert {one.gc_policy for one in found.document.variants} == {"cost_benefit"}
    assert found.device["ftl.gc_policy"]["kind"] == "cost_benefit"


def test_a_drive_rated_empty_has_the_space_of_its_class() -> None:
    given = {**MICRON, "rand_write": 300e3, "rated_state": "fresh"}
    found = device_from_rating(**given, simulate=False)
    assert found.document.solution["alpha"] == 1.17
    # Four cores write what was rated, times 1.12.
    cost = found.device["host.command_cost_us"]["write"]
    assert cost == pytest.approx(4e6 / (1.12 * 300e3), abs=1e-3)
    low, high = found.document.bands["steady_write_mb_s"].band
    assert high / low > 1.5


@pytest.mark.parametrize(("day", "count"), [(3.0, 0), (1.0, 1), (0.3, 0), (None, 0)])
def test_an_endurance_that_does_not_fit_is_told(day: float | None, count: int) -> None:
    found = device_from_rating(**MICRON, simulate=False, dwpd=day)
    assert sum("a day" in text for text in found.document.warnings) == count


def test_cycles_are_those_that_the_rated_writes_need() -> None:
    by_days = device_from_rating(**MICRON, simulate=False, dwpd=3.0).device
    written = 3 * 365 * 5 * 800_166_076_416
    by_bytes = device_from_rating(**MICRON, simulate=False, tbw=written).device
    assert by_days["nand.max_pe_cycles"] == by_bytes["nand.max_pe_cycles"]
    # 1.4 times 6,700, from the closed form at an amplification of 1.86.
    assert by_days["nand.max_pe_cycles"] / 1.4 == pytest.approx(6700, rel=0.03)


@pytest.mark.parametrize(
    ("changes", "option", "said"),
    [
        ({"rand_write": 400e3}, "--rand-write", "are 1638.4 MB/s, above the sequential 1400 MB/s"),
        ({"rand_write": 250e3}, "--rated-state", "73% of the sequential rate"),
        # Less and more space for data than drives have.
        ({"rand_write": 3e3}, "--rand-write", "accepted: 1.1"),
        ({"rand_write": 340e3, "rated_state": "steady"}, "--rand-write", "accepted: 1.1"),
        ({"rand_read": 2e6}, "--rand-read", "which carries 1.698e"),
        ({"seq_read": 8e9}, "--seq-read", "7876.9 x 0.914"),
        ({"cell": "XLC"}, "--cell", "accepted: MLC, TLC, QLC"),
        ({"link": "ideal"}, "--link", "has no rate"),
        ({"link": "usb"}, "--link", "is not a valid link"),
        ({"policy": "python"}, "--policy", "accepted: auto, greedy"),
        ({"dwpd": 3.0, "tbw": 4e15}, "--tbw", "3 x 365 x 5 x 0.800166 TB = 4380.91 TB"),
        ({"active_w": 5.0}, "--idle-w", "missing"),
        ({"active_w": 5.0, "idle_w": 4.5}, "--active-w", "leave -0.6"),
        ({"seq_write": 1e6, "rand_write": 100.0}, "--seq-write", "accepted: 300 to 10000"),
        ({"capacity_bytes": 800_000_000_001}, "--capacity", "whole units"),
        ({"capacity_bytes": 1 << 60}, "--capacity", "8 GB to 16 TiB"),
        ({"seq_write": math.nan}, "--seq-write", "out of range"),
        ({"rand_read": math.inf}, "--rand-read", "out of range"),
        ({"speed": 1}, "sheet", "speed"),
        # Units that are off by a thousand.
        ({"rand_read": 530.0}, "--rand-read", "sheets give thousands"),
        ({"rand_write": 145.0}, "--rand-write", "right for a rate in thousands"),
        ({"seq_write": 1.4e6}, "--rand-write", "above the sequential 1.4 MB/s"),
        ({"seq_write": 1.4e12}, "--seq-write", "over a pcie4x4"),
        ({"capacity_bytes": 800_166_076}, "--capacity", "8 GB to 16 TiB"),
        ({"tbw": 4380e9}, "--tbw", "4.38 TB are 5.5 writes of the drive"),
    ],
)
def test_a_sheet_that_contradicts_itself_is_refused(
    changes: dict[str, Any], option: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        device_from_rating(**{**MICRON, **changes}, simulate=False)
    assert refused.value.path == option
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(1.4635, (1.586, 1.385, 1.197, 1.043)), (1.1957, (2.736, 2.233, 1.737, 1.264))],
)
def test_the_ideal_separation_of_static_data(alpha: float, expected: tuple[float, ...]) -> None:
    found = [amplified_of(separated(alpha, share)) for share in (0.2, 0.4, 0.6, 0.8)]
    assert found == pytest.approx(expected, abs=6e-4)


def test_rounds_of_simulations_meet_the_rates() -> None:
    sheet: dict[str, Any] = {
        "capacity_bytes": capacity_of("32GB"), "cell": "TLC", "link": "sata3", "seq_write": 300e6,
        "rand_write": 24e3, "rand_read": 40e3, "policy": "greedy",
    }  # fmt: skip
    closed = device_from_rating(**sheet, simulate=False).document
    found = device_from_rating(**sheet).document
    assert len(found.rounds) <= 4
    assert found.is_met
    last = found.rounds[-1]
    # What the closed form and the simulation differ in is shared by both ends.
    less, more = last.sequential_mb_s / (1.04 * 300), last.waf / closed.solution["programs"]
    assert less * more == pytest.approx(1.0, abs=0.021)
    assert 0.9 < less <= 1.01
    assert last.uniform_mb_s == pytest.approx(1.12 * 24_000 * 4096 / 1e6, rel=0.01)
    band = found.bands["steady_write_mb_s"]
    assert band.by == "simulation"
    assert band.value == last.uniform_mb_s
    # Variants are drives of 1.00 and 1.25 times the rated 98 MB/s; what rounds learned of one
    # holds for others within a few percent.
    assert band.band == pytest.approx((0.96 * 98.3, 1.04 * 122.9), rel=0.05)


def test_from_a_sheet_to_a_band(cli: Cli, folder: Path) -> None:
    run = cli("config", "from-rating", *SMALL, "-o", "my.yaml", "--no-simulate")
    assert run.returncode == 0, run.stderr
    assert max(map(len, run.stdout.splitlines())) <= 80
    text = (folder / "my.yaml").read_text()
    for origin in ("# rated", "# solved from", "# class prior", "# assumed"):
        assert origin in text
    assert load_device(folder / "my.yaml").effective["logical_bytes"] == capacity_of("64GB")
    (folder / "w.yaml").write_text(
        "{pattern: {kind: zipf, theta: 0.9}, block_size_bytes: 4096, queue_depth: 64,"
        " precondition: [{kind: sequential_fill}], total: {drive_writes: 0.2}}"
    )
    asked = ("benchmark", "-c", "my.yaml", "-w", "w.yaml", "--shrink", "auto", "--band")
    found = json.loads(cli(*asked, "--json").stdout)
    rates = {name: row["throughput_mb_s.write"] for name, row in found["variants"].items()}
    band = found["bands"]["throughput_mb_s.write"]
    assert band["value"] == rates["as written"]
    assert band["band"] == pytest.approx([0.96 * min(rates.values()), 1.04 * max(rates.values())])
    assert band["low_by"] == min(rates, key=lambda name: rates[name])
    shown = cli(*asked).stdout
    assert "cost_benefit, random writes 1.25 x rated" in shown
    assert found["bands"]["waf"]["band"][0] >= 1.0
    assert any("write buffer" in text or "fresh" in text for text in found["warnings"]), found
    refused = cli(*asked, "--set", "ftl.gc_policy=fifo")
    assert (refused.returncode, "variants differ in it" in refused.stderr) == (2, True)
    assert max(map(len, shown.splitlines())) <= 80
    quick = json.loads(cli(*asked, "quick", "--json").stdout)
    assert [*quick["variants"]] == ["greedy", "cost_benefit"]
    rates = {name: row["throughput_mb_s.write"] for name, row in quick["variants"].items()}
    ends = [min(rates.values()) / 1.12, max(rates.values()) * 1.25 / 1.12]
    assert quick["bands"]["throughput_mb_s.write"]["band"] == pytest.approx(ends)


def test_tests_and_sweeps_have_bands(cli: Cli, folder: Path) -> None:
    assert cli("config", "from-rating", *SMALL, "-o", "my.yaml", "--no-simulate").returncode == 0
    asked = ("--target", "sim:my.yaml", "--shrink", "auto", "--time-base", "smoke", "--json")
    for test, points, rate in (
        ("skew", ("--skews", "zipf:0.8,static:0.6"), "steady_mb_s"),
        ("fill", ("--points", "50,100"), "mb_s"),
        ("zones", ("--zones", "1x1GiB,2x1GiB"), "mb_s"),
        ("load", ("--rates", "20%"), "achieved_per_s"),
    ):
        run = cli("pts", test, *asked, *points, "--band", "quick")
        assert run.returncode == 0, run.stderr
        document = json.loads(run.stdout)
        assert document["varied"]["values"] == ["greedy", "cost_benefit"]
        results = [one["results"]["points"] for one in document["documents"].values()]
        assert len(document["bands"]) == len(points[1].split(","))
        for place, band in enumerate(document["bands"]):
            values = [points[place][rate] for points in results]
            key = f"band_{rate.removeprefix('steady_')}"
            assert band[rate] == values[0]
            ends = [min(values) / 1.12, max(values) * 1.25 / 1.12]
            assert band[key] == pytest.approx(ends, rel=1e-9)
            assert len(band[f"{key}_by"]) == 2
        has_ideal = ["ideal_waf" in band for band in document["bands"]]
        assert has_ideal == ([False, True] if test == "skew" else [False] * len(has_ideal))
    (folder / "w.yaml").write_text("{pattern: random, total: {ios: 2000}}")
    vary = ("--vary", "workload.queue_depth=8,16", "--json", "--band")
    run = cli("sweep", "benchmark", "-c", "my.yaml", "-w", "w.yaml", *vary)
    document = json.loads(run.stdout)
    assert len(document["groups"]) == 10
    rates = [
        one["means"]["throughput_mb_s.total"]["mean"]
        for one in document["groups"]
        if one["coordinates"]["workload.queue_depth"] == 8
    ]
    band = document["bands"]["workload.queue_depth=8"]["throughput_mb_s.total"]
    assert band["band"] == pytest.approx([0.96 * min(rates), 1.04 * max(rates)])


def test_a_band_needs_the_record_of_a_sheet(cli: Cli, folder: Path) -> None:
    asked = ("benchmark", "-w", "W2", "--band")
    assert cli(*asked).returncode == 2
    run = cli(*asked, "-c", "tlc_standard")
    assert run.returncode == 2
    assert "tlc_standard.rating.json" in run.stderr
    made = cli("config", "from-rating", *SMALL, "-o", "my.yaml", "--no-simulate")
    assert made.returncode == 0
    refused = cli(*asked, "-c", "my.yaml", "-o", "r.json")
    assert refused.returncode == 2
    assert "has no effect with --band" in refused.stderr
    record = folder / "my.rating.json"
    good = json.loads(record.read_text())
    hostile = [
        "", "[", "[]", "{}", "[" * 100_000, json.dumps({**good, "variants": []}),
        json.dumps({**good, "variants": [{**good["variants"][0], "gc_policy": "python"}] * 2}),
        json.dumps({**good, "variants": [{**good["variants"][0], "blocks_per_plane": -1}] * 2}),
        json.dumps({**good, "constants": {}}), json.dumps({**good, "constants": {"band_low": -1}}),
        json.dumps({**good, "solution": {**good["solution"], "alpha": 0}}),
    ]  # fmt: skip
    for text in hostile:
        record.write_text(text)
        run = cli(*asked, "-c", "my.yaml")
        assert run.returncode == 2, text[:80]
        assert "Traceback" not in run.stderr


def test_a_record_of_another_device_is_refused(cli: Cli, folder: Path) -> None:
    assert cli("config", "from-rating", *SMALL, "-o", "my.yaml", "--no-simulate").returncode == 0
    text = (folder / "my.yaml").read_text()
    (folder / "my.yaml").write_text(text.replace("t_erase_us: 10000", "t_erase_us: 9000"))
    for asked in (
        ("benchmark", "-c", "my.yaml", "-w", "W2"),
        ("pts", "skew", "--target", "sim:my.yaml"),
        ("sweep", "benchmark", "-c", "my.yaml", "-w", "W2"),
    ):
        run = cli(*asked, "--band")
        assert run.returncode == 2
        assert "belongs to another device than my.yaml" in run.stderr
    # One that rates an empty drive has no nominal random rate.
    fresh = ("--rated-state", "fresh", "--no-simulate", "-o", "fresh.yaml")
    assert cli("config", "from-rating", *SMALL, *fresh).returncode == 0
    run = cli("benchmark", "-c", "fresh.yaml", "-w", "W2", "--band", "quick")
    assert (run.returncode, "rates an empty drive" in run.stderr) == (2, True)


def test_files_that_are_there_are_not_replaced(cli: Cli, folder: Path) -> None:
    (folder / "my.rating.json").write_text("mine")
    for name, said in (("my.yaml", "my.rating.json exists"), ("-", "`-` is not a file")):
        run = cli("config", "from-rating", *SMALL, "-o", name, "--no-simulate")
        assert run.returncode == 2
        assert said in run.stderr
    assert [one.name for one in folder.glob("my*")] == ["my.rating.json"]
    assert (folder / "my.rating.json").read_text() == "mine"


def test_nothing_is_written_for_a_sheet_that_is_refused(cli: Cli, folder: Path) -> None:
    for more in (
        ("--capacity", "64"), ("--rand-write", "200000"), ("--shrink", "7"), ("--shrink", "autos"),
        ("--cell", "XLC"), ("--seq-write", "400"), ("--tbw", "5"),
    ):  # fmt: skip
        assert cli("config", "from-rating", *SMALL, *more, "-o", "my.yaml").returncode == 2
    assert cli("config", "from-rating", *SMALL[2:], "-o", "my.yaml").returncode == 2
    assert not list(folder.glob("my*"))


def test_a_band_beyond_what_drives_have_is_told() -> None:
    found = device_from_rating(
        **{**MICRON, "rand_write": 250e3}, rated_state="steady", simulate=False
    )
    told = [text for text in found.document.warnings if "beyond what drives have" in text]
    assert told
    assert all("1.25 x rated" in text for text in told)


def test_json_is_the_record_that_is_written(cli: Cli, folder: Path) -> None:
    run = cli("config", "from-rating", *SMALL, "-o", "my.yaml", "--no-simulate", "--json")
    document = json.loads(run.stdout)
    assert document == json.loads((folder / "my.rating.json").read_text())
    assert document["schema"] == "opennandlab.rating/1"
    assert json.loads(json.dumps(plain(read(document, RatingDocument)[0]))) == document
    assert document["rounds"] == []
    assert document["bands"]["steady_write_mb_s"]["by"] == "closed form"
