"""A fio job file on a simulated drive: stage after stage, in virtual time.

The drive is filled once from end to end before, unless a state is given: pages that were never
written are read in no time. Everything follows from the device, its state, the file and the seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import write_atomically, write_pieces_atomically
from opennandlab.core.cautions import part_reads, part_writes
from opennandlab.core.config import DeviceConfig, load_steps
from opennandlab.core.memory import check_memory
from opennandlab.core.run import Start
from opennandlab.core.slices import Progress, iter_run
from opennandlab.measured.fio.joblogs import REQUEST, logs
from opennandlab.measured.fio.jobtext import sections
from opennandlab.measured.fio.output import Reported, document, reported
from opennandlab.measured.fio.plan import Drive, Plan, Process, plan

FILL = "sequential fill"


@dataclass(frozen=True)
class JobResult:
    """The results of the jobs of a file.

    Args:
        plan: The plan that was run.
        outcomes: The outcome of each stage, from the core.
        problem: Why the figures cannot be used; empty if they can.
    """

    plan: Plan
    outcomes: Sequence[Mapping[str, Any]]
    problem: str

    @property
    def jobs(self) -> list[Reported]:
        """The jobs of the output."""
        return list(reported(self.plan, self.outcomes))

    @property
    def elapsed_ns(self) -> int:
        """Simulated time of all stages."""
        return sum(int(outcome["elapsed_ns"]) for outcome in self.outcomes)

    @property
    def waf(self) -> float | None:
        """Bytes that the flash programmed over those that were written; None without writes."""
        written = sum(outcome["host_bytes"] for outcome in self.outcomes)
        return sum(one["nand_bytes"] for one in self.outcomes) / written if written else None

    def document(self) -> dict[str, Any]:
        """Return the JSON output of fio."""
        return document(self.jobs, _core.version(), self.elapsed_ns)

    def save(self, path: Path) -> None:
        """Write the JSON output of fio.

        Raises:
            WriteError: with the reason.
        """
        write_atomically(path, (json.dumps(self.document(), indent=2) + "\n").encode())


class JobRun:
    """A job file that is ready to be run: everything is checked, nothing has happened.

    Args:
        start: Device, seed and state.
        path: The job file.
        only: Names of the sections that are run; empty for all.
        environment: For `${NAME}`; None if that is not allowed.
        folder: Where logs are written; None for none.

    Raises:
        ConfigError: with file and line, the value, and the accepted ones.
    """

    def __init__(
        self,
        start: Start,
        path: Path,
        *,
        only: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Read the file, and build the drive."""
        found = sections(path, environment)
        names = [one.name for one in found]
        for name in only:
            if name not in names:
                accepted = ", ".join(dict.fromkeys(names))
                raise ConfigError("section", f"`{name}` is not in {path}; accepted: {accepted}")
        self.device, core, _ = start.open()
        chosen = [one for one in found if not only or one.name in only]
        self.plan = plan(chosen, _drive_of(self.device), logs=folder is not None)
        if core is None:
            check_memory(self.device)
            core = self.device.drive(start.seed)
        self.seed, self._core = start.seed, core
        self._folder = folder
        # How many stages were run, and their logs written.
        self.stages_done = 0
        # Logs that several stages write into one file.
        self._shared: dict[str, list[str]] = {}
        self._fills = not start.is_given
        for stage in self.plan.stages:
            self._check(stage)

    def _check(self, processes: Sequence[Process]) -> None:
        """Refuse a stage that the core would refuse.

        Raises:
            ConfigError: with the place of the job.
        """
        try:
            self._core.check_jobs(_specs(processes))
        except ConfigError as error:
            head, _, key = error.path.partition("].")
            number = head.removeprefix("[")
            job = processes[int(number) if number.isdigit() else 0].job
            message = f"{key}: {error.message}" if key else error.message
            raise ConfigError(job.section.place, message) from error

    def measure(
        self,
        progress: Callable[[Progress], None] | None = None,
        slice_ops: int | None = None,
    ) -> JobResult:
        """Run all stages, and write the logs.

        Args:
            progress: Called about 50 times a second.
            slice_ops: Operations in a slice; results do not depend on it.

        Raises:
            WriteError: for a log that cannot be written.
        """
        count = len(self.plan.stages) + self._fills
        if self._fills:
            self._core.begin_precondition(
                load_steps([{"kind": "sequential_fill", "fills": 1}]).core, self.seed
            )
            self._follow(0, count, FILL, progress, slice_ops)
        outcomes: list[dict[str, Any]] = []
        problem = ""
        for stage in range(len(self.plan.stages)):
            self._core.begin_jobs(_specs(self.plan.stages[stage]), self.seed + stage)
            name = ", ".join(dict.fromkeys(
                process.job.section.name for process in self.plan.stages[stage]
            ))  # fmt: skip
            self._follow(stage + self._fills, count, name, progress, slice_ops)
            outcomes.append(json.loads(self._core.jobs()))
            problem = _problem(outcomes[-1])
            if problem:
                break
            self._write_logs(stage, outcomes[-1])
            self.stages_done = stage + 1
        return JobResult(self.plan, outcomes, problem)

    def cautions(self, result: JobResult) -> list[str]:
        """Return warnings against reading more out of a result than is in it.

        Args:
            result: What `measure` returned.
        """
        device = self.device.to_dict()
        rules = {"write": part_writes, "read": part_reads}
        found: list[str] = []
        for side, rule in rules.items():
            counts = [(job.bytes(side), job.sides[side].count) for job in result.jobs]
            means = [total / count for total, count in counts if count]
            found += rule(device, min(means)) if means else ()
        return found

    def _follow(
        self,
        index: int,
        count: int,
        name: str,
        progress: Callable[[Progress], None] | None,
        slice_ops: int | None,
    ) -> None:
        for state in iter_run(self._core, slice_ops):
            if progress is not None:
                is_last = state.finished and index + 1 == count
                progress(replace(
                    state, stage=name, stage_index=index, stage_count=count, finished=is_last
                ))  # fmt: skip

    def _write_logs(self, stage: int, outcome: Mapping[str, Any]) -> None:
        if self._folder is None:
            return
        files: dict[str, list[str]] = {}
        rows = zip(self.plan.stages[stage], outcome["processes"], strict=True)
        for index, (process, row) in enumerate(rows):
            requests = np.frombuffer(self._core.job_requests(index), dtype=REQUEST)
            is_shared = not process.job.values.get("per_job_logs", True)
            for name, lines in logs(process, row, requests).items():
                if is_shared:
                    files[name] = self._shared.setdefault(name, [])
                files.setdefault(name, []).extend(lines)
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, lines in files.items():
            write_pieces_atomically(self._folder / name, (f"{line}\n".encode() for line in lines))

    def save_image(self, path: Path) -> None:
        """Write the drive's state as a device image: all of it, or nothing.

        Raises:
            WriteError: with the reason.
        """
        write_atomically(path, self._core.image())


def _specs(processes: Sequence[Process]) -> str:
    return json.dumps([dict(process.spec) for process in processes])


def _drive_of(device: DeviceConfig) -> Drive:
    placement = device.to_dict()["ftl"].get("placement")
    kind = placement if isinstance(placement, Mapping) else {}
    # Id 0 of streams is that of writes without one.
    handles = kind.get("handles", 0) or (kind["count"] + 1 if "count" in kind else 0)
    return Drive(int(device.effective["logical_bytes"]), int(handles))


def _problem(outcome: Mapping[str, Any]) -> str:
    """Return why the figures of a stage cannot be used; empty if they can."""
    if outcome["failures"]:
        return "; ".join(outcome["failures"])
    if outcome["is_worn_out"]:
        return "the drive is worn out and takes no more writes (nand.max_pe_cycles)"
    if outcome["is_standstill"]:
        return (
            "no time passes: every request is answered without the flash; write the range "
            "first, or give the device a link or command costs"
        )
    return ""
