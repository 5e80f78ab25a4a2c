"""Files in and out: YAML read strictly, results written so that no crash leaves half of one.

A result is written to a temporary file beside its target, flushed to the disk and renamed over it;
the old file stays whole until then. Whether that will work is tried *before* a run, not after an
hour of it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from opennandlab.errors import ConfigError, OutputError

# A device or workload file is a page of text; anything larger was given by mistake.
YAML_BYTES_MAX = 4 << 20


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML 1.2 mapping.

    Raises:
        ConfigError: with file, and line where known, when it cannot be read or is no mapping.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(YAML_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(".", f"{path}: {error.strerror or error}") from error
    if len(raw) > YAML_BYTES_MAX:
        raise ConfigError(".", f"{path}: larger than 4 MiB: this is no configuration file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(".", f"{path}: byte {error.start} is not UTF-8 text") from error
    document = parse_yaml(text, str(path))
    if not isinstance(document, dict):
        found = "nothing" if document is None else type(document).__name__
        raise ConfigError(".", f"{path}: holds {found}; accepted: a mapping of keys to values")
    return document


def parse_yaml(text: str, origin: str) -> Any:  # noqa: ANN401 (YAML holds anything)
    """Read one YAML 1.2 value; `origin` is named in errors.

    Raises:
        ConfigError: with the line, for text that is no YAML and for duplicate keys.

    >>> parse_yaml("1e6", "--set"), parse_yaml("no", "--set"), parse_yaml("[1, 2.5]", "--set")
    (1000000.0, 'no', [1, 2.5])
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{origin}:{mark.line + 1}" if mark is not None else origin
        raise ConfigError(".", f"{place}: {_first_line(error.problem)}") from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(".", f"{origin}: {_first_line(str(error))}") from error


def check_writable(path: Path) -> None:
    """Refuse an output path that could not be written later.

    Raises:
        OutputError: with the reason.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    if mode is not None and stat.S_ISDIR(mode):
        raise OutputError(f"cannot write {path}: it is a directory; give a file name")
    if mode is not None and not os.access(target, os.W_OK):
        raise OutputError(f"cannot write {path}: permission denied")
    if mode is not None and not stat.S_ISREG(mode):
        return  # a device or a pipe: nothing to rename over
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {path}: {target.parent}: {reason}") from error
    os.close(handle)
    Path(name).unlink()


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path`: all of it, or nothing and the old file stays.

    Raises:
        OutputError: with the reason, such as a full disk.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb", buffering=0) as stream:
                stream.write(content)
            return
        _write_and_rename(target, content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {path}: {reason}; what was there is untouched") from error


def _write_and_rename(target: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes files private; a result is as readable as the umask allows.
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:  # also Ctrl-C: no stray file is left behind
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    # The rename itself must survive a power cut; not every file system can sync a directory.
    with contextlib.suppress(OSError):
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _first_line(text: str | None) -> str:
    return (text or "unreadable YAML").strip().splitlines()[0]
