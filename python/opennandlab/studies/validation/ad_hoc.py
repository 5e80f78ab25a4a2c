"""Cases made from the command line: any policy, block size, spare factor, skew and trim share.

The same formulas and tolerances as in the suites; parameters without a formula are
refused with the reason, rather than run without anything to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from opennandlab.studies.validation.case import (
    HOST_BYTES,
    NAND_BYTES,
    Case,
    Run,
    increment_ratio,
    read,
)
from opennandlab.studies.validation.devices import Log, overwrites, overwrites_with_trims
from opennandlab.studies.validation.suites.trim import TOLERANCE as TRIM_TOLERANCE
from opennandlab.studies.validation.suites.waf_uniform import FORMULAS, SOURCES, tolerance
from opennandlab.theory.waf import Traffic, predict_waf

SUITE = "ad_hoc"


@dataclass(frozen=True)
class Parameters:
    """What `validate` takes on the command line instead of suites.

    Example:
        >>> Parameters(policy="d_choices", d=3, pages_per_block=32, spare_factor=0.12).blocks
        4096
    """

    policy: str
    """`random`, `fifo`, `greedy` or `d_choices`."""
    pages_per_block: int
    """b."""
    spare_factor: float
    """S_eff wanted, the reserve left out."""
    d: int = 10
    """Blocks drawn by d_choices."""
    blocks: int = 4096
    """N."""
    reserve: int = 1
    """R, blocks always kept erased."""
    traffic: Traffic = field(default_factory=Traffic)
    """What the host writes; the logical pages of Zipf are filled in."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Every one must pass."""


def ad_hoc_case(parameters: Parameters) -> Case:
    """Return the case of any parameters that a formula covers.

    Args:
        parameters: policy, log and traffic.

    Returns:
        The case; its options make it again.

    Raises:
        ValueError: when an argument is out of range or no closed form exists.

    Example:
        >>> case = ad_hoc_case(Parameters("d_choices", 32, 0.12, d=3))
        >>> round(case.expected_value, 2), case.name
        (4.87, 'd_choices-b32-S0.1200')
    """
    wanted = parameters.traffic
    spare = parameters.spare_factor
    if not 0.0 < spare < 1.0:
        message = f"spare_factor is {spare}; accepted: a number greater than 0 and less than 1"
        raise ValueError(message)
    log = Log.with_spare(parameters.blocks, parameters.pages_per_block, spare, parameters.reserve)
    traffic = replace(wanted, logical_pages=log.logical_pages)
    choices = {"d": parameters.d}
    value = predict_waf(parameters.policy, choices, log.pages_per_block, log.spare_factor, traffic)
    if value is None:
        message = (
            f"no closed form exists for {parameters.policy} with {traffic.pattern} writes, open "
            f"blocks {traffic.frontiers}, trims {traffic.trim_share:g} and static share "
            f"{traffic.static_share:g}; the suites cost_benefit and waf_hot_cold hold simulated "
            "references"
        )
        raise ValueError(message)
    runs = _runs(log, parameters)
    accepted = tolerance(log, parameters.policy)
    is_plain = len(runs) == 1
    return Case(
        suite=SUITE,
        name=f"{parameters.policy}-b{log.pages_per_block}-S{log.spare_factor:.4f}",
        title="WAF for parameters given on the command line",
        source=SOURCES[parameters.policy],
        runs=runs,
        quantity="metrics.waf",
        measure=read("metrics.waf") if is_plain else increment_ratio(NAND_BYTES, HOST_BYTES),
        expected=value,
        tolerance=accepted if is_plain else max(accepted, TRIM_TOLERANCE),
        formula=FORMULAS[parameters.policy],
        seeds=parameters.seeds,
        options=_options(parameters),
    )


def _runs(log: Log, parameters: Parameters) -> tuple[Run, ...]:
    traffic = parameters.traffic
    policy: Any = parameters.policy
    if policy == "d_choices":
        policy = {"kind": policy, "d": parameters.d}
    frontiers: Any = traffic.frontiers
    if frontiers == "hot_cold":
        frontiers = {"kind": frontiers, "fraction": traffic.fraction}
    device = log.device(policy, frontiers)
    pattern: Any = traffic.pattern
    if pattern == "hot_cold":
        pattern = {"kind": pattern, "fraction": traffic.fraction, "share": traffic.share}
    elif pattern == "zipf":
        pattern = {"kind": pattern, "theta": traffic.exponent}
    if traffic.trim_share:
        workloads = overwrites_with_trims(traffic.trim_share, traffic.trim_target, pattern)
        return tuple(Run(device, workload) for workload in workloads)
    keys = {}
    if traffic.static_share:
        keys["active_range_pct"] = 100.0 * (1.0 - traffic.static_share)
    return (Run(device, overwrites(pattern, **keys)),)


def _options(parameters: Parameters) -> str:
    """Return the options of the command, those that differ from their defaults."""
    traffic, plain = parameters.traffic, Traffic()
    given: list[tuple[str, object, object]] = [
        ("policy", parameters.policy, None),
        ("d", parameters.d, parameters.d if parameters.policy != "d_choices" else None),
        ("pages-per-block", parameters.pages_per_block, None),
        ("spare-factor", f"{parameters.spare_factor:.6g}", None),
        ("blocks", parameters.blocks, 4096),
        ("reserve", parameters.reserve, 1),
        ("pattern", traffic.pattern, plain.pattern),
        ("hot-fraction", traffic.fraction, plain.fraction),
        ("hot-share", traffic.share, plain.share),
        ("theta", traffic.exponent, plain.exponent),
        ("trim-pct", 100.0 * traffic.trim_share, 0.0),
        ("trim-target", traffic.trim_target, plain.trim_target),
        ("static-share", traffic.static_share, plain.static_share),
        ("frontiers", traffic.frontiers, plain.frontiers),
    ]
    return " ".join(f"--{name} {value}" for name, value, default in given if value != default)
