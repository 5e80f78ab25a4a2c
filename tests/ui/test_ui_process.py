"""`ui` as a process: its address, a port that is taken, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ui_store
from conftest import COMMAND, Cli
from opennandlab.ui.server import bound


@contextlib.contextmanager
def started(store: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a server on a free port; yield it, and what it printed."""
    process = subprocess.Popen(
        [str(COMMAND), "ui", "--port", "0", "--no-browser", "--json", "--store", str(store),
         *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OPENNANDLAB_UI_TOKEN": ""},
    )  # fmt: skip
    try:
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        yield process, json.loads(text)
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str]:
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_end(tmp_path: Path, number: int) -> None:
    with started(tmp_path / "new") as (process, said):
        assert said["store"] == str(tmp_path / "new")
        assert said["url"].startswith("http://127.0.0.1:")
        with urllib.request.urlopen(said["url"], timeout=30) as page:  # noqa: S310 (our own)
            shown = page.read()
            assert b"Nothing was kept here yet" in shown
            assert b"opennandlab runs add result.json" in shown
        # A stream of events that nobody ends does not keep it from ending.
        with urllib.request.urlopen(said["url"] + "events", timeout=30) as events:  # noqa: S310
            assert events.readline().startswith(b"event:")
            assert ended(process, number) == (0, "")


def test_a_worker_ends_with_the_server_and_keeps_its_points(tmp_path: Path) -> None:
    with started(tmp_path, "--jobs", "1") as (process, said):
        with urllib.request.urlopen(said["url"], timeout=30) as page:  # noqa: S310 (our own)
            csrf = page.read().decode().partition('name="csrf" content="')[2].partition('"')[0]
        body = ui_store.body(
            vary=[["workload.total", "{drive_writes: 1}, {drive_writes: 99999}"]], name="cut"
        )
        origin = said["url"].rstrip("/")
        request = urllib.request.Request(  # noqa: S310 (our own)
            f"{origin}/api/start", json.dumps(body).encode(),
            {"origin": origin, "x-opennandlab": csrf, "content-type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 (our own)
            assert json.load(answer) == {"page": "/sweep?name=cut"}
        while not ui_store.keys(tmp_path):
            assert process.poll() is None
        assert ended(process)[0] == 0
        assert len(ui_store.keys(tmp_path, "sweep=cut", "status=done")) == 1


def test_a_port_that_is_taken_is_told(cli: Cli) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        found = cli("ui", "--port", str(port), "--no-browser", "--store", "kept")
    assert found.returncode == 3
    assert f"port {port} of 127.0.0.1 is taken" in found.stderr
    assert "--port 0" in found.stderr


@pytest.mark.parametrize(("options", "said"), [
    (["--host", "0.0.0.0"], "with --token TEXT"),  # noqa: S104
    (["--host", "nowhere.invalid", "--token", "auto"], "not an address of this machine"),
    (["--host", "192.0.2.1", "--token", "auto"], "192.0.2.1"),
    (["--token", "short"], "16 or more"), (["--port", "70000"], "70000"),
])  # fmt: skip
def test_what_cannot_be_listened_to_is_refused(cli: Cli, options: list[str], said: str) -> None:
    found = cli("ui", "--no-browser", "--store", "kept", *options)
    assert found.returncode == 2
    assert said in found.stderr


def test_a_free_port_is_found() -> None:
    with bound("localhost", 0) as one, bound("127.0.0.1", 0) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
