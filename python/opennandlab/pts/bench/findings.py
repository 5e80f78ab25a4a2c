"""What the procedure of a test finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from opennandlab.documents.pts import Histogram, Table
from opennandlab.documents.pts_base import Results


@dataclass(frozen=True)
class Findings:
    """What a procedure found out, next to the cells that the bench keeps.

    Args:
        results: Figures of the test.
        tables: Tables of the report.
        histograms: Response times of operating points.
    """

    results: Results
    tables: list[Table] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)
