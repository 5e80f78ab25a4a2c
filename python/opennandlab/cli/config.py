"""`config`: what a device file means, whether it is right, and what may stand in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opennandlab.base.words import number
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._config_from import FromOptions, translate_files
from opennandlab.cli._config_rating import RatingOptions, make_of_rating
from opennandlab.cli.options.common import Printed, Sets
from opennandlab.cli.options.rows import argument, command, flag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opennandlab.core.config import DeviceConfig

app = typer.Typer(
    help="Show, check and describe device and workload files.",
    epilog="Example: opennandlab config show tlc_standard",
    no_args_is_help=True,
)

# Mechanisms that are off, by key and value: named in one line instead of a row each.
OFF: dict[str, object] = {
    "nand.multi_plane": False,
    "nand.program.kind": "page",
    "nand.factory_bad_block_ratio": 0.0,
    "controller.ecc_decode_us": 0.0,
    "ftl.collection.kind": "whole",
    "ftl.compression": "none",
    "ftl.copyback": "none",
    "ftl.idle_collection": "none",
    "ftl.parity": "none",
    "ftl.slc_cache.kind": "none",
    "ftl.write_buffer_pages": 0,
    "host.command_overhead_us": 0.0,
    "host.link": "ideal",
}
# Facts that say nothing while these hold: fact -> (fact that decides, its value then).
DULL = {
    "bad_blocks": ("bad_blocks", 0),
    "parity_share": ("parity_share", 0),
    "planes_per_row": ("planes_per_row", 1),
    "slc_cache_blocks": ("slc_cache_blocks", 0),
    "slc_pages_per_block": ("slc_cache_blocks", 0),
}
# Order of the sections: as a command meets them, from the flash out.
SECTIONS = ("name", "nand", "controller", "ftl", "ecc", "host")
Device = Annotated[str, argument("The device.", metavar="PRESET|FILE")]


@dataclass(frozen=True, kw_only=True)
class ShowOptions(Printed):
    """Options of `show`."""

    device: Device = "config"
    settings: Sets = None


@command(app, example="opennandlab config show tlc_standard --set ftl.gc_policy=fifo")
def show(given: ShowOptions) -> None:
    """Print the resolved device with units, derived figures, and sources."""
    from opennandlab.base.plain import leaves
    from opennandlab.core.config import described_device
    from opennandlab.theory.prediction import predicted_waf

    device_sets, workload_sets = terminal.split_sets(given.settings)
    _refuse_unused(workload_sets, "there is no workload here; accepted: keys of the device")
    loaded, named = described_device(given.device, device_sets)
    effective = json.loads(json.dumps(loaded.effective, default=dict))
    effective["predicted_waf"] = predicted_waf(loaded.to_dict(), effective)
    sources = {path: loaded.origin(path) for path, _ in leaves(loaded.to_dict())}
    if given.as_json:
        shown = {"device": loaded.to_dict(), "effective": effective, "sources": sources}
        terminal.emit_json(shown | ({"not_loaded": named} if named else {}))
    elif not given.quiet:
        _show(loaded, effective)
    _note_names(named)


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Printed):
    """Options of `check`."""

    file: Annotated[str, argument("The device.", metavar="PRESET|FILE", show_default=False)]
    workload: Annotated[
        str | None, flag("Also check this workload on the device.", "-w", metavar="NAME|FILE")
    ] = None
    settings: Sets = None


@command(app, example="opennandlab config check my_device.yaml")
def check(given: CheckOptions) -> None:
    """Check a device file; an error names the key, the value, and the accepted values."""
    from opennandlab.base.errors import CodeError
    from opennandlab.core.config import described_device, load_workload

    device_sets, workload_sets = terminal.split_sets(given.settings)
    if given.workload is None:
        _refuse_unused(workload_sets, "no workload is checked; accepted: with --workload")
    device, named = described_device(given.file, device_sets)
    if given.workload is not None:
        try:
            load_workload(given.workload, device, overrides=workload_sets)
        except CodeError:
            named["--workload"] = given.workload
    if given.as_json:
        found = {"file": given.file, "valid": True}
        terminal.emit_json(found | ({"not_loaded": named} if named else {}))
    elif not given.quiet:
        terminal.stdout().print(f"{given.file}: valid", markup=False)
    _note_names(named)


def _refuse_unused(workload_sets: "Mapping[str, Any]", why: str) -> None:
    """Raise for a `--set` that nothing would take."""
    from opennandlab.base.errors import ConfigError

    if workload_sets:
        raise ConfigError(f"workload.{next(iter(workload_sets))}", why)


def _note_names(named: "Mapping[str, str]") -> None:
    """Say which code a file names, of which nothing was run here."""
    for key, name in named.items():
        terminal.note(f"{key}: `{name}` is code, which was not loaded")


@dataclass(frozen=True, kw_only=True)
class SchemaOptions(Printed):
    """Options of `schema`."""

    kind: Annotated[
        str,
        argument(
            "device, workload, replay, or a document: result, compare, pts, suite, …",
            metavar="KIND",
        ),
    ] = "device"


@command(app, example="opennandlab config schema device > device.schema.json")
def schema(given: SchemaOptions) -> None:
    """Print the JSON schema of a file or a document."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.documents.schema import schemas

    known = schemas()
    if given.kind not in known:
        raise ConfigError("KIND", f"`{given.kind}` is not known; accepted: {', '.join(known)}")
    document = known[given.kind]()
    if not given.quiet:
        terminal.emit_json(document)


@dataclass(frozen=True, kw_only=True)
class InitOptions(Printed):
    """Options of `init`."""

    file: Annotated[
        Path | None,
        argument("Default: device.yaml, or workload.yaml with --workload.", metavar="FILE"),
    ] = None
    workload: Annotated[bool, flag("A workload file instead of a device file.")] = False
    source: Annotated[
        str | None,
        flag(
            "Preset that the values come from; default: config, or W2 with --workload.",
            "--from",
            metavar="PRESET|FILE",
        ),
    ] = None
    schema_path: Annotated[
        str | None,
        flag(
            "An existing schema; default: written next to the file.",
            "--schema",
            metavar="PATH",
        ),
    ] = None


@command(app, example="opennandlab config init my_drive.yaml --from mlc_enterprise")
def init(given: InitOptions) -> None:
    """Write a file to start from: every key with its meaning, and a schema line for editors."""
    from opennandlab.core import template
    from opennandlab.core.config import described_device, load_workload

    kind: Literal["device", "workload"] = "workload" if given.workload else "device"
    path = given.file or Path(f"{kind}.yaml")
    beside = path.parent / f"{kind}.schema.json" if given.schema_path is None else None
    found, named = described_device("config" if given.workload else given.source or "config")
    made = load_workload(given.source or "W2", found) if given.workload else found
    text = template.text(made, schema=given.schema_path or f"{kind}.schema.json")
    written = template.save(text, path, kind, beside)
    if given.as_json:
        terminal.emit_json({"written": [str(one) for one in written]})
    elif not given.quiet:
        for one in written:
            terminal.stdout().print(f"wrote {one}", markup=False)
    _note_names(named)


@command(app, "from", example="opennandlab config from ssdconfig.xml -o my_drive.yaml")
def from_(given: FromOptions) -> None:
    """Make a device file from the files of another simulator, with a row for each of their keys."""
    translate_files(given)


@command(
    app,
    "from-rating",
    example="opennandlab config from-rating --capacity 800GB --cell TLC --link pcie4x4 "
    "--seq-write 1400MB/s --rand-write 145000 --rand-read 530000 -o my_drive.yaml",
)
def from_rating(given: RatingOptions) -> None:
    """Make a device file from one page of a data sheet, with a band of what the drive may do."""
    make_of_rating(given)


@dataclass(frozen=True, kw_only=True)
class PresetsOptions(Printed):
    """Options of `presets`."""


@command(app, example="opennandlab config presets")
def presets(given: PresetsOptions) -> None:
    """List the built-in devices, workloads and discs."""
    from opennandlab.core import config

    names = config.presets()
    if given.as_json:
        terminal.emit_json(names)
    elif not given.quiet:
        console = terminal.stdout(is_numbers=True)
        own = {kind: config.PRESETS / kind for kind in ("workloads", "discs")}
        folders = {"devices": config.PRESETS, **own}
        for kind, folder in folders.items():
            console.print(kind, style="bold")
            rows = [["", name, _title(folder / f"{name}.yaml")] for name in names[kind]]
            console.print(terminal.Grid(("", "", ""), rows, left=(0, 1, 2), is_plain=True))


def _title(path: Path) -> str:
    """Return the first comment of a preset: by rule it states what it is."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def _show(device: "DeviceConfig", effective: dict[str, Any]) -> None:
    from opennandlab.base.plain import leaves
    from opennandlab.base.words import size
    from opennandlab.theory.prediction import why_no_formula

    console = terminal.stdout()
    console.print(f"device {device.name}", style="bold", markup=False)
    waf, given = effective["predicted_waf"], device.to_dict()
    facts = [
        *(
            (f"{kind} capacity", f"{size(count)} ({number(count)} bytes)")
            for kind in ("raw", "logical")
            for count in [effective[f"{kind}_bytes"]]
        ),
        ("nominal spare factor", number(effective["spare_factor"])),
        ("effective spare factor", number(effective["spare_factor_effective"])),
        (
            "predicted WAF",
            f"no formula for {why_no_formula(given, effective)}"
            if waf is None
            else f"{number(waf)} (uniform random page writes, steady state)",
        ),
        ("GC trigger", str(effective["reserve_text"])),
        ("memory to simulate", size(effective["memory_bytes"])),
    ]
    if "superblocks" in effective:
        facts.append(("superblocks", _superblocks(device, effective)))
    known = {"raw_bytes", "logical_bytes", "spare_factor", "spare_factor_effective"}
    known |= {"predicted_waf", "reserve_text", "memory_bytes", "superblocks"}
    known |= {fact for fact, (key, value) in DULL.items() if effective.get(key) == value}
    facts += [
        (path.replace("_", " "), number(value))
        for path, value in leaves({k: v for k, v in effective.items() if k not in known})
    ]
    console.print(terminal.Grid(("", ""), facts, left=(0, 1), is_plain=True))
    console.print()
    _show_keys(device)


def _superblocks(device: "DeviceConfig", effective: dict[str, Any]) -> str:
    """Return how large superblocks are, and what parity makes of the over-provisioning."""
    shape = effective["superblocks"]
    dies, pages, data = (int(shape[key]) for key in ("dies", "pages", "data_pages"))
    text = f"{number(shape['count'])} of {dies} dies x {pages // dies} = {number(pages)} map units"
    if int(shape["groups"]) > 1:
        text += f", in {shape['groups']} groups"
    if data < pages:
        ratio = float(device.to_dict()["ftl"]["over_provisioning_pct"])
        raw = (1.0 + ratio) * dies / (dies - 1) - 1.0
        text += (
            f", {dies - 1}/{dies} = {data} of data; over-provisioning with parity counted: "
            f"(1 + {number(ratio)}) x {dies}/{dies - 1} - 1 = {number(raw)}"
        )
    return text


def _constant(value: object) -> str:
    """Write a value of a key with the digits that distinguish all constants: ten.

    >>> _constant(100000.0), _constant(0.00098786), _constant([450.0, 1350.0]), _constant(True)
    ('100 000', '0.00098786', '[450, 1 350]', 'true')
    """
    if isinstance(value, list):
        return f"[{', '.join(map(_constant, value))}]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value if isinstance(value, str) else json.dumps(value)
    is_whole = isinstance(value, int) or value.is_integer()
    return number(value) if is_whole else f"{value:.10g}"


def _show_keys(device: "DeviceConfig") -> None:
    """Print a row per key that is on, then the names of those that are off."""
    from opennandlab.base.plain import leaves
    from opennandlab.base.units import unit

    rows: list[list[str]] = []
    rules = set()
    sections = device.to_dict()
    # The order of the file, not of the alphabet.
    first = {key: sections[key] for key in SECTIONS if key in sections}
    off, section = [], ""
    for path, value in leaves(first | sections):
        origin = device.origin(path)
        if path in OFF and value == OFF[path] and origin == "default":
            off.append(path.removesuffix(".kind"))
        elif value is not None:
            if section not in {"", path.partition(".")[0]}:
                rules.add(len(rows))
            section = path.partition(".")[0]
            rows.append([path, _constant(value), unit(path, value), origin])
    heads = ("key", "value", "unit", "source")
    terminal.stdout().print(terminal.Grid(heads, rows, left=(0, 2, 3), sections=rules))
    if off:
        terminal.stdout().print(f"\noff: {', '.join(off)}", markup=False, style="dim")
