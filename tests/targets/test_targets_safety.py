"""The gate before real devices, purge and cache, on systems that exist only as files.

No test touches a block device: /sys and /proc are folders made here, tools are tables of answers,
and where a drive must be read and written it is a regular file under a false name.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from nvme_cli import hex_dump
from opennandlab.targets import cache
from opennandlab.targets.base import Limit, Step, Stimulus, TargetError
from opennandlab.targets.block import Block, rated_bytes, temperature_c
from opennandlab.targets.consent import Consent
from opennandlab.targets.device import DeviceTarget
from opennandlab.targets.names import same_file
from opennandlab.targets.probe import Answer, Probe
from opennandlab.targets.purge import ata_erase_state, ways
from opennandlab.targets.safety import Work, known_block, make_plan, objections

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
MIB = 1 << 20
CONSENT = Consent(destructive=True, i_know="SN123")
FORCED = Consent(destructive=True, i_know="SN123", force=True)
NOT_FOUND = Answer(2, "")
HDPARM = """
/dev/sdx:
ATA device, with non-removable media
Security:
	Master password revision code = 65534
		supported
	not	enabled
	not	locked
	not	frozen
	not	expired: security count
		supported: enhanced erase
	2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.
Logical Unit WWN Device Identifier: 5000000000000000
"""


class FakeProbe(Probe):
    """A system made of files and answers.

    `answers` maps the beginning of a command to what the tool says, or to a function of the
    command; a tool without an answer is not installed.
    """

    def __init__(self, root: Path, name: str = "sdx") -> None:
        super().__init__(root)
        self.name = name
        self.path = f"/dev/{name}"
        self.is_block = True
        self.answers: dict[str, Answer | Callable[..., Answer]] = {"blkid": NOT_FOUND}
        self.acted: list[str] = []
        self.held = 0
        self.use: str | None = None
        self.file("proc/self/mountinfo", "22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw")
        self.file("proc/swaps", "Filename Type Size Used Priority")

    def file(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")

    def disk(self, **values: str) -> None:
        """Make the drive; keyword `queue_scheduler` is the file queue/scheduler."""
        plain = {
            "size": "131072",
            "ro": "0",
            "dev": "8:16",
            "queue/logical_block_size": "512",
            "queue/scheduler": "[none] mq-deadline",
            "queue/rotational": "0",
            "device/vendor": "MAKER",
            "device/model": "DRIVE 1",
            "device/rev": "FW01",
            "device/serial": "SN123",
            "device/uevent": "DRIVER=sd\nX=1",
        }
        for key, value in {**plain, **{k.replace("__", "/"): v for k, v in values.items()}}.items():
            self.file(f"sys/class/block/{self.name}/{key}", value)

    def kernel_name(self, path: str | int) -> str | None:
        if not self.is_block:
            return None
        if isinstance(path, int):
            return self.name if same_file(os.fstat(path), Path(self.path).stat()) else "other"
        if Path(path).name != self.name and path != self.path:
            raise FileNotFoundError(2, "No such file or directory")
        return self.name

    def has(self, tool: str) -> bool:
        return any(command.split()[0] == tool for command in self.answers)

    def ask(self, *command: str) -> Answer | None:
        for start, answer in self.answers.items():
            if " ".join(command).startswith(start):
                return answer(*command) if callable(answer) else answer
        return Answer(1, "") if self.has(command[0]) else None

    def act(self, *command: str, seconds_max: float) -> Answer:
        assert seconds_max > 0
        # What holds the device would be in the way of tools that open it exclusively.
        assert self.held == 0 or command[0] == "nvme" or command[1].startswith("-W")
        self.acted.append(" ".join(command))
        return self.ask("act " + " ".join(command)) or Answer(0, "")

    def wait(self, seconds: float) -> None:
        assert seconds > 0

    def hold(self, path: str) -> int:
        assert path == self.path
        self.held += 1
        return os.open(path, os.O_RDWR)

    def release(self, handle: int) -> None:
        os.close(handle)
        self.held -= 1

    def in_use(self, path: str) -> str | None:
        assert path == self.path
        return self.use


@pytest.fixture
def probe(tmp_path: Path) -> FakeProbe:
    made = FakeProbe(tmp_path / "system")
    made.disk()
    made.answers["lsblk"] = lambda *_: Answer(0, json.dumps({"blockdevices": [{"tran": "sata"}]}))
    return made


def read(probe: FakeProbe) -> Block:
    return known_block(probe.path, probe)


def refusals(probe: FakeProbe, consent: Consent = CONSENT) -> list[str]:
    return objections(read(probe), consent, probe)


def test_a_free_drive_that_was_named_twice_passes(probe):
    assert refusals(probe) == []
    for word in ("SN123", "sdx"):
        assert refusals(probe, Consent(destructive=True, i_know=word)) == []


@pytest.mark.parametrize(
    ("consent", "words"),
    [
        (Consent(), "all its data would be lost: --destructive allows that"),
        (Consent(i_know="sdx"), "all its data would be lost: --destructive allows that"),
        (Consent(force=True, i_know="sdx"), "all its data would be lost"),
        (Consent(destructive=True), "name it once more: --i-know sdx (or its serial number)"),
        (Consent(destructive=True, i_know="sdy"), "--i-know sdy is another device"),
        (Consent(destructive=True, i_know=""), "--i-know  is another device"),
        (Consent(destructive=True, force=True), "name it once more"),
    ],
)
def test_without_consent_for_this_very_device(probe, consent, words):
    (reason,) = refusals(probe, consent)
    assert reason.startswith(words)


def test_a_drive_without_serial_is_not_named_by_nothing(probe):
    probe.disk(device__serial="")
    (reason,) = refusals(probe, Consent(destructive=True, i_know=""))
    assert reason.endswith("this one is --i-know sdx")


def test_partitions_read_only_drives_and_empty_slots(probe):
    probe.disk(partition="1")
    assert refusals(probe) == ["it is a partition; a test needs a whole drive"]
    (probe.root / "sys/class/block/sdx/partition").unlink()
    probe.disk(ro="1")
    assert refusals(probe) == ["it is read-only"]
    probe.disk(size="0")
    assert refusals(probe) == ["it has no capacity (no medium?)"]


def mount(probe: FakeProbe, line: str) -> None:
    text = probe.text("/proc/self/mountinfo")
    probe.file("proc/self/mountinfo", f"{text}\n{line}")


def partitioned(probe: FakeProbe) -> None:
    for key, value in {"partition": "1", "dev": "8:17"}.items():
        probe.file(f"sys/class/block/sdx/sdx1/{key}", value)
        probe.file(f"sys/class/block/sdx1/{key}", value)


def test_mounted_by_number_by_name_and_by_partition(probe):
    mount(probe, "30 22 8:16 / /mnt/a\\040b rw - ext4 /dev/root rw")
    assert refusals(probe) == ["mounted at /mnt/a b"]
    # btrfs and ZFS show a number of their own.
    probe.file("proc/self/mountinfo", "30 22 0:50 / /mnt/b rw - btrfs /dev/sdx rw")
    assert refusals(probe) == ["mounted at /mnt/b"]
    probe.file("proc/self/mountinfo", "30 22 8:17 / /mnt/c rw - ext4 /dev/sdx1 rw")
    assert refusals(probe) == []
    partitioned(probe)
    assert "mounted at /mnt/c" in refusals(probe)
    assert "mounted at /mnt/c" in refusals(probe, FORCED)


def test_the_disk_of_the_root_file_system(probe):
    partitioned(probe)
    probe.file("proc/self/mountinfo", "22 1 8:17 / / rw shared:1 - ext4 /dev/sdx1 rw")
    assert refusals(probe, FORCED) == ["it holds the root file system"]


def test_root_on_a_volume_built_on_a_partition(probe):
    partitioned(probe)
    probe.file("sys/class/block/sdx1/holders/dm-0/x", "")
    probe.file("sys/class/block/dm-0/dev", "253:0")
    probe.file("proc/self/mountinfo", "22 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw")
    assert refusals(probe, FORCED) == [
        "it holds the root file system",
        "held by dm-0 (LVM, RAID, mapper or loop device)",
    ]


def test_swap(probe):
    probe.file("proc/swaps", "Filename Type\n/dev/sdx partition 1 0 -2")
    assert refusals(probe) == ["it is used as swap"]
    partitioned(probe)
    probe.file("proc/swaps", "Filename Type\n/dev/sdx1 partition 1 0 -2")
    assert "it is used as swap" in refusals(probe)
    probe.file("proc/swaps", "Filename Type\n/var/sdx file 1 0 -2")
    assert "it is used as swap" not in refusals(probe)


def test_holders(probe):
    probe.file("sys/class/block/sdx/holders/md0/x", "")
    assert refusals(probe) == ["held by md0 (LVM, RAID, mapper or loop device)"]


@pytest.mark.parametrize("kind", ["LVM2_member", "linux_raid_member", "zfs_member"])
def test_members_of_arrays_are_refused_even_by_force(probe, kind):
    probe.answers["blkid"] = Answer(0, f"DEVNAME=/dev/sdx\nTYPE={kind}\n")
    expected = [f"sdx is a member of an array or pool ({kind})"]
    assert refusals(probe) == expected
    assert refusals(probe, FORCED) == expected


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(0, "TYPE=ext4\nUUID=1\n"), "sdx holds a file system (ext4)"),
        (Answer(0, "PTTYPE=gpt\nPTUUID=1\n"), "sdx holds a partition table (gpt)"),
        (Answer(8, ""), "blkid cannot tell what sdx holds (status 8)"),
    ],
)
def test_signatures_are_overruled_by_force_only(probe, answer, words):
    probe.answers["blkid"] = answer
    assert refusals(probe) == [f"{words}; --force overrules this"]
    assert refusals(probe, FORCED) == []


def test_a_file_system_on_a_partition_and_no_blkid(probe):
    partitioned(probe)
    probe.answers["blkid --probe --output export /dev/sdx1"] = Answer(0, "TYPE=xfs")
    probe.answers["blkid"] = probe.answers.pop("blkid")
    assert refusals(probe) == [
        "it has partitions (sdx1); --force overrules this",
        "sdx1 holds a file system (xfs); --force overrules this",
    ]
    probe.answers = {}
    assert refusals(probe)[-1].startswith("blkid is not installed")


def test_in_use(probe):
    probe.use = "it is in use: the kernel refuses to open it exclusively"
    assert refusals(probe, FORCED) == [probe.use]


def test_all_objections_are_listed_at_once(probe):
    probe.disk(ro="1")
    probe.use = "busy"
    mount(probe, "30 22 8:16 / /mnt rw - ext4 /dev/sdx rw")
    with pytest.raises(TargetError) as caught:
        DeviceTarget(probe.path, probe=probe)
    text = str(caught.value)
    assert text.startswith("/dev/sdx: MAKER DRIVE 1, serial SN123, 0.1 GB: refused: ")
    for words in ("read-only", "mounted at /mnt", "busy", "--destructive"):
        assert words in text
    assert (probe.acted, probe.held) == ([], 0)


def test_what_is_no_block_device(probe, tmp_path):
    with pytest.raises(TargetError, match="No such file"):
        known_block("/dev/sdq", probe)
    probe.is_block = False
    with pytest.raises(TargetError, match="regular file is named file:"):
        known_block(probe.path, probe)
    real = Probe()
    (tmp_path / "file").write_text("x")
    with pytest.raises(TargetError, match="no block device"):
        DeviceTarget(str(tmp_path / "file"), consent=CONSENT, probe=real)
    with pytest.raises(TargetError, match="/dev/null: no block device"):
        DeviceTarget("/dev/null", consent=CONSENT, probe=real)


def test_the_plan_tells_everything_and_does_nothing(probe):
    probe.disk(queue__discard_max_bytes="4096")
    probe.answers["blkdiscard"] = Answer(0, "")
    probe.answers["hdparm -I"] = Answer(0, HDPARM)
    health = {"percentage_used": 4, "data_units_written": 1_000_000}
    probe.answers["smartctl --json -A"] = Answer(
        0, json.dumps({"nvme_smart_health_information_log": health})
    )
    plan = make_plan(probe.path, Consent(), Work(128 * MIB, 3600.0, 1e6), probe)
    document = json.loads(json.dumps(plan.to_dict()))
    assert document["device"]["serial"] == "SN123"
    assert document["refused"] == ["all its data would be lost: --destructive allows that"]
    assert [way.split()[0] for way in document["purge"]] == ["hdparm", "blkdiscard"]
    assert document["written_bytes"] == 128 * MIB + 3_600_000_000
    # 1 000 000 units of 512 000 bytes were 4 % of the life.
    assert document["endurance_ratio"] == pytest.approx((128 * MIB + 3.6e9) / 12.8e12)
    assert document["seconds"] == pytest.approx(3600 + 128 * MIB / 400e6, abs=0.1)
    text = "\n".join(plan.lines())
    for words in ("SN123", "refused: all its data", "purge, choice 1: hdparm", "at most 0.029 %"):
        assert words in text
    assert probe.acted == []


def test_unknown_endurance_is_said(probe):
    plan = make_plan(probe.path, CONSENT, Work(), probe)
    assert plan.endurance_ratio is None
    assert "share of the rated endurance: unknown" in plan.lines()
    probe.answers["smartctl"] = Answer(0, "no json")
    assert rated_bytes(plan.block, probe) is None


def test_facts_keep_the_serial_number_for_themselves(probe):
    block = read(probe)
    assert (block.model, block.firmware, block.transport) == ("DRIVE 1", "FW01", "sata")
    assert (block.driver, block.scheduler, block.is_rotational) == ("sd", "none", False)
    assert block.serial_sha256 == hashlib.sha256(b"SN123").hexdigest()
    probe.file("sys/class/block/sdx/device/hwmon/hwmon3/temp1_input", "41500")
    assert temperature_c(block, probe) == 41.5


def frozen(probe: FakeProbe) -> None:
    probe.answers["hdparm -I"] = Answer(0, HDPARM.replace("not	frozen", "	frozen"))


def test_ata_erase_only_when_the_drive_is_open(probe):
    block = read(probe)
    assert ata_erase_state(block, probe) == "unknown"
    probe.answers["hdparm -I"] = Answer(0, HDPARM)
    assert ata_erase_state(block, probe) == "ready"
    for word in ("locked", "enabled", "frozen"):
        probe.answers["hdparm -I"] = Answer(0, HDPARM.replace(f"not	{word}", f"	{word}"))
        assert ata_erase_state(block, probe) == word
    probe.answers["hdparm -I"] = Answer(0, HDPARM.replace("\t\tsupported\n", "\tnot\tsupported\n"))
    assert ata_erase_state(block, probe) == "not supported"
    probe.answers["hdparm -I"] = Answer(0, "/dev/sdx:")
    assert ata_erase_state(block, probe) == "not supported"


def nvme(probe: FakeProbe, **controller: int) -> Block:
    probe.name, probe.path = "nvme0n1", "/dev/nvme0n1"
    probe.disk(queue__discard_max_bytes="1")
    probe.answers |= {
        "nvme id-ctrl": Answer(0, json.dumps({"nn": 1, "oacs": 2, "sanicap": 2, **controller})),
        "lsblk": Answer(1, ""),
        "blkdiscard": Answer(0, ""),
    }
    return read(probe)


def named(block: Block, probe: FakeProbe) -> list[str]:
    return [" ".join(way.describe().split()[:2]) for way in ways(block, probe)]


def test_nvme_formats_first_and_only_what_the_controller_offers(probe):
    block = nvme(probe)
    discard = f"blkdiscard {probe.path}"
    assert named(block, probe) == ["nvme format", "nvme sanitize", discard]
    assert named(nvme(probe, oacs=0), probe) == ["nvme sanitize", discard]
    assert named(nvme(probe, oacs=0, sanicap=1), probe) == [discard]
    # A format may reach beyond its namespace.
    several = nvme(probe, nn=16)
    assert named(several, probe) == [discard]
    probe.answers["nvme list-ns"] = Answer(0, '{"nsid_list": [{"nsid": 1}]}')
    assert named(several, probe) == ["nvme format", "nvme sanitize", discard]
    probe.file("sys/class/block/nvme0n2/size", "1")
    assert named(several, probe) == [discard]
    del probe.answers["nvme id-ctrl"], probe.answers["nvme list-ns"]
    assert named(several, probe) == [discard]


def test_sas_drives_are_formatted(probe):
    probe.answers["lsblk"] = Answer(0, json.dumps({"blockdevices": [{"tran": "sas"}]}))
    probe.answers["sg_format"] = Answer(0, "")
    assert named(read(probe), probe) == ["sg_format --format"]


@pytest.mark.parametrize(
    ("asked", "answer", "state"),
    [
        (False, "get-feature:0x06 (Volatile Write Cache), Current value:0x00000000", "disabled"),
        (True, "get-feature:0x6 (Volatile Write Cache), Current value:0x000001", "enabled"),
        (True, "get-feature:0x6 (Volatile Write Cache), Current value:0x000000", "disabled"),
        (True, "NVMe status: INVALID_FIELD", "unknown"),
    ],
)
def test_nvme_cache_is_read_back(probe, asked, answer, state):
    block = nvme(probe, vwc=7)
    probe.answers["nvme get-feature"] = Answer(0, answer)
    assert cache.set_cache(block, probe, enabled=asked) == state
    assert probe.acted == [f"nvme set-feature /dev/nvme0n1 --feature-id=6 --value={int(asked)}"]


def test_nvme_without_a_cache(probe):
    assert cache.set_cache(nvme(probe, vwc=0), probe, enabled=True) == "absent"
    assert probe.acted == []


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (" write-caching =  0 (off)", "disabled"),
        (" write-caching =  1 (on)", "enabled"),
        (" write-caching = not supported", "unknown"),
    ],
)
def test_ata_cache_is_read_back(probe, answer, state):
    probe.answers["hdparm -W"] = Answer(0, f"\n/dev/sdx:\n{answer}\n")
    assert cache.set_cache(read(probe), probe, enabled=False) == state
    assert probe.acted == ["hdparm -W0 /dev/sdx"]


def test_cache_through_the_kernel(probe):
    block = read(probe)
    assert cache.set_cache(block, probe, enabled=False) == "unknown"
    probe.file("sys/class/block/sdx/queue/write_cache", "write back")
    assert cache.set_cache(block, probe, enabled=False) == "enabled"
    place = "sys/class/block/sdx/device/scsi_disk/0:0:0:0/cache_type"
    probe.file(place, "write back")
    assert cache.set_cache(block, probe, enabled=False) == "disabled"
    assert (probe.root / place).read_text() == "write through"
    assert cache.set_cache(block, probe, enabled=True) == "enabled"


@pytest.fixture
def drive(probe, tmp_path):
    """Return what opens a drive that is a regular file of 8 MiB under a false name."""
    image = tmp_path / "sdx"
    image.write_bytes(b"x" * 8 * MIB)
    probe.path = str(image)
    probe.disk(size=str(8 * MIB // 512))

    def start() -> DeviceTarget:
        return DeviceTarget(str(image), consent=CONSENT, probe=probe, folder=tmp_path / "fio")

    return start


@needs_fio
def test_a_drive_is_held_measured_and_let_go(drive, probe):
    target = drive()
    assert probe.held == 1
    found = target.run(Stimulus("random", 0, 4096, 2, 2), Limit(ios=200), seed=1)
    assert found.ios == 200
    assert "temperature_c" not in found.inside
    probe.file("sys/class/block/sdx/device/hwmon/hwmon3/temp1_input", "41500")
    warm = target.run(Stimulus("random", 100), Limit(ios=20), seed=1)
    assert warm.inside["temperature_c"] == 41.5
    facts = target.facts()
    assert facts.device.capacity_bytes == 8 * MIB
    assert "SN123" not in str(facts)
    assert facts.platform["driver"].startswith("sd, fio ")
    assert facts.platform["link"] == "unknown"
    assert all(facts.platform[key] for key in ("board", "bios", "governor", "controller"))
    probe.answers["hdparm -W"] = Answer(0, " write-caching =  0 (off)")
    assert target.set_cache(enabled=False) == "disabled"
    target.close()
    target.close()
    assert probe.held == 0


@needs_fio
def test_purge_takes_the_first_way_that_works(drive, probe):
    probe.answers |= {"hdparm -I": Answer(0, HDPARM), "blkdiscard": Answer(0, "")}
    probe.disk(queue__discard_max_bytes="1", size=str(8 * MIB // 512))
    target = drive()
    done = target.purge()
    assert (done.method, done.is_purge, done.note) == ("ATA security erase", True, "")
    assert [command.split()[3] for command in probe.acted] == [
        "--security-set-pass",
        "--security-erase",
    ]
    assert probe.held == 1
    # An erase that fails takes the password back, and the next way is used.
    probe.acted.clear()
    probe.answers["act hdparm --user-master u --security-erase"] = Answer(5, "", "I/O error")
    done = target.purge()
    assert done.method == "discard of the whole range"
    assert "--security-erase opennandlab" in done.note
    assert "I/O error" in done.note
    assert [command.split()[3:4] or command.split()[0] for command in probe.acted[2:]] == [
        ["--security-disable"],
        "blkdiscard",
    ]
    assert probe.held == 1
    target.close()


@needs_fio
def test_zeros_are_the_last_resort_and_no_purge(drive, probe):
    frozen(probe)
    target = drive()
    done = target.purge()
    assert not done.is_purge
    assert done.method == "zeros over the whole range"
    assert "frozen" in done.note
    assert not any(Path(probe.path).read_bytes())
    assert probe.acted == []
    target.close()


@needs_fio
def test_sanitize_is_waited_for(drive, probe):
    logs = iter([2, 0x102, 0x101])
    probe.answers |= {
        "lsblk": Answer(0, json.dumps({"blockdevices": [{"tran": "nvme"}]})),
        "nvme id-ctrl": Answer(0, json.dumps({"nn": 1, "sanicap": 2})),
        "nvme get-log": lambda *words: (
            Answer(0, hex_dump(page(next(logs)))) if "--log-id=129" in words else Answer(1, "")
        ),
    }

    def page(status: int) -> bytes:
        return struct.pack("<HH", 0, status).ljust(512, b"\0")

    target = drive()
    steps: list[Step] = []
    target.purge_watch = steps.append
    assert target.purge().method == "NVMe sanitize, block erase"
    assert [step.fraction for step in steps] == [0.0, 0.0]
    logs = iter([3])
    with pytest.raises(TargetError, match="its sanitize failed"):
        target.purge()
    assert probe.held == 1
    target.close()


@needs_fio
def test_another_drive_under_the_same_name_is_not_written(drive, probe):
    target = drive()
    probe.disk(device__serial="SN999", size=str(8 * MIB // 512))
    before = Path(probe.path).read_bytes()
    for verb in (
        target.purge,
        lambda: target.run(Stimulus(), Limit(ios=1), seed=1),
        lambda: target.set_cache(enabled=True),
    ):
        with pytest.raises(TargetError, match="no longer the device that was checked"):
            verb()
    probe.path = "gone"
    probe.name = "gone"
    with pytest.raises(TargetError, match="the device is gone"):
        target.place()
    assert (Path(target.path).read_bytes(), probe.acted) == (before, [])
    target.close()
