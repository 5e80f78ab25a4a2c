"""What the form New run asks for, as a sweep: checked by the core, and bound to the package.

A browser names presets, and device files in one folder, which whoever starts the server chooses.
What would make the simulator read another file, or run code of the user's own, is refused here, and
belongs on the command line.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, OpenNandLabError
from opennandlab.base.files import parse_yaml
from opennandlab.base.words import number, size
from opennandlab.core.config import (
    DeviceConfig,
    device_presets,
    load_device,
    load_workload,
    read_device,
    workload_presets,
)
from opennandlab.core.run import SEED
from opennandlab.store import Store
from opennandlab.studies.sweeps.axes import Axis
from opennandlab.studies.sweeps.definition import Sweep, checked_name
from opennandlab.studies.sweeps.seeds import Seeds
from opennandlab.studies.sweeps.verb import Verb, drafted
from opennandlab.studies.sweeps.verbs.application import Application, AppSettings
from opennandlab.theory.prediction import predicted_waf
from opennandlab.ui import verbs
from opennandlab.ui.forms import WORKLOAD, Form, form

VARIED_MAX = 8
NOT_VARIED = ("trace", "state", "paths")
VALUE_CHARS_MAX = 4000
# Of more combinations only the first ones are checked before they run; each says so when it runs.
CHECKED_MAX = 200
POINTS_MAX = 100_000
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")
ENDINGS = (".yaml", ".yml", ".json")
FILE_BYTES_MAX = 1 << 20


class FieldError(OpenNandLabError):
    """Something that is wrong with one field.

    Args:
        field: Its name in the form; empty for the form as a whole.
        message: What is there, and what is accepted.
    """

    def __init__(self, field: str, message: str) -> None:
        """Keep both apart."""
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Folder:
    """Where device files may lie that a page names.

    Args:
        root: The folder, resolved.
    """

    root: Path

    def device(self, text: str) -> str:
        """Return what names a device: a preset, or a file in the folder.

        Raises:
            FieldError: for anything else.
        """
        if text in device_presets():
            return text
        if not text.endswith(ENDINGS):
            raise FieldError(
                "device", f"`{text}` is not a preset; accepted: {', '.join(device_presets())}, or "
                f"a device file ({', '.join(ENDINGS)}) in {self.root}"
            )  # fmt: skip
        path = self.root / text
        try:
            is_inside = path.resolve().is_relative_to(self.root)
            status = path.stat() if is_inside else None
        except (OSError, ValueError, RuntimeError):
            is_inside, status = True, None
        if not is_inside:
            raise FieldError(
                "device", f"`{text}` lies outside of {self.root}; accepted: a file in there, or "
                "another folder by `opennandlab ui --files DIR`"
            )  # fmt: skip
        if status is None or not stat.S_ISREG(status.st_mode):
            raise FieldError("device", f"`{text}` is not a file in {self.root}")
        if status.st_size > FILE_BYTES_MAX:
            raise FieldError("device", f"`{text}` is larger than {size(FILE_BYTES_MAX)}")
        try:
            _safe(read_device(str(path)), "device")
            load_device(str(path))
        except ConfigError as error:
            raise FieldError("device", f"{text}: {error}") from error
        here = Path.cwd()
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


@dataclass(frozen=True)
class Request:
    """What was typed.

    Args:
        device: Name of a preset, or a file.
        workload: Name of a preset.
        values: Text by key, of those that are not those of the preset.
        vary: Key and text of what is varied.
        seeds: How many.
        seed: The first.
        name: Name of the sweep; empty for one that is free.
        run: The verb.
    """

    device: str
    workload: str
    values: Mapping[str, str] = field(default_factory=dict)
    vary: tuple[tuple[str, str], ...] = ()
    seeds: str = "1"
    seed: str = str(SEED)
    name: str = ""
    run: str = verbs.BENCHMARK

    @classmethod
    def of(cls, document: object) -> Request:
        """Read what a page sent.

        Raises:
            FieldError: for anything that no page of ours sends.
        """
        if not isinstance(document, Mapping):
            raise FieldError("", "no form; accepted: what this page sends")

        def text(key: str, usual: str = "") -> str:
            found = document.get(key, usual)
            if not isinstance(found, str) or len(found) > VALUE_CHARS_MAX:
                raise FieldError(key, f"accepted: at most {VALUE_CHARS_MAX} characters")
            return found.strip()

        values, vary = document.get("values", {}), document.get("vary", [])
        if not isinstance(values, Mapping) or not isinstance(vary, list):
            raise FieldError("", "no form; accepted: what this page sends")
        pairs, rows = [_pair(list(row)) for row in values.items()], [_pair(row) for row in vary]
        if len(rows) > VARIED_MAX:
            raise FieldError("vary", f"{len(rows)} keys are varied; accepted: {VARIED_MAX}")
        return cls(
            device=text("device"),
            workload=text("workload"),
            values={key: value.strip() for key, value in pairs if value.strip()},
            vary=tuple((key.strip(), one.strip()) for key, one in rows if key.strip()),
            seeds=text("seeds", "1") or "1",
            seed=text("seed", str(SEED)) or str(SEED),
            name=text("name"),
            run=text("run", verbs.BENCHMARK) or verbs.BENCHMARK,
        )


def _pair(row: object) -> tuple[str, str]:
    """Return a key and what was typed for it.

    Raises:
        FieldError: for anything else.
    """
    match row:
        case [str(key), str(text)] if max(len(key), len(text)) <= VALUE_CHARS_MAX:
            return key, text
    raise FieldError("", f"accepted: texts of at most {VALUE_CHARS_MAX} characters")


@dataclass(frozen=True)
class Checked:
    """A request that can be run.

    Args:
        sweep: With the keys of a sweep file.
        points: How many points at least.
        facts: Derived figures: name and value.
        warnings: What will not run, and why.
    """

    sweep: dict[str, Any]
    points: int
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


def checked(request: Request, store: Store, folder: Folder) -> Checked:
    """Return a request as a sweep.

    Args:
        request: What was typed.
        store: Where its points would go.
        folder: Where device files may lie.

    Raises:
        FieldError: for the first field that is wrong.
    """
    verb = verbs.OFFERED.get(request.run)
    if verb is None:
        known = ", ".join(verbs.OFFERED)
        raise FieldError("run", f"`{request.run}` cannot be run here; accepted: {known}")
    device = folder.device(request.device) if verbs.has_device(verb) else None
    workload = request.workload if verb.name == verbs.BENCHMARK else None
    if workload is not None and workload not in workload_presets():
        known = ", ".join(workload_presets())
        raise FieldError(WORKLOAD, f"`{workload}` is not a preset; accepted: {known}")
    changes = _changes(request, form(device, workload, verbs.own_fields(verb)))
    axes = _axes(request, verb)
    resolved = _checked(verb, device, workload, changes, {axis.key for axis in axes})
    seeds = _seeds(request)
    if not verb.is_random and seeds.count > 1:
        raise FieldError("seeds", f"no seed decides anything of {verb.name}; accepted: 1")
    sweep: dict[str, Any] = {
        "name": "sweep",
        "run": verb.name,
        "set": changes,
        "grid": {axis.key: list(axis.values) for axis in axes},
        "seeds": {"count": seeds.count, "first": seeds.first} if verb.is_random else 1,
    }
    sweep |= {} if device is None else {"device": device}
    sweep |= {} if workload is None else {"workload": workload}
    points = math.prod(len(axis.values) for axis in axes) * seeds.count
    if points > POINTS_MAX:
        raise FieldError("vary", f"these are {points} points; accepted: at most {POINTS_MAX}")
    warnings = _impossible(sweep, axes)
    sweep["name"] = _name(request, store, sweep, is_one=points == 1)
    return Checked(sweep, points, _facts(resolved, axes, seeds.count), warnings)


def others(request: Request, first: FieldError) -> list[FieldError]:
    """Return faults of a form next to the first one: of its seeds and of its varied keys."""
    verb = verbs.OFFERED.get(request.run)
    found = [_fault(lambda: _seeds(request)), _fault(lambda: verb and _axes(request, verb))]
    return [one for one in found if one is not None and one.field != first.field]


def _fault(check: Callable[[], object]) -> FieldError | None:
    try:
        check()
    except FieldError as error:
        return error
    return None


def _checked(
    verb: Verb,
    device: str | None,
    workload: str | None,
    changes: Mapping[str, Any],
    varied: set[str],
) -> DeviceConfig | None:
    """Refuse what cannot be run, at its field; return the device where there is one."""
    own = {one.path for one in verbs.own_fields(verb)}
    on_device = {
        key: value for key, value in changes.items()
        if key not in own and not key.startswith(f"{WORKLOAD}.")
    }  # fmt: skip
    found = None if device is None else _device(device, on_device)
    if workload is not None and found is not None:
        _workload(workload, changes, found)
    try:
        if isinstance(verb, Application):
            # Its reader makes all traces, which takes seconds.
            AppSettings(**drafted(changes, "app")[0])
        elif workload is None and not varied:
            verb.reader({} if device is None else {"device": device})(changes)
    except ConfigError as error:
        last = error.path.replace("-", "_")
        field_ = next((one for one in own if one.rpartition(".")[2] == last), error.path)
        raise FieldError(_known(field_), error.message) from error
    except (TypeError, ValueError) as error:
        raise FieldError("", f"a value of the wrong kind: {error}") from error
    return found


def _changes(request: Request, shown: Form) -> dict[str, Any]:
    """Return what differs from the presets, by dotted path."""
    known = set(shown.paths)
    found = {}
    for key, text in request.values.items():
        if key not in known:
            raise FieldError("", f"`{key}` is not a field of this form")
        try:
            found[key] = _named(key, text) or _safe(parse_yaml(text, key), key)
        except ConfigError as error:
            raise FieldError(key, error.message.removeprefix(f"{key}: ")) from error
    return found


def _named(key: str, value: object) -> object | None:
    """Return the name of a code or channel, which may hold a colon; None for everything else."""
    is_code = (
        key in {"code", "channel"}
        and isinstance(value, str)
        and verbs.CODES_WITHOUT_FILE.fullmatch(value)
    )
    return value if is_code else None


def _safe(value: Any, key: str) -> Any:  # noqa: ANN401 (a value of YAML)
    """Return a value that names neither a file nor code.

    Raises:
        FieldError: for one that does.
    """
    if isinstance(value, Mapping):
        for name, one in value.items():
            _safe(one, key)
            _safe(name, key)
    elif isinstance(value, list):
        for one in value:
            _safe(one, key)
    elif isinstance(value, str) and re.search(r"[:/\\]", value):
        raise FieldError(
            key, f"`{value}` would read a file or run code; the command line takes such names"
        )
    return value


def _device(device: str, changes: Mapping[str, Any]) -> DeviceConfig:
    try:
        return load_device(device, changes)
    except ConfigError as error:
        raise FieldError(_known(error.path), error.message) from error


def _workload(workload: str, changes: Mapping[str, Any], device: DeviceConfig) -> None:
    own = drafted(changes, WORKLOAD)[0]
    try:
        load_workload(workload, device, overrides=own)
    except ConfigError as error:
        path = _known(error.path)
        raise FieldError(f"{WORKLOAD}.{path}" if path else WORKLOAD, error.message) from error


def _known(path: str) -> str:
    return "" if path in {"", "."} else path


def _axes(request: Request, verb: Verb) -> list[Axis]:
    found: list[Axis] = []
    for place, (key, text) in enumerate(request.vary):
        name = f"vary-{place}"
        if not KEY.fullmatch(key):
            raise FieldError(name, f"`{key}` is not a key; accepted: for example ftl.gc_policy")
        if key in {axis.key for axis in found}:
            raise FieldError(name, f"`{key}` is varied twice; accepted: each key once")
        if key in request.values:
            raise FieldError(name, f"`{key}` is also set above; accepted: only one of them")
        try:
            axis = Axis.of(key, text)
            presets = {"device": device_presets(), WORKLOAD: workload_presets()}.get(key)
            for value in axis.values:
                if presets is not None and value not in presets:
                    raise FieldError(
                        name, f"`{value}` is not a preset; accepted: {', '.join(presets)}"
                    )
                if key.partition(".")[0] in NOT_VARIED:
                    raise FieldError(name, f"`{key}` is not varied here; the command line does")
                if verb.name != "ecc.curve" or _named(key, value) is None:
                    _safe(value, name)
        except ConfigError as error:
            raise FieldError(name, error.message.removeprefix(f"--vary {key}: ")) from error
        found.append(axis)
    return found


def _seeds(request: Request) -> Seeds:
    for key, text in (("seeds", request.seeds), ("seed", request.seed)):
        if not (text.isascii() and text.isdigit()):
            raise FieldError(key, f"`{text}` is refused; accepted: a whole number")
    try:
        return Seeds(int(request.seeds), int(request.seed))
    except ConfigError as error:
        field_ = "seeds" if error.path.startswith("seeds") else "seed"
        raise FieldError(field_, error.message) from error


def _impossible(sweep: Mapping[str, Any], axes: list[Axis]) -> tuple[str, ...]:
    """Return what of some combinations cannot be run.

    Raises:
        FieldError: where none of them can.
    """
    if not axes:
        return ()
    count = math.prod(len(axis.values) for axis in axes)
    if count > CHECKED_MAX:
        # The first value of each of the others, with every value of one, up to a limit.
        short = {axis.key: list(axis.values)[: max(1, CHECKED_MAX // len(axes) ** 2)]
                 for axis in axes}  # fmt: skip
        while math.prod(map(len, short.values())) > CHECKED_MAX:
            longest = max(short, key=lambda key: len(short[key]))
            short[longest].pop()
        sweep = {**sweep, "grid": short}
    try:
        cells = Sweep.of(sweep).cells
    except ConfigError as error:
        raise FieldError("vary", str(error)) from error
    wrong = [cell for cell in cells if cell.problem is not None]
    if not wrong:
        return ()
    said = list(dict.fromkeys(str(cell.problem) for cell in wrong))[:3]
    return (f"{len(wrong)} of {len(cells)} combinations cannot run: {'; '.join(said)}",)


def _name(request: Request, store: Store, sweep: Mapping[str, Any], *, is_one: bool) -> str:
    """Return the name of a sweep: one that was asked for, or one that is free."""
    known = {one.name: one.definition for one in store.sweeps()}
    if request.name:
        try:
            name = checked_name(request.name)
        except ConfigError as error:
            raise FieldError("name", error.message) from error
        own = Sweep.of({**sweep, "name": name}).document
        if name in known and known[name] != own:
            raise FieldError(
                "name", f"the sweep `{name}` is there with other settings; accepted: another name"
            )
        return name
    parts = [request.run] if request.run != verbs.BENCHMARK else []
    parts += [Path(str(sweep[key])).stem for key in ("device", WORKLOAD) if key in sweep]
    base = "-".join(parts) if is_one else "sweep"
    for place in range(1, 100_000):
        name = f"{base}-{place}"
        if name not in known or known[name] == Sweep.of({**sweep, "name": name}).document:
            return name
    raise FieldError("name", "no name is free; accepted: one of your own")


def _facts(
    device: DeviceConfig | None, axes: list[Axis], seeds: int
) -> tuple[tuple[str, str], ...]:
    combinations = math.prod(len(axis.values) for axis in axes)
    points = ("points", number(combinations * seeds))
    if device is None:
        return (points,)
    effective = dict(device.effective)
    predicted = predicted_waf(device.to_dict(), effective)
    return (
        points,
        ("raw", size(effective["raw_bytes"])),
        ("logical", size(effective["logical_bytes"])),
        ("effective spare factor", number(effective["spare_factor_effective"])),
        ("WAF by theory", number(predicted)),
        ("memory", size(effective["memory_bytes"])),
    )
