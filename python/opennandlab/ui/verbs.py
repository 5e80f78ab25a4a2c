"""The verbs of sweeps that the form New run can start, and their own settings as fields.

```text
benchmark                 device, workload
app, pts.*, reliability.* device, and settings under `app.`, `pts.`, `life.`
ecc.curve, theory.*       parameters alone
```
Fields are made from the declarations of each verb: classes of settings, signatures, tables of
options. The texts of fields are those of `Args:` in their docstrings, said once.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields

from opennandlab.app.suites import SUITES
from opennandlab.ecc.codes import Decoder
from opennandlab.pts.bench.plan import Option, Settings
from opennandlab.studies.sweeps.verb import Verb
from opennandlab.studies.sweeps.verbs import VERBS
from opennandlab.studies.sweeps.verbs.application import Application, AppSettings
from opennandlab.studies.sweeps.verbs.benchmark import Benchmark, OnDrive
from opennandlab.studies.sweeps.verbs.ecc_curve import EFFORT, EccCurve
from opennandlab.studies.sweeps.verbs.formulas import Formula
from opennandlab.studies.sweeps.verbs.life import Life
from opennandlab.studies.sweeps.verbs.standard_test import StandardTest
from opennandlab.ui.forms import Choice, Field, typed

# The verb of a new form, and the only one with a workload.
BENCHMARK = Benchmark.name
# `replay` reads a file of the user's; `pts.cells` takes a list and `chain` stages, which have no
# field.
NOT_OFFERED = ("replay", "pts.cells", "chain")
OFFERED: dict[str, Verb] = {name: verb for name, verb in VERBS.items() if name not in NOT_OFFERED}
ARGUMENT = re.compile(r"^(\w+): (.*)$")
# Codes and channels that name no file, though some have a colon.
CODES_WITHOUT_FILE = re.compile(r"bch:[\w=,]+|sensing:\d+|[\w-]+")


def has_device(verb: Verb) -> bool:
    """Return whether a verb runs on a device."""
    return isinstance(verb, OnDrive)


def own_fields(verb: Verb) -> tuple[Field, ...]:
    """Return the fields of a verb, without those of its device and workload.

    Raises:
        TypeError: for a verb whose settings this module does not know.
    """
    return tuple(_own_fields(verb))


def _own_fields(verb: Verb) -> Iterator[Field]:
    if isinstance(verb, StandardTest):
        yield from _of_class("pts", Settings, aside=("seed", "options"))
        yield from map(_of_option, verb.test.options)
    elif isinstance(verb, Application):
        yield from _of_class("app", AppSettings, choices={"suite": SUITES})
    elif isinstance(verb, Life):
        about = _arguments(inspect.getdoc(type(verb).test) or "")
        for name, value in verb.usual.items():
            yield _plain(f"life.{name}", value, about.get(name, ""))
    elif isinstance(verb, EccCurve):
        usual = {"code": "", "x": "", "channel": "bsc"} | EFFORT
        yield from (_plain(name, value, verb.keys[name]) for name, value in usual.items())
        yield from _of_class("decoder", Decoder)
    elif isinstance(verb, Formula):
        yield from (_plain(name, value, "") for name, value in verb.usual.items())
    elif not isinstance(verb, Benchmark):
        raise TypeError(f"no fields are known for `{verb.name}`")


def _of_option(option: Option) -> Field:
    """Return the field of an option of a standard test."""
    choices = tuple(Choice(one, "") for one in option.choices)
    kind = "choice" if choices else "text" if isinstance(option.default, str) else "number"
    about = option.help + (f" {option.accepted}." if option.accepted else "")
    return Field(
        f"pts.options.{option.key}", kind, typed(option.default), "the test", about=about,
        choices=choices,
    )  # fmt: skip


def _plain(path: str, usual: object, about: str) -> Field:
    """Return a field without choices; its kind is that of its default."""
    kind = "text"
    if isinstance(usual, bool):
        kind = "flag"
    elif isinstance(usual, int | float):
        kind = "number"
    return Field(path, kind, typed(usual), about=about.replace("`", ""))


def _of_class(
    head: str,
    declared: type,
    aside: tuple[str, ...] = (),
    choices: Mapping[str, typing.Iterable[str]] | None = None,
) -> Iterator[Field]:
    """Yield a field for each field of a class of settings.

    Args:
        head: First part of the paths.
        declared: The class, whose docstring has the texts.
        aside: Fields that are left out.
        choices: Words of a field, if its type does not list them.
    """
    about = _arguments(inspect.getdoc(declared) or "")
    hints = typing.get_type_hints(declared)
    for one in fields(declared):
        if one.name in aside:
            continue
        usual = None if one.default is MISSING else one.default
        words = (choices or {}).get(one.name) or _words(hints[one.name])
        found = _plain(f"{head}.{one.name}", usual, about.get(one.name, ""))
        offered = tuple(Choice(word, "") for word in words)
        yield Field(
            found.path, "choice" if offered else found.kind, found.usual, about=found.about,
            choices=offered,
        )  # fmt: skip


def _words(hint: object) -> list[str]:
    """Return the texts that a `Literal` type lists; empty for other types."""
    if typing.get_origin(hint) is typing.Literal:
        return [str(one) for one in typing.get_args(hint)]
    found = [_words(one) for one in typing.get_args(hint) if one is not type(None)]
    return found[0] if len(found) == 1 else []


def _arguments(text: str) -> dict[str, str]:
    r"""Return the text of each argument in a docstring.

    >>> _arguments("Do it.\n\nArgs:\n    a: The first,\n        or not.\n    b: The other.\n")
    {'a': 'The first, or not.', 'b': 'The other.'}
    """
    found: dict[str, str] = {}
    _, _, rest = text.partition("Args:\n")
    name = ""
    for line in rest.splitlines():
        if not line.startswith("    "):
            break
        begins = ARGUMENT.match(line[4:])
        if begins and not line.startswith("     "):
            name, found[name] = begins.group(1), begins.group(2)
        elif name:
            found[name] += " " + line.strip()
    return found
