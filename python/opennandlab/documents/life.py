"""The documents `opennandlab.life/1` and `opennandlab.drive-life/1`: life tests after JESD218.

The first follows from the models alone, the second from a simulated drive that was written to its
end and read back.
"""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.read_errors import PageTypeErrors, Recovery
from opennandlab.documents.record import JsonObject, Record, plain

LIFE_SCHEMA: Final = "opennandlab.life/1"
DRIVE_LIFE_SCHEMA: Final = "opennandlab.drive-life/1"


class LifeTest(Record, frozen=True, kw_only=True):
    """The outcome of a life test by the models.

    Args:
        schema: Kind and version of the document.
        drive_class: `client` or `enterprise`.
        model: Name of the error model.
        tbw_tb: Bytes that the host wrote, TB of 10^12.
        waf: NAND bytes programmed per host byte.
        waf_source: Where the WAF comes from.
        pe_cycles: Mean program/erase cycles at the end.
        pe_cycles_rated: What the flash is rated for.
        retention_h: Hours without power; under power, the age of the data.
        retention_c: Temperature of these hours, degrees Celsius.
        refreshes: P/E cycles that refresh took of these; only of a drive under power.
        bake_c: Temperature of a bake, degrees Celsius.
        bake_h: Hours there of equal effect, at 1.1 eV.
        rber: Raw bit error rate when read back: mean over page types.
        rber_by_page: The same for each page type that the model tells apart.
        retry: Whether pages were read at the best levels.
        codeword_failure: Probability that a codeword of the page cannot be decoded, mean.
        uber: Data errors per bit read, analytic.
        uber_max: The limit of the class.
        bits_read: Data bits read back.
        errors_expected: Mean number of data errors among them.
        errors_drawn: Number drawn with the seed.
        uber_drawn: Drawn errors per bit read.
        uber_low: Lower end of the 95 % interval of the drawn rate (exact Poisson).
        uber_high: Its upper end.
        bits_to_show: Bits without an error that would show the limit at 95 %.
        seed: Seed of the draw.
        passed: Whether the analytic UBER is within the limit.
        warnings: What the reader should know; absent without any.
    """

    schema: Literal["opennandlab.life/1"]
    drive_class: str
    model: str
    tbw_tb: float
    waf: float
    waf_source: str
    pe_cycles: float
    pe_cycles_rated: float
    retention_h: float
    retention_c: float
    refreshes: float | None = None
    bake_c: float
    bake_h: float
    rber: float
    rber_by_page: dict[str, float]
    retry: bool
    codeword_failure: float
    uber: float
    uber_max: float
    bits_read: float
    errors_expected: float
    errors_drawn: int
    uber_drawn: float
    uber_low: float
    uber_high: float
    bits_to_show: float
    seed: int
    passed: bool
    warnings: list[str] | None = None

    def to_dict(self) -> JsonObject:
        """Return the document as plain JSON."""
        return plain(self)


class CutFault(Record, frozen=True, kw_only=True):
    """A class of faults after power cuts, as `power run` names them.

    Args:
        cuts: Cuts that showed it.
        first_cut: The first of them, from 0.
        first_share: How much of the writes was done by then, from 0 to 1.
        first_pe_cycles: Mean erases of a block by then.
    """

    cuts: int
    first_cut: int
    first_share: float
    first_pe_cycles: float


class DriveCuts(Record, frozen=True, kw_only=True):
    """What power cuts in the course of a life test did.

    Args:
        cuts: How many.
        requests: Requests that were acknowledged between them.
        pages_checked: Units that were read behind them.
        audits: Recoveries that were compared with one that examines every page.
        faults: By class of faults.
        faulty_cuts: Cuts that showed a fault of any class.
        torn_pages: Pages in progress that cannot be read.
        damaged_pages: Earlier pages of their wordlines that cannot be read.
        protected_pages: Earlier pages that were kept from damage.
        half_erased_blocks: Interrupted erases.
        saved_pages: Pages that capacitors saved.
        capacitor_failures: Cuts for which the capacitors did not last.
        ready_ms_mean: From power to ready, milliseconds, mean.
        ready_ms_max: The longest.
        host_bytes: Written by the host between the cuts, bytes.
        nand_bytes: Programmed for that, with records and recoveries, bytes.
        errors: Mistakes of the simulator itself: none.
    """

    cuts: int
    requests: int
    pages_checked: int
    audits: int
    faults: dict[str, CutFault]
    faulty_cuts: int
    torn_pages: int
    damaged_pages: int
    protected_pages: int
    half_erased_blocks: int
    saved_pages: int
    capacitor_failures: int
    ready_ms_mean: float
    ready_ms_max: float
    host_bytes: float
    nand_bytes: float
    errors: list[str]


class LifeTrace(Record, frozen=True, kw_only=True):
    """The trace that the host of a life test replayed.

    Args:
        file: Name of its file.
        sha256: SHA-256 of its uncompressed text, in hex.
        written_bytes: Written by one replay.
        rounds: How often it was replayed on the drive that was worn.
    """

    file: str
    sha256: str
    written_bytes: int
    rounds: float | None = None


class DriveLifeTest(Record, frozen=True, kw_only=True):
    """The outcome of a life test of a simulated drive.

    Args:
        schema: Kind and version of the document.
        drive_class: `client` or `enterprise`.
        device: Name of the device.
        seed: Seed of the drive and its addresses.
        scale: Physical pages of the whole drive over those that were simulated.
        simulated_pages: Physical pages that were simulated.
        tbw_tb: What the host wrote to the whole drive, TB of 10^12.
        drive_writes: The same in logical capacities.
        workload: Name of what the host wrote: of the workload, or of its file; `random` without.
        trace: The trace that the host replayed; absent without one.
        waf: Flash bytes programmed per host byte, all writing together.
        waf_pages: Physical pages of the drive that the write amplification was measured on, where
            that is not the one that was worn.
        waf_factor: By which it is higher than that of the drive that was worn, in the steady state.
        pe_cycles: Mean erases of a block when read back.
        pe_cycles_min: Erases of the block with the fewest.
        pe_cycles_max: Erases of the block with the most.
        pe_cycles_rated: What the flash is rated for.
        worn_out: Whether the drive stopped taking writes before TBW.
        retention_h: Hours without power; under power, the age of the data.
        retention_c: Temperature of these hours, degrees Celsius.
        refreshes: Mean erases that refresh took of these; only of a drive under power.
        bake_c: Temperature of a bake, degrees Celsius.
        bake_h: Hours there of equal effect, at 1.1 eV.
        rber: Raw bit error rate of the first reads, mean.
        page_types: By page type: reads, raw bit error rate, share beyond each recovery step, UBER.
        recovery: Page reads by what it took to correct them.
        pages_read: Pages read back.
        bits_read: Data bits of them.
        uncorrectable: Pages that were lost.
        uncorrectable_expected: Mean number of them, from the model at each read's wear and page
            type.
        uber_observed: Lost pages per bit read.
        uber_low: Lower end of its 95 % interval (exact Poisson).
        uber_high: Its upper end.
        uber: Data errors per bit read, from the model at each read's wear and page type.
        uber_method: `analytic`, `table` or `extrapolated`; `observed` where enough codewords were
            decoded.
        uber_max: The limit of the class.
        margin: Factor by which the raw bit error rate could grow until the limit.
        bits_to_show: Bits without an error that would show the limit at 95 %.
        passed: Whether the drive took TBW, its UBER is within the limit, and no cut showed a fault.
        warnings: What the test and its read-back warned of.
        cuts: What power cuts did; absent if there were none.
    """

    schema: Literal["opennandlab.drive-life/1"]
    drive_class: str
    device: str
    seed: int
    scale: float
    simulated_pages: int
    tbw_tb: float
    drive_writes: float
    workload: str | None = None
    trace: LifeTrace | None = None
    waf: float
    waf_pages: int | None = None
    waf_factor: float | None = None
    pe_cycles: float
    pe_cycles_min: int
    pe_cycles_max: int
    pe_cycles_rated: float
    worn_out: bool
    retention_h: float
    retention_c: float
    refreshes: float | None = None
    bake_c: float
    bake_h: float
    rber: float
    page_types: dict[str, PageTypeErrors]
    recovery: Recovery
    pages_read: int
    bits_read: float
    uncorrectable: int
    uncorrectable_expected: float
    uber_observed: float
    uber_low: float
    uber_high: float
    uber: float
    uber_method: str
    uber_max: float
    margin: float | None
    bits_to_show: float
    passed: bool
    warnings: list[str]
    cuts: DriveCuts | None = None

    def to_dict(self) -> JsonObject:
        """Return the document as plain JSON."""
        return plain(self)
