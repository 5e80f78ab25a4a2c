"""Data frames: pandas is loaded for the first of them; an error names what to install."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LACKING = "a data frame needs pandas: pip install 'opennandlab[frames]'"


@contextmanager
def needed() -> Iterator[None]:
    """Import pandas inside.

    Raises:
        ImportError: when it is not installed, with what to install.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise ImportError(LACKING) from None


def frame_of(columns: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """Return a data frame of pandas, or of polars where only that is installed.

    Args:
        columns: Name to values, equally many.

    Raises:
        ImportError: when neither is, with what to install.
    """
    try:
        import pandas as pd
    except ImportError:
        try:
            import polars as pl
        except ImportError:
            raise ImportError(f"{LACKING}; or polars") from None
        made: Any = pl.DataFrame(dict(columns), strict=False)
        return made
    return pd.DataFrame(columns)
