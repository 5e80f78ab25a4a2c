"""`serve`: a simulated drive as a disk that can be mounted, or a raw chip."""

import ctypes
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import AllowCode, Json, Quiet, Seed, Sets
from opennandlab.cli.options.rows import Options, flag

if TYPE_CHECKING:
    from opennandlab._core import RawNand
    from opennandlab.serving.server import Served

STATUS_PERIOD_S = 1.0
# Options of drives, which raw chips do not have.
OF_DRIVES = (
    "config", "any_address", "timing", "read_only", "record", "record_data", "power_socket",
    "result", "status", "allow_code", "save_every", "nvme", "nqn", "serial", "lba", "namespaces",
    "multipath",
)  # fmt: skip
# Options of drives that the server takes as they are.
OF_PLAN = (
    "image", "save_image", "seed", "timing", "socket", "tcp", "nvme", "nqn", "serial", "lba",
    "namespaces", "multipath", "any_address", "read_only", "record", "record_data", "power_socket",
    "save_every",
)  # fmt: skip
# M_ARENA_MAX, M_TOP_PAD and M_TRIM_THRESHOLD of glibc: one heap, steps of 64 MiB, 1 GiB kept.
MALLOC_OPTIONS = ((-8, 1), (-2, 64 << 20), (-1, 1 << 30))


@dataclass(frozen=True, kw_only=True)
class ServeOptions(Options):
    """Options of `serve`."""

    config: Annotated[
        str | None, flag("Serve a fresh drive of this device.", "-c", metavar="PRESET|FILE")
    ] = None
    image: Annotated[
        Path | None, flag("A saved drive to continue from; saved again at the end.", metavar="FILE")
    ] = None
    raw_nand: Annotated[
        str | None,
        flag(
            "Serve a raw chip instead, described by a file of its keys; --image is a dump.",
            metavar="FILE|default",
        ),
    ] = None
    socket: Annotated[
        Path | None, flag("Unix socket, accessible to its owner only.", metavar="PATH")
    ] = None
    tcp: Annotated[str | None, flag("A port; 0 for a free one.", metavar="127.0.0.1:PORT")] = None
    nvme: Annotated[
        str | None, flag("NVMe over TCP: a port; 0 for a free one.", metavar="127.0.0.1:PORT")
    ] = None
    nqn: Annotated[
        str | None, flag("Name of the NVMe subsystem; default: derived from the drive.")
    ] = None
    serial: Annotated[
        str | None, flag("Serial number of the NVMe drive; default: derived from its name.")
    ] = None
    lba: Annotated[
        int | None,
        flag(
            "Block size of the NVMe namespaces, bytes; default: as formatted before, or 4096.",
            metavar="4096|512",
        ),
    ] = None
    namespaces: Annotated[
        str | None,
        flag("NVMe namespaces by their shares of the drive; default: one.", metavar="25%,75%"),
    ] = None
    multipath: Annotated[
        bool, flag("Let NVMe hosts connect several controllers, as paths to one drive.")
    ] = False
    any_address: Annotated[
        bool, flag("Allow --tcp and --nvme addresses that other machines can reach.")
    ] = False
    timing: Annotated[
        str,
        flag(
            "As fast as the model, as fast as this machine can, or K times slower than the model.",
            metavar="real|off|scaled:K",
        ),
    ] = "real"
    read_only: Annotated[
        bool, flag("Refuse writes, and save nothing by default.", "--readonly")
    ] = False
    save_image: Annotated[Path | None, flag("Save the drive here at the end.", metavar="FILE")] = (
        None
    )
    save_every: Annotated[
        float | None,
        flag("Save the drive at this interval while it is served.", metavar="SECONDS"),
    ] = None
    record: Annotated[
        Path | None,
        flag(
            "Record every request: a table, or what fio (.iolog) or blkparse (.blkparse) write, "
            "by the ending of the name.",
            metavar="FILE",
        ),
    ] = None
    record_data: Annotated[
        Path | None,
        flag(
            "Keep writes with their bytes, flushes and trims in order: for `power files`.",
            metavar="FILE",
        ),
    ] = None
    power_socket: Annotated[
        Path | None,
        flag(
            "Unix socket of a power switch, which `power cut --socket PATH` turns.", metavar="PATH"
        ),
    ] = None
    result: Annotated[
        Path | None, flag("Document of the requests that were served (JSON).", metavar="FILE")
    ] = None
    status: Annotated[bool, flag("Print a line a second on stderr.")] = False
    seed: Seed = 42
    settings: Sets = None
    as_json: Json = False
    quiet: Quiet = False
    allow_code: AllowCode = False


def serve(given: ServeOptions) -> None:
    """Serve a drive over NBD or NVMe until SIGTERM or Ctrl-C; then save it and exit with 0."""
    if given.raw_nand is None:
        _serve_drive(given)
    else:
        _serve_raw(given, given.raw_nand)


def _serve_drive(given: ServeOptions) -> None:
    from opennandlab.base.canonical import readable_json
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import write_atomically
    from opennandlab.core.config import own_device
    from opennandlab.documents.record import plain
    from opennandlab.serving.server import Plan, Served

    _refuse_unheard(given)
    device_sets, workload_sets = terminal.split_sets(given.settings)
    if workload_sets or (device_sets and given.image is not None):
        raise ConfigError("set", "--set changes the device of --config")
    outputs = {
        "--record": given.record,
        "--record-data": given.record_data,
        "--result": given.result,
        "--save-image": given.save_image,
    }
    read = {**terminal.read_files(given.config, None), "the socket": given.socket}
    terminal.check_outputs(outputs, read)
    device = None
    if given.image is None or given.config is not None:
        device = own_device(given.config or "config", device_sets)
    _use_one_heap()
    plan = Plan(device=device, **{key: getattr(given, key) for key in OF_PLAN})
    stopping = {signal.SIGTERM, signal.SIGINT}
    # Before the server has threads: they inherit it, and the signals wait for us.
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    served = Served(plan)
    for warning in served.warnings:
        terminal.note(f"warning: {warning}", style="yellow")
    for uri in served.uris:
        if given.as_json:
            terminal.note(f"ready {uri}")
        else:
            sys.stdout.write(f"ready {uri}\n")
            sys.stdout.flush()
    _wait(served, stopping, is_shown=given.status and not given.quiet)
    document = served.stop()
    content = plain(document)
    if given.result is not None:
        write_atomically(given.result, readable_json(content).encode())
    if given.as_json:
        terminal.emit_json(content)
    elif not given.quiet:
        terminal.note(_summary(content))
    if not document.passed:
        terminal.stop(terminal.FAILED, "the drive and what it holds disagree; see `checks`")


def _refuse_unheard(given: ServeOptions) -> None:
    """Refuse options of a door that does not exist.

    Raises:
        ConfigError: for the first of them.
    """
    if given.nvme is None:
        given.refuse(["nqn", "serial", "lba", "namespaces", "multipath"], "without --nvme")
        if given.tcp is None:
            given.refuse(["any_address"], "without --tcp or --nvme")


def _use_one_heap() -> None:
    """Let all threads allocate from one heap that grows and shrinks in large steps.

    What clients write is allocated a map unit at a time. The heaps that the C library gives to
    threads grow by a page and a system call each time: a fifth of what a first write costs.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "gnu_get_libc_version"):
        for option, value in MALLOC_OPTIONS:
            libc.mallopt(option, value)


def _wait(served: "Served", stopping: set[signal.Signals], *, is_shown: bool) -> None:
    """Return when a signal came; show what happens meanwhile."""
    before, problem = served.status(), None
    while signal.sigtimedwait(stopping, STATUS_PERIOD_S) is None:
        now = served.status()
        if served.save_problem not in {None, problem}:
            terminal.note(f"{served.save_problem}; the last save stays")
        problem = served.save_problem
        if is_shown:
            terminal.note(_line(before, now))
        before = now


def _line(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Say what happened between two looks."""
    seconds = max((now["wall_ns"] - before["wall_ns"]) / 1e9, 1e-9)
    requests = sum(now["requests"].values()) - sum(before["requests"].values())
    drive = now["drive"]
    mean = now["response_us"]["mean"]
    waf = drive["waf"]
    return (
        f"{requests / seconds:8.0f} IOPS  {'-' if mean is None else f'{mean:.0f}'} us  "
        f"WAF {'-' if waf is None else f'{waf:.2f}'}  {drive['free_blocks']} free blocks  "
        f"{drive['collections']} collections"
    )


def _summary(content: dict[str, Any]) -> str:
    requests, drive = content["requests"], content["drive"]
    return (
        f"served {requests['read']} reads, {requests['write']} writes, {requests['flush']} flushes "
        f"and {requests['trim']} trims; {drive['collections']} collections"
    )


def _serve_raw(given: ServeOptions, described: str) -> None:
    """Serve a chip until SIGTERM or Ctrl-C, and save its image.

    Args:
        given: Options of `serve`.
        described: YAML file of the options of a chip, or `default`.
    """
    from opennandlab import _core
    from opennandlab.base.errors import ConfigError
    from opennandlab.serving.server import locked

    given.refuse(OF_DRIVES, "with --raw-nand")
    if given.socket is None and given.tcp is None:
        raise ConfigError("socket", "give --socket PATH, or --tcp 127.0.0.1:PORT")
    target = given.save_image or given.image
    chip_file = None if described == "default" else Path(described)
    read = {"the file of the chip": chip_file, "the socket": given.socket}
    terminal.check_outputs({"--save-image": target}, read)
    stopping = {signal.SIGTERM, signal.SIGINT}
    with locked(*(path for path in (given.image, target) if path is not None)):
        chip = _chip(given, described)
        # Before the server has threads: they inherit it, and the signals wait for us.
        signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
        server = _core.RawServer(chip, given.socket, given.tcp)
        for place in (given.socket, server.tcp()):
            if place is not None and given.as_json:
                terminal.note(f"ready {place}")
            elif place is not None:
                sys.stdout.write(f"ready {place}\n")
        sys.stdout.flush()
        signal.sigwait(stopping)
        server.stop()
        if target is not None:
            chip.save(target)
    stats = chip.stats()
    if given.as_json:
        terminal.emit_json(stats)
    elif not given.quiet:
        terminal.note(
            f"{stats['reads']} reads, {stats['programs']} programs, {stats['erases']} erases; "
            f"{stats['corrected_bits']} bits corrected"
        )


def _chip(given: ServeOptions, described: str) -> "RawNand":
    """Return the chip of a file, changed by `--seed` and `--set`."""
    from opennandlab import _core
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import read_yaml
    from opennandlab.core.overrides import parse_overrides, set_path

    options: dict[str, Any] = {} if described == "default" else read_yaml(Path(described))
    if "seed" not in options or given.seed != ServeOptions.seed:
        options["seed"] = given.seed
    for path, value in parse_overrides(given.settings or []).items():
        set_path(options, path, value)
    for key in options:
        if not isinstance(key, str) or key == "image":
            raise ConfigError(described, f"`{key}` is not a key of a chip")
    try:
        json.dumps(options)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            described, f"holds more than numbers, text and mappings: {error}"
        ) from None
    return _core.RawNand(given.image, **options)
