"""Options of `benchmark`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from opennandlab.cli._typed import typed
from opennandlab.cli.options.common import Band, Shrink
from opennandlab.cli.options.fio import JobFileOptions
from opennandlab.cli.options.rows import flag
from opennandlab.cli.options.workload import WorkloadOptions


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(WorkloadOptions, JobFileOptions):
    """Options of `benchmark`."""

    workload: Annotated[
        str,
        flag(
            "The workload of the host, or a job file of fio.",
            "-w",
            metavar="NAME|FILE|JOB.fio",
            callback=typed,
        ),
    ]
    probes: Annotated[
        Path | None,
        flag(
            "Rates, latencies and simulated days in the course of an untimed run: timed "
            "requests on copies of its drive, evenly over the run, a row of the CSV file "
            "each. The result is the same as without it.",
            metavar="FILE",
        ),
    ] = None
    probe_count: Annotated[int, flag("Number of probes.", metavar="N", min=1, max=10_000)] = 50
    probe_ios: Annotated[
        int, flag("Requests of each probe.", metavar="N", min=1, max=10_000_000)
    ] = 20_000
    shrink: Shrink = None
    band: Band = None

    def outputs(self) -> Mapping[str, Path | None]:
        """Return the files that are written, by their options."""
        return {**super().outputs(), "--probes": self.probes}
