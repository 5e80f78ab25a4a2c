"""FEMU, NVMeVirt and SimpleSSD: numbers of their own sources, and texts that nobody should give."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opennandlab as onl
from foreign_files import HEADER, INI, SCRIPT
from opennandlab.base.errors import ConfigError
from opennandlab.foreign import (
    femu,
    femu_zones,
    mqsim_device,
    mqsim_flows,
    nvmevirt,
    simplessd,
)
from opennandlab.foreign.arithmetic import evaluated
from opennandlab.foreign.conversion import Conversion
from opennandlab.foreign.converting import Request, convert
from opennandlab.foreign.table import ARITHMETIC, FOLDER, KINDS
from places import ROOT

SHARED = ROOT.parent / "shared" / "migrate"
GIB = 1 << 30


def made(folder: Path, text: str, **more: Any) -> Conversion:
    path = folder / "file.txt"
    path.write_text(text)
    found = convert(Request([path], **more))
    assert onl.load_device(found.document())
    return found


def kinds(found: Conversion) -> dict[str, str]:
    return {row.source: row.kind for row in found.rows}


def command(**options: Any) -> str:
    given = {"femu_mode": 1, "devsz_mb": 12288} | options
    words = ",".join(f"{name}={value}" for name, value in given.items())
    return f"qemu -m 4G -device femu,{words},id=n0 -nographic\n"


def test_a_script_of_femu_is_read_and_not_run(tmp_path: Path) -> None:
    found = made(tmp_path, SCRIPT)
    keys = found.device.keys
    assert keys["ftl.over_provisioning_pct"] == pytest.approx(1 / 3)  # 16 GiB over 12 GiB
    assert keys["ftl.gc_reserve_blocks"] == 768  # 12 lines x 64 dies
    assert keys["ftl.allocation"] == {"kind": "superblock", "dies": "all"}
    assert keys["nand.timing.bus_mt_s"] == 1e6
    assert keys["nand.page_size_bytes"] == 4096
    rows = {row.source: row for row in found.rows}
    assert rows["serial"].value == "a,b"
    assert rows["ch_xfer_lat"].kind == "unread"
    assert rows["gc_thres_pcent"].figures
    assert rows["pg_rd_lat"].kind == "defaulted"


@pytest.mark.parametrize(
    ("options", "key", "value"),
    [
        ({"op_pcent": 25}, "ftl.over_provisioning_pct", 0.25),
        ({"nand_cell_type": 3}, "nand.timing.t_read_us", [56.5, 77.5, 106.0]),
        ({"nand_cell_type": 4}, "nand.cell_type", "QLC"),
        ({"pg_xfer_lat": 20_000}, "nand.timing.bus_mt_s", 204.8),
        ({"cmd_addr_lat": 300}, "nand.timing.command_us", 0.3),
        ({"gc_policy": "cost-benefit"}, "ftl.gc_policy", "cost_benefit"),
        ({"gc_policy": "d-choice"}, "ftl.gc_policy", {"kind": "d_choices", "d": 4}),
        ({"gc_policy": "best"}, "ftl.gc_policy", "greedy"),
        ({"mapping": "dftl"}, "ftl.mapping", {"kind": "dftl", "cache_bytes": 4 << 20}),
        ({"mapping": "fast", "op_pcent": 100}, "ftl.mapping", {"kind": "fast", "log_blocks": 64}),
        ({"pcie_bandwidth_mbps": 3200}, "host.link", {"kind": "custom", "mb_s": 3200}),
        ({"fw_cpu_ns": 1500}, "host.command_cost_us", 1.5),
        ({"gc_thres_pcent_high": 90}, "ftl.gc_reserve_blocks", 25 * 64),
        ({"pls_per_lun": 2, "devsz_mb": 24576}, "ftl.gc_reserve_blocks", 12 * 64),
    ],
)
def test_options_of_femu(options: dict[str, Any], key: str, value: object, tmp_path: Path) -> None:
    assert made(tmp_path, command(**options)).device.keys[key] == value


def test_losses_of_femu_are_told(tmp_path: Path) -> None:
    assert not made(tmp_path, command(gc_thres_pcent=95)).losses()
    found = made(tmp_path, command(gc_thres_pcent=95, ecc_step_ns=5, brand_new=1, status_lat=0))
    assert {row.source for row in found.losses()} == {"ecc_step_ns", "brand_new"}
    assert kinds(found)["brand_new"] == "dropped"


def test_zones_of_femu(tmp_path: Path) -> None:
    zoned = {"femu_mode": 3, "devsz_mb": 4096, "zns_num_ch": 8, "zns_num_lun": 4, "nchs": 8}
    found = made(tmp_path, command(**zoned))
    mapping = found.device.keys["ftl.mapping"]
    # 256 pages of 16 KiB in a chunk, of 2 planes of 32 dies.
    assert (mapping["zone_bytes"], mapping["open_zones_max"]) == (256 << 20, 16)
    assert onl.load_device(found.document()).effective["logical_bytes"] == 4 * GIB
    assert found.device.keys["nand.timing.t_program_us"] == 12_196 / 4
    assert kinds(found)["nchs"] == "unread"
    narrow = made(tmp_path, command(**zoned, zns_chnls_per_zone=2, zns_max_open=3))
    mapping = narrow.device.keys["ftl.mapping"]
    assert (mapping["zone_bytes"], mapping["open_zones_max"]) == (64 << 20, 3)
    assert kinds(narrow)["zns_chnls_per_zone"] == "approximated"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-device femu,devsz_mb=1024\n", "femu_mode: left out, which is 2"),
        (command(femu_mode=4), r"4 \(computing\); accepted: 1"),
        (command(femu_mode=3, devsz_mb=1), "make no zones"),
        (command(femu_mode=3, zns_flash_type=2), "1, 3 or 4"),
        (command(devsz_mb=20_000), "leave no spare"),
        (command(devsz_mb="12G"), "a whole number"),
        (command(nchs=0), "a whole number from 1"),
        (command(nchs="$N"), r"`\$N` has no line `N=number`; scripts are not run"),
        (command(nchs="$(id)"), "nothing is run"),
        (command(nchs="`id`"), "nothing is run"),
        (command(nchs="${N:-8}"), "nothing is run"),
        (command(mapping="hybrid"), "accepted: page, dftl, fast"),
        ("-device femu,femu_mode=1,oops\n", "`oops`; accepted: name=value"),
        (command() + command(), r"2 devices, at \S+:1, \S+:2; accepted: one"),
        # The second of a line was skipped.
        (command().rstrip() + " " + command(), r"2 devices, at \S+:1, \S+:1; accepted: one"),
        (SCRIPT + 'OPTIONS="-m 1"\n', "text at the end of it, without conditions"),
        (SCRIPT + 'if true; then\n  OPTIONS=${OPTIONS}",nchs=2"\nfi\n', "without conditions"),
    ],
)
def test_what_cannot_be_used_of_femu_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        made(tmp_path, text, format="femu")


def test_a_model_of_nvmevirt_in_a_memory(tmp_path: Path) -> None:
    found = made(tmp_path, HEADER, model="FIRST", memmap_bytes=64 * GIB)
    keys = found.device.keys
    (spare,) = (row for row in found.rows if row.source == "OP_AREA_PERCENT")
    assert "64222830056 B" in spare.note
    assert keys["nand.pages_per_block"] * 32768 * 8192 * 16 == 64 * GIB
    logical = onl.load_device(found.document()).effective["logical_bytes"]
    assert logical == pytest.approx(64_222_830_056, rel=1e-4)
    assert keys["ftl.allocation"] == {"kind": "superblock", "dies": 4}
    assert keys["ftl.gc_reserve_blocks"] == 32
    assert keys["ftl.write_buffer_pages"] == 32
    assert keys["nand.timing.bus_mt_s"] == pytest.approx(838.8608)
    assert keys["nand.timing.t_read_us"] == [30.013, 42.013]
    assert keys["host.link"]["mb_s"] == pytest.approx(3523.21536)


def test_a_model_with_zones(tmp_path: Path) -> None:
    found = made(tmp_path, HEADER, model="SECOND", memmap_bytes=8 * GIB)
    mapping = found.device.keys["ftl.mapping"]
    assert (mapping["zone_bytes"], mapping["open_zones_max"]) == (512 << 20, 15)  # less 1 MiB
    assert onl.load_device(found.document()).effective["logical_bytes"] == 15 * (512 << 20)
    assert kinds(found)["DIES_PER_ZONE"] == "converted"
    apart = HEADER.replace("(NAND_CHANNELS * LUNS_PER_NAND_CH)\n", "(1)\n")
    found = made(tmp_path, apart, model="SECOND", memmap_bytes=8 * GIB)
    assert kinds(found)["DIES_PER_ZONE"] == "approximated"


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (HEADER, {}, "--memmap-size: is missing"),
        (HEADER, {"memmap_bytes": GIB}, "--model: is missing; accepted: FIRST, SECOND"),
        (HEADER, {"memmap_bytes": GIB, "model": "THIRD"}, "`THIRD`; accepted: FIRST, SECOND"),
        (HEADER, {"memmap_bytes": 1 << 20, "model": "FIRST"}, "more than 1 MiB"),
        (HEADER.replace("(8192)", "(8192 / 0)"), {}, "no division by 0"),
        (HEADER.replace("(8192)", "BLKS_PER_PLN"), {}, "names that do not lead to themselves"),
        (HEADER.replace("(8192)", "(1 << 3)"), {}, r"accepted: numbers, \+ - \* /"),
        (HEADER.replace("(8192)", "system(1)"), {}, "`system` is none"),
        (HEADER.replace("(8192)", "-1"), {}, "a number from 0 on"),
        (HEADER.replace("(8192)", "9" * 30), {}, "up to 24 digits"),
        (HEADER.replace("(8192)", "(" * 5000), {}, "accepted: "),
        (HEADER.replace("(8192)", "1.5"), {}, "a whole number"),
        (HEADER.replace("(4)", "(3)"), {}, "does not divide 8 channels"),
        (
            HEADER.replace("== SECOND)", "== SECOND) && X"),
            {},
            "accepted: BASE_SSD == NAME, 0 and 1",
        ),
        (HEADER + "#endif\n", {}, "`#endif` without `#if`"),
        (HEADER + "#if 1\n", {}, "an `#if` without `#endif`"),
        (HEADER.replace("SSD_TYPE_CONV", "SSD_TYPE_KV"), {}, "SSD_TYPE_CONV, SSD_TYPE_ZNS"),
    ],
)
def test_what_cannot_be_used_of_nvmevirt_is_refused(
    text: str, more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    given_more = more if more or text == HEADER else {"memmap_bytes": 64 * GIB, "model": "FIRST"}
    with pytest.raises(ConfigError, match=message):
        made(tmp_path, text, format="nvmevirt", **given_more)


# Sums of products with parentheses, as text.
NUMBERS = st.integers(0, 99).map(str) | st.sampled_from(["KB(2)", "MB(1)", "0.5", "N", "7ull"])
SUMS = st.recursive(
    NUMBERS,
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=8,
)


@given(text=SUMS, other=SUMS, sign=st.sampled_from("+-*"))
def test_arithmetic_is_that_of_the_numbers(text: str, other: str, sign: str) -> None:
    whole = f"{text} {sign} {other} {sign} 3"
    plain = whole.replace("KB(2)", "2048").replace("MB(1)", str(1 << 20)).replace("N", "13")
    plain = re.sub(r"\d+\.?\d*", lambda found: f"Fraction('{found[0]}')", plain.replace("ull", ""))
    expected = eval(plain, {"Fraction": Fraction})  # noqa: S307 (made here)
    try:
        found = evaluated(whole, {"N": "(6 + 7)"}.get)
    except ValueError:
        return  # beyond 2^64 on the way
    assert found == expected


def test_whole_numbers_are_divided_as_c_divides_them() -> None:
    assert evaluated("7 / 2 * 2", {}.get) == 6
    assert evaluated("(0 - 7) / 2", {}.get) == -3
    assert evaluated("7.0 / 2", {}.get) == 3.5


def test_a_drive_of_simplessd(tmp_path: Path) -> None:
    found = made(tmp_path, INI)
    keys = found.device.keys
    assert keys["nand.timing.t_read_us"] == [40.0, 65.0]
    assert keys["nand.timing.bus_mt_s"] == 800
    assert keys["ftl.over_provisioning_pct"] == pytest.approx(1 / 3)
    assert keys["ftl.gc_policy"] == {"kind": "d_choices", "d": 6}
    assert keys["ftl.gc_reserve_blocks"] == 1638  # 0.05 of 32768 blocks
    assert keys["host.link"] == "pcie3x4"
    assert keys["host.write_cache"]["pages"] == 2048
    assert "host.read_cache" not in keys
    assert keys["ftl.allocation"] == "CDP"
    run = made(tmp_path, INI, as_run=True).device.keys
    assert run["nand.timing.bus_mt_s"] == pytest.approx(838.8608)  # a mega is 2^20 there
    assert kinds(found)["pal.CSBRead"] == "unread"
    assert kinds(found)["nvme.WorkInterval"] == "dropped"
    block = made(tmp_path, INI.replace("[ftl]", "SuperblockSize = CW\n[ftl]")).device.keys
    assert block["ftl.allocation"] == {"kind": "superblock", "dies": 32}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (INI.replace("Channel = 8", "Channel = %(Die)s"), "a whole number"),
        (INI.replace("DMAWidth = 16", "DMAWidth = 12"), "a multiple of 8"),
        (INI.replace("PageAllocation = CWDP", ""), "an order of the letters"),
        (INI.replace("NANDType = 1", "NANDType = 2"), "0 for a page of TLC"),
        (INI.replace("Die = 2", "Die = 2\nDie = 3"), "file.txt:6: duplicate option error"),
        (INI + "oops\n", "parsing error; accepted: sections of `key = value`"),
        ("Die = 2\n", "missing section header"),
        (INI.replace("PCIELane = 4", "PCIELane = 3"), "accepted: 1, 2, 4, 8"),
    ],
)
def test_what_cannot_be_used_of_simplessd_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        made(tmp_path, text, format="simplessd")


TABLES = {
    mqsim_device: [mqsim_device.TABLE],
    mqsim_flows: list(mqsim_flows.TABLES.values()),
    femu: [femu.BLOCKS, femu.ZONES],
    nvmevirt: [nvmevirt.table(())],
    simplessd: [simplessd.TABLE],
}


@pytest.mark.parametrize("module", TABLES)
def test_each_key_of_the_tables_has_one_row_and_each_word_of_them_a_meaning(
    module: ModuleType,
) -> None:
    for table in TABLES[module]:
        named = [name for rule in table.rules for name in rule.fields]
        assert sorted(named) == sorted(table.fields)
        for case in (case for rule in table.rules for case in rule.cases):
            assert case.kind.rstrip("*-") in {*KINDS, "refused"}
            word = case.how.partition(" ")[0]
            if case.kind == "refused":
                assert word in table.fields
            elif word.startswith(":"):
                json.loads(re.sub(r"\$\w+", "0", case.how[1:]))
            elif not word.startswith("/") and word not in ARITHMETIC:
                assert callable(table.rules[0].functions[f"_{word}"]), word


def test_each_function_of_a_value_is_in_a_table() -> None:
    """A function that no line names would be dead, and no tool would say so."""
    text = "\n".join(path.read_text() for path in FOLDER.glob("*.tsv"))
    cells = {word.partition(" ")[0] for line in text.splitlines() for word in line.split("\t")}
    for module in (*TABLES, femu_zones):
        source = Path(str(module.__file__)).read_text()
        for name in re.findall(r"^def _(\w+)\(", source, re.MULTILINE):
            assert name in cells or source.count(f"_{name}(") > 1, name


def test_the_keys_of_the_map_are_known() -> None:
    table = SHARED / "maps" / "others.tsv"
    if not table.exists():
        pytest.skip("the map is not beside the checkout")
    for line in table.read_text().splitlines():
        name, *rest = line.split("\t")
        if name == "femu" and not rest[0].startswith("("):
            for key in re.findall(
                r"[a-z]\w+", rest[0].partition(" 1-4")[0].replace("(op_pcent 0)", "")
            ):
                known = any(one == key or one.endswith(key) for one in femu.BLOCKS.fields)
                assert known, key


@pytest.mark.parametrize(
    ("files", "more", "message"),
    [
        (["a.yaml"], {}, "of no simulator that is known"),
        (["a.ini", "a.sh"], {}, "files of simplessd and femu; accepted: of one"),
        (["a.ini", "a.ini"], {}, "2 files; accepted for simplessd: one"),
        (["a.ini"], {"model": "X"}, "belongs to nvmevirt"),
        (["none"], {}, "No such file"),
        (["."], {}, "directory"),
        (["a.bin"], {"format": "femu"}, "byte 0 is not UTF-8"),
    ],
)
def test_files_that_are_none_are_refused(
    files: list[str], more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("nand: {}\n")
    (tmp_path / "a.ini").write_text(INI)
    (tmp_path / "a.sh").write_text(SCRIPT)
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe-device femu")
    with pytest.raises(ConfigError, match=message):
        convert(Request([tmp_path / name for name in files], **more))
