"""A standard test as a function: a device and settings in, the document as a mapping out.

What asks holds no objects of this package, only `{"test": "iops", "time_base": "full"}`; the other
keys are those of `Settings`, of which `seed` goes before the seed of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opennandlab.documents.record import plain
from opennandlab.pts import TESTS
from opennandlab.pts.bench.plan import Settings
from opennandlab.pts.bench.record import Watcher
from opennandlab.pts.bench.runner import run_test
from opennandlab.targets.simulated import SimulatedTarget


def answer(
    device: Mapping[str, Any],
    question: Mapping[str, Any],
    seed: int,
    watch: Watcher | None = None,
) -> dict[str, Any]:
    """Run a standard test on a simulated drive, and return its document.

    Args:
        device: The drive, as in its file.
        question: `test` and settings.
        seed: Decides all addresses, unless the question has one.
        watch: Called several times a second; what it raises ends the test.

    Raises:
        ValueError: for a test that does not exist.
        ConfigError: for settings that it cannot have.
    """
    asked = dict(question)
    test = str(asked.pop("test", ""))
    if test not in TESTS:
        raise ValueError(f"no standard test is called {test!r}; accepted: {', '.join(TESTS)}")
    settings = Settings(**{"seed": seed, **asked})
    target = SimulatedTarget(dict(device), seed=settings.seed)
    try:
        return plain(run_test(TESTS[test], target, settings=settings, watch=watch))
    finally:
        target.close()
