"""Runs a test from its settings to its document, with journal, resume and a clean end on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from typing import Any

from opennandlab import _core
from opennandlab.base import logs
from opennandlab.base.errors import OpenNandLabError, OutputError
from opennandlab.core import device_logs
from opennandlab.documents.ocp import NO_LOGS
from opennandlab.documents.pts import PtsDocument
from opennandlab.pts.bench import document as documents
from opennandlab.pts.bench.engine import CHECKPOINT_S, Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.folder import NOWHERE, Place
from opennandlab.pts.bench.journal import Journal
from opennandlab.pts.bench.outlook import Outlook
from opennandlab.pts.bench.plan import Plan, Settings, make_plan
from opennandlab.pts.bench.record import Watcher
from opennandlab.pts.bench.test import Test
from opennandlab.targets.base import Target
from opennandlab.targets.opening import Request, sketch

# A target that holds less than this part of what it held was emptied, by others than a test that
# trims zones.
STILL_WRITTEN = 0.9


class Cut(KeyboardInterrupt):
    """Ctrl-C in the middle of a test.

    Args:
        document: What had been measured until then, marked `partial`.
    """

    def __init__(self, document: PtsDocument) -> None:
        """Carry the part that is done."""
        super().__init__("interrupted")
        self.document = document


class BrokenError(OpenNandLabError):
    """A target, or the output directory, that failed in the middle of a test.

    Args:
        error: What it said.
        document: What had been measured until then, marked `partial`.
        is_saved: Whether that part is in the output directory; a full disk takes no more.
    """

    def __init__(
        self, error: OpenNandLabError, document: PtsDocument, *, is_saved: bool = True
    ) -> None:
        """Carry the part that is done."""
        super().__init__(str(error))
        self.error = error
        self.document = document
        self.is_saved = is_saved


def run_test(  # noqa: PLR0913 (all by name but two)
    test: Test,
    target: Target,
    *,
    settings: Settings,
    place: Place = NOWHERE,
    name: str | None = None,
    watch: Watcher | None = None,
    checkpoint_s: float = CHECKPOINT_S,
) -> PtsDocument:
    """Run a test and return its document, which is also saved where there is a place for it.

    Args:
        test: Which one.
        target: What is measured; it stays open.
        settings: What the user asked for.
        place: Where the files are left; `folder.prepared` keeps other runs out.
        name: Name of the document; default: of the test.
        watch: Called before, during and after each step.
        checkpoint_s: Wall time between states of a simulated drive that are kept.

    Raises:
        Cut: on Ctrl-C, with the partial document.
        BrokenError: when the target or the output fails, with the partial document.
        ConfigError: for settings that this test on this target cannot have; nothing was run.
        JournalError: for a run that cannot be resumed.
    """
    named = name or test.name
    plan = make_plan(test, settings, target)
    journal = _journal(target, plan, place, named)
    if journal is not None and place.resume:
        finished = documents.load_finished(journal.path.parent, named, journal.sha256)
        if finished is not None:
            return finished
    # Before anything is left behind: what the drive would refuse in the middle is refused here.
    outlook = Outlook.of(test, plan, target)
    anew = _open_journal(journal, place, target, STILL_WRITTEN if test.trims else 1.0)
    told = outlook.telling(watch) if watch else None
    logs.info("pts", f"begin {named} on {target.name}, seed {settings.seed}", seed=settings.seed)
    bench = Bench(target, plan, journal, told, checkpoint_s)
    was_cut = journal is not None and journal.resumed and not target.is_virtual
    if anew:
        bench.warn(f"after the break {anew}: the test began from the start")
    papers = _Papers(bench, place, named, interrupted=was_cut)
    try:
        bench.note_logs()
        found = test.run(bench)
        bench.close()
        document = papers.build(found)
        papers.save(document)
        papers.save_logs(target)
    except KeyboardInterrupt:
        with _undisturbed():
            document, problem = papers.save_part()
        if problem is not None:
            raise BrokenError(problem, document, is_saved=False) from None
        raise Cut(document) from None
    except OpenNandLabError as error:
        document, problem = papers.save_part()
        raise BrokenError(error, document, is_saved=problem is None) from error
    finally:
        if journal is not None:
            journal.close()
    if journal is not None:
        journal.finish()
    logs.info("pts", f"done {named}, digest {document.digest}", digest=document.digest)
    return document


class _Papers:
    """The document of a run, whole or in part, and where it goes.

    Args:
        bench: What there is to tell.
        place: Where the files are left.
        name: Name of the document.
        interrupted: Whether a real drive was measured in two goes.
    """

    def __init__(self, bench: Bench, place: Place, name: str, *, interrupted: bool) -> None:
        """Begin to count the time."""
        self._bench = bench
        self._folder, self._keeps_logs = place.folder, place.ocp
        if self._keeps_logs:
            bench.target.watch_slow()
        self._name = name
        self._interrupted = interrupted
        self._began = time.monotonic()

    def build(self, found: Findings | None) -> PtsDocument:
        """Return the document; without findings it is partial."""
        self._bench.progress.elapsed_s = time.monotonic() - self._began
        return documents.build(self._bench, found, name=self._name, interrupted=self._interrupted)

    def save(self, document: PtsDocument) -> None:
        """Write it, where there is a place for it."""
        if self._folder is not None:
            documents.save(document, self._folder)
            documents.save_run(self._folder, self._name, self._bench.progress.elapsed_s)

    def save_logs(self, target: Target) -> None:
        """Write the logs of a simulated drive, if they were asked for.

        Those of a test that was cut are unknown: a checkpoint keeps no counters of the firmware.
        """
        if self._keeps_logs and self._folder is not None:
            logs = NO_LOGS if self._bench.is_resumed else target.device_logs()
            path = self._folder / f"{self._name}.ocp.json"
            device_logs.save(device_logs.document_of(logs, (target.name, self._name)), path)

    def save_part(self) -> tuple[PtsDocument, OutputError | None]:
        """Save what is done as far as that works; return it, and why it does not."""
        document = self.build(None)
        try:
            self._bench.keep_state()
            self.save(document)
        except OutputError as error:
            return document, error
        return document, None


def outlook_of(test: Test, settings: Settings, request: Request) -> Outlook:
    """Rehearse a test on a target that is not opened: nothing is made, and nothing lost.

    Raises:
        ConfigError: for what cannot be asked of it, with what is accepted.
        TargetError: when its size cannot be found out.
    """
    target = sketch(request)
    try:
        return Outlook.of(test, make_plan(test, settings, target), target)
    finally:
        target.close()


def _journal(target: Target, plan: Plan, place: Place, name: str) -> Journal | None:
    if place.folder is None:
        return None
    facts = target.facts().device
    state = target.state_facts()
    image = None if state is None else state.image_sha256
    settings = {
        "test": plan.test.name,
        "settings": plan.settings.to_dict(),
        "options": dict(plan.options),
        "target": target.name,
        "capacity_bytes": target.capacity_bytes,
        "sector_bytes": target.sector_bytes,
        "device": facts.config_sha256 or facts.serial_sha256,
        "program": f"{_core.version()} {_core.commit()}{' changed' if _core.dirty() else ''}",
        **({} if image is None else {"image": image}),
    }
    return Journal(place.folder, name, settings, is_virtual=target.is_virtual)


def _open_journal(journal: Journal | None, place: Place, target: Target, least: float) -> str:
    """Go on with a journal or begin one; say why where what there is cannot be gone on with.

    Args:
        journal: Journal of the run.
        place: Where it is.
        target: What is tested.
        least: Share of the earlier contents that the target must still hold.
    """
    if journal is None:
        return ""
    if not place.resume:
        journal.start()
        return ""
    journal.resume()
    was = journal.imprint
    try:
        now = target.imprint() if was is not None and journal.kept else None
    except BaseException:
        journal.close()
        raise
    if was is None or now is None:
        return ""
    if now.identity != was.identity:
        reason = "the target was another one of the same name"
    elif now.written_share < was.written_share * least:
        reason = "the target held less than was written to it"
    else:
        return ""
    journal.start()
    return reason


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
