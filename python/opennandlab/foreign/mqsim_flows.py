"""MQSim 7ec40e3: `workload.xml`, whose elements are in tables/mqsim-flows.tsv.

Read from its source: `exec/IO_Flow_Parameter_Set.cpp`, `host/IO_Flow_*.cpp`, `exec/Host_System.cpp`
and `utils/Logical_Address_Partitioning_Unit.cpp`. It has no defaults: a missing element is refused.
Each flow has its part of the logical space, one after the other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain, product
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.table import Found, Values, load

SECTOR_BYTES = 512
# Sizes that a normal distribution is cut into at most, and how far its tails are followed.
SIZES_MAX = 256
TAIL_SIGMAS = 4.0
# What a flow may be bound to, and how many of them a drive has.
PLACES = {
    "Channel_IDs": "Flash_Channel_Count",
    "Chip_IDs": "Chip_No_Per_Channel",
    "Die_IDs": "Die_No_Per_Chip",
    "Plane_IDs": "Plane_No_Per_Die",
}


def _ids(text: str) -> tuple[int, ...]:
    """Read numbers with commas between."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        raise ValueError("numbers with commas between")
    return tuple(sorted({int(part) for part in parts}))


def sectors(flows: Sequence[Values], device: Values) -> list[int]:
    """Return how many sectors each flow has: of each of its planes, an even share.

    Raises:
        ConfigError: for the number of a channel, chip, die or plane that the drive does not have.
    """
    of_sata = device["HostInterface_Type"] == "SATA"
    used: list[list[tuple[int, ...]]] = []
    for flow in flows:
        lists = []
        for name, of_device in PLACES.items():
            count = device[of_device]
            given = range(count) if of_sata else flow[name]
            if max(given) >= count:
                message = f"`{max(given)}`; accepted: 0 to {count - 1}, as the device file has it"
                raise ConfigError(f"{flow.group}{name}", message)
            lists.append(given)
        used.append(list(product(*lists)))
    shared = Counter(plane for planes in used for plane in planes)
    pages = device["Block_No_Per_Plane"] * device["Page_No_Per_Block"]
    of_plane = pages * (device["Page_Capacity"] // SECTOR_BYTES)
    whole_plane = of_plane * (1.0 - device["Overprovisioning_Ratio"])
    return [sum(math.floor(whole_plane / shared[one]) for one in planes) for planes in used]


def namespaces(
    scenarios: Sequence[Sequence[Values]], device: Values, *, as_run: bool
) -> list[dict[str, Any]]:
    """Return `host.namespaces`: one for each set of chips that flows share with no others.

    None if flows are on all of the drive or on some planes, if they overlap (the blocks of a plane
    are of all its flows there), and with a trace among them. Scenarios must agree, since they
    have one device file. As run, the dies of a chip are planes.
    """
    is_divided = device["HostInterface_Type"] == "NVME" and device["Ideal_Mapping_Table"]
    if not scenarios or not is_divided:
        return []
    parts: dict[tuple[tuple[int, ...], ...], str] = {}
    for number, scenario in enumerate(scenarios):
        sets = {tuple(flow[name] for name in PLACES) for flow in scenario}
        if number and sets != set(parts):
            return []
        parts |= {one: f"chips-{place}" for place, one in enumerate(sorted(sets), 1)}
    whole = ("Die_IDs", "Plane_IDs") if as_run else ("Plane_IDs",)
    used = [set(product(*one[:3])) for one in parts]
    if any(len(flow[name]) < device[PLACES[name]] for name in whole for flow in chain(*scenarios)):
        return []
    if sum(map(len, used)) > len(set().union(*used)):
        return []
    chips, dies = device["Chip_No_Per_Channel"], device["Die_No_Per_Chip"]
    scheme = device["Plane_Allocation_Scheme"].upper()
    planes_last = scheme.endswith("DP" if as_run else "P")
    if not planes_last or len(used[0]) == device["Flash_Channel_Count"] * chips * dies:
        return []
    step = (1, chips) if scheme.find("W") < scheme.find("D") else (dies, 1)
    for flow in chain(*scenarios):
        flow["namespace"] = parts[tuple(flow[name] for name in PLACES)]
    return [
        {
            "name": name,
            "channels": list(channels),
            "dies": list(of_chips)
            if as_run
            else sorted(chip * step[0] + die * step[1] for chip in of_chips for die in of_dies),
        }
        for (channels, of_chips, of_dies, _), name in parts.items()
    ]


def divide(flows: Sequence[Values], device: Values) -> None:
    """Give the values of each flow its part: its begin, its end, and all, in sectors.

    All is the drive, or the namespace of the flow.
    """
    found = sectors(flows, device)
    shared = {
        "modes": len({flow["Device_Level_Data_Caching_Mode"] for flow in flows}),
        "classes": len({flow.get("Priority_Class") for flow in flows}),
        **{
            name: device[name]
            for name in ("HostInterface_Type", "Enabled_Preconditioning", "written")
        },
    }
    ends: Counter[str | None] = Counter()
    for flow, count in zip(flows, found, strict=True):
        place = flow.setdefault("namespace", None)
        ends[place] += count
        end = ends[place]
        places = PLACES.items() if device["HostInterface_Type"] == "NVME" else ()
        everywhere = all(len(flow[name]) == device[given] for name, given in places)
        flow.update(shared, everywhere=everywhere, part=(end - count, end))
    for flow in flows:
        flow["part"] = (*flow["part"], ends[flow["namespace"]])


def _range(values: Values) -> Found:
    begin, end, total = values["part"]
    percent = values["Working_Set_Percentage"]
    note = ""
    if not 1 <= percent <= 100:
        percent, note = 100, "outside 1 to 100: all; "
    used = (end - begin) * percent / 100
    found = [round(100 * begin / total, 9), round(100 * (begin + used) / total, 9)]
    return Found(found, note=f"{note}of {end - begin} sectors of the flow, from sector {begin}")


def _hot(values: Values) -> Found:
    hot = values["Percentage_of_Hot_Region"]
    found = {"kind": "hot_cold", "fraction": hot / 100, "share": (100 - hot) / 100}
    return Found(found, note=f"{100 - hot} % of the requests go to {hot} % of the space")


def _align(values: Values) -> Found:
    unit = values["Address_Alignment_Unit"]
    if values["Address_Distribution"] == "STREAMING" and values["Average_Request_Size"] % unit:
        note = "sequential requests leave no gaps here"
        return Found(SECTOR_BYTES * unit, kind="approximated", note=note)
    return Found(SECTOR_BYTES * unit)


def _sizes(values: Values) -> Found:
    mean = values["Average_Request_Size"]
    if values["Request_Size_Distribution"] == "FIXED":
        return Found(SECTOR_BYTES * mean)
    sigma = values["Variance_Request_Size"]
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
        found[SECTOR_BYTES * ((low + high) // 2)] = round(weight, 9)
    return {size: weight for size, weight in found.items() if weight > 0}, step


def _arrivals(values: Values) -> Found:
    rate = values["Bandwidth"]
    per_second = rate // SECTOR_BYTES // values["Average_Request_Size"]
    if per_second == 0:
        message = f"`{rate}` is less than a request of the average size in a second"
        raise ConfigError(f"{values.group}Bandwidth", f"{message}; accepted: more")
    gap = 10**9 // per_second
    note = f"a gap of {gap} ns: 1e9 div ({rate} B/s div 512 div the average size)"
    return Found({"arrival": "poisson", "iops": 1e9 / gap}, note=note)


def _seconds(values: Values) -> dict[str, float]:
    return {"seconds": values["Stop_Time"] / 1e9}


def _percentage(values: Values) -> int:
    return int(values["Percentage_To_Be_Executed"] / 100 * values["requests"])


PREFIX = "IO_Flow_Parameter_Set_"
SYNTHETIC, TRACE = f"{PREFIX}Synthetic", f"{PREFIX}Trace_Based"
TABLES = {
    SYNTHETIC: load(globals(), "mqsim-flows", section="Synthetic"),
    TRACE: load(globals(), "mqsim-flows", section="Trace"),
}
