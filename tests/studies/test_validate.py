"""`validate` on the command line; what the suites claim is tested next to them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli
from opennandlab.studies.validation import SUITES


def test_a_suite_prints_formula_simulation_error_and_verdict(cli: Cli) -> None:
    shown = cli("validate", "trim", "--quick")
    assert shown.returncode == 0, shown.stdout
    for words in ("expected", "measured", "error", "accepted", "passed", "of"):
        assert words in shown.stdout
    assert shown.stdout.startswith("0 known misses, 0 failed, 4 passed of 4 cases\n")


def test_a_known_miss_is_counted_first_and_never_as_passed(cli: Cli) -> None:
    """Cells 53 and 234 % off were "passed", under tolerances of 60 and 300 %."""
    chosen = ("presets", "--quick", "--case", "*-write-4KiB-q1-fresh-iops*")
    shown = cli("validate", *chosen, "--json")
    assert shown.returncode == 0
    report = json.loads(shown.stdout)
    assert report["passed"] is False
    rows = {row["case"]: row for row in report["rows"]}
    counts = {key: report[f"{key}_count"] for key in ("known_miss", "passed", "failed", "fitted")}
    assert counts == {"known_miss": 3, "passed": 1, "failed": 0, "fitted": 2}
    assert sum(counts.values()) == report["case_count"] == len(rows)
    other = rows["client_sata_2013-random-write-4KiB-q1-fresh-iops-rated"]
    assert (other["verdict"], other["passed"], other["kind"]) == (
        "known miss", False, "data sheet",
    )  # fmt: skip
    assert other["accepted"] == [-0.15, 0.15]
    assert other["known_range"][0] < other["error"] < other["known_range"][1]
    assert "0.19 ms" in other["mechanism"]
    fitted = rows["emmc_16gb-random-write-4KiB-q1-fresh-iops-talk"]
    assert (fitted["verdict"], fitted["passed"]) == ("fitted", False)
    assert fitted["fitted"] == "host.command_cost_us.write"
    text = cli("validate", *chosen)
    assert text.stdout.startswith("3 known misses, 0 failed, 1 passed, 2 fitted (no evidence) of 6")
    assert text.stderr.count("known miss: presets ") == 3
    assert cli("validate", *chosen, "--strict", "--quiet").returncode == 1


def test_any_parameters_are_validated(cli: Cli) -> None:
    shown = cli(
        *("validate", "--policy", "d_choices", "--d", "3", "--pages-per-block", "32"),
        *("--spare-factor", "0.12", "--blocks", "1024", "--json"),
    )
    assert shown.returncode == 0
    report = json.loads(shown.stdout)
    assert report["passed"] is True
    (row,) = report["rows"]
    assert len(row["measured"]) == 3
    assert abs(row["error"]) <= row["tolerance"]


def test_a_unique_beginning_names_a_suite(cli: Cli) -> None:
    shown = cli("validate", "tri", "--quick", "--case", "fifo-*")
    assert shown.returncode == 0, shown.stderr


def test_tables_replace_those_of_the_page(cli: Cli, folder: Path) -> None:
    page = folder / "validation.md"
    arguments = ("validate", "trim", "--quick", "--case", "fifo-*", "--quiet", "--write", page.name)
    assert cli(*arguments).returncode == 0
    first = page.read_text(encoding="utf-8")
    assert "fifo-mapped" in first
    page.write_text(
        f"# Mine\n\nBefore.\n\n{first[first.index('<!--') :]}\nAfter.\n", encoding="utf-8"
    )
    assert cli(*arguments).returncode == 0
    second = page.read_text(encoding="utf-8")
    assert second.startswith("# Mine\n\nBefore.\n")
    assert second.endswith("After.\n")
    assert second.count("fifo-mapped-q0.1 |") == first.count("fifo-mapped-q0.1 |")


def test_tables_of_other_suites_stay(cli: Cli, folder: Path) -> None:
    page = folder / "validation.md"
    write = ("--quick", "--quiet", "--write", page.name)
    assert cli("validate", "energy", *write, "--case", "reads*").returncode == 0
    of_energy = page.read_text(encoding="utf-8")
    assert "0 known misses, 0 failed, 2 passed of 2 cases." in of_energy
    assert cli("validate", "trim", *write, "--case", "fifo-mapped*").returncode == 0
    of_both = page.read_text(encoding="utf-8")
    # In the order of the suites, and counted together.
    assert of_both.index("### trim") < of_both.index("### energy")
    kept = of_energy[of_energy.index("### energy") : of_energy.index("<!-- validate: end")]
    assert kept.rstrip() in of_both
    assert "0 known misses, 0 failed, 3 passed of 3 cases." in of_both
    assert cli("validate", "power", *write, "--case", "controller").returncode == 0
    again = page.read_text(encoding="utf-8")
    assert "| reads |" not in again
    assert "0 known misses, 0 failed, 2 passed of 2 cases." in again
    assert again.count("known misses") == 1


def test_what_cannot_be_validated_is_refused(cli: Cli) -> None:
    for arguments, words in (
        (("bogus",), "accepted: waf_uniform"),
        (("waf",), "may be any of waf_uniform"),
        (("trim", "--theta", "0.9"), "--theta: has no effect on suites"),
        (("--pages-per-block", "32"), "--pages-per-block: has no effect on suites"),
        (("trim", "--case", "nothing*"), "matches"),
        (("trim", "--policy", "greedy"), "either"),
        (("--policy", "gredy"), "greedy"),
        (("--policy", "cost_benefit"), "no closed form"),
        (("--policy", "greedy", "--spare-factor", "2"), "2"),
        (("--policy", "greedy", "--seeds", "a"), "whole numbers"),
        (("trim", "--write", "none/page.md"), "No such file"),
    ):
        shown = cli("validate", *arguments)
        assert shown.returncode == 2, (arguments, shown.stderr)
        assert words in shown.stderr
        assert "Traceback" not in shown.stderr


def test_ctrl_c_keeps_the_rows_that_are_done(folder: Path) -> None:
    script = "from opennandlab.cli import _progress, main; _progress.LOGGED_EVERY_S = 0.0; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "validate", "--json", "--threads", "1"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        while "cases" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
    assert process.returncode == 130, stderr
    report = json.loads(stdout)
    assert report["partial"] is True
    assert report["passed"] is False


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(name, marks=[pytest.mark.always] if name == "waf_uniform" else [])
        for name in sorted(SUITES)
    ],
)
def test_the_quick_subset_of_every_suite_passes(cli: Cli, suite: str) -> None:
    """Formula and simulation agree in the program as installed: about 20 s for all suites."""
    shown = cli("validate", suite, "--quick", "--json")
    rows = json.loads(shown.stdout)["rows"]
    assert rows
    assert [row for row in rows if row["verdict"] == "failed"] == []
    assert shown.returncode == 0
