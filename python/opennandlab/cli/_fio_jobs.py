"""`benchmark` of a job file: its run, its files, and its tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import draw

if TYPE_CHECKING:
    from opennandlab.cli.options.fio import JobFileOptions
    from opennandlab.core.jobs import JobResult, JobRun
    from opennandlab.measured.fio.output import Reported
    from opennandlab.reports.figure.paper import Paper

HEAD = ["job", "rw", "bs", "QD", "requests", "IOPS", "MB/s", "mean µs", "p99 µs"]


def run_jobs(
    given: JobFileOptions,
    path: Path,
    device_sets: dict[str, Any],
    workload_sets: Mapping[str, Any],
) -> None:
    """Run the jobs of a file, write the files that were asked for, and print the tables."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import STDOUT
    from opennandlab.core.jobs import JobRun
    from opennandlab.core.run import Start

    if workload_sets:
        key = next(iter(workload_sets))
        raise ConfigError(
            "set", f"workload.{key}: a job file has no keys to set; edit the file instead"
        )
    to_stdout = given.as_json or given.fio_output == STDOUT
    output = None if given.fio_output == STDOUT else given.fio_output
    outputs = {
        "--fio-output": output, "--save-image": given.save_image, "--plot": given.plot
    }  # fmt: skip
    inputs = {"the job file": path, **terminal.read_files(given.config, given.state)}
    terminal.check_outputs(outputs, inputs)
    terminal.check_folder(given.fio_logs)
    paper = given.page(given.plot)
    run = JobRun(
        Start(given.device(device_sets), given.seed, given.state),
        path,
        only=given.section or (),
        environment=dict(os.environ) if given.env else None,
        folder=given.fio_logs,
    )
    try:
        with terminal.progress_line(quiet=given.quiet) as show:
            result = run.measure(show, given.slice_ops)
    except KeyboardInterrupt:
        _stop_interrupted(run, given)
    if result.problem:
        terminal.stop(terminal.FAILED, result.problem, as_json=to_stdout)
    title = f"{path.name} on {run.device.name}, seed {run.seed}"
    _write(run, result, given, output, title, paper)
    if to_stdout:
        terminal.emit_json(result.document())
    elif not given.quiet:
        _show(result, title)
    if not given.quiet:
        for text in run.cautions(result):
            terminal.note(f"warning: {text}", style="yellow")
    _note(
        result,
        given,
        {
            "fio output": output,
            "fio logs": given.fio_logs,
            "plot": given.plot,
        },
    )


def _write(
    run: JobRun,
    result: JobResult,
    given: JobFileOptions,
    output: Path | None,
    title: str,
    paper: Paper | None,
) -> None:
    if output is not None:
        result.save(output)
    if given.save_image is not None:
        run.save_image(given.save_image)
    if given.plot is not None:
        from opennandlab.reports import jobs

        draw(jobs.report(result.jobs, title), given.plot, paper, is_told=not given.quiet)


def _stop_interrupted(run: JobRun, given: JobFileOptions) -> NoReturn:
    """Report the files of an interrupted run, and end."""
    parts = [f"{run.stages_done} of {len(run.plan.stages)} stages were done"]
    if given.fio_output is not None:
        parts.append(f"{given.fio_output} was not written: it needs a complete run")
    if given.fio_logs is not None:
        parts.append(f"{given.fio_logs} has the logs of those stages")
    text = f"interrupted: {'; '.join(parts)}"
    terminal.stop(terminal.INTERRUPTED, text, as_json=given.as_json)


def _show(result: JobResult, title: str) -> None:
    from opennandlab.base.words import number
    from opennandlab.reports.words import span

    console = terminal.stdout()
    console.print(title, style="bold", markup=False, soft_wrap=True)
    rows = [row for job in result.jobs for row in _rows(job)]
    console.print(terminal.plain_table(HEAD, rows))
    parts = [f"simulated {span(result.elapsed_ns * 1e-9)}"]
    if result.waf is not None:
        parts.append(f"WAF {number(result.waf)}")
    console.print(", ".join(parts), markup=False, style="dim")


def _rows(job: Reported) -> list[list[str]]:
    """Return a line for each direction of a job that had requests."""
    from opennandlab.base.words import number
    from opennandlab.measured.fio.output import SIDES, options

    given, depth = options(job.first), str(job.first.spec["depth"])
    size = next((given[name] for name in ("bssplit", "bsrange") if name in given), given["bs"])
    name = str(job.first.job.values.get("name", job.first.job.section.name))
    if len(job.processes) > 1:
        depth += f" x {len(job.processes)}"
    used = [side for side in SIDES if job.sides[side].count]
    rows: list[list[str]] = []
    for side in used:
        times, seconds = job.sides[side], job.ran_ns(side) * 1e-9
        mode = given["rw"] if len(used) == 1 else f"{given['rw']} {side}"
        rows.append([
            *("" if rows else name, mode, "" if rows else size, "" if rows else depth),
            number(times.count),
            number(times.count / seconds) if seconds else "-",
            number(job.bytes(side) / seconds * 1e-6) if seconds else "-",
            number(times.mean_ns * 1e-3), number(times.percentile(99.0) * 1e-3),
        ])  # fmt: skip
    return rows or [[name, given["rw"], size, depth, "0", "-", "-", "-", "-"]]


def _note(result: JobResult, given: JobFileOptions, paths: Mapping[str, Path | None]) -> None:
    """Print on stderr which options were not carried out as written, and where the files are."""
    if given.quiet:
        return
    for text in result.plan.notes:
        terminal.note(f"note: {text}")
    for job in result.jobs:
        if not any(side.count for side in job.sides.values()):
            section = job.first.job.section
            terminal.note(f"note: {section.place}: [{section.name}]: no request in process "
                          f"{job.first.sub}")  # fmt: skip
    wants = any(
        name.startswith("write_") and name.endswith("_log")
        for process in result.plan.processes
        for name in process.job.values
    )
    if wants and given.fio_logs is None:
        terminal.note("note: logs are written with --fio-logs DIR")
    for name, path in paths.items():
        if path is not None:
            terminal.note(f"{name} saved to {path}")
