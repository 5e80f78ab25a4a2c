"""XML of other simulators, read by the parser of the standard library with all that is risky off.

A document type, and with it every entity it declares, is refused at its first byte, so nothing is
expanded, fetched or repeated: this is what the package `defusedxml` does, by the same handlers. Of
the parser itself comes the line of each element, which the tree of the standard library lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from opennandlab.base.errors import ConfigError

BYTES_MAX = 16 << 20
# Elements of a file, and how deep they may be nested: the files that are known have 300 and 4.
ELEMENTS_MAX = 50_000
DEPTH_MAX = 16
TEXT_CHARS_MAX = 64 << 10


@dataclass
class Element:
    """An element: its name, text, line and inner elements."""

    name: str
    line: int
    text: str = ""
    inside: list[Element] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


def parse(raw: bytes, origin: str) -> Element:  # noqa: C901 (handlers share state)
    """Return the root of an XML text.

    Args:
        raw: The text, of at most `BYTES_MAX`.
        origin: What errors call it.

    Raises:
        ConfigError: with the line, for other texts, a document type, and too many elements.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top = Element("", 0)
    opened, count = [top], 0

    def refuse(message: str) -> None:
        raise ConfigError(".", f"{origin}:{parser.CurrentLineNumber}: {message}")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > ELEMENTS_MAX:
            refuse(f"more than {ELEMENTS_MAX} elements")
        if len(opened) > DEPTH_MAX:
            refuse(f"elements nested more than {DEPTH_MAX} deep")
        one = Element(name, parser.CurrentLineNumber, attributes=attributes)
        opened[-1].inside.append(one)
        opened.append(one)

    def end(_: str) -> None:
        one = opened.pop()
        if one.inside and one.text.strip():
            refuse(f"text between the elements of `{one.name}`; accepted: elements alone")

    def characters(data: str) -> None:
        one = opened[-1]
        if not (one.inside and data.isspace()):
            one.text += data
        if len(one.text) > TEXT_CHARS_MAX:
            refuse(f"a text of more than {TEXT_CHARS_MAX >> 10} KiB in `{one.name}`")

    def doctype(*_: object) -> int:
        refuse("a document type or an entity; accepted: XML without DTD and entities")
        return 0

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = doctype
    parser.ExternalEntityRefHandler = parser.UnparsedEntityDeclHandler = doctype
    try:
        parser.Parse(raw, True)  # noqa: FBT003 (by place alone)
    except (expat.ExpatError, ValueError, LookupError) as error:
        line = getattr(error, "lineno", parser.CurrentLineNumber)
        reason = expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else error
        raise ConfigError(".", f"{origin}:{line}: {reason}; accepted: XML") from error
    return top.inside[0]
