"""`attach`: a served drive as a block device of this machine, or how to make it one."""

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
    run: Annotated[bool, flag("Do it, through FUSE; needs root.")] = False
    mount: Annotated[Path | None, flag("Make a file system and mount it here.", metavar="DIR")] = (
        None
    )
    fs: Annotated[str, flag("Its kind.", metavar="ext4|xfs|btrfs")] = "ext4"


def attach(given: AttachOptions) -> None:
    """Print the commands that attach a served drive and those that detach it, or run them."""
    from opennandlab.serving import recipes

    if given.run:
        made = recipes.attach(given.socket, given.mount, given.fs)
        if given.as_json:
            terminal.emit_json({"attached": asdict(made)})
        elif not given.quiet:
            place = made.mount or made.device
            lines = [f"attached {made.device}", f"detach: opennandlab detach {place} --run"]
            for text in lines:
                terminal.stdout().print(text, markup=False, soft_wrap=True, highlight=False)
        return
    chosen = recipes.recipe(given.socket, given.mount, given.fs)
    if given.as_json:
        terminal.emit_json({"recipe": asdict(chosen), "uri": recipes.uri(given.socket)})
        return
    if given.quiet:
        return
    lines = [
        f"# {chosen.reason}; a guest of QEMU takes {recipes.uri(given.socket)}",
        *chosen.up,
        "# to detach:",
        *chosen.down,
    ]
    for text in lines:
        terminal.stdout().print(text, markup=False, soft_wrap=True, highlight=False)
