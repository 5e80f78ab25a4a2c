"""`config from` on the command line: files in, YAML and a report out."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from conftest import Cli
from foreign_files import HEADER, INI, REQUESTS, SCRIPT, drive, scenarios, synthetic, trace
from opennandlab.base.files import read_yaml
from opennandlab.cli._config_from import table
from opennandlab.foreign.converting import Request, convert
from opennandlab.foreign.table import KINDS


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "ssdconfig.xml").write_text(drive(), encoding="utf-8-sig")
    (folder / "workload.xml").write_text(scenarios(trace()))
    (folder / "t.trace").write_text(REQUESTS)
    (folder / "run.sh").write_text(SCRIPT)
    (folder / "ssd_config.h").write_text(HEADER)
    (folder / "drive.ini").write_text(INI)
    return folder


@pytest.mark.usefixtures("files")
def test_from_files_to_a_figure(cli: Cli) -> None:
    given = ("ssdconfig.xml", "workload.xml", "-o", "d.yaml", "--as-run")
    run = cli("config", "from", *given)
    assert run.returncode == 0, run.stderr
    assert "as written 333, as run 333.33" in " ".join(run.stdout.replace("│", "").split())
    assert cli("config", "check", "d.yaml").returncode == 0
    shown = json.loads(cli("config", "show", "d.yaml", "--json").stdout)
    origin = shown["sources"]["ftl.over_provisioning_pct"]
    assert origin == "ssdconfig.xml: Overprovisioning_Ratio 0.07; converted."
    words = run.stdout.splitlines()[-1].removeprefix("run:").split()
    result = json.loads(cli(*words[1:], "--json").stdout)
    assert result["metrics"]["latency_us"]["read"]["mean"] == pytest.approx(102, abs=1)


def test_the_report_fits_80_columns(files: Path) -> None:
    (files / "many.xml").write_text(scenarios(synthetic(), synthetic() + trace()))
    found = convert(Request([files / "ssdconfig.xml", files / "many.xml"]))
    for kind in KINDS:
        rows = [row for row in found.rows if row.kind == kind]
        drawn = Console(file=StringIO(), width=80)
        drawn.print(table(kind, rows, as_run=False))
        lines = drawn.file.getvalue().splitlines()
        assert max(map(len, lines)) <= 80
        assert all(row.source in "".join(lines) for row in rows)


@pytest.mark.usefixtures("files")
def test_the_report_as_json_counts_its_rows(cli: Cli) -> None:
    run = cli("config", "from", "ssdconfig.xml", "-o", "d.yaml", "--json")
    found = json.loads(run.stdout)
    assert sum(found["counts"].values()) == len(found["rows"])
    assert found["format"] == "mqsim"
    (rate,) = [row for row in found["rows"] if row["source"] == "Channel_Transfer_Rate"]
    assert (rate["as_written"], rate["class"]) == (333, "converted")
    assert rate["as_run"] == pytest.approx(1000 / 3)


def test_strict_refuses_what_changes_figures_and_writes_nothing(cli: Cli, files: Path) -> None:
    run = cli("config", "from", "ssdconfig.xml", "-o", "d.yaml", "--strict", "--json")
    assert run.returncode == 2
    assert "GC_Exec_Threshold" in json.loads(run.stdout)["error"]["message"]
    assert not (files / "d.yaml").exists()
    flow = synthetic(Read_Percentage=100)
    (files / "workload.xml").write_text(scenarios(flow))
    words = ("ssdconfig.xml", "workload.xml", "-o", "d.yaml", "--strict", "--json")
    # Without writes nothing is collected, and no cache is used.
    assert json.loads(cli("config", "from", *words).stdout)["counts"]["exact"]
    (files / "run.sh").write_text(SCRIPT.replace("gc_thres_pcent=75", "gc_thres_pcent=95"))
    assert cli("config", "from", "run.sh", "-o", "d.yaml", "--strict").returncode == 0


@pytest.mark.parametrize(
    ("name", "more"),
    [("run.sh", ()), ("drive.ini", ()),
     ("ssd_config.h", ("--model", "FIRST", "--memmap-size", "64GiB"))],
)  # fmt: skip
@pytest.mark.usefixtures("files")
def test_other_files_make_devices_that_pass_the_check(
    name: str, more: tuple[str, ...], cli: Cli
) -> None:
    assert cli("config", "from", name, "-o", "d.yaml", "-q", *more).returncode == 0
    assert cli("config", "check", "d.yaml").stdout == "d.yaml: valid\n"


@pytest.mark.parametrize("name", ["ssdconfig.xml", "run.sh", "ssd_config.h", "drive.ini"])
@pytest.mark.usefixtures("files")
def test_where_a_yaml_file_belongs_the_error_names_the_command(name: str, cli: Cli) -> None:
    for words in (
        ("benchmark", "-c", name, "-w", "short.yaml"),
        ("benchmark", "-c", "small.yaml", "-w", name),
        ("config", "check", name),
    ):
        run = cli(*words)
        assert run.returncode == 2
        assert "`opennandlab config from FILE -o D.yaml`" in run.stderr


def test_no_input_is_written_over(cli: Cli, files: Path) -> None:
    text = (files / "ssdconfig.xml").read_bytes()
    run = cli("config", "from", "ssdconfig.xml", "-o", "ssdconfig.xml")
    assert run.returncode == 2
    assert (files / "ssdconfig.xml").read_bytes() == text
    (files / "workload.xml").write_text(scenarios(synthetic()))
    given = ("ssdconfig.xml", "workload.xml", "-o", "d.yaml", "--workload-output", "./d.yaml")
    assert cli("config", "from", *given).returncode == 2


def test_a_device_file_that_was_edited_is_not_replaced_in_silence(cli: Cli, files: Path) -> None:
    given = ("config", "from", "ssdconfig.xml", "-o", "d.yaml")
    assert "replaced" not in cli(*given).stderr + cli(*given).stderr
    with (files / "d.yaml").open("a") as stream:
        stream.write("# mine\n")
    assert "note: d.yaml: replaced; the previous text was different" in cli(*given).stderr


def test_letters_that_a_terminal_obeys_do_not_reach_it(cli: Cli, files: Path) -> None:
    text = drive().replace("<Seed>7", "<Odd>\x9b31m\u202e</Odd><Seed>7")
    (files / "odd.xml").write_text(text.replace("us-ascii", "utf-8"), encoding="utf-8")
    run = cli("config", "from", "odd.xml", "-o", "d.yaml")
    assert run.returncode == 0, run.stderr
    assert "\x9b" not in run.stdout
    assert "\u202e" not in run.stdout


def test_scenarios_that_need_other_devices_have_their_own(cli: Cli, files: Path) -> None:
    """With one device for all, reads of a part of a page lost their map unit to another's writes.

    The right value: what the divisor of sizes and alignments of the flow is, 8 sectors.
    """
    reads = synthetic(Read_Percentage=100)
    (files / "workload.xml").write_text(scenarios(synthetic(Read_Percentage=0), reads, trace()))
    given = ("config", "from", "ssdconfig.xml", "workload.xml", "-o", "d.yaml")
    run = cli(*given, "--workload-output", "w.yaml", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["written"] == ["d-1.yaml", "w-1.yaml", "d-2.yaml", "w-2.yaml", "d-3.yaml"]
    assert not (files / "d.yaml").exists()
    for number, command in enumerate(found["commands"], 1):
        assert f"-c d-{number}.yaml" in command
        assert cli("config", "check", f"d-{number}.yaml").returncode == 0
    alone = []
    for number, one in enumerate((synthetic(Read_Percentage=0), reads, trace()), 1):
        (files / "alone.xml").write_text(scenarios(one))
        device = convert(Request([files / "ssdconfig.xml", files / "alone.xml"])).document()
        written = read_yaml(files / f"d-{number}.yaml")
        assert written | {"name": ""} == device | {"name": ""}
        alone.append(device["ftl"].get("map_unit_bytes"))
    assert alone[0] is None
    assert alone[1] == 4096
    sources = [row["source"] for row in found["rows"]]
    assert "Channel_Transfer_Rate" in sources
    assert "2/(sectors of a page)" in sources
    assert "differ in" in cli(*given, "-q").stderr + cli(*given).stderr


def test_scenarios_of_one_device_share_it(cli: Cli, files: Path) -> None:
    flow = synthetic(Read_Percentage=0)
    (files / "workload.xml").write_text(scenarios(flow, flow))
    given = ("ssdconfig.xml", "workload.xml", "-o", "d.yaml", "--workload-output", "w.yaml")
    found = json.loads(cli("config", "from", *given, "--json").stdout)
    assert found["written"] == ["d.yaml", "w-1.yaml", "w-2.yaml"]


def test_options_of_femu_end_in_a_command_or_a_hint(cli: Cli, files: Path) -> None:
    made = cli("config", "from", "run.sh", "-o", "d.yaml")
    assert made.stdout.endswith("run:  opennandlab benchmark -w W2 -c d.yaml --plot d.html\n")
    line = "-device femu,femu_mode=1"
    for words in ((line, "-o", "e.yaml"), ("-o", "e.yaml", "--", line)):
        refused = cli("config", "from", *words)
        assert refused.returncode == 2
        assert "put the line into" in refused.stderr
    (files / "named.sh").write_text(line + ",serial=${subsys_id}\n")
    refused = cli("config", "from", "named.sh", "-o", "e.yaml")
    assert "give the line that the script makes" in refused.stderr
    # Nothing writes anywhere on a drive with zones.
    (files / "zones.sh").write_text("-device femu,femu_mode=3,devsz_mb=4096\n")
    assert "run:" not in cli("config", "from", "zones.sh", "-o", "z.yaml").stdout


@pytest.mark.usefixtures("files")
def test_a_report_in_a_pipe_is_as_wide_as_columns_asks(cli: Cli) -> None:
    for given, least, most in (("60", 50, 60), ("140", 112, 140), ("wide", 90, 110)):
        shown = cli("config", "from", "ssdconfig.xml", "-o", "d.yaml", COLUMNS=given).stdout
        lines = [line for line in shown.splitlines() if "run:" not in line]
        assert least < max(map(len, lines)) <= most


@pytest.mark.usefixtures("files")
def test_an_error_begins_with_the_name_of_the_file(cli: Cli) -> None:
    found = cli("config", "from", "none.xml", "-o", "d.yaml")
    assert found.stderr.startswith("error: none.xml: No such file")
