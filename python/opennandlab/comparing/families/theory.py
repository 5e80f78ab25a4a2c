"""Values of formulas, as sweeps keep them in a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opennandlab.base.errors import DocumentError
from opennandlab.comparing.families import results
from opennandlab.comparing.model import Family, Finding, Number, differing
from opennandlab.documents.record import JsonObject


class Formula(dict[str, Any]):
    """The document `opennandlab.formula/1`: name, parameters and values of a formula."""


class Formulas(Family):
    """Values of formulas."""

    name = "the values of a formula"
    kinds = (Formula,)

    def opened(self, document: JsonObject, name: str) -> Formula:
        """Return the document, which has no record: only its values are read."""
        del name
        if not isinstance(document.get("metrics"), dict):
            raise DocumentError("metrics", "missing; accepted: values of a formula by name")
        return Formula(document)

    def numbers(self, document: Formula) -> dict[str, Number]:
        """Return the values."""
        return {
            name: Number(float(value), name, results.better(name), is_main=True)
            for name, value in document["metrics"].items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def objections(self, documents: Sequence[Formula]) -> Iterator[Finding]:
        """Yield other formulas."""
        formulas = [str(one.get("formula")) for one in documents]
        yield from differing("formulas", formulas, [f"`{one}`" for one in formulas])


FAMILY = Formulas()
