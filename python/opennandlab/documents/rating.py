"""The document `opennandlab.rating/1`: what a data sheet became, and what else it may be."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.record import JsonObject, Record

RATING_SCHEMA: Final = "opennandlab.rating/1"


class RatingRound(Record, frozen=True, kw_only=True):
    """One round of simulations.

    Args:
        wordline_us: Time of a word line.
        alpha: Space for data over the capacity.
        sequential_mb_s: Simulated rate of sequential writes.
        uniform_mb_s: Simulated rate of random writes of 4 KiB.
        waf: Simulated write amplification of the latter.
    """

    wordline_us: float
    alpha: float
    sequential_mb_s: float
    uniform_mb_s: float
    waf: float


class RatingVariant(Record, frozen=True, kw_only=True):
    """Another drive that the sheet would fit, by the keys in which it differs.

    Args:
        name: Name of the assumption.
        gc_policy: `ftl.gc_policy`.
        blocks_per_plane: `nand.blocks_per_plane`.
        over_provisioning: `ftl.over_provisioning_pct`.
        uniform_mb_s: Rate of random writes of 4 KiB in steady state.
    """

    name: str
    gc_policy: Literal["greedy", "cost_benefit", "fifo", "random", "windowed_greedy"]
    blocks_per_plane: int
    over_provisioning: float
    uniform_mb_s: float


class RatingBand(Record, frozen=True, kw_only=True):
    """A prediction and its band.

    Args:
        value: Of the device as it was written.
        band: Least and most of all variants, times 0.96 and 1.04.
        low_by: Name of the variant that set the least.
        high_by: Name of the variant that set the most.
        by: Their origin.
    """

    value: float
    band: tuple[float, float]
    low_by: str
    high_by: str
    by: Literal["simulation", "closed form"]


class RatingDocument(Record, frozen=True, kw_only=True):
    """A data sheet and the device that was made of it.

    Args:
        schema: Kind and version of the document.
        device: Name of the device.
        device_digest: SHA-256 of the device, in hex: of another file this document does not speak.
        inputs: What the sheet rates.
        constants: Assumed of all drives, by name.
        solution: What the equations gave.
        shrink: What simulated drives were divided by; `null` without simulation.
        rounds: The rounds of simulations.
        is_met: Whether the last round had both rates within 1 %; `null` without simulation.
        variants: The device first, then the others.
        bands: Predictions by name.
        warnings: What does not fit together.
    """

    schema: Literal["opennandlab.rating/1"]
    device: str
    device_digest: str
    inputs: JsonObject
    constants: dict[str, float]
    solution: dict[str, float]
    shrink: int | None
    rounds: list[RatingRound]
    is_met: bool | None
    variants: list[RatingVariant]
    bands: dict[str, RatingBand]
    warnings: list[str]
