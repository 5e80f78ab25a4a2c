"""Devices and workloads as Python sees them: read-only views of what the Rust core resolved.

YAML becomes a dict; the core refuses unknown keys, fills in the defaults and returns an object of
its own, the attribute `core`, which every run takes: a document is read and checked once. Keys are
declared in Rust. Python adds preset names, files, `--set`, and code of the user's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from opennandlab import _core
from opennandlab.base.canonical import canonical_json
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import is_there, read_yaml
from opennandlab.base.hints import hints, nearest
from opennandlab.base.plain import frozen, leaves, thawed, to_json
from opennandlab.core.coded import with_code
from opennandlab.core.given import comments, refuse_lists
from opennandlab.core.mistaken import refuse_mistaken
from opennandlab.core.others import no_flash, other_presets
from opennandlab.core.overrides import changes_by_path, known_path, rename_ratios, set_path
from opennandlab.core.own import namings, with_names, with_records, with_registered
from opennandlab.policies import placer, plugins
from opennandlab.policies import policy as policies
from opennandlab.policies.source import admit, admitted, trust

PRESETS = Path(__file__).parent.parent / "presets"

Source = str | Path | Mapping[str, Any]
# Replaces the names of the user's code in a document; the policy, if it is an object.
Naming = Callable[[dict[str, Any]], tuple[dict[str, Any], policies.Policy | None]]

# The origin of a key that `--set` gave: see `by_hand`.
BY_HAND = "given: --set"


class Resolved(Protocol):
    """A document in the core: read, checked, and never changed."""

    def json(self) -> str:
        """Return the document, every default filled in."""


class Document(Mapping[str, Any]):
    """An immutable resolved document; keys by dotted path, attribute or nesting.

    Args:
        core: The document in the core.
        name: Name that the user gave: a preset, a file, or `custom`.
    """

    def __init__(self, core: Resolved, name: str = "custom") -> None:
        """Keep the document as canonical JSON."""
        self._json = canonical_json(json.loads(core.json()))
        self.name = name

    @property
    def json(self) -> str:
        """The canonical JSON."""
        return self._json

    @cached_property
    def _frozen(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = frozen(json.loads(self._json))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return a copy that may be changed freely."""
        copy: dict[str, Any] = json.loads(self._json)
        return copy

    def __getitem__(self, path: str) -> Any:  # noqa: ANN401 (as varied as the document)
        """Return the value at a dotted path: `device["ftl.gc_policy"]`."""
        value: Any = self._frozen
        for part in path.split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise KeyError(path)
            value = value[part]
        return value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the top-level keys."""
        return iter(self._frozen)

    def __len__(self) -> int:
        """Count the top-level keys."""
        return len(self._frozen)

    def __eq__(self, other: object) -> bool:
        """Return whether two documents have the same content; the name does not count."""
        return type(other) is type(self) and self._json == other._json

    def __hash__(self) -> int:
        """Hash the content."""
        return hash(self._json)

    def __repr__(self) -> str:
        """Name the kind and the source."""
        return f"<{type(self).__name__} {self.name}>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td style='text-align:left'><code>{escape(path)}</code></td>"
            f"<td style='text-align:left'>{escape(json.dumps(value))}</td></tr>"
            for path, value in leaves(self.to_dict())
        )
        return f"<table><caption>{escape(repr(self))}</caption>{rows}</table>"


def map_unit_bytes(device: Mapping[str, Any]) -> int:
    """Return the unit of the map of a resolved device, in bytes: by default a page."""
    return int(device["ftl"].get("map_unit_bytes") or device["nand"]["page_size_bytes"])


class DeviceConfig(Document):
    """A device with every key resolved.

    >>> import opennandlab as onl
    >>> device = onl.load_device("tlc_standard")
    >>> device["nand.page_size_bytes"], device["ftl.over_provisioning_pct"]
    (4096, 0.07)
    """

    def __init__(
        self,
        core: _core.Device,
        name: str = "custom",
        given: Mapping[str, str] | None = None,
        policy: policies.Policy | None = None,
    ) -> None:
        """Keep the document and remember which keys the user gave, with their comments."""
        super().__init__(core, name)
        self.core = core
        self.given = MappingProxyType(dict(given or {}))
        self._policy = policy

    def drive(self, seed: int) -> _core.Drive:
        """Return a new drive of this device.

        Raises:
            ConfigError: when its policy cannot be used.
        """
        return self.consulted(_core.Drive(self.core, seed))

    def consulted(self, core: _core.Drive) -> _core.Drive:
        """Attach the user's policy of garbage collection, if there is one, and of placement.

        Args:
            core: A drive of this device.

        Raises:
            ConfigError: when a policy is not found, or its source differs from the recorded one.
        """
        record = self["ftl.gc_policy"]
        if record["kind"] == "python":
            found = self._policy or policies.resolved(thawed(record))[1]
            if found is None:
                raise ConfigError(
                    policies.KEY,
                    f"`{record['name']}` was passed as an object that its name does not identify; "
                    f"accepted: the same object as `gc_policy`",
                )
            found.attach(core)
        placer.attach(core, thawed(self["ftl"].get("placement") or {}))
        return core

    def with_policy(self, thing: object) -> DeviceConfig:
        """Return the same device with a policy of one's own.

        Args:
            thing: A name, an object or a class with `choose(pool)`, a function, or a native one.
                None changes nothing.

        Raises:
            ConfigError: for an object that is no policy.
        """
        if thing is None:
            return self
        found = policies.given(thing)
        document = self.to_dict()
        document["ftl"]["gc_policy"] = found.record()
        given = {**self.given, policies.KEY: ""}
        return _resolve_device(document, self.name, given, found)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the document, which the core reads again, and the code that was allowed to run."""
        return _unpickle_device, (self._json, self.name, dict(self.given), admitted())

    @cached_property
    def effective(self) -> Mapping[str, Any]:
        """Values that follow from the keys, such as capacities, spare factors, memory needs."""
        found: Mapping[str, Any] = frozen(json.loads(self.core.effective()))
        return found

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """The document, table or assumption that each constant comes from, by dotted path."""
        pairs: list[tuple[str, str]] = json.loads(self.core.sources())
        return MappingProxyType(dict(pairs))

    def origin(self, path: str) -> str:
        """Return the source of a key: its comment in the file, document, assumption, or default."""
        around, is_given = path, path in self.given
        while around:
            # A comment above a mapping in braces holds for all its keys.
            if self.given.get(around):
                return self.given[around]
            # A mapping given by a name alone: its `kind` was given, the other keys follow.
            if not is_given and around in self.given:
                return f"given: {self.name}" if path == f"{around}.kind" else "default"
            if not is_given and around in self.sources:
                return self.sources[around]
            around = around.rpartition(".")[0]
        return f"given: {self.name}" if is_given else "default"

    def replace(self, changes: Mapping[str, Any]) -> DeviceConfig:
        """Return another device with some keys changed.

        Args:
            changes: Dotted path to value: `{"ftl.gc_policy": "cost_benefit"}`.

        Raises:
            ConfigError: when the core refuses the changed device.
        """
        document = self.to_dict()
        changes = changes_by_path(changes)
        for path, value in changes.items():
            set_path(document, path, value)
        document = with_code(document, Path())
        paths = [
            f"{path}.{leaf}" if leaf else path
            for path, value in changes.items()
            for leaf in ([leaf for leaf, _ in leaves(value)] if isinstance(value, dict) else [""])
        ]
        given = {**self.given, **dict.fromkeys(paths, "")}
        kept = document["ftl"]["gc_policy"] == self.to_dict()["ftl"]["gc_policy"]
        return _resolve_device(document, self.name, given, self._policy if kept else None)


class WorkloadConfig(Document):
    """A workload resolved for one device.

    Args:
        core: The workload in the core.
        name: Name that the user gave.
        device: Its device.
        folder: From where the traces of its tenants are seen.
    """

    def __init__(
        self, core: _core.Workload, name: str, device: DeviceConfig, folder: Path = Path()
    ) -> None:
        """Keep the document and its device."""
        super().__init__(core, name)
        self.core = core
        self.device = device
        self.folder = folder

    def of(self, sources: list[tuple[str, str] | None]) -> WorkloadConfig:
        """Return the same workload, with traces of tenants that were read.

        Args:
            sources: What the user called the file, and the SHA-256 of its text, by tenant.
        """
        return WorkloadConfig(self.core.of(sources), self.name, self.device, self.folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the document, which the core reads again."""
        return _unpickle_workload, (self._json, self.name, self.device, self.folder)


class ReplayConfig(Document):
    """The options of a replay, resolved for one device."""

    def __init__(self, core: _core.Replay, name: str, device: DeviceConfig) -> None:
        """Keep the document and its device."""
        super().__init__(core, name)
        self.core = core
        self.device = device

    def of(self, file: str, digest: str) -> ReplayConfig:
        """Return the same options, of a trace that was read.

        Args:
            file: What the user called its file.
            digest: SHA-256 of its text, in hex.
        """
        return ReplayConfig(self.core.of(file, digest), self.name, self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the document, which the core reads again."""
        return _unpickle_replay, (self._json, self.name, self.device)


class Steps(Document):
    """Resolved steps of preconditioning; they fit every device."""

    def __init__(self, core: _core.Steps) -> None:
        """Keep the document."""
        super().__init__(core)
        self.core = core


def load_device(source: Source, overrides: Mapping[str, Any] | None = None) -> DeviceConfig:
    """Load a device by preset name, from a YAML file, or from a dict.

    Args:
        source: `"tlc_standard"`, a path, or a mapping with the keys of a device file.
        overrides: Dotted path to value, applied before resolving (the `--set` of the command line).

    Returns:
        The immutable resolved device.

    Raises:
        ConfigError: with dotted path, the offending value and what is accepted.

    >>> import opennandlab as onl
    >>> onl.load_device("tlc_standard", {"ftl.gc_policy": "fifo"}).effective["raw_bytes"]
    34359738368
    """
    if isinstance(source, DeviceConfig):
        return source.replace(overrides) if overrides else source
    return _resolve_device(*_device(source, overrides or {}))


def own_device(source: Source, overrides: Mapping[str, Any] | None = None) -> DeviceConfig:
    """Load a device that the user named on the command line: the code that it names may run.

    Raises:
        ConfigError: as `load_device`.
    """
    found = _device(source, overrides or {})
    trust(namings(found[0]))
    return _resolve_device(*found)


def trust_device(source: str) -> None:
    """Allow the code that a device file names to run: the user named that file on the command line.

    Raises:
        ConfigError: if it is no device file.
    """
    trust(namings(read_device(source)))


def described_device(
    source: Source, overrides: Mapping[str, Any] | None = None
) -> tuple[DeviceConfig, dict[str, str]]:
    """Return a device without running code that it names, and the names of that code by key.

    An error model in Python describes itself only when it is run: the default takes its place.

    Raises:
        ConfigError: as `load_device`.
    """
    named: dict[str, str] = {}

    def described(document: dict[str, Any]) -> tuple[dict[str, Any], None]:
        changed, found = with_records(document)
        named.update(found)
        return changed, None

    return _resolve_device(*_device(source, overrides or {}), names=described), named


def _device(
    source: Source, overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], str, dict[str, str]]:
    """Return the unresolved device with changes, its name, and the origin of each given key."""
    document, name, file = _read(source, kind="device", folder=PRESETS)
    given = {path: "" for path, _ in leaves(document)}
    if file is not None:
        given |= comments(file.read_text(encoding="utf-8-sig"))
    for path, value in changes_by_path(overrides).items():
        set_path(document, path, value)
        given[path] = BY_HAND
    folder = Path() if file is None or file.parent == PRESETS else file.parent
    coded = with_code(document, folder)
    given = {path: "given: ecc.code, dialect or curves" for path, _ in leaves(coded)} | given
    return coded, name, {known_path(path): origin for path, origin in given.items()}


def load_workload(
    source: Source,
    device: DeviceConfig,
    *,
    overrides: Mapping[str, Any] | None = None,
    fresh: bool = False,
) -> WorkloadConfig:
    """Load a workload by name (`W1` to `W5`), from a YAML file, or from a dict, for one device.

    Args:
        source: Name, path or mapping with the keys of a workload file.
        device: The drive whose capacity the workload is sized for.
        overrides: Dotted path to value, applied before resolving.
        fresh: Drop the preconditioning: start from an empty or given drive.

    Raises:
        ConfigError: with dotted path, the offending value and what is accepted.

    >>> import opennandlab as onl
    >>> onl.load_workload("W1", onl.load_device("tlc_standard"))["queue_depth"]
    1
    """
    if not isinstance(device, DeviceConfig):
        raise ConfigError(".", f"`{device}` is not a DeviceConfig; `load_device` makes one")
    if isinstance(source, WorkloadConfig):
        if source.device == device and not overrides and not fresh:
            return source
        document, name, folder = source.to_dict(), source.name, source.folder
    else:
        document, name, folder = _workload(source, device)
    for path, value in changes_by_path(overrides or {}).items():
        set_path(document, path, value)
    if fresh:
        document["precondition"] = []
    text = to_json(document)
    with hints(document, "workload"):
        core = _core.Workload(text, device.core)
    workload = WorkloadConfig(core, name, device, folder)
    refuse_lists(document, workload.to_dict())
    return workload


def _workload(source: Source, device: DeviceConfig) -> tuple[dict[str, Any], str, Path]:
    """Return an unresolved workload of a preset, a file or a plug-in, its name, and its folder.

    Raises:
        ConfigError: for an unknown name.
    """
    try:
        document, name, file = _read(source, kind="workload", folder=PRESETS / "workloads")
    except ConfigError as error:
        found = plugins.named("workloads", source, ".") if error.path == "." else None
        if found is None:
            raise
        own = plugins.mapping(found[1], str(source), "workload", device)
        return thawed(own), str(source), Path()
    return document, name, Path() if file is None else file.parent


def read_device(source: Source) -> dict[str, Any]:
    """Return a device as its preset or file has it, without defaults.

    Raises:
        ConfigError: for an unknown name, and for a file that is no YAML mapping.
    """
    return _read(source, kind="device", folder=PRESETS)[0]


def read_workload(source: Source) -> dict[str, Any]:
    """Return a workload as its preset or file has it, without defaults.

    Raises:
        ConfigError: for an unknown name, and for a file that is no YAML mapping.
    """
    return _read(source, kind="workload", folder=PRESETS / "workloads")[0]


def load_replay(options: Mapping[str, Any], device: DeviceConfig) -> ReplayConfig:
    """Resolve replay options for one device.

    Raises:
        ConfigError: with dotted path, the offending value and what is accepted.
    """
    document = thawed(options)
    text = to_json(document)
    with hints(document, "replay"):
        core = _core.Replay(text, device.core)
    replay = ReplayConfig(core, str(document.get("name", "replay")), device)
    refuse_lists(document, replay.to_dict())
    return replay


def load_steps(steps: Iterable[Mapping[str, Any]]) -> Steps:
    """Resolve steps of preconditioning, as under `precondition:` in a workload file.

    Raises:
        ConfigError: with dotted path, the offending value and what is accepted.
    """
    document = {"precondition": [thawed(step) for step in steps]}
    text = to_json(document)
    with hints(document, "workload"):
        resolved = Steps(_core.Steps(text))
    refuse_lists(document, resolved.to_dict())
    return resolved


def device_presets() -> list[str]:
    """Return the names of the device presets."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def workload_presets() -> list[str]:
    """Return the names of the workloads of the package."""
    return sorted(path.stem for path in (PRESETS / "workloads").glob("*.yaml"))


def presets() -> dict[str, list[str]]:
    """Return the names of the devices, workloads and discs of the package.

    >>> import opennandlab as onl
    >>> "tlc_standard" in onl.presets()["devices"], onl.presets()["workloads"][:2]
    (True, ['W1', 'W2'])
    """
    return {
        "devices": device_presets(),
        "workloads": workload_presets(),
        "discs": other_presets(),
    }


def _resolve_device(
    document: dict[str, Any],
    name: str,
    given: Mapping[str, str],
    policy: policies.Policy | None = None,
    names: Naming = with_names,
) -> DeviceConfig:
    if policy is None:
        document, policy = names(document)
    try:
        with hints(document):
            core = _core.Device(to_json(document))
    except ConfigError as error:
        known = with_registered(document, error)
        if known is None:
            raise
        return _resolve_device(known, name, given, names=names)
    device = DeviceConfig(core, name, given, policy)
    refuse_lists(document, device.to_dict())
    return device


def _unpickle_device(
    text: str, name: str, given: dict[str, str], known: list[tuple[str, str]]
) -> DeviceConfig:
    admit(known)
    return DeviceConfig(_core.Device(text), name, given)


def _unpickle_workload(text: str, name: str, device: DeviceConfig, folder: Path) -> WorkloadConfig:
    return WorkloadConfig(_core.Workload(text, device.core), name, device, folder)


def _unpickle_replay(text: str, name: str, device: DeviceConfig) -> ReplayConfig:
    return ReplayConfig(_core.Replay(text, device.core), name, device)


def _read(source: Source, *, kind: str, folder: Path) -> tuple[dict[str, Any], str, Path | None]:
    """Return the unresolved document, its name, and its file; None for a mapping."""
    document, name, file = _found(source, kind, folder)
    if file is not None:
        refuse_mistaken(file, document, kind)
    rename_ratios(document)
    return document, name, file


def _found(source: Source, kind: str, folder: Path) -> tuple[dict[str, Any], str, Path | None]:
    if isinstance(source, Mapping):
        try:
            return thawed(source), "custom", None
        except RecursionError as error:
            raise ConfigError(".", "nested too deeply, or containing itself") from error
    text = str(source)
    if kind == "device" and text in other_presets():
        raise no_flash(text)
    names = {path.stem: path for path in folder.glob("*.yaml")}
    if text in names:
        return read_yaml(names[text]), text, names[text]
    path = Path(text)
    if path.suffix in {".yaml", ".yml"} or is_there(path):
        return read_yaml(path), path.name, path
    near = nearest(text, list(names))
    meant = f"; did you mean `{near}`?" if near else ""
    accepted = ", ".join(sorted(names))
    raise ConfigError(
        ".", f"unknown {kind} `{text}`; accepted: {accepted}, or the path of a YAML file{meant}"
    )
