"""The script that runs other programs next to this one."""

import importlib.util
import subprocess
import sys

import pytest

from places import ROOT

SCRIPT = ROOT / "benches" / "peers.py"


@pytest.fixture(scope="module")
def peers():
    spec = importlib.util.spec_from_file_location("peers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["peers"]


def test_the_rate_of_a_program_leaves_out_its_start(peers):
    assert peers.marginal_rate(lambda count: 3.0 + count / 50, (100, 600)) == pytest.approx(50)


def test_values_are_replaced_in_the_shipped_file_and_nothing_else_is(peers):
    shipped = "".join(f"<{key}>0</{key}>" for key in peers.MQSIM_DEVICE) + "<Seed>321</Seed>"
    device = peers.mqsim_device(shipped)
    assert device == peers.xml("d", {**peers.MQSIM_DEVICE, "Seed": "321"})[3:-4]


def test_another_version_of_mqsim_is_refused_by_the_missing_key(peers):
    with pytest.raises(SystemExit, match="has no <Enabled_Preconditioning>"):
        peers.mqsim_device("<Device_Parameter_Set></Device_Parameter_Set>")


def test_our_side_of_every_case_runs(peers, tmp_path, monkeypatch):
    small = peers.DEVICE.replace("1024", "64")
    monkeypatch.setattr(peers, "DEVICE", small)
    for case in peers.CASES:
        assert peers.our_run(tmp_path, case, 60.0)(200) > 0, case.name


def test_without_mqsim_the_codes_are_compared():
    pytest.importorskip("bchlib")
    command = [sys.executable, str(SCRIPT), "--rounds", "1", "--seconds", "0.02"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert "benches/peers.md" in lines[1]
    assert lines[2].startswith("BCH (13, 8)")
    assert float(lines[2].split("Mb/s of data")[1].split()[0]) > 1
