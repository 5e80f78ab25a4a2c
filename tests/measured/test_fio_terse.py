"""Terse output comes in with the figures that JSON of the same version has."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_importing_fio import cells
from typer.testing import CliRunner

from opennandlab.base.errors import ResultError
from opennandlab.cli import app
from opennandlab.measured import import_files
from opennandlab.measured.fio import terse
from places import FOLDER

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
LINE = (FOLDER / "fio" / "terse.txt").read_text()


def imported(path: Path, text: str) -> dict[str, float]:
    path.write_text(text)
    return cells(import_files([path]))


def test_a_line_has_the_figures_of_its_fields(tmp_path: Path) -> None:
    found = imported(tmp_path / "x.txt", "fio: a note\n" + LINE)
    found = {name.partition("[")[0]: value for name, value in found.items()}
    fields = LINE.split(";")
    reads, writes = int(fields[7]), int(fields[5 + 47 + 2])
    assert found["iops"] == pytest.approx(reads + writes, abs=1)
    assert found["mb_s"] == pytest.approx((reads + writes) * 4096e-6, rel=1e-3)
    means = float(fields[5 + 34]), float(fields[5 + 47 + 34])
    assert found["art"] == pytest.approx((reads * means[0] + writes * means[1]) / (reads + writes))
    place = next(one for one in fields[17:37] if one.startswith("99.9000"))
    assert found["clat_p999_read"] == pytest.approx(int(place.split("=")[1]) / 1000)


def test_every_cut_is_refused_with_its_place(tmp_path: Path) -> None:
    whole = imported(tmp_path / "x.txt", LINE)
    refused = [told(tmp_path / "x.txt", LINE[:end]) for end in range(1, len(LINE), 7)]
    for end, said in zip(range(1, len(LINE), 7), refused, strict=True):
        assert said or imported(tmp_path / "x.txt", LINE[:end]) == whole
        assert not said or "accepted" in said
        if said and end > 40:
            assert re.search(r"x\.txt: line 1: (field \d+|breaks off)", said), said
    # What stands behind the depths of the queue is not needed.
    assert 0 < refused.count("") < 40


def told(path: Path, text: str) -> str:
    """Return why a text is refused; empty where it is not."""
    try:
        imported(path, text)
    except ResultError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda line: "4" + line[1:], r"line 1: terse version 4; accepted: 3, 5, or JSON"),
        (lambda line: line + line, r"line 2: the same job again: terse does not tell"),
        (lambda line: re.sub(";0;0;", ";0;x;", line, count=1), r"line 1: field 5: `x` is not a"),
        (lambda line: re.sub(r";\d+;", ";nan;", line, count=3), r"line 1: field \d: `nan` is no"),
        (lambda line: re.sub(r"=\d+", "=-1", line, count=1), r"line 1: field 18 is not a perc"),
        (lambda line: re.sub(r"job;0;0;\d+", "job;0;0;" + "9" * 30, line), r"field 6: `9999"),
        (lambda line: line.replace("job;", "a;b;", 1), r"line 1: field"),
    ],
)  # fmt: skip
def test_bad_lines_are_refused(tmp_path: Path, spoil: object, said: str) -> None:
    with pytest.raises(ResultError, match=said):
        imported(tmp_path / "x.txt", spoil(LINE))  # type: ignore[operator]


def test_verbs_open_terse_output_themselves(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(LINE)
    done = CliRunner().invoke(app, ["compare", str(path), str(path), "--json"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["report", str(path), "--html", str(tmp_path / "x.html")])
    assert done.exit_code == 0, done.output
    refused = CliRunner().invoke(app, ["pts", "import", str(path), "--test", "wsat"])
    assert refused.exit_code == 2
    assert "no series" in refused.output


@needs_fio
@pytest.mark.parametrize("version", ["3", "5"])
@pytest.mark.parametrize("more", ["", "unified_rw_reporting=both"])
def test_terse_and_json_of_one_run_agree(tmp_path: Path, version: str, more: str) -> None:
    (tmp_path / "j.fio").write_text(
        "[job]\nfilename=drive.img\nsize=8m\nrw=randrw\nrwmixread=70\nbs=8k\nioengine=libaio\n"
        f"iodepth=2\nruntime=1\ntime_based\n{more}\n"
    )
    done = subprocess.run(
        ["fio", "j.fio", "--output-format=terse,json", f"--terse-version={version}"],
        cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if terse.LINE.match(line)]
    others = [line for line in done.stdout.splitlines() if not terse.LINE.match(line)]
    short = imported(tmp_path / "t.txt", "\n".join(lines))
    whole = imported(tmp_path / "j.json", "\n".join(others))
    # Requests are cut to whole ones a second.
    assert {key.partition("[")[0] for key in short} == {key.partition("[")[0] for key in whole}
    for (name, value), (_, other) in zip(short.items(), whole.items(), strict=True):
        near = 2e-3 if not name.startswith(("clat", "p")) else 1e-3 + 1e-3 / other
        assert value == pytest.approx(other, rel=near), name
