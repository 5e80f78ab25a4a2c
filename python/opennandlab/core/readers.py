"""Traces in formats that others read: a reader of theirs gives arrays, and these are replayed.

A reader is a function of a path that yields chunks `(op, sector, count)` or `(op, sector, count,
arrival_ns)`, arrays of the same length:

| array | content |
|---|---|
| op | 0 reads, 1 writes, 2 trims, 3 flushes, 4 writes with force unit access |
| sector | first sector of 512 bytes; of a flush, anything |
| count | sectors, 1 or more; of a flush, anything |
| arrival_ns | time of arrival in nanoseconds; left out, all come at once, for closed loops |
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, TraceError
from opennandlab.core.config import DeviceConfig, ReplayConfig, load_replay
from opennandlab.policies import plugins, source

# How the core reads what a reader gives.
COLUMNS = {
    "kind": "columns",
    "columns": "time:ns,op:0=read:1=write:2=trim:3=flush:4=fua,offset:sectors,size:sectors",
    "separator": "comma",
}
KEY = "format"
ARRAYS = "(op, sector, count) or (op, sector, count, arrival_ns), arrays of the same length"


@dataclass(frozen=True)
class Reader:
    """A reader of somebody's own.

    Args:
        name: `module:name`.
        sha256: SHA-256 of its source.
        read: The function.
    """

    name: str
    sha256: str
    read: Any

    def record(self) -> dict[str, str]:
        """Return what is recorded of it next to the trace."""
        return {"reader": self.name, "reader_sha256": self.sha256}

    @contextmanager
    def text_of(self, path: str | Path) -> Iterator[Path]:
        """Give the trace as a text that the core reads, for as long as it is read.

        Raises:
            TraceError: when the reader fails, or gives what are no requests.
        """
        with tempfile.TemporaryDirectory(prefix="opennandlab-") as folder:
            text = Path(folder) / "trace.csv"
            with text.open("w", encoding="ascii") as stream:
                stream.writelines(self._lines(path))
            yield text

    def _lines(self, path: str | Path) -> Iterator[str]:
        try:
            for chunk in self.read(str(path)):
                op, sector, count, *rest = self._columns(chunk, path)
                arrival = rest[0] if rest else [0] * len(op)
                for row in zip(arrival, op, sector, count, strict=True):
                    yield "{},{},{},{}\n".format(*row)
        except TraceError:
            raise
        except Exception as error:
            raise TraceError(
                f"{path}: the reader `{self.name}` raised {type(error).__name__}: {error}"
            ) from error

    def _columns(self, chunk: Any, path: str | Path) -> list[list[int]]:  # noqa: ANN401
        """Return the arrays of a chunk as lists."""
        import numpy as np

        columns = [np.asarray(column) for column in chunk]
        sizes = {column.shape for column in columns}
        whole = all(np.issubdtype(column.dtype, np.integer) for column in columns)
        if len(columns) not in {3, 4} or len(sizes) != 1 or not whole:
            raise TraceError(
                f"{path}: `{self.name}` gave {len(columns)} arrays of shapes {sorted(sizes)}; "
                f"accepted: {ARRAYS}, of integers"
            )
        return [column.tolist() for column in columns]


def load_own(
    document: Mapping[str, Any], device: DeviceConfig
) -> tuple[ReplayConfig, Reader | None]:
    """Resolve replay options whose format may be one of somebody's own.

    Raises:
        ConfigError: with dotted path, the offending value and what is accepted.
    """
    recorded = document.get("trace")
    name = recorded.get("reader") if isinstance(recorded, Mapping) else None
    if name is not None and isinstance(recorded, Mapping):
        return _with_reader(document, device, str(name), recorded.get("reader_sha256"))
    form = document.get(KEY)
    if source.is_name(form):
        return _with_reader(document, device, str(form))
    try:
        return load_replay(document, device), None
    except ConfigError as error:
        is_unknown = error.path == KEY and "unknown variant" in error.message
        plugin = plugins.find("traces", str(form), KEY) if is_unknown else None
        if plugin is None:
            raise
        return _with_reader(document, device, plugin.object)


def _with_reader(
    document: Mapping[str, Any], device: DeviceConfig, name: str, recorded: object = source.TYPED
) -> tuple[ReplayConfig, Reader]:
    found, read = source.taken(name, "traces", KEY, recorded)
    if not callable(read):
        raise ConfigError(KEY, f"`{name}` is not a function; accepted: one that yields {ARRAYS}")
    reader = Reader(name, found.sha256, read)
    trace = dict(document.get("trace") or {}) | reader.record()
    return load_replay({**document, KEY: COLUMNS, "trace": trace}, device), reader
