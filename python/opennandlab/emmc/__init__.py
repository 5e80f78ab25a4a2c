"""An eMMC, command by command: a simulated card, and checks of what cards do.

```text
cases/*: table of cases ─► checking ─► rows: id, clause, expected, found, verdict ─► document
             │                 └─ a real device: read-only cases, by mmc-utils   [real]
             └─ card: states, blocks, switches ─► _core.Emmc (commands in, responses out)
```
Numbers of commands, bits and fields are written down here once more, from the standard
(JESD84-B51), so that a check never asks the card what is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opennandlab.emmc.checking import check as check

__all__ = ["check"]


def __getattr__(name: str) -> object:
    """Load `check` when it is asked for: the package alone costs little."""
    if name != "check":
        raise AttributeError(f"module `{__name__}` has no `{name}`")
    from opennandlab.emmc.checking import check

    return check
