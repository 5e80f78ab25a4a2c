"""What is watched during a run, next to the metrics: where time goes, and what happened when.

Watching changes no metric. A breakdown becomes part of the result, which records that it was asked
for, so that `verify` asks again; a timeline, in the Trace Event Format of the Chromium project, and
the rows of requests are separate files, and leave no trace in the digest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError, OutputError
from opennandlab.base.files import write_atomically
from opennandlab.core.device_logs import LIMITS_MS, codes_of, document_of, logs_of_drive
from opennandlab.core.requests import Requests, requests_of
from opennandlab.core.tracks import arranged
from opennandlab.documents.metrics import Metrics
from opennandlab.documents.ocp import OcpDocument
from opennandlab.documents.result import ResultDocument

NS_BY_UNIT = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
NS_MAX = (1 << 63) - 1
ACCEPTED = "accepted: FROM:TO with units (ns, us, ms, s), such as 2.0s:2.1s or 500ms:600ms"
# Where a timeline can be looked at.
VIEWERS = "ui.perfetto.dev or chrome://tracing"


@dataclass(frozen=True)
class Observation:
    """What to watch in the measured part of a run.

    Args:
        breakdown: Account for the time of every command.
        timeline_ns: Record what dies and channels do between two points of the measured part's
            time, in nanoseconds.
        requests: Write a row for each request.
        ocp_ms: Keep the logs of the drive, with these limits of slow commands in milliseconds.
    """

    breakdown: bool = False
    timeline_ns: tuple[int, int] | None = None
    requests: Requests | None = None
    ocp_ms: tuple[float, ...] | None = None

    def check(self, workload: Mapping[str, Any]) -> None:
        """Refuse to watch the time of a run that has none.

        Args:
            workload: The resolved workload, or the options of a replay.

        Raises:
            ConfigError: for an untimed run, and for a window after its end, where that is known.
            OutputError: for a file of requests that cannot be written.
        """
        name = "breakdown" if self.breakdown else "timeline" if self.timeline_ns else "requests"
        name = name if self != Observation(ocp_ms=self.ocp_ms) else "ocp"
        if self != Observation() and workload.get("timed") is False:
            raise ConfigError(
                name, "the workload has `timed: false`: so no time passes that could be recorded"
            )
        if self.requests is not None:
            self.requests.check()
        seconds = (workload.get("total") or {}).get("seconds")
        if self.timeline_ns and seconds is not None and self.timeline_ns[0] >= seconds * 1e9:
            raise ConfigError("timeline", beyond(self.timeline_ns, float(seconds)))


@dataclass(frozen=True)
class Timeline:
    """What dies and channels did in a window of the measured part.

    Args:
        text: What the core recorded, in the Trace Event Format, as JSON.
        window_ns: What was asked for, from and to.
        end_s: When the measured part ended; None when no time passed.
    """

    text: str
    window_ns: tuple[int, int]
    end_s: float | None

    @property
    def document(self) -> dict[str, Any]:
        """The document as it is saved: `traceEvents`, `displayTimeUnit`, `otherData`; in µs."""
        return arranged(json.loads(self.text))

    def problem(self) -> str | None:
        """Say why there is nothing in the window; None when it is in the run."""
        if self.end_s is None or self.window_ns[0] >= self.end_s * 1e9:
            return beyond(self.window_ns, self.end_s or 0.0)
        return None

    def notes(self) -> list[str]:
        """Return what its reader should know: a window cut short, events left out."""
        found = []
        if self.end_s is not None and self.window_ns[1] > self.end_s * 1e9:
            found.append(
                f"the run ended at {time_text(round(self.end_s * 1e9))}, before the end of the "
                f"timeline's window at {time_text(self.window_ns[1])}"
            )
        dropped = json.loads(self.text)["otherData"]["dropped_events"]
        if dropped:
            found.append(
                f"the timeline is full: {dropped} events at its end were left out; "
                "choose a shorter window"
            )
        return found

    def save(self, path: str | Path) -> None:
        """Write the document: all of it, or nothing.

        Raises:
            OutputError: when the window is after the end of the run, or the file cannot be
                written.
        """
        problem = self.problem()
        if problem:
            raise OutputError(f"cannot write {path}: {problem}")
        text = json.dumps(self.document, separators=(",", ":"))
        write_atomically(Path(path), (text + "\n").encode())


def parse_window(text: str) -> tuple[int, int]:
    """Return the nanoseconds of a window such as `2.0s:2.1s`.

    Raises:
        ConfigError: when it is none.

    >>> parse_window("500ms:0.6s")
    (500000000, 600000000)
    """
    parts = text.split(":")
    if len(parts) != 2:
        raise ConfigError("timeline", f"`{text}` is not a valid window; {ACCEPTED}")
    return checked_window(_nanoseconds(parts[0]), _nanoseconds(parts[1]))


def window_of(seconds: tuple[float, float] | None) -> tuple[int, int] | None:
    """Return a window given in seconds in nanoseconds.

    Raises:
        ConfigError: when it is none.

    >>> window_of((0.5, 0.6))
    (500000000, 600000000)
    """
    if seconds is None:
        return None
    try:
        first, last = (round(value * 1e9) for value in seconds)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(
            "timeline",
            f"`{seconds}` is not a valid window; accepted: (from_s, to_s), such as (2.0, 2.1)",
        ) from None
    return checked_window(first, last)


def watched(
    breakdown: bool,  # noqa: FBT001 (an option of the callers)
    timeline_s: tuple[float, float] | None,
    requests: str | Path | None,
    requests_every: int | None,
    ocp: Sequence[float] | bool,  # noqa: FBT001 (likewise)
) -> Observation:
    """Return the observation that the options of a run ask for.

    Raises:
        ConfigError: for an invalid window, each of no requests, and invalid limits.
    """
    wanted = requests_of(requests, requests_every)
    limits = None if ocp is False else LIMITS_MS if ocp is True else ocp
    if limits is not None:
        codes_of(limits)
        limits = tuple(limits)
    return Observation(breakdown, window_of(timeline_s), wanted, limits)


def observe(core: _core.Drive, watch: Observation) -> None:
    """Let the core watch the measured part of the job that is begun next."""
    every = None if watch.requests is None else watch.requests.every
    core.observe(watch.breakdown, watch.timeline_ns, every)
    core.monitor(None if watch.ocp_ms is None else codes_of(watch.ocp_ms))


def timeline_of(core: _core.Drive, watch: Observation, measured: Metrics | None) -> Timeline | None:
    """Return the timeline of a run, if it was asked for and the measured part began.

    Args:
        core: The drive, after the run.
        watch: The observation.
        measured: The metrics of the measured part.
    """
    text = None if watch.timeline_ns is None else core.timeline()
    if text is None or watch.timeline_ns is None:
        return None
    return Timeline(text, watch.timeline_ns, measured.duration_s if measured else None)


def logs_of_run(
    core: _core.Drive, watch: Observation, names: Mapping[str, Any]
) -> OcpDocument | None:
    """Return the logs of the drive of a run, if they were asked for.

    Args:
        core: The drive, after the run.
        watch: The observation.
        names: `device_name` and `workload_name`.
    """
    if watch.ocp_ms is None:
        return None
    source = [str(names[key]) for key in ("device_name", "workload_name")]
    return document_of(logs_of_drive(core), source)


def checked_window(first: int, last: int) -> tuple[int, int]:
    """Return the window, when it is one.

    Raises:
        ConfigError: when it is empty, begins before the run or cannot be counted.
    """
    if not 0 <= first < last <= NS_MAX:
        raise ConfigError(
            "timeline",
            f"from {time_text(first)} to {time_text(last)} is not a valid window: it "
            "begins at 0 or later and ends after its beginning",
        )
    return first, last


def _nanoseconds(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s)\s*", text)
    if found is None:
        raise ConfigError("timeline", f"`{text}` is not a valid time; {ACCEPTED}")
    return round(Decimal(found.group(1)) * NS_BY_UNIT[found.group(2)])


def time_text(nanoseconds: int) -> str:
    """Write a time for a person.

    >>> time_text(2_100_000_000), time_text(3_250_000), time_text(40)
    ('2.1 s', '3.25 ms', '40 ns')
    """
    for unit in ("s", "ms", "us"):
        if abs(nanoseconds) >= NS_BY_UNIT[unit]:
            shown = "µs" if unit == "us" else unit
            return f"{nanoseconds / NS_BY_UNIT[unit]:.6g} {shown}"
    return f"{nanoseconds} ns"


def beyond(window_ns: tuple[int, int], end_s: float) -> str:
    """Say that a window is after the end of a run."""
    return (
        f"the window from {time_text(window_ns[0])} to {time_text(window_ns[1])} lies after the "
        f"end of the measured part, which takes {time_text(round(end_s * 1e9))}"
    )


def recorded(document: ResultDocument) -> Observation:
    """Return what must be watched again for the same result."""
    return Observation(document.observed is not None and document.observed.breakdown)
