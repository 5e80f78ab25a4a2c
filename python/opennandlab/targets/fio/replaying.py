"""A recorded trace on a real target, by fio: an iolog of version 3, at its times or without pauses.

fio counts the response times of reads and writes; flushes are done, and not measured. fio 3.33
leaves trims out of a log, so they are counted here. Between requests at their times it sleeps and
takes no completions, so only one request is outstanding then: one that arrives meanwhile is late,
and that is not in its response time. Without pauses, many are. At the end of a log fio leaves
without waiting for them; a pause behind the last one makes it wait (see `streams`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.targets.base import TargetError
from opennandlab.targets.fio import job, parse
from opennandlab.targets.fio.runner import Terms
from opennandlab.targets.fio.target import FioTarget

# Fields of a line with a request: time, file, action, offset, bytes.
REQUEST_FIELDS = 5


@dataclass(frozen=True)
class Log:
    """An iolog of version 3 with one volume.

    Args:
        path: Of the file.
        queue_depth: Requests outstanding, without their times; None for one at its time.
    """

    path: Path
    queue_depth: int | None = None


def play(target: FioTarget, log: Log) -> tuple[parse.Totals, int]:
    """Replay a log on a target that passed the gate; return what fio counted, and trims left out.

    Raises:
        ConfigError: for a request that the target cannot take; nothing was written.
        TargetError: when fio fails, or the target is gone.
    """
    place = target.place()
    files = target.files("replay")
    name = f"{files.job.stem}.iolog"
    with log.path.open(encoding="utf-8") as source:
        lines = list(_renamed(source, place))
    trims = sum(line.split()[2:3] == ["trim"] for line in lines)
    count = sum(line.split()[2:3] in (["read"], ["write"]) for line in lines)
    if not count:
        raise ConfigError("trace", "no read or write in it; accepted: a trace with one")
    (files.job.parent / name).write_text("".join(lines), encoding="utf-8")
    target.write_job(files, job_text(place, log, name, count))
    totals = target.fio_totals(files, Terms(), lambda _seconds, _moved: None)[-1]
    if totals.error:
        raise TargetError(f"{target.name}: fio ended with error {totals.error}: {files.messages}")
    if totals.ios != count:
        raise TargetError(f"{target.name}: fio measured {totals.ios} of {count} reads and writes")
    return totals, trims


def job_text(place: job.Place, log: Log, name: str, count: int) -> str:
    """Write the job file.

    Args:
        place: What fio opens.
        log: The requests.
        name: Name of its file, in the folder of the job file.
        count: Reads and writes in it.
    """
    depth = log.queue_depth or 1
    lines: list[tuple[str, str | int]] = [("ioengine", place.engine_for(depth)), *place.options]
    lines += [("direct", 1), ("allow_file_create", 0), ("overwrite", 1), ("fallocate", "none")]
    lines += [("read_iolog", name), ("size", place.capacity_bytes), ("iodepth", depth)]
    lines += [("replay_no_stall", int(log.queue_depth is not None)), ("lat_percentiles", 1)]
    if depth > 1:
        lines += [("thinktime", 1), ("thinktime_blocks", count), ("thinktime_blocks_type", "issue")]
    return "[replay]\n" + "".join(f"{key}={value}\n" for key, value in lines)


def _renamed(lines: Iterable[str], place: job.Place) -> Iterable[str]:
    """Yield the lines with the name that fio opens; a request beyond the target is refused."""
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if number == 1:
            yield line
            continue
        fields[1] = place.file
        if len(fields) == REQUEST_FIELDS:
            offset, size = int(fields[3]), int(fields[4])
            if offset + size > place.capacity_bytes:
                raise ConfigError(
                    "target",
                    f"a request ends at byte {offset + size}, the target has "
                    f"{place.capacity_bytes}; accepted: what `trace convert --addresses` moves",
                )
            if (offset | size) % place.sector_bytes:
                raise ConfigError(
                    "target",
                    f"a request of {size} bytes at {offset} is not of whole sectors of "
                    f"{place.sector_bytes} bytes; accepted: a trace that is",
                )
        yield " ".join(fields) + "\n"
