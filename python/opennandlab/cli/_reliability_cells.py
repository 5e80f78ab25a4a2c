"""`reliability cells`: a chip in the laboratory, and its tables."""

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _reliability_axes as lists
from opennandlab.cli import _reliability_tables as show
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._typed import typed_sets
from opennandlab.cli.options.common import Seed
from opennandlab.cli.options.reliability import Around, StressOptions
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.reliability.cells import CellsCount

CELLS_EXAMPLE = "opennandlab reliability cells --model tlc --pe 3000 --retention-h 8760"


class Data(str, Enum):
    """What pages are written with."""

    RANDOM = "random"
    ZEROS = "zeros"
    ONES = "ones"


@dataclass(frozen=True, kw_only=True)
class CellsOptions(StressOptions):
    """Options of `cells`."""

    wordlines: Annotated[int, flag("Wordlines that are read.")] = 64
    page_bytes: Annotated[int, flag("Bytes of a page.", "--bytes")] = 16_384
    data: Annotated[Data, flag("Data of the pages, before the randomiser.")] = Data.RANDOM
    open_block: Annotated[
        bool, flag("Treat each wordline as the last one programmed in its block.", "--open")
    ] = False
    levels: Annotated[Around, flag("Levels to read at.")] = Around.DEFAULT
    offsets: Annotated[
        str | None,
        flag(
            "Also read with all levels moved by these offsets, in gaps; count the bits that change."
        ),
    ] = None
    valleys: Annotated[bool, flag("Search for the best position of each level.")] = False
    information: Annotated[bool, flag("Information of 1, 3 and 7 reads at these levels.")] = False
    sets: Annotated[
        list[str] | None,
        flag(
            "Change one key of nand.cells: program=two_step, randomiser=none, "
            "tail.student=6. May be repeated.",
            "--set",
            metavar="KEY=VALUE",
            callback=typed_sets,
        ),
    ] = None
    seed: Seed = 42


def cells(given: CellsOptions) -> None:
    """Program wordlines, stress them, read them cell by cell, and count errors.

    Exit code 1 when the errors of a page type differ from the expected ones by more than 4.5
    standard deviations.
    """
    from opennandlab.core.overrides import parse_overrides, set_path
    from opennandlab.reliability.cells import count_cells

    section: dict[str, Any] = {}
    for path, value in parse_overrides(given.sets or []).items():
        set_path(section, path, value)
    total = given.wordlines

    def said(done: int) -> str:
        return f"{done}/{total} wordlines"

    with shown(said, quiet=given.quiet) as watch:
        counted = count_cells(
            given.model,
            **given.stress(),
            wordlines=total,
            page_bytes=given.page_bytes,
            seed=given.seed,
            data=given.data.value,
            open_block=given.open_block,
            levels=given.levels.value,
            offsets=lists.numbers("offsets", given.offsets) if given.offsets else (),
            valleys=given.valleys,
            information=given.information,
            cells=section,
            progress=watch,
        )
    if given.as_json:
        asked = {
            "model": given.model,
            "stress": given.stress(),
            "cells": section,
            "seed": given.seed,
            "page_bytes": given.page_bytes,
            "data": given.data.value,
            "open_block": given.open_block,
            "levels": given.levels.value,
            "offsets": lists.numbers("offsets", given.offsets) if given.offsets else [],
        }
        terminal.emit_json({**asked, **counted.to_dict()})
    elif not given.quiet:
        show.dim(f"{given.model}: {show.words(given.stress())}")
        lines = "1 wordline" if total == 1 else f"{total} wordlines"
        data = "" if given.data is Data.RANDOM else f", data {given.data.value}"
        is_open = ", open block" if given.open_block else ""
        bits = f"{counted.pages[0].bits:.3g} bits of each page type"
        show.dim(f"{lines}, {bits}{data}{is_open}; seed {given.seed}")
        _print(counted, given.offsets)
    if not counted.agrees:
        raise typer.Exit(terminal.FAILED)


def _print(counted: "CellsCount", offsets: str | None) -> None:
    """Print one table for each thing that was asked."""
    from opennandlab.base.words import number

    console = terminal.stdout()
    heads = ("page", "errors", "expected", "z", "rate", "cells", "plain", "ones")
    rows: list[tuple[str, ...]] = [
        (
            page.page_type, number(page.errors), number(page.expected), f"{page.z:+.2f}",
            f"{page.errors / page.bits:.3e}", f"{page.cells:.3e}", f"{page.plain:.3e}",
            f"{page.ones / page.bits:.4f}",
        )
        for page in counted.pages
    ]  # fmt: skip
    console.print(terminal.Grid(heads, rows))
    if offsets:
        console.print()
        at = lists.numbers("offsets", offsets)
        steps = [f"{low:+g} to {high:+g}" for low, high in pairwise(at)]
        rows = [
            (page.page_type, *(f"{count / page.bits:.3e}" for count in page.changed))
            for page in counted.pages
        ]
        console.print(terminal.Grid(("bits that change", *steps), rows))
    if counted.pages[0].information:
        console.print()
        reads = [row[0] for row in counted.pages[0].information]
        columns = [f"{count} {kind}" for count in reads for kind in ("cells", "plain")]
        rows = [
            (page.page_type, *(f"{one:.5f}" for row in page.information for one in row[1:]))
            for page in counted.pages
        ]
        console.print(terminal.Grid(("information, bit", *columns), rows))
    if counted.valleys:
        console.print()
        valley_heads = ("level", "page", "best", "found", "sd", "rate over best", "worst")
        rows = [
            (
                str(one.level), one.page_type, f"{one.best:+.4f}", f"{one.found:+.4f}",
                "-" if one.sd is None else f"{one.sd:.4f}",
                f"{one.excess:+.2%}", f"{one.excess_max:+.2%}",
            )
            for one in counted.valleys
        ]  # fmt: skip
        console.print(terminal.Grid(valley_heads, rows, left=(0, 1)))
