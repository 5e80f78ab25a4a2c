"""A standard test: what is known of it, its procedure, and what the procedure finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from opennandlab.documents.pts import Histogram, Table
from opennandlab.documents.pts_base import Results
from opennandlab.pts.engine import Bench
from opennandlab.pts.plan import Spec


@dataclass(frozen=True)
class Findings:
    """What a procedure found out, beside the cells that the bench keeps.

    Args:
        results: Figures of the test.
        tables: Tables of the report.
        histograms: Response times of operating points.
    """

    results: Results
    tables: list[Table] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Test(Spec):
    """A standard test.

    Args:
        run: The procedure.
    """

    run: Callable[[Bench], Findings]

    # Not a class of tests, whatever pytest concludes from its name.
    __test__ = False
