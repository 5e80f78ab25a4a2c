"""ECC as data sheets, device trees, controllers and the lab state it, in a drive."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.ecc.codes import _alist

NAND = {
    "channels": 1,
    "dies_per_channel": 2,
    "planes_per_die": 1,
    "blocks_per_plane": 32,
    "pages_per_block": 32,
    "page_size_bytes": 2048,
    "oob_size_bytes": 256,
    "rber_floor": 1e-4,
    "rber_ceil": 1e-4,
}
READS = {
    "pattern": "random",
    "read_pct": 100,
    "block_size_bytes": 2048,
    "precondition": [{"kind": "sequential_fill"}],
    "timed": False,
}
STATED = {"step_bytes": 512, "strength": 8}
# A matrix of 16 data bits in 24, for files.
SMALL = _alist(
    [[int(at in {row, (row + 3) % 16, (row + 7) % 16, 16 + row}) for at in range(24)]
     for row in range(8)],
    "small",
)  # fmt: skip


def drive(ecc: object, **nand: Any) -> onl.DeviceConfig:
    return onl.load_device({"nand": NAND | nand, "ecc": ecc})


def refusal(ecc: object, **nand: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        drive(ecc, **nand)
    return caught.value


def test_eight_bits_in_512_bytes_are_four_words_of_4200_bits() -> None:
    device = drive(STATED)
    effective = device.effective
    assert (effective["codewords_per_page"], effective["parity_bytes_per_page"]) == (4, 52)
    # P(X > 8) of 4200 bits, four times; the RBER of 1e-15 errors per data bit.
    (word, _), (_, uber) = _core.codeword_failures(device.json, [1e-4, 5.4904e-5])
    assert 1 - (1 - word) ** 4 == pytest.approx(3.050e-9, rel=2e-4)
    assert uber == pytest.approx(1e-15, rel=2e-4)
    metrics = onl.benchmark(device, {**READS, "total": {"ios": 500}}).metrics
    assert metrics["uber"] == pytest.approx(word / 4096, rel=1e-9)
    assert metrics["ecc_margin"] == pytest.approx(0.54904, rel=2e-4)


@pytest.mark.parametrize(
    "ecc",
    [
        {"nand-ecc-step-size": 512, "nand-ecc-strength": 8},
        'nand-ecc-algo = "bch"; /* soft */\nnand-ecc-step-size = <0x200>;nand-ecc-strength = <8>;',
        {"step_bytes": 512, "bch_t": 8},
        {"code": "bch:m=13,t=8,data_bits=4096"},
        {"dialect": "linux-bch", **STATED},
    ],
)  # fmt: skip
def test_one_code_has_many_spellings(ecc: object) -> None:
    device = drive(ecc)
    assert device.effective == drive(STATED).effective
    assert _core.codeword_failures(device.json, [1e-4]) == _core.codeword_failures(
        drive(STATED).json, [1e-4]
    )
    # What a result records resolves to itself, by whatever name it was given.
    assert onl.load_device(device.to_dict()) == device
    assert device.replace({"nand.rber_floor": 1e-5})["nand.rber_floor"] == 1e-5


def test_a_controller_gives_all_that_its_parity_is_made_of() -> None:
    ecc = drive({"dialect": "sunxi", "step_bytes": 1024, "strength": 16}).to_dict()["ecc"]
    assert (ecc["primitive_poly"], ecc["bit_order"], ecc["meta_bytes"]) == (0x5803, "lsb", 4)
    page = json.loads(_core.page_code(drive(ecc).json))
    assert (page["data_bits"], page["parity_bits"]) == (8192, 8 * 4 + 14 * 16)


@pytest.mark.parametrize("order", ["msb", "lsb", "nibble"])
def test_bits_of_any_polynomial_and_order_fail_as_the_formula_says(order: str) -> None:
    ecc = {**STATED, "primitive_poly": 0x25AF, "bit_order": order, "meta_bytes": 3}
    nand = NAND | {"rber_floor": 1.2e-3, "rber_ceil": 1.2e-3}
    work = {**READS, "total": {"ios": 1200}}
    model, bits = (
        onl.benchmark({"nand": nand, "ecc": {**ecc, "fidelity": one}}, work).metrics
        for one in ("table", "bit_true")
    )
    rate = 1.0 - math.exp(-model["uber"] * 2048 * 8)
    assert 0.1 < rate < 0.4
    lost = bits["uncorrectable_reads"] / 1200
    assert abs(lost - rate) < 4.5 * math.sqrt(rate * (1 - rate) / 1200)


@pytest.mark.parametrize(
    ("ecc", "path", "words"),
    [
        ({**STATED, "step_bytes": 500}, "ecc.step_bytes", "pages of 2048 bytes"),
        ({**STATED, "bch_t": 4}, "ecc.bch_t", "4 is not strength = 8"),
        ({**STATED, "bch_m": 12}, "ecc.bch_m", "4096 data bits do not fit"),
        ({**STATED, "nand-ecc-strength": 8}, "ecc.nand-ecc-strength", "`strength` is given too"),
        ({"strength": 8}, "ecc.strength", "with step_bytes"),
        ({**STATED, "bit_order": "big"}, "ecc.bit_order", "big"),
        ({**STATED, "primitive_poly": 0x2001}, "ecc.primitive_poly", "not primitive"),
        ({**STATED, "algorithm": "ldpc"}, "ecc.step_bytes", "only with algorithm bch"),
        ({**STATED, "strength": 60}, "ecc.strength", "392 B per page"),
        ("nand-ecc-step-size = <512>; nand-bus-width = <8>;", "ecc", "nand-bus-width = <8>"),
        ({"dialect": "sunxi", "step_bytes": [1]}, "ecc.step_bytes", "a whole number"),
        ({"dialect": "nobody"}, "ecc.dialect", "linux-bch"),
        ({"dialect": "imx-gpmi", "strength": 8}, "ecc.dialect", "cover 512 and 522 bytes"),
        ({"dialect": "sunxi", "strength": 16, "meta_bytes": 2}, "ecc.meta_bytes", "contradicts"),
        ({"code": "bch:m=13,t=8,data_bits=4095"}, "ecc.code", "whole bytes"),
        ({"code": "bch:m=13,t=8", "bch_t": 4}, "ecc.bch_t", "contradicts ecc.code"),
        ({"code": "os:system"}, "ecc.code", "not a code of a drive"),
        ({"code": "ldpc:absent.alist"}, "ecc.code", "No such file"),
        ({"code": 8}, "ecc.code", "a name"),
        ({"code": "nand-4k-r090", "fer_table": {"curve": []}}, "ecc.fer_table", "curves: ["),
    ],
)
def test_what_states_no_code_or_two_is_refused(ecc: object, path: str, words: str) -> None:
    error = refusal(ecc)
    assert (error.path, words in error.message) == (path, True), error


def test_words_of_unequal_length_are_told() -> None:
    work = {**READS, "total": {"ios": 100}}
    given = {"bch_m": 13, "bch_t": 8}
    warnings = onl.benchmark(drive(given, page_size_bytes=4096), work).document["warnings"]
    assert any("4 codewords of 8087 data bits and one of 420" in text for text in warnings)
    for equal in (STATED, {"bch_m": 8, "bch_t": 1}):
        warnings = onl.benchmark(drive(equal, page_size_bytes=4096), work).document["warnings"]
        assert not any("codewords" in text for text in warnings)


def curves(folder: Path, code: str, reads: tuple[int, ...] = (1, 3, 7)) -> list[str]:
    """Saved curves of a code, measured with few frames."""
    names = []
    for count in reads:
        channel = "bsc" if count == 1 else f"sensing:{count}"
        points = [1e-7, 3e-2, 6e-2, 0.12]
        effort = {"errors": 400, "max_frames": 20_000, "method": "monte_carlo"}
        found = onl.ecc.curve(code, channel, points, **effort)
        found.save(folder / f"{count}.json")
        names.append(f"{count}.json")
    return names


def test_a_code_of_a_file_works_by_its_curves_and_without_them_later(tmp_path: Path) -> None:
    (tmp_path / "small.alist").write_text(SMALL)
    names = curves(tmp_path, f"ldpc:{tmp_path}/small.alist")
    file = tmp_path / "drive.yaml"
    text = {"nand": NAND, "ecc": {"code": "ldpc:small.alist", "fer_table": {"curves": names}}}
    text["nand"] = NAND | {"oob_size_bytes": 1024}
    file.write_text(json.dumps(text))
    device = onl.load_device(file)
    ecc = device.to_dict()["ecc"]
    assert (ecc["ldpc_matrix"]["data_bits"], ecc["ldpc_matrix"]["code_bits"]) == (16, 24)
    # The first points, without errors, are left out; the others are the measured ones.
    assert [row[0] for row in ecc["fer_table"]] == [3e-2, 6e-2, 0.12]
    one = onl.load(tmp_path / "1.json")
    assert [row[1] for row in ecc["fer_table"]] == list(one.fer[1:])
    word, _ = _core.codeword_failures(device.json, [6e-2])[0]
    assert word == pytest.approx(one.fer[2], rel=1e-9)
    # A result has the table: neither matrix nor curves are read again.
    result = onl.benchmark(device, {**READS, "total": {"ios": 50}})
    for gone in tmp_path.iterdir():
        gone.unlink()
    assert onl.load_device(result.document["device"]) == device
    with pytest.raises(ConfigError, match="lengths of this matrix"):
        device.replace({"ecc.fidelity": "bit_true"})


def test_curves_of_another_code_or_channel_are_refused(tmp_path: Path) -> None:
    (tmp_path / "small.alist").write_text(SMALL)
    code = f"ldpc:{tmp_path}/small.alist"
    one, three = (str(tmp_path / name) for name in curves(tmp_path, code, (1, 3)))
    bch, own, few, falls = (str(tmp_path / f"{name}.json") for name in ("b", "o", "f", "n"))
    onl.ecc.curve("bch:m=8,t=4", "bsc", [1e-3, 5e-3]).save(bch)
    channel = onl.ecc.Channel.parse("sensing:3", spacing=0.3)
    onl.ecc.curve(code, channel, [3e-2, 6e-2], max_frames=2000).save(own)
    onl.ecc.curve(code, "bsc", [1e-7, 3e-2], max_frames=2000, method="monte_carlo").save(few)
    onl.ecc.curve(code, "sensing:3", [3e-2, 6e-2], max_frames=2000, errors=10).save(falls)
    document = json.loads(Path(falls).read_text())
    document["points"][1]["fer"] = document["points"][0]["fer"]
    document.pop("digest", None)
    Path(falls).write_text(json.dumps(document))
    for files, words in [
        ([bch], "of another code, `bch:m=8,t=4`"),
        ([one, own], "'spacing': 0.3"),
        ([three], "no curve of one read"),
        ([one, one], "a second curve of 1 reads"),
        ([few], "1 points with frame errors"),
        ([one, falls], "is not above"),
        ([str(tmp_path / "small.alist")], "small.alist: damaged"),
        ([str(tmp_path / "none.json")], "No such file"),
    ]:
        error = refusal({"code": code, "fer_table": {"curves": files}})
        assert error.path == "ecc.fer_table", error
        assert words in error.message, error


def test_the_command_line_takes_a_section_for_a_preset(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    ecc = "ecc={step_bytes: 512, strength: 8}"
    work = ("--workload", "W1", "--set", "nand.blocks_per_plane=16", "--set", ecc)
    shown = CliRunner().invoke(app, ["benchmark", *work, "--output", str(output), "--quiet"])
    assert shown.exit_code == 0, shown.output
    device = onl.load(output).document["device"]
    assert device["ecc"] == {"algorithm": "bch", **STATED}
    assert onl.load_device(device).effective["codewords_per_page"] == 8
    ecc = "ecc.step_bytes=512"
    shown = CliRunner().invoke(app, ["benchmark", "--workload", "W1", "--set", ecc])
    assert shown.exit_code == 2
