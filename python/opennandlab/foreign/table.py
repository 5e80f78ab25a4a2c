"""Tables of keys, and the one mechanism that makes rows and a document of them.

A file of `tables/` has a line for each key of the other simulator, columns between tabs:

```text
names there  unit there  accepted  default there  our key  class  how  note
? condition                                                class  how  note
```
`names` with blanks between are alike, one may begin with `section:`, `*` is any text, and a
name in parentheses is a constant of the other simulator in no file. `accepted` is `1..2^20`,
`>0.0..1.0` (a decimal number above 0), `A/B` (one of these words), `bool`, `text`, or a function of
the module. `"` as our key: part of the value of the line above. A star behind the class: the
loss changes figures; a minus: it does not. `refused`: an error of the key that `how` names. `$name`
in a note or in JSON is a value. `how` our value is found; empty, and it is not set:

```text
= (name)  a value      /1000  a share of it      product  of all names      lower  its word
share     r/(1-r)      :0.29  this JSON value    else     a function of the module, and its words
```
Of the lines `?` the first counts whose conditions all hold, such as `NAME=A/B`, `NAME!=A`,
`NAME>=$OTHER` and `.>0`, where a dot is the key itself. A function may find two values: as
*written* in the file, and as *run* by the other simulator.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from string import Template
from typing import Any

from opennandlab.base.errors import ConfigError

FOLDER = Path(__file__).parent / "tables"
COLUMNS = 8
DECIMAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
# Classes of rows, best first.
KINDS = ("exact", "converted", "approximated", "defaulted", "unread", "dropped")
UNKNOWN = "not known"


# A value that is not set.
ABSENT: Any = object()
Reader = Callable[[str], Any]


class Values(dict[str, Any]):
    """Values by name; asking for one that does not exist refuses the file."""

    missing = "is missing"
    group = ""

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 (it never returns)
        """Refuse.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"{self.group}{name}", self.missing)


@dataclass(frozen=True)
class Entry:
    """A key with its value in a file; its name in rows begins with the group, such as a flow."""

    name: str
    text: str
    place: str
    group: str = ""

    @property
    def label(self) -> str:
        """Its name in rows."""
        return f"{self.group}/{self.name}" if self.group else self.name

    @property
    def line(self) -> str:
        """Its text on one line."""
        return " ".join(self.text.split())


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; a backslash at its end joins one with the next."""
    whole, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        whole += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield first, whole
            whole, first = "", 0
    if whole:
        yield first, whole


@dataclass(frozen=True)
class Field:
    """A key of another simulator; `ABSENT` as its default: nothing."""

    unit: str
    read: Reader
    default: Any = ABSENT
    section: str = ""


@dataclass(frozen=True)
class Found:
    """What a rule found.

    Args:
        written: Value of our key, as in the file; `ABSENT`: the key is not set.
        run: Value as the other simulator runs it; `ABSENT`: the same, None: the key is not set.
        kind: Class of the row; empty: that of the table.
        note: Of the row; empty: that of the table.
        figures: Whether the loss changes figures; None: as the class has it.
        unused: Names whose values have no effect there: their rows are `unread`.
    """

    written: Any = ABSENT
    run: Any = ABSENT
    kind: str = ""
    note: str = ""
    figures: bool | None = None
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """What becomes of keys under a condition: the last columns of a line."""

    conditions: tuple[str, ...]
    kind: str
    how: str
    note: str


@dataclass(frozen=True)
class Rule:
    """What becomes of keys of another simulator: a line of a table and those that belong to it."""

    names: tuple[str, ...]
    key: str
    cases: tuple[Case, ...]
    functions: Mapping[str, Any] = field(compare=False, repr=False)

    @property
    def fields(self) -> tuple[str, ...]:
        """The keys there."""
        return () if self.names[0].startswith("(") else self.names

    def find(self, values: Values) -> Found:
        """Return what becomes of the values of a file.

        Raises:
            ConfigError: for values that are refused.
        """
        name = self.names[0]
        case = next(c for c in self.cases if all(_holds(one, values, name) for one in c.conditions))
        kind = case.kind.rstrip("*-")
        note = Template(case.note).safe_substitute(values) if "$" in case.note else case.note
        if kind == "refused":
            raise ConfigError(f"{values.group}{case.how}", note)
        found = self._found(values, case.how)
        figures = found.figures
        if figures is None:
            loses = (found.kind or kind) == "approximated" or case.kind.endswith("*")
            figures = loses and not case.kind.endswith("-")
        return replace(found, kind=found.kind or kind, note=found.note or note, figures=figures)

    def _found(self, values: Values, how: str) -> Found:
        if how.startswith(":"):
            return Found(json.loads(Template(how[1:]).safe_substitute(values)))
        word, *more = how.split(" ")
        name = more[0] if more else self.names[0]
        if word in ARITHMETIC:
            return Found(ARITHMETIC[word](values, name, self.names))
        if word.startswith("/"):
            return Found(values[name] / int(word[1:]))
        found = self.functions[f"_{word}"](values, *more)
        return found if isinstance(found, Found) else Found(found)


ARITHMETIC: Mapping[str, Callable[[Values, str, tuple[str, ...]], Any]] = {
    "": lambda *_: ABSENT,
    "=": lambda values, name, _: values[name],
    "lower": lambda values, name, _: values[name].lower() if name in values else ABSENT,
    "product": lambda values, _, names: math.prod(values[name] for name in names),
    "share": lambda values, name, _: values[name] / (1 - values[name]),
}


def _holds(condition: str, values: Values, name: str) -> bool:
    """Return whether a condition holds, for a key."""
    left, sign, right = re.split("(!=|>=|=|>)", condition, maxsplit=1)
    value = values.get(name if left == "." else left)
    if value is None and left != "." and right != "None":
        value = values[left]  # refuses
    other: Any = values[right[1:]] if right.startswith("$") else right
    if ">" in sign:
        return bool(value and (value > int(other) or (sign == ">=" and value == int(other))))
    return (_text(value) in _text(other).split("/")) == (sign == "=")


@dataclass(frozen=True)
class Table:
    """The keys of a file, and what becomes of them."""

    fields: Mapping[str, Field]
    rules: tuple[Rule, ...]

    def of(self, entries: Iterable[Entry]) -> Table:
        """Return it with the names of entries in the place of those with a star."""
        fields = {name: one for name, one in self.fields.items() if "*" not in name}
        rules: list[Rule] = []
        for rule in self.rules:
            names = [rule.names[0]]
            if "*" in names[0]:
                hits = [one.name for one in entries if fnmatchcase(one.name, names[0])]
                names = [name for name in dict.fromkeys(hits) if name not in fields]
                fields |= dict.fromkeys(names, self.fields[rule.names[0]])
                rules += [replace(rule, names=(name,)) for name in names]
            else:
                rules.append(rule)
        return Table(fields, tuple(rules))


def load(
    functions: Mapping[str, Any], *files: str, section: str | None = None, other: str = ""
) -> Table:
    """Return a table.

    Args:
        functions: Of the module whose table it is.
        files: Names of files of `tables/`.
        section: Lines of other sections are left out; None: none is.
        other: Why keys of other sections are `unread`, instead of not known.
    """
    fields: dict[str, Field] = {}
    rules: list[Rule] = []
    alike = 0  # rules of the last line
    texts = [(FOLDER / f"{name}.tsv").read_text(encoding="utf-8") for name in files]
    for line in "".join(texts).splitlines():
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        names, unit, accepted, default, key, kind, how, note = cells + [""] * (COLUMNS - len(cells))
        if names.startswith("? "):
            case = Case(tuple(names[2:].split(" ")), kind, how, note)
            for place in range(len(rules) - alike, len(rules)):
                cases = rules[place].cases
                rules[place] = replace(rules[place], cases=(*cases[:-1], case, cases[-1]))
            continue
        alike = alike if key == '"' else 0
        for name in [names] if "(" in names else names.split():
            of, _, one = name.rpartition(":")
            apart = section is not None and of not in {"", section}
            if accepted and (other or not apart):
                read = reader(accepted, functions)
                usual = read(default.strip('"')) if default else ABSENT
                fields[one] = Field(unit, read, usual, of)
            if apart:
                continue
            if key == '"':
                rules[-1] = replace(rules[-1], names=(*rules[-1].names, one))
            else:
                rules.append(Rule((one,), key, (Case((), kind, how, note),), functions))
                alike += 1
    named = {name for rule in rules for name in rule.names}
    unread = (Case((), "unread", "", other),)
    rules += [Rule((name,), "", unread, functions) for name in fields if name not in named]
    return Table(fields, tuple(rules))


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
        names = {"kind": "class", "written": "as_written", "run": "as_run"}
        names["figures"] = "changes_figures"
        given = {names.get(name, name): value for name, value in vars(self).items()}
        return {name: value for name, value in given.items() if value not in ("", ABSENT)}


def lost(entry: Entry) -> Row:
    """Return the row of a key that no table has."""
    return _row(entry, "", "dropped", note=UNKNOWN, figures=True)


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


def read(entries: Iterable[Entry], fields: Mapping[str, Field]) -> tuple[Values, list[Row]]:
    """Return values by name, defaults filled in, and rows of entries that are not used.

    Raises:
        ConfigError: for a text that is no value of its field, with file and line.
    """
    values = Values({name: f.default for name, f in fields.items() if f.default is not ABSENT})
    rows: list[Row] = []
    last: dict[str, Entry] = {}
    for entry in entries:
        if entry.name not in fields:
            rows.append(lost(entry))
            continue
        if before := last.get(entry.name):
            note = f"given again at {entry.place}, and the last one counts"
            rows.append(_row(before, fields[entry.name].unit, "unread", note=note))
        last[entry.name] = entry
        try:
            values[entry.name] = fields[entry.name].read(entry.text.strip())
        except ValueError as error:
            message = f"`{entry.text.strip()}` at {entry.place}; accepted: {error}"
            raise ConfigError(entry.label, message) from error
    return values, rows


def translate(
    entries: Sequence[Entry], table: Table, values: Values, unused: Iterable[Row], *, as_run: bool
) -> Translation:
    """Return what becomes of entries.

    Args:
        entries: Of the file.
        table: Of its keys.
        values: Values of the entries, and what else the rules know.
        unused: Rows of entries that no rule sees.
        as_run: Take values as the other simulator runs them, not as written.

    Raises:
        ConfigError: for values that a rule refuses.
    """
    given = {entry.name: entry for entry in entries}
    made = Translation()
    for rule in table.rules:
        try:
            found = rule.find(values)
        except ConfigError as error:
            place = next((one.place for one in entries if error.path in {one.label, one.name}), "")
            raise ConfigError(error.path, error.message + f" (at {place})" * bool(place)) from error
        ours = found.run if as_run and found.run is not ABSENT else found.written
        if rule.key and ours is not ABSENT and ours is not None:
            counted = [name for name in rule.fields if name not in found.unused]
            made.set(rule.key, ours, _origin(rule, counted, given, table.fields, found.kind))
        made.rows += _rows(rule, found, given, table.fields)
    made.rows += unused
    places = {(entry.label, entry.place): place for place, entry in enumerate(entries)}
    made.rows.sort(key=lambda row: places.get((row.source, row.place), len(places)))
    return made


def _rows(
    rule: Rule, found: Found, given: Mapping[str, Entry], fields: Mapping[str, Field]
) -> list[Row]:
    kind, note, written, run = found.kind, found.note, found.written, found.run
    told = {"note": note, "figures": found.figures, "written": written}
    told["run"] = ABSENT if run is ABSENT or run == written else run
    key = rule.key if written is not ABSENT or run is not ABSENT else ""
    if not rule.fields:
        return [Row(rule.names[0], "", "", "", kind, key, **told)] if key or note else []
    rows = []
    for name in rule.fields:
        one, default = given.get(name), fields[name].default
        if name in found.unused:
            rows += [_row(one, fields[name].unit, "unread", note=note)] if one else []
        elif one:
            rows.append(_row(one, fields[name].unit, kind, key=key, **told))
        elif default is not ABSENT and key:
            rows.append(Row(name, _text(default), fields[name].unit, "", "defaulted", key, **told))
    return rows


def _row(entry: Entry, unit: str, kind: str, **told: Any) -> Row:  # noqa: ANN401
    return Row(entry.label, entry.line, unit, entry.place, kind, **told)


def _origin(
    rule: Rule,
    names: Sequence[str],
    given: Mapping[str, Entry],
    fields: Mapping[str, Field],
    kind: str,
) -> str:
    """Return the comment above a key: the origin of its value."""
    used = [given[name] for name in names if name in given]
    parts = [f"{entry.label} {entry.line}" for entry in used]
    parts += [
        f"{name} {_text(fields[name].default)} (default there)"
        for name in names
        if name not in given and fields[name].default is not ABSENT
    ]
    where = f"{used[0].place.rpartition(':')[0]}: " if used else ""
    text = ", ".join(parts) or f"of that program: {' '.join(rule.names).strip('()')}"
    return f"{where}{text}; {kind}."


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def reader(accepted: str, functions: Mapping[str, Any]) -> Reader:
    """Return what reads a value: see the top of this file.

    >>> reader("1..2^4", {})("16"), reader(">0.0..0.8", {})("0.07"), reader("A/B", {})("a")
    (16, 0.07, 'A')
    """
    if accepted == "text":
        return str
    if f"_{accepted}" in functions:
        return functions[f"_{accepted}"]  # type: ignore[no-any-return]
    if ".." in accepted:
        return _number(*accepted.split(".."))
    words = ["true", "false"] if accepted == "bool" else accepted.split("/")

    def take(text: str) -> Any:  # noqa: ANN401 (a word or a truth)
        """Small letters count as large ones."""
        if accepted == "bool" and text.lower() in words:
            return text.lower() == "true"
        if text.upper() in words:
            return text.upper()
        raise ValueError(" or ".join(words) if accepted == "bool" else ", ".join(words))

    return take


def _number(begin: str, end: str) -> Reader:
    """Return a reader of numbers up to and with a bound; of whole ones if the bounds are such."""
    above, is_whole = begin.startswith(">"), "." not in begin
    first, last = _bound(begin.strip(">")), _bound(end)
    form = r"[+-]?[0-9]{1,24}" if is_whole else DECIMAL
    kind = "whole number" if is_whole else "number"
    start = f"{'above' if above else 'from'} {first if is_whole else f'{first:g}'}"

    def take(text: str) -> float:
        if re.fullmatch(form, text[:64]):
            value = int(text) if is_whole else float(text[:64])
            if (value > first if above else value >= first) and value <= last:
                return value
        raise ValueError(f"a {kind} {start} to {last if is_whole else f'{last:g}'}")

    return take


def _bound(text: str) -> float:
    """Return a bound, such as 0.8, -2^31 or 2^32-1."""
    if "^" not in text:
        return float(text) if "." in text else int(text)
    base, _, power = text.removesuffix("-1").partition("^")
    value: int = abs(int(base)) ** int(power)
    return (-value if base.startswith("-") else value) - text.endswith("-1")
