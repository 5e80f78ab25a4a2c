"""Warnings against reading more out of a result than is in it: the usual mistakes, caught by rule.

Each rule examines the document alone, so that the same run always carries the same warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opennandlab.base.words import size
from opennandlab.core.config import map_unit_bytes
from opennandlab.documents.result import Origin, ResultDocument

# Write amplification further away than this from that of a steady state is of another load.
STEADY_RATIO = 0.05

# From this share of a part's own pages on, programs of pages from before it are told: three digits.
EARLIER_SHARE = 0.005

Rule = Callable[[ResultDocument], Iterator[str]]

# Superblocks of host writes: on a quarter of the Micron 7450 preset the first one has 1.44 times
# the writes a second of the first eleven, and these 6 % more than a long run (measured-drives.md).
SUPERBLOCKS_MIN = 8


def cautions(document: ResultDocument) -> list[str]:
    """Return the warnings that `document` deserves, in a fixed order."""
    return [text for rule in RULES for text in rule(document)]


def _no_collection(document: ResultDocument) -> Iterator[str]:
    """GC latency from a workload that never collected."""
    metrics = document.metrics
    # The core itself warns when GC did not run at all.
    if metrics and metrics.gc_cycles and not metrics.gc_pages_moved:
        yield (
            "GC erased blocks but moved no page, as with any sequential workload: the latencies "
            "say nothing about moving live data; measure that with random writes"
        )


def _fresh(document: ResultDocument) -> Iterator[str]:
    """Numbers of an empty drive, which no drive keeps for long."""
    if is_fresh(document) and document.metrics and document.metrics.host_bytes_written:
        yield (
            "measured from a fresh drive: the first writes cost nothing, so WAF, throughput and "
            "latency are better than they stay; compare only with other fresh drives"
        )


def _earlier_programs(document: ResultDocument) -> Iterator[str]:
    """Programs of data that was written before, and waited in the cache when measuring began."""
    metrics = document.metrics
    host, ftl = document.device["host"], document.device["ftl"]
    if metrics is None or not (host.get("write_cache") or ftl.get("write_buffer_pages")):
        return
    pages = metrics.host_pages
    own = pages.written - pages.absorbed - pages.buffer_trimmed
    # Each page of the part is programmed once at most: what is more was written before it.
    earlier = metrics.programs.host - own
    if earlier > EARLIER_SHARE * own:
        yield (
            f"at least {earlier} of the {metrics.programs.host} pages programmed for the host were "
            "written before the measured part and waited in the write cache: WAF counts them, and "
            "the first flush or forced write waits for them; measure more writes"
        )


def _few_superblocks(document: ResultDocument) -> Iterator[str]:
    """A stretch of writes that ends before the drive has gone through a few open superblocks."""
    metrics, shape = document.metrics, document.effective.superblocks
    if not metrics or not shape or not document.workload.get("timed") or is_fresh(document):
        return
    pattern = document.workload.get("pattern")
    kind = pattern.get("kind") if isinstance(pattern, dict) else pattern
    filled = metrics.programs.host / (shape.data_pages * shape.groups)
    if 0.0 < filled < SUPERBLOCKS_MIN and kind != "sequential":
        unit_bytes = map_unit_bytes(document.device)
        least = SUPERBLOCKS_MIN * shape.data_pages * shape.groups * unit_bytes
        yield (
            f"the measured part wrote {filled:.2g} superblocks: what stood erased when it began "
            "decides throughput, WAF and latency of writes, which come out better than they stay; "
            f"write {size(least)} or more"
        )


def _thin_tail(document: ResultDocument) -> Iterator[str]:
    """A mean without a tail next to it."""
    latencies = document.metrics and document.metrics.latency_us
    for op, row in latencies.by_operation().items() if latencies else ():
        if row.count and row.p999 is None:
            yield (
                f"{op} latency: {row.count} sample{' is' if row.count == 1 else 's are'} too few "
                "for p99.9 "
                "(ten must lie beyond a percentile)"
            )


def _part_pages(document: ResultDocument) -> Iterator[str]:
    """Requests that program more than they write."""
    tenants = document.workload.get("tenants")
    sizes = None if tenants else document.workload.get("block_size_bytes")
    if sizes is None or document.metrics is None or not document.metrics.host_bytes_written:
        return
    smallest = sizes if isinstance(sizes, int) else min(int(size) for size in sizes)
    yield from part_writes(document.device, smallest)


def part_writes(device: Mapping[str, Any], smallest: float) -> Iterator[str]:
    """Warn of writes that program more than they write.

    Args:
        device: The drive.
        smallest: Bytes of the smallest.
    """
    unit_bytes = map_unit_bytes(device)
    if smallest < unit_bytes and not device["ftl"].get("write_buffer_pages"):
        name = "page" if unit_bytes == device["nand"]["page_size_bytes"] else "map unit"
        yield (
            f"requests of {smallest:.0f} bytes are smaller than a {name} of {unit_bytes}, and "
            f"without write buffer each programs a whole {name}: WAF counts that as amplification"
        )


def _whole_page_reads(document: ResultDocument) -> Iterator[str]:
    """Reads that transfer more than they ask for."""
    metrics = document.metrics
    row = metrics.latency_us.read if metrics and metrics.latency_us else None
    if metrics is None or row is None or not row.count:
        return
    yield from part_reads(document.device, metrics.host_bytes_read / row.count)


def part_reads(device: Mapping[str, Any], mean: float) -> Iterator[str]:
    """Warn of reads that transfer more than they ask for.

    Args:
        device: The drive.
        mean: Bytes that a read asks for, on average.
    """
    unit_bytes = map_unit_bytes(device)
    if mean < unit_bytes:
        page_bytes = device["nand"]["page_size_bytes"]
        name = "page" if unit_bytes == page_bytes else "map unit"
        yield (
            f"reads of {mean:.0f} bytes, in the mean, sense and transfer a whole {name} of "
            f"{unit_bytes}: with a smaller ftl.map_unit_bytes, as most drives have, only the units "
            "asked for cross the bus"
        )


def _steady_of_others(document: ResultDocument) -> Iterator[str]:
    """A steady state of other writes than those of the measured part."""
    steps, metrics = document.state.steps, document.metrics
    if not document.workload.get("tenants") or not steps or not metrics or not metrics.waf:
        return
    before, step = steps[-1].steady_waf, (document.workload.get("precondition") or [{}])[-1]
    if before and abs(metrics.waf / before - 1.0) > STEADY_RATIO:
        remedy = "precondition in time (`timed: true`), where tenants have their measured shares"
        if step.get("requests") == "workload":
            remedy = "precondition with the writes of the tenants (`requests: tenants`)"
        elif step.get("timed"):
            remedy = "let more windows agree"
        yield (
            f"preconditioning was steady at WAF {before:.4g}; the writes measured have "
            f"{metrics.waf:.4g}, which may still be on its way: {remedy}, or measure longer"
        )


def _on_its_way(document: ResultDocument) -> Iterator[str]:
    """WAF of a drive that was not brought to the state that theory is of."""
    metrics, predicted = document.metrics, document.effective.predicted_waf
    if not metrics or not metrics.waf or not predicted or is_fresh(document):
        return
    # A step that sought the steady state has its own warning if it did not find it.
    has_sought = any(step.steady is not None for step in document.state.steps or ())
    if not has_sought and abs(metrics.waf / predicted - 1.0) > STEADY_RATIO:
        yield (
            f"WAF {metrics.waf:.4g} and the {predicted:.4g} of theory are not of one state: theory "
            "is of the steady state, and nothing shows that the drive is there; precondition "
            "`until: steady`, or measure longer"
        )


def _few_writes(document: ResultDocument) -> Iterator[str]:
    """Write amplification of less than one block."""
    metrics = document.metrics
    block_pages = document.effective.pages_per_block
    if not metrics or document.effective.superblocks or not metrics.programs.host:
        return
    written = metrics.programs.host
    if metrics.waf and written < block_pages:
        yield (
            f"WAF is that of {written} {'page' if written == 1 else 'pages'} programmed for the "
            f"host, and garbage collection takes a block of {block_pages} at a time: with so few "
            "it depends on where the last collection fell; write more"
        )


def _lost_die(document: ResultDocument) -> Iterator[str]:
    """Figures over the time before and after a fault."""
    metrics = document.metrics
    for fault in document.device["nand"].get("faults") or ():
        at_s = fault["at_s"]
        if not metrics or metrics.duration_s is None:
            continue
        name = f"die {fault['die']}"
        if at_s >= metrics.duration_s:
            yield f"{name} is lost at {at_s:g} s: the measured part ended before"
        elif at_s > 0:
            yield (
                f"{name} is lost at {at_s:g} s: the figures cover the time before and after; "
                "with at_s 0 they are those of the drive without it"
            )


def _interrupted(document: ResultDocument) -> Iterator[str]:
    """Numbers of a part."""
    if document.partial:
        yield "interrupted: the metrics cover only the part that was run"


def is_fresh(document: ResultDocument) -> bool:
    """Return whether a result was measured from an empty drive."""
    return document.state.origin == "fresh" and not document.state.steps


def is_session(document: ResultDocument) -> bool:
    """Return whether other steps were run on the drive before, which no workload repeats."""
    origin = document.state.origin
    return isinstance(origin, Origin) and origin.session is not None


RULES: tuple[Rule, ...] = (
    _interrupted,
    _no_collection,
    _fresh,
    _earlier_programs,
    _few_superblocks,
    _part_pages,
    _whole_page_reads,
    _steady_of_others,
    _on_its_way,
    _few_writes,
    _lost_die,
    _thin_tail,
)
