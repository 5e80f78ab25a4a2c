"""2 GiB of random writes on a drive that has to collect; what stayed is as it was; discard."""

from guest.bench import Bench, Kit, findings, logs_agree

MIB = 1 << 20
CHURNED = 2048 * MIB
# 256 MiB of flash: what is written goes round eight times.
DRIVE = (
    "--config",
    "tlc_standard",
    "--set",
    "nand.channels=2",
    "--set",
    "nand.blocks_per_plane=32",
)
# First all of it, with sums. Then units of 64 KiB at even places, again and again, so that blocks
# are left half full and collections move what is at odd places; those are read with their sums.
JOBS = f"""[global]
filename=/dev/nvme0n1
ioengine=libaio
direct=1
thread
randseed=11
bs=64k
iodepth=16
verify_fatal=1

[all]
rw=write
verify=crc32c
do_verify=0

[churn]
stonewall
rw=randwrite
blockalign=128k
norandommap
io_size={CHURNED}

[odd]
stonewall
rw=read:64k
offset=64k
verify=crc32c

[even]
stonewall
rw=write:64k
verify=crc32c
"""
SCRIPT = r"""
connect
try fio --output-format=terse --terse-version=3 churn.fio > out
grep -v ^3 out; grep ^3 out | cut -d ";" -f 3,5,6,9,47,50 | sed "s/^/fio: /"
sum() { dd if=/dev/nvme0n1 bs=1M skip=$1 count=$2 iflag=direct 2> /dev/null | sha256sum; }
sum 16 32 > kept
try blkdiscard -o $((48 * 1048576)) -l $((64 * 1048576)) /dev/nvme0n1
sum 16 32 > again
try cmp kept again
dd if=/dev/zero bs=1M count=64 2> /dev/null | sha256sum > zeros
sum 48 64 > discarded
try cmp zeros discarded
nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
try nvme disconnect -n $NQN
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    kit = Kit(programs=("fio",), files={"tmp/churn.fio": JOBS.encode()}, memory_mb=1024)
    with bench.serve(*DRIVE, "--timing", "off") as server:
        console = bench.boot(SCRIPT, server, kit)
    found = findings(console) + logs_agree(console, server.document)
    drive = server.document["drive"]
    if drive["written_bytes"] < CHURNED:
        found.append(f"{drive['written_bytes']} bytes written, accepted: {CHURNED} and more")
    if drive["moved_pages"] == 0:
        found.append("collections moved nothing")
    return found
