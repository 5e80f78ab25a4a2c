"""A target that fio reads and writes: the verbs that files, devices and exports share.

One stimulus is a few legs (see `job`), each a job file and an output in `folder`, numbered in the
order they ran: `0007-randwrite-4096.fio`, `0007-randwrite-4096.json`. Time is real. Between two
legs fio starts again, for about half a second without requests, which is not counted.

Limits of what is measured: `written_bytes` holds an estimate of what a ramp in time wrote (fio
does not count it), at the rate of the measured part; `inside` then states this.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from opennandlab.base.errors import WriteError
from opennandlab.documents import pts_header
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import (
    Imprint,
    Limit,
    LoadPart,
    Measurement,
    Purge,
    Requests,
    Sample,
    Step,
    Stimulus,
    Target,
    TargetError,
    Watcher,
)
from opennandlab.targets.fio import job, parse, streams
from opennandlab.targets.fio.marker import Sector, marked, written_share
from opennandlab.targets.fio.route import Route
from opennandlab.targets.fio.runner import Files, Fio, Terms, Told, find_fio, run_fio
from opennandlab.targets.host import platform_facts
from opennandlab.targets.names import link_to, printable

# The engines for local files, the best first: what works is found once by a small read.
ENGINES = ("io_uring", "libaio", "posixaio")
# A queue depth that some engines round up.
ODD_DEPTH = 6
# fio counts run times in milliseconds.
CLOCK_S = 0.001
# What fio's verification says of data that are not the expected ones.
OTHER_DATA = errno.EILSEQ
# How often fio tells how far it is, where only its size ends a leg.
PROGRESS_S = 5.0
# What a fio that was built without it says of `--debug`.
NO_DEBUG = "debug tracing not included"


class FioError(TargetError):
    """fio ended with an error.

    Args:
        text: What is known of it.
        numbers: The errors of its jobs.
    """

    def __init__(self, text: str, numbers: Sequence[int] = ()) -> None:
        """Keep the numbers."""
        super().__init__(text)
        self.numbers = tuple(numbers)


@dataclass
class _Total:
    """What the legs of one stimulus gave together."""

    seconds: float = 0.0
    elapsed_s: float = 0.0
    # When the measured time began, by the clock of the wall.
    began_at_s: float | None = None
    reads: list[Requests] = field(default_factory=list)
    writes: list[Requests] = field(default_factory=list)
    ramp_bytes: int = 0
    ramp_guess: int = 0
    cpu_s: float = 0.0
    util_s: float | None = 0.0
    samples: list[Sample] = field(default_factory=list)
    parts: list[tuple[parse.Totals, ...]] = field(default_factory=list)


class FioTarget(Target):
    """What fio can open. A kind of target states how it is opened, purged and described.

    Args:
        name: As the user named it.
        folder: Where job files and outputs go; None for a new one in the system's temporary
            folder, which `close` removes unless something failed.
        fio: The binary; None to look for it.
    """

    is_virtual: ClassVar[bool] = False
    waf_missing = "targets of this kind have no counter of what their flash programs"
    # Until there is a folder.
    _is_own_folder = False
    _failed = False

    def __init__(self, name: str, *, folder: Path | None = None, fio: Fio | None = None) -> None:
        """Find fio and a place for its files."""
        self.name = name
        self.fio = fio or find_fio()
        try:
            self.folder = folder or Path(tempfile.mkdtemp(prefix="opennandlab-fio-"))
            self._is_own_folder = folder is None
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where = folder or tempfile.gettempdir()
            raise WriteError(f"cannot write into {where}: {error.strerror or error}") from error
        # After a resumed run, numbers continue.
        used = [int(path.name[:4]) for path in self.folder.glob("[0-9][0-9][0-9][0-9]-*.fio")]
        self._number = max(used, default=-1) + 1
        # What fio did otherwise than asked, each once; for the header of the report.
        self.deviations: list[str] = []
        self.route = Route(None)

    @abstractmethod
    def place(self) -> job.Place:
        """Return what fio opens, after a look that it is still there."""

    @abstractmethod
    def sector(self) -> Sector:
        """Return the target as it is reached without fio."""

    def identity(self) -> str:
        """Return what tells a file from another of the same name; empty where facts do."""
        return ""

    def imprint(self) -> Imprint:
        """Look at what the target holds.

        Raises:
            TargetError: when it is gone or cannot be read.
        """
        self.place()
        return Imprint(self.identity(), self._written_share(self.capacity_bytes))

    def _written_share(self, range_bytes: int) -> float:
        """Return the part of pieces of a range that hold anything but zeros."""
        try:
            return written_share(self.sector(), range_bytes)
        except OSError as error:
            raise TargetError(f"{self.name}: cannot be read: {error.strerror or error}") from error

    def run(  # noqa: PLR0913 (all but two by name)
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        seed: int,
        sample_s: float | None = None,
        is_measured: bool = True,
        watch: Watcher | None = None,
    ) -> Measurement:
        """Apply a stimulus until its limit; see `base.Target.run`."""
        del is_measured  # real writes take their time in any case
        place = self.place()
        where = job.layout(place, stimulus)
        if any(job.is_mix(load) for load in (stimulus, *stimulus.beside)):
            place = replace(place, is_written=self._written_share(where.range_bytes) == 1.0)
        self.route.begin()
        for text in job.deviations(place, stimulus):
            if text not in self.deviations:
                self.deviations.append(text)
        total = _Total()
        before = self.programmed_bytes()
        done = job.Done(start_bytes=_in_slice(stimulus.start_bytes, where, stimulus))
        while leg := job.next_leg(stimulus, limit, done, where):
            try:
                result = self._leg(
                    place,
                    stimulus,
                    leg,
                    job.leg_seed(seed, done.legs),
                    sample_s,
                    _stepper(watch, limit, done, leg),
                )
            except TargetError as error:
                # That the target is gone says more than fio's own words, and stands before them.
                try:
                    self.place()
                except TargetError as gone:
                    raise TargetError(f"{gone}; {error}") from error
                raise
            # Each process of fio opens the target again: what was exchanged meanwhile is neither
            # taken for a measurement nor written by the next one.
            self.place()
            moved = _add(total, leg, result, done, sample_s)
            done.start_bytes = _in_slice(
                done.start_bytes + moved // stimulus.threads, where, stimulus
            )
        inside = self.inside()
        programmed = self.programmed_bytes()
        # A counter that fell was cleared in between.
        if before is not None and programmed is not None and programmed >= before:
            inside["nand_bytes_written"] = programmed - before
        measured = _measurement(total, done, stimulus, inside)
        measured.inside["littles_law_error"] = littles_law_error(measured, stimulus)
        measured.inside["clock_s"] = CLOCK_S * done.legs
        self.route.end(measured, requests=done.ios)
        return measured

    @property
    def layer(self) -> str:
        """What requests go through on their way."""
        return self.kind

    def host_path(self) -> pts_header.HostPath:
        """Return how requests reached the target until now."""
        place = self.place()
        engine = f"{self.fio.version}, {place.engine}"
        if place.exact_engine is not None:
            engine += f" ({place.exact_engine} for queue depths that are not powers of two)"
        return self.route.facts(engine, self.layer, [])

    def linked(self, name: str, path: str | Path) -> Path:
        """Return a link of a safe name to what fio is to open; see `names`."""
        return link_to(self.folder, name, os.path.realpath(path))

    def inside(self) -> dict[str, float | int | None]:
        """Return what a kind of target measures in addition, at the end of a stimulus."""
        return {}

    def trim(self, offset: int, length: int) -> None:
        """Tell the target that bytes are not needed any more.

        Raises:
            TargetError: when it refuses.
        """
        raise TargetError(f"{self.name}: bytes {offset} to {offset + length} cannot be trimmed")

    def programmed_bytes(self) -> int | None:
        """Return what the drive says that its flash has programmed in its life; None if nothing."""
        return None

    def idle(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Remove job files and outputs that were not requested; of a failed run they stay."""
        if self._is_own_folder and not self._failed:
            shutil.rmtree(self.folder, ignore_errors=True)

    def platform(self) -> pts_header.Platform:
        """Return what a report says of the machine."""
        return {**platform_facts(), "fio_version": self.fio.version}

    def _leg(  # noqa: PLR0913, PLR0917 (one call)
        self,
        place: job.Place,
        stimulus: Stimulus,
        leg: job.Leg,
        seed: int,
        sample_s: float | None,
        watch: Told,
    ) -> list[parse.Totals]:
        """Run one process of fio; return its running totals, the last one at the end."""
        files = self.files(_label(stimulus))
        seconds = None if leg.seconds is None else leg.seconds + leg.ramp_s
        status = sample_s if sample_s is not None else (PROGRESS_S if seconds is None else None)
        is_reading = all(round(it.read_pct) == 100 for it in (stimulus, *stimulus.beside))
        terms = Terms(seconds, status, readonly=is_reading)
        if streams.is_streamed(stimulus):
            series = self._streamed(place, stimulus, leg, seed, files, terms, watch)
        else:
            self.write_job(files, job.job_text(place, stimulus, leg, seed))
            series = self.fio_totals(files, terms, watch)
        if not series[-1].ios:
            self._failed = True
            raise TargetError(
                f"{self.name}: no request was completed in {series[-1].seconds:g} s; "
                f"job file: {files.job}"
            )
        return series

    def _streamed(  # noqa: PLR0913, PLR0917 (one call)
        self,
        place: job.Place,
        stimulus: Stimulus,
        leg: job.Leg,
        seed: int,
        files: Files,
        terms: Terms,
        watch: Told,
    ) -> list[parse.Totals]:
        """Run one process of fio on requests that are drawn here."""
        if stimulus.beside:
            raise TargetError("a skewed load cannot have others next to it through fio")
        source = streams.Source(
            streams.drawn(stimulus, place.capacity_bytes, seed),
            streams.count_of(stimulus, leg.ios, leg.bytes),
            place.file,
            self.trim,
            trims=stimulus.logs is not None,
        )
        with streams.served(self.folder, files.job.stem[:4], source) as names:
            self.write_job(files, job.job_text(place, stimulus, leg, seed, names))
            return self.fio_totals(files, terms, watch)

    def write_job(self, files: Files, text: str) -> None:
        """Write a job file.

        Raises:
            WriteError: as on a full disk.
        """
        try:
            files.job.write_text(text, encoding="utf-8")
        except OSError as error:
            raise WriteError(f"cannot write {files.job}: {error.strerror or error}") from error

    def files(self, label: str) -> Files:
        """Return the names for the next process."""
        stem = f"{self._number:04}-{label}"
        self._number += 1
        base = self.folder / stem
        return Files(*(base.with_name(stem + end) for end in (".fio", ".json", ".log")))

    def fio_totals(self, files: Files, terms: Terms, watch: Told) -> list[parse.Totals]:
        """Run a job file that exists and read what came of it.

        Raises:
            TargetError: with fio's own words and the job file, whatever failed.
        """
        try:
            text = self.fio_output(files, terms, watch)
            return [parse.totals(document) for document in parse.each(text)]
        except parse.OutputError as error:
            self._failed = True
            raise TargetError(f"{self.name}: {error}; job file: {files.job}") from error

    def fio_output(self, files: Files, terms: Terms, watch: Told | None = None) -> str:
        """Run a job file that exists and return what fio wrote, once it is known to be whole.

        Raises:
            TargetError: with fio's own words and the job file, whatever failed.
        """
        try:
            code = run_fio(self.fio, files, terms, watch or _nobody)
        except (TargetError, OSError) as error:
            self._failed = True
            raise TargetError(f"{self.name}: {error}") from error
        said = _read(files.messages).strip()
        if not said:
            files.messages.unlink(missing_ok=True)
        try:
            text = _read(files.output)
            document, notes = parse.last(text)
        except parse.OutputError as error:
            self._failed = True
            how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
            # It says nothing of a disk that takes no more of its output.
            is_full = not said and not os.statvfs(self.folder).f_bavail
            said = said or (f"no space left in {self.folder}" if is_full else str(error))
            said = printable(said[-600:])
            raise FioError(f"{self.name}: fio {how}: {said}; job file: {files.job}") from error
        errors = [job_["error"] for job_ in document.get("jobs", []) if job_.get("error")]
        if code or errors:
            self._failed = True
            said = "; ".join(dict.fromkeys(line for line in (said or notes).splitlines() if line))
            raise FioError(
                f"{self.name}: fio failed (status {code}, error {errors or [0]}): "
                f"{printable(said[-600:]) or 'it said nothing'}; job file: {files.job}",
                errors,
            )
        return text

    def write_zeros(self) -> Purge:
        """Write zeros over everything: the last resort, which is not a purge."""
        place = self.place()
        files = self.files("zeros")
        self.write_job(files, job.zeros_text(place))
        self.fio_output(files, Terms(status_s=PROGRESS_S))
        return Purge(
            method="zeros over the whole range",
            is_purge=False,
            note="every block is written, not erased",
        )

    def proven(self, places: Iterable[job.Place]) -> job.Place:
        """Return the first place whose engine reads, once fio is proved to read this target.

        Where that engine rounds queue depths up, the next one that reads serves those depths.

        Args:
            places: The same target through several engines, the best first.

        Raises:
            TargetError: when none reads, and when fio reads something else.
        """
        error: TargetError | None = None
        found: job.Place | None = None
        with marked(self.name, self.sector()) as marker:
            for place in places:
                files = self.files(f"probe-{place.engine}")
                self.write_job(files, job.probe_text(place, marker))
                try:
                    text = self._probed(files)
                except FioError as caught:
                    if OTHER_DATA in caught.numbers:
                        raise TargetError(
                            f"{self.name}: fio opens another target; nothing was written there; "
                            f"job file: {files.job}"
                        ) from caught
                    error = caught
                    continue
                self._failed = False
                if found is not None:
                    return replace(found, exact_engine=place.engine)
                found = replace(place, clock=parse.clock(text))
                if not found.rounds_up(ODD_DEPTH):
                    return found
        if found is not None:
            self._failed = False
            return found
        raise TargetError(f"{self.name}: no engine of fio can read it; {error}") from error

    def _probed(self, files: Files) -> str:
        """Run a probe and return what fio wrote, its clock included where it tells that."""
        terms = Terms(seconds_max=1.0, readonly=True, tells_clock=True)
        try:
            return self.fio_output(files, terms)
        except FioError as error:
            if NO_DEBUG not in str(error):
                raise
            return self.fio_output(files, replace(terms, tells_clock=False))


def _nobody(_seconds: float, _moved: int) -> None:
    """Watch nothing."""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _label(stimulus: Stimulus) -> str:
    """Name a job: `randrw65-4096-t4-q32`."""
    reads = round(stimulus.read_pct)
    kind = "read" if reads == 100 else "write" if reads == 0 else f"rw{reads}"
    blocks = stimulus.block_bytes
    size = str(blocks) if isinstance(blocks, int) else "mix"
    random = "seq" if stimulus.pattern == "sequential" else "rand"
    return f"{random}{kind}-{size}-t{stimulus.threads}-q{stimulus.queue_depth}"


def _in_slice(position: int, where: job.Layout, stimulus: Stimulus) -> int:
    """Return a stream's position within its slice, at the start of a request or segment."""
    if stimulus.pattern != "sequential":
        return 0
    position %= where.slice_bytes
    unit = where.segment_bytes or max(size for size, _ in job.sizes_of(stimulus))
    return position - position % unit


def _stepper(watch: Watcher | None, limit: Limit, done: job.Done, leg: job.Leg) -> Told:
    """Return what tells a watcher of the whole stimulus how far it is."""
    before_s, before_bytes = done.seconds, done.bytes

    def tell(seconds: float, moved: int) -> None:
        if watch is None:
            return
        now = before_s + seconds
        fraction: float | None = None
        if leg.seconds is not None and not (leg.ios or leg.bytes):
            fraction = now / max(limit.seconds, leg.seconds + leg.ramp_s)
        elif limit.bytes:
            fraction = (before_bytes + moved) / limit.bytes
        elif limit.seconds_max:
            fraction = now / limit.seconds_max
        watch(Step(None if fraction is None else min(fraction, 1.0), now))

    return tell


def littles_law_error(measured: Measurement, stimulus: Stimulus) -> float | None:
    """Return how far throughput times response time is from the requests outstanding.

    Little's law (1961) holds for any closed loop that is always full; a cell that does not obey it
    was too short, or fio could not keep the queue full. None for open loops, and next to other
    loads.
    """
    mean_ns = measured.latency.mean_ns
    is_open = stimulus.rate_per_s is not None or bool(stimulus.beside)
    if is_open or mean_ns is None or not measured.seconds:
        return None
    return measured.iops * mean_ns * 1e-9 / stimulus.outstanding - 1.0


def _add(
    total: _Total, leg: job.Leg, series: list[parse.Totals], done: job.Done, sample_s: float | None
) -> int:
    """Add a leg to what there is; return the bytes that it moved."""
    last = series[-1]
    done.legs += 1
    share = leg.ramp_s / last.seconds if last.seconds > 0 else 0.0
    guess = round(last.bytes * share)
    moved = last.bytes + guess
    if sample_s is not None and not leg.is_ramp:
        total.samples += parse.samples(series, sample_s, done.seconds + leg.ramp_s)
    done.seconds += last.seconds + leg.ramp_s
    done.ios += last.ios + round(last.ios * share)
    done.bytes += moved
    total.elapsed_s += last.seconds + leg.ramp_s
    total.ramp_bytes += round(last.writes.bytes * share)
    total.ramp_guess += round(last.writes.bytes * share)
    if leg.is_ramp:
        total.ramp_bytes += last.writes.bytes
        return moved
    total.seconds += last.seconds
    if total.began_at_s is None:
        total.began_at_s = round(time.time() - last.seconds, 3)
    total.reads.append(last.reads)
    total.writes.append(last.writes)
    total.parts.append(last.parts)
    total.cpu_s += last.cpu_pct * last.seconds
    if last.util_pct is None or total.util_s is None:
        total.util_s = None
    else:
        total.util_s += last.util_pct * last.seconds
    return moved


def _measurement(
    total: _Total, done: job.Done, stimulus: Stimulus, inside: dict[str, float | int | None]
) -> Measurement:
    """Join what the legs gave."""
    reads, writes = _joined(total.reads), _joined(total.writes)
    inside = {"legs": done.legs, "began_at_s": total.began_at_s, **inside}
    if total.seconds > 0:
        inside["cpu_pct"] = total.cpu_s / total.seconds * stimulus.threads
        if total.util_s is not None:
            inside["disk_util_pct"] = total.util_s / total.seconds
    if total.ramp_guess:
        inside["ramp_bytes_estimated"] = total.ramp_guess
    return Measurement(
        seconds=total.seconds,
        elapsed_s=total.elapsed_s,
        reads=reads,
        writes=writes,
        written_bytes=writes.bytes + total.ramp_bytes,
        end_bytes=done.start_bytes,
        samples=tuple(total.samples),
        inside=inside,
        loads=tuple(
            LoadPart(
                _joined([parts[index].reads for parts in total.parts]),
                _joined([parts[index].writes for parts in total.parts]),
            )
            for index in range(len(total.parts[0]) if total.parts else 0)
        ),
    )


def _joined(parts: list[Requests]) -> Requests:
    return Requests(
        ios=sum(part.ios for part in parts),
        bytes=sum(part.bytes for part in parts),
        latency=Histogram.merged([part.latency for part in parts]),
    )
