"""Time bases of the standard tests: what `scaled` reports must be what `full` reports.

    one drive ──► test, scaled ──┐
              └─► test, full ────┴─► quotient of each value that decides, within 10 %

A scaled test is worth its time only if the whole one gives the same figures. Three drives are
whole; of the others blocks or their pages are divided by 16 in both bases, whichever leaves their
spare blocks enough to collect with. The longest response time depends on the one worst moment of a
test, and is held to a factor of two. A whole IOPS test simulates five hours: the suite takes hours
and runs only where it is named. On the three drives with up to a million requests a second, both
bases test the three block sizes and mixes of the cells that decide, 9 cells of 56.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opennandlab.studies.validation.case import Case, Document, Effort, Kind, Measure, Run, lookup
from opennandlab.studies.validation.devices import shrunk, unworn

SUITE = "bases"
SOURCE = "definition"
# Drives, the profile of each, and the key that is divided; none where the whole drive is tested.
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
# Values of each test: name, and how it is found in the document. `N` is the value that the steady
# state was found with, in the order of the specification.
VALUES: Mapping[str, Mapping[str, str]] = {
    "iops": {"rnd-4k-write": "0", "rnd-64k-65-35": "1", "rnd-1024k-read": "2"},
    "throughput": {
        "seq-1024k-write": "results.mb_s_seq_1024kib_write",
        "seq-1024k-read": "results.mb_s_seq_1024kib_read",
    },
    "latency": {
        "art-4k-write": "results.art_ms_rnd_4kib_write",
        "art-4k-read": "results.art_ms_rnd_4kib_read",
        "mrt-4k-write": "results.mrt_ms_rnd_4kib_write",
    },
}
# Drives whose longest response times are added up over seeds in both bases, since a moment decides
# that many runs do not meet: `full` has 0.4 to 15 ms of the one, 18 to 75 ms of the other.
RARE = ("emmc_16gb", "solidigm_p5520_1920gb")
RARE_SEEDS = 10
QUICK = "tlc_standard-latency"


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (response times of the textbook drive), or all.

    Returns:
        The cases, one seed each.

    Example:
        >>> [case.name for case in cases(Effort.QUICK)][0]
        'tlc_standard-latency-art-4k-write'
    """
    found = list(_cases())
    if effort is Effort.FULL:
        return found
    return [case for case in found if case.name.startswith(QUICK)]


def device(preset: str) -> dict[str, Any]:
    """Return a preset as it is tested here.

    Args:
        preset: its name, one of `DRIVES`.

    Returns:
        The device. Its blocks do not wear out.

    Example:
        >>> device("emmc_16gb")["nand"]["blocks_per_plane"]
        141
    """
    key = DRIVES[preset][1]
    return unworn(preset) if key is None else shrunk(preset, key, SHRINK)


def _cases() -> Iterator[Case]:
    for preset, (profile, key) in DRIVES.items():
        drive = device(preset)
        part = "the whole drive" if key is None else f"a sixteenth of its {key}"
        for test, values in VALUES.items():
            question: dict[str, Any] = {"test": test, "profile": profile}
            if test == "iops" and preset in FAST:
                question["options"] = DECIDING
            for name, path in values.items():
                is_longest = name.startswith("mrt")
                seeds = RARE_SEEDS if is_longest and preset in RARE else 1
                among = f", mean of {seeds} seeds" if seeds > 1 else ""
                yield Case(
                    suite=SUITE,
                    name=f"{preset}-{test}-{name}",
                    title="What the time base `scaled` reports, relative to `full`",
                    source=SOURCE,
                    runs=tuple(_runs(drive, question, seeds)),
                    quantity=f"{preset}, {part}: {test}, {name}{among}",
                    measure=_quotient(path),
                    expected=1.0,
                    tolerance=None if is_longest else TOLERANCE,
                    kind=Kind.TAIL if is_longest else Kind.RATE,
                    formula="scaled / full = 1",
                    seeds=(1,),
                )


def _runs(drive: dict[str, Any], question: dict[str, Any], seeds: int) -> Iterator[Run]:
    """Yield the runs of a case: of each seed one in `full`, one in `scaled`."""
    for seed in range(1, seeds + 1):
        # The first is the seed of the case, whose runs other cases share.
        own = {} if seed == 1 else {"seed": seed}
        for base in ("full", "scaled"):
            yield Run(drive, {"standard_test": {**question, **own, "time_base": base}})


def _quotient(path: str) -> Measure:
    def value(document: Document) -> float:
        if path.isdigit():
            return lookup(document["steady_state"][int(path)], "average")
        return lookup(document, path)

    def measure(documents: Sequence[Document]) -> float:
        full, scaled = documents[::2], documents[1::2]
        return sum(map(value, scaled)) / sum(map(value, full))

    return measure
