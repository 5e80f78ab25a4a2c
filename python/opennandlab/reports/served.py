"""The report of a served drive: what clients asked for, how long it took, what the flash did."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.base.words import number, size
from opennandlab.documents.record import plain
from opennandlab.documents.served import ServedDocument
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Headline, Report, Section, Table
from opennandlab.reports.plot import PERCENTILES
from opennandlab.reports.words import span

TIMES = {
    "latency_us": "latency of the model",
    "response_us": "response, arrival to reply",
    "lateness_us": "reply behind the model",
}


def report(document: ServedDocument) -> Report:
    """Return the report of a document."""
    drive, run, checks = document.drive, document.run, document.checks
    figure = [Section(one.id, one.title, (one,)) for one in percentiles(document)]
    made = [Section(one.id, one.title, (one,)) for one in tables(document)]
    chapter = Chapter(
        id="served",
        title="A served drive",
        verdict=Badge.of_outcome(passed=document.passed),
        reason=checks.contradiction or "",
        headlines=(
            Headline("written by clients", size(drive.written_bytes)),
            Headline("read by clients", size(drive.read_bytes)),
            Headline("write amplification (WAF)", number(drive.waf)),
            Headline("requests that failed", number(document.errors)),
        ),
        warnings=("the drive took no more writes: it is worn out",) if drive.is_worn_out else (),
        sections=(*figure, *made),
        test="served",
    )
    lead = (
        f"served for {span(run.wall_ns * 1e-9)} with timing {document.timing}, "
        f"connections: {run.accepted}, seed {document.seed}"
    )
    foot = f"digest {document.digest}"
    return Report(chapter.title, lead, (chapter,), foot=foot, kind="served drive")


def percentiles(document: ServedDocument) -> Iterator[Plot]:
    """Yield the times of requests over percentiles, if enough were answered."""
    run, lines = plain(document.run), []
    for key, name in TIMES.items():
        points = [(x, run[key][at]) for at, x, _ in PERCENTILES if run[key].get(at)]
        if len(points) > 1:
            lines.append(Series(name, [x for x, _ in points], [y for _, y in points]))
    if lines:
        ticks = tuple((x, text) for _, x, text in PERCENTILES[:4])
        note = "A percentile is shown only where ten or more samples lie beyond it."
        x, y = Axis("percentile", "log", ticks), Axis("time, µs", "log")
        yield Plot("times", "Times of requests by percentile", x, y, tuple(lines), note)


def tables(document: ServedDocument) -> Iterator[Table]:
    """Yield requests by kind, their times, counters of the drive, losses of power and checks."""
    counts, sizes = plain(document.requests), plain(document.bytes)
    rows = [(_words(kind), count, sizes.get(kind)) for kind, count in counts.items() if count]
    yield Table("requests", "Requests", ("kind", "requests", "bytes"), tuple(rows))
    run = plain(document.run)
    spans = tuple((name, *run[key].values()) for key, name in TIMES.items())
    heads = ("time, µs", "count", "mean", "p50", "p99", "p99.9", "max")
    yield Table("times-table", "Times of requests", heads, spans)
    for name, title, record in (
        ("drive", "Drive", document.drive),
        ("power", "Losses of power", document.power),
        ("checks", "Checks at the end", document.checks),
    ):
        if record is not None:
            cells: list[tuple[Cell, ...]] = [
                (_words(key), _cell(value)) for key, value in plain(record).items()
                if value is not None and not isinstance(value, (dict, list))
            ]  # fmt: skip
            yield Table(name, title, ("figure", "value"), tuple(cells))


def _words(key: str) -> str:
    words = key.replace("_us_max", ", µs, max").split("_")
    return " ".join(one.upper() if one in {"fua", "waf"} else one for one in words)


def _cell(value: object) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, (int, float, str)) else str(value)
