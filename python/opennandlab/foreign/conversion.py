"""What became of the files of another simulator, and the YAML text of it.

```yaml
nand:
  # ssdconfig.xml: Flash_Channel_Count 8; exact.       above each key where its value comes from
  channels: 8
```
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opennandlab.base.errors import legible
from opennandlab.core.template import flow
from opennandlab.foreign.table import ABSENT, KINDS, Row, Translation

# Of a comment.
WIDTH = 92


@dataclass
class WorkloadFile:
    """A workload of another simulator: its own keys, and names and keys of its tenants."""

    name: str
    own: Translation
    tenants: list[tuple[str, Translation]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return it as a workload file has it."""
        tenants = [{"name": name, **nested(one.keys)} for name, one in self.tenants]
        return {"name": self.name, "tenants": tenants, **nested(self.own.keys)}

    def text(self, title: str) -> str:
        """Return its YAML text; the first line is a comment."""
        lines = [f"# {legible(title)}", f"name: {flow(self.name)}", "tenants:"]
        for name, one in self.tenants:
            lines += [f"  - name: {flow(name)}", *_lines(nested(one.keys), one.origins, "", 4)]
        lines += _lines(nested(self.own.keys), self.own.origins, "", 0)
        return "\n".join(lines) + "\n"


@dataclass
class Conversion:
    """A translation of files.

    Args:
        format: Which simulator they are of.
        name: Name of the device.
        device: Its keys.
        workloads: Scenarios of synthetic requests.
        replays: Traces to be replayed: arguments of `replay` behind the device.
        rows: A row for each key there.
        parts: A translation of each scenario alone, if their devices differ.
    """

    format: str
    name: str
    device: Translation
    workloads: list[WorkloadFile] = field(default_factory=list)
    replays: list[list[str]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    parts: list[Conversion] = field(default_factory=list)

    @property
    def is_zoned(self) -> bool:
        """Whether the drive takes no writes at random places."""
        mapping = self.device.keys.get("ftl.mapping")
        return isinstance(mapping, Mapping) and mapping.get("kind") == "zoned"

    def differing(self) -> list[str]:
        """Return our keys that differ between the devices of scenarios."""
        keys = dict.fromkeys(key for part in self.parts for key in part.device.keys)
        first = self.parts[0].device.keys if self.parts else {}
        return [
            key
            for key in keys
            if any(part.device.keys.get(key) != first.get(key) for part in self.parts)
        ]

    def join(self) -> None:
        """Replace the rows of the one device by those of a device for each scenario.

        A row that is the same of all is there once; in the others `2/` is scenario 2.
        """
        rows = [row for row in self.parts[0].rows if all(row in one.rows for one in self.parts)]
        apart = [
            replace(row, source=f"{number}/{row.source}")
            for number, part in enumerate(self.parts, 1)
            for row in part.rows
            if row not in rows
        ]
        self.rows[: len(self.device.rows)] = [*rows, *apart]

    def document(self) -> dict[str, Any]:
        """Return the device as a device file has it."""
        return {"name": self.name, **nested(self.device.keys)}

    def text(self, title: str) -> str:
        """Return the YAML text of the device; the first line is a comment."""
        return commented(title, self.name, self.device.keys, self.device.origins)

    def counts(self) -> dict[str, int]:
        """Count the rows of each class."""
        return {kind: sum(row.kind == kind for row in self.rows) for kind in KINDS}

    def losses(self) -> list[Row]:
        """Return the rows that lose something and change figures."""
        return [row for row in self.rows if row.figures]

    def change(self, key: str, value: object, note: str) -> None:
        """Give a key of the device another value than the files ask for."""
        self.device.set(key, value, f"{self.device.origins[key].rstrip('.')}; {note}.")
        for place, row in enumerate(self.rows):
            if row.key == key:
                kind = "defaulted" if row.kind == "defaulted" else "approximated"
                told = f"{row.note}; {note}" if row.note else note
                # Approximated without a loss: the key has no effect on the workloads.
                figures = row.figures or row.kind != "approximated"
                self.rows[place] = replace(
                    row, kind=kind, written=value, run=ABSENT, note=told, figures=figures
                )


def commented(title: str, name: str, keys: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    """Return the YAML text of a device: a title, and above each key its origin."""
    lines = [f"# {legible(title)}", f"name: {flow(name)}"]
    lines += _lines(nested(keys), origins, "", 0)
    return "\n".join(lines) + "\n"


def nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of values by dotted path.

    >>> nested({"nand.channels": 8, "nand.timing.t_erase_us": 3.5})
    {'nand': {'channels': 8, 'timing': {'t_erase_us': 3.5}}}
    """
    document: dict[str, Any] = {}
    for path, value in keys.items():
        *parents, last = path.split(".")
        here = document
        for part in parents:
            here = here.setdefault(part, {})
        here[last] = value
    return document


def _lines(
    document: Mapping[str, Any], origins: Mapping[str, str], path: str, indent: int
) -> Iterator[str]:
    """Yield the lines of keys, each below its origin."""
    blank = " " * indent
    for key, value in document.items():
        whole = f"{path}.{key}" if path else key
        if whole in origins:
            told = textwrap.wrap(legible(origins[whole]), WIDTH - indent, break_on_hyphens=False)
            yield from (f"{blank}# {line}" for line in told)
            yield f"{blank}{key}: {flow(value)}"
        else:
            yield f"{blank}{key}:"
            yield from _lines(value, origins, whole, indent + 2)


def merged(totals: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return how much a workload asks from what each of its flows does, and what that changes.

    >>> merged([{"seconds": 10.0}, {"seconds": 2.0}])
    ({'seconds': 10.0}, 'of all flows here: the longest')
    >>> merged([{"ios": 5}, {"ios": 5}])
    ({'ios': 10}, 'of all flows together here')
    """
    if len(totals) == 1:
        return dict(totals[0]), ""
    if all("ios" in one for one in totals):
        return {"ios": sum(one["ios"] for one in totals)}, "of all flows together here"
    seconds = [one["seconds"] for one in totals if "seconds" in one]
    alike = len(seconds) == len(totals) and len(set(seconds)) == 1
    return {"seconds": max(seconds)}, "" if alike else "of all flows here: the longest"
