"""What can go wrong that is not our bug: few classes, each with a sentence for its reader.

`_core` raises these same classes, so that Python and Rust speak of one `ConfigError`.
A modelled failure (a worn block, an uncorrectable page) is a number in the result, never an
exception.
"""

from __future__ import annotations

import re

# A value is quoted up to this length, a whole message up to that one.
QUOTED_MAX = 60
MESSAGE_MAX = 1500
# Control characters would act on the terminal, others turn the digits next to them around; half a
# surrogate pair cannot be printed at all.
UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def inert(text: str) -> str:
    r"""Return a line in which characters that a terminal obeys, or a page hides, are escapes.

    >>> inert("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return UNPRINTABLE.sub(lambda found: repr(found.group())[1:-1], text)


def inert_lines(text: str) -> str:
    r"""Return `inert` of each line.

    >>> inert_lines("a\x07\nb")
    'a\\x07\nb'
    """
    return "\n".join(map(inert, text.split("\n")))


def legible(text: str) -> str:
    r"""Return a message that fits a screen, whatever stood in the file that it quotes.

    >>> legible("unknown field `\x1b[31mred\n`")
    'unknown field `\\x1b[31mred\\n`'
    >>> legible("`" + "x" * 100_000 + "` is not a number")
    '`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (100000 characters)` is not a number'
    """
    if len(text) > MESSAGE_MAX:
        text = re.sub(r"(?<=`)[^`]+(?=`)|(?<=\")[^\"]+(?=\")|[^\s`\"]+", _shortened, text)
    if len(text) > MESSAGE_MAX:
        kept = MESSAGE_MAX // 2
        text = f"{text[:kept]} … {text[-kept:]}"
    return inert(text)


def _shortened(found: re.Match[str]) -> str:
    quoted = found.group()
    if len(quoted) <= QUOTED_MAX:
        return quoted
    return f"{quoted[: QUOTED_MAX * 2 // 3]}… ({len(quoted)} characters)"


class OpenNandLabError(Exception):
    """Everything that this package refuses to do, and why.

    Messages are made legible: they quote what stood in a file, which may be anything.
    """

    def __init__(self, *parts: object) -> None:
        """Keep the message short and printable."""
        super().__init__(*(legible(part) if isinstance(part, str) else part for part in parts))


class ConfigError(OpenNandLabError):
    """A device or workload description that cannot be used; nothing was run.

    Args:
        path: Dotted path of the key, such as `ftl.gc_policy`; `.` for the whole document.
        message: What was wrong with which value, and what is accepted.
    """

    def __init__(self, path: str, message: str) -> None:
        """Keep both parts apart, for tools that point at the key."""
        super().__init__(path, message)
        self.path: str
        self.message: str
        self.path, self.message = self.args

    def __str__(self) -> str:
        """`path: message`; the message alone when it concerns the whole document."""
        return self.message if self.path in {"", "."} else f"{self.path}: {self.message}"


class CodeError(ConfigError):
    """Code that a file names and that nobody allowed, or that may not be named at all."""


class TraceError(OpenNandLabError):
    """A block trace that cannot be read; the message names file and line."""


class ImageError(OpenNandLabError):
    """A device image that is truncated, foreign, damaged or newer than this build."""


class ResultError(OpenNandLabError):
    """A result file that cannot be used, or results that must not be compared."""


class DocumentError(ResultError):
    """A document whose content is not what its schema says.

    Args:
        path: The key, such as `metrics.wear.mean`; empty for the whole document.
        message: What is there, and what is accepted.
    """

    def __init__(self, path: str, message: str) -> None:
        """Keep both parts apart, for tools that point at the key."""
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        """`path: message`; the message alone when it concerns the whole document."""
        return f"{self.path}: {self.message}" if self.path else self.message


class OutputError(OpenNandLabError):
    """A file that cannot be written. What was there before is untouched."""


class WriteError(OutputError):
    """A file that could not be written when its time came, such as on a full disk.

    Other refusals of an output come before anything is run.
    """


class StoreError(OpenNandLabError):
    """A store of runs, or an entry of one, that cannot be used: foreign, newer, damaged, unlike."""


class StoreWriteError(StoreError, WriteError):
    """A store that could not be written when its time came: a full disk, another writer.

    What it held before is untouched.
    """


class PolicyError(OpenNandLabError):
    """A policy of the user's own that chose what cannot be chosen: block, its state, candidates."""


class BusyError(OpenNandLabError):
    """A drive that is asked for something while it carries out a run."""


class InternalError(OpenNandLabError):
    """A broken invariant of the simulator: our bug, never the user's."""
