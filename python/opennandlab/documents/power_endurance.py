"""The document `opennandlab.power-endurance/1`: a fleet that is worn, stored, and read back."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.fleet import FleetDevice
from opennandlab.documents.power_loss import PowerRun
from opennandlab.documents.record import JsonObject, Number, Record

POWER_ENDURANCE_SCHEMA: Final = "opennandlab.power-endurance/1"


class EnduranceSettings(Record, frozen=True, kw_only=True):
    """What decides the result, in addition to the fleet.

    Args:
        classes: Classes of JESD218.
        variants: What the drives were written and read, by name.
        ages: Written data at each age, in rated TBW.
        rated_tbw_tb: What one rated TBW is, TB.
        programs: Page programs of a test, about: drives are scaled down to them.
        cuts: Cuts from power of each device; 0: none, or as often as `cut_every_h` says.
        cut_every_h: Hours of active use between cuts; `null`: by their number.
        use_years: Years of use that the rated TBW is for.
        claims: What devices promise when they are cut; `null`: what their options say.
    """

    classes: list[Literal["client", "enterprise"]]
    variants: list[str]
    ages: list[Number]
    rated_tbw_tb: Number
    programs: Number
    cuts: int
    cut_every_h: Number | None
    use_years: Number
    claims: list[str] | None


class EnduranceFault(Record, frozen=True, kw_only=True):
    """A class of faults that power cuts showed.

    Args:
        devices: Devices that showed it.
        cuts: Cuts that showed it, over all devices.
        first_age: What was written when it was first seen, in rated TBW.
        first_pe_cycles: Mean erases of a block of that device by then.
    """

    devices: int
    cuts: int
    first_age: Number
    first_pe_cycles: Number


class EndurancePair(Record, frozen=True, kw_only=True):
    """A number of devices that were cut, against the same devices without cuts.

    Args:
        devices: Devices that have it above 0 both ways.
        without: Geometric mean without cuts.
        with_cuts: Geometric mean with cuts.
        ratio: Geometric mean of the ratios, with cuts over without.
        low: Lower end of its 95 % interval (Student, of the logarithms); `null` for less than two
            devices.
        high: Upper end.
    """

    devices: int
    without: Number
    with_cuts: Number
    ratio: Number
    low: Number | None
    high: Number | None


class EnduranceCuts(Record, frozen=True, kw_only=True):
    """What power cuts in the course of ageing did to the devices of a cell.

    Args:
        cuts: Cuts of each device.
        every_h: Hours of active use between them; `null` where their number was given.
        devices: Devices that were tested.
        failed: Those that took no more writes before the end, or could not be tested.
        faulty: Devices of which a cut showed a fault.
        low: Lower end of the 95 % interval of their share (Wilson, 1927).
        high: Upper end.
        faults: By class of faults.
        requests: Requests that were acknowledged between cuts, over all devices.
        torn_pages: Pages in progress that could not be read.
        half_erased_blocks: Interrupted erases.
        damaged_pages: Earlier pages of wordlines that could not be read.
        ready_ms_mean: From power to ready, milliseconds, mean.
        ready_ms_max: The longest.
        uecc: Pages that could not be corrected when read back, over all devices.
        uber_failed: Devices whose rate is above that of the class.
        waf: Write amplification against the same devices without cuts; `null` for no devices.
        pe_cycles: Mean erases of a block, likewise.
        uber: The rate that the model gives, likewise.
        passed: Neither limit of the class is exceeded, and no cut showed a fault.
    """

    cuts: int
    every_h: Number | None
    devices: int
    failed: int
    faulty: int
    low: Number
    high: Number
    faults: dict[str, EnduranceFault]
    requests: int
    torn_pages: int
    half_erased_blocks: int
    damaged_pages: int
    ready_ms_mean: Number | None
    ready_ms_max: Number | None
    uecc: int
    uber_failed: int
    waf: EndurancePair | None
    pe_cycles: EndurancePair | None
    uber: EndurancePair | None
    passed: bool


class EnduranceCell(Record, frozen=True, kw_only=True):
    """All devices, by class of JESD218, variant and amount written.

    Args:
        drive_class: `client` or `enterprise`.
        variant: `random`, `read_disturb` or `cold_hot`.
        age: What was written, in rated TBW.
        devices: Devices that were tested.
        failed: Those that took no more writes before that, or could not be tested.
        ffr: Share of them.
        ffr_low: Lower end of its 95 % interval (Wilson, 1927).
        ffr_high: Upper end.
        ffr_max: What the class allows.
        uecc: Pages that could not be corrected, over all devices.
        bits_read: Bits that were read back.
        uber_observed: Pages lost per bit read; `null` where nothing was read.
        uber_low: Lower end of its 95 % interval (exact Poisson).
        uber_high: Upper end.
        uber: The mean over devices that the model gives; `null` where none was read.
        uber_max: What the class allows.
        uber_failed: Devices whose rate is above that.
        tbw_tb: Mean of what hosts wrote to a whole drive, TB of 10^12.
        waf: Mean write amplification.
        pe_cycles: Mean erases of a block.
        scale: Physical pages of the whole drive over those that were simulated.
        passed: Neither limit is exceeded, without cuts.
        cuts: The same devices, cut from power while they age; absent where that was not asked for.
    """

    drive_class: str
    variant: str
    age: Number
    devices: int
    failed: int
    ffr: Number
    ffr_low: Number
    ffr_high: Number
    ffr_max: Number
    uecc: int
    bits_read: Number
    uber_observed: Number | None
    uber_low: Number | None
    uber_high: Number | None
    uber: Number | None
    uber_max: Number
    uber_failed: int
    tbw_tb: Number | None
    waf: Number | None
    pe_cycles: Number | None
    scale: Number | None
    passed: bool
    cuts: EnduranceCuts | None = None


class EnduranceVerdict(Record, frozen=True, kw_only=True):
    """A device in one of the cells.

    Args:
        device: Its index.
        drive_class: `client` or `enterprise`.
        variant: Variant of the cell.
        age: What was written, in rated TBW.
        with_cuts: Whether it was cut from power while it aged.
        verdict: `worn_out`, `uber`, `error`, or `cut`: a cut showed a fault.
        why: In words.
    """

    device: int
    drive_class: str
    variant: str
    age: Number
    with_cuts: bool
    verdict: str
    why: str


class EnduranceDocument(Record, frozen=True, kw_only=True):
    """Endurance and retention of a fleet, after JESD218.

    Args:
        schema: Kind and version of the document.
        fleet: The fleet as it was run, with its suites.
        settings: Classes, variants, ages, programs and cuts.
        devices: Seeds, and what each device drew.
        cells: By class, variant and age.
        verdicts: Devices that failed anything.
        warnings: What the error model of the device does not know, and the test asks for.
        partial: It was interrupted.
        passed: Every cell is within the limits of its class, no cut showed a fault, and none is
            missing.
        run: What was true of the run and not of its result.
        digest: SHA-256 of all but `run`, in hex.
    """

    schema: Literal["opennandlab.power-endurance/1"]
    fleet: JsonObject
    settings: EnduranceSettings
    devices: list[FleetDevice]
    cells: list[EnduranceCell]
    verdicts: list[EnduranceVerdict]
    warnings: list[str]
    partial: bool
    passed: bool
    run: PowerRun
    digest: str
