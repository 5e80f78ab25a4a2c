"""Options that most verbs take."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from opennandlab.cli._typed import typed_sets
from opennandlab.cli.options.rows import Options, flag

Json = Annotated[bool, flag("Print one JSON document on stdout, nothing else.", "--json")]
Quiet = Annotated[bool, flag("Print errors only; the exit code is the result.", "--quiet", "-q")]


@dataclass(frozen=True, kw_only=True)
class Printed(Options):
    """What goes to the terminal."""

    as_json: Json = False
    quiet: Quiet = False


SEED_MAX = (1 << 64) - 1
Seed = Annotated[
    int, flag("Seed of all randomness; recorded in the result.", "--seed", min=0, max=SEED_MAX)
]
Sets = Annotated[
    list[str] | None,
    flag(
        "Change one key of the device, by dotted path: ftl.gc_policy=cost_benefit; with "
        "`workload.` before it, of the workload. May be repeated.",
        "--set",
        metavar="KEY=VALUE",
        callback=typed_sets,
    ),
]
Jobs = Annotated[
    int | None, flag("Points at a time; default: all cores.", "--jobs", "-j", min=1, max=1024)
]
AllowCode = Annotated[
    bool,
    flag(
        "Run code that a document, image or definition names, such as a policy in Python.",
        "--allow-code",
    ),
]


class BandKind(str, Enum):
    """Drives that are run for a band."""

    ALL = "all"
    QUICK = "quick"


Band = Annotated[
    BandKind | None,
    flag(
        "Run all drives that fit the data sheet of the device (config from-rating), or two of "
        "them with `quick`; without a value all.",
        "--band",
        metavar="all|quick",
    ),
]
Shrink = Annotated[
    str | None,
    flag(
        "Run a drive of fewer pages a block that stands for the whole one: auto, or a divisor.",
        "--shrink",
        metavar="auto|N",
    ),
]
SliceOps = Annotated[
    int | None, flag("Operations in a slice of the run.", "--slice-ops", hidden=True, min=1)
]
