"""Captures: a recorded trace as a table of IO streams by steps of time.

```text
trace ─► readers of the core ─► requests, by time ─► stream of each ─► counts, by step
           (all formats)         through a pipe         SEQ or RND
file  ─► column of response times (msr, systor17, served) ─► queue depth and idle time, by step
```
A request is sequential (SEQ) when it starts where one of the last 32 requests of the same volume
and operation ended; this definition is ours. Its stream is that, its size and its operation.

The readers hold the requests in memory, as for a replay, and refuse a trace that has no room there.
From there on only counts are kept, and 16 bytes for each response time. The queue depth is the mean
number of outstanding requests over the time in which there were any.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import os
import re
import threading
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from opennandlab import _core
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError, DocumentError, TraceError, inert
from opennandlab.core.memory import available_bytes
from opennandlab.core.traces import printable
from opennandlab.documents.capture import SCHEMA, SECTOR, SIZE_MAX, CaptureDocument, check
from opennandlab.documents.record import made
from opennandlab.documents.saved import damaged, read_document, refuse_edited, typed

WINDOW: Final = 32
# As published captures have: 24 hours in 290 steps of five minutes.
STEPS: Final = 290
STEP_NS_MAX: Final = 300 * 10**9
# More steps than this make a document larger than one may be.
STEPS_MAX: Final = 100_000
SECOND_NS: Final = 10**9
UNITS = {"us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
# Requests between two looks at the watcher.
TOLD_EVERY = 1 << 14
OPS = {"read": "R", "write": "W"}
# Formats whose lines have a response time: columns of arrival, of response time (or of the reply)
# and of the operation, and nanoseconds of the units of the first two.
RESPONSES = {
    "msr": (0, 6, 3, 100, 100),
    "systor17": (0, 1, 2, SECOND_NS, SECOND_NS),
    "served": (6, 8, 2, 1, None),
}
# Words for reads and writes, and of lines that are no request.
WAITING = frozenset({"r", "read", "w", "write"})
NO_REQUESTS = ("", "block_status")
OPENERS: dict[bytes, Callable[..., IO[str]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7z": lzma.open,
}

Ints = npt.NDArray[np.int64]
Key = tuple[str, int, str]


@dataclass
class _Counts:
    """Requests of each stream, and when they arrived.

    Args:
        numbers: Number of each stream, in the order in which they came.
        arrivals: Times of reads and writes, nanoseconds.
        streams: Number of the stream of each.
        others: Other requests by kind.
        bytes: Bytes of reads and writes.
    """

    numbers: dict[Key, int] = field(default_factory=dict)
    arrivals: array[int] = field(default_factory=lambda: array("q"))
    streams: array[int] = field(default_factory=lambda: array("i"))
    others: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    _ends: dict[tuple[str, str], deque[int]] = field(default_factory=dict)

    def add(self, line: str) -> None:
        """Count a line of the format `csv`."""
        time_ns, word, offset, size, volume, _ = line.split(",", 5)
        op = OPS.get(word)
        if op is None:
            self.others[word] += 1
            return
        begin, count = int(offset), int(size)
        ends = self._ends.setdefault((volume, op), deque(maxlen=WINDOW))
        key = ("SEQ" if begin in ends else "RND", count, op)
        ends.append(begin + count)
        self.streams.append(self.numbers.setdefault(key, len(self.numbers)))
        self.arrivals.append(int(time_ns))
        self.bytes += count


def capture(
    groups: Sequence[list[str]],
    reading: str,
    *,
    step: str | None = None,
    watch: Callable[[int], None] | None = None,
) -> CaptureDocument:
    """Count the IO streams of traces.

    Args:
        groups: Files, each a group of parts of one trace.
        reading: How they are read, as the core takes it (JSON).
        step: Length of a step, such as `5min`; None for some 290 steps, of 5 minutes at most.
        watch: Called with the number of requests that were counted.

    Raises:
        ConfigError: for a step, or a trace, that gives no capture.
        TraceError: for a file that cannot be read.
    """
    step_ns = None if step is None else step_ns_of(step)
    files = [
        {"file": inert(printable(Path(path).name)), "sha256": _sha256(path)}
        for group in groups
        for path in group
    ]
    traces = _core.Traces([list(group) for group in groups], reading, available_bytes())
    names = json.loads(traces.names())
    found = _counted(traces, watch)
    if not found.arrivals:
        others = ", ".join(f"{count} {kind}" for kind, count in sorted(found.others.items()))
        message = f"no read or write in it ({others or 'no requests'})"
        raise ConfigError("trace", f"{message}; accepted: a trace with one")
    order, streams = _streams(found)
    arrivals = np.frombuffer(found.arrivals, dtype=np.int64)
    begin_ns = int(arrivals.min())
    arrivals -= begin_ns
    how = json.loads(reading)
    # Lines of requests that are dropped have response times, too.
    form = None if how.get("dedupe") else names["format"]
    responses = _responses(groups, form, how.get("align", "start"), begin_ns)
    numbers = order[np.frombuffer(found.streams, dtype=np.int32)]
    sizes = np.array([one["size_bytes"] for one in streams], dtype=np.int64)
    steps = _steps(arrivals, numbers, sizes, responses, step_ns)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": files[0]["file"],
        "files": files,
        "format": names["format"],
        "volumes": len(names["volumes"]),
        "span_s": int(arrivals.max()) / SECOND_NS,
        "requests": len(arrivals),
        "bytes": found.bytes,
        "others": dict(sorted(found.others.items())),
        "window": WINDOW,
        "streams": streams,
        **steps,
        "warnings": [_without_folders(text, groups) for text in names["warnings"]],
    }
    return made(document | {"digest": digest(document)}, CaptureDocument)


def load_capture(path: str | Path) -> CaptureDocument:
    """Read a capture, and check that its numbers agree.

    Raises:
        ResultError: when it is none, was edited, or contradicts itself, with the key.
    """
    path = Path(path)
    document = read_document(path, [SCHEMA])
    found = typed(path, document, CaptureDocument)
    try:
        check(found)
    except DocumentError as error:
        raise damaged(path, error) from None
    refuse_edited(path, document)
    return found


def step_ns_of(text: str) -> int:
    """Return the nanoseconds of a step.

    Raises:
        ConfigError: with the accepted form.

    >>> step_ns_of("5min"), step_ns_of("0.5 s")
    (300000000000, 500000000)
    """
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?(us|ms|s|min|h)", text.strip())
    ns = 0 if found is None else round(float(found[1]) * UNITS[found[2]])
    if not 0 < ns <= 1 << 60:
        accepted = "a number above 0 and us, ms, s, min or h, such as 5min"
        raise ConfigError("step", f"`{text}`; accepted: {accepted}")
    return ns


def _without_folders(text: str, groups: Sequence[list[str]]) -> str:
    """Return a warning with the names of files alone, as on any machine."""
    for path in sorted((path for group in groups for path in group), key=len, reverse=True):
        text = text.replace(path, Path(path).name)
    return inert(text)


def _sha256(path: str) -> str:
    """Return the digest of a file; what can be read only once is refused."""
    if not Path(path).is_file():
        reason = "is not a file" if Path(path).exists() else "does not exist"
        raise TraceError(f"{printable(path)}: {reason}; accepted: a file, which is read twice")
    found = hashlib.sha256()
    try:
        with Path(path).open("rb") as stream:
            while piece := stream.read(1 << 20):
                found.update(piece)
    except OSError as error:
        raise TraceError(f"{printable(path)}: {error.strerror}") from error
    return found.hexdigest()


def _counted(traces: _core.Traces, watch: Callable[[int], None] | None) -> _Counts:
    """Count the requests of traces, which a thread writes into a pipe."""
    found = _Counts()
    with _written(traces) as lines:
        next(lines, None)
        for number, line in enumerate(lines, start=1):
            found.add(line)
            if watch is not None and number % TOLD_EVERY == 0:
                watch(number)
    return found


@contextmanager
def _written(traces: _core.Traces) -> Iterator[Iterator[str]]:
    """Give the lines of traces, without a copy of all of them.

    Raises:
        TraceError: when they cannot be written.
    """
    failures: list[BaseException] = []
    take, give = os.pipe()

    def write() -> None:
        try:
            traces.write(f"/dev/fd/{give}", "csv")
        except BaseException as error:  # noqa: BLE001 (raised by the other thread)
            failures.append(error)
        finally:
            os.close(give)

    thread = threading.Thread(target=write, daemon=True)
    try:
        # Without this end the writer gets an error, and its thread ends.
        with os.fdopen(take, encoding="utf-8", errors="replace", newline="\n") as stream:
            thread.start()
            yield iter(stream)
    finally:
        thread.join()
    if failures:
        raise failures[0]


def _streams(found: _Counts) -> tuple[Ints, list[dict[str, Any]]]:
    """Return the place of each stream in the table, and the table, the most frequent first."""
    counts = np.bincount(np.frombuffer(found.streams, dtype=np.int32), minlength=len(found.numbers))
    rows = sorted(found.numbers.items(), key=lambda row: (-counts[row[1]], row[0]))
    order = np.zeros(len(rows), dtype=np.int64)
    streams = []
    total = int(counts.sum())
    for place, ((kind, size, op), number) in enumerate(rows):
        order[number] = place
        if not SECTOR <= size <= SIZE_MAX:
            message = f"a request of {size} bytes; accepted: {SECTOR} to {SIZE_MAX}"
            raise ConfigError("trace", message)
        count = int(counts[number])
        streams.append(
            {"order": kind, "size_bytes": size, "op": op, "count": count, "share": count / total}
        )
    return order, streams


def _steps(
    arrivals: Ints,
    numbers: Ints,
    sizes: Ints,
    responses: tuple[Ints, Ints] | None,
    step_ns: int | None,
) -> dict[str, Any]:
    """Return the steps as the document has them, or why there are none."""
    span = int(arrivals.max())
    reason = None
    if not span:
        reason = "all requests have the same time"
    elif not (arrivals % SECOND_NS).any():
        reason = "all times are whole seconds"
    if reason is not None:
        return {"step_s": None, "steps": None, "no_steps": reason}
    length = step_ns or min(STEP_NS_MAX, -(-(span + 1) // STEPS))
    count = span // length + 1
    if count > STEPS_MAX:
        message = f"{length / SECOND_NS:g} s make {count} steps of this trace"
        raise ConfigError("step", f"{message}; accepted: at most {STEPS_MAX}")
    ends = [min((at + 1) * length, span) - at * length for at in range(count)]
    depths, idles = _outstanding(responses, length, ends)
    # Requests in the order of their steps, and of their streams in a step.
    places, totals = np.unique(arrivals // length * len(sizes) + numbers, return_counts=True)
    rows: list[list[list[int]]] = [[] for _ in range(count)]
    moved = np.zeros(count)
    for place, total in zip(places.tolist(), totals.tolist(), strict=True):
        at, stream = divmod(place, len(sizes))
        rows[at].append([stream, total])
        moved[at] += total * int(sizes[stream])
    return {
        "step_s": length / SECOND_NS,
        "steps": [
            {
                "counts": rows[at],
                # Of a last step of no length: as if it were whole.
                "mb_s": float(moved[at]) * 1e3 / (ends[at] or length),
                "queue_depth": depths[at],
                "idle_s": idles[at],
            }
            for at in range(count)
        ],
    }


def _outstanding(
    responses: tuple[Ints, Ints] | None, length: int, ends: Sequence[int]
) -> tuple[Sequence[float | None], Sequence[float | None]]:
    """Return the mean queue depth of each step while it is not idle, and its idle seconds."""
    nothing: list[float | None] = [None] * len(ends)
    if responses is None:
        return nothing, nothing
    order = np.argsort(responses[0], kind="stable")
    begins, replies = (column[order] for column in responses)
    waited = _spread(begins, replies, length, len(ends))
    # Stretches of outstanding requests, from a begin behind all earlier ends on.
    last = np.maximum.accumulate(replies)
    first = np.flatnonzero(np.concatenate([[True], begins[1:] > last[:-1]]))
    stretches = np.append(first[1:], len(begins)) - 1
    busy = _spread(begins[first], last[stretches], length, len(ends))
    depths = [
        float(total / time) if time else None for total, time in zip(waited, busy, strict=True)
    ]
    idles = [max(0, end - int(time)) / SECOND_NS for end, time in zip(ends, busy, strict=True)]
    return depths, idles


def _spread(begins: Ints, ends: Ints, length: int, count: int) -> Ints:
    """Return the time of spans in each step of a length."""
    found = np.zeros(count, dtype=np.int64)
    while begins.size:
        steps = begins // length
        keep = steps < count
        begins, ends, steps = begins[keep], ends[keep], steps[keep]
        edges = np.minimum(ends, (steps + 1) * length)
        np.add.at(found, steps, edges - begins)
        more = ends > edges
        begins, ends = edges[more], ends[more]
    return found


def _responses(
    groups: Sequence[list[str]], form: str | None, align: str, begin_ns: int
) -> tuple[Ints, Ints] | None:
    """Return when reads and writes arrived and ended; None for a trace without.

    Args:
        groups: Files, each a group of parts of one trace.
        form: Format of the trace; None for one whose lines are not its requests.
        align: Whether each group begins at 0 (`start`).
        begin_ns: First read or write, in nanoseconds from the first request of any kind: the zero
            of the times that are returned.
    """
    columns = RESPONSES.get(form or "")
    if columns is None:
        return None
    parts: list[tuple[Ints, Ints, npt.NDArray[np.bool_]]] = []
    zero = None
    for group in groups:
        begins, ends, waiting = array("q"), array("q"), array("b")
        for path in group:
            opened = _opened(path)
            if opened is None:
                return None
            with opened as lines:
                for begin, end, is_waiting in _spans(lines, columns):
                    # From the first on: ticks since 1601 are more than 64 bits of nanoseconds.
                    zero = begin if zero is None else zero
                    if abs(begin - zero) < 1 << 61 and end - begin < 1 << 61:
                        begins.append(begin - zero)
                        ends.append(end - zero)
                        waiting.append(is_waiting)
        if not begins:
            return None
        begun, ended = (np.frombuffer(column, np.int64) for column in (begins, ends))
        parts.append((begun, ended, np.frombuffer(waiting, np.bool_)))
    least = min(int(begins.min()) for begins, _, _ in parts)
    found: tuple[list[Ints], list[Ints]] = ([], [])
    for begun, ended, kept in parts:
        shift = (least if align == "clock" else int(begun.min())) + begin_ns
        # A line that the core has passed over may be earlier.
        here = kept & (begun >= shift)
        found[0].append(begun[here] - shift)
        found[1].append(ended[here] - shift)
    return np.concatenate(found[0]), np.concatenate(found[1])


def _spans(
    lines: Iterable[str], columns: tuple[int, int, int, int, int | None]
) -> Iterator[tuple[int, int, bool]]:
    """Yield arrival and end of each line, and whether it is a read or a write.

    One without them is skipped.
    """
    at, of_response, of_op, unit, unit_response = columns
    for line in lines:
        cells = line.split(",")
        try:
            op = cells[of_op].strip().lower()
            if op in NO_REQUESTS:
                continue
            begin = _ns(cells[at], unit)
            response = _ns(cells[of_response], unit_response or 1)
        except (IndexError, ValueError):
            continue
        end = begin + response if unit_response else response
        if begin <= end:
            yield begin, end, op in WAITING


def _ns(text: str, unit: int) -> int:
    """Return a number of units in nanoseconds, exact decimals too.

    >>> _ns("1.5", 10**9), _ns("128166385295514663", 100)
    (1500000000, 12816638529551466300)
    """
    whole, _, decimals = text.strip().partition(".")
    digits = decimals[:9]
    return int(whole) * unit + (int(digits) * unit // 10 ** len(digits) if digits else 0)


def _opened(path: str) -> IO[str] | None:
    """Open a text, compressed or not; None for a compression that Python lacks."""
    with Path(path).open("rb") as stream:
        head = stream.read(4)
    if head == b"\x28\xb5\x2f\xfd":
        return None
    opener = next((one for magic, one in OPENERS.items() if head.startswith(magic)), open)
    return opener(path, "rt", encoding="utf-8", errors="replace")
