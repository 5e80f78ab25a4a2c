"""What a request costs a guest here, and with the kernel's own target on a null device inside it.

The kernel's target is reached over the loopback of the guest, this drive through the network that
QEMU emulates. The time of that network alone is measured too: of an echo without a drive. Ratios
are printed and judge nothing: a busy machine is slower.
"""

import contextlib
import re
import socket
import threading
from statistics import median

from guest.bench import Bench, Kit, findings

TURNS = 5
# Size and direction of requests, one at a time, in random order.
LOADS = tuple((size, way) for size in ("4k", "128k") for way in ("randwrite", "randread"))
SCRIPT = r"""
connect
try mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet
mkdir subsystems/peer; echo 1 > subsystems/peer/attr_allow_any_host
mkdir subsystems/peer/namespaces/1; cd subsystems/peer/namespaces/1
echo /dev/nullb0 > device_path; echo 1 > enable
cd /sys/kernel/config/nvmet; mkdir ports/1; cd ports/1
echo tcp > addr_trtype; echo ipv4 > addr_adrfam; echo 127.0.0.1 > addr_traddr
echo 4420 > addr_trsvcid; ln -s ../../subsystems/peer subsystems/peer; cd /tmp
try nvme connect -t tcp -a 127.0.0.1 -s 4420 -n peer
disk /dev/nvme1n1
rate() {
  fio --name=r --filename=/dev/nvme$1n1 --size=128m --direct=1 --ioengine=psync --bs=$2 --rw=$3 \
    --runtime=2 --time_based --output-format=terse --terse-version=3 > out 2>&1
  say "rate: $1 $2 $3 $(grep "^3;" out | cut -d ";" -f 8,49)"
}
bounce() {
  fio --name=e --ioengine=net --protocol=tcp --hostname=$ADDRESS --port=@ECHO@ --pingpong=1 \
    --rw=write --bs=$1 --size=256m --runtime=2 --time_based --output-format=terse \
    --terse-version=3 > out 2>&1
  say "rate: echo $1 way $(grep "^3;" out | cut -d ";" -f 8,49)"
}
for turn in @TURNS@; do for size in 4k 128k; do bounce $size; for way in randwrite randread; do
  rate 0 $size $way; rate 1 $size $way
done; done; done
try nvme disconnect -n peer
try nvme disconnect -n $NQN
"""


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    modules = ("configfs", "nvmet", "nvmet-tcp", "null_blk")
    kit = Kit(programs=("fio",), modules=modules, memory_mb=1024)
    script = SCRIPT.replace("@TURNS@", " ".join(map(str, range(TURNS))))
    with bench.serve("--timing", "off") as server, socket.create_server(("127.0.0.1", 0)) as echo:
        threading.Thread(target=_echo, args=(echo,), daemon=True).start()
        script = script.replace("@ECHO@", str(echo.getsockname()[1]))
        console = bench.boot(script, server, kit)
    found = findings(console)
    for size in ("4k", "128k"):
        echoes = _rates(console, "echo", size, "way")
        if echoes:
            print(f"  an echo of {size} through this network: {1e3 / median(echoes):.2f} ms")
    for size, way in LOADS:
        runs = [_rates(console, disk, size, way) for disk in (0, 1)]
        if any(len(rates) < TURNS for rates in runs):
            found.append(f"{way} of {size}: {list(map(len, runs))} rates, accepted: {TURNS} each")
            continue
        here, there = (median(rates) for rates in runs)
        print(
            f"  {way} of {size}, one at a time, medians of {TURNS}: {1e3 / here:.2f} ms here, "
            f"{1e3 / there:.2f} ms with nvmet, ratio {there / here:.2f}"
        )
    return found


def _echo(listener: socket.socket) -> None:
    """Send back what arrives, until the listener is closed."""
    with contextlib.suppress(OSError):
        while True:
            guest = listener.accept()[0]
            guest.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with guest, contextlib.suppress(OSError):
                while data := guest.recv(1 << 17):
                    guest.sendall(data)


def _rates(console: str, disk: int | str, size: str, way: str) -> list[float]:
    """Return the requests a second of each run."""
    lines = re.findall(rf"^== rate: {disk} {size} {way} (\d+);(\d+)", console, re.MULTILINE)
    return [max(map(float, pair)) for pair in lines if max(map(float, pair)) > 0]
