"""What the package says to `logging`, for those who listen.

    import logging
    logging.getLogger("opennandlab").setLevel(logging.INFO)

A listener of the standard library is all that is needed; without one nothing is said, and `logging`
is not even imported: whoever set up a listener has imported it. What is said never enters a result.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

NAME = "opennandlab"
# What the command line prints for a person, said again for a log file.
SPOKEN = f"{NAME}.cli"


def info(name: str, message: str, **facts: object) -> None:
    """Say what was begun or done.

    Args:
        name: What speaks, below `opennandlab`: `run`.
        message: A sentence with its figures.
        facts: The figures again, for listeners that keep fields.
    """
    logger = _listened(f"{NAME}.{name}")
    if logger is not None:
        logger.info("%s", message, extra={"facts": facts})


def spoken(message: str) -> None:
    """Say again what was printed for a person."""
    logger = _listened(SPOKEN)
    if logger is not None:
        level = {"error": 40, "warning": 30}.get(message.partition(":")[0], 20)
        logger.log(level, "%s", message)


def _listened(name: str) -> logging.Logger | None:
    if "logging" not in sys.modules:
        return None
    import logging

    package = logging.getLogger(NAME)
    if not package.handlers:
        # Without one, the standard library would print warnings and errors itself.
        package.addHandler(logging.NullHandler())
    return logging.getLogger(name)
