"""`replay`: a recorded block trace on a device."""

from typing import Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._run_report import run_and_report
from opennandlab.cli._trace_tables import read_as
from opennandlab.cli.options.trace import Beyond, ReplayOptions, remap_of


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
        found = read_as(given.trace.name, run.trace.summary())
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
    remap = remap_of(given.addresses, ("keep",))
    if remap is not None:
        options["remap"] = {"file": str(remap)}
    if given.order is not None:
        options["order"] = given.order.value
    if given.repeat != 1:
        options["repeat"] = given.repeat
    if given.volumes is not None:
        options["volumes"] = given.volumes
    if given.tenants is not None:
        options["tenants"] = given.tenants.value
    return options
