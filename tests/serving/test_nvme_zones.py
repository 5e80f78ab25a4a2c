"""A drive with zones over NVMe, from the command line: as in a simulation, images, refusals.

The controller has its tests in `crates/nvme/tests`, next to a model of zones.
"""

from __future__ import annotations

import json
import struct
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import test_nvme
from test_nvme import BLOCK, Host, begin, connected, ending, ranged
from test_serve import LIMIT_S, noise

if TYPE_CHECKING:
    from pathlib import Path

ZONED = """
nand: {channels: 2, dies_per_channel: 1, planes_per_die: 1, blocks_per_plane: 40,
       pages_per_block: 128}
ftl:
  over_provisioning_pct: 0.05
  mapping: {kind: zoned, zone_bytes: 4MiB, zone_capacity_bytes: 3MiB, open_zones_max: 2,
            active_zones_max: 4}
"""
ZONE, CAPACITY = 1024, 768
ACTIONS = {
    "name": "actions",
    "timed": False,
    "total": {"ios": 23},
    "pattern": {
        "kind": "zone_actions",
        "steps": [
            {"do": "open", "zones": 2},
            {"do": "append", "zone": 2},
            {"do": "close", "zone": 1},
            {"do": "append", "zone": 2, "count": 5},
            {"do": "write", "zone": 0, "count": 3},
            {"do": "write", "zone": 0, "at": 7},
            {"do": "read", "zone": 0, "at": 1},
            {"do": "finish", "zone": 2},
            {"do": "append", "zone": 2},
            {"do": "offline", "zone": 0},
            {"do": "close_all"},
            {"do": "open", "zone": 3},
            {"do": "append", "zone": 3},
            {"do": "reset", "zone": 1},
            {"do": "finish_all"},
            {"do": "reset", "zone": 3},
        ],
    },
}
NUMBERS = {
    "close": 1, "finish": 2, "open": 3, "reset": 4, "offline": 5, "open_zrwa": 3 | 2 << 8,
    "flush_zrwa": 0x11,
}  # fmt: skip
MANY = {"areas": 5, "size_bytes": 65536, "flush_granularity_bytes": 16384}
AREAS = "zrwa: {areas: 1, size_bytes: 64KiB, flush_granularity_bytes: 16KiB}"
TIMES = 5
OVERWRITES = {
    "name": "overwrites",
    "timed": False,
    "total": {"ios": 16 * TIMES + 9},
    "pattern": {
        "kind": "zone_actions",
        "steps": [
            {"do": "open_zrwa"},
            {"do": "open_zrwa", "zone": 1},
            *({"do": "write", "count": 16, "at": 0} for _ in range(TIMES)),
            {"do": "flush_zrwa", "at": 13},
            {"do": "flush_zrwa"},
            {"do": "append"},
            {"do": "write", "at": 14},
            {"do": "write", "at": 20, "count": 2},
            {"do": "close"},
        ],
    },
}


@pytest.fixture(autouse=True)
def zoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers have zones."""
    monkeypatch.setattr(test_nvme, "DEVICE", ZONED)


def managed(zone: int, action: int, *, is_all: bool = False, place: int = 0) -> bytes:
    """Return the entry of a management command."""
    first = zone * ZONE + place
    return struct.pack("<BBHI32xQII8x", 0x79, 0x40, 2, 1, first, 0, action | is_all << 8)


def carried_out(queue: Host, steps: list[dict[str, Any]]) -> None:
    """Send what a list of actions asks for, as the workload does."""
    sent: dict[int, int] = {}
    for step in steps:
        do, first, count = step["do"], step.get("zone", 0), step.get("count", 1)
        if do.endswith("_all"):
            queue.ask(managed(0, NUMBERS[do.removesuffix("_all")], is_all=True))
            continue
        for zone in range(first, first + step.get("zones", 1)):
            for request in range(count):
                place = step.get("at", sent.get(zone, 0)) + (request if "at" in step else 0)
                if do == "flush_zrwa":
                    place = step.get("at", sent.get(zone, 1) - 1)
                    queue.ask(managed(zone, NUMBERS[do], place=place))
                elif do in NUMBERS:
                    queue.ask(managed(zone, NUMBERS[do]))
                elif do == "read":
                    queue.ask(ranged(2, zone * ZONE + place), wanted=BLOCK)
                elif do == "append":
                    queue.ask(ranged(0x7D, zone * ZONE), noise(BLOCK, zone))
                    sent[zone] = sent.get(zone, 0) + 1
                else:
                    queue.ask(ranged(1, zone * ZONE + place), noise(BLOCK, zone))
                    sent[zone] = place + 1


@pytest.mark.parametrize("timing", ["off", "scaled:0.1"])
def test_zones_are_those_of_a_simulation(timing: str, tmp_path: Path, command: Path) -> None:
    """The same commands leave the same states, pointers and counts, to the last number."""
    (tmp_path / "device.yaml").write_text(ZONED)
    (tmp_path / "actions.yaml").write_text(json.dumps(ACTIONS))
    words = ["benchmark", "-w", "actions.yaml", "-c", "device.yaml", "-o", "ran.json", "--quiet"]
    subprocess.run([str(command), *words], cwd=tmp_path, check=True, timeout=LIMIT_S)
    ran = json.loads((tmp_path / "ran.json").read_text())["metrics"]
    server, lines = begin(tmp_path, command, "--nvme", "127.0.0.1:0", "--timing", timing)
    with ending(server, tmp_path) as document, connected(lines[0]) as (_, queue):
        carried_out(queue, ACTIONS["pattern"]["steps"])
    drive = document["drive"]
    assert drive["zones"] == ran["zones"]
    assert drive["zones"]["refused"]
    assert drive["written_bytes"] == ran["host_bytes_written"]
    assert drive["programmed_bytes"] == ran["nand_bytes_written"]
    assert document["requests"]["append"] == 8
    assert document["checks"]["media_errors"] == 0


@pytest.mark.parametrize("timing", ["off", "scaled:0.1"])
def test_overwrites_of_an_area_cost_no_flash(
    timing: str, tmp_path: Path, command: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a simulation: of N writes of each page of an area the flash takes one."""
    monkeypatch.setattr(test_nvme, "DEVICE", ZONED.replace("zone_bytes", f"{AREAS}, zone_bytes", 1))
    (tmp_path / "device.yaml").write_text(test_nvme.DEVICE)
    (tmp_path / "actions.yaml").write_text(json.dumps(OVERWRITES))
    words = ["benchmark", "-w", "actions.yaml", "-c", "device.yaml", "-o", "ran.json", "--quiet"]
    subprocess.run([str(command), *words], cwd=tmp_path, check=True, timeout=LIMIT_S)
    ran = json.loads((tmp_path / "ran.json").read_text())["metrics"]
    server, lines = begin(tmp_path, command, "--nvme", "127.0.0.1:0", "--timing", timing)
    with ending(server, tmp_path) as document, connected(lines[0]) as (_, queue):
        carried_out(queue, OVERWRITES["pattern"]["steps"])
        read = queue.ask(ranged(2, 0, 24), wanted=24 * BLOCK)[2]
    written = noise(BLOCK, 0)
    holes = bytes(4 * BLOCK), bytes(2 * BLOCK)
    assert read == 16 * written + holes[0] + 2 * written + holes[1]
    drive = document["drive"]
    assert drive["zones"]["commands"].pop("read") == {"Successful Completion": 1}
    assert drive["zones"] == ran["zones"]
    assert drive["zones"]["refused"] == {
        "Invalid Field in Command": 1,
        "Invalid Zone Operation Request": 1,
        "ZRWA Resources Unavailable": 1,
        "Zone Invalid Write": 1,
    }
    assert drive["zones"]["zrwa"]["held_bytes"] == 2 * BLOCK
    assert drive["programmed_bytes"] == ran["nand_bytes_written"] == 16 * BLOCK
    assert drive["written_bytes"] == ran["host_bytes_written"] == (16 * TIMES + 2) * BLOCK
    assert ran["waf"] == 16 / (16 * TIMES + 2)


def test_an_image_keeps_zones(tmp_path: Path, command: Path) -> None:
    """Another server has the same report, the same bytes, and appends behind them."""
    doors = ("--nvme", "127.0.0.1:0", "--timing", "off", "--save-image", "drive.onl")
    report = struct.pack("<BBHI32xQII8x", 0x7A, 0x40, 2, 1, 0, BLOCK // 4 - 1, 0)
    content = noise(4 * BLOCK, 1)
    server, lines = begin(tmp_path, command, *doors)
    with ending(server, tmp_path), connected(lines[0]) as (_, queue):
        assert queue.ask(ranged(0x7D, ZONE, 4), content)[:2] == (ZONE, 0)
        assert queue.ask(managed(2, 2))[1] == 0
        before = queue.ask(report, wanted=BLOCK)[2]
    words = [str(command), "serve", "--image", "drive.onl", *doors[:4], "--result", "served.json"]
    server = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = server.stdout.readline() if server.stdout else ""
    with ending(server, tmp_path), connected(line) as (_, queue):
        assert queue.ask(report, wanted=BLOCK)[2] == before
        assert queue.ask(ranged(2, ZONE, 4), wanted=4 * BLOCK)[2] == content
        assert queue.ask(ranged(0x7D, ZONE), noise(BLOCK, 2))[:2] == (ZONE + 4, 0)
        assert queue.ask(ranged(0x7D, 2 * ZONE), noise(BLOCK, 2))[1] >> 1 & 0x7FF == 0x1B9


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--socket s", "NBD has no commands for zones"),
        ("--nvme 127.0.0.1:0 --socket s", "NBD has no commands for zones; accepted: --nvme alone"),
        ("--nvme 127.0.0.1:0 --lba 512", "lba: 512 with ftl.mapping zoned; accepted: 4096"),
        ("--nvme 127.0.0.1:0 --namespaces 50%,50%", "accepted: nothing, for one"),
        ("--nvme 127.0.0.1:0 --record r.csv", "requests to zones are not recorded"),
        ("--nvme 127.0.0.1:0 --power-socket p", "so its power cannot be cut here"),
        (
            f"--nvme 127.0.0.1:0 --set ftl.mapping.zrwa={json.dumps(MANY, separators=(',', ':'))}",
            "ftl.mapping.zrwa.areas: 5 of 4 active zones; accepted: 1 to active_zones_max",
        ),
        (
            "--nvme 127.0.0.1:0 --set ftl.mapping.zone_bytes=3MiB",
            "ftl.mapping.zone_bytes: 3145728, and Linux takes no such zones; accepted: a power",
        ),
        (
            "--nvme 127.0.0.1:0 --set nand.page_size_bytes=8192",
            "nand.page_size_bytes: 8192 with ftl.mapping zoned",
        ),
    ],
)
def test_what_cannot_be_is_refused(options: str, said: str, tmp_path: Path, command: Path) -> None:
    """Exit code 2, and a sentence with the key, the value and what is accepted."""
    with pytest.raises(RuntimeError, match=r"^error") as refused:
        begin(tmp_path, command, *options.split())
    assert said in " ".join(str(refused.value).split())
