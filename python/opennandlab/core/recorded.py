"""Files that a document names, compared with their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError, TraceError
from opennandlab.base.files import read_bytes

TABLE_BYTES_MAX = 1 << 28


def table_of(given: object) -> dict[str, Any]:
    """Return the record of a table of ranges: its file and its digest, which must fit.

    Raises:
        ConfigError: for anything but a file.
        TraceError: for another file than the one recorded.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("file"), str):
        raise ConfigError("remap", f"`{given}`; accepted: a mapping with the key file")
    path = Path(given["file"])
    try:
        digest = hashlib.sha256(read_bytes(path, TABLE_BYTES_MAX)).hexdigest()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    check_digest(digest, given, path, "table")
    return {**given, "digest": digest}


def check_digest(digest: str, recorded: Mapping[str, Any], path: Path, kind: str = "trace") -> None:
    """Refuse a file whose digest is not the recorded one."""
    wanted = str(recorded.get("digest", digest))
    if digest != wanted:
        raise TraceError(
            f"{path}: another {kind} than the one recorded as `{recorded.get('file', '?')}`: "
            f"its digest is {digest[:12]}…, not {wanted[:12]}…"
        )
