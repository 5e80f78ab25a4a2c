"""Processor time of a build of the core from empty, by profile: `python benches/build.py`.

    demo       what `make demo` and the tests install
    release    what `tools/release.py` packs, there with counts of training runs

Sources that are downloaded are kept, so that no network is in it. Each build has a folder of its
own, which is removed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = ("cargo", "build", "--locked", "--quiet", "-p", "opennandlab-py", "--lib",
         "--features", "extension-module")  # fmt: skip


def used_s(profile: str) -> float:
    """Return the processor seconds of a build from empty."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CARGO_PROFILE_")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [*CARGO, "--profile", profile, "--target-dir", folder]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Build, print, and return the exit status."""
    if shutil.which("cargo") is None:
        print("build: there is no cargo", file=sys.stderr)
        return 77
    release_s, demo_s = (used_s(profile) for profile in ("release", "demo"))
    print(f"release  {release_s:6.0f} s of processor time")
    print(f"demo     {demo_s:6.0f} s, {demo_s / release_s:.2f} of it (aim 0.75)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
