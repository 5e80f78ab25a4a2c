"""`replay`: a recorded block trace on a device."""

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._observe import Breakdown, BreakdownPlot, TimelineFile, watched
from opennandlab.cli._terminal import AllowCode, Json, Quiet, Seed, Sets, SliceOps
from opennandlab.cli._typed import typed


class Beyond(str, Enum):
    """What happens to addresses beyond the device."""

    ERROR = "error"
    WRAP = "wrap"
    SCALE = "scale"


class Layer(str, Enum):
    """Devices of a stack whose requests count."""

    BOTTOM = "bottom"
    TOP = "top"
    ALL = "all"


class Separator(str, Enum):
    """What stands between the columns of a table."""

    AUTO = "auto"
    COMMA = "comma"
    SEMICOLON = "semicolon"
    TAB = "tab"
    BLANK = "blank"


def replay(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE",
            help="Trace file; may be compressed with gzip, bzip2, xz or zstd.",
            show_default=False,
        ),
    ],
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            metavar="PRESET|FILE",
            help="The device; default: the preset `config`, or the device of the image.",
        ),
    ] = None,
    trace_format: Annotated[
        str,
        typer.Option(
            "--trace-format",
            metavar="NAME",
            callback=typed,
            help="mqsim, msr, vscsi, spc, tencent, alibaba, systor17, fiu, mobile, fio_iolog, "
            "blkparse, biosnoop, served, or auto.",
        ),
    ] = "auto",
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="SPEC",
            help="Any other table, by its columns: time:ms,op:0=read,offset:sectors,size:bytes,"
            "volume,_ and ... for the rest of a line.",
        ),
    ] = None,
    separator: Annotated[
        Separator | None,
        typer.Option("--separator", help="What stands between --columns.", show_default="auto"),
    ] = None,
    header_lines: Annotated[
        int | None,
        typer.Option(
            "--header-lines",
            metavar="N",
            help="First lines of the file to pass over, with --columns.",
            show_default="0",
        ),
    ] = None,
    layer: Annotated[
        Layer | None,
        typer.Option(
            "--layer",
            help="Of blkparse traces of devices that lie on others, such as LVM on a disk: whose "
            "requests count.",
            show_default="bottom",
        ),
    ] = None,
    unpacked_max: Annotated[
        str | None,
        typer.Option(
            "--unpacked-max",
            metavar="SIZE",
            help="Most bytes that a compressed trace may unpack to, such as 64GiB; default: 16GiB, "
            "or 100 times its compressed size.",
        ),
    ] = None,
    closed_loop: Annotated[
        int | None,
        typer.Option(
            "--closed-loop",
            metavar="QD",
            help="Keep QD requests outstanding, in the order of the file; ignore arrival times.",
        ),
    ] = None,
    time_scale: Annotated[
        float | None,
        typer.Option(
            "--time-scale", help="Factor on arrival times, 1e-6 to 1e6: 0.5 is twice as fast."
        ),
    ] = None,
    beyond: Annotated[
        Beyond, typer.Option("--beyond", help="What to do with addresses beyond the device.")
    ] = Beyond.ERROR,
    wrap: Annotated[bool, typer.Option("--wrap", help="Same as --beyond wrap.")] = False,
    scale: Annotated[bool, typer.Option("--scale", help="Same as --beyond scale.")] = False,
    volumes: Annotated[
        str | None,
        typer.Option(
            "--volumes",
            metavar="concat|overlay|NAME",
            help="Traces with several volumes: concatenate them, overlay them, or replay one.",
        ),
    ] = None,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Skip and count lines that cannot be read.")
    ] = False,
    seed: Seed = 42,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Result file (JSON).")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="fresh|image:FILE",
            help="Start from an empty or a saved drive instead of one sequential fill.",
        ),
    ] = None,
    save_image: Annotated[
        Path | None,
        typer.Option("--save-image", metavar="FILE", help="Save the drive's state after the run."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Plots and tables, as an HTML page, SVG, PNG or PDF."
        ),
    ] = None,
    breakdown: Breakdown = False,
    breakdown_plot: BreakdownPlot = None,
    timeline: TimelineFile = None,
    settings: Sets = None,
    as_json: Json = False,
    quiet: Quiet = False,
    slice_ops: SliceOps = None,
    allow_code: AllowCode = False,
) -> None:
    """Replay a block trace: open loop by arrival time, or closed loop."""
    with terminal.guard(as_json=as_json, allow_code=allow_code):
        from opennandlab.base.errors import ConfigError
        from opennandlab.core.config import set_path
        from opennandlab.core.run import Start, prepare_replay

        if wrap + scale + (beyond is not Beyond.ERROR) > 1:
            raise ConfigError("beyond", "give one of --wrap, --scale and --beyond")
        if closed_loop is not None and time_scale is not None:
            raise ConfigError("loop", "--closed-loop ignores arrival times: drop --time-scale")
        options: dict[str, Any] = {
            "format": _format(trace_format, columns, separator, header_lines, layer),
            "beyond": "wrap" if wrap else "scale" if scale else beyond.value,
            "skip_bad_lines": skip_bad_lines,
        }
        if closed_loop is not None:
            options["loop"] = {"kind": "closed", "queue_depth": closed_loop}
        elif time_scale is not None:
            options["loop"] = {"kind": "open", "time_scale": time_scale}
        if volumes is not None:
            options["volumes"] = volumes
        if unpacked_max is not None:
            options["unpacked_bytes_max"] = unpacked_max
        device_sets, replay_sets = terminal.split_sets(settings)
        watch = watched(timeline, breakdown=breakdown, plot=breakdown_plot)
        outputs = terminal.Outputs(
            output, plot, save_image, breakdown_plot, timeline[1] if timeline else None
        )
        terminal.check_outputs(
            outputs.by_option(),
            {"the trace": trace, **terminal.read_files(config, state)},
        )
        device = terminal.chosen_device(config, state, device_sets)
        for path, value in replay_sets.items():
            set_path(options, path, value)
        run = prepare_replay(Start(device, seed, state), trace, options, watch)
        if run.trace is not None and not as_json and not quiet:
            found = _read_as(trace, run.trace.summary())
            terminal.stdout().print(found, markup=False, soft_wrap=True)
        terminal.run_and_report(run, outputs, as_json=as_json, quiet=quiet, slice_ops=slice_ops)


def _read_as(trace: Path, summary: str) -> str:
    """Say as what a trace was read, and what is in it."""
    from opennandlab.base.words import number, size
    from opennandlab.reports.words import span

    found = json.loads(summary)
    kinds = ("read", "write", "trim", "flush", "volume")
    counts = {kind: found.get(f"{kind}_count", 0) for kind in kinds}
    *requests, volumes = (
        f"{number(count)} {kind}{'' if count == 1 else 'es' if kind == 'flush' else 's'}"
        if count
        else ""
        for kind, count in counts.items()
    )
    if found.get("fua_count"):
        requests[1] += f" ({number(found['fua_count'])} with force unit access)"
    parts = (*requests, size(found["bytes"]), volumes, span(found["span_s"]))
    return f"{trace.name}: read as {found['format']}: {', '.join(filter(None, parts))}"


def _format(
    name: str,
    columns: str | None,
    separator: Separator | None,
    header_lines: int | None,
    layer: Layer | None,
) -> str | dict[str, Any]:
    """Return the format of the trace, as the key `format` of replay options has it."""
    from opennandlab.base.errors import ConfigError

    if layer is not None:
        if columns is not None or name not in {"auto", "blkparse"}:
            raise ConfigError("format", "--layer describes traces of blkparse: drop the format")
        name = "blkparse"
    if columns is None:
        for option, value in (("--separator", separator), ("--header-lines", header_lines)):
            if value is not None:
                raise ConfigError("format", f"{option} describes --columns: give them too")
        return name if layer is None else {"kind": name, "layer": layer.value}
    if name not in {"auto", "columns"}:
        raise ConfigError("format", f"--columns is a format of its own: drop --trace-format {name}")
    table: dict[str, Any] = {"kind": "columns", "columns": columns}
    if separator is not None:
        table["separator"] = separator.value
    if header_lines is not None:
        table["header_lines"] = header_lines
    return table
