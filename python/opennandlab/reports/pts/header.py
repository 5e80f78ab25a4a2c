"""The head of a chapter: what ran, on what, how, and how far to trust it.

The standard asks for these facts on every page (PTS 2.0.2, report headings): all of them stand at
the head of the chapter, the most important in one line on each printed page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opennandlab.reports import words
from opennandlab.reports.model import Badge, Kind
from opennandlab.reports.pts import steady as steadiness
from opennandlab.reports.pts.source import Measured, as_dict, as_list, as_number, as_text, plain

Facts = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
PROFILES = {"C": "PTS-C (client)", "E": "PTS-E (enterprise)"}
KINDS: dict[str, Kind] = {"full": "good", "scaled": "plain"}
# The claim that a report must not make, whatever ran.
CLAIM = "Made after the published specification; not certified by SNIA."


def facts(measured: Measured) -> Facts:
    """Return the groups of the header; a fact that is not known says so."""
    groups = (
        ("Test", _test(measured)),
        ("Device", _device(measured)),
        ("Platform", _platform(measured)),
        ("Set-up", _setup(measured)),
        ("Run", _run(measured)),
    )
    return tuple(
        (name, tuple((key, value or words.NOTHING) for key, value in rows)) for name, rows in groups
    )


def badges(measured: Measured) -> tuple[Badge, ...]:
    """Return what qualifies all numbers of the chapter."""
    return tuple(_badges(measured))


def subtitle(measured: Measured) -> str:
    """Return the line below the heading."""
    parts = [
        as_text(measured.target.get("name")),
        profile(measured),
        as_text(measured.header.get("pts_version")),
    ]
    return " · ".join(part for part in parts if part)


def brief(measured: Measured) -> str:
    """Return the header in one line, for each printed page."""
    header = measured.header
    parts = [
        tool(measured),
        measured.title,
        profile(measured),
        as_text(header.get("pts_version")),
        f"conformance: {as_text(header.get('conformance')) or 'unknown'}",
        _device_name(measured),
        f"cache {_cache(header)}",
        f"purge: {as_text(as_dict(header.get('purge')).get('method')) or 'unknown'}",
        f"WIPC: {_wipc(as_dict(header.get('wipc')), header) or 'unknown'}",
        f"AR {_active_range(header)}",
        f"data {as_text(header.get('data')) or 'unknown'}",
        _load(header),
        f"seed {_optional(header.get('seed'), 'unknown')}",
        f"steady state: {_steady(measured)}",
        _counted(len(deviations(measured)), "deviation"),
    ]
    return " · ".join(part for part in parts if part)


def _device_name(measured: Measured) -> str:
    device = as_dict(measured.target.get("device"))
    parts = [
        as_text(measured.target.get("name")),
        as_text(device.get("vendor")),
        as_text(device.get("model")),
        as_text(device.get("firmware")),
        words.binary(measured.capacity_bytes) if measured.capacity_bytes else "",
    ]
    return " ".join(part for part in parts if part)


def deviations(measured: Measured) -> tuple[str, ...]:
    """Return where the run left the specification."""
    return tuple(plain(text) for text in as_list(measured.header.get("deviations")))


def profile(measured: Measured) -> str:
    """Return the profile in words."""
    letter = as_text(measured.header.get("profile"))
    return PROFILES.get(letter, letter)


def _badges(measured: Measured) -> Iterator[Badge]:
    header = measured.header
    conformance = as_text(header.get("conformance"))
    if conformance:
        yield Badge(f"conformance: {conformance}", KINDS.get(conformance, "warning"))
    else:
        yield Badge("conformance unknown", "warning")
    clock = as_text(as_dict(header.get("time_base")).get("clock"))
    if clock == "virtual":
        yield Badge("simulated, virtual time", "plain")
    if measured.attained is True:
        yield Badge("steady state attained", "good")
    elif measured.attained is False:
        yield Badge("steady state NOT ATTAINED", "bad")
    if header.get("interrupted") is True:
        yield Badge("interrupted and resumed", "warning")
    if measured.missing:
        yield Badge("document incomplete", "bad")


def _test(measured: Measured) -> list[tuple[str, str]]:
    header = measured.header
    base = as_dict(header.get("time_base"))
    cell = as_dict(base.get("cell"))
    lengths = [
        words.span(as_number(cell.get("seconds"))) if as_number(cell.get("seconds")) else "",
        f"{_count(cell.get('ios'))} requests" if as_number(cell.get("ios")) else "",
    ]
    length = " or ".join(part for part in lengths if part)
    return [
        ("Test", measured.title),
        ("Specification", f"SNIA SSS PTS {as_text(header.get('pts_version')) or '?'}"),
        ("Profile", profile(measured)),
        ("Conformance", as_text(header.get("conformance"))),
        (
            "Time base",
            ", ".join(filter(None, (as_text(base.get("clock")), as_text(base.get("name"))))),
        ),
        ("Cell", length),
        ("Steady state", _steady(measured)),
    ]


def _device(measured: Measured) -> list[tuple[str, str]]:
    device = as_dict(measured.target.get("device"))
    name = " ".join(filter(None, (as_text(device.get("vendor")), as_text(device.get("model")))))
    over = as_number(device.get("over_provisioning_ratio"))
    rows = [
        ("Target", as_text(measured.target.get("name"))),
        ("Model", name),
        ("Firmware", as_text(device.get("firmware"))),
        ("Serial (hash)", as_text(device.get("serial_sha256"))[:12]),
        ("User capacity", words.capacity(as_number(device.get("capacity_bytes")))),
        ("NAND", as_text(device.get("nand_type"))),
        ("Interface", as_text(device.get("interface"))),
        ("Sector", words.binary(as_number(device.get("sector_bytes")))),
    ]
    if over is not None:
        rows.append(("Over-provisioning", f"{over:.2%}"))
    if as_text(device.get("config_sha256")):
        rows.append(("Configuration", f"sha256 {as_text(device.get('config_sha256'))[:12]}"))
    return rows


def _platform(measured: Measured) -> list[tuple[str, str]]:
    platform = as_dict(measured.target.get("platform"))
    names = {
        "cpu": "CPU", "ram": "RAM", "ram_bytes": "RAM", "os": "OS", "kernel": "Kernel",
        "driver": "Driver", "scheduler": "Scheduler", "fio_version": "fio",
        "simulator_version": "Simulator", "model_version": "Model version",
    }  # fmt: skip
    rows = []
    for key, found in platform.items():
        if found is None or isinstance(found, dict | list):
            continue
        is_size = key in {"ram", "ram_bytes"} and as_number(found) is not None
        text = words.binary(as_number(found)) if is_size else plain(found)
        rows.append((names.get(key, key.replace("_", " ")), text))
    return rows or [("Platform", "")]


def _setup(measured: Measured) -> list[tuple[str, str]]:
    header = measured.header
    purge, wipc = as_dict(header.get("purge")), as_dict(header.get("wipc"))
    method = as_text(purge.get("method"))
    if method and purge.get("is_purge") is False:
        method += " (not a purge)"
    return [
        ("Write cache", _cache(header)),
        ("Purge", "; ".join(filter(None, (method, as_text(purge.get("note")))))),
        ("WIPC", _wipc(wipc, header)),
        ("WDPC", "the rounds of the test itself" if measured.steady else "none"),
        ("Active range", _active_range(header)),
        ("Data", as_text(header.get("data"))),
        ("Threads / queue depth", _load(header)),
        ("OIO throttle", _optional(header.get("oio_throttle"), "none")),
        ("Seed", _optional(header.get("seed"), "")),
        ("Options", _options(as_dict(header.get("options")))),
    ]


def _run(measured: Measured) -> list[tuple[str, str]]:
    ends = [phase.end_s for phase in measured.phases if phase.end_s is not None]
    ends += [cell.end_s for cell in measured.cells if cell.end_s is not None]
    written = [phase.written_bytes for phase in measured.phases if phase.written_bytes is not None]
    written += [cell.written_bytes for cell in measured.cells if cell.written_bytes is not None]
    total, capacity = max(written, default=None), measured.capacity_bytes
    fills = f" ({total / capacity:.3g} drive fills)" if total is not None and capacity else ""
    temperature = [as_number(value) for value in as_list(measured.header.get("temperature_c"))]
    known = [value for value in temperature if value is not None]
    return [
        ("Duration", words.span(max(ends, default=None)) + _clock(measured)),
        ("Written", words.capacity(total) + fills),
        ("Temperature", f"{min(known):g} to {max(known):g} °C" if known else "not measured"),
        ("Tool", tool(measured)),
        ("Created", measured.created or "not recorded"),
        ("Digest", measured.digest[:16]),
    ]


def _clock(measured: Measured) -> str:
    clock = as_text(as_dict(measured.header.get("time_base")).get("clock"))
    return f" of {clock} time" if clock else ""


def foot(measured: Measured) -> str:
    """Return the line below everything."""
    made = tool(measured)
    digest = f", digest {measured.digest[:16]}" if measured.digest else ""
    return f"Measured by {made}{digest}. {CLAIM}"


def tool(measured: Measured) -> str:
    """Return what made a document."""
    version, commit = as_text(measured.tool.get("version")), as_text(measured.tool.get("commit"))
    # A simulated run leaves the tool out of its document, so that its bytes depend on less.
    platform = as_dict(measured.target.get("platform"))
    version = version or as_text(platform.get("simulator_version"))
    return f"opennandlab {version}{f' ({commit})' if commit else ''}" if version else "opennandlab"


def _cache(header: dict[str, Any]) -> str:
    cache = as_dict(header.get("cache"))
    state, asked = as_text(cache.get("state")), as_text(cache.get("asked"))
    if state and asked and state != asked:
        return f"{state} (asked for: {asked})"
    return state or asked or "unknown"


def _wipc(wipc: dict[str, Any], header: dict[str, Any]) -> str:
    if not wipc:
        return "none" if "wipc" in header else ""
    block, count = as_number(wipc.get("block_bytes")), as_number(wipc.get("capacities"))
    parts = [as_text(wipc.get("pattern")), words.block(block) if block is not None else ""]
    volume = f"{count:g} × user capacity" if count is not None else ""
    passes = as_number(wipc.get("passes"))
    over = f"{passes:.3g} passes" if passes is not None and passes != count else ""
    return ", ".join(filter(None, (" ".join(filter(None, parts)), volume, over)))


def _options(options: dict[str, Any]) -> str:
    return ", ".join(
        f"{key.replace('_', ' ')} {plain(value)}" for key, value in options.items()
    ) or ("none")


def _active_range(header: dict[str, Any]) -> str:
    active = as_dict(header.get("active_range"))
    share, amount = as_number(active.get("share")), as_number(active.get("amount_bytes"))
    if share is None:
        return "unknown"
    text = f"{share * 100:g} %"
    if amount is None:
        return text
    segments = as_number(active.get("segments"))
    return f"{text}, {words.binary(amount)}" + (f" in {segments:g} segments" if segments else "")


def _load(header: dict[str, Any]) -> str:
    threads, depth = header.get("threads"), header.get("queue_depth")
    if threads is None and depth is None:
        return "TC / QD as the test says"
    return f"TC {_count(threads)} / QD {_count(depth)}"


def _steady(measured: Measured) -> str:
    if not measured.steady:
        return "not part of this test"
    if len(measured.steady) == 1:
        return steadiness.verdict(measured.steady[0])
    states = {steadiness.verdict(one) for one in measured.steady}
    if len(states) == 1:
        return states.pop()
    reached = sum(one.attained is True for one in measured.steady)
    if reached == len(measured.steady):
        return f"attained by all {reached} variables"
    return f"NOT ATTAINED ({reached} of {len(measured.steady)} variables)"


def _counted(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"


def _count(value: object) -> str:
    found = as_number(value)
    return "?" if found is None else f"{found:g}"


def _optional(value: object, nothing: str) -> str:
    found = as_number(value)
    return nothing if found is None else f"{found:.16g}"
