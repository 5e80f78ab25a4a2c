"""The document `opennandlab.emmc/1`: conformance cases of an eMMC, and what came of them."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.record import JsonObject, Record

EMMC_SCHEMA: Final = "opennandlab.emmc/1"

Verdict = Literal["passed", "failed", "skipped"]


class EmmcRow(Record, frozen=True, kw_only=True):
    """A case.

    Args:
        id: Chapter and name.
        clause: Where the standard says it.
        does: What is done.
        expected: What the standard wants, check by check.
        found: What was found; of a case that was skipped, why.
        verdict: `passed`, `failed` or `skipped`.
        simulated_ms: Time that passed for the card; 0 on real devices.
    """

    id: str
    clause: str
    does: str
    expected: str
    found: str
    verdict: Verdict
    simulated_ms: float


class EmmcTarget(Record, frozen=True, kw_only=True):
    """What was checked.

    Args:
        kind: `sim` or `device`.
        name: The device file or preset, or the path.
        standard: The revision that the card follows, such as `5.1`; `unknown` where it does not
            tell.
        user_bytes: Size of the user area.
        device: The resolved device file; `null` for real devices.
        seed: Seed of all randomness; `null` for real devices.
        fields: Fields of the extended CSD that were read, for a real device.
    """

    kind: Literal["sim", "device"]
    name: str
    standard: str
    user_bytes: int
    device: JsonObject | None
    seed: int | None
    fields: dict[str, int] | None = None


class EmmcRun(Record, frozen=True, kw_only=True):
    """What was true of the run and not of its result.

    Args:
        version: Version of the program.
        wall_s: How long it took.
        command: What ran the check.
    """

    version: str
    wall_s: float
    command: str


class EmmcDocument(Record, frozen=True, kw_only=True):
    """Conformance cases of an eMMC.

    Args:
        schema: Kind and version of the document.
        target: What was checked.
        only: The patterns that chose cases; empty for all.
        rows: A row for each case.
        passed_count: Cases that passed.
        failed_count: Cases that failed.
        skipped_count: Cases that this target cannot have.
        passed: None failed, one passed at least, and all were run.
        partial: It was interrupted.
        run: What was true of the run and not of its result.
        digest: SHA-256 of all but `run`, in hex.
    """

    schema: Literal["opennandlab.emmc/1"]
    target: EmmcTarget
    only: list[str]
    rows: list[EmmcRow]
    passed_count: int
    failed_count: int
    skipped_count: int
    passed: bool
    partial: bool
    run: EmmcRun
    digest: str
