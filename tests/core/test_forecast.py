"""What is said before a long run: counted by hand from capacity and steps, without a clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from opennandlab.cli import app
from opennandlab.core import forecast
from opennandlab.core.config import load_device, load_workload

GEN4 = "nvme_gen4_tlc"
# 32 GB: too small to be worth a word.
SMALL = "tlc_standard"


def test_writes_are_counted_from_the_steps() -> None:
    device = load_device(GEN4)
    units = device.effective["logical_bytes"] / 4096
    least, most = forecast.expected_s(device, load_workload("W2", device).to_dict())
    # Two fills, five windows of 0.2 capacities or ten capacities, and 1 GiB in time.
    fixed = 2 * units * forecast.IN_ORDER_S + (1 << 18) * forecast.TIMED_S
    assert least == pytest.approx(fixed + units * forecast.AT_RANDOM_S)
    assert most == pytest.approx(fixed + 10 * units * forecast.AT_RANDOM_S)


@pytest.mark.parametrize(
    ("total", "timed", "seconds"),
    [
        ({"ios": 5_000_000}, True, 5e6 * 32 * forecast.TIMED_S),
        ({"bytes": 4096 << 20}, False, (1 << 20) * forecast.AT_RANDOM_S),
        ({"seconds": 5.0}, True, 0.0),
    ],
)
def test_the_measured_part_counts_too(total: Any, *, timed: bool, seconds: float) -> None:
    work = {"total": total, "timed": timed, "block_size_bytes": 128 << 10}
    assert forecast.expected_s(load_device(SMALL), work) == pytest.approx((seconds, seconds))


def test_short_runs_and_drives_that_cannot_shrink_have_no_hint(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = load_device(SMALL)
    assert forecast.hint(device, load_workload("W2", device)) is None
    monkeypatch.setattr(forecast, "LONG_S", 0.0)
    assert forecast.hint(device, load_workload("W2", device)) is not None
    # 64 blocks a die are too few.
    few = load_device(small)
    assert forecast.hint(few, load_workload("W2", few)) is None


@pytest.mark.parametrize("more", [[], ["--shrink", "2"], ["--quiet"], ["--state", "fresh"]])
def test_a_long_benchmark_names_the_smaller_drive_beforehand(
    more: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Presets of whole products took minutes without a word."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(forecast, "LONG_S", 1e-3)
    words = ["benchmark", "-w", "short.yaml", "-c", "small.yaml"]
    words += ["--set", "nand.blocks_per_plane=256", *more]
    said = CliRunner().invoke(app, words).stderr
    start = "note: short.yaml on small.yaml takes about 0 s of processor time; --shrink auto runs 1"
    assert (start in said) == (more in ([], ["--state", "fresh"]))
