"""The standard tests on a real file, through fio.

A short test and a break show that the words between test and target mean the same here; then
every test runs in the smoke time base on a file of 1 GiB.
"""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from opennandlab import pts
from opennandlab.base.errors import ConfigError
from opennandlab.documents.record import plain
from opennandlab.pts import INSIDE, TESTS, Place, Settings, run_test
from opennandlab.pts.bench.runner import BrokenError
from opennandlab.targets.base import Target, TargetError
from opennandlab.targets.consent import Consent
from opennandlab.targets.file import FileTarget, punch
from opennandlab.targets.opening import Request, open_target

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
# Tests that run at a time; fio takes 0.3 s to start for each of 1500 cells.
AT_ONCE = 6
# As few rounds as the rule needs: a file on a shared machine is seldom steady.
SMOKE = Settings(time_base="smoke", ss_max_rounds=5)


def opened(folder: Path, size: str) -> Target:
    consent = Consent(destructive=True)
    request = Request(f"file:{folder / 'drive.img'}?size={size}", consent=consent)
    try:
        return open_target(request)
    except Exception as error:
        if "direct I/O" in str(error) or "cannot be taken" in str(error):
            pytest.skip(str(error))
        raise


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    columns = found["cells"]["columns"]
    return [dict(zip(columns, row, strict=True)) for row in found["cells"]["rows"]]


def check(found: dict[str, Any]) -> None:
    """Check what must hold of any document of a file."""
    assert not found["partial"]
    header = found["header"]
    assert header["conformance"] == "partial"
    asked = "enabled" if found["test"] in INSIDE else "disabled"
    assert f"write cache unknown (asked: {asked})" in header["deviations"]
    assert any("is not a purge" in text for text in header["deviations"])
    assert header["time_base"]["clock"] == "real"
    assert header["target"]["platform"]["fio_version"]
    assert {"created", "run", "tool"} <= set(found)
    for cell in rows(found):
        assert cell["ios"] > 0
        assert cell["iops"] > 0
        assert cell["lat_us_mean"] > 0
        assert cell["lat_us_max"] >= cell["lat_us_mean"]
        assert cell["waf"] is None


@pytest.mark.always
def test_a_short_test_of_a_file(tmp_path):
    target = opened(tmp_path, "32MiB")
    try:
        found = plain(run_test(TESTS["independence"], target, settings=SMOKE))
    finally:
        target.close()
    check(found)
    # Groups of a second after a fill.
    cells = rows(found)
    assert [cell["seconds"] for cell in cells] == pytest.approx([1.0] * 3, abs=0.3)
    assert cells[-1]["written_bytes"] > 32 << 20
    assert found["results"]["third_mb_s"] > 0


def copied(path: Path) -> None:
    path.write_bytes(path.rename(path.with_suffix(".old")).read_bytes())


def emptied(path: Path) -> None:
    os.truncate(path, 0)
    os.truncate(path, 32 << 20)


def punched(path: Path) -> None:
    with path.open("rb+") as stream:
        punch(stream.fileno(), 8 << 20, 1 << 20)


def gone_on(folder: Path, name: str, verb: str, call: int, change: Any) -> dict[str, Any]:
    """Cut a test at the given call of a verb of its target, change the file, and continue."""
    once = Settings(time_base="smoke")
    target = opened(folder, "32MiB")
    (folder / "run").mkdir()
    done, count = getattr(target, verb), 0

    def failing(*arguments: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        if count == call:
            raise TargetError("the plug was pulled")
        return done(*arguments, **named)

    setattr(target, verb, failing)
    try:
        with pytest.raises(BrokenError, match="pulled"):
            run_test(TESTS[name], target, settings=once, place=Place(folder / "run"))
    finally:
        target.close()
    assert json.loads((folder / "run" / f"{name}.json").read_text())["partial"]
    if change:
        change(folder / "drive.img")
    target = FileTarget(folder / "drive.img", consent=Consent(destructive=True))
    try:
        again = Place(folder / "run", resume=True)
        found = plain(run_test(TESTS[name], target, settings=once, place=again))
    finally:
        target.close()
    check(found)
    return found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (None, ""),
        (copied, "another one of the same name"),
        (emptied, "held less than was written to it"),
        (punched, "held less than was written to it"),
    ],
)
def test_a_test_goes_on_after_a_break_only_with_what_it_wrote(tmp_path, change, told):
    """Reads of a file that had been emptied meanwhile came out ten times too fast."""
    # After the fill and the first group.
    found = gone_on(tmp_path, "independence", "run", 3, change)
    assert found["header"]["interrupted"] == (not told)
    assert any(told in text and "began from the start" in text for text in found["warnings"]) == (
        change is not None
    )


def test_another_file_is_told_where_a_purge_was_cut(tmp_path):
    """Half of the document was of the file before the break, without a word."""
    # The purge before the second block size.
    found = gone_on(tmp_path, "throughput", "purge", 2, copied)
    assert any("another one of the same name" in text for text in found["warnings"])


def test_what_cannot_be_done_is_refused_before_a_file_is_made_or_purged(tmp_path):
    there, new = tmp_path / "there.img", tmp_path / "new.img"
    there.write_bytes(b"x" * (32 << 20))
    options: dict[str, Any] = {"time_base": "smoke", "active_range_pct": 1}
    options["consent"] = Consent(destructive=True)
    for target in (f"file:{there}", f"file:{new}?size=32MiB"):
        with pytest.raises(ConfigError, match="has no room for 4 x 131072 bytes"):
            pts.run("iops", target, output=tmp_path / "run", **options)
    assert there.read_bytes() == b"x" * (32 << 20)
    assert not new.exists()
    assert not (tmp_path / "run" / "fio").exists()


@pytest.mark.long
def test_every_test_on_a_gibibyte(tmp_path):
    """Each on a file of its own, several at a time: most of a cell is waiting for fio to start."""

    def trial(name: str) -> None:
        (tmp_path / name).mkdir()
        target = opened(tmp_path / name, "1GiB")
        try:
            check(plain(run_test(TESTS[name], target, settings=SMOKE)))
        finally:
            target.close()
            target.path.unlink()  # type: ignore[attr-defined]

    # `rwsw` asks for a capture.
    names = [name for name, test in TESTS.items() if not test.kinds and name != "rwsw"]
    # The longest first, so that none is left over at the end.
    names.sort(key=lambda name: name not in {"iops", "ecw", "dirth", "surface", "hir"})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for trials in [pool.submit(trial, name) for name in names]:
            trials.result()
