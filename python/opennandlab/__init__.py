"""opennandlab simulates NAND flash drives and tests real ones.

Its numbers repeat byte for byte and are checked against theory.

    import opennandlab as onl
    result = onl.benchmark("tlc_standard", "W2", seed=42)
    result.metrics["waf"], result.save("results.json")

Names are loaded on first use: `import opennandlab` costs a few milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from opennandlab import app as app
    from opennandlab import ecc as ecc
    from opennandlab import emmc as emmc
    from opennandlab import measured as measured
    from opennandlab import policies as policies
    from opennandlab import pts as pts
    from opennandlab import reliability as reliability
    from opennandlab import theory as theory
    from opennandlab._core import RawNand as RawNand
    from opennandlab._core import version as version
    from opennandlab.base.errors import (
        BusyError,
        ConfigError,
        ImageError,
        InternalError,
        OpenNandLabError,
        OutputError,
        PolicyError,
        ResultError,
        StoreError,
        TraceError,
        WriteError,
    )
    from opennandlab.base.threads import set_threads
    from opennandlab.comparing import UnlikeError, compare
    from opennandlab.core.config import (
        DeviceConfig,
        WorkloadConfig,
        load_device,
        load_workload,
        presets,
    )
    from opennandlab.core.loading import load
    from opennandlab.core.result import Interrupted, Result
    from opennandlab.core.run import Simulation, benchmark, replay
    from opennandlab.core.slices import Progress
    from opennandlab.core.tested import PtsResult
    from opennandlab.core.verification import verify
    from opennandlab.ecc.curves import Curve
    from opennandlab.reports.figure.paper import Paper
    from opennandlab.store import open_store
    from opennandlab.studies import fleet as fleet
    from opennandlab.studies import power as power
    from opennandlab.studies.calibration import calibrate
    from opennandlab.studies.rating.making import device_from_rating
    from opennandlab.studies.sweeps.runs import Runs, sweep

# Public name -> the module that has it. One row makes a name public.
_HOMES = {
    "BusyError": "base.errors",
    "ConfigError": "base.errors",
    "Curve": "ecc.curves",
    "DeviceConfig": "core.config",
    "ImageError": "base.errors",
    "InternalError": "base.errors",
    "Interrupted": "core.result",
    "OpenNandLabError": "base.errors",
    "OutputError": "base.errors",
    "Paper": "reports.figure.paper",
    "PolicyError": "base.errors",
    "Progress": "core.slices",
    "PtsResult": "core.tested",
    "RawNand": "_core",
    "Result": "core.result",
    "ResultError": "base.errors",
    "Runs": "studies.sweeps.runs",
    "Simulation": "core.run",
    "StoreError": "base.errors",
    "TraceError": "base.errors",
    "UnlikeError": "comparing",
    "WorkloadConfig": "core.config",
    "WriteError": "base.errors",
    "allow_code": "policies.source",
    "benchmark": "core.run",
    "calibrate": "studies.calibration",
    "compare": "comparing",
    "device_from_rating": "studies.rating.making",
    "load": "core.loading",
    "load_device": "core.config",
    "load_workload": "core.config",
    "open_store": "store",
    "presets": "core.config",
    "replay": "core.run",
    "set_threads": "base.threads",
    "sweep": "studies.sweeps.runs",
    "verify": "core.verification",
    "version": "_core",
}

# Rooms that are names themselves, such as `onl.reliability`: name -> module.
_ROOMS = {
    **{name: name for name in ("app", "ecc", "emmc", "measured", "policies", "pts")},
    **{name: name for name in ("reliability", "theory")},
    "fleet": "studies.fleet",
    "power": "studies.power",
}

__all__ = [
    "BusyError",
    "ConfigError",
    "Curve",
    "DeviceConfig",
    "ImageError",
    "InternalError",
    "Interrupted",
    "OpenNandLabError",
    "OutputError",
    "Paper",
    "PolicyError",
    "Progress",
    "PtsResult",
    "RawNand",
    "Result",
    "ResultError",
    "Runs",
    "Simulation",
    "StoreError",
    "TraceError",
    "UnlikeError",
    "WorkloadConfig",
    "WriteError",
    "allow_code",
    "app",
    "benchmark",
    "calibrate",
    "compare",
    "device_from_rating",
    "ecc",
    "emmc",
    "fleet",
    "load",
    "load_device",
    "load_workload",
    "measured",
    "open_store",
    "policies",
    "power",
    "presets",
    "pts",
    "reliability",
    "replay",
    "set_threads",
    "sweep",
    "theory",
    "verify",
    "version",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name in _ROOMS:
        return import_module(f"opennandlab.{_ROOMS[name]}")
    if name == "__version__":
        return str(import_module("opennandlab._core").version())
    home = _HOMES.get(name)
    if home is None:
        return import_module("opennandlab.base.deprecated").public(name)
    value = getattr(import_module(f"opennandlab.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
