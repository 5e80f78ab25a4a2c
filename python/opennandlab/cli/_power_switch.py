"""`power cut`, `off` and `on`: the switch of a drive that is served with `--power-socket`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import flag


@dataclass(frozen=True, kw_only=True)
class SwitchOptions(Printed):
    """Options of `cut`, `off` and `on`."""

    socket: Annotated[
        Path, flag("Socket of `serve --power-socket`.", metavar="PATH", show_default=False)
    ]


def cut(given: SwitchOptions) -> None:
    """Cut power to a served drive, and let it recover from what its flash holds."""
    _turn(given, "cut")


def off(given: SwitchOptions) -> None:
    """Cut power to a served drive; it takes no connection until it is on again."""
    _turn(given, "off")


def on(given: SwitchOptions) -> None:
    """Turn the power of a served drive on again, and wait until it is ready."""
    _turn(given, "on")


def _turn(given: SwitchOptions, word: str) -> None:
    from opennandlab.serving.power import ask

    answer = ask(given.socket, word)
    if given.as_json:
        terminal.emit_json(answer)
    elif not given.quiet:
        ready = f"ready after {answer['ready_ms']:.3g} ms"
        terminal.note("off" if word == "off" else f"{word}: {ready}")
