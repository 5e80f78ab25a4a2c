"""`benchmark`: one workload, or a job file of fio, on one device."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._run_report import run_and_report
from opennandlab.cli._typed import typed
from opennandlab.cli.options.rows import flag
from opennandlab.cli.options.run import MeasuredRunOptions

# Options that say something of a workload, or of its result.
OF_WORKLOADS = ("output", "plot", "breakdown", "breakdown_plot", "timeline")
OF_JOBS = ("fio_output", "fio_logs", "section", "env")


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(MeasuredRunOptions):
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
    fio_output: Annotated[
        Path | None, flag("Of a job file: the result in fio's own JSON.", metavar="FILE")
    ] = None
    fio_logs: Annotated[
        Path | None, flag("Of a job file: a directory for fio's logs.", metavar="DIR")
    ] = None
    section: Annotated[
        list[str] | None,
        flag("Of a job file: run this section only. May be repeated.", metavar="NAME"),
    ] = None
    env: Annotated[
        bool, flag("Of a job file: replace ${NAME} by the environment's.", "--env")
    ] = False


def benchmark(given: BenchmarkOptions) -> None:
    """Run one workload, or the jobs of a fio job file, on one simulated device."""
    from opennandlab.core.config import workload_presets
    from opennandlab.core.run import Start, prepare_benchmark
    from opennandlab.measured.fio.jobtext import is_job_file

    device_sets, workload_sets = terminal.split_sets(given.settings)
    own = terminal.own_file(given.workload, workload_presets())
    if own is not None and is_job_file(own):
        from opennandlab.cli._fio_jobs import run_jobs

        given.refuse(OF_WORKLOADS, "on a job file of fio; accepted: --fio-output, --fio-logs")
        run_jobs(given, own, device_sets, workload_sets)
        return
    given.refuse(OF_JOBS, "on a workload; accepted: with a job file of fio")
    watch = given.observation()
    given.check_outputs({"the workload": own})
    start = Start(given.device(device_sets), given.seed, given.state)
    run_and_report(prepare_benchmark(start, given.workload, workload_sets, watch), given)
