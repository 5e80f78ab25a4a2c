"""Some cells of a standard test on one device, briefly: see `pts.cells`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.base.units import kib, mix
from opennandlab.core.config import load_device, read_device
from opennandlab.documents.record import JsonObject
from opennandlab.pts.bench.cells import Question, measured
from opennandlab.studies.sweeps.verb import Reader
from opennandlab.studies.sweeps.verbs.benchmark import OnDrive

FIGURES = ("iops", "mb_s", "lat_us_mean")


class Cells(OnDrive):
    """The verb `pts.cells`."""

    name = "pts.cells"
    title = "cells of a drive"
    keys = {  # noqa: RUF012 (as the base declares it)
        "device": "a preset, or the path or content of a device file",
        "question": "what is measured: `cells`, a list of size in bytes and percent of reads, …",
    }
    needed = ("device", "question")
    metric = "iops 4 KiB 0/100"

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what makes settings of changes."""
        declared = read_device(request["device"])
        try:
            Question.of(request["question"])
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError("question", f"{error!r}; accepted: {self.keys['question']}") from None

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            device = load_device(declared, changes)
            return {"device": device.to_dict(), "question": dict(request["question"])}

        return settings

    def run(
        self,
        settings: JsonObject,
        seed: int | None,
        watch: Watcher,
        place: Path | None = None,  # noqa: ARG002 (nothing is left unfinished)
    ) -> JsonObject:
        """Measure the cells."""
        return measured(settings["device"], Question.of(settings["question"]), seed or 0, watch)

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return the figures, of any cell."""
        del request
        return [f"{figure} *" for figure in FIGURES]

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the figures of each cell."""
        return {
            f"{figure} {kib(cell['block_bytes'])} KiB {mix(cell['read_pct'])}": cell[figure]
            for cell in document["cells"]
            for figure in FIGURES
            if cell[figure] is not None
        }
