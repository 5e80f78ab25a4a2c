"""Units: those that the names of keys of device and workload files state, and those of sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from opennandlab.base.errors import ConfigError

# Suffix of a key -> unit shown; `_pct` keys hold ratios, as the benchmark page writes them.
UNITS = {
    "_us": "µs",
    "_us_per_block": "µs",
    ".t_read_us": "µs, by page type",
    "command_cost_us.flush": "µs",
    "command_cost_us.read": "µs",
    "command_cost_us.trim": "µs",
    "command_cost_us.write": "µs",
    "mb_s": "MB/s",
    "_gb_s": "GB/s",
    "_iops": "commands/s",
    "_stddev": "of the mean",
    "_factor": "factor",
    "_slope": "per life",
    "_count_max": "times",
    "blocks_goal": "blocks",
    "reads_per_suspend_max": "reads",
    "_cache.pages": "pages",
    "cores": "cores",
    "queues": "queues",
    "stripe": "pages",
    "_bytes": "B",
    "_bytes_max": "B",
    "_mt_s": "MT/s",
    "_ratio": "ratio",
    "_pct": "ratio",
    "rber_floor": "errors per bit",
    "rber_ceil": "errors per bit",
    "_cycles": "erases",
    "_pages": "pages",
    "_blocks": "blocks",
    "_depth_max": "commands",
    "bch_t": "bits per codeword",
    "strength": "bits per codeword",
    "channels": "channels",
    "_per_channel": "dies",
    "_per_die": "planes",
    "_per_plane": "blocks",
    "_per_block": "pages",
}


def unit(path: str, value: object = None) -> str:
    """Return the unit that the name of a key states; empty for a word.

    >>> unit("nand.timing.t_erase_us"), unit("ftl.gc_policy.kind", "greedy")
    ('µs', '')
    """
    if isinstance(value, str):
        return ""
    return next((text for suffix, text in UNITS.items() if path.endswith(suffix)), "")


def kib(block_bytes: int) -> str:
    """Return a block size in KiB without unit.

    >>> kib(512), kib(1 << 20)
    ('0.5', '1024')
    """
    return f"{block_bytes / 1024:g}"


def mix(read_pct: float) -> str:
    """Return reads and writes in percent.

    >>> mix(65)
    '65/35'
    """
    return f"{read_pct:g}/{100 - read_pct:g}"


# Units of a size as in device files: those of IEC 80000-13, and decimal ones.
SIZES = {
    "": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
}  # fmt: skip
# The largest offset of a file: 63 bits.
BYTES_MAX = (1 << 63) - 1


def parse_bytes(text: str) -> int:
    """Return bytes of `8GiB`, `512MiB`, `1TB` or `4096`.

    Raises:
        ConfigError: for anything else.

    >>> parse_bytes("1.5KiB"), parse_bytes("1.5kB")
    (1536, 1500)
    """
    size = size_in(text.strip(), SIZES)
    if size is None:
        units = ", ".join(unit for unit in SIZES if unit)
        raise ConfigError("size", f"`{text}` is not understood; accepted: a number and {units}")
    if size > BYTES_MAX:
        raise ConfigError("size", f"`{text}` is more than a file or drive can have (8 EiB)")
    return int(size)


def size_in(text: str, units: Mapping[str, int]) -> Decimal | None:
    """Return bytes of a number with one of some units; None for another text.

    Exact, whatever the number of digits: a float has room for 16 of them. What fio writes is read
    by `measured.fio.options.number_of`: its units are not those of the standard.

    Args:
        text: The number, and a unit after it.
        units: Bytes of each unit; the empty one is that of a bare number.

    >>> size_in("4.5 k", {"k": 1024}), size_in("4", {"k": 1024})
    (Decimal('4608.0'), None)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if found is None or found[2] not in units:
        return None
    return Decimal(found[1]) * units[found[2]]
