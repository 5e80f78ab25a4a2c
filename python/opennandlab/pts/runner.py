"""Runs a test from its settings to its document, with journal, resume and a clean end on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.errors import OpenNandLabError, OutputError
from opennandlab.pts import document as documents
from opennandlab.pts.engine import CHECKPOINT_S, Bench
from opennandlab.pts.journal import Journal
from opennandlab.pts.plan import Plan, Settings, Test, make_plan
from opennandlab.pts.record import Watcher
from opennandlab.pts.rehearsal import rehearse
from opennandlab.targets.base import Target


class Cut(KeyboardInterrupt):
    """Ctrl-C in the middle of a test.

    Args:
        document: What had been measured until then, marked `partial`.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        """Carry the part that is done."""
        super().__init__("interrupted")
        self.document = document


class BrokenError(OpenNandLabError):
    """A target that failed in the middle of a test.

    Args:
        error: What it said.
        document: What had been measured until then, marked `partial`.
    """

    def __init__(self, error: OpenNandLabError, document: dict[str, Any]) -> None:
        """Carry the part that is done."""
        super().__init__(str(error))
        self.error = error
        self.document = document


@dataclass(frozen=True)
class Place:
    """Where a run leaves its files.

    Args:
        folder: Output directory; None for nowhere.
        resume: Whether to go on with the run that was cut there.
    """

    folder: Path | None = None
    resume: bool = False


def prepare(place: Place, names: list[str]) -> None:
    """Refuse an output directory that is another run's, and make a new one.

    Args:
        place: Where the run is to leave its files.
        names: Of its documents.

    Raises:
        OutputError: with what is in the way.
    """
    folder = place.folder
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"cannot write into {folder}: it is a file; give a directory")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror}") from error
    if not found or place.resume:
        return
    own = [name for name in names if (folder / f"{name}.journal.jsonl").exists()]
    hint = "go on with that run by --resume, or give" if own else "give"
    raise OutputError(
        f"{folder} is not empty ({', '.join(found[:3])}{', …' if len(found) > 3 else ''}): "
        f"{hint} an empty directory"
    )


def run_test(  # noqa: PLR0913 (all by name but two)
    test: Test,
    target: Target,
    *,
    settings: Settings,
    place: Place = Place(),
    name: str | None = None,
    watch: Watcher | None = None,
    checkpoint_s: float = CHECKPOINT_S,
) -> dict[str, Any]:
    """Run a test and return its document, which is also saved where there is a place for it.

    Args:
        test: Which one.
        target: What is measured; it stays open.
        settings: What the user asked for.
        place: Where the files are left; see `prepare`.
        name: Of the document; default: of the test.
        watch: Called before, during and after each step.
        checkpoint_s: Wall time between states of a simulated drive that are kept.

    Raises:
        Cut: on Ctrl-C, with the partial document.
        BrokenError: when the target fails, with the partial document.
        ConfigError: for settings that this test on this target cannot have.
        JournalError: for a run that cannot be resumed.
    """
    named = name or test.name
    plan = make_plan(test, settings, target, reclaim_s(target))
    journal = _journal(target, plan, place, named)
    if journal is not None and place.resume:
        finished = documents.load_finished(journal.path.parent, named, journal.sha256)
        if finished is not None:
            return finished
    _open_journal(journal, place)
    bench = Bench(target, plan, journal, watch, checkpoint_s)
    bench.steps_max = rehearse(plan, target, is_steady=False).steps if watch else None
    began = time.monotonic()
    interrupted = journal is not None and journal.resumed and not target.is_virtual

    def finish(outcome: dict[str, Any] | None) -> dict[str, Any]:
        bench.progress.elapsed_s = time.monotonic() - began
        document = documents.build(bench, outcome, name=named, interrupted=interrupted)
        if place.folder is not None:
            documents.save(document, place.folder)
            documents.save_run(place.folder, named, bench.progress.elapsed_s)
        return document

    try:
        outcome = test.run(bench)
        bench.close()
        document = finish(outcome)
    except KeyboardInterrupt:
        with _undisturbed():
            bench.keep_state()
            raise Cut(finish(None)) from None
    except OpenNandLabError as error:
        bench.keep_state()
        raise BrokenError(error, finish(None)) from error
    finally:
        if journal is not None:
            journal.close()
    if journal is not None:
        journal.finish()
    return document


def reclaim_s(target: Target) -> float:
    """Return the time in which a simulated drive reclaims a full block; 0 where unknown.

    A page of the block is read and programmed, each for itself, and the block is erased.
    """
    config = target.facts()["device"].get("config") or {}
    nand = config.get("nand") if isinstance(config, dict) else None
    if not isinstance(nand, dict):
        return 0.0
    timing = nand.get("timing") or {}
    program = timing.get("t_program_us", 0.0)
    program_us = sum(program) / len(program) if isinstance(program, list) else float(program or 0)
    read = timing.get("t_read_us", 0.0)
    read_us = sum(read) / len(read) if isinstance(read, list) else float(read or 0)
    pages = int(nand.get("pages_per_block", 0))
    return (pages * (read_us + program_us) + float(timing.get("t_erase_us", 0.0))) * 1e-6


def _journal(target: Target, plan: Plan, place: Place, name: str) -> Journal | None:
    if place.folder is None:
        return None
    facts = target.facts()["device"]
    settings = {
        "test": plan.test.name,
        "settings": plan.settings.to_dict(),
        "options": dict(plan.options),
        "target": target.name,
        "capacity_bytes": target.capacity_bytes,
        "sector_bytes": target.sector_bytes,
        "device": facts.get("config_sha256") or facts.get("serial_sha256"),
        "program": f"{_core.version()} {_core.commit()}",
    }
    return Journal(place.folder, name, settings, is_virtual=target.is_virtual)


def _open_journal(journal: Journal | None, place: Place) -> None:
    if journal is not None and place.resume:
        journal.resume()
    elif journal is not None:
        journal.start()


@contextlib.contextmanager
def _undisturbed() -> Any:  # noqa: ANN401 (a generator)
    """A second Ctrl-C, pressed in doubt, must not cost the part that is now being saved."""
    before: Callable[..., Any] | int | None
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread: no signal comes here
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
