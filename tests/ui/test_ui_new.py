"""`ui`: the form for new runs, the workers that run them, and what pages are told meanwhile."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import ui_store
from opennandlab.base.canonical import digest
from opennandlab.store import Store
from opennandlab.ui import asking, forms, verbs, watching
from opennandlab.ui.application import make
from opennandlab.ui.guard import Door
from opennandlab.ui.jobs import BusyQueueError, Jobs
from stored import entry

testclient = pytest.importorskip("starlette.testclient", reason="starlette needs httpx for tests")

BASE = ui_store.BASE


@pytest.fixture
def door() -> Door:
    return Door("127.0.0.1", 8765)


@pytest.fixture
def asked(tmp_path: Path, door: Door) -> Iterator[Any]:
    with Store.open(tmp_path) as store:
        store.note_sweep("grid", {"run": "benchmark"}, [])
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        yield client


@pytest.mark.parametrize(("change", "field", "said"), [
    ({"device": "/etc/passwd"}, "device", "not a preset"),
    ({"workload": "../W2"}, "workload", "not a preset"),
    ({"values": {"ftl.gc_policy": "os:system"}}, "ftl.gc_policy", "run code"),
    ({"values": {"ftl.gc_policy": "{kind: mine.py:Policy}"}}, "ftl.gc_policy", "run code"),
    ({"values": {"reliability": "mine.py:model"}}, "reliability", "run code"),
    ({"vary": [["device", "/etc/passwd, tlc_standard"]]}, "vary-0", "not a preset"),
    ({"vary": [["trace", "/etc/passwd"]]}, "vary-0", "not varied here"),
    ({"vary": [["ftl.gc_policy", "greedy, 'a.py:b'"]]}, "vary-0", "run code"),
    ({"vary": [["", "1,2"], ["x y", "1,2"]]}, "vary-0", "not a key"),
    ({"vary": [["nand.channels", "1:2:1"]]}, "vary-0", "two or more"),
    ({"values": {"nand.channels": "0"}}, "nand.channels", "accepted"),
    ({"values": {"nand.channels": "[1"}}, "nand.channels", ""),
    ({"values": {"ftl.over_provisioning_pct": "7"}}, "ftl.over_provisioning_pct", "0.07"),
    ({"values": {"workload.read_pct": "200"}}, "workload.read_pct", "accepted"),
    ({"values": {"ftl.gc_policy": "gredy"}}, "ftl.gc_policy", "greedy"),
    ({"values": {"nothing": "1"}}, "", "not a field"),
    ({"seeds": "x"}, "seeds", "whole number"), ({"seeds": "0"}, "seeds", "1 to"),
    ({"seed": "-1"}, "seed", "whole number"), ({"name": "a\nb"}, "name", "printable"),
    ({"name": "grid"}, "name", "other settings"), ({"values": ["x"]}, "", "no form"),
    ({"vary": [["a"]]}, "", "texts"), ({"device": 1}, "device", "characters"),
    ({"vary": [["nand.channels", "1:9:9"], ["ftl.write_buffer_pages", "0:99999:100000"]]},
     "vary", "points"),
])  # fmt: skip
def test_what_is_wrong_is_told_at_its_field(
    asked: Any, door: Door, change: dict[str, Any], field: str, said: str
) -> None:
    for path in ("/api/check", "/api/start"):
        answer = ui_store.post(asked, door, path, ui_store.body(**change))
        assert answer.status_code == 422
        found = answer.json()
        assert found["field"] == field
        assert said in found["message"]


def test_a_form_that_can_be_run_is_told_what_it_comes_to(asked: Any, door: Door) -> None:
    found = ui_store.post(asked, door, "/api/check", ui_store.body(
        vary=[["ftl.gc_policy", "greedy, fifo"], ["ftl.over_provisioning_pct", "0.2,99"]], seeds="3"
    )).json()  # fmt: skip
    assert found["points"] == 12
    assert dict(found["facts"])["raw"] == "16 MiB"
    assert "2 of 4 combinations cannot run" in found["warnings"][0]
    assert ui_store.post(asked, door, "/api/check", "x").status_code == 422


@pytest.mark.parametrize("run", list(verbs.OFFERED))
def test_every_verb_has_a_form_that_can_be_checked(asked: Any, door: Door, run: str) -> None:
    needed = {"ecc.curve": {"code": "bch:m=8,t=4", "x": "1e-2"}}.get(run, {})
    page = asked.get("/new", params={"run": run})
    assert page.status_code == 200
    for one in verbs.own_fields(verbs.OFFERED[run]):
        assert f'name="{one.path}"' in page.text
    body = {"run": run, "device": "tlc_standard", "workload": "W2", "values": needed}
    found = ui_store.post(asked, door, "/api/check", body)
    assert found.status_code == 200, found.text
    assert found.json()["points"] == 1


def test_a_verb_of_unknown_settings_is_refused() -> None:
    """A new verb would have a form without fields, and run with its defaults alone."""
    with pytest.raises(TypeError, match="no fields are known for `replay`"):
        verbs.own_fields(verbs.VERBS["replay"])


@pytest.mark.parametrize(("change", "field", "said"), [
    ({"run": "replay"}, "run", "cannot be run here"), ({"run": 3}, "run", "characters"),
    ({"run": "pts.iops", "values": {"pts.profile": "Z"}}, "pts.profile", "accepted: E, C"),
    ({"run": "app", "values": {"app.suite": "none"}}, "app.suite", "not a suite"),
    ({"run": "app", "values": {"app.drive_writes": "2.5"}}, "app.drive_writes", "not a whole"),
    ({"run": "ecc.curve", "values": {"code": "ldpc:/etc/passwd", "x": "1"}}, "code", "read a file"),
    ({"run": "ecc.curve", "values": {"code": "mine.py:code", "x": "1"}}, "code", "run code"),
    ({"run": "ecc.curve", "values": {"x": "1"}}, "code", "is missing"),
    ({"run": "ecc.curve", "vary": [["code", "nand-4k-r090, /etc/shadow"]]}, "vary-0", "read a"),
    ({"run": "theory.waf", "values": {"d": "x"}}, "d", "a number"),
    ({"run": "theory.waf", "seeds": "2"}, "seeds", "no seed decides"),
    ({"run": "theory.waf", "values": {"nand.channels": "2"}}, "", "not a field"),
])  # fmt: skip
def test_what_is_wrong_with_another_verb_is_told(
    asked: Any, door: Door, change: dict[str, Any], field: str, said: str
) -> None:
    body = {"device": "tlc_standard", "workload": "W2"} | change
    answer = ui_store.post(asked, door, "/api/check", body)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert said in answer.json()["message"]


def test_device_files_lie_in_one_folder(tmp_path: Path, door: Door) -> None:
    files, store = tmp_path / "files", tmp_path / "store"
    files.mkdir()
    Store.open(store).close()
    (files / "mine.yaml").write_text(
        "nand: {channels: 2, dies_per_channel: 1, planes_per_die: 1, blocks_per_plane: 64,"
        " pages_per_block: 32}\nftl: {over_provisioning_pct: 0.28}\n"
    )
    (files / "code.yaml").write_text("ftl: {gc_policy: 'mine.py:policy'}\n")
    (files / "broken.yaml").write_text("nand: [")
    (files / "large.yaml").write_bytes(b"#" * (asking.FILE_BYTES_MAX + 1))
    (tmp_path / "outside.yaml").write_text("{}")
    (files / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (files / "loop.yaml").symlink_to(files / "loop.yaml")
    (files / "folder.yaml").mkdir()
    app = make(store, door, files=files)
    with testclient.TestClient(app, base_url=BASE) as client:
        for name, said in (
            ("code.yaml", "run code"), ("broken.yaml", "broken.yaml"), ("large.yaml", "larger"),
            ("../outside.yaml", "outside"), (str(tmp_path / "outside.yaml"), "outside"),
            ("link.yaml", "outside"), ("loop.yaml", "not a file"), ("folder.yaml", "not a file"),
            ("none.yaml", "not a file"), ("/etc/passwd", "not a preset"),
            ("a\0.yaml", "not a file"),
        ):  # fmt: skip
            body = ui_store.body(device=name)
            answer = ui_store.post(client, door, "/api/check", body)
            assert answer.status_code == 422, name
            assert answer.json()["field"] == "device"
            assert said in answer.json()["message"], name
        page = client.get("/new", params={"run": "reliability.life", "file": "mine.yaml"})
        assert 'data-device="mine.yaml"' in page.text
        assert "not a preset" in client.get("/new", params={"file": "/etc/passwd"}).text
        body = {"run": "reliability.life", "device": "mine.yaml", "values": {}, "name": "life"}
        assert ui_store.post(client, door, "/api/start", body).status_code == 200
        until(lambda: ">done<" in client.get("/sweep?name=life").text)
        assert ui_store.post(client, door, "/api/retry", {"name": "life"}).status_code == 200


def test_a_point_is_verified_and_run_again(tmp_path: Path, door: Door) -> None:
    ui_store.made(tmp_path)
    good = ui_store.keys(tmp_path, "sweep=grid", "status=done")[0]
    with Store.open(tmp_path) as store:
        kept = store.entry(good)
        changed = {**kept.document, "seed": 999}
        other = replace(kept, key=ui_store.key(7), document={**changed, "digest": digest(changed)})
        store.add([other])
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        jobs: Jobs = client.app.state.place.jobs
        for key, how, state, said in (
            (good, "verify", "done", "identical, digest"), (good, "rerun", "done", "identical"),
            (other.key, "rerun", "failed", "differs"), (other.key, "verify", "failed", "differs"),
        ):  # fmt: skip
            answer = ui_store.post(client, door, f"/api/{how}", {"name": key})
            assert answer.json() == {"page": f"/run?key={key}"}
            until(lambda: not any(job.is_active for job in jobs.listed))
            assert (jobs.listed[0].state, jobs.listed[0].page) == (state, f"/run?key={key}")
            assert said in jobs.listed[0].message
            assert jobs.listed[0].message in unescape(client.get(f"/run?key={key}").text)
        hostile = ui_store.key(1)
        for how in ("verify", "rerun"):
            assert ui_store.post(client, door, f"/api/{how}", {"name": hostile}).status_code == 409
            assert ui_store.post(client, door, f"/api/{how}", {"name": "beef"}).status_code == 404
        assert client.get("/sweeps").status_code == 200


def test_every_key_of_the_schemas_has_a_field() -> None:
    made = forms.form("tlc_standard", "W2")
    fields = {one.path: one for one in (*made.main, *(f for s in made.sections for f in s.fields))}
    assert len(made.paths) == len(set(made.paths)) == len(fields) > 80
    op = fields["ftl.over_provisioning_pct"]
    assert (op.kind, op.usual, op.unit) == ("number", "0.07", "ratio")
    assert "benchmark page" in op.source
    assert fields["nand.cell_type"].kind == "choice"
    assert "greedy" in [one.value for one in fields["ftl.gc_policy"].choices]
    assert fields["nand.timing.t_erase_us"].unit == "µs"
    assert fields["workload.read_pct"].accepted == "0 to 100"
    # Whatever preset a form begins with, it can be run as it is.
    for device in asking.device_presets():
        assert forms.form(device, "W1").paths


def test_all_values_that_a_form_offers_are_words_of_the_core() -> None:
    made = forms.form("tlc_standard", "W2")
    closed = [one for one in made.main if one.kind == "choice"]
    assert closed
    from opennandlab.core.config import load_device

    for one in closed:
        for choice in one.choices:
            if not one.path.startswith("workload"):
                load_device("tlc_standard", {one.path: choice.value})


# Workers.


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it took too long"
        time.sleep(0.02)


def test_a_run_is_started_and_kept(tmp_path: Path, door: Door) -> None:
    Store.open(tmp_path).close()
    with testclient.TestClient(make(tmp_path, door), base_url=BASE) as client:
        body = ui_store.body(vary=[["ftl.gc_policy", "greedy, fifo"]], name="mine")
        page = ui_store.post(client, door, "/api/start", body).json()["page"]
        assert page == "/sweep?name=mine"
        until(lambda: ">done<" in client.get(page).text)
        assert len(ui_store.keys(tmp_path, "sweep=mine", "status=done")) == 2
        # Asked for again it is known, and costs nothing.
        assert ui_store.post(client, door, "/api/start", body).json()["page"] == page
        until(lambda: not any(job.is_active for job in client.app.state.place.jobs.listed))
        text = client.get(page).text
        line = unescape(re.search(r"<pre[^>]*>(opennandlab sweep.*?)</pre>", text).group(1))
        assert "--config tlc_standard" in line
        assert ui_store.post(client, door, "/api/retry", {"name": "mine"}).status_code == 200
        assert ui_store.post(client, door, "/api/retry", {"name": 3}).status_code == 422


def test_a_run_that_was_cut_keeps_what_it_has(tmp_path: Path, door: Door) -> None:
    Store.open(tmp_path).close()
    with testclient.TestClient(make(tmp_path, door, jobs=1), base_url=BASE) as client:
        jobs: Jobs = client.app.state.place.jobs
        endless = {"workload.total": "{drive_writes: 100000}"}
        body = ui_store.body(vary=[["workload.total", "{drive_writes: 1}, {drive_writes: 99999}"]])
        assert ui_store.post(client, door, "/api/start", body | {"name": "cut"}).status_code == 200
        second = ui_store.body(values=endless, name="waits")
        assert ui_store.post(client, door, "/api/start", second).status_code == 200
        assert ui_store.post(client, door, "/api/start", second).status_code == 409
        assert jobs.of("waits").state == "queued"
        until(lambda: len(ui_store.keys(tmp_path)) == 1)
        assert "running" in client.get("/sweep?name=cut").text
        assert ui_store.post(client, door, "/api/stop", {"name": "cut"}).status_code == 200
        until(lambda: jobs.of("cut").state == "stopped")
        until(lambda: jobs.of("waits").state == "running")
        assert ui_store.post(client, door, "/api/stop", {"name": "other"}).status_code == 409
    # The server has ended, and with it the worker; the point that was done is there.
    until(lambda: jobs.of("waits").state in {"stopped", "failed"})
    assert len(ui_store.keys(tmp_path, "sweep=cut")) == 1


def test_a_worker_that_cannot_run_says_why(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "nothing", lambda: None)
    jobs.start({"name": "x", "run": "benchmark", "device": "tlc_standard", "workload": "W2"})
    until(lambda: jobs.of("x").state == "failed")
    assert "no store of runs" in jobs.of("x").message
    jobs.end()
    with pytest.raises(BusyQueueError):
        jobs.start({"name": "y"})


# What changes meanwhile.


def test_a_change_of_the_store_is_told(tmp_path: Path) -> None:
    Store.open(tmp_path).close()

    async def listened() -> list[str]:
        watch = watching.Watch(tmp_path)
        seen: list[str] = []

        def made() -> watching.Events:
            return [("store", json.dumps({"count": watch.count, "text": watch.trouble}))], False

        async def read() -> None:
            async for text in watching.stream(watch, made):
                seen.append(text)  # noqa: PERF401 (each is looked at when it comes)

        def counted(word: str) -> bool:
            return bool(seen) and word in seen[-1]

        async def wait(holds: Callable[[], bool]) -> None:
            for _ in range(3000):
                if holds():
                    return
                await asyncio.sleep(0.01)
            raise AssertionError(seen)

        reading = asyncio.create_task(read())
        await wait(lambda: counted('"count": 1'))
        with Store.open(tmp_path) as other:
            other.add([entry(1)])
        await wait(lambda: counted('"count": 2'))
        shutil.move(tmp_path / "runs.db", tmp_path / "gone.db")
        await wait(lambda: counted("it is gone"))
        Store.open(tmp_path).close()
        await wait(lambda: counted('"text": ""'))
        watch.end()
        await asyncio.wait_for(reading, 30)
        return seen

    assert len(asyncio.run(listened())) >= 4


def test_too_many_listeners_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(tmp_path).close()
    monkeypatch.setattr(watching, "LISTENERS_MAX", 0)

    async def first() -> str:
        stream = watching.stream(watching.Watch(tmp_path), lambda: ([], False))
        return await anext(stream)

    assert "event: full" in asyncio.run(first())
