"""Codes and decoders as they are typed: `bch:m=13,t=8,data_bits=4096`, `ldpc:FILE`, own names.

A code is known by what it *is* (parameters, or the SHA-256 of its matrix), not by where its file
is: that is what a journal is continued by and a container is decoded with.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_bytes
from opennandlab.policies import plugins, source

# A matrix of a million edges is about 10 MB of text; anything larger was given by mistake.
MATRIX_BYTES_MAX = 64 << 20
ACCEPTED = "bch:m=M,t=T[,data_bits=N], ldpc:FILE.alist, ldpc:FILE.qc, or a code of ours: "
# Columns of a matrix that are not sent, behind its file: `,punctured=1-64+70,shortened=129-140`.
_UNSENT = re.compile(r"(.*?)((?:,(?:punctured|shortened)=[^,=]*)*)", re.DOTALL)
OWN_NAMES = "such as nand-4k-r090"
# Decoder -> what it is.
DECODERS = {
    "layered-spa": "layered sum-product",
    "flooding-spa": "flooding sum-product",
    "layered-nms": "layered normalised min-sum",
    "flooding-nms": "flooding normalised min-sum",
    "layered-oms": "layered offset min-sum",
    "flooding-oms": "flooding offset min-sum",
    "gallager-b": "Gallager B, hard decisions",
    "weighted-bit-flip": "weighted bit flipping",
}
BOUNDED_DISTANCE = "bounded-distance"
ARITHMETICS = ("float32", "int8")
ITERATIONS_MAX = 10_000


@dataclass(frozen=True)
class Decoder:
    """How an LDPC code is decoded; BCH codes have one decoder and no settings.

    Args:
        algorithm: One of `DECODERS`.
        iterations: The most that are made.
        scale: Factor of normalised min-sum, above 0 and at most 1.
        offset: Offset of offset min-sum, in units of LLR, 0 to 10.
        arithmetic: `float32`, or `int8`: LLRs rounded to 8 bits and saturated, as in a
            controller; only min-sum computes in 8 bits throughout.
        stop: Whether a zero syndrome ends the iterations; False makes all of them.

    >>> Decoder("layered-oms", offset=0.5).as_dict()
    {'algorithm': 'layered-oms', 'iterations': 20, 'arithmetic': 'float32', 'offset': 0.5}
    """

    algorithm: str = "layered-nms"
    iterations: int = 20
    scale: float = 0.75
    offset: float = 0.5
    arithmetic: str = "float32"
    stop: bool = True

    def __post_init__(self) -> None:
        """Refuse settings that no decoder has."""
        if self.algorithm not in DECODERS:
            raise ConfigError(
                "decoder", f"`{self.algorithm}` is not a decoder; accepted: {', '.join(DECODERS)}"
            )
        if not 1 <= self.iterations <= ITERATIONS_MAX:
            raise ConfigError(
                "iterations", f"{self.iterations} is refused; accepted: 1 to {ITERATIONS_MAX}"
            )
        if not 0.0 < self.scale <= 1.0:
            raise ConfigError("scale", f"{self.scale} is refused; accepted: above 0, up to 1")
        if not 0.0 <= self.offset <= 10.0:
            raise ConfigError("offset", f"{self.offset} is refused; accepted: 0 to 10")
        if self.arithmetic not in ARITHMETICS:
            raise ConfigError(
                "arithmetic", f"`{self.arithmetic}` is refused; accepted: {', '.join(ARITHMETICS)}"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings that have an effect."""
        settings: dict[str, Any] = {
            "algorithm": self.algorithm,
            "iterations": self.iterations,
            "arithmetic": self.arithmetic,
        }
        if not self.stop:
            settings["stop"] = False
        if self.algorithm.endswith("-nms"):
            settings["scale"] = self.scale
        if self.algorithm.endswith("-oms"):
            settings["offset"] = self.offset
        return settings


@dataclass(frozen=True)
class Code:
    """A code.

    Args:
        text: As it was typed.
        identity: What it is: parameters, name, or the SHA-256 of its matrix.
        spec: As the core builds it, without the decoder.
        decoder: How it is decoded; None for BCH.

    >>> code = Code.parse("bch:m=13,t=8,data_bits=4096")
    >>> code.code_bits, code.info_bits, round(code.rate, 4)
    (4200, 4096, 0.9752)
    """

    text: str
    identity: dict[str, Any]
    spec: dict[str, Any] = field(repr=False)
    decoder: Decoder | None = None

    @classmethod
    def parse(cls, text: str, decoder: Decoder | None = None) -> Code:
        """Build a code from its description.

        Args:
            text: `bch:m=M,t=T[,data_bits=N]`, `ldpc:FILE.alist`, `ldpc:FILE.qc`, or a name. Behind
                a file `,punctured=` and `,shortened=` with columns from 1, as `1-64+70`.
            decoder: For LDPC codes; default `Decoder()`.

        Raises:
            ConfigError: for a description that is not a code, and why.
        """
        kind, colon, rest = text.partition(":")
        if kind == "bch":
            parameters = _bch_parameters(rest if colon else "")
            return cls(text, {"kind": "bch", **parameters}, {"kind": "bch", **parameters}).checked()
        decoder = decoder or Decoder()
        if kind == "ldpc" and colon:
            file, unsent = _unsent(rest)
            matrix, form = _matrix(Path(file))
            digest = hashlib.sha256(matrix.encode()).hexdigest()
            identity = {"kind": "ldpc", "matrix_sha256": digest, **unsent}
            spec = {"kind": form, "text": matrix, **unsent}
            try:
                return cls(text, identity, spec, decoder).checked()
            except ConfigError as error:
                if error.path != "code":
                    raise
                raise ConfigError("code", f"{rest}: {error.message}") from error
        if colon and kind != "ldpc" and source.leads_somewhere(text):
            return cls._own(text, text, decoder)
        if colon or not text.strip():
            raise ConfigError(
                "code",
                f"`{text}` is not a known code; accepted: {ACCEPTED}{OWN_NAMES}, or module:name",
            )
        identity = {"kind": "nand", "name": text}
        try:
            return cls(text, identity, {"kind": "nand", "name": text}, decoder).checked()
        except ConfigError:
            plugin = plugins.find("codes", text, "code")
            if plugin is None:
                raise
            return cls._own(text, plugin.object, decoder)

    @classmethod
    def _own(cls, text: str, name: str, decoder: Decoder | None) -> Code:
        """Return the code that an object of somebody's own describes."""
        thing = source.taken(name, "codes", "code")[1]
        thing = thing() if callable(thing) else thing
        if isinstance(thing, str) and "\n" not in thing:
            return replace(cls.parse(thing, decoder), text=text)
        matrix = thing if isinstance(thing, str) else _alist(thing, name)
        digest = hashlib.sha256(matrix.encode()).hexdigest()
        identity = {"kind": "ldpc", "matrix_sha256": digest}
        spec = {"kind": "alist", "text": matrix}
        return cls(text, identity, spec, decoder or Decoder()).checked()

    @classmethod
    def of(cls, given: str | Code, decoder: Decoder | None = None) -> Code:
        """Return a code that is given as text or as a code.

        Args:
            given: The description, as for `parse`, or the code.
            decoder: For an LDPC code given as text.

        Raises:
            ConfigError: for a description that is not a code, and for anything else.
        """
        if isinstance(given, Code):
            return given
        if not isinstance(given, str):
            raise ConfigError("code", f"`{given!r}` is not a code; accepted: {ACCEPTED}{OWN_NAMES}")
        return cls.parse(given, decoder)

    def checked(self) -> Code:
        """Build it once, so that an impossible code is refused where it is typed."""
        _ = self.core
        return self

    @cached_property
    def core(self) -> _core.EccCodec:
        """The code and its decoder in the core."""
        settings = {} if self.decoder is None else self.decoder.as_dict()
        return _core.EccCodec(json.dumps({**self.spec, **settings}))

    @property
    def code_bits(self) -> int:
        """Bits of a codeword that are sent."""
        return self.core.shape()[0]

    @property
    def info_bits(self) -> int:
        """Information bits of a codeword."""
        return self.core.shape()[1]

    @property
    def chunk_frames(self) -> int:
        """Frames that are simulated at a time."""
        return self.core.shape()[2]

    @property
    def rate(self) -> float:
        """Information bits per sent bit."""
        return self.info_bits / self.code_bits

    @property
    def t(self) -> int | None:
        """Errors that bounded-distance decoding corrects; None for LDPC."""
        value: int | None = self.identity.get("t")
        return value

    @property
    def decoder_text(self) -> str:
        """Name of the decoder."""
        return BOUNDED_DISTANCE if self.decoder is None else self.decoder.algorithm

    @property
    def name(self) -> str:
        """A short name; of a matrix the file's, without its folder."""
        kind, _, rest = self.text.partition(":")
        return Path(rest).name if kind == "ldpc" else self.text

    def as_dict(self) -> dict[str, Any]:
        """Return what the code is, for documents."""
        reduced = self.core.reduced_shifts()
        return {
            **self.identity,
            **({"reduced_shifts": reduced} if reduced else {}),
            "code_bits": self.code_bits,
            "info_bits": self.info_bits,
            "rate": self.rate,
        }


def _alist(matrix: Any, name: str) -> str:  # noqa: ANN401 (whatever was given)
    """Return the alist text of a parity-check matrix: rows are checks, columns are bits.

    >>> _alist([[1, 1, 0], [0, 1, 1]], "two checks").splitlines()[:3]
    ['3 2', '2 2', '1 2 1']
    """
    import numpy as np

    try:
        table = np.asarray(matrix)
        fits = table.ndim == 2 and table.size > 0 and bool(np.isin(table, (0, 1)).all())
    except ValueError:
        fits = False
    if not fits:
        raise ConfigError(
            "code",
            f"`{name}` gives {type(matrix).__name__}; accepted: the text of a code, an alist, a "
            "matrix of 0 and 1 with a row for each check, or a function that returns one of them",
        )
    lists = [[(np.flatnonzero(line) + 1).tolist() for line in side] for side in (table.T, table)]
    most = [max(map(len, side)) for side in lists]
    lines = [[len(lists[0]), len(lists[1])], most, *([len(it) for it in side] for side in lists)]
    for side, limit in zip(lists, most, strict=True):
        lines += [places + [0] * (limit - len(places)) for places in side]
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def _bch_parameters(text: str) -> dict[str, int]:
    parameters: dict[str, int] = {}
    for part in text.split(",") if text else []:
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in {"m", "t", "data_bits"} or not equals:
            raise ConfigError(
                "code", f"`{part}` is not a parameter of a BCH code; accepted: m=, t=, data_bits="
            )
        if key in parameters:
            raise ConfigError("code", f"`{key}` is given twice")
        # Only plain digits: int() would also take signs, blanks, underscores and other scripts.
        if not (value.isascii() and value.isdigit() and len(value) <= 9):
            raise ConfigError("code", f"{key} is `{value}`; accepted: a whole number")
        parameters[key] = int(value)
    missing = [key for key in ("m", "t") if key not in parameters]
    if missing:
        raise ConfigError(
            "code", f"a BCH code needs {' and '.join(missing)}; accepted: {ACCEPTED}{OWN_NAMES}"
        )
    return parameters


def _unsent(text: str) -> tuple[str, dict[str, str]]:
    """Return a file, and the columns of its matrix that are not sent.

    >>> _unsent("code.alist,punctured=1-64+70")
    ('code.alist', {'punctured': '1-64+70'})
    """
    file, rest = _UNSENT.fullmatch(text).groups()  # type: ignore[union-attr]
    pairs = [part.split("=") for part in rest.split(",")[1:]]
    found = dict(pairs)
    if len(found) < len(pairs) or "" in found.values():
        message = f"`{rest[1:]}`; accepted: punctured= and shortened= once each, with columns"
        raise ConfigError("code", message)
    return file, found


def _matrix(path: Path) -> tuple[str, str]:
    """Return the text of a matrix file and its form."""
    form = path.suffix.lower().removeprefix(".")
    if form not in {"alist", "qc"}:
        raise ConfigError(
            "code", f"{path}: the form of a matrix follows from its ending; accepted: .alist, .qc"
        )
    try:
        raw = read_bytes(path, MATRIX_BYTES_MAX)
    except OSError as error:
        raise ConfigError("code", f"{path}: {error.strerror or error}") from error
    try:
        return raw.decode("ascii"), form
    except UnicodeDecodeError as error:
        raise ConfigError("code", f"{path}: byte {error.start} is not a text of numbers") from error
