"""Outputs of the fio that is installed come in with its own figures, or are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from test_importing_fio import labels, outcome

import fio_outputs

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def check(output: fio_outputs.Output, folder: Path) -> None:
    path, _ = fio_outputs.make(output, folder)
    found, refusal = outcome(path)
    if found is None:
        assert not output.labels, refusal
        assert output.said in refusal
        return
    assert set(output.labels) <= labels(found), (output.name, labels(found), found.warnings)
    assert output.said in " ".join(found.warnings), (output.name, found.warnings)
    # Rates and sums of fio's own counters, whatever the import makes of them.
    text = path.read_text()
    last = json.JSONDecoder().raw_decode(text, text.rindex('{\n  "fio version"'))[0]
    jobs = [job for job in last["jobs"] if not job["error"]]
    sides = [job[name] for job in jobs for name in ("read", "write") if name in job]
    sides = sides or [job["mixed"] for job in jobs]
    if found.cells.rows:
        assert sum(row.ios for row in found.cells.rows) == sum(it["total_ios"] for it in sides)
    for row in found.cells.rows:
        assert row.iops * row.seconds == pytest.approx(row.ios)
        mean = row.mb_s * 1e6 / row.iops
        assert row.block_bytes is None or mean == pytest.approx(row.block_bytes, rel=1e-3)
        if row.lat_us_mean is not None and "uncertain" not in row.label:
            in_flight = row.iops * row.lat_us_mean * 1e-6
            assert 0.45 * row.threads * row.queue_depth < in_flight
            assert in_flight < 1.1 * row.threads * row.queue_depth


@needs_fio
@pytest.mark.parametrize("output", [one for one in fio_outputs.OUTPUTS if one.is_quick],
                         ids=lambda one: one.name)  # fmt: skip
def test_outputs_of_the_installed_fio(tmp_path: Path, output: fio_outputs.Output) -> None:
    check(output, tmp_path)


@needs_fio
@pytest.mark.long
@pytest.mark.parametrize("output", [one for one in fio_outputs.OUTPUTS if not one.is_quick],
                         ids=lambda one: one.name)  # fmt: skip
def test_more_outputs_of_the_installed_fio(tmp_path: Path, output: fio_outputs.Output) -> None:
    check(output, tmp_path)
