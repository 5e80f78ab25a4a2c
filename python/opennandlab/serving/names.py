"""Names of NVMe subsystems on this machine: a second server with the same one is noticed.

Serial number and identifiers of namespaces follow from the name, and a host that knows them drops
whatever else has them. A socket in the abstract space of Linux, which leaves no file and ends with
its process, holds a name; other systems have none, and there no name is compared.
"""

from __future__ import annotations

import hashlib
import socket
import sys


def hold(nqn: str) -> socket.socket | None:
    """Hold a name until the socket is closed; None while another server holds it.

    Args:
        nqn: Qualified name of a subsystem.
    """
    holder = socket.socket(socket.AF_UNIX)
    if sys.platform == "linux":
        try:
            holder.bind(b"\0opennandlab.nvme." + hashlib.sha256(nqn.encode()).hexdigest().encode())
        except OSError:
            holder.close()
            return None
    return holder
