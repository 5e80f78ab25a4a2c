"""The document `opennandlab.capture/1`: the IO streams of a trace, by steps of time.

A capture has the counts of a trace and none of its addresses. It is the input of the Real World
Storage Workload test (SNIA Technical Position, 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta

from opennandlab.base.errors import DocumentError
from opennandlab.documents.record import Record, Row

SCHEMA: Final = "opennandlab.capture/1"
# Of the sum of all shares against 1.
SHARE_TOLERANCE = 1e-9
# The largest request of a host: what a SCSI command of 32 bits of sectors could name is more.
SIZE_MAX = 1 << 30
SECTOR = 512

Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Measure = Annotated[float, Meta(ge=0, le=1e15)]


class CaptureStream(Record, frozen=True, kw_only=True):
    """Requests of one kind.

    Args:
        order: `SEQ` for requests that start where one of the last 32 of the same volume and
            operation ended, `RND` for all others.
        size_bytes: Bytes of each, whole sectors of 512 bytes.
        op: `R` for reads, `W` for writes.
        count: Requests.
        share: Their part of all requests.
    """

    order: Literal["SEQ", "RND"]
    size_bytes: Annotated[int, Meta(ge=SECTOR, le=SIZE_MAX, multiple_of=SECTOR)]
    op: Literal["R", "W"]
    count: Count
    share: Annotated[float, Meta(ge=0, le=1)]

    @property
    def label(self) -> str:
        """The stream in words, such as `SEQ 64 KiB R`."""
        return f"{self.order} {self.size_bytes / 1024:g} KiB {self.op}"


class CaptureCount(Row, frozen=True):
    """Requests of a stream in a step.

    Args:
        stream: Its place in `streams`.
        count: Requests.
    """

    stream: Count
    count: Count


class CaptureStep(Record, frozen=True, kw_only=True):
    """A step of time.

    Args:
        counts: Requests that arrived in it, by stream; streams without any are left out.
        mb_s: 10^6 bytes a second of these requests.
        queue_depth: Mean number of outstanding requests while there were any; `null` where the
            trace has no response times, or none was outstanding.
        idle_s: Seconds without outstanding requests; `null` where the trace has no response times.
    """

    counts: list[CaptureCount]
    mb_s: Measure
    queue_depth: Measure | None
    idle_s: Measure | None


class CaptureFile(Record, frozen=True, kw_only=True):
    """A trace file.

    Args:
        file: Its name, without folders.
        sha256: SHA-256 of its bytes as they are stored, in hex.
    """

    file: str
    sha256: str


class CaptureDocument(Record, frozen=True, kw_only=True):
    """The IO streams of a trace.

    Args:
        schema: Kind and version of the document.
        name: Name of the first file.
        files: Those that were read.
        format: Format of the trace.
        volumes: Number of its volumes.
        span_s: From the first to the last arrival, seconds.
        requests: Reads and writes.
        bytes: Their bytes.
        others: Other requests by kind, such as `trim` and `flush`, which are in no stream.
        window: Requests of the same volume and operation at whose end a sequential one may start.
        streams: All streams, the most frequent first.
        step_s: Length of a step, seconds; the last one may be shorter. `null` without steps.
        steps: The steps, from the first arrival on; `null` where the times allow none.
        no_steps: Why there are none.
        warnings: Those of the reader of the trace.
        digest: SHA-256 over all but itself.
    """

    schema: Literal["opennandlab.capture/1"]
    name: str
    files: list[CaptureFile]
    format: str
    volumes: Count
    span_s: Measure
    requests: Count
    bytes: Count
    others: dict[str, Count]
    window: Count
    streams: list[CaptureStream]
    step_s: Measure | None
    steps: list[CaptureStep] | None
    no_steps: str | None = None
    warnings: list[str]
    digest: str


def check(capture: CaptureDocument) -> None:
    """Refuse a capture whose numbers contradict each other.

    Raises:
        DocumentError: with the key, its value and the accepted ones.
    """
    if not capture.streams:
        raise DocumentError("streams", "none; accepted: one stream or more")
    shares = math.fsum(one.share for one in capture.streams)
    if abs(shares - 1) > SHARE_TOLERANCE:
        raise DocumentError("streams", f"shares sum to {shares!r}; accepted: 1 within 1e-9")
    counted = sum(one.count for one in capture.streams)
    if counted != capture.requests:
        message = f"{capture.requests}; accepted: the sum of all counts, {counted}"
        raise DocumentError("requests", message)
    seen: set[str] = set()
    for at, one in enumerate(capture.streams):
        key = f"{one.order} {one.size_bytes} {one.op}"
        if key in seen:
            raise DocumentError(f"streams[{at}]", f"{one.label} again; accepted: each stream once")
        seen.add(key)
        _check_count(capture, at)
    if capture.steps is not None:
        _check_steps(capture, capture.steps)


def _check_count(capture: CaptureDocument, at: int) -> None:
    """Refuse a share that is not that of the count, and a stream before a less frequent one."""
    one = capture.streams[at]
    share = one.count / capture.requests if capture.requests else math.nan
    if not abs(one.share - share) <= SHARE_TOLERANCE:
        raise DocumentError(
            f"streams[{at}].share",
            f"{one.share!r}; accepted: {one.count} of {capture.requests} requests, {share!r}",
        )
    if at and one.count > capture.streams[at - 1].count:
        message = f"{one.count} after {capture.streams[at - 1].count}"
        raise DocumentError(f"streams[{at}].count", f"{message}; accepted: most frequent first")


def _check_steps(capture: CaptureDocument, steps: Sequence[CaptureStep]) -> None:
    if not capture.step_s:
        raise DocumentError("step_s", f"{capture.step_s}; accepted with steps: more than 0 s")
    left = [one.count for one in capture.streams]
    for at, step in enumerate(steps):
        for place, one in enumerate(step.counts):
            if one.stream >= len(left):
                message = f"{one.stream}; accepted: 0 to {len(left) - 1}"
                raise DocumentError(f"steps[{at}].counts[{place}][0]", message)
            left[one.stream] -= one.count
        if step.idle_s is not None and step.idle_s > capture.step_s * (1 + 1e-9):
            message = f"{step.idle_s}; accepted: at most the step, {capture.step_s} s"
            raise DocumentError(f"steps[{at}].idle_s", message)
    for at, rest in enumerate(left):
        if rest:
            message = f"counts of its steps differ from {capture.streams[at].count} by {rest}"
            raise DocumentError(f"streams[{at}].count", f"{message}; accepted: their sum")
