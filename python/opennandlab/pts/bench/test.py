"""A standard test: what is known of it, and its procedure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import Spec


@dataclass(frozen=True, kw_only=True)
class Test(Spec):
    """A standard test.

    Args:
        run: The procedure.
    """

    run: Callable[[Bench], Findings]

    # Not a class of tests, whatever pytest concludes from its name.
    __test__ = False
