"""Folders for a while: removed in the end, and where a run was killed, by the next one.

```text
made ─► locked (flock) ─► marked as ours ─► used ─► removed
                                              └── kill -9: the lock goes, folder and mark stay
next run: marked, and its lock is free ─► removed
```
A folder in use is locked; one that is not marked is not ours, whatever it is called. Where a file
system has no locks nothing is marked, and so nothing is ever removed by another run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from opennandlab.base.lock import lock

MARK: Final = ".opennandlab-scratch"


@contextlib.contextmanager
def folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Give a folder of our own.

    Args:
        prefix: How its name begins.
        place: Where; None for the system's folder for temporary files.

    Raises:
        OSError: when it cannot be made.

    >>> with folder("opennandlab-example-") as found:
    ...     _ = (found / "file").write_text("x")
    >>> found.exists()
    False
    """
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if lock(handle):
            with contextlib.suppress(OSError):
                (made / MARK).touch()
        yield made
    finally:
        try:
            shutil.rmtree(made, ignore_errors=True)
        except KeyboardInterrupt:  # it came while all was well, and is no reason to leave the rest
            shutil.rmtree(made, ignore_errors=True)
            raise
        finally:
            os.close(handle)


def remove_left(prefix: str, place: Path | None = None) -> int:
    """Remove folders that killed runs left; return how many.

    Args:
        prefix: How their names begin.
        place: Where; None for the system's folder for temporary files.
    """
    count = 0
    with contextlib.suppress(OSError):
        for one in (place or Path(tempfile.gettempdir())).glob(f"{prefix}*"):
            count += _remove(one)
    return count


def _remove(left: Path) -> bool:
    """Remove a folder of ours that nobody uses; whether it was one."""
    try:
        # Not through a link, which would lead somewhere else.
        handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        is_ours = lock(handle) and os.fstat(handle).st_uid == os.getuid()
        if not is_ours or not (left / MARK).is_file():
            return False
        shutil.rmtree(left, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
