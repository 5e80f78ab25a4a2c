"""Names on their way into the syntax of other programs: none of them is spelled there.

fio reads `;` and `#` in a job file as the beginning of a comment, `$` as a variable, `:` as the end
of a file name; an NBD address has a syntax of its own. So no name that a user gave is written into
a job file. fio starts in the folder of the run and opens a link there, whose name is ours:

    run/fio/target  -> /dev/nvme0n1           filename=target
    run/fio/socket  -> /run/d;1.sock          uri=nbd+unix:///?socket=socket

That fio opened what was checked is proved all the same, by what it reads (`marker`), and before
each stimulus and after each process of fio the link must still lead to the file or device that is
held open (`same_file`).
"""

from __future__ import annotations

import os
import stat
from itertools import count
from pathlib import Path

from opennandlab.targets.base import TargetError

# What `file:` is not for.
NOT_REGULAR = "this is not a regular file; a block device is named without `file:`"


def printable(text: str) -> str:
    r"""Return a text that is safe on a terminal and in a report, on one line.

    >>> printable("DRIVE \x1b[31m\n1")
    'DRIVE ?[31m 1'
    """
    return "".join(mark if mark.isprintable() else "?" for mark in " ".join(text.split()))


def check_name(text: str) -> None:
    """Refuse a name that a report could not hold: line ends, control characters, no UTF-8.

    Raises:
        TargetError: with the name as Python writes it.
    """
    if not text.isprintable():
        raise TargetError(
            f"{text!a}: names with control characters, or that are not UTF-8, cannot be used"
        )


def link_to(folder: Path, name: str, path: str) -> Path:
    """Return a link to `path` in the folder of a run; one that leads elsewhere is left alone.

    Args:
        folder: It exists.
        name: Name of the link, safe in every syntax; `-1`, `-2` … follow where it is taken.
        path: Absolute, without links in it.

    Raises:
        TargetError: when no link can be made.
    """
    for number in count():
        link = folder / (f"{name}-{number}" if number else name)
        try:
            link.symlink_to(path)
        except FileExistsError:
            if not link.is_symlink() or str(link.readlink()) != path:
                continue
        except OSError as error:
            raise TargetError(f"{link}: cannot be made: {error.strerror or error}") from error
        return link
    raise AssertionError("an endless count ended")


def same_file(one: os.stat_result, other: os.stat_result) -> bool:
    """Return whether two files are one: the same device, or the same inode of a file system."""
    if stat.S_ISBLK(one.st_mode) and stat.S_ISBLK(other.st_mode):
        return one.st_rdev == other.st_rdev
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
