"""Options of the standard tests: the common ones once, and those of each test from its own list.

`TestOptions` is the command line, `Asked` what it means for the bench. A test lists its own options
(`Test.options`), and `command_of` adds a row for each to the common ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from opennandlab.cli.options.common import Json, Quiet, Seed
from opennandlab.cli.options.rows import Options, flag, parameter, spread
from opennandlab.cli.options.target import (
    Destructive,
    DeviceSets,
    DryRun,
    Force,
    IKnow,
    TargetText,
)

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
    """Data of the writes: random, or compressible like files."""

    RANDOM = "random"
    FILE = "file"


class Cache(str, Enum):
    """Volatile write cache."""

    ENABLED = "enabled"
    DISABLED = "disabled"


class Volume(str, Enum):
    """Size of one fill of preconditioning: the user capacity, or the active range."""

    USER = "user"
    RANGE = "range"


Vary = Annotated[
    list[str] | None,
    flag(
        "Run once for each value of an option or a device key: active-range-pct=100,80,50,25,10,5.",
        "--vary",
        metavar="KEY=A,B,…",
    ),
]
CsvFile = Annotated[
    Path | None, flag("Write the cells to this file too, for `calibrate --to`.", metavar="FILE.csv")
]
OnlySlides = Annotated[
    str | None,
    flag(
        "Run only these: data, cache, oio, active-range, amount, age.",
        "--only",
        metavar="SLIDE,…",
    ),
]


@dataclass(frozen=True, kw_only=True)
class TestOptions(Options):
    """Options of every standard test; `more` holds those of one test, by name."""

    target: TargetText
    profile: Annotated[
        Profile | None, flag("PTS-E (enterprise, the default) or PTS-C (client).")
    ] = None
    pts_version: Annotated[Version, flag("Version of the specification.", "--pts")] = Version.V2
    time_base: Annotated[
        Base | None,
        flag(
            "Durations: as specified (full), scaled to the drive, or a smoke test; default: full "
            "on real drives; on simulated ones scaled, but the latency test full if that takes "
            "about a minute or less.",
        ),
    ] = None
    cell_seconds: Annotated[
        float | None, flag("Length of every cell; default: by time base.", metavar="S")
    ] = None
    seed: Seed = 42
    output: Annotated[Path | None, flag("Directory for all files.", "-o", metavar="DIR")] = None
    resume: Annotated[bool, flag("Continue the interrupted run in --output.")] = False
    ocp: Annotated[
        bool,
        flag(
            "Also save the drive's own logs after each test, as NAME.ocp.json in --output: of a "
            "simulated drive, by the names of nvme-cli.",
        ),
    ] = False
    operator: Annotated[str | None, flag("Who runs the test, for the report.", metavar="TEXT")] = (
        None
    )
    note: Annotated[
        list[str] | None, flag("A note for the report; may be repeated.", metavar="TEXT")
    ] = None
    model: Annotated[str | None, flag("Model of the device, for the report.", metavar="TEXT")] = (
        None
    )
    power_log: Annotated[
        Path | None,
        flag(
            "Log of a power meter on a real drive: lines of seconds,watts, read when a test ends.",
            metavar="FILE",
        ),
    ] = None
    settings: DeviceSets = None
    state: Annotated[
        str | None,
        flag(
            "State of a simulated drive before the test: young, old (half of its rated cycles), "
            "eol (all of them), or a saved drive; several, separated by commas, also give "
            "the ratios of each to the first.",
            metavar="young|old|eol|image:FILE,…",
        ),
    ] = None
    threads: Annotated[int | None, flag("Threads (TC).")] = None
    queue_depth: Annotated[int | None, flag("Outstanding requests per thread (QD).")] = None
    oio: Annotated[int | None, flag("Outstanding requests in total, with one thread.")] = None
    active_range_pct: Annotated[float | None, flag("Active range, % of the user capacity.")] = None
    ar_amount: Annotated[
        str | None, flag("Bytes accessed within the active range, such as 8GiB.", metavar="SIZE")
    ] = None
    ar_segments: Annotated[int | None, flag("Number of segments that hold this amount.")] = None
    data: Annotated[Contents, flag("Data written: random, or compressible like files.")] = (
        Contents.RANDOM
    )
    cache: Annotated[
        Cache | None, flag("Write cache of the drive; default: as in the profile.")
    ] = None
    ss_max_rounds: Annotated[
        int | None,
        flag(
            "Maximum number of rounds to wait for steady state; default 25, and one in a "
            "smoke test of a real drive.",
        ),
    ] = None
    wipc_capacities: Annotated[
        float | None, flag("Workload-independent preconditioning, in drive fills; 0 for none.")
    ] = None
    wipc_base: Annotated[
        Volume, flag("What one fill covers: the user capacity, or the active range.")
    ] = Volume.USER
    destructive: Destructive = False
    i_know: IKnow = None
    force: Force = False
    dry_run: DryRun = False
    require_steady: Annotated[bool, flag("End with exit code 1 unless every test was steady.")] = (
        False
    )
    allow_lost: Annotated[
        bool, flag("Accept a steady state even if reads of a simulated drive returned no data.")
    ] = False
    as_json: Json = False
    quiet: Quiet = False
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """What a user asked for on the command line.

    Args:
        request: The target.
        settings: Settings of the tests.
        output: Directory for all files; None keeps nothing.
        resume: Continue the interrupted run of `output`.
        vary: Parameter to vary, and its values.
        dry_run: Only print the plan.
        as_json: One JSON document on stdout.
        quiet: Nothing but errors.
        remarks: Remarks on the run, given by hand.
        require_steady: Whether a test that is not steady fails the command.
        is_profile_chosen: Whether the profile was given, not only the default.
        power_log: Log of a power meter.
        ocp: Whether the logs of a simulated drive are saved.
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
    ocp: bool
    power_log: Path | None = None


def _only(vary: list[str] | None) -> str | None:
    """Return the one `--vary`; several are refused, since typer would drop all but the last."""
    from opennandlab.base.errors import ConfigError

    if not vary:
        return None
    if len(vary) > 1:
        raise ConfigError(
            "vary", "is given more than once; accepted: one KEY=A,B,… (`sweep` runs combinations)"
        )
    return vary[0]


def asked(given: TestOptions, options: tuple["Option", ...] = ()) -> Asked:
    """Return the request of a command line.

    Raises:
        ConfigError: for an invalid value, or several `--vary`.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.cli._pts_power import checked
    from opennandlab.core.overrides import parse_overrides
    from opennandlab.pts.bench.document import Remarks
    from opennandlab.pts.bench.suite import STATE
    from opennandlab.targets.consent import Consent
    from opennandlab.targets.drive_state import states
    from opennandlab.targets.opening import Request

    output = given.output
    vary = _only(given.more.get("vary"))
    if given.state is not None and len(states(given.state)) > 1:
        if vary is not None or "vary" not in given.more:
            why = "with --vary" if vary is not None else "of several tests"
            raise ConfigError("state", f"`{given.state}` {why}; accepted: one state")
        vary, given = f"{STATE}={given.state}", replace(given, state=None)
    if output is None:
        given.refuse(("ocp",), "without --output; accepted: with --output DIR")
    request = Request(
        given.target,
        overrides=parse_overrides(given.settings or []),
        seed=given.seed,
        consent=Consent(destructive=given.destructive, i_know=given.i_know, force=given.force),
        folder=output / "fio" if output is not None else None,
        shrink=given.more.get("shrink"),
        state=given.state,
    )
    return Asked(
        request,
        _settings(given, options),
        output,
        given.resume,
        vary,
        given.dry_run,
        given.as_json,
        given.quiet,
        Remarks(given.operator, tuple(given.note or ()), given.model),
        given.require_steady,
        given.profile is not None,
        given.ocp,
        checked(given.power_log, is_virtual=request.kind == "sim"),
    )


def _settings(given: TestOptions, options: tuple["Option", ...]) -> "Settings":
    from opennandlab.base.units import parse_bytes
    from opennandlab.pts.bench.plan import Settings

    chosen = {option.key: _plain(given.more[option.key]) for option in options}
    settings = Settings(
        profile=_plain(given.profile or Profile.E),
        pts_version=_plain(given.pts_version),
        time_base=_plain(given.time_base),
        cell_seconds=given.cell_seconds,
        seed=given.seed,
        active_range_pct=given.active_range_pct,
        ar_amount_bytes=None if given.ar_amount is None else parse_bytes(given.ar_amount),
        ar_segments=given.ar_segments,
        threads=given.threads,
        queue_depth=given.queue_depth,
        oio=given.oio,
        data=_plain(given.data),
        cache=_plain(given.cache),
        ss_max_rounds=given.ss_max_rounds,
        wipc_capacities=given.wipc_capacities,
        wipc_base=_plain(given.wipc_base),
        allow_lost=given.allow_lost,
        state=given.state,
        options={key: value for key, value in chosen.items() if value is not None},
    )
    settings.check()
    return settings


def _plain(value: Any) -> Any:  # noqa: ANN401 (of options)
    """Return the word of a choice, and other values as they are."""
    return value.value if isinstance(value, Enum) else value


def command_of(
    run: Callable[[TestOptions], None],
    summary: str,
    options: tuple["Option", ...] = (),
    **more: Any,  # noqa: ANN401 (a type with its row)
) -> Callable[..., None]:
    """Return a function with the common options and those of a test, as typer reads them.

    Args:
        run: The command.
        summary: For `--help`.
        options: Options of the test.
        more: Rows between both, by name; their default is None.
    """
    run.__doc__ = summary
    rows = [parameter(name, hint, None) for name, hint in more.items()]
    return spread(run, [*rows, *(_row(option) for option in options)])


def _row(option: "Option") -> Parameter:
    """Return an option of a test as typer reads it."""
    by_version = "".join(
        f"; with --pts {version}: {value:g}"
        if isinstance(value, float)
        else f"; with --pts {version}: {value}"
        for version, value in option.by_version.items()
    )
    usual = option.default if isinstance(option.default, str) else f"{option.default:g}"
    is_file = option.reader is Path
    text = option.help
    if not is_file:
        text += f" Default: {usual or 'as in the specification'}{by_version}."
    kind: Any = type(option.default)
    if option.choices:
        members = [(choice.upper(), choice) for choice in option.choices]
        kind = cast("Any", Enum)(option.key.title(), members, type=str)
    names = [f"--{option.spelled}"] if option.spelled else []
    row = flag(text, *names, metavar="FILE" if is_file else None)
    return parameter(option.key, Annotated[kind | None, row], None)
