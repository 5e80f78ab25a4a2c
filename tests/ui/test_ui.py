"""`ui` without a browser: who may ask, what the screens hold, and what a form may not do."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import ui_store
from conftest import Cli
from opennandlab.base.errors import ConfigError, StoreError
from opennandlab.store import Store
from opennandlab.ui import listing, sweeping, watching
from opennandlab.ui.application import PIECE_BYTES, make
from opennandlab.ui.guard import BODY_BYTES_MAX, Door
from opennandlab.ui.server import door_of
from stored import entry, key

testclient = pytest.importorskip("starlette.testclient", reason="starlette needs httpx for tests")

BASE = ui_store.BASE
TOKEN = "a-token-of-some-length"  # noqa: S105 (for tests)
PAGES = ["/", "/sweeps", "/live", "/plot", "/compare", "/new"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ui_store.made(tmp_path_factory.mktemp("ui"))


@pytest.fixture
def door() -> Door:
    return Door("127.0.0.1", 8765)


@pytest.fixture
def asked(store: Path, door: Door) -> Iterator[Any]:
    with testclient.TestClient(make(store, door), base_url=BASE) as client:
        yield client


# Who may ask.


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8765.evil.example",
    "127.0.0.1:8765@evil.example", "user@127.0.0.1:8765", "192.168.0.1:8765", "[::1", "",
])  # fmt: skip
def test_a_foreign_name_for_this_address_is_refused(asked: Any, host: str) -> None:
    answer = asked.get("/", headers={"host": host})
    assert answer.status_code == 403
    assert "grid" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"])
def test_the_names_of_this_machine_are_known(asked: Any, host: str) -> None:
    assert asked.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/api/check", "/api/start", "/api/stop", "/api/retry", "/api/remark"]
)
@pytest.mark.parametrize("headers", [
    {}, {"origin": "http://evil.example", "x-opennandlab": "right"}, {"x-opennandlab": "right"},
    {"origin": BASE}, {"origin": BASE, "x-opennandlab": "wrong"},
    {"origin": "null", "x-opennandlab": "right"},
    {"origin": "https://127.0.0.1:8765", "x-opennandlab": "right"},
])  # fmt: skip
def test_only_our_pages_change_anything(
    asked: Any, door: Door, path: str, headers: dict[str, str]
) -> None:
    given = {name: door.csrf if value == "right" else value for name, value in headers.items()}
    assert asked.post(path, json=ui_store.body(), headers=given).status_code == 403
    # A form of another page has no such header, and an address alone changes nothing.
    assert asked.get(path).status_code == 405


def test_a_body_that_is_too_long_is_refused(asked: Any, door: Door) -> None:
    long = "x" * (BODY_BYTES_MAX + 1)
    refused = ui_store.post(asked, door, "/api/check", long)
    assert (refused.status_code, refused.text) == (
        413, f"refused: the body is too long; accepted: at most {BODY_BYTES_MAX} bytes\n"
    )  # fmt: skip
    headers = {"origin": BASE, "x-opennandlab": door.csrf}
    pieces = (b"x" * 65536 for _ in range(20))
    assert asked.post("/api/check", content=pieces, headers=headers).status_code == 413


def test_a_token_is_changed_for_a_cookie(store: Path) -> None:
    door = Door("127.0.0.1", 8765, TOKEN)
    assert door.url == f"{BASE}/?token={TOKEN}"
    html = {"accept": "text/html"}
    with testclient.TestClient(make(store, door), base_url=BASE, follow_redirects=False) as client:
        for path in (*PAGES, "/run.json?key=abcd", "/events", f"/?token={TOKEN[:-1]}"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers=html).headers["location"] == "/login"
        entered = client.get(f"{BASE}//evil.example/plot?x=1&token={TOKEN}")
        assert entered.status_code == 303
        assert entered.headers["location"] == "/evil.example/plot?x=1"
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        assert client.get("/").status_code == 200
        client.cookies.clear()
        client.cookies.set(door.cookie, "0" * 64)
        assert client.get("/").status_code == 401


def test_the_token_can_be_typed(store: Path) -> None:
    door = Door("127.0.0.1", 8765, TOKEN)
    with testclient.TestClient(make(store, door), base_url=BASE) as client:
        wrong = client.post("/login", content="token=other", headers={"origin": BASE})
        assert (wrong.status_code, "not valid" in wrong.text) == (401, True)
        assert client.post("/login", content=f"token={TOKEN}").status_code == 403
        right = client.post("/login", content=f"token={TOKEN}", headers={"origin": BASE})
        assert "<h1>Runs</h1>" in right.text


@pytest.mark.parametrize(("host", "token", "said"), [
    ("0.0.0.0", None, "with --token"), ("192.168.0.7", None, "with --token"),  # noqa: S104
    ("127.0.0.1", "short", "16 or more"), ("127.0.0.1", "x" * 20 + "\n", "printable"),
])  # fmt: skip
def test_an_open_door_is_refused(host: str, token: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        door_of(host, 1, token)


def test_any_address_is_asked_by_numbers_but_not_by_foreign_names() -> None:
    door = door_of("0.0.0.0", 8765, TOKEN)  # noqa: S104
    assert door.knows("192.168.0.7:8765")
    assert not door.knows("evil.example:8765")


# What a page may do.


def everything(store: Path) -> list[str]:
    """Return the addresses of all kinds of pages."""
    hostile = quote(ui_store.HOSTILE, safe="")
    grid = ui_store.keys(store, "sweep=grid")
    runs = [key(1), key(2), grid[0], *ui_store.keys(store, "sweep=depth")[:1],
            *ui_store.keys(store, "status=failed")]  # fmt: skip
    return [
        *PAGES,
        f"/?where={hostile}", f"/?order={hostile}&show={hostile}&sweep={hostile}&page=2",
        "/?page=99999999999999999999", "/sweep?name=grid&metric=gc_cycles", "/sweep?name=depth",
        f"/sweep?name={hostile}", f"/sweep?name={hostile}&x={hostile}&metric={hostile}",
        "/sweep?name=nothing", "/plot?sweep=grid", f"/plot?where={hostile}&x={hostile}",
        f"/plot?sweep=grid&title={hostile}&lines=gc_policy",
        *(f"/run?key={one}" for one in runs), f"/run?key={hostile}", "/run?key=../../etc/passwd",
        f"/compare?key={grid[0]}&key={grid[-1]}", f"/compare?key={grid[0]}&key={hostile}",
        f"/?group={hostile}&col={hostile}&tag={hostile}", f"/?group=sweep&col={hostile}",
        "/plot?sweep=*", "/plot?sweep=*&kind=parallel",
        "/plot?sweep=grid&kind=parallel&y=gc_cycles", "/live?part=1",
        f"/plot?sweep={hostile}&kind=parallel&y={hostile}",
        f"/compare?key={grid[0]}&key={key(1)}", f"/new?device={hostile}&workload={hostile}",
        "/nothing", f"/static/{hostile}",
    ]  # fmt: skip


def test_no_page_has_a_script_of_its_own_or_fetches_anything(asked: Any, store: Path) -> None:
    for path in everything(store):
        answer = asked.get(path, headers={"accept": "text/html"})
        assert answer.status_code < 500, path
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        text = answer.text
        scripts = re.findall(r"<script\b([^>]*)>", text)
        own = [one for one in scripts if "src=" not in one and 'type="application/json"' not in one]
        assert own == [], path
        assert re.findall(r"<[^>]+\s(?:on\w+|style)=", text) == [], path
        linked = re.findall(r"""(?:src|href|action)=["']([^"']*)""", text)
        assert [one for one in linked if one and not one.startswith(("/", "#"))] == [], path
        for style in re.findall(r"<style([^>]*)>", text):
            assert re.search(r'nonce="([^"]+)"', style).group(1) in policy


def test_a_sweep_with_signs_in_its_name_has_a_page(tmp_path: Path, door: Door) -> None:
    name = "<b>=1"
    with Store.open(tmp_path) as kept:
        kept.add([entry(1, sweep=name, coordinates={"a": 1})])
        kept.note_sweep(name, {"run": "benchmark", "grid": {"a": [1]}}, [])
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        for path in ("/sweep?name=", "/?sweep=", "/plot?sweep="):
            answer = client.get(path + "%3Cb%3E%3D1")
            assert answer.status_code == 200, path
            assert "is not valid" not in answer.text, path
        assert "Newest points" in client.get("/live").text


def test_hostile_names_are_shown_as_they_are(asked: Any, store: Path) -> None:
    seen = 0
    for path in everything(store):
        text = asked.get(path, headers={"accept": "text/html"}).text
        assert "<script>alert" not in text, path
        assert "{{49" not in text
        assert "root:x:" not in text
        seen += "&lt;script&gt;alert(1)" in text
    assert seen > 10


@pytest.mark.parametrize("path", [
    "/static/../ui.css", "/static/..%2fguard.py", "/static/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/static/base.html.j2", "/static//etc/passwd", "/static/guard.py", "/static/",
])  # fmt: skip
def test_files_are_named_and_never_searched(asked: Any, path: str) -> None:
    assert asked.get(path).status_code == 404


def test_static_files_have_their_types(asked: Any) -> None:
    for name, kind in (("ui.css", "text/css"), ("ui.js", "javascript"), ("plotly.js", "javascript"),
                       ("report.js", "javascript"), ("draw.js", "javascript")):  # fmt: skip
        answer = asked.get(f"/static/{name}")
        assert (answer.status_code, kind in answer.headers["content-type"]) == (200, True)
    assert "image/svg" in asked.get("/favicon.ico").headers["content-type"]


@pytest.mark.parametrize("path", ["/static/plotly.js", "/run.json"])
def test_what_is_long_is_sent_in_pieces(store: Path, door: Door, path: str) -> None:
    """A thousand clients that did not read the script kept 2.5 GB, which nobody gave back."""
    app = make(store, door)
    query = f"key={ui_store.keys(store)[0]}".encode() if path == "/run.json" else b""
    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": query,
        "headers": [(b"host", b"127.0.0.1:8765")],
    }  # fmt: skip
    sizes: list[int] = []
    lengths: list[int] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()  # a client that stays
        raise AssertionError

    async def send(message: Any) -> None:
        sizes.append(len(message.get("body", b"")))
        lengths.extend(
            int(value) for name, value in message.get("headers", ()) if name == b"content-length"
        )

    asyncio.run(app(scope, receive, send))
    assert (max(sizes) <= PIECE_BYTES, sum(sizes)) == (True, lengths[0])


def test_a_client_that_does_not_read_holds_one_piece(store: Path, door: Door) -> None:
    taken = 0

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        nonlocal taken
        taken += len(message.get("body", b""))
        if taken:
            raise RuntimeError("it has left")

    scope = {
        "type": "http", "method": "GET", "path": "/static/plotly.js", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8765")],
    }  # fmt: skip
    with pytest.raises(RuntimeError, match="it has left"):
        asyncio.run(make(store, door)(scope, receive, send))
    assert taken == PIECE_BYTES


def test_without_a_token_only_the_page_that_asks_for_it_is_served(store: Path) -> None:
    """The script that draws, of 4.8 MB, was given to everybody."""
    door = Door("127.0.0.1", 8765, TOKEN)
    with testclient.TestClient(make(store, door), base_url=BASE) as client:
        for name in re.findall(r'href="(/static/[^"]+)"', client.get("/login").text):
            assert client.get(name).status_code == 200
        assert client.get("/static/plotly.js").status_code == 401
        assert client.get("/static/ui.js").status_code == 401


# The table of runs.


def rows_of(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a class="key" href="/run\?key=(\w+)"', text)


def test_a_page_of_ten_thousand_runs_is_a_page(
    tmp_path: Path, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ui_store.many(tmp_path, 10_000)
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made = connect(*arguments, **options)
        made.set_trace_callback(statements.append)
        return made

    with testclient.TestClient(make(folder, door), base_url=BASE) as client:
        client.get("/")
        monkeypatch.setattr(sqlite3, "connect", traced)
        first = client.get("/")
        assert len(rows_of(first.text)) == listing.ROWS_PER_PAGE
        assert len(first.content) < 100_000
        # The number of queries does not grow with the number of points.
        assert len(statements) < 40
        assert "1–50 of 10 000 runs" in first.text
        pages = [rows_of(client.get(f"/?page={page}&order=-waf").text) for page in (1, 2, 200)]
        assert [len(page) for page in pages] == [50, 50, 50]
        assert len({one for page in pages for one in page}) == 150
        assert rows_of(client.get("/?page=201").text) == []
        statements.clear()
        assert "✕" not in client.get("/sweep?name=many").text
        assert len(statements) < 80


def test_runs_are_filtered_ordered_and_paged(asked: Any) -> None:
    text = asked.get("/?sweep=grid&where=gc_policy=greedy").text
    assert len(rows_of(text)) == 4
    assert 'value="gc_policy=greedy"' in text
    text = asked.get("/?sweep=grid&order=-waf&show=gc_cycles").text
    assert "gc_cycles" in re.findall(r"<thead>.*?</thead>", text, re.DOTALL)[0]
    assert 'aria-sort="descending"' not in asked.get("/?order=gc_policy").text
    assert "No point has <code>nothing</code>" in asked.get("/?where=nothing%3D1").text
    assert "is not valid" in asked.get("/?where=x").text
    part = asked.get("/?part=1&sweep=grid").text
    assert "<html" not in part
    assert len(rows_of(part)) == 8
    assert "it broke" in asked.get("/?status=failed").text


def test_a_sweep_whose_name_is_a_number_is_found() -> None:
    for name in ("12", "null", " x", '"q"', "=1", "a b", "x"):
        condition = listing.equals("sweep", name)
        assert listing.resolved("sweep", ["sweep"]) == "sweep"
        from opennandlab.store.conditions import Condition

        read = Condition.parse(condition)
        assert (read.name, read.sign, read.value) == ("sweep", "=", name)


def test_an_empty_store_says_how_to_begin(tmp_path: Path, door: Door) -> None:
    Store.open(tmp_path).close()
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        assert "Start a first run" in client.get("/").text
        assert "No point is done yet" in client.get("/plot").text
        assert "Nothing runs" in client.get("/live").text
        assert "No sweep was run" in client.get("/sweeps").text


# The other screens.


def test_the_map_of_a_sweep_has_a_cell_for_each_combination(asked: Any, store: Path) -> None:
    text = asked.get("/sweep?name=grid").text
    cells = re.findall(r'class="cell (\w+) l\d"[^>]*aria-label="([^"]*)"', text)
    assert [state for state, _ in cells] == ["done"] * 4
    assert re.search(r"gc_policy greedy, over_provisioning_pct 0.2: waf [\d.]+ ± [\d.]+, 2 of 2",
                     cells[0][1])  # fmt: skip
    with Store.open(store) as opened:
        shown = sweeping.screen(opened, "grid", {"x": "ftl.gc_policy"}, None)
    assert (shown.view.x, shown.view.y) == ("ftl.gc_policy", "ftl.over_provisioning_pct")
    assert shown.progress.state == "done"
    waiting = asked.get(f"/sweep?name={quote(ui_store.HOSTILE, safe='')}").text
    assert 'class="cell waiting"' in waiting
    assert asked.get("/sweep?name=nothing").status_code == 404


def test_a_sweep_of_another_process_is_timed_by_its_points(tmp_path: Path) -> None:
    now = time.time()

    def at(seconds: float) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(now + seconds))

    found = [entry(number, key=key(number), created=at(1)) for number in range(4)]
    with Store.open(tmp_path) as opened:
        members = [(key(number), {"a": number}) for number in range(8)]
        opened.note_sweep("far", {"run": "benchmark"}, members)
        opened.add(found)
        sweep = opened.sweeps()[0]
        rows = sweeping._rows(opened, ["sweep=far"], ["a"], None)
    shown = sweeping.progress(sweep, 8, rows, None)
    assert (shown.state, shown.done, shown.can_stop) == ("outside", 4, False)
    old = sweeping.KeptSweep("far", at(-4000), 8, 4, 0, {})
    late = [sweeping._Row(key(0), (0,), "", None, None, at(-3990))]
    quiet = sweeping.progress(old, 8, late, None)
    assert quiet.state == "quiet"
    assert "may have been stopped" in quiet.note


def test_the_plot_is_that_of_runs_plot(asked: Any, store: Path, cli: Cli, folder: Path) -> None:
    text = asked.get("/plot?sweep=grid&x=over_provisioning_pct&y=waf").text
    line, python = (unescape(re.sub("</?span>", "", one))
                    for one in re.findall(r"<pre[^>]*>(.*?)</pre>", text, re.DOTALL))  # fmt: skip
    drawn = asked.get(unescape(re.search(r'href="(/plot\.svg[^"]*)"', text).group(1)))
    assert drawn.headers["content-disposition"] == 'attachment; filename="plot.svg"'
    import shlex

    words = shlex.split(line)
    assert words[:3] == ["opennandlab", "runs", "plot"]
    assert cli(*words[1:]).returncode == 0
    assert (folder / "plot.svg").read_bytes() == drawn.content
    pytest.importorskip("pandas")
    (folder / "plot.svg").unlink()
    import contextlib
    import io
    import os

    said, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(python, "copied", "exec"), {})  # noqa: S102 (made by us)
    finally:
        os.chdir(before)
    assert (folder / "plot.svg").read_bytes() == drawn.content
    assert "waf.count" in said.getvalue()
    assert asked.get("/plot.svg?where=x").status_code == 422
    assert asked.get("/plot?where=waf%3E1e9").text.count("No finished point is left") == 1
    assert str(store) in line


def test_what_must_not_be_compared_is_said(asked: Any, store: Path) -> None:
    fifo, other = (ui_store.keys(store, "sweep=grid", "seed=42", f"over_provisioning_pct={op}")[0]
                   for op in (0.2, 0.3))  # fmt: skip
    text = asked.get(f"/compare?key={fifo}&key={other}").text
    assert "different over-provisioning" in text
    assert text.count('<span class="badge bad">refused</span>') == 1
    like = ui_store.keys(store, "sweep=grid", "seed=42", "over_provisioning_pct=0.2")
    text = asked.get("/compare?" + "&".join(f"key={one}" for one in like)).text
    assert "like with like" in text
    assert "Side by side" in text
    assert "only with others of its kind" in asked.get(f"/compare?key={fifo}&key={key(1)}").text
    assert (
        "it failed"
        in asked.get(f"/compare?key={fifo}&key={ui_store.keys(store, 'status=failed')[0]}").text
    )


@pytest.mark.parametrize(("which", "said"), [
    ("sweep=depth", "Latency by percentile"), ("verb=pts.iops", "STEADY STATE"),
    ("verb=ecc.curve", "frame error rate"), ("status=failed", "it broke"),
])  # fmt: skip
def test_a_run_of_any_family_has_its_report(asked: Any, store: Path, which: str, said: str) -> None:
    found = ui_store.keys(store, which)[0]
    text = asked.get(f"/run?key={found}").text
    assert said.lower() in text.lower()
    assert found in text


def test_a_document_is_what_the_run_wrote(asked: Any, store: Path, cli: Cli, folder: Path) -> None:
    found = ui_store.keys(store, "sweep=depth")[0]
    answer = asked.get(f"/run.json?key={found[:12]}")
    assert answer.headers["content-disposition"] == f'attachment; filename="{found[:12]}.json"'
    (folder / "one.json").write_bytes(answer.content)
    assert cli("verify", "one.json").returncode == 0
    failed = ui_store.keys(store, "status=failed")[0]
    assert asked.get(f"/run.json?key={failed}").status_code == 404
    assert asked.get("/run.json?key=ffffffff").status_code == 404


def test_a_store_that_is_gone_or_locked_is_told(
    tmp_path: Path, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kept"
    with Store.open(folder) as made_store:
        made_store.add([entry(1)])
    monkeypatch.setattr(watching, "TIMEOUT_S", 0.05)
    with testclient.TestClient(make(folder, door), base_url=BASE) as client:
        held = sqlite3.connect(folder / "runs.db")
        held.execute("PRAGMA journal_mode = DELETE")
        held.execute("BEGIN EXCLUSIVE")
        answer = client.get("/")
        assert answer.status_code == 503
        assert "has been writing to it" in answer.text
        held.close()
        assert client.get("/").status_code == 200
        shutil.rmtree(folder)
        for path in (*PAGES[:3], "/sweep?name=x", "/run?key=abcd"):
            answer = client.get(path)
            assert answer.status_code in {404, 503}
            assert "no store of runs" in answer.text
        answer = ui_store.post(client, door, "/api/start", ui_store.body())
        assert answer.status_code == 503
        assert "no store of runs" in answer.json()["message"]
        folder.mkdir()
        (folder / "runs.db").write_bytes(b"x" * 5000)
        assert "not a database" in client.get("/").text


@pytest.mark.parametrize("changes", [
    {"grid": 5}, {"seeds": {"count": [], "first": {}, "until": 3}}, {"set": {"\ud800": "\ud800"}},
    {"run": "--allow-code"}, {"run": ["benchmark"]}, {"name": "\udfff", "device": {}},
])  # fmt: skip
def test_what_no_sweep_says_breaks_no_page(
    tmp_path: Path, door: Door, changes: dict[str, Any]
) -> None:
    """Pages of a foreign store ended with status 500, or offered an option in a command."""
    kept = entry(1, coordinates={"x": "\ud800"}, document={"schema": "x", "waf": 10**400})
    with Store.open(tmp_path) as opened:
        opened.add([kept])
        opened.note_sweep("s", {"run": "benchmark", **changes}, [(kept.key, kept.coordinates)])
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        for page in (*PAGES, "/sweep?name=s", f"/run?key={kept.key}", "/plot?sweep=s",
                     f"/compare?key={kept.key}", f"/run.json?key={kept.key}"):  # fmt: skip
            answer = client.get(page)
            assert answer.status_code == 200, (page, answer.text)
            assert "opennandlab sweep --allow-code" not in answer.text
        answer = ui_store.post(client, door, "/api/retry", {"name": "s"})
        assert answer.status_code == 409


def test_what_is_read_is_the_store_alone(store: Path) -> None:
    with pytest.raises(StoreError):
        watching.opened(store.parent / "elsewhere")
