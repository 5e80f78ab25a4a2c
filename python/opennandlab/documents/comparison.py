"""The document `opennandlab.compare/1`: results or other documents of one family side by side."""

from __future__ import annotations

import math
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from opennandlab.documents.agreement import Agreement
from opennandlab.documents.record import Number, Record

SCHEMA: Final = "opennandlab.compare/1"


class Row(Record, frozen=True, kw_only=True):
    """One figure in all documents.

    Args:
        label: What a table calls it, with its unit.
        better: Which way is better: `lower` or `higher`; absent where neither is, as of counts of
            commands.
        values: The figure in each; `null` where one lacks it.
        delta_pct: Against the first, in percent; `null` where one side is missing or the first is
            zero.
        low: Lower ends of intervals, or least rounds of means; absent where none is known.
        high: Upper ends.
        best: Places from 0 of the best document and of those not distinguished from it: by
            rounding, by chance, or since intervals overlap. `null` where no direction is known,
            where best and worst cannot be distinguished, and for more than half of the documents.
        worst: Places of the worst, likewise.
        chance_pct: Difference in percent below which two values may be chance: from other seeds of
            the same settings, else assumed; absent for intervals and formulas.
    """

    label: str | None = None
    better: Literal["lower", "higher"] | None = None
    values: list[Number | None]
    delta_pct: list[Number | None]
    low: list[Number | None] | None = None
    high: list[Number | None] | None = None
    best: list[int] | UnsetType | None = UNSET
    worst: list[int] | UnsetType | None = UNSET
    chance_pct: Number | None = None

    def mark(self, place: int) -> Literal["best", "worst", ""]:
        """Return whether a document is among the best or the worst."""
        if isinstance(self.best, list) and place in self.best:
            return "best"
        return "worst" if isinstance(self.worst, list) and place in self.worst else ""


class ModelDifference(Record, frozen=True, kw_only=True):
    """A document that another version of the model made than the first.

    Args:
        place: Which of the documents it is, from 0.
        versions: Model version of the first and of this one.
        changes: Versions that lie between, each with what it changed.
        same_settings: Whether device, workload and seed are those of the first.
        number_count: Numbers that both have.
        changed: Paths of those that differ, largest change first; `metrics` has their values.
        one_sided: Paths of numbers that only one of the two has.
    """

    place: int
    versions: list[int]
    changes: dict[str, str]
    same_settings: bool
    number_count: int
    changed: list[str]
    one_sided: list[str]


class Deviation(Record, frozen=True, kw_only=True):
    """How far a simulated drive is from a measured one.

    Args:
        measured: What the measured document is called.
        simulated: What the other is called.
        both_measured: Whether the other was measured too; absent where it was simulated.
        tables: Of each table that both have: errors by cell, their median, RMS and worst.
    """

    measured: str
    simulated: str
    both_measured: bool | None = None
    tables: list[Agreement]


class CostRow(Record, frozen=True, kw_only=True):
    """What a drive costs, in the currency of the file; `null` where a part is not known.

    Args:
        name: Name of the document.
        price: Price of the drive.
        watts: Mean power, as the file states it, else the mean of the run.
        energy: Price of the energy over the years; `null` without a price of a kWh.
        total: Both.
        per_tb: Total for each 10^12 bytes of user capacity.
        per_k_iops: For each 1000 requests a second.
        per_tbw: For each 10^12 bytes that can be written until blocks are worn out.
        per_year: For each year.
    """

    name: str
    price: Number
    watts: Number | None
    energy: Number | None
    total: Number | None
    per_tb: Number | None
    per_k_iops: Number | None
    per_tbw: Number | None
    per_year: Number | None


class Cost(Record, frozen=True, kw_only=True):
    """What the drives cost, with prices of a file.

    Args:
        currency: Currency of all prices.
        years: How long the drives are used.
        kwh_price: Price of a kilowatt-hour; `null` where energy is left out.
        rows: One for each document.
    """

    currency: str
    years: Number
    kwh_price: Number | None
    rows: list[CostRow]


class Comparison(Record, frozen=True, kw_only=True):
    """Documents of one family side by side.

    Args:
        schema: Kind and version of the document.
        test: Name of the standard test; absent for other families.
        names: What the documents are called.
        sources: Their files, or keys in a store; absent for documents in memory.
        like: Whether they may be compared.
        reasons: Why they may not.
        warnings: What a reader of the deltas should know.
        models: Documents of other model versions than the first; absent if there are none.
        metrics: Figures by dotted path.
        errors: Of each simulated document against the one that was measured elsewhere; absent where
            there is none.
        cost: What the drives cost; absent where that was not asked for.
    """

    schema: Literal["opennandlab.compare/1"]
    test: str | None = None
    names: list[str]
    sources: list[str] | None = None
    like: bool
    reasons: list[str]
    warnings: list[str]
    models: list[ModelDifference] | None = None
    metrics: dict[str, Row]
    errors: list[Deviation] | None = None
    cost: Cost | None = None


def delta_pct(first: float | None, value: float | None) -> float | None:
    """Return the change against the first in percent; None where it cannot be said."""
    if first is None or value is None:
        return None
    if first == value:
        return 0.0
    change = (value / first - 1.0) * 100.0 if first else None
    return change if change is not None and math.isfinite(change) else None
