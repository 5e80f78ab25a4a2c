"""How every verb speaks: results on stdout, the rest on stderr, and one meaning per exit code.

`--json` puts exactly one JSON document on stdout, also when something was refused. A progress line
is drawn only where a person can see it.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from opennandlab.cli._progress import shown
from opennandlab.cli._streams import duration, emit_json, note, plain_lines, stderr, stdout
from opennandlab.cli._tables import Grid, plain_table

if TYPE_CHECKING:
    from opennandlab.core.slices import Progress

DONE = 0
FAILED = 1  # it ran, but a self-check, a verification or a validation failed
REFUSED = 2  # bad usage, configuration or trace: nothing was run
BROKEN = 3  # the target refused or failed, such as a disk that is full
UNDECIDED = 4  # it ran, and the sample is too small to show anything
INTERRUPTED = 130

# What `--state image:FILE` reads, where it is named next to other inputs.
IMAGE = "the image of --state"

__all__ = [
    "Grid",
    "duration",
    "emit_json",
    "note",
    "plain_lines",
    "plain_table",
    "stderr",
    "stdout",
]

# Options that draw: the form follows from the ending, which is checked before a run.
DRAWING = ("--plot", "--breakdown-plot")
# Those that need the packages that draw.
PAGES = (*DRAWING, "--html", "--pdf")


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
        legible,
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
        stop(BROKEN, f"{legible(str(error.filename))}: {error.strerror}", as_json=as_json)


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
    """Show the traceback of what a policy of the user's own raised; name a missing extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        from opennandlab.base.extras import explained

        raise (explained(error) or error) from None
    except Exception as error:
        notes = getattr(error, "__notes__", None) or [""]
        if not str(notes[-1]).startswith("in the policy `"):
            raise
        import traceback

        sys.stderr.write("".join(traceback.format_exception(error)))
        stop(FAILED, f"{type(error).__name__} {notes[-1]}", as_json=as_json)


def line(state: "Progress") -> str:
    """Say how far a run is: stage, share, time left of the stage and speed.

    A stage that ends by a condition has an upper end; the time of later stages is not known.
    """
    stage = f"stage {state.stage_index + 1} of {state.stage_count}, {state.stage}"
    place = "done" if state.finished else stage
    share = "" if state.fraction is None else f"{state.fraction:.0%}"
    left = "" if state.eta_s is None else f"{duration(state.eta_s)} left"
    if left and "until" in state.stage:
        left = f"at most {left}"
    if left and state.stage_index + 1 < state.stage_count:
        left += " of it"
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
            # A saved drive may continue in its own image; it was read completely before.
            is_same_image = option == "--save-image" and name == IMAGE
            if not is_same_image and _is_same_file(path, source):
                raise OutputError(f"{option} {path} is also {name}: it would be overwritten")
        check_writable(path)
        if option in PAGES:
            from opennandlab.base.extras import need

            need("plot")
        if option in DRAWING:
            from opennandlab.reports.output import check_ending

            check_ending(path, option)
        if any(_is_same_file(path, other) for other in seen):
            raise OutputError(f"cannot write {path}: it was given for two outputs")
        seen.append(path)


def csv_to_stdout(path: Path | None, *, as_json: bool) -> bool:
    """Return whether `--csv -` was given: stdout is the table then, and holds nothing else.

    Raises:
        OutputError: with --json, which needs stdout too.
    """
    from opennandlab.base.errors import OutputError
    from opennandlab.base.files import STDOUT

    if path != STDOUT:
        return False
    if as_json:
        raise OutputError("--csv - and --json both write to stdout; accepted: one of them")
    return True


def check_folder(folder: Path | None) -> None:
    """Refuse a directory that could not be written later; None is none.

    Raises:
        OutputError: with the reason.
    """
    from opennandlab.base.files import check_folder as check

    if folder is not None:
        check(folder)


def _is_same_file(one: Path, other: Path) -> bool:
    """Return whether writing one would change the other; devices such as /dev/null never clash."""
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


def ignore_signals() -> None:
    """Let nobody interrupt what is left: it is short, and it saves what was measured."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def split_sets(assignments: list[str] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split `--set` into the overrides of the device and those of the workload."""
    from opennandlab.core.overrides import parse_overrides

    device: dict[str, Any] = {}
    workload: dict[str, Any] = {}
    for path, value in parse_overrides(assignments or []).items():
        head, _, rest = path.partition(".")
        if head == "workload" and rest:
            workload[rest] = value
        else:
            device[path] = value
    return device, workload
