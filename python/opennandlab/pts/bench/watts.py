"""Watts of a document: tables of power by cell, and the log of a meter attached to a run.

Rows are those of `documents.pts_rows`: joules over seconds, over 10^9 bytes, and requests over
joules, of all cells of a row together. A row is unknown if one of its cells is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Final

from msgspec import structs

from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError
from opennandlab.base.units import kib, mix
from opennandlab.documents import pts, pts_header
from opennandlab.documents.pts_rows import CellRow, row_names, rows_of
from opennandlab.measured.power_log import SAMPLES_MIN, PowerLog
from opennandlab.pts.bench.record import efficiency

# Id, heading and unit of the figures of a row.
FIGURES: Final = tuple(
    zip(
        pts.POWER_GRIDS,
        ("Mean power", "Energy for the data of the host", "Requests for the energy"),
        ("W", "J/GB", "IOPS/W"),
        strict=True,
    )
)
# From here on a list is a grid, if its cells are one.
GRID_MIN = 4


def _figures(row: CellRow) -> list[float | None]:
    """Return watts, joules for 10^9 bytes, and requests for a joule."""
    power_w, iops, mb_s = (row.per_second(key) for key in ("power_w", "iops", "mb_s"))
    return list(efficiency(power_w, iops or 0.0, mb_s or 0.0).values())


def power_tables(phases: Sequence[pts.Phase], cells: Sequence[pts.Cell]) -> list[pts.Table]:
    """Return the tables of power of a test; none if no watts are known."""
    if all(cell.power_w is None for cell in cells):
        return []
    by_phase: dict[tuple[str, str], list[CellRow]] = {}
    for row in rows_of(phases, cells):
        by_phase.setdefault((row.phase, row.group), []).append(row)
    grids: list[pts.Table] = []
    listed: list[CellRow] = []
    for rows in by_phase.values():
        found = _grids(rows, f"-{len(grids) // len(FIGURES) + 1}" if grids else "")
        grids += found
        listed += [] if found else rows
    return [*grids, *([_listed(listed, are_others=bool(grids))] if listed else [])]


def _grids(rows: Sequence[CellRow], ending: str) -> list[pts.Table]:
    """Return a table of each figure, if the rows are all cells of two loads; none otherwise."""
    first = [row.cells[0] for row in rows]
    matrix = [(cell.block_bytes or 0, cell.rw_pct) for cell in first]
    demand = [(cell.threads or 0, cell.queue_depth or 0) for cell in first]
    is_matrix = len(set(demand)) == 1
    pairs: Sequence[tuple[float, float]] = matrix if is_matrix else demand
    downs, acrosses = (sorted({pair[at] for pair in pairs}) for at in (0, 1))
    is_whole = len(set(pairs)) == len(pairs) == len(downs) * len(acrosses)
    is_whole &= is_matrix or len(set(matrix)) == 1
    if len(rows) < GRID_MIN or not is_whole or 0 in downs:
        return []
    figures = dict(zip(pairs, map(_figures, rows), strict=True))
    return [
        pts.Table(
            id=f"{name}{ending}",
            title=title + (f", {rows[0].group}" if rows[0].group else ""),
            unit=unit,
            row_label="Block size (KiB)" if is_matrix else "Threads",
            column_label="R/W mix (%)" if is_matrix else "Queue depth",
            rows=[kib(int(down)) if is_matrix else str(down) for down in downs],
            columns=[mix(across) if is_matrix else str(across) for across in acrosses],
            values=[[figures[down, across][at] for across in acrosses] for down in downs],
        )
        for at, (name, title, unit) in enumerate(FIGURES)
    ]


def _listed(rows: Sequence[CellRow], *, are_others: bool) -> pts.Table:
    """Return a table with a row for each cell; if there are others, it names their phases."""
    return pts.Table(
        id=pts.POWER_LIST,
        title="Power by cell",
        unit="; ".join(unit for _, _, unit in FIGURES),
        row_label="Cell",
        column_label="",
        rows=list(row_names(rows, with_phase=are_others)),
        columns=[unit for _, _, unit in FIGURES],
        values=[[*_figures(row)] for row in rows],
    )


def attached(document: pts.PtsDocument, log: PowerLog, key: str) -> pts.PtsDocument:
    """Return the document of a real drive with the watts of a log, in place of others.

    Args:
        document: The document.
        log: The samples.
        key: Option or argument that named the log, for errors.

    Raises:
        ConfigError: for a document or a log that do not belong together, and why.
    """
    refuse_virtual(document.header.time_base.clock == "virtual", key)
    cells = document.cells.rows
    if not any(cell.at_s is not None for cell in cells):
        raise ConfigError(
            key,
            f"`{document.name}` has no cell with a time of day: it is imported, without cells, or "
            "of an older version; accepted: a document of a real drive that this version measured",
        )
    shift_s = _shift_s(document, log, key)
    within = _overlap(cells, log, shift_s, key)
    measured = [_with_watts(cell, log, shift_s) for cell in cells]
    unknown = sum(cell.power_w is None for cell in measured)
    missing = (
        f"{unknown} of {len(cells)} cells have fewer than {SAMPLES_MIN} samples or reach beyond "
        "the log"
    )
    power = pts_header.Power(
        source="log",
        counted=[],
        idle_w=None,
        missing=missing if unknown else None,
        log=pts_header.PowerLog(
            name=log.name,
            sha256=log.sha256,
            samples=within,
            clock="epoch" if log.is_epoch else "run",
        ),
    )
    others = [one for one in document.tables if not pts.is_of_power(one.id)]
    found = structs.replace(
        document,
        header=structs.replace(document.header, power=power),
        cells=pts.Cells(columns=list(pts.Cell.__struct_fields__), rows=measured),
        tables=[*others, *power_tables(document.phases, measured)],
    )
    return structs.replace(found, digest=digest(pts.to_json(found)))


def refuse_virtual(is_virtual: bool, key: str) -> None:  # noqa: FBT001 (a fact, not a mode)
    """Refuse a log for a run in virtual time.

    Raises:
        ConfigError: with where its watts come from.
    """
    if is_virtual:
        raise ConfigError(
            key,
            "a simulated drive has a clock of its own, so no meter has measured its time; its "
            "watts come from nand.energy and controller.power; accepted: real targets",
        )


def _shift_s(document: pts.PtsDocument, log: PowerLog, key: str) -> float:
    """Return what the times of a log begin at, in seconds since 1970."""
    if log.is_epoch or not log.seconds:
        return 0.0
    began_s = document.run.began_s if document.run is not None else None
    if began_s is None:
        raise ConfigError(
            key,
            f"{log.name} has seconds since the beginning of the test, but `{document.name}` was "
            "interrupted and resumed: it has no single beginning; accepted: seconds since 1970",
        )
    return float(began_s)


def _overlap(cells: Sequence[pts.Cell], log: PowerLog, shift_s: float, key: str) -> int:
    """Return how many samples the log has from the first cell to the end of the last.

    Raises:
        ConfigError: for none.
    """
    known = [(cell.at_s, cell.at_s + cell.seconds) for cell in cells if cell.at_s is not None]
    begin_s, end_s = min(known)[0], max(end for _, end in known)
    within = len(log.between(begin_s - shift_s, end_s - shift_s))
    if not within:
        times = "it is empty"
        if log.seconds:
            times = (
                f"it is from {_day(log.seconds[0] + shift_s)} to {_day(log.seconds[-1] + shift_s)}"
            )
        raise ConfigError(
            key,
            f"{log.name} has no sample within the run, which measured from {_day(begin_s)} to "
            f"{_day(end_s)} ({times}): a log of another day? accepted: a log of this run",
        )
    return within


def _day(seconds: float) -> str:
    """Return a time as text.

    >>> _day(1764403200.5), _day(1e300)
    ('2025-11-29 08:00:00 UTC', '1e+300 s')
    """
    try:
        moment = dt.datetime.fromtimestamp(seconds, dt.timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _with_watts(cell: pts.Cell, log: PowerLog, shift_s: float) -> pts.Cell:
    begin_s = None if cell.at_s is None else cell.at_s - shift_s
    mean_w = None if begin_s is None else log.mean_w(begin_s, begin_s + cell.seconds)
    return structs.replace(cell, **efficiency(mean_w, cell.iops, cell.mb_s))
