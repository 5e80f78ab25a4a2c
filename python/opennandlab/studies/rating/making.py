"""A device of a data sheet, the other drives that the sheet would fit, and the record of both.

Sheet ──► Plan ──► rounds ──► variants ──► device file with origins, opennandlab.rating/1
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.core.shrinking import AUTO
from opennandlab.documents.rating import (
    RATING_SCHEMA,
    RatingBand,
    RatingDocument,
    RatingRound,
    RatingVariant,
)
from opennandlab.foreign.conversion import commented
from opennandlab.studies.rating import equations, planning
from opennandlab.studies.rating.equations import (
    ALPHA_RANGE,
    RANDOM,
    RANDOM_RANGE,
    clamped,
    rate_at,
)
from opennandlab.studies.rating.planning import (
    CELLS,
    FRESH_ALPHA,
    FRESH_RANGE,
    Plan,
    device_of,
    planned,
)
from opennandlab.studies.rating.rounds import SEEDS, Fitted, fitted, uniform_mb_s
from opennandlab.studies.rating.sheet import Sheet

POLICIES = ("greedy", "cost_benefit")
ALL_POLICIES = ("greedy", "cost_benefit", "fifo", "random", "windowed_greedy")
# What the least and the most of all variants are multiplied by.
WIDER = (0.96, 1.04)
NOMINAL = "as written"
STEADY = "steady_write_mb_s"
SEED = 42


@dataclass(frozen=True)
class Rated:
    """What a data sheet became.

    Args:
        device: The device.
        text: Its file, with where each value comes from.
        document: Inputs, solution, variants and bands.
    """

    device: DeviceConfig
    text: str
    document: RatingDocument


def rated(  # noqa: PLR0913 (options, by name)
    sheet: Sheet,
    name: str = "rated",
    *,
    simulate: bool = True,
    shrink: int | str = AUTO,
    seed: int = SEED,
    watch: Callable[[RatingRound], None] = lambda _: None,
) -> Rated:
    """Return the device of a data sheet.

    Args:
        sheet: The sheet.
        name: Name of the device.
        simulate: Whether the closed form is corrected by simulations.
        shrink: What simulated drives are divided by.
        seed: Seed of simulations.
        watch: Called after each round.

    Raises:
        ConfigError: for a sheet that contradicts itself or that no drive fits.
    """
    if sheet.cell not in CELLS:
        raise ConfigError("--cell", f"`{sheet.cell}` is unknown; accepted: {', '.join(CELLS)}")
    if sheet.policy is not None and sheet.policy not in ALL_POLICIES:
        known = ", ".join(("auto", *ALL_POLICIES))
        raise ConfigError("--policy", f"`{sheet.policy}` is unknown; accepted: {known}")
    speed = _link_bytes_s(sheet.link)
    sheet.check(speed)
    plan = planned(sheet, speed)
    plan = replace(plan, policy=sheet.policy or POLICIES[0])
    found = fitted(plan, shrink, seed, watch) if simulate else Fitted(plan, (), 0, is_met=False)
    device, keys, origins = device_of(found.plan, name)
    variants = list(_variants(found, plan, seed))
    document = RatingDocument(
        schema=RATING_SCHEMA,
        device=name,
        device_digest=digest(device),
        inputs=sheet.inputs() | {"rated_state": sheet.state},
        constants=_constants(),
        solution=_solution(found.plan),
        shrink=found.shrink or None,
        rounds=list(found.rounds),
        is_met=found.is_met if simulate else None,
        variants=variants,
        bands={
            STEADY: RatingBand(
                by="simulation" if simulate else "closed form",
                **band_of({one.name: one.uniform_mb_s for one in variants}),
            )
        },
        warnings=[*plan.warnings, *_cautions(found, plan, seed)],
    )
    title = "Made from a data sheet; each key says where it comes from."
    return Rated(device, commented(title, name, keys, origins), document)


def device_from_rating(
    *,
    name: str = "rated",
    simulate: bool = True,
    shrink: int | str = AUTO,
    **rated_values: Any,  # noqa: ANN401 (fields of a sheet)
) -> Rated:
    """Return the device of a page of a data sheet: what `config from-rating` does.

    Args:
        name: Name of the device.
        simulate: Whether the closed form is corrected by simulations.
        shrink: What simulated drives are divided by.
        rated_values: What the sheet rates: fields of `studies.rating.sheet.Sheet`, rates in bytes
            a second.

    Returns:
        The device, its file as text, and its document.

    Raises:
        ConfigError: for a sheet that contradicts itself or that no drive fits.

    >>> import opennandlab as onl
    >>> found = onl.device_from_rating(
    ...     capacity_bytes=800166076416, cell="TLC", link="pcie4x4", seq_write=1.4e9,
    ...     rand_write=145e3, rand_read=530e3, simulate=False)
    >>> found.device["nand.channels"], found.device["nand.dies_per_channel"]
    (8, 2)
    """
    try:
        sheet = Sheet(**rated_values)
    except TypeError as error:
        raise ConfigError("sheet", str(error).replace("Sheet.__init__() ", "")) from None
    return rated(sheet, name, simulate=simulate, shrink=shrink)


def digest(device: DeviceConfig) -> str:
    """Return the SHA-256 of a device."""
    return hashlib.sha256(device.json.encode()).hexdigest()


def _link_bytes_s(kind: str) -> float:
    """Return what a link carries.

    Raises:
        ConfigError: for a kind that has no rate.
    """
    try:
        link = load_device({"host": {"link": kind}})["host.link"]
    except ConfigError as error:
        raise ConfigError("--link", error.message) from None
    rate = None if isinstance(link, str) else link.get("mb_s")
    if rate is None:
        raise ConfigError("--link", f"`{kind}` has no rate; accepted: pcie4x4, sata3 and others")
    return float(rate) * 1e6


def _cautions(found: Fitted, closed: Plan, seed: int) -> Iterator[str]:
    """Yield the limits of the band and of simulated rates."""
    for name, plan in _plans(found.plan, closed):
        if (alpha := plan.solution.alpha) in ALPHA_RANGE:
            yield f"{name}: beyond what drives have; limited to {alpha:g} x capacity for data"
    if not found.rounds:
        return
    last = found.rounds[-1]
    if not found.is_met:
        yield f"after {len(found.rounds)} rounds rates are not within 1 % of what was asked for"
    if closed.sheet.state == "steady":
        yield (
            f"collections of the simulated drive take {found.plan.solution.collecting:.2f} of the "
            f"time of programs, the closed form says {closed.solution.collecting:.2f}: with random "
            f"writes of {last.uniform_mb_s:.0f} MB/s, sequential ones are "
            f"{last.sequential_mb_s:.0f} of {closed.sequential_rate / 1e6:.0f} MB/s, programs for "
            f"a page of the host {last.waf:.2f} of {closed.solution.programs:.2f}"
        )
    yield (f"rates are means of {SEEDS} seeds from {seed}; those of one differ by some percent")


def _variants(found: Fitted, closed: Plan, seed: int) -> Iterator[RatingVariant]:
    """Yield the device and the others that the sheet would fit."""
    for name, plan in _plans(found.plan, closed):
        keys = device_of(plan, "rated")[1]
        if not found.rounds:
            rate = plan.random_rate / 1e6
        elif name == NOMINAL:
            rate = found.rounds[-1].uniform_mb_s
        else:
            rate = uniform_mb_s(plan, found.shrink, seed)
        yield RatingVariant(
            name=name,
            gc_policy=keys["ftl.gc_policy"],
            blocks_per_plane=keys["nand.blocks_per_plane"],
            over_provisioning=keys["ftl.over_provisioning_pct"],
            uniform_mb_s=rate,
        )


def _plans(plan: Plan, closed: Plan) -> Iterator[tuple[str, Plan]]:
    """Yield each variant; what rounds made of the amplification, they make of others too."""
    yield NOMINAL, plan
    sheet, flash = plan.sheet, plan.flash
    is_steady = sheet.state == "steady"
    learned = plan.solution.programs / closed.solution.programs
    for policy in [sheet.policy] if sheet.policy else POLICIES:
        for value in RANDOM_RANGE if is_steady else FRESH_RANGE:
            if is_steady:
                rate = value * sheet.rand_write * equations.UNIT_BYTES / learned
                one = clamped(flash, plan.sequential_rate, rate)
                name = f"{policy}, random writes {value:.2f} x rated"
            else:
                one = rate_at(flash, plan.sequential_rate, value)
                name = f"{policy}, space for data {value:.2f} x capacity"
            one = replace(one, wordline_us=plan.solution.wordline_us)
            yield name, replace(plan, solution=one, policy=policy)


def band_of(
    values: Mapping[str, float], wider: tuple[float, float] = WIDER, least: float = 0.0
) -> dict[str, Any]:
    """Return the value of the first variant, the band of all, and the variants that set it.

    Args:
        values: By name of the variant.
        wider: What least and most are multiplied by.
        least: No band goes below it: 1 of an amplification.
    """
    low, high = (end(values, key=lambda name: values[name]) for end in (min, max))
    ends = max(values[low] * wider[0], least), values[high] * wider[1]
    return {"value": next(iter(values.values())), "band": ends, "low_by": low, "high_by": high}


def _constants() -> dict[str, float]:
    return {
        "sequential_over_rated": equations.SEQUENTIAL,
        "random_over_rated": RANDOM,
        "random_over_rated_low": RANDOM_RANGE[0],
        "random_over_rated_high": RANDOM_RANGE[1],
        "evenness": equations.EVENNESS,
        "read_share": equations.READ_SHARE,
        "metadata": planning.METADATA,
        "read_latency_over_typical": planning.READ_LATENCY,
        "write_latency_over_typical": planning.WRITE_LATENCY,
        "fresh_alpha": FRESH_ALPHA,
        "band_low": WIDER[0],
        "band_high": WIDER[1],
    }


def _solution(plan: Plan) -> dict[str, float]:
    found = asdict(plan.solution)
    return {"dies": plan.flash.dies, "read_us": plan.flash.read_us, **found}
