"""Curves as they are drawn, whatever they come from: documents, comparisons, published CSV files.

```text
ecc-curve ───────┐
ecc-comparison ──┼──► DrawnCurve { name, points, document } ──► charts
CSV ─────────────┘        a CSV file has no document: it names neither code nor channel
```
A CSV file has a head. Its columns are `rber`, `ebn0_db` or `x`; `fer`; and, where they are known,
`fer_low`, `fer_high`, `ber` and `label`, with a curve for each label. Lines that begin with `#` are
remarks. A frame error rate of 0 needs `fer_high`: it states no more than a bound.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.base.files import read_bytes
from opennandlab.documents.ecc import (
    COMPARISON_SCHEMA,
    CURVE_BYTES_MAX,
    CURVE_SCHEMA,
    CodeComparison,
    CurveDocument,
    CurvePoint,
)
from opennandlab.documents.record import shown as value_shown
from opennandlab.documents.saved import read_document, typed

XKind = Literal["rber", "ebn0_db"]
X_NAMES = {"rber": "raw bit error rates", "ebn0_db": "Eb/N0 in dB"}
COLUMNS = ("rber", "ebn0_db", "x", "fer", "fer_low", "fer_high", "ber", "label")
PUBLISHED = "published"
# Settings of a decoder by the words that distinguish curves.
DECODER_WORDS = {
    "algorithm": "{}", "iterations": "{} iterations", "scale": "x {}", "offset": "offset {}",
    "arithmetic": "{}", "stop": "stop {}",
}  # fmt: skip


@dataclass(frozen=True)
class DrawnPoint:
    """A point of a curve.

    Args:
        x: RBER, or Eb/N0 in dB.
        fer: Frame error rate; of a bound what was seen, which says nothing.
        low: Lower end of the interval; None where none is known.
        high: Its upper end.
        ber: Bit error rate; None where it is not known.
        method: As in documents, or `published`.
        is_bound: Whether only the upper end is known.
    """

    x: float
    fer: float
    low: float | None
    high: float | None
    ber: float | None
    method: str
    is_bound: bool = False


@dataclass(frozen=True)
class DrawnCurve:
    """A curve.

    Args:
        name: In the legend.
        x: What its points are; None for a CSV file that does not say.
        points: In ascending order.
        origin: The file it comes from; empty for one that was just measured.
        document: What was measured; None for a CSV file.
    """

    name: str
    x: XKind | None
    points: tuple[DrawnPoint, ...]
    origin: str = ""
    document: CurveDocument | None = None


def of_document(document: CurveDocument, origin: str = "") -> DrawnCurve:
    """Return a measured curve; its name is the code and its decoder."""
    points = tuple(_point(point) for point in document.points)
    kind: XKind = "rber" if document.x == "rber" else "ebn0_db"
    return DrawnCurve(_short(document), kind, points, origin, document)


def read_curves(
    paths: Sequence[Path], x: XKind | None = None, others: Sequence[DrawnCurve] = ()
) -> list[DrawnCurve]:
    """Return the curves of files.

    Args:
        paths: Curves, comparisons of codes, and CSV files.
        x: What the column `x` of CSV files is, where nothing else says it.
        others: Curves that do not come from files, behind those that do.

    Raises:
        ConfigError: where they have no common axis.
        ResultError: for a file that is none of these, or is damaged, and where.
    """
    found: list[DrawnCurve] = []
    for path in paths:
        if path.suffix.lower() == ".csv":
            found += _of_csv(path)
            continue
        document = read_document(path, [CURVE_SCHEMA, COMPARISON_SCHEMA])
        if document["schema"] == CURVE_SCHEMA:
            found.append(of_document(typed(path, document, CurveDocument), str(path)))
        else:
            comparison = typed(path, document, CodeComparison)
            found += [of_document(curve, str(path)) for curve in comparison.curves]
    return on_one_axis([*found, *others], x)


def on_one_axis(curves: Sequence[DrawnCurve], x: XKind | None = None) -> list[DrawnCurve]:
    """Return curves that all say what their points are.

    Raises:
        ConfigError: where they differ, or none says it.
    """
    known = [curve for curve in curves if curve.x is not None]
    kinds: dict[XKind | None, DrawnCurve] = {}
    for curve in known:
        kinds.setdefault(curve.x, curve)
    if len(kinds) > 1:
        told = " and ".join(
            f"{X_NAMES[kind]} ({curve.origin or curve.name})"
            for kind, curve in kinds.items() if kind is not None
        )  # fmt: skip
        raise ConfigError(
            "x", f"{told} cannot share an axis; accepted: curves over the same quantity"
        )
    kind = known[0].x if known else x
    if kind is None and curves:
        raise ConfigError(
            "x", f"{curves[0].origin}: column `x` does not state what it is; accepted: a column "
            "called rber or ebn0_db, or --x rber or --x ebn0_db"
        )  # fmt: skip
    return [_checked(replace(curve, x=kind)) for curve in curves]


def named_apart(curves: Sequence[DrawnCurve]) -> list[DrawnCurve]:
    """Return curves whose names distinguish them: with the settings in which they differ.

    The decoder is named unless all have the same; the file where nothing else distinguishes curves.
    """
    parts = [_parts(curve) for curve in curves]
    is_common = len(curves) > 1 and common_decoder(curves)
    shown = []
    for own in parts:
        alike = [other for other in parts if other["code"] == own["code"]]
        keys = dict.fromkeys(key for other in alike for key in other)
        differing = [key for key in keys if len({other.get(key, "") for other in alike}) > 1]
        if not is_common:
            differing = list(dict.fromkeys(["algorithm", *differing]))
        words = [own[key] for key in differing if own.get(key)]
        shown.append(", ".join([own["code"], *words]))
    names = [
        f"{name} ({Path(curve.origin).name})" if shown.count(name) > 1 and curve.origin else name
        for curve, name in zip(curves, shown, strict=True)
    ]
    return [replace(curve, name=name) for curve, name in zip(curves, names, strict=True)]


def common_decoder(curves: Sequence[DrawnCurve]) -> str:
    """Return the decoder of all curves that have a choice of one; empty where they differ."""
    found = {decoder_of(curve) for curve in curves} - {""}
    return found.pop() if len(found) == 1 else ""


def decoder_of(curve: DrawnCurve) -> str:
    """Return the decoder of a curve; empty for a code that has no choice of one."""
    return _parts(curve).get("algorithm", "")


def channel_words(settings: Mapping[str, Any]) -> str:
    """Return a channel in words.

    >>> channel_words({"kind": "sensing", "reads": 3}), channel_words({"kind": "bsc"})
    ('3 reads', '1 read')
    """
    kind, reads = settings["kind"], settings.get("reads")
    words = {"bsc": "1 read", "awgn": "BPSK", "unquantised": "exact voltages"}.get(kind, "")
    words = words or f"{reads} read" + "s" * (reads != 1)
    if "thresholds" in settings:
        words += " at " + ", ".join(f"{value:g}" for value in settings["thresholds"])
    if "spacing" in settings:
        words += f", {settings['spacing']:g} apart"
    if "sigma_ratio" in settings:
        words += f", widths 1 : {settings['sigma_ratio']:g}"
    if "llr_rber" in settings:
        words += f", LLRs of RBER {settings['llr_rber']:g}"
    return words


def _parts(curve: DrawnCurve) -> dict[str, str]:
    """Return what may tell a curve from others, in words."""
    document = curve.document
    if document is None:
        return {"code": curve.name}
    found = {"code": curve.name}
    try:
        for key, form in DECODER_WORDS.items():
            value = (document.decoder_settings or {}).get(key)
            found[key] = "" if value is None else form.format(value)
        found["channel"] = channel_words(document.channel_settings)
    except (KeyError, TypeError, ValueError) as error:
        settings = value_shown([document.decoder_settings, document.channel_settings], 200)
        raise ResultError(
            f"{curve.origin or curve.name}: damaged: {settings} is not valid; accepted: the "
            "settings of a decoder and of a channel"
        ) from error
    found["codewords"] = "" if document.codewords == "random" else "zero codewords"
    found["seed"] = f"seed {document.seed}"
    return found


def _short(document: CurveDocument) -> str:
    kind, _, rest = document.code.partition(":")
    return Path(rest).name if kind == "ldpc" else document.code


def _point(point: CurvePoint) -> DrawnPoint:
    share = point.unseen_share
    # What strata did not see may be more than what they saw: then there is no rate.
    is_unseen = point.method == "importance_sampling" and (
        not isinstance(share, float) or share > 1.0
    )
    is_exact = point.method == "analytic"
    return DrawnPoint(
        point.x,
        point.fer,
        None if is_exact else point.fer_low,
        None if is_exact else point.fer_high,
        point.ber,
        point.method,
        is_bound=not is_exact and (point.fer == 0.0 or is_unseen),
    )


def _checked(curve: DrawnCurve) -> DrawnCurve:
    """Refuse what is no raw bit error rate."""
    if curve.x == "rber":
        wrong = next((point.x for point in curve.points if not 0.0 < point.x < 0.5), None)
        if wrong is not None:
            raise ConfigError(
                "x", f"{curve.origin or curve.name}: {wrong:g} is not a raw bit error rate; "
                "accepted: above 0, below 0.5"
            )  # fmt: skip
    return curve


def _of_csv(path: Path) -> list[DrawnCurve]:
    """Return the curves of a CSV file, one for each label."""
    try:
        text = read_bytes(path, CURVE_BYTES_MAX).decode("utf-8-sig")
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: byte {error.start} is not UTF-8 text") from error
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise ResultError(f"{path}: empty; accepted: a head such as `rber,fer`, and lines below it")
    heads = _heads(path, *lines[0])
    curves: dict[str, list[DrawnPoint]] = {}
    for number, line in lines[1:]:
        label, point = _row(f"{path}, line {number}", heads, line)
        there = curves.setdefault(label or path.stem, [])
        if any(point.x == one.x for one in there):
            raise ResultError(f"{path}, line {number}: {point.x:g} is given twice; accepted: once")
        there.append(point)
    if not curves:
        raise ResultError(f"{path}: has a head and no points")
    kind: XKind | None = "rber" if "rber" in heads else "ebn0_db" if "ebn0_db" in heads else None
    return [
        DrawnCurve(label, kind, tuple(sorted(points, key=lambda point: point.x)), str(path))
        for label, points in curves.items()
    ]


def _heads(path: Path, number: int, line: str) -> list[str]:
    """Return the heads of a CSV file."""
    where = f"{path}, line {number}"
    heads = [head.strip().lower() for head in next(csv.reader([line]))]
    for head in heads:
        if head not in COLUMNS:
            raise ResultError(f"{where}: column `{head}`; accepted: {', '.join(COLUMNS)}")
        if heads.count(head) > 1:
            raise ResultError(f"{where}: column `{head}` is given twice")
    if sum(head in {"rber", "ebn0_db", "x"} for head in heads) != 1:
        raise ResultError(f"{where}: {', '.join(heads)}; accepted: one of rber, ebn0_db and x")
    if "fer" not in heads:
        raise ResultError(f"{where}: column `fer` is missing")
    return heads


def _row(where: str, heads: Sequence[str], line: str) -> tuple[str, DrawnPoint]:
    """Return the label and the point of a line of a CSV file."""
    cells = [cell.strip() for cell in next(csv.reader([line]))]
    if len(cells) != len(heads):
        raise ResultError(f"{where}: {len(cells)} cells; accepted: {len(heads)}, as in the head")
    row = dict(zip(heads, cells, strict=True))
    label = row.pop("label", "")
    values = dict(_numbers(where, row.items()))
    x = next((values[key] for key in ("rber", "ebn0_db", "x") if values.get(key) is not None), None)
    fer, low, high = (values.get(key) for key in ("fer", "fer_low", "fer_high"))
    if x is None or fer is None:
        name = "fer" if x is not None else heads[0]
        raise ResultError(f"{where}, column `{name}`: empty; accepted: a number")
    if "rber" in values and not 0.0 < x < 0.5:
        raise ResultError(f"{where}, column `rber`: {x:g}; accepted: above 0, below 0.5")
    if fer == 0.0 and not high:
        raise ResultError(
            f"{where}, column `fer`: 0 means nothing without its upper end; accepted: `fer_high`"
        )
    for name, is_wrong in (
        ("fer_low", low is not None and low > fer),
        ("fer_high", high is not None and high < fer),
    ):
        if is_wrong:
            raise ResultError(f"{where}, column `{name}`: {values[name]:g} with a fer of {fer:g}")
    if fer > 0.0 and (low is None) != (high is None):
        name = "fer_low" if low is None else "fer_high"
        raise ResultError(f"{where}, column `{name}`: empty; accepted: both ends or none")
    point = DrawnPoint(x, fer, low, high, values.get("ber"), PUBLISHED, is_bound=fer == 0.0)
    return label, point


def _numbers(where: str, cells: Iterable[tuple[str, str]]) -> Iterator[tuple[str, float | None]]:
    for name, cell in cells:
        value: float | None = None
        if cell:
            try:
                value = float(cell)
            except ValueError:
                value = math.nan
            is_rate = name not in {"ebn0_db", "x", "rber"}
            if not math.isfinite(value) or (is_rate and not 0.0 <= value <= 1.0):
                accepted = "0 to 1" if is_rate else "a number"
                raise ResultError(f"{where}, column `{name}`: `{cell}`; accepted: {accepted}")
        yield name, value
