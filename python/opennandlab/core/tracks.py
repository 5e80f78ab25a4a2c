"""Tracks of a timeline as a viewer shows them: their order, what each span is, and which follow.

The core records spans by lane. Here each gets arguments that a query can select by, the lanes get
an order from the host down to the flash, and arrows lead from a collection to its first move and
to its erase. Phases and keys are those of the Trace Event Format (Chromium project): `M` with
`process_sort_index` and `thread_sort_index`, `s`, `t` and `f` for the arrows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

Event = dict[str, Any]
# Lanes of the core, by process: the key of their arguments.
DIES, COLLECTIONS = 1, 3
LANES = {DIES: "die", 2: "channel", COLLECTIONS: "die", 5: "plane", 6: "slot"}
# From the host down to the flash; levels last.
ORDER = (6, COLLECTIONS, DIES, 5, 2, 4)
MOVED = " (moved)"


def arranged(document: dict[str, Any]) -> dict[str, Any]:
    """Return a timeline with an order of tracks, arguments of spans, and arrows."""
    events: list[Event] = document["traceEvents"]
    names = [event for event in events if event["ph"] == "M"]
    rest = [_told(event) if event["ph"] == "X" else event for event in events
            if event["ph"] != "M"]  # fmt: skip
    order = [
        _order("process", event["pid"], None, ORDER.index(event["pid"]))
        if event["name"] == "process_name"
        else _order("thread", event["pid"], event["tid"], event["tid"])
        for event in names
    ]
    return {**document, "traceEvents": [*names, *order, *rest, *_arrows(rest)]}


def _order(kind: str, process: int, thread: int | None, place: int) -> Event:
    at = {} if thread is None else {"tid": thread}
    return {"ph": "M", "name": f"{kind}_sort_index", "pid": process, **at,
            "args": {"sort_index": place}}  # fmt: skip


def _told(span: Event) -> Event:
    lane = LANES[span["pid"]]
    args: dict[str, Any] = {lane: span["tid"]}
    if span["pid"] in {DIES, 2, 5}:
        args["for"] = "moved pages" if span["name"].endswith(MOVED) else "other work"
    return {**span, "cat": lane, "args": args}


def _arrows(events: list[Event]) -> Iterator[Event]:
    """Yield an arrow from each collection to its first move on its die, and on to its erase."""
    found: dict[int, list[Event]] = {}
    for event in events:
        if event["ph"] == "X" and event["pid"] == DIES:
            found.setdefault(event["tid"], []).append(event)
    for spans in found.values():
        spans.sort(key=lambda span: span["ts"])
    collections = (it for it in events if it["ph"] == "X" and it["pid"] == COLLECTIONS)
    for number, whole in enumerate(collections, 1):
        spans = found.get(whole["tid"], [])
        end = whole["ts"] + whole["dur"]
        first, last = (bisect_left(spans, at, key=lambda span: span["ts"])
                       for at in (whole["ts"], end))  # fmt: skip
        inside = spans[first:last]
        moved = next((span for span in inside if span["name"].endswith(MOVED)), None)
        erase = next((span for span in reversed(inside) if span["name"] == "erase"), None)
        steps = [span for span in (whole, moved, erase) if span is not None]
        for place, span in enumerate(steps if len(steps) > 1 else ()):
            phase = "s" if place == 0 else "f" if place == len(steps) - 1 else "t"
            yield {"ph": phase, "cat": "collection", "name": whole["name"], "id": number,
                   "pid": span["pid"], "tid": span["tid"], "ts": span["ts"],
                   **({"bp": "e"} if phase == "f" else {})}  # fmt: skip
