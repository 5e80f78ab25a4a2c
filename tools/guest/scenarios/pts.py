"""`opennandlab pts` in the guest: a whole standard test, whose bytes are those of the simulator.

The same test of the same drive runs in virtual time on this machine. What has no time in it has to
be the same: the bytes of preconditioning, and the write amplification of each cell of the first
round, which log C0h of the served drive gives; the drive does not collect so early. Latencies are
those of an emulated host: they are printed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from guest import parts, python
from guest.bench import Bench, findings, logs_agree, sent

# 256 MiB of flash, and a buffer that the test has to switch off.
SIZES = (
    "--set", "nand.channels=2", "--set", "nand.blocks_per_plane=32",
    "--set", "ftl.write_buffer_pages=64",
)  # fmt: skip
TEST = ("pts", "latency", "--time-base", "smoke", "--quiet", "--output")
SCRIPT = rf"""{python.PRELUDE}
connect
nvme id-ctrl /dev/nvme0 | grep -E "^(oacs|vwc|sanicap) " | tr "\n" " "
try onl {" ".join(TEST)} run --target /dev/nvme0n1 --destructive --i-know nvme0n1
send run/latency.json
nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
try nvme disconnect -n $NQN
"""
# The drive writes some blocks of its own account to see whether it can be written.
APART_BYTES = 1 << 20


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    kit = python.kit()
    with bench.serve("--config", "tlc_standard", *SIZES, "--lba", "512") as server:
        console = bench.boot(SCRIPT, server, kit)
    found = findings(console) + logs_agree(console, server.document)
    document = sent(console, "latency.json")
    if document is None:
        return [*found, "there is no document of the test"]
    (bench.folder / "device.json").write_bytes(document)
    simulated = bench.folder / "simulated"
    command = (sys.executable, "-m", "opennandlab", *TEST, simulated, "--target")
    parts.run(*command, "sim:tlc_standard", *SIZES, limit_s=bench.left_s)
    found += compared(
        json.loads(document),
        json.loads((simulated / "latency.json").read_text()),
        server.document["drive"],
        formats="oacs      : 0 " not in console,
    )
    return found


def cells(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the cells of the first round, by their label."""
    columns = document["cells"]["columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in document["cells"]["rows"]]
    return {row["label"]: row for row in rows if row["phase"] == "round" and row["round"] == 1}


def compared(
    device: dict[str, Any], simulated: dict[str, Any], drive: dict[str, Any], *, formats: bool
) -> list[str]:
    """Return where a test of the served drive is not that of the simulated one."""
    found = []
    header, expected = device["header"], simulated["header"]
    if header["cache"] != {"asked": "disabled", "state": "disabled"}:
        found.append(f"write cache: {header['cache']}")
    if formats and not header["purge"]["method"].startswith("NVMe format"):
        found.append(f"purge: {header['purge']}, accepted: by format, which the drive announces")
    if header["wipc"]["bytes"] != expected["wipc"]["bytes"]:
        found.append(f"preconditioning: {header['wipc']}, simulated {expected['wipc']}")
    own, other = cells(device), cells(simulated)
    if {*own} != {*other}:
        found.append(f"cells: {sorted(own)}, simulated {sorted(other)}")
    for label, cell in own.items():
        if cell["waf"] != other[label]["waf"]:
            found.append(f"{label}: WAF {cell['waf']}, simulated {other[label]['waf']}")
        latencies = f"{cell['lat_us_mean']:.0f} us, simulated {other[label]['lat_us_mean']:.0f} us"
        print(f"nvme guest: pts: {label}: WAF {cell['waf']}, {latencies}")
    written = device["phases"][-1]["written_bytes"]
    if not 0 <= drive["written_bytes"] - written <= APART_BYTES:
        found.append(f"{written} bytes written by the test, {drive['written_bytes']} by the drive")
    return found
