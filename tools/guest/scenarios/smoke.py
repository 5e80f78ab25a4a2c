"""Discovery, identification, logs, ext4, a reset, single commands, with digests."""

import re

from guest.bench import Bench, Kit, findings, logs_agree

SCRIPT = r"""
try nvme discover -t tcp -a $ADDRESS -s $PORT
connect -g -G
for ask in "id-ctrl /dev/nvme0" "id-ns /dev/nvme0n1" "list-ns /dev/nvme0 --all" \
  "ns-descs /dev/nvme0n1" "smart-log /dev/nvme0" "error-log /dev/nvme0" "fw-log /dev/nvme0" \
  "endurance-log -g 1 /dev/nvme0" "ocp smart-add-log /dev/nvme0" "get-feature -f 7 /dev/nvme0" \
  "supported-log-pages /dev/nvme0" "fid-support-effects-log /dev/nvme0"; do
  quiet nvme $ask
done
dd if=/dev/zero of=monitor bs=4096 count=1 2> /dev/null
printf '\014\000\000\001\003\023\377\017\012\000\000\000\001' |
  dd of=monitor conv=notrunc 2> /dev/null
try nvme set-feature /dev/nvme0 -f 0xc5 -l 4096 -d monitor
nvme ocp latency-monitor-log /dev/nvme0 | grep "Active Threshold"
try mkfs.ext4 -q /dev/nvme0n1
try mount -t ext4 /dev/nvme0n1 /mnt
dd if=/dev/urandom of=/mnt/one bs=64k count=400 2> /dev/null; cp /mnt/one /mnt/two
sha256sum < /mnt/one > sum; umount /mnt; echo 3 > /proc/sys/vm/drop_caches
try nvme reset /dev/nvme0
sleep 1
mount -t ext4 /dev/nvme0n1 /mnt
sha256sum < /mnt/one > one; sha256sum < /mnt/two > two
try cmp sum one
try cmp sum two
rm /mnt/one
try fstrim /mnt
umount /mnt
try blkdiscard -o 16777216 -l 4194304 /dev/nvme0n1
dd if=/dev/urandom of=page bs=4096 count=4 2> /dev/null
try nvme write /dev/nvme0n1 -s 100 -c 3 -z 16384 -d page
try nvme compare /dev/nvme0n1 -s 100 -c 3 -z 16384 -d page
try nvme verify /dev/nvme0n1 -s 100 -c 3
try nvme flush /dev/nvme0n1
nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
try nvme disconnect -n $NQN
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    with bench.serve() as server:
        console = bench.boot(SCRIPT, server, Kit(programs=("mkfs.ext4",)))
    found = findings(console) + logs_agree(console, server.document)
    # As nvme-cli prints what log C3h shows of the settings.
    thresholds = [int(ms) for ms in re.findall(r"Active Threshold [A-D] +(\d+) ms", console)]
    if thresholds != [5, 10, 20, 100]:
        found.append(f"thresholds {thresholds}, set were 5, 10, 20 and 100 ms")
    return found
