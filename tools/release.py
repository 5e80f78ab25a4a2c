"""Builds wheel and source archive, and checks both on every supported Python of this machine.

Usage: `python tools/release.py [--out DIR] [--allow-dirty] [--quick] [--plain]`. The wheel is built
twice: one that counts which way its code goes, in short runs (`TRAINING`), and from these counts
the one to be released (`--plain` leaves that out). Its documents must be those of the record. For
each interpreter the wheel is installed into a fresh environment, `opennandlab benchmark` is run
there, and its digest is compared with the others'. The source archive is built and installed with
the newest of them, which compiles the core anew (`--quick` leaves that out, and makes a sample of
the documents). What was skipped, and why, is said at the end; anything that differs makes the exit
status 1.

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
MATURIN = (sys.executable, "-m", "maturin")
# A run of about a second that fills, collects and measures.
RUN = ("benchmark", "--workload", "W1", "--config", "tlc_standard", "--json")
DIGEST = re.compile(r'"digest": "([0-9a-f]{64})"')
# Code that none of these runs is compiled for size, so each room has a part. Presets, loads and
# seeds are others than those of the benches, which are to measure what was not seen here.
TRAINING = (
    "benchmark -w W4 -c qlc_pslc --shrink 64 --seed 11",
    "benchmark -w W2 -c solidigm_p5520_1920gb --shrink 96 --seed 12",
    "benchmark -w W3-zipf -c mlc_enterprise_plp --shrink 32 --seed 13",
    "benchmark -w W4 -c client_sata_2013 --shrink 8 --seed 14",
    "benchmark -w W2 -c sata_b_2009 --shrink 8 --seed 15",
    "benchmark -w W5 -c tlc_standard --shrink 32 --seed 16",
    "benchmark -w W3 -c tlc_standard --shrink 64 --seed 17",
    "app run --target sim:emmc_16gb --suite light --output app",
    "power run --cuts 300 --jobs 1 --output cuts",
    "ecc speed --code nand-4k-r090 --bit-errors 100 --seconds 0.1",
    "ecc speed --code bch:m=13,t=8,data_bits=4096 --bit-errors 8 --seconds 0.1",
    "trace info trace.csv",
)
# A row of that trace, in the form of the MSR Cambridge traces.
TRACE = "{0},usr,{1},{2},{3},4096,700\n"


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


def compiler() -> tuple[str, Path]:
    """Return the host of the compiler, and the program that merges counts: no other LLVM's fits.

    Raises:
        SystemExit: if that is not there, and rustup, which installs it, is not either.
    """

    def rustc(*words: str) -> str:
        return subprocess.run(["rustc", *words], check=True, capture_output=True, text=True).stdout

    host = rustc("-vV").partition("host: ")[2].partition("\n")[0]
    merge = Path(rustc("--print", "sysroot").strip(), "lib/rustlib", host, "bin/llvm-profdata")
    if not merge.exists():
        if shutil.which("rustup") is None:
            raise SystemExit(
                f"release: {merge} is not there; accepted: a compiler of rustup, whose component "
                "llvm-tools has it, or --plain for a wheel without training runs"
            )
        subprocess.run(["rustup", "component", "add", "llvm-tools"], check=True)
    return host, merge


def wheel_of(out: Path, host: str, flags: str) -> Path:
    """Build a wheel with flags for the compiler into a folder; return it."""
    # With a target named, what runs while it is built is compiled without the flags.
    command = [*MATURIN, "build", "--release", "--locked", "--target", host, "--out", str(out)]
    environment = {**os.environ, "RUSTFLAGS": flags,
                   "CARGO_TARGET_DIR": str(ROOT / "target" / "counted")}  # fmt: skip
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return next(out.glob("*.whl"))


def trained(out: Path) -> Path:
    """Build the wheel from the counts of the training runs into a folder; return it."""
    host, merge = compiler()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        counting = wheel_of(here, host, f"-Cprofile-generate={here}/counts")
        install(Path(sys.executable), counting, here)
        rows = (TRACE.format(128166372000000000 + 90 * row, row % 3, ("Read", "Write")[row % 7 > 4],
                             row * 7919 % 1000003 * 4096) for row in range(200_000))  # fmt: skip
        (here / "trace.csv").write_text("".join(rows), encoding="ascii")
        for words in TRAINING:
            print(f"training: opennandlab {words}", flush=True)
            run(here, "venv/bin/opennandlab", *words.split())
        run(here, str(merge), "merge", "--output=all", "counts")
        return wheel_of(out, host, f"-Cprofile-use={here}/all")


def build(out: Path, note: str, *, is_plain: bool) -> tuple[Path, Path]:
    """Build wheel and source archive into a folder; return both.

    Args:
        out: The folder, empty or missing.
        note: What the source archive says of its commit.
        is_plain: Build the wheel without training runs.
    """
    place = ROOT / "COMMIT"
    mark = place.read_bytes()
    place.write_text(f"{note}\n", encoding="utf-8")
    try:
        subprocess.run([*MATURIN, "sdist", "--out", str(out)], cwd=ROOT, check=True)
    finally:
        place.write_bytes(mark)
    if is_plain:
        command = [*MATURIN, "build", "--release", "--locked", "--out", str(out)]
        subprocess.run(command, cwd=ROOT, check=True)
    wheel = next(out.glob("*.whl")) if is_plain else trained(out)
    return wheel, next(out.glob("*.tar.gz"))


def run(folder: Path, *command: str) -> str:
    """Run a program in a folder, without the sources on its path; return what it prints."""
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True,
                          text=True, check=True)  # fmt: skip
    return done.stdout


def install(python: Path, package: Path, folder: Path) -> None:
    """Install a package into a new environment, `venv` in a folder."""
    run(folder, str(python), "-m", "venv", "venv")
    run(folder, "venv/bin/pip", "install", "--quiet", str(package))


def last_line(error: subprocess.CalledProcessError) -> str:
    """Return which command failed, and the last line of what it said."""
    said = (error.stderr or "").strip().splitlines()[-1:] or ["no output"]
    return f"`{' '.join(error.cmd[:3])} …`: {said[0]}"


def check_record(wheel: Path, report: Report, *options: str) -> None:
    """Have a wheel make documents of the record again: it may be faster, and nothing else."""
    record = (str(ROOT / "tools/record.py"), "--check", *options)
    with tempfile.TemporaryDirectory() as folder:
        try:
            install(Path(sys.executable), wheel, Path(folder))
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


def main() -> int:
    """Build, check, and say what came of it; return the exit status."""
    parser = argparse.ArgumentParser(description="Build wheel and source archive, and check both.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "release")
    parser.add_argument("--allow-dirty", action="store_true", help="build a tree that was changed")
    parser.add_argument("--quick", action="store_true", help="do not compile the source archive")
    parser.add_argument("--plain", action="store_true", help="build without training runs")
    asked = parser.parse_args()
    head, is_dirty = commit()
    if is_dirty and not asked.allow_dirty:
        print("the tree has changes that are not committed; --allow-dirty marks and builds it")
        return 2
    if asked.out.exists() and any(asked.out.iterdir()):
        print(f"{asked.out} is not empty; give another folder by --out")
        return 2
    note = f"{head} changed" if is_dirty else head
    wheel, archive = build(asked.out.resolve(), note, is_plain=asked.plain)
    report = Report()
    if asked.plain:
        report.skipped.append("the wheel has no counts of training runs: --plain")
    else:
        check_record(wheel, report, *(("--sample", "6") if asked.quick else ()))
    check_all(wheel, None if asked.quick else archive, head[:12], report)
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
