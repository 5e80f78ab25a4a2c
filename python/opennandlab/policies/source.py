"""Objects by name: `module:name` or `path/file.py:name`, and the source that they come from.

A file is read and hashed before it is run, so a recorded name whose source has changed is refused
without running anything. Modules are looked for where Python looks, and then in the working
directory.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from opennandlab.errors import ConfigError, legible

ACCEPTED = "module:name, or path/file.py:name"

# Modules that were run for their names: what stands for the source -> the module.
_RUN: dict[tuple[str, str], ModuleType] = {}


@dataclass(frozen=True)
class Source:
    """Where a name leads, without anything having been run but the packages around it.

    Args:
        name: What the user wrote.
        path: Its file.
        sha256: Of that file, in hex.
    """

    name: str
    path: Path
    sha256: str


def is_name(text: object) -> bool:
    """Tell whether a text is meant as the name of an object.

    >>> is_name("my_policies:Greedy"), is_name("greedy")
    (True, False)
    """
    return isinstance(text, str) and ":" in text


def leads_somewhere(name: str) -> bool:
    """Tell whether a name has a source; where it has not, it may be meant otherwise.

    >>> leads_somewhere("turbo:3"), leads_somewhere("json:loads")
    (False, True)
    """
    try:
        find(name, ".")
    except ConfigError:
        return False
    return True


def find(name: str, key: str) -> Source:
    """Find the source of a name.

    Args:
        name: `module:name` or `path/file.py:name`.
        key: Where it stands, such as `ftl.gc_policy`.

    Raises:
        ConfigError: when there is no such module or file.
    """
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise ConfigError(key, f"`{name}` names nothing; accepted: {ACCEPTED}")
    path = Path(where) if where.endswith(".py") else _module_file(where, name, key)
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(key, f"`{name}`: cannot read {path}: {reason}") from error
    return Source(name, path, hashlib.sha256(content).hexdigest())


def load(source: Source, key: str) -> Any:  # noqa: ANN401 (whatever has that name)
    """Run a source, if it was not yet, and return what has the name.

    Raises:
        ConfigError: when it cannot be run, and when it has no such name.
    """
    where, _, attribute = source.name.rpartition(":")
    mark = (where if not where.endswith(".py") else str(source.path.absolute()), source.sha256)
    if mark not in _RUN:
        try:
            _RUN[mark] = _run(where, source)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{frame.filename}, line {frame.lineno}"
            raise ConfigError(
                key, f"`{source.name}`: {type(error).__name__}: {error} ({place})"
            ) from error
    found: Any = _RUN[mark]
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = ", ".join(_offered(_RUN[mark])[:20]) or "nothing that could be a policy"
            message = f"`{source.name}`: {source.path} has no `{attribute}`; it has {names}"
            raise ConfigError(key, legible(message))
        found = getattr(found, part)
    return found


def hash_of(thing: object) -> str | None:
    """Return the SHA-256 of the file in which an object, or its class, was written.

    Of what was typed at a prompt, that of its own text; None where there is no source.
    """
    thing = inspect.unwrap(thing) if callable(thing) else thing
    known = inspect.isroutine(thing) or inspect.isclass(thing)
    written = thing if known else type(thing)
    with suppress(OSError, TypeError):
        path = Path(str(inspect.getsourcefile(written)))  # type: ignore[arg-type]
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        text = inspect.getsource(written)  # type: ignore[arg-type]
        return hashlib.sha256(text.encode()).hexdigest()
    return None


def name_of(thing: Any) -> tuple[str, bool]:  # noqa: ANN401 (any policy)
    """Return what an object is called, and whether that name leads back to it.

    >>> from collections import Counter
    >>> name_of(Counter), name_of(Counter())
    (('collections:Counter', True), ('collections:Counter', False))
    """
    plain = inspect.unwrap(thing) if callable(thing) else thing
    known = inspect.isroutine(plain) or inspect.isclass(plain)
    named = plain if known else type(plain)
    module = sys.modules.get(str(getattr(named, "__module__", "")))
    if module is None:
        return f"{type(thing).__module__}:{type(thing).__qualname__}", False
    is_lasting = module.__name__ != "__main__"
    for name, value in vars(module).items():
        if value is thing and is_lasting:
            return f"{module.__name__}:{name}", True
    return f"{module.__name__}:{named.__qualname__}", False


def _offered(module: ModuleType) -> list[str]:
    """Return the names in a module that may be meant: what it imports whole is not."""
    return sorted(
        name
        for name, value in vars(module).items()
        if name[:1] != "_" and not isinstance(value, ModuleType)
    )


def _run(where: str, source: Source) -> ModuleType:
    if where.endswith(".py"):
        # Under a name of its own: two files may have the same.
        name = f"opennandlab_{source.path.stem}_{source.sha256[:12]}"
        spec = importlib.util.spec_from_file_location(name, source.path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{source.path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    with _working_directory():
        is_other = any(known == where for known, _ in _RUN)
        module = importlib.import_module(where)
        # It was run before its file was changed.
        return importlib.reload(module) if is_other else module


def _module_file(module: str, name: str, key: str) -> Path:
    try:
        with _working_directory():
            importlib.invalidate_caches()
            spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        raise ConfigError(
            key,
            f"`{name}`: there is no module `{module}` where Python looks, nor in the working "
            f"directory; accepted: {ACCEPTED}",
        )
    if not spec.has_location or spec.origin is None:
        raise ConfigError(
            key, f"`{name}`: the module `{module}` has no file; accepted: one in a file"
        )
    return Path(spec.origin)


@contextmanager
def _working_directory() -> Iterator[None]:
    """Let modules be found in the working directory, behind all other places."""
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        yield
    finally:
        # What was run may have changed the path itself.
        for place in range(len(sys.path) - 1, -1, -1):
            if sys.path[place] == here:
                del sys.path[place]
                break
