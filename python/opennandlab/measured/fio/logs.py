"""Logs of fio: bandwidth, IOPS, response times, and histograms, one file for each process.

```text
_bw _iops _lat _clat _slat   ms, value[, largest], direction, bs[, offset][, priority[, issued]]
_clat_hist                   ms, direction, bs, bin, bin, …
```
Values are KiB/s, IOPS and ns; before 2.99 response times were in µs, which only the version tells.
Without `log_avg_msec` there is a line for each request: then `_iops` is 1 everywhere, and requests
and bytes are counted. Histograms have 1,856 bins (2.x: 1,216, of µs), or 2^c times fewer; a bin of
these stands for the middle of the ones that it holds.

Source: HOWTO of fio, "Log File Formats"; `flush_samples` and `flush_hist_samples` of `iolog.c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from opennandlab.base.errors import ResultError
from opennandlab.measured.fio.course import LATENCIES, Array, Track, windows
from opennandlab.measured.fio.record import NUMBER_MAX, middle
from opennandlab.stats.histogram import Histogram

NAME = re.compile(r"(.*)_(bw|iops|lat|clat|slat|clat_hist)(?:\.(\d+))?\.log$")
DIRECTIONS = ("read", "write", "trim")
COLUMNS = (4, 5, 6, 7, 8)
# Bins of a histogram at full width -> nanoseconds of their unit.
BINS = {1856 >> c: (1 << c, 1) for c in range(7)} | {1216 >> c: (1 << c, 1000) for c in range(7)}
BITS = 6
# Gaps of windows are equal within this share, those of single requests are not.
REGULAR_RATIO = 0.1
ACCEPTED = (
    "lines `ms, value, direction (0, 1, 2), bytes` and up to three columns more, as fio logs them"
)
# What is in a log, by the word in its name or by hand -> figure.
KINDS = {"iops": "ios", "bw": "bytes", "lat": "lat", "clat": "clat", "slat": "slat"}
UNITS = {"iops": ("iops", 1.0), "kib_s": ("bw", 1.0), "lat_ns": ("lat", 1.0),
         "lat_us": ("lat", 1e3), "clat_ns": ("clat", 1.0), "clat_us": ("clat", 1e3)}  # fmt: skip


@dataclass(frozen=True)
class Log:
    """A log, of one process or of several one after the other.

    Args:
        file: Its name, for messages.
        kind: `bw`, `iops`, `lat`, `clat`, `slat` or `clat_hist`; empty where its name is no help.
        process: Its number in the name; empty for none.
        is_timed: Whether the unit of its response times is known: the bins of a histogram tell it,
            and the column of priorities, which came later than ns.
        parts: Columns `ms`, direction, bytes, values of each process.
        columns: Which columns stand there.
        prefix: Of the name.
    """

    file: str
    kind: str
    process: str
    is_timed: bool
    parts: Sequence[tuple[Array, Array, Array, Array]]
    columns: str
    prefix: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Lines of each direction."""
        ways = np.concatenate([part[1] for part in self.parts]).astype(int)
        return {name: int((ways == at).sum()) for at, name in enumerate(DIRECTIONS)
                if (ways == at).any()}  # fmt: skip


def read(text: str, file: str) -> Log | None:
    """Return the log that a text is; None for other texts.

    Raises:
        ResultError: for a log with a line that is none, with file, line and what is accepted.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    named = NAME.match(PurePath(file).name)
    width = _fields(lines[0]) if lines else []
    is_hist = len(width) - 3 in BINS
    if not lines or not (is_hist or len(width) in COLUMNS):
        return None
    if not is_hist and named is None and not _looks(lines):
        return None
    rows = _rows(text.splitlines(), file)
    kind = "clat_hist" if is_hist else named[2] if named else ""
    if is_hist:
        data = np.array(rows, dtype=np.float64)
        columns: tuple[Array, ...] = (data[:, 0], data[:, 1], data[:, 2], data[:, 3:])
        told = f"{len(width) - 3} bins"
    else:
        columns, told = _told(rows, file)
    if not ((columns[1] >= 0) & (columns[1] < len(DIRECTIONS))).all():
        line = int(np.argmax(~((columns[1] >= 0) & (columns[1] < len(DIRECTIONS))))) + 1
        raise ResultError(f"{file}: row {line}: no direction; accepted: {ACCEPTED}")
    parts = list(_processes(columns))
    if named is None and any(len(part[0]) < 2 for part in parts[:-1]):
        return None
    return Log(file, kind, (named[3] or "") if named else "", is_hist or told.endswith("priority"),
               parts, told, named[1] if named else "")  # fmt: skip


def _fields(line: str) -> list[str]:
    return line.replace(",", " ").split()


def _looks(lines: Sequence[str]) -> bool:
    """Tell whether lines are those of a log, by the first and the last but one: it may be cut."""
    whole = lines[:-1] if len(lines) > 2 else lines
    shown = [_fields(line) for line in (*whole[:50], whole[-1])]
    return len(lines) > 1 and all(
        len(row) == len(shown[0]) and row[0].isdecimal() and row[1].isdecimal()
        and row[2] in {"0", "1", "2"} and row[3].isdecimal() for row in shown
    )  # fmt: skip


def _rows(lines: Sequence[str], file: str) -> list[list[int]]:
    """Return the numbers of all lines.

    Raises:
        ResultError: at the first line that has others, or another number of them.
    """
    rows: list[list[int]] = []
    count = 0
    for number, line in enumerate(lines, 1):
        fields = _fields(line)
        if not fields:
            continue
        try:
            row = [int(field, 16) if field[:2] == "0x" else int(field) for field in fields]
        except ValueError:
            row = []
        count = count or len(fields)
        if len(row) != count or min(row) < 0 or max(row) >= NUMBER_MAX:
            found = f"{len(row)} numbers where the first line has {count}" if row else "no numbers"
            if row and len(row) == count:
                found = "a number below 0 or beyond 2^63"
            raise ResultError(
                f"{file}: line {number}: `{line.strip()[:60]}`: {found}; accepted: {ACCEPTED}"
            )
        rows.append(row)
    return rows


def _told(rows: list[list[int]], file: str) -> tuple[tuple[Array, ...], str]:
    """Return ms, direction, bytes and values of rows, and which columns are there."""
    data = np.array(rows, dtype=np.float64)
    names = ["ms", "value", "direction", "bs"]
    # `log_window_value=both`: the largest of the window stands before the direction.
    if data.shape[1] > 4 and not (data[:, 2] <= 2).all() and (data[:, 3] <= 2).all():
        names.insert(2, "largest")
    at = names.index("direction")
    if data.shape[1] <= at + 1:
        raise ResultError(f"{file}: {data.shape[1]} columns; accepted: {ACCEPTED}")
    sizes = data[:, at + 1]
    more = data.shape[1] - len(names)
    if more > 0:
        fifth = data[:, len(names)]
        with np.errstate(divide="ignore", invalid="ignore"):
            is_place = fifth.any() and sizes.all() and not (fifth % sizes).any()
        names += ["offset"] if is_place or more > 1 else ["priority"]
        names += ["priority", "issue time"][: more - 1]
    return (data[:, 0], data[:, at], sizes, data[:, 1]), ", ".join(names)


def _processes(columns: Sequence[Array]) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield the parts of a log: where its times begin again another process was appended."""
    falls = np.flatnonzero(np.diff(columns[0]) < 0) + 1
    for first, last in zip([0, *falls], [*falls, len(columns[0])], strict=True):
        yield tuple(column[first:last] for column in columns)  # type: ignore[misc]


def _as_told(log: Log, unit: str | None, time_ns: float | None) -> tuple[Log, float]:
    """Return a log with its kind, and the ns of its response times.

    Raises:
        ResultError: where neither names nor options tell them.
    """
    if unit is not None and unit not in UNITS:
        raise ResultError(f"{log.file}: --unit {unit[:20]} is none; accepted: {', '.join(UNITS)}")
    kind, factor = UNITS[unit] if unit is not None else ("", 0.0)
    if not log.kind and not kind:
        raise ResultError(
            f"{log.file}: its name does not say what its values are; accepted: names as fio gives "
            f"them (x_iops.1.log), or, of `pts import`, --unit {', '.join(UNITS)}"
        )
    log = replace(log, kind=log.kind or kind)
    if log.kind not in LATENCIES or (log.is_timed and kind not in LATENCIES):
        return log, 1.0
    if kind in LATENCIES or time_ns is not None:
        return log, factor or time_ns or 1.0
    raise ResultError(
        f"{log.file}: response times may be in ns, or in µs (fio before 2.99): nothing tells it; "
        "accepted: --unit lat_ns or lat_us, or with the JSON output of the same run"
    )


def size_of(logs: Sequence[Log]) -> int | None:
    """Return the size of all requests, where every line has the same; None else."""
    sizes = {float(size) for log in logs for part in log.parts for size in np.unique(part[2])}
    return int(sizes.pop()) if len(sizes) == 1 and 0.0 not in sizes else None


def tracks(
    logs: Sequence[Log], unit: str | None = None, time_ns: float | None = None
) -> list[Track]:
    """Return logs of one run as tracks.

    Args:
        logs: All of one run, each process and figure once.
        unit: A key of `UNITS`, where names do not tell; None for nothing.
        time_ns: Unit of response times, where the version tells it; None for nothing.

    Raises:
        ResultError: for logs of two runs, and for values of which nothing tells the unit.
    """
    seen: dict[tuple[str, str], Log] = {}
    found: list[Track] = []
    for given in logs:
        log, factor = _as_told(given, unit, time_ns)
        before = seen.setdefault((log.kind, log.process), log)
        if before is not log:
            raise ResultError(
                f"{before.file}, {log.file}: the same figure of the same process, so they are of "
                "two runs; accepted: the logs of one"
            )
        for place, part in enumerate(log.parts):
            found += _of_part(log, f"{log.process}/{place}", part, factor)
    return found


def _of_part(log: Log, process: str, part: Sequence[Array], factor: float) -> Iterator[Track]:
    for at, direction in enumerate(DIRECTIONS):
        chosen = part[1] == at
        if not chosen.any():
            continue
        ms, _, sizes, values = (column[chosen] for column in part)
        # Times since 1970 (`log_unix_epoch`) begin where the log does.
        ends = np.maximum(ms.astype(np.float64) * 1e-3, 0.0)
        if log.kind == "clat_hist":
            begins, ends = windows(ends)
            yield Track("hist", process, direction, begins, ends, np.zeros(0), _hists(values))
            continue
        if _is_each(log.kind, ends, sizes, values):
            amounts = {"iops": np.ones_like(values), "bw": sizes}.get(log.kind, values * factor)
            yield Track(KINDS[log.kind], process, direction, ends, ends, amounts, is_each=True,
                        sizes=sizes)  # fmt: skip
            continue
        # Several values of one moment are of one window.
        ends, places = np.unique(ends, return_inverse=True)
        values = np.bincount(places, values) / np.bincount(places)
        begins, ends = windows(ends)
        scale = {"iops": ends - begins, "bw": (ends - begins) * 1024}.get(log.kind, factor)
        yield Track(KINDS[log.kind], process, direction, begins, ends, values * scale)


def _is_each(kind: str, ends_s: Array, sizes: Array, values: Array) -> bool:
    """Tell whether each line is one request: windows have no size, or equal gaps."""
    if not sizes.all():
        return False
    if kind == "iops":
        return bool((values == 1).all())
    gaps = np.diff(ends_s)
    if not len(gaps):
        return True
    low, high = np.quantile(gaps, (0.1, 0.9))
    return bool(high - low > REGULAR_RATIO * high or high <= 0.01)


def _hists(counts: Array) -> list[Histogram]:
    fine, ns = BINS[counts.shape[1]]
    values = [
        round((middle(at * fine, BITS) + middle(at * fine + fine - 1, BITS)) / 2 * ns)
        for at in range(counts.shape[1])
    ]
    return [
        Histogram.of_bins((values[at], int(row[at])) for at in np.flatnonzero(row))
        for row in counts
    ]
