"""Builds wheel and source archive, and checks both on every supported Python of this machine.

Usage: `python tools/release.py [--out DIR] [--allow-dirty] [--quick]`. For each interpreter the
wheel is installed into a fresh environment, `opennandlab benchmark` is run there, and its digest is
compared with the others'. The source archive is built and installed with the newest of them, which
compiles the core anew (`--quick` leaves that out). What was skipped, and why, is said at the end;
anything that differs makes the exit status 1.

Interpreters are those of pyenv and those on the PATH. Publishing is not done here.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)
# A run of about a second that fills, collects and measures.
RUN = ("benchmark", "--workload", "W1", "--config", "tlc_standard", "--json")
DIGEST = re.compile(r'"digest": "([0-9a-f]{64})"')


@dataclass
class Report:
    """What was checked, what was left out, and what is wrong."""

    checked: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)


def version_of(python: Path) -> tuple[int, int] | None:
    """Return major and minor version of an interpreter; None for one that does not start."""
    command = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def interpreters() -> dict[tuple[int, int], Path]:
    """Return one interpreter for each version on this machine, oldest first."""
    places = sorted((Path.home() / ".pyenv" / "versions").glob("*/bin/python"))
    names = ["python3", *(f"python3.{minor}" for minor in range(6, 20))]
    places += [Path(found) for name in names if (found := shutil.which(name))]
    kept: dict[tuple[int, int], Path] = {}
    for place in places:
        version = version_of(place)
        if version is not None:
            kept.setdefault(version, place)
    return dict(sorted(kept.items()))


def commit() -> tuple[str, bool]:
    """Return the commit of this tree, and whether anything in it was changed since."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))


def build(out: Path, note: str) -> tuple[Path, Path]:
    """Build wheel and source archive into a folder; return both.

    Args:
        out: The folder, empty or missing.
        note: What the source archive says of its commit.
    """
    maturin = [sys.executable, "-m", "maturin"]
    place = ROOT / "COMMIT"
    mark = place.read_bytes()
    place.write_text(f"{note}\n", encoding="utf-8")
    try:
        subprocess.run([*maturin, "sdist", "--out", str(out)], cwd=ROOT, check=True)
    finally:
        place.write_bytes(mark)
    subprocess.run([*maturin, "build", "--release", "--locked", "--out", str(out)],
                   cwd=ROOT, check=True)  # fmt: skip
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def check(python: Path, package: Path, name: str, expected: str, report: Report) -> None:
    """Install a package into a fresh environment, run it, and note what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}

        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=here, env=environment, capture_output=True,
                                  text=True, check=True)  # fmt: skip
            return done.stdout

        try:
            run(str(python), "-m", "venv", "venv")
            run("venv/bin/pip", "install", "--quiet", str(package))
            told = run("venv/bin/opennandlab", "--version").strip()
            found = DIGEST.search(run("venv/bin/opennandlab", *RUN))
        except subprocess.CalledProcessError as error:
            last = (error.stderr or "").strip().splitlines()[-1:] or ["no output"]
            report.wrong.append(f"{name}: `{' '.join(error.cmd[:3])} …`: {last[0]}")
            return
    if expected not in told:
        report.wrong.append(f"{name}: says `{told}`, which does not name the commit {expected}")
    if found is None:
        report.wrong.append(f"{name}: the result has no digest")
        return
    report.digests[name] = found.group(1)
    report.checked.append(f"{name}: {told}, digest {found.group(1)[:12]}")
    print(report.checked[-1], flush=True)


def main() -> int:
    """Build, check, and say what came of it; return the exit status."""
    parser = argparse.ArgumentParser(description="Build wheel and source archive, and check both.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "release")
    parser.add_argument("--allow-dirty", action="store_true", help="build a tree that was changed")
    parser.add_argument("--quick", action="store_true", help="do not compile the source archive")
    asked = parser.parse_args()
    head, is_dirty = commit()
    if is_dirty and not asked.allow_dirty:
        print("the tree has changes that are not committed; --allow-dirty marks and builds it")
        return 2
    if asked.out.exists() and any(asked.out.iterdir()):
        print(f"{asked.out} is not empty; give another folder by --out")
        return 2
    wheel, archive = build(asked.out.resolve(), f"{head} changed" if is_dirty else head)
    report = Report()
    known = {version: python for version, python in interpreters().items() if version >= OLDEST}
    old = [f"{major}.{minor}" for major, minor in interpreters() if (major, minor) < OLDEST]
    if old:
        report.skipped.append(f"Python {', '.join(old)}: older than {OLDEST[0]}.{OLDEST[1]}")
    for (major, minor), python in known.items():
        check(python, wheel, f"wheel on Python {major}.{minor}", head[:12], report)
    if asked.quick:
        report.skipped.append("the source archive was not compiled: --quick")
    elif known:
        (major, minor), python = list(known.items())[-1]
        check(python, archive, f"source archive on Python {major}.{minor}", head[:12], report)
    if len(set(report.digests.values())) > 1:
        report.wrong.append("digests differ: " + ", ".join(
            f"{name} {digest[:12]}" for name, digest in report.digests.items()))  # fmt: skip
    for title, lines in (("skipped", report.skipped), ("WRONG", report.wrong)):
        for line in lines:
            print(f"{title}: {line}")
    print(f"{wheel}\n{archive}")
    return 1 if report.wrong or not report.checked else 0


if __name__ == "__main__":
    sys.exit(main())
