"""Pages that run: the commands and the Python of a Markdown file, and what the page shows of them.

    ```console          commands after `$ `, each followed by all of its output; `...` stands for
    ```                 any lines, and `# exit 2` after the output for that exit code
    ```python           runs; its `# > ` lines are what it prints, by `print` in the same order
    ```yaml small.yaml  becomes that file; any language will do

Blocks of a page share one folder and one Python session, in order. Space, and the lines of tables,
do not count, so that a table may be cut to what matters. `python tests/documents.py README.md`
writes the present output into the page where it differs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

ANY = "..."
PROMPT = "$ "
PRINTED = "# > "
# Of the interpreter that runs the tests.
COMMANDS = Path(sys.executable).parent

# Lines that only a slow machine prints: how far a run, a test, a suite or a code is.
PROGRESS = re.compile(
    r"^(quick|check-data) · "
    r"|M I/O per s$|errors in \d+ frames, |/\d+ cases  .* left| · [^·]* left( · |$)"
)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Args:
        language: First word after the fence.
        file: Second word: the file that the block becomes.
        start: Index of its first line in the page, after the fence.
        lines: Its lines.
    """

    language: str
    file: str
    start: int
    lines: list[str]


@dataclass(frozen=True)
class Step:
    """Something that runs, and the output shown for it.

    Args:
        source: A command, or Python.
        shown: Lines of output.
        start: Index of the first shown line in the page.
        exit_code: Of a command.
    """

    source: str
    shown: list[str]
    start: int
    exit_code: int = 0


@dataclass(frozen=True)
class Outcome:
    """A step that was run."""

    step: Step
    output: list[str]
    exit_code: int

    @property
    def complaint(self) -> str | None:
        """What is not as the page says; None if all is."""
        if self.exit_code != self.step.exit_code:
            text = "\n".join(self.output)
            return (
                f"{self.step.source}\nexit code {self.exit_code}, not {self.step.exit_code}\n{text}"
            )
        if not agrees(self.step.shown, self.output):
            shown, output = "\n".join(self.step.shown), "\n".join(self.output)
            return f"{self.step.source}\nshown:\n{shown}\nprinted:\n{output}"
        return None


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    block: Block | None = None
    for index, line in enumerate(text.splitlines()):
        if block is None and line.startswith("```"):
            language, _, file = line.removeprefix("```").partition(" ")
            block = Block(language, file.strip(), index + 1, [])
        elif block is not None and line == "```":
            yield block
            block = None
        elif block is not None:
            block.lines.append(line)


def commands(block: Block) -> Iterator[Step]:
    """Yield the commands of a `console` block."""
    step: Step | None = None
    for index, line in enumerate(block.lines, block.start):
        exits = re.fullmatch(r"# exit (\d+)", line)
        if line.startswith(PROMPT):
            if step is not None:
                yield step
            step = Step(line.removeprefix(PROMPT), [], index + 1)
        elif step is None:
            raise ValueError(f"line {index + 1}: output without a command")
        elif exits:
            step = Step(step.source, step.shown, step.start, int(exits.group(1)))
        elif line.startswith("> ") and step.source.endswith("\\") and not step.shown:
            step = Step(f"{step.source}\n{line.removeprefix('> ')}", [], index + 1)
        else:
            step.shown.append(line)
    if step is not None:
        yield step


def run_page(text: str, folder: Path, commands_in: Path = COMMANDS) -> Iterator[Outcome]:
    """Run a page in a folder, step by step.

    Args:
        text: Of the page.
        folder: Where it runs.
        commands_in: Folder whose commands go before all others.
    """
    session: dict[str, Any] = {"__name__": "page"}
    for block in blocks(text):
        if block.file:
            (folder / block.file).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        elif block.language == "console":
            for step in commands(block):
                yield _run_command(step, folder, commands_in)
        elif block.language == "python":
            yield from _run_python(block, session, folder)


def _run_command(step: Step, folder: Path, commands_in: Path) -> Outcome:
    path = os.pathsep.join([str(commands_in), str(COMMANDS), os.environ.get("PATH", "")])
    # Tables are as wide as where nobody says how wide the terminal is.
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    # A person sees the tables first and the notes after them.
    done = subprocess.run(
        ["bash", "-c", step.source],
        cwd=folder,
        env=environment | {"PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    notes = [line for line in done.stderr.splitlines() if not PROGRESS.search(line)]
    return Outcome(step, done.stdout.splitlines() + notes, done.returncode)


def _run_python(block: Block, session: dict[str, Any], folder: Path) -> Iterator[Outcome]:
    """Run the code up to each group of `# > ` lines, which is what it must print."""
    code: list[str] = []
    shown: list[str] = []
    for index, line in enumerate([*block.lines, ""], block.start):
        if line.startswith(PRINTED):
            shown.append(line.removeprefix(PRINTED))
            continue
        if shown:
            yield _run_code(Step("\n".join(code), shown, index - len(shown)), session, folder)
            code, shown = [], []
        code.append(line)
    yield _run_code(Step("\n".join(code), shown, 0), session, folder)


def _run_code(step: Step, session: dict[str, Any], folder: Path) -> Outcome:
    printed = io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(step.source, "<page>", "exec"), session)  # noqa: S102 (our own pages)
    finally:
        os.chdir(before)
    return Outcome(step, printed.getvalue().splitlines(), 0)


def agrees(shown: list[str], output: list[str]) -> bool:
    """Tell whether the shown lines are the output, `...` standing for any lines or any text.

    >>> agrees(["a  1", "...", "z ..."], ["a 1 ", "b", "c", "z 26"])
    True
    >>> agrees(["..."], []), agrees(["a"], ["a", "b"])
    (True, False)
    """
    runs: list[list[re.Pattern[str]]] = [[]]
    for line in (plain for line in shown if (plain := _plain(line))):
        if line == ANY:
            runs.append([])
        else:
            runs[-1].append(re.compile(re.escape(line).replace(re.escape(ANY), ".*")))
    left = [plain for line in output if (plain := _plain(line))]
    if len(runs) == 1:
        return len(left) == len(runs[0]) and _matches(runs[0], left)
    first, *middle, last = runs
    if len(left) < len(first) + len(last) or not _matches(first, left):
        return False
    end = len(left) - len(last)
    if not _matches(last, left[end:]):
        return False
    place = len(first)
    for run in middle:
        while place + len(run) <= end and not _matches(run, left[place:]):
            place += 1
        place += len(run)
    return place <= end


def _matches(patterns: list[re.Pattern[str]], lines: list[str]) -> bool:
    """Tell whether the first lines are as the patterns say."""
    return all(p.fullmatch(line) for p, line in zip(patterns, lines, strict=False))


def _plain(line: str) -> str:
    return re.sub(r"[\s━┃╇│─┼]+", " ", line).strip()


def same_drawing(one: str, other: str) -> bool:
    """Tell whether two SVG drawings are the same.

    Of another version of the drawing library only the texts are compared: it may place things a
    little differently. Names of elements do not count: the library hashes them from places whose
    last digits, which are not written, depend on the processor.
    """
    if _renamed(one) == _renamed(other):
        return True
    made = [re.findall(r'data-by="([^"]*)"', text) for text in (one, other)]
    texts = [re.findall(r"<text[^>]*>([^<]*)</text>", text) for text in (one, other)]
    return made[0] != made[1] and texts[0] == texts[1]


def _renamed(drawing: str) -> str:
    """Return a drawing whose elements are named by their order."""
    names = dict.fromkeys(re.findall(r'id="([pm][0-9a-f]{10})"', drawing))
    order = {name: str(place) for place, name in enumerate(names)}
    return re.sub("|".join(order) or "$^", lambda name: order[name[0]], drawing)


def refreshed(outcome: Outcome) -> list[str]:
    """Return what the page should show: all the output, or as much of it as before."""
    output = [line.rstrip() for line in outcome.output]
    if ANY not in outcome.step.shown:
        return output
    lines: list[str] = []
    place = 0
    for line in outcome.step.shown:
        same = [at for at in range(place, len(output)) if _label(output[at]) == _label(line)]
        if line == ANY or not same:
            lines.append(line)
            continue
        # Rows of one label differ by their numbers: the one that is most alike. A line of a table
        # has neither, and is the next one.
        found = max(same, key=lambda at: _likeness(line, output[at])) if _plain(line) else same[0]
        lines.append(output[found])
        place = found + 1
    return lines


def _likeness(one: str, other: str) -> float:
    """Return how alike two lines are: 1 if they are equal."""
    return SequenceMatcher(None, _plain(one), _plain(other)).ratio()


def _label(line: str) -> str:
    """Return the words of a line, without its numbers."""
    return re.sub(r"[-+]?\d[\d.,e ]*|%", "", _plain(line).replace("-", "")).strip()


def refresh(page: Path) -> int:
    """Write the present output into a page; return how many steps differed."""
    lines = page.read_text(encoding="utf-8").splitlines()
    changed = 0
    with tempfile.TemporaryDirectory() as folder:
        outcomes = list(run_page("\n".join(lines), Path(folder)))
    for outcome in outcomes:
        # A command that is not found, or fails as it should not, leaves the page as it was.
        if outcome.exit_code != outcome.step.exit_code:
            raise SystemExit(f"{page}: {outcome.complaint}")
    # From the end, so that the places of the steps before stay right.
    for outcome in reversed(outcomes):
        step = outcome.step
        if outcome.complaint is None or not step.start:
            continue
        changed += 1
        mark = PRINTED if lines[step.start].startswith(PRINTED) else ""
        new = [f"{mark}{line}" for line in refreshed(outcome)]
        lines[step.start : step.start + len(step.shown)] = new
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return changed


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(f"{name}: {refresh(Path(name))} steps written anew\n")
