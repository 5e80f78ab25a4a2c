"""Extras: packages that only some verbs need, and what to install when one is missing.

```text
opennandlab          runs, tests, tables, documents
opennandlab[plot]    figures and pages
opennandlab[ui]      the same, and `ui`
opennandlab[fit]     the search of `calibrate`
opennandlab[all]     these three
```
A module of an extra is imported inside the function that uses it, never at the top of a module.
"""

from __future__ import annotations

from importlib.util import find_spec

from opennandlab.base.errors import OpenNandLabError

# Extra -> what needs it, and the modules that it brings, as in pyproject.toml.
EXTRAS = {
    "plot": ("figures and pages need", ("jinja2", "matplotlib", "plotly")),
    "ui": ("`ui` needs", ("starlette", "uvicorn", "h11", "jinja2", "matplotlib", "plotly")),
    "fit": ("the search of `calibrate` needs", ("cma",)),
    "frames": ("a data frame needs", ("pandas",)),
    "parquet": ("Arrow and Parquet need", ("pyarrow",)),
    "cluster": ("sweeps over machines need", ("distributed",)),
}
# A module that comes with another one, and is imported before it.
WITH = {"markupsafe": "jinja2", "mpl_toolkits": "matplotlib"}


class MissingError(OpenNandLabError, ImportError):
    """An extra that is not installed; the message names what to install."""


def lacking(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [name for name in EXTRAS[extra][1] if not _is_there(name)]


def need(extra: str) -> None:
    """Refuse to continue without an extra.

    Args:
        extra: Its name, such as `plot`.

    Raises:
        MissingError: with what to install.
    """
    if missing := lacking(extra):
        raise MissingError(_sentence(extra, missing))


def explained(error: ImportError) -> MissingError | None:
    """Return which extra an import failed for; None if it was for no module of one."""
    name = (error.name or "").partition(".")[0]
    name = WITH.get(name, name)
    for extra, (_, modules) in EXTRAS.items():
        if name in modules:
            return MissingError(_sentence(extra, [name]))
    return None


def _sentence(extra: str, missing: list[str]) -> str:
    verb = "is" if len(missing) == 1 else "are"
    return (
        f"{EXTRAS[extra][0]} {', '.join(missing)}, which {verb} not installed: "
        f"pip install 'opennandlab[{extra}]'"
    )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # a module that was taken out of the list of those loaded
        return False
