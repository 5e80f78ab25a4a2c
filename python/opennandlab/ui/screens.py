"""What the screens Plot, Compare, Run and New run show, as values for their templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from opennandlab.comparing import page as side_page
from opennandlab.comparing.opening import points as subjects_of
from opennandlab.comparing.side import Side, made
from opennandlab.config import PRESETS, device_presets, workload_presets
from opennandlab.errors import ConfigError, DocumentError, OpenNandLabError, ResultError, StoreError
from opennandlab.reports.figure import static
from opennandlab.reports.model import Report
from opennandlab.reports.stored import Drawn, drawing
from opennandlab.store import Entry, Names, Store
from opennandlab.store.conditions import resolved
from opennandlab.summary import number
from opennandlab.sweeps.verbs import VERBS
from opennandlab.ui import commands, sweeping
from opennandlab.ui.documents import report_of
from opennandlab.ui.forms import Form, form
from opennandlab.ui.jobs import Jobs
from opennandlab.ui.listing import Asked, equals
from opennandlab.ui.pages import Figures, address, ago

PARTS = ("x", "y", "lines", "facets")
TITLE_CHARS_MAX = 200
COMPARED_MAX = 40
DEVICE, WORK = "tlc_standard", "W2"
# Documents that `verify` runs again.
VERIFIED = ("opennandlab.result/1", "opennandlab.pts/1", "opennandlab.ecc-curve/1")


def _plot_asked(query: Any) -> tuple[Asked, dict[str, str], str]:  # noqa: ANN401 (a multi-dict)
    asked = {name: text for name in PARTS if (text := query.get(name, "").strip())}
    return Asked.of(query), asked, query.get("title", "").strip()[:TITLE_CHARS_MAX]


def plot(store: Store, place: Path, query: Any) -> dict[str, Any]:  # noqa: ANN401 (a multi-dict)
    """Return the plot builder: its menus, and the figure or why there is none."""
    asked, chosen, title = _plot_asked(query)
    names = store.names()
    values: dict[str, Any] = {"asked": asked, "title_text": title, "names": names,
                              "problem": "", "drawn": None, "figures": None, "table": None,
                              "line": "", "python": "", "svg": ""}  # fmt: skip
    values |= _menus(names, None, chosen)
    if not names.metrics:
        return values | {"problem": "No point is done yet, so there is nothing to draw."}
    try:
        drawn = drawing(store, asked.conditions, chosen, title)
    except (ConfigError, StoreError) as error:
        problem = error.message if isinstance(error, ConfigError) else str(error)
        return values | {"problem": problem} | _menus(names, None, chosen)
    wanted = {name: value for name in PARTS if (value := getattr(drawn.wanted, name)) is not None}
    return values | _menus(names, drawn, wanted) | {
        "drawn": drawn,
        "figures": Figures.of(drawn.report),
        "line": commands.plot_line(place, asked.conditions, wanted, title),
        "python": commands.plot_python(place, asked.conditions, wanted, title),
        "svg": address("/plot.svg", **asked.query(page=None), **wanted, title=title),
    }  # fmt: skip


def _menus(names: Names, drawn: Drawn | None, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return what the menus of the plot builder offer; at first what the points have."""
    varied = list(drawn.varied) if drawn else names.coordinates
    metrics = list(drawn.metrics) if drawn else names.metrics
    found = {}
    for name in PARTS:
        known = metrics if name == "y" else varied
        value = chosen.get(name, "")
        whole = resolved(value, known) if value else None
        found[name] = whole or value
    return {"varied": varied, "metrics": metrics, "chosen": found}


def plot_svg(store: Store, query: Any) -> bytes:  # noqa: ANN401 (a multi-dict)
    """Return the figure of the plot builder as SVG."""
    asked, chosen, title = _plot_asked(query)
    drawn = drawing(store, asked.conditions, chosen, title)
    return static.svg(drawn.report.figures).encode()


def compare(store: Store, keys: list[str], *, every: bool) -> dict[str, Any]:
    """Return points side by side, with what speaks against comparing them."""
    values: dict[str, Any] = {"side": None, "figures": None, "problem": "", "every": every}
    if len(keys) < 2:
        return values
    if len(keys) > COMPARED_MAX:
        text = f"{len(keys)} points are chosen; accepted: {COMPARED_MAX}"
        return values | {"problem": text}
    try:
        family, subjects = subjects_of([store.entry(key) for key in keys])
        # What must not be compared is shown, with what speaks against it above.
        side: Side = made(family, subjects, force=True)
    except (StoreError, ResultError, DocumentError) as error:
        return values | {"problem": str(error)}
    report = side_page.report(side, side.every if every else side.main)
    return values | {
        "side": side,
        "figures": Figures.of(_without_notes(report)),
        "reasons": side.comparison.reasons,
        "warnings": report.chapters[0].warnings[len(side.comparison.reasons):],
        "summary": side.summary(),
    }  # fmt: skip


def _without_notes(report: Report) -> Report:
    """Return a report whose objections stand elsewhere on the page."""
    first = replace(report.chapters[0], badges=(), warnings=(), subtitle="")
    return replace(report, chapters=(first, *report.chapters[1:]))


def run(entry: Entry, place: Path) -> dict[str, Any]:
    """Return one point: its report, its numbers, its settings, and the commands for it."""
    figures, problem = None, ""
    if entry.document is not None:
        try:
            report = report_of(entry.document, f"{entry.verb} {entry.key[:8]}")
        except OpenNandLabError as error:
            problem = str(error)
        else:
            figures, problem = Figures.of(report), "; ".join(report.warnings)
    schema = "" if entry.document is None else str(entry.document.get("schema"))
    lines = commands.run_lines(
        place, entry.key,
        can_verify=entry.done and schema in VERIFIED,
        can_rerun=entry.verb in VERBS and "device" in entry.settings,
    )  # fmt: skip
    return {
        "figures": figures,
        "problem": problem,
        "lines": lines if entry.done else lines[2:],
        "metrics": [(name, number(value)) for name, value in entry.metrics.items()],
        "settings": json.dumps(entry.settings, indent=2, ensure_ascii=False, default=dict),
        "alike": address("/", where=[equals(k, v) for k, v in entry.coordinates.items()],
                         verb=entry.verb),
    }  # fmt: skip


def new(query: Any) -> dict[str, Any]:  # noqa: ANN401 (a multi-dict)
    """Return the form for a new run, for the presets that were chosen."""
    device, workload = query.get("device", DEVICE), query.get("workload", WORK)
    problem = ""
    if device not in device_presets():
        problem, device = f"`{device}` is no preset of a device", DEVICE
    if workload not in workload_presets():
        problem, workload = f"`{workload}` is no preset of a workload", WORK
    made_form: Form = form(device, workload)
    return {
        "form": made_form,
        "device": device,
        "workload": workload,
        "problem": problem,
        "devices": [(name, _title(PRESETS / f"{name}.yaml")) for name in device_presets()],
        "workloads": [
            (name, _title(PRESETS / "workloads" / f"{name}.yaml")) for name in workload_presets()
        ],
        "varied_max": 3,
        "seed": 42,
    }


def _title(path: Path) -> str:
    """Return the first comment of a preset: by rule it says what it is."""
    with path.open(encoding="utf-8") as lines:
        first = lines.readline().strip()
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def of_sweep(screen: sweeping.Screen, place: Path) -> dict[str, Any]:
    """Return what the screen of a sweep leads to."""
    name = screen.sweep.name
    return {
        "line": commands.sweep_line(place, screen.sweep.definition),
        "definition": json.dumps(screen.sweep.definition, indent=2, ensure_ascii=False),
        "can_go_on": can_go_on(screen.sweep.definition),
        "plot": address("/plot", sweep=name),
        "listed": address("/", sweep=name),
        "failed_runs": address("/", sweep=name, status="failed"),
        "started": ago(screen.sweep.created),
    }


def can_go_on(definition: Mapping[str, Any]) -> bool:
    """Tell whether a page may go on with a sweep: one over presets of the package alone."""
    if definition.get("run") != "benchmark" or definition.get("points"):
        return False
    grid = definition.get("grid")
    grid = grid if isinstance(grid, Mapping) else {}
    varied = {key: grid.get(key, []) for key in ("device", "workload")}
    if not all(isinstance(values, list) for values in varied.values()):
        return False
    named = {
        "device": [definition.get("device") or "config", *varied["device"]],
        "workload": [definition.get("workload"), *varied["workload"]],
    }
    known = {"device": device_presets(), "workload": workload_presets()}
    if any(one not in known[key] for key, values in named.items() for one in values):
        return False
    text = json.dumps([definition.get("set"), grid])
    return ".py" not in text and not any(":" in word for word in _words(definition))


def _words(value: Any) -> list[str]:  # noqa: ANN401 (JSON)
    """Return all texts of the settings of a sweep."""
    if isinstance(value, Mapping):
        return [word for key, one in value.items() if key != "name" for word in _words(one)]
    if isinstance(value, list):
        return [word for one in value for word in _words(one)]
    return [value] if isinstance(value, str) else []


def jobs(found: Jobs) -> dict[str, Any]:
    """Return what was started here, as JSON."""
    active = [job for job in found.listed if job.is_active]
    running = next((job for job in active if job.state == "running"), None)
    text = ""
    if running is not None:
        done, total = (int(running.progress.get(key) or 0) for key in ("done", "total"))
        text = f"{running.name}: {done} of {total}" if total else f"{running.name}: starts"
        if len(active) > 1:
            text += f", {len(active) - 1} waiting"
    return {
        "text": text,
        "page": "" if running is None else address("/sweep", name=running.name),
    }
