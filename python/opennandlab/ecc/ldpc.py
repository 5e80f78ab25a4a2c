"""The bit-true LDPC codec: numpy arrays of bits and LLRs, a frame per row.

    from opennandlab.ecc import LdpcCode
    code = LdpcCode.nand("nand-4k-r090")
    words = code.encode(info)
    found = code.decode(llrs, decoder="layered-nms", iterations=20)
    found.words, found.ok, found.iterations

An LLR is ln(P(0)/P(1)): positive where a 0 is more likely. 64 frames are decoded together, so a
call with many frames is much faster per frame than one with a single frame. The work is done by
`_core`; here files are read and arrays are checked.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from opennandlab import _core
from opennandlab.base.errors import ConfigError

# The readers take at most 2^23 ones; their text is smaller than this.
FILE_BYTES_MAX = 1 << 28

Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class LdpcWords:
    """What a decoder made of frames.

    Args:
        words: Decided bits, `uint8, (frames, n)`.
        ok: Whether all checks are satisfied, `bool, (frames,)`.
        iterations: Iterations until they were, or all, `uint32, (frames,)`.
    """

    words: Bits
    ok: npt.NDArray[np.bool_]
    iterations: npt.NDArray[np.uint32]


class LdpcCode:
    """A low-density parity-check code; made by `nand` or `from_file`.

    Example:
        >>> import numpy as np
        >>> code = LdpcCode.nand("nand-n1024-r0889")
        >>> code.n, code.k, code.rank, code.girth
        (1024, 912, 112, 6)
        >>> words = code.encode(np.ones((2, code.k), dtype=np.uint8))
        >>> llrs = np.where(words == 0, 5.0, -5.0).astype(np.float32)
        >>> llrs[0, 17] *= -1
        >>> found = code.decode(llrs)
        >>> bool(found.ok.all()), bool((found.words == words).all())
        (True, True)
    """

    def __init__(self, core: _core.EccLdpc, name: str) -> None:
        """Wrap a code of the core; use `nand` or `from_file`."""
        self._core = core
        self.name = name
        self.n, self.k, self.rank, self.columns = core.shape()

    @classmethod
    def nand(cls, name: str) -> LdpcCode:
        """Return one of our own codes, such as `nand-4k-r090`; see `names`.

        Raises:
            ConfigError: There is no such code; the message lists those there are.
        """
        return cls(_core.EccLdpc("nand", name), name)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> LdpcCode:
        """Read a matrix in alist format, or quasi-cyclic from a file that ends in `.qc`.

        Raises:
            ConfigError: The file cannot be read, or is not a matrix; the message names the line.
        """
        file = Path(path)
        kind = {".alist": "alist", ".qc": "qc"}.get(file.suffix)
        if kind is None:
            raise ConfigError("code", f"`{file}`; accepted: files that end in .alist or .qc")
        try:
            if file.stat().st_size > FILE_BYTES_MAX:
                raise ConfigError("code", f"{file}: accepted: at most {FILE_BYTES_MAX} bytes")
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise ConfigError("code", f"{file}: {error.strerror}") from error
        try:
            return cls(_core.EccLdpc(kind, text), file.name)
        except ConfigError as error:
            raise ConfigError("code", f"{file}: {error.message}") from error

    @staticmethod
    def names() -> list[str]:
        """Return the names of our own codes, shortest first."""
        return _core.ecc_ldpc_names()

    @property
    def rate(self) -> float:
        """Information bits per sent bit."""
        return self.k / self.n

    @cached_property
    def girth(self) -> int | None:
        """Length of the shortest cycle of the Tanner graph; None when it is above 12."""
        return self._core.girth()

    @cached_property
    def info_positions(self) -> npt.NDArray[np.uint32]:
        """Where the information bits stand in a word, `uint32, (k,)`."""
        return np.array(self._core.info_positions(), dtype=np.uint32)

    def __repr__(self) -> str:
        """Name and lengths."""
        return f"LdpcCode({self.name}, n={self.n}, k={self.k})"

    def encode(self, info: npt.ArrayLike) -> Bits:
        """Return the words of information bits.

        Args:
            info: Bits, integers 0 and 1, `(frames, k)`; or one frame, `(k,)`.

        Returns:
            Sent bits, `uint8`, of the same dimensions with n for k.

        Raises:
            ConfigError: Another shape, or values other than 0 and 1.
        """
        bits = np.asarray(info)
        if bits.dtype.kind not in "biu" or bits.size == 0 or bits.min() < 0 or bits.max() > 1:
            raise ConfigError("info", f"array of {bits.dtype}; accepted: bits 0 and 1")
        frames = self._frames("info", bits, self.k).astype(np.uint8)
        words = np.frombuffer(self._core.encode(frames.tobytes()), dtype=np.uint8)
        coded: Bits = words.reshape((*bits.shape[:-1], self.n)).copy()
        return coded

    def decode(  # noqa: PLR0913 - the options of a decoder, by their names
        self,
        llrs: npt.ArrayLike,
        *,
        decoder: str = "layered-nms",
        iterations: int = 20,
        scale: float = 0.75,
        offset: float = 0.5,
        stop: bool = True,
    ) -> LdpcWords:
        """Return the words that a decoder finds.

        Args:
            llrs: Floats, or `int8` in steps of 1/3 (min-sum then works in 8 bits), `(frames, n)`
                or one frame, `(n,)`; not NaN.
            decoder: `layered-nms`, `flooding-nms`, `layered-oms`, `flooding-oms`, `layered-spa`,
                `flooding-spa`, `gallager-b` or `weighted-bit-flip`.
            iterations: Iterations at most, or exactly without `stop`.
            scale: Factor of normalised min-sum, above 0 and at most 1.
            offset: Offset of offset min-sum in units of LLR, 0 to 32.
            stop: Whether a frame stops as soon as all its checks are satisfied.

        Raises:
            ConfigError: Another shape or type, NaN, or an option outside its range.
        """
        values = np.asarray(llrs)
        frames = self._frames("llrs", values, self.n)
        if not 0 <= iterations < 1 << 32:
            raise ConfigError("decoder", f"{iterations} iterations; accepted: 1 to 100000")
        options = (decoder, iterations, scale, offset, stop)
        if values.dtype == np.int8:
            answer = self._core.decode_i8(frames.tobytes(), *options)
        elif values.dtype.kind == "f":
            if np.isnan(frames).any():
                raise ConfigError("llrs", "NaN among them; accepted: numbers")
            answer = self._core.decode_f32(frames.astype("<f4").tobytes(), *options)
        else:
            raise ConfigError("llrs", f"array of {values.dtype}; accepted: floats or int8")
        words = np.frombuffer(answer[0], dtype=np.uint8).reshape(values.shape).copy()
        ok = np.array(answer[1], dtype=np.bool_)
        return LdpcWords(words, ok, np.array(answer[2], dtype=np.uint32))

    def _frames(self, name: str, array: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
        if array.ndim not in {1, 2} or array.shape[-1] != width or array.size == 0:
            message = f"array of shape {array.shape}; accepted: (frames, {width}) or ({width},)"
            raise ConfigError(name, message)
        return np.ascontiguousarray(array.reshape(-1, width))
