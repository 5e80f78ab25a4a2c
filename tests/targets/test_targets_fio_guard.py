"""What goes before fio so that it ends with us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opennandlab.targets.fio.runner import Files, Fio, Terms, run_fio

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_fio_runs_where_setpriv_is_that_of_busybox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows no `--pdeathsig`, and every run of fio ended with its usage."""
    (tmp_path / "setpriv").write_text("#!/bin/sh\necho unrecognized option >&2\nexit 1\n")
    (tmp_path / "fio").write_text("#!/bin/sh\necho started\n")
    for name in ("setpriv", "fio"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    files = Files(tmp_path / "job", tmp_path / "output", tmp_path / "messages")
    assert run_fio(Fio(str(tmp_path / "fio"), ""), files, Terms(60.0), lambda *_: None) == 0
    assert files.messages.read_text() == "started\n"
