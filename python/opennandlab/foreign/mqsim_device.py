"""MQSim 7ec40e3: `ssdconfig.xml`, element by element.

Read from its source: `exec/*_Parameter_Set.cpp`, `exec/SSD_Device.cpp`, and the constructors that
it calls. Times are nanoseconds, sectors 512 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.foreign.table import (
    ABSENT,
    ERROR_FREE,
    Field,
    Found,
    Rule,
    Values,
    always,
    decimal,
    plain,
    truth,
    whole,
    word,
)

# Where each element belongs.
SECTIONS = {
    "Execution_Parameter_Set": ("Host_Parameter_Set", "Device_Parameter_Set"),
    "Device_Parameter_Set": ("Flash_Parameter_Set",),
}
COUNT = whole(1, 1 << 20)
LATENCY = whole(0, 10**15)
# Payload of a packet of the link over all of its bytes.
PACKET_SHARE = 128 / 156
# Bus of a drive whose transfers take no time.
FREE_BUS_MT_S = 1e6
# Least threshold of collection, in blocks of a plane.
RESERVE_MIN = 10
# What MQSim's wear leveling does whatever the file has.
WEAR_DONE = {"kind": "static", "threshold": 100}

HOST_FIELDS = {
    "PCIe_Lane_Bandwidth": Field("GB/s", decimal(0, 1e3, above=True), 0.4),
    "PCIe_Lane_Count": Field("lanes", whole(1, 1024), 4),
    "SATA_Processing_Delay": Field("ns", LATENCY, 0),
    "Enable_ResponseTime_Logging": Field("", truth),
    "ResponseTime_Logging_Period_Length": Field("ns", LATENCY),
}
DEVICE_FIELDS = {
    "Seed": Field("", whole(-(2**31), 2**31 - 1)),
    "Enabled_Preconditioning": Field("", truth, default=True),
    "Memory_Type": Field("", word("FLASH"), "FLASH"),
    "HostInterface_Type": Field("", word("NVME", "SATA"), "NVME"),
    "IO_Queue_Depth": Field("commands", whole(1, 65535), 1024),
    "Queue_Fetch_Size": Field("commands", whole(1, 65535), 512),
    "Caching_Mechanism": Field("", word("SIMPLE", "ADVANCED"), "ADVANCED"),
    "Data_Cache_Sharing_Mode": Field("", word("SHARED", "EQUAL_PARTITIONING"), "SHARED"),
    "Data_Cache_Capacity": Field("B", whole(0, 2**32 - 1), 512 << 20),
    "Data_Cache_DRAM_Row_Size": Field("B", COUNT),
    "Data_Cache_DRAM_Data_Rate": Field("MT/s", COUNT),
    "Data_Cache_DRAM_Data_Busrt_Size": Field("B", COUNT),
    "Data_Cache_DRAM_tRCD": Field("ns", LATENCY),
    "Data_Cache_DRAM_tCL": Field("ns", LATENCY),
    "Data_Cache_DRAM_tRP": Field("ns", LATENCY),
    "Address_Mapping": Field("", word("PAGE_LEVEL"), "PAGE_LEVEL"),
    "Ideal_Mapping_Table": Field("", truth, default=False),
    "CMT_Capacity": Field("B", whole(0, 2**32 - 1), 2 << 20),
    "CMT_Sharing_Mode": Field("", word("SHARED", "EQUAL_PARTITIONING"), "SHARED"),
    "Plane_Allocation_Scheme": Field("", plain, "CWDP"),
    "Transaction_Scheduling_Policy": Field(
        "", word("OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER"), "OUT_OF_ORDER"
    ),
    "Overprovisioning_Ratio": Field("of all", decimal(0, 0.8, above=True), 0.07),
    "GC_Exec_Threshold": Field("of the blocks", decimal(0, 1), 0.05),
    "GC_Block_Selection_Policy": Field(
        "", word("GREEDY", "RGA", "RANDOM", "RANDOM_P", "RANDOM_PP", "FIFO"), "RGA"
    ),
    "Use_Copyback_for_GC": Field("", truth, default=False),
    "Preemptible_GC_Enabled": Field("", truth, default=True),
    "GC_Hard_Threshold": Field("of the blocks", decimal(0, 1), 0.005),
    "Dynamic_Wearleveling_Enabled": Field("", truth, default=True),
    "Static_Wearleveling_Enabled": Field("", truth, default=True),
    "Static_Wearleveling_Threshold": Field("erases", whole(1, 2**31), 100),
    "Preferred_suspend_erase_time_for_read": Field("ns", LATENCY),
    "Prefered_suspend_erase_time_for_read": Field("ns", LATENCY),
    "Preferred_suspend_erase_time_for_write": Field("ns", LATENCY),
    "Preferred_suspend_write_time_for_read": Field("ns", LATENCY),
    "Flash_Channel_Count": Field("", whole(1, 1024), 8),
    "Flash_Channel_Width": Field("B", whole(1, 64), 1),
    "Channel_Transfer_Rate": Field("MT/s", whole(1, 1_000_000), 300),
    "Chip_No_Per_Channel": Field("", whole(1, 1024), 4),
    "Flash_Comm_Protocol": Field("", word("NVDDR2"), "NVDDR2"),
}
FLASH_FIELDS = {
    "Flash_Technology": Field("", word("SLC", "MLC", "TLC"), "MLC"),
    "CMD_Suspension_Support": Field("", word("NONE", "ERASE", "PROGRAM", "PROGRAM_ERASE"), "ERASE"),
    **{
        f"Page_{verb}_Latency_{bit}": Field("ns", LATENCY, default)
        for verb, default in (("Read", 75_000), ("Program", 750_000))
        for bit in ("LSB", "CSB", "MSB")
    },
    "Block_Erase_Latency": Field("ns", LATENCY, 3_800_000),
    "Block_PE_Cycles_Limit": Field("erases", whole(1, 2**32 - 1), 10_000),
    "Suspend_Erase_Time": Field("ns", LATENCY, 700_000),
    "Suspend_Program_Time": Field("ns", LATENCY, 100_000),
    "Die_No_Per_Chip": Field("", whole(1, 1024), 2),
    "Plane_No_Per_Die": Field("", whole(1, 64), 2),
    "Block_No_Per_Plane": Field("", COUNT, 2048),
    "Page_No_Per_Block": Field("", whole(1, 65535), 256),
    "Page_Capacity": Field("B", whole(512, 1 << 20), 8192),
    "Page_Metadat_Capacity": Field("B", whole(0, 1 << 20), 1872),
}
# The elements that belong into each section.
FIELDS = {
    "Host_Parameter_Set": HOST_FIELDS,
    "Device_Parameter_Set": DEVICE_FIELDS,
    "Flash_Parameter_Set": FLASH_FIELDS,
}
SUSPEND_TIMES = ("Suspend_Erase_Time", "Suspend_Program_Time")
BITS = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}


def same(name: str) -> Callable[[Values], Any]:
    """Return a rule that takes a value as it is."""
    return lambda values: values[name]


def micro(name: str) -> Callable[[Values], Any]:
    """Return a rule that takes nanoseconds as microseconds."""
    return lambda values: values[name] / 1000


def planes(values: Values) -> int:
    """Count the planes of the drive."""
    chips = values["Flash_Channel_Count"] * values["Chip_No_Per_Channel"]
    return int(chips * values["Die_No_Per_Chip"] * values["Plane_No_Per_Die"])


def _latencies(verb: str) -> Callable[[Values], Found]:
    def take(values: Values) -> Found:
        technology = values["Flash_Technology"]
        found = [values[f"Page_{verb}_Latency_{bit}"] / 1000 for bit in BITS[technology]]
        unused = [bit for bit in BITS["TLC"] if bit not in BITS[technology]]
        names = tuple(f"Page_{verb}_Latency_{bit}" for bit in unused)
        if technology == "TLC" and len(set(found)) > 1:
            note = "pages take turns in pairs there, one by one here"
            return Found(found, kind="approximated", note=note)
        return Found(found, unused=names)

    return take


def _bus(values: Values) -> Found:
    """A cycle of the bus is cut to whole nanoseconds there."""
    rate, width = values["Channel_Transfer_Rate"], values["Flash_Channel_Width"]
    cycle = 1000 // rate
    run = width * 1000 / cycle if cycle else FREE_BUS_MT_S
    note = "rate x width"
    if run != rate * width:
        note += "; a cycle is cut to whole ns there" + ("" if cycle else ": the bus takes no time")
    return Found(rate * width, run, note=note)


def _planes_per_die(values: Values) -> Found:
    count = values["Plane_No_Per_Die"]
    return Found(count, kind="approximated" if count > 1 else "exact")


def _suspend(values: Values) -> Found:
    support = values["CMD_Suspension_Support"]
    erase, program = "ERASE" in support, "PROGRAM" in support
    if support == "NONE":
        return Found(kind="exact", note="none", unused=SUSPEND_TIMES)
    times = values["Suspend_Erase_Time"], values["Suspend_Program_Time"]
    found = {"erase": erase, "program": program, "suspend_us": times[0 if erase else 1] / 1000}
    if erase and program and times[0] != times[1]:
        return Found(found, kind="approximated", note="one time here: that of erases")
    return Found(
        found, unused=SUSPEND_TIMES[:0] if erase and program else SUSPEND_TIMES[erase:][:1]
    )


def _preferred(kind: str) -> Callable[[Values], Found]:
    """When MQSim suspends; here a read never waits for that."""
    return lambda values: Found(figures=kind in values["CMD_Suspension_Support"])


def _spare(values: Values) -> Any:  # noqa: ANN401 (a rule)
    ratio = values["Overprovisioning_Ratio"]
    return ratio / (1 - ratio)


def _reserve(values: Values) -> Found:
    blocks = values["Block_No_Per_Plane"]
    each = max(math.floor(values["GC_Exec_Threshold"] * blocks), RESERVE_MIN)
    return Found(each * planes(values), note=f"{each} blocks x {planes(values)} planes")


def _victim(values: Values) -> Found:
    policy = values["GC_Block_Selection_Policy"]
    if policy == "RGA":
        drawn = max(values["Block_No_Per_Plane"].bit_length() - 1, 1)
        note = "the best of log2 of the blocks of a plane"
        return Found({"kind": "d_choices", "d": drawn}, kind="converted", note=note)
    if policy in {"RANDOM_P", "RANDOM_PP"}:
        return Found("random", kind="approximated", note="random with a limit on live pages there")
    return Found(policy.lower())


def _collection(values: Values) -> Found:
    if not values["Preemptible_GC_Enabled"]:
        note = "of preemptible collection alone"
        return Found("whole", kind="exact", note=note, unused=("GC_Hard_Threshold",))
    hard = max(math.floor(values["GC_Hard_Threshold"] * values["Block_No_Per_Plane"]), 1)
    return Found({"kind": "steps", "hard_spare_blocks": hard, "soft_spare_blocks": max(hard, 3)})


def _copyback(values: Values) -> Found:
    if not values["Use_Copyback_for_GC"]:
        return Found("none", kind="exact", note="off")
    return Found({"limit": 255}, note="without a limit there, 255 copies in a row here")


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
    note = f"{entries} entries of {entry} B there, of 4 B here"
    return Found({"kind": "dftl", "cache_bytes": 4 * entries}, note=note)


def _shared(name: str, is_used: Callable[[Values], bool]) -> Callable[[Values], Found]:
    def take(values: Values) -> Found:
        if values[name] == "SHARED" or not is_used(values):
            return Found()
        return Found(kind="approximated", note="shared here")

    return take


def _allocation(values: Values) -> Found:
    scheme = values["Plane_Allocation_Scheme"].upper()
    if sorted(scheme) != list("CDPW"):
        message = f"`{scheme}`; accepted: an order of the letters C, W, D and P"
        raise ConfigError("Plane_Allocation_Scheme", message)
    counts = {"W": values["Chip_No_Per_Channel"], "D": values["Die_No_Per_Chip"]}
    return letters(scheme, counts)


def letters(scheme: str, counts: dict[str, int]) -> Found:
    """Return our order of dies from one with chips (W) and dies of a chip (D).

    >>> letters("CWDP", {"W": 4, "D": 2}).written, letters("PWDC", {"W": 4, "D": 2}).written
    ('CDP', 'PDC')
    >>> letters("CWPD", {"W": 4, "D": 2}).kind, letters("CWPD", {"W": 4, "D": 1}).written
    ('approximated', 'CDP')
    """
    single = next((letter for letter in "DW" if counts[letter] == 1), None)
    ours = scheme.replace(single, "") if single else scheme
    if "WD" in ours or "DW" in ours:
        ours = ours.replace("WD", "D").replace("DW", "D")
    elif not single:
        first = min("WD", key=ours.index)
        ours = ours.replace("D" if first == "W" else "W", "").replace("W", "D")
        return Found(ours, kind="approximated", note="W and D are one letter here: the first")
    return Found(ours.replace("W", "D"), note="W and D are one letter here")


def _scheduler(values: Values) -> Found:
    if values["Transaction_Scheduling_Policy"] == "OUT_OF_ORDER":
        if values["CMD_Suspension_Support"] == "NONE":
            return Found("out_of_order")
        note = "reads go first there too, and suspension needs it here"
        return Found("priority", kind="approximated", note=note)
    return Found("priority", kind="approximated", note="by class of the flow there, by kind here")


def _write_cache(values: Values) -> Found:
    return _cache(values, "WRITE")


def _read_cache(values: Values) -> Found:
    return _cache(values, "READ")


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
    found: dict[str, Any] = {"pages": min(pages, 1 << 24)}
    return Found(found | ({"mode": "write_back"} if verb == "WRITE" else {}), note=note)


def _dram(values: Values) -> Found:
    used = any("CACHE" in mode for mode in values["modes"] or ["WRITE_CACHE"])
    return Found(figures=used)


def _protocol(values: Values) -> Found:
    if values["HostInterface_Type"] == "SATA":
        return Found("sata_ncq", kind="exact")
    return Found({"kind": "nvme", "queues": max(16, len(values["modes"]))})


def _depth(values: Values) -> Found:
    depth = values["IO_Queue_Depth"]
    if values["HostInterface_Type"] == "SATA" and depth > 32:
        return Found(32, kind="approximated", note="SATA has 32")
    return Found(depth, note="of each flow there, of the drive here")


def _link(values: Values) -> Any:  # noqa: ANN401 (a rule)
    rate = values["PCIe_Lane_Bandwidth"] * values["PCIe_Lane_Count"] * 1000
    return {"kind": "custom", "mb_s": rate, "efficiency": round(PACKET_SHARE, 9)}


def _overhead(values: Values) -> Found:
    if values["HostInterface_Type"] != "SATA":
        return Found(ABSENT, kind="unread", note="of SATA alone")
    return Found(values["SATA_Processing_Delay"] / 1000)


def _fetch(values: Values) -> Found:
    return Found(figures=values["Queue_Fetch_Size"] < values["depth"])


def _precondition(values: Values) -> Found:
    if not values["modes"]:
        return Found(figures=False, note="a step of a workload, and no workload file was given")
    note = "a step of the workload: the drive is full here, and written until its WAF is steady"
    if not values["Enabled_Preconditioning"]:
        note = "the drive is empty there, full here: reads of pages never written cost as much"
    return Found(kind="approximated", note=note)


def _metadata(values: Values) -> Any:  # noqa: ANN401 (a rule)
    return values["Page_Metadat_Capacity"] or ABSENT


RULES = (
    Rule("Flash_Channel_Count", "nand.channels", "exact", value=same("Flash_Channel_Count")),
    Rule(
        "Chip_No_Per_Channel Die_No_Per_Chip", "nand.dies_per_channel", "converted", "product",
        lambda values: values["Chip_No_Per_Channel"] * values["Die_No_Per_Chip"],
    ),
    Rule("Plane_No_Per_Die", "nand.planes_per_die", "exact",
         "a pool of blocks for each plane there, for each die here", _planes_per_die),
    Rule("Block_No_Per_Plane", "nand.blocks_per_plane", "exact", value=same("Block_No_Per_Plane")),
    Rule("Page_No_Per_Block", "nand.pages_per_block", "exact", value=same("Page_No_Per_Block")),
    Rule("Page_Capacity", "nand.page_size_bytes", "exact", value=same("Page_Capacity")),
    Rule("Page_Metadat_Capacity", "nand.oob_size_bytes", "unread", "never transferred there",
         _metadata),
    Rule("Flash_Technology", "nand.cell_type", "exact", value=same("Flash_Technology")),
    Rule(" ".join(f"Page_Read_Latency_{bit}" for bit in BITS["TLC"]), "nand.timing.t_read_us",
         "converted", "of the page types of the cells", _latencies("Read")),
    Rule(" ".join(f"Page_Program_Latency_{bit}" for bit in BITS["TLC"]),
         "nand.timing.t_program_us", "converted", "of the page types of the cells",
         _latencies("Program")),
    Rule("Block_Erase_Latency", "nand.timing.t_erase_us", "converted", "",
         micro("Block_Erase_Latency")),
    Rule("Block_PE_Cycles_Limit", "nand.max_pe_cycles", "exact",
         value=same("Block_PE_Cycles_Limit")),
    Rule("Channel_Transfer_Rate Flash_Channel_Width", "nand.timing.bus_mt_s", "converted",
         value=_bus),
    Rule("(command cycles)", "nand.timing.command_us", "approximated",
         "reads 290 ns, programs 361, erases 220 there; within the whole us that it prints",
         always(Found(0.29, figures=False))),
    Rule("Flash_Comm_Protocol Memory_Type", "", "dropped", "the only one"),
    Rule("CMD_Suspension_Support Suspend_Erase_Time Suspend_Program_Time", "controller.suspend",
         "converted", value=_suspend),
    Rule("Preferred_suspend_erase_time_for_read", "", "unread",
         "the reader looks for `Prefered_`"),
    Rule("Prefered_suspend_erase_time_for_read Preferred_suspend_erase_time_for_write", "",
         "dropped", "here a read always suspends", _preferred("ERASE")),
    Rule("Preferred_suspend_write_time_for_read", "", "dropped", "here a read always suspends",
         _preferred("PROGRAM")),
    Rule("Overprovisioning_Ratio", "ftl.over_provisioning_pct", "converted",
         "a share of all blocks there, of the logical ones here: r/(1-r)", _spare),
    Rule("GC_Exec_Threshold", "ftl.gc_reserve_blocks", "approximated", value=_reserve),
    Rule("GC_Block_Selection_Policy", "ftl.gc_policy", "exact", value=_victim),
    Rule("Preemptible_GC_Enabled GC_Hard_Threshold", "ftl.collection", "approximated",
         "steps of 8 pages", _collection),
    Rule("(open blocks)", "ftl.write_frontiers", "exact", "one for the host, one for collection",
         always("host_gc")),
    Rule("Use_Copyback_for_GC", "ftl.copyback", "approximated", value=_copyback),
    Rule(
        "Dynamic_Wearleveling_Enabled Static_Wearleveling_Enabled Static_Wearleveling_Threshold",
        "ftl.wear_leveling", "unread", "always static with 100 there", _wear,
    ),
    Rule("Address_Mapping", "", "exact", "by pages"),
    Rule("Ideal_Mapping_Table CMT_Capacity", "ftl.mapping", "approximated", value=_map),
    Rule("CMT_Sharing_Mode", "", "dropped", "shared here too",
         _shared("CMT_Sharing_Mode", lambda values: not values["Ideal_Mapping_Table"])),
    Rule("Plane_Allocation_Scheme", "ftl.allocation", "exact", value=_allocation),
    Rule("Transaction_Scheduling_Policy", "controller.scheduler", "exact", value=_scheduler),
    Rule("Caching_Mechanism Data_Cache_Capacity", "host.write_cache", "approximated",
         value=_write_cache),
    Rule("(read cache)", "host.read_cache", "approximated", value=_read_cache),
    Rule("Data_Cache_Sharing_Mode", "", "dropped", "shared here too",
         _shared("Data_Cache_Sharing_Mode", lambda values: len(values["modes"]) > 1)),
    Rule(
        " ".join(name for name in DEVICE_FIELDS if "Cache_DRAM" in name), "", "dropped",
        "the cache takes no time here", _dram,
    ),
    Rule("HostInterface_Type", "host.protocol", "converted", value=_protocol),
    Rule("IO_Queue_Depth", "host.queue_depth_max", "converted", value=_depth),
    Rule("PCIe_Lane_Bandwidth PCIe_Lane_Count", "host.link", "converted",
         "packets carry 128 of 156 B", _link),
    Rule("SATA_Processing_Delay", "host.command_overhead_us", "approximated", value=_overhead),
    Rule("Queue_Fetch_Size", "", "dropped", "commands are taken one by one here", _fetch),
    Rule("Enable_ResponseTime_Logging ResponseTime_Logging_Period_Length", "", "dropped",
         "a log of times"),
    Rule("Enabled_Preconditioning", "", "dropped", value=_precondition),
    Rule("Seed", "", "dropped", "it does not reach the random numbers of collection there"),
    *ERROR_FREE,
)  # fmt: skip
