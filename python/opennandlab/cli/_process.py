"""The process around a command: its signals, its streams, and one exit code for each outcome.

```text
Ctrl-C, SIGTERM ──► KeyboardInterrupt ──► finished work is kept, exit 130
a reader of stdout that left, a full disk ──► exit 3
invalid options ──► a sentence, exit 2
```
A stderr that the shell closed is replaced before any file is opened: otherwise the first file of
the run would get its number, and all messages would go into that file.
"""

import contextlib
import errno
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer

from opennandlab.base.errors import legible
from opennandlab.cli import _ending
from opennandlab.cli import _pipes as pipes
from opennandlab.cli import _streams as streams
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._help import designed, meant, near_options

STOPPING = (signal.SIGINT, signal.SIGTERM)
# The exception of the parser of the command line, of click or of the copy that typer has.
ClickError: type[Exception] = typer.BadParameter.__mro__[2]
# Its message for an invalid value; strings are quoted.
BAD_VALUE = re.compile(
    r"(?P<quote>['\"]?)(?P<value>.*)(?P=quote) is not"
    r" (?:in the range .*|a valid (?:int|float).*|one of (?P<choices>.*))\.",
    re.DOTALL,
)
# Its message for a command that is not known.
NO_COMMAND = re.compile(r"No such command '(?P<name>.*)'(?=\.?$)", re.DOTALL)
# Options that a verb does not have -> how to get their effect.
ELSEWHERE = {
    ("sweep", "--csv"): "`runs table --csv FILE` writes the points of the store",
    ("sweep", "--output"): "`runs table --csv FILE` and `runs export` write what the store keeps",
    ("replay", "--trace"): "the trace is given without one: `replay FILE --config DEVICE`",
    ("from", "-d"): "options of FEMU are read from a file: put the line into one and name it",
}
# Options of the program, which stand before the command -> how.
BEFORE = {"--log": "--log FILE", "--log-format": "--log-format json", "--verbose": "-v", "-v": "-v"}
# Options that may have no value -> the value they take then.
ALONE = {"--band": "all"}
# Options NAME=VALUE that may be repeated; for each name the last value counts.
NAMED = {"--set", "--until", "--case", "--trace", "--size"}


def prepare() -> None:
    """Set up signals and streams as the verbs expect them."""
    # A shell starts background jobs with SIGINT ignored; a long run must be stoppable there too.
    # A scheduler, a service manager and `timeout` send SIGTERM: it means the same.
    for number in STOPPING:
        signal.signal(number, _ending.on_signal)
    warnings.showwarning = _telling(warnings.showwarning)
    if sys.stderr is None:
        sys.stderr = _nowhere(2)
    for stream in (sys.stdout, sys.stderr):
        # Characters that the encoding of the terminal lacks raise no error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=streams.LEGIBLE)


def _telling(show: Callable[..., None]) -> Callable[..., None]:
    """Return what shows a warning: one of ours in a line, another as before."""

    def shown(message: Warning | str, category: type[Warning], *where: Any) -> None:  # noqa: ANN401
        if getattr(category, "is_told", False):
            terminal.note(f"warning: {message}", style="yellow")
        else:
            show(message, category, *where)

    return shown


def _nowhere(number: int) -> io.TextIOWrapper:
    """Return a stream into the null device, with the number of a closed stream."""
    handle = os.open(os.devnull, os.O_WRONLY)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)
    return open(number, "w", encoding="utf-8", errors="replace", closefd=False)


def run(app: Callable[..., Any], arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    Raises:
        SystemExit: if a verb ended with it.
    """
    given = [*_complete(sys.argv[1:] if arguments is None else arguments)]
    try:
        with pipes.stored(given):
            code = app(given, prog_name="opennandlab", standalone_mode=False)
    except KeyboardInterrupt:  # before a verb began to listen
        return terminal.INTERRUPTED
    except ClickError as error:
        if (renamed := _with_new_option(error, given)) is not None:
            return run(app, renamed)
        return _refuse(error, as_json="--json" in given)
    return code if isinstance(code, int) else terminal.DONE


def _with_new_option(error: Any, given: Sequence[str]) -> list[str] | None:  # noqa: ANN401
    """Return a command line with the new name of an old option; None if it has none."""
    context, option = getattr(error, "ctx", None), getattr(error, "option_name", "")
    if context is None or not option:
        return None
    from opennandlab.base.deprecated import current

    verb = " ".join(context.command_path.split()[1:])
    old = f"{verb} {option}"
    if (new := current("option", old)) == old:
        return None
    name = new.rpartition(" ")[2]
    return [
        name + word.removeprefix(option) if word.partition("=")[0] == option else word
        for word in given
    ]


def _complete(given: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line, with the usual value of options that stand alone."""
    for word, after in zip(given, [*given[1:], "-"], strict=False):
        yield word
        if word in ALONE and after.startswith("-"):
            yield ALONE[word]


def _refuse(error: Any, *, as_json: bool) -> int:  # noqa: ANN401 (of whichever package)
    """Print why the command line is invalid, and the usage; return the exit code."""
    context = getattr(error, "ctx", None)
    text = invalid_value(error) or error.format_message()
    verb, option = getattr(context, "info_name", ""), getattr(error, "option_name", "")
    if (verb, option) in ELSEWHERE:
        text = f"no such option: {option}; {ELSEWHERE[verb, option]}"
    elif option in BEFORE and context is not None and context.parent is not None:
        text = f"no such option here: {option}; it stands before the command: "
        path = " ".join(context.command_path.split()[1:])
        text += f"`opennandlab {BEFORE[option]} {path} …`"
    elif possible := getattr(error, "possibilities", None):
        near = " or ".join(f"`{one}`" for one in near_options(option, possible))
        text = f"no such option: {option}" + (f"; did you mean {near}?" if near else "")
    if unknown := NO_COMMAND.search(text):
        text = f"{unknown[0]}{meant(context, unknown['name'])}"
    if not text or type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # the help, for a group without a verb
        return terminal.REFUSED
    # The message quotes the command line, which may contain escape sequences.
    text = "".join(mark if mark.isprintable() or mark == "\n" else "?" for mark in text)
    terminal.note(f"error: {text[:1].lower()}{text[1:]}", style="bold red")
    if context is not None:
        terminal.note(f"usage: {' '.join(context.get_usage().split()[1:])}; --help shows more")
    if as_json:
        terminal.emit_json({"error": {"exit_code": terminal.REFUSED, "message": text}})
    return terminal.REFUSED


def checking(command: Any) -> Any:  # noqa: ANN401 (click's command, of any package)
    """Give a command, or those of a group, its help, and let it refuse empty paths and repeats.

    An empty path would be the current folder; of a repeated option only the last value counts.
    """
    for inner in getattr(command, "commands", {}).values():
        checking(inner)
    designed(command)
    make = command.make_parser
    command.make_parser = lambda context: warning_of_repeats(make(context), context)
    for parameter in command.params:
        if _takes_path(parameter):
            # The same method in click and in the copy that newer versions of typer carry.
            parameter.process_value = _refusing_empty(parameter, parameter.process_value)
    return command


def _takes_path(parameter: Any) -> bool:  # noqa: ANN401
    return getattr(parameter.type, "name", "") in {"path", "file", "directory"}


Process = Callable[[Any, Any], Any]


def _refusing_empty(parameter: Any, process: Process) -> Process:  # noqa: ANN401
    def checked(context: Any, value: Any) -> Any:  # noqa: ANN401
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            message = "an empty name; accepted: the path of a file or directory"
            raise typer.BadParameter(message, ctx=context, param=parameter)
        return process(context, value)

    return checked


def warning_of_repeats(parser: Any, context: Any) -> Any:  # noqa: ANN401 (of whichever package)
    """Let a parser warn of the values that a repeated option ignores."""
    given: dict[str, list[str]] = {}
    # click and the copy in typer both have these names, and no public ones.
    for option in {*parser._long_opt.values(), *parser._short_opt.values()}:  # noqa: SLF001
        option.process = _noting(option, option.process, given)
    parse = parser.parse_args

    def parsed(args: list[str]) -> Any:  # noqa: ANN401
        found = parse(args)
        for name, values in given.items():
            dropped = [value for value in dict.fromkeys(values) if value != values[-1]]
            if dropped and not context.resilient_parsing and not found[0].get("quiet"):
                terminal.note(
                    f"warning: {name} is given {len(values)} times: {legible(values[-1])} is used, "
                    f"{legible(', '.join(dropped))} ignored",
                    style="yellow",
                )
        return found

    parser.parse_args = parsed
    return parser


def _noting(option: Any, process: Process, given: dict[str, list[str]]) -> Process:  # noqa: ANN401
    def noting(value: Any, state: Any) -> Any:  # noqa: ANN401
        name = max(option.obj.opts, key=len)
        if option.action == "append" and name in NAMED:
            key, _, text = str(value).partition("=")
            given.setdefault(f"{name} {key.strip()}", []).append(f"`{text}`")
        elif option.action == "store":
            given.setdefault(name, []).append(f"`{value}`")
        elif option.action == "store_const":
            written = option._long_opts or option._short_opts  # noqa: SLF001
            given.setdefault(name, []).append(f"`{written[0]}`")
        return process(value, state)

    return noting


def invalid_value(error: Any) -> str:  # noqa: ANN401 (of whichever package)
    """Return the message for an invalid value of an option; empty for other errors."""
    option = getattr(error, "param", None)
    found = BAD_VALUE.fullmatch(str(getattr(error, "message", "")))
    if option is None or found is None:
        return ""
    accepted = found["choices"]
    if accepted is None:
        kind = "a whole number" if option.type.name.startswith("int") else "a number"
        bounds = [("from", getattr(option.type, "min", None)),
                  ("to", getattr(option.type, "max", None))]  # fmt: skip
        accepted = " ".join([kind, *(f"{word} {at}" for word, at in bounds if at is not None)])
    name = "/".join(getattr(option, "opts", ())) or option.name
    return f"invalid value for '{name}': `{found['value']}` is not valid; accepted: {accepted}"


@contextlib.contextmanager
def broken_output() -> Iterator[None]:
    """End with a sentence if stdout cannot be written, and silently if its reader left."""
    if sys.stdout is None:
        _complain("stdout is closed")
        raise SystemExit(terminal.BROKEN)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        # Libraries end the program themselves when the reader has left, as if something had failed.
        if isinstance(end.__context__, BrokenPipeError):
            _mute()
            raise SystemExit(terminal.BROKEN) from None
        raise
    except OSError as error:
        if error.filename is not None:  # it concerns a file, not stdout
            raise
        _mute()
        if not isinstance(error, BrokenPipeError):
            _complain(error.strerror or str(error))
        raise SystemExit(terminal.BROKEN) from None
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            # The interpreter would end with 120.
            _mute(2)


def _mute(number: int = 1) -> None:
    """Discard buffered output: it would fail again while the interpreter ends."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _complain(reason: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"error: cannot write output: {reason}\n")


def check_folder() -> None:
    """Refuse to work in a folder that was removed, in which every relative path would fail.

    Raises:
        SystemExit: with 2.
    """
    try:
        os.getcwd()  # noqa: PTH109 (asked for its error alone)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        terminal.note("error: the working directory was removed; change to another")
        raise SystemExit(terminal.REFUSED) from None
