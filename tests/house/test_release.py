"""Building a release: no path of the machine in a wheel, the same bytes, what is refused."""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from places import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import release
import wheels

ARM = "aarch64-unknown-linux-gnu"


def asked(out: Path, **given: object) -> argparse.Namespace:
    defaults = {"allow_dirty": False, "twice": False, "counts": None, "plain": False}
    return argparse.Namespace(**{**defaults, "out": out, **given})


def packed(path: Path, members: dict[str, bytes], year: int = 2026) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), content)
    return path


def test_a_difference_names_the_members(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    one = packed(tmp_path / "a.whl", {"x": b"1", "y": b"2"})
    assert wheels.difference(one, packed(tmp_path / "b" / "a.whl", {"x": b"1", "y": b"2"})) is None
    other = packed(tmp_path / "b" / "a.whl", {"x": b"1", "y": b"3", "z": b""})
    assert wheels.difference(one, other) == "a.whl: y, z"
    later = packed(tmp_path / "b" / "a.whl", {"x": b"1", "y": b"2"}, year=2027)
    assert wheels.difference(one, later) == "a.whl: names, order or times of members"


def test_the_oldest_library_is_that_of_the_newest_symbol(tmp_path: Path) -> None:
    core = b"\0GLIBC_2.2.5\0GLIBC_2.17\0GLIBC_2.4\0"
    wheel = packed(tmp_path / "a.whl", {"opennandlab/_core.abi3.so": core})
    assert wheels.libc_of(wheel) == "glibc 2.17"


def test_paths_of_the_machine_become_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "with space"))
    monkeypatch.setenv("RUSTFLAGS", "-Ctarget-cpu=native")
    made = wheels.environment(tmp_path / "sources", ("-Cprofile-use=all",), ARM, "1700000000")
    flags = made["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")
    assert flags == [
        f"--remap-path-prefix={tmp_path}/with space=/cargo",
        f"--remap-path-prefix={tmp_path}/sources=/opennandlab",
        "-Cprofile-use=all",
    ]
    assert "RUSTFLAGS" not in made
    assert made["SOURCE_DATE_EPOCH"] == "1700000000"
    of_c = f"-ffile-prefix-map={tmp_path}/sources=/opennandlab"
    assert made["CFLAGS_aarch64_unknown_linux_gnu"] == of_c


def test_the_other_folder_is_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the commit in `COMMIT`, as in a source archive, and without what is not committed."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "COMMIT").write_text("$Format:%H$\n", encoding="utf-8")
    (tmp_path / ".gitattributes").write_text("/COMMIT export-subst\n", encoding="utf-8")
    git("add", "-A")
    git("commit", "-qm", "a")
    (tmp_path / "more").write_text("", encoding="utf-8")
    monkeypatch.setattr(wheels, "ROOT", tmp_path)
    head = git("rev-parse", "HEAD")
    with wheels.elsewhere(head) as root:
        assert (root / "COMMIT").read_text(encoding="utf-8") == f"{head}\n"
        assert not (root / "more").exists()
        assert root.parent != tmp_path
    assert not root.exists()


@pytest.mark.parametrize(
    ("given", "is_dirty", "reason"),
    [
        ({}, False, None),
        ({}, True, "--allow-dirty"),
        ({"allow_dirty": True}, True, None),
        ({"allow_dirty": True, "twice": True}, True, "--twice builds a commit"),
        ({"counts": Path("missing.profdata")}, False, "--counts missing.profdata is not a file"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, given: dict[str, object], *, is_dirty: bool, reason: str | None
) -> None:
    said = release.refusal(asked(tmp_path / "out", **given), is_dirty=is_dirty)
    assert (said is None) == (reason is None)
    assert reason is None or reason in str(said)


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.whl").write_bytes(b"")
    assert "not empty" in str(release.refusal(asked(tmp_path), is_dirty=False))
