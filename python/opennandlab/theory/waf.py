"""From a device and its traffic to the write amplification that theory predicts, if any does.

The spare factor that a formula needs leaves out the blocks that the drive always keeps erased: with
N blocks of b pages of which R stay erased, `S_eff = 1 - U / ((N - R) b)`. Everything here is per
pool: on a drive whose dies collect for themselves, use the pages of one die. Left out: writes of
other than one page, buffers that coalesce, wear leveling and refresh, none of which the formulas
know.

Sources: those of `uniform`, `hot_cold`, `mean_field` and `trim`, to which this file dispatches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from opennandlab.theory._check import require_count, require_open_share, require_share
from opennandlab.theory.hot_cold import fifo_classes, fifo_zipf, spare_factor_with_static
from opennandlab.theory.mean_field import PAGES_PER_BLOCK_LIMIT, d_choices_hot_cold
from opennandlab.theory.trim import spare_factor_with_trim
from opennandlab.theory.uniform import d_choices, fifo, greedy, random_victim

POLICIES = ("random", "fifo", "greedy", "d_choices", "cost_benefit", "windowed_greedy")
WITHOUT_CLOSED_FORM = ("cost_benefit", "windowed_greedy")
CHOICES_DEFAULT = 10
# Beyond this many choices the one-log model no longer changes in its sixth digit: greedy.
CHOICES_OF_GREEDY = 1e5
PATTERNS = ("random", "hot_cold", "zipf")
FRONTIERS = ("single", "host_gc", "hot_cold")


@dataclass(frozen=True)
class Traffic:
    """What the host writes and trims, as far as the formulas distinguish it.

    Example:
        >>> Traffic("hot_cold", fraction=0.2, share=0.8).share
        0.8
    """

    pattern: str = "random"
    """`random` (uniform), `hot_cold` or `zipf`."""
    fraction: float = 0.2
    """hot_cold: share of the pages that are hot."""
    share: float = 0.8
    """hot_cold: share of the writes that they receive."""
    exponent: float = 0.99
    """zipf: popularity is `rank ** -exponent`."""
    logical_pages: int | None = None
    """zipf: U, which the formula needs."""
    trim_share: float = 0.0
    """Share of the writing and trimming requests that trim."""
    trim_target: str = "any"
    """`any` or `mapped`."""
    static_share: float = 0.0
    """Share of the logical pages that are never rewritten."""
    frontiers: str = "single"
    """Open blocks: `single`, `host_gc` (apart), `hot_cold` (apart, by an oracle)."""

    def __post_init__(self) -> None:
        """Refuse unknown names."""
        for name, value, accepted in (
            ("pattern", self.pattern, PATTERNS),
            ("frontiers", self.frontiers, FRONTIERS),
        ):
            if value not in accepted:
                message = f"{name} is {value!r}; accepted: {', '.join(accepted)}"
                raise ValueError(message)
        require_share("static_share", self.static_share)


UNIFORM = Traffic()


def spare_factor_effective(
    physical_pages: int, logical_pages: int, reserve_blocks: int, pages_per_block: int
) -> float:
    """Return the spare factor of the blocks that take part, the always-erased reserve left out.

    Args:
        physical_pages: T, all good pages of the pool.
        logical_pages: U, pages that the host may address.
        reserve_blocks: R, blocks that are always kept erased.
        pages_per_block: b.

    Returns:
        `S_eff = 1 - U / (T - R b)`.

    Raises:
        ValueError: when an argument is out of range, or the logical pages do not fit next to the
            reserve.

    Source:
        The definition; open blocks count as part of the log.

    Example:
        >>> round(spare_factor_effective(262144, 244994, 8, 256), 4)
        0.0581
    """
    physical = require_count("physical_pages", physical_pages, 1)
    logical = require_count("logical_pages", logical_pages, 1)
    reserve = require_count("reserve_blocks", reserve_blocks, 0)
    block = require_count("pages_per_block", pages_per_block, 1)
    usable = physical - reserve * block
    if usable <= logical:
        message = (
            f"{logical} logical pages do not fit: {physical} physical pages less a reserve of "
            f"{reserve} blocks of {block} pages leave {usable}"
        )
        raise ValueError(message)
    return (usable - logical) / usable


def op_ratio_from_spare_factor(spare_factor: float) -> float:
    """Return over-provisioning `(T - U) / U` for a spare factor `(T - U) / T`.

    Args:
        spare_factor: S_f, 0 to 1 exclusive.

    Returns:
        `S_f / (1 - S_f)`.

    Raises:
        ValueError: when the spare factor is out of range.

    Source:
        The definitions.

    Example:
        >>> op_ratio_from_spare_factor(0.2)
        0.25
    """
    spare = require_open_share("spare_factor", spare_factor)
    return spare / (1.0 - spare)


def predict_waf(
    policy: str,
    params: Mapping[str, object] | None,
    pages_per_block: int,
    spare_factor: float,
    traffic: Traffic = UNIFORM,
) -> float | None:
    """Return the write amplification that theory gives, or None where no closed form exists.

    Args:
        policy: `random`, `fifo`, `greedy`, `d_choices`, `cost_benefit` or `windowed_greedy`.
        params: the policy's parameters, such as `{"d": 10}`; None for its defaults.
        pages_per_block: b.
        spare_factor: the effective spare factor, see `spare_factor_effective`.
        traffic: what the host writes; uniform random pages by default.

    Returns:
        Pages programmed per page that the host writes, or None.

    Raises:
        ValueError: for unknown names and values out of range.

    Source:
        The modules this one dispatches to, each with its papers.

    Example:
        >>> round(predict_waf("d_choices", {"d": 2}, 64, 0.1), 3)
        6.852
        >>> predict_waf("cost_benefit", None, 64, 0.1) is None
        True
    """
    if policy not in POLICIES:
        message = f"policy is {policy!r}; accepted: {', '.join(POLICIES)}"
        raise ValueError(message)
    block = require_count("pages_per_block", pages_per_block, 1)
    spare = require_open_share("spare_factor", spare_factor)
    choices = _choices(params)
    if traffic.trim_share:
        spare = spare_factor_with_trim(spare, traffic.trim_share, traffic.trim_target)
    if policy in WITHOUT_CLOSED_FORM:
        return None
    if policy == "random":
        return random_victim(spare)
    if traffic.static_share:
        # Taking static blocks out of the log is right only where they are never victims.
        if policy != "greedy" or traffic.trim_share:
            return None
        spare = spare_factor_with_static(spare, traffic.static_share)
    if traffic.pattern == "random":
        return uniform_formula(policy, block, choices)(spare)
    return _skewed(policy, block, spare, choices, traffic)


def uniform_formula(
    policy: str, pages_per_block: int, choices: float = CHOICES_DEFAULT
) -> Callable[[float], float]:
    """Return the WAF of uniform random writes as a function of the spare factor.

    Args:
        policy: `random`, `fifo`, `greedy` or `d_choices`.
        pages_per_block: b.
        choices: d of d_choices.

    Returns:
        The function.

    Raises:
        ValueError: when the policy has no closed form.

    Source:
        `uniform`.

    Example:
        >>> round(uniform_formula("fifo", 64)(0.2), 3)
        2.693
    """
    formulas: dict[str, Callable[[float], float]] = {
        "random": random_victim,
        "fifo": fifo,
        "greedy": lambda spare: greedy(pages_per_block, spare),
        "d_choices": lambda spare: d_choices(pages_per_block, spare, choices),
    }
    if policy not in formulas:
        message = f"policy is {policy!r}; accepted: {', '.join(formulas)}"
        raise ValueError(message)
    return formulas[policy]


def _skewed(
    policy: str, block: int, spare: float, choices: float, traffic: Traffic
) -> float | None:
    """Return the prediction for hot and cold or Zipf writes without static pages."""
    if traffic.trim_share or traffic.static_share or traffic.frontiers != "single":
        return None
    if traffic.pattern == "zipf":
        if policy != "fifo" or traffic.logical_pages is None:
            return None
        return fifo_zipf(traffic.logical_pages, traffic.exponent, spare)
    fraction, share = traffic.fraction, traffic.share
    if policy == "fifo":
        return fifo_classes([fraction, 1.0 - fraction], [share, 1.0 - share], spare)
    if block > PAGES_PER_BLOCK_LIMIT:
        return None
    many = CHOICES_OF_GREEDY if policy == "greedy" else choices
    return d_choices_hot_cold(block, spare, many, fraction, share)


def _choices(params: Mapping[str, object] | None) -> float:
    value = (params or {}).get("d", CHOICES_DEFAULT)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 1:
        message = f"d is {value!r}; accepted: a number of at least 1"
        raise ValueError(message)
    return float(value)
