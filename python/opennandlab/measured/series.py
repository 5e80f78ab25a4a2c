"""Values of rounds from a text: a list of numbers, a column of a table, or a log of fio.

A log of fio (`write_iops_log`, `write_bw_log`, `write_lat_log`) is told by its content: time in ms,
value, direction (0 read, 1 write, 2 trim), size of a request, and up to two columns more.

Source: HOWTO of fio, "Log File Formats".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from opennandlab.base.errors import ConfigError

DIRECTIONS = {"0": "read", "1": "write", "2": "trim"}
LOG_COLUMNS = (4, 5, 6)
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


def read(text: str, column: str | None = None, direction: str | None = None) -> Series:
    r"""Return the values of a text.

    Args:
        text: Numbers, apart by commas, semicolons, spaces or lines; or a table.
        column: Of a table, its number from 1, or its name in the first line.
        direction: Of a log of fio: `read`, `write` or `trim`.

    Raises:
        ConfigError: for what is no number, and for a table where nobody said which column.

    >>> read("5300, 5200\n5050").values
    [5300.0, 5200.0, 5050.0]
    >>> read("0, 79617, 0, 0\n1000, 79600, 0, 0").values
    [79617.0, 79600.0]
    """
    lines = [
        _Line(number, _fields(line))
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if column is not None:
        if direction is not None:
            raise ConfigError("--direction", "is of a log of fio; accepted: it, or --column")
        return _column(lines, column)
    if _is_log(lines):
        return _log(lines, direction)
    if direction is not None:
        raise ConfigError(
            "--direction", "the file is no log of fio (ms, value, direction, size, …)"
        )
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
    """Return the columns of a line, parted by commas, semicolons or tabs, else by spaces."""
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
    """Tell whether lines are rows of several columns; the last one may be cut."""
    counts = {len(line.fields) for line in (lines[:-1] if len(lines) > 2 else lines)}
    return len(lines) > 1 and len(counts) == 1 and counts.pop() > 1


def _is_log(lines: Sequence[_Line]) -> bool:
    whole = lines[:-1] if len(lines) > 2 else lines
    if not _is_table(lines) or len(lines[0].fields) not in LOG_COLUMNS:
        return False
    if not all(line.fields[0].isdecimal() and line.fields[2] in DIRECTIONS
               and line.fields[3].isdecimal() for line in whole):  # fmt: skip
        return False
    return all(int(one.fields[0]) <= int(two.fields[0]) for one, two in pairwise(whole))


def _log(lines: Sequence[_Line], direction: str | None) -> Series:
    counts: dict[str, int] = {}
    for line in lines:
        name = DIRECTIONS.get(line.fields[2], "") if len(line.fields) > 2 else ""
        counts[name] = counts.get(name, 0) + 1
    told = " and ".join(f"{count} of {name}" for name, count in counts.items() if name)
    if direction is None and len(counts.keys() - {""}) > 1:
        raise ConfigError(
            "--direction", f"the log has values {told}; accepted: {', '.join(DIRECTIONS.values())}"
        )
    chosen = direction or next(name for name in counts if name)
    if chosen not in counts:
        raise ConfigError("--direction", f"the log has no {chosen}: its values are {told}")
    values = [
        _value(line, 1, lines) for line in lines
        if len(line.fields) < 3 or DIRECTIONS.get(line.fields[2]) == chosen
    ]  # fmt: skip
    return Series(values, f"log of fio: {len(values)} values of {chosen} (column 2)")


def _column(lines: Sequence[_Line], column: str) -> Series:
    if not lines:
        raise ConfigError("file", "has no lines; accepted: a table")
    heads = lines[0].fields if _has_heads(lines) else []
    if column in heads:
        place = heads.index(column)
    elif column.isdecimal() and 1 <= int(column) <= len(lines[0].fields):
        place = int(column) - 1
    else:
        raise ConfigError("--column", f"`{column}` is none; accepted: {_ways(lines)}")
    rows = lines[1:] if heads else lines
    values = [_value(line, place, lines) for line in rows]
    name = f" ({heads[place]})" if heads else ""
    return Series(values, f"column {place + 1}{name}: {len(values)} values")


def _value(line: _Line, place: int, lines: Sequence[_Line]) -> float:
    wanted = len(lines[0].fields)
    if len(line.fields) != wanted:
        raise ConfigError(
            "file", f"line {line.number} has {len(line.fields)} columns where the first has "
            f"{wanted}; accepted: as many"
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
