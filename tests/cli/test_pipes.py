"""Pipes of a shell, and `-`: what a command reads more than once, and what goes to stdout."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import Cli
from opennandlab.base import files
from opennandlab.cli import _pipes as pipes
from opennandlab.cli import _process as process
from opennandlab.cli import app
from places import FOLDER

RESULT = (FOLDER / "saved" / "result.json").read_bytes()
TRACE = b"128166372003061629,hm,0,Write,8192,4096,100\n128166372013061629,hm,0,Read,8192,4096,100\n"
Pipe = Callable[[bytes], str]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Return a function that makes what a shell makes for `<(command)`: the name of a pipe."""
    handles, writers = list[int](), list[threading.Thread]()

    def made(content: bytes) -> str:
        reader, writer = os.pipe()

        def write() -> None:
            with os.fdopen(writer, "wb") as stream:
                stream.write(content)

        handles.append(reader)
        writers.append(threading.Thread(target=write))
        writers[-1].start()
        return f"/dev/fd/{reader}"

    yield made
    for handle in handles:
        os.close(handle)
    for thread in writers:
        thread.join()


def run(*words: str) -> int:
    return process.run(app, words)


def test_inputs_that_are_read_twice_may_be_pipes(
    pipe: Pipe, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`report <(…)` and `compare <(…) b` found nothing in them at the second look."""
    monkeypatch.chdir(folder)
    result = folder / "result.json"
    result.write_bytes(RESULT)
    assert run("report", pipe(RESULT), "--html", "page.html") == 0
    assert (folder / "page.html").stat().st_size > 10_000
    # More than a pipe holds at once.
    assert run("compare", pipe(RESULT + b" " * 200_000), str(result), "--json") == 0
    found = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert found["metrics"]["waf"]["delta_pct"] == [0.0, 0.0]
    device = pipe((folder / "small.yaml").read_bytes())
    workload = pipe((folder / "short.yaml").read_bytes())
    assert run("benchmark", "-c", device, "-w", workload, "-q") == 0
    assert run("trace", "info", pipe(TRACE), "--json") == 0
    assert run("trace", "convert", pipe(TRACE), "-o", "trace.csv", "-q") == 0
    assert (folder / "trace.csv").read_text().count("\n") == 3
    store = str(folder / "store")
    assert run("runs", "add", pipe(RESULT), "--store", store) == 0
    assert run("config", "check", pipe((folder / "small.yaml").read_bytes())) == 0
    assert not list(folder.glob("opennandlab-pipe-*"))


def test_what_a_pipe_cannot_be_is_refused(
    pipe: Pipe, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("report", pipe(RESULT)) == 2
    assert "no page can be next to a pipe; accepted: with --html FILE" in capsys.readouterr().err
    assert run("report", pipe(b""), "--html", "page.html") == 2
    assert "a pipe without data" in capsys.readouterr().err
    monkeypatch.setattr(pipes, "BYTES_MAX", 1 << 10)
    assert run("trace", "info", pipe(b"x" * 5000), "--json") == 2
    captured = capsys.readouterr()
    assert "larger than 1 KiB" in json.loads(captured.out)["error"]["message"]
    monkeypatch.setattr(files, "PIPE_WAIT_S", 0.01)
    reader, writer = os.pipe()
    assert run("verify", f"/dev/fd/{reader}") == 2
    assert "stayed silent" in capsys.readouterr().err
    os.close(writer)
    os.close(reader)


def test_a_pipe_that_was_read_is_refused() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"x")
    os.close(writer)
    assert files.read_bytes(Path(f"/dev/fd/{reader}"), 100) == b"x"
    with pytest.raises(OSError, match="was read from it before is gone"):
        files.read_bytes(Path(f"/dev/fd/{reader}"), 100)
    os.close(reader)


def test_pipes_that_are_written_are_left_alone() -> None:
    """`--csv >(head)` could not be written: the name of such a pipe leads nowhere."""
    reader, writer = os.pipe()
    files.check_writable(Path(f"/dev/fd/{writer}"))
    with pipes.stored([f"/dev/fd/{writer}"]):
        files.write_atomically(Path(f"/dev/fd/{writer}"), b"whole")
    os.close(writer)
    assert os.read(reader, 100) == b"whole"
    os.close(reader)


def test_a_table_of_csv_goes_to_stdout_and_nothing_else_does(folder: Path, cli: Cli) -> None:
    """`compare a b --csv -` wrote a file that was called `-`."""
    for name in ("a", "b"):
        (folder / f"{name}.json").write_bytes(RESULT)
    done = cli("compare", "a.json", "b.json", "--csv", "-")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0][:5] == ["path", "number", "better", "best", "worst"]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert cli("runs", "add", "a.json", "--store", "kept").returncode == 0
    for words in ((), ("waf",), ("waf by device",)):
        done = cli("runs", "table", *words, "--csv", "-", "--store", "kept")
        rows = list(csv.reader(io.StringIO(done.stdout)))
        assert (done.returncode, len(rows)) == (0, 2)
        assert len(rows[0]) == len(rows[1])
    done = cli("compare", "a.json", "b.json", "--csv", "-", "--json")
    assert done.returncode == 2
    assert "--csv - and --json both write to stdout" in done.stderr
    assert not (folder / "-").exists()


@pytest.mark.parametrize("words", [
    ("compare", "a.json", "a.json", "--html", "-"), ("report", "a.json", "--html", "-"),
    ("benchmark", "-c", "small.yaml", "-w", "short.yaml", "-o", "-"),
    ("runs", "export", "-", "--store", "kept"), ("trace", "convert", "t.csv", "-o", "-"),
])  # fmt: skip
def test_other_outputs_are_files(folder: Path, cli: Cli, words: tuple[str, ...]) -> None:
    (folder / "a.json").write_bytes(RESULT)
    (folder / "t.csv").write_bytes(TRACE)
    done = cli(*words)
    assert done.returncode in {2, 3}
    assert "cannot write `-`: this output is a file" in done.stderr
    assert not (folder / "-").exists()
