"""The client of the warm server does as the installed command, in all that a test may look at."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

import opennandlab as onl
import warm
from conftest import COMMAND

RUN = ("benchmark", "-w", "short.yaml", "-c", "small.yaml")
# A module of a policy whose import is its end.
ENDS = """
import os, signal
__opennandlab__ = {"policies": ["Killed"]}
os.kill(os.getpid(), signal.SIGKILL)
"""


def run(command: Path, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(command), *words], cwd=folder, env={**os.environ, **more}, text=True,
        input="", capture_output=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "end"),
    [
        ((*RUN, "--output", "made.json"), 0),
        (("config", "show", "small.yaml", "--json"), 0),
        (("verify", "short.yaml"), 2),
        (("benchmark", "--sede", "1"), 2),
        (("runs", "merge", "nowhere", "--store", "kept"), 2),
    ],
)
def test_the_same_is_printed_and_written_with_the_same_end(
    words: tuple[str, ...], end: int, command: Path, folder: Path
) -> None:
    assert command != COMMAND
    made = folder / "made.json"
    found = []
    for one in (command, COMMAND):
        done = run(one, folder, *words)
        result = made.exists() and onl.load(made).digest
        found.append((done.returncode, done.stdout, done.stderr, result))
        made.unlink(missing_ok=True)
    assert found[0] == found[1]
    assert found[0][0] == end


def test_under_another_environment_it_is_the_installed_command(command: Path, folder: Path) -> None:
    assert "cli" in run(command, folder, "--help", PYTHONPROFILEIMPORTTIME="1").stderr
    # Imports are not told where there are none.
    assert "cli" not in run(command, folder, "--help", NO_COLOR="1").stderr


def test_no_result_follows_from_the_seed_of_hashes(folder: Path) -> None:
    """Commands of a server have one in common; each that was started draws its own."""
    found = set()
    for seed in ("1", "2"):
        more = {"PYTHONHASHSEED": seed}
        assert (
            run(COMMAND, folder, *RUN, "--output", "made.json", "--quiet", **more).returncode == 0
        )
        words = ("pts", "iops", "--target", "sim:small.yaml", "--time-base", "smoke", "-o", seed)
        assert run(COMMAND, folder, *words, "--quiet", **more).returncode == 0
        documents = [folder / "made.json", folder / seed / "iops.json"]
        found.add(tuple(onl.load(path).digest for path in documents))
    assert len(found) == 1


def served(command: Path, folder: Path, number: signal.Signals) -> tuple[int, str, str]:
    """Serve a drive and send a signal when it is ready; return how it ends and what is left."""
    words = [str(command), "serve", "--config", "small.yaml", "--socket", "disk"]
    with subprocess.Popen(
        words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        process.send_signal(number)
        # Ends where nobody can write there any more.
        stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(number: signal.Signals, command: Path, folder: Path) -> None:
    shown = served(command, folder, number)
    assert not (folder / "disk").exists()
    assert shown[0] == served(COMMAND, folder, number)[0]


def test_a_client_that_is_killed_takes_its_command_along(command: Path, folder: Path) -> None:
    assert served(command, folder, signal.SIGKILL)[0] == -signal.SIGKILL


def test_a_command_that_kills_itself_is_seen_to(command: Path, tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(ENDS, encoding="utf-8")
    words = ("benchmark", "-w", "W2", "-c", "tlc_standard", "--set", "ftl.gc_policy=ends:Killed")
    assert run(command, tmp_path, *words).returncode == -signal.SIGKILL


def test_a_server_that_dies_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "opennandlab.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with warm.commands(COMMAND) as place:
            done = run(place, tmp_path, "--version")
    assert done.returncode == 1
    assert done.stdout == ""
