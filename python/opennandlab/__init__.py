"""A simulator of NAND flash drives whose numbers can be proved.

    import opennandlab as onl
    result = onl.benchmark("tlc_standard", "W2", seed=42)
    result.metrics["waf"], result.save("results.json")

Names are loaded on first use: `import opennandlab` costs a few milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opennandlab import ecc as ecc
    from opennandlab import reliability as reliability
    from opennandlab._core import version as version
    from opennandlab.comparison import compare
    from opennandlab.config import DeviceConfig, WorkloadConfig, load_device, load_workload
    from opennandlab.errors import (
        ConfigError,
        ImageError,
        InternalError,
        Interrupted,
        OpenNandLabError,
        OutputError,
        ResultError,
        TraceError,
    )
    from opennandlab.result import Result, load
    from opennandlab.run import Simulation, benchmark, replay
    from opennandlab.slices import Progress
    from opennandlab.verification import verify

# Public name -> the module that has it. One row makes a name public.
_HOMES = {
    "ConfigError": "errors",
    "DeviceConfig": "config",
    "ImageError": "errors",
    "InternalError": "errors",
    "Interrupted": "errors",
    "OpenNandLabError": "errors",
    "OutputError": "errors",
    "Progress": "slices",
    "Result": "result",
    "ResultError": "errors",
    "Simulation": "run",
    "TraceError": "errors",
    "WorkloadConfig": "config",
    "benchmark": "run",
    "compare": "comparison",
    "load": "result",
    "load_device": "config",
    "load_workload": "config",
    "replay": "run",
    "verify": "verification",
    "version": "_core",
}

# Rooms that are names themselves: `onl.reliability`.
_ROOMS = {"ecc", "reliability"}

__all__ = [
    "ConfigError",
    "DeviceConfig",
    "ImageError",
    "InternalError",
    "Interrupted",
    "OpenNandLabError",
    "OutputError",
    "Progress",
    "Result",
    "ResultError",
    "Simulation",
    "TraceError",
    "WorkloadConfig",
    "benchmark",
    "compare",
    "ecc",
    "load",
    "load_device",
    "load_workload",
    "replay",
    "verify",
    "version",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name in _ROOMS:
        return import_module(f"opennandlab.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `opennandlab` has no `{name}`")
    value = getattr(import_module(f"opennandlab.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
