"""Small files of other simulators, written for these tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HOST = {
    "PCIe_Lane_Bandwidth": "1.0",
    "PCIe_Lane_Count": "4",
    "SATA_Processing_Delay": "400000",
    "Enable_ResponseTime_Logging": "false",
    "ResponseTime_Logging_Period_Length": "1000000",
}
DEVICE = {
    "Seed": "7",
    "Enabled_Preconditioning": "false",
    "Memory_Type": "FLASH",
    "HostInterface_Type": "NVME",
    "IO_Queue_Depth": "65535",
    "Queue_Fetch_Size": "512",
    "Caching_Mechanism": "ADVANCED",
    "Data_Cache_Sharing_Mode": "SHARED",
    "Data_Cache_Capacity": "1048576",
    "Data_Cache_DRAM_Row_Size": "8192",
    "Data_Cache_DRAM_Data_Rate": "100",
    "Data_Cache_DRAM_Data_Busrt_Size": "1",
    "Data_Cache_DRAM_tRCD": "13",
    "Data_Cache_DRAM_tCL": "13",
    "Data_Cache_DRAM_tRP": "13",
    "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "true",
    "CMT_Capacity": "2097152",
    "CMT_Sharing_Mode": "SHARED",
    "Plane_Allocation_Scheme": "CWDP",
    "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
    "Overprovisioning_Ratio": "0.07",
    "GC_Exec_Threshold": "0.05",
    "GC_Block_Selection_Policy": "RGA",
    "Use_Copyback_for_GC": "false",
    "Preemptible_GC_Enabled": "false",
    "GC_Hard_Threshold": "0.005",
    "Dynamic_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "20",
    "Preferred_suspend_erase_time_for_read": "700000",
    "Preferred_suspend_erase_time_for_write": "700000",
    "Preferred_suspend_write_time_for_read": "100000",
    "Flash_Channel_Count": "2",
    "Flash_Channel_Width": "1",
    "Channel_Transfer_Rate": "333",
    "Chip_No_Per_Channel": "1",
    "Flash_Comm_Protocol": "NVDDR2",
}
FLASH = {
    "Flash_Technology": "MLC",
    "CMD_Suspension_Support": "ERASE",
    "Page_Read_Latency_LSB": "75000",
    "Page_Read_Latency_CSB": "75000",
    "Page_Read_Latency_MSB": "75000",
    "Page_Program_Latency_LSB": "750000",
    "Page_Program_Latency_CSB": "750000",
    "Page_Program_Latency_MSB": "750000",
    "Block_Erase_Latency": "3800000",
    "Block_PE_Cycles_Limit": "10000",
    "Suspend_Erase_Time": "700000",
    "Suspend_Program_Time": "100000",
    "Die_No_Per_Chip": "1",
    "Plane_No_Per_Die": "1",
    "Block_No_Per_Plane": "64",
    "Page_No_Per_Block": "64",
    "Page_Capacity": "8192",
    "Page_Metadat_Capacity": "448",
}
PLACE = {
    "Priority_Class": "HIGH",
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Channel_IDs": "0,1",
    "Chip_IDs": "0",
    "Die_IDs": "0",
    "Plane_IDs": "0",
    "Initial_Occupancy_Percentage": "0",
}
TRACE = PLACE | {
    "File_Path": "t.trace",
    "Percentage_To_Be_Executed": "100",
    "Relay_Count": "1",
    "Time_Unit": "NANOSECOND",
}
SYNTHETIC = PLACE | {
    "Working_Set_Percentage": "50",
    "Synthetic_Generator_Type": "QUEUE_DEPTH",
    "Read_Percentage": "30",
    "Address_Distribution": "RANDOM_UNIFORM",
    "Percentage_of_Hot_Region": "0",
    "Generated_Aligned_Addresses": "true",
    "Address_Alignment_Unit": "8",
    "Request_Size_Distribution": "FIXED",
    "Average_Request_Size": "8",
    "Variance_Request_Size": "0",
    "Seed": "5",
    "Average_No_of_Reqs_in_Queue": "4",
    "Intensity": "32768",
    "Stop_Time": "10000000",
    "Total_Requests_To_Generate": "0",
}
# Two writes and two reads of a page, far apart: what each takes alone.
REQUESTS = "1000000 0 0 16 0\n11000000 0 16 16 0\n21000000 0 0 16 1\n31000000 0 16 16 1\n"


def elements(values: Mapping[str, str]) -> str:
    """Return an element for each value, a line each."""
    return "".join(f"<{name}>{value}</{name}>\n" for name, value in values.items())


def drive(**changes: Any) -> str:
    """Return a device file of MQSim; None leaves an element out."""
    sets = [
        {name: changes.get(name, value) for name, value in one.items()}
        for one in (HOST, DEVICE, FLASH)
    ]
    host, device, flash = (
        elements({name: value for name, value in one.items() if value is not None}) for one in sets
    )
    return (
        '<?xml version="1.0" encoding="us-ascii"?>\n<Execution_Parameter_Set>\n'
        f"<Host_Parameter_Set>\n{host}</Host_Parameter_Set>\n"
        f"<Device_Parameter_Set>\n{device}<Flash_Parameter_Set>\n{flash}</Flash_Parameter_Set>\n"
        "</Device_Parameter_Set>\n</Execution_Parameter_Set>\n"
    )


def synthetic(**changes: Any) -> str:
    """Return a flow of synthetic requests; None leaves an element out."""
    values = {name: value for name, value in (SYNTHETIC | changes).items() if value is not None}
    return (
        f"<IO_Flow_Parameter_Set_Synthetic>\n{elements(values)}</IO_Flow_Parameter_Set_Synthetic>\n"
    )


def trace(**changes: Any) -> str:
    """Return a flow of a trace."""
    values = {name: value for name, value in (TRACE | changes).items() if value is not None}
    name = "IO_Flow_Parameter_Set_Trace_Based"
    return f"<{name}>\n{elements(values)}</{name}>\n"


def scenarios(*flows: str) -> str:
    """Return a workload file with a scenario for each text of flows."""
    inside = "".join(f"<IO_Scenario>\n{one}</IO_Scenario>\n" for one in flows)
    return f"<MQSim_IO_Scenarios>\n{inside}</MQSim_IO_Scenarios>\n"


SCRIPT = """#!/bin/sh
secsz=512 # bytes
secs_per_pg=8
pgs_per_blk=256
ssd_size=12288
high=95
OPTIONS="-device femu"
OPTIONS=${OPTIONS}",devsz_mb=${ssd_size}"
OPTIONS=${OPTIONS}",femu_mode=1,serial=a,,b"
OPTIONS=${OPTIONS}",secsz=${secsz},secs_per_pg=${secs_per_pg},pgs_per_blk=${pgs_per_blk}"
OPTIONS=${OPTIONS}",gc_thres_pcent=75,gc_thres_pcent_high=${high},ch_xfer_lat=0"
sudo ./qemu -m 4G ${OPTIONS} -nographic
"""
HEADER = """/* models */
#define FIRST 0
#define SECOND 1
#if (BASE_SSD == FIRST)
#define NS_SSD_TYPE_0 SSD_TYPE_CONV
#define CELL_MODE (CELL_MODE_MLC)
#define SSD_PARTITIONS (4)
#define NAND_CHANNELS (8)
#define LUNS_PER_NAND_CH (2)
#define PLNS_PER_LUN (1)
#define FLASH_PAGE_SIZE KB(32)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 1)
#define BLKS_PER_PLN (8192)
#define NAND_CHANNEL_BANDWIDTH (800ull) //MB/s
#define PCIE_BANDWIDTH (3360ull)
#define NAND_4KB_READ_LATENCY_LSB (35760 - 6000)
#define NAND_4KB_READ_LATENCY_MSB (35760 + 6000)
#define NAND_4KB_READ_LATENCY_CSB (0)
#define NAND_READ_LATENCY_LSB (36013 - 6000)
#define NAND_READ_LATENCY_MSB (36013 + 6000)
#define NAND_READ_LATENCY_CSB (0)
#define NAND_PROG_LATENCY (185000)
#define NAND_ERASE_LATENCY (0)
#define FW_4KB_READ_LATENCY (21500)
#define OP_AREA_PERCENT (0.07)
#define GLOBAL_WB_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * ONESHOT_PAGE_SIZE * 2)
#define WRITE_EARLY_COMPLETION 1
#elif (BASE_SSD == SECOND)
#define NS_SSD_TYPE_0 SSD_TYPE_ZNS
#define CELL_MODE (CELL_MODE_TLC)
#define SSD_PARTITIONS (1)
#define NAND_CHANNELS (8)
#define LUNS_PER_NAND_CH (4)
#define PLNS_PER_LUN (1)
#define DIES_PER_ZONE (NAND_CHANNELS * LUNS_PER_NAND_CH)
#define FLASH_PAGE_SIZE KB(32)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 2)
#define ZONE_SIZE MB(512)
#define NAND_CHANNEL_BANDWIDTH (450ull)
#define PCIE_BANDWIDTH (3050ull)
#define NAND_4KB_READ_LATENCY_LSB (50000)
#define NAND_4KB_READ_LATENCY_MSB (50000)
#define NAND_4KB_READ_LATENCY_CSB (50000)
#define NAND_READ_LATENCY_LSB (58000)
#define NAND_READ_LATENCY_MSB (58000)
#define NAND_READ_LATENCY_CSB (58000)
#define NAND_PROG_LATENCY (560000)
#define NAND_ERASE_LATENCY (0)
#define FW_4KB_READ_LATENCY (20000)
#define OP_AREA_PERCENT (0)
#define GLOBAL_WB_SIZE (0)
#define WRITE_EARLY_COMPLETION 1
#define BLKS_PER_PLN 0
#endif
"""
INI = """# a drive
[pal]
Channel = 8
Package = 4
Die = 2
Plane = 1
Block = 512
Page = 256
PageSize = 16384
EnableMultiPlaneOperation = 0
NANDType = 1
LSBRead = 40000000   # 40 us
LSBWrite = 500000000
CSBRead = 0
CSBWrite = 0
MSBRead = 65000000
MSBWrite = 1300000000
Erase = 3500000000
DMASpeed = 400
DMAWidth = 16
PageAllocation = CWDP
[ftl]
OverProvisioningRatio = 0.25
GCThreshold = 0.05
EvictPolicy = 3
DChoiceParam = 3
GCReclaimBlocks = 2
[icl]
CacheSize = 33554432
EnableReadCache = 0
[nvme]
PCIEGeneration = 2
PCIELane = 4
WorkInterval = 1000000
"""
