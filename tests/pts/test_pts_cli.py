"""The commands `pts` and `characterise`, from end to end."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import Cli
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError
from opennandlab.base.units import parse_bytes
from opennandlab.cli import app
from opennandlab.cli._progress import Shown, shown
from opennandlab.cli._pts_run import line
from opennandlab.pts import STANDARD, TESTS, TUTORIAL, Settings
from opennandlab.pts.bench.record import Progress
from opennandlab.pts.bench.suite import Job, vary
from opennandlab.stats.steady import steady_state
from opennandlab.targets.base import TargetError
from opennandlab.targets.opening import Request, file_parts, open_target, sketch


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return a function like `cli` that stays in this process: ten times as quick."""
    monkeypatch.chdir(folder)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = CliRunner().invoke(app, list(arguments))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    return run


QUICK = ("--target", "sim:small.yaml", "--time-base", "smoke", "--ss-max-rounds", "5")


def test_a_test_prints_its_tables_and_says_how_to_keep_them(cli: Cli, folder: Path):
    done = cli("pts", "iops", *QUICK)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "IOPS of sim:small.yaml: follows PTS-E 2.0.2, conformance scaled"
    # What it is worth and what is quoted come before everything else.
    assert lines[1].startswith("smoke: not a result.")
    assert lines[3].split() == ["┃", "result"]
    # What comes of a smoke must not look like results.
    assert lines[5].split("│")[1].strip() == "not a result"
    assert "smoke, not a result: IOPS, mean of the window" in lines
    assert [line.split("│")[0].strip() for line in lines[5:12]] == [
        "smoke: cells too short to measure",
        "random 4 KiB writes", "random 4 KiB, 65 % reads", "random 4 KiB reads",
        "random 1024 KiB writes", "random 1024 KiB reads", "write amplification, 4 KiB writes",
    ]  # fmt: skip
    assert lines[6].endswith(" IOPS")
    assert "_" not in done.stdout
    head = next(line for line in done.stdout.splitlines() if line.startswith("Block size"))
    assert [cell.strip() for cell in head.split("┃")][1:] == [
        "0/100", "5/95", "35/65", "50/50", "65/35", "95/5", "100/0",
    ]  # fmt: skip
    first = done.stdout[done.stdout.index(head) :].splitlines()[2:10]
    assert [line.split("│")[0].strip() for line in first] == [
        "0.5", "4", "8", "16", "32", "64", "128", "1024",
    ]  # fmt: skip
    assert "RND 4 KiB 0/100, IOPS" in done.stdout
    assert "nothing was kept; --output DIR" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "endless.yaml",
        "short.yaml",
        "small.yaml",
    ]


def test_equal_runs_leave_equal_bytes_whatever_shows_them(cli: Cli, folder: Path):
    printed = cli("pts", "latency", *QUICK, "--output", "one", "--json")
    assert printed.returncode == 0
    assert cli("pts", "latency", *QUICK, "--output", "two", "--quiet").stdout == ""
    content = (folder / "one" / "latency.json").read_bytes()
    assert content == (folder / "two" / "latency.json").read_bytes()
    assert printed.stdout.encode() == content
    found = json.loads(content)
    assert found["digest"] == digest(found)
    run = json.loads((folder / "one" / "run.json").read_text())
    assert run["latency"]["created"].endswith("Z")


def test_what_is_said_of_a_run_changes_no_document(cli: Cli, folder: Path):
    said = ("--operator", "A. N.", "--note", "first", "--note", "second", "--model", "X-25")
    assert cli("pts", "throughput", *QUICK, "-q", "--output", "one").returncode == 0
    assert cli("pts", "throughput", *QUICK, "-q", "--output", "two", *said).returncode == 0
    contents = [(folder / name / "throughput.json").read_bytes() for name in ("one", "two")]
    assert contents[0] == contents[1]
    run = json.loads((folder / "two" / "run.json").read_text())["throughput"]
    assert run["digest"] == json.loads(contents[1])["digest"]
    assert (run["operator"], run["notes"], run["model"]) == ("A. N.", ["first", "second"], "X-25")
    # A run that goes on keeps what was said at its beginning.
    again = ("--resume", "--operator", "B.")
    assert cli("pts", "throughput", *QUICK, "-q", "--output", "two", *again).returncode == 0
    run = json.loads((folder / "two" / "run.json").read_text())["throughput"]
    assert (run["operator"], run["notes"]) == ("B.", ["first", "second"])


# The command, to which Ctrl-C comes while it keeps its fifth step.
PRESSED = """
import os, signal, sys
from opennandlab.cli import main
from opennandlab.pts.bench.journal import Journal

keep = Journal.append
def append(self, index, key, outcome):
    keep(self, index, key, outcome)
    if index == 4:
        os.kill(os.getpid(), signal.SIGINT)

Journal.append = append
sys.exit(main())
"""


def test_ctrl_c_keeps_what_is_done_and_resume_ends_it(cli: Cli, folder: Path):
    whole = cli("pts", "wsat", *QUICK, "--time-base", "scaled", "--output", "whole")
    assert whole.returncode == 0
    command = ["pts", "wsat", *QUICK, "--time-base", "scaled", "--output", "cut"]
    run = subprocess.run(
        [sys.executable, "-c", PRESSED, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 130
    said = run.stderr
    assert "interrupted" in said
    assert "--resume goes on" in said
    assert json.loads((folder / "cut" / "wsat.json").read_text())["partial"]
    again = cli("pts", "wsat", *QUICK, "--time-base", "scaled", "--output", "cut")
    assert again.returncode == 2
    assert "go on with that run by --resume" in again.stderr
    resumed = cli("pts", "wsat", *QUICK, "--time-base", "scaled", "--output", "cut", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    same = [(folder / name / "wsat.json").read_bytes() for name in ("whole", "cut")]
    assert same[0] == same[1]


def test_a_parameter_is_varied(inside: Cli, folder: Path):
    done = inside(
        "pts", "throughput", *QUICK, "--vary", "active-range-pct=100,50", "-o", "ar", "-q"
    )
    assert done.returncode == 0, done.stderr
    suite = json.loads((folder / "ar" / "suite.json").read_text())
    names = ["throughput-active-range-pct-100", "throughput-active-range-pct-50"]
    assert suite["documents"] == names
    assert suite["varied"]["values"] == ["100", "50"]
    shares = [
        json.loads((folder / "ar" / f"{name}.json").read_text())["header"]["active_range"]["share"]
        for name in names
    ]
    assert shares == [1.0, 0.5]


def test_a_device_key_is_varied(inside: Cli, folder: Path):
    key = "ftl.over_provisioning_pct"
    done = inside("pts", "latency", *QUICK, "--vary", f"{key}=0.28,0.5", "-o", "op", "-q")
    assert done.returncode == 0, done.stderr
    capacities = {
        json.loads(path.read_text())["header"]["target"]["device"]["capacity_bytes"]
        for path in (folder / "op").glob("latency-*.json")
    }
    assert len(capacities) == 2


def test_the_complete_set_is_nine_documents(inside: Cli, folder: Path):
    done = inside("pts", "all", *QUICK, "--output", "all", "--json")
    assert done.returncode == 0, done.stderr
    names = [*STANDARD, "dirth-video"]
    suite = json.loads((folder / "all" / "suite.json").read_text())
    assert sorted(suite["documents"]) == sorted(names)
    assert sorted(json.loads(done.stdout)["documents"]) == sorted(names)
    # A drive is made again for each test: alone it gives the same.
    assert inside("pts", "hir", *QUICK, "--output", "hir", "-q").returncode == 0
    assert (folder / "hir" / "hir.json").read_bytes() == (folder / "all" / "hir.json").read_bytes()


def test_a_drive_is_characterised(inside: Cli, folder: Path):
    done = inside("characterise", *QUICK, "--output", "drive", "-q")
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "drive" / "suite.json").read_text())["documents"] == list(TUTORIAL)
    one = inside("characterise", *QUICK, "--only", "independence")
    assert one.returncode == 0
    assert "lost by what came before" in one.stdout
    assert inside("characterise", *QUICK, "--only", "speed").returncode == 2


def test_a_dry_run_says_what_would_be_done_and_does_nothing(inside: Cli, folder: Path):
    done = inside("pts", "iops", *QUICK, "--output", "none", "--dry-run")
    assert done.returncode == 0
    writes = next(line for line in done.stdout.splitlines() if line.startswith("writes"))
    # Five rounds at most: what is written either way is no range.
    pattern = r"writes \S+ GB \(\S+ drive writes\), of it \S+ MB to precondition"
    assert re.fullmatch(pattern, writes)
    longer = inside("pts", "latency", *QUICK[:4], "--dry-run").stdout
    assert re.search(r"takes .* for .* to .* of virtual time", longer)
    assert not (folder / "none").exists()
    several = inside("pts", "all", *QUICK, "--dry-run").stdout
    assert several.splitlines()[-4] == "all 9 tests"
    assert several.splitlines()[-2].startswith("takes ")
    # Nothing is printed of a sweep one of whose values cannot be.
    varied = inside("pts", "iops", *QUICK, "--vary", "nand.channels=2,0", "--dry-run")
    assert (varied.returncode, varied.stdout) == (2, "")
    plan = json.loads(inside("pts", "all", *QUICK, "--dry-run", "--json").stdout)
    assert len(plan["plans"]) == 9
    assert plan["plans"][0]["phases"]["round"] == {"count_max": 5, "cells_max": 280}
    new = inside("pts", "wsat", "--target", "file:new.img?size=1GiB", "--dry-run")
    assert new.returncode == 0
    assert not (folder / "new.img").exists()


def test_a_dry_run_on_a_file_says_why_it_would_be_refused(inside: Cli, folder: Path):
    held = folder / "held.img"
    held.write_bytes(bytes(4 << 20))

    def refused(text: str, *more: str) -> list[str]:
        done = inside("pts", "wsat", "--target", text, "--dry-run", *more)
        assert done.returncode == 0, done.stderr
        told = [line for line in done.stdout.splitlines() if line.startswith("refused: ")]
        plan = json.loads(
            inside("pts", "wsat", "--target", text, "--dry-run", "--json", *more).stdout
        )
        assert [f"refused: {reason}" for reason in plan["device"]["refused"]] == told
        return told

    consent = "refused: holds 4194304 bytes, which would be lost; --destructive allows that"
    size = (
        "refused: exists with 4194304 bytes, not 8388608; leave the size away, or remove the file"
    )
    assert refused("file:held.img") == [consent]
    assert refused("file:held.img", "--destructive") == []
    assert refused("file:held.img?size=8MiB") == [consent, size]
    assert refused("file:held.img?size=8MiB", "--destructive") == [size]
    assert refused("file:new.img?size=8MiB") == []
    assert refused("file:new.img?size=1MiB") == [
        "refused: 1048576 bytes are too few; at least 2 MiB"
    ]
    assert held.read_bytes() == bytes(4 << 20)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_run_into_its_own_file_that_is_cut_says_how_it_goes_on(inside: Cli, monkeypatch):
    from opennandlab.targets.file import FileTarget

    run, calls = FileTarget.run, 0

    def cut(*arguments, **named):
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return run(*arguments, **named)

    monkeypatch.setattr(FileTarget, "run", cut)
    command = ("pts", "wsat", "--target", "file:own.img?size=16MiB", "--time-base", "smoke")
    done = inside(*command, "-o", "own")
    if "direct I/O" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 130
    assert "the same command with --resume --destructive goes on" in done.stderr
    assert "--destructive allows that" in inside(*command, "-o", "own", "--resume").stderr
    assert inside(*command, "-o", "own", "--resume", "--destructive").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--target", "small"), 2, "accepted: sim:PRESET|FILE"),
        (("--target", "sim:"), 2, "accepted: sim:PRESET|FILE"),
        (("--target", "tlc_standard"), 2, "did you mean `sim:tlc_standard`?"),
        (("--target", "small.yaml"), 2, "did you mean `sim:small.yaml`?"),
        (("--target", __file__), 2, "did you mean `file:/"),
        (("--target", "sim:nowhere"), 2, "tlc_standard"),
        (("--target", "file:none.img"), 3, "?size=1GiB makes one"),
        (("--target", "file:none.img?sise=1GiB"), 2, "accepted: size"),
        (("--target", "file:none.img", "--set", "nand.channels=2"), 2, "simulated drives only"),
        # 310 digits ended in an OverflowError, a name that is no UTF-8 in a UnicodeEncodeError.
        (("--target", f"file:none.img?size={'9' * 310}"), 2, "more than a file or drive can have"),
        (("--target", "file:none\udcff.img?size=4MiB"), 3, "names with control characters"),
        (("--target", f"file:{'x' * 300}?size=4MiB"), 3, "File name too long"),
        (("--target", f"file:{'x' * 300}?size=4MiB", "--dry-run"), 3, "File name too long"),
        (("--target", "file:/dev/null", "--dry-run"), 3, "not a regular file"),
        (("--target", "/dev/nothing-there"), 3, "nothing-there"),
        (("--target", "nbd+unix:///?socket=nothing"), 3, "nothing"),
        (("--target", "sim:small.yaml", "--ss-max-rounds", "4"), 2, "accepted: 5 to 100"),
        (("--target", "sim:small.yaml", "--ar-amount", "much"), 2, "KiB"),
        (("--target", "sim:small.yaml", "--resume"), 2, "--output"),
        (("--target", "sim:small.yaml", "--ar-segments", "8"), 2, "together with --ar-amount"),
        (("--target", "sim:small.yaml", "--queue-depth", "1000000"), 2, "1000000 is out of range"),
        (("--target", "sim:small.yaml", "--vary", "colour=1,2"), 2, "cannot be varied"),
        (("--target", "sim:small.yaml", "--vary", "threads"), 2, "KEY=VALUE,VALUE"),
        (("--target", "sim:small.yaml", "--vary", "oio=1,2", "--vary", "threads=1,2"), 2, "once"),
    ],
)
def test_what_cannot_be_is_refused(inside: Cli, folder: Path, arguments, code, words):
    done = inside("pts", "latency", *arguments, "--time-base", "smoke")
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "none.img").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("iops", "--active-range-pct", "1"), "what the active range leaves to a request"),
        (("latency", "--ar-amount", "4095"), "for 2048 segments"),
        (("zones", "--zones", "1x1GiB"), "does not fit"),
        (("load", "--probe", "1e12"), "too large"),
        (("dirth", "--mid-points", "50"), "accepted: 1 to 49"),
    ],
)
def test_what_the_drive_would_refuse_in_the_middle_is_refused_at_once(
    inside: Cli, folder: Path, arguments, words
):
    """It ended with code 1, a partial document of no cell, and the advice to go on with that."""
    for more in (("--output", "none"), ("--output", "none", "--quiet"), ("--dry-run",)):
        done = inside("pts", *arguments, *QUICK[:4], *more)
        assert done.returncode == 2
        assert words in done.stderr
        assert not (folder / "none").exists()


def test_an_output_that_is_not_ours_is_left_alone(inside: Cli, folder: Path):
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("mine")
    done = inside("pts", "latency", *QUICK, "--output", "mine")
    assert done.returncode == 2
    assert [path.name for path in (folder / "mine").iterdir()] == ["notes.txt"]


def test_not_attained_is_no_failure_but_a_warning(inside: Cli):
    done = inside("pts", "wsat", *QUICK, "--capacities", "0.2")
    assert done.returncode == 0
    assert "NOT ATTAINED" in done.stdout
    assert "NOT ATTAINED" in done.stderr


def test_the_default_profile_tells_that_it_switches_a_cache_off(inside: Cli):
    told = "the default profile E switches off the write cache"
    run = ("pts", "throughput", *QUICK, "--set", "ftl.write_buffer_pages=64")
    assert told in inside(*run).stderr
    assert told not in inside(*run, "--profile", "E").stderr
    assert told not in inside(*run, "--profile", "C").stderr
    assert told not in inside(*run, "--cache", "enabled").stderr
    assert told not in inside("pts", "throughput", *QUICK).stderr


# The rule alone, with the golden values of the specification of this project.


def test_the_rule_alone_gives_its_nine_figures(inside: Cli):
    done = inside("pts", "steady-state", "--values", "5300,5200,5050,4900,4770", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert list(found) == [
        "schema", "steady", "reason", "average", "excursion", "slope", "intercept",
        "slope_excursion", "excursion_allowed", "slope_allowed", "explanation",
    ]  # fmt: skip
    assert (found["steady"], found["reason"], found["slope"]) == (False, "slope", -136)


@pytest.mark.parametrize(
    ("values", "steady", "why"),
    [
        ("5300,5200,5050,4900,4770", "no", "slope: the change of the fitted line is 544, above 10"),
        ("0,0,0,0,0", "no", "invalid: the mean of the last five values is 0"),
        ("-1,-1,-1,-1,-1", "no", "invalid: the mean of the last five values is -1"),
        ("1,1,nan,1,1", "no", "invalid: of the last five values number 3 is missing"),
        ("1,1,1,1e301,1", "no", "invalid: of the last five values number 4 is too large"),
        ("1,2", "no", "insufficient: 2 values, and the rule needs 5"),
        ("100,100,100,100,140", "no", "excursion and slope: largest less smallest is 40, above 20"),
        ("5,5,5,5,5", "yes", "steady: excursion and slope are within what is allowed"),
    ],
)
def test_the_rule_says_why(inside: Cli, values: str, steady: str, why: str):
    done = inside("pts", "steady-state", f"--values={values}")
    assert re.search(rf"steady +│ +{steady} *\n", done.stdout)
    assert why in done.stdout


def test_the_rule_reads_files_and_takes_the_last_five(inside: Cli, folder: Path):
    (folder / "values.txt").write_text("9 9 9\n1000, 1000\n1000; 1000 1000\n")
    found = json.loads(inside("pts", "steady-state", "--file", "values.txt", "--json").stdout)
    assert (found["steady"], found["average"]) == (True, 1000)
    few = json.loads(inside("pts", "steady-state", "--values", "1,2", "--json").stdout)
    assert (few["steady"], few["reason"]) == (False, "insufficient")
    assert "insufficient" in inside("pts", "steady-state", "--values", "1,2").stdout


def test_a_missing_value_is_never_steady(inside: Cli, folder: Path):
    for text in ("1,1,1,,1,1", ",1,1,1,1", "1;1;;1;1;1"):
        found = json.loads(inside("pts", "steady-state", "--values", text, "--json").stdout)
        assert (found["steady"], found["reason"]) == (False, "invalid"), text
    # A comma at the end of a line, and the mark that some editors put before a text.
    (folder / "values.txt").write_text("\ufeff1,1,\n\n1, 1 1\n", encoding="utf-8")
    assert json.loads(inside("pts", "steady-state", "--file", "values.txt", "--json").stdout)[
        "steady"
    ]


def test_the_rule_alone_can_end_with_an_exit_code(inside: Cli):
    asked = ("pts", "steady-state", "-q", "--require-steady", "--values")
    assert inside(*asked, "1,2,3,4,50").returncode == 1
    done = inside(*asked, "1,1,1,1,1")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "arguments", [(), ("--values", "1,x"), ("--file", "nowhere"), ("--values", "1", "--file", "-")]
)
def test_the_rule_refuses_what_is_no_number(inside: Cli, arguments):
    done = inside("pts", "steady-state", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


# Texts of targets.


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sim:tlc_standard", "sim"),
        ("sim:./a.yaml", "sim"),
        ("file:x", "file"),
        ("/dev/nvme0n1", "device"),
        ("nbd+unix:///?socket=nbd.sock", "nbd"),
        ("nbd://localhost", "nbd"),
    ],
)
def test_targets_are_known_by_their_text(text, kind):
    assert Request(text).kind == kind


@pytest.mark.parametrize(
    "text", ["", "tlc_standard", "sim:", "file:", "http://x", "x/y.img", "dev/sda"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ConfigError, match="accepted"):
        open_target(Request(text))


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("1KiB", 1024), ("1.5MiB", 1572864), ("2GiB", 2 << 30), ("1TiB", 1 << 40)],
)
def test_sizes_have_binary_units(text, size):
    assert parse_bytes(text) == size
    assert file_parts(f"file:a b?size={text}") == (Path("a b"), size)


def test_sizes_are_exact_to_the_last_byte():
    assert parse_bytes("9223372036854775807") == (1 << 63) - 1
    assert parse_bytes("9007199254740993") == (1 << 53) + 1
    for text in ("9223372036854775808", "8388608TiB", "9" * 5000):
        with pytest.raises(ConfigError, match="more than a file or drive can have"):
            parse_bytes(text)


@pytest.mark.parametrize("text", ["", "GiB", "1G", "1e9", "-1", "1 000"])
def test_other_sizes_are_refused(text):
    with pytest.raises(ConfigError):
        parse_bytes(text)


def test_a_sketch_is_never_run(tmp_path: Path):
    path = tmp_path / "some.img"
    path.write_bytes(b"x" * 8192)
    found = sketch(Request(f"file:{path}"))
    assert found.capacity_bytes == 8192
    with pytest.raises(TargetError, match="only a plan"):
        found.purge()
    assert path.read_bytes() == b"x" * 8192


def test_values_are_varied_by_option_by_test_and_by_device():
    job = Job("dirth", TESTS["dirth"], Settings())
    jobs, said = vary(job, "order=sorted,nested")
    assert [one.settings.options["order"] for one in jobs] == ["sorted", "nested"]
    assert said.documents == ["dirth-order-sorted", "dirth-order-nested"]
    jobs, _ = vary(job, "ar-amount=1GiB,2GiB")
    assert [one.settings.ar_amount_bytes for one in jobs] == [1 << 30, 2 << 30]
    jobs, _ = vary(job, "ftl.gc_policy=greedy,fifo")
    assert [one.overrides for one in jobs] == [
        {"ftl.gc_policy": "greedy"},
        {"ftl.gc_policy": "fifo"},
    ]
    with pytest.raises(ConfigError, match="twice"):
        vary(job, "oio=1,1")
    with pytest.raises(ConfigError, match="not a valid value"):
        vary(job, "oio=one")
    given = replace(job, settings=Settings(queue_depth=4, options={"order": "nested"}))
    for text in ("queue-depth=1,2", "order=sorted,nested"):
        with pytest.raises(ConfigError, match="given as an option too"):
            vary(given, text)
    # The names are those of the options.
    with pytest.raises(ConfigError, match=r"accepted: .*ar-amount, .*order, .*pts, "):
        vary(job, "colour=1")


def test_names_that_only_the_shell_knows_are_no_problem(inside: Cli):
    for alias in ("tp", "lat", "cbw"):
        assert inside("pts", alias, "--help").returncode == 0
    assert "hidden" not in inside("pts", "--help").stdout


def test_help_needs_no_test(cli: Cli):
    environment = {"PYTHONVERBOSE": "1"} if os.name == "posix" else {}
    said = cli("--help", **environment).stderr
    assert "opennandlab.pts" not in said.replace("opennandlab.pts' (", "")


def test_the_progress_line_tells_round_cell_rest_and_rule():
    state = Progress(
        "iops",
        phase="round",
        label="RND 4 KiB 0/100",
        round=7,
        rounds_max=25,
        cell=55,
        cells=56,
        fraction=0.25,
        eta_least_s=8.0,
        eta_s=125.0,
        steady=steady_state([5300, 5200, 5050, 4900, 4770]),
    )
    assert line(state) == (
        "iops · 8 s to 2 min 05 s left · round 7 of at most 25 · cell 55/56 · "
        "RND 4 KiB 0/100 (25% of it) · excursion 10.5% (allowed 20 %), slope 10.8% (allowed 10 %)"
    )
    assert line(Progress("wsat", phase="purge", label="purge")) == "wsat · purge · purge"
    state = Progress("wsat", phase="purge", eta_least_s=3.0, eta_s=3.0, number=4, count=9,
                     total_least_s=60.0, total_s=600.0)  # fmt: skip
    assert line(state).startswith(
        "wsat · test 4 of 9 · 3 s left · 1 min 00 s to 10 min 00 s for all"
    )


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def test_the_progress_line_is_gone_before_anything_is_printed(monkeypatch: pytest.MonkeyPatch):
    """The line stood before the title of the result, and came back after the digest."""
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with shown(line, quiet=False) as watch:
        assert isinstance(watch, Shown)
        watch(Progress("iops", phase="purge"))
        assert "iops" in screen.getvalue()
        watch.clear()
        cleared = screen.getvalue()
        # Up, and the line erased.
        assert cleared.endswith("\x1b[1A\x1b[2K")
    assert screen.getvalue() == cleared


def test_a_drive_that_wears_out_says_what_to_change(tmp_path):
    sets = {
        "nand.channels": 1,
        "nand.dies_per_channel": 1,
        "nand.blocks_per_plane": 32,
        "nand.pages_per_block": 32,
        "nand.max_pe_cycles": 5,
    }
    arguments = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    base = ["pts", "wsat", "--target", "sim:tlc_standard", *arguments]
    found = CliRunner().invoke(app, [*base, "-o", str(tmp_path / "worn")])
    assert found.exit_code == 3
    assert "nand.max_pe_cycles is 5" in found.output
    assert "other settings need an empty directory" in found.output
    assert "--resume goes on" not in found.output
