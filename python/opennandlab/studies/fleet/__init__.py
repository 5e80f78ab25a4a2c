"""Many drives of one kind, each a little different, through the same suites.

```text
fleet.yaml ─► devices: index, seed, what each drew ─► a sweep per suite ─► engine, store
                                                                            │
summary: spread, outliers, failures ◄── one row per device and suite ◄──────┘
```
A device is its index: its seed and all it draws follow from the name of the campaign and the index,
so any of them can be run again alone. Points that were run are in a store, and stay known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opennandlab.studies.fleet.running import run as run

__all__ = ["run"]


def __getattr__(name: str) -> object:
    """Load `run` when it is asked for: the package alone costs little."""
    if name != "run":
        raise AttributeError(f"module `{__name__}` has no `{name}`")
    from opennandlab.studies.fleet.running import run

    return run
