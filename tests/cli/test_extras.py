"""A small core: verbs that need no extra run without any, the others say what to install."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.base.extras import EXTRAS, MissingError, explained, lacking, need
from places import ROOT

# The command line in a Python that has no module of any extra.
WITHOUT = """
import sys
BLOCKED = set(sys.argv.pop(1).split(","))
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder())
from opennandlab.cli import main
main()
"""
BLOCKED = sorted({"markupsafe", *(name for _, modules in EXTRAS.values() for name in modules)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a small drive and a short workload."""
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL), encoding="utf-8")
    (tmp_path / "short.yaml").write_text(json.dumps(SHORT), encoding="utf-8")
    return tmp_path


def ran(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, ",".join(BLOCKED), *line.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_the_core_runs_and_tests_without_any_extra(folder: Path) -> None:
    run = "benchmark -w short.yaml -c small.yaml"
    for line in (
        f"{run} --output a.json",
        f"{run} --set ftl.gc_policy=fifo --output b.json",
        "compare a.json b.json",
        "verify a.json",
        "pts iops --target sim:small.yaml --time-base smoke --output pts",
        "report pts/iops.json --csv tables",
        "--help",
        "ui --help",
        "theory examples garbage_collection",
        "config presets",
    ):
        done = ran(folder, line)
        assert done.returncode == 0, (line, done.stderr)
    assert (folder / "tables" / "cells.csv").is_file()


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("report pts.json", "plot"),
        ("report pts.json --html a.html --csv tables", "plot"),
        ("report pts.json --pdf a.pdf", "plot"),
        ("report pts.json --figures a", "plot"),
        ("benchmark -w short.yaml -c small.yaml --plot a.svg", "plot"),
        ("theory examples garbage_collection --plot a.svg", "plot"),
        ("ui --no-browser", "ui"),
    ],
)
def test_what_needs_an_extra_names_it_in_a_line(folder: Path, line: str, extra: str) -> None:
    (folder / "pts.json").write_text("{}", encoding="utf-8")
    for words in (line, f"{line} --json"):
        done = ran(folder, words)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert re.search(rf"not installed: pip install 'opennandlab\[{extra}\]'$", done.stderr)
        if "--json" in words:
            said = json.loads(done.stdout)["error"]
            assert said["exit_code"] == 2
            assert f"error: {said['message']}\n" == done.stderr
        else:
            assert done.stdout == ""
    assert not list(folder.glob("a*"))


def test_a_page_that_was_not_asked_for_is_left_out_with_a_warning(folder: Path) -> None:
    done = ran(
        folder,
        "power run -c small.yaml --set ftl.gc_reserve_blocks=4 --cuts 2 --jobs 1 --output cuts",
    )
    assert done.returncode in (0, 1), done.stderr
    assert "warning: power.html was not written: figures and pages need" in done.stderr
    assert (folder / "cuts" / "power.json").is_file()
    assert not (folder / "cuts" / "power.html").exists()


def test_python_names_the_extra_and_shows_tables_without_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = onl.benchmark(str(folder / "small.yaml"), str(folder / "short.yaml"))
    for name in BLOCKED:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingError, match=r"pip install 'opennandlab\[plot\]'"):
        result.plot()
    with pytest.raises(ImportError, match=r"pip install 'opennandlab\[plot\]'"):
        result.plot(folder / "a.svg")
    assert "<table>" in result._repr_html_()
    assert "<svg" not in result._repr_html_()
    assert lacking("fit") == ["cma"]
    with pytest.raises(MissingError, match=r"`calibrate` needs cma, which is not installed"):
        need("fit")


def test_an_import_that_failed_is_explained_by_its_extra() -> None:
    """jinja2 imports markupsafe before itself."""
    for name, extra in (("plotly.offline", "plot"), ("markupsafe", "plot"), ("uvicorn", "ui")):
        said = explained(ModuleNotFoundError("", name=name))
        assert f"opennandlab[{extra}]" in str(said)
    assert explained(ModuleNotFoundError("", name="os")) is None


def test_the_extras_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.optional-dependencies]")[2].partition("[dependency-groups]")[
        0
    ]
    tables = re.findall(r"^(\w+) = \[(.*?)\]$", section, re.MULTILINE | re.DOTALL)
    listed = {
        name: {one.lower() for one in re.findall(r'"([A-Za-z0-9]+)[^"]*"', body)}
        for name, body in tables
    }
    for extra, (_, modules) in EXTRAS.items():
        brought = listed[extra] | (listed["plot"] if "opennandlab" in listed[extra] else set())
        assert set(modules) == brought - {"opennandlab"}, extra
