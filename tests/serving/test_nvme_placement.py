"""A drive that places data, over NVMe from the command line: its logs are those of a simulation."""

from __future__ import annotations

import json
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
import test_nvme
from test_nvme import BLOCK, begin, connected, ending, ranged
from test_serve import LIMIT_S, noise

if TYPE_CHECKING:
    from pathlib import Path

PLACING = """
nand: {channels: 1, dies_per_channel: 1, planes_per_die: 1, blocks_per_plane: 32,
       pages_per_block: 32}
ftl: {over_provisioning_pct: 0.4, placement: {kind: fdp, handles: 2, isolation: persistently}}
"""
WORKLOAD = {
    "name": "halves",
    "timed": False,
    "block_size_bytes": BLOCK,
    "pattern": {"kind": "sequential"},
    "placement": {"by": "range", "ranges": [{"bytes": 256 * BLOCK, "id": 1}, {"id": 0}]},
    "total": {"drive_writes": 2},
}


def test_logs_are_those_of_a_simulation(
    tmp_path: Path, command: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same writes with the same ids: bytes of host and flash, erases, and each handle."""
    monkeypatch.setattr(test_nvme, "DEVICE", PLACING)
    (tmp_path / "device.yaml").write_text(PLACING)
    (tmp_path / "halves.yaml").write_text(json.dumps(WORKLOAD))
    words = ["benchmark", "-w", "halves.yaml", "-c", "device.yaml", "-o", "ran.json", "--quiet"]
    subprocess.run([str(command), *words], cwd=tmp_path, check=True, timeout=LIMIT_S)
    fdp = json.loads((tmp_path / "ran.json").read_text())["metrics"]["fdp"]
    server, lines = begin(tmp_path, command, "--nvme", "127.0.0.1:0", "--timing", "off")
    with ending(server, tmp_path) as document, connected(lines[0]) as (admin, queue):
        identify = struct.pack("<BBHI32xI20x", 6, 0x40, 2, 1, 0)
        blocks = struct.unpack_from("<Q", admin.ask(identify, wanted=4096)[2])[0]
        for place in range(2 * blocks):
            block = place % blocks
            write = bytearray(ranged(1, block))
            struct.pack_into("<IHH", write, 48, 2 << 20, 0, int(block < 256))
            assert queue.ask(bytes(write), noise(BLOCK, block))[1] == 0
        log = struct.pack("<BBHI32xII16x", 2, 0x40, 2, 0, 0x22 | 15 << 16, 1 << 16)
        log = admin.ask(log, wanted=64)[2]
    assert document["drive"]["fdp"] == fdp
    host, _, media, _, erased, _ = struct.unpack("<6Q16x", log)
    names = ("host_bytes_with_metadata_written", "media_bytes_with_metadata_written",
             "media_bytes_erased")  # fmt: skip
    assert [host, media, erased] == [fdp[name] for name in names]
    assert min(host, media, erased) > 0
