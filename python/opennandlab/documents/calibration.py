"""The document `opennandlab.calibration/2`: keys of a device, fitted to the measurement."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.agreement import Agreement
from opennandlab.documents.record import JsonObject, Number, Record

CALIBRATION_SCHEMA: Final = "opennandlab.calibration/2"

Verdict = Literal["determined", "correlated", "flat", "at a bound", "ambiguous", "unknown"]


class MeasuredFacts(Record, frozen=True, kw_only=True):
    """What keys were fitted to.

    Args:
        name: Name of the document.
        test: Its standard test.
        source: Who measured it and where it was published; `null` where nobody said.
        digest: Digest of the document.
        metric: The table whose cells count.
        cells: How many it has.
    """

    name: str
    test: str
    source: str | None
    digest: str
    metric: str
    cells: int


class FittedKey(Record, frozen=True, kw_only=True):
    """A key of the device file.

    Args:
        key: Its dotted path.
        start: Before.
        value: After.
        low: Least value that was tried.
        high: Greatest value that was tried.
        scale: `log` or `linear`.
        is_integer: Whether it holds whole numbers only.
        sensitivity: Root mean square over the fitted cells of d log figure / d log key.
        standard_error_pct: Standard error of the value, in percent (Fisher information); `null`
            where the data do not limit it.
        verdict: `determined` by the data; `correlated`: only together with another key; `flat`: the
            cells hardly change with it; `at a bound`; `ambiguous`: starts of the search ended at
            different values; `unknown` where it could not be found out.
        partner: The key with which it is correlated most; `null` for a single key.
        correlation: Correlation of both estimates, -1 to 1.
        p5: The value is below this with a probability of 5 %; `null` if the data do not limit
            it.
        p50: The median.
        p95: Below this with 95 %.
    """

    key: str
    start: Number
    value: Number
    low: Number
    high: Number
    scale: Literal["log", "linear"]
    is_integer: bool
    sensitivity: Number
    standard_error_pct: Number | None
    verdict: Verdict
    partner: str | None
    correlation: Number | None
    p5: Number | None
    p50: Number | None
    p95: Number | None


class Variant(Record, frozen=True, kw_only=True):
    """A combination of the keys that were chosen among values, with a separate fit of the others.

    Args:
        choice: The combination: value by dotted key.
        values: Values of the keys that were fitted, in their order; `null` for one that cannot run.
        rms_pct: RMS error of the fitted cells, likewise.
        chi2: Sum of the squares of their errors over the variance, likewise.
        weight: exp(-chi2 / 2), of all combinations together 1.
    """

    choice: JsonObject
    values: list[Number] | None
    rms_pct: Number | None
    chi2: Number | None
    weight: Number


class Band(Record, frozen=True, kw_only=True):
    """What the fit predicts of a cell that took no part in it.

    Args:
        row: Row of the table.
        column: Column of the table.
        measured: The measurement.
        low: Below this with a probability of 5 %.
        high: Below this with 95 %.
        is_inside: Whether the measurement is between.
    """

    row: str
    column: str
    measured: Number
    low: Number
    high: Number
    is_inside: bool


class Posterior(Record, frozen=True, kw_only=True):
    """Knowledge after the fit.

    Args:
        noise_pct: Standard deviation of a measurement.
        model_pct: Of the model, by kind of figure: 8 %, counted as one figure, and the residuals.
        bands: Bands of the held-out cells.
        coverage_pct: How many of these hold the measurement; `null` without any.
        is_too_sure: Whether these are less than 70 %.
    """

    noise_pct: Number
    model_pct: dict[str, Number]
    bands: list[Band]
    coverage_pct: Number | None
    is_too_sure: bool


class Direction(Record, frozen=True, kw_only=True):
    """A combination of keys along which all cells together change by so much.

    Args:
        response: Root mean square over the cells of d log figure, for a step of 1 in the logs of
            the keys along the direction.
        weights: Weights of each key, in order; their squares add up to 1.
    """

    response: Number
    weights: list[Number]


class CellSensitivity(Record, frozen=True, kw_only=True):
    """How one cell changes with each key.

    Args:
        cell: Row and column.
        is_held_out: Whether the cell took no part in the fit.
        slopes: d log figure / d log key, in the order of the keys.
    """

    cell: str
    is_held_out: bool
    slopes: list[Number]


class Step(Record, frozen=True, kw_only=True):
    """A step of the search that found something better.

    Args:
        run: Number of the run, from 1.
        rms_pct: RMS error of the fitted cells.
        stage: `start`, `search` or `polish`.
    """

    run: int
    rms_pct: Number
    stage: str


class Start(Record, frozen=True, kw_only=True):
    """Where one start of the search led.

    Args:
        runs: Runs of the device until then.
        rms_pct: RMS error of the fitted cells.
        values: Values of the keys, in their order.
    """

    runs: int
    rms_pct: Number
    values: list[Number]


class CalibrationRun(Record, frozen=True, kw_only=True):
    """What was true of the run and not of its result.

    Args:
        version: Version of the program.
        wall_s: How long it took; less where runs were known from before.
        known: Runs that were in the journal before.
        command: What ran it; empty from Python.
    """

    version: str
    wall_s: Number
    known: int
    command: str


class CalibrationDocument(Record, frozen=True, kw_only=True):
    """Keys of a device, fitted to the measurement.

    Args:
        schema: Kind and version of the document.
        device: Name of the device file.
        config: The fitted device, resolved, as in the schema of device files.
        conditions: How cells were run: threads, queue depth, range, requests, blocks, ….
        measured: What keys were fitted to.
        keys: The keys.
        fitted: Errors of the cells that were fitted.
        held_out: Errors of the cells that were not; `null` where none were held out.
        fitted_before: RMS error of the fitted cells before, in percent.
        held_out_before: The same of the held-out cells; `null` if there are none.
        verdict: `fits`, or `no variant fits` where the RMS error of the fitted cells exceeds 15 %;
            `null` without a free key.
        variants: Combinations of the keys that were chosen among values, in order; `null` without
            any.
        posterior: Knowledge of held-out cells; `null` without fitted keys.
        correlations: Correlations of the estimates, a row for each key.
        directions: Combinations of keys, the one that the cells tell most of first.
        sensitivities: Sensitivities of each cell.
        starts: Where the starts of the search led, in order; absent where there was one.
        steps: How the search went.
        runs: Runs of the device.
        optimiser: What searched.
        seed: Seed of the search and of every run.
        partial: Whether it was interrupted: the best so far.
        warnings: What the reader should know.
        run: What was true of the run and not of its result.
        digest: SHA-256 of all but `run`, in hex.
    """

    schema: Literal["opennandlab.calibration/2"]
    device: str
    config: JsonObject
    conditions: JsonObject
    measured: MeasuredFacts
    keys: list[FittedKey]
    fitted: Agreement
    held_out: Agreement | None
    fitted_before: Number
    held_out_before: Number | None
    verdict: Literal["fits", "no variant fits"] | None
    variants: list[Variant] | None
    posterior: Posterior | None
    correlations: list[list[Number]]
    directions: list[Direction]
    sensitivities: list[CellSensitivity]
    starts: list[Start] | None = None
    steps: list[Step]
    runs: int
    optimiser: str
    seed: int
    partial: bool
    warnings: list[str]
    run: CalibrationRun
    digest: str
