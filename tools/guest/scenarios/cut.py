"""Power cuts: the host reconnects by itself, sends again, and keeps what it has synced.

Three cuts: an idle host with synced files; writes past the cache of the kernel, with the drive off
for some seconds; and a host that dies in the middle of a load with the drive. A host that lives on
never learns that writes are gone which were answered and not flushed, so its file system is synced
at the first cut, and has no load at the second. (`sync` ends with writes in place that it does not
flush, since the journal has them; the drive is flushed behind it.)
"""

import re
import time
from pathlib import Path

from guest.bench import Bench, Kit, Server, documents, findings
from opennandlab.serving.power import ask

KIT = Kit(programs=("mkfs.ext4", "e2fsck"))
# The write buffer is volatile; a drive that is cut needs blocks in reserve.
OPTIONS = (
    "--set", "ftl.gc_reserve_blocks=32", "--set", "ftl.write_buffer_pages=64",
    "--set", "ftl.write_frontiers=host_gc",
)  # fmt: skip
OFF_S = 6.0
# Blocks of 64 KiB of the direct writes, at 256 MiB, behind the file system.
DIRECT = 400
# Of the driver, whose part is looked at; of the emulated board, on a busy machine.
EXPECTED = "nvme nvme0: |MP-BIOS bug"
LIVES = r"""
connect -c 2
try grep "write back" /sys/block/nvme0n1/queue/write_cache
now() { cut -d" " -f1 /proc/uptime; }
live() { for _ in $(seq 300); do grep -q live /sys/class/nvme/nvme0/state && break; sleep 0.1; done
  say "$1 $(cat /sys/class/nvme/nvme0/state) $(now)"; }
try mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/nvme0n1 128M
try mount -t ext4 /dev/nvme0n1 /mnt
for name in 1 2 3 4; do
  dd if=/dev/urandom of=/mnt/$name bs=64k count=32 conv=fsync 2> /dev/null
done
(cd /mnt; sha256sum 1 2 3 4) > sums
sync; quiet nvme flush /dev/nvme0n1
say synced; hear
sleep 1; live first
echo 3 > /proc/sys/vm/drop_caches
try sh -c 'cd /mnt; sha256sum -c "$OLDPWD/sums"'
umount /mnt
try e2fsck -fn /dev/nvme0n1
dd if=/dev/urandom of=page bs=64k count=1 2> /dev/null
writes() { for block in $(seq 4096 $((4095 + DIRECT))); do
  dd if=page of=/dev/nvme0n1 bs=64k count=1 seek=$block oflag=direct conv=notrunc 2> /dev/null ||
    { echo "write $block failed"; return 1; }
  echo $block > reached
done; }
began=$(now); writes & writer=$!
while [ ! -e reached ]; do sleep 0.01; done
say writing; hear
wait $writer; try test $? = 0
live second; say "wrote $began $(now)"
wrong=0; last=$(cat reached)
for block in $(seq $((last - 19)) $last); do
  dd if=/dev/nvme0n1 of=found bs=64k count=1 skip=$block iflag=direct 2> /dev/null
  cmp -s page found || wrong=$((wrong + 1))
done
try test $wrong = 0
nvme smart-log /dev/nvme0 -o json
dmesg | grep -iE "nvme|i/o error" | sed "s/^/kernel: /"
try mount -t ext4 /dev/nvme0n1 /mnt
(cd /mnt; number=0; while :; do
  number=$((number + 1)); count=$((1 + number % 20))
  dd if=/dev/urandom of=new$number bs=4k count=$count conv=fsync 2> /dev/null || break
  sync . ; echo "kept $(sha256sum new$number)"
done) &
sleep 30
"""
DIED = r"""
connect
try e2fsck -p /dev/nvme0n1
try e2fsck -fn /dev/nvme0n1
try mount -t ext4 /dev/nvme0n1 /mnt
try sh -c "cd /mnt; sha256sum -c /sums | grep -vc OK | grep -x 0"
say "files $(ls /mnt | wc -l)"
umount /mnt
nvme smart-log /dev/nvme0 -o json
try nvme disconnect -n $NQN
connect
nvme smart-log /dev/nvme0 -o json
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    power = bench.folder / "power"
    with bench.serve(*OPTIONS, "--power-socket", str(power)) as server:
        console, sums = _lives(bench, server, power)
        (bench.folder / "lives.log").write_text(console)
        kit = Kit(programs=KIT.programs, files={"sums": "".join(sums).encode()})
        after = bench.boot(DIED, server, kit)
    found = findings(console + "== end", EXPECTED)
    found += [f"no file was synced before the host died: {console[-300:]}"] if not sums else []
    found += findings(after, EXPECTED) + _reconnected(console)
    counts = [int(log["unsafe_shutdowns"]) for log in documents(console + after)
              if "unsafe_shutdowns" in log]  # fmt: skip
    if counts != [2, 3, 3]:
        found.append(f"unsafe shutdowns {counts}, not 2, 3 and 3")
    if server.document["power"]["unsafe_shutdowns"] != 3 or not server.document["passed"]:
        found.append(f"the server: {server.document['power']}, {server.document['checks']}")
    return found


def _lives(bench: Bench, server: Server, power: Path) -> tuple[str, list[str]]:
    """Cut under a host that lives on, and then with it; its console, and the files it synced."""
    with bench.guest(LIVES.replace("DIRECT", str(DIRECT)), server, KIT) as guest:
        guest.wait_for("== synced", bench.left_s)
        ask(power, "cut")
        guest.say("cut")
        guest.wait_for("== writing", bench.left_s)
        ask(power, "off")
        time.sleep(OFF_S)
        ask(power, "on")
        guest.say("cut")
        guest.wait_for("kept ", bench.left_s)
        time.sleep(4)
        ask(power, "off")
        guest.kill()
        ask(power, "on")
        # A line that was cut off is none.
        kept = re.findall(r"^kept (\w{64}  new\d+\n)", guest.console, re.MULTILINE)
        return guest.console, kept


def _reconnected(console: str) -> list[str]:
    """Look at what the host says of its connection, by itself and to its user."""
    found = [
        f"after the {name} cut the controller is not live"
        for name in ("first", "second")
        if not re.search(rf"^== {name} live ", console, re.MULTILINE)
    ]
    said = len(re.findall(r"^kernel: .*Successfully reconnected", console, re.MULTILINE))
    wrote = re.search(r"^== wrote (\S+) (\S+)", console, re.MULTILINE)
    if wrote is None or float(wrote[2]) - float(wrote[1]) < OFF_S:
        found.append(f"no write waited until the power was back: {wrote}")
    return found + ([] if said == 2 else [f"the kernel says {said} times that it reconnected"])
