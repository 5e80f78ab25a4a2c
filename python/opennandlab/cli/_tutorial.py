"""What `theory examples` prints: each step with its operations and pages, then the counts."""

from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.theory.tutorial import TutorialExample, TutorialPage, TutorialStep

SOURCE = (
    "L. Smith, NAND Flash Solid State Storage Performance and Capability: an In-depth Look, "
    "SNIA tutorial, 2009, examples 1 to 3"
)
LEGEND = "x: data that is needed no more · -: free page · *: written in this step"


def document(examples: "tuple[TutorialExample, ...]") -> dict[str, Any]:
    """Return the examples as one document."""
    return {"source": SOURCE, "examples": [_example(example) for example in examples]}


def _example(example: "TutorialExample") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "name": example.name,
        "title": example.title,
        "steps": [asdict(step) for step in example.steps],
        "totals": {
            "reads": example.reads,
            "programs": example.programs,
            "erases": example.erases,
            "host_pages": example.host_pages,
            "copied_pages": example.copied_pages,
            "waf": example.waf,
        },
    }


def show(examples: "tuple[TutorialExample, ...]") -> None:
    """Print the examples, then their counts in a table."""
    console = terminal.stdout()
    console.print(f"{SOURCE}\n{LEGEND}", style="dim", markup=False, soft_wrap=True)
    for example in examples:
        console.print(f"\n{example.title}", style="bold", markup=False)
        for step in example.steps:
            for line in _lines(step):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()
    rows = []
    for example in examples:
        counts = (example.reads, example.programs, example.erases, example.host_pages)
        numbers = (*counts, example.copied_pages, f"{example.waf:g}")
        rows.append([example.title, *map(str, numbers)])
    heads = ["", "reads", "programs", "erases", "of the host", "copied", "WAF"]
    console.print(terminal.plain_table(heads, rows))


def _lines(step: "TutorialStep") -> list[str]:
    """Return the lines of a step: what is done, and its blocks next to each other."""
    from opennandlab.theory.tutorial import COLUMNS, PAGES

    counted = [
        f"{number} {name if number > 1 else name[:-1]}"
        for name, number in (
            ("reads", step.reads),
            ("programs", step.programs),
            ("erases", step.erases),
        )
        if number
    ]
    count = f"   [{', '.join(counted)}]" if counted else ""
    lines = [f"{step.time}  {'; '.join(step.operations)}{count}"]
    if step.buffer:
        lines.append(f"    buffer: {' '.join(step.buffer)}")
    width = 4 * COLUMNS
    lines.append("    " + "  ".join(f"{name:{width}}" for name in step.blocks).rstrip())
    for first in range(0, PAGES, COLUMNS):
        rows = [
            "".join(f"{_cell(page):4}" for page in pages[first : first + COLUMNS])
            for pages in step.blocks.values()
        ]
        lines.append("    " + "  ".join(rows).rstrip())
    return lines


def _cell(page: "TutorialPage") -> str:
    if page.state != "valid":
        return "-" if page.state == "free" else "x"
    return f"{page.data}*" if page.written else page.data
