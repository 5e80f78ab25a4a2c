"""FEMU 99ce4fb: the options of `-device femu,…`, on a command line or in a script.

Read from its source: `hw/femu/femu.c`, `bbssd/ftl-geom.c`, `bbssd/ftl-line-gc.c`, `nand/nand.h`;
what becomes of each option is in tables/femu.tsv. Nothing of a script is run. Its lines are read
that are `NAME=number`, which take the place of `$NAME`, and lines that put a text at the end of a
variable that holds the options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign import femu_zones
from opennandlab.foreign.table import Entry, Found, Table, Values, lines, load

NUMBER_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=[\"']?(\d+)[\"']?\s*(?:[#;].*)?")
# A variable that gets more text at its end, or another text.
APPEND_LINE = re.compile(
    r"(?P<indent>\s*)(?P<name>[A-Za-z_]\w*)"
    r"(?P<more>\+=|=\"?\$\{?(?P=name)\}?(?!\w)|=)(?P<text>.*)"
)
DEVICE = re.compile(r"-device\s+[\"']?femu(?=[,\s\"'\\]|$)")
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
CACHE_MIB = 4
FAST_LOG_BLOCKS = 16


def entries(text: str, origin: str) -> list[Entry]:
    """Return the options of the one FEMU device that a text describes.

    Raises:
        ConfigError: for none, for several, and for what would have to be run.
    """
    options, line = _options(lines(text), origin)
    found = []
    # Two commas are one that belongs to a value.
    for part in filter(None, options.replace(",,", "\0").split(",")):
        name, equals, value = part.replace("\0", ",").partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][\w.]*", name):
            message = f"`{part.replace(chr(0), ',')}`; accepted: name=value"
            raise ConfigError(".", f"{origin}:{line}: {message}")
        found.append(Entry(name, value, f"{origin}:{line}"))
    return found


def _options(numbered: Iterator[tuple[int, str]], origin: str) -> tuple[str, int]:
    """Return what follows `femu,`, variables put in, and the line on which it begins."""
    numbers: dict[str, str] = {}
    found: list[tuple[str, str, int]] = []  # variable, options, line
    for number, line in numbered:
        if line.lstrip().startswith("#"):
            continue
        if plain := NUMBER_LINE.fullmatch(line):
            numbers[plain.group(1)] = plain.group(2)
            continue
        append = APPEND_LINE.match(line)
        if devices := list(DEVICE.finditer(line)):
            name = append.group("name") if append else ""
            found += [(name, _argument(line[one.end() :]), number) for one in devices]
        elif append and found and found[-1][0] == append.group("name"):
            if append.group("indent") or append.group("more") == "=":
                message = f"`{line.strip()}`; accepted: text at the end of it, without conditions"
                raise ConfigError(".", f"{origin}:{number}: {message}")
            name, text, first = found[-1]
            found[-1] = (name, text + _argument(append.group("text")), first)
    if not found:
        raise ConfigError(".", f"{origin}: no `-device femu,…` in it")
    if len(found) > 1:
        places = ", ".join(f"{origin}:{number}" for _, _, number in found)
        raise ConfigError(".", f"{len(found)} devices, at {places}; accepted: one in a file")
    _, text, number = found[0]
    return _substituted(text, numbers, f"{origin}:{number}"), number


def _argument(text: str) -> str:
    """Return a word of a shell: up to a blank outside of quotes, the quotes left out."""
    taken, quote = "", ""
    for letter in text:
        if letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            # The quote that began before `-device` ends the word here.
            quote = letter
        elif not quote and letter.isspace():
            break
        else:
            taken += letter
    return taken


def _substituted(text: str, numbers: dict[str, str], place: str) -> str:
    def take(found: re.Match[str]) -> str:
        name = found.group(1) or found.group(2)
        if name not in numbers:
            message = (
                f"`{found.group()}` has no line `{name}=number`; scripts are not run: give the "
                "line that the script makes, such as what `echo` prints in the place of `qemu`"
            )
            raise ConfigError(".", f"{place}: {message}")
        return numbers[name]

    made = VARIABLE.sub(take, text)
    if "$" in made or "`" in made:
        raise ConfigError(".", f"{place}: `{made}`; accepted: variables alone, nothing is run")
    return made


def _dies(values: Values) -> int:
    return int(values["luns_per_ch"] * values["nchs"])


def _page_bytes(values: Values) -> int:
    return int(values["secsz"] * values["secs_per_pg"])


def _bus(values: Values) -> float:
    return float(_page_bytes(values) * 1000 / values["pg_xfer_lat"])


def _spare(values: Values) -> Found:
    blocks = values["blks_per_pl"] * values["pls_per_lun"] * _dies(values)
    raw = blocks * values["pgs_per_blk"] * _page_bytes(values)
    logical = values["devsz_mb"] << 20
    if raw <= logical:
        message = f"{values['devsz_mb']} MiB of {raw} B of flash leave no spare"
        raise ConfigError("devsz_mb", f"{message}; accepted: up to {(raw - 1) >> 20} MiB")
    return Found(raw / logical - 1, note=f"{raw} B of flash / {logical} B - 1")


def _reserve(values: Values) -> Found:
    planes, dies = values["pls_per_lun"], _dies(values)
    count = int((1 - values["gc_thres_pcent_high"] / 100.0) * values["blks_per_pl"] * planes)
    note = f"{count} lines x {dies} dies"
    if planes == 1:
        return Found(count * dies, note=note)
    note += f", {planes} planes joined here"
    return Found(max(count // planes, 1) * dies, kind="approximated", note=note)


def _dftl(values: Values) -> dict[str, Any]:
    return {"kind": "dftl", "cache_bytes": (values["mapping_cache_mb"] or CACHE_MIB) << 20}


def _fast(values: Values) -> dict[str, Any]:
    return {"kind": "fast", "log_blocks": max(FAST_LOG_BLOCKS, _dies(values))}


FUNCTIONS = vars(femu_zones) | globals()
BLOCKS = load(FUNCTIONS, "femu", "common", section="Block", other="of femu_mode 3")
ZONES = load(FUNCTIONS, "femu", "common", section="Zones", other="of femu_mode 1")


def table(given: Sequence[Entry]) -> Table:
    """Return the table of the mode that options ask for."""
    modes = [entry.text.strip() for entry in given if entry.name == "femu_mode"]
    return ZONES if modes[-1:] == ["3"] else BLOCKS
