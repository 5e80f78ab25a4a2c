"""The document `opennandlab.fleet/1`: many devices through the same suites."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.record import JsonObject, Number, Record

FLEET_SCHEMA: Final = "opennandlab.fleet/1"


Verdict = Literal["passed", "failed", "not_run"]


class FleetRow(Record, frozen=True, kw_only=True):
    """A suite on a device, or a stage of one.

    Args:
        device: Index of the device.
        suite: Name of the suite.
        key: Key of the point in the store.
        metrics: Its numbers by name; empty where it failed.
        error: Why it failed, or was not run; `null` where it passed.
        stage: Name of the stage, of a suite that has stages.
        verdict: Verdict of a stage.
        note: What a reader of the numbers of a stage must know.
        state: SHA-256, in hex, of the image of the drive that a stage left.
    """

    device: int
    suite: str
    key: str
    metrics: dict[str, float]
    error: str | None
    stage: str | None = None
    verdict: Verdict | None = None
    note: str | None = None
    state: str | None = None

    @property
    def label(self) -> str:
        """The suite, and the stage if its name differs."""
        same = self.stage in {None, self.suite}
        return self.suite if same else f"{self.suite}/{self.stage}"

    @property
    def outcome(self) -> Verdict:
        """The verdict; of a suite without stages whether it failed."""
        return self.verdict or ("passed" if self.error is None else "failed")


class FleetDevice(Record, frozen=True, kw_only=True):
    """A device of the fleet.

    Args:
        index: Which, from 0.
        seed: Seed of all its randomness.
        drawn: What it drew, by key.
    """

    index: int
    seed: int
    drawn: JsonObject


class FleetOutlier(Record, frozen=True, kw_only=True):
    """A device that is far from the others.

    Args:
        device: Its index.
        value: Its number.
        score: 0.6745 (value - median) / median absolute deviation; outliers have 3.5 or more
            either way (Iglewicz and Hoaglin, 1993).
    """

    device: int
    value: float
    score: Number | None


class FleetSummary(Record, frozen=True, kw_only=True):
    """A number over all devices that have it.

    Args:
        suite: Name of the suite; with stages `SUITE/STAGE`.
        metric: Name of the number.
        count: Devices that have it.
        min: The least.
        median: The median.
        mean: The mean.
        max: The most.
        sd: Standard deviation, of a sample; 0 for one device.
        outliers: Devices far from the others.
    """

    suite: str
    metric: str
    count: int
    min: float
    median: float
    mean: float
    max: float
    sd: float
    outliers: list[FleetOutlier]


class FleetTime(Record, frozen=True, kw_only=True):
    """When a suite ran on a target.

    Args:
        device: Index of the device.
        suite: Name of the suite.
        began_s: When it was let go, seconds since the first of all was.
        ended_s: When it had ended.
    """

    device: int
    suite: str
    began_s: float
    ended_s: float


class FleetRun(Record, frozen=True, kw_only=True):
    """What was true of the run and not of its result.

    Args:
        version: Version of the program.
        wall_s: How long it took; less where points were known.
        known: Points that were in the store before.
        command: What ran the fleet; with `--only INDEX` it runs one device.
        times: When the suites of targets ran.
    """

    version: str
    wall_s: float
    known: int
    command: str
    times: list[FleetTime] | None = None


class FleetDocument(Record, frozen=True, kw_only=True):
    """A fleet of drives: what `fleet run` ran on each, and the spread of the results.

    Args:
        schema: Kind and version of the document.
        fleet: The file, as it was read.
        devices: The devices that were run.
        rows: A row for each suite, or stage of one, and device.
        summary: Spread of the main numbers of each suite.
        failed: How many rows failed.
        passed: None failed, and none is missing.
        partial: It was interrupted.
        run: What was true of the run and not of its result.
        digest: SHA-256 of all but `run`, in hex.
    """

    schema: Literal["opennandlab.fleet/1"]
    fleet: JsonObject
    devices: list[FleetDevice]
    rows: list[FleetRow]
    summary: list[FleetSummary]
    failed: int
    passed: bool
    partial: bool
    run: FleetRun
    digest: str
