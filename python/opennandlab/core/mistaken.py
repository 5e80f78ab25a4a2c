"""Files in the place of others: a workload where a device is read, a result where neither is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.core.others import is_other, no_flash

EXCHANGED = "were -w and -c exchanged?"
SCHEMAS = {"device": _core.device_schema, "workload": _core.workload_schema}


def refuse_mistaken(path: Path, document: Mapping[str, Any], kind: str) -> None:
    """Refuse a file that is plainly of another kind; other faults are left to its reader.

    Args:
        path: The file.
        document: Its content.
        kind: The kind to read: `device` or `workload`.

    Raises:
        ConfigError: with the file and its kind.
    """
    schema = document.get("schema")
    is_of_fio = "fio version" in document
    if isinstance(schema, str) or is_of_fio:
        found = "an output of fio" if is_of_fio else f"a document `{schema}`"
        message = f"this is {found}; accepted: a {kind} file ({EXCHANGED})"
        raise ConfigError(".", f"{path}: {message}")
    if kind == "device" and is_other(document):
        raise no_flash(str(path))
    if kind not in SCHEMAS or document.keys() & (_keys(kind) - {"name"}):
        return
    for other in SCHEMAS.keys() - {kind}:
        if document.keys() & (_keys(other) - {"name"}):
            message = f"this is a {other} file; accepted: a {kind} file ({EXCHANGED})"
            raise ConfigError(".", f"{path}: {message}")


@cache
def _keys(kind: str) -> frozenset[str]:
    return frozenset(json.loads(SCHEMAS[kind]())["properties"])
