"""Who imports whom, file by file, and where that goes in a circle.

Two files that need each other are one file in two pieces. Imports that only types need count, and
so do imports inside functions: they hide a circle, they do not undo it. A name that a folder hands
on (`pub use`, or an import in `__init__.py`) counts as one from the file that has it.

A folder knows the files in it: it declares, registers and hands on. So an import from `mod.rs`,
`lib.rs` or `__init__.py` of something below it is not counted.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

# Who imports: whom, and on which line.
Imports = dict[str, dict[str, int]]
Numbered = list[tuple[int, str]]

FOLDER_FILES = {"mod.rs", "lib.rs", "__init__.py"}


def circles(imports: Imports) -> Iterator[list[str]]:
    """Yield the shortest circle through the first file of each knot of files.

    >>> list(circles({"a": {"b": 1}, "b": {"c": 1}, "c": {"b": 1}}))
    [['b', 'c']]
    """
    done: set[str] = set()
    for start in sorted(imports):
        if start in done:
            continue
        if circle := _shortest_circle(imports, start):
            yield circle
            needed = reached(imports, start)
            done |= {file for file in needed if start in reached(imports, file)}


def reached(imports: Imports, start: str) -> set[str]:
    """Return every file that a file needs, directly or not."""
    needed: set[str] = set()
    ahead = [start]
    while ahead:
        fresh = set(imports.get(ahead.pop(), ())) - needed
        needed |= fresh
        ahead += fresh
    return needed


def _shortest_circle(imports: Imports, start: str) -> list[str] | None:
    before: dict[str, str] = {}
    ahead = deque([start])
    while ahead:
        here = ahead.popleft()
        for there in sorted(imports.get(here, ())):
            if there == start:
                way = [here]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if there not in before:
                before[there] = here
                ahead.append(there)
    return None


def rust_imports(root: str, files: Mapping[str, Numbered]) -> Imports:
    """Return the imports between the files of a crate.

    Args:
        root: The folder of `lib.rs`, with a slash at its end.
        files: Path to numbered lines, without comments and tests.
    """
    modules = {_rust_module(root, path): path for path in files}
    names = {path: dict(_rust_names(module, files[path])) for module, path in modules.items()}
    imports: Imports = {}
    for module, path in modules.items():
        for number, target in _rust_paths(module, files[path]):
            _note(imports, path, _rust_file(target, modules, names), number)
    return imports


def _rust_module(root: str, path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path.removeprefix(root).removesuffix(".rs")).parts
    return parts[:-1] if parts[-1] in {"mod", "lib"} else parts


def _rust_paths(module: tuple[str, ...], lines: Numbered) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line and absolute path of everything that a file names of its crate."""
    for number, statement in _statements(lines):
        use = re.match(r"\s*(?:pub(?:\([^)]*\))? )?use (.*)", statement)
        if use:
            trees: Iterable[str] = _tree(use.group(1).rstrip("; "))
        else:
            trees = re.findall(r"(?<![\w:])(?:crate|super)(?:::\w+)+", statement)
        for tree in trees:
            absolute = _absolute(module, tree.split(" as ")[0].strip().split("::"))
            if absolute is not None:
                yield number, absolute


def _rust_names(module: tuple[str, ...], lines: Numbered) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names that a file hands on, and where they come from."""
    for _, statement in _statements(lines):
        use = re.match(r"\s*pub(?:\([^)]*\))? use (.*)", statement)
        for tree in _tree(use.group(1).rstrip("; ")) if use else ():
            path, _, alias = tree.partition(" as ")
            steps = path.strip().split("::")
            absolute = _absolute(module, steps) or (*module, *(s for s in steps if s != "self"))
            yield alias.strip() or absolute[-1], absolute


def _statements(lines: Numbered) -> Iterator[tuple[int, str]]:
    """Join the lines of each `use`; every other line stands alone."""
    begun = 0
    text = ""
    for number, line in lines:
        if text:
            text += " " + line.strip()
        elif re.match(r"\s*(?:pub(?:\([^)]*\))? )?use ", line):
            begun, text = number, line
        else:
            yield number, line
        if text and ";" in line:
            yield begun, text
            text = ""


def _tree(text: str) -> Iterator[str]:
    """Yield the paths of a tree: `a::{b, c::{d, e}}` names three."""
    head, brace, rest = text.partition("{")
    if not brace:
        if text.strip():
            yield text.strip()
        return
    depth, part = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            for inner in _tree(part.strip()):
                yield head.strip() + inner
            part = ""
        else:
            part += letter


def _absolute(module: tuple[str, ...], steps: list[str]) -> tuple[str, ...] | None:
    """Return the path from the root of the crate; None for other crates and for children."""
    if steps[0] == "crate":
        return tuple(steps[1:])
    ups = next((index for index, step in enumerate(steps) if step != "super"), len(steps))
    return (*module[: len(module) - ups], *steps[ups:]) if ups else None


def _rust_file(
    target: tuple[str, ...],
    modules: Mapping[tuple[str, ...], str],
    names: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> str:
    """Return the file of the deepest module on a path, names that are handed on followed."""
    for _ in range(8):  # further than names are handed on
        length = next(n for n in range(len(target), -1, -1) if target[:n] in modules)
        path = modules[target[:length]]
        step = target[length] if length < len(target) else ""
        if step not in names[path]:
            return path
        target = (*names[path][step], *target[length + 1 :])
    return path


def python_imports(files: Mapping[str, str], below: str) -> Imports:
    """Return the imports between the files of a package.

    Args:
        files: Path to text.
        below: The folder that holds the package, with a slash at its end.
    """
    named = {
        path: [row for node in statements(parsed(text)) for row in _imported(node)]
        for path, text in files.items()
    }
    modules = {_python_module(path.removeprefix(below)): path for path in files}
    imports: Imports = {}
    for path, rows in named.items():
        for module, name, line in rows:
            _note(imports, path, _python_file(module, name, modules, named), line)
    return imports


@cache
def parsed(text: str) -> ast.Module:
    """Return the tree of a file's text, which several rules look at."""
    return ast.parse(text)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    r"""Yield all that is below a node and no expression: where imports may stand.

    >>> [type(node).__name__ for node in statements(parsed("if a(b):\n    import c"))]
    ['If', 'Import', 'alias']
    """
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.expr):
            yield node
            yield from statements(node)


def _python_module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(node: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Yield module, name and line of an import; no name stands for the module itself."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from ((node.module, alias.name, node.lineno) for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from ((alias.name, "", node.lineno) for alias in node.names)


def _python_file(
    module: str,
    name: str,
    modules: Mapping[str, str],
    named: Mapping[str, list[tuple[str, str, int]]],
) -> str | None:
    if f"{module}.{name}" in modules:
        return modules[f"{module}.{name}"]
    path = modules.get(module)
    if path is None or not path.endswith("__init__.py"):
        return path
    for source, handed_on, _ in named[path]:
        if handed_on == name and source != module:
            return _python_file(source, name, modules, named)
    return path


def _note(imports: Imports, path: str, target: str | None, number: int) -> None:
    """Note an import, unless it is one that is not counted."""
    if target is None or target == path:
        return
    folder, name = path.rpartition("/")[::2]
    if name in FOLDER_FILES and target.startswith(f"{folder}/"):
        return
    imports.setdefault(path, {}).setdefault(target, number)
