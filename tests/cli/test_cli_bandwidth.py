"""`theory bandwidth` and `theory scaling` as commands: tables, documents, figures, refusals."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from conftest import Cli


def test_the_sweep_is_one_document(cli: Cli) -> None:
    document = json.loads(cli("theory", "bandwidth", "--json").stdout)
    assert list(document["variants"]) == ["SLC n=64", "MLC n=64", "MLC n=128"]
    assert document["mixes"] == ["100/0", "75/25", "50/50", "25/75", "0/100"]
    slc = document["variants"]["SLC n=64"]
    eight = next(row for row in slc["rows"] if row["dies"] == 8)
    assert eight["mb_s"]["75/25"] == pytest.approx(353.71, abs=5.01e-3)
    assert eight["capped"]["sata2"]["mb_s"]["75/25"] == 300.0
    assert eight["capped"]["sata2"]["rms_mb_s"] == pytest.approx(231.9, abs=0.0501)
    assert list(slc["dies_to_fill"]["pcie1x4"].values()) == [9, 23, 37, 51, 65]
    assert "measured" not in slc


def test_the_sweep_as_tables(cli: Cli) -> None:
    text = cli("theory", "bandwidth", "--cell", "mlc").stdout
    for shown in ("MLC n=64", "MLC n=128", "1 828.57 SP", "fill S", "behind PCIe x4 1.1", "10.9"):
        assert shown in text
    assert "SLC" not in text
    assert cli("theory", "bandwidth", "--cell", "mlc", "--quiet").stdout == ""
    other = cli("theory", "bandwidth", "--cell", "slc", "--pages-per-block", "128").stdout
    assert other.startswith("SLC n=128: page read 35 µs, write 233.438 µs")


def test_options_of_the_sweep(cli: Cli) -> None:
    def rates(*options: str) -> dict[str, float]:
        shown = cli("theory", "bandwidth", "--cell", "slc", *options, "--json").stdout
        row = json.loads(shown)["variants"]["SLC n=64"]["rows"][-1]
        return {mix: row["capped"]["pcie1x4"]["mb_s"][mix] for mix in ("75/25", "50/50")} | {
            "free": row["mb_s"]["100/0"]
        }

    assert rates() == {"75/25": 1000.0, "50/50": 1000.0, "free": pytest.approx(14628.57)}
    assert rates("--channels", "10")["free"] == 4000.0
    assert rates("--cached")["free"] == 128 * 160.0
    assert rates("--duplex")["75/25"] == pytest.approx(4000 / 3)
    assert rates("--duplex")["50/50"] == 2000.0


def test_a_measured_sweep_agrees_and_is_drawn(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    shown = cli(
        *("theory", "bandwidth", "--cell", "slc", "--measure", "--channels", "8", "--json"),
        *("--plot", str(page)),
    )
    document = json.loads(shown.stdout)
    points = document["variants"]["SLC n=64"]["measured"]
    assert {point["dies"] for point in points} == {1, 2, 4, 8, 16, 32}
    for point in points:
        if point["dies"] <= 8:
            assert abs(point["error"]) < 0.02
            assert point["mix"] == "100/0" or point["blocks_erased_per_written"] == pytest.approx(
                1.0, abs=0.01
            )
        elif point["mix"] in {"100/0", "0/100"}:
            assert abs(point["error"]) < 0.02
        else:
            assert point["error"] < 0.02  # dies wait for their channel
    assert document["formula_only"]["dies"] == [64, 128]
    text = page.read_text(encoding="utf-8")
    assert "simulated 25/75" in text
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="', text)
    again = cli("theory", "bandwidth", "--cell", "slc", "--measure", "--channels", "8", "--json")
    assert again.stdout == shown.stdout


def test_a_drawing_is_one_svg_document(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "sweep.svg"
    cli("theory", "bandwidth", "--plot", str(path), "--quiet")
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    text = "".join(root.itertext())
    # Three dies and the root mean squares.
    assert text.count("against dies") == 4
    for shown in ("SATA-II, 300 MB/s", "MLC n=128: MB/s against dies", "75/25 read/write"):
        assert shown in text


def test_one_point(cli: Cli) -> None:
    def point(*options: str) -> dict[str, float]:
        shown = cli("theory", "bandwidth", *options, "--json").stdout
        document: dict[str, float] = json.loads(shown)
        return document

    assert point("--dies", "8")["device_mb_s"] == pytest.approx(914.286, abs=5e-4)
    assert point("--dies", "40", "--channels", "2")["device_mb_s"] == 800.0
    old, new = (point("--dies", "9", "--link", link) for link in ("pcie4x4", "pcie1x4"))
    assert old == new
    assert new["device_mb_s"] == 1000.0
    measured = point("--dies", "4", "--read-pct", "0", "--measure")
    assert measured["simulated_mb_s"] == pytest.approx(62.29, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cached", "--measure"), "no cache register"),
        (("--dies", "8", "--plot", "x.html"), "--plot draws the sweep"),
        (("--dies", "9", "--channels", "2", "--measure"), "a multiple of the 2 channels"),
        (("--dies", "64", "--measure"), "at most 32 dies"),
        (("--plot", "no/such/folder/x.html"), "cannot write"),
    ],
)
def test_refusals(cli: Cli, options: tuple[str, ...], said: str) -> None:
    shown = cli("theory", "bandwidth", *options)
    assert shown.returncode == 2
    assert said in shown.stderr
    assert shown.stdout == ""


def test_scaling_of_measured_rates(cli: Cli) -> None:
    rates = ("--rates", "2:900,540,450,380,340", "--rates", "1:500,300,250,220,200")
    document = json.loads(cli("theory", "scaling", *rates, "--watts", "5", "--json").stdout)
    one, two = document["rows"]
    assert (one["units"], two["units"]) == (1, 2)
    assert one["rms"] == pytest.approx(98_180**0.5)
    assert two["normalised_rms"] == pytest.approx(two["rms"] / one["rms"])
    assert two["scaling_efficiency"] == pytest.approx(two["normalised_rms"] / 2)
    assert one["rms_per_watt"] == pytest.approx(one["rms"] / 5)
    assert two["rms_per_watt"] == pytest.approx(two["rms"] / 10)
    # 50/50 of 500 and 200 in turns is 285.7.
    assert one["mixed_efficiency"]["50/50"] == pytest.approx(250 / 285.714, rel=1e-4)
    sizes = {line["block_bytes"]: line for line in document["block_sizes"]}
    assert sizes[512]["mb_s"] == pytest.approx(300 * 512 / 4000)
    assert sizes[512]["iops"] == pytest.approx(75_000)
    assert len(sizes) == 12


def test_scaling_of_the_tutorial_die(cli: Cli) -> None:
    free = json.loads(cli("theory", "scaling", "--units", "1,4", "--json").stdout)
    assert free["rows"][1]["normalised_rms"] == pytest.approx(4.0)
    assert free["rows"][1]["scaling_efficiency"] == pytest.approx(1.0)
    assert free["rows"][0]["mixed_efficiency"]["75/25"] == pytest.approx(1.0)
    shared = json.loads(
        cli("theory", "scaling", "--units", "1,4", "--link", "sata2", "--json").stdout
    )
    assert shared["rows"][1]["rms"] == 300.0
    assert shared["block_sizes"][0]["mb_s"] == pytest.approx(353.714 * 512 / 4000, rel=1e-4)
    assert shared["block_sizes"][-1]["mb_s"] == 300.0
    text = cli("theory", "scaling", "--watts", "2.5").stdout
    for shown in ("RMS / W", "mixed at 75/25", "block, B", "1 048 576"):
        assert shown in text


def test_power_of_units_follows_from_the_energies_of_their_device(cli: Cli, tmp_path: Path) -> None:
    device = tmp_path / "device.yaml"
    device.write_text(
        "nand:\n"
        "  channels: 2\n"
        "  dies_per_channel: 4\n"
        "  page_size_bytes: 4096\n"
        "  pages_per_block: 64\n"
        "  energy: {read_uj: 5, program_uj: 15, erase_uj: 160, transfer_nj_per_kib: 125,"
        " idle_mw: 10}\n"
        "controller:\n"
        "  power: {idle_w: 0.3, active_w: 0.6, host_nj_per_kib: 300}\n",
        encoding="utf-8",
    )
    rates = ("--rates", "1:512,300,250,220,204.8", "--rates", "2:1024,600,500,440,409.6")
    shown = cli("theory", "scaling", *rates, "--config", str(device), "--json")
    one, two = json.loads(shown.stdout)["rows"]
    # 125 000 and 50 000 pages a second; eight dies and an active controller draw 0.68 W.
    link_w = 0.3 * 4e-6
    assert one["unit_watts"]["100/0"] == pytest.approx(125_000 * (5.5e-6 + link_w) + 0.68)
    assert one["unit_watts"]["0/100"] == pytest.approx(50_000 * (15e-6 + 3e-6 + link_w) + 0.68)
    mean = sum(one["unit_watts"].values()) / 5
    assert one["rms_per_watt"] == pytest.approx(one["rms"] / mean)
    assert two["unit_watts"] == pytest.approx(one["unit_watts"])
    assert two["rms_per_watt"] == pytest.approx(one["rms_per_watt"])
    # Dies of the tutorial: as many as are asked for draw while they wait.
    watts = []
    for dies in ("1", "8"):
        text = cli("theory", "scaling", "--dies", dies, "--units", "1", "-c", str(device), "--json")
        [row] = json.loads(text.stdout)["rows"]
        page_uj = 5.5 + 4 * 0.3
        dynamic = row["rates"]["100/0"] * 1e6 / 4096 * page_uj * 1e-6
        watts.append(row["unit_watts"]["100/0"] - dynamic)
    assert watts == pytest.approx([0.61, 0.68])
    for options, said in (
        (("--config", str(device), "--watts", "3"), "both give the power"),
        (("--config", "config"), "without nand.energy"),
    ):
        refused = cli("theory", "scaling", *options)
        assert refused.returncode == 2
        assert said in refused.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--rates", "1:5,4,3,2"),
        ("--rates", "0:5,4,3,2,1"),
        ("--rates", "1:5,4,3,2,-1"),
        ("--rates", "1:5,4,3,2,nan"),
        ("--rates", "five"),
        ("--rates", "1:5,4,3,2,1", "--rates", "1:5,4,3,2,1"),
        ("--units", "1,x"),
        ("--units", "0"),
        ("--watts", "0"),
    ],
)
def test_scaling_refusals(cli: Cli, options: tuple[str, ...]) -> None:
    shown = cli("theory", "scaling", *options)
    assert shown.returncode == 2
    assert "error: " in shown.stderr
    assert shown.stdout == ""
