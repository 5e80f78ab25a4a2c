"""Objects by name, `module:name` or `path/file.py:name`, and whether they may be run.

Names stand in device files, documents, images, sweeps and fleets, and most of these may be written
by others. `taken` alone decides whether what they lead to is run, and asks in this order:

1. Was it allowed: by `allow_code` (the option `--allow-code`), or by whoever typed the name?
2. Is its source the one whose SHA-256 is recorded? A record without one is refused.
3. Does its author offer it? The file states this in a literal that is read before anything is run,
   `__opennandlab__ = {"policies": ["Greedy"]}`, or a package by an entry point.

Only then the file is run, from the very bytes that were hashed. Modules are looked for where Python
looks, and then in the working directory; looking imports nothing.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from opennandlab.base.errors import CodeError, ConfigError, legible
from opennandlab.base.files import read_bytes

ACCEPTED = "module:name, or path/file.py:name"
# What an author names for others, by group, as in the entry points of a package.
MARK = "__opennandlab__"
# Stands for the hash of a name that was typed: none is recorded, and none is missing.
TYPED: Final = object()
# A file of source is small; what a name leads to may be anything.
SOURCE_BYTES_MAX = 16 << 20

# Runs a module of the package. Python would look for modules in the working directory first, and
# whatever is there under the name of one that is needed would be run.
PROGRAM = (
    "import sys; sys.path[:] = filter(None, sys.path); import runpy; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)

# Modules that were run for their names: what stands for the source -> the module.
_RUN: dict[tuple[str, str], ModuleType] = {}
# Who allows everything at the moment; names that were typed; name and SHA-256 of what was run.
_ALLOWING: set[object] = set()
_TYPED: set[str] = set()
_ADMITTED: set[tuple[str, str]] = set()
# The file that is being read, and whether it is one that this program writes, with hashes.
_FILE: ContextVar[tuple[str, bool]] = ContextVar("file", default=("", False))


@dataclass(frozen=True)
class Source:
    """Where a name leads; nothing of it has been run.

    Args:
        name: What the user wrote.
        path: Its file.
        sha256: SHA-256 of that file, in hex.
        content: Content of that file.
    """

    name: str
    path: Path
    sha256: str
    content: bytes = field(repr=False)


@contextmanager
def allow_code() -> Iterator[None]:
    """Run what files name: policies, placers, error models, codes and trace formats in Python.

    Without it, only what the program itself or the caller brings is run. What is named must still
    be offered by its author, and have the source whose hash is recorded. What was run once may be
    run again in the same process, from the same source.

    >>> import opennandlab as onl
    >>> with onl.allow_code():
    ...     onl.load_device("tlc_standard")["ftl.gc_policy"]["kind"]
    'greedy'
    """
    token = object()
    _ALLOWING.add(token)
    try:
        yield
    finally:
        _ALLOWING.discard(token)


def trust(names: Iterable[str]) -> None:
    """Let names be run that the user typed, or that stand in a file of his own."""
    _TYPED.update(names)


def is_trusted(name: str) -> bool:
    """Return whether a name was typed, or stands in a file of the user's own."""
    return name in _TYPED


def admitted() -> list[tuple[str, str]]:
    """Return name and SHA-256 of all that was run, for `admit` in another process of the user."""
    return sorted(_ADMITTED)


def admit(known: Iterable[tuple[str, str]]) -> None:
    """Let run here what `admitted` returned elsewhere."""
    _ADMITTED.update((str(name), str(sha256)) for name, sha256 in known)


def program(module: str) -> list[str]:
    """Return the command that runs a module of this package in a process of its own."""
    return [sys.executable, "-c", PROGRAM, module]


@contextmanager
def named_in(path: str | Path, *, is_record: bool = False) -> Iterator[None]:
    """Say in which file names stand that are met inside.

    Args:
        path: The file.
        is_record: It is a document or an image: all names in it have a hash, or are refused.
    """
    before = _FILE.set((str(path), is_record))
    try:
        yield
    finally:
        _FILE.reset(before)


def is_name(text: object) -> bool:
    """Return whether a text is meant as the name of an object.

    >>> is_name("my_policies:Greedy"), is_name("greedy")
    (True, False)
    """
    return isinstance(text, str) and ":" in text


def leads_somewhere(name: str) -> bool:
    """Return whether a name has a source; where it has not, it may be meant otherwise.

    >>> leads_somewhere("turbo:3"), leads_somewhere("json:loads")
    (False, True)
    """
    try:
        return _file_of(name, ".").is_file()
    except ConfigError:
        return False


def leads_back(name: str, group: str) -> bool:
    """Return whether a name may be recorded of an object: its author offers it."""
    try:
        _refuse_unoffered(find(name, "."), group, ".")
    except ConfigError:
        return False
    return True


def taken(
    name: str,
    group: str,
    key: str,
    recorded: object = TYPED,
) -> tuple[Source, Any]:
    """Return what a name leads to, and where from: run, if it may be run.

    Args:
        name: `module:name` or `path/file.py:name`.
        group: What it is wanted as: a group of entry points, such as `policies`.
        key: Where it stands, such as `ftl.gc_policy`.
        recorded: The SHA-256 next to a recorded name, None where it is missing.

    Raises:
        CodeError: when it is not allowed, not the source that is recorded, or not offered.
        ConfigError: when it leads to nothing or cannot be run.
    """
    _refuse_unasked(name, key)
    source = find(name, key)
    if recorded is not TYPED or _FILE.get()[1]:
        _refuse_changed(source, key, None if recorded is TYPED else recorded)
    _refuse_unoffered(source, group, key)
    thing = _loaded(source, key)
    _ADMITTED.add((name, source.sha256))
    return source, thing


def find(name: str, key: str) -> Source:
    """Find the source of a name, and read it; nothing is run.

    Raises:
        ConfigError: when there is no such module or file.
    """
    path = _file_of(name, key)
    try:
        content = read_bytes(path, SOURCE_BYTES_MAX)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(key, f"`{name}`: cannot read {path}: {reason}") from error
    return Source(name, path, hashlib.sha256(content).hexdigest(), content)


def record(name: str, key: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is recorded of a name; nothing of it is run.

    Raises:
        ConfigError: when there is no such module or file.
    """
    found: dict[str, Any] = {"name": name, "source_sha256": find(name, key).sha256}
    return found | ({"parameters": dict(parameters)} if parameters else {})


def _refuse_unasked(name: str, key: str) -> None:
    """Refuse what nobody allowed, and say what would have been run."""
    known = {sha256 for one, sha256 in _ADMITTED if one == name}
    if _ALLOWING or name in _TYPED or (known and find(name, key).sha256 in known):
        return
    try:
        place = f"from {_file_of(name, key)}"
    except ConfigError:
        place = "which is not found here"
    file = _FILE.get()[0]
    raise CodeError(
        key,
        f"{file}{': ' if file else ''}`{name}` is code, {place}, and was not run; accepted: "
        "--allow-code, to run code that files name (in Python `with onl.allow_code()`)",
    )


def _refuse_changed(source: Source, key: str, recorded: object) -> None:
    if not recorded:
        raise CodeError(
            key,
            f"`{source.name}`: no SHA-256 of its source is recorded, so what ran is unknown; that "
            f"of {source.path} is {source.sha256}",
        )
    if recorded != source.sha256:
        raise CodeError(
            key,
            f"`{source.name}`: {source.path} is another source than the one recorded: its SHA-256 "
            f"is {source.sha256[:12]}…, not {str(recorded)[:12]}…",
        )


def _refuse_unoffered(source: Source, group: str, key: str) -> None:
    """Refuse what its author does not offer: any other object of Python could be named."""
    attribute = source.name.rpartition(":")[2]
    if attribute in offered(source).get(group, ()):
        return
    points = importlib.metadata.entry_points(group=f"opennandlab.{group}")
    if any(point.value.replace(" ", "") == source.name for point in points):
        return
    raise CodeError(
        key,
        f"`{source.name}`: {source.path} does not offer `{attribute}` under {group}; accepted: "
        f'what a line of it names, `{MARK} = {{"{group}": ["{attribute}"]}}`, or an entry point of '
        "an installed package",
    )


def offered(source: Source) -> dict[str, list[str]]:
    """Return what a file offers, by group: the literal `__opennandlab__`, read and not run."""
    try:
        lines = ast.parse(source.content).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    for line in lines:
        is_mark = isinstance(line, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == MARK for target in line.targets
        )
        if is_mark:
            with suppress(ValueError, TypeError, AttributeError):
                groups = ast.literal_eval(line.value)  # type: ignore[attr-defined]
                return {str(group): [str(it) for it in names] for group, names in groups.items()}
    return {}


def _loaded(source: Source, key: str) -> Any:  # noqa: ANN401 (whatever has that name)
    """Run a source, if it was not yet, and return what has the name."""
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
            names = ", ".join(_public(_RUN[mark])[:20]) or "nothing that could be a policy"
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


def _public(module: ModuleType) -> list[str]:
    """Return the names in a module that may be meant: what it imports whole is not."""
    return sorted(
        name
        for name, value in vars(module).items()
        if name[:1] != "_" and not isinstance(value, ModuleType)
    )


class _Read(SourceFileLoader):
    """Runs the bytes that were hashed, whatever is in the file or in its cache by now."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, str(source.path))
        self._content = source.content

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        code: CodeType = compile(self._content, self.path, "exec", dont_inherit=True)
        return code


def _run(where: str, source: Source) -> ModuleType:
    if where.endswith(".py"):
        # Under a name of its own: two files may have the same.
        return _executed(f"opennandlab_{source.path.stem}_{source.sha256[:12]}", source)
    with _working_directory():
        known = sys.modules.get(where)
        is_other = any(name == where for name, _ in _RUN)
        is_here = known is not None and getattr(known, "__file__", None) == str(source.path)
        if known is not None and is_here and not is_other:
            return known
        if source.path.suffix != ".py":
            return importlib.import_module(where)
        parent, _, last = where.rpartition(".")
        if parent:
            importlib.import_module(parent)
        module = _executed(where, source)
        if parent:
            setattr(sys.modules[parent], last, module)
        return module


def _executed(name: str, source: Source) -> ModuleType:
    """Run a file as a module."""
    folder = [str(source.path.parent)] if source.path.name == "__init__.py" else None
    loader = _Read(name, source)
    spec = importlib.util.spec_from_file_location(
        name, source.path, loader=loader, submodule_search_locations=folder
    )
    if spec is None:
        raise ImportError(f"{source.path} is not a Python file")
    module, before = importlib.util.module_from_spec(spec), sys.modules.get(name)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        raise
    return module


def _file_of(name: str, key: str) -> Path:
    """Return the file of a name."""
    where, _, attribute = name.rpartition(":")
    if not where or not attribute:
        raise ConfigError(key, f"`{name}` names nothing; accepted: {ACCEPTED}")
    if where.endswith(".py"):
        return Path(where)
    try:
        with _working_directory():
            importlib.invalidate_caches()
            spec = _spec(where)
    except (ImportError, ValueError, AttributeError, KeyError, TypeError):
        spec = None
    if spec is None:
        raise ConfigError(
            key,
            f"`{name}`: there is no module `{where}` where Python looks, nor in the working "
            f"directory; accepted: {ACCEPTED}",
        )
    if not spec.has_location or spec.origin is None:
        raise ConfigError(
            key, f"`{name}`: the module `{where}` has no file; accepted: one in a file"
        )
    return Path(spec.origin)


def _spec(module: str) -> ModuleSpec | None:
    """Return where a module is; `importlib.util.find_spec` would import the packages around it."""
    places, spec, name = None, None, ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        if spec is not None and places is None:
            return None
        found = (finder.find_spec(name, places) for finder in sys.meta_path)
        spec = next((one for one in found if one is not None), None)
        if spec is None:
            return None
        inside = spec.submodule_search_locations
        places = None if inside is None else list(inside)
    return spec


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
