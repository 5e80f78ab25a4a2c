"""What a run of the simulator leaves: files, tables on stdout, notes on stderr, an exit code."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._streams import emit_json, note, stdout
from opennandlab.cli._tables import plain_table
from opennandlab.cli.options.common import draw
from opennandlab.cli.options.run import MeasuredRunOptions

if TYPE_CHECKING:
    from opennandlab.core.probes import Probes
    from opennandlab.core.result import Result
    from opennandlab.core.run import Run
    from opennandlab.core.slices import Progress
    from opennandlab.reports.figure.paper import Paper


def run_and_report(run: "Run", given: MeasuredRunOptions, probes: "Probes | None" = None) -> None:
    """Run, write the files, print the tables, and end with the exit code of the outcome.

    Args:
        run: The run.
        given: Its options.
        probes: Takes probes of the run; None for none.
    """
    from opennandlab.base.errors import OutputError
    from opennandlab.core.result import NOTHING_MEASURED, Interrupted

    code = terminal.DONE
    paper = given.page(given.plot)
    try:
        with terminal.progress_line(quiet=given.quiet) as show:
            result = run.measure(
                progress=_until_finished(show, probes),
                slice_ops=given.slice_ops if probes is None else probes.slice_ops,
            )
        code = terminal.DONE if result.passed else terminal.FAILED
    except Interrupted as interruption:
        if interruption.result is None:
            text = f"interrupted: {NOTHING_MEASURED}, so no file is written"
            terminal.stop(terminal.INTERRUPTED, text, as_json=given.as_json)
        # A second Ctrl-C, pressed in doubt, must not cost the part that is now being saved.
        terminal.ignore_signals()
        result, code = interruption.result, terminal.INTERRUPTED
    problem = None
    given = _beside_whole(given) if code == terminal.INTERRUPTED else given
    try:
        _write(run, result, given, paper, interrupted=code == terminal.INTERRUPTED)
        _save_probes(probes, given)
    except OutputError as error:
        kept = _rescue(result) if given.output is not None else None
        problem = f"{error}" + (f"; the result is kept in {kept}" if kept else "")
    if given.as_json:
        emit_json(result.document)
    elif not given.quiet:
        show_result(result)
        _show_probes(probes)
    if not given.quiet:
        drawn = {} if problem else given.drawings()
        if not result.breakdown:
            drawn.pop("breakdown", None)
        if given.ocp is not None and not problem:
            drawn["logs of the drive"] = given.ocp
        show_notes(result, None if problem else given.output, drawn)
    if given.timeline is not None:
        problem = problem or _write_timeline(result, given.timeline[1], quiet=given.quiet)
    raise typer.Exit(_requests_verdict(result, _verdict(result, code, problem), quiet=given.quiet))


def _show_probes(probes: "Probes | None") -> None:
    """Print mean, least and most of the probes of a run, if it took any."""
    if probes is None:
        return
    from opennandlab.base.words import number
    from opennandlab.core.probes import spread

    rows = [(name, *map(number, values)) for name, *values in spread(probes.rows)]
    stdout().print(f"\n{len(probes.rows)} timed probes on copies of the drive", markup=False)
    stdout().print(plain_table(["probe", "mean", "least", "most"], rows))
    if len(probes.rows) < probes.count:
        missing = f"{len(probes.rows)} of {probes.count} probes"
        note(f"{missing}: the run is too short for more, or its drive took no more requests")


def _beside_whole(given: MeasuredRunOptions) -> MeasuredRunOptions:
    """Return options whose files do not replace those of an earlier whole run."""
    from opennandlab.base.errors import OpenNandLabError
    from opennandlab.core.result import Result

    if given.output is None or not given.output.is_file():
        return given
    try:
        if Result.load(given.output).partial:
            return given
    except OpenNandLabError:
        pass  # Whatever it is, it is not the part of a run.
    files = {name: getattr(given, name) for name in ("output", "plot", "breakdown_plot")}
    names = {
        name: path.with_name(f"{path.stem}.partial{path.suffix}")
        for name, path in files.items()
        if path is not None and path.is_file()
    }
    note(f"{given.output} stays as it was: the partial one is saved next to it")
    return replace(given, **names)


def _until_finished(
    show: Callable[["Progress"], None] | None, probes: "Probes | None"
) -> Callable[["Progress"], None]:
    """Return a watcher after whose last call a run can no longer be interrupted: it is over."""

    def watch(state: "Progress") -> None:
        if probes is not None:
            probes.look(state)
        if state.finished:
            terminal.ignore_signals()
        if show is not None:
            show(state)

    return watch


def _verdict(result: "Result", code: int, problem: str | None) -> int:
    """Say what went wrong; return the exit code."""
    if code == terminal.FAILED:
        what = "self-checks failed" if result.content.metrics else "nothing was measured"
        note(f"error: {what}: " + "; ".join(result.failed_checks()), style="bold red")
    if code == terminal.INTERRUPTED:
        note("interrupted: the result is partial", style="bold red")
    if problem:
        note(f"error: {problem}", style="bold red")
        return terminal.BROKEN
    return code


def _requests_verdict(result: "Result", code: int, *, quiet: bool) -> int:
    """Print the number of rows in the file of the requests; return the exit code."""
    file = result.requests
    if file is None:
        return code
    if file.problem is not None:
        note(f"error: {file}", style="bold red")
        return code or terminal.FAILED
    if not quiet:
        note(str(file))
    return code


def _save_probes(probes: "Probes | None", given: MeasuredRunOptions) -> None:
    path = given.outputs().get("--probes")
    if probes is not None and path is not None:
        probes.save(path)


def _write(
    run: "Run",
    result: "Result",
    given: MeasuredRunOptions,
    paper: "Paper | None",
    *,
    interrupted: bool,
) -> None:
    if given.output is not None:
        result.save(given.output)
    if given.plot is not None:
        from opennandlab.reports.plot import report

        draw(report(result.content), given.plot, paper, is_told=not given.quiet)
    if given.breakdown_plot is not None and result.breakdown:
        from opennandlab.reports import breakdown

        breakdown.write(result.content, given.breakdown_plot)
    if given.ocp is not None and result.logs is not None:
        from opennandlab.core.device_logs import save

        save(result.logs, given.ocp)
    if given.save_image is not None and not interrupted:
        run.save_image(given.save_image)
    elif given.save_image is not None:
        note(f"warning: no image in {given.save_image}: the run was interrupted", style="yellow")


def _write_timeline(result: "Result", path: Path, *, quiet: bool) -> str | None:
    """Write the timeline of a run and say where to open it; return what went wrong."""
    from opennandlab.base.errors import OutputError
    from opennandlab.core.observation import VIEWERS

    timeline = result.timeline
    if timeline is None:
        note(f"warning: no timeline in {path}: nothing was measured", style="yellow")
        return None
    try:
        timeline.save(path)
    except OutputError as error:
        return str(error)
    if not quiet:
        for text in timeline.notes():
            note(f"warning: {text}", style="yellow")
        note(f"timeline saved to {path}: open it in {VIEWERS}")
    return None


def _rescue(result: "Result") -> Path | None:
    import tempfile

    from opennandlab.base.errors import OutputError

    # In a folder of its own: where a name can be known before, another user may lay a link.
    try:
        path = Path(tempfile.mkdtemp(prefix="opennandlab-")) / "result.json"
        result.save(path)
    except (OutputError, OSError):
        return None
    return path


def show_result(result: "Result") -> None:
    """Print the tables of a result on stdout."""
    from opennandlab.base.words import number, size
    from opennandlab.reports.metric_rows import metric_rows
    from opennandlab.reports.summary import (
        activity_table,
        collection_table,
        footnotes,
        handle_table,
        latency_table,
        namespace_table,
        state_text,
        tenant_table,
        zone_table,
    )
    from opennandlab.reports.time_parts import breakdown_tables

    document = result.content
    console = stdout()
    effective = document.effective
    name = document.run.device_name or "device"
    mark = " (partial: interrupted)" if result.partial else ""
    title = f"{document.workload.get('name', '?')} on {name}, seed {document.seed}{mark}"
    console.print(title, style="bold", markup=False)
    drive = (
        f"{size(effective.raw_bytes)} raw, {size(effective.logical_bytes)} logical, "
        f"spare factor {number(effective.spare_factor)} "
        f"(effective {number(effective.spare_factor_effective)}), "
        f"{_policy(document.device['ftl'])}"
    )
    for line in (drive, f"measured from {state_text(document.state)}"):
        console.print(line, markup=False, soft_wrap=True)
    console.print(plain_table(["metric", "value", "unit"], metric_rows(document)))
    for text in footnotes(document):
        console.print(text, markup=False, style="dim")
    tables = (
        latency_table(document),
        tenant_table(document),
        namespace_table(document),
        handle_table(document),
        zone_table(document),
        activity_table(document),
    )
    for head, lines in tables:
        if lines:
            console.print()
            console.print(plain_table(head, lines))
    for part in breakdown_tables(document):
        console.print()
        console.print(plain_table(part.head, part.rows))
        console.print(part.answer, markup=False, soft_wrap=True)
    head, lines = collection_table(document)
    if lines:
        console.print()
        console.print(plain_table(head, lines))
    console.print(f"\ndigest {result.digest}", markup=False, soft_wrap=True)


def show_notes(
    result: "Result", saved: Path | None, drawn: Mapping[str, Path] | None = None
) -> None:
    """Print the warnings, and where the result and its drawings are, on stderr."""
    from opennandlab.reports.summary import warning_lines

    for text in warning_lines(result.warnings):
        note(f"warning: {text}", style="yellow")
    if saved is not None:
        note(f"result saved to {saved}")
    for name, path in (drawn or {}).items():
        note(f"{name} saved to {path}")


def _policy(ftl: Mapping[str, object]) -> str:
    """Say how garbage is collected, or pages are mapped where that is not by pages in RAM."""
    mapping = _kind(ftl.get("mapping", "page"))
    collection = f"GC {_kind(ftl.get('gc_policy'))}"
    if mapping == "page":
        return collection
    return f"mapping {mapping}, {collection}" if mapping == "dftl" else f"mapping {mapping}"


def _kind(value: object) -> str:
    if isinstance(value, dict) and value.get("kind") == "python":
        return str(value.get("name"))
    return str(value.get("kind", value)) if isinstance(value, dict) else str(value)
