"""A file with a row for each request of the measured part, written during the run.

The core writes it (`crates/py/src/requests`) under a temporary name in its folder. It is no part of
the result, whose digest does not depend on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.base import logs
from opennandlab.base.errors import ConfigError, OutputError, WriteError
from opennandlab.base.files import check_writable, empty_beside, is_there, put_in_place
from opennandlab.base.words import number

ENDINGS = (".parquet", ".csv", ".csv.zst", ".arrow")
EVERY_MAX = (1 << 63) - 1


@dataclass(frozen=True)
class Requests:
    """Which requests are written, and where to.

    Args:
        path: The file; its ending decides the format.
        every: 1 for all requests, 10 for each tenth in the order of arrival, from the first.
    """

    path: Path
    every: int = 1

    @property
    def ending(self) -> str | None:
        """The ending that names the format; None for another."""
        name = self.path.name.lower()
        return next((ending[1:] for ending in ENDINGS if name.endswith(ending)), None)

    def check(self) -> None:
        """Refuse what cannot be written.

        Raises:
            ConfigError: for an invalid share of the requests.
            OutputError: for another ending, and for a file that could not be made.
        """
        if isinstance(self.every, bool) or not 1 <= self.every <= EVERY_MAX:
            raise ConfigError(
                "requests_every", f"`{self.every}` is out of range; accepted: 1 to 2^63 - 1"
            )
        if self.ending is None:
            raise OutputError(
                f"cannot write {self.path}: accepted file extensions: {', '.join(ENDINGS)}"
            )
        check_writable(self.path)
        if is_there(self.path) and not self.path.is_file():
            raise OutputError(f"cannot write {self.path}: not a file; accepted: the name of a file")


def requests_of(path: str | Path | None, every: int | None) -> Requests | None:
    """Return the file that two options ask for together.

    Args:
        path: The file, if there is to be one.
        every: 1 or None for all requests, 10 for each tenth.

    Raises:
        ConfigError: for the second without the first.
    """
    if path is not None:
        return Requests(Path(path), 1 if every is None else every)
    if every is not None:
        raise ConfigError("requests_every", "no file is given that would hold the requests")
    return None


@dataclass(frozen=True)
class RequestFile:
    """The file of a run.

    Args:
        path: The file.
        rows: Rows that it holds; None when it could not be written at all.
        asked: Rows that it should hold: of the requests that completed.
        problem: Why it does not; None when it does.
    """

    path: Path
    rows: int | None
    asked: int
    problem: str | None = None

    def __str__(self) -> str:
        """Return the number of rows, and the reason if some are missing."""
        if self.rows is None:
            return f"cannot write {self.path}: {self.problem}; no rows are kept"
        rows = f"{number(self.rows)} row{'' if self.rows == 1 else 's'}"
        if self.problem is None:
            return f"requests saved to {self.path}: {rows}"
        kept = f"{number(self.rows)} of {number(self.asked)} rows are kept in it"
        return f"cannot write all of {self.path}: {self.problem}; {kept}"


class Recording:
    """The file of a running job; it is removed unless `end` is called.

    Args:
        core: The simulation.
        wanted: The file, if there is to be one.
        workload: The resolved workload, or the options of a replay.
        trace: The trace, if one is replayed.
    """

    def __init__(
        self,
        core: _core.Drive,
        wanted: Requests | None,
        workload: Mapping[str, Any],
        trace: _core.Trace | None,
    ) -> None:
        """Keep the parts."""
        self._core = core
        self._wanted = wanted
        self._workload = workload
        self._trace = trace
        self._made: Path | None = None

    def __enter__(self) -> None:
        """Begin the file.

        Raises:
            WriteError: when there is no place for it.
        """
        if self._wanted is None:
            return
        work, path = self._workload, self._wanted.path
        try:
            self._made = empty_beside(path)
            ending = self._wanted.ending or ""
            self._core.record(self._made, ending, str(work["name"]), self._trace)
        except OSError as error:
            self.__exit__()
            raise WriteError(f"cannot write {path}: {error.strerror or error}") from error

    def end(self) -> RequestFile | None:
        """End the file and put it in its place."""
        if self._wanted is None:
            return None
        rows, asked, problem = self._core.end_record()
        if rows is not None and self._made is not None:
            try:
                put_in_place(self._made, self._wanted.path)
            except OSError as error:
                rows, problem = None, error.strerror or str(error)
        found = RequestFile(self._wanted.path, rows, asked, problem)
        logs.info("requests", str(found))
        return found

    def __exit__(self, *_: object) -> None:
        """Remove a file that was not put in its place."""
        if self._made is not None:
            self._core.end_record()
            with contextlib.suppress(OSError):
                self._made.unlink()
