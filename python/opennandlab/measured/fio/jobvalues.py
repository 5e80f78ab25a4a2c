"""Values of options of fio: each function takes a text and returns its meaning.

One that fio would not take raises `ValueError` with the accepted ones. Lists of directions are
read, write, trim: `a` is for all three, `a,b` for reads and for the others, and an empty value
keeps the default, which is None here.

Source: `parse.c`, `options.c`, HOWTO of fio 3.42.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from opennandlab.measured.fio.options import number_of
from opennandlab.measured.fio.times import TIME, UNITS_S

Value = TypeVar("Value")
Parse = Callable[[str], Any]
DIRECTIONS = 3
SPLITS_MAX = 256
NUMBER_MAX = 1 << 62
DAY_NS = 86_400 * 10**9
PERCENTILES_MAX = 20
TRUE, FALSE = frozenset({"1", "true"}), frozenset({"0", "false"})


@dataclass(frozen=True)
class Size:
    """Bytes, or percent of the file."""

    bytes: int
    percent: int | None = None

    def of(self, whole: int) -> int:
        """Return the bytes of a file."""
        return self.bytes if self.percent is None else whole * self.percent // 100


def flag(text: str) -> bool:
    """Return whether an option is on."""
    if text.lower() in TRUE | FALSE:
        return text.lower() in TRUE
    raise ValueError("0 or 1")


def number(text: str, base: int = 1024) -> int:
    """Return bytes or a count."""
    found = number_of(text, base)
    if found is None or found > NUMBER_MAX:
        raise ValueError("a number such as 4k, 1g or 0x1000")
    return found


def signed(text: str) -> int:
    """Return a number that may be below 0."""
    return -number(text[1:]) if text.startswith("-") else number(text)


def size(text: str) -> Size:
    """Return bytes or a share.

    >>> size("20%"), size("1m")
    (Size(bytes=0, percent=20), Size(bytes=1048576, percent=None))
    """
    if text.endswith("%"):
        # fio takes `100%%` too, as some templates have it.
        share = number_of(text.rstrip("%"))
        if share is None or not 0 <= share <= 100:
            raise ValueError("0% to 100%")
        return Size(0, share)
    if text.endswith("z"):
        raise ValueError("bytes or percent, not zones")
    return Size(number(text))


def time(unit_s: float) -> Parse:
    """Return a reader of times, in ns, whose numbers alone are in a unit.

    >>> time(1.0)("5"), time(1e-6)("5"), time(1.0)("2m"), time(1.0)("100ms")
    (5000000000, 5000, 120000000000, 100000000)
    """

    def read(text: str) -> int:
        found = TIME.fullmatch(text)
        name = found[2].lower() if found else ""
        if found is None or name not in {*UNITS_S, "ms", "msec", "us", "usec"}:
            raise ValueError("a time such as 30s, 5m or 100ms")
        ns = _ns(found[1], name, unit_s)
        if ns > NUMBER_MAX:
            raise ValueError(f"a time up to {NUMBER_MAX // DAY_NS}d")
        return ns

    return read


def _ns(digits: str, name: str, unit_s: float) -> int:
    """Return a number of a unit in ns, whole ones exactly."""
    count = int(digits, 0 if digits[:2].lower() == "0x" else 10)
    if name.startswith(("ms", "us")):
        return count * (1_000_000 if name.startswith("ms") else 1000)
    return count * round((UNITS_S[name] if name else unit_s) * 1e9)


def within(parse: Callable[[str], int], least: int, most: int) -> Parse:
    """Return a reader of numbers between two."""

    def read(text: str) -> int:
        found = parse(text)
        if not least <= found <= most:
            raise ValueError(f"{least} to {most}")
        return found

    return read


def word(*names: str) -> Parse:
    """Return a reader of one of some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(", ".join(names))
        return text

    return read


def text(value: str) -> str:
    """Return a text as it is."""
    return value


def directions(parse: Callable[[str], Value]) -> Callable[[str], list[Value | None]]:
    """Return a reader of up to three values.

    >>> directions(number)("8k"), directions(number)(",4k"), directions(number)("1,2,")
    ([8192, 8192, 8192], [None, 4096, 4096], [1, 2, None])
    """

    def read(text: str) -> list[Value | None]:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > DIRECTIONS or not any(parts):
            raise ValueError("one to three values: read,write,trim")
        found = [parse(part) if part else None for part in parts]
        return found + [found[-1]] * (DIRECTIONS - len(found))

    return read


def span(text: str) -> tuple[int, int]:
    """Return the smallest and the largest of a range.

    >>> span("4k-16k"), span("4k")
    ((4096, 16384), (4096, 4096))
    """
    parts = [number(part) for part in re.split("[-:]", text)]
    if len(parts) > 2 or parts[0] > parts[-1] or not parts[0]:
        raise ValueError("a range such as 4k-64k")
    return parts[0], parts[-1]


def _pairs(text: str, value: Callable[[str], Value]) -> list[tuple[Value, int | None]]:
    """Return entries `a/b`, where `b` may be missing."""
    entries = text.split(":")
    if len(entries) > SPLITS_MAX:
        raise ValueError(f"up to {SPLITS_MAX} entries")
    found = []
    for entry in entries:
        head, has_share, share = entry.partition("/")
        found.append((value(head), within(number, 0, 100)(share) if has_share and share else None))
    return found


def split(text: str) -> list[tuple[int, int]]:
    """Return sizes and their shares in percent; those without one share the rest.

    >>> split("4k/60:16k/40"), split("4k/50:8k:16k")
    ([(4096, 60), (16384, 40)], [(4096, 50), (8192, 25), (16384, 25)])
    """
    found = _pairs(text, within(number, 1, NUMBER_MAX))
    given = sum(share for _, share in found if share is not None)
    missing = sum(share is None for _, share in found)
    if given > 100:
        raise ValueError(f"shares that sum to 100 % at most, not {given} %")
    rest = (100 - given) // missing if missing else 0
    shares = [(bytes_, rest if share is None else share) for bytes_, share in found]
    return sorted(shares, key=lambda one: -one[1]) if not missing else shares


@dataclass(frozen=True)
class Places:
    """Where random requests go.

    Args:
        law: `random`, `zipf`, `pareto`, `normal`, `zoned` or `zoned_abs`.
        value: Its parameter.
        center: Where its middle is, 0 to 1.
        zones: Percent of the requests, and the size, in percent or in bytes, by direction.
    """

    law: str
    value: float = 0.0
    center: float | None = None
    zones: Sequence[Sequence[tuple[int, int]]] = ()


LAWS = "random, zipf:theta, pareto:h, normal:deviation, zoned:share/size:…, zoned_abs:share/size:…"


def places(text: str) -> Places:
    """Return a `random_distribution`.

    >>> places("zipf:1.2"), places("zoned:60/10:40/90").zones[0]
    (Places(law='zipf', value=1.2, center=None, zones=()), [(60, 10), (40, 90)])
    """
    law, _, rest = text.partition(":")
    if law == "random" and not rest:
        return Places("random")
    if law in {"zoned", "zoned_abs"}:
        zones = directions(_zones(law))(rest)
        return Places(law, zones=[one or [] for one in zones])
    if law == "gauss":
        law = "normal"
    limits = {"zipf": (0.0, 10.0), "pareto": (0.0, 1.0), "normal": (-1e-9, 100.0)}
    if law not in limits:
        raise ValueError(LAWS)
    parts = rest.split(":") if rest else [{"zipf": "1.1", "pareto": "0.2", "normal": "0"}[law]]
    values = [_float(part) for part in parts]
    low, high = limits[law]
    if len(values) > 2 or not low < values[0] <= high or (law == "pareto" and values[0] == 1.0):
        raise ValueError(f"{law} above {max(low, 0.0):g}, up to {high:g}")
    if law == "zipf" and values[0] == 1.0:
        raise ValueError("zipf with a theta that differs from 1")
    center = values[1] if len(values) > 1 else None
    if center is not None and not 0.0 <= center <= 1.0:
        raise ValueError("a center from 0 to 1")
    return Places(law, values[0], center)


def _zones(law: str) -> Callable[[str], list[tuple[int, int]]]:
    def read(text: str) -> list[tuple[int, int]]:
        """Return shares of requests and sizes; the rest goes to those that are missing."""
        most = NUMBER_MAX if law == "zoned_abs" else 100
        rows = [entry.partition("/")[::2] for entry in text.split(":")]
        shares = _filled([share for share, _ in rows], 100)
        extents = _filled([extent for _, extent in rows], most)
        found = list(zip(shares, extents, strict=True))
        if len(found) > SPLITS_MAX or sum(share for share, _ in found) > 100:
            raise ValueError("shares of requests that sum to 100 % at most")
        if law == "zoned" and sum(extent for _, extent in found) > 100:
            raise ValueError("shares of the range that sum to 100 % at most")
        return found

    return read


def _filled(texts: Sequence[str], most: int) -> list[int]:
    """Return numbers; those that are missing share what the others leave of 100."""
    given = [within(number, 0, most)(text) if text else None for text in texts]
    missing = given.count(None)
    left = max(100 - sum(one for one in given if one is not None), 0)
    return [left // missing if one is None else one for one in given]


def _float(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError("a number such as 0.5")
    return found


def floats(text: str) -> list[float]:
    """Return percentiles.

    >>> floats("50:99.9")
    [50.0, 99.9]
    """
    found = [_float(part) for part in text.split(":")]
    if len(found) > PERCENTILES_MAX or not all(0.0 < one <= 100.0 for one in found):
        raise ValueError(f"up to {PERCENTILES_MAX} percentages above 0, such as 50:99.9")
    return found


def ids(text: str) -> list[int]:
    """Return a list of numbers and ranges.

    >>> ids("0,2-4")
    [0, 2, 3, 4]
    """
    found: list[int] = []
    for part in re.split("[,:]", text):
        first, is_range, last = part.partition("-")
        low = within(number, 0, 255)(first)
        high = within(number, low, 255)(last) if is_range else low
        found.extend(range(low, high + 1))
    return found


MODES = ("read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "readwrite", "randrw",
         "trimwrite", "randtrimwrite")  # fmt: skip


def mode(text: str) -> tuple[str, str]:
    """Return the directions of `rw`, and the text behind its colon.

    >>> mode("write:4k"), mode("randread:8")
    (('write', '4k'), ('randread', '8'))
    """
    name, _, rest = text.partition(":")
    if name not in MODES:
        raise ValueError(", ".join(MODES))
    if rest:
        signed(rest) if "rand" not in name else within(number, 1, 1 << 20)(rest)
    return name, rest


def criterion(text: str) -> tuple[str, float, bool]:
    """Return what a steady state is of, its limit, and whether that is in percent.

    >>> criterion("iops_slope:0.3%")
    ('iops_slope', 0.3, True)
    """
    name, _, rest = text.partition(":")
    if name not in {"iops", "bw", "lat", "iops_slope", "bw_slope", "lat_slope"} or not rest:
        raise ValueError("iops, bw or lat, with or without _slope, and a limit: iops:2%")
    is_percent = rest.endswith("%")
    limit = _float(rest.rstrip("%"))
    if limit < 0.0:
        raise ValueError("a limit that is not below 0")
    return name, limit, is_percent
