"""SQLite transactions of one row: inserts, updates and deletes, an iteration each, in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import Case
from opennandlab.app.ops import AnyOp, Sql

DB = "rows.db"
TABLE = "CREATE TABLE rows(id INTEGER PRIMARY KEY, text TEXT, number INTEGER)"
INSERT = "INSERT INTO rows VALUES(?, ?, ?)"
UPDATE = "UPDATE rows SET text = ?, number = number + 1 WHERE id = ?"


class Transactions(Case):
    """See the file."""

    name = "transactions"
    SIZES: ClassVar = {"rows": 300}
    PARTS = ("insert", "update", "delete")
    UNIT = "statements"

    def amount(self, part: int) -> float:
        """Return the statements of a part, each a transaction."""
        del part
        return float(self.sizes["rows"])

    def bytes(self, iterations: int) -> int:
        """Return the database and its journal."""
        del iterations
        return 400 * self.sizes["rows"] + (1 << 20)

    def setup(self) -> Iterator[AnyOp]:
        """Yield table and index."""
        yield Sql(db=DB, stmt=TABLE)
        yield Sql(db=DB, stmt="CREATE INDEX rows_number ON rows(number)")

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield a transaction for each row."""
        for number in range(self.sizes["rows"]):
            if index % 3 == 0:
                yield Sql(db=DB, stmt=INSERT, params=(number, self.draw.text(100), number))
            elif index % 3 == 1:
                yield Sql(db=DB, stmt=UPDATE, params=(self.draw.text(100), number))
            else:
                yield Sql(db=DB, stmt="DELETE FROM rows WHERE id = ?", params=(number,))
