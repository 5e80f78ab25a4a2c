"""`ecc dump`: dumps of raw NAND through the codes of controllers."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import Options, argument, command, flag

if TYPE_CHECKING:
    from collections.abc import Callable

    from opennandlab.cli._progress import Shown
    from opennandlab.ecc.dumps.checking import Checked
    from opennandlab.ecc.dumps.inspecting import Column
    from opennandlab.ecc.dumps.layout import Layout, Range

# Bad words and ranges that a terminal shows; --json has more.
SHOWN_MAX = 10
BYTES_MAX = 1 << 20

app = typer.Typer(
    help="Dumps of raw NAND: inspect, find the code, check, repair, build.",
    epilog="Example: opennandlab ecc dump check dump.bin --page 2048 --oob 64 --dialect linux-bch "
    "--strength 8",
    no_args_is_help=True,
)

Dump = Annotated[Path, argument("Dump with OOB: page, its spare bytes, next page.", metavar="FILE")]


@dataclass(frozen=True, kw_only=True)
class PageOptions(Options):
    """Sizes of a page."""

    page: Annotated[
        int | None, flag("Data bytes of a page, such as 2048.", min=1, max=BYTES_MAX)
    ] = None
    oob: Annotated[int | None, flag("Spare bytes of a page, such as 64.", min=0, max=BYTES_MAX)] = (
        None
    )

    def sizes(self) -> tuple[int, int]:
        """Return both sizes.

        Raises:
            ConfigError: if one is missing.
        """
        from opennandlab.base.errors import ConfigError

        for name, value in (("--page", self.page), ("--oob", self.oob)):
            if value is None:
                raise ConfigError(
                    name, "is missing; accepted: a number of bytes, from the data sheet"
                )
        return self.page or 0, self.oob or 0


@dataclass(frozen=True, kw_only=True)
class LayoutOptions(PageOptions):
    """The code of a dump: a dialect on a page, or a file."""

    dialect: Annotated[
        str | None, flag("Controller or driver that defines the parity: `ecc dump dialects`.")
    ] = None
    layout: Annotated[Path | None, flag("Layout that `ecc dump guess` wrote.", metavar="FILE")] = (
        None
    )
    step: Annotated[int | None, flag("Data bytes of a codeword.", min=1, max=BYTES_MAX)] = None
    strength: Annotated[
        int | None, flag("Bit errors that a codeword corrects.", min=1, max=4096)
    ] = None
    oob_offset: Annotated[
        int | None, flag("First byte of the OOB with parity (pmecc).", min=0, max=BYTES_MAX)
    ] = None

    block_pages: Annotated[
        int | None,
        flag(
            "Pages of an erase block; scramblers depend on the page within it (default: 128).",
            min=1,
            max=1 << 16,
        ),
    ] = None

    def chosen(self) -> "Layout":
        """Return the layout.

        Raises:
            ConfigError: for neither or both, and for what does not fit.
        """
        from opennandlab.base.errors import ConfigError
        from opennandlab.ecc.dumps.dialects import Asked, layout_of
        from opennandlab.ecc.dumps.files import read_layout

        if (self.layout is None) == (self.dialect is None):
            raise ConfigError("--dialect", "is missing; accepted: one of --dialect and --layout")
        if self.layout is not None:
            self.refuse(
                ("page", "oob", "step", "strength", "oob_offset", "block_pages"),
                "with --layout, which has it",
            )
            return read_layout(self.layout)
        asked = Asked(*self.sizes(), self.step, self.strength, self.oob_offset, self.block_pages)
        return layout_of(self.dialect or "", asked)


@dataclass(frozen=True, kw_only=True)
class DialectsOptions(Printed):
    """Options of `dialects`."""


@command(app, example="opennandlab ecc dump dialects")
def dialects(given: DialectsOptions) -> None:
    """List the dialects: code, order of bits, and how well each is confirmed."""
    from opennandlab.ecc.dumps.dialects import DIALECTS

    rows = [
        {
            "name": name,
            "steps": {str(step): list(one) for step, one in found.fields.items()},
            "strengths": list(found.strengths),
            "order": found.order,
            "is_inverted": found.is_inverted,
            "is_scrambled": found.scrambler is not None,
            "is_sampled": found.is_sampled,
            "source": found.source,
        }
        for name, found in DIALECTS.items()
    ]
    if given.as_json:
        terminal.emit_json({"dialects": rows})
        return
    if given.quiet:
        return
    heads = ("dialect", "step", "m", "polynomial", "strength", "order", "inverted", "confirmed by")
    lines = [
        [
            name if at == 0 else "",
            str(step),
            str(m),
            f"{polynomial:#x}",
            " ".join(map(str, found.strengths)) if at == 0 else "",
            found.order if at == 0 else "",
            ("yes" if found.is_inverted else "no") if at == 0 else "",
            ("a sample" if found.is_sampled else "descriptions") if at == 0 else "",
        ]
        for name, found in DIALECTS.items()
        for at, (step, (m, polynomial)) in enumerate(found.fields.items())
    ]
    terminal.stdout().print(terminal.Grid(heads, lines, left=(0, 4, 5, 6, 7)))


@dataclass(frozen=True, kw_only=True)
class InspectOptions(PageOptions, Printed):
    """Options of `inspect`."""

    dump: Dump


@command(app, example="opennandlab ecc dump inspect dump.bin --page 2048 --oob 64")
def inspect(given: InspectOptions) -> None:
    """Count erased pages, and show which columns of the OOB change with the data."""
    from opennandlab.ecc.dumps.inspecting import inspect as look

    found = look(given.dump, *given.sizes())
    if given.as_json:
        columns = [
            {"first": one.first, "bytes": one.count, "value": one.value} for one in found.columns
        ]
        terminal.emit_json(
            {
                "pages": found.pages,
                "erased_pages": found.erased,
                "marked_pages": found.marked,
                "oob_columns": columns,
                "constant_tail_bytes": found.tail,
            }
        )
    elif not given.quiet:
        console = terminal.stdout()
        console.print(
            f"{found.pages} pages, {found.erased} erased; in {found.marked} written ones the "
            "first byte of the OOB is not FF",
            markup=False,
        )
        page = given.sizes()[0]
        lines = [_column(one, page) for one in found.columns]
        console.print(terminal.Grid(("OOB bytes", "count", "content"), lines, left=(0, 2)))


def _column(one: "Column", page: int) -> list[str]:
    first, last = one.first - page, one.first - page + one.count - 1
    name = str(first) if first == last else f"{first} to {last}"
    return [name, str(one.count), "changes" if one.value is None else f"always {one.value:02x}"]


@dataclass(frozen=True, kw_only=True)
class GuessOptions(PageOptions, Printed):
    """Options of `guess`."""

    dump: Dump
    output: Annotated[Path | None, flag("Write the layout to this file.", "-o", metavar="FILE")] = (
        None
    )


@command(app, example="opennandlab ecc dump guess dump.bin --page 2048 --oob 64 -o layout.json")
def guess(given: GuessOptions) -> None:
    """Find the code of a dump; exit code 1 if none is found."""
    import json

    from opennandlab.base.files import write_atomically
    from opennandlab.documents.record import plain
    from opennandlab.ecc.dumps.files import document_of
    from opennandlab.ecc.dumps.guessing import guess as find

    terminal.check_outputs({"--output": given.output}, {"the dump": given.dump})
    found = find(given.dump, *given.sizes())
    if found is None:
        text = (
            "no linear code found: no dialect decodes it, and differences of words have no common "
            "divisor. Are --page and --oob right? A code over symbols (Reed-Solomon) is not looked "
            "for"
        )
        terminal.stop(terminal.FAILED, text, as_json=given.as_json)
    document = plain(document_of(found.layout))
    if given.output is not None:
        content = json.dumps(document, indent=1) + "\n"
        write_atomically(given.output, content.encode())
    if given.as_json:
        terminal.emit_json(
            {
                "layout": document,
                "decoded_share": found.decoded,
                "others": found.others,
                "found_by": found.how,
            }
        )
    elif not given.quiet:
        _show_layout(found.layout)
        console = terminal.stdout()
        console.print(f"{100 * found.decoded:.0f} % of a sample's words decode", markup=False)
        if found.others:
            console.print(f"fit as well: {', '.join(found.others)}", markup=False)
        if given.output is not None:
            console.print(f"wrote {given.output}", markup=False)


def _show_layout(layout: "Layout") -> None:
    first = layout.words[0]
    mask = "inverted, so that erased words are FF" if layout.mask is None else layout.mask.hex()
    rows = [
        ("layout", layout.name),
        (
            "code",
            f"BCH, m {layout.m}, corrects {layout.strength}, polynomial {layout.polynomial:#x}",
        ),
        ("order of bits", layout.order),
        ("mask of parity", "none" if layout.mask and not any(layout.mask) else mask),
        ("words of a page", str(len(layout.words))),
        ("covered by the first", f"bytes {_bytes(list(first.covered))}"),
        ("its parity", f"bytes {_bytes([first.parity])}"),
    ]
    terminal.stdout().print(terminal.Grid(("", ""), rows, left=(0, 1), is_plain=True))


def _bytes(ranges: "list[Range]") -> str:
    from opennandlab.ecc.dumps.files import ranges_text

    return ranges_text(ranges)


@dataclass(frozen=True, kw_only=True)
class CheckOptions(LayoutOptions, Printed):
    """Options of `check`."""

    dump: Dump


@command(app, example="opennandlab ecc dump check dump.bin --layout layout.json")
def check(given: CheckOptions) -> None:
    """Decode all words: corrected bits, bad words, raw bit error rate; exit 1 if one is bad."""
    from opennandlab.ecc.dumps.checking import check as run

    layout = given.chosen()
    with shown(_line, quiet=given.quiet) as watch:
        found = run(given.dump, layout, _pages(watch))
    _show_checked(given, layout, found)


def _pages(watch: "Shown[tuple[int, int]] | None") -> "Callable[[int, int], None]":
    return lambda done, count: None if watch is None else watch((done, count))


def _line(state: tuple[int, int]) -> str:
    done, count = state
    return f"{done} of {count} pages"


def _show_checked(given: Printed, layout: "Layout", found: "Checked") -> None:
    """Print what the decoder found, and end with 1 if words are bad."""
    rate = found.rber()
    document: dict[str, Any] = {
        "layout": layout.name,
        "pages": found.pages,
        "erased_pages": found.erased,
        "words": found.words,
        "erased_words_with_flips": found.blank,
        "corrected_bits": found.flips,
        "words_by_corrected_bits": {str(n): found.corrected[n] for n in sorted(found.corrected)},
        "bad_words": found.bad,
        "bad": [{"page": page, "step": step} for page, step in found.named],
        "rber": None if rate is None else rate[0],
        "rber_95": None if rate is None else list(rate[1:]),
    }
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        _print_checked(layout, found)
    if found.bad:
        raise typer.Exit(terminal.FAILED)


def _print_checked(layout: "Layout", found: "Checked") -> None:
    console = terminal.stdout()
    console.print(
        f"{layout.name}: {found.pages} pages, {found.erased} erased; {found.words} words, "
        f"{found.blank} of them erased with flips",
        markup=False,
    )
    lines = [[str(bits), str(found.corrected[bits])] for bits in sorted(found.corrected)]
    if found.bad:
        lines.append([f"more than {layout.strength}", str(found.bad)])
    console.print(terminal.Grid(("corrected bits", "words"), lines, left=()))
    rate = found.rber()
    if rate is not None:
        text = f"raw bit error rate {rate[0]:.3g}, 95 % {rate[1]:.3g} to {rate[2]:.3g}"
        more = "; bad words have more" if found.bad else ""
        console.print(text + more, markup=False)
    if found.bad:
        named = ", ".join(f"page {page} step {step}" for page, step in found.named[:SHOWN_MAX])
        more = f" and {found.bad - SHOWN_MAX} more" if found.bad > SHOWN_MAX else ""
        console.print(f"bad words: {named}{more}", style="red", markup=False)


@dataclass(frozen=True, kw_only=True)
class RepairOptions(LayoutOptions, Printed):
    """Options of `repair`."""

    dump: Dump
    target: Annotated[Path, argument("File to write.", metavar="OUT")]
    data_only: Annotated[
        bool, flag("Write the data alone, descrambled and without OOB.", "--data-only")
    ] = False


@command(app, example="opennandlab ecc dump repair dump.bin data.bin --layout l.json --data-only")
def repair(given: RepairOptions) -> None:
    """Write a dump with its bit errors corrected; bad words pass unchanged, with exit code 1."""
    from opennandlab.base.files import write_pieces_atomically
    from opennandlab.ecc.dumps.checking import Checked, mended

    terminal.check_outputs(
        {"OUT": given.target}, {"the dump": given.dump, "--layout": given.layout}
    )
    layout = given.chosen()
    found = Checked()
    with shown(_line, quiet=given.quiet) as watch:
        content = mended(
            given.dump,
            layout,
            found,
            _pages(watch),
            data_only=given.data_only,
        )
        write_pieces_atomically(given.target, content)
    _show_checked(given, layout, found)


class Marker(str, Enum):
    """How the bad-block marker of scrambled pages is kept."""

    KERNEL = "kernel"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, kw_only=True)
class BuildOptions(LayoutOptions, Printed):
    """Options of `build`."""

    source: Annotated[Path, argument("Data, without OOB.", metavar="IN")]
    target: Annotated[Path, argument("Dump to write.", metavar="OUT")]
    marker: Annotated[
        Marker,
        flag(
            "Marker of scrambled pages: in the parity, as the kernel writes it, or stored "
            "over its word afterwards."
        ),
    ] = Marker.KERNEL


@command(
    app,
    example="opennandlab ecc dump build root.ubi dump.bin --page 2048 --oob 64 "
    "--dialect linux-bch --strength 8",
)
def build(given: BuildOptions) -> None:
    """Turn data into a dump: add OOB and parity to each page; pages of FF stay erased."""
    from opennandlab.base.files import write_pieces_atomically
    from opennandlab.ecc.dumps.checking import built
    from opennandlab.ecc.dumps.files import check_data

    terminal.check_outputs(
        {"OUT": given.target}, {"the data": given.source, "--layout": given.layout}
    )
    layout = given.chosen()
    size = check_data(given.source)
    overwritten = given.marker is Marker.OVERWRITE
    with shown(_line, quiet=given.quiet) as watch:
        content = built(
            given.source,
            layout,
            _pages(watch),
            is_marker_overwritten=overwritten,
        )
        write_pieces_atomically(given.target, content)
    pages = -(-size // layout.page_bytes)
    if given.as_json:
        terminal.emit_json({"layout": layout.name, "pages": pages, "data_bytes": size})
    elif not given.quiet:
        terminal.stdout().print(
            f"{layout.name}: {pages} pages of {layout.page_bytes} + {layout.oob_bytes} bytes, "
            f"wrote {given.target}",
            markup=False,
        )
