"""Pipes of a shell as inputs: `opennandlab report <(zcat result.json.gz) --html page.html`.

A pipe gives its bytes once, and most verbs read an input more than once: to see what it is, then to
use it. So what comes through a descriptor is stored first, and a file takes the place of the pipe:
the name of the input stays as it was typed. Pipes that have a name are left as they are, since
nothing shows whether they are read or written.
"""

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

DESCRIPTOR = re.compile(r"(?:/dev|/proc/self)/fd/([0-9]{1,6})|/dev/stdin")
# The exception of a command line that cannot be used, of click or of the copy that typer has.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
# More than this from a pipe is refused: the folder for temporary files may be small.
BYTES_MAX = 4 << 30


@contextlib.contextmanager
def stored(words: Sequence[str]) -> Iterator[None]:
    """Store what comes through the pipes that a command line names, for as long as it runs.

    Args:
        words: The words of the command line.

    Raises:
        UsageError: for a pipe that stays silent, holds too much, or cannot be stored.
    """
    found = [match for word in words for match in DESCRIPTOR.finditer(word)]
    pipes = {match[0]: handle for match in found if _is_read(handle := int(match[1] or 0))}
    if not pipes:
        yield
        return
    from opennandlab.base.scratch import folder

    with folder("opennandlab-pipe-") as place:
        for name, handle in pipes.items():
            _store(name, handle, place / str(handle))
        yield


def _is_read(handle: int) -> bool:
    """Return whether a descriptor is the end of a pipe from which data come."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(handle).st_mode)
        return is_pipe and fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    except OSError:  # not open
        return False


def _store(name: str, handle: int, path: Path) -> None:
    """Read a pipe into a file, which takes its place.

    Raises:
        UsageError: with the reason.
    """
    from opennandlab.base.files import pieces_of

    try:
        with path.open("w+b") as stream:
            for piece in pieces_of(handle, BYTES_MAX, is_pipe=True):
                stream.write(piece)
            stream.seek(0)
            os.dup2(stream.fileno(), handle)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from error
