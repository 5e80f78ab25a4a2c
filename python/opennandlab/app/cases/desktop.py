"""Six pieces of work of a desktop: boot, load, surf, media, photo and office.

The SNIA tutorial of E. Spanjer names PCMark as a benchmark that loads systems and applications,
surfs and plays media. Its recordings are those of their maker; these scripts are our own, and all
of their counts and sizes are assumed. No software was recorded: a file here has the size and the
order of access of its kind, and random content.

```text
boot    kernel in order, drivers and settings in a fixed order, pages of a registry, a log
load    three applications in turn: pages of the program, libraries, resources, settings
surf    objects of a page read and written, history and cookies
media   a film read in order, another one recorded at the same time, then copied in
photo   a folder of photos read, thumbnails, an edit with a scratch file, the result, the catalogue
office  a document opened, saved six times, pages of a mail store, a sheet read and written
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from opennandlab.app.cases.base import KIB, MIB, Case, file_of
from opennandlab.app.ops import (
    AnyOp,
    Append,
    Create,
    Evict,
    Fdatasync,
    Fsync,
    Mkdir,
    Read,
    Rename,
    Sql,
    Txn,
    Write,
)

PIECE, LARGE = 128 * KIB, MIB
PAGE = 4 * KIB


class _Desktop(Case):
    """A case that begins with empty caches, as after the machine was used for something else."""

    def before(self, index: int) -> Iterator[AnyOp]:
        """Yield the eviction."""
        del index
        yield Evict()

    def some_files(self, folder: str, count: int, median: int, cap: int) -> list[tuple[str, int]]:
        """Draw names and sizes of the files of a folder."""
        return [
            (f"{folder}/{number:04d}", self.draw.lognormal(median, cap)) for number in range(count)
        ]

    def places(self, count: int, unit: int, total: int) -> list[int]:
        """Draw offsets of units of a file, at least one."""
        units = max(1, total // unit)
        return [self.draw.below(units) * unit for _ in range(count)]


def _made(files: list[tuple[str, int]]) -> Iterator[AnyOp]:
    for name, size in files:
        yield from file_of(name, size, PIECE)


def _whole(files: list[tuple[str, int]], piece: int = PIECE) -> Iterator[AnyOp]:
    """Yield reads of whole files, in pieces."""
    for name, size in files:
        for done in range(0, size, piece):
            yield Read(file=name, off=done, len=min(piece, size - done))


def _saved(name: str, size: int, piece: int = PIECE) -> Iterator[AnyOp]:
    """Yield a file that is replaced as a careful program does: written, made durable, renamed."""
    yield from file_of(f"{name}.new", size, piece)
    yield Fsync(file=f"{name}.new")
    yield Rename(file=f"{name}.new", to=name)


class Boot(_Desktop):
    """Loading a system."""

    name = "boot"
    SIZES: ClassVar = {
        "kernel_bytes": 12 * MIB, "drivers": 240, "driver_bytes": 96 * KIB, "settings": 300,
        "registry_bytes": 24 * MIB, "registry_reads": 400,
    }  # fmt: skip

    def bytes(self, iterations: int) -> int:
        """Return the system, its logs and its list of files to read ahead."""
        drivers = self.sizes["drivers"] * min(16 * self.sizes["driver_bytes"], 4 * MIB)
        fixed = self.sizes["kernel_bytes"] + self.sizes["registry_bytes"] + drivers
        return fixed + self.sizes["settings"] * 64 * KIB + iterations * 64 * PAGE + 6 * MIB

    def setup(self) -> Iterator[AnyOp]:
        """Yield the system."""
        for folder in ("drivers", "settings"):
            yield Mkdir(path=folder)
        median = self.sizes["driver_bytes"]
        cap = min(16 * median, 4 * MIB)
        self._drivers = self.some_files("drivers", self.sizes["drivers"], median, cap)
        self._settings = self.some_files("settings", self.sizes["settings"], PAGE, 64 * KIB)
        whole = [("kernel", self.sizes["kernel_bytes"]), ("registry", self.sizes["registry_bytes"])]
        yield from _made([*whole, *self._drivers, *self._settings])
        self._order = self.draw.shuffled([*self._drivers, *self._settings])

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one boot, in the same order each time."""
        yield from _whole([("kernel", self.sizes["kernel_bytes"])], LARGE)
        places = self.places(self.sizes["registry_reads"], PAGE, self.sizes["registry_bytes"])
        for at, file in enumerate(self._order):
            yield from _whole([file])
            own = slice(at * len(places) // len(self._order),
                        (at + 1) * len(places) // len(self._order))  # fmt: skip
            for place in places[own]:
                length = min(PAGE, self.sizes["registry_bytes"] - place)
                yield Read(file="registry", off=place, len=length, hint="random")
            if at % 16 == 0:
                yield Append(file="log", len=PAGE)
            if at % 128 == 0:
                yield Fdatasync(file="log")
        yield from _saved("read-ahead", 2 * MIB)
        del index


class Load(_Desktop):
    """Starting one of three applications, in turn."""

    name = "load"
    SIZES: ClassVar = {
        "program_bytes": 24 * MIB, "libraries": 40, "library_bytes": 256 * KIB, "resources": 100,
    }  # fmt: skip
    APPLICATIONS: ClassVar = 3

    def bytes(self, iterations: int) -> int:
        """Return the programs."""
        del iterations
        libraries = self.sizes["libraries"] * min(16 * self.sizes["library_bytes"], 8 * MIB)
        one = self.sizes["program_bytes"] + libraries + self.sizes["resources"] * 256 * KIB
        return self.APPLICATIONS * one + MIB

    def setup(self) -> Iterator[AnyOp]:
        """Yield programs, libraries and resources."""
        median = self.sizes["library_bytes"]
        self._libraries, self._resources = [], []
        for at in range(self.APPLICATIONS):
            for folder in (f"libraries{at}", f"resources{at}"):
                yield Mkdir(path=folder)
            cap = min(16 * median, 8 * MIB)
            own = self.some_files(f"libraries{at}", self.sizes["libraries"], median, cap)
            shown = self.some_files(f"resources{at}", self.sizes["resources"], 16 * KIB, 256 * KIB)
            self._libraries.append(own)
            self._resources.append(shown)
            yield from _made([(f"program{at}", self.sizes["program_bytes"]), *own, *shown])

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield the start of an application: half of its pages are touched."""
        at = index % self.APPLICATIONS
        size, unit = self.sizes["program_bytes"], 64 * KIB
        starts = self.draw.shuffled(range(0, size, unit))
        for start in starts[: max(1, len(starts) // 2)]:
            length = min(unit, size - start)
            yield Read(file=f"program{at}", off=start, len=length, hint="random")
        for name, whole in self._libraries[at]:
            yield Read(file=name, off=0, len=min(unit, whole))
            for start in self.places(2, unit, whole):
                length = min(unit, whole - start)
                yield Read(file=name, off=start, len=length, hint="random")
        yield from _whole(self._resources[at])
        yield from _saved(f"settings{at}", 8 * KIB)


class Surf(_Desktop):
    """Opening a page: a larger cache and more objects than those of a phone."""

    name = "surf"
    SIZES: ClassVar = {"files": 500, "reads": 40, "writes": 40}
    MEDIAN: ClassVar = 16 * KIB
    CAP: ClassVar = 512 * KIB
    HISTORY: ClassVar = "history.db"
    COOKIES: ClassVar = "cookies.db"

    def bytes(self, iterations: int) -> int:
        """Return the cache, the oldest of which is written over, and the databases."""
        del iterations
        return self.sizes["files"] * self.CAP + 8 * MIB

    def setup(self) -> Iterator[AnyOp]:
        """Yield a cache with files, and empty databases."""
        yield Mkdir(path="cache")
        yield Sql(db=self.HISTORY, stmt="CREATE TABLE visits(url TEXT, title TEXT)")
        yield Sql(db=self.COOKIES, stmt="CREATE TABLE cookies(name TEXT PRIMARY KEY, value TEXT)")
        self._files = self.some_files("cache", self.sizes["files"], self.MEDIAN, self.CAP)
        yield from _made(self._files)

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one page."""
        count = len(self._files)
        for _ in range(self.sizes["reads"]):
            yield from _whole([self._files[self.draw.below(count)]])
        for number in range(self.sizes["writes"]):
            at = (index * self.sizes["writes"] + number) % count
            name, _ = self._files[at]
            self._files[at] = (name, self.draw.lognormal(self.MEDIAN, self.CAP))
            yield from _made([self._files[at]])
        visit = (self.draw.text(60), self.draw.text(40))
        yield Txn(db=self.HISTORY, stmts=(("INSERT INTO visits VALUES(?, ?)", visit),))
        text = "INSERT OR REPLACE INTO cookies VALUES(?, ?)"
        rows = [(f"name{self.draw.below(200)}", self.draw.text(80)) for _ in range(6)]
        yield Txn(db=self.COOKIES, stmts=tuple((text, row) for row in rows))


class Media(_Desktop):
    """Playing a film while another is recorded, then taking one in from elsewhere."""

    name = "media"
    SIZES: ClassVar = {"film_bytes": 48 * MIB, "recorded_bytes": 24 * MIB, "copied_bytes": 24 * MIB}

    def bytes(self, iterations: int) -> int:
        """Return the film and both new files, which replace those of the iteration before."""
        del iterations
        return sum(self.sizes.values()) + MIB

    def setup(self) -> Iterator[AnyOp]:
        """Yield the film."""
        yield from file_of("film", self.sizes["film_bytes"], LARGE)

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield the film and the recording by turns, and the copy."""
        del index
        size, recorded = self.sizes["film_bytes"], self.sizes["recorded_bytes"]
        unit = 256 * KIB
        yield Create(file="recorded")
        ends = 0
        for done in range(0, size, unit):
            yield Read(file="film", off=done, len=min(unit, size - done), hint="sequential")
            wanted = recorded * min(size, done + unit) // size
            if wanted > ends:
                yield Append(file="recorded", len=wanted - ends)
                ends = wanted
        yield Fsync(file="recorded")
        yield from file_of("copied", self.sizes["copied_bytes"], LARGE)
        yield Fsync(file="copied")


class Photo(_Desktop):
    """Looking through a folder of photos and changing one of them."""

    name = "photo"
    SIZES: ClassVar = {
        "photos": 12, "photo_bytes": 5 * MIB, "looked_at": 8, "scratch_bytes": 16 * MIB,
    }  # fmt: skip
    CATALOGUE: ClassVar = "catalogue.db"

    def bytes(self, iterations: int) -> int:
        """Return photos, thumbnails, scratch file and result."""
        files = (self.sizes["photos"] + 2) * self.sizes["photo_bytes"]
        own = self.sizes["looked_at"] * 32 * KIB + 64 * KIB
        return files + self.sizes["scratch_bytes"] + own + 4 * KIB * iterations + MIB

    def setup(self) -> Iterator[AnyOp]:
        """Yield the photos and their catalogue."""
        for folder in ("photos", "thumbnails"):
            yield Mkdir(path=folder)
        text = "CREATE TABLE photos(name TEXT, seen INTEGER, size INTEGER)"
        yield Sql(db=self.CATALOGUE, stmt=text)
        self._photos = [
            (f"photos/{number:04d}", self.sizes["photo_bytes"])
            for number in range(self.sizes["photos"])
        ]
        yield from _made(self._photos)

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield the look, the edit and the result."""
        first = self.draw.below(len(self._photos))
        for number in range(self.sizes["looked_at"]):
            name, size = self._photos[(first + number) % len(self._photos)]
            yield from _whole([(name, size)])
            yield from file_of(f"thumbnails/{number:04d}", 32 * KIB, PIECE)
        scratch, unit = self.sizes["scratch_bytes"], 512 * KIB
        yield Create(file="scratch")
        for start in self.draw.shuffled(range(0, scratch, unit)):
            yield Write(file="scratch", off=start, len=min(unit, scratch - start))
        for start in self.places(max(1, scratch // unit // 2), unit, scratch):
            yield Read(file="scratch", off=start, len=min(unit, scratch - start), hint="random")
        name, size = self._photos[first]
        yield from _saved(name, size, LARGE)
        row = (name, index, size)
        yield Txn(db=self.CATALOGUE, stmts=(("INSERT INTO photos VALUES(?, ?, ?)", row),))


class Office(_Desktop):
    """Writing a document, reading mail and changing a sheet."""

    name = "office"
    SIZES: ClassVar = {
        "document_bytes": 2 * MIB, "saves": 6, "mail_bytes": 64 * MIB, "mail_reads": 80,
        "mail_writes": 24, "sheet_bytes": 4 * MIB,
    }  # fmt: skip

    def bytes(self, iterations: int) -> int:
        """Return the three files, two of them twice while they are saved."""
        del iterations
        twice = 2 * (self.sizes["document_bytes"] + self.sizes["sheet_bytes"])
        return twice + self.sizes["mail_bytes"] + MIB

    def setup(self) -> Iterator[AnyOp]:
        """Yield document, mail store and sheet."""
        for name in ("document", "mail", "sheet"):
            yield from file_of(name, self.sizes[f"{name}_bytes"], LARGE)

    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield the document with its saves, the mail and the sheet."""
        del index
        size, mail, unit = self.sizes["document_bytes"], self.sizes["mail_bytes"], 8 * KIB
        yield from _whole([("document", size)])
        for _ in range(self.sizes["saves"]):
            yield from _saved("document", size)
        for start in self.places(self.sizes["mail_reads"], unit, mail):
            yield Read(file="mail", off=start, len=min(unit, mail - start), hint="random")
        for start in self.places(self.sizes["mail_writes"], unit, mail):
            yield Write(file="mail", off=start, len=min(unit, mail - start))
            yield Fdatasync(file="mail")
        yield from _whole([("sheet", self.sizes["sheet_bytes"])], LARGE)
        yield from _saved("sheet", self.sizes["sheet_bytes"], LARGE)
