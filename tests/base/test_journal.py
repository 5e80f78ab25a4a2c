"""The journal of a campaign: cut anywhere it continues, and what is not its own is refused."""

from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opennandlab.base.errors import ConfigError, WriteError
from opennandlab.base.journal import Journal, JournalError, sealed

if TYPE_CHECKING:
    from collections.abc import Mapping

IDENTITY: dict[str, Any] = {"seed": 42, "workloads": ["random"]}
RECORDS: list[Mapping[str, Any]] = [{"first": 4 * it, "tally": {"cuts": 200}} for it in range(4)]


def written(path: Path) -> bytes:
    journal = Journal(path, IDENTITY)
    for record in RECORDS:
        journal.add(record)
    journal.close()
    return path.read_bytes()


def test_cut_anywhere_it_goes_on_from_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        journal = Journal(path, IDENTITY)
        kept = whole[:size].count(b"\n") - 1
        assert journal.records == RECORDS[: max(kept, 0)]
        assert journal.cut_off_bytes == size - (whole[:size].rfind(b"\n") + 1)
        # What is missing is added, and nothing of the cut line is in its way.
        for record in RECORDS[max(kept, 0) :]:
            journal.add(record)
        journal.close()
        assert path.read_bytes() == whole


def test_what_is_not_its_own_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    with pytest.raises(ConfigError, match=r"other settings.*seed: 42 against 43"):
        Journal(path, IDENTITY | {"seed": 43})
    path.write_bytes(whole.replace(b'{"first":4', b'{"fir\x00t":4', 1))
    with pytest.raises(ConfigError, match=r"line 3 of .* is damaged or edited; remove"):
        Journal(path, IDENTITY)
    lines = whole.splitlines(keepends=True)
    for others in (
        [*lines[:2], lines[2].replace(b"200", b"201"), *lines[3:]],
        [*lines[:2], *lines[3:]],
        [*lines[:3], *lines[2:]],
        [*lines[:2], lines[3], lines[2], lines[4]],
    ):
        path.write_bytes(b"".join(others))
        with pytest.raises(ConfigError, match=r"line [34] of .* is damaged or edited"):
            Journal(path, IDENTITY)
    path.write_bytes(whole)
    first = Journal(path, IDENTITY)
    with pytest.raises(ConfigError, match="is used by another process"):
        Journal(path, IDENTITY)
    first.forget()
    assert not path.exists()
    # Without a folder nothing is kept.
    nowhere = Journal(None, IDENTITY)
    nowhere.add(RECORDS[0])
    nowhere.forget()
    assert (nowhere.records, list(tmp_path.iterdir())) == ([], [])


SCHEMED: dict[str, Any] = {"schema": "opennandlab.example/2", "seed": 42}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "this is not a journal"),
        (b"[1]\n", "this is not a journal"),
        (sealed({"schema": "opennandlab.other/2", "seed": 42}, 0)[0], "this is not a journal"),
        (sealed({"schema": "opennandlab.example/1"}, 0)[0], "another version of opennandlab"),
        (sealed({"schema": "opennandlab.example/11"}, 0)[0], "another version of opennandlab"),
        (b'{"schema":"opennandlab.example/1","a":1,"sum":"0"}\n{}\n', "another version of openn"),
        (sealed(SCHEMED, 0)[0][:-1], "is empty"),
        (
            sealed(SCHEMED | {"seed": 1}, 0)[0],
            r"other settings \(seed: 1 against 42\): give the sa",
        ),
        (sealed(SCHEMED, 1)[0], "line 1 of .* is damaged"),
        (sealed(SCHEMED, 0)[0] + b"[" * 100_000 + b"\n", "line 2 of .* is damaged"),
        (sealed(SCHEMED, 0)[0] + b"\xff\0\n", "line 2 of .* is damaged"),
    ],
)
def test_a_journal_with_a_schema_is_refused_in_words_of_what_it_is(
    content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "journal"
    path.write_bytes(content)
    for _ in range(2):  # the lock of the first is gone
        with pytest.raises(JournalError, match=f"{said}.*begin elsewhere"):
            Journal(path, SCHEMED, way_out="begin elsewhere")
    assert path.read_bytes() == content


def test_a_journal_is_kept_up_to_a_record_or_begun_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    lines = whole.splitlines(keepends=True)
    for count in range(len(RECORDS) + 2):
        path.write_bytes(whole)
        journal = Journal(path, IDENTITY)
        journal.keep(count)
        assert journal.records == RECORDS[:count]
        assert path.read_bytes() == b"".join(lines[: count + 1])
        for record in RECORDS[count:]:
            journal.add(record)
        journal.close()
        assert path.read_bytes() == whole
    for before in (b"nothing of ours", whole):
        path.write_bytes(before)
        journal = Journal(path, IDENTITY, is_new=True, is_forced=True)
        with pytest.raises(ConfigError, match="is used by another process"):
            Journal(path, IDENTITY, is_new=True)
        assert path.read_bytes() == lines[0]
        journal.add(RECORDS[0])
        journal.close()
        assert path.read_bytes() == b"".join(lines[:2])


def test_lines_are_read_however_their_json_is_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    content, crc = b"", 0
    for record in (IDENTITY, *RECORDS):
        text = json.dumps(record).encode()  # as earlier versions did
        crc = zlib.crc32(text, crc)
        content += b"%08x %s\n" % (crc, text)
    path.write_bytes(content)
    journal = Journal(path, IDENTITY)
    assert journal.records == RECORDS
    journal.close()


def test_a_record_that_cannot_be_written_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a line is written before the disk is full."""

    def full(handle: int, content: bytes) -> int:
        if len(content) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, content[: len(content) // 2])

    def there() -> bytes:
        return path.read_bytes() if path.exists() else b""

    write = os.write
    path = tmp_path / "journal"
    journal = Journal(path, IDENTITY)
    for _ in range(2):
        before = there()
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(WriteError, match="No space left on device"):
            journal.add(RECORDS[0])
        assert there() == before
        monkeypatch.undo()
        journal.add(RECORDS[0])
    journal.close()
    assert Journal(path, IDENTITY).records == [RECORDS[0], RECORDS[0]]


@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text())), st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_byte_that_was_changed_is_found(
    tmp_path: Path, records: list[dict[str, Any]], data: st.DataObject
) -> None:
    path = tmp_path / "changed"
    path.unlink(missing_ok=True)
    journal = Journal(path, SCHEMED)
    for record in ({"a": 1}, *records):
        journal.add(record)
    journal.close()
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 2))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(JournalError):
        Journal(path, SCHEMED)
