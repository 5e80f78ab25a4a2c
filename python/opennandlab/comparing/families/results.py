"""Results of `benchmark` and `replay`.

Over-provisioning decides WAF more than any policy does, and an empty drive is faster than it stays.
So results of drives with another spare factor, or measured from another state, are objected to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from opennandlab.base.plain import leaves
from opennandlab.base.words import number
from opennandlab.comparing.model import (
    Better,
    Family,
    Finding,
    Number,
    Remark,
    differing,
    remarks,
    sampled,
)
from opennandlab.core.cautions import is_fresh, is_session
from opennandlab.core.result import Result
from opennandlab.documents.record import JsonObject
from opennandlab.documents.result import Origin, ResultDocument
from opennandlab.reports.model import Section, Table
from opennandlab.reports.summary import state_text
from opennandlab.stats.poisson import poisson_interval

# Rounding of capacities to whole blocks moves the spare factor of equal drives by less than this.
SPARE_TOLERANCE_RATIO = 1e-3
# What is shown, and what it is called there; `--all` shows every number.
MAIN = {
    "waf": "WAF",
    "throughput_mb_s.write": "Throughput, write, MB/s",
    "throughput_mb_s.read": "Throughput, read, MB/s",
    "iops.total": "IOPS",
    "latency_us.write.mean": "Write latency mean, µs",
    "latency_us.write.p99": "Write latency p99, µs",
    "latency_us.write.p999": "Write latency p99.9, µs",
    "latency_us.read.mean": "Read latency mean, µs",
    "latency_us.read.p99": "Read latency p99, µs",
    "latency_us.read.p999": "Read latency p99.9, µs",
    "gc_cycles": "GC cycles",
    "gc_pages_moved": "GC pages moved",
    "ecc_correction_rate_pct": "Corrected bits / 100 page reads",
    "uber": "UBER, per bit read",
    "wl_stddev": "WL stddev",
    "lifetime_days": "Lifetime estimate, days",
}
# Which way is better, by path; the first that fits counts, and what fits none has no direction.
BETTER: dict[str, Better | None] = {
    "*.count": None,
    "*latency_us.*": "lower",
    "latency_by_collection.*": "lower",
    "*iops.*": "higher",
    "*throughput_mb_s.*": "higher",
    "waf": "lower",
    "uber": "lower",
    "*.uber": "lower",
    "*rber": "lower",
    "*uncorrectable*": "lower",
    "lost_reads.host_page_reads": None,
    "lost_reads.*": "lower",
    "ecc_correction_rate_pct": "lower",
    "ecc_margin": "higher",
    "lifetime_days": "higher",
    "tbw_tb": "higher",
    "gc_cycles": "lower",
    "gc_pages_moved": "lower",
    "erases.*": "lower",
    "programs.host": None,
    "programs.*": "lower",
    "nand_bytes_written": "lower",
    "copyback_pages": None,
    "wear.*": "lower",
    "wl_stddev": "lower",
    "retired_blocks": "lower",
    "failures.*": "lower",
    "host_pages.rejected": "lower",
    "health.available_spare_pct": "higher",
    "health.media_errors": "lower",
    "health.percentage_used": "lower",
    "fairness.jain_index": "higher",
    "fairness.max_min_ratio": "lower",
    "power.mean_w": "lower",
    "power.iops_per_w": "higher",
}


# Counts of rare events, which have the interval of Poisson's distribution.
EVENTS = (
    "uncorrectable_reads",
    "recovery.uncorrectable",
    "lost_reads.commands",
    "lost_reads.pages.*",
    "failures.*",
    "retired_blocks",
    "health.media_errors",
)
# Of which count a share is.
UNCORRECTABLE = "uncorrectable_read_rate"
SHARES = {
    UNCORRECTABLE: "uncorrectable_reads",
    "lost_reads.command_share": "lost_reads.commands",
    "lost_reads.host_page_share": "lost_reads.pages.host",
}


# Lower and upper end of an interval.
Ends = tuple[float | None, float | None]


class Results(Family):
    """Results of runs of the simulator."""

    name = "a result of `benchmark` or `replay`"
    kinds = (Result,)
    is_drawn = True
    # The interval of the UBER is that of the cells of one run.
    has_run_intervals = False

    def opened(self, document: JsonObject, name: str) -> Result:
        """Return the result."""
        del name
        return Result(document)

    def numbers(self, document: Result) -> dict[str, Number]:
        """Return all metrics; those of tenants by name, so that their order does not matter."""
        flat = dict(_numbers(document.metrics))
        ends = dict(_ends(document.metrics, flat))
        shown = {path for path in MAIN if _is_shown(path, flat)}
        paths = [*(path for path in MAIN if path in flat), *(it for it in flat if it not in MAIN)]
        return {
            path: Number(
                flat[path],
                MAIN.get(path, path),
                better(path),
                *ends.get(path, (None, None)),
                is_main=path in shown,
            )
            for path in paths
        }

    def sections(self, documents: Sequence[Result], names: Sequence[str]) -> tuple[Section, ...]:
        """Return the keys of device and workload in which the runs differ."""
        rows = tuple((key, *values) for key, values in self.differing_keys(documents))
        if not rows:
            return ()
        found = Table("settings", "Keys that differ", ("key", *names), rows)
        return (Section("settings", "Settings", (found,)),)

    def differing_keys(self, documents: Sequence[Result]) -> list[tuple[str, list[str]]]:
        """Return the keys of device and workload in which the runs differ, and their values."""
        settings = [
            dict(leaves({"device": one.content.device, "workload": one.content.workload}))
            for one in documents
        ]
        paths = dict.fromkeys(path for one in settings for path in one)
        found = {path: ["-" if path not in one else str(one[path]) for one in settings]
                 for path in paths}  # fmt: skip
        return [
            (path.removeprefix("device."), values)
            for path, values in found.items() if len(set(values)) > 1
        ]  # fmt: skip

    def objections(self, documents: Sequence[Result]) -> Iterator[Finding]:
        """Yield another spare area, and another state of the drive."""
        contents = [document.content for document in documents]
        spares = [_spare(content) for content in contents]
        said = [f"{number(op)} (effective spare factor {number(factor)})" for op, factor in spares]
        why = "it decides WAF more than anything else"
        yield from differing("over-provisioning", spares, said, why, same=_same_spare)
        fresh = any(map(is_fresh, contents)) and not all(map(is_fresh, contents))
        states = [_how_reached(content) for content in contents]
        why = "an empty drive is faster than it stays" if fresh else ""
        for difference in differing(
            f"state{': fresh out of the box against steady' if fresh else ''}",
            states,
            list(_states(contents, states)),
            why,
        ):
            yield replace(difference, verbs=("was measured from", "were measured from"))

    def unlike_rows(self, documents: Sequence[Result]) -> Iterator[tuple[tuple[str, ...], Finding]]:
        """Yield rates that were counted in some runs, and follow from a model in others."""
        for path, label in {"uber": "the UBER", UNCORRECTABLE: "the uncorrectable rate"}.items():
            methods = [it.metrics.get(f"{path}_method") for it in documents]
            for one in sampled(label, methods):
                yield (path,), one

    def doubts(self, documents: Sequence[Result]) -> Iterator[Finding]:
        """Yield other workloads, seeds and images, and runs that are no good."""
        contents = [document.content for document in documents]
        first = contents[0]
        work = _without_precondition(first.workload)
        yield from remarks(
            "different workloads: the deltas of {} show the workload, not the drive",
            [_without_precondition(content.workload) != work for content in contents],
        )
        seeds = list(dict.fromkeys(content.seed for content in contents))
        if len(seeds) > 1:
            yield Remark(
                f"different seeds ({counted(seeds)}): small deltas may be chance; run all with the "
                "same seed, or several"
            )
        images = [content.state.origin for content in contents if _origin(content) == "image"]
        if any(one != images[0] for one in images):
            yield Remark("different device images: see to it that all were made in the same way")
        partial = [bool(content.partial) for content in contents]
        yield from remarks("{}: partial, the run was interrupted", partial)
        yield from remarks("{}: failed self-checks", [not c.checks.passed for c in contents])
        for commit in dict.fromkeys(c.tool.commit for c in contents if c.tool.dirty is True):
            yield from remarks(
                f"{{}}: from a build whose sources were changed after commit {commit}; another "
                "build of that commit may give other numbers",
                [c.tool.dirty is True and c.tool.commit == commit for c in contents],
            )

    def model_version(self, document: Result) -> int | None:
        """Return the version that the result records."""
        return document.content.model_version

    def is_same_run(self, one: Result, other: Result) -> bool:
        """Return whether device, workload and seed are equal."""
        found = [(it.content.device, it.content.workload, it.content.seed) for it in (one, other)]
        return found[0] == found[1]


FAMILY = Results()


def better(path: str) -> Better | None:
    """Return which way a metric is better.

    >>> better("waf"), better("iops.total"), better("latency_us.read.count"), better("reads.gc")
    ('lower', 'higher', None, None)
    """
    return next((way for form, way in BETTER.items() if fnmatchcase(path, form)), None)


def counted(values: Sequence[object], count_max: int = 4) -> str:
    """Return values as a list in words.

    >>> counted([1, 2]), counted(range(9))
    ('1 and 2', '0, 1, 2, 3 and 5 more')
    """
    shown = [str(value) for value in values[:count_max]]
    if len(values) > count_max:
        return f"{', '.join(shown)} and {len(values) - count_max} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _is_shown(path: str, flat: dict[str, float | None]) -> bool:
    """Return whether a row is shown: a tail too thin to state is, wherever its mean is."""
    return flat.get(re.sub(r"\.p\d+$", ".mean", path)) is not None


def _ends(metrics: JsonObject, flat: dict[str, float | None]) -> Iterator[tuple[str, Ends]]:
    """Yield the 95 % intervals of the UBER, of counts of errors, and of their shares."""
    if metrics.get("uber_interval"):
        yield "uber", metrics["uber_interval"]
    for path, value in flat.items():
        of = SHARES.get(path, path)
        count = flat.get(of)
        if value is None or count is None or not any(fnmatchcase(of, form) for form in EVENTS):
            continue
        # The rate of a model has no count, and a share of 0 has no denominator.
        if (path == of or count) and metrics.get(f"{path}_method") in {None, "observed"}:
            scale = value / count if path != of else 1.0
            low, high = poisson_interval(int(count))
            yield path, (low * scale, high * scale)


def _numbers(metrics: object, path: str = "") -> Iterator[tuple[str, float | None]]:
    if isinstance(metrics, dict):
        for key, value in metrics.items():
            yield from _numbers(value, f"{path}.{key}" if path else str(key))
    elif isinstance(metrics, list):
        for row in metrics:
            if isinstance(row, dict) and "name" in row:
                yield from _numbers(row, f"{path}.{row['name']}")
    elif metrics is None or (isinstance(metrics, int | float) and not isinstance(metrics, bool)):
        yield path, metrics


Spare = tuple[float | None, float | None]


def _spare(document: ResultDocument) -> Spare:
    """Return the over-provisioning that was asked for, and the spare factor that came of it.

    What log blocks and map pages leave of it is the way to map, which may be what is compared.
    """
    ftl = document.device["ftl"]
    is_mapped = "mapping" in ftl
    return (
        ftl.get("over_provisioning_pct"),
        None if is_mapped else document.effective.spare_factor_effective,
    )


def _same_spare(one: Spare, other: Spare) -> bool:
    if one[0] != other[0]:
        return False
    if one[1] is None or other[1] is None:
        return True
    return math.isclose(one[1], other[1], rel_tol=SPARE_TOLERANCE_RATIO)


def _how_reached(document: ResultDocument) -> object:
    """Return what was asked for; what was observed on the way may differ between policies."""
    origin = document.state.origin
    session = origin.session if isinstance(origin, Origin) else None
    steps = session and session.steps
    return _origin(document), steps, document.workload.get("precondition")


def _states(contents: Sequence[ResultDocument], states: Sequence[object]) -> Iterator[str]:
    """Yield how each drive got into its state, those that only sound alike distinguished."""
    texts = [state_text(content.state) for content in contents]
    for text, state in zip(texts, states, strict=True):
        first = states[texts.index(text)]
        yield f"`{text}`{'' if state == first else ' by other commands'}"


def _origin(document: ResultDocument) -> str:
    if is_session(document):
        return "session"
    origin = document.state.origin
    return "image" if isinstance(origin, Origin) else origin


def _without_precondition(workload: JsonObject) -> JsonObject:
    return {key: value for key, value in workload.items() if key not in {"precondition", "name"}}
