"""The application: which address shows what. Each screen opens the store for its answer alone.

A store that is gone, locked or damaged is told on the page, with the status 503; a name that the
store does not have with 404; what a form has wrong with 422 and the field.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from opennandlab import _core
from opennandlab.base.errors import ConfigError, OpenNandLabError, StoreError, StoreWriteError
from opennandlab.reports.html import template
from opennandlab.store import Store
from opennandlab.ui import asking, listing, pages, screens, sweeping
from opennandlab.ui.guard import Door, Guard
from opennandlab.ui.jobs import BusyQueueError, Jobs
from opennandlab.ui.watching import Events, Watch, opened, stream

STYLES = {"report.css": "text/css", "ui.css": "text/css"}
SCRIPTS = ("ui.js", "draw.js", "sweep.js", "form.js", "report.js")
PIECE_BYTES = 64 << 10
# Points that are tagged at once.
KEYS_MAX = 1000
# A browser keeps the script that draws, which is large, as long as its version is the same.
KEPT = "private, max-age=31536000, immutable"


@dataclass
class Place:
    """What all screens share."""

    store: Path
    door: Door
    watch: Watch
    jobs: Jobs
    folder: asking.Folder


def make(store: Path, door: Door, jobs: int | None = None, files: Path | None = None) -> Starlette:
    """Return the application.

    Args:
        store: Folder of the store.
        door: Under which names it is asked, and what one must know.
        jobs: Points at a time in a worker; None for all cores.
        files: Where device files may lie that a page names; None for the working folder.
    """
    watch = Watch(store)
    folder = asking.Folder((files or Path.cwd()).resolve())
    place = Place(store, door, watch, Jobs(store, watch.tell_safely, jobs), folder)

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            watch.end()
            place.jobs.end()

    app = Starlette(
        routes=[
            Route("/", _page(runs)),
            Route("/sweeps", _page(sweeps)),
            Route("/sweep", _page(sweep)),
            Route("/live", _page(live)),
            Route("/plot", _page(plot)),
            Route("/plot.svg", _page(figure)),
            Route("/compare", _page(compare)),
            Route("/run", _page(run)),
            Route("/run.json", _page(document)),
            Route("/new", _page(new)),
            Route("/login", login, methods=["GET", "POST"]),
            Route("/api/check", _page(check), methods=["POST"]),
            Route("/api/start", _page(start), methods=["POST"]),
            Route("/api/stop", _page(stop), methods=["POST"]),
            Route("/api/retry", _page(retry), methods=["POST"]),
            Route("/api/verify", _page(verify), methods=["POST"]),
            Route("/api/rerun", _page(rerun), methods=["POST"]),
            Route("/api/remark", _page(remark), methods=["POST"]),
            Route("/events", events),
            Route("/static/{name}", static),
            Route("/favicon.ico", static, name="icon"),
        ],
        exception_handlers={HTTPException: _not_found, ClientDisconnect: _gone},
        lifespan=life,
    )
    app.add_middleware(Guard, door=door)
    app.state.place = place
    return app


Screen = Callable[[Request, Place], Response]


def _page(show: Screen) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers with a screen, in a thread, and tells what the store cannot do."""
    from starlette.concurrency import run_in_threadpool

    async def answered(request: Request) -> Response:
        if request.method == "POST":
            request.state.body = await request.body()
        return await run_in_threadpool(_told, show, request)

    return answered


def _told(show: Screen, request: Request) -> Response:
    place: Place = request.app.state.place
    try:
        return show(request, place)
    except asking.FieldError as error:
        return JSONResponse({"field": error.field, "message": str(error)}, 422)
    except BusyQueueError as error:
        return JSONResponse({"field": "", "message": str(error)}, 409)
    except OpenNandLabError as error:
        status = 404 if isinstance(error, NotThereError) else 503
        if "text/html" not in request.headers.get("accept", "text/html"):
            return JSONResponse({"field": "", "message": str(error)}, status)
        title = "Not found" if status == 404 else "Trouble"
        return html(request, place, "trouble.html.j2", status=status, title=title,
                    text=str(error), kind="bad")  # fmt: skip


class NotThereError(OpenNandLabError):
    """A point or sweep that the store does not have."""


def html(
    request: Request,
    place: Place,
    name: str,
    *,
    status: int = 200,
    title: str,
    **values: Any,  # noqa: ANN401
) -> HTMLResponse:
    """Return a page in its frame."""
    figures = [one for one in values.values() if isinstance(one, pages.Figures)]
    text = pages.rendered(
        name,
        title=title,
        path=request.url.path,
        nonce=request.state.nonce,
        csrf=place.door.csrf,
        place=str(place.store),
        version=_core.version(),
        plotly=pages.plotly_version(),
        theme={key: value for one in figures for key, value in one.theme.items()}
        or pages.plain_theme(),
        draws=any(one.has_figures for one in figures),
        template=template(),
        **values,
    )
    return HTMLResponse(text, status)


def runs(request: Request, place: Place) -> Response:
    """Show a page of the table of points."""
    query = listing.TableQuery.of(request.query_params)
    with opened(place.store) as store:
        found = listing.listing(store, query)
        count = len(store)
    values: dict[str, Any] = {"listing": found, "count": count}
    if request.query_params.get("part"):
        return HTMLResponse(pages.rendered("table.part.html.j2", **values))
    return html(request, place, "runs.html.j2", title="Runs", **values)


def sweeps(request: Request, place: Place) -> Response:
    """Show all sweeps, and what was started here."""
    with opened(place.store) as store:
        found = store.sweeps()
    return html(request, place, "sweeps.html.j2", title="Sweeps", sweeps=found,
                jobs=place.jobs.listed)  # fmt: skip


def live(request: Request, place: Place) -> Response:
    """Show the runs in progress, here and elsewhere."""
    with opened(place.store) as store:
        values = screens.live(store, place.jobs)
    if request.query_params.get("part"):
        return HTMLResponse(pages.rendered("live.part.html.j2", **values))
    return html(request, place, "live.html.j2", title="Live", **values)


def _look(board: sweeping.Board, place: Place) -> sweeping.Screen:
    with opened(place.store) as store:
        if all(one.name != board.name for one in store.sweeps()):
            raise NotThereError(f"no sweep `{board.name}` in {place.store}")
        return board.look(store, place.jobs.of(board.name))


def sweep(request: Request, place: Place) -> Response:
    """Show how far a sweep is, and its map."""
    name = request.query_params.get("name", "")
    job = place.jobs.of(name)
    with opened(place.store) as store:
        is_there = name in store.names().sweeps
    if not is_there and job is not None and (job.is_active or job.message):
        return html(request, place, "waiting.html.j2", title=name, job=job)
    found = _look(sweeping.Board(name, request.query_params), place)
    values = screens.of_sweep(found, place.store, place.folder)
    return html(request, place, "sweep.html.j2", title=name, screen=found,
                levels=sweeping.LEVELS, **values)  # fmt: skip


def plot(request: Request, place: Place) -> Response:
    """Show the plot builder."""
    with opened(place.store) as store:
        values = screens.plot(store, place.store, request.query_params)
    return html(request, place, "plot.html.j2", title="Plot", **values)


def figure(request: Request, place: Place) -> Response:
    """Return the figure of the plot builder as a file."""
    with opened(place.store) as store:
        try:
            content = screens.plot_svg(store, request.query_params)
        except (ConfigError, StoreError) as error:
            raise asking.FieldError("", str(error)) from error
    return _download(content, "image/svg+xml", "plot.svg")


def compare(request: Request, place: Place) -> Response:
    """Show points side by side."""
    keys = list(dict.fromkeys(request.query_params.getlist("key")))
    with opened(place.store) as store:
        values = screens.compare(store, keys, every=bool(request.query_params.get("every")))
    return html(request, place, "compare.html.j2", title="Compare", keys=keys, **values)


def run(request: Request, place: Place) -> Response:
    """Show one point: its report, numbers and settings."""
    with opened(place.store) as store:
        entry = _entry(store, request)
        values = screens.run(store, entry, place.store, place.jobs)
    return html(request, place, "run.html.j2", title=f"Run {entry.key[:8]}", entry=entry, **values)


def document(request: Request, place: Place) -> Response:
    """Return the document of a point, as the run itself would have written it."""
    from opennandlab.base.canonical import as_bytes, readable_json

    with opened(place.store) as store:
        entry = _entry(store, request)
    if entry.document is None:
        raise NotThereError(f"the point {entry.key[:12]} has no document, it failed")
    content = as_bytes(readable_json(entry.document) + "\n")
    return _download(content, "application/json", f"{entry.key[:12]}.json")


def _entry(store: Store, request: Request) -> Any:  # noqa: ANN401 (an entry)
    key = request.query_params.get("key", "")
    try:
        whole = store.whole_key(key)
    except StoreError as error:
        raise NotThereError(str(error)) from error
    return store.entry(whole)


def new(request: Request, place: Place) -> Response:
    """Show the form for a new run."""
    values = screens.new(request.query_params, place.folder)
    return html(request, place, "new.html.j2", title="New run", **values)


def check(request: Request, place: Place) -> Response:
    """Say whether a form can be run, and what it comes to."""
    asked = _asked(request)
    try:
        with opened(place.store) as store:
            found = asking.checked(asked, store, place.folder)
    except asking.FieldError as error:
        faults = [error, *asking.others(asked, error)]
        rows = [{"field": one.field, "message": str(one)} for one in faults]
        return JSONResponse({**rows[0], "also": rows[1:]}, 422)
    return JSONResponse({"points": found.points, "facts": found.facts, "name": found.sweep["name"],
                         "warnings": found.warnings})  # fmt: skip


def start(request: Request, place: Place) -> Response:
    """Run what a form asks for; answer with where its progress is."""
    with opened(place.store) as store:
        found = asking.checked(_asked(request), store, place.folder)
    place.jobs.start(found.sweep)
    return JSONResponse({"page": pages.address("/sweep", name=found.sweep["name"])})


def stop(request: Request, place: Place) -> Response:
    """End a sweep that was started here."""
    name = _named(request)
    if not place.jobs.stop(name):
        raise BusyQueueError(f"the sweep `{name}` does not run here; stop it where it was started")
    return JSONResponse({"stopped": name})


def retry(request: Request, place: Place) -> Response:
    """Run what is missing of a sweep again, and what had failed."""
    name = _named(request)
    with opened(place.store) as store:
        found = next((one for one in store.sweeps() if one.name == name), None)
    if found is None or not screens.can_go_on(found.definition, place.folder):
        raise BusyQueueError(f"`{name}` reads files: the command line goes on with it")
    place.jobs.start(found.definition, retry=True)
    return JSONResponse({"page": pages.address("/sweep", name=name)})


def remark(request: Request, place: Place) -> Response:
    """Tag points, and keep a note on them."""
    body = _body(request)
    body = body if isinstance(body, dict) else {}
    keys: Any = body.get("keys")
    tags, add, note = (body.get(name) for name in ("tags", "add", "note"))
    are_keys = isinstance(keys, list) and all(isinstance(key, str) for key in keys)
    are_texts = all(one is None or isinstance(one, str) for one in (tags, add, note))
    if not are_keys or len(keys) > KEYS_MAX or not are_texts:
        raise asking.FieldError("keys", f"accepted: up to {KEYS_MAX} keys, and texts")
    split = re.compile(r"[\s,]+").split
    given = {} if tags is None else {"tags": list(filter(None, split(tags)))}
    with opened(place.store) as store:
        try:
            store.remark(keys, **given, add=list(filter(None, split(add or ""))), note=note)
        except StoreWriteError:
            raise
        except StoreError as error:
            raise asking.FieldError("tags", str(error)) from error
    return JSONResponse({"kept": len(keys)})


def verify(request: Request, place: Place) -> Response:
    """Run what the document of a point describes, and compare."""
    return _checking(request, place, "verify")


def rerun(request: Request, place: Place) -> Response:
    """Run a point again, and compare."""
    return _checking(request, place, "rerun")


def _checking(request: Request, place: Place, how: str) -> Response:
    key = _named(request)
    with opened(place.store) as store:
        try:
            entry = store.entry(store.whole_key(key))
        except StoreError as error:
            raise NotThereError(str(error)) from error
    if not dict(zip(("verify", "rerun"), screens.checks_of(entry), strict=True))[how]:
        raise BusyQueueError("this point reads files, or cannot be run again: use the commands")
    name = screens.check_name(entry.key, how)
    place.jobs.start({"name": name, "check": {"key": entry.key, "how": how}})
    return JSONResponse({"page": pages.address("/run", key=entry.key)})


def _body(request: Request) -> Any:  # noqa: ANN401 (JSON)
    try:
        return json.loads(request.state.body)
    except (ValueError, RecursionError) as error:
        raise asking.FieldError("", "no JSON; accepted: what this page sends") from error


def _asked(request: Request) -> asking.Request:
    return asking.Request.of(_body(request))


def _named(request: Request) -> str:
    body = _body(request)
    name = body.get("name") if isinstance(body, dict) else None
    if not isinstance(name, str):
        raise asking.FieldError("name", "accepted: the name of a sweep")
    return name


async def events(request: Request) -> Response:
    """Send what changes: of the store, and of a sweep where one is named."""
    place: Place = request.app.state.place
    is_sweep = "name" in request.query_params

    board = sweeping.Board(request.query_params.get("name", ""), request.query_params)
    known: dict[str, Any] = {}

    def made() -> Events:
        found = [("trouble", pages.as_json({"text": place.watch.trouble})),
                 ("store", pages.as_json({"count": place.watch.count})),
                 ("jobs", pages.as_json(screens.jobs(place.jobs)))]  # fmt: skip
        if not is_sweep or place.watch.trouble:
            return found, False
        try:
            event = _look(board, place).event
        except NotThereError:
            return found, False
        except OpenNandLabError as error:
            return [("trouble", pages.as_json({"text": str(error)})), *found[1:]], True
        # Of a map of thousands of cells only what has changed is sent.
        cells = {name: cell for name, cell in event["cells"].items() if known.get(name) != cell}
        known.update(cells)
        text = pages.as_json({**event, "cells": cells})
        return [*found, ("sweep", text)], bool(event["progress"]["active"])

    return StreamingResponse(stream(place.watch, made), media_type="text/event-stream")


async def login(request: Request) -> Response:
    """Ask for the token, and change the right one for a cookie."""
    place: Place = request.app.state.place
    if place.door.token is None:
        return RedirectResponse("/", 303)
    if request.method == "POST":
        from urllib.parse import parse_qs

        body = (await request.body()).decode(errors="replace")
        token = parse_qs(body).get("token", [""])[0].strip()
        if place.door.admits(token):
            return place.door.with_session(RedirectResponse("/", 303))
    text = pages.rendered("login.html.j2", is_wrong=request.method == "POST",
                          nonce=request.state.nonce, theme=pages.plain_theme())  # fmt: skip
    return HTMLResponse(text, 401)


async def static(request: Request) -> Response:
    """Return a script or a style: one of a few names, never a path."""
    name = request.path_params.get("name", "icon.svg")
    if name == "plotly.js":
        return _in_pieces(pages.plotly_script(), "text/javascript", {"cache-control": KEPT})
    kind = STYLES.get(name) or ("text/javascript" if name in SCRIPTS else None)
    if name == "icon.svg":
        kind = "image/svg+xml"
    if kind is None:
        raise HTTPException(404)
    return _in_pieces(pages.file_of(name), kind, {"cache-control": "no-cache"})


def _download(content: bytes, kind: str, name: str) -> Response:
    return _in_pieces(content, kind, {"content-disposition": f'attachment; filename="{name}"'})


def _in_pieces(content: bytes, kind: str, headers: dict[str, str]) -> Response:
    """Answer with one piece after another, each when the client has taken the one before it.

    Of what is sent in one piece the server keeps a copy for every client that does not read it.
    """

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), PIECE_BYTES):
            yield content[start : start + PIECE_BYTES]
            await asyncio.sleep(0)  # the end of a connection is heard between two pieces

    length = {"content-length": str(len(content))}
    return StreamingResponse(pieces(), media_type=kind, headers=headers | length)


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if request.url.path.startswith(("/static", "/api", "/events")):
        return PlainTextResponse(f"{status}\n", status)
    text = "This page does not exist." if status == 404 else "This page takes no such request."
    return html(request, request.app.state.place, "trouble.html.j2", status=status,
                title="Not found", text=text, kind="warning")  # fmt: skip


async def _gone(request: Request, error: Exception) -> Response:
    del request, error
    return PlainTextResponse("the body is too long\n", 413)
