"""`detach`: take down what `attach --run` made."""

from dataclasses import asdict, dataclass
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument, flag


@dataclass(frozen=True, kw_only=True)
class DetachOptions(Printed):
    """Options of `detach`."""

    name: Annotated[
        str,
        argument("Its mount point, or its loop device.", metavar="DIR|DEVICE", show_default=False),
    ]
    run: Annotated[bool, flag("Do it, instead of printing how.")] = False


def detach(given: DetachOptions) -> None:
    """Unmount and detach a drive that `attach --run` made, and nothing else."""
    from opennandlab.serving import recipes

    made = recipes.found(given.name)
    if given.run:
        recipes.detach(made)
    if given.as_json:
        terminal.emit_json({"detached" if given.run else "attached": asdict(made)})
    elif not given.run and not given.quiet:
        mounted = [] if made.mount is None else [f"umount {made.mount}"]
        for text in (
            *mounted,
            f"losetup --detach {made.device}",
            f"umount {made.file}",
            f"rm {made.file}",
        ):
            terminal.stdout().print(text, markup=False, soft_wrap=True, highlight=False)
