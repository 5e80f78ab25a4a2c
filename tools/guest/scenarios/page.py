"""The commands of docs/nvme.md, from the first to the standard test, as they are written there."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

from guest import python
from guest.bench import Bench, documents, findings, sent

PAGE = Path("docs/nvme.md")
# Of the page, the part that a stranger types.
LAST = "\n## Options"
# Where the page has the port of this machine, its guest has another one.
SCRIPT = rf"""{python.PRELUDE}
modprobe() {{ :; }}
opennandlab() {{ onl "$@"; }}
{{lines}}
send run/latency.json
"""
# Read before the drive is purged.
LOGS = """nvme smart-log /dev/nvme0 -o json
nvme ocp smart-add-log /dev/nvme0 | grep "units written"
"""


def commands(page: str) -> list[str]:
    """Return the indented commands of a page, each on one line."""
    text = page.partition(LAST)[0].replace("\\\n", " ")
    return [" ".join(line.split()) for line in text.splitlines() if line.startswith("    ")]


def scenario(bench: Bench) -> list[str]:
    """Return what is wrong."""
    serve, *rest = commands(PAGE.read_text())
    options = shlex.split(serve)[2:]
    for option in ("--nvme", "--save-image"):
        place = options.index(option)
        del options[place : place + 2]
    lines = [line.replace("127.0.0.1", "$ADDRESS").replace("4420", "$PORT") for line in rest]
    lines = [f"try {re.sub(r'-n NQN', '-n $NQN', line)}" for line in lines]
    place = next(at for at, line in enumerate(lines) if "smart-add-log" in line)
    lines.insert(place + 1, LOGS)
    place = next(at for at, line in enumerate(lines) if "nvme connect" in line)
    lines.insert(place + 1, "disk /dev/nvme0n1")
    kit = replace(python.kit(), programs=("mkfs.ext4",))
    with bench.serve(*options) as server:
        console = bench.boot(SCRIPT.replace("{lines}", "\n".join(lines)), server, kit)
    found = findings(console)
    media = re.search(r"units written -\s+0 (\d+)", console)
    if media is None or not documents(console):
        return [*found, "no log of health, or no log C0h"]
    host = int(documents(console)[0]["data_units_written"]) * 512_000
    print(f"nvme guest: page: write amplification {int(media[1]) / host:.2f}")
    if int(media[1]) < 1.1 * host:
        found.append(f"the drive collects too little to show: {media[1]} of {host} bytes")
    if sent(console, "latency.json") is None:
        found.append("there is no document of the test")
    return found
