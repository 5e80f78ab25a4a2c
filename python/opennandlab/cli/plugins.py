"""`plugins`: what installed packages bring, and whether it loads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.policies.plugins import Plugin


@dataclass(frozen=True, kw_only=True)
class PluginsOptions(Printed):
    """Options of `plugins`."""

    load: Annotated[
        bool, flag("Import each object, to see whether it loads.", "--load/--no-load")
    ] = True


def plugins(given: PluginsOptions) -> None:
    """List the names that installed packages register."""
    from opennandlab.policies.plugins import GROUPS, installed

    rows = []
    for kind, group in GROUPS.items():
        found = installed(kind)
        known = BUILT_IN[kind]() if found else []
        names = [plugin.name for plugin in found]
        for plugin in found:
            status = _status(plugin, names.count(plugin.name), known, load=given.load)
            rows.append({
                "group": group, "name": plugin.name, "package": plugin.package,
                "version": plugin.version, "object": plugin.object, **status,
            })  # fmt: skip
    if given.as_json:
        terminal.emit_json({"plugins": rows})
        return
    if given.quiet:
        return
    if not rows:
        terminal.stdout().print("no package registers anything", markup=False)
        return
    head = ["group", "name", "package", "object", "state"]
    lines = [
        [
            row["group"].partition(".")[2], row["name"], f"{row['package']} {row['version']}",
            row["object"], _words(row),
        ]
        for row in rows
    ]  # fmt: skip
    table = terminal.Grid(head, [head, *lines], left=range(len(head)), is_plain=True)
    terminal.stdout(is_numbers=True).print(table)


def _status(plugin: "Plugin", count: int, known: list[str], *, load: bool) -> dict[str, Any]:
    """Return what decides whether a name can be used: does it load, is it hidden, a clash."""
    from opennandlab.base.errors import ConfigError

    loads, error = None, None
    if load:
        try:
            plugin.load()
            loads = True
        except ConfigError as problem:
            loads, error = False, problem.message
    return {
        "loads": loads,
        "error": error,
        "hidden": plugin.name in known,
        "clashes": count > 1,
    }


def _words(row: dict[str, Any]) -> str:
    """Return in words whether a name can be used."""
    words = {None: "not loaded", True: "loads", False: f"fails: {row['error']}"}[row["loads"]]
    if row["hidden"]:
        words += "; hidden by the built-in name"
    if row["clashes"]:
        words += "; registered twice, so it cannot be used"
    return words


def _policies() -> list[str]:
    from opennandlab.base.schema import schema

    rows = schema("device")["$defs"]["GcConfig"]["oneOf"]
    return [row["properties"]["kind"]["const"] for row in rows]


def _workloads() -> list[str]:
    from opennandlab.core.config import workload_presets

    return workload_presets()


def _traces() -> list[str]:
    from opennandlab.base.schema import schema

    return list(schema("replay")["properties"]["format"]["anyOf"][0]["enum"])


def _codes() -> list[str]:
    from opennandlab import _core

    return list(_core.ecc_ldpc_names())


def _models() -> list[str]:
    from opennandlab.core.config import device_presets
    from opennandlab.reliability.model import MODELS

    return [*MODELS, *device_presets()]


BUILT_IN: dict[str, Callable[[], list[str]]] = {
    "policies": _policies,
    "workloads": _workloads,
    "traces": _traces,
    "codes": _codes,
    "reliability": _models,
}
