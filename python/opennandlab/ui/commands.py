"""What a screen shows, as the command line and Python say it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from opennandlab.core.run import SEED
from opennandlab.store.conditions import value_of
from opennandlab.studies.sweeps.verbs import VERBS

PLOT_FILE = "plot.svg"


def line(*words: str) -> str:
    """Return a command as it is typed in a shell.

    >>> line("runs", "list", "--where", "waf>2")
    "opennandlab runs list --where 'waf>2'"
    """
    return shlex.join(["opennandlab", *words])


def plot_line(store: Path, where: Sequence[str], asked: Mapping[str, str], title: str = "") -> str:
    """Return the command that draws the same figure."""
    conditions = [word for text in where for word in ("--where", text)]
    parts = [word for name, value in asked.items() for word in (f"--{name}", value)]
    named = ["--title", title] if title else []
    return line("runs", "plot", PLOT_FILE, "--store", str(store), *conditions, *parts, *named)


def plot_python(
    store: Path, where: Sequence[str], asked: Mapping[str, str], title: str = ""
) -> str:
    """Return the Python that draws the same figure, and has its numbers as a data frame."""
    given = [f"x={asked['x']!r}", f"y={asked['y']!r}"]
    given += [f"{name}={asked[name]!r}" for name in ("lines", "facets") if name in asked]
    by = [asked[name] for name in ("facets", "lines", "x") if name in asked]
    named = f", title={title!r}" if title else ""
    return f"""\
import opennandlab as onl
from opennandlab.studies.sweeps.drawing import draw

where = {list(where)!r}
with onl.open_store({str(store)!r}) as store:
    draw(store, {PLOT_FILE!r}, where=where, {", ".join(given)}{named})
    means = store.means([{asked["y"]!r}], {by!r}, where=where).rows()
print(means.frame())
"""


def run_lines(store: Path, key: str, *, can_verify: bool, can_rerun: bool) -> list[tuple[str, str]]:
    """Return commands for a point: what each does, and the command."""
    short, place = key[:12], str(store)
    found = [("save its document", line("runs", "show", short, "--store", place,
                                        "--output", f"{short}.json"))]  # fmt: skip
    if can_verify:
        found.append(("check the saved document byte by byte", line("verify", f"{short}.json")))
    if can_rerun:
        found.append(("run it again and compare", line("runs", "rerun", short, "--store", place)))
    return found


def sweep_line(store: Path, definition: Mapping[str, object]) -> str | None:
    """Return the command of a sweep; None for one that a command cannot say."""
    grid, changes = definition.get("grid") or {}, definition.get("set") or {}
    own = {key: definition.get(key) for key in ("device", "workload", "trace")}
    is_plain = all(value is None or isinstance(value, str) for value in own.values())
    if not (isinstance(grid, Mapping) and isinstance(changes, Mapping) and is_plain):
        return None
    verb = definition.get("run", "benchmark")
    # Whatever else stands there, it would be an option of the command.
    if definition.get("points") or not isinstance(verb, str) or verb not in VERBS:
        return None
    others = {
        key: value for key, value in definition.items()
        if key not in {"name", "run", "set", "grid", "points", "seeds", "seed", "plot", *own}
    }  # fmt: skip
    words = ["sweep", verb, "--store", str(store)]
    words += ["--name", str(definition.get("name", "sweep"))]
    for option, key in (("--config", "device"), ("--workload", "workload"), ("--trace", "trace")):
        words += [option, str(own[key])] if own[key] is not None else []
    for key, value in {**others, **changes}.items():
        words += ["--set", f"{key}={_yaml(value)}"]
    for key, values in grid.items():
        listed = values if isinstance(values, list) else [values]
        words += ["--vary", f"{key}={','.join(map(_yaml, listed))}"]
    return line(*words, *_seeds(definition.get("seeds")))


def _seeds(seeds: object) -> list[str]:
    """Return the options of how many seeds there are; none for the usual ones."""
    if not isinstance(seeds, Mapping):
        return []
    words = ["--seeds", str(seeds["count"])] if seeds.get("count") not in (None, 1) else []
    if seeds.get("first") not in (None, SEED):
        words += ["--seed", str(seeds["first"])]
    until = seeds.get("until")
    for name, share in until.items() if isinstance(until, Mapping) else ():
        words += ["--until", f"{name}={share}"]
    return words


def _yaml(value: object) -> str:
    """Return a value as YAML in one line, which JSON is; a plain word needs no quotes."""
    if isinstance(value, str) and value.isidentifier() and value_of(value) == value:
        return value
    return json.dumps(value)
