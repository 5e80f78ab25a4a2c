"""Options of `benchmark`."""

from dataclasses import dataclass
from typing import Annotated

from opennandlab.cli._typed import typed
from opennandlab.cli.options.common import Band, Shrink
from opennandlab.cli.options.fio import JobFileOptions
from opennandlab.cli.options.rows import flag


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(JobFileOptions):
    """Options of `benchmark`."""

    workload: Annotated[
        str,
        flag(
            "The workload of the host, or a job file of fio.",
            "-w",
            metavar="W1..W5|FILE|JOB.fio",
            callback=typed,
        ),
    ]
    shrink: Shrink = None
    band: Band = None
