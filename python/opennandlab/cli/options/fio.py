"""Options of job files of fio."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from opennandlab.cli.options.rows import flag
from opennandlab.cli.options.run import MeasuredRunOptions


@dataclass(frozen=True, kw_only=True)
class JobFileOptions(MeasuredRunOptions):
    """What a run of a job file takes."""

    fio_output: Annotated[
        Path | None,
        flag("Of a job file: the result in fio's own JSON; - is stdout.", metavar="FILE"),
    ] = None
    fio_logs: Annotated[
        Path | None, flag("Of a job file: a directory for fio's logs.", metavar="DIR")
    ] = None
    section: Annotated[
        list[str] | None,
        flag("Of a job file: run this section only. May be repeated.", metavar="NAME"),
    ] = None
    env: Annotated[bool, flag("Of a job file: replace ${NAME} by the environment's.", "--env")] = (
        False
    )
