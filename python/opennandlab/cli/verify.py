"""`verify`: run again what a result file describes; the deterministic bytes must be the same."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import AllowCode, Json, Quiet, SliceOps
from opennandlab.cli.options.rows import Options, argument, flag


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Options):
    """Options of `verify`."""

    file: Annotated[Path, argument("Result file.", metavar="FILE", show_default=False)]
    state: Annotated[
        str | None,
        flag("Where the device image is, if the result started from one.", metavar="image:FILE"),
    ] = None
    trace: Annotated[
        list[Path] | None,
        flag(
            "Where the trace is, if one was replayed. May be repeated: one for each tenant.",
            metavar="FILE",
        ),
    ] = None
    as_json: Json = False
    quiet: Quiet = False
    slice_ops: SliceOps = None
    allow_code: AllowCode = False


def verify(given: VerifyOptions) -> None:
    """Repeat the run of a result file and compare the results byte by byte."""
    from opennandlab.core.verification import verify as run_verify

    with terminal.progress_line(quiet=given.quiet) as watch:
        verdict = run_verify(
            given.file,
            state=given.state,
            trace=given.trace or (),
            progress=watch,
            slice_ops=given.slice_ops,
        )
    if given.as_json:
        terminal.emit_json({"file": str(given.file), **asdict(verdict)})
    elif not given.quiet and verdict.identical:
        console = terminal.stdout()
        console.print(f"{given.file}: identical, digest {verdict.digest_rerun}", markup=False)
    elif not given.quiet:
        console = terminal.stdout()
        console.print(
            f"{given.file}: different\nfirst difference, file against rerun: {verdict.difference}",
            markup=False,
            soft_wrap=True,
        )
        if verdict.note:
            terminal.note(verdict.note)
    if not verdict.identical:
        raise typer.Exit(terminal.FAILED)
