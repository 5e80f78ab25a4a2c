"""What a scenario is given, and what is wrong on a console."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guest.machine import ADDRESS, Guest, Kit, Server
from guest.parts import Skipped

__all__ = [
    "Bench", "Guest", "Kit", "Server", "Skipped", "documents", "findings", "logs_agree", "sent",
    "shown",
]  # fmt: skip

# Small enough to be served at once: 390 MiB.
SMALL = ("--config", "tlc_standard", "--set", "nand.blocks_per_plane=64")
COMPLAINT = r"warn|error|fail|bug|refus|timeout|call trace|hung"
# What most guests have enough of.
PLAIN = Kit()
# Data units of SMART.
UNIT_BYTES = 512_000


@dataclass
class Bench:
    """Makes servers and guests in one folder, which is empty at first.

    Args:
        folder: Where all files go.
        ends: When all has to be over, by `time.monotonic`.
    """

    folder: Path
    ends: float
    consoles: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def serve(self, *options: str, port: int = 0) -> Iterator[Server]:
        """Serve a drive, by default a small one with three-bit cells; stopped in the end."""
        is_given = {"--config", "--image"} & {*options}
        server = Server(self.folder, *(() if is_given else SMALL), *options, port=port)
        try:
            yield server
        finally:
            server.end()

    @contextlib.contextmanager
    def guest(self, script: str, server: Server, kit: Kit = PLAIN) -> Iterator[Guest]:
        """Start a guest, whose script has `$ADDRESS`, `$PORT` and `$NQN`; killed in the end."""
        settings = {"ADDRESS": ADDRESS, "PORT": server.port, "NQN": server.nqn}
        guest = Guest(self.folder, script, settings, kit)
        try:
            yield guest
        finally:
            guest.kill()
            self.consoles.append(guest.console)

    def boot(self, script: str, server: Server, kit: Kit = PLAIN) -> str:
        """Run a guest to its end; return its console."""
        with self.guest(script, server, kit) as guest:
            return guest.end(self.left_s)

    @property
    def left_s(self) -> float:
        """Seconds that are left."""
        return max(self.ends - time.monotonic(), 1.0)


def findings(console: str, expected: str = "") -> list[str]:
    """Return what is not as it should be: commands that failed, what the kernel complains of.

    Args:
        console: Of a guest that ran to its end.
        expected: What complaints may match; a regular expression.
    """
    found = [
        f"failed: {tried.strip()}"
        for tried in re.split(r"^== ", console, flags=re.MULTILINE)[1:]
        if re.search(r"^rc [^0]", tried, re.MULTILINE)
    ]
    if "== end" not in console:
        found.append(f"the guest did not come to its end; last: {console[-300:]}")
    lines = re.findall(rf"^kernel: .*(?:{COMPLAINT}).*", console, re.MULTILINE | re.IGNORECASE)
    return found + [line for line in lines if not (expected and re.search(expected, line))]


def documents(console: str) -> list[dict[str, Any]]:
    """Return the JSON objects that a console has, in their order."""
    found = re.findall(r"^\{\n.*?^\}", console, re.MULTILINE | re.DOTALL)
    return [json.loads(text) for text in found]


def sent(console: str, name: str) -> bytes | None:
    """Return a file that a script sent."""
    found = re.search(
        rf"^== send {re.escape(name)}\n(.*?)^== sent", console, re.MULTILINE | re.DOTALL
    )
    return None if found is None else gzip.decompress(base64.b64decode(found[1]))


def shown(console: str, name: str) -> str | None:
    """Return the value of `name: value` that a console has last."""
    found = re.findall(rf"^\s*{re.escape(name)}\s*[:=-]\s*(.*?)\s*$", console, re.MULTILINE)
    return found[-1] if found else None


def logs_agree(console: str, served: dict[str, Any]) -> list[str]:
    """Compare the last logs 02h (as JSON) and C0h of a console with the server's document."""
    drive, found = served["drive"], []
    health = [log for log in documents(console) if "data_units_written" in log]
    if not health:
        return ["no log of health"]
    # Data of hosts: not the source of a copy, and not zeroes.
    read = drive["read_bytes"] - drive["copy_source_bytes"]
    written = drive["written_bytes"] - drive["zeroed_bytes"]
    for name, bytes_ in (("read", read), ("written", written)):
        # A string in nvme-cli 2.3.
        if int(health[-1][f"data_units_{name}"]) != -(-bytes_ // UNIT_BYTES):
            units = health[-1][f"data_units_{name}"]
            found.append(f"data units {name}: {units}, but {bytes_} bytes")
    media = re.findall(r"units written -\s+0 (\d+)", console)
    if not media or int(media[-1]) != drive["programmed_bytes"]:
        found.append(f"log C0h: {media[-1:]}, but {drive['programmed_bytes']} bytes programmed")
    return found
