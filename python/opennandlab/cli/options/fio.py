"""Options of job files of fio."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli.options.rows import Options, flag
from opennandlab.cli.options.run import MeasuredRunOptions

if TYPE_CHECKING:
    from opennandlab.measured.importing import Wanted


class PatternName(str, Enum):
    """Orders of requests."""

    RANDOM = "random"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True, kw_only=True)
class FioChoice(Options):
    """Which jobs of an output of fio are taken."""

    pattern: Annotated[PatternName | None, flag("Take these jobs of fio only.")] = None
    threads: Annotated[int | None, flag("Threads (TC); for fio, only these jobs.", min=1)] = None
    queue_depth: Annotated[
        int | None, flag("Outstanding per thread (QD); for fio, only these jobs.", min=1)
    ] = None
    job: Annotated[
        list[str] | None,
        flag("For fio, take only the job of this name. May be repeated.", metavar="NAME"),
    ] = None

    def chosen(self) -> "Wanted":
        """Return it as the reader of outputs takes it."""
        from opennandlab.measured.importing import Wanted

        pattern = self.pattern.value if self.pattern else None
        return Wanted(
            pattern=pattern,
            threads=self.threads,
            queue_depth=self.queue_depth,
            jobs=tuple(self.job or ()),
        )

    def chosen_of(self, files: Sequence[str | Path]) -> "Wanted":
        """Return it for files of which some may be of fio.

        Raises:
            ConfigError: for an option without an effect: none of the files is of fio.
        """
        from opennandlab.measured.importing import Wanted, may_be_fio

        wanted = self.chosen()
        paths = [Path(file) for file in files]
        if wanted != Wanted() and not any(path.is_dir() or may_be_fio(path) for path in paths):
            names = ("pattern", "threads", "queue_depth", "job")
            self.refuse(names, "as no file is output of fio; accepted: with output of fio")
        return wanted


@dataclass(frozen=True, kw_only=True)
class JobFileOptions(MeasuredRunOptions):
    """What a run of a job file takes."""

    fio_output: Annotated[
        Path | None,
        flag("With a job file: the result in fio's own JSON; - is stdout.", metavar="FILE"),
    ] = None
    fio_logs: Annotated[
        Path | None, flag("With a job file: a directory for fio's logs.", metavar="DIR")
    ] = None
    section: Annotated[
        list[str] | None,
        flag("With a job file: run this section only. May be repeated.", metavar="NAME"),
    ] = None
    env: Annotated[
        bool, flag("With a job file: replace ${NAME} by environment variables.", "--env")
    ] = False
