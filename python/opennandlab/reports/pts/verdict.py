"""What a document of a standard test is worth, in one word: page, terminal and suite ask here.

```text
partial      the run was cut: what it had measured by then
smoke        the shortest time base: shows that a test works, measures nothing
not steady   a tracked value was not steady by the last round
steady       every tracked value was, and the drive collected garbage meanwhile
measured     the test tracks nothing
imported     somebody else measured it, and the steady state is not known
unknown      the document lost what would tell
```
The first of these that holds is the verdict. A document can be steady and still leave a step of the
specification out: that is `conformance`, and stands next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from opennandlab.documents.pts import PtsDocument, Steady
from opennandlab.documents.pts_inside import FillPoint, SkewPoint
from opennandlab.reports.model import Kind

Word = Literal["partial", "smoke", "not steady", "steady", "measured", "imported", "unknown"]
KINDS: dict[Word, Kind] = {
    "partial": "bad", "smoke": "warning", "not steady": "bad", "steady": "good",
    "measured": "plain", "imported": "plain", "unknown": "warning",
}  # fmt: skip

NOT_ATTAINED = "NOT ATTAINED"
NOT_COLLECTING = "not every round collected garbage"
# Reasons of the rule that are not words of it.
WHY = {
    "insufficient": "fewer than five rounds",
    "invalid": "a round without a value",
    "excursion": "excursion above what is allowed",
    "slope": "slope above what is allowed",
    "excursion and slope": "excursion and slope above what is allowed",
}
SMALL_RANGE = (
    "All that the test may write fits into the spare area of the drive: blocks are dead when they "
    "are reclaimed, and what collection costs cannot be seen."
)


@dataclass(frozen=True)
class Verdict:
    """What a document is worth.

    Args:
        word: In one word or two.
        text: The same as a badge says it.
        reason: Why, as a sentence.
    """

    word: Word
    text: str
    reason: str

    @property
    def kind(self) -> Kind:
        """How it is coloured."""
        return KINDS[self.word]


def verdict(document: PtsDocument, *, is_whole: bool = True) -> Verdict:  # noqa: PLR0911
    """Return the verdict on a document.

    Args:
        document: The document.
        is_whole: Whether nothing was lost of its entries on the steady state.
    """
    states = document.steady_state
    if document.partial:
        return Verdict(
            "partial", "partial: the run was cut",
            "The run was interrupted; these are the figures that it had by then.",
        )  # fmt: skip
    if document.header.time_base.name == "smoke":
        return Verdict(
            "smoke", "smoke: not a result",
            "A smoke run shows that the test works; its cells are too short to be measurements"
            + (f". {_reason(states)}" if states else "."),
        )  # fmt: skip
    if not is_whole:
        return Verdict(
            "unknown", "steady state unknown", "The document has lost a part of its steady state."
        )
    if document.header.imported is not None and not states:
        return Verdict(
            "imported", "imported",
            "Measured elsewhere: whether the drive was steady is not known.",
        )  # fmt: skip
    if not states:
        return _of_points(document)
    if is_steady(states):
        return Verdict("steady", "steady state attained", _reason(states))
    if all(one.steady for one in states):
        text = f"steady state {NOT_ATTAINED}: {NOT_COLLECTING}"
        return Verdict("not steady", text, _without_collection(states))
    return Verdict("not steady", f"steady state {NOT_ATTAINED}", _reason(states))


def _of_points(document: PtsDocument) -> Verdict:
    """Return the verdict on a test that tracks nothing, or judges each of its points for itself."""
    points = getattr(document.results, "points", ())
    judged = [point for point in points if getattr(point, "steady", None) is not None]
    if not judged:
        return Verdict("measured", "no steady state in this test", "This test tracks no value.")
    moving = [point for point in judged if not point.steady]
    if moving:
        return Verdict(
            "not steady", f"{len(moving)} of {len(judged)} points NOT STEADY", _unsteady(moving)
        )
    return Verdict("steady", "all points steady", "The rule holds at the end of each point.")


def _unsteady(points: Sequence[SkewPoint | FillPoint]) -> str:
    """Return the sentence on points that are not steady: what moved, or was too short to tell."""
    short = sum(point.excursion_pct is None for point in points)
    if not short:
        return "There the rate of the last fifth still falls or rises by more than the rule allows."
    if short == len(points):
        what = "It was" if short == 1 else "They were"
    else:
        what = f"{short} of them {'was' if short == 1 else 'were'}"
    return f"{what} too short for five pieces, without which the rule cannot be applied."


def is_steady(states: Sequence[Steady]) -> bool:
    """Return whether all tracked values were steady, and the drive collected where it had to."""
    return bool(states) and all(one.holds for one in states)


def decision(one: Steady) -> str:
    """Return whether a tracked value was steady, in the words of every table.

    A value that the rule passes has not attained the steady state if the drive did not collect.
    """
    return "attained" if one.holds else NOT_ATTAINED


def why_not(one: Steady) -> str:
    """Return why a tracked value was not steady; empty if it was, or nothing is known."""
    if one.holds:
        return ""
    reason = one.reason or ""
    return NOT_COLLECTING if one.steady else "" if reason == "steady" else WHY.get(reason, reason)


def _without_collection(states: Sequence[Steady]) -> str:
    """Return the sentence on values that are steady because the drive has spare area left."""
    labels = ", ".join(one.tracking.label for one in states if one.collection == "none")
    return (
        "The rounds agree within the five-point rule, but the drive did not collect garbage in "
        f"every one of them ({labels}): these are figures of a drive with spare area left, not of "
        "its steady state."
    )


def fits_into_spare(states: Sequence[Steady]) -> bool:
    """Return whether a tracked value is of a range so small that collection costs nothing there."""
    return any(map(_is_of_a_small_range, states))


def _is_of_a_small_range(one: Steady) -> bool:
    """Tell whether a value of writes has nothing to collect: `not_applicable` is else for reads."""
    return one.collection == "not_applicable" and one.tracking.rw_pct != 100


def _reason(states: Sequence[Steady]) -> str:
    """Return the sentence on the tracked values: the rounds, or what is not steady and why."""
    bad = [one for one in states if not one.holds]
    if not bad:
        places: dict[str, list[str]] = {}
        for one in states:
            if one.window:
                place = f"rounds {one.window[0]} to {one.window[-1]}"
                places.setdefault(place, []).append(one.tracking.label or one.tracking.metric)
        seen = f" {SMALL_RANGE}" if fits_into_spare(states) else ""
        count = (
            f"{'Both' if len(states) == 2 else f'All {len(states)}'} tracked values are"
            if len(states) > 1
            else "The tracked value is"
        )
        named = [
            place + (f" ({', '.join(dict.fromkeys(labels))})" if len(places) > 1 else "")
            for place, labels in places.items()
        ]
        where = f" in {' and in '.join(named)}" if named else ""
        return f"{count} steady{where}.{seen}"
    first = bad[0]
    many = (
        f"{len(bad)} of {len(states)} tracked values {'is' if len(bad) == 1 else 'are'}"
        if len(states) > 1
        else "The tracked value is"
    )
    whys: dict[str, list[str]] = {}
    for one in bad:
        whys.setdefault(why_not(one), []).append(one.tracking.label or one.tracking.metric)
    told = "; ".join(
        ", ".join(labels) + (f" ({why})" if why else "") for why, labels in whys.items()
    )
    rounds = f"{first.rounds} round{'' if first.rounds == 1 else 's'}"
    return f"{many} not steady after {rounds}: {told}."
