"""Every example runs and prints what the file next to it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_the_file_beside_it_says(example: Path, tmp_path: Path) -> None:
    if example.stem.startswith("littlefs"):
        pytest.importorskip("littlefs", reason="littlefs-python is not installed")
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == example.with_suffix(".out").read_text(encoding="utf-8")
    assert not done.stderr
    assert not list(tmp_path.iterdir()), "an example leaves no files"


def test_every_expected_output_belongs_to_an_example() -> None:
    folder = EXAMPLES[0].parent
    assert {path.stem for path in folder.glob("*.out")} == {path.stem for path in EXAMPLES}
