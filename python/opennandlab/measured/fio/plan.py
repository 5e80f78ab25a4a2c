"""A job file as stages of processes, each a request source of the core.

```text
sections ──► Job: values, texts ──numjobs──► Process: spec ──stonewall──► stages
```
The drive is the file: all jobs have their ranges on it, from its begin on, whatever their
`filename` is. A spec has the keys of `JobSpec` in the core, in bytes and nanoseconds.

Source: `init.c`, `filesetup.c`, HOWTO of fio 3.42.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_bytes
from opennandlab.measured.fio import joboptions as table
from opennandlab.measured.fio.jobtext import Given, Section
from opennandlab.measured.fio.jobvalues import Size, signed
from opennandlab.measured.fio.options import number_of

SECTOR_BYTES = 512
BS_DEFAULT = 4096
LOG_MS_DEFAULT = 500
MS = 1_000_000
READ, WRITE, TRIM = range(3)
# `rw` without `rand` -> the kinds of the core, and its directions.
KINDS = {
    "read": ("read", [READ]), "write": ("write", [WRITE]), "trim": ("trim", [TRIM]),
    "rw": ("mixed", [READ, WRITE]), "readwrite": ("mixed", [READ, WRITE]),
    "trimwrite": ("trim_write", [WRITE, TRIM]),
}  # fmt: skip
LOGS = ("bw", "iops", "lat", "hist")
# Flushes of these engines are in flight together with other requests.
FLUSHES_BESIDE = frozenset({"io_uring", "io_uring_cmd", "posixaio", "xnvme"})
SCHEME_BYTES_MAX = 1 << 20
# Processes of a file, and blocks of the map of one: a GiB of memory.
PROCESSES_MAX = 4096
MAP_BLOCKS_MAX = 1 << 33
# Numbers of the groups of processes that are reported alone begin behind it.
GROUP_ALONE = 1 << 20


@dataclass(frozen=True)
class Drive:
    """What a plan needs to know of the drive.

    Args:
        bytes: Its logical capacity.
        handles: Its placement ids; 0 for none.
    """

    bytes: int
    handles: int = 0


@dataclass(frozen=True)
class Job:
    """A section whose options are read.

    Args:
        section: It.
        values: Meanings of the options that are carried out.
        given: How each option was written; the last one counts.
        engine: Its I/O engine.
    """

    section: Section
    values: Mapping[str, Any]
    given: Mapping[str, Given]
    engine: str

    def refusal(self, name: str, message: str) -> ConfigError:
        """Return the error of an option, or of the job if the option has its default."""
        if name in self.given:
            return self.given[name].refusal(message)
        return ConfigError(self.section.place, f"[{self.section.name}]: {name}: {message}")

    @property
    def log_ms(self) -> int:
        """The length of the windows of its logs; 0 for a line for each request."""
        asks = any(f"write_{name}_log" in self.values for name in LOGS)
        return int(self.values.get("log_avg_msec", 0 if asks else LOG_MS_DEFAULT))

    def logs(self) -> dict[str, str | None]:
        """Return the logs that it asks for, and their prefixes; all but `hist` if it asks none."""
        asked = {name: str(self.values[key]) or None for name in LOGS
                 if (key := f"write_{name}_log") in self.values}  # fmt: skip
        return asked or dict.fromkeys(LOGS[:3])

    def window_ms(self, name: str, *, of_log: bool = False) -> int:
        """Return the length of the windows of `bw` or `iops`, of the spread or of the log."""
        own = int(self.values.get(f"{name}avgtime", 500))
        is_cut = self.log_ms and (of_log or f"write_{name}_log" in self.values)
        return min(own, self.log_ms) if is_cut else own


@dataclass(frozen=True)
class Process:
    """A process of a job.

    Args:
        job: Its job.
        number: Of all processes of the file, from 1.
        sub: Of those of its job, from 0.
        group: Of its reporting group.
        spec: For the core.
    """

    job: Job
    number: int
    sub: int
    group: int
    spec: Mapping[str, Any]


@dataclass
class Plan:
    """The stages of a job file.

    Args:
        stages: Processes that run together.
        notes: Options that are approximated or have no meaning: a line each.
    """

    stages: list[list[Process]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def processes(self) -> list[Process]:
        """All of them, in order."""
        return [process for stage in self.stages for process in stage]


def plan(sections: Sequence[Section], drive: Drive, *, logs: bool = False) -> Plan:
    """Return what the jobs of a file ask of a drive.

    Args:
        sections: Of `jobtext.sections`.
        drive: The drive.
        logs: Whether logs are written.

    Raises:
        ConfigError: with file and line, the value, and the accepted ones.
    """
    found = Plan()
    said: dict[str, None] = {}
    near: dict[str, str] = {}
    number, group, in_group = 0, -1, False
    for section in sections:
        job = _job(section, said, near)
        is_new = bool(job.values.get("stonewall")) or not found.stages
        if is_new and (not found.stages or found.stages[-1]):
            found.stages.append([])
        if group < 0 or (in_group and (is_new or job.values.get("new_group"))):
            group, in_group = group + 1, False
        stage = found.stages[-1]
        for sub in range(job.values.get("numjobs", 1)):
            number, in_group = number + 1, True
            if number > PROCESSES_MAX:
                raise job.refusal("numjobs", f"accepted: {PROCESSES_MAX} processes in a file")
            spec = _Spec(job, drive, near).whole(sub)
            watched = group if job.values.get("group_reporting") else GROUP_ALONE + number
            spec |= {"name": _seed_name(job, number), "group": watched,
                     "after": _after(job, found, section), **_record(job, logs=logs)}  # fmt: skip
            stage.append(Process(job, number, sub, group, spec))
    found.notes += [f"approximated: {text}" for text in dict.fromkeys(near.values())]
    if said:
        names = ", ".join(sorted(said))
        found.notes.append(f"without meaning on a simulated drive: {names}")
    return found


def _job(section: Section, said: dict[str, None], near: dict[str, str]) -> Job:
    """Read the options of a section, and collect those that are not carried out as written."""
    values: dict[str, Any] = {}
    given: dict[str, Given] = {}
    for one in section.given:
        name = table.known(one)
        given.pop(name, None)
        given[name] = one
    for name, one in given.items():
        table.check(name, one)
        if name in table.RUN:
            values[name] = table.value(name, one)
        elif name in table.NO:
            if reason := table.plain(table.NO, name, one):
                raise one.refusal(reason)
        elif name in table.NEAR:
            if reason := table.plain(table.NEAR, name, one):
                near[name] = f"{name}: {reason}"
        else:
            said[name] = None
    if "rwmixwrite" in values and list(given).index("rwmixwrite") > _place(given, "rwmixread"):
        values["rwmixread"] = 100 - values["rwmixwrite"]
    engine = table.engine(given["ioengine"]) if "ioengine" in given else table.ENGINE_DEFAULT
    return Job(section, values, given, engine)


def _place(given: Mapping[str, Given], name: str) -> int:
    return list(given).index(name) if name in given else -1


def _seed_name(job: Job, number: int) -> str:
    """Return the name of the randomness of a process."""
    seed = job.values.get("randseed")
    return f"{number}" if seed is None else f"{number}.{seed}"


def _after(job: Job, found: Plan, section: Section) -> list[int]:
    """Return the processes of the stage that must have ended before those of a job begin."""
    name = job.values.get("wait_for")
    if name is None:
        return []
    if all(process.job.section.name != name for process in found.processes):
        raise job.refusal("wait_for", "accepted: the name of a job before this one")
    stage = found.stages[-1]
    return [index for index, process in enumerate(stage)
            if process.job.section.name == name and process.job.section is not section]  # fmt: skip


def _record(job: Job, *, logs: bool) -> dict[str, Any]:
    """Return what the core keeps of a process."""
    windows = {job.window_ms("bw"), job.window_ms("iops")}
    keeps_all = False
    if logs:
        windows |= {job.log_ms} - {0} | {job.window_ms(name, of_log=True) for name in LOGS[:2]}
        keeps_all = not job.log_ms or "hist" in job.logs()
    return {"windows_ns": [ms * MS for ms in sorted(windows)], "keeps_all": keeps_all}


class _Spec:
    """Makes the spec of the processes of a job."""

    def __init__(self, job: Job, drive: Drive, near: dict[str, str]) -> None:
        self.job = job
        self.drive = drive
        self.near = near
        self.values = job.values
        mode, self.behind = self.values.get("rw", ("read", ""))
        self.is_random = mode.startswith("rand")
        self.kinds, self.used = KINDS[mode.removeprefix("rand")]

    def whole(self, sub: int) -> dict[str, Any]:
        """Return the spec of a process, but for what depends on the others."""
        values = self.values
        sizes = self._sizes()
        smallest = min(sizes[kind]["min"] for kind in self.used)
        align, has_map = self._alignment(sizes)
        if has_map and self.is_random and len({sizes[kind]["min"] for kind in self.used}) > 1:
            self.near["bs"] = (
                "bs: with a size for each direction the map has blocks of the smallest one; "
                "that of fio mixes their numbers, and ends a pass early"
            )
        offset, size, reach = self._range(sub, smallest)
        places = self._places(size)
        has_map = has_map and self.is_random and places["law"] == "uniform"
        if has_map and size // smallest > MAP_BLOCKS_MAX:
            raise self.job.refusal(
                "size", f"{size // smallest} blocks of the map; accepted: up to {MAP_BLOCKS_MAX}, "
                "or norandommap",
            )  # fmt: skip
        return {
            "kinds": self.kinds, "is_random": self.is_random,
            **self._order(), "read_pct": values.get("rwmixread", 50), "sizes": sizes,
            "sizes_by_place": values.get("bs_is_seq_rand", False), "align": align,
            "offset": offset, "size": size, "reach": reach, "io_size": self._io_size(size),
            "number_ios": values.get("number_ios", 0), "loops": values.get("loops", 1),
            "has_map": has_map, "places": places,
            "random_pct": _or(values.get("percentage_random"), 100), "stride": self._stride(),
            "depth": self._depth(), **self._flushes(), **self._rates(), **self._times(),
            "handles": self._handles(), "steady": self._steady(),
            "ends_all": values.get("exitall", False),
            "repeats": values.get("randrepeat", True) and "randseed" not in values,
        }  # fmt: skip

    def _sizes(self) -> list[dict[str, Any]]:
        """Return request sizes by direction; those of unused ones are those of a used one."""
        values = self.values
        found: list[dict[str, Any]] = [
            {"min": one, "max": one, "split": []} for one in _or(values.get("bs"), BS_DEFAULT)
        ]
        names = ["bs"] * 3
        for kind, one in enumerate(values.get("bsrange", [None] * 3)):
            if one is not None:
                found[kind] = {"min": one[0], "max": one[1], "split": []}
                names[kind] = "bsrange"
        for kind, one in enumerate(values.get("bssplit", [None] * 3)):
            if one is not None:
                sizes = [size for size, _ in one]
                found[kind] = {"min": min(sizes), "max": max(sizes), "split": one}
                names[kind] = "bssplit"
        if values.get("bs_is_seq_rand"):
            self.used = [READ, WRITE]
        for kind in self.used:
            one = found[kind]
            for size in (one["min"], one["max"], *(size for size, _ in one["split"])):
                if not size or size % SECTOR_BYTES:
                    raise self.job.refusal(names[kind], f"{size} B; accepted: multiples of 512 B")
                if size > 1 << 30:
                    raise self.job.refusal(names[kind], f"{size} B; accepted: up to 1 GiB")
        return [found[kind] if kind in self.used else found[self.used[0]] for kind in range(3)]

    def _alignment(self, sizes: Sequence[Mapping[str, Any]]) -> tuple[list[int], bool]:
        """Return the alignment by direction, and whether a place comes once in a pass."""
        align = [one["min"] for one in sizes]
        # The order of an lfsr has each place once, without a map.
        generator = self.job.given.get("random_generator")
        is_lfsr = generator is not None and generator.text == "lfsr"
        has_map = is_lfsr or not self.values.get("norandommap", False)
        if "ba" not in self.values or not self.is_random:
            return align, has_map
        given = [own or one for own, one in zip(self.values["ba"], align, strict=True)]
        if any(one % SECTOR_BYTES for one in given):
            raise self.job.refusal("ba", "accepted: multiples of 512 B")
        if given != align and has_map:
            self.near["ba"] = "ba: it turns the map of places off, as in fio"
            has_map = False
        return given, has_map

    def _range(self, sub: int, smallest: int) -> tuple[int, int, int]:
        """Return the begin and the length of the range, and the end of the file."""
        values, whole = self.values, self.drive.bytes
        start, step = values.get("offset", Size(0)), values.get("offset_increment", Size(0))
        offset = start.of(whole) + sub * step.of(whole)
        if start.percent is not None or step.percent is not None or "offset_align" in values:
            unit = values.get("offset_align") or smallest
            offset = -(-offset // unit) * unit
        if offset % SECTOR_BYTES:
            raise self.job.refusal("offset", f"{offset} B; accepted: multiples of 512 B")
        if offset >= whole:
            name = "offset_increment" if sub and "offset_increment" in values else "offset"
            raise self.job.refusal(
                name, f"process {sub} begins at {offset} B; accepted: below the {whole} B "
                "of the drive",
            )  # fmt: skip
        given = values.get("size")
        if "filesize" in values:
            given = self._in_file(given, offset)
        size = whole - offset
        if given is not None:
            size = min(given.of(whole), size) if given.percent is not None else given.bytes
        if given is not None and given.percent is None and size == 0:
            size = whole - offset
        size -= size % SECTOR_BYTES
        if offset + size > whole:
            room = whole - offset
            name = "filesize" if "filesize" in values else "size"
            raise self.job.refusal(
                name, f"{size} B from {offset} B on; accepted: up to {room} B, the rest of the "
                f"drive of {whole} B",
            )  # fmt: skip
        if size < smallest:
            raise self.job.refusal("size", f"{size} B; accepted: a request of {smallest} B or more")
        # A section may have the name of its device.
        name = str(values.get("filename", self.job.section.name))
        is_device = name.startswith(("/dev/", "\\\\.\\"))
        return offset, size, whole if is_device else offset + size

    def _in_file(self, size: Size | None, offset: int) -> Size:
        """Return the range of a job whose files have a size: all behind its offset, or less."""
        self.near["filesize"] = (
            "filesize: the range of the job is `size`, at most the largest of its files"
        )
        count = (
            number_of(self.job.given["nrfiles"].text or "") if "nrfiles" in self.job.given else 1
        )
        most = (self.values["filesize"][1] - offset) * (count or 1)
        if most <= 0:
            raise self.job.refusal("filesize", f"accepted: above the offset of {offset} B")
        if size is None or (size.percent is None and not size.bytes):
            return Size(most)
        return Size(min(size.of(most), most))

    def _io_size(self, size: int) -> int:
        given: Size = self.values.get("io_size", Size(0))
        return given.of(size)

    def _order(self) -> dict[str, Any]:
        every = int(table.ANY(self.behind)) if self.behind and self.is_random else 1
        skip = 0
        if self.behind and not self.is_random:
            skip = signed(self.behind)
            if skip % SECTOR_BYTES:
                raise self.job.refusal("rw", f"skips {skip} B; accepted: multiples of 512 B")
        repeats = self.values.get("rw_sequencer") == "identical"
        return {"new_place_every": every, "repeats_place": repeats, "skip": skip}

    def _places(self, size: int) -> dict[str, Any]:
        given = self.values.get("random_distribution")
        if given is None or given.law == "random" or not self.is_random:
            return {"law": "uniform"}
        if given.law in {"zipf", "pareto", "normal"}:
            self.near[given.law] = (
                f"random_distribution: {given.law} ranks are spread over all places, one each; "
                "the hash of fio puts several on one"
            )
            return {"law": given.law, "value": given.value, "center": given.center}
        zones = []
        for kind, one in enumerate(given.zones):
            at, row = 0, []
            for share, extent in one:
                end = at + (extent if given.law == "zoned_abs" else size * extent // 100)
                if kind in self.used and end > size:
                    raise self.job.refusal(
                        "random_distribution", f"zones end at {end} B; accepted: up to {size} B"
                    )
                row.append([share, at, end])
                at = end
            zones.append(row)
        return {"law": "zones", "zones": zones}

    def _stride(self) -> dict[str, int] | None:
        values = self.values
        mode, size = values.get("zonemode", "none"), values.get("zonesize", 0)
        if mode == "zbd":
            raise self.job.refusal("zonemode", table.ZBD)
        if (mode == "strided") != bool(size):
            name = "zonesize" if size else "zonemode"
            raise self.job.refusal(
                name, "accepted, as by fio: zonemode=strided with a zonesize, or neither"
            )
        if not size:
            if {"zonerange", "zoneskip"} & values.keys():
                self.near["zones"] = "zonerange, zoneskip: no effect without a zonemode, as in fio"
            return None
        found = {"range": values.get("zonerange") or size, "size": size,
                 "skip": values.get("zoneskip", 0)}  # fmt: skip
        if any(one % SECTOR_BYTES for one in found.values()):
            raise self.job.refusal("zonesize", "accepted: multiples of 512 B")
        return found

    def _depth(self) -> int:
        depth = int(self.values.get("iodepth", 1))
        if self.job.engine in table.ONE_AT_A_TIME and depth > 1:
            self.near["iodepth"] = f"iodepth {depth}: the engine {self.job.engine} has depth 1"
            return 1
        return depth

    def _flushes(self) -> dict[str, Any]:
        values = self.values
        both = [values.get("fsync", 0), values.get("fdatasync", 0)]
        if all(both) and both[0] != both[1]:
            raise self.job.refusal("fdatasync", "accepted: one of fsync and fdatasync")
        is_synced = values.get("sync", "0") in {"sync", "1", "dsync"}
        return {
            "flush_every": max(both),
            "ends_with_flush": values.get("end_fsync", False)
            or values.get("fsync_on_close", False),
            "flushes_beside": self.job.engine in FLUSHES_BESIDE,
            "is_fua": is_synced or values.get("writefua", False),
        }

    def _rates(self) -> dict[str, Any]:
        values = self.values
        if "rate" in values and "rate_iops" in values:
            raise self.job.refusal("rate_iops", "accepted: one of rate and rate_iops")
        return {
            "rate": _or(values.get("rate"), 0),
            "rate_iops": _or(values.get("rate_iops"), 0),
            "is_poisson": values.get("rate_process") == "poisson",
            "rate_ignores_think": values.get("rate_ignore_thinktime", False),
        }

    def _times(self) -> dict[str, Any]:
        values = self.values
        every = values.get("thinktime_iotime", 0)
        is_timed = values.get("time_based", False)
        if is_timed and not values.get("runtime"):
            self.near["time_based"] = "time_based: without a runtime it has no effect, as in fio"
            is_timed = False
        return {
            "runtime_ns": values.get("runtime", 0), "is_time_based": is_timed,
            "ramp_ns": values.get("ramp_time", 0), "delay_ns": values.get("startdelay", 0),
            "think": {
                "ns": values.get("thinktime", 0),
                "blocks": values.get("thinktime_blocks", 0 if every else 1),
                "by_issue": values.get("thinktime_blocks_type") == "issue",
                "every_ns": every,
            },
        }  # fmt: skip

    def _handles(self) -> dict[str, Any]:
        values = self.values
        hint = table.HINTS[values.get("write_hint", "none")]
        kind = "fdp" if values.get("fdp") else values.get("dataplacement", "none")
        if not self.drive.handles and (hint or kind != "none"):
            self.near["handles"] = "placement ids: the drive has none (ftl.placement)"
            return {"by": "none"}
        if kind == "none":
            if hint >= max(self.drive.handles, 1):
                raise self.job.refusal(
                    "write_hint", f"id {hint}; accepted: ids below {self.drive.handles}, which "
                    "the drive has (ftl.placement)",
                )  # fmt: skip
            return {"by": "round_robin", "ids": [hint]} if hint else {"by": "none"}
        ids = values.get("plids", list(range(self.drive.handles)))
        if max(ids) >= self.drive.handles:
            raise self.job.refusal(
                "plids", f"accepted: below {self.drive.handles}, the ids of the drive"
            )
        select = values.get("plid_select", "roundrobin")
        if select == "scheme":
            return {"by": "scheme", "ranges": self._scheme()}
        return {"by": "random" if select == "random" else "round_robin", "ids": ids}

    def _scheme(self) -> list[list[int]]:
        """Return the ranges of a file in the folder of the job file: begin, end, id."""
        given = self.job.given.get("dp_scheme")
        if given is None or not given.text:
            raise self.job.refusal("plid_select", "accepted: scheme with a file in dp_scheme")
        path = Path(given.place.rpartition(":")[0]).parent / Path(given.text).name
        try:
            text = read_bytes(path, SCHEME_BYTES_MAX).decode()
            rows = [[int(part) for part in line.split(",")] for line in text.split("\n") if line]
            is_whole = all(len(row) == 3 and min(row) >= 0 for row in rows)
        except (OSError, ValueError) as error:
            raise given.refusal(f"{path}: {error}") from error
        if not is_whole or any(row[2] >= self.drive.handles for row in rows):
            raise given.refusal(f"{path}: accepted: lines begin,end,id with ids of the drive")
        return rows

    def _steady(self) -> dict[str, Any] | None:
        values = self.values
        length = values.get("steadystate_duration", 0)
        if not length:
            if "steadystate" in values:
                self.near["ss"] = "steadystate: without ss_dur it has no effect, as in fio"
            return None
        interval = values.get("steadystate_check_interval", 1_000_000_000)
        if not interval or length % interval or length <= interval:
            raise self.job.refusal(
                "steadystate_duration", "accepted: a multiple of ss_interval, above it"
            )
        name, limit, is_percent = values.get("steadystate", ("iops_slope", 0.01, True))
        return {
            "of": name.removesuffix("_slope"), "is_slope": name.endswith("_slope"),
            "limit": limit, "is_percent": is_percent, "window": length // interval,
            "interval_ns": interval, "ramp_ns": values.get("steadystate_ramp_time", 0),
        }  # fmt: skip


def _or(values: Sequence[int | None] | None, default: int) -> list[int]:
    """Return the value of each direction."""
    return [default if one is None else one for one in values or [None] * 3]
