"""Points that were begun: what a run that was cut left behind, from which the next one continues.

```text
runs.db            points that are there
unfinished/KEY/    one in progress: journal and checkpoint of a standard test, counts of a code
```
What is in such a folder is the business of the verb that wrote it. Whoever runs the point holds a
lock on the folder, so two processes never go on with one; the second runs it from the start. When
the store has the point, or its error, the folder is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from opennandlab.base.lock import lock
from opennandlab.store.entry import KEY

FOLDER = "unfinished"


class Unfinished:
    """The points in progress of a store.

    Args:
        store: Folder of the store.
    """

    def __init__(self, store: Path) -> None:
        """Know the folder; it is made when a point needs it."""
        self.folder = store / FOLDER

    @contextlib.contextmanager
    def held(self, key: str) -> Iterator[Path | None]:
        """Hold the folder of a point until the end of the block.

        Returns:
            The folder; None where it cannot be written, or another process has it.
        """
        folder = self.folder / key
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            yield None
            return
        try:
            yield folder if lock(handle) else None
        finally:
            # One that left nothing leaves no trace.
            with contextlib.suppress(OSError):
                folder.rmdir()
            os.close(handle)

    def keys(self) -> list[str]:
        """Return the keys of the points that were begun."""
        try:
            return sorted(one.name for one in self.folder.iterdir() if KEY.fullmatch(one.name))
        except OSError:
            return []

    def bytes(self) -> int:
        """Return what all of them take on the disk."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    def drop(self, keys: Iterable[str]) -> int:
        """Remove what was kept of points that another process does not hold; return how many."""
        begun = set(self.keys())
        count = 0
        for key in begun.intersection(keys):
            with self.held(key) as folder:
                if folder is not None:
                    empty(folder)
                    count += 1
        return count


def empty(folder: Path) -> None:
    """Remove all files of a folder."""
    for one in folder.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)
