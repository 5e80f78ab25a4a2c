"""`verify`: run again what a result file describes; the deterministic bytes must be the same."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import AllowCode, Json, Quiet, SliceOps


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Result file.", show_default=False)],
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="image:FILE",
            help="Where the device image is, if the result started from one.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Where the trace is, if one was replayed."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    slice_ops: SliceOps = None,
    allow_code: AllowCode = False,
) -> None:
    """Repeat the run of a result file and compare the results byte by byte."""
    with terminal.guard(as_json=as_json, allow_code=allow_code):
        from opennandlab.core.verification import verify as run_verify

        with terminal.progress_line(quiet=quiet) as watch:
            verdict = run_verify(
                file, state=state, trace=trace, progress=watch, slice_ops=slice_ops
            )
        if as_json:
            terminal.emit_json({"file": str(file), **asdict(verdict)})
        elif not quiet and verdict.identical:
            console = terminal.stdout()
            console.print(f"{file}: identical, digest {verdict.digest_rerun}", markup=False)
        elif not quiet:
            console = terminal.stdout()
            console.print(
                f"{file}: different\nfirst difference, file against rerun: {verdict.difference}",
                markup=False,
                soft_wrap=True,
            )
            if verdict.note:
                terminal.note(verdict.note)
        if not verdict.identical:
            raise typer.Exit(terminal.FAILED)
