"""The journal of a campaign or a calibration: what it is, and what is done, a line each.

A line counts when its end is there, so one that was killed, or whose disk was full, goes on from
the last whole line; what was cut off is taken away. The first line says what is carried out:
another one in the same place is refused, with the difference. Each line begins with the CRC-32 of
its text and of all lines before it, so one that was changed, left out, doubled or moved is refused
too. The file is locked while it is open.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from opennandlab.base.canonical import first_difference
from opennandlab.base.errors import ConfigError, OutputError, WriteError

ANOTHER: Final = "accepted: the same settings, another --output, or the file removed"


class Journal:
    """What is done of a campaign or a calibration.

    Args:
        path: The file, which is made with the first record; None: nothing is kept.
        identity: What decides the result.

    Raises:
        ConfigError: when the file is of other settings, is used by another process, or is damaged.
        OutputError: when it cannot be opened.
    """

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        """Read what is there."""
        self.path = path
        self.identity = identity
        self.records: list[dict[str, Any]] = []
        self.cut_off_bytes = 0
        self._handle: int | None = None
        self._crc = 0
        if path is not None and path.exists():
            self._open(path)
            self._read(path)

    def add(self, record: Mapping[str, Any]) -> None:
        """Keep a record.

        Raises:
            WriteError: when it cannot be written; the file is as before then.
        """
        self.records.append(dict(record))
        if self.path is None:
            return
        lines = [record]
        handle = self._handle
        if handle is None:
            handle = self._open(self.path)
            if os.fstat(handle).st_size:
                self.close()
                raise _in_use(self.path)
        end = os.fstat(handle).st_size
        if end == 0:
            lines = [self.identity, record]
        crc, content = self._crc, b""
        for line in lines:
            text = json.dumps(line).encode()
            crc = zlib.crc32(text, crc)
            content += b"%08x %s\n" % (crc, text)
        reason = "no space left"
        try:
            if os.write(handle, content) == len(content):
                self._crc = crc
                return
        except OSError as error:
            reason = error.strerror or str(error)
        os.ftruncate(handle, end)
        raise WriteError(f"cannot write {self.path}: {reason}")

    def close(self) -> None:
        """Let others have the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def forget(self) -> None:
        """Take the file away: what it held is elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        self.close()

    def _open(self, path: Path) -> int:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise _in_use(path) from error
        self._handle = handle
        return handle

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        end = content.rfind(b"\n") + 1
        self.cut_off_bytes = len(content) - end
        if self.cut_off_bytes and self._handle is not None:
            os.ftruncate(self._handle, end)
        records = []
        for number, line in enumerate(content[:end].splitlines(), 1):
            said, _, text = line.partition(b" ")
            self._crc = zlib.crc32(text, self._crc)
            record = _parsed(text) if said == b"%08x" % self._crc else None
            records.append(record)
            if record is None:
                self.close()
                message = (
                    f"line {number} of {path} is damaged or edited; remove the file to begin anew"
                )
                raise ConfigError("--output", message)
        if not records:
            return
        known = json.loads(json.dumps(self.identity))
        difference = first_difference(records[0], known)
        if difference is not None:
            self.close()
            raise ConfigError(
                "--output",
                f"{path} is of other settings, and was not finished ({difference}); {ANOTHER}",
            )
        self.records = [record for record in records[1:] if record is not None]


def _in_use(path: Path) -> ConfigError:
    return ConfigError("--output", f"{path} is used by another process")


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
