"""How the standard tests run under a command: progress, tables, files and exit codes."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from opennandlab.cli import _pts_tables as tables
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._gate import gate_plan
from opennandlab.cli._progress import Shown, shown
from opennandlab.cli.options.pts import Asked

# What differs between the drives of a data sheet, of which only the first is shown.
VARIANT = "variant"

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opennandlab.documents.pts import PtsDocument, Varied
    from opennandlab.pts.bench.folder import Place
    from opennandlab.pts.bench.pace import Pace
    from opennandlab.pts.bench.plan import Plan
    from opennandlab.pts.bench.record import Progress
    from opennandlab.pts.bench.rehearsal import Rehearsal
    from opennandlab.pts.bench.suite import Job, Suite
    from opennandlab.targets.base import Target


def _check_csv(csv: Path, wanted: Asked) -> None:
    """Refuse a table that would replace the target, its record or a file of the run."""
    folder = wanted.output
    if folder is not None and folder.resolve() in (csv.resolve(), *csv.resolve().parents):
        message = f"--csv {csv} is in the folder of --output; accepted: a file outside of {folder}"
        terminal.stop(terminal.REFUSED, message, as_json=wanted.as_json)
    device = Path(wanted.request.text.partition(":")[2] or wanted.request.text)
    inputs = {"the target": device, "its record": device.with_suffix(".rating.json")}
    terminal.check_outputs({"--csv": csv}, inputs)


def execute(
    wanted: Asked,
    name: str,
    jobs: list["Job"],
    varied: "Varied | None",
    more: "Callable[[Suite], dict[str, Any]] | None" = None,
    *,
    csv: Path | None = None,
) -> None:
    """Run jobs, print their tables, and end with the exit code of the outcome.

    Args:
        wanted: What was asked for.
        name: Name of the suite.
        jobs: Its tests.
        varied: What differs between them.
        more: Prints what else follows from them, and returns it for the document.
        csv: Where the cells of `identify` go, too.
    """
    if csv is not None:
        _check_csv(csv, wanted)
        if varied is not None:
            terminal.stop(terminal.REFUSED, "--csv is for one run; accepted: without --vary")
    if wanted.dry_run:
        _plan(wanted, name, jobs)
        return
    suite = _measured(wanted, name, jobs, varied)
    if csv is not None:
        _write_cells(list(suite.documents.values()), csv)
    _finish(wanted, suite, {} if more is None else more(suite))
    _demand_watts(wanted, suite)
    if wanted.require_steady:
        _demand_steady(list(suite.documents.values()))


def _demand_watts(wanted: Asked, suite: "Suite") -> None:
    """End with the code of a refusal if the log of `--power-log` did not fit a document."""
    from opennandlab.cli._pts_power import is_without

    if wanted.power_log is not None and any(map(is_without, suite.documents.values())):
        raise typer.Exit(terminal.REFUSED)


def _write_cells(documents: list["PtsDocument"], csv: Path) -> None:
    from opennandlab.base.files import write_atomically
    from opennandlab.documents.pts_inside import IdentifyResults
    from opennandlab.reports.pts.csv import long_form

    found = [one.results for one in documents if isinstance(one.results, IdentifyResults)]
    text = long_form([point for results in found for point in results.points])
    write_atomically(csv, text.encode())


def _measured(wanted: Asked, name: str, jobs: list["Job"], varied: "Varied | None") -> "Suite":
    """Run jobs and print their tables; end the command where that fails."""
    from opennandlab.base.errors import ConfigError, OutputError
    from opennandlab.pts.bench.folder import Place
    from opennandlab.pts.bench.runner import BrokenError, Cut
    from opennandlab.pts.bench.suite import Suite, run_suite
    from opennandlab.targets.base import TargetError, WornOutError

    place = Place(wanted.output, wanted.resume, wanted.ocp)
    if wanted.resume and wanted.output is None:
        terminal.stop(
            terminal.REFUSED, "--resume needs the --output of the run", as_json=wanted.as_json
        )
    suite = Suite(name, varied=varied)

    changed = {job.name: job.overrides for job in jobs}

    def done(document: "PtsDocument") -> None:
        document = suite.documents[document.name] = _with_log(wanted, document)
        _remark(wanted, document, changed.get(document.name))
        if varied is not None and varied.key == VARIANT and document.name != varied.documents[0]:
            return
        if isinstance(watch, Shown):
            watch.clear()
        if not wanted.quiet and not wanted.as_json:
            tables.show(document)
            typer.echo("")

    try:
        with (
            _held(wanted, place, [job.name for job in jobs]),
            progress_line(quiet=wanted.quiet) as watch,
        ):
            run_suite(suite, jobs, wanted.request, place, watch, done)
    except Cut as cut:
        _partial(wanted, cut.document, "interrupted", terminal.INTERRUPTED, is_saved=True)
    except BrokenError as error:
        is_target = isinstance(error.error, TargetError | OutputError | OSError)
        code = terminal.BROKEN if is_target else terminal.FAILED
        if isinstance(error.error, ConfigError):
            code = terminal.REFUSED
        again = _OTHERWISE if isinstance(error.error, ConfigError | WornOutError) else ""
        _partial(wanted, error.document, str(error), code, is_saved=error.is_saved, again=again)
    except (TargetError, OutputError) as error:
        terminal.stop(terminal.BROKEN, str(error), as_json=wanted.as_json)
    return suite


def draw_slides(wanted: Asked, only: str | None) -> None:
    """Run the suite of each slide, and write the page that overlays the documents of each."""
    from opennandlab.pts.bench import slides

    left_out: dict[str, str] = {}
    kept = []
    for slide in slides.chosen(only):
        reason = slides.objection(slide, wanted.request, wanted.settings)
        if reason:
            left_out[slide.name] = reason
        else:
            kept.append(slide)
    overrides = wanted.request.overrides
    made = {slide.name: slides.jobs_of(slide, wanted.settings, overrides) for slide in kept}
    if wanted.dry_run:
        _plan(wanted, "slides", [job for jobs, _ in made.values() for job in jobs])
        _tell_left_out(wanted, left_out)
        return
    if not made:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        terminal.stop(
            terminal.REFUSED, f"no slide is left for this target: {reasons}",
            as_json=wanted.as_json,
        )  # fmt: skip
    suites: dict[str, Suite] = {}
    for name, (jobs, varied) in made.items():
        folder = wanted.output / name if wanted.output is not None else None
        request = replace(wanted.request, folder=folder / "fio" if folder is not None else None)
        own = replace(wanted, output=folder, request=request)
        suites[name] = _measured(own, name, jobs, varied)
    page = _slides_page(wanted, suites, left_out)
    _tell_slides(wanted, suites, left_out, page)
    if wanted.require_steady:
        _demand_steady([one for suite in suites.values() for one in suite.documents.values()])


def _slides_page(
    wanted: Asked, suites: dict[str, "Suite"], left_out: dict[str, str]
) -> Path | None:
    """Write the page of the slides next to their folders; nothing without an output directory."""
    if wanted.output is None:
        return None
    from opennandlab.base.extras import MissingError
    from opennandlab.documents.record import plain
    from opennandlab.pts.bench.slides import SLIDES
    from opennandlab.reports import output
    from opennandlab.reports.pts import slides, source

    chapters = []
    for name, suite in suites.items():
        slide, varied = SLIDES[name], suite.varied
        measured = []
        for document in suite.documents.values():
            content = plain(document)
            moment = source.moment_of(wanted.output / name / f"{document.name}.json", content)
            measured.append(source.read(content, document.name, [], moment))
        if varied is not None:
            chapters.append(
                slides.chapter(
                    name=name,
                    title=slide.title,
                    measured=measured,
                    labels=[slide.label(value) for value in varied.values],
                    varied=varied,
                    note=slide.note,
                )
            )
    page = wanted.output / "slides.html"
    try:
        output.write(slides.report(chapters, left_out, measured[0]), page)
    except MissingError as error:
        terminal.note(f"warning: {page} was not written: {error}", style="yellow")
        return None
    return page


def _tell_slides(
    wanted: Asked, suites: dict[str, "Suite"], left_out: dict[str, str], page: Path | None
) -> None:
    """Print what came of the slides."""
    from opennandlab.documents.record import plain

    if wanted.as_json:
        found = {name: plain(suite.document()) for name, suite in suites.items()}
        written = None if page is None else str(page)
        terminal.emit_json({"slides": found, "left_out": left_out, "page": written})
    if wanted.quiet:
        return
    _tell_left_out(wanted, left_out)
    if page is None:
        terminal.note("nothing was kept; --output DIR keeps all figures, and draws them")
    else:
        names = ", ".join(f"{name}/suite.json" for name in suites)
        terminal.note(f"saved in {wanted.output}: {page.name}, {names}")


def _tell_left_out(wanted: Asked, left_out: dict[str, str]) -> None:
    if not wanted.quiet:
        for name, reason in left_out.items():
            terminal.note(f"warning: {name} was left out: {reason}", style="yellow")


def _demand_steady(documents: "list[PtsDocument]") -> None:
    """End with the code of a failure unless every test that tracks something was steady."""
    from opennandlab.reports.pts.verdict import verdict

    short = []
    for document in documents:
        found = verdict(document)
        if found.word not in {"steady", "measured"}:
            short.append(f"{document.name}: {found.text}")
    if short:
        terminal.note(f"--require-steady: {'; '.join(short)}", style="bold red")
        raise typer.Exit(terminal.FAILED)


def _with_log(wanted: Asked, document: "PtsDocument") -> "PtsDocument":
    """Return a document with the watts of `--power-log`, which it has on the disk, too."""
    from opennandlab.cli._pts_power import with_log
    from opennandlab.pts.bench.document import save

    if wanted.power_log is None:
        return document
    found = with_log(document, wanted.power_log)
    if wanted.output is not None:
        save(found, wanted.output)
    return found


def _remark(
    wanted: Asked, document: "PtsDocument", changed: "Mapping[str, Any] | None" = None
) -> None:
    """Write next to a document what was said of its run by hand, and the keys that it changed."""
    if wanted.output is not None:
        from opennandlab.pts.bench.document import add_remarks

        overrides = {**wanted.request.overrides, **(changed or {})}
        add_remarks(wanted.output, document, replace(wanted.remarks, overrides=overrides))


@contextlib.contextmanager
def _held(wanted: Asked, place: "Place", names: list[str]) -> Iterator[None]:
    """Hold the output directory; end the command where that is refused."""
    from opennandlab.base.errors import OutputError
    from opennandlab.pts.bench.folder import prepared

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(prepared(place, names))
        except OutputError as error:
            terminal.stop(terminal.REFUSED, str(error), as_json=wanted.as_json)
        yield


def _finish(wanted: Asked, suite: "Suite", more: dict[str, Any]) -> None:
    """Print what comes after the tables."""
    from opennandlab.documents.record import plain
    from opennandlab.reports.pts import closed_loop

    documents = list(suite.documents.values())
    if len(documents) > 1 and not more and not wanted.quiet and not wanted.as_json:
        tables.show_suite(documents)
        tables.show_tables(suite.ratios())
    if wanted.as_json:
        is_single = len(documents) == 1 and not suite.left_out
        inner = {name: plain(document) for name, document in suite.documents.items()}
        whole = {**plain(suite.document()), "documents": inner, **more}
        terminal.emit_json(plain(documents[0]) if is_single else whole)
    if wanted.quiet:
        return
    for name, reason in suite.left_out.items():
        terminal.note(f"warning: {name} was left out: {reason}", style="yellow")
    told = [
        (text if more else f"{document.name}: {text}")
        for document in documents
        for text in (*document.warnings, *closed_loop.note(document))
    ]
    for text in dict.fromkeys(told):
        terminal.note(f"warning: {text}", style="yellow")
    is_cache_off = any(document.header.cache.state == "disabled" for document in documents)
    if is_cache_off and wanted.settings.cache is None and not wanted.is_profile_chosen:
        terminal.note(
            "note: the default profile E switches off the write cache that this drive has; "
            "--profile C leaves it on, on three quarters of the drive"
        )
    if wanted.output is None:
        terminal.note("nothing was kept; --output DIR keeps all figures, for reports too")
    else:
        names = ", ".join(f"{name}.json" for name in suite.documents)
        terminal.note(f"saved in {wanted.output}: {names}")


# Of a run that would end in the same way again.
_OTHERWISE = "other settings need an empty directory"


def _partial(
    wanted: Asked,
    document: "PtsDocument",
    reason: str,
    code: int,
    *,
    is_saved: bool,
    again: str = "",
) -> None:
    """Say what is kept of a run that did not end, and end; `again` is how to continue."""
    if is_saved:
        _remark(wanted, document)
    if wanted.as_json:
        from opennandlab.documents.record import plain

        terminal.emit_json({**plain(document), "error": {"exit_code": code, "message": reason}})
    count = len(document.cells.rows)
    cells = f"{count} cell{'' if count == 1 else 's'}"
    if not again:
        # What the run has written to a file of its own is content like any other.
        is_asked = wanted.request.kind == "file" and not wanted.request.consent.destructive
        again = f"the same command with --resume{' --destructive' if is_asked else ''} goes on"
    if wanted.output is None:
        kept = f"{cells} lost; with --output DIR they would be kept"
    elif is_saved:
        kept = f"{document.name}.json in {wanted.output} is partial ({cells}); {again}"
    else:
        kept = f"the part that is done ({cells}) cannot be saved; where its journal is, {again}"
    word = "" if code == terminal.INTERRUPTED else "error: "
    terminal.note(f"{word}{reason}: {kept}", style="bold red")
    raise typer.Exit(code)


def _plan(wanted: Asked, name: str, jobs: list["Job"]) -> None:
    """Print what the jobs would do, and do nothing."""
    from opennandlab.pts.bench.plan import make_plan
    from opennandlab.pts.bench.rehearsal import rehearse
    from opennandlab.pts.bench.suite import request_of
    from opennandlab.targets.opening import sketch

    plans: list[dict[str, Any]] = []
    ends = []
    paces: dict[tuple[object, ...], Pace | None] = {}
    for job in jobs:
        if job.test.kinds and wanted.request.kind not in job.test.kinds:
            continue
        target = sketch(request_of(job, wanted.request))
        plan = make_plan(job.test, job.settings, target)
        pace = _pace(plan, target, paces)
        least, most = (
            rehearse(job.test, plan, target, is_steady=end, pace=pace) for end in (True, False)
        )
        ends.append((least, most, target.capacity_bytes))
        plans.append(
            {
                "name": job.name,
                "test": job.test.name,
                "time_base": plan.time.name,
                "capacity_bytes": target.capacity_bytes,
                "deviations": list(plan.deviations),
                "phases": {
                    key: {"count_max": count, "cells_max": cells}
                    for key, (count, cells) in most.phases.items()
                },
                "written_bytes": [least.written_bytes, most.written_bytes],
                "preconditioning_bytes": most.of_phase("wipc")[0],
                "seconds": [least.seconds, most.seconds],
                "wall_seconds": [least.here_s, most.here_s],
                "drive_writes": [
                    one.written_bytes / target.capacity_bytes for one in (least, most)
                ],
            }
        )
        target.close()
    if not wanted.as_json and not wanted.quiet:
        for found, (least, most, capacity_bytes) in zip(plans, ends, strict=True):
            title = f"{found['name']}, time base {found['time_base']}"
            tables.show_plan(title, least, most, capacity_bytes)
        if len(ends) > 1:
            tables.show_total(ends)
    device = _device_plan(wanted, [most for _, most, _ in ends])
    if wanted.as_json:
        terminal.emit_json({"name": name, "plans": plans, "device": device})


def _pace(
    plan: "Plan", target: "Target", known: "dict[tuple[object, ...], Pace | None]"
) -> "Pace | None":
    """Return the rates of a simulated drive, tried on a small copy; None for other targets."""
    from opennandlab.pts.bench.pace import Pace

    if not target.is_virtual:
        return None
    is_small = plan.time.is_range_small
    key = (target.facts().device.config_sha256, plan.cache_enabled, is_small)
    if key not in known:
        known[key] = Pace.of(target, cache_enabled=plan.cache_enabled, is_range_small=is_small)
    return known[key]


def _device_plan(wanted: Asked, plans: list["Rehearsal"]) -> dict[str, Any] | None:
    """Print what the safety gate says of a device or a file; None for other targets."""
    from opennandlab.targets.safety import Work

    written = sum(plan.written_bytes for plan in plans)
    filled = sum(plan.of_phase("wipc")[0] for plan in plans)
    seconds = sum(plan.seconds for plan in plans)
    rate = (written - filled) / seconds if seconds > 0 else 0.0
    work = Work(fill_bytes=filled, seconds=seconds, bytes_per_s=rate)
    return gate_plan(wanted.request, work, is_said=not wanted.as_json and not wanted.quiet)


def _span(least_s: float | None, most_s: float) -> str:
    """Return a range of times; one of them where they do not differ by words.

    >>> _span(8.0, 240.0), _span(8.0, 8.2)
    ('8 s to 4 min 00 s', '8 s')
    """
    low = terminal.duration(most_s if least_s is None else least_s)
    high = terminal.duration(most_s)
    return high if low == high else f"{low} to {high}"


def progress_line(
    *, quiet: bool
) -> contextlib.AbstractContextManager[Callable[["Progress"], None] | None]:
    """Return the progress line of a test."""
    return shown(line, quiet=quiet)


def line(state: "Progress") -> str:
    """Return the progress line: test, round, cell, ETA, and how far from steady it is."""
    place = state.phase
    if state.round is not None:
        limit = f" of at most {state.rounds_max}" if state.rounds_max else ""
        kind = "" if state.phase == "round" else f"{state.phase}, "
        place = f"{kind}round {state.round}{limit}"
    # What a narrow terminal cuts stands last: the time left must not.
    parts = [state.test]
    if state.count > 1:
        parts.append(f"test {state.number} of {state.count}")
    if state.eta_s is not None:
        parts.append(f"{_span(state.eta_least_s, state.eta_s)} left")
    if state.total_s is not None:
        parts.append(f"{_span(state.total_least_s, state.total_s)} for all")
    parts.append(place)
    if state.cells and state.cells > 1:
        parts.append(f"cell {state.cell}/{state.cells}")
    # How far the step is, not the test: only the time left tells that.
    done = "" if state.fraction is None else f" ({state.fraction:.0%} of it)"
    parts.append(f"{state.label}{done}")
    steady = state.steady
    if steady is not None and steady.average:
        parts.append(
            f"excursion {(steady.excursion or 0) / steady.average:.1%} (allowed 20 %), "
            f"slope {(steady.slope_excursion or 0) / steady.average:.1%} (allowed 10 %)"
        )
    return " · ".join(part for part in parts if part)
