"""What the screens Plot, Compare, Run and New run show, as values for their templates."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import (
    ConfigError,
    DocumentError,
    OpenNandLabError,
    ResultError,
    StoreError,
    inert,
)
from opennandlab.base.words import number
from opennandlab.comparing import chance
from opennandlab.comparing import page as side_page
from opennandlab.comparing.opening import points as subjects_of
from opennandlab.comparing.side import Side, made, unranked
from opennandlab.core.config import PRESETS, device_presets, workload_presets
from opennandlab.core.own import texts
from opennandlab.reports.figure import static
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.model import Headline, Report, Section
from opennandlab.reports.runs import raw_words
from opennandlab.store import Entry, KeptSweep, Names, Store
from opennandlab.store.conditions import equals, resolved
from opennandlab.store.entry import PATHS, Scalar
from opennandlab.store.remarks import Remark
from opennandlab.studies.sweeps.drawing import USUAL, Drawn, drawing
from opennandlab.studies.sweeps.verbs import VERBS
from opennandlab.ui import commands, noise, sweeping, verbs
from opennandlab.ui.asking import FieldError, Folder
from opennandlab.ui.documents import report_of
from opennandlab.ui.forms import Form, form
from opennandlab.ui.jobs import Job, Jobs
from opennandlab.ui.listing import TableQuery, listing
from opennandlab.ui.pages import Figures, address, ago, span
from opennandlab.ui.parallel import parallel

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

PARTS = ("x", "y", "lines", "facets")
# The choice of all points in the menu of sweeps; without a choice it is the newest sweep.
ALL_SWEEPS = "*"
# Sweeps that are offered instead of a figure that cannot be drawn.
OFFERED_MAX = 8
TITLE_CHARS_MAX = 200
# Points of a figure, and rows of its table: drawing more takes a browser seconds.
DRAWN_MAX = 500
# Keys of a sweep that name presets or files.
PLACES = ("device", "workload")
# Parts of settings that have a name for people.
NAMED = ("device", "workload", "options")
COMPARED_MAX = 40
# Sweeps of other processes that are examined for whether they run, the newest first.
OTHERS_MAX = 20
# Points below the runs in progress.
NEWEST_MAX = 10
DEVICE, WORK = "tlc_standard", "W2"
# Parameters without which nothing is checked: those have no usual value.
NEEDED = {"ecc.curve": ("code", "x")}
# What may be varied, as placeholders: of a device, and of parameters alone.
EXAMPLES = (
    ("ftl.over_provisioning_pct", "0.07:0.4:8"), ("ftl.gc_policy", "greedy, fifo"),
    ("nand.channels", "2, 4, 8"),
)  # fmt: skip
EXAMPLES_OF = {
    "ecc.curve": (("x", "1e-3:4e-3:4"), ("channel", "bsc, sensing:3"), ("errors", "20, 100")),
    "theory.waf": (
        ("over_provisioning_pct", "0.07:0.4:8"), ("policy", "greedy, fifo"),
        ("pages_per_block", "64, 256"),
    ),
    "theory.queueing": (("queue_depth", "1, 4, 32"), ("dies", "4, 8"), ("service_us", "50, 60")),
    "theory.endurance": (
        ("write_amplification", "1:4:7"), ("pe_cycles", "1000, 3000"), ("raw_tb", "1, 2"),
    ),
    "reliability.rber": (
        ("pe_cycles", "0:3000:4"), ("retention_h", "0, 720, 8760"), ("model", "tlc, mlc"),
    ),
}  # fmt: skip
# Cards of a result, and of a report without headlines: metric, name, unit.
CARDS = (
    ("waf", "write amplification (WAF)", ""), ("iops.total", "IOPS", ""),
    ("throughput_mb_s.total", "throughput", "MB/s"), ("latency_us.all.p50", "median latency", "µs"),
    ("latency_us.all.p99", "99th percentile of latency", "µs"),
    ("latency_us.all.p999", "99.9th percentile", "µs"), ("fer", "frame error rate", ""),
    ("fer_low", "lower end of its 95 % interval", ""),
    ("fer_high", "upper end of its 95 % interval", ""), ("frames", "frames", ""),
    ("rber", "raw bit error rate", ""), ("average_1", "mean", ""),
)  # fmt: skip
CARDS_MAX, CARDS_LEAST = 6, 3
# Figures of a result that are drawn first.
FIRST = ("write-amplification", "latency-by-percentile")
# Documents that `verify` runs again.
VERIFIED = ("opennandlab.result/1",)


def _plot_query(store: Store, parameters: QueryParams) -> tuple[TableQuery, dict[str, str], str]:
    """Return the points of the plot builder, the parts of the plot, and its title.

    Without a choice, it is the newest sweep that has something to draw.
    """
    parts = {name: text for name in PARTS if (text := parameters.get(name, "").strip())}
    title = parameters.get("title", "").strip()[:TITLE_CHARS_MAX]
    query = TableQuery.of(parameters)
    if query.menus.get("sweep") == ALL_SWEEPS:
        menus = {name: one for name, one in query.menus.items() if name != "sweep"}
        return replace(query, menus=menus), parts, title
    if not query.conditions and (newest := next(map(_name, drawable(store)), None)) is not None:
        query = replace(query, menus={**query.menus, "sweep": newest})
    return query, parts, title


def _name(sweep: KeptSweep) -> str:
    return sweep.name


def drawable(store: Store) -> Iterator[KeptSweep]:
    """Yield the sweeps that have two points or more of something varied, the newest first."""
    return (one for one in store.sweeps() if one.done > 1 and one.definition.get("grid"))


def plot(store: Store, place: Path, parameters: QueryParams) -> dict[str, Any]:
    """Return the plot builder: its menus, and a figure or a substitute for it."""
    query, chosen, title = _plot_query(store, parameters)
    names = store.names()
    is_parallel = parameters.get("kind") == "parallel"
    values: dict[str, Any] = {
        "query": query, "title_text": title, "names": names, "problem": "", "drawn": None,
        "figures": None, "line": "", "python": "", "svg": "", "across": None, "offered": [],
        "is_parallel": is_parallel, "all_sweeps": ALL_SWEEPS,
        "other_kind": address("/plot", **query.parameters(page=None), **chosen, title=title,
                              kind=None if is_parallel else "parallel"),
    }  # fmt: skip
    values |= _menus(names, None, chosen)
    if not names.metrics:
        return values | {"problem": "No point is done yet, so there is nothing to draw."}
    if is_parallel:
        return values | _across(store, query, chosen, names)
    try:
        drawn = drawing(store, query.conditions, chosen, title, DRAWN_MAX)
    except (ConfigError, StoreError) as error:
        problem = error.message if isinstance(error, ConfigError) else str(error)
        # Its words are those of a command line, which has conditions as options.
        problem = problem.replace("`--where ", "`").replace("--where", "a condition")
        offered = list(islice(drawable(store), OFFERED_MAX))
        return {**values, "offered": offered, **_across(store, query, chosen, names),
                "problem": problem}  # fmt: skip
    wanted = {name: value for name in PARTS if (value := getattr(drawn.wanted, name)) is not None}
    return values | _menus(names, drawn, wanted) | {
        "drawn": drawn,
        "figures": Figures.of(drawn.report),
        "line": commands.plot_line(place, query.conditions, wanted, title),
        "python": commands.plot_python(place, query.conditions, wanted, title),
        "svg": address("/plot.svg", **query.parameters(page=None), **wanted, title=title),
    }  # fmt: skip


def _across(
    store: Store, query: TableQuery, chosen: Mapping[str, str], names: Names
) -> dict[str, Any]:
    """Return points as parallel coordinates, with the address of the points of a value."""
    metric = resolved(chosen.get("y", ""), names.metrics)
    try:
        if metric is None:
            found = store.rows(where=[*query.conditions, "status=done"], limit=1).metrics
            metric = next((one for one in USUAL if one in found), found[0] if found else None)
        across = None if metric is None else parallel(store, query.conditions, metric)
    except StoreError as error:
        return {"problem": str(error)}
    if across is None:
        return {"problem": "Nothing that was varied is left by these conditions."}

    def narrower(name: str, value: Scalar) -> str:
        where = [*query.where, equals(name, value)]
        return address("/plot", **query.parameters(page=None, where=where), y=metric,
                       kind="parallel")  # fmt: skip

    return {"across": across, "metric": metric, "narrower": narrower}


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


def plot_svg(store: Store, parameters: QueryParams) -> bytes:
    """Return the figure of the plot builder as SVG."""
    query, chosen, title = _plot_query(store, parameters)
    drawn = drawing(store, query.conditions, chosen, title, DRAWN_MAX)
    return static.svg(drawn.report.figures).encode()


def compare(store: Store, keys: list[str], *, every: bool) -> dict[str, Any]:
    """Return points side by side, with the objections to comparing them."""
    values: dict[str, Any] = {"side": None, "figures": None, "problem": "", "every": every,
                              "factors": None}  # fmt: skip
    if len(keys) < 2:
        return values
    if len(keys) > COMPARED_MAX:
        text = f"{len(keys)} points are chosen; accepted: {COMPARED_MAX}"
        return values | {"problem": text}
    try:
        entries = [store.entry(key) for key in keys]
        family, subjects = subjects_of(entries)
        # Unlike things are shown too, with the objections above.
        side: Side = made(family, subjects, force=True)
        found = chance.noise(store, entries, list(side.comparison.metrics))
        side = chance.without(side, found) if side.comparison.like else unranked(side)
    except (StoreError, ResultError, DocumentError) as error:
        return values | {"problem": str(error)}
    report = side_page.report(side, side.every if every else side.main)
    names = side.comparison.names
    head, short = side_page.short_names(names)
    # Texts about many runs name each by all that it sets, which no phone has room for.
    pairs = sorted(zip(names, short, strict=True), key=lambda one: -len(one[0]))

    def shorter(text: str) -> str:
        for name, values in pairs if head != "document" else ():
            text = text.replace(name, f"({values})")
        return text

    return values | {
        "side": side,
        "figures": Figures.of(_without_notes(report)),
        "reasons": [shorter(one) for one in side.comparison.reasons],
        "warnings": [
            shorter(one) for one in report.chapters[0].warnings[len(side.comparison.reasons):]
        ],
        "named_by": "" if head == "document" else head,
        "summary": side.summary(),
        "noise": found.text,
        "factors": noise.factors(side, found, side.main),
    }  # fmt: skip


def _without_notes(report: Report) -> Report:
    """Return a report without its objections, which are elsewhere on the page."""
    first = report.chapters[0]
    # The page draws numbers against the first itself, with what chance can do.
    sections = tuple(one for one in first.sections if one.id != "relative")
    first = replace(first, badges=(), warnings=(), subtitle="", sections=sections)
    return replace(report, chapters=(first, *report.chapters[1:]))


def checks_of(entry: Entry) -> tuple[bool, bool]:
    """Return whether a point can be verified and run again here: not what reads files or code."""
    document = entry.document or {}
    is_ours = entry.verb in VERBS and PATHS not in entry.settings and is_plain(entry.settings)
    if entry.verb == "ecc.curve":
        is_ours = is_plain({"code": entry.settings.get(PATHS, {}).get("code", "/")})
    can_verify = entry.done and document.get("schema") in VERIFIED and _runs_plain(document)
    return can_verify, is_ours


def _runs_plain(document: Mapping[str, Any]) -> bool:
    """Return whether a document names neither a file nor foreign code."""
    facts = document.get("run")
    facts = facts if isinstance(facts, Mapping) else {}
    reads = any(facts.get(key) is not None for key in ("image_path", "trace_path"))
    return not reads and is_plain({key: document.get(key) for key in ("device", "workload")})


def check_name(key: str, how: str) -> str:
    """Return the name of the job that checks a point."""
    return f"{how} {key[:8]}"


def _opened(report: Report, entry: Entry) -> tuple[tuple[Headline, ...], Report]:
    """Return the cards that open a page, and its report without them.

    Of a result, flat lines are drawn last.
    """
    [first, *rest] = report.chapters
    is_result = entry.verb in ("benchmark", "replay")
    cards = () if rest or is_result else first.headlines
    if not cards:
        has = [card for card in CARDS if card[0] in entry.metrics]
        has = has or [(name, name, "") for name in list(entry.metrics)[:CARDS_LEAST]]
        cards = tuple(
            Headline(name, number(entry.metrics[metric]), unit)
            for metric, name, unit in has[:CARDS_MAX]
        )
    sections = first.sections
    if is_result:
        sections = tuple(sorted(sections, key=_rank))
    first = replace(first, headlines=() if not rest else first.headlines, sections=sections)
    return cards, replace(report, chapters=(first, *rest))


def _rank(section: Section) -> int:
    """Return the place of a section of a result: curves, tables, flat lines."""
    plots = [item for item in section.items if isinstance(item, Plot)]
    values = [{y for y in line.y if y is not None} for plot in plots for line in plot.series]
    if plots and all(len(one) < 2 for one in values):
        return 3
    if not plots:
        return 1
    return 0 if section.id in FIRST else 2


def subject(entry: Entry) -> str:
    """Return load and drive of a point in words, or code and channel; empty for neither."""
    settings = entry.settings
    device, work, given = (settings.get(key) for key in ("device", "workload", PATHS))
    said = []
    if isinstance(work, Mapping):
        pattern = work.get("pattern")
        kind = pattern.get("kind") if isinstance(pattern, Mapping) else pattern
        said.append(str(work.get("name") or f"{kind} pattern"))
        said += [f"queue depth {work['queue_depth']}"] if work.get("timed") else ["untimed"]
    if isinstance(device, Mapping):
        nand = device.get("nand")
        raw = raw_words(nand) if isinstance(nand, Mapping) else ""
        said += [str(device[key]) for key in ("name",) if device.get(key)] + [raw] * bool(raw)
    if isinstance(given, Mapping) and "code" in given:
        said += [str(given["code"]), f"channel {settings.get('channel')}"]
    return inert(", ".join(said))


def run(store: Store, entry: Entry, place: Path, jobs: Jobs) -> dict[str, Any]:
    """Return one point: its report, its numbers, its settings, and the commands for it."""
    figures, problem = None, ""
    cards: tuple[Headline, ...] = ()
    warnings: tuple[str, ...] = ()
    if entry.document is not None:
        try:
            report = report_of(entry.document, f"{entry.verb} {entry.key[:8]}")
        except OpenNandLabError as error:
            problem = str(error)
        else:
            warnings = report.warnings
            cards, report = _opened(report, entry)
            figures = Figures.of(report)
    schema = "" if entry.document is None else str(entry.document.get("schema"))
    lines = commands.run_lines(
        place, entry.key,
        can_verify=entry.done and schema in VERIFIED,
        can_rerun=entry.verb in VERBS and "device" in entry.settings,
    )  # fmt: skip
    can_verify, can_rerun = checks_of(entry)
    names = {check_name(entry.key, how) for how in ("verify", "rerun")}
    checks = [job for job in jobs.listed if job.name in names]
    return {
        "can_verify": can_verify,
        "can_rerun": can_rerun,
        "check": checks[0] if checks else None,
        "cards": cards,
        "subject": subject(entry),
        "remark": store.remarks([entry.key]).get(entry.key, Remark()),
        "known_tags": store.names().tags,
        "figures": figures,
        "problem": problem,
        "warnings": warnings,
        "lines": lines if entry.done else lines[2:],
        "metrics": [(name, number(value)) for name, value in entry.metrics.items()],
        "settings": json.dumps(entry.settings, indent=2, ensure_ascii=False, default=dict),
        "alike": address("/", where=[equals(k, v) for k, v in entry.coordinates.items()],
                         verb=entry.verb),
    }  # fmt: skip


def new(query: Any, folder: Folder) -> dict[str, Any]:  # noqa: ANN401 (a multi-dict)
    """Return the form for a new run, for what was chosen to begin with."""
    name, workload = query.get("run", verbs.BENCHMARK), query.get("workload", WORK)
    file, problem = query.get("file", "").strip(), ""
    device = query.get("device", DEVICE)
    if name not in verbs.OFFERED:
        problem, name = f"`{name}` cannot be run here", verbs.BENCHMARK
    verb = verbs.OFFERED[name]
    try:
        source = folder.device(file or device)
    except FieldError as error:
        problem, source, file, device = str(error), DEVICE, "", DEVICE
    if workload not in workload_presets():
        problem, workload = f"`{workload}` is not a preset of a workload", WORK
    has_workload = name == verbs.BENCHMARK
    made_form: Form = form(
        source if verbs.has_device(verb) else None,
        workload if has_workload else None,
        verbs.own_fields(verb),
    )
    return {
        "form": made_form,
        "run": name,
        "runs": [(one, verb.title) for one, verb in verbs.OFFERED.items()],
        "has_device": verbs.has_device(verb),
        "has_workload": has_workload,
        "is_random": verb.is_random,
        "needs": "" if has_workload else ", ".join(verb.needed or NEEDED.get(name, ())),
        "folder": folder.root,
        "file": file,
        "source": file or device,
        "device": device,
        "workload": workload,
        "problem": problem,
        "devices": [(name, _title(PRESETS / f"{name}.yaml")) for name in device_presets()],
        "workloads": [
            (name, _title(PRESETS / "workloads" / f"{name}.yaml")) for name in workload_presets()
        ],
        "varied_max": 3,
        "examples": EXAMPLES_OF.get(name, EXAMPLES),
        "seed": 42,
    }


def _title(path: Path) -> str:
    """Return the first comment of a preset: by rule it states what it is."""
    with path.open(encoding="utf-8") as lines:
        first = lines.readline().strip()
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def of_sweep(screen: sweeping.Screen, place: Path, folder: Folder) -> dict[str, Any]:
    """Return the links of the screen of a sweep."""
    name = screen.sweep.name
    return {
        "line": commands.sweep_line(place, screen.sweep.definition),
        "definition": json.dumps(screen.sweep.definition, indent=2, ensure_ascii=False),
        "can_go_on": can_go_on(screen.sweep.definition, folder),
        "plot": address("/plot", sweep=name),
        "listed": address("/", sweep=name),
        "failed_runs": address("/", sweep=name, status="failed"),
        "started": ago(screen.sweep.created),
    }


def can_go_on(definition: Mapping[str, Any], folder: Folder) -> bool:
    """Tell whether a page may go on with a sweep: over presets, and device files of the folder."""
    verb = verbs.OFFERED.get(str(definition.get("run")))
    if verb is None or definition.get("points"):
        return False
    grid = definition.get("grid")
    grid = grid if isinstance(grid, Mapping) else {}
    varied = {key: grid.get(key, []) for key in ("device", "workload")}
    if not all(isinstance(values, list) for values in varied.values()):
        return False
    works = [definition.get("workload"), *varied["workload"]]
    if verb.name == verbs.BENCHMARK and any(one not in workload_presets() for one in works):
        return False
    if verbs.has_device(verb):
        try:
            for one in (definition.get("device") or "config", *varied["device"]):
                folder.device(str(one))
        except FieldError:
            return False
    rest = {key: value for key, value in definition.items() if key not in PLACES}
    rest["grid"] = {key: value for key, value in grid.items() if key not in PLACES}
    return is_plain(rest)


def is_plain(settings: Mapping[str, Any]) -> bool:
    """Return whether settings name no file and no code of the user's own.

    This is for what a page offers: whatever it says, a worker allows no code.
    """
    shown = {
        # What a drive, a workload or a sweep is called leads nowhere.
        key: {name: one for name, one in value.items() if name != "name"}
        if isinstance(value, Mapping) and key in NAMED else value
        for key, value in settings.items() if key != "name"
    }  # fmt: skip
    return all(
        word != "python"
        and (
            verbs.CODES_WITHOUT_FILE.fullmatch(word)
            or not (":" in word or "/" in word or ".py" in word)
        )
        for word in texts(shown)
    )


@dataclass(frozen=True)
class Live:
    """A run that waits, runs or has ended.

    Args:
        name: Name of the sweep, or of the check of a point.
        page: Address of its results.
        state: As in `Progress` of a sweep.
        share: How much of it is done, 0 to 1; None if that is not known.
        text: The same in words, with the time that is left.
        note: A remark for the reader.
        points: Shares of the points that run now; None for one that is not known.
    """

    name: str
    page: str
    state: str
    share: float | None
    text: str
    note: str = ""
    points: tuple[float | None, ...] = ()


def live(store: Store, found: Jobs) -> dict[str, Any]:
    """Return the runs in progress here and elsewhere, those that have ended here, new points."""
    jobs = found.listed
    here = {job.name for job in jobs}
    others = [one for one in store.sweeps()
              if one.name not in here and one.done + one.failed < one.points]  # fmt: skip
    running = [_of_job(job) for job in reversed(jobs) if job.is_active]
    for sweep in others[:OTHERS_MAX]:
        at = sweeping.elsewhere(store, sweep)
        if at.state == "outside":
            page = address("/sweep", name=sweep.name)
            running.append(
                Live(sweep.name, page, at.state, at.done / max(1, at.total), at.text, at.note)
            )
    known = set(store.names().sweeps)
    return {
        "running": running,
        "ended": [_ended(job, known) for job in jobs if not job.is_active],
        "newest": listing(store, TableQuery(), NEWEST_MAX),
    }


def _ended(job: Job, known: set[str]) -> Live:
    """Return a job that has ended; one that left nothing in the store has no page."""
    found = _of_job(job)
    if job.message or job.name in known or "check" in job.sweep:
        return found
    return replace(found, page="", text="it ended before its first point")


def _of_job(job: Job) -> Live:
    """Return the progress of a job, by the last line of its worker."""
    said = job.progress
    done, total, failed = (int(said.get(key) or 0) for key in ("done", "total", "failed"))
    points = tuple(said.get("running") or ())
    if job.state == "queued":
        return Live(job.name, job.page, job.state, None, "waits for what is above it")
    if not total:
        text = "" if job.message or not job.is_active else "starts"
        return Live(job.name, job.page, job.state, None, text, job.message)
    share = min(1.0, (done + sum(one or 0.0 for one in points)) / total)
    parts = (
        [sweeping.counted(done, total)] if "check" not in job.sweep else [f"{100 * share:.0f} %"]
    )
    if failed:
        parts.append(f"{failed} failed")
    if job.is_active:
        left = said.get("eta_s")
        if left is None and share > 0.02:
            left = (time.monotonic() - job.began) * (1 - share) / share
        parts.append("time left not known yet" if left is None else f"{span(left)} left")
    return Live(job.name, job.page, job.state, share, " · ".join(parts), job.message,
                points if job.is_active else ())  # fmt: skip


def jobs(found: Jobs) -> dict[str, Any]:
    """Return the jobs that were started here, as JSON."""
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
        "page": "" if running is None else running.page,
        "active": [job.name for job in active],
    }
