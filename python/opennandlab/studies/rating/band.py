"""The drives that a data sheet would fit, and the bands of their figures, for all verbs.

    FILE.rating.json ──► variants: keys by name ──► the verb runs each ──► band of each figure

All variants of the record, or for `quick` the two policies at the nominal rate, of which least and
most are moved to the ends of what the rated rate may mean. What multiplies them is of the record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, DocumentError
from opennandlab.base.files import read_bytes
from opennandlab.core.config import own_device
from opennandlab.documents.rating import RATING_SCHEMA, RatingDocument, RatingVariant
from opennandlab.documents.record import read
from opennandlab.studies.rating.equations import ALPHA_RANGE, amplified_of, separated
from opennandlab.studies.rating.making import band_of, digest

RECORD_BYTES_MAX = 1 << 20
VARIANTS_MAX = 64
KINDS = ("all", "quick")
POLICY = "ftl.gc_policy"
# What bands take from a record, and its range.
NUMBERS = {
    "band_low": (0.5, 1.0), "band_high": (1.0, 2.0), "random_over_rated": (0.5, 2.0),
    "random_over_rated_low": (0.5, 2.0), "random_over_rated_high": (0.5, 2.0),
    "metadata": (0.0, 0.5), "alpha": ALPHA_RANGE,
}  # fmt: skip


@dataclass(frozen=True)
class Variants:
    """The drives that a sheet would fit.

    Args:
        keys: Keys of the device by name of the variant; the device as it was written first.
        wider: What least and most are multiplied by.
        alpha: Space for data over the capacity, of the device as it was written.
        data_share: Share of a row for data, k.
    """

    keys: dict[str, dict[str, Any]]
    wider: tuple[float, float]
    alpha: float
    data_share: float

    def bands(self, rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, Any]]:
        """Return the bands of the figures that all variants have.

        Args:
            rows: Figures by name of the variant.
        """
        shared = [
            key for key in next(iter(rows.values())) if all(key in it for it in rows.values())
        ]
        return {
            key: band_of(
                {name: row[key] for name, row in rows.items()}, self.wider, float(key == "waf")
            )
            for key in shared
        }

    def ideal_waf(self, share: float) -> float:
        """Return the amplification if a share that is never written were kept apart."""
        return amplified_of(separated(self.alpha, share)) / self.data_share


def variants(file: Path, settings: Mapping[str, Any], kind: str = KINDS[0]) -> Variants:
    """Return the drives that the sheet of a device file would fit, the file itself first.

    Args:
        file: The device, with its record next to it.
        settings: Keys that are changed in all of them, by dotted path.
        kind: One of `KINDS`.

    Raises:
        ConfigError: without a record, for one that cannot be read or is of another device, and for
            a setting in which variants differ.
    """
    document = _record(file)
    listed = document.variants
    if fixed := sorted(set(settings) & set(_keys(listed[0]))):
        message = "variants differ in it; accepted: other keys, or one run without --band"
        raise ConfigError(fixed[0], message)
    if digest(own_device(str(file))) != document.device_digest:
        raise _refusal(
            file, f"the record belongs to another device than {file.name}; accepted: both of one "
            "`config from-rating`, and --set KEY=VALUE for what is changed",
        )  # fmt: skip
    numbers = _numbers(file, document)
    wider = numbers["band_low"], numbers["band_high"]
    named = {one.name: _keys(one) for one in listed}
    if kind != KINDS[0]:
        if document.inputs.get("rated_state") != "steady":
            raise _refusal(file, "the sheet rates an empty drive; accepted: --band all")
        low, nominal, high = (numbers[f"random_over_rated{end}"] for end in ("_low", "", "_high"))
        wider = low / nominal, high / nominal
        named = {it.gc_policy: _keys(listed[0]) | {POLICY: it.gc_policy} for it in listed}
    return Variants(named, wider, numbers["alpha"], 1.0 - numbers["metadata"])


def _numbers(file: Path, document: RatingDocument) -> dict[str, float]:
    """Return the numbers of a record that bands are made with."""
    found = {**document.constants, **document.solution}
    for name, (low, high) in NUMBERS.items():
        if not low <= found.get(name, math.nan) <= high:
            message = f"`{name}` is {found.get(name)}; accepted: {low:g} to {high:g}"
            raise _refusal(file, message)
    return found


def _record(file: Path) -> RatingDocument:
    path = record_of(file)
    try:
        document, _ = read(json.loads(read_bytes(path, RECORD_BYTES_MAX)), RatingDocument)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _refusal(
            file, f"{reason}; `config from-rating` writes it next to the device"
        ) from error
    except (ValueError, RecursionError, DocumentError) as error:
        reason = str(error) if isinstance(error, DocumentError) else "no JSON"
        raise _refusal(file, f"{reason}; accepted: {RATING_SCHEMA}") from error
    names = {one.name for one in document.variants}
    if not 2 <= len(names) == len(document.variants) <= VARIANTS_MAX:
        count = len(document.variants)
        raise _refusal(file, f"{count} variants; accepted: 2 to {VARIANTS_MAX}, each name once")
    return document


def _refusal(file: Path, message: str) -> ConfigError:
    return ConfigError("--band", f"{record_of(file)}: {message}")


def record_of(device: Path) -> Path:
    """Return where the record of a device file is.

    >>> record_of(Path("my.yaml")).name
    'my.rating.json'
    """
    return device.with_suffix(".rating.json")


def _keys(one: RatingVariant) -> dict[str, Any]:
    return {
        POLICY: one.gc_policy,
        "nand.blocks_per_plane": one.blocks_per_plane,
        "ftl.over_provisioning_pct": one.over_provisioning,
    }


def figures(metrics: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield those of some figures that a result has, by dotted path."""
    for key in names:
        value: Any = metrics
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, (int, float)) and value > 0:
            yield key, float(value)
