"""`benchmark`: one workload, or a job file of fio, on one device."""

from typing import TYPE_CHECKING

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._run_report import run_and_report
from opennandlab.cli._trace_tables import read_as
from opennandlab.cli.options.benchmark import BenchmarkOptions

if TYPE_CHECKING:
    from opennandlab.core.run import Run

# Options of a workload or of its result, and those of a job file.
OF_WORKLOADS = (
    "output",
    "breakdown",
    "breakdown_plot",
    "timeline",
    "ocp",
    "ocp_thresholds",
    "shrink",
    "band",
    "probes",
    "shift",
    "min_size",
)
OF_JOBS = ("fio_output", "fio_logs", "section", "env")


def benchmark(given: BenchmarkOptions) -> None:
    """Run one workload, or the jobs of a fio job file, on one simulated device."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import Source, workload_presets
    from opennandlab.core.run import Start, prepare_benchmark
    from opennandlab.measured.fio.jobtext import is_job_file

    device_sets, workload_sets = terminal.split_sets(given.settings)
    own = terminal.own_file(given.workload, workload_presets())
    if own is not None and is_job_file(own):
        from opennandlab.cli._fio_jobs import run_jobs

        given.refuse(
            OF_WORKLOADS, "on a job file of fio; accepted: --fio-output, --fio-logs, --plot"
        )
        run_jobs(given, own, device_sets, workload_sets)
        return
    given.refuse(OF_JOBS, "on a workload; accepted: with a job file of fio")
    workload_sets = given.changes(given.workload, workload_sets)
    if given.band:
        given.refuse(("probes",), "with --band; accepted: one drive")
        from opennandlab.cli._band import run_band

        run_band(given, device_sets, workload_sets)
        return
    watch = given.observation()
    given.check_outputs({"the workload": own})
    device = given.device(device_sets)
    workload: Source = given.workload
    if given.shrink is not None:
        from opennandlab.cli._band import fitting

        if device is None:
            raise ConfigError("--shrink", "an image brings its device; accepted: no image")
        device, workload = fitting(given, device, workload_sets)
        workload_sets = {}
    start = Start(device, given.seed, given.state)
    run = prepare_benchmark(start, workload, workload_sets, watch)
    probes = None
    if given.probes is None:
        given.refuse(("probe_count", "probe_ios"), "without probes; accepted: with --probes")
    else:
        given.refuse(("slice_ops",), "with --probes, whose positions depend on it")
        from opennandlab.core.probes import Probes

        probes = Probes(run, count=given.probe_count, requests=given.probe_ios)
    read = run.traces.files if run.traces else ()
    given.check_outputs({f"the trace {path}": path for path in read})
    if run.traces and not given.as_json and not given.quiet:
        for name, summary in run.traces.summaries():
            terminal.stdout().print(read_as(name, summary), markup=False, soft_wrap=True)
    if given.shrink is None and device is not None and not given.quiet:
        _tell_long(run)
    run_and_report(run, given, probes)


def _tell_long(run: "Run") -> None:
    """State how long a long run takes before it begins, if a smaller drive can replace it."""
    from opennandlab.core.forecast import hint

    found = hint(run.device, run.workload)
    if found is not None:
        least, most, text = found
        span = " to ".join(dict.fromkeys(map(terminal.duration, (least, most))))
        what = f"{run.workload.name} on {run.device.name}"
        terminal.note(f"note: {what} takes about {span} of processor time; {text}")
