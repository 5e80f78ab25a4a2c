"""Builds wheel and source archive, and checks both on every supported Python of this machine.

Usage: `python tools/release.py [--out DIR] [--allow-dirty] [--quick] [--plain | --counts FILE]
[--twice] [--target TRIPLE]`. The wheel is built twice (`wheels.py`): one that counts which way its
code goes, in short runs, and from these counts the one to be released. The counts are kept next to
it as `training.profdata`; `--counts` builds from such a file, `--plain` without. Its documents must
be those of the record. For each interpreter the wheel is installed into a fresh environment,
`opennandlab benchmark` is run there, and its digest is compared with the others'. The source
archive is built and installed with the newest of them, which compiles the core again (`--quick`
leaves that out, and makes a sample of the documents). `--twice` builds wheel and archive of the
commit once more in another folder: their bytes must be the same. `--target` builds for another
machine, by its cross compiler, without counts unless they are given; what cannot run here is not
run. What was skipped, and why, is said at the end; anything that differs makes the exit status 1.

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

import wheels
from wheels import install, run

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


def archive_of(out: Path, note: str, root: Path = ROOT) -> Path:
    """Build the source archive into a folder; return it.

    Args:
        out: The folder.
        note: What it says of its commit.
        root: The sources.
    """
    place = root / "COMMIT"
    mark = place.read_bytes()
    place.write_text(f"{note}\n", encoding="utf-8")
    try:
        command = [*wheels.MATURIN, "sdist", "--out", str(out)]
        made = {**os.environ, "SOURCE_DATE_EPOCH": wheels.commit_time(ROOT)}
        subprocess.run(command, cwd=root, env=made, check=True)
    finally:
        place.write_bytes(mark)
    return next(out.glob("*.tar.gz"))


def build(asked: argparse.Namespace, out: Path, host: str) -> tuple[Path, Path | None]:
    """Build the wheel into a folder; return it, and the counts of its training runs.

    Args:
        asked: The options.
        out: The folder.
        host: This machine, as the compiler calls it.
    """
    counts: Path | None = None if asked.counts is None else asked.counts.resolve()
    if counts is None and not asked.plain and asked.target in {None, host}:
        counts = out / "training.profdata"
        wheels.counted(*wheels.compiler(), counts)
    return wheels.wheel_of(out, asked.target or host, wheels.using(counts)), counts


def check_twice(
    head: str, target: str, counts: Path | None, built: tuple[Path, Path], report: Report
) -> None:
    """Build wheel and archive of a commit again in another folder, and compare the bytes."""
    with wheels.elsewhere(head) as root:
        place = root.parent
        if counts is not None:
            counts = Path(shutil.copy(counts, place))
        epoch = wheels.commit_time(ROOT)
        made = (wheels.wheel_of(place, target, wheels.using(counts), root, epoch),
                archive_of(place, head, root))  # fmt: skip
        for one, other in zip(built, made, strict=True):
            if unlike := wheels.difference(one, other):
                report.wrong.append(f"built twice: {unlike}")
            else:
                report.checked.append(f"built twice: {one.name}, sha256 {wheels.sha256(one)}")
                print(report.checked[-1], flush=True)


def last_line(error: subprocess.CalledProcessError) -> str:
    """Return which command failed, and the last line of what it said."""
    said = (error.stderr or "").strip().splitlines()[-1:] or ["no output"]
    return f"`{' '.join(error.cmd[:3])} …`: {said[0]}"


def check_record(wheel: Path, report: Report, *options: str) -> None:
    """Have a wheel make documents of the record again: it may be faster, and nothing else."""
    record = (str(ROOT / "tools/record.py"), "--check", *options)
    with tempfile.TemporaryDirectory() as folder:
        try:
            install(Path(sys.executable), wheel, Path(folder), "all")
            said = run(Path(folder), "venv/bin/python", *record)
        except subprocess.CalledProcessError as error:
            report.wrong.append(f"record: {last_line(error)}")
            return
    report.checked.append(f"record: {said.splitlines()[-1]}")
    print(report.checked[-1], flush=True)


def check(python: Path, package: Path, name: str, expected: str, report: Report) -> None:
    """Install a package into a fresh environment, run it, and note what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        try:
            install(python, package, here)
            told = run(here, "venv/bin/opennandlab", "--version").strip()
            found = DIGEST.search(run(here, "venv/bin/opennandlab", *RUN))
        except subprocess.CalledProcessError as error:
            report.wrong.append(f"{name}: {last_line(error)}")
            return
    if expected not in told:
        report.wrong.append(f"{name}: says `{told}`, which does not name the commit {expected}")
    if found is None:
        report.wrong.append(f"{name}: the result has no digest")
        return
    report.digests[name] = found.group(1)
    report.checked.append(f"{name}: {told}, digest {found.group(1)[:12]}")
    print(report.checked[-1], flush=True)


def check_all(wheel: Path, archive: Path | None, expected: str, report: Report) -> None:
    """Check the wheel on every interpreter, and the source archive, if given, on the newest."""
    known = {version: python for version, python in interpreters().items() if version >= OLDEST}
    old = [f"{major}.{minor}" for major, minor in interpreters() if (major, minor) < OLDEST]
    if old:
        report.skipped.append(f"Python {', '.join(old)}: older than {OLDEST[0]}.{OLDEST[1]}")
    for (major, minor), python in known.items():
        check(python, wheel, f"wheel on Python {major}.{minor}", expected, report)
    if archive is None:
        report.skipped.append("the source archive was not compiled: --quick")
    elif known:
        (major, minor), python = list(known.items())[-1]
        check(python, archive, f"source archive on Python {major}.{minor}", expected, report)


def options() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description="Build wheel and source archive, and check both.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "release")
    parser.add_argument("--allow-dirty", action="store_true", help="build a tree that was changed")
    parser.add_argument("--quick", action="store_true", help="do not compile the source archive")
    parser.add_argument("--twice", action="store_true", help="build again elsewhere, and compare")
    parser.add_argument("--target", help="machine to build for, such as aarch64-unknown-linux-gnu")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--plain", action="store_true", help="build without training runs")
    kind.add_argument("--counts", type=Path, help="build from the counts of earlier training runs")
    return parser.parse_args()


def refusal(asked: argparse.Namespace, *, is_dirty: bool) -> str | None:
    """Return why nothing is built; None if it may be."""
    if is_dirty and asked.twice:
        return "the tree has changes that are not committed: --twice builds a commit"
    if is_dirty and not asked.allow_dirty:
        return "the tree has changes that are not committed; --allow-dirty marks and builds it"
    if asked.out.exists() and any(asked.out.iterdir()):
        return f"{asked.out} is not empty; give another folder by --out"
    if asked.counts is not None and not asked.counts.is_file():
        return (
            f"--counts {asked.counts} is not a file; accepted: a training.profdata of this script"
        )
    return None


def main() -> int:
    """Build, check, and say what came of it; return the exit status."""
    asked = options()
    head, is_dirty = commit()
    if reason := refusal(asked, is_dirty=is_dirty):
        print(reason)
        return 2
    out, host = asked.out.resolve(), wheels.host()
    out.mkdir(parents=True, exist_ok=True)
    archive = archive_of(out, f"{head} changed" if is_dirty else head)
    wheel, counts = build(asked, out, host)
    report = Report()
    report.checked.append(f"{wheel.name} needs {wheels.libc_of(wheel)} or newer")
    print(report.checked[-1], flush=True)
    if asked.target not in {None, host}:
        report.skipped.append(f"the wheel was not run: it is for {asked.target}")
    elif counts is None:
        report.skipped.append("the wheel has no counts of training runs: --plain")
    else:
        check_record(wheel, report, *(("--sample", "6") if asked.quick else ()))
    if asked.target in {None, host}:
        check_all(wheel, None if asked.quick else archive, head[:12], report)
    if asked.twice:
        check_twice(head, asked.target or host, counts, (wheel, archive), report)
    if len(set(report.digests.values())) > 1:
        report.wrong.append("digests differ: " + ", ".join(
            f"{name} {digest[:12]}" for name, digest in report.digests.items()))  # fmt: skip
    for title, lines in (("skipped", report.skipped), ("WRONG", report.wrong)):
        for line in lines:
            print(f"{title}: {line}")
    for path in (wheel, archive):
        print(f"{wheels.sha256(path)}  {path}")
    return 1 if report.wrong or not report.checked else 0


if __name__ == "__main__":
    sys.exit(main())
