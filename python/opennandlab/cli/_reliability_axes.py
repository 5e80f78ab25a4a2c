"""Lists of stresses, as `reliability` takes them, and all their combinations."""

from typing import TYPE_CHECKING

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.core.config import DeviceConfig

# More points than a person reads or a page draws.
POINTS_MAX = 100_000


def numbers(option: str, text: str) -> list[float]:
    """Read `1,2,3` or `from:to:count`, evenly spaced.

    >>> numbers("pe", "0:1000:3"), numbers("pe", "0,720")
    ([0.0, 500.0, 1000.0], [0.0, 720.0])
    """
    from opennandlab.base.errors import ConfigError

    accepted = "accepted: numbers with commas between them, or FROM:TO:COUNT"
    try:
        if ":" in text:
            first, last, count_text = text.split(":")
            count = int(count_text)
            if not 2 <= count <= POINTS_MAX:
                raise ConfigError(option, f"{count} points; accepted: 2 to {POINTS_MAX}")
            low, high = float(first), float(last)
            return [low + (high - low) * index / (count - 1) for index in range(count)]
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ConfigError(option, f"`{text}` is not a list of numbers; {accepted}") from error


def points(axes: dict[str, list[float]], pages: int) -> list[dict[str, float]]:
    """Return every combination of stresses, by name; refuse too many, each on so many pages."""
    from itertools import product
    from math import prod

    from opennandlab.base.errors import ConfigError

    count = prod(len(values) for values in axes.values()) * pages
    if count > POINTS_MAX:
        raise ConfigError(".", f"{count} combinations; accepted: at most {POINTS_MAX}")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def warn_of_stress(
    device: "DeviceConfig | None", axes: dict[str, list[float]], *, quiet: bool
) -> None:
    """Say where `--set nand.stress` is another stress than the one that is asked for."""
    from opennandlab.core.by_hand import overruled

    if device is None or quiet:
        return
    keys = ("retention_h", "temperature_c", "reads")
    asked = {key: axes[key][0] if len(axes[key]) == 1 else axes[key] for key in keys}
    stress = {**(device.to_dict()["nand"].get("stress") or {}), **asked}
    by = {"nand": {**device.to_dict()["nand"], "stress": stress}}
    for text in overruled(device, by, "--retention-h, --temperature-c and --reads say it"):
        terminal.note(f"warning: {text}", style="yellow")
