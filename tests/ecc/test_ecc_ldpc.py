"""The LDPC codec from Python: words, decoders and files, against what can be computed by hand."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

from opennandlab.base.errors import ConfigError
from opennandlab.ecc import LdpcCode
from opennandlab.ecc import ldpc as ldpc_module

HAMMING = """7 3
3 4
1 1 1 2 2 2 3
4 4 4
1 0 0
2 0 0
3 0 0
1 2 0
1 3 0
2 3 0
1 2 3
1 4 5 7
2 4 6 7
3 5 6 7
"""

CHECKS = np.array(
    [[1, 0, 0, 1, 1, 0, 1], [0, 1, 0, 1, 0, 1, 1], [0, 0, 1, 0, 1, 1, 1]], dtype=np.uint8
)

DECODERS = [
    "layered-spa",
    "flooding-spa",
    "layered-nms",
    "flooding-nms",
    "layered-oms",
    "flooding-oms",
    "gallager-b",
    "weighted-bit-flip",
]


@pytest.fixture
def hamming(tmp_path: Path) -> LdpcCode:
    path = tmp_path / "hamming.alist"
    path.write_text(HAMMING)
    return LdpcCode.from_file(path)


def test_a_file_gives_the_code_of_its_matrix(hamming: LdpcCode) -> None:
    assert (hamming.n, hamming.k, hamming.rank, hamming.girth) == (7, 4, 3, 4)
    info = np.array([[i >> bit & 1 for bit in range(4)] for i in range(16)])
    words = hamming.encode(info)
    assert not (words @ CHECKS.T % 2).any()
    assert len({tuple(word) for word in words}) == 16
    assert (words[:, hamming.info_positions] == info).all()


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("form", [np.float32, np.float64, np.int8])
def test_every_decoder_corrects_a_bit_of_a_nand_code(decoder: str, form: type) -> None:
    code = LdpcCode.nand("nand-n1024-r0889")
    generator = np.random.default_rng(42)
    words = code.encode(generator.integers(0, 2, (5, code.k)))
    llrs = np.where(words == 0, 20, -20).astype(form)
    llrs[np.arange(5), generator.integers(0, code.k, 5)] *= -1
    found = code.decode(llrs, decoder=decoder)
    assert found.ok.all()
    assert (found.words == words).all()
    assert (found.iterations >= 1).all()
    one = code.decode(llrs[3], decoder=decoder)
    assert (one.words == words[3]).all()
    assert one.ok.shape == (1,)


def test_names_build_codes_of_their_sizes() -> None:
    names = LdpcCode.names()
    assert len(names) == 19
    code = LdpcCode.nand("nand-4k-r090")
    assert code.k == 4096 * 8
    assert code.rate == pytest.approx(0.9, abs=0.0025)


def test_wrong_arrays_are_refused_in_words(hamming: LdpcCode) -> None:
    with pytest.raises(ConfigError, match=r"shape \(2, 3\); accepted: \(frames, 4\) or \(4,\)"):
        hamming.encode(np.zeros((2, 3), dtype=np.uint8))
    with pytest.raises(ConfigError, match="accepted: bits 0 and 1"):
        hamming.encode([0, 1, 2, 0])
    with pytest.raises(ConfigError, match="accepted: floats or int8"):
        hamming.decode(np.ones(7, dtype=np.int64))
    with pytest.raises(ConfigError, match="NaN"):
        hamming.decode(np.full(7, np.nan))
    with pytest.raises(ConfigError, match="no decoder is named `best`; accepted: layered-spa"):
        hamming.decode(np.ones(7), decoder="best")
    with pytest.raises(ConfigError, match=r"scale 1\.5 of min-sum; accepted"):
        hamming.decode(np.ones(7), scale=1.5)
    with pytest.raises(ConfigError, match="-1 iterations"):
        hamming.decode(np.ones(7), iterations=-1)


def test_wrong_files_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.alist"
    path.write_text(HAMMING.replace("1 2 0", "1 9 0"))
    with pytest.raises(ConfigError, match=r"broken\.alist: line 8: entry 9; accepted: 1 to 3"):
        LdpcCode.from_file(path)
    with pytest.raises(ConfigError, match=r"accepted: files that end in \.alist or \.qc"):
        LdpcCode.from_file(tmp_path / "matrix.txt")
    with pytest.raises(ConfigError, match="No such file"):
        LdpcCode.from_file(tmp_path / "none.qc")
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ConfigError, match="line 1"):
        LdpcCode.from_file(path)
    with pytest.raises(ConfigError, match="no code is named `nand-5k`"):
        LdpcCode.nand("nand-5k")


def test_the_examples_of_the_page_are_true() -> None:
    assert doctest.testmod(ldpc_module).failed == 0
