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


class _Builder:
    """Makes elements of what the parser reports."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.open: list[Element] = []
        self.root: Element | None = None
        self.count = 0
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.EntityDeclHandler = self.doctype
        self.parser.ExternalEntityRefHandler = self.doctype
        self.parser.UnparsedEntityDeclHandler = self.doctype

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > ELEMENTS_MAX:
            self.refuse(f"more than {ELEMENTS_MAX} elements")
        if len(self.open) >= DEPTH_MAX:
            self.refuse(f"elements nested more than {DEPTH_MAX} deep")
        one = Element(name, self.parser.CurrentLineNumber, attributes=attributes)
        if self.open:
            self.open[-1].inside.append(one)
        else:
            self.root = one
        self.open.append(one)

    def end(self, name: str) -> None:
        del name
        one = self.open.pop()
        if one.inside and one.text.strip():
            self.refuse(f"text between the elements of `{one.name}`; accepted: elements alone")

    def characters(self, data: str) -> None:
        one = self.open[-1]
        if one.inside and data.isspace():
            return
        one.text += data
        if len(one.text) > TEXT_CHARS_MAX:
            self.refuse(f"a text of more than {TEXT_CHARS_MAX >> 10} KiB in `{one.name}`")

    def doctype(self, *given: object) -> int:
        del given
        self.refuse("a document type or an entity; accepted: XML without DTD and entities")
        return 0

    def refuse(self, message: str) -> None:
        raise ConfigError(".", f"{self.origin}:{self.parser.CurrentLineNumber}: {message}")


def parse(raw: bytes, origin: str) -> Element:
    """Return the root of an XML text.

    Args:
        raw: The text, of at most `BYTES_MAX`.
        origin: What errors call it.

    Raises:
        ConfigError: with the line, for other texts, a document type, and too many elements.
    """
    builder = _Builder(origin)
    try:
        builder.parser.Parse(raw, True)  # noqa: FBT003 (by place alone)
    except (expat.ExpatError, ValueError, LookupError) as error:
        line = getattr(error, "lineno", builder.parser.CurrentLineNumber)
        reason = expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else error
        raise ConfigError(".", f"{origin}:{line}: {reason}; accepted: XML") from error
    if builder.root is None:
        raise ConfigError(".", f"{origin}: no element; accepted: XML")
    return builder.root
