"""The process around a command: signals, streams that end, and one exit code per outcome."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import COMMAND, SHORT, SMALL, Cli
from opennandlab.cli import _ending, _process, _progress, _streams

IMMORTAL = ("--set", "nand.wear_out=ignore")
RUN = ("benchmark", "-w", "short.yaml", "-c", "small.yaml")


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system of 16 KiB."""
    folder = tmp_path / "full"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting a file system is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    "verb", ["config presets", "config show", "config schema", "--help", "benchmark --help"]
)
def test_a_reader_that_left_is_exit_code_3(verb: str, folder: Path) -> None:
    """`config presets | head -1` ended with 1: the table library ends the program itself."""
    # The reader has left before the first word is written, on any machine.
    script = f"exec 3> >(:); wait $!; {COMMAND} {verb} >&3; echo $?"
    shown = shell(script, folder)
    assert (shown.stdout.strip(), shown.stderr) == ("3", "")


def test_a_table_for_a_reader_that_left_is_exit_code_3(folder: Path) -> None:
    shown = shell(f"exec 3> >(:); wait $!; {COMMAND} {' '.join(RUN)} >&3; echo $?", folder)
    assert shown.stdout.strip() == "3"
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("target", ["2>&-", "2>/dev/full"])
def test_a_refusal_that_nobody_can_read_keeps_its_exit_code(target: str, folder: Path) -> None:
    """`benchmark -w W9 2>&-` ended with 1, because there was no stderr to say why."""
    for arguments in ("benchmark -w W9", "benchmark --nonsense", "verify none.json"):
        assert shell(f"{COMMAND} {arguments} {target}", folder).returncode == 2, arguments


def test_a_closed_stderr_does_not_become_the_result_file(folder: Path) -> None:
    """The first file that is opened would get its number, and the diagnostics would go there."""
    script = f"{COMMAND} {' '.join(RUN)} --quiet --output results.json 2>&- 0<&-"
    assert shell(script, folder).returncode == 0
    assert onl.load(folder / "results.json").passed


def test_a_disk_that_fills_up_in_the_middle_is_exit_code_3(cli: Cli, full_disk: Path) -> None:
    """Curves and standard tests ended with 2, which says that nothing was run."""
    (full_disk / "ballast").write_bytes(bytes(12 << 10))
    curve = ("ecc", "curve", "--code", "bch:m=13,t=8,data_bits=4096", "--points", "1e-4:1e-2:60")
    for arguments in (
        (*curve, "--output", str(full_disk / "curve.json")),
        ("pts", "iops", "--time-base", "smoke", "-t", "sim:small.yaml", "-o", str(full_disk / "r")),
    ):
        shown = cli(*arguments)
        assert shown.returncode == 3, shown.stderr
        assert "No space left" in shown.stderr
        assert "Traceback" not in shown.stderr


def test_a_working_directory_that_was_removed_is_named(tmp_path: Path) -> None:
    """It read `cannot write output: No such file or directory`."""
    shown = shell(f"mkdir gone; cd gone; rmdir ../gone; {COMMAND} {' '.join(RUN)}", tmp_path)
    assert shown.returncode == 2
    assert "working directory was removed" in shown.stderr


def test_what_is_wrong_with_the_options_comes_first(cli: Cli) -> None:
    """It came after two lines of usage, and under `--json` there was no document."""
    shown = cli("benchmark", "-w", "short.yaml", "--sede", "1", "--json")
    assert shown.returncode == 2
    assert shown.stderr.startswith("error: no such option: --sede")
    assert json.loads(shown.stdout)["error"]["exit_code"] == 2


def interrupted(
    folder: Path, number: signal.Signals, *options: str, jobs: bool = False
) -> tuple[int, str, str]:
    """Send a signal to an endless run as soon as it says that it is alive."""
    script = (
        "import sys; from opennandlab.cli import _progress, main; "
        "_progress.LOGGED_EVERY_S = 0.0; main()"
    )
    command = [sys.executable, "-c", script, "benchmark", "-c", "small.yaml", *options]
    if not jobs:
        command += ["-w", "endless.yaml", *IMMORTAL, "--output", "results.json"]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        while not re.search("stage 3 of 3.*M I/O" if jobs else "M I/O", process.stderr.readline()):
            assert process.poll() is None
        process.send_signal(number)
        process.send_signal(number)  # pressed again, in doubt
        stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_the_part_that_is_done(folder: Path, number: signal.Signals) -> None:
    """`timeout`, schedulers and service managers send SIGTERM: the run was lost, with 143."""
    code, stdout, stderr = interrupted(folder, number)
    assert code == 130
    assert "Traceback" not in stderr
    assert "the result is partial" in stderr
    assert "partial" in stdout
    assert onl.load(folder / "results.json").partial


def test_a_stopped_run_leaves_the_whole_result_of_an_earlier_one(folder: Path) -> None:
    """Ctrl-C put a part in the place of what an hour had measured."""
    whole = onl.benchmark(SMALL, SHORT)
    whole.save(folder / "results.json")
    code, _, stderr = interrupted(folder, signal.SIGINT)
    assert code == 130
    assert onl.load(folder / "results.json").digest == whole.digest
    assert "results.json stays as it was" in stderr
    assert "result saved to results.partial.json" in stderr
    assert onl.load(folder / "results.partial.json").partial
    # A part gives way to another.
    (folder / "results.partial.json").replace(folder / "results.json")
    assert interrupted(folder, signal.SIGINT)[0] == 130
    assert not (folder / "results.partial.json").exists()


def test_a_run_that_is_stopped_in_its_preconditioning_leaves_no_file(folder: Path) -> None:
    """A result without metrics was saved, said to cover the part that was run, and drawn."""
    endless = "workload.precondition=[{kind: workload, drive_writes: 1000000}]"
    options = ("--set", endless, "--plot", "plot.html", "--json")
    code, stdout, stderr = interrupted(folder, signal.SIGINT, *options)
    message = "interrupted: the measured part never began, so no file is written"
    assert code == 130
    assert f"error: {message}\n" in stderr
    assert json.loads(stdout)["error"] == {"exit_code": 130, "message": message}
    assert not {"results.json", "plot.html"} & {path.name for path in folder.iterdir()}


def test_stopped_jobs_say_what_was_written(folder: Path) -> None:
    (folder / "endless.fio").write_text(
        "[a]\nrw=read\nsize=1m\n[b]\nstonewall\nrw=randread\nsize=1m\nruntime=1000h\ntime_based\n"
    )
    more = ("-w", "endless.fio", "--fio-logs", "logs", "--fio-output", "out.json")
    code, _, stderr = interrupted(folder, signal.SIGINT, *more, jobs=True)
    assert code == 130
    assert "interrupted: 1 of 2 stages were done" in stderr
    assert "out.json was not written" in stderr
    assert not (folder / "out.json").exists()


def test_a_stopped_run_keeps_its_timeline(folder: Path) -> None:
    timed = ("--set", "workload.timed=true", "--timeline", "0s:0.001s", "t.json")
    code, _, stderr = interrupted(folder, signal.SIGINT, *timed)
    assert code == 130
    assert (folder / "t.json").exists() != ("no timeline in t.json" in stderr)


def test_a_stopped_run_says_that_it_leaves_no_image(folder: Path) -> None:
    """The option was passed over without a word."""
    code, _, stderr = interrupted(folder, signal.SIGINT, "--save-image", "drive.onl")
    assert code == 130
    assert "warning: no image in drive.onl: the run was interrupted" in stderr
    assert not (folder / "drive.onl").exists()


def test_a_run_that_is_over_cannot_be_interrupted(folder: Path) -> None:
    """Ctrl-C at the very end of a replay: a complete result was saved, with 130 and no word."""
    script = (
        "import os, signal; from opennandlab.cli import _terminal, main; shown = _terminal.line\n"
        "def line(state):\n"
        "    if state.finished: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return shown(state)\n"
        "_terminal.line = line\n"
        "import opennandlab.cli._progress as p; p.LOGGED_EVERY_S = 0.0; main()"
    )
    command = [sys.executable, "-c", script, *RUN, "--output", "results.json"]
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (shown.returncode, "interrupted" in shown.stderr) == (0, False), shown.stderr
    assert not onl.load(folder / "results.json").partial


def test_long_work_without_a_terminal_says_so_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A log file, a CI job and `nohup` saw nothing for minutes. No clock but the one given."""
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    now = 0.0
    with _progress.shown(str, quiet=False, clock=lambda: now) as watch:
        assert watch is not None
        for second in range(35):
            now = float(second)
            watch(second)
    assert said.getvalue().split() == ["10", "20", "30"]


def test_quiet_work_says_nothing() -> None:
    with _progress.shown(str, quiet=True) as watch:
        assert watch is None


def test_a_diagnostic_that_nobody_can_receive_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", closefd=True) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        _streams.note("nobody reads this")
        monkeypatch.undo()
        # What is buffered would fail again when the stream is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    assert not re.search("closed", repr(sys.stderr))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_is_heard_where_python_drops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler raises while an object is taken away is gone: the next look finds it."""

    class Leaving:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_ending._asked, "raised_at_s", float("-inf"))
    _process.prepare()
    _ending.raise_if_asked()
    it = Leaving()
    del it
    with pytest.raises(KeyboardInterrupt):
        _ending.raise_if_asked()
    _ending.raise_if_asked()


def test_a_job_in_the_background_can_be_interrupted(folder: Path) -> None:
    """Shells start background jobs with SIGINT ignored; a long run must stop nevertheless."""
    main = "from opennandlab.cli import _progress, main; _progress.LOGGED_EVERY_S = 0.0; main()"
    run = f"{sys.executable} -c '{main}' benchmark -w endless.yaml -c small.yaml"
    script = (
        f"mkfifo said; {run} {' '.join(IMMORTAL)} 2> said & "
        "{ read line; kill -INT $!; cat > /dev/null; } < said; wait $!; echo $?"
    )
    assert shell(script, folder).stdout.split()[-1] == "130"


def test_signals_that_come_together_interrupt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread of a parent that dies tells its child; the second may not break off the end."""
    monkeypatch.setattr(_ending._asked, "raised_at_s", float("-inf"))
    _process.prepare()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(_ending, "TOGETHER_S", 0.0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        _ending.raise_if_asked()
