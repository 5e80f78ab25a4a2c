"""The installed command: what it prints where, and what its exit codes mean."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import COMMAND, Cli
from opennandlab import _core
from opennandlab import cli as cli_room
from places import ROOT

VERBS = (
    "plugins",
    *("benchmark", "verify", "compare", "replay", "validate", "config show", "config check"),
    *("config schema", "config presets", "theory waf", "theory bandwidth", "theory queueing"),
    *("theory endurance", "theory scaling"),
)
# Otherwise the endless workload ends when the drive is worn out.
IMMORTAL = ("--set", "nand.wear_out=ignore")
RUN = ("benchmark", "-w", "short.yaml", "-c", "small.yaml")


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help_with_an_example(cli: Cli, verb: str) -> None:
    shown = cli(*verb.split(), "--help")
    assert shown.returncode == 0
    text = " ".join(shown.stdout.split())
    assert f"Example: opennandlab {verb}" in text
    assert "--json" in text
    assert "--quiet" in text


def test_help_loads_no_library_that_it_does_not_need() -> None:
    """What `--help` takes is what it imports: a time would measure the machine's other work."""
    script = (
        "import atexit, sys; from opennandlab.cli import main; "
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    )
    command = [sys.executable, "-c", script, "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = shown.stderr.split()
    heavy = {"numpy", "pandas", "plotly", "rich", "ruamel", "jinja2", "opennandlab._core"}
    assert not heavy & set(loaded)
    # About 0.1 ms each: 0.15 s is the goal for the whole command.
    assert len(loaded) < 600, len(loaded)
    assert not {f"opennandlab.cli.{verb}" for verb in cli_room.VERBS} & set(loaded)


def test_a_verb_is_listed_in_one_line_and_loaded_alone() -> None:
    """All verbs were imported for each of them."""
    assert max(len(summary) for summary, _ in cli_room.VERBS.values()) <= 62
    script = (
        "import atexit, sys; from opennandlab.cli import main; "
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    )
    command = [sys.executable, "-c", script, "verify", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    verbs = {f"opennandlab.cli.{verb}" for verb in cli_room.VERBS}
    assert verbs & set(shown.stderr.split()) == {"opennandlab.cli.verify"}


def test_both_names_and_the_module_are_the_command(cli: Cli) -> None:
    version = cli("--version").stdout
    changed = ", sources changed since" if _core.dirty() else ""
    assert version == f"opennandlab {onl.version()} ({_core.commit()}{changed})\n"
    for other in (
        [str(COMMAND.with_name("onl"))],
        [str(COMMAND.parent / "python"), "-m", "opennandlab"],
    ):
        shown = subprocess.run([*other, "--version"], capture_output=True, text=True, check=True)
        assert shown.stdout == version


def test_benchmark_prints_the_metrics_and_saves_the_result(cli: Cli, folder: Path) -> None:
    shown = cli(*RUN, "--seed", "7", "--output", "results.json")
    assert shown.returncode == 0
    for name in ("WAF", "Throughput", "Avg latency", "P99 latency", "P999 latency", "GC cycles"):
        assert name in shown.stdout
    for name in ("ECC correction rate", "UBER", "WL stddev", "Lifetime estimate", "p99.9"):
        assert name in shown.stdout
    result = onl.load(folder / "results.json")
    assert result.document["seed"] == 7
    assert result.digest in shown.stdout
    assert "\x1b" not in shown.stdout + shown.stderr


def test_eighty_columns_cut_no_label_and_say_what_is_assumed(cli: Cli) -> None:
    shown = cli(*RUN, COLUMNS="80").stdout
    for words in ("UBER (JESD218: per bit)", "Wear min / mean / max", "latency, µs"):
        assert words in shown
    assert "measured from fresh drive, sequential fill\n" in shown
    assert "Lifetime: maximum P/E cycles x blocks" in shown
    assert "Throughput, read" not in shown  # nothing was read
    sequential = ("--set", "workload.pattern=sequential")
    assert re.search(r"WAF +│ +1\.000 ", cli(*RUN, *sequential).stdout)


def test_the_command_of_the_benchmark_page_works(cli: Cli) -> None:
    """`opennandlab benchmark --workload <name> --config docs/resources/config/config.yaml`."""
    path = ROOT / "docs" / "resources" / "config" / "config.yaml"
    more = ("--set", "workload.total.bytes=1MiB", "--json")
    shown = cli("benchmark", "--workload", "W1", "--config", str(path), *more)
    document = json.loads(shown.stdout)
    assert (document["seed"], document["metrics"]["waf"]) == (42, 1.0)


def test_json_is_one_document_and_nothing_else(cli: Cli, folder: Path) -> None:
    shown = cli(*RUN, "--json", "--output", "results.json")
    assert shown.returncode == 0
    assert json.loads(shown.stdout) == onl.load(folder / "results.json").document


def test_quiet_is_quiet(cli: Cli) -> None:
    shown = cli(*RUN, "--quiet", "--output", "results.json")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")


def test_runs_in_other_slices_have_the_same_digest(cli: Cli) -> None:
    digests = {
        json.loads(cli(*RUN, "--json", *more).stdout)["digest"]
        for more in ((), ("--slice-ops", "333"), ("--seed", "42"))
    }
    assert len(digests) == 1


def test_settings_change_device_and_workload(cli: Cli) -> None:
    shown = cli(
        *(*RUN, "--json", "--set", "ftl.gc_policy=d_choices", "--set", "ftl.gc_policy.d=3"),
        *("--set", "workload.total={ios: 100}"),
    )
    document = json.loads(shown.stdout)
    assert document["device"]["ftl"]["gc_policy"] == {"kind": "d_choices", "d": 3}
    assert document["checks"]["served"] == 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("benchmark",), "--workload"),
        (("benchmark", "-w", "short.yaml", "--sede", "1"), "--sede"),
        (("bencmark",), "benchmark"),
        (("benchmark", "-w", "W9"), "accepted: W1"),
        (("benchmark", "-w", "none.yaml"), "No such file"),
        (("benchmark", "-w", "short.yaml", "-c", "tlc"), "tlc_standard"),
        (("benchmark", "-w", "short.yaml", "--seed", "-1"), "--seed"),
        (("benchmark", "-w", "short.yaml", "--seed", "x"), "--seed"),
        ((*RUN, "--set", "nand.chanels=3"), "did you mean `channels`"),
        ((*RUN, "--set", "workload.queue_dept=3"), "did you mean `queue_depth`"),
        ((*RUN, "--set", "nand.channels"), "dotted.key=value"),
        ((*RUN, "--set", "nand.timing.t_read_us=50us"), "microseconds"),
        ((*RUN, "--state", "stale"), "fresh, image:FILE"),
        ((*RUN, "--state", "image:none.onl"), "No such file"),
        ((*RUN, "--output", "none/results.json"), "No such file"),
        ((*RUN, "--output", "."), "directory"),
        ((*RUN, "--plot", "none/plot.html"), "No such file"),
        ((*RUN, "--save-image", "."), "directory"),
        ((*RUN, "--output", "same.html", "--plot", "same.html"), "two outputs"),
        (("verify", "none.json"), "No such file"),
        (("verify", "small.yaml"), "no `schema`"),
        (("compare", "none.json", "none.json"), "No such file"),
        (("report", "."), "no JSON document in this folder"),
        (("config", "check", "short.yaml"), "this is a workload file"),
        (("theory", "waf"), "--spare-factor"),
        (("theory", "waf", "--spare-factor", "1.5"), "1.5"),
        (("theory", "scaling", "--units", "9" * 400), "at most 10^18"),
        (("theory", "waf", "--policy", "gredy", "--spare-factor", "0.1"), "greedy"),
    ],
)
def test_what_cannot_be_run_is_refused_with_exit_code_2(
    cli: Cli, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    before = sorted(folder.iterdir())
    shown = cli(*arguments)
    assert shown.returncode == 2, shown.stderr
    assert words in shown.stderr
    assert shown.stdout == ""
    assert "Traceback" not in shown.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--output", "short.yaml"), "--output short.yaml is also the workload"),
        (("--plot", "./small.yaml"), "is also the device file"),
        (("--save-image", "link.yaml"), "is also the workload"),
        (("--state", "image:state.onl", "--output", "state.onl"), "is also the image of --state"),
    ],
)
def test_no_output_overwrites_an_input(
    cli: Cli, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    (folder / "link.yaml").hardlink_to(folder / "short.yaml")
    (folder / "state.onl").write_text("kept", encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    shown = cli(*RUN, *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_drive_may_go_on_in_its_own_image(cli: Cli) -> None:
    assert cli(*RUN, "-q", "--save-image", "state.onl").returncode == 0
    again = ("--state", "image:state.onl", "--save-image", "state.onl")
    assert cli(*RUN, "-q", *again).returncode == 0


def test_a_refusal_is_a_json_document_too(cli: Cli) -> None:
    shown = cli(*RUN, "--json", "--set", "nand.channels=0")
    error = json.loads(shown.stdout)["error"]
    assert (error["exit_code"], error["path"]) == (2, "nand.channels")


def test_a_full_disk_does_not_lose_the_result(cli: Cli, folder: Path) -> None:
    """The table is printed, the result is kept elsewhere and named, and the exit code says so."""
    shown = cli(*RUN, "--output", "/dev/full", TMPDIR=str(folder))
    assert shown.returncode == 3
    assert "No space left on device" in shown.stderr
    assert "WAF" in shown.stdout
    kept = re.search(r"kept in (\S+)", shown.stderr)
    assert kept is not None
    assert onl.load(kept.group(1)).passed


def test_schemas_of_files_and_documents_are_printed(cli: Cli) -> None:
    assert "nand" in json.loads(cli("config", "schema").stdout)["properties"]
    assert "metrics" in json.loads(cli("config", "schema", "result").stdout)["properties"]
    done = cli("config", "schema", "pdf")
    assert done.returncode == 2
    assert "`pdf` is not known; accepted: device, workload, replay, result" in done.stderr


@pytest.mark.parametrize("target", [">/dev/full", ">&-"])
@pytest.mark.parametrize("verb", ["config show", "config schema", "--help"])
def test_output_that_cannot_be_written_is_one_line_and_exit_code_3(target: str, verb: str) -> None:
    script = f"{COMMAND} {verb} {target}"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert shown.returncode == 3
    assert shown.stderr.startswith("error: cannot write output: ")
    assert shown.stderr.count("\n") == 1


def test_a_reader_that_left_is_no_error() -> None:
    script = f"{COMMAND} config show | true"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert shown.stderr == ""


def test_letters_that_the_terminal_does_not_know_are_replaced(cli: Cli) -> None:
    shown = cli(*RUN, PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr.count("Traceback")) == (0, 0)
    assert "WAF" in shown.stdout


def in_terminal(arguments: list[str], folder: Path, **environment: str) -> tuple[str, str]:
    """Run with stderr on a terminal; return stdout and what the terminal got."""
    outer, inner = pty.openpty()
    with subprocess.Popen(
        [str(COMMAND), *arguments],
        cwd=folder,
        env={**os.environ, "TERM": "xterm", **environment},
        stdout=subprocess.PIPE,
        stderr=inner,
        text=True,
    ) as process:
        os.close(inner)
        seen = b""
        while True:
            try:
                chunk = os.read(outer, 65536)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        stdout = process.stdout.read() if process.stdout else ""
    os.close(outer)
    return stdout, seen.decode(errors="replace")


LONGER = ["--set", "workload.total={drive_writes: 1000}"]


def test_progress_with_eta_is_drawn_on_a_terminal_only(cli: Cli, folder: Path) -> None:
    stdout, seen = in_terminal([*RUN, *LONGER, "--json"], folder)
    json.loads(stdout)
    assert " s left" in seen
    assert "M I/O per s" in seen
    assert "\x1b[" in seen
    # Elsewhere only whole lines, of runs that take more than ten seconds.
    assert "\x1b[" not in cli(*RUN, *LONGER).stderr
    assert " s left" not in in_terminal([*RUN, *LONGER, "--quiet"], folder)[1]


def test_no_color_is_obeyed(folder: Path) -> None:
    colour = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    coloured = in_terminal([*RUN, *LONGER], folder)[1]
    plain = in_terminal([*RUN, *LONGER], folder, NO_COLOR="1")[1]
    assert colour.search(coloured)
    assert not colour.search(plain)


def test_verify_says_whether_a_result_can_be_repeated(cli: Cli, folder: Path) -> None:
    cli(*RUN, "-q", "--output", "results.json")
    shown = cli("verify", "results.json")
    assert shown.returncode == 0
    assert "identical" in shown.stdout
    path = folder / "results.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["metrics"]["gc_cycles"] += 1
    path.write_text(json.dumps(document), encoding="utf-8")
    shown = cli("verify", "results.json")
    assert shown.returncode == 1
    assert "metrics.gc_cycles" in shown.stdout
    report = json.loads(cli("verify", "results.json", "--json").stdout)
    assert report["identical"] is False


def test_verify_says_how_a_standard_test_is_checked(cli: Cli, folder: Path) -> None:
    (folder / "iops.json").write_text('{"schema": "opennandlab.pts/1"}', encoding="utf-8")
    (folder / "other.json").write_text('{"schema": "opennandlab.suite/1"}', encoding="utf-8")
    shown = cli("verify", "iops.json")
    assert shown.returncode == 2
    assert "holds `opennandlab.pts/1`; accepted: opennandlab.result/1" in shown.stderr
    assert "running its command again" in shown.stderr
    assert "the same `digest`, and `compare` shows what differs" in shown.stderr
    assert "its command" not in cli("verify", "other.json").stderr


def test_a_failed_check_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, small: Any, short: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """No run fails its checks on purpose: the outcome is replaced."""
    import typer

    from opennandlab.cli import _run_report, _terminal
    from opennandlab.cli.options.run import MeasuredRunOptions
    from opennandlab.core.result import Result
    from opennandlab.core.run import Run, Start, prepare_benchmark

    run = prepare_benchmark(Start(small), short)
    failed = run.measure()
    monkeypatch.setattr(_terminal, "ignore_signals", lambda: None)
    document = failed.document
    document["checks"] |= {"passed": False, "failures": ["3 issued, 2 served"]}
    failed = Result(document)
    monkeypatch.setattr(Run, "measure", lambda *_, **__: failed)
    context = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    with pytest.raises(typer.Exit) as stop:
        _run_report.run_and_report(run, MeasuredRunOptions(context=context))
    assert stop.value.exit_code == 1
    assert "3 issued, 2 served" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (r'"waf": [0-9.]+', '"waf": NaN', "waf: nan is not a finite number"),
        (r'"waf": [0-9.]+', '"waf": 1e400', "waf: inf is not a finite number"),
        (r'"name": "short"', '"name": "\\\\ud800"', "workload.name: text with half a surrogate"),
        # Outside of the digest they went through, and `verify` opened the file of that name.
        (r'"run": \{', '"run": {"image_path": "\\\\ud800",', "run.image_path: text with half"),
        (r'"wall_s": [0-9.]+', '"wall_s": -Infinity', "run.wall_s: -inf is not a finite number"),
        (r'"seed": [0-9]+', f'"seed": {"9" * 400}', "seed: an integer beyond 2^64"),
        (r'"seed": [0-9]+', f'"seed": {"9" * 5000}', "no complete JSON document"),
        (r'"steps": \[', f'"steps": [{"[" * 200 + "]" * 200},', "nested too deeply"),
    ],
)
def test_a_result_that_holds_what_json_cannot_is_damaged(
    cli: Cli, folder: Path, old: str, new: str, words: str
) -> None:
    """These three were tracebacks of verify, compare and report, with exit code 1."""
    cli(*RUN, "-q", "--output", "good.json")
    text = (folder / "good.json").read_text(encoding="utf-8")
    (folder / "bad.json").write_text(re.sub(old, new, text, count=1), encoding="utf-8")
    for arguments in (
        ("verify", "bad.json"),
        ("compare", "good.json", "bad.json"),
        ("report", "bad.json", "--html", "page.html"),
        ("runs", "add", "bad.json", "--store", "kept"),
    ):
        shown = cli(*arguments)
        assert shown.returncode == 2, shown.stderr
        assert words in shown.stderr
        assert not (folder / "page.html").exists()


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("{}", "device.controller: only in the second"),
        ('{"ftl": -1}', "ftl: invalid type: integer `-1`, expected a mapping of keys"),
        ('{"ftl": {"gc_policy": 5}}', "ftl.gc_policy: "),
    ],
)
def test_a_verification_of_a_damaged_device_is_refused(
    cli: Cli, folder: Path, device: str, words: str
) -> None:
    """Both ended with a KeyError or an AttributeError, before anything was looked at."""
    cli(*RUN, "-q", "--output", "good.json")
    document = json.loads((folder / "good.json").read_text(encoding="utf-8"))
    document["device"] = json.loads(device)
    (folder / "bad.json").write_text(json.dumps(document), encoding="utf-8")
    shown = cli("verify", "bad.json")
    assert (shown.returncode, words in shown.stderr) == (2, True), shown.stderr


def test_a_document_is_refused_by_its_size_before_it_is_parsed(cli: Cli, folder: Path) -> None:
    """`compare` worked for a minute on 321 MB, with 3.8 GB; others refused after 1.7 GB."""
    with (folder / "large.json").open("wb") as file:
        file.write(b'{"schema": "opennandlab.result/1"')
        file.truncate((64 << 20) + 1)
    cli(*RUN, "-q", "--output", "good.json")
    for arguments in (
        ("verify", "large.json"),
        ("compare", "good.json", "large.json"),
        ("report", "large.json"),
        ("runs", "add", "large.json", "--store", "kept"),
        ("pts", "import", "large.json"),
        ("calibrate", "--device", "config", "--to", "large.json"),
        ("ecc", "plot", "large.json", "--output", "drawn.svg"),
    ):
        shown = cli(*arguments)
        assert shown.returncode == 2, shown.stderr
        assert "large.json: larger than 64 MiB; accepted: " in " ".join(shown.stderr.split())


def test_compare_refuses_unlike_things_unless_forced(cli: Cli) -> None:
    more = ("--set", "ftl.over_provisioning_pct=0.4")
    cli(*RUN, "-q", "--output", "one.json")
    cli(*RUN, "-q", "--output", "other.json", *more)
    shown = cli("compare", "one.json", "other.json")
    assert shown.returncode == 2
    assert "over-provisioning" in shown.stderr
    assert "WAF" in shown.stdout  # what they differ by, before the refusal
    forced = cli("compare", "one.json", "other.json", "--force")
    assert forced.returncode == 0
    assert "UNLIKE THINGS" in forced.stdout
    report = json.loads(cli("compare", "one.json", "other.json", "--force", "--json").stdout)
    assert report["like"] is False
    assert cli("compare", "one.json").returncode == 2


def test_compare_shows_deltas_with_the_tail(cli: Cli) -> None:
    cli(*RUN, "-q", "--output", "one.json")
    cli(*RUN, "-q", "--output", "other.json", "--set", "ftl.gc_policy=fifo")
    shown = cli("compare", "one.json", "other.json")
    assert shown.returncode == 0
    for name in ("WAF", "p99, µs", "p99.9, µs", " %", "▲"):
        assert name in shown.stdout


def test_config_show_says_what_follows_and_where_it_comes_from(cli: Cli) -> None:
    shown = cli("config", "show", "tlc_standard").stdout
    for words in ("32 GiB", "nominal spare factor", "effective spare factor", "predicted WAF"):
        assert words in shown
    for words in ("GC trigger", "spare blocks", "nand.timing.t_read_us", "µs", "OpenNANDLab 2.0"):
        assert words in shown
    document = json.loads(cli("config", "show", "tlc_standard", "--json").stdout)
    assert document["effective"]["raw_bytes"] == 32 << 30
    assert document["effective"]["predicted_waf"] > 7
    assert set(document["sources"]) >= {"nand.timing.t_read_us", "nand.rber_floor"}


def test_config_check_schema_and_presets(cli: Cli) -> None:
    assert "valid" in cli("config", "check", "small.yaml", "-w", "short.yaml").stdout
    schema = json.loads(cli("config", "schema").stdout)
    assert set(schema["properties"]) >= {"nand", "ftl", "ecc", "host"}
    assert "pattern" in json.loads(cli("config", "schema", "workload").stdout)["properties"]
    names = json.loads(cli("config", "presets", "--json").stdout)
    assert set(names["devices"]) >= {"tlc_standard", "mlc_enterprise", "config"}


def test_a_setting_of_a_workload_that_is_not_there_is_refused(cli: Cli) -> None:
    """`config check` called a drive valid with `workload.queue_depth=0`, which it left out."""
    wrong = ("--set", "workload.queue_depth=0")
    for verb in ("show", "check"):
        found = cli("config", verb, "small.yaml", *wrong)
        assert found.returncode == 2
        assert "workload.queue_depth" in found.stderr
    found = cli("config", "check", "small.yaml", "-w", "W2", *wrong)
    assert "queue_depth: `0` is out of range; accepted: 1 to" in found.stderr


def test_presets_are_described_in_whole_sentences(cli: Cli) -> None:
    """That of W3-zipf ended in a comma: its first line was the first half of a sentence."""
    rows = [line for line in cli("config", "presets").stdout.splitlines() if line.startswith(" ")]
    assert rows
    for row in rows:
        assert row.rstrip().endswith("."), row


def test_a_figure_that_is_not_there_says_why(cli: Cli) -> None:
    """Rates of reads, lifetime and simulated time were a dash alone."""
    shown = cli("benchmark", "-w", "W1", "-c", "small.yaml").stdout.splitlines()
    for name in ("ECC correction rate", "Uncorrectable reads", "UBER"):
        (row,) = (line for line in shown if line.startswith(name))
        assert "(nothing was read)" in row
    (row,) = (line for line in shown if line.startswith("TBW"))
    assert "no block" not in row
    reads = ("--set", "workload.read_pct=100", "--set", "workload.total={ios: 100}")
    shown = cli("benchmark", "-w", "W1", "-c", "small.yaml", *reads).stdout.splitlines()
    for name in ("Lifetime estimate", "TBW"):
        (row,) = (line for line in shown if line.startswith(name))
        assert "(no block was erased)" in row
    assert not [line for line in shown if "nothing was read" in line]


def test_theory_takes_the_effective_spare_factor_of_a_device(cli: Cli) -> None:
    whole = cli("theory", "waf", "-c", "small.yaml", "--json")
    found = json.loads(whole.stdout)
    given = found["parameters"]
    ratio = given["over_provisioning"]
    assert given["spare_factor_nominal"] == pytest.approx(ratio / (1 + ratio), rel=1e-3)
    assert given["spare_factor"] < given["spare_factor_nominal"]
    again = ("theory", "waf", "--pages-per-block", str(given["pages_per_block"]), "--spare-factor")
    alone = json.loads(cli(*again, str(given["spare_factor"]), "--json").stdout)
    assert found["waf"] == pytest.approx(alone["waf"], rel=1e-5)
    assert "effective: the spare factor" in cli("theory", "waf", "-c", "small.yaml").stdout
    choices = ("--set", "ftl.gc_policy={kind: d_choices, d: 3}")
    assert "policy d_choices, d 3," in cli("theory", "waf", "-c", "small.yaml", *choices).stdout
    for mapping, said in (
        ("{kind: fast, log_blocks: 512}", "the formula of FAST, all blocks of data share the log"),
        ("{kind: bast, log_blocks: 512}", "(theory.waf_bast)"),
        ("{kind: block}", "waf_block_mapping"),
    ):
        merging = ("theory", "waf", "-c", "tlc_standard", "--set", f"ftl.mapping={mapping}")
        found = json.loads(cli(*merging, "--json").stdout)
        assert found["parameters"]["mapping"] in mapping
        assert said in found["note"]
        assert "effective" not in found["note"]
        assert ("log_blocks" in found["parameters"]) is ("log_blocks" in mapping)
    steps = cli("theory", "waf", "-c", "small.yaml", "--set", "ftl.refresh.after_days=10")
    assert "none (no closed form)" in steps.stdout
    assert "no closed form describes this device: ftl.refresh" in steps.stdout
    for more in (("--spare-factor", "0.1"), ("--policy", "fifo")):
        refused = cli("theory", "waf", "-c", "small.yaml", *more)
        assert refused.returncode == 2
        assert f"{more[0]}: has no effect with a device" in refused.stderr


def test_theory_evaluates_the_formulas(cli: Cli) -> None:
    waf = json.loads(
        cli(
            *("theory", "waf", "--policy", "greedy", "--pages-per-block", "256"),
            *("--spare-factor", "0.0654", "--json"),
        ).stdout
    )
    assert waf["waf"] == pytest.approx(7.597, rel=1e-3)
    fifo = json.loads(
        cli("theory", "waf", "--policy", "fifo", "--over-provisioning", "0.25", "--json").stdout
    )
    assert fifo["waf"] == pytest.approx(2.693, rel=1e-3)
    assert fifo["note"].startswith("nominal: the spare factor 0.2 follows from")
    band = json.loads(
        cli(
            "theory", "bandwidth", "--cell", "mlc", "--dies", "1", "--read-pct", "50", "--json"
        ).stdout
    )
    assert band["device_mb_s"] == pytest.approx(9.567, rel=1e-3)
    capped = json.loads(
        cli(
            "theory", "bandwidth", "--cell", "slc", "--dies", "8", "--link", "sata2", "--json"
        ).stdout
    )
    assert capped["device_mb_s"] == 300
    queue = json.loads(
        cli("theory", "queueing", "--service-us", "60", "--iops", "10000", "--json").stdout
    )
    assert queue["response_us_mean"] == pytest.approx(105.0, rel=1e-3)
    closed = json.loads(
        cli("theory", "queueing", "--dies", "8", "--queue-depth", "32", "--json").stdout
    )
    assert closed["busy_dies"] == pytest.approx(7.133, rel=1e-3)
    life = json.loads(
        cli(
            *("theory", "endurance", "--raw-tb", "1.024", "--pe-cycles", "3000", "--waf", "2"),
            "--json",
        ).stdout
    )
    assert life["tbw_tb"] == pytest.approx(1536.0)
