"""`benchmark`: one workload on one device; metrics table and result file."""

from pathlib import Path
from typing import Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._observe import Breakdown, BreakdownPlot, TimelineFile, watched
from opennandlab.cli._terminal import AllowCode, Json, Quiet, Seed, Sets, SliceOps
from opennandlab.cli._typed import typed


def benchmark(
    workload: Annotated[
        str,
        typer.Option(
            "--workload", "-w", metavar="W1..W5|FILE", callback=typed, help="What the host does."
        ),
    ],
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            metavar="PRESET|FILE",
            help="The device; default: the preset `config`, or the device of the image.",
        ),
    ] = None,
    seed: Seed = 42,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Result file (JSON).")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="fresh|image:FILE",
            help="Start from an empty or a saved drive instead of the workload's preconditioning.",
        ),
    ] = None,
    save_image: Annotated[
        Path | None,
        typer.Option("--save-image", metavar="FILE", help="Save the drive's state after the run."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Plots and tables, as an HTML page, SVG, PNG or PDF."
        ),
    ] = None,
    breakdown: Breakdown = False,
    breakdown_plot: BreakdownPlot = None,
    timeline: TimelineFile = None,
    settings: Sets = None,
    as_json: Json = False,
    quiet: Quiet = False,
    slice_ops: SliceOps = None,
    allow_code: AllowCode = False,
) -> None:
    """Run one workload on one simulated device."""
    with terminal.guard(as_json=as_json, allow_code=allow_code):
        from opennandlab.core.config import workload_presets
        from opennandlab.core.run import Start, prepare_benchmark

        device_sets, workload_sets = terminal.split_sets(settings)
        watch = watched(timeline, breakdown=breakdown, plot=breakdown_plot)
        outputs = terminal.Outputs(
            output, plot, save_image, breakdown_plot, timeline[1] if timeline else None
        )
        terminal.check_outputs(
            outputs.by_option(),
            {
                "the workload": terminal.own_file(workload, workload_presets()),
                **terminal.read_files(config, state),
            },
        )
        device = terminal.chosen_device(config, state, device_sets)
        run = prepare_benchmark(Start(device, seed, state), workload, workload_sets, watch)
        terminal.run_and_report(run, outputs, as_json=as_json, quiet=quiet, slice_ops=slice_ops)
