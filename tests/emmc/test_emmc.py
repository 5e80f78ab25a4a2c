"""An eMMC, command by command: the table, faults that it finds, real devices by a fake tool."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import select
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app as command_line
from opennandlab.documents.emmc import EmmcDocument
from opennandlab.emmc import checking, real, rpmb
from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Card, pattern
from opennandlab.emmc.cases import cases, packing
from opennandlab.emmc.cases.registers import fields
from opennandlab.emmc.real_cases import GROUP
from opennandlab.reports import emmc as pages
from opennandlab.targets.base import TargetError
from opennandlab.targets.probe import Answer, Probe

# 80 MiB in four dies: large enough for every case, and made in no time.
SMALL: dict[str, Any] = {
    "nand": {"channels": 1, "dies_per_channel": 4, "planes_per_die": 1, "blocks_per_plane": 110,
             "pages_per_block": 64},
    "ftl": {"over_provisioning_pct": 0.4, "write_buffer_pages": 64},
    "host": {"link": "emmc51_hs200", "command_overhead_us": 70},
}  # fmt: skip
RUNNER = CliRunner()


def small_card(**options: Any) -> Card:
    card = Card(onl.load_device(SMALL), options=options)
    card.start()
    return card


def check(**wanted: Any) -> checking.Check:
    run = checking.Check(onl.load_device(SMALL), **wanted)
    run.to_the_end()
    return run


# The table.


def test_every_case_passes_on_a_small_drive() -> None:
    run = check()
    assert [row for row in run.rows if row.verdict != "passed"] == []
    assert len(run.rows) >= 200


def test_cards_of_4_51_skip_what_came_later() -> None:
    run = check(standard="4.51", only=["queue", "cache", "rpmb.thirty*", "bkops"])
    skipped = {row.id for row in run.rows if row.verdict == "skipped"}
    assert {row.verdict for row in run.rows} == {"passed", "skipped"}
    assert {"queue.discard_all", "cache.barrier_keeps_order", "bkops.automatic"} <= skipped
    assert "cache.flushed_is_kept" not in skipped


def test_the_preset_is_a_card_of_16_gb() -> None:
    run = checking.Check(onl.load_device("emmc_16gb"), only=["registers.sector_count"])
    run.to_the_end()
    assert [row.verdict for row in run.rows] == ["passed"]
    assert 15.7e9 < run.user_bytes < 15.9e9


def test_ids_are_unique_and_each_case_says_what_it_does() -> None:
    found = cases()
    assert len({case.id for case in found}) == len(found)
    for case in found:
        assert case.does.endswith("."), case.id
        assert case.clause[0] in "67", case.id


def test_the_same_check_gives_the_same_document() -> None:
    first, second = (check(only=["hpi", "reliable.old*"]).document("x") for _ in range(2))
    assert first.digest == second.digest


class Faulty:
    """A core that answers as the real one, but for one fault."""

    def __init__(self, core: Any, fault: str) -> None:
        self._core, self._fault = core, fault

    def __getattr__(self, name: str) -> Any:
        """Leave the rest to the real one."""
        return getattr(self._core, name)

    def power_cycle(self) -> None:
        if self._fault != "no cut":
            self._core.power_cycle()

    def command(self, index: int, argument: int = 0, data: bytes = b"", blocks: int = 1) -> Any:
        if self._fault == "ignored flush" and index == 6 and argument >> 16 & 0xFF == 32:
            argument = 3 << 24 | 185 << 16
        if self._fault == "plain reliable" and index == 23:
            argument &= ~at.RELIABLE
        if self._fault == "wide trim" and index == 36:
            argument += 1 if self.is_by_sector() else 512
        response, found, busy_ns = self._core.command(index, argument, data, blocks)
        if self._fault == "silent" and isinstance(response, int):
            response &= ~(1 << 7 | 1 << 22 | 1 << 26 | 1 << 31)
        if self._fault == "bit" and found and index == 18:
            found = bytes([found[0] ^ 1]) + found[1:]
        if self._fault == "instant":
            busy_ns = 0
        return response, found, busy_ns

    def is_by_sector(self) -> bool:
        return bool(json.loads(self._core.status())["is_by_sector"])


FAULTS = {
    "ignored flush": "cache.flushed_is_kept",
    "plain reliable": "reliable.past_the_cache",
    "wide trim": "erase.trim",
    "silent": "switching.read_only",
    "bit": "transfer.counted_blocks",
    "instant": "cache.faster",
    "no cut": "cache.a_cut_takes_what_was_not_flushed",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_card_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = checking.Check._card

    def faulty(self: checking.Check, options: dict[str, object]) -> Card:
        card = made(self, options)
        card.core = Faulty(card.core, fault)  # type: ignore[assignment]
        return card

    monkeypatch.setattr(checking.Check, "_card", faulty)
    (row,) = check(only=[FAULTS[fault]]).rows
    assert row.verdict == "failed"
    assert row.expected != row.found


# Independent references.

# Positions and sizes as linux/mmc/mmc.h and mmc-utils' mmc.h have them.
KERNEL = {
    "CMDQ_MODE_EN": 15, "FLUSH_CACHE": 32, "CACHE_CTRL": 33, "POWER_OFF_NOTIFICATION": 34,
    "PACKED_FAILURE_INDEX": 35, "PACKED_COMMAND_STATUS": 36, "EXCEPTION_EVENTS_STATUS": 54,
    "EXCEPTION_EVENTS_CTRL": 56, "DATA_SECTOR_SIZE": 61, "GP_SIZE_MULT": 143,
    "PARTITION_SETTING_COMPLETED": 155, "PARTITIONS_ATTRIBUTE": 156, "PARTITIONING_SUPPORT": 160,
    "HPI_MGMT": 161, "RST_N_FUNCTION": 162, "BKOPS_EN": 163, "BKOPS_START": 164,
    "SANITIZE_START": 165, "WR_REL_PARAM": 166, "RPMB_SIZE_MULT": 168, "FW_CONFIG": 169,
    "BOOT_WP": 173, "ERASE_GROUP_DEF": 175, "PARTITION_CONFIG": 179, "ERASED_MEM_CONT": 181,
    "BUS_WIDTH": 183, "STROBE_SUPPORT": 184, "HS_TIMING": 185, "POWER_CLASS": 187,
    "EXT_CSD_REV": 192, "CSD_STRUCTURE": 194, "DEVICE_TYPE": 196, "DRIVER_STRENGTH": 197,
    "OUT_OF_INTERRUPT_TIME": 198, "PARTITION_SWITCH_TIME": 199, "SEC_COUNT": 212,
    "S_A_TIMEOUT": 217, "REL_WR_SEC_C": 222, "HC_WP_GRP_SIZE": 221, "ERASE_TIMEOUT_MULT": 223,
    "HC_ERASE_GRP_SIZE": 224, "BOOT_SIZE_MULT": 226, "SEC_TRIM_MULT": 229, "SEC_ERASE_MULT": 230,
    "SEC_FEATURE_SUPPORT": 231, "TRIM_MULT": 232, "BKOPS_STATUS": 246, "POWER_OFF_LONG_TIME": 247,
    "GENERIC_CMD6_TIME": 248, "CACHE_SIZE": 249, "FIRMWARE_VERSION": 254, "PRE_EOL_INFO": 267,
    "DEVICE_LIFE_TIME_EST_TYP_A": 268, "DEVICE_LIFE_TIME_EST_TYP_B": 269, "CMDQ_DEPTH": 307,
    "CMDQ_SUPPORT": 308, "SUPPORTED_MODES": 493, "TAG_UNIT_SIZE": 498, "DATA_TAG_SUPPORT": 499,
    "MAX_PACKED_WRITES": 500, "MAX_PACKED_READS": 501, "BKOPS_SUPPORT": 502, "HPI_FEATURES": 503,
}  # fmt: skip


def test_fields_are_where_drivers_look_for_them() -> None:
    found = {row["name"]: row["index"] for row in fields()}
    assert {name: found.get(name) for name in KERNEL} == KERNEL
    named = {
        name: value for name, value in vars(at).items() if name in found and isinstance(value, int)
    }
    assert {name: found[name] for name in named} == named


def test_the_mac_is_that_of_pythons_hmac() -> None:
    card = small_card()
    card.partition(3)
    rpmb.program_key(card)
    raw = rpmb.read_counter(card)
    wanted = hmac.new(rpmb.KEY, raw[228:512], hashlib.sha256).digest()
    assert raw[196:228] == wanted
    assert len(raw[228:512]) == 284


def test_a_packed_header_is_that_of_drivers() -> None:
    # Version, direction, entries; then the arguments of CMD23 and CMD25, little endian.
    head = packing.header(2, [(0x80000008, 0x1234), (16, 0x2000)])
    words = [int.from_bytes(head[place : place + 4], "little") for place in range(0, 24, 4)]
    assert words == [2 << 16 | 2 << 8 | 1, 0, 0x80000008, 0x1234, 16, 0x2000]


def test_bytes_of_a_card_are_those_of_its_partitions() -> None:
    card = small_card()
    for number in (0, 1, 2):
        card.partition(number)
        card.write(0, pattern(0, 4, tag=number))
    assert card.core.audit() is None
    for number in (0, 1, 2):
        card.partition(number)
        assert card.read(0, 4) == pattern(0, 4, tag=number)


# Hostile and hurried use.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"standard": "6.0"}, "standard"),
        ({"bkops_kib": [3, 2, 1]}, "bkops_kib"),
        ({"colour": 1}, "colour"),
        ({"cache_kib": -1}, "cache_kib"),
    ],
)
def test_options_that_are_wrong_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Card(onl.load_device(SMALL), options=options)


def test_a_drive_that_is_too_small_is_refused() -> None:
    tiny = {"nand": {**SMALL["nand"], "dies_per_channel": 1, "blocks_per_plane": 16,
                     "pages_per_block": 8}, "ftl": {"over_provisioning_pct": 0.5}}  # fmt: skip
    with pytest.raises(ConfigError, match="too few for an eMMC"):
        Card(onl.load_device(tiny))


def test_a_drive_without_room_for_the_cases_is_refused() -> None:
    nand = {**SMALL["nand"], "dies_per_channel": 1, "blocks_per_plane": 24}
    with pytest.raises(ConfigError, match="the cases need 8388608"):
        checking.Check(onl.load_device({**SMALL, "nand": nand}))


def test_commands_that_do_not_exist_and_odd_data() -> None:
    card = small_card()
    with pytest.raises(ConfigError, match="0 to 63"):
        card.command(64)
    with pytest.raises(ConfigError, match="65535"):
        card.command(18, 0, blocks=1 << 20)
    with pytest.raises(ConfigError, match="accepted: 0 to"):
        card.wait(1 << 62)
    # Half a block is not taken; the card goes on waiting.
    card.command(24, 0, b"half")
    assert card.state == "rcv"
    card.send(pattern(0) + b"too much")
    assert card.read(0) == pattern(0)


# The command line.


def run(*words: str) -> tuple[int, str]:
    done = RUNNER.invoke(command_line, ["emmc", "check", *words])
    return done.exit_code, done.output


@pytest.fixture
def drive(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(SMALL))
    return str(path)


def test_a_check_writes_its_document_and_its_page(drive: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    code, text = run("--config", drive, "--only", "packed", "--output", str(folder))
    assert code == 0, text
    found = onl.load(folder / "emmc.json")
    assert isinstance(found, EmmcDocument)
    assert (found.passed, found.failed_count) == (True, 0)
    assert found.passed_count == len(found.rows) == len(packing.GROUP.cases)
    page = (folder / "emmc.html").read_text(encoding="utf-8")
    assert all(row.id in page for row in found.rows)
    assert (folder / "emmc-chapters.csv").exists() or list(folder.glob("*.csv"))


def test_a_case_that_fails_ends_with_1(drive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Card, "read", lambda *_: b"other")
    code, text = run("--config", drive, "--only", "transfer.last_block")
    assert code == 1
    assert "FAILED transfer.last_block" in text
    assert "1 cases: 1 failed" in text


def test_json_is_one_document(drive: str) -> None:
    code, text = run("--config", drive, "--only", "boot.size", "--json", "--quiet")
    assert code == 0
    assert json.loads(text)["schema"] == "opennandlab.emmc/1"


def test_cases_are_listed_without_a_drive() -> None:
    code, text = run("--list")
    assert code == 0
    assert len(text.splitlines()) == len(cases())
    code, text = run("--list", "--device", "x", "--json")
    assert [row["id"] for row in json.loads(text)["cases"]] == [case.id for case in GROUP.cases]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--config"),
        (("--config", "emmc_16gb", "--device", "/dev/mmcblk0"), "--config"),
        (("--config", "emmc_16gb", "--only", "nothing"), "chooses no case"),
        (("--config", "emmc_16gb", "--standard", "7"), "accepted: 4.51"),
        (("--config", "nothing.yaml"), "nothing.yaml"),
        (("--device", "/dev/mmcblk0", "--set", "ftl.gc_policy=fifo"), "simulated"),
    ],
)
def test_wrong_use_is_refused(words: tuple[str, ...], said: str) -> None:
    code, text = run(*words)
    assert code == 2
    assert said in text


def test_an_interruption_keeps_what_was_run() -> None:
    wanted = checking.Check(onl.load_device(SMALL), only=["boot"])

    def stop(state: tuple[int, int, str]) -> None:
        if state[0] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wanted.to_the_end(stop)
    found = wanted.document("x", partial=True)
    assert (len(found.rows), found.passed, found.partial) == (3, False, True)
    badge = pages.report(found).chapters[0].verdict
    assert badge is not None
    assert badge.text == "INTERRUPTED"


# Real devices, by a tool that prints what mmc-utils prints.

EXT_CSD = """\
=============================================
  Extended CSD rev 1.8 (MMC 5.1)
=============================================

Card Supported Command sets [S_CMD_SET: 0x01]
HPI Features [HPI_FEATURE: 0x01]: implementation based on CMD13
Background operations support [BKOPS_SUPPORT: 0x01]
Max Packet Read Cmd [MAX_PACKED_READS: 0x3f]
Max Packet Write Cmd [MAX_PACKED_WRITES: 0x3f]
Data TAG support [DATA_TAG_SUPPORT: 0x01]
Generic CMD6 Timer [GENERIC_CMD6_TIME: 0x19]
Power off notification [POWER_OFF_LONG_TIME: 0xff]
Cache Size [CACHE_SIZE] is 65536 KiB
Background operations status [BKOPS_STATUS: 0x00]
TRIM Multiplier [TRIM_MULT: 0x02]
Secure Feature support [SEC_FEATURE_SUPPORT: 0x55]
Boot Information [BOOT_INFO: 0x07]
 Device supports alternative boot method
Boot partition size [BOOT_SIZE_MULTI: 0x20]
High-capacity erase unit size [HC_ERASE_GRP_SIZE: 0x01]
 i.e. 512 KiB
High-capacity erase timeout [ERASE_TIMEOUT_MULT: 0x03]
Reliable write sector count [REL_WR_SEC_C: 0x01]
High-capacity W protect group size [HC_WP_GRP_SIZE: 0x10]
Sleep/awake timeout [S_A_TIMEOUT: 0x11]
Sector Count [SEC_COUNT: 0x01d1f000]
 Device is block-addressed
Partition switching timing [PARTITION_SWITCH_TIME: 0x02]
Out-of-interrupt busy timing [OUT_OF_INTERRUPT_TIME: 0x05]
Card Type [CARD_TYPE: 0x57]
CSD structure version [CSD_STRUCTURE: 0x02]
Erased memory content [ERASED_MEM_CONT: 0x00]
Boot configuration bytes [PARTITION_CONFIG: 0x08]
 Boot Partition 1 enabled
RPMB Size [RPMB_SIZE_MULT]: 0x20
Write reliability parameter register [WR_REL_PARAM]: 0x14
Vendor Specific Fields [VENDOR_SPECIFIC_FIELD[127]]: 0x00
Native sector size [NATIVE_SECTOR_SIZE]: 0x00
Sector size [DATA_SECTOR_SIZE]: 0x00
Exception events control [EXCEPTION_EVENTS_CTRL]: 0x0000
Power Off Notification [POWER_OFF_NOTIFICATION]: 0x01
Control to turn the Cache ON/OFF [CACHE_CTRL]: 0x01
eMMC Life Time Estimation A [EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_A]: 0x02
eMMC Life Time Estimation B [EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_B]: 0x01
eMMC Pre EOL information [EXT_CSD_PRE_EOL_INFO]: 0x01
Command Queue Support [CMDQ_SUPPORT]: 0x01
Command Queue Depth [CMDQ_DEPTH]: 32
Command Enabled [CMDQ_MODE_EN]: 0x00
"""
STATUS = "SEND_STATUS response: 0x00000900\nDEVICE STATE: TRANS\nSTATUS: READY_FOR_DATA\n"
SECTORS = 0x01D1F000


class FakeProbe(Probe):
    """A system with an eMMC at /dev/mmcblk0, and what is asked of it."""

    def __init__(self, root: Path, name: str = "mmcblk0", kind: str = "MMC") -> None:
        super().__init__(root)
        self.name = name
        self.asked: list[tuple[str, ...]] = []
        here = root / "sys/class/block" / name
        (here / "device").mkdir(parents=True)
        (here / "queue").mkdir()
        (here / "size").write_text(f"{SECTORS}\n")
        (here / "ro").write_text("0\n")
        (here / "device/type").write_text(f"{kind}\n")
        (here / "device/csd").write_text("d02701320f5903fffffffdef8e400000\n")

    def kernel_name(self, path: str | int) -> str | None:
        return self.name if path == f"/dev/{self.name}" else super().kernel_name(path)

    def ask(self, *command: str) -> Answer | None:
        self.asked.append(command)
        return None if command[0] == "lsblk" else super().ask(*command)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program `mmc` on the search path that prints two files and notes how it is called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ext_csd").write_text(EXT_CSD)
    (folder / "status").write_text(STATUS)
    program = folder / "mmc"
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {folder}/called\n'
        f'case "$1 $2" in\n'
        f'  "extcsd read") cat {folder}/ext_csd;;\n'
        f'  "status get") cat {folder}/status;;\n'
        "  *) exit 9;;\n"
        "esac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def verdicts(facts: real.Facts) -> dict[str, str]:
    return {row.id: row.verdict for row in checking.rows_of(GROUP.cases, facts)}


def test_a_real_device_is_read_and_never_written(tool: Path, tmp_path: Path) -> None:
    probe = FakeProbe(tmp_path / "root")
    facts = real.read_facts("/dev/mmcblk0", probe)
    assert facts.standard == "5.1"
    assert set(verdicts(facts).values()) == {"passed"}
    assert len(verdicts(facts)) >= 20
    called = (tool / "called").read_text().splitlines()
    assert called == ["extcsd read /dev/mmcblk0", "status get /dev/mmcblk0"]


def test_numbers_beyond_all_fields_are_left_out(tool: Path, tmp_path: Path) -> None:
    number = "9" * 6000
    (tool / "ext_csd").write_text(f"[SEC_COUNT: {number}]\n{EXT_CSD}\n[REV]: {number}\n")
    facts = real.read_facts("/dev/mmcblk0", FakeProbe(tmp_path / "root"))
    assert facts.field("SEC_COUNT") == 0x01D1F000
    assert real.parse_ext_csd(f"Extended CSD rev 1.{number}") == {}


def test_a_tool_that_hangs_is_ended_with_what_it_began(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opennandlab.targets.probe.ASK_S", 0.3)
    (tool / "mmc").write_text(f"#!/bin/sh\nsleep 60 & echo $! > {tool}/child; wait\n")
    with pytest.raises(TargetError, match="status 124: no answer"):
        real.read_facts("/dev/mmcblk0", FakeProbe(tmp_path / "root"))
    child = int((tool / "child").read_text())
    # What was killed may end a moment later.
    with contextlib.suppress(ProcessLookupError):
        end = os.pidfd_open(child)
        assert select.select([end], [], [], 30)[0]
        os.close(end)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (("[SEC_COUNT: 0x01d1f000]", "[SEC_COUNT: 0x01d1f001]"), ("device.sector_count", "failed")),
        (("[HPI_FEATURE: 0x01]", "[HPI_FEATURE: 0x00]"), ("device.interrupt", "failed")),
        (("[CACHE_CTRL]: 0x01", "[CACHE_CTRL]: 0x07"), ("device.cache_control", "failed")),
        (("[EXT_CSD_PRE_EOL_INFO]: 0x01", ""), ("device.end_of_life", "skipped")),
        (("rev 1.8 (MMC 5.1)", "rev 1.6 (MMC 4.5)"), ("device.queue", "skipped")),
        (("rev 1.8 (MMC 5.1)", "rev 1.6 (MMC 4.5)"), ("device.background", "passed")),
    ],
)
def test_what_a_device_says_decides(
    tool: Path, tmp_path: Path, change: tuple[str, str], wanted: tuple[str, str]
) -> None:
    (old, new), (case, verdict) = change, wanted
    (tool / "ext_csd").write_text(EXT_CSD.replace(old, new))
    facts = real.read_facts("/dev/mmcblk0", FakeProbe(tmp_path / "root"))
    assert verdicts(facts)[case] == verdict


def test_an_error_in_the_status_fails(tool: Path, tmp_path: Path) -> None:
    (tool / "status").write_text(STATUS.replace("0x00000900", "0x80000900"))
    facts = real.read_facts("/dev/mmcblk0", FakeProbe(tmp_path / "root"))
    assert verdicts(facts)["device.status"] == "failed"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("sda", "", "not an mmc device"),
        ("mmcblk0", "SD", "calls it SD"),
        ("mmcblk0boot0", "MMC", "part of mmcblk0"),
        ("mmcblk0rpmb", "MMC", "part of mmcblk0"),
    ],
)
def test_what_is_no_emmc_is_refused(
    tool: Path, tmp_path: Path, name: str, kind: str, words: str
) -> None:
    with pytest.raises(TargetError, match=words):
        real.read_facts(f"/dev/{name}", FakeProbe(tmp_path / "root", name, kind))
    assert not (tool / "called").exists()


def test_a_partition_is_refused(tool: Path, tmp_path: Path) -> None:
    probe = FakeProbe(tmp_path / "root", "mmcblk0p1")
    (tmp_path / "root/sys/class/block/mmcblk0p1/partition").write_text("1\n")
    with pytest.raises(TargetError, match="a partition"):
        real.read_facts("/dev/mmcblk0p1", probe)
    assert not (tool / "called").exists()


def test_a_tool_that_is_missing_or_fails_is_named(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = FakeProbe(tmp_path / "root")
    (tool / "mmc").write_text("#!/bin/sh\necho 'ioctl: Permission denied' >&2\nexit 1\n")
    with pytest.raises(TargetError, match="status 1: ioctl: Permission denied"):
        real.read_facts("/dev/mmcblk0", probe)
    (tool / "mmc").write_text("#!/bin/sh\necho nothing of use\n")
    with pytest.raises(TargetError, match="not understood"):
        real.read_facts("/dev/mmcblk0", probe)
    monkeypatch.setattr(probe, "has", lambda _: False)
    with pytest.raises(TargetError, match="package mmc-utils"):
        real.read_facts("/dev/mmcblk0", probe)


def test_output_that_is_garbage_is_left_out() -> None:
    garbage = (
        "[HPI_FEATURE: 0xffffff]\n[SEC_COUNT: 0x]\n]]][[[\n[NOPE: 0x1]\n[CACHE_CTRL]: 0x00\0\n"
    )
    assert real.parse_ext_csd(garbage) == {"CACHE_CTRL": 0}
    assert real.parse_ext_csd("x" * 100_000) == {}
    assert real.parse_ext_csd("[HPI_FEATURE: 0x01]\n[HPI_FEATURE: 0x03]") == {"HPI_FEATURES": 1}


def test_a_real_path_that_is_none_ends_with_3() -> None:
    for path in ("/dev/null", "/dev/mmcblk99", __file__):
        code, text = run("--device", path)
        assert code == 3, text
        assert path in text


def test_the_estimate_of_life_follows_the_wear() -> None:
    """JESD84-B51, 7.4: 0x01 is 0 to 10 % of the life; the blocks here are rated for 4 erases."""
    worn = {**SMALL, "nand": {**SMALL["nand"], "max_pe_cycles": 4, "wear_out": "ignore"}}
    card = Card(onl.load_device(worn))
    card.start()
    places = (at.PRE_EOL_INFO, at.DEVICE_LIFE_TIME_EST_TYP_A, at.DEVICE_LIFE_TIME_EST_TYP_B)
    assert [card.get(place) for place in places] == [1, 0, 1]
    count = 4096
    sectors = card.get(at.SEC_COUNT, 4) // count * count
    for _ in range(3):
        for first in range(0, sectors, count):
            card.write(first, pattern(first, count))
    # All blocks are erased at first: what was written beyond the flash needs erases, moved pages
    # come on top.
    erases = 3 * sectors * 512 / (4 * 110 * 64 * 4096) - 1
    least = 1 + int(10 * erases / 4)
    assert 1 < least <= card.get(at.DEVICE_LIFE_TIME_EST_TYP_B) <= least + 3
    old = small_card(standard="4.51")
    assert [old.get(place) for place in places] == [0, 0, 0]
