"""SimpleSSD 2be3716: its INI file, key by key.

Read from its source: `pal/config.cc`, `ftl/config.cc`, `icl/config.cc`, `hil/*/config.cc`,
`ftl/page_mapping.cc`. Times are picoseconds.
"""

from __future__ import annotations

import configparser
import re
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.mqsim_device import BITS, letters
from opennandlab.foreign.table import (
    ABSENT,
    ERROR_FREE,
    Entry,
    Field,
    Found,
    Rule,
    Values,
    decimal,
    plain,
    whole,
)

SECTIONS = ("cpu", "nvme", "ufs", "sata", "pal", "ftl", "icl", "dram")
# Megatransfers are counted in 2^20 there.
MEGA = 1.048576
TECHNOLOGIES = ("SLC", "MLC", "TLC")
COUNT = whole(1, 1 << 20)
TIME = whole(0, 10**15)


def entries(text: str, origin: str) -> list[Entry]:
    """Return the keys of an INI text, `section/key` each.

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
    found = []
    for section in reader.sections():
        for key, value in reader.items(section):
            place = f"{origin}:{lines.get((section, key), 0)}"
            found.append(Entry(f"{section}.{key}", value, place))
    return found


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Return the line of each key."""
    found, section = {}, ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[(.*?)\]", line):
            section = head.group(1)
        elif key := re.match(r"\s*([^#;=\s][^=]*?)\s*=", line):
            found[section, key.group(1)] = number
    return found


def flag(text: str) -> bool:
    """Read 0, 1, `true` or `false`.

    Raises:
        ValueError: for anything else.
    """
    if text.lower() in {"0", "1", "true", "false"}:
        return text.lower() in {"1", "true"}
    raise ValueError("0, 1, true or false")


FIELDS = {
    "pal.Channel": Field("", COUNT, 8),
    "pal.Package": Field("", COUNT, 4),
    "pal.Die": Field("", COUNT, 2),
    "pal.Plane": Field("", COUNT, 1),
    "pal.Block": Field("", COUNT, 512),
    "pal.Page": Field("", COUNT, 512),
    "pal.PageSize": Field("B", whole(512, 1 << 20), 16384),
    "pal.EnableMultiPlaneOperation": Field("", flag, default=True),
    "pal.NANDType": Field("", whole(0, 2), 1),
    **{
        f"pal.{bit}{verb}": Field("ps", TIME, default)
        for verb, times in (
            ("Read", (40_000_000, 0, 65_000_000)),
            ("Write", (500_000_000, 0, 1_300_000_000)),
        )
        for bit, default in zip(("LSB", "CSB", "MSB"), times, strict=True)
    },
    "pal.Erase": Field("ps", TIME, 3_500_000_000),
    "pal.DMASpeed": Field("MT/s", whole(1, 1_000_000), 400),
    "pal.DMAWidth": Field("bit", whole(8, 1024), 8),
    "pal.SuperblockSize": Field("", plain, ""),
    "pal.PageAllocation": Field("", plain),
    **{
        f"pal.{name}": Field("", plain)
        for name in (
            "Voltage", "ReadCurrent", "ProgramCurrent", "EraseCurrent", "IdleCurrent",
            "StandbyCurrent",
        )
    },
    "ftl.MappingMode": Field("", whole(0, 0), 0),
    "ftl.OverProvisioningRatio": Field("of all", decimal(0, 0.8, above=True), 0.25),
    "ftl.EraseThreshold": Field("erases", whole(1, 2**32 - 1), 100_000),
    "ftl.FillingMode": Field("", whole(0, 2)),
    "ftl.FillRatio": Field("", decimal(0, 1), 0.0),
    "ftl.InvalidPageRatio": Field("", decimal(0, 1), 0.0),
    "ftl.EvictPolicy": Field("", whole(0, 3), 0),
    "ftl.DChoiceParam": Field("", whole(1, 10_000), 3),
    "ftl.GCThreshold": Field("of the blocks", decimal(0, 1), 0.05),
    "ftl.GCMode": Field("", whole(0, 1), 0),
    "ftl.GCReclaimBlocks": Field("blocks", whole(1, 10_000), 1),
    "ftl.GCReclaimThreshold": Field("of the blocks", decimal(0, 1), 0.1),
    "ftl.EnableRandomIOTweak": Field("", flag),
    "icl.CacheSize": Field("B", whole(0, 2**40), 33_554_432),
    "icl.EnableReadCache": Field("", flag, default=False),
    "icl.EnableWriteCache": Field("", flag, default=True),
    "icl.EnableReadPrefetch": Field("", flag, default=False),
    "icl.EvictPolicy": Field("", whole(0, 2), 2),
    **{
        f"icl.{name}": Field("", plain)
        for name in (
            "CacheWaySize", "ReadPrefetchMode", "ReadPrefetchCount", "ReadPrefetchRatio",
            "EvictMode", "CacheLatency",
        )
    },
    "nvme.PCIEGeneration": Field("", whole(0, 2), 2),
    "nvme.PCIELane": Field("lanes", whole(1, 32), 4),
    "sata.SATAMode": Field("", whole(0, 2), 2),
}  # fmt: skip
# Keys of these sections have no key here.
SILENT = re.compile(
    r"(cpu|dram|ufs)\..+|(nvme|sata)\.(AXI\w+|\w*Image\w*|WorkInterval|FIFOTransferUnit|"
    r"MaxRequestCount|MaxIO[CS]Queue|WRR\w+|DefaultNamespace|LBASize|StrictSizeCheck|"
    r"UseCopyOnWriteDisk)|sata\.PCIE\w+"
)
QUIET = re.compile(r"\w+\.(\w*Image\w*|LBASize|StrictSizeCheck|UseCopyOnWriteDisk)|ufs\..+")
POLICIES = {0: "greedy", 1: "cost_benefit", 2: "random"}
CACHES = {0: "clock", 1: "fifo", 2: "lru"}


def with_silent(fields: dict[str, Field], given: list[Entry]) -> dict[str, Field]:
    """Return fields with those of a file that have no key here."""
    more = {one.name: Field("", plain) for one in given if SILENT.fullmatch(one.name)}
    return more | fields


def silent_rules(given: list[Entry], unused: str) -> list[Rule]:
    """Return the rules of keys that have none here.

    Args:
        given: Keys of the file.
        unused: Section of the interface that the drive does not have.
    """
    names = sorted({one.name for one in given if SILENT.fullmatch(one.name)} - set(FIELDS))
    loud = {
        name for name in names if not QUIET.fullmatch(name) and name.partition(".")[0] != unused
    }
    return [Rule(name, "", "dropped", "not here", figures=name in loud) for name in names]


def _same(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: values[name]


def technology(values: Values) -> str:
    """Return the cells."""
    return TECHNOLOGIES[values["pal.NANDType"]]


def _times(verb: str) -> Any:  # noqa: ANN401 (a rule)
    def take(values: Values) -> Found:
        found = [values[f"pal.{bit}{verb}"] / 1e6 for bit in BITS[technology(values)]]
        if 0 in found:
            raise ConfigError(f"pal.{verb}", f"0 for a page of {technology(values)}")
        used = BITS[technology(values)]
        unused = tuple(f"pal.{bit}{verb}" for bit in BITS["TLC"] if bit not in used)
        return Found(found, note="of the page types of the cells", unused=unused)

    return take


def _bus(values: Values) -> Found:
    width = values["pal.DMAWidth"]
    if width % 8:
        raise ConfigError("pal.DMAWidth", f"`{width}`; accepted: a multiple of 8")
    rate = values["pal.DMASpeed"] * width / 8
    return Found(rate, rate * MEGA, note="speed x width / 8; a mega is 2^20 there")


def _multi_plane(values: Values) -> Found:
    if not values["pal.EnableMultiPlaneOperation"] or values["pal.Plane"] == 1:
        return Found(written=False, kind="exact", note="one plane, or off")
    return Found(written=True)


def _scheme(values: Values) -> Found:
    scheme = values.get("pal.PageAllocation", "").upper()
    if sorted(scheme) != list("CDPW"):
        message = f"`{scheme}`; accepted: an order of the letters C, W, D and P"
        raise ConfigError("pal.PageAllocation", message)
    if values["pal.EnableMultiPlaneOperation"]:
        scheme = "P" + scheme.replace("P", "")
    counts = {"W": values["pal.Package"], "D": values["pal.Die"]}
    block = values["pal.SuperblockSize"].upper()
    sizes = counts | {"C": values["pal.Channel"]}
    dies = 1
    for letter in set(block) & set(sizes):
        dies *= sizes[letter]
    if dies == 1:
        return letters(scheme, counts)
    if values["pal.Plane"] > 1 and not values["pal.EnableMultiPlaneOperation"]:
        note = f"superblocks ({block}) need planes that work together here"
        return Found(letters(scheme, counts).written, kind="approximated", note=note)
    note = f"a superblock of {dies} dies ({block})"
    return Found({"kind": "superblock", "dies": dies}, kind="approximated", note=note)


def _spare(values: Values) -> Any:  # noqa: ANN401 (a rule)
    ratio = values["ftl.OverProvisioningRatio"]
    return ratio / (1 - ratio)


def _reserve(values: Values) -> Found:
    blocks = values["pal.Channel"] * values["pal.Package"] * values["pal.Die"]
    joined = values["pal.EnableMultiPlaneOperation"]
    blocks *= values["pal.Block"] * (1 if joined else values["pal.Plane"])
    count = int(values["ftl.GCThreshold"] * blocks)
    return Found(count, note=f"of {blocks} blocks" + (", planes joined" if joined else ""))


def _victim(values: Values) -> Found:
    policy = values["ftl.EvictPolicy"]
    if policy == 3:
        drawn = values["ftl.DChoiceParam"] * values["ftl.GCReclaimBlocks"]
        note = "the parameter x blocks to reclaim"
        return Found({"kind": "d_choices", "d": drawn}, kind="converted", note=note)
    return Found(POLICIES[policy])


def _choice(values: Values) -> Found:
    if values["ftl.EvictPolicy"] == 3:
        return Found(note="in ftl.gc_policy")
    return Found(kind="unread", note="of EvictPolicy 3 alone")


def _at_once(values: Values) -> Found:
    if values["ftl.GCMode"] == 0 and values["ftl.GCReclaimBlocks"] == 1:
        return Found(kind="exact", note="one block at a time")
    return Found(kind="dropped", note="one block at a time here", figures=True)


def _fill(values: Values) -> Found:
    fills = values["ftl.FillRatio"] > 0 or values["ftl.InvalidPageRatio"] > 0
    note = "a step of a workload here: precondition: [{kind: sequential_fill}]"
    return Found(note=note, figures=fills)


def _pages(values: Values) -> int:
    planes = values["pal.Plane"] if values["pal.EnableMultiPlaneOperation"] else 1
    return int(values["icl.CacheSize"] // (values["pal.PageSize"] * planes)) * planes


def _write_cache(values: Values) -> Found:
    pages = _pages(values)
    if not values["icl.EnableWriteCache"] or pages == 0:
        return Found(ABSENT, kind="exact", note="off")
    policy = CACHES[values["icl.EvictPolicy"]]
    return Found({"pages": min(pages, 1 << 24), "policy": policy, "mode": "write_back"})


def _read_cache(values: Values) -> Found:
    pages = _pages(values)
    if not values["icl.EnableReadCache"] or pages == 0:
        return Found(ABSENT, kind="exact", note="off")
    return Found({"pages": min(pages, 1 << 24), "policy": CACHES[values["icl.EvictPolicy"]]})


def _link(values: Values) -> Found:
    if values["has_sata"]:
        return Found(f"sata{values['sata.SATAMode'] + 1}")
    lanes = values["nvme.PCIELane"]
    if lanes not in {1, 2, 4, 8}:
        raise ConfigError("nvme.PCIELane", f"`{lanes}`; accepted: 1, 2, 4, 8")
    return Found(f"pcie{values['nvme.PCIEGeneration'] + 1}x{lanes}")


def _only(section: str) -> Any:  # noqa: ANN401 (a rule)
    def take(values: Values) -> Found:
        if values["has_sata"] == (section == "sata"):
            return Found(note="in host.link")
        return Found(kind="unread", note="the drive is of the other interface")

    return take


def _prefetch(values: Values) -> Found:
    return Found(figures=values["icl.EnableReadPrefetch"])


RULES = (
    Rule("pal.Channel", "nand.channels", "exact", value=_same("pal.Channel")),
    Rule("pal.Package pal.Die", "nand.dies_per_channel", "converted", "product",
         lambda values: values["pal.Package"] * values["pal.Die"]),
    Rule("pal.Plane", "nand.planes_per_die", "exact", value=_same("pal.Plane")),
    Rule("pal.Block", "nand.blocks_per_plane", "exact", value=_same("pal.Block")),
    Rule("pal.Page", "nand.pages_per_block", "exact", value=_same("pal.Page")),
    Rule("pal.PageSize", "nand.page_size_bytes", "exact", value=_same("pal.PageSize")),
    Rule("pal.EnableMultiPlaneOperation", "nand.multi_plane", "approximated", value=_multi_plane),
    Rule("pal.NANDType", "nand.cell_type", "converted", value=technology),
    Rule("pal.LSBRead pal.CSBRead pal.MSBRead", "nand.timing.t_read_us", "converted",
         value=_times("Read")),
    Rule("pal.LSBWrite pal.CSBWrite pal.MSBWrite", "nand.timing.t_program_us", "converted",
         value=_times("Write")),
    Rule("pal.Erase", "nand.timing.t_erase_us", "converted",
         value=lambda values: values["pal.Erase"] / 1e6),
    Rule("pal.DMASpeed pal.DMAWidth", "nand.timing.bus_mt_s", "converted", value=_bus),
    Rule("pal.PageAllocation pal.SuperblockSize", "ftl.allocation", "exact", value=_scheme),
    Rule("pal.Voltage pal.ReadCurrent pal.ProgramCurrent pal.EraseCurrent pal.IdleCurrent "
         "pal.StandbyCurrent", "", "dropped", "power is nand.energy here"),
    Rule("ftl.MappingMode", "", "exact", "by pages"),
    Rule("ftl.OverProvisioningRatio", "ftl.over_provisioning_pct", "converted",
         "a share of all blocks there, of the logical ones here: r/(1-r)", _spare),
    Rule("ftl.EraseThreshold", "nand.max_pe_cycles", "exact", value=_same("ftl.EraseThreshold")),
    Rule("ftl.EvictPolicy", "ftl.gc_policy", "exact", value=_victim),
    Rule("ftl.DChoiceParam", "", "converted", value=_choice),
    Rule("ftl.GCThreshold", "ftl.gc_reserve_blocks", "approximated", value=_reserve),
    Rule("ftl.GCMode ftl.GCReclaimBlocks ftl.GCReclaimThreshold", "", "exact", value=_at_once),
    Rule("ftl.FillingMode ftl.FillRatio ftl.InvalidPageRatio", "", "dropped", value=_fill),
    Rule("ftl.EnableRandomIOTweak", "", "dropped", "the map is of pages here", figures=True),
    Rule("icl.CacheSize icl.EnableWriteCache icl.EvictPolicy", "host.write_cache", "approximated",
         value=_write_cache),
    Rule("icl.EnableReadCache", "host.read_cache", "approximated", value=_read_cache),
    Rule("icl.EnableReadPrefetch icl.ReadPrefetchMode icl.ReadPrefetchCount icl.ReadPrefetchRatio",
         "", "dropped", "not here", _prefetch),
    Rule("icl.CacheWaySize icl.EvictMode icl.CacheLatency", "", "dropped", "not here",
         figures=True),
    Rule("nvme.PCIEGeneration nvme.PCIELane", "", "exact", value=_only("nvme")),
    Rule("sata.SATAMode", "", "exact", value=_only("sata")),
    Rule("(the interface)", "host.link", "exact", value=_link),
    *ERROR_FREE,
)  # fmt: skip
