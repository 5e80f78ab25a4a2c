"""What the drives of a comparison cost: per TB, per 1000 IOPS, per TBW and per year.

```text
price of a drive ──────────────────────────┐
watts x hours of the years x price of a kWh ┴─► total ─► / capacity, / rate, / TBW, / years
```
Prices are the user's, in a file; nothing is assumed. Watts are those of the file, else of the run.
A figure of which a part is missing is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.base.files import read_yaml
from opennandlab.core.result import Result
from opennandlab.documents.comparison import Cost, CostRow

HOURS_PER_YEAR = 8766.0
KEYS, OF_DRIVE = ("currency", "years", "kwh_price", "drives"), ("price", "watts")
AMOUNT_MAX = 1e12


def cost(path: Path, names: Sequence[str], documents: Sequence[Any]) -> Cost:
    """Return what the drives of results cost, with the prices of a file.

    Args:
        path: YAML with `currency`, `years`, maybe `kwh_price`, and `drives`: name of a document to
            its `price`, maybe `watts`.
        names: The documents, as the comparison calls them.
        documents: Results.

    Raises:
        ConfigError: for a file of another form, with the key.
        ResultError: for documents of another family.
    """
    if not all(isinstance(one, Result) for one in documents):
        raise ResultError("--cost: accepted: results of `benchmark` and `replay`")
    given = read_yaml(path)
    _refuse_unknown(given, KEYS, "cost")
    currency = given.get("currency")
    if not isinstance(currency, str) or not currency.isprintable() or not 1 <= len(currency) <= 16:
        raise ConfigError("cost.currency", f"`{currency}`; accepted: a word, such as EUR")
    years = _amount(given, "years", "cost", least=1 / 12)
    kwh = _amount(given, "kwh_price", "cost") if "kwh_price" in given else None
    drives = given.get("drives")
    if not isinstance(drives, dict):
        raise ConfigError("cost.drives", "accepted: a mapping of names to prices")
    for name in drives:
        if name not in names:
            message = f"no document is called so; accepted: {', '.join(names)}"
            raise ConfigError(f"cost.drives.{name}", message)
    rows = []
    for name, document in zip(names, documents, strict=True):
        place = f"cost.drives.{name}"
        own = drives.get(name)
        if not isinstance(own, dict):
            raise ConfigError(place, "accepted: {price: …}, and maybe watts")
        _refuse_unknown(own, OF_DRIVE, place)
        price = _amount(own, "price", place)
        power = document.metrics.get("power") or {}
        watts = _amount(own, "watts", place) if "watts" in own else power.get("mean_w")
        rows.append(_row(name, document, price=price, watts=watts, years=years, kwh=kwh))
    return Cost(currency=currency, years=years, kwh_price=kwh, rows=rows)


def _row(  # noqa: PLR0913 - what a cost follows from
    name: str,
    document: Result,
    *,
    price: float,
    watts: float | None,
    years: float,
    kwh: float | None,
) -> CostRow:
    energy = None
    if kwh is not None and watts is not None:
        energy = watts * 1e-3 * HOURS_PER_YEAR * years * kwh
    total = price if kwh is None else None if energy is None else price + energy
    metrics = document.metrics

    def per(amount: float | None, unit: float = 1.0) -> float | None:
        return total * unit / amount if total is not None and amount else None

    return CostRow(
        name=name,
        price=price,
        watts=watts,
        energy=energy,
        total=total,
        per_tb=per(document.content.effective.logical_bytes, 1e12),
        per_k_iops=per((metrics.get("iops") or {}).get("total"), 1e3),
        per_tbw=per(metrics.get("tbw_tb")),
        per_year=per(years),
    )


def _refuse_unknown(given: dict[str, Any], known: Sequence[str], place: str) -> None:
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise ConfigError(f"{place}.{unknown}", f"unknown key; accepted: {', '.join(known)}")


def _amount(given: dict[str, Any], key: str, place: str, least: float = 0.0) -> float:
    value = given.get(key)
    # A comparison with `nan` is false, and `true` is a whole number to Python.
    is_bool = isinstance(value, bool)
    if isinstance(value, int | float) and not is_bool and least <= value <= AMOUNT_MAX:
        return float(value)
    accepted = f"a number from {least:.3g} to {AMOUNT_MAX:g}"
    raise ConfigError(f"{place}.{key}", f"`{value}`; accepted: {accepted}")
