"""Says what this machine lacks to build, before anything is installed, and how to get it.

    python3 tools/prerequisites.py      exit 0 and no word where everything is there

Runs under any Python 3, also one that is too old for the package: it says so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The oldest that pyproject.toml accepts.
PYTHON = (3, 10)
RUSTUP = "https://rustup.rs, or `apt-get install rustup && rustup default stable`"


def rust_version() -> tuple[int, ...]:
    """Return the oldest Rust that Cargo.toml accepts."""
    found = re.search(
        r'^rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE
    )
    return tuple(map(int, found.group(1).split("."))) if found else (0,)


def python() -> Iterator[str]:
    """Python itself, and the modules that make an environment."""
    if sys.version_info < PYTHON:
        have, need = sys.version.split()[0], ".".join(map(str, PYTHON))
        yield f"Python {have} is too old: {need} or newer is needed; make a newer one `python3`"
    # Debian packs them apart from Python.
    if not all(map(find_spec, ("venv", "ensurepip"))):
        yield "Python cannot make environments: `apt-get install python3-venv`"


def rust() -> Iterator[str]:
    """A toolchain that is new enough for our crates."""
    need = rust_version()
    shown = ".".join(map(str, need))
    for program in ("cargo", "rustc"):
        if shutil.which(program) is None:
            yield f"`{program}` is not there: Rust {shown} or newer, from {RUSTUP}"
            return
        text = _said([program, "--version"])
        found = re.match(rf"{program} (\d+)\.(\d+)", text)
        if found is None:
            yield f"`{program} --version` does not work ({text or 'no output'}): from {RUSTUP}"
            return
        if tuple(map(int, found.groups())) < need[:2]:
            yield f"Rust {text.split()[1]} is too old: {shown} or newer; `rustup update stable`"
            return


def linker() -> Iterator[str]:
    """A C compiler: Rust links with it, and one of our dependencies is C."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        yield "no C compiler is there: `apt-get install gcc libc6-dev`"


def _said(command: list[str]) -> str:
    try:
        shown = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    except OSError as error:
        return str(error)
    return (shown.stdout.strip() or shown.stderr.strip()).partition("\n")[0]


CHECKS: tuple[Callable[[], Iterator[str]], ...] = (python, rust, linker)


def main() -> int:
    """Print what is missing; return 1 where anything is."""
    missing = [line for check in CHECKS for line in check()]
    for line in missing:
        print(f"missing: {line}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
