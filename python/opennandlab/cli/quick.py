"""`quick`: eight numbers of a drive in a minute."""

import time
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._ending import raising
from opennandlab.cli._gate import gate_plan
from opennandlab.cli._progress import Clock, shown
from opennandlab.cli.options.common import Printed, Seed
from opennandlab.cli.options.rows import flag
from opennandlab.cli.options.target import TargetOptions

if TYPE_CHECKING:
    from opennandlab.targets.base import Target
    from opennandlab.targets.opening import Request
    from opennandlab.targets.quick import Quick, Row, Settings, Stage


class Prepared(str, Enum):
    """Treatment of the whole drive before."""

    NONE = "none"
    FILL = "fill"
    STEADY = "steady"


@dataclass(frozen=True, kw_only=True)
class QuickOptions(TargetOptions, Printed):
    """Options of `quick`."""

    size: Annotated[
        str | None,
        flag(
            "The range that is used, from the start of the target; default: 1 GiB, or all of a "
            "smaller target.",
            metavar="SIZE",
        ),
    ] = None
    runs: Annotated[int, flag("Runs of each cell.", min=1, max=100)] = 5
    seconds: Annotated[
        float, flag("Maximum time of a run, seconds.", metavar="S", min=0.01, max=86400.0)
    ] = 5.0
    prepare: Annotated[
        Prepared,
        flag(
            "What is done to the whole target first: none, fill (written once from end to end), "
            "steady (then written at random until the five-point rule holds)."
        ),
    ] = Prepared.NONE
    seed: Seed = 42


def quick(given: QuickOptions) -> None:
    """Measure sequential and random reads and writes, each at a deep and a shallow queue."""
    from opennandlab.base.units import parse_bytes
    from opennandlab.targets.opening import open_target
    from opennandlab.targets.quick import Settings, run_quick

    settings = Settings(
        size_bytes=None if given.size is None else parse_bytes(given.size),
        runs=given.runs,
        seconds=given.seconds,
        prepare=given.prepare.value,
        seed=given.seed,
    )
    request = given.request(given.seed)
    if given.dry_run:
        _plan(given, request, settings)
        return
    target = open_target(request)
    try:
        with shown(_Line(), quiet=given.quiet) as watch:
            found = run_quick(target, settings, raising(watch))
        _show(given, target, settings, found)
    finally:
        target.close()
    if found.is_cut:
        terminal.note("interrupted: what is shown was measured until then", style="bold red")
        raise typer.Exit(terminal.INTERRUPTED)


class _Line:
    """Writes the progress of a test; the time left is in proportion to the runs until now."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._began: tuple[float, float] | None = None

    def __call__(self, state: "Stage") -> str:
        """Return one line."""
        if state.fraction is None:
            return f"quick · {state.text}"
        parts = ["quick", f"{state.fraction:.0%}"]
        now = self._clock()
        if self._began is None:
            self._began = now, state.fraction
        began_s, share = self._began
        if state.fraction > share:
            left_s = (now - began_s) * (1.0 - state.fraction) / (state.fraction - share)
            parts.append(f"{terminal.duration(left_s)} left")
        return " · ".join([*parts, state.text])


def _plan(given: QuickOptions, request: "Request", settings: "Settings") -> None:
    """Print what would be done, and do nothing."""
    from opennandlab.base.words import size
    from opennandlab.targets.opening import sketch
    from opennandlab.targets.quick import make_plan
    from opennandlab.targets.safety import Work

    target = sketch(request)
    plan = make_plan(settings, target.capacity_bytes)
    is_said = not given.as_json and not given.quiet
    if is_said:
        rows = [
            ["range from the start", size(plan.range_bytes)],
            ["written to prepare, at most", size(plan.prepare_bytes)],
            ["written in the range, at most", size(plan.write_bytes_max)],
            ["time of all runs, at most", terminal.duration(plan.seconds_max)],
        ]
        terminal.stdout().print(terminal.plain_table(["would be done", "value"], rows))
    half = plan.seconds_max / 2
    rate = (plan.write_bytes_max - plan.range_bytes) / half
    work = Work(plan.prepare_bytes + plan.range_bytes, half, rate)
    gate = gate_plan(request, work, is_said=is_said)
    if given.as_json:
        terminal.emit_json(
            {
                "target": request.text,
                "capacity_bytes": target.capacity_bytes,
                "range_bytes": plan.range_bytes,
                "prepare_bytes_max": plan.prepare_bytes,
                "write_bytes_max": plan.write_bytes_max,
                "seconds_max": plan.seconds_max,
                "device": gate,
            }
        )
    target.close()


def _show(given: QuickOptions, target: "Target", settings: "Settings", found: "Quick") -> None:
    if given.as_json:
        terminal.emit_json(_document(target, settings, found))
        return
    if given.quiet:
        return
    from opennandlab.base.words import size

    typer.echo(f"{target.name}, {size(target.capacity_bytes)}")
    typer.echo(f"state before: {found.state.name} ({found.state.why})")
    typer.echo(
        f"range: the first {size(found.range_bytes)}; a run takes {settings.seconds:g} s at most; "
        "MB are 10^6 bytes"
    )
    typer.echo("")
    heads = ["test", "MB/s best", "median", "IOPS best", "median", "mean µs", "runs"]
    rows = [_cells(row) for row in found.rows]
    writes = next((at for at, row in enumerate(found.rows) if row.op == "write"), None)
    sections = () if not writes else (writes,)
    if rows:
        terminal.stdout().print(terminal.Grid(heads, rows, sections=sections))
    for text in (*target.deviations, *target.warnings):
        terminal.note(f"note: {text}")


def _cells(row: "Row") -> list[str]:
    from opennandlab.cli._pts_tables import figure

    mean_us = row.median(lambda run: (run.latency.mean_ns or 0.0) * 1e-3)
    figures = [
        row.best(lambda run: run.mb_s),
        row.median(lambda run: run.mb_s),
        row.best(lambda run: run.iops),
        row.median(lambda run: run.iops),
        mean_us,
    ]
    return [f"{row.cell.name} {row.op}", *map(figure, figures), str(len(row.runs))]


def _document(target: "Target", settings: "Settings", found: "Quick") -> dict[str, Any]:
    return {
        "target": target.name,
        "kind": target.kind,
        "capacity_bytes": target.capacity_bytes,
        "state": {"name": found.state.name, "why": found.state.why},
        "range_bytes": found.range_bytes,
        "runs": settings.runs,
        "seconds_max": settings.seconds,
        "prepare": settings.prepare,
        "seed": settings.seed,
        "interrupted": found.is_cut,
        "written_bytes": found.written_bytes,
        "notes": [*target.deviations, *target.warnings],
        "cells": [
            {
                "name": row.cell.name,
                "op": row.op,
                "block_bytes": row.cell.block_bytes,
                "queue_depth": row.cell.queue_depth,
                "mb_s_best": row.best(lambda run: run.mb_s),
                "mb_s_median": row.median(lambda run: run.mb_s),
                "iops_best": row.best(lambda run: run.iops),
                "iops_median": row.median(lambda run: run.iops),
                "runs": [
                    {
                        "seconds": run.seconds,
                        "ios": run.ios,
                        "mb_s": run.mb_s,
                        "iops": run.iops,
                        "latency_us_mean": (run.latency.mean_ns or 0.0) * 1e-3,
                        "littles_law_error": run.inside.get("littles_law_error"),
                    }
                    for run in row.runs
                ],
            }
            for row in found.rows
        ],
    }
