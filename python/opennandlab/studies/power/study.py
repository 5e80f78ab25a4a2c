"""Which option prevents which fault, and what it costs: a row for each option, strong and weak.

Every row is a campaign of its own on the same drive. A weak option must show its class of fault,
may show others that follow from it, and never shows the rest; a strong one shows none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from opennandlab.core.config import load_device
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.studies.power.campaign import SMALL, Campaign, Settings

BUFFER: Final = {"ftl.write_buffer_pages": 64, "ftl.write_frontiers": "host_gc"}
FLUSHED: Final = ("honest-flush", "rzat")
# Default of `power.plp.program_mw`: 25 mA at 3.3 V, as data sheets of NAND state it.
PROGRAM_MW: Final = 80.0


@dataclass(frozen=True)
class Row:
    """An option with a value.

    Args:
        option: Key under `power`.
        value: What it is set to, as it is told.
        settings: Keys that are set for it.
        claims: What the drive promises.
        must: Classes that must be found within 500 cuts.
        may: Classes that may be found as well.
        targets: Where cuts are aimed.
    """

    option: str
    value: str
    settings: Mapping[str, Any]
    claims: tuple[str, ...] = FLUSHED
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    targets: tuple[str, ...] = ("random", "gc", "erase", "upper_page")

    @property
    def is_weak(self) -> bool:
        """Whether the option must show a fault."""
        return bool(self.must)


PLP = (*FLUSHED, "plp")
ORDERED = (*FLUSHED, "ordered")
RECORDS = ("journal", "checkpoint", "random")
# Data that is gone shows as lost in the class of whoever owed it.
GONE = ("lost_flushed", "retroactive_corruption")

# A drive on which marks show soon after: its code corrects what a page errs that is an hour old and
# was read 500 times, with five standard deviations to spare, and not three times the stress of that
# or ten times its rate.
STRESSED: Final = {
    "reliability.kind": "states",
    "nand.stress.retention_h": 1,
    "nand.stress.reads": 500,
    "ecc.bch_m": 13,
    "ecc.bch_t": 60,
}

ROWS: Final = (
    Row("plp", "capacitor, 50 mJ", {**BUFFER, "power.plp.energy_mj": 50}, PLP),
    Row(
        "plp", "capacitor, 0.5 mJ", {**BUFFER, "power.plp.energy_mj": 0.5}, PLP,
        ("lost_acked",), ("phantom_trim",),
    ),
    Row("plp", "none", BUFFER, PLP, ("lost_acked",), ("phantom_trim",)),
    Row(
        "plp", "host_notified", {**BUFFER, "power.plp": "host_notified"}, PLP,
        ("lost_acked",), ("phantom_trim",),
    ),
    Row("flush", "honest", BUFFER),
    Row("flush", "delayed, 5 ms", {**BUFFER, "power.flush.delayed_ms": 5}, FLUSHED,
        ("lost_flushed",), ("phantom_trim",)),
    Row("flush", "ignored", {**BUFFER, "power.flush": "ignored"}, FLUSHED, ("lost_flushed",),
        ("phantom_trim",)),
    Row("lower_page_backup", "backup_to_slc", {"power.paired_scheme": "tlc_multi"}),
    Row(
        "lower_page_backup", "skip_pair_after_flush",
        {"power.paired_scheme": "tlc_multi", "power.lower_page_backup": "skip_pair_after_flush"},
    ),
    Row(
        "lower_page_backup", "none",
        {"power.paired_scheme": "tlc_multi", "power.lower_page_backup": "none"}, FLUSHED,
        ("retroactive_corruption",), ("lost_flushed", "phantom_trim", "metadata_corruption",
                                      "unstable_read"),
    ),
    Row("paired_scheme", "tlc_oneshot",
        {"power.paired_scheme": "tlc_oneshot", "power.lower_page_backup": "none"}),
    Row("journal_crc", "true", {}, targets=RECORDS),
    Row("journal_crc", "false", {"power.journal_crc": False}, FLUSHED, ("metadata_corruption",),
        GONE, RECORDS),
    Row("root_pairs", "true", {"power.checkpoint_interval_units": 256}, targets=RECORDS),
    Row(
        "root_pairs", "false",
        {"power.root_pairs": False, "power.checkpoint_interval_units": 256}, FLUSHED,
        ("dead_device",), targets=RECORDS,
    ),
    Row("map_order", "data_before_map", {}, targets=RECORDS),
    Row(
        "map_order", "map_before_data", {"power.map_order": "map_before_data"}, FLUSHED,
        ("flying_write",), ("bit_corruption", *GONE), RECORDS,
    ),
    Row("subpage_write", "full_page", {}),
    Row("subpage_write", "sub_page", {"power.subpage_write": "sub_page"}, FLUSHED,
        ("shorn_write",)),
    Row("seq_reorder", "in_order", {**BUFFER, "power.seq_reorder": "in_order"}, ORDERED),
    Row("seq_reorder", "per_die", BUFFER, ORDERED, ("unserializable_write",)),
    Row("trim_log", "persistent", {}),
    Row("trim_log", "volatile", {"power.trim_log": "volatile"}, FLUSHED, ("phantom_trim",)),
    Row("trim_log", "volatile, no promise of zeros", {"power.trim_log": "volatile"},
        ("honest-flush",)),
    Row("suspect_pages", "relocate", STRESSED),
    Row("suspect_pages", "keep", {**STRESSED, "power.suspect_pages": "keep"}, FLUSHED,
        ("retroactive_corruption",)),
    Row("half_erased", "erase_again", STRESSED),
    Row("half_erased", "reuse", {**STRESSED, "power.half_erased": "reuse"}, FLUSHED,
        ("retroactive_corruption",)),
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a row has shown.

    Args:
        row: The option.
        document: Its campaign.
        problems: What is not as it must be, in words; empty where all is.
    """

    row: Row
    document: PowerDocument
    problems: tuple[str, ...]

    @property
    def energy_mj(self) -> float:
        """Energy that saves the most that memory held at a cut, in millijoules.

        Source: pages x power of a program x tPROG, as capacitors are counted in the core.
        """
        smart, device = self.document.smart, self.document.device
        plp = (device.get("power") or {}).get("plp")
        program_mw = plp.get("program_mw", PROGRAM_MW) if isinstance(plp, dict) else PROGRAM_MW
        seconds = float(device["nand"]["timing"]["t_program_us"]) * 1e-6
        return 0.0 if smart is None else smart.memory_pages_max * program_mw * seconds


def settings_of(row: Row, cuts: int, seed: int) -> Settings:
    """Return the campaign of a row."""
    changes = dict(row.settings)
    power = {key: value for key, value in changes.items() if key.startswith("power.")}
    device = load_device(_with(SMALL, {**changes, **power}))
    return Settings(device, cuts, targets=row.targets, claims=row.claims, seed=seed)


def _with(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        key: dict(value) if isinstance(value, dict) else value for key, value in document.items()
    }
    for path, value in changes.items():
        *parents, name = path.split(".")
        place = made
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    return made


def run(
    cuts: int = 500,
    seed: int = 42,
    jobs: int = 1,
    watch: Callable[[str], None] | None = None,
) -> Iterator[Found]:
    """Yield the result of each row.

    Args:
        cuts: Cuts of each row.
        seed: Seed of all randomness.
        jobs: Lives at the same time.
        watch: Told the row that comes next.
    """
    for row in ROWS:
        if watch is not None:
            watch(f"{row.option}: {row.value}")
        campaign = Campaign(settings_of(row, cuts, seed), jobs=jobs)
        campaign.to_the_end()
        document = campaign.document("opennandlab power study")
        yield Found(row, document, tuple(_problems(row, document)))


def _problems(row: Row, document: PowerDocument) -> Iterator[str]:
    for name in row.must:
        if name not in document.classes:
            yield f"{name} was not found"
    for name in document.classes:
        if name not in row.must and name not in row.may:
            yield f"{name} was found"
    yield from document.errors
