"""`theory`: closed forms alone; only `bandwidth --measure` simulates, to stand beside them."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet

app = typer.Typer(
    help="Evaluate closed forms: write amplification, block maps, caches, bandwidth, scaling, "
    "queueing, endurance; and examples page by page.",
    epilog="Example: opennandlab theory waf --policy greedy --pages-per-block 256 "
    "--spare-factor 0.0654",
    no_args_is_help=True,
)


class Policy(str, Enum):
    """Victim policies with a closed form."""

    GREEDY = "greedy"
    FIFO = "fifo"
    RANDOM = "random"
    D_CHOICES = "d_choices"


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


class Target(str, Enum):
    """Addresses that trims go to."""

    ANY = "any"
    MAPPED = "mapped"


Row = tuple[str, object, str]


@app.command(
    epilog="Example: opennandlab theory waf --policy greedy --pages-per-block 256 "
    "--spare-factor 0.0654"
)
def waf(
    context: typer.Context,
    policy: Annotated[
        Policy, typer.Option(help="How garbage collection chooses its victim.")
    ] = Policy.GREEDY,
    d: Annotated[float, typer.Option("--d", min=1, help="Candidates of d_choices.")] = 10,
    pages_per_block: Annotated[int, typer.Option(min=1, help="Pages in a block.")] = 256,
    spare_factor: Annotated[
        float | None,
        typer.Option(help="(T - U) / T, 0 to 1; use the effective spare factor of a drive."),
    ] = None,
    over_provisioning: Annotated[
        float | None, typer.Option(help="(T - U) / U, instead of the spare factor.")
    ] = None,
    hot_fraction: Annotated[
        float | None, typer.Option(help="Share of the pages that are hot, 0 to 1.")
    ] = None,
    hot_share: Annotated[
        float | None, typer.Option(help="Share of the writes that go to hot pages, 0 to 1.")
    ] = None,
    trim_pct: Annotated[
        float, typer.Option(min=0, max=100, help="Share of requests that trim, %.")
    ] = 0.0,
    trim_target: Annotated[Target, typer.Option(help="Addresses that trims go to.")] = Target.ANY,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write amplification in steady state (mean field: many blocks)."""
    with terminal.guard(as_json=as_json), _usage():
        from opennandlab.theory.waf import Traffic, predict_waf

        if policy is not Policy.D_CHOICES:
            terminal.refuse_given(context, ["d"], "on this policy; accepted: with d_choices")
        if not trim_pct:
            terminal.refuse_given(context, ["trim_target"], "without trims; accepted: --trim-pct")
        spare = _spare_factor(spare_factor, over_provisioning)
        if (hot_fraction is None) != (hot_share is None):
            raise ValueError("--hot-fraction and --hot-share belong together")
        skew: dict[str, Any] = {}
        if hot_fraction is not None:
            skew = {"pattern": "hot_cold", "fraction": hot_fraction, "share": hot_share}
        traffic = Traffic(**skew, trim_share=trim_pct / 100, trim_target=trim_target.value)
        value = predict_waf(policy.value, {"d": d}, pages_per_block, spare, traffic)
        parameters = {
            "policy": policy.value,
            **({"d": d} if policy is Policy.D_CHOICES else {}),
            "pages_per_block": pages_per_block,
            "spare_factor": spare,
            "over_provisioning": spare / (1 - spare),
            **({"hot_fraction": hot_fraction, "hot_share": hot_share} if skew else {}),
            **({"trim_pct": trim_pct, "trim_target": trim_target.value} if trim_pct else {}),
        }
        _answer(parameters, [("waf", value, "x")], as_json=as_json, quiet=quiet)


@app.command(
    epilog="Example: opennandlab theory bandwidth --measure --plot bandwidth.html; one point: "
    "opennandlab theory bandwidth --cell slc --dies 8 --read-pct 50 --link sata2"
)
def bandwidth(
    context: typer.Context,
    cell: Annotated[
        Cell | None, typer.Option(help="Die of the 2009 SNIA tutorial; default both, or slc.")
    ] = None,
    dies: Annotated[
        int | None, typer.Option(min=1, help="One point: dies of the device; default 1.")
    ] = None,
    read_pct: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, help="One point: share of bytes that are read, %; default 100."
        ),
    ] = None,
    link: Annotated[
        Link, typer.Option(help="One point: host link. A sweep shows sata2 and pcie1x4.")
    ] = Link.IDEAL,
    pages_per_block: Annotated[
        int | None, typer.Option(min=1, help="Pages in a block; default as in the tutorial.")
    ] = None,
    cached: Annotated[
        bool, typer.Option("--cached", help="Cache register: array and bus work at once.")
    ] = False,
    channels: Annotated[
        int | None,
        typer.Option(min=1, help="Number of buses that the dies share; default: one per die."),
    ] = None,
    duplex: Annotated[
        bool, typer.Option("--duplex", help="PCIe: transfer reads and writes independently.")
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Also simulate the sweep, up to 32 dies.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Plot the sweep into an HTML, SVG, PNG or PDF file."
        ),
    ] = None,
    seed: terminal.Seed = 42,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Bandwidth against die count, in MB/s of 10^6 bytes (SNIA NAND performance tutorial, 2009).

    Without --dies and --read-pct: the sweep over 1 to 128 dies, five mixes, both links, root mean
    squares, and the dies that fill each link.
    """
    with terminal.guard(as_json=as_json), _usage():
        from opennandlab.cli import _bandwidth as tables

        if not measure:
            terminal.refuse_given(context, ["seed"], "on formulas; accepted: with --measure")
        if cached and measure:
            raise ValueError("the simulator has no cache register: give --cached or --measure")
        registers = "cache" if cached else "single"
        directions = "apart" if duplex else "shared"
        is_point = dies is not None or read_pct is not None or link is not Link.IDEAL
        if is_point:
            if plot is not None:
                raise ValueError("--plot draws the sweep: leave out --dies, --read-pct and --link")
            name = (cell or Cell.SLC).value
            die = next(iter(tables.chosen_variants(name, pages_per_block, registers).values()))
            given = tables.PointOptions(
                cell=name,
                dies=dies or 1,
                read_pct=100.0 if read_pct is None else read_pct,
                link=LINK_ALIASES.get(link.value, link.value),
                channels=channels,
                directions=directions,
            )
            parameters, rows = tables.point_rows(die, given, seed if measure else None)
            _answer(parameters, rows, as_json=as_json, quiet=quiet)
            return
        terminal.check_outputs({"--plot": plot})
        variants = tables.chosen_variants(cell and cell.value, pages_per_block, registers)
        document = tables.sweep_document(variants, channels, directions)
        if measure:
            tables.measure_sweep(document, variants, seed)
        if as_json:
            terminal.emit_json(document)
        elif not quiet:
            tables.show_sweep(document)
        if plot is not None:
            from opennandlab.reports.bandwidth import write

            write(document, plot)
            if not quiet:
                terminal.note(f"drawn in {plot}")


@app.command(
    epilog="Example: opennandlab theory queueing --dies 8 --service-us 60 --iops 50000; "
    "or closed loop: --dies 8 --service-us 60 --queue-depth 32"
)
def queueing(
    dies: Annotated[
        int, typer.Option(min=1, help="Number of dies, each with its own channel.")
    ] = 1,
    service_us: Annotated[
        float, typer.Option(help="Time that a request occupies its die, µs.")
    ] = 60,
    iops: Annotated[
        float | None, typer.Option(help="Open loop: Poisson arrivals per second, whole device.")
    ] = None,
    queue_depth: Annotated[
        int | None, typer.Option(min=1, help="Closed loop: requests outstanding.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Latency and throughput of random requests: M/D/1 dies, or the exact closed-loop chain."""
    with terminal.guard(as_json=as_json), _usage():
        from opennandlab.theory.closed_loop import busy_dies
        from opennandlab.theory.queueing import independent_dies

        parameters: dict[str, Any] = {"dies": dies, "service_us": service_us}
        rows: list[Row]
        if iops is not None and queue_depth is None:
            queue = independent_dies(iops, dies, service_us)
            parameters["iops"] = iops
            rows = [
                ("load", queue.load, "of each die"),
                ("response_us_mean", queue.response_us_mean, "µs"),
                ("response_us_p50", queue.response_us_quantile(0.5), "µs"),
                ("response_us_p90", queue.response_us_quantile(0.9), "µs"),
                ("response_us_p99", queue.response_us_quantile(0.99), "µs"),
                ("response_us_p999", queue.response_us_quantile(0.999), "µs"),
            ]
        elif queue_depth is not None and iops is None:
            busy = busy_dies(dies, queue_depth)
            parameters["queue_depth"] = queue_depth
            rows = [
                ("busy_dies", busy, "dies"),
                ("iops", busy / service_us * 1e6, "1/s"),
                ("latency_us_mean", queue_depth * service_us / busy, "µs"),
            ]
        else:
            raise ValueError("give either --iops (open loop) or --queue-depth (closed loop)")
        _answer(parameters, rows, as_json=as_json, quiet=quiet)


@app.command(
    epilog="Example: opennandlab theory endurance --raw-tb 1.024 --pe-cycles 3000 --waf 2 "
    "--user-tb 0.96"
)
def endurance(
    raw_tb: Annotated[float, typer.Option(help="Capacity of all good blocks, TB.")],
    pe_cycles: Annotated[float, typer.Option(help="Rated program/erase cycles of a block.")],
    waf: Annotated[float, typer.Option(min=1, help="Pages programmed per host page.")],
    wear_efficiency: Annotated[
        float, typer.Option(help="Mean / maximum erase count at the end of life.")
    ] = 1.0,
    user_tb: Annotated[
        float | None, typer.Option(help="Capacity that the host addresses, TB; gives DWPD.")
    ] = None,
    years: Annotated[float, typer.Option(help="Warranty time for DWPD.")] = 5.0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Bytes that the host can write in a drive's life, and drive writes per day."""
    with terminal.guard(as_json=as_json), _usage():
        from opennandlab.theory.endurance import drive_writes_per_day, tbw_bytes

        written = tbw_bytes(raw_tb * 1e12, pe_cycles, waf, wear_efficiency)
        rows: list[Row] = [("tbw_tb", written / 1e12, "TB")]
        parameters: dict[str, Any] = {
            "raw_tb": raw_tb,
            "pe_cycles": pe_cycles,
            "waf": waf,
            "wear_efficiency": wear_efficiency,
        }
        if user_tb is not None:
            parameters |= {"user_tb": user_tb, "years": years}
            rows.append(("dwpd", drive_writes_per_day(written, user_tb * 1e12, years), "per day"))
        _answer(parameters, rows, as_json=as_json, quiet=quiet)


@app.command(
    epilog="Example: opennandlab theory scaling --cell slc --dies 8 --units 1,2,4,8 --link sata2; "
    "measured: --rates 1:530,310,260,240,230 --rates 2:1010,560,470,440,430 --watts 6"
)
def scaling(
    rates: Annotated[
        list[str] | None,
        typer.Option(
            "--rates",
            metavar="UNITS:R1,R2,R3,R4,R5",
            help="Measured rates of UNITS units at 100/0, 75/25, 50/50, 25/75 and 0/100, MB/s "
            "or IOPS. May be repeated; the smallest number of units is the base.",
        ),
    ] = None,
    cell: Annotated[Cell, typer.Option(help="Without --rates: die of the tutorial.")] = Cell.SLC,
    dies: Annotated[int, typer.Option(min=1, help="Without --rates: dies of a unit.")] = 8,
    units: Annotated[
        str, typer.Option("--units", help="Without --rates: units, comma-separated.")
    ] = "1,2,4,8,16",
    link: Annotated[
        Link, typer.Option(help="Without --rates: one link that all units share.")
    ] = Link.IDEAL,
    watts: Annotated[
        float | None, typer.Option(help="Mean power of one unit; gives RMS per watt.")
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            metavar="PRESET|FILE",
            help="A unit's device: its power follows from the rates, in MB/s, and from nand.energy "
            "and controller.power, instead of --watts.",
        ),
    ] = None,
    page_bytes: Annotated[
        int, typer.Option(min=1, help="Page, for rates against block size.")
    ] = 4000,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Root mean square of five mixes: how it scales, collisions, block sizes at 75/25."""
    with terminal.guard(as_json=as_json), _usage():
        from opennandlab.cli import _scaling as tables

        energy = None
        if config is not None:
            from opennandlab.core.config import described_device

            if watts is not None:
                raise ValueError("--watts and --config both give the power; accepted: one of them")
            energy = tables.device_energy(described_device(config)[0], None if rates else dies)
        limits = None
        if rates:
            measured = tables.parse_rates(rates)
        else:
            chosen = LINK_ALIASES.get(link.value, link.value)
            measured, page_mb_s, cap = tables.tutorial_rates(cell.value, dies, units, chosen)
            limits = (page_mb_s, cap)
        document = tables.scaling_document(measured, watts, page_bytes, limits, energy)
        if as_json:
            terminal.emit_json(document)
        elif not quiet:
            tables.show_scaling(document)


@app.command(
    epilog="Example: opennandlab theory mapping --scheme fast --data-blocks 256 --log-blocks 8 "
    "--pages-per-block 64"
)
def mapping(
    scheme: Annotated[Scheme, typer.Option(help="How the drive maps.")] = Scheme.FAST,
    data_blocks: Annotated[
        int, typer.Option(min=1, help="Full blocks of data, of one die; all schemes but block.")
    ] = 256,
    log_blocks: Annotated[
        int, typer.Option(min=1, help="Log blocks, of one die; all schemes but block.")
    ] = 8,
    pages_per_block: Annotated[int, typer.Option(min=1, help="Pages in a block.")] = 64,
    replacement: Annotated[
        LogReplacement, typer.Option(help="bast: which log block is merged.")
    ] = LogReplacement.FIFO,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write amplification of drives that map blocks and merge, random writes of single pages."""
    with terminal.guard(as_json=as_json), _usage():
        from opennandlab.theory.mapping import waf_bast, waf_block_mapping, waf_fast

        parameters: dict[str, Any] = {"scheme": scheme.value, "pages_per_block": pages_per_block}
        if scheme is Scheme.BLOCK:
            value = waf_block_mapping(pages_per_block)
        else:
            parameters |= {"data_blocks": data_blocks, "log_blocks": log_blocks}
            if scheme is Scheme.BAST:
                chosen = replacement.value
                parameters["replacement"] = chosen
                value = waf_bast(
                    data_blocks,
                    log_blocks,
                    pages_per_block,
                    "lru" if replacement is LogReplacement.LRU else "fifo",
                )
            else:
                value = waf_fast(data_blocks, log_blocks, pages_per_block)
        _answer(parameters, [("waf", value, "x")], as_json=as_json, quiet=quiet)


@app.command(
    epilog="Example: opennandlab theory cache --pages 65536 --entries 4096 --zipf 0.99",
)
def cache(
    pages: Annotated[int, typer.Option(min=1, help="Entries of the whole map: logical pages.")],
    entries: Annotated[
        int, typer.Option(min=0, help="Entries that the cache holds; 4 bytes each in a DFTL.")
    ],
    zipf: Annotated[
        float, typer.Option(help="Popularity is rank to the power of minus this; 0: uniform.")
    ] = 0.0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hit rate of a cached map that drops the least recently used entry (Che 2002)."""
    with terminal.guard(as_json=as_json), _usage():
        from opennandlab.theory.caching import che_hit_rate_zipf

        rate = che_hit_rate_zipf(pages, zipf, entries)
        parameters = {"pages": pages, "entries": entries, "zipf": zipf}
        unit = "of lookups"
        rows: list[Row] = [("hit_rate", rate, unit), ("miss_rate", 1.0 - rate, unit)]
        _answer(parameters, rows, as_json=as_json, quiet=quiet)


@app.command(
    epilog="Example: opennandlab theory examples garbage_collection; "
    "drawn: opennandlab theory examples --plot examples.svg"
)
def examples(
    name: Annotated[
        Example | None, typer.Argument(help="One of them; default all three.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw them into an SVG or PNG file."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Overwrite pages in three ways, page by page (worked examples of the SNIA tutorial, 2009)."""
    with terminal.guard(as_json=as_json):
        from opennandlab.cli import _tutorial as tables
        from opennandlab.theory.tutorial import worked_example, worked_examples

        if plot is not None:
            from opennandlab.reports import tutorial as drawing

            terminal.check_outputs({"--plot": plot})
            drawing.check_ending(plot)
        chosen = worked_examples() if name is None else (worked_example(name.value),)
        if as_json:
            terminal.emit_json(tables.document(chosen))
        elif not quiet:
            tables.show(chosen)
        if plot is not None:
            drawing.write(chosen, plot)
            if not quiet:
                terminal.note(f"drawn in {plot}")


@contextmanager
def _usage() -> Iterator[None]:
    """What a formula refuses is the user's to mend."""
    from opennandlab.base.errors import ConfigError

    try:
        yield
    except ValueError as error:
        raise ConfigError(".", str(error)) from error


def _spare_factor(spare_factor: float | None, over_provisioning: float | None) -> float:
    if spare_factor is not None and over_provisioning is None:
        return spare_factor
    if over_provisioning is not None and spare_factor is None:
        if not over_provisioning > 0:
            raise ValueError(f"--over-provisioning is {over_provisioning}; accepted: above 0")
        return over_provisioning / (1 + over_provisioning)
    raise ValueError("give either --spare-factor or --over-provisioning")


def _answer(parameters: dict[str, Any], rows: list[Row], *, as_json: bool, quiet: bool) -> None:
    if as_json:
        terminal.emit_json({"parameters": parameters, **{name: value for name, value, _ in rows}})
        return
    if quiet:
        return
    from opennandlab.base.words import number

    console = terminal.stdout()
    console.print(
        ", ".join(f"{name} {number(value)}" for name, value in parameters.items()),
        style="dim",
        markup=False,
        soft_wrap=True,
    )
    lines = []
    for name, value, unit in rows:
        shown = "none (no closed form)" if value is None and name == "waf" else number(value)
        lines.append([name, f"{shown} {unit}"])
    console.print(terminal.Grid(("", ""), lines, left=(0, 1), is_plain=True))
