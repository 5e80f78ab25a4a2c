"""Time bases of the standard tests: what `scaled` reports must be what `full` reports.

    one drive ──► test, scaled ──┐
              └─► test, full ────┴─► quotient of each value that decides, within 10 %

A scaled test is of use only if the full one gives the same figures. Three drives are whole; the
others have a sixteenth of their blocks or of the pages of a block in both bases, the one that
leaves enough spare blocks to collect with. The longest response time depends on one moment of a
test: its goal is a factor of two. A full IOPS test simulates five hours, so the suite takes hours
and runs only if it is named. On the three drives with up to a million requests a second, both bases
test only the block sizes and mixes of the cells that decide, 9 cells of 56.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Measure, Run, lookup
from opennandlab.studies.validation.devices import shrunk, unworn

SUITE = "bases"
SOURCE = "definition"
# Drives: the profile, and the key of `nand` that is divided; None for a whole drive.
DRIVES: Mapping[str, tuple[str, str | None]] = {
    "tlc_standard": ("E", None),
    "client_sata_2013": ("C", None),
    "mlc_enterprise_plp": ("E", None),
    "nvme_gen4_tlc": ("C", "pages_per_block"),
    "qlc_pslc": ("C", "pages_per_block"),
    "micron_7450_max_800gb": ("E", "pages_per_block"),
    "solidigm_p5520_1920gb": ("E", "pages_per_block"),
    "emmc_16gb": ("C", "blocks_per_plane"),
    "sata_a_2009": ("E", "blocks_per_plane"),
    "sata_b_2009": ("E", "blocks_per_plane"),
    "pci_c_2009": ("E", "blocks_per_plane"),
}
SHRINK = 16
FAST = ("nvme_gen4_tlc", "micron_7450_max_800gb", "solidigm_p5520_1920gb")
DECIDING = {"block_sizes": "4k,64k,1024k", "mixes": "0,65,100"}
TOLERANCE = 0.10


@dataclass(frozen=True)
class Value:
    """A value of a test that decides.

    Args:
        place: Its dotted path in the document, or the index of the steady state of which it is the
            average: those are in the order in which the specification tracks them.
        is_longest: Whether it is the longest response time of the test.
    """

    place: str | int
    is_longest: bool = False


VALUES: Mapping[str, Mapping[str, Value]] = {
    "iops": {"rnd-4k-write": Value(0), "rnd-64k-65-35": Value(1), "rnd-1024k-read": Value(2)},
    "throughput": {
        "seq-1024k-write": Value("results.mb_s_seq_1024kib_write"),
        "seq-1024k-read": Value("results.mb_s_seq_1024kib_read"),
    },
    "latency": {
        "art-4k-write": Value("results.art_ms_rnd_4kib_write"),
        "art-4k-read": Value("results.art_ms_rnd_4kib_read"),
        "mrt-4k-write": Value("results.mrt_ms_rnd_4kib_write", is_longest=True),
    },
}
# Drives whose longest response time is a moment that many runs lack: over seeds, `full` has 0.4 to
# 15 ms of the one and 18 to 75 ms of the other. Both bases add it up over ten seeds.
RARE = ("emmc_16gb", "solidigm_p5520_1920gb")
RARE_SEEDS = 10
# Drive and test of the quick cases.
QUICK = ("tlc_standard", "latency")


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (response times of the textbook drive), or all.

    Returns:
        The cases; the longest response times of `RARE` have runs of ten seeds, all others of one.

    Example:
        >>> [case.name for case in cases(Effort.QUICK)][0]
        'tlc_standard-latency-art-4k-write'
    """
    return [
        case
        for preset in DRIVES
        for test in VALUES
        if effort is Effort.FULL or (preset, test) == QUICK
        for case in _cases(preset, test)
    ]


def device(preset: str) -> dict[str, Any]:
    """Return the device of a preset: divided by `SHRINK`, with blocks that do not wear out.

    Args:
        preset: its name, one of `DRIVES`.

    Example:
        >>> device("emmc_16gb")["nand"]["blocks_per_plane"]
        141
    """
    key = DRIVES[preset][1]
    return unworn(preset) if key is None else shrunk(preset, key, SHRINK)


def _cases(preset: str, test: str) -> Iterator[Case]:
    profile, key = DRIVES[preset]
    drive = device(preset)
    part = "the whole drive" if key is None else f"a sixteenth of its {key}"
    question: dict[str, Any] = {"test": test, "profile": profile}
    if test == "iops" and preset in FAST:
        question["options"] = DECIDING
    for name, value in VALUES[test].items():
        seeds = RARE_SEEDS if value.is_longest and preset in RARE else 1
        among = f", mean of {seeds} seeds" if seeds > 1 else ""
        yield Case(
            suite=SUITE,
            name=f"{preset}-{test}-{name}",
            title="What the time base `scaled` reports, relative to `full`",
            source=SOURCE,
            runs=tuple(_runs(drive, question, seeds)),
            quantity=f"{preset}, {part}: {test}, {name}{among}",
            measure=_quotient(value.place),
            expected=1.0,
            tolerance=None if value.is_longest else TOLERANCE,
            kind=Kind.TAIL if value.is_longest else Kind.RATE,
            formula="scaled / full = 1",
            seeds=(1,),
        )


def _runs(drive: dict[str, Any], question: dict[str, Any], seeds: int) -> Iterator[Run]:
    """Yield the runs of a case: for each seed one in `full`, one in `scaled`."""
    for seed in range(1, seeds + 1):
        # Without a seed it is that of the case, 1: other cases share these runs.
        own = {} if seed == 1 else {"seed": seed}
        for base in ("full", "scaled"):
            yield Run(drive, {"standard_test": {**question, **own, "time_base": base}})


def _quotient(place: str | int) -> Measure:
    """Return the measure of a case: the sum of a value in `scaled` over that in `full`."""

    def value(document: Document) -> float:
        if isinstance(place, int):
            return lookup(document["steady_state"][place], "average")
        return lookup(document, place)

    def measure(documents: Sequence[Document]) -> float:
        full, scaled = documents[::2], documents[1::2]
        return sum(map(value, scaled)) / sum(map(value, full))

    return measure
