"""MQSim: its two XML files together, since flows decide on the caches of the drive.

```text
ssdconfig.xml  Execution_Parameter_Set ─► device
workload.xml   MQSim_IO_Scenarios ─► scenario ─► flows of requests: tenants of a workload
                                              └► flows of a trace:  a `replay` each
```
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, inert
from opennandlab.foreign import mqsim_device as device
from opennandlab.foreign import mqsim_flows as flows
from opennandlab.foreign.conversion import Conversion, WorkloadFile, merged
from opennandlab.foreign.table import ABSENT, UNKNOWN, Entry, Row, Translation, read, translate
from opennandlab.foreign.xml_text import Element, parse

DEVICE, SCENARIOS, SCENARIO = "Execution_Parameter_Set", "MQSim_IO_Scenarios", "IO_Scenario"
# Most that is read of a trace to count its requests.
TRACE_BYTES_MAX = 1 << 30
TRACE_LINE_BYTES_MAX = 4096
TRACE_COLUMNS = 5
TENANTS_MAX = 64


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
            raise ConfigError("FILE", message)
        if root.name in roots:
            raise ConfigError("FILE", f"{path.name}: a second {root.name}; accepted: one")
        roots[root.name] = path, root
    if DEVICE not in roots:
        raise ConfigError("FILE", f"no {DEVICE} (ssdconfig.xml), which a workload file needs")
    path, root = roots[DEVICE]
    scenarios: list[list[dict[str, Any]]] = []
    unknown: list[Row] = []
    if SCENARIOS in roots:
        scenarios, unknown = _scenarios(*roots[SCENARIOS])
    entries = list(_entries(root, path.name, DEVICE))
    fields = device.HOST_FIELDS | device.DEVICE_FIELDS | device.FLASH_FIELDS
    more = _of_flows([flow for scenario in scenarios for flow in scenario])
    made, values = translate(entries, fields, device.RULES, as_run=as_run, more=more)
    found = Conversion("mqsim", inert(path.stem) or "drive", made, rows=[*made.rows])
    for number, scenario in enumerate(scenarios, 1):
        _add(found, scenario, values, number, as_run=as_run)
    found.rows += unknown
    return found


def _entries(element: Element, file: str, section: str) -> Iterator[Entry]:
    """Yield the elements of a device file; one in another section than its own has its name."""
    known = device.FIELDS.get(section, {})
    for one in element.inside:
        place = f"{file}:{one.line}"
        if one.name in device.SECTIONS.get(section, ()) and not one.text.strip():
            yield from _attributes(one, file, one.name)
            yield from _entries(one, file, one.name)
        elif one.inside:
            yield from _unknown(one, file, f"{section}/{one.name}")
        else:
            name = one.name if one.name in known else f"{section}/{one.name}"
            yield Entry(name, one.text, place)
            yield from _attributes(one, file, one.name)


def _attributes(one: Element, file: str, label: str) -> Iterator[Entry]:
    for name, text in one.attributes.items():
        yield Entry(f"{label}@{name}", text, f"{file}:{one.line}")


def _unknown(element: Element, file: str, label: str) -> Iterator[Entry]:
    """Yield the parts of an element that is not known."""
    yield from _attributes(element, file, label)
    for one in element.inside:
        if one.inside:
            yield from _unknown(one, file, f"{label}/{one.name}")
        else:
            yield Entry(f"{label}/{one.name}", one.text, f"{file}:{one.line}")
            yield from _attributes(one, file, f"{label}/{one.name}")


def _scenarios(path: Path, root: Element) -> tuple[list[list[dict[str, Any]]], list[Row]]:
    """Return the values of each flow of each scenario, and rows of unknown elements."""
    found: list[list[dict[str, Any]]] = []
    apart: list[Entry] = list(_attributes(root, path.name, SCENARIOS))
    for one in root.inside:
        if one.name != SCENARIO:
            apart += _loose(one, path.name, SCENARIOS)
            continue
        apart += _attributes(one, path.name, SCENARIO)
        scenario: list[dict[str, Any]] = []
        for flow in one.inside:
            if flow.name not in flows.FIELDS:
                apart += _loose(flow, path.name, SCENARIO)
                continue
            group = f"{len(found) + 1}.{len(scenario) + 1}"
            scenario.append(_flow(flow, path, group))
        if not scenario:
            raise ConfigError("FILE", f"{path.name}:{one.line}: a scenario without a flow")
        if len(scenario) > TENANTS_MAX:
            message = f"{path.name}:{one.line}: {len(scenario)} flows; accepted: {TENANTS_MAX}"
            raise ConfigError("FILE", message)
        found.append(scenario)
    rows = [Row(e.label, e.text.strip(), "", e.place, "dropped", note=UNKNOWN, figures=True)
            for e in apart]  # fmt: skip
    if not found:
        raise ConfigError("FILE", f"{path.name}: no {SCENARIO} in it")
    return found, rows


def _loose(one: Element, file: str, section: str) -> Iterator[Entry]:
    label = f"{section}/{one.name}"
    if one.inside:
        yield from _unknown(one, file, label)
    else:
        yield Entry(label, one.text, f"{file}:{one.line}")


def _flow(element: Element, path: Path, group: str) -> dict[str, Any]:
    """Return the values of a flow, and its entries."""
    entries: list[Entry] = list(_attributes(element, path.name, f"{group}/{element.name}"))
    for one in element.inside:
        if one.inside:
            entries += _unknown(one, path.name, f"{group}/{one.name}")
        else:
            entries.append(Entry(one.name, one.text, f"{path.name}:{one.line}", group))
            entries += _attributes(one, path.name, f"{group}/{one.name}")
    values, _ = read(entries, flows.FIELDS[element.name])
    values |= {"group": group}
    flows.need(values, "Device_Level_Data_Caching_Mode")
    values |= {"kind": element.name, "entries": entries, "path": path}
    if element.name == flows.TRACE:
        flows.need(values, "File_Path")
        values["requests"] = _requests(path.parent, values)
    return values


def _requests(folder: Path, values: Mapping[str, Any]) -> int | None:
    """Count the requests of a trace as MQSim does; None if not asked or not possible.

    The workload file is of another author: only traces in its own folder are opened.
    """
    if values.get("Percentage_To_Be_Executed", 100) == 100:
        return None
    try:
        trace = (folder / values["File_Path"]).resolve()
        if not trace.is_relative_to(folder.resolve()):
            return None
        if not stat.S_ISREG(trace.stat().st_mode) or trace.stat().st_size > TRACE_BYTES_MAX:
            return None
        count = 0
        with trace.open("rb") as stream:
            while line := stream.readline(TRACE_LINE_BYTES_MAX):
                if len(line.split()) != TRACE_COLUMNS:
                    break
                count += 1
    except (OSError, ValueError):
        return None
    return count


def _of_flows(all_flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the rules of the device know of flows."""
    depths = [flow.get("Average_No_of_Reqs_in_Queue", 1) for flow in all_flows]
    return {
        "modes": [flow["Device_Level_Data_Caching_Mode"] for flow in all_flows],
        "depth": max(depths, default=1),
    }


def _add(
    made: Conversion,
    scenario: Sequence[dict[str, Any]],
    values: Mapping[str, Any],
    number: int,
    *,
    as_run: bool,
) -> None:
    """Translate a scenario: a workload of its synthetic flows, a replay of each trace."""
    path: Path = scenario[0]["path"]
    tenants: list[tuple[str, Translation]] = []
    rows: list[Row] = []
    parts = list(flows.parts(scenario, values))
    mixed = len({flow["kind"] for flow in scenario}) > 1
    for place, (flow, part) in enumerate(zip(scenario, parts, strict=True), 1):
        kind = flow["kind"]
        more = {**part, "group": flow["group"], "requests": flow.get("requests")}
        one, _ = translate(
            flow["entries"], flows.FIELDS[kind], flows.RULES[kind], as_run=as_run, more=more
        )
        rows += one.rows
        if kind == flows.SYNTHETIC:
            tenants.append((f"flow-{place}", one))
            continue
        made.replays.append(_replay(flow, one))
        if len(scenario) > 1:
            note = "replayed alone, beside the other flows there"
            rows.append(_lost(f"(flow {flow['group']})", note))
    if tenants:
        workload = WorkloadFile(f"{inert(path.stem)}-{number}", Translation(), tenants)
        rows = _together(workload, rows, values, scenario)
        made.workloads.append(workload)
        if mixed:
            note = "tenants alone, without the traces that run beside them there"
            rows.append(_lost(f"(scenario {number})", note))
    made.rows += rows


def _lost(source: str, note: str) -> Row:
    return Row(source, "", "", "", "approximated", note=note, figures=True)


def _together(
    workload: WorkloadFile,
    rows: list[Row],
    values: Mapping[str, Any],
    scenario: Sequence[Mapping[str, Any]],
) -> list[Row]:
    """Give a workload what its tenants share, and return the rows with what that changes."""
    totals = [one.keys.pop("total") for _, one in workload.tenants]
    origins = [one.origins.pop("total") for _, one in workload.tenants]
    total, note = merged(totals)
    of_what = origins[0] if len(set(origins)) == 1 else " ".join(origins)
    workload.own.set("total", total, of_what)
    steps: list[dict[str, Any]] = [{"kind": "sequential_fill"}]
    writes = any(flow.get("Read_Percentage", 0) < 100 for flow in scenario)
    if values["Enabled_Preconditioning"] and writes:
        steps.append({"kind": "workload", "until": "steady"})
    enabled = "on" if values["Enabled_Preconditioning"] else "off"
    workload.own.set(
        "precondition",
        steps,
        f"Initial_Occupancy_Percentage; Enabled_Preconditioning is {enabled}.",
    )
    if not note:
        return rows
    return [
        replace(row, kind="approximated", written=total, run=ABSENT, note=note, figures=True)
        if row.key == "total" and row.kind == "converted"
        else row
        for row in rows
    ]


def _replay(flow: Mapping[str, Any], one: Translation) -> list[str]:
    """Return the arguments of `replay` for a flow of a trace."""
    path = str(flow["path"].parent / flow["File_Path"])
    # One that begins with a dash would be an option.
    path = f"./{path}" if path.startswith("-") else path
    found = [path, "--trace-format", "mqsim", "--beyond", "wrap"]
    if "total" in one.keys:
        found += ["--set", f"workload.total.ios={one.keys['total']}"]
    return found
