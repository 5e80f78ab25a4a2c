"""Counts of the structure: what grows unnoticed, and the guide of each.

Usage: `python tools/guides.py`. Guides, not limits: a commit that raises a count says why. What may
not happen at all is in tools/tidy.py.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, CRATES = ROOT / "python" / "opennandlab", ROOT / "crates"
# Lines, parameters and fields that are many.
LONG, LONGEST, PARAMETERS, FIELDS, FULL = 60, 110, 7, 16, 550
RUST_FUNCTION = re.compile(
    r"^( *)(?:pub(?:\([a-z: ]+\))? )?(?:const |unsafe )*fn (\w+)", re.MULTILINE
)
RUST_STRUCT = re.compile(
    r"^pub(?:\([a-z: ]+\))? struct (\w+)[^;{(]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
RUST_IMPL = re.compile(r"^impl(?:<[^\n]*?>)? (\w+)(?:<[^\n]*?>)? (?:where [^{]*)?\{", re.MULTILINE)


def of(folder: Path, ending: str) -> dict[Path, str]:
    """Return the texts of the files of a folder, tests of Rust files left out."""
    found = {path: path.read_text("utf-8") for path in sorted(folder.rglob(f"*{ending}"))}
    if ending == ".rs":
        found = {
            path: text.partition("#[cfg(test)]")[0]
            for path, text in found.items()
            if "src" in path.parts and path.name != "tests.rs"
        }
    return found


def python_functions(texts: dict[Path, str]) -> Iterator[tuple[int, int]]:
    """Yield lines and parameters of each function."""
    for text in texts.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                count = len(given.posonlyargs + given.args + given.kwonlyargs)
                yield (node.end_lineno or node.lineno) - node.lineno + 1, count


def rust_functions(texts: dict[Path, str]) -> Iterator[tuple[int, int]]:
    """Yield lines and parameters of each function, by the layout of rustfmt."""
    for text in texts.values():
        for match in RUST_FUNCTION.finditer(text):
            end = re.compile(rf"^{match[1]}}}", re.MULTILINE).search(text, match.end())
            body = text[match.start() : end.start() if end else match.end()]
            head = re.split(r"\) ->|\) \{|\)\n", body[match.end() - match.start() :], maxsplit=1)[0]
            yield body.count("\n") + 1, len(re.findall(r"\w+: |&?(?:mut )?self\b", head))


def spread_structs(texts: dict[Path, str]) -> dict[str, int]:
    """Return the structs whose methods are in more than three files of a folder."""
    files: dict[tuple[str, str], set[Path]] = defaultdict(set)
    for path, text in texts.items():
        folder = "/".join(path.relative_to(CRATES).parts[:3])
        for name in RUST_IMPL.findall(text):
            files[(folder, name)].add(path)
    return {
        f"{folder} {name}": len(some) for (folder, name), some in files.items() if len(some) > 3
    }


def rows() -> Iterator[tuple[str, object, object]]:
    """Yield what is counted, the count, and its guide."""
    python, rust = of(PACKAGE, ".py"), of(CRATES, ".rs")
    rooms = [
        path for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()
    ]
    loose = [
        path for path in PACKAGE.glob("*.py") if path.name not in {"__init__.py", "__main__.py"}
    ]
    yield "rooms of the package; loose files", f"{len(rooms)}; {len(loose)}", "24; 0"
    folders: dict[Path, int] = defaultdict(int)
    for path in rust:
        folders[path.parent] += 1
    largest = max(folders, key=lambda path: folders[path])
    yield "Rust files in a folder", f"{folders[largest]} ({largest.relative_to(CRATES)})", 25
    fields = [len(re.findall(r"^    (?:pub\S* )?\w+: ", body, re.MULTILINE))
              for text in rust.values() for _, body in RUST_STRUCT.findall(text)]  # fmt: skip
    yield f"structs of more than {FIELDS} fields", sum(count > FIELDS for count in fields), 15
    for name, count in sorted(spread_structs(rust).items()):
        yield f"files with methods of {name}", count, 3
    sizes = [*python_functions(python), *rust_functions(rust)]
    long = [sum(lines > most for lines, _ in sizes) for most in (LONG, LONGEST)]
    yield f"functions of more than {LONG}; {LONGEST} lines", f"{long[0]}; {long[1]}", "15; 0"
    yield f"more than {PARAMETERS} parameters", sum(it > PARAMETERS for _, it in sizes), 10
    full = sum(text.count("\n") >= FULL for text in (*python.values(), *rust.values()))
    yield f"files of {FULL} lines and more", full, 8
    pools = sum("ThreadPoolExecutor(" in text for text in python.values())
    yield "thread pools", pools, 1
    flags = sum(len(re.findall(r"\b(?:flag|argument)\(", text)) for path, text in python.items()
                if "cli" in path.parts)  # fmt: skip
    yield "rows of options", flags, 300
    made = sum(
        len(path.read_text("utf-8").splitlines()) for path in (ROOT / "docs/reference").glob("*")
    )
    yield "generated lines that are committed", made, 2000
    lines = [sum(text.count("\n") for text in texts.values()) for texts in (python, rust)]
    yield "lines of the package; of the crates", f"{lines[0]:,}; {lines[1]:,}", ""


def main() -> None:
    """Print the table."""
    for what, count, guide in rows():
        print(f"{what:60} {count!s:>32} {guide!s:>8}")


if __name__ == "__main__":
    main()
