"""`replay`: a recorded block trace on a device."""

import json
from pathlib import Path
from typing import Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._run_report import run_and_report
from opennandlab.cli.options.trace import Beyond, ReplayOptions


def replay(given: ReplayOptions) -> None:
    """Replay a block trace: open loop by arrival time, or closed loop."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.overrides import set_path
    from opennandlab.core.run import Start, prepare_replay

    if given.wrap + given.scale + (given.beyond is not Beyond.ERROR) > 1:
        raise ConfigError("beyond", "give one of --wrap, --scale and --beyond")
    if given.closed_loop is not None and given.time_scale is not None:
        raise ConfigError("loop", "--closed-loop ignores arrival times: drop --time-scale")
    _note_other_processors(given)
    if given.target is not None:
        from opennandlab.cli._replay_target import replay_on_target

        replay_on_target(given)
        return
    given.refuse(("destructive", "i_know", "force"), "without --target")
    options = _options(given)
    device_sets, replay_sets = terminal.split_sets(given.settings)
    watch = given.observation()
    given.check_outputs({"the trace": given.trace})
    device = given.device(device_sets)
    for path, value in replay_sets.items():
        set_path(options, path, value)
    run = prepare_replay(Start(device, given.seed, given.state), given.trace, options, watch)
    if run.trace is not None and not given.as_json and not given.quiet:
        found = _read_as(given.trace, run.trace.summary())
        terminal.stdout().print(found, markup=False, soft_wrap=True)
    run_and_report(run, given)


def _note_other_processors(given: ReplayOptions) -> None:
    """Note the files of blktrace that belong to the same trace and are not replayed."""
    base, mark, _ = given.trace.name.rpartition(".blktrace.")
    others = given.trace.parent.glob("*.blktrace.*") if mark else ()
    names = sorted(one.name for one in others if one.name.startswith(f"{base}{mark}"))
    if len(names) > 1:
        terminal.note(
            f"note: {given.trace.name} is of one processor, the whole trace is {len(names)} files; "
            f"`opennandlab trace convert {base}{mark}* -o {base}.csv` joins them"
        )


def _options(given: ReplayOptions) -> dict[str, Any]:
    """Return the keys of replay options that were given."""
    options: dict[str, Any] = {
        **given.reading(),
        "beyond": "wrap" if given.wrap else "scale" if given.scale else given.beyond.value,
    }
    if given.closed_loop is not None:
        options["loop"] = {"kind": "closed", "queue_depth": given.closed_loop}
    elif given.time_scale is not None:
        options["loop"] = {"kind": "open", "time_scale": given.time_scale}
    if given.order is not None:
        options["order"] = given.order.value
    if given.repeat != 1:
        options["repeat"] = given.repeat
    if given.volumes is not None:
        options["volumes"] = given.volumes
    return options


def _read_as(trace: Path, summary: str) -> str:
    """Say as what a trace was read, and what is in it."""
    from opennandlab.base.words import number, size
    from opennandlab.reports.words import span

    found = json.loads(summary)
    kinds = ("read", "write", "trim", "flush", "volume")
    counts = {kind: found.get(f"{kind}_count", 0) for kind in kinds}
    *requests, volumes = (
        f"{number(count)} {kind}{'' if count == 1 else 'es' if kind == 'flush' else 's'}"
        if count
        else ""
        for kind, count in counts.items()
    )
    if found.get("fua_count"):
        requests[1] += f" ({number(found['fua_count'])} with force unit access)"
    parts = (*requests, size(found["bytes"]), volumes, span(found["span_s"]))
    return f"{trace.name}: read as {found['format']}: {', '.join(filter(None, parts))}"
