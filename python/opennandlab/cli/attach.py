"""`attach`: a served drive as a block device of this machine, or how to make it one."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet


def attach(
    socket: Annotated[
        Path, typer.Option("--socket", metavar="PATH", help="Unix socket of the server.")
    ],
    run: Annotated[bool, typer.Option("--run", help="Do it, through FUSE; needs root.")] = False,
    mount: Annotated[
        Path | None,
        typer.Option("--mount", metavar="DIR", help="Make a file system and mount it here."),
    ] = None,
    fs: Annotated[str, typer.Option("--fs", metavar="ext4|xfs|btrfs", help="Its kind.")] = "ext4",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the commands that attach a served drive and those that detach it, or run them."""
    with terminal.guard(as_json=as_json):
        from opennandlab.serving import recipes

        if run:
            made = recipes.attach(socket, mount, fs)
            if as_json:
                terminal.emit_json({"attached": asdict(made)})
            elif not quiet:
                place = made.mount or made.device
                lines = [f"attached {made.device}", f"detach: opennandlab detach {place} --run"]
                for text in lines:
                    terminal.stdout().print(text, markup=False, soft_wrap=True, highlight=False)
            return
        chosen = recipes.recipe(socket, mount, fs)
        if as_json:
            terminal.emit_json({"recipe": asdict(chosen), "uri": recipes.uri(socket)})
            return
        if quiet:
            return
        lines = [
            f"# {chosen.reason}; a guest of QEMU takes {recipes.uri(socket)}",
            *chosen.up,
            "# to detach:",
            *chosen.down,
        ]
        for text in lines:
            terminal.stdout().print(text, markup=False, soft_wrap=True, highlight=False)
