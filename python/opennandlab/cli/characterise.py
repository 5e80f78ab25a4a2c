"""`characterise`: what the tutorials do with a drive, one document a step.

The options are those of `pts`, so this verb is made as those commands are: late.
"""

from typing import Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._pts_options import command

ONLY = (
    "only",
    Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="STEP,…",
            help="Run only these steps: surface, stability, consistency, independence, composite, "
            "rw_ratio, block_size, scalability, pathological, access_time, position, burst.",
        ),
    ],
    None,
)


def _run(values: dict[str, Any]) -> None:
    with terminal.guard(as_json=values["as_json"]):
        from opennandlab.base.errors import ConfigError
        from opennandlab.cli._pts_options import asked
        from opennandlab.cli._pts_run import execute
        from opennandlab.pts import TUTORIAL
        from opennandlab.pts.bench.suite import Job

        wanted = asked(values)
        chosen = list(TUTORIAL)
        if values["only"] is not None:
            chosen = [word.strip().replace("-", "_") for word in values["only"].split(",")]
            for name in chosen:
                if name not in TUTORIAL:
                    accepted = ", ".join(TUTORIAL)
                    raise ConfigError("only", f"`{name}` is not known; accepted: {accepted}")
        jobs = [Job(name, TUTORIAL[name], wanted.settings) for name in chosen]
        execute(wanted, "characterise", jobs, None)


characterise = command(
    _run,
    "Characterise a drive step by step: surface, stability, independence, composite loads, …",
    first=(ONLY,),
)
