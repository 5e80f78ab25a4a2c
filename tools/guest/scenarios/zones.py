"""Zones: a drive with zones under the block layer, nvme-cli, blkzone and zonefs.

zonefs has a file for each zone, and a file that is truncated is a zone that is reset. Its first
block is made here, since no package of the guest has the program for it. Direct writes to its files
that wait for their end, with O_SYNC or not, are left out: Linux 6.1.187 sends them as appends, and
ends them with "Corrupted write pointer" and the sector that is right: 49152 for the first block of
an empty zone at 49152, 49160 for the block behind it. Its zonefs advances its own pointer before
it sends an append ("zonefs: Improve error handling", of 2024), and still compares with it after.
"""

import re
import struct
import zlib

from guest.bench import Bench, Kit, findings, logs_agree, shown

DEVICE = """
nand: {channels: 2, dies_per_channel: 2, planes_per_die: 1, blocks_per_plane: 40,
       pages_per_block: 256}
ftl:
  over_provisioning_pct: 0.1
  mapping: {kind: zoned, zone_bytes: 4MiB, zone_capacity_bytes: 3MiB, open_zones_max: 4,
            active_zones_max: 6,
            zrwa: {areas: 2, size_bytes: 64KiB, flush_granularity_bytes: 16KiB}}
"""
# Of 512 bytes: a zone, and what can be written of it.
ZONE, CAPACITY = 8192, 6144
# Of the emulated board, on a busy machine.
EXPECTED = "MP-BIOS bug"
SCRIPT = r"""
connect
queue() { say "queue $1: $(cat /sys/block/nvme0n1/queue/$1)"; }
for name in zoned nr_zones chunk_sectors max_open_zones max_active_zones zone_append_max_bytes
do queue $name; done
for asked in "id-ns /dev/nvme0n1" "id-ctrl /dev/nvme0" "report-zones /dev/nvme0n1 -d 4" \
  "changed-zone-list /dev/nvme0n1"; do quiet nvme zns $asked; done
dd if=/dev/urandom of=data bs=64k count=48 2> /dev/null
try dd if=data of=/dev/nvme0n1 bs=64k count=48 oflag=direct conv=notrunc
try dd if=/dev/nvme0n1 of=found bs=64k count=48 iflag=direct
try cmp data found
try blkzone open -o ZONE -l ZONE /dev/nvme0n1
try blkzone close -o ZONE -l ZONE /dev/nvme0n1
try blkzone finish -o ZONE -l ZONE /dev/nvme0n1
dd if=data of=page bs=4k count=2 2> /dev/null; dd if=data of=third bs=4k count=3 2> /dev/null
try nvme zns zone-append /dev/nvme0n1 -s 2048 -z 8192 -d page
say "report"; blkzone report -c 4 /dev/nvme0n1
try blkzone reset /dev/nvme0n1
say "after reset"; blkzone report -c 4 /dev/nvme0n1
try dd if=/super of=/dev/nvme0n1 bs=4k count=1 oflag=direct conv=notrunc
try blkzone finish -o 0 -l ZONE /dev/nvme0n1
try mount -t zonefs /dev/nvme0n1 /mnt
try test $(ls /mnt/seq | wc -l) = $(($(cat /sys/block/nvme0n1/queue/nr_zones) - 1))
umount /mnt
for zone in 1 3; do
  try dd if=data of=/dev/nvme0n1 bs=64k count=48 seek=$((zone * 64)) oflag=direct conv=notrunc
done
for zone in 1 3; do try nvme zns zone-append /dev/nvme0n1 -s 2048 -z 12288 -d third; done
try mount -t zonefs /dev/nvme0n1 /mnt
try cmp data /mnt/seq/0
try cmp data /mnt/seq/2
try test $(stat -c %s /mnt/seq/1) = 24576
try truncate -s 0 /mnt/seq/2
try test $(stat -c %s /mnt/seq/2) = 0
umount /mnt
say "last"; blkzone report -c 4 /dev/nvme0n1
dd if=data of=area bs=4k count=16 2> /dev/null
try nvme zns open-zone /dev/nvme0n1 -s 4096 -r
for again in 1 2 3 4 5; do try nvme write /dev/nvme0n1 -s 4096 -c 15 -z 65536 -d area; done
try nvme read /dev/nvme0n1 -s 4096 -c 15 -z 65536 -d read
try cmp area read
try nvme zns zrwa-flush-zone /dev/nvme0n1 -l 4111
say "areas"; nvme zns id-ns /dev/nvme0n1; nvme zns report-zones /dev/nvme0n1 -s 4096 -d 1
try nvme read /dev/nvme0n1 -s 4096 -c 15 -z 65536 -d read
try cmp area read
nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
try nvme disconnect -n $NQN
dmesg | grep -iE "zone" | sed "s/^/kernel: /"
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    device = bench.folder / "zoned.yaml"
    device.write_text(DEVICE)
    kit = Kit(programs=("blkzone",), modules=("zonefs",), files={"super": _super()})
    with bench.serve("--config", str(device)) as server:
        console = bench.boot(SCRIPT.replace("ZONE", str(ZONE)), server, kit)
    zones = server.document["drive"]["zones"]
    found = findings(console, EXPECTED) + logs_agree(console, server.document)
    expected = {
        "zoned": "host-managed", "nr_zones": str(zones["count"]), "chunk_sectors": str(ZONE),
        "max_open_zones": "4", "max_active_zones": "6", "zone_append_max_bytes": "131072",
    }  # fmt: skip
    found += [
        f"queue {name}: {shown(console, f'== queue {name}')}, not {value}"
        for name, value in expected.items()
        if shown(console, f"== queue {name}") != value
    ]
    # Of four zones: how much is written, and the number of the state; a mount closes open ones.
    reports: dict[str, list[tuple[int | None, int]]] = {
        "report": [(CAPACITY, 14), (None, 14), (16, 2), (0, 1)],
        "after reset": [(0, 1)] * 4,
        "last": [(None, 14), (CAPACITY, 14), (48, 4), (0, 1)],
    }
    for title, rows in reports.items():
        found += _differs(console, title, rows)
    if zones["refused"]:
        found.append(f"refused: {zones['refused']}")
    if zones["commands"]["append"] != {"Successful Completion": 3}:
        found.append(f"appends: {zones['commands']}")
    # Five writes of an area are one of the flash; a report has attribute 8.
    if zones["zrwa"]["overwritten_bytes"] != 4 * 65536 or zones["zrwa"]["held_bytes"]:
        found.append(f"areas: {zones['zrwa']}")
    areas = console.partition("== areas\n")[2].partition("\n==")[0]
    expected = {"numzrwa": "0x1", "zrwafg": "4", "zrwasz": "16", "zrwacap": "1"}
    found += [
        f"{name}: {shown(areas, name)}, not {value}"
        for name, value in expected.items()
        if shown(areas, name) != value
    ]
    if not re.search(r"WP: 0x1010 .*Attrs: 0x8 ", areas):
        found.append(f"report: {areas}")
    return found


def _super() -> bytes:
    """Return the first block of zonefs: magic, checksum, label, UUID, no features."""
    block = bytearray(4096)
    struct.pack_into("<I64s16s", block, 0, 0x5A4F4653, b"", bytes(range(16)))
    block[4:8] = struct.pack("<I", zlib.crc32(block) ^ 0xFFFFFFFF)
    return bytes(block)


def _differs(console: str, title: str, rows: list[tuple[int | None, int]]) -> list[str]:
    """Compare a report of blkzone; a pointer of `None` is not looked at."""
    text = console.partition(f"== {title}\n")[2].partition("\n==")[0]
    row = (
        r"start: 0x(\w+), len 0x(\w+), cap 0x(\w+), wptr 0x(\w+) reset:0 non-seq:0, zcond:\s*(\d+)"
    )
    found = [(*(int(number, 16) for number in it[:4]), int(it[4])) for it in re.findall(row, text)]
    if len(found) != len(rows):
        return [f"{title}: {text}"]
    return [
        f"{title}: {it}, not {wanted}"
        for place, (it, wanted) in enumerate(zip(found, rows, strict=True))
        if (it[0], it[1], it[2], it[4]) != (place * ZONE, ZONE, CAPACITY, wanted[1])
        or (wanted[1] != 14 and it[3] != wanted[0])
    ]
