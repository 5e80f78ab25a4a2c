"""`detach`: take down what `attach --run` made."""

from dataclasses import asdict
from typing import Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet


def detach(
    name: Annotated[str, typer.Argument(metavar="DIR|DEVICE", show_default=False)],
    run: Annotated[bool, typer.Option("--run", help="Do it, instead of printing how.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Unmount and detach a drive that `attach --run` made, and nothing else."""
    with terminal.guard(as_json=as_json):
        from opennandlab.serving import recipes

        made = recipes.found(name)
        if run:
            recipes.detach(made)
        if as_json:
            terminal.emit_json({"detached" if run else "attached": asdict(made)})
        elif not run and not quiet:
            mounted = [] if made.mount is None else [f"umount {made.mount}"]
            for text in (
                *mounted,
                f"losetup --detach {made.device}",
                f"umount {made.file}",
                f"rm {made.file}",
            ):
                terminal.stdout().print(text, markup=False, soft_wrap=True, highlight=False)
