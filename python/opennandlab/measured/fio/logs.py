"""Logs of fio: bandwidth, IOPS, response times, and histograms, one file for each process.

```text
_bw _iops _lat _clat _slat   ms, value[, largest], direction, bs[, offset][, priority[, issued]]
_clat_hist                   ms, direction, bs, bin, bin, …
```
Values are KiB/s, IOPS and ns; before 2.99 response times were in µs, which only the version shows.
Without `log_avg_msec` there is a line for each request: then `_iops` is 1 everywhere, and requests
and bytes are counted. Histograms have 1,856 bins (2.x: 1,216, of µs), or 2^c times fewer; a bin of
these has the middle of those that it holds.

Source: HOWTO of fio, "Log File Formats"; `flush_samples` and `flush_hist_samples` of `iolog.c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from opennandlab.base.errors import ResultError
from opennandlab.measured.fio.course import INSTANT_S, LATENCIES, Array, Track, windows
from opennandlab.measured.fio.record import NUMBER_MAX, middle
from opennandlab.stats.histogram import Histogram

# Of a client of a server its host is behind it.
NAME = re.compile(r"(.*)_(bw|iops|lat|clat|slat|clat_hist)(?:\.(\d+))?\.log(?:\.[\w.:-]+)?$")
DIRECTIONS = ("read", "write", "trim")
COLUMNS = range(4, 9)
# Bins of a histogram -> how many of full width each holds, and ns of their unit.
BINS = {1856 >> c: (1 << c, 1) for c in range(7)} | {1216 >> c: (1 << c, 1000) for c in range(7)}
BITS = 6
# Gaps of windows are equal within this share, those of single requests are not.
REGULAR_RATIO = 0.1
# Processes in one file begin together within this time, or a window.
BEGIN_MS = 1000.0
ACCEPTED = (
    "lines `ms, value, direction (0, 1, 2), bytes` and up to three columns more, as fio logs them"
)
# `--unit` -> the log that it is of, and ns of response times.
UNITS = {"iops": ("iops", 0.0), "kib_s": ("bw", 0.0), "lat_ns": ("lat", 1.0),
         "lat_us": ("lat", 1e3), "clat_ns": ("clat", 1.0), "clat_us": ("clat", 1e3)}  # fmt: skip


@dataclass(frozen=True)
class Log:
    """A log, of one process or of several one after the other.

    Args:
        file: Its name, for messages.
        prefix: Of the name.
        kind: `bw`, `iops`, `lat`, `clat`, `slat` or `clat_hist`; empty for other names.
        process: Its number in the name; empty for none.
        columns: The columns that it has.
        parts: ms, direction, bytes and values of each process.
    """

    file: str
    prefix: str
    kind: str
    process: str
    columns: str
    parts: Sequence[tuple[Array, Array, Array, Array]]

    @property
    def told(self) -> str:
        """Its columns, and of how many processes it is if that follows from its times alone."""
        count = len(self.parts)
        several = f"; times begin again: {count} processes, which are summed" if count > 1 else ""
        return f"{self.columns}{several}"

    @property
    def is_joined(self) -> bool:
        """Whether its lines are no series: several processes, or a window more than once."""
        ms, ways, sizes, _ = self.parts[0]
        windows = np.unique(np.column_stack([ms, ways]), axis=0)
        return len(self.parts) > 1 or (not sizes.any() and len(windows) < len(ms))

    @property
    def counts(self) -> dict[str, int]:
        """Lines of each direction."""
        ways = np.concatenate([part[1] for part in self.parts])
        found = {name: int((ways == at).sum()) for at, name in enumerate(DIRECTIONS)}
        return {name: count for name, count in found.items() if count}


def read(text: str, file: str) -> Log | None:
    """Return the log that a text is; None for other texts.

    Raises:
        ResultError: for an invalid line, with file, line and the accepted form.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    width = len(_fields(lines[0])) if lines else 0
    named = NAME.match(PurePath(file).name)
    is_hist = width - 3 in BINS
    if not is_hist and (width not in COLUMNS or (named is None and not _is_like(lines))):
        return None
    data = np.array(_rows(text.splitlines(), file), dtype=np.float64)
    if is_hist:
        at, names = 1, ["ms", "direction", "bs", f"{width - 3} bins"]
        values: Array = data[:, 3:]
    else:
        at, names = _columns(data, file)
        values = data[:, 1]
    wrong = np.flatnonzero(data[:, at] >= len(DIRECTIONS))
    if wrong.size or width <= at + 1:
        raise ResultError(f"{file}: row {1 + int(wrong[:1].sum())}: no direction; accepted: "
                          f"{ACCEPTED}")  # fmt: skip
    # If times begin again, another process was appended.
    falls = np.flatnonzero(np.diff(data[:, 0]) < 0) + 1
    ends = [*falls.tolist(), len(data)]
    if named is None and falls.size and min(np.diff([0, *ends])) < 2:
        return None
    _check_begins(data[:, 0], [0, *falls.tolist()], file)
    columns = (data[:, 0], data[:, at], data[:, at + 1], values)
    parts = []
    for first, last in pairwise([0, *ends]):
        ms, ways, sizes, found = (column[first:last] for column in columns)
        parts.append((ms, ways, sizes, found))
    prefix, kind, process = named.groups("") if named else ("", "", "")
    return Log(file, prefix, "clat_hist" if is_hist else kind, process, ", ".join(names), parts)


def _check_begins(ms: Array, firsts: Sequence[int], file: str) -> None:
    """Check that times which go back go back to the begin, as those of a further process do.

    Raises:
        ResultError: at the first that do not.
    """
    gaps = np.diff(ms)
    window = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 0.0
    slack = max(BEGIN_MS, window)
    for first in firsts:
        if abs(ms[first] - ms[0]) > slack:
            raise ResultError(
                f"{file}: row {first + 1}: the time goes back from {ms[first - 1]:.0f} to "
                f"{ms[first]:.0f} ms, not to the beginning at {ms[0]:.0f} ms; accepted: times that "
                "grow, or several processes that begin together"
            )


def _fields(line: str) -> list[str]:
    return line.replace(",", " ").split()


def _is_like(lines: Sequence[str]) -> bool:
    """Return whether lines are those of a log, by the first and the last but one: it may be cut."""
    whole = lines[:-1] if len(lines) > 2 else lines
    shown = [_fields(line) for line in (*whole[:50], whole[-1])]
    return len(lines) > 1 and all(
        len(row) == len(shown[0]) and row[2] in {"0", "1", "2"}
        and all(row[at].isdecimal() for at in (0, 1, 3)) for row in shown
    )  # fmt: skip


def _rows(lines: Sequence[str], file: str) -> list[list[int]]:
    """Return the numbers of all lines, each of as many.

    Raises:
        ResultError: at the first line that has others.
    """
    rows: list[list[int]] = []
    for number, line in enumerate(lines, 1):
        fields = _fields(line)
        if not fields:
            continue
        is_plain = line.isascii() and "_" not in line
        try:
            row = [_whole(field) for field in fields] if is_plain else []
        except ValueError:
            row = []
        wrong = "no numbers" if not row else ""
        if row and len(row) != len(rows[0] if rows else row):
            wrong = f"{len(row)} numbers where the first line has {len(rows[0])}"
        elif row and not 0 <= min(row) <= max(row) < NUMBER_MAX:
            wrong = "a number below 0 or beyond 2^63"
        if wrong:
            said = f"{file}: line {number}: `{line.strip()[:60]}`: {wrong}"
            raise ResultError(f"{said}; accepted: {ACCEPTED}")
        rows.append(row)
    return rows


def _whole(field: str) -> int:
    return int(field, 16 if field[:2] == "0x" else 10)


def _columns(data: Array, file: str) -> tuple[int, list[str]]:
    """Return the column of the direction, and the names of all.

    With `log_window_value=both` the largest value is before the direction. A fifth column is the
    offset if all are multiples of the size, and not all 0; else the priority.

    Raises:
        ResultError: for largest values below the values.
    """
    names = ["ms", "value", "direction", "bs"]
    if data.shape[1] > 4 and (data[:, 2] > 2).any() and (data[:, 3] <= 2).all():
        wrong = np.flatnonzero(data[:, 2] < data[:, 1])
        if wrong.size:
            raise ResultError(
                f"{file}: row {1 + wrong[0]}: neither a direction, nor a largest value that is not "
                f"below the first; accepted: {ACCEPTED}"
            )
        names.insert(2, "largest")
    at, more = names.index("direction"), data.shape[1] - len(names)
    if more > 0:
        sizes, fifth = data[:, at + 1], data[:, len(names)]
        is_place = sizes.all() and fifth.any() and not np.fmod(fifth, sizes).any()
        names += ["offset"] if is_place or more > 1 else ["priority"]
        names += ["priority", "issue time"][: more - 1]
    return at, names


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
        unit: A key of `UNITS`, for logs of other names and versions; None for nothing.
        time_ns: Unit of response times, by the version; None for an unknown one.

    Raises:
        ResultError: for logs of two runs, and for values of an unknown unit.
    """
    if unit is not None and unit not in UNITS:
        raise ResultError(
            f"--unit {unit[:20]} is not a unit of a log; accepted: {', '.join(UNITS)}"
        )
    named, named_ns = UNITS[unit] if unit else ("", 0.0)
    seen: dict[tuple[str, str], Log] = {}
    found: list[Track] = []
    for log in logs:
        kind = log.kind or named
        before = seen.setdefault((kind, log.process), log)
        if before is not log:
            raise ResultError(
                f"{before.file}, {log.file}: the same figure of the same process, so they belong "
                f"to two runs; accepted: the logs of one"
            )
        # Priorities came later than ns.
        by_column = 1.0 if log.columns.endswith("priority") else 0.0
        ns = named_ns or time_ns or by_column
        if not kind or (kind in LATENCIES and not ns):
            what = (
                "response times may be in ns, or in µs (before 2.99)"
                if kind else "its name is none that fio gives (x_iops.1.log)"
            )  # fmt: skip
            raise ResultError(
                f"{log.file}: {what}; accepted: of `pts import` --unit {', '.join(UNITS)}, or the "
                "JSON output of the same run, given with it"
            )
        for place, part in enumerate(log.parts):
            found += _of_part(kind, f"{log.process}/{place}", part, ns)
    return found


def _of_part(
    kind: str, process: str, part: tuple[Array, Array, Array, Array], time_ns: float
) -> Iterator[Track]:
    for at, direction in enumerate(DIRECTIONS):
        chosen = part[1] == at
        if not chosen.any():
            continue
        ms, _, sizes, values = (column[chosen] for column in part)
        ends = ms * 1e-3
        if kind == "clat_hist":
            begins, ends = windows(ends)
            yield Track(kind, process, direction, begins, ends, values[:, 0], _hists(values))
        elif _is_each(kind, ends, sizes, values):
            figure, amounts = {"iops": ("ios", np.ones_like(values)), "bw": ("bytes", sizes)}.get(
                kind, (f"{kind}_hist", values * time_ns)
            )
            begins = ends - INSTANT_S
            yield Track(figure, process, direction, begins, ends, amounts, sizes=sizes)
        else:
            # Several values of one moment are of one window.
            ends, places = np.unique(ends, return_inverse=True)
            values = np.bincount(places, values) / np.bincount(places)
            begins, ends = windows(ends)
            figure, scale = {
                "iops": ("ios", ends - begins), "bw": ("bytes", (ends - begins) * 1024),
            }.get(kind, (kind, np.full_like(ends, time_ns)))  # fmt: skip
            yield Track(figure, process, direction, begins, ends, values * scale)


def _is_each(kind: str, ends_s: Array, sizes: Array, values: Array) -> bool:
    """Return whether each line is one request: windows have no size, or equal gaps."""
    if kind == "iops" or not sizes.all():
        return bool(sizes.all() and (values == 1).all())
    low, high = np.quantile(np.diff(ends_s), (0.1, 0.9)) if ends_s.size > 1 else (0.0, 0.0)
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
