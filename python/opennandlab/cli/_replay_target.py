"""`replay --target`: a trace on a real drive or a file, by fio, behind the gate."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.trace import remap_of

if TYPE_CHECKING:
    from opennandlab.cli.options.trace import ReplayOptions
    from opennandlab.targets.base import Requests


# Of the counts of pages, which are not shown.
PAGE_BYTES = 4096

# Options of `replay` that need a simulated drive.
SIMULATED_ONLY = (
    "config", "state", "output", "save_image", "plot", "breakdown", "volumes", "order", "ocp",
    "ocp_thresholds", "paper", "style",
)  # fmt: skip


def replay_on_target(given: "ReplayOptions") -> None:
    """Replay a trace on a target; its data are lost where the trace writes and trims."""
    from opennandlab import _core
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.memory import available_bytes
    from opennandlab.targets.consent import Consent
    from opennandlab.targets.fio.replaying import Log, play
    from opennandlab.targets.fio.target import FioTarget
    from opennandlab.targets.opening import Request, open_target

    given.refuse(
        SIMULATED_ONLY,
        "on a real target; accepted: options of reading, --repeat, --closed-loop, --time-scale",
    )
    consent = Consent(destructive=given.destructive, i_know=given.i_know, force=given.force)
    request = Request(str(given.target), consent=consent)
    if request.kind == "sim":
        raise ConfigError("target", f"`{given.target}` is simulated; accepted: -c for such drives")
    edit = {"repeat": given.repeat, "time_scale": given.time_scale or 1.0}
    config = json.dumps({**given.reading(), "edit": edit})
    traces = _core.Traces([[str(given.trace)]], config, available_bytes())
    remap, moved = remap_of(given.addresses, ("keep",)), {"unmapped": 0}
    if remap is not None:
        traces, counted = traces.moved(str(remap), PAGE_BYTES)
        moved = json.loads(counted)
    traces, _ = traces.edit(config)
    names = json.loads(traces.names())
    if len(names["volumes"]) > 1:
        raise ConfigError(
            "target",
            f"the trace has {len(names['volumes'])} volumes; accepted: a trace of one, as "
            f"`trace convert --split-by volume` writes",
        )
    with tempfile.TemporaryDirectory(prefix="opennandlab-") as folder:
        path = Path(folder) / "trace.log"
        losses = json.loads(traces.write(str(path), "fio_iolog"))
        target = open_target(request)
        try:
            assert isinstance(target, FioTarget)  # noqa: S101 (all but simulated ones)
            totals, trims = play(target, Log(path, given.closed_loop))
        finally:
            target.close()
    sides = {"read": totals.reads, "write": totals.writes}
    document: dict[str, Any] = {
        "target": given.target,
        "seconds": totals.seconds,
        "fua_lost": losses["fua"],
        "trims_lost": trims,
        "zones_lost": losses["resets"] + losses["appends"],
        "unmapped": moved["unmapped"],
        "warnings": names["warnings"],
        **{name: _figures(side) for name, side in sides.items()},
    }
    _show(given, document)


def _figures(side: "Requests") -> dict[str, Any]:
    return {
        "ios": side.ios,
        "bytes": side.bytes,
        "latency_us_mean": _us(side.latency.mean_ns),
        "latency_us_p99": _us(side.latency.quantile_ns(0.99)),
    }


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns * 1e-3


def _show(given: "ReplayOptions", document: dict[str, Any]) -> None:
    from opennandlab.base.words import number

    if given.as_json:
        terminal.emit_json(document)
        return
    for warning in document["warnings"]:
        terminal.note(f"warning: {warning}")
    lost = {
        "fua_lost": "writes without their force unit access, which fio has no word for",
        "zones_lost": "resets of zones and appends, which fio has no word for in a log",
        "unmapped": "requests left out, a byte of which is in no range",
        "trims_lost": "trims left out, as fio does with those of a log",
    }
    for key, text in lost.items():
        if document[key]:
            terminal.note(f"note: {number(document[key])} {text}")
    if given.quiet:
        return
    rows = [
        [
            name,
            number(document[name]["ios"]),
            number(document[name]["bytes"]),
            *(number(document[name][key]) for key in ("latency_us_mean", "latency_us_p99")),
        ]
        for name in ("read", "write")
        if document[name]["ios"]
    ]
    table = terminal.Grid(["latency, µs", "count", "bytes", "mean", "p99"], rows)
    terminal.stdout().print(table)
