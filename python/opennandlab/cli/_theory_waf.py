"""`theory waf`: its options, and the write amplification of a formula or of a device."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from opennandlab.base.words import number
from opennandlab.cli.options.common import Printed, Sets
from opennandlab.cli.options.rows import flag

# The most that a device may have.
OVER_PROVISIONING_MAX = 4


class Policy(str, Enum):
    """Victim policies with a closed form."""

    GREEDY = "greedy"
    FIFO = "fifo"
    RANDOM = "random"
    D_CHOICES = "d_choices"


class Target(str, Enum):
    """Addresses that trims go to."""

    ANY = "any"
    MAPPED = "mapped"


@dataclass(frozen=True, kw_only=True)
class WafOptions(Printed):
    """Options of `waf`."""

    policy: Annotated[Policy, flag("How garbage collection chooses its victim.")] = Policy.GREEDY
    d: Annotated[float, flag("Candidates of d_choices.", min=1)] = 10
    pages_per_block: Annotated[int, flag("Pages in a block.", min=1)] = 256
    spare_factor: Annotated[
        float | None,
        flag("Spare factor, (T - U) / T, 0 to 1; that of a drive is its effective spare factor."),
    ] = None
    over_provisioning: Annotated[
        float | None,
        flag(
            "(T - U) / U, instead of the spare factor; gives the nominal spare factor, "
            "without the blocks that a drive keeps in reserve (--config)."
        ),
    ] = None
    config: Annotated[
        str | None,
        flag(
            "Take policy, pages of a block and the effective spare factor from a device.",
            "-c",
            metavar="PRESET|FILE",
        ),
    ] = None
    sets: Sets = None
    hot_fraction: Annotated[float | None, flag("Share of the pages that are hot, 0 to 1.")] = None
    hot_share: Annotated[
        float | None, flag("Share of the writes that go to hot pages, 0 to 1.")
    ] = None
    trim_pct: Annotated[float, flag("Share of requests that trim, %.", min=0, max=100)] = 0.0
    trim_target: Annotated[Target, flag("Addresses that trims go to.")] = Target.ANY

    def check(self) -> None:
        """Refuse options without an effect, and those that belong together.

        Raises:
            ConfigError: for an option without an effect.
            ValueError: for half of a skew.
        """
        if self.policy is not Policy.D_CHOICES:
            self.refuse(["d"], "on this policy; accepted: with d_choices")
        if not self.trim_pct:
            self.refuse(["trim_target"], "without trims; accepted: --trim-pct")
        if (self.hot_fraction is None) != (self.hot_share is None):
            raise ValueError("--hot-fraction and --hot-share belong together")
        if self.config is None:
            self.refuse(["sets"], "without a device; accepted: --config")
            return
        self.refuse(
            ["spare_factor", "over_provisioning", "policy", "d", "pages_per_block"],
            "with a device, which has it; accepted: --set, such as ftl.over_provisioning_pct=0.28",
        )


NOMINAL = (
    "nominal: the spare factor {} follows from the over-provisioning {}; a drive keeps blocks in "
    "reserve, so its effective spare factor is smaller and its WAF higher (-c PRESET takes it)"
)


EFFECTIVE = "effective: the spare factor of the device without its reserve blocks"
# Which formula of `opennandlab.theory` a drive has that merges blocks.
MERGING = "neither policy nor spare factor has a part"
FORMULAS = {
    "block": "each write of a page copies its block (theory.waf_block_mapping)",
    "bast": "the formula of BAST, a log block serves one block of data (theory.waf_bast)",
    "fast": "the formula of FAST, all blocks of data share the log (theory.waf_fast)",
    "zoned": "a drive with zones moves nothing",
}


@dataclass(frozen=True)
class Found:
    """An answer.

    Args:
        parameters: The question, with its defaults.
        value: The write amplification; None without a closed form.
        note: Which spare factor it follows from, or why there is no closed form; empty for none.
    """

    parameters: dict[str, Any]
    value: float | None
    note: str


def waf_of(given: WafOptions) -> Found:
    """Return the write amplification in steady state."""
    return _of_formula(given) if given.config is None else _of_device(given, given.config)


def _of_formula(given: WafOptions) -> Found:
    """Return the write amplification at a spare factor that was given.

    Raises:
        ValueError: for what the formula refuses.
    """
    from opennandlab.theory.waf import Traffic, predict_waf

    spare = _spare_factor(given.spare_factor, given.over_provisioning)
    skew: dict[str, Any] = {}
    if given.hot_fraction is not None:
        skew = {"pattern": "hot_cold", "fraction": given.hot_fraction, "share": given.hot_share}
    traffic = Traffic(**skew, trim_share=given.trim_pct / 100, trim_target=given.trim_target.value)
    value = predict_waf(given.policy.value, {"d": given.d}, given.pages_per_block, spare, traffic)
    parameters = {
        "policy": given.policy.value,
        **({"d": given.d} if given.policy is Policy.D_CHOICES else {}),
        "pages_per_block": given.pages_per_block,
        "spare_factor": spare,
        "over_provisioning": spare / (1 - spare),
        **_load(given),
    }
    is_nominal = given.spare_factor is None
    note = NOMINAL.format(number(spare), number(given.over_provisioning)) if is_nominal else ""
    return Found(parameters, value, note)


def _load(given: WafOptions) -> dict[str, Any]:
    """Return skew and trims of the writes, as parameters of the answer."""
    skew = {"hot_fraction": given.hot_fraction, "hot_share": given.hot_share}
    trims = {"trim_pct": given.trim_pct, "trim_target": given.trim_target.value}
    is_skewed = given.hot_fraction is not None
    return {**(skew if is_skewed else {}), **(trims if given.trim_pct else {})}


def _of_device(given: WafOptions, config: str) -> Found:
    """Return the WAF of a device by its effective spare factor, or why no closed form knows it."""
    from opennandlab.core.config import load_device
    from opennandlab.core.overrides import parse_overrides
    from opennandlab.theory.prediction import NoFormulaError, closed_form_waf, collects

    device = load_device(config, parse_overrides(given.sets or []))
    resolved, effective = device.to_dict(), device.effective
    pattern: dict[str, Any] = {"kind": "random"}
    if given.hot_fraction is not None:
        pattern = {"kind": "hot_cold", "fraction": given.hot_fraction, "share": given.hot_share}
    writes = {
        "pattern": pattern,
        "trim_pct": given.trim_pct,
        "trim_target": given.trim_target.value,
    }
    parameters = {
        "device": device.name,
        **_ways(resolved),
        "pages_per_block": effective["pages_per_block"],
        "spare_factor": effective["spare_factor_effective"],
        "spare_factor_nominal": effective["spare_factor"],
        "over_provisioning": resolved["ftl"]["over_provisioning_pct"],
        **_load(given),
    }
    value = None
    note = EFFECTIVE if collects(resolved) else f"{MERGING}: {FORMULAS[parameters['mapping']]}"
    try:
        value = closed_form_waf(resolved, effective, writes)
    except NoFormulaError as reason:
        note = f"no closed form describes this device: {reason}"
    return Found(parameters, value, note)


def _ways(device: dict[str, Any]) -> dict[str, Any]:
    """Return how a resolved device collects, and how it maps if not by page, as parameters."""
    from opennandlab.theory.prediction import mapping_of, policy_of

    (policy, own), (mapping, parameters) = policy_of(device), mapping_of(device)
    found = {"policy": policy, **own}
    return found if mapping == "page" else {**found, "mapping": mapping, **parameters}


def _spare_factor(spare_factor: float | None, over_provisioning: float | None) -> float:
    """Return the spare factor that was given, or the nominal one of an over-provisioning."""
    if spare_factor is not None and over_provisioning is None:
        return spare_factor
    if over_provisioning is not None and spare_factor is None:
        if not 0 < over_provisioning <= OVER_PROVISIONING_MAX:
            accepted = f"above 0, at most {OVER_PROVISIONING_MAX} (7 % is 0.07)"
            raise ValueError(f"--over-provisioning is {over_provisioning}; accepted: {accepted}")
        return over_provisioning / (1 + over_provisioning)
    raise ValueError("give either --spare-factor or --over-provisioning")
