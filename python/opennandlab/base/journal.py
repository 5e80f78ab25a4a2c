"""The journal of a campaign, a calibration or a standard test: settings, and finished steps.

    5d0c3a91 {"schema":"opennandlab.example/1","seed":42}    identity: all that decides the result
    9e2b7f04 {"first":0,"tally":{"cuts":200}}                a record
             └─ each line after the CRC-32 of its text and of all lines before it

A line counts when its end is there, so a run that was killed, or whose disk was full, continues
after the last whole line; the rest is removed. A journal of other settings in the same
place is refused, with the difference. So is a line that was changed, left out, doubled or moved,
with its number. The file is locked while it is open.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from opennandlab.base.canonical import first_difference
from opennandlab.base.errors import ConfigError, OutputError, WriteError
from opennandlab.base.files import read_bytes, sync_folder
from opennandlab.base.lock import lock

# The longest journals that are known have some 10 MiB.
BYTES_MAX: Final = 1 << 30
# Beginning of a first line that has a schema; other versions may have no CRC before it.
SCHEMA: Final = re.compile(rb'(?:[0-9a-f]{8} )?\{"schema": ?"([^"]*)/(\d+)"')
WAY_OUT: Final = "remove the file to begin anew"


class JournalError(ConfigError):
    """A journal that cannot be continued: damaged, of other settings, of another version."""


def sealed(record: Mapping[str, Any], before: int) -> tuple[bytes, int]:
    r"""Return the line of a record, and the CRC of it and of all lines before it.

    Args:
        record: Its content.
        before: The CRC of the lines before; 0 for the first.

    >>> sealed({"a": 1}, 0)
    (b'561bacaf {"a":1}\n', 1444654255)
    """
    text = json.dumps(record, separators=(",", ":")).encode()
    crc = zlib.crc32(text, before)
    return b"%08x %s\n" % (crc, text), crc


def unsealed(line: bytes, before: int) -> tuple[dict[str, Any], int] | None:
    """Return the content of a line without its end, and the CRC; None for a damaged one.

    Args:
        line: As it was read.
        before: The CRC of the lines before; 0 for the first.
    """
    said, _, text = line.partition(b" ")
    crc = zlib.crc32(text, before)
    if said != b"%08x" % crc:
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return (record, crc) if isinstance(record, dict) else None


class Journal:
    """The records of a run that takes long.

    Args:
        path: The file, which is made with the first record; None: nothing is kept.
        identity: What decides the result. With a `schema` (`NAME/VERSION`, the first key), files of
            another kind or version are refused as such.
        is_new: Whether the file begins again, with the identity alone.
        is_forced: Whether each record is on the disk before `add` returns.
        way_out: What to do about a journal that is refused.

    Raises:
        JournalError: for a file that is damaged, or of other settings.
        ConfigError: for one that another process uses.
        OutputError: for one that cannot be opened.
        WriteError: for a new one that cannot be written.
    """

    def __init__(
        self,
        path: Path | None,
        identity: Mapping[str, Any],
        *,
        is_new: bool = False,
        is_forced: bool = False,
        way_out: str = WAY_OUT,
    ) -> None:
        """Read the file, if there is one."""
        self.path = path
        self.identity = identity
        # Those of the file as it was opened; added ones are not among them.
        self.records: list[dict[str, Any]] = []
        self.cut_off_bytes = 0
        self._is_forced, self._way_out = is_forced, way_out
        self._handle: int | None = None
        self._crc = 0
        # The size of the file, and the CRC, before each record.
        self._marks: list[tuple[int, int]] = []
        if path is None:
            return
        try:
            if is_new:
                handle = self._open(path)
                os.ftruncate(handle, 0)
                self._write(handle, path, identity)
            elif path.exists():
                self._read(self._open(path), path)
        except BaseException:
            self.close()
            raise

    def add(self, record: Mapping[str, Any]) -> None:
        """Keep a record.

        Raises:
            ConfigError: when another process has begun the file meanwhile.
            WriteError: when it cannot be written; the file is as before then.
        """
        if self.path is None:
            return
        handle = self._handle
        if handle is None:
            handle = self._open(self.path)
            if os.fstat(handle).st_size:
                self.close()
                raise _in_use(self.path)
        lines = (record,) if os.fstat(handle).st_size else (self.identity, record)
        self._write(handle, self.path, *lines)

    def keep(self, count: int) -> None:
        """Take away all records that were there but the first ones; to be called before `add`."""
        if self._handle is not None and count < len(self.records):
            end, self._crc = self._marks[count]
            os.ftruncate(self._handle, end)
            del self.records[count:]

    def close(self) -> None:
        """Let others have the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def forget(self) -> None:
        """Remove the file: its content is elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        self.close()

    def _open(self, path: Path) -> int:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
        self._handle = handle
        if lock(handle) is False:
            self.close()
            raise _in_use(path)
        return handle

    def _write(self, handle: int, path: Path, *lines: Mapping[str, Any]) -> None:
        before, content = self._crc, b""
        end = os.fstat(handle).st_size
        for line in lines:
            text, self._crc = sealed(line, self._crc)
            content += text
        try:
            while content:
                content = content[os.write(handle, content) :]
            if self._is_forced:
                os.fsync(handle)
        except OSError as error:
            self._crc = before
            os.ftruncate(handle, end)
            if not end:
                self.forget()
            raise WriteError(f"cannot write {path}: {error.strerror or error}") from error
        if self._is_forced and not end:
            sync_folder(path.parent)

    def _read(self, handle: int, path: Path) -> None:
        try:
            content = read_bytes(path, BYTES_MAX)
        except OSError as error:
            raise OutputError(f"cannot read {path}: {error.strerror or error}") from error
        *lines, rest = content.split(b"\n")
        self._check_schema(path, lines[0] if lines else rest, is_whole=bool(lines))
        size = 0
        for number, line in enumerate(lines, 1):
            found = unsealed(line, self._crc)
            if found is None:
                raise self._refused(f"line {number} of {path} is damaged or edited")
            record, self._crc = found
            size += len(line) + 1
            if number == 1:
                self._check_identity(path, record)
            else:
                self.records.append(record)
            self._marks.append((size, self._crc))
        self.cut_off_bytes = len(rest)
        if rest:
            os.ftruncate(handle, size)

    def _check_schema(self, path: Path, first: bytes, *, is_whole: bool) -> None:
        schema = self.identity.get("schema")
        if schema is None:
            return
        name, _, version = schema.rpartition("/")
        found = SCHEMA.match(first)
        if found is None or found[1].decode(errors="replace") != name:
            raise self._refused(f"{path}: this is not a journal ({name})")
        if found[2].decode() != version:
            raise self._refused(f"{path}: another version of opennandlab wrote this journal")
        if not is_whole:
            raise self._refused(f"{path}: the journal is empty")

    def _check_identity(self, path: Path, found: dict[str, Any]) -> None:
        difference = first_difference(found, json.loads(json.dumps(self.identity)))
        if difference is not None:
            message = f"{path} is of other settings ({difference}): give the same, or"
            raise JournalError("--output", f"{message} {self._way_out}")

    def _refused(self, reason: str) -> JournalError:
        return JournalError("--output", f"{reason}; {self._way_out}")


def _in_use(path: Path) -> ConfigError:
    return ConfigError("--output", f"{path} is used by another process")
