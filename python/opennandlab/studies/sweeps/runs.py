"""`onl.sweep`: a sweep from Python, and what came of it as rows, means, frames and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.frames import frame_of
from opennandlab.base.plain import thawed
from opennandlab.base.threads import cores
from opennandlab.core.config import Document, Source
from opennandlab.core.run import SEED
from opennandlab.policies import policy
from opennandlab.reports import drawing, output
from opennandlab.reports.figure.paper import Paper
from opennandlab.reports.runs import Wanted, choose, named, plots, report, shown, subject, told
from opennandlab.stats.groups import Group, grouped
from opennandlab.store import Store
from opennandlab.studies.sweeps.axes import Axis
from opennandlab.studies.sweeps.definition import Sweep, checked_name
from opennandlab.studies.sweeps.engine import Threads
from opennandlab.studies.sweeps.runner import Progress, Row, Run
from opennandlab.studies.sweeps.seeds import Seeds
from opennandlab.studies.sweeps.verbs import verb_of

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Runs:
    """What came of a sweep.

    Args:
        sweep: What was asked for.
        rows: All its points, in its order: coordinates, seed, numbers, error.
    """

    sweep: Sweep
    rows: Sequence[Row]

    def __repr__(self) -> str:
        """Name the verb, what was varied, and how many points there are."""
        keys = ", ".join(self.sweep.varied) or "nothing"
        count = "1 point" if len(self.rows) == 1 else f"{len(self.rows)} points"
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<Runs of {self.sweep.verb.name} by {keys}: {count}{failed}>"

    @cached_property
    def groups(self) -> list[Group]:
        """The points by what was varied, with means over seeds with 95 % intervals."""
        return grouped(self.rows)

    @property
    def failed(self) -> list[Row]:
        """The points that failed; `error` states why."""
        return [row for row in self.rows if row.error is not None]

    def frame(self) -> pd.DataFrame:
        """Return one row for each point: what was varied, seed, numbers, error.

        Returns:
            A data frame of pandas, or of polars where only that is installed.

        Raises:
            ImportError: when neither is installed.
        """
        rows = [
            {**row.coordinates, "seed": row.seed, **row.metrics, "error": row.error}
            for row in self.rows
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return frame_of({name: [row.get(name) for row in rows] for name in names})

    def plot(  # noqa: PLR0913 (all by name)
        self,
        path: str | Path | None = None,
        *,
        x: str | None = None,
        y: str | None = None,
        lines: str | None = None,
        facets: str | None = None,
        paper: str | Paper | None = None,
    ) -> go.Figure | None:
        """Draw a number against what was varied.

        Args:
            path: File to write: SVG, PNG, PDF or HTML by its ending; None returns a figure of
                plotly, which a notebook shows: with `facets` the first of them.
            x: Key along the axis; by default the one with the most numbers.
            y: The number; by default that of the verb, such as `waf`.
            lines: Key with a line for each of its values.
            facets: Key with a figure for each of its values.
            paper: Size of a page for print, such as `85mm`, or the page itself.

        Raises:
            ConfigError: for what was not varied or measured.
            OutputError: when the file cannot be written, and why.
        """
        asked = {"x": x, "y": y, "lines": lines, "facets": facets}
        wanted = self._wanted({key: value for key, value in asked.items() if value is not None})
        made = report(subject(wanted), self.groups, wanted, self._names)
        made = named(made, self.sweep.settings, self.sweep.varied)
        if paper is not None and path is not None:
            page = Paper.of(paper) if isinstance(paper, str) else paper
            output.write(made, Path(path), paper=page)
            return None
        return drawing.draw(made, path, None, paper)

    def _wanted(self, given: Mapping[str, str]) -> Wanted:
        verb = self.sweep.verb
        asked = {**self.sweep.plot, **given}
        found = choose(self.groups, asked, verb.metric, verb.theory)
        return replace(found, formula=self.sweep.formula)

    @property
    def _names(self) -> list[str]:
        known = list(dict.fromkeys(name for group in self.groups for name in group.means))
        return [name for name in self.sweep.verb.columns if name in known] or known[:5]

    def _repr_html_(self) -> str:
        keys, names = self.sweep.varied, self._names
        head = "".join(f"<th>{escape(name)}</th>" for name in [*keys, "runs", *names])
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(shown(group.coordinates.get(key)))}</td>" for key in keys)
            + f"<td>{group.count}</td>"
            + "".join(f"<td>{escape(told(group.means.get(name)))}</td>" for name in names)
            + "</tr>"
            for group in self.groups
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        try:
            wanted = self._wanted({})
        except ConfigError:  # more was varied than one figure has room for
            return table
        return table + drawing.element(plots(self.groups, wanted, subject(wanted)))


def _typed(key: str, given: Any) -> Any:  # noqa: ANN401 (values of any kind)
    """Return values of a key as they are typed: a policy by the name that leads to it.

    Raises:
        ConfigError: for a policy to which no name leads.
    """
    if key != policy.KEY or given is None or isinstance(given, str | int | float):
        return given
    if isinstance(given, list | tuple):
        return [_typed(key, value) for value in given]
    if isinstance(given, Mapping):
        return {**given, "kind": _typed(key, given["kind"])} if "kind" in given else given
    found = policy.given(given)
    if found.is_object:
        raise ConfigError(
            key,
            f"`{found.name}` is an object of this process, which a later run of the stored "
            "point could not find; accepted: a class or function that its module offers in "
            "`__opennandlab__`, its name, or for one run `benchmark(..., gc_policy=...)`",
        )
    return found.name


def _plain(source: Source | None) -> str | dict[str, Any] | None:
    """Return a device or a workload as a file of a sweep would name or hold it."""
    if isinstance(source, Document):
        return source.to_dict()
    if isinstance(source, Mapping):
        return dict(thawed(source))
    return None if source is None else str(source)


def sweep(  # noqa: PLR0913 (options, by name)
    device: Source | None = None,
    workload: Source | None = None,
    *,
    vary: Mapping[str, Any],
    verb: str = "benchmark",
    seeds: int | Mapping[str, Any] = 1,
    seed: int = SEED,
    changes: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    name: str = "sweep",
    progress: Callable[[Progress], None] | None = None,
    **request: Any,  # noqa: ANN401 (what the verb takes)
) -> Runs:
    """Run a verb over a grid: what the command `opennandlab sweep` does, in threads.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`, for verbs that simulate.
        workload: Workload of `benchmark`: `W1` to `W5`, a path or a mapping.
        vary: Key to values: a list, or text such as `0.07:0.4:8`. A policy may be the class or
            the function itself, if its module offers it in `__opennandlab__`.
        verb: What is run, such as `benchmark`, `pts.iops` or `ecc.curve`.
        seeds: How many, or `{"count": 5, "until": {"waf": "0.5 %"}}`.
        seed: The first one.
        changes: Dotted path to value, the same in all points.
        store: Folder of the store; None for the usual one. What it has is not run again.
        jobs: Points at a time; None for all cores.
        name: Name of the sweep in the store.
        progress: Called several times a second.
        **request: What else the verb takes, such as `code` and `channel`.

    Returns:
        All points; those that failed are among them.

    Raises:
        ConfigError: for a sweep of which no point can be run.
        StoreError: for a store that cannot be used.

    >>> import tempfile
    >>> small = {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
    ...                   "blocks_per_plane": 64, "pages_per_block": 32}}
    >>> work = {"pattern": "random", "total": {"drive_writes": 2}, "timed": False}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = sweep(small, work, vary={"ftl.gc_policy": ["greedy", "fifo"]}, store=folder)
    >>> [group.means["waf"].mean > 1 for group in runs.groups]
    [True, True]
    """
    chosen = verb_of(verb)
    given = {"device": _plain(device), "workload": _plain(workload), **request}
    wanted = Sweep(
        chosen,
        {key: value for key, value in given.items() if value is not None},
        {key: _typed(key, value) for key, value in (changes or {}).items()},
        tuple(Axis.of(key, _typed(key, values)) for key, values in vary.items()),
        seeds=Seeds.of(seeds, first=seed, is_random=chosen.is_random),
        name=checked_name(name),
    )
    with Store.open(store) as kept:
        run = Run(wanted, kept, watch=progress)
        rows = run.to_the_end(Threads(jobs or cores(), kept.unfinished))
    return Runs(wanted, rows)
