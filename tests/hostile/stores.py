"""Stores of somebody else, made as `points.json` says, and all pages and buttons of one."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from watching import SCRIPTS

BASE = "http://127.0.0.1:8765"
PAGES = ("/", "/sweeps", "/plot", "/plot.svg", "/compare", "/new")
WORK_S = 60.0


def keep(folder: Path, given: dict[str, Any]) -> str:
    """Make a store with one point and one sweep; return the key of the point.

    Whoever writes a store can compute its checksums, and can write anything past them.
    """
    from opennandlab.store import Entry, Store, key_of

    names = ("verb", "seed", "settings", "coordinates", "metrics", "document", "wall_s", "program",
             "created", "host", "sweep")  # fmt: skip
    parts = {name: given[name] for name in names}
    key = key_of("benchmark", {}, 1, 5)
    with Store.open(folder) as store:
        with contextlib.suppress(Exception):
            store.add([Entry(key=key, error=None, model_version=5, **parts)])
        with contextlib.suppress(Exception):
            name, definition = parts["sweep"], given["definition"]
            store.note_sweep(name, definition, [(key, parts["coordinates"]), ("0" * 64, {"x": 1})])
    if given["odd"] is not None:
        _overwrite(folder / "runs.db", given["column"], given["odd"])
    return key


def _overwrite(file: Path, column: str, value: Any) -> None:
    """Put a value where a store never has it."""
    places = {"definition": "sweep SET definition", "member": "member SET coordinates",
              "coordinates": "coordinates SET json", "names": "names SET json",
              "packed": "content SET packed", "vector": "numbers SET vector"}  # fmt: skip
    text = value if isinstance(value, int | float | None) else json.dumps(value)
    place = places.get(column, f"point SET {column}")
    with contextlib.suppress(Exception), contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute(f"UPDATE {place} = ?", (text,))
        connection.commit()


@contextlib.contextmanager
def pages(folder: Path) -> Iterator[tuple[Any, Any]]:
    """Give a client of the pages of a store, and what they share."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the client of tests is to be replaced some day
        from starlette.testclient import TestClient

    from opennandlab.ui.application import make
    from opennandlab.ui.guard import Door

    application = make(folder, Door("127.0.0.1", 8765))
    with TestClient(application, base_url=BASE) as client:
        yield client, application.state.place


def press(folder: str) -> None:
    """Look at all pages of a store, and press all buttons.

    Raises:
        AssertionError: for an answer that says that something broke, and for a script in a page.
    """
    from opennandlab.base.errors import StoreError
    from opennandlab.store import Store
    from opennandlab.ui.jobs import BusyQueueError

    keys: list[str] = []
    sweeps: list[str] = []
    definitions: list[dict[str, Any]] = []
    with contextlib.suppress(StoreError), Store.open(folder) as store:
        keys = list(store.keys())
        definitions = [dict(one.definition) for one in store.sweeps()]
        sweeps = [one.name for one in store.sweeps()]
    points = [
        f"{page}?key={quote(key)}" for key in keys for page in ("/run", "/run.json", "/compare")
    ]
    boards = [f"/sweep?name={quote(name)}" for name in sweeps]
    answers: dict[str, int] = {}
    with pages(Path(folder)) as (client, place):
        headers = {"origin": BASE, "x-opennandlab": place.door.csrf, "accept": "application/json"}
        for page in (*PAGES, *points, *boards):
            answer = client.get(page)
            _judge(page, answer)
            answers[page] = answer.status_code
        for path, names in (("verify", keys), ("rerun", keys), ("retry", sweeps)):
            for name in names:
                answer = client.post(f"/api/{path}", json={"name": name}, headers=headers)
                _judge(path, answer)
                answers[path] = answer.status_code
        # What a page does not offer, whoever knows its address could ask for.
        started = [({"name": f"{how} {key}", "check": {"key": key, "how": how}}, False)
                   for key in keys for how in ("verify", "rerun")]  # fmt: skip
        started += [({**one, "name": str(one.get("name"))}, True) for one in definitions]
        for sweep, retry in started:
            with contextlib.suppress(BusyQueueError):
                place.jobs.start(sweep, retry=retry)
        until = time.monotonic() + WORK_S
        while any(job.is_active for job in place.jobs.listed) and time.monotonic() < until:
            time.sleep(0.02)
        ended = [(job.state, job.message) for job in place.jobs.listed]
    if any("Traceback" in message for _, message in ended):
        raise AssertionError(f"a worker broke: {ended!r}"[:3000])
    if any(state in {"queued", "running"} for state, _ in ended):
        raise AssertionError(f"a worker never ends: {ended!r}")
    sys.stdout.write(json.dumps({"answers": answers, "jobs": ended}) + "\n")


def _judge(page: str, answer: Any) -> None:
    if answer.status_code >= 500 and answer.status_code != 503:
        raise AssertionError(f"{page}: status {answer.status_code}: {answer.text[:500]}")
    found = [one for one in SCRIPTS if one in answer.text]
    if found and "json" not in answer.headers.get("content-type", ""):
        raise AssertionError(f"{page}: {found} in the page")
