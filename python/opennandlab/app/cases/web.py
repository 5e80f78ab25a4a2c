"""Opening a page in a browser: cache files read and created, history, cookies, cache index, prefs.

Objects have a lognormal size of median 8 KiB, up to 256 KiB. Half of the objects that a page asks
for are in the cache. Four commits and one fsync; cache files are not synchronised.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, Case, file_of
from opennandlab.app.ops import (
    AnyOp,
    Append,
    Create,
    Fsync,
    Mkdir,
    Read,
    Rename,
    Sql,
    Txn,
    Unlink,
)

HISTORY, COOKIES, INDEX = "history.db", "cookies.db", "cacheindex.db"
TABLES = (
    (HISTORY, "CREATE TABLE visits(id INTEGER PRIMARY KEY, url INTEGER, at INTEGER, title TEXT)"),
    (HISTORY, "CREATE TABLE urls(url INTEGER PRIMARY KEY, count INTEGER)"),
    (COOKIES, "CREATE TABLE cookies(host INTEGER, name TEXT, value TEXT, PRIMARY KEY(host, name))"),
    (INDEX, "CREATE TABLE entries(id INTEGER PRIMARY KEY, url TEXT, size INTEGER)"),
    (INDEX, "CREATE INDEX entries_url ON entries(url)"),
)
HOSTS = 64
READS, HITS_OF_TWO = 12, 1
CREATED = 18
COOKIES_SET = 3
MEDIAN, CAP, PIECE = 8 * KIB, 256 * KIB, 32 * KIB
PREFS_BYTES = 6 * KIB
INSERT = "INSERT INTO entries VALUES(?, ?, ?)"
COUNT = "INSERT INTO urls VALUES(?, 1) ON CONFLICT(url) DO UPDATE SET count = count + 1"


class Web(Case):
    """See the file."""

    name = "web"
    SIZES: ClassVar = {"files": 400, "cache_bytes": 24 * MIB}

    def __init__(self, seed: int, sizes: Mapping[str, int]) -> None:
        """Begin with an empty cache."""
        super().__init__(seed, sizes)
        self._cache: OrderedDict[int, int] = OrderedDict()
        self._next = 0

    def bytes(self, iterations: int) -> int:
        """Return cache, the files of one page above it, and databases."""
        return self.sizes["cache_bytes"] + CREATED * CAP + (8 << 20) + 20_000 * iterations

    def setup(self) -> Iterator[AnyOp]:
        """Yield a cache with files, and empty databases."""
        yield Mkdir(path="cache")
        for db, text in TABLES:
            yield Sql(db=db, stmt=text)
        for _ in range(self.sizes["files"]):
            yield from self._create()
        yield from self._trim_cache()

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one page."""
        known = list(self._cache)
        for _ in range(READS):
            if known and self.draw.below(2) < HITS_OF_TWO:
                chosen = known[self.draw.below(len(known))]
                yield Read(file=_file(chosen), off=0, len=self._cache[chosen])
        first = self._next
        for _ in range(CREATED):
            yield from self._create()
        yield from self._trim_cache()
        host = self.draw.below(HOSTS)
        visit = (index, host, index, self.draw.text(40))
        yield Txn(db=HISTORY, stmts=(
            ("INSERT INTO visits VALUES(?, ?, ?, ?)", visit), (COUNT, (host,)),
        ))  # fmt: skip
        yield Txn(db=COOKIES, stmts=tuple(
            ("INSERT OR REPLACE INTO cookies VALUES(?, ?, ?)",
             (host, f"name{number}", self.draw.text(80)))
            for number in range(COOKIES_SET)
        ))  # fmt: skip
        for part in (range(CREATED // 2), range(CREATED // 2, CREATED)):
            yield Txn(db=INDEX, stmts=tuple(
                (INSERT, (first + number, self.draw.text(60), MEDIAN)) for number in part
            ))  # fmt: skip
        yield Create(file="prefs.new")
        yield Append(file="prefs.new", len=PREFS_BYTES)
        yield Fsync(file="prefs.new")
        yield Rename(file="prefs.new", to="prefs")

    def _create(self) -> Iterator[AnyOp]:
        size = self.draw.lognormal(MEDIAN, CAP)
        self._cache[self._next] = size
        yield from file_of(_file(self._next), size, PIECE)
        self._next += 1

    def _trim_cache(self) -> Iterator[AnyOp]:
        total = sum(self._cache.values())
        while total > self.sizes["cache_bytes"] and len(self._cache) > 1:
            oldest, size = self._cache.popitem(last=False)
            total -= size
            yield Unlink(file=_file(oldest))


def _file(number: int) -> str:
    return f"cache/{number:06d}"
