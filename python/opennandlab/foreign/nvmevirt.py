"""NVMeVirt 61c90f7: the `#define` lines of one model of `ssd_config.h`.

Read from its source: `ssd.c`, `conv_ftl.c`, `zns_ftl.c`, `main.c`; what becomes of each define is
in tables/nvmevirt.tsv. `#if (BASE_SSD == NAME)` gives the lines of a model; other conditions of a
preprocessor are refused. How much flash there is follows from the memory that the module is
given: `--memmap-size`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.arithmetic import Number, evaluated
from opennandlab.foreign.table import Entry, Found, Table, Values, lines, load

DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)")
DEFINE = re.compile(r"([A-Za-z_]\w*)(?![\w(])\s*(.*)")
MACRO = re.compile(r"[A-Za-z_]\w*\(")
MODEL = re.compile(r"\(?\s*BASE_SSD\s*==\s*([A-Za-z_]\w*)\s*\)?")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
MIB = 1 << 20
# Lines that are kept for collection (conv_ftl.c).
RESERVE_LINES = 2
MB_PER_MIB = 1.048576
TYPES = {"SSD_TYPE_CONV": "page", "SSD_TYPE_ZNS": "zoned"}
CELLS = {"CELL_MODE_SLC": "SLC", "CELL_MODE_MLC": "MLC", "CELL_MODE_TLC": "TLC"}
BITS = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "MSB", "CSB")}


def entries(text: str, origin: str, model: str | None) -> tuple[list[Entry], int]:
    """Return the defines of a model, and how many there are outside of it.

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
    defines = list(_defines(text, origin, model or (models[0] if models else None)))
    found = [one for one, of_model in defines if of_model or not models]
    return found, len(defines) - len(found)


def _defines(text: str, origin: str, model: str | None) -> Iterator[tuple[Entry, bool]]:
    """Yield each define that counts, and whether it is of the model alone."""
    # Of each open condition: its lines count, those of one arm did, it asks for the model.
    arms: list[tuple[bool, bool, bool]] = []
    for number, line in lines(text):
        found = DIRECTIVE.fullmatch(line)
        if found is None:
            continue
        word, rest, place = found.group(1), found.group(2).strip(), f"{origin}:{number}"
        if word in {"elif", "else", "endif"} and not arms:
            raise ConfigError(".", f"{place}: `#{word}` without `#if`")
        done, asks = arms.pop()[1:] if word in {"elif", "else", "endif"} else (False, False)
        if word in {"if", "ifdef", "ifndef", "elif"}:
            counts, asks = _holds(word, rest, model, place)
            arms.append((counts and not done, counts or done, asks))
        elif word == "else":
            arms.append((not done, True, asks))
        elif word == "define" and all(counts for counts, _, _ in arms):
            if name := DEFINE.fullmatch(rest):
                of_model = any(asks for _, _, asks in arms)
                yield Entry(name.group(1), name.group(2).strip(), place), of_model
            elif not MACRO.match(rest):
                raise ConfigError(".", f"{place}: `#define {rest}`; accepted: a name and a value")
    if arms:
        raise ConfigError(".", f"{origin}: an `#if` without `#endif`")


def _holds(word: str, condition: str, model: str | None, place: str) -> tuple[bool, bool]:
    """Return whether lines count, and whether the condition asks for the model."""
    if word == "ifndef":
        return True, False
    if found := MODEL.fullmatch(condition):
        return found.group(1) == model, True
    if word in {"if", "elif"} and condition in {"0", "1"}:
        return condition == "1", False
    word = word.replace("elif", "if")
    message = f"`#{word} {condition}`; accepted: BASE_SSD == NAME, 0 and 1"
    raise ConfigError(".", f"{place}: {message}")


def table(given: Sequence[Entry]) -> Table:
    """Return the table of a model; texts of its numbers may name other defines."""
    texts = {entry.name: entry.text for entry in given}

    def number(text: str) -> Number:
        found = evaluated(text, texts.get)
        if found < 0:
            raise ValueError("a number from 0 on")
        return found

    return load(globals() | {"_number": number}, "nvmevirt", "common")


def _type(text: str) -> str:
    return _one_of(TYPES, text)


def _cells(text: str) -> str:
    return _one_of(CELLS, text)


def _one_of(accepted: dict[str, str], text: str) -> str:
    name = text.strip("() ")
    if name not in accepted:
        raise ValueError(", ".join(accepted))
    return accepted[name]


def _need(values: Values, name: str) -> int:
    """Return a whole number that must be there."""
    if values[name] != int(values[name]):
        raise ConfigError(name, f"`{float(values[name]):g}`; accepted: a whole number")
    return int(values[name])


def _counted(values: Values, name: str) -> int:
    """Return a whole number above 0 that must be there."""
    found = _need(values, name)
    if found == 0:
        raise ConfigError(name, "`0`; accepted: a whole number from 1 on")
    return found


def lay_out(values: Values, memmap_bytes: int) -> None:
    """Put how the flash is laid out to the values, as `ssd_init_params` does it.

    Raises:
        ConfigError: for sizes that do not fit each other.
    """
    values.missing = "is missing in this model"
    for name, usual in (
        ("CELL_MODE", "TLC"),
        ("OP_AREA_PERCENT", 0),
        ("WRITE_EARLY_COMPLETION", 0),
    ):
        values.setdefault(name, usual)
    if memmap_bytes <= MIB:
        raise ConfigError("--memmap-size", f"`{memmap_bytes}`; accepted: more than 1 MiB")
    parts = _counted(values, "SSD_PARTITIONS")
    channels = _counted(values, "NAND_CHANNELS")
    dies = channels * _counted(values, "LUNS_PER_NAND_CH")
    planes = dies * _counted(values, "PLNS_PER_LUN")
    page, shot = _counted(values, "FLASH_PAGE_SIZE"), _counted(values, "ONESHOT_PAGE_SIZE")
    if channels % parts:
        message = f"`{parts}` does not divide {channels} channels"
        raise ConfigError("SSD_PARTITIONS", f"{message}; accepted: a divisor")
    if shot % page:
        raise ConfigError("ONESHOT_PAGE_SIZE", f"`{shot}` is not a multiple of FLASH_PAGE_SIZE")
    capacity = memmap_bytes - MIB
    zoned = values.get("NS_SSD_TYPE_0") == "zoned"
    if zoned:
        # A zone is a block of each die here.
        zone = _counted(values, "ZONE_SIZE")
        pages = zone // planes // page
        _counted(values, "DIES_PER_ZONE")
        if pages == 0 or pages * planes * page != zone:
            message = f"`{zone}` is not a multiple of {planes} planes x {page} B"
            raise ConfigError("ZONE_SIZE", message)
        if capacity < zone:
            raise ConfigError("--memmap-size", f"less than a zone of {zone} B and 1 MiB")
        blocks = capacity // zone + 1  # one of each plane beyond the zones
    else:
        blocks = _counted(values, "BLKS_PER_PLN")
        block = -(-(capacity // parts) // (blocks * (planes // parts)))
        pages = -(-block // shot) * (shot // page)
    values.update(capacity=capacity, raw=pages * page * blocks * planes, dies=dies, zoned=zoned)
    values.update(pages=pages, blocks=blocks, shot=shot // page, group=dies // parts)
    values.update(zones=blocks - 1, zone_share=1 / max(blocks - 1, 1), reserve=RESERVE_LINES * dies)
    values["bits"] = len(BITS[values["CELL_MODE"]])
    values["buffer"] = _need(values, "GLOBAL_WB_SIZE") // page


def _ns(values: Values, name: str, share: str = "") -> float:
    return _need(values, name) / 1000 / (int(values[share]) if share else 1)


def _reads(values: Values) -> Found:
    bits = BITS[values["CELL_MODE"]]
    times = [_ns(values, f"NAND_READ_LATENCY_{bit}") for bit in bits]
    short = [_ns(values, f"NAND_4KB_READ_LATENCY_{bit}") for bit in bits]
    if times == short:
        return Found(times, kind="converted")
    told = ", ".join(f"{one:g}" for one in short)
    return Found(times, note=f"of a whole page; of 4 KiB {told} us there")


def _program(values: Values) -> dict[str, Any]:
    return {"kind": "one_shot", "t_wordline_us": _ns(values, "NAND_PROG_LATENCY")}


def _spare(values: Values) -> Found:
    """The size of the namespace is cut to whole percents there."""
    raw, ratio = values["raw"], float(values["OP_AREA_PERCENT"])
    space = values["capacity"] * 100 // int((1 + ratio) * 100)
    if raw <= space:
        raise ConfigError("OP_AREA_PERCENT", f"`{ratio:g}` leaves no spare; accepted: more")
    return Found(raw / space - 1, note=f"a namespace of {space} B on {raw} B")


def _megabytes(values: Values, name: str) -> float:
    return _counted(values, name) * MB_PER_MIB


def _link(values: Values) -> dict[str, Any]:
    return {"kind": "custom", "mb_s": _megabytes(values, "PCIE_BANDWIDTH")}
