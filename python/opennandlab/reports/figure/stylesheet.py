"""Style files of users: lines `key: value` as style sheets of matplotlib have them.

Only keys that change how letters, lines and frames look are accepted, each checked by matplotlib's
own rule for it. Keys that would run, read or write something are not among them; the colours of
series are not either, since they name the policy of a line.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.hints import nearest
from opennandlab.reports.figure.static import FONT

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES_MAX = 64 * 1024
KEYS = (
    "font.family", "font.serif", "font.sans-serif", "font.monospace", "font.size", "font.weight",
    "font.style", "font.variant", "font.stretch", "text.color", "mathtext.fontset",
    "axes.edgecolor", "axes.facecolor", "axes.labelcolor", "axes.labelpad", "axes.labelsize",
    "axes.labelweight", "axes.linewidth", "axes.spines.bottom", "axes.spines.left",
    "axes.spines.right", "axes.spines.top", "figure.facecolor", "grid.alpha", "grid.color",
    "grid.linestyle", "grid.linewidth", "legend.columnspacing", "legend.edgecolor",
    "legend.facecolor", "legend.fontsize", "legend.framealpha", "legend.frameon",
    "legend.handlelength", "legend.labelspacing", "lines.linewidth", "lines.markersize",
    "lines.markeredgewidth", "patch.linewidth", "savefig.facecolor", "svg.fonttype",
    *(f"{axis}tick.{part}" for axis in "xy" for part in (
        "color", "direction", "labelcolor", "labelsize", "major.pad", "major.size", "major.width",
        "minor.size", "minor.width",
    )),
)  # fmt: skip
WHY = {
    "axes.prop_cycle": "colours belong to what is drawn: a policy has the same in each figure",
    "figure.figsize": "the size is that of the page",
    "pdf.fonttype": "fonts are embedded as Type 42",
    "text.usetex": "no other program is run",
}
FAMILIES = {"serif", "sans-serif", "monospace", "cursive", "fantasy"}
# Fonts in place of missing ones; these come with the library.
USUAL = {"font.serif": "DejaVu Serif", "font.monospace": "DejaVu Sans Mono"}
# Points of the smallest letters that print, and of the largest number that is no mistake.
LEAST, MOST = 7.0, 72.0


def read(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings of a style file, and remarks on it.

    Raises:
        ConfigError: for a file that cannot be read, and for a line that is not accepted.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(BYTES_MAX + 1)
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError("style", f"cannot read {path}: {reason}") from None
    if len(raw) > BYTES_MAX:
        raise ConfigError("style", f"{path} is larger than {BYTES_MAX // 1024} KiB")
    looks: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), 1):
        # A colour such as "#336699" in quotes is no comment.
        bare = _uncommented(line).strip()
        if bare:
            key, value = _setting(bare, f"{path}:{number}")
            looks[key] = value
    return looks, tuple(_notes(looks))


def _uncommented(line: str) -> str:
    quote = ""
    for at, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#":
            return line[:at]
    return line


def _setting(line: str, where: str) -> tuple[str, Any]:
    import matplotlib as mpl

    key, colon, text = (part.strip() for part in line.partition(":"))
    if not colon:
        raise ConfigError("style", f"{where}: `{line[:60]}` is refused; accepted: key: value")
    if key not in KEYS:
        near = nearest(key, list(KEYS))
        meant = f"; did you mean `{near}`?" if near else ""
        why = WHY.get(key, "no key of the looks of a figure")
        accepted = ", ".join(KEYS)
        raise ConfigError("style", f"{where}: `{key[:60]}`: {why}; accepted: {accepted}{meant}")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    try:
        value = mpl.rcParams.validate[key](text)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise ConfigError("style", f"{where}: `{key}: {text[:60]}`: {error}") from None
    if isinstance(value, float) and not (math.isfinite(value) and 0 <= value <= MOST):
        raise ConfigError("style", f"{where}: `{key}: {text[:60]}`; accepted: 0 to {MOST:g}")
    return key, value


def _notes(looks: dict[str, Any]) -> Iterator[str]:
    """Yield fonts that do not exist, and letters too small for print; use fonts that are."""
    from matplotlib import font_manager

    known = {font.name.lower() for font in font_manager.fontManager.ttflist}
    for key in ("font.family", "font.serif", "font.sans-serif", "font.monospace"):
        named = [name for name in looks.get(key, ()) if name.lower() not in FAMILIES]
        missing = [name for name in named if name.lower() not in known]
        if missing:
            rest = [name for name in looks[key] if name not in missing]
            looks[key] = rest or [USUAL.get(key, "DejaVu Sans")]
            names = ", ".join(f"`{name}`" for name in missing)
            yield f"{key}: no font {names} on this machine; drawn in `{looks[key][0]}`"
    base = looks.get("font.size", FONT)
    for key in ("font.size", "axes.labelsize", "legend.fontsize", "xtick.labelsize",
                "ytick.labelsize"):  # fmt: skip
        size = looks.get(key)
        points = base * font_manager.font_scalings[size] if isinstance(size, str) else size
        if points is not None and points < LEAST:
            yield f"{key}: letters of {points:.3g} pt; print wants at least {LEAST:g}"
