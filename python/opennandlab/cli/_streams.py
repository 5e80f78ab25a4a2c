"""Where a command speaks: results on stdout, all else on stderr.

What a terminal shows is broken at words; what goes into a file or a pipe is never broken, because
programs read it line by line. Tables are as wide as the terminal, or else as COLUMNS asks for.
"""

import codecs
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

# Wide enough for most tables where no terminal tells its width; of those of numbers, which are as
# wide as they must be, for all.
PLAIN_WIDTH, NUMBERS_WIDTH = 110, 400

# Form of an error in JSON: {"schema": …, "error": {"exit_code": …, "message": …, …}}.
ERROR_SCHEMA = "opennandlab.error/1"

# Characters that some encodings lack -> the replacement; and the name of that error handler.
PLAIN = {
    "µ": "u", "·": "-", "…": "...", "×": "x", "±": "+-", "°": "deg ", "≥": ">=", "≤": "<=",
    "−": "-", "–": "-", "→": "->", "√": "sqrt ", "│": "|", "─": "-", "“": '"', "”": '"', "’": "'",
}  # fmt: skip
LEGIBLE = "opennandlab.legible"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks; `?` is for those without a replacement."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(PLAIN.get(mark, "?") for mark in lacking), error.end


codecs.register_error(LEGIBLE, _replaced)


def written(text: str) -> str:
    """Return a text in the characters that stdout has."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, LEGIBLE).decode(encoding)


def stdout(*, is_numbers: bool = False) -> "Console":
    """Return the console for results.

    Args:
        is_numbers: For tables whose cells are never broken: outside a terminal none is cut.
    """
    from rich.console import Console

    from opennandlab.base.errors import UNPRINTABLE, inert_lines

    class Inert(Console):
        """Shows what is printed, and never obeys it: names of files may hold anything."""

        def print(self, *what: Any, **named: Any) -> None:  # noqa: ANN401
            # What fits wraps; of what cannot, no part is cut off. A terminal would break a
            # sentence in the middle of a word.
            if sys.stdout.isatty() and named.get("soft_wrap") and not named.get("no_wrap"):
                what = tuple(hanging(one, self.width) if type(one) is str else one for one in what)
            super().print(*what, **{"crop": False, **named})

        def render(self, *args: Any, **named: Any) -> "Iterator[Segment]":  # noqa: ANN401
            for segment in super().render(*args, **named):
                text = segment.text
                if segment.control is None and text != "\n" and UNPRINTABLE.search(text):
                    yield segment._replace(text=inert_lines(text))
                else:
                    yield segment

    plain_width = NUMBERS_WIDTH if is_numbers else PLAIN_WIDTH
    width = None if sys.stdout.isatty() else _asked_width() or plain_width
    return Inert(width=width, highlight=False)


def _asked_width() -> int | None:
    """Return what the variable COLUMNS asks for; None for nothing that is a width."""
    text = os.environ.get("COLUMNS", "")
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    return int(text) or None if is_number else None


def stderr() -> "Console":
    """Return the console for diagnostics."""
    from rich.console import Console

    is_terminal = sys.stderr.isatty()
    width = None if is_terminal else _asked_width() or PLAIN_WIDTH
    return Console(stderr=True, width=width, highlight=False, soft_wrap=not is_terminal)


def emit_json(document: Mapping[str, Any]) -> None:
    """Print the one JSON document: an object with a `schema`.

    Saved documents have theirs, JSON schemas a `$schema`; any other object gets the name of its
    command (`opennandlab.cli.theory.waf/1`), and one with only `error` that of errors.
    """
    from opennandlab.base.canonical import readable_json

    if not document.keys() & {"schema", "$schema"}:
        name = ERROR_SCHEMA if document.keys() == {"error"} else _command_schema()
        document = {"schema": name, **document}
    sys.stdout.write(readable_json(document) + "\n")
    sys.stdout.flush()


def _command_schema() -> str:
    """Return the name of what the running command prints."""
    # typer has a copy of click in newer versions, and both have this function.
    package = typer.Context.__mro__[1].__module__.rpartition(".")[0]
    context = import_module(f"{package}.globals").get_current_context(silent=True)
    words = context.command_path.split()[1:] if context else []
    return ".".join(["opennandlab.cli", *words]) + "/1"


def plain_lines(*lines: str) -> None:
    """Print lines as they are: never broken, and nothing in them is markup."""
    console = stdout()
    for line in lines:
        console.print(line, markup=False, emoji=False, soft_wrap=True, no_wrap=True)


def note(text: str, *, style: str | None = None) -> None:
    """Print a diagnostic; one that nobody can receive changes no outcome."""
    from rich.text import Text

    from opennandlab.base import logs
    from opennandlab.base.errors import inert_lines

    # It may quote a document of somebody else, and a terminal obeys what is written to it.
    text = inert_lines(text)
    logs.spoken(text)
    # A library that meets a reader who left would end the program: then with an exit code of ours.
    with contextlib.suppress(OSError, SystemExit):
        console = stderr()
        shown = hanging(text, console.width) if sys.stderr.isatty() else text
        console.print(Text(shown, style=style or ""))


def hanging(text: str, width: int) -> str:
    """Return sentences for a terminal, broken at words; further lines of one are indented.

    >>> hanging("warning: 188 853 samples", 14).splitlines()
    ['warning:', '  188 853', '  samples']
    """
    from rich.cells import cell_len

    from opennandlab.cli._tables import wrapped

    found: list[str] = []
    for line in text.split("\n"):
        if cell_len(line) <= width:
            found.append(line)
            continue
        indent = " " * (len(line) - len(line.lstrip()))
        first, *rest = wrapped(line.strip(), max(1, width - len(indent) - 2))
        found += [indent + first, *(f"{indent}  {part}" for part in rest)]
    return "\n".join(found)


def duration(seconds: float) -> str:
    """Write a span of time for a person."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
