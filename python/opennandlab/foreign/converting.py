"""From files of another simulator to a device and workloads that the core takes.

```text
files ──► which simulator ──► entries ──► translation ──► the reserve fits ──► checked
```
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, inert
from opennandlab.base.files import read_bytes
from opennandlab.base.foreign import FORMATS, format_of
from opennandlab.core.config import DeviceConfig, load_device, load_workload
from opennandlab.foreign import femu, mqsim, nvmevirt, simplessd
from opennandlab.foreign.conversion import Conversion, WorkloadFile
from opennandlab.foreign.table import Row, read, translate
from opennandlab.foreign.xml_text import BYTES_MAX

RESERVE = "ftl.gc_reserve_blocks"


@dataclass(frozen=True)
class Request:
    """A request.

    Args:
        files: The files.
        format: Which simulator they are of; None: as they look.
        as_run: Take the values of a run of that simulator, not those of its files.
        model: NVMeVirt: which model of the header.
        memmap_bytes: NVMeVirt: memory of the module.
    """

    files: Sequence[Path]
    format: str | None = None
    as_run: bool = False
    model: str | None = None
    memmap_bytes: int | None = None


def convert(request: Request) -> Conversion:
    """Translate files; what comes out was checked by the core.

    Raises:
        ConfigError: for files that cannot be read, are of no known simulator, or ask for what
            is not here, with file, line and the accepted form.
    """
    texts = [(path, _raw(path)) for path in request.files]
    found = request.format or _format(texts)
    if found != "nvmevirt" and (request.model is not None or request.memmap_bytes is not None):
        raise ConfigError("--model", f"belongs to nvmevirt, and the files are those of {found}")
    if found == "mqsim":
        made = mqsim.convert(texts, as_run=request.as_run)
    else:
        if len(texts) > 1:
            raise ConfigError(".", f"{len(texts)} files; accepted for {found}: one")
        made = _converted(found, *texts[0], request)
    if not made.differing():
        made.parts = []
    for one in made.parts or [made]:
        device = _fitted(one)
        for workload in one.workloads:
            _check(workload, device)
    if made.parts:
        made.join()
    return made


def _check(workload: WorkloadFile, device: DeviceConfig) -> None:
    try:
        load_workload(workload.document(), device)
    except ConfigError as error:
        raise ConfigError(error.path, f"{error.message} ({workload.name})") from error


def _raw(path: Path) -> bytes:
    try:
        return read_bytes(path, BYTES_MAX)
    except OSError as error:
        hint = ": no device file is" if error.errno == errno.EFBIG else ""
        if format_of(str(path).encode()) == "femu":
            hint = "; options of FEMU are read from a file: put the line into one"
        raise ConfigError(".", f"{path}: {error.strerror or error}{hint}") from error


def _format(texts: Sequence[tuple[Path, bytes]]) -> str:
    found = {path: format_of(raw) for path, raw in texts}
    for path, name in found.items():
        if name is None:
            message = f"{path}: of no simulator that is known; accepted: files of "
            raise ConfigError(".", f"{message}{', '.join(FORMATS)}, or `--format`")
    names = list(dict.fromkeys(found.values()))
    if len(names) > 1:
        message = f"files of {' and '.join(str(name) for name in names)}; accepted: of one"
        raise ConfigError(".", message)
    return str(names[0])


def _converted(simulator: str, path: Path, raw: bytes, request: Request) -> Conversion:
    """Translate the one file of FEMU, NVMeVirt or SimpleSSD."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(".", f"{path}: byte {error.start} is not UTF-8 text") from error
    apart = 0
    name = inert(path.stem) or "drive"
    if simulator == "femu":
        entries = femu.entries(text, path.name)
        table = femu.table(entries)
    elif simulator == "simplessd":
        entries = simplessd.entries(text, path.name)
        table = simplessd.TABLE.of(entries)
    else:
        if request.memmap_bytes is None:
            raise ConfigError("--memmap-size", "is missing; accepted: a size such as 64GiB")
        entries, apart = nvmevirt.entries(text, path.name, request.model)
        table = nvmevirt.table(entries)
        name = request.model or name
    values, unused = read(entries, table.fields)
    if simulator == "nvmevirt":
        nvmevirt.lay_out(values, request.memmap_bytes or 0)
    sections = {one.name.partition(".")[0] for one in entries}
    values["has_sata"] = "sata" in sections and "nvme" not in sections
    made = translate(entries, table, values, unused, as_run=request.as_run)
    if apart:
        source, note = f"({apart} defines outside of the model)", "names of models and types"
        made.rows.append(Row(source, "", "", "", "dropped", note=note))
    return Conversion(simulator, name, made, rows=made.rows)


def _fitted(made: Conversion) -> DeviceConfig:
    """Return the device; a reserve that does not fit becomes the largest one that does.

    Raises:
        ConfigError: for a device that the core refuses, with the origin of the key.
    """
    document: dict[str, Any] = made.document()
    wanted: int = made.device.keys.get(RESERVE, 0)

    def fits(blocks: int) -> bool:
        document["ftl"]["gc_reserve_blocks"] = blocks
        try:
            load_device(document)
        except ConfigError:
            return False
        return True

    try:
        return load_device(document)
    except ConfigError as error:
        step = next(filter(fits, _steps(document)), None) if wanted else None
        if step is None:
            raise _with_origin(made, document, error) from error
    best, limit = 1, wanted // step + 1
    while limit - best > 1:
        middle = (best + limit) // 2
        best, limit = (middle, limit) if fits(middle * step) else (best, middle)
    made.change(RESERVE, best * step, f"{wanted} do not fit, {best * step} are the most that do")
    return load_device(made.document())


def _steps(document: Mapping[str, Any]) -> list[int]:
    """Return by how many blocks a reserve may change: one, or whole superblocks."""
    nand, allocation = document["nand"], document["ftl"].get("allocation")
    if not isinstance(allocation, Mapping):
        return [1]
    dies = allocation["dies"]
    if dies == "all":
        dies = nand["channels"] * nand["dies_per_channel"]
    return [dies, dies * nand["planes_per_die"]]


def _with_origin(made: Conversion, document: Mapping[str, Any], error: ConfigError) -> ConfigError:
    """Return an error of the core, not about the reserve if there is another, with its origin."""
    document["ftl"].pop("gc_reserve_blocks", None)
    try:
        load_device(document)
    except ConfigError as other:
        error = other
    else:
        wanted = made.device.keys[RESERVE]
        return ConfigError(RESERVE, f"`{wanted}`, and no smaller reserve fits either")
    path = error.path
    while path and path not in made.device.origins:
        path = path.rpartition(".")[0]
    origin = made.device.origins.get(path, "").rstrip(".")
    place = next((row.place for row in made.rows if row.key == path and row.place), "")
    origin = place + origin.removeprefix(place.rpartition(":")[0])
    return ConfigError(error.path, f"{error.message} (from {origin})" if origin else error.message)
