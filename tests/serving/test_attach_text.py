"""What `attach` and `detach` print can be pasted into a shell, whatever the paths hold."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from opennandlab.cli import app
from opennandlab.serving import recipes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(name="made")
def attached_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> recipes.Attached:
    """Record a drive as attached, at paths with a space, a quote and the name of an emoji."""
    monkeypatch.setattr(recipes, "_state_folder", lambda: tmp_path)
    socket = str(tmp_path / "my :disk: socket")
    mount = str(tmp_path / "Tom's drive")
    made = recipes.Attached(socket, f"{socket}.disk", "/dev/loop7", mount, 1)
    (tmp_path / "one.json").write_text(json.dumps(asdict(made)))
    return made


def test_undoing_is_printed_as_a_shell_reads_it(made: recipes.Attached) -> None:
    """A mount point with a space gave `umount /mnt/my drive`, which names two places."""
    for name in (made.mount, made.device, made.socket):
        printed = CliRunner().invoke(app, ["detach", str(name)])
        assert printed.exit_code == 0
        assert [shlex.split(line) for line in printed.stdout.splitlines()] == [
            ["umount", made.mount],
            ["losetup", "--detach", made.device],
            ["umount", made.file],
            ["rm", made.file],
        ]


def test_what_was_done_is_printed(made: recipes.Attached, monkeypatch: pytest.MonkeyPatch) -> None:
    """`attach --run` names the command that undoes it; `detach --run` printed nothing."""
    monkeypatch.setattr(recipes, "attach", lambda *_: made)
    monkeypatch.setattr(recipes, "detach", lambda _: None)
    attached = CliRunner().invoke(app, ["attach", "--socket", made.socket, "--run"])
    undo = attached.stdout.splitlines()[-1].removeprefix("detach: ")
    assert shlex.split(undo) == ["opennandlab", "detach", made.mount, "--run"]
    detached = CliRunner().invoke(app, shlex.split(undo)[1:])
    assert (detached.exit_code, detached.stdout) == (0, "detached /dev/loop7\n")
