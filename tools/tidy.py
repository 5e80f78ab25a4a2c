"""Holds what a program can hold of the house style, so that nobody has to argue about it.

Usage: `python tools/tidy.py`. Every finding is one line, `path:line: what is wrong`, and any
finding makes the exit status 1.

A rule is a function from the repository to findings, listed in `RULES`. Exceptions stand in the
tables below, each with its reason; an exception that is no longer needed is a finding itself.
What is checked elsewhere is left out: layout (rustfmt, ruff), lints (clippy, ruff), types (mypy).
"""

from __future__ import annotations

import ast
import gc
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import words
from circles import Imports, circles, parsed, python_imports, reached, rust_imports

LINE_CHARS_MAX = 100
FILE_LINES_MAX = 600

# Files that are longer, and why that is better than cutting them.
LONG_FILES: dict[str, str] = {}

# What each crate may import of the others.
CRATE_IMPORTS = {
    "ecc": set(),
    "sim": {"ecc"},
    "serve": {"sim"},
    "nbd": {"sim", "serve"},
    "nvme": {"sim", "serve", "nbd"},
    "raw": {"sim", "ecc", "serve"},
    "py": {"sim", "ecc", "serve", "nbd", "nvme", "raw"},
}

# Imports that close a circle of files, and why it is not undone yet: importer -> imported.
CIRCLES: dict[tuple[str, str], str] = {}

# The rooms of the Python package by floors, lowest first. A room imports rooms of its own floor and
# of those below it; that no two files of a floor need each other is what `file_circles` holds.
PYTHON_FLOORS: list[set[str]] = [
    {"_core"},
    {"base", "documents", "stats", "store"},
    {"theory", "measured"},
    {"reports"},
    {"policies", "ecc", "core", "foreign"},
    {"targets", "pts", "reliability", "app", "emmc", "serving"},
    {"comparing", "studies"},
    {"cli", "ui"},
]

# Nothing below the command line may depend on the machine, or results would.
SIMULATOR_BANS = {
    r"\bstd::(time|env|fs|thread|net|process)\b": "no clock, environment, files or threads",
    r"\b(HashMap|HashSet)\b": "iterates in no fixed order; use a Vec or a BTree",
    r"\b(println|eprintln|print|eprint)!": "the core prints nothing",
    r"\bstatic mut\b|\b(OnceLock|OnceCell|LazyLock|LazyCell)\b": "no globals",
    r"\.(exp|exp2|exp_m1|ln|ln_1p|log|log2|log10|powf|powi|sin|cos|tan|tanh|cbrt|hypot)\(": (
        "differs between machines; use libm"
    ),
}

# The dies of a drive work apart here; a test compares the result with that of one thread.
THREADED = ("crates/sim/src/untimed/crew.rs", "std::thread")

# Written in pieces, so that this file does not find itself.
MARKS = "|".join(
    ["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK", "to" + "do!", "unimpl" + "emented!"]
)
MACHINE_PATHS = "|".join(["/" + name + "/" for name in ("work", "root", "home", "Users")])
REGISTRY_HOSTS = "|".join(
    host + r"\." + domain
    for host, domain in [
        ("py" + "pi", "org"),
        ("pythonhosted", "org"),
        ("crates", "io"),
        ("npmjs", "(org|com)"),
        ("(deb|security)" + r"\.debian", "org"),
        ("golang", "org"),
        ("maven", "org"),
    ]
)


@dataclass(frozen=True)
class Finding:
    """One thing that is not as the style says."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        """Return the form that editors jump to."""
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Repository:
    """The files that git tracks or would track, below `root`."""

    root: Path

    @cached_property
    def paths(self) -> list[str]:
        """Relative paths, sorted; files that were deleted but not yet committed are left out."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        output = subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True)
        names = sorted(set(output.stdout.split("\0")) - {""})
        return [name for name in names if (self.root / name).is_file()]

    def named(self, *patterns: str, below: str = "") -> Iterator[tuple[str, list[str]]]:
        """Yield path and lines of every file below a folder whose name matches a pattern."""
        for path in self.paths:
            name = PurePosixPath(path)
            if path.startswith(below) and any(name.match(pattern) for pattern in patterns):
                yield path, self.lines(path)

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file; of one that is not text, none."""
        if path not in self._lines:
            try:
                self._lines[path] = (self.root / path).read_text(encoding="utf-8").splitlines()
            except UnicodeDecodeError:
                self._lines[path] = []
        return self._lines[path]

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {}


Rule = Callable[[Repository], Iterator[Finding]]


def lengths(repository: Repository) -> Iterator[Finding]:
    """Lines of 100 characters and files of 600 lines are the most that is read with ease."""
    for path, lines in repository.named("*.rs", "*.py", "*.pyi"):
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_CHARS_MAX and "https://" not in line:
                yield Finding(path, number, f"{len(line)} characters; at most {LINE_CHARS_MAX}")
        if len(lines) > FILE_LINES_MAX and path not in LONG_FILES:
            message = f"{len(lines)} lines; cut it, or give the reason in tools/tidy.py"
            yield Finding(path, len(lines), message)
    for path in LONG_FILES:
        if path not in repository.paths or len(repository.lines(path)) <= FILE_LINES_MAX:
            yield Finding("tools/tidy.py", 1, f"{path} needs no exception from the file length")


def headers(repository: Repository) -> Iterator[Finding]:
    """Every file opens by saying what it is."""
    for path, lines in repository.named("*.rs"):
        code = (line for line in lines if line.strip() and not line.startswith("#!["))
        if not next(code, "").startswith("//!"):
            yield Finding(path, 1, "opens without `//!` lines that say what it models")
    for path, lines in repository.named("*.py"):
        # Parsing the tests as well would take longer than all rules together.
        code = (line for line in lines if line.strip() and not line.startswith("#"))
        if lines and not re.match(r'r?"""', next(code, "")):
            yield Finding(path, 1, "opens without a docstring that says what it is for")
    for path, lines in repository.named("*.yaml", "*.toml", "Makefile"):
        # Manifests are read by their own fixed keys.
        is_manifest = PurePosixPath(path).name in {"Cargo.toml", "pyproject.toml", "rustfmt.toml"}
        if lines and not is_manifest and not lines[0].startswith("#"):
            yield Finding(path, 1, "opens without a comment that says what it is")


def marks(repository: Repository) -> Iterator[Finding]:
    """No stubs, no paths of one machine, no host of a package registry."""
    rules = [
        (re.compile(rf"\b({MARKS})"), "mark of unfinished work; docs/plan.md is for that"),
        (re.compile(rf"(?<![\w.}}])({MACHINE_PATHS})"), "path of one machine"),
        (re.compile(rf"\b({REGISTRY_HOSTS})\b"), "host of a package registry"),
    ]
    for path in repository.paths:
        if path.endswith(".lock"):
            continue
        lines = repository.lines(path)
        text = "\n".join(lines)
        # Few files hold any.
        found = [(pattern, message) for pattern, message in rules if pattern.search(text)]
        for number, line in enumerate(lines, 1) if found else ():
            for pattern, message in found:
                if match := pattern.search(line):
                    yield Finding(path, number, f"`{match.group()}`: {message}")


def simulator_purity(repository: Repository) -> Iterator[Finding]:
    """The same build, config and seed give the same bytes on any machine."""
    bans = [(re.compile(pattern), reason) for pattern, reason in SIMULATOR_BANS.items()]
    for folder in ("crates/sim/src/", "crates/ecc/src/"):
        for path, lines in repository.named("*.rs", below=folder):
            for number, line in production_code(path, lines):
                for pattern, reason in bans:
                    match = pattern.search(line)
                    if match and (path, match.group()) != THREADED:
                        yield Finding(path, number, f"`{match.group()}`: {reason}")


def rust_layers(repository: Repository) -> Iterator[Finding]:
    """In the drive, imports go down only.

    The order is the table in crates/sim/src/lib.rs, read row by row: a module imports only modules
    named before it; around a `·` neither side sees the other.
    """
    root = "crates/sim/src/lib.rs"
    if root not in repository.paths:
        return
    ranks, apart = layer_table(repository.lines(root))
    for path, lines in repository.named("*.rs", below="crates/sim/src/"):
        module = PurePosixPath(path).parts[3].removesuffix(".rs")
        if module in {"lib", "main"}:
            continue
        if module not in ranks:
            yield Finding(path, 1, f"module `{module}` has no place in the table of {root}")
            continue
        for number, line in production_code(path, lines):
            for target in imported_modules(line):
                if target == module or target not in ranks:
                    continue
                if ranks[target] > ranks[module] or frozenset((module, target)) in apart:
                    message = f"`{module}` must not see `{target}` (table of {root})"
                    yield Finding(path, number, message)


def layer_table(lines: list[str]) -> tuple[dict[str, int], set[frozenset[str]]]:
    """Return the rank of each module of a table, and the pairs that must not see each other."""
    ranks: dict[str, int] = {}
    apart: set[frozenset[str]] = set()
    for line in lines:
        row = re.match(r"//! \| \d+ \|([^|]*)\|", line)
        if not row:
            continue
        groups = [re.findall(r"`(\w+)`", group) for group in row.group(1).split("·")]
        for name in (name for group in groups for name in group):
            ranks[name] = len(ranks)
        apart.update(
            frozenset((a, b))
            for index, group in enumerate(groups)
            for other in groups[index + 1 :]
            for a in group
            for b in other
        )
    return ranks, apart


def imported_modules(line: str) -> Iterator[str]:
    """Yield the modules of the own crate that a line of Rust names.

    >>> list(imported_modules("use crate::units::Ns; use crate::{op, rng::Rng};"))
    ['units', 'op', 'rng']
    """
    for name, group in re.findall(r"\bcrate::(?:(\w+)|\{(.*))", line):
        if name:
            yield name
        else:
            flat = re.sub(r"\{[^{}]*\}", "", group)
            yield from re.findall(r"(?:^|,)\s*(\w+)", flat.split("}")[0])


def production_code(path: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that are neither comment nor test."""
    if PurePosixPath(path).name in {"tests.rs", "testing.rs"} or "/testing/" in path:
        return
    for number, line in enumerate(lines, 1):
        following = lines[number] if number < len(lines) else ""
        # By the order of a file, tests come last.
        if line.strip() == "#[cfg(test)]" and re.match(r"(pub )?mod \w+ \{", following):
            return
        code = line.split("//")[0]
        if code.strip():
            yield number, code


def crate_borders(repository: Repository) -> Iterator[Finding]:
    """Bits, drive, block device, Python: each border is a real one."""
    for path, lines in repository.named("crates/*/Cargo.toml"):
        crate = PurePosixPath(path).parts[1]
        if crate not in CRATE_IMPORTS:
            yield Finding(path, 1, f"crate `{crate}` has no row in CRATE_IMPORTS of tools/tidy.py")
            continue
        for number, line in enumerate(lines, 1):
            target = re.match(r"opennandlab-(\w+)\s*=", line)
            if target and target.group(1) not in CRATE_IMPORTS[crate]:
                yield Finding(path, number, f"`{crate}` must not see `{target.group(1)}`")


def python_rooms(repository: Repository) -> Iterator[Finding]:
    """In the Python package, imports go down only; imports for types alone are free."""
    base = "python/opennandlab/"
    ranks = {room: rank for rank, floor in enumerate(PYTHON_FLOORS) for room in floor}
    for path, lines in repository.named("*.py", below=base):
        room = path.removeprefix(base).split("/")[0].removesuffix(".py")
        if room in {"__init__", "__main__"}:
            continue
        if room not in ranks:
            yield Finding(path, 1, f"room `{room}` has no place in PYTHON_FLOORS of tools/tidy.py")
            continue
        for number, target in imported_rooms(parsed("\n".join(lines))):
            if target == room:
                continue
            if ranks.get(target, len(ranks)) > ranks[room]:
                yield Finding(path, number, f"`{room}` must not see `{target}` (PYTHON_FLOORS)")


def imported_rooms(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and room of each import from the own package.

    >>> list(imported_rooms(ast.parse("from opennandlab.stats.fits import f")))
    [(1, 'stats')]
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "opennandlab":
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("opennandlab."):
            yield node.lineno, (node.module or "").split(".")[1]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("opennandlab.")]
            yield from ((node.lineno, name.split(".")[1]) for name in names)
        yield from imported_rooms(node)


def file_circles(repository: Repository) -> Iterator[Finding]:
    """No two files need each other, whatever lies between them: see circles.py."""
    imports: Imports = python_imports(
        {path: "\n".join(lines) for path, lines in repository.named("*.py", below="python/")},
        below="python/",
    )
    for root in (path for path in repository.paths if re.fullmatch(r"crates/\w+/src/lib.rs", path)):
        folder = root.removesuffix("lib.rs")
        files = repository.named("*.rs", below=folder)
        code = {path: list(production_code(path, lines)) for path, lines in files}
        imports |= rust_imports(folder, code)
    for importer, imported in CIRCLES:
        is_import = imported in imports.get(importer, {})
        if not is_import or importer not in reached(imports, imported):
            message = f"{importer} -> {imported} closes no circle and needs no exception"
            yield Finding("tools/tidy.py", 1, message)
    for importer, imported in CIRCLES:
        imports.get(importer, {}).pop(imported, None)
    for circle in circles(imports):
        names = " -> ".join([*circle, circle[0]])
        yield Finding(circle[0], imports[circle[0]][circle[1]], f"circle of files: {names}")


def preset_sources(repository: Repository) -> Iterator[Finding]:
    """Every number of a preset says where it comes from: on its line, or above the lines it heads.

    A comment above holds for the lines that follow it without a gap at the same depth or deeper.
    """
    for path, lines in repository.named("presets/*.yaml", "docs/resources/config/*.yaml"):
        covered_depth: int | None = None
        for number, line in enumerate(lines, 1):
            depth = len(line) - len(line.lstrip())
            if not line.strip() or (covered_depth is not None and depth < covered_depth):
                covered_depth = None
            if line.lstrip().startswith("#"):
                covered_depth = depth
            key, colon, value = line.partition(":")
            has_number = colon and re.match(r"\s*\[?\s*[-+]?\.?\d", value)
            if has_number and covered_depth is None and "#" not in value:
                message = f"`{key.strip()}` has no source: say the document, or `assumed` and why"
                yield Finding(path, number, message)


def links(repository: Repository) -> Iterator[Finding]:
    """Links between our own pages lead somewhere."""
    for path, lines in repository.named("*.md"):
        folder = (repository.root / path).parent
        for number, line in enumerate(lines, 1):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", line)):
                if "://" not in target and not (folder / target).exists():
                    yield Finding(path, number, f"link to `{target}`, which does not exist")


def plain_words(repository: Repository) -> Iterator[Finding]:
    """No room has more riddles in its comments and pages than were recorded."""
    counts = Counter(room for room, *_ in words.found(repository.paths, repository.root))
    known = words.recorded(repository.root)
    for room, count in counts.items():
        if count > known.get(room, 0):
            message = (
                f"{room} has {count} words that read as riddles, {known.get(room, 0)} were there: "
                f"`python tools/words.py {shlex.quote(room)}` shows them"
            )
            yield Finding(words.RECORD, 1, message)


RULES: list[Rule] = [
    lengths,
    headers,
    marks,
    simulator_purity,
    rust_layers,
    crate_borders,
    python_rooms,
    file_circles,
    preset_sources,
    links,
    plain_words,
]


def findings(root: Path) -> list[Finding]:
    """Return everything that the rules find below `root`."""
    repository = Repository(root)
    return [finding for rule in RULES for finding in rule(repository)]


def main() -> int:
    """Print the findings; return the exit status."""
    # Trees are a million objects, and none of them garbage.
    gc.disable()
    found = findings(Path(__file__).resolve().parent.parent)
    for finding in found:
        print(finding)
    print(f"tidy: {len(RULES)} rules, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
