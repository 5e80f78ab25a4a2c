"""`theory`: closed forms alone; only `--measure` simulates, for comparison with them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from opennandlab.base.words import number
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._theory_waf import WafOptions, waf_of
from opennandlab.cli.options.common import ForPrint, Printed, Seed, draw
from opennandlab.cli.options.rows import argument, command, flag

app = typer.Typer(
    help="Evaluate closed forms: write amplification, block maps, caches, bandwidth, scaling, "
    "queueing, endurance; and examples page by page.",
    epilog="Example: opennandlab theory waf -c tlc_standard",
    no_args_is_help=True,
)


class Cell(str, Enum):
    """Dies of the 2009 SNIA tutorial."""

    SLC = "slc"
    MLC = "mlc"


class Link(str, Enum):
    """Host links."""

    IDEAL = "ideal"
    SATA2 = "sata2"
    PCIE1X4 = "pcie1x4"
    PCIE4X4 = "pcie4x4"


# An earlier name of the same link: four lanes of revision 1.1.
LINK_ALIASES = {"pcie4x4": "pcie1x4"}


class Scheme(str, Enum):
    """Maps of blocks, which merge."""

    BLOCK = "block"
    BAST = "bast"
    FAST = "fast"


class LogReplacement(str, Enum):
    """Which log block BAST merges."""

    FIFO = "fifo"
    LRU = "lru"


class Example(str, Enum):
    """Worked examples of the 2009 SNIA tutorial."""

    READ_ERASE_MODIFY_WRITE = "read_erase_modify_write"
    READ_MODIFY_WRITE = "read_modify_write"
    GARBAGE_COLLECTION = "garbage_collection"


Row = tuple[str, object, str]


@contextmanager
def _usage() -> Iterator[None]:
    """What a formula refuses is the user's to mend."""
    from opennandlab.base.errors import ConfigError

    try:
        yield
    except ValueError as error:
        raise ConfigError(".", str(error)) from error


@command(
    app,
    example="opennandlab theory waf -c tlc_standard",
)
@_usage()
def waf(given: WafOptions) -> None:
    """Write amplification in steady state (mean field: many blocks)."""
    given.check()
    found = waf_of(given)
    _answer(found.parameters, [("waf", found.value, "x")], given, found.note)


@dataclass(frozen=True, kw_only=True)
class BandwidthOptions(ForPrint, Printed):
    """Options of `bandwidth`."""

    cell: Annotated[Cell | None, flag("Die of the 2009 SNIA tutorial; default both, or slc.")] = (
        None
    )
    dies: Annotated[int | None, flag("One point: dies of the device; default 1.", min=1)] = None
    read_pct: Annotated[
        float | None,
        flag("One point: share of bytes that are read, %; default 100.", min=0, max=100),
    ] = None
    link: Annotated[Link, flag("One point: host link. A sweep shows sata2 and pcie1x4.")] = (
        Link.IDEAL
    )
    pages_per_block: Annotated[
        int | None, flag("Pages in a block; default as in the tutorial.", min=1)
    ] = None
    cached: Annotated[bool, flag("Cache register: array and bus work at once.")] = False
    channels: Annotated[
        int | None, flag("Number of buses that the dies share; default: one per die.", min=1)
    ] = None
    duplex: Annotated[bool, flag("PCIe: transfer reads and writes independently.")] = False
    measure: Annotated[bool, flag("Also simulate the sweep, up to 32 dies.")] = False
    plot: Annotated[
        Path | None, flag("Plot the sweep into an HTML, SVG, PNG or PDF file.", metavar="FILE")
    ] = None
    seed: Seed = 42


@command(
    app,
    example="opennandlab theory bandwidth --cell slc --dies 8 --read-pct 50 --link sata2",
)
@_usage()
def bandwidth(given: BandwidthOptions) -> None:
    """Bandwidth against die count, in MB/s of 10^6 bytes (SNIA NAND performance tutorial, 2009).

    Without --dies and --read-pct: the sweep over 1 to 128 dies, five mixes, both links, root mean
    squares, and the dies that fill each link.
    """
    from opennandlab.cli import _bandwidth as tables

    if not given.measure:
        given.refuse(["seed"], "on formulas; accepted: with --measure")
    if given.cached and given.measure:
        raise ValueError("the simulator has no cache register: give --cached or --measure")
    registers = "cache" if given.cached else "single"
    directions = "apart" if given.duplex else "shared"
    is_point = given.dies is not None or given.read_pct is not None or given.link is not Link.IDEAL
    paper = given.page(given.plot)
    if is_point:
        if given.plot is not None:
            raise ValueError("--plot draws the sweep: leave out --dies, --read-pct and --link")
        name = (given.cell or Cell.SLC).value
        die = next(iter(tables.chosen_variants(name, given.pages_per_block, registers).values()))
        point = tables.PointOptions(
            cell=name,
            dies=given.dies or 1,
            read_pct=100.0 if given.read_pct is None else given.read_pct,
            link=LINK_ALIASES.get(given.link.value, given.link.value),
            channels=given.channels,
            directions=directions,
        )
        parameters, rows = tables.point_rows(die, point, given.seed if given.measure else None)
        _answer(parameters, rows, given)
        return
    terminal.check_outputs({"--plot": given.plot})
    variants = tables.chosen_variants(
        given.cell and given.cell.value, given.pages_per_block, registers
    )
    document = tables.sweep_document(variants, given.channels, directions)
    if given.measure:
        tables.measure_sweep(document, variants, given.seed)
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        tables.show_sweep(document)
    if given.plot is not None:
        from opennandlab.reports.bandwidth import report

        draw(report(document), given.plot, paper, is_told=not given.quiet)
        if not given.quiet:
            terminal.note(f"drawn in {given.plot}")


@dataclass(frozen=True, kw_only=True)
class QueueingOptions(Printed):
    """Options of `queueing`."""

    dies: Annotated[int, flag("Number of dies, each with its own channel.", min=1)] = 1
    service_us: Annotated[float, flag("Time that a request occupies its die, µs.")] = 60
    iops: Annotated[float | None, flag("Open loop: Poisson arrivals per second, whole device.")] = (
        None
    )
    queue_depth: Annotated[int | None, flag("Closed loop: requests outstanding.", min=1)] = None


@command(
    app,
    example="opennandlab theory queueing --dies 8 --service-us 60 --iops 50000",
)
@_usage()
def queueing(given: QueueingOptions) -> None:
    """Latency and throughput of random requests: M/D/1 dies, or the exact closed-loop chain."""
    from opennandlab.theory.closed_loop import busy_dies
    from opennandlab.theory.queueing import independent_dies

    parameters: dict[str, Any] = {"dies": given.dies, "service_us": given.service_us}
    rows: list[Row]
    if given.iops is not None and given.queue_depth is None:
        queue = independent_dies(given.iops, given.dies, given.service_us)
        parameters["iops"] = given.iops
        rows = [
            ("load", queue.load, "of each die"),
            ("response_us_mean", queue.response_us_mean, "µs"),
            ("response_us_p50", queue.response_us_quantile(0.5), "µs"),
            ("response_us_p90", queue.response_us_quantile(0.9), "µs"),
            ("response_us_p99", queue.response_us_quantile(0.99), "µs"),
            ("response_us_p999", queue.response_us_quantile(0.999), "µs"),
        ]
    elif given.queue_depth is not None and given.iops is None:
        busy = busy_dies(given.dies, given.queue_depth)
        parameters["queue_depth"] = given.queue_depth
        rows = [
            ("busy_dies", busy, "dies"),
            ("iops", busy / given.service_us * 1e6, "1/s"),
            ("latency_us_mean", given.queue_depth * given.service_us / busy, "µs"),
        ]
    else:
        raise ValueError("give either --iops (open loop) or --queue-depth (closed loop)")
    _answer(parameters, rows, given)


@dataclass(frozen=True, kw_only=True)
class ArrayOptions(Printed):
    """Options of `array`."""

    level: Annotated[int, flag("RAID level: 0, 5, 6 or 10.")]
    members: Annotated[int, flag("Number of drives.", min=1)]
    iops: Annotated[float, flag("Small random reads a second of one drive.")]
    write_iops: Annotated[
        float | None, flag("Small random writes a second of one drive; default: as --iops.")
    ] = None
    stalled: Annotated[
        float | None, flag("Share of the time in which a drive does not answer, 0 to 1.")
    ] = None


@command(app, example="opennandlab theory array --level 5 --members 4 --iops 142")
@_usage()
def array(given: ArrayOptions) -> None:
    """Small random requests a second of an array of drives, by five mixes of reads and writes."""
    from opennandlab.theory.array import MIXES, array_iops, busy_members, stall_share
    from opennandlab.theory.scaling import rms

    writes = given.iops if given.write_iops is None else given.write_iops
    rates = [array_iops(given.level, given.members, mix, given.iops, writes) for mix in MIXES]
    rows: list[Row] = [
        (f"iops_{100 * mix:.0f}_{100 - 100 * mix:.0f}", rate, "1/s")
        for mix, rate in zip(MIXES, rates, strict=True)
    ]
    rows.append(("iops_rms", rms(rates), "1/s"))
    parameters = {"level": given.level, "members": given.members, "iops": given.iops}
    parameters["write_iops"] = writes
    if given.stalled is not None:
        parameters["stalled"] = given.stalled
        reads, all_of_write = busy_members(given.level)
        rows.append(("stalled_reads", stall_share(reads, given.stalled), "of requests"))
        rows.append(("stalled_writes", stall_share(all_of_write, given.stalled), "of requests"))
    _answer(parameters, rows, given)


@dataclass(frozen=True, kw_only=True)
class EnduranceOptions(Printed):
    """Options of `endurance`."""

    raw_tb: Annotated[float, flag("Capacity of all good blocks, TB.")]
    pe_cycles: Annotated[float, flag("Rated program/erase cycles of a block.")]
    waf: Annotated[float, flag("Pages programmed per host page.", min=1)]
    wear_efficiency: Annotated[float, flag("Mean / maximum erase count at the end of life.")] = 1.0
    user_tb: Annotated[float | None, flag("Capacity that the host addresses, TB; gives DWPD.")] = (
        None
    )
    years: Annotated[float, flag("Warranty time for DWPD.")] = 5.0


@command(
    app,
    example="opennandlab theory endurance --raw-tb 1.024 --pe-cycles 3000 --waf 2 --user-tb 0.96",
)
@_usage()
def endurance(given: EnduranceOptions) -> None:
    """Bytes that the host can write in a drive's life, and drive writes per day."""
    from opennandlab.theory.endurance import drive_writes_per_day, tbw_bytes

    written = tbw_bytes(given.raw_tb * 1e12, given.pe_cycles, given.waf, given.wear_efficiency)
    rows: list[Row] = [("tbw_tb", written / 1e12, "TB")]
    parameters: dict[str, Any] = {
        "raw_tb": given.raw_tb,
        "pe_cycles": given.pe_cycles,
        "waf": given.waf,
        "wear_efficiency": given.wear_efficiency,
    }
    if given.user_tb is not None:
        parameters |= {"user_tb": given.user_tb, "years": given.years}
        rows.append(
            (
                "dwpd",
                drive_writes_per_day(written, given.user_tb * 1e12, given.years),
                "per day",
            )
        )
    _answer(parameters, rows, given)


@dataclass(frozen=True, kw_only=True)
class ScalingOptions(Printed):
    """Options of `scaling`."""

    rates: Annotated[
        list[str] | None,
        flag(
            "Measured rates of UNITS units at 100/0, 75/25, 50/50, 25/75 and 0/100, MB/s or "
            "IOPS. May be repeated; the smallest number of units is the base.",
            metavar="UNITS:R1,R2,R3,R4,R5",
        ),
    ] = None
    cell: Annotated[Cell, flag("Without --rates: die of the tutorial.")] = Cell.SLC
    dies: Annotated[int, flag("Without --rates: dies of a unit.", min=1)] = 8
    units: Annotated[str, flag("Without --rates: units, comma-separated.")] = "1,2,4,8,16"
    measure: Annotated[
        str | None,
        flag(
            "Simulate units, five mixes and 0.5 to 1024 KiB in one sweep: a unit is one die of "
            "this device on its own channel, all behind one host.",
            metavar="PRESET|FILE",
        ),
    ] = None
    output: Annotated[
        Path | None,
        flag("With --measure: scaling.json, scaling.html and a CSV.", "-o", metavar="DIR"),
    ] = None
    seed: Seed = 42
    link: Annotated[Link, flag("Without --rates: one link that all units share.")] = Link.IDEAL
    watts: Annotated[float | None, flag("Mean power of one unit; gives RMS per watt.")] = None
    config: Annotated[
        str | None,
        flag(
            "Device of a unit, instead of --watts: power follows from the rates (MB/s), "
            "nand.energy and controller.power.",
            "-c",
            metavar="PRESET|FILE",
        ),
    ] = None
    page_bytes: Annotated[int, flag("Page size, for rates against block size.", min=1)] = 4000


@command(
    app,
    example="opennandlab theory scaling --cell slc --dies 8 --units 1,2,4,8 --link sata2",
)
@_usage()
def scaling(given: ScalingOptions) -> None:
    """Root mean square of five mixes: how it scales, collisions, block sizes at 75/25."""
    from opennandlab.cli import _scaling as tables

    if given.measure is not None:
        unheard = ["rates", "cell", "dies", "link", "watts", "config", "page_bytes"]
        given.refuse(unheard, "with --measure; accepted: --units, --seed, --output")
        tables.measured_sweep(given.measure, given.units, given.seed, given.output, given)
        return
    given.refuse(["output", "seed"], "on formulas; accepted: with --measure")
    energy = None
    if given.config is not None:
        from opennandlab.core.config import described_device

        if given.watts is not None:
            raise ValueError("--watts and --config both give the power; accepted: one of them")
        energy = tables.device_energy(
            described_device(given.config)[0], None if given.rates else given.dies
        )
    limits = None
    if given.rates:
        unheard = ["cell", "dies", "units", "link", "page_bytes"]
        given.refuse(unheard, "with --rates, which are measured; accepted: without them")
        measured = tables.parse_rates(given.rates)
    else:
        chosen = LINK_ALIASES.get(given.link.value, given.link.value)
        measured, page_mb_s, cap = tables.tutorial_rates(
            given.cell.value, given.dies, given.units, chosen
        )
        limits = (page_mb_s, cap)
    document = tables.scaling_document(measured, given.watts, given.page_bytes, limits, energy)
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        tables.show_scaling(document)


@dataclass(frozen=True, kw_only=True)
class MappingOptions(Printed):
    """Options of `mapping`."""

    scheme: Annotated[Scheme, flag("How the drive maps.")] = Scheme.FAST
    data_blocks: Annotated[
        int, flag("Full blocks of data, of one die; all schemes but block.", min=1)
    ] = 256
    log_blocks: Annotated[int, flag("Log blocks, of one die; all schemes but block.", min=1)] = 8
    pages_per_block: Annotated[int, flag("Pages in a block.", min=1)] = 64
    replacement: Annotated[LogReplacement, flag("bast: which log block is merged.")] = (
        LogReplacement.FIFO
    )


@command(
    app,
    example="opennandlab theory mapping --scheme fast --data-blocks 256 --log-blocks 8 "
    "--pages-per-block 64",
)
@_usage()
def mapping(given: MappingOptions) -> None:
    """Write amplification of drives that map blocks and merge, under random page writes."""
    from opennandlab.theory.mapping import waf_bast, waf_block_mapping, waf_fast

    parameters: dict[str, Any] = {
        "scheme": given.scheme.value,
        "pages_per_block": given.pages_per_block,
    }
    if given.scheme is Scheme.BLOCK:
        value = waf_block_mapping(given.pages_per_block)
    else:
        parameters |= {"data_blocks": given.data_blocks, "log_blocks": given.log_blocks}
        if given.scheme is Scheme.BAST:
            chosen = given.replacement.value
            parameters["replacement"] = chosen
            value = waf_bast(
                given.data_blocks,
                given.log_blocks,
                given.pages_per_block,
                "lru" if given.replacement is LogReplacement.LRU else "fifo",
            )
        else:
            value = waf_fast(given.data_blocks, given.log_blocks, given.pages_per_block)
    _answer(parameters, [("waf", value, "x")], given)


@dataclass(frozen=True, kw_only=True)
class CacheOptions(Printed):
    """Options of `cache`."""

    pages: Annotated[int, flag("Entries of the whole map: logical pages.", min=1)]
    entries: Annotated[int, flag("Entries that the cache holds; 4 bytes each in a DFTL.", min=0)]
    zipf: Annotated[float, flag("Popularity is rank to the power of minus this; 0: uniform.")] = 0.0


@command(app, example="opennandlab theory cache --pages 65536 --entries 4096 --zipf 0.99")
@_usage()
def cache(given: CacheOptions) -> None:
    """Hit rate of a cached map that drops the least recently used entry (Che 2002)."""
    from opennandlab.theory.caching import che_hit_rate_zipf

    rate = che_hit_rate_zipf(given.pages, given.zipf, given.entries)
    parameters = {"pages": given.pages, "entries": given.entries, "zipf": given.zipf}
    unit = "of lookups"
    rows: list[Row] = [("hit_rate", rate, unit), ("miss_rate", 1.0 - rate, unit)]
    _answer(parameters, rows, given)


@dataclass(frozen=True, kw_only=True)
class ExamplesOptions(Printed):
    """Options of `examples`."""

    name: Annotated[
        Example | None, argument("One of them; default all three.", show_default=False)
    ] = None
    plot: Annotated[Path | None, flag("Draw them into an SVG or PNG file.", metavar="FILE")] = None


@command(
    app,
    example="opennandlab theory examples garbage_collection",
)
def examples(given: ExamplesOptions) -> None:
    """Overwrite pages in three ways, page by page (worked examples of the SNIA tutorial, 2009)."""
    from opennandlab.cli import _tutorial as tables
    from opennandlab.theory.tutorial import worked_example, worked_examples

    if given.plot is not None:
        from opennandlab.reports import tutorial as drawing

        terminal.check_outputs({"--plot": given.plot})
        drawing.check_ending(given.plot)
    chosen = worked_examples() if given.name is None else (worked_example(given.name.value),)
    if given.as_json:
        terminal.emit_json(tables.document(chosen))
    elif not given.quiet:
        tables.show(chosen)
    if given.plot is not None:
        drawing.write(chosen, given.plot)
        if not given.quiet:
            terminal.note(f"drawn in {given.plot}")


def _answer(parameters: dict[str, Any], rows: list[Row], given: Printed, note: str = "") -> None:
    """Print what was asked, its answers, and a note on them; as JSON, or as lines."""
    if given.as_json:
        noted = {"note": note} if note else {}
        values = {name: value for name, value, _ in rows}
        terminal.emit_json({"parameters": parameters, **values, **noted})
        return
    if given.quiet:
        return

    console = terminal.stdout()
    console.print(
        ", ".join(f"{name} {number(value)}" for name, value in parameters.items()),
        style="dim",
        markup=False,
        soft_wrap=True,
    )
    lines = []
    for name, value, unit in rows:
        is_known = value is not None or name != "waf"
        lines.append([name, f"{number(value)} {unit}" if is_known else "none (no closed form)"])
    console.print(terminal.Grid(("", ""), lines, left=(0, 1), is_plain=True))
    if note:
        console.print(note, markup=False, soft_wrap=True)
