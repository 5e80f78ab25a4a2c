"""Power: energies of what a small drive does, against sums by hand.

Energies are given to the simulator and to the formulas alike; what is tested is what the drive
counts: senses, programs, erases, transfers, seconds. Reads of an idle drive are exact, collections
follow the formula of greedy collection, and the controller is busy as long as M/D/1 is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Run, lookup
from opennandlab.studies.validation.devices import (
    BENCH_TIMING,
    PAGE_BYTES,
    Log,
    bench,
    poisson,
    timed,
)
from opennandlab.theory.bandwidth import FlashChannel
from opennandlab.theory.energy import DriveEnergy
from opennandlab.theory.uniform import greedy

SUITE = "energy"
ENERGY = {
    "read_uj": 30.0,
    "program_uj": 70.0,
    "erase_uj": 640.0,
    "transfer_nj_per_kib": 80.0,
    "idle_mw": 2.5,
}
CONTROLLER = {"idle_w": 0.5, "active_w": 2.0, "command_uj": 3.0, "host_nj_per_kib": 500.0}
PAGES_PER_BLOCK = 64
READS = 20_000
LOAD = 0.6
SERVICE_US = 60.0
_case = partial(Case, suite=SUITE)


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (one seed) or full (three); the drives are small in both.

    Example:
        >>> [case.name for case in cases(Effort.QUICK)][:2]
        ['reads', 'reads-sum']
    """
    del effort
    return [*_reads(), *_writes(), *_collection(), *_controller()]


def energy(dies: int) -> DriveEnergy:
    """Return what the drives of this suite draw, for the formulas.

    Args:
        dies: dies of the drive.

    Returns:
        The energies, without a controller.

    Example:
        >>> energy(2).idle_w
        0.005
    """
    keys = {key: value for key, value in ENERGY.items() if key != "idle_mw"}
    idle_w = dies * ENERGY["idle_mw"] * 1e-3
    return DriveEnergy(PAGE_BYTES, PAGES_PER_BLOCK, **keys, idle_w=idle_w)


def _reads() -> Iterator[Case]:
    device = bench(2, 2)
    device["nand"]["energy"] = ENERGY
    run = Run(device, timed("random", 16, READS))

    def of_reads(documents: Sequence[Document]) -> float:
        joules = documents[0]["metrics"]["power"]["joules"]
        return float(joules["array_reads"] + joules["transfers"])

    def summed(documents: Sequence[Document]) -> float:
        power = documents[0]["metrics"]["power"]
        seconds = lookup(documents[0], "metrics.duration_s")
        parts = sum(value for key, value in power["joules"].items() if key != "total")
        return float(power["mean_w"] * seconds / parts)

    yield _case(
        name="reads",
        title="Reads cost a sense and a transfer each",
        runs=(run,),
        quantity="joules of senses and transfers",
        measure=of_reads,
        expected=READS * energy(4).read_uj_per_page * 1e-6,
        tolerance=1e-9,
        formula="N (e_R + e_x)",
        kind=Kind.EXACT,
    )
    yield _case(
        name="reads-sum",
        title="Mean power times time is the sum of all parts",
        runs=(run,),
        quantity="mean_w x duration_s / sum of joules",
        measure=summed,
        expected=1.0,
        tolerance=1e-9,
        formula="P T = sum of E",
        kind=Kind.EXACT,
    )


def _writes() -> Iterator[Case]:
    """An empty drive that is written draws its rate times the energy of a byte."""
    for channels, dies in ((2, 1), (1, 8)):
        device = bench(channels, dies)
        device["nand"]["energy"] = ENERGY
        drive = energy(channels * dies)
        channel = FlashChannel(
            PAGE_BYTES,
            BENCH_TIMING["bus_mt_s"],
            dies,
            program_us=BENCH_TIMING["t_program_us"],
        )
        # Nothing is erased on a fresh drive.
        page_uj = drive.program_uj + drive.transfer_uj
        rate = channels * channel.program_mb_s() * 1e6
        yield _case(
            name=f"writes-{channels}x{dies}",
            title="Sequential writes draw their rate times the energy of a byte, and what is drawn"
            " idle",
            runs=(
                Run(device, timed("sequential", 8 * channels * dies, 2000 * dies * channels, 0.0)),
            ),
            quantity="mean watts",
            measure=lambda documents: lookup(documents[0], "metrics.power.mean_w"),
            expected=rate / PAGE_BYTES * page_uj * 1e-6 + drive.idle_w,
            tolerance=0.01,
            formula="B / p (e_P + e_x) + idle, B = D p / (tPROG + x) on each channel",
        )


def _collection() -> Iterator[Case]:
    """Collections multiply programs, and add reads and erases."""
    for spare in (0.12, 0.25):
        log = Log.with_spare(400, PAGES_PER_BLOCK, spare)
        device = log.device("greedy")
        device["nand"]["energy"] = {**ENERGY, "idle_mw": 0.0}
        workload = {
            **timed("random", 1, 100_000, 0.0),
            "precondition": [
                {"kind": "sequential_fill"},
                {"kind": "workload", "drive_writes": 10.0},
            ],
        }
        yield _case(
            name=f"collection-{spare:g}",
            title="A drive that collects pays for its write amplification",
            runs=(Run(device, workload),),
            quantity="joules per GB that the host writes",
            measure=lambda documents: lookup(documents[0], "metrics.power.joules_per_host_gb"),
            expected=energy(1).joules_per_gb(0.0, greedy(PAGES_PER_BLOCK, log.spare_factor)),
            tolerance=0.02,
            formula="(A e_P + (A - 1) e_R + (2 A - 1) e_x + A e_E / n) / p, A of greedy collection",
        )


def _controller() -> Iterator[Case]:
    """The controller is active while commands are outstanding: as long as M/D/1 is busy."""
    device = bench(1, 1)
    device["controller"] = {"power": CONTROLLER}
    iops = LOAD / SERVICE_US * 1e6
    ios = 500_000
    idle, active = CONTROLLER["idle_w"], CONTROLLER["active_w"]
    request_uj = CONTROLLER["command_uj"] + 4 * CONTROLLER["host_nj_per_kib"] * 1e-3
    yield _case(
        name="controller",
        title="A controller draws more while commands are outstanding, and for each of them",
        runs=(Run(device, timed("random", poisson(iops), ios)),),
        quantity="mean watts",
        measure=lambda documents: lookup(documents[0], "metrics.power.mean_w"),
        expected=idle + LOAD * (active - idle) + iops * request_uj * 1e-6,
        tolerance=0.01,
        formula="idle + rho (active - idle) + lambda (command + 4 KiB)",
    )
