"""Published tables: what was measured on real drives, cell by cell, and what their presets do.

The client drive of the SNIA PTS tutorial (E. Kim and E. Ho, 2013): 56 cells of random I/O with 32
outstanding on a small range after a fill, throughput, and response times. Three
drives of the SNIA NAND performance tutorial (L. Smith, 2009): root mean squares over five mixes,
for which we assume 4 KiB random and 1 MiB sequential requests on a filled drive, 32 outstanding
(128 on PCI Express). Drives are simulated with fewer blocks per plane: same dies, buses and shares.

Which constants were fitted to what, and what is left unexplained: docs/presets.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from opennandlab.base.files import read_yaml
from opennandlab.core.config import PRESETS
from opennandlab.measured.published import figures
from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Kind,
    Measure,
    Miss,
    Relation,
    Run,
    lookup,
    read,
)
from opennandlab.studies.validation.devices import unworn
from opennandlab.theory.scaling import rms, rms_per_watt

SUITE = "published"
PTS_TUTORIAL = "SNIA PTS tutorial, E. Kim and E. Ho, 2013"
NAND_TUTORIAL = "SNIA NAND performance tutorial, L. Smith, 2009"
# Rows of the table of 2009, and their presets; mixes that a root mean square is over. The tutorial
# names neither request sizes nor queue depths.
DRIVES_2009 = {"SATA-A": "sata_a_2009", "SATA-B": "sata_b_2009", "PCI-C": "pci_c_2009"}
MIXES_2009 = (100, 75, 50, 25, 0)
CLIENT = "client_sata_2013"
KIB = 1024
# Presets are simulated with so many times fewer blocks.
SHRINKS = {CLIENT: 26, "sata_a_2009": 32, "sata_b_2009": 32, "pci_c_2009": 32}
# The tutorial shows a range of 8 of 250 GB. A small drive holds back a larger share of its spare
# blocks; on a range a little smaller, collections find empty blocks as in the whole drive.
ACTIVE_RANGE_PCT = 2.0
# Root mean square over the IOPS table that is accepted; cells by themselves may be further off.
RMS_MAX = 0.10
# Keys that the cells of the IOPS table were fitted by, all together.
FITTED = "host.command_cost_us, host.turnaround_us, nand.timing.t_program_us"
DRIVES_FITTED = {
    "sata_a_2009-k-iops": "host.command_cost_us",
    "sata_a_2009-k-iops-per-w": "controller.power.idle_w",
    "pci_c_2009-k-iops-per-w": "controller.power.idle_w",
    "sata_a_2009-mb-s": "host.command_cost_us.per_kib",
    "sata_b_2009-k-iops": "host.command_cost_us",
    "pci_c_2009-k-iops": "host.command_cost_us",
    "pci_c_2009-mb-s": "host.command_cost_us.per_kib",
}
TURNAROUND = "a time after each change of direction that depends on how rare changes are"
DRAIN = (
    "reads behind the drain of the write cache: a read that follows a write waits as if for its "
    "program, on any die (0.4 ms after 4 KiB, 0.9 after 8)"
)
LEFT = (
    "what keeps a die busy under reads alone: here 50 ms without a command begin a collection, "
    "which reads of 4 KiB meet and reads of 8 KiB, on twice as many dies, do not"
)
# Recorded error of the worst cell, by their number.
WORST = {56: 0.213, 7: -0.189}
MISSES: Mapping[str, Miss] = {
    "client-iops-0.5KiB-r5": Miss(TURNAROUND, 0.213),
    "client-iops-0.5KiB-r95": Miss(TURNAROUND, -0.177),
    "client-iops-4KiB-r95": Miss(TURNAROUND, -0.189),
    "client-iops-32KiB-r95": Miss(TURNAROUND, 0.154),
    "client-latency-0.5KiB-r65": Miss(DRAIN, -0.1943),
    "client-latency-8KiB-r65": Miss(DRAIN, -0.3195),
    "client-latency-0.5KiB-r100-longest": Miss(LEFT, 3.958),
    "client-latency-4KiB-r100-longest": Miss(LEFT, 5.061),
    "client-latency-8KiB-r100-longest": Miss(LEFT, -0.9451),
}
"""What is missing of each case outside its goal, and its recorded error."""


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (one row of the IOPS table), or all tables.

    Returns:
        The cases, one seed each: what is compared is further apart than seeds are.

    Example:
        >>> len([case for case in cases(Effort.FULL) if case.name.startswith("client-iops-")])
        59
    """
    if effort is Effort.QUICK:
        return list(_iops_rows({"4"}))
    return [
        *_iops_rows(),
        *_throughput_rows(),
        *_latency_rows(),
        *(case for row in DRIVES_2009 for case in _drive_rows(row)),
    ]


def device(preset: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a preset with fewer blocks per plane, as it is simulated here.

    Args:
        preset: its name, one of those of this suite.
        changes: other values of keys of its `host` section, for fits.

    Example:
        >>> device("sata_b_2009")["nand"]["blocks_per_plane"]
        128
    """
    drive: dict[str, Any] = read_yaml(PRESETS / f"{preset}.yaml")
    drive["nand"]["blocks_per_plane"] //= SHRINKS[preset]
    drive["nand"]["max_pe_cycles"] = 1_000_000
    drive["ftl"].setdefault("gc_policy", "greedy")
    drive["host"] = {**drive["host"], **(changes or {})}
    return drive


def client_cell(kib: float, read_pct: int, drive: dict[str, Any] | None = None) -> Run:
    """Return the run of a cell of the IOPS table.

    Args:
        kib: block size.
        read_pct: share of reads.
        drive: the device; the preset if not given.

    Returns:
        The run: random, 32 outstanding, on a range that has been overwritten.
    """
    ios = int(max(1000, min(12_000, 192 * KIB / kib)))
    return Run(drive or device(CLIENT), _random(kib, read_pct, 32, ios))


def _random(kib: float, read_pct: int, depth: int, ios: int) -> dict[str, Any]:
    return {
        "pattern": "random",
        "read_pct": read_pct,
        "block_size_bytes": int(kib * KIB),
        "active_range_pct": ACTIVE_RANGE_PCT,
        "queue_depth": depth,
        "total": {"ios": ios},
        "precondition": [
            {"kind": "sequential_fill"},
            {"kind": "workload", "drive_writes": 0.06},
        ],
    }


def _case(**keys: Any) -> Case:  # noqa: ANN401 - fields of a case, whatever they hold
    name = keys["name"]
    fixed = {"miss": MISSES.get(name), "fitted": DRIVES_FITTED.get(name, "")}
    return Case(**{"suite": SUITE, "kind": Kind.RATE, "seeds": (1,), **fixed, **keys})


def _cells(
    table: str, unit: str, sizes: set[str] | None = None
) -> Iterator[tuple[str, int, float]]:
    """Block size in KiB, reads in percent and figure of each cell, of some sizes or of all."""
    for kib, row in figures(table, unit).items():
        if sizes is None or kib in sizes:
            yield from ((kib, int(read_pct), value) for read_pct, value in row.items())


def _iops_rows(sizes: set[str] | None = None) -> Iterator[Case]:
    """One row a cell, and three over all of them."""
    drive = device(CLIENT)
    runs, measured = [], []
    for kib, read_pct, iops in _cells("client_2013_iops", "iops", sizes):
        run = client_cell(float(kib), read_pct, drive)
        runs.append(run)
        measured.append(iops)
        yield _case(
            name=f"client-iops-{kib}KiB-r{read_pct}",
            title="Random I/O of a client SATA drive, 32 outstanding: fitted",
            source=PTS_TUTORIAL,
            runs=(run,),
            quantity="metrics.iops.total",
            measure=read("metrics.iops.total"),
            expected=iops,
            fitted=FITTED,
            formula=f"{kib} KiB, {read_pct} % reads",
        )
    yield from _error_rows("client-iops", runs, measured)


def _error_rows(name: str, runs: Sequence[Run], measured: Sequence[float]) -> Iterator[Case]:
    of_errors: tuple[tuple[str, Callable[[Sequence[float]], float], float, Relation], ...] = (
        ("rms", lambda errors: rms([abs(one) for one in errors]), RMS_MAX, Relation.AT_MOST),
        ("mean", lambda errors: math.fsum(errors) / len(errors), 0.0, Relation.EQUAL),
        ("worst", lambda errors: max(errors, key=abs), 0.0, Relation.EQUAL),
    )
    for key, summed, bound, relation in of_errors:
        yield _case(
            name=f"{name}-{key}-error",
            title="Errors over the cells of the IOPS table",
            source=PTS_TUTORIAL,
            runs=tuple(runs),
            quantity=f"{key} relative error of metrics.iops.total",
            measure=_error(summed, measured),
            expected=bound,
            tolerance={"rms": 0.0, "mean": 0.10}.get(key),
            fitted=FITTED,
            miss=Miss(TURNAROUND, WORST[len(runs)]) if key == "worst" else None,
            relation=relation,
            formula=f"over {len(runs)} cells",
        )


def _error(summed: Callable[[Sequence[float]], float], measured: Sequence[float]) -> Measure:
    """Return a measure of the relative errors of all cells: simulated over measured, less one."""

    def measure(documents: Sequence[Document]) -> float:
        cells = zip(measured, documents, strict=True)
        ratios = (lookup(document, "metrics.iops.total") / theirs for theirs, document in cells)
        return summed([round(ratio - 1.0, 12) for ratio in ratios])

    return measure


def _throughput_rows() -> Iterator[Case]:
    cells = _cells("client_2013_throughput", "mb_s")
    for kind, (_, read_pct, mb_s) in zip(("write", "read"), cells, strict=True):
        workload = {
            "pattern": "sequential",
            "read_pct": read_pct,
            "block_size_bytes": KIB * KIB,
            "queue_depth": 32,
            "total": {"ios": 2000},
            "precondition": [{"kind": "sequential_fill", "fills": 2}],
        }
        path = f"metrics.throughput_mb_s.{kind}"
        yield _case(
            name=f"client-throughput-{kind}",
            title="Sequential throughput of the same drive, 1 MiB: not fitted",
            source=PTS_TUTORIAL,
            runs=(Run(device(CLIENT), workload),),
            quantity=path,
            measure=read(path),
            expected=mb_s,
            formula="MB/s, 32 outstanding",
        )


def _latency_rows() -> Iterator[Case]:
    """Mean and longest response times, both of one latency test of the whole drive."""
    table = f"{CLIENT}, 8 GiB in 2048 segments: latency test, cells of 60 s"
    question = {"test": "latency", "profile": "C", "ar_amount_bytes": 8 << 30}
    run = Run(unworn(CLIENT), {"standard_test": question})
    for key, unit, kind, what in (
        ("", "art", Kind.RATE, "Mean response times"),
        ("-longest", "mrt", Kind.TAIL, "Longest response times"),
    ):
        for kib, read_pct, milliseconds in _cells("client_2013_latency", f"{unit}_ms"):
            name = f"client-latency-{kib}KiB-r{read_pct}{key}"
            yield _case(
                name=name,
                title=f"{what} of the same drive, one outstanding",
                source=PTS_TUTORIAL,
                runs=(run,),
                quantity=f"{table}, {unit}, ms",
                measure=_of_table(unit, kib, read_pct),
                expected=milliseconds,
                kind=kind,
                fitted=_latency_key(unit, read_pct),
                formula=f"{kib} KiB, {read_pct} % reads",
            )


def _latency_key(unit: str, read_pct: int) -> str:
    """Return the key that was fitted to a cell of the latency table; empty for none."""
    if unit == "art":
        return "host.command_overhead_us"
    return "ftl.map_checkpoint" if read_pct == 0 else ""


def _of_table(name: str, kib: str, read_pct: int) -> Measure:
    """Return a measure of a cell of a table of a standard test."""

    def measure(documents: Sequence[Document]) -> float:
        (table,) = (one for one in documents[0]["tables"] if one["id"] == name)
        row, column = table["rows"].index(kib), f"{read_pct}/{100 - read_pct}"
        return float(table["values"][row][table["columns"].index(column)])

    return measure


def _drive_rows(row: str) -> Iterator[Case]:
    """Rates of a drive, and its rate per watt where that is published."""
    preset, published = DRIVES_2009[row], figures("drives_2009_rms")[row]
    depth = 128 if preset == "pci_c_2009" else 32
    random = _mixes(preset, depth, "random", 4 * KIB, 20_000)
    sequential = _mixes(preset, depth, "sequential", KIB * KIB, 1500)
    iops, mb_s = "metrics.iops.total", "metrics.throughput_mb_s.total"
    for key, column, quantity, runs, measure in (
        ("k-iops", "K-IOPS RMS", iops, random, _rms(iops, 1e-3)),
        ("k-iops-per-w", "K-IOPS RMS per W", f"{iops} per W", random, _per_watt),
        ("mb-s", "MB/s RMS", mb_s, sequential, _rms(mb_s, 1.0)),
    ):
        if column in published:
            yield _case(
                name=f"{preset}-{key}",
                title="Drives of 2009, root mean square of five mixes of reads and writes",
                source=NAND_TUTORIAL,
                runs=runs,
                quantity=quantity,
                measure=measure,
                expected=published[column],
                formula="100, 75, 50, 25, 0 % reads",
            )


def _mixes(preset: str, depth: int, pattern: str, size: int, ios: int) -> tuple[Run, ...]:
    drive = device(preset)
    workload = {
        "pattern": pattern,
        "block_size_bytes": size,
        "queue_depth": depth,
        "total": {"ios": ios},
        "precondition": [{"kind": "sequential_fill", "fills": 2}],
    }
    return tuple(Run(drive, {**workload, "read_pct": read_pct}) for read_pct in MIXES_2009)


def _rms(path: str, factor: float) -> Measure:
    def measure(documents: Sequence[Document]) -> float:
        return rms([factor * lookup(document, path) for document in documents])

    return measure


def _per_watt(documents: Sequence[Document]) -> float:
    """Return the root mean square of 1000 IOPS over the mean power of the same runs."""
    rates = [1e-3 * lookup(document, "metrics.iops.total") for document in documents]
    watts = [lookup(document, "metrics.power.mean_w") for document in documents]
    return rms_per_watt(rates, math.fsum(watts) / len(watts))
