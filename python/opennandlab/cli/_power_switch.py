"""`power cut`, `off` and `on`: the switch of a drive that is served with `--power-socket`."""

from pathlib import Path
from typing import Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet

Socket = Annotated[
    Path,
    typer.Option("--socket", metavar="PATH", help="Of `serve --power-socket`.", show_default=False),
]


def cut(socket: Socket, *, as_json: Json = False, quiet: Quiet = False) -> None:
    """Cut a served drive from power, and let it come back from what its flash holds."""
    _turn(socket, "cut", as_json=as_json, quiet=quiet)


def off(socket: Socket, *, as_json: Json = False, quiet: Quiet = False) -> None:
    """Cut a served drive from power; nobody can connect until it is on again."""
    _turn(socket, "off", as_json=as_json, quiet=quiet)


def on(socket: Socket, *, as_json: Json = False, quiet: Quiet = False) -> None:
    """Give a served drive its power back, and wait until it is ready."""
    _turn(socket, "on", as_json=as_json, quiet=quiet)


def _turn(socket: Path, word: str, *, as_json: bool, quiet: bool) -> None:
    with terminal.guard(as_json=as_json):
        from opennandlab.serving.power import ask

        answer = ask(socket, word)
        if as_json:
            terminal.emit_json(answer)
        elif not quiet:
            ready = f"ready after {answer['ready_ms']:.3g} ms"
            terminal.note("off" if word == "off" else f"{word}: {ready}")
