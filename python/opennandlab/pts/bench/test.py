"""A standard test: its specification, and its procedure.

Commands, plans and refusals read the `Spec`. A `Test` adds the code; it is apart since the engine
imports `plan`. Tests are instances in the files of `pts/tests`.
"""

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
        run: The procedure. `runner.run_test` calls it once, after target and settings were accepted
            and the journal was opened. It may assume a prepared bench, and returns the findings of
            which the document is built. Ctrl-C and errors of the target end it by an exception,
            which it does not catch: the runner saves the partial document. When the run is
            resumed, it is called again from the start, and the bench answers the steps that the
            journal holds.
    """

    run: Callable[[Bench], Findings]

    # Not a class of tests, whatever pytest concludes from its name.
    __test__ = False
