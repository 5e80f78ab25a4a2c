"""Logs of real and simulated drives: OCP logs C0h and C3h, and the SMART log of NVMe.

A log is JSON of nvme-cli or its 512 bytes. What an OCP log is follows from its GUID alone, since
other makers use the same numbers for other logs; the SMART log has none and is known by its
data units. All are brought to one form: keys of nvme-cli, whole numbers, `null` for the unknown.

```text
nvme ocp smart-add-log -o json         keys of format version 1 and 2
nvme ocp latency-monitor-log -o json   from nvme-cli 2.5 on; before, there is no GUID
nvme smart-log -o json
nvme get-log -i 0xc0 -l 512 -b         C0h and C3h as bytes
opennandlab … --ocp FILE               all three of a simulated drive
```
Sources: OCP Datacenter NVMe SSD Specification 2.0, logs C0h and C3h; code of nvme-cli 2.0 to 3.0.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import structs

from opennandlab.base.errors import ResultError
from opennandlab.documents.ocp import OCP_SCHEMA, DeviceLogs, LogChange
from opennandlab.documents.record import JsonObject, shown
from opennandlab.documents.saved import read_content

PAGE_BYTES: Final = 512
GUID_AT: Final = 496
DATA_UNIT_BYTES: Final = 512_000
# A double holds whole numbers up to here.
EXACT_MAX: Final = 1 << 53
ACCEPTED: Final = (
    "JSON of `nvme ocp smart-add-log`, `nvme ocp latency-monitor-log` or `nvme smart-log` "
    "(-o json), the 512 bytes of log C0h or C3h, or a file of --ocp"
)


class Field(NamedTuple):
    """A number of a log: keys of nvme-cli by format version, first byte, bytes; factor, addend."""

    name: str
    first_name: str
    at: int
    size: int
    factor: int = 1
    addend: int = 0

    def of(self, page: bytes) -> int:
        """Return the value in a page, in the unit in which nvme-cli prints it."""
        raw = int.from_bytes(page[self.at : self.at + self.size], "little")
        return (raw + self.addend) * self.factor

    @property
    def most(self) -> int:
        """The largest value that the page can hold."""
        return ((1 << 8 * self.size) - 1 + self.addend) * self.factor


HEALTH: Final = (
    Field("physical_media_units_written", "Physical media units written", 0, 16),
    Field("physical_media_units_read", "Physical media units read", 16, 16),
    Field("bad_user_nand_blocks_raw", "Bad user nand blocks - Raw", 32, 6),
    Field("bad_user_nand_blocks_normalized", "Bad user nand blocks - Normalized", 38, 2),
    Field("bad_system_nand_blocks_raw", "Bad system nand blocks - Raw", 40, 6),
    Field("bad_system_nand_blocks_normalized", "Bad system nand blocks - Normalized", 46, 2),
    Field("xor_recovery_count", "XOR recovery count", 48, 8),
    Field("uncorrectable_read_errors", "Uncorrectable read error count", 56, 8),
    Field("soft_ecc_error_count", "Soft ecc error count", 64, 8),
    Field("end_to_end_detected_errors", "End to end detected errors", 72, 4),
    Field("end_to_end_corrected_errors", "End to end corrected errors", 76, 4),
    Field("system_data_percent_used", "System data percent used", 80, 1),
    Field("refresh_count", "Refresh counts", 81, 7),
    Field("max_user_data_erase_count", "Max User data erase counts", 88, 4),
    Field("min_user_data_erase_count", "Min User data erase counts", 92, 4),
    Field("thermal_throttling_events", "Number of Thermal throttling events", 96, 1),
    Field("current_throttling_status", "Current throttling status", 97, 1),
    Field("pcie_correctable_errors", "PCIe correctable error count", 104, 8),
    Field("incomplete_shutdowns", "Incomplete shutdowns", 112, 4),
    Field("percent_free_blocks", "Percent free blocks", 120, 1),
    Field("capacitor_health", "Capacitor health", 128, 2),
    Field("unaligned_io", "Unaligned I/O", 136, 8),
    Field("security_version_number", "Security Version Number", 144, 8),
    Field("nuse_namespace_utilization", "NUSE - Namespace utilization", 152, 8),
    Field("plp_start_count", "PLP start count", 160, 16),
    Field("endurance_estimate", "Endurance estimate", 176, 16),
    Field("log_page_version", "Log page version", 494, 2),
)
# Numbers of C0h that only grow.
COUNTERS: Final = (
    "physical_media_units_written", "physical_media_units_read", "bad_user_nand_blocks_raw",
    "bad_system_nand_blocks_raw", "xor_recovery_count", "uncorrectable_read_errors",
    "soft_ecc_error_count", "end_to_end_detected_errors", "end_to_end_corrected_errors",
    "refresh_count", "pcie_correctable_errors", "incomplete_shutdowns", "unaligned_io",
    "plp_start_count",
)  # fmt: skip
MONITOR: Final = (
    Field("Feature Status", "", 0x00, 1),
    Field("Active Bucket Timer", "", 0x02, 2, 5),
    Field("Active Bucket Timer Threshold", "", 0x04, 2, 5),
    Field("Active Threshold A", "", 0x06, 1, 5, 1),
    Field("Active Threshold B", "", 0x07, 1, 5, 1),
    Field("Active Threshold C", "", 0x08, 1, 5, 1),
    Field("Active Threshold D", "", 0x09, 1, 5, 1),
    Field("Active Latency Configuration", "", 0x0A, 2),
    Field("Active Latency Minimum Window", "", 0x0C, 1, 100),
    Field("Active Latency Stamp Units", "", 0xD8, 2),
    Field("Static Latency Stamp Units", "", 0x1A8, 2),
    Field("Log Page Version", "", 0x1EE, 2),
)
KINDS: Final = ("Read", "Write", "Trim")
BUCKETS: Final = 4
COUNTER, STAMP, LATENCY = "Bucket Counter", "Latency Time Stamp", "Measured Latency"
# First bytes of counters, stamps and latencies, of the window that runs and of the one before.
WINDOWS: Final = {"Active": (0x20, 0x60, 0xC0), "Static": (0xF0, 0x130, 0x190)}
STAMP_NONE: Final = (1 << 64) - 1
STAMP_TEXT: Final = re.compile(r"(\d{4,})-(\d\d)-(\d\d)D\|(\d\d):(\d\d):(\d\d):(\d{3})")
# Of the SMART log, by either spelling of nvme-cli; the largest have 16 bytes.
SMART: Final = tuple(
    Field(name, name, 0, 16)
    for name in (
        "critical_warning", "avail_spare", "spare_thresh", "percent_used", "data_units_read",
        "data_units_written", "host_read_commands", "host_write_commands", "power_cycles",
        "power_on_hours", "unsafe_shutdowns", "media_errors",
    )
)  # fmt: skip

# Numbers of 02h that only grow.
SMART_COUNTERS: Final = tuple(one.name for one in SMART[4:])


def count(value: object) -> int | None:
    """Return a number of a log as one: nvme-cli prints the bytes of the flash in two halves.

    >>> count({"hi": 1, "lo": 2}), count(7), count(None)
    (18446744073709551618, 7, None)
    """
    if isinstance(value, dict):
        return int(value["hi"]) << 64 | int(value["lo"])
    return value if isinstance(value, int) else None


def _halves(log: JsonObject) -> JsonObject:
    """Write the bytes of the flash as nvme-cli does."""
    for name in (one.name for one in HEALTH[:2]):
        whole = log[name]
        log[name] = None if whole is None else {"hi": whole >> 64, "lo": whole & STAMP_NONE}
    return log


def _health_of(page: bytes) -> JsonObject:
    return _halves({one.name: one.of(page) for one in HEALTH})


def _monitor_of(page: bytes) -> JsonObject:
    """Return log C3h; counters begin with the lowest bucket, stamps and latencies the highest."""
    found: JsonObject = {one.name: one.of(page) for one in MONITOR}
    for window, (counters, stamps, latencies) in WINDOWS.items():
        for bucket in range(BUCKETS):
            back = 3 * (BUCKETS - 1 - bucket)
            stamped = {
                kind: None if at == STAMP_NONE else at
                for kind, at in _row_of(page[stamps + 8 * back :], 8).items()
            }
            measured = _row_of(page[latencies + 2 * back :], 2)
            # The first of four counters is not used.
            found[f"{window} {COUNTER}: Bucket {bucket}"] = _row_of(
                page[counters + 16 * bucket + 4 :], 4
            )
            found[f"{window} {STAMP}: Bucket {bucket}"] = stamped
            found[f"{window} {LATENCY}: Bucket {bucket}"] = {
                kind: None if stamped[kind] is None else ms for kind, ms in measured.items()
            }
    return found


def _row_of(part: bytes, size: int) -> dict[str, int]:
    """Return numbers of reads, writes and trims; in a page trims are first."""
    places = {kind: size * (len(KINDS) - 1 - place) for place, kind in enumerate(KINDS)}
    return {kind: int.from_bytes(part[at : at + size], "little") for kind, at in places.items()}


class _Reader:
    """Takes numbers out of JSON, or refuses them with file and key.

    Args:
        place: The name of the file.
    """

    def __init__(self, place: str) -> None:
        """Read for this file."""
        self.place = place

    def refuse(self, key: str, value: object, accepted: str) -> ResultError:
        """Return the refusal of a value."""
        return ResultError(f"{self.place}: `{key}` is {shown(value)}; accepted: {accepted}")

    def number(self, key: str, value: object, most: int) -> int | None:
        """Return a whole number, or that of text such as "0x1f"; None for null."""
        found = value
        if isinstance(value, dict) and set(value) == {"hi", "lo"}:
            high, low = (self.number(f"{key}.{at}", value[at], STAMP_NONE) for at in ("hi", "lo"))
            found = None if high is None or low is None else high << 64 | low
        elif isinstance(value, str):
            is_number = re.fullmatch(r"0[xX][0-9a-fA-F]{1,32}|\d{1,39}", value)
            found = int(value, 16 if value[:2] in {"0x", "0X"} else 10) if is_number else value
        elif isinstance(value, float):
            is_whole = value.is_integer() and abs(value) <= EXACT_MAX
            found = int(value) if is_whole else value
        if found is None:
            return None
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= most:
            raise self.refuse(key, value, f"a whole number from 0 to {most}, in digits or 0x…")
        return found

    def stamp(self, key: str, value: object) -> int | None:
        """Return a stamp in milliseconds, also of the text of nvme-cli; None for `NA`."""
        if value is None or value == "NA":
            return None
        found = STAMP_TEXT.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            return self.number(key, value, STAMP_NONE - 1)
        year, month, day, hour, minute, second, ms = map(int, found.groups())
        try:
            at = dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.timezone.utc)
        except ValueError:
            raise self.refuse(key, value, "a date and a time of day, or NA") from None
        return int(at.timestamp()) * 1000 + ms

    def fields(self, log: Mapping[str, Any], fields: Iterable[Field], must: str) -> JsonObject:
        """Return the numbers of a log by the names of today; `must` is refused if missing."""
        found: JsonObject = {}
        for one in fields:
            key = one.name if one.name in log else one.first_name
            found[one.name] = self.number(key, log.get(key), one.most)
        if must not in log and next(it.first_name for it in fields if it.name == must) not in log:
            raise ResultError(f"{self.place}: `{must}` is missing; accepted: {ACCEPTED}")
        return found

    def smart(self, log: Mapping[str, Any]) -> JsonObject:
        """Return the SMART log; with --verbose its warnings are an object."""
        warning = log.get("critical_warning")
        if isinstance(warning, dict):
            log = {**log, "critical_warning": warning.get("value")}
        return self.fields(log, SMART, "data_units_written")

    def health(self, log: Mapping[str, Any]) -> JsonObject:
        """Return log C0h."""
        return _halves(self.fields(log, HEALTH, "physical_media_units_written"))

    def monitor(self, log: Mapping[str, Any]) -> JsonObject:
        """Return log C3h. nvme-cli before 2.8 lists the highest bucket of latencies first."""
        found = self.fields(log, MONITOR, "Active Threshold A")
        for window in WINDOWS:
            for name, take in (
                (COUNTER, lambda key, value: self.number(key, value, (1 << 32) - 1)),
                (STAMP, self.stamp),
                (LATENCY, lambda key, value: self.number(key, value, (1 << 16) - 1)),
            ):
                for bucket in range(BUCKETS):
                    key = f"{window} {name}: Bucket {bucket}"
                    found[key] = self._row(key, log.get(key), take)
            _put_in_order(found, window)
        return found

    def _row(
        self, key: str, value: object, take: Callable[[str, object], int | None]
    ) -> dict[str, int | None]:
        if value is None:
            return dict.fromkeys(KINDS)
        if not isinstance(value, dict):
            raise self.refuse(key, value, "an object with Read, Write and Trim")
        return {kind: take(f"{key}.{kind}", value.get(kind)) for kind in KINDS}


def _put_in_order(log: JsonObject, window: str) -> None:
    """Turn latencies and stamps round if they fit the limits of their buckets only so.

    A latency without a stamp is none: nvme-cli prints it as 0.
    """
    limits = [log[f"Active Threshold {letter}"] for letter in "ABCD"]

    def rows(name: str) -> list[dict[str, int | None]]:
        return [log[f"{window} {name}: Bucket {bucket}"] for bucket in range(BUCKETS)]

    for stamps, latencies in zip(rows(STAMP), rows(LATENCY), strict=True):
        latencies.update({kind: None for kind in KINDS if stamps[kind] is None})
    if None in limits:
        return
    tops = [*limits[1:], 1 << 16]

    def fit(latencies: list[dict[str, int | None]]) -> bool:
        # Latencies are whole milliseconds, rounded down.
        return all(
            it is None or low <= it < top
            for low, top, of in zip(limits, tops, latencies, strict=True)
            for it in of.values()
        )

    found = rows(LATENCY)
    if not fit(found) and fit(found[::-1]):
        for name in (STAMP, LATENCY):
            for bucket, row in enumerate(rows(name)[::-1]):
                log[f"{window} {name}: Bucket {bucket}"] = row


class Log(NamedTuple):
    """A kind of OCP log: its name here, its GUID as a number, and how it is read."""

    name: str
    title: str
    guid: str
    of_page: Callable[[bytes], JsonObject]
    of_json: Callable[[_Reader, Mapping[str, Any]], JsonObject]


LOGS: Final = (
    Log(
        "smart_add_log", "C0h", "AFD514C97C6F4F9CA4F2BFEA2810AFC5", _health_of, _Reader.health,
    ),
    Log(
        "latency_monitor_log", "C3h", "85D45E58D4E643709C6C84D08CC07A92", _monitor_of,
        _Reader.monitor,
    ),
)  # fmt: skip


def _log_of(guid: str, place: str) -> Log:
    """Return the kind of log that a GUID names, or refuse it."""
    for one in LOGS:
        if one.guid == guid:
            return one
    known = ", ".join(f"{one.guid} ({one.title})" for one in LOGS)
    raise ResultError(f"{place}: the GUID {shown(guid)} is not of a log that is read: {known}")


def read_logs(path: Path) -> DeviceLogs:
    """Return the logs that a file holds.

    Raises:
        ResultError: for other files: with their kind, and the accepted ones.
    """
    return logs_of(read_content(path, ACCEPTED), str(path))


def logs_of(content: bytes, place: str) -> DeviceLogs:
    """Return the logs of bytes or JSON; `place` is their name in errors.

    Raises:
        ResultError: for other files: with their kind, and the accepted ones.
    """
    try:
        document = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return _logs_of_bytes(content, place, error)
    if not isinstance(document, dict):
        raise ResultError(f"{place}: is {shown(document)}; accepted: {ACCEPTED}")
    reader = _Reader(place)
    if document.get("schema") == OCP_SCHEMA:
        return _own_logs(reader, document.get("after"))
    guids = [document[key] for key in document if key.lower().replace("_", " ") == "log page guid"]
    if guids:
        guid = guids[0].upper().removeprefix("0X") if isinstance(guids[0], str) else str(guids[0])
        log = _log_of(guid, place)
        return _single(log.name, log.of_json(reader, document))
    if "data_units_written" in document:
        return _single("smart_log", reader.smart(document))
    keys = ", ".join(list(document)[:4]) or "no keys"
    old = "Active Threshold A" in document
    hint = ": nvme-cli before 2.5 prints none, and mixes reads with trims" if old else ""
    raise ResultError(f"{place}: JSON without a GUID ({keys}){hint}; accepted: {ACCEPTED}")


def _own_logs(reader: _Reader, after: object) -> DeviceLogs:
    """Return the logs of a document of this program."""
    takes: dict[str, Callable[[_Reader, Mapping[str, Any]], JsonObject]] = {
        "smart_log": _Reader.smart,
        **{one.name: one.of_json for one in LOGS},
    }
    logs = after if isinstance(after, dict) else {}
    found: dict[str, JsonObject | None] = dict.fromkeys(takes)
    for name, take in takes.items():
        content = logs.get(name)
        if content is not None and not isinstance(content, dict):
            raise reader.refuse(name, content, "an object or null")
        found[name] = None if content is None else take(reader, content)
    if not any(found.values()):
        raise ResultError(f"{reader.place}: damaged: no logs; accepted: {ACCEPTED}")
    return DeviceLogs(**found)


def _single(name: str, content: JsonObject) -> DeviceLogs:
    empty: dict[str, JsonObject | None] = dict.fromkeys(DeviceLogs.__struct_fields__)
    return DeviceLogs(**{**empty, name: content})


def _logs_of_bytes(content: bytes, place: str, error: Exception) -> DeviceLogs:
    """Return the log of a binary page, or refuse bytes that are neither page nor JSON."""
    is_text = b"\0" not in content and content.isascii()
    if len(content) == PAGE_BYTES and not is_text:
        log = _log_of(content[GUID_AT:][::-1].hex().upper(), place)
        return _single(log.name, log.of_page(content))
    if is_text and content.lstrip()[:1] not in {b"{", b"["}:
        what = "text" if content.strip() else "empty"
        raise ResultError(f"{place}: is {what}, not JSON; accepted: {ACCEPTED}")
    what = f"no JSON ({error})" if is_text else f"{len(content)} bytes that are no log page"
    raise ResultError(f"{place}: {what}; accepted: {ACCEPTED}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def joined(parts: Iterable[tuple[str, DeviceLogs]]) -> DeviceLogs:
    """Return the logs of several files of one moment.

    Args:
        parts: Names of files, and their logs.

    Raises:
        ResultError: for two logs of the same kind.
    """
    found: dict[str, JsonObject | None] = dict.fromkeys(DeviceLogs.__struct_fields__)
    for place, logs in parts:
        for name, content in structs.asdict(logs).items():
            if content is None:
                continue
            if found[name] is not None:
                raise ResultError(f"{place}: a second `{name}`; accepted: one for each moment")
            found[name] = content
    return DeviceLogs(**found)


def changes(before: DeviceLogs | None, after: DeviceLogs) -> LogChange:
    """Return the counts between two moments, or since the counters began.

    Args:
        before: Logs before; None for the beginning of the counters.
        after: Logs after.

    >>> empty = DeviceLogs(smart_log=None, smart_add_log=None, latency_monitor_log=None)
    >>> changes(None, empty).waf, changes(None, empty).unknown["waf"]
    (None, 'bytes of the flash and of hosts are needed')
    """
    unknown: dict[str, str] = {}

    def change(log: str, key: str, name: str) -> int | None:
        pages = (getattr(after, log), None if before is None else getattr(before, log))
        now, old = (None if page is None else count(page.get(key)) for page in pages)
        then = 0 if before is None else old
        if now is not None and then is not None:
            if now >= then:
                return now - then
            unknown[name] = f"`{key}` fell from {then} to {now}"
        elif name != key:
            when, page = ("after", pages[0]) if now is None else ("before", pages[1])
            unknown[name] = f"no {log} {when}" if page is None else f"no `{key}` {when}"
        return None

    keys = COUNTERS if after.smart_add_log is not None else ()
    counters = {key: change("smart_add_log", key, key) for key in keys}
    media = change("smart_add_log", COUNTERS[0], "media_bytes_written")
    units = change("smart_log", "data_units_written", "host_bytes_written")
    waf, span = None, None
    if media is None or units is None:
        unknown["waf"] = "bytes of the flash and of hosts are needed"
    elif units == 0:
        unknown["waf"] = "no data unit was written"
    else:
        waf = media / (units * DATA_UNIT_BYTES)
        # Each count of units may be off by almost one.
        most = media / ((units - 1) * DATA_UNIT_BYTES) if units > 1 else None
        span = [media / ((units + 1) * DATA_UNIT_BYTES), most]
    return LogChange(
        media_bytes_written=media,
        host_bytes_written=None if units is None else units * DATA_UNIT_BYTES,
        waf=waf,
        waf_range=span,
        counters=counters,
        unknown=unknown,
    )
