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
    written = metrics.get("host_bytes_written") or 0
    if written and not metrics.get("gc_cycles"):
        sequential = _kind(document["workload"].get("pattern")) == "sequential"
        why = "a sequential workload frees whole blocks" if sequential else "there was no need yet"
        yield (
            f"GC did not run ({why}): the latencies say nothing about garbage collection; "
            "measure it with random writes on a preconditioned drive"
        )
    elif written and not metrics.get("gc_pages_moved"):
        yield (
            "GC erased blocks but moved no page: the latencies say nothing about the cost of "
            "moving live data; measure it with random writes on a preconditioned drive"
        )


def _fresh(document: dict[str, Any]) -> Iterator[str]:
    """Numbers of an empty drive, which no drive keeps for long."""
    if is_fresh(document["state"]) and document["metrics"].get("host_bytes_written"):
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


def _interrupted(document: dict[str, Any]) -> Iterator[str]:
    """Numbers of a part."""
    if document.get("partial"):
        yield "interrupted: the metrics cover only the part that was run"


def is_fresh(state: object) -> bool:
    """Tell whether a state is that of an empty drive."""
    if isinstance(state, dict):
        return _kind(state) == "fresh"
    return state == "fresh"


def _kind(value: object) -> object:
    return value.get("kind") if isinstance(value, dict) else value


RULES: tuple[Rule, ...] = (_interrupted, _no_collection, _fresh, _thin_tail)
