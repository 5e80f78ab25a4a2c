"""Codes side by side, at equal rate and frame size, with the Shannon limits of that rate.

Two codes can be compared only where both pay the same: parity bits per information bit (rate) and
bits per frame. Rates or frames that differ by more than 1 % are refused. The limits tell how much
of what is possible each code leaves unused, and what more reads of a page could buy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.documents.ecc import COMPARISON_SCHEMA, CodeComparison
from opennandlab.documents.record import JsonObject, plain
from opennandlab.ecc.channels import Channel
from opennandlab.ecc.codes import Code, Decoder
from opennandlab.ecc.curves import Curve, CurveInterrupted, Progress, curve
from opennandlab.ecc.tables import all_limits

DIFFERENCE_MAX = 0.01


class UnlikeCodesError(ResultError):
    """Codes that must not be compared.

    Args:
        reasons: A sentence for each difference.
    """

    def __init__(self, reasons: list[str]) -> None:
        """Keep the sentences apart."""
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def compare(
    codes: Sequence[str | Code],
    channel: str | Channel,
    points: str | Sequence[float],
    *,
    decoder: Decoder | None = None,
    progress: Callable[[Progress], None] | None = None,
    **effort: Any,  # noqa: ANN401 - handed on to `curve`, which checks
) -> JsonObject:
    """Measure several codes at the same points.

    Args:
        codes: Two or more, as for `curve`.
        channel: As for `curve`.
        points: As for `curve`.
        decoder: Decoder of LDPC codes given as text.
        progress: As for `curve`, over the points of all codes.
        effort: `errors`, `max_frames`, `method`, `seed`, `zero_codeword` and `threads` of `curve`.

    Returns:
        The document `opennandlab.ecc-comparison/1` as plain JSON: channel, rate, limits and the
        documents of the curves.

    Raises:
        ConfigError: for a code, channel or point that is invalid.
        UnlikeCodesError: when rate or frame differ by more than 1 %.
        KeyboardInterrupt: on Ctrl-C, when nothing was counted; else `CompareInterrupted`.
    """
    return plain(measure(codes, channel, points, decoder=decoder, progress=progress, **effort))


def measure(
    codes: Sequence[str | Code],
    channel: str | Channel,
    points: str | Sequence[float],
    *,
    decoder: Decoder | None = None,
    progress: Callable[[Progress], None] | None = None,
    **effort: Any,  # noqa: ANN401 - handed on to `curve`, which checks
) -> CodeComparison:
    """Return what `compare` does, as declared."""
    if len(codes) < 2:
        raise ConfigError("codes", f"{len(codes)} codes; accepted: two or more")
    built = [Code.of(code, decoder) for code in codes]
    channel = Channel.of(channel)
    refuse_unlike(built)
    curves: list[Curve] = []
    for place, code in enumerate(built):

        def report(state: Progress, place: int = place) -> None:
            if progress is not None:
                progress(_of_all(state, place, len(built)))

        try:
            curves.append(curve(code, channel, points, progress=report, **effort))
        except CurveInterrupted as interruption:
            curves.append(interruption.curve)
            raise CompareInterrupted(side_by_side(built[0].rate, channel, curves)) from None
    return side_by_side(built[0].rate, channel, curves)


class CompareInterrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a comparison.

    Args:
        content: What was counted until then; it is marked `partial`.
    """

    def __init__(self, content: CodeComparison) -> None:
        """Carry the part that is done."""
        super().__init__("interrupted")
        self.content = structs.replace(content, partial=True)

    @property
    def document(self) -> JsonObject:
        """The same as plain JSON."""
        return plain(self.content)


def refuse_unlike(codes: Sequence[Code]) -> None:
    """Refuse codes whose rate or frame differ by more than 1 % from the first.

    Raises:
        UnlikeCodesError: with the numbers.
    """
    first = codes[0]
    reasons = []
    for other in codes[1:]:
        for name, one, two in (
            ("rate", first.rate, other.rate),
            ("frame", float(first.code_bits), float(other.code_bits)),
        ):
            if abs(two / one - 1.0) > DIFFERENCE_MAX:
                unit = " bits" if name == "frame" else ""
                reasons.append(
                    f"{name} {one:.6g}{unit} of {first.name} against {two:.6g}{unit} of "
                    f"{other.name} (accepted: within 1 %)"
                )
    if reasons:
        raise UnlikeCodesError(reasons)


def side_by_side(rate: float, channel: Channel, curves: Sequence[Curve]) -> CodeComparison:
    """Return the document of curves, with the limits of a rate."""
    rows = all_limits(rate)
    return CodeComparison(
        schema=COMPARISON_SCHEMA,
        channel=channel.text,
        channel_settings=channel.as_dict(),
        x="rber" if channel.has_rber else "ebn0_db",
        rate=rate,
        limits={name: row["rber"] for name, row in rows.items()},
        limits_ebn0_db={name: row["ebn0_db"] for name, row in rows.items()},
        curves=[found.content for found in curves],
    )


def _of_all(state: Progress, place: int, count: int) -> Progress:
    points = state.point_count
    return Progress(
        place * points + state.point_index,
        count * points,
        state.x,
        state.frames,
        state.frame_errors,
        (place + state.fraction) / count,
        state.elapsed_s,
        state.frames_per_s,
        state.eta_s,
    )
