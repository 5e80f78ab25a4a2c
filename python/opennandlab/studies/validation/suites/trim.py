"""TRIM: a share of the requests unmaps pages, which then serve as spare space.

WAF is that of a trim-free log at `rho' = s rho`, where rho is the ratio of logical to physical
pages and s the mapped share in steady state; exact for FIFO, greedy and d-choices. Trims aim at
mapped pages, or at any page.

Source: T. Frankie, G. Hughes, K. Kreutz-Delgado, arXiv:1208.1794 (2012).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from opennandlab.studies.validation.case import (
    HOST_BYTES,
    NAND_BYTES,
    Case,
    Effort,
    Run,
    increment_ratio,
)
from opennandlab.studies.validation.devices import Log, overwrites_with_trims
from opennandlab.theory.trim import mapped_share, spare_factor_with_trim
from opennandlab.theory.waf import uniform_formula

SUITE = "trim"
PAGES_PER_BLOCK = 64
OP_RATIO = 0.07
POLICIES = ("greedy", "fifo", "d_choices")
# d of d-choices.
CHOICES = 10
# The formula leaves out the fluctuation of the mapped share. Of order 1 / sqrt(logical pages), it
# moves the WAF by at most 1.4 %, that of FIFO in the quick log.
TOLERANCE = 0.015


class Trims(NamedTuple):
    """Share of the requests that trim, and the pages that they aim at: `mapped` or `any`."""

    share: float
    target: str


TRIMS = (Trims(0.1, "mapped"), Trims(0.3, "mapped"), Trims(0.1, "any"), Trims(0.3, "any"))
QUICK_TRIMS = (TRIMS[0], TRIMS[3])


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
        return list(_cases(2048, QUICK_TRIMS, POLICIES[:2]))
    return list(_cases(4096, TRIMS, POLICIES))


def _cases(blocks: int, trims: Sequence[Trims], policies: Sequence[str]) -> Iterator[Case]:
    log = Log.with_op(blocks, PAGES_PER_BLOCK, OP_RATIO)
    for share, target in trims:
        spare = spare_factor_with_trim(log.spare_factor, share, target)
        workloads = overwrites_with_trims(share, target)
        for policy in policies:
            gc = {"kind": policy, "d": CHOICES} if policy == "d_choices" else policy
            yield Case(
                suite=SUITE,
                name=f"{policy}-{target}-q{share:g}",
                title="WAF with TRIM is that of a drive with fewer logical pages, OP 7 %",
                source="Frankie et al. 2012",
                runs=tuple(Run(log.device(gc), workload) for workload in workloads),
                quantity=f"{NAND_BYTES} / {HOST_BYTES}, longer run less shorter",
                measure=increment_ratio(NAND_BYTES, HOST_BYTES),
                expected=partial(uniform_formula(policy, PAGES_PER_BLOCK, CHOICES), spare),
                tolerance=TOLERANCE,
                formula=f"formula of the policy at S' = 1 - s rho = {spare:.4f}, "
                f"s = {mapped_share(share, target):.4f}",
            )
