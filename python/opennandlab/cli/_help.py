r"""How `--help` looks: commands in groups, examples to copy, and suggestions after a typo.

```text
Run a simulated drive:          a section for each group
  benchmark  Run one workload   whole sentences, wrapped
Example:
  opennandlab theory waf \     lines that a shell takes as they are
      -c tlc_standard
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opennandlab.cli._streams import written

# A name is suggested for a typo in its own group, and for one that was looked for elsewhere.
NEAR, NEAR_ELSEWHERE = 0.65, 0.8
# Summaries are sentences; none is cut.
WHOLE = 1000

# A word of a command line, an option with its value.
_WORD = r"""'[^']*'|"[^"]*"|[^-\s]\S*"""
PART = re.compile(rf"-\S+(?: (?:{_WORD}))?|{_WORD}|\S+")


def designed(command: Any) -> Any:  # noqa: ANN401 (click's command, of any package)
    """Give a command this help, and return it."""

    def format_epilog(context: object, formatter: Any) -> None:  # noqa: ANN401
        del context
        write_examples(formatter, "Example", [(command.epilog or "").removeprefix("Example: ")])

    def format_commands(context: object, formatter: Any) -> None:  # noqa: ANN401
        del context
        write_commands(formatter, _panels(command))

    get_help = command.get_help
    command.get_help = lambda context: written(get_help(context))
    command.format_epilog = format_epilog
    if hasattr(command, "commands"):
        command.suggest_commands = False
        command.format_commands = format_commands
    return command


def _panels(group: Any) -> dict[str, list[tuple[str, str]]]:  # noqa: ANN401
    """Return the commands of a group with their summaries, by panel."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, command in group.commands.items():
        if not command.hidden:
            panel = getattr(command, "rich_help_panel", None)
            title = panel if isinstance(panel, str) else "Commands"
            found.setdefault(title, []).append((name, command.get_short_help_str(WHOLE)))
    return found


def write_commands(
    formatter: Any,  # noqa: ANN401 (click's)
    panels: Mapping[str, Sequence[tuple[str, str]]],
) -> None:
    """Write sections of commands, with one column of names for all."""
    longest = max(len(name) for rows in panels.values() for name, _ in rows)
    for title, rows in panels.items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(longest), summary) for name, summary in rows])


def write_examples(formatter: Any, title: str, commands: Sequence[str]) -> None:  # noqa: ANN401
    """Write commands as a shell takes them: long ones continue on the next line."""
    if not any(commands):
        return
    with formatter.section(title):
        for command in commands:
            indent = " " * formatter.current_indent
            lines = continued(command, formatter.width - formatter.current_indent)
            formatter.write("".join(f"{indent}{line}\n" for line in lines))


def continued(command: str, width: int) -> list[str]:
    r"""Return a command line in lines of a shell, broken before options where it can be.

    >>> print("\n".join(continued("pts iops --target sim:tlc_standard --profile E", 40)))
    pts iops --target sim:tlc_standard \
        --profile E
    """
    lines: list[str] = []
    for part in PART.findall(command):
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}" if lines else part)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def near_options(option: str, known: Sequence[str]) -> list[str]:
    """Return the options that were probably meant; dashes count for nothing.

    >>> near_options("--sede", ["--seed", "--set"]), near_options("--dry-run", ["--runs"])
    (['--seed'], [])
    """
    from difflib import get_close_matches

    names = {name.lstrip("-"): name for name in known}
    return [names[one] for one in get_close_matches(option.lstrip("-"), names, cutoff=NEAR)]


def meant(context: Any, word: str) -> str:  # noqa: ANN401
    """Return the likely name for an unknown command, for the end of a sentence; or nothing.

    Args:
        context: That of its group.
        word: The command.
    """
    from difflib import get_close_matches

    root = context.find_root()
    places: dict[str, list[str]] = {}
    for path, name in _paths(root.command):
        places.setdefault(name, []).append(path)
    inside = [name for name, one in context.command.commands.items() if not one.hidden]
    own = " ".join(context.command_path.split()[1:])
    if word in places:
        found = places[word]
    elif near := get_close_matches(word, inside, n=1, cutoff=NEAR):
        found = [f"{own} {near[0]}".strip()]
    elif far := get_close_matches(word, list(places), n=1, cutoff=NEAR_ELSEWHERE):
        found = places[far[0]]
    else:
        return ""
    return f"; did you mean {' or '.join(f'`{path}`' for path in found)}?"


def _paths(group: Any, before: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the path of every command below a group, and its name."""
    for name, command in group.commands.items():
        path = f"{before} {name}".strip()
        if not command.hidden:
            yield path, name
        if hasattr(command, "commands"):
            yield from _paths(command, path)
