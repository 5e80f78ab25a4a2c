"""The report of a sweep of units, mixes and request sizes: a table, curves and three surfaces."""

from __future__ import annotations

from collections.abc import Iterator

from opennandlab.documents.record import JsonObject
from opennandlab.reports import words
from opennandlab.reports.figure.model import Axis, Plot, Relief, Series
from opennandlab.reports.model import Cell, Report, Table, page_of
from opennandlab.theory.bandwidth import MIXES
from opennandlab.theory.scaling import ScalingSweep

TITLE = "Scaling over units, mixes and request sizes"


def document(sweep: ScalingSweep, device: JsonObject, seed: int) -> JsonObject:
    """Return a sweep as a document: the device of a unit, each point, and the RMS by size."""
    return {
        "device": device,
        "seed": seed,
        "units": list(sweep.units),
        "queue_depth": sweep.queue_depth,
        "points": [
            {
                "units": one.units,
                "read_pct": 100 * one.read_share,
                "block_bytes": one.block_bytes,
                "iops": one.iops,
                "mb_s": one.mb_s,
            }
            for one in sweep.points
        ],
        "rms": [
            {
                "block_bytes": size,
                "units": units,
                "iops": sweep.rms(units, size),
                "normalised": sweep.normalised(units, size),
            }
            for size in sweep.sizes
            for units in sweep.units
        ],
    }


def table(sweep: ScalingSweep) -> Table:
    """Return the RMS of the fewest units by size, and how often more units have it."""
    least = sweep.units[0]
    unit = "unit" if least == 1 else "units"
    heads = (
        "KiB",
        f"RMS IOPS, {least} {unit}",
        "RMS MB/s",
        *(f"x, {count} units" for count in sweep.units[1:]),
        "off k, %",
    )
    rows: list[tuple[Cell, ...]] = []
    for size in sweep.sizes:
        one = sweep.rms(least, size)
        times = [sweep.normalised(count, size) for count in sweep.units[1:]]
        off = [
            100 * abs(ratio / count - 1)
            for count, ratio in zip(sweep.units[1:], times, strict=True)
        ]
        rows.append((words.kib(size), one, one * size / 1e6, *times, max(off, default=0.0)))
    note = _note(sweep)
    return Table("scaling", "Root mean square of five mixes", heads, tuple(rows), note, digits=4)


def report(sweep: ScalingSweep, name: str) -> Report:
    """Return the report.

    Args:
        sweep: The sweep.
        name: Name of the device.
    """
    lead = f"Units of {name}. {_note(sweep)}"
    return page_of(TITLE, lead, [table(sweep), *figures(sweep)])


def _note(sweep: ScalingSweep) -> str:
    return f"A unit is one die on its own channel, with {sweep.queue_depth} requests outstanding."


def figures(sweep: ScalingSweep) -> Iterator[Plot | Relief]:
    """Yield the curves of the normalised RMS, and three surfaces."""
    counts = [float(count) for count in sweep.units]
    yield Plot(
        "normalised",
        "RMS over that of one unit",
        Axis("units"),
        Axis("normalised RMS"),
        tuple(
            Series(
                f"{words.kib(size)} KiB",
                counts,
                [sweep.normalised(count, size) for count in sweep.units],
                "line",
            )
            for size in sweep.sizes
        ),
    )
    sizes = tuple(map(words.kib, sweep.sizes))
    yield Relief(
        "units-size", "RMS by units and request size", "units", "block size, KiB",
        Axis("RMS MB/s", "log"), tuple(map(str, sweep.units)), sizes,
        tuple(
            tuple(sweep.rms(count, size) * size / 1e6 for count in sweep.units)
            for size in sweep.sizes
        ),
    )  # fmt: skip
    mixes = tuple(words.mix(100 * share) for share in MIXES)
    for count in dict.fromkeys((sweep.units[0], sweep.units[-1])):
        title = f"{count} unit{'s' * (count > 1)}: rate by mix and request size"
        yield Relief(
            f"mix-size-{count}", title, "read / write mix, %", "block size, KiB",
            Axis("MB/s", "log"), mixes, sizes,
            tuple(
                tuple(rate * size / 1e6 for rate in sweep.rates(count, size))
                for size in sweep.sizes
            ),
        )  # fmt: skip
