"""Words at which a stranger stumbles: no room may have more of them than tools/words.txt says.

    python tools/words.py              where they are, by room; with a room: each line
    python tools/words.py --write      records what there is now; a room may only have fewer

Counted in comments, docstrings and pages, without regard to case and outside of code spans and
fenced blocks; a quoted standard stands in a fence. `tools/tidy.py` refuses a room that has more.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
RECORD = "tools/words.txt"

# Pattern, and what is written instead.
PATTERNS: dict[str, str] = {
    r"so (?:many|much|long|far|often)": "the number; `for T`; the name of the quantity",
    r"what (?:is|it|was|they|are|were|has|had)": "the noun",
    r"beside": "next to, in addition to, against",
    r"where (?:there|it|that|no|they|none)": "if, when",
    r"tells?|(?:is|are|was|were|be) told": "reports, shows; receives",
    r"nobody|somebody|whoever": "no caller, the caller",
    r"stands?": "is",
    r"lies?|lay": "is",
    r"says?|said": "states, reports",
    r"under way": "running, in progress",
    r"go(?:es)? on": "continues",
    r"(?:is|are) over": "has ended",
    r"from now on": "afterwards",
    r"of (?:its|their|one's|your|his) own": "own, separate",
    r"errs?|presse[sd]|wins": "has errors; is urgent; frees",
    r"meets?|anew|by itself": "overlaps, reaches; again; alone",
}
WORDS = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in PATTERNS), re.IGNORECASE)
SPAN = re.compile(r"`[^`]*`")
RUST_COMMENT = re.compile(r"(?:^|\s)//[/!]?(.*)")
# Generated, or a list of changes that is not rewritten.
LEFT_OUT = ("docs/reference/", "docs/validation", "docs/performance.md", "CHANGELOG.md")


def room(path: str) -> str:
    """Return the room of a file; empty for one whose words are not counted.

    >>> room("python/opennandlab/pts/tests/iops.py"), room("crates/sim/src/ftl/gc/mod.rs")
    ('pts', 'sim/ftl')
    >>> room("docs/ecc.md"), room("crates/ecc/src/bch/mod.rs"), room("crates/sim/tests/x.rs")
    ('docs', 'ecc crate', '')
    """
    parts = PurePosixPath(path).parts
    if path.startswith("python/opennandlab/") and path.endswith(".py"):
        return parts[2] if len(parts) > 3 else "package"
    if path.startswith("crates/") and path.endswith(".rs") and parts[2] == "src":
        if parts[1] != "sim":
            return f"{parts[1]} crate"
        return f"sim/{parts[3].removesuffix('.rs')}"
    if path.endswith(".md") and not path.startswith(LEFT_OUT):
        return "docs" if parts[0] == "docs" else "pages" if len(parts) == 1 else ""
    return ""


def prose(path: str, text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a file that people read, with their numbers.

    >>> list(prose("a.rs", "let a = 1; // one\n/// Two.\n"))
    [(1, ' one'), (2, ' Two.')]
    """
    if path.endswith(".rs"):
        for number, line in enumerate(text.splitlines(), 1):
            if found := RUST_COMMENT.search(line):
                yield number, found[1]
    elif path.endswith(".md"):
        is_code = False
        for number, line in enumerate(text.splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            if not is_code:
                yield number, line
    else:
        yield from _of_python(text)


def _of_python(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for one in body:
            is_text = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            if is_text and isinstance(one.value.value, str):
                lines = one.value.value.splitlines()
                yield from ((one.lineno + at, line) for at, line in enumerate(lines))


def found(paths: Iterable[str], root: Path) -> Iterator[tuple[str, str, int, str]]:
    """Yield room, file, line and word of each that is found."""
    for path in paths:
        name = room(path)
        if name:
            text = (root / path).read_text("utf-8")
            for number, line in prose(path, text):
                for word in WORDS.findall(SPAN.sub("", line)):
                    yield name, path, number, word


def recorded(root: Path) -> dict[str, int]:
    """Return how many each room may have."""
    place = root / RECORD
    lines = place.read_text("utf-8").splitlines() if place.exists() else []
    pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: int(count) for name, count in pairs}


def main(arguments: list[str]) -> int:
    """Print or record them; return the exit status."""
    paths = [str(path.relative_to(ROOT)) for folder in ("python", "crates", "docs") for path in
             sorted((ROOT / folder).rglob("*")) if path.is_file()]  # fmt: skip
    paths += [path.name for path in sorted(ROOT.glob("*.md"))]
    lines = list(found(paths, ROOT))
    counts = Counter(name for name, *_ in lines)
    if "--write" in arguments:
        head = "# Words of tools/words.py by room; `python tools/words.py --write` records fewer."
        rows = [f"{name} {count}" for name, count in sorted(counts.items())]
        (ROOT / RECORD).write_text("\n".join([head, *rows, ""]), "utf-8")
    elif arguments:
        for name, path, number, word in lines:
            if name in arguments:
                print(f"{path}:{number}: {word}")
    else:
        for name, count in counts.most_common():
            print(f"{count:5} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
