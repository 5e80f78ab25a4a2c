"""Serving a drive: from a device or an image, until it is stopped, and back to an image.

```text
device ─► fresh drive ─┐                       ┌─► image, with what the pages hold
image ── lock, bytes ──┴─► server of the core ─┴─► record of the requests, result
```
One server at a time has an image, under all of its names: locks are held from before it is read
until it was saved. Image and record are written next to their targets and renamed over them, whole
or not at all.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from opennandlab import _core
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError, ImageError, OutputError, WriteError
from opennandlab.base.files import check_writable
from opennandlab.base.lock import lock
from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.core.images import drive_of, read_image
from opennandlab.core.memory import check_memory
from opennandlab.documents.record import made
from opennandlab.documents.served import SCHEMA, ServedDocument
from opennandlab.policies.source import named_in
from opennandlab.serving import names
from opennandlab.serving.power import Switch
from opennandlab.serving.record import rewrite
from opennandlab.serving.saver import Saver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCALE_MAX: Final = 1e6
PERIOD_S_MAX: Final = 1e6
# Of what is written next to its target.
PART: Final = ".served.tmp"
# What the document says of this machine and this hour, and no digest depends on.
OF_THE_RUN = ("lateness_us", "latency_us", "response_us", "wall_ns", "connections", "accepted",
              "rejected")  # fmt: skip


def timing_scale(text: str) -> float | None:
    """Return how many times slower than its model a drive is to be; None for as fast as can be.

    Raises:
        ConfigError: for anything but `real`, `off` and `scaled:K`.

    >>> timing_scale("real"), timing_scale("off"), timing_scale("scaled:0.1")
    (1.0, None, 0.1)
    """
    if text in {"real", "off"}:
        return 1.0 if text == "real" else None
    kind, _, factor = text.partition(":")
    with contextlib.suppress(ValueError):
        scale = float(factor)
        if kind == "scaled" and 1 / SCALE_MAX <= scale <= SCALE_MAX:
            return scale
    raise ConfigError(
        "timing", f"`{text}`; accepted: `real`, `off`, and `scaled:K` with K from 1e-6 to 1e6"
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be served, where, and what is left of it.

    Args:
        device: The drive, fresh; None when `image` brings one.
        image: A saved drive, which is also saved again in the end.
        save_image: Where it is saved instead.
        seed: Seed of all randomness.
        timing: `real`, `off` or `scaled:K`.
        socket: Path of the Unix socket.
        tcp: `ADDRESS:PORT`.
        nvme: `ADDRESS:PORT` of NVMe over TCP.
        nqn: Name of its subsystem; None: made of device, seed and port.
        serial: Serial number; None: made of the name.
        lba: Bytes of a block of its namespaces; None: as formatted before, or 4096.
        namespaces: Their shares, such as `25%,75%`; None: one, or those of the device.
        multipath: Whether hosts may have several controllers of its subsystem.
        any_address: Whether addresses may be others than loopback.
        read_only: Whether writes are refused.
        record: File of the requests.
        record_data: File of what changes the drive, with its bytes.
        save_every: Seconds between two saves while it is served; None: it is saved in the end.
        power_socket: Where the switch of its power is; None: the power never fails.
    """

    device: DeviceConfig | None = None
    image: Path | None = None
    save_image: Path | None = None
    seed: int = 42
    timing: str = "real"
    socket: Path | None = None
    tcp: str | None = None
    nvme: str | None = None
    nqn: str | None = None
    serial: str | None = None
    lba: int | None = None
    namespaces: str | None = None
    multipath: bool = False
    any_address: bool = False
    read_only: bool = False
    save_every: float | None = None
    record: Path | None = None
    record_data: Path | None = None
    power_socket: Path | None = None

    @property
    def saved_to(self) -> Path | None:
        """Where the drive is saved in the end."""
        return self.save_image or (None if self.read_only else self.image)


class Served:
    """A drive that is being served.

    Args:
        plan: What and where.

    Raises:
        ConfigError: for a plan that is invalid; nothing was made then.
        ImageError: for an image that cannot be read.
        OutputError: for files that could not be written later.

    Attributes:
        warnings: Sentences for the user.
    """

    def __init__(self, plan: Plan) -> None:
        """Take the drive and begin to serve it."""
        self.plan = plan
        self.warnings: list[str] = []
        scale = timing_scale(plan.timing)
        if plan.socket is None and plan.tcp is None and plan.nvme is None:
            message = "give --socket PATH, --tcp 127.0.0.1:PORT or --nvme 127.0.0.1:PORT"
            raise ConfigError("socket", message)
        if (plan.device is None) == (plan.image is None):
            raise ConfigError("image", "give either --config or --image")
        if plan.power_socket is not None and scale is None:
            message = "without a clock nothing is under way: give --timing real or scaled:K"
            raise ConfigError("power-socket", message)
        _check_saving(plan)
        for path in (plan.saved_to, plan.record, plan.record_data):
            if path is not None:
                check_writable(path)
                _check_file(path)
        with contextlib.ExitStack() as stack:
            images = (plan.image, plan.saved_to)
            stack.enter_context(locked(*(path for path in images if path is not None)))
            self._record = stack.enter_context(_beside(plan.record)) if plan.record else None
            data = plan.record_data
            self._data = stack.enter_context(_beside(data)) if data else None
            image = None if plan.image is None else read_image(plan.image)
            self.device, drive = _drive(plan, image)
            self.warnings += _without_effect(self.device)
            try:
                self._core = _core.Server(
                    drive,
                    image,
                    scale,
                    None if plan.socket is None else os.fspath(plan.socket),
                    plan.tcp,
                    any_address=plan.any_address,
                    read_only=plan.read_only,
                    record=None if self._record is None else os.fspath(self._record),
                    capture=None if self._data is None else os.fspath(self._data),
                    supply=None if plan.power_socket is None else plan.seed,
                    nvme=self._nvme(),
                )
            except ImageError as error:
                raise ImageError(f"{plan.image}: {error}") from error
            if plan.power_socket is not None:
                try:
                    switch = Switch(plan.power_socket, self._core.power_off, self._core.power_on)
                except OutputError:
                    self._core.stop()
                    raise
                stack.callback(switch.close)
            self._hold_name(stack)
            self._saver = None
            if plan.save_every is not None and plan.saved_to is not None:
                save = functools.partial(self._save_now, plan.saved_to)
                self._saver = Saver(plan.save_every, save)
            self._stack = stack.pop_all()

    def _hold_name(self, stack: contextlib.ExitStack) -> None:
        """Warn of another server that has the name of this one."""
        nvme = self._core.nvme()
        if nvme is None:
            return
        holder = names.hold(nvme[1])
        if holder is not None:
            stack.callback(holder.close)
            return
        self.warnings.append(
            f"another server of this machine is {nvme[1]} too, and its identifiers are the same: "
            "a host that is connected to one drops the namespace of the other; accepted: another "
            "--nqn"
        )

    def _nvme(self) -> dict[str, Any] | None:
        """Return what the door for NVMe is made of."""
        plan = self.plan
        if plan.nvme is None:
            return None
        return {
            "address": plan.nvme,
            "nqn": plan.nqn,
            "serial": plan.serial,
            "model": f"opennandlab {self.device.name}",
            "block_bytes": plan.lba,
            "namespaces": plan.namespaces,
            "multipath": plan.multipath,
            "seed": f"{digest(self.device.to_dict())}, seed {plan.seed}",
        }

    @property
    def uris(self) -> list[str]:
        """Where clients find it."""
        found = []
        if self.plan.socket is not None:
            path = quote(os.fspath(self.plan.socket.absolute()), safe="/")
            found.append(f"nbd+unix:///?socket={path}")
        address = self._core.tcp()
        if address is not None:
            found.append(f"nbd://{address}")
        nvme = self._core.nvme()
        if nvme is not None:
            found.append("nvme+tcp://{}/{}".format(*nvme))
        return found

    @property
    def save_problem(self) -> str | None:
        """What kept the last save while serving from being done."""
        return None if self._saver is None else self._saver.problem

    def status(self) -> dict[str, Any]:
        """Return what was done so far: requests, times, counters of the drive."""
        status: dict[str, Any] = json.loads(self._core.status())
        return status

    def stop(self) -> ServedDocument:
        """End all connections, save drive and record, and say what was done.

        Raises:
            WriteError: when image or record could not be written; what could be, was.
        """
        with self._stack:
            if self._saver is not None:
                self._saver.stop()
            text, unrecorded = self._core.stop()
            contradiction = self._core.audit()
            problems = [
                *_problems(self.plan.saved_to, self._save),
                *_problems(self.plan.record, lambda target: self._keep(target, unrecorded)),
                *_problems(self.plan.record_data, lambda target: self._keep(target, unrecorded)),
            ]
        if problems:
            raise WriteError("; ".join(problems))
        return self._document(json.loads(text), contradiction)

    def _save_now(self, target: Path) -> str | None:
        """Save the drive as it is; return what kept it from being saved."""
        try:
            with _beside(target) as path:
                _, _, problem = self._core.save_now(os.fspath(path))
                if problem is None:
                    _rename(path, target)
        except OutputError as error:
            return str(error)
        return None if problem is None else f"cannot write {target}: {problem}"

    def _save(self, target: Path) -> None:
        with _beside(target) as path:
            problem = self._core.save(os.fspath(path))
            if problem is not None:
                raise WriteError(f"cannot write {target}: {problem}; what was there stays")
            _rename(path, target)

    def _keep(self, target: Path, unrecorded: str | None) -> None:
        """Put what was recorded in its place."""
        part = self._data if target is self.plan.record_data else self._record
        if unrecorded is not None:
            raise WriteError(f"cannot write {target}: {unrecorded}")
        if part is not None:
            try:
                if target is self.plan.record:
                    rewrite(part, target.suffix)
            except OSError as error:
                raise WriteError(f"cannot write {target}: {error.strerror or error}") from error
            _rename(part, target)

    def _document(self, status: dict[str, Any], contradiction: str | None) -> ServedDocument:
        run = {name: status.pop(name) for name in OF_THE_RUN}
        drive = status["drive"]
        names = ("media_errors", "media_errors_by_cause", "silent_errors", "faults_struck")
        # The audit, which gives the contradiction, examines these counters too.
        del drive["unaccounted"]
        checks = {"contradiction": contradiction, **{name: drive.pop(name) for name in names}}
        is_explained = checks["faults_struck"] > 0
        is_true = checks["media_errors"] == checks["silent_errors"] == 0
        checks["passed"] = contradiction is None and (is_true or is_explained)
        document = {
            "schema": SCHEMA,
            "device": self.device.to_dict(),
            "seed": self.plan.seed,
            "timing": self.plan.timing,
            "read_only": self.plan.read_only,
            **status,
            "checks": checks,
            "passed": checks["passed"],
            "run": run,
        }
        return made({**document, "digest": digest(document)}, ServedDocument)


def _check_saving(plan: Plan) -> None:
    """Refuse periods that are invalid, and saves without a file.

    Raises:
        ConfigError: for a period that is invalid.
    """
    if plan.save_every is None:
        return
    if not 0 < plan.save_every <= PERIOD_S_MAX:
        message = f"{plan.save_every:g}; accepted: more than 0, at most {PERIOD_S_MAX:g} seconds"
        raise ConfigError("save-every", message)
    if plan.saved_to is None:
        raise ConfigError("save-every", "nothing is saved: give --save-image FILE as well")


def _problems(target: Path | None, write: Callable[[Path], None]) -> list[str]:
    """Write a file where one is wanted; return what kept it from being written."""
    try:
        if target is not None:
            write(target)
    except OutputError as error:
        return [str(error)]
    return []


def _without_effect(device: DeviceConfig) -> list[str]:
    if device.to_dict()["host"].get("max_transfer_bytes") is None:
        return []
    message = "has no effect: the host of a served drive splits its requests by itself"
    return [f"host.max_transfer_bytes {message}"]


def _drive(plan: Plan, image: bytes | None) -> tuple[DeviceConfig, _core.Drive]:
    if image is not None:
        drive = drive_of(image, plan.seed, plan.image or "image")
        device = DeviceConfig(drive.device(), Path(plan.image or "").name)
        with named_in(plan.image or "image", is_record=True):
            return device, device.consulted(drive)
    device = load_device(plan.device or "config")
    check_memory(device)
    return device, device.drive(plan.seed)


@contextlib.contextmanager
def locked(*paths: Path) -> Iterator[None]:
    """Keep other servers away from images, whatever names they have.

    A lock next to the resolved file keeps its name, also while another file is renamed over it; one
    on the file itself is met through a hard link too. Both end with this process, however it ends.

    Raises:
        ConfigError: when another server has one of them.
        OutputError: when no lock can be made next to it.
    """
    with contextlib.ExitStack() as stack:
        held: set[tuple[int, int]] = set()
        for real, path in {Path(os.path.realpath(path)): path for path in paths}.items():
            beside = real.with_name(f".{real.name}.lock")
            try:
                handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                reason = error.strerror or error
                raise OutputError(f"cannot lock {path}: {beside}: {reason}") from error
            stack.callback(os.close, handle)
            _take(handle, path)
            # Who had it before may have removed the file between our two calls.
            if not beside.exists() or os.fstat(handle).st_ino != beside.stat().st_ino:
                raise _served(path)
            stack.callback(beside.unlink, missing_ok=True)
            with contextlib.suppress(FileNotFoundError, PermissionError):  # told when it is read
                handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                stack.callback(os.close, handle)
                found = os.fstat(handle)
                if (found.st_dev, found.st_ino) not in held:
                    _take(handle, path)
                    held.add((found.st_dev, found.st_ino))
            # What a server that was killed while it saved has left: no other can be at it now.
            for part in real.parent.glob(f".{glob.escape(real.name)}.*{PART}"):
                part.unlink(missing_ok=True)
        yield


def _take(handle: int, path: Path) -> None:
    """Lock an open file.

    Raises:
        ConfigError: when another process has the lock.
    """
    if not lock(handle):
        raise _served(path)


def _served(path: Path) -> ConfigError:
    return ConfigError("image", f"{path} is being served by another process")


def _check_file(path: Path) -> None:
    """Refuse what is there and no file: a rename would put a file in the place of a device.

    Raises:
        OutputError: for a device, a pipe or a socket, such as `/dev/null`.
    """
    real = Path(os.path.realpath(path))
    if real.exists() and not real.is_file():
        raise OutputError(f"cannot write {path}: it is not a file, and must not be replaced by one")


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Give the name of a file next to `target`, which is removed unless it was renamed."""
    real = Path(os.path.realpath(target))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{real.name}.", suffix=PART, dir=real.parent)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _rename(path: Path, target: Path) -> None:
    _check_file(target)
    try:
        path.replace(os.path.realpath(target))
    except OSError as error:
        raise WriteError(f"cannot write {target}: {error.strerror or error}") from error
