"""Several tests, or one with several values of a parameter: one document each, and one of them all.

A simulated drive is made again for each test, so that a document is the same whether its test ran
alone or not. A real one is the same throughout, and each test purges it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from opennandlab.base.canonical import digest, readable_json
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically
from opennandlab.base.units import parse_bytes
from opennandlab.documents.pts import SUITE_SCHEMA, PtsDocument, SuiteDocument, Table, Varied
from opennandlab.documents.pts_rows import ratios
from opennandlab.documents.record import plain
from opennandlab.pts.bench.folder import Place
from opennandlab.pts.bench.plan import Settings
from opennandlab.pts.bench.record import Progress, Watcher
from opennandlab.pts.bench.runner import outlook_of, run_test
from opennandlab.pts.bench.test import Test
from opennandlab.targets.base import Target, TargetError
from opennandlab.targets.drive_state import states
from opennandlab.targets.opening import Request, open_target, sketch

STATE = "state"
# Settings that can be varied, and how their values are read.
VARIED: dict[str, Callable[[str], Any]] = {
    "active_range_pct": float,
    "ar_amount_bytes": parse_bytes,
    "ar_segments": int,
    "threads": int,
    "queue_depth": int,
    "oio": int,
    "data": str,
    "cache": str,
    "profile": str,
    "pts_version": str,
    "seed": int,
    "wipc_capacities": float,
    STATE: str,
}
# On the command line they have the names of the options.
SPELLINGS = {"pts": "pts_version", "ar_amount": "ar_amount_bytes"}


@dataclass(frozen=True)
class Job:
    """One document of a suite.

    Args:
        name: Name of the document.
        test: Which test.
        settings: With what.
        overrides: Keys of a simulated device, by dotted path, next to those of the request.
    """

    name: str
    test: Test
    settings: Settings
    overrides: dict[str, Any] = field(default_factory=dict)


@dataclass
class Suite:
    """Documents of several jobs.

    Args:
        name: Name of the suite, such as `all`.
        documents: By name, in the order in which they were made.
        varied: Parameter and values, where one was varied.
        left_out: Jobs that this target cannot do, and why.
    """

    name: str
    documents: dict[str, PtsDocument] = field(default_factory=dict)
    varied: Varied | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def document(self) -> SuiteDocument:
        """Return the document of the suite."""
        found = SuiteDocument(
            schema=SUITE_SCHEMA,
            name=self.name,
            documents=list(self.documents),
            digests={name: document.digest for name, document in self.documents.items()},
            results={name: plain(document.results) for name, document in self.documents.items()},
            varied=self.varied,
            left_out=self.left_out,
            digest="",
            ratios=self.ratios() or None,
        )
        return structs.replace(found, digest=digest(plain(found)))

    def ratios(self) -> list[Table]:
        """Return the tables of ratios between states of a drive; none of other suites."""
        if self.varied is None or self.varied.key != STATE:
            return []
        names = dict(zip(self.varied.documents, self.varied.values, strict=True))
        return ratios(list(self.documents.values()), [names[name] for name in self.documents])


def run_suite(  # noqa: PLR0913, PLR0917 (what a run needs)
    suite: Suite,
    jobs: Sequence[Job],
    request: Request,
    place: Place,
    watch: Watcher | None = None,
    done: Callable[[PtsDocument], None] | None = None,
) -> Suite:
    """Run jobs one after the other.

    Args:
        suite: Takes the documents.
        jobs: What to do.
        request: The target; opened for each job when it is simulated, else once.
        place: Where the files are left.
        watch: Called before, during and after each step.
        done: Called with each document.

    Raises:
        Cut: on Ctrl-C.
        BrokenError: when the target fails.
    """
    for job in jobs:
        if request.kind != "sim" and (not job.test.kinds or request.kind in job.test.kinds):
            outlook_of(job.test, job.settings, request_of(job, request))
    kept: Target | None = None
    ahead = _Ahead(jobs, request) if watch is not None and len(jobs) > 1 else None
    try:
        for number, job in enumerate(jobs, 1):
            seen = watch if ahead is None or watch is None else ahead.telling(watch, number)
            if reason := _left_out(job, request):
                suite.left_out[job.name] = reason
                continue
            if kept is None:
                asked = replace(request_of(job, request), seed=job.settings.seed)
                kept = open_target(asked)
            document = run_test(
                job.test, kept, settings=job.settings, place=place, name=job.name, watch=seen
            )
            suite.documents[job.name] = document
            if done is not None:
                done(document)
            if kept.is_virtual:
                kept.close()
                kept = None
    finally:
        if kept is not None:
            kept.close()
    if place.folder is not None and len(jobs) > 1:
        text = readable_json(plain(suite.document())) + "\n"
        write_atomically(place.folder / "suite.json", text.encode())
    return suite


def request_of(job: Job, request: Request) -> Request:
    """Return the target of a job: with its keys and its state."""
    overrides = {**request.overrides, **job.overrides}
    return replace(request, overrides=overrides, state=job.settings.state)


class _Ahead:
    """What the tests of a suite still have to do, for those who watch one of them.

    Args:
        jobs: All tests.
        request: The target.
    """

    def __init__(self, jobs: Sequence[Job], request: Request) -> None:
        """Rehearse them all."""
        self._work = [_work(job, request) for job in jobs]
        self._count = len(jobs)
        # Wall time and work of the tests that are over.
        self._seconds = self._done = 0.0
        self._last: list[Progress] = []

    def telling(self, watch: Watcher, number: int) -> Watcher:
        """Return a watcher of one of the tests, counted from 1, that knows those after it."""
        last: list[Progress] = []
        least, most = (sum(ends) for ends in zip((0.0, 0.0), *self._work[number:], strict=True))

        def told(progress: Progress) -> None:
            if not last:
                last.append(progress)
            progress.number, progress.count = number, self._count
            done = self._done + progress.work
            if progress.eta_s is not None and progress.eta_least_s is not None and done > 0:
                rate = (self._seconds + progress.elapsed_s) / done
                progress.total_s = progress.eta_s + rate * most
                progress.total_least_s = progress.eta_least_s + rate * least
            watch(progress)

        self._end(last)
        return told

    def _end(self, last: list[Progress]) -> None:
        """Add the test before this one to what is over."""
        before, self._last = self._last, last
        if before:
            self._seconds += before[0].elapsed_s
            self._done += before[0].work


def _work(job: Job, request: Request) -> tuple[float, float]:
    """Return the work of a test at least and at most; none of one that cannot be rehearsed."""
    if _left_out(job, request):
        return 0.0, 0.0
    try:
        outlook = outlook_of(job.test, job.settings, request_of(job, request))
    except TargetError:
        return 0.0, 0.0
    return outlook.least, outlook.most


def _left_out(job: Job, request: Request) -> str:
    """Return why a target cannot have a test of the suite; empty if it can."""
    if job.test.kinds and request.kind not in job.test.kinds:
        return f"needs a target of the kind {', '.join(job.test.kinds)}"
    if not job.test.needs_dies:
        return ""
    with closing(sketch(request)) as target:
        return job.test.lacking(target)


def vary(job: Job, text: str, set_already: Collection[str] = ()) -> tuple[list[Job], Varied]:
    """Return a job for each value of `KEY=A,B,C`, and what the suite says of it.

    Args:
        job: What all of them have in common.
        text: A setting, as its option is spelled, or a key of a simulated device.
        set_already: Keys of the device that are set in all jobs.

    Raises:
        ConfigError: for a key that cannot be varied, or a value that it cannot have.
    """
    key, mark, values = text.partition("=")
    key = key.strip()
    parts = states(values) if key == STATE else values.split(",")
    texts = [value.strip() for value in parts if value.strip()]
    if not mark or not texts:
        raise ConfigError("vary", f"`{text}` is not understood; accepted: KEY=VALUE,VALUE,…")
    if len(set(texts)) != len(texts):
        raise ConfigError("vary", f"`{text}` names a value twice")
    jobs = [_varied(job, key, value, set_already) for value in texts]
    documents = [one.name for one in jobs]
    return jobs, Varied(key=key, values=texts, documents=documents)


def _varied(job: Job, key: str, text: str, set_already: Collection[str]) -> Job:
    # A name is a file name: no slash, no dot in front.
    name = f"{job.name}-{re.sub(r'[^A-Za-z0-9]+', '-', key)}-{re.sub(r'[^A-Za-z0-9.]+', '-', text)}"
    if "." in key:
        from opennandlab.core.overrides import parse_overrides

        if key in set_already:
            raise ConfigError(key, "is in --set and in --vary; accepted: only one of them")
        return replace(
            job, name=name, overrides={**job.overrides, **parse_overrides([f"{key}={text}"])}
        )
    setting = SPELLINGS.get(key.replace("-", "_"), key.replace("-", "_"))
    own = [option.key for option in job.test.options]
    given = job.settings.options if setting in own else plain(job.settings)
    if setting in given and given[setting] != getattr(Settings(), setting, None):
        raise ConfigError("vary", f"`{key}` is given as an option too; accepted: one of the two")
    if setting in VARIED:
        try:
            value = VARIED[setting](text)
        except ValueError:
            raise ConfigError("vary", f"{key}: `{text}` is not a valid value") from None
        return replace(job, name=name, settings=replace(job.settings, **{setting: value}))
    if setting in own:
        options = {**job.settings.options, setting: text}
        return replace(job, name=name, settings=replace(job.settings, options=options))
    spelled = {setting: word for word, setting in SPELLINGS.items()}
    names = sorted(spelled.get(word, word).replace("_", "-") for word in [*VARIED, *own])
    accepted = ", ".join(names)
    raise ConfigError("vary", f"`{key}` cannot be varied; accepted: {accepted}, or a device key")
