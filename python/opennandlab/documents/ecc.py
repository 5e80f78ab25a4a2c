"""The documents `opennandlab.ecc-curve/1` and `opennandlab.ecc-comparison/1`: codes on a channel.

A curve states how often a code fails over the points of a channel. It is its own journal: the raw
counts are in it, and rates and intervals follow from them, so that it is continued from its file. A
comparison holds the curves of several codes of one rate, and the limits of that rate.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from opennandlab.documents.record import JsonObject, Number, Record

CURVE_SCHEMA: Final = "opennandlab.ecc-curve/1"
# A curve holds hundreds of points: larger files are something else.
CURVE_BYTES_MAX = 16 << 20

COMPARISON_SCHEMA: Final = "opennandlab.ecc-comparison/1"

Count = Annotated[int, Meta(ge=0)]


class Counts(Record, frozen=True, kw_only=True):
    """What became of some frames.

    Args:
        frames: Frames tried.
        frame_errors: Frames with a wrong information bit after decoding.
        undetected: Those among them that the decoder took for right.
        bit_errors: Wrong information bits after decoding.
        failures: Frames that the decoder gave up.
        channel_errors: Wrong hard decisions before decoding, over all sent bits.
        iterations: Iterations of an iterative decoder, over all frames.
    """

    frames: Count
    frame_errors: Count
    undetected: Count
    bit_errors: Count
    failures: Count
    channel_errors: Count
    iterations: Count


class CurvePoint(Record, frozen=True, kw_only=True):
    """One point of a curve.

    Args:
        x: RBER, or Eb/N0 in dB.
        frames: Frames tried by the method that is shown.
        frame_errors: Frames with a wrong information bit after decoding.
        undetected: Those among them that the decoder took for right.
        bit_errors: Wrong information bits after decoding.
        fer: Frame error rate.
        fer_low: Lower end of its 95 % interval.
        fer_high: Upper end of its 95 % interval.
        ber: Rate of wrong information bits.
        method: How the rate was found.
        relative_error: Standard error over the rate; importance sampling only.
        unseen_share: What strata without errors may add, over the rate; importance sampling only.
        effective_frames: Plain frames that would say as much; importance sampling only.
        failures: Frames that the decoder gave up; absent for formulas.
        channel_ber: Bit error rate before decoding; counted frames only.
        iterations_mean: Mean iterations of the decoder; absent for formulas.
        tally: Counts of plain Monte Carlo.
        strata: Counts by number of wrong hard decisions; absent where none were tried.
    """

    x: float
    frames: int
    frame_errors: int
    undetected: int
    bit_errors: int
    fer: float
    fer_low: float
    fer_high: float
    ber: float
    method: Literal["monte_carlo", "importance_sampling", "analytic"]
    relative_error: float | UnsetType | None = UNSET
    unseen_share: float | UnsetType | None = UNSET
    effective_frames: float | UnsetType | None = UNSET
    failures: int | None = None
    channel_ber: float | None = None
    iterations_mean: float | None = None
    tally: Counts
    strata: dict[Annotated[str, Meta(pattern="^[0-9]+$")], Counts] | None = None


class CurveDocument(Record, frozen=True, kw_only=True):
    """The frame error rate of a code over the points of a channel, as `ecc curve` saves it.

    Args:
        schema: Kind and version of the document.
        code: The code, as it was given.
        channel: The channel, as it was given.
        decoder: Name of the decoder.
        code_identity: What the code is, its size and rate.
        channel_settings: What the channel is.
        decoder_settings: Settings of an iterative decoder; `null` for others.
        seed: Seed of all randomness.
        codewords: `random`, or `zero` for the codeword of zeros alone.
        code_bits: Sent bits of a codeword.
        info_bits: Information bits of a codeword.
        rate: Information over sent bits.
        x: What the points are: `rber` or `ebn0_db`.
        engine: Engines that counted Monte Carlo, `gpu` or `cpu, gpu`; absent for the CPU alone.
        partial: The run was interrupted; absent otherwise.
        points: The points in ascending order.
    """

    schema: Literal["opennandlab.ecc-curve/1"]
    code: str
    channel: str
    decoder: str
    code_identity: JsonObject
    channel_settings: JsonObject
    decoder_settings: JsonObject | None
    seed: int
    codewords: str
    code_bits: int
    info_bits: int
    rate: Number
    x: str
    engine: Annotated[str, Meta(pattern="^(cpu, )?gpu$")] | None = None
    partial: bool | None = None
    points: list[CurvePoint]


class CodeComparison(Record, frozen=True, kw_only=True):
    """Curves of several codes of equal rate and frame size.

    Args:
        schema: Kind and version of the document.
        channel: The channel, as it was given.
        channel_settings: What the channel is.
        x: What the points are: `rber` or `ebn0_db`.
        rate: Information over sent bits of the first code.
        limits: Shannon limits of that rate as RBER: for 1, 3 and 7 reads, and unquantised.
        limits_ebn0_db: The same as Eb/N0, dB per information bit.
        curves: One per code.
        partial: The run was interrupted; absent otherwise.
    """

    schema: Literal["opennandlab.ecc-comparison/1"]
    channel: str
    channel_settings: JsonObject
    x: str
    rate: Number
    limits: dict[str, float]
    limits_ebn0_db: dict[str, float]
    curves: list[CurveDocument]
    partial: bool | None = None
