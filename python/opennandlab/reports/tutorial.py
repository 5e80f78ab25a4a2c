"""The drawing of `theory examples --plot`: blocks of pages, step by step.

```text
title, counts
t1          t2          t3        a column for each step: what is done, then its blocks
┌─┬─┬─┬─┐   ┌─┬─┬─┬─┐             blue    copied in this step
│b│c│×│×│   │b│c│W│X│             orange  written by the host in this step
└─┴─┴─┴─┘   └─┴─┴─┴─┘             grey    needed no more; white: free
```
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.base.errors import OutputError
from opennandlab.base.files import write_atomically
from opennandlab.reports.figure import colours, static
from opennandlab.theory.tutorial import (
    COLUMNS,
    PAGES,
    TutorialExample,
    TutorialPage,
    TutorialStep,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".svg", ".png", ".pdf")
# Inches.
CELL, EDGE, LINE = 0.26, 0.1, 0.13
HEAD, NAME, GAP, KEY = 0.34, 0.17, 0.12, 0.3
ROWS = PAGES // COLUMNS
# What a letter of the font takes.
LETTER = 0.056
COPIED, HOST, KEPT, OLD = "#0072b2", "#d55e00", colours.PAPER, colours.GRID
KEYS = (
    (HOST, "W", "written by the host in this step"),
    (COPIED, "b", "copied in this step"),
    (KEPT, "b", "valid"),
    (OLD, "×", "needed no more"),
    (KEPT, "", "free"),
)


def check_ending(path: Path) -> str:
    """Refuse a file name whose ending names no form.

    Raises:
        OutputError: with the endings that are accepted.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise OutputError(f"--plot {path}: accepted file extensions: {', '.join(ENDINGS)}")
    return ending


def write(examples: Sequence[TutorialExample], path: Path) -> None:
    """Draw examples below one another into a file.

    Raises:
        OutputError: when the ending names no form, or the file cannot be written.
    """
    write_atomically(path, content(examples, check_ending(path)))


def content(examples: Sequence[TutorialExample], ending: str) -> bytes:
    """Return the drawing in the form of an ending."""
    from matplotlib.figure import Figure as Sheet

    whole = sum(map(_height, examples)) + KEY
    with static.style("-examples"):
        sheet = Sheet(figsize=(static.WIDTH, whole))
        axes = sheet.add_axes((0, 0, 1, 1))
        # Coordinates are inches from the upper left corner.
        axes.set(xlim=(0, static.WIDTH), ylim=(whole, 0))
        axes.set_axis_off()
        top = 0.0
        for example in examples:
            _example(axes, example, top)
            top += _height(example)
        _keys(axes, top)
        if ending == ".svg":
            return static.svg_of(sheet).encode()
        stream = io.BytesIO()
        about = {"Software": None} if ending == ".png" else {"CreationDate": None}
        sheet.savefig(stream, format=ending[1:], dpi=160, metadata=about)
        return stream.getvalue()


def _wide(example: TutorialExample) -> float:
    """Return the width of a step."""
    return (static.WIDTH - 2 * EDGE) / len(example.steps)


def _texts(example: TutorialExample) -> list[list[str]]:
    """Return the lines above the blocks of each step."""
    letters = int((_wide(example) - GAP) / LETTER)
    found = []
    for step in example.steps:
        lines = [line for text in step.operations for line in textwrap.wrap(text, letters)]
        if step.buffer:
            lines += textwrap.wrap(f"in the buffer: {' '.join(step.buffer)}", letters)
        found.append([*lines, *textwrap.wrap(_counts(step), letters)])
    return found


def _counts(step: TutorialStep) -> str:
    pairs = (("reads", step.reads), ("programs", step.programs), ("erases", step.erases))
    return ", ".join(
        f"{number} {name if number > 1 else name[:-1]}" for name, number in pairs if number
    )


def _height(example: TutorialExample) -> float:
    block = NAME + ROWS * CELL
    text = LINE * (1 + max(map(len, _texts(example))))
    return HEAD + text + len(example.steps[0].blocks) * block + 2 * GAP


def _example(axes: Axes, example: TutorialExample, top: float) -> None:
    total = (
        f"{example.reads} reads, {example.programs} programs, {example.erases} "
        f"erase{'s' if example.erases > 1 else ''} for {example.host_pages} pages of the host: "
        f"WAF {example.waf:g}"
    )
    axes.text(EDGE, top + 0.2, example.title, fontsize=9, weight="bold")
    axes.text(static.WIDTH - EDGE, top + 0.2, total, ha="right", fontsize=8)
    texts = _texts(example)
    below = top + HEAD + LINE * (1 + max(map(len, texts)))
    for number, (step, lines) in enumerate(zip(example.steps, texts, strict=True)):
        left = EDGE + number * _wide(example)
        axes.text(left, top + HEAD + 0.06, step.time, weight="bold")
        for row, line in enumerate(lines, start=1):
            is_count = row == len(lines) and bool(_counts(step))
            axes.text(
                left, top + HEAD + 0.06 + row * LINE, line,
                color=colours.INK if is_count else colours.SOFT,
                weight="bold" if is_count else "normal", fontsize=7,
            )  # fmt: skip
        for place, (name, pages) in enumerate(step.blocks.items()):
            upper = below + place * (NAME + ROWS * CELL)
            axes.text(left, upper + 0.13, name, fontsize=7, color=colours.SOFT)
            for at, page in enumerate(pages):
                row, column = divmod(at, COLUMNS)
                corner = (left + column * CELL, upper + NAME + row * CELL)
                _cell(axes, corner, page)


def _cell(axes: Axes, corner: tuple[float, float], page: TutorialPage) -> None:
    fill = {"host": HOST, "copy": COPIED}.get(page.written, KEPT)
    if page.state == "invalid":
        fill = OLD
    text = {"free": "", "invalid": "×"}.get(page.state, page.data)
    _square(axes, corner, fill, text)


def _square(axes: Axes, corner: tuple[float, float], fill: str, text: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(corner, CELL, CELL, facecolor=fill, edgecolor=colours.FRAME, linewidth=0.6)
    )
    x, y = (side + CELL / 2 for side in corner)
    ink = {HOST: colours.ON_DARK, COPIED: colours.ON_DARK, OLD: colours.SOFT}.get(fill, colours.INK)
    axes.text(x, y + 0.005, text, ha="center", va="center", color=ink, fontsize=8)


def _keys(axes: Axes, top: float) -> None:
    left = EDGE
    for fill, text, words in KEYS:
        _square(axes, (left, top), fill, text)
        axes.text(left + CELL + 0.07, top + CELL / 2 + 0.005, words, va="center", fontsize=7)
        left += CELL + 0.2 + LETTER * len(words)
