"""The BCH codec against other people's codecs, published vectors, and itself on other paths."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.ecc import BchCode, Uncorrectable
from places import ROOT

REFERENCE = ROOT.parent / "shared" / "ecc" / "bch"
PATHS = _core.ecc_bch_paths()
# m, t, bytes of data.
CODES = [
    (5, 3, 1),
    (6, 2, 6),
    (7, 5, 11),
    (8, 4, 27),
    (9, 10, 50),
    (10, 4, 122),
    (11, 12, 200),
    (12, 5, 256),
    (13, 4, 512),
    (13, 8, 512),
    (13, 8, 1000),
    (13, 16, 512),
    (14, 24, 1024),
    (14, 40, 1024),
    (14, 64, 1024),
    (15, 60, 2048),
]


def reference(name: str) -> list[dict[str, Any]]:
    path = REFERENCE / name
    if not path.exists():
        pytest.skip(f"the reference file {name} is not beside this checkout")
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def patterns(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - test patterns, no secrets


def errors(code: BchCode, count: int, rng: random.Random) -> list[int]:
    return sorted(rng.sample(range(code.code_bits), count))


def flipped(code: BchCode, data: bytes, parity: bytes, places: list[int]) -> tuple[bytes, bytes]:
    word = [bytearray(data), bytearray(parity)]
    for place in code.kernel_positions(places):
        byte, bit = divmod(place, 8)
        part, index = (0, byte) if byte < len(data) else (1, byte - len(data))
        word[part][index] ^= 1 << bit
    return bytes(word[0]), bytes(word[1])


def test_generators_are_those_built_elsewhere() -> None:
    rows = reference("generators.json")
    for row in rows:
        code = BchCode(row["m"], row["t"])
        found = (code.generator_hex, code.code_bits, code.parity_bits, code.max_data_bits)
        assert found == (row["generator_hex"], row["n"], row["parity_bits"], row["k"]), row


def pattern(name: str, length: int) -> bytes:
    return {
        "ramp (7*i+3) mod 256": bytes((7 * i + 3) % 256 for i in range(length)),
        "all FF": b"\xff" * length,
        "last byte 01, rest 00": b"\0" * (length - 1) + b"\1",
        "first byte 80, rest 00": b"\x80" + b"\0" * (length - 1),
    }[name]


@pytest.mark.parametrize("path", PATHS)
def test_parity_is_that_of_the_recorded_vectors(path: str) -> None:
    rows = reference("vectors_bchlib.json")
    for row in rows:
        data = pattern(row["pattern"], row["data_bytes"])
        for swap_bits, key in [(False, "ecc_hex"), (True, "ecc_hex_swap_bits")]:
            code = BchCode(
                row["m"], row["t"], 8 * row["data_bytes"], swap_bits=swap_bits, path=path
            )
            assert code.parity_bits == row["ecc_bits"]
            assert code.encode(data).hex() == row[key], row


def test_the_parity_of_a_published_controller() -> None:
    # Samsung S5PV210 and Exynos NAND controller, 16-bit ECC over 512 bytes of FF.
    complement = bytes.fromhex("9ad7ef918880fbf7063a5c9f4924d07502e359e0e4bc1e20702e")
    parity = BchCode(13, 16, 4096).encode(b"\xff" * 512)
    assert bytes(byte ^ 0xFF for byte in parity) == complement


@pytest.mark.parametrize("swap_bits", [False, True])
@pytest.mark.parametrize(("m", "t", "data_bytes"), CODES)
def test_bchlib_agrees_up_to_t_errors(m: int, t: int, data_bytes: int, *, swap_bits: bool) -> None:
    bchlib = pytest.importorskip("bchlib", reason="bchlib is not installed")
    other = bchlib.BCH(t, m=m, swap_bits=swap_bits)
    code = BchCode(m, t, 8 * data_bytes, swap_bits=swap_bits)
    rng = patterns(1000 * m + t)
    for count in [*range(min(t, 5) + 1), t, t, t]:
        data = rng.randbytes(data_bytes)
        parity = code.encode(data)
        assert parity == bytes(other.encode(data))
        places = errors(code, count, rng)
        received, received_parity = flipped(code, data, parity, places)
        assert code.decode(received, received_parity) == (data, places)
        # The same positions in the other's own way of counting, without swapped bits.
        if not swap_bits:
            assert other.decode(received, received_parity) == count
            assert sorted(other.errloc) == sorted(code.kernel_positions(places))


@pytest.mark.parametrize(("m", "t"), [(5, 3), (8, 4), (9, 30), (10, 7)])
def test_galois_agrees(m: int, t: int) -> None:
    # Its decoder compiles itself for a quarter of a minute; generator and parity come at once.
    galois = pytest.importorskip("galois", reason="galois is not installed")
    code = BchCode(m, t)
    # Its irreducible polynomials are Conway's: the field of ours must be asked for.
    polynomials = {5: 0x25, 8: 0x11D, 9: 0x211, 10: 0x409}
    field = galois.GF(2**m, irreducible_poly=polynomials[m], compile="python-calculate")
    other = galois.BCH(code.code_bits, d=2 * t + 1, field=galois.GF(2), extension_field=field)
    assert (other.n, other.k) == (code.code_bits, code.data_bits)
    assert int(other.generator_poly) == code.generator
    data = patterns(m).getrandbits(code.data_bits)
    rest = galois.Poly.Int(data << code.parity_bits) % other.generator_poly
    unused = -code.data_bits % 8
    parity = code.encode((data << unused).to_bytes(code.data_bytes, "big"))
    assert int.from_bytes(parity, "big") == int(rest) << (-code.parity_bits % 8)


def random_codes() -> Iterator[tuple[int, int, int]]:
    rng = patterns(42)
    for m in range(5, 17):
        for _ in range(2):
            t = rng.randint(1, min(20, (1 << m) // (3 * m)))
            longest = BchCode(m, t).max_data_bits
            yield m, t, rng.randint(1, longest)


@pytest.mark.parametrize("path", PATHS)
def test_any_length_in_bits(path: str) -> None:
    rng = patterns(1)
    for m, t, data_bits in random_codes():
        for swap_bits in [False, True]:
            code = BchCode(m, t, data_bits, swap_bits=swap_bits, path=path)
            unused = 8 * code.data_bytes - data_bits
            mask = (0xFF >> unused) if swap_bits else (0xFF << unused & 0xFF)
            data = bytearray(rng.randbytes(code.data_bytes))
            data[-1] &= mask
            parity = code.encode(bytes(data))
            assert parity == BchCode(m, t, data_bits, swap_bits=swap_bits).encode(bytes(data))
            for count in [0, 1, t]:
                places = errors(code, count, rng)
                received = flipped(code, bytes(data), parity, places)
                assert code.decode(*received) == (bytes(data), places), (code, places)


def test_more_errors_than_the_code_corrects_are_refused() -> None:
    # (13, 8) over 512 bytes takes a wrong word for a right one once in 10^7 times.
    code = BchCode(13, 8, 4096)
    rng = patterns(5)
    data = rng.randbytes(512)
    parity = code.encode(data)
    for count in [9, 10, 20, 100]:
        received = flipped(code, data, parity, errors(code, count, rng))
        with pytest.raises(Uncorrectable, match=r"more than 8 bit errors in a word of BchCode\(13"):
            code.decode(*received)


def test_many_words_at_once() -> None:
    code = BchCode(8, 4, 216)
    rng = patterns(2)
    words = [rng.randbytes(27) for _ in range(50)]
    received = [
        flipped(code, data, code.encode(data), errors(code, number % 5, rng))
        for number, data in enumerate(words)
    ]
    data, parity, corrected = code.decode_batch(
        b"".join(word[0] for word in received), b"".join(word[1] for word in received)
    )
    assert data == b"".join(words)
    assert parity == b"".join(code.encode(word) for word in words)
    assert corrected == [number % 5 for number in range(50)]
    lost = flipped(code, words[0], code.encode(words[0]), [0, 1, 2, 3, 9, 40, 77, 215, 216, 247])
    assert code.decode_batch(*lost) == (*lost, [None])


def test_probabilities() -> None:
    assert BchCode(8, 4).failure_probability(1e-3) == pytest.approx(7.02e-6, rel=1e-3)
    assert BchCode(13, 8, 8000).miscorrection_probability() == pytest.approx(2.3e-5, rel=0.03)
    assert BchCode(8, 4, 216).miscorrection_probability() == pytest.approx(0.0365, rel=0.01)


def test_the_speed_is_measured() -> None:
    code = BchCode(8, 4, 216)
    speed = code.decode_speed(4, seconds=0.02)
    assert speed.failed == 0
    assert speed.words >= 64
    assert speed.path == PATHS[-1]
    assert speed.coded_mbit_s == pytest.approx(speed.information_mbit_s * 248 / 216)
    assert code.decode_speed(8, seconds=0.02).failed > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 1), "field degree m = 4 is not supported; accepted: 5 to 16"),
        ((8, 0), "t = 0 corrects nothing; accepted: 1 to 127 for m = 8"),
        ((8, 128), "t = 128 leaves no data bits in 255 bits"),
        ((8, 4, 224), "224 data bits do not fit; accepted: 1 to 223"),
        ((8, -1), "t: -1 is refused; accepted: up to 65536"),
        ((8, 10**30), "is refused; accepted: up to 65536"),
        ((8, 2.5), "t: 2.5 is not a whole number"),
    ],
)
def test_impossible_codes_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BchCode(*arguments)
    assert message in str(caught.value)


def test_wrong_lengths_are_refused() -> None:
    code = BchCode(8, 4, 216)
    with pytest.raises(ConfigError, match="data: 26 bytes are refused; accepted: 27"):
        code.encode(bytes(26))
    with pytest.raises(ConfigError, match="parity: 5 bytes are refused; accepted: 4"):
        code.decode(bytes(27), bytes(5))
    with pytest.raises(ConfigError, match="accepted: multiples of 27 and 4"):
        code.decode_batch(bytes(54), bytes(4))
    with pytest.raises(ConfigError, match="rber"):
        code.failure_probability(float("nan"))
    with pytest.raises(ConfigError, match="bit_errors: 249 is refused; accepted: 0 to 248"):
        code.decode_speed(249)
    with pytest.raises(ConfigError, match="path: `fast` is not here; accepted: portable"):
        BchCode(8, 4, path="fast")
