"""The studies: their pages print what they show, and draw the figures that they show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from documents import run_page
from scripts import load_tool

notebooks = load_tool("notebooks")


@pytest.mark.parametrize("page", notebooks.pages(), ids=lambda path: path.stem)
def test_a_study_prints_and_draws_what_its_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = page.read_text(encoding="utf-8")
    complaints = [outcome.complaint for outcome in run_page(text, tmp_path)]
    assert len(complaints) > 4
    found = "\n\n".join(complaint for complaint in complaints if complaint)
    assert not found, f"{found}\n\nto write it anew: python tests/documents.py {page.name}"
    for name in notebooks.figures(text):
        assert (tmp_path / name).read_text().count("<path") > 4
        assert (page.parent / name).exists(), "draw it: python tools/notebooks.py"


@pytest.mark.parametrize("page", notebooks.pages(), ids=lambda path: path.stem)
def test_a_notebook_has_the_cells_of_its_page_and_no_output(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    assert found == json.loads(notebooks.notebook(text))
    assert len(code) == text.count("```python")
    assert all(cell["outputs"] == [] for cell in code)
    assert "# > " not in "".join(line for cell in code for line in cell["source"])


@pytest.mark.parametrize("stem", ["garbage-collection", "ecc-retention", "steady-state"])
def test_each_question_of_a_lab_has_an_answer_and_the_lab_has_none(stem: str) -> None:
    lab, answers = (
        (notebooks.FOLDER / f"lab-{stem}{end}.md").read_text("utf-8") for end in ("", "-answers")
    )
    asked = re.findall(r"\*\*Question (\d+)\.\*\*", lab)
    assert asked == [str(number) for number in range(1, len(asked) + 1)]
    assert re.findall(r"\*\*Question (\d+)\.\*\*", answers) == asked
    assert f"of the {('nine', 'ten')[len(asked) - 9]} questions" in lab
