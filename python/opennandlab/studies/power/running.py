"""`onl.power.run`: a campaign of power cuts, from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opennandlab.base.threads import cores
from opennandlab.core.config import Source, load_device
from opennandlab.core.viewed import PowerResult, viewed
from opennandlab.studies.power.campaign import SMALL, WORKLOADS, Campaign, Settings


def run(  # noqa: PLR0913 (options, by name)
    device: Source | None = None,
    *,
    cuts: int = 3000,
    workloads: Sequence[str] = WORKLOADS,
    seed: int = 42,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> PowerResult:
    """Cut the power of a simulated drive: what `opennandlab power run` does, in threads.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`; None for the small drive of campaigns.
        cuts: How many; a multiple of the cuts of a life.
        workloads: What is written meanwhile.
        seed: Seed of all randomness.
        jobs: Lives at the same time; None for all cores.
        progress: Called with the number of cuts that are done.

    Raises:
        ConfigError: for a drive that cannot be cut, with the key.
    """
    wanted = Settings(load_device(SMALL if device is None else device), cuts, workloads, seed=seed)
    campaign = Campaign(wanted, jobs=jobs or cores(), watch=progress)
    campaign.to_the_end()
    found: PowerResult = viewed(campaign.document(f"opennandlab power run --cuts {cuts}"))
    return found
