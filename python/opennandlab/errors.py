"""What can go wrong that is not our bug: few classes, each with a sentence for its reader.

`_core` raises these same classes, so that Python and Rust speak of one `ConfigError`.
A modelled failure (a worn block, an uncorrectable page) is a number in the result, never an
exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opennandlab.result import Result


class OpenNandLabError(Exception):
    """Everything that this package refuses to do, and why."""


class ConfigError(OpenNandLabError):
    """A device or workload description that cannot be used; nothing was run.

    Args:
        path: Dotted path of the key, such as `ftl.gc_policy`; `.` for the whole document.
        message: What was wrong with which value, and what is accepted.
    """

    def __init__(self, path: str, message: str) -> None:
        """Keep both parts apart, for tools that point at the key."""
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        """`path: message`; the message alone when it concerns the whole document."""
        return self.message if self.path in {"", "."} else f"{self.path}: {self.message}"


class TraceError(OpenNandLabError):
    """A block trace that cannot be read; the message names file and line."""


class ImageError(OpenNandLabError):
    """A device image that is truncated, foreign, damaged or newer than this build."""


class ResultError(OpenNandLabError):
    """A result file that cannot be used, or results that must not be compared."""


class OutputError(OpenNandLabError):
    """A file that cannot be written. What was there before is untouched."""


class InternalError(OpenNandLabError):
    """A broken invariant of the simulator: our bug, never the user's."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a run. A `KeyboardInterrupt`, so that loops over runs end too.

    Args:
        result: What had been measured until then, marked `partial`; None when nothing had.
    """

    def __init__(self, result: Result | None) -> None:
        """Carry the part that is done."""
        super().__init__("interrupted")
        self.result = result
