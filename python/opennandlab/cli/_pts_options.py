"""Options of the standard tests: the common ones once, and those of each test from its own list."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from opennandlab.cli._terminal import Json, Quiet, Seed
from opennandlab.cli._typed import typed_device, typed_sets

if TYPE_CHECKING:
    from opennandlab.pts.bench.document import Remarks
    from opennandlab.pts.bench.plan import Option, Settings
    from opennandlab.targets.opening import Request


class Profile(str, Enum):
    """Enterprise or client."""

    E = "E"
    C = "C"


class Version(str, Enum):
    """Version of the specification."""

    V2 = "2.0.2"
    V1 = "1.1"


class Base(str, Enum):
    """Time base."""

    FULL = "full"
    SCALED = "scaled"
    SMOKE = "smoke"


class Contents(str, Enum):
    """What is written."""

    RANDOM = "random"
    FILE = "file"


class Cache(str, Enum):
    """Volatile write cache."""

    ENABLED = "enabled"
    DISABLED = "disabled"


class Volume(str, Enum):
    """What preconditioning counts."""

    USER = "user"
    RANGE = "range"


DeviceSets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        callback=typed_sets,
        help="Change one key of a simulated device, by dotted path; may be repeated.",
    ),
]
COMMON: tuple[tuple[str, Any, Any], ...] = (
    (
        "target",
        Annotated[
            str,
            typer.Option(
                "--target",
                "-t",
                metavar="TARGET",
                callback=typed_device,
                help="sim:PRESET|FILE, file:PATH[?size=1GiB], /dev/… or "
                "nbd+unix:///EXPORT?socket=PATH.",
            ),
        ],
        inspect.Parameter.empty,
    ),
    (
        "profile",
        Annotated[
            Profile | None,
            typer.Option("--profile", help="PTS-E (enterprise, the default) or PTS-C (client)."),
        ],
        None,
    ),
    (
        "pts_version",
        Annotated[Version, typer.Option("--pts", help="Version of the specification.")],
        Version.V2,
    ),
    (
        "time_base",
        Annotated[
            Base | None,
            typer.Option(
                "--time-base",
                help="Durations: as specified (full), scaled to the drive, or a smoke test; "
                "default: full on real drives; on simulated ones scaled, but the latency test full "
                "where that takes about a minute or less.",
            ),
        ],
        None,
    ),
    (
        "cell_seconds",
        Annotated[
            float | None,
            typer.Option(
                "--cell-seconds", metavar="S", help="Length of every cell; default: by time base."
            ),
        ],
        None,
    ),
    ("seed", Seed, 42),
    (
        "output",
        Annotated[
            Path | None,
            typer.Option("--output", "-o", metavar="DIR", help="Directory for all files."),
        ],
        None,
    ),
    (
        "resume",
        Annotated[bool, typer.Option("--resume", help="Continue the interrupted run in --output.")],
        False,
    ),
    (
        "operator",
        Annotated[
            str | None,
            typer.Option("--operator", metavar="TEXT", help="Who runs the test, for the report."),
        ],
        None,
    ),
    (
        "note",
        Annotated[
            list[str] | None,
            typer.Option("--note", metavar="TEXT", help="A note for the report; may be repeated."),
        ],
        None,
    ),
    (
        "model",
        Annotated[
            str | None,
            typer.Option("--model", metavar="TEXT", help="Model of the device, for the report."),
        ],
        None,
    ),
    ("settings", DeviceSets, None),
    (
        "threads",
        Annotated[int | None, typer.Option("--threads", help="Threads (TC).")],
        None,
    ),
    (
        "queue_depth",
        Annotated[
            int | None, typer.Option("--queue-depth", help="Outstanding requests per thread (QD).")
        ],
        None,
    ),
    (
        "oio",
        Annotated[
            int | None,
            typer.Option("--oio", help="Outstanding requests in total, with one thread."),
        ],
        None,
    ),
    (
        "active_range_pct",
        Annotated[
            float | None,
            typer.Option("--active-range-pct", help="Active range, % of the user capacity."),
        ],
        None,
    ),
    (
        "ar_amount",
        Annotated[
            str | None,
            typer.Option(
                "--ar-amount",
                metavar="SIZE",
                help="Bytes accessed within the active range, such as 8GiB.",
            ),
        ],
        None,
    ),
    (
        "ar_segments",
        Annotated[
            int | None,
            typer.Option("--ar-segments", help="Number of segments that hold this amount."),
        ],
        None,
    ),
    (
        "data",
        Annotated[
            Contents,
            typer.Option("--data", help="Data written: random, or compressible like files."),
        ],
        Contents.RANDOM,
    ),
    (
        "cache",
        Annotated[
            Cache | None,
            typer.Option("--cache", help="Write cache of the drive; default: as in the profile."),
        ],
        None,
    ),
    (
        "ss_max_rounds",
        Annotated[
            int | None,
            typer.Option(
                "--ss-max-rounds",
                help="Maximum number of rounds to wait for steady state; default 25, and one in "
                "a smoke of a real drive.",
            ),
        ],
        None,
    ),
    (
        "wipc_capacities",
        Annotated[
            float | None,
            typer.Option(
                "--wipc-capacities",
                help="Workload-independent preconditioning, in drive fills; 0 for none.",
            ),
        ],
        None,
    ),
    (
        "wipc_base",
        Annotated[
            Volume,
            typer.Option(
                "--wipc-base", help="What one fill covers: the user capacity, or the active range."
            ),
        ],
        Volume.USER,
    ),
    (
        "destructive",
        Annotated[
            bool,
            typer.Option("--destructive", help="Allow all data on a real target to be destroyed."),
        ],
        False,
    ),
    (
        "i_know",
        Annotated[
            str | None,
            typer.Option(
                "--i-know",
                metavar="NAME|SERIAL",
                help="Name or serial number of the device to be destroyed.",
            ),
        ],
        None,
    ),
    (
        "force",
        Annotated[
            bool,
            typer.Option("--force", help="Overwrite a partition table or file system."),
        ],
        False,
    ),
    (
        "dry_run",
        Annotated[bool, typer.Option("--dry-run", help="Print what would be done; do nothing.")],
        False,
    ),
    (
        "require_steady",
        Annotated[
            bool,
            typer.Option(
                "--require-steady", help="End with exit code 1 unless every test was steady."
            ),
        ],
        False,
    ),
    (
        "allow_lost",
        Annotated[
            bool,
            typer.Option(
                "--allow-lost",
                help="Let a steady state count although reads of a simulated drive gave no data.",
            ),
        ],
        False,
    ),
    ("as_json", Json, False),
    ("quiet", Quiet, False),
)
VARY = (
    "vary",
    Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=A,B,…",
            help="Run once for each value of an option or a device key: "
            "active-range-pct=100,80,50,25,10,5.",
        ),
    ],
    None,
)
ONLY_SLIDES = (
    "only",
    Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="SLIDE,…",
            help="Run only these: data, cache, oio, active-range, amount, age.",
        ),
    ],
    None,
)


@dataclass(frozen=True)
class Asked:
    """What a user asked for on the command line.

    Args:
        request: The target.
        settings: Of the tests.
        output: Directory for all files.
        resume: Go on with the run there.
        vary: Parameter to vary, and its values.
        dry_run: Only print the plan.
        as_json: One JSON document on stdout.
        quiet: Nothing but errors.
        remarks: What was said of the run by hand.
        require_steady: Whether a test that is not steady fails the command.
        is_profile_chosen: Whether the profile was given, not only the default.
    """

    request: "Request"
    settings: "Settings"
    output: Path | None
    resume: bool
    vary: str | None
    dry_run: bool
    as_json: bool
    quiet: bool
    remarks: "Remarks"
    require_steady: bool
    is_profile_chosen: bool


def _only(vary: list[str] | None) -> str | None:
    """Return what is varied; typer would drop all but the last."""
    from opennandlab.base.errors import ConfigError

    if not vary:
        return None
    if len(vary) > 1:
        raise ConfigError(
            "vary", "is given more than once; accepted: one KEY=A,B,… (`sweep` runs combinations)"
        )
    return vary[0]


def asked(values: dict[str, Any], options: tuple["Option", ...] = ()) -> Asked:
    """Return what the values of a command line mean.

    Raises:
        ConfigError: for a value that cannot be.
    """
    from opennandlab.core.config import parse_overrides
    from opennandlab.pts.bench.document import Remarks
    from opennandlab.pts.bench.plan import Settings
    from opennandlab.targets.consent import Consent
    from opennandlab.targets.opening import Request, parse_size

    plain = {
        key: value.value if isinstance(value, Enum) else value for key, value in values.items()
    }
    output: Path | None = plain["output"]
    request = Request(
        plain["target"],
        overrides=parse_overrides(plain["settings"] or []),
        seed=plain["seed"],
        consent=Consent(
            destructive=plain["destructive"], i_know=plain["i_know"], force=plain["force"]
        ),
        folder=output / "fio" if output is not None else None,
    )
    amount = plain["ar_amount"]
    settings = Settings(
        profile=plain["profile"] or Profile.E.value,
        pts_version=plain["pts_version"],
        time_base=plain["time_base"],
        cell_seconds=plain["cell_seconds"],
        seed=plain["seed"],
        active_range_pct=plain["active_range_pct"],
        ar_amount_bytes=None if amount is None else parse_size(amount),
        ar_segments=plain["ar_segments"],
        threads=plain["threads"],
        queue_depth=plain["queue_depth"],
        oio=plain["oio"],
        data=plain["data"],
        cache=plain["cache"],
        ss_max_rounds=plain["ss_max_rounds"],
        wipc_capacities=plain["wipc_capacities"],
        wipc_base=plain["wipc_base"],
        allow_lost=plain["allow_lost"],
        options={
            option.key: plain[option.key] for option in options if plain[option.key] is not None
        },
    )
    settings.check()
    return Asked(
        request,
        settings,
        output,
        plain["resume"],
        _only(plain.get("vary")),
        plain["dry_run"],
        plain["as_json"],
        plain["quiet"],
        Remarks(plain["operator"], tuple(plain["note"] or ()), plain["model"]),
        plain["require_steady"],
        plain["profile"] is not None,
    )


def command(
    run: Callable[[dict[str, Any]], None],
    summary: str,
    options: tuple["Option", ...] = (),
    *,
    first: tuple[tuple[str, Any, Any], ...] = (),
) -> Callable[..., None]:
    """Return a function with the common options and those of a test, as typer reads them.

    Args:
        run: Is given the values by name.
        summary: For `--help`.
        options: Of the test.
        first: More options: name, annotation, default.
    """
    rows = [*COMMON, *first, *(_row(option) for option in options)]

    def body(**values: Any) -> None:  # noqa: ANN401 (values of options)
        run(values)

    body.__doc__ = summary
    body.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for name, annotation, default in rows
        ]
    )
    body.__annotations__ = {name: annotation for name, annotation, _ in rows}
    return body


def _row(option: "Option") -> tuple[str, Any, Any]:
    """Return an option of a test as typer reads it."""
    flag = "--" + option.key.replace("_", "-")
    by_version = "".join(
        f", {version}: {value:g}" if isinstance(value, float) else f", {version}: {value}"
        for version, value in option.by_version.items()
    )
    usual = option.default if isinstance(option.default, str) else f"{option.default:g}"
    text = f"{option.help} Default: {usual or 'as in the specification'}{by_version}."
    kind: Any = type(option.default)
    if option.choices:
        members = [(choice.upper(), choice) for choice in option.choices]
        kind = cast("Any", Enum)(option.key.title(), members, type=str)
    return option.key, Annotated[kind | None, typer.Option(flag, help=text)], None
