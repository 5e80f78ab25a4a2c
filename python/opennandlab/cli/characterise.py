"""`characterise`: what the tutorials do with a drive, one document a step.

The options are those of `pts`, so this verb is made as those commands are: late.
"""

from typing import Annotated

from opennandlab.cli.options.pts import TestOptions, asked, command_of
from opennandlab.cli.options.rows import flag

Only = Annotated[
    str | None,
    flag(
        "Run only these steps: surface, stability, consistency, independence, composite, "
        "rw_ratio, block_size, scalability, pathological, access_time, position, burst.",
        metavar="STEP,…",
    ),
]


def _run(given: TestOptions) -> None:
    from opennandlab.base.errors import ConfigError
    from opennandlab.cli._pts_run import execute
    from opennandlab.pts import TUTORIAL
    from opennandlab.pts.bench.suite import Job

    wanted = asked(given)
    chosen = list(TUTORIAL)
    if given.more["only"] is not None:
        chosen = [word.strip().replace("-", "_") for word in given.more["only"].split(",")]
        for name in chosen:
            if name not in TUTORIAL:
                accepted = ", ".join(TUTORIAL)
                raise ConfigError("only", f"`{name}` is not known; accepted: {accepted}")
    jobs = [Job(name, TUTORIAL[name], wanted.settings) for name in chosen]
    execute(wanted, "characterise", jobs, None)


characterise = command_of(
    _run,
    "Characterise a drive step by step: surface, stability, independence, composite loads, …",
    only=Only,
)
