"""The tests that an edit is most likely to break, on the sources as they are, in under a minute.

```text
git: changed files ──► files of tests that import them ─┐
                       those that import their rooms ───┼─► quickest first, up to BUDGET_S
                       all others ──────────────────────┘
python/opennandlab, and the compiled core that is installed ──► target/overlay, first on the path
```
Usage: `python tools/quick.py`, or `make quick`; words behind it are for pytest. `--weigh` runs all
tests instead and writes tests/weights.txt: what each of those takes that take more than 0.1 s.
What takes more than 1.5 s there is left to `make test-long` (tests/conftest.py).
Changed Rust code is tested by `cargo test` of its room.
"""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "opennandlab"
OVERLAY = ROOT / "target" / "overlay"
WEIGHTS = ROOT / "tests" / "weights.txt"
# Of recorded test time; to look at all tests takes another 12 s.
BUDGET_S = 16.0
# What is recorded, and what the others take on average.
RECORDED_S, UNRECORDED_S = 0.1, 0.013
CHANGED = "OPENNANDLAB_CHANGED"


def changed() -> list[str]:
    """Return the paths that differ from the last commit."""
    commands = (
        "git diff --name-only HEAD",
        "git ls-files --others --exclude-standard",
    )
    found = (
        subprocess.run(shlex.split(it), cwd=ROOT, check=True, capture_output=True, text=True)
        for it in commands
    )
    return [line for done in found for line in done.stdout.splitlines()]


def overlay() -> Path:
    """Make a package of the sources and of the core that is installed; return where it is.

    Raises:
        SystemExit: if none is installed.
    """
    core = next(Path(sys.prefix).glob("lib/python*/site-packages/opennandlab/_core*.so"), None)
    if core is None:
        raise SystemExit("quick: no compiled core is installed; accepted: make .venv/installed")
    folder = OVERLAY / "opennandlab"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    sources = (it for it in PACKAGE.iterdir() if it.name != "__pycache__" and it.suffix != ".so")
    for entry in (core, *sources):
        (folder / entry.name).symlink_to(entry)
    return OVERLAY


def modules(paths: Sequence[str]) -> list[str]:
    """Return the modules of the package among paths.

    >>> modules(["python/opennandlab/stats/steady.py", "python/opennandlab/ecc/__init__.py", "x"])
    ['opennandlab.stats.steady', 'opennandlab.ecc']
    """
    ours = [PurePosixPath(path) for path in paths if path.startswith("python/opennandlab/")]
    parts = [path.with_suffix("").parts[1:] for path in ours if path.suffix == ".py"]
    return [".".join(it[:-1] if it[-1] == "__init__" else it) for it in parts]


def imported(source: str) -> Iterator[str]:
    """Yield the modules that a file of tests names, `from a import b` as `a.b`.

    >>> list(imported("from opennandlab.stats import steady"))
    ['opennandlab.stats.steady']
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def nearness(path: Path, paths: Sequence[str]) -> int:
    """Return 0 for tests that are changed or name what is, 1 for those of its room, else 2."""
    if str(path.relative_to(ROOT)) in paths:
        return 0
    named = [f"{name}." for name in imported(path.read_text(encoding="utf-8"))]
    touched = modules(paths)
    if any(name.startswith(f"{module}.") for name in named for module in touched):
        return 0
    rooms = {".".join(module.split(".")[:2]) for module in touched}
    return 1 if any(name.startswith(f"{room}.") for name in named for room in rooms) else 2


def weights() -> dict[str, float]:
    """Return the seconds of each test that was recorded, by its name."""
    lines = WEIGHTS.read_text(encoding="utf-8").splitlines() if WEIGHTS.exists() else []
    pairs = (line.split(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(seconds) for seconds, name in pairs}


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:  # noqa: ANN401
    """Keep what is near the changed files and quick: pytest calls this when `quick` is a plugin."""
    if CHANGED not in os.environ:
        return
    paths = os.environ[CHANGED].splitlines()
    known = weights()
    near = {path: nearness(path, paths) for path in {item.path for item in items}}
    seconds = {item: known.get(item.nodeid, UNRECORDED_S) for item in items}
    left, chosen = BUDGET_S, set()
    for item in sorted(items, key=lambda it: (near[it.path], seconds[it])):
        if seconds[item] <= left:
            left -= seconds[item]
            chosen.add(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


_taken: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:  # noqa: ANN401
    """Note what a test takes."""
    _taken[report.nodeid] = _taken.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(session: Any) -> None:  # noqa: ANN401
    """Write what was noted, if it was asked for; workers of pytest-xdist have a part only."""
    if CHANGED in os.environ or hasattr(session.config, "workerinput"):
        return
    slow = sorted((name, taken) for name, taken in _taken.items() if taken >= RECORDED_S)
    lines = [f"{taken:.2f} {name}" for name, taken in slow]
    head = f"# Seconds of each test that takes {RECORDED_S} or more; written by `make weights`."
    WEIGHTS.write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def rust(paths: Sequence[str]) -> list[list[str]]:
    """Return the commands that test changed Rust code.

    >>> rust(["crates/sim/src/ftl/gc/mod.rs", "crates/sim/src/rng.rs", "crates/ecc/src/lib.rs"])
    [['cargo', 'test', '-q', '-p', 'opennandlab-sim', '--lib', '--', 'ftl', 'rng']]
    """
    rooms: dict[str, set[str]] = {}
    for path in map(PurePosixPath, paths):
        if path.parts[0] == "crates" and path.suffix == ".rs" and "src" in path.parts:
            rooms.setdefault(path.parts[1], set()).add(path.parts[3].removesuffix(".rs"))
    head = ("cargo", "test", "-q", "-p")
    return [
        [*head, f"opennandlab-{crate}", "--lib", "--", *sorted(found - {"lib"})]
        for crate, found in sorted(rooms.items())
        if found - {"lib"} and crate != "py"
    ]


def run(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command in the repository; return its exit status."""
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main(arguments: list[str]) -> int:
    """Run the tests; return the exit status."""
    weighs = "--weigh" in arguments
    words = [word for word in arguments if word != "--weigh"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(overlay()), str(ROOT / "tools")]),
    }
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "quick"]
    if weighs:
        return run([*pytest, "-n", "2", *words], environment)
    paths = changed()
    status = 0
    for command in rust(paths):
        print("quick:", shlex.join(command), flush=True)
        status |= run(command, dict(os.environ))
    if any(path.startswith("crates/") for path in paths):
        print("quick: Python's tests use the core that is installed, not crates/ as it is now")
    environment[CHANGED] = "\n".join(paths)
    return status | run([*pytest, "-m", "not long", *words], environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
