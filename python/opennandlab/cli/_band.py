"""`--shrink` and `--band`: a smaller drive for the whole one, and all drives of a data sheet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.cli.options.benchmark import BenchmarkOptions
    from opennandlab.core.config import DeviceConfig, WorkloadConfig
    from opennandlab.studies.rating.band import Banded

# Options of a single result.
OF_ONE = (
    "output", "save_image", "plot", "breakdown", "breakdown_plot", "timeline", "requests",
    "requests_every", "state",
)  # fmt: skip


def fitting(
    given: BenchmarkOptions,
    device: DeviceConfig,
    workload_sets: Mapping[str, Any],
    *,
    is_told: bool = True,
) -> tuple[DeviceConfig, WorkloadConfig]:
    """Return a device and the workload for it, divided by `--shrink`.

    Args:
        given: Options.
        device: The whole device.
        workload_sets: Keys of the workload that are changed.
        is_told: Whether notes are printed.
    """
    from opennandlab.core.config import load_workload
    from opennandlab.core.shrinking import shrink
    from opennandlab.studies.rating.rounds import refused_unless_good

    whole = load_workload(given.workload, device, overrides=workload_sets)
    if given.shrink is None:
        return device, whole
    found = shrink(device, whole, refused_unless_good(given.shrink))
    if is_told and not given.quiet:
        terminal.note(f"--shrink: drive and workload are divided by {found.divisor}")
        for text in found.notes:
            terminal.note(f"--shrink: {text}")
    return found.device, found.workload


def run_band(
    given: BenchmarkOptions, device_sets: Mapping[str, Any], workload_sets: Mapping[str, Any]
) -> None:
    """Run a workload on all drives of a data sheet, and print the bands."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.run import Start, prepare_benchmark
    from opennandlab.studies.rating.band import banded, variants

    given.refuse(OF_ONE, "with --band, which runs many drives; accepted: one run without it")
    if given.config is None:
        raise ConfigError("--band", "needs a device of `config from-rating`: --config FILE")
    drives, warnings = variants(Path(given.config), device_sets)
    for text in warnings:
        terminal.note(f"warning: {text}", style="yellow")

    def run(device: DeviceConfig) -> tuple[Mapping[str, Any], list[str]]:
        is_first = device is drives[0][1]
        smaller, workload = fitting(given, device, workload_sets, is_told=is_first)
        begun = prepare_benchmark(Start(smaller, given.seed), workload)
        with terminal.progress_line(quiet=given.quiet) as show:
            result = begun.measure(progress=show, slice_ops=given.slice_ops)
        return result.metrics, result.warnings

    found = banded(drives, run)
    if not given.quiet and not given.as_json:
        for text in found.warnings:
            terminal.note(f"warning: {text}", style="yellow")
    if given.as_json:
        terminal.emit_json(
            {
                "device": drives[0][1].name,
                "workload": given.workload,
                "seed": given.seed,
                "shrink": given.shrink,
                "variants": found.rows,
                "bands": found.bands,
                "warnings": [*warnings, *found.warnings],
            }
        )
    elif not given.quiet:
        _show(found)


def _show(found: Banded) -> None:
    from opennandlab.studies.rating.band import METRICS

    shown = [key for key in METRICS if key in found.bands]
    heads = ["variant", *(METRICS[key] for key in shown)]
    rows = [[name, *(_text(row[key]) for key in shown)] for name, row in found.rows.items()]
    ends = [[_text(found.bands[key]["band"][place]) for key in shown] for place in (0, 1)]
    rows += [["band, least", *ends[0]], ["band, most", *ends[1]]]
    grid = terminal.Grid(tuple(heads), rows, left=(0,), sections={len(rows) - 2})
    terminal.stdout().print(grid)
    for key in shown:
        band = found.bands[key]
        terminal.stdout().print(
            f"{METRICS[key]}: least by {band['low_by']}, most by {band['high_by']}", markup=False
        )


def _text(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:.0f}"
