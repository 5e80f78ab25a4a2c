"""Options of verbs that take a workload: where its zones begin, and its smallest requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from opennandlab.cli.options.rows import Options, flag

if TYPE_CHECKING:
    from opennandlab.core.config import Source

# JESD219 shifts the groups of addresses by 5 % of the range for each further drive.
STEP_PCT = 5
SHIFT_MAX = 100 // STEP_PCT - 1


@dataclass(frozen=True, kw_only=True)
class WorkloadOptions(Options):
    """Changes of a workload that have options."""

    shift: Annotated[
        int | None,
        flag(
            "Shift the zones of the workload by K steps of 5 % of the range; what passes its "
            "end continues at its start.",
            metavar="K",
            min=0,
            max=SHIFT_MAX,
        ),
    ] = None
    min_size: Annotated[
        str | None,
        flag("Raise smaller requests of the workload to this size, such as 4KiB.", metavar="BYTES"),
    ] = None

    def changes(self, workload: str, sets: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes of a workload by dotted path, its name with them.

        Args:
            workload: The workload: a name or a file.
            sets: Those of `--set`.

        Raises:
            ConfigError: for a key that is given twice.
        """
        from opennandlab.base.errors import ConfigError

        options = {
            "pattern.shift": ("--shift", None if self.shift is None else
                              self.shift * STEP_PCT / 100),
            "min_size_bytes": ("--min-size", self.min_size),
        }  # fmt: skip
        document = _document(workload)
        found, words = dict(sets), [str(document.get("name") or Path(workload).stem)]
        pattern = document.get("pattern", "random")
        kind = pattern.get("kind") if isinstance(pattern, dict) else pattern
        if self.shift is not None and document and kind != "zoned":
            message = f"moves zones, and {words[0]} has none; accepted: with pattern zoned"
            raise ConfigError("--shift", message)
        for key, (option, value) in options.items():
            if value is None:
                continue
            if key in sets:
                raise ConfigError(option, f"and workload.{key} in --set; accepted: one of them")
            found[key] = value
        words += [f"shift {self.shift}"] if self.shift is not None else []
        words += [f"min {self.min_size}"] if self.min_size is not None else []
        return {"name": " ".join(words), **found} if len(words) > 1 else found

    def changed(self, workload: str, sets: Mapping[str, Any]) -> "Source":
        """Return the workload, or its keys if some are changed."""
        from opennandlab.core.config import read_workload
        from opennandlab.core.overrides import set_path

        changes = self.changes(workload, sets)
        if not changes:
            return workload
        document: dict[str, Any] = {"name": Path(workload).stem, **read_workload(workload)}
        for path, value in changes.items():
            set_path(document, path, value)
        return document


def _document(workload: str) -> dict[str, Any]:
    """Return the keys of a workload; none of code, and of a mistake that is reported later."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import read_workload

    try:
        return read_workload(workload)
    except ConfigError:
        return {}
