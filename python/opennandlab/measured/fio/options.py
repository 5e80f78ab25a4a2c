"""What the options of a job say of its load; before fio 2.3 outputs do not have them.

Source: HOWTO of fio, the options `bs`, `bsrange`, `bssplit`, `rw`, `rwmixread`, `iodepth`,
`numjobs`, and their defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opennandlab.measured.fio.plain import changes

NUMBER = re.compile(r"(0x[0-9a-f]+|\d+)\s*([kmgtp]?)(i?b?)", re.IGNORECASE | re.ASCII)
# Powers of `kb_base`, and the units of each.
UNITS = ("", "k", "m", "g", "t", "p")
BASES = {"1024": 1024, "1000": 1000}
# `rw` of fio -> random, and percent of reads; None where `rwmixread` says.
KINDS: dict[str, tuple[bool, float | None]] = {
    "randread": (True, 100.0), "randwrite": (True, 0.0), "randrw": (True, None),
    "read": (False, 100.0), "write": (False, 0.0), "rw": (False, None), "readwrite": (False, None),
}  # fmt: skip
MIX_DEFAULT = 50.0
SIZE_DEFAULT = "4k"
COUNT_MAX = 1 << 20
# Engines whose requests go through the page cache unless `direct` is set.
CACHED = frozenset({"psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring",
                    "posixaio", "windowsaio", "solarisaio"})  # fmt: skip


@dataclass(frozen=True)
class Load:
    """A load as it was asked for; None for anything not given.

    Args:
        is_random: Whether requests are at random places.
        read_pct: Reads in percent of the requests.
        sizes: The smallest and the largest request in bytes.
        processes: Processes (`numjobs`).
        depth: Requests in flight of each (`iodepth`).
        rw: As it was written.
        limits: Why its figures are not those of the drive alone.
    """

    is_random: bool | None = None
    read_pct: float | None = None
    sizes: tuple[int, int] | None = None
    processes: int | None = None
    depth: int | None = None
    rw: str = ""
    limits: tuple[str, ...] = ()


def load(options: Mapping[str, str] | None) -> Load:
    """Return what options say, with the defaults of fio for what they leave out.

    Args:
        options: By name; None where fio wrote none.

    Raises:
        ValueError: for what is none of fio's, or no load of a test.
    """
    if options is None:
        return Load()
    rw = options.get("rw", options.get("readwrite", "read"))
    kind = rw.partition(":")[0]
    if kind not in KINDS:
        raise ValueError(f"rw `{kind}` is not a load of any test; accepted: {', '.join(KINDS)}")
    is_random, read_pct = KINDS[kind]
    depth = _count(options, "iodepth")
    kinds = {name for name, is_so in (("random", is_random), ("write", read_pct != 100)) if is_so}
    return Load(
        is_random=is_random,
        read_pct=_mix(options) if read_pct is None else read_pct,
        sizes=_sizes(options),
        processes=_count(options, "numjobs"),
        depth=depth,
        rw=rw,
        limits=(*_cache(options), *changes(options, rw, kinds, depth)),
    )


def _cache(options: Mapping[str, str]) -> Iterator[str]:
    """Yield that the requests of a job go through the page cache, where they do."""
    is_direct = (
        _is_on(options["direct"])
        if "direct" in options
        else not _is_on(options.get("buffered", "1"))
    )
    if not is_direct and options.get("ioengine", "psync") in CACHED:
        yield "direct is not set: the page cache of the host takes part"


def _is_on(value: str) -> bool:
    """Return whether an option is set, also by its name alone."""
    return value not in {"0", "false"}


def _mix(options: Mapping[str, str]) -> float:
    name = next((one for one in ("rwmixread", "rwmixwrite") if one in options), None)
    if name is None:
        return MIX_DEFAULT
    share = float(options[name])
    if not 0.0 <= share <= 100.0:
        raise ValueError(f"{name} {options[name]} is not a share; accepted: 0 to 100 percent")
    return share if name == "rwmixread" else 100.0 - share


def _sizes(options: Mapping[str, str]) -> tuple[int, int]:
    """Return the smallest and the largest request, of both directions."""
    name = next(
        (one for one in ("bssplit", "bsrange", "blocksize_range", "bs", "blocksize")
         if one in options), "bs",
    )  # fmt: skip
    text = options.get(name, SIZE_DEFAULT)
    if name == "bssplit":
        words = [entry.partition("/")[0] for entry in re.split("[,:]", text)]
    else:
        words = re.split("[,-]", text)
    base = _base(options, name)
    found = [number_of(word, base) for word in words if word.strip()]
    sizes = [size for size in found if size]
    if not sizes or len(sizes) < len(found):
        raise ValueError(f"{name} `{text}` is not a size; accepted: one such as 4k")
    return min(sizes), max(sizes)


def whole(digits: str) -> int:
    """Return a decimal or hexadecimal number; a leading 0 alone says nothing.

    >>> whole("0x10"), whole("010")
    (16, 10)
    """
    return int(digits, 16 if digits[:2].lower() == "0x" else 10)


def number_of(text: str, base: int = 1024) -> int | None:
    """Return a number as fio reads it, of bytes or others; None for what is none.

    With the usual `kb_base` of 1024 the units are not those of IEC 80000-13, but the opposite.

    >>> number_of("4k"), number_of("0x1000"), number_of("4KiB"), number_of("4ki"), number_of("x")
    (4096, 4096, 4000, 4096, None)
    >>> number_of("4k", 1000), number_of("4KiB", 1000)
    (4000, 4096)
    """
    found = NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    digits, unit, rest = (part.lower() for part in found.groups())
    number = whole(digits)
    factor = base if rest != "ib" else 1000 if base == 1024 else 1024
    for _ in range(UNITS.index(unit)):
        number *= factor
    return number


def _base(options: Mapping[str, str], name: str) -> int:
    """Return `kb_base` as it was when an option was read: fio has them in the order of reading."""
    names = list(options)
    if "kb_base" not in names or (name in names and names.index(name) < names.index("kb_base")):
        return 1024
    return BASES.get(options["kb_base"], 1024)


def _count(options: Mapping[str, str], name: str) -> int:
    text = options.get(name, "1")
    found = number_of(text, _base(options, name))
    if found is None or found > COUNT_MAX:
        raise ValueError(f"{name} {text} is out of range; accepted: 1 to {COUNT_MAX}")
    return max(1, found)
