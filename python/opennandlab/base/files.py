"""Files in and out: read up to a limit, and written so that no crash leaves half of one.

What is read may be anything that a path can name: a device that never ends, a pipe that nobody
writes to, a text of a thousand letters. Each is refused in bounded time and memory.

A result is written to a temporary file next to its target, flushed to the disk and renamed over it;
the old file stays whole until then. Whether that will work is tried *before* a run, not after an
hour of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import ConfigError, OutputError, WriteError, inert_lines
from opennandlab.base.foreign import refusal

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import Node

# A device or workload file is a page of text; anything larger was given by mistake, and the parser
# is one in Python.
YAML_BYTES_MAX = 256 << 10
# Values and keys of a YAML text, and those after its aliases were put in: ten times what the
# longest real file holds, and what the parser takes 2 s for.
YAML_NODES_MAX = 20_000
# A directive that asks for another version.
OTHER_YAML = re.compile(r"^\ufeff?%YAML[ \t]+(?!1\.2\s)\S*", re.MULTILINE)
# What a spreadsheet takes for the beginning of a formula, or leaves out before one.
FORMULA = set("=+-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}") | set(
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
# How long a pipe may stay silent: one without a writer would block for ever.
PIPE_WAIT_S = 10.0
# As the name of an output.
STDOUT = Path("-")
# Pieces in which files are read.
PIECE_BYTES = 1 << 20


def read_bytes(path: Path, bytes_max: int) -> bytes:
    """Read a file that may be anything, up to a limit.

    Args:
        path: A file, a device, or a pipe such as a shell makes for `<(command)`.
        bytes_max: More than this is refused, and not read.

    Raises:
        OSError: with the reason in words as its `strerror`.
    """
    try:
        # Without waiting: opening a pipe would block until somebody opens its other end.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a name with a zero byte, or of letters that no file can have
        raise OSError(errno.EINVAL, "not the name of a file") from error
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISREG(kind) and os.fstat(handle).st_size > bytes_max:
            raise OSError(errno.EFBIG, f"larger than {_size(bytes_max)}")
        return b"".join(pieces_of(handle, bytes_max, is_pipe=stat.S_ISFIFO(kind)))
    finally:
        os.close(handle)


def pieces_of(handle: int, bytes_max: int, *, is_pipe: bool) -> Iterator[bytes]:
    """Yield what an open file holds, up to a limit, in pieces.

    Args:
        handle: Its descriptor.
        bytes_max: More than this is refused, and not read.
        is_pipe: Whether it is a pipe, whose writer is not waited for without end.

    Raises:
        OSError: with the reason in words as its `strerror`.
    """
    count = 0
    while True:
        # A terminal waits for its person, a pipe waits for its writer, but not for ever.
        if not select.select([handle], [], [], PIPE_WAIT_S if is_pipe else None)[0]:
            raise OSError(errno.ETIMEDOUT, f"a pipe that stayed silent for {PIPE_WAIT_S:g} s")
        piece = os.read(handle, min(PIECE_BYTES, bytes_max + 1 - count))
        if not piece and is_pipe and not count:
            why = "a pipe without data; what was read from it before is gone: save it into a file"
            raise OSError(errno.ENODATA, why)
        if not piece:
            return
        count += len(piece)
        if count > bytes_max:
            raise OSError(errno.EFBIG, f"larger than {_size(bytes_max)}")
        yield piece


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def is_there(path: Path) -> bool:
    """Return whether there is something at a path; a name that no file can have is not there."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML 1.2 mapping.

    Raises:
        ConfigError: with file, and line where known, when it cannot be read or is not a mapping.
    """
    try:
        raw = read_bytes(path, YAML_BYTES_MAX)
    except OSError as error:
        hint = ": this is not a configuration file" if error.errno == errno.EFBIG else ""
        raise ConfigError(".", f"{path}: {error.strerror or error}{hint}") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(".", f"{path}: byte {error.start} is not UTF-8 text") from error
    try:
        document = parse_yaml(text, str(path))
    except ConfigError as error:
        if (of_another := _of_a_simulator(path, raw)) is None:
            raise
        raise of_another from error
    if not isinstance(document, dict):
        if (of_another := _of_a_simulator(path, raw)) is not None:
            raise of_another
        found = "nothing" if document is None else type(document).__name__
        raise ConfigError(".", f"{path}: holds {found}; accepted: a mapping of keys to values")
    return document


def _of_a_simulator(path: Path, raw: bytes) -> ConfigError | None:
    """Return the error of a file of another simulator; None for any other."""
    found = refusal(raw)
    return ConfigError(".", f"{path}: {found}") if found else None


def parse_yaml(text: str, origin: str) -> Any:  # noqa: ANN401 (YAML holds anything)
    """Read one YAML 1.2 value; `origin` is named in errors.

    Raises:
        ConfigError: with the line, for text that is not YAML, for duplicate keys, and for aliases
            that make a text of a few lines endless.

    >>> parse_yaml("1e6", "--set"), parse_yaml("no", "--set"), parse_yaml("[1, 2.5]", "--set")
    (1000000.0, 'no', [1, 2.5])
    """
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    # By version 1.1 `010` is 8, and `1:04` is 64.
    if other := OTHER_YAML.search(text):
        line = text.count("\n", 0, other.start()) + 1
        raise ConfigError(".", f"{origin}:{line}: `{other.group()}`; accepted: YAML 1.2")
    try:
        return _parser(origin).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{origin}:{mark.line + 1}" if mark is not None else origin
        problem = _first_line(error.problem)
        # What else the parser says is its own text of both values.
        if twice := re.match(r'found (duplicate key ".*?") with value', problem):
            problem = f"{twice.group(1)}; accepted: each key once"
        raise ConfigError(".", f"{place}: {problem}") from error
    except RecursionError as error:
        raise ConfigError(".", f"{origin}: nested too deeply") from error
    except (YAMLError, ValueError) as error:
        raise ConfigError(".", f"{origin}: {_first_line(str(error))}") from error


def _parser(origin: str) -> YAML:
    """Return a parser that counts the nodes of a text before it makes values of them."""
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.constructor import SafeConstructor

    class CountingComposer(Composer):
        count = 0

        def compose_node(self, parent: Node | None, index: Any) -> Node | None:  # noqa: ANN401
            self.count += 1
            if self.count > YAML_NODES_MAX:
                raise ConfigError(".", f"{origin}: holds more than {YAML_NODES_MAX} values")
            node: Node | None = super().compose_node(parent, index)
            return node

    class CountingConstructor(SafeConstructor):
        def construct_document(self, node: Node) -> Any:  # noqa: ANN401 (YAML holds anything)
            _count(node, {}, origin)
            return super().construct_document(node)

    parser = YAML(typ="safe", pure=True)
    parser.Composer = CountingComposer
    parser.Constructor = CountingConstructor
    return parser


def _count(node: Node, known: dict[int, int], origin: str) -> int:
    """Return how many nodes a node stands for, each alias put in again.

    A node is shared by its aliases, so that counting takes as long as the text, not as long as what
    it stands for.

    Raises:
        ConfigError: beyond `YAML_NODES_MAX`, and for a node that contains itself.
    """
    if (count := known.get(id(node))) is not None:
        if not count:
            raise ConfigError(".", f"{_place(origin, node)}: an alias of a value that contains it")
        return count
    known[id(node)] = 0  # not finished
    inner = node.value if isinstance(node.value, list) else ()
    count = 1
    for entry in inner:
        for part in entry if isinstance(entry, tuple) else (entry,):
            count += _count(part, known, origin)
    if count > YAML_NODES_MAX:
        raise ConfigError(
            ".",
            f"{_place(origin, node)}: its aliases expand to {count} values; accepted: up to "
            f"{YAML_NODES_MAX} in a file",
        )
    known[id(node)] = count
    return count


def _place(origin: str, node: Node) -> str:
    return f"{origin}:{node.start_mark.line + 1}" if node.start_mark is not None else origin


def check_writable(path: Path) -> None:
    """Refuse an output path that could not be written later.

    Raises:
        OutputError: with the reason.
    """
    if path == STDOUT:
        raise OutputError("cannot write `-`: this output is a file; accepted: another name")
    if not path.name and not path.is_absolute():  # what an empty name becomes, or `.` itself
        raise OutputError(f"cannot write `{path}`: an empty name or a directory; give a file name")
    target = Path(os.path.realpath(path))
    try:
        # Not of the target: that of a descriptor which is a pipe has a name that leads nowhere.
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    if mode is not None and stat.S_ISDIR(mode):
        raise OutputError(f"cannot write {path}: it is a directory; give a file name")
    if mode is not None and not os.access(path, os.W_OK):
        raise OutputError(f"cannot write {path}: permission denied")
    if mode is not None and not stat.S_ISREG(mode):
        return  # a device or a pipe: nothing to rename over
    _try_file(path, target.parent, target.name)


def check_folder(folder: Path) -> None:
    """Refuse a directory that could not be made, or written into, later. Nothing is made.

    Raises:
        OutputError: with the reason.
    """
    target = Path(os.path.realpath(folder))
    try:
        there = next(place for place in (target, *target.parents) if os.path.lexists(place))
        is_folder = there.is_dir()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(f"cannot write {folder}: {reason}") from error
    if not is_folder:
        raise OutputError(f"cannot write {folder}: {there} is not a directory")
    _try_file(folder, there, "opennandlab")


def _try_file(path: Path, folder: Path, name: str) -> None:
    """Make a file in a folder, and remove it.

    Raises:
        OutputError: of `path`, when that fails.
    """
    try:
        handle, made = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {path}: {folder}: {reason}") from error
    os.close(handle)
    Path(made).unlink()


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`: all of it, or nothing and the old file stays.

    Raises:
        WriteError: with the reason, such as a full disk.
    """
    write_pieces_atomically(path, (content,))


def write_pieces_atomically(path: Path, pieces: Iterable[bytes]) -> None:
    """Write pieces one after another to `path`: all of them, or nothing and the old file stays.

    Args:
        path: Where to; `-` is stdout.
        pieces: Made while they are written: together they may be more than the memory.

    Raises:
        WriteError: with the reason, such as a full disk.
    """
    if path == STDOUT:
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    try:
        if path.exists() and not path.is_file():
            with path.open("wb", buffering=0) as stream:
                stream.writelines(pieces)
            return
        _write_and_rename(target, pieces)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"cannot write {path}: {reason}; what was there is untouched") from error


def no_formula(text: str) -> str:
    r"""Return a cell of CSV that no spreadsheet runs, nor a terminal; a number may have a sign.

    >>> no_formula(" =1+1"), no_formula("-1.5"), no_formula("a=1"), no_formula("a\x1b[1m")
    ("' =1+1", '-1.5', 'a=1', 'a\\x1b[1m')
    >>> no_formula("-")  # what is not known
    '-'
    """
    is_formula = text.lstrip()[:1] in FORMULA and text != "-" and not NUMBER.fullmatch(text)
    return f"'{inert_lines(text)}" if is_formula else inert_lines(text)


def write_into(folder: Path, contents: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Write files into a folder, which is made where it is missing.

    Args:
        folder: Where to.
        contents: Name and content of each file; those before one that cannot be written stay.

    Returns:
        The files, in the order given.

    Raises:
        OutputError: when the folder or a file cannot be written, and why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
    written = []
    for name, content in contents:
        write_atomically(folder / name, content)
        written.append(folder / name)
    return written


def _write_and_rename(target: Path, pieces: Iterable[bytes]) -> None:
    made = empty_beside(target)
    try:
        with made.open("wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        put_in_place(made, target)
    except BaseException:  # also Ctrl-C: no stray file is left behind
        with contextlib.suppress(OSError):
            made.unlink()
        raise


def empty_beside(path: Path) -> Path:
    """Make an empty file in the folder of a path, to be put there when it is written.

    Raises:
        OSError: with the reason.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    return Path(name)


def put_in_place(made: Path, path: Path) -> None:
    """Let a file made by `empty_beside` replace the file at its path.

    Raises:
        OSError: with the reason.
    """
    target = Path(os.path.realpath(path))
    # mkstemp makes files private; a result is as readable as the umask allows.
    made.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
    made.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a power cut, on file systems that can do so."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _first_line(text: str | None) -> str:
    return (text or "unreadable YAML").strip().splitlines()[0]
