"""`config from`: files of another simulator as ours, with a row for every key of theirs."""

import json
import shlex
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from opennandlab.foreign.conversion import Conversion
    from opennandlab.foreign.table import Row


# Of a value in a table.
CHARS_MAX = 200


class Simulator(str, Enum):
    """Whose files are read."""

    MQSIM = "mqsim"
    FEMU = "femu"
    NVMEVIRT = "nvmevirt"
    SIMPLESSD = "simplessd"


@dataclass(frozen=True, kw_only=True)
class FromOptions(Printed):
    """Options of `from`."""

    files: Annotated[
        list[Path],
        argument(
            "Files of one simulator: MQSim's ssdconfig.xml and workload.xml, a command line or "
            "script of FEMU, ssd_config.h of NVMeVirt, an INI file of SimpleSSD.",
            metavar="FILE...",
            show_default=False,
        ),
    ]
    output: Annotated[Path, flag("The device file.", "-o", metavar="FILE", show_default=False)]
    workload_output: Annotated[
        Path | None,
        flag("The workload file; of several scenarios each has its number.", metavar="FILE"),
    ] = None
    format_: Annotated[
        Simulator | None,
        flag("Whose files these are.", "--format", show_default="as they look"),
    ] = None
    as_run: Annotated[
        bool, flag("Take the values that the simulator works with, not those of its files.")
    ] = False
    strict: Annotated[bool, flag("Exit with 2 if anything is lost that changes figures.")] = False
    model: Annotated[str | None, flag("NVMeVirt: the model in the header.", metavar="NAME")] = None
    memmap_size: Annotated[
        str | None, flag("NVMeVirt: memory of the module, such as 64GiB.", metavar="SIZE")
    ] = None


def translate_files(given: FromOptions) -> None:
    """Make a device file of another simulator, with a row for each of its keys."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import check_writable, write_atomically
    from opennandlab.base.units import parse_bytes
    from opennandlab.foreign.converting import Request, convert

    outputs = [given.output, *([given.workload_output] if given.workload_output else [])]
    for output in outputs:
        if any(_same(output, file) for file in given.files):
            raise ConfigError("-o", f"{output} is an input too; accepted: another name")
        check_writable(output)
    if len(outputs) == 2 and _same(*outputs):
        raise ConfigError("--workload-output", f"{outputs[1]} is the device; give another name")
    found = convert(
        Request(
            files=given.files,
            format=given.format_.value if given.format_ else None,
            as_run=given.as_run,
            model=given.model,
            memmap_bytes=parse_bytes(given.memmap_size) if given.memmap_size else None,
        )
    )
    if given.strict and (losses := found.losses()):
        names = ", ".join(row.source for row in losses)
        message = f"{len(losses)} keys lose what changes figures: {names}; nothing was written"
        raise ConfigError("--strict", message)
    title = f"Made of {', '.join(file.name for file in given.files)} ({found.format})"
    title += ", as that simulator runs it." if given.as_run else ", as written."
    texts = {given.output: found.text(title)}
    texts |= dict(
        zip(_names(given, found), (one.text(title) for one in found.workloads), strict=False)
    )
    for path, text in texts.items():
        write_atomically(path, text.encode())
    _print(given, found, list(texts))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve()
    except (OSError, ValueError):
        return False


def _names(given: FromOptions, found: "Conversion") -> list[Path]:
    """Return where the workloads go; none without a name."""
    path = given.workload_output
    if path is None:
        return []
    if len(found.workloads) == 1:
        return [path]
    ends = [one.name.rpartition("-")[2] for one in found.workloads]
    return [path.with_name(f"{path.stem}-{end}{path.suffix}") for end in ends]


def _commands(given: FromOptions, found: "Conversion", written: list[Path]) -> list[str]:
    device = ["-c", str(given.output)]
    made = [["benchmark", "-w", str(path), *device] for path in written[1:]]
    made += [["replay", one[0], *device, *one[1:]] for one in found.replays]
    return [shlex.join(["opennandlab", *words]) for words in made]


def _print(given: FromOptions, found: "Conversion", written: list[Path]) -> None:
    from opennandlab.foreign.table import KINDS

    commands = _commands(given, found, written)
    if given.as_json:
        document = {
            "format": found.format,
            "as_run": given.as_run,
            "written": [str(path) for path in written],
            "commands": commands,
            "counts": found.counts(),
            "rows": [row.to_dict() for row in found.rows],
        }
        terminal.emit_json(document)
    if given.as_json or given.quiet:
        return
    console = terminal.stdout()
    for kind in KINDS:
        of_kind = [row for row in found.rows if row.kind == kind]
        if of_kind:
            console.print(table(kind, of_kind, as_run=given.as_run))
            console.print()
    counts = ", ".join(f"{count} {kind}" for kind, count in found.counts().items() if count)
    console.print(f"{len(found.rows)} rows: {counts}", markup=False)
    console.print(f"*{len(found.losses())} of them lose what changes figures", markup=False)
    for path in written:
        console.print(f"wrote {path}", markup=False)
    if found.workloads and given.workload_output is None:
        terminal.note("--workload-output was not given: no workload file was written")
    for command in commands:
        console.print(f"run:  {command}", markup=False, soft_wrap=True)


def table(kind: str, rows: "list[Row]", *, as_run: bool) -> terminal.Grid:
    """Return the rows of a class; what follows from several keys there is shown once."""
    cells, before = [], ("", "")
    for row in rows:
        told = _ours(row, as_run=as_run), _why(row)
        star = "*" if row.figures else ""
        there = " ".join(filter(None, (f"{row.source}{star}", _short(row.value), row.unit)))
        cells.append([there, *(("", "") if told == before else told)])
        before = told
    columns = [place for place in (1, 2) if any(line[place] for line in cells)]
    heads = [kind, *(("", "here", "why")[place] for place in columns)]
    lines = [[line[0], *(line[place] for place in columns)] for line in cells]
    return terminal.Grid(heads, lines, left=tuple(range(len(heads))))


def _ours(row: "Row", *, as_run: bool) -> str:
    from opennandlab.foreign.table import ABSENT

    value = row.run if as_run and row.run is not ABSENT else row.written
    return f"{row.key} {_value(value)}".strip()


def _why(row: "Row") -> str:
    """Return why a row is as it is, and both values if they differ."""
    from opennandlab.foreign.table import ABSENT

    both = f"as written {_value(row.written)}, as run {_value(row.run)}"
    return "; ".join(filter(None, (row.note, both if row.run is not ABSENT else "")))


def _value(value: Any) -> str:  # noqa: ANN401 (of any key)
    from opennandlab.foreign.table import ABSENT

    if value is ABSENT:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.10g}"
    text = json.dumps(value).replace('"', "")
    return _short(text)


def _short(text: str) -> str:
    return text if len(text) <= CHARS_MAX else f"{text[:CHARS_MAX]}…"
