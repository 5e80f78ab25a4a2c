"""What a test is going to do: settings of the user, defaults of the profile, and what differs.

A *profile* is PTS-E (enterprise: write cache off, the whole drive) or PTS-C (client: write cache
on, 75 % of the drive). Whatever a user changes against it is a deviation, listed in the header of
every report. Defaults are those of SNIA SSS PTS 2.0.2, and of 1.1 where that is asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from opennandlab.base.errors import ConfigError
from opennandlab.measured.published import TestedPart, tested_part
from opennandlab.pts.bench import declared, matrix
from opennandlab.pts.bench.matrix import Matrix
from opennandlab.pts.bench.time_base import NAMES, Name, TimeBase
from opennandlab.targets.base import ActiveRange, Data, Target
from opennandlab.targets.drive_state import check_state

Profile = Literal["C", "E"]
PtsVersion = Literal["2.0.2", "1.1"]
PROFILES: tuple[Profile, ...] = ("E", "C")
PTS_VERSIONS: tuple[PtsVersion, ...] = ("2.0.2", "1.1")

# SNIA SSS PTS 2.0.2: enterprise drives are tested with the write cache off, client drives with on.
CACHE_ENABLED: dict[Profile, bool] = {"E": False, "C": True}
# SNIA SSS PTS 2.0.2; 1.x preconditions the whole client drive and tests an amount within it.
RANGE_SHARE: dict[tuple[Profile, PtsVersion], float] = {
    ("E", "2.0.2"): 1.0,
    ("E", "1.1"): 1.0,
    ("C", "2.0.2"): 0.75,
    ("C", "1.1"): 1.0,
}
# PTS-C 1.x: 8 GiB (Kim and Ho, 2013) in 2048 segments (SNIA, test terms).
CLIENT_AMOUNT_BYTES = 8 << 30
CLIENT_SEGMENTS = 2048
# A test that is cheap in virtual time runs as the specification has it: up to 1 TB, but not
# where half an hour of writes, computed at 0.8 to 1.6 million a second, takes more than a minute.
CHEAP_BYTES_MAX = 1.01e12
CHEAP_WRITE_S_MIN = 20e-6
# Of a cell that the user sets.
CELL_S_RANGE = (0.001, 86_400.0)
# SNIA SSS PTS 2.0.2, workload independent preconditioning.
WIPC_CAPACITIES = 2.0
WIPC_BLOCK_BYTES = 128 << 10
# SNIA SSS PTS 2.0.2: 25 rounds at most; the range is of the implementation.
ROUNDS_MAX = 25
ROUNDS_RANGE = (5, 100)
THREADS_MAX, DEPTH_MAX = 256, 4096
MATRIX_WORDS = {matrix.SIZES: "block sizes", matrix.MIXES: "percent of reads"}
# Ranges of the client profile in tests whose text of PTS-C was not at hand.
PUBLISHED = "ranges of published implementations"
# Recommended for IOPS by SNIA SSS PTS 2.0.2, which leaves both to the operator: threads and queue
# depth.
RANDOM_LOAD: dict[Profile, tuple[int, int]] = {"E": (4, 32), "C": (2, 16)}
SEQUENTIAL_LOAD: dict[Profile, tuple[int, int]] = {"E": (1, 32), "C": (1, 32)}
SINGLE_LOAD: dict[Profile, tuple[int, int]] = {"E": (1, 1), "C": (1, 1)}
DEMAND_LOAD: dict[Profile, tuple[int, int]] = {"E": (32, 32), "C": (32, 32)}


@dataclass(frozen=True)
class Option:
    """A parameter that only one test has.

    Args:
        key: Name in documents; on the command line with dashes.
        default: Value without the option; its type is the type of the option. One that is empty
            stands for what the test does by itself, and is in no document.
        help: One sentence for `--help`.
        choices: Accepted texts; empty for any number.
        minimum: Smallest number.
        maximum: Largest number; None for any.
        by_version: Default of another version than 2.0.2.
        accepted: What a text without choices may be, in words; empty for anything.
        reader: Raises `ValueError` for a text that is invalid.
        is_length: Whether less than the default is less writing, or time, than the specification
            has.
        spelled: Name on the command line; empty for that of the key.
    """

    key: str
    default: float | str
    help: str
    choices: tuple[str, ...] = ()
    minimum: float = 0
    by_version: Mapping[str, float | str] = field(default_factory=dict)
    accepted: str = ""
    reader: Callable[[str], object] | None = None
    maximum: float | None = None
    is_length: bool = False
    spelled: str = ""

    @property
    def name(self) -> str:
        """Its name in errors: as on the command line."""
        return self.spelled or self.key

    def default_for(self, pts_version: str) -> float | str:
        """Return the default of a version of the specification."""
        return self.by_version.get(pts_version, self.default)

    def checked(self, value: object) -> float | str:
        """Return a value that the test can use.

        Raises:
            ConfigError: with what is accepted.
        """
        if self.choices:
            if value not in self.choices:
                accepted = ", ".join(self.choices)
                raise ConfigError(self.name, f"`{value}` is not known; accepted: {accepted}")
            return str(value)
        if self.reader is not None:
            items = value if isinstance(value, list | tuple) else [value]
            text = ",".join(map(str, items))
            try:
                self.reader(text)
            except ValueError as error:
                raise ConfigError(self.name, f"{error}; accepted: {self.accepted}") from None
            return text
        kind = type(self.default)
        try:
            number = kind(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise ConfigError(self.name, f"`{value}` is not a number") from None
        except OverflowError:  # infinity, where a whole number belongs
            number = float("inf")
        if isinstance(number, str) or not self.minimum <= number < float("inf"):
            is_small = not isinstance(number, str) and number < self.minimum
            reason = "is too small" if is_small else "is not a finite number"
            raise ConfigError(self.name, f"{value} {reason}; accepted: from {self.minimum:g}")
        if self.maximum is not None and number > self.maximum:
            accepted = f"{self.minimum:g} to {self.maximum:g}"
            raise ConfigError(self.name, f"{value} is too large; accepted: {accepted}")
        return number


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The specification of a standard test: its name, its options and its defaults.

    Args:
        name: Name on the command line and in documents.
        title: Title in reports.
        summary: One sentence for `--help`.
        load: Threads and queue depth of each profile.
        wipc: Whether a sequential fill comes before the test's own load.
        options: Parameters that only this test has.
        kinds: Kinds of targets that it can test; empty for all.
        needs_dies: Whether it asks a simulated drive for the dies of its file.
        cache_enabled: Default of the write cache; None for that of the profile.
        virtual_base: Time base of a simulated drive, unless the user names one: `full` where that
            takes about a minute or less.
        trims: Whether what was written does not all stay.
        matrix: Block sizes and mixes of its cells by profile, where a user may ask for others.
        fixes_load: Whether threads and queue depth are part of the test, not the operator's choice.
        client_from: Where ranges, cache and load of the client profile come from if no text of the
            specification was at hand; empty otherwise.
        titles: Title of another version than 2.0.2.
    """

    name: str
    title: str
    summary: str
    load: Mapping[Profile, tuple[int, int]]
    wipc: bool = True
    options: tuple[Option, ...] = ()
    kinds: tuple[str, ...] = ()
    needs_dies: bool = False
    cache_enabled: bool | None = None
    virtual_base: Name = "scaled"
    trims: bool = False
    matrix: Mapping[Profile, Matrix] = field(default_factory=dict)
    fixes_load: bool = False
    client_from: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)

    def title_of(self, pts_version: str) -> str:
        """Return the title in a version of the specification."""
        return self.titles.get(pts_version, self.title)

    def lacking(self, target: Target) -> str:
        """Return the part that the test needs and the target lacks; empty if there is none."""
        if self.needs_dies and "nand" not in declared.config_of(target):
            return "needs a flash drive, whose dies it counts"
        return ""

    def base_for(self, target: Target, *, cache_enabled: bool) -> Name:
        """Return the time base of a run without `--time-base`."""
        if not target.is_virtual or target.prefers_full:
            return "full"
        config = declared.config_of(target)
        write_s = declared.least_write_s(config, cache_enabled=cache_enabled)
        is_cheap = target.capacity_bytes <= CHEAP_BYTES_MAX and write_s >= CHEAP_WRITE_S_MIN
        return self.virtual_base if is_cheap else "scaled"


@dataclass(frozen=True)
class Settings:
    """What a user asked for; None stands for the profile's own value.

    Args:
        profile: `E` or `C`.
        pts_version: `2.0.2` or `1.1`.
        time_base: `full`, `scaled` or `smoke`; None for that of test and target.
        cell_seconds: Length of every cell; None for that of the time base.
        seed: Decides all addresses.
        active_range_pct: Part of the user capacity in use, in percent.
        ar_amount_bytes: Bytes in use within that part, in segments; 0 for all of it.
        ar_segments: Number of segments.
        threads: Threads (TC).
        queue_depth: Requests outstanding per thread (QD).
        oio: Requests outstanding in all: one thread of this depth.
        data: What is written: `random` or `file`.
        cache: Volatile write cache of the drive: `enabled` or `disabled`.
        ss_max_rounds: Rounds after which the steady state counts as not attained; None for 25.
        wipc_capacities: How often preconditioning fills the drive.
        wipc_base: What it fills: the `user` capacity into the range, or the `range` itself.
        allow_lost: Whether a steady state counts although reads gave no data.
        state: State of a simulated drive before the test: `young`, `old`, `eol` or `image:FILE`.
        options: Parameters of one test, by key.
    """

    profile: Profile = "E"
    pts_version: PtsVersion = "2.0.2"
    time_base: Name | None = None
    cell_seconds: float | None = None
    seed: int = 42
    active_range_pct: float | None = None
    ar_amount_bytes: int | None = None
    ar_segments: int | None = None
    threads: int | None = None
    queue_depth: int | None = None
    oio: int | None = None
    data: Data = "random"
    cache: Literal["enabled", "disabled"] | None = None
    ss_max_rounds: int | None = None
    wipc_capacities: float | None = None
    wipc_base: Literal["user", "range"] = "user"
    allow_lost: bool = False
    state: str | None = None
    options: Mapping[str, float | str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON."""
        found = {**asdict(self), "options": dict(self.options)}
        # What is off has no key, so that runs from before it are found again.
        if not self.allow_lost:
            del found["allow_lost"]
        if self.state is None:
            del found["state"]
        return found

    def check(self) -> None:
        """Refuse what no test can do.

        Raises:
            ConfigError: with the option, its value and what is accepted.
        """
        _one_of("profile", self.profile, PROFILES)
        _one_of("pts", self.pts_version, PTS_VERSIONS)
        _one_of("time-base", self.time_base, (None, *NAMES))
        _within("cell-seconds", self.cell_seconds, *CELL_S_RANGE)
        _one_of("data", self.data, ("random", "file"))
        _one_of("cache", self.cache, (None, "enabled", "disabled"))
        _one_of("wipc-base", self.wipc_base, ("user", "range"))
        check_state(self.state)
        _within("seed", self.seed, 0, 2**53)
        _within("active-range-pct", self.active_range_pct, 1, 100)
        _within("ar-amount", self.ar_amount_bytes, 0, 2**60)
        _within("ar-segments", self.ar_segments, 1, 1 << 20)
        _within("threads", self.threads, 1, THREADS_MAX)
        _within("queue-depth", self.queue_depth, 1, DEPTH_MAX)
        _within("oio", self.oio, 1, DEPTH_MAX)
        _within("ss-max-rounds", self.ss_max_rounds, *ROUNDS_RANGE)
        _within("wipc-capacities", self.wipc_capacities, 0, 100)
        if self.oio is not None and (self.threads or self.queue_depth):
            raise ConfigError("oio", "sets threads and queue depth; give either it or them")


@dataclass(frozen=True)
class Plan:
    """A test on a target with every default filled in."""

    test: Spec
    settings: Settings
    time: TimeBase
    sector_bytes: int
    active_range: ActiveRange
    wipc_range: ActiveRange
    wipc_capacities: float
    threads: int
    queue_depth: int
    cache_enabled: bool
    options: Mapping[str, float | str]
    deviations: tuple[str, ...]
    # Settings left to the operator that are not as recommended.
    choices: tuple[str, ...] = ()
    # Whether cache, range, data or load are not those that the specification fixes.
    has_other_fixed: bool = False
    # Empty where the test has none.
    matrix: Matrix = field(default_factory=lambda: Matrix((), ()))

    @property
    def is_own_matrix(self) -> bool:
        """Whether the user asked for other cells than those of the specification."""
        return any(key in self.options for key in (matrix.SIZES, matrix.MIXES))

    @property
    def rounds_max(self) -> int:
        """Rounds after which the steady state counts as not attained."""
        return self.time.rounds_max(self.settings.ss_max_rounds, ROUNDS_MAX)

    @property
    def pts_version(self) -> str:
        """Version of the specification."""
        return self.settings.pts_version

    @property
    def profile(self) -> Profile:
        """`E` or `C`."""
        return self.settings.profile

    @property
    def range_bytes(self) -> int:
        """Bytes that the test may touch."""
        whole = int(self.active_range.share * self.time.capacity_bytes)
        amount = self.active_range.amount_bytes
        return whole if amount is None else min(amount, whole)

    def text(self, key: str) -> str:
        """Return an option that is a text."""
        return str(self.options[key])

    def number(self, key: str) -> float:
        """Return an option that is a number."""
        return float(self.options[key])


def seed_of(seed: int, *parts: object) -> int:
    """Return the seed of a step: a hash, so that neighbours have nothing in common.

    >>> seed_of(42, "iops", "round", 1, 0) != seed_of(42, "iops", "round", 1, 1)
    True
    """
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def make_plan(test: Spec, settings: Settings, target: Target) -> Plan:
    """Fill in the defaults of test and profile, and list what deviates from them.

    Raises:
        ConfigError: for settings that this test on this target cannot have.
    """
    settings.check()
    if test.kinds and target.kind not in test.kinds:
        accepted = ", ".join(test.kinds)
        raise ConfigError("target", f"{test.name} needs a target of the kind {accepted}")
    if lacking := test.lacking(target):
        raise ConfigError("target", f"{test.name} {lacking}")
    if settings.state != target.state:
        asked, has = (state or "none" for state in (settings.state, target.state))
        raise ConfigError(
            "state", f"the test needs the state {asked}, and the target was opened with {has}"
        )
    deviations: list[str] = []
    cache_enabled = _cache(test, settings, deviations)
    base = settings.time_base or test.base_for(target, cache_enabled=cache_enabled)
    config = declared.config_of(target)
    choices: list[str] = []
    threads, queue_depth = _load(test, settings, deviations if test.fixes_load else choices)
    tested = _tested_part(test, settings, target)
    active_range, wipc_range = _ranges(settings, target.capacity_bytes, tested, deviations)
    if settings.data != "random":
        deviations.append(f"data pattern {settings.data} (profile: random)")
    has_other_fixed = bool(deviations)
    time = TimeBase(
        base,
        target.is_virtual,
        target.capacity_bytes,
        declared.reclaim_s(config),
        settings.cell_seconds,
        is_throttled=declared.is_throttled(config),
        is_range_small=_fits_spare(active_range, target),
    )
    capacities = _wipc(test, settings, time, wipc_range, deviations)
    if settings.ss_max_rounds not in {None, ROUNDS_MAX}:
        deviations.append(f"at most {settings.ss_max_rounds} rounds (standard: {ROUNDS_MAX})")
    options = _options(test, settings, deviations)
    cells = _matrix(test, settings, options, deviations)
    if matrix.SIZES in options:
        matrix.check(cells, target.sector_bytes, _room(active_range, target, threads))
    return Plan(
        test=test,
        settings=settings,
        time=time,
        sector_bytes=target.sector_bytes,
        active_range=active_range,
        wipc_range=wipc_range,
        wipc_capacities=capacities,
        threads=threads,
        queue_depth=queue_depth,
        cache_enabled=cache_enabled,
        options=options,
        deviations=tuple(deviations),
        choices=tuple(choices),
        has_other_fixed=has_other_fixed,
        matrix=cells,
    )


def _cache(test: Spec, settings: Settings, deviations: list[str]) -> bool:
    """Return whether the volatile write cache is on."""
    usual = CACHE_ENABLED[settings.profile] if test.cache_enabled is None else test.cache_enabled
    is_on = usual if settings.cache is None else settings.cache == "enabled"
    if is_on != usual:
        was = "enabled" if usual else "disabled"
        deviations.append(f"write cache {settings.cache} (profile: {was})")
    return is_on


def _load(test: Spec, settings: Settings, told: list[str]) -> tuple[int, int]:
    """Return threads and queue depth; state this if they are not those of the profile."""
    usual = test.load[settings.profile]
    if settings.oio is not None:
        many = "request" if settings.oio == 1 else "requests"
        told.append(f"{settings.oio} outstanding {many} in all (OIO throttle)")
        return 1, settings.oio
    load = (settings.threads or usual[0], settings.queue_depth or usual[1])
    if load != usual:
        whose = "profile" if test.fixes_load else "the operator's choice; recommended"
        told.append(f"TC {load[0]} / QD {load[1]} ({whose}: TC {usual[0]} / QD {usual[1]})")
    return load


def _tested_part(test: Spec, settings: Settings, target: Target) -> TestedPart | None:
    """Return the part that the published table of a preset was measured on, if none is asked for.

    A preset that models a published table is compared with it: by default it takes the same part.
    """
    asked = (settings.active_range_pct, settings.ar_amount_bytes, settings.ar_segments)
    is_other = not target.is_virtual or target.shrink > 1 or settings.pts_version == "1.1"
    if is_other or asked != (None, None, None):
        return None
    return tested_part(target.name.removeprefix("sim:"), test.name, settings.profile)


def _fits_spare(active_range: ActiveRange, target: Target) -> bool:
    """Return whether all that the test may write fits into the spare area; False if unknown."""
    physical, amount = target.facts().device.physical_bytes, active_range.amount_bytes
    if physical is None or amount is None:
        return False
    return amount <= physical - target.capacity_bytes


def _ranges(
    settings: Settings,
    capacity_bytes: int,
    tested: TestedPart | None,
    deviations: list[str],
) -> tuple[ActiveRange, ActiveRange]:
    """Return the active range of the test and that of preconditioning."""
    usual = RANGE_SHARE[settings.profile, settings.pts_version]
    share = usual if settings.active_range_pct is None else settings.active_range_pct / 100
    if share != usual:
        deviations.append(f"active range {100 * share:g}% (profile: {100 * usual:g}%)")
    is_client_1 = (settings.profile, settings.pts_version) == ("C", "1.1")
    usual_amount = CLIENT_AMOUNT_BYTES if is_client_1 else 0
    amount = usual_amount if settings.ar_amount_bytes is None else settings.ar_amount_bytes
    segments = settings.ar_segments or CLIENT_SEGMENTS
    if tested is not None:
        amount, segments = tested.amount_bytes, tested.segments
        deviations.append(
            f"active range amount {amount} B in {segments} segments, as the published table "
            f"{tested.table} of this drive (profile: all)"
        )
    elif amount != usual_amount:
        was = f"{usual_amount} B" if usual_amount else "all"
        deviations.append(f"active range amount {amount or 'all'} B (profile: {was})")
    if settings.ar_segments is not None and not amount:
        raise ConfigError("ar-segments", "divides an amount; accepted: together with --ar-amount")
    if amount >= share * capacity_bytes:
        if amount:
            deviations.append(f"active range amount {amount} B is more than there is: all is used")
        amount = 0
    if amount and segments != CLIENT_SEGMENTS:
        deviations.append(f"{segments} segments (standard: {CLIENT_SEGMENTS})")
    seed = seed_of(settings.seed, "segments")
    whole = ActiveRange(share=share, seed=seed)
    if not amount:
        return whole, whole
    part = ActiveRange(share=share, amount_bytes=amount, segments=segments, seed=seed)
    # An amount limits the test; the range limits preconditioning too.
    return part, whole


def _wipc(
    test: Spec, settings: Settings, time: TimeBase, part: ActiveRange, deviations: list[str]
) -> float:
    asked = settings.wipc_capacities
    if test.wipc and settings.wipc_base == "range" and part.share < 1:
        deviations.append(
            "preconditioning counts fills of the active range (standard: of the user capacity)"
        )
    if asked is None:
        return time.wipc_capacities(WIPC_CAPACITIES)
    if test.wipc and asked != WIPC_CAPACITIES:
        deviations.append(
            f"preconditioning by {asked:g} capacities (standard: {WIPC_CAPACITIES:g})"
        )
    return asked


def _matrix(
    test: Spec, settings: Settings, options: dict[str, float | str], deviations: list[str]
) -> Matrix:
    """Return the cells of a test; options that ask for those of the specification are dropped."""
    usual = test.matrix.get(settings.profile)
    if usual is None:
        return Matrix((), ())
    own = matrix.chosen(usual, options)
    standard, here = usual.options(), own.options()
    texts = []
    for key in (matrix.SIZES, matrix.MIXES):
        if key not in options:
            continue
        if here[key] == standard[key]:
            del options[key]
            continue
        options[key] = here[key]
        asked, usually = (text[key].replace(",", ", ") for text in (here, standard))
        texts.append(f"{MATRIX_WORDS[key]} {asked} (standard: {usually})")
    if texts:
        deviations.append(f"not the specification's matrix: {'; '.join(texts)}")
    return own


def _room(active_range: ActiveRange, target: Target, threads: int) -> int:
    """Return the most bytes that one request can have: where threads do not share, and segments."""
    whole = int(active_range.share * target.capacity_bytes) // threads
    amount = active_range.amount_bytes
    return whole if amount is None else min(whole, amount // active_range.segments)


def _options(test: Spec, settings: Settings, deviations: list[str]) -> dict[str, float | str]:
    known = {option.key: option for option in test.options}
    for key in settings.options:
        if key not in known:
            accepted = ", ".join(known) or "none"
            raise ConfigError(key, f"{test.name} has no such parameter; accepted: {accepted}")
    chosen: dict[str, float | str] = {}
    for key, option in known.items():
        usual = option.default_for(settings.pts_version)
        if usual == "" and settings.options.get(key) is None:
            continue
        chosen[key] = option.checked(settings.options.get(key, usual))
        if usual not in {"", chosen[key]}:
            here, standard = (
                f"{value:g}" if isinstance(value, float) else value
                for value in (chosen[key], usual)
            )
            deviations.append(f"{option.name.replace('_', ' ')} {here} (default: {standard})")
    return chosen


def _one_of(name: str, value: object, accepted: tuple[object, ...]) -> None:
    if value not in accepted:
        texts = ", ".join(str(item) for item in accepted if item is not None)
        raise ConfigError(name, f"`{value}` is not known; accepted: {texts}")


def _within(name: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not least <= value <= most:
        raise ConfigError(
            name, f"{_exact(value)} is out of range; accepted: {_exact(least)} to {_exact(most)}"
        )


def _exact(value: float) -> str:
    """Write a number with all its digits.

    >>> _exact(2**53), _exact(100000), _exact(0.001), _exact(86_400.0)
    ('9007199254740992', '100000', '0.001', '86400')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value)
