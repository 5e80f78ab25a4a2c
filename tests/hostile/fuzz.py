"""`make fuzz`: hostile inputs through the command itself, each in a child of its own.

```text
seed, number ──► case ──► child: memory and processor time bounded, own folder, `cli.main`
                            └──► exit code, what was said, what was left ──► finding, or nothing
```
The child is forked from a process that has imported everything: a case costs what it does, not what
starting Python costs. Processor time ends a case that never ends, so that a busy machine finds
nothing else; a case that waits without working is given up after two minutes.

    .venv/bin/python tests/hostile/fuzz.py --count 5000 --seed 1 --seconds 1200
    .venv/bin/python tests/hostile/fuzz.py --seed 1 --only result:17
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent))

from cases import KINDS, make
from figures import agreement
from naming import RESUMED
from newer import BRIEF, FLEET, TABLE, ask, serve_image
from parts import SHORT, SMALL, Bases, Case, dumped
from stores import keep, press
from watching import left, tables, watch, written

MEMORY_BYTES = 6 << 30
PROCESSOR_S = 40
WAIT_S = 120
# Longer than any table or message of a refusal.
SAID_CHARS_MAX = 20_000
CODES = {0, 2, 3, 130}
# These listen, open windows, change the user's shell, or take as long as they are told to. Some
# have a kind of their own (`newer`), in which they do not.
NEVER_VERBS = {"serve", "attach", "detach", "app", "ui", "validate", "fleet", "calibrate"}
NEVER_OPTIONS = {"--open", "--install-completion", "--show-completion", "--seconds", "--help", "-h"}


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Args:
        code: Exit code; negative for the signal that ended it.
        out: Its stdout.
        said: Its stderr.
        left: Names of temporary files.
        did: What it did that nobody asked for.
    """

    code: int
    out: str
    said: str
    left: tuple[str, ...] = ()
    did: tuple[str, ...] = ()


def prepare(folder: Path) -> Bases:
    """Make what works, once; what is changed later begins with it."""
    import opennandlab as onl
    from opennandlab.base.canonical import readable_json
    from opennandlab.ecc.container import encode_file

    _import_everything()
    drive = onl.Simulation(SMALL, seed=1)
    result = drive.run(SHORT)
    result = onl.benchmark(SMALL, SHORT, seed=1)
    drive.save(folder / "i.onl")
    (folder / "data.bin").write_bytes(bytes(range(200)) * 3)
    encode_file(folder / "data.bin", folder / "c.ecc", "bch:m=9,t=3,data_bits=400")
    curve = onl.ecc.curve("bch:m=5,t=2", "bsc", [0.01], errors=5, max_frames=1000)
    device = onl.load_device(SMALL)
    test = json.loads((Path(__file__).parent / ".." / "saved" / "pts.json").read_bytes())
    return Bases(
        device=device.to_dict(),
        workload=onl.load_workload(SHORT, device).to_dict(),
        result=json.loads(readable_json(result.document)),
        test=test,
        curve=json.loads(readable_json(curve.document)),
        image=(folder / "i.onl").read_bytes(),
        container=(folder / "c.ecc").read_bytes(),
        options=options(),
        families=_families(folder),
        moments=json.loads((folder / "o" / "run.json").read_bytes()),
        journal=(folder / "o" / "iops.journal.jsonl").read_bytes(),
    )


def _families(folder: Path) -> dict[str, dict[str, Any]]:
    """Return small documents of the verbs that write one."""
    from opennandlab.cli import _process, app

    drive = {**SMALL, "ftl": {**SMALL["ftl"], "gc_reserve_blocks": 4}}
    for name, content in (("d.yaml", dumped(drive)), ("small.yaml", dumped(SMALL)),
                          ("t.csv", TABLE.encode()), ("f.yaml", dumped(FLEET))):  # fmt: skip
        (folder / name).write_bytes(content)
    wear = ("--devices", "1", "--tbw", "1e-5")
    measured = (*("--to", "m.json", "--ar-amount", "64KiB"), *BRIEF, "--output", "cal.json")
    wanted: dict[str, tuple[tuple[str, ...], str]] = {
        "power": (("power", "run", "-c", "d.yaml", "--cuts", "2", "-o", "p"), "p/power.json"),
        "endurance": (("power", "endurance", "-c", "d.yaml", *wear, "-o", "e"), "e/endurance.json"),
        "fleet document": (("fleet", "run", "f.yaml", "-o", "f"), "f/fleet.json"),
        "calibration": (("calibrate", "--device", "d.yaml", *measured), "cal.json"),
    }
    imported = ("pts", "import", "t.csv", "--threads", "1", "--queue-depth", "2", "-o", "m.json")
    with _inside(folder), hearing():
        for line in ((*RESUMED, "-o", "o"), imported, *(line for line, _ in wanted.values())):
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                _process.run(app, list(line))
    return {name: json.loads((folder / file).read_bytes()) for name, (_, file) in wanted.items()}


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def hearing() -> Iterator[None]:
    """Let Ctrl-C mean what it did before: verbs ignore it from their last step on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _import_everything() -> None:
    """Import what any verb may, so that no child has to."""
    import opennandlab

    for module in pkgutil.walk_packages(opennandlab.__path__, "opennandlab."):
        # Some need extras that are not installed, or end the program: verbs import those late.
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    from opennandlab.cli import _process, app

    # What the verbs and their libraries import late, they import at their first call.
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent), hearing():
        for words in (["config", "show"], ["benchmark", "-w", "W9"], ["theory", "waf", "--json"]):
            _process.run(app, words)
    gc.freeze()


def options() -> dict[str, tuple[list[str], list[str], int]]:
    """Return the options of every verb as the command line has them now."""
    import typer

    from opennandlab.cli import app

    found: dict[str, tuple[list[str], list[str], int]] = {}

    def walk(command: Any, name: str) -> None:
        inner = getattr(command, "commands", None)
        if inner is not None:
            for part in inner:
                if part not in NEVER_VERBS:
                    walk(inner[part], f"{name} {part}".strip())
            return
        valued, flags, count = [], [], 0
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                count += 1
                continue
            names = [opt for opt in parameter.opts if opt not in NEVER_OPTIONS]
            if names and not parameter.hidden:
                (flags if parameter.is_flag else valued).append(names[0])
        found[name] = (valued, flags, count)

    walk(typer.main.get_command(app), "")
    return found


def run(case: Case, folder: Path) -> Outcome:
    """Run a case in a child, and clear its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    (folder / "tmp").mkdir()
    for name, content in case.files.items():
        place = folder / "work" / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
    child = os.fork()
    if child == 0:
        _child(case, folder)
    code = _wait(child)
    temporary = [path.name for path in folder.rglob("*.tmp")]
    out, said, acts = (
        (folder / name).read_text(encoding="utf-8", errors="replace")
        for name in ("out", "said", "acts")
    )
    did = [*acts.splitlines(), *left(case, folder), *written(case, folder)]
    if case.kind == "measured_by_fio" and code == 0:
        did += agreement(folder / "work" / "out.json")
    return Outcome(code, out, said, tuple(temporary), tuple(did))


def _wait(child: int) -> int:
    handle = os.pidfd_open(child)
    try:
        if not select.select([handle], [], [], WAIT_S)[0]:
            os.kill(child, signal.SIGALRM)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(handle)


def _child(case: Case, folder: Path) -> None:
    """Be the command: never returns."""
    code = 70
    try:
        for number, name in ((1, "out"), (2, "said")):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), number)
        acts = os.open(folder / "acts", os.O_WRONLY | os.O_CREAT)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder / "work")
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        os.environ["OPENNANDLAB_STORE"] = str(folder / "tmp" / "store")
        os.environ["HOME"] = os.environ["XDG_DATA_HOME"] = str(folder / "tmp")
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        sys.stdout, sys.stderr = _stream(1), _stream(2)
        words = _with_store(case)
        judge = tables(acts)
        watch(folder, acts)
        code = _call(words) if words[:1] == ("API",) else _command(words)
        judge(int(case.files.get("WIDTH", b"80")))
    except BaseException:  # noqa: BLE001 (whatever it is, it is what we look for)
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _stream(number: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(number, "w", closefd=False), encoding="utf-8")


def _with_store(case: Case) -> tuple[Any, ...]:
    """Make the store of a case that has one; return its arguments, with the key of the point."""
    if "points.json" not in case.files:
        return case.arguments
    points = json.loads(case.files["points.json"], parse_int=lambda digits: int(digits[:4000]))
    key = keep(Path("kept"), points)
    return tuple(key if one == "KEY" else one for one in case.arguments)


def _command(words: tuple[Any, ...]) -> int:
    if words[:1] == ("THEN",):
        return _typed(words[1]) or _typed(words[2])
    return _typed(words)


def _typed(words: Sequence[Any]) -> int:
    from opennandlab.cli import main

    sys.argv = ["opennandlab", *map(str, words)]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _call(words: tuple[Any, ...]) -> int:
    """Call a function of the package; what it may raise is ours, or says that a type is wrong."""
    import opennandlab as onl

    _, name, *given = words
    doors = {"served": lambda: serve_image(Path("i.onl")), "ui": ask, "buttons": press}
    if name in doors:
        try:
            doors[name](*given)
        except onl.OpenNandLabError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            return 2
        return 0
    stands = {"DEVICE": SMALL, "SHORT": SHORT}
    given = [stands.get(one, one) if isinstance(one, str) else one for one in given]
    home, _, last = str(name).rpartition(".")
    function = getattr(getattr(onl, home) if home else onl, last)
    keywords = {"max_frames": 100, "errors": 2} if name == "ecc.curve" else {}
    try:
        function(*given, **keywords)
    except (onl.OpenNandLabError, TypeError, MemoryError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    return 0


def finding(case: Case, outcome: Outcome) -> str | None:
    """Return what is wrong with an outcome; None for one that the contract allows."""
    return next(chain(_ended(case, outcome), _said(case, outcome)), None)


def _ended(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with how a case ended."""
    said = outcome.said
    if "Traceback" in said:
        yield "traceback: " + said.strip().splitlines()[-1][:200]
    if "panicked" in said:
        yield "panic: " + next(line for line in said.splitlines() if "panicked" in line)[:200]
    if outcome.code < 0:
        name = signal.Signals(-outcome.code).name
        yield f"ended by {name}" + (": never ends" if name in {"SIGXCPU", "SIGALRM"} else "")
    if "is a defect of" in said:
        yield f"broken invariant: {said[:200]}"
    if outcome.code not in CODES and not (outcome.code == 1 and case.may_fail):
        yield f"exit code {outcome.code}: {said[:200]}"
    if outcome.did:
        yield f"did what nobody asked for: {'; '.join(outcome.did)[:300]}"
    if outcome.left:
        yield f"temporary files left: {', '.join(outcome.left)}"


def _said(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with what was said."""
    said = outcome.said
    if len(said) > SAID_CHARS_MAX:
        yield f"{len(said)} characters were said"
    if "\x1b" in said or "\x1b" in outcome.out:
        yield "escape sequences were said"
    if outcome.code not in {0, 1} and not said and "--quiet" not in case.arguments:
        yield f"exit code {outcome.code} without a word"
    if "--json" in case.arguments and outcome.code in {0, 1} and outcome.out:
        try:
            json.loads(outcome.out)
        except ValueError as error:
            yield f"--json printed no document: {error}"


@dataclass
class Tally:
    """What a fuzzing session came to: cases, their exit codes, and what was found."""

    ran: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)

    def note(self, case: Case, outcome: Outcome) -> str | None:
        """Count a case; return the line about it, if anything is wrong."""
        self.ran += 1
        self.codes[outcome.code] += 1
        wrong = finding(case, outcome)
        if wrong is None:
            return None
        shown = " ".join(str(one)[:60] for one in case.arguments)
        self.found.append(f"{case.kind}:{case.number}: {wrong}\n    {shown!r}")
        return self.found[-1]


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def fuzz(
    seed: int, count: int, kinds: list[str], folder: Path, seconds: float | None = None
) -> Tally:
    """Run cases in turn."""
    base = folder / "base"
    base.mkdir()
    bases = prepare(base)
    began, tally = time.monotonic(), Tally()
    for number in range(count):
        if seconds is not None and time.monotonic() - began > seconds:
            break
        case = make(kinds[number % len(kinds)], seed, number, bases)
        line = tally.note(case, run(case, folder / "case"))
        if line is not None:
            say(line)
        if tally.ran % 250 == 0:
            say(f"{tally.ran} cases, {len(tally.found)} findings")
    return tally


def show(seed: int, name: str, folder: Path) -> int:
    """Run one case, and print what it was and what it said."""
    kind, _, number = name.partition(":")
    base = folder / "base"
    base.mkdir()
    case = make(kind, seed, int(number), prepare(base))
    outcome = run(case, folder / "case")
    say(repr(case.arguments))
    for file, content in case.files.items():
        say(f"--- {file}: {content[:3000]!r}")
    say(f"--- code {outcome.code}\n{outcome.out[:2000]}\n---\n{outcome.said[-6000:]}")
    say(finding(case, outcome) or "nothing is wrong")
    return 0


def main() -> int:
    """Fuzz as the options say; return 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5000, help="cases")
    parser.add_argument("--seconds", type=float, help="begin no case after so long")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--only", metavar="KIND:NUMBER", help="run and show one case")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="opennandlab-fuzz-"))
    try:
        if given.only:
            return show(given.seed, given.only, folder)
        kinds = given.kind or list(KINDS)
        began = time.monotonic()
        tally = fuzz(given.seed, given.count, kinds, folder, given.seconds)
        shown = ", ".join(f"{code}: {number}" for code, number in sorted(tally.codes.items()))
        took = time.monotonic() - began
        say(f"{tally.ran} hostile inputs of seed {given.seed} in {took:.0f} s, exit codes {shown}")
        say(f"{len(tally.found)} findings")
        return 1 if tally.found else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
