"""A lock keeps other openings of a file out, and ends with its own."""

import os
from pathlib import Path

from opennandlab.base.lock import lock


def test_a_lock_is_of_one_opening_and_ends_with_it(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert [lock(first), lock(first), lock(second)] == [True, True, False]
    os.close(first)
    assert lock(second) is True
    os.close(second)


def test_what_cannot_be_locked_is_neither_held_nor_taken(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_PATH)
    assert lock(handle) is None
    os.close(handle)
