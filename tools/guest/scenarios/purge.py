"""Format and sanitize: the flash is erased, nothing is left, and the logs say so."""

import re

from guest.bench import Bench, findings

# What each purge leaves: zeros, nothing mapped, more erases.
SCRIPT = r"""
connect
field() { nvme $2 | awk -v name=$1 '$1 == name { print $3 }'; }
oacs=$(field oacs "id-ctrl /dev/nvme0"); sanicap=$(field sanicap "id-ctrl /dev/nvme0")
[ $((oacs & 2)) = 2 ] || skip "the drive announces no format (OACS $oacs)"
dd if=/dev/urandom of=page bs=1M count=16 2> /dev/null
dd if=/dev/zero of=zeros bs=1M count=16 2> /dev/null
fill() { dd if=page of=/dev/nvme0n1 bs=64k oflag=direct 2> /dev/null; holds page; }
holds() { dd if=/dev/nvme0n1 bs=1M count=16 iflag=direct of=found 2> /dev/null; cmp found $1; }
mapped() { field nuse "id-ns /dev/nvme0n1"; }
erases() { nvme ocp smart-add-log /dev/nvme0 | grep -i "erase count" | tr '\n' ' '; }
try fill
say "mapped $(mapped)"; say "erases $(erases)"
for way in 1 2; do
  try nvme format /dev/nvme0n1 --ses=$way --force
  disk /dev/nvme0n1
  try holds zeros
  say "mapped $(mapped)"; say "erases $(erases)"
  try fill
done
[ $((sanicap & 2)) = 2 ] || skip "the drive announces no sanitize (SANICAP $sanicap)"
sanitize() {
  try nvme sanitize /dev/nvme0 --sanact=$1
  for _ in $(seq 100); do
    nvme get-log /dev/nvme0 --log-id=129 --log-len=512 -b > log
    state=$(hexdump -s 2 -n 2 -e '1/2 "%d"' log)
    [ $((state & 7)) = 2 ] || break
    sleep 0.5
  done
  say "state $((state & 7))"
  try test $((state & 7)) = 1
  try holds zeros
  say "mapped $(mapped)"; say "erases $(erases)"
  try fill
}
sanitize 2
[ $((sanicap & 1)) = 1 ] && sanitize 4
nvme smart-log /dev/nvme0 -o json
try nvme disconnect -n $NQN
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    with bench.serve() as server:
        console = bench.boot(SCRIPT, server)
    found = findings(console)
    mapped = [int(text, 0) for text in re.findall(r"^== mapped (\S+)", console, re.MULTILINE)]
    if not mapped or mapped[0] == 0 or any(mapped[1:]):
        found.append(f"blocks in use {mapped}, accepted: some, then 0 behind each purge")
    erases = re.findall(r"^== erases .*Max.*?(\d+).*Min.*?(\d+)", console, re.MULTILINE)
    # Behind the first fill, an erase, a new key, a block erase, a crypto erase.
    expected = [("0", "0"), ("1", "1"), ("1", "1"), ("2", "2"), ("2", "2")]
    if erases != expected:
        found.append(f"greatest and least number of erases {erases}, accepted: {expected}")
    return found
