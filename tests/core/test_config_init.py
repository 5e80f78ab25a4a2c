"""`config init`: files that mean what they were made from, and that editors can check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import Cli
from opennandlab.base.files import read_yaml
from opennandlab.core import template


@pytest.mark.parametrize("name", onl.presets()["devices"])
def test_a_device_file_means_what_its_preset_means(name: str, tmp_path: Path) -> None:
    device = onl.load_device(name)
    path = tmp_path / "device.yaml"
    path.write_text(template.text(device, schema=None))
    assert onl.load_device(path) == device


@pytest.mark.parametrize("name", onl.presets()["workloads"])
def test_a_workload_file_means_what_its_preset_means(name: str, tmp_path: Path) -> None:
    device = onl.load_device("config")
    workload = onl.load_workload(name, device)
    path = tmp_path / "workload.yaml"
    path.write_text(template.text(workload, schema=None))
    assert onl.load_workload(path, device) == workload


def test_what_follows_from_the_cell_type_is_shown_and_not_set(tmp_path: Path) -> None:
    path = tmp_path / "device.yaml"
    text = template.text(onl.load_device({}), schema=None)
    assert "# t_program_us: 700.0" in text
    path.write_text(text.replace("cell_type: TLC", "cell_type: QLC"))
    assert onl.load_device(path) == onl.load_device({"nand": {"cell_type": "QLC"}})


def test_the_command_writes_the_file_and_its_schema_and_replaces_nothing(
    cli: Cli, folder: Path
) -> None:
    done = cli("config", "init", "--json")
    assert json.loads(done.stdout)["written"] == ["device.yaml", "device.schema.json"]
    text = (folder / "device.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=device.schema.json\n")
    schema = json.loads((folder / "device.schema.json").read_text())
    assert set(read_yaml(folder / "device.yaml")) <= set(schema["properties"])
    assert max(map(len, text.splitlines())) <= 100
    assert cli("config", "check", "device.yaml").returncode == 0
    again = cli("config", "init")
    assert again.returncode == 2
    assert "device.yaml exists and is not replaced" in again.stderr
    assert (folder / "device.yaml").read_text() == text
    other = cli("config", "init", "other.yaml", "--from", "qlc_pslc")
    assert other.stdout == "wrote other.yaml\n"


def test_the_command_writes_a_workload_and_takes_a_schema_from_elsewhere(
    cli: Cli, folder: Path
) -> None:
    done = cli("config", "init", "--workload", "--from", "W3", "--schema", "../w.json")
    assert done.stdout == "wrote workload.yaml\n"
    first = (folder / "workload.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../w.json"
    done = cli("config", "check", "config", "-w", "workload.yaml")
    assert done.returncode == 0
    for bad, code in (
        (("none/device.yaml",), 2),
        (("x.yaml", "--from", "tlc_standart"), 2),
        ((".",), 2),
    ):
        assert cli("config", "init", *bad).returncode == code
    assert not (folder / "x.yaml").exists()
