"""`onl.app.run`: a suite of applications on a simulated drive, from Python."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping

from opennandlab.app.assembling import assemble
from opennandlab.app.outcome import Progress
from opennandlab.app.replaying import Plan, prepare, replay
from opennandlab.app.states import Wanted
from opennandlab.app.suites import suite as find_suite
from opennandlab.core.config import Source, load_device
from opennandlab.core.viewed import AppResult, viewed


def run(  # noqa: PLR0913 (options, by name)
    device: Source,
    suite: str = "light",
    *,
    cases: Mapping[str, int | None] | None = None,
    runs: int = 5,
    state: str = "young-clean",
    idle_ms: int = 0,
    seed: int = 42,
    progress: Callable[[Progress], None] | None = None,
) -> AppResult:
    """Play a suite of applications on a simulated drive: what `opennandlab app run` does.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        suite: Name of a suite, or the path of a file that ends in `.yaml`.
        cases: Only these, with their iterations; None for those of the suite.
        runs: How often each case is run.
        state: `young-clean`, `young-dirty`, `old-clean` or `old-dirty`.
        idle_ms: Pause between iterations, ms.
        seed: Seed of all randomness.
        progress: Called several times a second.

    Raises:
        ConfigError: for what cannot be run, with the key.

    >>> run("emmc_16gb", cases={"camera": 1}, runs=1).passed
    True
    """
    chosen, began = find_suite(suite, cases), time.monotonic()
    created = dt.datetime.now(tz=dt.timezone.utc).isoformat(timespec="milliseconds")
    loaded = load_device(device)
    plan = Plan(
        device=loaded, suite=chosen, seed=seed, runs=runs, wanted=Wanted(state), idle_ms=idle_ms
    )
    prepare(plan)
    settings: dict[str, object] = {
        "mode": "replay", "seed": seed, "runs": runs, "idle_ms": idle_ms, "sizes": {},
    }  # fmt: skip
    outcome = replay(plan, progress)
    document = assemble(
        outcome, chosen, settings, target=f"sim:{loaded.name}", wall_s=time.monotonic() - began,
        created=created.replace("+00:00", "Z"),
    )  # fmt: skip
    found: AppResult = viewed(document)
    return found
