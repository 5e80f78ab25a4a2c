"""Layouts of pages and parity by controller: one row each.

Each row was compared with a public sample or the output of a public tool (V), or follows two
descriptions or one by the maker of a tool (L). What differs between them is the primitive
polynomial, the order of bits, whether parity is inverted for erased pages, and the places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from opennandlab.base.errors import ConfigError
from opennandlab.documents.ecc_layout import Order
from opennandlab.ecc.bch import BchCode
from opennandlab.ecc.dumps.layout import Layout, Range, Scrambler, Word, bytes_at


@dataclass(frozen=True)
class Shape:
    """What places depend on.

    Args:
        page: Data bytes of a page.
        oob: Its spare bytes.
        step: Data bytes of a word.
        parity_bits: Of a word.
        first: First byte of the OOB with parity, where a dialect leaves it open.
    """

    page: int
    oob: int
    step: int
    parity_bits: int
    first: int | None = None

    @property
    def parity(self) -> int:
        """Bytes of the parity of a word."""
        return -(-self.parity_bits // 8)

    @property
    def steps(self) -> int:
        """Words of a page."""
        return self.page // self.step


@dataclass(frozen=True)
class Placed:
    """Words, data and marker of a page."""

    words: list[Word]
    data: list[Range]
    marker: Range


Place = Callable[[Shape], Placed]


def _main(shape: Shape, words: list[Word], marker_bytes: int = 1) -> Placed:
    return Placed(words, [bytes_at(0, shape.page)], bytes_at(shape.page, marker_bytes))


def _at_end(shape: Shape) -> Placed:
    """Parity of all steps at the end of the OOB."""
    first = shape.page + shape.oob - shape.steps * shape.parity
    words = [
        Word(
            (bytes_at(at * shape.step, shape.step),),
            bytes_at(first + at * shape.parity, shape.parity),
        )
        for at in range(shape.steps)
    ]
    if first < shape.page:
        message = f"needs {shape.steps * shape.parity} bytes for parity; there are {shape.oob}"
        raise ConfigError("--oob", message)
    return _main(shape, words)


def _in_steps(  # noqa: PLR0913 (what records differ in)
    shape: Shape,
    *,
    meta_bits: int = 0,
    first: int = 0,
    unit: int = 1,
    rest: int = 0,
    marker_bytes: int = 1,
) -> Placed:
    """For each step a record in the OOB: covered bits, parity, filled up with zeros.

    Args:
        shape: The page.
        meta_bits: Covered bits of the OOB in front of the parity.
        first: First byte of the OOB.
        unit: Bytes of parity are a multiple of it.
        rest: Further bytes of zeros.
        marker_bytes: Bytes of the marker, at the start of the OOB.
    """
    parity = shape.parity_bits if meta_bits % 8 else 8 * shape.parity
    bits = -(-(meta_bits + parity) // (8 * unit)) * 8 * unit + 8 * rest
    start = 8 * (shape.page + (first if shape.first is None else shape.first))
    words = []
    for at in range(shape.steps):
        meta = start + at * bits
        stop = meta + meta_bits + parity
        covered = [bytes_at(at * shape.step, shape.step)]
        covered += [(meta, meta + meta_bits)] if meta_bits else []
        words.append(
            Word(tuple(covered), (meta + meta_bits, stop), (stop, start + (at + 1) * bits))
        )
    return _main(shape, words, marker_bytes)


def _in_chunks(shape: Shape, *, meta: int) -> Placed:
    """Data, covered bytes and parity of a step in a row."""
    size = shape.step + meta + shape.parity
    words = [
        Word(
            (bytes_at(at * size, shape.step + meta),),
            bytes_at(at * size + shape.step + meta, shape.parity),
        )
        for at in range(shape.steps)
    ]
    data = [bytes_at(at * size, shape.step) for at in range(shape.steps)]
    return Placed(words, data, bytes_at(shape.step, 1))


def _qualcomm(shape: Shape) -> Placed:
    """Chunks of 516 bytes with a byte for the marker in each; the last is filled up."""
    chunk = shape.step + (12 if shape.parity_bits <= 56 else 16)
    hole = shape.page % chunk
    words, data, left = [], [], shape.page
    for at in range(-(-shape.page // shape.step)):
        base = at * chunk
        covered = (bytes_at(base, hole), bytes_at(base + hole + 1, shape.step - hole))
        words.append(Word(covered, bytes_at(base + shape.step + 1, shape.parity)))
        for start, stop in covered:
            count = min(left, (stop - start) // 8)
            data += [(start, start + 8 * count)] if count else []
            left -= count
    return Placed(words, data, bytes_at(shape.page, 1))


def _gpmi(shape: Shape) -> Placed:
    """Bits without gaps, ten covered bytes first; the marker takes a byte of data to byte 0."""
    meta = 10
    words, data, at = [], [], 0
    for number in range(shape.steps):
        first = 8 * meta if number == 0 else 0
        stop = at + first + 8 * shape.step
        words.append(Word(((at, stop),), (stop, stop + shape.parity_bits)))
        data.append((at + first, stop))
        at = stop + shape.parity_bits
    marker = 8 * shape.page
    return Placed(words, _swapped(data, marker, (0, 8)), (marker, marker + 8))


def _swapped(data: list[Range], at: int, other: Range) -> list[Range]:
    """Return ranges in which the eight bits from `at` are those of another range."""
    found = []
    for start, stop in data:
        if start <= at and at + 8 <= stop:
            found += [(start, at), other, (at + 8, stop)]
        else:
            found.append((start, stop))
    return [one for one in found if one[0] < one[1]]


# Seeds of sunxi and MediaTek controllers. Source: linux-sunxi/sunxi-tools.
_SEEDS = bytes.fromhex(
    "2b750bd05ca362d11c9307e921623a720d6767f91be7077d032f0dac271624367922151038605287480f4252"
    "17895a2d2a495e10437f4b4e2f45216e5cb771302a3f60e44dc90ef00f521bb962117a56226d4ea76f363692"
    "38bf0c6205eb4c5560f4728c3b6f20377f690936651a4ceb621879f3383f18d94f055c8229126f1768565938"
    "100761ab3e7f57c2542f4f6274542eac773942d42f90435a2e522064637c66ad2c900bad759c002909867126"
    "1ca71605386a27f513806d7524c30f8e2b7a14181fd17dc12d8e43af22677da34e3d133850db454d764d40a3"
    "42e6262b2d2e1aea2e17173d3a6e71bf25f90a5d7c570fbe46ce49396b1737bb3e9176db"
)
SEEDS = tuple(int.from_bytes(_SEEDS[at : at + 2], "big") for at in range(0, len(_SEEDS), 2))
# MediaTek takes half of them, with one digit of one seed changed; bits are reversed there.
MEDIATEK = (*SEEDS[:22], 0x7909, *SEEDS[23:64])


@dataclass(frozen=True)
class Dialect:
    """The parity of a family of controllers.

    Args:
        fields: Degree and primitive polynomial of the field, by the data bytes of a step.
        order: As of a layout.
        is_inverted: Whether the parity of erased words is all ones.
        place: The places in a page.
        strengths: Bit errors corrected.
        is_sampled: Whether it was compared with a public sample or the output of a tool.
        source: Of the row.
        scrambler: If there is one.
        is_open: Whether the first byte of the OOB with parity is left open.
    """

    fields: Mapping[int, tuple[int, int]]
    order: Order
    is_inverted: bool
    place: Place
    strengths: tuple[int, ...]
    is_sampled: bool
    source: str
    scrambler: Scrambler | None = None
    is_open: bool = False


# Of the parity of erased words, and of what confirms a row.
INVERTED, PLAIN = True, False
SAMPLED, DESCRIBED = True, False

KERNEL = {512: (13, 0x201B), 1024: (14, 0x402B)}
SMALL = {512: (13, 0x201B)}
T_ANY = (4, 8, 12, 16, 24, 32, 40)

DIALECTS: dict[str, Dialect] = {
    "linux-bch": Dialect(
        KERNEL, "msb", INVERTED, _at_end, T_ANY, SAMPLED,
        "soft BCH of the Linux kernel; masks equal those of TI OMAP and Samsung S5PV210",
    ),
    "omap-bch-sw": Dialect(
        SMALL, "msb", INVERTED, partial(_in_steps, first=2), (4, 8), SAMPLED,
        "OMAP drivers of Linux and U-Boot, parity by software",
    ),
    "omap-bch-hw": Dialect(
        SMALL, "msb", PLAIN, partial(_in_steps, first=2, rest=1), (4, 8), SAMPLED,
        "Linux omap2: remainder of an erased sector",
    ),
    "omap-bch16-hw": Dialect(
        SMALL, "msb", PLAIN, partial(_in_steps, first=2), (16,), SAMPLED,
        "Linux omap2: remainder of an erased sector",
    ),
    "brcm-bch4": Dialect(
        SMALL, "msb", PLAIN, partial(_in_steps, meta_bits=76), (4,), DESCRIBED,
        "ak-hard/brcm-nand-bch, controllers before version 5",
    ),
    "brcm-bch8": Dialect(
        {512: (14, 0x5803)}, "msb", PLAIN, partial(_in_steps, meta_bits=16), (8,), SAMPLED,
        "a zero page in ak-hard/brcm-nand-bch",
    ),
    "marvell-nfcv2": Dialect(
        {2048: (15, 0x8003)}, "nibble", PLAIN, partial(_in_steps, meta_bits=256), (16,), SAMPLED,
        "four pages in devjoseph-me/unknown-bch",
    ),
    "qcom-bch": Dialect(
        {516: (13, 0x201B)}, "msb", PLAIN, _qualcomm, (4, 8), SAMPLED,
        "three pages in ecsv/qcom-nandc-pagify",
    ),
    "sunxi": Dialect(
        {1024: (14, 0x5803), 512: (14, 0x5803)}, "lsb", PLAIN,
        partial(_in_steps, meta_bits=32, unit=2, marker_bytes=2),
        (16, 24, 28, 32, 40, 48, 56, 60, 64), SAMPLED,
        "bytes of linux-sunxi/sunxi-tools in three configurations",
        Scrambler(SEEDS, takes_rest=True),
    ),
    "rockchip": Dialect(
        {1024: (14, 0x41D5)}, "lsb", INVERTED, partial(_in_chunks, meta=4),
        (16, 24, 40, 60), SAMPLED,
        "four masks in imaginegit/wifisdk",
    ),
    "rk27xx": Dialect(
        {512: (13, 0x25AF)}, "lsb", INVERTED, partial(_in_chunks, meta=3), (8,), DESCRIBED,
        "rk27utils of Rockbox",
    ),
    "amlogic-bch8": Dialect(
        {512: (14, 0x402B)}, "msb", INVERTED, partial(_in_chunks, meta=2), (8,), SAMPLED,
        "a zero word in mamaich/aml-nand-ecc-bch",
    ),
    "mediatek-1k": Dialect(
        {1024: (14, 0x4443)}, "lsb", PLAIN, partial(_in_chunks, meta=8), (32,), DESCRIBED,
        "two descriptions of dumps of MT8516 and MT8167", Scrambler(MEDIATEK, takes_rest=False),
    ),
    "pmecc": Dialect(
        {512: (13, 0x201B), 1024: (14, 0x4443)}, "lsb", PLAIN, _in_steps,
        (2, 4, 8, 12, 24), DESCRIBED,
        "SySS nand-dump-tools; one user could not match strength 8 on a SAMA5D4", is_open=True,
    ),
    "imx-gpmi": Dialect(
        SMALL, "lsb", PLAIN, _gpmi, tuple(range(2, 42, 2)), DESCRIBED,
        "DigitalSecurity/imx-nand-tools and SySS; markers equal those of known boot blocks",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A page and the known facts of its code.

    Args:
        page: Data bytes of a page.
        oob: Its spare bytes.
        step: Data bytes of a word; None for the least of the dialect.
        strength: Bit errors that a word corrects; None if the dialect has one.
        first: First byte of the OOB with parity, where the dialect leaves it open.
        block: Pages of an erase block, which a scrambler goes by; None for 128 or more.
    """

    page: int
    oob: int
    step: int | None = None
    strength: int | None = None
    first: int | None = None
    block: int | None = None


def layout_of(name: str, asked: Asked) -> Layout:
    """Return the layout of a dialect on a page.

    Args:
        name: Name of the dialect.
        asked: The page.

    Raises:
        ConfigError: for values that the dialect does not have, and pages that it does not fit.
    """
    found = DIALECTS.get(name)
    if found is None:
        known = ", ".join(DIALECTS)
        raise ConfigError("--dialect", f"`{name[:40]}` is unknown; accepted: {known}")
    step, strength = asked.step or min(found.fields), asked.strength or found.strengths[0]
    if step not in found.fields:
        known = ", ".join(map(str, found.fields))
        raise ConfigError("--step", f"{step} is refused by {name}; accepted: {known}")
    if asked.strength is None and len(found.strengths) > 1:
        known = ", ".join(map(str, found.strengths))
        raise ConfigError("--strength", f"is missing; usual for {name}: {known}")
    if asked.first is not None and not found.is_open:
        raise ConfigError("--oob-offset", f"is fixed in {name}; accepted: with pmecc")
    if asked.page < step or (asked.page % step and name != "qcom-bch"):
        message = f"{asked.page} is refused; accepted: a multiple of the {step} bytes of a step"
        raise ConfigError("--page", message)
    scrambler = found.scrambler
    if scrambler is not None and asked.block is not None:
        scrambler = replace(scrambler, seeds=scrambler.seeds[: asked.block])
    m, polynomial = found.fields[step]
    parity_bits = BchCode(m, strength, polynomial=polynomial).parity_bits
    placed = found.place(Shape(asked.page, asked.oob, step, parity_bits, asked.first))
    return Layout(
        f"{name} {strength}/{step}", asked.page, asked.oob, m, strength, polynomial, found.order,
        None if found.is_inverted else bytes(-(-parity_bits // 8)),
        tuple(placed.words), tuple(placed.data), placed.marker, scrambler,
    )  # fmt: skip
