"""The fitted device file: the file as it was, with new values and where they come from."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opennandlab.base.errors import OutputError
from opennandlab.base.files import is_there, parse_yaml
from opennandlab.core.config import PRESETS
from opennandlab.core.overrides import set_path

WIDTH = 96


def text_of(source: object, values: Mapping[str, float], said: Mapping[str, str],
            head: list[str]) -> str:  # fmt: skip
    """Return the YAML of a fitted device.

    Args:
        source: The device before: preset, path or mapping.
        values: New values by dotted path.
        said: Where each comes from; it takes the place of the comment above the key.
        head: Lines at the top.

    Raises:
        OutputError: where the file cannot hold the values.
    """
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 4096
    document: Any = yaml.load(_text(source))
    for path, value in values.items():
        set_path(document, path, value)
    stream = io.StringIO()
    yaml.dump(document, stream)
    lines = stream.getvalue().splitlines()
    body = "\n".join(_remarked(lines, said))
    text = "".join(f"# {line}".rstrip() + "\n" for line in head) + body + "\n"
    found = parse_yaml(text, "the fitted file")
    for path, value in values.items():
        here = found
        for part in path.split("."):
            here = here[part]
        if here != value:
            raise OutputError(f"the fitted file would have {path}: {here}, not {value}")
    return text


def _text(source: object) -> str:
    if isinstance(source, Mapping):
        from ruamel.yaml import YAML

        stream = io.StringIO()
        yaml = YAML(typ="safe")
        yaml.default_flow_style = False
        yaml.dump(dict(source), stream)
        return stream.getvalue()
    path = Path(str(source))
    if not is_there(path):
        path = PRESETS / f"{source}.yaml"
    return path.read_text(encoding="utf-8")


def _remarked(lines: list[str], said: Mapping[str, str]) -> list[str]:
    """Return lines with a comment above each key, or above what it stands in."""
    found: list[str] = []
    parents: list[tuple[int, str]] = []
    left = dict(said)
    for line in lines:
        key = re.match(r"( *)([\w-]+):( |$)", line)
        if key:
            depth = len(key[1])
            parents = [parent for parent in parents if parent[0] < depth] + [(depth, key[2])]
            here = ".".join(name for _, name in parents)
            is_open = line.split(" #")[0].rstrip().endswith(":")
            own = [
                path for path in left
                if path == here or (not is_open and path.startswith(f"{here}."))
            ]  # fmt: skip
            if own:
                while found and found[-1].lstrip().startswith("#"):
                    found.pop()
                for path in own:
                    name = f"{path[len(here) + 1 :]}: " if path != here else ""
                    found += _comment(f"{name}{left.pop(path)}", depth)
        found.append(line)
    return found


def _comment(text: str, depth: int) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and depth + 2 + len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [f"{' ' * depth}# {one}" for one in [*lines, line]]
