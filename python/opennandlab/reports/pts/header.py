"""The head of a chapter: what ran, on what, how, and how far to trust it.

The standard asks for these facts on every page (PTS 2.0.2, report headings): all of them stand at
the head of the chapter, the most important in one line on each printed page.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from opennandlab.documents.pts import Cell, Phase
from opennandlab.documents.pts_header import Cache, Header, Imported
from opennandlab.documents.pts_origin import is_own_matrix, method
from opennandlab.reports import words
from opennandlab.reports.model import Badge, Facts, Kind
from opennandlab.reports.pts import steady as steadiness
from opennandlab.reports.pts.drive import counted, life_text, power_text, state_text, waf_text
from opennandlab.reports.pts.source import Measured, plain
from opennandlab.reports.pts.verdict import NOT_ATTAINED, NOT_COLLECTING
from opennandlab.reports.summary import build

PROFILES = {"C": "PTS-C (client)", "E": "PTS-E (enterprise)"}
KINDS: dict[str, Kind] = {"full": "good", "scaled": "plain"}
# The claim that a report must not make, whatever ran.
CLAIM = "Made after the published specification; not certified by SNIA."


def facts(measured: Measured) -> Facts:
    """Return the groups of the header; a fact that is not known states this."""
    groups: tuple[tuple[str, list[tuple[str, str]]], ...]
    if measured.header.imported is not None:
        groups = (
            ("Origin", _origin(measured.header, measured.header.imported)),
            ("Device", _device(measured)),
            ("Platform", _platform(measured) if measured.header.target.platform else []),
        )
        return _filled(groups)
    groups = (
        ("Test", _test(measured)),
        ("Device", _device(measured)),
        ("Platform", _platform(measured)),
        ("Way of a request", _path(measured)),
        ("Set-up", _setup(measured)),
        ("Run", _run(measured)),
    )
    return _filled(groups)


def _filled(groups: tuple[tuple[str, list[tuple[str, str]]], ...]) -> Facts:
    return tuple(
        (name, tuple((key, value or words.NOTHING) for key, value in rows))
        for name, rows in groups
        if rows
    )


def _origin(header: Header, found: Imported) -> list[tuple[str, str]]:
    """Return where figures come from, and what is known of how they were taken."""
    return [
        ("Imported from", found.origin),
        ("Source", found.source or ""),
        *((f"File {one.name}", f"sha256 {one.sha256[:12]}") for one in found.files),
        ("Profile", PROFILES.get(header.profile, header.profile)),
        ("Threads / queue depth", _load(header) if header.threads is not None else ""),
        ("Not known", ", ".join(found.unknown) or "nothing"),
    ]


def badges(measured: Measured) -> tuple[Badge, ...]:
    """Return what qualifies all numbers of the chapter."""
    return tuple(_badges(measured))


def subtitle(measured: Measured) -> str:
    """Return the line below the heading: what was tested, and by which load."""
    header = measured.header
    if header.imported is not None:
        load = _load(header) if header.threads is not None else ""
        return " · ".join(filter(None, (subject(measured), load)))
    device = header.target.device
    size = measured.capacity_bytes
    drive = (words.binary(size) if size else "", device.nand_type or "")
    parts = [
        subject(measured),
        " ".join(filter(None, drive)),
        source(measured),
        state_text(header),
        _load(header) if header.threads is not None else "",
        _active_range(header) + " of the capacity" if header.active_range.share else "",
    ]
    return " · ".join(part for part in parts if part)


def common(measured: Sequence[Measured]) -> str:
    """Return what several documents of one drive share: the drive, the rules, what was bent."""
    if len({subject(one) for one in measured}) != 1 or measured[0].header.imported is not None:
        return ""
    kinds = [
        [words.binary(one.capacity_bytes) if one.capacity_bytes else "" for one in measured],
        [one.header.target.device.nand_type or "" for one in measured],
        [source(one) for one in measured],
        [one.header.time_base.name for one in measured],
        [changed(one) for one in measured],
    ]
    told = [" and ".join(dict.fromkeys(filter(None, kind))) for kind in kinds]
    told[3] = told[3] and f"time base {told[3]}"
    return " · ".join(filter(None, told))


def source(measured: Measured) -> str:
    """Return what a test follows: profile and version of the specification, or a method."""
    version = f"{profile(measured)} {measured.header.pts_version}".strip()
    return method(measured.test) or version


def subject(measured: Measured) -> str:
    """Return what was tested: the target, and the model that the operator gave."""
    given = measured.moment.model if measured.moment else None
    name = measured.header.target.name
    return f"{given} ({name})" if given else name


def brief(measured: Measured) -> str:
    """Return the header in one line, for each printed page."""
    header = measured.header
    if header.imported is not None:
        return f"{measured.title} of {header.target.name} · imported from {header.imported.origin}"
    parts = [
        tool(measured),
        measured.title,
        source(measured),
        f"conformance: {header.conformance or 'unknown'}",
        _device_name(measured),
        changed(measured),
        f"cache {_cache(header.cache)}",
        f"purge: {(header.purge and header.purge.method) or 'unknown'}",
        f"WIPC: {_wipc(measured) or 'unknown'}",
        f"AR {_active_range(header)}",
        f"data {header.data or 'unknown'}",
        _load(header),
        f"seed {_seed(measured) or 'unknown'}",
        f"steady state: {_steady(measured)}",
        counted(len(deviations(measured)), "deviation"),
    ]
    return " · ".join(part for part in parts if part)


def _device_name(measured: Measured) -> str:
    target = measured.header.target
    device = target.device
    size = measured.capacity_bytes
    parts = [target.name, device.vendor, device.model, device.firmware, size and words.binary(size)]
    return " ".join(str(part) for part in parts if part)


def deviations(measured: Measured) -> tuple[str, ...]:
    """Return where the run left the specification."""
    return tuple(text for text in measured.header.deviations if text)


def profile(measured: Measured) -> str:
    """Return the profile in words."""
    letter = measured.header.profile
    return PROFILES.get(letter, letter)


def _badges(measured: Measured) -> Iterator[Badge]:
    header = measured.header
    if header.imported is not None:
        return
    if method(measured.test):
        name = header.time_base.name
        yield Badge(f"time base: {name}", KINDS.get(name, "warning"))
    elif header.conformance:
        kind = KINDS.get(header.conformance, "warning")
        yield Badge(f"conformance: {header.conformance}", kind)
    else:
        yield Badge("conformance unknown", "warning")
    yield from _badges_of_settings(header)
    if header.time_base.clock == "virtual":
        yield Badge("simulated, virtual time", "plain")
    if changed(measured):
        yield Badge(changed(measured), "plain")
    if measured.attained is False and measured.verdict.word != "not steady":
        holds = bool(measured.steady) and all(one.steady for one in measured.steady)
        why = f": {NOT_COLLECTING}" if holds else ""
        yield Badge(f"steady state {NOT_ATTAINED}{why}", "bad")
    if header.interrupted:
        yield Badge("interrupted and resumed", "warning")
    if measured.missing:
        yield Badge("document incomplete", "bad")


def _badges_of_settings(header: Header) -> Iterator[Badge]:
    if is_own_matrix(header):
        yield Badge("not the specification's matrix", "warning")
    if header.ranges_from:
        yield Badge(header.ranges_from.partition(":")[0], "plain")


def _specification(measured: Measured) -> str:
    followed = method(measured.test)
    if followed is not None:
        return f"none; {followed}"
    return f"SNIA SSS PTS {measured.header.pts_version or '?'}"


def _settings_of(measured: Measured) -> str:
    """Return whose cache, range and load the test has."""
    version = f" {measured.header.pts_version}" if method(measured.test) else ""
    what = "settings of " if version and profile(measured) else ""
    return f"{what}{profile(measured)}{version}"


def _test(measured: Measured) -> list[tuple[str, str]]:
    header = measured.header
    base = header.time_base
    lengths = [
        words.span(base.cell.seconds) if base.cell.seconds else "",
        f"{base.cell.ios:g} requests" if base.cell.ios else "",
    ]
    length = " and ".join(filter(None, lengths))
    if base.cell.reclaims:
        length += f"; of writes, {base.cell.reclaims} blocks reclaimed in every pool"
    return [
        ("Test", measured.title),
        ("Specification", _specification(measured)),
        ("Profile", _settings_of(measured)),
        *([] if method(measured.test) else [("Conformance", header.conformance)]),
        ("Time base", ", ".join(filter(None, (base.clock, base.name)))),
        *([("Cell", length)] if length else []),
        ("Steady state", _steady(measured)),
    ]


def _device(measured: Measured) -> list[tuple[str, str]]:
    target = measured.header.target
    device = target.device
    over = device.over_provisioning_ratio
    rows = [
        ("Target", target.name),
        ("Model", _model(measured)),
        ("Firmware", _firmware(measured)),
        ("Serial (hash)", (device.serial_sha256 or "")[:12]),
        ("User capacity", words.capacity(measured.capacity_bytes)),
        ("NAND", device.nand_type or ""),
        ("Interface", device.interface or ""),
        ("Sector", words.binary(device.sector_bytes or None)),
    ]
    if device.life is not None:
        rows.append(("Life used", life_text(device.life)))
    if over is not None:
        rows.append(("Over-provisioning", f"{over * 100:.2f} %"))
    if device.config_sha256:
        rows.append(("Configuration", f"sha256 {device.config_sha256[:12]}"))
    if changed := changes(measured):
        rows.append(("Keys changed", ", ".join(changed)))
    return rows


def changes(measured: Measured) -> tuple[str, ...]:
    """Return the keys of the device file that `--set` changed, as it was given."""
    found = measured.moment.overrides if measured.moment else None
    return tuple(f"{key}={value_text(value)}" for key, value in (found or {}).items())


def value_text(value: object) -> str:
    """Write a value as `--set` reads it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | Mapping) or value is None:
        return json.dumps(value)
    return f"{value}"


def changed(measured: Measured) -> str:
    """Say on the first screen that the device is not the one of its name."""
    return changed_keys(changes(measured))


def changed_keys(found: Sequence[str]) -> str:
    """Say how many keys were changed, or which; nothing of none."""
    if not found:
        return ""
    return f"device changed: {found[0] if len(found) == 1 else f'{len(found)} keys'}"


def _model(measured: Measured) -> str:
    device = measured.header.target.device
    known = " ".join(filter(None, (device.vendor, device.model)))
    given = measured.moment.model if measured.moment else None
    return f"{given} (given by hand; the target says {known or 'nothing'})" if given else known


def _firmware(measured: Measured) -> str:
    """Return the version of the firmware; a simulated drive has none but the simulator's."""
    firmware = measured.header.target.device.firmware or ""
    if measured.header.target.kind != "sim":
        return firmware
    return f"none: simulated by opennandlab {firmware}".strip()


def _platform(measured: Measured) -> list[tuple[str, str]]:
    names = {
        "cpu": "CPU", "ram": "RAM", "ram_bytes": "RAM", "os": "OS", "kernel": "Kernel",
        "driver": "Driver", "scheduler": "Scheduler", "fio_version": "fio",
        "board": "Board", "bios": "BIOS", "governor": "Frequency governor",
        "controller": "Controller, PCI ids", "controller_driver": "Driver of the controller",
        "link": "Link", "link_max": "Link at most", "numa_node": "NUMA node",
        "simulator_version": "Simulator", "model_version": "Model version",
    }  # fmt: skip
    rows = []
    for key, found in measured.header.target.platform.items():
        if found is None:
            continue
        is_size = key in {"ram", "ram_bytes"} and not isinstance(found, str)
        text = words.binary(float(found)) if is_size else plain(found)
        rows.append((names.get(key, key.replace("_", " ")), text))
    return rows or [("Platform", "")]


def _path(measured: Measured) -> list[tuple[str, str]]:
    """Return how a request reached the drive."""
    path = measured.header.host_path
    if path is None:
        return []
    rows = [("Requests from", path.engine), ("through", path.layer)]
    if path.direct is not None:
        rows.append(("Page cache", "bypassed (direct I/O)" if path.direct else "in the way"))
    if path.requests_asked and path.requests_seen is not None:
        ratio = path.requests_seen / path.requests_asked
        joined = f"{path.requests_joined or 0} joined with a neighbour"
        rows.append(("Kernel", f"{ratio:.3g} requests at the device for each asked for, {joined}"))
    if path.cpu_pct is not None:
        rows.append(("CPU use", f"{path.cpu_pct:.3g} % of one processor while requests ran"))
    return rows + [("Note", text) for text in path.notes]


def _setup(measured: Measured) -> list[tuple[str, str]]:
    header, purge = measured.header, measured.header.purge
    method = purge.method if purge else ""
    if purge and method and not purge.is_purge:
        method += " (not a purge)"
    throttle = "none" if header.oio_throttle is None else f"{header.oio_throttle:g}"
    return [
        ("Write cache", _cache(header.cache)),
        *([("State before", state_text(header))] if header.target.state else []),
        ("Purge", "; ".join(filter(None, (method, purge.note if purge else "")))),
        ("WIPC", _wipc(measured)),
        ("WDPC", "the rounds of the test itself" if measured.steady else "none"),
        ("Active range", _active_range(header)),
        ("Data", header.data),
        ("Threads / queue depth", _chosen_load(header)),
        *([("Source of the settings", header.ranges_from)] if header.ranges_from else []),
        ("OIO throttle", throttle if measured.has("header", "oio_throttle") else ""),
        *([("Power", text)] if (text := power_text(header)) else []),
        ("Seed", _seed(measured)),
        ("Options", _options(header.options)),
    ]


def _chosen_load(header: Header) -> str:
    """Return threads and depth; if the operator chose others, with the recommended ones."""
    load, choices = _load(header), header.choices or []
    is_stated = any(text.startswith(load) for text in choices)
    return "; ".join(choices if is_stated else [load, *choices])


def _run(measured: Measured) -> list[tuple[str, str]]:
    parts: list[Phase | Cell] = [*measured.phases, *measured.cells]
    total = _written(measured)
    capacity = measured.capacity_bytes
    fills = f" ({total / capacity:.3g} drive fills)" if total is not None and capacity else ""
    known = measured.header.temperature_c
    clock = measured.header.time_base.clock
    span = words.span(max((float(part.end_s) for part in parts), default=None))
    return [
        ("Duration", span + (f" of {clock} time" if clock else "")),
        ("Written", words.capacity(total) + fills),
        *([("Write amplification", text)] if (text := waf_text(measured.header)) else []),
        ("Temperature", f"{min(known):g} to {max(known):g} °C" if known else "not measured"),
        ("Tool", tool(measured)),
        ("Created", _created(measured)),
        *_remarks(measured),
        ("Digest", measured.document.digest[:16]),
    ]


def _written(measured: Measured) -> float | None:
    """Return all bytes written: each part counts from the purge before it."""
    purges = sorted(part.end_s for part in measured.phases if part.name == "purge")
    most: dict[int, float] = {}
    parts: list[Phase | Cell] = [*measured.phases, *measured.cells]
    for part in parts:
        since = bisect_right(purges, part.start_s)
        most[since] = max(most.get(since, 0.0), float(part.written_bytes))
    return sum(most.values()) if most else None


def _created(measured: Measured) -> str:
    """Return when the document was made, as it says itself or as `run.json` next to it does."""
    moment = measured.moment
    found = measured.document.created or (moment.created if moment else "")
    return found.replace("T", " ").replace("Z", " UTC") or "not recorded"


def _remarks(measured: Measured) -> list[tuple[str, str]]:
    """Return what the operator said of the run."""
    moment = measured.moment
    if moment is None:
        return []
    rows = [("Operator", moment.operator)] if moment.operator else []
    return rows + [("Note", text) for text in moment.notes or []]


def foot(measured: Measured) -> str:
    """Return the line below everything."""
    digest = measured.document.digest
    stated = f", digest {digest[:16]}" if digest else ""
    if measured.header.imported is not None:
        return f"Measured elsewhere, imported by opennandlab{stated}."
    followed = method(measured.test)
    claim = f"Not a test of SNIA: {followed}." if followed else CLAIM
    return f"Measured by {tool(measured)}{stated}. {claim}"


def tool(measured: Measured) -> str:
    """Return the program that made a document."""
    found = measured.document.tool
    if found is not None:
        return f"opennandlab {build(found.version, found.commit, dirty=found.dirty is True)}"
    # A simulated run leaves the tool out of its document, so that its bytes depend on less.
    version = measured.header.target.platform.get("simulator_version")
    return f"opennandlab {version}" if version else "opennandlab"


def _cache(cache: Cache) -> str:
    if cache.state and cache.asked and cache.state != cache.asked:
        return f"{cache.state} (asked for: {cache.asked})"
    return cache.state or cache.asked or "unknown"


def _wipc(measured: Measured) -> str:
    wipc = measured.header.wipc
    if wipc is None:
        return "none" if measured.has("header", "wipc") else ""
    over = f"{wipc.passes:.3g} passes" if wipc.passes != wipc.capacities else ""
    size = words.block(wipc.block_bytes)
    if fills_by_block(measured):
        size = "with the block size under test, before each"
    parts = (
        f"{wipc.pattern} {size}".strip(),
        f"{wipc.capacities:g} × user capacity",
        over,
    )
    return ", ".join(filter(None, parts))


def fills_by_block(measured: Measured) -> bool:
    """Whether each block size has a fill of its own size; the header states that of the last."""
    return measured.test == "throughput" and measured.header.options.get("wipc_block") == "tested"


# Options of tests -> what they are called.
OPTIONS = {
    "capacities": "limit of a full run, drive fills:",
    "drive_writes": "drive writes",
    "fill": "filled before:",
    "hours": "limit of a full run, h:",
    "mid_points": "points between MaxIOPS and MinIOPS:",
    "order": "order of the loads:",
    "pattern": "load:",
    "points": "share in use, %:",
    "probe": "probe, requests/s:",
    "random_kib": "block size of the random writes, KiB:",
    "rates": "load, of what is sustained:",
    "region_writes": "writes of the part in use:",
    "sample_minute": "minute of a round that is its sample:",
    "seconds": "seconds at each load:",
    "skewed": "pattern of cell 5:",
    "skews": "patterns:",
    "spare_factor": "spare factor",
    "until": "each pattern until",
    "wipc_block": "WIPC by block size:",
    "workload": "load:",
}
# Those of which zero leaves the choice to the test.
CHOSEN = {"drive_writes", "region_writes", "seconds", "spare_factor"}


def _options(options: dict[str, str | int | float]) -> str:
    # Lists have room to break after each of their items.
    told = {
        key: value.replace(",", ", ") if isinstance(value, str) else words.value(value)
        for key, value in options.items()
        if value or key not in CHOSEN
    }
    named = (f"{OPTIONS.get(key, key.replace('_', ' '))} {text}" for key, text in told.items())
    return "; ".join(named) or "none"


def _active_range(header: Header) -> str:
    active = header.active_range
    if not active.share:
        return "unknown"
    text = f"{active.share * 100:g} %"
    if active.amount_bytes is None:
        return text
    segments = f" in {active.segments:g} segments" if active.segments else ""
    return f"{text}, {words.binary(active.amount_bytes)}{segments}"


def _load(header: Header) -> str:
    if header.threads is None and header.queue_depth is None:
        return "TC / QD as the test says"
    return f"TC {_count(header.threads)} / QD {_count(header.queue_depth)}"


def _seed(measured: Measured) -> str:
    return f"{measured.header.seed:.16g}" if measured.has("header", "seed") else ""


def _steady(measured: Measured) -> str:
    if not measured.steady:
        # A test without such variables may still have a rule of its own.
        is_ruled = measured.verdict.word in {"steady", "not steady"}
        return measured.verdict.text if is_ruled else "not part of this test"
    if len(measured.steady) == 1:
        return steadiness.verdict(measured.steady[0])
    states = {steadiness.verdict(one) for one in measured.steady}
    if len(states) == 1:
        return states.pop()
    reached = sum(one.holds for one in measured.steady)
    if reached == len(measured.steady):
        return f"attained by all {reached} variables"
    return f"{NOT_ATTAINED} ({reached} of {len(measured.steady)} variables)"


def _count(found: int | None) -> str:
    return "?" if found is None else f"{found:g}"
