"""What runs of a calibration gave, a line each: the same command goes on from there.

The first line names what is calibrated; a journal of something else is refused, and one that was
cut in its last line goes on without it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from opennandlab.errors import OutputError, ResultError, WriteError

LINE_BYTES_MAX = 1 << 20


class Journal:
    """Figures of runs by the key of their point.

    Args:
        path: The file; None for none.
        settings: SHA-256 of all that the runs depend on.

    Raises:
        ResultError: for a journal of another calibration.
        OutputError: for a file that cannot be written.
    """

    def __init__(self, path: Path | None, settings: str) -> None:
        """Read what is there."""
        self.known: dict[str, list[float] | None] = {}
        self._path = path
        self._stream: Any = None
        if path is None:
            return
        kept = self._read(path, settings) if path.exists() else None
        try:
            if kept is None:
                self._stream = path.open("w", encoding="ascii")
                self._write({"settings": settings})
            else:
                os.truncate(path, kept)
                self._stream = path.open("a", encoding="ascii")
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}") from error

    def _read(self, path: Path, settings: str) -> int | None:
        """Read whole lines; return how many bytes they are, None for a file without any."""
        size = 0
        try:
            with path.open("rb") as stream:
                head = stream.readline(LINE_BYTES_MAX)
                if not head.endswith(b"\n"):
                    return None if not head.strip() else self._refuse(path)
                first = json.loads(head)
                if not isinstance(first, dict) or first.get("settings") != settings:
                    self._refuse(path)
                size = len(head)
                for line in stream:
                    entry = json.loads(line) if line.endswith(b"\n") else None
                    if not isinstance(entry, dict):
                        break
                    self.known[str(entry["key"])] = entry["values"]
                    size += len(line)
        except (ValueError, KeyError):
            if not size:
                self._refuse(path)
        except OSError as error:
            raise ResultError(f"{path}: {error.strerror}") from error
        return size

    @staticmethod
    def _refuse(path: Path) -> None:
        raise ResultError(
            f"{path} is the journal of another calibration; accepted: the same command, another "
            "--output, or no journal (delete it)"
        )

    def add(self, key: str, values: list[float] | None) -> None:
        """Keep what a run gave; None where the device cannot be.

        Raises:
            WriteError: when the line cannot be written.
        """
        self.known[key] = values
        self._write({"key": key, "values": values})

    def _write(self, entry: dict[str, Any]) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(json.dumps(entry) + "\n")
            self._stream.flush()
        except OSError as error:
            raise WriteError(f"cannot write {self._path}: {error.strerror}") from error

    def close(self, *, is_done: bool) -> None:
        """Close the file, and remove it where nothing is left to go on with."""
        if self._stream is None or self._path is None:
            return
        self._stream.close()
        self._stream = None
        if is_done or not self.known:
            self._path.unlink(missing_ok=True)
