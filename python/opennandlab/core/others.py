"""Files of discs (`kind: disc`) and arrays (`array:`), in which the core has no part.

They are targets of tests, as `sim:NAME`; what simulates flash refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_yaml

FOLDER: Final = Path(__file__).parent.parent / "presets" / "discs"
DISC, ARRAY = "disc", "array"


def other_presets() -> list[str]:
    """Return the names of the presets of discs and arrays.

    >>> other_presets()
    ['disc_10k_600gb', 'disc_15k_450gb', 'raid5_disc_10k']
    """
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def read_other(source: str) -> dict[str, Any] | None:
    """Return the file of a disc or an array; None for any other.

    Args:
        source: A preset's name, or a path.

    Raises:
        ConfigError: for a file that is no YAML mapping.
    """
    path = FOLDER / f"{source}.yaml" if source in other_presets() else Path(source)
    if path.suffix not in {".yaml", ".yml"} or not path.is_file():
        return None
    document = read_yaml(path)
    return document if is_other(document) else None


def is_other(document: Mapping[str, Any]) -> bool:
    """Whether a file describes a disc or an array."""
    return document.get("kind") == DISC or ARRAY in document


def no_flash(source: str) -> ConfigError:
    """Return the refusal of a disc or array where only a flash device is accepted."""
    message = (
        f"{source} is not a flash device; accepted: as `sim:{source}` in pts, characterise, quick"
    )
    return ConfigError("kind", message)
