"""Where the points of a sweep or a fleet run, and what is said when that ends early."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Jobs
from opennandlab.cli.options.rows import Options, flag

if TYPE_CHECKING:
    from opennandlab.store import Store
    from opennandlab.studies.sweeps.engine import Engine


class EngineName(str, Enum):
    """Where points run."""

    THREADS = "threads"
    DASK = "dask"


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """Where points run, and how many at a time."""

    jobs: Jobs = None
    engine: Annotated[EngineName, flag("Where points run.")] = EngineName.THREADS
    scheduler: Annotated[
        str | None,
        flag(
            "Scheduler of a Dask cluster, such as tcp://127.0.0.1:8786; default: workers on "
            "this machine.",
            metavar="ADDRESS",
        ),
    ] = None

    def check_scheduler(self) -> None:
        """Refuse a scheduler that no engine asks, and one that is no address.

        Raises:
            ConfigError: for one without `--engine dask`, and for another form.
        """
        from opennandlab.base.errors import ConfigError

        if self.scheduler is not None and self.engine is not EngineName.DASK:
            raise ConfigError("--scheduler", "belongs to --engine dask")
        if self.scheduler is not None:
            from opennandlab.studies.sweeps.cluster import check_address

            check_address(self.scheduler)

    def engine_of(self, store: "Store") -> "Engine":
        """Return where points run.

        Args:
            store: Where points are kept, those that were begun too.

        Raises:
            ConfigError: for a scheduler that no engine asks.
        """
        self.check_scheduler()
        if self.engine is EngineName.DASK:
            from opennandlab.studies.sweeps.cluster import Cluster

            return Cluster(self.scheduler, self.jobs)
        return threads_of(store, self.jobs)


def threads_of(store: "Store", jobs: int | None) -> "Engine":
    """Return threads of this process, all cores unless told otherwise."""
    from opennandlab.base.threads import cores
    from opennandlab.studies.sweeps.engine import Threads

    return Threads(jobs or cores(), store.unfinished)


def carried_out(run: Callable[[], object], there: Callable[[], str]) -> bool:
    """Run the missing points; if store or engine fails, end and name the stored points.

    Args:
        run: Returns when all is done.
        there: Says how much is there, such as `3 of 5 points are`.

    Returns:
        Whether Ctrl-C ended it; the stored points were then reported.
    """
    from opennandlab.base.errors import StoreWriteError
    from opennandlab.studies.sweeps.engine import EngineError

    try:
        run()
    except KeyboardInterrupt:
        terminal.note(f"interrupted: {there()} in the store; the same command continues from there")
        return True
    except StoreWriteError as error:
        terminal.stop(
            terminal.BROKEN,
            f"{error}; what was kept before is there, and the same command continues from it",
        )
    except EngineError as error:
        terminal.stop(
            terminal.BROKEN,
            f"{error}; {there()} in the store, and the same command continues from there",
        )
    return False
