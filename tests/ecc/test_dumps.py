"""Dialects of raw NAND: values of public tools and samples, hostile dumps, and the search."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conftest import Cli
from opennandlab.base.errors import ConfigError
from opennandlab.ecc import BchCode
from opennandlab.ecc.dumps.coding import BAD, ERASED, build, data_of, decode
from opennandlab.ecc.dumps.dialects import DIALECTS, SEEDS, Asked, layout_of
from opennandlab.ecc.dumps.files import document_of, read_layout
from opennandlab.ecc.dumps.guessing import guess
from opennandlab.ecc.dumps.layout import Layout, Scrambler, Word
from opennandlab.ecc.dumps.polynomials import bch_of
from opennandlab.ecc.need import need

if TYPE_CHECKING:
    from opennandlab.ecc.dumps.layout import Pages


def counted(count: int) -> bytes:
    """Return the data of the check values: byte i is 7 i + i div 256."""
    return bytes((7 * at + at // 256) % 256 for at in range(count))


def primitive(m: int, number: int) -> int:
    """Return a primitive polynomial of a degree: the codec refuses all others."""
    found = -1
    for polynomial in range((1 << m) + 1, 2 << m, 2):
        try:
            BchCode(m, 1, polynomial=polynomial)
        except ConfigError:
            continue
        found += 1
        if found == number:
            return polynomial
    raise AssertionError(number)


def page_of(layout: Layout) -> bytes:
    """Return the page whose data are those of the check values, not scrambled."""
    data = np.frombuffer(counted(layout.page_bytes), np.uint8)[None, :]
    return build(layout, data)[0].tobytes()


@pytest.mark.parametrize(
    ("name", "shape", "sha1"),
    [
        ("linux-bch", (2048, 64, 512, 4), "a986b93a7ce2360a8ff468e53e6a44443d495b35"),
        ("linux-bch", (2048, 64, 512, 8), "ab93e3c46368f39fe4bee4dad48d1ed38373c72a"),
        ("qcom-bch", (2048, 128, 516, 8), "d7ec41fce22f9532ae407ae47a7dbb90d0672378"),
        ("imx-gpmi", (2048, 64, 512, 8), "82968ea01c0e1296ccd618cceb6f658e77ca2c8d"),
        ("imx-gpmi", (2048, 64, 512, 6), "5208bd3c8b1a50d2166673f22ad4a45d03bb5c16"),
    ],
)
def test_pages_are_those_of_public_tools(
    name: str, shape: tuple[int, int, int, int], sha1: str
) -> None:
    layout = layout_of(name, Asked(*shape))
    assert hashlib.sha1(page_of(layout)).hexdigest() == sha1  # noqa: S324 (a check value)


@pytest.mark.parametrize(
    ("name", "oob", "step", "strength", "parity"),
    [
        ("linux-bch", 7, 512, 4, "7d151c3cfaf2cf"),
        ("linux-bch", 13, 512, 8, "73bf6a9dbcbc4a94ba5142510a"),
        ("omap-bch-hw", 16, 512, 8, "ffff9cee4494512fd0562d28a775bf00"),
        (
            "omap-bch16-hw", 28, 512, 16,
            "ffff0378c634cdc2ebfe63bff77dbc8d88ef87ec3b87760746f60388",
        ),
        ("brcm-bch4", 16, 512, 4, "fffffffffffffffffff7ea86c32cc584"),
        ("brcm-bch8", 16, 512, 8, "ffff0b8771085fda4c0c3e5eff493229"),
        ("pmecc", 7, 512, 4, "6ccdcd4c22080a"),
    ],
)  # fmt: skip
def test_parities_are_those_of_public_tools(
    name: str, oob: int, step: int, strength: int, parity: str
) -> None:
    layout = layout_of(name, Asked(step, oob, step, strength))
    assert page_of(layout)[step:].hex() == parity


@pytest.mark.parametrize(
    ("name", "step", "strength", "covered", "parity"),
    [
        ("qcom-bch", 516, 8, 516, "0304629fb2be07fc88ba340c85"),
        (
            "sunxi", 1024, 24, 1028,
            "8d97118fc4735d3d00b90b0c81472901344c40d03c506fda6b94a92497866a8aabfc21a49a49329fd93c",
        ),
        ("sunxi", 1024, 40, 1028, "f97b4c0e830ffe45fa2195de71c2bbec87b87fde"),
        ("rockchip", 1024, 16, 1028, "040a89a6268b2eaa2da6a1590c8d331926d07c128f25b780c42233eb"),
        ("rk27xx", 512, 8, 515, "f383b8717d31971a9212dae7c9"),
        ("amlogic-bch8", 512, 8, 514, "5bfabe8169506abba7cef583fd85"),
        ("mediatek-1k", 1024, 32, 1032, "a9cbe4024186e7ead37d593019a94cbe91163ed4"),
        (
            "marvell-nfcv2", 2048, 16, 2080,
            "42b01397d27a06ee5c8b1e3c2123fce4ccd821898c8361c8f316186f8a97",
        ),
        ("imx-gpmi", 512, 8, 522, "13bc31aa9027daec24cecab728"),
    ],
)  # fmt: skip
def test_words_with_covered_spare_bytes(
    name: str, step: int, strength: int, covered: int, parity: str
) -> None:
    m, polynomial = DIALECTS[name].fields[step]
    size = -(-m * strength // 8)
    mask = None if DIALECTS[name].is_inverted else bytes(size)
    places = ((0, 8 * covered),)
    word = Word(places, (8 * covered, 8 * (covered + size)))
    layout = Layout(
        name, covered, size, m, strength, polynomial, DIALECTS[name].order, mask, (word,), places,
        (0, 8),
    )  # fmt: skip
    found = page_of(layout)[covered:]
    digest = hashlib.sha1(found).hexdigest()  # noqa: S324 (a check value)
    assert parity == (digest if len(parity) == 40 and size != 20 else found.hex())


def test_masks_of_omap() -> None:
    for strength, mask in ((4, "2813cc3996ac7f"), (8, "ef512e09ed939ac29779e524b5")):
        layout = layout_of("omap-bch-sw", Asked(512, 64, 512, strength))
        assert layout.mask_of(layout.words[0]).hex() == mask


def test_the_stream_of_a_scrambler() -> None:
    assert len(SEEDS) == 128
    stream = Scrambler(SEEDS, takes_rest=True).streams(16)[0]
    assert stream.tobytes().hex() == "cf7ed4205f58383a92932dadddbd99b1"


@pytest.mark.parametrize(
    ("page", "strength", "byte", "bit"),
    [(2048, 8, 1999, 0), (2048, 6, 2008, 6), (4096, 16, 3904, 0)],
)
def test_the_marker_of_gpmi_swaps_with_published_bits(
    page: int, strength: int, byte: int, bit: int
) -> None:
    layout = layout_of("imx-gpmi", Asked(page, page // 8, 512, strength))
    done = 0
    for start, stop in layout.data:
        if (start, stop) == (0, 8):
            assert divmod(done, 8) == (byte, bit)
            return
        done += stop - start
    pytest.fail("no marker")


SHAPES: dict[str, tuple[int, int, int, int]] = {
    "linux-bch": (2048, 64, 512, 4),
    "omap-bch-sw": (2048, 64, 512, 8),
    "omap-bch-hw": (2048, 64, 512, 8),
    "omap-bch16-hw": (2048, 128, 512, 16),
    "brcm-bch4": (2048, 64, 512, 4),
    "brcm-bch8": (2048, 64, 512, 8),
    "marvell-nfcv2": (2048, 64, 2048, 16),
    "qcom-bch": (2048, 128, 516, 8),
    "sunxi": (4096, 448, 1024, 40),
    "rockchip": (4096, 256, 1024, 24),
    "rk27xx": (2048, 64, 512, 8),
    "amlogic-bch8": (2048, 192, 512, 8),
    "mediatek-1k": (2048, 128, 1024, 32),
    "pmecc": (2048, 64, 512, 8),
    "imx-gpmi": (2048, 64, 512, 8),
}


def drawn(layout: Layout, pages: int, flips: int, seed: int = 1) -> tuple[Pages, Pages]:
    """Return data, and the dump of it with so many flipped bits in each word."""
    dice = random.Random(seed)  # noqa: S311 (a sample)
    data = np.frombuffer(dice.randbytes(pages * layout.page_bytes), np.uint8)
    data = data.reshape(pages, -1).copy()
    data[pages // 2] = 0xFF
    dump = build(layout, data)
    for page in range(pages):
        if page == pages // 2:
            continue
        for word in layout.words:
            bits = [bit for a, b in (*word.covered, word.parity) for bit in range(a, b)]
            for bit in dice.sample(bits[: layout.code(word).code_bits], flips):
                place = bit % 8 if layout.is_little else 7 - bit % 8
                dump[page, bit // 8] ^= 1 << place
    return data, dump


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_errors_up_to_the_strength_are_mended(name: str) -> None:
    layout = layout_of(name, Asked(*SHAPES[name]))
    data, dump = drawn(layout, 6, layout.strength)
    found = decode(layout, dump)
    assert (found.states[[0, 1, 2, 4, 5]] == layout.strength).all()
    assert (found.states[3] == ERASED).all()
    assert (data_of(layout, found) == data).all()
    assert (found.pages == build(layout, data)).all()


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_erased_pages_with_flips_are_erased(name: str) -> None:
    layout = layout_of(name, Asked(*SHAPES[name]))
    dump = np.full((1, layout.raw_bytes), 0xFF, np.uint8)
    start = layout.words[0].covered[0][0]
    dump[0, start // 8] ^= 0x10
    dump[0, start // 8 + 3] ^= 0x01
    found = decode(layout, dump)
    assert found.states[0, 0] == 2
    assert (data_of(layout, found) == 0xFF).all()


def test_words_beyond_the_strength_pass_unchanged() -> None:
    layout = layout_of("linux-bch", Asked(2048, 64, 512, 4))
    _, dump = drawn(layout, 4, 5)
    found = decode(layout, dump)
    bad = found.states == BAD
    assert bad.sum() >= 10
    assert (found.pages[bad.all(axis=1)] == dump[bad.all(axis=1)]).all()


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_dialect_of_a_dump_is_found(name: str, tmp_path: Path) -> None:
    page, oob, step, strength = SHAPES[name]
    layout = layout_of(name, Asked(page, oob, step, strength))
    data, dump = drawn(layout, 12, strength // 2)
    path = tmp_path / "dump.bin"
    path.write_bytes(dump.tobytes())
    found = guess(path, page, oob)
    assert found is not None
    assert (found.layout.m, found.layout.strength) == (layout.m, strength)
    assert found.layout.polynomial == layout.polynomial
    assert (data_of(found.layout, decode(found.layout, dump)) == data).all()


def test_an_unknown_code_is_found_by_differences(tmp_path: Path) -> None:
    """A polynomial, a strength and a mask that no dialect has."""
    words = tuple(
        Word(((at * 8192, (at + 1) * 8192), (16384 + at * 480, 16384 + at * 480 + 24)),
             (16384 + at * 480 + 24, 16384 + at * 480 + 24 + 424))
        for at in range(2)
    )  # fmt: skip
    polynomial = primitive(14, 100)
    parity = BchCode(14, 30, polynomial=polynomial).parity_bytes
    assert parity == 53
    layout = Layout(
        "own", 2048, 128, 14, 30, polynomial, "lsb", bytes(range(53)), words, ((0, 16384),),
        (16384, 16392),
    )  # fmt: skip
    data, dump = drawn(layout, 40, 0)
    dump[7, 100] ^= 4
    path = tmp_path / "dump.bin"
    path.write_bytes(dump.tobytes())
    found = guess(path, 2048, 128)
    assert found is not None
    assert found.how == "differences"
    assert (found.layout.m, found.layout.strength) == (14, 30)
    assert found.layout.polynomial == polynomial
    assert (data_of(found.layout, decode(found.layout, dump)) == data).all()


@pytest.mark.parametrize("pages", [2, 32])
def test_noise_has_no_code(pages: int, tmp_path: Path) -> None:
    path = tmp_path / "noise.bin"
    path.write_bytes(random.Random(3).randbytes(2112 * pages))  # noqa: S311
    assert guess(path, 2048, 64) is None


@pytest.mark.parametrize("is_inverted", [True, False])
@pytest.mark.parametrize("words", [1, 2])
def test_a_page_of_few_words_is_enough(words: int, tmp_path: Path, *, is_inverted: bool) -> None:
    polynomial = primitive(13, 77)
    places = tuple(
        Word(
            ((at * 4096, at * 4096 + 4096),),
            (words * 4096 + at * 104, words * 4096 + at * 104 + 104),
        )
        for at in range(words)
    )
    page = 512 * words
    mask = None if is_inverted else bytes(13)
    layout = Layout(
        "own", page, 13 * words, 13, 8, polynomial, "msb", mask, places, ((0, 8 * page),),
        (8 * page, 8 * page + 8),
    )  # fmt: skip
    _, dump = drawn(layout, 2, 0)
    path = tmp_path / "dump.bin"
    path.write_bytes(dump[:1].tobytes())
    found = guess(path, page, 13 * words)
    assert found is not None
    assert (found.layout.m, found.layout.strength, found.layout.polynomial) == (13, 8, polynomial)
    assert (found.layout.mask is None) == (is_inverted and words == 1)


def test_words_that_say_nothing_are_no_evidence(tmp_path: Path) -> None:
    """Zeros are a codeword of every linear code, and equal pages are one."""
    sparse = random.Random(8).randbytes(300) + bytes(1748) + b"\xff" * 64  # noqa: S311
    for content in (bytes(2112) * 4, b"ABCDEFGH" * 264 * 20, sparse * 24):
        path = tmp_path / "dump.bin"
        path.write_bytes(content)
        assert guess(path, 2048, 64) is None


def test_a_dialect_at_another_place_is_found_with_bit_errors(tmp_path: Path) -> None:
    layout = layout_of("pmecc", Asked(4096, 224, 512, 12, 20))
    data, dump = drawn(layout, 56, 0)
    dice = random.Random(4)  # noqa: S311
    for _ in range(round(5e-5 * dump.size * 8)):
        bit = dice.randrange(dump.size * 8)
        dump[bit // 8 // 4320, bit // 8 % 4320] ^= 1 << bit % 8
    path = tmp_path / "dump.bin"
    path.write_bytes(dump.tobytes())
    found = guess(path, 4096, 224)
    assert found is not None
    assert (found.layout.m, found.layout.strength) == (13, 12)
    assert (data_of(found.layout, decode(found.layout, dump)) == data).all()


def test_a_scrambler_goes_by_the_page_in_its_block(tmp_path: Path) -> None:
    layout = layout_of("sunxi", Asked(4096, 448, 1024, 40, block=64))
    data, dump = drawn(layout, 80, 3)
    path = tmp_path / "dump.bin"
    path.write_bytes(dump.tobytes())
    found = guess(path, 4096, 448)
    assert found is not None
    assert (data_of(found.layout, decode(found.layout, dump)) == data).all()
    # The marker has two bytes.
    assert (dump[:40, 4096:4098] == 0xFF).sum() >= 2 * 40 - 4


def test_a_file_of_erased_pages_is_built() -> None:
    layout = layout_of("linux-bch", Asked(2048, 64, 512, 8))
    assert (build(layout, np.full((3, 2048), 0xFF, np.uint8)) == 0xFF).all()


def test_data_that_overlap_are_refused(tmp_path: Path) -> None:
    from opennandlab.documents.record import plain

    document = plain(document_of(layout_of("linux-bch", Asked(2048, 64, 512, 8))))
    path = tmp_path / "layout.json"
    for data in ([[0, 8192], [0, 8192]], [[512, 16896]]):
        path.write_text(json.dumps(document | {"data": data}), encoding="utf-8")
        with pytest.raises(ConfigError, match="overlaps other data or parity"):
            read_layout(path)


def test_the_generator_gives_the_field() -> None:
    for m, strength, polynomial in ((13, 8, 0x201B), (14, 24, 0x5803), (15, 16, 0x8003)):
        generator = BchCode(m, strength, polynomial=polynomial).generator
        assert bch_of(generator) == (m, strength, polynomial)
    assert bch_of(0b1011 << 60 | 5) is None


def test_a_layout_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    from opennandlab.documents.record import plain

    for name, shape in SHAPES.items():
        layout = layout_of(name, Asked(*shape))
        path = tmp_path / "layout.json"
        path.write_text(json.dumps(plain(document_of(layout))), encoding="utf-8")
        assert read_layout(path) == layout


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"polynomial": 0x201A}, "not primitive"),
        ({"mask": "ff"}, "1 bytes; accepted: 13"),
        ({"mask": "xy"}, "not hexadecimal text"),
        ({"data": [[0, 8]]}, "8 bits of data"),
        ({"page_bytes": 0}, "page_bytes"),
        ({"words": []}, "words"),
        ({"oob_bytes": 8}, "bytes of OOB"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(
    change: dict[str, object], told: str, tmp_path: Path
) -> None:
    from opennandlab.documents.record import plain

    document = plain(document_of(layout_of("linux-bch", Asked(2048, 64, 512, 8)))) | change
    path = tmp_path / "layout.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ConfigError, match=told):
        read_layout(path)


def test_words_that_overlap_are_refused() -> None:
    word = Word(((0, 4096),), (4096, 4200))
    with pytest.raises(ConfigError, match="overlap"):
        Layout(
            "own", 1024, 64, 13, 8, 0x201B, "msb", None, (word, word), ((0, 8192),), (8192, 8200)
        )


@pytest.mark.parametrize(
    ("rber", "uber", "strengths"),
    [
        (1e-5, 1e-15, (6, 6, 7)),
        (1e-4, 1e-15, (10, 12, 16)),
        (5e-4, 1e-15, (18, 24, 34)),
        (1e-3, 1e-15, (25, 35, 51)),
        (2e-3, 1e-15, (36, 53, 81)),
        (1e-5, 1e-16, (6, 7, 8)),
        (1e-4, 1e-16, (11, 13, 17)),
        (2e-3, 1e-16, (38, 55, 84)),
    ],
)
def test_the_strength_that_a_target_needs(
    rber: float, uber: float, strengths: tuple[int, int, int]
) -> None:
    """Closed form, computed outside of the package."""
    found = [need(rber, uber, step) for step in (512, 1024, 2048)]
    assert tuple(one.strength for one in found) == strengths
    assert [one.m for one in found] == [13, 14, 15]


def test_the_verbs_of_a_dump(cli: Cli, tmp_path: Path) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(random.Random(5).randbytes(20000) + b"\xff" * 4096)  # noqa: S311
    dump, layout, out = (tmp_path / name for name in ("dump.bin", "layout.json", "out.bin"))
    page = ("--page", "2048", "--oob", "64")
    code = ("--dialect", "linux-bch", "--strength", "8")
    assert cli("ecc", "dump", "build", str(data), str(dump), *page, *code).returncode == 0
    content = bytearray(dump.read_bytes())
    content[100] ^= 1
    content[2112 + 5] ^= 0x81
    dump.write_bytes(content)
    found = json.loads(
        cli("ecc", "dump", "guess", str(dump), *page, "-o", str(layout), "--json").stdout
    )
    assert found["layout"]["strength"] == 8
    shown = cli("ecc", "dump", "check", str(dump), "--layout", str(layout), "--json")
    checked = json.loads(shown.stdout)
    assert shown.returncode == 0
    assert checked["corrected_bits"] == 3
    assert checked["words_by_corrected_bits"] == {"0": 38, "1": 1, "2": 1}
    assert checked["erased_pages"] == 2
    mended = cli(
        "ecc", "dump", "repair", str(dump), str(out), "--layout", str(layout), "--data-only"
    )
    assert mended.returncode == 0
    assert out.read_bytes()[: data.stat().st_size] == data.read_bytes()
    content[0:40] = bytes(40)
    dump.write_bytes(content)
    bad = cli("ecc", "dump", "check", str(dump), "--layout", str(layout))
    assert bad.returncode == 1
    assert "page 0 step 0" in bad.stdout
    inspected = json.loads(cli("ecc", "dump", "inspect", str(dump), *page, "--json").stdout)
    assert inspected["oob_columns"] == [
        {"first": 2048, "bytes": 12, "value": 255}, {"first": 2060, "bytes": 52, "value": None},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        (b"", (), "is empty"),
        (bytes(2111), (), "rest of 2111"),
        (bytes(2112 * 2 + 7), (), "2 pages of 2112 and a rest of 7"),
        (b"\xff" * 2112, ("guess",), "all 1 pages are erased"),
        (bytes(2112), ("--oob", "20"), "needs 52 bytes for parity; there are 20"),
        (bytes(2112), ("--step", "513"), "513"),
        (bytes(2112), ("--strength", "4000"), "needs 4096 bytes for parity"),
        (bytes(2112), ("--dialect", "none"), "`none` is unknown"),
        (bytes(2112), ("--oob-offset", "3"), "is fixed in linux-bch"),
    ],
)
def test_hostile_dumps_are_refused(
    cli: Cli, tmp_path: Path, content: bytes, options: tuple[str, ...], told: str
) -> None:
    dump = tmp_path / "dump.bin"
    dump.write_bytes(content)
    if options == ("guess",):
        shown = cli("ecc", "dump", "guess", str(dump), "--page", "2048", "--oob", "64")
    else:
        base = {"--page": "2048", "--oob": "64", "--dialect": "linux-bch", "--strength": "8"}
        base.update(dict(zip(options[::2], options[1::2], strict=True)))
        shown = cli(
            "ecc", "dump", "check", str(dump), *(part for pair in base.items() for part in pair)
        )
    assert shown.returncode == 2
    assert told in shown.stderr
