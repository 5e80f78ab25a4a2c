"""Try a drive that is served over NVMe with a real Linux: a guest of QEMU without KVM.

Usage: `python tools/nvme_guest.py [NAME …] [--within SECONDS]`, with names of the files in
`tools/guest/scenarios`; without one all are tried, with 0.5 to 1.5 GB of memory. QEMU is installed
by apt, once, if it may be; kernel and programs of the guest are unpacked below `target/nvme-guest`.
The guest reaches the loopback of this machine alone. What cannot be tried is named with the reason,
and does not count; the exit status is 1 when something is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import shutil
import sys
import time

from guest import parts, scenarios
from guest.bench import Bench

# A guest that cannot take so long is not started: a busy machine needs most of it.
LEAST_S = 120
LIMIT_S = 900


def names() -> list[str]:
    """Return the names of all scenarios; the short one comes first."""
    found = sorted(module.name for module in pkgutil.iter_modules(scenarios.__path__))
    return sorted(found, key=lambda name: name != "smoke")


def attempt(name: str, ends: float) -> tuple[str, bool]:
    """Try a scenario; return what is to be said of it, and whether it is well."""
    module = importlib.import_module(f"guest.scenarios.{name}")
    folder = parts.FOLDER / "runs" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = time.monotonic()
    if ends - start < LEAST_S:
        return "not tried: no time is left", True
    bench = Bench(folder, min(ends, start + LIMIT_S))
    try:
        found = module.scenario(bench)
    except parts.Skipped as skipped:
        return f"not tried: {skipped}", True
    except (RuntimeError, TimeoutError) as error:
        found = [str(error)]
    finally:
        (folder / "initramfs").unlink(missing_ok=True)
    text = "\n".join(bench.consoles)
    commands = len(re.findall(r"^rc \d", text, re.MULTILINE))
    kernel = len(re.findall(r"^kernel: ", text, re.MULTILINE))
    figures = f"{time.monotonic() - start:.0f} s, {commands} commands, {kernel} lines of its kernel"
    return "\n  ".join([f"{'WRONG' if found else 'well'} ({figures})", *found]), not found


def main() -> int:
    """Say what each scenario found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--within", type=float, default=3600, help="seconds for all of it")
    given = parser.parse_args()
    unknown = {*given.names} - {*names()}
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}; accepted: {', '.join(names())}")
    ends = time.monotonic() + given.within
    try:
        parts.fetch(given.within - LEAST_S)
    except parts.Skipped as skipped:
        print(f"nvme guest: not tried: {skipped}")
        return 0
    all_well = True
    for name in given.names or names():
        said, is_well = attempt(name, ends)
        print(f"nvme guest: {name}: {said}", flush=True)
        all_well = all_well and is_well
    return 0 if all_well else 1


if __name__ == "__main__":
    sys.exit(main())
