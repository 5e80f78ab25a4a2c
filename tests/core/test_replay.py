"""Recorded traces: any compression, errors with file and line, and results that can be repeated."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import Cli
from opennandlab.core import memory

# Arrival in ns, device, sector, sectors, 1 = read: 200 requests of 4 KiB on the first 800 KiB.
LINES = "".join(f"{index * 2_000_000} 0 {index * 8} 8 {index % 2}\n" for index in range(200))
# One frame of zstd with a raw block: `0 0 0 8 1`, a line feed, `5000 0 8 8 0` and a line feed.
ZSTD_TEXT = b"0 0 0 8 1\n5000 0 8 8 0\n"
ZSTD = (
    bytes.fromhex("28b52ffd20")
    + bytes([len(ZSTD_TEXT)])
    + (1 | len(ZSTD_TEXT) << 3).to_bytes(3, "little")
    + ZSTD_TEXT
)


@pytest.fixture
def trace(folder: Path) -> Path:
    path = folder / "trace.txt"
    path.write_text(LINES, encoding="utf-8")
    return path


def test_a_trace_is_replayed_by_arrival_time(small: Any, trace: Path) -> None:
    result = onl.replay(small, trace)
    assert result.passed
    assert result.document["checks"]["served"] == 200
    assert result.metrics["host_bytes_written"] == result.metrics["host_bytes_read"] == 100 * 4096
    # The last request arrives after 199 x 2 ms.
    assert result.metrics["duration_s"] == pytest.approx(0.398, rel=0.01)


def test_compression_is_told_by_content_and_does_not_matter(small: Any, trace: Path) -> None:
    plain = onl.replay(small, trace)
    packed = trace.with_name("packed") / "trace.txt"
    packed.parent.mkdir()
    # Two members, as `cat a.gz b.gz` makes them.
    half = len(LINES) // 2
    packed.write_bytes(gzip.compress(LINES[:half].encode()) + gzip.compress(LINES[half:].encode()))
    assert onl.replay(small, packed).digest == plain.digest
    (trace.parent / "z").write_bytes(ZSTD)
    assert onl.replay(small, trace.parent / "z", {"format": "mqsim"}).metrics["duration_s"] > 0


def test_a_closed_loop_ignores_arrivals(small: Any, trace: Path) -> None:
    closed = onl.replay(small, trace, {"loop": {"kind": "closed", "queue_depth": 4}})
    slower = onl.replay(small, trace, {"loop": {"kind": "open", "time_scale": 10}})
    assert closed.metrics["duration_s"] != slower.metrics["duration_s"]
    assert slower.metrics["duration_s"] == pytest.approx(3.98, rel=0.01)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "trace.txt"),
        (b"\n\n", "trace.txt"),
        (b"\x00\xff\xfe\x01" * 5000, "trace.txt"),
        (b"\x1f\x8b\x08\x00broken", "trace.txt"),
        (b"\x28\xb5\x2f\xfdbroken", "trace.txt"),
        (LINES.encode() + b"what is this\n", "trace.txt:201"),
        (LINES.encode() + b"1 0 -5 8 1\n", "trace.txt:201"),
        (LINES.encode() + b"1 0 0 8 7\n", "trace.txt:201"),
    ],
)
def test_a_bad_trace_is_named_by_file_and_line(
    small: Any, trace: Path, content: bytes, words: str
) -> None:
    trace.write_bytes(content)
    with pytest.raises(onl.TraceError) as refusal:
        onl.replay(small, trace)
    assert words in str(refusal.value)


def test_a_missing_trace_is_named(small: Any, tmp_path: Path) -> None:
    with pytest.raises(onl.TraceError, match="No such file"):
        onl.replay(small, tmp_path / "none.txt")


@pytest.mark.parametrize("options", [{}, {"skip_bad_lines": True}])
def test_a_device_and_a_silent_pipe_are_no_traces(small: Any, tmp_path: Path, options: Any) -> None:
    """Reading `/dev/zero` never ended, and a pipe without a writer was waited for for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in ((pipe, "no program writes into this pipe"), ("/dev/zero", "not a file")):
        with pytest.raises(onl.TraceError, match=words):
            onl.replay(small, path, options)


def test_a_pipe_is_read_to_its_end(small: Any, trace: Path) -> None:
    """Also when there is nothing in it yet: `replay <(zcat trace.gz)` in a shell."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as stream:
            stream.write(LINES.encode())

    writer = threading.Thread(target=write)
    writer.start()
    piped = onl.replay(small, f"/dev/fd/{reading}")
    writer.join()
    os.close(reading)
    assert piped.metrics == onl.replay(small, trace).metrics


def test_a_trace_beyond_memory_is_refused(
    cli: Cli, small: Any, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 MB of gzip held 150 million requests: the process was aborted."""
    needs = onl.load_device(small).effective["memory_bytes"]
    monkeypatch.setattr(memory, "available_bytes", lambda: needs + 199 * 24)
    with pytest.raises(onl.TraceError, match=r"out of memory after 19\d requests"):
        onl.replay(small, trace)
    monkeypatch.setattr(memory, "available_bytes", lambda: needs + 220 * 24)
    assert onl.replay(small, trace).passed
    shown = cli("replay", "/dev/zero", "-c", "small.yaml", "--skip-bad-lines")
    assert shown.returncode == 2
    assert "not a file" in shown.stderr


def test_bad_lines_may_be_skipped_and_are_counted(small: Any, trace: Path) -> None:
    trace.write_text(LINES + "what is this\n", encoding="utf-8")
    result = onl.replay(small, trace, {"skip_bad_lines": True})
    assert result.document["checks"]["served"] == 200
    assert any("1" in text and "skip" in text for text in result.warnings)


def test_addresses_beyond_the_device_need_a_decision(small: Any, trace: Path) -> None:
    trace.write_text(LINES + "99999999 0 99999999 8 0\n", encoding="utf-8")
    with pytest.raises(onl.ConfigError, match="beyond"):
        onl.replay(small, trace)
    for beyond in ("wrap", "scale"):
        assert onl.replay(small, trace, {"beyond": beyond}).document["checks"]["served"] == 201


def test_the_command_replays_and_verifies(cli: Cli, folder: Path, trace: Path) -> None:
    shown = cli(
        "replay", trace.name, "-c", "small.yaml", "--output", "r.json", "--closed-loop", "8"
    )
    assert shown.returncode == 0, shown.stderr
    assert "trace.txt on small.yaml" in shown.stdout
    assert cli("verify", "r.json").returncode == 0
    trace.write_text(LINES.replace("8 1", "8 0"), encoding="utf-8")
    changed = cli("verify", "r.json")
    assert changed.returncode == 2
    assert "trace.txt: another trace than the one recorded" in changed.stderr
    trace.unlink()
    assert cli("verify", "r.json").returncode == 2
    (folder / "moved.txt").write_text(LINES, encoding="utf-8")
    assert cli("verify", "r.json", "--trace", "moved.txt").returncode == 0
    (folder / "there").mkdir()
    (folder / "there" / "trace.txt").write_text(LINES, encoding="utf-8")
    assert cli("verify", "r.json", "--trace", "there/trace.txt").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.txt",), "No such file"),
        (("trace.txt", "--output", "trace.txt"), "is also the trace"),
        (("trace.txt", "--wrap", "--scale"), "one of"),
        (("trace.txt", "--closed-loop", "8", "--time-scale", "2"), "--time-scale"),
        (("trace.txt", "--closed-loop", "0"), "1 to 65536"),
        (("trace.txt", "--time-scale", "0"), "1e-6"),
        (("trace.txt", "--trace-format", "msrr"), "did you mean `msr`"),
        (("trace.txt", "--trace-format", "msr"), "trace.txt:1"),
        (("trace.txt", "--volumes", "99"), "99"),
    ],
)
def test_what_cannot_be_replayed_is_refused(
    cli: Cli, trace: Path, arguments: tuple[str, ...], words: str
) -> None:
    assert trace.exists()
    shown = cli("replay", "-c", "small.yaml", *arguments)
    assert shown.returncode == 2, shown.stderr
    assert words in shown.stderr
    assert json.loads(cli("replay", "-c", "small.yaml", "--json", *arguments).stdout)["error"]
