"""Tables of IOPS, throughput or response times as CSV: wide, or a row for each cell.

```text
Block size (KiB),0/100,65/35,100/0        block,rw,iops,art_ms
4,62079,19760.5,70630.4                   4k,65/35,19760.5,1.6
8,32683.6,…                               …
```
The wide form is what reports export. The first row names the columns; lines that are empty or begin
with `#` are skipped. An error names line and column, and what is accepted.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from opennandlab.base.errors import ResultError
from opennandlab.base.units import kib, mix, size_in
from opennandlab.measured.document import Cell
from opennandlab.measured.figures import Ambiguous, decimal_mark, number

MIX = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)")
# A unit in a head: `0/100 (IOPS)`, `65/35 [MB/s]`.
IN_BRACKETS = re.compile(r"\s*[(\[]\s*([^)\]]*?)\s*[)\]]$")
UNITS_OF_HEADS = {
    "iops": "iops", "mb/s": "mb_s", "mib/s": "mib_s", "kib/s": "kib_s", "ms": "art_ms",
    "us": "art_us", "µs": "art_us", "μs": "art_us",
}  # fmt: skip
# Units of a size, of 1024 each however they are written: `k`, `kB`, `KiB`.
SIZES = {
    f"{letter}{ending}": 1 << 10 * power
    for power, letter in enumerate(("", "k", "m", "g", "t"))
    for ending in ("", "b", "i", "ib")
}
SIZE_MAX = 64 << 20
# No drive of this century does more.
MB_S_MAX = 100_000.0
# IOPS and MB/s of one cell may differ by this share, as of MB and MiB, and by what rounding leaves.
CONTRADICTION = 0.1
ROUNDING_MB_S = 0.5
# Name of a unit -> column of cells, and factor.
UNITS: dict[str, tuple[str, float]] = {
    "iops": ("iops", 1.0),
    "mb_s": ("mb_s", 1.0),
    "mib_s": ("mb_s", 1.048576),
    "kib_s": ("mb_s", 1.024e-3),
    "art_us": ("lat_us_mean", 1.0),
    "art_ms": ("lat_us_mean", 1e3),
    "mrt_us": ("lat_us_max", 1.0),
    "mrt_ms": ("lat_us_max", 1e3),
    "p99_us": ("lat_us_p99", 1.0),
    "p99_ms": ("lat_us_p99", 1e3),
    "p999_us": ("lat_us_p999", 1.0),
    "p999_ms": ("lat_us_p999", 1e3),
}
# Heads of the long form.
BLOCK_HEADS = {"block", "bs", "block_size", "block size", "size"}
BLOCK_UNITS = {"kib": 1024, "bytes": 1, "b": 1, "mib": 1 << 20}
READ_HEADS = {"rw", "r/w", "mix", "r/w mix (%)", "rw_pct", "read_pct", "rwmixread"}
ACCEPTED_MIX = "a mix of reads and writes such as 65/35"
ACCEPTED_SIZE = "a size such as 4, 0.5 (KiB), 4k, 4 KiB, 4096 B or 1 MiB"


@dataclass(frozen=True)
class _Line:
    number: int
    fields: list[str]


def is_table(text: str) -> bool:
    """Return whether a text has a first row with several columns."""
    try:
        return any(len(line.fields) > 1 for line in _lines(text, ""))
    except ResultError:
        return False


def cells(text: str, file: str, unit: str | None, *, any_order: bool = False) -> list[Cell]:
    """Return the cells of a table.

    Args:
        text: The table.
        file: Its name, for messages.
        unit: Of a wide table, a key of `UNITS`; None for IOPS.
        any_order: Take mixes in any order: their labels are right.

    Raises:
        ResultError: with file, line, column and what is accepted.
    """
    lines = list(_lines(text, file))
    if len(lines) < 2:
        raise ResultError(f"{file}: no rows; accepted: a header, and a row for each size")
    if all(len(line.fields) == len(lines[0].fields) > 2 and not line.fields[-1].strip()
           for line in lines):  # fmt: skip
        lines = [_Line(line.number, line.fields[:-1]) for line in lines]
    mark = decimal_mark(
        (text for line in lines[1:] for text in line.fields),
        parted_by_commas=_separator(text) == ",",
    )
    lines[0], unit = _without_units(lines[0], file, unit)
    if any(_reads(one) is not None for one in lines[0].fields[1:]):
        return list(_wide(lines, file, unit or "iops", mark, any_order=any_order))
    return list(_long(lines, file, unit, mark))


def _without_units(head: _Line, file: str, unit: str | None) -> tuple[_Line, str | None]:
    """Return heads of mixes without units in brackets, and the unit that they name."""
    fields = []
    for place, text in enumerate(head.fields, 1):
        said = IN_BRACKETS.search(text.strip())
        bare = IN_BRACKETS.sub("", text.strip())
        if said is None or _reads(bare) is None:
            fields.append(text)
            continue
        found = UNITS_OF_HEADS.get(said[1].lower())
        if found is None or (unit is not None and unit != found):
            other = ", ".join(UNITS_OF_HEADS) if found is None else f"one unit: {unit}"
            raise ResultError(
                f"{file}:{head.number}: column {place}: `{said[1]}` in its head; accepted: {other}"
            )
        unit = found
        fields.append(bare)
    return _Line(head.number, fields), unit


def _lines(text: str, file: str) -> Iterator[_Line]:
    """Yield rows with something in them; tabs and semicolons part columns too."""
    body = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    reader = csv.reader(io.StringIO(body), delimiter=_separator(body))
    try:
        for fields in reader:
            if any(one.strip() for one in fields) and not fields[0].startswith("#"):
                yield _Line(reader.line_num, fields)
    except csv.Error as error:
        raise ResultError(f"{file}:{reader.line_num}: {error}; accepted: CSV") from error


def _separator(text: str) -> str:
    first = next((one for one in text.splitlines() if one.strip("\ufeff ") and one[0] != "#"), "")
    return next((one for one in ("\t", ";") if one in first), ",")


def _wide(
    lines: Sequence[_Line], file: str, unit: str, mark: str | None, *, any_order: bool
) -> Iterator[Cell]:
    head = lines[0]
    scale = _scale(head.fields[0])
    at = f"{file}:{head.number}"
    mixes = []
    for place, text in enumerate(head.fields[1:], 2):
        read_pct = _reads(text)
        if read_pct is None:
            message = f"{at}: column {place}: `{text}` is not a mix; accepted: {ACCEPTED_MIX}"
            raise ResultError(message)
        if read_pct in mixes:
            raise ResultError(
                f"{at}: column {place}: {text} is given twice; accepted: each mix once"
            )
        mixes.append(read_pct)
    if not any_order:
        _refuse_disorder(at, head.fields[1:], mixes)
    seen: dict[int, int] = {}
    for line in lines[1:]:
        where = f"{file}:{line.number}"
        size = _size(where, 1, line.fields[0], scale, mark)
        if size in seen:
            raise ResultError(
                f"{where}: {kib(size)} KiB is given twice, first in line {seen[size]}; accepted: "
                "each size once"
            )
        seen[size] = line.number
        if len(line.fields) != len(head.fields):
            raise ResultError(
                f"{where}: {len(line.fields)} columns, and the header has {len(head.fields)}; "
                "accepted: the same number, each filled"
            )
        for place, (read_pct, text) in enumerate(zip(mixes, line.fields[1:], strict=True), 2):
            at = f"{where}: column {place} ({mix(read_pct)})"
            column, value = _value(at, text, unit, size, mark)
            yield Cell(size, read_pct, {column: value})


def _refuse_disorder(at: str, texts: Sequence[str], mixes: Sequence[float]) -> None:
    """Refuse mixes that neither rise nor fall: two heads were exchanged, or two columns."""
    steps = [later - earlier for earlier, later in pairwise(mixes)]
    if all(step > 0 for step in steps) or all(step < 0 for step in steps):
        return
    rising = sum(step > 0 for step in steps) * 2 >= len(steps)
    wrong = next(place for place, step in enumerate(steps) if (step > 0) != rising)
    raise ResultError(
        f"{at}: column {wrong + 3}: {texts[wrong + 1].strip()} after {texts[wrong].strip()}: the "
        "mixes neither rise nor fall, so two columns may be exchanged; accepted: mixes in order, "
        "or --any-order if the header is right"
    )


def _long(lines: Sequence[_Line], file: str, unit: str | None, mark: str | None) -> Iterator[Cell]:
    head = lines[0]
    at = f"{file}:{head.number}"
    heads = [one.strip().lower() for one in head.fields]
    block, scale = _block_head(at, heads)
    reads = next((place for place, one in enumerate(heads) if one in READ_HEADS), None)
    if reads is None:
        raise ResultError(f"{at}: no column of mixes; accepted: one of {', '.join(READ_HEADS)}")
    figures = {place: one for place, one in enumerate(heads) if one in UNITS}
    others = [one for place, one in enumerate(heads) if place not in {block, reads, *figures}]
    if "value" in others and unit is not None:
        figures[heads.index("value")] = unit
        others.remove("value")
    if not figures or others:
        named = f"`{others[0]}` is no figure" if others else "no column of figures"
        raise ResultError(f"{at}: {named}; accepted: {', '.join(UNITS)}; or `value`, with --unit")
    _refuse_repeated(at, [(place, UNITS[name][0]) for place, name in figures.items()], heads)
    seen: dict[tuple[int, float], int] = {}
    for line in lines[1:]:
        where = f"{file}:{line.number}"
        if len(line.fields) != len(heads):
            raise ResultError(
                f"{where}: {len(line.fields)} columns, and the header has {len(heads)}; accepted: "
                "the same number, each filled"
            )
        size = _size(where, block + 1, line.fields[block], scale, mark)
        read_pct = _mix(f"{where}: column {reads + 1} ({heads[reads]})", line.fields[reads])
        if (size, read_pct) in seen:
            raise ResultError(
                f"{where}: {kib(size)} KiB {mix(read_pct)} is given twice, first in line "
                f"{seen[size, read_pct]}; accepted: each cell once"
            )
        seen[size, read_pct] = line.number
        found = [
            _value(
                f"{where}: column {place + 1} ({heads[place]})",
                line.fields[place],
                name,
                size,
                mark,
            )
            for place, name in figures.items()
        ]
        _refuse_contradiction(where, dict(found), size)
        yield Cell(size, read_pct, dict(found))


def _refuse_repeated(at: str, figures: Sequence[tuple[int, str]], heads: Sequence[str]) -> None:
    """Refuse two columns of one figure, such as `mb_s` and `mib_s`: which one is meant?"""
    first: dict[str, int] = {}
    for place, column in figures:
        if column in first:
            raise ResultError(
                f"{at}: columns {first[column] + 1} (`{heads[first[column]]}`) and {place + 1} "
                f"(`{heads[place]}`) are the same figure; accepted: each figure once"
            )
        first[column] = place


def _refuse_contradiction(where: str, figures: Mapping[str, float], size: int) -> None:
    """Refuse IOPS and MB/s that do not follow from each other, as of exchanged columns or units."""
    if "iops" not in figures or "mb_s" not in figures:
        return
    follows = figures["iops"] * size * 1e-6
    if abs(figures["mb_s"] - follows) > CONTRADICTION * follows + ROUNDING_MB_S:
        raise ResultError(
            f"{where}: {figures['iops']:.4g} IOPS of {kib(size)} KiB are {follows:.4g} MB/s, not "
            f"{figures['mb_s']:.4g}; accepted: figures that agree, or one of them"
        )


def _block_head(at: str, heads: Sequence[str]) -> tuple[int, int]:
    """Return which column has sizes, and the unit of its numbers in bytes."""
    for place, one in enumerate(heads):
        name = one.replace("(", "_").replace("[", "_").partition("_")[0]
        if one in BLOCK_HEADS or name.strip() in {"block", "bs", "block size", "size"}:
            return place, _scale(one)
    raise ResultError(
        f"{at}: no column of sizes; accepted: block, bs or block_size, also with _kib or _bytes"
    )


def _scale(head: str) -> int:
    """Return the unit of bare sizes, in bytes, by the head of their column.

    >>> _scale("Block size (KiB)"), _scale("bs_bytes"), _scale("Size [B]"), _scale("block_size")
    (1024, 1, 1, 1024)
    """
    unit = head.lower().replace("(", "_").replace("[", "_").rstrip(")] ").rpartition("_")[2]
    return BLOCK_UNITS.get(unit.strip(), 1024)


def _reads(text: str) -> float | None:
    """Return the percent of reads of a mix; None for what is none.

    >>> _reads("65/35"), _reads("0/100"), _reads("60/30"), _reads("4")
    (65.0, 0.0, None, None)
    """
    found = MIX.fullmatch(text.strip().removesuffix("%").strip())
    if found is None or not math.isclose(float(found[1]) + float(found[2]), 100.0):
        return None
    return float(found[1])


def _mix(where: str, text: str) -> float:
    read_pct = _reads(text)
    if read_pct is None:
        try:
            read_pct = float(text)
        except ValueError:
            read_pct = -1.0
    if not 0.0 <= read_pct <= 100.0:
        raise ResultError(
            f"{where}: `{text}` is not a mix; accepted: {ACCEPTED_MIX}, or the percent of reads"
        )
    return read_pct


def _size(where: str, place: int, text: str, scale: int, mark: str | None) -> int:
    """Return a size in bytes; a bare number is in the unit of its column."""
    try:
        found = number(text, mark)
        size = found * scale if math.isfinite(found) else None
    except ValueError:
        if _reads(text) is not None:
            raise ResultError(
                f"{where}: column {place}: `{text}` is a mix where a size belongs: rows and "
                "columns are exchanged; accepted: a row for each size, a column for each mix"
            ) from None
        sized = size_in(text.strip().lower(), SIZES)
        size = None if sized is None else float(sized)
    if size is None or size < 1 or size != int(size):
        raise ResultError(
            f"{where}: column {place}: `{text}` is not a size; accepted: {ACCEPTED_SIZE}"
        )
    if not 512 <= size <= SIZE_MAX or size % 512:
        raise ResultError(
            f"{where}: column {place}: {size / 1024:g} KiB is not a request size; accepted: "
            f"multiples of 512 B up to {SIZE_MAX >> 20} MiB; bare numbers are KiB, others as 4096 B"
        )
    return int(size)


def _value(where: str, text: str, unit: str, size: int, mark: str | None) -> tuple[str, float]:
    column, factor = UNITS[unit]
    said = text.strip()
    if not said or said.lower() in {"-", "n/a", "nan", "null"}:
        raise ResultError(f"{where}: the field is empty; accepted: a number in {unit}")
    try:
        value = number(said, mark)
    except Ambiguous as error:
        raise ResultError(
            f"{where}: `{said}` {error}; accepted: without a thousands separator, or with "
            f"another number in the table that shows which character is the decimal point"
        ) from None
    except ValueError:
        raise ResultError(
            f"{where}: `{text}` is not a number; accepted: one in {unit} without its unit"
        ) from None
    if not math.isfinite(value) or value <= 0:
        raise ResultError(f"{where}: {said} is out of range; accepted: above 0, in {unit}")
    value *= factor
    rate = value * size * 1e-6 if column == "iops" else value if column == "mb_s" else 0.0
    if rate > MB_S_MAX:
        raise ResultError(
            f"{where}: {said} in {unit} would be {rate:.3g} MB/s: the unit is wrong; accepted: "
            f"rates up to {MB_S_MAX:.0f} MB/s; --unit names another of {', '.join(UNITS)}"
        )
    return column, value
