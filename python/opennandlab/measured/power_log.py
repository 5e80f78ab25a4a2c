"""The log of a power meter: lines of `seconds,watts`, and the mean of a time.

```text
# meter 3, 12 V rail              comments and a line of names are skipped
seconds,watts
1764403200.0,3.91                 seconds since 1970, or since the begin of the test if the
1764403201.0,4.02                 first of them is below 10^9
```
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_bytes

ACCEPTED = (
    "accepted: lines of seconds,watts, sorted by time; seconds since 1970, or since the begin of "
    "the test if the first is below 1e9"
)
# September 2001. No test takes that long, and no log of one is older.
EPOCH_S_MIN = 1e9
# A week at 100 samples a second.
BYTES_MAX = 2 << 30
WATTS_MAX = 1e6
# One sample is no mean of a time.
SAMPLES_MIN = 2


@dataclass(frozen=True)
class PowerLog:
    """Samples of a meter.

    Args:
        name: Name of the file, without folders.
        sha256: SHA-256 of its content, in hex.
        seconds: Times, ascending.
        watts: Power at each of them.
    """

    name: str
    sha256: str
    seconds: list[float]
    watts: list[float]

    @property
    def is_epoch(self) -> bool:
        """Whether times are seconds since 1970, not since the begin of the test."""
        return bool(self.seconds) and self.seconds[0] >= EPOCH_S_MIN

    def between(self, begin_s: float, end_s: float) -> list[float]:
        """Return the samples from a time on and before another.

        >>> PowerLog("", "", [0.0, 1.0, 2.0], [4.0, 5.0, 6.0]).between(1.0, 2.0)
        [5.0]
        """
        return self.watts[bisect_left(self.seconds, begin_s) : bisect_left(self.seconds, end_s)]

    def mean_w(self, begin_s: float, end_s: float) -> float | None:
        """Return the mean of a time; None with fewer than two samples, and beyond the log.

        >>> log = PowerLog("", "", [0.0, 1.0, 2.0], [4.0, 5.0, 6.0])
        >>> log.mean_w(0.5, 3.0), log.mean_w(0.5, 9.0)
        (5.5, None)
        """
        found = self.between(begin_s, end_s)
        if len(found) < SAMPLES_MIN:
            return None
        first_s, last_s = self.seconds[0], self.seconds[-1]
        # A log that begins or ends in the cell has the mean of a part of it.
        gap_s = (last_s - first_s) / (len(self.seconds) - 1)
        if begin_s < first_s - gap_s or end_s > last_s + gap_s:
            return None
        return math.fsum(found) / len(found)


def read_power_log(path: Path, key: str) -> PowerLog:
    """Return the samples of a file.

    Args:
        path: The file.
        key: Option or argument that named it, for errors.

    Raises:
        ConfigError: with the line, its fault and the accepted form.
    """
    try:
        raw = read_bytes(path, BYTES_MAX)
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise ConfigError(key, f"{path}: {reason}; {ACCEPTED}") from error
    seconds, watts = _samples(text, str(path), key)
    return PowerLog(path.name, hashlib.sha256(raw).hexdigest(), seconds, watts)


def _samples(text: str, name: str, key: str) -> tuple[list[float], list[float]]:
    seconds: list[float] = []
    watts: list[float] = []
    lines = text.splitlines()
    # A line without its end is one that a meter is writing: digits of its number may be missing.
    if text and not text.endswith(("\n", "\r")):
        lines.pop()
    may_name = True
    for place, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fields = [field.strip() for field in line.split(",")]
        problem, found = _sample(fields, seconds[-1] if seconds else 0.0)
        is_names = may_name and len(fields) == 2 and all(map(_is_word, fields))
        may_name = False
        if not problem:
            seconds.append(found[0])
            watts.append(found[1])
        elif not is_names:
            raise ConfigError(key, f"{name}, line {place}: {problem}; {ACCEPTED}")
    return seconds, watts


def _sample(fields: list[str], before_s: float) -> tuple[str, tuple[float, float]]:
    """Return the fault of a line, empty for none, and its time and power."""
    if len(fields) != 2:
        return f"{len(fields)} column{'' if len(fields) == 1 else 's'}", (0.0, 0.0)
    bad = next((field for field in fields if _number(field) is None), None)
    if bad is not None:
        return f"`{bad[:40]}` is not a number", (0.0, 0.0)
    time_s, power_w = (_number(field) or 0.0 for field in fields)
    if not (math.isfinite(time_s) and math.isfinite(power_w)):
        return "not a finite number", (0.0, 0.0)
    if time_s < before_s:
        where = f"{time_s:.17g} s after {before_s:.17g} s" if before_s else f"{time_s:.17g} s"
        return f"{where} is not sorted", (0.0, 0.0)
    if not 0.0 <= power_w <= WATTS_MAX:
        return f"{power_w:g} W is not 0 to {WATTS_MAX:g}", (0.0, 0.0)
    return "", (time_s, power_w)


def _number(field: str) -> float | None:
    try:
        return float(field) if "_" not in field else None
    except ValueError:
        return None


def _is_word(field: str) -> bool:
    return any(letter.isalpha() for letter in field) and _number(field) is None
