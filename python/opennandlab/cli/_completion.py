"""What a shell offers for the values of options: presets, keys, codes, suites, stored points.

One table for all verbs, by the name of the option: a verb that takes `--config` needs nothing
of its own. It is imported only while a shell asks (`_OPENNANDLAB_COMPLETE`), so no command pays for
it. Where nothing fits, the shell offers files.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

Complete = Callable[[Any], Iterable[str]]
# A store may hold a million points; nobody reads more.
POINTS_MAX = 200


def attach(command: Any) -> Any:  # noqa: ANN401 (click's command, of any package)
    """Let the options and arguments of a command, or of a group's commands, offer their values."""
    for inner in getattr(command, "commands", {}).values():
        attach(inner)
    for parameter in command.params:
        takes = str(parameter.metavar)
        is_option = parameter.param_type_name == "option"
        names = [f"{parameter.opts[0]} {takes}", parameter.opts[0]] if is_option else [takes]
        found = next((OFFERS[name] for name in names if name in OFFERS), None)
        if found is not None:
            # The same attribute in click and in the copy that newer versions of typer carry.
            parameter._custom_shell_complete = _offer(found)  # noqa: SLF001
    return command


def _offer(complete: Complete) -> Callable[[Any, Any, str], list[str]]:
    def offer(context: Any, parameter: Any, incomplete: str) -> list[str]:  # noqa: ANN401
        del parameter
        try:
            return [text for text in complete(context) if text.startswith(incomplete)]
        except Exception:  # noqa: BLE001 (a shell that asks must not be shown a traceback)
            return []

    return offer


def _devices(context: Any) -> list[str]:  # noqa: ANN401
    del context
    from opennandlab.core.config import device_presets

    return device_presets()


def _workloads(context: Any) -> list[str]:  # noqa: ANN401
    del context
    from opennandlab.core.config import workload_presets

    return workload_presets()


def _sources(context: Any) -> list[str]:  # noqa: ANN401
    """Offer what `config init --from` takes."""
    return _workloads(context) if context.params.get("workload") else _devices(context)


def _targets(context: Any) -> list[str]:  # noqa: ANN401
    rest = ["dir:"] if context.command.name == "run" else ["file:", "/dev/", "nbd+unix:///"]
    return [*(f"sim:{name}" for name in _devices(context)), *rest]


def _sets(context: Any) -> Iterable[str]:  # noqa: ANN401
    """Yield `key=` of device and workload, and `key=word` where a key takes words."""
    del context
    from opennandlab.base.keys import keys

    for prefix, found in (("", keys("device")), ("workload.", keys("workload"))):
        for key in found:
            if not key.is_section:
                yield f"{prefix}{key.path}="
            yield from (f"{prefix}{key.path}={word}" for word in key.words)


def _trace_formats(context: Any) -> list[str]:  # noqa: ANN401
    del context
    from opennandlab.base.schema import schema
    from opennandlab.policies import plugins

    options = schema("replay")["properties"]["format"]["anyOf"]
    words = next(option["enum"] for option in options if "enum" in option)
    return [*words, *(one.name for one in plugins.installed("traces"))]


def _codes(context: Any) -> list[str]:  # noqa: ANN401
    del context
    from opennandlab.ecc import LdpcCode

    return [*LdpcCode.names(), "bch:m=", "ldpc:"]


def _channels(context: Any) -> list[str]:  # noqa: ANN401
    del context
    return ["bsc", "awgn", "sensing:3", "sensing:7", "unquantised"]


def _models(context: Any) -> list[str]:  # noqa: ANN401
    del context
    from opennandlab.reliability import MODELS

    return list(MODELS)


def _policies(context: Any) -> tuple[str, ...]:  # noqa: ANN401
    del context
    from opennandlab.theory import POLICIES

    return POLICIES


def _ground_truths(context: Any) -> list[str]:  # noqa: ANN401
    del context
    from opennandlab.studies.validation import SUITES

    return list(SUITES)


def _suites(context: Any) -> list[str]:  # noqa: ANN401
    del context
    from opennandlab.app.suites import SUITES

    return list(SUITES)


def _states(context: Any) -> tuple[str, ...]:  # noqa: ANN401
    del context
    from opennandlab.app.states import STATES

    return STATES


def _points(context: Any) -> list[str]:  # noqa: ANN401
    """Offer the newest points of the store, by as many digits as tables show."""
    from opennandlab.store import open_store
    from opennandlab.store.shown import KEY_DIGITS

    with open_store(context.params.get("store"), create=False) as store:
        return [key[:KEY_DIGITS] for key in islice(store.keys(), POINTS_MAX)]


# Name of an option, with what it takes where the name alone is not clear, or what an argument takes
# -> what is offered.
OFFERS: dict[str, Complete] = {
    "--config": _devices,
    "PRESET|FILE": _devices,
    "--workload NAME|FILE|JOB.fio": _workloads,
    "--workload NAME|FILE|trace:FILE": _workloads,
    "--workload NAME|FILE": _workloads,
    "--from PRESET|FILE": _sources,
    "--target TARGET": _targets,
    "--target sim:PRESET|FILE, dir:PATH": _targets,
    "--set": _sets,
    "--vary": _sets,
    "--trace-format": _trace_formats,
    "--code": _codes,
    "CODE CODE...": _codes,
    "--channel": _channels,
    "--model NAME|FILE": _models,
    "--policy": _policies,
    "[SUITE]...": _ground_truths,
    "--suite": _suites,
    "STATE": _states,
    "KEY": _points,
    "KEY…": _points,
}
