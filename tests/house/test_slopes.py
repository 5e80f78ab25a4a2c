"""`tools/slopes.py`: what it refuses, and the file that it reads."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import slopes  # noqa: E402


def test_another_result_has_no_ratio_and_more_instructions_are_refused() -> None:
    row = {"instructions": 1000.0, "digest": "a"}
    assert slopes.fault(row, 1019.0, "a") is None
    assert slopes.fault(row, 900.0, "a") is None
    assert "2%" in str(slopes.fault(row, 1021.0, "a"))
    assert "other result" in str(slopes.fault(row, 900.0, "b"))


def test_the_counts_are_kept_one_load_a_line() -> None:
    text = slopes.COUNTS.read_text(encoding="utf-8")
    table = json.loads(text)
    assert len(table["loads"]) >= 12
    for name, row in table["loads"].items():
        assert row["drive"] in table["drives"], name
        assert row["instructions"] > 0, name
        assert len(row["digest"]) == 16, name
        assert f"\n  {json.dumps(name)}: {json.dumps(row)}" in text
