r"""Files of codewords: encode a file, harm it, correct it.

```text
  offset  bytes  what
       0      8  magic "ONL-ECC\\n"
       8      2  version, 1
      10      4  length L of the header
      14      4  CRC-32 of the header
      18      L  header: JSON, UTF-8
    18+L         codewords, each filled with zero bits to ceil(code_bits / 8) bytes
```
Whole numbers are little-endian. The header holds `code`, `code_identity`, `data_bytes`,
`data_crc32` and `words`; the file's bytes fill the information bits of the words in order, most
significant bit first, and the last word is filled with zeros. A word is sent as it stands: of BCH
data bits, then parity bits; of LDPC the bits in the order of the columns.

A file is written whole or not at all, and only after the CRC of all data has agreed: a decoder that
took a wrong word for right is found out here.
"""

from __future__ import annotations

import json
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab.base.canonical import canonical_json, first_difference
from opennandlab.base.errors import ConfigError, OpenNandLabError, ResultError
from opennandlab.base.files import check_writable, is_there, write_atomically
from opennandlab.ecc.channels import check_rber
from opennandlab.ecc.codes import Code, Decoder

MAGIC = b"ONL-ECC\n"
VERSION = 1
FILE_BYTES_MAX = 1 << 30
HEADER_BYTES_MAX = 1 << 20
# What a decoder that takes LLRs believes of bits without a known error rate.
RBER_ASSUMED = 5e-3
_HEAD = struct.Struct("<8sHII")


class UncorrectableError(OpenNandLabError):
    """A file of codewords that could not be decoded: some word had too many errors.

    Args:
        message: What happened.
        document: Counts of words and errors.
    """

    def __init__(self, message: str, document: dict[str, Any]) -> None:
        """Keep the counts."""
        super().__init__(message)
        self.document = document


@dataclass(frozen=True)
class Injection:
    """Errors to put into codewords.

    Args:
        rber: Share of the bits to flip, above 0 and below 0.5.
        errors: Bits to flip in each codeword, instead.
        seed: Seed of their places.
    """

    rber: float | None = None
    errors: int | None = None
    seed: int = 42

    def __post_init__(self) -> None:
        """Refuse what cannot be injected."""
        if self.rber is not None and self.errors is not None:
            raise ConfigError("inject", "give either a bit error rate or errors per codeword")
        if self.rber is not None:
            check_rber("inject_ber", self.rber)
        if self.errors is not None and not 0 <= self.errors < 2**32:
            raise ConfigError("inject_errors", f"{self.errors} is refused; accepted: 0 and more")
        if not 0 <= self.seed < 2**64:
            raise ConfigError("seed", f"{self.seed} is refused; accepted: 0 to 2^64 - 1")

    def into(self, code: Code, words: bytes) -> tuple[bytes, int]:
        """Return the words with errors, and how many bits were flipped."""
        if self.rber is None and not self.errors:
            return words, 0
        return code.core.inject(words, self.seed, self.rber, self.errors)


def encode_file(
    source: str | Path,
    target: str | Path,
    code: str | Code,
    injection: Injection | None = None,
) -> dict[str, Any]:
    """Encode a file.

    Args:
        source: The file to encode, up to 1 GiB.
        target: The container to write.
        code: The code.
        injection: Errors to put in.

    Returns:
        What was done: words, bytes, injected errors.

    Raises:
        ConfigError: for a file that cannot be read or a code that is invalid.
        OutputError: when the container cannot be written.
    """
    source, target = Path(source), Path(target)
    code = Code.of(code)
    _refuse_same(source, target)
    check_writable(target)
    data = _read_bytes(source)
    words, injected = (injection or Injection()).into(code, code.core.encode(data))
    header = {
        "code": code.name,
        "code_identity": code.as_dict(),
        "data_bytes": len(data),
        "data_crc32": zlib.crc32(data),
        "words": _word_count(code, len(data)),
    }
    raw = canonical_json(header).encode()
    head = _HEAD.pack(MAGIC, VERSION, len(raw), zlib.crc32(raw))
    write_atomically(target, head + raw + words)
    return {**header, "container_bytes": len(head) + len(raw) + len(words), "injected": injected}


def decode_file(  # noqa: PLR0913 - one argument for each thing that is to be chosen
    source: str | Path,
    target: str | Path,
    *,
    code: str | None = None,
    decoder: Decoder | None = None,
    injection: Injection | None = None,
    rber: float | None = None,
) -> dict[str, Any]:
    """Decode a container.

    Args:
        source: The container.
        target: The file to write.
        code: Needed for an `ldpc:FILE` code, whose matrix is not in the container; for other codes
            the container names it.
        decoder: Decoder of an LDPC code.
        injection: Errors to put in first.
        rber: The bit error rate that LLRs are computed for; default that of the injection, or 5e-3.

    Returns:
        What was done: words, corrected bits, most corrected bits in a word.

    Raises:
        ResultError: when the container is damaged or foreign.
        UncorrectableError: when a word had too many errors; no file is left.
    """
    source, target = Path(source), Path(target)
    _refuse_same(source, target)
    check_writable(target)
    header, words = _read_container(source)
    chosen = _code_of(header, code, decoder, source)
    size = -(-chosen.code_bits // 8)
    expected = _word_count(chosen, header["data_bytes"])
    if header["words"] != expected or len(words) != expected * size:
        raise ResultError(
            f"{source}: damaged: {len(words)} bytes of codewords, not {expected} words of {size}"
        )
    injection = injection or Injection()
    words, injected = injection.into(chosen, words)
    believed = rber if rber is not None else injection.rber or RBER_ASSUMED
    decoded, corrected, failed = chosen.core.decode(words, check_rber("rber", believed))
    data = decoded[: header["data_bytes"]]
    document = {
        "code": header["code"],
        "words": expected,
        "data_bytes": len(data),
        "injected": injected,
        "corrected": sum(corrected),
        "corrected_max": max(corrected, default=0),
        "failed_words": len(failed),
    }
    if failed:
        raise UncorrectableError(
            f"{source}: {len(failed)} of {expected} words cannot be corrected, the first is word "
            f"{failed[0]}; nothing was written",
            document,
        )
    if zlib.crc32(data) != header["data_crc32"]:
        raise UncorrectableError(
            f"{source}: every word was decoded, but the CRC of the data disagrees: a word was "
            "miscorrected; nothing was written",
            document,
        )
    write_atomically(target, data)
    return document


def _refuse_same(source: Path, target: Path) -> None:
    if is_there(source) and is_there(target) and source.samefile(target):
        raise ConfigError("output", f"{target} is also the input: it would be overwritten")


def _word_count(code: Code, data_bytes: int) -> int:
    return -(-data_bytes * 8 // code.info_bits)


def _read_whole(path: Path, bytes_max: int) -> bytes:
    """Read a regular file; what is wrong with another one comes as the text of an `OSError`."""
    try:
        mode = path.stat()  # to open a pipe into which nobody writes would wait for ever
        if not stat.S_ISREG(mode.st_mode):
            is_folder = stat.S_ISDIR(mode.st_mode)
            raise OSError("is a directory" if is_folder else "no regular file")
        if mode.st_size > bytes_max:
            raise OSError(f"{mode.st_size} bytes; accepted: up to {bytes_max}")
        return path.read_bytes()
    except ValueError as error:  # such as a null character in the name
        raise OSError(str(error)) from error


def _read_bytes(path: Path) -> bytes:
    try:
        return _read_whole(path, FILE_BYTES_MAX)
    except OSError as error:
        raise ConfigError("input", f"{path}: {error.strerror or error}") from error


def _read_container(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        # A container is larger than its data by the rate of the code.
        raw = _read_whole(path, 64 * FILE_BYTES_MAX)
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from error
    if len(raw) < _HEAD.size or not raw.startswith(MAGIC):
        raise ResultError(f"{path}: no file of `ecc encode`: it does not begin with its magic")
    _, version, length, crc = _HEAD.unpack_from(raw)
    if version != VERSION:
        raise ResultError(f"{path}: version {version}; this build reads version {VERSION}")
    text = raw[_HEAD.size : _HEAD.size + length]
    if length > HEADER_BYTES_MAX or len(text) != length or zlib.crc32(text) != crc:
        raise ResultError(f"{path}: damaged: the header is cut off or its CRC disagrees")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error
    kinds = {"code": str, "code_identity": dict, "data_bytes": int, "data_crc32": int, "words": int}
    if not isinstance(header, dict) or any(
        type(header.get(key)) is not kind for key, kind in kinds.items()
    ):
        raise ResultError(f"{path}: damaged: the header needs {', '.join(kinds)}")
    if not 0 <= header["data_bytes"] <= FILE_BYTES_MAX:
        raise ResultError(f"{path}: damaged: {header['data_bytes']} bytes of data")
    return header, raw[_HEAD.size + length :]


def _code_of(
    header: dict[str, Any], given: str | None, decoder: Decoder | None, path: Path
) -> Code:
    identity = header["code_identity"]
    text = given or _text_of(identity)
    if text is None:
        raise ConfigError(
            "code",
            f"{path} was encoded with the matrix {header['code']}, which the file does not "
            f"contain: give --code ldpc:FILE",
        )
    code = Code.parse(text, decoder)
    if difference := first_difference(identity, code.as_dict(), "code"):
        raise ConfigError("code", f"{path} was encoded with another code ({difference})")
    return code


def _text_of(identity: dict[str, Any]) -> str | None:
    """Return how the code of a container is typed; None when its matrix is needed."""
    if identity.get("kind") == "bch":
        parts = [f"{key}={identity[key]}" for key in ("m", "t", "data_bits") if key in identity]
        return "bch:" + ",".join(parts)
    name = identity.get("name")
    # A name with a colon would lead to a file, or to code.
    is_name = identity.get("kind") == "nand" and isinstance(name, str) and ":" not in name
    return str(name) if is_name else None
