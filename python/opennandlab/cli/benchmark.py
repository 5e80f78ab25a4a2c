"""`benchmark`: one workload on one device; metrics table and result file."""

from dataclasses import dataclass
from typing import Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._run_report import run_and_report
from opennandlab.cli._typed import typed
from opennandlab.cli.options.rows import flag
from opennandlab.cli.options.run import MeasuredRunOptions


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(MeasuredRunOptions):
    """Options of `benchmark`."""

    workload: Annotated[
        str, flag("The workload of the host.", "-w", metavar="W1..W5|FILE", callback=typed)
    ]


def benchmark(given: BenchmarkOptions) -> None:
    """Run one workload on one simulated device."""
    from opennandlab.core.config import workload_presets
    from opennandlab.core.run import Start, prepare_benchmark

    device_sets, workload_sets = terminal.split_sets(given.settings)
    watch = given.observation()
    given.check_outputs({"the workload": terminal.own_file(given.workload, workload_presets())})
    start = Start(given.device(device_sets), given.seed, given.state)
    run_and_report(prepare_benchmark(start, given.workload, workload_sets, watch), given)
