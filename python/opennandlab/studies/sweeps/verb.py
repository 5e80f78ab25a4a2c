"""What a sweep can run: one class for each verb, one row for each in `verbs`.

    request ──reader()──► changes ──► settings      files are read once, each point is checked
    settings, seed ──run()──► document ──metrics()──► numbers by name

A verb knows how its settings are resolved, how they are run, and which numbers of its document
people ask for. It knows nothing of grids, threads or stores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.documents.record import JsonObject

# Changed keys of one point -> its settings.
Reader = Callable[[Mapping[str, Any]], JsonObject]


class Verb(ABC):
    """Something that a sweep can run."""

    # As it is typed.
    name: ClassVar[str]
    # In a few words, for a list of verbs.
    title: ClassVar[str]
    # Keys that a request may have, besides the varied ones: key -> its meaning, for messages.
    keys: ClassVar[Mapping[str, str]]
    # Keys that a request must have.
    needed: ClassVar[tuple[str, ...]] = ()
    # Whether results depend on the seed.
    is_random: ClassVar[bool] = True
    # Whether an interrupted run leaves a state from which the next one continues.
    is_resumable: ClassVar[bool] = False
    # The number that is drawn by default.
    metric: ClassVar[str]
    # Numbers of a table; those that a document lacks are left out.
    columns: ClassVar[tuple[str, ...]] = ()
    # Numbers of `columns` that belong to one run, and have no mean.
    single: ClassVar[tuple[str, ...]] = ()
    # The value of `metric` by theory, if the documents have it.
    theory: ClassVar[str | None] = None

    @abstractmethod
    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what makes settings of changes; files are read once.

        Args:
            request: The part of a sweep that all points share; checked by `check`.

        Raises:
            ConfigError: also what is returned raises it, for a point that is invalid.
        """

    @abstractmethod
    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Run one point and return its document.

        Args:
            settings: What `reader` returned.
            seed: Seed of all randomness.
            watch: Called with the progress.
            place: A folder where one that is resumable leaves what it has, and finds what the run
                before left; the document does not depend on it.

        Raises:
            OpenNandLabError: what the verb raises for what cannot be run.
            KeyboardInterrupt: as soon as `watch` raises `Stopped`.
        """

    @abstractmethod
    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the numbers of a document by name."""

    @abstractmethod
    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return the names that numbers of its documents may have, `*` for any part of one.

        Args:
            request: The part of a sweep that all points share.
        """

    def memory_bytes(self, settings: JsonObject) -> int:  # noqa: ARG002
        """Return what a run takes of the memory, roughly; 0 where it is nothing to speak of."""
        return 0

    def rehearse(self, settings: JsonObject) -> None:  # noqa: B027 (most have nothing to add)
        """Refuse settings that no run could end with, as far as a moment's work can tell.

        Raises:
            ConfigError: with the key and what is accepted.
        """

    def caution(self, settings: JsonObject) -> str | None:  # noqa: ARG002
        """Return what a reader of the numbers must know of such a point; None for nothing."""
        return None

    def predicted(self, settings: JsonObject, key: str, value: float) -> float | None:
        """Return the number of theory for settings with another value of a key; None for none."""
        del settings, key, value
        return None

    def check(self, request: Mapping[str, Any]) -> None:
        """Refuse a request with what no point of this verb has, or without what each needs.

        Raises:
            ConfigError: with the key and what is accepted.
        """
        unknown = next((key for key in request if key not in self.keys), None)
        accepted = ", ".join(self.keys)
        if unknown is not None:
            raise ConfigError(unknown, f"is not a setting of `{self.name}`; accepted: {accepted}")
        missing = next((key for key in self.needed if request.get(key) is None), None)
        if missing is not None:
            raise ConfigError(missing, f"is missing: {self.keys[missing]}")


def drafted(changes: Mapping[str, Any], part: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split changes into those of one part (`workload.queue_depth`) and the others.

    >>> drafted({"workload.queue_depth": 4, "ftl.gc_policy": "fifo"}, "workload")
    ({'queue_depth': 4}, {'ftl.gc_policy': 'fifo'})
    """
    head = f"{part}."
    own = {key[len(head) :]: value for key, value in changes.items() if key.startswith(head)}
    return own, {key: value for key, value in changes.items() if not key.startswith(head)}
