"""Bandwidth against die count: the tutorial's formula next to the simulator, at its conditions.

Each request covers one page of every die, so that dies never wait for each other; many requests
are outstanding; every die has a channel to itself. Writes go in ascending order through a part of
the drive that is small next to its spare area: a block is empty of live pages when its turn comes,
so one block is erased per block written and nothing is moved. Reads and writes are drawn per
request, all of one size: a mix by bytes.

    tutorial   page 4000 B on 400 MB/s      x = 10 us
    drive      page 4096 B on 409.6 MB/s    x = 10 us     rates are pages per second x 4000 B

Only the formula has links (the drive's link is ideal; the cap is a minimum) and cache registers
(the drive's dies have one register). Dies that share a channel wait for it: there the formula is a
bound, reached by reads.

Source: SNIA NAND performance tutorial, L. Smith, 2009 (conditions, times); formulas of
`theory.bandwidth`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Kind,
    Measure,
    Relation,
    Run,
    lookup,
)
from opennandlab.studies.validation.devices import PAGE_BYTES, bench, timed
from opennandlab.theory.bandwidth import MIXES, TUTORIAL_VARIANTS, TutorialDie
from opennandlab.theory.scaling import block_size_mb_s, mixed_efficiency, rms

SUITE = "bandwidth"
SOURCE = "SNIA NAND performance tutorial, L. Smith, 2009"
DIE_COUNTS = (1, 2, 4, 8, 16, 32)
QUEUE_DEPTH = 64
# The mix is drawn per request: 100 000 of them put its standard error at 0.4 % of the rate or less.
REQUESTS, REQUESTS_QUICK = 100_000, 40_000
TOLERANCE = 0.02
# Physical pages are 25 times those in use: less than 1e-10 of a block outlives a turn.
OP_RATIO, ACTIVE_PCT, SETTLING_DRIVE_WRITES = 4.0, 20.0, 8.0
_case = partial(Case, suite=SUITE, source=SOURCE, tolerance=TOLERANCE)


@dataclass(frozen=True)
class Point:
    """One point of the figure: a die, how many of them, and a mix.

    Example:
        >>> point = Point(TUTORIAL_VARIANTS["SLC n=64"], dies=8, read_share=0.5)
        >>> round(point.expected_mb_s, 2)
        219.27
    """

    die: TutorialDie
    """Times of the die."""
    dies: int
    """N."""
    read_share: float
    """r, share of the bytes that are read."""
    channels: int | None = None
    """C, a divisor of N; None for as many as dies."""
    requests: int = REQUESTS
    """Requests of N pages each."""

    @property
    def expected_mb_s(self) -> float:
        """The formula, `min(N BW_die(r), C bus)`, no link."""
        return self.die.device_mb_s(
            self.read_share, self.dies, (self.channels or self.dies) * self.die.bus_mb_s
        )

    def run(self) -> Run:
        """Return the simulation.

        Returns:
            Device and workload at the formula's conditions.

        Raises:
            ValueError: when the dies cannot be divided among the channels.
        """
        channels = self.channels or self.dies
        if self.dies % channels:
            message = f"dies is {self.dies}; accepted: a multiple of the {channels} channels"
            raise ValueError(message)
        workload = timed(
            "sequential",
            QUEUE_DEPTH,
            self.requests,
            100.0 * self.read_share,
            PAGE_BYTES * self.dies,
        )
        workload["active_range_pct"] = ACTIVE_PCT
        workload["precondition"] = [{"kind": "workload", "drive_writes": SETTLING_DRIVE_WRITES}]
        return Run(_device(self.die, channels, self.dies // channels, OP_RATIO), workload)


def tutorial_mb_s(document: Document) -> float:
    """Return the measured rate in the tutorial's terms: pages per second x 4000 B.

    Args:
        document: result of a simulation.

    Returns:
        MB/s of 10^6 bytes, reads and writes together.

    Example:
        >>> tutorial_mb_s({"metrics": {"throughput_mb_s": {"total": 1024.0}}})
        1000.0
    """
    return lookup(document, "metrics.throughput_mb_s.total") * 4000 / PAGE_BYTES


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (one and eight dies, one seed), or every die count with three seeds.

    Example:
        >>> "SLC-n64-N8-rms" in {case.name for case in cases(Effort.QUICK)}
        True
    """
    if effort is Effort.QUICK:
        return [
            *_curve("SLC n=64", (1, 8), REQUESTS_QUICK),
            *_curve("MLC n=64", (8,), REQUESTS_QUICK),
            *_erases(REQUESTS_QUICK),
            *_shared_channels(REQUESTS_QUICK),
        ]
    return [
        *(case for name in TUTORIAL_VARIANTS for case in _curve(name, DIE_COUNTS, REQUESTS)),
        *_whole_drive(),
        *_erases(REQUESTS),
        *_collisions(),
        *_shared_channels(REQUESTS),
        *_small_requests(),
    ]


def _curve(name: str, die_counts: Sequence[int], requests: int) -> Iterator[Case]:
    """Yield the five mixes of each die count, and their root mean square."""
    die = TUTORIAL_VARIANTS[name]
    title = f"{name.replace(' n=', ' die, ')} pages a block: bandwidth against die count, MB/s"
    for dies in die_counts:
        points = [Point(die, dies, share, requests=requests) for share in MIXES]
        for point in points:
            yield _case(
                name=f"{_key(name)}-N{dies}-{_mix(point.read_share)}",
                title=title,
                runs=(point.run(),),
                quantity="pages per second x 4000 B",
                measure=_first_mb_s,
                expected=point.expected_mb_s,
                formula="N p / (r (tR+x) + (1-r) (x+tPROG+tBERS/n))",
            )
        yield _case(
            name=f"{_key(name)}-N{dies}-rms",
            title=title,
            runs=tuple(point.run() for point in points),
            quantity="root mean square of the five mixes",
            measure=lambda documents: rms([tutorial_mb_s(document) for document in documents]),
            expected=die.rms_mb_s(dies),
            formula="sqrt(sum(x^2) / 5)",
        )


def _whole_drive() -> Iterator[Case]:
    """Overwrite a whole drive in order, with 7 % of spare area: the same rate as with much."""
    for name, dies in (("SLC n=64", 8), ("MLC n=128", 8)):
        die = TUTORIAL_VARIANTS[name]
        workload = timed("sequential", QUEUE_DEPTH, REQUESTS, 0.0, PAGE_BYTES * dies)
        workload["precondition"] = [{"kind": "sequential_fill", "fills": 2}]
        yield _case(
            name=f"{_key(name)}-N{dies}-whole-drive",
            title="The whole drive overwritten in order, 7 % over-provisioning, MB/s",
            runs=(Run(_device(die, dies, 1, 0.07), workload),),
            quantity="pages per second x 4000 B",
            measure=_first_mb_s,
            expected=die.device_mb_s(0.0, dies),
            formula="N p / (x+tPROG+tBERS/n)",
        )


def _erases(requests: int) -> Iterator[Case]:
    """Count erases: the formula's garbage collection is 100 % efficient."""
    die = TUTORIAL_VARIANTS["SLC n=64"]

    def measure(documents: Sequence[Document]) -> float:
        metrics = documents[0]["metrics"]
        programs = sum(metrics["programs"].values())
        return float(sum(metrics["erases"].values()) * die.pages_per_block / programs)

    for share in (0.5, 0.0):
        yield _case(
            name=f"SLC-n64-N8-{_mix(share)}-erases",
            title="One block erased per block written",
            runs=(Point(die, 8, share, requests=requests).run(),),
            quantity="erases x n / pages programmed",
            measure=measure,
            expected=1.0,
            formula="1 (the tutorial's EB erase / EB written)",
        )


def _collisions() -> Iterator[Case]:
    """Divide each mix by what reads and writes in turn would give: nothing is lost or won."""
    die = TUTORIAL_VARIANTS["SLC n=64"]

    def efficiency(share: float) -> Measure:
        def measure(documents: Sequence[Document]) -> float:
            mixed, reads, writes = (tutorial_mb_s(document) for document in documents)
            return mixed_efficiency(mixed, share, reads, writes)

        return measure

    for share in MIXES[1:-1]:
        yield _case(
            name=f"SLC-n64-N8-{_mix(share)}-mixed-efficiency",
            title="Mixed efficiency: measured mix over reads and writes in turn",
            runs=tuple(Point(die, 8, each).run() for each in (share, 1.0, 0.0)),
            quantity="B / (1 / (r / B_R + (1-r) / B_W))",
            measure=efficiency(share),
            expected=1.0,
            formula="1: a die does one thing at a time",
        )


def _shared_channels(requests: int) -> Iterator[Case]:
    """Put four dies on each channel: reads fill the bus, mixes stay below the formula."""
    die = TUTORIAL_VARIANTS["SLC n=64"]
    for share in MIXES:
        point = Point(die, 8, share, channels=2, requests=requests)
        case = _case(
            name=f"SLC-n64-N8-C2-{_mix(share)}",
            title="Eight SLC dies on two channels: the bus is a limit, waiting for it a loss, MB/s",
            runs=(point.run(),),
            quantity="pages per second x 4000 B",
            measure=_first_mb_s,
            expected=point.expected_mb_s,
            formula="min(N p / t, C bus)",
        )
        if 0.0 < share < 1.0:
            # A bound up to the noise of the drawn mix.
            case = replace(case, kind=Kind.ORDER, relation=Relation.AT_MOST)
        yield case


def _small_requests() -> Iterator[Case]:
    """Read less than a page: the whole page is moved."""
    die = TUTORIAL_VARIANTS["SLC n=64"]
    for size in (512, 2048):
        workload = timed("sequential", QUEUE_DEPTH, REQUESTS, 100.0, size)
        yield _case(
            name=f"SLC-n64-N1-read-{size}B",
            title="Reads of a part of a page, MB/s",
            runs=(Run(_device(die, 1, 1, 0.25), workload),),
            quantity="metrics.throughput_mb_s.read x 4000 / 4096",
            measure=_first_mb_s,
            expected=partial(block_size_mb_s, die.mb_s(1.0), size, PAGE_BYTES),
            formula="B bs / (p ceil(bs/p))",
        )


def _device(
    die: TutorialDie, channels: int, dies_per_channel: int, op_ratio: float
) -> dict[str, Any]:
    times = {
        "t_read_us": die.sense_us,
        "t_program_us": die.program_us,
        "t_erase_us": die.erase_us,
        # The page of the drive takes as long on its bus as that of the tutorial on its own.
        "bus_mt_s": die.bus_mb_s * PAGE_BYTES / die.page_bytes,
    }
    device = bench(channels, dies_per_channel, timing=times)
    device["nand"]["pages_per_block"] = die.pages_per_block
    device["ftl"]["over_provisioning_pct"] = op_ratio
    return device


def _first_mb_s(documents: Sequence[Document]) -> float:
    return tutorial_mb_s(documents[0])


def _key(name: str) -> str:
    return name.replace(" n=", "-n")


def _mix(read_share: float) -> str:
    return f"{100 * read_share:.0f}-{100 * (1 - read_share):.0f}"
