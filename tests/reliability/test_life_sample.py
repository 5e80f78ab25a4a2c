"""Samples of simulated drives, judged after JESD218, against closed forms; traces of hosts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError, TraceError
from opennandlab.cli import app
from opennandlab.reliability import drive_life_test
from opennandlab.reliability.life import drawn
from opennandlab.store import open_store
from opennandlab.studies.fleet.life import LifeCampaign, Sample
from opennandlab.studies.sweeps.engine import Threads
from opennandlab.studies.sweeps.verbs.life import DriveLife
from opennandlab.theory.reliability import PageCode

# 0.8 TB of short blocks: 100 TB are 150 drive writes.
NAND = {
    "channels": 16, "dies_per_channel": 8, "planes_per_die": 2, "blocks_per_plane": 4096,
    "pages_per_block": 48, "page_size_bytes": 16384, "oob_size_bytes": 2048,
    "max_pe_cycles": 3000,
}  # fmt: skip
CODE = PageCode(16384, 15823, 560, 40)
TBW = 100.0
BITS = 8e12 * TBW


def drive(rber: float, **nand: Any) -> dict[str, Any]:
    """Return a drive with one error rate, whatever its wear."""
    return {
        "nand": {**NAND, **nand},
        "reliability": {"kind": "weibull", "floor": rber, "ceiling": rber},
        "ecc": {"bch_m": 14, "bch_t": 40},
        "ftl": {"over_provisioning_pct": 0.28},
    }


def rate_of(uber: float) -> float:
    """Return the raw bit error rate at which the code has a UBER, by bisection."""
    low, high = 1e-5, 1e-2
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if CODE.uber(middle) < uber else (low, middle)
    return low


def sample(rber: float, drives: int = 31, **more: Any) -> Sample:
    life = {"drive_class": "client", "tbw_tb": TBW, "programs": 1e4}
    return Sample(drive(rber), drives, life, {}, **more)


def outcome(asked: Sample, folder: Path) -> dict[str, Any]:
    with open_store(folder) as store:
        campaign = LifeCampaign(asked, store)
        campaign.to_the_end(lambda: Threads(1))
        return campaign.document()


@pytest.mark.long
def test_data_errors_are_poisson_with_the_mean_of_the_model(tmp_path: Path) -> None:
    rber = rate_of(3e-16)
    found = outcome(sample(rber), tmp_path)
    assert found["partial"] is False
    mean = CODE.uber(rber) * BITS * 31
    # Bytes are scaled up from whole pages.
    assert found["errors_expected"] == pytest.approx(mean, rel=2e-3)
    errors = [row["errors"] for row in found["tested"]]
    assert found["errors"]["found"] == sum(errors)
    assert abs(sum(errors) - mean) < 4.5 * math.sqrt(mean)
    assert len({row["seed"] for row in found["tested"]}) == 31
    assert [row["temperature"] for row in found["tested"]] == ["hot"] * 16 + ["cold"] * 15
    # 22 errors of 31 drives are allowed at 100 TB.
    assert (found["failures"]["found"], found["errors"]["allowed"]) == (0, 22)
    assert found["passed"] is (sum(errors) <= 22)


def test_draws_have_mean_and_variance_of_poisson() -> None:
    for mean in (0.3, 4.0, 300.0):
        draws = [drawn(mean, seed, "reliability.sample") for seed in range(4000)]
        assert sum(draws) / 4000 == pytest.approx(mean, abs=4.5 * math.sqrt(mean / 4000))
        spread = sum((one - mean) ** 2 for one in draws) / 4000
        assert spread == pytest.approx(mean, rel=0.2)


def test_less_reading_means_fewer_bits(tmp_path: Path) -> None:
    rber = rate_of(3e-16)
    found = outcome(sample(rber, 2, read_tb=10.0, ramps=True), tmp_path)
    assert found["errors_expected"] == pytest.approx(CODE.uber(rber) * 8e13 * 2, rel=1e-6)
    assert (found["terabytes"], found["can_show"], found["passed"]) == (10.0, False, None)
    assert {row["temperature"] for row in found["tested"]} == {"ramp"}


def test_an_interrupted_sample_continues(tmp_path: Path) -> None:
    asked, seen = sample(1e-4, 4), []

    def watch(state: Any) -> None:
        seen.append(state.done)
        if state.done == 2:
            raise KeyboardInterrupt

    with open_store(tmp_path) as store:
        campaign = LifeCampaign(asked, store, watch)
        with pytest.raises(KeyboardInterrupt):
            campaign.to_the_end(lambda: Threads(1))
        assert campaign.document()["partial"] is True
        assert campaign.document()["passed"] is None
        again = LifeCampaign(asked, store)
        assert 2 <= again.done_count < 4
        again.to_the_end(lambda: Threads(1))
        assert again.document()["tested"] == outcome(asked, tmp_path / "other")["tested"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENNANDLAB_STORE", str(tmp_path / "store"))
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(drive(1e-5)))
    (tmp_path / "weak.yaml").write_text(yaml.safe_dump(drive(rate_of(1e-13))))
    (tmp_path / "short.yaml").write_text(yaml.safe_dump(drive(1e-5, max_pe_cycles=30)))
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "drives", "code"),
    [
        pytest.param("good", "31", 0, marks=pytest.mark.long),
        pytest.param("weak", "31", 1, marks=pytest.mark.long),
        ("short", "31", 1),
        ("short", "3", 1),
        ("good", "3", 4),
    ],
)
def test_the_command_accepts_or_not(name: str, drives: str, code: int) -> None:
    words = ["reliability", "life", "-c", f"{name}.yaml", "--tbw", "100", "--programs", "1e4"]
    words += ["--drives", drives, "--jobs", "1", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, [*words, "--accept"])
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    assert found["failures"]["found"] == (int(drives) if name == "short" else 0)
    assert found["passed"] is {0: True, 1: False, 4: None}[code]
    assert ("cannot show 3 %; accepted: 31 or more" in done.stderr) is (drives == "3")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--drives", "0"], "--drives"),
        (["--drives", "3"], "tbw: is missing; accepted"),
        (["--accept"], "--accept: has no effect on one drive"),
        (["--ramps"], "--ramps: has no effect on one drive"),
        (["--drives", "3", "--tbw", "1", "--read", "0"], "read: 0.0 is not usable"),
        (["--drives", "3", "--analytic"], "--drives: has no effect with --analytic"),
        (["--repeat"], "repeat: is of a trace"),
        (["--shift", "3"], "--shift: has no effect without a workload"),
        (["-w", "jesd219-enterprise", "--shift", "20"], "--shift"),
        (["-w", "jesd219-enterprise", "--min-size", "1000"], "multiple of 512"),
        (["-w", "W2", "--shift", "3"], "--shift: moves zones, and W2 has none"),
        (["-w", "trace:none.csv", "--repeat"], "none.csv"),
        (["-w", "trace:none.csv", "--shift", "1"], "--shift: has no effect on a trace"),
    ],
)
def test_bad_input_is_refused(more: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["reliability", "life", "-c", "good.yaml", *more])
    assert done.exit_code == 2, done.output
    assert says in " ".join(done.stderr.split())


def test_points_of_a_sweep_change_their_workload() -> None:
    asked = {"device": "tlc_standard", "life": {"workload": "jesd219-enterprise", "programs": 1e6}}
    settings = DriveLife().reader(asked)({"life.workload.pattern.shift": 0.25})
    assert settings["life"]["workload"]["pattern"]["shift"] == 0.25
    assert "repeat" not in settings["life"]
    whole = onl.load_device("tlc_standard").effective["memory_bytes"]
    assert DriveLife().memory_bytes(settings) == pytest.approx(whole / 8, rel=0.01)
    with pytest.raises(ConfigError, match=r"^life.workload.pattern.shift: .* without a workload"):
        DriveLife().reader({"device": "tlc_standard"})({"life.workload.pattern.shift": 0.25})


@pytest.mark.usefixtures("folder")
def test_a_run_has_the_name_of_its_shift_and_size() -> None:
    words = ["benchmark", "-w", "jesd219-enterprise", "-c", "tlc_standard", "--json"]
    words += ["--set", "nand.blocks_per_plane=32", "--set", "workload.timed=false"]
    words += ["--set", "workload.total={ios: 100}", "--state", "fresh"]
    done = CliRunner().invoke(app, [*words, "--shift", "17", "--min-size", "4KiB"])
    assert done.exit_code == 0, done.output
    workload = json.loads(done.stdout)["workload"]
    assert workload["name"] == "jesd219-enterprise shift 17 min 4KiB"
    assert (workload["pattern"]["shift"], workload["min_size_bytes"]) == (0.85, 4096)
    twice = CliRunner().invoke(app, [*words, "--shift", "1", "--set", "workload.pattern.shift=0"])
    assert twice.exit_code == 2
    assert "accepted: one of them" in twice.stderr


SMALL = {
    "nand": {
        "channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 128,
        "pages_per_block": 48, "max_pe_cycles": 20,
    },
    "ftl": {"over_provisioning_pct": 0.15, "gc_reserve_blocks": 2},
}  # fmt: skip
HEAD = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n"


def trace(path: Path, *requests: str) -> str:
    """Write a trace of requests `op,page,pages`, and return the workload that replays it."""
    rows = []
    for at, request in enumerate(requests):
        op, page, pages = request.split(",")
        rows.append(f"{at},{op},{int(page) * 4096},{int(pages) * 4096},,,\n")
    path.write_text(HEAD + "".join(rows))
    return f"trace:{path}"


def test_a_life_replays_a_trace_over_the_whole_drive(tmp_path: Path) -> None:
    # Each page of a small range, out of order: as random writes as a trace of so few pages has.
    pages = [f"write,{(7 * page) % 96},1" for page in range(96)]
    host = trace(tmp_path / "host.csv", *pages, "read,0,4", "flush,0,0")
    test = drive_life_test(SMALL, workload=host, repeat=True)
    assert test.workload == "trace:host.csv"
    assert test.trace is not None
    assert test.trace.written_bytes == 96 * 4096
    logical = onl.load_device(SMALL).effective["logical_bytes"]
    rewritten = (test.drive_writes - 1.0) * logical
    assert test.trace.rounds == pytest.approx(rewritten / test.trace.written_bytes, rel=1e-6)
    assert test.pe_cycles == pytest.approx(20, abs=0.3)
    digest = test.trace.sha256
    assert drive_life_test(SMALL, workload=host, repeat=True, trace_sha256=digest) == test
    with pytest.raises(TraceError, match="another trace"):
        drive_life_test(SMALL, workload=host, repeat=True, trace_sha256="0" * 64)


def test_requests_longer_than_the_drive_are_reported(tmp_path: Path) -> None:
    host = trace(tmp_path / "host.csv", "write,0,1000000", "write,0,1")
    test = drive_life_test(SMALL, workload=host, repeat=True)
    assert any("up to 4096000000 B were cut to " in warning for warning in test.warnings)


def test_trims_of_a_trace_are_kept(tmp_path: Path) -> None:
    writes = [f"write,{(37 * page) % 512},1" for page in range(512)]
    trims = [f"trim,{page},64" for page in range(0, 512, 128)]
    kept = drive_life_test(SMALL, workload=trace(tmp_path / "a.csv", *writes), repeat=True)
    both = trace(tmp_path / "b.csv", *writes, *trims)
    trimmed = drive_life_test(SMALL, workload=both, repeat=True)
    assert trimmed.pages_read < kept.pages_read


def test_traces_that_cannot_wear_a_drive_are_refused(tmp_path: Path) -> None:
    reads = trace(tmp_path / "reads.csv", "read,0,1", "trim,8,1")
    with pytest.raises(ConfigError, match="writes nothing; accepted: a trace with writes"):
        drive_life_test(SMALL, workload=reads, repeat=True)
    short = trace(tmp_path / "short.csv", "write,0,1")
    with pytest.raises(ConfigError, match=r"^repeat: .* accepted: --repeat, or --tbw"):
        drive_life_test(SMALL, workload=short)
    with pytest.raises(ConfigError, match=r"^repeat: short.csv writes .* accepted: --repeat"):
        drive_life_test(SMALL, workload=short, tbw_tb=1e-4)


def test_a_sample_is_of_one_trace(folder: Path) -> None:
    host = trace(folder / "host.csv", *[f"write,{(7 * page) % 96},1" for page in range(96)])
    (folder / "small.yaml").write_text(yaml.safe_dump(SMALL))
    words = ["reliability", "life", "-c", "small.yaml", "-w", host, "--repeat", "--tbw", "1e-4"]
    words += ["--drives", "2", "--jobs", "1", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    first = json.loads(done.stdout)
    assert first["host"]["trace"]["file"] == "host.csv"
    digest = first["host"]["trace"]["sha256"]
    assert CliRunner().invoke(app, [*words, "--trace-sha256", digest]).stdout == done.stdout
    trace(folder / "host.csv", "write,0,1")
    changed = CliRunner().invoke(app, [*words, "--trace-sha256", digest])
    assert changed.exit_code == 2
    assert "another trace" in changed.stderr
