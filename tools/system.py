"""Install the system's programs that some tests need: fio, an NBD server, a browser.

As root on a system with apt they are installed without asking; elsewhere, and where that fails, one
line says what is missing, and the tests that need it skip with a reason. Nothing else needs them:
a user of simulated drives can do without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A program that tests start.

    Args:
        names: Under which it may be installed.
        packages: Of Debian.
        use: What is not tested without it.
    """

    names: tuple[str, ...]
    packages: tuple[str, ...]
    use: str


PROGRAMS = (
    Program(("fio",), ("fio",), "files and drives through fio"),
    Program(("nbdkit",), ("nbdkit",), "NBD exports"),
    Program(("nbdinfo",), ("libnbd-bin",), "served drives through libnbd"),
    Program(("nbdfuse",), ("nbdfuse",), "served drives as mounted disks"),
    Program(("qemu-img",), ("qemu-utils",), "served drives through QEMU"),
    Program(("mkfs.ext4",), ("e2fsprogs",), "ext4 on served drives"),
    Program(("mkfs.xfs",), ("xfsprogs",), "XFS on served drives"),
    Program(("mkfs.btrfs",), ("btrfs-progs",), "Btrfs on served drives"),
    Program(("mkfs.f2fs",), ("f2fs-tools",), "F2FS on served drives"),
    Program(("mkfs.exfat",), ("exfatprogs",), "exFAT on served drives"),
    # The fonts are only recommended by the browser, and its pages are read from pictures.
    Program(
        ("chromium", "chromium-browser", "google-chrome"),
        ("chromium", "fonts-liberation"),
        "pages in a browser",
    ),
)


def missing() -> list[Program]:
    """Return the programs that are not installed."""
    return [program for program in PROGRAMS if not any(map(shutil.which, program.names))]


def install(programs: list[Program]) -> None:
    """Install by apt, as far as that works."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = [package for program in programs for package in program.packages]
    for command in (
        ["apt-get", "update", "--quiet"],
        ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *packages],
    ):
        print("+", " ".join(command), flush=True)
        subprocess.run(command, check=False, env=environment, stdin=subprocess.DEVNULL)


def main() -> int:
    """Install what is missing; return 0 in any case, because tests can skip."""
    wanted = missing()
    if wanted and os.geteuid() == 0 and shutil.which("apt-get"):
        install(wanted)
        wanted = missing()
    if wanted:
        names = ", ".join(program.names[0] for program in wanted)
        skipped = ", ".join(program.use for program in wanted)
        print(f"system: not installed: {names}; tests of these skip: {skipped}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
