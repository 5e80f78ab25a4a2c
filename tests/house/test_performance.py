"""What measures speed: ratios of builds that agree, a page of what commands print."""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from places import ROOT


def loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def loads() -> ModuleType:
    return loaded("benches/loads.py")


@pytest.fixture
def performance(tmp_path, monkeypatch) -> ModuleType:
    module = loaded("tools/performance.py")
    monkeypatch.setattr(module, "TEMPLATE", tmp_path / "template.md")
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(module, "moment", lambda: "# then\n")
    monkeypatch.setattr(module, "machine", lambda: "a machine")
    blocks = "".join(f"```text\n$ {line}\n```\n" for line in ("echo first", "echo second"))
    module.TEMPLATE.write_text(f"On {{machine}}.\n{blocks}")
    module.PAGE.write_text("On a machine.\n```text\n$ echo second\n# before\nold\n```\n")
    return module


def sample(value: float, digest: str = "d") -> dict[str, object]:
    return {"value": value, "digest": digest}


def test_the_ratio_of_two_builds_is_that_of_their_medians(loads):
    line, agrees = loads.row("x", [sample(1), sample(2), sample(9)], [sample(4)] * 3)
    assert agrees
    assert line.split() == ["x", "2.0", "4.0", "2.00", "0.44", "to", "4.00"]


def test_builds_with_other_results_have_no_ratio(loads):
    line, agrees = loads.row("x", [sample(1)], [sample(2, "other")])
    assert not agrees
    assert line.split() == ["x", "results", "differ:", "no", "ratio"]


def test_a_page_has_what_its_commands_print(performance):
    text = performance.page([], {"": ""})
    assert text == (
        "On a machine.\n```text\n$ echo first\n# then\nfirst\n```\n"
        "```text\n$ echo second\n# then\nsecond\n```\n"
    )


def test_parts_of_a_page_that_are_not_asked_for_stay(performance, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["performance", "--only", "first"])
    assert performance.main() == 0
    assert "# then\nfirst\n" in performance.PAGE.read_text()
    assert "# before\nold\n" in performance.PAGE.read_text()
    monkeypatch.setattr(performance, "machine", lambda: "another")
    assert performance.main() == 1


def test_what_is_missing_is_left_out_and_what_fails_writes_no_page(performance, monkeypatch):
    assert (
        performance.measured("echo no valgrind >&2; exit 77") == "# then\nleft out: no valgrind\n"
    )
    performance.TEMPLATE.write_text("```text\n$ exit 3\n```\n")
    before = performance.PAGE.read_text()
    monkeypatch.setattr(sys, "argv", ["performance"])
    assert performance.main() == 1
    assert performance.PAGE.read_text() == before


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
def test_the_roof_amplifies_as_the_closed_form_of_cyclic_collection(tmp_path):
    binary = tmp_path / "roof"
    source = ROOT / "benches" / "roof.rs"
    subprocess.run(["rustc", "-O", "--edition", "2021", "-o", binary, source], check=True)
    command = [binary, "262144", "262144", "400000", "1"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    alive = 0.5
    for _ in range(200):  # of a page when its block is the oldest: physical over logical is 1.07
        alive = math.exp(-1.07 * (1 - alive))
    filled, written = said.splitlines()
    assert float(filled.split()[2]) == 1
    assert float(written.split()[2]) == pytest.approx(1 / (1 - alive), rel=0.03)
