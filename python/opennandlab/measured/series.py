"""Values of rounds from texts: a list of numbers, a column of a table, or a series of fio.

Logs of fio (`write_iops_log`, `write_bw_log`, `write_lat_log`, `write_hist_log`) are recognised by
their content, and its JSON with `--status-interval` too; those of several processes are joined
interval by interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opennandlab.base.errors import ConfigError
from opennandlab.measured.fio import course, logs
from opennandlab.measured.fio.jobs import is_output
from opennandlab.measured.fio.text import pieces, runs

# All directions together.
ALL = "all"
# What is left of the last interval when a run ends is no value of a round.
WHOLE_RATIO = 0.9
# Columns that are shown of a table that is refused, and values of each.
SHOWN_COLUMNS, SHOWN_VALUES, SHOWN_CHARS = 8, 3, 16


@dataclass(frozen=True)
class Series:
    """Values in order.

    Args:
        values: The values; `nan` for one that is missing.
        said: Which column of which table they are; empty for a list.
    """

    values: list[float]
    said: str = ""


@dataclass(frozen=True)
class _Line:
    number: int
    fields: list[str]


def of_texts(
    given: Sequence[tuple[str, str]], column: str | None = None, direction: str | None = None
) -> Series:
    """Return the values of one text, or of the logs of one run.

    Args:
        given: Name and text of each file.
        column: Of a table, its number or name; of several figures of fio, the figure.
        direction: Of fio: `read`, `write`, `trim`, or `all` of them together.

    Raises:
        ConfigError: for other words than numbers, and for several figures without a choice.
        ResultError: for a log of fio that is damaged, or logs of two runs.
    """
    outputs = [_statuses(file, text) for file, text in given]
    taken = [
        None if outputs[at] else logs.read(text, file) for at, (file, text) in enumerate(given)
    ]
    if len(given) == 1 and not outputs[0]:
        (log,) = taken
        if log is None or (column is not None and log.kind != "clat_hist"):
            return read(given[0][1], column, direction)
        if log.kind != "clat_hist" and not log.is_joined and direction != ALL:
            return _of_log(log, direction)
    known = [log for log in taken if log is not None]
    if len(known) + sum(map(bool, outputs)) < len(given) or (outputs[0] and len(given) > 1):
        raise ConfigError("file", "several files, not all of them logs of fio; accepted: one, or "
                          "the logs of one run")  # fmt: skip
    # Of which unit response times are makes no difference to the rule.
    tracks = course.of_statuses(outputs[0]) if outputs[0] else logs.tracks(known, time_ns=1.0)
    return _of_course(tracks, column, direction)


def _statuses(file: str, text: str) -> list[Mapping[str, Any]]:
    """Return the statuses of one run; none for other texts."""
    if '"fio version"' not in text:
        return []
    found = pieces(text)
    if found.cut is not None:
        raise ConfigError(file, f"breaks off or is damaged at character {found.cut.at}; accepted: "
                          "whole JSON of fio")  # fmt: skip
    several = runs([one for one in found.documents if is_output(one)])
    if len(several) != 1 or len(several[0]) < 2:
        raise ConfigError(file, f"{len(several)} runs of fio, no series; accepted: the statuses of "
                          "one run (--status-interval), or its logs")  # fmt: skip
    return several[0]


def _of_log(log: logs.Log, direction: str | None) -> Series:
    """Return the values of a log as they are written."""
    chosen = _direction(log.counts, direction, "log")
    part = log.parts[0]
    values = part[3][part[1] == logs.DIRECTIONS.index(chosen)]
    return Series(
        values.tolist(), f"log of fio: {len(values)} values of {chosen} (column 2): {log.columns}"
    )


def _direction(counts: Mapping[str, int], direction: str | None, what: str) -> str:
    told = " and ".join(f"{count} of {name}" for name, count in counts.items())
    if direction is None and len(counts) > 1:
        raise ConfigError(
            "--direction",
            f"the {what} has values {told}; accepted: {', '.join(logs.DIRECTIONS)}, {ALL}",
        )
    chosen = direction or next(iter(counts))
    if chosen != ALL and chosen not in counts:
        raise ConfigError("--direction", f"the {what} has no {chosen}: its values are {told}")
    return chosen


def _of_course(tracks: Sequence[course.Track], column: str | None, direction: str | None) -> Series:
    counts: dict[str, int] = {}
    for one in tracks:
        counts[one.direction] = max(counts.get(one.direction, 0), len(one.ends_s))
    if not counts:
        raise ConfigError("file", "the series has no requests; accepted: one of a run with some")
    chosen = _direction(counts, direction, "series")
    try:
        found = course.joined([one for one in tracks if chosen in {ALL, one.direction}])
    except ValueError as error:
        raise ConfigError("file", f"{error}; accepted: the logs of one run") from None
    names = [name for name in found.columns if not name.startswith(("read_", "write_"))]
    name = column or (names[0] if len(names) == 1 or names[0] == "iops" else "")
    if name not in names:
        raise ConfigError("--column", f"`{name}` is not a column of the series; accepted: "
                          f"{', '.join(names)}")  # fmt: skip
    values = found.columns[name].tolist()
    lengths = np.diff(found.edges_s)
    said = f"{name} of {chosen}, {len(values)} intervals of {lengths[0]:g} s"
    if (count := len({one.process for one in tracks if chosen in {ALL, one.direction}})) > 1:
        said += f", {count} processes together"
    if len(values) > 1 and lengths[-1] < WHOLE_RATIO * lengths[0]:
        said += f"; the last, of {lengths[-1]:.3g} s, is left out"
        values.pop()
    return Series(values, said)


def read(text: str, column: str | None = None, direction: str | None = None) -> Series:
    r"""Return the values of a list or of a table.

    Args:
        text: Numbers, apart by commas, semicolons, spaces or lines; or a table.
        column: Of a table, its number from 1, or its name in the first line.
        direction: None; of others it is refused.

    Raises:
        ConfigError: for other words than numbers, and for a table without a chosen column.

    >>> read("5300, 5200\n5050").values
    [5300.0, 5200.0, 5050.0]
    """
    lines = [
        _Line(number, _fields(line))
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if direction is not None:
        raise ConfigError(
            "--direction",
            "the file is not a log of fio (ms, value, direction, size, …); accepted: one, or "
            "--column",
        )
    if column is not None:
        return _column(lines, column)
    if _is_table(lines):
        raise ConfigError("file", f"a table of {_shape(lines)}; accepted: --column, {_ways(lines)}")
    return Series([number("file", word) for word in words(text)])


def words(text: str) -> Iterator[str]:
    """Yield the values of a list; `nan` for one that is missing between two commas."""
    for line in text.splitlines():
        fields = line.replace(";", ",").strip().removesuffix(",")
        for field in fields.split(",") if fields else []:
            yield from field.split() or ["nan"]


def number(origin: str, word: str) -> float:
    """Return the number that a word is.

    Raises:
        ConfigError: for what is none.
    """
    try:
        return float(word)
    except ValueError:
        accepted = "numbers, apart by commas or spaces"
        raise ConfigError(origin, f"`{word[:40]}` is not a number; accepted: {accepted}") from None


def _fields(line: str) -> list[str]:
    """Return the columns of a line, separated by commas, semicolons or tabs, else by spaces."""
    if re.search("[,;\t]", line):
        return [field.strip() for field in re.split("[,;\t]", line.strip())]
    return line.split()


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _has_heads(lines: Sequence[_Line]) -> bool:
    return bool(lines) and not any(_is_number(word) for word in lines[0].fields)


def _is_table(lines: Sequence[_Line]) -> bool:
    """Return whether lines are rows of several columns; the last one may be cut."""
    counts = {len(line.fields) for line in (lines[:-1] if len(lines) > 2 else lines)}
    return len(lines) > 1 and len(counts) == 1 and counts.pop() > 1


def _column(lines: Sequence[_Line], column: str) -> Series:
    if not lines:
        raise ConfigError("file", "has no lines; accepted: a table")
    heads = lines[0].fields if _has_heads(lines) else []
    if column in heads:
        place = heads.index(column)
    elif column.isdecimal() and 1 <= int(column) <= len(lines[0].fields):
        place = int(column) - 1
    else:
        raise ConfigError("--column", f"`{column}` is not a column; accepted: {_ways(lines)}")
    rows = lines[1:] if heads else lines
    values = [_value(line, place, lines) for line in rows]
    name = f" ({heads[place]})" if heads else ""
    return Series(values, f"column {place + 1}{name}: {len(values)} values")


def _value(line: _Line, place: int, lines: Sequence[_Line]) -> float:
    wanted = len(lines[0].fields)
    if len(line.fields) != wanted:
        raise ConfigError(
            "file", f"line {line.number} has {len(line.fields)} columns, and the first has "
            f"{wanted}; accepted: the same number"
        )  # fmt: skip
    return number(f"file, line {line.number}", line.fields[place] or "nan")


def _shape(lines: Sequence[_Line]) -> str:
    """Return what the columns of a table look like."""
    heads = lines[0].fields if _has_heads(lines) else []
    rows = lines[1:] if heads else lines
    count = len(lines[0].fields)
    columns = []
    for place in range(min(count, SHOWN_COLUMNS)):
        shown = [
            line.fields[place][:SHOWN_CHARS] for line in rows[:SHOWN_VALUES]
            if place < len(line.fields)
        ]  # fmt: skip
        name = f" {heads[place][:SHOWN_CHARS]}" if heads else ""
        columns.append(f"column {place + 1}{name} ({', '.join(shown)}, …)")
    more = f" and {count - SHOWN_COLUMNS} more" if count > SHOWN_COLUMNS else ""
    return f"{count} columns and {len(rows)} rows: {', '.join(columns)}{more}"


def _ways(lines: Sequence[_Line]) -> str:
    """Return how a column may be named."""
    names = f", or {', '.join(lines[0].fields[:SHOWN_COLUMNS])}" if _has_heads(lines) else ""
    return f"1 to {len(lines[0].fields)}{names}; or a list, one value a line"
