"""What survives a break: the steps of a run, one JSON line each, and the state of the drive.

A test is a plain procedure whose steps (purge, precondition, cell, idle) are numbered. A finished
step is appended to the journal with its whole outcome, histograms included. To resume is to run the
procedure again: steps in the journal answer at once, the rest are done.

    header   {"schema", "settings": {...}, "settings_sha256", "sum"}
    step     {"step": 17, "key": "round/3/12", "outcome": {...}, "sum": "…"}
    restart  {"restart": 18, "imprint": {…}, "sum": "…"}    a round begins with step 18

The sum is the SHA-256 of the sum of the line before and of the line without it: a line that was
changed, taken out or put in is refused. It is a seal against slips, not against forgers.

A simulated drive goes on from its checkpoint, whose steps alone are kept, and so ends with the same
bytes as if nothing had happened. A real drive has no checkpoint: the round that was cut begins
again, and one that was cut between a purge and the first round begins with the purge. The imprint
tells what the drive was when a round began: one that was exchanged or emptied since begins anew.
A line at the end that was cut by a crash is dropped. Nothing else may be damaged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from opennandlab.base.canonical import canonical_json, first_difference
from opennandlab.base.errors import DocumentError, OpenNandLabError, WriteError
from opennandlab.base.files import read_bytes, write_atomically, write_pieces_atomically
from opennandlab.documents.record import made
from opennandlab.stats.histogram import Histogram
from opennandlab.targets.base import Imprint, LoadPart, Measurement, Requests, Sample

SCHEMA = "opennandlab.pts-journal/3"
MAGIC = b"opennandlab.pts-checkpoint/1\n"
# The longest journals that are known have some 10 MiB.
JOURNAL_BYTES_MAX = 1 << 30
SCHEMA_NAME = re.compile(rb'\{"schema":"(opennandlab\.pts-journal/\d+)"')
SEAL_BYTES = len(',"sum":""}') + 64
SUM = re.compile(rb',"sum":"([0-9a-f]{64})"\}')


class JournalError(OpenNandLabError):
    """A run that cannot be resumed, and why."""


def settings_hash(settings: dict[str, Any]) -> str:
    """Return the SHA-256 of what a run depends on."""
    return hashlib.sha256(canonical_json(settings).encode()).hexdigest()


def sealed(line: dict[str, Any], before: str) -> tuple[bytes, str]:
    """Return a line with its sum, and the sum alone.

    Args:
        line: What it says.
        before: The sum of the line before; empty for the first.
    """
    plain = json.dumps(line, separators=(",", ":")).encode()
    found = hashlib.sha256(before.encode() + plain).hexdigest()
    return plain[:-1] + f',"sum":"{found}"}}'.encode(), found


def unsealed(text: bytes, before: str) -> tuple[dict[str, Any], str] | None:
    """Return what a line says, and its sum; None when they do not belong together."""
    seal = SUM.fullmatch(text[-SEAL_BYTES:])
    if seal is None:
        return None
    plain = text[:-SEAL_BYTES] + b"}"
    found = seal[1].decode()
    if hashlib.sha256(before.encode() + plain).hexdigest() != found:
        return None
    try:
        line = json.loads(plain)
    except (ValueError, RecursionError):
        return None
    return (line, found) if isinstance(line, dict) else None


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
    """The journal of one run, and the checkpoint beside it.

    Args:
        folder: Output directory of the run; it exists.
        name: Of the document, such as `iops`; it begins the names of the files.
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
        self._steps: list[tuple[str, dict[str, Any]]] = []
        self._state: bytes | None = None
        self._handle: int | None = None
        self._sum = ""

    def start(self) -> None:
        """Begin a new journal over whatever was there."""
        self.checkpoint_path.unlink(missing_ok=True)
        self.resumed, self.imprint, self._steps = False, None, []
        self._rewrite([])

    def resume(self) -> None:
        """Take over the journal of a run that was cut; begin a new one where there is none.

        Raises:
            JournalError: for a journal of other settings, or one that is damaged.
        """
        if not self.path.exists():
            self.start()
            return
        lines = self._read()
        steps, restart, self.imprint = self._parse(lines)
        kept = self._read_checkpoint(len(steps)) if self.is_virtual else restart
        self._steps = steps[:kept]
        self.resumed = bool(steps)
        self._rewrite(
            [
                {"step": index, "key": key, "outcome": outcome}
                for index, (key, outcome) in enumerate(self._steps)
            ]
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
        found, outcome = self._steps[index]
        if found != key:
            raise JournalError(
                f"{self.path}: step {index} is `{found}` where this version does `{key}`; "
                "start anew in an empty directory"
            )
        return outcome

    def append(self, index: int, key: str, outcome: dict[str, Any]) -> None:
        """Keep a finished step."""
        self._write({"step": index, "key": key, "outcome": outcome})

    def restart_point(self, index: int, look: Callable[[], Imprint | None]) -> None:
        """Note that a round or a purge begins with step `index`.

        Args:
            index: Of its first step.
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
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _read(self) -> list[dict[str, Any]]:
        """Return the lines; one that was cut at the end is left out."""
        try:
            texts = read_bytes(self.path, JOURNAL_BYTES_MAX).split(b"\n")
        except OSError as error:
            raise JournalError(f"cannot read {self.path}: {error.strerror}") from error
        self._check_head(texts[0])
        # What follows the last line end was cut.
        lines, before = [], ""
        for number, text in enumerate(texts[:-1], start=1):
            found = unsealed(text, before)
            if found is None:
                raise JournalError(
                    f"{self.path}:{number}: damaged or edited: the line and its sum do not belong "
                    "together; start anew in an empty directory"
                )
            line, before = found
            lines.append(line)
        if not lines:
            raise JournalError(
                f"{self.path}: the journal is empty; start anew in an empty directory"
            )
        return lines

    def _check_head(self, text: bytes) -> None:
        """Refuse what is not a journal, and one that another version wrote, in words of its own."""
        found = SCHEMA_NAME.match(text)
        if found is None:
            raise JournalError(f"{self.path}: this is not a journal of a standard test")
        if found[1].decode() != SCHEMA:
            raise JournalError(
                f"{self.path}: another version of opennandlab wrote this journal; start anew in an "
                "empty directory"
            )

    def _parse(
        self, lines: list[dict[str, Any]]
    ) -> tuple[list[tuple[str, dict[str, Any]]], int, Imprint | None]:
        """Return the steps, the one with which the round that was cut begins, and the target."""
        if lines[0].get("settings_sha256") != self.sha256:
            raise JournalError(
                f"{self.path}: the run there has other settings ({self._differing(lines[0])}); "
                "resume with the same, or start anew in an empty directory"
            )
        steps: list[tuple[str, dict[str, Any]]] = []
        restart, imprint = 0, None
        for number, line in enumerate(lines[1:], start=2):
            if set(line) == {"restart", "imprint"} and _is_count(line["restart"]):
                restart, found = line["restart"], line["imprint"]
                with contextlib.suppress(DocumentError):
                    imprint = None if found is None else made(found, Imprint)
                    continue
            if set(line) != {"step", "key", "outcome"} or not isinstance(line["outcome"], dict):
                raise JournalError(f"{self.path}:{number}: this is not a line of a journal")
            if line["step"] != len(steps):
                raise JournalError(f"{self.path}: a step after {len(steps)} is missing")
            steps.append((str(line["key"]), line["outcome"]))
        return steps, min(restart, len(steps)), imprint

    def _differing(self, head: dict[str, Any]) -> str:
        """Name the first setting that differs from that of a journal."""
        other = head.get("settings")
        if not isinstance(other, dict):
            return "unknown ones"
        return first_difference(other, self.settings) or "unknown ones"

    def _read_checkpoint(self, steps_max: int) -> int:
        """Load the checkpoint; return after how many steps it was made, 0 without one."""
        try:
            content = self.checkpoint_path.read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise JournalError(f"cannot read {self.checkpoint_path}: {error.strerror}") from error
        head_end = content.find(b"\n", len(MAGIC))
        if not content.startswith(MAGIC) or head_end < 0:
            raise JournalError(f"{self.checkpoint_path}: this is not a checkpoint")
        state = content[head_end + 1 :]
        steps = self._steps_of(content[len(MAGIC) : head_end], state)
        if steps is None or steps > steps_max:
            raise JournalError(
                f"{self.checkpoint_path}: damaged, or of another run; without it, --resume begins "
                "from the start"
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

    def _rewrite(self, lines: list[dict[str, Any]]) -> None:
        """Write the header and these lines, and go on behind them."""
        self.close()
        head = {"schema": SCHEMA, "settings_sha256": self.sha256, "settings": self.settings}
        texts, self._sum = [], ""
        for line in [head, *lines]:
            text, self._sum = sealed(line, self._sum)
            texts.append(text + b"\n")
        write_atomically(self.path, b"".join(texts))
        try:
            self._handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise WriteError(f"cannot write {self.path}: {error.strerror}") from error

    def _write(self, line: dict[str, Any]) -> None:
        """Append one line, by one call."""
        if self._handle is None:
            raise JournalError(f"{self.path}: closed")
        text, self._sum = sealed(line, self._sum)
        content = text + b"\n"
        try:
            while content:
                content = content[os.write(self._handle, content) :]
            if not self.is_virtual:
                os.fsync(self._handle)
        except OSError as error:
            raise WriteError(f"cannot write {self.path}: {error.strerror}") from error


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
