"""What a case did besides saying something: files, processes, imports, tables, figures.

```text
child   ─ audit hook ─► what was opened to be written, made, removed, started, asked, outside
          tables drawn ─► numbers that do not stand whole on a line
parent  ─ the tree of its folder afterwards ─► files that no argument names, inputs that changed
          what was written ─► scripts in pages, formulas in sheets, figures that disagree
```
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parts import Case

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Calls of the system that change files, and how many of their arguments are paths.
CHANGING = {
    "os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2,
    "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "shutil.rmtree": 1, "shutil.move": 2,
    "shutil.copyfile": 2, "os.utime": 1, "os.setxattr": 1, "os.mkfifo": 1,
}  # fmt: skip
STARTING = {"os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn", "ctypes.dlopen",
            "webbrowser.open", "sqlite3.load_extension", "os.startfile"}  # fmt: skip
NEVER_IMPORTED = {"evil", "pack", "antigravity", "this", "builtins_"}
SINKS = {"/dev/null", "/dev/full", "/dev/tty"}
# What stands unescaped where a text of a document became a part of a page.
SCRIPTS = ("<script>alert(1)", "<img src=x", "</script><script>1", "<!--<script")
TABLES_MAX = 30


def watch(folder: Path, acts: int) -> None:
    """Note on a descriptor what this process does outside of a folder from now on."""
    root = os.path.realpath(folder)

    def noted(event: str, given: tuple[Any, ...]) -> None:
        text = _act(root, event, given)
        if text:
            os.write(acts, (text[:300] + "\n").encode(errors="replace"))

    sys.addaudithook(noted)


def _act(root: str, event: str, given: tuple[Any, ...]) -> str:
    """Return what is wrong with an event; empty for one that is allowed."""
    paths: tuple[Any, ...] = ()
    if event == "open":
        path, mode, flags = given
        is_written = bool(set(str(mode or "")) & set("wax+")) or bool((flags or 0) & WRITING)
        paths = (path,) if is_written else ()
    elif event in CHANGING:
        paths = given[: CHANGING[event]]
    elif event == "import" and str(given[0]).partition(".")[0] in NEVER_IMPORTED:
        return f"imported {given[0]}"
    elif event == "subprocess.Popen" and "opennandlab.ui.worker" not in map(str, given[1]):
        return f"started {given[1]!r}"
    elif event in STARTING:
        return f"{event} {given!r}"
    elif event == "socket.connect" and not isinstance(given[1], str | bytes):
        return f"connected to {given[1]!r}"
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(path))
            if place not in SINKS and place != root and not place.startswith(root + os.sep):
                return f"{event} outside: {place}"
    return ""


def tables(acts: int) -> Any:
    """Note the tables that are drawn from now on; return what judges them."""
    from opennandlab.cli._tables import Grid

    found: list[Grid] = []
    draw = Grid.__rich_console__

    def noted(table: Grid, console: Any, options: Any) -> Any:
        found.append(table)
        return draw(table, console, options)

    Grid.__rich_console__ = noted  # type: ignore[method-assign]

    def judge(width: int) -> None:
        from drawn_tables import missing

        Grid.__rich_console__ = draw  # type: ignore[method-assign]
        for table in found[:TABLES_MAX]:
            lost = missing(table, width)
            if lost:
                os.write(acts, f"a table of {width} columns lost {dict(lost)!r}\n".encode()[:300])

    return judge


def left(case: Case, folder: Path) -> Iterator[str]:
    """Yield files that no argument of a case names, and inputs that are changed or gone."""
    outputs = set(_outputs(case))
    # An option may name any file to be written, also one that is there.
    inputs = set() if case.kind == "options" else set(case.files)
    work = folder / "work"
    for path in sorted(_tree(folder)):
        name = str(path.relative_to(folder))
        inside = os.path.normpath(path.relative_to(work)) if path.is_relative_to(work) else None
        if inside is None:
            if not name.startswith(("tmp/store", "out", "said", "acts")):
                yield f"{name} is new"
        elif inside in case.files:
            is_same = not path.is_symlink() and path.read_bytes() == case.files[inside]
            if not is_same and not _is_under(inside, outputs - inputs):
                yield f"{name} is changed"
        elif not _is_under(inside, outputs):
            yield f"{name} is new"
    for name in case.files:
        if not (work / name).exists() and not _is_under(name, outputs - inputs):
            yield f"work/{name} is gone"


def _tree(folder: Path) -> Iterator[Path]:
    for place, names, files in os.walk(folder):
        yield from (Path(place, name) for name in files)
        # A folder that has files is told by them.
        yield from (Path(place, name) for name in names if not any(Path(place, name).iterdir())
                    and name not in {"work", "tmp"})  # fmt: skip


def _is_under(name: str, outputs: set[str]) -> bool:
    if "." in outputs or name in outputs:
        return True
    return any(name.startswith((f"{one}/", f"{one}-", f"{one}.")) for one in outputs)


def _outputs(case: Case) -> Iterator[str]:
    """Yield what arguments may name: a path, alone or behind a colon or an equals sign."""
    words = [word for one in case.arguments for word in (one if isinstance(one, tuple) else (one,))]
    for word in map(str, words):
        for part in {word, word.partition(":")[2], word.partition("=")[2]} - {""}:
            if "\x00" not in part and len(part) < 200:
                yield os.path.normpath(part)
    if words[:1] == ["report"]:
        yield str(Path(words[1]).with_suffix(".html"))
    if words[:2] == ["config", "init"]:
        yield from ("device.yaml", "device.schema.json")
    if words[:2] == ["API", "ui"]:
        yield "store"


def written(case: Case, folder: Path) -> Iterator[str]:
    """Yield what is wrong with what a case wrote: scripts, formulas, drawings that are none."""
    for path in sorted(_tree(folder / "work")):
        name = str(path.relative_to(folder / "work"))
        if name in case.files or not path.is_file():
            continue
        raw = path.read_bytes()
        text = raw.decode(errors="replace")
        if path.suffix in {".html", ".svg"}:
            yield from (f"{name} has {one!r}" for one in SCRIPTS if one in text)
        if path.suffix == ".svg":
            try:
                tree = ET.fromstring(text)
            except ET.ParseError as error:
                yield f"{name} is not an SVG: {error}"
            else:
                yield from (f"{name} has {one.tag}" for one in tree.iter() if "script" in one.tag)
        if path.suffix == ".csv":
            yield from _formulas(name, text)


def _formulas(name: str, text: str) -> Iterator[str]:
    from opennandlab.base.files import no_formula

    with contextlib.suppress(csv.Error):
        for row in csv.reader(io.StringIO(text)):
            for cell in row:
                if no_formula(cell) != cell:
                    yield f"{name} has a formula: {cell[:60]!r}"
                    return
