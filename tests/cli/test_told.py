"""What a verb would do otherwise than it was told, or say otherwise than it is, it says.

Of `--seed 1 --seed 2` the last counted and nobody was told, `--where 'waf=>2'` found no points, a
life test of W1 was called random, two imported documents were held "Simulated against measured",
and a suite of four minutes was said to take seven hours.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
import typer

import opennandlab as onl
import pts_documents
from conftest import SMALL, Cli
from opennandlab.app.suites import suite as find_suite
from opennandlab.base.errors import ConfigError
from opennandlab.cli import application
from opennandlab.comparing.families import results
from opennandlab.ecc.curves import Progress
from opennandlab.pts.bench.matrix import sizes
from opennandlab.reports.metric_rows import metric_rows
from opennandlab.reports.pts import views
from opennandlab.reports.pts import wsat as wsat_report

SHORT = ("benchmark", "-w", "short.yaml", "-c", "small.yaml")


# ------------------------------------------------------------------------------------------------
# Options without effect
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "option"), [
    ("app run --target sim:emmc_16gb --case contact=1 --journal wal", "--journal"),
    ("app run --target sim:emmc_16gb --case contact=1 --drive-writes 5", "--drive-writes"),
    ("app run --target sim:emmc_16gb --state old-clean --dirt map", "--dirt"),
    ("app run --target dir:. --format discard", "--format"),
    ("app run --target sim:emmc_16gb --state image:old-dirty.onl --age warp", "--age"),
    ("theory waf --spare-factor 0.1 --d 5", "--d"),
    ("theory waf --spare-factor 0.1 --trim-target mapped", "--trim-target"),
    ("theory bandwidth --seed 7", "--seed"),
    ("reliability life --analytic --programs 1e6", "--programs"),
    ("reliability life --analytic --layer-swing 0.1", "--layer-swing"),
    ("power run -o cuts --span-mib 1", "--span-mib"),
    ("serve -c small.yaml --socket s --any-address", "--any-address"),
    ("serve -c small.yaml --socket s --nqn nqn.2026-01.test:a", "--nqn"),
    ("serve -c small.yaml --tcp 127.0.0.1:0 --lba 512", "--lba"),
    ("validate trim --d 3", "--d"),
    ("theory scaling --rates 1:530,310,260,240,230 --dies 4", "--dies"),
    ("pts import reference:client_2013_iops --name mine", "--name"),
    ("ecc curve --code bch:m=8,t=4 --points 1e-3 --iterations 5", "--iterations"),
])  # fmt: skip
def test_an_option_that_nothing_hears_is_refused(asked: str, option: str, cli: Cli) -> None:
    """A journal that was asked for on a simulated drive changed nothing, and nobody was told."""
    done = cli(*asked.split())
    assert done.returncode == 2, done.stderr
    assert f"{option}: has no effect" in done.stderr


def test_what_fills_the_drive_of_a_suite_is_heard_in_every_state() -> None:
    """It was refused with main-full-main, which fills a young and clean drive as it says."""
    command = typer.main.get_group(application.app).commands["run"]
    for suite, is_refused in (("light", True), ("main-full-main", False)):
        words = ["--target", "sim:emmc_16gb", "--suite", suite, "--dirt", "pages"]
        context = command.make_context("run", words)
        given = application.RunOptions(context=context, **context.params)
        check = partial(application._refuse_unheard, given, "sim")
        if is_refused:
            with pytest.raises(ConfigError, match="--dirt: has no effect"):
                check(is_filled=find_suite(suite, {}).fill)
        else:
            check(is_filled=find_suite(suite, {}).fill)


# ------------------------------------------------------------------------------------------------
# Options that are given twice
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "said"), [
    ((*SHORT, "--seed", "1", "--seed", "2"), "--seed is given 2 times: `2` is used, `1` ignored"),
    ((*SHORT, "-c", "other.yaml", "--config", "small.yaml"),
     "--config is given 3 times: `small.yaml` is used, `other.yaml` ignored"),
    ((*SHORT, "--set", "ftl.gc_policy=fifo", "--set", "ftl.gc_policy=greedy"),
     "--set ftl.gc_policy is given 2 times: `greedy` is used, `fifo` ignored"),
    (("theory", "waf", "--spare-factor", "0.1", "--spare-factor", "0.2"),
     "--spare-factor is given 2 times: `0.2` is used, `0.1` ignored"),
    (("--log", "a.log", "--log", "b.log", "ecc", "limits", "--rate", "0.9", "--rate", "0.8"),
     "--log is given 2 times: `b.log` is used, `a.log` ignored"),
    (("ecc", "limits", "--rate", "0.9", "--rate", "0.8"),
     "--rate is given 2 times: `0.8` is used, `0.9` ignored"),
    (("pts", "iops", "--target", "sim:small.yaml", "--dry-run", "--profile", "E", "--profile", "C"),
     "--profile is given 2 times: `C` is used, `E` ignored"),
    (("app", "run", "--target", "sim:none", "--case", "camera=1", "--case", "camera=2"),
     "--case camera is given 2 times: `2` is used, `1` ignored"),
])  # fmt: skip
def test_an_option_of_which_only_the_last_counts_is_told(
    cli: Cli, asked: tuple[str, ...], said: str
) -> None:
    assert f"warning: {said}" in " ".join(cli(*asked).stderr.split())


@pytest.mark.parametrize("asked", [
    (*SHORT, "--seed", "1"),
    (*SHORT, "--seed", "1", "--seed", "1"),
    (*SHORT, "--set", "ftl.gc_policy=fifo", "--set", "nand.max_pe_cycles=3000"),
    ("runs", "list", "--where", "waf>2", "--where", "waf<3", "--store", "none"),
    ("validate", "ablation", "--quick", "--case", "planes-2", "--case", "planes-bus"),
])  # fmt: skip
def test_what_all_counts_is_not_told(cli: Cli, asked: tuple[str, ...]) -> None:
    assert "is given" not in cli(*asked).stderr


def test_validate_runs_every_case_that_is_named(cli: Cli) -> None:
    named = ("--case", "planes-2", "--case", "planes-bus", "--case", "planes-2")
    shown = cli("validate", "ablation", "--quick", *named, "--json")
    assert [row["case"] for row in json.loads(shown.stdout)["rows"]] == ["planes-2", "planes-bus"]
    refused = cli("validate", "--policy", "fifo", "--case", "planes-2")
    assert refused.returncode == 2
    assert "either suites and --case, or --policy" in refused.stderr


# ------------------------------------------------------------------------------------------------
# Conditions and sizes
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition", ["waf=>2", "waf=<2", "waf>>2", "waf===2", "waf>two", "seed=x"]
)
def test_a_condition_that_no_number_can_meet_is_refused(
    cli: Cli, folder: Path, condition: str
) -> None:
    onl.sweep(SMALL, {"pattern": "random", "timed": False, "total": {"drive_writes": 1}},
              vary={"ftl.gc_policy": ["greedy"]}, store=folder / "kept")  # fmt: skip
    refused = cli("runs", "list", "--store", "kept", "--where", condition)
    assert refused.returncode == 2
    assert f"the condition `{condition}` is not valid" in refused.stderr
    assert "accepted: " in refused.stderr
    assert "no points" not in refused.stderr


def test_block_sizes_take_decimal_units_and_say_what_they_are() -> None:
    assert sizes("128kB, 4.096KB,1KiB") == (128_000, 4096, 1024)
    with pytest.raises(ValueError, match=r"`4kB` is 4000 B; 4KiB is 4096 B"):
        sizes("4kB")


# ------------------------------------------------------------------------------------------------
# Texts
# ------------------------------------------------------------------------------------------------


def test_a_thinned_table_says_how_much_of_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsat_report, "TABLE_ROWS", 35)
    shown = views.chapter(pts_documents.wsat(), "wsat")
    (samples,) = (one for section in shown.sections for one in section.items if one.id == "samples")
    assert getattr(samples, "note", "").startswith("One in 2 of 70 samples.")


def test_the_correction_rate_has_one_unit_everywhere() -> None:
    result = onl.benchmark(SMALL, {"pattern": "random", "total": {"drive_writes": 1}})
    units = {name: unit for name, _, unit in metric_rows(result.content)}
    assert units["ECC correction rate"] == "bits / 100 page reads (nothing was read)"
    assert results.MAIN["ecc_correction_rate_pct"] == "Corrected bits / 100 page reads"


def test_a_warning_names_an_amount_that_can_be_written() -> None:
    device = {
        "nand": {"channels": 4, "dies_per_channel": 1, "planes_per_die": 1,
                 "blocks_per_plane": 64, "pages_per_block": 16},
        "ftl": {"allocation": "superblock", "over_provisioning_pct": 0.3},
    }  # fmt: skip
    few = {"pattern": "random", "queue_depth": 4, "total": {"ios": 128},
           "precondition": [{"kind": "sequential_fill"}]}  # fmt: skip
    said = " ".join(onl.benchmark(device, few).warnings)
    # Eight superblocks of 64 pages of 4 KiB.
    assert "write 2 MiB or more" in said


def test_a_life_test_says_what_was_written(cli: Cli) -> None:
    life = ("reliability", "life", "-c", "small.yaml", "--tbw", "0.0001", "--programs", "1e5")
    assert re.search(r"drive writes, random", cli(*life).stdout)
    assert re.search(r"drive writes, W1", cli(*life, "-w", "W1").stdout)


def test_two_imported_documents_are_both_measured(cli: Cli, folder: Path) -> None:
    for name, rate in (("a", 1000), ("b", 1100)):
        (folder / f"{name}.csv").write_text(f"Block size (KiB),0/100,100/0\n4,{rate},5000\n")
        done = cli("pts", "import", f"{name}.csv", "--threads", "1", "--queue-depth", "4",
                   "-o", f"{name}.json")  # fmt: skip
        assert done.returncode == 0
    shown = cli("compare", "a.json", "b.json", "--force", "--html", "ab.html").stdout
    assert "Measured against measured. Error: 100 (b / a - 1)." in shown
    assert "imulated" not in shown
    assert "Simulated against" not in (folder / "ab.html").read_text(encoding="utf-8")
    cli("pts", "iops", "--target", "sim:small.yaml", "--time-base", "smoke", "-o", "s",
        "--block-sizes", "4k", "--mixes", "100,0")  # fmt: skip
    shown = cli("compare", "s/iops.json", "a.json", "--force").stdout
    assert "Simulated against measured. Error: 100 (simulated / measured - 1)." in shown


def test_a_rehearsal_says_how_long_simulated_time_takes(cli: Cli) -> None:
    """All nine tests of this drive were said to take 7 to 16 h; they took four minutes."""
    asked = ("pts", "all", "--target", "sim:tlc_standard", "--dry-run")
    shown = " ".join(cli(*asked).stdout.splitlines()[-2:])
    wanted = r"takes about .* of a processor, as a small copy was tried, for .* of virtual time"
    assert re.search(wanted, shown)
    for plan in json.loads(cli(*asked, "--json").stdout)["plans"]:
        assert plan["wall_seconds"][1] < plan["seconds"][1] / 10


def test_a_rehearsal_without_a_copy_says_what_it_assumes(cli: Cli) -> None:
    """A copy that wears out while it is tried gives no rates: half an hour was said for two."""
    asked = ("pts", "latency", "--target", "sim:small.yaml", "--set", "nand.max_pe_cycles=3")
    shown = cli(*asked, "--dry-run").stdout
    assert (
        "if it does 50000 requests a second or 500 MB/s; how long that is here is unknown" in shown
    )


def test_the_pace_of_a_curve_is_that_of_the_point_under_way() -> None:
    from opennandlab.cli.ecc import _line

    state = Progress(3, 8, 1e-3, 500, 5, 0.4, 1000.0, 250.0, 30.0)
    assert _line(state).endswith("40%, about 30 s for this point (250 frames per s)")
    assert "frames per s" not in _line(Progress(3, 8, 1e-3, 0, 0, 0.4, 1000.0))
