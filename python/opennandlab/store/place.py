"""Where a store is, what kind of disk that is, and who is at it.

    $OPENNANDLAB_STORE, else ./.opennandlab if there is one, else the data folder of the user

Only the messages need what the system tells about disks and locks; where it tells nothing, they
say less.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from opennandlab.base.errors import StoreError

FILE = "runs.db"
VARIABLE = "OPENNANDLAB_STORE"
LOCAL_FOLDER = ".opennandlab"
# File systems on which several machines do not share memory: a log next to the file (WAL), whose
# index is shared memory, is not for them (https://www.sqlite.org/wal.html, "Overview").
NETWORK = re.compile(
    r"nfs\d*|cifs|smb\w*|9p|afs|ceph|lustre|gpfs|beegfs|glusterfs|ocfs2|gfs2|pvfs2|orangefs|"
    r"fuse\.(sshfs|glusterfs\w*|ceph\w*|s3fs|rclone|juicefs|davfs\w*|smb\w*)"
)


def where_store(path: str | Path | None = None) -> Path:
    """Return the folder of a store, whether there is one or not.

    Args:
        path: What was asked for; None for the usual place: `$OPENNANDLAB_STORE`, else
            `./.opennandlab` if it exists, else `opennandlab` in `$XDG_DATA_HOME`, which is
            `~/.local/share` by default.

    Raises:
        StoreError: when the user has no home.
    """
    if path is not None:
        if not str(path):
            raise StoreError("an empty name is not a store; accepted: a folder")
        return Path(path)
    if named := os.environ.get(VARIABLE):
        return Path(named)
    local = Path(LOCAL_FOLDER)
    if local.is_dir():
        return local
    data = os.environ.get("XDG_DATA_HOME", "")
    # Relative paths are to be ignored (XDG Base Directory Specification 0.8, "Variables").
    if data.startswith("/"):
        return Path(data) / "opennandlab"
    try:
        return Path.home() / ".local" / "share" / "opennandlab"
    except RuntimeError as error:
        raise StoreError(f"there is no home for a store: give --store or set {VARIABLE}") from error


def database(place: Path) -> Path:
    """Return the file of a store, from its folder or itself."""
    return place if place.is_file() else place / FILE


def is_network(folder: Path) -> bool:
    """Return whether a folder is on a file system of another machine, as far as the system says."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return kind_of_disk(os.path.realpath(folder), mounts, NETWORK)


def kind_of_disk(folder: str, mounts: str, kinds: re.Pattern[str]) -> bool:
    r"""Return whether the file system that holds a folder is of one of these kinds.

    >>> mounts = "/dev/sda1 / ext4 rw 0 0\nsrv:/x /home\\040x nfs4 rw 0 0\n"
    >>> kind_of_disk("/home x/me", mounts, NETWORK), kind_of_disk("/home", mounts, NETWORK)
    (True, False)
    """
    best, found = -1, ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code.group(1), 8)), parts[1])
        is_inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        # Of two mounts at one place the last one is what is seen.
        if is_inside and len(point) >= best:
            best, found = len(point), parts[2]
    return kinds.fullmatch(found) is not None


def holders(file: Path) -> list[str]:
    """Return who has a store locked for writing, as far as the system tells: number and command."""
    places = (file, file.with_name(f"{file.name}-shm"))
    try:
        inodes = {place.stat().st_ino for place in places if place.exists()}
        locks = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return [_named(number) for number in writers(locks, inodes)]


def writers(locks: str, inodes: set[int]) -> list[int]:
    """Return the numbers of the processes that have a file locked for writing.

    >>> line = "1: POSIX  ADVISORY  WRITE 4711 08:01:131 120 120"
    >>> writers(line, {131}), writers(line, {132})
    ([4711], [])
    """
    pattern = re.compile(r"\d+: +POSIX +\w+ +WRITE +(\d+) +\w+:\w+:(\d+) ")
    found = (match for line in locks.splitlines() if (match := pattern.match(line)))
    numbers = {int(match.group(1)) for match in found if int(match.group(2)) in inodes}
    return sorted(numbers - {0})


def _named(number: int) -> str:
    if number == os.getpid():
        return "this process itself"
    try:
        raw = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        raw = b""
    words = raw.decode(errors="replace").replace("\0", " ").strip()
    return f"process {number}" + (f" (`{words[:60]}`)" if words else "")
