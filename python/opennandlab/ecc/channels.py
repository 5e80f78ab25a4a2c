"""Channels and points as they are typed: `bsc`, `awgn`, `sensing:3`, `unquantised`; `1e-3:1e-2:20`.

A point is a raw bit error rate, for `awgn` an Eb/N0 in dB per information bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError

ACCEPTED = "bsc, awgn, sensing:N (N reads), unquantised"
READS_WITH_BEST_THRESHOLDS = (1, 3, 7)
READS_MAX = 63
POINTS_MAX = 1000


@dataclass(frozen=True)
class Channel:
    """A channel, apart from the point.

    Args:
        text: `bsc`, `awgn`, `sensing:N` or `unquantised`.
        thresholds: Voltages of the N reads, ascending, in units of half the distance of the states;
            default where they keep the most information.
        spacing: Distance of evenly spaced reads instead, in the same unit.
        sigma_ratio: Width of the lower state (bit 1) over that of the upper one, 0.25 to 4.
        llr_rber: The raw bit error rate that LLRs are computed for; default that of the point.

    >>> Channel.parse("sensing:3", spacing=0.26).reads
    3
    """

    text: str
    kind: str
    reads: int | None = None
    thresholds: tuple[float, ...] | None = None
    spacing: float | None = None
    sigma_ratio: float = 1.0
    llr_rber: float | None = None

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        thresholds: Sequence[float] | None = None,
        spacing: float | None = None,
        sigma_ratio: float = 1.0,
        llr_rber: float | None = None,
    ) -> Channel:
        """Check a description; see the class.

        Raises:
            ConfigError: for what is not a channel, and why.
        """
        kind, colon, rest = text.partition(":")
        if kind not in {"bsc", "awgn", "sensing", "unquantised"} or bool(colon) != (
            kind == "sensing"
        ):
            raise ConfigError("channel", f"`{text}` is not a channel; accepted: {ACCEPTED}")
        reads = _reads(rest) if kind == "sensing" else None
        channel = cls(
            text,
            kind,
            reads,
            None if thresholds is None else tuple(float(value) for value in thresholds),
            spacing,
            sigma_ratio,
            llr_rber,
        )
        channel._check()
        return channel

    @classmethod
    def of(cls, given: str | Channel) -> Channel:
        """Return a channel that is given as text or as a channel.

        Raises:
            ConfigError: for text that is not a channel, and for anything else.
        """
        if isinstance(given, Channel):
            return given
        if not isinstance(given, str):
            raise ConfigError("channel", f"`{given!r}` is not a channel; accepted: {ACCEPTED}")
        return cls.parse(given)

    def _check(self) -> None:
        if self.thresholds is not None and self.spacing is not None:
            raise ConfigError("thresholds", "give either thresholds or a spacing")
        for name, value in (("thresholds", self.thresholds), ("spacing", self.spacing)):
            if value is not None and self.kind != "sensing":
                raise ConfigError(name, f"belongs to sensing:N, not to {self.text}")
        if self.thresholds is not None and len(self.thresholds) != self.reads:
            raise ConfigError(
                "thresholds", f"{len(self.thresholds)} thresholds for {self.reads} reads"
            )
        is_best = self.kind == "sensing" and self.thresholds is None and self.spacing is None
        if is_best and self.reads not in READS_WITH_BEST_THRESHOLDS:
            raise ConfigError(
                "channel",
                f"{self.reads} reads have no best thresholds; accepted: 1, 3, 7, or thresholds or "
                "a spacing of your own",
            )
        if self.kind == "awgn" and (self.sigma_ratio != 1.0 or self.llr_rber is not None):
            raise ConfigError(
                "channel",
                "awgn has symbols of one width and true LLRs: no sigma ratio, no LLR RBER",
            )
        # Refused here rather than at the first point.
        if not 0.25 <= self.sigma_ratio <= 4.0:
            raise ConfigError("sigma_ratio", f"{self.sigma_ratio} is refused; accepted: 0.25 to 4")
        if self.llr_rber is not None:
            check_rber("llr_rber", self.llr_rber)

    @property
    def has_rber(self) -> bool:
        """True when points are raw bit error rates, False for Eb/N0 in dB."""
        return self.kind != "awgn"

    @property
    def x_label(self) -> str:
        """What a point is, with its unit."""
        return "RBER" if self.has_rber else "Eb/N0, dB per information bit"

    def as_dict(self) -> dict[str, Any]:
        """Return what the channel is, for documents and for the core."""
        shown: dict[str, Any] = {"kind": self.kind}
        if self.reads is not None:
            shown["reads"] = self.reads
        if self.thresholds is not None:
            shown["thresholds"] = list(self.thresholds)
        if self.spacing is not None:
            shown["spacing"] = self.spacing
        if self.sigma_ratio != 1.0:
            shown["sigma_ratio"] = self.sigma_ratio
        if self.llr_rber is not None:
            shown["llr_rber"] = self.llr_rber
        return shown

    @property
    def spec(self) -> str:
        """The same as JSON."""
        return json.dumps(self.as_dict())


def _reads(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= READS_MAX:
        return int(text)
    raise ConfigError("channel", f"`{text}` reads are refused; accepted: 1 to {READS_MAX}")


def check_rber(name: str, value: float) -> float:
    """Refuse what is not a raw bit error rate."""
    if not 0.0 < value < 0.5:
        raise ConfigError(name, f"RBER {value:g} is refused; accepted: above 0 and below 0.5")
    return value


def points_of(given: str | Sequence[float], channel: Channel) -> list[float]:
    """Return the points of a curve, given as text or as numbers: each once, in the order given.

    Raises:
        ConfigError: for what is not points, and for points that the channel does not have.

    >>> points_of("1e-3,2e-3,1e-3", Channel.parse("bsc"))
    [0.001, 0.002]
    """
    if isinstance(given, str):
        return parse_points(given, channel)
    try:
        points = [float(point) for point in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(
            "points", f"`{given!r}` is not valid; accepted: numbers, or text such as 1e-3:1e-2:20"
        ) from error
    return _checked(points, channel)


def _checked(points: Sequence[float], channel: Channel) -> list[float]:
    seen = dict.fromkeys(points)
    if not seen or len(seen) > POINTS_MAX:
        raise ConfigError("points", f"{len(seen)} points are refused; accepted: 1 to {POINTS_MAX}")
    for point in seen:
        if channel.has_rber:
            check_rber("points", point)
        elif not -20.0 <= point <= 40.0:
            raise ConfigError("points", f"Eb/N0 of {point:g} dB is refused; accepted: -20 to 40")
    return list(seen)


def parse_points(text: str, channel: Channel) -> list[float]:
    """Read points: a list, or `from:to:count`, even in the logarithm for RBER, in dB for awgn.

    Raises:
        ConfigError: for text that is not points, and for points that the channel does not have.

    >>> parse_points("1e-3:1e-2:3", Channel.parse("bsc"))
    [0.001, 0.00316228, 0.01]
    >>> parse_points("4:5:3", Channel.parse("awgn"))
    [4.0, 4.5, 5.0]
    """
    parts = text.split(":")
    if len(parts) == 1:
        return _checked([parse_number("points", part) for part in text.split(",")], channel)
    if len(parts) != 3:
        raise ConfigError("points", f"`{text}` is refused; accepted: a list, or from:to:count")
    first, last = (parse_number("points", part) for part in parts[:2])
    count = parts[2].strip()
    if not (count.isascii() and count.isdigit() and 2 <= int(count[:9]) <= POINTS_MAX):
        raise ConfigError("points", f"count is `{count}`; accepted: 2 to {POINTS_MAX}")
    _checked([first, last], channel)
    shares = [place / (int(count) - 1) for place in range(int(count))]
    if channel.has_rber:
        low, high = math.log(first), math.log(last)
        values = [math.exp(low + share * (high - low)) for share in shares]
    else:
        values = [first + share * (last - first) for share in shares]
    # Six digits: what is shown is then what was simulated.
    rounded = [float(f"{value:.6g}") for value in values]
    return _checked([first, *rounded[1:-1], last], channel)


def parse_number(name: str, text: str) -> float:
    """Read one finite number.

    Raises:
        ConfigError: for anything else.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(name, f"`{text.strip()}` is not a number")
    return value
