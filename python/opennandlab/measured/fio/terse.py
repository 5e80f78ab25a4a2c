"""Terse output of fio, versions 3 and 5, as the documents that its JSON would be.

```text
3;fio-3.33;job;group;error; reads ×41; writes ×41;             processor ×5; depths ×7; …
5;fio-3.33;job;group;error; reads ×47; writes ×47; trims ×47;  processor ×5; depths ×7; …
```
With `unified_rw_reporting` one direction is that of all requests, or one more follows. Times are in
µs, percentiles of `clat` (with `lat_percentiles` of `lat`, which terse does not show); requests are
not counted, options are missing.

Source: HOWTO of fio, "Terse output"; `show_ddir_status_terse` of `stat.c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

LINE = re.compile(r"^(\d+);(fio-[^;\n]*);", re.MULTILINE)
PERCENTILE = re.compile(r"(\d+(?:\.\d+)?)%=(\d+)")
PERCENT = re.compile(r"\d+(?:\.\d+)?%")
# Version -> fields of a direction, and directions.
FORMS = {"3": (41, ("read", "write")), "5": (47, ("read", "write", "trim"))}
SIDES = ("read", "write", "trim", "mixed")
TWICE = (
    "the same job again: terse does not tell another process, another run and a later status of it "
    "apart; accepted: a line for each job, or JSON"
)
HEAD, PERCENTILES_AT, PERCENTILES, CPU = 5, 12, 20, 5
LEVELS = ("1", "2", "4", "8", "16", "32", ">=64")
# Totals on the way, of which the last counts, are of ever longer times: by this much at least once.
STATUS_RATIO = 0.9


class TerseError(ValueError):
    """A line that cannot be read."""


def documents(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the documents of a text, and its other lines; none without a terse line.

    Raises:
        TerseError: for another version, or a line that breaks off, with its number.
    """
    found: dict[str, dict[tuple[str, int], list[dict[str, Any]]]] = {}
    other: list[str] = []
    if not LINE.search(text):
        return [], other
    for number, line in enumerate(text.splitlines(), 1):
        if LINE.match(line) is None:
            other += [line.strip()] if line.strip() else []
            continue
        try:
            job, version = _job(line.split(";"))
        except ValueError as error:
            raise TerseError(f"line {number}: {error}") from None
        before = found.setdefault(version, {}).setdefault((job["jobname"], job["groupid"]), [])
        if before and _runtime(before[-1]) >= _runtime(job):
            raise TerseError(f"line {number}: {TWICE}")
        before.append(job)
    for jobs in (jobs for document in found.values() for jobs in document.values()):
        times = [_runtime(job) for job in jobs]
        if len(times) > 1 and not any(a < STATUS_RATIO * b for a, b in pairwise(times)):
            raise TerseError(f"{len(times)} lines of job {jobs[0]['jobname'][:60]!r}: {TWICE}")
    return [
        {"fio version": version, "jobs": [each[-1] for each in jobs.values()]}
        for version, jobs in found.items()
    ], other


def _runtime(job: dict[str, Any]) -> int:
    return max(int(job[name]["runtime"]) for name in SIDES if name in job)


def _job(fields: Sequence[str]) -> tuple[dict[str, Any], str]:
    if fields[0] not in FORMS:
        raise ValueError(f"terse version {fields[0][:20]}; accepted: {', '.join(FORMS)}, or JSON")
    width, names = FORMS[fields[0]]
    sides = list(_sides(fields, width))
    if len(sides) == 1:
        names = ("mixed",)
    elif len(sides) == len(names) + 1:
        names = (*names, "mixed")
    if len(sides) != len(names):
        raise ValueError(
            f"field {HEAD + 1 + len(sides) * width + PERCENTILES_AT} is not a percentile; "
            f"accepted: whole lines, with {len(names)} directions of {width} fields"
        )
    rest = fields[HEAD + len(sides) * width + CPU :]
    levels = rest[: len(LEVELS)]
    if len(levels) < len(LEVELS) or not all(map(PERCENT.fullmatch, levels)):
        raise ValueError("breaks off before the depths of its queue; accepted: whole lines")
    job: dict[str, Any] = {
        "jobname": fields[2],
        "groupid": _whole(fields, 3),
        "error": _whole(fields, 4),
        "iodepth_level": {
            level: float(share[:-1]) for level, share in zip(LEVELS, levels, strict=True)
        },
    }
    return job | dict(zip(names, sides, strict=True)), fields[1]


def _sides(fields: Sequence[str], width: int) -> Iterator[dict[str, Any]]:
    at = HEAD
    while True:
        listed = fields[at + PERCENTILES_AT : at + PERCENTILES_AT + PERCENTILES]
        pairs = [PERCENTILE.fullmatch(one) for one in listed]
        if len(fields) < at + width or len(pairs) < PERCENTILES or not all(pairs):
            return
        after = at + PERCENTILES_AT + PERCENTILES
        clat = _times(fields, at + 8)
        clat["percentile"] = {one[1]: int(one[2]) for one in pairs if one and one[1] != "0"}
        yield {
            # With this name too these are bytes.
            "io_bytes": _whole(fields, at) * 1024,
            "io_kbytes": _whole(fields, at),
            "bw": _whole(fields, at + 1),
            "iops": _whole(fields, at + 2),
            "runtime": _whole(fields, at + 3),
            "clat": clat,
            "lat": _times(fields, after),
        }
        at += width


def _times(fields: Sequence[str], at: int) -> dict[str, Any]:
    most, mean = _whole(fields, at + 1), _number(fields, at + 2)
    # The longest is cut to whole µs, the mean is not.
    return {"max": max(most, mean), "mean": mean}


def _whole(fields: Sequence[str], at: int) -> int:
    if not fields[at].isdecimal() or len(fields[at]) > 20:
        raise ValueError(f"field {at + 1}: `{fields[at][:20]}` is not a whole number")
    return int(fields[at])


def _number(fields: Sequence[str], at: int) -> float:
    if not re.fullmatch(r"\d{1,20}(\.\d{1,20})?", fields[at]):
        raise ValueError(f"field {at + 1}: `{fields[at][:20]}` is not a number")
    return float(fields[at])
