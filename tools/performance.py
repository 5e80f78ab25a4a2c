"""Writes docs/performance.md: the text of benches/performance.in, and what its commands print here.

Usage: `python tools/performance.py [--only WORD …]`, in the environment whose package is measured.

```text
benches/performance.in          docs/performance.md
  ```text                         ```text
  $ command         ── run ──►    $ command
  ```                             # commit, day, load of the machine
                                  what it printed
```
No figure of the page is typed: what is wrong there is wrong in a command. `--only` runs the
commands that have one of these words in them; the others keep what the page has of them. A command
that ends with 77 lacks something and is left out, with its reason; one that ends otherwise is
wrong, and the page is not written. `AGAINST`, the Python of another build, and `MQSIM`, a program
of peers, are read from the environment by the benches.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "benches" / "performance.in"
PAGE = ROOT / "docs" / "performance.md"
BLOCK = re.compile(r"^```text\n(\$ [^\n]+\n)(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = 77


class WrongError(Exception):
    """A command failed."""


def machine() -> str:
    """Return processor, cores, memory, system and compiler of this machine."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    facts = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", text, re.MULTILINE))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    rustc = subprocess.run(
        ["rustc", "--version"], check=True, capture_output=True, text=True
    ).stdout
    return (
        f"{facts.get('model name', 'unknown')} (family {facts.get('cpu family', 'unknown')}, "
        f"model {facts.get('model', 'unknown')}), {len(os.sched_getaffinity(0))} cores, "
        f"{pages / 2**30:.0f} GiB of memory, {os.uname().sysname} {os.uname().release}, "
        f"{rustc.split(' (')[0]}, Python {sys.version.split()[0]}"
    )


def moment() -> str:
    """Return the commit, the day, and how much else the machine had to do."""
    ask = ["git", "-C", str(ROOT), "describe", "--always", "--dirty= changed", "--abbrev=12"]
    commit = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    day = dt.datetime.now(dt.timezone.utc).date()
    return f"# {commit}, {day}, load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores\n"


def measured(command: str) -> str:
    """Run a command of the page; return what stands below it.

    Raises:
        WrongError: if it fails.
    """
    when = moment()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, check=False, capture_output=True, text=True,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    if done.returncode == LEFT_OUT:
        return f"{when}left out: {last}\n"
    if done.returncode:
        raise WrongError(f"`{command}` ended with {done.returncode}: {last}\n{done.stdout}")
    return f"{when}{done.stdout.rstrip()}\n"


def page(only: Sequence[str], old: Mapping[str, str]) -> str:
    """Return the page, with the commands that have one of some words run again, or all.

    Args:
        only: The words; none for all.
        old: What the page has below each command, and the whole page under "".

    Raises:
        WrongError: if a command fails, or a part is asked for on another machine.
    """

    def block(found: re.Match[str]) -> str:
        line = found.group(1)
        if only and not any(word in line for word in only):
            return f"```text\n{line}{old.get(line, 'not measured yet' + chr(10))}```"
        print(line, end="", flush=True)
        below = measured(line.removeprefix("$ ").strip())
        print(below, end="", flush=True)
        return f"```text\n{line}{below}```"

    here = machine()
    if only and here not in old[""]:
        raise WrongError(f"the page is of another machine than {here}; accepted: without --only")
    return BLOCK.sub(block, TEMPLATE.read_text(encoding="utf-8").replace("{machine}", here))


def main() -> int:
    """Measure, write the page, and return the exit status."""
    parser = argparse.ArgumentParser(description="Write docs/performance.md.")
    parser.add_argument("--only", nargs="+", default=[], help="commands with one of these in them")
    given = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    old = {"": text} | {found.group(1): found.group(2) for found in BLOCK.finditer(text)}
    try:
        PAGE.write_text(page(given.only, old), encoding="utf-8")
    except WrongError as error:
        print(f"performance: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
