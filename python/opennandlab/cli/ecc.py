"""`ecc`: codes on channels; how often they fail, how fast they decode, and what is possible."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _ecc_dump, _ecc_tables
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._typed import typed, typed_each
from opennandlab.cli.options.code import (
    CODE_HELP,
    Arithmetic,
    ArithmeticOptions,
    ChannelOptions,
    CodeText,
    DecoderOptions,
    DrawnOptions,
    InjectionOptions,
    MeasuredOptions,
    SensingOptions,
    StateOptions,
)
from opennandlab.cli.options.common import ForPrint, Printed, Quiet, Seed, tell_latex
from opennandlab.cli.options.rows import argument, command, flag
from opennandlab.cli.runs import Place, Where

if TYPE_CHECKING:
    from opennandlab.documents.ecc import CodeComparison, CurveDocument
    from opennandlab.ecc.charts import Look
    from opennandlab.ecc.curves import Progress

app = typer.Typer(
    help="Error-correcting codes: failure rates, Shannon limits, LLR tables, speed, files.",
    epilog="Example: opennandlab ecc curve --code bch:m=13,t=8,data_bits=4096 --channel bsc "
    "--points 1e-3,2e-3",
    no_args_is_help=True,
)
app.add_typer(_ecc_dump.app, name="dump")


class EngineName(str, Enum):
    """What runs the frames of Monte Carlo."""

    CPU = "cpu"
    GPU = "gpu"


@dataclass(frozen=True, kw_only=True)
class CurveOptions(MeasuredOptions):
    """Options of `curve`."""

    code: CodeText
    engine: Annotated[
        EngineName,
        flag(
            "gpu: Monte Carlo of LDPC codes with --arithmetic int8 on a CUDA device, in "
            "builds with that feature; the counts equal those of cpu."
        ),
    ] = EngineName.CPU
    output: Annotated[
        Path | None,
        flag(
            "Save the curve to this file every few seconds; an existing file is continued.",
            metavar="FILE",
        ),
    ] = None


@command(
    app,
    example="opennandlab ecc curve --code bch:m=13,t=8,data_bits=4096 --channel bsc --points "
    "1e-3:1e-2:20 --errors 100 --output curve.json",
)
def curve(given: CurveOptions) -> None:
    """Frame error rate over the points of a channel, with 95 % intervals and the method of each."""
    from opennandlab.ecc.curves import CurveInterrupted
    from opennandlab.ecc.curves import curve as measure

    given.refuse_of_bch([given.code])
    terminal.check_outputs({"--output": given.output, "--plot": given.plot})
    look = given.look()
    interrupted = False
    try:
        with _progress(quiet=given.quiet) as watch:
            found = measure(
                given.code,
                given.channel_of(given.sigma_ratio, given.llr_rber),
                given.points,
                **given.measuring(),
                engine=given.engine.value,
                output=given.output,
                progress=watch,
            )
    except CurveInterrupted as interruption:
        found, interrupted = interruption.curve, True
    _draw(found.content, given.plot, look, quiet=given.quiet)
    if given.as_json:
        terminal.emit_json(found.document)
    elif not given.quiet:
        _ecc_tables.show_curve(found.content)
    _end(interrupted=interrupted, output=given.output, quiet=given.quiet)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(MeasuredOptions):
    """Options of `compare`."""

    codes: Annotated[
        list[str],
        argument(CODE_HELP, metavar="CODE CODE...", callback=typed_each, show_default=False),
    ]
    output: Annotated[Path | None, flag("Write the document to this file.", metavar="FILE")] = None


@command(
    app,
    example="opennandlab ecc compare bch:m=14,t=40,data_bits=8192 bch:m=14,t=39,data_bits=8192 "
    "--points 1e-3:4e-3:7",
)
def compare(given: CompareOptions) -> None:
    """Compare codes of equal rate and frame size, with the Shannon limits; others are refused."""
    from opennandlab.base.canonical import readable_json
    from opennandlab.base.files import write_atomically
    from opennandlab.documents.record import plain
    from opennandlab.ecc.comparing import CompareInterrupted, UnlikeCodesError, measure

    given.refuse_of_bch(given.codes)
    terminal.check_outputs({"--output": given.output, "--plot": given.plot})
    look = given.look()
    interrupted = False
    try:
        with _progress(quiet=given.quiet) as watch:
            content = measure(
                given.codes,
                given.channel_of(given.sigma_ratio, given.llr_rber),
                given.points,
                **given.measuring(),
                progress=watch,
            )
    except UnlikeCodesError as refusal:
        terminal.stop(
            terminal.REFUSED,
            f"codes are compared at equal rate and frame: {refusal}",
            as_json=given.as_json,
            reasons=refusal.reasons,
        )
    except CompareInterrupted as interruption:
        content, interrupted = interruption.content, True
    if given.output is not None:
        write_atomically(given.output, (readable_json(plain(content)) + "\n").encode())
    _draw(content, given.plot, look, quiet=given.quiet)
    if given.as_json:
        terminal.emit_json(plain(content))
    elif not given.quiet:
        _ecc_tables.show_comparison(content)
    _end(interrupted=interrupted, output=given.output, quiet=given.quiet)


class Axis(str, Enum):
    """The quantity in the column `x` of a CSV file."""

    RBER = "rber"
    EBN0_DB = "ebn0_db"


@dataclass(frozen=True, kw_only=True)
class PlotOptions(DrawnOptions, ForPrint):
    """Options of `plot`."""

    output: Annotated[Path, flag("Draw into this HTML, SVG, PNG or PDF file.", metavar="FIGURE")]
    files: Annotated[
        list[Path] | None,
        argument(
            "Saved curves and comparisons, and .csv with the columns rber, ebn0_db or x; fer; "
            "and fer_low, fer_high, ber, label.",
            metavar="FILE...",
            show_default=False,
        ),
    ] = None
    where: Where = None
    store: Place = None
    x: Annotated[Axis | None, flag("Meaning of the column `x`, if no file states it.")] = None
    title: Annotated[str, flag("Title of the figure.")] = ""
    quiet: Quiet = False


@command(app, example="opennandlab ecc plot one.json three.json published.csv --output codes.svg")
def plot(given: PlotOptions) -> None:
    """Draw saved and published curves together: FER with 95 % intervals, bounds, and limits.

    With --where, points of a store too, with the counts of their seeds added up.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.ecc.charts import write_all
    from opennandlab.ecc.drawn import of_document, read_curves
    from opennandlab.reports.output import check_ending

    files = given.files or []
    terminal.check_outputs({"--output": given.output}, {str(path): path for path in files})
    check_ending(given.output, "--output")
    look, paper = given.look(given.title), given.page(given.output, "--output")
    if not files and not given.where:
        raise ConfigError(".", "is missing; accepted: files, or --where for a store")
    stored = (
        [of_document(curve) for curve in _stored(given.store, given.where)] if given.where else []
    )
    curves = read_curves(files, None if given.x is None else given.x.value, stored)
    drawn = write_all(curves, given.output, look, paper)
    if not given.quiet:
        if drawn.note:
            terminal.note(drawn.note, style="dim")
        count = f"{len(curves)} curve" + "s" * (len(curves) != 1)
        terminal.note(f"{count} drawn in {given.output}")
        if paper is not None:
            tell_latex([drawn], given.output, paper)


@dataclass(frozen=True, kw_only=True)
class SpeedOptions(ArithmeticOptions, ChannelOptions, Printed):
    """Options of `speed`."""

    code: CodeText
    bit_errors: Annotated[int | None, flag("Wrong bits in each frame; not with --points.")] = None
    points: Annotated[
        str | None, flag("Points of the channel, as for `curve`; not with --bit-errors.")
    ] = None
    seconds: Annotated[float, flag("Time for each point.")] = 3.0
    seed: Seed = 42


@command(app, example="opennandlab ecc speed --code bch:m=13,t=8,data_bits=4096 --bit-errors 8")
def speed(given: SpeedOptions) -> None:
    """Decoding speed of one thread, in 10^6 bits per second of processor time."""
    from opennandlab.ecc.timing import speed as measure

    given.refuse_of_bch([given.code])
    document = measure(
        given.code,
        bit_errors=given.bit_errors,
        points=given.points,
        channel=given.channel_of(),
        decoder=given.chosen_decoder(prefers_int8=True),
        seconds=given.seconds,
        seed=given.seed,
    )
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        _ecc_tables.show_speed(document)


@dataclass(frozen=True, kw_only=True)
class LimitsOptions(Printed):
    """Options of `limits`."""

    rate: Annotated[float, flag("Information bits per sent bit, 0 to 1.")]


@command(app, example="opennandlab ecc limits --rate 0.9")
def limits(given: LimitsOptions) -> None:
    """Shannon limits: the highest RBER at which codes of a rate can exist, by number of reads."""
    from opennandlab.ecc.tables import all_limits

    rows = all_limits(given.rate)
    document = {
        "rate": given.rate,
        "limits": {name: row["rber"] for name, row in rows.items()},
        "ebn0_db": {name: row["ebn0_db"] for name, row in rows.items()},
    }
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        head = ["reads", "RBER at most", "Eb/N0 at least, dB"]
        body = [[name, f"{row['rber']:.6g}", f"{row['ebn0_db']:.3f}"] for name, row in rows.items()]
        terminal.stdout().print(terminal.plain_table(head, body))


@dataclass(frozen=True, kw_only=True)
class NeedOptions(Printed):
    """Options of `need`."""

    rber: Annotated[float | None, flag("Raw bit error rate at the end of life.")] = None
    strength: Annotated[
        int | None,
        flag("Instead of --rber: bits that a codeword corrects; prints the highest RBER for it."),
    ] = None
    uber: Annotated[float, flag("Words that may fail, for each data bit.")] = 1e-15
    step: Annotated[int, flag("Data bytes of a codeword.")] = 1024


@command(app, example="opennandlab ecc need --rber 1e-4 --step 512")
def need(given: NeedOptions) -> None:
    """Least strength of a BCH code, as data sheets state it, that meets a target.

    With --strength, the highest raw bit error rate at which that code meets it.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.ecc.need import limit_rber
    from opennandlab.ecc.need import need as least

    if given.strength is not None and given.rber is None:
        limit = limit_rber(given.strength, given.uber, given.step)
        if given.as_json:
            document = {"step_bytes": given.step, "strength": given.strength}
            terminal.emit_json({**document, "uber": given.uber, "rber_limit": limit})
        elif not given.quiet:
            text = f"{given.strength} bits for each {given.step} bytes keep UBER {given.uber:.3g}"
            terminal.stdout().print(f"{text} up to RBER {limit:.5g}", markup=False)
        return
    if given.rber is None or given.strength is not None:
        raise ConfigError("--rber", "needs one of the two; accepted: --rber P, or --strength T")
    found = least(given.rber, given.uber, given.step)
    if given.as_json:
        terminal.emit_json(
            {
                "step_bytes": given.step,
                "strength": found.strength,
                "m": found.m,
                "parity_bytes": found.parity_bytes,
                "word_failure": found.failure,
                "uber": found.uber,
            }
        )
    elif not given.quiet:
        terminal.stdout().print(
            f"{found.strength} bits for each {given.step} bytes (m {found.m}, "
            f"{found.parity_bytes} bytes of parity): a word fails with {found.failure:.3g}, UBER "
            f"{found.uber:.3g}",
            markup=False,
        )


@dataclass(frozen=True, kw_only=True)
class LlrOptions(SensingOptions, StateOptions, Printed):
    """Options of `llr`."""

    rber: Annotated[float, flag("Raw bit error rate with one read.")]
    reads: Annotated[int, flag("Reads: 1, 3, 7; others with --spacing.")] = 3


@command(app, example="opennandlab ecc llr --rber 5e-3 --reads 3")
def llr(given: LlrOptions) -> None:
    """LLR table: log-likelihood ratio of each pattern of reads (positive: 0 is more likely)."""
    from opennandlab.ecc.tables import HEAD, llr_table

    table = llr_table(
        given.rber,
        given.reads,
        thresholds=given.voltages(),
        spacing=given.spacing,
        sigma_ratio=given.sigma_ratio,
        llr_rber=given.llr_rber,
    )
    if given.as_json:
        terminal.emit_json(table.document)
    elif not given.quiet:
        terminal.stdout().print(terminal.plain_table(HEAD, table.rows()))
        terminal.stdout().print(
            f"mutual information {table.mutual_information:.6f} bit, sigma "
            f"{table.sigma[0]:.5f} (bit 0), {table.sigma[1]:.5f} (bit 1), in units of half the "
            "distance of the states",
            style="dim",
            markup=False,
            soft_wrap=True,
        )


@dataclass(frozen=True, kw_only=True)
class EncodeOptions(InjectionOptions, Printed):
    """Options of `encode`."""

    source: Annotated[Path, argument("File to encode.", metavar="IN")]
    target: Annotated[Path, argument("Container to write.", metavar="OUT")]
    code: CodeText


@command(app, example="opennandlab ecc encode data.bin data.ecc --code bch:m=13,t=8,data_bits=4096")
def encode(given: EncodeOptions) -> None:
    """Encode a file into codewords; errors can be injected."""
    from opennandlab.ecc.container import encode_file

    document = encode_file(
        given.source,
        given.target,
        given.code,
        given.injection(),
    )
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        terminal.stdout().print(
            f"{document['data_bytes']} bytes in {document['words']} words of "
            f"{document['code']}, {document['container_bytes']} bytes, {document['injected']} "
            "errors injected",
            markup=False,
            soft_wrap=True,
        )


@dataclass(frozen=True, kw_only=True)
class DecodeOptions(DecoderOptions, InjectionOptions, Printed):
    """Options of `decode`."""

    source: Annotated[Path, argument("Container of `ecc encode`.", metavar="IN")]
    target: Annotated[Path, argument("File to write.", metavar="OUT")]
    code: Annotated[
        str | None,
        flag("Only for ldpc:FILE codes: the matrix is not in the container.", callback=typed),
    ] = None
    rber: Annotated[float | None, flag("RBER for which LLRs are computed (LDPC).")] = None


@command(app, example="opennandlab ecc decode data.ecc data.bin --inject-ber 1e-3")
def decode(given: DecodeOptions) -> None:
    """Correct the codewords of a container; on failure exit with 1 and write no file."""
    from opennandlab.ecc.container import UncorrectableError, decode_file

    try:
        document = decode_file(
            given.source,
            given.target,
            code=given.code,
            decoder=given.decoder_with(Arithmetic.AUTO, prefers_int8=True),
            injection=given.injection(),
            rber=given.rber,
        )
    except UncorrectableError as failure:
        terminal.stop(terminal.FAILED, str(failure), as_json=given.as_json, counts=failure.document)
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        terminal.stdout().print(
            f"{document['data_bytes']} bytes from {document['words']} words of "
            f"{document['code']}: {document['corrected']} bits corrected, at most "
            f"{document['corrected_max']} in a word",
            markup=False,
            soft_wrap=True,
        )


def _stored(store: Path | None, where: list[str]) -> "list[CurveDocument]":
    """Return the curves of a store."""
    from opennandlab.ecc.pooled import stored_curves
    from opennandlab.store import Store

    with Store.open(store, create=False) as opened:
        return stored_curves(opened, where)


def _draw(
    document: "CurveDocument | CodeComparison", plot: Path | None, look: "Look", *, quiet: bool
) -> None:
    if plot is not None:
        from opennandlab.ecc.charts import write

        note = write(document, plot, look)
        if note and not quiet:
            terminal.note(f"{plot}: {note}", style="dim")


def _end(*, interrupted: bool, output: Path | None, quiet: bool) -> None:
    if output is not None and not quiet:
        terminal.note(f"saved to {output}")
    if interrupted:
        more = ": the same command continues it" if output is not None else ""
        terminal.note(f"interrupted: the curve is partial{more}", style="bold red")
        raise typer.Exit(terminal.INTERRUPTED)


def _progress(
    *, quiet: bool
) -> contextlib.AbstractContextManager[Callable[["Progress"], None] | None]:
    """Return the progress line of a curve."""
    return shown(_line, quiet=quiet)


def _line(state: "Progress") -> str:
    eta = "" if state.eta_s is None else f", about {terminal.duration(state.eta_s)} for this point"
    rate = "" if state.frames_per_s is None else f" ({state.frames_per_s:.0f} frames per s)"
    return (
        f"{state.point_index + 1}/{state.point_count} at {state.x:g}: "
        f"{state.frame_errors} errors in {state.frames} frames, {state.fraction:.0%}"
        f"{eta}{rate}"
    )
