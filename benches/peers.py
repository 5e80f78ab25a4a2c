"""Other programs beside this one, on one machine, in one go: `python benches/peers.py --help`.

Two peers: MQSim, an event simulator of drives in C++, and bchlib, the BCH codec of the Linux kernel
as a Python package. Both sides get the same device (4 GiB, 8 channels of one die with two planes)
and the same requests. Every pair of runs is made in turn, several times, so that a busy neighbour
troubles both; what is printed are medians and their ratio. A rate is work over processor time *at
the margin*: two runs of different length, the difference of work over the difference of time, so
that start-up, which Python pays and C++ does not, is left out on both sides.

Left out: memory, answers (MQSim has other buses and another collector), and simulators that need a
kernel, a virtual machine or patches. `benches/peers.md` tells how to get the peers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DEVICE = """\
nand:
  cell_type: MLC
  channels: 8
  dies_per_channel: 1
  planes_per_die: 2
  blocks_per_plane: 1024
  pages_per_block: 64
  page_size_bytes: 4096
  max_pe_cycles: 100000
  timing: {t_read_us: 50, t_program_us: 600, t_erase_us: 3500, bus_mt_s: 333}
ftl: {over_provisioning_pct: 0.07, gc_policy: greedy}
"""

# Keys as in the files that MQSim ships; what is not named there keeps the shipped value.
MQSIM_DEVICE = {
    "Enabled_Preconditioning": "false",
    "Caching_Mechanism": "SIMPLE",
    "Ideal_Mapping_Table": "true",
    "Overprovisioning_Ratio": "0.07",
    "GC_Block_Selection_Policy": "GREEDY",
    "Static_Wearleveling_Enabled": "false",
    "Flash_Channel_Count": "8",
    "Channel_Transfer_Rate": "333",
    "Chip_No_Per_Channel": "1",
    "Die_No_Per_Chip": "1",
    "Plane_No_Per_Die": "2",
    "Block_No_Per_Plane": "1024",
    "Page_No_Per_Block": "64",
    "Page_Capacity": "4096",
    "Page_Read_Latency_LSB": "50000",
    "Page_Read_Latency_CSB": "50000",
    "Page_Read_Latency_MSB": "50000",
    "Page_Program_Latency_LSB": "600000",
    "Page_Program_Latency_CSB": "600000",
    "Page_Program_Latency_MSB": "600000",
    "Block_Erase_Latency": "3500000",
}

MQSIM_FLOW = {
    "Priority_Class": "HIGH",
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Channel_IDs": "0,1,2,3,4,5,6,7",
    "Chip_IDs": "0",
    "Die_IDs": "0",
    "Plane_IDs": "0,1",
    "Initial_Occupancy_Percentage": "0",
    "Working_Set_Percentage": "100",
    "Synthetic_Generator_Type": "QUEUE_DEPTH",
    "Percentage_of_Hot_Region": "0",
    "Generated_Aligned_Addresses": "true",
    "Request_Size_Distribution": "FIXED",
    "Variance_Request_Size": "0",
    "Seed": "798",
    "Average_No_of_Reqs_in_Queue": "32",
    "Intensity": "32768",
    "Stop_Time": "0",
}


@dataclass(frozen=True)
class Case:
    """One kind of request, and how many of them make a short and a long run of each side."""

    name: str
    pattern: str
    read_pct: int
    sectors: int
    mqsim: tuple[int, int]
    ours: tuple[int, int]
    fills: int = 0


CASES = [
    Case("4 KiB random writes, fresh, no collection", "random", 0, 8, (50_000, 500_000),
         (50_000, 950_000)),
    Case("4 KiB random writes, in collection", "random", 0, 8, (1_500_000, 2_500_000),
         (2_000_000, 6_000_000), fills=1),
    Case("4 KiB random reads", "random", 100, 8, (50_000, 500_000), (500_000, 8_500_000), fills=1),
    Case("128 KiB sequential writes", "sequential", 0, 256, (2_000, 18_000), (2_000, 102_000)),
]  # fmt: skip


def cpu_seconds(command: list[str], folder: Path, limit_s: float) -> float:
    """Processor time of a child that must succeed, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, cwd=folder, check=True, timeout=limit_s, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def marginal_rate(run: Callable[[int], float], counts: tuple[int, int]) -> float:
    """Work per second of processor time between a short and a long run."""
    short, long = (run(count) for count in counts)
    return (counts[1] - counts[0]) / max(long - short, 1e-9)


def xml(tag: str, values: dict[str, str]) -> str:
    """Write an element whose children are names and values."""
    inner = "".join(f"<{key}>{value}</{key}>" for key, value in values.items())
    return f"<{tag}>{inner}</{tag}>"


def mqsim_device(shipped: str) -> str:
    """Replace values in the device file that MQSim ships.

    Raises:
        SystemExit: A key is not there: another version of MQSim.
    """
    for key, value in MQSIM_DEVICE.items():
        head, opening, rest = shipped.partition(f"<{key}>")
        _, closing, tail = rest.partition(f"</{key}>")
        if not (opening and closing):
            sys.exit(f"error: ssdconfig.xml of this MQSim has no <{key}>")
        shipped = f"{head}{opening}{value}{closing}{tail}"
    return shipped


def mqsim_run(binary: Path, folder: Path, case: Case, limit_s: float) -> Callable[[int], float]:
    """Return what runs so many requests on MQSim and tells its processor time."""
    device = folder / "device.xml"
    device.write_text(mqsim_device((binary.parent / "ssdconfig.xml").read_text()))

    def run(count: int) -> float:
        distribution = "STREAMING" if case.pattern == "sequential" else "RANDOM_UNIFORM"
        flow = MQSIM_FLOW | {
            "Read_Percentage": str(case.read_pct),
            "Address_Distribution": distribution,
            "Address_Alignment_Unit": str(case.sectors),
            "Average_Request_Size": str(case.sectors),
            "Total_Requests_To_Generate": str(count),
        }
        body = f"<IO_Scenario>{xml('IO_Flow_Parameter_Set_Synthetic', flow)}</IO_Scenario>"
        workload = folder / "workload.xml"
        head = '<?xml version="1.0" encoding="us-ascii"?>'
        workload.write_text(f"{head}<MQSim_IO_Scenarios>{body}</MQSim_IO_Scenarios>")
        command = [str(binary), "-i", str(device), "-w", str(workload)]
        return cpu_seconds(command, folder, limit_s)

    return run


def our_run(folder: Path, case: Case, limit_s: float) -> Callable[[int], float]:
    """Return what runs so many requests on this simulator and tells its processor time."""
    device = folder / "device.yaml"
    device.write_text(DEVICE)

    def run(count: int) -> float:
        steps = [{"kind": "sequential_fill", "fills": case.fills}] if case.fills else []
        workload = folder / "workload.yaml"
        # JSON is YAML.
        workload.write_text(json.dumps({
            "pattern": case.pattern, "read_pct": case.read_pct, "queue_depth": 32,
            "block_size_bytes": 512 * case.sectors, "total": {"ios": count}, "precondition": steps,
        }))  # fmt: skip
        command = [sys.executable, "-m", "opennandlab", "benchmark", "--quiet"]
        files = ["--config", str(device), "--workload", str(workload)]
        return cpu_seconds([*command, *files], folder, limit_s)

    return run


def bch_rates(seconds: float) -> tuple[float, float]:
    """Decoded Mb/s of data of bchlib and of this project: BCH (13, 8), 512 bytes, 8 errors."""
    import bchlib

    code = bchlib.BCH(8, m=13)
    data = bytearray(os.urandom(512))
    parity = bytearray(code.encode(data))
    wrong = bytearray(data)
    for bit in range(8):
        wrong[bit * 61 + 7] ^= 1 << bit
    count, start = 0, time.thread_time()
    while (spent := time.thread_time() - start) < seconds:
        for _ in range(100):
            found = code.decode(wrong, parity)
        count += 100
    if found != 8:
        sys.exit(f"error: bchlib found {found} errors of 8")
    command = [sys.executable, "-m", "opennandlab", "ecc", "speed", "--json", "--bit-errors", "8"]
    options = ["--code", "bch:m=13,t=8,data_bits=4096", "--seconds", str(seconds)]
    answer = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
    return count * 4096 / spent / 1e6, float(json.loads(answer.stdout)["information_mbit_s"])


def row(name: str, unit: str, theirs: list[float], ours: list[float]) -> str:
    """Format medians, their ratio, and the worst and best ratio of the pairs."""
    ratios = sorted(b / a for a, b in zip(theirs, ours, strict=True))
    peer, own = statistics.median(theirs), statistics.median(ours)
    spread = f"{ratios[0]:.3g} .. {ratios[-1]:.3g}"
    return f"{name:<44} {peer:>10.4g} {own:>10.4g} {unit:<12} {own / peer:>7.3g}   {spread}"


def main() -> None:
    """Run every pair that is there, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--mqsim", type=Path, default=os.environ.get("MQSIM"),
        help="the MQSim binary, next to its ssdconfig.xml; default: $MQSIM",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each BCH measurement (1)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one run (300)")
    options = parser.parse_args()
    print(f"{'':<44} {'peer':>10} {'ours':>10} {'':<12} {'ratio':>7}   of the pairs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in CASES if options.mqsim else []:
            theirs = mqsim_run(options.mqsim.resolve(), folder, case, options.limit)
            ours = our_run(folder, case, options.limit)
            pairs = [
                (marginal_rate(theirs, case.mqsim), marginal_rate(ours, case.ours))
                for _ in range(options.rounds)
            ]
            print(row(case.name, "requests/s", *map(list, zip(*pairs, strict=True))), flush=True)
    if not options.mqsim:
        print("MQSim: left out; --mqsim PATH, see benches/peers.md")
    try:
        pairs = [bch_rates(options.seconds) for _ in range(options.rounds)]
    except ImportError:
        print("bchlib: left out; pip install 'bchlib>=2.1,<3'")
    else:
        name = "BCH (13, 8), 512 bytes, 8 errors, decoding"
        print(row(name, "Mb/s of data", *map(list, zip(*pairs, strict=True))))


if __name__ == "__main__":
    main()
