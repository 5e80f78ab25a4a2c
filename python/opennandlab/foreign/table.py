"""Tables of keys, and the one mechanism that makes rows and a document of them.

```text
Field  name there, unit there, how its text is read, its default there
Rule   names there ──► our key, by a function of all values; class and note of the row
```
A rule may find two values: as *written* in the file, and as *run* by the other simulator.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opennandlab.base.errors import ConfigError

# Classes of rows, best first.
KINDS = ("exact", "converted", "approximated", "defaulted", "unread", "dropped")
UNKNOWN = "not known"
# Largest whole number that is read.
WHOLE_MAX = (1 << 64) - 1


class Absent:
    """A value that is not set."""

    def __bool__(self) -> bool:
        """Return false: it is none."""
        return False


ABSENT = Absent()


@dataclass(frozen=True)
class Entry:
    """A key with its value in a file.

    Args:
        name: Of the element, option, define or key.
        text: Its value.
        place: File and line.
        group: Of keys, such as a flow; before its name in rows.
    """

    name: str
    text: str
    place: str
    group: str = ""

    @property
    def label(self) -> str:
        """Its name in rows."""
        return f"{self.group}/{self.name}" if self.group else self.name


Reader = Callable[[str], Any]


@dataclass(frozen=True)
class Field:
    """A key of another simulator.

    Args:
        unit: Of its value there.
        read: Makes a value of its text; raises `ValueError` with the accepted form.
        default: Value there if it is missing; `ABSENT`: nothing.
    """

    unit: str
    read: Reader
    default: Any = ABSENT


@dataclass(frozen=True)
class Found:
    """What a rule found.

    Args:
        written: Value of our key, as in the file; `ABSENT`: the key is not set.
        run: Value as the other simulator runs it; `ABSENT`: the same.
        kind: Class of the row; empty: that of the rule.
        note: Of the row; empty: that of the rule.
        figures: Whether the loss changes figures; None: as the class has it.
        unused: Names whose values have no effect there: their rows are `unread`.
    """

    written: Any = ABSENT
    run: Any = ABSENT
    kind: str = ""
    note: str = ""
    figures: bool | None = None
    unused: tuple[str, ...] = ()


Values = Mapping[str, Any]


@dataclass(frozen=True)
class Rule:
    """What becomes of keys of another simulator.

    Args:
        names: Keys there whose rows it makes, with spaces between; in parentheses, a constant of
            the other simulator in no file.
        key: Ours, by dotted path; empty for none.
        kind: Class of the rows.
        note: Why, for the report.
        value: Our value from all values there; None: nothing is set.
        figures: Whether a dropped key changes figures.
    """

    names: str
    key: str
    kind: str
    note: str = ""
    value: Callable[[Values], Any] | None = None
    figures: bool = False

    @property
    def fields(self) -> list[str]:
        """The keys there."""
        return [] if self.names.startswith("(") else self.names.split()


@dataclass(frozen=True)
class Row:
    """A key of a source, and what became of it."""

    source: str
    value: str
    unit: str
    place: str
    kind: str
    key: str = ""
    written: Any = ABSENT
    run: Any = ABSENT
    note: str = ""
    figures: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; keys without a value are left out."""
        given = {
            "source": self.source,
            "value": self.value,
            "unit": self.unit,
            "place": self.place,
            "class": self.kind,
            "key": self.key,
            "as_written": self.written,
            "as_run": self.run,
            "note": self.note,
            "changes_figures": self.figures,
        }
        return {name: value for name, value in given.items() if value not in ("", ABSENT)}


@dataclass
class Translation:
    """Rows, and our keys with their values and origins."""

    rows: list[Row] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def set(self, key: str, value: object, origin: str) -> None:
        """Set one of our keys."""
        self.keys[key] = value
        self.origins[key] = origin


def read(entries: Iterable[Entry], fields: Mapping[str, Field]) -> tuple[dict[str, Any], list[Row]]:
    """Return values by name, defaults filled in, and rows of entries that are not used.

    Raises:
        ConfigError: for a text that is no value of its field, with file and line.
    """
    values = {name: one.default for name, one in fields.items() if one.default is not ABSENT}
    rows: list[Row] = []
    last: dict[str, Entry] = {}
    for entry in entries:
        if entry.name not in fields:
            rows.append(_row(entry, "", "dropped", note=UNKNOWN, figures=True))
            continue
        if before := last.get(entry.name):
            note = f"given again at {entry.place}, and the last one counts"
            rows.append(_row(before, fields[entry.name].unit, "unread", note=note))
        last[entry.name] = entry
        values[entry.name] = parsed(entry, fields[entry.name])
    return values, rows


def parsed(entry: Entry, one: Field) -> Any:  # noqa: ANN401 (as varied as the files)
    """Return the value of an entry.

    Raises:
        ConfigError: with file, line and the accepted form.
    """
    try:
        return one.read(entry.text.strip())
    except ValueError as error:
        message = f"`{entry.text.strip()}` at {entry.place}; accepted: {error}"
        raise ConfigError(entry.label, message) from error


def translate(
    entries: Sequence[Entry],
    fields: Mapping[str, Field],
    rules: Iterable[Rule],
    *,
    as_run: bool,
    more: Mapping[str, Any] | None = None,
) -> tuple[Translation, dict[str, Any]]:
    """Return what becomes of entries, and their values by name.

    Args:
        entries: Of the file.
        fields: That it may have.
        rules: What becomes of it.
        as_run: Take values as the other simulator runs them, not as written.
        more: Further values for the rules.

    Raises:
        ConfigError: for values that are none, and those that a rule refuses.
    """
    values, unused = read(entries, fields)
    values |= more or {}
    given = {entry.name: entry for entry in entries}
    made = Translation()
    for rule in rules:
        found = _found(rule, values)
        run = found.written if found.run is ABSENT else found.run
        ours = run if as_run else found.written
        kind = found.kind or rule.kind
        if rule.key and ours is not ABSENT:
            counted = [name for name in rule.fields if name not in found.unused]
            made.set(rule.key, ours, _origin(rule, counted, given, fields, kind))
        made.rows += _rows(rule, found, given, fields, kind)
    order = {entry: place for place, entry in enumerate(entries)}
    made.rows += unused
    places = {(entry.label, entry.place): order[entry] for entry in entries}
    made.rows.sort(key=lambda row: places.get((row.source, row.place), len(order)))
    return made, values


def _found(rule: Rule, values: Values) -> Found:
    if rule.value is None:
        return Found()
    found = rule.value(values)
    return found if isinstance(found, Found) else Found(found)


def _rows(
    rule: Rule, found: Found, given: Mapping[str, Entry], fields: Mapping[str, Field], kind: str
) -> list[Row]:
    note = found.note or rule.note
    loses = found.figures
    if loses is None:
        loses = kind == "approximated" or (kind == "dropped" and rule.figures)
    written, run = found.written, found.run
    told = {"note": note, "figures": loses, "written": written}
    told["run"] = ABSENT if run is ABSENT or run == written else run
    key = rule.key if written is not ABSENT or run is not ABSENT else ""
    if not rule.fields:
        return [Row(rule.names, "", "", "", kind, key, **told)] if key or note else []
    rows = []
    for name in rule.fields:
        if name in given and name in found.unused:
            rows.append(_row(given[name], fields[name].unit, "unread", note=note))
        elif name in found.unused:
            continue
        elif name in given:
            rows.append(_row(given[name], fields[name].unit, kind, key=key, **told))
        elif fields[name].default is not ABSENT and key:
            value = _text(fields[name].default)
            rows.append(Row(name, value, fields[name].unit, "", "defaulted", key, **told))
    return rows


def _row(entry: Entry, unit: str, kind: str, **told: Any) -> Row:  # noqa: ANN401
    return Row(entry.label, " ".join(entry.text.split()), unit, entry.place, kind, **told)


def _origin(
    rule: Rule,
    names: Sequence[str],
    given: Mapping[str, Entry],
    fields: Mapping[str, Field],
    kind: str,
) -> str:
    """Return the comment above a key: the origin of its value."""
    used = [given[name] for name in names if name in given]
    parts = [f"{entry.label} {' '.join(entry.text.split())}" for entry in used]
    parts += [
        f"{name} {_text(fields[name].default)} (default there)"
        for name in names
        if name not in given and fields[name].default is not ABSENT
    ]
    where = f"{used[0].place.rpartition(':')[0]}: " if used else ""
    text = ", ".join(parts) or f"of that program: {rule.names.strip('()')}"
    return f"{where}{text}; {kind}."


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | set):
        return ",".join(map(str, value))
    return f"{value}"


def whole(first: int = 0, last: int = WHOLE_MAX) -> Reader:
    """Return a reader of whole numbers.

    >>> whole(1, 9)("7")
    7
    """

    def take(text: str) -> int:
        if re.fullmatch(r"[+-]?[0-9]{1,24}", text) and first <= int(text) <= last:
            return int(text)
        raise ValueError(f"a whole number from {first} to {last}")

    return take


def decimal(first: float = 0.0, last: float = 1e18, *, above: bool = False) -> Reader:
    """Return a reader of decimal numbers; `above`: `first` itself is refused.

    >>> decimal(0.0, 1.0)("0.07")
    0.07
    """

    def take(text: str) -> float:
        if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text[:64]):
            value = float(text[:64])
            begins = value > first if above else value >= first
            if math.isfinite(value) and begins and value <= last:
                return value
        start = f"above {first:g}" if above else f"from {first:g}"
        raise ValueError(f"a number {start} to {last:g}")

    return take


def word(*accepted: str) -> Reader:
    """Return a reader of one of some words; small letters count as large ones.

    >>> word("NVME", "SATA")("nvme")
    'NVME'
    """

    def take(text: str) -> str:
        if text.upper() in accepted:
            return text.upper()
        raise ValueError(", ".join(accepted))

    return take


def truth(text: str) -> bool:
    """Read `true` or `false`.

    Raises:
        ValueError: for anything else.
    """
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    raise ValueError("true or false")


def plain(text: str) -> str:
    """Read any text."""
    return text


def always(value: object) -> Callable[[Values], Any]:
    """Return a rule that takes a value whatever the file has."""
    return lambda _values: value


# No simulator of these models bit errors.
ERROR_FREE = (
    Rule("(no bit errors)", "nand.rber_floor", "exact", value=always(0.0)),
    Rule("(no bit errors)", "nand.rber_ceil", "exact", value=always(0.0)),
    Rule("(no error correction)", "ecc.algorithm", "exact", value=always("none")),
)
