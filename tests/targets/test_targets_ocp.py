"""The write amplification of a real drive by its own log, and why there is none."""

from __future__ import annotations

import json

import pytest
from test_targets_safety import CONSENT, MIB, FakeProbe

from nvme_cli import hex_dump
from opennandlab.cli._pts_tables import header_lines
from opennandlab.measured.ocp import changes
from opennandlab.pts import TESTS
from opennandlab.pts.bench.folder import Place
from opennandlab.pts.bench.plan import Settings
from opennandlab.pts.bench.runner import run_test
from opennandlab.reports.pts.drive import life_text
from opennandlab.targets import ocp, purge
from opennandlab.targets.base import Limit, Stimulus
from opennandlab.targets.block import life_estimates
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


def log_of(programmed: int, **changed: object) -> str:
    """Return log 0xC0 as `nvme ocp smart-add-log` of version 2.3 prints it as JSON."""
    log = {
        "Physical media units written": {"hi": programmed >> 64, "lo": programmed & (1 << 64) - 1},
        "Log page GUID": "0xafd514c97c6f4f9ca4f2bfea2810afc5",
    }
    return json.dumps({**log, **changed})


@needs_fio
def test_waf_comes_from_the_log_of_the_drive(tmp_path):
    probe = system(tmp_path)
    programmed = 3 * 10**15

    def log(*command: str) -> Answer:
        nonlocal programmed
        assert command[-1] == "--output-format=json"
        programmed += 2 * 200 * 4096
        return Answer(0, log_of(programmed))

    probe.answers["nvme ocp smart-add-log"] = log
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
        ("nvme", {"nvme ocp": Answer(1, "")}, "no OCP log"),
        ("nvme", {"nvme ocp": Answer(0, "0000: 01 02")}, "no OCP log"),
        ("nvme", {"nvme ocp": Answer(0, log_of(7, **{"Log page GUID": "0x1"}))}, "no OCP log"),
        ("nvme", {"nvme ocp": Answer(0, '{"data_units_written": 3}')}, "no OCP log"),
    ],
)
def test_without_a_log_the_reason_is_known(tmp_path, transport, answers, words):
    probe = system(tmp_path, transport)
    probe.answers |= answers
    found, reason = ocp.programmed_bytes(known_block(probe.path, probe), probe)
    assert found is None
    assert words in reason


def test_a_counter_that_was_cleared_is_no_negative_amount(tmp_path):
    probe = system(tmp_path)
    programmed = iter([5 * 10**9, 5 * 10**9, 10, 10])
    probe.answers["nvme ocp smart-add-log"] = lambda *_: Answer(0, log_of(next(programmed)))
    target = DeviceTarget(probe.path, consent=CONSENT, probe=probe, folder=tmp_path / "fio")
    done = target.run(Stimulus("random", 0), Limit(ios=100), seed=1)
    assert "nand_bytes_written" not in done.inside
    target.close()


def test_a_standard_test_has_the_logs_before_and_after(tmp_path):
    """Each byte of the host is programmed twice: 2.0, but for what a data unit leaves open."""
    probe = system(tmp_path)
    written = 10**9

    def health(*_: str) -> Answer:
        return Answer(0, log_of(2 * written))

    def smart(*_: str) -> Answer:
        nonlocal written
        written += 256_000_000
        return Answer(0, json.dumps({"data_units_written": written // 512_000}))

    monitor = {"Log Page GUID": "85D45E58D4E643709C6C84D08CC07A92", "Active Threshold A": 30}
    probe.answers |= {
        "nvme ocp smart-add-log": health,
        "nvme ocp latency-monitor-log": Answer(0, json.dumps(monitor)),
        "nvme smart-log": smart,
    }
    target = DeviceTarget(probe.path, consent=CONSENT, probe=probe, folder=tmp_path / "fio")
    settings = Settings(time_base="smoke", options={"block_sizes": "4k", "mixes": "0"})
    place = Place(tmp_path / "out")
    place.folder.mkdir()
    document = run_test(TESTS["iops"], target, settings=settings, place=place)
    logs = document.header.logs
    assert logs is not None
    assert logs.before.latency_monitor_log["Active Threshold A"] == 30
    assert logs.change.host_bytes_written == 256_000_000
    assert logs.change.waf == 2.0
    assert "write amplification 2 (" in "\n".join(header_lines(document))
    # A run that goes on has the logs of its beginning, from its journal.
    lines = (tmp_path / "out" / "iops.journal.jsonl").read_text().splitlines()
    assert '"key":"logs"' in lines[1].replace(" ", "")
    target.close()


def test_a_real_drive_without_logs_has_none_in_its_documents(tmp_path):
    probe = system(tmp_path)
    probe.answers["nvme"] = Answer(1, "")
    target = DeviceTarget(probe.path, consent=CONSENT, probe=probe, folder=tmp_path / "fio")
    assert target.has_logs
    logs = target.device_logs()
    assert (logs.smart_log, logs.smart_add_log, logs.latency_monitor_log) == (None, None, None)
    assert changes(logs, logs).waf is None
    target.close()
    other = system(tmp_path / "sata", "sata") if (tmp_path / "sata").mkdir() is None else probe
    target = DeviceTarget(other.path, consent=CONSENT, probe=other, folder=tmp_path / "fio2")
    assert not target.has_logs
    assert target.facts().device.life is None
    target.close()


def test_rows_that_nvme_cli_3_leaves_out_are_those_before_them():
    """From 3.0 on `*` stands for equal rows: a drive with the log was said to have none."""
    log = (258).to_bytes(16, "little") + bytes(480) + b"0123456789abcdef"
    text = hex_dump(log, omits=True)
    assert text.count("\n*\n") == 1
    assert len(text.splitlines()) == 5
    assert purge.dumped(text) == log
    assert purge.dumped(hex_dump(log[:496], omits=True)) == log[:496]
    # A row that goes on nowhere, and one that would be 4 GiB away.
    assert purge.dumped("*\n0000: 01\n*\nffffffff:\n") == b"\x01"


def test_a_dump_is_read_as_far_as_it_goes_on():
    assert purge.dumped(hex_dump(bytes([2, 1, 0]) + bytes(509)))[:3] == b"\x02\x01\x00"
    assert purge.dumped('0000: 01 02 "."\n0010: 03 "."') == b"\x01\x02"


def life(folder, files: dict[str, str], name: str = "sdx"):
    """Return the estimates of a device whose sysfs has these files next to its own."""
    probe = FakeProbe(folder, name)
    for path, text in files.items():
        probe.file(path, text)
    place = folder / "sys" / "class" / "block" / name
    place.mkdir(parents=True, exist_ok=True)
    (folder / UNIT).mkdir(parents=True, exist_ok=True)
    (place / "device").symlink_to(folder / UNIT)
    return life_estimates(known_block(probe.path, probe), probe)


UNIT = "sys/devices/platform/ufs/host0/target0:0:0/0:0:0:0"


def test_an_emmc_estimates_its_life(tmp_path):
    """JESD84-B51: 0x01 is 0 to 10 %, 0x0B exceeded, 0 not defined; pre-EOL 1 to 3."""
    files = {f"{UNIT}/life_time": "0x02 0x0b", f"{UNIT}/pre_eol_info": "0x03"}
    found = life(tmp_path / "a", files, "mmcblk0")
    assert (found.kind, found.pre_eol_info) == ("emmc", 3)
    assert (found.device_life_time_est_typ_a, found.device_life_time_est_typ_b) == (2, 11)
    assert life_text(found) == "type A 10 to 20 %, type B exceeded, reserve 90 % used"
    for number, (times, info) in enumerate([("0x00 0x0c", "0x00"), ("soon", "9"), ("", "0x4")]):
        files = {f"{UNIT}/life_time": times, f"{UNIT}/pre_eol_info": info}
        found = life(tmp_path / str(number), files, "mmcblk0")
        assert (found.pre_eol_info, found.device_life_time_est_typ_b) == (None, None), times
        assert found.device_life_time_est_typ_a is None
    assert life(tmp_path / "none", {}, "mmcblk0").pre_eol_info is None


def test_a_ufs_device_estimates_its_life(tmp_path):
    base = "sys/devices/platform/ufs"
    files = {
        f"{base}/health_descriptor/eol_info": "0x01",
        f"{base}/health_descriptor/life_time_estimation_a": "0x01",
        f"{base}/health_descriptor/life_time_estimation_b": "0x00",
        f"{base}/attributes/wb_life_time_est": "0x0a",
    }
    found = life(tmp_path, files)
    assert (found.kind, found.pre_eol_info, found.device_life_time_est_typ_a) == ("ufs", 1, 1)
    assert (found.device_life_time_est_typ_b, found.write_booster_life_time_est) == (None, 10)
    assert life_text(found) == (
        "type A 0 to 10 %, type B unknown, reserve below 80 % used, write booster 90 to 100 %"
    )
