"""The journal of a run: what is edited, cut or foreign is refused.

And the output directory: one run's own as long as it lasts, and what happens when it is full.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import COMMAND, Cli
from opennandlab.base.errors import ConfigError, OutputError
from opennandlab.base.journal import JournalError, sealed
from opennandlab.pts import Place
from opennandlab.pts.bench import document
from opennandlab.pts.bench.folder import prepared
from opennandlab.pts.bench.journal import MAGIC, SCHEMA, Journal
from opennandlab.targets.base import Imprint

SETTINGS = {"test": "iops", "seed": 42}
IMPRINT = Imprint("12:7", 0.75)
Line = dict[str, Any]


def journal(folder: Path, *, is_virtual: bool = False) -> Journal:
    return Journal(folder, "iops", SETTINGS, is_virtual=is_virtual)


def head(**changes: Any) -> Line:
    return {"schema": SCHEMA, **SETTINGS, **changes}


def forged(folder: Path, *lines: Line) -> Path:
    """Write a journal whose sums are right, whatever its lines say."""
    content, before = b"", 0
    for line in lines:
        text, before = sealed(line, before)
        content += text
    path = folder / "iops.journal.jsonl"
    path.write_bytes(content)
    return path


def step(index: int, **outcome: Any) -> Line:
    return {"step": index, "key": f"cell/{index}", "outcome": outcome}


def restart(**changes: Any) -> Line:
    return {"restart": 0, "imprint": None, **changes}


def written(folder: Path) -> list[bytes]:
    """Write a journal of four steps; return its lines."""
    kept = journal(folder)
    kept.start()
    kept.restart_point(0, lambda: None)
    for index in range(4):
        kept.append(index, f"cell/{index}", {"seconds": 1.5 * index})
    kept.restart_point(4, lambda: IMPRINT)
    kept.close()
    return kept.path.read_bytes().splitlines(keepends=True)


def test_what_was_written_is_read_again(tmp_path):
    lines = written(tmp_path)
    again = journal(tmp_path)
    again.resume()
    assert again.recorded(3, "cell/3") == {"seconds": 4.5}
    assert again.recorded(4, "cell/4") is None
    assert again.imprint == IMPRINT
    again.append(4, "cell/4", {})
    again.restart_point(5, lambda: None)
    again.close()
    third = journal(tmp_path)
    third.resume()
    assert third.recorded(4, "cell/4") == {}
    assert third.imprint is None
    third.close()
    assert len(lines) == 7


def test_an_edited_figure_is_refused(tmp_path):
    """Four finished cells were given ten times their time, and `--resume` believed them."""
    lines = written(tmp_path)
    assert b'"seconds":3.0' in lines[4]
    lines[4] = lines[4].replace(b'"seconds":3.0', b'"seconds":30.0')
    (tmp_path / "iops.journal.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match=r"line 5 of .*jsonl is damaged or edited"):
        journal(tmp_path).resume()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: lines[:3] + lines[4:], 4),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], 4),
        (lambda lines: [*lines[:3], lines[2], *lines[3:]], 4),
        (lambda lines: [lines[0], *lines[2:]], 2),
        (lambda lines: [*lines[:4], lines[4].replace(b"}\n", b"\n"), *lines[5:]], 5),
        (lambda lines: [*lines[:6], b"\n"], 7),
        (lambda lines: [*lines[:6], b"[" * 100_000 + b"\n"], 7),
        (lambda lines: [*lines[:6], b'{"restart":"x"}\n'], 7),
        (lambda lines: [*lines[:6], b'{"step":0}\n'], 7),
        (lambda lines: [*lines[:6], b"\xff\0\n"], 7),
    ],
)
def test_lines_that_were_taken_out_put_in_or_made_up_are_refused(tmp_path, change, line):
    changed = change(written(tmp_path))
    (tmp_path / "iops.journal.jsonl").write_bytes(b"".join(changed))
    with pytest.raises(JournalError, match=f"line {line} of .*jsonl is damaged or edited"):
        journal(tmp_path).resume()


@given(cut=st.integers(0, 10_000))
def test_a_journal_may_be_cut_anywhere(tmp_path_factory, cut):
    """A crash leaves half a line at most; what was whole before it is kept."""
    folder = tmp_path_factory.mktemp("cut")
    content = b"".join(written(folder))
    cut = cut % len(content)
    (folder / "iops.journal.jsonl").write_bytes(content[:cut])
    again = journal(folder)
    if b"\n" not in content[:cut]:
        with pytest.raises(JournalError, match=r"not a journal|is empty"):
            again.resume()
        return
    again.resume()
    whole = sum(b'"step"' in line for line in content[:cut].split(b"\n")[:-1])
    # On a real drive the steps after the last restart point are run again.
    kept = 4 if b'"restart":4' in content[:cut].rpartition(b"\n")[0] else 0
    assert whole >= kept
    assert (again.recorded(0, "cell/0") is not None) == (kept > 0)
    again.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([head(), {"restart": 0}], "jsonl:2: this is not a line of a journal"),
        ([head(), restart(restart="x")], "jsonl:2: this is not a line"),
        ([head(), restart(restart=True)], "jsonl:2: this is not a line"),
        ([head(), restart(restart=-1)], "jsonl:2: this is not a line"),
        ([head(), restart(imprint={"identity": "1"})], "jsonl:2: this is not a line"),
        ([head(), restart(imprint=[1])], "jsonl:2: this is not a line"),
        ([head(), {"step": 0}], "jsonl:2: this is not a line"),
        ([head(), {"step": 0, "key": "k", "outcome": [1]}], "jsonl:2: this is not a line"),
        ([head(), step(0), step(2)], "a step after 1 is missing"),
        ([head(seed=[1])], r"other settings \(seed: \[1\] against 42\)"),
        ([head(seed=7)], r"other settings \(seed: 7 against 42\)"),
        ([head(schema="opennandlab.pts-journal/1")], "another version of opennandlab"),
        ([head(schema="x")], "this is not a journal"),
        ([{"step": 0}], "this is not a journal"),
    ],
)
def test_rows_of_any_shape_end_in_a_sentence(tmp_path, lines, words):
    """`{"restart":"x"}`, `{"step":0}` and settings `[1]` ended in tracebacks."""
    forged(tmp_path, *lines)
    with pytest.raises(JournalError, match=words):
        journal(tmp_path).resume()


@pytest.mark.parametrize(
    "change",
    [
        lambda _line: b"",
        lambda _line: b"no json",
        lambda _line: b"[" * 100_000,
        lambda _line: b"[1]",
        lambda line: line.replace(b'"steps": 1', b'"steps": "1"'),
        lambda line: line.replace(b'"steps": 1', b'"steps": true'),
        lambda line: line.replace(b'"steps": 1', b'"steps": 2'),
        lambda line: line.replace(b'"steps"', b'"pets"'),
        lambda line: line.replace(b'"settings_sha256": "', b'"settings_sha256": "0'),
    ],
)
def test_a_checkpoint_whose_head_is_damaged_is_refused(tmp_path, change):
    kept = journal(tmp_path, is_virtual=True)
    kept.start()
    kept.append(0, "cell/0", {})
    kept.write_checkpoint(1, b"state")
    kept.close()
    path = tmp_path / "iops.checkpoint.onl"
    magic, line, state = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([magic, change(line), state]))
    with pytest.raises(JournalError, match="damaged, or of another run"):
        journal(tmp_path, is_virtual=True).resume()
    path.write_bytes(b"\n".join([magic, line, state]))
    again = journal(tmp_path, is_virtual=True)
    again.resume()
    assert again.state() == b"state"
    again.close()
    assert path.read_bytes().startswith(MAGIC)


def test_a_journal_of_an_earlier_version_is_refused_whole(tmp_path):
    """Until /3 a line ended with a SHA-256; nothing of such a journal is read."""
    head = {"schema": "opennandlab.pts-journal/3", "settings_sha256": "0", "settings": SETTINGS}
    content, before = b"", ""
    for line in (head, restart(), step(0)):
        plain = json.dumps(line, separators=(",", ":")).encode()
        before = hashlib.sha256(before.encode() + plain).hexdigest()
        content += plain[:-1] + f',"sum":"{before}"}}\n'.encode()
    path = tmp_path / "iops.journal.jsonl"
    path.write_bytes(content)
    said = "another version of opennandlab wrote this journal; start anew in an empty directory"
    with pytest.raises(JournalError, match=said):
        journal(tmp_path).resume()
    assert path.read_bytes() == content


def test_a_second_process_is_refused_and_leaves_the_journal_alone(tmp_path):
    kept = journal(tmp_path, is_virtual=True)
    kept.start()
    kept.append(0, "cell/0", {})
    kept.write_checkpoint(1, b"state")
    for second in (journal(tmp_path).start, journal(tmp_path).resume):
        with pytest.raises(ConfigError, match="is used by another process"):
            second()
    kept.append(1, "cell/1", {})
    kept.close()
    again = journal(tmp_path, is_virtual=True)
    again.resume()
    assert (again.kept, again.state()) == (1, b"state")
    again.close()


def test_a_round_that_was_cut_twice_begins_where_it_began(tmp_path):
    """The restart point was lost with the lines after it, and all rounds with it."""
    written(tmp_path)
    for _ in range(2):
        again = journal(tmp_path)
        again.resume()
        assert (again.kept, again.imprint) == (4, IMPRINT)
        again.close()
    again = journal(tmp_path)
    again.resume()
    again.append(4, "cell/4", {"seconds": 9.0})
    again.close()
    again = journal(tmp_path)
    again.resume()
    assert (again.kept, again.recorded(4, "cell/4")) == (4, None)
    assert again.path.read_bytes().count(b'"step"') == 4
    again.close()


def test_a_finished_run_is_known_by_its_document(tmp_path):
    (tmp_path / "iops.journal.jsonl").write_text("[1]\n")
    (tmp_path / "iops.json").write_text("[" * 100_000)
    assert document.load_finished(tmp_path, "iops", "0") is None
    (tmp_path / "iops.json").write_text("[1]")
    assert document.load_finished(tmp_path, "iops", "0") is None
    (tmp_path / "run.json").write_text("[1]")
    document.save_run(tmp_path, "iops", 1.0)
    assert "iops" in json.loads((tmp_path / "run.json").read_text())


def test_a_directory_is_one_runs_own_while_it_lasts(tmp_path):
    """Two runs into one directory both ended with 0; the journal held parts of both."""
    place = Place(tmp_path / "run")
    with (
        prepared(place, ["iops"]),
        pytest.raises(OutputError, match="another run is writing there"),
        prepared(Place(place.folder, resume=True), ["wsat"]),
    ):
        pytest.fail("two runs hold one directory")
    with prepared(place, ["iops"]):
        assert list((tmp_path / "run").iterdir()) == []


def test_a_second_run_is_refused_with_exit_code_2(cli: Cli, folder: Path):
    with prepared(Place(folder / "run"), ["iops"]):
        command = ("pts", "iops", "--target", "sim:small.yaml", "--time-base", "smoke")
        done = cli(*command, "--output", "run")
        again = cli(*command, "--output", "run", "--resume")
    for refused in (done, again):
        assert refused.returncode == 2
        assert "another run is writing there" in refused.stderr
    assert not (folder / "run").exists(), "a run that wrote nothing leaves no directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_is_refused_at_once(tmp_path):
    tmp_path.chmod(0o500)
    with (
        pytest.raises(OutputError, match="permission denied"),
        prepared(Place(tmp_path), ["iops"]),
    ):
        pytest.fail("it was taken")


def limited(folder: Path, kib: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command where no file may become larger: a write then fails as on a full disk."""
    script = f'ulimit -f {kib * 2}; exec {COMMAND} "$@"'
    return subprocess.run(
        ["sh", "-c", script, "sh", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_disk_that_fills_up_in_the_middle_ends_with_exit_code_3(cli: Cli, folder: Path):
    """It ended with 2, which says that nothing was run; what is written goes on from there."""
    command = ("pts", "wsat", "--target", "sim:small.yaml", "--time-base", "smoke")
    done = limited(folder, 24, *command, "--output", "run")
    assert done.returncode == 3, done.stderr
    assert "cannot write run/wsat.journal.jsonl: File too large" in done.stderr
    assert "--resume goes on" in " ".join(done.stderr.split())
    again = cli(*command, "--output", "run", "--resume", "--quiet")
    assert again.returncode == 0, again.stderr
    whole = cli(*command, "--output", "whole", "--quiet")
    assert whole.returncode == 0
    same = [(folder / name / "wsat.json").read_bytes() for name in ("run", "whole")]
    assert same[0] == same[1]


@pytest.mark.parametrize("when", ["journal", "document"])
def test_an_output_that_fails_leaves_the_part_in_the_error(tmp_path, monkeypatch, when):
    from test_pts_engine import FakeTarget

    from opennandlab.base.errors import WriteError
    from opennandlab.pts import TESTS, Settings, run_test
    from opennandlab.pts.bench.runner import BrokenError

    def full(*_given: object) -> None:
        raise WriteError("cannot write: No space left on device")

    place = Place(tmp_path)
    breaks: dict[str, Callable[[], None]] = {
        "journal": lambda: monkeypatch.setattr(Journal, "append", full),
        "document": lambda: monkeypatch.setattr(document, "save", full),
    }
    breaks[when]()
    with pytest.raises(BrokenError, match="No space left") as failed:
        run_test(TESTS["iops"], FakeTarget(), settings=Settings(time_base="smoke"), place=place)
    assert failed.value.document.partial
    assert failed.value.is_saved == (when == "journal")
    assert isinstance(failed.value.error, WriteError)
