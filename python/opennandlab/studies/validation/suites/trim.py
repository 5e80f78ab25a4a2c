"""TRIM: a share of the requests unmaps pages, which then serve as spare space.

WAF is that of a trim-free log at `rho' = s rho`, where s is the mapped share in steady state;
exact for FIFO, greedy and d-choices. Trims aim at mapped pages, or at any page.

Source: T. Frankie, G. Hughes, K. Kreutz-Delgado, arXiv:1208.1794 (2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from opennandlab.studies.validation.case import Case, Effort, Run, increment_ratio
from opennandlab.studies.validation.devices import Log, overwrites_with_trims
from opennandlab.theory.trim import mapped_share, spare_factor_with_trim
from opennandlab.theory.waf import uniform_formula

SUITE = "trim"
BLOCK = 64
CELLS: tuple[tuple[float, str], ...] = (
    (0.1, "mapped"),
    (0.3, "mapped"),
    (0.1, "any"),
    (0.3, "any"),
)
QUICK_CELLS = CELLS[:1] + CELLS[3:]
NUMERATOR, DENOMINATOR = "metrics.nand_bytes_written", "metrics.host_bytes_written"
POLICIES: tuple[tuple[str, int], ...] = (("greedy", 10), ("fifo", 10), ("d_choices", 10))


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick, or every share, target and policy with three seeds.

    Example:
        >>> case = cases(Effort.FULL)[0]
        >>> case.name, round(case.expected_value, 2)
        ('greedy-mapped-q0.1', 3.02)
    """
    if effort is Effort.QUICK:
        return list(_cases(2048, QUICK_CELLS, POLICIES[:2]))
    return list(_cases(4096, CELLS, POLICIES))


def _cases(
    blocks: int, cells: tuple[tuple[float, str], ...], policies: tuple[tuple[str, int], ...]
) -> Iterator[Case]:
    log = Log.with_op(blocks, BLOCK, 0.07)
    for trim_share, target in cells:
        spare = spare_factor_with_trim(log.spare_factor, trim_share, target)
        workloads = overwrites_with_trims(trim_share, target)
        for policy, choices in policies:
            chosen = {"kind": "d_choices", "d": choices} if policy == "d_choices" else policy
            yield Case(
                suite=SUITE,
                name=f"{policy}-{target}-q{trim_share:g}",
                title="WAF with TRIM is that of a drive with fewer logical pages, OP 7 %",
                source="Frankie et al. 2012",
                runs=tuple(Run(log.device(chosen), workload) for workload in workloads),
                quantity=f"{NUMERATOR} / {DENOMINATOR}, longer run less shorter",
                measure=increment_ratio(NUMERATOR, DENOMINATOR),
                expected=partial(uniform_formula(policy, BLOCK, choices), spare),
                tolerance=0.015,
                formula=f"formula of the policy at S' = 1 - s rho = {spare:.4f}, "
                f"s = {mapped_share(trim_share, target):.4f}",
            )
