"""fio writes blocks of many sizes in random order, in parallel, and verifies their CRC-32C."""

from guest.bench import Bench, Kit, findings, logs_agree

# Each writes all of its part once, and reads it back; together 160 MiB each way.
JOBS = """[global]
filename=/dev/nvme0n1
ioengine=libaio
direct=1
thread
iodepth=16
verify=crc32c
verify_fatal=1
size=80m
randseed=7

[mixed]
rw=randwrite
bsrange=4k-128k
bs_unaligned=0
blockalign=4k

[large]
offset=96m
rw=write
bs=128k
fsync=64
"""
SCRIPT = r"""
connect
try fio --output-format=terse --terse-version=3 verify.fio > out
grep -v ^3 out; grep ^3 out | cut -d ";" -f 3,5,6,47 | sed "s/^/fio: /"
nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
try nvme disconnect -n $NQN
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    kit = Kit(programs=("fio",), files={"tmp/verify.fio": JOBS.encode()}, memory_mb=1024)
    with bench.serve() as server:
        console = bench.boot(SCRIPT, server, kit)
    found = findings(console) + logs_agree(console, server.document)
    written = server.document["drive"]["written_bytes"]
    if written < 160 << 20:
        found.append(f"fio wrote {written} bytes, accepted: 160 MiB")
    return found
