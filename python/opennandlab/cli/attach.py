"""`attach`: a served drive as a block device of this machine, or how to make it one."""

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.serving.recipes import Recipe


@dataclass(frozen=True, kw_only=True)
class AttachOptions(Printed):
    """Options of `attach`."""

    socket: Annotated[Path | None, flag("Unix socket of the server.", metavar="PATH")] = None
    nvme: Annotated[
        str | None,
        flag(
            "Instead of --socket: the NVMe drive, as the server prints it.",
            metavar="ADDRESS:PORT/NQN",
        ),
    ] = None
    run: Annotated[bool, flag("Run the commands, through FUSE; needs root.")] = False
    mount: Annotated[Path | None, flag("Make a file system and mount it here.", metavar="DIR")] = (
        None
    )
    fs: Annotated[str, flag("Kind of the file system.", metavar="ext4|xfs|btrfs|f2fs|exfat")] = (
        "ext4"
    )


def attach(given: AttachOptions) -> None:
    """Print the commands that attach a served drive and those that detach it, or run them."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.serving import nvme_recipe, recipes

    if (given.socket is None) == (given.nvme is None):
        raise ConfigError("socket", "give --socket PATH or --nvme ADDRESS:PORT/NQN, and not both")
    if given.nvme is not None:
        given.refuse(
            ["run"],
            "with --nvme, as only a host's kernel can connect, as root; run the printed commands",
        )
        place = nvme_recipe.place(given.nvme)
        recipe = nvme_recipe.recipe(place, given.mount, given.fs)
        _print_recipe(given, recipe, place.uri, "the drive")
    elif given.socket is not None and given.run:
        _attach(given, given.socket)
    elif given.socket is not None:
        recipe = recipes.recipe(given.socket, given.mount, given.fs)
        _print_recipe(given, recipe, recipes.uri(given.socket), "for QEMU, give")


def _attach(given: AttachOptions, socket: Path) -> None:
    from opennandlab.serving import recipes

    made = recipes.attach(socket, given.mount, given.fs)
    undo = ("opennandlab", "detach", made.mount or made.device, "--run")
    if given.as_json:
        terminal.emit_json({"attached": asdict(made)})
    elif not given.quiet:
        terminal.plain_lines(f"attached {made.device}", f"detach: {shlex.join(undo)}")


def _print_recipe(given: AttachOptions, recipe: "Recipe", uri: str, said: str) -> None:
    if given.as_json:
        terminal.emit_json({"recipe": asdict(recipe), "uri": uri})
    elif not given.quiet:
        terminal.plain_lines(
            f"# {recipe.reason}; {said} {uri}", *recipe.up, "# to detach:", *recipe.down
        )
