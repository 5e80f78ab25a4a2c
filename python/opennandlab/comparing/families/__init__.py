"""The families of documents that can be compared: one file each, and a row here.

A file has one instance of a subclass of `Family`, `FAMILY`; a file of two kinds has an instance for
each. `theory.py` is the smallest.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opennandlab.comparing.model import Family

# What a `schema` says, without program and version -> module and name of the family.
HOMES = {
    "result": ("results", "FAMILY"),
    "pts": ("pts", "FAMILY"),
    "ecc-curve": ("curves", "FAMILY"),
    "ecc-comparison": ("curves", "FAMILY"),
    "life": ("life", "FAMILY"),
    "drive-life": ("life", "DRIVES"),
    "validation": ("validation", "FAMILY"),
    "app": ("app", "FAMILY"),
    "formula": ("theory", "FAMILY"),
}
SCHEMAS = [f"opennandlab.{kind}/1" for kind in HOMES]


def of_kind(kind: str) -> Family:
    """Return the family of a kind of document, such as `ecc-curve`."""
    module, name = HOMES[kind]
    found: Family = getattr(import_module(f"{__name__}.{module}"), name)
    return found


def of_document(document: Any) -> Family | None:  # noqa: ANN401 (whatever was given)
    """Return the family of a loaded document; None where it has none."""
    families = (of_kind(kind) for kind in HOMES)
    return next((one for one in families if isinstance(document, one.kinds)), None)
