"""From the text of `--target` to a target that is open.

    sim:PRESET|FILE                      a simulated drive or disc, in virtual time
    file:PATH, file:PATH?size=1GiB       a regular file, through fio
    /dev/…                               a block device, through fio
    nbd+unix:///EXPORT?socket=PATH       an export of an NBD server, through fio
    nbd://HOST[:PORT]/EXPORT

`sketch` gives a target of the same size that does nothing, for plans: it neither makes a file nor
opens a device for writing.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.units import parse_bytes
from opennandlab.core.config import device_presets
from opennandlab.core.others import ARRAY, read_other
from opennandlab.core.overrides import set_path
from opennandlab.documents import pts_header
from opennandlab.targets.base import (
    CacheState,
    Limit,
    Measurement,
    Purge,
    Stimulus,
    Target,
    TargetError,
    Watcher,
)
from opennandlab.targets.consent import NONE, Consent
from opennandlab.targets.names import NOT_REGULAR, check_name

ACCEPTED = (
    "accepted: sim:PRESET|FILE, file:PATH[?size=1GiB], /dev/…, nbd+unix:///EXPORT?socket=PATH"
)
SECTOR_BYTES = 512


@dataclass(frozen=True)
class Request:
    """What a user asked for.

    Args:
        text: As in `--target`.
        overrides: Keys of a simulated device, by dotted path.
        seed: Seed of what is drawn when a simulated drive is made.
        consent: What may be lost on a real one.
        folder: Where fio's job files and outputs go; None for a temporary place.
        shrink: What a simulated drive is divided by, `auto` or a number; None for nothing.
        state: State of a simulated drive before the test; None for one from the factory.
    """

    text: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 42
    consent: Consent = NONE
    folder: Path | None = None
    shrink: str | None = None
    state: str | None = None

    @property
    def kind(self) -> str:
        """`sim`, `file`, `device` or `nbd`.

        Raises:
            ConfigError: with what is accepted.
        """
        scheme = self.text.split(":", 1)[0]
        if scheme in {"sim", "file"} and self.text != f"{scheme}:":
            return scheme
        if self.text.startswith("/dev/"):
            return "device"
        if scheme in {"nbd+unix", "nbd"}:
            return "nbd"
        raise ConfigError("target", f"`{self.text}` is not understood; {ACCEPTED}{self._meant}")

    @property
    def _meant(self) -> str:
        """What stands for a drive or file whose scheme was left out."""
        path = Path(self.text)
        if self.text in device_presets() or path.suffix in {".yaml", ".yml"}:
            return f"; did you mean `sim:{self.text}`?"
        return f"; did you mean `file:{self.text}`?" if path.is_file() else ""


def open_target(request: Request) -> Target:
    """Open a target.

    Raises:
        TargetError: when it is refused, and why.
        ConfigError: for a text that names no target, and a device that cannot be built.
    """
    kind = request.kind
    _check_overrides(request)
    if kind == "sim":
        return _simulated(request)
    if kind == "file":
        from opennandlab.targets.file import FileTarget

        path, size_bytes = file_parts(request.text)
        return FileTarget(path, size_bytes, consent=request.consent, folder=request.folder)
    if kind == "device":
        from opennandlab.targets.device import DeviceTarget

        return DeviceTarget(request.text, consent=request.consent, folder=request.folder)
    from opennandlab.targets.nbd import NbdTarget

    return NbdTarget(request.text, consent=request.consent, folder=request.folder)


def sketch(request: Request) -> Target:
    """Return a target of the same kind and size that does nothing.

    Raises:
        TargetError: when its size cannot be found out.
        ConfigError: for a simulated device that cannot be built.
    """
    kind = request.kind
    _check_overrides(request)
    if kind == "sim":
        return _simulated(request)
    if kind == "file":
        path, size_bytes = file_parts(request.text)
        check_name(str(path))
        size_bytes = _held_bytes(request.text, path) or size_bytes
        if size_bytes is None:
            raise TargetError(
                f"{request.text}: there is no such file; file:{path}?size=1GiB makes one"
            )
        return Sketch(kind, request.text, size_bytes, SECTOR_BYTES)
    if kind == "device":
        from opennandlab.targets.probe import Probe
        from opennandlab.targets.safety import known_block

        block = known_block(request.text, Probe())
        return Sketch(kind, request.text, block.size_bytes, block.sector_bytes)
    from opennandlab.targets.nbd_wire import negotiate, parse_address

    export = negotiate(parse_address(request.text))
    return Sketch(kind, request.text, export.size_bytes, SECTOR_BYTES)


def _held_bytes(text: str, path: Path) -> int:
    """Return the size of a regular file; 0 when there is nothing.

    Raises:
        TargetError: for anything else.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise TargetError(f"{text}: {error.strerror or error}") from error
    if not stat.S_ISREG(found.st_mode):
        raise TargetError(f"{text}: {NOT_REGULAR}")
    return found.st_size


def file_parts(text: str) -> tuple[Path, int | None]:
    """Return path and size of `file:PATH?size=1GiB`; None without a size.

    Raises:
        ConfigError: for an invalid size, and for other parameters.

    >>> file_parts("file:big.img?size=1GiB")
    (PosixPath('big.img'), 1073741824)
    """
    name, mark, query = text.removeprefix("file:").partition("?")
    if not name:
        raise ConfigError("target", f"`{text}` names no file; {ACCEPTED}")
    if not mark:
        return Path(name), None
    key, _, value = query.partition("=")
    if key != "size":
        raise ConfigError("target", f"`{text}`: `{key}` is not known; accepted: size")
    return Path(name), parse_bytes(value)


def _simulated(request: Request) -> Target:
    from opennandlab.targets.simulated import SimulatedTarget

    source = request.text.removeprefix("sim:")
    document = read_other(source)
    if document is not None:
        return _other(request, source, document)
    return SimulatedTarget(
        source,
        request.overrides,
        seed=request.seed,
        name=request.text,
        shrink=request.shrink,
        state=request.state,
    )


def _other(request: Request, source: str, document: dict[str, Any]) -> Target:
    """Open a disc or an array.

    Raises:
        ConfigError: for one that is invalid, and for arrays of arrays.
    """
    from opennandlab.targets.disc import DiscTarget

    if request.shrink:
        raise ConfigError("--shrink", f"divides flash drives only, not {request.text}")
    if request.state:
        raise ConfigError("state", f"is for one flash drive, not for {request.text}")
    for path, value in request.overrides.items():
        set_path(document, path, value)
    model = Path(source).name
    if ARRAY not in document:
        return DiscTarget(document, model, request.text)
    from opennandlab.targets.array import ArrayTarget
    from opennandlab.targets.simulated import SimulatedTarget

    def open_member(text: str, number: int) -> DiscTarget | SimulatedTarget:
        member = read_other(text)
        if member is None:
            seed = request.seed + number
            return SimulatedTarget(text, seed=seed, name=request.text)
        if ARRAY in member:
            raise ConfigError(
                "array.members", f"`{text}` is an array of drives; accepted: a single drive"
            )
        return DiscTarget(member, text, request.text)

    return ArrayTarget(document, model, request.text, open_member)


def _check_overrides(request: Request) -> None:
    if request.shrink and request.kind != "sim":
        raise ConfigError("--shrink", f"divides simulated drives only, not {request.text}")
    if request.state and request.kind != "sim":
        raise ConfigError("state", f"is for simulated drives only, not for {request.text}")
    if request.overrides and request.kind != "sim":
        raise ConfigError("set", f"changes simulated drives only, not {request.text}")


class Sketch(Target):
    """A target of which only the size is known.

    Args:
        kind: `file`, `device` or `nbd`.
        name: As the user named it.
        capacity_bytes: Its size.
        sector_bytes: Its smallest request.
    """

    is_virtual = False

    def __init__(self, kind: str, name: str, capacity_bytes: int, sector_bytes: int) -> None:
        """Know the size."""
        self.kind = kind  # type: ignore[misc]
        self.name = name
        self.capacity_bytes = capacity_bytes
        self.sector_bytes = sector_bytes

    def facts(self) -> pts_header.Target:
        """Return its size; nothing else is known of it."""
        device = pts_header.DeviceFacts(
            vendor=None,
            model=None,
            firmware=None,
            serial_sha256=None,
            capacity_bytes=self.capacity_bytes,
            sector_bytes=self.sector_bytes,
            nand_type=None,
            interface=None,
        )
        return pts_header.Target(kind=self.kind, name=self.name, device=device, platform={})

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Refuse."""
        del enabled
        raise self._refusal()

    def purge(self) -> Purge:
        """Refuse."""
        raise self._refusal()

    def run(  # noqa: PLR0913 (all but two by name)
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        seed: int,
        sample_s: float | None = None,
        is_measured: bool = True,
        watch: Watcher | None = None,
    ) -> Measurement:
        """Refuse."""
        del stimulus, limit, seed, sample_s, is_measured, watch
        raise self._refusal()

    def idle(self, seconds: float) -> None:
        """Refuse."""
        del seconds
        raise self._refusal()

    def close(self) -> None:
        """Hold nothing."""

    def _refusal(self) -> TargetError:
        return TargetError(f"{self.name}: this is only a plan")
