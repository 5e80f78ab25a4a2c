"""The document `opennandlab.ecc-layout/1`: places and code of the words of a raw NAND page."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from opennandlab.documents.record import Record

LAYOUT_SCHEMA: Final = "opennandlab.ecc-layout/1"

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]
Size = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
Order = Literal["msb", "lsb", "nibble"]


class LayoutWord(Record, frozen=True, kw_only=True):
    """Places of a word in bits of a page, as pairs of first bit and end.

    Args:
        covered: What the code covers, in its order.
        parity: Its parity.
        rest: Zeros behind it.
    """

    covered: list[tuple[Count, Count]]
    parity: tuple[Count, Count]
    rest: tuple[Count, Count] = (0, 0)


class LayoutDocument(Record, frozen=True, kw_only=True):
    """A page of a raw NAND and its code.

    Args:
        schema: Always `opennandlab.ecc-layout/1`.
        name: Name of the dialect, or `guessed`.
        page_bytes: Data of a page.
        oob_bytes: Its spare bytes.
        m: Degree of the field.
        strength: Bit errors that a word corrects.
        polynomial: Primitive polynomial of the field, bit k for x^k.
        order: Bits of a byte from the most (`msb`) or least significant one (`lsb`), or halves of
            bytes swapped (`nibble`).
        mask: XORed with the parity, in hexadecimal; null for the complement of the parity of ones.
        words: The words.
        data: Ranges of the data, in their order.
        marker: Range of the bad-block marker.
        seeds: States of a scrambler, by the page in its block; none without.
        scrambles_rest: Whether bytes outside of words are scrambled too.
    """

    schema: Literal["opennandlab.ecc-layout/1"]
    name: str
    page_bytes: Size
    oob_bytes: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)]
    m: Annotated[int, msgspec.Meta(ge=5, le=16)]
    strength: Annotated[int, msgspec.Meta(ge=1, le=4096)]
    polynomial: Count
    order: Order
    mask: str | None
    words: Annotated[list[LayoutWord], msgspec.Meta(min_length=1, max_length=4096)]
    data: Annotated[list[tuple[Count, Count]], msgspec.Meta(min_length=1, max_length=8192)]
    marker: tuple[Count, Count]
    seeds: list[Annotated[int, msgspec.Meta(ge=1, le=0x7FFF)]] = msgspec.field(default_factory=list)
    scrambles_rest: bool = False
