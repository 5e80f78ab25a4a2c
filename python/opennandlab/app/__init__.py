"""Application-shaped work on a drive, and how long a user waits for it.

```text
seed, sizes ─cases─► script (JSON lines) ─live──► a directory ──────► samples ┐
                                          └─tools/record_app.py─► trace       ├─report─► document
                            trace ─replaying─► simulator, virtual time ► samples ┘
```
A *case* (contact, web, install, camera, gallery, mediascan) is a generator of a script; a *suite*
states how often each is run. A script never knows what it runs on: it gets a directory. Each
iteration has a *response*, from its `begin` to its `end`, which is what the user waits for.

Source: "Truth about eMMC performance benchmark" (A. Lee) for the idea, the counts of its `heavy`
suite and the device states; the cases are our own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opennandlab.app.running import run as run

__all__ = ["run"]


def __getattr__(name: str) -> object:
    """Load `run` when it is asked for: the package alone costs little."""
    if name != "run":
        raise AttributeError(f"module `{__name__}` has no `{name}`")
    from opennandlab.app.running import run

    return run
