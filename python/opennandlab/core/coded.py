"""The `ecc` section of a device file as people have it: codes by one word, controllers, curves.

```text
  code: bch:…|name|ldpc:FILE   ─► step_bytes, strength | ldpc_code | ldpc_matrix: its lengths
  dialect: NAME                ─► step_bytes, strength, primitive_poly, bit_order, meta_bytes
  fer_table: {curves: [FILE]}  ─► rows of RBER and frame error rates
  text of a device tree        ─► step_bytes, strength
```
Files are read here, once: what the core gets, and what a result records, needs none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import ConfigError, ResultError

if TYPE_CHECKING:
    from opennandlab.documents.ecc import CurveDocument

Section = dict[str, Any]

# Properties of a device tree, as Linux names them -> keys.
PROPERTIES = {"nand-ecc-step-size": "step_bytes", "nand-ecc-strength": "strength"}
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_PROPERTY = re.compile(r"([\w,-]+)\s*=\s*(?:<\s*(0x[0-9a-fA-F]+|\d+)\s*>|\"([^\"]*)\")")
SIZES = ("code_bits", "info_bits", "rate", "reduced_shifts")
TABLE = "ecc.fer_table"


def of_fragment(text: str) -> Section:
    """Return the section that a fragment of a device tree states.

    Raises:
        ConfigError: for anything but its two properties of ECC.

    >>> of_fragment("nand-ecc-step-size = <512>; nand-ecc-strength = <8>;")
    {'algorithm': 'bch', 'step_bytes': 512, 'strength': 8}
    """
    section: Section = {"algorithm": "bch"}
    for part in _COMMENT.sub("", text).split(";"):
        found = _PROPERTY.fullmatch(part.strip())
        name, number, word = found.groups() if found else ("", None, None)
        if name in PROPERTIES and number is not None:
            if PROPERTIES[name] in section:
                raise ConfigError("ecc", f"{name} is given twice; accepted: once")
            section[PROPERTIES[name]] = int(number, 0)
        elif part.strip() and (name, word) != ("nand-ecc-algo", "bch"):
            accepted = f'{", ".join(PROPERTIES)} in <>, nand-ecc-algo = "bch"; or a mapping'
            raise ConfigError("ecc", f"`{part.strip()[:60]}` is refused; accepted: {accepted}")
    return section


def with_code(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a device whose code is stated by numbers alone.

    Args:
        document: A device.
        folder: From where its files are seen.

    Raises:
        ConfigError: for names and files that state no code, and for keys that contradict them.
    """
    given = document.get("ecc")
    if not isinstance(given, Mapping):
        return document
    section = dict(given)
    for key, read in (("code", _of_code), ("dialect", _of_dialect)):
        if section.get(key) is not None:
            if not isinstance(section[key], str):
                raise ConfigError(f"ecc.{key}", f"`{section[key]}` is refused; accepted: a name")
            _merge(section, key, read(section, folder))
    if isinstance(section.get("fer_table"), Mapping):
        section["fer_table"] = _of_curves(section, folder)
    return {**document, "ecc": section}


def _merge(section: Section, by: str, found: Section) -> None:
    for key, value in found.items():
        if section.get(key, value) != value:
            raise ConfigError(
                f"ecc.{key}",
                f"{section[key]} contradicts ecc.{by} `{section[by]}`, which gives {value}; "
                "accepted: one of the two",
            )
        section[key] = value


def _of_code(section: Section, folder: Path) -> Section:
    """Return what a code of the lab means in a drive."""
    text = section["code"]
    kind, colon, _ = text.partition(":")
    if not colon:
        return {"algorithm": "ldpc", "ldpc_code": text}
    if kind == "ldpc":
        if "ldpc_matrix" in section:  # as recorded
            return {"algorithm": "ldpc"}
        code = _code(text, folder)
        sizes = {"data_bits": code.info_bits, "code_bits": code.code_bits}
        matrix = {"sha256": code.identity["matrix_sha256"], **sizes}
        return {"algorithm": "ldpc", "ldpc_matrix": matrix}
    if kind != "bch":
        accepted = "bch:…, ldpc:FILE, or the name of an LDPC code of the package"
        raise ConfigError("ecc.code", f"`{text}` is not a code of a drive; accepted: {accepted}")
    bch = _code(text, folder).identity
    if "data_bits" not in bch:
        return {"algorithm": "bch", "bch_m": bch["m"], "bch_t": bch["t"]}
    step_bytes, rest = divmod(bch["data_bits"], 8)
    if rest:
        message = f"data_bits={bch['data_bits']} is refused; accepted: whole bytes of a page"
        raise ConfigError("ecc.code", message)
    return {
        "algorithm": "bch",
        "bch_m": bch["m"],
        "step_bytes": step_bytes,
        "strength": bch["t"],
    }


def _code(text: str, folder: Path) -> Any:  # noqa: ANN401 (a Code, whose module is loaded late)
    from opennandlab.ecc.codes import Code

    kind, _, rest = text.partition(":")
    try:
        return Code.parse(f"ldpc:{folder / rest}" if kind == "ldpc" else text)
    except ConfigError as error:
        raise ConfigError("ecc.code", error.message) from error


def _of_dialect(section: Section, _: Path) -> Section:
    """Return the code of a controller."""
    from opennandlab.ecc.dumps.dialects import DIALECTS, Asked, layout_of

    name = section["dialect"]
    if any(type(section.get(key, 0)) is not int for key in ("step_bytes", "strength")):
        return {}  # refused by the core
    step = section.get("step_bytes") or min(DIALECTS[name].fields if name in DIALECTS else [512])
    strengths = DIALECTS[name].strengths if name in DIALECTS else ()
    strength = section.get("strength") or (strengths[0] if len(strengths) == 1 else None)
    try:
        layout = layout_of(name, Asked(4 * step, 4 * step, step, strength))
    except ConfigError as error:
        key = {"--step": "step_bytes", "--strength": "strength"}.get(error.path, "dialect")
        raise ConfigError(f"ecc.{key}", error.message) from error
    covered = {sum(stop - start for start, stop in word.covered) for word in layout.words}
    if len(covered) > 1 or min(covered) % 8:
        lengths = " and ".join(f"{bits / 8:g}" for bits in sorted(covered))
        message = f"words of `{name}` cover {lengths} bytes; accepted: equal whole bytes"
        raise ConfigError("ecc.dialect", message)
    return {
        "algorithm": "bch",
        "step_bytes": step,
        "strength": layout.strength,
        "primitive_poly": layout.polynomial,
        "bit_order": layout.order,
        "meta_bytes": min(covered) // 8 - step,
    }


def _of_curves(section: Section, folder: Path) -> list[list[float | None]]:
    """Return the rows of saved curves, one for each number of reads."""
    table = section["fer_table"]
    files = table.get("curves")
    if set(table) != {"curves"} or not isinstance(files, list) or not files:
        accepted = "rows, or {curves: [one.json, three.json, seven.json]}"
        raise ConfigError(TABLE, f"`{dict(table)}` is refused; accepted: {accepted}")
    if section.get("ldpc_code"):
        identity = {"kind": "nand", "name": section["ldpc_code"]}
    elif str(section.get("code", "")).startswith("ldpc:"):
        identity = _code(section["code"], folder).identity
    else:
        raise ConfigError(TABLE, "has no effect on this code; accepted: with algorithm ldpc")
    columns: dict[int, dict[float, float]] = {}
    decoder = None
    for name in files:
        path = folder / str(name)
        curve = _curve(path)
        reads = _reads(path, curve, identity)
        if reads in columns:
            raise ConfigError(TABLE, f"{path}: a second curve of {reads} reads; accepted: one")
        if decoder not in {None, str(curve.decoder_settings)}:
            message = f"{path}: another decoder than the curve before; accepted: one decoder"
            raise ConfigError(TABLE, message)
        decoder, columns[reads] = str(curve.decoder_settings), _rates(path, curve)
    if 1 not in columns:
        accepted = "a curve of the channel bsc, and those of sensing:3 and sensing:7"
        raise ConfigError(TABLE, f"no curve of one read; accepted: {accepted}")
    points = sorted({x for rates in columns.values() for x in rates})
    return [[x, *(columns.get(reads, {}).get(x) for reads in (1, 3, 7))] for x in points]


def _curve(path: Path) -> CurveDocument:
    from opennandlab.documents.ecc import CURVE_SCHEMA, CurveDocument
    from opennandlab.documents.saved import read_document, refuse_edited, typed

    try:
        document = read_document(path, [CURVE_SCHEMA])
        refuse_edited(path, document)
        return typed(path, document, CurveDocument)
    except ResultError as error:
        raise ConfigError(TABLE, str(error)) from error


def _reads(path: Path, curve: CurveDocument, identity: Mapping[str, Any]) -> int:
    """Return the reads of a curve of this code."""
    known = {key: value for key, value in curve.code_identity.items() if key not in SIZES}
    if known != identity:
        message = f"{path}: of another code, `{curve.code}`; accepted: curves of {dict(identity)}"
        raise ConfigError(TABLE, message)
    columns = {"bsc": 1, "sensing:3": 3, "sensing:7": 7}
    kinds = ({"kind": "bsc"}, {"kind": "sensing", "reads": 3}, {"kind": "sensing", "reads": 7})
    if curve.channel not in columns or curve.channel_settings not in kinds:
        accepted = f"{', '.join(columns)}, without thresholds, ratio or LLRs of one's own"
        message = f"{path}: of the channel {curve.channel_settings}; accepted: {accepted}"
        raise ConfigError(TABLE, message)
    return columns[curve.channel]


def _rates(path: Path, curve: CurveDocument) -> dict[float, float]:
    """Return the points at which frames were lost, which must rise."""
    low = next((point.fer for point in curve.points if point.fer < 0.0), None)
    if low is not None:
        raise ConfigError(TABLE, f"{path}: damaged, a rate of {low:g}; accepted: 0 to 1")
    met = [point for point in curve.points if point.fer > 0.0]
    if len(met) < 2:
        message = f"{path}: {len(met)} points with frame errors; accepted: 2 or more"
        raise ConfigError(TABLE, message)
    for before, after in pairwise(met):
        if after.fer <= before.fer < 1.0:
            message = (
                f"{path}: the rate {after.fer:g} at {after.x:g} is not above {before.fer:g} at "
                f"{before.x:g}; accepted: rising ones, with more --errors"
            )
            raise ConfigError(TABLE, message)
    return {point.x: point.fer for point in met}
