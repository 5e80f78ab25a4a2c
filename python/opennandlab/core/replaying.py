"""Replays on a drive that is run step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opennandlab import _core
from opennandlab.core.config import load_replay
from opennandlab.core.history import Past
from opennandlab.core.observation import observe
from opennandlab.core.result import Result
from opennandlab.core.run import UNWATCHED, Run, Simulation
from opennandlab.core.slices import Watcher


def replay_on(
    drive: Simulation,
    trace: _core.Trace,
    options: Mapping[str, Any],
    *,
    progress: Watcher | None = None,
) -> Result:
    """Replay a trace on a drive as it is now.

    Args:
        drive: The drive, which keeps its state.
        trace: Its requests.
        options: The keys of replay options; `precondition` is done first.
        progress: Called about 50 times a second.

    Raises:
        BusyError: while a run of the drive has not ended.
        ConfigError: for options or a trace that do not fit.
        Interrupted: on Ctrl-C, with the partial result.
    """
    core, history = drive._core, drive._history  # noqa: SLF001 (the drive is lent)
    resolved = load_replay(options, drive.device)
    with drive._exclusive:  # noqa: SLF001
        observe(core, UNWATCHED)
        core.begin_replay(resolved.core, trace)
        past = Past({}, history.session(), history.is_filled)
        run = Run(core, drive.device, resolved, seed=drive.seed, past=past, watch=UNWATCHED)
        history.add(resolved)
        return run.measure(progress=progress)
