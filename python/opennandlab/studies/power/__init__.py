"""Power loss: campaigns of cuts on simulated drives, and which option prevents which fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opennandlab.studies.power.running import run as run

__all__ = ["run"]


def __getattr__(name: str) -> object:
    """Load `run` when it is asked for: the package alone costs little."""
    if name != "run":
        raise AttributeError(f"module `{__name__}` has no `{name}`")
    from opennandlab.studies.power.running import run

    return run
