"""Old names are accepted, in each place where one may stand, with one line that names the new."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import SHORT, SMALL, Cli
from opennandlab.base.deprecated import NAMES, Deprecated, Old, current
from opennandlab.cli import VERBS
from opennandlab.studies.validation.suites import SUITES
from places import ROOT

# The command line after names of it were given up.
RENAMED = """
import sys
from opennandlab.base.deprecated import NAMES, Old
NAMES["command"]["bench"] = Old("benchmark", "1.0", "2.0")
NAMES["option"]["benchmark --load"] = Old("benchmark --workload", "1.0", "2.0")
NAMES["key"]["ftl.collector"] = Old("ftl.gc_policy", "1.0", "2.0")
from opennandlab.cli import main
main()
"""


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RENAMED, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    old = json.loads(json.dumps(SMALL))
    old["ftl"]["collector"] = "fifo"
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL), encoding="utf-8")
    (tmp_path / "old.yaml").write_text(json.dumps(old), encoding="utf-8")
    (tmp_path / "short.yaml").write_text(json.dumps(SHORT), encoding="utf-8")
    return tmp_path


def test_old_commands_options_and_keys_run_with_a_warning_each(folder: Path) -> None:
    run = ("-c", "small.yaml", "--json")
    new = ran(folder, "benchmark", "-w", "short.yaml", *run, "--set", "ftl.gc_policy=fifo")
    assert new.returncode == 0, new.stderr
    assert "is called" not in new.stderr
    digest = json.loads(new.stdout)["digest"]
    told = "warning: {} is called {} since 1.0; 2.0 will refuse it"
    command = told.format("command `bench`", "`benchmark`")
    option = told.format("option `benchmark --load`", "`benchmark --workload`")
    key = told.format("key `ftl.collector`", "`ftl.gc_policy`")
    for words, expected in (
        (("bench", "-w", "short.yaml", *run, "--set", "ftl.gc_policy=fifo"), command),
        (("benchmark", "--load", "short.yaml", *run, "--set", "ftl.gc_policy=fifo"), option),
        (("benchmark", "--load=short.yaml", *run, "--set", "ftl.gc_policy=fifo"), option),
        (("benchmark", "-w", "short.yaml", *run, "--set", "ftl.collector=fifo"), key),
        (("benchmark", "-w", "short.yaml", "-c", "old.yaml", "--json"), key),
    ):
        done = ran(folder, *words)
        assert done.returncode == 0, done.stderr
        assert [one for one in done.stderr.splitlines() if "is called" in one] == [expected], words
        assert json.loads(done.stdout)["digest"] == digest


def test_both_names_of_a_key_are_refused(folder: Path) -> None:
    old = json.loads((folder / "old.yaml").read_text(encoding="utf-8"))
    old["ftl"]["gc_policy"] = "greedy"
    (folder / "old.yaml").write_text(json.dumps(old), encoding="utf-8")
    done = ran(folder, "benchmark", "-w", "short.yaml", "-c", "old.yaml")
    assert done.returncode == 2
    assert "ftl.collector: `gc_policy` is given too" in done.stderr


def test_a_suite_by_its_old_name(cli: Cli) -> None:
    done = cli("validate", "power", "--case", "reads")
    assert done.returncode == 0
    assert "warning: suite `power` is called `energy` since 1.0; 2.0 will refuse it" in done.stderr


def test_a_name_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMES["name"], "bench", Old("benchmark", "1.0", "2.0"))
    with pytest.warns(Deprecated, match="name `bench` is called `benchmark` since 1.0"):
        assert onl.bench is onl.benchmark  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="has no `sausage`"):
        _ = onl.sausage  # type: ignore[attr-defined]


def test_every_row_leads_from_a_name_that_is_gone_to_one_in_use() -> None:
    for old, row in NAMES["suite"].items():
        assert old not in SUITES
        assert row.new in SUITES
    for old, row in NAMES["command"].items():
        assert old.split()[0] not in VERBS or " " in old
        assert row.new.split()[0] in VERBS
    for old, row in NAMES["name"].items():
        assert old not in dir(onl)
        assert row.new in dir(onl)
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    for kind, rows in NAMES.items():
        for old, row in rows.items():
            assert re.fullmatch(r"\d+\.\d+", row.since)
            assert row.until.endswith(".0"), "only a major version refuses a name"
            assert f"| {kind} | `{old}` | `{row.new}` | {row.since} | {row.until} |" in page
    with pytest.warns(Deprecated):
        assert current("suite", "power") == "energy"
    assert current("suite", "energy") == "energy"
