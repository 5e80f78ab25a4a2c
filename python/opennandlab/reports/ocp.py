"""The report of logs of a drive: write amplification, slow commands, every counter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from opennandlab.base.words import NOTHING, number, size
from opennandlab.documents.ocp import DeviceLogs, OcpDocument
from opennandlab.documents.record import JsonObject
from opennandlab.measured.ocp import (
    BUCKETS,
    COUNTER,
    KINDS,
    LATENCY,
    SMART_COUNTERS,
    WINDOWS,
    count,
)
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Chapter, Headline, Report, Section, Table


def report(document: OcpDocument) -> Report:
    """Return the report of a document."""
    change = document.change
    since = "since its counters began" if document.before is None else "between two moments"
    low, high = change.waf_range or (None, None)
    why = "; ".join(f"{name} is unknown: {reason}" for name, reason in change.unknown.items())
    sections = [Section("slow", "Slow commands", tuple(slow(document.after)))]
    for place, (head, rows) in enumerate(tables(document)):
        name = head[0][:1].upper() + head[0][1:]
        table = Table(f"log-{place}", name, ("field", *head[1:]), tuple(map(tuple, rows)))
        sections.append(Section(table.id, name, (table,)))
    chapter = Chapter(
        id="ocp",
        title="Logs of a drive",
        reason=f"write amplification {since}: "
        + ("unknown" if change.waf is None else f"{number(change.waf)} ({number(low)} to "
           f"{number(high)}: data units are whole)"),
        headlines=(
            Headline("write amplification (WAF)", number(change.waf)),
            Headline("written by hosts", size(change.host_bytes_written)),
            Headline("programmed by the flash", size(change.media_bytes_written)),
        ),
        warnings=(why,) if why else (),
        sections=tuple(one for one in sections if one.items),
        test="ocp",
    )  # fmt: skip
    lead = ": ".join(filter(None, (document.origin, ", ".join(document.source))))
    return Report(chapter.title, lead, (chapter,), kind="logs")


def slow(logs: DeviceLogs) -> Iterator[Plot]:
    """Yield how many commands of the window that runs took how long."""
    log = logs.latency_monitor_log
    if log is None:
        return
    spans = _spans(log)
    counts = {kind: [float(log[f"{next(iter(WINDOWS))} {COUNTER}: Bucket {at}"][kind] or 0)
                     for at in range(BUCKETS)] for kind in KINDS}  # fmt: skip
    if not any(value for values in counts.values() for value in values):
        return
    places = [float(at) for at in range(BUCKETS)]
    yield Plot(
        "slow",
        "Commands of the active window by their latency",
        Axis("latency, ms", ticks=tuple(zip(places, spans, strict=True))),
        Axis("commands", zero=True),
        tuple(
            Series(f"{kind.lower()}s", places, values, "bars")
            for kind, values in counts.items()
            if any(values)
        ),
    )


def tables(document: OcpDocument) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield heads and rows of each log."""
    after, before, change = document.after, document.before, document.change
    for name, title in (("smart_log", "log 02h"), ("smart_add_log", "OCP log C0h")):
        now = getattr(after, name)
        then = None if before is None else getattr(before, name)
        if now is None and then is None:
            continue
        rows, lacking = [], 0
        for key in now or then or ():
            values = [count((log or {}).get(key)) for log in (then, now)]
            if values == [None, None]:
                lacking += 1
                continue
            old, new = values
            changed = change.counters.get(key)
            if key in SMART_COUNTERS and old is not None and new is not None and new >= old:
                changed = new - old
            if before is None:
                rows.append([key, number(values[1])])
            else:
                rows.append([key, *map(number, values), number(changed)])
        if lacking:
            rows.append(
                [f"{lacking} fields without a value", *[NOTHING] * (1 if before is None else 3)]
            )
        yield [title, "value"] if before is None else [title, "before", "after", "change"], rows
    for logs, when in ((before, "before"), (after, "after")):
        if logs is not None and logs.latency_monitor_log is not None:
            yield _monitor(logs, when if before is not None else "")


def _monitor(logs: DeviceLogs, when: str) -> tuple[list[str], list[list[str]]]:
    """Return the table of slow commands of the window that runs, and of the one before."""
    log = logs.latency_monitor_log or {}
    spans, rows = _spans(log), []
    for window in WINDOWS:
        for bucket in range(BUCKETS):
            counts = log[f"{window} {COUNTER}: Bucket {bucket}"]
            slowest = log[f"{window} {LATENCY}: Bucket {bucket}"]
            row = [f"{window.lower()} {bucket}", spans[bucket]]
            for kind in KINDS:
                row += [number(counts[kind]), number(slowest[kind])]
            rows.append(row)
    head = [f"C3h {when}".strip(), "latency, ms"]
    for kind in KINDS:
        head += [f"{kind.lower()}s", "longest"]
    return head, rows


def _spans(log: JsonObject) -> list[str]:
    """Return the latencies of each bucket, ms."""
    limits = [number(log[f"Active Threshold {letter}"]) for letter in "ABCD"]
    return [*(f"{low} to {high}" for low, high in pairwise(limits)), f"{limits[-1]} or more"]
