"""What survives a break: the steps of a run in a journal, and the state of the drive.

A test is a plain procedure whose steps (purge, precondition, cell, idle) are numbered. A finished
step is appended to the journal with its whole outcome, histograms included. To resume is to run the
procedure again: steps in the journal answer at once, the rest are done.

    identity  {"schema", "test", "settings": {...}, "options", "target", ...}
    step      {"step": 17, "key": "round/3/12", "outcome": {...}}
    restart   {"restart": 18, "imprint": {...}}               a round begins with step 18

The file is that of `base.journal`, which seals and locks it. A simulated drive continues from its
checkpoint, whose steps alone are kept, and so ends with the same bytes as if nothing had happened.
A real drive has no checkpoint: the round that was cut begins again, and one that was cut between a
purge and the first round begins with the purge. The imprint is what the drive was when a round
began: after one that was exchanged or emptied since, the test begins from the start.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from opennandlab.base.canonical import canonical_json
from opennandlab.base.errors import DocumentError
from opennandlab.base.files import write_pieces_atomically
from opennandlab.base.journal import Journal as File
from opennandlab.base.journal import JournalError, unsealed
from opennandlab.documents.record import made
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Imprint, LoadPart, Measurement, Requests, Sample

SCHEMA = "opennandlab.pts-journal/4"
MAGIC = b"opennandlab.pts-checkpoint/1\n"
# The first line of a journal has some 2 KiB.
HEAD_BYTES_MAX = 1 << 20
WAY_OUT = "start anew in an empty directory"


@dataclass(frozen=True)
class _Step:
    """A step that is done, and its place among the records of the journal."""

    key: str
    outcome: dict[str, Any]
    place: int


def settings_hash(settings: dict[str, Any]) -> str:
    """Return the SHA-256 of what a run depends on."""
    return hashlib.sha256(canonical_json(settings).encode()).hexdigest()


def settings_sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of the settings of a journal; None for what is none of this version."""
    try:
        with path.open("rb") as stream:
            found = unsealed(stream.readline(HEAD_BYTES_MAX).rstrip(b"\n"), 0)
    except OSError:
        return None
    head = {} if found is None else found[0]
    return settings_hash(head) if head.pop("schema", None) == SCHEMA else None


def measurement_to_dict(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as JSON, without loss."""
    loads = [
        {"reads": _requests_to_dict(load.reads), "writes": _requests_to_dict(load.writes)}
        for load in measurement.loads
    ]
    return {
        "seconds": measurement.seconds,
        "elapsed_s": measurement.elapsed_s,
        "reads": _requests_to_dict(measurement.reads),
        "writes": _requests_to_dict(measurement.writes),
        "written_bytes": measurement.written_bytes,
        "end_bytes": measurement.end_bytes,
        "samples": [list(asdict(sample).values()) for sample in measurement.samples],
        "inside": measurement.inside,
        **({"loads": loads} if loads else {}),
    }


def measurement_from_dict(document: dict[str, Any]) -> Measurement:
    """Read what `measurement_to_dict` gave."""
    return Measurement(
        seconds=document["seconds"],
        elapsed_s=document["elapsed_s"],
        reads=_requests_from_dict(document["reads"]),
        writes=_requests_from_dict(document["writes"]),
        written_bytes=document["written_bytes"],
        end_bytes=document["end_bytes"],
        samples=tuple(Sample(*values) for values in document["samples"]),
        inside=document["inside"],
        loads=tuple(
            LoadPart(_requests_from_dict(load["reads"]), _requests_from_dict(load["writes"]))
            for load in document.get("loads", ())
        ),
    )


def _requests_to_dict(requests: Requests) -> dict[str, Any]:
    return {
        "ios": requests.ios,
        "bytes": requests.bytes,
        "latency": requests.latency.to_dict() if requests.latency.count else None,
    }


def _requests_from_dict(document: dict[str, Any]) -> Requests:
    kept = document["latency"]
    if not kept:
        return Requests(document["ios"], document["bytes"], Histogram.empty())
    latency = Histogram(
        np.array(kept["ns"], dtype=np.int64),
        np.array(kept["counts"], dtype=np.int64),
        float(kept["sum_ns"]),
        int(kept["max_ns"]),
    )
    return Requests(document["ios"], document["bytes"], latency)


class Journal:
    """The journal of one run, and the checkpoint next to it.

    Args:
        folder: Output directory of the run; it exists.
        name: Name of the document, such as `iops`; it begins the names of the files.
        settings: All that the outcome depends on; another run's journal is refused.
        is_virtual: Whether the target has checkpoints. If not, each line is forced to the disk.
    """

    def __init__(
        self, folder: Path, name: str, settings: dict[str, Any], *, is_virtual: bool
    ) -> None:
        """Know the files; nothing is opened yet."""
        self.path = folder / f"{name}.journal.jsonl"
        self.checkpoint_path = folder / f"{name}.checkpoint.onl"
        self.settings = settings
        self.is_virtual = is_virtual
        self.resumed = False
        self.sha256 = settings_hash(settings)
        # What a real target was when the round began that is done again, or the purge.
        self.imprint: Imprint | None = None
        self._steps: list[_Step] = []
        self._state: bytes | None = None
        self._file: File | None = None

    def start(self) -> None:
        """Begin a new journal over whatever was there.

        Raises:
            ConfigError: for one that another process uses.
        """
        self.close()
        self.resumed, self.imprint, self._steps = False, None, []
        self._file = self._opened(is_new=True)
        self.checkpoint_path.unlink(missing_ok=True)

    def resume(self) -> None:
        """Take over the journal of a run that was cut; begin a new one where there is none.

        Raises:
            JournalError: for a journal of other settings, or one that is damaged.
            ConfigError: for one that another process uses.
        """
        if not self.path.exists():
            self.start()
            return
        self._file = file = self._opened(is_new=False)
        try:
            steps, restart, self.imprint = self._parse(file.records)
            kept = self._read_checkpoint(len(steps)) if self.is_virtual else restart
            if kept < len(steps):
                file.keep(steps[kept].place)
        except BaseException:
            self.close()
            raise
        self._steps = steps[:kept]
        self.resumed = bool(steps)

    def _opened(self, *, is_new: bool) -> File:
        identity = {"schema": SCHEMA, **self.settings}
        return File(
            self.path, identity, is_new=is_new, is_forced=not self.is_virtual, way_out=WAY_OUT
        )

    @property
    def kept(self) -> int:
        """Steps of the run before that are not done again."""
        return len(self._steps)

    def recorded(self, index: int, key: str) -> dict[str, Any] | None:
        """Return the outcome of a step of the run that is resumed, or None.

        Raises:
            JournalError: when that run did something else there.
        """
        if index >= len(self._steps):
            return None
        found = self._steps[index]
        if found.key != key:
            raise _refused(
                f"{self.path}: step {index} is `{found.key}` where this version does `{key}`"
            )
        return found.outcome

    def append(self, index: int, key: str, outcome: dict[str, Any]) -> None:
        """Keep a finished step."""
        self._write({"step": index, "key": key, "outcome": outcome})

    def restart_point(self, index: int, look: Callable[[], Imprint | None]) -> None:
        """Note that a round or a purge begins with step `index`.

        Args:
            index: Index of its first step.
            look: Returns what the target is; None for a simulated one.
        """
        if index >= len(self._steps):
            found = look()
            self._write({"restart": index, "imprint": asdict(found) if found else None})

    def state(self) -> bytes | None:
        """Return the state of the drive after the recorded steps, once; None for a new one."""
        state, self._state = self._state, None
        return state

    def write_checkpoint(self, step_count: int, state: bytes) -> None:
        """Keep the state of the drive after so many steps."""
        head = {
            "steps": step_count,
            "settings_sha256": self.sha256,
            "sha256": hashlib.sha256(state).hexdigest(),
        }
        # In two pieces: together they would be a copy of the state.
        pieces = (MAGIC + json.dumps(head).encode() + b"\n", state)
        write_pieces_atomically(self.checkpoint_path, pieces)

    def finish(self) -> None:
        """Remove the checkpoint of a run that is done; the journal stays as its log."""
        self.close()
        self.checkpoint_path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; it may be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _parse(self, records: Sequence[dict[str, Any]]) -> tuple[list[_Step], int, Imprint | None]:
        """Return the steps, the one with which the round that was cut begins, and the target."""
        steps: list[_Step] = []
        restart, imprint = 0, None
        for place, record in enumerate(records):
            if set(record) == {"restart", "imprint"} and _is_count(record["restart"]):
                restart, found = record["restart"], record["imprint"]
                with contextlib.suppress(DocumentError):
                    imprint = None if found is None else made(found, Imprint)
                    continue
            if set(record) != {"step", "key", "outcome"} or not isinstance(record["outcome"], dict):
                raise _refused(f"{self.path}:{place + 2}: this is not a line of a journal")
            if record["step"] != len(steps):
                raise _refused(f"{self.path}: a step after {len(steps)} is missing")
            steps.append(_Step(str(record["key"]), record["outcome"], place))
        return steps, min(restart, len(steps)), imprint

    def _read_checkpoint(self, steps_max: int) -> int:
        """Load the checkpoint; return after how many steps it was made, 0 without one."""
        try:
            content = self.checkpoint_path.read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise _refused(f"cannot read {self.checkpoint_path}: {error.strerror}") from error
        head_end = content.find(b"\n", len(MAGIC))
        if not content.startswith(MAGIC) or head_end < 0:
            raise _refused(f"{self.checkpoint_path}: this is not a checkpoint")
        state = content[head_end + 1 :]
        steps = self._steps_of(content[len(MAGIC) : head_end], state)
        if steps is None or steps > steps_max:
            raise JournalError(
                "--output",
                f"{self.checkpoint_path}: damaged, or of another run; without it, --resume begins "
                "from the start",
            )
        self._state = state
        return steps

    def _steps_of(self, head: bytes, state: bytes) -> int | None:
        """Return the steps of a checkpoint; None when it is damaged or of another run."""
        try:
            found = json.loads(head)
        except (ValueError, RecursionError):
            return None
        wanted = {"settings_sha256": self.sha256, "sha256": hashlib.sha256(state).hexdigest()}
        if not isinstance(found, dict) or not found.items() >= wanted.items():
            return None
        steps = found.get("steps")
        return steps if _is_count(steps) else None

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is None:
            raise _refused(f"{self.path}: closed")
        self._file.add(line)


def _refused(reason: str) -> JournalError:
    return JournalError("--output", f"{reason}; {WAY_OUT}")


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
