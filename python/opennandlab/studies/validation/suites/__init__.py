"""The suites: one file and one row each. A suite is a function from effort to cases.

To add one, write `suites/<name>.py` with `cases(effort)` (see `trim`, the smallest) and add its
row.
"""

from __future__ import annotations

from collections.abc import Callable

from opennandlab.studies.validation.case import Case, Effort, quick
from opennandlab.studies.validation.suites import (
    ablation,
    bandwidth,
    bases,
    cost_benefit,
    decoding,
    ecc,
    energy,
    mapping,
    measured,
    placement,
    presets,
    published,
    refresh,
    reliability,
    superblocks,
    timing,
    trim,
    waf_hot_cold,
    waf_uniform,
    wear,
    zones,
)

_IN_ORDER = (
    waf_uniform, waf_hot_cold, cost_benefit, trim, wear, timing, bandwidth, energy, superblocks,
    mapping, placement, zones, reliability, refresh, decoding, ablation, ecc, published, presets,
    measured, bases,
)  # fmt: skip


def _marked(cases: Callable[[Effort], list[Case]]) -> Callable[[Effort], list[Case]]:
    """Return a suite whose quick cases have one seed, which their command names."""

    def suite(effort: Effort) -> list[Case]:
        found = cases(effort)
        return list(map(quick, found)) if effort is Effort.QUICK else found

    return suite


SUITES: dict[str, Callable[[Effort], list[Case]]] = {
    module.__name__.rpartition(".")[2]: _marked(module.cases) for module in _IN_ORDER
}
"""Suites in the order of the report."""

ON_REQUEST = ("bases",)
"""Suites that take hours: without names of suites they are left out, but for `--quick`."""
