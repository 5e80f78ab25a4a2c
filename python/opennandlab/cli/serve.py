"""`serve`: a simulated drive as a disk that can be mounted."""

import ctypes
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import AllowCode, Json, Quiet, Seed, Sets

if TYPE_CHECKING:
    from opennandlab.serving.server import Served

STATUS_PERIOD_S = 1.0
# M_ARENA_MAX, M_TOP_PAD and M_TRIM_THRESHOLD of glibc: one heap, steps of 64 MiB, 1 GiB kept.
MALLOC_OPTIONS = ((-8, 1), (-2, 64 << 20), (-1, 1 << 30))


def serve(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Option("--config", "-c", metavar="PRESET|FILE", help="A fresh drive of this device."),
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option("--image", metavar="FILE", help="A saved drive; saved again in the end."),
    ] = None,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="Unix socket, for its owner alone."),
    ] = None,
    tcp: Annotated[
        str | None,
        typer.Option("--tcp", metavar="127.0.0.1:PORT", help="A port; 0 for a free one."),
    ] = None,
    any_address: Annotated[
        bool,
        typer.Option("--any-address", help="Let --tcp be an address that other machines reach."),
    ] = False,
    timing: Annotated[
        str,
        typer.Option(
            "--timing",
            metavar="real|off|scaled:K",
            help="As fast as the model says, as this machine can, or K times slower than that.",
        ),
    ] = "real",
    read_only: Annotated[
        bool, typer.Option("--readonly", help="Refuse writes, and save nothing by default.")
    ] = False,
    save_image: Annotated[
        Path | None,
        typer.Option("--save-image", metavar="FILE", help="Save the drive here in the end."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Record every request: a table, or what fio (.iolog) or blkparse (.blkparse) "
            "write, by the ending of the name.",
        ),
    ] = None,
    record_data: Annotated[
        Path | None,
        typer.Option(
            "--record-data",
            metavar="FILE",
            help="Keep writes with their bytes, flushes and trims in order: for `power files`.",
        ),
    ] = None,
    power_socket: Annotated[
        Path | None,
        typer.Option(
            "--power-socket",
            metavar="PATH",
            help="Unix socket of a power switch, which `power cut --socket PATH` turns.",
        ),
    ] = None,
    result: Annotated[
        Path | None,
        typer.Option("--result", metavar="FILE", help="What was done, as a document (JSON)."),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Print a line a second on stderr.")
    ] = False,
    seed: Seed = 42,
    settings: Sets = None,
    as_json: Json = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Serve a simulated drive over NBD until SIGTERM or Ctrl-C; then save it and exit with 0."""
    with terminal.guard(as_json=as_json, allow_code=allow_code):
        from opennandlab.base.canonical import readable_json
        from opennandlab.base.errors import ConfigError
        from opennandlab.base.files import write_atomically
        from opennandlab.core.config import own_device
        from opennandlab.documents.record import plain
        from opennandlab.serving.server import Plan, Served

        if tcp is None:
            terminal.refuse_given(context, ["any_address"], "without --tcp")
        device_sets, workload_sets = terminal.split_sets(settings)
        if workload_sets or (device_sets and image is not None):
            raise ConfigError("set", "--set changes the device of --config")
        outputs = {
            "--record": record,
            "--record-data": record_data,
            "--result": result,
            "--save-image": save_image,
        }
        terminal.check_outputs(outputs, terminal.read_files(config, None))
        device = None
        if image is None or config is not None:
            device = own_device(config or "config", device_sets)
        _use_one_heap()
        plan = Plan(
            device=device,
            image=image,
            save_image=save_image,
            seed=seed,
            timing=timing,
            socket=socket,
            tcp=tcp,
            any_address=any_address,
            read_only=read_only,
            record=record,
            record_data=record_data,
            power_socket=power_socket,
        )
        stopping = {signal.SIGTERM, signal.SIGINT}
        # Before the server has threads: they inherit it, and the signals wait for us.
        signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
        served = Served(plan)
        for uri in served.uris:
            if as_json:
                terminal.note(f"ready {uri}")
            else:
                sys.stdout.write(f"ready {uri}\n")
                sys.stdout.flush()
        _wait(served, stopping, is_shown=status and not quiet)
        document = served.stop()
        content = plain(document)
        if result is not None:
            write_atomically(result, readable_json(content).encode())
        if as_json:
            terminal.emit_json(content)
        elif not quiet:
            terminal.note(_summary(content))
        if not document.passed:
            terminal.stop(terminal.FAILED, "the drive and what it holds disagree; see `checks`")


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
    before = served.status()
    while signal.sigtimedwait(stopping, STATUS_PERIOD_S) is None:
        now = served.status()
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
