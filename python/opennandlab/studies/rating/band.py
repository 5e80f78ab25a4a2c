"""The drives that a data sheet would fit, and the bands of their figures, for all verbs.

    FILE.rating.json ──► variants: keys by name ──► the verb runs each ──► band of each figure

All variants of the record, or for `quick` the two policies at the nominal rate, of which least and
most are moved to the ends of what the rated rate may mean. What multiplies them is of the record.
"""

from __future__ import annotations

import json
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
from opennandlab.studies.rating.making import digest

RECORD_BYTES_MAX = 1 << 20
VARIANTS_MAX = 64
KINDS = ("all", "quick")


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

    def band(self, values: Mapping[str, float], least: float = 0.0) -> dict[str, Any]:
        """Return value, band, and the variants that set it.

        Args:
            values: By name of the variant.
            least: No band goes below it: 1 of an amplification.
        """
        low = min(values, key=lambda name: values[name])
        high = max(values, key=lambda name: values[name])
        ends = [max(values[low] * self.wider[0], least), values[high] * self.wider[1]]
        return {"value": next(iter(values.values())), "band": ends, "low_by": low, "high_by": high}

    def bands(self, rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, Any]]:
        """Return the bands of the figures that all variants have.

        Args:
            rows: Figures by name of the variant.
        """
        shared = [
            key for key in next(iter(rows.values())) if all(key in it for it in rows.values())
        ]
        return {
            key: self.band({name: row[key] for name, row in rows.items()}, float(key == "waf"))
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
            file, f"the record is of another device than {file.name}; accepted: both of one "
            "`config from-rating`, and --set KEY=VALUE for what is changed",
        )  # fmt: skip
    wider, keys = _constants(file, document, "band_low", "band_high"), map(_keys, listed)
    named = dict(zip((one.name for one in listed), keys, strict=True))
    if kind != KINDS[0]:
        wider, named = _quick(file, document)
    alpha, share = _number(file, document.solution, "alpha"), _number(
        file, document.constants, "metadata"
    )  # fmt: skip
    return Variants(named, wider, alpha, 1.0 - share)


def _quick(
    file: Path, document: RatingDocument
) -> tuple[tuple[float, float], dict[str, dict[str, Any]]]:
    """Return the policies at the nominal rate, and how far the rate may be from it."""
    if document.inputs.get("rated_state") != "steady":
        raise _refusal(file, "the sheet rates an empty drive; accepted: --band all")
    nominal = _number(file, document.constants, "random_over_rated")
    low, high = _constants(file, document, "random_over_rated_low", "random_over_rated_high")
    own = _keys(document.variants[0])
    policies = dict.fromkeys(one.gc_policy for one in document.variants)
    return (low / nominal, high / nominal), {
        name: {**own, "ftl.gc_policy": name} for name in policies
    }


def _constants(file: Path, document: RatingDocument, *names: str) -> tuple[float, float]:
    low, high = (_number(file, document.constants, name) for name in names)
    return low, high


def _number(file: Path, values: Mapping[str, float], name: str) -> float:
    found, most = values.get(name, 0.0), ALPHA_RANGE[1]
    if not 0.0 < found <= most:
        raise _refusal(file, f"`{name}` is {found}; accepted: above 0, at most {most:g}")
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
        "ftl.gc_policy": one.gc_policy,
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
