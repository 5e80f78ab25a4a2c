"""What a person would add to a refusal of the core: a near spelling, a unit, plain words.

The core says which key it refuses and what it accepts, in the words of its parser. These functions
say it in those of a device file, and look for the mistake that was probably made. No key is
declared here.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

from opennandlab.base.accepted import accepted
from opennandlab.base.errors import ConfigError
from opennandlab.base.schema import Kind, schema

# Suffix of a key -> what its number counts; used to explain text where a number belongs.
UNITS = {
    "_us": "microseconds",
    "_ns": "nanoseconds",
    "_ms": "milliseconds",
    "_s": "seconds",
    "_h": "hours",
    "_bytes": "bytes",
    "_pct": "percent, or a ratio, as the reference says",
    "_mt_s": "megatransfers per second",
}

# What the parser says -> what a person would say. The document is read as one line of JSON, so
# its place there tells nobody anything.
PLAIN = (
    (r" at line \d+ column \d+", ""),
    (r"\bexpected (?:u8|u16|u32|u64|usize)\b", "expected a whole number from 0"),
    (r"\bexpected (?:f32|f64)\b", "expected a number"),
    (r"\bexpected (?:struct|internally tagged enum) \w+", "expected a mapping of keys"),
    (r"\binvalid (type|value): string\b", r"invalid \1: text"),
    (r"\binvalid type: map\b", "invalid type: a mapping of keys"),
    (r"\binvalid type: sequence\b", "invalid type: a list"),
    (r"\bexpected a sequence\b", "expected a list"),
)

# A refusal that says neither what was met nor what is accepted.
BARE = re.compile(r"^expected value|expected variant identifier")


class hints:  # noqa: N801 (used as a verb: `with hints(document):`)
    """Context that adds what a person would add to the core's refusal."""

    def __init__(self, document: Mapping[str, Any], kind: Kind = "device") -> None:
        """Remember the document, to look up the refused value, and its kind."""
        self.document = document
        self.kind = kind

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        """Replace a `ConfigError` by one in plain words that also knows the remedy."""
        if isinstance(error, ConfigError):
            # The parser of the core speaks so where a value has another form than any it knows.
            if error.message in {"expected value", "invalid type"} or BARE.search(error.message):
                raise _unfit(self.document, error, self.kind) from None
            message = _hinted(plain(error.message), _hint(self.document, error))
            if message != error.message:
                raise ConfigError(error.path, message) from None


def _unfit(document: Mapping[str, Any], error: ConfigError, kind: Kind) -> ConfigError:
    """Return the error of a value whose form the core does not know: what it is, what is taken."""
    path: list[str] = []
    value: object = document
    last = error.path
    for part in error.path.split("."):
        name, bracket, _ = part.partition("[")
        if not isinstance(value, Mapping) or name not in value:
            break
        value, last = value[name], ".".join([*path, name])
        path.append(name)
        if bracket:
            break
    words = accepted(schema(kind), last)
    found = json.dumps(value, default=str) if not isinstance(value, Mapping) else "a mapping"
    message = f"`{found}` does not fit" + (f"; accepted: {words}" if words else "")
    return ConfigError(last, message)


def plain(message: str) -> str:
    """Say in the words of a device file what the core says in those of its parser.

    >>> plain('invalid type: string "x", expected u32 at line 1 column 25')
    'invalid type: text "x", expected a whole number from 0'
    """
    for pattern, words in PLAIN:
        message = re.sub(pattern, words, message)
    return message


def nearest(word: str, choices: list[str]) -> str | None:
    """Return the choice that was probably meant, or None.

    >>> nearest("tlc-standart", ["tlc_standard", "mlc_enterprise"])
    'tlc_standard'
    """
    folded = {choice.lower().replace("-", "_"): choice for choice in choices}
    close = difflib.get_close_matches(word.lower().replace("-", "_"), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def _hinted(message: str, hint: str | None) -> str:
    """Add a hint: a near spelling before the list of all spellings, which may be long.

    >>> _hinted("unknown field `nad`, expected one of `nand`, `ftl`", "did you mean `nand`?")
    'unknown field `nad`; did you mean `nand`? Expected one of `nand`, `ftl`'
    """
    if hint is None:
        return message
    head, expected, choices = message.partition(", expected one of ")
    if expected and hint.startswith("did you mean"):
        return f"{head}; {hint} Expected one of {choices}"
    return f"{message}; {hint}"


def _hint(document: Mapping[str, Any], error: ConfigError) -> str | None:
    unknown = re.search(r"unknown (?:field|variant) `([^`]*)`", error.message)
    if unknown and "did you mean" not in error.message:
        accepted = re.findall(r"`([^`]*)`", error.message[unknown.end() :])
        near = nearest(unknown.group(1), accepted)
        if near:
            return f"did you mean `{near}`?"
    value: Any = document
    for part in error.path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, str) and value[:1].isdigit() and "invalid type" in error.message:
        return _number_hint(error, value)
    return None


def _number_hint(error: ConfigError, value: str) -> str | None:
    """Return what to write for a number that was given as text, with its unit."""
    key = error.path.rpartition(".")[2]
    if key == "total":
        return f"write `{{bytes: {value}}}`; `drive_writes`, `ios` and `seconds` are others"
    if "expected a mapping" in error.message:
        return None
    if key == "over_provisioning_pct":
        return "write the ratio alone: 7 % is 0.07"
    for suffix, unit in UNITS.items():
        if key.endswith(suffix):
            return f"write the number alone: `{key}` is in {unit}"
    return f"`{key}` takes a number without unit"
