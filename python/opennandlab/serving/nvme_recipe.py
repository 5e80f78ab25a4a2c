"""How a host connects to a drive that is served over NVMe, and how it lets go of it.

The commands are for the host, which may be another machine: its kernel connects, as root, so they
are printed and not carried out here.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opennandlab.base.errors import ConfigError
from opennandlab.serving.recipes import FILE_SYSTEMS, Recipe

if TYPE_CHECKING:
    from pathlib import Path

PORT_MAX: Final = 65_535
# Bytes of a name that the protocol has room for.
NQN_BYTES_MAX: Final = 223
DEVICE: Final = "/dev/nvmeXn1"


@dataclass(frozen=True)
class Place:
    """Where a drive is served.

    Args:
        address: Of the server.
        port: Of the server.
        nqn: Name of the subsystem.
    """

    address: str
    port: int
    nqn: str

    @property
    def uri(self) -> str:
        """As the server prints it."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"nvme+tcp://{address}:{self.port}/{self.nqn}"


def place(text: str) -> Place:
    """Read what a server prints when it is ready, with or without its scheme.

    Raises:
        ConfigError: for anything else.

    >>> place("nvme+tcp://127.0.0.1:4420/nqn.2026-01.org.example:a").port
    4420
    """
    form = r"(?:nvme\+tcp://)?(?:\[([0-9a-fA-F:.]+)\]|([0-9A-Za-z.-]+)):([0-9]{1,5})/(nqn\.[!-~]+)"
    found = re.fullmatch(form, text)
    if found is not None:
        port, nqn = int(found[3]), found[4]
        if 0 < port <= PORT_MAX and len(nqn) <= NQN_BYTES_MAX:
            return Place(found[1] or found[2], port, nqn)
    raise ConfigError(
        "nvme", f"`{text}`; accepted: ADDRESS:PORT/NQN, as `serve --nvme` prints it when ready"
    )


def recipe(place: Place, mount: Path | None, fs: str) -> Recipe:
    """Return the commands of nvme-cli for a host.

    Args:
        place: Where the drive is served.
        mount: Where to mount a file system; None for the bare device.
        fs: `ext4`, `xfs` or `btrfs`.

    Raises:
        ConfigError: for another file system.
    """
    if fs not in FILE_SYSTEMS:
        raise ConfigError("fs", f"`{fs}`; accepted: {', '.join(FILE_SYSTEMS)}")
    nqn = shlex.quote(place.nqn)
    up = [
        "modprobe nvme-tcp",
        f"nvme connect -t tcp -a {shlex.quote(place.address)} -s {place.port} -n {nqn}",
        f"nvme list   # names the device, {DEVICE} here",
    ]
    down = [f"nvme disconnect -n {nqn}"]
    if mount is not None:
        folder = shlex.quote(str(mount))
        up += [f"mkfs.{fs} {DEVICE}   # unless it has one already", f"mount {DEVICE} {folder}"]
        down.insert(0, f"umount {folder}")
    return Recipe("nvme", "on the host, as root, with nvme-cli", up, down)
