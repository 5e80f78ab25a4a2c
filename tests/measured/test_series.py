"""The steady-state rule reads the column of a table that was meant, or refuses the table.

Logs of fio were read as one list: of `60000, 79617, 0, 0` and so on the last five numbers were
taken, times and sizes among them, and the verdict was "not steady, 75,897".
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.cli import app
from opennandlab.measured import series

LOG = """60000, 79617, 0, 0
120000, 79820, 0, 0
180000, 79684, 0, 0
240000, 79577, 0, 0
300000, 79560, 0, 0
"""
MIXED = """0, 512, 0, 4096, 0, 0x0000
1000, 300, 1, 4096, 0, 0x0000
1000, 500, 0, 4096, 0, 0x0000
2000, 310, 1, 4096, 0, 0x0000
"""
TABLE = """round;iops;ms
1;5300;0.1
2;;0.2
3;5050;0.3
"""


def test_a_log_of_fio_is_read_by_its_values(tmp_path: Path) -> None:
    path = tmp_path / "rand_iops.1.log"
    path.write_text(LOG)
    done = CliRunner().invoke(app, ["pts", "steady-state", "--file", str(path), "--json"])
    found = json.loads(done.stdout)
    assert found["steady"] is True
    assert found["average"] == pytest.approx(79651.6)
    assert found["slope"] == pytest.approx(-35.7)
    assert "log of fio: 5 values of read (column 2)" in done.stderr


def of_text(text: str, **asked: str) -> series.Series:
    return series.of_texts([("x.log", text)], **asked)


def test_a_log_of_both_directions_asks_for_one() -> None:
    with pytest.raises(ConfigError, match="2 of read and 2 of write; accepted: read, write, trim"):
        of_text(MIXED)
    assert of_text(MIXED, direction="write").values == [300, 310]
    assert of_text(MIXED, direction="read").values == [512, 500]
    with pytest.raises(ConfigError, match="the log has no trim"):
        of_text(MIXED, direction="trim")
    with pytest.raises(
        ResultError, match=r"x.log: line 5: .* 2 numbers where the first line has 6"
    ):
        of_text(MIXED + "3000, 5", direction="write")
    with pytest.raises(ConfigError, match="not a log of fio"):
        of_text("1,2,3", direction="read")


def test_a_table_is_refused_until_its_column_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        series.read(TABLE)
    said = str(caught.value)
    assert "a table of 3 columns and 3 rows: column 1 round (1, 2, 3, …)" in said
    assert "column 2 iops (5300, , 5050, …)" in said
    assert "accepted: --column, 1 to 3, or round, iops, ms; or a list" in said
    for column in ("iops", "2"):
        found = series.read(TABLE, column)
        assert found.values[::2] == [5300, 5050]
        assert math.isnan(found.values[1])
        assert found.said == "column 2 (iops): 3 values"
    for column in ("4", "0", "rate"):
        with pytest.raises(ConfigError, match=f"`{column}` is not a column; accepted: 1 to 3"):
            series.read(TABLE, column)
    # Times that fall, or a third column that is no direction, make not a log of fio.
    for text in ("9, 1, 0, 4096\n8, 2, 0, 4096\n", "8, 1, 3, 4096\n9, 2, 0, 4096\n"):
        with pytest.raises(ConfigError, match="a table of 4 columns and 2 rows"):
            of_text(text)
        assert series.read(text, "2").values == [1, 2]
    with pytest.raises(ConfigError, match="line 2: `x` is not a number"):
        series.read("1 2\n3 x\n", "2")


def test_lists_are_lists(tmp_path: Path) -> None:
    for text in ("1\n2\n3\n", "1, 2, 3", "1 2\n3\n", "1,2,\n3\n", "1;2;3\n"):
        assert series.read(text).values == [1, 2, 3], text
    path = tmp_path / "values.txt"
    path.write_text("1,2,3,4,5")
    asked = ["pts", "steady-state", "--values", "1,2,3,4,5"]
    assert CliRunner().invoke(app, asked).exit_code == 0
    refused = CliRunner().invoke(app, [*asked, "--column", "2"])
    assert refused.exit_code == 2
    assert "--column" in refused.output
