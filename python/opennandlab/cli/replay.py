"""`replay`: a recorded block trace on a device."""

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._run_report import run_and_report
from opennandlab.cli._typed import typed
from opennandlab.cli.options.rows import argument, flag
from opennandlab.cli.options.run import MeasuredRunOptions


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


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(MeasuredRunOptions):
    """Options of `replay`."""

    trace: Annotated[
        Path,
        argument(
            "Trace file; may be compressed with gzip, bzip2, xz or zstd.",
            metavar="TRACE",
            show_default=False,
        ),
    ]
    trace_format: Annotated[
        str,
        flag(
            "mqsim, msr, vscsi, spc, tencent, alibaba, systor17, fiu, mobile, fio_iolog, "
            "blkparse, biosnoop, served, or auto.",
            metavar="NAME",
            callback=typed,
        ),
    ] = "auto"
    columns: Annotated[
        str | None,
        flag(
            "Any other table, by its columns: "
            "time:ms,op:0=read,offset:sectors,size:bytes,volume,_ and ... for the rest of a line.",
            metavar="SPEC",
        ),
    ] = None
    separator: Annotated[Separator | None, flag("Separator of --columns.", show_default="auto")] = (
        None
    )
    header_lines: Annotated[
        int | None,
        flag(
            "First lines of the file to pass over, with --columns.", metavar="N", show_default="0"
        ),
    ] = None
    layer: Annotated[
        Layer | None,
        flag(
            "Of blkparse traces of stacked devices, such as LVM on a disk: the device whose "
            "requests count.",
            show_default="bottom",
        ),
    ] = None
    unpacked_max: Annotated[
        str | None,
        flag(
            "Most bytes that a compressed trace may unpack to, such as 64GiB; default: 16GiB, or "
            "100 times its compressed size.",
            metavar="SIZE",
        ),
    ] = None
    closed_loop: Annotated[
        int | None,
        flag(
            "Keep QD requests outstanding, in the order of the file; ignore arrival times.",
            metavar="QD",
        ),
    ] = None
    time_scale: Annotated[
        float | None, flag("Factor on arrival times, 1e-6 to 1e6: 0.5 is twice as fast.")
    ] = None
    beyond: Annotated[Beyond, flag("What to do with addresses beyond the device.")] = Beyond.ERROR
    wrap: Annotated[bool, flag("Same as --beyond wrap.")] = False
    scale: Annotated[bool, flag("Same as --beyond scale.")] = False
    volumes: Annotated[
        str | None,
        flag(
            "Traces with several volumes: concatenate them, overlay them, or replay one.",
            metavar="concat|overlay|NAME",
        ),
    ] = None
    skip_bad_lines: Annotated[bool, flag("Skip and count lines that cannot be read.")] = False


def replay(given: ReplayOptions) -> None:
    """Replay a block trace: open loop by arrival time, or closed loop."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.overrides import set_path
    from opennandlab.core.run import Start, prepare_replay

    if given.wrap + given.scale + (given.beyond is not Beyond.ERROR) > 1:
        raise ConfigError("beyond", "give one of --wrap, --scale and --beyond")
    if given.closed_loop is not None and given.time_scale is not None:
        raise ConfigError("loop", "--closed-loop ignores arrival times: drop --time-scale")
    options: dict[str, Any] = {
        "format": _format(given),
        "beyond": "wrap" if given.wrap else "scale" if given.scale else given.beyond.value,
        "skip_bad_lines": given.skip_bad_lines,
    }
    if given.closed_loop is not None:
        options["loop"] = {"kind": "closed", "queue_depth": given.closed_loop}
    elif given.time_scale is not None:
        options["loop"] = {"kind": "open", "time_scale": given.time_scale}
    if given.volumes is not None:
        options["volumes"] = given.volumes
    if given.unpacked_max is not None:
        options["unpacked_bytes_max"] = given.unpacked_max
    device_sets, replay_sets = terminal.split_sets(given.settings)
    watch = given.observation()
    given.check_outputs({"the trace": given.trace})
    device = given.device(device_sets)
    for path, value in replay_sets.items():
        set_path(options, path, value)
    run = prepare_replay(Start(device, given.seed, given.state), given.trace, options, watch)
    if run.trace is not None and not given.as_json and not given.quiet:
        found = _read_as(given.trace, run.trace.summary())
        terminal.stdout().print(found, markup=False, soft_wrap=True)
    run_and_report(run, given)


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


def _format(given: ReplayOptions) -> str | dict[str, Any]:
    """Return the format of the trace, as the key `format` of replay options has it."""
    from opennandlab.base.errors import ConfigError

    name, layer = given.trace_format, given.layer
    if layer is not None:
        if given.columns is not None or name not in {"auto", "blkparse"}:
            raise ConfigError("format", "--layer describes traces of blkparse: drop the format")
        name = "blkparse"
    if given.columns is None:
        for option, value in (
            ("--separator", given.separator), ("--header-lines", given.header_lines),
        ):  # fmt: skip
            if value is not None:
                raise ConfigError("format", f"{option} describes --columns: give them too")
        return name if layer is None else {"kind": name, "layer": layer.value}
    if name not in {"auto", "columns"}:
        raise ConfigError("format", f"--columns is a format of its own: drop --trace-format {name}")
    table: dict[str, Any] = {"kind": "columns", "columns": given.columns}
    if given.separator is not None:
        table["separator"] = given.separator.value
    if given.header_lines is not None:
        table["header_lines"] = given.header_lines
    return table
