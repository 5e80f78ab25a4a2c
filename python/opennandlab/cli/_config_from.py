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
        flag("The workload file; several scenarios make one numbered file each.", metavar="FILE"),
    ] = None
    format_: Annotated[
        Simulator | None,
        flag("The simulator that the files belong to.", "--format", show_default="as they look"),
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
    """Make a device file from the files of another simulator, with a row for each of their keys."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import check_writable, write_atomically
    from opennandlab.base.units import parse_bytes
    from opennandlab.foreign.converting import Request, convert

    outputs = [given.output, *([given.workload_output] if given.workload_output else [])]
    for output in outputs:
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
    written, made = _files(given, found)
    for path in written:
        if any(_same(path, file) for file in given.files):
            raise ConfigError("-o", f"{path} is an input too; accepted: another name")
    replaced = [path for path, text in written.items() if _holds_other(path, text)]
    for path, text in written.items():
        write_atomically(path, text.encode())
    if replaced and not given.quiet:
        names = ", ".join(map(str, replaced))
        terminal.note(f"note: {names}: replaced; the previous text was different")
    _print(given, found, list(written), made)


def _files(given: FromOptions, found: "Conversion") -> tuple[dict[Path, str], list[list[str]]]:
    """Return the text of each file, and the commands that use them."""
    title = f"Made of {', '.join(file.name for file in given.files)} ({found.format})"
    title += ", as that simulator runs it." if given.as_run else ", as written."
    written: dict[Path, str] = {}
    made: list[list[str]] = []
    for number, part in enumerate(found.parts or [found], 1):
        device = _numbered(given.output, number if found.parts else None)
        _put(written, device, part.text(title))
        if path := given.workload_output:
            for one in part.workloads:
                last = one.name.rpartition("-")[2] if len(found.workloads) > 1 else None
                workload = _numbered(path, last)
                _put(written, workload, one.text(title))
                made.append(["benchmark", "-w", str(workload), "-c", str(device)])
        made += [["replay", one[0], "-c", str(device), *one[1:]] for one in part.replays]
    if not made and not found.workloads and not found.is_zoned:
        plot = ["--plot", str(given.output.with_suffix(".html"))]
        made.append(["benchmark", "-w", "W2", "-c", str(given.output), *plot])
    return written, made


def _put(written: dict[Path, str], path: Path, text: str) -> None:
    from opennandlab.base.errors import ConfigError

    if path in written:
        message = f"{path} would be written twice, for two scenarios; give another name"
        raise ConfigError("--workload-output", message)
    written[path] = text


def _holds_other(path: Path, text: str) -> bool:
    """Whether a file is there with another text, such as one that was edited."""
    try:
        return path.is_file() and path.read_bytes() != text.encode()
    except OSError:
        return False


def _numbered(path: Path, number: object) -> Path:
    """Return the file of a scenario; the file itself if there is one for all."""
    return path if number is None else path.with_name(f"{path.stem}-{number}{path.suffix}")


def _same(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve()
    except (OSError, ValueError):
        return False


def _print(
    given: FromOptions, found: "Conversion", written: list[Path], made: list[list[str]]
) -> None:
    commands = [shlex.join(["opennandlab", *words]) for words in made]
    counts = found.counts()
    if given.as_json:
        document = {
            "format": found.format,
            "as_run": given.as_run,
            "written": [str(path) for path in written],
            "commands": commands,
            "counts": counts,
            "rows": [row.to_dict() for row in found.rows],
        }
        terminal.emit_json(document)
    if given.as_json or given.quiet:
        return
    console = terminal.stdout()
    for kind in filter(counts.get, counts):
        of_kind = [row for row in found.rows if row.kind == kind]
        console.print(table(kind, of_kind, as_run=given.as_run))
        console.print()
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    console.print(f"{len(found.rows)} rows: {told}", markup=False)
    console.print(f"*{len(found.losses())} of them lose what changes figures", markup=False)
    if found.parts:
        keys = ", ".join(found.differing())
        terminal.note(f"each scenario has a device file, since they differ in {keys}")
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
        value = row.to_dict()
        written, run = (_value(value.get(f"as_{word}", "")) for word in ("written", "run"))
        both = f"as written {written}, as run {run}" if "as_run" in value else ""
        ours = f"{row.key} {run if as_run and both else written}".strip()
        told = ours, "; ".join(filter(None, (row.note, both)))
        there = f"{row.source}{'*' if row.figures else ''} {_short(row.value)}".strip()
        cells.append([f"{there} {row.unit}".strip(), *(("", "") if told == before else told)])
        before = told
    columns = [place for place in (1, 2) if any(line[place] for line in cells)]
    heads = [kind, *(("", "here", "why")[place] for place in columns)]
    lines = [[line[0], *(line[place] for place in columns)] for line in cells]
    return terminal.Grid(heads, lines, left=tuple(range(len(heads))))


def _value(value: Any) -> str:  # noqa: ANN401 (of any key)
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.10g}"
    return "not set" if value is None else _short(json.dumps(value).replace('"', ""))


def _short(text: str) -> str:
    return text if len(text) <= CHARS_MAX else f"{text[:CHARS_MAX]}…"
