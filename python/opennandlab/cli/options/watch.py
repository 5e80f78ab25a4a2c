"""The options that watch a run, for the commands that run a workload.

`--breakdown` and `--timeline` change no metric; see `opennandlab.core.observation`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.core.observation import Observation

Breakdown = Annotated[
    bool, flag("Print where the time went: parts of the latency, by percentile.", "--breakdown")
]
BreakdownPlot = Annotated[
    Path | None,
    flag(
        "Plot the breakdown as stacked bars into an HTML, SVG, PNG or PDF file.",
        "--breakdown-plot",
        metavar="FILE",
    ),
]
TimelineFile = Annotated[
    tuple[str, Path] | None,
    flag(
        "What dies and channels did in a window of the measured part, such as 2.0s:2.1s: a file "
        "for ui.perfetto.dev or chrome://tracing.",
        "--timeline",
        metavar="FROM:TO FILE",
    ),
]


def watched(
    timeline: tuple[str, Path] | None, *, breakdown: bool, plot: Path | None
) -> "Observation":
    """Return what the options ask to be watched.

    Raises:
        ConfigError: for a window that is none.
    """
    from opennandlab.core.observation import Observation, parse_window

    window = None if timeline is None else parse_window(timeline[0])
    return Observation(breakdown or plot is not None, window)
