"""`config from-rating`: a device file and its record of a page of a data sheet."""

import json
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.documents.rating import RatingRound
    from opennandlab.studies.rating.making import Rated
    from opennandlab.studies.rating.sheet import Sheet

LARGEST = 1e12


class RatedState(str, Enum):
    """In which state random writes were rated."""

    STEADY = "steady"
    FRESH = "fresh"


@dataclass(frozen=True, kw_only=True)
class RatingOptions(Printed):
    """Options of `from-rating`."""

    capacity: Annotated[str, flag("Advertised capacity, such as 800GB or 1.92TB.")]
    cell: Annotated[str, flag("Cells: MLC, TLC or QLC.", metavar="TYPE")]
    link: Annotated[str, flag("Host link of the measurements, such as pcie4x4.", metavar="KIND")]
    seq_write: Annotated[str, flag("Sequential writes, such as 1400MB/s.", metavar="RATE")]
    rand_write: Annotated[
        float, flag("Random writes of 4 KiB a second.", metavar="IOPS", min=1, max=LARGEST)
    ]
    rand_read: Annotated[
        float, flag("Random reads of 4 KiB a second.", metavar="IOPS", min=1, max=LARGEST)
    ]
    output: Annotated[Path, flag("The device file; next to it its record, FILE.rating.json.", "-o",
                                 metavar="FILE", show_default=False)]  # fmt: skip
    seq_read: Annotated[str | None, flag("Sequential reads.", metavar="RATE")] = None
    read_latency_us: Annotated[
        float | None, flag("Typical latency of a random read.", metavar="US", min=0.001, max=1e6)
    ] = None
    write_latency_us: Annotated[
        float | None, flag("Typical latency of a random write.", metavar="US", min=0.001, max=1e6)
    ] = None
    dwpd: Annotated[
        float | None, flag("Writes of the whole drive a day.", metavar="N", min=0.001, max=1000)
    ] = None
    tbw: Annotated[
        str | None, flag("Bytes that may be written, such as 4380TB.", metavar="SIZE")
    ] = None
    years: Annotated[
        float, flag("Years for which the endurance is rated.", metavar="N", min=0.1, max=100)
    ] = 5.0
    active_w: Annotated[
        float | None, flag("Power in sequential writes.", metavar="W", min=0.001, max=1000)
    ] = None
    idle_w: Annotated[float | None, flag("Power at rest.", metavar="W", min=0.001, max=1000)] = None
    rated_state: Annotated[
        RatedState | None,
        flag("State in which random writes were rated.", show_default="as the rates look"),
    ] = None
    policy: Annotated[
        str,
        flag(
            "Garbage collection; auto: greedy, and cost_benefit among the drives of the band.",
            metavar="NAME",
        ),
    ] = "auto"
    shrink: Annotated[
        str, flag("Divide simulated drives by this: auto, or a number.", metavar="auto|N")
    ] = "auto"
    simulate: Annotated[
        bool, flag("Correct the closed form with simulations.", "--simulate/--no-simulate")
    ] = True


def make_of_rating(given: RatingOptions) -> None:
    """Write the device of a data sheet and its record."""
    from opennandlab.base.files import write_atomically
    from opennandlab.core.shrinking import asked_divisor
    from opennandlab.documents.record import plain
    from opennandlab.studies.rating.band import record_of
    from opennandlab.studies.rating.making import rated

    record = record_of(given.output)
    _check_outputs(given.output, record)
    sheet = _sheet(given)

    def watch(now: "RatingRound") -> None:
        if not (given.quiet or given.as_json):
            terminal.note(
                f"simulated: {now.sequential_mb_s:.4g} MB/s sequential, {now.uniform_mb_s:.4g} "
                f"MB/s random, WAF {now.waf:.3f}"
            )

    found = rated(
        sheet,
        given.output.stem,
        simulate=given.simulate,
        shrink=asked_divisor(given.shrink),
        watch=watch,
    )
    document = plain(found.document)
    write_atomically(given.output, found.text.encode())
    write_atomically(record, (json.dumps(document, indent=2) + "\n").encode())
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        _show(found, [given.output, record])
    if not given.quiet:
        for text in found.document.warnings:
            terminal.note(f"warning: {text}", style="yellow")


def _check_outputs(*paths: Path) -> None:
    """Refuse files that are there already, as `config init` does, and stdout."""
    import os

    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import check_writable

    for path in paths:
        if str(paths[0]) == "-":
            message = "`-` is not a file; accepted: a file name; --json prints the record on stdout"
            raise ConfigError("--output", message)
        if os.path.lexists(path):
            message = f"{path} exists and is not replaced; accepted: another name"
            raise ConfigError("--output", message)
        check_writable(path)


def _sheet(given: RatingOptions) -> "Sheet":
    from opennandlab.studies.rating.sheet import Sheet, capacity_of, rate_of

    # Options that are texts, or texts of a choice; others are figures of the sheet as they stand.
    read: dict[str, Any] = {
        "seq_write": rate_of("--seq-write", given.seq_write),
        "seq_read": None if given.seq_read is None else rate_of("--seq-read", given.seq_read),
        "tbw": None if given.tbw is None else _bytes_of("--tbw", given.tbw),
        "rated_state": None if given.rated_state is None else given.rated_state.value,
        "policy": None if given.policy == "auto" else given.policy,
    }
    rest = {one.name for one in fields(Sheet)} - {"capacity_bytes", *read}
    plain = {name: getattr(given, name) for name in rest}
    return Sheet(capacity_bytes=capacity_of(given.capacity), **plain, **read)


def _bytes_of(option: str, text: str) -> float:
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.units import SIZES, size_in

    found = size_in(text.strip(), {unit: size for unit, size in SIZES.items() if unit})
    if found is None:
        raise ConfigError(option, f"`{text}` is not understood; accepted: for example 4380TB")
    return float(found)


def _show(found: "Rated", written: list[Path]) -> None:
    console, document = terminal.stdout(), found.document
    solution = document.solution
    rows = [
        ["dies", f"{solution['dies']:.0f}"],
        ["word line, us", f"{solution['wordline_us']:.0f}"],
        ["programs for a page of the host", f"{solution['programs']:.3f}"],
        ["reads and erases over programs", f"{solution['collecting']:.3f}"],
        ["space for data over the capacity", f"{solution['alpha']:.4f}"],
    ]
    console.print(terminal.Grid(("solved", ""), rows, left=(0,)))
    console.print()
    rows = [
        [one.name, f"{one.over_provisioning:.3f}", f"{one.uniform_mb_s:.0f}"]
        for one in document.variants
    ]
    heads = ("variant", "over-provisioning", "random MB/s")
    console.print(terminal.Grid(heads, rows, left=(0,)))
    for name, band in document.bands.items():
        low, high = band.band
        console.print(
            f"{name} {band.value:.0f}, band {low:.0f} to {high:.0f}, by {band.by}", markup=False
        )
    for path in written:
        console.print(f"wrote {path}", markup=False)
