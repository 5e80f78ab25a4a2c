"""Options with which a cell is not a plain one: its rate and times are not of drive and load alone.

Options that only choose how requests reach the drive (engine, polling, batches of completions) are
part of any test. Which data are written, and on how many files, is not looked at.

Source: HOWTO of fio; names and defaults by `options.c` of fio 3.39, and of its engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ZERO = frozenset({"0"})
# Stands for the value of `iodepth`.
DEPTH = "iodepth"


@dataclass(frozen=True)
class Option:
    """An option that may change what a job measures.

    Args:
        reason: What it does then.
        plain: Values that change nothing.
        of: The jobs in which it matters: `random`, `write`, `queue` (deeper than 1), or all.
    """

    reason: str
    plain: frozenset[str] = ZERO
    of: str = ""


RATE = "the rate is the one that was asked for"
PAUSE = "the rate has pauses between requests"
FLUSH = "flushes between the writes take time of the cell"
DURABLE = "each write lasts until it is on the medium"
BATCH = "requests begin or end in batches"
ZONES = "requests go through zones"
OPTIONS: dict[str, Option] = {
    "rate": Option(RATE),
    "rate_iops": Option(RATE),
    "thinktime": Option(PAUSE),
    "thinkcycles": Option(PAUSE),
    "flow": Option("other jobs hold its rate back"),
    "latency_target": Option("fio sets the depth by it"),
    "iodepth_low": Option("the queue is not kept full", frozenset({"0", DEPTH}), "queue"),
    "iodepth_batch": Option(BATCH, frozenset({"1"}), "queue"),
    "iodepth_batch_complete_min": Option(BATCH, frozenset({"0", "1"}), "queue"),
    "percentage_random": Option("the others are sequential", frozenset({"100"}), "random"),
    "random_distribution": Option("some places come more often", frozenset({"random"}), "random"),
    "zonemode": Option(ZONES, frozenset({"none"})),
    "zonesize": Option(ZONES),
    "read_iolog": Option("requests are those of a log, not of rw and bs", frozenset()),
    "verify": Option("data are checked, and read for it"),
    "sync": Option(DURABLE, frozenset({"0", "none"}), "write"),
    "writefua": Option(DURABLE, ZERO, "write"),
    "readfua": Option("reads pass the cache of the drive"),
    "fsync": Option(FLUSH, ZERO, "write"),
    "fdatasync": Option(FLUSH, ZERO, "write"),
    "sync_file_range": Option(FLUSH, frozenset(), "write"),
    "write_mode": Option("these are other commands than writes", frozenset({"write"}), "write"),
    "sg_write_mode": Option("these are other commands than writes", frozenset({"write"}), "write"),
}
# Engines that read and write no drive, or always by the page cache.
NO_DRIVE = "its requests are none of a drive"
ENGINES = dict.fromkeys(
    ("null", "cpuio", "net", "netsplice", "exec", "ftruncate", "falloc", "e4defrag", "filecreate",
     "fileopen", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"), NO_DRIVE,
) | dict.fromkeys(("mmap", "splice"), "the page cache of the host takes part")  # fmt: skip


def changes(options: Mapping[str, str], rw: str, kinds: set[str], depth: int) -> Iterator[str]:
    """Yield which options of a job change what it measures, and how.

    Args:
        options: Of the job.
        rw: As it was written.
        kinds: What the job is: `random`, `write`, neither, or both.
        depth: Its `iodepth`.
    """
    of = {"", *kinds, *(["queue"] if depth > 1 else [])}
    for name, option in OPTIONS.items():
        if name in options and option.of in of:
            # Of reads, writes and trims; what is empty is not given.
            parts = [part for part in options[name].split(",") if part] or [""]
            plain = {str(depth) if value == DEPTH else value for value in option.plain}
            if not plain.issuperset(parts):
                yield f"{name} is {options[name]}: {option.reason}"
    engine = options.get("ioengine", "")
    if engine in ENGINES:
        yield f"ioengine is {engine}: {ENGINES[engine]}"
    modifier = rw.partition(":")[2]
    if "random" in kinds and modifier not in {"", "0", "1"}:
        yield f"rw is {rw}: one of {modifier} requests is at a new place, the others follow it"
    elif "random" not in kinds and modifier not in {"", "0"}:
        yield f"rw is {rw}: requests leave gaps"
