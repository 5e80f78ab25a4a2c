"""`ui`: the store of runs in a browser."""

import secrets
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet

AUTO = "auto"


def ui(
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0: a free one.")
    ] = 8765,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="The store. Default: $OPENNANDLAB_STORE, else ./.opennandlab if it exists, else "
            "opennandlab in $XDG_DATA_HOME or ~/.local/share. Made where there is none.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDR", help="Address to listen on; all but loopback need a token."
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TEXT|auto",
            envvar="OPENNANDLAB_UI_TOKEN",
            help="Ask for this before showing anything, 16 characters or more; `auto` makes one "
            "up. The printed address has it. The variable keeps it out of the list of processes.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, help="Points at a time. Default: all cores."),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            "--files",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Where device files lie that the form may name. Default: the working folder.",
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open nothing.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the store of runs in a browser, and start new ones; until Ctrl-C or SIGTERM."""
    with terminal.guard(as_json=as_json):
        from opennandlab.store import Store
        from opennandlab.ui import server

        chosen = secrets.token_urlsafe(24) if token == AUTO else token
        # Refused before anything is made or bound.
        door = server.door_of(host, port, chosen)
        with Store.open(store) as opened:
            place = opened.path.resolve()
        listening = server.bound(host, port)
        door = replace(door, port=int(listening.getsockname()[1]))

        def ready(url: str) -> None:
            if as_json:
                terminal.emit_json({"url": url, "store": str(place)})
            elif not quiet:
                sys.stdout.write(f"{url}\n")
                sys.stdout.flush()
                terminal.note(f"runs of {place}; Ctrl-C ends it", style="dim")
            if not no_browser:
                server.show(url)

        try:
            server.serve(place, listening, door, jobs=jobs, files=files, ready=ready)
        finally:
            listening.close()
        if not (quiet or as_json):
            terminal.note("ended; all finished runs are in the store", style="dim")
