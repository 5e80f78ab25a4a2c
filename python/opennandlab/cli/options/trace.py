"""Options of verbs that read traces."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from opennandlab.cli._typed import typed, typed_device
from opennandlab.cli.options.rows import Options, argument, flag
from opennandlab.cli.options.run import MeasuredRunOptions
from opennandlab.cli.options.target import Destructive, Force, IKnow


class Layer(str, Enum):
    """Devices of a stack whose requests count."""

    BOTTOM = "bottom"
    TOP = "top"
    ALL = "all"


class Wait(str, Enum):
    """Meaning of the waits of fio iolog version 2."""

    MS_SINCE_START = "ms-since-start"
    US_BETWEEN = "us-between"


class Separator(str, Enum):
    """The separator of the columns of a table."""

    AUTO = "auto"
    COMMA = "comma"
    SEMICOLON = "semicolon"
    TAB = "tab"
    BLANK = "blank"


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Options):
    """How a trace is read."""

    trace_format: Annotated[
        str,
        flag(
            "mqsim, msr, vscsi, spc, tencent, alibaba, systor17, fiu, mobile, fio_iolog, "
            "blkparse, biosnoop, tracepoint, xperf, served, libcachesim, csv, or auto.",
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
            "Lines to skip at the start of the file, with --columns.", metavar="N", show_default="0"
        ),
    ] = None
    layer: Annotated[
        Layer | None,
        flag(
            "For blkparse traces of stacked devices, such as LVM on a disk: the device whose "
            "requests count.",
            show_default="bottom",
        ),
    ] = None
    wait: Annotated[
        Wait | None,
        flag(
            "Meaning of the waits of fio iolog version 2: as fio runs them, or as its manual says.",
            show_default="ms-since-start",
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
    skip_bad_lines: Annotated[bool, flag("Skip and count lines that cannot be read.")] = False

    def reading(self) -> dict[str, Any]:
        """Return the keys of it, of replay options and of `ReadingConfig`."""
        found: dict[str, Any] = {"format": self._format(), "skip_bad_lines": self.skip_bad_lines}
        if self.unpacked_max is not None:
            found["unpacked_bytes_max"] = self.unpacked_max
        return found

    def _format(self) -> str | dict[str, Any]:
        """Return the format of the trace, as the key `format` of replay options has it."""
        from opennandlab.base.errors import ConfigError

        chosen, found = self.trace_format, dict[str, Any]()
        for option, form, value in (
            ("--columns", "columns", self.columns),
            ("--separator", "columns", self.separator and self.separator.value),
            ("--header-lines", "columns", self.header_lines),
            ("--layer", "blkparse", self.layer and self.layer.value),
            ("--wait", "fio_iolog", self.wait and self.wait.value.replace("-", "_")),
        ):
            if value is None:
                continue
            if form == "columns" and self.columns is None:
                raise ConfigError("format", f"{option} describes --columns: give them too")
            if chosen not in {"auto", form}:
                raise ConfigError(
                    "format",
                    f"{option} describes traces of {form}: drop --trace-format {chosen} or it",
                )
            chosen = form
            found[option.removeprefix("--").replace("-", "_")] = value
        return {"kind": chosen, **found} if found else chosen


def remap_of(addresses: str, others: tuple[str, ...]) -> Path | None:
    """Return the table of ranges that `--addresses` names; nothing for one of the others."""
    from opennandlab.base.errors import ConfigError

    kind, _, path = addresses.partition(":")
    if kind == "remap" and path:
        return Path(path)
    if addresses not in others:
        accepted = ", ".join((*others, "remap:MAP.csv"))
        raise ConfigError("addresses", f"`{addresses}`; accepted: {accepted}")
    return None


class Beyond(str, Enum):
    """What happens to addresses beyond the device."""

    ERROR = "error"
    WRAP = "wrap"
    SCALE = "scale"
    FIT = "fit"


class TenantsBy(str, Enum):
    """What becomes a tenant."""

    VOLUME = "volume"


class Order(str, Enum):
    """The order of requests in a closed loop."""

    FILE = "file"
    TIME = "time"


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(MeasuredRunOptions, ReadOptions):
    """Options of `replay`."""

    trace: Annotated[
        Path,
        argument(
            "Trace file; may be compressed with gzip, bzip2, xz or zstd.",
            metavar="TRACE",
            show_default=False,
        ),
    ]
    closed_loop: Annotated[
        int | None,
        flag(
            "Keep QD requests outstanding, in the order of the file; ignore arrival times.",
            metavar="QD",
        ),
    ] = None
    order: Annotated[
        Order | None, flag("Order of requests with --closed-loop.", show_default="file")
    ] = None
    repeat: Annotated[
        int, flag("Times that the trace is replayed, one after the other.", min=1, max=1_000_000)
    ] = 1
    time_scale: Annotated[
        float | None, flag("Factor on arrival times, 1e-6 to 1e6: 0.5 is twice as fast.")
    ] = None
    beyond: Annotated[Beyond, flag("What to do with addresses beyond the device.")] = Beyond.ERROR
    wrap: Annotated[bool, flag("Same as --beyond wrap.")] = False
    scale: Annotated[bool, flag("Same as --beyond scale.")] = False
    addresses: Annotated[
        str,
        flag("keep, or remap:MAP.csv: moved as a table of ranges says.", metavar="HOW"),
    ] = "keep"
    target: Annotated[
        str | None,
        flag(
            "Replay on file:PATH[?size=1GiB], /dev/… or an NBD export by fio instead; its data are "
            "lost.",
            metavar="TARGET",
            callback=typed_device,
        ),
    ] = None
    destructive: Destructive = False
    i_know: IKnow = None
    force: Force = False
    volumes: Annotated[
        str | None,
        flag(
            "Traces with several volumes: concatenate them, overlay them, or replay one.",
            metavar="concat|overlay|NAME",
        ),
    ] = None
    tenants: Annotated[
        TenantsBy | None,
        flag(
            "Make each volume a tenant, with its own queue and figures; --closed-loop is the "
            "depth of each."
        ),
    ] = None
