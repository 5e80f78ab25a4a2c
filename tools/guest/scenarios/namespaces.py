"""Two namespaces of one drive: sizes, names, contents and discards that stay apart."""

from guest.bench import Bench, findings, logs_agree

SHARES = "25%,75%"
# What is one namespace's never shows in the other; a format of one, where it is announced, too.
SCRIPT = r"""
connect -g -G
disk /dev/nvme0n2
sizes() { cat /sys/class/block/nvme0n1/size /sys/class/block/nvme0n2/size; }
say "sectors $(sizes | tr '\n' ' ')"
quiet nvme list-ns /dev/nvme0 --all
say "listed $(nvme list-ns /dev/nvme0 --all | grep -c '0x[12]$')"
for disk in 1 2; do
  quiet nvme id-ns /dev/nvme0n$disk; quiet nvme ns-descs /dev/nvme0n$disk
  say "uuid $(cat /sys/class/block/nvme0n$disk/uuid)"
  dd if=/dev/urandom of=part$disk bs=1M count=16 2> /dev/null
  try dd if=part$disk of=/dev/nvme0n$disk bs=64k oflag=direct
done
holds() { dd if=/dev/nvme0n$1 bs=1M count=16 iflag=direct of=found 2> /dev/null; cmp found $2; }
dd if=/dev/zero of=zeros bs=1M count=16 2> /dev/null
try holds 1 part1
try holds 2 part2
try blkdiscard -o 0 -l 16777216 /dev/nvme0n1
try holds 1 zeros
try holds 2 part2
oacs=$(nvme id-ctrl /dev/nvme0 | awk '$1 == "oacs" { print $3 }')
if [ $((oacs & 2)) = 2 ]; then
  try dd if=part1 of=/dev/nvme0n1 bs=64k oflag=direct
  try nvme format /dev/nvme0n2 --ses=1 --force
  try holds 1 part1
  try holds 2 zeros
fi
nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
try nvme disconnect -n $NQN
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    with bench.serve("--namespaces", SHARES) as server:
        console = bench.boot(SCRIPT, server)
    found = findings(console) + logs_agree(console, server.document)
    said = dict(
        line[3:].split(" ", 1)
        for line in console.splitlines()
        if line[:3] == "== "
        if " " in line[3:]
    )
    sizes = [int(text) for text in said.get("sectors", "").split()]
    # 4 KiB blocks of 512-byte sectors: each share is rounded down to a unit of the map.
    if len(sizes) != 2 or abs(sizes[1] - 3 * sizes[0]) > 64:
        found.append(f"sectors {sizes}, accepted: one to three")
    if said.get("listed") != "2":
        found.append(f"{said.get('listed')} namespaces listed, accepted: 2")
    names = [line for line in console.splitlines() if line.startswith("== uuid ")]
    if len({*names}) != 2:
        found.append(f"names {names}, accepted: two")
    return found
