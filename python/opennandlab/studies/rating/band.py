"""A workload on each drive that a data sheet would fit: a band instead of a number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, DocumentError
from opennandlab.base.files import read_bytes
from opennandlab.core.config import DeviceConfig, own_device
from opennandlab.documents.rating import RATING_SCHEMA, RatingDocument, RatingVariant
from opennandlab.documents.record import read
from opennandlab.studies.rating.making import NOMINAL, WIDER, digest

RECORD_BYTES_MAX = 1 << 20
VARIANTS_MAX = 64
# Metrics of a result, and their names in tables.
METRICS = {
    "throughput_mb_s.write": "write MB/s",
    "throughput_mb_s.read": "read MB/s",
    "iops.total": "IOPS",
    "waf": "WAF",
}


@dataclass(frozen=True)
class Banded:
    """The runs of all variants.

    Args:
        rows: Metrics of each variant, by its name; the device itself first.
        bands: Value, least, most and the variants that set them, by metric.
        warnings: Of all runs, each once.
    """

    rows: dict[str, dict[str, float]]
    bands: dict[str, dict[str, Any]]
    warnings: list[str]


def variants(
    file: Path, settings: Mapping[str, Any]
) -> tuple[list[tuple[str, DeviceConfig]], list[str]]:
    """Return the drives that the sheet of a device file would fit, the file itself first.

    Args:
        file: The device, with its record next to it.
        settings: Keys that are changed in all of them, by dotted path.

    Raises:
        ConfigError: without a record, for one that cannot be read, for a setting in which variants
            differ, and for a device that the core refuses.
    """
    document = _record(file)
    if fixed := sorted(set(settings) & set(_keys(document.variants[0]))):
        message = "variants differ in it; accepted: other keys, or one run without --band"
        raise ConfigError(fixed[0], message)
    device = own_device(str(file))
    warnings = []
    if digest(device) != document.device_digest:
        warnings.append(
            f"{file} and its record are not of one `config from-rating`; variants keep its keys"
        )
    found = [(NOMINAL, own_device(str(file), dict(settings)))]
    found += [
        (one.name, own_device(str(file), {**_keys(one), **settings}))
        for one in document.variants[1:]
    ]
    return found, warnings


def _record(file: Path) -> RatingDocument:
    path = file.with_suffix(".rating.json")
    try:
        value = json.loads(read_bytes(path, RECORD_BYTES_MAX))
        document, _ = read(value, RatingDocument)
    except OSError as error:
        made = "`config from-rating` writes it next to the device"
        raise ConfigError("--band", f"{path}: {error.strerror or error}; {made}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError("--band", f"{path}: no JSON; accepted: {RATING_SCHEMA}") from error
    except DocumentError as error:
        raise ConfigError("--band", f"{path}: {error}; accepted: {RATING_SCHEMA}") from error
    if not 2 <= len(document.variants) <= VARIANTS_MAX:
        message = f"{path}: {len(document.variants)} variants; accepted: 2 to {VARIANTS_MAX}"
        raise ConfigError("--band", message)
    return document


def _keys(one: RatingVariant) -> dict[str, Any]:
    return {
        "ftl.gc_policy": one.gc_policy,
        "nand.blocks_per_plane": one.blocks_per_plane,
        "ftl.over_provisioning_pct": one.over_provisioning,
    }


def banded(
    drives: list[tuple[str, DeviceConfig]],
    run: Callable[[DeviceConfig], tuple[Mapping[str, Any], list[str]]],
) -> Banded:
    """Return the metrics of all drives and their bands.

    Args:
        drives: The drives, by name; the one that is asked for first.
        run: Returns metrics and warnings of a drive.
    """
    rows: dict[str, dict[str, float]] = {}
    warnings: dict[str, None] = {}
    for name, device in drives:
        metrics, noted = run(device)
        rows[name] = dict(_figures(metrics))
        warnings |= dict.fromkeys(noted)
    shared = [key for key in METRICS if all(key in row for row in rows.values())]
    bands = {key: _band(rows, key) for key in shared}
    return Banded(rows, bands, list(warnings))


def _figures(metrics: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for key in METRICS:
        value: Any = metrics
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, (int, float)) and value > 0:
            yield key, float(value)


def _band(rows: Mapping[str, Mapping[str, float]], key: str) -> dict[str, Any]:
    low = min(rows, key=lambda name: rows[name][key])
    high = max(rows, key=lambda name: rows[name][key])
    first = next(iter(rows.values()))[key]
    least = 1.0 if key == "waf" else 0.0
    ends = [max(rows[low][key] * WIDER[0], least), rows[high][key] * WIDER[1]]
    return {"value": first, "band": ends, "low_by": low, "high_by": high}
