"""MQSim 7ec40e3: `workload.xml`; a scenario is a workload, a flow of requests a tenant of it.

Read from its source: `exec/IO_Flow_Parameter_Set.cpp`, `host/IO_Flow_*.cpp`, `exec/Host_System.cpp`
and `utils/Logical_Address_Partitioning_Unit.cpp`. It has no defaults: a missing element is refused.
Each flow has its part of the logical space, one after the other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.table import (
    ABSENT,
    Field,
    Found,
    Rule,
    Values,
    always,
    plain,
    truth,
    whole,
    word,
)

SECTOR_BYTES = 512
SYNTHETIC = "IO_Flow_Parameter_Set_Synthetic"
TRACE = "IO_Flow_Parameter_Set_Trace_Based"
# Sizes that a normal distribution is cut into at most, and how far its tails are followed.
SIZES_MAX = 256
TAIL_SIGMAS = 4.0
COUNT = whole(1, 2**31 - 1)


def ids(text: str) -> tuple[int, ...]:
    """Read numbers with commas between.

    Raises:
        ValueError: for anything else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        raise ValueError("numbers with commas between")
    return tuple(sorted({int(part) for part in parts}))


COMMON = {
    "Priority_Class": Field("", word("URGENT", "HIGH", "MEDIUM", "LOW")),
    "Device_Level_Data_Caching_Mode": Field(
        "", word("TURNED_OFF", "WRITE_CACHE", "READ_CACHE", "WRITE_READ_CACHE")
    ),
    "Channel_IDs": Field("", ids),
    "Chip_IDs": Field("", ids),
    "Die_IDs": Field("", ids),
    "Plane_IDs": Field("", ids),
    "Initial_Occupancy_Percentage": Field("%", whole(0, 100)),
}
FIELDS = {
    SYNTHETIC: COMMON
    | {
        "Working_Set_Percentage": Field("%", whole(-(2**31), 2**31 - 1)),
        "Synthetic_Generator_Type": Field("", word("BANDWIDTH", "QUEUE_DEPTH")),
        "Read_Percentage": Field("%", whole(0, 100)),
        "Address_Distribution": Field("", word("STREAMING", "RANDOM_UNIFORM", "RANDOM_HOTCOLD")),
        "Percentage_of_Hot_Region": Field("%", whole(0, 100)),
        "Generated_Aligned_Addresses": Field("", truth),
        "Address_Alignment_Unit": Field("sectors", whole(1, 1 << 21)),
        "Request_Size_Distribution": Field("", word("FIXED", "NORMAL")),
        "Average_Request_Size": Field("sectors", whole(1, 1 << 21)),
        "Variance_Request_Size": Field("sectors", whole(0, 1 << 21)),
        "Seed": Field("", whole(-(2**31), 2**31 - 1)),
        "Average_No_of_Reqs_in_Queue": Field("requests", whole(1, 65536)),
        "Bandwidth": Field("B/s", whole(0, 2**31 - 1)),
        "Intensity": Field("", whole(0, 2**63 - 1)),
        "Stop_Time": Field("ns", whole(0, 10**18)),
        "Total_Requests_To_Generate": Field("requests", whole(0, 2**31 - 1)),
    },
    TRACE: COMMON
    | {
        "File_Path": Field("", plain),
        "Percentage_To_Be_Executed": Field("%", whole(1, 100)),
        "Relay_Count": Field("rounds", COUNT),
        "Time_Unit": Field("", word("PICOSECOND", "NANOSECOND", "MICROSECOND")),
    },
}


def need(values: Values, name: str) -> Any:  # noqa: ANN401 (as varied as the fields)
    """Return a value that must be there.

    Raises:
        ConfigError: when it is not.
    """
    if name not in values:
        group = f"{values['group']}/" if "group" in values else ""
        raise ConfigError(f"{group}{name}", "is missing, and MQSim has no default for it")
    return values[name]


def sectors(flows: Sequence[Values], device: Values) -> list[int]:
    """Return how many sectors each flow has: of each of its planes, an even share.

    Raises:
        ConfigError: for the number of a channel, chip, die or plane that the drive does not have.
    """
    counts = {
        "Channel_IDs": device["Flash_Channel_Count"],
        "Chip_IDs": device["Chip_No_Per_Channel"],
        "Die_IDs": device["Die_No_Per_Chip"],
        "Plane_IDs": device["Plane_No_Per_Die"],
    }
    of_sata = device["HostInterface_Type"] == "SATA"
    used: list[list[tuple[int, ...]]] = []
    for flow in flows:
        lists = []
        for name, count in counts.items():
            given = range(count) if of_sata else need(flow, name)
            if max(given) >= count:
                message = f"`{max(given)}`; accepted: 0 to {count - 1}, as the device file has it"
                raise ConfigError(f"{flow['group']}/{name}", message)
            lists.append(given)
        used.append(list(product(*lists)))
    shared = Counter(plane for planes in used for plane in planes)
    pages = device["Block_No_Per_Plane"] * device["Page_No_Per_Block"]
    of_plane = pages * (device["Page_Capacity"] // SECTOR_BYTES)
    whole_plane = of_plane * (1.0 - device["Overprovisioning_Ratio"])
    return [sum(math.floor(whole_plane / shared[one]) for one in planes) for planes in used]


def parts(flows: Sequence[Values], device: Values) -> Iterator[dict[str, Any]]:
    """Yield what each flow's rules know of its part: its begin, its end, and all, in sectors."""
    found = sectors(flows, device)
    begin = 0
    for count in found:
        yield {"part": (begin, begin + count, sum(found)), "flows": list(flows), "device": device}
        begin += count


def _range(values: Values) -> Found:
    begin, end, total = values["part"]
    percent = need(values, "Working_Set_Percentage")
    note = ""
    if not 1 <= percent <= 100:
        percent, note = 100, "outside 1 to 100: all"
    used = (end - begin) * percent / 100
    found = [round(100 * begin / total, 9), round(100 * (begin + used) / total, 9)]
    text = f"of {end - begin} sectors of the flow, from sector {begin}"
    return Found(found, note=f"{note}; {text}" if note else text)


def _resources(values: Values) -> Found:
    device = values["device"]
    if device["HostInterface_Type"] == "SATA":
        return Found(kind="unread", note="all, with SATA")
    counts = {
        "Channel_IDs": device["Flash_Channel_Count"],
        "Chip_IDs": device["Chip_No_Per_Channel"],
        "Die_IDs": device["Die_No_Per_Chip"],
        "Plane_IDs": device["Plane_No_Per_Die"],
    }
    if all(len(values[name]) == count for name, count in counts.items()):
        return Found(note="all of them")
    note = "a flow has a share of the space here, on all dies"
    return Found(kind="approximated", note=note)


def _caching(values: Values) -> Found:
    modes = {flow["Device_Level_Data_Caching_Mode"] for flow in values["flows"]}
    if len(modes) > 1:
        return Found(kind="approximated", note="caches are of all flows here")
    return Found(note="host.write_cache and host.read_cache of the device")


def _priority(values: Values) -> Found:
    classes = {flow.get("Priority_Class") for flow in values["flows"]}
    found = values["Priority_Class"].lower() if "Priority_Class" in values else ABSENT
    if len(classes) == 1:
        return Found(found, kind="exact", note="of all flows, so without effect")
    note = "acts here with host.protocol {kind: nvme, arbitration: weighted_round_robin}"
    return Found(found, note=note)


def _occupancy(values: Values) -> Found:
    enabled = values["device"]["Enabled_Preconditioning"]
    if not enabled:
        return Found(note="full here; empty there, Enabled_Preconditioning is off")
    if need(values, "Initial_Occupancy_Percentage") == 100:
        return Found(kind="exact", note="all is written")
    return Found(note="all is written here")


def _pattern(values: Values) -> Found:
    kind = need(values, "Address_Distribution")
    if kind == "STREAMING":
        return Found("sequential", note="from a place drawn at random there")
    hot = need(values, "Percentage_of_Hot_Region") if kind == "RANDOM_HOTCOLD" else 0
    if hot == 100:
        message = "`100` leaves nothing cold; accepted: 0 to 99"
        raise ConfigError(f"{values['group']}/Percentage_of_Hot_Region", message)
    if kind == "RANDOM_HOTCOLD" and hot == 0:
        return Found("random", kind="approximated", note="0 % hot: one sector gets all there")
    if kind == "RANDOM_HOTCOLD":
        found = {"kind": "hot_cold", "fraction": hot / 100, "share": (100 - hot) / 100}
        return Found(found, note=f"{100 - hot} % of the requests go to {hot} % of the space")
    return Found("random", kind="exact")


def _hot(values: Values) -> Found:
    if need(values, "Address_Distribution") == "RANDOM_HOTCOLD":
        return Found(note="in pattern")
    return Found(kind="unread", note="of RANDOM_HOTCOLD alone")


def _align(values: Values) -> Found:
    if not need(values, "Generated_Aligned_Addresses"):
        return Found(SECTOR_BYTES, note="any sector")
    unit = need(values, "Address_Alignment_Unit")
    found = Found(SECTOR_BYTES * unit)
    if need(values, "Address_Distribution") != "STREAMING":
        return found
    if need(values, "Average_Request_Size") % unit == 0:
        return found
    return Found(found.written, kind="approximated", note="sequential requests leave no gaps here")


def _sizes(values: Values) -> Found:
    mean = need(values, "Average_Request_Size")
    if need(values, "Request_Size_Distribution") == "FIXED":
        return Found(SECTOR_BYTES * mean)
    sigma = need(values, "Variance_Request_Size")
    if sigma == 0:
        return Found(SECTOR_BYTES * mean, note="without spread")
    found, step = normal_sizes(mean, sigma)
    note = f"the `variance` is a standard deviation there; cut at {TAIL_SIGMAS:g} of them"
    if step > 1:
        return Found(found, kind="approximated", note=f"{note}; in steps of {step} sectors")
    return Found(found, note=note)


def normal_sizes(mean: int, sigma: int) -> tuple[dict[int, float], int]:
    """Return sizes in bytes with their weights, and the step between them in sectors.

    Sizes drawn are rounded up to whole sectors, one at least.

    >>> sizes, step = normal_sizes(8, 1)
    >>> round(sizes[8 * 512], 4), step  # between 7 and 8: half of the values within one sigma
    (0.3413, 1)
    """

    def below(sector: float) -> float:
        return 0.5 * (1 + math.erf((sector - mean) / (sigma * math.sqrt(2))))

    first = max(1, math.ceil(mean - TAIL_SIGMAS * sigma))
    last = math.ceil(mean + TAIL_SIGMAS * sigma)
    step = -(-(last - first + 1) // SIZES_MAX)
    found = {}
    for low in range(first, last + 1, step):
        high = min(low + step - 1, last)
        weight = below(high) - (0.0 if low == 1 else below(low - 1))
        if weight > 0:
            found[SECTOR_BYTES * ((low + high) // 2)] = round(weight, 9)
    return {size: weight for size, weight in found.items() if weight > 0}, step


def _arrivals(values: Values) -> Found:
    if need(values, "Synthetic_Generator_Type") == "QUEUE_DEPTH":
        return Found(need(values, "Average_No_of_Reqs_in_Queue"), kind="exact")
    rate = need(values, "Bandwidth")
    per_second = rate // SECTOR_BYTES // need(values, "Average_Request_Size")
    if per_second == 0:
        message = f"`{rate}` is less than a request of the average size in a second"
        raise ConfigError(f"{values['group']}/Bandwidth", f"{message}; accepted: more")
    gap = 10**9 // per_second
    note = f"a gap of {gap} ns: 1e9 div ({rate} B/s div 512 div the average size)"
    return Found({"arrival": "poisson", "iops": 1e9 / gap}, note=note)


def _used(generator: str) -> Any:  # noqa: ANN401 (a rule)
    def take(values: Values) -> Found:
        if need(values, "Synthetic_Generator_Type") == generator:
            return Found(note="in queue_depth")
        return Found(kind="unread", note=f"of {generator} alone")

    return take


def _variance(values: Values) -> Found:
    if need(values, "Request_Size_Distribution") == "NORMAL":
        return Found(note="in block_size_bytes")
    return Found(kind="unread", note="of NORMAL alone")


def _alignment(values: Values) -> Found:
    if need(values, "Generated_Aligned_Addresses"):
        return Found(note="in align_bytes")
    return Found(kind="unread", note="of aligned addresses alone")


def _total(values: Values) -> Found:
    stop = need(values, "Stop_Time")
    if stop:
        return Found({"seconds": stop / 1e9})
    count = need(values, "Total_Requests_To_Generate")
    if count == 0:
        message = "`0` with Stop_Time 0 asks for nothing; accepted: one of them above 0"
        raise ConfigError(f"{values['group']}/Total_Requests_To_Generate", message)
    return Found({"ios": count}, note="Stop_Time is 0")


def _requests(values: Values) -> Found:
    if need(values, "Stop_Time"):
        return Found(kind="unread", note="Stop_Time is above 0")
    return Found(note="in total")


def _relay(values: Values) -> Found:
    count = values.get("Relay_Count", 1)
    if count == 1:
        return Found(kind="exact")
    note = f"once here; there round k begins at k x the last time of the trace, {count} rounds"
    return Found(kind="dropped", note=note, figures=True)


def _percentage(values: Values) -> Found:
    percent, count = values.get("Percentage_To_Be_Executed", 100), values["requests"]
    if values.get("Relay_Count", 1) > 1:
        return Found(kind="unread", note="acts with one round alone")
    if percent == 100:
        return Found(kind="exact", note="all requests")
    if count is None:
        return Found(kind="dropped", note="the trace was not found beside the file", figures=True)
    return Found(math.floor(percent / 100 * count), note=f"of {count} requests of the trace")


SHARED_RULES = (
    Rule("Priority_Class", "priority", "approximated", value=_priority),
    Rule("Device_Level_Data_Caching_Mode", "", "converted", value=_caching),
    Rule("Channel_IDs Chip_IDs Die_IDs Plane_IDs", "", "exact", value=_resources),
    Rule("Initial_Occupancy_Percentage", "", "approximated", value=_occupancy),
)
RULES: Mapping[str, tuple[Rule, ...]] = {
    SYNTHETIC: (
        *SHARED_RULES,
        Rule("Working_Set_Percentage", "range_pct", "converted", value=_range),
        Rule("Read_Percentage", "read_pct", "exact",
             value=lambda values: need(values, "Read_Percentage")),
        Rule("Address_Distribution", "pattern", "converted", value=_pattern),
        Rule("Percentage_of_Hot_Region", "", "converted", value=_hot),
        Rule("Generated_Aligned_Addresses", "align_bytes", "converted", value=_align),
        Rule("Address_Alignment_Unit", "", "converted", value=_alignment),
        Rule("Request_Size_Distribution Average_Request_Size", "block_size_bytes", "converted",
             value=_sizes),
        Rule("Variance_Request_Size", "", "converted", value=_variance),
        Rule("Synthetic_Generator_Type", "queue_depth", "converted", value=_arrivals),
        Rule("Average_No_of_Reqs_in_Queue", "", "exact", value=_used("QUEUE_DEPTH")),
        Rule("Bandwidth", "", "converted", value=_used("BANDWIDTH")),
        Rule("Intensity", "", "unread", "the reader looks for `Bandwidth`"),
        Rule("Seed", "", "dropped", "other random numbers here: `--seed`"),
        Rule("Stop_Time", "total", "converted", value=_total),
        Rule("Total_Requests_To_Generate", "", "converted", value=_requests),
    ),
    TRACE: (
        *(rule for rule in SHARED_RULES if rule.names != "Priority_Class"),
        Rule("Priority_Class", "", "dropped", "a replay has one host"),
        Rule("File_Path", "", "converted", "the command `replay`, relative to the XML file"),
        Rule("Percentage_To_Be_Executed", "total", "converted", value=_percentage),
        Rule("Relay_Count", "", "converted", value=_relay),
        Rule("Time_Unit", "", "unread", "always ns"),
        Rule("(addresses beyond the part)", "", "approximated",
             "wrapped at the end of the drive here, a sector before the end of the part there",
             always(Found())),
    ),
}  # fmt: skip
