"""A campaign of power cuts: lives of a drive, added up, kept on the way, and told as a document.

```
settings ─► core: a drive that is written once ─► lives, some at a time on each core ─► journal
                                                        in the order of their numbers ─► document
```
A life is a series of cuts with a seed of its own, so lives may run anywhere and in any order; only
their sum is told. What is done is in the journal of the folder: a campaign that was killed goes on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, ValidationError, convert, structs

from opennandlab import _core
from opennandlab.base.campaign import Pool, Task
from opennandlab.base.canonical import digest
from opennandlab.base.errors import CodeError, ConfigError, ResultError
from opennandlab.base.journal import Journal
from opennandlab.core.config import DeviceConfig, load_device
from opennandlab.core.power_cut import CLAIMS, TARGETS, promises
from opennandlab.documents.power_loss import POWER_SCHEMA, PowerDocument
from opennandlab.documents.record import made, plain

WORKLOADS: Final = ("random", "sequential", "sync", "trim", "hot")
# Cuts of a life, and lives that are run at a time: some tenths of a second.
CUTS_PER_LIFE: Final = 50
LIVES_AT_A_TIME: Final = 4
# Evidence that a document keeps of each class.
EVIDENCE_MAX: Final = 5
# Against slips of the pen: hours of a machine.
CUTS_MAX: Final = 100_000_000
# From power to ready: a week.
LIMIT_US_MAX: Final = 6.05e11
# Pages of a drive on which a campaign is worth it: the whole drive is read after each cut.
PAGES_MAX: Final = 1 << 20
JOURNAL: Final = "power.lives.jsonl"
# 95 % of a normal distribution lie within so many standard deviations of the mean.
Z_95: Final = 1.959963984540054

# The drive that is cut where none is named: 64 MiB of flash, four dies.
SMALL: Final[dict[str, Any]] = {
    "name": "small",
    "nand": {
        "cell_type": "TLC",
        "channels": 2,
        "dies_per_channel": 2,
        "planes_per_die": 1,
        "blocks_per_plane": 64,
        "pages_per_block": 64,
        "page_size_bytes": 4096,
        "max_pe_cycles": 1_000_000,
    },
    "ftl": {"over_provisioning_pct": 0.12, "gc_reserve_blocks": 8},
    "host": {"queue_depth_max": 32},
}


@dataclass(frozen=True)
class Settings:
    """What a campaign is to do.

    Args:
        device: The drive.
        cuts: How many; whole lives of 50 are lived.
        workloads: Taken in turns by the lives.
        targets: Where cuts are aimed, taken in turns by the cuts.
        claims: What the drive promises; None: what its options say.
        seed: Seed of all randomness.
        limit_us: From power to ready; longer is slow.
        changed: How the drive differs from the one that was named, in words.

    Raises:
        ConfigError: for names that are not known, and drives that cannot be cut.
    """

    device: DeviceConfig
    cuts: int = 3000
    workloads: Sequence[str] = WORKLOADS
    targets: Sequence[str] = TARGETS
    claims: Sequence[str] | None = None
    seed: int = 42
    limit_us: float = 10e6
    changed: Sequence[str] = ()
    _claims: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Check what can be checked without running."""
        if not 1 <= self.cuts <= CUTS_MAX:
            message = f"{self.cuts} is not valid; accepted: 1 to {CUTS_MAX}"
            raise ConfigError("--cuts", message)
        if not 0 <= self.seed < 1 << 64:
            raise ConfigError("--seed", f"{self.seed} is not valid; accepted: 0 to 2^64 - 1")
        check_limit(self.limit_us)
        for option, names, known in (
            ("--workload", self.workloads, WORKLOADS),
            ("--at", self.targets, TARGETS),
        ):
            accepted = ", ".join(known)
            if not names:
                raise ConfigError(option, f"none is named; accepted: {accepted}")
            for name in names:
                if name not in known:
                    raise ConfigError(option, f"`{name}` is not known; accepted: {accepted}")
        promises(self.claims or ())
        pages = self.device.effective["logical_pages"]
        if pages > PAGES_MAX:
            raise ConfigError(
                "--config",
                f"{pages} logical pages are read after each cut, which takes too long; accepted: "
                f"up to {PAGES_MAX}; `power run --fit` cuts a small copy",
            )
        claims = promised(self.device) if self.claims is None else tuple(self.claims)
        object.__setattr__(self, "_claims", tuple(name for name in CLAIMS if name in claims))

    @property
    def lives(self) -> int:
        """How many lives the cuts are."""
        return -(-self.cuts // CUTS_PER_LIFE)

    def document(self) -> dict[str, Any]:
        """Return what decides the result, next to the device."""
        return {
            "cuts": self.cuts,
            "cuts_per_life": CUTS_PER_LIFE,
            "workloads": list(self.workloads),
            "at": list(self.targets),
            "claims": list(self._claims),
            "seed": self.seed,
            "limit_us": self.limit_us,
        }

    def core(self) -> _core.PowerCampaign:
        """Write the drive.

        Raises:
            ConfigError: for a drive that cannot be cut.
        """
        return _core.PowerCampaign(
            self.device.core, list(self.workloads), list(self.targets), promises(self._claims),
            CUTS_PER_LIFE, self.limit_us, self.seed,
        )  # fmt: skip


def check_limit(limit_us: float) -> None:
    """Refuse an invalid time from power to ready.

    Raises:
        ConfigError: for what is not above 0, or beyond a week.
    """
    if not 0 < limit_us <= LIMIT_US_MAX:
        message = f"{limit_us / 1000:g} is not valid; accepted: above 0, at most 6.05e8"
        raise ConfigError("--ready-ms", message)


def promised(device: DeviceConfig) -> tuple[str, ...]:
    """Return what a drive promises by its options in `power`."""
    made = zip(CLAIMS, _core.power_promises(device.core), strict=True)
    return tuple(name for name, holds in made if holds)


def has_idle_flush(device: DeviceConfig) -> bool:
    """Return whether `power.flush` is weak on a drive that has nothing to flush."""
    document = device.to_dict()
    power = document.get("power") or {}
    is_honest = power.get("flush", {"kind": "honest"})["kind"] == "honest"
    # Where passes share a wordline, a flush also copies earlier pages.
    is_paired = power.get("paired_scheme", "none") not in {"none", "tlc_oneshot"}
    cache = document["host"].get("write_cache") or {"enabled": False}
    is_cached = cache["enabled"] and cache["mode"] == "write_back"
    has_memory = is_cached or bool(document["ftl"].get("write_buffer_pages"))
    return not (is_honest or is_paired or has_memory)


def wilson(count: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson, 1927).

    Args:
        count: Cases in which it holds.
        of: All cases, at least 1.

    >>> low, high = wilson(0, 1000)
    >>> round(low, 6), round(high, 6)
    (0.0, 0.003827)
    """
    share, z2 = count / of, Z_95**2
    middle = share + z2 / (2 * of)
    half = Z_95 * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    scale = 1 + z2 / of
    low = 0.0 if count == 0 else (middle - half) / scale
    return max(low, 0.0), min((middle + half) / scale, 1.0)


class Campaign:
    """A run of settings.

    Args:
        settings: What is to be done.
        folder: Where the journal is; None: nothing is kept.
        jobs: Lives at the same time; None: the cores of this process.
        watch: Told how many cuts are done.

    Raises:
        ConfigError: for a drive that cannot be cut, and a folder with another campaign.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        folder: Path | None = None,
        jobs: int = 1,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        """Write the drive, and read what is known."""
        self.settings = settings
        self.core = settings.core()
        self._jobs, self._watch = jobs, watch
        self._began = time.monotonic()
        self._journal = Journal(None if folder is None else folder / JOURNAL, self._identity())
        self.cut_off_bytes = self._journal.cut_off_bytes
        self._known: dict[int, dict[str, Any]] = {
            record["first"]: record["tally"] for record in self._journal.records
        }

    @property
    def cuts(self) -> int:
        """Cuts that are done."""
        return sum(tally["cuts"] for tally in self._known.values())

    @property
    def cuts_wanted(self) -> int:
        """Cuts that will be done."""
        return self.settings.lives * CUTS_PER_LIFE

    def to_the_end(self) -> None:
        """Live what is missing.

        Raises:
            KeyboardInterrupt: on Ctrl-C, when what is done is kept.
        """
        firsts = range(0, self.settings.lives, LIVES_AT_A_TIME)
        missing = (self._task(first) for first in firsts if first not in self._known)
        try:
            with closing(Pool[int, str](self._jobs)) as pool:
                for ended in pool.in_order(missing, ahead=self._jobs):
                    self._keep(ended.key, json.loads(ended.result()))
        finally:
            self._journal.close()

    def _task(self, first: int) -> Task[int, str]:
        count = min(LIVES_AT_A_TIME, self.settings.lives - first)
        return Task(first, lambda _: self.core.live(first, count))

    def document(
        self, command: str, *, replay: str | None = None, partial: bool = False
    ) -> PowerDocument:
        """Return the document of the campaign.

        Args:
            command: What ran it.
            replay: What runs it again wherever its files go, so the digest depends on no folder;
                None for `command`.
            partial: Whether it was interrupted.
        """
        tally = added(self._known[first] for first in sorted(self._known))
        wall_s = time.monotonic() - self._began
        ran = (command, command if replay is None else replay)
        return told(tally, self.settings, ran, wall_s, partial=partial)

    def forget(self) -> None:
        """Take the journal away: the document has it all."""
        self._journal.forget()

    def _identity(self) -> dict[str, Any]:
        return {
            "model_version": _core.model_version(),
            "device": self.settings.device.to_dict(),
            "settings": self.settings.document(),
        }

    def _keep(self, first: int, tally: dict[str, Any]) -> None:
        self._known[first] = tally
        self._journal.add({"first": first, "tally": tally})
        if self._watch is not None:
            self._watch(self.cuts)


def added(tallies: Any) -> dict[str, Any]:  # noqa: ANN401 (any iterable of core's JSON)
    """Return the sum of what lives have shown, in their order."""
    total: dict[str, Any] = {}
    classes: dict[str, dict[str, Any]] = {}
    for tally in tallies:
        before = total.get("cuts", 0)
        for one in tally["classes"]:
            first = {"cuts": 0, "first_cut": before + one["first_cut"]}
            classes.setdefault(one["class"], first)["cuts"] += one["cuts"]
        total = {key: _sum(key, total.get(key), value) for key, value in tally.items()}
    return total | {"classes": classes}


def _sum(key: str, one: Any, other: Any) -> Any:  # noqa: ANN401 (JSON)
    if one is None or key == "classes":
        return other
    if isinstance(other, dict):
        keys = {**one, **other}
        return {name: _sum(name, one.get(name), other.get(name, 0)) for name in keys}
    if key in {"max", "memory_pages_max"}:
        return max(one, other)
    return one + other


def told(
    tally: dict[str, Any], settings: Settings, ran: tuple[str, str], wall_s: float, *, partial: bool
) -> PowerDocument:
    """Return the document of a sum; `ran` is the command, and what runs the same again."""
    command, replay = ran
    cuts = tally.get("cuts", 0)
    classes = {}
    for name, one in sorted(tally.get("classes", {}).items()):
        low, high = wilson(one["cuts"], cuts)
        classes[name] = {
            "cuts": one["cuts"],
            "per_1000": round(1000 * one["cuts"] / cuts, 6),
            "low": round(1000 * low, 6),
            "high": round(1000 * high, 6),
            "first_cycle": one["first_cut"],
        }
    mounts = tally.get("recovery_ns", {"sum": 0, "max": 0})
    acks = tally.get("ack_ns", {"sum": 0, "pages": 0})
    host, flash = tally.get("host_pages", 0), tally.get("flash_pages", 0)
    records, guards = tally.get("record_pages", 0), tally.get("guard_pages", 0)
    flushes = tally.get("flush_ns", {"sum": 0, "flushes": 0})
    names = {"unsafe_shutdowns": "cuts", "capacitor_failures": "partial_saves"}
    counted = (
        "unsafe_shutdowns", "capacitor_failures", "torn_pages", "damaged_pages",
        "protected_pages", "half_erased_blocks", "saved_pages", "memory_pages_max",
    )  # fmt: skip
    violations = tally.get("violations", {})
    errors = tally.get("errors", [])
    content: dict[str, Any] = {
        "schema": POWER_SCHEMA,
        "device": settings.device.to_dict(),
        "changed": list(settings.changed),
        "settings": settings.document(),
        "cuts": cuts,
        "aimed": _aimed(tally.get("targets", {}), settings.targets),
        "pages_checked": tally.get("pages_checked", 0),
        "audits": tally.get("audits", 0),
        "violations": {f"G{number}": violations.get(f"G{number}", 0) for number in range(1, 11)},
        "classes": classes,
        "none_below": round(3000 / cuts, 6) if cuts and not classes else None,
        "recovery_us": {
            "mean": round(mounts["sum"] / cuts / 1000, 3) if cuts else 0.0,
            "max": mounts["max"] / 1000,
            "limit": settings.limit_us,
        },
        "smart": {key: tally.get(names.get(key, key), 0) for key in counted},
        "cost": {
            "requests": tally.get("requests", 0),
            "host_pages": host,
            "flash_pages": flash,
            "record_pages": records,
            "guard_pages": guards,
            "waf": round((flash + records + guards) / host, 6) if host else None,
            "ack_us": _mean_us(acks["sum"], acks["pages"]),
            "flush_us": _mean_us(flushes["sum"], flushes["flushes"]),
        },
        "evidence": list(_evidence(tally.get("evidence", []))),
        "replay": replay,
        "errors": errors,
        "partial": partial,
        "passed": not classes and not errors and not partial and cuts > 0,
        "run": {"version": _core.version(), "wall_s": round(wall_s, 3), "command": command},
        "digest": "",
    }
    whole = made(content, PowerDocument)
    return structs.replace(whole, digest=digest(plain(whole)))


def _aimed(counts: dict[str, int], targets: Sequence[str]) -> dict[str, int] | None:
    """Return the cuts of each moment in the order of the settings; None without any."""
    return {name: counts.get(name, 0) for name in targets} if counts else None


def _mean_us(sum_ns: int, count: int) -> float | None:
    return round(sum_ns / count / 1000, 3) if count else None


def _evidence(found: list[dict[str, Any]]) -> Any:  # noqa: ANN401 (JSON)
    kept: dict[str, int] = {}
    for one in found:
        name = one["class"]
        kept[name] = kept.get(name, 0) + 1
        if kept[name] <= EVIDENCE_MAX:
            rest = {key: value for key, value in one.items() if key != "class"}
            again = f"opennandlab power replay power.json --life {one['life']}"
            yield rest | {"class_name": name, "replay": again}


class _Given(Struct, frozen=True):
    """Settings as a document of a simulated drive has them."""

    cuts: int
    workloads: list[str]
    at: list[str]
    claims: list[str]
    seed: int
    limit_us: float


def again(document: PowerDocument, life: int) -> dict[str, Any]:
    """Live a life of a campaign again, and return what it has shown.

    Args:
        document: The campaign.
        life: Which of its lives, from 0.

    Raises:
        ConfigError: for a life that it does not have.
        ResultError: if its device or its settings cannot be used.
    """
    try:
        given = convert(document.settings, _Given)
        settings = Settings(
            load_device(dict(document.device)), given.cuts, given.workloads, given.at,
            given.claims, given.seed, given.limit_us,
        )  # fmt: skip
    except CodeError:
        raise
    except (ConfigError, ValidationError) as error:
        raise ResultError(f"the campaign cannot be run again: {error}") from error
    if not 0 <= life < settings.lives:
        message = f"{life} is not a life of this campaign; accepted: 0 to {settings.lives - 1}"
        raise ConfigError("--life", message)
    shown: dict[str, Any] = json.loads(settings.core().live(life, 1))
    return shown
