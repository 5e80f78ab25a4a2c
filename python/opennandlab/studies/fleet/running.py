"""Runs a fleet: suite by suite over all devices; what failed is a row with its reason."""

from __future__ import annotations

import shlex
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from opennandlab import _core
from opennandlab.base.canonical import digest
from opennandlab.base.threads import cores
from opennandlab.core.viewed import FleetResult, viewed
from opennandlab.documents.fleet import (
    FLEET_SCHEMA,
    FleetDevice,
    FleetDocument,
    FleetOutlier,
    FleetRow,
    FleetRun,
    FleetSummary,
    FleetTime,
)
from opennandlab.documents.record import made, plain
from opennandlab.policies.source import named_in
from opennandlab.stats.outliers import SCORE_MIN, modified_score
from opennandlab.store import Store
from opennandlab.studies.fleet.definition import Fleet, index_of
from opennandlab.studies.fleet.live import LiveCampaign
from opennandlab.studies.sweeps.engine import Engine, Threads
from opennandlab.studies.sweeps.runner import Keeper, Progress, Row, Run
from opennandlab.studies.sweeps.verbs import verb_of
from opennandlab.studies.sweeps.verbs.chain import WEAR, Chain, columns_of

# Fewer devices have no usual value, from which others could be far.
DEVICES_MIN: Final = 8


def run(
    fleet: str | Path | Mapping[str, Any],
    *,
    devices: Sequence[int] | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> FleetResult:
    """Run a fleet of simulated drives: what `opennandlab fleet run` does, in threads.

    Args:
        fleet: Path of a fleet file, or a mapping with its keys.
        devices: Indices of the devices to run; None for all.
        store: Folder of the store; None for the usual one. What it has is not run again.
        jobs: Points at a time; None for all cores.
        progress: Called with the name of the suite and how far it is.

    Raises:
        ConfigError: for a fleet that cannot be run, with the key.
        StoreError: for a store that cannot be used.
    """
    name = "fleet.yaml" if isinstance(fleet, Mapping) else str(fleet)
    with named_in(name):
        wanted = Fleet.of(fleet) if isinstance(fleet, Mapping) else Fleet.load(Path(fleet))
        with Store.open(store) as kept:
            campaign = Campaign(wanted, kept, indices=devices, watch=progress)
            campaign.to_the_end(lambda: Threads(jobs or cores(), kept.unfinished))
            found: FleetResult = viewed(campaign.document(command_of(name, "fleet")))
    return found


class Campaign:
    """A run of a fleet.

    Args:
        fleet: What is wanted.
        store: Where points are kept.
        indices: The devices; None for all.
        watch: Told the suite and how far it is.
        retry: Whether points that failed before are run again.

    Raises:
        ConfigError: for an index that the fleet does not have, or a suite that is invalid.
    """

    def __init__(
        self,
        fleet: Fleet,
        store: Keeper,
        *,
        indices: Sequence[int] | None = None,
        watch: Callable[[str, Progress], None] | None = None,
        retry: bool = False,
    ) -> None:
        """Resolve all devices and look up which points are known; nothing runs."""
        fleet.check()
        self.fleet, self._store = fleet, store
        self._indices = range(fleet.devices) if indices is None else indices
        self._began = time.monotonic()

        def told(name: str) -> Callable[[Progress], None] | None:
            return None if watch is None else lambda state: watch(name, state)

        self._runs = {
            name: Run(sweep, store, watch=told(name), retry=retry)
            for name, sweep in fleet.sweeps(self._indices).items()
        }

    @property
    def known_count(self) -> int:
        """How many points were there before."""
        return sum(run.known_count for run in self._runs.values())

    @property
    def count(self) -> int:
        """How many points there are."""
        return sum(run.count for run in self._runs.values())

    @property
    def done_count(self) -> int:
        """How many points are there now."""
        return sum(len(run.rows) for run in self._runs.values())

    def to_the_end(self, engine: Callable[[], Engine]) -> None:
        """Run what is missing.

        Args:
            engine: Makes where points run; one for each suite.

        Raises:
            EngineError: when the engine cannot continue; finished points are kept.
            KeyboardInterrupt: on Ctrl-C, when finished points are kept.
        """
        for run in self._runs.values():
            run.to_the_end(engine())

    def document(self, command: str, *, partial: bool = False) -> FleetDocument:
        """Return the document of the points that were run.

        Args:
            command: What ran the fleet; with `--only INDEX` it runs one device again.
            partial: Whether it was interrupted.
        """
        rows = [
            shown
            for name, run in self._runs.items()
            for row in sorted(run.rows, key=lambda row: index_of(row.coordinates))
            for shown in self._rows(name, run, row)
        ]
        failed = sum(row.error is not None for row in rows)
        members = [self.fleet.member(index) for index in self._indices]
        document = FleetDocument(
            schema=FLEET_SCHEMA,
            fleet=dict(self.fleet.document),
            devices=[FleetDevice(index=it.index, seed=it.seed, drawn=dict(it.drawn))
                     for it in members],
            rows=rows,
            summary=list(self._summary(rows)),
            failed=failed,
            passed=not failed and not partial and self.done_count == self.count,
            partial=partial,
            run=FleetRun(
                version=_core.version(),
                wall_s=round(time.monotonic() - self._began, 3),
                known=self.known_count,
                command=command,
            ),
            digest="",
        )  # fmt: skip
        whole = made(plain(document), FleetDocument)
        return structs.replace(whole, digest=digest(plain(whole)))

    def _summary(self, rows: Sequence[FleetRow]) -> Iterator[FleetSummary]:
        for name, run in self._runs.items():
            verb, request = run.sweep.verb, run.sweep.request
            stages = list(request["stages"]) if isinstance(verb, Chain) else [None]
            for stage in stages:
                own = [row for row in rows if row.suite == name and row.stage in {None, stage}]
                own = [row for row in own if row.metrics]
                known = {key for row in own for key in row.metrics}
                usual = verb.columns or (verb.metric,)
                columns = usual if stage is None else columns_of(request, stage)
                wanted = [key for key in columns if key in known]
                others = sorted(key for key in known if key not in WEAR)
                for metric in wanted or others[:5]:
                    yield summary(
                        own[0].label,
                        metric,
                        {row.device: row.metrics[metric] for row in own if metric in row.metrics},
                    )

    def _rows(self, suite: str, run: Run, row: Row) -> list[FleetRow]:
        """Return the row of a point, or a row for each stage of it."""
        device = index_of(row.coordinates)
        if row.error is not None or not isinstance(run.sweep.verb, Chain):
            return [
                FleetRow(device=device, suite=suite, key=row.key, metrics=dict(row.metrics),
                         error=row.error)
            ]  # fmt: skip
        document = self._store.entry(row.key).document or {}
        return [
            FleetRow(
                device=device, suite=suite, key=row.key, metrics=dict(one["metrics"]),
                error=one["why"] or None, stage=one["stage"], verdict=one["verdict"],
                note=one["note"] or None, state=one["state"],
            )
            for one in document["stages"]
        ]  # fmt: skip


def live_document(campaign: LiveCampaign, command: str, *, partial: bool) -> FleetDocument:
    """Return the document of a fleet of targets.

    Args:
        campaign: What was run.
        command: What ran it.
        partial: Whether it was interrupted.
    """
    fleet = campaign.fleet
    order = {suite.name: at for at, suite in enumerate(fleet.suites)}
    found = sorted(campaign.found, key=lambda one: (order[one.suite], one.device))
    rows = [
        FleetRow(device=one.device, suite=one.suite, key=one.digest, metrics=dict(one.metrics),
                 error=one.error, verdict="passed" if one.error is None else "failed")
        for one in found
    ]  # fmt: skip
    summaries = []
    for suite in fleet.suites:
        own = [row for row in rows if row.suite == suite.name and row.error is None]
        known = {key for row in own for key in row.metrics}
        columns = verb_of("app").columns if suite.is_application else ()
        for metric in [key for key in columns if key in known] or sorted(known)[:5]:
            values = {row.device: row.metrics[metric] for row in own if metric in row.metrics}
            summaries.append(summary(suite.name, metric, values))
    failed = sum(row.error is not None for row in rows)
    document = FleetDocument(
        schema=FLEET_SCHEMA,
        fleet=dict(fleet.document),
        devices=[
            FleetDevice(index=it, seed=fleet.seed(it), drawn={"target": fleet.targets[it]})
            for it in campaign.indices
        ],
        rows=rows,
        summary=summaries,
        failed=failed,
        passed=not failed and not partial and len(rows) == campaign.count,
        partial=partial,
        run=FleetRun(
            version=_core.version(),
            wall_s=round(time.monotonic() - campaign.began, 3),
            known=campaign.known_count,
            command=command,
            times=_times(campaign),
        ),
        digest="",
    )
    whole = made(plain(document), FleetDocument)
    return structs.replace(whole, digest=digest(plain(whole)))


def _times(campaign: LiveCampaign) -> list[FleetTime]:
    """Return when the suites of targets ran, from the first of all on."""
    ran = [one for one in campaign.found if one.began_s is not None and one.ended_s is not None]
    first = min((one.began_s or 0.0 for one in ran), default=0.0)
    return [
        FleetTime(
            device=one.device,
            suite=one.suite,
            began_s=round((one.began_s or 0.0) - first, 3),
            ended_s=round((one.ended_s or 0.0) - first, 3),
        )
        for one in sorted(ran, key=lambda one: (one.device, one.began_s or 0.0))
    ]


def summary(suite: str, metric: str, values: Mapping[int, float]) -> FleetSummary:
    """Return the spread of a number, and the devices that are far from the others.

    Args:
        suite: Name of the suite.
        metric: Name of the number.
        values: By index of the device; at least one.

    >>> values = {index: 1.0 + index / 100 for index in range(9)} | {9: 5.0}
    >>> [one.device for one in summary("s", "m", values).outliers]
    [9]
    """
    found = list(values.values())
    median = statistics.median(found)
    return FleetSummary(
        suite=suite,
        metric=metric,
        count=len(found),
        min=min(found),
        median=median,
        mean=statistics.fmean(found),
        max=max(found),
        sd=statistics.stdev(found) if len(found) > 1 else 0.0,
        outliers=list(_outliers(values, median)),
    )


def _outliers(values: Mapping[int, float], median: float) -> Iterator[FleetOutlier]:
    if len(values) < DEVICES_MIN:
        return
    deviation = statistics.median(abs(value - median) for value in values.values())
    for index, value in sorted(values.items()):
        if value == median:
            continue
        score = modified_score(value, median, deviation)
        if score is None or abs(score) >= SCORE_MIN:
            yield FleetOutlier(device=index, value=value, score=score)


def command_of(file: str, output: str) -> str:
    """Return what runs a fleet, as it is typed."""
    return f"opennandlab fleet run {shlex.quote(file)} --output {shlex.quote(output)}"
