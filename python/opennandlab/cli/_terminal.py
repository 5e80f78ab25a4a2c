"""How every verb speaks: results on stdout, the rest on stderr, and one meaning per exit code.

`--json` puts exactly one JSON document on stdout, also when something was refused. A progress line
is drawn only where a person can see it.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from opennandlab.cli._progress import shown
from opennandlab.cli._streams import duration, emit_json, note, stderr, stdout
from opennandlab.cli._tables import Grid, plain_table

if TYPE_CHECKING:
    from opennandlab.core.config import DeviceConfig
    from opennandlab.core.result import Result
    from opennandlab.core.run import Run
    from opennandlab.core.slices import Progress

DONE = 0
FAILED = 1  # it ran, but a self-check, a verification or a validation failed
REFUSED = 2  # bad usage, configuration or trace: nothing was run
BROKEN = 3  # the target refused or failed, such as a disk that is full
INTERRUPTED = 130

# What `--state image:FILE` reads, where it is named beside other inputs.
IMAGE = "the image of --state"

__all__ = ["Grid", "duration", "emit_json", "note", "plain_table", "stderr", "stdout"]

# Options that draw: the form follows from the ending, which is checked before a run.
DRAWING = ("--plot", "--breakdown-plot")


def stop(code: int, text: str, *, as_json: bool = False, **details: object) -> NoReturn:
    """Say why, and end with `code`."""
    note(f"error: {text}", style="bold red")
    if as_json:
        emit_json({"error": {"exit_code": code, "message": text, **details}})
    raise typer.Exit(code)


@contextlib.contextmanager
def guard(*, as_json: bool, allow_code: bool = False) -> Iterator[None]:
    """Turn what a command may raise into a sentence and an exit code.

    Args:
        as_json: Errors are printed as JSON too.
        allow_code: The user said `--allow-code`.
    """
    from opennandlab.base.errors import (
        ConfigError,
        InternalError,
        OpenNandLabError,
        PolicyError,
        WriteError,
    )

    try:
        with _of_policies(as_json=as_json), _allowing(allow_code=allow_code):
            yield
    except KeyboardInterrupt:
        stop(INTERRUPTED, "interrupted", as_json=as_json)
    except WriteError as error:
        stop(BROKEN, str(error), as_json=as_json)
    except ConfigError as error:
        stop(REFUSED, str(error), as_json=as_json, path=error.path)
    except InternalError as error:
        stop(
            FAILED, f"{error} (this is a defect of opennandlab, please report it)", as_json=as_json
        )
    except PolicyError as error:
        stop(FAILED, str(error), as_json=as_json)
    except OpenNandLabError as error:
        stop(BROKEN if _is_of_target(error) else REFUSED, str(error), as_json=as_json)
    except MemoryError:
        stop(REFUSED, "out of memory; `config show` prints what a device needs", as_json=as_json)
    except OSError as error:
        if error.filename is None:  # stdout, which `main` speaks of
            raise
        stop(BROKEN, f"{error.filename}: {error.strerror}", as_json=as_json)


def _is_of_target(error: Exception) -> bool:
    from opennandlab.targets.base import TargetError

    return isinstance(error, TargetError)


@contextlib.contextmanager
def _allowing(*, allow_code: bool) -> Iterator[None]:
    """Allow code that files name, for the length of a command."""
    if not allow_code:
        yield
        return
    from opennandlab.policies.source import allow_code as allowing

    with allowing():
        yield


@contextlib.contextmanager
def _of_policies(*, as_json: bool) -> Iterator[None]:
    """Show the traceback of what a policy of the user's own raised, whatever it is."""
    try:
        yield
    except Exception as error:
        notes = getattr(error, "__notes__", None) or [""]
        if not str(notes[-1]).startswith("in the policy `"):
            raise
        import traceback

        sys.stderr.write("".join(traceback.format_exception(error)))
        stop(FAILED, f"{type(error).__name__} {notes[-1]}", as_json=as_json)


def line(state: "Progress") -> str:
    """Say how far a run is: stage, share, time left and speed."""
    place = (
        "done" if state.finished else f"{state.stage_index + 1}/{state.stage_count} {state.stage}"
    )
    share = "" if state.fraction is None else f"{state.fraction:.0%}"
    left = "" if state.eta_s is None else f"{duration(state.eta_s)} left"
    rate = state.host_ios / state.elapsed_s if state.elapsed_s else 0.0
    return "  ".join(part for part in (place, share, left, f"{rate / 1e6:.1f} M I/O per s") if part)


def progress_line(
    *, quiet: bool
) -> contextlib.AbstractContextManager[Callable[["Progress"], None] | None]:
    """Return what shows how far a run of the simulator is."""
    return shown(line, quiet=quiet, is_last=lambda state: state.finished)


def check_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse unwritable output paths, and those that would overwrite another file of the run.

    Args:
        outputs: Option to path; None where it was not given.
        inputs: What is read, such as `the workload`, to path.

    Raises:
        OutputError: with the reason.
    """
    from opennandlab.base.errors import OutputError
    from opennandlab.base.files import check_writable

    read = {name: path for name, path in (inputs or {}).items() if path is not None}
    seen: list[Path] = []
    for option, path in outputs.items():
        if path is None:
            continue
        for name, source in read.items():
            # A saved drive may go on in its own image; it was read completely before.
            is_same_image = option == "--save-image" and name == IMAGE
            if not is_same_image and _is_same_file(path, source):
                raise OutputError(f"{option} {path} is also {name}: it would be overwritten")
        check_writable(path)
        if option in DRAWING:
            from opennandlab.reports.output import check_ending

            check_ending(path, option)
        if any(_is_same_file(path, other) for other in seen):
            raise OutputError(f"cannot write {path}: it was given for two outputs")
        seen.append(path)


def check_folder(folder: Path | None) -> None:
    """Refuse a directory that could not be written later; None is none.

    Raises:
        OutputError: with the reason.
    """
    from opennandlab.base.files import check_folder as check

    if folder is not None:
        check(folder)


def _is_same_file(one: Path, other: Path) -> bool:
    """Tell whether writing one would change the other; devices such as /dev/null never clash."""
    from opennandlab.base.files import is_there

    if is_there(one) and not one.is_file():
        return False
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return is_there(one) and is_there(other) and one.samefile(other)


def read_files(config: str | None, state: str | None) -> dict[str, Path | None]:
    """Return what `--config` and `--state` read, as `check_outputs` wants it."""
    from opennandlab.core.config import device_presets

    kind, _, image = (state or "").partition(":")
    return {
        "the device file": own_file(config, device_presets()),
        IMAGE: Path(image) if kind == "image" and image else None,
    }


def own_file(name: str | None, presets: list[str]) -> Path | None:
    """Return the file that a preset name or path stands for, unless the package brings it."""
    return None if name is None or name in presets else Path(name)


@dataclass(frozen=True)
class Outputs:
    """Files that a run leaves.

    Args:
        result: Result file.
        plot: HTML page.
        image: Device image; not written after an interruption.
        breakdown_plot: Stacked bars, HTML or SVG.
        timeline: Trace Event document.
    """

    result: Path | None = None
    plot: Path | None = None
    image: Path | None = None
    breakdown_plot: Path | None = None
    timeline: Path | None = None

    def by_option(self) -> dict[str, Path | None]:
        """Return them as `check_outputs` wants them."""
        return {
            "--output": self.result,
            "--save-image": self.image,
            "--plot": self.plot,
            "--breakdown-plot": self.breakdown_plot,
            "--timeline": self.timeline,
        }


def run_and_report(
    run: "Run", outputs: Outputs, *, as_json: bool, quiet: bool, slice_ops: int | None
) -> None:
    """Run, write the files, print the tables, and end with the exit code of the outcome."""
    from opennandlab.base.errors import OutputError
    from opennandlab.core.result import Interrupted

    code = DONE
    try:
        with progress_line(quiet=quiet) as show:
            result = run.measure(progress=_until_finished(show), slice_ops=slice_ops)
        code = DONE if result.passed else FAILED
    except Interrupted as interruption:
        if interruption.result is None:
            raise
        # A second Ctrl-C, pressed in doubt, must not cost the part that is now being saved.
        ignore_signals()
        result, code = interruption.result, INTERRUPTED
    problem = None
    try:
        _write(run, result, outputs, interrupted=code == INTERRUPTED)
    except OutputError as error:
        kept = _rescue(result) if outputs.result is not None else None
        problem = f"{error}" + (f"; the result is kept in {kept}" if kept else "")
    if as_json:
        emit_json(result.document)
    elif not quiet:
        show_result(result)
    if not quiet:
        show_notes(result, None if problem else outputs.result)
    if outputs.timeline is not None:
        problem = problem or _write_timeline(result, outputs.timeline, quiet=quiet)
    raise typer.Exit(_verdict(result, code, problem))


def ignore_signals() -> None:
    """Let nobody interrupt what is left: it is short, and it saves what was measured."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _until_finished(
    show: Callable[["Progress"], None] | None,
) -> Callable[["Progress"], None]:
    """Return a watcher after whose last call a run can no longer be interrupted: it is over."""

    def watch(state: "Progress") -> None:
        if state.finished:
            ignore_signals()
        if show is not None:
            show(state)

    return watch


def _verdict(result: "Result", code: int, problem: str | None) -> int:
    """Say what went wrong; return the exit code."""
    if code == FAILED:
        what = "self-checks failed" if result.content.metrics else "nothing was measured"
        note(f"error: {what}: " + "; ".join(result.failed_checks()), style="bold red")
    if code == INTERRUPTED:
        note("interrupted: the result is partial", style="bold red")
    if problem:
        note(f"error: {problem}", style="bold red")
        return BROKEN
    return code


def _write(run: "Run", result: "Result", outputs: Outputs, *, interrupted: bool) -> None:
    if outputs.result is not None:
        result.save(outputs.result)
    if outputs.plot is not None:
        from opennandlab.reports.plot import write

        write(result.content, outputs.plot)
    if outputs.breakdown_plot is not None and result.breakdown:
        from opennandlab.reports import breakdown

        breakdown.write(result.content, outputs.breakdown_plot)
    if outputs.image is not None and not interrupted:
        run.save_image(outputs.image)


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
    from opennandlab.reports.summary import (
        activity_table,
        breakdown_tables,
        collection_table,
        footnotes,
        handle_table,
        latency_table,
        metric_rows,
        state_text,
        tenant_table,
        zone_table,
    )

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


def show_notes(result: "Result", saved: Path | None) -> None:
    """Print the warnings, and where the result is, on stderr."""
    for text in result.warnings:
        note(f"warning: {text}", style="yellow")
    if saved is not None:
        note(f"result saved to {saved}")


def chosen_device(
    config: str | None, state: str | None, overrides: dict[str, Any]
) -> "DeviceConfig | None":
    """Return the device of `--config` and `--set`; None when an image brings its own.

    Raises:
        ConfigError: for a device that cannot be used.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import own_device

    if config is not None or not (state or "").startswith("image:"):
        return own_device(config or "config", overrides)
    if overrides:
        raise ConfigError("state", "an image brings its device: --set cannot change it")
    return None


def split_sets(assignments: list[str] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split `--set` into the overrides of the device and those of the workload."""
    from opennandlab.core.config import parse_overrides

    device: dict[str, Any] = {}
    workload: dict[str, Any] = {}
    for path, value in parse_overrides(assignments or []).items():
        head, _, rest = path.partition(".")
        if head == "workload" and rest:
            workload[rest] = value
        else:
            device[path] = value
    return device, workload


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
