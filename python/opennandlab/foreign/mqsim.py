"""MQSim: its two XML files together, since flows decide on the caches of the drive.

```text
ssdconfig.xml  Execution_Parameter_Set ─► device
workload.xml   MQSim_IO_Scenarios ─► scenario ─► flows of requests: tenants of a workload
                                              └► flows of a trace:  a `replay` each
```
"""

from __future__ import annotations

import math
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, inert
from opennandlab.foreign import mqsim_device, mqsim_flows
from opennandlab.foreign.conversion import Conversion, WorkloadFile, merged
from opennandlab.foreign.mqsim_flows import SECTOR_BYTES, SYNTHETIC, TABLES, TRACE
from opennandlab.foreign.table import ABSENT, Entry, Row, Translation, Values, lost, read, translate
from opennandlab.foreign.xml_text import Element, parse

DEVICE, SCENARIOS, SCENARIO = "Execution_Parameter_Set", "MQSim_IO_Scenarios", "IO_Scenario"
# The sections of a device file: those inside of each, and their names in the table.
HOST, DRIVE, FLASH = "Host_Parameter_Set", "Device_Parameter_Set", "Flash_Parameter_Set"
SECTIONS = {DEVICE: {HOST, DRIVE}, DRIVE: {FLASH}}
SHORT = {HOST: "Host", DRIVE: "", FLASH: "Flash"}
# Most that is read of a trace to count its requests.
TRACE_BYTES_MAX = 1 << 30
TRACE_LINE_BYTES_MAX = 4096
TRACE_COLUMNS = 5
TENANTS_MAX = 64
NOTE = "replayed alone; with the other flows in MQSim"
ALONE = Row("", "", "", "", "approximated", note=NOTE, figures=True)


@dataclass
class Flow:
    """A flow of a scenario: its kind, entries and values, and rows of entries not used."""

    kind: str
    entries: list[Entry]
    values: Values
    unused: list[Row]


def convert(texts: Sequence[tuple[Path, bytes]], *, as_run: bool) -> Conversion:
    """Translate a device file, and a workload file if there is one.

    Raises:
        ConfigError: for another root, a second one, and values that are refused.
    """
    roots: dict[str, tuple[Path, Element]] = {}
    for path, raw in texts:
        root = parse(raw, path.name)
        if root.name not in {DEVICE, SCENARIOS}:
            message = f"{path.name}: the root is `{root.name}`; accepted: {DEVICE}, {SCENARIOS}"
            raise ConfigError(".", message)
        if root.name in roots:
            raise ConfigError(".", f"{path.name}: a second {root.name}; accepted: one")
        roots[root.name] = path, root
    if DEVICE not in roots:
        raise ConfigError(".", f"no {DEVICE} (ssdconfig.xml), which a workload file needs")
    path, root = roots[DEVICE]
    scenarios: list[list[Flow]] = []
    unknown: list[Row] = []
    if SCENARIOS in roots:
        scenarios, unknown = _scenarios(*roots[SCENARIOS])
    entries = [*_attributes(root, path.name, DEVICE), *_device(root, path.name)]
    values, unused = read(entries, mqsim_device.TABLE.fields)
    drive = inert(path.stem) or "drive"

    def device(name: str, together: Sequence[Sequence[Flow]]) -> Conversion:
        known = Values(values | _of_flows(together, values["Page_Capacity"]))
        made = translate(entries, mqsim_device.TABLE, known, unused, as_run=as_run)
        is_synthetic = all(flow.kind == SYNTHETIC for scenario in together for flow in scenario)
        of_flows = [[flow.values for flow in scenario] for scenario in together if is_synthetic]
        apart = mqsim_flows.namespaces(of_flows, known, as_run=as_run)
        if apart:
            made.set("host.namespaces", apart, "Channel_IDs, Chip_IDs, Die_IDs of the flows.")
        return Conversion("mqsim", name, made, rows=[*made.rows])

    # Facts of the drive for the flows: those of all scenarios together.
    values |= _of_flows(scenarios, values["Page_Capacity"])
    found = device(drive, scenarios)
    for number, scenario in enumerate(scenarios, 1):
        one = device(f"{drive}-{number}", [scenario])
        name = f"{inert(roots[SCENARIOS][0].stem)}-{number}"
        found.rows += _add(one, scenario, values, name, as_run=as_run)
        found.workloads += one.workloads
        found.replays += one.replays
        found.parts.append(one)
    found.rows += unknown
    return found


def _of_flows(scenarios: Sequence[Sequence[Flow]], page: int) -> dict[str, Any]:
    """Return what the rules of the device know of flows: such as what divides their requests."""
    flows = [flow.values for scenario in scenarios for flow in scenario]
    names = ("Average_Request_Size", "Address_Alignment_Unit")
    sizes = [flow[name] * SECTOR_BYTES for flow in flows for name in names if name in flow]
    unit = math.gcd(page, *sizes)
    written = not flows or any(flow.get("Read_Percentage", 0) < 100 for flow in flows)
    modes = [flow["Device_Level_Data_Caching_Mode"] for flow in flows]
    return {
        "unit": unit,
        "parts": "none" if unit == page else "all" if written else "reads",
        "written": written,
        "classes": len({flow.get("Priority_Class") for flow in flows}),
        "modes": modes,
        "flows": max(map(len, scenarios), default=0),
        "queues": max(16, len(flows)),
        "cached": any("CACHE" in mode for mode in modes or ["WRITE_CACHE"]),
    }


def _device(element: Element, file: str) -> Iterator[Entry]:
    """Yield the entries of a section of a device file, and of its inner sections."""
    short, fields = SHORT.get(element.name), mqsim_device.TABLE.fields
    known = [name for name, one in fields.items() if one.section == short]
    for one in element.inside:
        if one.name in SECTIONS.get(element.name, ()) and not one.text.strip():
            yield from _attributes(one, file, one.name)
            yield from _device(one, file)
        else:
            yield from _leaves(one, file, f"{element.name}/{one.name}", known)


def _leaves(
    element: Element, file: str, label: str, known: Collection[str] = (), group: str = ""
) -> Iterator[Entry]:
    """Yield an element or all within it, and attributes; unknown ones have their path."""
    if element.inside:
        yield from _attributes(element, file, label)
        for one in element.inside:
            yield from _leaves(one, file, f"{label}/{one.name}")
    else:
        names = (element.name, group) if element.name in known else (label, "")
        entry = Entry(names[0], element.text, f"{file}:{element.line}", names[1])
        yield entry
        yield from _attributes(element, file, entry.label)


def _attributes(one: Element, file: str, label: str) -> Iterator[Entry]:
    for name, text in one.attributes.items():
        yield Entry(f"{label}@{name}", text, f"{file}:{one.line}")


def _scenarios(path: Path, root: Element) -> tuple[list[list[Flow]], list[Row]]:
    """Return the flows of each scenario, and rows of elements that are not known."""
    found: list[list[Flow]] = []
    apart = list(_attributes(root, path.name, SCENARIOS))
    for one in root.inside:
        if one.name != SCENARIO:
            apart += _leaves(one, path.name, f"{SCENARIOS}/{one.name}")
            continue
        apart += _attributes(one, path.name, SCENARIO)
        scenario: list[Flow] = []
        for flow in one.inside:
            if flow.name not in TABLES:
                apart += _leaves(flow, path.name, f"{SCENARIO}/{flow.name}")
                continue
            scenario.append(_flow(flow, path, f"{len(found) + 1}.{len(scenario) + 1}"))
        if not scenario:
            message = f"{path.name}:{one.line}: a scenario without a flow; accepted: "
            raise ConfigError(".", message + " and ".join(TABLES))
        if len(scenario) > TENANTS_MAX:
            message = f"{path.name}:{one.line}: {len(scenario)} flows; accepted: {TENANTS_MAX}"
            raise ConfigError(".", message)
        found.append(scenario)
    if not found:
        raise ConfigError(".", f"{path.name}: no {SCENARIO} in it")
    return found, [lost(entry) for entry in apart]


def _flow(element: Element, path: Path, group: str) -> Flow:
    fields = TABLES[element.name].fields
    entries = list(_attributes(element, path.name, f"{group}/{element.name}"))
    for one in element.inside:
        entries += _leaves(one, path.name, f"{group}/{one.name}", fields, group)
    values, unused = read(entries, fields)
    values.group, values.missing = f"{group}/", "is missing, and MQSim has no default for it"
    values["Device_Level_Data_Caching_Mode"]  # refused if it is not there
    if element.name == TRACE:
        values |= {"path": str(path.parent / values["File_Path"])}
    values["requests"] = _requests(path.parent, values)
    return Flow(element.name, entries, values, unused)


def _requests(folder: Path, values: Mapping[str, Any]) -> int | None:
    """Count the requests of a trace as MQSim does; None if not asked or not possible.

    The workload file is of another author: only traces in its own folder are opened.
    """
    if values.get("Percentage_To_Be_Executed", 100) == 100:
        return None
    try:
        trace = (folder / values["File_Path"]).resolve()
        found = trace.stat()
        is_plain = stat.S_ISREG(found.st_mode) and found.st_size <= TRACE_BYTES_MAX
        if not is_plain or not trace.is_relative_to(folder.resolve()):
            return None
        with trace.open("rb") as stream:
            lines = iter(partial(stream.readline, TRACE_LINE_BYTES_MAX), b"")
            return sum(1 for _ in takewhile(lambda one: len(one.split()) == TRACE_COLUMNS, lines))
    except (OSError, ValueError):
        return None


def _add(
    made: Conversion, scenario: Sequence[Flow], device: Values, name: str, *, as_run: bool
) -> list[Row]:
    """Translate a scenario: a workload of its synthetic flows, a replay of each trace.

    Returns:
        A row for each of its keys.
    """
    workload = WorkloadFile(name, Translation())
    rows: list[Row] = []
    mqsim_flows.divide([flow.values for flow in scenario], device)
    for place, flow in enumerate(scenario, 1):
        one = translate(flow.entries, TABLES[flow.kind], flow.values, flow.unused, as_run=as_run)
        rows += one.rows
        if flow.kind == SYNTHETIC:
            if flow.values["namespace"]:
                one.set("namespace", flow.values["namespace"], "Channel_IDs, Chip_IDs, Die_IDs.")
            workload.tenants.append((f"flow-{place}", one))
            continue
        made.replays.append(_replay(flow.values["path"], one))
        if len(scenario) > 1:
            rows.append(replace(ALONE, source=f"(flow {flow.values.group[:-1]})"))
    if workload.tenants:
        rows = _together(workload, rows, device, scenario)
        made.workloads.append(workload)
        if len(workload.tenants) < len(scenario):
            note = "tenants alone, without the traces that run beside them there"
            rows.append(replace(ALONE, source=f"(scenario {name.rpartition('-')[2]})", note=note))
    return rows


def _together(
    workload: WorkloadFile, rows: list[Row], device: Values, scenario: Sequence[Flow]
) -> list[Row]:
    """Give a workload what its tenants share, and return the rows with what that changes."""
    totals = [one.keys.pop("total") for _, one in workload.tenants]
    origins = [one.origins.pop("total") for _, one in workload.tenants]
    total, note = merged(totals)
    of_what = origins[0] if len(set(origins)) == 1 else " ".join(origins)
    workload.own.set("total", total, of_what)
    steady = device["Enabled_Preconditioning"]
    steps: list[dict[str, Any]] = [{"kind": "sequential_fill"}]
    if steady and any(flow.values.get("Read_Percentage", 0) < 100 for flow in scenario):
        steps.append({"kind": "workload", "until": "steady"})
    origin = "Initial_Occupancy_Percentage; Enabled_Preconditioning is "
    workload.own.set("precondition", steps, f"{origin}{'on' if steady else 'off'}.")
    if not note:
        return rows
    return [
        replace(row, kind="approximated", written=total, run=ABSENT, note=note, figures=True)
        if row.key == "total" and row.kind == "converted"
        else row
        for row in rows
    ]


def _replay(path: str, one: Translation) -> list[str]:
    """Return the arguments of `replay` for a flow of a trace."""
    # One that begins with a dash would be an option.
    path = f"./{path}" if path.startswith("-") else path
    found = [path, "--trace-format", "mqsim", "--beyond", "wrap"]
    if "total" in one.keys:
        found += ["--set", f"workload.total.ios={one.keys['total']}"]
    return found
