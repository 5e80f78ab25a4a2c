"""The document `opennandlab.power/1`: a drive that was cut from power again and again."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from opennandlab.documents.record import JsonObject, Number, Record

POWER_SCHEMA: Final = "opennandlab.power/1"


class PowerClass(Record, frozen=True, kw_only=True):
    """A class of faults.

    Args:
        cuts: Cuts after which at least one fault of this class was found.
        per_1000: The same per 1,000 cuts.
        low: Lower end of the 95 % interval of that (Wilson, 1927).
        high: Upper end.
        first_cycle: The first such cut, from 0; `null` where there was none.
    """

    cuts: int
    per_1000: Number
    low: Number
    high: Number
    first_cycle: int | None


class PowerEvidence(Record, frozen=True, kw_only=True):
    """A fault that was found.

    Args:
        life: Number of the life of the drive.
        cut: Number of the cut in this life.
        workload: What the host did.
        at: At what the cut was aimed.
        cut_ns: When, since the drive was ready, in nanoseconds.
        class_name: Class of the fault.
        guarantee: Which promise was broken.
        unit: The logical unit; `null` of the drive as a whole.
        owed_version: The oldest write of this unit that the drive owed.
        found: What it answered; `null` where another unit tells it.
        replay: The command that finds it again.
    """

    life: int
    cut: int
    workload: str
    at: str
    cut_ns: int
    class_name: str
    guarantee: str
    unit: int | None
    owed_version: int
    found: str | None
    replay: str


class PowerRecovery(Record, frozen=True, kw_only=True):
    """Time from power to ready.

    Args:
        mean: Mean, in microseconds.
        max: Longest, in microseconds.
        limit: What counts as slow, in microseconds.
    """

    mean: Number
    max: Number
    limit: Number


class PowerSmart(Record, frozen=True, kw_only=True):
    """What the drive counts itself.

    Args:
        unsafe_shutdowns: Cuts.
        capacitor_failures: Cuts after which it knew that its capacitors had not lasted.
        torn_pages: Interrupted pages that could not be read.
        damaged_pages: Earlier pages of their wordlines that could not be read.
        protected_pages: Earlier pages that would have been damaged, and were kept.
        half_erased_blocks: Interrupted erases, which were done again.
        saved_pages: Pages that capacitors saved.
        memory_pages_max: Most pages that memory held at a cut.
    """

    unsafe_shutdowns: int
    capacitor_failures: int
    torn_pages: int
    damaged_pages: int
    protected_pages: int
    half_erased_blocks: int
    saved_pages: int
    memory_pages_max: int


class PowerCost(Record, frozen=True, kw_only=True):
    """What the host and the flash did meanwhile.

    Args:
        requests: Requests that were acknowledged.
        host_pages: Pages that the host wrote to the flash.
        flash_pages: Pages that were programmed, those of collections included; `null` where nobody
            knows.
        record_pages: Pages of journal, checkpoints and roots; `null` where nobody knows.
        guard_pages: Pages that were copied, or left empty, to keep earlier pages of wordlines safe;
            `null` where nobody knows.
        waf: All these pages per page of the host; `null` without any.
        ack_us: Mean time from request to acknowledgement of written and trimmed pages.
        flush_us: The same of flushes; `null` without any, or where nobody knows.
    """

    requests: int
    host_pages: int
    flash_pages: int | None
    record_pages: int | None
    guard_pages: int | None = None
    waf: Number | None
    ack_us: Number | None
    flush_us: Number | None = None


class PowerRun(Record, frozen=True, kw_only=True):
    """What is true of the run and not of its result.

    Args:
        version: Version of opennandlab.
        wall_s: Time that it took.
        command: What ran it.
    """

    version: str
    wall_s: float
    command: str


class PowerDocument(Record, frozen=True, kw_only=True):
    """A campaign of power cuts.

    Args:
        schema: Kind and version of the document.
        device: The resolved device file; of a drive outside what it says of itself.
        changed: How it differs from the drive that was named, in words; left out: not at all.
        settings: Workloads, targets, claims, seed, cuts wanted and cuts of a life.
        cuts: Cuts that were made.
        aimed: Cuts by the moment at which they were aimed; absent where that is not known.
        pages_checked: Logical pages that were read after a cut, over all cuts.
        audits: Recoveries that were compared with one that examines every page.
        violations: By guarantee, `G1` to `G10`, cuts after which it was broken.
        classes: By name of the class, those that were found.
        none_below: Where no fault was found: with 95 % confidence, fewer than this many of 1,000
            cuts show one (rule of three); else `null`.
        recovery_us: Time to be ready.
        smart: What the drive counts itself; `null` of a drive outside of the simulator.
        cost: What host and flash did.
        evidence: Some faults of each class.
        replay: The command that runs the campaign again.
        errors: Tables of the simulator that disagreed: none, or the simulator is wrong. Of a drive
            outside, requests that failed before the power was cut, and losses of power that it
            did not count.
        partial: It was interrupted.
        passed: No guarantee was broken, nothing is missing.
        run: What was true of the run and not of its result.
        digest: SHA-256 of all but `run`, in hex.
    """

    schema: Literal["opennandlab.power/1"]
    device: JsonObject
    changed: list[str] = msgspec.field(default_factory=list)
    settings: JsonObject
    cuts: int
    aimed: dict[str, int] | None = None
    pages_checked: int
    audits: int
    violations: dict[str, int]
    classes: dict[str, PowerClass]
    none_below: Number | None
    recovery_us: PowerRecovery
    smart: PowerSmart | None
    cost: PowerCost
    evidence: list[PowerEvidence]
    replay: str
    errors: list[str]
    partial: bool
    passed: bool
    run: PowerRun
    digest: str
