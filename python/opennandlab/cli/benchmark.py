"""`benchmark`: one workload on one device; metrics table and result file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._typed import typed
from opennandlab.cli.options.common import AllowCode, Json, Quiet, Seed, Sets, SliceOps
from opennandlab.cli.options.rows import Options, flag
from opennandlab.cli.options.watch import Breakdown, BreakdownPlot, TimelineFile, watched


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(Options):
    """Options of `benchmark`."""

    workload: Annotated[
        str, flag("What the host does.", "-w", metavar="W1..W5|FILE", callback=typed)
    ]
    config: Annotated[
        str | None,
        flag(
            "The device; default: the preset `config`, or the device of the image.",
            "-c",
            metavar="PRESET|FILE",
        ),
    ] = None
    seed: Seed = 42
    output: Annotated[Path | None, flag("Result file (JSON).", "-o", metavar="FILE")] = None
    state: Annotated[
        str | None,
        flag(
            "Start from an empty or a saved drive instead of the workload's preconditioning.",
            metavar="fresh|image:FILE",
        ),
    ] = None
    save_image: Annotated[
        Path | None, flag("Save the drive's state after the run.", metavar="FILE")
    ] = None
    plot: Annotated[
        Path | None, flag("Plots and tables, as an HTML page, SVG, PNG or PDF.", metavar="FILE")
    ] = None
    breakdown: Breakdown = False
    breakdown_plot: BreakdownPlot = None
    timeline: TimelineFile = None
    settings: Sets = None
    as_json: Json = False
    quiet: Quiet = False
    slice_ops: SliceOps = None
    allow_code: AllowCode = False


def benchmark(given: BenchmarkOptions) -> None:
    """Run one workload on one simulated device."""
    from opennandlab.core.config import workload_presets
    from opennandlab.core.run import Start, prepare_benchmark

    device_sets, workload_sets = terminal.split_sets(given.settings)
    watch = watched(given.timeline, breakdown=given.breakdown, plot=given.breakdown_plot)
    outputs = terminal.Outputs(
        given.output,
        given.plot,
        given.save_image,
        given.breakdown_plot,
        given.timeline[1] if given.timeline else None,
    )
    terminal.check_outputs(
        outputs.by_option(),
        {
            "the workload": terminal.own_file(given.workload, workload_presets()),
            **terminal.read_files(given.config, given.state),
        },
    )
    device = terminal.chosen_device(given.config, given.state, device_sets)
    run = prepare_benchmark(
        Start(device, given.seed, given.state), given.workload, workload_sets, watch
    )
    terminal.run_and_report(
        run, outputs, as_json=given.as_json, quiet=given.quiet, slice_ops=given.slice_ops
    )
