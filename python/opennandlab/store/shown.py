"""Points as people read them: the metrics that are asked for first, short names, values, ages."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opennandlab.base.words import number

# Digits of a key, which is a hash, that are shown.
KEY_DIGITS = 8
# Main metrics, the most asked for first: name, and head in tables. The first ones that a point has
# are shown.
MAIN = {
    "waf": "WAF",
    "iops.total": "IOPS",
    "latency_us.all.p99": "p99 µs",
    "throughput_mb_s.total": "MB/s",
    "fer": "FER",
    "ber": "BER",
    "rber": "RBER",
    "iops_rnd_4kib_write": "4 KiB write IOPS",
    "iops_rnd_4kib_read": "4 KiB read IOPS",
}
MAIN_MAX = 2


def main_metrics(point: Mapping[str, Any], metrics: Sequence[str]) -> str:
    """Return the main metrics of a point."""
    has = [name for name in metrics if point[name] is not None]
    names = [name for name in MAIN if name in has][:MAIN_MAX] or has[:MAIN_MAX]
    return ", ".join(f"{MAIN.get(name, name)} {number(point[name])}" for name in names)


def plain_value(value: object) -> str:
    """Write a coordinate as it would be typed."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def shortened(names: Sequence[str]) -> dict[str, str]:
    """Return names without what stands before the last dot, where that leaves them apart.

    >>> shortened(["ftl.gc_policy", "iops.total"])
    {'ftl.gc_policy': 'gc_policy', 'iops.total': 'iops'}
    >>> shortened(["read.p99", "write.p99"])
    {'read.p99': 'read.p99', 'write.p99': 'write.p99'}
    """
    last = {name: name.removesuffix(".total").rpartition(".")[2] for name in names}
    counts = Counter(last.values())
    return {name: last[name] if counts[last[name]] == 1 else name for name in names}


def age(created: str, now: dt.datetime) -> str:
    """Return how long ago something was, in its largest unit.

    >>> now = dt.datetime(2026, 1, 3, tzinfo=dt.timezone.utc)
    >>> age("2026-01-01T00:00:00Z", now), age("2026-01-02T23:59:30Z", now), age("?", now)
    ('2 d', '30 s', '-')
    """
    try:
        # Python 3.10 does not know the letter for UTC.
        then = dt.datetime.fromisoformat(created.replace("Z", "+00:00"))
    except ValueError:
        return "-"
    if then.tzinfo is None:
        then = then.replace(tzinfo=dt.timezone.utc)
    seconds = max(0.0, (now - then).total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"
