"""Makes the notebooks of `examples/notebooks` from their pages, and draws their figures.

Usage: `python tools/notebooks.py` runs the pages and keeps the figures that they show. The
notebooks themselves are written by tools/generate.py, like all that is derived.

A study has one source, the Markdown page: it is read on the site and in a checkout, its
differences can be reviewed, and tests run it and compare what it prints. The notebook next to it is
the same text cut into cells: prose, and code without its output, since whoever opens it runs it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "notebooks"


def pages() -> list[Path]:
    """Return the studies."""
    return sorted(FOLDER.glob("*.md"))


def figures(text: str) -> list[str]:
    """Return the names of the figures that a page shows.

    >>> figures("![What it shows](policies.svg)")
    ['policies.svg']
    """
    return re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)


def notebook(text: str) -> str:
    """Return the notebook of a page, as JSON.

    Args:
        text: Markdown with `python` blocks, whose lines `# > ` show what is printed.
    """
    parts = re.split(r"^```python\n(.*?)^```\n?", text, flags=re.DOTALL | re.MULTILINE)
    cells = [
        _cell(place, part, is_code=place % 2 == 1)
        for place, part in enumerate(parts)
        if part.strip()
    ]
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cell(place: int, part: str, *, is_code: bool) -> dict[str, Any]:
    """Return a cell; what it prints is left out, for it prints it."""
    kept = [line for line in part.strip().splitlines() if not (is_code and line.startswith("# > "))]
    lines = "\n".join(kept).splitlines(keepends=True)
    cell: dict[str, Any] = {
        "cell_type": "code" if is_code else "markdown",
        "id": f"cell-{place}",
        "metadata": {},
        "source": lines,
    }
    return cell | {"execution_count": None, "outputs": []} if is_code else cell


def outputs() -> dict[str, str]:
    """Return the notebooks: path below the root to text."""
    return {
        str(page.with_suffix(".ipynb").relative_to(ROOT)): notebook(page.read_text("utf-8"))
        for page in pages()
    }


def code(text: str) -> str:
    """Return the code of a page, or of a notebook that was made from one."""
    cells = json.loads(notebook(text))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def main() -> int:
    """Run the pages and keep their figures; return the exit status."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", code(text)]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            for name in figures(text):
                shutil.copy(Path(folder) / name, FOLDER / name)
                print(f"{(FOLDER / name).relative_to(ROOT)}: drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
