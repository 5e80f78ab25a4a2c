"""Writes what is derived from the code: the reference pages and the notebooks.

Usage: `python tools/generate.py` writes; `--check` writes nothing and fails when a file differs.
It asks the *installed* package, so `make generate` builds it first. Nobody edits the results:

    docs/reference/<kind>.md      from the schemas that `opennandlab config schema` prints
    docs/reference/cli.md         from the commands themselves
    examples/notebooks/*.ipynb    from the pages next to them

A device or workload key is described once, in the Rust struct that uses it.
"""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import notebooks
from document_page import document_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent

Schema = dict[str, Any]

NOTICE = "<!-- Written by tools/generate.py; edit the declarations, then run `make generate`. -->"


def schema_page(schema: Schema, title: str, everyday: frozenset[str] = frozenset()) -> str:
    """Return the reference page of a schema: a table for every mapping in it.

    Args:
        schema: A JSON schema as `schemars` writes it, definitions in `$defs`.
        title: The heading of the page.
        everyday: Dotted paths of the keys that come first, in a part of their own; none for a
            page in one part.

    Returns:
        Markdown.
    """
    definitions = _Definitions(schema)
    lines = [f"# {title}", "", NOTICE, "", _sentence(schema), ""]
    if not everyday:
        lines += _sections(schema, definitions, "", lambda _path: True)
    for heading, text, shows in (
        ("Everyday keys", "Those that a preset or an example sets.", everyday.__contains__),
        ("Expert keys", "The others; no drive needs them.", lambda path: path not in everyday),
    ):
        if everyday:
            lines += [f"## {heading}", "", text, ""]
            part = _sections(schema, definitions, "", shows)
            lines += [f"#{line}" if line.startswith("##") else line for line in part]
    return "\n".join(lines).rstrip() + "\n"


class _Definitions:
    """Resolves the references of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._definitions: dict[str, Schema] = schema.get("$defs", {})

    def resolve(self, schema: Schema) -> Schema:
        """Follow `$ref`; what stands next to it (text, default) wins over the target's."""
        if "$ref" in schema:
            target = self._definitions[schema["$ref"].rpartition("/")[2]]
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return self.resolve({**target, **beside})
        if "anyOf" in schema:
            options = [option for option in schema["anyOf"] if option.get("type") != "null"]
            if len(options) == 1:
                beside = {key: value for key, value in schema.items() if key != "anyOf"}
                return self.resolve({**options[0], **beside})
        return schema


def _sections(
    schema: Schema, definitions: _Definitions, path: str, shows: Callable[[str], bool]
) -> Iterator[str]:
    """Yield the table of a mapping's keys that are shown, then the sections of mappings in it."""
    properties = {
        f"{path}.{key}" if path else key: value
        for key, value in _properties(schema, definitions).items()
    }
    rows = [
        f"| `{key}` | {_takes(value, definitions)} | {_default(key, value, schema, definitions)} "
        f"| {_cell(value)} |"
        for inner, value in properties.items()
        if shows(inner) and (key := inner.rpartition(".")[2])
    ]
    if rows:
        yield from ["| key | takes | default | meaning |", "|---|---|---|---|", *rows, ""]
    for inner, value in properties.items():
        items = definitions.resolve(value["items"]) if "items" in value else value
        inner_mapping, kinds = _mapping(items, definitions), _kinds(items, definitions)
        below = list(_sections(inner_mapping, definitions, inner, shows)) if inner_mapping else []
        if kinds and shows(inner):
            below += _kind_table(items, definitions)
        if below:
            about = [_sentence(value), ""] if shows(inner) else []
            yield from [f"{_heading(inner)} `{inner}`", "", *about, *below]


def _kind_table(schema: Schema, definitions: _Definitions) -> Iterator[str]:
    kinds = _kinds(schema, definitions)
    tags = " or ".join(dict.fromkeys(str(_tag(option)) for option in kinds.values()))
    yield from [f"| {tags} | meaning | parameters |", "|---|---|---|"]
    for kind, option in kinds.items():
        parameters = [
            f"`{key}` ({_takes(value, definitions)}; {_default(key, value, option, definitions)}): "
            f"{_cell(value)}"
            for key, value in _properties(option, definitions).items()
            if key != _tag(option)
        ]
        yield f"| `{kind}` | {_cell(option)} | {'<br>'.join(parameters)} |"
    yield ""


def _properties(schema: Schema, definitions: _Definitions) -> dict[str, Schema]:
    properties = schema.get("properties", {})
    return {key: definitions.resolve(value) for key, value in properties.items()}


def _mapping(schema: Schema, definitions: _Definitions) -> Schema | None:
    """Return the mapping with fixed keys that a key takes, alone or next to something else."""
    options = [schema, *_options(schema, definitions)]
    return next((it for it in options if it.get("properties") and not _tag(it)), None)


def _options(schema: Schema, definitions: _Definitions) -> Iterator[Schema]:
    """Yield what a key takes one of, choices among choices included; itself, if it is none."""
    options = schema.get("oneOf", []) + schema.get("anyOf", [])
    for option in options:
        yield from _options(definitions.resolve(option), definitions)
    if not options:
        yield schema


def _default(key: str, value: Schema, parent: Schema, definitions: _Definitions) -> str:
    if key in parent.get("required", []):
        return "required"
    if _mapping(value, definitions):
        return "below"
    return _code(value.get("default"))


def _kinds(schema: Schema, definitions: _Definitions) -> dict[str, Schema]:
    """Return the options of a choice by their tag's value; nothing when it is no such choice.

    The tag is the key that only takes one value: `kind` as a rule.
    """
    if _tag(schema):
        return {}
    options = _options(schema, definitions)
    return {it["properties"][tag]["const"]: it for it in options if (tag := _tag(it))}


def _tag(option: Schema) -> str | None:
    properties = option.get("properties", {})
    return next((key for key, value in properties.items() if "const" in value), None)


def _takes(schema: Schema, definitions: _Definitions) -> str:
    """Return what a key accepts, in a few words."""
    if names := _names(schema, definitions):
        return "one of " + " ".join(f"`{name}`" for name in names)
    if (
        _tag(schema)
        or schema.get("properties")
        or ("oneOf" in schema and _kinds(schema, definitions))
    ):
        return "mapping"
    if options := schema.get("oneOf") or schema.get("anyOf"):
        words = [_takes(definitions.resolve(option), definitions) for option in options]
        return " or ".join(dict.fromkeys(words))
    kind = schema.get("type", "anything")
    types = [kind] if isinstance(kind, str) else [name for name in kind if name != "null"]
    plain = {"string": "text", "array": "list", "object": "mapping", "boolean": "true or false"}
    return " or ".join(plain.get(name, name) for name in types) + _range(schema)


def _names(schema: Schema, definitions: _Definitions) -> list[Any]:
    """Return the names that a key takes when it takes nothing but names, bare or as `kind`."""
    names: list[Any] = []
    for option in _options(schema, definitions):
        if "const" in option:
            names.append(option["const"])
        elif "enum" in option:
            names += option["enum"]
        elif _tag(option) == "kind" and option is not schema:
            names.append(option["properties"]["kind"]["const"])
        elif option.get("type") != "string" or not _kinds(schema, definitions):
            # Text next to kinds is the name of one.
            return []
    return list(dict.fromkeys(names))


def _range(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low == 0 and high is None:
        # Every unsigned integer has this bound.
        return ""
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    bounds = [
        f"≥ {low}" if low is not None else "",
        f"> {above}" if above is not None else "",
        f"≤ {high}" if high is not None else "",
        f"< {below}" if below is not None else "",
    ]
    text = " and ".join(bound for bound in bounds if bound)
    return f" {text}" if text else ""


def _heading(path: str) -> str:
    return "##" + "#" * path.count(".")


def _code(value: object) -> str:
    return "none" if value is None else f"`{json.dumps(value)}`"


def _sentence(schema: Schema) -> str:
    return str(schema.get("description", "")).strip()


def _cell(schema: Schema) -> str:
    """Return the description as one table cell."""
    return " ".join(_sentence(schema).split()).replace("|", "\\|")


EVERY_COMMAND = """## Every command

Results go to standard output, notes and errors to standard error. Exit codes: 0 done; 1 a check
failed; 2 refused, nothing was run; 3 the target or a file failed; 4 the sample of drives is too
small to show anything; 130 interrupted.

With `--json` standard output is one object with `schema`: that of the document, such as
`opennandlab.result/1`, or of what the command prints, such as `opennandlab.cli.theory.waf/1`. An
error is `{"schema": "opennandlab.error/1", "error": {"exit_code": 2, "message": "..."}}`, with
`path` in `error` if a key is known, and the message on standard error as well. A document of a run
that was interrupted may have `error` next to its keys.

Tables are as wide as the terminal, or as `COLUMNS` without one; `NO_COLOR` removes the colours."""


def cli_page() -> str:
    """Return the reference page of the command line, from the commands themselves."""
    import typer

    from opennandlab.cli import app

    command: Any = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        NOTICE,
        "",
        str(command.help or "").strip(),
        "",
        EVERY_COMMAND,
        "",
    ]
    rows = [_parameter_row(parameter) for parameter in command.params if not _is_hidden(parameter)]
    lines += ["| option before the command | default | meaning |", "|---|---|---|", *rows, ""]
    for name, verb in _commands(command, ""):
        lines += [f"## `opennandlab {name}`", "", _plain(verb.help), ""]
        if verb.epilog:
            lines += [f"    {verb.epilog.removeprefix('Example: ')}", ""]
        rows = [_parameter_row(parameter) for parameter in verb.params if not _is_hidden(parameter)]
        if rows:
            lines += ["| argument or option | default | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


# Commands and parameters are click's, by way of typer; `Any` because click may be vendored there.
def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    for name, command in group.commands.items():
        if command.hidden:
            continue
        full = f"{path} {name}".strip()
        if hasattr(command, "commands"):
            yield from _commands(command, full)
        else:
            yield full, command


def _is_hidden(parameter: Any) -> bool:  # noqa: ANN401
    return bool(getattr(parameter, "hidden", False))


def _parameter_row(parameter: Any) -> str:  # noqa: ANN401
    default = parameter.default
    choices = [str(choice.value) for choice in type(default)] if isinstance(default, Enum) else []
    takes = parameter.metavar or "|".join(choices)
    if parameter.param_type_name == "option":
        names = parameter.opts + parameter.secondary_opts
        if takes:
            names[0] += f" {takes}"
    else:
        names = [takes or parameter.name.upper()]
    shown = " ".join(f"`{name}`" for name in names).replace("|", "\\|")
    if parameter.required:
        value = "required"
    elif default is None or callable(default) or default in ([], ()) or default is False:
        value = ""
    else:
        value = f"`{default.value if isinstance(default, Enum) else default}`"
    return f"| {shown} | {value} | {_cell({'description': getattr(parameter, 'help', '') or ''})} |"


def _plain(text: str | None) -> str:
    """Return help text as Markdown: paragraphs kept, click's marks dropped."""
    return (text or "").replace("\b\n", "").strip()


def _everyday() -> frozenset[str]:
    """Return the paths of the device keys that a preset or an example sets."""
    from opennandlab.base.files import read_yaml

    found = set()
    for folder in (ROOT / "python/opennandlab/presets", ROOT / "examples"):
        for file in folder.glob("*.yaml"):
            found |= set(_paths(read_yaml(file)))
    return frozenset(found)


def _paths(document: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in document.items():
        yield (inner := f"{path}.{key}" if path else key)
        if isinstance(value, dict):
            yield from _paths(value, inner)


def outputs() -> dict[str, str]:
    """Return every generated file: path below the root to its text."""
    from opennandlab.documents.schema import FAMILIES, schemas

    files = {"docs/reference/cli.md": cli_page()} | notebooks.outputs()
    for kind, schema in schemas().items():
        page = (
            document_page(schema(), NOTICE)
            if kind in FAMILIES
            else schema_page(
                schema(),
                f"{kind.capitalize()} keys",
                _everyday() if kind == "device" else frozenset(),
            )
        )
        files[f"docs/reference/{kind}.md"] = page
    return files


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` name those that differ; return the exit status."""
    if arguments not in ([], ["--check"]):
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    stale = []
    for name, text in sorted(outputs().items()):
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    verb = "stale, run `make generate`" if arguments else "written"
    for name in stale:
        print(f"{name}: {verb}")
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
