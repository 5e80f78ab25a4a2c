"""A standard test: what is known of it, and its procedure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opennandlab.pts.engine import Bench
from opennandlab.pts.findings import Findings
from opennandlab.pts.plan import Spec


@dataclass(frozen=True, kw_only=True)
class Test(Spec):
    """A standard test.

    Args:
        run: The procedure.
    """

    run: Callable[[Bench], Findings]

    # Not a class of tests, whatever pytest concludes from its name.
    __test__ = False
