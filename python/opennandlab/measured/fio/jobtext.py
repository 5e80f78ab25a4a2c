"""The text of a job file of fio: sections, and their options with file and line.

```text
[global]            options of all sections that follow
[name]              a job, with those of `global` before its own
key=value   key     ; and # begin a comment
include FILE        options of a file in this folder
${NAME}             of the environment, only if that is allowed
```
Source: `__parse_jobs_ini` in `init.c`, `parse.c` of fio 3.42.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_bytes
from opennandlab.base.foreign import format_of

# The longest file of fio's own has 4 KiB.
BYTES_MAX = 1 << 20
# Of fio.
LINE_CHARS_MAX = 8192
SECTIONS_MAX = 4096
SECTION = re.compile(r"\[(.{1,255})\]")
COMMENT = re.compile("[;#]")
VARIABLE = re.compile(r"\$\{([^}]*)\}")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What fio puts its own numbers in place of.
KEYWORD = re.compile(r"\$(pagesize|mb_memory|ncpus)\b")
SUFFIXES = frozenset({".fio", ".job"})


@dataclass(frozen=True)
class Given:
    """An option as it was written.

    Args:
        name: Its name.
        text: Its value; None for one that is given by its name alone.
        place: File and line.
    """

    name: str
    text: str | None
    place: str

    def refusal(self, message: str) -> ConfigError:
        """Return the error of it."""
        value = "" if self.text is None else f"={self.text}"
        return ConfigError(self.place, f"`{self.name}{value}`: {message}")


@dataclass(frozen=True)
class Section:
    """A job.

    Args:
        name: Its name.
        place: File and line of its head.
        given: Its options, those of `global` before it first.
    """

    name: str
    place: str
    given: tuple[Given, ...]


def is_job_file(path: Path) -> bool:
    """Return whether a file looks like a job file: by its name, or by its first line with text.

    Sections are also those of SimpleSSD, whose names differ.

    Args:
        path: Anything.
    """
    if path.suffix in SUFFIXES:
        return True
    try:
        text = read_bytes(path, BYTES_MAX) if path.is_file() else b""
    except (OSError, ValueError):
        return False
    if format_of(text) is not None:
        return False
    head = text.decode("utf-8", "replace")
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    is_section = SECTION.fullmatch(COMMENT.split(first, 1)[0].strip()) is not None
    return is_section or path.suffix == ".ini"


def sections(path: Path, environment: Mapping[str, str] | None) -> list[Section]:
    """Read a job file.

    Args:
        path: It.
        environment: For `${NAME}`; None if that is not allowed.

    Raises:
        ConfigError: with file, line and reason.
    """
    found: list[Section] = []
    common: list[Given] = []
    own: list[Given] | None = None
    head = ("", "")

    def close() -> None:
        if own is not None and not head[0].startswith("global"):
            found.append(Section(*head, (*common, *own)))
        elif own is not None:
            common.extend(own)

    for place, line in _lines(path, path.parent, nested=False):
        if line.startswith("["):
            match = SECTION.fullmatch(line)
            if match is None:
                raise ConfigError(place, f"`{line}` is not a section; accepted: [name]")
            close()
            head, own = (match[1], place), []
            if len(found) >= SECTIONS_MAX:
                raise ConfigError(place, f"more than {SECTIONS_MAX} sections")
        elif own is None:
            raise ConfigError(
                place, f"`{line}` is in no section; accepted: [global] or [name] first"
            )
        else:
            own.append(_option(line, place, environment))
    close()
    if not found:
        raise ConfigError(str(path), "no job in it; accepted: a section such as [randread]")
    return found


def _option(line: str, place: str, environment: Mapping[str, str] | None) -> Given:
    keyword = KEYWORD.search(line)
    if keyword:
        raise ConfigError(place, f"`{keyword[0]}` depends on the machine; accepted: a number")

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if environment is None:
            raise ConfigError(
                place, f"`${{{name}}}` is an environment variable; accepted: with --env"
            )
        if name not in environment:
            raise ConfigError(place, f"`{name}` is not set in the environment")
        return environment[name]

    name, is_set, text = VARIABLE.sub(value, line).partition("=")
    text = text.strip()
    if CONTROL.search(text):
        raise ConfigError(place, f"`{name.strip()}`: control characters in the environment")
    return Given(name.strip(), text if is_set else None, place)


def _lines(path: Path, folder: Path, *, nested: bool) -> Iterator[tuple[str, str]]:
    """Yield the lines with text and their places, those of included files too."""
    try:
        raw = read_bytes(path, BYTES_MAX)
    except OSError as error:
        raise ConfigError(str(path), f"{error.strerror or error}") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = raw[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{at}", f"byte {error.start} is not UTF-8 text") from error
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        place = f"{path}:{number}"
        control = CONTROL.search(line)
        if control:
            raise ConfigError(place, f"control character {ord(control[0]):#04x}; accepted: text")
        if len(line) > LINE_CHARS_MAX:
            raise ConfigError(place, f"{len(line)} characters; accepted: up to {LINE_CHARS_MAX}")
        said = COMMENT.split(line, 1)[0].strip()
        if not said:
            continue
        word, _, name = said.partition(" ")
        if word != "include":
            if nested and said.startswith("["):
                raise ConfigError(place, "a section in an included file; accepted: options")
            yield place, said
            continue
        if nested:
            raise ConfigError(place, "an include in an included file; accepted: options")
        yield from _lines(_beside(name.strip(), folder, place), folder, nested=True)


def _beside(name: str, folder: Path, place: str) -> Path:
    """Return the file of an include, which is in the folder of the job file."""
    path = folder / name
    if not name or Path(name).name != name or name in {".", ".."}:
        raise ConfigError(place, f"include `{name}`; accepted: the name of a file in this folder")
    if Path(os.path.realpath(path)) != Path(os.path.realpath(folder)) / name:
        raise ConfigError(place, f"include `{name}` is a link out of the folder of this file")
    return path
