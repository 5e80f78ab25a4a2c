"""The write amplification of a real drive by its own log, and why there is none."""

from __future__ import annotations

import json

import pytest
from test_targets_safety import CONSENT, MIB, FakeProbe

from nvme_cli import hex_dump
from opennandlab.targets import ocp
from opennandlab.targets.base import Limit, Stimulus
from opennandlab.targets.device import DeviceTarget
from opennandlab.targets.probe import Answer
from opennandlab.targets.safety import known_block
from real_drives import needs_fio


def system(folder, transport: str = "nvme") -> FakeProbe:
    """Return a system with a drive that is a regular file of 8 MiB under a false name."""
    made = FakeProbe(folder / "system")
    image = folder / "sdx"
    image.write_bytes(b"x" * 8 * MIB)
    made.path = str(image)
    made.disk(size=str(8 * MIB // 512))
    made.answers["lsblk"] = Answer(0, json.dumps({"blockdevices": [{"tran": transport}]}))
    return made


def log_of(programmed: int) -> str:
    """Return log 0xC0 as `nvme get-log` prints it."""
    log = programmed.to_bytes(16, "little") + bytes(480) + ocp.GUID
    lines = [
        f"{at:04x}: " + " ".join(f"{byte:02x}" for byte in log[at : at + 16]) + ' "...."'
        for at in range(0, 512, 16)
    ]
    return "Device:nvme0n1 log-id:192\n       0  1  2\n" + "\n".join(lines)


@needs_fio
def test_waf_comes_from_the_log_of_the_drive(tmp_path):
    probe = system(tmp_path)
    programmed = 3 * 10**15

    def log(*command: str) -> Answer:
        nonlocal programmed
        assert command[-2:] == ("--log-id=192", "--log-len=512")
        programmed += 2 * 200 * 4096
        return Answer(0, log_of(programmed))

    probe.answers["nvme get-log"] = log
    target = DeviceTarget(probe.path, consent=CONSENT, probe=probe, folder=tmp_path / "fio")
    assert not target.waf_missing
    done = target.run(Stimulus("random", 0), Limit(ios=200), seed=1)
    assert done.inside["nand_bytes_written"] == 2 * 200 * 4096
    assert done.written_bytes == 200 * 4096
    target.close()


@pytest.mark.parametrize(
    ("transport", "answers", "words"),
    [
        ("sata", {}, "only NVMe drives"),
        ("nvme", {}, "nvme-cli is not installed"),
        ("nvme", {"nvme get-log": Answer(1, "")}, "no OCP log"),
        ("nvme", {"nvme get-log": Answer(0, "0000: 01 02")}, "no OCP log"),
        ("nvme", {"nvme get-log": Answer(0, log_of(7).replace("c5 af", "00 00"))}, "no OCP log"),
    ],
)
def test_without_a_log_the_reason_is_known(tmp_path, transport, answers, words):
    probe = system(tmp_path, transport)
    probe.answers |= answers
    found, reason = ocp.programmed_bytes(known_block(probe.path, probe), probe)
    assert found is None
    assert words in reason


def test_rows_that_nvme_cli_3_leaves_out_are_those_before_them(tmp_path):
    """From 3.0 on `*` stands for equal rows: a drive with the log was said to have none."""
    log = (258).to_bytes(16, "little") + bytes(480) + ocp.GUID
    text = hex_dump(log, omits=True)
    assert text.count("\n*\n") == 1
    assert len(text.splitlines()) == 5
    assert ocp.dumped(text) == log
    assert ocp.dumped(hex_dump(log[:496], omits=True)) == log[:496]
    probe = system(tmp_path)
    probe.answers["nvme get-log"] = Answer(0, f"Device:nvme0n1 log-id:192\n{text}")
    assert ocp.programmed_bytes(known_block(probe.path, probe), probe) == (258, "")
    # A row that goes on nowhere, and one that would be 4 GiB away.
    assert ocp.dumped("*\n0000: 01\n*\nffffffff:\n") == b"\x01"


def test_a_dump_is_read_as_far_as_it_goes_on():
    assert ocp.dumped(log_of(258))[:3] == b"\x02\x01\x00"
    assert len(ocp.dumped(log_of(258))) == 512
    assert ocp.dumped('0000: 01 02 "."\n0010: 03 "."') == b"\x01\x02"
