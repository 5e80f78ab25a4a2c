"""`attach`: a served drive as a block device of this machine, or how to make it one."""

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import flag


@dataclass(frozen=True, kw_only=True)
class AttachOptions(Printed):
    """Options of `attach`."""

    socket: Annotated[Path, flag("Unix socket of the server.", metavar="PATH")]
    run: Annotated[bool, flag("Run the commands, through FUSE; needs root.")] = False
    mount: Annotated[Path | None, flag("Make a file system and mount it here.", metavar="DIR")] = (
        None
    )
    fs: Annotated[str, flag("Kind of the file system.", metavar="ext4|xfs|btrfs")] = "ext4"


def attach(given: AttachOptions) -> None:
    """Print the commands that attach a served drive and those that detach it, or run them."""
    if given.run:
        _attach(given)
    else:
        _print_recipe(given)


def _attach(given: AttachOptions) -> None:
    from opennandlab.serving import recipes

    made = recipes.attach(given.socket, given.mount, given.fs)
    undo = ("opennandlab", "detach", made.mount or made.device, "--run")
    if given.as_json:
        terminal.emit_json({"attached": asdict(made)})
    elif not given.quiet:
        terminal.plain_lines(f"attached {made.device}", f"detach: {shlex.join(undo)}")


def _print_recipe(given: AttachOptions) -> None:
    from opennandlab.serving import recipes

    recipe, uri = recipes.recipe(given.socket, given.mount, given.fs), recipes.uri(given.socket)
    if given.as_json:
        terminal.emit_json({"recipe": asdict(recipe), "uri": uri})
    elif not given.quiet:
        terminal.plain_lines(
            f"# {recipe.reason}; for QEMU, give {uri}", *recipe.up, "# to detach:", *recipe.down
        )
