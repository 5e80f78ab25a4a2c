"""Options of a measured run of the simulator: how it begins, what is watched, what is kept.

`--breakdown`, `--timeline`, `--requests` and `--ocp` change no metric; see
`opennandlab.core.observation`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import AllowCode, ForPrint, Printed, Seed, Sets, SliceOps
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.core.config import DeviceConfig
    from opennandlab.core.observation import Observation


@dataclass(frozen=True, kw_only=True)
class MeasuredRunOptions(ForPrint, Printed):
    """What runs of workloads and of traces take."""

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
            "Start from an empty or a saved drive instead of the preconditioning of a workload, "
            "or the sequential fill before a trace.",
            metavar="fresh|image:FILE",
        ),
    ] = None
    save_image: Annotated[
        Path | None, flag("Save the drive's state after the run.", metavar="FILE")
    ] = None
    plot: Annotated[
        Path | None,
        flag(
            "Plots and tables, as an HTML page, SVG, PNG or PDF; with --paper the first plot "
            "alone, and `report RESULT --figure NAME --paper` draws the others.",
            metavar="FILE",
        ),
    ] = None
    breakdown: Annotated[
        bool, flag("Print where the time went: parts of the latency, by percentile.")
    ] = False
    breakdown_plot: Annotated[
        Path | None,
        flag(
            "Plot the breakdown as stacked bars into an HTML, SVG, PNG or PDF file.",
            metavar="FILE",
        ),
    ] = None
    timeline: Annotated[
        tuple[str, Path] | None,
        flag(
            "What dies and channels did in a window of the measured part, such as 2.0s:2.1s: "
            "a file for ui.perfetto.dev or chrome://tracing.",
            metavar="FROM:TO FILE",
        ),
    ] = None
    requests: Annotated[
        Path | None,
        flag(
            "A row for each request of the measured part, with its times and their parts: "
            "a file that ends in .parquet, .csv, .csv.zst or .arrow.",
            metavar="FILE",
        ),
    ] = None
    requests_every: Annotated[
        int | None,
        flag("Write only every N-th request, in the order of arrival.", metavar="N", min=1),
    ] = None
    ocp: Annotated[
        Path | None,
        flag(
            "The drive's own logs after the run (JSON): OCP C0h and C3h, and the SMART log of "
            "NVMe, by the names of nvme-cli.",
            metavar="FILE",
        ),
    ] = None
    ocp_thresholds: Annotated[
        str | None,
        flag(
            "Limits above which the drive counts a command as slow, in ms; default 30,100,155,235.",
            metavar="A,B,C,D",
        ),
    ] = None
    settings: Sets = None
    slice_ops: SliceOps = None
    allow_code: AllowCode = False

    def observation(self) -> "Observation":
        """Return what is observed of the run: breakdown, timeline, requests, logs, or nothing.

        Raises:
            ConfigError: for an invalid window, and for an option without its file.
        """
        from opennandlab.core.device_logs import parse_limits
        from opennandlab.core.observation import Observation, parse_window
        from opennandlab.core.requests import requests_of

        wanted = requests_of(self.requests, self.requests_every)
        window = None if self.timeline is None else parse_window(self.timeline[0])
        limits = None
        if self.ocp is not None:
            limits = parse_limits(self.ocp_thresholds)
        else:
            self.refuse(("ocp_thresholds",), "without --ocp; accepted: with --ocp FILE")
        has_parts = self.breakdown or self.breakdown_plot is not None
        return Observation(has_parts, window, wanted, limits)

    def check_outputs(self, inputs: Mapping[str, Path | None]) -> None:
        """Refuse files that could not be written, or that are inputs too.

        Args:
            inputs: What is read besides the device and the image: its name, its path.

        Raises:
            OutputError: with the reason.
        """
        read = {**inputs, **terminal.read_files(self.config, self.state)}
        terminal.check_outputs(self.outputs(), read)

    def outputs(self) -> Mapping[str, Path | None]:
        """Return the files that are written, by their options."""
        return {
            "--output": self.output,
            "--save-image": self.save_image,
            "--plot": self.plot,
            "--breakdown-plot": self.breakdown_plot,
            "--requests": self.requests,
            "--ocp": self.ocp,
            "--timeline": None if self.timeline is None else self.timeline[1],
        }

    def drawings(self) -> dict[str, Path]:
        """Return the drawings, and their files."""
        wanted = {"plot": self.plot, "breakdown": self.breakdown_plot}
        return {name: path for name, path in wanted.items() if path is not None}

    def device(self, overrides: dict[str, Any]) -> "DeviceConfig | None":
        """Return the device of `--config` and `--set`; None if an image brings its own.

        Args:
            overrides: Keys of the device, by `--set`.

        Raises:
            ConfigError: for a device that cannot be used.
        """
        from opennandlab.base.errors import ConfigError
        from opennandlab.core.config import own_device

        if self.config is not None or not (self.state or "").startswith("image:"):
            return own_device(self.config or "config", overrides)
        if overrides:
            raise ConfigError("state", "an image brings its device: --set cannot change it")
        return None
