"""SimpleSSD 2be3716: what becomes of its INI file, whose keys are in tables/simplessd.tsv.

Read from its source: `pal/config.cc`, `ftl/config.cc`, `icl/config.cc`, `hil/*/config.cc`,
`ftl/page_mapping.cc`. Times are picoseconds.
"""

from __future__ import annotations

import configparser
import re
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.mqsim_device import BITS, CACHE_PAGES_MAX, letters, order
from opennandlab.foreign.table import ABSENT, Entry, Found, Values, load

# Megatransfers are counted in 2^20 there.
MEGA = 1.048576
TECHNOLOGIES = ("SLC", "MLC", "TLC")
CACHES = {0: "clock", 1: "fifo", 2: "lru"}


def entries(text: str, origin: str) -> list[Entry]:
    """Return the keys of an INI text, `section.key` each.

    Raises:
        ConfigError: for another text than INI, with the line.
    """
    reader = configparser.ConfigParser(
        interpolation=None,
        inline_comment_prefixes=("#", ";"),
        default_section="\0",
        delimiters=("=",),
    )
    reader.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        reader.read_string(text, origin)
    except configparser.Error as error:
        line = getattr(error, "lineno", None)
        line = line or next((one for one, _ in getattr(error, "errors", [])), None)
        kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(error).__name__).lower()
        place = f"{origin}:{line}" if line else origin
        raise ConfigError(".", f"{place}: {kind}; accepted: sections of `key = value`") from error
    lines = _lines(text)
    return [
        Entry(f"{section}.{key}", value, f"{origin}:{lines.get((section, key), 0)}")
        for section in reader.sections()
        for key, value in reader.items(section)
    ]


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Return the line of each key."""
    found, section = {}, ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[(.*?)\]", line):
            section = head.group(1)
        elif key := re.match(r"\s*([^#;=\s][^=]*?)\s*=", line):
            found[section, key.group(1)] = number
    return found


def _flag(text: str) -> bool:
    """Read 0, 1, `true` or `false`."""
    if text.lower() in {"0", "1", "true", "false"}:
        return text.lower() in {"1", "true"}
    raise ValueError("0, 1, true or false")


def _times(values: Values, verb: str) -> Found:
    cells = TECHNOLOGIES[values["pal.NANDType"]]
    used = BITS[cells]
    found = [values[f"pal.{bit}{verb}"] / 1e6 for bit in used]
    if 0 in found:
        raise ConfigError(f"pal.{verb}", f"0 for a page of {cells}")
    unused = tuple(f"pal.{bit}{verb}" for bit in BITS["TLC"] if bit not in used)
    return Found(found, note="of the page types of the cells", unused=unused)


def _bus(values: Values) -> Found:
    width = values["pal.DMAWidth"]
    if width % 8:
        raise ConfigError("pal.DMAWidth", f"`{width}`; accepted: a multiple of 8")
    rate = values["pal.DMASpeed"] * width / 8
    return Found(rate, rate * MEGA, note="speed x width / 8; a mega is 2^20 there")


def _scheme(values: Values) -> Found:
    joined = values["pal.EnableMultiPlaneOperation"]
    scheme = order("pal.PageAllocation", values.get("pal.PageAllocation", ""))
    counts = {"W": values["pal.Package"], "D": values["pal.Die"]}
    found = letters("P" + scheme.replace("P", "") if joined else scheme, counts)
    block = values["pal.SuperblockSize"].upper()
    dies = 1
    for letter, count in (counts | {"C": values["pal.Channel"]}).items():
        dies *= count if letter in block else 1
    if dies == 1:
        return found
    if values["pal.Plane"] > 1 and not joined:
        note = f"superblocks ({block}) need planes that work together here"
        return Found(found.written, kind="approximated", note=note)
    note = f"a superblock of {dies} dies ({block})"
    return Found({"kind": "superblock", "dies": dies}, kind="approximated", note=note)


def _reserve(values: Values) -> Found:
    blocks = values["pal.Channel"] * values["pal.Package"] * values["pal.Die"]
    joined = values["pal.EnableMultiPlaneOperation"]
    blocks *= values["pal.Block"] * (1 if joined else values["pal.Plane"])
    count = int(values["ftl.GCThreshold"] * blocks)
    return Found(count, note=f"of {blocks} blocks" + (", planes joined" if joined else ""))


def _cache(values: Values, verb: str) -> Found:
    planes = values["pal.Plane"] if values["pal.EnableMultiPlaneOperation"] else 1
    pages = int(values["icl.CacheSize"] // (values["pal.PageSize"] * planes)) * planes
    if not values[f"icl.Enable{verb}Cache"] or pages == 0:
        return Found(ABSENT, kind="exact", note="off")
    found = {"pages": min(pages, CACHE_PAGES_MAX), "policy": CACHES[values["icl.EvictPolicy"]]}
    return Found(found | ({"mode": "write_back"} if verb == "Write" else {}))


def _drawn(values: Values) -> dict[str, Any]:
    return {"kind": "d_choices", "d": values["ftl.DChoiceParam"] * values["ftl.GCReclaimBlocks"]}


def _sata(values: Values) -> str:
    return f"sata{values['sata.SATAMode'] + 1}"


def _pcie(values: Values) -> str:
    lanes = values["nvme.PCIELane"]
    if lanes not in {1, 2, 4, 8}:
        raise ConfigError("nvme.PCIELane", f"`{lanes}`; accepted: 1, 2, 4, 8")
    return f"pcie{values['nvme.PCIEGeneration'] + 1}x{lanes}"


TABLE = load(globals(), "simplessd", "common")
