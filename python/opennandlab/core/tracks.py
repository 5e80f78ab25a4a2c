"""Tracks of a timeline as a viewer shows them: their order, what each span is, and which follow.

The core records spans by lane. Here each gets arguments that a query can select by, the lanes get
an order from the host down to the flash, and arrows lead from a command to the bus and the array
that serve it, one chain for each operation of the flash, and from a collection to its first move
and to its erase. Phases and keys are those of the Trace Event Format (Chromium project): `M` with
`process_sort_index` and `thread_sort_index`; `s`, `t` and `f` for the arrows, each of which a
viewer binds to the span of its thread in which its time falls.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, count
from typing import Any

Event = dict[str, Any]
# Lanes of the core, by process: the key of their arguments.
DIES, CHANNELS, COLLECTIONS, PLANES, COMMANDS = 1, 2, 3, 5, 6
LANES = {DIES: "die", CHANNELS: "channel", COLLECTIONS: "die", PLANES: "plane", COMMANDS: "slot"}
# Lanes whose spans are parts of operations of the flash.
FLASH = {DIES, CHANNELS, PLANES}
# From the host down to the flash; levels last.
ORDER = (COMMANDS, COLLECTIONS, DIES, PLANES, CHANNELS, 4)
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
    # A viewer binds an arrow to spans in front of it.
    return {**document, "traceEvents": [*names, *order, *rest, *_arrows(rest)]}


def _order(kind: str, process: int, thread: int | None, place: int) -> Event:
    at = {} if thread is None else {"tid": thread}
    return {"ph": "M", "name": f"{kind}_sort_index", "pid": process, **at,
            "args": {"sort_index": place}}  # fmt: skip


def _told(span: Event) -> Event:
    lane = LANES[span["pid"]]
    args: dict[str, Any] = {lane: span["tid"], **span.get("args", {})}
    if span["pid"] in FLASH:
        other = "commands" if args.keys() & {"command", "commands"} else "other work"
        args["for"] = "moved pages" if span["name"].endswith(MOVED) else other
    return {**span, "cat": lane, "args": args}


def _arrows(events: list[Event]) -> Iterator[Event]:
    """Yield the arrows between spans; each chain has an id of its own."""
    spans = [event for event in events if event["ph"] == "X"]
    chains = chain(_collected(spans), _served(spans))
    numbers = count(1)
    for kind, steps in chains:
        if len(steps) > 1:
            yield from _chain(kind, next(numbers), steps)


def _chain(kind: str, number: int, steps: list[Event]) -> Iterator[Event]:
    """Yield the arrows along spans, each at the start of its span.

    An operation may have begun before the command that waits for it: a flush waits for programs
    of writes before it. The arrow then ends in its span at the start of the command.
    """
    at = steps[0]["ts"]
    for place, span in enumerate(steps):
        at = max(at, span["ts"])
        phase = "s" if place == 0 else "f" if place == len(steps) - 1 else "t"
        yield {"ph": phase, "cat": kind, "name": steps[0]["name"], "id": number,
               "pid": span["pid"], "tid": span["tid"], "ts": at,
               **({"bp": "e"} if phase == "f" else {})}  # fmt: skip


def _collected(spans: list[Event]) -> Iterator[tuple[str, list[Event]]]:
    """Yield each collection, its first move on its die, and its erase."""
    found: dict[int, list[Event]] = {}
    for span in spans:
        if span["pid"] == DIES:
            found.setdefault(span["tid"], []).append(span)
    for of_die in found.values():
        of_die.sort(key=lambda span: span["ts"])
    for whole in (span for span in spans if span["pid"] == COLLECTIONS):
        of_die = found.get(whole["tid"], [])
        end = whole["ts"] + whole["dur"]
        first, last = (bisect_left(of_die, at, key=lambda span: span["ts"])
                       for at in (whole["ts"], end))  # fmt: skip
        inside = of_die[first:last]
        moved = next((span for span in inside if span["name"].endswith(MOVED)), None)
        erase = next((span for span in reversed(inside) if span["name"] == "erase"), None)
        yield "collection", [span for span in (whole, moved, erase) if span is not None]


def _served(spans: list[Event]) -> Iterator[tuple[str, list[Event]]]:
    """Yield each command with the spans of an operation that serves it, by their time.

    Spans that ended before the command began are left out, and so are commands outside of the
    window, and those that took no time, to which a viewer binds no arrow.
    """
    commands = {
        span["args"]["command"]: span
        for span in spans
        if span["pid"] == COMMANDS and "command" in span["args"] and span["dur"] > 0
    }
    found: dict[tuple[int, int], list[Event]] = {}
    for span in spans:
        args = span["args"]
        if span["pid"] not in FLASH:
            continue
        served = [args["command"]] if "command" in args else args.get("commands", [])
        for number in served:
            command = commands.get(number)
            if command and span["dur"] > 0 and span["ts"] + span["dur"] > command["ts"]:
                found.setdefault((number, args["operation"]), []).append(span)
    for (number, _), parts in found.items():
        yield "command", [commands[number], *sorted(parts, key=lambda span: span["ts"])]
