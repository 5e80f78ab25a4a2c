"""What a drive that is run step by step went through: seeds of later steps, and their record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opennandlab.core.config import ReplayConfig, Steps, WorkloadConfig
from opennandlab.documents.result import Session
from opennandlab.theory.prediction import fills


class History:
    """What was done to a drive before, for its next seed and for the record."""

    def __init__(self, names: list[str] | None = None, *, is_filled: bool = False) -> None:
        """Begin before the first job."""
        self.jobs = 0
        self.names = names or []
        self.is_filled = is_filled

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle values, not attributes: one that is damaged is no history, and refused at once."""
        return _again, (self.names, self.is_filled, self.jobs)

    def job_seed(self, seed: int) -> int:
        """Return the seed of the next job, so that no step repeats the addresses of another."""
        if self.jobs == 0:
            return seed
        digest = hashlib.sha256(f"{seed}/{self.jobs}".encode()).digest()
        return int.from_bytes(digest[:8], "big")

    def session(self) -> Session | None:
        """Return the `session` of the next result; None for the first job."""
        return Session(jobs_before=self.jobs, steps=list(self.names)) if self.jobs else None

    def add(self, job: WorkloadConfig | ReplayConfig | Steps) -> None:
        """Note a job that was begun."""
        self.jobs += 1
        self.names += [str(step["kind"]) for step in job["precondition"]]
        self.names += [] if isinstance(job, Steps) else [str(job["name"])]
        self.is_filled = self.is_filled or fills(job.to_dict())

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Note a job that does not end: the drive is in another state than after a whole one."""
        try:
            yield
        except BaseException:
            self.names.append("interrupted")
            raise

    def add_idle(self) -> None:
        """Note a time without commands."""
        self.jobs += 1
        self.names.append("idle")

    def add_cut(self) -> None:
        """Note a power cut, with the traffic before it."""
        self.jobs += 1
        self.names.append("power cut")


def _again(names: list[str], is_filled: bool, jobs: int) -> History:  # noqa: FBT001 (of a pickle)
    history = History(names, is_filled=is_filled)
    history.jobs = jobs
    return history


@dataclass(frozen=True)
class Past:
    """What is known of a drive before a run.

    Args:
        paths: Files that the run begins with, by their key in the `run` section.
        session: The steps before this one, where the drive had any; the result then states this.
        is_filled: The whole space was written.
    """

    paths: Mapping[str, str | list[str]]
    session: Session | None = None
    is_filled: bool = False
