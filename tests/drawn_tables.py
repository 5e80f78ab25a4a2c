"""Which numbers of a table do not stand whole on a line, for tests and hostile inputs."""

import io
import re
from collections import Counter

from rich.console import Console

from opennandlab.cli._tables import Cell, Grid

# A number as the tables write one, with all that belongs to it.
NUMBER = re.compile(r"[-+−]?\d{1,3}(?: \d{3})+(?:\.\d+)?(?!\d)|[-+−]?\d[\d.]*(?:e[-+]?\d+)?")


def drawn(table: Grid, width: int) -> list[str]:
    """Return the lines of a table."""
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(table, crop=False)
    return stream.getvalue().splitlines()


def numbers(text: str) -> list[str]:
    return NUMBER.findall(text)


def parts(cell: Cell) -> tuple[str, ...]:
    return cell if isinstance(cell, tuple) else (cell,)


def missing(table: Grid, width: int) -> Counter[str]:
    """Return the numbers of a table that do not stand whole on a line."""
    shown = Counter(found for line in drawn(table, width) for found in numbers(line))
    heads = () if table.is_plain else table.heads
    wanted = Counter(found for head in heads for found in numbers(head))
    texts = (part for cells in table.lines for cell in cells for part in parts(cell))
    wanted.update(found for text in texts for found in numbers(text))
    return wanted - shown
