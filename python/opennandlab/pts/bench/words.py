"""How block sizes and mixes are written in labels and tables: `RND 4 KiB 65/35`, `0.5`."""

from __future__ import annotations

from opennandlab.base.units import kib, mix
from opennandlab.targets.base import Stimulus


def name(stimulus: Stimulus, composite: str = "mix") -> str:
    """Return the name of a stimulus: `SEQ 1024 KiB 0/100`."""
    block = stimulus.block_bytes
    size = f"{kib(block)} KiB" if isinstance(block, int) else composite
    order = "RND" if stimulus.pattern == "random" else "SEQ"
    return f"{order} {size} {mix(stimulus.read_pct)}"
