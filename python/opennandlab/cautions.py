"""Warnings against reading more out of a result than is in it: the usual mistakes, caught by rule.

Each rule looks at the document alone, so that the same run always carries the same warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Rule = Callable[[dict[str, Any]], Iterator[str]]


def cautions(document: dict[str, Any]) -> list[str]:
    """Return the warnings that `document` deserves, in a fixed order."""
    return [text for rule in RULES for text in rule(document)]


def _no_collection(document: dict[str, Any]) -> Iterator[str]:
    """GC latency from a workload that never collected."""
    metrics = document["metrics"]
    # The core itself warns when GC did not run at all.
    if metrics.get("gc_cycles") and not metrics.get("gc_pages_moved"):
        yield (
            "GC erased blocks but moved no page, as with any sequential workload: the latencies "
            "say nothing about moving live data; measure that with random writes"
        )


def _fresh(document: dict[str, Any]) -> Iterator[str]:
    """Numbers of an empty drive, which no drive keeps for long."""
    if is_fresh(document) and document["metrics"].get("host_bytes_written"):
        yield (
            "measured from a fresh drive: the first writes cost nothing, so WAF, throughput and "
            "latency are better than they stay; compare only with other fresh drives"
        )


def _thin_tail(document: dict[str, Any]) -> Iterator[str]:
    """A mean without a tail beside it."""
    for op, row in (document["metrics"].get("latency_us") or {}).items():
        if op != "all" and row and row.get("count") and row.get("p999") is None:
            yield (
                f"{op} latency: {row['count']} samples are too few for p99.9 "
                "(ten must lie beyond a percentile)"
            )


def _part_pages(document: dict[str, Any]) -> Iterator[str]:
    """Requests that program more than they write."""
    tenants = document["workload"].get("tenants")
    sizes = None if tenants else document["workload"].get("block_size_bytes")
    page_bytes = document["device"].get("nand", {}).get("page_size_bytes")
    if sizes is None or page_bytes is None or not document["metrics"].get("host_bytes_written"):
        return
    smallest = sizes if isinstance(sizes, int) else min(int(size) for size in sizes)
    if smallest < page_bytes and not document["device"]["ftl"].get("write_buffer_pages"):
        yield (
            f"requests of {smallest} bytes are smaller than a page of {page_bytes}, and without "
            "write buffer each programs a whole page: WAF counts that as amplification"
        )


def _interrupted(document: dict[str, Any]) -> Iterator[str]:
    """Numbers of a part."""
    if document.get("partial"):
        yield "interrupted: the metrics cover only the part that was run"


def is_fresh(document: dict[str, Any]) -> bool:
    """Tell whether a result was measured from an empty drive."""
    state = document["state"]
    return bool(state.get("origin") == "fresh" and not state.get("steps"))


def is_session(document: dict[str, Any]) -> bool:
    """Tell whether other steps were run on the drive before, which no workload repeats."""
    origin = document["state"].get("origin")
    return isinstance(origin, dict) and "session" in origin


RULES: tuple[Rule, ...] = (_interrupted, _no_collection, _fresh, _part_pages, _thin_tail)
