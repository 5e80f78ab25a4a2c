"""A verb takes one record: its options are the fields, each a row of type, help and default.

    class BenchmarkOptions(Measured):           its own options first, then those of the group
        workload: Annotated[str, flag("The workload of the host.", "-w", metavar="NAME|FILE")]

    @command(app, example="opennandlab benchmark -w W2")
    def benchmark(given: BenchmarkOptions) -> None: ...

The help, the shell's completion, the reference and the hostile tests follow from the record. A
group is a record that others inherit from, with the methods that make sense of its options.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, dataclass
from inspect import get_annotations
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer

Verb = TypeVar("Verb", bound=Callable[[Any], None])

# Fields of the options that all commands share: they come last in a help.
SHARED = ("as_json", "quiet")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was given on a command line.

    Args:
        context: Context of the command, for what stands on the line and what is a default.
    """

    context: typer.Context

    def refuse(self, names: Iterable[str], reason: str) -> None:
        """Refuse options that stand on the command line and have no effect on what was asked.

        Args:
            names: Fields of the record.
            reason: Why they have none, and what is accepted.

        Raises:
            ConfigError: for the first of them.
        """
        from opennandlab.base.errors import ConfigError

        for name in names:
            source = self.context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                option = next(one for one in self.context.command.params if one.name == name)
                raise ConfigError(max(option.opts, key=len), f"has no effect {reason}")


def flag(help: str, *names: str, **rest: Any) -> Any:  # noqa: A002, ANN401 (as typer has them)
    """Return an option; its long name is that of the field, unless another is given.

    Args:
        help: What `--help` says.
        names: `-x`, and a long name that differs from the field.
        rest: As of `typer.Option`.
    """
    if {"min", "max"} & rest.keys():
        rest.setdefault("callback", _number)
    return typer.Option(*names, help=help, **rest)


def _number(value: Any) -> Any:  # noqa: ANN401 (any number)
    """Refuse what passes every range, since no comparison with it holds."""
    if isinstance(value, float) and math.isnan(value):
        raise typer.BadParameter("`nan` is not valid; accepted: a number")
    return value


def argument(help: str, **rest: Any) -> Any:  # noqa: A002, ANN401 (as typer has them)
    """Return an argument.

    Args:
        help: What `--help` says.
        rest: As of `typer.Argument`.
    """
    return typer.Argument(help=help, **rest)


def command(app: typer.Typer, name: str | None = None, *, example: str) -> Callable[[Verb], Verb]:
    """Return a decorator that makes a function of one record a command.

    Args:
        app: Its group.
        name: Name of the command; None for that of the function.
        example: For the end of `--help`.
    """

    def add(verb: Verb) -> Verb:
        app.command(name, epilog=f"Example: {example}")(spread(verb))
        return verb

    return add


def spread(
    verb: Callable[[Any], None], more: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """Return a function with an argument for each option of a record, as typer reads it.

    Errors of the verb become a sentence and an exit code (`_terminal.guard`).

    Args:
        verb: Takes one record.
        more: Rows behind those of the record; their values are its field `more`, by name.

    Raises:
        TypeError: for a row without a help, and an option that is in two groups.
    """
    record: type[Options] = next(iter(get_type_hints(verb).values()))
    parameters = sorted([*_parameters(record), *more], key=lambda one: one.name in SHARED)

    def body(**values: Any) -> None:  # noqa: ANN401 (of options)
        from opennandlab.cli._terminal import guard

        if more:
            values["more"] = {one.name: values.pop(one.name) for one in more}
        given = record(**values)
        with guard(
            as_json=getattr(given, "as_json", False), allow_code=getattr(given, "allow_code", False)
        ):
            verb(given)

    body.__name__, body.__doc__ = verb.__name__, verb.__doc__
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {one.name: one.annotation for one in parameters}
    return body


def parameter(name: str, hint: Any, default: Any = MISSING) -> inspect.Parameter:  # noqa: ANN401
    """Return a row as typer reads it.

    Args:
        name: Name of the field.
        hint: Its type, with `flag` or `argument`.
        default: Its value; left out: the option is needed.

    Raises:
        TypeError: for a row without a help.
    """
    if not all(row.help for row in getattr(hint, "__metadata__", ())):
        raise TypeError(f"`{name}` has no help")
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=_named(name, hint),
    )


def _parameters(record: type[Options]) -> Iterator[inspect.Parameter]:
    """Yield the rows of a record: its own, then those of the groups it inherits from."""
    hints = get_type_hints(record, include_extras=True)
    for name in _names(record):
        if name == "context" or get_origin(hints[name]) is Annotated:
            yield parameter(name, hints[name], record.__dataclass_fields__[name].default)


def _names(record: type) -> dict[str, None]:
    own = dict.fromkeys(get_annotations(record))
    found = dict(own)
    for group in record.__bases__:
        names = _names(group)
        for name in names.keys() & found.keys() - own.keys() - {"context"}:
            raise TypeError(f"`{name}` is in two groups of {record.__name__}")
        found |= names
    return found


def _named(name: str, hint: Any) -> Any:  # noqa: ANN401 (any type)
    """Give an option without a long name that of its field."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, row = get_args(hint)
    if not isinstance(row, typer.models.OptionInfo):
        return hint
    # In an annotation typer takes the first name for the default, and mends that.
    names = [one for one in (row.default, *(row.param_decls or ())) if isinstance(one, str)]
    if any(one.startswith("--") for one in names):
        return hint
    row = copy(row)
    row.default, row.param_decls = "--" + name.replace("_", "-"), tuple(names)
    return Annotated[kind, row]
