"""The document `opennandlab.power-endurance/1`: a fleet that is worn, stored, and read back."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.fleet import FleetDevice
from opennandlab.documents.power_loss import PowerRun
from opennandlab.documents.record import JsonObject, Number, Record

POWER_ENDURANCE_SCHEMA: Final = "opennandlab.power-endurance/1"


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
        passed: Neither limit is exceeded.
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


class EnduranceVerdict(Record, frozen=True, kw_only=True):
    """A device in one of the cells.

    Args:
        device: Its index.
        drive_class: `client` or `enterprise`.
        variant: Of the cell, or `cuts`.
        age: What was written, in rated TBW; 0 of `cuts`.
        verdict: `ok`, `worn_out`, `uber`, `error`, or the classes of faults after cuts.
        why: In words.
    """

    device: int
    drive_class: str
    variant: str
    age: Number
    verdict: str
    why: str


class EnduranceCuts(Record, frozen=True, kw_only=True):
    """What cuts from power did to the fleet.

    Args:
        devices: Devices that were cut.
        cuts: Cuts of all together.
        failed: Devices that showed a fault.
        low: Lower end of the 95 % interval of their share (Wilson, 1927).
        high: Upper end.
        classes: By class of fault, devices that showed it.
        scale: Physical pages of the whole drive over those that were cut.
        waf: Mean write amplification meanwhile, records and recoveries included.
    """

    devices: int
    cuts: int
    failed: int
    low: Number
    high: Number
    classes: dict[str, int]
    scale: Number
    waf: Number | None


class EnduranceDocument(Record, frozen=True, kw_only=True):
    """Endurance and retention of a fleet, after JESD218.

    Args:
        schema: Kind and version of the document.
        fleet: The fleet as it was run, with its suites.
        settings: Classes, variants, ages and programs.
        devices: Seeds, and what each device drew.
        cells: By class, variant and age.
        cuts: What cuts from power did; `null` where none were asked for.
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
    settings: JsonObject
    devices: list[FleetDevice]
    cells: list[EnduranceCell]
    cuts: EnduranceCuts | None
    verdicts: list[EnduranceVerdict]
    warnings: list[str]
    partial: bool
    passed: bool
    run: PowerRun
    digest: str
