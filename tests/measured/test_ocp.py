"""Logs of OCP and NVMe from others: pages made here by the offsets of the specification.

Offsets: OCP Datacenter NVMe SSD Specification 2.0, logs C0h and C3h; keys and forms of JSON:
nvme-cli 2.3 to 3.0. None of them is taken from the reader.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from opennandlab.base.errors import ResultError
from opennandlab.cli import app
from opennandlab.measured import ocp

GUID_C0 = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")
GUID_C3 = bytes.fromhex("927ac08cd0846c9c7043e6d4585ed485")
NONE = (1 << 64) - 1
# Where a number is, of how many bytes, and what it is here.
HEALTH = {
    "bad_user_nand_blocks_raw": (32, 6, (1 << 40) + 3),
    "bad_user_nand_blocks_normalized": (38, 2, 99),
    "xor_recovery_count": (48, 8, 5),
    "uncorrectable_read_errors": (56, 8, 6),
    "soft_ecc_error_count": (64, 8, (1 << 53) + 1),
    "refresh_count": (81, 7, 7_000_000_000),
    "max_user_data_erase_count": (88, 4, 41),
    "min_user_data_erase_count": (92, 4, 40),
    "percent_free_blocks": (120, 1, 12),
    "capacitor_health": (128, 2, 110),
    "unaligned_io": (136, 8, 8),
    "log_page_version": (494, 2, 3),
}
OLD = {
    "bad_user_nand_blocks_raw": "Bad user nand blocks - Raw",
    "soft_ecc_error_count": "Soft ecc error count",
    "refresh_count": "Refresh counts",
    "percent_free_blocks": "Percent free blocks",
}


def health(written: int = (1 << 64) + 5) -> bytes:
    page = bytearray(512)
    page[0:16] = written.to_bytes(16, "little")
    for at, size, value in HEALTH.values():
        page[at : at + size] = value.to_bytes(size, "little")
    page[496:] = GUID_C0
    return bytes(page)


def monitor() -> bytes:
    """The vector of thresholds: latencies of reads, ms 29.999 30 99.9 100 154 155 235 900."""
    page = bytearray(512)
    struct.pack_into("<BBHH4BHB", page, 0, 7, 0, 2, 0x7E0, 5, 0x13, 0x1E, 0x2E, 0xFFF, 10)
    limits = [(it + 1) * 5 for it in (5, 0x13, 0x1E, 0x2E)]
    slow = [29.999, 30, 99.9, 100, 154, 155, 235, 900]
    buckets = [sum(limit <= ms for limit in limits) - 1 for ms in slow]
    counts = [buckets.count(bucket) for bucket in range(4)]
    for base in (0x60, 0x130):
        struct.pack_into("<12Q", page, base, *[NONE] * 12)
    for bucket, (count, ms) in enumerate(zip(counts, (99, 154, 155, 900), strict=True)):
        # Counters: not used, trim, write, read. Stamps and latencies: the highest bucket first.
        struct.pack_into("<4I", page, 0x20 + 16 * bucket, 0, 0, 0, count)
        place = 3 * (3 - bucket) + 2
        struct.pack_into("<Q", page, 0x60 + 8 * place, 1_700_000_000_000 + bucket)
        struct.pack_into("<H", page, 0xC0 + 2 * place, ms)
    struct.pack_into("<I", page, 0xF0 + 16 * 1 + 8, 77)
    struct.pack_into("<H", page, 0x1EE, 1)
    page[496:] = GUID_C3
    return bytes(page)


def printed(*, is_reversed: bool = False) -> dict[str, Any]:
    """The same log as nvme-cli 2.8 prints it, or 2.5."""
    found: dict[str, Any] = {
        "Feature Status": 7, "Active Bucket Timer": 10, "Active Bucket Timer Threshold": 10080,
        "Active Threshold A": 30, "Active Threshold B": 100, "Active Threshold C": 155,
        "Active Threshold D": 235, "Active Latency Configuration": 0xFFF,
        "Active Latency Minimum Window": 1000, "Active Latency Stamp Units": 0,
        "Static Latency Stamp Units": 0, "Log Page Version": 1,
        "Log Page GUID": "85D45E58D4E643709C6C84D08CC07A92",
    }  # fmt: skip
    rows = [(2, 99), (2, 154), (1, 155), (2, 900)]
    for bucket, (count, _) in enumerate(rows):
        at = 3 - bucket if is_reversed else bucket
        stamp = f"2023-11-14D|22:13:20:{at:03}"
        found[f"Active Bucket Counter: Bucket {bucket}"] = {"Read": count, "Write": 0, "Trim": 0}
        found[f"Active Latency Time Stamp: Bucket {bucket}"] = {
            "Read": stamp, "Write": "NA", "Trim": "NA"}  # fmt: skip
        found[f"Active Measured Latency: Bucket {bucket}"] = {
            "Read": rows[at][1], "Write": 0, "Trim": 0}  # fmt: skip
        found[f"Static Bucket Counter: Bucket {bucket}"] = {
            "Read": 0, "Write": 77 if bucket == 1 else 0, "Trim": 0}  # fmt: skip
        none = dict.fromkeys(("Read", "Write", "Trim"), "NA")
        found[f"Static Latency Time Stamp: Bucket {bucket}"] = none
        found[f"Static Measured Latency: Bucket {bucket}"] = dict.fromkeys(none, 0)
    return found


def text(document: object) -> bytes:
    return json.dumps(document).encode()


def first_form(**changed: object) -> dict[str, object]:
    """Log C0h as format version 1 of nvme-cli prints it."""
    guid = "0xafd514c97c6f4f9ca4f2bfea2810afc5"
    written = {"Physical media units written": {"hi": 1, "lo": 5}, "Log page GUID": guid}
    return {**written, **{OLD[name]: HEALTH[name][2] for name in OLD}, **changed}


def test_a_page_and_both_forms_of_json_are_one_log():
    log = ocp.logs_of(health(), "page").smart_add_log
    assert log is not None
    assert {name: log[name] for name in HEALTH} == {name: of[2] for name, of in HEALTH.items()}
    assert log["physical_media_units_written"] == {"hi": 1, "lo": 5}
    assert ocp.count(log["physical_media_units_written"]) == (1 << 64) + 5
    old = ocp.logs_of(text(first_form()), "old").smart_add_log
    assert old is not None
    assert set(old) == set(log)
    assert {name: old[name] for name in OLD} == {name: log[name] for name in OLD}
    # What a version does not print is unknown, not 0.
    assert (old["capacitor_health"], old["xor_recovery_count"]) == (None, None)
    new = {**log, "log_page_guid": "0xafd514c97c6f4f9ca4f2bfea2810afc5"}
    assert ocp.logs_of(text(new), "new").smart_add_log == log


def test_the_vector_of_thresholds_is_in_its_buckets():
    log = ocp.logs_of(monitor(), "page").latency_monitor_log
    assert log is not None
    assert [log[f"Active Bucket Counter: Bucket {it}"]["Read"] for it in range(4)] == [2, 2, 1, 2]
    assert [log[f"Active Threshold {it}"] for it in "ABCD"] == [30, 100, 155, 235]
    assert log["Active Bucket Timer Threshold"] == 7 * 24 * 60
    assert log["Active Measured Latency: Bucket 3"] == {"Read": 900, "Write": None, "Trim": None}
    assert log["Active Latency Time Stamp: Bucket 0"]["Read"] == 1_700_000_000_000
    assert log["Static Bucket Counter: Bucket 1"] == {"Read": 0, "Write": 77, "Trim": 0}
    for is_reversed in (False, True):
        found = ocp.logs_of(text(printed(is_reversed=is_reversed)), "json").latency_monitor_log
        assert found == log, is_reversed


def test_numbers_are_read_exactly_or_refused():
    of = {"data_units_written": (1 << 60) + 1, "percent_used": "0x1f", "media_errors": "12"}
    log = ocp.logs_of(text({**of, "critical_warning": {"value": 4}}), "smart").smart_log
    assert log is not None
    assert (log["data_units_written"], log["percent_used"]) == ((1 << 60) + 1, 31)
    assert (log["media_errors"], log["critical_warning"]) == (12, 4)
    assert log["power_cycles"] is None
    whole = ocp.logs_of(b'{"data_units_written": 2.5e3}', "smart").smart_log
    assert whole is not None
    assert whole["data_units_written"] == 2500
    for value in ("1e300", "2.5", "-1", "true", '"12 GB"', '"-5"', "9.1e15", "[]", "1" * 60):
        with pytest.raises(ResultError, match=r"data_units_written.*accepted"):
            ocp.logs_of(f'{{"data_units_written": {value}}}'.encode(), "smart.json")
    for value in ("NaN", "Infinity", "1" * 5000):
        with pytest.raises(ResultError, match="no JSON"):
            ocp.logs_of(f'{{"data_units_written": {value}}}'.encode(), "smart.json")
    with pytest.raises(ResultError, match="Max User data erase counts"):
        ocp.logs_of(text(first_form(**{"Max User data erase counts": 1 << 32})), "wide.json")


REFUSED = {
    "foreign GUID": (text(first_form(**{"Log page GUID": "0xc7bb98b7"})), "C7BB98B7.*AFD514C9"),
    "GUID that is a number": (text(first_form(**{"Log page GUID": 7})), "GUID"),
    "GUID null": (text(first_form(**{"Log page GUID": None})), "GUID"),
    "no GUID": (text({"Physical media units written hi": 0, "lo": 1}), "without a GUID"),
    "before 2.5": (text({"Active Threshold A": 30}), "before 2.5"),
    "GUID alone": (text({"Log page GUID": "0x" + GUID_C0[::-1].hex()}), "missing"),
    "cut page": (health()[:-1], "511 bytes"),
    "longer page": (health() + b"\0", "513 bytes"),
    "other maker": (health()[:496] + bytes(range(16)), "0F0E0D0C0B0A09080706050403020100"),
    "page without a GUID": (bytes(512), "00000000000000000000000000000000"),
    "hex dump": (b"Device:nvme0n1 log-id:192\n0000: 00 50", "text, not JSON"),
    "text of nvme-cli": (b"SMART Cloud Attributes :-\n  Physical media", "text, not JSON"),
    "nothing": (b"", "empty"),
    "list": (b"[1]", "accepted"),
    "cut JSON": (text(first_form())[:-9], "no JSON"),
    "deep": (b'{"a":' * 100_000, "no JSON"),
    "own without logs": (text({"schema": "opennandlab.ocp/1", "after": {}}), "no logs"),
    "own with text": (text({"schema": "opennandlab.ocp/1", "after": {
        "smart_log": "x"}}), "smart_log"),
    "own with a list": (text({"schema": "opennandlab.ocp/1", "after": {
        "smart_log": None, "smart_add_log": [], "latency_monitor_log": {}}}), "accepted"),
    "stamp": (text({**printed(), "Active Latency Time Stamp: Bucket 0": {
        "Read": "2023-13-14D|22:13:20:001"}}), "Bucket 0.Read"),
    "row": (text({**printed(), "Static Bucket Counter: Bucket 2": 4}), "Bucket 2"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=list(REFUSED))
def test_other_files_are_refused_with_what_they_are(tmp_path, content, words):
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(ResultError, match=words) as error:
        ocp.read_logs(path)
    assert str(path) in str(error.value)
    done = CliRunner().invoke(app, ["ocp", str(path)])
    assert (done.exit_code, "Traceback" in done.output) == (2, False)


def smart(units: int) -> bytes:
    return text({"data_units_written": units})


def logs(*contents: bytes) -> ocp.DeviceLogs:
    return ocp.joined((str(place), ocp.logs_of(it, "log")) for place, it in enumerate(contents))


def test_write_amplification_is_that_of_the_difference():
    """1000 data units and 1.5 times their bytes on the flash, on a drive with a past."""
    before = logs(health(10**15), smart(10**9))
    after = logs(health(10**15 + 768_000_000), smart(10**9 + 1000))
    found = ocp.changes(before, after)
    assert (found.media_bytes_written, found.host_bytes_written) == (768_000_000, 512_000_000)
    assert found.waf == 1.5
    assert found.waf_range == pytest.approx([1.5 * 1000 / 1001, 1.5 * 1000 / 999])
    assert found.unknown == {}
    assert found.counters["soft_ecc_error_count"] == 0


def test_what_fell_or_is_missing_is_unknown():
    low, high = logs(health(100), smart(5)), logs(health(200), smart(5))
    found = ocp.changes(high, low)
    assert (found.waf, found.media_bytes_written) == (None, None)
    assert found.counters["physical_media_units_written"] is None
    assert "fell from 200 to 100" in found.unknown["media_bytes_written"]
    assert ocp.changes(low, high).unknown["waf"] == "no data unit was written"
    assert ocp.changes(logs(smart(1)), high).unknown["media_bytes_written"] == (
        "no smart_add_log before"
    )
    assert ocp.changes(low, logs(health(7))).unknown["host_bytes_written"] == "no smart_log after"
    one = ocp.changes(low, logs(health(512_100), smart(6)))
    assert (one.waf, one.waf_range) == (1.0, [0.5, None])
    with pytest.raises(ResultError, match="a second `smart_log`"):
        logs(smart(1), smart(2))


def rows_of(output: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")] for line in output.splitlines()]


def test_the_verb_shows_two_moments_and_reads_its_own_document(tmp_path):
    names = {"a": health(100), "b": smart(5), "c": health(1_024_100), "d": smart(7), "e": monitor()}
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    a, b, c, d, e = (str(tmp_path / name) for name in names)
    done = CliRunner().invoke(app, ["ocp", c, d, e, "--before", a, "--before", b])
    assert done.exit_code == 0
    assert "write amplification between the two moments: 1 (" in " ".join(done.output.split())
    assert "1 024 100" in done.output
    assert ["data_units_written", "5", "7", "2"] in rows_of(done.output)
    found = CliRunner().invoke(app, ["ocp", c, d, e, "--json"])
    document = json.loads(found.output)
    assert (document["schema"], document["before"]) == ("opennandlab.ocp/1", None)
    (tmp_path / "own.json").write_text(found.output)
    again = ocp.read_logs(Path(tmp_path / "own.json"))
    assert again == logs(*(names[it] for it in "cde"))


def test_every_bit_set_is_read_and_written(tmp_path):
    page = b"\xff" * 496
    for guid in (GUID_C0, GUID_C3):
        path = tmp_path / "log"
        path.write_bytes(page + guid)
        done = CliRunner().invoke(app, ["ocp", str(path), "--json"])
        assert done.exit_code == 0, done.output
        path.write_text(done.output)
        assert CliRunner().invoke(app, ["ocp", str(path)]).exit_code == 0
