"""NVMeVirt 61c90f7: the `#define` lines of one model of `ssd_config.h`.

Read from its source: `ssd.c`, `conv_ftl.c`, `zns_ftl.c`, `main.c`. Which lines are of the model is
told by `#if (BASE_SSD == NAME)`; what else a preprocessor knows is refused. How much flash there is
follows from the memory that the module is given: `--memmap-size`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.arithmetic import Number, evaluated
from opennandlab.foreign.table import (
    ABSENT,
    ERROR_FREE,
    Entry,
    Field,
    Found,
    Rule,
    Values,
    read,
)

DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)")
DEFINE = re.compile(r"([A-Za-z_]\w*)(?![\w(])\s*(.*)")
MACRO = re.compile(r"[A-Za-z_]\w*\(")
MODEL = re.compile(r"\(?\s*BASE_SSD\s*==\s*([A-Za-z_]\w*)\s*\)?")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
MIB = 1 << 20
# Bytes of what the map of the drive maps.
MAP_UNIT_BYTES = 4096
# Lines that are kept for collection (conv_ftl.c).
RESERVE_LINES = 2
ERASE_US_MIN = 1e-6
MB_PER_MIB = 1.048576
TYPES = {"SSD_TYPE_CONV": "page", "SSD_TYPE_ZNS": "zoned"}
CELLS = {"CELL_MODE_SLC": "SLC", "CELL_MODE_MLC": "MLC", "CELL_MODE_TLC": "TLC"}
BITS = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "MSB", "CSB")}


@dataclass(frozen=True)
class Given:
    """Defines of a model, and how many there are outside of it."""

    entries: tuple[Entry, ...]
    apart: int


def entries(text: str, origin: str, model: str | None) -> Given:
    """Return the defines of a model.

    Args:
        text: Of the header.
        origin: What errors call it.
        model: Name of it; None where the header holds but one.

    Raises:
        ConfigError: for a model that it does not have, and for conditions on anything else.
    """
    text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    models = list(dict.fromkeys(MODEL.findall(text)))
    if model is None and len(models) > 1:
        raise ConfigError("--model", f"is missing; accepted: {', '.join(models)}")
    if model is not None and models and model not in models:
        raise ConfigError("--model", f"`{model}`; accepted: {', '.join(models)}")
    model = model or (models[0] if models else None)
    found, apart = [], 0
    for number, name, value, of_model in _defines(text, origin, model):
        if of_model or not models:
            found.append(Entry(name, value, f"{origin}:{number}"))
        else:
            apart += 1
    return Given(tuple(found), apart)


def _defines(text: str, origin: str, model: str | None) -> Iterator[tuple[int, str, str, bool]]:
    """Yield line, name, value, and whether the line is of the model alone."""
    arms: list[_Arm] = []
    for number, line in _joined(text):
        found = DIRECTIVE.fullmatch(line)
        if found is None:
            continue
        word, rest = found.group(1), found.group(2).strip()
        place = f"{origin}:{number}"
        if word in {"if", "ifdef", "ifndef", "elif", "else", "endif"}:
            _turn(arms, word, rest, model, place)
        elif word == "define" and all(arm.counts for arm in arms):
            name = DEFINE.fullmatch(rest)
            if name is not None:
                of_model = any(arm.asks for arm in arms)
                yield number, name.group(1), name.group(2).strip(), of_model
            elif not MACRO.match(rest):
                raise ConfigError(".", f"{place}: `#define {rest}`; accepted: a name and a value")
    if arms:
        raise ConfigError(".", f"{origin}: an `#if` without `#endif`")


@dataclass(frozen=True)
class _Arm:
    """The open arm of a condition: whether its lines count, one did, and it asks for the model."""

    counts: bool
    one_did: bool
    asks: bool


def _turn(arms: list[_Arm], word: str, rest: str, model: str | None, place: str) -> None:
    """Open, change or close the arm of a condition."""
    if word in {"elif", "else", "endif"}:
        if not arms:
            raise ConfigError(".", f"{place}: `#{word}` without `#if`")
        last = arms.pop()
        if word == "elif":
            counts, asks = _holds("if", rest, model, place)
            arms.append(_Arm(counts and not last.one_did, counts or last.one_did, asks))
        elif word == "else":
            arms.append(_Arm(not last.one_did, one_did=True, asks=last.asks))
        return
    counts, asks = _holds(word, rest, model, place)
    arms.append(_Arm(counts, counts, asks))


def _joined(text: str) -> Iterator[tuple[int, str]]:
    parts, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\"):
            parts += line[:-1] + " "
            continue
        yield first, parts + line
        parts, first = "", 0
    if parts:
        yield first, parts


def _holds(word: str, condition: str, model: str | None, place: str) -> tuple[bool, bool]:
    """Return whether lines count, and whether the condition asks for the model."""
    if word == "ifndef":
        return True, False
    if found := MODEL.fullmatch(condition):
        return found.group(1) == model, True
    if word == "if" and condition in {"0", "1"}:
        return condition == "1", False
    message = f"`#{word} {condition}`; accepted: BASE_SSD == NAME, 0 and 1"
    raise ConfigError(".", f"{place}: {message}")


NUMBERS = (
    "SSD_PARTITIONS NAND_CHANNELS LUNS_PER_NAND_CH PLNS_PER_LUN FLASH_PAGE_SIZE "
    "ONESHOT_PAGE_SIZE BLKS_PER_PLN BLK_SIZE MAX_CH_XFER_SIZE WRITE_UNIT_SIZE "
    "NAND_CHANNEL_BANDWIDTH PCIE_BANDWIDTH NAND_4KB_READ_LATENCY_LSB "
    "NAND_4KB_READ_LATENCY_MSB NAND_4KB_READ_LATENCY_CSB NAND_READ_LATENCY_LSB "
    "NAND_READ_LATENCY_MSB NAND_READ_LATENCY_CSB NAND_PROG_LATENCY NAND_ERASE_LATENCY "
    "FW_4KB_READ_LATENCY FW_READ_LATENCY FW_WBUF_LATENCY0 FW_WBUF_LATENCY1 FW_CH_XFER_LATENCY "
    "OP_AREA_PERCENT GLOBAL_WB_SIZE ZONE_WB_SIZE WRITE_EARLY_COMPLETION ZONE_SIZE "
    "DIES_PER_ZONE"
)
QUIET = (
    "NR_NAMESPACES NS_CAPACITY_0 NS_SSD_TYPE_1 NS_CAPACITY_1 MDTS LBA_BITS LBA_SIZE "
    "MAX_ZRWA_ZONES ZRWAFG_SIZE ZRWA_SIZE ZRWA_BUFFER_SIZE"
)
UNITS = {"SIZE": "B", "LATENCY": "ns", "BANDWIDTH": "MiB/s"}


def fields(given: Sequence[Entry]) -> Mapping[str, Field]:
    """Return the fields of a model; their texts may name other defines."""
    texts = {entry.name: entry.text for entry in given}

    def number(text: str) -> Number:
        found = evaluated(text, texts.get)
        if found < 0:
            raise ValueError("a number from 0 on")
        return found

    def unit(name: str) -> str:
        return next((unit for part, unit in UNITS.items() if part in name), "")

    found = {name: Field(unit(name), number) for name in NUMBERS.split()}
    found |= {name: Field("", str) for name in QUIET.split()}
    found["NS_SSD_TYPE_0"] = Field("", _one_of(TYPES))
    found["CELL_MODE"] = Field("", _one_of(CELLS))
    return found


def _one_of(accepted: Mapping[str, str]) -> Any:  # noqa: ANN401 (a reader)
    def take(text: str) -> str:
        name = text.strip("() ")
        if name not in accepted:
            raise ValueError(", ".join(accepted))
        return accepted[name]

    return take


def need(values: Values, name: str) -> int:
    """Return a whole number that must be there.

    Raises:
        ConfigError: when it is not, or is none.
    """
    if name not in values:
        raise ConfigError(name, "is missing in this model")
    if values[name] != int(values[name]):
        raise ConfigError(name, f"`{float(values[name]):g}`; accepted: a whole number")
    return int(values[name])


def counted(values: Values, name: str) -> int:
    """Return a whole number above 0 that must be there.

    Raises:
        ConfigError: when it is not.
    """
    found = need(values, name)
    if found == 0:
        raise ConfigError(name, "`0`; accepted: a whole number from 1 on")
    return found


@dataclass(frozen=True)
class Shape:
    """How the memory is laid out."""

    capacity: int
    parts: int
    planes: int
    page: int
    pages: int
    blocks: int
    dies: int

    @property
    def raw(self) -> int:
        """Bytes of the flash."""
        return self.pages * self.page * self.blocks * self.planes


def shape(values: Values) -> Shape:
    """Return how the flash is laid out, as `ssd_init_params` does it.

    Raises:
        ConfigError: for sizes that do not fit each other.
    """
    parts = counted(values, "SSD_PARTITIONS")
    channels = counted(values, "NAND_CHANNELS")
    dies = channels * counted(values, "LUNS_PER_NAND_CH")
    planes = dies * counted(values, "PLNS_PER_LUN")
    page, shot = counted(values, "FLASH_PAGE_SIZE"), counted(values, "ONESHOT_PAGE_SIZE")
    if channels % parts:
        message = f"`{parts}` does not divide {channels} channels"
        raise ConfigError("SSD_PARTITIONS", f"{message}; accepted: a divisor")
    if shot % page:
        raise ConfigError("ONESHOT_PAGE_SIZE", f"`{shot}` is no multiple of FLASH_PAGE_SIZE")
    capacity = values["memmap_size"] - MIB
    blocks = need(values, "BLKS_PER_PLN")
    if values.get("NS_SSD_TYPE_0") == "zoned":
        # A zone is a block of each die here.
        zone = counted(values, "ZONE_SIZE")
        pages = zone // planes // page
        if pages == 0 or pages * planes * page != zone:
            message = f"`{zone}` is no multiple of {planes} planes x {page} B"
            raise ConfigError("ZONE_SIZE", message)
        if capacity < zone:
            raise ConfigError("--memmap-size", f"less than a zone of {zone} B and 1 MiB")
        blocks = capacity // zone + 1  # one of each plane beyond the zones
    else:
        if blocks == 0:
            raise ConfigError("BLKS_PER_PLN", "`0`; accepted: a whole number from 1 on")
        block = -(-(capacity // parts) // (blocks * (planes // parts)))
        pages = -(-block // shot) * (shot // page)
    return Shape(capacity, parts, planes, page, pages, blocks, dies)


def _of_shape(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: getattr(values["shape"], name)


def _same(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: counted(values, name)


def _is_zoned(values: Values) -> bool:
    return bool(values.get("NS_SSD_TYPE_0") == "zoned")


def _blocks(values: Values) -> Found:
    if _is_zoned(values):
        loses = need(values, "DIES_PER_ZONE") != values["shape"].dies
        note = "one more than zones"
        return Found(values["shape"].blocks, kind="approximated", note=note, figures=loses)
    return Found(values["shape"].blocks, kind="exact")


def _reads(values: Values) -> Found:
    cells = values.get("CELL_MODE", "TLC")
    times = [need(values, f"NAND_READ_LATENCY_{bit}") / 1000 for bit in BITS[cells]]
    short = [need(values, f"NAND_4KB_READ_LATENCY_{bit}") / 1000 for bit in BITS[cells]]
    if times == short:
        return Found(times, kind="converted")
    told = ", ".join(f"{one:g}" for one in short)
    return Found(times, note=f"of a whole page; of 4 KiB {told} us there")


def _program(values: Values) -> Found:
    pages = need(values, "ONESHOT_PAGE_SIZE") // values["shape"].page
    time = need(values, "NAND_PROG_LATENCY") / 1000
    bits = len(BITS[values.get("CELL_MODE", "TLC")])
    if pages == 1:
        return Found(kind="exact", note="a page at a time")
    if _is_zoned(values):
        return Found(kind="approximated", note=f"a page at a time here, {pages} there")
    found = {"kind": "one_shot", "t_wordline_us": time}
    if pages == bits:
        return Found(found)
    return Found(found, kind="approximated", note=f"{pages} pages there, {bits} here")


def _program_time(values: Values) -> Found:
    time = need(values, "NAND_PROG_LATENCY") / 1000
    pages = need(values, "ONESHOT_PAGE_SIZE") // values["shape"].page
    if _is_zoned(values) and pages > 1:
        note = f"of {pages} pages there, a share of it for each here"
        return Found(time / pages, kind="approximated", note=note)
    return Found(time)


def _erase(values: Values) -> Found:
    time = need(values, "NAND_ERASE_LATENCY")
    if time == 0:
        return Found(ERASE_US_MIN, kind="approximated", note="0 there", figures=False)
    return Found(time / 1000)


def _spare(values: Values) -> Found:
    """The size of the namespace is cut to whole percents there."""
    flash, ratio = values["shape"], float(values.get("OP_AREA_PERCENT", 0))
    if _is_zoned(values):
        note = "of namespaces without zones; a block of each plane here"
        return Found(1 / (flash.blocks - 1), kind="unread", note=note)
    space = flash.capacity * 100 // int((1 + ratio) * 100)
    found = flash.raw / space - 1
    if found <= 0:
        raise ConfigError("OP_AREA_PERCENT", f"`{ratio:g}` leaves no spare; accepted: more")
    return Found(found, note=f"a namespace of {space} B on {flash.raw} B")


def _mapping(values: Values) -> Found:
    if not _is_zoned(values):
        return Found("page", kind="exact")
    zone = counted(values, "ZONE_SIZE")
    given = counted(values, "DIES_PER_ZONE")
    count = values["shape"].blocks - 1
    found = {"kind": "zoned", "zone_bytes": zone}
    found |= {"open_zones_max": count, "active_zones_max": count}
    if given == values["shape"].dies:
        return Found(found)
    note = f"zones on {given} of {values['shape'].dies} dies there, on all here"
    return Found(found, kind="approximated", note=note)


def _map_unit(values: Values) -> Found:
    if not _is_zoned(values):
        return Found(MAP_UNIT_BYTES)
    return Found(kind="approximated", note="whole pages in zones here")


def _allocation(values: Values) -> Any:  # noqa: ANN401 (a rule)
    if _is_zoned(values):
        return ABSENT
    flash = values["shape"]
    return {"kind": "superblock", "dies": flash.dies // flash.parts}


def _multi_plane(values: Values) -> Found:
    if need(values, "PLNS_PER_LUN") == 1 or _is_zoned(values):
        return Found(kind="exact")
    return Found(written=True, note="planes work together here, as superblocks need it")


def _reserve(values: Values) -> Any:  # noqa: ANN401 (a rule)
    return ABSENT if _is_zoned(values) else RESERVE_LINES * values["shape"].dies


def _partitions(values: Values) -> Found:
    if values["shape"].parts == 1:
        return Found(kind="exact")
    return Found(note="groups of dies here, on as many channels as possible")


def _buffer(values: Values) -> Found:
    size = need(values, "GLOBAL_WB_SIZE")
    pages = size // values["shape"].page
    if not values.get("WRITE_EARLY_COMPLETION", 0):
        note = "writes complete when they are programmed"
        return Found(0, kind="approximated" if pages else "exact", note=note)
    return Found(pages, kind="approximated" if pages else "exact")


def _firmware(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: Found(figures=values.get(name, 0) > 0)


def _bus(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: counted(values, name) * MB_PER_MIB


READS = " ".join(f"NAND_READ_LATENCY_{bit}" for bit in BITS["TLC"])
READS_4K = " ".join(f"NAND_4KB_READ_LATENCY_{bit}" for bit in BITS["TLC"])
RULES = (
    Rule("NS_SSD_TYPE_0", "", "converted", "in ftl.mapping"),
    Rule("CELL_MODE", "nand.cell_type", "exact",
         value=lambda values: values.get("CELL_MODE", "TLC")),
    Rule("NAND_CHANNELS", "nand.channels", "exact", value=_same("NAND_CHANNELS")),
    Rule("LUNS_PER_NAND_CH", "nand.dies_per_channel", "exact", value=_same("LUNS_PER_NAND_CH")),
    Rule("PLNS_PER_LUN", "nand.planes_per_die", "exact", value=_same("PLNS_PER_LUN")),
    Rule("(planes)", "nand.multi_plane", "approximated", value=_multi_plane),
    Rule("SSD_PARTITIONS", "", "approximated", value=_partitions),
    Rule("FLASH_PAGE_SIZE", "nand.page_size_bytes", "exact", value=_same("FLASH_PAGE_SIZE")),
    Rule("BLKS_PER_PLN", "nand.blocks_per_plane", "exact", value=_blocks),
    Rule("(--memmap-size)", "nand.pages_per_block", "converted",
         "memory over blocks, up to whole one-shot pages", _of_shape("pages")),
    Rule("BLK_SIZE", "", "converted", "in nand.pages_per_block"),
    Rule("(map of 4 KiB)", "ftl.map_unit_bytes", "exact", value=_map_unit),
    Rule(READS, "nand.timing.t_read_us", "approximated", value=_reads),
    Rule(READS_4K, "", "dropped", "in the note of the full page", figures=True),
    Rule("ONESHOT_PAGE_SIZE", "nand.program", "converted", value=_program),
    Rule("NAND_PROG_LATENCY", "nand.timing.t_program_us", "converted", value=_program_time),
    Rule("NAND_ERASE_LATENCY", "nand.timing.t_erase_us", "converted", value=_erase),
    Rule("NAND_CHANNEL_BANDWIDTH", "nand.timing.bus_mt_s", "converted", "MiB/s there",
         _bus("NAND_CHANNEL_BANDWIDTH")),
    Rule("PCIE_BANDWIDTH", "host.link", "converted", "MiB/s there",
         lambda values: {"kind": "custom", "mb_s": _bus("PCIE_BANDWIDTH")(values)}),
    Rule("MAX_CH_XFER_SIZE", "", "dropped", "pieces of a transfer", figures=True),
    Rule("WRITE_UNIT_SIZE", "", "dropped", "what a write must be a multiple of"),
    Rule("OP_AREA_PERCENT", "ftl.over_provisioning_pct", "converted", value=_spare),
    Rule("(lines of a partition)", "ftl.allocation", "converted",
         "a line is a block of each of its dies", _allocation),
    Rule("(2 lines for collection)", "ftl.gc_reserve_blocks", "converted", value=_reserve),
    Rule("(victims)", "ftl.gc_policy", "exact", "the line with the fewest live pages",
         lambda values: ABSENT if _is_zoned(values) else "greedy"),
    Rule("ZONE_SIZE DIES_PER_ZONE", "ftl.mapping", "converted", value=_mapping),
    Rule("GLOBAL_WB_SIZE WRITE_EARLY_COMPLETION", "ftl.write_buffer_pages", "approximated",
         value=_buffer),
    Rule("ZONE_WB_SIZE", "", "dropped", "a buffer of each zone", _firmware("ZONE_WB_SIZE")),
    Rule("FW_4KB_READ_LATENCY", "host.command_overhead_us", "approximated", "of all commands here",
         lambda values: need(values, "FW_4KB_READ_LATENCY") / 1000),
    *(Rule(name, "", "dropped", "one time of the controller here", _firmware(name))
      for name in NUMBERS.split() if name.startswith("FW_") and name != "FW_4KB_READ_LATENCY"),
    *ERROR_FREE,
    Rule(QUIET, "", "dropped", "without effect on figures"),
)  # fmt: skip


def shape_of(given: Sequence[Entry], known: Mapping[str, Field], memmap_bytes: int) -> Shape:
    """Return how the flash of a model is laid out in a memory.

    Raises:
        ConfigError: for defines that are no numbers, and sizes that do not fit.
    """
    values, _ = read(given, known)
    if memmap_bytes <= MIB:
        raise ConfigError("--memmap-size", f"`{memmap_bytes}`; accepted: more than 1 MiB")
    return shape({**values, "memmap_size": memmap_bytes})
