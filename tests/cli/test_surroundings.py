"""Narrow windows, dumb terminals, pipes, encodings, line ends, old documents: never a traceback.

`µs` was `?s` in a locale without UTF-8, and a document older than this build asked for a newer one.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_json import ALL

from conftest import SHORT, SMALL
from opennandlab.cli import _streams
from opennandlab.documents.schema import FAMILIES
from table_verbs import ran

KEPT = "opennandlab.compare/1"
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
SURROUNDINGS: dict[str, dict[str, str]] = {
    "narrow": {"COLUMNS": "30"},
    "dumb": {"TERM": "dumb", "COLUMNS": "80"},
    "no_color": {"NO_COLOR": "1", "FORCE_COLOR": "1"},
    "ascii": ASCII,
    "latin": {"LC_ALL": "C", "PYTHONIOENCODING": "iso8859-1", "PYTHONUTF8": "0"},
}
# A few of each kind: numbers, words, marks, drawings of pages, refusals.
RUNS = """
benchmark -w short.yaml -c small.yaml -o a.json
benchmark -w short.yaml -c small.yaml --set ftl.gc_policy=fifo -o b.json
compare a.json b.json --force
theory examples garbage_collection
theory bandwidth --cell slc
reliability life --analytic -c tlc_standard --set ecc.bch_m=14 --set ecc.bch_t=72
config show small.yaml
config presets
pts iops --target sim:small.yaml --time-base smoke --dry-run
trace info t.csv
app suites
"""
# Runs every help and the commands above in one process, as the command line would.
PROGRAM = """
import shlex, sys
from opennandlab.cli import _process, app
_process.prepare()
codes = []
for line in sys.argv[1:]:
    code = _process.run(app, shlex.split(line))
    codes += [] if code == 0 else [f"{line}: {code}"]
sys.exit("; ".join(codes) or 0)
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    texts = {"small.yaml": json.dumps(SMALL), "short.yaml": json.dumps(SHORT),
             "t.csv": "0 0 0 8 0\n5000 1 8 8 1\n"}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def printed(folder: Path, lines: list[str], surroundings: Mapping[str, str]) -> tuple[str, str]:
    """Return what commands print in such surroundings; all of them must succeed."""
    kept = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "NO_COLOR"}}
    command = [sys.executable, "-c", PROGRAM, *lines]
    done = subprocess.run(
        command, cwd=folder, env={**kept, **surroundings}, capture_output=True, check=False
    )
    encoding = surroundings.get("PYTHONIOENCODING", "utf-8")
    out, err = done.stdout.decode(encoding), done.stderr.decode(encoding)
    assert done.returncode == 0, err
    assert "Traceback" not in out + err
    return out, err


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_few_commands_of_each_kind_are_readable(name: str, files: Path) -> None:
    out, err = printed(files, RUNS.strip().splitlines(), SURROUNDINGS[name])
    if name in {"ascii", "latin"}:
        assert "?" not in out + err
    if name == "ascii":
        assert "latency, us |" in out
    if name in {"dumb", "no_color"}:
        assert not any(code in out for code in ("\x1b[3", "\x1b[9"))
    numbers, _ = printed(files, ["theory bandwidth --cell slc"], SURROUNDINGS[name])
    assert "14 628.57" in numbers


def test_help_of_every_command_is_readable_in_thirty_columns_of_ascii(files: Path) -> None:
    lines = [shlex.join([*path, "--help"]) for path in [(), *ALL]]
    out, _ = printed(files, lines, {**ASCII, "COLUMNS": "30", "TERM": "dumb", "NO_COLOR": "1"})
    assert out.count("Usage: ") == len(lines)
    assert "\x1b" not in out


def test_errors_are_readable_without_utf8(files: Path) -> None:
    command = [sys.executable, "-m", "opennandlab", "benchmark", "-w", "größe.yaml", "--json"]
    done = subprocess.run(
        command, cwd=files, env={**os.environ, **ASCII}, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert json.loads(done.stdout)["schema"] == "opennandlab.error/1"


def test_what_an_encoding_lacks_is_written_by_what_it_has() -> None:
    assert "7 µs ± 2 × 3 °C …".encode("ascii", _streams.LEGIBLE) == b"7 us +- 2 x 3 deg C ..."
    assert "漢 µs".encode("iso8859-1", _streams.LEGIBLE) == b"? \xb5s"


def test_files_with_line_ends_of_windows_are_the_same_files(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    job = "[global]\nsize=4m\nbs=4k\n[a]\nrw=randwrite\n"
    device = "# a comment\nnand:\n  channels: 2\n  blocks_per_plane: 64\nftl: {gc_policy: fifo}\n"
    table = "Block size (KiB),0/100,100/0\n4,1306,55340\n"
    for name, text in (("job.fio", job), ("device.yaml", device), ("drive.csv", table)):
        (files / name).write_text(text, encoding="utf-8")
    for line in (
        "config show device.yaml --json",
        "benchmark -w short.yaml -c small.yaml --json",
        "trace info t.csv --json",
        "benchmark -w job.fio -c small.yaml --json",
        "pts import drive.csv --threads 1 --queue-depth 4 --json",
    ):
        unix = ran(line)
        for word in shlex.split(line):
            path = files / word
            if path.is_file():
                path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        windows = ran(line)
        assert windows[0] == unix[0] == 0, windows[2]
        assert same(json.loads(windows[1])) == same(json.loads(unix[1]))


def same(document: dict[str, Any]) -> dict[str, Any]:
    """Return what does not depend on the clock or the bytes of a file."""
    left_out = {"created", "wall_s", "digest", "header", "bytes", "run", "tool"}
    return {key: value for key, value in document.items() if key not in left_out}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_document_of_another_version_is_refused_in_a_sentence(
    family: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    for number, hint in ((0, "an older version of opennandlab made it"), (99, "use the newer")):
        path = files / "other.json"
        path.write_text(json.dumps({"schema": f"opennandlab.{family}/{number}"}), encoding="utf-8")
        for verb in ("report", "verify", "runs add", "compare other.json"):
            code, out, err = ran(f"{verb} other.json --json")
            assert json.loads(out)["schema"] == (KEPT if code == 0 else "opennandlab.error/1")
            # Standard tests of any version are drawn and compared as far as they are known.
            if family == "pts" and verb == "report":
                assert "nothing of it can be drawn" in err
                continue
            assert (code == 2) is not (family == "pts" and verb.startswith("compare")), err
            assert f"opennandlab.{family}/{number}" in err + out
            if code == 2 and f"opennandlab.{family}/1" in err:
                assert hint in err


def test_sentences_of_a_terminal_break_at_words() -> None:
    sentence = "warning: 188 853 samples of writes are too few for a percentile"
    lines = _streams.hanging(sentence, 30).splitlines()
    assert lines == ["warning: 188 853 samples of", "  writes are too few for a", "  percentile"]
    assert _streams.hanging("short", 30) == "short"
    assert _streams.hanging("  indented words that wrap", 14).splitlines() == [
        "  indented", "    words that", "    wrap",
    ]  # fmt: skip
