"""Installing an application: the package, its libraries, optimised code, the registry, a database.

Three files are synchronised (package, code, registry), and the database of the new application
takes four commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, Case, file_of
from opennandlab.app.ops import (
    AnyOp,
    Create,
    Fallocate,
    Fsync,
    Mkdir,
    Rename,
    Sql,
    Txn,
    Unlink,
    Write,
)

PIECE, PAGE = 64 * KIB, 4 * KIB
# Room for the database of an application, assumed: it has four small transactions.
DATABASE_BYTES = 128 * KIB
REGISTRY, BACKUP = "packages.xml", "packages-backup.xml"


class Install(Case):
    """Installing applications, one for each iteration."""

    name = "install"
    SIZES: ClassVar = {
        "package_bytes": 12 * MIB,
        "libraries": 3,
        "library_bytes": MIB,
        "code_bytes": 5 * MIB,
        "registry_bytes": 220 * KIB,
    }

    def bytes(self, iterations: int) -> int:
        """Return the bytes of all applications, and of the registry and its backup."""
        sizes = self.sizes
        libraries = sizes["libraries"] * sizes["library_bytes"]
        files = sizes["package_bytes"] + libraries + sizes["code_bytes"]
        return iterations * (files + DATABASE_BYTES) + 2 * sizes["registry_bytes"]

    def setup(self) -> Iterator[AnyOp]:
        """Yield a registry."""
        yield from file_of(REGISTRY, self.sizes["registry_bytes"], PIECE)
        yield Fsync(file=REGISTRY)

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one installation."""
        home, sizes = f"app{index:03d}", self.sizes
        yield Mkdir(path=home)
        yield from file_of("package.tmp", sizes["package_bytes"], PIECE)
        yield Fsync(file="package.tmp")
        yield Rename(file="package.tmp", to=f"{home}/base.apk")
        for number in range(sizes["libraries"]):
            yield from file_of(f"{home}/lib{number}.so", sizes["library_bytes"], PIECE)
        code = f"{home}/base.odex"
        yield Create(file=code)
        yield Fallocate(file=code, len=sizes["code_bytes"])
        for page in self.draw.shuffled(range(-(-sizes["code_bytes"] // PAGE))):
            yield Write(file=code, off=page * PAGE, len=PAGE)
        yield Fsync(file=code)
        yield Rename(file=REGISTRY, to=BACKUP)
        yield from file_of(REGISTRY, sizes["registry_bytes"], PIECE)
        yield Fsync(file=REGISTRY)
        yield Unlink(file=BACKUP)
        db = f"{home}/app.db"
        yield Sql(db=db, stmt="CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT)")
        for number in range(3):
            row = (f"setting{number}", self.draw.text(64))
            yield Txn(db=db, stmts=(("INSERT INTO settings VALUES(?, ?)", row),))
