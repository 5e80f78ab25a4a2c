"""File systems on crash images: their journals are replayed, they are checked, files are taken out.

Nothing is mounted: `e2fsck` replays the journal of ext4 and checks, and `debugfs` takes out files,
so judging needs no root. Recording does, since a file system is mounted on the served drive.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opennandlab.base.errors import OutputError

LIMIT_S: Final = 120.0
TOOLS: Final = ("e2fsck", "debugfs")
RECORDING_TOOLS: Final = ("nbdfuse", "losetup", "mount", "umount", "mkfs.ext4")
# Exit codes of e2fsck.
CLEAN, CORRECTED, UNCORRECTED = 0, 1, 4


@dataclass(frozen=True)
class Checked:
    """What a file system on a crash image is.

    Args:
        is_clean: Nothing was wrong once its journal was replayed.
        why: The first complaint.
    """

    is_clean: bool
    why: str = ""


def cannot_judge() -> str | None:
    """Return why no file system can be judged here; None where it can."""
    return _lacking(TOOLS)


def cannot_record() -> str | None:
    """Return why no file system can be mounted on a served drive here; None where it can."""
    if os.geteuid() != 0:
        return "a file system is mounted by root alone"
    for path in ("/dev/fuse", "/dev/loop-control"):
        if not os.access(path, os.R_OK | os.W_OK):
            return f"no access to {path}"
    return _lacking(RECORDING_TOOLS) or cannot_judge()


def _lacking(tools: Sequence[str]) -> str | None:
    lacking = [name for name in tools if shutil.which(name) is None]
    return f"not installed: {', '.join(lacking)}" if lacking else None


def check(image: Path) -> Checked:
    """Replay the journal of an ext4 image, check it, and repair what is wrong.

    Raises:
        OutputError: when e2fsck cannot be run.
    """
    replayed = _run("e2fsck", "-y", "-E", "journal_only", str(image))
    found = _run("e2fsck", "-f", "-n", str(image))
    if found.returncode == CLEAN and replayed.returncode <= CORRECTED:
        return Checked(is_clean=True)
    _run("e2fsck", "-f", "-y", str(image))
    return Checked(is_clean=False, why=_complaint(found.stdout or replayed.stdout))


def take_out(image: Path, names: Sequence[str], folder: Path) -> None:
    """Copy files from the root of an ext4 image; those that do not exist are left out.

    Args:
        image: It is not changed.
        names: Names of plain letters, in its root.
        folder: Where they go.

    Raises:
        OutputError: when debugfs cannot be run.
    """
    commands = folder / "commands"
    lines = [f'dump "/{name}" "{folder / name}"' for name in names]
    commands.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _run("debugfs", "-f", str(commands), str(image))
    commands.unlink()
    # What is not there is made, and stays empty.
    for name in names:
        path = folder / name
        if path.exists() and path.stat().st_size == 0:
            path.unlink()


def _complaint(text: str) -> str:
    """Return the first line of e2fsck that is about the file system."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("e2fsck ", "Pass ", "Warning!"))]
    return (told or lines or ["e2fsck says nothing"])[0]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 (no shell, our own words)
            command, capture_output=True, text=True, timeout=LIMIT_S, check=False, errors="replace",
            stdin=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OutputError(f"{' '.join(command)}: {error}") from error
