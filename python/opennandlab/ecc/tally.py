"""Counts of simulated frames: raw, so that they add up."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from opennandlab.base.errors import ResultError
from opennandlab.documents.ecc import Counts
from opennandlab.documents.record import plain

# Two-sided 95 % of the normal distribution.
Z95 = 1.959963984540054


@dataclass
class Tally:
    """What became of some frames; tallies add up.

    Args:
        frames: Frames tried.
        frame_errors: Frames with a wrong information bit after decoding.
        undetected: Those among them that the decoder took for right.
        bit_errors: Wrong information bits after decoding.
        failures: Frames that the decoder gave up.
        channel_errors: Wrong hard decisions before decoding, over all sent bits.
        iterations: Iterations of an iterative decoder, over all frames.

    >>> tally = Tally(100, 5) + Tally(100, 3)
    >>> tally.frames, tally.frame_errors
    (200, 8)
    """

    frames: int = 0
    frame_errors: int = 0
    undetected: int = 0
    bit_errors: int = 0
    failures: int = 0
    channel_errors: int = 0
    iterations: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Return the sum."""
        return Tally(*(getattr(self, row.name) + getattr(other, row.name) for row in fields(Tally)))

    def counts(self) -> Counts:
        """Return the counts as a document has them."""
        return Counts(**asdict(self))

    @classmethod
    def of(cls, counts: Counts, origin: str) -> Tally:
        """Return the counts of a document.

        Raises:
            ResultError: for counts that are invalid.
        """
        tally = cls(**plain(counts))
        if not tally.undetected <= tally.frame_errors <= tally.frames:
            raise ResultError(f"{origin}: damaged: more frame errors than frames")
        return tally
