"""Inserting a contact: one SQLite database with six tables and four indexes, three commits.

```text
commit A   one raw row, four data rows: name, phone, mail, a note of 96 bytes
commit B   four rows of name lookup, one of phone lookup
commit C   the aggregate and its version
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import Case
from opennandlab.app.ops import AnyOp, Sql, Txn, Value

DB = "contacts.db"
TABLES = (
    "CREATE TABLE raw(id INTEGER PRIMARY KEY, account INTEGER, starred INTEGER, version INTEGER)",
    "CREATE TABLE data(id INTEGER PRIMARY KEY, raw INTEGER, kind INTEGER, value TEXT)",
    "CREATE TABLE name_lookup(data INTEGER, raw INTEGER, name TEXT, kind INTEGER)",
    "CREATE TABLE phone_lookup(data INTEGER, raw INTEGER, number TEXT)",
    "CREATE TABLE groups(id INTEGER PRIMARY KEY, title TEXT, members INTEGER)",
    "CREATE TABLE aggregate(id INTEGER PRIMARY KEY, total INTEGER, version INTEGER)",
    "CREATE INDEX data_raw ON data(raw, kind)",
    "CREATE INDEX data_value ON data(value)",
    "CREATE INDEX name_name ON name_lookup(name)",
    "CREATE INDEX phone_number ON phone_lookup(number)",
)
NOTE_LETTERS = 96
LOOKUPS = 4
Statement = tuple[str, tuple[Value, ...]]


class Contact(Case):
    """See the file."""

    name = "contact"
    SIZES: ClassVar = {"rows": 2000}

    def bytes(self, iterations: int) -> int:
        """Return about a kilobyte a row, and the journal."""
        return (self.sizes["rows"] + iterations) * 1500 + (1 << 20)

    def setup(self) -> Iterator[AnyOp]:
        """Yield tables and the rows that are there before."""
        yield Txn(db=DB, stmts=tuple((text, ()) for text in TABLES))
        rows: list[Statement] = [
            ("INSERT INTO groups VALUES(1, 'all', 0)", ()),
            ("INSERT INTO aggregate VALUES(1, 0, 0)", ()),
        ]
        for number in range(self.sizes["rows"]):
            rows += [*self._data(number), *self._lookups(number)]
        yield Txn(db=DB, stmts=tuple(rows))

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield the three commits."""
        number = self.sizes["rows"] + index
        yield Txn(db=DB, stmts=self._data(number))
        yield Txn(db=DB, stmts=self._lookups(number))
        yield Sql(db=DB, stmt="UPDATE aggregate SET total = total + 1, version = version + 1")

    def _data(self, number: int) -> tuple[Statement, ...]:
        values = (
            self.draw.text(14),
            f"+{self.draw.between(10**10, 10**11 - 1)}",
            f"{self.draw.text(9).replace(' ', '.')}@example.org",
            self.draw.text(NOTE_LETTERS),
        )
        insert = "INSERT INTO data VALUES(?, ?, ?, ?)"
        data = tuple(
            (insert, (len(values) * number + kind, number, kind, value))
            for kind, value in enumerate(values)
        )
        return (("INSERT INTO raw VALUES(?, 1, 0, 1)", (number,)), *data)

    def _lookups(self, number: int) -> tuple[Statement, ...]:
        names = tuple(
            ("INSERT INTO name_lookup VALUES(?, ?, ?, ?)",
             (LOOKUPS * number, number, self.draw.text(12), kind))
            for kind in range(LOOKUPS)
        )  # fmt: skip
        phone = f"{self.draw.between(10**10, 10**11 - 1)}"
        insert = "INSERT INTO phone_lookup VALUES(?, ?, ?)"
        return (*names, (insert, (LOOKUPS * number + 1, number, phone)))
