"""`ecc`: codes on channels; how often they fail, how fast they decode, and what is possible."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _ecc_tables
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._ecc_options import (
    CODE_HELP,
    Algorithm,
    Arithmetic,
    ArithmeticOf,
    AxisOf,
    Ber,
    ChannelText,
    CodeText,
    Errors,
    Fixed,
    InjectBer,
    InjectErrors,
    Iterations,
    LimitsOf,
    LlrRber,
    MaxFrames,
    Method,
    MethodOf,
    Offset,
    Plot,
    Points,
    Scale,
    Seed,
    SigmaRatio,
    Spacing,
    Target,
    Threads,
    Thresholds,
    Zero,
)
from opennandlab.cli._progress import shown
from opennandlab.cli._terminal import Json, Quiet
from opennandlab.cli._typed import typed, typed_each
from opennandlab.cli.runs import Place, Where

if TYPE_CHECKING:
    from opennandlab.documents.ecc import CodeComparison, CurveDocument
    from opennandlab.ecc.channels import Channel as ChannelOf
    from opennandlab.ecc.charts import Look
    from opennandlab.ecc.codes import Decoder as DecoderOf
    from opennandlab.ecc.container import Injection
    from opennandlab.ecc.curves import Progress

app = typer.Typer(
    help="Error-correcting codes: failure rates, Shannon limits, LLR tables, speed, files.",
    epilog="Example: opennandlab ecc curve --code bch:m=13,t=8,data_bits=4096 --channel bsc "
    "--points 1e-3,2e-3",
    no_args_is_help=True,
)


@app.command(
    epilog="Example: opennandlab ecc curve --code bch:m=13,t=8,data_bits=4096 --channel bsc "
    "--points 1e-3:1e-2:20 --errors 100 --output curve.json"
)
def curve(
    code: CodeText,
    points: Points,
    channel: ChannelText = "bsc",
    errors: Errors = 100,
    max_frames: MaxFrames = 1e6,
    method: MethodOf = Method.AUTO,
    decoder: Algorithm = "layered-nms",
    iterations: Iterations = 20,
    scale: Scale = 0.75,
    offset: Offset = 0.5,
    arithmetic: ArithmeticOf = Arithmetic.AUTO,
    fixed_iterations: Fixed = False,
    thresholds: Thresholds = None,
    spacing: Spacing = None,
    sigma_ratio: SigmaRatio = 1.0,
    llr_rber: LlrRber = None,
    seed: Seed = 42,
    zero_codeword: Zero = False,
    threads: Threads = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Save the curve to this file every few seconds; an existing file is continued.",
        ),
    ] = None,
    plot: Plot = None,
    limits: LimitsOf = True,
    ber: Ber = False,
    target: Target = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Frame error rate over the points of a channel, with 95 % intervals and the method of each."""
    with terminal.guard(as_json=as_json):
        from opennandlab.ecc.curves import CurveInterrupted
        from opennandlab.ecc.curves import curve as measure

        settings = _decoder(decoder, iterations, scale, offset, arithmetic, fixed=fixed_iterations)
        where = _channel(channel, thresholds, spacing, sigma_ratio, llr_rber)
        _check_outputs(output, plot)
        look = _look(limits=limits, ber=ber, target=target)
        interrupted = False
        try:
            with _progress(quiet=quiet) as watch:
                found = measure(
                    code,
                    where,
                    points,
                    decoder=settings,
                    errors=errors,
                    max_frames=_frames(max_frames),
                    method=method.value,
                    seed=seed,
                    zero_codeword=zero_codeword,
                    threads=threads,
                    output=output,
                    progress=watch,
                )
        except CurveInterrupted as interruption:
            found, interrupted = interruption.curve, True
        _draw(found.content, plot, look, quiet=quiet)
        if as_json:
            terminal.emit_json(found.document)
        elif not quiet:
            _ecc_tables.show_curve(found.content)
        _end(interrupted=interrupted, output=output, quiet=quiet)


@app.command(
    epilog="Example: opennandlab ecc compare bch:m=14,t=40,data_bits=8192 "
    "bch:m=14,t=39,data_bits=8192 --points 1e-3:4e-3:7"
)
def compare(
    codes: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE CODE...", callback=typed_each, help=CODE_HELP, show_default=False
        ),
    ],
    points: Points,
    channel: ChannelText = "bsc",
    errors: Errors = 100,
    max_frames: MaxFrames = 1e6,
    method: MethodOf = Method.AUTO,
    decoder: Algorithm = "layered-nms",
    iterations: Iterations = 20,
    scale: Scale = 0.75,
    offset: Offset = 0.5,
    arithmetic: ArithmeticOf = Arithmetic.AUTO,
    fixed_iterations: Fixed = False,
    thresholds: Thresholds = None,
    spacing: Spacing = None,
    sigma_ratio: SigmaRatio = 1.0,
    llr_rber: LlrRber = None,
    seed: Seed = 42,
    zero_codeword: Zero = False,
    threads: Threads = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write the document to this file."),
    ] = None,
    plot: Plot = None,
    limits: LimitsOf = True,
    ber: Ber = False,
    target: Target = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare codes of equal rate and frame size, with the Shannon limits; others are refused."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.canonical import readable_json
        from opennandlab.base.files import write_atomically
        from opennandlab.documents.record import plain
        from opennandlab.ecc.comparing import CompareInterrupted, UnlikeCodesError, measure

        settings = _decoder(decoder, iterations, scale, offset, arithmetic, fixed=fixed_iterations)
        where = _channel(channel, thresholds, spacing, sigma_ratio, llr_rber)
        _check_outputs(output, plot)
        look = _look(limits=limits, ber=ber, target=target)
        interrupted = False
        try:
            with _progress(quiet=quiet) as watch:
                content = measure(
                    codes,
                    where,
                    points,
                    decoder=settings,
                    progress=watch,
                    errors=errors,
                    max_frames=_frames(max_frames),
                    method=method.value,
                    seed=seed,
                    zero_codeword=zero_codeword,
                    threads=threads,
                )
        except UnlikeCodesError as refusal:
            terminal.stop(
                terminal.REFUSED,
                f"codes are compared at equal rate and frame: {refusal}",
                as_json=as_json,
                reasons=refusal.reasons,
            )
        except CompareInterrupted as interruption:
            content, interrupted = interruption.content, True
        if output is not None:
            write_atomically(output, (readable_json(plain(content)) + "\n").encode())
        _draw(content, plot, look, quiet=quiet)
        if as_json:
            terminal.emit_json(plain(content))
        elif not quiet:
            _ecc_tables.show_comparison(content)
        _end(interrupted=interrupted, output=output, quiet=quiet)


@app.command(
    epilog="Example: opennandlab ecc plot one.json three.json published.csv --output codes.svg"
)
def plot(
    output: Annotated[
        Path, typer.Option("--output", metavar="FIGURE", help="This HTML, SVG, PNG or PDF file.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Saved curves and comparisons, and .csv with the columns rber, ebn0_db or x; fer; "
            "and fer_low, fer_high, ber, label.",
            show_default=False,
        ),
    ] = None,
    where: Where = None,
    store: Place = None,
    limits: LimitsOf = True,
    ber: Ber = False,
    target: Target = None,
    x: Annotated[
        AxisOf | None,
        typer.Option("--x", help="What the column `x` is, where all files leave it open."),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="Title of the figure.")] = "",
    quiet: Quiet = False,
) -> None:
    """Draw saved and published curves together: FER with 95 % intervals, bounds, and limits.

    With --where also points of a store, seeds added up.
    """
    with terminal.guard(as_json=False):
        from opennandlab.base.errors import ConfigError
        from opennandlab.ecc.charts import write_all
        from opennandlab.ecc.drawn import of_document, read_curves
        from opennandlab.reports.output import check_ending

        given = files or []
        terminal.check_outputs({"--output": output}, {str(path): path for path in given})
        check_ending(output, "--output")
        look = _look(limits=limits, ber=ber, target=target, title=title)
        if not given and not where:
            raise ConfigError("FILE", "is missing; accepted: files, or --where for a store")
        stored = [of_document(curve) for curve in _stored(store, where)] if where else []
        curves = read_curves(given, None if x is None else x.value, stored)
        note = write_all(curves, output, look)
        if not quiet:
            if note:
                terminal.note(note, style="dim")
            count = f"{len(curves)} curve" + "s" * (len(curves) != 1)
            terminal.note(f"{count} drawn in {output}")


@app.command(
    epilog="Example: opennandlab ecc speed --code bch:m=13,t=8,data_bits=4096 --bit-errors 8"
)
def speed(
    code: CodeText,
    bit_errors: Annotated[
        int | None, typer.Option("--bit-errors", help="Wrong bits in each frame, or")
    ] = None,
    points: Annotated[
        str | None, typer.Option("--points", help="points of the channel, as for `curve`.")
    ] = None,
    channel: ChannelText = "bsc",
    seconds: Annotated[float, typer.Option("--seconds", help="Time for each point.")] = 3.0,
    decoder: Algorithm = "layered-nms",
    iterations: Iterations = 20,
    scale: Scale = 0.75,
    offset: Offset = 0.5,
    arithmetic: ArithmeticOf = Arithmetic.AUTO,
    fixed_iterations: Fixed = False,
    thresholds: Thresholds = None,
    spacing: Spacing = None,
    seed: Seed = 42,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Decoding speed of one thread, in 10^6 bits per second of processor time."""
    with terminal.guard(as_json=as_json):
        from opennandlab.ecc.timing import speed as measure

        settings = _decoder(
            decoder, iterations, scale, offset, arithmetic, fixed=fixed_iterations, is_fast=True
        )
        where = _channel(channel, thresholds, spacing, 1.0, None)
        document = measure(
            code,
            bit_errors=bit_errors,
            points=points,
            channel=where,
            decoder=settings,
            seconds=seconds,
            seed=seed,
        )
        if as_json:
            terminal.emit_json(document)
        elif not quiet:
            _ecc_tables.show_speed(document)


@app.command(epilog="Example: opennandlab ecc limits --rate 0.9")
def limits(
    rate: Annotated[float, typer.Option("--rate", help="Information bits per sent bit, 0 to 1.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Shannon limits: the highest RBER at which codes of a rate can exist, by number of reads."""
    with terminal.guard(as_json=as_json):
        from opennandlab.ecc.tables import all_limits

        rows = all_limits(rate)
        document = {
            "rate": rate,
            "limits": {name: row["rber"] for name, row in rows.items()},
            "ebn0_db": {name: row["ebn0_db"] for name, row in rows.items()},
        }
        if as_json:
            terminal.emit_json(document)
        elif not quiet:
            head = ["reads", "RBER at most", "Eb/N0 at least, dB"]
            body = [
                [name, f"{row['rber']:.6g}", f"{row['ebn0_db']:.3f}"] for name, row in rows.items()
            ]
            terminal.stdout().print(terminal.plain_table(head, body))


@app.command(epilog="Example: opennandlab ecc llr --rber 5e-3 --reads 3")
def llr(
    rber: Annotated[float, typer.Option("--rber", help="Raw bit error rate with one read.")],
    reads: Annotated[
        int, typer.Option("--reads", help="Reads: 1, 3, 7; others with --spacing.")
    ] = 3,
    thresholds: Thresholds = None,
    spacing: Spacing = None,
    sigma_ratio: SigmaRatio = 1.0,
    llr_rber: LlrRber = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """LLR table: log-likelihood ratio of each pattern of reads (positive: 0 is more likely)."""
    with terminal.guard(as_json=as_json):
        from opennandlab.ecc.tables import HEAD, llr_table

        table = llr_table(
            rber,
            reads,
            thresholds=_numbers(thresholds),
            spacing=spacing,
            sigma_ratio=sigma_ratio,
            llr_rber=llr_rber,
        )
        if as_json:
            terminal.emit_json(table.document)
        elif not quiet:
            terminal.stdout().print(terminal.plain_table(HEAD, table.rows()))
            terminal.stdout().print(
                f"mutual information {table.mutual_information:.6f} bit, sigma "
                f"{table.sigma[0]:.5f} (bit 0), {table.sigma[1]:.5f} (bit 1), in units of half the "
                "distance of the states",
                style="dim",
                markup=False,
                soft_wrap=True,
            )


@app.command(
    epilog="Example: opennandlab ecc encode data.bin data.ecc --code bch:m=13,t=8,data_bits=4096"
)
def encode(
    source: Annotated[Path, typer.Argument(metavar="IN", help="File to encode.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Container to write.")],
    code: CodeText,
    inject_ber: InjectBer = None,
    inject_errors: InjectErrors = None,
    seed: Seed = 42,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Encode a file into codewords; errors can be injected."""
    with terminal.guard(as_json=as_json):
        from opennandlab.ecc.container import encode_file

        document = encode_file(source, target, code, _injection(inject_ber, inject_errors, seed))
        if as_json:
            terminal.emit_json(document)
        elif not quiet:
            terminal.stdout().print(
                f"{document['data_bytes']} bytes in {document['words']} words of "
                f"{document['code']}, {document['container_bytes']} bytes, {document['injected']} "
                "errors injected",
                markup=False,
                soft_wrap=True,
            )


@app.command(epilog="Example: opennandlab ecc decode data.ecc data.bin --inject-ber 1e-3")
def decode(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Container of `ecc encode`.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    code: Annotated[
        str | None,
        typer.Option(
            "--code",
            callback=typed,
            help="Only for ldpc:FILE codes: the matrix is not in the container.",
        ),
    ] = None,
    inject_ber: InjectBer = None,
    inject_errors: InjectErrors = None,
    seed: Seed = 42,
    rber: Annotated[
        float | None, typer.Option("--rber", help="RBER for which LLRs are computed (LDPC).")
    ] = None,
    decoder: Algorithm = "layered-nms",
    iterations: Iterations = 20,
    scale: Scale = 0.75,
    offset: Offset = 0.5,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Correct the codewords of a container; on failure exit with 1 and write no file."""
    with terminal.guard(as_json=as_json):
        from opennandlab.ecc.container import UncorrectableError, decode_file

        settings = _decoder(decoder, iterations, scale, offset, Arithmetic.AUTO, is_fast=True)
        try:
            document = decode_file(
                source,
                target,
                code=code,
                decoder=settings,
                injection=_injection(inject_ber, inject_errors, seed),
                rber=rber,
            )
        except UncorrectableError as failure:
            terminal.stop(terminal.FAILED, str(failure), as_json=as_json, counts=failure.document)
        if as_json:
            terminal.emit_json(document)
        elif not quiet:
            terminal.stdout().print(
                f"{document['data_bytes']} bytes from {document['words']} words of "
                f"{document['code']}: {document['corrected']} bits corrected, at most "
                f"{document['corrected_max']} in a word",
                markup=False,
                soft_wrap=True,
            )


def _decoder(
    algorithm: str,
    iterations: int,
    scale: float,
    offset: float,
    arithmetic: Arithmetic,
    *,
    fixed: bool = False,
    is_fast: bool = False,
) -> "DecoderOf":
    """Return the decoder; where speed is meant, `auto` is the arithmetic of controllers."""
    from opennandlab.ecc.codes import Decoder

    number = arithmetic.value
    if arithmetic is Arithmetic.AUTO:
        is_min_sum = algorithm.endswith(("-nms", "-oms"))
        number = "int8" if is_fast and is_min_sum else "float32"
    return Decoder(algorithm, iterations, scale, offset, number, stop=not fixed)


def _channel(
    text: str,
    thresholds: str | None,
    spacing: float | None,
    sigma_ratio: float,
    llr_rber: float | None,
) -> "ChannelOf":
    from opennandlab.ecc.channels import Channel

    return Channel.parse(
        text,
        thresholds=_numbers(thresholds),
        spacing=spacing,
        sigma_ratio=sigma_ratio,
        llr_rber=llr_rber,
    )


def _numbers(text: str | None) -> list[float] | None:
    from opennandlab.ecc.channels import parse_number

    return None if text is None else [parse_number("thresholds", part) for part in text.split(",")]


def _frames(value: float) -> int:
    from opennandlab.base.errors import ConfigError

    # Written 1e6 more often than 1000000, so it arrives as a float.
    if not 1.0 <= value <= 1e15 or value != int(value):
        raise ConfigError("max_frames", f"{value:g} is refused; accepted: 1 to 1e15, whole")
    return int(value)


def _injection(rber: float | None, errors: int | None, seed: int) -> "Injection":
    from opennandlab.ecc.container import Injection

    return Injection(rber, errors, seed)


def _check_outputs(output: Path | None, plot: Path | None) -> None:
    terminal.check_outputs({"--output": output, "--plot": plot})


def _look(*, limits: bool, ber: bool, target: float | None, title: str = "") -> "Look":
    from opennandlab.ecc.charts import Look

    return Look(limits, ber, target, title)


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
    """Return what shows how far a curve is."""
    return shown(_line, quiet=quiet)


def _line(state: "Progress") -> str:
    eta = "" if state.eta_s is None else f", about {terminal.duration(state.eta_s)} for this point"
    rate = "" if state.frames_per_s is None else f" ({state.frames_per_s:.0f} frames per s)"
    return (
        f"{state.point_index + 1}/{state.point_count} at {state.x:g}: "
        f"{state.frame_errors} errors in {state.frames} frames, {state.fraction:.0%}"
        f"{eta}{rate}"
    )
