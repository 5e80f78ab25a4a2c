"""How long a test still takes: between a drive that is steady at once and one that never is.

```text
rehearsal, steady at once   purge WIPC │ 1 2 3 4 5 │ histogram                     work left, least
rehearsal, never steady     purge WIPC │ 1 2 3 4 5 6 … 25 │ histogram              work left, most
the test itself             purge WIPC │ 1 2 3 ▲
```
The place of the test is found again in both rehearsals by phase and round. Work is what a step
costs: requests and pages on a simulated drive, whose wall time they decide, seconds on a real one.
What was done so far, and how long that took, makes seconds of it: of each phase apart once it is
known, since a cell that goes on until the drive has collected may cost many times what was assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from opennandlab.pts.bench.plan import Plan
from opennandlab.pts.bench.record import Progress, Watcher
from opennandlab.pts.bench.rehearsal import Rehearsal, Stretch, rehearse
from opennandlab.pts.bench.test import Test
from opennandlab.targets.base import Target

# Before so much wall time has passed, a rate is a guess.
KNOWN_AFTER_S = 0.5


@dataclass
class _Place:
    """Where a test is within a rehearsal."""

    stretches: list[Stretch]
    index: int = -1

    def seek(self, name: str, number: int | None) -> bool:
        """Go on to the next stretch of this phase and round; False where there is none."""
        for index in range(self.index + 1, len(self.stretches)):
            if (self.stretches[index].name, self.stretches[index].round) == (name, number):
                self.index = index
                return True
        return False

    @property
    def after(self) -> list[Stretch]:
        """The stretches after this one."""
        return self.stretches[self.index + 1 :]


class Outlook:
    """The work that a test has before it.

    Args:
        least: The rehearsal of a drive that is steady at once.
        most: That of one that never is.
    """

    def __init__(self, least: Rehearsal, most: Rehearsal) -> None:
        """Begin before the first step."""
        self.least, self.most = least.work, most.work
        self._least, self._most = _Place(least.stretches), _Place(most.stretches)
        self._key: tuple[str, int | None] | None = None
        self._cell = 0
        # Work of the stretches that are over, of the one that is not, and what was done elsewhere.
        self._before = self._now = self._skipped = 0.0
        self._elapsed_s: float | None = None
        self._seen_s = 0.0
        # Seconds and work so far of the phases of each name.
        self._spent: dict[str, list[float]] = {}

    @classmethod
    def of(cls, test: Test, plan: Plan, target: Target) -> Outlook:
        """Return the outlook of a test on a target."""
        least, most = (rehearse(test, plan, target, is_steady=end) for end in (True, False))
        return cls(least, most)

    def telling(self, watch: Watcher) -> Watcher:
        """Return a watcher that also knows what is left."""

        def told(progress: Progress) -> None:
            self.see(progress)
            watch(progress)

        return told

    def see(self, progress: Progress) -> None:
        """Find the place of a test, and set what is left of it."""
        self._find(progress)
        stretch = self._most.stretches[max(self._most.index, 0)]
        before, self._now = self._now, stretch.done(progress.cell, progress.fraction or 0.0)
        if self._elapsed_s is None:
            # A run that goes on has done so much in another one.
            self._elapsed_s, self._skipped = progress.elapsed_s, self._before + self._now
        else:
            self._spend(stretch.name, progress.elapsed_s - self._seen_s, self._now - before)
        self._seen_s = progress.elapsed_s
        progress.work = max(self._before + self._now - self._skipped, 0.0)
        elapsed_s = progress.elapsed_s - self._elapsed_s
        if progress.work > 0 and elapsed_s >= KNOWN_AFTER_S:
            usual = elapsed_s / progress.work
            here = (stretch.work - self._now) * self._rate(stretch.name, usual)
            least, most = (
                here + sum(one.work * self._rate(one.name, usual) for one in place.after)
                for place in (self._least, self._most)
            )
            progress.eta_least_s, progress.eta_s = min(least, most), most

    def _spend(self, name: str, seconds: float, work: float) -> None:
        spent = self._spent.setdefault(name, [0.0, 0.0])
        spent[0] += seconds
        spent[1] += work

    def _rate(self, name: str, usual: float) -> float:
        """Return the seconds of a unit of work in phases of a name."""
        seconds, work = self._spent.get(name, (0.0, 0.0))
        return seconds / work if work > 0 and seconds >= KNOWN_AFTER_S else usual

    def _find(self, progress: Progress) -> None:
        key = progress.phase, progress.round
        # The same phase again, such as the purge before another block size, begins again.
        if key == self._key and progress.cell >= self._cell:
            self._cell = progress.cell
            return
        self._key, self._cell = key, progress.cell
        if self._most.index >= 0:
            over = self._most.stretches[self._most.index]
            self._before += over.work
            self._spend(over.name, 0.0, over.work - self._now)
            self._now = 0.0
        self._most.seek(*key)
        # A round beyond the fifth has no place in the shorter one: what follows its last is left.
        self._least.seek(*key)
