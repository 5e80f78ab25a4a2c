"""MQSim 7ec40e3: what becomes of `ssdconfig.xml`, whose elements are in tables/mqsim-device.tsv.

Read from its source: `exec/*_Parameter_Set.cpp`, `exec/SSD_Device.cpp`, and the constructors that
it calls. Times are nanoseconds, sectors 512 bytes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.table import ABSENT, Found, Values, load

# Payload of a packet of the link over all of its bytes.
PACKET_SHARE = 128 / 156
# Bus of a drive whose transfers take no time.
FREE_BUS_MT_S = 1e6
# Least threshold of collection, in blocks of a plane.
RESERVE_MIN = 10
# Longest that a write waits for reads here.
STARVATION_US_MAX = 1e7
# What MQSim's wear leveling does whatever the file has.
WEAR_DONE = {"kind": "static", "threshold": 100}
CACHE_PAGES_MAX = 1 << 24
SUSPEND_TIMES = ("Suspend_Erase_Time", "Suspend_Program_Time")
BITS = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}


def planes(values: Values) -> int:
    """Count the planes of the drive."""
    chips = values["Flash_Channel_Count"] * values["Chip_No_Per_Channel"]
    return int(chips * values["Die_No_Per_Chip"] * values["Plane_No_Per_Die"])


def _latencies(values: Values, verb: str) -> Found:
    technology = values["Flash_Technology"]
    found = [values[f"Page_{verb}_Latency_{bit}"] / 1000 for bit in BITS[technology]]
    unused = [bit for bit in BITS["TLC"] if bit not in BITS[technology]]
    if technology == "TLC" and len(set(found)) > 1:
        note = "pages take turns in pairs there, one by one here"
        return Found(found, kind="approximated", note=note)
    return Found(found, unused=tuple(f"Page_{verb}_Latency_{bit}" for bit in unused))


def _bus(values: Values) -> Found:
    """A cycle of the bus is cut to whole nanoseconds there."""
    rate, width = values["Channel_Transfer_Rate"], values["Flash_Channel_Width"]
    cycle = 1000 // rate
    run = width * 1000 / cycle if cycle else FREE_BUS_MT_S
    note = "rate x width"
    if run != rate * width:
        note += "; a cycle is cut to whole ns there" + ("" if cycle else ": the bus takes no time")
    return Found(rate * width, run, note=note)


def _dies(values: Values) -> Found:
    """A chip gets a command only when all of its dies are idle, so dies do not overlap."""
    chips, dies = values["Chip_No_Per_Channel"], values["Die_No_Per_Chip"]
    note = "product" if dies == 1 else "product; the dies of a chip take turns there, as its planes"
    return Found(chips * dies, chips, note=note)


def _planes(values: Values) -> Found:
    count = values["Plane_No_Per_Die"]
    return Found(count, count * values["Die_No_Per_Chip"])


def _suspend(values: Values) -> Found:
    """The case that would suspend falls through to the one that refuses in TSU_*.cpp."""
    support = values["CMD_Suspension_Support"]
    erase, program = "ERASE" in support, "PROGRAM" in support
    if support == "NONE":
        return Found(kind="exact", note="none", unused=SUSPEND_TIMES)
    time = values[SUSPEND_TIMES[not erase]] / 1000
    return Found({"erase": erase, "program": program, "suspend_us": time}, None)


def _scheduler(_: Values, kind: str) -> Found:
    """However long a write waits there, a read goes first."""
    return Found(kind, {"kind": "priority", "write_starvation_us": STARVATION_US_MAX})


def _reserve(values: Values) -> Found:
    blocks = values["Block_No_Per_Plane"]
    each = max(math.floor(values["GC_Exec_Threshold"] * blocks), RESERVE_MIN)
    return Found(each * planes(values), note=f"{each} blocks x {planes(values)} planes")


def _drawn(values: Values) -> dict[str, Any]:
    return {"kind": "d_choices", "d": max(values["Block_No_Per_Plane"].bit_length() - 1, 1)}


def _collection(values: Values) -> Found:
    if not values["Preemptible_GC_Enabled"]:
        note = "of preemptible collection alone"
        return Found("whole", kind="exact", note=note, unused=("GC_Hard_Threshold",))
    hard = max(math.floor(values["GC_Hard_Threshold"] * values["Block_No_Per_Plane"]), 1)
    return Found({"kind": "steps", "hard_spare_blocks": hard, "soft_spare_blocks": max(hard, 3)})


def _wear(values: Values) -> Found:
    written: dict[str, Any] = {"kind": "none"}
    if values["Static_Wearleveling_Enabled"]:
        written = {"kind": "static", "threshold": values["Static_Wearleveling_Threshold"]}
    elif values["Dynamic_Wearleveling_Enabled"]:
        written = {"kind": "dynamic"}
    return Found(written, WEAR_DONE)


def _map(values: Values) -> Found:
    if values["Ideal_Mapping_Table"]:
        return Found("page", kind="exact", note="all in RAM", unused=("CMT_Capacity",))
    pages = planes(values) * values["Block_No_Per_Plane"] * values["Page_No_Per_Block"]
    entry = math.ceil((2 * math.log2(pages) + values["Page_Capacity"] // 512) / 8)
    entries = values["CMT_Capacity"] // entry
    units = values["Page_Capacity"] // values["unit"] if values["parts"] == "reads" else 1
    note = f"{entries} entries of {entry} B there, of {4 * units} B here"
    return Found({"kind": "dftl", "cache_bytes": 4 * entries * units}, note=note)


def _allocation(values: Values) -> Found:
    """As run, dies of a chip are planes of it: D and P become one letter before W and D do."""
    scheme = order("Plane_Allocation_Scheme", values["Plane_Allocation_Scheme"])
    chips, dies = values["Chip_No_Per_Channel"], values["Die_No_Per_Chip"]
    found = letters(scheme, {"W": chips, "D": dies})
    run = merged(scheme, "DP", {"D": dies, "P": values["Plane_No_Per_Die"]})
    kind = "approximated" if "approximated" in {found.kind, run.kind} else ""
    return replace(found, run=run.written.replace("W", "D"), kind=kind)


def order(name: str, text: str) -> str:
    """Return the four letters of a key, of channel, chip, die and plane.

    Raises:
        ConfigError: for another text.
    """
    scheme = text.upper()
    if sorted(scheme) != list("CDPW"):
        message = f"`{scheme}`; accepted: an order of the letters C, W, D and P"
        raise ConfigError(name, message)
    return scheme


def letters(scheme: str, counts: dict[str, int]) -> Found:
    """Return our order of dies from one with chips (W) and dies of a chip (D).

    >>> letters("CWDP", {"W": 4, "D": 2}).written, letters("PWDC", {"W": 4, "D": 2}).written
    ('CDP', 'PDC')
    >>> letters("CWPD", {"W": 4, "D": 2}).kind, letters("CWPD", {"W": 4, "D": 1}).written
    ('approximated', 'CDP')
    """
    found = merged(scheme, "WD", counts)
    return replace(found, note=f"W and D are one letter here{': the first' if found.kind else ''}")


def merged(scheme: str, pair: str, counts: dict[str, int]) -> Found:
    """Return an order in which two letters are one, the second: that of which there are several."""
    single = next((letter for letter in reversed(pair) if counts[letter] == 1), None)
    first, second = sorted(pair, key=scheme.index)
    ours = scheme.replace(single or second, "").replace(pair[0], pair[1])
    near = single or first + second in scheme
    return Found(ours, kind="" if near else "approximated")


def _cache(values: Values, verb: str) -> Found:
    """A cache is there if a flow uses it; without flows, as MQSim's own flows do."""
    modes: list[str] = values["modes"] or ["WRITE_CACHE"]
    uses = [verb in mode for mode in modes]
    pages = values["Data_Cache_Capacity"] // values["Page_Capacity"]
    if not any(uses) or pages == 0:
        return Found(ABSENT, kind="exact", note="no flow uses it")
    note = "of one size with the read cache there" if verb == "WRITE" else ""
    if len(set(uses)) > 1:
        note = "of all flows here, of some there"
    if not values["modes"]:
        note = "as flows with WRITE_CACHE use it: no workload file was given"
    found: dict[str, Any] = {"pages": min(pages, CACHE_PAGES_MAX)}
    return Found(found | ({"mode": "write_back"} if verb == "WRITE" else {}), note=note)


def _depth(values: Values) -> Found:
    taken = values["Queue_Fetch_Size"] * max(values["flows"], 1)
    return Found(values["IO_Queue_Depth"], min(values["IO_Queue_Depth"], taken))


def _link(values: Values) -> Any:  # noqa: ANN401 (a rule)
    rate = values["PCIe_Lane_Bandwidth"] * values["PCIe_Lane_Count"] * 1000
    return {"kind": "custom", "mb_s": rate, "efficiency": round(PACKET_SHARE, 9)}


TABLE = load(globals(), "mqsim-device", "common")
