"""The rules of tools/tidy.py: this repository keeps them, and each finds what it is for."""

from __future__ import annotations

import doctest
import subprocess
from pathlib import Path

import pytest

from places import ROOT
from scripts import load_tool

tidy = load_tool("tidy")

LAYERS = """//! The drive.
//!
//! | layer | modules |
//! |---|---|
//! | 0 | `units` `op` |
//! | 1 | `nand` · `ftl` |
"""


def found(folder: Path, path: str, text: str, of: str | None = None) -> list[str]:
    """Return the messages about a file, or `of` another, next to a table of layers."""
    files = {"crates/sim/src/lib.rs": LAYERS, path: text}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return [finding.message for finding in tidy.findings(folder) if finding.path == (of or path)]


@pytest.mark.always
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the files that git tracks")
def test_this_repository_is_tidy() -> None:
    """The message of a failure is the list of what to mend."""
    assert [str(finding) for finding in tidy.findings(ROOT)] == []


RUST = "crates/sim/src/"
HEAD = "//! What it models.\n"

BAD = {
    "long line": (RUST + "op.rs", HEAD + "// " + "x" * 98, "101 characters"),
    "long file": (RUST + "op.rs", HEAD * 601, "601 lines"),
    "no header": (RUST + "op.rs", "pub struct Op;\n", "opens without `//!`"),
    "no docstring": ("tools/new.py", "x = 1\n", "opens without a docstring"),
    "no comment": ("tests/new.toml", "x = 1\n", "opens without a comment"),
    "stub": (RUST + "op.rs", HEAD + "// TO" + "DO later", "unfinished work"),
    "stub macro": (RUST + "op.rs", HEAD + "fn f() { to" + "do!() }", "unfinished work"),
    "machine path": ("README.md", "see /ro" + "ot/x", "path of one machine"),
    "registry": ("README.md", "from py" + "pi.org", "package registry"),
    "wall clock": (RUST + "op.rs", HEAD + "use std::time::Instant;", "no clock"),
    "hash order": (RUST + "op.rs", HEAD + "fn f(m: HashMap<u8, u8>) {}", "no fixed order"),
    "machine logarithm": (RUST + "op.rs", HEAD + "fn f(x: f64) -> f64 { x.ln() }", "libm"),
    "upward": (RUST + "op.rs", HEAD + "use crate::ftl::Ftl;", "`op` must not see `ftl`"),
    "upward in braces": (RUST + "units.rs", HEAD + "use crate::{op::Op};", "must not see `op`"),
    "sibling": (RUST + "ftl/mod.rs", HEAD + "use crate::nand::Die;", "must not see `nand`"),
    "no layer": (RUST + "magic.rs", HEAD, "`magic` has no place"),
    "crate border": (
        "crates/ecc/Cargo.toml",
        '[dependencies]\nopennandlab-sim = { path = "../sim" }\n',
        "`ecc` must not see `sim`",
    ),
    "python upward": (
        "python/opennandlab/stats/fits.py",
        '"""Fits."""\nfrom opennandlab.core.run import run\n',
        "`stats` must not see `core`",
    ),
    "python upward inside a function": (
        "python/opennandlab/base/errors.py",
        '"""E."""\ndef f():\n    from opennandlab.core import config\n',
        "`base` must not see `core`",
    ),
    "no room": ("python/opennandlab/magic.py", '"""M."""\n', "`magic` has no place"),
    "preset": (
        "python/opennandlab/presets/x.yaml",
        "# A device.\n\nnand:\n  t_read_us: 50\n",
        "`t_read_us` has no source",
    ),
    "dead link": ("README.md", "[plan](docs/no-plan.md)", "does not exist"),
}


@pytest.mark.parametrize("case", BAD)
def test_each_rule_finds_what_it_is_for(case: str, tmp_path: Path) -> None:
    """One file with one fault gives one finding."""
    path, text, expected = BAD[case]
    messages = found(tmp_path, path, text)
    assert len(messages) == 1, messages
    assert expected in messages[0]


GOOD = {
    "downward": (RUST + "op.rs", HEAD + "use crate::units::Ns;\n"),
    "tests may look anywhere": (
        RUST + "op.rs",
        HEAD + "#[cfg(test)]\nmod tests {\n    use crate::ftl::Ftl;\n    use std::fs;\n}\n",
    ),
    "comments may name anything": (RUST + "op.rs", HEAD + "/// See [`crate::ftl`], not HashMap.\n"),
    "types alone": (
        "python/opennandlab/base/errors.py",
        '"""E."""\nif TYPE_CHECKING:\n    from opennandlab.core.run import Run\n',
    ),
    "a source above a run of keys": (
        "python/opennandlab/presets/x.yaml",
        "# A device.\n\nnand:\n  # ONFI 4.1, table 7\n  t_read_us: 50\n  t_erase_us: 3000\n",
    ),
    "a source on the line": (
        "python/opennandlab/presets/x.yaml",
        "# A device.\n\nnand:\n  t_read_us: 50  # assumed: middle of the published range\n",
    ),
    "outside links": ("README.md", "[x](https://example.org/none) `[a](b)` [c](#here)"),
}


@pytest.mark.parametrize("case", GOOD)
def test_no_rule_finds_what_is_right(case: str, tmp_path: Path) -> None:
    """A rule that cries wolf would be switched off."""
    path, text = GOOD[case]
    assert found(tmp_path, path, text) == []


def test_an_exception_that_is_not_needed_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of exceptions only shrink by being checked."""
    monkeypatch.setattr(tidy, "LONG_FILES", {RUST + "op.rs": "was long once"})
    monkeypatch.setattr(tidy, "CIRCLES", {("a.py", "b.py"): "was a circle once"})
    assert found(tmp_path, "tools/tidy.py", '"""T."""\n') == [
        "crates/sim/src/op.rs needs no exception from the file length",
        "a.py -> b.py closes no circle and needs no exception",
    ]


PACKAGE = "python/opennandlab/"
# Files of one room, and the circle in them.
CIRCLES = {
    "siblings in Rust": (
        {
            RUST + "ftl/mod.rs": "mod pool;\nmod slc;\n",
            RUST + "ftl/pool.rs": "use super::{\n    slc::{Slc, Free},\n};\n",
            RUST + "ftl/slc.rs": "fn open(pool: &mut crate::ftl::pool::Pool) {}\n",
        },
        "ftl/pool.rs -> crates/sim/src/ftl/slc.rs",
    ),
    "through a name that the folder hands on": (
        {
            RUST + "ftl/mod.rs": "mod pool;\nmod slc;\npub use pool::Pool as P;\n",
            RUST + "ftl/pool.rs": "use super::slc::Slc;\n",
            RUST + "ftl/slc.rs": "use crate::ftl::P;\n",
        },
        "ftl/pool.rs -> crates/sim/src/ftl/slc.rs",
    ),
    "for types alone": (
        {
            PACKAGE + "ecc/a.py": "from opennandlab.ecc.b import B\n",
            PACKAGE + "ecc/b.py": "if TYPE_CHECKING:\n    from opennandlab.ecc.a import A\n",
        },
        "ecc/a.py -> python/opennandlab/ecc/b.py",
    ),
    "inside functions, over three files": (
        {
            PACKAGE + "ecc/__init__.py": "from opennandlab.ecc.c import C\n",
            PACKAGE + "ecc/a.py": "from opennandlab.ecc import b\n",
            PACKAGE + "ecc/b.py": "def f():\n    from opennandlab.ecc import C\n",
            PACKAGE + "ecc/c.py": "def f():\n    import opennandlab.ecc.a\n",
        },
        "ecc/a.py -> python/opennandlab/ecc/b.py -> python/opennandlab/ecc/c.py -> ",
    ),
}
OPEN = {
    "a folder and what is in it": {
        RUST + "ftl/mod.rs": "mod pool;\nuse pool::Pool;\npub struct Ftl(Pool);\n",
        RUST + "ftl/pool.rs": "use super::Ftl;\n",
        PACKAGE + "ecc/__init__.py": "from opennandlab.ecc.a import A\n",
        PACKAGE + "ecc/a.py": "from opennandlab.ecc import B\n",
    },
    "one way, and tests": {
        RUST + "ftl/pool.rs": "use super::slc::Slc;\nuse std::cmp::{max, min};\n",
        RUST + "ftl/slc.rs": "#[cfg(test)]\nmod tests {\n    use crate::ftl::pool::Pool;\n}\n",
    },
}


def circle_findings(folder: Path, files: dict[str, str]) -> list[str]:
    """Return the findings on circles in a repository of these files."""
    for path, text in files.items():
        head = "//! A file.\n" if path.endswith(".rs") else '"""A file."""\n'
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(head + text, encoding="utf-8")
    (folder / RUST / "lib.rs").parent.mkdir(parents=True, exist_ok=True)
    (folder / RUST / "lib.rs").write_text("//! The drive.\npub mod ftl;\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    found = tidy.file_circles(tidy.Repository(folder))
    return [finding.message for finding in found]


@pytest.mark.parametrize("case", CIRCLES)
def test_a_circle_of_files_is_found(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve had grown inside rooms, where only the order of the rooms was held."""
    files, expected = CIRCLES[case]
    monkeypatch.setattr(tidy, "CIRCLES", {})
    messages = circle_findings(tmp_path, files)
    assert len(messages) == 1, messages
    assert expected in messages[0]


def test_an_excepted_import_closes_no_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exception names the one import that is to go."""
    edge = (RUST + "ftl/slc.rs", RUST + "ftl/pool.rs")
    monkeypatch.setattr(tidy, "CIRCLES", {edge: "is to move"})
    assert circle_findings(tmp_path, CIRCLES["siblings in Rust"][0]) == []


@pytest.mark.parametrize("case", OPEN)
def test_what_is_no_circle_is_not_found(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder knows its files, and tests may look anywhere."""
    monkeypatch.setattr(tidy, "CIRCLES", {})
    assert circle_findings(tmp_path, OPEN[case]) == []


def test_a_room_has_no_more_riddles_than_were_recorded(tmp_path: Path) -> None:
    """Counted in prose alone: code and its spans may say what they like."""
    text = HEAD.replace("it models", "it is told") + 'let a = "so many"; // `so many` one\n'
    path, of = "crates/sim/src/op.rs", "tools/words.txt"
    assert "sim/op has 2 words" in found(tmp_path, path, text, of)[0]
    (tmp_path / "tools").mkdir()
    (tmp_path / of).write_text("# Words\nsim/op 1\n", encoding="utf-8")
    assert "1 were there" in found(tmp_path, path, text, of)[0]
    assert found(tmp_path, path, HEAD, of) == []
    assert doctest.testmod(load_tool("words")).failed == 0
