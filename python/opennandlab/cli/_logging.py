"""Logs: what the package says under the name `opennandlab`, as text or JSON lines.

```text
--verbose        what was begun and done, on stderr        -vv also details
--log FILE       the same into a file, and all that was said on stderr: notes, warnings, progress
```
A log is for later: it is appended to, and each line is written at once, so that a run that is
killed has told how far it came. Without these options nothing is set up.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
from pathlib import Path

from opennandlab.base.errors import OutputError, inert
from opennandlab.base.logs import NAME, SPOKEN

FORMATS = ("text", "json")


class Text(logging.Formatter):
    """One line for a person: when, how grave, where from, what."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; what a terminal would obey is written out."""
        text = f"{record.levelname:7} {record.name} {record.getMessage()}"
        return f"{_moment(record)} {inert(text)}"


class Json(logging.Formatter):
    """One JSON object for a program: `time`, `level`, `name`, `message`, and what is known more."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        known = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "name": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        return json.dumps(known, ensure_ascii=False, default=str)


def _moment(record: logging.LogRecord) -> str:
    moment = dt.datetime.fromtimestamp(record.created, dt.timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def set_up(*, verbose: int, file: Path | None, form: str) -> None:
    """Let the package speak.

    Args:
        verbose: 0 for not on stderr, 1 for what was begun and done, 2 for details.
        file: Log file, to which is appended.
        form: `text` or `json`.

    Raises:
        OutputError: when the file cannot be opened, and why.
    """
    formatter = Json() if form == "json" else Text()
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    level = logging.DEBUG if verbose > 1 else logging.INFO
    if verbose:
        shown = logging.StreamHandler(sys.stderr)
        # Notes and progress stand there already.
        shown.addFilter(lambda record: record.name != SPOKEN)
        _add(logger, shown, formatter, level)
    if file is not None:
        try:
            kept = logging.FileHandler(file, encoding="utf-8", errors="replace")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"cannot write the log {file}: {reason}") from error
        _add(logger, kept, formatter, level)


def _add(
    logger: logging.Logger, handler: logging.Handler, formatter: logging.Formatter, level: int
) -> None:
    # A log on a full disk changes no outcome.
    handler.handleError = lambda record: None  # type: ignore[method-assign]  # noqa: ARG005
    handler.setFormatter(formatter)
    handler.setLevel(level)
    logger.addHandler(handler)
