"""MQSim's files: what becomes of each element, and the latencies that MQSim itself prints."""

from __future__ import annotations

import json
import math
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opennandlab as onl
from conftest import Cli
from foreign_files import REQUESTS, drive, scenarios, synthetic, trace
from opennandlab.base.errors import ConfigError
from opennandlab.foreign import mqsim_device, mqsim_flows
from opennandlab.foreign.conversion import Conversion
from opennandlab.foreign.converting import Request, convert
from opennandlab.foreign.table import Row, Values
from places import ROOT

SHARED = ROOT.parent / "shared" / "migrate"


def made(folder: Path, device: str, workload: str = "", *, as_run: bool = False) -> Conversion:
    files = [folder / "ssdconfig.xml"]
    files[0].write_text(device)
    if workload:
        files.append(folder / "workload.xml")
        files[1].write_text(workload)
    return convert(Request(files, as_run=as_run))


def rows(found: Conversion, name: str) -> list[Row]:
    return [row for row in found.rows if row.source.rpartition("/")[2] == name]


def kind(found: Conversion, name: str) -> str:
    return rows(found, name)[0].kind


def keys(folder: Path, *, as_run: bool = False, **changes: Any) -> dict[str, Any]:
    return made(folder, drive(**changes), as_run=as_run).device.keys


# What MQSim 7ec40e3 printed for this drive and trace, whole us: rate, read, write.
@pytest.mark.parametrize(
    ("rate", "read", "write"), [(333, 102, 777), (800, 86, 761), (1200, 77, 752)]
)
def test_as_run_a_read_and_a_write_take_what_mqsim_prints(
    rate: int, read: int, write: int, tmp_path: Path
) -> None:
    text = drive(Channel_Transfer_Rate=rate)
    found = made(tmp_path, text, scenarios(trace()), as_run=True)
    (tmp_path / "t.trace").write_text(REQUESTS)
    (words,) = found.replays
    options = {"format": "mqsim", "beyond": "wrap"}
    result = onl.replay(onl.load_device(found.document()), words[0], options)
    latency = result.metrics["latency_us"]
    assert abs(latency["read"]["mean"] - read) < 1
    assert abs(latency["write"]["mean"] - write) < 1


def test_the_vectors_take_what_mqsim_prints() -> None:
    folder = SHARED / "vectors"
    if not folder.exists():
        pytest.skip("the vectors are not beside the checkout")
    files = [folder / "mqsim-ssdconfig.xml", folder / "mqsim-workload.xml"]
    found = convert(Request(files, as_run=True))
    (words,) = found.replays
    assert words[0] == str(folder / "t.trace")
    options = {"format": "mqsim", "beyond": "wrap"}
    latency = onl.replay(onl.load_device(found.document()), words[0], options).metrics["latency_us"]
    assert abs(latency["read"]["mean"] - 102) < 1
    assert abs(latency["write"]["mean"] - 777) < 1


ARRIVALS = {
    "Synthetic_Generator_Type": "BANDWIDTH",
    "Bandwidth": 60_000_000,
    "Total_Requests_To_Generate": 30_000,
}
WRITES = {"Read_Percentage": 0, "Total_Requests_To_Generate": 1500}


# What MQSim 7ec40e3 printed for these flows of pages anywhere on two dies, us. Means of 1500
# requests and more, with other random numbers, differ by less than 2 %.
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"Average_No_of_Reqs_in_Queue": 1}, 94),
        ({"Average_No_of_Reqs_in_Queue": 4}, 210),
        ({"Average_No_of_Reqs_in_Queue": 8}, 389),
        (ARRIVALS, 117),
        (WRITES | {"Average_No_of_Reqs_in_Queue": 1}, 769),
        (WRITES | {"Average_No_of_Reqs_in_Queue": 4}, 1743),
        (WRITES | {"Read_Percentage": 70, "Average_No_of_Reqs_in_Queue": 4}, 687),
    ],
)
def test_flows_wait_as_long_as_in_mqsim(
    changes: dict[str, Any], expected: int, tmp_path: Path
) -> None:
    reads = {"Read_Percentage": 100, "Total_Requests_To_Generate": 3000}
    flow = synthetic(
        Address_Alignment_Unit=16, Average_Request_Size=16, Stop_Time=0,
        Working_Set_Percentage=100, **reads | changes,
    )  # fmt: skip
    # So many spare blocks that nothing is collected.
    device = drive(Overprovisioning_Ratio="0.25", Channel_Transfer_Rate=400, Block_No_Per_Plane=256)
    found = made(tmp_path, device, scenarios(flow), as_run=True)
    result = onl.benchmark(onl.load_device(found.document()), found.workloads[0].document())
    assert result.metrics["latency_us"]["all"]["mean"] == pytest.approx(expected, rel=0.02, abs=1)


CHIPS: dict[str, Any] = {
    "Overprovisioning_Ratio": "0.25", "Channel_Transfer_Rate": 400, "Chip_No_Per_Channel": 2,
    "Die_No_Per_Chip": 2, "Plane_No_Per_Die": 2,
}  # fmt: skip
EVERYWHERE = {
    "Chip_IDs": "0,1",
    "Die_IDs": "0,1",
    "Plane_IDs": "0,1",
    "Working_Set_Percentage": 100,
}


# What MQSim 7ec40e3 printed for these flows on 4 chips of 2 dies of 2 planes, us: share of reads,
# sectors, queue depth, mean. With dies that work by themselves the last takes 1238.
@pytest.mark.parametrize(
    ("reads", "sectors", "depth", "expected"),
    [(100, 8, 1, 84), (100, 8, 8, 211), (0, 16, 1, 769), (0, 16, 8, 1831)],
)
def test_chips_work_by_themselves_and_parts_of_pages_cross_the_bus(
    reads: int, sectors: int, depth: int, expected: int, tmp_path: Path
) -> None:
    flow = synthetic(
        Address_Alignment_Unit=16, Average_Request_Size=sectors, Read_Percentage=reads,
        Average_No_of_Reqs_in_Queue=depth, Stop_Time=0, Total_Requests_To_Generate=4000,
        **EVERYWHERE,
    )  # fmt: skip
    found = made(tmp_path, drive(**CHIPS), scenarios(flow), as_run=True)
    result = onl.benchmark(onl.load_device(found.document()), found.workloads[0].document())
    assert result.metrics["latency_us"]["all"]["mean"] == pytest.approx(expected, rel=0.02, abs=1)
    # Nothing that is lost matters to reads: there is no collection, and no cache.
    assert bool(found.losses()) == (reads < 100)


def test_a_drive_takes_as_many_commands_as_mqsim_fetches(tmp_path: Path) -> None:
    device = drive(Queue_Fetch_Size=16)
    for flows, depth in ((synthetic(), 16), (synthetic() * 2, 32)):
        found = made(tmp_path, device, scenarios(flows), as_run=True).device.keys
        assert found["host.queue_depth_max"] == depth
    assert keys(tmp_path, Queue_Fetch_Size=16)["host.queue_depth_max"] == 65_535


def test_dies_of_a_chip_are_its_planes_as_run(tmp_path: Path) -> None:
    written, run = keys(tmp_path, **CHIPS), keys(tmp_path, as_run=True, **CHIPS)
    shape = "nand.dies_per_channel", "nand.planes_per_die", "ftl.gc_reserve_blocks"
    assert [written[name] for name in shape] == [4, 2, 10 * 16]
    assert [run[name] for name in shape] == [2, 4, 10 * 16]
    assert "controller.suspend" in written
    assert "controller.suspend" not in run
    assert run["controller.scheduler"]["kind"] == "priority"


def test_the_letters_of_dies_and_planes_become_one_as_run(tmp_path: Path) -> None:
    for scheme in map("".join, permutations("CWDP")):
        found = keys(tmp_path, as_run=True, Plane_Allocation_Scheme=scheme, **CHIPS)
        first = scheme.replace("D", "P") if scheme.index("D") < scheme.index("P") else scheme
        ours = "".join(dict.fromkeys(first.replace("D", "P").replace("W", "D")))
        assert found["ftl.allocation"] == ours


@pytest.mark.parametrize(
    ("rate", "as_run"),
    [(300, 333.333333), (333, 333.333333), (400, 500), (533, 1000), (1000, 1000), (1001, 1e6)],
)
def test_a_cycle_of_the_bus_is_cut_to_whole_ns_as_run(
    rate: int, as_run: float, tmp_path: Path
) -> None:
    changes = {"Channel_Transfer_Rate": rate}
    assert keys(tmp_path, **changes)["nand.timing.bus_mt_s"] == rate
    found = keys(tmp_path, as_run=True, **changes)["nand.timing.bus_mt_s"]
    assert found == pytest.approx(as_run)


def test_both_values_are_in_a_row_where_they_differ(tmp_path: Path) -> None:
    (row,) = rows(made(tmp_path, drive(Channel_Transfer_Rate=400)), "Channel_Transfer_Rate")
    assert (row.written, row.run) == (400, 500)
    assert row.to_dict()["as_run"] == 500
    (same,) = rows(made(tmp_path, drive(Channel_Transfer_Rate=500)), "Channel_Transfer_Rate")
    assert "as_run" not in same.to_dict()


@pytest.mark.parametrize(("share", "ours"), [("0.07", 0.0752688), ("0.28", 0.3888889)])
def test_over_provisioning_is_a_share_of_all_blocks_there(
    share: str, ours: float, tmp_path: Path
) -> None:
    found = keys(tmp_path, Overprovisioning_Ratio=share)
    assert found["ftl.over_provisioning_pct"] == pytest.approx(ours, abs=5e-8)


def test_the_numbers_of_a_drive_of_the_size_of_the_shipped_one(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        drive(
            Flash_Channel_Count=8, Chip_No_Per_Channel=4, Die_No_Per_Chip=2, Plane_No_Per_Die=2,
            Block_No_Per_Plane=2048, Page_No_Per_Block=256, Ideal_Mapping_Table="false",
        ),
    )  # fmt: skip
    assert found.device.keys["ftl.mapping"] == {"kind": "dftl", "cache_bytes": 932_064}
    assert "233016 entries of 9 B" in rows(found, "CMT_Capacity")[0].note
    assert found.device.keys["ftl.gc_reserve_blocks"] == 13_056
    assert found.device.keys["ftl.gc_policy"] == {"kind": "d_choices", "d": 11}
    assert kind(found, "Plane_No_Per_Die") == "approximated"
    assert found.device.keys["nand.dies_per_channel"] == 8


def test_a_reserve_that_does_not_fit_becomes_the_largest_that_does(tmp_path: Path) -> None:
    found = made(tmp_path, drive())
    largest = found.device.keys["ftl.gc_reserve_blocks"]
    assert "20 do not fit" in rows(found, "GC_Exec_Threshold")[0].note
    document = found.document()
    document["ftl"]["gc_reserve_blocks"] = largest + 1
    with pytest.raises(ConfigError, match="no spare block"):
        onl.load_device(document)


def test_the_sectors_of_flows_are_shares_of_their_planes() -> None:
    values = {
        "Flash_Channel_Count": 2, "Chip_No_Per_Channel": 1, "Die_No_Per_Chip": 1,
        "Plane_No_Per_Die": 1, "Block_No_Per_Plane": 64, "Page_No_Per_Block": 64,
        "Page_Capacity": 8192, "Overprovisioning_Ratio": 0.07, "HostInterface_Type": "NVME",
    }  # fmt: skip
    drive = Values(values)
    flow = Values({"Channel_IDs": (0, 1), "Chip_IDs": (0,), "Die_IDs": (0,), "Plane_IDs": (0,)})
    assert mqsim_flows.sectors([flow], drive) == [121_896]
    assert mqsim_flows.sectors([flow, flow], drive) == [60_948, 60_948]
    alone = Values(flow | {"Channel_IDs": (1,)})
    assert mqsim_flows.sectors([flow, alone], drive) == [60_948 + 30_474, 30_474]


def test_letters_of_dies_and_chips_become_one_where_they_are_neighbours() -> None:
    counts = {"W": 4, "D": 2}
    for scheme in map("".join, permutations("CWDP")):
        found = mqsim_device.letters(scheme, counts)
        near = abs(scheme.index("W") - scheme.index("D")) == 1
        assert (found.kind == "approximated") != near
        assert sorted(found.written) == ["C", "D", "P"]
        # The order of channel and plane, and of the first of the two letters, is kept.
        first = scheme.replace("W", "D") if scheme.index("W") < scheme.index("D") else scheme
        assert found.written == "".join(dict.fromkeys(first.replace("W", "D")))
        # With one chip on a channel its letter counts nothing.
        single = mqsim_device.letters(scheme, {"W": 1, "D": 2})
        assert single.written == scheme.replace("W", "")
        assert single.kind == ""


@pytest.mark.parametrize(
    ("as_run", "dies"), [(False, [[0, 1, 2, 3], [4, 5, 6, 7]]), (True, [[0, 1], [2, 3]])]
)
def test_flows_on_chips_of_their_own_have_namespaces(
    folder: Path, *, as_run: bool, dies: list[list[int]]
) -> None:
    """Dies of a chip are neighbours where their letter comes first; two flows share the second."""
    counts = {"Chip_No_Per_Channel": 4, "Die_No_Per_Chip": 2}
    scheme = "CWDP" if as_run else "CDWP"
    all_dies = {"Die_IDs": "0,1"}
    flows = [
        synthetic(Chip_IDs="0,1", Channel_IDs="1", **all_dies),
        synthetic(Chip_IDs="2,3", Working_Set_Percentage=100, **all_dies),
        synthetic(Chip_IDs="2,3", **all_dies),
    ]
    device = drive(Plane_Allocation_Scheme=scheme, **counts)
    found = made(folder, device, scenarios("".join(flows)), as_run=as_run)
    assert found.device.keys["host.namespaces"] == [
        {"name": "chips-1", "channels": [0, 1], "dies": dies[1]},
        {"name": "chips-2", "channels": [1], "dies": dies[0]},
    ]
    tenants = found.workloads[0].document()["tenants"]
    parts = [("chips-2", [0, 50]), ("chips-1", [0, 50]), ("chips-1", [50, 75])]
    assert [(one["namespace"], one["range_pct"]) for one in tenants] == parts
    assert kind(found, "Chip_IDs") == "exact"
    drive_here = onl.load_device(found.document())
    pages = [row["logical_pages"] for row in drive_here.effective["namespaces"]]
    assert pages[0] == pytest.approx(2 * pages[1], abs=1)
    onl.load_workload(found.workloads[0].document(), drive_here)


@pytest.mark.parametrize(
    ("flows", "changes"),
    [
        ([{"Channel_IDs": "0"}, {}], {}),  # they overlap
        ([{"Channel_IDs": "0", "Plane_IDs": "0"}], {"Plane_No_Per_Die": 2}),
        ([{"Channel_IDs": "0"}], {"Ideal_Mapping_Table": "false", "Overprovisioning_Ratio": "0.3"}),
        ([{"Channel_IDs": "0"}], {"Plane_Allocation_Scheme": "PWDC"}),
    ],
)
def test_flows_that_share_chips_or_use_some_planes_have_no_key(
    folder: Path, flows: list[dict[str, str]], changes: dict[str, Any]
) -> None:
    text = "".join(synthetic(**flow) for flow in flows)
    found = made(folder, drive(**changes), scenarios(text))
    assert "host.namespaces" not in found.device.keys
    assert kind(found, "Channel_IDs") == "approximated"
    assert "namespace" not in found.workloads[0].document()["tenants"][0]


def test_flows_become_tenants_of_a_workload_that_runs(cli: Cli, folder: Path) -> None:
    hot = synthetic(
        Address_Distribution="RANDOM_HOTCOLD", Percentage_of_Hot_Region=20,
        Request_Size_Distribution="NORMAL", Variance_Request_Size=2, Priority_Class="LOW",
    )  # fmt: skip
    steady = synthetic(
        Synthetic_Generator_Type="BANDWIDTH", Bandwidth=1_000_000, Stop_Time=20_000_000,
        Address_Distribution="STREAMING", Working_Set_Percentage=500,
    )  # fmt: skip
    (folder / "d.xml").write_text(drive(Overprovisioning_Ratio="0.2"))
    (folder / "w.xml").write_text(scenarios(hot + steady, synthetic()))
    run = cli("config", "from", "d.xml", "w.xml", "-o", "d.yaml", "--workload-output", "w.yaml",
              "--json")  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["written"] == ["d.yaml", "w-1.yaml", "w-2.yaml"]
    workload = onl.load_workload(folder / "w-1.yaml", onl.load_device(folder / "d.yaml"))
    first, second = workload["tenants"]
    assert (first["range_pct"], second["range_pct"]) == ((0, 25), (50, 100))
    assert (first["pattern"]["fraction"], first["pattern"]["share"]) == (0.2, 0.8)
    assert second["queue_depth"]["iops"] == pytest.approx(1e9 / 4_098_360)
    assert second["pattern"]["kind"] == "sequential"
    assert workload["total"]["seconds"] == 0.02
    assert first["priority"] == "low"
    sizes = json.loads(workload.json)["tenants"][0]["block_size_bytes"]
    assert sizes["4096"] == pytest.approx(0.5 * math.erf(0.5 / math.sqrt(2)), abs=1e-6)
    for command in found["commands"]:
        words = command.split()
        ran = cli(*words[1:], "--json")
        assert ran.returncode == 0, ran.stderr


def test_every_element_is_a_row_and_an_unknown_one_too(tmp_path: Path) -> None:
    device = drive().replace("<Seed>", "<New_Key unit='s'>3</New_Key><More><A>1</A></More><Seed>")
    device = device.replace("<Flash_Technology>", "<Seed>4</Seed><Flash_Technology>")
    device = device.replace(
        "<PCIe_Lane_Count>4", "<PCIe_Lane_Count>2</PCIe_Lane_Count><PCIe_Lane_Count>4"
    )
    workload = scenarios(synthetic() + trace(Zzz=1)).replace("</MQSim", "<Loose>1</Loose></MQSim")
    found = made(tmp_path, device, workload)
    unknown = {row.source for row in found.rows if row.note == "not known"}
    assert unknown == {
        "Device_Parameter_Set/New_Key", "Device_Parameter_Set/New_Key@unit",
        "Device_Parameter_Set/More/A",
        "Flash_Parameter_Set/Seed", "1.2/Zzz", "MQSim_IO_Scenarios/Loose",
    }  # fmt: skip
    assert all(
        row.kind == "dropped" and row.figures for row in found.rows if row.note == "not known"
    )
    given_rows = [row for row in found.rows if row.place]
    leaves = len(re.findall(r"<(\w+)[^>]*>[^<]*</\1>", device + workload)) + 1  # an attribute
    assert len(given_rows) == leaves
    first, second = rows(found, "PCIe_Lane_Count")
    assert {first.kind, second.kind} == {"unread", "converted"}
    assert found.device.keys["host.link"]["mb_s"] == 4000


def test_an_empty_device_is_that_of_mqsim_and_says_so(tmp_path: Path) -> None:
    found = made(tmp_path, "<Execution_Parameter_Set/>")
    sections = {name: one.section for name, one in mqsim_device.TABLE.fields.items()}
    assert {row.kind for row in found.rows if sections.get(row.source) == ""} == {"defaulted"}
    # Each key of the result has a row.
    assert {row.key for row in found.rows} - {""} == set(found.device.keys)
    assert found.device.keys["nand.channels"] == 8
    assert found.device.keys["nand.timing.bus_mt_s"] == 300


def test_the_elements_of_the_map_are_known() -> None:
    table = SHARED / "maps" / "mqsim.tsv"
    if not table.exists():
        pytest.skip("the map is not beside the checkout")
    tables = (mqsim_device.TABLE, *mqsim_flows.TABLES.values())
    known = {name for one in tables for name in one.fields}
    for line in table.read_text().splitlines():
        first = line.partition("\t")[0]
        if line.startswith(("#", "(")):
            continue
        for name in re.findall(r"[A-Z]\w*[a-z]\w*_\w*|Seed|Bandwidth|Intensity", first):
            if name.endswith("_"):
                assert any(one.startswith(name) for one in known), name
            else:
                assert name in known, name


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"Enabled_Preconditioning": "true"}, [{"kind": "sequential_fill"},
                                               {"kind": "workload", "until": "steady"}]),
        ({}, [{"kind": "sequential_fill"}]),
    ],
)  # fmt: skip
def test_a_workload_is_always_preceded_by_a_fill(
    changes: dict[str, str], expected: list[dict[str, str]], tmp_path: Path
) -> None:
    found = made(tmp_path, drive(**changes), scenarios(synthetic()))
    assert found.workloads[0].document()["precondition"] == expected


def test_the_cache_is_there_if_a_flow_uses_it(tmp_path: Path) -> None:
    modes = {"TURNED_OFF": (0, 0), "WRITE_CACHE": (1, 0), "READ_CACHE": (0, 1),
             "WRITE_READ_CACHE": (1, 1)}  # fmt: skip
    for mode, (writes, reads) in modes.items():
        flow = synthetic(Device_Level_Data_Caching_Mode=mode)
        found = made(tmp_path, drive(), scenarios(flow)).device.keys
        assert ("host.write_cache" in found, "host.read_cache" in found) == (writes, reads)
    assert made(tmp_path, drive()).device.keys["host.write_cache"]["pages"] == 128


def test_a_part_of_a_trace_is_counted_in_the_trace(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text(REQUESTS)
    found = made(tmp_path, drive(), scenarios(trace(Percentage_To_Be_Executed=60)))
    assert found.replays[0][-1] == "workload.total.ios=2"  # of 2.4
    (tmp_path / "t.trace").unlink()
    found = made(tmp_path, drive(), scenarios(trace(Percentage_To_Be_Executed=60)))
    assert kind(found, "Percentage_To_Be_Executed") == "dropped"
    found = made(tmp_path, drive(), scenarios(trace(Relay_Count=3)))
    assert kind(found, "Relay_Count") == "dropped"


def test_a_trace_elsewhere_is_not_opened(tmp_path: Path) -> None:
    """A workload file could have any readable file of the user opened and counted."""
    (tmp_path / "t.trace").write_text(REQUESTS)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "t.trace")
    for path in ("../t.trace", str(tmp_path / "t.trace"), "link"):
        flow = trace(File_Path=path, Percentage_To_Be_Executed=60)
        found = made(tmp_path / "inside", drive(), scenarios(flow))
        assert kind(found, "Percentage_To_Be_Executed") == "dropped"


WORDS = {
    "HostInterface_Type": ("NVME", "SATA"),
    "Caching_Mechanism": ("SIMPLE", "ADVANCED"),
    "Data_Cache_Sharing_Mode": ("EQUAL_PARTITIONING",),
    "Ideal_Mapping_Table": ("true", "false"),
    "Transaction_Scheduling_Policy": ("OUT_OF_ORDER", "priority_out_of_order"),
    "GC_Block_Selection_Policy": ("GREEDY", "RGA", "RANDOM", "RANDOM_P", "RANDOM_PP", "FIFO"),
    "Use_Copyback_for_GC": ("true",),
    "Preemptible_GC_Enabled": ("true",),
    "Static_Wearleveling_Enabled": ("false",),
    "Flash_Technology": ("SLC", "MLC", "TLC"),
    "CMD_Suspension_Support": ("NONE", "ERASE", "PROGRAM", "PROGRAM_ERASE"),
    "Plane_No_Per_Die": ("2", "4"),
    "Channel_Transfer_Rate": ("1200",),
    "Page_Read_Latency_MSB": ("99000",),
    "Page_Metadat_Capacity": ("0",),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WORDS.items() for value in values]
)
@pytest.mark.parametrize("as_run", [False, True])
def test_each_word_makes_a_device(
    name: str,
    value: str,
    as_run: bool,  # noqa: FBT001 (a parameter)
    tmp_path: Path,
) -> None:
    roomy = {"Overprovisioning_Ratio": "0.3", "Block_No_Per_Plane": 256, "CMT_Capacity": 1 << 20}
    found = made(tmp_path, drive(**roomy | {name: value}), as_run=as_run)
    assert onl.load_device(found.document())


LAUGHS = '<!DOCTYPE a [<!ENTITY b "bb">]>\n<Execution_Parameter_Set>&b;</Execution_Parameter_Set>'


@pytest.mark.parametrize(
    ("device", "workload", "message"),
    [
        (LAUGHS, "", "a document type or an entity"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><Execution_Parameter_Set/>', "", "document type"),
        ("<Execution_Parameter_Set>&b;</Execution_Parameter_Set>", "", "undefined entity"),
        ("<Execution_Parameter_Set>", "", "ssdconfig.xml:1: no element found"),
        ("<Other/>", "", "the root is `Other`; accepted: Execution_Parameter_Set"),
        ("<a>" * 40, "", "nested more than 16 deep"),
        ("<a>" + "<b/>" * 60_000, "", "more than 50000 elements"),
        ("<a>" + "x" * 70_000, "", "a text of more than 64 KiB"),
        (drive(Flash_Channel_Count="eight"), "", r"Flash_Channel_Count: `eight` at ssdconfig.xml:"),
        (drive(Flash_Channel_Count="0x8"), "", "a whole number from 1 to 1024"),
        (drive(Flash_Channel_Count="8.0"), "", "a whole number"),
        (drive(Overprovisioning_Ratio="nan"), "", "a number above 0"),
        (drive(Overprovisioning_Ratio="1.5"), "", "a number above 0 to 0.8"),
        (drive(Overprovisioning_Ratio="1e999"), "", "a number above 0"),
        (drive(Address_Mapping="HYBRID"), "", "accepted: PAGE_LEVEL"),
        (drive(Transaction_Scheduling_Policy="FLIN"), "", "OUT_OF_ORDER, PRIORITY_OUT_OF_ORDER"),
        (drive(Plane_Allocation_Scheme="CCDP"), "", "an order of the letters"),
        (drive(Page_Capacity="8000"), "", r"from ssdconfig.xml:\d+: Page_Capacity 8000"),
        (drive(Preemptible_GC_Enabled="true", GC_Hard_Threshold=0.5), "",
         r"from ssdconfig.xml:\d+: Preemptible_GC_Enabled true, GC_Hard_Threshold 0.5"),
        (drive(), scenarios(synthetic(Channel_IDs="0,2")), "1.1/Channel_IDs: `2`; accepted: 0"),
        (drive(), scenarios(synthetic(Channel_IDs="0,-1")), "numbers with commas between"),
        (drive(), scenarios(synthetic(Channel_IDs="")), "numbers with commas between"),
        (drive(), scenarios(synthetic(Read_Percentage=None)), "Read_Percentage: is missing"),
        (drive(), scenarios(synthetic(Synthetic_Generator_Type="BANDWIDTH")), "h: is missing"),
        (drive(), scenarios(synthetic(Synthetic_Generator_Type="BANDWIDTH", Bandwidth=100)),
         "less than a request"),
        (drive(), scenarios(synthetic(Stop_Time=0)), "asks for nothing"),
        (drive(), scenarios(""), "a scenario without a flow"),
        (drive(), "<MQSim_IO_Scenarios/>", "no IO_Scenario"),
        (drive(), scenarios(synthetic() * 65), "65 flows; accepted: 64"),
        (scenarios(synthetic()), "", "which a workload file needs"),
        (drive(), drive(), "a second Execution_Parameter_Set"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(
    device: str, workload: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        made(tmp_path, device, workload)


def test_files_of_more_than_16_mib_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    with path.open("wb") as stream:
        stream.write(b"<a>")
        stream.truncate(17 << 20)
    with pytest.raises(ConfigError, match="larger than 16 MiB"):
        convert(Request([path]))


TEXT = st.sampled_from(
    ["0", "1", "7", "0.3", "-1", "", "NONE", "PROGRAM_ERASE", "TLC", "SATA", "true"]
)


NAMES = st.sampled_from(sorted(mqsim_device.TABLE.fields))


@given(changes=st.dictionaries(NAMES, TEXT, max_size=4))
def test_any_values_are_refused_or_make_a_device_with_all_rows(
    changes: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = drive(**changes)
    try:
        found = made(folder, text)
    except ConfigError:
        return
    assert onl.load_device(found.document())
    named = {row.source for row in found.rows}
    assert set(re.findall(r"<(\w+)>[^<\n]*</", text)) <= named
    assert sum(found.counts().values()) == len(found.rows)
