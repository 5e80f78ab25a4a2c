"""Cost-benefit collection: where it wins and where it must not.

The score `(1 - u) / (2 u) * age` needs skewed writes *and* separate open blocks; under uniform
writes greedy is optimal, so a cost-benefit value below greedy would be a fault of the simulator.
No closed form exists: values were simulated separately with 2048 blocks of 64 pages at 7 %
over-provisioning; greedy there takes, among equals, the block that reached its count last.

Sources: M. Rosenblum and J. Ousterhout, ACM TOCS 10 (1992); A. Kawaguchi, S. Nishioka, H. Motoda,
"A flash-memory based file system", USENIX 1995.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opennandlab.studies.validation.case import Case, Effort, Kind, Relation, Run, quotient
from opennandlab.studies.validation.devices import Log, overwrites

SUITE = "cost_benefit"
# The spare factor of 7 % over-provisioning, the reserve left out.
LOG = Log.with_spare(2048, 64, 0.07 / 1.07)
SOURCE = "policy: Kawaguchi et al. 1995; value: independent simulation"
TOLERANCE = {"greedy": 0.02, "since_close": 0.03, "since_invalidation": 0.03}

Pattern = str | Mapping[str, Any]
UNIFORM: Pattern = "random"
MILD: Pattern = {"kind": "hot_cold", "fraction": 0.2, "share": 0.8}
STRONG: Pattern = {"kind": "hot_cold", "fraction": 0.1, "share": 0.9}
ZIPF: Pattern = {"kind": "zipf", "theta": 0.99}

# Writes, open blocks, then WAF of greedy, of age since close, of age since last invalidation.
ROWS: tuple[tuple[str, Pattern, str, tuple[float, float, float]], ...] = (
    ("uniform", UNIFORM, "single", (7.010, 7.168, 7.765)),
    ("hot20_80", MILD, "single", (7.408, 7.509, 8.101)),
    ("hot20_80", MILD, "host_gc", (7.375, 6.419, 6.849)),
    ("hot10_90", STRONG, "single", (8.194, 8.144, 8.710)),
    ("hot10_90", STRONG, "host_gc", (7.791, 4.521, 4.408)),
    ("zipf0.99", ZIPF, "single", (9.980, 10.25, 10.82)),
    ("zipf0.99", ZIPF, "host_gc", (7.268, 4.735, 4.871)),
)
QUICK_ROWS = (0, 4)
POLICIES = ("greedy", "since_close", "since_invalidation")


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (uniform, and strong skew with separate open blocks), or all rows and seeds.

    Example:
        >>> len(cases(Effort.FULL)) > len(cases(Effort.QUICK))
        True
    """
    rows = [ROWS[place] for place in QUICK_ROWS] if effort is Effort.QUICK else ROWS
    return [case for row in rows for case in _row(*row)]


def _row(
    name: str, pattern: Pattern, frontiers: str, values: tuple[float, float, float]
) -> Iterator[Case]:
    runs = {policy: _run(policy, pattern, frontiers) for policy in POLICIES}
    for policy, value in zip(POLICIES, values, strict=True):
        yield Case(
            suite=SUITE,
            name=f"{policy}-{name}-{frontiers}",
            title="WAF of cost-benefit against greedy, OP 7 %, 2048 blocks of 64 pages",
            source=SOURCE,
            runs=(runs[policy],),
            quantity="metrics.waf",
            expected=value,
            tolerance=TOLERANCE[policy],
            kind=Kind.REFERENCE,
            formula="none; simulated separately",
        )
    wins = frontiers == "host_gc"
    if not (wins or name == "uniform"):
        return
    relation = Relation.AT_MOST if wins else Relation.AT_LEAST
    for policy in POLICIES[1:]:
        yield Case(
            suite=SUITE,
            name=f"{policy}-against-greedy-{name}-{frontiers}",
            title="Cost-benefit beats greedy with skew and separate open blocks, and never for"
            " uniform writes",
            source="Van Houdt 2013; Rosenblum & Ousterhout 1992",
            runs=(runs["greedy"], runs[policy]),
            quantity="metrics.waf / metrics.waf of greedy",
            measure=quotient("metrics.waf"),
            expected=1.0,
            tolerance=0.0,
            kind=Kind.ORDER,
            formula=f"A(cost-benefit) {relation.value} A(greedy)",
            relation=relation,
        )


def _run(policy: str, pattern: Pattern, frontiers: str) -> Run:
    chosen = "greedy" if policy == "greedy" else {"kind": "cost_benefit", "age": policy}
    return Run(LOG.device(chosen, frontiers), overwrites(pattern))
