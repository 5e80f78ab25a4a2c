"""Logs: what the package says under the name `opennandlab`, as text or JSON lines.

```text
--verbose        beginnings and ends of work, on stderr     -vv also details
--log FILE       the same into a file, with all of stderr: notes, warnings, progress
```
A log file is appended to, and each line is written at once, so that the log of a run that was
killed shows how far it came. Without these options nothing is set up.
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
    """One line for a person: time, level, logger and message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with escape sequences made visible."""
        text = f"{record.levelname:7} {record.name} {record.getMessage()}"
        return f"{_moment(record)} {inert(text)}"


class Json(logging.Formatter):
    """One JSON object for a program: `time`, `level`, `name`, `message`, and further facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, one JSON object."""
        fields = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "name": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        return json.dumps(fields, ensure_ascii=False, default=str)


def _moment(record: logging.LogRecord) -> str:
    """Return the time of a record in UTC, to the millisecond."""
    moment = dt.datetime.fromtimestamp(record.created, dt.timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def set_up(*, verbose: int, file: Path | None, form: str) -> None:
    """Set up the loggers of the package.

    Args:
        verbose: 0 for no log on stderr, 1 for beginnings and ends of work, 2 for details.
        file: Log file that lines are appended to; None for none.
        form: `text` or `json`.

    Raises:
        OutputError: if the file cannot be opened, with the reason.
    """
    formatter = Json() if form == "json" else Text()
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    level = logging.DEBUG if verbose > 1 else logging.INFO
    if verbose:
        on_stderr = logging.StreamHandler(sys.stderr)
        # Notes and progress are printed there already.
        on_stderr.addFilter(lambda record: record.name != SPOKEN)
        _add(logger, on_stderr, formatter, level)
    if file is not None:
        try:
            in_file = logging.FileHandler(file, encoding="utf-8", errors="replace")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"cannot write the log {file}: {reason}") from error
        _add(logger, in_file, formatter, level)


def _add(
    logger: logging.Logger, handler: logging.Handler, formatter: logging.Formatter, level: int
) -> None:
    # A log on a full disk changes no outcome.
    handler.handleError = lambda record: None  # type: ignore[method-assign]  # noqa: ARG005
    handler.setFormatter(formatter)
    handler.setLevel(level)
    logger.addHandler(handler)
