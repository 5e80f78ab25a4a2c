"""The suites: one file and one row each. A suite is a function from effort to cases.

To add one, write `suites/<name>.py` with `cases(effort)` (see `trim`, the smallest) and add its
row.
"""

from __future__ import annotations

from collections.abc import Callable

from opennandlab.studies.validation.case import Case, Effort
from opennandlab.studies.validation.suites import (
    ablation,
    bandwidth,
    bases,
    cost_benefit,
    decoding,
    ecc,
    mapping,
    measured,
    placement,
    power,
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

SUITES: dict[str, Callable[[Effort], list[Case]]] = {
    "waf_uniform": waf_uniform.cases,
    "waf_hot_cold": waf_hot_cold.cases,
    "cost_benefit": cost_benefit.cases,
    "trim": trim.cases,
    "wear": wear.cases,
    "timing": timing.cases,
    "bandwidth": bandwidth.cases,
    "power": power.cases,
    "superblocks": superblocks.cases,
    "mapping": mapping.cases,
    "placement": placement.cases,
    "zones": zones.cases,
    "reliability": reliability.cases,
    "refresh": refresh.cases,
    "decoding": decoding.cases,
    "ablation": ablation.cases,
    "ecc": ecc.cases,
    "published": published.cases,
    "presets": presets.cases,
    "measured": measured.cases,
    "bases": bases.cases,
}
"""Suites in the order of the report."""

ON_REQUEST = ("bases",)
"""Suites that take hours: without names of suites they are left out, but for `--quick`."""
