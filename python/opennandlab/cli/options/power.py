"""Options of `power run`, on a drive of this process or another one, and those that all share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from opennandlab.cli.options.common import Jobs, Printed, Seed, Sets
from opennandlab.cli.options.rows import flag

READY_MS = 10_000.0

Output = Annotated[
    Path, flag("Where files go.", "--output", "-o", metavar="DIR", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class RunOptions(Printed):
    """Options of `run`."""

    output: Output
    config: Annotated[
        str | None,
        flag(
            "The drive; default: one of 64 MiB with four dies.",
            "-c",
            metavar="PRESET|FILE",
            show_default=False,
        ),
    ] = None
    cuts: Annotated[int, flag("Number of cuts; rounded up to whole lives of 50.")] = 3000
    workload: Annotated[
        list[str] | None,
        flag(
            "random, sequential, sync, trim or hot; default: all. May be repeated.",
            "-w",
            metavar="NAME",
        ),
    ] = None
    at: Annotated[
        list[str] | None,
        flag(
            "random, gc, erase, journal, checkpoint, upper_page, plp_dump or recovery; default: "
            "all. May be repeated.",
            metavar="MOMENT",
        ),
    ] = None
    claims: Annotated[
        str | None,
        flag(
            "Promises of the drive: honest-flush, plp, ordered, rzat; default: those that follow "
            "from its options.",
            metavar="A,B",
            show_default=False,
        ),
    ] = None
    settings: Sets = None
    fit: Annotated[
        bool,
        flag(
            "Cut a small copy of the drive, such as of a preset, without mechanisms that cannot "
            "be cut; each change is reported.",
        ),
    ] = False
    limit_ms: Annotated[
        float, flag("Time from power-on to ready; a longer one counts as slow.", "--ready-ms")
    ] = READY_MS
    seed: Seed = 42
    jobs: Jobs = None
    target: Annotated[
        str | None,
        flag(
            "A drive that is served: nbd+unix:///?socket=PATH, nbd://HOST:PORT/EXPORT, "
            "nvme+tcp://HOST:PORT/NQN.",
            metavar="URI",
        ),
    ] = None
    disk: Annotated[str | None, flag("A whole block device.", "--device", metavar="/dev/…")] = None
    power_off: Annotated[
        str | None, flag("Command that cuts the power of that drive.", metavar="COMMAND")
    ] = None
    power_on: Annotated[
        str | None, flag("Command that turns the power on again.", metavar="COMMAND")
    ] = None
    power_socket: Annotated[
        Path | None, flag("Instead of both: the socket of `serve --power-socket`.", metavar="PATH")
    ] = None
    switch_s: Annotated[float, flag("Time that each of these commands may take, seconds.")] = 60.0
    span_mib: Annotated[int, flag("MiB from the beginning of that drive that are written.")] = 64
    atomic_bytes: Annotated[int, flag("Bytes that the drive writes whole or not at all.")] = 4096
    after_ms: Annotated[
        str, flag("Range from which the time of each cut is drawn.", metavar="FROM:TO")
    ] = "50:500"
    destructive: Annotated[bool, flag("Allow all data on it to be destroyed.")] = False
    i_know: Annotated[
        str | None, flag("Serial number or name of the device.", metavar="SERIAL|NAME")
    ] = None
    force: Annotated[bool, flag("Overwrite a partition table or file system.")] = False

    @property
    def address(self) -> str:
        """Address or path of a drive outside of this process."""
        return str(self.target or self.disk)
