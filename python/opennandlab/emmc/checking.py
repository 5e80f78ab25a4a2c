"""Runs cases, each on a card as new, and makes the document of what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import structs

from opennandlab import _core
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError, InternalError
from opennandlab.core.config import Source, load_device
from opennandlab.core.viewed import EmmcResult, viewed
from opennandlab.documents.emmc import EMMC_SCHEMA, EmmcDocument, EmmcRow, EmmcRun, EmmcTarget
from opennandlab.documents.record import made, plain
from opennandlab.emmc.card import Card
from opennandlab.emmc.case import Case, NotTold, Outcome, Subject, judge
from opennandlab.emmc.cases import cases

if TYPE_CHECKING:
    from opennandlab.core.config import DeviceConfig

# What the cases write, trim and protect needs so much user area.
USER_BYTES_MIN = 8 << 20
STANDARDS = {"4.51": 6, "5.0": 7, "5.1": 8}
# Called before each case: how many are done, how many there are, and its id.
Watcher = Callable[[tuple[int, int, str]], None]


def chosen(table: Sequence[Case[Subject]], only: Sequence[str]) -> list[Case[Subject]]:
    """Return the cases that a pattern chooses: of their id, with `*` and `?`, or its beginning.

    Raises:
        ConfigError: for a pattern that chooses none.

    >>> [case.id for case in chosen(cases(), ["erase.rev*"])]
    ['erase.reversed']
    """
    for pattern in only:
        if not any(_matches(case.id, pattern) for case in table):
            groups = ", ".join(dict.fromkeys(case.id.partition(".")[0] for case in table))
            raise ConfigError(
                "--only",
                f"`{pattern}` chooses no case; accepted: the id of a case, with * and ?, or a "
                f"group: {groups}",
            )
    wanted = only or ["*"]
    return [case for case in table if any(_matches(case.id, pattern) for pattern in wanted)]


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or name.startswith(f"{pattern}.")


def check(
    device: Source,
    *,
    standard: str = "5.1",
    only: Sequence[str] = (),
    seed: int = 42,
    progress: Watcher | None = None,
) -> EmmcResult:
    """Check a simulated card, case by case: what `opennandlab emmc check` does.

    Args:
        device: Preset name, path, mapping or `DeviceConfig` of the drive below it.
        standard: `4.51`, `5.0` or `5.1`.
        only: Patterns that choose cases; empty for all.
        seed: Seed of all randomness.
        progress: Called before each case with its number, the number of cases, and its name.

    Raises:
        ConfigError: for what `Check` refuses.

    >>> check("emmc_16gb", only=["rpmb.key"]).passed
    True
    """
    run = Check(load_device(device), standard=standard, only=only, seed=seed)
    run.to_the_end(progress)
    words = "".join(f" --only {one}" for one in only)
    found: EmmcResult = viewed(run.document(f"opennandlab emmc check{words}"))
    return found


class Check:
    """Cases of a simulated card.

    Args:
        device: The drive below it.
        standard: `4.51`, `5.0` or `5.1`.
        only: Patterns that choose cases; empty for all.
        seed: Seed of all randomness.

    Raises:
        ConfigError: for a drive that cannot be an eMMC, another standard, and patterns that choose
            nothing.

    >>> import opennandlab as onl
    >>> check = Check(onl.load_device("emmc_16gb"), only=["rpmb.key"])
    >>> check.to_the_end()
    >>> [(row.id, row.verdict) for row in check.rows]
    [('rpmb.key', 'passed')]
    """

    def __init__(
        self,
        device: DeviceConfig,
        *,
        standard: str = "5.1",
        only: Sequence[str] = (),
        seed: int = 42,
    ) -> None:
        """Choose the cases, and see whether the drive can be a card."""
        if standard not in STANDARDS:
            accepted = ", ".join(STANDARDS)
            raise ConfigError("--standard", f"`{standard}` is not known; accepted: {accepted}")
        self.device = device
        self.standard = standard
        self.only = list(only)
        self.seed = seed
        self.cases = chosen(cases(), only)
        self.user_bytes = self._card({}).user_sectors * 512
        if self.user_bytes < USER_BYTES_MIN:
            raise ConfigError(
                "--config",
                f"the user area has {self.user_bytes} bytes; the cases need {USER_BYTES_MIN}",
            )
        self.rows: list[EmmcRow] = []
        self._began = time.monotonic()

    def _card(self, options: dict[str, object]) -> Card:
        return Card(self.device, self.seed, {"standard": self.standard, **options})

    def to_the_end(self, watch: Watcher | None = None) -> None:
        """Run what is missing; what was run stays in `rows` when it is interrupted."""
        for case in self.cases[len(self.rows) :]:
            if watch is not None:
                watch((len(self.rows), len(self.cases), case.id))
            self.rows.append(self._row(case))

    def _row(self, case: Case[Card]) -> EmmcRow:
        if case.since > STANDARDS[self.standard]:
            since = next(name for name, code in STANDARDS.items() if code == case.since)
            return _skipped(case, f"cards of {since} and later have it, this one is of "
                            f"{self.standard}")  # fmt: skip
        try:
            card = self._card(dict(case.options))
        except ConfigError as error:
            return _skipped(case, f"this drive cannot be such a card: {error.message}")
        outcome = _outcome(case, card)
        broken = card.core.audit() if outcome.passed else None
        if broken is not None:
            found = f"the drive contradicts itself: {broken}"
            outcome = Outcome(outcome.expected, found, passed=False)
        return _row(case, outcome, card.core.now_ns() / 1e6)

    def document(self, command: str, *, partial: bool = False) -> EmmcDocument:
        """Return the document of what was run."""
        target = EmmcTarget(
            kind="sim",
            name=self.device.name,
            standard=self.standard,
            user_bytes=self.user_bytes,
            device=self.device.to_dict(),
            seed=self.seed,
        )
        wall_s = time.monotonic() - self._began
        return document(target, self.only, self.rows, (command, wall_s), partial=partial)


def rows_of(table: Iterable[Case[Subject]], subject: Subject) -> Iterator[EmmcRow]:
    """Yield the rows of cases that only look at something; what it does not tell is skipped."""
    for case in table:
        yield _looked(case, subject)


def document(
    target: EmmcTarget,
    only: list[str],
    rows: Sequence[EmmcRow],
    run: tuple[str, float],
    *,
    partial: bool = False,
) -> EmmcDocument:
    """Return the document of rows; `run` is the command, and the seconds that it took."""
    counts = {
        verdict: sum(row.verdict == verdict for row in rows)
        for verdict in ("passed", "failed", "skipped")
    }
    found = EmmcDocument(
        schema=EMMC_SCHEMA,
        target=target,
        only=only,
        rows=list(rows),
        passed_count=counts["passed"],
        failed_count=counts["failed"],
        skipped_count=counts["skipped"],
        passed=counts["failed"] == 0 and counts["passed"] > 0 and not partial,
        partial=partial,
        run=EmmcRun(version=_core.version(), wall_s=round(run[1], 3), command=run[0]),
        digest="",
    )
    whole = made(plain(found), EmmcDocument)
    return structs.replace(whole, digest=digest(plain(whole)))


def _looked(case: Case[Subject], subject: Subject) -> EmmcRow:
    try:
        return _row(case, judge(case.run(subject)), 0.0)
    except NotTold as missing:
        return _skipped(case, str(missing))


def _outcome(case: Case[Card], card: Card) -> Outcome:
    try:
        return judge(case.run(card))
    except InternalError as error:
        return Outcome("an answer", f"the card broke: {error}", passed=False)


def _row(case: Case[Subject], outcome: Outcome, simulated_ms: float) -> EmmcRow:
    return EmmcRow(
        id=case.id,
        clause=case.clause,
        does=case.does,
        expected=outcome.expected,
        found=outcome.found,
        verdict="passed" if outcome.passed else "failed",
        simulated_ms=round(simulated_ms, 6),
    )


def _skipped(case: Case[Subject], why: str) -> EmmcRow:
    return EmmcRow(
        id=case.id,
        clause=case.clause,
        does=case.does,
        expected="",
        found=why,
        verdict="skipped",
        simulated_ms=0.0,
    )
