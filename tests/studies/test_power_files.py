"""Crash images: what no flush covers may be gone, what one covers never is; databases tell."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ResultError
from opennandlab.cli import app as command_line
from opennandlab.documents.power_files import FilesDocument
from opennandlab.serving.server import Plan, Served
from opennandlab.studies.power import capture as captures
from opennandlab.studies.power import crash, databases, filesystems
from opennandlab.studies.power.capture import FLUSH, TRIM, WRITE, Capture, Request
from opennandlab.studies.power.databases import MODES
from opennandlab.studies.power.files import JOURNAL, Judged, cell

UNIT = 4096
NOT_FORCED = False


def drawn(seed: int, count: int = 60) -> Capture:
    """Return a host that writes, trims and flushes, several requests at a time."""
    stream = random.Random(seed)  # noqa: S311 (no secret)
    made = Capture(64 * UNIT, UNIT)
    under_way: list[Request] = []

    def happens(request: Request, *, begins: bool) -> None:
        number = len(made.times_ns)
        made.times_ns.append(1_000_000 * number)
        if begins:
            request.begun, request.begun_ns = number, made.times_ns[-1]
            made.requests.append(request)
            under_way.append(request)
        else:
            request.answered, request.answered_ns = number, made.times_ns[-1]
            under_way.remove(request)

    for number in range(count):
        while under_way and stream.random() < 0.6:
            happens(stream.choice(under_way), begins=False)
        kind = stream.choices([WRITE, FLUSH, TRIM], [8, 2, 1])[0]
        length = 0 if kind == FLUSH else UNIT * stream.choice([1, 1, 2, 4])
        offset = UNIT * stream.randrange(60)
        data = bytes([1 + number % 255]) * length if kind == WRITE else b""
        request = Request(kind, stream.random() < 0.1, offset, length, data, 0, 0)
        happens(request, begins=True)
    return made


@pytest.mark.parametrize("variant", crash.HONEST)
def test_honest_disks_keep_what_they_owe_and_nothing_that_was_never_written(variant: str) -> None:
    for seed in range(8):
        record = drawn(seed)
        for place in range(0, len(record.times_ns) + 1, 7):
            disk = crash.image(record, crash.Cut(place, variant, seed=str(seed)))
            covered, rest = crash.split(record, crash.Cut(place, variant))
            flushes = [it for it in record.requests if it.command == FLUSH]
            done = [it.begun for it in flushes if it.answered is not None and it.answered < place]
            for request in covered:
                assert request.answered is not None
                assert request.is_forced or request.answered < max(done)
            # Of each sector: what is covered last, or anything that was asked for later.
            for sector in range(0, record.capacity_bytes, 512):
                right = {bytes(512)}
                for request in record.requests:
                    inside = request.offset <= sector < request.offset + request.length
                    if not inside or request.begun >= place or request.command == FLUSH:
                        continue
                    first = sector - request.offset
                    data = request.data[first : first + 512] or bytes(512)
                    right = {data} if request in covered else right | {data}
                assert bytes(disk[sector : sector + 512]) in right
            assert len(covered) + len(rest) == sum(
                it.command != FLUSH and it.begun < place for it in record.requests
            )


def test_a_base_spares_work_and_changes_nothing() -> None:
    record = drawn(3, 120)
    since = crash.settled(record, record.times_ns[-1])
    base = bytearray(record.capacity_bytes)
    for request in record.requests:
        if request.begun < since and request.command != FLUSH:
            crash.apply(base, request, [(0, request.length)], UNIT)
    for variant in crash.VARIANTS:
        cut = crash.Cut(len(record.times_ns), variant, window_ms=0.0, seed="s")
        assert crash.image(record, cut) == crash.image(record, cut, bytes(base), since)


def test_dishonest_disks_lose_what_they_owe() -> None:
    """A write that a flush covers: ignored flushes and paired pages lose it, torn units mix it."""
    write = Request(WRITE, NOT_FORCED, 0, UNIT, b"a" * UNIT, 0, 0, 1, 10)
    flush = Request(FLUSH, NOT_FORCED, 0, 0, b"", 2, 20, 3, 30)
    last = Request(WRITE, NOT_FORCED, 0, UNIT, b"b" * UNIT, 4, 40)
    record = Capture(UNIT, UNIT, [write, flush, last], [0, 10, 20, 30, 40])
    kept = {bytes(crash.image(record, crash.Cut(4, "flush_ignored", seed=str(it))))
            for it in range(20)}  # fmt: skip
    assert kept == {bytes(UNIT), b"a" * UNIT}
    for seed in range(5):
        assert crash.image(record, crash.Cut(4, "paired_page", seed=str(seed))) != b"a" * UNIT
        assert crash.image(record, crash.Cut(4, "prefix", seed=str(seed))) == b"a" * UNIT
        disk = crash.image(record, crash.Cut(5, "torn_below", seed=str(seed)))
        border = disk.count(b"b")
        assert disk == b"b" * border + b"a" * (UNIT - border)
        assert border % 512, "it is torn inside a sector"
    with pytest.raises(ValueError, match="noon"):
        crash.image(record, crash.Cut(4, "noon"))


def test_a_served_drive_keeps_what_it_was_told(tmp_path: Path) -> None:
    """What a client wrote is what the record says, in time, and a cut file is told."""
    if shutil.which("nbdcopy") is None:
        pytest.skip("not installed: nbdcopy")
    device = onl.load_device({"nand": {"blocks_per_plane": 20, "pages_per_block": 32,
                                       "channels": 1, "dies_per_channel": 2}})  # fmt: skip
    content = random.Random(1).randbytes(1 << 20)  # noqa: S311 (no secret)
    (tmp_path / "content").write_bytes(content)
    kept = tmp_path / "kept"
    before = time.monotonic_ns()
    served = Served(Plan(device=device, timing="off", socket=tmp_path / "s", record_data=kept))
    subprocess.run(["nbdcopy", "--flush", tmp_path / "content", served.uris[0]], check=True)
    served.stop()
    record = captures.read(kept)
    assert record.is_whole
    assert all(before <= it <= time.monotonic_ns() for it in record.times_ns)
    disk = crash.image(record, crash.Cut(len(record.times_ns), "prefix"))
    assert disk[: len(content)] == content
    assert {it.command for it in record.requests} == {WRITE, FLUSH}
    assert all(it.answered is not None for it in record.requests)
    # Cut off anywhere: good up to the last whole entry.
    whole = kept.read_bytes()
    for size in (captures.HEAD.size, captures.HEAD.size + 1, len(whole) // 2, len(whole) - 1):
        kept.write_bytes(whole[:size])
        part = captures.read(kept)
        assert len(part.times_ns) < len(record.times_ns)
        assert part.is_whole == (size == captures.HEAD.size)
    kept.write_bytes(b"seq,conn,op")
    with pytest.raises(ResultError, match="serve --record-data"):
        captures.read(kept)


def test_databases_are_judged_by_their_commits(tmp_path: Path) -> None:
    for mode in MODES:
        folder = tmp_path / mode.synchronous / mode.journal
        folder.mkdir(parents=True)
        commits = databases.write(folder, mode, 20)
        assert [it.row for it in commits] == list(range(1, 21))
        end = commits[-1].at_ns
        assert databases.judge(folder, commits, end).outcome == "ok"
    path = folder / databases.NAME
    path.rename(tmp_path / "saved")

    def judged(change: str) -> str:
        shutil.copy(tmp_path / "saved", path)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(change)
        return databases.judge(folder, commits, end).outcome

    assert judged("DELETE FROM rows WHERE id = 20") == "lost_last"
    assert judged("DELETE FROM rows WHERE id > 15") == "lost"
    assert judged("DELETE FROM rows WHERE id = 7") == "corrupt"
    assert judged("UPDATE rows SET text = 'x' WHERE id = 7") == "corrupt"
    assert judged("DROP TABLE rows") == "unopenable"
    # What had not come back by then is owed by nobody.
    assert databases.judge(folder, commits, commits[0].at_ns - 1).outcome == "ok"
    path.unlink()
    assert databases.judge(folder, commits, end).outcome == "unopenable"
    path.write_bytes(b"no database" * 100)
    assert databases.judge(folder, commits, end).outcome in {"corrupt", "unopenable"}


@pytest.mark.skipif(
    filesystems.cannot_judge() is not None or shutil.which("mkfs.ext4") is None,
    reason=filesystems.cannot_judge() or "not installed: mkfs.ext4",
)
def test_files_are_taken_out_of_an_image_without_mounting_it(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    commits = databases.write(source, MODES[2], 5)
    image = tmp_path / "image"
    subprocess.run(["mkfs.ext4", "-q", "-d", source, image, "16M"], check=True, capture_output=True)
    assert filesystems.check(image).is_clean
    filesystems.take_out(image, [databases.NAME, "no-such-file"], tmp_path)
    assert not (tmp_path / "no-such-file").exists()
    assert databases.judge(tmp_path, commits, commits[-1].at_ns).outcome == "ok"
    # A block of the group descriptors is gone.
    with image.open("r+b") as file:
        file.seek(2048)
        file.write(b"\xff" * 2048)
    checked = filesystems.check(image)
    assert not checked.is_clean
    assert checked.why


def test_how_cells_are_read() -> None:
    def reading(mode: int, variant: str, *outcomes: str, unclean: str = "") -> str:
        judged = [Judged("m", variant, 0, 0, it, 0, 1, "", unclean) for it in outcomes]
        return str(cell(MODES[mode], variant, judged)["reading"])

    assert reading(0, "prefix", "ok", "ok") == "sound"
    assert reading(0, "prefix", "ok", "lost_last") == "contradiction"
    assert reading(1, "prefix", "ok", "lost_last") == "application semantics"
    assert reading(1, "torn_below", "lost_last") == "application semantics"
    assert reading(1, "torn", "lost") == "contradiction"
    assert reading(1, "torn", "lost_last", unclean="bad") == "contradiction"
    assert reading(2, "flush_ignored", "lost", "corrupt") == "fault"
    assert reading(1, "paired_page", "lost_last") == "fault"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cuts", "0"], "--cuts: 0 is not valid; accepted: 1 to 100000"),
        (["--rows", "0"], "--rows: 0 is not valid"),
        (["--mode", "WAL"], "--mode: `WAL` is not known; accepted: WAL/FULL, DELETE/FULL"),
        (["--variant", "noon"], "--variant: `noon` is not known; accepted: prefix, subset"),
        (["--variant", "torn", "--variant", "torn"], "a name is given twice"),
        (["--atomic-bytes", "700"], "--atomic-bytes: 700 is not valid; accepted: a power of two"),
        (["--window-ms", "-1"], "--window-ms: -1.0 is not valid"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: list[str], words: str) -> None:
    target = tmp_path / "files"
    done = CliRunner().invoke(command_line, ["power", "files", "--output", str(target), *options])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())
    assert not target.exists()


@pytest.mark.skipif(
    filesystems.cannot_record() is not None, reason=filesystems.cannot_record() or ""
)
def test_a_database_on_a_served_drive_is_cut_and_the_campaign_goes_on(tmp_path: Path) -> None:
    """Honest disks lose nothing of WAL/FULL; one that ignores flushes does; it can be resumed."""
    folder = tmp_path / "files"
    words = ["power", "files", "--output", str(folder), "--cuts", "3", "--rows", "40", "--quiet",
             "--mode", "WAL/FULL", "--variant", "subset", "--variant", "flush_ignored",
             "--window-ms", "5000"]  # fmt: skip
    done = CliRunner().invoke(command_line, words)
    if "losetup" in done.output:
        pytest.skip(f"no loop device: {done.output}")
    assert done.exit_code == 0, done.output
    found = onl.load(folder / "files.json")
    assert isinstance(found, FilesDocument)
    honest, weak = found.cells
    assert (honest.ok, honest.reading) == (3, "sound")
    assert (weak.ok, weak.reading) == (0, "fault")
    assert found.recordings[0].flushes >= 40
    assert "PASSED" in (folder / "files.html").read_text(encoding="utf-8")
    # Cut in the middle of the journal: the same cuts give the same document.
    journal = folder / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    done = CliRunner().invoke(command_line, [*words, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output[done.output.index("{") :])["digest"] == found.digest
    assert "cut off" in done.output
    # Other options are refused.
    done = CliRunner().invoke(command_line, [*words, "--seed", "7"])
    assert done.exit_code == 2
    assert "other settings" in " ".join(done.output.split())
    done = CliRunner().invoke(command_line, [*words, "--rows", "41"])
    assert done.exit_code == 2
    assert "has 40 rows" in " ".join(done.output.split())
