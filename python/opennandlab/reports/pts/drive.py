"""Lines on the drive of a test: its wear, its power, its life, its write amplification."""

from __future__ import annotations

from opennandlab.base.words import number
from opennandlab.documents.health import LifeEstimates
from opennandlab.documents.pts_header import Header
from opennandlab.reports import words


def state_text(header: Header) -> str:
    """Return the wear that a simulated drive was given before the test; empty for none."""
    state = header.target.state
    if state is None:
        return ""
    mean = state.erase_count_mean
    parts = [
        "no good block"
        if mean is None
        else f"{mean:.6g} of {state.rated_pe_cycles} rated P/E cycles",
        counted(state.lost_blocks, "block") + " lost" if state.lost_blocks else "",
        f"sha256 {state.image_sha256[:12]}" if state.image_sha256 else "",
    ]
    return f"state {state.name}: {', '.join(filter(None, parts))}"


def power_text(header: Header) -> str:
    """Return the source of watts, and idle power; empty of older documents."""
    power = header.power
    if power is None:
        return ""
    if power.source is None:
        return f"power unknown: {power.missing}" if power.missing else "power unknown"
    found = f"power by {' and '.join(power.counted)}"
    if power.log is not None:
        clock = "seconds since 1970" if power.log.clock == "epoch" else "seconds of the run"
        found = f"power by the log {power.log.name}, {power.log.samples} samples, {clock}"
    idle = "unknown" if power.idle_w is None else f"{words.value(power.idle_w)} W"
    return "; ".join(filter(None, (found, f"idle {idle}", power.missing)))


def life_text(life: LifeEstimates) -> str:
    """Write the life that a device estimates of itself.

    >>> life_text(LifeEstimates(kind="emmc", pre_eol_info=1, device_life_time_est_typ_a=None,
    ...     device_life_time_est_typ_b=3, write_booster_life_time_est=None))
    'type A unknown, type B 20 to 30 %, reserve below 80 % used'
    """
    parts = [
        f"type A {words.life_used(life.device_life_time_est_typ_a)}",
        f"type B {words.life_used(life.device_life_time_est_typ_b)}",
        f"reserve {words.RESERVES.get(life.pre_eol_info or 0, 'unknown')}",
    ]
    if life.kind == "ufs":
        parts.append(f"write booster {words.life_used(life.write_booster_life_time_est)}")
    return ", ".join(parts)


def waf_text(header: Header) -> str:
    """Write the write amplification of a real drive by its own logs; nothing without logs."""
    if header.logs is None:
        return ""
    change = header.logs.change
    if change.waf is None:
        return f"unknown: {'; '.join(change.unknown.values())}"
    low, high = change.waf_range or [None, None]
    return (
        f"{number(change.waf)} ({number(low)} to {number(high)}) by the logs of the drive, purge "
        "and preconditioning included"
    )


def counted(count: int, what: str) -> str:
    """Return a count with its noun, in the plural unless it is one; `no` for zero."""
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
