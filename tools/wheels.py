"""Builds wheels: from counts of training runs, the same bytes in every folder, for other machines.

```text
sources ─► wheel that counts ─► training runs ─► counts ─┬─► wheel
                                     --counts FILE ──────┘     │ same bytes
git archive HEAD, in another folder ─────────────────────────► wheel
```
The same sources, compiler, linker and counts give the same bytes: crates are those of Cargo.lock,
paths of the machine become names (`renamed`), and the time in an archive is that of the commit. The
counts themselves are of runs on a clock, and differ a little each time: they are kept with the
wheel.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MATURIN = (sys.executable, "-m", "maturin")
# Between two flags of CARGO_ENCODED_RUSTFLAGS, which may have spaces in them.
BETWEEN = "\x1f"
GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)")
# Code that none of these runs is compiled for size, so each room has a part. Presets, loads and
# seeds are others than those of the benches, which are to measure what was not seen here; of the
# latency test, which `benches/latency.py` measures, drives and lengths are others.
TRAINING = (
    "benchmark -w W4 -c qlc_pslc --shrink 64 --seed 11",
    "benchmark -w W2 -c solidigm_p5520_1920gb --shrink 96 --seed 12",
    "benchmark -w W3-zipf -c mlc_enterprise_plp --shrink 32 --seed 13",
    "benchmark -w W4 -c client_sata_2013 --shrink 8 --seed 14",
    "benchmark -w W2 -c sata_b_2009 --shrink 8 --seed 15",
    "benchmark -w W5 -c tlc_standard --shrink 32 --seed 16",
    "benchmark -w W3 -c tlc_standard --shrink 64 --seed 17",
    "pts latency --target sim:solidigm_p5520_1920gb --time-base smoke --cell-seconds 3 --seed 18",
    "pts latency --target sim:qlc_pslc --profile C --time-base smoke --cell-seconds 3 --seed 19",
    "app run --target sim:emmc_16gb --suite light --output app",
    "power run --cuts 300 --jobs 1 --output cuts",
    "ecc speed --code nand-4k-r090 --bit-errors 100 --seconds 0.1",
    "ecc speed --code bch:m=13,t=8,data_bits=4096 --bit-errors 8 --seconds 0.1",
    "trace info trace.csv",
)
# A row of that trace, in the form of the MSR Cambridge traces.
TRACE = "{0},usr,{1},{2},{3},4096,700\n"


def run(folder: Path, *command: str) -> str:
    """Run a program in a folder, without the sources on its path; return what it prints."""
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True,
                          text=True, check=True)  # fmt: skip
    return done.stdout


def install(python: Path, package: Path, folder: Path, extra: str = "") -> None:
    """Install a package into a new environment, `venv` in a folder, with an extra if named."""
    run(folder, str(python), "-m", "venv", "venv")
    wanted = f"{package}[{extra}]" if extra else str(package)
    run(folder, "venv/bin/pip", "install", "--quiet", wanted)


def commit_time(root: Path) -> str:
    """Return when the commit of a work tree was made, in seconds since 1970."""
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _rustc(*words: str) -> str:
    return subprocess.run(["rustc", *words], check=True, capture_output=True, text=True).stdout


def host() -> str:
    """Return this machine, as the compiler calls it."""
    return _rustc("-vV").partition("host: ")[2].partition("\n")[0]


def compiler() -> tuple[str, Path]:
    """Return the host of the compiler, and the program that merges counts: no other LLVM's fits.

    Raises:
        SystemExit: if that is not there, and rustup, which installs it, is not either.
    """
    merge = Path(_rustc("--print", "sysroot").strip(), "lib/rustlib", host(), "bin/llvm-profdata")
    if not merge.exists():
        if shutil.which("rustup") is None:
            raise SystemExit(
                f"release: {merge} is not there; accepted: a compiler of rustup, whose component "
                "llvm-tools has it, or --plain for a wheel without training runs"
            )
        subprocess.run(["rustup", "component", "add", "llvm-tools"], check=True)
    return host(), merge


def renamed(root: Path) -> dict[str, str]:
    """Return what the paths of this machine are called in a wheel."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    return {str(cargo): "/cargo", str(root): "/opennandlab"}


def environment(root: Path, flags: tuple[str, ...], target: str, epoch: str) -> dict[str, str]:
    """Return the variables that a wheel is built with.

    Args:
        root: The sources.
        flags: For the compiler, besides those that rename paths.
        target: The machine that it is for.
        epoch: Time of its files, in seconds since 1970.
    """
    names = renamed(root)
    every = [*(f"--remap-path-prefix={path}={name}" for path, name in names.items()), *flags]
    # Flags in C are parted at spaces: a path that has one keeps its name there.
    cflags = " ".join(
        f"-ffile-prefix-map={path}={name}" for path, name in names.items() if " " not in path
    )
    made = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": BETWEEN.join(every),
            "SOURCE_DATE_EPOCH": epoch, f"CFLAGS_{target.replace('-', '_')}": cflags,
            "CARGO_TARGET_DIR": str(root / "target" / "release-wheel")}  # fmt: skip
    made.pop("RUSTFLAGS", None)
    machine, _, system = target.partition("-unknown-")
    cross = f"{machine}-{system}-gcc"
    if machine != os.uname().machine and shutil.which(cross):
        name = target.upper().replace("-", "_")
        made.setdefault(f"CARGO_TARGET_{name}_LINKER", cross)
        made.setdefault(f"CC_{target.replace('-', '_')}", cross)
    return made


def wheel_of(
    out: Path, target: str, flags: tuple[str, ...] = (), root: Path = ROOT, epoch: str = ""
) -> Path:
    """Build a wheel into a folder; return it.

    Args:
        out: The folder.
        target: The machine that it is for, as the compiler calls it.
        flags: For the compiler.
        root: The sources.
        epoch: Time of its files; by default that of the commit.
    """
    # With a target named, what runs while it is built is compiled without the flags.
    command = [*MATURIN, "build", "--release", "--locked", "--target", target, "--out", str(out)]
    made = environment(root, flags, target, epoch or commit_time(root))
    subprocess.run(command, cwd=root, env=made, check=True)
    return next(out.glob("*.whl"))


def counted(target: str, merge: Path, kept: Path) -> None:
    """Build a wheel that counts, run the training, and keep the counts in a file."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        counting = wheel_of(here, target, (f"-Cprofile-generate={here}/counts",))
        install(Path(sys.executable), counting, here, "all")
        rows = (TRACE.format(128166372000000000 + 90 * row, row % 3, ("Read", "Write")[row % 7 > 4],
                             row * 7919 % 1000003 * 4096) for row in range(200_000))  # fmt: skip
        (here / "trace.csv").write_text("".join(rows), encoding="ascii")
        for words in TRAINING:
            print(f"training: opennandlab {words}", flush=True)
            run(here, "venv/bin/opennandlab", *words.split())
        run(here, str(merge), "merge", f"--output={kept}", "counts")


def using(counts: Path | None) -> tuple[str, ...]:
    """Return the flags of a wheel from counts; none without."""
    return () if counts is None else (f"-Cprofile-use={counts}",)


@contextmanager
def elsewhere(head: str) -> Iterator[Path]:
    """Unpack the sources of a commit into another folder, which is removed afterwards.

    Args:
        head: The commit.

    Yields:
        The folder of the sources; the one around it is free for what is built.
    """
    with tempfile.TemporaryDirectory(prefix="another-place-") as folder:
        root = Path(folder) / "sources"
        command = ["git", "-C", str(ROOT), "archive", head]
        packed = subprocess.run(command, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(root, filter="data")
        yield root


def difference(one: Path, other: Path) -> str | None:
    """Return what differs in two packages; None if the files have the same bytes."""
    if one.name == other.name and sha256(one) == sha256(other):
        return None
    first, second = _members(one), _members(other)
    unlike = sorted(name for name in first.keys() | second.keys()
                    if first.get(name) != second.get(name))  # fmt: skip
    return f"{one.name}: {', '.join(unlike) or 'names, order or times of members'}"


def _members(package: Path) -> dict[str, bytes]:
    """Return the content of a wheel or source archive by name."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(package) as files:
        return {one.name: taken.read() for one in files if (taken := files.extractfile(one))}


def sha256(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def libc_of(wheel: Path) -> str:
    """Return the oldest C library that the core of a wheel runs with, by its symbols."""
    with zipfile.ZipFile(wheel) as archive:
        core = next(name for name in archive.namelist() if name.endswith(".abi3.so"))
        found = {(int(major), int(minor)) for major, minor in GLIBC.findall(archive.read(core))}
    major, minor = max(found)
    return f"glibc {major}.{minor}"
