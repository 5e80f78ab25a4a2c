"""The output directory of a run: empty or this run's own, and nobody else's as long as it lasts.

A lock on the directory itself keeps a second run out, whichever documents it would make; it ends
with the process, also with one that is killed. File systems that cannot lock a directory (some on
servers) go without.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from opennandlab.base.errors import OutputError
from opennandlab.base.lock import lock


@dataclass(frozen=True)
class Place:
    """Where a run leaves its files.

    Args:
        folder: Output directory; None for nowhere.
        resume: Whether to go on with the run that was cut there.
        ocp: Whether the logs of a simulated drive are saved after each test.
    """

    folder: Path | None = None
    resume: bool = False
    ocp: bool = False


NOWHERE = Place()


@contextlib.contextmanager
def prepared(place: Place, names: Sequence[str]) -> Iterator[None]:
    """Make or take over an output directory, and hold it until the end of the block.

    Args:
        place: Where the run is to leave its files.
        names: Names of its documents.

    Raises:
        OutputError: with what is in the way: a file, files of somebody else, or another run.
    """
    folder = place.folder
    if folder is None:
        yield
        return
    try:
        missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(
            f"cannot write into {folder}: it is a file, or below one; give a directory"
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"cannot write into {folder}: {reason}") from error
    try:
        if lock(handle) is False:
            raise OutputError(
                f"cannot write into {folder}: another run is writing there; give another directory"
            )
        _check_contents(place, folder, names)
        yield
    finally:
        # A run that was refused leaves no trace: a directory that holds something stays.
        with contextlib.suppress(OSError):
            for path in missing:
                path.rmdir()
        os.close(handle)


def _check_contents(place: Place, folder: Path, names: Sequence[str]) -> None:
    """Refuse a directory that holds anything, unless its run continues."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write into {folder}: permission denied")
    try:
        found = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror}") from error
    if not found or place.resume:
        return
    own = [name for name in names if (folder / f"{name}.journal.jsonl").exists()]
    hint = "go on with that run by --resume, or give" if own else "give"
    raise OutputError(
        f"{folder} is not empty ({', '.join(found[:3])}{', …' if len(found) > 3 else ''}): "
        f"{hint} an empty directory"
    )
