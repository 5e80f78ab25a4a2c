"""Tables of `trace`."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opennandlab.cli._tables import Grid

if TYPE_CHECKING:
    from opennandlab.documents.capture import CaptureDocument

OPS = ("read", "write", "trim", "flush", "reset", "append")
# Volumes and processes that are listed.
ROWS_MAX = 10


def of(found: dict[str, Any]) -> Iterator[Grid]:
    """Yield the tables of `info`."""
    from opennandlab.base.words import number, size

    rows = [
        [name, number(one["count"]), number(one["bytes"]), *_sizes(one)]
        for name, one in zip(OPS, found["ops"], strict=True)
        if one["count"]
    ]
    yield Grid(["requests", "count", "bytes", "smallest", "mean", "largest"], rows)
    flags = dict(found["flags"])
    fua = flags.pop("fua")
    accesses = found["ops"][0]["count"] + found["ops"][1]["count"]
    page = size(found["page_bytes"])
    sampled = found["sampled_one_in"]
    figures = [
        ["writes with force unit access", number(fua)] if fua else [],
        *(
            [f"requests with the flag {flag}", number(count)]
            for flag, count in flags.items()
            if count
        ),
        ["span", _seconds(found["span_ns"])],
        ["mean gap", _seconds(found["gap_ns_mean"])],
        ["variation of gaps (deviation / mean)", _plain(found["gap_cv"])],
        ["sequential", f"{number(found['sequential'])} of {number(accesses)}"],
        ["sectors touched", number(found["footprint_sectors"])],
        [f"pages of {page} touched", number(found["footprint_pages"])],
        ["read", number(found["read_pages"])],
        ["written", number(found["written_pages"])],
        ["both", number(found["both_pages"])],
        ["page writes", number(found["page_writes"])],
        ["counted: pages, one in", number(sampled)] if sampled > 1 else [],
        ["requests of several files", number(found["duplicates"])] if found["duplicates"] else [],
    ]
    yield Grid(["", "value"], [row for row in figures if row])
    yield _distances(found)
    for head in ("volumes", "processes"):
        if len(found[head]) > 1 or (head == "processes" and found[head]):
            yield _named(head, found[head])


def _sizes(one: dict[str, Any]) -> list[str]:
    from opennandlab.base.words import number

    if not one["bytes"]:
        return ["-", "-", "-"]
    sizes = (one["size_bytes_min"], round(one["bytes"] / one["count"]), one["size_bytes_max"])
    return [number(value) for value in sizes]


def _seconds(ns: float | None) -> str:
    return "-" if ns is None else f"{ns * 1e-9:.6g} s"


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _distances(found: dict[str, Any]) -> Grid:
    """Return the histograms, a row for each power of two."""
    from opennandlab.base.words import number

    columns = [found[name]["bins"] for name in ("reuse", "overwrite_pages", "overwrite_us")]
    rows = [["first access", number(found["reuse_cold"]), "-", "-"]]
    for at in range(max(map(len, columns), default=0)):
        counts = [bins[at] if at < len(bins) else 0 for bins in columns]
        if any(counts):
            least = 0 if at == 0 else 1 << (at - 1)
            most = 0 if at == 0 else (1 << at) - 1
            label = number(least) if least == most else f"{number(least)} .. {number(most)}"
            rows.append([label, *map(number, counts)])
    return Grid(["distance", "reuse, pages", "overwrite, page writes", "overwrite, µs"], rows)


# Streams of a capture that are listed: a test runs the first nine.
STREAMS_MAX = 20


def of_capture(found: "CaptureDocument") -> Iterator[Grid]:
    """Yield the tables of `capture`."""
    from itertools import accumulate

    from opennandlab.base.words import number

    totals = list(accumulate(one.share for one in found.streams))
    rows = [
        [one.label, number(one.count), f"{100 * one.share:.2f} %", f"{100 * total:.2f} %"]
        for one, total in zip(found.streams[:STREAMS_MAX], totals, strict=False)
    ]
    yield Grid(["stream", "requests", "share", "together"], rows)
    sequential = sum(one.share for one in found.streams if one.order == "SEQ")
    reads = sum(one.share for one in found.streams if one.op == "R")
    steps = found.steps or []
    depths = [one.queue_depth for one in steps if one.queue_depth is not None]
    others = ", ".join(f"{number(count)} {kind}" for kind, count in found.others.items())
    figures = [
        ["requests", number(found.requests)],
        ["other requests", others or "none"],
        ["span", f"{found.span_s:.6g} s"],
        ["streams", number(len(found.streams))],
        *(
            [f"streams that make {part} %", number(_needed(totals, part / 100))]
            for part in (80, 90)
        ),
        ["reads", f"{100 * reads:.1f} %"],
        ["sequential", f"{100 * sequential:.1f} %"],
        ["steps", f"{len(steps)} of {found.step_s:.6g} s" if steps else f"none: {found.no_steps}"],
        ["queue depth of steps", f"{min(depths):.2f} to {max(depths):.2f}" if depths else "-"],
    ]
    yield Grid(["", "value"], figures)


def _needed(totals: list[float], share: float) -> int:
    """Return the number of the most frequent streams that have a share together."""
    return sum(one < share - 1e-12 for one in totals) + 1


def _named(head: str, listed: list[tuple[str, list[dict[str, Any]]]]) -> Grid:
    """Return the busiest volumes or processes."""
    from opennandlab.base.words import number

    order = sorted(listed, key=lambda one: -sum(counts["count"] for counts in one[1]))
    used = {at for _, ops in listed for at, counts in enumerate(ops) if counts["count"]}
    shown = sorted({0, 1, 2, 3} | used)
    rows = [
        [name or "(none)", *(number(ops[at]["count"]) for at in shown), _total(ops)]
        for name, ops in order[:ROWS_MAX]
    ]
    if order[ROWS_MAX:]:
        rest = [
            {key: sum(ops[at][key] for _, ops in order[ROWS_MAX:]) for key in ("count", "bytes")}
            for at in range(len(OPS))
        ]
        counts = [number(rest[at]["count"]) for at in shown]
        rows.append([f"{len(order) - ROWS_MAX} more", *counts, _total(rest)])
    heads = ("reads", "writes", "trims", "flushes", "resets", "appends")
    return Grid([head, *(heads[at] for at in shown), "bytes"], rows)


def _total(ops: list[dict[str, Any]]) -> str:
    from opennandlab.base.words import number

    return number(sum(counts["bytes"] for counts in ops))


def of_conversion(document: dict[str, Any]) -> Iterator[Grid]:
    """Yield the tables of `convert`."""
    from opennandlab.base.words import number

    lost = {
        "trims": "trims left out",
        "flushes": "flushes left out",
        "resets": "resets of zones left out",
        "appends": "appends to zones left out",
        "fua": "writes that lost their force unit access",
        "flags": "requests that lost the flags sync, meta or ahead",
        "times": "times rounded down",
        "processes": "requests with another process or none",
        "volumes": "volumes with another name",
    }
    pages = document["pages"]
    rows = [[one["file"], number(one["written"])] for one in document["files"]]
    for key, label in lost.items():
        count = sum(one[key] for one in document["files"])
        rows += [[label, number(count)]] if count else []
    rows += [
        ["pages touched before", number(pages["before"])],
        ["pages touched after", number(pages["after"])],
        ["merged", number(pages["merged"])],
    ]
    if document["duplicates"]:
        said = "dropped" if document["dropped"] else "kept"
        rows.append([f"requests of several files, {said}", number(document["duplicates"])])
    yield Grid(["written", "requests"], rows)


def read_as(name: str, summary: str) -> str:
    """Report the format and the content of a trace."""
    from opennandlab.base.words import number, size
    from opennandlab.reports.words import span

    found = json.loads(summary)
    kinds = ("read", "write", "trim", "flush", "volume")
    counts = {kind: found.get(f"{kind}_count", 0) for kind in kinds}
    *requests, volumes = (
        f"{number(count)} {kind}{'' if count == 1 else 'es' if kind == 'flush' else 's'}"
        if count
        else ""
        for kind, count in counts.items()
    )
    if found.get("fua_count"):
        requests[1] += f" ({number(found['fua_count'])} with force unit access)"
    parts = (*requests, size(found["bytes"]), volumes, span(found["span_s"]))
    return f"{name}: read as {found['format']}: {', '.join(filter(None, parts))}"
