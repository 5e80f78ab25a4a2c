"""A power cut in the life of a simulated drive, and what drives promise when it comes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from opennandlab.base.errors import ConfigError
from opennandlab.core.run import Simulation
from opennandlab.documents.record import JsonObject

# What drives promise of their data when the power fails; see `docs/power-loss.md`.
CLAIMS: Final = ("honest-flush", "plp", "ordered", "rzat")
# Where cuts are aimed.
TARGETS: Final = (
    "random", "gc", "erase", "journal", "checkpoint", "upper_page", "plp_dump", "recovery",
)  # fmt: skip


def promises(claims: Sequence[str]) -> tuple[bool, bool, bool, bool]:
    """Return for each of `CLAIMS` whether it is made.

    Raises:
        ConfigError: for a claim that is none of them.

    >>> promises(["plp"])
    (False, True, False, False)
    """
    for name in claims:
        if name not in CLAIMS:
            accepted = ", ".join(CLAIMS)
            raise ConfigError("--claims", f"`{name}` is not known; accepted: {accepted}")
    honest_flush, plp, ordered, rzat = (name in claims for name in CLAIMS)
    return honest_flush, plp, ordered, rzat


def cut_power(  # noqa: PLR0913 - what can be asked of a cut
    drive: Simulation,
    number: int,
    *,
    workload: str = "random",
    at: str = "random",
    claims: Sequence[str] | None = None,
    share: float = 1.0,
    ready_ms: float = 10_000.0,
) -> JsonObject:
    """Let a host work for a while, cut the power of the drive, and judge it when it is back.

    The drive goes on as its mount has left it: erase counts, retired blocks, and the marks of what
    was interrupted.

    Args:
        drive: The drive.
        number: Of the cut in the life of the drive, from 0: each tenth recovery is compared with
            one that examines every page.
        workload: `random`, `sequential`, `sync`, `trim` or `hot`, as of `power run`.
        at: Where the cut is aimed: `random`, `gc`, `erase`, `journal`, `checkpoint`, `upper_page`,
            `plp_dump` or `recovery`.
        claims: What the drive promises, of `CLAIMS`; None: what its options in `power` say.
        share: Share of the drive, from its first page on, that the host works with.
        ready_ms: From power to ready, milliseconds; longer is slow.

    Returns:
        Counts of the cut, `classes` of faults among them.

    Raises:
        BusyError: while a run is in progress.
        ConfigError: for a drive that cannot be cut from power, and for unknown names.

    >>> small = {"blocks_per_plane": 64, "pages_per_block": 32}
    >>> drive = Simulation({"nand": small, "ftl": {"gc_reserve_blocks": 32}})
    >>> drive.precondition([{"kind": "sequential_fill"}])
    >>> cut_power(drive, 0)["classes"]
    []
    """
    promised = None if claims is None else promises(claims)
    core, history = drive._core, drive._history  # noqa: SLF001 (the drive is lent)
    with drive._exclusive:  # noqa: SLF001
        seed, limit_us = history.job_seed(drive.seed), ready_ms * 1000.0
        found = core.cut_power(number, workload, at, promised, share, limit_us, seed)
        history.add_cut()
    shown: JsonObject = json.loads(found)
    return shown
