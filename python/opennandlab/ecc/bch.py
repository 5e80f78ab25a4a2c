"""The bit-true BCH codec: bytes to parity, and received bytes to corrected ones.

    from opennandlab.ecc import BchCode
    code = BchCode(13, 8, data_bits=4096)
    parity = code.encode(data)
    corrected, positions = code.decode(received, received_parity)

Bytes and bits are in the order of the Linux kernel and of bchlib, whose `swap_bits=True` is ours:
data in order, the most significant bit of each byte first, parity behind it filled up with zeros to
whole bytes. The work is done by `_core`; here arguments are checked and time is measured.
"""

from __future__ import annotations

import operator
import random
import statistics
import time
from dataclasses import dataclass

from opennandlab import _core
from opennandlab.base.errors import ConfigError, OpenNandLabError

BITS_MAX = 1 << 16
# Enough words that their error positions do not repeat soon; few enough to stay in the cache.
SPEED_WORDS = 64
SPEED_PARTS = 5


class Uncorrectable(OpenNandLabError):  # noqa: N818 - the field's word for it
    """A word with more bit errors than the code corrects."""


@dataclass(frozen=True)
class DecodeSpeed:
    """How fast one core decodes.

    Args:
        information_mbit_s: Data bits decoded per second, in 10^6, the median of five parts.
        coded_mbit_s: The same with the parity counted.
        words: Words decoded in all.
        failed: Those among them that were given up.
        path: The vector instructions used.
    """

    information_mbit_s: float
    coded_mbit_s: float
    words: int
    failed: int
    path: str


class BchCode:
    """A binary BCH code over GF(2^m) that corrects any t bit errors of a word.

    Args:
        m: Degree of the field, 5 to 16; a word has at most 2^m - 1 bits.
        t: Bit errors that are corrected.
        data_bits: Data bits of a word; the most that fit when None.
        swap_bits: Whether the least significant bit of a byte comes first.
        path: One of `_core.ecc_bch_paths()`; the fastest of this machine when None. Results are the
            same on all.
        polynomial: Primitive polynomial of the field, bit k for x^k; that of the Linux kernel when
            None. Controllers differ in it.

    Raises:
        ConfigError: when there is no such code.

    >>> code = BchCode(8, 4, data_bits=216)
    >>> code.parity_bits, code.max_data_bits, code.generator_hex
    (32, 223, '1ee5b42fd')
    >>> data = bytes(range(27))
    >>> parity = code.encode(data)
    >>> code.decode(bytes([0x81]) + data[1:], parity) == (data, [0, 7])
    True
    """

    def __init__(  # noqa: PLR0913 (a code has these)
        self,
        m: int,
        t: int,
        data_bits: int | None = None,
        *,
        swap_bits: bool = False,
        path: str | None = None,
        polynomial: int | None = None,
    ) -> None:
        """Build the tables of the code."""
        self.m = _count("m", m)
        self.t = _count("t", t)
        bits = None if data_bits is None else _count("data_bits", data_bits)
        self.swap_bits = swap_bits
        if polynomial is not None and polynomial.bit_length() != self.m + 1:
            message = f"{polynomial:#x} is refused; accepted: a polynomial of degree {self.m}"
            raise ConfigError("polynomial", message)
        self.polynomial = polynomial
        self._core = _core.EccBch(self.m, self.t, bits, swap_bits, path, polynomial)
        self.data_bits, self.parity_bits, self.max_data_bits = self._core.shape()

    def __repr__(self) -> str:
        """Return the call that makes this code."""
        swap = ", swap_bits=True" if self.swap_bits else ""
        over = "" if self.polynomial is None else f", polynomial={self.polynomial:#x}"
        return f"BchCode({self.m}, {self.t}, data_bits={self.data_bits}{swap}{over})"

    @property
    def code_bits(self) -> int:
        """Length n of a word, data and parity bits."""
        return self.data_bits + self.parity_bits

    @property
    def data_bytes(self) -> int:
        """Bytes of the data of a word."""
        return (self.data_bits + 7) // 8

    @property
    def parity_bytes(self) -> int:
        """Bytes of the parity of a word."""
        return (self.parity_bits + 7) // 8

    @property
    def path(self) -> str:
        """The vector instructions used, `portable`, `avx2` or `avx512`."""
        return self._core.path()

    @property
    def generator(self) -> int:
        """The generator polynomial; bit k is the coefficient of x^k."""
        return int(self._core.generator(), 2)

    @property
    def generator_hex(self) -> str:
        """The generator polynomial in hexadecimal, highest power first."""
        return f"{self.generator:x}"

    def encode(self, data: bytes) -> bytes:
        """Return the parity of a word. Bits behind the last data bit are ignored.

        Raises:
            ConfigError: when `data` is not as long as the code says.
        """
        self._check("data", data, self.data_bytes)
        return self._core.encode(bytes(data))

    def encode_batch(self, data: bytes) -> bytes:
        """Return the parities of words one behind the other, each in whole bytes.

        Raises:
            ConfigError: when `data` is no number of whole words.
        """
        if len(data) % self.data_bytes:
            message = f"{len(data)} bytes are refused; accepted: multiples of {self.data_bytes}"
            raise ConfigError("data", message)
        return self._core.encode(bytes(data))

    def decode(self, data: bytes, parity: bytes) -> tuple[bytes, list[int]]:
        """Return the corrected data, and which bits were wrong.

        Bits are counted in the order of the word, data bits from 0 and parity bits behind them: bit
        i of the data is in byte `i // 8`, the most significant one being first, or the least
        significant with `swap_bits`. `kernel_positions` counts as the Linux kernel does.

        Raises:
            Uncorrectable: when no codeword is within t bit errors.
            ConfigError: when data or parity are not as long as the code says.
        """
        self._check("data", data, self.data_bytes)
        self._check("parity", parity, self.parity_bytes)
        decoded = self._core.decode(bytes(data), bytes(parity))
        if decoded is None:
            raise Uncorrectable(f"more than {self.t} bit errors in a word of {self!r}")
        return decoded[0], decoded[2]

    def decode_batch(self, data: bytes, parity: bytes) -> tuple[bytes, bytes, list[int | None]]:
        """Decode words one behind the other, each in whole bytes.

        Returns:
            Data and parity, with the errors corrected in those words that could be, and the number
            of corrected bits of each word, None where it is uncorrectable.

        Raises:
            ConfigError: when data and parity are not those of as many whole words.
        """
        words, rest = divmod(len(data), self.data_bytes)
        if rest or len(parity) != words * self.parity_bytes:
            raise ConfigError(
                "data",
                f"{len(data)} bytes and {len(parity)} of parity are not whole words; accepted: "
                f"multiples of {self.data_bytes} and {self.parity_bytes}",
            )
        return self._core.decode_batch(bytes(data), bytes(parity))

    def kernel_positions(self, positions: list[int]) -> list[int]:
        """Return positions as the Linux kernel counts them.

        That is 8 * byte + bit, bit 0 being the least significant of its byte, and parity bytes
        counted behind the data.

        >>> BchCode(8, 4, data_bits=216).kernel_positions([0, 7, 216])
        [7, 0, 223]
        """
        start = 8 * self.data_bytes
        placed = [
            place if place < self.data_bits else place - self.data_bits + start
            for place in positions
        ]
        return placed if self.swap_bits else [place ^ 7 for place in placed]

    def failure_probability(self, rber: float) -> float:
        """Return the probability that a word has more than t errors at a raw bit error rate.

        Raises:
            ConfigError: when `rber` is not between 0 and 1.
        """
        if not 0.0 <= rber <= 1.0:
            raise ConfigError("rber", f"{rber} is refused; accepted: 0 to 1")
        return self._core.failure_probability(rber)

    def miscorrection_probability(self) -> float:
        """Return the share of words far beyond t errors that are decoded, to a wrong codeword.

        The sum of C(n, s) for s = 0 to t, divided by 2^(parity bits): a word with more than t
        errors is as good as a random one.
        """
        return self._core.miscorrection_probability()

    def decode_speed(self, bit_errors: int, seconds: float = 1.0, seed: int = 42) -> DecodeSpeed:
        """Measure how fast one thread decodes words with that many errors at random places.

        Time is processor time of the thread, and includes a copy of each received word.

        Raises:
            ConfigError: when a word has fewer bits, or the time is not positive.
        """
        if not 0 <= bit_errors <= self.code_bits:
            raise ConfigError(
                "bit_errors", f"{bit_errors} is refused; accepted: 0 to {self.code_bits}"
            )
        if not 0.0 < seconds <= 3600.0:
            raise ConfigError("seconds", f"{seconds} is refused; accepted: above 0, up to 3600")
        data, parity = self._received(bit_errors, random.Random(seed))  # noqa: S311 - test patterns
        rates: list[float] = []
        words, failed, rounds = 0, 0, 1
        while len(rates) < SPEED_PARTS:
            # The clock of this thread: what others do on the machine does not count.
            start = time.thread_time()
            failed_now = self._core.decode_repeatedly(data, parity, rounds)[1]
            duration = time.thread_time() - start
            words += rounds * SPEED_WORDS
            failed += failed_now
            if duration < seconds / SPEED_PARTS / 2:
                # Too short to be a part: it only states how many rounds are needed.
                target = seconds / SPEED_PARTS
                rounds = max(rounds + 1, int(rounds * min(100.0, target / max(duration, 1e-6))))
                continue
            rates.append(rounds * SPEED_WORDS / duration)
        rate = statistics.median(rates) / 1e6
        return DecodeSpeed(rate * self.data_bits, rate * self.code_bits, words, failed, self.path)

    def _received(self, bit_errors: int, generator: random.Random) -> tuple[bytes, bytes]:
        """Return words with errors, one behind the other."""
        data_words, parity_words = [], []
        for _ in range(SPEED_WORDS):
            data = bytearray(generator.randbytes(self.data_bytes))
            parity = bytearray(self.encode(bytes(data)))
            for place in generator.sample(range(self.code_bits), bit_errors):
                index = place if place < self.data_bits else place - self.data_bits
                bit = index % 8 if self.swap_bits else 7 - index % 8
                (data if place < self.data_bits else parity)[index // 8] ^= 1 << bit
            data_words.append(bytes(data))
            parity_words.append(bytes(parity))
        return b"".join(data_words), b"".join(parity_words)

    @staticmethod
    def _check(name: str, value: bytes, length: int) -> None:
        if len(value) != length:
            raise ConfigError(name, f"{len(value)} bytes are refused; accepted: {length}")


def _count(name: str, value: int) -> int:
    """Return a number that the core can take; it states what else is wrong with it."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigError(name, f"{value!r} is not a whole number") from None
    if not 0 <= number <= BITS_MAX:
        raise ConfigError(name, f"{number} is refused; accepted: up to {BITS_MAX}")
    return number
