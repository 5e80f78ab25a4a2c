"""`ui`: the store of runs in a browser."""

import secrets
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import flag

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class UiOptions(Printed):
    """Options of `ui`."""

    port: Annotated[int, flag("0: a free one.", metavar="N", min=0, max=65535)] = 8765
    store: Annotated[
        Path | None,
        flag(
            "The store. Default: $OPENNANDLAB_STORE, else ./.opennandlab if it exists, else "
            "opennandlab in $XDG_DATA_HOME or ~/.local/share. Made if missing.",
            metavar="DIR",
        ),
    ] = None
    host: Annotated[
        str, flag("Address to listen on; all but loopback need a token.", metavar="ADDR")
    ] = "127.0.0.1"
    token: Annotated[
        str | None,
        flag(
            "Ask for this before showing anything, 16 characters or more; `auto` makes one up. "
            "The printed address has it. The variable keeps it out of the list of processes.",
            metavar="TEXT|auto",
            envvar="OPENNANDLAB_UI_TOKEN",
        ),
    ] = None
    jobs: Annotated[
        int | None, flag("Points at a time. Default: all cores.", metavar="N", min=1)
    ] = None
    files: Annotated[
        Path | None,
        flag(
            "Folder of device files that the form may name. Default: the working folder.",
            metavar="DIR",
            exists=True,
            file_okay=False,
        ),
    ] = None
    no_browser: Annotated[bool, flag("Print the address, and open nothing.")] = False


def ui(given: UiOptions) -> None:
    """Show the store of runs in a browser, and start new ones; until Ctrl-C or SIGTERM."""
    from opennandlab.base.extras import need

    need("ui")
    from opennandlab.store import Store
    from opennandlab.ui import server

    chosen = secrets.token_urlsafe(24) if given.token == AUTO else given.token
    # Refused before anything is made or bound.
    door = server.door_of(given.host, given.port, chosen)
    with Store.open(given.store) as opened:
        place = opened.path.resolve()
    listening = server.bound(given.host, given.port)
    door = replace(door, port=int(listening.getsockname()[1]))

    def ready(url: str) -> None:
        if given.as_json:
            terminal.emit_json({"url": url, "store": str(place)})
        elif not given.quiet:
            sys.stdout.write(f"{url}\n")
            sys.stdout.flush()
            terminal.note(f"runs of {place}; Ctrl-C ends it", style="dim")
        if not given.no_browser:
            server.show(url)

    try:
        server.serve(place, listening, door, jobs=given.jobs, files=given.files, ready=ready)
    finally:
        listening.close()
    if not (given.quiet or given.as_json):
        terminal.note("ended; all finished runs are in the store", style="dim")
