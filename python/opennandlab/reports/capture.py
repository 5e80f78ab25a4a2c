"""The report of a capture: the streams of a trace, and its load over time."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.base.words import number, size
from opennandlab.documents.capture import CaptureDocument
from opennandlab.reports.figure.model import Axis, Number, Plot, Series
from opennandlab.reports.model import Chapter, Headline, Report, Section, Table
from opennandlab.reports.words import span

# Streams that have a row; the others share one.
STREAMS_MAX = 40


def report(document: CaptureDocument) -> Report:
    """Return the report of a document."""
    reads = sum(one.count for one in document.streams if one.op == "R")
    sections = [Section(one.id, one.title, (one,)) for one in plots(document)]
    sections.append(Section("streams", "Streams", (streams(document),)))
    why = (document.no_steps,) if document.no_steps else ()
    chapter = Chapter(
        id="capture",
        title=f"Capture of {document.name}",
        headlines=(
            Headline("requests", number(document.requests)),
            Headline("reads among them", f"{100 * reads / document.requests:.1f}", "%"),
            Headline("data", size(document.bytes)),
            Headline("from first to last arrival", span(document.span_s)),
        ),
        warnings=(*why, *document.warnings),
        sections=tuple(sections),
        test="capture",
    )
    others = [f"{number(count)} {kind}" for kind, count in document.others.items() if count]
    left = f"; in no stream: {', '.join(others)}" if others else ""
    lead = (
        f"{_counted(len(document.files), 'file')} of format {document.format}, "
        f"{_counted(document.volumes, 'volume')}, "
        f"{_counted(len(document.streams), 'stream')}{left}"
    )
    return Report(chapter.title, lead, (chapter,), foot=f"digest {document.digest}",
                  kind="capture of a trace")  # fmt: skip


def plots(document: CaptureDocument) -> Iterator[Plot]:
    """Yield throughput and outstanding requests by steps of time, as far as they are known."""
    if document.steps is None or document.step_s is None:
        return
    times = Axis("time since the first arrival, s")
    # A value holds for its whole step; the last step ends with the trace.
    edges: list[Number] = [at * document.step_s for at in range(len(document.steps))]
    edges.append(max(document.span_s, edges[-1] or 0.0))
    for name, title, axis, values in (
        ("throughput", "Throughput", "throughput, MB/s", [one.mb_s for one in document.steps]),
        ("queue-depth", "Queue depth", "requests outstanding, mean",
         [one.queue_depth for one in document.steps]),
    ):  # fmt: skip
        if any(value is not None for value in values):
            line = Series(title, edges, [*values, values[-1]], "steps")
            note = f"Steps of {number(document.step_s)} s."
            if name == "queue-depth":
                note += " The mean leaves out the time without any; a step between such is a point."
            yield Plot(name, title, times, Axis(axis, zero=True), (line,), note)


def streams(document: CaptureDocument) -> Table:
    """Return the streams, the most frequent first."""
    shown, rest = document.streams[:STREAMS_MAX], document.streams[STREAMS_MAX:]
    rows = [(one.label, one.count, f"{100 * one.share:.2f}") for one in shown]
    if rest:
        left = (sum(one.count for one in rest), f"{100 * sum(one.share for one in rest):.2f}")
        rows.append((f"{len(rest)} others", *left))
    note = (
        f"Requests that start where one of the last {document.window} of the same volume and "
        "operation ended are sequential (SEQ), all others random (RND)."
    )
    return Table("streams", "Streams", ("stream", "requests", "share, %"), tuple(rows), note)


def _counted(count: int, noun: str) -> str:
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"
