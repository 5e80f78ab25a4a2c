"""The command that measures a document again, from what its header says.

Everything that decides a figure is in the header but one: keys of a simulated device that `--set`
changed, which `run.json` next to the document keeps. What the profile gives anyway is left out.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator

from opennandlab.documents import pts_inside
from opennandlab.documents.pts_header import Header
from opennandlab.documents.pts_origin import STANDARD
from opennandlab.reports.pts.header import changes
from opennandlab.reports.pts.source import Measured

VERSION, SEED = "2.0.2", 42
# Fills of preconditioning that a time base has, where that is not two.
WIPC_CAPACITIES = {"smoke": 1.0}
# Deviations that stand for an option -> that option; the rest follows from the time base.
CELLS = re.compile(r"cells: ([0-9.]+) s \(")
ROUNDS = re.compile(r"at most (\d+) rounds")
FILLS = re.compile(r"preconditioning by ([0-9.e+-]+) capacities")
# Options whose name on the command line is not their key.
SPELLED = {"tests": "test"}


def command(measured: Measured) -> str:
    """Return the command that gives a document like this one."""
    header = measured.header
    verb, options = _verb(measured.test), dict(header.options)
    words = ["opennandlab", *verb, "--target", header.target.name, *_settings(header)]
    for key, value in options.items() if verb[0] == "pts" else ():
        option = SPELLED.get(key, key.replace("_", "-"))
        words += [f"--{option}", value if isinstance(value, str) else f"{value:g}"]
    words += _changes(measured)
    if header.target.kind != "sim":
        words.append("--destructive")
    return shlex.join(words)


def command_for(test: str, like: Measured) -> str:
    """Return the command of a test that was not run, on the same target by the same profile."""
    header = like.header
    words = ["opennandlab", *_verb(test), "--target", header.target.name]
    words += ["--profile", header.profile] if header.profile else []
    words += [*_version(header), *_changes(like)]
    if header.target.kind != "sim":
        words.append("--destructive")
    return shlex.join(words)


def _changes(measured: Measured) -> Iterator[str]:
    for change in changes(measured):
        yield from ("--set", change)


def knows_changes(measured: Measured) -> bool:
    """Return whether the keys of the device that were changed are known, or cannot be."""
    return measured.header.target.kind != "sim" or (
        measured.moment is not None and measured.moment.overrides is not None
    )


def _verb(test: str) -> list[str]:
    if test in STANDARD or test in {*pts_inside.NAMES, "rwsw"}:
        return ["pts", test]
    return ["characterise", "--only", test]


def _version(header: Header) -> list[str]:
    return ["--pts", header.pts_version] if header.pts_version not in {"", VERSION} else []


def _settings(header: Header) -> Iterator[str]:
    """Yield what differs from the defaults of the test, and profile and time base always."""
    if header.profile:
        yield from ("--profile", header.profile)
    yield from _version(header)
    if header.time_base.name:
        yield from ("--time-base", header.time_base.name)
    if header.seed != SEED:
        yield from ("--seed", f"{header.seed}")
    state = header.target.state
    if state is not None and state.name != "image":
        yield from ("--state", state.name)
    changed = [*header.deviations, *(header.choices or [])]
    if header.oio_throttle is not None:
        yield from ("--oio", f"{header.oio_throttle}")
    elif any(text.startswith("TC ") for text in changed):
        yield from ("--threads", f"{header.threads}", "--queue-depth", f"{header.queue_depth}")
    yield from _range(header)
    yield from _procedure(header)


def _procedure(header: Header) -> Iterator[str]:
    """Yield cache, data, lengths and preconditioning where they are not those of the profile."""
    changed = header.deviations
    if any(text.startswith("write cache ") for text in changed):
        yield from ("--cache", header.cache.asked)
    if header.data not in {"", "random"}:
        yield from ("--data", header.data)
    for option, pattern in (
        ("--cell-seconds", CELLS),
        ("--ss-max-rounds", ROUNDS),
        ("--wipc-capacities", FILLS),
    ):
        found = next(filter(None, map(pattern.match, changed)), None)
        if found is not None:
            yield from (option, found[1])
    fills = next(filter(None, map(FILLS.match, changed)), None)
    asked = float(fills[1]) if fills else WIPC_CAPACITIES.get(header.time_base.name, 2.0)
    wipc = header.wipc
    # What was asked for counts passes over the range, and less than as many user capacities.
    if wipc is not None and math.isclose(wipc.passes, asked) and wipc.capacities < 0.999 * asked:
        yield from ("--wipc-base", "range")


def _range(header: Header) -> Iterator[str]:
    active = header.active_range
    changed = header.deviations
    if any(re.match(r"active range [\d.]+%", text) for text in changed):
        yield from ("--active-range-pct", f"{active.share * 100:.10g}")
    if any(text.startswith("active range amount") for text in changed):
        yield from ("--ar-amount", f"{active.amount_bytes or 0}")
    if active.segments and any("segments (standard" in text for text in changed):
        yield from ("--ar-segments", f"{active.segments}")
