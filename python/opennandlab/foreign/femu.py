"""FEMU 99ce4fb: the options of `-device femu,…`, on a command line or in a script.

Read from its source: `hw/femu/femu.c`, `bbssd/ftl-geom.c`, `bbssd/ftl-line-gc.c`, `nand/nand.h`.
Nothing of a script is run. Its lines are read that are `NAME=number`, which take the place of
`$NAME`, and lines that put a text at the end of a variable that holds the options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign import femu_zones
from opennandlab.foreign.table import (
    ABSENT,
    ERROR_FREE,
    Entry,
    Field,
    Found,
    Rule,
    Values,
    plain,
    whole,
)

NUMBER_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=[\"']?(\d+)[\"']?\s*(?:[#;].*)?")
# A variable that gets more text at its end, or another text.
APPEND_LINE = re.compile(
    r"(?P<indent>\s*)(?P<name>[A-Za-z_]\w*)"
    r"(?P<more>\+=|=\"?\$\{?(?P=name)\}?(?!\w)|=)(?P<text>.*)"
)
DEVICE = re.compile(r"-device\s+[\"']?femu(?=[,\s\"'\\]|$)")
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
FREE_BUS_MT_S = 1e6

INT = whole(-(2**31), 2**31 - 1)
COUNT = whole(1, 1 << 16)
WORD = whole(0, 2**32 - 1)
# By cell type, pages in order: read, program, erase, in ns (nand/nand.h).
CELLS: dict[int, tuple[str, tuple[float, ...], tuple[float, ...], int]] = {
    1: ("SLC", (40_000,), (800_000,), 2_000_000),
    2: ("MLC", (48_000, 64_000), (850_000, 2_300_000), 3_000_000),
    3: ("TLC", (56_500, 77_500, 106_000), (820_500, 2_225_000, 5_734_000), 3_000_000),
    4: (
        "QLC",
        (59_325, 85_250, 127_200, 169_600),
        (861_525, 2_447_500, 6_880_800, 9_174_400),
        3_000_000,
    ),
}
POLICIES: dict[str, Any] = {
    "greedy": "greedy",
    "random": "random",
    "cost-benefit": "cost_benefit",
    "fifo": "fifo",
    "d-choice": {"kind": "d_choices", "d": 4},
}
MODES = {0: "open channel", 2: "no SSD", 4: "computing", 5: "keys and values", 6: "smart"}
CACHE_MIB = 4
FAST_LOG_BLOCKS = 16


GEOMETRY = {
    "secsz": Field("B", COUNT, 512),
    "secs_per_pg": Field("sectors", COUNT, 8),
    "pgs_per_blk": Field("", COUNT, 256),
    "blks_per_pl": Field("", COUNT, 256),
    "pls_per_lun": Field("", COUNT, 1),
    "luns_per_ch": Field("", COUNT, 8),
    "nchs": Field("", COUNT, 8),
}
# Of these none has a key here, and none changes a figure.
QUIET = (
    "id serial queues entries multipoller_enabled poller_ratio hiops_inline max_cqes max_sqes "
    "stride aerl acl elpe mdts cqr vwc intc intc_thresh intc_time ms ms_max dlfeat mpsmin "
    "mpsmax nlbaf lba_index extended dpc dps mc meta cmbsz cmbloc oacs oncs sgl vid did "
    "flash_type lver lsec_size lsecs_per_pg lpgs_per_blk lmax_sec_per_rq lnum_ch lnum_lun "
    "lnum_pln lmetasize fdm_size nr_cu nr_thread time_slice context_switch_time "
    "csf_runtime_scale debug_ftl subsys gc_strategy bus addr"
)
# Of these none has a key here, and each that is above 0 changes figures.
LOUD = (
    "cell_pages pgtype_lat ecc_step_ns status_lat tplpbsy tplrbsy tplebsy trcbsy trim_lat_ns "
    "nand_bad_blocks err_read_unc_ppm err_write_fail_ppm pcie_prop_delay_ns read_cache_mb "
    "fdp_trim_erase_all"
)
FIELDS: dict[str, Field] = {
    "femu_mode": Field("", whole(0, 6)),
    "devsz_mb": Field("MiB", whole(1, 2**32 - 1), 1024),
    **GEOMETRY,
    "pg_rd_lat": Field("ns", whole(0, 2**31 - 1), 40_000),
    "pg_wr_lat": Field("ns", whole(0, 2**31 - 1), 200_000),
    "blk_er_lat": Field("ns", whole(0, 2**31 - 1), 2_000_000),
    "ch_xfer_lat": Field("ns", INT),
    "pg_xfer_lat": Field("ns", whole(0, 2**31 - 1), 0),
    "cmd_addr_lat": Field("ns", whole(0, 2**31 - 1), 0),
    "nand_cell_type": Field("", whole(0, 255), 0),
    "op_pcent": Field("%", whole(0, 400), 0),
    "gc_thres_pcent": Field("% used", whole(0, 100), 75),
    "gc_thres_pcent_high": Field("% used", whole(0, 100), 95),
    "gc_policy": Field("", plain, ""),
    "cache_evict": Field("", plain),
    "namespaces": Field("", whole(1, 256), 1),
    "namespace_sizes": Field("", plain),
    "namespace_modes": Field("", plain),
    "mapping": Field("", plain, "page"),
    "mapping_cache_mb": Field("MiB", whole(0, 2**32 - 1), 0),
    "pcie_bandwidth_mbps": Field("MB/s", WORD, 0),
    "fw_cpu_ns": Field("ns", whole(0, 10**12), 0),
    **femu_zones.FIELDS,
    **{name: Field("", INT, 0) for name in LOUD.split()},
    **{name: Field("", plain) for name in QUIET.split()},
}


def entries(text: str, origin: str) -> list[Entry]:
    """Return the options of the one FEMU device that a text describes.

    Raises:
        ConfigError: for none, for several, and for what would have to be run.
    """
    options, line = _options(_lines(text), origin)
    found = []
    for part in _split(options):
        name, equals, value = part.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][\w.]*", name):
            raise ConfigError(".", f"{origin}:{line}: `{part}`; accepted: name=value")
        found.append(Entry(name, value, f"{origin}:{line}"))
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; a backslash at its end joins it with the next."""
    whole_line, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\"):
            whole_line += line[:-1]
            continue
        yield first, whole_line + line
        whole_line, first = "", 0
    if whole_line:
        yield first, whole_line


def _options(lines: Iterator[tuple[int, str]], origin: str) -> tuple[str, int]:
    """Return what follows `femu,`, variables put in, and the line on which it begins."""
    numbers: dict[str, str] = {}
    found: list[tuple[str, str, int]] = []  # variable, options, line
    for number, line in lines:
        if line.lstrip().startswith("#"):
            continue
        if plain_number := NUMBER_LINE.fullmatch(line):
            numbers[plain_number.group(1)] = plain_number.group(2)
            continue
        append = APPEND_LINE.match(line)
        device = DEVICE.search(line)
        if device:
            name = append.group("name") if append else ""
            found.append((name, _argument(line[device.end() :]), number))
        elif append and found and found[-1][0] == append.group("name"):
            if append.group("indent") or append.group("more") == "=":
                message = f"`{line.strip()}`; accepted: text at the end of it, without conditions"
                raise ConfigError(".", f"{origin}:{number}: {message}")
            name, text, first = found[-1]
            found[-1] = (name, text + _argument(append.group("text")), first)
    if not found:
        raise ConfigError(".", f"{origin}: no `-device femu,…` in it")
    if len(found) > 1:
        places = " and ".join(str(number) for _, _, number in found)
        raise ConfigError(".", f"{origin}: several devices, on lines {places}; accepted: one")
    name, text, number = found[0]
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
            message = f"`{found.group()}` has no line `{name}=number`; scripts are not run"
            raise ConfigError(".", f"{place}: {message}")
        return numbers[name]

    made = VARIABLE.sub(take, text)
    if "$" in made or "`" in made:
        raise ConfigError(".", f"{place}: `{made}`; accepted: variables alone, nothing is run")
    return made


def _split(options: str) -> list[str]:
    """Return the options between single commas; two are one that belongs to a value.

    >>> _split(",a=1,serial=x,,y,b=2")
    ['a=1', 'serial=x,y', 'b=2']
    """
    parts = options.replace(",,", "\0").split(",")
    return [part.replace("\0", ",") for part in parts if part]


def _mode(values: Values) -> Found:
    mode = values.get("femu_mode", 2)
    if mode == 1:
        return Found(note="a block device")
    if "femu_mode" in values:
        message = f"{mode} ({MODES[mode]})"
    else:
        message = "left out, which is 2 (no SSD)"
    raise ConfigError("femu_mode", f"{message}; accepted: 1, a block device, and 3, zones")


def _same(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: values[name]


def _cells(values: Values) -> Found:
    kind = values["nand_cell_type"]
    if kind in CELLS:
        return Found(CELLS[kind][0])
    if kind:
        note = "outside 1 to 4: the three latencies count, as there"
        return Found("TLC", kind="converted", note=note)
    return Found("TLC", note="none there; the three latencies are of all pages")


def _latency(name: str, place: int) -> Any:  # noqa: ANN401 (a rule)
    def take(values: Values) -> Found:
        cells = CELLS.get(values["nand_cell_type"])
        if cells is None:
            return Found(values[name] / 1000)
        found: Any = cells[place]
        note = f"nand_cell_type has {cells[0]} of its own table"
        times = [one / 1000 for one in found] if isinstance(found, tuple) else found / 1000
        return Found(times, kind="unread", note=note)

    return take


def _lines_of_blocks(values: Values) -> int:
    return int(values["blks_per_pl"] * values["pls_per_lun"])


def _dies(values: Values) -> int:
    return int(values["luns_per_ch"] * values["nchs"])


def page_bytes(values: Values) -> int:
    """Return the bytes of a page."""
    return int(values["secsz"] * values["secs_per_pg"])


def _bus(values: Values) -> Found:
    time = values["pg_xfer_lat"]
    if time == 0:
        return Found(FREE_BUS_MT_S, kind="exact", note="transfers take no time")
    return Found(page_bytes(values) * 1000 / time, note="bytes of a page in that time")


def _spare(values: Values) -> Found:
    raw = _lines_of_blocks(values) * _dies(values) * values["pgs_per_blk"] * page_bytes(values)
    if values["op_pcent"]:
        return Found(values["op_pcent"] / 100, kind="exact", note="devsz_mb is not used")
    logical = values["devsz_mb"] << 20
    if raw <= logical:
        message = f"{values['devsz_mb']} MiB of {raw} B of flash leave no spare"
        raise ConfigError("devsz_mb", f"{message}; accepted: up to {(raw - 1) >> 20} MiB")
    return Found(raw / logical - 1, note=f"{raw} B of flash / {logical} B - 1")


def _multi_plane(values: Values) -> Found:
    if values["pls_per_lun"] == 1:
        return Found(kind="exact")
    return Found(written=True, note="planes work together here, as superblocks need it")


def _reserve(values: Values) -> Found:
    lines = int((1 - values["gc_thres_pcent_high"] / 100.0) * _lines_of_blocks(values))
    note = f"{lines} lines x {_dies(values)} dies"
    planes = values["pls_per_lun"]
    if planes == 1:
        return Found(lines * _dies(values), note=note)
    blocks = max(lines // planes, 1) * _dies(values)
    return Found(blocks, kind="approximated", note=f"{note}, {planes} planes joined here")


def _soft(values: Values) -> Found:
    if values["gc_thres_pcent"] >= values["gc_thres_pcent_high"]:
        return Found(note="the other threshold is reached first")
    note = "above it, lines with 1/8 of their pages dead are collected there, none here"
    return Found(note=note, figures=True)


def _policy(values: Values) -> Found:
    name = values["gc_policy"]
    if name in POLICIES:
        kind = "exact" if isinstance(POLICIES[name], str) else "converted"
        return Found(POLICIES[name], kind=kind)
    note = f"`{name}` is not known there, which is greedy" if name else "empty is greedy"
    return Found("greedy", kind="approximated" if name else "exact", note=note, figures=False)


def _mapping(values: Values) -> Found:
    name = values["mapping"]
    if name in {"", "page"}:
        return Found("page", kind="exact")
    if name == "dftl":
        cache = (values["mapping_cache_mb"] or CACHE_MIB) << 20
        return Found({"kind": "dftl", "cache_bytes": cache})
    if name == "fast":
        note = f"{FAST_LOG_BLOCKS} log blocks there, one of each die at least here"
        blocks = max(FAST_LOG_BLOCKS, _dies(values))
        return Found({"kind": "fast", "log_blocks": blocks}, note=note)
    raise ConfigError("mapping", f"`{name}`; accepted: page, dftl, fast")


def _allocation(values: Values) -> Found:
    if values["mapping"] == "fast":
        return Found(ABSENT, kind="approximated", note="log blocks are of dies here")
    return Found({"kind": "superblock", "dies": "all"})


def _link(values: Values) -> Found:
    rate = values["pcie_bandwidth_mbps"]
    return Found({"kind": "custom", "mb_s": rate} if rate else "ideal")


def _zero(name: str) -> Any:  # noqa: ANN401 (a rule)
    return lambda values: Found(figures=values[name] > 0)


def _map_cache(values: Values) -> Found:
    return Found(kind="converted" if values["mapping"] == "dftl" else "unread", note="in mapping")


RULES = (
    Rule("femu_mode", "", "exact", value=_mode),
    Rule("nchs", "nand.channels", "exact", value=_same("nchs")),
    Rule("luns_per_ch", "nand.dies_per_channel", "exact", value=_same("luns_per_ch")),
    Rule("pls_per_lun", "nand.planes_per_die", "exact", value=_same("pls_per_lun")),
    Rule("(planes)", "nand.multi_plane", "approximated", value=_multi_plane),
    Rule("blks_per_pl", "nand.blocks_per_plane", "exact", value=_same("blks_per_pl")),
    Rule("pgs_per_blk", "nand.pages_per_block", "exact", value=_same("pgs_per_blk")),
    Rule("secsz secs_per_pg", "nand.page_size_bytes", "converted", "product", page_bytes),
    Rule("nand_cell_type", "nand.cell_type", "converted", value=_cells),
    Rule("pg_rd_lat", "nand.timing.t_read_us", "converted", value=_latency("pg_rd_lat", 1)),
    Rule("pg_wr_lat", "nand.timing.t_program_us", "converted", value=_latency("pg_wr_lat", 2)),
    Rule("blk_er_lat", "nand.timing.t_erase_us", "converted", value=_latency("blk_er_lat", 3)),
    Rule("ch_xfer_lat", "", "unread", "stored, never used there"),
    Rule("pg_xfer_lat", "nand.timing.bus_mt_s", "approximated", value=_bus),
    Rule("cmd_addr_lat", "nand.timing.command_us", "approximated", "for each operation here",
         lambda values: Found(values["cmd_addr_lat"] / 1000,
                              kind="" if values["cmd_addr_lat"] else "exact")),
    Rule("op_pcent devsz_mb", "ftl.over_provisioning_pct", "converted", value=_spare),
    Rule("(a line is a block of each die)", "ftl.allocation", "exact", value=_allocation),
    Rule("gc_thres_pcent_high", "ftl.gc_reserve_blocks", "converted", value=_reserve),
    Rule("gc_thres_pcent", "", "dropped", value=_soft),
    Rule("gc_policy", "ftl.gc_policy", "exact", value=_policy),
    Rule("mapping", "ftl.mapping", "approximated", value=_mapping),
    Rule("mapping_cache_mb", "", "converted", value=_map_cache),
    Rule("pcie_bandwidth_mbps", "host.link", "converted", value=_link),
    Rule("fw_cpu_ns", "host.command_cost_us", "approximated", "of one core",
         lambda values: Found(values["fw_cpu_ns"] / 1000,
                              kind="" if values["fw_cpu_ns"] else "exact")),
    *ERROR_FREE,
    *(Rule(name, "", "dropped", "not here", _zero(name)) for name in LOUD.split()),
    Rule("namespaces", "", "dropped", "one here",
         lambda values: Found(figures=values["namespaces"] > 1)),
    Rule("namespace_sizes namespace_modes", "", "dropped", "one here", figures=True),
    Rule("cache_evict", "", "dropped", "of read_cache_mb"),
    Rule(QUIET, "", "dropped", "without effect on figures"),
    Rule(" ".join(femu_zones.FIELDS), "", "unread", "of femu_mode 3"),
)  # fmt: skip


def rules(given: Sequence[Entry]) -> Sequence[Rule]:
    """Return the rules of the mode that options ask for."""
    modes = [entry.text.strip() for entry in given if entry.name == "femu_mode"]
    if modes[-1:] != ["3"]:
        return RULES
    alike = [rule for rule in RULES if rule.kind == "dropped" and rule.names != "gc_thres_pcent"]
    named = {name for rule in (*femu_zones.RULES, *alike) for name in rule.fields}
    unused = " ".join(name for name in FIELDS if name not in named)
    return (*femu_zones.RULES, *alike, Rule(unused, "", "unread", "of femu_mode 1"))
