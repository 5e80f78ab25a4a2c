"""The journal of a campaign: cut anywhere it goes on, and what is not its own is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opennandlab.base.errors import ConfigError
from opennandlab.base.journal import Journal

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
    path.write_bytes(whole.replace(b'{"first": 4', b'{"fir\x00t": 4', 1))
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
    assert nowhere.records == RECORDS[:1]
