"""What runs of a calibration gave: the same command goes on from there."""

from __future__ import annotations

from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.base.journal import Journal as File


class Journal:
    """Figures of runs by the key of their point.

    Args:
        path: The file; None for none.
        settings: SHA-256 of all that the runs depend on.

    Raises:
        ConfigError: for a journal of another calibration, of another process, or that is damaged.
        OutputError: for a file that cannot be written.
    """

    def __init__(self, path: Path | None, settings: str) -> None:
        """Read what is there."""
        self._file = File(path, {"settings": settings})
        self.known: dict[str, list[float | None] | None] = {}
        for record in self._file.records:
            key, values = record.get("key"), record.get("values")
            if not isinstance(key, str) or not isinstance(values, list | None):
                self._file.close()
                raise ConfigError("--output", f"{path} holds no figures of runs; remove the file")
            self.known[key] = values

    def add(self, key: str, values: list[float | None] | None) -> None:
        """Keep what a run gave; None where the device cannot be.

        Raises:
            ConfigError: when another process has begun the file meanwhile.
            WriteError: when the line cannot be written.
        """
        self.known[key] = values
        self._file.add({"key": key, "values": values})

    def close(self, *, is_done: bool) -> None:
        """Close the file, and remove it where nothing is left to go on with."""
        if is_done or not any(self.known.values()):
            self._file.forget()
        else:
            self._file.close()
