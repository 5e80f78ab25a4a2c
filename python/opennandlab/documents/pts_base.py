"""What the results of all standard tests have in common."""

from __future__ import annotations

from opennandlab.documents.record import Record


class Results(Record, frozen=True, kw_only=True):
    """Figures of a test; none of a run that was cut."""
