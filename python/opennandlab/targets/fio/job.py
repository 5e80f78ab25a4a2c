"""A stimulus in the words of fio: one job file per leg.

fio ends at the *first* limit that is reached and wraps a stream at the end of what it was given; a
test wants *all* limits reached and a stream that goes on where the last one ended. So a stimulus
runs as a few legs, one process of fio each:

    seconds first --> then requests that still miss --> then bytes that still miss
    a stream that begins inside its slice: to the slice's end first, then from its start

What fio cannot express is approximated and named in `deviations`, never silently: shares are whole
percents, and an amount of bytes is in at most 100 segments at equal distances (the table of
`random_distribution=zoned_abs` holds 256 rows and whole percents).

Always direct I/O, a 64-bit random source without a map of what was visited (each request is drawn
for its own), and new data for every write. Random data are drawn once for each request that can be
outstanding, and fio changes a few bytes in each 512 of them before a write: no 4 KiB repeat, and
they compress by 9 % (at most 12 %); more bytes together by more, the fewer can be outstanding. To
draw all of them anew would take the host 0.2 to 0.3 ns a byte, in which the queue is not full: 5 to
10 % at queue depth 1, and no more than 5 GB/s a thread. Data that compress are drawn again, since
fio repeats them otherwise; so are those of mixes where the range was not written before: fio writes
from the buffers that it has read into.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from opennandlab.targets.base import Limit, Stimulus, TargetError
from opennandlab.targets.fio import streams

# Values that fio reads as they stand: no comment, variable, separator or space.
PLAIN = {"filename": r"[A-Za-z0-9._-]+", "uri": r"[A-Za-z0-9._~/%?=+\[\]:-]+"}
# Requests of a mix of sizes start at multiples of it, as fio's example of JESD219 has it.
MIX_ALIGN_BYTES = 4096
# Assumed: a file system's data shrinks to half, as compressing drives of 2013 advertised.
FILE_COMPRESS_PCT = 50
# More than any leg moves: the size of a leg that ends by time or by requests.
ENDLESS_BYTES = 1 << 50
# A leg that ends this much before its time is over: fio counts milliseconds per thread.
TIME_SLACK_S = 0.01


@dataclass(frozen=True)
class Place:
    """What fio opens.

    Args:
        engine: fio's `ioengine`.
        options: Further lines, such as `("filename", LINK)` or `("uri", URI)`; their values hold
            no mark that has a meaning in a job file.
        capacity_bytes: Bytes that may be addressed.
        sector_bytes: Smallest request.
        clock: fio's `clocksource`, as fio chose it itself; None to let it choose, which takes it
            0.2 s in each process.
        exact_engine: Engine for queue depths that `engine` rounds up; None where there is none.
        is_written: Whether the range of a stimulus holds data that do not compress.
    """

    engine: str
    options: tuple[tuple[str, str], ...]
    capacity_bytes: int
    sector_bytes: int
    clock: str | None = None
    exact_engine: str | None = None
    is_written: bool = False

    def rounds_up(self, queue_depth: int) -> bool:
        """Return whether `engine` keeps more requests outstanding than it is asked for.

        fio rounds the depth of its engine `io_uring` up to a power of two, as the kernel does the
        size of a ring (fio 3.33, engines/io_uring.c): of a depth of 6 it makes 8.
        """
        return self.engine == "io_uring" and queue_depth & (queue_depth - 1) != 0

    def engine_for(self, queue_depth: int) -> str:
        """Return the engine that keeps so many requests outstanding."""
        if self.exact_engine is not None and self.rounds_up(queue_depth):
            return self.exact_engine
        return self.engine

    @property
    def file(self) -> str:
        """Name of the file in the lines of a log; an export has no file, so any will do."""
        return dict(self.options).get("filename", "export")

    def __post_init__(self) -> None:
        """Hold what `names` promises."""
        for key, value in self.options:
            if not re.fullmatch(PLAIN[key], value):
                raise TargetError(f"{value!r} cannot be written as `{key}` of a job file")


@dataclass(frozen=True)
class Leg:
    """What one process of fio does of a stimulus.

    Args:
        seconds: Its length without the ramp; the most it may take where `ios` or `bytes` end it.
            None for no limit in time.
        ramp_s: Time at its start that is not measured.
        ios: Requests of all threads after which it ends; 0 for none.
        bytes: Bytes of all threads after which it ends; 0 for none.
        start_bytes: Where each thread's stream begins within its slice.
        is_ramp: Whether nothing of it is measured.
    """

    seconds: float | None = None
    ramp_s: float = 0.0
    ios: int = 0
    bytes: int = 0
    start_bytes: int = 0
    is_ramp: bool = False


@dataclass
class Done:
    """What the legs until now have moved, ramps included.

    Args:
        legs: How many there were.
        seconds: Their time.
        ios: Their requests.
        bytes: Their bytes.
        start_bytes: Where each thread's stream continues.
    """

    legs: int = 0
    seconds: float = 0.0
    ios: int = 0
    bytes: int = 0
    start_bytes: int = 0


@dataclass(frozen=True)
class Layout:
    """Where a stimulus goes, in bytes.

    Args:
        range_bytes: Part of the target in use, from its start, in whole requests.
        slice_bytes: Part of it that each sequential thread has for its own.
        segment_bytes: Length of a segment; 0 for one range without gaps.
        stride_bytes: From the start of one segment to the next.
        segments: How many.
    """

    range_bytes: int
    slice_bytes: int
    segment_bytes: int = 0
    stride_bytes: int = 0
    segments: int = 0


def sizes_of(stimulus: Stimulus) -> list[tuple[int, float]]:
    """Return the sizes of requests with their weights."""
    blocks = stimulus.block_bytes
    return [(blocks, 1.0)] if isinstance(blocks, int) else [(int(b), float(w)) for b, w in blocks]


def is_mix(stimulus: Stimulus) -> bool:
    """Return whether some requests read and others write, as fio rounds shares."""
    return 0 < round(stimulus.read_pct) < 100


def layout(place: Place, stimulus: Stimulus) -> Layout:
    """Divide a target among threads and segments.

    Raises:
        TargetError: for requests that the target cannot take, and for a range without room.
    """
    sizes = [size for size, _ in sizes_of(stimulus)]
    largest = max(sizes)
    for size in sizes:
        if size <= 0 or size % place.sector_bytes:
            raise TargetError(
                f"requests of {size} bytes: this target takes multiples of {place.sector_bytes}"
            )
    active = stimulus.active_range
    reach = int(place.capacity_bytes * active.share)
    if active.amount_bytes is not None and active.amount_bytes < reach:
        return _segmented(stimulus, reach, largest)
    unit = max(largest, stimulus.align_bytes or 0)
    reach -= reach % unit
    slices = stimulus.threads if stimulus.pattern == "sequential" else 1
    part = reach // slices
    part -= part % unit
    if part < unit:
        raise TargetError(
            f"an active range of {reach} bytes has no room for {slices} x {unit} bytes"
        )
    return Layout(reach, part)


def _segmented(stimulus: Stimulus, reach: int, largest: int) -> Layout:
    """Cut an amount into equal segments at equal distances, as fio can visit them."""
    active = stimulus.active_range
    if stimulus.zones:
        raise TargetError("zones inside segments of an active range cannot be expressed in fio")
    if stimulus.pattern == "sequential" and stimulus.threads > 1:
        raise TargetError("a sequential stimulus over segments runs with one thread through fio")
    amount = active.amount_bytes or 0
    # Whole percents of access that are equal: 100 must be a multiple of their number.
    fitting = [n for n in (100, 50, 25, 20, 10, 5, 4, 2, 1) if n <= active.segments]
    unit = max(largest, stimulus.align_bytes or 0, MIX_ALIGN_BYTES)
    for count in fitting:
        segment = amount // count // unit * unit
        stride = reach // count // unit * unit
        if segment >= unit and stride >= segment:
            return Layout(stride * count, segment * count, segment, stride, count)
    raise TargetError(f"an active amount of {amount} bytes has no room for {unit} bytes")


def next_leg(stimulus: Stimulus, limit: Limit, done: Done, where: Layout) -> Leg | None:
    """Say what fio should do next; None when the limit is reached."""
    if stimulus.beside and (limit.ios or limit.bytes):
        raise TargetError("loads next to each other end by time alone through fio")
    cap = None if limit.seconds_max is None else limit.seconds_max - done.seconds
    if cap is not None and cap < TIME_SLACK_S:
        return None
    rest_s = limit.seconds - done.seconds
    rest_ios = limit.ios - done.ios
    rest_bytes = limit.bytes - done.bytes
    # What is less than a request per thread cannot be asked for.
    if rest_bytes < stimulus.threads * max(size for size, _ in sizes_of(stimulus)) and done.legs:
        rest_bytes = 0
    if not (limit.seconds or limit.ios or limit.bytes):
        if cap is None:
            raise TargetError("a stimulus without any limit would never end")
        rest_s = cap
    ramp = limit.ramp_ratio if done.legs == 0 else 0.0
    if rest_s >= TIME_SLACK_S:
        whole = rest_s if cap is None else min(rest_s, cap)
        leg = Leg(seconds=whole * (1.0 - ramp), ramp_s=whole * ramp)
    elif rest_ios > 0:
        ios = ceil(limit.ios * ramp) if ramp else rest_ios
        leg = Leg(seconds=cap, ios=ios, is_ramp=ramp > 0)
    elif rest_bytes > 0:
        amount = ceil(limit.bytes * ramp) if ramp else rest_bytes
        leg = Leg(seconds=cap, bytes=amount, is_ramp=ramp > 0)
    else:
        return None
    return _within_slice(stimulus, leg, done.start_bytes, where)


def _within_slice(stimulus: Stimulus, leg: Leg, start_bytes: int, where: Layout) -> Leg:
    """End a leg where its streams reach the end of their slices, if fio would not go on rightly.

    It wraps to where a stream began, not to the start of the slice; and behind the last segment it
    goes on with further ones, outside of the range.
    """
    if stimulus.pattern != "sequential" or (start_bytes == 0 and not where.segments):
        return leg
    room = (where.slice_bytes - start_bytes) * stimulus.threads
    leg = replace(leg, start_bytes=start_bytes)
    mean = sum(s * w for s, w in sizes_of(stimulus)) / sum(w for _, w in sizes_of(stimulus))
    if leg.ios and leg.ios * mean <= room:
        return leg
    return replace(leg, ios=0, bytes=min(leg.bytes or room, room))


def job_text(
    place: Place, stimulus: Stimulus, leg: Leg, seed: int, logs: Sequence[str] = ()
) -> str:
    """Write the job file of a leg.

    Args:
        place: What fio opens.
        stimulus: What to do.
        leg: Which part of it.
        seed: Decides the addresses, as `leg_seed` gives it; each thread draws its own.
        logs: Where the threads get their requests from, if they do not draw them.
    """
    loads = (stimulus, *stimulus.beside)
    sections = [("stimulus", _lines(place, stimulus, leg, seed, logs))]
    for index, load in enumerate(loads[1:], start=1):
        lines = _lines(place, load, leg, leg_seed(seed, index), ())
        sections.append((f"beside{index}", [*lines, ("new_group", 1)]))
    body = "".join(
        f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in lines)
        for name, lines in sections
    )
    return (
        "; Run it again, in this folder: fio --output=OUTPUT.json --output-format=json+ THIS_FILE\n"
        + ("; (its requests come from sockets that are gone)\n" if logs else "")
        + body
    )


def _lines(
    place: Place, stimulus: Stimulus, leg: Leg, seed: int, logs: Sequence[str]
) -> list[tuple[str, str | int]]:
    """Return the lines of a load."""
    where = layout(place, stimulus)
    engine = place.engine_for(stimulus.queue_depth)
    lines: list[tuple[str, str | int]] = [("ioengine", engine), *place.options]
    if place.clock is not None:
        lines.append(("clocksource", place.clock))
    # fio makes files that are missing or short, and removes them first: it must do neither.
    lines += [("direct", 1), ("allow_file_create", 0), ("overwrite", 1), ("fallocate", "none")]
    lines += _pattern_lines(stimulus)
    if logs:
        lines += [("size", where.range_bytes), *_time_lines(leg)]
        lines += [("read_iolog", ":".join(logs)), ("read_iolog_chunked", 1)]
        lines += [("replay_no_stall", 1)]
        lines += streams.end_lines(stimulus, streams.count_of(stimulus, leg.ios, leg.bytes))
    else:
        lines += _range_lines(stimulus, where, leg)
        lines += _limit_lines(stimulus, leg)
    lines += [("numjobs", stimulus.threads), *([] if logs else [("thread", 1)])]
    lines += [("group_reporting", 1), ("iodepth", stimulus.queue_depth)]
    lines += _rate_lines(stimulus)
    # fio 3.33 ignores the seed where `randrepeat` is on, as it is by default.
    lines += [("randrepeat", 0), ("randseed", seed)]
    lines += [("random_generator", "tausworthe64"), ("norandommap", 1)]
    compresses = stimulus.data == "file" and stimulus.read_pct < 100
    if compresses or (is_mix(stimulus) and not place.is_written):
        lines.append(("refill_buffers", 1))
    if compresses:
        lines.append(("buffer_compress_percentage", FILE_COMPRESS_PCT))
    # The response time runs from submission to completion: fio's `lat`, not its `clat`.
    lines += [("lat_percentiles", 1), ("clat_percentiles", 0), ("slat_percentiles", 0)]
    return lines


def probe_text(place: Place, marker: bytes) -> str:
    """Write the job file that reads the first sector and expects a marker there, repeated."""
    lines: list[tuple[str, str | int]] = [("ioengine", place.engine), *place.options]
    lines += [("direct", 1), ("allow_file_create", 0), ("thread", 1), ("rw", "read")]
    lines += [("bs", place.sector_bytes), ("size", place.sector_bytes)]
    lines += [("verify", "pattern"), ("verify_pattern", f"0x{marker.hex()}")]
    lines += [("verify_state_save", 0)]
    text = "".join(f"{key}={value}\n" for key, value in lines)
    return f"; Does this engine work here, and does it open what was checked?\n[probe]\n{text}"


def zeros_text(place: Place) -> str:
    """Write the job file that fills a target with zeros, once."""
    return _whole_text(place, [("rw", "write"), ("zero_buffers", 1)])


def trim_text(place: Place) -> str:
    """Write the job file that trims a target, once."""
    return _whole_text(place, [("rw", "trim")])


def _whole_text(place: Place, what: list[tuple[str, str | int]]) -> str:
    """Cover a target in requests of 1 MiB; fio would leave out a shorter end, so that is a job."""
    unit = 1 << 20
    whole = place.capacity_bytes - place.capacity_bytes % unit
    rest = place.capacity_bytes - whole
    lines: list[tuple[str, str | int]] = [("ioengine", place.engine), *place.options]
    lines += [("direct", 1), ("allow_file_create", 0), ("overwrite", 1), ("fallocate", "none")]
    lines += [*what, ("iodepth", 8), ("thread", 1)]
    text = "[global]\n" + "".join(f"{key}={value}\n" for key, value in lines)
    if whole:
        text += f"[whole]\nbs={unit}\nsize={whole}\n"
    if rest:
        text += f"[end]\nbs={place.sector_bytes}\noffset={whole}\nsize={rest}\n"
    return text


def leg_seed(seed: int, leg_index: int) -> int:
    """Return fio's seed: odd, because fio multiplies it, and another one for each leg."""
    digest = hashlib.sha256(f"{seed}/{leg_index}".encode()).digest()
    return int.from_bytes(digest[:6], "big") | 1


def _pattern_lines(stimulus: Stimulus) -> list[tuple[str, str | int]]:
    """Kind of access and sizes."""
    reads = round(stimulus.read_pct)
    kind = "read" if reads == 100 else "write" if reads == 0 else "rw"
    lines: list[tuple[str, str | int]] = [
        ("rw", kind if stimulus.pattern == "sequential" else f"rand{kind}")
    ]
    if kind == "rw":
        lines.append(("rwmixread", reads))
    sizes = sizes_of(stimulus)
    align = stimulus.align_bytes
    if stimulus.streams:
        # The log has the size of each request; this is that of the buffers.
        return [*lines, ("bs", max(size for size, _ in sizes))]
    if len(sizes) == 1:
        lines.append(("bs", sizes[0][0]))
    else:
        shares = whole_percents([weight for _, weight in sizes])
        pairs = zip(sizes, shares, strict=True)
        lines.append(("bssplit", ":".join(f"{size}/{pct}" for (size, _), pct in pairs if pct)))
        align = align or MIX_ALIGN_BYTES
    if align and stimulus.pattern == "random":
        lines.append(("blockalign", align))
    return lines


def _range_lines(stimulus: Stimulus, where: Layout, leg: Leg) -> list[tuple[str, str | int]]:
    """Addresses."""
    if where.segments:
        return _segment_lines(stimulus, where, leg)
    if stimulus.pattern == "sequential":
        lines: list[tuple[str, str | int]] = [
            ("offset", leg.start_bytes),
            ("size", where.slice_bytes - leg.start_bytes),
        ]
        if stimulus.threads > 1:
            lines.append(("offset_increment", where.slice_bytes))
        return lines
    lines = [("size", where.range_bytes)]
    if stimulus.zones:
        accesses = whole_percents([zone.access_share for zone in stimulus.zones])
        ranges = whole_percents([zone.range_share for zone in stimulus.zones])
        pairs = zip(accesses, ranges, strict=True)
        text = ":".join(f"{access}/{part}" for access, part in pairs)
        lines.append(("random_distribution", f"zoned:{text}"))
    return lines


def _segment_lines(stimulus: Stimulus, where: Layout, leg: Leg) -> list[tuple[str, str | int]]:
    """Addresses in segments; a stream's position counts the bytes of segments only."""
    gap = where.stride_bytes - where.segment_bytes
    if stimulus.pattern == "random":
        pct = 100 // where.segments
        rows = f"{pct}/{where.segment_bytes}" + (f":0/{gap}" if gap else "")
        text = ":".join([rows] * where.segments)
        return [("size", where.range_bytes), ("random_distribution", f"zoned_abs:{text}")]
    # fio begins a strided stream at the start of a segment only.
    first = leg.start_bytes // where.segment_bytes * where.stride_bytes
    zones = [("zonerange", where.segment_bytes), ("zonesize", where.segment_bytes)]
    return [
        ("offset", first),
        ("size", where.range_bytes - first),
        ("zonemode", "strided"),
        *zones,
        ("zoneskip", gap),
    ]


def _rate_lines(stimulus: Stimulus) -> list[tuple[str, str | int]]:
    """How often requests are made, by each thread, for reads and writes apart."""
    if stimulus.rate_per_s is None:
        return []
    reads = round(stimulus.read_pct) / 100
    rates = [stimulus.rate_per_s * share / stimulus.threads for share in (reads, 1.0 - reads)]
    text = ",".join(str(max(1, round(rate))) if rate else "" for rate in rates)
    return [("rate_iops", text), ("rate_process", "poisson")]


def _time_lines(leg: Leg) -> list[tuple[str, str | int]]:
    """When to end by time."""
    lines: list[tuple[str, str | int]] = []
    if leg.seconds is not None:
        lines.append(("runtime", f"{max(1, round(leg.seconds * 1e3))}ms"))
        if leg.ramp_s > 0:
            lines.append(("ramp_time", f"{max(1, round(leg.ramp_s * 1e3))}ms"))
    return lines


def _limit_lines(stimulus: Stimulus, leg: Leg) -> list[tuple[str, str | int]]:
    """When to end."""
    lines = _time_lines(leg)
    if leg.ios:
        lines.append(("io_size", ENDLESS_BYTES))
        lines.append(("number_ios", ceil(leg.ios / stimulus.threads)))
    elif leg.bytes:
        unit = max(size for size, _ in sizes_of(stimulus))
        lines.append(("io_size", ceil(leg.bytes / stimulus.threads / unit) * unit))
    else:
        lines.append(("time_based", 1))
    return lines


def whole_percents(weights: Sequence[float]) -> list[int]:
    """Return whole percents that add up to 100, nearest to the weights (largest remainders).

    >>> whole_percents([4, 1, 95]), whole_percents([1, 1, 1])
    ([4, 1, 95], [34, 33, 33])
    """
    total = sum(weights)
    exact = [100.0 * weight / total for weight in weights]
    parts = [int(share + 1e-9) for share in exact]
    order = sorted(range(len(exact)), key=lambda i: parts[i] - exact[i])
    for index in order[: 100 - sum(parts)]:
        parts[index] += 1
    return parts


def deviations(place: Place, stimulus: Stimulus) -> list[str]:
    """Say what fio does otherwise than the stimulus asks."""
    found = [text for load in stimulus.beside for text in deviations(place, load)]
    if stimulus.streams:
        # Each request is drawn here, and fio only carries it out.
        return found
    if stimulus.read_pct != round(stimulus.read_pct):
        found.append(f"reads {round(stimulus.read_pct)} % instead of {stimulus.read_pct:g} %")
    shares = {
        "sizes of requests": [weight for _, weight in sizes_of(stimulus)],
        "accesses of zones": [zone.access_share for zone in stimulus.zones],
        "ranges of zones": [zone.range_share for zone in stimulus.zones],
    }
    for name, weights in shares.items():
        exact = [100.0 * weight / sum(weights) for weight in weights]
        whole = whole_percents(weights) if weights else []
        if any(abs(a - b) > 1e-6 for a, b in zip(exact, whole, strict=True)):
            found.append(f"shares of the {name} rounded to whole percents (fio)")
    where = layout(place, stimulus)
    if where.segments:
        found.append(
            f"active amount in {where.segments} segments at equal distances instead of "
            f"{stimulus.active_range.segments} at random places (fio)"
        )
        asked = stimulus.active_range.amount_bytes
        if where.slice_bytes != asked:
            here = f"{where.slice_bytes} bytes instead of {asked}"
            found.append(f"active amount of {here}: whole segments (fio)")
    if stimulus.pattern == "sequential" and 0 < stimulus.read_pct < 100:
        found.append("a sequential mix reads and writes in two streams (fio)")
    depth = stimulus.queue_depth
    if place.rounds_up(depth) and place.exact_engine is None:
        found.append(f"queue depth {depth} is {1 << depth.bit_length()} ({place.engine} of fio)")
    return found
