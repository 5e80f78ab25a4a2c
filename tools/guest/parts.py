"""Kernel, modules and programs of the guest, from packages of Debian or of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

FOLDER = Path("target/nvme-guest")
QEMU = "qemu-system-x86_64"
KERNEL = "linux-image-cloud-amd64"
PACKAGES = (
    "busybox-static", "nvme-cli", "libnvme1", "libjson-c5", "libdbus-1-3", "e2fsprogs",
)  # fmt: skip
# What loads packages may be cut short, what installs them should not: as much longer it may take.
INSTALL_S = 60
# Where a package or this machine has programs.
PLACES = ("usr/sbin", "sbin", "usr/bin", "bin")
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class Skipped(Exception):  # noqa: N818 (no error)
    """Something cannot be tried here; the text says why."""


def run(*command: object, folder: Path = Path(), libraries: str = "", limit_s: float = 300) -> str:
    """Run a program; return what it printed."""
    words = [str(word) for word in command]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if libraries:
        environment["LD_LIBRARY_PATH"] = libraries
    done = subprocess.run(
        words, check=True, text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        timeout=limit_s, cwd=folder, env=environment,
    )  # fmt: skip
    return done.stdout


def fetch(limit_s: float = 300) -> None:
    """Bring QEMU, the kernel and the programs of the guest, once.

    Raises:
        Skipped: when they cannot be had here, or not in time.
    """
    ends = time.monotonic() + limit_s
    steps: list[tuple[tuple[str, ...], Path]] = []
    here = Path()
    if shutil.which(QEMU) is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise Skipped(f"{QEMU} is not installed (Debian: apt install qemu-system-x86)")
        install = ("apt-get", "install", "--yes", "--quiet", "--no-install-recommends")
        steps += [
            ((*install, "--download-only", "qemu-system-x86"), here),
            ((*install, "qemu-system-x86"), here),
        ]
    if not _is_whole():
        FOLDER.mkdir(parents=True, exist_ok=True)
        steps.append((("apt-get", "--quiet", "download", *PACKAGES), FOLDER))
    if not steps:
        return
    if os.geteuid() == 0:
        steps.insert(0, (("apt-get", "update", "--quiet"), here))
    try:
        for command, folder in steps:
            left_s = max(ends - time.monotonic(), 1)
            is_begun = "install" in command and "--download-only" not in command
            run(*command, folder=folder, limit_s=left_s + INSTALL_S * is_begun)
        if not _is_whole():
            _unpack(max(ends - time.monotonic(), 1))
    except subprocess.TimeoutExpired as error:
        raise Skipped(f"packages of Debian did not come within {limit_s:.0f} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skipped(f"packages of Debian cannot be had here ({error})") from error


def _is_whole() -> bool:
    return any(FOLDER.glob("boot/vmlinuz-*")) and (FOLDER / "usr/sbin/nvme").exists()


def _unpack(limit_s: float) -> None:
    kernel = re.search(r"Depends: (linux-image-\S+)", run("apt-cache", "depends", KERNEL))
    name = kernel[1] if kernel else KERNEL
    run("apt-get", "--quiet", "download", name, folder=FOLDER, limit_s=limit_s)
    for package in FOLDER.glob("*.deb"):
        run("dpkg", "-x", package, FOLDER)


def kernel() -> Path:
    """Return the kernel."""
    return next(FOLDER.glob("boot/vmlinuz-*"))


def module(name: str) -> Path:
    """Return a module of the kernel.

    Raises:
        Skipped: when the kernel has no such module.
    """
    for found in (FOLDER / "lib/modules").rglob(f"{name}.ko"):
        return found
    raise Skipped(f"{kernel().name} has no module {name}")


def program(name: str) -> Path:
    """Return a program: that of the packages, else that of this machine.

    Raises:
        Skipped: when there is none.
    """
    for root in (FOLDER, Path("/")):
        for place in PLACES:
            path = root / place / name
            if path.is_file():
                return path
    raise Skipped(f"{name} is not installed")


def libraries(*programs: Path) -> dict[str, Path]:
    """Return the shared libraries that programs need, by name.

    Raises:
        Skipped: when one of them cannot be had.
    """
    own = {path.name: path for path in FOLDER.glob("usr/lib/*/*.so.*")}
    listed = run("ldd", *programs, libraries=f"{FOLDER}/{LIBRARIES}")
    missing = sorted({*re.findall(r"(\S+) => not found", listed)})
    if missing:
        raise Skipped(f"libraries {', '.join(missing)} are not installed")
    found = {Path(path).name: Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}
    return {name: own.get(name, path) for name, path in found.items()}
